"""Rests of earlier rounds: what is computed beyond what a load has brought.

A loop brings a part of an input to one place in each round, and the last part is smaller than the
others; or two inputs come to one place, and the second one is shorter. Behind the smaller part lies
what the load before has left. What is made of it element by element, and goes nowhere, is no fault;
what folds it into a number together with the part is, or adds it up. Where something else fills the
place in the loop, such as zeros for the rest, that is meant; but not what is filled only as far as
the load brings, or in other rounds. The largest and the smallest of numbers are the same if some of
them come twice: nothing is said of these. Nor is it where another factor is made in each round: it
may have zeros there.

This is asked of any round, whose sizes have symbols: how much of a place is brought is a term, and
what is left beyond it a condition on the inputs. :mod:`rules.memory.fates` follows the same steps
where all places are known: who has left what there, whole results at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from rules.memory.reading import place_in
from rules.memory.steps import Step
from verifier.hardware.engines import Engine
from verifier.symbolic import expr as E
from verifier.symbolic.effects import ALL, Carried, Decides, Folded, Index, Line, Reads
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.instruction import Trait
from verifier.symbolic.memory.known import MOST_TURNS
from verifier.symbolic.tensors import Loop
from verifier.symbolic.trace import Operation
from verifier.symbolic.values import Enumerator

#: the coordinates of any element of what an operation writes to a role
Element: TypeAlias = Callable[[Operation, str], Index]

#: why it is not known that there is a rest
UNSURE: Final = "whether something else fills the rest is not known"

#: operators whose result is the same if some of what they fold comes twice
_PICKING: Final = frozenset({"maximum", "minimum", "max", "min", "logical_and", "logical_or"})
#: operators that add up, whatever there is on the other side
_ADDING: Final = frozenset({"add", "subtract"})


class Region(Struct, frozen=True):
    """What an operand takes: where it begins, how much of each dimension, and how far apart.

    ``place``: the tensor that it is part of, or the place. ``loops``: those that it is made in.
    ``instance``: which of the tensors made there. ``axes``: by dimension, which axis of the operand
    goes along it; empty: the one of that number.
    """

    role: str
    place: int
    begin: tuple[Expr, ...]
    sizes: tuple[Expr, ...]
    pitch: tuple[Expr, ...] = ()
    loops: tuple[Loop, ...] = ()
    instance: tuple[Expr, ...] = ()
    axes: tuple[int | None, ...] = ()
    #: it holds one number everywhere, which is not zero
    filled: bool = False

    def end(self, dimension: int) -> Expr:
        """Where it ends along a dimension; of a place without dimensions, counted from its own
        beginning."""
        if len(self.begin) != len(self.sizes):
            return self.sizes[dimension]
        return self.begin[dimension] + self.sizes[dimension]

    def axis(self, dimension: int) -> int | None:
        return self.axes[dimension] if self.axes else dimension


#: an operation that reads and writes parts of places on chip
Placed: TypeAlias = Step[Region]


class Stale(Struct, frozen=True):
    """An operation takes a rest of an earlier load, unless ``fine``; ``given``: what holds of the
    symbols that ``fine`` has besides.

    ``tail``: the dimension of the load that ``axis`` is made of. ``sure``: nothing else may fill
    the rest.
    """

    step: Placed
    read: Region
    load: Placed
    axis: int
    tail: int
    size: Expr
    fine: Bool
    given: tuple[Bool, ...] = ()
    sure: bool = True

    def unless(self, *fine: Bool) -> Stale:
        return replace(self, fine=E.or_(self.fine, *fine))


class _Valid(Struct, frozen=True):
    """What is brought of a place; ``tails``: the dimensions along which there may be a rest beyond,
    each with that of the load itself.

    ``sums``: the places whose own elements were added to it. ``turns``: the dimensions in which the
    round says where it begins.
    """

    region: Region
    tails: Mapping[int, int]
    sums: frozenset[int] = frozenset()
    turns: frozenset[int] = frozenset()

    def lies_as(self, read: Region, axis: int) -> bool:
        """Whether an operand begins where it does along a dimension, and lies alike."""
        if not _alike(read, self.region, axis):
            return False
        return all(read.begin[k] is self.region.begin[k] for k in self.turns)


def stale(steps: Sequence[Placed], element: Element) -> Iterator[Stale]:
    """One for each operand that may take a rest, as any round of its loop has it."""
    for load in filter(_is_load, steps):
        (region,) = load.writes
        for loop in load.operation.loops:
            symbol = loop.symbol
            tails = [k for k, size in enumerate(region.sizes) if symbol in size.free()]
            turns = _turns(region, loop)
            if not tails or loop in region.loops or turns is None:
                continue
            body = [step for step in steps if loop in step.operation.loops]
            sure = not turns or not any(_may_fill(step, load, turns) for step in body)
            again = [step for step in body if step is not load and _fills(step, region.place)]
            if any(symbol in part.begin.free() for part in load.loads):
                behind = [step for step in body if _follows(step, load)]
                for found in _Follow(element, body).taken(behind, load, tails, turns):
                    filled = _filled_again(again, load, found.tail, found.read, found.axis)
                    if filled is not E.TRUE:
                        found = replace(found.unless(filled), sure=sure)
                        yield _unless_less_before(found, region, loop)
                if not again:
                    yield from _aged(steps, body, load, loop, element, tails, turns, sure)
        yield from _replaced(steps, load, element)


def _aged(
    steps: Sequence[Placed],
    body: Sequence[Placed],
    load: Placed,
    loop: Loop,
    element: Element,
    tails: Sequence[int],
    turns: frozenset[int],
    sure: bool,
) -> Iterator[Stale]:
    """Rests of loads that an earlier round than the reader's has done, for it."""
    (region,) = load.writes
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
        done = (E.ge(loop.index, age), *map(ago.bool, load.operation.path))
        then = replace(load, writes=(moved,))
        behind = [step for step in body if age < period or _follows(load, step)]
        for found in _Follow(element, body).taken(behind, then, tails, turns, given=True):
            whole = replace(found, sure=sure, given=done)
            earlier = E.fresh(f"earlier {loop.name or 'i'}", 0, loop.symbol.hi, E.Origin.POINT)
            put = E.Substitution({loop.symbol: earlier})
            before = (E.lt(earlier, loop.index - age), *map(put.bool, load.operation.path))
            yield _less(
                whole, moved, put.expr(region.end(found.tail)), map(put.expr, region.begin), before
            )
            for first in steps:
                if _begins_with(first, load, loop, steps):
                    its = first.writes[0]
                    yield _less(whole, moved, its.end(found.tail), its.begin, ())


