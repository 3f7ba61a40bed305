"""Loads that overwrite a part of what another one has brought, before anything has read it.

Each of two loads brings a part of an input to a place of its own. If the places overlap, and
neither has all of the other, what lies in both was meant twice: one of the parts is destroyed,
whatever function takes both together. It is none of that if they bring the same elements there.
"""

from __future__ import annotations

from collections.abc import Iterator

from rules.memory.cases import common_loops
from rules.tpu import flow, kit
from rules.tpu.flow import Use
from rules.tpu.kit import function
from rules.tpu.runs import meet
from verifier.hardware.chips import Chip
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.lanes import LocalTensor, SystemTensor
from verifier.symbolic.trace import Trace


def crossed(trace: Trace, chip: Chip) -> Iterator[Check]:
    """One check for each load that destroys a part of another one, where places are numbers."""
    if trace.unmodelled:
        return
    table = flow.uses(trace)
    loads = [write for write in table.writes if kit.loaded(write.operation) is not None]
    told: set[int] = set()
    for position, first in enumerate(loads):
        held = {id(fact) for fact in first.path}
        for second in loads[position:]:
            if second.loops != first.loops or any(id(fact) not in held for fact in second.path):
                continue
            found = _crosses(chip, first, second)
            if found is None or id(second.operation) in told:
                continue
            if any(_between(chip, read, first, second) for read in table.reads):
                continue
            if any(_behind(chip, read, first, second) for read in table.reads):
                told.add(id(second.operation))
                yield _told(first, second, found)


def _crosses(chip: Chip, first: Use, second: Use) -> tuple[Bool, ...] | None:
    """What has to hold for the second one to destroy a part of the first; None: it does not."""
    one, other = first.tensor, second.tensor
    mine, theirs = kit.loaded(first.operation), kit.loaded(second.operation)
    assert mine is not None and theirs is not None
    given: tuple[Bool, ...] = ()
    if first is second:
        if not first.loops:
            return None
        loop = first.loops[-1]
        now, then = (E.Substitution({loop.symbol: E.const(k)}) for k in (0, 1))
        one, other = one.at(now), other.at(then)
        mine, theirs = mine.at(now), theirs.at(then)
        if any(loop.symbol in fact.free() for fact in first.path):
            return None
        given = (E.ge(loop.trips, 2), E.lt(loop.index, 1))
    if kit.places_apart(chip, kit.block(chip, one), kit.block(chip, other)) is E.TRUE:
        return None
    contained = kit.holds_all(chip, one, other) or kit.holds_all(chip, other, one)
    if contained or _same_elements(chip, one, other, mine, theirs):
        return None
    return given if meet(chip, one, other) is True else None


def are_of_one_input(chip: Chip, first: Use, second: Use) -> bool:
    """Whether two loads bring parts of one tensor, and other elements to the place they share."""
    mine, theirs = kit.loaded(first.operation), kit.loaded(second.operation)
    if mine is None or theirs is None or mine.address.storage is not theirs.address.storage:
        return False
    return not _same_elements(chip, first.tensor, second.tensor, mine, theirs)


def _same_elements(
    chip: Chip, one: LocalTensor, other: LocalTensor, mine: SystemTensor, theirs: SystemTensor
) -> bool:
    """Whether both may bring the same elements to the place that they share: some steps along an
    axis lie between the two places, and as many between what is brought there."""
    if mine.address.storage is not theirs.address.storage:
        return False
    far = other.address - one.address
    away = theirs.address.offset - mine.address.offset
    channel = mine.strides[1] * mine.dtype.itemsize
    if far * channel is away * chip.local_bytes:  # each channel has a lane
        return True
    return any(_fits(far, away, a, b) for a, b in zip(one.strides, mine.strides, strict=True))


def _fits(far: Expr, away: Expr, step: Expr, source: Expr) -> bool:
    """Whether so many steps of an axis lie between two places and between what is brought there."""
    return far * source is away * step


def _between(chip: Chip, read: Use, first: Use, second: Use) -> bool:
    """Whether a read may come to what the first one has brought before the second does."""
    inside = first is second and common_loops(read.loops, first.loops) == len(first.loops)
    between = inside or first.order < read.order < second.order
    return between and _comes_to(chip, read, first)


def _behind(chip: Chip, read: Use, first: Use, second: Use) -> bool:
    """Whether a read behind both takes something of the first one that the second one leaves."""
    behind = read.order >= second.order and not _within(chip, read, second)
    return behind and _comes_to(chip, read, first)


def _comes_to(chip: Chip, read: Use, first: Use) -> bool:
    """Whether a read may be where the first one writes, in whichever rounds they are."""
    found, every = flow.anywhere(read, 0), flow.anywhere(first, 0)
    if found is None or every is None:
        return False
    places = kit.block(chip, found.tensor), kit.block(chip, every.tensor)
    return kit.places_apart(chip, *places) is not E.TRUE


def _within(chip: Chip, read: Use, second: Use) -> bool:
    """Whether all that is read lies in what the second one brings, or in gaps of it."""
    outer, inner = second.tensor, read.tensor
    return kit.holds_all(chip, outer, inner) or kit.fills_all(chip, outer, inner)


def _told(first: Use, second: Use, given: tuple[Bool, ...]) -> Check:
    name = function(second.operation)
    return Check(
        predicate=E.FALSE,
        span=second.span,
        text=f"`{name}` leaves what `{function(first.operation)}` has brought as it is",
        message=f"`{name}` overwrites part of what `{function(first.operation)}` has brought, "
        "which nothing has read",
        facts=("ADR-11", "BUG-03"),
        given=(*given, *second.within),
        values=(
            ("address of the first", first.tensor.address),
            ("address of the second", second.tensor.address),
        ),
        notes=(Note(first.span, "this was loaded before"),),
        help=("place the tensors so that each ends before the next begins",),
        path=second.path,
        order=second.order,
    )


__all__ = ["are_of_one_input", "crossed"]
