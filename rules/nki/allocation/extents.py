"""Extents and ranks of tiles."""

from __future__ import annotations

from collections.abc import Iterator

from rules.beta1 import TWINS
from rules.nki.allocation.tensors import storage_check, tensor_name
from rules.nki.kit import register
from rules.nki.samples import variants
from verifier.hardware.targets import Target
from verifier.rulebase import On, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.tensors import Storage, StorageKind


def _partition_extent(storage: Storage, target: Target) -> Iterator[Check]:
    axis = storage.partition_axis
    if not storage.buffer.on_chip or axis is None or axis >= len(storage.shape):
        return
    extent = storage.shape[axis]
    name = tensor_name(storage)
    yield storage_check(
        storage,
        "shape",
        E.le(extent, target.partitions),
        f"partitions of {name} <= {target.partitions}",
        f"{name} has more partitions than the hardware",
        "P01",
        "N10",
        values=((f"partitions of {name}", extent),),
        help=(
            f"split the first axis into tiles of at most {target.partitions} "
            "(nl.tile_size.pmax) rows",
        ),
    )


_PARTITION_EXTENT = variants(
    """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def add_one(x):
    rows, columns = x.shape
-    assert columns == 300
+    assert rows <= 128 and columns == 300
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    whole = nl.load(x)
    nl.store(out, nl.add(whole, 1.0))
    return out
"""
)


register(
    Rule(
        id="partition-extent",
        code="NKI301",
        family="allocation",
        summary="an on-chip tile has at most 128 partitions",
        reason=(
            "SBUF and PSUM are 128 partitions wide: two-dimensional memories whose rows are wired "
            "to the lanes of the engines. The partition axis of a tile is laid across those rows, "
            "so it cannot be longer; longer tensors are processed in tiles."
        ),
        facts=("P01", "N10"),
        on=On.STORAGE,
        check=_partition_extent,
        sources=("NKI tiling overview, tile size considerations",),
        twins=TWINS["partition-extent"],
        failing=_PARTITION_EXTENT.failing,
        passing=_PARTITION_EXTENT.passing,
    )
)


def _tile_rank(storage: Storage, target: Target) -> Iterator[Check]:
    if not storage.buffer.on_chip or storage.kind is not StorageKind.ALLOC:
        return
    rank = len(storage.shape)
    axis = storage.partition_axis or 0
    single = rank == 1 and storage.shape[0] is E.const(1)
    name = tensor_name(storage)
    yield storage_check(
        storage,
        "shape",
        E.truth(rank - axis >= 2),
        f"rank of {name} >= 2",
        f"{name} has no free axis",
        "P02",
        *(("OQ42",) if single else ()),
        values=((f"rank of {name}", E.const(rank)),),
        severity="note" if storage.idle else "warning" if single else None,
        help=("give the tile a second axis: (1, n) for one partition, (n, 1) for one column",),
    )


_TILE_RANK = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def copy_vector(v):
-    assert v.shape == (64,)
-    out = nl.ndarray((64,), dtype=v.dtype, buffer=nl.shared_hbm)
-    line = nl.ndarray((64,), dtype=v.dtype, buffer=nl.sbuf)
+    assert v.shape == (1, 64)
+    out = nl.ndarray((1, 64), dtype=v.dtype, buffer=nl.shared_hbm)
+    line = nl.ndarray((1, 64), dtype=v.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=line, src=v)
    nisa.dma_copy(dst=out, src=line)
    return out
"""
)


register(
    Rule(
        id="tile-rank",
        code="NKI302",
        family="allocation",
        summary="an on-chip tile has a partition axis and a free axis",
        reason=(
            "A tile on chip is addressed by partition and by position within the partition. A "
            "one-dimensional shape says nothing about the second, and the compiler rejects it; "
            "that of Beta 1 where such a tile is used."
        ),
        facts=("P02", "OQ42"),
        on=On.STORAGE,
        check=_tile_rank,
        of_rank=True,
        sources=("NKI language guide, view primitives",),
        failing=_TILE_RANK.failing,
        passing=_TILE_RANK.passing,
    )
)


def _empty_shape(storage: Storage, target: Target) -> Iterator[Check]:
    if storage.kind is not StorageKind.ALLOC:
        return
    name = tensor_name(storage)
    for position, extent in enumerate(storage.shape):
        yield storage_check(
            storage,
            "shape",
            E.ge(extent, 1),
            f"dimension {position} of {name} >= 1",
            f"{name} is empty",
            "L03",
            values=((f"dimension {position} of {name}", extent),),
        )


_EMPTY_SHAPE = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def half_columns(x):
    rows, columns = x.shape
-    assert rows == 128 and columns <= 8
+    assert rows == 128 and columns >= 2 and columns <= 8
    out = nl.ndarray((rows, columns // 2), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, columns // 2), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=tile, value=0.5)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
)


register(
    Rule(
        id="empty-shape",
        code="NKI303",
        family="allocation",
        summary="every dimension of an allocated tensor is at least 1",
        reason=(
            "A tensor without elements cannot be allocated. Sizes that come from a floor division "
            "become 0 when the divisor is the larger one."
        ),
        facts=("L03",),
        on=On.STORAGE,
        check=_empty_shape,
        sources=("NKI language ndarray",),
        failing=_EMPTY_SHAPE.failing,
        passing=_EMPTY_SHAPE.passing,
    )
)
