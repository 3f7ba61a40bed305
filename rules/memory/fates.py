"""What becomes of results in a sequence of operations that are done one by one.

Each operation takes what others have left in the places that it reads. A result is lost where
another operation fills its place, or all is over, and nothing that others than the kernel see is
made of it. What may happen, or may be read, is taken to be: of a result that is said to be lost it
is certain.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import chain, product
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from rules.memory.steps import Step
from verifier.symbolic import expr as E

PlaceT = TypeVar("PlaceT")
_PlaceT_contra = TypeVar("_PlaceT_contra", contravariant=True)


class Meets(Protocol[_PlaceT_contra]):
    """How places lie to each other."""

    def kind(self, place: _PlaceT_contra) -> Hashable:
        """Places of different kinds surely have nothing in common."""

    def meet(self, one: _PlaceT_contra, other: _PlaceT_contra) -> bool:
        """Whether they may have something in common."""

    def share(self, one: _PlaceT_contra, other: _PlaceT_contra) -> bool:
        """Whether they surely have something in common."""

    def fills(self, one: _PlaceT_contra, other: _PlaceT_contra) -> bool:
        """Whether the first one surely has all of the other one."""

    def begin_alike(self, one: _PlaceT_contra, other: _PlaceT_contra) -> bool:
        """Whether their first elements are the same."""


class _Held(Struct, Generic[PlaceT], eq=False):
    step: int
    place: PlaceT
    #: what has filled it in the parallel section at hand
    dying: int | None = None
    #: nothing has been written to a part of it since, but by what repeats it
    intact: bool = True
    #: what surely was written from its beginning on since
    torn: int = 0


class Mixture(Struct, frozen=True):
    """What a step reads by an operand, of one step and of ``over``, others that have surely written
    over the beginning of that before."""

    reader: int
    operand: int
    step: int
    over: int


class Fates(Generic[PlaceT]):
    """What becomes of the results of steps, which are named by their numbers.

    Sets of steps are the bits of numbers. ``outside``: the places that others may read than these,
    after them.
    """

    def __init__(
        self, steps: Sequence[Step[PlaceT]], places: Meets[PlaceT], outside: Sequence[PlaceT] = ()
    ) -> None:
        self.steps = steps
        self._places = places
        #: by kind of place, as they were left; and of each step in how many places
        self._held: dict[Hashable, list[_Held[PlaceT]]] = {}
        self._standing = [len(step.writes) for step in steps]
        self._section: int | None = None
        #: by step and place that it reads: whose results it may take there
        self.found: list[tuple[int, ...]] = []
        #: by step: whose results it may take, and those of which it surely takes something
        self.taken = [0] * len(steps)
        self.surely = [0] * len(steps)
        #: by step and place that it reads: who has left just that there; None: that is not known
        self.sources: list[tuple[int | None, ...]] = []
        #: what is read of results that were overwritten in part, or maybe whole
        self.mixtures: list[Mixture] = []
        #: whether all that may be taken surely is, and nothing has overwritten only a part of it
        self.is_clear = True
        #: by step: what fills the last of its places again
        self.filled: dict[int, int] = {}
        for number in range(len(steps)):
            self._step(number)
        #: by step: all that may be in what it makes, and what surely is
        self.behind = _all_behind(self.taken)
        self.made_of = _all_behind(self.surely)
        #: what is there in the end, and may be read outside
        self.left = self._left(outside)
        self.reached = self._reached()
        self.is_clear &= self.taken == self.surely

    def _step(self, number: int) -> None:
        step = self.steps[number]
        if step.section != self._section:
            self._held = {kind: _standing(held) for kind, held in self._held.items()}
            self._section = step.section
        self.sources.append(tuple(map(self._source, step.reads)))
        self._mix(number)
        self.found.append(tuple(self._read(number, read) for read in step.reads))
        for found in self.found[number]:
            self.taken[number] |= found
        if step.section is not None:
            for other in range(number):  # what is in no order with it may read it, too
                before = self.steps[other]
                if self._beside(other, number) and self.finds(before, step):
                    self.taken[other] |= 1 << number
        by_kind: dict[Hashable, list[PlaceT]] = {}
        for place in step.writes:
            by_kind.setdefault(self._places.kind(place), []).append(place)
        for kind, written in by_kind.items():
            self._write(number, kind, written)

    def _write(self, number: int, kind: Hashable, written: Sequence[PlaceT]) -> None:
        """It leaves its result in places of a kind, and may fill others there."""
        step, places = self.steps[number], self._places
        here = self._held.setdefault(kind, [])
        for held in here:
            if held.dying is not None or self._repeats(held, number):
                continue
            held.intact &= not any(places.meet(place, held.place) for place in written)
            if not held.intact:
                held.torn |= self._over_the_beginning(number, held, written)
            if step.sure and any(places.fills(place, held.place) for place in written):
                held.dying = number
                self._standing[held.step] -= 1
                if not self._standing[held.step]:
                    self.filled[held.step] = number
        kept = _standing(here) if step.section is None else here
        self._held[kind] = [*kept, *(_Held(number, place) for place in written)]

    def _read(self, number: int, read: PlaceT) -> int:
        """It takes the last result that has all of what it reads, and of later ones; and of those
        that this one only repeats."""
        places, sure, whole = self._places, self.steps[number].sure, None
        found: list[_Held[PlaceT]] = []
        taken = 0
        for held in reversed(self._held.get(places.kind(read), ())):
            if held.dying is not None and not self._beside(held.dying, number):
                continue
            again = whole is not None and self._repeats(held, whole)
            if not (again or whole is None) or not places.meet(held.place, read):
                continue
            mixed = any(places.meet(each.place, held.place) for each in found)
            self.is_clear &= again or not mixed
            found.append(held)
            taken |= 1 << held.step
            before = self.steps[held.step]
            if before.sure and sure and places.share(held.place, read):
                self.surely[number] |= 1 << held.step
            filled = before.sure and held.dying is None and not self._beside(held.step, number)
            if whole is None and filled and places.fills(held.place, read):
                whole = held.step
        return taken

    def _over_the_beginning(
        self, number: int, held: _Held[PlaceT], written: Sequence[PlaceT]
    ) -> int:
        """The step as a set, if it surely writes the first element of what is held."""
        places, sure = self._places, self.steps[number].sure and self.steps[held.step].sure
        begins = sure and any(places.begin_alike(place, held.place) for place in written)
        return 1 << number if begins else 0

    def _mix(self, number: int) -> None:
        for operand, read in enumerate(self.steps[number].reads):
            for held in self._held.get(self._places.kind(read), ()):
                torn = held.torn if held.dying is None else 0
                if torn and self._places.fills(read, held.place):
                    self.mixtures.append(Mixture(number, operand, held.step, torn))

    def _source(self, read: PlaceT) -> int | None:
        for held in reversed(self._held.get(self._places.kind(read), ())):
            if held.dying is None and self._places.meet(held.place, read):
                whole = held.intact and self._places.fills(held.place, read)
                return held.step if whole and self._places.begin_alike(held.place, read) else None
        return None

    def _repeats(self, held: _Held[PlaceT], other: int) -> bool:
        """Whether a step does once more what another one has done, of the same data, and what that
        has left stands."""
        a, b = self.steps[held.step], self.steps[other]
        same = a.operation.name == b.operation.name and self.taken[held.step] == self.taken[other]
        if not same or not held.intact:
            return False
        if (a.said, a.part, a.stored) != (b.said, b.part, b.stored):
            return False
        return self._fill(a.reads, b.reads) and self._fill(a.writes, b.writes)

    def _fill(self, one: Sequence[PlaceT], other: Sequence[PlaceT]) -> bool:
        """Whether places surely have all of others, one by one."""
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(self._places.fills(a, b) for a, b in pairs)

    @property
    def is_raced(self) -> bool:
        """Whether what is where hangs on the order in a parallel section."""
        pairs = (
            (number, other)
            for number, step in enumerate(self.steps)
            for other in range(number if step.section is not None else 0)
        )
        return any(self._beside(*pair) and self._touch(*pair) for pair in pairs)

    def _touch(self, one: int, other: int) -> bool:
        """Whether one of two steps may write where the other one reads or writes."""
        a, b = self.steps[one], self.steps[other]
        meet = self._places.meet
        both = any(meet(x, y) for x, y in product(a.writes, b.writes))
        return both or self.finds(a, b) or self.finds(b, a)

    def comes_to(self, places: Sequence[PlaceT], place: PlaceT) -> bool:
        """Whether one of some places begins where another one does."""
        return any(
            self._places.meet(each, place) and self._places.begin_alike(each, place)
            for each in places
        )

    def _beside(self, one: int, other: int) -> bool:
        """Whether nothing orders two steps."""
        a, b = self.steps[one], self.steps[other]
        return a.section is not None and a.section == b.section and a.engine is not b.engine

    def finds(self, one: Step[PlaceT], other: Step[PlaceT]) -> bool:
        """Whether a step may read a place that another one writes."""
        return any(self._places.meet(w, r) for w in other.writes for r in one.reads)

    def bring_the_same(self, one: Step[PlaceT], other: Step[PlaceT]) -> bool:
        """Whether two loads may take some part of a tensor off chip in common."""
        regions = [(a, b) for a, b in product(one.loads, other.loads) if a.storage is b.storage]
        if not any(
            E.or_(E.le(a.end, b.begin), E.le(b.end, a.begin)) is not E.TRUE for a, b in regions
        ):
            return False
        if not (one.off and other.off):
            return True
        parts = product(one.reads[-one.off :], other.reads[-other.off :])
        return any(self._places.meet(*pair) for pair in parts)

    def _left(self, outside: Sequence[PlaceT]) -> int:
        out = 0
        for held in chain.from_iterable(self._held.values()):
            if held.dying is None and any(self._places.meet(held.place, read) for read in outside):
                out |= 1 << held.step
        return out

    def _reached(self) -> int:
        """What others than the kernel see is made of these, in the end: not what was stored over
        again."""
        out = 0
        for number in range(len(self.steps)):
            if self.is_seen(number):
                out |= self.behind[number] | 1 << number
        return out

    def is_seen(self, number: int) -> bool:
        """Whether others than the kernel see something that a step itself has made, in the end."""
        step = self.steps[number]
        stored_again = step.stored and number in self.filled
        return (step.seen and not stored_again) or bool(self.left >> number & 1)

    def is_filled_by(self, place: PlaceT, step: Step[PlaceT]) -> bool:
        """Whether a step surely writes all of a place."""
        return any(self._places.fills(written, place) for written in step.writes)

    def in_one_place(self, one: int, other: int) -> bool:
        """Whether two steps surely write to some place in common."""
        pairs = product(self.steps[one].writes, self.steps[other].writes)
        return any(self._places.share(a, b) for a, b in pairs)

    def in_the_same_place(self, one: int, other: int) -> bool:
        """Whether all that two steps write lies where that of the other one does."""
        a, b = self.steps[one], self.steps[other]
        both = self._fill(a.writes, b.writes) and self._fill(b.writes, a.writes)
        return both and a.stored == b.stored

    def is_lost(self, number: int) -> bool:
        return not self.reached >> number & 1


def _standing(held: Sequence[_Held[PlaceT]]) -> list[_Held[PlaceT]]:
    """What nothing has filled."""
    return [each for each in held if each.dying is None]


def _all_behind(taken: Sequence[int]) -> list[int]:
    """By step: what it takes, what that has taken, and so on."""
    found, before = list(taken), [-1]
    while found != before:  # (a step takes what comes later in a parallel section alone)
        before = list(found)
        for number, directly in enumerate(taken):
            for other in bits(directly):
                found[number] |= found[other]
    return found


def bits(numbers: int) -> Iterator[int]:
    while numbers:
        last = numbers & -numbers
        yield last.bit_length() - 1
        numbers ^= last


__all__ = ["Fates", "Meets", "Mixture", "bits"]
