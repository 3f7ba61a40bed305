"""One finding for each kernel's precondition, in the place of the findings that are its parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from verifier.engine.launches import Judged
from verifier.report.model import (
    PRECONDITION,
    SEVERITIES,
    Conjunct,
    Diagnostic,
    FileResult,
    KernelReport,
    Label,
    Need,
    Precondition,
    Replay,
    Severity,
    Span,
    deduplicate,
    joined,
)

#: what came of several replays, the worst first
_REPLAYS: tuple[Replay, ...] = ("diverged", "unsupported", "not-run", "confirmed")


def stated(
    result: FileResult,
    read: Callable[[str], str | None] | None,
    *,
    wanted: bool,
    severity: Mapping[str, Severity],
) -> FileResult:
    """``result`` with a finding for each precondition; suppressed parts are marked already.

    ``read`` has the texts of files, as a kernel may be wrapped in one and defined in another;
    ``severity``: what is set for its rules. ``wanted``: the rule is
    checked in it. If not, the parts are findings like others.
    """
    if not any(d.part for d in result.diagnostics):
        return result
    if not wanted:
        return replace(
            result, diagnostics=tuple(replace(d, part=False) for d in result.diagnostics)
        )
    conditions = [
        _Condition(kernel, kernel.precondition, result.diagnostics)
        for kernel in result.kernels
        if kernel.precondition is not None
    ]
    uncovered = {part for condition in conditions for part in condition.uncovered()}
    blocks = [
        condition.finding(_name_of(condition.kernel, read), severity)
        for condition in conditions
        if condition.kept
    ]
    advised = {part: text for condition in conditions for part, text in condition.advised()}
    parts = (
        replace(d, part=False)
        if id(d) in uncovered
        else replace(d, assertion=advised[id(d)])
        if id(d) in advised
        else d
        for d in result.diagnostics
    )
    return replace(result, diagnostics=tuple(deduplicate((*parts, *blocks))))


@dataclass(slots=True)
class _Condition:
    """The precondition of a kernel and what became of its parts.

    ``kept`` are the conditions that are reported: not those whose needs are all suppressed, and
    not those that no real input breaks. None of them is, if each is needed only by findings that
    are reported on their own.
    """

    kernel: KernelReport
    whole: Precondition
    kept: tuple[Conjunct, ...]
    suppressed: tuple[Conjunct, ...]
    _found: Mapping[Need, Sequence[Diagnostic]]

    def __init__(
        self, kernel: KernelReport, whole: Precondition, diagnostics: Iterable[Diagnostic]
    ) -> None:
        self.kernel, self.whole = kernel, whole
        found: dict[Need, list[Diagnostic]] = {}
        for d in diagnostics:
            if d.kernel == kernel.name and (not d.targets or kernel.target in d.targets):
                found.setdefault(Need(d.rule, d.span), []).append(d)
        self._found = found
        self.suppressed = tuple(c for c in whole.conjuncts if self._is_suppressed(c))
        open_ = tuple(c for c in whole.main if c not in self.suppressed)
        some = any(self._stands_for_some(c) for c in open_ if not c.rank)
        self.kept = open_ if some else ()

    def _of(self, conjunct: Conjunct) -> list[Diagnostic]:
        return [d for need in conjunct.needs for d in self._found.get(need, ())]

    def _is_suppressed(self, conjunct: Conjunct) -> bool:
        found = self._of(conjunct)
        return bool(found) and all(d.suppressed is not None for d in found)

    def _stands_for_some(self, conjunct: Conjunct) -> bool:
        """Whether it is there for more than what is reported on its own."""
        found = self._of(conjunct)
        return not found or any(d.part and d.suppressed is None for d in found)

    def uncovered(self) -> Iterable[int]:
        """The parts that nothing stands for any more, by their identity: another condition that
        implied theirs is suppressed."""
        if not self.suppressed:
            return
        left = (c for c in self.whole.conjuncts if c not in self.suppressed)
        covered = {need for conjunct in left for need in conjunct.needs}
        for need, found in self._found.items():
            if need not in covered:
                yield from (id(d) for d in found if d.part and d.suppressed is None)

    def advised(self) -> Iterable[tuple[int, str]]:
        """The parts, by their identity, with what the whole condition says in their place: it says
        it once for all, so that nobody is to assert the same in two ways."""
        if not self.whole.sufficient:
            return
        texts: dict[int, list[str]] = {
            id(d): [] for found in self._found.values() for d in found if d.part
        }
        for conjunct in self.whole.conjuncts:
            for d in self._of(conjunct):
                if d.part and not conjunct.grid:
                    texts[id(d)].append(conjunct.text)
        for part, found in texts.items():
            yield part, joined(found) if found else ""

    def finding(self, span: Span, severity: Mapping[str, Severity]) -> Diagnostic:
        """The finding that stands for the parts."""
        kernel = self.kernel
        condition = replace(
            self.whole,
            conjuncts=tuple(c for c in self.whole.conjuncts if c not in self.suppressed),
            contract=kernel.contract,
        )
        notes = []
        if self.suppressed:
            listed = " and ".join(f"`{c.text}`" for c in self.suppressed)
            notes.append(f"what needs {listed} is suppressed")
        parts = [d for c in self.kept for d in self._of(c) if d.part]
        worst: Replay = min((d.replay for d in parts), key=_REPLAYS.index, default="not-run")
        headline = condition.headline(kernel.name, (kernel.target,))
        # where no part is borne out, neither is what they come to
        lost = bool(parts) and all(d.replay == "diverged" and d.verdict == "unknown" for d in parts)
        return Diagnostic(
            rule=PRECONDITION,
            name=PRECONDITION,
            severity="note" if lost else self._severity(severity),
            verdict="unknown" if lost else "sometimes",
            message=f"not borne out: {headline}" if lost else headline,
            span=span,
            kernel=kernel.name,
            facts=tuple(dict.fromkeys(fact for c in self.kept for fact in c.facts)),
            predicate=condition.brief,
            replay=worst,
            notes=tuple(notes),
            labels=tuple(Label(need.span, _needed(c, need)) for c in self.kept for need in c.needs),
            targets=(kernel.target,),
            presets=(kernel.preset,) if kernel.preset else (),
            precondition=condition,
            fix=condition.fix,
        )

    def _severity(self, severity: Mapping[str, Severity]) -> Severity:
        weights = (_weight(c, severity) for c in self.kept)
        return min(weights, key=SEVERITIES.index, default="warning")


def judged(result: FileResult) -> list[Judged]:
    """The kernels of a file with those of their conditions that are not suppressed.

    What is known under a contract says nothing of launches, which need not keep to it.
    """
    conditions = (
        _Condition(kernel, kernel.precondition, result.diagnostics)
        for kernel in result.kernels
        if kernel.precondition is not None and kernel.path == result.path and not kernel.contract
    )
    return [
        Judged(c.kernel, c.whole, tuple(x for x in c.whole.sizes if x not in c.suppressed))
        for c in conditions
    ]


def _needed(conjunct: Conjunct, need: Need) -> str:
    """What a place has to do with a condition."""
    if need != conjunct.needs[0]:
        return f"needs {conjunct.text}, too ({need.rule})"
    breach = f"; {conjunct.breach} breaks it" if conjunct.breach else ""
    return f"needs {conjunct.text}: {conjunct.told}{breach}"


def _weight(conjunct: Conjunct, severity: Mapping[str, Severity]) -> Severity:
    """How grave it is if a condition does not hold; what is set for all its rules wins."""
    if conjunct.rank:
        return "note"
    rules = {need.rule for need in conjunct.needs}
    found = [severity[rule] for rule in rules if rule in severity]
    if len(found) < len(rules):
        found.append("error" if conjunct.silent and not conjunct.grid else "warning")
    return min(found, key=SEVERITIES.index)


def _name_of(kernel: KernelReport, read: Callable[[str], str | None] | None) -> Span:
    """The place of a kernel's name where it is defined."""
    text = read(kernel.path) if read is not None else None
    lines = re.split(r"\r\n|\r|\n", text or "")
    line = lines[kernel.line - 1] if 0 < kernel.line <= len(lines) else ""
    name = kernel.name.rpartition(".")[2]
    found = re.search(rf"\bdef\s+({re.escape(name)})\b", line)
    start, end = found.span(1) if found else (len(line) - len(line.lstrip()), len(line.rstrip()))
    return Span(kernel.path, kernel.line, start, kernel.line, end)
