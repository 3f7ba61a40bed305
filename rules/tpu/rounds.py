"""Pipelines: whether all parts of an input go alike through the rounds of a loop.

A loop with any number of rounds is looked at with one round, with two, and so on up to a few more
than places are taken in turn and stages are apart: what goes astray in a longer one does so in one
of these. What becomes of the parts then is :mod:`rules.tpu.parts`; here is for which numbers of
rounds that is a fault.

How far the next part is away say the addresses of the loads and stores of the loop. Where they do
not go on evenly, the kernel says by itself that parts are used otherwise: nothing is said then, nor
where other loads of the loop take some of them from elsewhere. What is loaded from one address in
whatever round, or every few rounds only, is used on purpose in all of them, too; and so is what is
taken twice in a loop of few rounds alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from rules.tpu import flow, kit, parts
from rules.tpu.kit import function, words
from rules.tpu.parts import Arrival, Astray, Column, Content, Event, Follower, Journey, Pace
from verifier.hardware.chips import Chip
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.lanes import LocalTensor, SystemTensor, Touch
from verifier.symbolic.memory.known import MOST_TURNS
from verifier.symbolic.tensors import Loop, Storage
from verifier.symbolic.trace import Operation, Trace
from verifier.symbolic.views.common import conjuncts

#: so many numbers of rounds are looked at, as far as they make no more operations than these
_SIZES: Final = MOST_TURNS
_MOST_EVENTS: Final = 3 * MOST_TURNS * MOST_TURNS
#: rounds after which what is done in some of them only comes again, at most
_LONGEST: Final = 4
#: rounds of a loop beside the one that is looked at
_FEW: Final = 2
#: fewer numbers of rounds tell nothing of others
_FEWEST: Final = _LONGEST + 1
#: so many rounds of a loop of which the number is plain
MOST_ROUNDS: Final = (_LONGEST + _FEW) * MOST_TURNS


class Size(Struct, frozen=True, eq=False):
    """What the number of rounds of a loop hangs on, ``term``, inside of other loops.

    Of a plain number that is 0.
    """

    around: tuple[Loop, ...]
    loop: Loop
    term: Expr

    def put(self, value: int, others: Mapping[Size, int] | None = None) -> E.Substitution:
        """``others``: the numbers that are put in for other loops."""
        symbols: dict[E.Sym, Expr] = {}
        atoms: dict[E.Atom, Expr] = {}
        for size, number in {self: value, **(others or {})}.items():
            sign = 1 if size.term.as_atom() is not None else -1
            atom = (size.term * sign).as_atom()
            if atom is not None and not isinstance(atom, E.Sym):
                atoms[atom] = E.const(number * sign)
            elif (symbol := size.symbol) is not None:
                sign = size.term.coefficient(symbol)
                rest = size.term - E.from_atom(symbol) * sign
                symbols[symbol] = (number - rest) * sign
        return E.Substitution(symbols, atoms=atoms)

    @property
    def few(self) -> int:
        """What to put in for two rounds, or for more if there are never so few."""
        terms = (self.loop.trips - self.loop.trips.const).terms
        times = abs(terms[0][1]) if len(terms) == 1 else 1
        return max(_FEW, -((self.loop.trips.const - _FEW) // times))

    @property
    def symbol(self) -> E.Sym | None:
        """One that grows, or shrinks, as the number of rounds does."""
        for symbol in self.term.free():
            sign = self.term.coefficient(symbol)
            if abs(sign) == 1 and symbol not in (self.term - E.from_atom(symbol) * sign).free():
                return symbol
        return None

    def rounds(self, value: int, others: Mapping[Size, int] | None = None) -> Rounded:
        return Rounded(self.put(value, others), self._within(value))

    def _within(self, value: int) -> E.Substitution:
        """What is divided into so many rounds, as a symbol between its bounds."""
        atom = self.term.as_atom()
        if not isinstance(atom, E.Div) or not atom.den.is_const or atom.den.const < 1:
            return E.Substitution({})
        symbol = (atom.num - atom.num.const).as_atom()
        if not isinstance(symbol, E.Sym):
            return E.Substitution({})
        low = atom.den.const * value - atom.num.const
        high = low + atom.den.const - 1
        low = low if symbol.lo is None else max(low, symbol.lo)
        high = high if symbol.hi is None else min(high, symbol.hi)
        if low > high:
            return E.Substitution({})
        name = f"{low} <= {symbol.name} <= {high}"
        return E.Substitution({symbol: E.symbol(name, low, high, symbol.origin)})


class Rounded(Struct, frozen=True, eq=False):
    """A number of rounds that is put in; ``within``: as bounds of what it hangs on."""

    put: E.Substitution
    within: E.Substitution

    def touches(self, touches: Sequence[Touch]) -> tuple[Touch, ...]:
        """The tensors, where a minimum is a number if all rounds that are not the last have it."""
        found = touches_at(touches, self.put)
        terms = (t for each in found for t in (*each.tensor.shape, *each.tensor.strides))
        plain = self.plain(terms)
        return found if plain is None else touches_at(found, plain)

    def plain(self, terms: Iterable[Expr]) -> E.Substitution | None:
        """The minima that are numbers then."""
        if self.within.is_empty:
            return None
        found: dict[E.Atom, Expr] = {
            atom: value
            for term in terms
            for atom in term.atoms()
            if isinstance(atom, E.Extremum) and (value := self.within.atom(atom)).is_const
        }
        return E.Substitution({}, atoms=found) if found else None


AS_THEY_ARE: Final = Rounded(E.Substitution({}), E.Substitution({}))


def sizes(operations: Sequence[Operation], *, plain: bool = False) -> Iterator[Size]:
    """The loops of which the number of rounds is one term and a number; ``plain``: or a number, or
    a sum that grows with a size."""
    seen: set[tuple[object, ...]] = set()
    for op in operations:
        for depth, loop in enumerate(op.loops):
            term = loop.trips - loop.trips.const
            if plain and (several := _several(term)) is not None:
                term = several
            key = (*map(id, op.loops[:depth]), id(loop if term.is_const else term))
            size = Size(op.loops[:depth], loop, term)
            other = plain and (term.is_const or size.symbol is not None)
            if key not in seen and (other or term.as_atom() is not None):
                seen.add(key)
                yield size


def _several(term: Expr) -> Expr | None:
    """What a term is several of, which grows as it does."""
    if len(term.terms) == 1 and len(term.terms[0][0]) == 1:
        (atom,), times = term.terms[0]
        return E.from_atom(atom) * (1 if times > 0 else -1)
    return None


class Unrolled:
    """The operations of a trace, round by round of the loops inside of ``around``."""

    def __init__(self, operations: Sequence[Operation], around: Sequence[Loop]) -> None:
        depth = len(around)
        self.depth = depth
        self.operations = [op for op in operations if op.loops[:depth] == tuple(around)]
        self._moved: dict[tuple[object, ...], tuple[Touch, ...]] = {}
        inside = [set(map(id, _path(op))) for op in self.operations if len(op.loops) > depth]
        #: conditions of all that is in a loop
        self.always = set.intersection(*inside) if inside else set()

    @property
    def given(self) -> tuple[Bool, ...]:
        found = {id(fact): fact for op in self.operations for fact in _path(op)}
        return tuple(found[each] for each in found if each in self.always)

    def events(self, put: Rounded | None) -> list[Event] | None:
        """None: there are too many, or a loop has no plain number of rounds."""
        out: list[Event] = []
        self._unroll(self.operations, self.depth, {}, None, put, out)
        return out if len(out) <= _MOST_EVENTS else None

    def _unroll(
        self,
        operations: Sequence[Operation],
        depth: int,
        indices: Mapping[E.Sym, Expr],
        at: int | None,
        put: Rounded | None,
        out: list[Event],
    ) -> None:
        for loop, group in by_loop(operations, depth):
            if len(out) > _MOST_EVENTS:
                return
            if loop is None:
                for op in group:
                    self._event(op, indices, at, put, out)
                continue
            trips = loop.trips if put is None else put.put.expr(loop.trips)
            trips = E.Substitution(indices).expr(trips)
            if not trips.is_const or trips.const > MOST_ROUNDS:
                out += _any_rounds(group, depth, indices, at, put)
                continue
            for n in range(trips.const):
                inner = {**indices, loop.symbol: E.const(n)}
                round_ = n if depth == self.depth else at
                self._unroll(group, depth + 1, inner, round_, put, out)

    def _event(
        self,
        op: Operation,
        indices: Mapping[E.Sym, Expr],
        at: int | None,
        put: Rounded | None,
        out: list[Event],
    ) -> None:
        here = E.Substitution(indices)
        sure = True
        for fact in _path(op):
            holds = here.bool(fact) if put is None else here.bool(put.put.bool(fact))
            if holds is E.FALSE:
                return
            sure = sure and (holds is E.TRUE or id(fact) in self.always)
        key = (id(op), *indices.values())
        if key not in self._moved:
            self._moved[key] = touches_at(op.touches, here)
        touches = self._moved[key]
        out.append(Event(op, touches if put is None else put.touches(touches), at, sure, here))


def in_any_rounds(operations: Sequence[Operation]) -> Iterator[Event]:
    """All operations, those of loops in two rounds that may be any two."""
    for loop, group in by_loop(operations, 0):
        if loop is None:
            yield from (Event(op, op.touches, sure=not op.path) for op in group)
        else:
            yield from _any_rounds(group, 0, {}, None, None)


def _any_rounds(
    group: Sequence[Operation],
    depth: int,
    indices: Mapping[E.Sym, Expr],
    at: int | None,
    put: Rounded | None,
) -> Iterator[Event]:
    """Two rounds of a loop that may be any, and of those within: the second one finds what another
    one has left."""
    symbol = group[0].loops[depth].symbol
    for _ in range(2):
        inner = {**indices, symbol: E.fresh(symbol.name, 0, symbol.hi, E.Origin.LOOP)}
        here = E.Substitution(inner)
        for loop, ops in by_loop(group, depth + 1):
            if loop is not None:
                yield from _any_rounds(ops, depth + 1, inner, at, put)
                continue
            for op in ops:
                touches = touches_at(op.touches, here)
                yield Event(op, touches if put is None else put.touches(touches), at, False, here)


def _path(op: Operation) -> list[Bool]:
    return [part for fact in op.path for part in conjuncts(fact)]


def by_loop(
    operations: Sequence[Operation], depth: int
) -> Iterator[tuple[Loop | None, list[Operation]]]:
    """Runs of operations of one loop at a depth, or of none."""
    group: list[Operation] = []
    current: Loop | None = None
    for op in operations:
        loop = op.loops[depth] if len(op.loops) > depth else None
        if group and loop is not current:
            yield current, group
            group = []
        current = loop
        group.append(op)
    if group:
        yield current, group


def touches_at(touches: Sequence[Touch], put: E.Substitution) -> tuple[Touch, ...]:
    out: list[Touch] = []
    for touch in touches:
        tensor = touch.tensor
        if isinstance(tensor, LocalTensor):
            moved: LocalTensor | SystemTensor = kit.moved(tensor, put)
        else:
            moved = kit.moved_system(tensor, put)
        out.append(replace(touch, tensor=moved))
    return tuple(out)


# ----------------------------------------------------------------------------- the pace


class Paces:
    """How far the loads and stores of a loop go from round to round."""

    def __init__(self, operations: Sequence[Operation], loop: Loop, depth: int) -> None:
        self.depth = depth
        self.operations = [
            op for op in operations if len(op.loops) > depth and op.loops[depth].trips is loop.trips
        ]

    def pace(self, output: Storage, column: Column, put: E.Substitution) -> Pace | None:
        """None: they go on otherwise than evenly, or there are none in the loop."""
        loads = [op for op in self._of(column.storage, writes=False) if column.brings(op)]
        stores = self._of(output, writes=True)
        if not loads or not stores or len({id(_offset(op, False)) for op in loads}) > 1:
            return None
        brought = [self._steps(op, False) for op in loads]
        taken = [self._steps(op, True) for op in stores]
        if any(steps != brought[0] for steps in brought) or any(s != taken[0] for s in taken):
            return None
        if not _proportional(brought[0], taken[0]):
            return None
        (first, *_), (to, *_) = brought[0], taken[0]
        own = next(step for step in reversed(brought[0]) if step is not None)
        if first is None or to is None:
            return None
        return Pace(put.expr(to), put.expr(first), put.expr(own))

    def _of(self, storage: Storage, *, writes: bool) -> list[Operation]:
        return [
            op
            for op in self.operations
            if any(
                isinstance(touch.tensor, SystemTensor)
                and touch.tensor.address.storage is storage
                and (touch.writes if writes else touch.reads)
                for touch in op.touches
            )
        ]

    def _steps(self, op: Operation, writes: bool) -> list[Expr | None]:
        """By loop how far it goes on from one round to the next; None: unevenly, or not at all."""
        offset = _offset(op, writes)
        out: list[Expr | None] = []
        for loop in op.loops[self.depth :]:
            further = E.Substitution({loop.symbol: loop.index + 1})
            step = None if offset is None else further.expr(offset) - offset
            even = step is not None and loop.symbol not in step.free() and step is not E.const(0)
            out.append(step if even else None)
        return out


def _offset(op: Operation, writes: bool) -> Expr | None:
    found = [
        touch.tensor.address.offset
        for touch in op.touches
        if isinstance(touch.tensor, SystemTensor) and (touch.writes if writes else touch.reads)
    ]
    return found[0] if len(found) == 1 else None


def _proportional(one: Sequence[Expr | None], other: Sequence[Expr | None]) -> bool:
    if len(one) != len(other) or not one:
        return False
    first, to = one[0], other[0]
    if first is None or to is None:
        return False
    pairs = zip(one, other, strict=True)
    return all(a is not None and b is not None and a * to is b * first for a, b in pairs)


# ----------------------------------------------------------------------------- of a trace


class Rounds:
    """The pipelines of a trace, of one loop or of several with as many rounds."""

    def __init__(self, operations: Sequence[Operation], follower: Follower, size: Size) -> None:
        self.size = size
        self.unrolled = Unrolled(operations, size.around)
        self.paces = Paces(operations, size.loop, len(size.around))
        self._follower = follower

    @cached_property
    def journeys(self) -> dict[int, tuple[list[Event], Journey]]:
        """By the size that was put in."""
        out: dict[int, tuple[list[Event], Journey]] = {}
        for value in range(1, _SIZES + 1):
            events = self.unrolled.events(self.size.rounds(value))
            if events is None:
                break
            out[value] = events, self._follower.journey(events, self.size.put(value))
        return out

    def checks(self) -> Iterator[Check]:
        found = self.journeys
        if len(found) < _FEWEST:
            return
        astray: dict[int, list[Astray]] = {value: [] for value in found}
        alone: dict[int, list[Astray]] = {value: [] for value in found}
        repeated = {value: self._repeated(value) for value in found}
        goes_on = any(each for value in [*found][-_LONGEST:] for each in repeated[value])
        for value in (value for value, (_, journey) in found.items() if not journey.raced):
            for sure, others in (repeated[value] if goes_on else ([], []), self._left_out(value)):
                astray[value] += sure
                alone[value] += others
            astray[value] += self._passed_over(value)
            astray[value] += self._unstored(value)
            astray[value] += parts.overtaken(found[value][1])
        since = _since({value for value in found if self._behind(value)}, max(found))
        for value in range(1, max(found) + 1):
            behind = self._behind(value, others=value < since)
            (astray if value >= since else alone)[value] += behind
        first = _since({value for value, each in astray.items() if each}, max(found))
        if first <= max(found):  # below, the same may be a fault, but does not show
            alone = {v: each for v, each in alone.items() if v < first and not astray[v]}
            yield from self._told({v: alone.get(v, []) for v in found}, sure=False)
        least = min((value for value, each in astray.items() if each), default=None)
        for value, (_, journey) in found.items():
            if least is not None and value > least and journey.raced:
                astray[value] += astray[least]  # one is as wrong as the other
        yield from self._told(astray, sure=True)

    def _told(self, astray: Mapping[int, Sequence[Astray]], *, sure: bool) -> Iterator[Check]:
        """``sure``: that it is a fault shows for each of the sizes by itself."""
        bad = {value: each for value, each in astray.items() if each}
        if bad:
            predicate, exact = without(self.size.term, set(bad), max(astray))
            unknown = "what the only part is to go through" if exact else "for which sizes it is so"
            yield replace(
                told(bad[min(bad)][0]),
                predicate=predicate,
                given=(*flow.within(self.size.around), *self.unrolled.given),
                exact=exact and sure,
                reason="" if exact and sure else f"{unknown} is not known",
            )

    def _repeated(self, value: int) -> tuple[list[Astray], list[Astray]]:
        """The second ones: out of step, but none of them twice and none left out, or nothing that a
        run of so many rounds shows by itself."""
        _, journey = self.journeys[value]
        shown = any(each.why == parts.REPEATED for each in _one_by_one(journey, meant=False))
        out: list[Astray] = []
        alone: list[Astray] = []
        for group in parts.groups(journey):
            for column in parts.columns(group):
                pace = self.paces.pace(group[0].storage, column, self.size.put(value))
                if pace is None or self._is_held(column, len(column.loaded(journey)) < len(group)):
                    continue
                wrong = out if shown and parts.is_astray(journey, group, column, pace) else alone
                for n in parts.out_of_step(group, column.parts, pace):
                    wrong.append(Astray(group[n].store, column.parts[n].load, parts.REPEATED))
        return out, alone

    def _is_held(self, column: Column, rarer: bool) -> bool:
        """Whether a part is loaded every few rounds only, to be used in all of them; ``rarer``:
        less often than something is stored."""
        symbol = self.size.loop.symbol
        facts = (fact for part in column.parts for fact in _path(part.load.operation))
        return rarer and any(
            isinstance(atom, E.Div) and symbol in E.from_atom(atom).free()
            for fact in facts
            if fact.expr is not None
            for atom in fact.expr.atoms()
        )

    def _passed_over(self, value: int) -> Iterator[Astray]:
        put = self.size.put(value)
        return parts.passed_over(
            self.journeys[value][1],
            lambda group, column: (
                self.paces.pace(group[0].storage, column, put) or parts.between(group, column)
            ),
        )

    def _left_out(self, value: int) -> tuple[list[Astray], list[Astray]]:
        """``alone``: those beside which no other part goes the whole way."""
        _, journey = self.journeys[value]
        out: list[Astray] = []
        alone: list[Astray] = []
        for group in parts.groups(journey):
            whole = self._whole(group)
            if whole is None:
                continue
            shown = parts.spans(parts.longest(group)) == parts.spans(whole)
            for arrival, call in parts.left_out(group, whole):
                load = parts.parts_of(arrival)[0].load
                (out if shown else alone).append(Astray(arrival.store, load, parts.LEFT_OUT, call))
        return out, alone

    def _whole(self, group: Sequence[Arrival]) -> Content | None:
        """What goes through most calls where there are most rounds, each of them in all rounds from
        some on, or up to some."""
        events, journey = self.journeys[max(self.journeys)]
        groups = parts.groups(journey)
        longest = next((each for each in groups if each[0].storage is group[0].storage), None)
        whole = None if longest is None else parts.longest(longest)
        if whole is None or len(whole.parts) != len(parts.parts_of(group[0])):
            return None
        steady = (self._steady(call.operation, events) for call in whole.way)
        return whole if all(steady) else None

    def _behind(self, value: int, *, others: bool = False) -> list[Astray]:
        """Results that are left behind, of parts that the loop means to load; ``others``: by calls
        whose results arrive where there are most rounds."""
        if self.size.around or value not in self.journeys:
            return []
        events, largest = self.journeys[max(self.journeys)]
        steady = all(self._steady(each.store.operation, events) for each in largest.arrivals)
        if not steady and next(self._passed_over(max(self.journeys)), None) is None:
            return []
        _, journey = self.journeys[value]
        many = self.size.loop.trips is self.size.term
        found = parts.left_behind(journey, largest if others else journey, many)
        return [each for each in found if _ends(each, self.size)]

    def _unstored(self, value: int) -> Iterator[Astray]:
        """Results of so few rounds that nothing is stored at all."""
        (_, journey), (_, largest) = self.journeys[value], self.journeys[max(self.journeys)]
        if largest.arrivals and not journey.arrivals:
            yield from filter(_is_made, parts.left_behind(journey, largest))

    def _steady(self, operation: Operation, events: Sequence[Event]) -> bool:
        """Whether it is in all rounds from some on, or up to some."""
        rounds = {event.round for event in events if event.operation is operation}
        known = [n for n in rounds if n is not None]
        return not known or max(known) - min(known) < len(known)


def _ends(astray: Astray, size: Size) -> bool:
    """Whether its part is loaded under a condition that bounds the index from above; or it is made
    in as many rounds as the size says."""
    if _is_made(astray) and size.loop.trips is size.term:
        return True
    return any(
        fact.kind is E.BoolKind.LE
        and fact.expr is not None
        and fact.expr.coefficient(size.loop.symbol) > 0
        for fact in _path(astray.load.operation)
    )


def _is_made(astray: Astray) -> bool:
    """Whether it is the result of a function, no load."""
    return astray.at is not astray.load


def _since(values: set[int], last: int) -> int:
    """From where on all of them are among the values, to the last one."""
    since = last + 1
    while since - 1 in values:
        since -= 1
    return since


def without(term: Expr, bad: set[int], last: int) -> tuple[Bool, bool]:
    """That a size is none of these, nor goes on like them; and whether that is known exactly."""
    least = min(bad)
    for period in range(1, _LONGEST + 1):
        for begin in range(1, last - 2 * period + 1):
            again = range(begin, last + 1 - period)
            if all((value in bad) == (value + period in bad) for value in again):
                cases = [E.lt(term, least)]
                cases += (E.eq(term, value) for value in range(least, begin) if value not in bad)
                for value in range(begin, begin + period):
                    if value not in bad:
                        turn = E.eq(E.mod(term, period), value % period)
                        cases.append(E.and_(E.ge(term, begin), turn))
                return E.or_(*cases), True
    return E.and_(*(E.ne(term, value) for value in bad)), False


def told(astray: Astray) -> Check:
    op, load = astray.at.operation, astray.load.operation
    behind = astray.why in (parts.LEFT_BEHIND, parts.PASSED_OVER, parts.OVERTAKEN)
    touch = next(
        touch
        for touch in op.touches
        if isinstance(touch.tensor, LocalTensor) and (touch.writes if behind else touch.reads)
    )
    what, call = f"{words(touch.role)} of `{function(op)}`", ""
    notes = [Note(load.span, "this part was loaded here")]
    if astray.load is astray.at:
        notes = []
    if astray.call is not None:
        call = function(astray.call.operation)
        notes.append(Note(astray.call.operation.span, "what the others have gone through"))
    text, message = {
        parts.REPEATED: (
            f"{what} is the next part each time",
            f"{what} is not the next part of what `{function(load)}` brings: one is taken twice, "
            "or left out",
        ),
        parts.LEFT_OUT: (
            f"{what} has gone through `{call}` each time",
            f"{what} has not gone through `{call}` as other parts have",
        ),
        parts.LEFT_BEHIND: (
            f"something takes {what} each time",
            f"{what} is the last one, and nothing takes it as it takes the others",
        ),
        parts.OVERTAKEN: (
            f"something takes {what} each time",
            f"{what} is overwritten before anything has read it: what was loaded before it is "
            "taken once more",
        ),
        parts.PASSED_OVER: (
            f"something takes {what} each time",
            f"{what} is overwritten before anything takes it as it takes the others: nothing "
            "comes to its place in the output",
        ),
    }[astray.why]
    return Check(
        predicate=E.FALSE,
        span=kit.span_of(op, touch.role),
        text=text,
        message=message,
        facts=("OKK-X07", "ADR-11"),
        notes=tuple(notes),
        help=("give the stages the same iterations, parts and places, each so many later",),
        path=(),
        order=min(op.order, load.order),
    )


def astray(trace: Trace, chip: Chip) -> Iterator[Check]:
    """One check per loop in which parts go astray."""
    operations = flow.in_order(trace)
    found = list(sizes(operations))
    follower = Follower(chip, (item.condition for item in trace.assumptions))
    for size in found:
        yield from Rounds(operations, follower, size).checks()
    events = None if found else Unrolled(operations, ()).events(None)
    journey = None if events is None else follower.journey(events)
    if journey is not None and not journey.raced:
        for each in _one_by_one(journey, meant=True):
            yield told(each)
            return


def astray_in_run(trace: Trace, chip: Chip) -> Iterator[Check]:
    """As :func:`astray`, of all operations of a run, whose text says what is meant."""
    events = [Event(op, op.touches) for op in flow.in_order(trace)]
    for each in _one_by_one(Follower(chip).journey(events), meant=False):
        yield told(each)


def _one_by_one(journey: Journey, *, meant: bool) -> Iterator[Astray]:
    """``meant``: what is not loaded as often as it is stored may be so on purpose."""
    for group in parts.groups(journey):
        for column in parts.columns(group):
            if meant and len(column.loaded(journey)) != len(group):
                continue
            pace = parts.even(journey, group, column)
            off = parts.twice(journey, group, column)
            if pace is not None:
                off = parts.out_of_step(group, column.parts, pace)
                off = off if parts.is_astray(journey, group, column, pace) else []
            if pace is not None or not meant:
                for n in off:
                    yield Astray(group[n].store, column.parts[n].load, parts.REPEATED)
        if not meant:
            for arrival, call in parts.left_out(group, parts.longest(group)):
                load = parts.parts_of(arrival)[0].load
                yield Astray(arrival.store, load, parts.LEFT_OUT, call)
    yield from parts.passed_over(journey, parts.between)
    yield from parts.overtaken(journey)
    if not meant:
        yield from parts.left_behind(journey, journey)
