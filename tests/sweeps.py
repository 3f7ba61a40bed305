"""Long sweeps: a normal run takes a part of each class, ``TILELINT_SWEEPS=all`` every case.

Of what is drawn at random it takes a third, another one in each run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Final, TypeVar

Case = TypeVar("Case")

ALL: Final = os.environ.get("TILELINT_SWEEPS") == "all"


#: so few random draws are always made
_FEWEST: Final = 20


def examples(count: int) -> int:
    """How many random examples a property is tested with, of ``count`` if all cases are wanted."""
    return count if ALL else max(count // 3, min(count, _FEWEST))


def part(
    cases: Sequence[Case], every: int, classes: Callable[[Case], Iterable[Hashable]]
) -> list[Case]:
    """Each ``every``-th case, and each that is the first of one of its classes."""
    if ALL:
        return [*cases]
    seen: set[Hashable] = set()
    chosen = []
    for number, case in enumerate(cases):
        new = set(classes(case)) - seen
        if new or number % every == 0:
            chosen.append(case)
            seen |= {*classes(case)}
    return chosen
