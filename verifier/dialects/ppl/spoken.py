"""The functions that may be meant while a call of ``ppl.language`` is written."""

from __future__ import annotations

from collections.abc import Iterator

from verifier.dialects import spoken
from verifier.dialects.names import PPL
from verifier.dialects.ppl import isa, names
from verifier.symbolic.values import ApiRef


def functions(dotted: str, text: str) -> Iterator[tuple[str, str, str]]:
    """The device functions of an imported name (``ppl.language.tiu``, ``ppl.language``): name,
    parameters, and what there is to say."""
    owner = names.root(dotted)
    if not isinstance(owner, ApiRef) or owner.generation != PPL:
        return
    each = {name.partition(".")[2]: i for name, i in isa.INSTRUCTIONS.items()}
    if owner.name == "pl":
        shorts = {name.partition(".")[2] for name in each}
        found = {short: isa.of_package(short) for short in shorts}
        yield from spoken.listed(PPL, {short: i for short, i in found.items() if i is not None})
    else:
        start = f"{owner.name}."
        of = {name.removeprefix(start): i for name, i in each.items() if name.startswith(start)}
        yield from spoken.listed(PPL, of)
