"""Closed forms of whole lists that a loop appends to or stores into."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.python.alike import alike_segments
from verifier.symbolic.python.carried import Context, Form
from verifier.symbolic.python.heap import Heap, Item, Many, Segment
from verifier.symbolic.python.parts import reachable
from verifier.symbolic.python.renaming import Renaming
from verifier.symbolic.python.terms import join


@dataclass(frozen=True, slots=True)
class Append(Form):
    """A list to which each trip appends the same items, in terms of its index."""

    start: tuple[Segment, ...]
    items: tuple[object, ...]

    def at(self, loop: Context, index: Expr) -> object:
        position = loop.vm.loop_symbol(loop.loop.name)
        symbols = {loop.index: E.from_atom(position)}
        rename = Renaming(loop.vm.heap, symbols, own=loop.fresh)
        values = tuple(rename.value(v) for v in self.items)
        fresh = _made_anew(loop, self.items)
        return (*self.start, Many(index, position, values, fresh | _made_anew(loop, values)))

    def holds(self, loop: Context, now: object, after: Heap) -> bool:
        added = _behind(self.start, loop.loop.index, now)
        return (
            added is not None
            and len(added) == len(self.items)
            and all(
                isinstance(segment, Item) and loop.alike(value, after, segment.value)
                for value, segment in zip(self.items, added, strict=True)
            )
        )

    def revised(
        self, loop: Context, was: object, now: object, others: Iterable[Form]
    ) -> Form | None:
        """What is appended may be made of what else the loop carries, whose form is known now."""
        added = _behind(self.start, loop.loop.index, now) or ()
        items = tuple(segment.value for segment in added if isinstance(segment, Item))
        if len(items) == len(added) == len(self.items):
            return Append(self.start, items)
        return None


@dataclass(frozen=True, slots=True)
class Runs(Form):
    """A list to which each trip appends a run of the same length."""

    start: tuple[Segment, ...]
    run: Many

    def at(self, loop: Context, index: Expr) -> object:
        # element q is number q % length of the run of trip q // length
        run = self.run
        position = loop.vm.loop_symbol(loop.loop.name)
        place = E.from_atom(position)
        symbols = {loop.index: place // run.count, run.index: place % run.count}
        rename = Renaming(loop.vm.heap, symbols, own=loop.fresh)
        values = tuple(rename.value(v) for v in run.values)
        return (*self.start, Many(index * run.count, position, values, run.fresh))

    def holds(self, loop: Context, now: object, after: Heap) -> bool:
        added = _behind(self.start, loop.loop.index * self.run.count, now)
        return (
            added is not None
            and len(added) == 1
            and alike_segments(loop.vm.heap, self.run, after, added[0], before=loop.before)
        )


@dataclass(frozen=True, slots=True)
class Slots(Form):
    """A list of fixed length, each item what the trip before has left there."""

    start: tuple[Segment, ...]
    step: tuple[Segment, ...]

    def at(self, loop: Context, index: Expr) -> object:
        out: list[Segment] = []
        for was, now in zip(slots(self.start) or (), slots(self.step) or (), strict=True):
            if was is now:
                out.append(Item(was))
                continue
            before = loop.renamed(now, {loop.index: index - 1})
            out.append(Item(join(E.eq(index, 0), was, before)))
        return tuple(out)

    def holds(self, loop: Context, now: object, after: Heap) -> bool:
        left, expected = slots(now), slots(self.step)
        return (
            left is not None
            and expected is not None
            and len(left) == len(expected)
            and all(loop.alike(e, after, v) for e, v in zip(expected, left, strict=True))
        )


# ------------------------------------------------------------------------ segments


def slots(segments: object) -> tuple[object, ...] | None:
    """The items of a list whose length is known, or None."""
    if not isinstance(segments, tuple):
        return None
    out = []
    for segment in segments:
        if not isinstance(segment, Item):
            return None
        out.append(segment.value)
    return tuple(out)


def _behind(start: tuple[Segment, ...], count: Expr, now: object) -> tuple[Segment, ...] | None:
    """What a trip added to a list that held ``start`` and a run of ``count`` trips."""
    assert isinstance(now, tuple)
    run = now[len(start)] if len(now) > len(start) else None
    if now[: len(start)] != start or not isinstance(run, Many) or run.count is not count:
        return None
    return now[len(start) + 1 :]


def _made_anew(loop: Context, values: tuple[object, ...]) -> frozenset[int]:
    """The boxes that each trip makes and leaves behind in some values."""
    found = reachable(loop.vm.heap, values)
    heap = loop.vm.heap
    return frozenset(n for n in found if n in loop.fresh or _ghost(heap, n))


def _ghost(heap: Heap, number: int) -> bool:
    box = heap.find(number)
    return box is not None and box.ghost
