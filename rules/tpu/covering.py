"""Which bytes of local memory were written, where all places are plain numbers.

Whole tensors are compared by the bytes from their first to their last one; with plain numbers it is
told byte by byte what strides leave out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise

from rules.tpu import kit
from rules.tpu.flow import Use
from rules.tpu.runs import Line, Run, runs
from verifier.hardware.chips import Chip
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.lanes import LocalTensor, Quad
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


def _lines(chip: Chip, part: Bool, element: Quad, tensor: LocalTensor) -> list[Line] | None:
    """The rows of a channel, with the columns of which ``part`` holds; None: that does not say it.

    ``part`` is as of any ``element``.
    """
    row, column = (axis.as_atom() for axis in element[2:])
    rows, columns = tensor.shape[2:]
    assert isinstance(row, E.Sym) and isinstance(column, E.Sym)
    if not (rows.is_const and columns.is_const and set(part.free()) <= {row, column}):
        return None
    if rows.const * columns.const > chip.local_bytes:
        return None

    @cache
    def spans(formula: Bool) -> list[tuple[int, int]]:
        put = (E.Substitution({column: E.const(at)}) for at in range(columns.const))
        taken = [each.bool(formula) is E.TRUE for each in put]
        edges = [k for k, (a, b) in enumerate(pairwise((False, *taken, False))) if a is not b]
        return list(zip(edges[::2], edges[1::2], strict=True))

    return [
        (at, *span)
        for at in range(rows.const)
        for span in spans(E.Substitution({row: E.const(at)}).bool(part))
    ]


def _runs(chip: Chip, use: Use) -> list[Run] | None:
    """The bytes that a use takes; None where that cannot be told by numbers."""
    role = kit.described(use.operation).role(use.touch.role)
    placed = role.placed if role is not None else None
    if placed is None or not placed.columns:
        if placed is not None and placed.layout == "2ic":
            return None
        element = kit.any_element()
        part = use.part(element)
        if part is E.TRUE:
            return runs(chip, use.tensor)
        lines = None if part is None else _lines(chip, part, element, use.tensor)
        return None if lines is None else runs(chip, use.tensor, lines=lines)
    columns = use.operation.value(placed.columns)
    if not isinstance(columns, Expr) or not columns.is_const:
        return None
    return runs(chip, use.tensor, columns.const)
