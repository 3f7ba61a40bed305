"""Long sweeps: a normal run takes a part of each class, ``TILELINT_SWEEPS=all`` every case.

Of what is drawn at random it takes a third, another one in each run. A run of the whole suite takes
a third of what a run takes that names its files or folders: whoever works on them runs them so.
That goes for long tables of cases, too, of which it takes each third one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from typing import Final, TypeVar

import pytest

Case = TypeVar("Case")

ALL: Final = os.environ.get("TILELINT_SWEEPS") == "all"


#: so few random draws are made at least, by a run that names its tests
_FEWEST: Final = 20
#: cases of a test of which a run of the whole suite takes all
_SHORT: Final = 12
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


class Part(list[Case]):
    """Cases that were chosen: all of them are taken."""


def part(
    cases: Sequence[Case], every: int, classes: Callable[[Case], Iterable[Hashable]]
) -> Part[Case]:
    """Each ``every``-th case, and each that is the first of one of its classes."""
    every = thinned(every)
    seen: set[Hashable] = set()
    chosen: Part[Case] = Part()
    for number, case in enumerate(cases):
        new = set(classes(case)) - seen
        if new or number % every == 0:
            chosen.append(case)
            seen |= {*classes(case)}
    return chosen


def of_tables(tests: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The tests that a run takes: of a long table each case that is the first of some."""
    tables: dict[str, list[pytest.Item]] = {}
    for test in tests:
        tables.setdefault(test.nodeid.partition("[")[0], []).append(test)
    left: set[pytest.Item] = set()
    for table in tables.values():
        given = (mark.args[1] for mark in table[0].iter_markers("parametrize"))
        if len(table) >= _SHORT and not any(isinstance(cases, Part) for cases in given):
            left.update(t for place, t in enumerate(table) if place % thinned(1))
    return [test for test in tests if test not in left]
