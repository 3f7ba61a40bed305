"""What is said of a function while a call of it is written: its parameters, and what they take."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifier.dialects.nki import isa, names
from verifier.dialects.nki.generation import infer_generation, scan_features
from verifier.dialects.nki.signatures import lookup, table
from verifier.dialects.nki.versions import GENERATIONS
from verifier.hardware.memories import Buffer
from verifier.symbolic.instruction import Instruction, Role, Takes
from verifier.symbolic.values import ApiRef

_PLACES = {
    Buffer.SBUF: "SBUF",
    Buffer.PSUM: "PSUM",
    Buffer.HBM: "HBM",
    Buffer.SHARED_HBM: "shared HBM",
}


def functions(dotted: str, text: str) -> Iterator[tuple[str, str, str]]:
    """The functions of an imported name (``nki.isa``): name, parameters, and what there is to say.

    ``text`` is the file that asks: it shows for which generation it is written.
    """
    owner = names.root(dotted)
    if not isinstance(owner, ApiRef):
        return
    generation = _generation(owner, text)
    start = f"{owner.name}." if owner.name else ""
    for full in sorted(table(generation)):
        short = full.removeprefix(start)
        if full.startswith(start) and "." not in short:
            yield short, parameters(full, generation), described(full, generation)


def _generation(owner: ApiRef, text: str) -> str:
    """The generation of a file, which may be half written."""
    if owner.generation == "beta1":
        return "beta1"
    try:
        return infer_generation(scan_features(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError):
        return GENERATIONS[-1]


def parameters(name: str, generation: str) -> str:
    """``(dst, src, *, engine=engine.unknown)``."""
    signature = lookup(name, generation)
    return "" if signature is None else str(signature)


def described(name: str, generation: str) -> str:
    """All about a function, in Markdown."""
    lines = [f"```python\n{name.rpartition('.')[2]}{parameters(name, generation)}\n```"]
    instruction = isa.find(name)
    if instruction is not None:
        lines += [instruction.summary, ""]
        lines += [f"- `{role.name}`: {_about(role, instruction)}" for role in instruction.roles]
        if instruction.needs is not None:
            capability, facts = instruction.needs
            lines += ["", f"needs {capability.value} ({', '.join(facts)})"]
    return "\n".join(lines)


def _about(role: Role, instruction: Instruction) -> str:
    parts = [role.takes.value]
    if role.memories is not None:
        parts.append("in " + " or ".join(_PLACES[buffer] for buffer in role.memories.buffers))
    if role.dtypes is not None:
        parts.append(role.dtypes.words)
    if role.takes is Takes.OPERATOR:
        admitted = [o.admitted for o in instruction.operators if o.role == role.name]
        parts += [", ".join(sorted(names_)) for names_ in admitted]
    if role.about:
        parts.append(role.about)
    return "; ".join(parts)
