"""Tiles in PSUM: size, banks, placement."""

from __future__ import annotations

from collections.abc import Iterator

from rules.nki import kit
from rules.nki.allocation.tensors import byte_range, placed_at, storage_check, tensor_name
from rules.nki.kit import register
from rules.nki.samples import variants
from verifier.hardware.capabilities import Capability
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.rulebase import On, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Expr
from verifier.symbolic.tensors import Storage
from verifier.symbolic.trace import Operation


def _psum_tile_size(storage: Storage, target: Target) -> Iterator[Check]:
    if storage.buffer is not Buffer.PSUM:
        return
    size = kit.tile_bytes(storage)
    name = tensor_name(storage)
    yield storage_check(
        storage,
        "shape",
        E.le(size, target.psum_bytes),
        f"bytes of {name} per partition <= {target.psum_bytes}",
        f"{name} is larger than PSUM",
        "B05",
        values=((f"bytes of {name} per partition", size),),
        help=(f"PSUM has {target.psum_banks} banks of {target.psum_bank_bytes} bytes",),
    )


_PSUM_TILE_SIZE = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def zeros():
-    out = nl.ndarray((16, 5000), dtype=nl.float32, buffer=nl.shared_hbm)
-    acc = nl.ndarray((16, 5000), dtype=nl.float32, buffer=nl.psum)
+    out = nl.ndarray((16, 500), dtype=nl.float32, buffer=nl.shared_hbm)
+    acc = nl.ndarray((16, 500), dtype=nl.float32, buffer=nl.psum)
    nisa.memset(dst=acc, value=0.0)
-    held = nl.ndarray((16, 5000), dtype=nl.float32, buffer=nl.sbuf)
+    held = nl.ndarray((16, 500), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=held, src=acc)
    nisa.dma_copy(dst=out, src=held)
    return out
"""
)


register(
    Rule(
        id="psum-tile-size",
        code="NKI305",
        family="allocation",
        summary="one PSUM tile fits into the bytes of a partition",
        reason=(
            "A partition of PSUM has 16 KiB in eight banks of 2 KiB. A tile with more bytes per "
            "partition cannot be placed."
        ),
        facts=("B05",),
        on=On.STORAGE,
        check=_psum_tile_size,
        sources=("Trainium/Inferentia2 architecture, near-memory accumulation in PSUM",),
        failing=_PSUM_TILE_SIZE.failing,
        passing=_PSUM_TILE_SIZE.passing,
    )
)


def _psum_bank_crossing(op: Operation, target: Target) -> Iterator[Check]:
    dst = op.view("dst")
    if dst is None or dst.buffer is not Buffer.PSUM or target.has(Capability.WIDE_SUMS):
        return
    bank = target.psum_bank_bytes
    size = dst.free_bytes
    yield kit.check(
        op,
        "dst",
        E.le(size, bank),
        f"bytes of dst per partition <= {bank}",
        "dst does not fit into one PSUM bank",
        "B04",
        "OQ04",
        values=(("bytes of dst per partition", size),),
        given=(E.le(dst.free, target.moving_free_max),),
        help=(f"one bank holds {target.psum_bank_singles} float32 elements per partition",),
    )
    touched = byte_range(dst)
    whole = kit.tile_bytes(dst.storage)
    if touched is None or whole is size:
        return
    first, last = touched
    address = dst.address
    if address is not None:
        first, last = first + address[1], last + address[1]
    same = E.eq(E.floordiv(first, bank), E.floordiv(last, bank))
    if address is None:
        same = E.or_(E.le(whole, bank), same)
    yield kit.check(
        op,
        "dst",
        same,
        "first and last byte of dst are in the same PSUM bank",
        "dst crosses the border between two PSUM banks",
        "B06",
        values=(("first byte of dst", first), ("last byte of dst", last)),
        given=(E.le(size, bank),),
        help=(f"start the tiles of a PSUM tensor at multiples of {bank} bytes",),
    )


_PSUM_BANK_CROSSING = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def two_products(left_t, right):
-    assert left_t.shape == (128, 64) and right.shape == (128, 800)
-    out = nl.ndarray((64, 800), dtype=nl.float32, buffer=nl.shared_hbm)
+    assert left_t.shape == (128, 64) and right.shape == (128, 1024)
+    out = nl.ndarray((64, 1024), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.ndarray((128, 64), dtype=nl.bfloat16, buffer=nl.sbuf)
-    b = nl.ndarray((128, 800), dtype=nl.bfloat16, buffer=nl.sbuf)
+    b = nl.ndarray((128, 1024), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=left_t)
    nisa.dma_copy(dst=b, src=right)
-    acc = nl.ndarray((64, 800), dtype=nl.float32, buffer=nl.psum)
+    acc = nl.ndarray((64, 1024), dtype=nl.float32, buffer=nl.psum)
    for part in range(2):
-        columns = slice(part * 400, (part + 1) * 400)
+        columns = slice(part * 512, (part + 1) * 512)
        nisa.nc_matmul(dst=acc[:, columns], stationary=a, moving=b[:, columns])
-    held = nl.ndarray((64, 800), dtype=nl.float32, buffer=nl.sbuf)
+    held = nl.ndarray((64, 1024), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=held, src=acc)
    nisa.dma_copy(dst=out, src=held)
    return out
"""
)


