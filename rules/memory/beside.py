"""What a load has brought of a place, what is written beside it, and who takes more than that."""

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
from verifier.symbolic.tensors import Loop
from verifier.symbolic.trace import Operation
from verifier.symbolic.values import Enumerator

#: the coordinates of any element of what an operation writes to a role
Element: TypeAlias = Callable[[Operation, str], Index]

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


class Fill(Struct, frozen=True):
    """What else is written over a rest, to a part of its place, ``when`` this holds."""

    region: Region
    when: Bool

    def covers(self, brought: Region, read: Region, axis: int, *, front: bool) -> Bool:
        """When it is written over all that an operand takes beside what is brought."""
        region = self.region
        first, second = (brought, region) if front else (region, brought)
        joins = E.le(first.end(axis) - first.sizes[axis], second.end(axis))
        reach = E.and_(joins, reaches(read, region, axis, front=front))
        others = (each for each in range(len(region.sizes)) if each != axis)
        across = (E.or_(within(read, region, k), within(brought, region, k)) for k in others)
        return E.and_(self.when, reach, *across)


class Brought(Struct, frozen=True):
    """What is brought of a place; ``tails``: the dimensions along which there may be a rest beyond,
    each with that of the load itself.

    ``fills``: what else is written over the rest, by dimension. ``fine``: when nothing comes of
    the rest. ``sums``: the places whose own elements were added to it. ``front``: all rounds end
    where this one does, and the rest lies before what is brought. ``turns``: the dimensions in
    which the round says where it begins.
    """

    region: Region
    tails: Mapping[int, int]
    fills: Mapping[int, Fill]
    fine: Bool = E.FALSE
    sums: frozenset[int] = frozenset()
    front: bool = False
    turns: frozenset[int] = frozenset()

    def lies_as(self, read: Region, axis: int) -> bool:
        """Whether an operand begins where it does along a dimension, and lies alike."""
        if not _alike(read, self, axis):
            return False
        return all(read.begin[k] is self.region.begin[k] for k in self.turns)

    def covers(self, read: Region, axis: int) -> Bool:
        """When an operand takes nothing of the rest along a dimension."""
        brought = reaches(read, self.region, axis, front=self.front)
        fill = self.fills.get(axis)
        filled = E.FALSE
        if fill is not None:
            filled = fill.covers(self.region, read, axis, front=self.front)
        return E.or_(self.fine, brought, filled)


def brought_by(
    load: Placed, tails: Iterable[int], fills: Sequence[Placed], *, front: bool = False
) -> Brought:
    """What a load has brought, where ``fills`` were written to its place before it in its round."""
    (region,) = load.writes
    told: dict[int, int] = {}
    over: dict[int, Fill] = {}
    for tail in tails:
        beyond = [step for step in fills if not _is_within(step, load, tail, front=front)]
        known = _fill(beyond[0], load, region) if len(beyond) == 1 else None
        if known is not None or not beyond:
            told[tail] = tail
        if known is not None:
            over[tail] = known
    return Brought(region, told, over, front=front)


def _fill(step: Placed, load: Placed, region: Region) -> Fill | None:
    """What is written over the rest of a place, in the round of a load; None: it cannot be said."""
    (fill,) = (each for each in step.writes if each.place == region.place)
    loops = step.operation.loops
    if loops != load.operation.loops[: len(loops)] or not lies_along(fill, region):
        return None
    path = (fact for fact in step.operation.path if fact not in load.operation.path)
    return Fill(fill, E.and_(*path))


def within(one: Region, other: Region, axis: int) -> Bool:
    """That a part of a place goes no further than another one along a dimension."""
    before = E.TRUE
    if len(one.begin) == len(one.sizes) == len(other.begin):
        before = reaches(one, other, axis, front=True)
    return E.and_(before, reaches(one, other, axis, front=False))


def lies_along(one: Region, other: Region) -> bool:
    """Whether it can be said how far each of two parts of a place goes."""
    if len(one.sizes) != len(other.sizes) or one.instance != other.instance:
        return False
    return len(one.begin) == len(one.sizes) or one.begin == other.begin


def reaches(one: Region, other: Region, axis: int, *, front: bool) -> Bool:
    """That a part of a place goes no further than another one to its end, or to its ``front``."""
    if front:
        return E.le(other.begin[axis], one.begin[axis])
    return E.le(one.end(axis), other.end(axis))


def _is_within(step: Placed, load: Placed, tail: int, *, front: bool) -> bool:
    """Whether something is surely written before a load, and no further than that brings."""
    (region,) = load.writes
    fills = [each for each in step.writes if each.place == region.place]
    if len(fills) != 1 or follows(step, load) or not lies_along(fills[0], region):
        return False
    return reaches(fills[0], region, tail, front=front) is E.TRUE


