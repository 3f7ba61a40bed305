"""Baselines: the findings that are known already, in a file that people review.

    {"schema_version": 1,
     "findings": [{"path", "rule", "kernel", "message", "fingerprint", "severity", "verdict",
                   "conjuncts"}]}

Sorted, one finding after the other, so that a change of the baseline is a small diff. Fingerprints
say which finding is which; they count equal findings (:mod:`verifier.report.fingerprints`), so that
one finding more than the baseline has is reported, wherever it stands. A finding that has become
graver than the one known at its place is reported, too. A kernel's precondition is known if each of
its conjuncts is: one that has fewer than before is nothing new. Entries without severity and
verdict know every finding of their fingerprint.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from verifier.report.fingerprints import base, of_report, undecided
from verifier.report.model import SEVERITIES, VERDICTS, Diagnostic, Entry, Known, RunReport
from verifier.report.places import portable

SCHEMA_VERSION = 1

#: How a report names findings that a baseline knows.
SOURCE = "the baseline"

_KEYS = ("path", "rule", "kernel", "message", "fingerprint")
#: What entries may lack, with the values that they may have.
_WEIGHTS: dict[str, tuple[str, ...]] = {"severity": SEVERITIES, "verdict": VERDICTS}


class BaselineError(ValueError):
    """A baseline that cannot be used; the message names the file and says why."""


class Weight(NamedTuple):
    """How grave a known finding was; empty: it is not said."""

    severity: str = ""
    verdict: str = ""
    conjuncts: frozenset[str] = frozenset()

    @staticmethod
    def of(found: Diagnostic) -> Weight:
        """How grave a finding is."""
        return Weight(found.severity, found.verdict, frozenset(_conjuncts(found)))

    def covers(self, found: Diagnostic) -> bool:
        """Whether a finding of the same fingerprint is no graver and no more certain.

        What was undecided is known as undecided alone: a violation there is something else.
        """
        if self.severity and SEVERITIES.index(found.severity) < _rank(self.severity):
            return False
        if self.conjuncts and not self.conjuncts.issuperset(_conjuncts(found)):
            return False
        return self.verdict != "unknown" or found.verdict == "unknown"


#: Of undecided kernels, which have no severity of their own.
UNDECIDED = Weight("note", "unknown")


def _conjuncts(found: Diagnostic) -> tuple[str, ...]:
    """What a precondition consists of."""
    if found.precondition is None:
        return ()
    return tuple(sorted({conjunct.text for conjunct in found.precondition.main}))


def _rank(severity: str) -> int:
    return [str(name) for name in SEVERITIES].index(severity)


class Baseline(Struct, frozen=True):
    entries: tuple[Entry, ...] = ()


def of(report: RunReport, root: str = os.curdir) -> Baseline:
    """The baseline of a report whose findings have their fingerprints; paths count from ``root``.

    Suppressed findings are left out: they are not reported in any case.
    """
    entries = {
        Entry(
            portable(d.span.path, root),
            d.rule,
            d.kernel,
            " ".join(d.message.split()),
            d.fingerprint,
            d.severity,
            d.verdict,
            _conjuncts(d),
        )
        for d in report.shown
    }
    for kernel in report.undecided:
        first = kernel.reasons[0].message if kernel.reasons else "this kernel could not be decided"
        message = f"{kernel.target}: {' '.join(first.split())}"
        path = portable(kernel.path, root)
        name = undecided(kernel, root)
        weight = (UNDECIDED.severity, UNDECIDED.verdict)
        entries.add(Entry(path, "undecided", kernel.name, message, name, *weight))
    return Baseline(tuple(sorted(entries)))


def text(baseline: Baseline) -> str:
    """What the file holds."""
    findings = [_said(entry) for entry in sorted(baseline.entries)]
    document = {"schema_version": SCHEMA_VERSION, "findings": findings}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _said(entry: Entry) -> dict[str, object]:
    said: dict[str, object] = {key: getattr(entry, key) for key in (*_KEYS, *_WEIGHTS)}
    said["conjuncts"] = list(entry.conjuncts)
    return {key: value for key, value in said.items() if value or key in _KEYS}


def read(path: str) -> Baseline:
    """The baseline in the file ``path``.

    Raises:
        BaselineError: there is no such file, or it holds no baseline.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise BaselineError(f"{path}: {error.strerror or error}") from error
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BaselineError(f"{path}: not a baseline: {_json(error)}") from error
    return _parse(path, document)


