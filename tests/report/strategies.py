"""Reports of any content, for property tests."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from verifier.report.fingerprints import fingerprinted
from verifier.report.model import (
    CallCounts,
    Conjunct,
    Diagnostic,
    Edit,
    FileError,
    FileResult,
    Fix,
    KernelReport,
    Label,
    Need,
    ObligationCounts,
    Precondition,
    Reason,
    RunReport,
    Span,
)

_TEXTS = st.text(alphabet="ab :,%\r\n\t<&>\"'](幅\x1b\u2028\ud800😀", max_size=12)
_PATHS = st.sampled_from(["a.py", "sub/b c.py", "größe.py", "100%.py"])
_NAMES = st.sampled_from(["gemm", "pool", ""])
_COUNTS = st.integers(0, 9)
_TARGETS = st.lists(st.sampled_from(["trn1", "trn2"]), unique=True).map(sorted).map(tuple)


@st.composite
def _spans(draw: st.DrawFn) -> Span:
    line, column = draw(st.integers(1, 20)), draw(_COUNTS)
    return Span(draw(_PATHS), line, column, line + draw(_COUNTS), column + draw(_COUNTS))


def _tuples(of: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(of, max_size=2).map(tuple)


_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXTS
)
_FIXES = st.builds(Fix, _TEXTS, st.booleans(), _tuples(st.builds(Edit, _spans(), _TEXTS)))

_INPUTS = st.none() | st.dictionaries(_TEXTS, _SCALARS | st.lists(_SCALARS), max_size=2)

_CONJUNCTS = st.builds(
    Conjunct,
    text=_TEXTS,
    what=_TEXTS,
    rule=st.just("partition-extent"),
    facts=_tuples(_TEXTS),
    span=_spans(),
    others=_tuples(st.builds(Need, st.just("slice-bounds"), _spans())),
    silent=st.booleans(),
    grid=st.booleans(),
    minor=st.booleans(),
    dtype=st.booleans(),
    exact=st.booleans(),
    witness=_INPUTS,
    breach=_TEXTS,
    assertion=st.none() | st.builds(Edit, _spans(), _TEXTS),
)
preconditions = st.builds(
    Precondition,
    conjuncts=_tuples(_CONJUNCTS),
    sufficient=st.booleans(),
    exact=st.booleans(),
    asserted=_tuples(_TEXTS),
    assumed=_tuples(_TEXTS),
    undecided=_tuples(_TEXTS),
    shapes=st.dictionaries(_TEXTS, _tuples(_TEXTS), max_size=2).map(lambda d: tuple(d.items())),
)

_FINDINGS = st.builds(
    Diagnostic,
    rule=st.sampled_from(["partition-extent", "slice-bounds"]),
    name=_TEXTS,
    severity=st.sampled_from(["error", "warning", "note"]),
    verdict=st.sampled_from(["always", "sometimes", "unknown"]),
    message=_TEXTS,
    span=_spans(),
    kernel=_NAMES,
    facts=_tuples(_TEXTS),
    predicate=_TEXTS,
    counterexample=_INPUTS,
    replay=st.sampled_from(["confirmed", "diverged", "unsupported", "not-run"]),
    notes=_tuples(_TEXTS),
    labels=_tuples(st.builds(Label, _spans(), _TEXTS)),
    undecided=_TEXTS,
    help=_tuples(_TEXTS),
    assertion=_TEXTS,
    fix=st.none() | _FIXES,
    targets=_TARGETS,
    presets=_TARGETS,
    suppressed=st.none() | _TEXTS,
    part=st.booleans(),
)


@st.composite
def _blocks(draw: st.DrawFn) -> Diagnostic:
    """What stands for the parts of a kernel."""
    condition = draw(preconditions)
    kernel, targets = draw(_NAMES), draw(_TARGETS)
    return replace(
        draw(_FINDINGS),
        rule="precondition",
        message=condition.headline(kernel, targets),
        kernel=kernel,
        targets=targets,
        part=False,
        precondition=condition,
    )


diagnostics = _FINDINGS | _blocks()

kernels = st.builds(
    KernelReport,
    path=_PATHS,
    name=_NAMES,
    line=st.integers(1, 20),
    dialect=st.just("nki"),
    api_version=st.just("0.6"),
    target=st.sampled_from(["trn1", "trn2"]),
    status=st.sampled_from(["verified", "conditional", "violated", "unknown", "error"]),
    obligations=st.builds(ObligationCounts, _COUNTS, _COUNTS, _COUNTS, _COUNTS),
    calls=st.builds(CallCounts, _COUNTS, _COUNTS, _tuples(_TEXTS)),
    assumptions=_tuples(_TEXTS),
    reasons=_tuples(st.builds(Reason, _PATHS, st.integers(0, 9), _TEXTS)),
    time_ms=st.integers(0, 999_999).map(lambda n: n / 1000),
    contract=_TEXTS,
    preset=_TEXTS,
    known=st.just(False),
    precondition=st.none() | preconditions,
)

errors = st.builds(
    FileError,
    _PATHS | st.just(""),
    st.integers(0, 9),
    _TEXTS,
    st.sampled_from(["internal", "unreadable", "usage", "syntax"]),
)


@st.composite
def results(draw: st.DrawFn, number: int = 0) -> FileResult:
    """What one of several workers found; kernels are in its own file."""
    path = f"{number}.py"
    found = {(k.line, k.name): replace(k, path=path) for k in draw(st.lists(kernels, max_size=2))}
    return FileResult(
        path,
        tuple(found.values()),
        draw(_tuples(diagnostics)),
        draw(_tuples(errors)),
        {"files": draw(_COUNTS), "kernel_files": 1, "tiers": {"ranges": draw(_COUNTS)}},
    )


@st.composite
def reports(draw: st.DrawFn) -> RunReport:
    parts = [draw(results(number)) for number in range(draw(st.integers(1, 3)))]
    return fingerprinted(RunReport.merge(parts), lambda _: None)