def same_call(one: Placed, other: Placed) -> bool:
    """Whether one call loads of one tensor."""
    inputs = [[id(part.storage) for part in step.loads] for step in (one, other)]
    return one.operation.span == other.operation.span and inputs[0] == inputs[1]


def is_load(step: Placed) -> bool:
    return bool(step.loads) and not step.reads and len(step.writes) == 1


def is_result(step: Placed) -> bool:
    """Whether it computes one part of a place anew, of nothing that was there."""
    return len(step.writes) == 1 and bool(step.reads) and writes_anew(step, step.writes[0].place)


def begins(step: Placed) -> list[tuple[int, Expr]]:
    """From where it loads."""
    return [(id(part.storage), part.begin) for part in step.loads]


def follows(step: Placed, other: Placed) -> bool:
    return step.operation.order > other.operation.order


def writes_anew(step: Placed, place: int) -> bool:
    """Whether it writes somewhere and reads nothing of that."""
    written = any(region.place == place for region in step.writes)
    return written and not any(region.place == place for region in step.reads)


class Follow:
    """Follows what a load has brought, and what is made of it, through the steps ``around`` it."""

    def __init__(
        self,
        element: Element,
        around: Sequence[Placed],
        load: Placed,
        later: Sequence[Placed] = (),
        *,
        given: bool = False,
    ) -> None:
        """``given``: it is said elsewhere that the load was done."""
        self._element = element
        self._around = around
        self._load = load
        self._given = given
        #: what else is written to its place behind it in its round
        self._later = later
        #: the places that are written there, and those that are set anew
        self._written = {region.place for step in around for region in step.writes}
        self._filled = {
            place for place in self._written if any(writes_anew(s, place) for s in around)
        }

    def taken(self, steps: Iterable[Placed], brought: Brought) -> Iterator[Stale]:
        """What takes more than what is brought: into a number, a sum, or out of the kernel."""
        if not brought.tails:
            return
        valid = {brought.region.place: brought}
        surely = set() if self._given else set(self._load.operation.path)
        for step in steps:
            made: dict[int, Brought] = {}
            told: set[tuple[str, int]] = set()
            for read in step.reads:
                known = valid.get(read.place)
                if known is None or not surely <= set(step.operation.path):
                    continue
                if known is brought and self._is_cleared_behind(step):
                    continue
                for found in self._of(step, read, known, made):
                    if (read.role, found.axis) not in told:
                        told.add((read.role, found.axis))
                        yield found
            for written in step.writes:
                known = valid.pop(written.place, None)
                left = None if known is None else self._left(step, written, known)
                if left is not None:
                    valid[written.place] = left
            valid.update(made)

    def _is_cleared_behind(self, step: Placed) -> bool:
        """Whether something is written to the place of the load when it was read: that may clear
        what is brought for the next round."""
        return any(follows(each, step) for each in self._later)

    def _left(self, step: Placed, written: Region, known: Brought) -> Brought | None:
        """What is left of what is brought, where something else is written to a part of its place;
        None: nothing that can be said."""
        if not writes_anew(step, written.place) or is_load(step):
            return None
        fill = _fill(step, self._load, known.region)
        if fill is None:
            return None
        if all(within(known.region, written, k) is E.TRUE for k in range(len(written.sizes))):
            return None
        over = dict(known.fills)
        for axis in known.tails:
            if reaches(written, known.region, axis, front=known.front) is E.TRUE:
                continue
            if axis in over:
                return None
            over[axis] = fill
        return replace(known, fills=over)

    def _of(
        self, step: Placed, read: Region, known: Brought, made: dict[int, Brought]
    ) -> Iterator[Stale]:
        """What becomes of an operand, by what the description says of it."""
        operation = step.operation
        zeros = self._zeros_elsewhere(step, read)
        if operation.instruction is None or zeros is E.TRUE:
            return
        for axis, tail in known.tails.items():
            own = read.axis(axis)
            if own is None or not known.lies_as(read, axis):
                continue
            fine = E.or_(zeros, known.covers(read, axis))
            size = known.region.sizes[axis]
            found = Stale(step, read, self._load, axis, tail, size, fine)
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
        known: Brought,
        target: Region,
        place: tuple[Expr | None, Index],
        made: dict[int, Brought],
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
        if target.place in sums and not self._begins_there(target):
            yield found
            return
        fills = {}
        over = known.fills.get(axis)
        if over is not None:
            begin, end = (_offset(over.region, k, read, axis) for k in range(2))
            fills[there] = Fill(_part(target, there, begin, end), over.when)
        begin, end = (_offset(known.region, k, read, axis) for k in range(2))
        if known.front:
            region = _part(target, there, E.maximum(E.const(0), begin), target.sizes[there])
        else:
            region = _part(target, there, E.const(0), E.minimum(target.sizes[there], end))
        # (what a part of the target has of it is a rest if it was read; beyond that is no concern)
        tails = {there: found.tail}
        turns = frozenset(k for k, term in enumerate(target.begin) if not term.is_const)
        made[target.place] = Brought(
            region, tails, fills, found.fine, sums, front=known.front, turns=turns
        )

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

    def _begins_there(self, target: Region) -> bool:
        """Whether a sum is begun anew where the load is done."""
        inner = self._load.operation.loops[-1:]
        return target.place in self._filled or any(loop in target.loops for loop in inner)

    def _zeros_elsewhere(self, step: Placed, read: Region) -> Bool:
        """When another operand may be made such that the rest does not count: of zeros there."""
        operation = step.operation
        if adds(operation):
            return E.FALSE
        others = [each for each in step.reads if each.place != read.place]
        # (what one element of goes into a result is no factor)
        if _is_folded(operation, read.role):
            others = [each for each in others if _is_folded(operation, each.role)]
        factors = (operation.instruction.factors if operation.instruction is not None else ()) or ()
        if read.role in factors:
            others = [each for each in others if each.role in factors and not each.filled]
        else:
            others = [each for each in others if each.place in self._written]
        return E.or_(*(self._zeros(step, each) for each in others))

    def _zeros(self, step: Placed, other: Region) -> Bool:
        """When an operand may be zeros beyond what the same rounds bring: never, where it is only
        loaded in part, too, and nothing else is written there."""
        inner = {loop.symbol for loop in self._load.operation.loops}
        fills = [each for each in self._around if writes_anew(each, other.place)]
        loads = [each for each in fills if is_load(each) and _parts_along(each, inner, fills)]
        if not loads or len(loads) not in (1, len(fills)):
            return E.TRUE
        (part,) = loads[0].writes
        found: list[Bool] = []
        for axis in _parts_along(loads[0], inner, fills):
            rest = [each for each in fills if each not in loads]
            front = any(not inner.isdisjoint(term.free()) for term in part.begin)
            beyond = [each for each in rest if not _is_within(each, loads[0], axis, front=front)]
            if not beyond:
                continue
            known = _fill(beyond[0], loads[0], part) if len(beyond) == 1 else None
            if known is None or follows(beyond[0], step):
                return E.TRUE
            found.append(known.covers(part, other, axis, front=front))
        return E.or_(*found)


