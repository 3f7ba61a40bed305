"""Helpers of a test that are called again and again: what launches something is run each time."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.suites.conftest import Reading
from verifier.symbolic.python import summaries
from verifier.symbolic.python.model import Function
from verifier.symbolic.python.vm import VM

TEXT = """\
import numpy as np
from kernels import copied


def rows(count):
    return [count, 8]


def launched(count):
    copied(np.ones(rows(count), np.float32))
    return count


def through(count):
    return launched(count) + 1


def test_it():
    for _ in range(3):
        launched(24)
        launched(24)
    for count in (24, 24, 24, 24, 40, 40, 40):
        through(count)
"""


def test_a_helper_that_launches_is_never_answered_from_what_it_gave(
    reading: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    known = summaries.Summaries.repeated

    def repeated(
        self: summaries.Summaries, vm: VM, function: Function, bound: Mapping[str, object]
    ) -> summaries.Key | None:
        key = known(self, vm, function, bound)
        if key in self._known:
            asked.append(function.qualname)
        return key

    monkeypatch.setattr(summaries.Summaries, "repeated", repeated)
    found = reading(TEXT)
    assert set(asked) == {"rows"}
    (presets,) = found.presets.values()
    assert [each.contract for each in presets] == [
        "(source: float32[24, 8])",
        "(source: float32[40, 8])",
    ]
