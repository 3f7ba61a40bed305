"""What becomes of results in a sequence of operations that are done one by one.

Each operation takes what others have left in the places that it reads. A result is lost where
another operation fills its place, or all is over, and nothing that others than the kernel see is
made of it. What may happen, or may be read, is taken to be: of a result that is said to be lost it
is certain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from verifier.hardware.engines import Engine
from verifier.symbolic import expr as E
from verifier.symbolic.trace import Operation

PlaceT = TypeVar("PlaceT")
_PlaceT_contra = TypeVar("_PlaceT_contra", contravariant=True)


class Step(Struct, Generic[PlaceT], frozen=True, eq=False):
    """An operation that is done once.

    ``round``: of the loop that is looked at; None: it is not in it. ``sure``: it does happen.
    ``seen``: others than the kernel see something of it. ``part``: what it loads; empty: nothing.
    ``section``: the parallel section that it is in, whose engines are in no order.
    """

    operation: Operation
    round: int | None
    sure: bool
    seen: bool
    reads: tuple[PlaceT, ...]
    writes: tuple[PlaceT, ...]
    part: tuple[E.Expr, ...] = ()
    section: int | None = None

    @property
    def engine(self) -> Engine | None:
        return self.operation.engine


class Meets(Protocol[_PlaceT_contra]):
    """How places lie to each other."""

    def meet(self, one: _PlaceT_contra, other: _PlaceT_contra) -> bool:
        """Whether they may have something in common."""

    def share(self, one: _PlaceT_contra, other: _PlaceT_contra) -> bool:
        """Whether they surely have something in common."""

    def fills(self, one: _PlaceT_contra, other: _PlaceT_contra) -> bool:
        """Whether the first one surely has all of the other one."""


class _Held(Struct, Generic[PlaceT], eq=False):
    step: int
    place: PlaceT
    #: what has filled it in the parallel section at hand
    dying: int | None = None


class Fates(Generic[PlaceT]):
    """What becomes of the results of steps, which are named by their numbers.

    Sets of steps are the bits of numbers.
    """

    def __init__(self, steps: Sequence[Step[PlaceT]], places: Meets[PlaceT]) -> None:
        self.steps = steps
        self._places = places
        self._held: list[_Held[PlaceT]] = []
        #: by step: whose results it may take, and those of which it surely takes something
        self.taken = [0] * len(steps)
        self.surely = [0] * len(steps)
        #: by step: what fills the last of its places again
        self.filled: dict[int, int] = {}
        for number in range(len(steps)):
            self._step(number)
        #: by step: all that may be in what it makes, and what surely is
        self.behind = _all_behind(self.taken)
        self.made_of = _all_behind(self.surely)
        self.reached = self._reached()

    def _step(self, number: int) -> None:
        step = self.steps[number]
        self._held = [held for held in self._held if not self._is_over(held, step)]
        for held in self._held:
            if held.dying is None or self._beside(held.dying, number):
                self._take(number, held)
        if step.section is not None:
            for other in range(number):  # what is in no order with it may read it, too
                before = self.steps[other]
                if self._beside(other, number) and self._finds(before, step):
                    self.taken[other] |= 1 << number
        for held in self._held if step.sure else ():
            if held.dying is None and any(self._places.fills(w, held.place) for w in step.writes):
                held.dying = number
        gone = [held for held in self._held if held.dying is not None]
        if step.section is None:
            self._held = [held for held in self._held if held.dying is None]
        left = {held.step for held in self._held if held.dying is None}
        for held in gone:
            if held.step not in left and held.dying is not None:
                self.filled.setdefault(held.step, held.dying)
        self._held += [_Held(number, place) for place in step.writes]

    def _take(self, number: int, held: _Held[PlaceT]) -> None:
        places, step = self._places, self.steps[number]
        found = [read for read in step.reads if places.meet(held.place, read)]
        if found:
            self.taken[number] |= 1 << held.step
        sure = step.sure and self.steps[held.step].sure
        if sure and any(places.share(held.place, read) for read in found):
            self.surely[number] |= 1 << held.step

    def _is_over(self, held: _Held[PlaceT], step: Step[PlaceT]) -> bool:
        return held.dying is not None and self.steps[held.dying].section != step.section

    def _beside(self, one: int, other: int) -> bool:
        """Whether nothing orders two steps."""
        a, b = self.steps[one], self.steps[other]
        return a.section is not None and a.section == b.section and a.engine is not b.engine

    def _finds(self, one: Step[PlaceT], other: Step[PlaceT]) -> bool:
        return any(self._places.meet(w, r) for w in other.writes for r in one.reads)

    def _reached(self) -> int:
        """What others than the kernel see is made of these."""
        out = 0
        for number, step in enumerate(self.steps):
            if step.seen:
                out |= self.behind[number] | 1 << number
        return out

    def in_one_place(self, one: int, other: int) -> bool:
        """Whether two steps surely write to some place in common."""
        pairs = product(self.steps[one].writes, self.steps[other].writes)
        return any(self._places.share(a, b) for a, b in pairs)

    @property
    def is_clear(self) -> bool:
        """Whether all that may be taken surely is."""
        return self.taken == self.surely

    def is_lost(self, number: int) -> bool:
        return not self.reached >> number & 1


def _all_behind(taken: Sequence[int]) -> list[int]:
    """By step: what it takes, what that has taken, and so on."""
    found, before = list(taken), [-1]
    while found != before:
        before = list(found)
        for number, directly in enumerate(before):
            for other in bits(directly):
                found[number] |= found[other]
    return found


def bits(numbers: int) -> Iterator[int]:
    number = 0
    while numbers:
        if numbers & 1:
            yield number
        numbers >>= 1
        number += 1


__all__ = ["Fates", "Meets", "Step", "bits"]
