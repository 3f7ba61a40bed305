"""Operations on tensors one by one (:mod:`rules.memory.steps`), with their views."""

from __future__ import annotations

from collections.abc import Hashable, Sequence, Set

from msgspec.structs import replace

from rules.memory.cases import boxes_apart, contains
from rules.memory.reading import regions
from rules.memory.steps import AS_THEY_ARE, Event, OffChip, Rounded, Step, said
from verifier.symbolic import expr as E
from verifier.symbolic.effects import Effect
from verifier.symbolic.expr import Expr
from verifier.symbolic.memory.index import Access, index, tensor
from verifier.symbolic.tensors import Axis, View
from verifier.symbolic.trace import Trace


class ViewSteps:
    """``stores``: the operations of which others than the kernel see something."""

    def __init__(self, trace: Trace, stores: Set[int] = frozenset()) -> None:
        self._stores = stores
        #: the tensors of which it is not known by numbers which ones are meant
        self._open: set[int] = set()
        #: the views in rounds, each of them one object; and how two of them lie to each other
        self._at: dict[tuple[int, ...], View] = {}
        self._met: dict[tuple[int, int], bool] = {}
        self._filled: dict[tuple[int, int], bool] = {}
        self._reads: dict[int, list[Access]] = {}
        for uses in index(trace).storages:
            for read in (*uses.reads, *uses.targets, *uses.sums):
                self._reads.setdefault(id(read.operation), []).append(read)
            for write in uses.writes:
                begun = write.operation.effect is Effect.FIRST_SETS  # it adds to what it has begun
                if begun or any(part.partial for part in regions(write)):
                    self._reads.setdefault(id(write.operation), []).append(write)

    def steps(self, events: Sequence[Event], rounded: Rounded = AS_THEY_ARE) -> list[Step[View]]:
        """Operations in turn, with the views that they come to then."""
        return [self._step(event, rounded) for event in events]

    def _step(self, event: Event, rounded: Rounded) -> Step[View]:
        op = event.operation
        reads = [
            self._in_round(read.view, event, rounded)
            for read in self._reads.get(id(op), ())
            if E.and_(*_held(read, event, rounded)) is not E.FALSE
        ]
        inside = [view for view in reads if view.storage.buffer.on_chip]
        outside = [view for view in reads if not view.storage.buffer.on_chip]
        writes = [self._in_round(view, event, rounded) for _, view in op.writes]
        for view in (*reads, *writes):
            if not all(term.is_const for term in tensor(view)):
                self._open.add(id(view.storage))
        return Step(
            operation=op,
            round=event.round,
            when=event.when,
            sure=event.sure,
            seen=id(op) in self._stores,
            reads=(*inside, *outside),
            writes=tuple(writes),
            loads=tuple(map(off_chip, outside)),
            off=len(outside),
            stores=tuple(off_chip(view) for view in writes if not view.storage.buffer.on_chip),
            adds=op.adds,
            said=said(op, event.here),
        )

    def _in_round(self, view: View, event: Event, rounded: Rounded) -> View:
        found = put_in(put_in(view, event.here), rounded.put)
        plain = rounded.plain((*found.coords, *found.frame, *found.shape))
        found = found if plain is None else put_in(found, plain)
        terms = (*found.instance, *found.frame, *found.shape, *found.coords, found.mask)
        return self._at.setdefault((id(view), *map(id, terms)), found)

    def kind(self, place: View) -> Hashable:
        """Places of different kinds surely have nothing in common."""
        which = id(place.storage)
        return which if which in self._open else (which, *tensor(place))

    def meet(self, one: View, other: View) -> bool:
        """Whether they may have an element in common."""
        key = (id(one), id(other))
        if key not in self._met:
            self._met[key] = one.storage is other.storage and _meet(one, other)
        return self._met[key]

    def share(self, one: View, other: View) -> bool:
        """Whether they surely have an element in common."""
        return self.fills(one, other) or self.fills(other, one)

    def fills(self, one: View, other: View) -> bool:
        """Whether the first one surely has all elements of the other one."""
        key = (id(one), id(other))
        if key not in self._filled:
            self._filled[key] = one.storage is other.storage and contains(one, other)
        return self._filled[key]

    def begin_alike(self, one: View, other: View) -> bool:
        """Whether their first elements are the same."""
        return one.frame == other.frame and _first(one) == _first(other)


def _meet(one: View, other: View) -> bool:
    """Whether views of one storage may have an element in common."""
    if any(E.ne(a, b) is E.TRUE for a, b in zip(tensor(one), tensor(other), strict=True)):
        return False
    if not (one.exact and other.exact) or one.frame != other.frame:
        return True
    if one.box is None or other.box is None:
        return True
    return not boxes_apart(one.box, other.box)


def _first(view: View) -> tuple[Expr, ...]:
    first = E.Substitution({axis.symbol: E.const(0) for axis in view.axes})
    return tuple(map(first.expr, view.coords))


def off_chip(view: View, role: str = "") -> OffChip:
    """Of elements that lie where it is not known, the place is one that nothing else has."""
    first, size = _first(view), view.dtype.itemsize
    if not view.exact or view.indirect or view.strides is not None:
        begin: Expr = E.fresh("place", 0, None, E.Origin.LOOP)
        return OffChip(view.storage, begin, begin + 1, (*first, *view.shape), role)
    last = E.Substitution({axis.symbol: axis.size - 1 for axis in view.axes})
    begin = _flat(first, view.frame) * size
    end = _flat(tuple(map(last.expr, view.coords)), view.frame) * size + size
    return OffChip(view.storage, begin, end, (*first, *view.shape), role)


def _flat(coords: Sequence[Expr], frame: Sequence[Expr]) -> Expr:
    """How many elements of a tensor come before one of them."""
    out: Expr = E.const(0)
    for coord, extent in zip(coords, frame, strict=True):
        out = out * extent + coord
    return out


def _held(read: Access, event: Event, rounded: Rounded) -> list[E.Bool]:
    return [rounded.put.bool(event.here.bool(fact)) for fact in read.given]


def put_in(view: View, put: E.Substitution) -> View:
    """A view where symbols have other values."""
    if put.is_empty:
        return view
    return replace(
        view,
        instance=tuple(map(put.expr, view.instance)),
        frame=tuple(map(put.expr, view.frame)),
        axes=tuple(Axis(axis.symbol, put.expr(axis.size)) for axis in view.axes),
        coords=tuple(map(put.expr, view.coords)),
        mask=put.bool(view.mask),
    )


__all__ = ["ViewSteps", "off_chip", "put_in"]
