"""From a finished run to obligations: every check of every rule, with the facts it stands under."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

from msgspec import Struct
from msgspec.structs import replace

from verifier import rulebase
from verifier.engine.generally import General
from verifier.engine.instances import EachTrip
from verifier.hardware.catalogue import Hardware
from verifier.rulebase import On, Rule
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Bool, Expr, Sym
from verifier.symbolic.python.entry import Run
from verifier.symbolic.python.flow import HostCheck
from verifier.symbolic.tensors import Loop, StorageKind
from verifier.symbolic.trace import Assumption, AssumptionKind, Operation, Trace


class Obligation(Struct, frozen=True, eq=False):
    """``check.predicate`` must hold under the kernel's assumptions, ``path`` and ``ranges``.

    ``within``: the indices of the loops that it arises in.
    """

    rule: Rule
    check: Check
    path: tuple[Bool, ...]
    ranges: tuple[Bool, ...]
    trips: tuple[Expr, ...]
    order: int
    within: frozenset[Sym] = frozenset()

    @property
    def cap(self) -> str:
        """The gravest that its violation may be."""
        return self.check.severity or self.rule.severity

    @property
    def mild(self) -> bool:
        """Whether its violation is no more than a warning."""
        return self.cap != "error"

    @property
    def local_facts(self) -> tuple[Bool, ...]:
        return (*self.path, *self.ranges, *self.check.given)


def by_default(obligation: Obligation) -> Obligation:
    """An obligation where nobody has named a target, and the dialect's default is taken."""
    check, rule = obligation.check, obligation.rule
    if not rule.of_target or check.severity is not None:
        return obligation
    told = (*check.help, "name the target that the kernel is for (--target); none is named")
    return replace(obligation, check=replace(check, severity="warning", help=told))


def of_run(
    run: Run,
    target: Hardware,
    selected: Collection[str],
    rules: Iterable[Rule],
    within: AbstractContextManager[None] | None = None,
    general: Callable[[], General | None] = lambda: None,
) -> list[Obligation]:
    """All obligations of a run, in program order; those that were found before ``within`` ends.

    ``general``: the kernel at sizes that nobody has fixed.
    """
    out: list[Obligation] = []
    chosen = [rule for rule in rules if rule.id in selected]
    with within or nullcontext():
        out.extend(_each(run, target, chosen, general))
    out.sort(key=lambda o: o.order)
    return out


def _each(
    run: Run, target: Hardware, chosen: Sequence[Rule], general: Callable[[], General | None]
) -> Iterator[Obligation]:
    last = 0
    for obligation in _of_parts(run, target, chosen):
        last = max(last, obligation.order)
        yield obligation
    for rule in chosen:
        if rule.on is On.TRACE:
            asked = rule.of_loops is not None and rule.of_loops(run.trace)
            for check in _of_all(rule, target, run.trace, general() if asked else None):
                yield _obligation(rule, check, (), (), last + 1)


def _of_all(rule: Rule, target: Hardware, trace: Trace, general: General | None) -> Iterator[Check]:
    """What a rule demands of a whole kernel.

    What it says at all sizes goes before what it says at those that are given, of the same place;
    where sizes choose the size of a tile, it may have nothing to say but at these.
    """
    said: set[Span] = set()
    if general is not None:
        for check in rulebase.run(rule, target, general.trace):
            said.add(check.span)
            yield general.at_the_numbers(check)
    yield from (check for check in rulebase.run(rule, target, trace) if check.span not in said)


def _of_parts(run: Run, target: Hardware, chosen: Sequence[Rule]) -> Iterator[Obligation]:
    """What is demanded of single tensors and operations, and of Python."""
    yield from _host(run.checks, {rule.id: rule for rule in chosen})
    by_subject: dict[On, list[Rule]] = {}
    for rule in chosen:
        by_subject.setdefault(rule.on, []).append(rule)
    for storage in run.trace.storages:
        if storage.kind is StorageKind.INPUT:
            continue
        for rule in by_subject.get(On.STORAGE, ()):
            for check in rulebase.run(rule, target, storage):
                yield _obligation(rule, check, storage.path, storage.loops, storage.order)
    dispatch = _by_operation(by_subject.get(On.OPERATION, ()))
    for operation in run.trace.operations:
        operation.unseen.clear()
        for rule in (*dispatch.get(operation.name, ()), *dispatch.get("", ())):
            for check in rulebase.run(rule, target, operation):
                yield _of_operation(rule, check, operation)


def _by_operation(rules: Iterable[Rule]) -> dict[str, list[Rule]]:
    out: dict[str, list[Rule]] = {}
    for rule in rules:
        for name in rule.operations or ("",):
            out.setdefault(name, []).append(rule)
    return out


def _of_operation(rule: Rule, check: Check, operation: Operation) -> Obligation:
    return _obligation(rule, check, operation.path, operation.loops, operation.order)


def _obligation(
    rule: Rule, check: Check, path: tuple[Bool, ...], loops: tuple[Loop, ...], order: int
) -> Obligation:
    if check.path is not None:
        path = check.path
    if check.order is not None:
        order = check.order
    path, ranges = _whatever_is_run(check, path, tuple(loop.within for loop in loops))
    return Obligation(
        rule,
        check,
        path,
        ranges,
        tuple(loop.trips for loop in loops),
        order,
        frozenset(loop.symbol for loop in loops),
    )


