"""What sequences are made of: indices, slices and pieces of lists, concrete and symbolic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from msgspec.structs import replace

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Sym
from verifier.symbolic.expr.settling import Settling
from verifier.symbolic.pretty import operand, pretty
from verifier.symbolic.python import hierarchy, probes
from verifier.symbolic.python.heap import UNBOUND, Item, ListBox, Many, Segment, TupleBox
from verifier.symbolic.python.iteration import Items, Live, Mapped, Pull, Push, Runs, Trips, Unknown
from verifier.symbolic.python.model import BoundBuiltin, Class, Function, HostType
from verifier.symbolic.python.renaming import Renaming
from verifier.symbolic.python.terms import as_formula, join, presence
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import View
from verifier.symbolic.values import Guarded, Opaque, Range, Ref, SliceValue, unsure

#: ways through items that run code of the program
Way: TypeAlias = Live | Pull | Push | Mapped

#: elements that a sequence may have to be listed one by one
MAX_LENGTH: Final = 65536
#: numbers of repetitions that are told apart
_CHOICES: Final = 4
#: elements among which a symbolic index or bound tells cases apart
MAX_CASES: Final = 256

#: values that are certainly no index
_NO_INDEX: Final = (
    float, complex, str, bytes, tuple, type(None), type(...), type(NotImplemented), SliceValue,
    Function, Class, HostType, BoundBuiltin,
)  # fmt: skip


def inert(value: object) -> bool:
    """Whether a value is nothing that can be changed, so that losing sight of it loses nothing."""
    if isinstance(value, tuple):
        return all(inert(item) for item in value)
    if isinstance(value, Guarded):
        return all(inert(item) for _, item in value.cases)
    return isinstance(value, (Expr, Bool, bool, str, float, bytes, complex, type(None)))


def inert_segments(segments: Sequence[Segment]) -> bool:
    return all(
        inert(segment.value) if isinstance(segment, Item) else all(map(inert, segment.values))
        for segment in segments
    )


def lost(vm: VM, what: str, values: bool, span: Span) -> Opaque:
    """A result that is not known. ``values``: nothing in it can be changed."""
    return unsure(what) if values else vm.unfollowed(f"{what} is not followed", span)


def raises(
    vm: VM, error: type[BaseException], message: str, span: Span, when: Bool = E.TRUE
) -> None:
    """CPython raises an error with these very words."""
    vm.fault(error, message, span, when=when, args=(message,))


# ------------------------------------------------------------------------ indices

#: repetitions that there is memory for
_MAX_TIMES: Final = 1 << 31


def index_of(vm: VM, value: object, span: Span) -> Expr | None:
    """The integer that a value is as an index (``__index__``); None: it is none."""
    if isinstance(value, Expr):
        return value
    formula = as_formula(value)
    if formula is not None:
        return E.ite(formula, 1, 0)
    if isinstance(value, _NO_INDEX):
        return None
    return vm.as_int(value, span)


def _is_no_index(vm: VM, value: object) -> bool:
    """Whether a value, which is no integer, has no ``__index__`` either."""
    if isinstance(value, _NO_INDEX):
        return True
    return vm.kind(value).complete and not hierarchy.is_external(vm.type_of(value))


def too_often(times: Expr) -> bool:
    """Whether a sequence is repeated so often that CPython may refuse it."""
    return times.is_const and abs(times.const) > _MAX_TIMES


def needs_index(vm: VM, value: object, what: str, span: Span) -> Opaque:
    """Python's error for something that is no index, unless it may be one after all."""
    if _is_no_index(vm, value):
        cls = vm.type_of(value)
        name = cls.name if isinstance(cls, (HostType, Class)) else "object"
        vm.fault(TypeError, f"{what} must be integers or slices, not {name}", span)
    if isinstance(value, Opaque):
        return value
    return vm.unfollowed(f"{vm.kind(value).describe(vm, value)} as an index", span)


def integer(vm: VM, value: object, what: str, span: Span) -> Expr | None:
    """An argument that has to be an integer; None: nobody knows whether it is."""
    number = index_of(vm, vm.settled(value), span)
    if number is None and vm.kind(value).complete:
        vm.fault(TypeError, f"{what} must be an integer", span)
    return number


