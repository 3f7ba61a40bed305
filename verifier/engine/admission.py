"""Which inputs a kernel admits: whether any at all, and of which ranks."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from verifier import rulebase
from verifier.engine import obligations, unknowns
from verifier.engine.gathering import Verdict, VerdictKind
from verifier.engine.instances import EachTrip
from verifier.report import model as report
from verifier.solver.query import Query, Tier
from verifier.solver.solver import Solver
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.python.entry import Run
from verifier.symbolic.python.inputs import absent_name
from verifier.symbolic.trace import Assumption, AssumptionKind, LedgerKind

#: numbers that are not known of which it is asked whether they can meet what is demanded
_ASKED = 4


def closed_door(run: Run, solver: Solver, selected: set[str]) -> Verdict | None:
    """The assumption after which no input is admitted any more, if there is one."""
    rule = rulebase.find("no-admitted-input")
    if rule is None or rule.id not in selected:
        return None
    said = demands(run)
    everything = tuple(a.condition for a in said)
    whole = (*everything, *instances(said))
    if not everything or not solver.check(Query(whole, E.FALSE)).proved:
        return None
    for position, assumption in enumerate(said):
        prefix = everything[: position + 1]
        if solver.check(Query((*prefix, *instances(said[: position + 1])), E.FALSE)).proved:
            check = Check(
                predicate=E.FALSE,
                span=assumption.span or run.trace.span,
                text=assumption.text or "the assumptions admit an input",
                message="no input satisfies this together with what was demanded before",
                facts=(),
            )
            found = obligations.Obligation(rule, check, (), (), (), assumption.order)
            reason = _guessed(run, assumption)
            kind = VerdictKind.UNKNOWN if reason else VerdictKind.ALWAYS
            return Verdict(found, kind, Tier.Z3, reason=reason)
    return None


def _guessed(run: Run, closing: Assumption) -> str:
    """Why what no input satisfies on its path may come of a rank that nothing suggests."""
    if closing.condition is not E.not_(closing.guard):
        return ""
    for name, p in run.inputs.parameters.items():
        for guess in p.guesses:
            if not guess.shown and guess.order < closing.order:
                return f"nothing says that {name} has rank {guess.rank}, which is assumed"
    return ""


def doubted(run: Run, solver: Solver) -> list[report.Reason]:
    """Why it is not known whether any input is admitted: then nothing is proved of any.

    That is so where what is demanded on a path excludes all that take it, and it is not known who
    does; and where a number that is not known is demanded to be none of the least that it may be.
    One that may be each of these is taken to be one that can meet what is demanded.
    """
    said = demands(run)
    facts = (*_conditions(said), *instances(said))
    for guard in dict.fromkeys(a.guard for a in said):
        unknown = _unknown(guard)
        if unknown and solver.check(Query((*facts, guard), E.FALSE)).proved:
            return [_doubt(run, unknown)]
    numbers = dict.fromkeys(s for fact in facts for s in fact.free() if s.origin in E.OPEN)
    for symbol in list(numbers)[:_ASKED]:
        for value in _least_of(symbol):
            if solver.check(Query((*facts, E.eq(E.from_atom(symbol), value)), E.FALSE)).proved:
                return [_doubt(run, (symbol.name,))]
    return []


def _least_of(symbol: E.Sym) -> range:
    """The least values that a number may have; about zero if it has no least one."""
    least = -1 if symbol.lo is None else symbol.lo
    most = least + 3
    return range(least, (most if symbol.hi is None else min(most, symbol.hi)) + 1)


def _unknown(condition: E.Bool) -> tuple[str, ...]:
    return tuple(s.name for s in condition.free() if s.origin in E.OPEN)


def _doubt(run: Run, unknown: tuple[str, ...]) -> report.Reason:
    of = unknowns.said(unknown, run.trace.ledger, run.trace.span)
    text = f"whether any input is admitted depends on values that are not known: {of}"
    return report.Reason(run.trace.span.path, run.trace.span.line, text)


def demands(run: Run) -> list[Assumption]:
    """What the kernel and its contract demand, as far as it is followed."""
    said = [
        a
        for a in run.trace.assumptions
        if a.kind in (AssumptionKind.ASSERT, AssumptionKind.CONTRACT, AssumptionKind.GRID)
    ]
    skipped = [entry.order for entry in run.trace.ledger if entry.kind is LedgerKind.SKIPPED]
    if skipped:  # what is demanded behind it may not be demanded at all
        said = [a for a in said if a.order <= min(skipped)]
    return said


def instances(said: Sequence[Assumption]) -> tuple[E.Bool, ...]:
    """What is demanded in single trips of loops and single programs of the grid.

    That a program index lies in the grid is no demand: it says which programs there are.
    """
    grid = [a.condition for a in said if a.kind is AssumptionKind.GRID]
    indices = {s for within in grid for s in within.free() if s.origin is E.Origin.LOOP}
    there = E.and_(*grid)
    demands = EachTrip(
        tuple(
            a.condition if indices.isdisjoint(a.condition.free()) else E.implies(there, a.condition)
            for a in said
            if a.kind is not AssumptionKind.GRID
        )
    )
    return demands.instances()


def excluded(run: Run, solver: Solver) -> list[report.Reason]:
    """Why nothing is proved of a run whose tensors cannot have the ranks that they are given.

    The rank of a tensor is assumed where nothing settles it; what the kernel demands later may
    say otherwise. Demands of the kernel's own may exclude each other, too.
    """
    inputs = run.inputs.parameters.values()
    ranks = {symbol for p in inputs for symbol in run.inputs.rank_symbol(p).free()}
    said = [a for a in run.trace.assumptions if not ranks.isdisjoint(a.condition.free())]
    if len(said) < 2 or not solver.check(Query(_conditions(said), E.FALSE)).proved:
        return []
    guesses = [guess for p in inputs for guess in p.guesses]
    guessed = {(guess.order, id(guess.condition)) for guess in guesses}
    made = [a for a in said if (a.order, id(a.condition)) in guessed]
    rest = [a for a in said if a not in made]
    if made and not solver.check(Query(_conditions(rest), E.FALSE)).proved:
        last = made[-1]
        text = f"it is assumed that {last.text}, which the kernel's other demands exclude"
    else:
        last = said[-1]
        text = "what the kernel does with a shape excludes what it says of its rank"
    span = last.span or run.trace.span
    return [report.Reason(span.path, span.line, text)]


class RankOnly(Struct, frozen=True):
    """A rank that a tensor is checked with, of several that the kernel admits."""

    name: str
    rank: int
    #: where the kernel speaks of it
    span: Span
    #: whether the input may be None as well
    optional: bool

    @property
    def text(self) -> str:
        """The condition that it is that one."""
        told = f"len({self.name}.shape) == {self.rank}"
        return f"({self.name} is None or {told})" if self.optional else told


def other_ranks(run: Run, solver: Solver) -> tuple[list[RankOnly], list[report.Reason]]:
    """Ranks that the kernel itself speaks of beside the one that it was run with.

    A rank that nothing is said of is an assumption that the report lists; what the kernel demands
    of a rank says for which ones it is meant, and one of them is not all of them: it is a condition
    then. Where it is not the same on all paths, nothing is known of any.
    """
    made = {
        (guess.order, id(guess.condition))
        for p in run.inputs.parameters.values()
        for guess in p.guesses
    }
    rest = [a for a in run.trace.assumptions if (a.order, id(a.condition)) not in made]
    only: list[RankOnly] = []
    reasons: list[report.Reason] = []
    for p in run.inputs.parameters.values():
        count = run.inputs.rank_symbol(p)
        free = set(count.free())
        said = [
            a
            for a in rest
            if a.kind is AssumptionKind.ASSERT and not free.isdisjoint(a.condition.free())
        ]
        if not said or not p.guesses:
            continue
        guess = p.guesses[0]
        if solver.check(Query(_conditions(rest), E.eq(count, guess.rank))).proved:
            continue
        span = said[0].span or run.trace.span
        if {other.rank for other in p.guesses} == {guess.rank}:
            optional = any(absent_name(p.name) in g.condition.flags() for g in p.guesses)
            only.append(RankOnly(p.name, guess.rank, span, optional))
            continue
        text = f"not all ranks of {p.name} are checked that the kernel admits"
        reasons.append(report.Reason(span.path, span.line, text))
    return only, reasons


def _conditions(assumptions: Sequence[Assumption]) -> tuple[E.Bool, ...]:
    return tuple(a.condition for a in assumptions)
