"""JUnit XML: a test suite per file, a test case per kernel, target and contract.

A case fails with the findings of its kernel that count for the exit status (errors; with
``--strict`` also warnings and unknowns), what does not count is its output, and an undecided kernel
is skipped. Findings outside kernels, syntax errors and other failures are cases of their own.

Needs the library junitparser, the optional dependency ``tilelint[junit]``.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Sequence
from typing import TextIO

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from verifier.report.details import details
from verifier.report.model import Diagnostic, FileError, KernelReport, RunReport
from verifier.report.places import portable
from verifier.report.text import Options


def render(report: RunReport, stream: TextIO, options: Options) -> None:
    """Print ``report`` as one XML document."""
    cases: dict[str, list[TestCase]] = {}
    homes = {(kernel.name, kernel.path) for kernel in report.kernels}
    findings: dict[str, list[Diagnostic]] = {}
    shown = report.listed(parts=options.verbose)
    for diagnostic in shown:
        findings.setdefault(diagnostic.kernel, []).append(diagnostic)
    told: set[int] = set()
    for kernel in report.kernels:
        found = [d for d in findings.get(kernel.name, ()) if _concerns(d, kernel, homes)]
        told.update(map(id, found))
        cases.setdefault(kernel.path, []).append(_kernel(kernel, found, report.errors, options))
    for diagnostic in shown:
        if id(diagnostic) not in told:
            path = diagnostic.span.path
            case = _case(path, f"{diagnostic.rule}:{diagnostic.span.line}", 0.0, options)
            _judge(case, [diagnostic], options)
            cases.setdefault(path, []).append(case)
    for error in report.errors:
        case = _case(error.path, f"{error.kind} error", 0.0, options)
        case.result = [_error(error)]
        cases.setdefault(error.path, []).append(case)
    document = JUnitXml("tilelint")
    suites = []
    for path in sorted(cases):
        suite = TestSuite(_clean(portable(path, options.root) or "tilelint"))
        for case in cases[path]:
            suite.add_testcase(case)
        suite.update_statistics()
        document.add_testsuite(suite)
        suites.append(suite)
    # the library would count what is skipped here, too, of which the schema knows nothing
    for count in ("tests", "failures", "errors"):
        setattr(document, count, sum(getattr(suite, count) for suite in suites))
    document.time = round(sum(suite.time for suite in suites), 3)
    printed = io.BytesIO()
    document.write(printed, pretty=True)
    stream.write(printed.getvalue().decode("utf-8"))


def _concerns(
    diagnostic: Diagnostic, kernel: KernelReport, homes: Collection[tuple[str, str]]
) -> bool:
    """Whether a finding in a kernel of this name is about this one.

    It is if it lies in the kernel's own file, or in a file that has no kernel of this name.
    """
    if kernel.status in ("verified", "error"):
        return False
    if diagnostic.targets and kernel.target not in diagnostic.targets:
        return False
    if diagnostic.presets and kernel.preset not in diagnostic.presets:
        return False
    path = diagnostic.span.path
    return path == kernel.path or (kernel.name, path) not in homes


def _case(path: str, name: str, milliseconds: float, options: Options) -> TestCase:
    seconds = round(milliseconds / 1000, 3)  # readers know no exponents
    module = portable(path, options.root).removesuffix(".py").strip("/").replace("/", ".")
    return TestCase(_clean(name), _clean(module or "tilelint"), seconds)


def _kernel(
    kernel: KernelReport,
    found: Sequence[Diagnostic],
    errors: Sequence[FileError],
    options: Options,
) -> TestCase:
    name = f"{kernel.name}[{kernel.target}]"
    if kernel.preset:
        name += f" {kernel.preset}:"
    if kernel.contract:
        name += f" {kernel.contract}"
    case = _case(kernel.path, name, kernel.time_ms, options)
    if kernel.status == "error":
        own = [error for error in errors if error.path == kernel.path and error.kind != "syntax"]
        failure = Error(_clean(own[0].message if own else "not analysed"), "internal")
        case.result = [failure]
        return case
    # A violation that is suppressed, or known, leaves its kernel without anything to report.
    _judge(case, found, options)
    if kernel.status == "unknown" and not kernel.known and not case.result:
        reasons = [f"{r.path}:{r.line}: {r.message}" for r in kernel.reasons]
        text = "; ".join(dict.fromkeys(reasons)) or "this kernel could not be decided"
        undecided = Failure(_clean(text), "undecided") if options.strict else Skipped(_clean(text))
        case.result = [undecided]
    return case


def _judge(case: TestCase, found: Sequence[Diagnostic], options: Options) -> None:
    results = []
    output = []
    for diagnostic in found:
        span = diagnostic.span
        place = f"{span.path}:{span.line}:{span.column + 1}"
        head = f"{place}: {diagnostic.severity}[{diagnostic.rule}] {diagnostic.message}"
        text = "\n".join([head, *(f"  {line}" for line in details(diagnostic))])
        if _counts(diagnostic, options):
            failure = Failure(_clean(diagnostic.message), _clean(diagnostic.rule))
            failure.text = _clean(text)
            results.append(failure)
        else:
            output.append(_clean(text))
    if results:
        case.result = results
    if output:
        case.system_out = "\n".join(output)


def _counts(diagnostic: Diagnostic, options: Options) -> bool:
    """Whether the exit status is 1 because of this finding."""
    if options.strict and (diagnostic.severity == "warning" or diagnostic.verdict == "unknown"):
        return True
    return diagnostic.severity == "error"


def _error(error: FileError) -> Error:
    result = Error(_clean(error.message), error.kind)
    place = f"{error.path}:{error.line}" if error.line else error.path
    result.text = _clean(f"{place}: {error.message}" if place else error.message)
    return result


def _clean(text: str) -> str:
    """``text`` without the characters that XML 1.0 has no way to write."""
    return "".join(
        character
        if character in "\t\n" or (character >= " " and not _unwritable(character))
        else "\N{REPLACEMENT CHARACTER}"
        for character in text.replace("\r\n", "\n").replace("\r", "\n")
    )


def _unwritable(character: str) -> bool:
    return "\ud800" <= character <= "\udfff" or character in "\ufffe\uffff"
