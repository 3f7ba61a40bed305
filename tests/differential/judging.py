"""One kernel: what the check says of it, what runs of it come to, and whether that agrees.

With the sizes that it was drawn with, both have to name the same rules at the same lines. With any
sizes, the run with those that were drawn was foreseen, and each counterexample is confirmed.
"""

from __future__ import annotations

import re
import sys
import tempfile
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from msgspec.structs import replace

from tests.differential.kernels import Kernel
from tests.oracles import agreement
from verifier.engine.analysis import analyze_file
from verifier.executor import places, replay
from verifier.executor.findings import MisuseError
from verifier.executor.loader import Loaded, isolated, kernel, load
from verifier.executor.machine import TRACKED_EVENTS, Options
from verifier.executor.memory import TRACKED
from verifier.executor.running import Outcome, Typed, Unsized, run
from verifier.executor.session import Session, using
from verifier.executor.worker import drawn as random_tensor
from verifier.hardware import catalogue
from verifier.hardware import dtypes as dt
from verifier.hardware.capabilities import Capability
from verifier.hardware.chips import Chip
from verifier.report.model import Diagnostic, FileRequest, FileResult
from verifier.rulebase import Shown, all_rules, find
from verifier.symbolic.memory.events import Met

#: seconds for one analysis, which takes a hundredth of one
TIMEOUT = 20.0
#: elements of the inputs of a run that is done on numbers as well
_SMALL = 1 << 16
#: every rule that a run can judge is judged
_STRICT = Options(keep_going=True)
_FIRST = Options()


#: rules that only show where every element of a tensor is followed
_FOLLOWED = frozenset(
    rule.id for rule in all_rules() if any(m.event in TRACKED_EVENTS for m in rule.monitors)
)
#: rules that ask what memory holds, which shapes alone do not say
_NUMERIC = frozenset(rule.id for rule in all_rules() if rule.replayed.numbers)
#: rules that tell of two instances that come to one element
_CONFLICTS = frozenset(
    rule.id for rule in all_rules() if any(m.event is Met for m in rule.monitors)
)
#: rules that runs and checks tell of one thing in several places
_SUBJECTS = frozenset(rule.id for rule in all_rules() if rule.replayed.shown is Shown.SUBJECT)

#: a rule, and where it is broken: a line, or what is meant
_Site: TypeAlias = tuple[str, int | str]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What came of a kernel.

    ``kind``: ``clean``, ``violated``, ``undecided`` by the check, or how it ended. ``reasons``:
    why a part of it was not compared. ``problems``: what does not agree.
    """

    kind: str
    reasons: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(slots=True)
class _Case:
    """A kernel in a file, loaded."""

    drawn: Kernel
    path: Path
    session: Session
    loaded: Loaded
    problems: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)

    def checked(self, contracts: tuple[str, ...]) -> FileResult:
        request = FileRequest(
            str(self.path),
            (str(self.path.parent),),
            (self.drawn.target,),
            self.drawn.api,
            contracts,
            timeout=TIMEOUT,
        )
        return analyze_file(request)

    def ran(self, options: Options, numbers: bool, sized: bool = True) -> Outcome:
        """``sized``: the buffers of a TPU are as large as was drawn, as a contract says."""
        self.session.options = replace(options, shapes_only=not numbers)
        arguments: dict[str, Any] = dict(self.drawn.inputs)
        if not sized and isinstance(self.session.target, Chip):
            arguments |= {name: Unsized(t.dtype) for name, t in self.drawn.tensors.items()}
        if numbers:
            rng = np.random.default_rng(0)
            arguments |= {
                name: Typed(t.dtype, random_tensor(rng, t.dtype, t.shape))
                for name, t in self.drawn.tensors.items()
            }
        found = kernel(self.loaded, "kernel", self.path)
        return run(self.session, found, arguments, self.drawn.grid, "kernel")


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Where the kernels of this process are written, one after the other."""
    return tempfile.TemporaryDirectory()


def judge(drawn: Kernel) -> Judgement:
    """Compare both on one kernel."""
    with isolated():
        return _alone(drawn)


def judged(kernels: Iterable[Kernel]) -> Iterator[Judgement]:
    """Compare both on several kernels: it takes time to make room for the modules of users."""
    with isolated():
        for drawn in kernels:
            try:
                yield _alone(drawn)
            except Exception:
                yield Judgement("crash", (), (traceback.format_exc(),))


