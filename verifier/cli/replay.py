"""``check --replay``: every counterexample is run, and its finding says what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from verifier.report.model import (
    Diagnostic,
    FileResult,
    KernelReport,
    Reason,
    Status,
)

if TYPE_CHECKING:
    from verifier.executor.replay import Answer, Item


def mark(results: Sequence[FileResult], jobs: int) -> list[FileResult]:
    """The results with ``replay`` set wherever there is a counterexample.

    A finding that diverges is a fault of ours: it becomes a note, whatever it was, and no
    violation of its kernel. A possible finding that is confirmed becomes a violation.
    """
    items: list[Item] = []
    places: list[tuple[int, int]] = []
    for k, result in enumerate(results):
        for n, diagnostic in enumerate(result.diagnostics):
            item = _item(result, diagnostic)
            if item is not None:
                items.append(item)
                places.append((k, n))
    if not items:
        return list(results)
    from verifier.executor.replay import replay

    answers = dict(zip(places, replay(items, jobs), strict=True))
    return [
        _marked(result, {n: a for (at, n), a in answers.items() if at == k})
        for k, result in enumerate(results)
    ]


def _item(result: FileResult, diagnostic: Diagnostic) -> Item | None:
    kernel = _kernel_of(result, diagnostic)
    if kernel is None:
        return None
    from verifier.executor.replay import Item

    return Item.of(diagnostic, kernel)


def _kernel_of(result: FileResult, diagnostic: Diagnostic) -> KernelReport | None:
    for kernel in result.kernels:
        on = not diagnostic.targets or kernel.target in diagnostic.targets
        under = not diagnostic.presets or kernel.preset in diagnostic.presets
        if kernel.name == diagnostic.kernel and on and under:
            return kernel
    return None


def _marked(result: FileResult, answers: dict[int, Answer]) -> FileResult:
    kernels = list(result.kernels)
    diagnostics = list(result.diagnostics)
    for n, answer in answers.items():
        before = diagnostics[n]
        after = _said(before, answer)
        diagnostics[n] = after
        if (before.verdict == "unknown") != (after.verdict == "unknown"):
            kernel = _kernel_of(result, before)
            if kernel is not None:
                at = result.kernels.index(kernel)
                kernels[at] = _recounted(kernels[at], after, answer)
    for at, kernel in enumerate(result.kernels):
        own = [d for d in diagnostics if _kernel_of(result, d) is kernel]
        if any(d.replay == "diverged" for d in own) and all(d.verdict == "unknown" for d in own):
            kernels[at] = _undecided(kernels[at])
    return replace(result, kernels=tuple(kernels), diagnostics=tuple(diagnostics))


def _said(diagnostic: Diagnostic, answer: Answer) -> Diagnostic:
    marked = replace(diagnostic, replay=answer.status)
    if answer.status == "confirmed":
        if diagnostic.verdict == "unknown":
            return replace(
                marked,
                verdict="sometimes",
                severity="warning",
                message=diagnostic.claim,
                undecided="",
            )
        return marked
    note = f"replay: {answer.status}: {answer.reason}"
    if answer.status == "diverged":
        note += "; this is a fault of tilelint, not of the kernel"
        return replace(
            marked,
            severity="note",
            verdict="unknown",
            message=f"not borne out: {diagnostic.message}",
            notes=(*diagnostic.notes, note),
        )
    return replace(marked, notes=(*diagnostic.notes, note))


def _recounted(kernel: KernelReport, diagnostic: Diagnostic, answer: Answer) -> KernelReport:
    """One obligation changes sides between violated and unknown."""
    counts = kernel.obligations
    moved = 1 if answer.status == "confirmed" else -1
    counts = replace(counts, violated=counts.violated + moved, unknown=counts.unknown - moved)
    reasons = kernel.reasons
    if answer.status == "diverged":
        span = diagnostic.span
        reason = Reason(span.path, span.line, f"{diagnostic.rule}: {answer.reason} when replayed")
        reasons = (*reasons, reason)
    status: Status = "violated" if counts.violated else "unknown"
    return replace(kernel, obligations=counts, reasons=reasons, status=status)


def _undecided(kernel: KernelReport) -> KernelReport:
    """No finding is left: obligations that were told as one are all undecided then."""
    counts = kernel.obligations
    counts = replace(counts, violated=0, unknown=counts.unknown + counts.violated)
    return replace(kernel, obligations=counts, status="unknown")
