"""What is said of a function while a call of it is written: its parameters, and what they take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from verifier.dialects.signature import Signature, parse
from verifier.hardware.memories import Buffer
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.roles import Role, Takes

_PLACES = {
    Buffer.SBUF: "SBUF",
    Buffer.PSUM: "PSUM",
    Buffer.HBM: "HBM",
    Buffer.SHARED_HBM: "shared HBM",
    Buffer.LOCAL: "local memory",
    Buffer.L2: "L2",
}


def described(short: str, signature: Signature | None, instruction: Instruction | None) -> str:
    """All about a function, in Markdown."""
    shown = "" if signature is None else str(signature)
    lines = [f"```python\n{short}{shown}\n```"]
    if instruction is not None:
        lines += [instruction.summary, ""]
        lines += [
            f"- `{r.parameter or r.name}`: {_about(r, instruction)}" for r in instruction.roles
        ]
        if instruction.needs is not None:
            capability, facts = instruction.needs
            lines += ["", f"needs {capability.value} ({', '.join(facts)})"]
        if instruction.nowhere:
            lines += ["", f"no target has it ({instruction.nowhere})"]
    return "\n".join(lines)


def _about(role: Role, instruction: Instruction) -> str:
    parts = [role.takes.value + (", or None for NULL" if role.optional else "")]
    by_address = role.takes in (Takes.LOCAL_ADDRESS, Takes.SYSTEM_ADDRESS)
    if role.memories is not None and not by_address:
        parts.append("in " + " or ".join(_PLACES[buffer] for buffer in role.memories.buffers))
    if role.dtypes is not None:
        parts.append(role.dtypes.words)
    if role.placed is not None:
        parts.append(f"{role.placed.dtype}, {role.placed.layout}")
    if role.lies is not None and role.lies.layout:
        parts.append(role.lies.layout)
    if role.takes is Takes.OPERATOR:
        admitted = [o.admitted for o in instruction.operators if o.role == role.name]
        parts += [", ".join(sorted(names_)) for names_ in admitted]
    if role.about:
        parts.append(role.about)
    return "; ".join(parts)


def listed(
    generation: str, instructions: Mapping[str, Instruction]
) -> Iterator[tuple[str, str, str]]:
    """Functions by the names that calls have: name, parameters, and what there is to say."""
    for short, instruction in sorted(instructions.items()):
        text = instruction.signatures[generation]
        signature = None if text is None else parse(instruction.name, generation, text)
        yield short, str(signature or ""), described(short, signature, instruction)
