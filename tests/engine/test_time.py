"""What is known when the time of a kernel is over stays, and nothing else is said."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from verifier.engine import admission, analyze_file, precondition, watchdog
from verifier.engine.gathering import Verdict
from verifier.engine.verdicts import Discharger
from verifier.engine.watchdog import Clock, Share
from verifier.report.model import FileRequest, FileResult, KernelReport
from verifier.symbolic.python.flow import AbortedRunError
from verifier.symbolic.python.state import State
from verifier.symbolic.trace import LATE

#: the slice fits in the first trip only, and the last tile because of what is asserted behind it
TEXT = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    count, rows, columns = x.shape
    assert rows == 88 and columns == 56
    tile = nl.ndarray((88, 56), dtype=x.dtype, buffer=nl.sbuf)
    width = 40
    for k in range(count):
        nisa.dma_copy(dst=tile[:, 0:width], src=x[k, :, 0:width])
        width = 57
    other = nl.ndarray((count, 4), dtype=x.dtype, buffer=nl.sbuf)
    assert count <= 100
    return x
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "k.py"
    made.write_text(TEXT)
    return made


def analysed(path: Path) -> tuple[KernelReport, FileResult]:
    result = analyze_file(FileRequest(str(path), roots=(str(path.parent),), timeout=60))
    assert not result.errors, result.errors
    (kernel,) = result.kernels
    return kernel, result


def found(result: FileResult) -> set[tuple[str, int]]:
    return {(d.rule, d.span.line) for d in result.diagnostics if d.verdict != "unknown"}


def test_the_door_may_be_cut(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before it is known whether any input is admitted."""

    def late(*_: object) -> None:
        raise watchdog.OutOfTimeError

    monkeypatch.setattr(admission, "closed_door", late)
    kernel, result = analysed(path)
    assert found(result) == {("slice-bounds", 13)}
    assert kernel.status != "verified" and any("admitted" in r.message for r in kernel.reasons)


