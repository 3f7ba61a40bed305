"""What the TPU rules share: operands as places in memory, scalar arguments, building checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final, Protocol, runtime_checkable

from msgspec import Struct

from rules.tpu.runs import lane_of, meet
from verifier.hardware.chips import Chip
from verifier.hardware.engines import Engine
from verifier.layouts import address as places
from verifier.layouts import strides as layouts
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.effects import ALWAYS
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.instruction import Instruction, Trait
from verifier.symbolic.lanes import AXES, LocalTensor, Quad, SystemTensor, Touch
from verifier.symbolic.roles import Placed
from verifier.symbolic.tensors import Storage
from verifier.symbolic.trace import Operation
from verifier.symbolic.values import RecordValue


def any_element() -> Quad:
    """The coordinates of an element that may be any."""
    n, c, h, w = (E.fresh(axis, 0, origin=E.Origin.AXIS) for axis in AXES)
    return n, c, h, w


# ----------------------------------------------------------------------------- operands


def local(op: Operation) -> Iterator[tuple[Touch, LocalTensor]]:
    """The operands in local memory, each once, in the order of the arguments."""
    seen: set[str] = set()
    for touch in op.touches:
        if isinstance(touch.tensor, LocalTensor) and touch.role not in seen:
            seen.add(touch.role)
            yield touch, touch.tensor


def system(op: Operation) -> Iterator[tuple[Touch, SystemTensor]]:
    """The operands in system memory, each once."""
    seen: set[str] = set()
    for touch in op.touches:
        if isinstance(touch.tensor, SystemTensor) and touch.role not in seen:
            seen.add(touch.role)
            yield touch, touch.tensor


def loaded(op: Operation) -> SystemTensor | None:
    """What an operation brings from system memory, if that is all that it reads."""
    reads = [touch.tensor for touch in op.touches if touch.reads]
    tensor = reads[0] if len(reads) == 1 else None
    return tensor if isinstance(tensor, SystemTensor) else None


def leaves_out(op: Operation) -> bool:
    """Whether a call does not use one of the tensors that its function has a use for."""
    used = {touch.role for touch in op.touches}
    footprint = described(op).footprint
    return any(
        role.name not in used
        and not footprint.writes_of(role.name)
        and all(read.when is not ALWAYS for read in reads)
        for role in described(op).roles
        if role.placed is not None and (reads := footprint.reads_of(role.name))
    )


def local_of(op: Operation, *roles: str) -> LocalTensor | None:
    """The local operand of the first of these roles that the operation has."""
    found = {touch.role: tensor for touch, tensor in local(op)}
    return next((found[role] for role in roles if role in found), None)


def function(op: Operation) -> str:
    """The name without its prefix: ``bdc_add``."""
    return op.name.removeprefix("okk.")


def described(op: Operation) -> Instruction:
    """The description of the function."""
    assert op.instruction is not None
    return op.instruction


def computes(op: Operation) -> bool:
    return op.engine is Engine.BDC


def transfers(op: Operation) -> bool:
    return op.engine is Engine.GDMA


#: functions that slide a window over their input
WINDOWS: Final = frozenset({Trait.POOLS, Trait.CONVOLVES, Trait.DEPTHWISE})


def is_window(op: Operation) -> bool:
    return not WINDOWS.isdisjoint(op.traits)


def slides(instruction: Instruction) -> bool:
    """:func:`is_window`, of a description."""
    return not WINDOWS.isdisjoint(instruction.traits)


def has_matrices(instruction: Instruction) -> bool:
    return any(role.placed and role.placed.layout == "matrix" for role in instruction.roles)


def placed(op: Operation, role: str) -> Placed:
    """What is said of the tensor that an operand is."""
    found = described(op).role(role)
    assert found is not None and found.placed is not None, (op.name, role)
    return found.placed


def stride_role(op: Operation, role: str) -> str | None:
    """The argument with the strides of an operand."""
    return placed(op, role).strides or None


def as_expr(value: object) -> Expr | None:
    """The value as an integer expression; None if it is not an integer."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return E.const(value)
    return None


def number(op: Operation, role: str) -> Expr | None:
    """An integer argument."""
    return as_expr(op.value(role))


def record(op: Operation, role: str) -> tuple[Expr, ...] | None:
    """The fields of a structure (``dim4``, ``dim2``, ``Padding``); None if absent or not known."""
    value = op.value(role)
    if not isinstance(value, RecordValue):
        return None
    fields = tuple(as_expr(item) for item in value.fields)
    known = tuple(item for item in fields if item is not None)
    return known if len(known) == len(fields) else None


