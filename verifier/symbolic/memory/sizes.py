"""What a tensor takes of a memory."""

from __future__ import annotations

from verifier.hardware import dtypes as dt
from verifier.hardware.chips import Chip
from verifier.hardware.targets import Target
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.tensors import Mark, Storage


def banks(storage: Storage, target: Target) -> Expr:
    """Banks of PSUM, where every block of a tensor begins a new one."""
    axis = storage.partition_axis or 0
    blocks = E.const(1)
    for extent in storage.shape[:axis]:
        blocks = blocks * extent
    per_block = storage.dtype.itemsize
    for extent in storage.shape[axis + 1 :]:
        per_block = per_block * extent
    return blocks * -((-per_block) // target.psum_bank_bytes)


def whole_bytes(storage: Storage) -> Expr:
    """Bytes that all elements of a tensor take, one after the other."""
    total = storage.dtype.bits
    for size in storage.shape:
        total = total * size
    return E.ceildiv(total, dt.BYTE)


def lane_bytes(chip: Chip, storage: Storage) -> Expr:
    """Bytes that a tensor takes in each lane: ``N * cpn * Cs * es`` by its align mode (LAY-A/K/R).

    The compiler places tensors in lane 0, at multiples of the alignment unit.
    """
    n, c, h, w = storage.shape
    size = storage.dtype.bits
    slots = E.ceildiv(c, chip.lanes)
    unit = chip.eu_bytes

    def padded(elements: Expr) -> Expr:
        return E.ceildiv(elements * size, 8 * unit) * unit

    layout = storage.marks.get(Mark.LAYOUT)
    if layout == "row-aligned":
        return n * slots * h * padded(w)
    if layout == "aligned":
        return n * slots * padded(h * w)
    return E.ceildiv(n * slots * h * w * size, 8)
