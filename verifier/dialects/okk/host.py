"""Functions that only compute: sizes of the chip, lanes and slots, strides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from verifier.dialects.binding import Bound
from verifier.dialects.okk.binding import integer
from verifier.dialects.okk.isa import spoken
from verifier.dialects.okk.records import DIM4
from verifier.dialects.okk.strides import ALIGNED_HELPERS, StrideOrigin, named, quad, remembered
from verifier.hardware.chips import Chip
from verifier.layouts import address as places
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.machine import Call, Machine
from verifier.symbolic.trace import LedgerKind
from verifier.symbolic.values import Opaque, RecordValue, Ref

#: whether transfers and computations run side by side
PARALLEL: Final = "parallel"

_CHIP: Final[dict[str, Callable[[Chip], int]]] = {
    "npu_num": lambda chip: chip.lanes,
    "local_mem_size_per_npu": lambda chip: chip.local_bytes,
    "local_mem_bank_per_npu": lambda chip: chip.banks,
    "eu_num": lambda chip: chip.eu_bytes // 4,  # of 4 bytes each (CHIP-20)
    "l2_sram_size": lambda chip: chip.sram_bytes,
    "dtcm_size": lambda chip: chip.dtcm_bytes,
    "lookup_table_size": lambda chip: chip.lookup_bytes,
    "global_mem_start_addr": lambda chip: chip.global_start,
    "local_mem_start_addr": lambda chip: chip.local_start,
    "l2_sram_start_addr": lambda chip: chip.sram_start,
}


def answer(machine: Machine, instruction: Instruction, bound: Bound, call: Call) -> object:
    """What the function gives back."""
    name = instruction.short
    if name in _CHIP:
        return E.const(_CHIP[name](machine.chip))
    if name == "start_npu_index":
        return places.lane_of(machine.chip, integer(bound, "addr"))
    if name == "channle_num_per_npu":
        start, channels = integer(bound, "start_idx"), integer(bound, "num_channels")
        return places.channels_per_lane(machine.chip.lanes, start, channels)
    if name in ALIGNED_HELPERS or name in ("compact_stride", "continuous_stride"):
        return _strides(machine, instruction, bound, call)
    if name == "is_parallel_state":
        return machine.mode(PARALLEL)
    return Opaque(f"the result of `{call.text}`")


def _strides(machine: Machine, instruction: Instruction, bound: Bound, call: Call) -> object:
    """A stride helper: into its out argument, or given back where it has none."""
    name = instruction.short
    layout = "aligned" if name in ALIGNED_HELPERS else name.removesuffix("_stride")
    itemsize = ALIGNED_HELPERS.get(name, 4)
    record = bound.value("shape")
    assert isinstance(record, RecordValue)
    lane = integer(bound, "start_idx") if "start_idx" in bound.operands else None
    origin = StrideOrigin(layout, itemsize, lane, quad(record))
    start: Expr | int = lane if lane is not None else 0
    strides = named(machine.chip, layout, start, origin.shape, itemsize)
    if "stride" not in bound.operands:
        return machine.record(DIM4, strides, remembered(origin))
    target = bound.operands["stride"]
    if not machine.fill(target.value, strides, remembered(origin)):
        machine.approximate(
            LedgerKind.OPAQUE, f"what `{call.text}` writes to is not followed", target.span
        )
        if not isinstance(target.value, Ref):
            machine.unmodelled(spoken(instruction), call.span)
    return None
