"""What all tests share: with workers and without, every test runs that a run is to take."""

from __future__ import annotations

from collections import Counter
from typing import cast

import pytest

from tests import conftest, sweeps


def test_tests_run_without_workers(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    assert isinstance(request.node, pytest.Item)
    assert conftest.pytest_runtest_protocol(request.node, None) is None


class _Case:
    """As much of a test as tells which table it is of."""

    def __init__(self, table: str, place: int, cases: list[int]) -> None:
        self.nodeid = f"{table}[{place}]"
        self._mark = pytest.mark.parametrize("case", cases).mark

    def iter_markers(self, name: str) -> list[pytest.Mark]:
        return [self._mark]


@pytest.mark.parametrize(("whole", "taken"), [(True, 8), (False, 24)])
def test_of_long_tables_a_run_of_all_tests_takes_a_part(
    monkeypatch: pytest.MonkeyPatch, whole: bool, taken: int
) -> None:
    monkeypatch.setattr(sweeps, "ALL", False)
    monkeypatch.setattr(sweeps, "_whole", whole)
    tables = {"long": [*range(24)], "short": [*range(11)], "chosen": sweeps.Part(range(24))}
    tests = [_Case(name, place, cases) for name, cases in tables.items() for place in cases]
    found = [test.nodeid for test in sweeps.of_tables(cast("list[pytest.Item]", tests))]
    numbers = Counter(name.partition("[")[0] for name in found)
    assert numbers == {"long": taken, "short": 11, "chosen": 24}
    assert found[:2] == ["long[0]", "long[3]" if whole else "long[1]"]