def checked(vm: VM, index: Expr, length: Expr, what: str, span: Span) -> Expr:
    """The position that an index means; one outside of the sequence is Python's error.

    Raises:
        Ended: it always is.
    """
    counted = index.is_const and index.const < 0
    if counted:
        index = length + index.const
    low, _ = E.bounds(index)
    natural = low is not None and low >= 0
    enough = E.TRUE if natural else E.ge(index, 0 if counted else -length)
    vm.fault(
        IndexError,
        f"list index `{pretty(index)}` is out of range",
        span,
        when=E.not_(E.and_(enough, E.lt(index, length))),
        text=f"{operand(index)} < {operand(length)}",
        values=(("index", index), ("length", length)),
        args=(f"{what} out of range",),
    )
    if counted or natural:
        return index
    below = E.lt(index, 0)
    known = vm.decide(below)
    if known is None:
        return E.ite(below, index + length, index)
    return index + length if known else index


def bounds_of(vm: VM, index: SliceValue, length: Expr, span: Span) -> tuple[Expr, Expr, int] | None:
    """Where a slice starts and ends in a sequence, and its step; None: it is not known.

    The bounds are those of ``slice.indices``.
    """
    parts: list[Expr | None] = []
    for part in (index.start, index.stop, index.step):
        part = vm.settled(part)
        if part is None:
            parts.append(None)
            continue
        if isinstance(part, Guarded):
            return None
        number = index_of(vm, part, span)
        if number is None:
            if _is_no_index(vm, part):
                message = "slice indices must be integers or None or have an __index__ method"
                raises(vm, TypeError, message, span)
            return None
        parts.append(number)
    start, stop, step = parts
    step = E.const(1) if step is None else step
    raises(vm, ValueError, "slice step cannot be zero", span, E.eq(step, 0))
    if not step.is_const:
        return None
    forward = step.const > 0
    least, most = (E.const(0), length) if forward else (E.const(-1), length - 1)
    ends = (least, most) if forward else (most, least)
    low, high = (
        end if bound is None else _clamped(vm, bound, length, least, most)
        for bound, end in zip((start, stop), ends, strict=True)
    )
    return low, high, step.const


def _clamped(vm: VM, bound: Expr, length: Expr, least: Expr, most: Expr) -> Expr:
    """A bound of a slice inside of what the sequence has."""
    below = E.lt(bound, 0)
    known = vm.decide(below)
    if known is True:
        return maximum(vm, bound + length, least)
    inside = minimum(vm, bound, most)
    if known is False:
        return inside
    return E.ite(below, maximum(vm, bound + length, least), inside)


def maximum(vm: VM, a: Expr, b: Expr) -> Expr:
    known = vm.decide(E.ge(a, b))
    return E.maximum(a, b) if known is None else a if known else b


def minimum(vm: VM, a: Expr, b: Expr) -> Expr:
    known = vm.decide(E.le(a, b))
    return E.minimum(a, b) if known is None else a if known else b


# ------------------------------------------------------------------------ items


def pick(vm: VM, segments: Sequence[Segment], index: Expr) -> object:
    """The item at a position that is inside."""
    if len(segments) == 1 and isinstance(segments[0], Many):
        return of_run(vm, segments[0], index)
    position = E.const(0)
    cases: list[tuple[Bool, object]] = []
    for segment in segments:
        if isinstance(segment, Item):
            here = E.eq(index, position)
            value: object = segment.value
            position = position + 1
        else:
            here = E.and_(E.ge(index, position), E.lt(index, position + segment.length))
            if here is E.FALSE or vm.decide(here) is False:
                position = position + segment.length
                continue
            value = of_run(vm, segment, index - position)
            position = position + segment.length
        known = vm.decide(here)
        if known is True:
            return value
        if known is None:
            cases.append((here, _known_where(vm, here, value)))
    if not cases:
        return unsure("an item outside the list")
    result = cases[-1][1]
    for guard, value in reversed(cases[:-1]):
        result = join(guard, value, result)
    return result


def _known_where(vm: VM, here: Bool, value: object) -> object:
    """A value with the cases that ``here`` rules out left away, if one remains."""
    if not isinstance(value, Guarded):
        return value
    with vm.guarded(here):
        cases = vm.cases(value)
    return cases[0][1] if len(cases) == 1 else value


def of_run(vm: VM, run: Many, index: Expr) -> object:
    """Item ``index`` of a run."""
    width = len(run.values)
    if width == 1:
        return told_apart(vm, renamed(vm, run, run.values[0], index))
    trip, place = index // width, index % width
    result: object = UNBOUND
    for position in reversed(range(width)):
        here = E.eq(place, position)
        if here is E.FALSE:
            continue
        value = renamed(vm, run, run.values[position], trip)
        result = value if result is UNBOUND else join(here, value, result)
    return result


def renamed(vm: VM, run: Many, value: object, trip: Expr) -> object:
    """A value of a run in one of its trips."""
    return Renaming(vm.heap, {run.index: trip}, run.fresh, own=run.fresh).value(value)


