"""Long sweeps: a normal run takes a part of each class, ``TILELINT_SWEEPS=all`` every case.

Of what is drawn at random it takes a third, another one in each run. A run of the whole suite takes
a third of what a run takes that names its files or folders: whoever works on them runs them so.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from typing import Final, TypeVar

Case = TypeVar("Case")

ALL: Final = os.environ.get("TILELINT_SWEEPS") == "all"


#: so few random draws are made at least, by a run that names its tests
_FEWEST: Final = 20
_ROOT: Final = Path(__file__).resolve().parent.parent

_whole = False


def begin(arguments: Iterable[str]) -> None:
    """Called before any test is read, with the files and folders that were named."""
    global _whole  # one run in a process; those who ask do so while they are imported
    _whole = all(Path(name).resolve() in (_ROOT, _ROOT / "tests") for name in arguments)


def thinned(every: int) -> int:
    """One of how many cases is taken, if a run that names its tests takes one of ``every``."""
    return 1 if ALL else every * (3 if _whole else 1)


def examples(count: int) -> int:
    """How many random examples a property is tested with, of ``count`` if all cases are wanted."""
    return max(count // thinned(3), min(count, _FEWEST // thinned(1)))


def part(
    cases: Sequence[Case], every: int, classes: Callable[[Case], Iterable[Hashable]]
) -> list[Case]:
    """Each ``every``-th case, and each that is the first of one of its classes."""
    every = thinned(every)
    seen: set[Hashable] = set()
    chosen = []
    for number, case in enumerate(cases):
        new = set(classes(case)) - seen
        if new or number % every == 0:
            chosen.append(case)
            seen |= {*classes(case)}
    return chosen