def on_numbers(kernels: Iterable[Kernel]) -> None:
    """Run several kernels on numbers, but for large ones; what is broken does not stop them."""
    with isolated():
        for drawn in kernels:
            if not _small(drawn):
                continue
            with _loaded(drawn) as case, np.errstate(all="ignore"):
                case.ran(_STRICT, numbers=True)


def _small(drawn: Kernel) -> bool:
    """Whether a kernel is run on numbers."""
    return sum(int(np.prod(t.shape)) for t in drawn.tensors.values()) <= _SMALL


def _alone(drawn: Kernel) -> Judgement:
    with _loaded(drawn) as case:
        kind = _judged(case)
    return Judgement(kind, tuple(case.reasons), tuple(case.problems))


@contextmanager
def _loaded(drawn: Kernel) -> Iterator[_Case]:
    """The kernel in a file of its own, with a session of the executor."""
    path = Path(_folder().name, "kernel.py")
    path.write_text(drawn.text, encoding="utf-8")
    places._texts.pop(str(path), None)
    places._places.clear()
    sys.modules.pop("kernel", None)
    target = catalogue.find(drawn.target)
    assert target is not None
    session = Session(target, drawn.api, _STRICT)
    before = list(sys.path)
    try:
        with using(session):
            yield _Case(drawn, path, session, load(path))
    finally:
        sys.path[:] = before


def _judged(case: _Case) -> str:
    result = case.checked((case.drawn.contract,))
    symbolic = case.checked(()) if case.drawn.symbolic else result
    for found in (result, symbolic):
        crashed = [error.message for error in found.errors]
        if crashed or len(found.kernels) != 1:
            case.problems.append(f"the check fails: {crashed}")
            return "crash"
    with np.errstate(all="ignore"):
        whole = case.ran(_STRICT, numbers=False)
        kind = _concrete(case, result, whole)
        first = whole if not _sites(whole.diagnostics) else case.ran(_FIRST, numbers=False)
        if _small(case.drawn):
            numbers = case.ran(_FIRST, numbers=True)
            if not result.kernels[0].reasons:
                _numbers(case, first, numbers)
        if case.drawn.symbolic and kind != "refused":
            _symbolic(case, symbolic, case.ran(_FIRST, numbers=False, sized=False))
    return kind


def _numbers(case: _Case, shapes: Outcome, numbers: Outcome) -> None:
    """A run on numbers comes to what a run on shapes comes to."""
    ended = numbers.ended
    if ended is not None and ended[0] in ("unsupported", "misuse", "memory"):
        case.reasons.append(f"run: {_normal(ended[1])}")
        return
    if ended is not None and ended[0] == "raised" and re.match(r"IndexError: `\w", ended[1]):
        case.reasons.append("run: a number in a tile is no index of another one")
        return
    if shapes.ended is not None and shapes.ended[0] in ("unsupported", "misuse"):
        case.reasons.append(f"run: {_normal(shapes.ended[1])}")
        for rule, line in _ordered(_sites(shapes.diagnostics) - _sites(numbers.diagnostics)):
            case.problems.append(f"line {line}: {rule} is broken on shapes, not on numbers")
        return
    machine = case.session.machine
    more = {rule for rule, _ in _sites(numbers.diagnostics) - _sites(shapes.diagnostics)}
    if machine is not None and machine.largest > TRACKED and more and more <= _FOLLOWED:
        case.reasons.append("run: a tensor is too large to follow every element of it")
        return
    if more and more <= _NUMERIC | shapes.unsettled:
        case.reasons.append("run: shapes do not say what memory holds")
        return
    broken = {line for _, line in _sites(shapes.diagnostics)}
    if ended is not None and ended[0] == "raised" and ended[2] and ended[2].line in broken:
        return  # a warning said that there is no such operation
    if agreement.gist(shapes) != agreement.gist(numbers):
        said = f"{agreement.gist(numbers)} on numbers, {agreement.gist(shapes)} on shapes"
        case.problems.append(f"{said}: {numbers.ended and numbers.ended[1]}")


def _sites(found: Sequence[Diagnostic]) -> set[_Site]:
    return {_site(d) for d in found if d.severity != "note"}


def _site(found: Diagnostic) -> _Site:
    """A rule and a line, if that is the same for both; else the parameter that it is about."""
    if found.rule in _SUBJECTS and found.subject is not None and found.subject.given:
        return found.rule, f"{found.subject.given}, dimension {found.subject.dimension}"
    return found.rule, 0 if found.rule in agreement.TOGETHER else found.span.line


