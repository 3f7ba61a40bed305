"""Results of a round of a loop that the next round overwrites, and only the last of which is read.

What every round makes of data of its own at one place, and nothing in the loop reads, is lost but
for the last one. A result that hangs on earlier rounds is not: what was read of them is in it. Nor
is one that does not hang on the round: the same is made again.
"""

from __future__ import annotations

from collections.abc import Iterator

from rules.memory.cases import common_loops
from rules.tpu import flow, kit, written
from rules.tpu.flow import Use
from rules.tpu.kit import function, words
from rules.tpu.results import Results
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.lanes import SystemTensor
from verifier.symbolic.memory.known import Known
from verifier.symbolic.tensors import Loop


def last_alone(results: Results) -> Iterator[Check]:
    """One check per result of a loop of which the last one alone is read, behind the loop."""
    for write in results.made:
        if write.loops and _is_again(write, write.loops[-1]):
            found = _read_behind(results, write)
            if found is not None and _own(results, write, write.loops[-1], {}):
                yield _told(write, found)


def _is_again(write: Use, loop: Loop) -> bool:
    """Whether each round of a loop fills one place, from its first element on."""
    terms: list[Expr | Bool] = [write.tensor.address, *write.path]
    return not any(loop.symbol in term.free() for term in terms)


def _in_each_round(results: Results, write: Use, read: Use, loop: Loop) -> bool:
    """Whether each round that does something fills all of what is read behind the loop, if it does
    not fill the same in all rounds."""
    tensor = write.tensor
    if not any(loop.symbol in term.free() for term in (*tensor.shape, *tensor.strides)):
        return True
    known = Known(kit.nonempty(tensor.shape))
    return known.decide(kit.fills(results.chip, tensor, read.tensor)) is True


def _read_behind(results: Results, write: Use) -> Use | None:
    """The first read behind the loop, if nothing else in the loop comes to the place, and what is
    read is of the last round alone."""
    depth, behind = len(write.loops), None
    for use in (*results.table.reads, *results.table.writes, *results.table.destroyed):
        found = None if use is write else flow.anywhere(use, depth - 1)
        if found is None or results.apart(write, found):
            continue
        if common_loops(use.loops, write.loops) == depth:
            return None
        if use.touch.reads and use.order > write.order:
            if not _in_each_round(results, write, use, write.loops[-1]):
                return None
            behind = behind or use
    return behind


def _own(results: Results, write: Use, loop: Loop, seen: dict[int, bool]) -> bool:
    """Whether a result is made of what was loaded in its round, of a part of its own, and nothing
    of what other rounds have left."""
    if id(write) not in seen:
        seen[id(write)] = _is_own(results, write, loop, seen)
    return seen[id(write)]


def _is_own(results: Results, write: Use, loop: Loop, seen: dict[int, bool]) -> bool:
    op = write.operation
    found = any(
        touch.reads
        and isinstance(touch.tensor, SystemTensor)
        and loop.symbol in touch.tensor.address.offset.free()
        for touch in op.touches
    )
    for read in (read for read in results.table.reads if read.operation is op):
        near = [
            use for use in results.table.writes if loop in use.loops and _meets(results, use, read)
        ]
        before = [use for use in near if use.order < read.order and use.loops == read.loops]
        last = before[-1] if before else None
        if last is None and not near:
            continue
        if last is None or not _fills(results, last, read):
            return False
        found = _own(results, last, loop, seen) or found
        if any(use.loops != read.loops for use in near):
            return False
    return found


def _meets(results: Results, use: Use, read: Use) -> bool:
    found = flow.anywhere(use, 0)
    return found is not None and not results.apart(read, found)


def _fills(results: Results, write: Use, read: Use) -> bool:
    held = {id(fact) for fact in read.path}
    if not all(id(fact) in held for fact in write.path):
        return False
    if kit.fills_all(results.chip, write.tensor, read.tensor):
        return True
    point = written.point_of(results.chip, read, [write])
    same_round = (way for way, _ in written.ways(write, read, len(read.loops)))
    return point is not None and written.there(results.chip, point, same_round)[0] is E.TRUE


def _told(write: Use, read: Use) -> Check:
    name, loop = function(write.operation), write.loops[-1]
    what = f"{words(write.touch.role)} of `{name}`"
    return Check(
        predicate=E.le(loop.trips, 1),
        span=write.span,
        text=f"something reads {what} in each round",
        message=f"{what} is overwritten by `{name}` before anything has read it",
        facts=("OKK-X07", "ADR-11"),
        given=write.within,
        notes=(
            Note(write.span, "overwritten in the next round of the loop"),
            Note(read.span, "only what the last round has left is read"),
        ),
        help=("add up the rounds, or use what each of them makes",),
        path=write.path,
        order=write.order,
    )
