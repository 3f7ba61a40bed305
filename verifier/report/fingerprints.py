"""Fingerprints: a name for each finding that outlives edits which do not concern it.

Two findings are the same when they have the same rule, kernel, file and source text under the mark.
Lines, messages, counterexamples, predicates and targets are left out: another contract, a tightened
assertion or one more target changes them, and the finding is still the old one. The text is taken
without comments, layout and trailing commas, so that a formatter changes nothing.

Findings that agree in all of this are counted from the top of the file: ``9d5ae01c7b2f4e83:1``,
``9d5ae01c7b2f4e83:2``. A further one is then one more, wherever it is inserted. What a precondition
stands for is counted behind the others, so that they have the same names where it is left out.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TypeAlias

from msgspec.structs import replace

from verifier.report.model import Diagnostic, FileError, KernelReport, RunReport, Span
from verifier.report.places import portable
from verifier.report.sources import Sources

#: The name of this scheme: another way to compute fingerprints needs another name.
SCHEME = "tilelint/v1"

#: The text of a file by its path as the report has it; None: it cannot be read.
ReadSource: TypeAlias = Callable[[str], str | None]

_TOKEN = re.compile(
    r"""
    (?P<string> (?:\b[A-Za-z]{1,2})? (?: \"{3}(?:\\.|.)*?\"{3} | '{3}(?:\\.|.)*?'{3}
                                       | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' ) )
    | (?P<comment> \#[^\n]* )
    | (?P<space> (?: \s | \\\n )+ )
    | (?P<other> \w+ | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_DIGITS = re.compile(r"\d+")


def fingerprints(
    diagnostics: Iterable[Diagnostic],
    read_source: ReadSource | None = None,
    *,
    root: str = os.curdir,
) -> tuple[str, ...]:
    """The fingerprints of ``diagnostics``, in their order.

    All findings of a run have to be given at once, suppressed and known ones too. Paths count from
    ``root``: with another checkout's root and ``read_source``, the same findings there have the
    same fingerprints. Files are read from disk unless ``read_source`` is given.
    """
    sources = _Texts(read_source)
    listed = list(diagnostics)
    names: dict[str, str] = {}
    bases = []
    for diagnostic in listed:
        path = diagnostic.span.path
        if path not in names:
            names[path] = portable(path, root)
        bases.append(_base(diagnostic, names[path], sources.text(diagnostic.span)))
    return numbered(listed, bases)


def numbered(diagnostics: Iterable[Diagnostic], bases: Iterable[str]) -> tuple[str, ...]:
    """Fingerprints from hashes: findings with the same hash are counted in the order of places."""
    pairs = list(zip(diagnostics, bases, strict=True))
    order = sorted(
        range(len(pairs)), key=lambda at: (pairs[at][0].part, _position(pairs[at][0].span), at)
    )
    seen: Counter[str] = Counter()
    result = [""] * len(pairs)
    for at in order:
        base = pairs[at][1]
        seen[base] += 1
        result[at] = f"{base}:{seen[base]}"
    return tuple(result)


def fingerprinted(
    report: RunReport, read_source: ReadSource | None = None, *, root: str = os.curdir
) -> RunReport:
    """``report`` with the fingerprint of every finding; see :func:`fingerprints`."""
    names = fingerprints(report.diagnostics, read_source, root=root)
    return _with(report, names)


def renumbered(report: RunReport) -> RunReport:
    """``report`` with its fingerprints counted anew, after several reports became one."""
    bases = [base(d.fingerprint) for d in report.diagnostics]
    return _with(report, numbered(report.diagnostics, bases))


def base(fingerprint: str) -> str:
    """A fingerprint without the count."""
    return fingerprint.partition(":")[0]


def normalised(text: str) -> str:
    """Source text without comments, layout and trailing commas; strings stay as they are."""
    tokens: list[str] = []
    for match in _TOKEN.finditer(text):
        if match.lastgroup in ("comment", "space"):
            continue
        token = match.group()
        if token in (")", "]", "}") and tokens and tokens[-1] == ",":
            # `(x,)` is not `(x)`, but nothing that differs in this alone is two findings.
            tokens.pop()
        tokens.append(token)
    return " ".join(tokens)


def undecided(kernel: KernelReport, root: str = os.curdir) -> str:
    """The fingerprint of a kernel that could not be decided; its reasons do not matter."""
    path = portable(kernel.path, root)
    what = (kernel.name, kernel.target, kernel.contract, kernel.preset)
    return f"{_hashed('undecided', path, *what)}:1"


def unparsed(error: FileError, root: str = os.curdir) -> str:
    """The fingerprint of a file that does not parse."""
    return f"{_hashed('syntax-error', portable(error.path, root))}:1"


def of_report(report: RunReport, root: str = os.curdir) -> frozenset[str]:
    """The fingerprints of all findings (which have theirs) and undecided kernels of a report."""
    found = {diagnostic.fingerprint for diagnostic in report.diagnostics}
    return frozenset(found | {undecided(kernel, root) for kernel in report.undecided})


def _with(report: RunReport, names: Iterable[str]) -> RunReport:
    marked = tuple(
        replace(diagnostic, fingerprint=name)
        for diagnostic, name in zip(report.diagnostics, names, strict=True)
    )
    return replace(report, diagnostics=marked)


def _base(diagnostic: Diagnostic, path: str, text: str | None) -> str:
    """The hash of what makes a finding: sixteen hexadecimal digits."""
    if text is None:  # no source: what the finding says, without its numbers
        what = _DIGITS.sub("0", diagnostic.message)
    else:
        what = normalised(text)
    return _hashed(diagnostic.rule, path, diagnostic.kernel, what)


def _hashed(*parts: str) -> str:
    digest = hashlib.sha256("\0".join((SCHEME, *parts)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]


def _position(span: Span) -> tuple[str, int, int, int, int]:
    return (span.path, span.line, span.column, span.end_line, span.end_column)


class _Texts:
    """The text under a mark; each file is read once."""

    def __init__(self, read_source: ReadSource | None) -> None:
        self._read = read_source
        self._sources = Sources()

    def text(self, span: Span) -> str | None:
        if self._read is not None and not self._sources.has(span.path):
            self._sources.put(span.path, self._read(span.path))
        lines = []
        for number in range(span.line, span.end_line + 1):
            line = self._sources.line(span.path, number)
            if line is None:
                return None
            lines.append(line)
        if not lines:
            return None
        lines[-1] = lines[-1][: span.end_column]
        lines[0] = lines[0][span.column :]
        return "\n".join(lines)
