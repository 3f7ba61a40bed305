"""What a sum holds behind a loop without order, where one iteration sets what another adds to.

Terms may come in any order, and that two iterations set the same elements is a fault of its own.
Behind the loop the sum holds what came after it was last set, and when that was nobody knows.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from rules.memory.cases import Copy, apart, before, common_loops, contains, copy, covered, dominates
from rules.memory.order import result_of, writing
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool
from verifier.symbolic.memory.index import Access, Index, Uses, tensor
from verifier.symbolic.memory.known import Known
from verifier.symbolic.tensors import Loop, LoopKind


class Winner(Struct, frozen=True, eq=False):
    """A read behind the loop of what ``first`` wrote in one iteration, ``second`` in a later one.

    It is right where ``predicate`` holds.
    """

    read: Access
    first: Access
    second: Access
    predicate: Bool
    given: tuple[Bool, ...]
    exact: bool


def winners(table: Index, uses: Uses, level: int) -> Iterator[Winner]:
    """What is read of what the last iteration of loops at a depth has left, whichever that is.

    Terms of a sum may come in any order, unless an iteration writes the sum anew.
    """
    anew = [write for write in uses.writes if not write.operation.adds]
    loops = {
        id(write.loops[level]): write.loops[level]
        for write in anew
        if level < len(write.loops)
        and write.loops[level].kind.unordered
        and write.loops[level] not in uses.storage.loops
    }
    for loop in loops.values():
        again = [write for write in anew if loop in write.loops]
        inside = [
            write
            for write in uses.writes
            if loop in write.loops
            and not result_of(table, write.operation, loop)
            and not any(_replaces(later, write, level) for later in again)
        ]
        pairs = [
            (first, second)
            for position, first in enumerate(inside)
            for second in inside[position:]
            if first.operation.adds != second.operation.adds
            and writing(table, first).needs_order(writing(table, second))
            and not seen_within(uses, again, second)
        ]
        around = again[0].loops[: level + 1]
        for read in (*uses.reads, *uses.targets) if pairs else ():
            if loop in read.loops:
                continue
            found = _left(table, anew, read, around)
            if found is None:
                continue
            shared, own, exact = found
            for first, second in pairs:
                yield _winner(read, first, second, (level, shared), own, exact)
                if first is not second:
                    yield _winner(read, second, first, (level, shared), own, exact)


def seen_within(uses: Uses, again: list[Access], write: Access) -> bool:
    """Whether each iteration reads first what it writes over: a carried dependence says it all."""
    return any(
        (read.operation is write.operation or dominates(read, write))
        and contains(read.view, write.view)
        and not any(own.order < read.order for own in again)
        for read in uses.reads
        if read.loops == write.loops and not read.operation.adds
    )


def _replaces(later: Access, write: Access, level: int) -> bool:
    """Whether a write comes after another one in each iteration and leaves nothing of it."""
    return (
        later.order > write.order
        and len(later.loops) > level
        and common_loops(later.loops, write.loops) == len(later.loops)
        and {id(condition) for condition in (*later.path, *later.given)}
        <= {id(condition) for condition in (*write.path, *write.given)}
        and contains(later.view, write.view)
    )


def _left(
    table: Index, anew: list[Access], read: Access, around: tuple[Loop, ...]
) -> tuple[int, Bool, bool] | None:
    """How many loops a read shares with what it finds, and when that was replaced in between.

    The last value: whether that is exact. None: nothing of the loop gets to the read.
    """
    begin, end = table.extent[id(around[-1])]
    shared = common_loops(read.loops, around)
    exact = shared == len(around) - 1
    if read.order > end:
        between = [write for write in anew if write.order > end]
    elif read.order < begin:
        # an iteration of a loop with order finds what the one before has left
        ordered = [
            level
            for level, loop in enumerate(around[:shared])
            if not loop.kind.unordered
            and loop.kind is not LoopKind.GRID
            and loop not in read.view.storage.loops
        ]
        if not ordered:
            return None
        shared, exact = ordered[0], False
        loop = around[shared]
        between = [write for write in anew if loop in write.loops]
    else:
        return None
    if any(dominates(w, read) and contains(w.view, read.view) for w in between):
        return None
    inside = shared if read.order > end else shared + 1
    own, own_exact, _ = covered(
        (way for write in between for way in before(write, read, inside=inside)),
        read.view,
        Known((*read.path, *read.ranges), read.loops),
    )
    return None if own is E.TRUE else (shared, own, exact and own_exact)


def _winner(
    read: Access,
    first: Access,
    second: Access,
    depths: tuple[int, int],
    own: Bool,
    exact: bool,
) -> Winner:
    level, shared = depths
    one = copy(first, shared, instance=tensor(read.view))
    if one is None:
        return Winner(read, first, second, E.TRUE, (), True)
    mine = one.private
    above = mine[0].index if shared == level and mine else None
    another = copy(second, shared, above=above, instance=tensor(read.view))
    if another is None:
        return Winner(read, first, second, E.TRUE, (), True)
    different, places = apart(one.view, another.view)
    elsewhere, place = apart(read.view, one.view)
    given = (*read.ranges, *one.ranges, *another.ranges, *_same_around(one, another, depths))
    predicate = E.or_(different, elsewhere, own)
    return Winner(read, first, second, predicate, given, exact and places and place)


def _same_around(one: Copy, another: Copy, depths: tuple[int, int]) -> Iterator[Bool]:
    """Both are in one iteration of the loops around; ``another`` is in a later one of the loop."""
    level, shared = depths
    count = level - shared
    if not count or min(len(one.private), len(another.private)) <= count:
        return
    for mine, its in zip(one.private[:count], another.private[:count], strict=True):
        yield E.eq(mine.index, its.index)
    yield E.lt(one.private[count].index, another.private[count].index)


__all__ = ["Winner", "seen_within", "winners"]
