"""Loops one round after the other: with one round, with two, and so on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from rules.memory.steps import Event, Rounded, by_loop, path_of, turns
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.lanes import LocalTensor, SystemTensor, Touch
from verifier.symbolic.memory.known import MOST_TURNS
from verifier.symbolic.tensors import Loop
from verifier.symbolic.trace import Operation

#: operations that are gone through
_MOST_EVENTS: Final = 3 * MOST_TURNS * MOST_TURNS
#: operations that are gone through where all numbers of rounds are plain, which is done once
_MOST_PLAIN: Final = 2 * MOST_TURNS * _MOST_EVENTS
#: rounds after which what is done in some of them only comes again, at most
LONGEST: Final = 4
#: rounds of a loop beside the one that is looked at: so few that none of them is an exception
FEW: Final = 2
#: so many rounds of a loop of which the number is plain
MOST_ROUNDS: Final = (LONGEST + FEW) * MOST_TURNS


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
        return max(FEW, -((self.loop.trips.const - FEW) // times))

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


def sizes(operations: Sequence[Operation], *, plain: bool = False) -> Iterator[Size]:
    """The loops of which the number of rounds is one term and a number; ``plain``: or a number, or
    a sum that grows with a size. Of those of plain numbers beside each other the first one stands
    for all: they are gone through together."""
    seen: set[tuple[object, ...]] = set()
    for op in operations:
        for depth, loop in enumerate(op.loops):
            term = loop.trips - loop.trips.const
            if plain and (several := _several(term)) is not None:
                term = several
            key = (*map(id, op.loops[:depth]), term.const if term.is_const else id(term))
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


class _Most(Struct, frozen=True):
    """How much is gone through: rounds of each loop, and operations."""

    rounds: int = MOST_ROUNDS
    events: int = _MOST_EVENTS


class Unrolled:
    """The operations of a trace, round by round of the loops inside of ``around``."""

    def __init__(self, operations: Sequence[Operation], around: Sequence[Loop]) -> None:
        depth = len(around)
        self.depth = depth
        self.operations = [op for op in operations if op.loops[:depth] == tuple(around)]
        self._moved: dict[tuple[object, ...], tuple[Touch, ...]] = {}
        inside = [set(map(id, path_of(op))) for op in self.operations if len(op.loops) > depth]
        #: conditions of all that is in a loop
        self.always = set.intersection(*inside) if inside else set()

    @property
    def given(self) -> tuple[Bool, ...]:
        found = {id(fact): fact for op in self.operations for fact in path_of(op)}
        return tuple(found[each] for each in found if each in self.always)

    def events(self, put: Rounded | None) -> list[Event] | None:
        """None: there are too many, or a loop has no plain number of rounds."""
        out = self._unroll(put, _Most())
        return out if len(out) <= _MOST_EVENTS else None

    def in_full(self, put: Rounded | None) -> list[Event] | None:
        """As :meth:`events`, of loops of plain numbers of rounds, which may be many."""
        if sum(map(_times, self.operations)) <= _MOST_PLAIN:
            most = _Most(_MOST_PLAIN, _MOST_PLAIN)
            out = self._unroll(put, most)
            return out if len(out) <= _MOST_PLAIN else None
        return None

    def _unroll(self, put: Rounded | None, most: _Most) -> list[Event]:
        out: list[Event] = []

        def count(loop: Loop, here: E.Substitution) -> int | None:
            trips = here.expr(loop.trips if put is None else put.put.expr(loop.trips))
            return trips.const if trips.is_const and trips.const <= most.rounds else None

        for turn in turns(self.operations, self.depth, {}, count):
            if len(out) > most.events:
                break
            indices = turn.indices
            mine = next(iter(indices.values()), None)
            at = None if mine is None else mine.const
            if not turn.counted:
                out += _any_rounds(turn.operations, turn.depth, indices, at, put)
                continue
            here = E.Substitution(indices)
            for op in turn.operations:
                self._event(op, indices, here, at, put, out)
        return out

    def _event(
        self,
        op: Operation,
        indices: Mapping[E.Sym, Expr],
        here: E.Substitution,
        at: int | None,
        put: Rounded | None,
        out: list[Event],
    ) -> None:
        sure = True
        for fact in path_of(op):
            holds = here.bool(fact) if put is None else put.holds(fact, here)
            if holds is E.FALSE:
                return
            sure = sure and (holds is E.TRUE or id(fact) in self.always)
        key = (id(op), *indices.values())
        if key not in self._moved:
            self._moved[key] = touches_at(op.touches, here)
        touches = self._moved[key]
        out.append(Event(op, touches if put is None else _rounded(touches, put), at, sure, here))


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
                yield Event(op, touches if put is None else _rounded(touches, put), at, False, here)


def _times(op: Operation) -> int:
    """How often an operation is done, as far as the numbers of rounds are plain."""
    return prod(loop.trips.const for loop in op.loops if loop.trips.is_const)


def touches_at(touches: Sequence[Touch], put: E.Substitution) -> tuple[Touch, ...]:
    out: list[Touch] = []
    for touch in touches:
        tensor = touch.tensor
        if isinstance(tensor, LocalTensor):
            moved: LocalTensor | SystemTensor = tensor.at(put)
        else:
            moved = tensor.at(put)
        out.append(replace(touch, tensor=moved))
    return tuple(out)


def _rounded(touches: Sequence[Touch], put: Rounded) -> tuple[Touch, ...]:
    """The tensors, where a minimum is a number if all rounds that are not the last have it."""
    found = touches_at(touches, put.put)
    terms = (t for each in found for t in (*each.tensor.shape, *each.tensor.strides))
    plain = put.plain(terms)
    return found if plain is None else touches_at(found, plain)


def without(term: Expr, bad: set[int], last: int) -> tuple[Bool, bool]:
    """That a size is none of these, nor goes on like them; and whether that is known exactly."""
    least = min(bad)
    for period in range(1, LONGEST + 1):
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
