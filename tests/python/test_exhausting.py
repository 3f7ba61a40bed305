"""Iterators over few items, some of them there for some inputs only: they come to an end."""

from __future__ import annotations

import time

import pytest

from tests.python.programs import same_for
from tests.python.support import machine, run
from verifier.symbolic import expr as E

PROGRAMS = [
    "sum(i for i, v in enumerate(filter(None, [0, n, 3, n - 2]), start=n % 4))",
    "[v for v in filter(None, [0, n, 3, n - 2, n - 1])][-1]",
    "sum(itertools.islice(range(n), 2, 9, 3))",
    "sum(itertools.islice(range(n), 4))",
    "sum(itertools.islice(range(n), 1, None, 4))",
    "sum(itertools.islice(filter(None, [n, 1, n - 3]), 1, 3))",
    "len(list(itertools.islice([1, 2, 3][:n % 4], 1, 5)))",
    "[next(i, 9) for i in [iter([1, 2, 3][:n % 4])] for _ in range(5)]",
    "sum(a * b for a, b in zip(filter(None, [n, 2, n - 1]), itertools.islice(range(n), 1, 4)))",
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_comes_of_them(program: str) -> None:
    same_for(f"import itertools\n\n\ndef run(n):\n    return {program}\n", n=range(9))


def test_an_iterator_that_is_lost_ends() -> None:
    vm = machine("import itertools")
    start = time.monotonic()
    source = "sum(itertools.islice(s, n, n + 3))"
    given = {"itertools": run(vm, "itertools").value}
    given["s"] = run(vm, "iter([1, 2, 3])").value
    outcome = run(vm, source, n=E.symbol("n", 0), **given)
    assert outcome.skipped or outcome.ended
    assert time.monotonic() - start < 5
