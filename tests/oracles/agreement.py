"""Whether what a run of a kernel came to agrees with what the check says of the kernel.

- A kernel that is verified never breaks a rule, and raises nothing but its own demands.
- A rule that a run breaks was reported there as violated, or as undecided.
- A rule that every input breaks is broken by every run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from verifier.executor.running import Outcome, Shaped
from verifier.executor.watch import WATCHED
from verifier.hardware import dtypes as dt
from verifier.report.model import Diagnostic, KernelReport
from verifier.rulebase import Shown, all_rules
from verifier.source.ir import Span
from verifier.symbolic.memory.events import LanesLived, Lived, SharedLived

#: rules that no run breaks
UNJUDGED = frozenset(rule.id for rule in all_rules() if rule.replayed.shown is Shown.NEVER)

#: faults that no run in order shows; a run that is not refused shows that some input is admitted
NOT_RUN = UNJUDGED - {"no-admitted-input"} | {
    rule.id for rule in all_rules() if any(m.event in WATCHED for m in rule.monitors)
}

#: rules of what is live at once: a run tells the first excess, the check the largest one
TOGETHER = frozenset(
    rule.id
    for rule in all_rules()
    if any(m.event in (Lived, LanesLived, SharedLived) for m in rule.monitors)
)

NEEDED = " (needed, not said)"
#: how a rank is listed that was taken for the input's because nothing settles it
_RANK = re.compile(r"(\w+) has rank (\d+)")

#: Python errors, and the host rules that they break
RAISED: Mapping[str, tuple[str, ...]] = {
    "KeyError": ("missing-key",),
    "UnboundLocalError": ("unbound-name",),
    "NameError": ("unbound-name",),
    "ZeroDivisionError": ("division-by-zero",),
    "IndexError": ("list-index",),
    "ValueError": ("unpack-mismatch", "wrong-value"),
    "TypeError": ("call-signature", "wrong-type", "unpack-mismatch"),
    "AttributeError": ("no-attribute",),
}
#: of the other errors
UNCAUGHT = ("uncaught-exception",)


def _first(outcome: Outcome) -> Diagnostic | None:
    """The first finding that is more than a note."""
    return next((d for d in outcome.diagnostics if d.severity != "note"), None)


def refused(outcome: Outcome) -> bool:
    """Whether the kernel's own assertions refuse the input: nothing is said of it."""
    if _first(outcome) is not None or outcome.ended is None:
        return False
    kind, message, place = outcome.ended
    return kind == "raised" and demands(place, message.partition(":")[0])


def judged(
    outcome: Outcome,
    kernel: KernelReport,
    said: Sequence[Diagnostic],
    arguments: Mapping[str, Any],
    what: object,
) -> tuple[str, str]:
    """What became of a run, and what is wrong between it and the check (empty: nothing).

    ``said``: the findings about the kernel. ``what``: the run, in words.
    """
    if refused(outcome):
        return "refused", ""
    first = _first(outcome)
    broken: tuple[str, ...] = ()
    places: list[tuple[str, int]] = []
    if first is not None:
        broken = (first.rule,)
        lines = range(first.span.line, first.span.end_line + 1)
        places = [(real(first.span.path), line) for line in lines]
    elif outcome.ended is not None:
        kind, message, place = outcome.ended
        raised = message.partition(":")[0]
        if kind != "raised" or place is None:
            return kind, f"{kind}: {message}: {what}"
        broken, places = RAISED.get(raised, UNCAUGHT), [(real(place.path), place.line)]
    if outside(arguments, kernel.assumptions):
        return "outside", ""
    if not broken:
        always = sorted({d.rule for d in said if d.verdict == "always" and d.severity == "error"})
        doubted = {d.rule for d in outcome.doubts} | outcome.unsettled
        always = [rule for rule in always if rule not in NOT_RUN | doubted]
        return "clean", f"every input breaks {always}, but this one does not: {what}" * bool(always)
    names = " or ".join(broken)
    if kernel.status == "verified":
        return "violated", f"verified, but breaks {names} in line {places[0][1]}: {what}"
    reported = {(d.rule, real(d.span.path), n) for d in said for n in lines_of(d)}
    together = TOGETHER & {d.rule for d in said}
    if any((rule, *place) in reported or rule in together for rule in broken for place in places):
        return "violated", ""
    if kernel.status not in ("conditional", "violated") or cut_off(kernel, said):
        return "undecided", ""
    if excluded(arguments, said):
        return "excluded", ""
    listed = sorted({(rule, line) for rule, _, line in reported})
    return "violated", f"{names} in line {places[0][1]} is not among {listed}: {what}"