def is_null(op: Operation, role: str) -> bool:
    """Whether a pointer is NULL, or no argument of the function."""
    return op.value(role) is None


@runtime_checkable
class Origin(Protocol):
    """What a stride helper was asked: the layout, the start lane (None off chip) and the shape."""

    @property
    def layout(self) -> str: ...
    @property
    def start_lane(self) -> Expr | None: ...
    @property
    def shape(self) -> Quad: ...


def origin(op: Operation, role: str) -> Origin | None:
    """The call of a helper that made an operand's strides; None if none did."""
    origins = op.attributes.get("origins")
    found = origins.get(role) if isinstance(origins, Mapping) else None
    return found if isinstance(found, Origin) else None


def words(role: str) -> str:
    """An argument as users speak of it: ``dst_addr`` is ``dst``."""
    return role.removesuffix("_addr")


def span_of(op: Operation, role: str) -> Span:
    """The text of an argument, or of the address of an operand."""
    return op.span_of(role if role in op.operands else f"{role}_addr")


# ----------------------------------------------------------------------------- geometry


class Block(Struct, frozen=True):
    """Where a local tensor lies: bytes ``[start, end)`` of every lane that it occupies.

    ``slots`` is how many of its channels a lane holds (ADR-03); ``length`` is exact for a tensor
    whose strides are not negative (ADR-08).
    """

    lane: Expr
    address: Expr
    start: Expr
    length: Expr
    slots: Expr
    channels: Expr

    @property
    def end(self) -> Expr:
        """The byte behind the last one, in its lane."""
        return self.start + self.length

    @property
    def lanes_end(self) -> Expr:
        """The lane behind the last one, for a tensor that does not go round."""
        return self.lane + self.channels


def slots(chip: Chip, lane: Expr, channels: Expr) -> Expr:
    """Channels per lane, ``ceil((Q + C) / X)`` (ADR-03)."""
    return places.channels_per_lane(chip.lanes, lane, channels)


def block(chip: Chip, tensor: LocalTensor) -> Block:
    """The place of a local tensor (ADR-08)."""
    lane = lane_of(chip, tensor)
    return _place(chip, lane, tensor.address, tensor.shape, tensor.strides, tensor.dtype.itemsize)


@lru_cache  # each tensor is asked against every other that may meet it
def _place(
    chip: Chip, lane: Expr, address: Expr, shape: Quad, strides: Quad, itemsize: Expr
) -> Block:
    """Of numbers alone: what is remembered keeps no tensor, with its bytes, from being freed."""
    return Block(
        lane,
        address,
        address - lane * chip.local_bytes,
        places.extent_bytes(chip, lane, shape, strides, itemsize),
        slots(chip, lane, shape[1]),
        shape[1],
    )


def system_block(tensor: SystemTensor) -> tuple[Expr, Expr]:
    """First byte and the byte behind the last one, from the start of the buffer."""
    start = tensor.address.offset
    length = places.system_extent_bytes(tensor.shape, tensor.strides, tensor.dtype.itemsize)
    return start, start + length


def bytes_of(storage: Storage) -> Expr:
    """How large a buffer of the caller's is."""
    total = storage.dtype.itemsize
    for extent in storage.shape:
        total = total * extent
    return total


def is_dense(chip: Chip, tensor: LocalTensor) -> bool:
    """Whether the tensor uses all of its place but the padding of its channels, by folding."""
    return _dense(chip, tensor) is E.TRUE


def _dense(chip: Chip, tensor: LocalTensor) -> Bool:
    """When the tensor uses all of its place but the padding of its channels.

    Its strides are those of the aligned or the compact layout, or it is one run of elements in each
    lane. Nothing else may use the padding (ADR-07). That strides are of the right lane is another
    rule's business (LAY-06).
    """
    size = tensor.dtype.itemsize
    if not tensor.given:
        return E.TRUE
    if not size.is_const or chip.eu_bytes % size.const:
        return E.FALSE
    lanes = [lane_of(chip, tensor), E.const(0)]
    if tensor.stride_lane is not None:
        lanes.append(tensor.stride_lane)
    cases = [_one_run(chip, tensor)]
    for start_lane in lanes:
        counts = places.steps(chip.lanes, start_lane, tensor.shape)
        for expected in (
            layouts.aligned(chip.lanes, chip.eu_bytes, start_lane, tensor.shape, size.const),
            layouts.compact(chip.lanes, start_lane, tensor.shape),
        ):
            agree = layouts.agree(tensor.strides, expected, counts)
            if agree is E.TRUE:
                return E.TRUE
            cases.append(agree)
    return E.or_(*cases)


