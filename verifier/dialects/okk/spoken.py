"""The functions that may be meant while a call of ``okk`` is written."""

from __future__ import annotations

from collections.abc import Iterator

from verifier.dialects import spoken
from verifier.dialects.okk import isa, names


def functions(dotted: str, text: str) -> Iterator[tuple[str, str, str]]:
    """The functions of ``okk``: name, parameters, and what there is to say."""
    if dotted == names.MODULE:
        known = (*isa.INSTRUCTIONS.values(), *isa.ANSWERS.values())
        yield from spoken.listed(
            names.MODULE, {i.short: i for i in known if i.short.isidentifier()}
        )
