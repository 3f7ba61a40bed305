"""Subscripts, access patterns and reshapes: what a view may name.

The view algebra raises these rules where the view is made, those of Beta 1 index arrays where an
operation uses it, because its mask belongs to the operation. What a run-time offset leaves of a
view's bounds is checked where it is used as well: that says whether rows outside are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator

from rules.memory.words import highest, lowest
from rules.nki.kit import check, register
from verifier.hardware.targets import Target
from verifier.rulebase import Check, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.pretty import pretty
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation

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
        facts=("X01", "X06", "X07", "X09", "X12", "X63"),
        on="host",
        of_rank=True,
        sources=("NKI indexing guide", "NKI tensor reference, slice and select"),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def copy_rows(x):
    rows, columns = x.shape
    assert rows == 300
    assert columns == 48
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range((rows + 127) // 128):
        tile = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[i * 128 : i * 128 + 128, :])
        nisa.dma_copy(dst=out[i * 128 : i * 128 + 128, :], src=tile)
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def copy_rows(x):
    rows, columns = x.shape
    assert rows % 128 == 0
    assert columns == 48
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(rows // 128):
        tile = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[i * 128 : i * 128 + 128, :])
        nisa.dma_copy(dst=out[i * 128 : i * 128 + 128, :], src=tile)
    return out
""",
    )
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
        facts=("A06", "A07", "X50"),
        on="host",
        sources=("NKI access pattern reference, semantics of the access pattern",),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def every_other_column(x):
    assert x.shape == (64, 96)
    out = nl.ndarray((64, 49), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((64, 96), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    picked = nl.ndarray((64, 49), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=picked, src=tile.ap([[96, 64], [2, 49]], offset=0))
    nisa.dma_copy(dst=out, src=picked)
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def every_other_column(x):
    assert x.shape == (64, 96)
    out = nl.ndarray((64, 48), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((64, 96), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    picked = nl.ndarray((64, 48), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=picked, src=tile.ap([[96, 64], [2, 48]], offset=0))
    nisa.dma_copy(dst=out, src=picked)
    return out
""",
    )
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
        on="host",
        sources=("NKI access pattern reference, semantics and restriction",),
        failing="""\
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
    nisa.tensor_copy(dst=half, src=tile.ap([[40, 64], [1, 40]], offset=0))
    nisa.dma_copy(dst=out, src=half)
    return out
""",
        passing="""\
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
    nisa.tensor_copy(dst=half, src=tile.ap([[80, 64], [1, 40]], offset=0))
    nisa.dma_copy(dst=out, src=half)
    return out
""",
    )
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
        on="host",
        sources=("NKI tensor reference, reshape and reshape_dim",),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def first_group(x):
    assert x.shape == (250, 32)
    groups = x.reshape((250 // 100, 100, 32))
    out = nl.ndarray((100, 32), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((100, 32), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=groups[0])
    nisa.dma_copy(dst=out, src=tile)
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def first_group(x):
    rows, columns = x.shape
    assert rows % 100 == 0 and columns == 32
    groups = x.reshape((rows // 100, 100, 32))
    out = nl.ndarray((100, 32), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((100, 32), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=groups[0])
    nisa.dma_copy(dst=out, src=tile)
    return out
""",
    )
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
        on="host",
        sources=("NKI tensor reference, reshape",),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def fold(x):
    assert x.shape == (96, 24)
    out = nl.ndarray((48, 48), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((96, 24), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=out, src=tile.reshape((48, 48)))
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def fold(x):
    assert x.shape == (96, 24)
    out = nl.ndarray((96, 2, 12), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((96, 24), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=out, src=tile.reshape((96, 2, 12)))
    return out
""",
    )
)

register(
    Rule(
        id="view-precondition",
        code="NKI256",
        family="views",
        summary="a view method gets dimensions that it can work on",
        reason=(
            "Views are free because they only change extents and strides. Broadcasting and "
            "squeezing need an extent of 1, flattening needs dimensions that follow each other in "
            "memory, reinterpreting the type needs whole elements, and the partition dimension of "
            "an on-chip tile stays first and whole."
        ),
        facts=(
            "X20",
            "X21",
            "X22",
            "X23",
            "X24",
            "X26",
            "X27",
            "X28",
            "X29",
            "X30",
            "P13",
        ),
        on="host",
        of_rank=True,
        sources=("NKI tensor reference, view methods",),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def turn(x):
    assert x.shape == (64, 32)
    out = nl.ndarray((32, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((64, 32), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=out, src=tile.permute((1, 0)))
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def turn(x):
    assert x.shape == (64, 4, 8)
    out = nl.ndarray((64, 8, 4), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((64, 4, 8), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=out, src=tile.permute((0, 2, 1)))
    return out
""",
    )
)

register(
    Rule(
        id="beta1-mixed-indexing",
        code="NKI257",
        family="views",
        summary="a subscript uses index arrays or slices, not both",
        reason=(
            "Beta 1 has two ways to index, slices and arrays made by `nl.arange` or `nl.mgrid`; "
            "one subscript is of one kind. Integers and loop indices go with both."
        ),
        facts=("X62",),
        on="host",
        sources=("NKI Beta 1 programming model, advanced tensor indexing",),
        failing="""\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def copy_block(x):
    assert x.shape == (72, 40)
    out = nl.ndarray((72, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    row = nl.arange(72)[:, None]
    tile = nl.load(x[row, 0:40])
    nl.store(out, tile)
    return out
""",
        passing="""\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def copy_block(x):
    assert x.shape == (72, 40)
    out = nl.ndarray((72, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    row = nl.arange(72)[:, None]
    column = nl.arange(40)[None, :]
    tile = nl.load(x[row, column])
    nl.store(out[row, column], tile)
    return out
""",
    )
)

register(
    Rule(
        id="index-shapes-agree",
        code="NKI258",
        family="views",
        summary="index arrays along one position have one length",
        reason=(
            "Index arrays broadcast as in NumPy: along each position all of them have the same "
            "length, or length 1."
        ),
        facts=("X60",),
        on="host",
        sources=("NKI Beta 1 programming model, advanced tensor indexing",),
        failing="""\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def copy_shifted(x):
    assert x.shape == (72, 40)
    out = nl.ndarray((72, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    row = nl.arange(72)[:, None]
    shift = nl.arange(36)[:, None]
    column = nl.arange(40)[None, :]
    tile = nl.load(x[row + 0 * shift, column])
    nl.store(out[row, column], tile)
    return out
""",
        passing="""\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def copy_shifted(x):
    assert x.shape == (72, 40)
    out = nl.ndarray((72, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    row = nl.arange(72)[:, None]
    shift = nl.arange(1)[:, None]
    column = nl.arange(40)[None, :]
    tile = nl.load(x[row + shift, column])
    nl.store(out[row, column], tile)
    return out
""",
    )
)

register(
    Rule(
        id="beta1-index-rank",
        code="NKI259",
        family="views",
        summary="index arrays have two dimensions or more",
        reason=(
            "A tile has a partition and a free dimension, and so has what indexes it: `nl.arange` "
            "is written `nl.arange(n)[:, None]` or `nl.arange(n)[None, :]`."
        ),
        facts=("X61",),
        on="host",
        sources=("NKI Beta 1 error reference, err_1d_arange_not_supported",),
        failing="""\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def copy_vector(x):
    assert x.shape == (88,)
    out = nl.ndarray((88, 1), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x[nl.arange(88)])
    nl.store(out, tile)
    return out
""",
        passing="""\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def copy_vector(x):
    assert x.shape == (88, 1)
    out = nl.ndarray((88, 1), dtype=x.dtype, buffer=nl.shared_hbm)
    row = nl.arange(88)[:, None]
    column = nl.arange(1)[None, :]
    tile = nl.load(x[row, column])
    nl.store(out[row, column], tile)
    return out
""",
    )
)


def _fits_somewhere(op: Operation, target: Target) -> Iterator[Check]:
    """From its first to its last element, a view with a run-time offset is no longer than the
    tensor: otherwise part of it lies outside, whatever the offset."""
    if getattr(op.value("oob_mode"), "name", "") == "skip":
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
                f"{pretty(span + 1)} <= {pretty(extent)}",
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
        on="operation",
        check=_fits_somewhere,
        sources=("NKI access pattern reference, scalar dynamic access",),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def pick_block(x, start):
    assert x.shape == (48, 32)
    assert start.shape == (1, 1) and start.dtype == nl.int32
    out = nl.ndarray((64, 32), dtype=x.dtype, buffer=nl.shared_hbm)
    first = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=first, src=start)
    tile = nl.ndarray((64, 32), dtype=x.dtype, buffer=nl.sbuf)
    rows = x.ap([[32, 64], [1, 32]], offset=0, scalar_offset=first, indirect_dim=0)
    nisa.dma_copy(dst=tile, src=rows)
    nisa.dma_copy(dst=out, src=tile)
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def pick_block(x, start):
    assert x.shape == (480, 32)
    assert start.shape == (1, 1) and start.dtype == nl.int32
    out = nl.ndarray((64, 32), dtype=x.dtype, buffer=nl.shared_hbm)
    first = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=first, src=start)
    tile = nl.ndarray((64, 32), dtype=x.dtype, buffer=nl.sbuf)
    rows = x.ap([[32, 64], [1, 32]], offset=0, scalar_offset=first, indirect_dim=0)
    nisa.dma_copy(dst=tile, src=rows)
    nisa.dma_copy(dst=out, src=tile)
    return out
""",
    )
)
