"""Values that depend on a few inputs of few values each, told apart into concrete ones."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Sym
from verifier.symbolic.python.heap import UNBOUND, Item, Many, Segment
from verifier.symbolic.python.renaming import Renaming
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Guarded

#: choices of the inputs that are told apart
_MOST: Final = 24
#: where the values of an input are looked for
_FAR: Final = 1 << 12


def choices(vm: VM, value: object) -> Guarded | None:
    """The value as one that depends on the path and is concrete on each; None: it is too many.

    What depends on anything else is left alone, the trip of a loop say: such trips are gone through
    one by one instead.
    """
    if not _symbolic(value):
        return None
    symbols = sorted(_free(value), key=lambda symbol: symbol.name)
    if not symbols or any(symbol.origin is not E.Origin.INPUT for symbol in symbols):
        return None
    ranges: dict[Sym, range] = {}
    count = 1
    for symbol in sorted(symbols, key=lambda symbol: symbol.hi is not None):  # sizes rule it out
        found = _values(vm, symbol, _MOST // count)
        if found is None:
            return None
        ranges[symbol] = found
        count *= len(found)
    found_for: dict[str, tuple[list[Bool], object]] = {}
    for chosen in itertools.product(*(ranges[symbol] for symbol in symbols)):
        places = {symbol: E.const(k) for symbol, k in zip(symbols, chosen, strict=True)}
        here = _put(places, value)
        if not _concrete(here):
            return None
        guard = E.and_(*(E.eq(E.from_atom(s), k) for s, k in places.items()))
        found_for.setdefault(repr(here), ([], here))[0].append(guard)
    return Guarded(tuple((E.or_(*guards), here) for guards, here in found_for.values()))


def _symbolic(value: object) -> bool:
    """Whether a value is made of numbers and truth values, not all of them concrete."""
    if isinstance(value, tuple):
        return any(_symbolic(item) for item in value)
    return isinstance(value, (Expr, Bool, Guarded)) and not _concrete(value)


def _concrete(value: object) -> bool:
    if isinstance(value, tuple):
        return all(_concrete(item) for item in value)
    if isinstance(value, Expr):
        return value.is_const
    if isinstance(value, Bool):
        return value is E.TRUE or value is E.FALSE
    return isinstance(value, (bool, str, float, bytes, complex, type(None)))


def _free(value: object) -> frozenset[Sym]:
    if isinstance(value, tuple):
        return frozenset().union(*(_free(item) for item in value))
    if isinstance(value, Guarded):
        return frozenset().union(*(_free(part) for case in value.cases for part in case))
    return frozenset(value.free()) if isinstance(value, (Expr, Bool)) else frozenset()


def _put(places: dict[Sym, Expr], value: object) -> object:
    if isinstance(value, tuple):
        return tuple(_put(places, item) for item in value)
    if isinstance(value, Expr):
        return E.Substitution(places).expr(value)
    if isinstance(value, Guarded):
        held = (item for guard, item in value.cases if _put(places, guard) is E.TRUE)
        return _put(places, next(held, UNBOUND))
    return E.Substitution(places).bool(value) if isinstance(value, Bool) else value


def _values(vm: VM, symbol: Sym, most: int) -> range | None:
    """The values that a symbol may have where the run is; None: more than so many."""
    number = E.from_atom(symbol)
    low, high = E.bounds(number)
    if low is None:
        low = -_FAR
    if vm.decide(E.ge(number, low)) is not True:
        return None
    # the facts tell the least value: those below are ruled out
    top = low + _FAR if high is None else high
    if high is None and vm.decide(E.le(number, top + most)) is not True:
        return None
    least = _last(low, top, lambda k: vm.decide(E.ge(number, k)) is True)
    if high is None or high - least >= most:
        if vm.decide(E.le(number, least + most - 1)) is not True:
            return None
        high = least + most - 1
    highest = -_last(-high, -least, lambda k: vm.decide(E.le(number, -k)) is True)
    return range(least, highest + 1)


def _last(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The greatest number up to which something holds that does for the lowest.

    It is looked for near the lowest first.
    """
    step = 1
    while low + step <= high and holds(low + step):
        low += step
        step *= 2
    high = min(high, low + step - 1)
    while low < high:
        middle = (low + high + 1) // 2
        if holds(middle):
            low = middle
        else:
            high = middle - 1
    return low


# ------------------------------------------------------------------------ runs of few items


def spelt(vm: VM, segments: Sequence[Segment]) -> Guarded | None:
    """The items of a list with runs as a tuple that depends on the path; None: there are too many.

    Objects that each trip made anew stay what they are: runs of them are not spelt out.
    """
    runs = [segment for segment in segments if isinstance(segment, Many)]
    if any(run.fresh for run in runs):
        return None
    counts = tuple(run.count for run in runs)
    told = Guarded(((E.TRUE, counts),)) if _concrete(counts) else choices(vm, counts)
    if told is None:
        return None
    cases: list[tuple[Bool, object]] = []
    for guard, here in told.cases:
        assert isinstance(here, tuple)
        if sum(count.const for count in here) > _MOST:
            return None
        cases.append((guard, tuple(_items(vm, segments, iter(here)))))
    return Guarded(tuple(cases))


def _items(vm: VM, segments: Sequence[Segment], counts: Iterator[Expr]) -> Iterator[object]:
    for segment in segments:
        if isinstance(segment, Item):
            yield segment.value
            continue
        for trip in range(next(counts).const):
            rename = Renaming(vm.heap, {segment.index: E.const(trip)}, own=frozenset())
            yield from (rename.value(value) for value in segment.values)
