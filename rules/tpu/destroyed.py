"""Work tensors: what a function leaves in them means nothing (OKK-E01, OKK-E02)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from rules.memory.cases import common_loops
from rules.tpu import covering, flow, kit
from rules.tpu.flow import Instance, Use
from rules.tpu.kit import function, words
from verifier.hardware.chips import Chip
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.expr import Bool
from verifier.symbolic.lanes import LocalTensor
from verifier.symbolic.memory.lives import exclusive


class _Before(Struct, frozen=True):
    """A use as a work tensor before a read: in the same iteration of the loops that both are in
    (``level`` None), or in an earlier one of the loop at that level."""

    work: Instance
    level: int | None


def read_of_destroyed(
    chip: Chip, read: Use, depth: int, since: int, works: Sequence[Use], writes: Sequence[Use]
) -> Iterator[Check]:
    """Per use as a work tensor before a read: it leaves what is read alone, or that was written
    again.

    All that is read was written last in the same iteration of the outer ``depth`` loops, by the
    operation of order ``since``; with 0 and -1 nothing is known of that.
    """
    for use in works:
        if use.order <= since or (use.operation is read.operation and not use.loops):
            continue
        for before in _before(use, read, depth):
            disjoint, ranges = kit.apart(chip, before.work.tensor, read.tensor)
            if disjoint is E.TRUE:
                continue
            between = [
                write
                for write in writes
                if _between(write, before, read)
                and _apart(chip, write.tensor, read.tensor) is not E.TRUE
            ]
            again, exact = _written_again(chip, read, before, between)
            predicate = E.or_(disjoint, again)
            if predicate is not E.TRUE:
                yield _check(chip, read, before.work, predicate, ranges, exact)


def _before(work: Use, read: Use, kept: int) -> Iterator[_Before]:
    common = common_loops(work.loops, read.loops)
    if work.order < read.order and not exclusive(work.path, read.path):
        found = flow.anywhere(work, common)
        if found is not None:
            yield _Before(found, None)
    for level in range(kept, common):
        put, loops = flow.fresh(work, level)
        found = flow.at(work, put, E.lt(put.expr(loops[0].index), loops[0].index))
        if found is not None:
            yield _Before(found, level)


def _written_again(
    chip: Chip, read: Use, before: _Before, between: Sequence[Use]
) -> tuple[Bool, bool]:
    """When what is read was written after a use as a work tensor, and if that is exact.

    ``between``: the writes in between that may touch what is read.

    Several writes together are followed where all places are plain numbers; writes in some
    iterations only are not.
    """
    conditions = {id(fact) for fact in read.path} | {id(E.TRUE)}
    if not before.work.use.loops and kit.fills_all(chip, before.work.tensor, read.tensor):
        left_out = covering.leaves_out(chip, read, between)
        if left_out is not None:
            return E.truth(not left_out), True
    cases: list[Bool] = []
    for write in between:
        sure = (
            write.order < read.order
            and common_loops(write.loops, read.loops) == len(write.loops)
            and (before.level is not None or write.order >= before.work.use.order)
            and all(id(fact) in conditions for fact in write.path)
        )
        if not sure:
            continue
        places = (read.tensor, before.work.tensor)
        reaches = flow.reaches(write, read)
        if reaches is E.TRUE and any(kit.fills_all(chip, write.tensor, p) for p in places):
            return E.TRUE, True
        cases.append(E.and_(reaches, kit.fills(chip, write.tensor, read.tensor)))
    return E.or_(*cases), not between


def _between(write: Use, before: _Before, read: Use) -> bool:
    """Whether some instance of a write may lie between the two."""
    work = before.work.use
    common = common_loops(work.loops, read.loops)
    inner = common_loops(write.loops, read.loops)
    if before.level is not None:
        return inner > before.level
    return (
        work.order <= write.order < read.order  # a result over its own work tensor comes last
        or inner > common
        or common_loops(write.loops, work.loops) > common
    )


def _apart(chip: Chip, one: LocalTensor, other: LocalTensor) -> Bool:
    return kit.places_apart(chip, kit.block(chip, one), kit.block(chip, other))


def _check(
    chip: Chip,
    read: Use,
    work: Instance,
    predicate: Bool,
    ranges: tuple[Bool, ...],
    exact: bool,
) -> Check:
    role, name = words(read.touch.role), function(read.operation)
    used, by = words(work.use.touch.role), function(work.use.operation)
    return Check(
        predicate=predicate,
        span=read.span,
        text=f"{used} of `{by}` leaves {role} of `{name}` alone, or it is written again",
        message=f"{role} of `{name}` is read, but `{by}` used the place for intermediate results",
        facts=("OKK-E01", "OKK-E02", "ADR-07"),
        given=(*ranges, *work.facts, *read.within),
        values=(
            (f"{used} address", work.tensor.address),
            (f"{role} address", read.tensor.address),
        ),
        notes=(Note(work.use.span, f"a work tensor of `{by}`: what was in it is gone"),),
        help=("give the function a work tensor of its own, or read before it is called",),
        exact=exact,
        reason="" if exact else "whether it was written again is not known exactly",
        path=read.path,
        order=read.order,
    )
