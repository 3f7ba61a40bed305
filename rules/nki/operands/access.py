"""Access patterns: dimensions, sizes, strides."""

from __future__ import annotations

from collections.abc import Iterator

from rules.nki import kit
from rules.nki.kit import check, register, tiles
from rules.nki.samples import variants
from verifier.hardware.targets import Target
from verifier.rulebase import On, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation


def free_pattern(view: View) -> list[tuple[Expr, Expr]] | None:
    """``(size, stride)`` of each free axis, in elements; None if an address is not affine."""
    return _pattern(view) if view.frame_partition is not None else None


def contiguous(view: View) -> Bool | None:
    """Whether elements follow one on another, on chip those of a partition; None: not known."""
    pattern = _pattern(view)
    if pattern is None:
        return None
    one = (E.const(1), E.const(1))
    return E.and_(*(merged for _, _, merged in _nested([*pattern, one])))


def _pattern(view: View) -> list[tuple[Expr, Expr]] | None:
    """``(size, stride)`` of each axis, on chip of each but that of the partitions."""
    if not view.exact:
        return None
    address = E.const(0)
    step = E.const(1)
    for position in range(len(view.frame) - 1, -1, -1):
        if position != view.frame_partition:
            address = address + view.coords[position] * step
            step = step * view.frame[position]
    out = []
    for axis in view.axes[0 if view.frame_partition is None else 1 :]:
        advanced = E.Substitution({axis.symbol: axis.index + 1}).expr(address)
        stride = advanced - address
        if axis.symbol in stride.free():
            return None
        out.append((axis.size, stride))
    return out


def _nested(pattern: list[tuple[Expr, Expr]]) -> Iterator[tuple[Expr, Expr, Bool]]:
    """The dimensions, the innermost first: ``(size, stride, merged)``. One merges into those within
    if it has one element, or if its elements follow on where they end."""
    ends: list[tuple[Bool, Expr]] = []  # where those within end, if all between have one element
    for size, stride in reversed(pattern):
        one = E.eq(size, 1)
        follows = (E.and_(only, E.eq(stride, end)) for only, end in ends)
        yield size, stride, E.or_(one, *follows)
        ends = [(E.and_(only, one), end) for only, end in ends]
        ends.append((E.TRUE, size * stride))


def _access_dims(op: Operation, target: Target) -> Iterator[Check]:
    if not kit.is_compute(op) or kit.made_as_needed(op):
        return
    for role, view in tiles(op):
        pattern = free_pattern(view)
        limit = target.access_dims
        if not op.generation.fits_tiles:
            yield check(
                op,
                role,
                E.le(E.const(view.rank), limit + 1),
                f"rank of {role} <= {limit + 1}",
                f"{role} has more dimensions than a view may have",
                "A04",
                values=((f"rank of {role}", E.const(view.rank)),),
                views=(view,),
                severity="warning",
                help=("merge adjacent dimensions with reshape",),
            )
        if pattern is None:
            continue
        count = E.const(0)
        for _, _, merged in _nested(pattern):
            count = count + E.ite(merged, 0, 1)
        yield check(
            op,
            role,
            E.le(count, limit),
            f"free dimensions of {role}, contiguous ones merged, <= {limit}",
            f"{role} needs more free dimensions than an access pattern has",
            "A01",
            values=((f"free dimensions of {role}", count),),
            views=(view,),
            help=("split the instruction, or copy the tile into a contiguous one first",),
        )


