"""Products of packed elements, whose groups share scales."""

from __future__ import annotations

from collections.abc import Iterator

from rules.nki import kinds, kit, twins
from rules.nki.kit import check, register
from rules.nki.samples import variants
from verifier.hardware.targets import Target
from verifier.rulebase import On, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Bool
from verifier.symbolic.instruction import Trait
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation


def _mx_dtypes(op: Operation, target: Target) -> Iterator[Check]:
    for role in ("stationary", "moving"):
        view = op.view(role)
        if view is not None:
            yield check(
                op,
                role,
                view.dtype.among(kit.PACKED),
                f"dtype of {role} is a packed x4 type (it is {kit.dtype_words(view.dtype)})",
                f"{role} of an MX matmul is not packed",
                "MMX03",
                help=("quantize it with nisa.quantize_mx, or view it with an x4 dtype",),
            )
    for role in ("stationary_scale", "moving_scale"):
        view = op.view(role)
        if view is not None:
            typed = op.generation.scales_typed
            words = "float8_e8m0fnu or uint8" if typed else "uint8, before NKI 0.5"
            yield check(
                op,
                role,
                view.dtype.among(kit.SCALES if typed else kit.U8),
                f"dtype of {role} is {words} (it is {kit.dtype_words(view.dtype)})",
                f"{role} is not a scale",
                "MMX04",
                *(() if typed else ("M116",)),
            )
    dst = op.view("dst")
    if dst is not None:
        yield check(
            op,
            "dst",
            dst.dtype.among(kit.FP32 | kit.BF16),
            f"dtype of dst is float32 or bfloat16 (it is {kit.dtype_words(dst.dtype)})",
            "an MX matmul writes float32 or bfloat16",
            "MMX05",
        )


_MX = """\
# target: trn3
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def {name}(left_t, right, left_scale, right_scale):
    assert left_t.dtype == {packed} and right.dtype == {packed}
    assert left_t.shape == ({k}, {m}) and right.shape == ({k}, {n})
    assert left_scale.shape == ({k}, {m}) and right_scale.shape == ({k}, {n})
    assert left_scale.dtype == nl.uint8 and right_scale.dtype == nl.uint8
    out = nl.ndarray(({m}, {n}), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.ndarray(({k}, {m}), dtype={packed}, buffer=nl.sbuf)
    b = nl.ndarray(({k}, {n}), dtype={packed}, buffer=nl.sbuf)
    sa = nl.ndarray(({k}, {m}), dtype={scale}, buffer=nl.sbuf)
    sb = nl.ndarray(({k}, {n}), dtype={scale}, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=left_t)
    nisa.dma_copy(dst=b, src=right)
    nisa.dma_copy(dst=sa, src=left_scale)
    nisa.dma_copy(dst=sb, src=right_scale)
    acc = nl.ndarray(({m}, {n}), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul_mx(
        dst=acc, stationary=a, moving=b, stationary_scale=sa, moving_scale=sb
    )
    held = nl.ndarray(({m}, {n}), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=held, src=acc)
    nisa.dma_copy(dst=out, src=held)
    return out
"""


def _mx(name: str, k: int, m: int, n: int, scale: str = "nl.uint8") -> str:
    packed = "nl.float8_e4m3fn_x4"
    return _MX.format(name=name, k=k, m=m, n=n, scale=scale, packed=packed)


register(
    Rule(
        id="mx-matmul-dtypes",
        code="NKI210",
        family="matmul",
        summary="an MX matmul multiplies packed x4 operands with exponent scales",
        reason=(
            "The MX mode reads four packed 4- or 8-bit floats per element and one 8-bit exponent "
            "per group of 32 values. Other element types have no meaning to it. Results are "
            "float32 or bfloat16."
        ),
        facts=("MMX03", "MMX04", "MMX05", "M116"),
        on=On.OPERATION,
        concerns=kinds.with_traits(Trait.PACKED),
        check=_mx_dtypes,
        sources=("NKI ISA nc_matmul_mx, data types",),
        failing=_mx("float_scales", 64, 96, 256, scale="nl.bfloat16"),
        passing=_mx("exponent_scales", 64, 96, 256),
    )
)


def scales_fit(scale: View, data: View, target: Target) -> Bool:
    """Whether ``scale`` has the four rows of every quadrant of ``data`` (MMX10, QMX05).

    It ends with the last quadrant, which it may enter four, eight or twelve partitions late, or
    after the four rows of that.
    """
    spare = target.quadrant - target.scale_rows
    start = scale.start_partition
    late = E.const(0) if start is None else E.mod(start, target.quadrant)
    ends = (data.partitions, data.partitions - late, data.partitions - spare)
    return E.or_(*(E.eq(scale.partitions, end) for end in ends))


def _mx_shape(op: Operation, target: Target) -> Iterator[Check]:
    for role in ("stationary", "moving"):
        view = op.view(role)
        if view is not None:
            yield from _mx_rows(op, role, view, target)
    stationary, moving = op.view("stationary"), op.view("moving")
    if stationary is not None:
        yield check(
            op,
            "stationary",
            E.and_(
                kit.divisible(stationary.free, 2),
                E.le(stationary.free, target.stationary_free_max),
            ),
            f"stationary free size is even and <= {target.stationary_free_max}",
            "stationary tile of an MX matmul has an odd or too large number of columns",
            "MMX07",
            values=(("stationary free size", stationary.free),),
        )
    if moving is not None:
        yield from _mx_columns(op, moving, target)
        yield from _mx_scales(op, target)


