"""What a loop carries from trip to trip: the places, and what a closed form of one says.

A :class:`Form` says what a place holds when trip ``i`` starts (``at``), whether a trip that started
so ends as the next one starts (``holds``), and what is there after the loop (``after``). The forms
are in ``forms.py`` and, of whole lists, in ``listforms.py``; where there is none, ``widening.py``
says what may be there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr, Sym
from verifier.symbolic.python.alike import alike
from verifier.symbolic.python.heap import (
    UNBOUND,
    Box,
    DictBox,
    Heap,
    ListBox,
    ObjectBox,
    StateBox,
)
from verifier.symbolic.python.parts import entries
from verifier.symbolic.python.renaming import Renaming
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import Loop

#: the key of the place that is all of a list
WHOLE: Final = object()
#: the key of the place that is whether the order of a dictionary's entries is not followed
ORDER: Final = object()
#: the key of the place that is what an object is besides its entries
NATURE: Final = object()


class Place(Struct, frozen=True):
    """Where a value is kept: an entry of a box by its key, or a whole list."""

    box: int
    key: object


def read(heap: Heap, place: Place) -> object:
    """What a place holds; the segments of a list."""
    box = heap.get(place.box)
    if isinstance(box, ListBox):
        return box.segments
    if place.key is NATURE:
        return nature(box)
    if place.key is ORDER:
        return isinstance(box, DictBox) and box.shuffled
    return entries(box).get(place.key, UNBOUND)


def put(heap: Heap, place: Place, value: object) -> None:
    """Make a place hold a value."""
    box = heap.write(place.box)
    if isinstance(box, ListBox):
        assert isinstance(value, tuple)
        box.segments = value
    elif place.key is ORDER:
        assert isinstance(box, DictBox)
        box.shuffled = True
    elif place.key is not NATURE:  # that stays, and nobody relies on it
        entries(box)[place.key] = value


def nature(box: Box) -> tuple[object, ...]:
    """What an object is besides its entries: its class, the built-in value inside it."""
    if isinstance(box, ObjectBox):
        return (box.cls, box.payload)
    return (box.kind,) if isinstance(box, StateBox) else ()


def reordered(old: Box, new: Box) -> bool:
    """Whether the entries of a dictionary have come into another order, or into none."""
    if not isinstance(old, DictBox) or not isinstance(new, DictBox):
        return False
    if old.shuffled:
        return False
    both = old.items.keys() & new.items.keys()
    kept = ([key for key in box.items if key in both] for box in (old, new))
    return new.shuffled or next(kept) != next(kept)


class Context(Struct):
    """The loop that forms are about.

    ``fresh`` are the boxes that one trip makes, ``before`` those that were there before the loop.
    """

    vm: VM
    loop: Loop
    fresh: frozenset[int] = frozenset()
    before: Heap | None = None

    @property
    def index(self) -> Sym:
        return self.loop.symbol

    @property
    def trips(self) -> Expr:
        return E.maximum(self.loop.trips, 0)

    def renamed(self, value: object, symbols: dict[Sym, Expr]) -> object:
        return Renaming(self.vm.heap, symbols, self.fresh, own=self.fresh).value(value)

    def alike(self, value: object, after: Heap, now: object) -> bool:
        """Whether what a trip was to leave is what it has left, for who goes on from there."""
        return alike(self.vm.heap, value, after, now, before=self.before)

    def last(self, value: object) -> object:
        """What the last trip leaves."""
        return self.renamed(value, {self.index: self.loop.trips - 1})


class Form(ABC):
    """What a place holds, by trip."""

    #: whether the value is exactly known; False: only what it may be is
    exact: bool = True
    #: whether next to nothing is known of it
    lost: bool = False

    @abstractmethod
    def at(self, loop: Context, index: Expr) -> object:
        """What the place holds when trip ``index`` starts."""

    @abstractmethod
    def holds(self, loop: Context, now: object, after: Heap) -> bool:
        """Whether ``now``, at the end of a trip that started so, is what the next starts with."""

    def after(self, loop: Context) -> object:
        """What the place holds after the loop."""
        return self.at(loop, loop.trips)

    def revised(
        self, loop: Context, was: object, now: object, others: Iterable[Form]
    ) -> Form | None:
        """Another form, after a trip from this one has ended in ``now``; None: none is known."""
        return None
