"""What becomes of elements in local memory that mean nothing.

What is undefined may be moved and computed upon: what is made of it is undefined, element by
element, as the description of the function says, and nothing else. Where it decides is the policy
of :mod:`verifier.symbolic.memory.deciding`; so is why it is followed here by lane and byte. What is
read there was written, and the last write to it was not of something undefined: each that may have
been is followed by another one, whatever that wrote.

What comes round in a loop is taken to be defined at first, then as far as the round before found it
to be, until a round finds what was taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from rules.memory.cases import common_loops
from rules.memory.formulas import size
from rules.tpu import flow, kit, written
from rules.tpu.flow import Use, Uses
from rules.tpu.runs import lane_of
from rules.tpu.written import Element, Point, Way
from verifier.hardware.chips import Chip
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.effects import Carried, Decides, Folded, Index, Line
from verifier.symbolic.expr import Bool, Expr, Sym
from verifier.symbolic.lanes import AXES, Quad, SystemTensor
from verifier.symbolic.memory.deciding import USED, taken
from verifier.symbolic.memory.known import Known
from verifier.symbolic.regions import exists
from verifier.symbolic.views.common import conjuncts

#: parts of a formula that is carried on
LARGEST: Final = 64


class Source(Struct, frozen=True):
    """The element that goes into one of a result, and which bytes of it; or any of a line: then
    ``free`` are the symbols that say which, each with how many values it takes, and ``there`` that
    it is one."""

    index: Index
    part: Expr
    free: tuple[tuple[Sym, Expr], ...] = ()
    there: Bool = E.TRUE


class Part(Struct, frozen=True):
    """The elements of a result that are made of what is defined, as one of the operands has it.

    ``formula``: that an element of the operand is, whose ``axes`` are symbols (or settled): lane,
    slot, image, row, column, and which bytes of it; else what ``origin`` says of a first read is
    true of it. ``first``: the lane in which it starts. ``source``: what goes into the given bytes
    of an element of the result.
    """

    origin: Check
    formula: Bool
    axes: tuple[Expr, Expr, Expr, Expr, Expr, Expr]
    own: frozenset[Sym]
    first: Expr
    lanes: int
    source: Callable[[Index, Expr, str], Source | None]

    def of(self, index: Quad, part: Expr, known: Known, asked: str) -> Bool:
        """That an element of the result is defined, as far as the operand tells.

        ``asked``: a name for the question: it comes again when a loop is gone through once more.
        """
        if self.formula.kind is E.BoolKind.CONST:
            return self.formula
        found = self.source(index, part, asked)
        if found is None:
            return E.FALSE
        n, c, h, w = found.index
        place = self.first + c
        lane, slot = E.mod(place, self.lanes), E.floordiv(place, self.lanes)
        if self.axes[1].as_atom() not in self.own:
            lane, slot = place, self.axes[1]
        put: dict[Sym, Expr] = {}
        for axis, value in zip(self.axes, (lane, slot, n, h, w, found.part), strict=True):
            symbol = axis.as_atom()
            if isinstance(symbol, Sym) and symbol in self.own:
                put[symbol] = value
        formula = E.Substitution(put).bool(self.formula)
        if not found.free:
            return E.or_(E.not_(found.there), formula)
        lost = (*conjuncts(found.there), *conjuncts(E.not_(formula)))
        some, exact = exists(found.free, lost, decide=known.decide)
        if exact and size([some], LARGEST) <= LARGEST:
            return E.not_(some)
        inside = (E.lt(E.from_atom(symbol), count) for symbol, count in found.free)
        return E.not_(E.and_(*inside, *lost))


class Spoilt(Struct, frozen=True):
    """A result that holds what is undefined, but for the elements that all ``parts`` have.

    Without parts it is a work tensor.
    """

    write: Use
    parts: tuple[Part, ...] = ()

    @property
    def formulas(self) -> tuple[Bool, ...]:
        return tuple(part.formula for part in self.parts)

    @property
    def by_origin(self) -> list[tuple[Part, ...]]:
        """The parts of each first read; one without any of a work tensor."""
        groups: dict[int, list[Part]] = {}
        for part in self.parts:
            groups.setdefault(id(part.origin), []).append(part)
        return [tuple(parts) for parts in groups.values()] or [()]

    def defined(self, known: Known) -> list[tuple[Check, Bool]]:
        """That an element is none that some first read has spoilt, with what is said of that."""
        n, c, h, w, part = (
            E.symbol(f"{name} of it", 0, origin=E.Origin.AXIS) for name in (*AXES, "part")
        )
        return [
            (
                parts[0].origin,
                E.and_(*(each.of((n, c, h, w), part, known, "") for each in parts)),
            )
            for parts in self.by_origin
            if parts
        ]


class Threat(Struct, frozen=True):
    """That a point which a result spoilt was written again, or was not spoilt by it.

    ``origin``: what is said of the first read of that; None: of a work tensor. ``given``: what
    holds of the symbols of that result; where ``formula`` is not free of them it is ``open``.
    ``exact``: and otherwise it was spoilt.
    """

    origin: Check | None
    formula: Bool
    given: tuple[Bool, ...]
    exact: bool
    open: bool


def why_it_decides(read: Use) -> str:
    """Why what is undefined must not be read, as messages say it; empty where it is carried on.

    What goes to a part of a tensor's last channel is not followed.
    """

    def sees(to: str) -> bool | None:
        for found in (t for t in read.operation.touches if t.role == to and t.writes):
            if isinstance(found.tensor, SystemTensor):
                return True
            return False if Use(read.operation, found, found.tensor).whole is E.TRUE else None
        return None

    for found in taken(read.operation, read.touch.role, sees):
        if found.why:
            return found.why
        if found.entry is None or isinstance(found.entry.fate, Decides):
            return USED
    return ""


def result(table: Uses, read: Use) -> Use | None:
    """What a read is carried to, if it is carried to one result."""
    entries = kit.described(read.operation).footprint.reads_of(read.touch.role)
    roles = {entry.fate.to for entry in entries if not isinstance(entry.fate, Decides)}
    mine = [w for w in table.writes if w.operation is read.operation and w.touch.role in roles]
    return mine[0] if len(mine) == 1 else None


def part_of(
    chip: Chip, read: Use, write: Use, point: Element, origin: Check, formula: Bool
) -> Part:
    """The elements of a result that are defined where ``formula`` holds of a read's elements; of
    the others ``origin`` tells."""
    (entry,) = kit.described(read.operation).footprint.reads_of(read.touch.role)
    fate = entry.fate
    assert not isinstance(fate, Decides)
    own = [symbol for index, _ in point.axes if isinstance(symbol := index.as_atom(), Sym)]
    n, _, h, w = point.index
    first = lane_of(chip, read.tensor)
    axes = (point.lane, point.slot, n, h, w, point.part)
    operation = read.operation

    made = write.tensor.dtype.itemsize
    parts = dict(point.axes).get(point.part, E.const(1))

    def source(index: Index, part: Expr, asked: str) -> Source | None:
        asked = f"{asked}.{operation.order}.{read.touch.role}"
        free: list[tuple[Sym, Expr]] = []
        if made is not read.tensor.dtype.itemsize:  # each part of it counts
            part = _any("part", asked, parts, free)
        if isinstance(fate, Carried):
            one = fate.source(operation, index)
            return None if one is None else Source(one, part, tuple(free))
        line = fate.line(operation, index)
        return None if line is None else _any_of(read, fate, line, asked, index, part, free)

    return Part(origin, formula, axes, frozenset(own), first, chip.lanes, source)


def _any(name: str, asked: str, count: Expr, free: list[tuple[Sym, Expr]]) -> Expr:
    if count is E.const(1):
        return E.const(0)
    found = E.symbol(f"{name}#{asked}", 0, origin=E.Origin.AXIS)
    symbol = found.as_atom()
    assert isinstance(symbol, Sym)
    free.append((symbol, count))
    return found


def _any_of(
    read: Use,
    fate: Folded,
    line: Line,
    asked: str,
    made: Index,
    part: Expr,
    free: list[tuple[Sym, Expr]],
) -> Source | None:
    """Any element of a line that a read takes; None: that is not followed."""
    inside: list[Bool | None] = []
    found: list[Expr] = []
    for number, (at, name, count) in enumerate(zip(line, AXES, read.tensor.shape, strict=True)):
        found.append(_any(name, asked, count, free) if at is None else at)
        if at is None and fate.among is not None:
            inside.append(fate.among(read.operation, number, found[-1], made[number]))
    n, c, h, w = found
    known = [fact for fact in inside if fact is not None]
    if len(known) < len(inside):
        return None
    taken = read.taken_of((n, c, h, w), part)
    return Source((n, c, h, w), part, tuple(free), E.and_(*known, *taken))


def near(chip: Chip, read: Use, point: Point, writes: Iterable[Use]) -> list[Use]:
    """The writes that may come to the place of a read in some iteration."""
    return [write for write in writes if not _never_there(chip, write, read, point)]


def threats(
    chip: Chip, read: Use, point: Point, spoilt: Iterable[Spoilt], near: Sequence[Use]
) -> Iterator[Threat]:
    """What may have spoilt a point of a read; ``near``: all writes that may come to its place."""
    for each in spoilt:
        if each.write.operation is read.operation and not each.write.loops:
            continue
        if _never_there(chip, each.write, read, point):
            continue
        for way, level in written.ways(each.write, read, also=each.formulas):
            yield from _threats(chip, read, point, each, way, level, near)


def _never_there(chip: Chip, write: Use, read: Use, point: Point) -> bool:
    """Whether a write is elsewhere than a read in every iteration, as far as folding tells."""
    every = flow.anywhere(write, 0)
    if every is None:
        return True
    places = kit.block(chip, every.tensor), kit.block(chip, read.tensor)
    return point.known.decide(kit.places_apart(chip, *places)) is True


def _threats(
    chip: Chip,
    read: Use,
    point: Point,
    by: Spoilt,
    way: Way,
    level: int | None,
    near: Sequence[Use],
) -> Iterator[Threat]:
    """One for each first read of what has spoilt a result."""
    after = written.there(chip, point, _afterwards(by, read, level, near))
    if after[0] is E.TRUE:
        return
    one = written.at(chip, point, way)
    asked = f"{read.order}.{read.touch.role}.{level}"
    spoilt: list[tuple[Check | None, Bool]] = []
    for parts in by.by_origin:
        found = (part.of(one.index, one.part, point.known, asked) for part in parts)
        defined = E.and_(*map(way.put.bool, found)) if parts else E.FALSE
        if defined is not E.TRUE:
            spoilt.append((parts[0].origin if parts else None, defined))
    if not spoilt:
        return
    kept = common_loops(by.write.loops, read.loops) if level is None else level
    beside, followed = _same_iteration(by, way, kept, near, read if level is not None else None)
    again, sure = written.there(chip, point, beside)
    for origin, defined in spoilt:
        lost = E.and_(E.not_(defined), E.not_(again))
        if lost is E.FALSE:
            continue
        there, good = written.meets(point, way, one, (lost,))
        if there is E.FALSE and good:
            continue
        exact = sure and after[1] and followed
        if good:
            yield Threat(origin, E.or_(E.not_(there), after[0]), (), exact, False)
        else:
            formula = E.or_(E.ne(one.byte, point.element.byte), E.not_(lost), after[0])
            yield Threat(origin, formula, (*way.within, *one.ranges), exact, True)


def _follows(write: Use, by: Spoilt) -> bool:
    """Whether a write comes after one that spoils, in the same iteration: a result over its own
    work tensor does."""
    if write.operation is by.write.operation:
        return by.write.touch.destroys
    return write.order > by.write.order


def _same_iteration(
    by: Spoilt, way: Way, kept: int, writes: Sequence[Use], again: Use | None
) -> tuple[list[Way], bool]:
    """The writes that come after one that spoils in its own iteration of a loop that is over before
    the read, or in a later one, before that of the read; and whether there are no other writes in
    that loop.

    ``again``: the read, if it is in a later iteration of the loop at ``kept``: others before it are
    in that, too, and come last there if their place is always the same.
    """
    spoiler = by.write
    out: list[Way] = []
    followed = True
    for write in writes:
        depth = common_loops(write.loops, spoiler.loops)
        if depth <= kept:
            continue
        follows = _follows(write, by)
        if depth == kept + 1:
            out.append(_in_order(way, write, depth, later=True, before=again))
        if not (follows or (again is None and depth == kept + 1)):
            last = again is not None and write.order < again.order
            last = last and not written.depends(write, write.loops[kept:])
            followed = followed and (last or write.operation is spoiler.operation)
        if follows:
            out.append(_in_order(way, write, depth, later=False))
    return out, followed


def _in_order(way: Way, write: Use, depth: int, later: bool, before: Use | None = None) -> Way:
    """A write in the iteration that ``way`` is in of the outer ``depth`` loops, which both have in
    common, or a ``later`` one of the innermost of these, ``before`` that of a read."""
    kept = depth - 1 if later else depth
    table = {loop.symbol: way.put.expr(loop.index) for loop in write.loops[:kept]}
    loops = write.loops[kept:]
    for loop in loops:
        table[loop.symbol] = E.fresh(loop.name or "i", 0, loop.symbol.hi, E.Origin.LOOP)
    found = written.moved(write, E.Substitution(table), loops)
    if not later:
        return found
    index = write.loops[kept].index
    after = E.gt(table[write.loops[kept].symbol], way.put.expr(index))
    facts = [after]
    if before is not None:
        facts.append(E.lt(table[write.loops[kept].symbol], before.loops[kept].index))
    return replace(found, facts=(*found.facts, *facts))


def _afterwards(by: Spoilt, read: Use, level: int | None, writes: Sequence[Use]) -> Iterator[Way]:
    """The writes that come after one that spoils, in a later iteration of the loops that both have
    in common with the read, or behind its own loops; and before the read.

    ``level``: the loop of which the spoiler is in an earlier iteration; None: of none.
    """
    together = common_loops(by.write.loops, read.loops)
    for write in reversed(writes):
        common = common_loops(write.loops, read.loops)
        inside = together if level is None else level + 1
        if common < inside:
            continue
        if level is None:
            own = common_loops(write.loops, by.write.loops) > together
            if own or not (_follows(write, by) or common > together):
                continue
        yield from (way for way, _ in written.ways(write, read, inside))
