"""The oracle itself: what it makes of CPython's tests, and that it tells right from wrong."""

from __future__ import annotations

import ast
import dataclasses
import multiprocessing
import os
import time

import pytest

from tests.oracles import cpython
from tests.oracles.files import FILES
from tests.oracles.isolated import Isolated
from tests.oracles.judge import Answer, Judged, Task, analyze, normalized
from tests.oracles.kernels import Kernel, kernels
from tests.oracles.suite import MissingSuiteError, Suite
from tests.oracles.validate import all_hold

#: an analysis takes some hundredths of a second; more is a machine that is busy
_SECONDS = 30.0


@pytest.fixture(scope="module")
def suite() -> Suite:
    try:
        return Suite()
    except MissingSuiteError as error:
        pytest.skip(str(error))


def _made(suite: Suite, name: str) -> list[Kernel]:
    file = suite.file(name)
    assert file is not None
    return [found for found in kernels(suite, file, 3) if isinstance(found, Kernel)]


def _judged(kernel: Kernel) -> Judged:
    probe, twin = (
        analyze(Task(text, twin, _SECONDS))
        for text, twin in ((kernel.probe, False), (kernel.twin, True))
    )
    return Judged(kernel, probe, twin)


def test_files_are_named_once() -> None:
    assert len(FILES) == len(set(FILES)) >= 60


@pytest.mark.parametrize("name", ["test_bool", "test_list", "test_tuple"])
def test_nothing_of_unittest_is_left(suite: Suite, name: str) -> None:
    made = _made(suite, name)
    assert len(made) >= 30
    for kernel in made:
        assert kernel.probe != kernel.twin
        for node in ast.walk(ast.parse(kernel.probe)):
            assert not (isinstance(node, ast.Attribute) and node.attr.startswith("assert"))


def test_cpython_confirms_most_probes_and_no_twin(suite: Suite) -> None:
    made = _made(suite, "test_bool")
    held = all_hold([kernel.probe for kernel in made])
    assert sum(held) >= 0.9 * len(made)
    assert not any(all_hold([kernel.twin for kernel in made]))


def test_hanging_and_dying_tests_are_not_confirmed() -> None:
    endless = "def kernel(x):\n    while True:\n        pass\n"
    dying = "import os\nos._exit(1)\n"
    assert all_hold([endless, dying, "syntax error"]) == [False, False, False]


def _task(number: int) -> int:
    if number == 2:
        time.sleep(60)
    if number == 3:
        os._exit(1)
    return number


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="child processes are forked"
)
def test_a_batch_goes_on_after_a_hang_and_a_crash() -> None:
    assert Isolated(_task, 1, 1.0).run([[1, 2, 3, 4], [], [5]]) == [
        [1, "hang", "crash", 4],
        [],
        [5],
    ]


def test_the_tool_is_not_refuted(suite: Suite) -> None:
    report = cpython.usable(suite, "test_tuple", 3, 15, 1)
    assert report is not None
    kinds = [_judged(one.kernel) for one in report.judged]
    assert len(kinds) >= 10
    assert any(one.right for one in kinds)
    assert not [one for one in kinds if one.wrong or one.unsound or one.failed]


def test_swapped_kernels_are_wrong_and_unsound(suite: Suite) -> None:
    """The judge sees a lie: a probe whose assertion does not hold, and its twin."""
    made = _made(suite, "test_tuple")
    kernel = next(kernel for kernel in made if _judged(kernel).right)
    lie = dataclasses.replace(kernel, probe=kernel.twin, twin=kernel.probe)
    judged = _judged(lie)
    assert judged.wrong
    assert judged.unsound


def test_a_wrong_refutation_elsewhere_is_wrong(suite: Suite) -> None:
    kernel = _made(suite, "test_bool")[0]
    judged = Judged(kernel, Answer("right"), Answer("wrong", ("violated", "elsewhere")))
    assert judged.wrong
    assert not judged.unsound


def test_reasons_are_told_without_names() -> None:
    assert normalized("`x` of 'y' at line 12") == "`…` of '…' at line N"
