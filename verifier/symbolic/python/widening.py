"""What may be in a place when a trip starts, where no closed form says what is there.

What is not known exactly is still known to be one of a few values, an integer, a truth value, or
not to be there at all. So a place is *widened*: to all that it holds before the loop and to all
that a trip leaves there, until a trip that starts with any of it leaves nothing else. Only then it
stands for the start of every trip, by induction. A value that may be missing stays one that may be
missing, and one that may be of another type one that may be of another type.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.lanes import SystemAddress
from verifier.symbolic.python.carried import NATURE, ORDER, WHOLE, Context, Form, Place
from verifier.symbolic.python.heap import UNBOUND, Heap, Item, StateBox
from verifier.symbolic.python.listforms import slots
from verifier.symbolic.python.model import Class
from verifier.symbolic.python.parts import parts
from verifier.symbolic.python.terms import join, same
from verifier.symbolic.trace import LedgerKind
from verifier.symbolic.values import Guarded, Opaque, OpaqueOf, Ratio, Ref

#: a place is said to hold one of so many values, before it is said to hold anything
FEW: Final = 6
#: a place is said to hold one of so many integers, before it is said to hold any
INTEGERS: Final = 2
#: a place is widened so often, before it is said to hold anything
TIMES: Final = 3

#: types of values of which many differ: which one of a type it is, is given up at need
_HOSTS: Final[Mapping[type, str]] = {
    float: "a float",
    complex: "a complex number",
    str: "a string",
    bytes: "a string of bytes",
}


class May(Struct, frozen=True):
    """What a value may be.

    One of ``values``, each the same in all trips (UNBOUND among them: it may be missing); any
    integer, or any from ``low`` on; either truth value; any address in one of ``storages``;
    anything else that is there.
    """

    values: tuple[object, ...] = ()
    number: bool = False
    low: int | None = None
    truth: bool = False
    storages: tuple[object, ...] = ()
    anything: bool = False

    def joined(self, other: May) -> May:
        """What is one or the other."""
        values = self.values
        for value in other.values:
            values = _with(values, value)
        lows = [m.low for m in (self, other) if m.number]
        out = May(
            values,
            bool(lows),
            _least(lows),
            self.truth or other.truth,
            (*self.storages, *(s for s in other.storages if s not in self.storages)),
            self.anything or other.anything,
        )
        return out.simple()

    def simple(self) -> May:
        """The same, said once."""
        number = self.number or sum(isinstance(v, Expr) for v in self.values) > INTEGERS
        low = self.low_of(number)
        values = tuple(
            v
            for v in self.values
            if not (number and isinstance(v, Expr)) and not (self.truth and isinstance(v, bool))
        )
        if self.anything or len(values) > FEW:
            missing = (UNBOUND,) if any(v is UNBOUND for v in values) else ()
            return May(missing, anything=True)
        return replace(self, values=values, number=number, low=low)

    def low_of(self, number: bool) -> int | None:
        """What its integers are at least, if they are told apart no more; None: that is open."""
        if not number:
            return None
        lows = [E.bounds(v)[0] for v in self.values if isinstance(v, Expr)]
        return _least([*lows, self.low] if self.number else lows)

    def coarse(self) -> May:
        """The same without telling apart integers, or values of one type."""
        values: tuple[object, ...] = ()
        for value in self.values:
            host = _host(value)
            several = host is not None and sum(_host(v) is host for v in self.values) > 1
            values = _with(values, _any(host) if several else value)
        number = self.number or sum(isinstance(v, Expr) for v in values) > 1
        return replace(self, values=values, number=number, low=self.low_of(number)).simple()

    def wider(self, other: May, times: int) -> May:
        """What is one or the other, and the more the oftener this has been asked.

        What integers are at least is at first what they are before the loop: a trip says whether
        that stays so.
        """
        out = self.joined(other)
        if not times and out.number:
            out = replace(out, low=self.low_of(True))
        elif out.low is not None and (self.low is None or out.low < self.low):
            out = replace(out, low=0 if out.low >= 0 and times == 1 else None)
        if times > TIMES:
            return replace(out, anything=True).simple()
        return out.coarse() if times > 1 else out

    def covers(self, other: May) -> bool:
        """Whether all that the other may be is among this."""
        out = self.joined(other)
        return (
            len(out.values) == len(self.values)
            and all(x is y for x, y in zip(out.values, self.values, strict=True))
            and (out.number, out.low) == (self.number, self.low)
            and (out.truth, out.anything) == (self.truth, self.anything)
            and len(out.storages) == len(self.storages)
        )

    @property
    def whole(self) -> bool:
        """Whether it is an integer in any case."""
        return all(isinstance(v, Expr) for v in self.values) and not (
            self.truth or self.storages or self.anything
        )

    def some(self, loop: Context, name: str) -> object:
        """Some value of these, another one each time; the ledger tells of it."""
        reason = f"the value of `{name}` carried around the loop over `{loop.loop.name}`"

        def told(symbol: Expr) -> Expr:
            text = f"{reason} has no closed form"
            loop.vm.approximate(LedgerKind.HAVOC, text, loop.loop.span, [repr(symbol)])
            return symbol

        cases = list(self.values)
        if self.number:
            cases.append(told(E.fresh(name, self.low)))
        if self.truth:
            cases.append(E.eq(told(E.fresh(name, 0, 1)), 1))
        cases += [SystemAddress(s, told(E.fresh(name))) for s in self.storages]  # type: ignore[arg-type]
        if self.anything:  # whoever reads it says that it is not followed
            cases.append(Opaque(reason, lost=True))
        if len(cases) == 1:
            return cases[0]
        pick = told(E.fresh(name, 0, len(cases) - 1))
        held = cases[-1]
        for k in reversed(range(len(cases) - 1)):
            held = join(E.eq(pick, k), cases[k], held)
        return held


def _least(lows: list[int | None]) -> int | None:
    """The least of some bounds; None, which says nothing, is below all others."""
    known = [low for low in lows if low is not None]
    return min(known) if known and len(known) == len(lows) else None


def _with(values: tuple[object, ...], value: object) -> tuple[object, ...]:
    """Values and one more; floats that differ are any float."""
    host = _host(value)
    if any(same(value, known) or (host is not None and known == _any(host)) for known in values):
        return values
    kin = [known for known in values if host is not None and _host(known) is host]
    if kin and (host is float or any(isinstance(v, OpaqueOf) for v in (value, *kin))):
        return (*(v for v in values if _host(v) is not host), _any(host))
    return (*values, value)


def _host(value: object) -> type | None:
    """The type of a value of which only the type is told at need."""
    host = value.host if isinstance(value, OpaqueOf) else type(value)
    return host if host in _HOSTS else None


def _any(host: type | None) -> OpaqueOf:
    """Any value of a type."""
    assert host is not None
    return OpaqueOf(_HOSTS[host], harmless=True, host=host)


def may(loop: Context, value: object) -> May:
    """What a value may be, whichever trip it is of."""
    if isinstance(value, Guarded):
        out = May()
        for _, case in value.cases:
            out = out.joined(may(loop, case))
        return out
    if isinstance(value, Expr) and not value.is_const:
        return May(number=True, low=E.bounds(value)[0])
    if isinstance(value, Bool):
        return May(truth=True)
    if isinstance(value, SystemAddress):
        return May(storages=(value.storage,))
    if isinstance(value, Ratio):
        return May((_any(float),))
    if isinstance(value, OpaqueOf):
        return May((_any(value.host) if value.harmless and value.host in _HOSTS else value,))
    return May((value,)) if _stays(loop, value) else May(anything=True)


def _stays(loop: Context, value: object) -> bool:
    """Whether a value is the same one in all trips: none that a trip makes, or makes its own.

    What becomes of the contents of an object that was there before is told apart on its own.
    """
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, Class):
            item = item.namespace
        if isinstance(item, Ref):
            if loop.before is not None and loop.before.find(item.id) is None:
                return False
        elif isinstance(item, (Expr, Bool)):
            if loop.index in item.free():
                return False
        else:
            stack.extend(parts(item))
    return True


# ------------------------------------------------------------------------ forms


class Loosened(Form):
    """A form of which it is known only what a place may hold; it is made wider until it holds."""

    exact = False

    @abstractmethod
    def wider(self, loop: Context, now: object, after: Heap) -> Loosened:
        """A form that also has what a trip from this one has left."""


@dataclass(frozen=True, slots=True)
class Widened(Loosened):
    """A place that may hold some values: another one each time that it is asked.

    ``fixed``: what it holds before the loop, if the machine relies on its type.
    """

    may: May
    name: str
    times: int = 0
    fixed: object = UNBOUND

    def at(self, loop: Context, index: Expr) -> object:
        return self.may.some(loop, self.name)

    def holds(self, loop: Context, now: object, after: Heap) -> bool:
        return self.may.covers(may(loop, now))

    def wider(self, loop: Context, now: object, after: Heap) -> Loosened:
        out = self.may.wider(may(loop, now), self.times)
        if self.fixed is not UNBOUND and not out.whole:
            return Untold(self.fixed, f"`{self.name}` of an object of the machine's")
        return Widened(out, self.name, self.times + 1, self.fixed)


@dataclass(frozen=True, slots=True)
class Loose(Loosened):
    """A list of fixed length: items that stay, and what the others may be."""

    start: tuple[object, ...]
    items: tuple[May | None, ...]
    times: int = 0

    def at(self, loop: Context, index: Expr) -> object:
        pairs = zip(self.start, self.items, strict=True)
        return tuple(Item(was if m is None else m.some(loop, "an item")) for was, m in pairs)

    def holds(self, loop: Context, now: object, after: Heap) -> bool:
        left = slots(now)
        return (
            left is not None
            and len(left) == len(self.start)
            and all(
                loop.alike(was, after, value) if m is None else m.covers(may(loop, value))
                for was, m, value in zip(self.start, self.items, left, strict=True)
            )
        )

    def wider(self, loop: Context, now: object, after: Heap) -> Loosened:
        left = slots(now)
        if left is None or len(left) != len(self.start):
            return AnyList()
        items: list[May | None] = []
        for was, m, value in zip(self.start, self.items, left, strict=True):
            if m is None and loop.alike(was, after, value):
                items.append(None)
                continue
            items.append((m or may(loop, was)).wider(may(loop, value), self.times))
        return Loose(self.start, tuple(items), self.times + 1)


@dataclass(frozen=True, slots=True)
class AnyList(Loosened):
    """A list of any length with anything in it."""

    lost = True

    def at(self, loop: Context, index: Expr) -> object:
        what = f"the value of a list carried around the loop over `{loop.loop.name}`"
        return (loop.vm.any_list(what, loop.loop.span),)

    def holds(self, loop: Context, now: object, after: Heap) -> bool:
        return True

    def wider(self, loop: Context, now: object, after: Heap) -> Loosened:
        return self


@dataclass(frozen=True, slots=True)
class Shuffled(Loosened):
    """The order of a dictionary's entries, which is not the same in all trips."""

    def at(self, loop: Context, index: Expr) -> object:
        return True

    def holds(self, loop: Context, now: object, after: Heap) -> bool:
        return True

    def wider(self, loop: Context, now: object, after: Heap) -> Loosened:
        return self


@dataclass(frozen=True, slots=True)
class Untold(Loosened):
    """What has no place for an unknown in it: from the start of the loop on nothing is followed."""

    value: object
    what: str

    def at(self, loop: Context, index: Expr) -> object:
        text = f"{self.what} changes in the loop over `{loop.loop.name}`"
        loop.vm.unfollowed(text, loop.loop.span)
        return self.value

    def holds(self, loop: Context, now: object, after: Heap) -> bool:
        return True

    def wider(self, loop: Context, now: object, after: Heap) -> Loosened:
        return self


def loosened(
    loop: Context, place: Place, was: object, now: object, before: Heap, after: Heap
) -> Loosened:
    """What is known of a place that held something before the loop and something after a trip."""
    if place.key is ORDER:
        return Shuffled()
    if place.key is NATURE:
        return Untold(was, "what an object is")
    if place.key is WHOLE:
        start = slots(was)
        if start is None:
            return AnyList()
        return Loose(start, (None,) * len(start)).wider(loop, now, after)
    fixed = was if isinstance(before.find(place.box), StateBox) else UNBOUND
    return Widened(may(loop, was), str(place.key), fixed=fixed).wider(loop, now, after)