def gist(outcome: Outcome) -> tuple[object, ...]:
    """What a run came to, without the words."""
    found = {(d.rule, d.span.line) for d in outcome.diagnostics if d.severity != "note"}
    ended = outcome.ended
    return sorted(found), ended and (ended[0], ended[2] and ended[2].line)


def outside(arguments: Mapping[str, Any], assumptions: Sequence[str]) -> bool:
    """Whether an input lacks what the verdict says it needs although the kernel does not say it."""
    names = _names(arguments)
    needed = [a.removesuffix(NEEDED) for a in assumptions if a.endswith(NEEDED)]
    needed += [f"len({m[1]}.shape) == {m[2]}" for m in map(_RANK.fullmatch, assumptions) if m]
    return any(_lacks(text, names) for text in needed)


def excluded(arguments: Mapping[str, Any], said: Sequence[Diagnostic]) -> bool:
    """Whether a finding says of the input that the kernel is not right for it.

    What a finding would have asserted is taken for granted after it, so that one missing assertion
    is reported once: of other rules that such an input breaks nothing is said.
    """
    names = _names(arguments)
    wanted = [d.assertion for d in said if d.verdict == "sometimes" and d.assertion]
    return any(_lacks(condition, names) for condition in wanted)


def _names(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What the words of the check stand for."""
    names: dict[str, Any] = {name: name for name in dt.DTYPES}
    names |= {"sizeof": _bytes_of, "bits": dt.BITS.get, "min": min, "max": max, "len": len}
    for name, value in arguments.items():
        shaped = isinstance(value, Shaped)
        names[name] = SimpleNamespace(dtype=value.dtype, shape=value.shape) if shaped else value
    return names


def _bytes_of(dtype: str) -> int:
    return dt.ITEMSIZE[dt.CODES[dtype]]


def _lacks(text: str, names: Mapping[str, Any]) -> bool:
    """Whether a condition does not hold; one about what was not given at all does."""
    try:
        return not eval(text, {"__builtins__": {}}, dict(names))
    except (AttributeError, IndexError, NameError, SyntaxError, TypeError):
        return False


def cut_off(kernel: KernelReport, said: Sequence[Diagnostic]) -> bool:
    """Whether something of the kernel was not followed, so that findings may be missing."""
    undecided = {(d.span.path, d.span.line) for d in said if d.verdict == "unknown"}
    return bool(kernel.calls.unmodelled) or any(
        (reason.path, reason.line) not in undecided for reason in kernel.reasons
    )


def demands(place: Span | None, raised: str) -> bool:
    """Whether the text of a kernel demands something there, and raises that where it lacks."""
    if place is None:
        return False
    text = Path(place.path).read_text(encoding="utf-8").splitlines()[place.line - 1]
    if raised == "AssertionError":
        return re.search(r"\bassert\b|\braise\b", text) is not None
    return re.search(r"\braise\b", text) is not None


def lines_of(diagnostic: Diagnostic) -> list[int]:
    """Where a finding holds: its own place, and others that the same inputs break."""
    span = diagnostic.span
    notes = " ".join(diagnostic.notes)
    others = re.findall(r"the same inputs break it at line ([\d, ]+)", notes)
    return [*range(span.line, span.end_line + 1), *map(int, re.findall(r"\d+", " ".join(others)))]


@cache
def real(path: str) -> str:
    """The path without links."""
    return os.path.realpath(path)
