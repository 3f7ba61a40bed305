"""Which bytes of local memory were written, where all places are plain numbers.

Whole tensors are compared by the bytes from their first to their last one; with plain numbers it is
told byte by byte what strides leave out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rules.tpu import kit
from rules.tpu.flow import Use
from rules.tpu.runs import Run, runs
from verifier.hardware.chips import Chip
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.memory.lives import exclusive


def leaves_out(chip: Chip, read: Use, writes: Sequence[Use]) -> bool | None:
    """Whether something of a read was not written before; None: it cannot be told by numbers."""
    wanted = _runs(chip, read)
    if wanted is None or read.loops:
        return None
    there: list[Run] = []
    place = kit.block(chip, read.tensor)
    held = {id(fact) for fact in read.path}
    for write in writes:
        if write.order >= read.order or exclusive(write.path, read.path):
            continue
        if kit.places_apart(chip, kit.block(chip, write.tensor), place) is E.TRUE:
            continue
        found = _runs(chip, write)
        if found is None or write.loops or any(id(fact) not in held for fact in write.path):
            return None
        there += found
    edges = sorted({edge for run in (*wanted, *there) for edge in (run.first, run.last)})
    return any(_gap(lane, wanted, there) for lane in edges[:-1])


def _gap(lane: int, wanted: Sequence[Run], there: Sequence[Run]) -> bool:
    """Whether some bytes of a lane are wanted and not there."""
    needed = sorted((run.start, run.end) for run in wanted if run.first <= lane < run.last)
    given = iter(_joined(sorted((r.start, r.end) for r in there if r.first <= lane < r.last)))
    begin = end = -1
    for first, last in needed:
        while end < last:
            found = next(given, None)
            if found is None:
                return True
            begin, end = found
        if first < begin:
            return True
    return False


def _joined(runs: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Runs in order, those that touch as one."""
    begin = end = -1
    for first, last in runs:
        if first > end:
            if begin >= 0:
                yield begin, end
            begin = first
        end = max(end, last)
    if begin >= 0:
        yield begin, end


def _runs(chip: Chip, use: Use) -> list[Run] | None:
    """The bytes that a use takes; None where that cannot be told by numbers."""
    role = kit.described(use.operation).role(use.touch.role)
    placed = role.placed if role is not None else None
    if placed is None or not placed.columns:
        return None if placed is not None and placed.layout == "2ic" else runs(chip, use.tensor)
    columns = use.operation.value(placed.columns)
    if not isinstance(columns, Expr) or not columns.is_const:
        return None
    return runs(chip, use.tensor, columns.const)
