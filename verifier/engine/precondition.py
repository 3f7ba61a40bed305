"""For which inputs a kernel is right, as far as its obligations are decided.

Each violated obligation comes with a condition under which it holds. Together, in the form that
somebody reads (:mod:`.conditions`), they are the kernel's precondition: sufficient where nothing
is left undecided, and exact where each condition is, because the first one that an input breaks
makes the obligation behind it fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from verifier.dialects.registry import cited
from verifier.engine import diagnostics
from verifier.engine.admission import RankOnly
from verifier.engine.conditions import (
    Item,
    Normal,
    in_reading_order,
    of_dtypes,
)
from verifier.engine.evaluable import in_order, is_met
from verifier.engine.forms import conjuncts
from verifier.engine.gathering import Verdict, VerdictKind
from verifier.engine.wording import in_own_names, own_names, worded
from verifier.report import model as report
from verifier.report.spans import span_of
from verifier.solver.query import Model, Query
from verifier.solver.solver import Solver
from verifier.symbolic import expr as E
from verifier.symbolic.expr import FALSE, Bool, Sym
from verifier.symbolic.pretty import python
from verifier.symbolic.python.entry import Run
from verifier.symbolic.python.inputs import absent_name, truth_name
from verifier.symbolic.trace import SAID, AssumptionKind

#: an example whose sizes are larger, so that loops somewhere run, is shown by a smaller one
_EVERYDAY: Final = 1024
_FAULTS: Final = (VerdictKind.ALWAYS, VerdictKind.SOMETIMES)
#: why nobody is told that a kernel is right under its conditions
UNMET: Final = "no inputs are known that meet all conditions under which it would be right"


class Conditions(Struct):
    """The conditions of one run; ``bugs`` are the verdicts that are reported on their own:
    those of all inputs, those that the kernel means to exclude, and those without a condition.

    ``known`` is what is demanded of the inputs, ``items`` the conditions beside it, each with the
    positions of the verdicts that need it.
    """

    run: Run
    verdicts: Sequence[Verdict]
    solver: Solver
    known: tuple[Bool, ...]
    memory: int | None = None
    items: list[Item] = field(default_factory=list)
    #: the same as each verdict came to need it, before they are brought into one form
    demands: list[Item] = field(default_factory=list)
    dtypes: list[Item] = field(default_factory=list)
    #: both, in an order in which Python can evaluate them
    all: list[Item] = field(default_factory=list)
    bugs: set[int] = field(default_factory=set)
    #: of these the ones that exclude all that the others leave
    hopeless: set[int] = field(default_factory=set)
    exact: bool = True
    #: some violation is there whose condition is not known
    unconditional: bool = False
    #: no inputs are known that meet all conditions: nobody is told that it is right then
    unmet: bool = False

    def gather(self) -> None:
        """Find the conditions of all verdicts, and which verdicts are bugs."""
        for position, verdict in enumerate(self.verdicts):
            if verdict.noted or verdict.kind is VerdictKind.UNKNOWN:
                continue
            if verdict.kind is VerdictKind.ALWAYS:
                self.bugs.add(position)
                self.unconditional = True
            elif verdict.kind is not VerdictKind.PROVED or verdict.precondition is not None:
                self._take(position, verdict)
        self.demands = self.items
        self.known = (*self.known, *_true_is_there(self.items))
        types = [item for item in self.items if self.demands_dtypes(item)]
        rest = [item for item in self.items if item not in types]
        self.items = []
        known = (*self.known, *(item.condition for item in types))
        items = self._formed(known, rest)
        if not self._same_inputs(known, rest, items):
            items = in_reading_order(rest)
        items = self._without_spare(known, items)
        dtypes = of_dtypes(Normal((*self.known, *_stated(items)), self.solver).met(types))
        conditions = [item.condition for item in (*dtypes, *items)]
        for position, condition in in_order(conditions, self.known, self.solver):
            item = replace([*dtypes, *items][position], condition=condition)
            self.all.append(item)
            (self.dtypes if position < len(dtypes) else self.items).append(item)
        self.unmet = bool(self.all) and self._met((*self.known, *_stated(self.all))) is None

    def _without_spare(self, known: tuple[Bool, ...], items: Sequence[Item]) -> list[Item]:
        """``items`` without those that suffice for something, and for no more than others do."""
        kept = list(items)
        for item in items:
            if any(self.verdicts[position].exact for position in item.of):
                continue
            others = (*known, *_stated([other for other in kept if other is not item]))
            # what follows from it was left out, and is needed again
            if all(self._suffices(others, demand) for demand in (item, *self.demands)):
                kept.remove(item)
        return kept

    def _suffices(self, facts: tuple[Bool, ...], demand: Item) -> bool:
        """Whether a demand follows from ``facts``, or nothing breaks there what it was made for."""
        if self.solver.check(Query(facts, demand.condition)).proved:
            return True
        obligations = (self.verdicts[position].obligation for position in demand.of)
        return all(
            self.solver.check(Query((*facts, *each.local_facts), each.check.predicate)).proved
            for each in obligations
        )

    def _met(self, facts: tuple[Bool, ...]) -> Model | None:
        """Numbers that meet all facts; None: none are known."""
        return self.solver.check(Query(facts, FALSE)).model

    def _same_inputs(
        self, known: tuple[Bool, ...], items: Sequence[Item], form: Sequence[Item]
    ) -> bool:
        """Whether inputs that meet conditions meet their readable form, and the other way round:
        a form that admits other inputs is wrong, however it was found."""
        for one, other in ((items, form), (form, items)):
            model = self._met((*known, *_stated(one)))
            if model is not None and any(is_met(c, model) is False for c in _stated(other)):
                return False
        return self._admit_some(form) or not self._admit_some(items)

    def _formed(self, known: tuple[Bool, ...], items: Sequence[Item]) -> list[Item]:
        """Conditions in their readable form, what is only warned of beside the others.

        It is a reason to leave out what a compiler tells of, and follows from it; not to leave out
        what goes wrong silently.
        """
        grave: list[Item] = []
        mild: list[Item] = []
        for item in items:
            (mild if all(self.verdicts[p].obligation.mild for p in item.of) else grave).append(item)
        found = Normal(known, self.solver).form(grave)
        loud = [item for item in found if not self.unheard(item, found)]
        if not mild:
            return found
        beside = Normal((*known, *(item.condition for item in found)), self.solver).form(mild)
        whole = [*found, *beside]
        return in_reading_order(Normal(known, self.solver).without_implied(whole, loud))

    def _take(self, position: int, verdict: Verdict) -> None:
        condition = verdict.precondition
        if condition is None or self.solver.check(Query(self.known, condition)).proved:
            self.bugs.add(position)  # what would prevent it is not known, or does not
            self.unconditional = True
            return
        if verdict.said:
            self.bugs.add(position)
        self.exact = self.exact and verdict.exact
        if self._admit_some([*self.items, Item(condition, (position,))]):
            self.items.append(Item(condition, (position,)))
            return
        for earlier in self.items if not self._of_nothing(condition) else ():
            rest = [item for item in self.items if item is not earlier]
            if self._admit_some([*rest, Item(condition, (position,))]):
                # what excludes what all else allows is the fault
                self.items = [*rest, Item(condition, (position,))]
                self.bugs.update(earlier.of)
                self.hopeless.update(earlier.of)
                self.unconditional = True
                return
        self.bugs.add(position)
        self.hopeless.add(position)
        self.unconditional = True

    def _of_nothing(self, condition: Bool) -> bool:
        """Whether a condition leaves a number nothing but 0: what is right when nothing is done."""
        known = (*self.known, condition)
        numbers = (s for s in condition.free() if s.name in self.run.inputs.integers)
        return any(
            self.solver.check(Query(known, E.eq(number, 0))).proved
            for number in map(E.from_atom, numbers)
            if not self.solver.check(Query(self.known, E.eq(number, 0))).proved
        )

    def unheard(self, item: Item, items: Sequence[Item]) -> list[int]:
        """Of the verdicts that one of ``items`` stands for, those of which nobody is told.

        A condition that is simplified beside the others excludes what they exclude, too, and may
        replace them: what it stands for is what goes wrong where it alone is broken, and not only
        what it came of.
        """
        found = [p for side in item.each() for p in self._silent(side)]
        silent = [one for one in self.demands if self._silent(one.of)]
        if found or not silent:
            return found
        others = (other.condition for other in items if other is not item)
        facts = (*self.known, *others, *self.told(), E.not_(item.condition))
        model = self.solver.check(Query(facts, E.and_(*_stated(silent)))).model
        if model is None:
            return []
        broken = [one for one in silent if is_met(one.condition, model) is False]
        return [p for one in broken for p in one.of if self._breaks(p, facts)]

    def told(self) -> Iterator[Bool]:
        """What inputs meet of which no compiler tells anything."""
        for demand in self.demands:
            of = [self.verdicts[position].obligation for position in demand.of]
            if not any(obligation.mild or obligation.rule.silent for obligation in of):
                yield demand.condition

    def _breaks(self, position: int, facts: tuple[Bool, ...]) -> bool:
        """Whether inputs with ``facts``, which break a condition, break what it stands for."""
        verdict = self.verdicts[position]
        query = Query((*facts, *verdict.obligation.local_facts), verdict.obligation.check.predicate)
        return verdict.exact or self.solver.refute(query).refuted

    def _silent(self, side: Sequence[int]) -> list[int]:
        """Of verdicts on what the same inputs break, those of which nobody is told: a compiler
        that refuses the kernel tells, a warning does not."""
        silent = [p for p in side if self.verdicts[p].obligation.rule.silent]
        loud = [p for p in side if p not in silent and not self.verdicts[p].obligation.mild]
        return [] if loud else silent

    def is_minor(self, item: Item, model: Model) -> bool:
        """Whether no inputs break a condition of which each fits into the device's memory, by what
        it takes at a byte an element; the ones of ``model`` do break it."""
        if self.memory is None:
            return False
        fitting: list[Bool] = []
        large = False
        for tensor, rank in self.run.ranks.items():
            sizes = [E.symbol(f"{tensor}.shape[{axis}]", lo=1) for axis in range(rank)]
            large = (
                large
                or prod(int(model.get(f"{tensor}.shape[{axis}]", 1)) for axis in range(rank))
                > self.memory
            )
            fitting += [E.le(size, self.memory) for size in sizes]
            fitting.append(E.le(prod(sizes, start=E.const(1)), self.memory))
        others = (other.condition for other in self.all if other is not item)
        query = Query((*self.known, *others, *fitting), item.condition)
        return large and self.solver.check(query).proved

    def demands_dtypes(self, item: Item) -> bool:
        """Whether a condition says which dtypes instructions take, and nothing else."""
        return all(self.verdicts[p].kind is VerdictKind.PROVED for p in item.of)

    def _admit_some(self, items: Sequence[Item]) -> bool:
        facts = (*self.known, *(item.condition for item in items))
        return not self.solver.check(Query(facts, FALSE)).proved


class Advice(Struct, frozen=True):
    """What can be asserted against a violation, beside the ``facts`` of a precondition.

    ``hopeless`` are the positions of violations that exclude all that the others leave, ``flat``
    the tensors whose last dimension is merely assumed to be there, each with the rank that it has
    without, if some of these dimensions have to be 1.
    """

    solver: Solver
    facts: tuple[Bool, ...] = ()
    hopeless: frozenset[int] = frozenset()
    flat: Mapping[str, int] = {}

    def beside(self, position: int, wanted: Bool | None) -> Bool | None:
        """What is wanted, less the alternatives that contradict the facts; None if all do."""
        if wanted is None or position in self.hopeless:
            return None
        if wanted.kind is not E.BoolKind.OR:
            return wanted
        left = [part for part in wanted.args if not self._excluded(part)]
        return E.or_(*left) if left else None

    def _excluded(self, part: Bool) -> bool:
        return self.solver.check(Query((*self.facts, part), FALSE)).proved


def _true_is_there(items: Sequence[Item]) -> Iterator[Bool]:
    """Of inputs of which conditions say both that they are true and that they are None: that what
    is true is not None."""
    flags = dict.fromkeys(flag for item in items for flag in item.condition.flags())
    for flag in flags:
        true = truth_name(flag.removesuffix(absent_name("")))
        if flag.endswith(absent_name("")) and true in flags:
            yield E.or_(E.not_(E.bool_symbol(true)), E.not_(E.bool_symbol(flag)))


def _stated(items: Sequence[Item]) -> Iterator[Bool]:
    return (item.condition for item in items)


def of_run(
    run: Run,
    verdicts: Sequence[Verdict],
    admitted: tuple[Bool, ...],
    solver: Solver,
    undecided: Sequence[str],
    memory: int | None = None,
    ranks: Sequence[RankOnly] = (),
) -> tuple[report.Precondition, frozenset[int], Advice]:
    """The precondition of a run, the positions of the verdicts that it stands for, and what there
    is to advise beside it.

    ``admitted`` is what the kernel and its contract demand of the inputs, ``undecided`` what is not
    known of the kernel, a sentence each, ``memory`` how many bytes the device has for tensors,
    ``ranks`` those of which no others are checked.
    """
    found = Conditions(run, verdicts, solver, admitted, memory)
    found.gather()
    names = _known_names(run)
    conjuncts = [_of_rank(only) for only in ranks]
    conjuncts += [_conjunct(found, item, names) for item in found.all]
    if found.unmet:
        undecided = (*undecided, UNMET)
    whole = not undecided and not found.unconditional
    precondition = report.Precondition(
        conjuncts=tuple(conjuncts),
        sufficient=whole,
        exact=whole and found.exact and not ranks,
        asserted=tuple(
            dict.fromkeys(a.text for a in run.trace.assumptions if a.text and a.kind in SAID)
        ),
        assumed=tuple(_assumed(found, names)),
        undecided=tuple(dict.fromkeys(undecided)),
        faulty=found.unconditional,
        shapes=tuple(
            (tensor, tuple(_own_name(run, f"{tensor}.shape[{axis}]") for axis in range(rank)))
            for tensor, rank in run.ranks.items()
        ),
    )
    parts = {
        position
        for position, verdict in enumerate(verdicts)
        if position not in found.bugs
        and verdict.kind is VerdictKind.SOMETIMES
        and not verdict.noted
    }
    facts = (*admitted, *(item.condition for item in found.all))
    advice = Advice(solver, facts, frozenset(found.hopeless), _flat(found))
    return precondition, frozenset(parts), advice


def _flat(found: Conditions) -> Mapping[str, int]:
    """The tensors that could all have a dimension less: one element in it is all that fits some.

    Nothing in the text speaks of that dimension.
    """
    run, facts = found.run, (*found.known, *_stated(found.items))
    open_: dict[str, int] = {}
    single = False
    for p in run.inputs.guessed:
        ranks = {guess.rank for guess in p.guesses}
        if len(ranks) == 1 and p.first and not p.hints and (rank := max(ranks)) > 1:
            open_[p.name] = rank - 1
            last = run.inputs.extent(p, rank - 1)
            single = single or found.solver.check(Query(facts, E.eq(last, 1))).proved
    return open_ if single and found.items and not found.unmet else {}


def demands(run: Run) -> Iterator[report.Label]:
    """What the kernel asserts of its inputs alone, as far as it is followed exactly."""
    lost = {name for entry in run.trace.ledger for name in entry.symbols}
    # who reads them knows the sizes of these alone by name
    names = {s: n for s, n in own_names(run).items() if s.name.partition(".")[0] in run.ranks}
    for said in run.trace.assumptions:
        if said.kind is not AssumptionKind.ASSERT or said.span is None:
            continue
        for part in conjuncts(said.condition):
            known = (s.origin in E.GIVEN and s.name not in lost for s in part.free())
            if all(known) and lost.isdisjoint(part.flags()):
                yield report.Label(span_of(said.span), python(part, names))


def _known_names(run: Run) -> dict[Sym, str]:
    """What the kernel calls its sizes, but for those of tensors whose ranks are not known: who
    reads the conditions is not told what the names stand for."""
    return {
        symbol: own
        for symbol, own in own_names(run).items()
        if ".shape[" not in symbol.name or symbol.name.partition(".")[0] in run.ranks
    }


def _assumed(found: Conditions, names: Mapping[Sym, str]) -> Iterator[str]:
    """What is taken for granted of integer inputs, unless a condition or a demand says as much."""
    facts = [*found.known, *(item.condition for item in found.all)]
    bounded = {s for fact in facts for part in conjuncts(fact) if (s := _bounded_below(part))}
    for name in found.run.inputs.integers:
        size = E.symbol(name, lo=0)
        (symbol,) = size.free()
        if symbol not in bounded:
            yield f"{python(size, names)} >= {symbol.lo}"


def _bounded_below(fact: Bool) -> Sym | None:
    """The size that a fact says to be positive, or which number it is."""
    symbols = fact.free()
    if fact.expr is None or len(symbols) != 1 or len(fact.expr.terms) != 1:
        return None
    ((mono, factor),) = fact.expr.terms
    positive = fact.kind is E.BoolKind.LE and factor < 0
    return symbols[0] if mono == symbols and (positive or fact.kind is E.BoolKind.EQ) else None


def not_found(verdicts: Sequence[Verdict], undecided: Sequence[str]) -> report.Precondition:
    """What there is to say where no time is left for :func:`of_run`: nothing is sufficient, and
    it stands for no violation, each of which is told on its own."""
    texts = tuple(dict.fromkeys(undecided))
    faulty = any(not verdict.noted and verdict.kind in _FAULTS for verdict in verdicts)
    return report.Precondition(sufficient=False, exact=False, undecided=texts, faulty=faulty)


def _own_name(run: Run, size: str) -> str:
    """The kernel's name for a size of an input; empty if it has none."""
    return next((said.name for symbol, said in run.sizes.items() if symbol.name == size), "")


