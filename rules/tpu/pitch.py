"""Gaps between what is stored to a buffer of which no contract says how large it is.

Rows, or rounds of a loop, that are further apart than what is stored of each leave elements out, or
go along a buffer whose rows are longer than that: which of the two nobody says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from rules.tpu import flow
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.lanes import SystemTensor
from verifier.symbolic.tensors import Loop
from verifier.symbolic.trace import Operation


class _Step(Struct, frozen=True):
    """How far a store goes on, ``count`` times, in a ``loop`` or along an axis; in bytes.

    ``given``: that it does so once more.
    """

    length: Expr
    count: Expr
    given: Bool
    loop: Loop | None = None


class Pitch(Struct, frozen=True):
    """How far a store goes on, and the bytes that it stores there without a gap.

    ``loop``: from which to which round; None: from row to row. ``given``: that there is a next one.
    """

    loop: Loop | None
    step: Expr
    length: Expr
    without_gap: Bool
    given: tuple[Bool, ...]


def pitches(op: Operation, tensor: SystemTensor) -> Iterator[Pitch]:
    """What a store goes on by, unless it goes on right behind what is stored."""
    size = tensor.dtype.itemsize
    steps = [
        _Step(stride * size, count, E.ge(count, 2))
        for stride, count in zip(tensor.strides, tensor.shape, strict=True)
        if count is not E.const(1)
    ]
    for loop in op.loops:
        offset = tensor.address.offset
        further = E.Substitution({loop.symbol: loop.index + 1}).expr(offset) - offset
        if loop.symbol in further.free():
            return
        if further is not E.const(0):
            again = E.lt(loop.index + 1, loop.trips)
            steps.append(_Step(further, loop.trips, again, loop))
    length = size
    while (found := next((step for step in steps if step.length is length), None)) is not None:
        steps.remove(found)
        length = length * found.count
    for step in steps:
        between = (E.lt(other.length, step.length) for other in steps if other is not step)
        # what is stored otherwise may fill what lies between
        covered = E.or_(E.le(step.length, length), *between)
        given = (*flow.within(op.loops), step.given, E.ge(step.length, 1))
        yield Pitch(step.loop, step.length, length, covered, given)


def only_store(stores: Sequence[tuple[Operation, SystemTensor]]) -> Iterator[Pitch]:
    """Of a buffer to which one call alone stores: others may fill what lies between."""
    if len({op.span for op, _ in stores}) == 1:
        for op, tensor in stores:
            yield from pitches(op, tensor)


__all__ = ["Pitch", "only_store"]
