"""Where operands of PPL in local memory lie: the lane and the byte they start at, and their steps.

A tensor starts in lane 0 and at a row of the execution units; a part of it where its offsets say
(ADR-04). The steps of a part are those of the tensor that it is of.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from rules.tpu.ppl_kit import (
    bits,
    check,
    declare,
    described,
    elementwise,
    example,
    function,
    layout,
    local,
    same,
    tensors,
)
from verifier.hardware import dtypes as dt
from verifier.hardware.chips import Chip
from verifier.layouts import strides as layouts
from verifier.rulebase import On
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.instruction import Instruction, Picks
from verifier.symbolic.lanes import AXES
from verifier.symbolic.roles import Lies, Role, Spread, Unit
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation
from verifier.symbolic.views.reshaping import stride_of

#: frames of n, c, h, w, and of n, c and the elements of a plane
_RANKS: Final = (3, 4)


# ----------------------------------------------------------------------------- places


def origin(view: View) -> View | None:
    """The exact view that says where an operand starts: itself, or what it reinterprets."""
    found = view if view.exact else view.base
    fine = found is not None and found.exact and local(found) and len(found.frame) in _RANKS
    return found if fine else None


def _frame(view: View) -> tuple[Expr, ...]:
    """``(n, c, h, w)`` of the tensor that an exact view is of; planes may be a row."""
    n, c, *inner = view.frame
    return (n, c, *inner) if len(inner) > 1 else (n, c, E.const(1), *inner)


def _coords(view: View) -> tuple[Expr, ...]:
    """The coordinates in that."""
    n, c, *inner = view.coords
    return (n, c, *inner) if len(inner) > 1 else (n, c, E.const(0), *inner)


def _first(view: View) -> tuple[Expr, ...]:
    """Coordinates of the first element."""
    zero = E.Substitution({axis.symbol: E.const(0) for axis in view.axes})
    return tuple(zero.expr(coord) for coord in _coords(view))


def lane(view: View, chip: Chip) -> Expr | None:
    """The lane that an operand starts in."""
    found = origin(view)
    return None if found is None else E.mod(_first(found)[1], chip.lanes)


def _unit(view: View, chip: Chip) -> int | None:
    """Elements in a row of the execution units."""
    size = bits(view.dtype)
    return chip.eu_bytes * dt.BYTE // size.const if size.is_const else None


def strides(
    chip: Chip, mode: str, start: Expr, shape: tuple[Expr, ...], unit: int
) -> tuple[Expr, ...]:
    """Steps of a layout: along n, from slot to slot, along h and w."""
    quad = (shape[0], shape[1], shape[2], shape[3])
    if mode == "row-aligned":
        return layouts.row_aligned(chip.lanes, unit, start, quad, 1)
    if mode == "compact":
        return layouts.compact(chip.lanes, start, quad)
    return layouts.aligned(chip.lanes, unit, start, quad, 1)


def _offset(view: View, chip: Chip, unit: int) -> Expr | None:
    """Elements from the row that the tensor starts at; whole rows may be left out."""
    n, c, h, w = _first(view)
    frame = _frame(view)
    wide, mode = frame[3], layout(view)
    if mode == "aligned":
        return h * wide + w
    if mode == "row-aligned":
        return w
    if mode != "compact":
        return None
    batch, slot, *_ = strides(chip, mode, E.const(0), frame, unit)
    return n * batch + E.floordiv(c, chip.lanes) * slot + h * wide + w


# ----------------------------------------------------------------------------- start lanes


def start_lanes(op: Operation, chip: Chip) -> Iterator[Check]:
    """Operands that a lane computes with lie in it; some start in lane 0."""
    instruction = described(op)
    wanted = instruction.lanes
    known = [(role, view) for role, view in tensors(op) if local(view)]
    if wanted is not None and wanted.first:
        for role, view in known:
            yield from _in_first(op, role, view, chip, *wanted.facts)
    elif wanted is not None:
        held = [(r, v) for r, v in known if not wanted.roles or r in wanted.roles]
        for role, view in held[1:]:
            yield from _together(op, held[0], (role, view), chip, *wanted.facts)
    for role, view in known:
        described_as = instruction.role(role)
        first = described_as.first_lane if described_as is not None else None
        if first is not None:
            found = view.dtype.among(first.single)
            yield from _in_first(op, role, view, chip, first.fact, unless=found)
    yield from _index(op, chip)
    yield from _around(op, chip)


def _unknown(view: View) -> str:
    return view.reason or f"where the part of `{view.name}` starts is not followed"


def _in_first(
    op: Operation, role: str, view: View, chip: Chip, *facts: str, unless: Bool = E.FALSE
) -> Iterator[Check]:
    mine = lane(view, chip)
    if unless is E.TRUE:
        return
    yield check(
        op,
        role,
        E.FALSE if mine is None else E.or_(unless, E.eq(mine, 0)),
        f"{role} starts in lane 0",
        f"{role} of `pl.{function(op)}` does not start in lane 0",
        *facts,
        values=() if mine is None else ((f"lane of {role}", mine),),
        help=("move it with `pl.dma.move` to a tensor of its own first",),
        exact=mine is not None,
        reason=_unknown(view),
    )


def _together(
    op: Operation, one: tuple[str, View], other: tuple[str, View], chip: Chip, *facts: str
) -> Iterator[Check]:
    (first, a), (role, b) = one, other
    there, here = lane(a, chip), lane(b, chip)
    known = there is not None and here is not None
    yield check(
        op,
        role,
        E.FALSE if there is None or here is None else E.eq(here, there),
        f"{role} and {first} start in the same lane",
        f"{role} of `pl.{function(op)}` starts in another lane than {first}",
        *facts,
        "ADR-12",
        values=()
        if there is None or here is None
        else ((f"lane of {first}", there), (f"lane of {role}", here)),
        views=(a,),
        help=(
            "a lane computes with what lies in it: bring the part to the other lanes first, with "
            "`pl.dma.move`",
        ),
        exact=known,
        reason=_unknown(a if there is None else b),
    )


def _index(op: Operation, chip: Chip) -> Iterator[Check]:
    """An index of columns for all channels starts in lane 0, one for each where they are."""
    index, target = op.view("index"), op.view("dst")
    if described(op).picks is not Picks.COLUMNS or index is None or target is None:
        return
    mine, theirs = lane(index, chip), lane(target, chip)
    if mine is None or theirs is None:
        return
    role = described(op).role("index")
    assert role is not None and role.dtypes is not None
    each = same(index.shape[1:3], (target.shape[1], E.const(1)))
    yield check(
        op,
        "index",
        E.or_(E.and_(each, E.eq(mine, theirs)), E.and_(E.not_(each), E.eq(mine, 0))),
        "index starts in lane 0, or in that of dst if it has a row for each channel",
        f"index of `pl.{function(op)}` starts in another lane than it is read in",
        role.dtypes.fact,
        values=(("lane of index", mine), ("lane of dst", theirs)),
    )


def _around(op: Operation, chip: Chip) -> Iterator[Check]:
    """One channel is spread over lanes up to the last one: there is no going round."""
    for role in described(op).roles:
        view, shape = op.view(role.name), role.shape
        start = lane(view, chip) if view is not None and local(view) else None
        if view is None or start is None or not isinstance(shape, Spread):
            continue
        if start.is_const and start.const == 0:
            continue  # see ppl-broadcast
        yield check(
            op,
            role.name,
            E.le(start + view.shape[1], chip.lanes),
            f"lane of {role.name} + c of {role.name} <= {chip.lanes}",
            f"`pl.{function(op)}` does not go on in lane 0 behind the last lane",
            shape.fact,
            values=((f"lane of {role.name}", start), (f"c of {role.name}", view.shape[1])),
        )


# ----------------------------------------------------------------------------- addresses


_BYTES: Final = {Unit.WORD: layouts.COMPACT_ALIGNMENT, Unit.PAIR: layouts.PAIR_BYTES}


def addresses(op: Operation, chip: Chip) -> Iterator[Check]:
    """Operands start at a multiple of what the function takes them at."""
    for role in described(op).roles:
        view = op.view(role.name)
        lies = role.lies
        if view is None or lies is None or not local(view) or lies.multiple is Unit.ELEMENT:
            continue
        yield from _multiple(op, role, lies, view, chip)


def _multiple(op: Operation, role: Role, lies: Lies, view: View, chip: Chip) -> Iterator[Check]:
    found = origin(view)
    size = None if found is None else bits(found.dtype)
    unit = None if found is None else _unit(found, chip)
    offset = None if found is None or unit is None else _offset(found, chip, unit)
    width = _BYTES.get(lies.multiple, chip.eu_bytes)
    if found is not None and offset is None and _whole(found):
        return
    fine: Bool = E.FALSE
    if offset is not None and size is not None:
        fine = E.eq(E.mod(offset * size, width * dt.BYTE), 0)
    if lies.multiple is Unit.ROW:
        fine = E.or_(fine, view.dtype.among(lies.single))
    if fine is E.TRUE:
        return
    yield check(
        op,
        role.name,
        fine,
        f"{role.name} starts at a multiple of {width} bytes",
        f"{role.name} of `pl.{function(op)}` does not start at a multiple of {width} bytes",
        lies.fact,
        "TPU-A01",
        values=() if offset is None else ((f"elements in front of {role.name}", offset),),
        help=("move the part to a tensor of its own first",),
        exact=offset is not None,
        reason=_unknown(view),
    )


def _whole(view: View) -> bool:
    return all(coord.is_const and coord.const == 0 for coord in _first(view))


# ----------------------------------------------------------------------------- layouts


class _Axes(Struct, frozen=True):
    """How far it is from one element of a part to the next, and how far it is taken to be."""

    places: tuple[Expr, ...]
    steps: tuple[Expr, ...]
    taken: tuple[Expr, ...]

    def fine(self) -> Bool:
        """Steps that are never made are not compared (LAY-01)."""
        each = zip(self.places, self.steps, self.taken, strict=True)
        return E.and_(*(E.or_(E.le(count, 1), E.eq(mine, wanted)) for count, mine, wanted in each))


def laid(op: Operation, role: str, view: View, wanted: Lies, chip: Chip) -> Iterator[Check]:
    """A part has the steps that the layout has for its own shape: no others are given."""
    found = origin(view)
    frames = [view.storage.shape if found is None else _frame(found)]
    if view.real is not None and view.real != frames[0] and len(view.frame) == len(view.real):
        frames.append(view.real)
    whole = found is view and any(view.shape == frame for frame in frames) and _whole(view)
    if whole and view.strides is None:
        return
    described_as = described(op).role(role)
    spread = described_as is not None and isinstance(described_as.shape, Spread)
    axes = [_axes(view, frame, wanted, chip, once=spread) for frame in frames]
    fine = E.and_(*(E.FALSE if each is None else each.fine() for each in axes))
    if fine is E.TRUE:
        return
    # whether the steps are those of the memory shape or of the real one is not documented
    settled = len(frames) == 1 and axes[0] is not None
    steps = axes[0]
    yield check(
        op,
        role,
        fine,
        f"the elements of {role} lie as in a tensor of its own that is {wanted.layout}",
        f"{role} of `pl.{function(op)}` is a part whose rows, channels or batches lie further "
        "apart than in a tensor of its shape",
        wanted.fact,
        "PPL-B14",
        values=()
        if steps is None
        else [(f"step of {axis}", step) for axis, step in zip(AXES, steps.steps, strict=True)],
        help=("move the part to a tensor of its own first",),
        exact=settled,
        reason=_unknown(view)
        if axes[0] is None
        else "the steps of a tensor with a real shape of its own are not documented",
    )


def _axes(
    view: View, frame: tuple[Expr, ...], wanted: Lies, chip: Chip, *, once: bool
) -> _Axes | None:
    """Steps of a view of a tensor of that frame; ``once``: its channels go round no further."""
    found, unit = origin(view), _unit(view, chip)
    if found is None or unit is None:
        return None
    start = lane(found, chip)
    assert start is not None
    slots = E.const(1) if once else E.ceildiv(start + view.shape[1], E.const(chip.lanes))
    places = (view.shape[0], slots, *view.shape[2:])
    taken = strides(chip, wanted.layout, start, view.shape, unit)
    if view.strides is not None:
        return _Axes(places, view.strides, taken)
    if found is not view:
        return None
    own = strides(chip, layout(view), E.const(0), frame, unit)
    coords, steps = _coords(view), list[Expr]()
    for position, axis in enumerate(view.axes):
        if position == 1:
            steps.append(own[1])
            continue
        each = [stride_of(coords[d], axis) for d in (0, 2, 3)]
        total = E.const(0)
        for step, stride in zip(each, (own[0], own[2], own[3]), strict=True):
            if step is None:
                return None
            total = total + step * stride
        steps.append(total)
    return _Axes(places, tuple(steps), taken)


# ----------------------------------------------------------------------------- registration


def _of_lanes(instruction: Instruction) -> tuple[str, ...]:
    facts = instruction.lanes.facts if instruction.lanes is not None else ()
    firsts = (role.first_lane for role in instruction.roles)
    return (*facts, *(first.fact for first in firsts if first is not None))


def _has_lanes(instruction: Instruction) -> bool:
    spreads = any(isinstance(role.shape, Spread) for role in instruction.roles)
    return bool(_of_lanes(instruction)) or spreads


def _of_addresses(instruction: Instruction) -> tuple[str, ...]:
    lies = (role.lies for role in instruction.roles)
    return tuple(each.fact for each in lies if each is not None)


_LANES: Final = elementwise(
    "part = a.sub_view([1, 5, 1, 96], [0, 3, 0, 0])\npl.tiu.fadd(b, part, 1.0)",
    shape="[1, 8, 1, 96]",
    result="[1, 5, 1, 96]",
).replace("rows: 1..64, ", "rows: 1, ")
_MOVED: Final = _LANES.replace(
    "pl.tiu.fadd(b, part, 1.0)", "pl.dma.move(b, part)\n    pl.tiu.fadd(b, b, 1.0)"
)
_COLUMNS: Final = example(
    """
