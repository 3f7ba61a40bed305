"""Why elements mean nothing: for each a number that stands for the first reads of what does not."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

#: first reads that one element remembers
_MOST: Final = 8

First = TypeVar("First", bound=Hashable)
Numbers = TypeVar("Numbers", bound=NDArray[Any])


class Reasons(Generic[First]):
    """Sets of first reads by number, from 1 on; 0: an element is defined."""

    __slots__ = ("_known", "_last", "_numbers")

    def __init__(self, last: int | None = None) -> None:
        """``last``: the number that all have which come later."""
        self._last = last
        self._known: list[tuple[First, ...]] = []
        self._numbers: dict[tuple[First, ...], int] = {}

    def number(self, *reads: First) -> int:
        """Of first reads that became one element."""
        number = self._numbers.get(reads)
        if number is None:
            if len(self._known) == self._last:
                return self._last
            self._known.append(reads)
            number = self._numbers[reads] = len(self._known)
        return number

    def of(self, number: int) -> tuple[First, ...]:
        """The first reads that a number stands for."""
        return self._known[number - 1] if number > 0 else ()

    def both(self, left: Numbers, right: Numbers) -> Numbers:
        """The reads by which either is undefined, element by element."""
        out: Numbers = np.maximum(left, right)
        mixed = (left > 0) & (right > 0) & (left != right)
        if not bool(mixed.any()):
            return out
        for a, b in np.unique(np.stack([left[mixed], right[mixed]]), axis=1).T:
            joined = dict.fromkeys((*self.of(int(a)), *self.of(int(b))))
            out[mixed & (left == a) & (right == b)] = self.number(*[*joined][:_MOST])
        return out

    def line(self, part: Numbers, axes: Sequence[int]) -> Numbers:
        """The reads by which what is made of all elements along the axes is undefined."""
        total: Numbers | None = None
        axes = tuple(axes)
        for number in np.unique(part[part > 0]):
            there = (part == number).any(axis=axes, keepdims=True)
            found: Any = np.where(there, number, 0).astype(part.dtype)
            total = found if total is None else self.both(total, found)
        return part.max(axis=axes, keepdims=True, initial=0) if total is None else total


__all__ = ["Reasons"]
