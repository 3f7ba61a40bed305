"""Chains of calls that have been begun: what an engine has added up so far lies in their results.

Each is followed until something takes its result, or writes it: then the chain is over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from verifier.executor.memory import Bound, Memory
from verifier.executor.regions import Gather, positions_of
from verifier.symbolic.effects import Accumulation

_Positions = NDArray[np.int64]


@dataclass(eq=False, slots=True)
class _Chain:
    """``lanes``: of the accumulators; ``places``: of each lane's part of the result, by lane."""

    memory: ref[Memory]
    dtype: str
    places: _Positions
    lanes: range
    #: by lane: nothing has taken or written the result; another chain has set the accumulators
    open: NDArray[np.bool_] = field(init=False)
    ended: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self.open = np.ones(len(self.lanes), np.bool_)
        self.ended = np.zeros(len(self.lanes), np.bool_)


class Begun:
    """The chains that are open on the accumulators of one engine."""

    __slots__ = ("_chains",)

    def __init__(self) -> None:
        self._chains: list[_Chain] = []

    def passes(self, bounds: Mapping[str, Bound], used: Accumulation | None) -> None:
        """An operation is about to run, on these accumulators as ``used`` says or on none."""
        own = used.to if used is not None and used.continues else ""
        for role, bound in bounds.items() if self._chains else ():
            if role != own and any(chain.memory() is bound.memory for chain in self._chains):
                self._touch(bound)
        self._chains = [chain for chain in self._chains if bool(chain.open.any())]

    def _touch(self, bound: Bound) -> None:
        for chain in self._chains:
            if chain.memory() is not bound.memory:
                continue
            places = _places(bound)
            if places is None or bound.place.dtype != chain.dtype:
                chain.open[:] = False
            else:
                chain.open &= ~np.isin(chain.places, places).any(axis=1)

    def begins(self, lanes: range, to: Bound | None) -> None:
        """A call sets accumulators anew, and reads them out into ``to``, if it does.

        One that is read out nowhere may begin the same chain once more.
        """
        for chain in self._chains if to is not None else ():
            chain.ended |= np.isin(np.arange(chain.lanes.start, chain.lanes.stop), lanes)
        places = None if to is None else _places(to)
        if to is None or places is None or places.size % max(len(lanes), 1):
            return
        rows = places.reshape(len(lanes), -1)
        self._chains.append(_Chain(ref(to.memory), to.place.dtype, rows, lanes))

    def ended(self, lanes: range, to: Bound) -> bool:
        """Whether a call that goes on adds to what another chain has begun since its own was."""
        places = _places(to)
        if places is None:
            return False
        for chain in self._chains:
            if chain.memory() is to.memory and to.place.dtype == chain.dtype:
                mine = np.isin(np.arange(chain.lanes.start, chain.lanes.stop), lanes)
                same = np.isin(chain.places, places).any(axis=1)
                if bool((mine & same & chain.open & chain.ended).any()):
                    return True
        return False


def _places(bound: Bound) -> _Positions | None:
    """The elements of an operand; None: it may be any."""
    place = bound.place
    if not isinstance(place, Gather):
        return positions_of(place)
    if place.anywhere:
        return None
    return place.positions if place.mask is None else place.positions[place.mask]
