"""Kernels drawn from the descriptions: check and run name the same faults in the same lines."""

from __future__ import annotations

import os
import random
from collections import Counter
from itertools import islice

import pytest

from tests.differential.__main__ import several
from tests.differential.drawing import (
    WHOLES,
    numbered,
    of_dialect,
    subjects,
    undrawn,
    whole,
)
from tests.differential.judging import judge
from tests.differential.kernels import Kernel
from tests.differential.whole import drawn
from verifier.dialects.registry import DIALECTS, of_generation
from verifier.hardware.chips import CHIPS

COUNT = int(os.environ.get("TILELINT_DRAWN", "120"))


def test_check_and_run_agree(capsys: pytest.CaptureFixture[str]) -> None:
    # numbers that lie apart: pairs of an instruction and a generation follow each other
    found = several(range(0, 7 * COUNT, 7))
    kinds = Counter(judgement.kind for _, judgement in found)
    with capsys.disabled():
        print(f"\n{dict(sorted(kinds.items()))}")
    assert [(number, j.problems) for number, j in found if j.problems] == []
    assert kinds["clean"] > COUNT // 4 and kinds["violated"] > COUNT // 4, kinds
    assert kinds["undecided"] + kinds["unsupported"] < COUNT // 50, kinds


@pytest.mark.parametrize("name", [None, *DIALECTS])
def test_the_numbers_of_a_dialect(name: str | None) -> None:
    for number in islice(of_dialect(name, 20_000), 7):
        assert number >= 20_000
        assert name in (None, of_generation(numbered(number).api).name)


def test_every_instruction_is_drawn_in_every_generation_and_for_every_chip() -> None:
    assert undrawn() == ()
    pairs = subjects()
    assert len(set(pairs)) == len(pairs)
    for name, dialect in DIALECTS.items():
        mine = [pair for pair in pairs if pair[1] in dialect.generations]
        assert {i.name for i, _, _ in mine} == set(dialect.instructions)
        assert {api for _, api, _ in mine} == set(dialect.generations)
        chips = {chip for chip, found in CHIPS.items() if dialect.runs(found)}
        assert {chip for _, _, chip in mine} == (chips or {""}), name
        assert not chips or len(mine) == len(chips) * len(dialect.instructions)
    for number, (instruction, _, chip) in enumerate(pairs):
        drawn = numbered(number)
        assert drawn.subjects[0] == instruction.name
        assert chip in ("", drawn.target)
        called = instruction.signatures and f".{instruction.short}(" in drawn.text
        assert called or (not instruction.signatures and "] " in drawn.text), drawn.text


def test_whole_kernels_are_drawn_of_each_kind() -> None:
    found = [whole(number) for number in range(len(WHOLES) * 23 * 40, len(WHOLES) * 23 * 41)]
    assert {each.name for each in found if each is not None} == {each.name for each in WHOLES}
    for each in WHOLES:
        texts = {drawn(each, random.Random(n)).text for n in range(60)}
        assert len(texts) > 10, each.name


def test_a_kernel_is_the_same_each_time() -> None:
    assert [numbered(n) for n in range(0, 1700, 70)] == [numbered(n) for n in range(0, 1700, 70)]


BODY = (
    "a = nl.ndarray((64, 6), dtype=nl.float32, buffer=nl.sbuf)",
    "nisa.dma_copy(dst=a, src=x)",
    "b = nl.ndarray((64, 6), dtype=nl.float32, buffer=nl.sbuf)",
    "nisa.reciprocal(dst=b, data=a)",
    "out = nl.ndarray((64, 6), dtype=nl.float32, buffer=nl.shared_hbm)",
    "nisa.dma_copy(dst=out, src=b)",
    "return out",
)


def test_what_does_not_agree_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that only the check knows, and one that only runs know."""
    from tests.differential import judging
    from verifier.executor.machine import Options
    from verifier.executor.running import Outcome, Shaped
    from verifier.report.model import FileResult

    kernel = Kernel("0.4", "trn2", BODY, (("x", Shaped("float32", (64, 6))),))
    assert judge(kernel).problems == ()
    wrong = Kernel("0.4", "trn2", (*BODY[:3], *BODY[4:]), kernel.inputs)
    assert judge(wrong).kind == "violated" and judge(wrong).problems == ()
    with monkeypatch.context() as patch:
        checked = judging._Case.checked

        def silent(case: judging._Case, contracts: tuple[str, ...]) -> FileResult:
            found = checked(case, contracts)
            return FileResult(found.path, found.kernels, (), found.errors)

        patch.setattr(judging._Case, "checked", silent)
        assert any("the check is silent" in problem for problem in judge(wrong).problems)
    with monkeypatch.context() as patch:
        ran = judging._Case.ran

        def blind(case: judging._Case, options: Options, numbers: bool) -> Outcome:
            found = ran(case, options, numbers)
            found.diagnostics.clear()
            return found

        patch.setattr(judging._Case, "ran", blind)
        assert any("the run does not break it" in problem for problem in judge(wrong).problems)
