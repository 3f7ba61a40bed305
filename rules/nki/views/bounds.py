"""Views stay within their tensors."""

from __future__ import annotations

from collections.abc import Iterator

from rules.beta1 import TWINS
from rules.memory.words import highest, lowest
from rules.nki.kit import check, register
from rules.nki.samples import variants
from verifier.hardware.targets import Target
from verifier.rulebase import On, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Expr
from verifier.symbolic.memory.content import skips
from verifier.symbolic.pretty import operand
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation

_SLICE_BOUNDS = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def copy_rows(x):
    rows, columns = x.shape
-    assert rows == 300
+    assert rows % 128 == 0
    assert columns == 48
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
-    for i in nl.affine_range((rows + 127) // 128):
+    for i in nl.affine_range(rows // 128):
        tile = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[i * 128 : i * 128 + 128, :])
        nisa.dma_copy(dst=out[i * 128 : i * 128 + 128, :], src=tile)
    return out
"""
)


register(
    Rule(
        id="slice-bounds",
        code="NKI251",
        family="views",
        summary="subscripts stay inside the tensor and select at least one element",
        reason=(
            "NKI neither clamps slices, as Python does, nor checks them on the device: an access "
            "past the end of a dimension reads or overwrites whatever lies there. The last tile of "
            "a dimension that the tile size does not divide has to be clamped with `min` (from 0.2 "
            "on) or masked (Beta 1). An empty slice cannot be encoded in an instruction either."
        ),
        facts=("X01", "X06", "X07", "X09", "X12", "X27", "X28", "X63"),
        on=On.HOST,
        of_rank=True,
        sources=("NKI indexing guide", "NKI tensor reference, slice and select"),
        twins=TWINS["slice-bounds"],
        failing=_SLICE_BOUNDS.failing,
        passing=_SLICE_BOUNDS.passing,
    )
)


_ACCESS_BOUNDS = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def every_other_column(x):
    assert x.shape == (64, 96)
-    out = nl.ndarray((64, 49), dtype=x.dtype, buffer=nl.shared_hbm)
+    out = nl.ndarray((64, 48), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((64, 96), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
-    picked = nl.ndarray((64, 49), dtype=x.dtype, buffer=nl.sbuf)
-    nisa.tensor_copy(dst=picked, src=tile.ap([[96, 64], [2, 49]], offset=0))
+    picked = nl.ndarray((64, 48), dtype=x.dtype, buffer=nl.sbuf)
+    nisa.tensor_copy(dst=picked, src=tile.ap([[96, 64], [2, 48]], offset=0))
    nisa.dma_copy(dst=out, src=picked)
    return out
"""
)


register(
    Rule(
        id="access-bounds",
        code="NKI252",
        family="views",
        summary="an access pattern stays inside its tensor",
        reason=(
            "`.ap` addresses the flattened tensor directly: element `offset + sum(step * index)`. "
            "Off chip the furthest element must lie in the tensor, on chip in its partitions and "
            "in the row of its partition; beyond the row lies the next tile, not the next row."
        ),
        facts=("A02", "A06", "A07", "X50"),
        on=On.HOST,
        sources=("NKI access pattern reference, semantics of the access pattern",),
        failing=_ACCESS_BOUNDS.failing,
        passing=_ACCESS_BOUNDS.passing,
    )
)


