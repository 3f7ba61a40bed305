"""What the last round of a loop leaves for a next one that does not come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from rules.memory.fates import Meets
from rules.memory.steps import Call, Step
from verifier.symbolic.trace import Operation, Round

PlaceT = TypeVar("PlaceT")


def carried(
    operations: Sequence[Operation],
    steps_of: Callable[[Sequence[Operation]], Sequence[Step[PlaceT]]],
    places: Meets[PlaceT],
) -> set[Call]:
    """The calls of which a next round may read a result, in loops that are gone round by round."""
    last: dict[tuple[object, ...], Round] = {}
    for op in operations:
        for depth, round_ in enumerate(op.rounds):
            last[(*op.rounds[:depth], round_.loop)] = round_
    out: set[Call] = set()
    for (*around, _), round_ in last.items():
        inside = (*around, round_)
        group = [op for op in operations if op.rounds[: len(inside)] == inside]
        steps = steps_of(group)
        out |= {step.operation.call for n, step in enumerate(steps) if _goes_on(n, steps, places)}
    return out


def _goes_on(number: int, steps: Sequence[Step[PlaceT]], places: Meets[PlaceT]) -> bool:
    """Whether another call of a round may read what this one has left there in the round before."""
    step = steps[number]
    for written in step.writes:
        if any(_fills(later, written, places) for later in steps[number + 1 :]):
            continue
        for before in steps[: number + 1]:
            reads = any(places.meet(read, written) for read in before.reads)
            if reads and before.operation.call != step.operation.call:
                return True
            if _fills(before, written, places):
                break
    return False


def _fills(step: Step[PlaceT], place: PlaceT, places: Meets[PlaceT]) -> bool:
    return step.sure and any(places.fills(written, place) for written in step.writes)


__all__ = ["carried"]
