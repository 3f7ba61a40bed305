"""Chains of calls that have been begun: what an engine has added up so far lies in their results.

A chain belongs to what it is read out into first. Each is followed until something takes that, or
writes it: then the chain is over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Final
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from verifier.executor.memory import Bound, Memory
from verifier.executor.regions import Gather, positions_of
from verifier.symbolic.effects import Accumulation

_Positions = NDArray[np.int64]

#: in place of the number of a chain: no chain, one that has been read out nowhere
_NONE: Final = -1
_UNREAD: Final = 0


@dataclass(eq=False, slots=True)
class _Chain:
    """``lanes``: of the accumulators; ``places``: of each lane's part of the result, by lane."""

    number: int
    memory: ref[Memory]
    dtype: str
    places: _Positions
    lanes: NDArray[np.int64]
    #: by lane: nothing has taken or written the result
    open: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self.open = np.ones(len(self.lanes), np.bool_)


class Begun:
    """The chains that are open on the accumulators of one engine."""

    __slots__ = ("_chains", "_current", "_numbers")

    def __init__(self) -> None:
        self._chains: list[_Chain] = []
        #: the number of the chain whose sum is in an accumulator, by lane
        self._current: dict[int, int] = {}
        self._numbers = count(_UNREAD + 1)

    def passes(self, bounds: Mapping[str, Bound], used: Accumulation | None) -> None:
        """An operation is about to run, on these accumulators as ``used`` says or on none."""
        own = used.to if used is not None and used.continues else ""
        for role, bound in bounds.items() if self._chains else ():
            if role != own and any(chain.memory() is bound.memory for chain in self._chains):
                self._touch(bound, _places(bound))
        self._chains = [chain for chain in self._chains if bool(chain.open.any())]

    def _touch(self, bound: Bound, places: _Positions | None) -> None:
        for chain in self._chains:
            if chain.memory() is not bound.memory:
                continue
            if places is None or bound.place.dtype != chain.dtype:
                chain.open[:] = False
            else:
                chain.open &= ~np.isin(chain.places, places).any(axis=1)

    def begins(self, lanes: range, to: Bound | None) -> None:
        """A call sets accumulators anew, and reads them out into ``to``, if it does."""
        self._current.update(dict.fromkeys(lanes, _UNREAD))
        if to is not None:
            self._belongs(np.arange(lanes.start, lanes.stop), to, _rows(to, lanes))

    def goes_on(self, lanes: range, to: Bound) -> bool:
        """Whether a call that reads accumulators out goes on from what another chain has begun.

        That is: other than the chain that its result holds a part of.
        """
        rows = _rows(to, lanes)
        current = np.array([self._current.get(lane, _NONE) for lane in lanes])
        numbers = np.arange(lanes.start, lanes.stop)
        ended = rows is not None and self._ended(numbers, current, to, rows)
        unread = current == _UNREAD
        if bool(unread.any()):
            mine = None if rows is None else rows[unread]
            self._touch(to, mine)
            self._belongs(numbers[unread], to, mine)
        return ended

    def _belongs(self, lanes: NDArray[np.int64], to: Bound, rows: _Positions | None) -> None:
        """The chain that is in the accumulators of some lanes is read out for the first time."""
        number = next(self._numbers)
        self._current.update(dict.fromkeys(lanes.tolist(), number))
        if rows is not None:
            found = _Chain(number, ref(to.memory), to.place.dtype, rows, lanes)
            self._chains.append(found)

    def _ended(
        self, lanes: NDArray[np.int64], current: NDArray[np.int64], to: Bound, rows: _Positions
    ) -> bool:
        for chain in self._chains:
            if chain.memory() is not to.memory or to.place.dtype != chain.dtype:
                continue
            ended = lanes[(current > _UNREAD) & (current != chain.number)]
            mine = np.isin(chain.lanes, ended)
            same = np.isin(chain.places, rows).any(axis=1)
            if bool((mine & same & chain.open).any()):
                return True
        return False


def _rows(bound: Bound, lanes: range) -> _Positions | None:
    """The elements of a result, by lane; None: it is not known which those are."""
    places = _places(bound)
    if places is None or not len(lanes) or places.size % len(lanes):
        return None
    return places.reshape(len(lanes), -1)


def _places(bound: Bound) -> _Positions | None:
    """The elements of an operand; None: it may be any."""
    place = bound.place
    if not isinstance(place, Gather):
        return positions_of(place)
    if place.anywhere:
        return None
    return place.positions if place.mask is None else place.positions[place.mask]
