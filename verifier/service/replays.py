"""What the replay of counterexamples has to run, and what a replay does to findings and kernels.

Who runs them is told what to ask (:func:`asked`) and says what came of it; command line and editor
do so in their own ways, and decide nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from verifier.report.details import POSSIBLE
from verifier.report.model import (
    Diagnostic,
    FileResult,
    KernelReport,
    Reason,
    Replay,
    Status,
)


class Answer(Protocol):
    """What came of a replay, and why if it is not confirmed.

    ``elsewhere``: the rule is broken, at another place.
    """

    @property
    def status(self) -> Replay: ...

    @property
    def reason(self) -> str: ...

    @property
    def elsewhere(self) -> bool: ...


class Question(Struct, frozen=True):
    """A finding whose counterexample is to be run on a kernel.

    ``result`` and ``number``: where the finding stands.
    """

    diagnostic: Diagnostic
    kernel: KernelReport
    result: int = 0
    number: int = 0


def kernel_of(kernels: Iterable[KernelReport], diagnostic: Diagnostic) -> KernelReport | None:
    """The kernel that a finding is about, on a target and under a preset that it holds for."""
    for kernel in kernels:
        on = not diagnostic.targets or kernel.target in diagnostic.targets
        under = not diagnostic.presets or kernel.preset in diagnostic.presets
        if kernel.name == diagnostic.kernel and on and under:
            return kernel
    return None


def asked(results: Sequence[FileResult]) -> list[Question]:
    """Every counterexample of the results."""
    found: list[Question] = []
    for k, result in enumerate(results):
        for n, diagnostic in enumerate(result.diagnostics):
            kernel = kernel_of(result.kernels, diagnostic)
            if kernel is not None and diagnostic.counterexample is not None:
                found.append(Question(diagnostic, kernel, k, n))
    return found


def answered(
    results: Sequence[FileResult], answers: Iterable[tuple[Question, Answer]]
) -> list[FileResult]:
    """The results with ``replay`` set wherever there is a counterexample.

    A finding that diverges is a fault of ours: it becomes a note, whatever it was, and no
    violation of its kernel. Where the run breaks the same rule elsewhere, only the place is, and
    the finding stays unless another one of that rule is confirmed. A possible finding that is
    confirmed becomes a violation.
    """
    found: dict[int, dict[int, Answer]] = {}
    for question, answer in answers:
        found.setdefault(question.result, {})[question.number] = answer
    return [_marked(result, found[k]) if k in found else result for k, result in enumerate(results)]


def _marked(result: FileResult, answers: Mapping[int, Answer]) -> FileResult:
    kernels = list(result.kernels)
    diagnostics = list(result.diagnostics)
    borne_out = {
        (diagnostics[n].kernel, diagnostics[n].rule)
        for n, answer in answers.items()
        if answer.status == "confirmed"
    }
    for n, answer in answers.items():
        before = diagnostics[n]
        after = told(before, answer, known=(before.kernel, before.rule) in borne_out)
        diagnostics[n] = after
        if (before.verdict == "unknown") != (after.verdict == "unknown"):
            kernel = kernel_of(result.kernels, before)
            if kernel is not None:
                at = result.kernels.index(kernel)
                kernels[at] = _recounted(kernels[at], after, answer)
    for at, kernel in enumerate(result.kernels):
        own = [d for d in diagnostics if kernel_of(result.kernels, d) is kernel]
        if any(d.replay == "diverged" for d in own) and all(d.verdict == "unknown" for d in own):
            kernels[at] = _undecided(kernels[at])
    return replace(result, kernels=tuple(kernels), diagnostics=tuple(diagnostics))


def words(answer: Answer) -> str:
    """What came of a replay, as users read it."""
    said = f"replay: {answer.status}" + (f": {answer.reason}" if answer.reason else "")
    if answer.elsewhere:
        return f"{said}; the place that is told is a fault of tilelint, the kernel is wrong"
    diverged = answer.status == "diverged"
    return f"{said}; this is a fault of tilelint, not of the kernel" if diverged else said


def told(diagnostic: Diagnostic, answer: Answer, known: bool = False) -> Diagnostic:
    """A finding after its counterexample was run; ``known``: another one says what breaks its
    rule."""
    marked = replace(diagnostic, replay=answer.status)
    if answer.status == "confirmed":
        if diagnostic.verdict == "unknown":
            return replace(
                marked,
                verdict="sometimes",
                severity="warning",
                message=diagnostic.message.removeprefix(POSSIBLE),
                undecided="",
            )
        return marked
    marked = replace(marked, notes=(*diagnostic.notes, words(answer)))
    if answer.status == "diverged" and (known or not answer.elsewhere):
        message = f"not borne out: {diagnostic.message}"
        return replace(marked, severity="note", verdict="unknown", message=message)
    return marked


def _recounted(kernel: KernelReport, diagnostic: Diagnostic, answer: Answer) -> KernelReport:
    """One obligation changes sides between violated and unknown."""
    counts = kernel.obligations
    moved = 1 if answer.status == "confirmed" else -1
    counts = replace(counts, violated=counts.violated + moved, unknown=counts.unknown - moved)
    reasons, condition = kernel.reasons, kernel.precondition
    if answer.status == "diverged":
        if condition is not None:  # what is undecided may be right or wrong under it, and else
            condition = replace(condition, sufficient=False, exact=False)
        span = diagnostic.span
        reason = Reason(span.path, span.line, f"{diagnostic.rule}: {answer.reason} when replayed")
        reasons = (*reasons, reason)
    status: Status = "violated" if counts.violated else "unknown"
    return replace(
        kernel, obligations=counts, reasons=reasons, status=status, precondition=condition
    )


def _undecided(kernel: KernelReport) -> KernelReport:
    """No finding is left: obligations that were told as one are all undecided then."""
    counts = kernel.obligations
    counts = replace(counts, violated=0, unknown=counts.unknown + counts.violated)
    return replace(kernel, obligations=counts, status="unknown")