# ------------------------------------------------------------------------------ one conjunct


def _conjunct(found: Conditions, item: Item, names: Mapping[Sym, str]) -> report.Conjunct:
    unheard = found.unheard(item, found.all)
    verdicts = [found.verdicts[position] for position in dict.fromkeys((*unheard, *item.of))]
    shown, model = _witness(found, item, verdicts, tuple(found.told()) if unheard else ())
    if model is None and unheard:
        shown, model = _witness(found, item, verdicts)
    check, rule = shown.obligation.check, shown.obligation.rule
    first = span_of(check.span)
    needs = [report.Need(v.obligation.rule.id, span_of(v.obligation.check.span)) for v in verdicts]
    symbols = item.condition.free()
    others = (other.condition for other in found.all if other is not item)
    witness = None if model is None else diagnostics.counterexample(found.run, model)
    return report.Conjunct(
        text=worded(item.condition, (*found.known, *others), names),
        what=in_own_names(check.message if unheard else check.text, names),
        rule=rule.id,
        facts=cited(check.facts or rule.facts, found.run.trace.dialect),
        span=first,
        others=tuple(dict.fromkeys(n for n in needs if n != report.Need(rule.id, first))),
        silent=bool(unheard),
        grid=any(s.origin is E.Origin.GRID for s in symbols),
        minor=model is not None and found.is_minor(item, model),
        dtype=item in found.dtypes,
        exact=all(v.exact for v in verdicts),
        witness=witness,
        breach="" if model is None else _breach(item.condition, model, witness or {}, names),
    )


