"""Index arrays of Beta 1: ``nl.arange``, ``nl.mgrid``, their arithmetic, masks and gathers.

An index array is affine in the symbols of its axes and in loop indices (NKI-X60); positions
broadcast as in NumPy. Bounds depend on the mask of the call that uses the result (NKI-X63,
NKI-X64), so a gather records them on the view and :func:`~verifier.symbolic.views.use` raises them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import FALSE, Bool, Expr, Substitution
from verifier.symbolic.machine import Machine
from verifier.symbolic.pretty import operand
from verifier.symbolic.tensors import Axis, Bound, View
from verifier.symbolic.trace import LedgerKind
from verifier.symbolic.values import (
    DynamicSlice,
    IndexGrid,
    IndexMask,
    IndexTensor,
    SliceValue,
)
from verifier.symbolic.views.common import is_one, rewrite, within_extent

#: the rule of indices of the device, which concerns some uses of a view only
BY_ROWS: Final = "beta1-runtime-index"

_Axes = tuple[tuple[int, Axis], ...]

_ARITHMETIC: Final[Mapping[str, Callable[[Expr, Expr], Expr]]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": E.floordiv,
    "%": E.mod,
}
#: what makes something of an index that is not affine
_BENDING: Final = frozenset({"//", "%"})
_COMPARISON: Final[Mapping[str, Callable[[Expr, Expr], Bool]]] = {
    "<": E.lt,
    "<=": E.le,
    ">": E.gt,
    ">=": E.ge,
    "==": E.eq,
    "!=": E.ne,
}


# ------------------------------------------------------------------------------- making them


def arange(machine: Machine, start: Expr, stop: Expr | None = None) -> IndexTensor:
    """``nl.arange(n)`` or ``nl.arange(start, stop)``: one axis."""
    if stop is None:
        start, stop = E.const(0), start
    axis = machine.axis(stop - start)
    return IndexTensor(start + axis.index, 1, ((0, axis),))


def mgrid(machine: Machine, slices: Sequence[tuple[Expr, Expr]]) -> IndexGrid:
    """``nl.mgrid[a:b, c:d, ...]``, each slice as ``(start, stop)``: one index array per
    dimension.
    """
    ndim = len(slices)
    parts = []
    for position, (start, stop) in enumerate(slices):
        axis = machine.axis(stop - start)
        parts.append(IndexTensor(start + axis.index, ndim, ((position, axis),), grid=True))
    return IndexGrid(tuple(parts))


def grid_part(grid: IndexGrid, name: str) -> IndexTensor | None:
    """``grid.p``, ``.x``, ``.y``, ``.z`` (NKI-X72); None if the grid has no such axis."""
    position = {"p": 0, "x": 1, "y": 2, "z": 3}.get(name)
    if position is None or position >= len(grid.parts):
        return None
    return grid.parts[position]


def index_subscript(
    machine: Machine, tensor: IndexTensor, index: object, span: Span
) -> IndexTensor | None:
    """``i[:, None]``, ``i[None, :]``, ``i[..., None]``; integers and slices fix or narrow an
    axis. None: something else is among the items.
    """
    items = list(index) if isinstance(index, tuple) else [index]
    used = sum(item is not None and item is not Ellipsis for item in items)
    if Ellipsis in items:
        at = items.index(Ellipsis)
        items[at : at + 1] = [SliceValue(None, None, None)] * max(0, tensor.ndim - used)
    else:
        items += [SliceValue(None, None, None)] * max(0, tensor.ndim - used)
    axes = dict(tensor.axes)
    kept: list[tuple[int, Axis]] = []
    replacement: dict[E.Sym, Expr] = {}
    position = source = 0
    for item in items:
        if item is None:
            position += 1
            continue
        axis = axes.get(source)
        source += 1
        if isinstance(item, SliceValue):
            if axis is not None and (item.start is not None or item.stop is not None):
                first, last = _ends(machine, item, axis.size, span)
                narrowed = machine.axis(last - first)
                replacement[axis.symbol] = first + narrowed.index
                axis = narrowed
            if axis is not None:
                kept.append((position, axis))
            position += 1
            continue
        fixed = machine.as_int(item, span)
        if fixed is None:
            return None
        if axis is not None:
            replacement[axis.symbol] = fixed
    expr = Substitution(replacement).expr(tensor.expr)
    return IndexTensor(expr, position, tuple(kept), tensor.grid, tensor.bent)


def _ends(machine: Machine, item: SliceValue, size: Expr, span: Span) -> tuple[Expr, Expr]:
    """Start and stop of a slice whose ends are integers; the whole extent where one is missing."""
    start = machine.as_int(item.start, span) if item.start is not None else None
    stop = machine.as_int(item.stop, span) if item.stop is not None else None
    return E.const(0) if start is None else start, size if stop is None else stop


# ------------------------------------------------------------------------------- arithmetic


def index_binop(
    machine: Machine, op: str, left: object, right: object, span: Span
) -> IndexTensor | IndexMask | None:
    """``left op right`` where at least one side is an index array; a comparison gives a mask.

    None when a side is neither an index array nor an integer, or ``op`` is not supported.
    """
    a, b = _as_index(machine, left, span), _as_index(machine, right, span)
    if a is None or b is None:
        return None
    ndim, axes, (x, y) = _align(machine, (a, b), span)
    bent = a.bent or b.bent
    if op in _ARITHMETIC:
        bent = bent or (op in _BENDING and bool(a.axes)) or (op == "*" and bool(a.axes and b.axes))
        return IndexTensor(_ARITHMETIC[op](x, y), ndim, axes, a.grid or b.grid, bent)
    if op in _COMPARISON:
        return IndexMask(_COMPARISON[op](x, y), ndim, axes, bent)
    return None


def mask_binop(
    machine: Machine, op: str, left: object, right: object, span: Span
) -> IndexMask | None:
    """``left & right`` or ``left | right`` of masks; None for other operators.

    Axes at one position stay apart: they may be of two operands.
    """
    if op not in ("&", "|"):
        return None
    parts: list[IndexMask] = []
    for value in (left, right):
        if not isinstance(value, IndexMask):
            condition = machine.as_bool(value, span)
            if condition is None:
                return None
            value = IndexMask(condition, 0, ())
        parts.append(value)
    ndim = max(part.ndim for part in parts)
    axes: list[tuple[int, Axis]] = []
    seen: set[int] = set()
    for part in parts:
        for position, axis in part.axes:
            if axis.symbol.id not in seen:
                seen.add(axis.symbol.id)
                axes.append((position + ndim - part.ndim, axis))
    join = E.and_ if op == "&" else E.or_
    bent = any(part.bent for part in parts)
    return IndexMask(join(*(part.condition for part in parts)), ndim, tuple(axes), bent)


def _as_index(machine: Machine, value: object, span: Span) -> IndexTensor | None:
    if isinstance(value, IndexTensor):
        return value
    number = value if isinstance(value, Expr) else machine.as_int(value, span)
    return None if number is None else IndexTensor(number, 0, ())


def _align(
    machine: Machine, tensors: Sequence[IndexTensor], span: Span
) -> tuple[int, _Axes, list[Expr]]:
    """Broadcast positions, aligned on the right; axes at one position become one axis."""
    ndim = max(tensor.ndim for tensor in tensors)
    placed = [
        [(place + ndim - tensor.ndim, axis) for place, axis in tensor.axes] for tensor in tensors
    ]
    chosen: dict[int, Axis] = {}
    for position, axis in (entry for entries in placed for entry in entries):
        known = chosen.get(position)
        if known is None or _longer(axis.size, known.size):
            chosen[position] = axis
    for position, axis in (entry for entries in placed for entry in entries):
        held = chosen[position]
        size = _together(machine, held.size, axis.size, span)
        if size is not held.size:
            chosen[position] = machine.axis(size)
    exprs: list[Expr] = []
    for tensor, entries in zip(tensors, placed, strict=True):
        replacement = {
            axis.symbol: _along(axis, chosen[position])
            for position, axis in entries
            if chosen[position].symbol is not axis.symbol
        }
        exprs.append(Substitution(replacement).expr(tensor.expr))
    return ndim, tuple(sorted(chosen.items(), key=lambda item: item[0])), exprs


def _together(machine: Machine, held: Expr, size: Expr, span: Span) -> Expr:
    """The extent of two index arrays that are broadcast, the first of them the longer one."""
    if size is held or is_one(size):
        return held
    machine.check(
        "index-shapes-agree",
        E.or_(E.eq(size, held), E.eq(size, 1), E.eq(held, 1)),
        span,
        f"{operand(size)} == {operand(held)}",
        "index arrays do not broadcast together",
        facts=("NKI-X60",),
        values=(("one extent", size), ("other extent", held)),
    )
    if held.is_const or size.is_const:
        return held
    if machine.decide(E.eq(size, held)) is True or machine.decide(E.eq(held, 1)) is False:
        return held
    return E.ite(E.eq(held, 1), size, held)


def _along(axis: Axis, held: Axis) -> Expr:
    """The index along an axis that becomes another one: where there is one only, it serves all."""
    if is_one(axis.size):
        return E.const(0)
    same = axis.size is held.size or axis.size.is_const
    return held.index if same else E.minimum(held.index, axis.size - 1)


def _longer(size: Expr, held: Expr) -> bool:
    """Whether broadcasting surely takes ``size`` where another index array has ``held``."""
    if is_one(size) or not size.is_const:
        return is_one(held) and not is_one(size)
    return is_one(held) or not held.is_const


# ------------------------------------------------------------------------------- gathers


def is_advanced(items: Sequence[object], generation: str) -> bool:
    """Whether a subscript uses index arrays; in Beta 1 a tile of indices is one as well
    (NKI-X67).
    """
    return any(
        isinstance(item, IndexTensor) or (generation == "beta1" and _is_index_tile(item))
        for item in items
    )


def _is_index_tile(item: object) -> bool:
    return isinstance(item, View) and any(not is_one(size) for size in item.shape)


def gather(machine: Machine, view: View, items: Sequence[object], span: Span) -> View:
    """``view[i_p, 3, i_f]``: the result has the axes of the broadcast index arrays.

    Slices beside index arrays are an error in Beta 1 (NKI-X62), except that missing trailing
    indices are taken whole. Positions along which no index array varies have extent 1.
    """
    present = [item for item in items if item is not None]
    if any(isinstance(item, (SliceValue, DynamicSlice)) for item in present):
        machine.check(
            "beta1-mixed-indexing",
            FALSE,
            span,
            "index arrays only, or slices only",
            f"`{view.name}` is indexed with slices and index arrays at once",
            facts=("NKI-X62", "NKI-E35"),
        )
    arrays, runtime = _arrays(machine, view, present, span)
    tiles = [isinstance(present[dim], View) for dim in arrays]
    gathered, exprs = _broadcast(machine, view, list(arrays.values()), tiles, span)
    own = {axis.symbol.id for axis in gathered}
    replacement: dict[E.Sym, Expr] = {}
    bounds = list(_by_rows(view, present, arrays, span)) if view.buffer.off_chip else []
    dims = dict(zip(arrays, exprs, strict=True))
    for dim, value in dims.items():
        axis = view.axes[dim]
        replacement[axis.symbol] = value
        if not isinstance(present[dim], View):
            bounds.append(_bound(view, dim, axis.size, value, gathered, span))
    rest = _others(machine, view, dims, present, own, replacement, span)
    first_array = min(dims)
    leading = sum(1 for dim in range(first_array) if dim not in dims)
    result = [*rest[:leading], *gathered, *rest[leading:]]
    out = rewrite(view, Substitution(replacement), result)
    out = replace(out, bounds=(*out.bounds, *bounds), span=span)
    if runtime:
        text = f"runtime offset into dimension {{}} of `{view.name}`"
        placed = (
            within_extent(view, item, dim, text.format(dim), span)
            for dim, item in enumerate(present)
            if isinstance(item, View)
        )
        out = replace(
            out,
            placed=(*out.placed, *placed),
            exact=False,
            indirect=True,
            indices=(*out.indices, *(item for item in present if isinstance(item, View))),
            reason=out.reason or "indices are known at run time only",
        )
    return out


def _arrays(
    machine: Machine, view: View, present: Sequence[object], span: Span
) -> tuple[dict[int, IndexTensor], bool]:
    """The index array of each dimension, and whether one is known at run time only."""
    runtime = False
    arrays: dict[int, IndexTensor] = {}
    for dim, item in enumerate(present):
        if isinstance(item, (SliceValue, DynamicSlice)):
            continue
        if isinstance(item, IndexTensor):
            arrays[dim] = item
        elif isinstance(item, View):
            runtime = True
            axes = tuple((k, machine.axis(axis.size)) for k, axis in enumerate(item.axes))
            arrays[dim] = IndexTensor(E.const(0), item.rank, axes)
        else:
            number = machine.as_int(item, span)
            if number is None:
                runtime = True
                machine.approximate(
                    LedgerKind.OPAQUE, f"runtime offset into dimension {dim} of `{view.name}`", span
                )
                number = E.const(0)
            elif number.is_const and number.const < 0:
                number = number + view.axes[dim].size
            arrays[dim] = IndexTensor(number, 0, ())
    return arrays, runtime


def _by_rows(
    view: View, present: Sequence[object], arrays: Mapping[int, IndexTensor], span: Span
) -> Iterator[Bound]:
    """What a load or a store demands of tiles of indices: one for each partition (NKI-X67)."""
    for dim, item in enumerate(present):
        if not isinstance(item, View):
            continue
        beside = [array for other, array in arrays.items() if other != dim]
        before = [array for other, array in arrays.items() if other < dim]
        column = E.and_(*(E.eq(size, 1) for size in item.shape[1:]))
        message = f"`{item.name}` picks elements of `{view.name}` along a free dimension"
        if item.buffer.off_chip:
            message = f"`{item.name}` picks rows of `{view.name}` and lies in HBM"
            text = f"`{item.name}` is a tile of SBUF"
            yield Bound(BY_ROWS, FALSE, span, text, message, ("NKI-X67",))
            continue
        if any(_along_partitions(array) for array in before):
            column = FALSE
        elif any(array.grid for array in beside):
            column = FALSE
            message = f"`{item.name}` picks rows of `{view.name}` beside an index of `nl.mgrid`"
        if column is not E.TRUE:
            text = f"`{item.name}` is one index for each partition, beside those of `nl.arange`"
            yield Bound(BY_ROWS, column, span, text, message, ("NKI-X67", "NKI-E17"))


def _along_partitions(array: IndexTensor) -> bool:
    """Whether an index differs from partition to partition."""
    return any(position == 0 and not is_one(axis.size) for position, axis in array.axes)


def _broadcast(
    machine: Machine,
    view: View,
    arrays: list[IndexTensor],
    tiles: Sequence[bool],
    span: Span,
) -> tuple[list[Axis], Sequence[Expr]]:
    """The axes of the index arrays together, and the index that each array gives along them.

    Each array has two axes of its own (NKI-X61); one that has not is taken along the partitions
    if it comes first, along the free dimension otherwise, as it was meant. ``tiles``: which of
    them are tiles of indices.
    """
    flat = [array.ndim == 1 and not tile for array, tile in zip(arrays, tiles, strict=True)]
    if any(flat) or all(array.ndim < 2 for array in arrays):
        machine.check(
            "beta1-index-rank",
            FALSE,
            span,
            "index arrays have two dimensions",
            f"`{view.name}` is indexed with a one-dimensional index array",
            facts=("NKI-X61", "NKI-E01"),
        )
    varying = [number for number, array in enumerate(arrays) if array.ndim]
    if len(varying) > 1 and flat[varying[0]]:
        arrays[varying[0]] = replace(arrays[varying[0]], ndim=2)
    ndim, placed, exprs = _align(machine, arrays, span)
    at = dict(placed)
    gathered = [at.get(position) or machine.axis(E.const(1)) for position in range(ndim)]
    for axis in gathered:
        some = E.ge(axis.size, 1)
        if some is not E.TRUE:
            machine.check(
                "slice-bounds",
                some,
                span,
                f"an index array into {view.name} has {operand(axis.size)} >= 1 elements",
                f"an index array of `{view.name}` is empty",
                facts=("NKI-X06",),
                values=(("indices", axis.size),),
            )
    return gathered, exprs


def _others(
    machine: Machine,
    view: View,
    dims: Collection[int],
    present: Sequence[object],
    own: Collection[int],
    replacement: dict[E.Sym, Expr],
    span: Span,
) -> list[Axis]:
    """The axes of the dimensions that no array indexes; what they stand for is put down."""
    rest: list[Axis] = []
    for dim, axis in enumerate(view.axes):
        if dim in dims:
            continue
        item = present[dim] if dim < len(present) else None
        start, size = E.const(0), axis.size
        if isinstance(item, SliceValue):
            start, stop = _ends(machine, item, size, span)
            size = stop - start
        elif isinstance(item, DynamicSlice):
            size = item.size
        if axis.symbol.id in own or size is not axis.size or not start.is_const or start.const:
            fresh = machine.axis(size)
            replacement[axis.symbol] = start + fresh.index
            axis = fresh
        rest.append(axis)
    return rest


def _bound(
    view: View, dim: int, size: Expr, value: Expr, axes: Sequence[Axis], span: Span
) -> Bound:
    last = Substitution(
        {
            axis.symbol: axis.size - 1 if value.coefficient(axis.symbol) >= 0 else E.const(0)
            for axis in axes
        }
    ).expr(value)
    return Bound(
        "slice-bounds",
        E.and_(E.ge(value, 0), E.lt(value, size)),
        span,
        f"{operand(last)} < {operand(size)}",
        f"index leaves dimension {dim} of `{view.name}`",
        ("NKI-X63", "NKI-X09"),
        (("largest index", last), ("size", size)),
    )


__all__ = [
    "BY_ROWS",
    "arange",
    "gather",
    "grid_part",
    "index_binop",
    "index_subscript",
    "is_advanced",
    "mask_binop",
    "mgrid",
]
