"""Sums in PSUM: what a location holds, and what a matrix multiplication may do with it.

The Tensor Engine keeps a flag per location. A multiplication that overwrites begins a sum; one that
adds demands a sum to go on with; one with ``accumulate=None`` overwrites where no sum was begun,
and adds where one was, be it finished or not. It is to do one of the two at all of its locations:
what goes on with a sum in a part of them and begins one in the others is of another region than the
sum. The symbolic check asks for the content on each way in which an access may come before another;
a run keeps it per location.
"""

from __future__ import annotations

from msgspec import Struct

from verifier.hardware.capabilities import Capability
from verifier.hardware.targets import Target
from verifier.symbolic.effects import Effect
from verifier.symbolic.memory.content import Content


class Fault(Struct, frozen=True):
    """What is wrong with a multiplication into a location; ``severity``: unless an error."""

    fact: str
    text: str
    message: str
    severity: str | None = None


def fault(
    content: Content,
    effect: Effect,
    target: Target,
    name: str,
    writer: str = "",
    another: bool = False,
) -> Fault | None:
    """Whether a multiplication into ``name`` is wrong where that holds ``content``.

    ``another``: it is one of the terms of another sum.
    """
    if effect is Effect.SETS:
        return None
    if content in (Content.FOREIGN, Content.ZEROS):
        if target.has(Capability.SUM_ON_ANY_CONTENT):
            return None
        return Fault(
            "NKI-MMU26",
            f"`{name}` was last written by a matmul when a matmul adds to it",
            f"a matmul adds to `{name}`, which `{writer}` wrote",
            # whether it is added or overwritten, the sum is the same
            "warning" if content is Content.ZEROS else None,
        )
    if content is Content.NOTHING and effect is Effect.ADDS:
        return Fault(
            "NKI-MMU25",
            f"a matmul that overwrites `{name}` comes before one that adds to it",
            f"the first matmul into `{name}` adds to what was there before",
        )
    if content is Content.PART and effect is Effect.FIRST_SETS:
        return Fault(
            "NKI-MMU28",
            f"the matmuls of a sum in `{name}` write one region",
            f"this matmul goes on with a sum in a part of what it writes to `{name}`, and begins "
            "one in the rest",
        )
    if content is Content.USED and (effect is Effect.FIRST_SETS or another):
        return Fault(
            "NKI-MMU27",
            f"nothing is added to a sum in `{name}` that was used",
            f"this matmul adds to the sum before: nothing resets `{name}`",
        )
    return None
