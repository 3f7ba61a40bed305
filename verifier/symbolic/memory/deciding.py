"""Where what is undefined decides: one policy for check, runs and replay.

What is undefined may be moved and computed upon. It decides where the description of a function
says so, where it goes to what the caller sees, and where nothing says what becomes of it.

How its elements are followed is another matter, of which there are two. A tensor that is a value
has elements of its own, and all that is written to it and read from it is told by them
(``rules/memory/defined.py``). An operand by address is a place: what was written there may have had
another shape, dtype or lane, and the two meet in bytes alone (``rules/tpu/spoilt.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from verifier.symbolic.effects import Decides, Reads
from verifier.symbolic.memory.content import stored
from verifier.symbolic.roles import INDEX
from verifier.symbolic.trace import Operation

#: why it decides, as messages say it
USED: Final = "it is used"
AN_INDEX: Final = "it is an index"


class Taken(Struct, frozen=True):
    """What becomes of an operand, as one ``entry`` of the description says; None: none does.

    ``why``: why what is undefined decides there; empty: it is carried on.
    """

    why: str
    entry: Reads | None = None


def undescribed(role: str) -> str:
    """Why what is undefined decides in an operand of which no description says what becomes."""
    return AN_INDEX if INDEX in role else USED


def taken(
    operation: Operation,
    role: str,
    sees: Callable[[str], bool | None],
    holds: Callable[[Reads], bool] = lambda entry: True,
) -> Iterator[Taken]:
    """What becomes of an operand of an operation.

    ``sees``: whether the caller sees what is written to an operand; None: it is not known what that
    is. ``holds``: whether an entry is about this call.
    """
    instruction = operation.instruction
    entries = instruction.footprint.reads_of(role) if instruction is not None else ()
    found = [entry for entry in entries if holds(entry)]
    if not found:
        yield Taken(undescribed(role))
    for entry in found:
        if isinstance(entry.fate, Decides):
            yield Taken(entry.fate.why, entry)
            continue
        seen = sees(entry.fate.to)
        if seen is None:
            yield Taken(USED)
        else:
            yield Taken(stored(operation, entry.fate.to) if seen else "", entry)
