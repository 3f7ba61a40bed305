"""Tensors of PPL: how they are made, and the views of them.

A local tensor occupies its memory shape; operations use its real shape, a box at the origin of it.
A pointer becomes a tensor when ``gtensor`` gives it a shape. All have four dimensions (PPL-A03 to
PPL-A05).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from verifier.dialects.ppl.compiling import constant_block
from verifier.dialects.ppl.isa.shared import LAYOUTS
from verifier.dialects.ppl.steps import eu_elements, in_lanes
from verifier.hardware import dtypes as dt
from verifier.hardware.memories import Buffer
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic import views
from verifier.symbolic.expr import Expr
from verifier.symbolic.lanes import AXES
from verifier.symbolic.machine import Arg, Call, Machine
from verifier.symbolic.pretty import operand, pretty
from verifier.symbolic.tensors import Axis, DType, Mark, View
from verifier.symbolic.trace import LedgerKind
from verifier.symbolic.values import Enumerator, Opaque, SliceValue

RANK: Final = 4


#: a formula that is longer tells less than words for it
_LONGEST: Final = 90


def told(formula: str, words: str) -> str:
    """What is demanded, as a formula if it is short; the values are listed in any case."""
    return formula if len(formula) <= _LONGEST else words


def arguments(call: Call, *names: str) -> dict[str, Arg]:
    """Arguments of a host function by name."""
    found = dict(zip(names, call.args, strict=False))
    found.update({k: v for k, v in call.keywords.items() if k in names})
    return found


def four(
    machine: Machine, argument: Arg | None, what: str, otherwise: Sequence[Expr] | None = None
) -> tuple[Expr, ...] | None:
    """A list of four integers; None, with a check, if it is something else (PPL-B02)."""
    if argument is None or argument.value is None:
        return tuple(otherwise) if otherwise is not None else None
    items = machine.as_items(argument.value, argument.span)
    if items is None:
        machine.approximate(LedgerKind.OPAQUE, f"{what} is not followed", argument.span)
        return None
    if len(items) != RANK:
        machine.check(
            "ppl-four-dimensions",
            E.FALSE,
            argument.span,
            f"{what} has 4 entries",
            f"{what} has {len(items)} entries",
            facts=("PPL-B02",),
            help=("tensors of PPL have four dimensions: n, c, h, w",),
        )
    numbers = [machine.as_int(item, argument.span) for item in items]
    known = [number for number in numbers if number is not None]
    if len(known) != len(numbers):
        machine.approximate(LedgerKind.OPAQUE, f"{what} is not followed", argument.span)
        return None
    while len(known) < RANK:
        known.append(E.const(1))
    return tuple(known[:RANK])


def box(machine: Machine, view: View, shape: Sequence[Expr], span: Span | None) -> View:
    """The part of that shape at the origin of a view."""
    axes = tuple(
        axis if axis.size is size else machine.axis(size)
        for axis, size in zip(view.axes, shape, strict=True)
    )
    moved = {
        old.symbol: new.index for old, new in zip(view.axes, axes, strict=True) if old is not new
    }
    rename = E.Substitution(moved)
    coords = tuple(rename.expr(coord) for coord in view.coords)
    return replace(view, axes=axes, coords=coords, span=span)


# ------------------------------------------------------------------------------ making them


def make_tensor(machine: Machine, call: Call) -> object:
    """``make_tensor(mem_shape, dtype, tensor_shape=None, align_mode=TPU_ALIGN)`` (PPL-A04)."""
    given = arguments(call, "mem_shape", "dtype", "tensor_shape", "align_mode")
    memory = four(machine, given.get("mem_shape"), "the memory shape")
    dtype_given = given.get("dtype")
    dtype = machine.as_dtype(dtype_given.value, dtype_given.span) if dtype_given else None
    if memory is None or dtype is None:
        machine.unmodelled("ppl.make_tensor", call.span)
        return Opaque(f"the tensor made by {call.text}")
    real = four(machine, given.get("tensor_shape"), "the tensor shape", memory)
    layout = "aligned"
    mode = given.get("align_mode")
    _known_mode(machine, mode, "align", "the align mode of the tensor")
    if mode is not None and isinstance(mode.value, Enumerator):
        layout = LAYOUTS.get(mode.value.name, layout)
    spans = {name: argument.span for name, argument in given.items()}
    constant_block(machine, call.target_name or "tensor", given["mem_shape"], memory)
    made = machine.allocate(
        call.target_name or "tensor",
        memory,
        dtype,
        Buffer.LOCAL,
        call.span,
        partition_axis=None,
        marks={Mark.LAYOUT: layout},
        argument_spans=spans,
    )
    if real is None:
        machine.unmodelled("ppl.make_tensor", call.span)
        return made
    _within_block(machine, made, memory, real, spans.get("tensor_shape", call.span))
    return replace(box(machine, made, real, call.span), real=real)


def _known_mode(machine: Machine, given: Arg | None, kind: str, what: str) -> None:
    """What is no member of the enumeration may mean anything."""
    value = None if given is None else given.value
    if given is None or (isinstance(value, Enumerator) and value.kind == kind):
        return
    machine.approximate(LedgerKind.OPAQUE, f"{what} is not followed", given.span)
    machine.unmodelled("ppl.make_tensor" if kind == "align" else "ppl.gtensor", given.span)


def _within_block(
    machine: Machine, made: View, memory: Sequence[Expr], real: Sequence[Expr], span: Span
) -> None:
    for name, most, size in zip(AXES, memory, real, strict=True):
        if most is size:
            continue
        machine.check(
            "ppl-real-shape",
            E.le(size, most),
            span,
            told(f"{operand(size)} <= {operand(most)}", f"real {name} <= memory {name}"),
            f"the real {name} of `{made.name}` is larger than the {name} of its memory shape",
            facts=("PPL-B01",),
            values=((f"real {name}", size), (f"memory {name}", most)),
            help=("memory is reserved for the memory shape only: clamp the real size to it",),
        )


def gtensor(machine: Machine, call: Call) -> object:
    """``gtensor(shape, mem, ptr=None, dtype=int32)``: a pointer seen as a tensor (PPL-A03)."""
    given = arguments(call, "shape", "mem", "ptr", "dtype")
    shape = four(machine, given.get("shape"), "the shape of the global tensor")
    memory, pointer = given.get("mem"), given.get("ptr")
    if shape is None:
        machine.unmodelled("ppl.gtensor", call.span)
        return Opaque(f"the tensor made by {call.text}")
    _known_mode(machine, memory, "memory", "the memory of the global tensor")
    spans = {name: argument.span for name, argument in given.items()}
    l2 = memory is not None and memory.value == Enumerator("memory", "L2")
    if l2:
        _shared_memory(machine, spans["mem"])
    if pointer is None or pointer.value is None:
        wanted = given.get("dtype")
        dtype = machine.as_dtype(wanted.value, wanted.span) if wanted else DType.named("int32")
        return machine.allocate(
            call.target_name or "l2_tensor",
            shape,
            dtype or DType.named("int32"),
            Buffer.L2 if l2 else Buffer.HBM,
            call.span,
            partition_axis=None,
            marks={Mark.LAYOUT: "continuous"},
            argument_spans=spans,
        )
    view = machine.declared(pointer.value, shape, call.span)
    if view is None:
        machine.unmodelled("ppl.gtensor", call.span)
        return Opaque(f"the tensor made by {call.text}")
    return view


def _shared_memory(machine: Machine, span: Span) -> None:
    """The chip has the memory of a tensor in L2, wherever in it a pointer says that it lies."""
    chip = machine.chip
    machine.check(
        "ppl-chip-dtype",
        E.truth(chip.l2_bytes > 0),
        span,
        f"{chip.name} has L2 memory for tensors",
        f"{chip.name} has no L2 memory for tensors",
        facts=("TPU-G04",),
    )


# ------------------------------------------------------------------------------ views of them


def attribute(view: View, attr: str) -> object | None:
    """``shape``, ``dtype``, ``type``."""
    if attr == "shape":
        return view.shape
    return view.dtype if attr in ("dtype", "type") else None


def method(machine: Machine, view: View, name: str, call: Call) -> object | None:
    """``sub_view``, ``view``, ``to``; None if tensors have no such method."""
    if name == "sub_view":
        return sub_view(machine, view, call)
    if name == "view":
        return reinterpret(machine, view, call)
    return None


def sub_view(machine: Machine, view: View, call: Call) -> object:
    """``t.sub_view(shape, offset, stride=None)`` (PPL-B03)."""
    given = arguments(call, "shape", "offset", "stride")
    shape = four(machine, given.get("shape"), "the shape of the sub-view")
    zero = (E.const(0),) * RANK
    offset = four(machine, given.get("offset"), "the offset of the sub-view", zero)
    if shape is None:
        machine.unmodelled("ppl.sub_view", call.span)
        return Opaque("a sub-view whose shape is not followed")
    if offset is None:
        machine.unmodelled("ppl.sub_view", call.span)
        return _loose(view, [machine.axis(size) for size in shape], "a sub-view not followed")
    at = {
        "shape": given["shape"].span if "shape" in given else call.span,
        "offset": given["offset"].span if "offset" in given else call.span,
    }
    found = part(machine, view, offset, shape, call.span, at)
    strides = given.get("stride")
    if strides is not None and strides.value is not None:
        steps = four(machine, strides, "the stride of the sub-view")
        if steps is not None:
            return _stepped(machine, replace(found, strides=steps), strides.span)
    return found


def part(
    machine: Machine,
    view: View,
    offset: Sequence[Expr],
    shape: Sequence[Expr],
    span: Span,
    at: Mapping[str, Span],
) -> View:
    """A box of a view; it lies inside."""
    axes: list[Axis] = []
    moved: dict[E.Sym, Expr] = {}
    goes_on = False
    for name, axis, start, size in zip(AXES, view.axes, offset, shape, strict=True):
        whole = start.is_const and start.const == 0 and size is axis.size
        if whole:
            axes.append(axis)
            continue
        fresh = machine.axis(size)
        moved[axis.symbol] = fresh.index + start
        axes.append(fresh)
        run = name == "w" and not view.buffer.on_chip and all(_is_one(s) for s in shape[:3])
        room = _room(view, offset) if run and view.exact else None
        goes_on = goes_on or room is not None
        _inside(machine, view, name, axis.size, start, size, at, room)
    rename = E.Substitution(moved)
    found = replace(
        view,
        axes=tuple(axes),
        coords=tuple(rename.expr(coord) for coord in view.coords),
        span=span,
    )
    # a run that goes on into the next row is where it is in a row-major count only
    return views.linear_view(found) if goes_on else found


def _is_one(size: Expr) -> bool:
    return size.is_const and size.const == 1


def _room(view: View, offset: Sequence[Expr]) -> Expr | None:
    """Elements from a place of a global tensor to its end, if it is continuous."""
    if not views.is_whole(view) or all(_is_one(size) for size in view.shape[:3]):
        return None
    before = E.const(0)
    for size, start in zip(view.shape, offset, strict=True):
        before = before * size + start
    return view.elements - before


def _inside(
    machine: Machine,
    view: View,
    name: str,
    extent: Expr,
    start: Expr,
    size: Expr,
    at: Mapping[str, Span],
    room: Expr | None = None,
) -> None:
    """``start`` and ``size`` stay within the dimension.

    A single run of elements may go on into the next row of global memory: it has to stay within
    ``room`` elements then.
    """
    glob = not view.buffer.on_chip
    parent = f"the global tensor `{view.name}`" if glob else f"`{view.name}`"
    low = E.ge(start, 0)
    upper = E.le(start + size, extent)
    if room is not None:
        upper = E.or_(upper, E.le(size, room))
    text = told(
        f"{operand(start + size)} <= {operand(extent)}", f"offset + size <= {name} of {view.name}"
    )
    if low is not E.TRUE:
        text = f"{told(operand(start), 'offset')} >= 0 and {text}"
    machine.check(
        "ppl-sub-view",
        E.and_(low, upper),
        at["offset"],
        text,
        f"the sub-view leaves {parent} in {name}",
        given=(E.ge(size, 1),),
        facts=("PPL-B03", "PPL-B04") if glob else ("PPL-B03",),
        values=(("offset", start), ("size", size), (f"{name} of {view.name}", extent)),
        help=("declare the whole tensor, and clamp the last part: `min(block, total - offset)`",),
    )
    positive = E.ge(size, 1)
    if positive is not E.TRUE:
        machine.check(
            "ppl-empty-part",
            positive,
            at["shape"],
            told(f"size {pretty(size)} in {name} >= 1", f"size in {name} >= 1"),
            f"the sub-view of {parent} has no elements in {name}",
            facts=("PPL-B03", "PPL-B09"),
            values=((f"size in {name}", size),),
            help=("a core without work has to be kept out: `if size > 0:`",),
        )


def subscript(machine: Machine, view: View, index: object, span: Span) -> object:
    """``t[a:b, c:d, :, :]``: a box; other forms are malformed (PPL-C06)."""
    items = index if isinstance(index, tuple) else (index,)
    bad = ""
    if not all(isinstance(item, SliceValue) for item in items):
        bad = "an index that is no slice reads an element, not a part"
    elif len(items) != RANK:
        bad = f"{len(items)} of 4 dimensions are given"
    elif any(item.step is not None for item in items if isinstance(item, SliceValue)):
        bad = "a slice has a step"
    elif any(
        (item.start is None) != (item.stop is None)
        for item in items
        if isinstance(item, SliceValue)
    ):
        bad = "a slice has one bound only"
    if bad:
        machine.check(
            "ppl-slice",
            E.FALSE,
            span,
            "slices give start and end of all four dimensions, or neither",
            f"malformed part of `{view.name}`: {bad}",
            facts=("PPL-C06",),
            help=("write all four dimensions as `start:end` or `:`, or use sub_view",),
        )
    offset: list[Expr] = []
    shape: list[Expr] = []
    for axis, item in zip(view.axes, (*items, *[None] * RANK), strict=False):
        if not isinstance(item, SliceValue):
            offset.append(E.const(0))
            shape.append(axis.size)
            continue
        start = machine.as_int(item.start, span) if item.start is not None else E.const(0)
        stop = machine.as_int(item.stop, span) if item.stop is not None else axis.size
        if start is None or stop is None:
            machine.approximate(
                LedgerKind.OPAQUE, f"a slice of `{view.name}` is not followed", span
            )
            return views.inexact(view, view.axes, "a slice that is not followed")
        offset.append(start)
        shape.append(stop - start)
    return part(machine, view, offset, shape, span, {"offset": span, "shape": span})


def reinterpret(machine: Machine, view: View, call: Call) -> object:
    """``t.view(shape=None, stride=None, dtype=None)``: the same memory in another form."""
    given = arguments(call, "shape", "stride", "dtype")
    wanted = given.get("dtype")
    out = view
    if wanted is not None and wanted.value is not None:
        dtype = machine.as_dtype(wanted.value, wanted.span)
        if dtype is None:
            machine.unmodelled("ppl.view", call.span)
            return Opaque(f"a view made by {call.text}")
        out = _as_dtype(machine, out, dtype, call.span)
    shape = four(machine, given.get("shape"), "the shape of the view", out.shape)
    if shape is None:
        machine.unmodelled("ppl.view", call.span)
        return Opaque("a view whose shape is not followed")
    if tuple(shape) != out.shape:
        at = given["shape"].span if "shape" in given else call.span
        out = _as_shape(machine, out, shape, at)
    strides = given.get("stride")
    if strides is not None and strides.value is not None:
        steps = four(machine, strides, "the stride of the view")
        if steps is not None:
            out = _stepped(machine, replace(out, strides=steps), strides.span)
    if out is not view and out.base is view and not _as_large(machine, out, view):
        out = replace(out, base=None)  # it leaves some of these bytes out
    return replace(out, span=call.span)


def _as_large(machine: Machine, view: View, other: View) -> bool:
    """Whether two views surely have as many bytes."""
    bits, others = (each.elements * _bits(each.dtype) for each in (view, other))
    return bits is others or machine.decide(E.eq(bits, others)) is True


def _stepped(machine: Machine, view: View, span: Span) -> View:
    """A view with steps of its own; in global memory all of it lies in the tensor (PPL-B04).

    Where the steps are others than the tensor's, its elements are those that the steps say.
    """
    if view.buffer.on_chip:
        return in_lanes(machine, view, span)
    steps, start = view.strides, views.linear_start(view)
    if steps is None or start is None:
        return view
    storage = view.storage
    there, low, high = E.const(1), start, start
    for size in storage.shape:
        there = there * size
    if view.dtype.itemsize is not storage.dtype.itemsize:
        there = E.floordiv(there * storage.dtype.itemsize, view.dtype.itemsize)
    for size, step in zip(view.shape, steps, strict=True):
        reach = (size - 1) * step
        low, high = low + E.minimum(reach, E.const(0)), high + E.maximum(reach, E.const(0))
    machine.check(
        "ppl-sub-view",
        E.and_(E.ge(low, 0), E.lt(high, there)),
        span,
        told(
            f"{operand(high)} < {operand(there)}",
            f"last element of the view < elements of {view.name}",
        ),
        f"the steps leave the global tensor `{view.name}`",
        given=tuple(E.ge(size, 1) for size in view.shape),
        facts=("PPL-B03", "PPL-B04"),
        values=(("last element of the view", high), (f"elements of {view.name}", there)),
        help=("steps count elements: those of a part are those of the tensor that it is of",),
    )
    whole = view.frame if len(view.frame) == RANK else storage.shape
    usual = (whole[1] * whole[2] * whole[3], *_inner(whole))
    stretched = _stretched(machine, view, (*usual, E.const(1)))
    if stretched is not None:
        return stretched
    flat = start
    for axis, step in zip(view.axes, steps, strict=True):
        flat = flat + axis.index * step
    return replace(view, frame=(there,), coords=(flat,))


def _inner(shape: Sequence[Expr]) -> tuple[Expr, Expr]:
    """Elements from one channel to the next, and from one row to the next."""
    return shape[2] * shape[3], shape[3]


def _stretched(machine: Machine, view: View, usual: Sequence[Expr]) -> View | None:
    """A view with steps of its own that are multiples of the ``usual`` ones: the box that it had is
    stretched. None: they are others, or a stretched box leaves its tensor along an axis.

    Steps of dimensions with one element are never used (ADR-21).
    """
    steps = view.strides
    assert steps is not None
    if not view.exact or len(view.axes) != len(view.frame) or len(view.frame) != RANK:
        return view if all(map(_fits, view.shape[:3], steps, usual)) else None
    axes = list(view.axes)
    coords = list(view.coords)
    for k, (axis, step, own) in enumerate(zip(view.axes, steps, usual, strict=True)):
        if _fits(axis.size, step, own):
            continue
        times = _multiple(step, own)
        start = coords[k] - axis.index
        if times is None or axis.symbol in start.free():
            return None
        end = E.le(start + (axis.size - 1) * times, view.frame[k] - 1)
        if machine.decide(end) is not True:
            return None
        axes[k] = machine.axis(axis.size)
        coords[k] = start + axes[k].index * times
    return replace(view, axes=tuple(axes), coords=tuple(coords))


def _fits(size: Expr, step: Expr, own: Expr) -> bool:
    return _is_one(size) or step is own


def _multiple(step: Expr, own: Expr) -> int | None:
    """How many of the usual steps a step is, if it is some of them."""
    if step.is_const and own.is_const:
        part, whole = step.const, own.const
    else:
        parts = dict(own.terms)
        part, whole = next(((coef, parts.get(mono, 0)) for mono, coef in step.terms), (0, 0))
    times = part // whole if whole > 0 else 0
    return times if times > 0 and step is own * times else None


def _bits(dtype: DType) -> Expr:
    table = {code: dt.BITS[name] for name, code in dt.CODES.items()}
    return E.table("bits", dtype.code, table)


def _as_dtype(machine: Machine, view: View, dtype: DType, span: Span) -> View:
    """The same bytes as elements of another dtype: w grows or shrinks."""
    old, new = _bits(view.dtype), _bits(dtype)
    if old is new or machine.decide(E.eq(old, new)) is True:
        return replace(view, dtype=dtype, span=span)
    found = _regrouped(machine, view, old, new)
    if found is None:
        wide = E.floordiv(view.axes[3].size * old, new)
        axes = (*view.axes[:3], machine.axis(wide))
        found = _loose(view, axes, "a view with elements of another size")
    return replace(found, dtype=dtype, span=span)


def _regrouped(machine: Machine, view: View, old: Expr, new: Expr) -> View | None:
    """The same bytes counted in elements of ``new`` bits instead of ``old`` ones, if rows of the
    tensor and of the view are whole numbers of these, and lie in a run."""
    last, tail = view.axes[3], len(view.frame) - 1
    if not (view.exact and view.strides is None and old.is_const and new.is_const):
        return None
    start = E.Substitution({last.symbol: E.const(0)}).expr(view.coords[tail])
    steps = _is_one(last.size) or view.coords[tail] is start + last.index
    if not steps or any(last.symbol in coord.free() for coord in view.coords[:tail]):
        return None
    real = view.real[3] if view.real is not None else last.size
    sizes = (start, last.size, view.frame[tail], real)
    if any(machine.decide(E.eq(E.mod(size * old, new), 0)) is not True for size in sizes):
        return None
    first, wide, whole, seen = (E.floordiv(size * old, new) for size in sizes)
    axis = machine.axis(wide)
    return replace(
        view,
        frame=(*view.frame[:tail], whole),
        axes=(*view.axes[:3], axis),
        coords=(*view.coords[:tail], first + axis.index),
        real=None if view.real is None else (*view.real[:3], seen),
    )


def _as_shape(machine: Machine, view: View, shape: Sequence[Expr], span: Span) -> View:
    old = view.shape
    count = E.const(1)
    for size in shape:
        count = count * size
    if not view.exact:
        _not_larger(machine, view, shape, span)
        return _loose(view, [machine.axis(size) for size in shape], view.reason)
    if count is view.elements or machine.decide(E.eq(count, view.elements)) is True:
        same_lanes = all(
            a is b or machine.decide(E.eq(a, b)) is True
            for a, b in zip(old[:2], shape[:2], strict=True)
        )
        if same_lanes or not view.buffer.on_chip:
            found = views.refactor(machine, view, shape)
            return found if found.exact else _loose(view, found.axes, found.reason)
    if all(a is b or machine.decide(E.le(b, a)) is True for a, b in zip(old, shape, strict=True)):
        return box(machine, view, shape, span)
    _not_larger(machine, view, shape, span)
    if not view.buffer.on_chip and views.is_whole(view):
        return views.redeclared(machine, view, shape, span)
    in_planes = _in_planes(machine, view, shape)
    if in_planes is not None:
        return in_planes
    axes = [machine.axis(size) for size in shape]
    reason = f"a view of `{view.name}` in another shape"
    if view.buffer.on_chip:
        # which elements it shows depends on where the channels and batches lie (OQ-07)
        machine.approximate(LedgerKind.OPAQUE, f"where the elements of {reason} lie is open", span)
    return _loose(view, axes, reason)


def _in_planes(machine: Machine, view: View, shape: Sequence[Expr]) -> View | None:
    """A view that shows the first elements of each plane, where a lane holds one plane: however
    many a plane of it has, they lie in a run from its start (LAY-10)."""
    storage = view.storage
    if storage.marks.get(Mark.LAYOUT) not in _RUNS or len(view.frame) != RANK:
        return None
    if view.strides is not None or view.dtype.itemsize is not storage.dtype.itemsize:
        return None
    n, c, h, w = view.frame
    whole = all(
        axis.size is size and coord is axis.index
        for axis, size, coord in zip(view.axes[2:], (h, w), view.coords[2:], strict=True)
    )
    lanes = E.const(machine.chip.lanes)
    fits = [E.le(n, 1), E.le(c, lanes), E.le(shape[0], 1), E.le(shape[1], view.shape[1])]
    fits.append(E.le(shape[2] * shape[3], h * w))
    if not whole or any(machine.decide(each) is not True for each in fits):
        return None
    axes = [machine.axis(size) for size in shape]
    rename = E.Substitution({view.axes[k].symbol: axes[k].index for k in (0, 1)})
    at = axes[2].index * shape[3] + axes[3].index
    return replace(
        view,
        frame=(n, c, h * w),
        axes=tuple(axes),
        coords=(*map(rename.expr, view.coords[:2]), at),
        real=None,
    )


#: layouts in which a plane is a run of elements
_RUNS: Final = ("aligned", "compact")


def _in_lane(machine: Machine, view: View, shape: Sequence[Expr], dtype: DType) -> Expr | None:
    """Elements from the first to the last of a lane; None: they lie as those of other memories."""
    layout = view.storage.marks.get(Mark.LAYOUT)
    if not view.buffer.on_chip or layout not in _RUNS:
        return None
    n, c, h, w = shape
    plane = h * w
    slots = n * E.ceildiv(c, E.const(machine.chip.lanes))
    if layout == "aligned":
        unit = eu_elements(machine, dtype)
        return (slots - 1) * E.ceildiv(plane, unit) * unit + plane
    return slots * plane


def _not_larger(machine: Machine, view: View, shape: Sequence[Expr], span: Span) -> None:
    """A view has no more bytes than the tensor that it is of, in a lane as well."""
    storage = view.storage
    count, most = E.const(1), E.const(1)
    for size in shape:
        count = count * size
    for size in storage.shape:
        most = most * size
    what = "elements"
    mine = _in_lane(machine, view, shape, view.dtype)
    whole = _in_lane(machine, view, storage.shape, storage.dtype)
    if mine is not None and whole is not None:
        count, most, what = mine, whole, "elements in a lane"
    if view.dtype.itemsize is not storage.dtype.itemsize:
        count, most = count * view.dtype.itemsize, most * storage.dtype.itemsize
        what = what.replace("elements", "bytes")
    fine = E.le(count, most)
    if mine is not None:
        # planes that are no larger, and no more of them, take no more of a lane
        smaller = (E.le(a, b) for a, b in zip(shape[:2], storage.shape[:2], strict=True))
        planes = [
            sizes[2] * sizes[3] * dtype.itemsize
            for sizes, dtype in ((shape, view.dtype), (storage.shape, storage.dtype))
        ]
        fine = E.or_(E.and_(*smaller, E.le(*planes)), fine)
    machine.check(
        "ppl-view-size",
        fine,
        span,
        told(f"{operand(count)} <= {operand(most)}", f"{what} of the view <= {view.name}'s"),
        f"the view is larger than `{view.name}`",
        given=tuple(E.ge(size, 1) for size in shape),
        facts=("PPL-A05",),
        values=((f"{what} of the view", count), (f"{what} of {view.name}", most)),
    )


def _loose(view: View, axes: Sequence[Axis], reason: str) -> View:
    """A view of that shape of which only the bytes are known that it lies in."""
    base = view.base if view.base is not None else view if view.exact else None
    return replace(views.inexact(view, axes, reason), base=base)