def test_a_run_may_be_cut_anywhere(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, result = analysed(path)
    assert found(result) == {("slice-bounds", 13)} and not whole.late
    looks = 0
    most = proved = 0

    def in_time(state: State) -> None:
        nonlocal looks
        looks += 1
        if looks > most:
            raise AbortedRunError(LATE, state.at)

    monkeypatch.setattr(State, "in_time", in_time)
    while True:
        looks = 0
        kernel, result = analysed(path)
        if not kernel.late:
            break
        most += 1
        assert kernel.status == "unknown" and found(result) <= {("slice-bounds", 13)}
        assert any(LATE in reason.message for reason in kernel.reasons)
        judged = {rule for place in kernel.judged if place.span.line == 13 for rule in place.proved}
        assert "slice-bounds" not in judged
        assert kernel.obligations.proved >= proved
        proved = kernel.obligations.proved
    assert most > 20 and proved > 5


def test_verdicts_stay_when_the_time_for_deciding_is_over(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, _ = analysed(path)
    real = Discharger._one
    for most in (0, 1, 7, whole.obligations.total):
        left = most

        def one(*given: Any) -> Verdict:
            nonlocal left
            left -= 1
            if left < 0:
                raise watchdog.OutOfTimeError
            return real(*given)

        monkeypatch.setattr(Discharger, "_one", one)
        kernel, _ = analysed(path)
        counts = kernel.obligations
        assert counts.total == whole.obligations.total
        # proofs that cost nothing are found of what is left
        assert most == counts.total or counts.unknown < counts.total - most
        assert counts.proved + counts.violated >= most and kernel.late == (counts.unknown > 0)
        assert kernel.late == any("checks are not decided" in r.message for r in kernel.reasons)


def test_verdicts_stay_when_there_is_no_time_for_the_precondition(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*_: object) -> None:
        raise watchdog.OutOfTimeError

    monkeypatch.setattr(precondition, "of_run", late)
    kernel, _ = analysed(path)
    assert kernel.late and kernel.obligations.proved > 5
    assert kernel.reasons[-1].message == f"{LATE}: the precondition is not found"


def test_violations_are_told_when_there_is_no_time_for_the_precondition(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = TEXT.replace("    assert rows == 88 and columns == 56\n", "")
    path.write_text(text.replace("        width = 57\n", ""))
    kernel, _ = analysed(path)
    assert kernel.status == "conditional"

    def late(*_: object) -> None:
        raise watchdog.OutOfTimeError

    monkeypatch.setattr(precondition, "of_run", late)
    kernel, result = analysed(path)
    assert kernel.late and kernel.status == "violated"
    told = [d for d in result.diagnostics if d.verdict == "sometimes" and not d.part]
    assert len(told) == kernel.obligations.violated > 0
    assert all(d.counterexample for d in told)


@pytest.mark.parametrize("share", [Share.DEMAND, Share.ADMIT, Share.DECIDE])
def test_what_is_cut_leaves_no_precondition_that_is_said_to_suffice(
    share: Share, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "k.py"
    path.write_text(TEXT.replace("    assert rows == 88 and columns == 56\n", ""))
    path.write_text(path.read_text().replace("        width = 57\n", ""))
    whole = analysed(path)[0].precondition
    assert whole is not None and whole.exact and whole.conjuncts
    real = Clock.until

    @contextmanager
    def until(clock: Clock, part: Share) -> Iterator[None]:
        """Everything is done, and the time is over with the last of it."""
        with real(clock, part):
            yield
            if part is share:
                raise watchdog.OutOfTimeError

    one, left = Discharger._one, analysed(path)[0].obligations.total // 2

    def but_half(*given: Any) -> Verdict:
        nonlocal left
        left -= 1
        if left < 0:
            raise watchdog.OutOfTimeError
        return one(*given)

    if share is Share.DECIDE:
        monkeypatch.setattr(Discharger, "_one", but_half)
        monkeypatch.setattr(Discharger, "_surely", but_half)
    else:
        monkeypatch.setattr(Clock, "until", until)
    kernel, _ = analysed(path)
    condition = kernel.precondition
    assert kernel.status == "unknown" and condition is not None and condition.conjuncts
    assert not condition.sufficient and not condition.exact
    assert any(LATE in text for text in condition.undecided)


def test_findings_stay_when_there_is_no_time_for_small_counterexamples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tmp_path / "k.py"
    made.write_text(TEXT.replace("width = 57", "width = 57 + k").replace("count, 4", "129, 4"))
    _, result = analysed(made)
    whole = found(result)
    assert len(whole) > 1

    def smallest(self: Discharger, verdict: Verdict) -> Verdict:
        raise watchdog.OutOfTimeError

    monkeypatch.setattr(Discharger, "smallest", smallest)
    kernel, result = analysed(made)
    assert found(result) == whole and kernel.late
    assert any("counterexamples may not be the smallest" in r.message for r in kernel.reasons)


def test_a_part_that_is_cut_leaves_its_time_to_none_but_those_behind_it() -> None:
    clock = Clock(0.5)
    done: list[str] = []
    with clock.until(Share.ALL):
        with clock.until(Share.INTERPRET):
            while True:
                pass
        with clock.until(Share.DECIDE):
            done.append("decided")
        while True:
            pass
    assert done == ["decided"] and clock.cuts == [Share.INTERPRET, Share.ALL]
    # a timer of the process counts in ticks
    assert time.process_time() >= clock.end(Share.ALL) - 0.02


def test_what_enters_or_leaves_a_block_is_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "_AGAIN", 0.01)

    @contextmanager
    def block() -> Iterator[None]:
        yield

    for _ in range(20):
        with pytest.raises(watchdog.OutOfTimeError), watchdog.limit(0.01):
            while True:
                with block(), block():
                    pass


def test_rounds_whose_numbers_say_what_they_do_cost_no_more_than_their_steps(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At any size each round of them would be another case of what it leaves behind."""
    path.write_text(CUT)
    asked = 0
    decide = State.decide

    def counted(state: State, condition: Any) -> bool | None:
        nonlocal asked
        asked += 1
        return decide(state, condition)

    monkeypatch.setattr(State, "decide", counted)
    kernel, _ = analysed(path)
    assert kernel.status == "verified" and asked < 4000


CUT = """\
import nki
import nki.isa as nisa
import nki.language as nl


# tilelint: contract (x: fp32[88, 56])
@nki.jit
def kernel(x):
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    rest = tile
    for k in range(40):
        rest = rest[:, 1:] if rest.shape[1] > 1 else rest
    out = nl.ndarray(rest.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=rest)
    return out
"""