_AP_PARTITION_STEP = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def first_half(x):
    assert x.shape == (64, 80)
    out = nl.ndarray((64, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((64, 80), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    half = nl.ndarray((64, 40), dtype=x.dtype, buffer=nl.sbuf)
-    nisa.tensor_copy(dst=half, src=tile.ap([[40, 64], [1, 40]], offset=0))
+    nisa.tensor_copy(dst=half, src=tile.ap([[80, 64], [1, 40]], offset=0))
    nisa.dma_copy(dst=out, src=half)
    return out
"""
)


register(
    Rule(
        id="ap-partition-step",
        code="NKI253",
        family="views",
        summary="the first step of an on-chip access pattern is the row length of the tile",
        reason=(
            "The first pair of an on-chip pattern walks the partitions, one after the other; its "
            "step is the number of elements that the tile has per partition, in units of the type "
            "that is accessed. Other steps would skip or share partitions, which the engines "
            "cannot do."
        ),
        facts=("A05", "X41", "X42"),
        on=On.HOST,
        sources=("NKI access pattern reference, semantics and restriction",),
        failing=_AP_PARTITION_STEP.failing,
        passing=_AP_PARTITION_STEP.passing,
    )
)


_RESHAPE_COUNT = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def first_group(x):
-    assert x.shape == (250, 32)
-    groups = x.reshape((250 // 100, 100, 32))
+    rows, columns = x.shape
+    assert rows % 100 == 0 and columns == 32
+    groups = x.reshape((rows // 100, 100, 32))
    out = nl.ndarray((100, 32), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((100, 32), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=groups[0])
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
)


register(
    Rule(
        id="reshape-count",
        code="NKI254",
        family="views",
        summary="a reshape keeps the number of elements",
        reason=(
            "A reshape is another way to count the same elements: the product of the new extents "
            "is the product of the old ones. Extents computed with `//` lose elements when the "
            "division has a remainder."
        ),
        facts=("X23", "X25"),
        on=On.HOST,
        sources=("NKI tensor reference, reshape and reshape_dim",),
        failing=_RESHAPE_COUNT.failing,
        passing=_RESHAPE_COUNT.passing,
    )
)


_RESHAPE_PARTITION = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def fold(x):
    assert x.shape == (96, 24)
-    out = nl.ndarray((48, 48), dtype=x.dtype, buffer=nl.shared_hbm)
+    out = nl.ndarray((96, 2, 12), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((96, 24), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
-    nisa.dma_copy(dst=out, src=tile.reshape((48, 48)))
+    nisa.dma_copy(dst=out, src=tile.reshape((96, 2, 12)))
    return out
"""
)


register(
    Rule(
        id="reshape-partition",
        code="NKI255",
        family="views",
        summary="reshaping a tile leaves its partition dimension alone",
        reason=(
            "The rows of an on-chip tile lie in different partitions, each with its own address "
            "space. Elements do not move between partitions by renaming, so no view of the tile "
            "has another number of partitions: that takes a transpose or a copy."
        ),
        facts=("X25", "P13"),
        on=On.HOST,
        sources=("NKI tensor reference, reshape",),
        failing=_RESHAPE_PARTITION.failing,
        passing=_RESHAPE_PARTITION.passing,
    )
)


def _fits_somewhere(op: Operation, target: Target) -> Iterator[Check]:
    """From its first to its last element, a view with a run-time offset is no longer than the
    tensor: otherwise part of it lies outside, whatever the offset."""
    if skips(op):
        return
    for role, view in (*op.reads, *op.writes):
        if not view.indirect:
            continue
        for dimension, extent in enumerate(view.frame):
            span = _span(view, dimension)
            if span is None or span is E.const(0):
                continue
            yield check(
                op,
                role,
                E.lt(span, extent),
                f"{operand(span + 1)} <= {operand(extent)}",
                f"no offset into `{view.name}` keeps all of this access inside",
                "X49",
                "A06",
                values=(("elements from first to last", span + 1), ("elements there are", extent)),
                given=(loop.within for loop in op.loops),
            )


def _span(view: View, dimension: int) -> Expr | None:
    """How far the last element of a view lies behind the first one along a dimension."""
    axes, coord = view.axes, view.coords[dimension]
    offsets = [index.elements for index in view.indices if index.elements is not E.const(1)]
    if offsets:  # each takes the place of one of the outermost count
        if not axes or any(count is not axes[0].size for count in offsets):
            return None
        coord = E.Substitution({axes[0].symbol: E.const(0)}).expr(coord)
        axes = axes[1:]
    low, high = lowest(coord, (), axes), highest(coord, (), axes)
    return None if low is None or high is None else high - low


_RUNTIME_OFFSET_BOUNDS = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def pick_block(x, start):
-    assert x.shape == (48, 32)
+    assert x.shape == (480, 32)
    assert start.shape == (1, 1) and start.dtype == nl.int32
    out = nl.ndarray((64, 32), dtype=x.dtype, buffer=nl.shared_hbm)
    first = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=first, src=start)
    tile = nl.ndarray((64, 32), dtype=x.dtype, buffer=nl.sbuf)
    rows = x.ap([[32, 64], [1, 32]], offset=0, scalar_offset=first, indirect_dim=0)
    nisa.dma_copy(dst=tile, src=rows)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
)


register(
    Rule(
        id="runtime-offset-bounds",
        code="NKI260",
        family="views",
        summary="some run-time offset keeps all of an access inside its tensor",
        reason=(
            "A run-time offset moves an access as a whole. If its first and its last element lie "
            "further apart than the tensor is long, part of it is outside wherever it starts."
        ),
        facts=("X49", "A06"),
        on=On.OPERATION,
        check=_fits_somewhere,
        sources=("NKI access pattern reference, scalar dynamic access",),
        failing=_RUNTIME_OFFSET_BOUNDS.failing,
        passing=_RUNTIME_OFFSET_BOUNDS.passing,
    )
)