def _mx_rows(op: Operation, role: str, view: View, target: Target) -> Iterator[Check]:
    yield check(
        op,
        role,
        E.and_(
            kit.divisible(view.partitions, target.quadrant),
            E.le(view.partitions, target.contraction_max),
        ),
        f"partitions of {role} are a multiple of {target.quadrant} and <= {target.contraction_max}",
        f"{role} of an MX matmul does not fill whole quadrants",
        "MMX06",
        "P15",
        values=((f"partitions of {role}", view.partitions),),
    )


def _mx_columns(op: Operation, moving: View, target: Target) -> Iterator[Check]:
    """As many as the array takes; the guide, and references before 0.5, promise fewer (M117)."""
    dst = op.view("dst")
    bank = target.psum_bank_singles
    narrow, wide = bank, 2 * bank
    if op.generation.multiplies_wide:
        narrow, wide = target.moving_free_max, target.moving_free_max_bf16
    fits = E.le(moving.free, narrow)
    if dst is not None and wide > narrow:
        fits = E.or_(fits, E.and_(dst.dtype.among(kit.BF16), E.le(moving.free, wide)))
    values = (("moving free size", moving.free),)
    yield check(
        op,
        "moving",
        fits,
        f"moving free size <= {narrow}, or <= {wide} into bfloat16",
        "moving tile has too many columns for one MX matmul",
        "MMX08",
        values=values,
        about=("moving", "dst"),
    )
    yield check(
        op,
        "moving",
        E.le(moving.free, bank),
        f"moving free size <= {bank}",
        f"the MX guide promises moving tiles of at most {bank} columns only",
        "MMX08",
        values=values,
        given=(fits,),
        severity="warning",
        help=(f"split the moving operand into tiles of {bank} columns to be safe",),
    )


def _mx_scales(op: Operation, target: Target) -> Iterator[Check]:
    for role, scale_role in (("stationary", "stationary_scale"), ("moving", "moving_scale")):
        data, scale = op.view(role), op.view(scale_role)
        if data is None or scale is None:
            continue
        yield check(
            op,
            scale_role,
            E.and_(E.eq(scale.free, data.free), scales_fit(scale, data, target)),
            f"{scale_role} has the free size of {role} and reaches into its last quadrant",
            f"{scale_role} does not match {role}",
            "MMX10",
            values=(
                (f"partitions of {scale_role}", scale.partitions),
                (f"{scale_role} free size", scale.free),
                (f"partitions of {role}", data.partitions),
                (f"{role} free size", data.free),
            ),
            about=(role, scale_role),
        )


register(
    Rule(
        id="mx-matmul-shape",
        code="NKI211",
        family="matmul",
        summary="operands of an MX matmul fill quadrants, and their scales match them",
        reason=(
            "Scaling groups are eight partitions of four packed values. Data enters by quadrants "
            "of 32 partitions, with four scales per quadrant and column; stationary columns are "
            "loaded in pairs."
        ),
        facts=("MMX06", "MMX07", "MMX08", "MMX10", "P15"),
        on=On.OPERATION,
        concerns=kinds.with_traits(Trait.PACKED),
        check=_mx_shape,
        sources=("NKI ISA nc_matmul_mx, tile size", "MX matmul guide, scale tensor"),
        twins=twins.MX_SCALES,
        failing=_mx("odd_columns", 64, 95, 256),
        passing=_mx("even_columns", 96, 94, 300),
    )
)


def _mx_scale_start(op: Operation, target: Target) -> Iterator[Check]:
    starts = {role.name: role.own_start for role in kit.described(op).roles if role.own_start}
    for role, fact in starts.items():
        view = op.view(role)
        start = view.start_partition if view is not None else None
        if view is None or start is None:
            continue
        offset = E.mod(start, target.quadrant)
        yield check(
            op,
            role,
            kit.one_of(offset, range(0, target.quadrant // 2, target.scale_rows)),
            f"start partition of {role} in its quadrant is 0, 4, 8 or 12",
            f"{role} starts at a partition that scales cannot start at",
            fact,
            values=((f"start partition of {role}", start),),
        )


_MX_SCALE_START = variants(
    """\
# target: trn3
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def quantize_into_corner(x):
    assert x.shape == (32, 256) and x.dtype == nl.bfloat16
    packed = nl.ndarray((32, 64), dtype=nl.float8_e4m3fn_x4, buffer=nl.shared_hbm)
    scales = nl.ndarray((4, 64), dtype=nl.uint8, buffer=nl.shared_hbm)
    held = nl.ndarray((32, 256), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=held, src=x)
    data = nl.ndarray((32, 64), dtype=nl.float8_e4m3fn_x4, buffer=nl.sbuf)
    scale = nl.ndarray((32, 64), dtype=nl.uint8, buffer=nl.sbuf)
-    nisa.quantize_mx(dst=data, src=held, dst_scale=scale[6:10, :])
+    nisa.quantize_mx(dst=data, src=held, dst_scale=scale[8:12, :])
    nisa.dma_copy(dst=packed, src=data)
-    nisa.dma_copy(dst=scales, src=scale[6:10, :])
+    nisa.dma_copy(dst=scales, src=scale[8:12, :])
    return packed, scales
"""
)


register(
    Rule(
        id="mx-scale-start",
        code="NKI212",
        family="matmul",
        summary="scales start at partition 0, 4, 8 or 12 of a quadrant",
        reason=(
            "A quadrant of 32 data partitions has four scales per column. The scales of up to four "
            "tensors can be packed into the first sixteen partitions of a quadrant, four "
            "partitions each."
        ),
        facts=("MMX11", "QMX06"),
        on=On.OPERATION,
        concerns=kinds.either(kinds.with_traits(Trait.PACKED), kinds.with_traits(Trait.QUANTISES)),
        check=_mx_scale_start,
        sources=("MX matmul guide, packing scale values",),
        failing=_MX_SCALE_START.failing,
        passing=_MX_SCALE_START.passing,
    )
)
