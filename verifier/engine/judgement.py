"""One kernel on one target: from its runs to what is reported of it."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Collection, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from verifier import rulebase
from verifier.dialects import decorating
from verifier.dialects.registry import DIALECTS
from verifier.engine import (
    admission,
    defaults,
    diagnostics,
    exactly,
    judged,
    obligations,
    precondition,
)
from verifier.engine.asserting import Assertions
from verifier.engine.case import Case, Unit
from verifier.engine.fixes import Fixer
from verifier.engine.gathering import Verdict, VerdictKind, told
from verifier.engine.memo import Outcome
from verifier.engine.tiles import tiles
from verifier.engine.verdicts import Discharger
from verifier.engine.watchdog import Clock, Share
from verifier.engine.wording import in_own_names, own_names
from verifier.engine.wrapping import width
from verifier.report import model as report
from verifier.solver.solver import Solver
from verifier.source import ir
from verifier.source.project import Binding
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.python.entry import Run
from verifier.symbolic.trace import LATE, SAID, Assumption, AssumptionKind, LedgerKind, Trace

#: entries of the ledger that only the device or the caller can settle: they are listed
_STATED: Final = (LedgerKind.RUNTIME, LedgerKind.CALLER)
#: what is missing where a part was cut
_CUT: Final = {
    Share.DEMAND: "not every rule is asked",
    Share.ADMIT: "whether any input is admitted is not asked",
    Share.CONDITION: "the precondition is not found",
    Share.REPORT: "counterexamples may not be the smallest",
}


class _Judged(Struct):
    """What came of the run of a kernel."""

    discharger: Discharger
    verdicts: list[Verdict]
    assumptions: tuple[str, ...]
    reasons: tuple[report.Reason, ...]
    ranks: tuple[admission.RankOnly, ...]

    def blame(self, positions: Collection[int]) -> None:
        """Those violations are faults, whatever the kernel says."""
        for position in positions:
            self.verdicts[position] = replace(self.verdicts[position], said=True)


class _Known(Struct):
    """A run, what came of it, and the condition under which the kernel is right."""

    run: Run
    found: _Judged
    #: when it was run, and when all was decided (of ``time.perf_counter()``)
    followed: float
    decided: float
    #: what is not known of it, a sentence each
    unsettled: list[str]
    condition: report.Precondition
    parts: frozenset[int]
    advice: precondition.Advice
    #: the calls that have no model
    unmodelled: tuple[str, ...]

    @property
    def worth(self) -> tuple[int, int, int, int]:
        """How much is not known, wrong, and demanded: the less the better."""
        faults = (v for k, v in enumerate(self.found.verdicts) if k not in self.parts)
        demanded, text = len(self.condition.conjuncts), len(self.condition.text)
        return len(self.unsettled), sum(map(_counted, faults)), demanded, text


def judgement(case: Case) -> Outcome:
    """Run a kernel, discharge what is demanded of it, and report, each in its share of the time."""
    unit, request, solver, clock = case.unit, case.request, case.solver, case.clock
    started = time.perf_counter()
    known = _of_fewer_dimensions(case, _known(case), started)
    run, found, condition, parts = known.run, known.found, known.condition, known.parts
    job = case.job
    with clock.until(Share.CONDITION):
        names = {said.name: said.span.end_line for said in run.sizes.values()}
        length = width(request.line_length, unit.module.lines)
        writer = Assertions(job.module, job.definition, job.enclosing, unit.api, names, length)
        if job.site is None:  # else its names are those of what is launched
            condition = writer.added(condition)
    problems = _Teller(found, condition, parts, known.advice, case).problems()
    late = _late(found.verdicts, clock, unit)
    if precondition.UNMET in condition.undecided:
        entry = unit.entry
        late.append(report.Reason(str(entry.path), entry.line, precondition.UNMET))
    statistics = _statistics(solver, found.verdicts) if request.statistics else {}
    if request.statistics:
        statistics["times_ms"] = {
            "interpret": 1000 * (known.followed - started),
            "decide": 1000 * (known.decided - known.followed),
        }
    kernel = replace(
        unit.bare(_status(found.verdicts, parts, bool(known.unsettled or late), condition)),
        obligations=_counts(found.verdicts),
        calls=_calls(run.trace, known.unmodelled),
        assumptions=found.assumptions,
        reasons=(*found.reasons, *late),
        time_ms=round(1000 * (time.perf_counter() - started), 3),
        judged=judged.places(found.verdicts),
        tiles=tiles(run, unit.target) if request.tiles else (),
        precondition=condition,
        demands=tuple(precondition.demands(run)),
        late=run.late or _is_late(found.verdicts, clock),
    )
    return Outcome(kernel, tuple(report.deduplicate(problems)), statistics)


def _known(case: Case) -> _Known:
    """Everything that is known of a kernel, each in its share of the time."""
    unit, clock = case.unit, case.clock
    run, found, followed = _settled(case)
    decided = time.perf_counter()
    unmodelled = tuple(dict.fromkeys(call.name for call in run.trace.unmodelled if not call.lost))
    # asked again at the end: what cuts the condition off, or the report, is no reason against both
    cut = _late(found.verdicts, clock, unit)
    unsettled = [reason.message for reason in (*found.reasons, *cut)]
    unsettled += dict.fromkeys(call.said for call in run.trace.unmodelled)
    condition = precondition.not_found(found.verdicts, unsettled)
    parts: frozenset[int] = frozenset()
    advice = precondition.Advice(case.solver)
    with clock.until(Share.CONDITION):
        condition, parts, advice = precondition.of_run(
            run,
            found.verdicts,
            found.discharger.admitted,
            case.solver,
            unsettled,
            unit.target.device_bytes,
            found.ranks,
        )
        found.blame(advice.hopeless)
    return _Known(run, found, followed, decided, unsettled, condition, parts, advice, unmodelled)


def _of_fewer_dimensions(case: Case, known: _Known, started: float) -> _Known:
    """The same for tensors without the last dimension, where it has to be 1 all the same.

    So many dimensions were assumed, and nothing else speaks for them: a vector is meant.
    """
    spent = time.perf_counter() - started
    time_left = case.clock.left(Share.CONDITION)
    if not known.advice.flat or known.run.late or case.clock.cuts or time_left < 2 * spent:
        return known
    clock = Clock(time_left)
    job = replace(case.job, ranks={**case.job.ranks, **known.advice.flat})
    other = _known(case.other(job, clock))
    return other if not clock.cuts and other.worth < known.worth else known


def _calls(trace: Trace, unmodelled: tuple[str, ...]) -> report.CallCounts:
    return report.CallCounts(trace.calls, trace.calls - len(trace.unmodelled), unmodelled)


def _status(
    verdicts: Sequence[Verdict],
    parts: Collection[int],
    undecided: bool,
    condition: report.Precondition,
) -> report.Status:
    if any(position not in parts and _counted(v) for position, v in enumerate(verdicts)):
        return "violated"
    if undecided:
        return "unknown"
    return "conditional" if condition.sizes else "verified"


def _settled(case: Case) -> tuple[Run, _Judged, float]:
    """As :func:`_followed`, with short loops trip by trip where that settles what is open."""
    run, found, followed = _followed(case)
    if exactly.is_worth_it(run, found.verdicts):
        more = Clock(case.clock.left(Share.DECIDE) / 2)
        again, settled, _ = _followed(case.other(replace(case.job, exactly=True), more))
        if not (more.cuts or again.late) and exactly.settles(found.verdicts, settled.verdicts):
            return again, settled, followed
    return run, found, followed


def _followed(case: Case) -> tuple[Run, _Judged, float]:
    """A run, what came of it, and when it was over (of ``time.perf_counter()``)."""
    run = case.run()
    followed = time.perf_counter()
    return run, _judged(run, case), followed


class _Teller:
    """Makes the findings of verdicts; those at the positions ``parts`` the condition excludes."""

    def __init__(
        self,
        found: _Judged,
        condition: report.Precondition,
        parts: Collection[int],
        advice: precondition.Advice,
        case: Case,
    ) -> None:
        self._found, self._condition, self._parts = found, condition, parts
        self._advice, self._case = advice, case
        self._fixer = Fixer(case.project, case.unit.api)

    def problems(self) -> list[report.Diagnostic]:
        """One for each verdict that has something to tell, whatever the time says."""
        found: list[report.Diagnostic] = []
        positions = [
            position
            for position, verdict in enumerate(self._found.verdicts)
            if verdict.kind not in (VerdictKind.PROVED, VerdictKind.GATHERED) and not verdict.late
        ]
        with self._case.clock.until(Share.REPORT):
            for position in positions:
                found.append(self._problem(position, self._found.discharger.smallest))
        for position in positions[len(found) :]:
            found.append(self._problem(position, lambda verdict: verdict))
        return found

    def _problem(self, position: int, smallest: Callable[[Verdict], Verdict]) -> report.Diagnostic:
        """The finding of one of them, with the ``smallest`` of its counterexamples."""
        verdict = self._found.verdicts[position]
        part = position in self._parts
        if part and not self._case.request.parts:
            shown, wanted = told(verdict), verdict.precondition
        else:
            shown = told(smallest(verdict))
            wanted = self._advice.beside(position, verdict.precondition)
        run, target = self._found.discharger.run, self._case.unit.target.name
        built = diagnostics.build(shown, run, target, wanted, part=part)
        if not part and self._condition.concerns(report.Need(built.rule, built.span)):
            built = replace(built, fix=self._condition.fix)
        return self._fixer.attached(built, verdict)


def _is_late(verdicts: Sequence[Verdict], clock: Clock) -> bool:
    """Whether more time would say more: what cuts verdicts off may leave nothing undecided."""
    others = (share for share in clock.cuts if share not in (Share.DECIDE, Share.SURE))
    return any(others) or any(verdict.late for verdict in verdicts)


def _late(verdicts: Sequence[Verdict], clock: Clock, unit: Unit) -> list[report.Reason]:
    """What the end of the time has cut off behind the run itself, which says so."""
    texts = [_CUT[share] for share in clock.cuts if share in _CUT]
    left = sum(verdict.late for verdict in verdicts)
    if left:
        texts.append(f"{left} of {len(verdicts)} checks are not decided")
    entry = unit.entry
    return [report.Reason(str(entry.path), entry.line, f"{LATE}: {text}") for text in texts]


def _judged(run: Run, case: Case) -> _Judged:
    """Discharge the obligations of a run."""
    unit, request, solver, clock = case.unit, case.request, case.solver, case.clock
    rules = rulebase.of_dialect(unit.entry.dialect)
    checked = rulebase.is_checked
    selected = {rule.id for rule in rules if checked(rule, request.select, request.ignore)}
    pending = [*_around(unit, run, selected), *case.demanded(run, selected, rules)]
    verdicts: list[Verdict] = []
    reasons: list[report.Reason] = []
    ranks: list[admission.RankOnly] = []
    closed: Verdict | None = None
    with clock.until(Share.ADMIT):
        closed = admission.closed_door(run, solver, selected)
        if closed is not None:
            verdicts.append(closed)
        else:
            verdicts += defaults.rejected(run, solver, selected)
            reasons += admission.excluded(run, solver)
            reasons += admission.doubted(run, solver)
        ranks, more = admission.other_ranks(run, solver)
        reasons += more
    discharger = Discharger(run, solver)
    result = discharger.discharge(pending, clock.until(Share.DECIDE), clock.until(Share.SURE))
    verdicts += filter(_told, result.verdicts)
    if closed is not None and closed.kind is VerdictKind.UNKNOWN:
        verdicts = [_behind(closed, verdict) for verdict in verdicts]
    reasons += _reasons(run)
    names = own_names(run)
    for verdict in verdicts:
        if verdict.kind is VerdictKind.UNKNOWN and not verdict.late:
            check = verdict.obligation.check
            text = f"{check.text}: {verdict.reason}"
            reasons.append(
                report.Reason(check.span.path, check.span.line, in_own_names(text, names))
            )
    assumptions = dict.fromkeys((*_assumption_texts(run, result.inferred), *result.runtime))
    said = tuple(dict.fromkeys(reasons))
    return _Judged(discharger, verdicts, tuple(assumptions), said, tuple(ranks))


def _behind(closed: Verdict, verdict: Verdict) -> Verdict:
    """What is violated where it is not known whether any input comes by is not known either."""
    before = verdict.obligation.order < closed.obligation.order
    if not verdict.kind.violated or (
        before and verdict.obligation.rule.on is not rulebase.On.TRACE
    ):
        return verdict
    return Verdict(verdict.obligation, VerdictKind.UNKNOWN, verdict.tier, reason=closed.reason)


def dotted(binding: Binding) -> str:
    """The name that an import is of."""
    return binding.imported or f"{binding.module}.{binding.original}"


def _around(unit: Unit, run: Run, selected: set[str]) -> list[obligations.Obligation]:
    """What is wrong outside the kernel's body: an import, a keyword of the jit, a device call."""
    module, entry, api = unit.module, unit.entry, unit.api
    dialect = DIALECTS[entry.dialect]
    has = f"NKI {api} has it"
    found: list[tuple[str, Check]] = []
    for binding in module.bindings.values():
        if not binding.kind.imports:
            continue
        problem = dialect.import_problem(api, dotted(binding))
        if problem is not None:
            module.binding(binding.name)  # the result depends on where it stands
            text = module.lines[binding.line - 1]
            column = len(text) - len(text.lstrip())
            span = ir.Span(str(module.path), binding.line, column, binding.line, len(text))
            found.append(("api-removed", Check(E.FALSE, span, has, *problem)))
    said = decorating.checks(api, entry.keywords, entry.name_span)
    found.extend((decorating.RULE, check) for check in said)
    for call, name in dialect.device_calls(module.syntax()):
        text, message = f"a kernel calls {name}", f"`{name}` is called outside of a kernel"
        found.append(
            ("outside-kernel", Check(E.FALSE, _span(str(module.path), call), text, message))
        )
    told = unit.starts, module.syntax(), entry.name, api, unit.target, _named(run)
    for each in dialect.launches(*told):
        span = _span(each.path or str(module.path), each.node)
        check = Check(E.FALSE, span, each.text, each.message, each.facts, severity=each.severity)
        found.append((each.rule, check))
    out = []
    for rule_id, check in found:
        rule = rulebase.find(rule_id)
        if rule is not None and rule.id in selected:
            out.append(obligations.Obligation(rule, check, (), (), (), 0))
    return out