def _host(checks: Iterable[HostCheck], rules: dict[str, Rule]) -> Iterator[Obligation]:
    for item in checks:
        rule = rules.get(item.rule)
        if rule is None:
            continue
        within = frozenset(loop.symbol for loop in item.loops)
        trips = tuple(loop.trips for loop in item.loops)
        path, given = _whatever_is_run(item.check, item.path, item.check.given)
        check = replace(item.check, given=given)
        yield Obligation(rule, check, path, (), trips, item.order, within)


#: what only the device knows, or decides
_ON_DEVICE = frozenset({E.Origin.DEVICE, E.Origin.RUNS})


def _whatever_is_run(
    check: Check, path: tuple[Bool, ...], more: tuple[Bool, ...]
) -> tuple[tuple[Bool, ...], tuple[Bool, ...]]:
    """The facts of a path, and more of them, but for those that the device alone knows of.

    The body of a loop is traced and compiled however often the device runs it: what is wrong with
    it whatever the numbers are is wrong without a run, too.
    """
    others = (fact for fact in (*path, *more, *check.given) if not _of_device(fact))
    asked = {symbol for fact in (check.predicate, *others) for symbol in fact.free()}

    def left(facts: tuple[Bool, ...]) -> tuple[Bool, ...]:
        return tuple(f for f in facts if not _of_device(f) or not asked.isdisjoint(f.free()))

    return left(path), left(more)


def _of_device(fact: Bool) -> bool:
    """Whether a fact speaks of nothing but numbers that only the device knows, and of trips."""
    origins = {symbol.origin for symbol in fact.free()} - {E.Origin.LOOP}
    return bool(origins) and origins <= _ON_DEVICE


def known_at(assumptions: Iterable[Assumption], obligation: Obligation) -> tuple[Bool, ...]:
    """What the kernel demands where an obligation arises: what it has asserted before.

    The demands of the grid and the contract always hold, and so do later assertions that every
    run comes to, since nothing runs before the whole kernel is traced. Of what dies while it is
    traced they are known where they compare inputs alone: those that they exclude are rejected in
    either way. What is said later on of values that are not followed, and that the obligation does
    not ask for, excludes no input, nor does what has no value where a division dies before.
    """
    traced = obligation.rule.on is not On.HOST
    terms: list[Expr | Bool] = [obligation.check.predicate, *obligation.local_facts]
    asked = {symbol for term in (*terms, *obligation.trips) for symbol in term.free()}
    return tuple(
        a.condition if a.order <= obligation.order or traced else E.unless_undefined(a.condition)
        for a in assumptions
        if a.order <= obligation.order
        or (a.everywhere and (traced or _compares_inputs(a.condition)))
        or a.kind in (AssumptionKind.GRID, AssumptionKind.CONTRACT)
        or (a.kind is AssumptionKind.TYPE and not _of_others(a.condition, asked))
    )


def _compares_inputs(condition: Bool) -> bool:
    """Whether a condition has a value for all inputs: it compares them, and computes nothing that
    an error before may have kept from being computed."""
    if condition.kind in E.JUNCTIONS:
        return all(map(_compares_inputs, condition.args))
    return condition.expr is not None and all(
        isinstance(atom, Sym) and atom.origin in E.GIVEN for atom in condition.expr.atoms()
    )


def _of_others(fact: Bool, asked: Collection[Sym]) -> bool:
    """Whether a fact is about values that are not followed, none of which is asked for."""
    opened = [symbol for symbol in fact.free() if symbol.origin in E.OPEN]
    return bool(opened) and not any(symbol in asked for symbol in opened)


def known_of_trips(assumptions: Iterable[Assumption], obligation: Obligation) -> EachTrip:
    """What is demanded in trips of loops other than the one that an obligation arises in.

    Of the loops around the obligation it is the first trip only that has been gone before for
    certain: what stands further up holds of it now, what stands further down from the second on.
    """
    here = set(obligation.within)
    for fact in (obligation.check.predicate, *obligation.local_facts):
        here.update(s for s in fact.free() if s.origin is E.Origin.LOOP)
    out: list[Bool] = []
    for a in assumptions:
        trips = [s for s in a.condition.free() if s.origin is E.Origin.LOOP]
        around = {s: E.from_atom(s) for s in trips if s in here}
        if a.kind is AssumptionKind.GRID:
            here.update(trips)
        elif trips:
            first = E.Substitution(dict.fromkeys(around, E.const(0))).bool(a.condition)
            if a.order > obligation.order:
                first = E.implies(E.or_(*(E.ge(index, 1) for index in around.values())), first)
            if first is not E.TRUE:
                out.append(first)
    return EachTrip(tuple(out), frozenset(here))


def simplify(assumptions: tuple[Bool, ...], local: tuple[Bool, ...]) -> tuple[Bool, ...]:
    """Drop from each assumption the alternatives that the path excludes."""
    excluded = {id(E.not_(fact)) for fact in local}
    out: list[Bool] = []
    for fact in assumptions:
        if fact.kind is E.BoolKind.OR:
            left = tuple(arg for arg in fact.args if id(arg) not in excluded)
            if len(left) < len(fact.args):
                fact = E.or_(*left)
        if fact.kind is E.BoolKind.AND:
            out.extend(fact.args)
        elif fact is not E.TRUE:
            out.append(fact)
    return tuple(out)