def _json(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"line {error.lineno}: {error.msg[:1].lower()}{error.msg[1:]}"
    return "not JSON text"


def _parse(path: str, document: object) -> Baseline:
    if not isinstance(document, dict) or "findings" not in document:
        raise BaselineError(f'{path}: not a baseline: no object with "findings"')
    version = document.get("schema_version")
    if version != SCHEMA_VERSION:
        raise BaselineError(f"{path}: schema_version {version!r} is not {SCHEMA_VERSION}")
    findings = document["findings"]
    if not isinstance(findings, list):
        raise BaselineError(f'{path}: not a baseline: "findings" is not a list')
    entries = []
    for number, finding in enumerate(findings, 1):
        if not isinstance(finding, dict):
            raise BaselineError(f"{path}: finding {number} is not an object")
        values = []
        for key in _KEYS:
            value = finding.get(key)
            if not isinstance(value, str):
                raise BaselineError(f'{path}: finding {number} has no text for "{key}"')
            values.append(value)
        for key, allowed in _WEIGHTS.items():
            value = finding.get(key, "")
            if value not in ("", *allowed):
                listed = ", ".join(allowed)
                raise BaselineError(f'{path}: finding {number}: "{key}" is none of {listed}')
            values.append(value)
        said = dict(zip((*_KEYS, *_WEIGHTS), values, strict=True))
        entries.append(Entry(**said, conjuncts=_texts(path, number, finding)))
    return Baseline(tuple(sorted(set(entries))))


def _texts(path: str, number: int, finding: dict[str, object]) -> tuple[str, ...]:
    found = finding.get("conjuncts", [])
    if isinstance(found, list) and all(isinstance(text, str) for text in found):
        return tuple(found)
    raise BaselineError(f'{path}: finding {number}: "conjuncts" is no list of texts')


def without_known(
    report: RunReport, known: Mapping[str, Weight], source: str, root: str = os.curdir
) -> RunReport:
    """``report`` without the findings whose fingerprints are in ``known``, unless they are graver
    than it says there.

    Undecided kernels that are in it are marked. Suppressed findings stay: they are not reported in
    any case. ``source`` says in the report where the others are known from.
    """
    kept = []
    left_out = []
    stated = _stated(known)
    for diagnostic in report.diagnostics:
        weight = known.get(diagnostic.fingerprint)
        if _conjuncts(diagnostic):
            weight = stated.get(base(diagnostic.fingerprint), weight)
        if diagnostic.suppressed is None and weight is not None and weight.covers(diagnostic):
            left_out.append(diagnostic.fingerprint)
        else:
            kept.append(diagnostic)
    news = {d.kernel for d in kept if d.precondition is not None}
    olds = {d.kernel for d in report.diagnostics if d.precondition is not None} - news
    kept = [d for d in kept if not (d.part and d.kernel in olds)]
    kernels = list(report.kernels)
    for at, kernel in enumerate(kernels):
        if kernel.status == "unknown" and not kernel.known:
            name = undecided(kernel, root)
            if name in known:
                kernels[at] = replace(kernel, known=True)
                left_out.append(name)
    return replace(
        report,
        kernels=tuple(kernels),
        diagnostics=tuple(kept),
        known=(*report.known, Known(source, tuple(sorted(left_out)))),
    )


def _stated(known: Mapping[str, Weight]) -> dict[str, Weight]:
    """What is known of the preconditions of each kernel, all contracts and targets together."""
    stated: dict[str, Weight] = {}
    for name, weight in known.items():
        if weight.conjuncts:
            before = stated.get(base(name), weight)
            worst = min(before.severity, weight.severity, key=lambda s: _rank(s) if s else -1)
            conjuncts = before.conjuncts | weight.conjuncts
            stated[base(name)] = Weight(worst, "", conjuncts)
    return stated


def applied(
    report: RunReport,
    baseline: Baseline,
    root: str = os.curdir,
    expected: Callable[[Entry], bool] = lambda _: True,
) -> RunReport:
    """``report`` without what ``baseline`` knows, and with the entries that were not found again.

    ``expected`` says of an entry whether this run could have found it.
    """
    found = of_report(report, root)
    gone = tuple(
        entry for entry in baseline.entries if entry.fingerprint not in found and expected(entry)
    )
    names = {
        e.fingerprint: Weight(e.severity, e.verdict, frozenset(e.conjuncts))
        for e in baseline.entries
    }
    return replace(without_known(report, names, SOURCE, root), gone=gone)