def _offset(region: Region, side: int, read: Region, axis: int) -> Expr:
    """Where a part of a place begins (0) or ends (1), from where an operand does."""
    at = region.end(axis) if side else region.end(axis) - region.sizes[axis]
    return at - read.begin[axis] if len(read.begin) == len(read.sizes) else at


def _part(target: Region, axis: int, begin: Expr, end: Expr) -> Region:
    """The part of a region between two offsets along a dimension."""
    sizes = list(target.sizes)
    sizes[axis] = end - begin
    if len(target.begin) != len(sizes):
        return replace(target, sizes=tuple(sizes))
    first = list(target.begin)
    first[axis] += begin
    return replace(target, begin=tuple(first), sizes=tuple(sizes))


def _parts_along(load: Placed, inner: set[E.Sym], fills: Sequence[Placed]) -> list[int]:
    """The dimensions of which rounds bring different parts, or one call does in a run."""
    (region,) = load.writes
    again = [] if inner else [each for each in fills if is_load(each) and same_call(each, load)]
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


def _alike(one: Region, known: Brought, axis: int) -> bool:
    """Whether an operand and what is brought begin at one element along a dimension, and lie alike.

    Where all rounds end at one element, how far from there an operand lies is known in any case.
    """
    other = known.region
    if len(one.sizes) != len(other.sizes) or not one.sizes or one.instance != other.instance:
        return False
    if len(one.begin) == len(one.sizes) == len(other.begin):
        return known.front or one.begin[axis] is other.begin[axis]
    begins = zip(one.begin, other.begin, strict=False)
    return len(one.pitch) == len(other.pitch) and all(a is b for a, b in begins)


def _folds(operation: Operation, entry: Reads, target: Region, axis: int) -> bool:
    """Whether all along a dimension goes into each number of the result."""
    if operation.instruction is None or Trait.PICKS in operation.instruction.traits:
        return False
    if _operators(operation) & _PICKING or not isinstance(entry.fate, Folded):
        return False
    return entry.fate.among is None or target.sizes[axis : axis + 1] == (E.const(1),)


__all__ = [
    "Brought",
    "Element",
    "Follow",
    "Placed",
    "Region",
    "Stale",
    "adds",
    "begins",
    "brought_by",
    "follows",
    "is_load",
    "is_result",
    "lies_along",
    "reaches",
    "same_call",
    "within",
    "writes_anew",
]