def told_apart(vm: VM, value: object) -> object:
    """A tile of a flattened nest of loops, its loop indices told apart where the facts allow it."""
    if isinstance(value, View) and any(
        isinstance(atom, E.Div) for part in value.instance for atom in part.atoms()
    ):
        return replace(value, instance=tuple(vm.without_quotients(p) for p in value.instance))
    return value


# ------------------------------------------------------------------------ pieces


def sliced(
    vm: VM, segments: tuple[Segment, ...], low: Expr, high: Expr, step: int
) -> tuple[Segment, ...] | None:
    """The segments of a slice with bounds as of ``slice.indices``; None: there is no form."""
    concrete = all(isinstance(segment, Item) for segment in segments)
    if concrete and low.is_const and high.is_const:
        chosen = range(low.const, high.const, step)
        return tuple(segments[k] for k in chosen)
    length = ListBox(segments).length
    if step == -1 and low is length - 1 and high.is_const and high.const == -1:
        return backwards(vm, segments)
    if step != 1:
        return _stepped(vm, segments, low, high, step)
    if low.is_const and low.const == 0 and high is length:
        return segments
    if len(segments) > MAX_CASES:
        return None
    out: list[Segment] = []
    position = E.const(0)
    for segment in segments:
        piece = _piece(vm, segment, low - position, high - position)
        if piece is None:
            return None
        out.extend(piece)
        position = position + (1 if isinstance(segment, Item) else segment.length)
    return tuple(out)


def _stepped(
    vm: VM, segments: tuple[Segment, ...], low: Expr, high: Expr, step: int
) -> tuple[Segment, ...] | None:
    """The items of a slice one by one, if they are few and none is an object of its trip."""
    fresh = any(isinstance(segment, Many) and segment.fresh for segment in segments)
    if fresh or not (low.is_const and high.is_const):
        return None
    places = range(low.const, high.const, step)
    if len(places) > MAX_CASES:
        return None
    return tuple(Item(pick(vm, segments, E.const(k))) for k in places)


def _piece(vm: VM, segment: Segment, low: Expr, high: Expr) -> tuple[Segment, ...] | None:
    """What of one segment lies between two positions, counted from its start."""
    if isinstance(segment, Item):
        return optional(vm, E.and_(E.le(low, 0), E.gt(high, 0)), segment.value)
    first = maximum(vm, low, E.const(0))
    last = minimum(vm, high, segment.length)
    if first.is_const and first.const == 0 and last is segment.length:
        return (segment,)
    known = vm.decide(E.ge(first, last))
    if known is True:
        return ()
    if len(segment.values) != 1:
        return None
    index = index_symbol()
    trip = E.from_atom(index) + first
    value = Renaming(vm.heap, {segment.index: trip}).value(segment.values[0])
    count = maximum(vm, last - first, E.const(0))
    return (Many(count, index, (value,), segment.fresh),)


def optional(vm: VM, there: Bool, value: object) -> tuple[Segment, ...]:
    """An item that is there under a condition: a run of length one or zero."""
    known = vm.decide(there)
    if known is not None:
        return (Item(value),) if known else ()
    return (Many(E.ite(there, 1, 0), index_symbol(), (value,)),)


def index_symbol() -> Sym:
    index = E.fresh("item", 0, origin=E.Origin.LOOP).as_atom()
    assert isinstance(index, Sym)
    return index


def backwards(vm: VM, segments: Sequence[Segment]) -> tuple[Segment, ...]:
    """The segments in the opposite order."""
    out: list[Segment] = []
    for segment in reversed(segments):
        if isinstance(segment, Item):
            out.append(segment)
            continue
        index = index_symbol()
        trip = segment.count - 1 - E.from_atom(index)
        rename = Renaming(vm.heap, {segment.index: trip})
        values = tuple(rename.value(value) for value in reversed(segment.values))
        out.append(Many(segment.count, index, values, segment.fresh))
    return tuple(out)


def multiplied(vm: VM, segments: tuple[Segment, ...], times: Expr) -> tuple[Segment, ...] | None:
    """The segments of ``list * times``; None: there is no form."""
    if times.is_const and len(segments) * max(times.const, 0) <= MAX_LENGTH:
        return segments * times.const
    values = ListBox(segments).concrete
    if values is None or len(values) > MAX_LENGTH:
        return None
    if not values:
        return ()
    known = vm.decide(E.ge(times, 0))
    count = times if known is True else E.maximum(times, 0)
    return (Many(count, index_symbol(), values),)


