"""Marks of test frameworks: what a file of tests defines beside them is followed."""

from __future__ import annotations

import pytest

from tests.python.support import machine, run
from verifier.symbolic.values import Opaque

BEGIN = """
import unittest
import pytest
SIZES = [64, 96]
def name_of(size): return SIZES[1] + size
"""
MARKS = [
    "pytest.mark.parametrize('size', SIZES, ids=name_of)",
    "pytest.mark.parametrize('size', [pytest.param(SIZES, id='both')])",
    "pytest.mark.slow",
    "pytest.mark.skipif(SIZES[0] > 3, reason='large')",
]
TAKEN = ["pytest.fixture(params=SIZES)", "pytest.fixture", "unittest.skipIf(SIZES[0] > 3, 'large')"]


@pytest.mark.parametrize("mark", [*MARKS, *TAKEN])
def test_a_mark_changes_nothing_of_what_it_is_given(mark: str) -> None:
    outcome = run(machine(f"{BEGIN}@{mark}\ndef test(size): return SIZES\n"), "name_of(1)")
    assert outcome.host == 97 and not outcome.skipped


@pytest.mark.parametrize("mark", MARKS)
def test_a_marked_function_is_what_it_was(mark: str) -> None:
    outcome = run(machine(f"{BEGIN}@{mark}\ndef double(size): return 2 * size\n"), "double(5)")
    assert outcome.host == 10 and not outcome.skipped


@pytest.mark.parametrize("mark", TAKEN)
def test_what_its_framework_alone_calls_is_not_followed(mark: str) -> None:
    outcome = run(machine(f"{BEGIN}@{mark}\ndef double(size): return 2 * size\n"), "double(5)")
    assert isinstance(outcome.value, Opaque)


def test_what_a_mark_is_given_is_evaluated() -> None:
    text = f"{BEGIN}@pytest.mark.parametrize('size', [SIZES.pop()])\ndef test(size): pass\n"
    outcome = run(machine(text), "len(SIZES)")
    assert outcome.host == 1


@pytest.mark.parametrize("other", ["pytest.marks.slow(SIZES)", "pytest.main(SIZES)"])
def test_other_names_may_change_it(other: str) -> None:
    outcome = run(machine(f"{BEGIN}{other}\n"), "name_of(1)")
    assert outcome.skipped or isinstance(outcome.value, Opaque)
