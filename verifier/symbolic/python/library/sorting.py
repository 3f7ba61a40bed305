"""Sorting as CPython does: stable, by ``<`` alone."""

from __future__ import annotations

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
        out = self._told_apart() or self._compared([])
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

    def _compared(self, answers: list[Bool]) -> tuple[object, ...]:
        """The values in order, each comparison that the facts do not decide on two paths.

        The host sorts, so that CPython's comparisons are made, in CPython's order, as often as
        CPython makes them; ``answers`` are those that have been made already.
        """
        vm, made = self.vm, 0

        def before(a: int, b: int) -> bool:
            nonlocal made
            made += 1
            if made > len(answers):
                found = vm.compare("<", self.ranks[a], self.ranks[b], self.span)
                answers.append(vm.truth(found, self.span))
            known = vm.decide(answers[made - 1])
            if known is None:
                raise UndecidedError(answers[made - 1])
            return known

        places = [_Place(number, before) for number in range(len(self.values))]
        try:
            places.sort(reverse=self.backwards)
        except UndecidedError as undecided:
            self.left -= 1
            if self.left < 0:
                self.lost = True
                return self.values
            sides, test = (list(answers), list(answers)), undecided.test
            return vm.fork(test, lambda: self._compared(sides[0]), lambda: self._compared(sides[1]))
        return tuple(self.values[place.number] for place in places)


class _Place:
    """A value for the host to sort: its number, and what says which of two comes first."""

    __slots__ = ("before", "number")

    def __init__(self, number: int, before: Callable[[int, int], bool]) -> None:
        self.number = number
        self.before = before

    def __lt__(self, other: _Place) -> bool:
        return self.before(self.number, other.number)


__all__ = ["E", "sort_values"]