def _of_rank(only: RankOnly) -> report.Conjunct:
    """The condition that a tensor has the rank that it is checked with."""
    return report.Conjunct(
        text=only.text,
        what=f"other ranks of `{only.name}` that the kernel admits are not checked",
        rule="precondition",
        facts=(),
        span=span_of(only.span),
        rank=True,
        exact=False,
    )


def _witness(
    found: Conditions, item: Item, verdicts: Sequence[Verdict], told: tuple[Bool, ...] = ()
) -> tuple[Verdict, Model | None]:
    """An obligation that fails for an input which meets all other conditions, and that input.

    Conditions that have no value without this one are not among the others. ``told``: what else
    the input meets, so that nothing but this obligation tells of it.
    """
    broken = E.not_(item.condition)
    beside = [*found.known, *told, *_evaluable_without(found, item), broken]
    for verdict in verdicts:
        obligation = verdict.obligation
        trips = obligation.trips or found.run.trips()
        facts = (*beside, *obligation.local_facts)
        runs = tuple(E.ge(count, 1) for count in trips)
        shown: Model | None = None
        for more in (runs, ()) if runs else ((),):
            query = Query((*facts, *more), obligation.check.predicate)
            answer = found.solver.refute(query)
            if answer.refuted and answer.model is not None:
                model = found.solver.minimize(query, answer.model, trips)
                shown = model if shown is None else min(shown, model, key=_largest)
            if shown is not None and (obligation.trips or _largest(shown) <= _EVERYDAY):
                break
        if shown is not None:
            return verdict, shown
    if all(verdict.exact for verdict in verdicts):  # what breaks the condition breaks one of them
        query = Query(tuple(beside[:-1]), item.condition)
        answer = found.solver.refute(query)
        if answer.refuted and answer.model is not None:
            return verdicts[0], found.solver.minimize(query, answer.model, ())
    return verdicts[0], None


