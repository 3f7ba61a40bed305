"""Tiles in SBUF: size, placement; the partition that a placed tile starts at."""

from __future__ import annotations

from collections.abc import Iterator

from rules.nki import kit
from rules.nki.allocation.tensors import placed_at, storage_check, tensor_name
from rules.nki.kit import register
from rules.nki.operands.partitions import start_predicate
from rules.nki.samples import variants
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.rulebase import On, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Expr
from verifier.symbolic.tensors import Storage


def _sbuf_tile_size(storage: Storage, target: Target) -> Iterator[Check]:
    if storage.buffer is not Buffer.SBUF or storage.passing:
        return
    size = kit.tile_bytes(storage)
    name = tensor_name(storage)
    values = ((f"bytes of {name} per partition", size),)
    # where the compiler is not known to keep some to itself, the rule on all live tiles warns
    hard = target.sbuf_hard_bytes
    yield storage_check(
        storage,
        "shape",
        E.le(size, hard),
        f"bytes of {name} per partition <= {hard}",
        f"{name} is larger than SBUF",
        "B01",
        values=values,
        help=("process the free axis in tiles",),
    )


_SBUF_TILE_SIZE = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def long_rows(x):
    assert x.shape == (64, 60000)
    out = nl.ndarray((64, 60000), dtype=nl.float32, buffer=nl.shared_hbm)
-    row = nl.ndarray((64, 60000), dtype=nl.float32, buffer=nl.sbuf)
-    nisa.dma_copy(dst=row, src=x)
-    nisa.dma_copy(dst=out, src=row)
+    for part in range(3):
+        columns = slice(part * 20000, (part + 1) * 20000)
+        row = nl.ndarray((64, 20000), dtype=nl.float32, buffer=nl.sbuf)
+        nisa.dma_copy(dst=row, src=x[:, columns])
+        nisa.dma_copy(dst=out[:, columns], src=row)
    return out
"""
)


register(
    Rule(
        id="sbuf-tile-size",
        gather=True,
        by_use=True,
        code="NKI304",
        family="allocation",
        summary="one SBUF tile fits into the bytes of a partition",
        reason=(
            "Every partition of SBUF has the same number of bytes, and a tile lies at the same "
            "bytes in each of its partitions. A tile that takes more bytes per partition than "
            "there are cannot be placed, whatever else is live."
        ),
        facts=("B01",),
        on=On.STORAGE,
        check=_sbuf_tile_size,
        sources=("Neuron architecture guides", "NKI ISA, tile size of each instruction"),
        failing=_SBUF_TILE_SIZE.failing,
        passing=_SBUF_TILE_SIZE.passing,
    )
)


def _sbuf_placement(storage: Storage, target: Target) -> Iterator[Check]:
    if storage.buffer is not Buffer.SBUF:
        return
    name = tensor_name(storage)
    size = kit.tile_bytes(storage)
    base: Expr | None = None
    where = "address"
    if storage.placed:
        partition = placed_at(storage.placement, "base_partition")
        if partition is not None:
            yield storage_check(
                storage,
                "base_partition",
                E.eq(partition, 0),
                f"base_partition of {name} == 0",
                f"{name} does not start at partition 0",
                "B09",
                values=((f"base_partition of {name}", partition),),
            )
        base = placed_at(storage.placement, "base_addr")
        where = "base_addr"
    elif storage.address is not None:
        base = storage.address[1]
    if base is None:
        return
    limit = target.sbuf_hard_bytes
    values = ((f"byte offset of {name}", base), (f"bytes of {name} per partition", size))
    yield storage_check(
        storage,
        where,
        E.and_(E.ge(base, 0), E.le(base + size, limit)),
        f"byte offset of {name} + its bytes <= {limit}",
        f"{name} reaches beyond the end of SBUF",
        "B02",
        values=values,
    )
    yield storage_check(
        storage,
        where,
        E.eq(E.mod(base, storage.dtype.itemsize), 0),
        f"byte offset of {name} is a multiple of its element size",
        f"{name} starts in the middle of an element",
        "B22",
        values=values,
        severity="warning",
        help=("addresses are in bytes, not in elements",),
    )


_SBUF_PLACEMENT = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
-def high_address(x):
+def low_address(x):
    assert x.shape == (128, 4096)
    out = nl.ndarray((128, 4096), dtype=nl.float32, buffer=nl.shared_hbm)
-    tile = nl.ndarray((128, 4096), dtype=nl.float32, buffer=nl.sbuf, address=(0, 215040))
+    tile = nl.ndarray((128, 4096), dtype=nl.float32, buffer=nl.sbuf, address=(0, 65536))
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
)


register(
    Rule(
        id="sbuf-placement",
        gather=True,
        code="NKI308",
        family="allocation",
        summary="an SBUF tile placed by hand lies within the partition",
        reason=(
            "Addresses count bytes within a partition. A tile placed by hand has to end before the "
            "partition does, on trn1 before the last 16 KiB, which the compiler keeps to itself."
        ),
        facts=("B02", "B09", "B22", "OQ01"),
        on=On.STORAGE,
        check=_sbuf_placement,
        sources=("Direct allocation guide", "NKI language ndarray, address"),
        failing=_SBUF_PLACEMENT.failing,
        passing=_SBUF_PLACEMENT.passing,
    )
)


def _placement_start(storage: Storage, target: Target) -> Iterator[Check]:
    if storage.address is None or not storage.buffer.on_chip or not storage.shape:
        return
    axis = storage.partition_axis or 0
    start, count = storage.address[0], storage.shape[axis]
    name = tensor_name(storage)
    half = target.partitions // 2
    yield storage_check(
        storage,
        "address",
        E.and_(start_predicate(start, count, target), E.le(start + count, target.partitions)),
        f"start partition of {name} is 0, or {half} with at most {half} partitions, or a "
        f"multiple of {target.quadrant} with at most {target.quadrant}",
        f"{name} is placed at a partition that its size does not allow",
        "L04",
        values=((f"start partition of {name}", start), (f"partitions of {name}", count)),
    )


_PLACEMENT_START = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def shifted(x):
    assert x.shape == (48, 100)
    out = nl.ndarray((48, 100), dtype=nl.float32, buffer=nl.shared_hbm)
-    tile = nl.ndarray((48, 100), dtype=nl.float32, buffer=nl.sbuf, address=(32, 0))
+    tile = nl.ndarray((48, 100), dtype=nl.float32, buffer=nl.sbuf, address=(64, 0))
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
)


register(
    Rule(
        id="placement-start",
        code="NKI309",
        family="allocation",
        summary="a tile placed by hand starts at a partition that its size allows",
        reason=(
            "Engines reach partitions in quadrants of 32: a tile of more than 64 partitions starts "
            "at partition 0, one of more than 32 at 0 or 64, a smaller one at any quadrant."
        ),
        facts=("L04",),
        on=On.STORAGE,
        check=_placement_start,
        sources=("NKI language ndarray, address", "Direct allocation guide"),
        failing=_PLACEMENT_START.failing,
        passing=_PLACEMENT_START.passing,
    )
)