def _one_run(chip: Chip, tensor: LocalTensor) -> Bool:
    """When a tensor is one run of elements in each lane."""
    images, slots, rows, columns = places.steps(chip.lanes, lane_of(chip, tensor), tensor.shape)
    _, _, row, column = tensor.strides
    return E.and_(
        E.le(images, 1),
        E.le(slots, 1),
        E.or_(E.le(rows, 1), E.eq(row, columns)),
        E.or_(E.le(columns, 1), E.eq(column, 1)),
    )


def nonempty(shape: Quad) -> tuple[Bool, ...]:
    """What holds of the shape of an operand that does something."""
    return tuple(fact for fact in (E.ge(size, 1) for size in shape) if fact is not E.TRUE)


class Element(Struct, frozen=True):
    """One element of a tensor: its symbols' ranges, and the address of its first byte."""

    index: Quad
    address: Expr
    ranges: tuple[Bool, ...]


def element(chip: Chip, tensor: LocalTensor) -> Element:
    """Some element of a local tensor (ADR-04); its address counts through all lanes."""
    index = _index(tensor.shape)
    start_lane = lane_of(chip, tensor)
    where = places.lane_of_channel(chip.lanes, start_lane, index[1])
    offset = places.element_offset(chip.lanes, start_lane, tensor.strides, index)
    address = tensor.address + (where - start_lane) * chip.local_bytes
    address = address + offset * tensor.dtype.itemsize
    return Element(index, address, _within(index, tensor.shape))


def _index(shape: Quad) -> Quad:
    n, c, h, w = (
        E.const(0) if size.is_const and size.const == 1 else E.fresh(axis, 0, None, E.Origin.POINT)
        for axis, size in zip(AXES, shape, strict=True)
    )
    return n, c, h, w


def _within(index: Quad, shape: Quad) -> tuple[Bool, ...]:
    facts = (E.lt(position, size) for position, size in zip(index, shape, strict=True))
    return tuple(fact for fact in facts if fact is not E.TRUE)


def lanes_apart(chip: Chip, first: Block, second: Block) -> Bool:
    """Whether two tensors that do not go round occupy different lanes."""
    inside = E.and_(E.le(first.lanes_end, chip.lanes), E.le(second.lanes_end, chip.lanes))
    beside = E.or_(E.le(first.lanes_end, second.lane), E.le(second.lanes_end, first.lane))
    return E.and_(inside, beside)


def bytes_apart(first: Block, second: Block) -> Bool:
    """Whether two tensors use different bytes of whatever lanes they share."""
    beside = E.or_(
        E.le(first.address + first.length, second.address),
        E.le(second.address + second.length, first.address),
    )
    together = E.eq(first.lane, second.lane)  # then addresses compare as bytes of a lane do
    if together is E.TRUE:
        return beside
    in_lane = E.or_(E.le(first.end, second.start), E.le(second.end, first.start))
    return E.or_(E.and_(together, beside), in_lane)


def places_apart(chip: Chip, first: Block, second: Block) -> Bool:
    """Whether the places of two tensors do not meet."""
    beside = bytes_apart(first, second)
    return beside if beside is E.TRUE else E.or_(beside, lanes_apart(chip, first, second))


def apart(chip: Chip, first: LocalTensor, second: LocalTensor) -> tuple[Bool, tuple[Bool, ...]]:
    """When two local tensors share no byte (ADR-11), and the ranges of the symbols that it needs.

    Places that do not meet settle it, and so does a first element that both have. Places that meet
    do share bytes if both tensors have a layout without gaps, neither fits into the padding of the
    other, and both start in lane 0 or neither goes round; else the statement is about one element
    of each: two elements with a common byte refute it.
    """
    one, two = block(chip, first), block(chip, second)
    by_place = places_apart(chip, one, two)
    if by_place is E.TRUE:
        return E.TRUE, ()
    meets = True if _begin_alike(first, second) else meet(chip, first, second)
    if meets is not None:
        return E.truth(not meets), ()
    sure: Bool = E.FALSE
    if is_dense(chip, first) and is_dense(chip, second):
        sure = E.or_(
            E.and_(E.eq(one.lane, 0), E.eq(two.lane, 0)),
            E.and_(E.eq(one.slots, 1), E.eq(two.slots, 1)),
        )
        sure = E.and_(sure, _too_long(first, second, one), _too_long(second, first, two))
    if sure is E.TRUE:
        return by_place, ()
    here, there = element(chip, first), element(chip, second)
    different = E.or_(
        E.le(here.address + first.dtype.itemsize, there.address),
        E.le(there.address + second.dtype.itemsize, here.address),
    )
    return E.or_(by_place, E.and_(E.not_(sure), different)), (*here.ranges, *there.ranges)


