"""Rests of earlier rounds: what is computed beyond what a load has brought, or a result has.

A loop brings a part of an input to one place in each round, and the last part is smaller than the
others; or two inputs come to one place, and the second one is shorter. Behind the smaller part lies
what the load before has left. What is made of it element by element, and goes nowhere, is no fault;
what folds it into a number together with the part is, or adds it up. Where something else fills the
place in the loop, such as zeros for the rest, that is meant, as far as it does: a fill that begins
behind the part, ends before the reader does, or is done in other rounds only, leaves the rest to
be read. The largest and the smallest of numbers are the same if some of them come twice: nothing is
said of these. Nor is it where another factor is made in each round: it may have zeros there.

This is asked of any round, whose sizes have symbols: how much of a place is brought is a term, and
what is left beyond it a condition on the inputs. :mod:`rules.memory.fates` follows the same steps
where all places are known: who has left what there, whole results at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from rules.memory.beside import (
    Element,
    Follow,
    Placed,
    Region,
    Stale,
    adds,
    begins,
    brought_by,
    follows,
    is_load,
    is_result,
    lies_along,
    reaches,
    same_call,
    within,
    writes_anew,
)
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.memory.known import MOST_TURNS
from verifier.symbolic.tensors import Loop

#: why it is not known that there is a rest
UNSURE: Final = "whether something else fills the rest is not known"


def stale(
    steps: Sequence[Placed], element: Element, makes: Callable[[Placed], bool] = lambda step: False
) -> Iterator[Stale]:
    """One for each operand that may take a rest, as any round of its loop has it; ``makes``:
    whether what an operation computes is taken for a part that it brings."""
    rounds = _Rounds(steps)
    for load in steps:
        if not is_load(load) and not (is_result(load) and makes(load)):
            continue
        (region,) = load.writes
        for loop in load.operation.loops:
            sides = _tails(region, loop)
            if not sides or loop in region.loops or not rounds.differ(load, loop):
                continue
            body, turns = rounds.of(loop), _turns(region, loop)
            if turns and not is_load(load):
                continue
            sure = not turns or not any(_may_fill(step, load, turns) for step in body)
            again = [step for step in body if step is not load and writes_anew(step, region.place)]
            for front, tails in sides:
                if front and not is_load(load):
                    continue  # what it leaves in front may be what it has settled there
                later = [step for step in again if follows(step, load)]
                fills = [step for step in again if not follows(step, load)]
                behind = [step for step in body if follows(step, load)]
                valid = replace(brought_by(load, tails, fills, front=front), turns=turns)
                for found in Follow(element, body, load, later).taken(behind, valid):
                    yield _unless_less_before(replace(found, sure=sure), region, loop, front=front)
                if not front and not again and is_load(load):
                    ahead = _Ahead(steps, body, load, loop, sure)
                    yield from ahead.taken(element, tails, turns)
        if is_load(load):
            yield from _replaced(steps, load, element)


class _Rounds:
    """What is done in the rounds of loops."""

    def __init__(self, steps: Sequence[Placed]) -> None:
        self._steps = steps
        self._bodies: dict[Loop, list[Placed]] = {}
        #: places that hold something else in each round
        self._fresh: dict[Loop, set[int]] = {}

    def of(self, loop: Loop) -> list[Placed]:
        if loop not in self._bodies:
            self._bodies[loop] = [each for each in self._steps if loop in each.operation.loops]
        return self._bodies[loop]

    def differ(self, load: Placed, loop: Loop) -> bool:
        """Whether each round brings something else: another part, or what is made of one."""
        if is_load(load):
            return any(loop.symbol in part.begin.free() for part in load.loads)
        if loop not in self._fresh:
            fresh = self._fresh[loop] = set()
            for step in self.of(loop):
                if any(loop.symbol in part.begin.free() for part in step.loads) or any(
                    read.place in fresh for read in step.reads
                ):
                    fresh.update(written.place for written in step.writes)
        return any(read.place in self._fresh[loop] for read in load.reads)


def _tails(region: Region, loop: Loop) -> list[tuple[bool, list[int]]]:
    """The dimensions along which rounds bring parts of different sizes: such that begin at one
    element, and such that end at one, so that the rest lies in front (True)."""
    symbol = loop.symbol
    sized = [k for k, size in enumerate(region.sizes) if symbol in size.free()]
    fixed = (*region.begin, *region.pitch)
    if not any(symbol in term.free() for term in fixed) or _turns(region, loop):
        return [(False, sized)] if sized else []
    moved = [k for k, begin in enumerate(region.begin) if symbol in begin.free()]
    if len(region.begin) != len(region.sizes) or any(symbol in t.free() for t in region.pitch):
        return []
    if any(symbol in region.end(k).free() for k in moved):
        return []
    left = [k for k in sized if k not in moved]
    return [(front, found) for front, found in ((False, left), (True, moved)) if found]


class _Ahead(NamedTuple):
    """A load that a round may do for a later one; ``body``: what its ``loop`` does."""

    steps: Sequence[Placed]
    body: Sequence[Placed]
    load: Placed
    loop: Loop
    sure: bool

    def taken(
        self, element: Element, tails: Sequence[int], turns: frozenset[int]
    ) -> Iterator[Stale]:
        """What takes rests of such loads as an earlier round than its own has done, for it."""
        (region,), loop = self.load.writes, self.loop
        period = _period([term for term in region.begin if loop.symbol in term.free()], loop)
        for age in range(1, period + 1):
            ago = E.Substitution({loop.symbol: loop.index - age})
            begin = tuple(map(ago.expr, region.begin))
            moved = replace(
                region,
                place=region.place if len(begin) == len(region.sizes) else id(begin[0]),
                begin=begin,
                sizes=tuple(map(ago.expr, region.sizes)),
                instance=tuple(map(ago.expr, region.instance)),
            )
            done = (E.ge(loop.index, age), *map(ago.bool, self.load.operation.path))
            then = replace(self.load, writes=(moved,))
            behind = [s for s in self.body if age < period or follows(self.load, s)]
            valid = replace(brought_by(then, tails, []), turns=turns)
            for found in Follow(element, self.body, then, given=True).taken(behind, valid):
                yield from self._unless_less(replace(found, sure=self.sure, given=done), moved, age)

    def _unless_less(self, found: Stale, moved: Region, age: int) -> Iterator[Stale]:
        """A rest is there if an earlier round has brought more, or a load before the loop."""
        (region,), loop = self.load.writes, self.loop
        earlier = E.fresh(f"earlier {loop.name or 'i'}", 0, loop.symbol.hi, E.Origin.POINT)
        put = E.Substitution({loop.symbol: earlier})
        before = (E.lt(earlier, loop.index - age), *map(put.bool, self.load.operation.path))
        end = put.expr(region.end(found.tail))
        yield _less(found, moved, end, map(put.expr, region.begin), before)
        for first in self.steps:
            if _begins_with(first, self.load, loop, self.steps):
                (its,) = first.writes
                yield _less(found, moved, its.end(found.tail), its.begin, ())


def _less(
    found: Stale, region: Region, end: Expr, begin: Iterable[Expr], given: tuple[Bool, ...]
) -> Stale:
    """A rest is there if another load has brought more to the same place."""
    other = (E.ne(a, b) for a, b in zip(begin, region.begin, strict=True))
    fine = E.or_(E.le(end, region.end(found.tail)), *other)
    return replace(found.unless(fine), given=(*found.given, *given))


def _begins_with(first: Placed, load: Placed, loop: Loop, steps: Sequence[Placed]) -> bool:
    """Whether a load before a loop brings the first part of what a load in it goes on with."""
    if not is_load(first) or loop in first.operation.loops or not follows(load, first):
        return False
    (its,), (region,) = first.writes, load.writes
    if [id(part.storage) for part in first.loads] != [id(part.storage) for part in load.loads]:
        return False
    alike = len(its.begin) == len(region.begin) and len(its.sizes) == len(region.sizes)
    between = (
        step
        for step in steps
        if follows(step, first) and follows(load, step) and loop not in step.operation.loops
    )
    filled = any(
        not any(E.ne(a, b) is E.TRUE for a, b in zip(w.begin, its.begin, strict=False))
        for step in between
        for w in step.writes
    )
    held = set(first.operation.path) <= set(load.operation.path)
    return alike and held and not filled and its.pitch == region.pitch


def _period(turning: Sequence[Expr], loop: Loop) -> int:
    """After how many rounds a load comes to the same place again; 0: never."""
    for k in range(1, MOST_TURNS + 1):
        put = E.Substitution({loop.symbol: loop.index + k})
        if all(put.expr(term) is term for term in turning):
            return k
    return 0


def _turns(region: Region, loop: Loop) -> frozenset[int]:
    """The dimensions along which a load comes to few places in turn, round by round of a loop;
    empty: it comes to one, or to others all the time."""
    symbol = loop.symbol
    turning = [term for term in region.begin if symbol in term.free()]
    if any(symbol in term.free() for term in region.pitch) or not _period(turning, loop):
        return frozenset()
    return frozenset(k for k, term in enumerate(region.begin) if symbol in term.free())


def _may_fill(step: Placed, load: Placed, turns: frozenset[int]) -> bool:
    """Whether something is written to one of the places that a load comes to in turn, and it is not
    known that it is the one of the round."""
    (region,) = load.writes
    for written in step.writes if step is not load else ():
        pairs = [(written.begin[k], region.begin[k]) for k in turns if k < len(written.begin)]
        same = written.place == region.place and len(written.begin) == len(region.begin)
        if same and all(a is b for a, b in pairs):
            continue
        beside = len(region.begin) == len(region.sizes) and written.place != region.place
        if not beside and not any(E.ne(a, b) is E.TRUE for a, b in pairs):
            return True
    return False


def _unless_less_before(found: Stale, region: Region, loop: Loop, *, front: bool) -> Stale:
    """A rest is there if an earlier round has brought more, to the same tensor."""
    earlier = E.fresh(f"earlier {loop.name or 'i'}", 0, loop.symbol.hi, E.Origin.POINT)
    put = E.Substitution({loop.symbol: earlier})
    tail = found.tail
    before = replace(
        region, begin=tuple(map(put.expr, region.begin)), sizes=tuple(map(put.expr, region.sizes))
    )
    less = [reaches(before, region, tail, front=front)]
    if front and found.read.place == region.place:
        less.append(E.le(found.read.end(found.axis), before.begin[tail]))
    named = region.instance if front else (*region.instance, *region.begin)
    other = (E.ne(put.expr(term), term) for term in named)
    given = (E.lt(earlier, loop.index), *map(put.bool, found.load.operation.path))
    return replace(found.unless(*less, *other), given=given)


def _replaced(steps: Sequence[Placed], load: Placed, element: Element) -> Iterator[Stale]:
    """Rests of another load in the same round, whose data was used by itself before."""
    (region,) = load.writes
    for first in steps:
        if not is_load(first) or not follows(load, first) or first.writes[0].place != region.place:
            continue
        other, around = first.writes[0], first.operation.loops
        if around != load.operation.loops or not set(first.operation.path) <= set(
            load.operation.path
        ):
            continue
        if begins(first) == begins(load):
            continue
        tails = _smaller(region, other)
        between = [step for step in steps if follows(step, first) and follows(load, step)]
        if not tails:
            continue
        if not any(_takes(read, other, tails) for step in between for read in step.reads):
            continue
        valid = brought_by(
            load, tails, [step for step in between if writes_anew(step, region.place)]
        )
        behind = [
            step
            for step in steps
            if follows(step, load) and step.operation.loops[: len(around)] == around
        ]
        for found in Follow(element, steps, load).taken(behind, valid):
            yield found.unless(E.le(other.end(found.tail), region.end(found.tail)))


def _smaller(region: Region, other: Region) -> list[int]:
    """The dimensions along which a load may bring less to the beginning of a place than another."""
    if region.instance != other.instance or len(region.sizes) != len(other.sizes):
        return []
    if any(a is not b for a, b in zip(region.begin, other.begin, strict=True)):
        return []
    pairs = enumerate(zip(region.sizes, other.sizes, strict=True))
    return [k for k, (mine, its) in pairs if E.le(its, mine) is not E.TRUE]


def _takes(read: Region, region: Region, tails: Sequence[int]) -> bool:
    """Whether an operand reads all that a load has brought."""
    if read.place != region.place or len(read.sizes) != len(region.sizes):
        return False
    return all(E.le(region.end(k), read.end(k)) is E.TRUE for k in tails)


def stale_in_order(steps: Sequence[Placed], element: Element) -> Iterator[Stale]:
    """As :func:`stale`, of the operations of a run one after the other."""
    before: dict[int, _Last] = {}
    for position, step in enumerate(steps):
        for region in step.writes:
            last = before.get(region.place)
            again = last is not None and is_load(step) and _goes_on(last.load, step, steps)
            if last is not None and not again and writes_anew(step, region.place):
                if _leaves(region, last):
                    last.fills.append(step)
                else:
                    before.pop(region.place)
            if not is_load(step):
                continue
            if last is None or not again:
                before[region.place] = _Last(step, region.sizes, [])
                continue
            most = tuple(map(E.maximum, region.sizes, last.most))
            before[region.place] = _Last(step, most, [])
            pairs = enumerate(zip(region.sizes, most, strict=True))
            smaller = [k for k, (its, other) in pairs if its is not other]
            moved = {k for k in smaller if _ends_alike(region, last.load.writes[0], k)}
            for front in (False, True):
                tails = [k for k in smaller if (k in moved) is front]
                valid = brought_by(step, tails, last.fills, front=front)
                yield from Follow(element, steps, step).taken(steps[position + 1 :], valid)


def _ends_alike(one: Region, other: Region, axis: int) -> bool:
    """Whether two parts of a place end at one element along a dimension and begin at others."""
    if not len(one.begin) == len(one.sizes) == len(other.begin):
        return False
    return one.begin[axis] is not other.begin[axis] and one.end(axis) is other.end(axis)


class _Last(NamedTuple):
    """The last load to a place: the most that loads have brought since something else was written
    over all of it, and what was ``fills`` of a part of it since."""

    load: Placed
    most: tuple[Expr, ...]
    fills: list[Placed]


def _leaves(fill: Region, last: _Last) -> bool:
    """Whether something is written over less than what loads have brought to a place."""
    loaded = next(each for each in last.load.writes if each.place == fill.place)
    if not lies_along(fill, loaded):
        return False
    whole = replace(loaded, sizes=last.most)
    return any(within(whole, fill, k) is not E.TRUE for k in range(len(whole.sizes)))


def _goes_on(last: Placed, step: Placed, steps: Sequence[Placed]) -> bool:
    """Whether a load brings another part of what the last one there has brought: by the same call,
    or behind what has taken all of that."""
    if same_call(last, step):
        return True
    first, then = begins(last), begins(step)
    if first == then or [tensor for tensor, _ in first] != [tensor for tensor, _ in then]:
        return False
    (region,) = last.writes
    between = (each for each in steps if follows(each, last) and follows(step, each))
    axes = range(len(region.sizes))
    return any(_takes(read, region, axes) for each in between for read in each.reads)


__all__ = ["UNSURE", "Placed", "Region", "Stale", "adds", "stale", "stale_in_order"]
