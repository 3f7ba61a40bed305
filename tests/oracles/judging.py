"""One program: what the check says of it, and whether CPython agrees."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from tests.frontends import CPYTHON
from tests.oracles.programs import Program, finished
from tests.oracles.running import Inputs, Outcome, run
from verifier.engine.analysis import analyze_file
from verifier.report.model import FileRequest, FileResult, Precondition

#: seconds for the analysis of a program, which takes a fiftieth of one
TIMEOUT = 10.0
#: what counts as a disagreement, the gravest first
DISAGREEMENTS = ("unsound", "wrong", "counterexample", "crash")


@dataclass(frozen=True, slots=True)
class Judgement:
    """What came of a program.

    ``kind`` is ``agreed``, ``unknown``, ``void`` (CPython tells nothing), or a disagreement:
    ``unsound`` (verified, and an admitted input faults), ``wrong`` (violated, and none does, or on
    the other side of the precondition),
    ``counterexample`` (rightly violated, but not for the input shown) or ``crash``.
    """

    kind: str
    text: str = ""
    right: str = ""
    said: str = ""
    reasons: tuple[str, ...] = ()
    #: the rules that are said to be violated, and the fault that there is
    about: tuple[str, ...] = ()

    @property
    def disagrees(self) -> bool:
        """Whether one of both is mistaken."""
        return self.kind in DISAGREEMENTS


def analysed(text: str) -> FileResult:
    """What the check says of a text; like :func:`analyze_source`, with a limit of time."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernel.py")
        path.write_text(text, encoding="utf-8")
        return analyze_file(
            FileRequest(path=str(path), targets=("trn2",), timeout=TIMEOUT, ignore=CPYTHON)
        )


def judge(program: Program) -> Judgement:
    """Compare both answers on one program."""
    text = finished(program)
    if text is None:
        return Judgement("void")
    results = run(text, program.inputs())
    faults = [inputs for inputs, outcome in results if outcome.kind == "fault"]
    admitted = any(outcome.kind != "rejected" for _, outcome in results)
    right = "violated" if faults or not admitted else "verified"
    return _compared(text, f"{right}: {_why(results)}", right, faults, results)


def _why(results: list[tuple[Inputs, Outcome]]) -> str:
    """The fault, for the first input that has one."""
    for inputs, outcome in results:
        if outcome.kind == "fault":
            where = ", ".join(f"{name} = {value}" for name, value in inputs.items())
            return outcome.why + (f" for {where}" if where else "")
    kinds = {outcome.kind for _, outcome in results}
    return "no input is admitted" if kinds == {"rejected"} else "no admitted input faults"


def _compared(
    text: str,
    right: str,
    wanted: str,
    faults: list[Inputs],
    results: Sequence[tuple[Inputs, Outcome]],
) -> Judgement:
    try:
        result = analysed(text)
    except Exception as error:
        return Judgement("crash", text, right, repr(error))
    if len(result.kernels) != 1 or result.kernels[0].status == "error" or result.errors:
        said = "; ".join(error.message for error in result.errors) or "no kernel"
        return Judgement("crash", text, right, said.splitlines()[-1])
    kernel = result.kernels[0]
    found = [d for d in result.diagnostics if d.verdict != "unknown"]
    said = "; ".join([kernel.status, *(f"{d.span.line}: {d.rule}: {d.message}" for d in found)])
    reasons = tuple(normalised(reason.message) for reason in kernel.reasons)
    if kernel.status == "unknown":
        return Judgement("unknown", text, right, said, reasons)
    if kernel.status == "verified" and wanted == "violated":
        return Judgement("unsound", text, right, said, about=(right.split("(")[0],))
    rules = tuple(sorted({d.rule for d in found}))
    if ("violated" if kernel.status == "conditional" else kernel.status) != wanted:
        return Judgement("wrong", text, right, said, about=rules)
    astray = _out_of_place(kernel.precondition, results)
    if astray:
        return Judgement("wrong", text, right, f"{said}; {astray}", about=rules)
    shown = [d.counterexample for d in found if d.counterexample is not None]
    beside = [c for c in shown if wanted == "violated" and faults and not _faults(c, faults)]
    if beside:
        return Judgement(
            "counterexample", text, right, f"{said}; shown: {dict(beside[0])}", (), rules
        )
    return Judgement("agreed", text, right, said)


def _out_of_place(condition: Precondition | None, results: Sequence[tuple[Inputs, Outcome]]) -> str:
    """An input that faults within a sufficient precondition, or outside of an exact one does not;
    empty if there is none."""
    if condition is None or not condition.sufficient:
        return ""
    for inputs, outcome in results:
        if outcome.kind == "rejected":
            continue
        names = {**inputs, "x": SimpleNamespace(shape=(inputs.get("m"), 8))}
        try:
            within = bool(eval(condition.text, {"__builtins__": {}}, names))
        except (NameError, TypeError, ZeroDivisionError, SyntaxError):
            return ""
        if within == (outcome.kind == "fault") and (within or condition.exact):
            return f"`{condition.text}` is {within} for {inputs}"
    return ""


def _faults(counterexample: Mapping[str, object], faults: list[Inputs]) -> bool:
    """Whether the input shown is one that faults; what it leaves open may be anything."""
    given = dict(counterexample)
    shape = given.get("x.shape")
    if isinstance(shape, (list, tuple)):
        given["m"] = shape[0]
    return any(all(given.get(n, v) == v for n, v in inputs.items()) for inputs in faults)


def normalised(message: str) -> str:
    """A reason without the names and numbers of its program."""
    message = re.sub(r"`[^`]*`", "`_`", message)
    message = re.sub(r"\b[a-zA-Z]\d+\b", "_", message)
    return re.sub(r"\d+", "0", message)[:110]