def _named(run: Run) -> frozenset[str] | None:
    """The names that a kernel gives its instructions; None if not all of them are known."""
    trace = run.trace
    if run.ended is not None or trace.unmodelled or trace.ledger:
        return None
    given = [op.operands["name"].value for op in trace.operations if "name" in op.operands]
    known = frozenset(name for name in given if isinstance(name, str))
    return known if all(name is None or isinstance(name, str) for name in given) else None


def _span(path: str, node: ast.expr) -> ir.Span:
    """Where an expression stands in a file."""
    end_line, end = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
    return ir.Span(path, node.lineno, node.col_offset, end_line, end)


def _assumption_texts(run: Run, inferred: Sequence[Assumption]) -> list[str]:
    texts = [a.text for a in run.trace.assumptions if a.text and a.kind in SAID]
    texts += [
        a.text
        for a in run.trace.assumptions
        if a.text and a.kind in (AssumptionKind.GRID, AssumptionKind.TYPE)
    ]
    texts += [f"{a.text} (needed, not said)" for a in inferred]
    texts += [e.message for e in run.trace.ledger if e.kind in _STATED]
    texts += [f"{name} >= {_least(name)}" for name in run.inputs.integers]
    return texts


def _least(name: str) -> int:
    """The least value of an integer input."""
    return E.bounds(E.symbol(name, lo=0))[0] or 0


