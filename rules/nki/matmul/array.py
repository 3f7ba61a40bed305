"""How a product uses the array: in tiles, and with two rows at a time."""

from __future__ import annotations

from collections.abc import Iterator

from rules.nki import kinds, kit
from rules.nki.kit import check, register
from rules.nki.matmul.calls import double_row, tile_size, transposes
from rules.nki.samples import variants
from verifier.hardware.capabilities import Capability
from verifier.hardware.targets import Target, needing
from verifier.rulebase import On, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Expr
from verifier.symbolic.trace import Operation


def _given_tuple(op: Operation, role: str) -> bool:
    value = op.value(role)
    return value is not None and value != ()


def _tiling(op: Operation, target: Target) -> Iterator[Check]:
    if not (op.known("tile_position") and op.known("tile_size")):
        return
    position, size = _given_tuple(op, "tile_position"), _given_tuple(op, "tile_size")
    mx = kit.packed(op)
    if position or size:
        yield check(
            op,
            "tile_position" if position else "tile_size",
            E.truth(position and size),
            "tile_position and tile_size are given together",
            "tile_position and tile_size only work together",
            "MMX13" if mx else "MMU12",
            about=(),
        )
    if not (position and size):
        return
    sizes, starts = kit.integers(op.value("tile_size")), kit.integers(op.value("tile_position"))
    if sizes is None or starts is None or len(sizes) != 2 or len(starts) != 2:
        yield check(
            op,
            "tile_size",
            E.FALSE,
            "tile_position and tile_size are pairs of integers",
            "tile_position and tile_size have to be pairs of integers",
            "MMX13" if mx else "MMU16",
            about=(),
        )
        return
    limits = (target.contraction_max, target.stationary_free_max)
    for axis, start, extent, limit in zip(("row", "column"), starts, sizes, limits, strict=True):
        yield from _along(op, axis, start, extent, limit, target)
    since = kit.described(op).smallest
    if since is None or target.has(Capability.SMALL_TILES):
        return
    if not op.generation.at_least(since.generation):
        least = target.quadrant
        yield check(
            op,
            "tile_size",
            E.not_(E.and_(E.le(sizes[0], least), E.le(sizes[1], least))),
            f"row size and column size are not both {least}",
            f"the array has no tiles of {least} by {least}",
            since.fact,
            about=(),
        )


def _along(
    op: Operation, axis: str, start: Expr, extent: Expr, limit: int, target: Target
) -> Iterator[Check]:
    """The tile's part of the rows, or of the columns, is one that the array can be cut into."""
    mx = kit.packed(op)
    values = ((f"start {axis}", start), (f"{axis} size", extent))
    if mx and axis == "column":
        yield check(
            op,
            "tile_size",
            E.and_(E.eq(start, 0), E.eq(extent, limit)),
            f"start column == 0 and column size == {limit}",
            "an MX matmul can be tiled by rows only",
            "MMX13",
            values=values,
            about=(),
        )
        return
    small = "MMU14" if target.has(Capability.SMALL_TILES) else "MMU13"
    yield check(
        op,
        "tile_size",
        kit.one_of(extent, target.pe_tile_sizes),
        f"{axis} size is one of {', '.join(map(str, sorted(target.pe_tile_sizes)))}",
        f"the array of {target.name} has no tiles of this {axis} size",
        "MMX13" if mx else small,
        values=values,
        about=(),
    )
    yield check(
        op,
        "tile_position",
        E.and_(E.eq(E.mod(start, extent), 0), E.le(start + extent, limit)),
        f"start {axis} is a multiple of the {axis} size and the tile ends within {limit}",
        "the tile does not lie on the array's grid",
        "MMX13" if mx else "MMU15",
        values=values,
        about=(),
    )


