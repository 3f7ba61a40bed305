"""The diagnostics of the client: what is shown in which file, and with what."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from lsprotocol import types as lsp
from msgspec.structs import replace

from verifier.lsp.findings import Findings, Found
from verifier.lsp.places import Places
from verifier.report.details import advice
from verifier.report.model import Diagnostic, KernelReport, Label, Span

SOURCE: Final = "tilelint"
#: the code of what is said about a kernel that is not decided
UNDECIDED: Final = "undecided"
_SEVERITY: Final = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "note": lsp.DiagnosticSeverity.Information,
}
_TAGS: Final = {
    "unused-suppression": lsp.DiagnosticTag.Unnecessary,
    "api-removed": lsp.DiagnosticTag.Deprecated,
}
#: reasons that are listed with a kernel that is not decided
_REASONS: Final = 5


def shown_at(found: Found, findings: Findings, shows: Callable[[str], bool]) -> Diagnostic:
    """The diagnostic at the place where it is shown.

    That is its own place, if ``shows`` its file; else the kernel that leads there, so that a
    finding in a library outside of the workspace is not lost.
    """
    diagnostic = found.diagnostic
    span = diagnostic.span
    if shows(span.path):
        return diagnostic
    line = next((k.line for k in findings.kernels(found.about) if k.name == diagnostic.kernel), 1)
    return replace(
        diagnostic,
        span=Span(found.about, line, 0, line, 0),
        message=f"{diagnostic.message} (in `{span.path}`, line {span.line})",
        labels=(Label(span, "here"), *diagnostic.labels),
        fix=None,
    )


def message(diagnostic: Diagnostic) -> str:
    """The finding in a few lines of plain text."""
    lines = [diagnostic.message]
    if diagnostic.presets:
        lines.append(f"with preset {', '.join(diagnostic.presets)}")
    if diagnostic.counterexample:
        values = ", ".join(f"{name} = {value}" for name, value in diagnostic.counterexample.items())
        always = diagnostic.verdict == "always"
        lines.append(f"{'with any input, such as' if always else 'for example with'} {values}")
    lines += [f"help: {text}" for text in advice(diagnostic)]
    return "\n".join(lines)


class Publisher:
    """Builds what is published for each file."""

    def __init__(self, places: Places, findings: Findings, related: Callable[[], bool]) -> None:
        self._places = places
        self._findings = findings
        self._related = related

    def diagnostic(self, diagnostic: Diagnostic, *, kept: bool = False) -> lsp.Diagnostic:
        places = self._places
        span = diagnostic.span
        if (span.line, span.column) == (span.end_line, span.end_column):
            span = places.whole_line(span.path, span.line)
        tag = _TAGS.get(diagnostic.rule)
        data: dict[str, object] = {"kernel": diagnostic.kernel, "verdict": diagnostic.verdict}
        if kept:
            data["kept"] = True
        return lsp.Diagnostic(
            range=places.range(span),
            message=message(diagnostic),
            severity=_SEVERITY[diagnostic.severity],
            code=diagnostic.rule,
            source=SOURCE,
            tags=[tag] if tag is not None else None,
            related_information=self._labels(diagnostic.labels),
            data=data,
        )

    def _labels(self, labels: Iterable[Label]) -> list[lsp.DiagnosticRelatedInformation] | None:
        if not self._related():
            return None
        found = [
            lsp.DiagnosticRelatedInformation(self._places.location(label.span), label.text)
            for label in labels
        ]
        return found or None

    def of_file(
        self, path: str, found: Iterable[Found], shows: Callable[[str], bool], *, undecided: bool
    ) -> list[lsp.Diagnostic]:
        """Everything that is shown in a file, in the order of the text."""
        out = []
        for item in found:
            diagnostic = shown_at(item, self._findings, shows)
            if diagnostic.span.path == path:
                out.append(self.diagnostic(diagnostic, kept=item.kept))
        for error in self._findings.errors(path):
            out.append(
                lsp.Diagnostic(
                    range=self._places.range(self._places.whole_line(path, max(1, error.line))),
                    message=error.message,
                    severity=lsp.DiagnosticSeverity.Error,
                    code="syntax" if error.kind == "syntax" else None,
                    source=SOURCE,
                )
            )
        if undecided:
            out += [self._undecided(k) for k in self._findings.kernels(path) if _silent(k)]
        unique = {repr((d.range, d.code, d.message)): d for d in out}
        return sorted(
            unique.values(), key=lambda d: (d.range.start.line, d.range.start.character, d.message)
        )

    def _undecided(self, kernel: KernelReport) -> lsp.Diagnostic:
        place = self._places.whole_line(kernel.path, kernel.line)
        reasons = kernel.reasons[:_REASONS]
        labels = [
            Label(self._places.whole_line(reason.path, max(1, reason.line)), reason.message)
            for reason in reasons
        ]
        first = reasons[0].message if reasons else "it calls what is not modelled"
        more = f" (and {len(kernel.reasons) - 1} more)" if len(kernel.reasons) > 1 else ""
        return lsp.Diagnostic(
            range=self._places.range(place),
            message=f"`{kernel.name}` is not verified for {kernel.target}: {first}{more}",
            severity=lsp.DiagnosticSeverity.Hint,
            code=UNDECIDED,
            source=SOURCE,
            related_information=self._labels(labels),
        )


def _silent(kernel: KernelReport) -> bool:
    """Whether a kernel is undecided: silence would mean that it is verified."""
    return kernel.status == "unknown"
