"""What a replay does to findings and kernels, whoever runs it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from msgspec.structs import replace

from verifier.report.model import (
    Diagnostic,
    Edit,
    FileResult,
    Fix,
    KernelReport,
    ObligationCounts,
    Precondition,
    Replay,
    Span,
    Status,
    Verdict,
)
from verifier.report.together import Together
from verifier.service.replays import answered, asked, kernel_of, told, words


@dataclass(frozen=True)
class Said:
    status: Replay
    reason: str = ""
    elsewhere: bool = False


def kernel(target: str, status: Status = "violated", preset: str = "") -> KernelReport:
    counts = ObligationCounts(total=9, proved=7, violated=1, unknown=1)
    return KernelReport(
        *("k.py", "scale", 4, "nki", "0.6", target, status), obligations=counts, preset=preset
    )


def finding(verdict: Verdict, *targets: str, rule: str = "partition-extent") -> Diagnostic:
    return Diagnostic(
        *(rule, rule, "warning", verdict, "possible: too large", Span("k.py", 6, 4, 6, 9)),
        kernel="scale",
        claim="too large",
        counterexample={"x.shape": [129, 7]},
        undecided="a guess",
        targets=targets,
    )


def test_a_finding_is_asked_of_a_kernel_that_it_holds_for() -> None:
    kernels = (kernel("trn1"), kernel("trn2"), kernel("trn2", preset="wide"))
    found = kernel_of(kernels, finding("always", "trn2"))
    assert found is not None and found.target == "trn2"
    none = FileResult("k.py", kernels, (finding("always", "trn3"),))
    assert asked([none]) == []
    some = FileResult("k.py", kernels, (finding("always", "trn2"), finding("always", "trn1")))
    questions = asked([none, some])
    assert [(q.result, q.number, q.kernel.target) for q in questions] == [
        (1, 0, "trn2"),
        (1, 1, "trn1"),
    ]


@pytest.mark.parametrize(
    ("before", "status", "verdict", "severity", "message"),
    [
        ("sometimes", "confirmed", "sometimes", "warning", "possible: too large"),
        ("unknown", "confirmed", "sometimes", "warning", "too large"),
        ("sometimes", "diverged", "unknown", "note", "not borne out: possible: too large"),
        ("sometimes", "unsupported", "sometimes", "warning", "possible: too large"),
    ],
)
def test_a_finding_says_what_came_of_it(
    before: Verdict, status: Replay, verdict: Verdict, severity: str, message: str
) -> None:
    answer = Said(status, "" if status == "confirmed" else "it ends before")
    after = told(finding(before), answer)
    assert (after.replay, after.verdict, after.severity) == (status, verdict, severity)
    assert after.message == message
    assert after.notes == (() if status == "confirmed" else (words(answer),))
    assert ("fault of tilelint" in words(answer)) is (status == "diverged")


def test_a_rule_that_is_broken_elsewhere_stays_broken() -> None:
    """Only the place is a fault of ours: neither the finding nor its kernel is any better."""
    results = [FileResult("k.py", (kernel("trn2"),), (finding("always"),))]
    answer = Said("diverged", "the run breaks the rule at line 8 instead", elsewhere=True)
    (after,) = answered(results, [(question, answer) for question in asked(results)])
    (kept,) = after.diagnostics
    assert (kept.replay, kept.verdict, kept.severity) == ("diverged", "always", "warning")
    assert kept.notes == (words(answer),) and "the kernel is wrong" in words(answer)
    assert after.kernels == (kernel("trn2"),)


def test_a_kernel_is_counted_again() -> None:
    results = [
        FileResult("k.py", (kernel("trn2", "unknown"),), (finding("unknown"),)),
        FileResult("k.py", (kernel("trn2"),), (finding("always"),)),
        FileResult("k.py", (kernel("trn2"),), ()),
    ]
    first, second = asked(results)
    confirmed, diverged, other = answered(
        results, [(first, Said("confirmed")), (second, Said("diverged", "nothing happens"))]
    )
    [kernel_] = confirmed.kernels
    assert (kernel_.status, kernel_.obligations.violated) == ("violated", 2)
    [kernel_] = diverged.kernels
    assert (kernel_.status, kernel_.obligations.violated) == ("unknown", 0)
    assert [r.message for r in kernel_.reasons] == [
        "partition-extent: nothing happens when replayed"
    ]
    assert other is results[2]


@pytest.mark.parametrize(("status", "exactly"), [("confirmed", True), ("diverged", False)])
def test_a_condition_is_no_longer_exact_when_a_finding_is_not_borne_out(
    status: Replay, exactly: bool
) -> None:
    condition = Precondition(conjuncts=(), exact=True)
    result = FileResult(
        "k.py", (replace(kernel("trn2"), precondition=condition),), (finding("always"),)
    )
    [question] = asked([result])
    [after] = answered([result], [(question, Said(status))])
    found = after.kernels[0].precondition
    assert found is not None and (found.exact, found.sufficient) == (exactly, exactly)


def test_fixes_are_applied_together_that_do_not_touch() -> None:
    def fix(first: int, last: int, text: str = "y") -> Fix:
        return Fix("t", True, (Edit(Span("k.py", 3, first, 3, last), text),))

    together = Together()
    taken = [fix(2, 5), fix(5, 8), fix(7, 9), fix(2, 5), fix(2, 5, "z")]
    assert [together.takes(each) for each in taken] == [True, False, True, True, False]
