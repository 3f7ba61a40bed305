"""What a call takes in one round that is in part what it is to take in another one.

A short last part that is written to a place too early leaves the end of what was there before: what
reads that takes a mixture.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rules.memory.fates import Fates, Mixture, bits
from rules.memory.steps import Step


class Mixed:
    """Where a call takes in one round some of one result, and some of another one, made of other
    parts, that it takes by itself in another round.

    Nothing has read the first one before the other was written over it; or but the call itself, in
    a round too early, while an earlier result was overwritten unread.
    """

    def __init__(self, fates: Fates[Any]) -> None:
        self._fates = fates
        #: by step: what it takes just as it was left, what that has taken so, and so on
        self._alone: list[int] = []
        for sources in fates.sources if fates.mixtures else ():
            found = 0
            for source in sources:
                found |= 0 if source is None else 1 << source | self._alone[source]
            self._alone.append(found)

    def found(self) -> Iterator[tuple[Step[Any], Step[Any], Step[Any]]]:
        """What takes the two, and what has left the second one, and the first one."""
        fates, steps = self._fates, self._fates.steps
        for mixture in fates.mixtures:
            reader = mixture.reader
            taken = fates.found[reader][mixture.operand]
            sure = all(steps[n].sure for n in (reader, *bits(taken)))
            if not sure or not fates.reached >> reader & 1:
                continue
            for over in bits(mixture.over & fates.surely[reader]):
                if self._is_for_another_round(mixture, over) and self._is_early(mixture, over):
                    yield steps[reader], steps[over], steps[mixture.step]

    def _is_for_another_round(self, mixture: Mixture, over: int) -> bool:
        return _are_of_other_parts(self._fates, mixture.step, over) and any(
            self._alone[n] >> over & 1 and not self._alone[n] >> mixture.step & 1
            for n in self._same_call(mixture.reader)
            if n != mixture.reader
        )

    def _is_early(self, mixture: Mixture, over: int) -> bool:
        """Whether it was written before the first result was read as it was meant to be."""
        fates = self._fates
        again = set(self._same_call(mixture.reader))
        before = {n for n, taken in enumerate(fates.taken[: over + 1]) if taken >> mixture.step & 1}
        return before <= again and (not before or self._loses(mixture.step))

    def _loses(self, step: int) -> bool:
        """Whether the call of a step has left something that the next one of it has filled before
        anything has read it."""
        fates = self._fates
        mine = set(self._same_call(step))
        lost = {n for n in mine if fates.filled.get(n) in mine}
        return any(not any(taken >> n & 1 for taken in fates.taken) for n in lost)

    def _same_call(self, number: int) -> Iterator[int]:
        """The steps of one call that surely are done."""
        call = self._fates.steps[number].operation.call
        for other, step in enumerate(self._fates.steps):
            if step.sure and step.operation.call == call:
                yield other


def _are_of_other_parts(fates: Fates[Any], one: int, other: int) -> bool:
    """Whether two results surely are made of inputs, and not of the same parts."""
    found = []
    for number in (one, other):
        behind = (fates.steps[n] for n in bits(fates.made_of[number] | 1 << number))
        found.append({(id(p.storage), id(p.begin)) for step in behind for p in step.loads})
    return all(found) and found[0] != found[1]


__all__ = ["Mixed"]
