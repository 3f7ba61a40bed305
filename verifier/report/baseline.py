"""Baselines: the findings that are known already, in a file that people review.

    {"schema_version": 1,
     "findings": [{"path", "rule", "kernel", "message", "fingerprint"}]}

Sorted, one finding after the other, so that a change of the baseline is a small diff. Only the
fingerprints decide; they count equal findings (:mod:`verifier.report.fingerprints`), so that one
finding more than the baseline has is reported, wherever it stands.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path

from verifier.report.fingerprints import of_report, undecided
from verifier.report.model import Entry, Known, RunReport
from verifier.report.places import portable

SCHEMA_VERSION = 1

#: How a report names findings that a baseline knows.
SOURCE = "the baseline"

_KEYS = ("path", "rule", "kernel", "message", "fingerprint")


class BaselineError(ValueError):
    """A baseline that cannot be used; the message names the file and says why."""


@dataclass(frozen=True, slots=True)
class Baseline:
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
        )
        for d in report.shown
    }
    for kernel in report.undecided:
        first = kernel.reasons[0].message if kernel.reasons else "this kernel could not be decided"
        message = f"{kernel.target}: {' '.join(first.split())}"
        path = portable(kernel.path, root)
        entries.add(Entry(path, "undecided", kernel.name, message, undecided(kernel, root)))
    return Baseline(tuple(sorted(entries)))


def text(baseline: Baseline) -> str:
    """What the file holds."""
    findings = [{key: getattr(entry, key) for key in _KEYS} for entry in sorted(baseline.entries)]
    document = {"schema_version": SCHEMA_VERSION, "findings": findings}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


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
        entries.append(Entry(*values))
    return Baseline(tuple(sorted(set(entries))))


def without_known(
    report: RunReport, known: Collection[str], source: str, root: str = os.curdir
) -> RunReport:
    """``report`` without the findings whose fingerprints are in ``known``.

    Undecided kernels that are in it are marked. Suppressed findings stay: they are not reported in
    any case. ``source`` says in the report where the others are known from.
    """
    kept = []
    left_out = []
    for diagnostic in report.diagnostics:
        if diagnostic.suppressed is None and diagnostic.fingerprint in known:
            left_out.append(diagnostic.fingerprint)
        else:
            kept.append(diagnostic)
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
    names = {entry.fingerprint for entry in baseline.entries}
    return replace(without_known(report, names, SOURCE, root), gone=gone)