def _less(
    found: Stale, region: Region, end: Expr, begin: Iterable[Expr], given: tuple[Bool, ...]
) -> Stale:
    """A rest is there if another load has brought more to the same place."""
    other = (E.ne(a, b) for a, b in zip(begin, region.begin, strict=True))
    fine = E.or_(E.le(end, region.end(found.tail)), *other)
    return replace(found.unless(fine), given=(*found.given, *given))


def _begins_with(first: Placed, load: Placed, loop: Loop, steps: Sequence[Placed]) -> bool:
    """Whether a load before a loop brings the first part of what a load in it goes on with."""
    if not _is_load(first) or loop in first.operation.loops or not _follows(load, first):
        return False
    (its,), (region,) = first.writes, load.writes
    if [id(part.storage) for part in first.loads] != [id(part.storage) for part in load.loads]:
        return False
    alike = len(its.begin) == len(region.begin) and len(its.sizes) == len(region.sizes)
    between = (
        step
        for step in steps
        if _follows(step, first) and _follows(load, step) and loop not in step.operation.loops
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


def _turns(region: Region, loop: Loop) -> frozenset[int] | None:
    """The dimensions along which a load comes to few places in turn, round by round of a loop;
    None: it comes to others all the time, or lies otherwise."""
    symbol = loop.symbol
    turning = [term for term in region.begin if symbol in term.free()]
    if any(symbol in term.free() for term in region.pitch):
        return None
    if not _period(turning, loop):
        return None
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


def _filled_again(
    fills: Sequence[Placed], load: Placed, tail: int, read: Region, axis: int
) -> Bool:
    """When something else is written over the rest along ``tail`` in the round of a load, as far as
    is read along ``axis``.

    What is written before it, and no further than it brings, leaves the rest as it is. What is
    written behind it may clear what it has brought for the next round.
    """
    (region,) = load.writes
    beyond = [step for step in fills if not _is_within(step, load, tail)]
    if len(beyond) != 1:
        return E.FALSE if not beyond else E.TRUE
    (step,) = beyond
    (fill,) = (each for each in step.writes if each.place == region.place)
    loops = step.operation.loops
    if _follows(step, load) or loops != load.operation.loops[: len(loops)]:
        return E.TRUE
    if not _lies_along(fill, region):
        return E.TRUE
    path = (fact for fact in step.operation.path if fact not in load.operation.path)
    # (where another place was made of it, how far the reader goes is said of that one)
    end = read.end(axis) if read.place == region.place else fill.end(tail)
    begin = fill.end(tail) - fill.sizes[tail]
    return E.and_(*path, E.le(begin, region.end(tail)), E.le(end, fill.end(tail)))


def _lies_along(one: Region, other: Region) -> bool:
    """Whether it can be said how far each of two parts of a place goes."""
    if len(one.sizes) != len(other.sizes) or one.instance != other.instance:
        return False
    return len(one.begin) == len(one.sizes) or one.begin == other.begin


def _is_within(step: Placed, load: Placed, tail: int) -> bool:
    """Whether something is surely written before a load, and no further than that brings."""
    (region,) = load.writes
    fills = [each for each in step.writes if each.place == region.place]
    if len(fills) != 1 or _follows(step, load) or not _lies_along(fills[0], region):
        return False
    return E.le(fills[0].end(tail), region.end(tail)) is E.TRUE


def _unless_less_before(found: Stale, region: Region, loop: Loop) -> Stale:
    """A rest is there if an earlier round has brought more, to the same tensor."""
    earlier = E.fresh(f"earlier {loop.name or 'i'}", 0, loop.symbol.hi, E.Origin.POINT)
    put = E.Substitution({loop.symbol: earlier})
    less = E.le(put.expr(region.end(found.tail)), region.end(found.tail))
    other = (E.ne(put.expr(term), term) for term in (*region.instance, *region.begin))
    given = (E.lt(earlier, loop.index), *map(put.bool, found.load.operation.path))
    return replace(found.unless(less, *other), given=given)


def _replaced(steps: Sequence[Placed], load: Placed, element: Element) -> Iterator[Stale]:
    """Rests of another load in the same round, whose data was used by itself before."""
    (region,) = load.writes
    for first in steps:
        if (
            not _is_load(first)
            or not _follows(load, first)
            or first.writes[0].place != region.place
        ):
            continue
        other, around = first.writes[0], first.operation.loops
        if around != load.operation.loops or not set(first.operation.path) <= set(
            load.operation.path
        ):
            continue
        if _begins(first) == _begins(load):
            continue
        tails = _smaller(region, other)
        between = [step for step in steps if _follows(step, first) and _follows(load, step)]
        if not tails:
            continue
        if not any(_takes(read, other, tails) for step in between for read in step.reads):
            continue
        fills = [step for step in between if _fills(step, region.place)]
        behind = [
            step
            for step in steps
            if _follows(step, load) and step.operation.loops[: len(around)] == around
        ]
        for found in _Follow(element, steps).taken(behind, load, tails):
            filled = _filled_again(fills, load, found.tail, found.read, found.axis)
            if filled is not E.TRUE:
                less = E.le(other.end(found.tail), region.end(found.tail))
                yield found.unless(filled, less)


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
    before: dict[int, tuple[Placed, tuple[Expr, ...]]] = {}
    for position, step in enumerate(steps):
        for region in step.writes:
            last = before.get(region.place)
            again = last is not None and _is_load(step) and _goes_on(last[0], step, steps)
            if not again and _fills(step, region.place) and not _leaves(region, last):
                before.pop(region.place, None)
            if not _is_load(step):
                continue
            most = last[1] if last is not None and again else region.sizes
            tails = [
                k for k, (a, b) in enumerate(zip(region.sizes, most, strict=True)) if a is not b
            ]
            most = tuple(map(E.maximum, region.sizes, most))
            before[region.place] = step, most
            smaller = [k for k in tails if E.lt(region.sizes[k], most[k]) is E.TRUE]
            if smaller:
                yield from _Follow(element, steps).taken(steps[position + 1 :], step, smaller)


def _leaves(fill: Region, last: tuple[Placed, tuple[Expr, ...]] | None) -> bool:
    """Whether something is written over the beginning of what loads have brought, and less."""
    if last is None:
        return False
    step, most = last
    loaded = next(each for each in step.writes if each.place == fill.place)
    if fill.begin != loaded.begin or len(fill.sizes) != len(most):
        return False
    return any(E.lt(size, whole) is E.TRUE for size, whole in zip(fill.sizes, most, strict=True))


def _goes_on(last: Placed, step: Placed, steps: Sequence[Placed]) -> bool:
    """Whether a load brings another part of what the last one there has brought: by the same call,
    or behind what has taken all of that."""
    if _same(last, step):
        return True
    first, then = _begins(last), _begins(step)
    if first == then or [tensor for tensor, _ in first] != [tensor for tensor, _ in then]:
        return False
    (region,) = last.writes
    between = (each for each in steps if _follows(each, last) and _follows(step, each))
    axes = range(len(region.sizes))
    return any(_takes(read, region, axes) for each in between for read in each.reads)


def _same(one: Placed, other: Placed) -> bool:
    """Whether one call loads of one tensor."""
    inputs = [[id(part.storage) for part in step.loads] for step in (one, other)]
    return one.operation.span == other.operation.span and inputs[0] == inputs[1]


def _is_load(step: Placed) -> bool:
    return bool(step.loads) and not step.reads and len(step.writes) == 1


def _begins(step: Placed) -> list[tuple[int, Expr]]:
    """From where it loads."""
    return [(id(part.storage), part.begin) for part in step.loads]


def _follows(step: Placed, other: Placed) -> bool:
    return step.operation.order > other.operation.order


def _fills(step: Placed, place: int) -> bool:
    """Whether it writes somewhere and reads nothing of that."""
    written = any(region.place == place for region in step.writes)
    return written and not any(region.place == place for region in step.reads)


class _Follow:
    """Follows what a load has brought, and what is made of it, through the steps ``around`` it."""

    def __init__(self, element: Element, around: Sequence[Placed]) -> None:
        self._element = element
        self._around = around
        #: the places that are written there, and those that are set anew
        self._written = {region.place for step in around for region in step.writes}
        self._filled = {place for place in self._written if any(_fills(s, place) for s in around)}

    def taken(
        self,
        steps: Iterable[Placed],
        load: Placed,
        tails: Sequence[int],
        turns: frozenset[int] = frozenset(),
        given: bool = False,
    ) -> Iterator[Stale]:
        """What takes more than what is brought: into a number, a sum, or out of the kernel;
        ``given``: it is said elsewhere that the load was done."""
        (region,) = load.writes
        valid = {region.place: _Valid(region, {k: k for k in tails}, turns=turns)}
        surely = set() if given else set(load.operation.path)
        for step in steps:
            made: dict[int, _Valid] = {}
            told: set[tuple[str, int]] = set()
            for read in step.reads:
                known = valid.get(read.place)
                if known is None or not surely <= set(step.operation.path):
                    continue
                for found in self._of(step, read, known, load, made):
                    if (read.role, found.axis) not in told:
                        told.add((read.role, found.axis))
                        yield found
            for written in step.writes:
                valid.pop(written.place, None)
            valid.update(made)

    def _of(
        self, step: Placed, read: Region, known: _Valid, load: Placed, made: dict[int, _Valid]
    ) -> Iterator[Stale]:
        """What becomes of an operand, by what the description says of it."""
        operation = step.operation
        zeros = self._zeros_elsewhere(step, read, load)
        if operation.instruction is None or zeros is E.TRUE:
            return
        for axis, tail in known.tails.items():
            own = read.axis(axis)
            if own is None or not known.lies_as(read, axis):
                continue
            fine = E.or_(zeros, E.le(read.end(axis), known.region.end(axis)))
            found = Stale(step, read, load, axis, tail, known.region.sizes[axis], fine)
            for entry in operation.instruction.footprint.reads_of(read.role):
                line, index = self._line(operation, entry)
                if fine is E.TRUE or line is None or own >= len(line):
                    continue
                assert not isinstance(entry.fate, Decides)
                target = next((w for w in step.writes if w.role == entry.fate.to), None)
                if line[own] is None:
                    if target is not None and _folds(operation, entry, target, axis):
                        yield found
                elif any(part.role == entry.fate.to for part in step.stores):
                    yield found
                elif target is not None:
                    yield from self._carried(found, known, target, (line[own], index), made)

    def _carried(
        self,
        found: Stale,
        known: _Valid,
        target: Region,
        place: tuple[Expr | None, Index],
        made: dict[int, _Valid],
    ) -> Iterator[Stale]:
        """What is made element by element is brought as far as that which it is made of."""
        at, index = place
        along = next((k for k, each in enumerate(index) if each is at), None)
        there = next((k for k in range(len(target.sizes)) if target.axis(k) == along), None)
        if along is None or there is None:
            return
        step, read, axis = found.step, found.read, found.axis
        sums = known.sums
        if adds(step.operation):
            sums |= {each.place for each in step.reads if each is not read}
        if target.place in sums and not self._begins_there(target, found.load):
            yield found
            return
        extent = known.region.end(axis)
        if len(read.begin) == len(read.sizes):
            extent = extent - read.begin[axis]
        sizes = list(target.sizes)
        sizes[there] = E.minimum(sizes[there], extent)
        region = replace(target, sizes=tuple(sizes))
        turns = frozenset(k for k, term in enumerate(target.begin) if not term.is_const)
        made[target.place] = _Valid(region, {there: found.tail}, sums, turns)

    def _line(self, operation: Operation, entry: Reads) -> tuple[Line | None, Index]:
        """What goes into an element of the result: None where all along an axis does."""
        if isinstance(entry.fate, Decides) or not entry.where.exact:
            return None, ()
        if isinstance(entry.fate, Carried) and entry.where is not ALL:
            return None, ()  # what it selects may be what was brought
        if not _is_done(operation, entry):
            return None, ()
        index = self._element(operation, entry.fate.to)
        return place_in(entry.fate, operation, index), index

    def _begins_there(self, target: Region, load: Placed) -> bool:
        """Whether a sum is begun anew where the load is done."""
        inner = load.operation.loops[-1:]
        return target.place in self._filled or any(loop in target.loops for loop in inner)

    def _zeros_elsewhere(self, step: Placed, read: Region, load: Placed) -> Bool:
        """When another operand may be made such that the rest does not count: of zeros there."""
        operation = step.operation
        if adds(operation):
            return E.FALSE
        others = [each for each in step.reads if each.place != read.place]
        if _is_folded(
            operation, read.role
        ):  # (what one element of goes into a result is no factor)
            others = [each for each in others if _is_folded(operation, each.role)]
        factors = (operation.instruction.factors if operation.instruction is not None else ()) or ()
        if read.role in factors:
            others = [each for each in others if each.role in factors and not each.filled]
        else:
            others = [each for each in others if each.place in self._written]
        return E.or_(*(self._zeros(each, load) for each in others))

    def _zeros(self, other: Region, load: Placed) -> Bool:
        """When an operand may be zeros beyond what the same rounds bring: never, where it is only
        loaded in part, too, and nothing else is written there."""
        inner = {loop.symbol for loop in load.operation.loops}
        fills = [each for each in self._around if _fills(each, other.place)]
        loads = [each for each in fills if _is_load(each) and _parts_along(each, inner, fills)]
        if not loads or len(loads) not in (1, len(fills)):
            return E.TRUE
        rest = [each for each in fills if each not in loads]
        parts = _parts_along(loads[0], inner, fills)
        return E.or_(*(_filled_again(rest, loads[0], axis, other, axis) for axis in parts))


def _parts_along(load: Placed, inner: set[E.Sym], fills: Sequence[Placed]) -> list[int]:
    """The dimensions of which rounds bring different parts, or one call does in a run."""
    (region,) = load.writes
    again = [] if inner else [each for each in fills if _is_load(each) and _same(each, load)]
    return [
        axis
        for axis, size in enumerate(region.sizes)
        if not inner.isdisjoint(size.free())
        or any(each.writes[0].sizes[axis : axis + 1] != (size,) for each in again)
    ]


def _is_folded(operation: Operation, role: str) -> bool:
    """Whether several elements of an operand go into one of a result."""
    described = operation.instruction
    entries = () if described is None else described.footprint.reads_of(role)
    return any(isinstance(entry.fate, Folded) for entry in entries)


def _is_done(operation: Operation, entry: Reads) -> bool:
    """Whether that becomes of an operand. What a product with an identity does is to move it."""
    described = operation.instruction
    if described is not None and operation.engine is Engine.TENSOR and not described.factors:
        return isinstance(entry.fate, Carried)
    return entry.when.holds(operation) is not E.FALSE


def adds(operation: Operation) -> bool:
    """Whether elements of two operands are added up."""
    return _operators(operation) in ({name} for name in _ADDING)


def _operators(operation: Operation) -> set[str]:
    """The operators of a call, by name; of a function that is one, its own."""
    if operation.instruction is None or not operation.instruction.operators:
        return {operation.name.rpartition(".")[2]}
    given = (operation.operands.get(each.role) for each in operation.instruction.operators)
    values = (None if operand is None else operand.value for operand in given)
    return {value.name for value in values if isinstance(value, Enumerator)}


def _alike(one: Region, other: Region, axis: int) -> bool:
    """Whether both begin at one element along a dimension, and lie alike."""
    if len(one.sizes) != len(other.sizes) or not one.sizes or one.instance != other.instance:
        return False
    if len(one.begin) == len(one.sizes) == len(other.begin):
        return one.begin[axis] is other.begin[axis]
    begins = zip(one.begin, other.begin, strict=False)
    return len(one.pitch) == len(other.pitch) and all(a is b for a, b in begins)


def _folds(operation: Operation, entry: Reads, target: Region, axis: int) -> bool:
    """Whether all along a dimension goes into each number of the result."""
    if operation.instruction is None or Trait.PICKS in operation.instruction.traits:
        return False
    if _operators(operation) & _PICKING or not isinstance(entry.fate, Folded):
        return False
    return entry.fate.among is None or target.sizes[axis : axis + 1] == (E.const(1),)


__all__ = ["UNSURE", "Placed", "Region", "Stale", "adds", "stale", "stale_in_order"]
