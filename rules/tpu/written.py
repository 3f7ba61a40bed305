"""Whether each element of what is read in local memory was written before, in the place where it
lies.

The question is asked of one element of the read, which stands for all: it lies in a lane and at a
byte, and some write before has an element there. Lanes and bytes are those of the layouts in which
either is used (ADR-04), so that padding, gaps between rows, lanes that a tensor leaves out and
other strides all count. What the algebra cannot settle is a sufficient condition only: then the
read may be proved, and is undecided otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from rules.memory.cases import common_loops
from rules.tpu import flow, kit
from rules.tpu.flow import Use
from rules.tpu.runs import lane_of
from verifier.hardware.chips import Chip
from verifier.layouts.strides import WORD_BYTES
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Sym
from verifier.symbolic.lanes import Quad
from verifier.symbolic.memory.known import Known
from verifier.symbolic.memory.lives import exclusive
from verifier.symbolic.regions import exists
from verifier.symbolic.tensors import Loop

_NOWHERE: Final = E.Substitution({})


class Element(Struct, frozen=True):
    """Some bytes of some element: of every lane ``lane`` and slot, the first byte in the lane.

    ``axes``: the symbols that it is said in, each with how many values it takes from 0 on;
    ``facts``: what else holds of them. ``size``: so many bytes.
    """

    lane: Expr
    byte: Expr
    size: int
    axes: tuple[tuple[Expr, Expr], ...]
    facts: tuple[Bool, ...]
    #: image, channel, row and column of the element, and its slot
    index: Quad
    slot: Expr
    #: which bytes of the element
    part: Expr

    @property
    def ranges(self) -> tuple[Bool, ...]:
        """All that holds of the symbols, but that they are not negative."""
        return (*(E.lt(index, count) for index, count in self.axes), *self.facts)


def element(
    chip: Chip,
    use: Use,
    size: int,
    known: Known,
    origin: E.Origin,
    lane: Expr | None = None,
    put: E.Substitution = _NOWHERE,
) -> Element:
    """Some ``size`` bytes of what a use takes, which lie in one of its elements.

    A channel is said by its lane and its slot. ``lane``: the one that is asked for; ``put``: the
    iteration that is meant, of the use of which ``use.tensor`` is the tensor then.
    """
    tensor = use.tensor
    first = lane_of(chip, tensor)
    inside = E.and_(E.ge(tensor.address, 0), E.lt(tensor.address, chip.local_bytes))
    if not first.is_const and known.decide(inside) is True:
        first = E.const(0)
    images, channels, rows, columns = tensor.shape
    axes: list[tuple[Expr, Expr]] = []

    def axis(name: str, count: Expr) -> Expr:
        if count is E.const(1):
            return E.const(0)
        most = count.const - 1 if count.is_const else None
        axes.append((E.fresh(name, 0, most, origin), count))
        return axes[-1][0]

    if lane is None:
        lane = first if channels is E.const(1) else axis("lane", E.const(chip.lanes))
    rounds = known.decide(E.le(first + channels, chip.lanes)) is not True
    slot = axis("slot", kit.slots(chip, first, channels)) if rounds else E.const(0)
    place = slot * chip.lanes + lane
    n, h, w = axis("n", images), axis("h", rows), axis("w", columns)
    itemsize = tensor.dtype.itemsize.const
    part = axis("part", E.const(itemsize // size))
    facts = [E.ge(place, first), E.lt(place, first + channels)]
    quad = (n, place - first, h, w)
    facts += (put.bool(fact) for fact in use.taken_of(quad, part))
    index = n * tensor.strides[0] + slot * tensor.strides[1]
    index = index + h * tensor.strides[2] + w * tensor.strides[3]
    start = tensor.address - first * chip.local_bytes
    byte = start + index * itemsize + part * size
    kept = tuple(fact for fact in facts if fact is not E.TRUE)
    return Element(lane, byte, size, tuple(axes), kept, quad, slot, part)


class Way(Struct, frozen=True):
    """A use in one of the iterations before a read, whose indices are symbols of its own."""

    use: Use
    put: E.Substitution
    loops: tuple[tuple[Expr, Expr], ...]
    facts: tuple[Bool, ...]

    @property
    def within(self) -> tuple[Bool, ...]:
        return (*(E.lt(index, count) for index, count in self.loops), *self.facts)


def ways(
    write: Use, read: Use, inside: int = 0, also: Sequence[Bool] = ()
) -> Iterator[tuple[Way, int | None]]:
    """In which iterations a write precedes a read, in one iteration of the outer ``inside`` loops;
    and of which loop it is an earlier one. ``also``: what matters of the write besides its place.
    """
    common = common_loops(write.loops, read.loops)
    precedes = write.order < read.order
    if precedes and common >= inside and not exclusive(write.path, read.path):
        yield _way(write, common, None), None
    for level in range(inside, common):
        if precedes and not depends(write, write.loops[level:common], also):
            continue  # the same iteration does what the earlier one did
        yield _way(write, level, read.loops[level].index), level


def _way(write: Use, kept: int, below: Expr | None) -> Way:
    """``below``: the first index that is the write's own is less."""
    put, loops = flow.fresh(write, kept)
    found = moved(write, put, loops)
    if below is None:
        return found
    (index, _), *others = found.loops
    return replace(found, loops=((index, below), *others))


def moved(write: Use, put: E.Substitution, loops: Sequence[Loop]) -> Way:
    """A write in the iteration that ``put`` says; ``loops``: those that it gives any index."""
    counts = tuple((put.expr(loop.index), put.expr(loop.trips)) for loop in loops)
    use = replace(write, tensor=write.tensor.at(put))
    return Way(use, put, counts, tuple(put.bool(fact) for fact in write.path))