def _begin_alike(first: LocalTensor, second: LocalTensor) -> bool:
    """Whether two tensors have their first element in one place, as far as folding tells."""
    filled = not any(nonempty(tensor.shape) for tensor in (first, second))
    return filled and first.address is second.address and first.lane is second.lane


def _too_long(tensor: LocalTensor, other: LocalTensor, place: Block) -> Bool:
    """That the channels of another tensor do not fit between those of one without gaps."""
    padding = tensor.strides[1] * tensor.dtype.itemsize - _of_channel(tensor)
    alone = E.and_(E.le(place.slots, 1), E.le(tensor.shape[0], 1))
    return E.or_(alone, E.lt(padding, _of_channel(other)))


def is_continuous(tensor: SystemTensor) -> bool:
    """Whether the elements follow each other without gaps (LAY-C), as far as folding tells."""
    expected = E.const(1)
    for size, stride in zip(reversed(tensor.shape), reversed(tensor.strides), strict=True):
        once = size.is_const and size.const == 1
        if not once and stride is not expected:
            return False
        expected = expected * size
    return True


def same_place(a: LocalTensor, b: LocalTensor) -> bool:
    """Whether two operands are the same tensor, term by term."""
    if a.address is not b.address or a.dtype.itemsize is not b.dtype.itemsize:
        return False
    if any(x is not y for x, y in zip(a.shape, b.shape, strict=True)):
        return False
    return all(x is y for x, y in zip(a.strides, b.strides, strict=True))


def holds_all(chip: Chip, outer: LocalTensor, inner: LocalTensor) -> bool:
    """Whether the place of one tensor provably contains that of another, by folding alone."""
    return same_place(outer, inner) or holds(chip, outer, inner) is E.TRUE


def holds(chip: Chip, outer: LocalTensor, inner: LocalTensor) -> Bool:
    """When the place of one tensor contains that of another, as far as first and last bytes and
    numbers of channels tell."""
    big, small = block(chip, outer), block(chip, inner)
    begun = E.le(big.start, small.start)
    if begun is E.FALSE:
        return E.FALSE
    from_one_lane = E.and_(
        E.eq(big.lane, small.lane),
        E.le(small.channels, big.channels),
        begun,
        E.le(small.end, big.end),
    )
    if big.lane is small.lane:
        return from_one_lane
    return E.or_(from_one_lane, E.and_(begun, _channels_of(chip, outer, inner)))


def _channels_of(chip: Chip, outer: LocalTensor, inner: LocalTensor) -> Bool:
    """When a tensor that starts no earlier in its lane than another lies among the images and
    channels of that, whichever it starts with.

    The distance of their first bytes says in which image and slot of the larger one it starts, and
    its lane in which channel of that slot (ADR-04, ADR-13).
    """
    big, small = block(chip, outer), block(chip, inner)
    images, slots = (stride * outer.dtype.itemsize for stride in outer.strides[:2])
    mine = [stride * inner.dtype.itemsize for stride in inner.strides[:2]]
    image, rest, forward = _steps(small.start - big.start, images, outer.shape[0])
    slot, rest, onward = _steps(rest, slots, big.slots)
    first = slot * chip.lanes + small.lane
    return E.and_(
        forward,
        onward,
        E.le(image + inner.shape[0], outer.shape[0]),
        E.or_(E.le(inner.shape[0], 1), E.eq(mine[0], images)),
        E.le(big.lane, first),
        E.le(first + small.channels, big.lanes_end),
        E.or_(E.le(small.slots, 1), E.eq(mine[1], slots)),
        E.le(rest + _of_channel(inner), _of_channel(outer)),
    )


def _steps(distance: Expr, step: Expr, most: Expr) -> tuple[Expr, Expr, Bool]:
    """How often a step goes into a distance, what is left, and when that can be said.

    ``most``: to so many places, the first one among them, it leads.
    """
    if distance is E.const(0) or most is E.const(1):
        return E.const(0), distance, E.TRUE
    forward = E.ge(step, 1)
    if forward is E.FALSE:
        return E.const(0), distance, E.FALSE
    taken = E.floordiv(distance, step)
    return taken, distance - taken * step, forward


