"""The closed forms of what a loop carries from trip to trip, and which one fits.

A form (:mod:`.carried`) is proposed by looking at what one trip changed and confirmed by running
another from it, so a form that holds stands for all trips by induction. To add a form: write the
class, enter it in :data:`PROPOSALS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.lanes import SystemAddress
from verifier.symbolic.python import draining
from verifier.symbolic.python.carried import NATURE, ORDER, WHOLE, Context, Form, Place
from verifier.symbolic.python.heap import UNBOUND, Heap, Item, Many
from verifier.symbolic.python.listforms import Append, Runs, Slots, slots
from verifier.symbolic.python.terms import join, same
from verifier.symbolic.values import Guarded, Ref

#: a cycle has so many values at most
LONGEST: Final = 16


@dataclass(frozen=True, slots=True)
class Linear(Form):
    """A number or an address that grows by the same amount in each trip."""

    start: object
    step: Expr

    def at(self, loop: Context, index: Expr) -> object:
        return advanced(self.start, self.step * index)

    def holds(self, loop: Context, now: object, after: Heap) -> bool:
        return same(now, self.at(loop, loop.loop.index + 1))

    def revised(
        self, loop: Context, was: object, now: object, others: Iterable[Form]
    ) -> Form | None:
        growth = difference(self.at(loop, loop.loop.index), now)
        if growth is not None:
            rests = [form.rest for form in others if isinstance(form, (Rest, Cursor))]
            share = draining.share_of(growth, rests, loop.index)
            if share is not None:
                return Share(was, share)
        held = self.at(loop, loop.loop.index)
        return (
            self._cursor(loop, now)
            or scaled(self.start, held, now)
            or cycle(loop, self, was, now)
            or Last(was, now)
        )

    def _cursor(self, loop: Context, now: object) -> Form | None:
        """What does not grow by as much each time, but up to an end."""
        held = self.at(loop, loop.loop.index)
        if not all(isinstance(value, Expr) for value in (self.start, held, now)):
            return None
        assert isinstance(self.start, Expr) and isinstance(held, Expr) and isinstance(now, Expr)
        rest = draining.cursor_of(self.start, held, now, loop.index)
        return Cursor(self.start, rest) if rest is not None and _drains(loop, rest) else None


@dataclass(frozen=True, slots=True)
class Rest(Form):
    """A number that pieces are taken from until nothing is left (:mod:`.draining`)."""

    start: Expr
    rest: draining.Rest

    def at(self, loop: Context, index: Expr) -> object:
        return self.rest.at(index)

    def holds(self, loop: Context, now: object, after: Heap) -> bool:
        return now is self.rest.after(loop.loop.index)

    def revised(
        self, loop: Context, was: object, now: object, others: Iterable[Form]
    ) -> Form | None:
        growth = difference(self.at(loop, loop.loop.index), now)
        if growth is not None and loop.index not in growth.free():
            return Linear(was, growth)
        return Last(was, now)


@dataclass(frozen=True, slots=True)
class Cursor(Form):
    """A number that moves on to an end, by pieces of what is left before it."""

    start: Expr
    rest: draining.Rest

    @property
    def end(self) -> Expr:
        return self.start + self.rest.start

    def at(self, loop: Context, index: Expr) -> object:
        return self.end - self.rest.at(index)

    def holds(self, loop: Context, now: object, after: Heap) -> bool:
        index = loop.loop.index
        further = self.end - self.rest.at(index) + self.rest.size
        return now is self.end - self.rest.after(index) or now in (
            E.minimum(further, self.end),
            E.minimum(self.end, further),
        )

    def revised(
        self, loop: Context, was: object, now: object, others: Iterable[Form]
    ) -> Form | None:
        return Last(was, now)


@dataclass(frozen=True, slots=True)
class Scaled(Form):
    """A number that is multiplied by ``factor`` in each trip, or ``divided`` by it, rounded down
    or ``up``: what is divided again and again so is divided once by the product.
    """

    start: Expr
    factor: int
    divided: bool = False
    up: bool = False

    def at(self, loop: Context, index: Expr) -> object:
        return self._by(self.start, E.power(self.factor, index))

    def holds(self, loop: Context, now: object, after: Heap) -> bool:
        held = self.at(loop, loop.loop.index)
        return isinstance(held, Expr) and now is self._by(held, E.const(self.factor))

    def _by(self, number: Expr, factor: Expr) -> Expr:
        if not self.divided:
            return number * factor
        return E.ceildiv(number, factor) if self.up else number // factor

    def revised(
        self, loop: Context, was: object, now: object, others: Iterable[Form]
    ) -> Form | None:
        return Last(was, now)


@dataclass(frozen=True, slots=True)
class Share(Form):
    """What grows by a multiple of the pieces that are taken from a rest."""

    start: object
    share: draining.Share

    def at(self, loop: Context, index: Expr) -> object:
        return advanced(self.start, self.share.factor * self.share.rest.taken(index))

    def holds(self, loop: Context, now: object, after: Heap) -> bool:
        index = loop.loop.index
        piece = self.share.factor * self.share.rest.piece(index)
        return same(now, advanced(self.at(loop, index), piece))

    def revised(
        self, loop: Context, was: object, now: object, others: Iterable[Form]
    ) -> Form | None:
        return Last(was, now)


@dataclass(frozen=True, slots=True)
class Last(Form):
    """What the trip before has left; ``start`` before the first one."""

    start: object
    step: object

    def at(self, loop: Context, index: Expr) -> object:
        before = loop.renamed(self.step, {loop.index: index - 1})
        if self.start is UNBOUND:
            return join(E.ge(index, 1), before, UNBOUND)
        return join(E.eq(index, 0), self.start, before)

    def holds(self, loop: Context, now: object, after: Heap) -> bool:
        return loop.alike(self.step, after, now)

    def revised(
        self, loop: Context, was: object, now: object, others: Iterable[Form]
    ) -> Form | None:
        once = Once(self.start, loop.renamed(self.step, {loop.index: E.const(0)}))
        before = loop.renamed(self.step, {loop.index: loop.loop.index - 1})
        if once.stays(loop, now, loop.vm.heap, before):
            return once
        # what it is made of may have got a form of its own since
        return cycle(loop, self, was, now) or Last(was, now)

    def after(self, loop: Context) -> object:
        final = loop.last(self.step)
        some = E.gt(loop.loop.trips, 0)
        return final if loop.vm.decide(some) is True else join(some, final, self.start)


@dataclass(frozen=True, slots=True)
class Once(Form):
    """What the first trip sets and all others keep, as in ``if held is None: held = tile``."""

    start: object
    first: object

    def at(self, loop: Context, index: Expr) -> object:
        return join(E.eq(index, 0), self.start, self.first)

    def holds(self, loop: Context, now: object, after: Heap) -> bool:
        return self.stays(loop, now, after, self.first)

    def stays(self, loop: Context, now: object, after: Heap, kept: object) -> bool:
        """Whether ``now`` is in the first trip what that sets, and ``kept`` in all others."""
        if not isinstance(now, Guarded):
            return loop.alike(self.first, after, now) and loop.alike(kept, after, now)
        first = E.eq(loop.loop.index, 0)
        for guard, value in now.cases:
            if E.and_(guard, first) is not E.FALSE:
                initial = loop.renamed(value, {loop.index: E.const(0)})
                if not loop.alike(self.first, after, initial):
                    return False
            if E.and_(guard, E.not_(first)) is not E.FALSE and not loop.alike(kept, after, value):
                return False
        return True


@dataclass(frozen=True, slots=True)
class Cycle(Form):
    """What comes round after a few trips, as in ``slot = (slot + 1) % 3``."""

    values: tuple[Expr | bool, ...]

    def at(self, loop: Context, index: Expr) -> object:
        steps = {difference(a, b) for a, b in pairwise(self.values)}
        step = steps.pop() if len(steps) == 1 else None
        if step is not None:
            return advanced(self.values[0], step * (index % len(self.values)))
        return _turned(self.values, index)

    def holds(self, loop: Context, now: object, after: Heap) -> bool:
        rounds, length = E.fresh("rounds", 0), len(self.values)
        return all(
            constant(loop.renamed(now, {loop.index: rounds * length + k}))
            is self.values[(k + 1) % length]
            for k in range(length)
        )


@dataclass(frozen=True, slots=True)
class Turning(Form):
    """A number below ``length`` that goes on by ``step`` and around, whatever it starts with, as in
    ``slot = (slot + 1) % 3`` and ``turn = 1 - turn`` of a loop within another one."""

    start: Expr
    step: Expr
    length: int

    def at(self, loop: Context, index: Expr) -> object:
        return (self.start + self.step * index) % self.length

    def holds(self, loop: Context, now: object, after: Heap) -> bool:
        if same(now, self.at(loop, loop.loop.index + 1)):
            return True
        held = self.at(loop, loop.loop.index)
        flips = self.length == 2 and self.step is E.const(1)
        return flips and isinstance(held, Expr) and now is 1 - held

    def revised(
        self, loop: Context, was: object, now: object, others: Iterable[Form]
    ) -> Form | None:
        growth = difference(self.at(loop, loop.loop.index), now)
        if growth is not None and loop.index not in growth.free():
            return Linear(was, growth)
        return Last(was, now)


@dataclass(frozen=True, slots=True)
class Rotation(Form):
    """Values that a few places pass around, as in ``front, back = back, front``."""

    values: tuple[object, ...]

    def at(self, loop: Context, index: Expr) -> object:
        return _turned(self.values, index)

    def holds(self, loop: Context, now: object, after: Heap) -> bool:
        following = (*self.values[1:], self.values[0])
        return loop.alike(_turned(following, loop.loop.index), after, now)


# ------------------------------------------------------------------------ proposals


def _rest(loop: Context, was: object, now: object) -> Form | None:
    if not isinstance(was, Expr) or not isinstance(now, Expr):
        return None
    rest = draining.rest_of(was, now, loop.index)
    if rest is None:
        return None
    return Rest(was, rest) if _drains(loop, rest) else None


def scaled(start: object, held: object, now: object) -> Scaled | None:
    """The form of a number that a trip that starts with ``held`` leaves as ``now``."""
    if not (isinstance(start, Expr) and isinstance(held, Expr) and isinstance(now, Expr)):
        return None
    if held.is_const or now.is_const:
        return None
    times = E.exact_quotient(now, held)
    if times is not None and times.is_const and times.const > 1:
        return Scaled(start, times.const)
    for up in (False, True):
        factor = _divisor(held, now, up=up)
        if factor is not None:
            return Scaled(start, factor, divided=True, up=up)
    return None


def _divisor(held: Expr, now: Expr, *, up: bool) -> int | None:
    """The number that ``held`` is divided by where that makes ``now``."""
    divisors = [atom.den for atom in now.atoms() if isinstance(atom, E.Div) and atom.den.is_const]
    whole = E.exact_quotient(held, now)
    for factor in (*divisors, whole):
        if factor is not None and factor.is_const and factor.const > 1:
            if (E.ceildiv(held, factor) if up else held // factor) is now:
                return factor.const
    return None


def _drains(loop: Context, rest: draining.Rest) -> bool:
    """Whether there is nothing negative about it."""
    return all(loop.vm.decide(E.ge(part, 0)) is True for part in (rest.start, rest.size))


def _turning(loop: Context, was: object, now: object) -> Form | None:
    if not isinstance(was, Expr) or not isinstance(now, Expr) or now.is_const:
        return None
    low, high = E.bounds(was)
    if low is None or high is None or low < 0:
        return None
    if now is 1 - was and high == 1:
        return Turning(was, E.const(1), 2)
    for atom in now.atoms():
        if not isinstance(atom, E.Div) or not atom.den.is_const or now is not atom.num % atom.den:
            continue
        length = atom.den.const
        if high < length <= LONGEST:
            steps = (*map(E.const, range(1, length)), atom.num - was)
            for step in steps:
                if now is (was + step) % length and loop.index not in step.free():
                    return Turning(was, step, length)
    return None


def _linear(loop: Context, was: object, now: object) -> Form | None:
    step = difference(was, now)
    if step is None or loop.index in step.free():
        return None
    return Linear(was, step)


def _last(loop: Context, was: object, now: object) -> Form | None:
    return Last(was, now)


def _append(loop: Context, was: object, now: object) -> Form | None:
    assert isinstance(was, tuple) and isinstance(now, tuple)
    added = now[len(was) :]
    if now[: len(was)] != was or not all(isinstance(s, Item) for s in added):
        return None
    return Append(was, tuple(s.value for s in added))


def _runs(loop: Context, was: object, now: object) -> Form | None:
    assert isinstance(was, tuple) and isinstance(now, tuple)
    added = now[len(was) :]
    if now[: len(was)] != was or len(added) != 1 or not isinstance(added[0], Many):
        return None
    run = added[0]
    if loop.index in run.count.free() or len(run.values) != 1:
        return None
    return Runs(was, run)


def _slots(loop: Context, was: object, now: object) -> Form | None:
    old, new = slots(was), slots(now)
    if old is None or new is None or len(old) != len(new):
        return None
    assert isinstance(was, tuple) and isinstance(now, tuple)
    return Slots(was, now)


_Proposal = Callable[[Context, object, object], "Form | None"]

#: what may be said of an entry, and of a whole list, after one trip; the first that fits
PROPOSALS: Final[Mapping[str, tuple[_Proposal, ...]]] = {
    "entry": (_rest, _turning, _linear, _last),
    "list": (_append, _runs, _slots),
}


def proposed(loop: Context, place: Place, was: object, now: object) -> Form | None:
    """The form that fits what one trip made of a place; None: no closed one does."""
    if place.key is ORDER or place.key is NATURE:
        return None
    for proposal in PROPOSALS["list" if place.key is WHOLE else "entry"]:
        form = proposal(loop, was, now)
        if form is not None:
            return form
    return None


def _identity(value: object) -> object:
    """What tells a value from all others: integers are one object each, as tensors are."""
    return value if isinstance(value, Ref) else id(value)


def rotations(carried: Mapping[Place, tuple[object, object]]) -> dict[Place, Form]:
    """Values that places pass around in a cycle."""
    holders = {
        _identity(was): place for place, (was, _) in carried.items() if place.key is not WHOLE
    }
    out: dict[Place, Form] = {}
    for first in holders.values():
        cycle: list[object] = []
        place: Place | None = first
        while place is not None and len(cycle) < len(holders):
            was, now = carried[place]
            cycle.append(was)
            place = holders.get(_identity(now))
            if place == first:
                break
        if place == first and len(cycle) > 1:
            out[first] = Rotation(tuple(cycle))
    return out


def cycle(loop: Context, form: Form, was: object, now: object) -> Cycle | None:
    """The few numbers or truth values that a place goes through, as trips from ``form`` tell."""
    following: dict[Expr | bool | None, Expr | bool | None] = {}
    for number in range(-LONGEST, LONGEST):
        index = E.const(number)
        held = constant(form.at(loop, index))
        following.setdefault(held, constant(loop.renamed(now, {loop.index: index})))
    values: list[Expr | bool] = []
    value = constant(was)
    while value is not None and len(values) < LONGEST:
        values.append(value)
        value = following.get(value)
        if value is values[0]:
            return Cycle(tuple(values))
    return None


def constant(value: object) -> Expr | bool | None:
    """A number or a truth value that does not depend on anything; None: it is none."""
    if value is E.TRUE or value is E.FALSE:
        return value is E.TRUE
    if isinstance(value, bool) or (isinstance(value, Expr) and value.is_const):
        return value
    return None


def difference(was: object, now: object) -> Expr | None:
    """How much an integer or an address has grown, None if it cannot be said."""
    if isinstance(was, Expr) and isinstance(now, Expr):
        return now - was
    if isinstance(was, SystemAddress) and isinstance(now, SystemAddress):
        return now.offset - was.offset if was.storage is now.storage else None
    return None


def advanced(start: object, amount: Expr) -> object:
    """A number or an address, so much further on."""
    if isinstance(start, SystemAddress):
        return SystemAddress(start.storage, start.offset + amount)
    assert isinstance(start, Expr)
    return start + amount


def _turned(values: tuple[object, ...], index: Expr) -> object:
    """``values[index % len(values)]``."""
    turn = index % len(values)
    held = values[-1]
    for k in reversed(range(len(values) - 1)):
        held = join(E.eq(turn, k), values[k], held)
    return held
