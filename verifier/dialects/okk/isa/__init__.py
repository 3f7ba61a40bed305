"""The functions of OKKernel: one description each, in files by subject (OKK-001 to OKK-121).

To add one, write an :class:`~verifier.symbolic.instruction.Instruction` into the file of its kind
and name it in that file's ``INSTRUCTIONS``; give it a meaning on numbers in
``verifier/executor/semantics/tpu/okk.py`` (``@meaning("okk.name")``). Signatures, checks of
operands, runs, the editor and the coverage of facts follow.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from verifier.dialects.okk.isa import arithmetic, control, network, packed, transfers
from verifier.dialects.signature import Signature, parse
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.roles import Takes

PREFIX: Final = "okk."

#: every function that is an operation, by its canonical name: ``okk.bdc_add``
INSTRUCTIONS: Final = MappingProxyType(
    {
        instruction.name: instruction
        for group in (
            transfers.INSTRUCTIONS,
            arithmetic.INSTRUCTIONS,
            network.INSTRUCTIONS,
            packed.INSTRUCTIONS,
            control.INSTRUCTIONS,
        )
        for instruction in group
    }
)
#: the functions that only compute something for the kernel's own arithmetic
ANSWERS: Final = MappingProxyType({i.name: i for i in (*control.ANSWERS, *control.RETURNING)})

#: functions of which nothing is said here: pointers for the control core, the runtime (OKK-123,
#: OKK-124), the host's side (OKK-125 to OKK-128), and what is exported without documentation
UNDESCRIBED: Final = frozenset(
    {"global_mem_addr", "local_mem_addr", "l2_sram_addr", "dtcm_addr"}
    | {"register_kernel_func", "dump_registered_kernel_funcs", "set_id_node", "get_id_node"}
    | {"enable_check_id_node", "disable_check_id_node", "bdc_fp32_to_4N_int8"}
)


def find(name: str) -> Instruction | None:
    """The function of that name, with or without ``okk_``."""
    full = f"{PREFIX}{name.removeprefix('okk_')}"
    return INSTRUCTIONS.get(full) or ANSWERS.get(full)


def spoken(instruction: Instruction) -> str:
    """The name in C."""
    return f"okk_{instruction.short}"


def signature(instruction: Instruction, *, returning: bool = False) -> Signature:
    """The parameters; ``returning``: without the one to write to, which may be left out."""
    text = instruction.signatures["okk"]
    assert text is not None
    if returning:
        gone = {f"{r.name}*" for r in instruction.roles if r.takes is Takes.QUAD_OUT}
        text = ", ".join(part for part in text.split(", ") if part not in gone)
    return parse(instruction.name, "okk", text)


def gives_back(instruction: Instruction, arguments: int) -> bool:
    """Whether a call with so many arguments gives back what it would write in C."""
    roles = instruction.roles
    optional = any(r.takes is Takes.QUAD_OUT and r.optional for r in roles)
    return optional and arguments == len(roles) - 1


def all_names() -> tuple[str, ...]:
    """The names that a call may have, as C spells them."""
    described = (*INSTRUCTIONS.values(), *control.ANSWERS)
    return tuple(spoken(i) for i in described if i.short != "okkernel_assert")
