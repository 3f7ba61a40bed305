"""One finding stands for the parts of a precondition, as far as they are not suppressed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from verifier.cli.runner import RunOptions, run
from verifier.configuration.model import Overrides
from verifier.configuration.settings import Configurations
from verifier.engine import analyze_source
from verifier.report.model import (
    PRECONDITION,
    Conjunct,
    Diagnostic,
    FileResult,
    Precondition,
    Severity,
    Span,
    deduplicate,
)
from verifier.rulebase import find
from verifier.service.preconditions import stated

RULE = find(PRECONDITION)
assert RULE is not None
#: nothing is said of rows or columns
OPEN = RULE.failing.replace("    assert f <= 2000\n", "")


def checked(text: str) -> FileResult:
    return analyze_source(text, target="trn2")


def summed(result: FileResult, text: str, **severity: Severity) -> FileResult:
    named = {name.replace("_", "-"): value for name, value in severity.items()}
    return stated(result, lambda _: text, wanted=True, severity=named)


def blocks(result: FileResult) -> list[Diagnostic]:
    return [d for d in result.diagnostics if d.rule == PRECONDITION]


def suppressed(result: FileResult, *rules: str) -> FileResult:
    marked = (
        replace(d, suppressed="so be it") if d.rule in rules else d for d in result.diagnostics
    )
    return replace(result, diagnostics=tuple(marked))


def test_the_examples_of_the_rule() -> None:
    assert RULE is not None
    [block] = blocks(summed(checked(RULE.failing), RULE.failing))
    assert block.message == "`copy_rows` is right on trn2 exactly when p <= 128"
    line = RULE.failing.splitlines()[block.span.line - 1]
    assert line[block.span.column : block.span.end_column] == "copy_rows"
    assert block.severity == "warning" and block.labels
    passing = checked(RULE.passing)
    assert passing.diagnostics == summed(passing, RULE.passing).diagnostics == ()


def test_without_the_rule_the_parts_are_told_one_by_one() -> None:
    result = checked(OPEN)
    assert all(d.part for d in result.diagnostics)
    told = stated(result, lambda _: OPEN, wanted=False, severity={})
    assert not any(d.part for d in told.diagnostics)
    assert [d.rule for d in told.diagnostics] == [d.rule for d in result.diagnostics]


def test_a_part_advises_what_the_whole_says() -> None:
    told = summed(checked(OPEN), OPEN)
    [block] = blocks(told)
    assert block.precondition is not None
    texts = {conjunct.text for conjunct in block.precondition.conjuncts}
    parts = [d for d in told.diagnostics if d.part]
    advised = {d.rule: d.assertion for d in parts}
    assert advised["sbuf-capacity"] in texts and advised["partition-extent"] in texts
    # that the size of one tile is bounded follows from how many there are at once
    assert advised["sbuf-tile-size"] == ""


def test_what_is_suppressed_is_left_out() -> None:
    result = checked(OPEN)
    [whole] = blocks(summed(result, OPEN))
    assert whole.precondition is not None and len(whole.precondition.conjuncts) > 1
    [fewer] = blocks(summed(suppressed(result, "partition-extent"), OPEN))
    assert fewer.precondition is not None
    assert "p <= 128" in whole.message and "p <= 128" not in fewer.message
    assert any("p <= 128" in note and "suppressed" in note for note in fewer.notes)
    everything = {d.rule for d in result.diagnostics}
    assert not blocks(summed(suppressed(result, *everything), OPEN))


def test_what_a_suppressed_condition_implied_is_told_again() -> None:
    """A part that nothing stands for any more must not be lost."""
    result = checked(OPEN)
    hidden = suppressed(result, "partition-extent")
    told = summed(hidden, OPEN)
    [block] = blocks(told)
    assert block.precondition is not None
    needs = {need for c in block.precondition.conjuncts for need in c.needs}
    for d in told.diagnostics:
        if d.part and d.suppressed is None:
            assert any((need.rule, need.span) == (d.rule, d.span) for need in needs)


@pytest.mark.parametrize(("wanted", "found"), [("error", "error"), ("note", "note")])
def test_a_severity_that_is_set_for_the_rule_of_a_part_counts(
    wanted: Severity, found: Severity
) -> None:
    assert RULE is not None
    result = checked(RULE.failing)
    [whole] = blocks(summed(result, RULE.failing))
    assert whole.precondition is not None
    rules = {n.rule.replace("-", "_") for c in whole.precondition.conjuncts for n in c.needs}
    [block] = blocks(summed(result, RULE.failing, **dict.fromkeys(rules, wanted)))
    assert block.severity == found


#: too many columns of ``x`` are out of bounds, too few leave columns of ``out`` as they were
COPIED = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def copied(x, y):
    m, f = y.shape
    p, n = x.shape
    assert f <= 128 and p <= 128 and p == m
    out = nl.ndarray((p, f), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((p, n), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t[0:p, 0:n], src=x[0:p, 0:n])
    for i in nl.affine_range(n):
        nisa.dma_copy(dst=out[0:p, i:i + 1], src=t[0:p, i:i + 1])
    return out
"""


