"""Steps from one element of a tensor to the next: those of layouts, and those given by hand."""

from __future__ import annotations

from msgspec.structs import replace

from verifier.hardware import dtypes as dt
from verifier.layouts import strides
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic import views
from verifier.symbolic.expr import Expr
from verifier.symbolic.machine import Machine
from verifier.symbolic.tensors import Axis, DType, Mark, View
from verifier.symbolic.trace import LedgerKind

#: the dimension of channels, which go from lane to lane
_CHANNELS = 1


def eu_elements(machine: Machine, dtype: DType) -> Expr:
    """Elements of the alignment unit (CHIP-20)."""
    bits = machine.chip.eu_bytes * 8
    table = {code: bits // dt.BITS[name] for name, code in dt.CODES.items()}
    return E.table("elements per unit", dtype.code, table)


def tensor_strides(
    lanes: int,
    layout: str,
    lane: Expr,
    shape: tuple[Expr, Expr, Expr, Expr],
    unit: Expr,
) -> tuple[Expr, ...]:
    """Strides of a tensor in one of the align modes; ``unit``: elements per unit (LAY-10)."""
    _, c, h, w = shape
    slots = E.ceildiv(lane + c, E.const(lanes))
    if layout == "aligned":
        feature = E.ceildiv(h * w, unit) * unit
        return slots * feature, feature, w, E.const(1)
    if layout == "row-aligned":
        row = E.ceildiv(w, unit) * unit
        return slots * h * row, h * row, row, E.const(1)
    if layout == "compact":
        return slots * h * w, h * w, w, E.const(1)
    return strides.continuous(shape)


def in_lanes(machine: Machine, view: View, span: Span) -> View:
    """A view of local memory with steps given by hand: the elements that the steps say.

    Where the steps are those of the tensor, or a multiple of them, these are elements of it (with
    steps of 0 the same ones again); channels go from lane to lane whatever their step is. Which
    elements others show is open.
    """
    steps = view.strides
    if steps is None or not view.exact:
        return view
    own = _own(machine, view)
    axes = list(view.axes)
    renamed: dict[E.Sym, Expr] = {}
    for k, (axis, step) in enumerate(zip(view.axes, steps, strict=True)):
        if machine.decide(E.le(axis.size, 1)) is True:
            continue
        times = None if own is None else _times(machine, step, own[k])
        of_channels = axis.symbol in view.coords[_CHANNELS].free()
        if times is None or (of_channels and times != 1):
            reason = f"a view of `{view.name}` with steps of its own"
            machine.approximate(
                LedgerKind.OPAQUE, f"where the elements of {reason} lie is open", span
            )
            return replace(views.inexact(view, view.axes, reason), base=view, strides=steps)
        if times != 1:
            axes[k] = machine.axis(axis.size)
            renamed[axis.symbol] = axes[k].index * times
    if not renamed:
        return view
    by = E.Substitution(renamed)
    return replace(view, axes=tuple(axes), coords=tuple(by.expr(c) for c in view.coords))


def _times(machine: Machine, step: Expr, own: Expr | None) -> int | None:
    """How many of its own steps a given one is; None: none, or it is not known. A dimension without
    a step of its own takes none."""
    if own is None or machine.decide(E.eq(step, own)) is True:
        return 1
    if step is E.const(0):
        return 0
    if step.is_const and own.is_const and own.const > 0 and step.const > 0:
        times, rest = divmod(step.const, own.const)
        return None if rest else times
    return None


def _own(machine: Machine, view: View) -> list[Expr | None] | None:
    """The steps that a view's dimensions have in its tensor; None where it has none."""
    storage = view.storage
    if len(storage.shape) != len(view.frame) or storage.dtype.itemsize is not view.dtype.itemsize:
        return None
    if any(a is not b for a, b in zip(storage.shape, view.frame, strict=True)):
        return None
    n, c, h, w = storage.shape
    layout = str(storage.marks.get(Mark.LAYOUT))
    unit = eu_elements(machine, storage.dtype)
    lanes = machine.chip.lanes
    usual = tensor_strides(lanes, layout, E.const(0), (n, c, h, w), unit)
    in_one_slot = machine.decide(E.le(c, lanes)) is True
    return [_step(view, axis, usual, in_one_slot) for axis in view.axes]


def _step(view: View, axis: Axis, usual: tuple[Expr, ...], in_one_slot: bool) -> Expr | None:
    step = E.const(0)
    for dim, coord in enumerate(view.coords):
        if axis.symbol not in coord.free():
            continue
        zero = E.Substitution({axis.symbol: E.const(0)}).expr(coord)
        one = E.Substitution({axis.symbol: E.const(1)}).expr(coord)
        if coord is not zero + (one - zero) * axis.index:
            return E.const(-1)  # no step of this dimension is known
        if dim == _CHANNELS and in_one_slot and one - zero is E.const(1):
            return None
        step = step + (one - zero) * usual[dim]
    return step
