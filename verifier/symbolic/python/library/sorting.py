"""Sorting as CPython does: stable, by ``<`` alone."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.python import concrete
from verifier.symbolic.python.choices import choices
from verifier.symbolic.python.terms import join
from verifier.symbolic.python.kinds.segments import raises
from verifier.symbolic.python.vm import VM


class UndecidedError(Exception):
    """Which of two values comes first depends on the inputs."""


def sort_values(
    vm: VM,
    values: Sequence[object],
    span: Span,
    *,
    key: object = None,
    reverse: object = False,
) -> tuple[object, ...] | None:
    """The values in order; None: the order depends on the inputs.

    Values that CPython cannot compare are a fault.
    """
    backwards = vm.decide(vm.truth(reverse, span))
    if backwards is None:
        return None
    ranks = list(values)
    if key is not None:
        ranks = [vm.call(key, (value,), span=span) for value in values]
    order = _order(vm, ranks, backwards, span)
    if order is None:
        return _told_apart(vm, values, tuple(ranks), backwards, span)
    return tuple(values[k] for k in order)


def _told_apart(
    vm: VM, values: Sequence[object], ranks: tuple[object, ...], backwards: bool, span: Span
) -> tuple[object, ...] | None:
    """The values in the order that each choice of few inputs gives them."""
    told = choices(vm, ranks)
    if told is None:
        return None
    out: list[object] | None = None
    for guard, case in vm.cases(told):
        assert isinstance(case, tuple)
        order = _order(vm, list(case), backwards, span)
        if order is None:
            return None
        here = [values[k] for k in order]
        out = here if out is None else [join(guard, a, b) for a, b in zip(here, out, strict=True)]
    return None if out is None else tuple(out)


def _order(vm: VM, ranks: list[object], backwards: bool, span: Span) -> list[int] | None:
    """The positions of values in order."""
    hosts = [concrete.to_host(vm, rank) for rank in ranks]
    if not any(host is concrete.SYMBOLIC for host in hosts):
        try:
            return sorted(range(len(hosts)), key=hosts.__getitem__, reverse=backwards)
        except TypeError as error:
            raises(vm, TypeError, str(error), span)
            return None

    def before(a: object, b: object) -> bool:
        known = vm.decide(vm.truth(vm.compare("<", a, b, span), span))
        if known is None:
            raise UndecidedError
        return known

    positions = list(range(len(ranks)))
    if backwards:  # equal values keep their order: those of the list turned around
        positions.reverse()
    try:
        positions = merge_sorted(positions, lambda a, b: before(ranks[a], ranks[b]))
    except UndecidedError:
        return None
    if backwards:
        positions.reverse()
    return positions


def merge_sorted(items: list[int], before: Callable[[int, int], bool]) -> list[int]:
    """The items in order, equal ones as they were."""
    if len(items) < 2:
        return items
    middle = len(items) // 2
    left, right = merge_sorted(items[:middle], before), merge_sorted(items[middle:], before)
    out: list[int] = []
    i = j = 0
    while i < len(left) and j < len(right):
        if before(right[j], left[i]):
            out.append(right[j])
            j += 1
        else:
            out.append(left[i])
            i += 1
    return out + left[i:] + right[j:]


def by_order(before: Callable[[Any, Any], bool]) -> Callable[[Any], Any]:
    """A key of the host that sorts by a given order."""
    return functools.cmp_to_key(lambda a, b: -1 if before(a, b) else 1 if before(b, a) else 0)


__all__ = ["E", "sort_values"]
