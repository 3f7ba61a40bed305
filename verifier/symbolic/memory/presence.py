"""Under which conditions a tensor holds something at one point of program order.

It does so between two touches: one at the point or before it, one at the point or after it. A touch
comes if its branch is taken and the loops around it run; in a loop that the point is in, too, it
may come in an earlier or a later trip.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.tensors import Loop
from verifier.symbolic.views.common import conjuncts


class Turn(Struct, frozen=True):
    """A loop around a touch that does not make the tensor, with its place in program order.

    ``written``: it writes there, so that earlier trips leave something to later ones.
    """

    loop: Loop
    first: int
    last: int
    written: bool

    def contains(self, point: int) -> bool:
        return self.first <= point <= self.last


class Touch(Struct, frozen=True):
    """A read or a write. ``path``: when its branch is taken; ``turns``: outermost first.

    ``writes``: it leaves something there; ``reads``: it takes what an earlier write left;
    ``renews``: it may do without that, of all there is if it is ``whole``. ``elsewhere``: it comes
    before or behind the iteration that is spoken of, and ``order`` says no more than that.
    """

    order: int
    path: Bool
    turns: tuple[Turn, ...] = ()
    writes: bool = False
    reads: bool = False
    renews: bool = False
    whole: bool = False
    elsewhere: bool = False

    def seen_from(self, point: int) -> tuple[int, ...]:
        """Where a point lies, seen from it: points of one place are alike to :func:`held`."""
        side = (self.order > point) - (self.order < point)
        return side, *(n for n, turn in enumerate(self.turns) if turn.contains(point))

    def comes_with(self, other: Touch) -> bool:
        """Whether it comes, too, whenever another one does, as far as their conditions tell."""
        around = len(self.turns)
        if [turn.loop for turn in other.turns[:around]] != [turn.loop for turn in self.turns]:
            return False
        return self.path is E.TRUE or set(conjuncts(self.path)) <= set(conjuncts(other.path))


def held(touches: Sequence[Touch], point: int, *, again: bool = False) -> Bool:
    """When a tensor holds something at a point, in the trip that the indices of the loops name.

    Symbols in it that stand for other trips may be chosen. ``again``: it is known that loops have
    more trips.
    """
    earlier = E.or_(*(c for touch in touches for c in _comes(touch, point, -1, again)))
    later = E.or_(*(c for touch in touches for c in _comes(touch, point, 1, again)))
    return E.and_(earlier, later)


def needed(touches: Sequence[Touch], point: int, *, again: bool = False) -> Bool:
    """When it is certain that a tensor holds something at a point that is read later.

    As :func:`held`, but from a write to a read, with nothing between them that may write it anew.
    """
    written = (touch for touch in touches if touch.writes)
    earlier = E.or_(*(c for touch in written for c in _comes(touch, point, -1, again)))
    later: list[Bool] = []
    for touch in touches:
        if not touch.reads:
            continue
        shared = [turn for turn in touch.turns if turn.contains(point)]
        deeper = touch.turns[len(shared) :]
        if touch.order >= point and not _renewed(touches, point, touch):
            later.append(in_any_trip(touch.path, deeper))
        for k, turn in enumerate(shared):
            if not _renewed_by(touches, point, touch, turn):
                rest = (*shared[k + 1 :], *deeper)
                later.append(in_any_trip(touch.path, rest, turn, 1, again))
    return E.and_(earlier, E.or_(*later))


def _renewed(touches: Sequence[Touch], point: int, read: Touch) -> bool:
    """Whether a write may come between a point and a read behind it, in one trip of the loops
    around both. What nobody has read yet is still being written part by part."""
    taken = any(touch.reads and touch.order < point for touch in touches)
    around = {id(turn.loop) for turn in read.turns}
    return any(
        touch.renews
        and (touch.whole or taken)
        and (
            point < touch.order < read.order
            or any(turn.contains(point) and id(turn.loop) not in around for turn in touch.turns)
        )
        for touch in touches
    )


def _renewed_by(touches: Sequence[Touch], point: int, read: Touch, turn: Turn) -> bool:
    """Whether a write may come between a point and a read in a later trip of a loop around both."""
    return any(
        touch.renews
        and (touch.order > point or touch.order < read.order)
        and any(own.loop is turn.loop for own in touch.turns)
        for touch in touches
    )


def _comes(touch: Touch, point: int, side: int, again: bool) -> Iterator[Bool]:
    """The ways in which a touch comes before a point (``side`` -1) or after it."""
    shared = [turn for turn in touch.turns if turn.contains(point)]
    deeper = touch.turns[len(shared) :]
    if (touch.order - point) * side >= 0:
        yield in_any_trip(touch.path, deeper)
    for k, turn in enumerate(shared):
        if side > 0 or turn.written:
            yield in_any_trip(touch.path, (*shared[k + 1 :], *deeper), turn, side, again)


def in_any_trip(
    path: Bool,
    turns: Sequence[Turn],
    other: Turn | None = None,
    side: int = 0,
    again: bool = False,
) -> Bool:
    """That a branch is taken in some trip of loops; ``other``: around them, in a trip on that side
    of the one that its index names."""
    put: dict[E.Sym, Expr] = {}
    facts: list[Bool] = []
    around = (other, *turns) if other is not None else tuple(turns)
    named = set(path.free()).union(*(turn.loop.trips.free() for turn in around))
    for turn in around:
        loop = turn.loop
        trips = E.Substitution(put).expr(loop.trips)
        if loop.symbol not in named:
            if turn is not other:
                facts.append(E.ge(trips, 1))
            elif not again:
                facts.append(E.lt(loop.index + 1, trips) if side > 0 else E.ge(loop.index, 1))
            continue
        trip = E.fresh(loop.name or "i", 0, loop.symbol.hi, E.Origin.POINT)
        if turn is other:
            facts.append(E.gt(trip, loop.index) if side > 0 else E.lt(trip, loop.index))
        facts.append(E.lt(trip, trips))
        put[loop.symbol] = trip
    return E.and_(E.Substitution(put).bool(path), *facts)