def _ordered(sites: set[_Site]) -> list[_Site]:
    return sorted(sites, key=str)


def _again(found: Sequence[Diagnostic], said: Sequence[Diagnostic]) -> set[_Site]:
    """Reads of what was reported as undefined before: the check speaks of the first one only."""
    known = [d for d in said if d.rule == "uninitialised-read"]
    first = {_tensor(d): d.span.line for d in reversed(known)}
    return {
        (d.rule, d.span.line)
        for d in found
        if d.rule == "uninitialised-read" and first.get(_tensor(d), d.span.line) < d.span.line
    }


def _tensor(diagnostic: Diagnostic) -> int:
    """The line in which what is read is allocated: the note about it is the last one."""
    return diagnostic.labels[-1].span.line if diagnostic.labels else 0


def _concrete(case: _Case, result: FileResult, outcome: Outcome) -> str:
    """What the check says of the sizes that were drawn is what the run does."""
    report = result.kernels[0]
    said = [d for d in result.diagnostics if d.verdict != "unknown"]
    open_ = {_site(d) for d in result.diagnostics if d.verdict == "unknown"}
    if any(d.rule == "no-admitted-input" for d in said):
        case.reasons.append("the kernel does not admit the input")
        return "refused"
    # what one input cannot tell is broken if the check of all inputs says so
    broken = _sites(outcome.diagnostics) | (_sites(outcome.doubts) & _sites(said))
    cut = bool(report.calls.unmodelled) or bool(report.reasons)
    if cut:
        case.reasons += [_normal(reason.message) for reason in report.reasons]
    for rule, line in _ordered(broken - _sites(said) - _again(outcome.diagnostics, said)):
        if not cut and (rule, line) not in open_:
            case.problems.append(f"line {line}: the run breaks {rule}, the check is silent")
        elif report.status == "verified":
            case.problems.append(f"line {line}: verified, but the run breaks {rule}")
    ended = outcome.ended
    if ended is not None:
        _ended(case, outcome, said, cut)
        return ended[0] if not broken else "violated"
    for rule in sorted({rule for rule, _ in _sites(said) - broken} & agreement.NOT_RUN):
        # some rules are judged only in runs that are made for them
        broken |= _sites(case.ran(replace(_STRICT, about=rule), numbers=False).diagnostics)
    open_ = _only_numbers(case, said, broken)
    machine = case.session.machine
    for rule, line in _ordered(_sites(said) - broken - open_ - _other_ends(said, broken)):
        if rule in _FOLLOWED and machine is not None and machine.largest > TRACKED:
            case.reasons.append("run: a tensor is too large to follow every element of it")
        elif rule in outcome.unsettled:
            case.reasons.append("run: there are too many elements to go through all of them")
        elif rule in agreement.UNJUDGED:
            case.reasons.append(f"run: {rule} is not judged by runs")
        else:
            case.problems.append(f"line {line}: the check says {rule}, the run does not break it")
    if report.status == "verified" and not all(_remark(rule) for rule, _ in broken):
        case.problems.append("verified, but it breaks rules")
    return "undecided" if report.status == "unknown" else "violated" if broken else "clean"


def _other_ends(said: Sequence[Diagnostic], broken: set[_Site]) -> set[_Site]:
    """Of two accesses that conflict a run tells the one that came later, the check either."""
    conflicts = (d for d in said if d.rule in _CONFLICTS)
    return {_site(d) for d in conflicts if any((d.rule, at.span.line) in broken for at in d.labels)}


def _only_numbers(case: _Case, said: Sequence[Diagnostic], broken: set[_Site]) -> set[_Site]:
    """Add what runs on shapes do not show; gives what a run on numbers does not come to."""
    asked = {site for site in _sites(said) - broken if site[0] in _NUMERIC}
    if not asked:
        return asked
    if not _small(case.drawn):
        case.reasons.append("run: there are too many numbers")
        return asked
    found = case.ran(_STRICT, numbers=True)
    broken |= _sites(found.diagnostics)
    if found.ended is None:
        return set()
    case.reasons.append(f"run: {_normal(found.ended[1])}")
    return asked - broken


def _remark(rule: str) -> bool:
    known = find(rule)
    return known is not None and known.remark