def _of_channel(tensor: LocalTensor) -> Expr:
    """The bytes from the first of a channel's elements up to the end of the last one."""
    _, _, rows, columns = tensor.shape
    steps = (rows - 1) * tensor.strides[2] + (columns - 1) * tensor.strides[3]
    return (steps + 1) * tensor.dtype.itemsize


def fills(chip: Chip, outer: LocalTensor, inner: LocalTensor) -> Bool:
    """When each element of one tensor is an element of another, which may have gaps."""
    if same_place(outer, inner):
        return E.TRUE
    within = holds(chip, outer, inner)
    if within is not E.FALSE:
        within = E.and_(_one_run(chip, outer), within)
    return E.or_(within, _part_of(outer, inner))


def _part_of(outer: LocalTensor, inner: LocalTensor) -> Bool:
    """When one tensor begins where another does, and goes on in its steps, as long or shorter.

    A step that the shorter one never takes may be any.
    """
    begun = E.eq(outer.address, inner.address)
    if begun is E.FALSE:
        return E.FALSE
    return E.and_(
        begun,
        E.eq(outer.dtype.itemsize, inner.dtype.itemsize),
        *(
            E.or_(E.le(part, 1), E.eq(a, b))
            for part, a, b in zip(inner.shape, outer.strides, inner.strides, strict=True)
        ),
        *(E.le(part, whole) for whole, part in zip(outer.shape, inner.shape, strict=True)),
    )


def fills_all(chip: Chip, outer: LocalTensor, inner: LocalTensor) -> bool:
    """Whether each element of one tensor provably is an element of another, by folding alone."""
    return fills(chip, outer, inner) is E.TRUE


def divided(value: Expr, step: Expr) -> tuple[Expr, Expr]:
    """How often ``value`` has all the terms of ``step``, and what is left of it."""
    taken, rest = E.const(0), value
    lead = step.terms[0][0] if step.terms else ()
    products = [mono for mono, _ in value.terms]
    for mono in [*products, ()] if step.is_const else products:
        if (factor := E.without(mono, lead)) is not None:
            part = E.Expr.make({factor: 1}, 0) if factor else E.const(1)
            times = _times(rest, part * step)
            taken, rest = taken + times * part, rest - times * part * step
    if step.is_const and rest.is_const:  # in its row, wherever it is counted from
        taken, rest = taken + rest.const // step.const, E.const(rest.const % step.const)
    return taken, rest


def _times(value: Expr, step: Expr) -> int:
    """How often a sum has all the terms of another one; of a single term, all of it or nothing."""
    has = dict(value.terms)
    found = [(has.get(mono, 0), coef) for mono, coef in step.terms]
    if step.const:
        found.append((value.const, step.const))
    if len(found) == 1:
        [(count, coef)] = found
        return count // coef if count % coef == 0 else 0
    times = [abs(count) // abs(coef) * (1 if count * coef > 0 else -1) for count, coef in found]
    least = min(times, key=abs)
    return least if all(each * least > 0 for each in times) else 0


def length(step: Expr) -> tuple[int, int]:
    """How long steps are among each other: longer with more sizes in a product, then with more of
    them."""
    degree = max((len(mono) for mono, _ in step.terms), default=0)
    return degree, abs(step.const) + sum(abs(coef) for _, coef in step.terms)


def quotient(part: Expr, step: Expr) -> Expr | None:
    """What a step goes into a term, if it does so without a rest."""
    if not step.is_const:
        return E.exact_quotient(part, step)
    if E.mod(part, step) is E.const(0):
        return E.floordiv(part, step)
    return None


# ----------------------------------------------------------------------------- checks


def check(
    op: Operation,
    role: str,
    predicate: Bool,
    text: str,
    message: str,
    *facts: str,
    values: Iterable[tuple[str, Expr]] = (),
    given: Iterable[Bool] = (),
    notes: Iterable[Note] = (),
    help: Iterable[str] = (),
    severity: str | None = None,
    exact: bool = True,
    reason: str = "",
) -> Check:
    """A check at the argument ``role`` of an operation."""
    return Check(
        predicate=predicate,
        span=span_of(op, role),
        text=text,
        message=message,
        facts=facts,
        given=tuple(given),
        values=tuple(values),
        notes=tuple(notes),
        help=tuple(help),
        severity=severity,
        exact=exact,
        reason=reason,
    )


def between(value: Expr, low: int, high: int) -> Bool:
    return E.and_(E.ge(value, low), E.le(value, high))


def divisible(value: Expr, divisor: int) -> Bool:
    return E.eq(E.mod(value, divisor), 0)