def depends(write: Use, loops: Sequence[Loop], also: Sequence[Bool] = ()) -> bool:
    """Whether where or when a write happens depends on the index of one of the loops."""
    wanted = {loop.symbol for loop in loops}
    tensor = write.tensor
    terms: list[Expr | Bool] = [tensor.address, *tensor.shape, *tensor.strides, *write.path]
    terms += [loop.trips for loop in write.loops]
    terms += also
    return any(symbol in wanted for term in terms for symbol in term.free())


class Covered(Struct, frozen=True):
    """When some element of a read was written; ``exact``: and otherwise it was not.

    ``given``: what holds of the symbols that name the element. ``where``: its lane and byte.
    """

    predicate: Bool
    exact: bool
    given: tuple[Bool, ...] = ()
    where: Element | None = None


class Point(Struct, frozen=True):
    """Some bytes of some element of a read, whichever, and what is known where it is read."""

    element: Element
    known: Known
    given: tuple[Bool, ...]


def point_of(
    chip: Chip, read: Use, writes: Sequence[Use], facts: Iterable[Bool] = ()
) -> Point | None:
    """None: it is not known how many bytes an element has."""
    sizes = [use.tensor.dtype.itemsize for use in (read, *writes)]
    if not all(size.is_const for size in sizes):
        return None
    size = min(WORD_BYTES, *(size.const for size in sizes))
    known = Known((*facts, *read.path, *read.within), read.loops)
    known = known.also(kit.nonempty(read.tensor.shape), ())
    point = element(chip, read, size, known, E.Origin.POINT)
    given = (*point.ranges, *kit.nonempty(read.tensor.shape))
    ends = ((index, known.most(count)) for index, count in point.axes)
    bounds = [E.lt(index, end) for index, end in ends if end is not None]
    return Point(point, known.also((*point.ranges, *bounds), ()), given)


def covered(chip: Chip, read: Use, writes: Sequence[Use], facts: Iterable[Bool] = ()) -> Covered:
    """When an element of a read, whichever, was written before."""
    point = point_of(chip, read, writes, facts)
    if point is None:
        return Covered(E.FALSE, False)
    before = (way for write in reversed(writes) for way, _ in ways(write, read))
    predicate, exact = there(chip, point, before)
    exact = exact and read.part(point.element.index) is not None
    return Covered(predicate, exact, point.given, point.element)


def there(chip: Chip, point: Point, before: Iterable[Way]) -> tuple[Bool, bool]:
    """When one of these writes has an element at a point; not exact: there may be others."""
    wanted, inside = point.element, point.known
    found: list[tuple[Way, Element]] = []
    cases: list[Bool] = []
    for way in before:
        one = at(chip, point, way)
        matched = _matched(way, one, wanted)
        if matched is not None and inside.decide(matched) is True:
            return E.TRUE, True
        if matched is not None and matched is not E.FALSE:
            cases.append(matched)
        found.append((way, one))
    exact = True
    for way, one in found:
        formula, good = meets(point, way, one)
        if inside.decide(formula) is True:
            return E.TRUE, True
        cases.append(formula)
        exact = exact and good
    return E.or_(*cases), exact


def at(chip: Chip, point: Point, way: Way) -> Element:
    """Some element of a write, in the lane of a point."""
    held = point.known.also(way.within, ())
    size, lane = point.element.size, point.element.lane
    return element(chip, way.use, size, held, E.Origin.AXIS, lane, way.put)


def meets(point: Point, way: Way, one: Element, facts: Sequence[Bool] = ()) -> tuple[Bool, bool]:
    """When an element of a write of which these ``facts`` hold is at a point."""
    return exists(
        [(_symbol(index), count) for index, count in (*way.loops, *one.axes)],
        [*way.facts, *one.facts, *facts, E.eq(one.byte, point.element.byte)],
        decide=point.known.decide,
    )


def _symbol(index: Expr) -> Sym:
    atom = index.as_atom()
    assert isinstance(atom, Sym)
    return atom


def _matched(way: Way, one: Element, point: Element) -> Bool | None:
    """That the element of a write is there which has the read's own steps, term by term.

    It is sufficient: the index of each step is what the step divides of the distance. None: the
    steps do not add up to it.
    """
    unknown = [*way.loops, *one.axes]
    rest = point.byte - one.byte
    steps: list[tuple[Expr, Expr, Expr]] = []
    for index, count in unknown:
        symbol = _symbol(index)
        zero = E.Substitution({symbol: E.const(0)}).expr(one.byte)
        step = E.Substitution({symbol: E.const(1)}).expr(one.byte) - zero
        if one.byte is not zero + step * index:
            return None
        rest = rest + step * index
        steps.append((index, count, step))
    steps.sort(key=lambda item: kit.length(item[2]), reverse=True)
    chosen: dict[Sym, Expr] = {}
    for index, _, step in steps:
        if step is E.const(0):
            chosen[_symbol(index)] = E.const(0)
            continue
        taken, rest = kit.divided(rest, step)
        chosen[_symbol(index)] = taken
    if rest is not E.const(0):
        return None
    put = E.Substitution(chosen)
    found = [put.bool(fact) for fact in (*way.facts, *one.facts)]
    for index, count, _ in steps:
        found += [E.ge(put.expr(index), 0), E.lt(put.expr(index), put.expr(count))]
    return E.and_(*found)
