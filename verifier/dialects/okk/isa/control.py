"""What makes engines start, wait and run side by side, and what only answers the kernel."""

from __future__ import annotations

from typing import Final

from verifier.dialects.okk.isa.shared import SHAPE, Part, flag, function, given, integer
from verifier.symbolic.instruction import Instruction, Trait
from verifier.symbolic.roles import Takes


def _control(
    name: str, number: str, summary: str, *parts: Part, trait: Trait | None = None
) -> Instruction:
    traits = frozenset({trait} if trait is not None else ())
    return function(name, number, "control", summary, *parts, traits=traits)


def _does(name: str, number: str, trait: Trait) -> Instruction:
    """A function without operands that does one thing."""
    return _control(name, number, trait.value, trait=trait)


INSTRUCTIONS: Final = (
    _does("initialize", "001", Trait.INITIALISES),
    _does("poll", "002", Trait.POLLS),
    _does("parallel_start", "003", Trait.STARTS_PARALLEL),
    _does("parallel_end", "004", Trait.ENDS_PARALLEL),
    _control(
        "okkernel_assert",
        "X09",
        "what the kernel relies on; logged by the device",
        flag("assertion"),
        trait=Trait.LOGS,
    ),
)

_LANE: Final = integer("start_idx", about="the lane that the tensor starts in")
_STRIDES: Final = given("stride", Takes.QUAD_OUT)
_STRIDES_OR_RESULT: Final = given("stride", Takes.QUAD_OUT, optional=True)


def _number(name: str, number: str, what: str, *parts: Part) -> Instruction:
    return _control(name, number, f"gives {what}", *parts)


#: functions that only compute something for the kernel's own arithmetic
ANSWERS: Final = (
    _number("is_parallel_state", "005", "whether transfers and computation run side by side"),
    _number("npu_num", "006", "the number of lanes"),
    _number("local_mem_size_per_npu", "007", "the bytes of a lane"),
    _number("l2_sram_size", "008", "the bytes of the static memory"),
    _number("dtcm_size", "009", "the bytes of the control core's memory"),
    _number("start_npu_index", "010", "the lane of a local address", integer("addr")),
    _number(
        "channle_num_per_npu",
        "011",
        "channels in a lane",
        integer("start_idx"),
        integer("num_channels"),
    ),
    *(
        _number(
            f"128_byte_aligned_stride_for_{bits}bit",
            number,
            f"the strides of an aligned tensor of {bits} bits",
            _STRIDES,
            _LANE,
            SHAPE,
        )
        for bits, number in ((32, "012"), (16, "013"), (8, "014"))
    ),
    _number(
        "compact_stride", "015", "the strides of a compact tensor", _STRIDES_OR_RESULT, _LANE, SHAPE
    ),
    _number(
        "continuous_stride",
        "016",
        "the strides of a tensor in system memory",
        _STRIDES_OR_RESULT,
        SHAPE,
    ),
    _number("local_mem_bank_per_npu", "122", "the number of banks of a lane"),
    _number("eu_num", "122", "the number of execution units of a lane"),
    *(
        _number(f"{memory}_start_addr", "122", "where that memory starts")
        for memory in ("global_mem", "local_mem", "l2_sram", "dtcm", "lookup_table")
    ),
    _number("lookup_table_size", "122", "the bytes of the table of functions"),
)

#: helpers that give the strides back instead of taking a pointer to them; not in C
RETURNING: Final = tuple(
    _number(
        f"aligned_stride_{bits}bit",
        number,
        f"the strides of an aligned tensor of {bits} bits",
        _LANE,
        SHAPE,
    )
    for bits, number in ((32, "012"), (16, "013"), (8, "014"))
)