def _largest(model: Model) -> int:
    return max(map(abs, map(int, model.values())), default=0)


def _evaluable_without(found: Conditions, item: Item) -> Iterator[Bool]:
    """The other conditions that have a value where one does not hold."""
    facts = [*found.known, E.not_(item.condition)]
    for other in found.all:
        if other is item:
            continue
        zeros = E.divisors((other.condition,))
        if any(found.solver.check(Query(tuple(facts), E.eq(den, 0))).proved for den in zeros):
            continue
        facts.append(other.condition)
        yield other.condition


def _breach(
    condition: Bool,
    model: Model,
    witness: Mapping[str, report.Value],
    names: Mapping[Sym, str],
) -> str:
    """The values of what a condition speaks of; those of inputs are as they are shown."""
    parts = []
    for symbol in condition.free():
        value = model.get(symbol.name)
        if value is None:
            continue
        shape = f"{symbol.name}.shape"
        if shape in witness:  # one of several values, and here it is the tensor
            parts.append(f"{shape} = {witness[shape]}")
            continue
        text = str(witness.get(symbol.name, value))
        if symbol.domain is not None and 0 <= value < len(symbol.domain):
            text = symbol.domain[int(value)]
        parts.append(f"{python(E.from_atom(symbol), names)} = {text}")
    parts += [f"{flag} = {witness[flag]}" for flag in condition.variables() if flag in witness]
    return ", ".join(parts)