register(
    Rule(
        id="access-dims",
        code="NKI103",
        family="operands",
        summary="an operand's access pattern has at most four free dimensions",
        reason=(
            "An instruction describes the elements of a partition by up to four nested (step, "
            "count) pairs. Dimensions that follow on in memory merge into one; what remains has "
            "to fit into those pairs. Views of more than five dimensions are not part of the "
            "language at all."
        ),
        facts=("A01", "A04"),
        on=On.OPERATION,
        check=_access_dims,
        sources=("NKI access patterns, Hardware capability", "NKI language guide, Tensor values"),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def corners(x):
    assert x.shape == (128, 3, 4, 5, 6, 7)
    out = nl.ndarray((128, 32), dtype=x.dtype, buffer=nl.shared_hbm)
    block = nl.ndarray((128, 3, 4, 5, 6, 7), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=block, src=x)
    packed = nl.ndarray((128, 32), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=packed, src=block[:, 0:2, 0:2, 0:2, 0:2, 0:2])
    nisa.dma_copy(dst=out, src=packed)
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def corners(x):
    assert x.shape == (128, 4, 5, 6, 7)
    out = nl.ndarray((128, 16), dtype=x.dtype, buffer=nl.shared_hbm)
    block = nl.ndarray((128, 4, 5, 6, 7), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=block, src=x)
    packed = nl.ndarray((128, 16), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=packed, src=block[:, 0:2, 0:2, 0:2, 0:2])
    nisa.dma_copy(dst=out, src=packed)
    return out
""",
    )
)


def _access_size(op: Operation, target: Target) -> Iterator[Check]:
    if not kit.is_compute(op) or kit.made_as_needed(op):
        return
    for role, view in tiles(op):
        for position, axis in enumerate(view.axes[1:], start=1):
            yield check(
                op,
                role,
                E.le(axis.size, target.access_size_max),
                f"dimension {position} of {role} <= {target.access_size_max} elements",
                f"a dimension of {role} is longer than an access pattern can count",
                "A02",
                values=((f"dimension {position} of {role}", axis.size),),
                views=(view,),
                given=(E.le(kit.tile_bytes(view.storage), target.sbuf_bytes),),
                help=("split the dimension over several instructions",),
            )


_ACCESS_SIZE = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def clear_long_rows():
    out = nl.ndarray((16, 70000), dtype=nl.uint8, buffer=nl.shared_hbm)
    row = nl.ndarray((16, 70000), dtype=nl.uint8, buffer=nl.sbuf)
-    nisa.memset(dst=row, value=0)
+    for part in range(2):
+        nisa.memset(dst=row[:, part * 35000 : (part + 1) * 35000], value=0)
    nisa.dma_copy(dst=out, src=row)
    return out
"""
)


register(
    Rule(
        id="access-size",
        gather=True,
        code="NKI104",
        family="operands",
        summary="no dimension of an operand has more elements than a 16-bit count holds",
        reason=(
            "The count of each (step, count) pair of an access pattern is a 16-bit field in the "
            "instruction. A longer dimension has to be processed in pieces."
        ),
        facts=("A02",),
        on=On.OPERATION,
        check=_access_size,
        sources=("Trainium/Inferentia2 architecture, Accessing SBUF/PSUM tensors",),
        failing=_ACCESS_SIZE.failing,
        passing=_ACCESS_SIZE.passing,
    )
)


def _access_stride(op: Operation, target: Target) -> Iterator[Check]:
    if not kit.is_compute(op) or kit.made_as_needed(op):
        return
    low, high = target.access_stride_min, target.access_stride_max
    for role, view in tiles(op):
        pattern = free_pattern(view)
        if pattern is None:
            continue
        for _, stride, merged in _nested(pattern):
            yield check(
                op,
                role,
                E.or_(merged, E.and_(E.ge(stride, low), E.le(stride, high))),
                f"{low} <= step of {role} <= {high} elements",
                f"{role} steps further than an access pattern can",
                "A03",
                values=((f"step of {role}", stride),),
                views=(view,),
                given=(E.le(kit.tile_bytes(view.storage), target.sbuf_bytes),),
            )


_ACCESS_STRIDE = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
-def first_and_last(x):
-    assert x.shape == (32, 80000)
+def first_and_middle(x):
+    assert x.shape == (32, 60000)
    out = nl.ndarray((32, 2), dtype=nl.uint8, buffer=nl.shared_hbm)
-    wide = nl.ndarray((32, 80000), dtype=nl.uint8, buffer=nl.sbuf)
+    wide = nl.ndarray((32, 60000), dtype=nl.uint8, buffer=nl.sbuf)
    nisa.dma_copy(dst=wide, src=x)
    pair = nl.ndarray((32, 2), dtype=nl.uint8, buffer=nl.sbuf)
-    nisa.tensor_copy(dst=pair, src=wide[:, 0:80000:40000])
+    nisa.tensor_copy(dst=pair, src=wide[:, 0:60000:30000])
    nisa.dma_copy(dst=out, src=pair)
    return out
"""
)


register(
    Rule(
        id="access-stride",
        gather=True,
        code="NKI105",
        family="operands",
        summary="the steps of an operand's access pattern fit into 16 bits",
        reason=(
            "The step of each (step, count) pair is a signed 16-bit number of elements. Two "
            "elements of one dimension that lie further apart cannot be reached by one pattern."
        ),
        facts=("A03",),
        on=On.OPERATION,
        check=_access_stride,
        sources=("Trainium/Inferentia2 architecture, Accessing SBUF/PSUM tensors",),
        failing=_ACCESS_STRIDE.failing,
        passing=_ACCESS_STRIDE.passing,
    )
)