_MATMUL_TILING = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def quarter_array(left_t, right):
    assert left_t.shape == (32, 24) and right.shape == (32, 160)
    out = nl.ndarray((24, 160), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.ndarray((32, 24), dtype=nl.bfloat16, buffer=nl.sbuf)
    b = nl.ndarray((32, 160), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=left_t)
    nisa.dma_copy(dst=b, src=right)
    acc = nl.ndarray((24, 160), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(
-        dst=acc, stationary=a, moving=b, tile_position=(16, 0), tile_size=(32, 128)
+        dst=acc, stationary=a, moving=b, tile_position=(0, 0), tile_size=(32, 128)
    )
    held = nl.ndarray((24, 160), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=held, src=acc)
    nisa.dma_copy(dst=out, src=held)
    return out
"""
)


register(
    Rule(
        id="matmul-tiling",
        code="NKI208",
        family="matmul",
        summary="a tile of the array has a size the array can be cut into, on that grid",
        reason=(
            "The array can be cut into smaller ones that work independently. Sizes are powers of "
            "two down to 32 (64 on the second generation), a tile starts at a multiple of its "
            "size, and both its position and its size have to be said."
        ),
        facts=("MMU12", "MMU13", "MMU14", "MMU15", "MMU16", "MMX13", "H71", "OLD03"),
        on=On.OPERATION,
        concerns=kit.multiplies,
        check=_tiling,
        sources=("NKI ISA nc_matmul, tiling mode",),
        failing=_MATMUL_TILING.failing,
        passing=_MATMUL_TILING.passing,
    )
)


def _double_row(op: Operation, target: Target) -> Iterator[Check]:
    if not double_row(op):
        return
    yield check(
        op,
        "perf_mode",
        E.truth(target.has(Capability.DOUBLE_ROW)),
        f"the target is {needing(Capability.DOUBLE_ROW)} (it is {target.name})",
        f"{target.name} has no double-row matmul",
        "MMU18",
        "H70",
        about=(),
    )
    allowed = kit.F8_LEGACY | (kit.F8_OCP if target.has(Capability.OCP_FLOAT8) else frozenset())
    for role in ("stationary", "moving"):
        view = op.view(role)
        if view is None:
            continue
        yield check(
            op,
            role,
            view.dtype.among(allowed),
            f"dtype of {role} is an 8-bit float (it is {kit.dtype_words(view.dtype)})",
            "the double-row mode multiplies 8-bit floats only",
            "MMU19",
        )
        yield check(
            op,
            role,
            E.eq(view.shape[1], 2) if view.rank >= 3 else E.FALSE,
            f"{role} has shape [K, 2, columns]",
            f"the double-row mode needs the two rows of {role} as its first free dimension",
            "MMU20",
            values=((f"rank of {role}", E.const(view.rank)),)
            if view.rank < 3
            else ((f"first free dimension of {role}", view.shape[1]),),
        )
    columns = tile_size(op)
    whole = columns is None or columns[1] is E.const(target.stationary_free_max)
    yield check(
        op,
        "perf_mode",
        E.and_(E.truth(whole), E.not_(transposes(op))),
        "double row comes without column tiling and without transposition",
        "the double-row mode excludes column tiling and transposition",
        "MMU21",
        about=(),
    )


_MATMUL_DOUBLE_ROW = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def doubled(left_t, right):
    assert left_t.shape == (128, 2, 96) and right.shape == (128, 2, 256)
    out = nl.ndarray((96, 256), dtype=nl.float32, buffer=nl.shared_hbm)
-    a = nl.ndarray((128, 2, 96), dtype=nl.bfloat16, buffer=nl.sbuf)
-    b = nl.ndarray((128, 2, 256), dtype=nl.bfloat16, buffer=nl.sbuf)
+    a = nl.ndarray((128, 2, 96), dtype=nl.float8_e4m3, buffer=nl.sbuf)
+    b = nl.ndarray((128, 2, 256), dtype=nl.float8_e4m3, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=left_t)
    nisa.dma_copy(dst=b, src=right)
    acc = nl.ndarray((96, 256), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(
        dst=acc, stationary=a, moving=b, perf_mode=nisa.matmul_perf_mode.double_row
    )
    held = nl.ndarray((96, 256), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=held, src=acc)
    nisa.dma_copy(dst=out, src=held)
    return out
"""
)


register(
    Rule(
        id="matmul-double-row",
        code="NKI209",
        family="matmul",
        summary="a double-row matmul has 8-bit floats in two rows, on trn2 and newer",
        reason=(
            "In the double-row mode each processing element holds two 8-bit weights and contracts "
            "two rows per step. The two rows are the first free dimension of both operands, and "
            "the mode takes the whole width of the array."
        ),
        facts=("MMU18", "MMU19", "MMU20", "MMU21", "H70"),
        on=On.OPERATION,
        concerns=kinds.MULTIPLIES,
        check=_double_row,
        sources=("NKI ISA nc_matmul, performance mode", "Trainium2 architecture, Double FP8"),
        failing=_MATMUL_DOUBLE_ROW.failing,
        passing=_MATMUL_DOUBLE_ROW.passing,
    )
)