source = pl.gtensor([1, rows, 1, 96], pl.GLOBAL, src_ptr)
target = pl.gtensor([1, rows, 1, 30], pl.GLOBAL, out_ptr)
a = pl.make_tensor([1, rows, 1, 96], pl.float16)
b = pl.make_tensor([1, rows, 1, 30], pl.float16)
pl.dma.load(a, source)
part = a.sub_view([1, rows, 1, 31], [0, 0, 0, 32])
pl.tiu.pool_max(b, part, [1, 2], [0, 0, 0, 0], [1, 1], [1, 1])
pl.dma.store(target, b)
""",
    "out_ptr, src_ptr, rows: pl.constexpr",
    "rows: 1..64, out_ptr: fp16[1, rows, 1, 30], src_ptr: fp16[1, rows, 1, 96]",
)


declare(
    "ppl-start-lane",
    "PPL038",
    On.OPERATION,
    "operands that a lane computes with start in the same lane",
    "Each lane reads and writes its own memory: channel c of every operand lies in the same lane, "
    "or the results are those of other channels, without a message. A part that begins at channel "
    "k starts in lane k modulo the number of lanes. The input of a convolution and the left matrix "
    "go to all lanes; most products and the input of a convolution start in lane 0.",
    ("TPU-A05", "ADR-12"),
    start_lanes,
    _LANES,
    _MOVED,
    concerns=_has_lanes,
    enforces=_of_lanes,
    silent=True,
)
declare(
    "ppl-operand-address",
    "PPL039",
    On.OPERATION,
    "operands start where the function can read them from",
    "Operands without strides of their own start at a row of the execution units, packed ones at a "
    "word. A part that begins at another column starts elsewhere.",
    ("TPU-A01",),
    addresses,
    _COLUMNS.replace("[0, 0, 0, 32]", "[0, 0, 0, 33]"),
    _COLUMNS,
    concerns=lambda instruction: bool(_of_addresses(instruction)),
    enforces=_of_addresses,
    silent=True,
)

__all__ = ["laid", "lane", "origin"]