register(
    Rule(
        id="psum-bank-crossing",
        code="NKI306",
        family="allocation",
        summary="one matmul writes into one PSUM bank",
        reason=(
            "A matmul accumulates into one bank of 2 KiB per partition. On trn1 and trn2 a "
            "destination that is larger, or that begins in one bank and ends in the next, cannot "
            "be addressed by one instruction."
        ),
        facts=("B04", "B06", "OQ04"),
        on=On.OPERATION,
        concerns=kit.multiplies,
        check=_psum_bank_crossing,
        sources=("NKI tiling overview, tile-size constraints", "Direct allocation guide"),
        failing=_PSUM_BANK_CROSSING.failing,
        passing=_PSUM_BANK_CROSSING.passing,
    )
)


def _psum_placement(storage: Storage, target: Target) -> Iterator[Check]:
    if storage.buffer is not Buffer.PSUM:
        return
    if storage.placed:
        yield from _placed_in_bank(storage, target)
    elif storage.address is not None:
        yield from _placed_at_byte(storage, storage.address[1], target)


def _placed_in_bank(storage: Storage, target: Target) -> Iterator[Check]:
    """Beta 1: a bank is named, and a tile begins where it does."""
    name, placement = tensor_name(storage), storage.placement
    for key in ("base_addr", "base_partition"):
        value = placed_at(placement, key)
        if value is not None:
            yield storage_check(
                storage,
                key,
                E.eq(value, 0),
                f"{key} of {name} == 0",
                f"{name} does not start at the beginning of a PSUM bank",
                "B08",
                values=((f"{key} of {name}", value),),
            )
    bank = placed_at(placement, "base_bank")
    if bank is not None:
        yield storage_check(
            storage,
            "base_bank",
            E.and_(E.ge(bank, 0), E.lt(bank, target.psum_banks)),
            f"0 <= base_bank of {name} < {target.psum_banks}",
            f"{name} lies in a PSUM bank that does not exist",
            "B08",
            values=((f"base_bank of {name}", bank),),
        )
    size = kit.tile_bytes(storage)
    yield storage_check(
        storage,
        "shape",
        E.le(size, target.psum_bank_bytes),
        f"bytes of {name} per partition <= {target.psum_bank_bytes}",
        f"a tile of {name} does not fit into one PSUM bank",
        "B08",
        values=((f"bytes of {name} per partition", size),),
    )


def _placed_at_byte(storage: Storage, offset: Expr, target: Target) -> Iterator[Check]:
    """Later: an address, at which a bank begins, and whose tile ends within PSUM."""
    name, size = tensor_name(storage), kit.tile_bytes(storage)
    yield storage_check(
        storage,
        "address",
        kit.divisible(offset, target.psum_bank_bytes),
        f"byte offset of {name} is a multiple of {target.psum_bank_bytes}",
        f"{name} does not start at the beginning of a PSUM bank",
        "B07",
        values=((f"byte offset of {name}", offset),),
    )
    yield storage_check(
        storage,
        "address",
        E.and_(E.ge(offset, 0), E.le(offset + size, target.psum_bytes)),
        f"byte offset of {name} + its bytes <= {target.psum_bytes}",
        f"{name} reaches beyond the end of PSUM",
        "B07",
        values=((f"byte offset of {name}", offset), (f"bytes of {name} per partition", size)),
    )


_PSUM_PLACEMENT = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def placed(left_t, right):
    assert left_t.shape == (128, 32) and right.shape == (128, 200)
    out = nl.ndarray((32, 200), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.ndarray((128, 32), dtype=nl.bfloat16, buffer=nl.sbuf)
    b = nl.ndarray((128, 200), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=left_t)
    nisa.dma_copy(dst=b, src=right)
-    acc = nl.ndarray((32, 200), dtype=nl.float32, buffer=nl.psum, address=(0, 1024))
+    acc = nl.ndarray((32, 200), dtype=nl.float32, buffer=nl.psum, address=(0, 4096))
    nisa.nc_matmul(dst=acc, stationary=a, moving=b)
    held = nl.ndarray((32, 200), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=held, src=acc)
    nisa.dma_copy(dst=out, src=held)
    return out
"""
)


register(
    Rule(
        id="psum-placement",
        code="NKI307",
        family="allocation",
        summary="a PSUM tile placed by hand starts at a bank",
        reason=(
            "Accumulation works on whole banks: a tile of PSUM starts at the first byte of one of "
            "the eight banks. A tile that starts within a bank shares it with its neighbour."
        ),
        facts=("B07", "B08"),
        on=On.STORAGE,
        check=_psum_placement,
        sources=("NKI migration guide, improved allocation API", "Direct allocation guide"),
        failing=_PSUM_PLACEMENT.failing,
        passing=_PSUM_PLACEMENT.passing,
    )
)