def test_an_equality_is_silent_if_one_of_its_sides_is() -> None:
    [block] = blocks(summed(checked(COPIED), COPIED))
    assert block.precondition is not None and block.severity == "error"
    [equal] = block.precondition.conjuncts
    assert equal.text == "f == n" and equal.silent and equal.rule == "output-not-written"
    assert equal.what.startswith("`out` is returned, but not all of it is written")


def test_a_silent_part_makes_an_error() -> None:
    rule = find("input-tail-dropped")
    assert rule is not None
    result = summed(checked(rule.failing), rule.failing)
    [block] = blocks(result)
    assert block.precondition is not None and any(c.silent for c in block.precondition.conjuncts)
    assert block.severity == "error"


CONTRACT = "# tilelint: contract (src: _[p, f]) where f <= 2000\n"


BARRIER = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def swapped(x):
    pairs, rows, columns = x.shape
    me, count = nl.program_id(0), nl.num_programs(0)
    assert pairs == 2 and rows <= 96 and {count}
    mid = nl.ndarray((2, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    out = nl.ndarray((2, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=mid[me], src=x[me])
    if columns > 40 * count:
        nisa.core_barrier(data=mid, cores=(0, 1))
    nisa.dma_copy(dst=out[me], src=mid[1 - me])
    return out
"""


@pytest.mark.parametrize(
    ("count", "severity", "text"),
    [
        ("count == 2", "error", "columns >= 81"),
        ("count >= 2", "warning", "40*num_programs(0) < columns"),
    ],
)
def test_a_number_of_programs_that_is_asserted_is_no_question_of_the_launch(
    count: str, severity: str, text: str
) -> None:
    kernel = BARRIER.format(count=count)
    (block,) = blocks(summed(checked(kernel), kernel))
    assert block.precondition is not None
    assert (block.severity, block.precondition.text) == (severity, text)


def test_a_contract_that_is_no_longer_enough_says_what_it_needs() -> None:
    text = OPEN.replace("@nki.jit\n", CONTRACT + "@nki.jit\n")
    [block] = blocks(summed(checked(text), text))
    assert block.message == (
        "`copy_rows` is no longer right on trn2 under its contract "
        "`(src: _[p, f]) where f <= 2000`: it also needs p <= 128"
    )
    assert block.notes == ()
    enough = text.replace("f <= 2000", "f <= 2000, p <= 128")
    assert blocks(summed(checked(enough), enough)) == []


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({}, "also needs p <= 128"),
        ({"exact": False}, "is right at least when p <= 128"),
        (
            {"exact": False, "sufficient": False, "undecided": ("one thing",)},
            "is right, as far as decided, when p <= 128",
        ),
        ({"exact": False, "sufficient": False}, "is right, but for its faults, when p <= 128"),
        (
            {"exact": False, "sufficient": False, "undecided": ("one thing",), "faulty": True},
            "is right, but for its faults and as far as decided, when p <= 128",
        ),
    ],
)
def test_what_a_contract_lacks_is_needed_only_if_all_else_is_wrong(
    known: dict[str, Any], said: str
) -> None:
    """A condition that is enough may exclude inputs that are right: nothing needs it then."""
    conjunct = Conjunct("p <= 128", "it fits", "partition-extent", (), Span("k.py", 1, 0, 1, 1))
    found = Precondition((conjunct,), contract="(src: _[p, f])", **known)
    assert found.headline("copied").endswith(f"under its contract `(src: _[p, f])`: it {said}")
    first = found.headline("copied", condition=False)
    assert first.endswith(said.removesuffix(" p <= 128"))


def test_each_contract_is_told_by_itself() -> None:
    """Several contracts of one kernel are several promises."""
    other = CONTRACT.replace("f <= 2000", "f <= 1000")
    text = OPEN.replace("@nki.jit\n", CONTRACT + other + "@nki.jit\n")
    told = deduplicate(blocks(summed(checked(text), text)))
    assert ["f <= 1000" in block.message for block in told] in ([True, False], [False, True])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def copy_rows(src):", "def copy_rows(src):  COMMENT"),
        ("def copy_rows(src):", "def copy_rows(\n    src,  COMMENT\n):"),
        ("@nki.jit\n", "COMMENT\n@nki.jit\n"),
        ("@nki.jit\n", "@nki.jit\nCOMMENT\n"),
        ("@nki.jit\n", "@nki.jit  COMMENT\n"),
    ],
)
def test_a_block_is_suppressed_where_the_kernel_is_defined(
    before: str, after: str, tmp_path: Path
) -> None:
    comment = "# tilelint: ignore[precondition] -- callers know"
    path = tmp_path / "k.py"
    path.write_text(OPEN.replace(before, after.replace("COMMENT", comment), 1))
    options = RunOptions((str(path),), Configurations(Overrides(isolated=True)), jobs=1, parts=True)
    found = run(options).diagnostics
    # what it stands for is gone with it
    assert [(d.rule, d.suppressed) for d in found] == [("precondition", "callers know")]
