"""Places that a call fills in turn, some of which nothing ever reads.

That a result is not read is no fault by itself: a loop may fetch ahead for an iteration that does
not come. It is one where a call fills several places in turn and what reads them never comes to one
of these, however long the loop goes on: what it finds there instead is what was put there before.

It is told where that shows: where a call that reads other places of them has come back to one that
it has read. Until then it may be on its way. One that reads in some iterations only, by a condition
other than from some on or up to some, may leave others out on purpose.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import lcm

from msgspec import Struct

from rules.tpu import flow, kit
from rules.tpu.flow import Use, Uses
from rules.tpu.kit import function, words
from verifier.hardware.chips import Chip
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.expr import Bool, Div, Expr
from verifier.symbolic.lanes import LocalTensor
from verifier.symbolic.memory.known import MOST_TURNS, Known
from verifier.symbolic.tensors import Loop
from verifier.symbolic.views.common import conjuncts


class Turn(Struct, frozen=True):
    """The loop that an address hangs on, and after how many iterations it comes again."""

    loop: Loop
    count: int


class _Place(Struct, frozen=True):
    """Where a use is in some iterations: in those with ``when``."""

    use: Use
    tensor: LocalTensor
    when: Bool


class Untaken:
    """The places of a trace that are filled and never read."""

    def __init__(self, chip: Chip, table: Uses, demands: Sequence[Bool]) -> None:
        self.chip = chip
        self.table = table
        self.demands = tuple(demands)
        self._reads = [
            kit.moved(read.tensor, flow.fresh(read, 0)[0]) if read.loops else read.tensor
            for read in table.reads
        ]
        self._read_at = {tensor.address for tensor in self._reads}

    def checks(self, made: Iterable[Use]) -> Iterator[Check]:
        """One per call that fills places in turn; ``made``: what may be lost."""
        groups: dict[object, list[Use]] = {}
        for write in made:
            groups.setdefault((write.span, write.touch.role), []).append(write)
        for group in groups.values():
            places = list(self._places(group))
            if len({place.tensor.address for place in places}) < 2:
                continue
            left = [place for place in places if not self._read(place)]
            taken = [place for place in places if place not in left]
            if left and taken:
                yield from self._told(left, taken)

    def _places(self, group: Sequence[Use]) -> Iterator[_Place]:
        for use in group:
            turn = turn_of(use)
            if turn is None:
                symbols = {loop.symbol for loop in use.loops}
                if symbols.isdisjoint(use.tensor.address.free()):
                    yield _Place(use, use.tensor, E.TRUE)
                continue
            for rest in range(turn.count):
                tensor = kit.moved(use.tensor, _in_turn(turn, rest))
                when = E.eq(E.mod(turn.loop.index, turn.count), rest)
                yield _Place(use, tensor, when)

    def _read(self, place: _Place) -> bool:
        """Whether any operation may read some of it, in whatever iteration."""
        if place.tensor.address in self._read_at:
            return True
        known = Known((*self.demands, *place.use.path, *place.use.within), place.use.loops)
        return any(not self._apart(known, place.tensor, other) for other in self._reads)

    def _apart(self, known: Known, one: LocalTensor, other: LocalTensor) -> bool:
        apart, ranges = kit.apart(self.chip, one, other)
        if apart is E.TRUE:
            return True
        return known.also(ranges, ()).decide_in_turn(apart) is True

    def _told(self, left: Sequence[_Place], taken: Sequence[_Place]) -> Iterator[Check]:
        """What is not read, as soon as what reads the others has come back to one of them."""
        found = list(self._readers(left[0].use, taken))
        several = [reader for reader in found if reader.count > 1]
        some = several or found[:1]
        if not some or not all(reader.again is not None for reader in some):
            return
        again = tuple(part for reader in some if reader.again for part in reader.again)
        by_use: dict[int, list[_Place]] = {}
        for place in left:
            by_use.setdefault(id(place.use), []).append(place)
        for places in by_use.values():
            yield _check(places, again, some[0].span)

    def _readers(self, write: Use, taken: Sequence[_Place]) -> Iterator[_Reader]:
        """The calls that read places of a call's."""
        groups: dict[tuple[Span, str], list[Use]] = {}
        for read in self.table.reads:
            if flow.shared(read.loops, write.loops) == len(write.loops):
                groups.setdefault((read.span, read.touch.role), []).append(read)
        known = Known((*self.demands, *write.path, *write.within), write.loops)
        turn = turn_of(write)
        held = {id(fact) for fact in write.path}
        for (span, _), group in groups.items():
            if not any(
                not self._apart(known, place.tensor, self._anywhere(read))
                for place in taken
                for read in group
            ):
                continue
            if turn is not None:
                (read, *others) = group
                if others or not scheduled(read, turn.loop, held):
                    yield _Reader(span, 2, None)
                else:
                    yield _comes_again(read, turn.loop)
            else:
                yield _come_again(group)

    def _anywhere(self, read: Use) -> LocalTensor:
        return self._reads[next(n for n, use in enumerate(self.table.reads) if use is read)]