def _ended(case: _Case, outcome: Outcome, said: Sequence[Diagnostic], cut: bool) -> None:
    """A run that came to no end: Python failed, or the executor has no meaning for something."""
    assert outcome.ended is not None
    kind, message, place = outcome.ended
    line = place.line if place is not None else 0
    foreseen = {rule for rule, where in _sites(said) if where == line}
    if kind == "raised":
        raised = message.partition(":")[0]
        if agreement.demands(place, raised):
            case.problems.append(f"line {line}: the kernel refuses its own input")
        elif not foreseen and not cut:
            case.problems.append(f"line {line}: the run ends with {message}")
        return
    if kind in ("unsupported", "misuse", "memory"):  # limits of the run, of which it tells
        case.reasons.append(f"run: {_normal(message)}")
        return
    case.problems.append(f"line {line}: the run ends: {kind}: {message}")


def _is_one_for(drawn: Kernel) -> bool:
    """Whether inputs of the types that were drawn are asked about: see `inputs.packs`."""
    packed = {name for name, (_, kind, *_) in dt.DTYPES.items() if kind == "packed"}
    target = catalogue.find(drawn.target)
    assert target is not None
    named = any(name in drawn.text for name in packed)
    given = {tensor.dtype for tensor in drawn.tensors.values()}
    return named or target.has(Capability.MX_MATMUL) or packed.isdisjoint(given)


def _symbolic(case: _Case, result: FileResult, outcome: Outcome) -> None:
    """The run with the sizes that were drawn was foreseen; counterexamples are confirmed."""
    report = result.kernels[0]
    if not _is_one_for(case.drawn):
        case.reasons.append("the kernel is none for packed types")
        return
    if any(d.rule == "no-admitted-input" for d in result.diagnostics):
        # the check says of the input no more than that it is none; then it is not one that works
        if outcome.ended is None and not _sites(outcome.diagnostics):
            case.problems.append("any sizes: the run of an input that is not admitted is clean")
        return
    outcome = replace(outcome, unsettled=outcome.unsettled | _NUMERIC)
    known = {**dict(case.drawn.inputs), **_named(case.drawn)}
    kind, problem = agreement.judged(outcome, report, result.diagnostics, known, "with any sizes")
    if problem and kind not in ("unsupported", "misuse"):
        case.problems.append(f"any sizes: {problem}")
    for item in _items(case, result.diagnostics):
        with suppress(MisuseError):
            found = kernel(case.loaded, "kernel", case.path)
            answer, _ = replay._attempt(case.session, found, item, replay._Way(only=False))
            if answer.status == "diverged":
                shown = dict(item.counterexample)
                case.problems.append(
                    f"line {item.span.line}: {item.rule} for {shown}: {answer.reason}"
                )
            elif answer.status == "unsupported":
                case.reasons.append(f"replay: {_normal(answer.reason)}")


def _named(drawn: Kernel) -> dict[str, Any]:
    """The names that findings speak of besides those of inputs: of sizes, and of the launch."""
    shapes = {name: tensor.shape for name, tensor in drawn.tensors.items()}
    found = (re.fullmatch(r"\s*([\w, ]+) = (\w+)\.shape", line) for line in drawn.body)
    named = ((m[1].split(", "), shapes.get(m[2], ())) for m in found if m is not None)
    grid = drawn.grid or (1,)
    out: dict[str, Any] = {
        "get_core_num": lambda: grid[-1],
        "num_programs": lambda axis: grid[axis],
    }
    for names, shape in named:
        out |= zip(names, shape, strict=False)
    return out


def _items(case: _Case, found: Sequence[Diagnostic]) -> Iterator[replay.Item]:
    for d in found:
        if d.verdict == "unknown" or d.counterexample is None or d.rule in agreement.UNJUDGED:
            continue
        case.session.options = Options(shapes_only=True, keep_going=True)
        yield replay.Item(
            str(case.path),
            "kernel",
            case.drawn.target,
            case.drawn.api,
            d.rule,
            d.span,
            d.counterexample,
            subject=d.subject,
        )


def _normal(message: str) -> str:
    """A reason without the names and numbers of its kernel."""
    message = re.sub(r"line \d+", "line 0", message)
    message = re.sub(r" has no meaning for these operands .*", " has no meaning for some", message)
    message = re.sub(r"`[a-z]+\d+[^`]*`", "`_`", message)
    return re.sub(r"\b\d+\b", "0", message)[:120]
