"""Sorting as CPython does: stable, by ``<`` alone."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool
from verifier.symbolic.python import concrete
from verifier.symbolic.python.choices import choices
from verifier.symbolic.python.kinds.segments import raises
from verifier.symbolic.python.terms import join
from verifier.symbolic.python.vm import VM


class UndecidedError(Exception):
    """Which of two values comes first depends on the inputs."""

    def __init__(self, test: Bool) -> None:
        super().__init__(test)
        self.test = test


#: comparisons that are told apart
_FORKS: Final = 24


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
    return _Sort(vm, tuple(values), ranks, backwards, span).run()


class _Sort:
    """The sort of some values by ranks."""

    def __init__(
        self, vm: VM, values: tuple[object, ...], ranks: list[object], backwards: bool, span: Span
    ) -> None:
        self.vm = vm
        self.values = values
        self.ranks = ranks
        self.backwards = backwards
        self.span = span
        #: comparisons that may still be told apart
        self.left = _FORKS
        self.lost = False

    def run(self) -> tuple[object, ...] | None:
        """The values in order; None: the order depends on the inputs."""
        hosts = [concrete.to_host(self.vm, rank) for rank in self.ranks]
        if not any(host is concrete.SYMBOLIC for host in hosts):
            try:
                return self._placed(hosts)
            except TypeError as error:
                raises(self.vm, TypeError, str(error), self.span)
                return None
        out = self._told_apart() or self._compared({})
        return None if self.lost else out

    def _placed(self, hosts: Sequence[Any]) -> tuple[object, ...]:
        order = sorted(range(len(hosts)), key=hosts.__getitem__, reverse=self.backwards)
        return tuple(self.values[k] for k in order)

    def _told_apart(self) -> tuple[object, ...] | None:
        """The values in the order that each choice of few inputs gives them."""
        told = choices(self.vm, tuple(self.ranks))
        if told is None:
            return None
        out: object = None
        for guard, case in self.vm.cases(told):
            try:
                here = self._placed(concrete.to_host(self.vm, case))
            except TypeError:
                return None
            out = here if out is None else join(guard, here, out)
        return out if isinstance(out, tuple) else None

    def _compared(self, asked: dict[tuple[int, int], Bool]) -> tuple[object, ...]:
        """The values in order, each comparison that the facts do not decide on two paths."""
        vm = self.vm

        def before(a: int, b: int) -> bool:
            if (a, b) not in asked:
                found = vm.compare("<", self.ranks[a], self.ranks[b], self.span)
                asked[a, b] = vm.truth(found, self.span)
            known = vm.decide(asked[a, b])
            if known is None:
                raise UndecidedError(asked[a, b])
            return known

        positions = list(range(len(self.values)))
        if self.backwards:  # equal values keep their order: those of the list turned around
            positions.reverse()
        try:
            positions = merge_sorted(positions, before)
        except UndecidedError as undecided:
            self.left -= 1
            if self.left < 0:
                self.lost = True
                return self.values
            sides = (dict(asked), dict(asked))
            test = undecided.test
            return vm.fork(test, lambda: self._compared(sides[0]), lambda: self._compared(sides[1]))
        if self.backwards:
            positions.reverse()
        return tuple(self.values[k] for k in positions)


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