class _Reader(Struct, frozen=True):
    """A call that reads ``count`` places, and when it has come back to one; None: it does not."""

    span: Span
    count: int
    again: tuple[Bool, ...] | None


def _comes_again(read: Use, loop: Loop) -> _Reader:
    """A call in the loop in which places are filled in turn."""
    turn = Turn(loop, 1) if loop.symbol not in read.tensor.address.free() else _turn(read, loop)
    if turn is None:
        return _Reader(read.span, 2, None)
    depth = read.loops.index(loop)
    facts: list[Bool] = []
    first = E.fresh(loop.name or "i", 0, loop.symbol.hi, E.Origin.LOOP)
    for index in (first, first + turn.count):
        inner, _ = flow.fresh(read, depth + 1)
        for fact in (*read.path, *read.within, E.ge(loop.index, 0)):
            facts.append(E.Substitution({loop.symbol: index}).bool(inner.bool(fact)))
    return _Reader(read.span, turn.count, tuple(f for f in facts if f is not E.TRUE))


def _come_again(group: Sequence[Use]) -> _Reader:
    """Calls of one place in the text, one by one."""
    seen: dict[Expr, Use] = {}
    again: tuple[Bool, ...] | None = None
    for read in group:
        before = seen.setdefault(read.tensor.address, read)
        if before is not read and again is None:
            again = (*before.path, *read.path)
    return _Reader(group[0].span, len(seen), again)


def turn_of(use: Use) -> Turn | None:
    """The loop in whose iterations a use has a few places in turn, if it hangs on no other."""
    free = set(use.tensor.address.free())
    loops = [loop for loop in use.loops if loop.symbol in free]
    return _turn(use, loops[0]) if len(loops) == 1 else None


def _turn(use: Use, loop: Loop) -> Turn | None:
    count = lcm(*divisors(use.tensor.address, loop.symbol))
    if not 2 <= count <= MOST_TURNS:
        return None
    turn = Turn(loop, count)
    for rest in range(count):
        put = _in_turn(turn, rest)
        if not set(put.expr(loop.index).free()).isdisjoint(put.expr(use.tensor.address).free()):
            return None
    return turn


def _in_turn(turn: Turn, rest: int) -> E.Substitution:
    symbol = turn.loop.symbol
    rounds = E.fresh(symbol.name, 0, None, symbol.origin)
    return E.Substitution({symbol: rounds * turn.count + rest})


def divisors(term: Expr | Bool, symbol: E.Sym) -> Iterator[int]:
    """The small numbers that something with a symbol is divided by."""
    if symbol not in term.free():
        return
    if isinstance(term, Bool):
        parts: Iterable[Expr | Bool] = term.args if term.expr is None else (term.expr,)
        for part in parts:
            yield from divisors(part, symbol)
        return
    for mono, _ in term.terms:
        for atom in mono:
            if isinstance(atom, Div) and atom.den.is_const and 2 <= atom.den.const <= MOST_TURNS:
                yield atom.den.const
            for child in atom.children():
                yield from divisors(child, symbol)


def scheduled(use: Use, loop: Loop, held: set[int]) -> bool:
    """Whether a use is in all iterations from some on, or up to some: its conditions say no more
    of the index, and nothing else that is not held."""
    for fact in (part for each in use.path for part in conjuncts(each)):
        if loop.symbol not in fact.free():
            if id(fact) not in held:
                return False
        elif fact.kind is not E.BoolKind.LE or fact.expr is None:
            return False
        else:
            slope = fact.expr.coefficient(loop.symbol)
            if loop.symbol in (fact.expr - loop.index * slope).free():
                return False
    return True


def _check(places: Sequence[_Place], again: tuple[Bool, ...], reader: Span) -> Check:
    write = places[0].use
    name, role = function(write.operation), words(write.touch.role)
    return Check(
        predicate=E.not_(E.or_(*(place.when for place in places))),
        span=write.span,
        text=f"something reads each of the places that `{name}` fills in turn",
        message=f"`{name}` fills places in turn, and nothing ever reads {role} from one of them",
        facts=("OKK-X07", "ADR-11"),
        given=(*write.within, *again),
        notes=(Note(reader, "this reads others of them, time and again"),),
        help=("take the same places in turn where they are filled and where they are read",),
        path=write.path,
        order=write.order,
    )
