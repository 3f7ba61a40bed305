"""Reshaping: row-major re-factorisation of a view's axes (NKI-X25).

Old and new extents are cut into groups of equal element count. Splitting one axis is always exact;
merging axes is exact when they are contiguous in storage, possibly after the frame's own dimensions
are merged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr, Substitution
from verifier.symbolic.machine import Machine
from verifier.symbolic.pretty import pretty
from verifier.symbolic.tensors import Axis, View
from verifier.symbolic.views.common import (
    closed_bounds,
    inexact,
    is_one,
    is_whole,
    partition_position,
    product,
    rewrite,
)

#: consecutive old axes and the new extents that take their place
_Group = tuple[tuple[int, ...], tuple[int, ...]]


def reshape(machine: Machine, view: View, shape: Sequence[Expr], span: Span) -> View:
    """``view.reshape(shape)``; one extent may be the constant -1.

    The element count must be preserved, and on chip the partition extent (unless it comes after
    block dimensions).
    """
    sizes = resolve_shape(machine, view.elements, shape, f"`{view.name}`", span)
    if not sizes:
        sizes = (E.const(1),)
    keeps_partition = view.buffer.on_chip and partition_position(view) == 0
    if keeps_partition:
        kept = E.eq(sizes[0], view.axes[0].size)
        machine.check(
            "reshape-partition",
            kept,
            span,
            f"{pretty(sizes[0])} == {pretty(view.axes[0].size)}",
            f"reshape of `{view.name}` changes its partition dimension",
            facts=("NKI-X25", "NKI-P13"),
            values=(("partitions", view.axes[0].size), ("new first extent", sizes[0])),
        )
        if kept is E.FALSE:
            axes = tuple(machine.axis(size) for size in sizes)
            return replace(inexact(view, axes, "a reshape across partitions"), span=span)
    if is_whole(view) and (view.frame_partition is None or keeps_partition):
        axes = tuple(machine.axis(size) for size in sizes)
        return replace(
            view, frame=sizes, axes=axes, coords=tuple(axis.index for axis in axes), span=span
        )
    if machine.api != "beta1" and _scattered(machine, view, sizes, keeps_partition):
        machine.check(
            "view-precondition",
            E.FALSE,
            span,
            "dimensions that become one are contiguous",
            f"reshape of elements of `{view.name}` that are not contiguous",
            facts=("NKI-X25",),
            help=("copy them to a tile of their shape, and reshape that",),
        )
    return replace(refactor(machine, view, sizes, keeps_partition), span=span)


def _scattered(machine: Machine, view: View, sizes: Sequence[Expr], keeps_first: bool) -> bool:
    """Whether elements that are to be counted by one axis lie, for sure, at no even steps."""
    if not view.exact or not all(size.is_const for size in (*view.shape, *sizes)):
        return False
    if product(view.shape) is not product(sizes):
        return False  # which is reported
    place = E.const(0)
    for d, (coord, extent) in enumerate(zip(view.coords, view.frame, strict=True)):
        if d != view.frame_partition:
            place = place * extent + coord
    for old, _ in _groups(view.shape, sizes, keeps_first, machine.decide):
        axes = [view.axes[k] for k in old if not is_one(view.axes[k].size)]
        steps = [stride_of(place, axis) for axis in axes]
        if view.frame_partition is not None:
            row = view.coords[view.frame_partition]
            if any(axis.symbol in row.free() for axis in axes):
                continue
        for step, axis, inner in zip(steps, axes[1:], steps[1:], strict=False):
            if step is None or inner is None or not (step.is_const and inner.is_const):
                continue
            if step is not inner * axis.size:
                return True
    return False


def resolve_shape(
    machine: Machine, total: Expr, shape: Sequence[Expr], what: str, span: Span
) -> tuple[Expr, ...]:
    """The shape with its -1 worked out; the element count is checked (rule ``reshape-count``)."""
    open_at = [k for k, size in enumerate(shape) if size.is_const and size.const == -1]
    sizes = list(shape)
    if open_at:
        known = product(size for k, size in enumerate(shape) if k != open_at[0])
        quotient = E.exact_quotient(total, known)
        sizes[open_at[0]] = quotient if quotient is not None else E.floordiv(total, known)
    count = product(sizes)
    left = " * ".join(_factor(size) for size in sizes) or "1"
    machine.check(
        "reshape-count",
        E.eq(count, total),
        span,
        f"{left} == {pretty(total)}",
        f"reshape changes the number of elements of {what}",
        facts=("NKI-X25",),
        values=(("elements", total), ("elements of the new shape", count)),
    )
    return tuple(sizes)


def redeclared(machine: Machine, view: View, shape: Sequence[Expr], span: Span | None) -> View:
    """The tensor from its first element on, row-major in another shape; the count may differ."""
    axes = tuple(machine.axis(size) for size in shape)
    return replace(
        view,
        frame=tuple(shape),
        axes=axes,
        coords=tuple(axis.index for axis in axes),
        span=span,
    )


def _factor(size: Expr) -> str:
    text = pretty(size)
    return f"({text})" if len(size.terms) + bool(size.const) > 1 or " " in text else text


def refactor(
    machine: Machine, view: View, sizes: Sequence[Expr], keeps_first: bool = False
) -> View:
    """The view with axes of the given extents, whose product is that of its own."""
    if not view.exact:
        return inexact(view, [machine.axis(size) for size in sizes], view.reason)
    groups = _groups(view.shape, sizes, keeps_first, machine.decide)
    axes: list[Axis | None] = [None] * len(sizes)
    replacement: dict[E.Sym, Expr] = {}
    for old, new in groups:
        if len(old) == 1 and len(new) == 1:
            axes[new[0]] = view.axes[old[0]]
            continue
        fresh = [machine.axis(sizes[k]) for k in new]
        for k, axis in zip(new, fresh, strict=True):
            axes[k] = axis
        index = _row_major(fresh)
        long = [k for k in old if not is_one(view.axes[k].size)]
        for k in old:
            if k not in long:
                replacement[view.axes[k].symbol] = E.const(0)
        if len(long) == 1:
            replacement[view.axes[long[0]].symbol] = index
        elif len(long) > 1:
            merged = merge_axes(machine, view, long[0], long[-1])
            if merged is None:
                return inexact(
                    view,
                    [machine.axis(size) for size in sizes],
                    "a reshape of elements that are not contiguous",
                )
            view, symbol = merged
            replacement[symbol] = index
    final = [axis or machine.axis(size) for axis, size in zip(axes, sizes, strict=True)]
    return rewrite(view, Substitution(replacement), final)


def _row_major(axes: Sequence[Axis]) -> Expr:
    index = E.const(0)
    for axis in axes:
        index = index * axis.size + axis.index
    return index


def _groups(
    old: Sequence[Expr],
    new: Sequence[Expr],
    keeps_first: bool,
    decide: Callable[[E.Bool], bool | None],
) -> list[_Group]:
    """Cut both shapes into consecutive groups of equal product, as finely as is evident.

    What is left at the end is one group: equal total counts are an obligation of the caller.
    """
    groups: list[_Group] = []
    i = j = 0
    if keeps_first and old and new:
        groups.append(((0,), (0,)))
        i = j = 1
    tail: list[_Group] = []
    m, n = len(old), len(new)
    while m > i and n > j and old[m - 1] is new[n - 1]:
        m, n = m - 1, n - 1
        tail.append(((m,), (n,)))
    start_i, start_j = i, j
    left, right = E.const(1), E.const(1)
    while i < m or j < n:
        if i < m and (j >= n or _extend_old(left, right, i == start_i)):
            left, i = left * old[i], i + 1
        elif j < n:
            right, j = right * new[j], j + 1
        if i > start_i and j > start_j and i < m and j < n and _same(left, right, decide):
            groups.append((tuple(range(start_i, i)), tuple(range(start_j, j))))
            start_i, start_j = i, j
            left, right = E.const(1), E.const(1)
    if start_i < m or start_j < n:
        groups.append((tuple(range(start_i, m)), tuple(range(start_j, n))))
    return groups + tail[::-1]


def _extend_old(left: Expr, right: Expr, first: bool) -> bool:
    """Whether the old side's product is behind the new side's."""
    if first:
        return True
    if left.is_const and right.is_const:
        return left.const < right.const
    return E.exact_quotient(right, left) is not None and left is not right


def _same(left: Expr, right: Expr, decide: Callable[[E.Bool], bool | None]) -> bool:
    if left is right:
        return True
    condition = E.eq(left, right)
    return (not condition.free() and condition is E.TRUE) or decide(condition) is True


# ------------------------------------------------------------------------------- merging


def merge_axes(machine: Machine, view: View, first: int, last: int) -> tuple[View, E.Sym] | None:
    """Replace axes ``first..last`` by one; None if they are not contiguous.

    Returns the view, whose coordinates use the new axis's symbol, and that symbol. The caller puts
    an axis (or several) for the symbol into place: ``axes`` still has the old ones.
    """
    group = [view.axes[k] for k in range(first, last + 1) if not is_one(view.axes[k].size)]
    inside = {axis.symbol.id for axis in group}
    dims = [d for d, c in enumerate(view.coords) if any(symbol.id in inside for symbol in c.free())]
    merged = machine.axis(product(axis.size for axis in group))
    if not dims:
        return view, merged.symbol
    lo, hi = dims[0], dims[-1]
    frame, coords, partition = list(view.frame), list(view.coords), view.frame_partition
    if lo != hi:
        if partition is not None and lo <= partition <= hi:
            return None
        coord = E.const(0)
        for d in range(lo, hi + 1):
            coord = coord * frame[d] + coords[d]
        frame[lo : hi + 1] = [product(frame[lo : hi + 1])]
        coords[lo : hi + 1] = [coord]
        if partition is not None and partition > hi:
            partition -= hi - lo
    linear = _nested(coords[lo], group, merged.index)
    if linear is None or any(s.id in inside for s in view.mask.free()):
        return None
    coords[lo] = linear
    out = replace(
        view,
        frame=tuple(frame),
        coords=tuple(coords),
        frame_partition=partition,
        bounds=closed_bounds(view, group),
    )
    return out, merged.symbol


def _nested(coord: Expr, group: Sequence[Axis], merged: Expr) -> Expr | None:
    """``coord`` over the merged axis, if the strides of the group nest without gaps."""
    strides: list[Expr] = []
    rest = coord
    for axis in group:
        stride = stride_of(coord, axis)
        if stride is None:
            return None
        strides.append(stride)
        rest = rest - stride * axis.index
    if any(axis.symbol in rest.free() for axis in group):
        return None
    for k in range(len(group) - 1):
        if strides[k] is not strides[k + 1] * group[k + 1].size:
            return None
    return rest + strides[-1] * merged


def stride_of(coord: Expr, axis: Axis) -> Expr | None:
    """The step of a coordinate along an axis; None if it is not the same everywhere."""
    step = Substitution({axis.symbol: axis.index + 1}).expr(coord) - coord
    return None if axis.symbol in step.free() else step


__all__ = ["merge_axes", "redeclared", "refactor", "reshape", "resolve_shape", "stride_of"]