def _reasons(run: Run) -> list[report.Reason]:
    """What of the ledger stands in the way of calling the kernel verified."""
    out = []
    for entry in run.trace.ledger:
        if entry.kind in _STATED:
            continue  # only the device or the caller knows: stated as an assumption
        if entry.kind is LedgerKind.DEMAND:
            continue  # what a library refuses are inputs less: proofs hold for the others
        if entry.symbols:
            continue  # over-approximated by a symbol: proofs hold for all its values
        out.append(report.Reason(entry.span.path, entry.span.line, entry.message))
    for call in run.trace.unmodelled:
        out.append(report.Reason(call.span.path, call.span.line, call.said))
    if run.ended is not None:
        out.append(report.Reason(run.ended[1].path, run.ended[1].line, run.ended[0]))
    if run.opaque_return:
        span = run.trace.span
        out.append(report.Reason(span.path, span.line, run.opaque_return))
    return out


def _told(verdict: Verdict) -> bool:
    """Whether a verdict counts: advice does where it is good for every input."""
    advice = verdict.obligation.rule.family == rulebase.ADVICE
    return not advice or verdict.kind is VerdictKind.ALWAYS


def _counts(verdicts: Sequence[Verdict]) -> report.ObligationCounts:
    verdicts = [v for v in verdicts if not v.noted]
    proved = sum(v.kind is VerdictKind.PROVED for v in verdicts)
    unknown = sum(v.kind is VerdictKind.UNKNOWN for v in verdicts)
    return report.ObligationCounts(len(verdicts), proved, len(verdicts) - proved - unknown, unknown)


def _counted(verdict: Verdict) -> bool:
    """Whether it is a violation, be it reported with another one."""
    return verdict.kind.violated and not verdict.noted


def _statistics(solver: Solver, verdicts: Sequence[Verdict]) -> report.Statistics:
    tiers: dict[str, int] = {}
    by_rule: dict[str, dict[str, int]] = {}
    for verdict in verdicts:
        tiers[verdict.tier.value] = tiers.get(verdict.tier.value, 0) + 1
        row = by_rule.setdefault(verdict.obligation.rule.id, {})
        kind = verdict.kind.value
        row[kind] = row.get(kind, 0) + 1
    return {
        "tiers": tiers,
        "rules": by_rule,
        "queries": solver.statistics.queries,
        "query_ms": [round(1000 * t, 3) for t in solver.statistics.z3_times],
    }
