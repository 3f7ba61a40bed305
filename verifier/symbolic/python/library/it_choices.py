"""``itertools``: products, combinations and permutations."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.heap import ListBox, Many, Segment
from verifier.symbolic.python.kinds.segments import (
    MAX_LENGTH,
    index_symbol,
    integer,
    pick,
    raises,
    segments_of,
    values_in,
)
from verifier.symbolic.python.kinds.sources import SequenceIterator
from verifier.symbolic.python.model import HostType
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import unsure

CHOICES: Final = Table("itertools")

# ------------------------------------------------------------------------ combinatorics


class Combinations(SequenceIterator):
    """The combinatoric iterators: their items are known from the start."""

    def __init__(self, host: type) -> None:
        self._type = host

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(self._type)

    def describe(self, vm: VM, value: Any) -> str:
        return f"`{self._type.__name__}`"


_KINDS: Final = {
    name: Combinations(getattr(itertools, name))
    for name in ("product", "combinations", "permutations", "combinations_with_replacement")
}


def _pool(vm: VM, iterable: object, name: str, span: Span) -> tuple[object, ...] | None:
    segments = segments_of(vm, iterable, span)
    items = None if segments is None else values_in(segments)
    if items is None:
        vm.unfollowed(f"`{name}` of items that are not followed", span)
    return items


def _chosen(vm: VM, name: str, pool: Sequence[object], places: Any, span: Span) -> object:
    """An iterator over choices from a pool, given by the positions of the items."""
    found = list(itertools.islice(places, MAX_LENGTH + 1))
    if len(found) > MAX_LENGTH:
        return vm.unfollowed(f"`{name}` gives too many items", span)
    items = tuple(tuple(pool[k] for k in place) for place in found)
    return _KINDS[name].make(vm, source=items, position=E.const(0), done=False)


@CHOICES.add("product")
def _product(vm: VM, span: Span, /, *iterables: object, repeat: object = E.const(1)) -> object:
    times = integer(vm, repeat, "repeat", span)
    if times is None or not times.is_const or times.const > 64:
        return vm.unfollowed("how often `product` repeats is not followed", span)
    raises(vm, ValueError, "repeat argument cannot be negative", span, E.lt(times, 0))
    pools: list[tuple[Segment, ...]] = []
    for iterable in iterables if times.const else ():  # CPython does not ask for no repetition
        segments = segments_of(vm, iterable, span)
        if segments is None:
            return vm.unfollowed("`product` of items that are not followed", span)
        pools.append(segments)
    return _producted(vm, pools * times.const, span)


def _producted(vm: VM, pools: list[tuple[Segment, ...]], span: Span) -> object:
    known = [values_in(pool) for pool in pools]
    if all(items is not None for items in known):
        total = 1
        for items in known:
            total *= len(items or ())
        if total > MAX_LENGTH:
            return vm.unfollowed("`product` gives too many items", span)
        rows = tuple(itertools.product(*(items or () for items in known)))
        return _KINDS["product"].make(vm, source=rows, position=E.const(0), done=False)
    index = index_symbol()
    left: Expr = E.from_atom(index)
    count = E.const(1)
    row: list[object] = []
    for pool in reversed(pools):
        length = ListBox(pool).length
        first = pool is pools[0] and len(row) == len(pools) - 1
        row.append(pick(vm, pool, left if first else left % length))
        left, count = left // length, count * length
    fresh = frozenset[int]().union(
        *(segment.fresh for pool in pools for segment in pool if isinstance(segment, Many))
    )
    run = Many(count, index, (tuple(reversed(row)),), fresh)
    source = vm.heap.new(ListBox((run,)))
    return _KINDS["product"].make(vm, source=source, position=E.const(0), done=False)


def _sized(name: str, places: Callable[[range, int], Any], *, optional: bool = False) -> None:
    """A function of a pool and the number of items to choose from it."""

    def choose(vm: VM, span: Span, iterable: object, r: object) -> object:
        pool = _pool(vm, iterable, name, span)
        if pool is None:
            return unsure(f"`{name}` of items that are not followed")
        size = E.const(len(pool)) if r is None and optional else integer(vm, r, "r", span)
        if size is None or not size.is_const:
            return vm.unfollowed(f"how many items `{name}` takes is not followed", span)
        if size.const > MAX_LENGTH:  # whether there is memory for that is CPython's own affair
            return vm.unfollowed(f"`{name}` takes too many items", span)
        raises(vm, ValueError, "r must be non-negative", span, E.lt(size, 0))
        return _chosen(vm, name, pool, places(range(len(pool)), size.const), span)

    if optional:

        def permutations(vm: VM, span: Span, /, iterable: object, r: object = None) -> object:
            return choose(vm, span, iterable, r)

        CHOICES.add(name)(permutations)
        return

    def combinations(vm: VM, span: Span, /, iterable: object, r: object) -> object:
        return choose(vm, span, iterable, r)

    CHOICES.add(name)(combinations)


_sized("combinations", itertools.combinations)
_sized("combinations_with_replacement", itertools.combinations_with_replacement)
_sized("permutations", itertools.permutations, optional=True)
