"""Reshaping: row-major re-factorisation of a view's axes (NKI-X25).

Old and new extents are cut into groups of equal element count. Splitting one axis is always exact;
merging axes is exact when they are contiguous in storage, possibly after the frame's own dimensions
are merged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

from msgspec.structs import replace

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Substitution
from verifier.symbolic.machine import Machine
from verifier.symbolic.pretty import operand, pretty
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
            f"{operand(sizes[0])} == {operand(view.axes[0].size)}",
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
    out = refactor(machine, view, sizes, keeps_partition)
    if machine.api != "beta1" and view.exact and not out.exact:
        even, exact = evenly(machine, view, sizes, keeps_partition)
        machine.check(
            "view-precondition",
            even,
            span,
            "dimensions that become one are contiguous",
            f"reshape of elements of `{view.name}` that are not contiguous",
            facts=("NKI-X25",),
            values=tuple((f"extent of dimension {k}", size) for k, size in enumerate(view.shape)),
            help=("copy them to a tile of their shape, and reshape that",),
            exact=exact,
            reason="" if exact else "how the elements are divided anew is not known",
        )
        out = of_one_way(machine, view, sizes, keeps_partition) or out
    return replace(out, span=span)


def evenly(
    machine: Machine, view: View, sizes: Sequence[Expr], keeps_first: bool = False
) -> tuple[Bool, bool]:
    """Whether elements that are to be counted by one axis lie at even steps; and exactness.

    Extents of 1 take no steps: of any two axes between which all others have such, the outer one
    steps over all of the inner one.
    """
    place = E.const(0)
    for d, (coord, extent) in enumerate(zip(view.coords, view.frame, strict=True)):
        if d != view.frame_partition:
            place = place * extent + coord
    same = E.eq(product(view.shape), product(sizes))
    if same is E.FALSE:
        return E.TRUE, True  # which is reported
    demands: list[Bool] = []
    exact = same is E.TRUE
    for old, new in _groups(view.shape, sizes, keeps_first, machine.decide):
        axes = [view.axes[k] for k in old if not is_one(view.axes[k].size)]
        if len(axes) < 2:
            continue
        row = None if view.frame_partition is None else view.coords[view.frame_partition]
        if row is not None and any(axis.symbol in row.free() for axis in axes):
            continue  # partitions are another rule's
        steps = [stride_of(place, axis) for axis in axes]
        if None in steps:
            exact = False
            demands.append(E.FALSE)
            continue
        constant = all(view.axes[k].size.is_const for k in old) and all(
            sizes[k].is_const for k in new
        )
        exact = exact and (len(new) == 1 or constant)
        for outer in range(len(axes)):
            for inner in range(outer + 1, len(axes)):
                step, least = steps[outer], steps[inner]
                assert step is not None and least is not None
                longer = [E.eq(axes[k].size, 1) for k in (outer, inner)]
                between = [E.ne(axes[k].size, 1) for k in range(outer + 1, inner)]
                even = E.eq(step, least * axes[inner].size)
                demands.append(E.or_(even, *longer, *between))
    return E.and_(*demands), exact


def of_one_way(
    machine: Machine, view: View, sizes: Sequence[Expr], keeps_first: bool = False
) -> View | None:
    """The view with axes of other extents, as it is where elements lie evenly; None if there are
    several ways in which they may: where some of its extents are 1."""
    short = [k for k, a in enumerate(view.axes) if machine.decide(E.eq(a.size, 1)) is None]
    for count in range(1, len(short) + 1):
        ways: list[View] = []
        for ones in combinations(short, count):
            put = Substitution({view.axes[k].symbol: E.const(0) for k in ones})
            axes = [
                Axis(axis.symbol, E.const(1)) if k in ones else axis
                for k, axis in enumerate(view.axes)
            ]
            found = refactor(machine, rewrite(view, put, axes), sizes, keeps_first)
            if found.exact:
                ways.append(found)
        if ways:
            return ways[0] if len(ways) == 1 else None
    return None


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
    wrong = [
        size
        for k, size in enumerate(shape)
        if k not in open_at[:1] and size.is_const and size.const < 1
    ]
    left = " * ".join(_factor(size) for size in sizes) or "1"
    machine.check(
        "reshape-count",
        E.eq(count, total) if not wrong else E.FALSE,
        span,
        f"{left} == {operand(total)}" if not wrong else f"{pretty(wrong[0])} >= 1",
        f"reshape changes the number of elements of {what}"
        if not wrong
        else f"reshape of {what} to an extent of less than 1",
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


__all__ = [
    "evenly",
    "merge_axes",
    "of_one_way",
    "redeclared",
    "refactor",
    "reshape",
    "resolve_shape",
    "stride_of",
]