def times_apart(times: Expr, most: int = _CHOICES) -> Guarded | Expr:
    """How often a sequence is repeated, by path where that is a choice between a few numbers."""
    test = next((atom.test for atom in times.atoms() if isinstance(atom, E.Ite)), None)
    if test is None or most < 2:
        return times
    cases: list[tuple[Bool, object]] = []
    for case in (test, E.not_(test)):
        found = times_apart(Settling((case,)).expr(times), most - 1)
        if isinstance(found, Guarded):
            cases += [(E.and_(case, guard), value) for guard, value in found.cases]
        else:
            cases.append((case, found))
    known = all(isinstance(value, Expr) and value.is_const for _, value in cases)
    return Guarded(tuple(cases)) if known and len(cases) <= most else times


# ------------------------------------------------------------------------ what is run through


def count_of(vm: VM, rng: Range) -> Expr:
    """How many values a range has."""
    distance, step = rng.stop - rng.start, rng.step
    if step.is_const and step.const == 0:
        return E.const(0)
    if step.is_const:
        trips = E.ceildiv(distance, step) if step.const > 0 else E.ceildiv(-distance, -step.const)
    elif vm.decide(E.gt(step, 0)) is True:
        trips = E.ceildiv(distance, step)
    else:
        up = E.ceildiv(distance, E.maximum(step, 1))
        down = E.ceildiv(-distance, E.maximum(-step, 1))
        trips = E.ite(E.gt(step, 0), up, down)
    return maximum(vm, trips, E.const(0))


def range_segments(vm: VM, rng: Range) -> tuple[Segment, ...]:
    """The values of a range as a list."""
    count = count_of(vm, rng)
    if count.is_const and count.const <= MAX_LENGTH:
        return tuple(Item(rng.start + rng.step * k) for k in range(count.const))
    index = vm.loop_symbol("item")
    return (Many(count, index, (rng.start + rng.step * E.from_atom(index),)),)


def taken(
    vm: VM, value: object, span: Span, asked: Callable[[object], None] = lambda value: None
) -> tuple[Segment, ...] | Way | None:
    """The items of an iterable, or the way through them; None: they are not followed.

    ``asked`` is done with it before any item is taken.
    """
    value = vm.settled(value)
    if isinstance(value, Guarded):
        return None
    box = vm.box(value)
    if isinstance(box, ListBox):
        return box.segments
    known = vm.kind(value).as_items(vm, value, span)
    if known is not None:
        asked(value)
        return tuple(Item(item) for item in known)
    if isinstance(value, Opaque):
        probes.refused(vm, iter, (value,), span)
        return None
    way = vm.iteration(value, span)
    asked(value)
    if isinstance(way, Items):
        return tuple(Item(item) for item in way.items)
    if isinstance(way, Runs):
        return way.ref.segments
    if isinstance(way, Trips):
        return range_segments(vm, way.range)
    return None if isinstance(way, Unknown) else way


def segments_of(
    vm: VM, value: object, span: Span, asked: Callable[[object], None] = lambda value: None
) -> tuple[Segment, ...] | None:
    """The same as segments, consumed: the program's code for the items is run here."""
    way = taken(vm, value, span, asked)
    return way if way is None or isinstance(way, tuple) else vm.gathered_items(way, span).segments


def watch(vm: VM, refs: Sequence[Ref], span: Span) -> Callable[[], None]:
    """Says so when one of some containers is asked for that has changed since."""
    start = [_outline(vm, ref) for ref in refs]

    def check() -> None:
        now = (_outline(vm, ref) for ref in refs)
        if not all(a is b or (a == b) is True for a, b in zip(now, start, strict=True)):
            vm.unfollowed("something changes under the loop that runs through it", span)

    return check


def _outline(vm: VM, ref: Ref) -> object:
    """What of a container must not change while a loop runs through it."""
    box = vm.box(ref)
    if isinstance(box, ListBox):
        return box.segments
    items = getattr(box, "items", {})
    return [(key, presence(value)) for key, value in items.items()]


def values_in(segments: Sequence[Segment]) -> tuple[object, ...] | None:
    """The items if none of the segments is a run."""
    if all(isinstance(segment, Item) for segment in segments):
        return tuple(segment.value for segment in segments if isinstance(segment, Item))
    return None


def as_list(vm: VM, segments: Sequence[Segment]) -> Ref:
    return vm.heap.new(ListBox(tuple(segments)))


def as_tuple(vm: VM, segments: Sequence[Segment]) -> object:
    """The tuple of what is in segments: of known length, or with runs."""
    items = values_in(segments)
    return vm.heap.new(TupleBox(tuple(segments))) if items is None else items


def is_list(vm: VM, value: object) -> bool:
    """Whether a value is a list."""
    return type(vm.box(value)) is ListBox
