"""Raw access patterns: ``tensor.ap([[step, count], ...], offset=...)`` (NKI-X40 to NKI-X50)."""

from __future__ import annotations

from collections.abc import Sequence

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.machine import Machine
from verifier.symbolic.pretty import pretty
from verifier.symbolic.tensors import Axis, DType, View
from verifier.symbolic.views.common import is_one, product
from verifier.symbolic.views.linear import linear_start

BOUNDS_RULE = "access-bounds"


def ap(
    machine: Machine,
    view: View,
    pattern: Sequence[tuple[Expr, Expr]],
    offset: Expr | None,
    dtype: DType | None,
    span: Span,
    *,
    scalar_offset: object = None,
    vector_offset: object = None,
) -> View:
    """The view whose element ``(t_0, ...)`` lies at ``offset + sum(step_k * t_k)``.

    Steps, counts and the offset are in elements of ``dtype`` (default: the view's, NKI-X42),
    counted from the start of the tensor, whatever part of it ``view`` shows (NKI-X43);
    ``offset=None`` keeps the view's own start (NKI-X44). On chip the first pair runs along the
    partitions: its step must be the row length (NKI-A05). ``scalar_offset`` and ``vector_offset``
    are values of the running device: the result is indirect.
    """
    element = dtype or view.dtype
    storage = view.storage
    if offset is None:
        offset = _own_start(view, element)
    known = offset is not None
    offset = offset if offset is not None else E.const(0)
    axes = tuple(machine.axis(count) for _, count in pattern)
    runtime = scalar_offset is not None or vector_offset is not None
    if storage.buffer.on_chip and storage.partition_axis is not None and pattern:
        rows = storage.shape[storage.partition_axis]
        row = rescale(storage.free_elements, storage.dtype, element)
        frame: tuple[Expr, ...] = (rows, row)
        coords: tuple[Expr, ...] = _on_chip(
            machine, view, pattern, axes, offset, rows, row, span, known and not runtime
        )
        partition: int | None = 0
    else:
        size = rescale(product(storage.shape), storage.dtype, element)
        frame, partition = (size,), None
        coords = (_flat(pattern, axes, offset),)
        if known and not runtime:
            low, high = _reach(pattern)
            _check_bounds(machine, view, offset + low, offset + high, size, span, "NKI-A06")
    reason = "" if known else view.reason or "the start of the view is not known"
    if runtime:
        reason = "the offset is known at run time only"
        machine.approximate(
            "runtime", f"runtime offset into `{view.name}`: taken to stay inside", span
        )
    return View(
        storage=storage,
        instance=view.instance,
        frame=frame,
        frame_partition=partition,
        axes=axes,
        coords=coords,
        dtype=element,
        exact=not reason,
        reason=reason,
        indirect=runtime,
        span=span,
        indices=tuple(v for v in (scalar_offset, vector_offset) if isinstance(v, View)),
    )


def _own_start(view: View, element: DType) -> Expr | None:
    """Where a view starts in its tensor, in elements of ``element``; None if it is not known."""
    start = linear_start(view)
    return None if start is None else rescale(start, view.dtype, element)


def rescale(count: Expr, old: DType, new: DType) -> Expr:
    """A number of elements of ``old`` as one of ``new``, covering the same bytes."""
    if old.itemsize is new.itemsize:
        return count
    return E.floordiv(count * old.itemsize, new.itemsize)


def _flat(pattern: Sequence[tuple[Expr, Expr]], axes: Sequence[Axis], offset: Expr) -> Expr:
    total = offset
    for (step, _), axis in zip(pattern, axes, strict=True):
        total = total + step * axis.index
    return total


def _reach(pattern: Sequence[tuple[Expr, Expr]]) -> tuple[Expr, Expr]:
    """The least and greatest displacement; steps may be negative."""
    low, high = E.const(0), E.const(0)
    for step, count in pattern:
        far = step * (count - 1)
        least, most = E.bounds(step)
        if least is not None and least >= 0:
            high = high + far
        elif most is not None and most <= 0:
            low = low + far
        else:
            low, high = low + E.minimum(0, far), high + E.maximum(0, far)
    return low, high


def _on_chip(
    machine: Machine,
    view: View,
    pattern: Sequence[tuple[Expr, Expr]],
    axes: Sequence[Axis],
    offset: Expr,
    rows: Expr,
    row: Expr,
    span: Span,
    check: bool,
) -> tuple[Expr, Expr]:
    step, count = pattern[0]
    if not is_one(count):
        machine.check(
            "ap-partition-step",
            E.eq(step, row),
            span,
            f"{pretty(step)} == {pretty(row)}",
            f"first step of the access pattern is not the row length of `{view.name}`",
            facts=("NKI-A05", "NKI-X41"),
            values=(("step", step), ("elements per partition", row)),
        )
    first = E.floordiv(offset, row)
    column = offset - first * row
    for known, rest in _split(offset, row):
        inside = E.and_(E.ge(rest, 0), E.lt(rest, row))
        if inside is E.TRUE or machine.decide(inside) is True:
            first, column = known, rest
            break
    if check:
        last = first + count - 1
        machine.check(
            BOUNDS_RULE,
            E.and_(E.ge(first, 0), E.lt(last, rows)),
            span,
            f"{pretty(last + 1)} <= {pretty(rows)}",
            f"access pattern leaves the partitions of `{view.name}`",
            facts=("NKI-A07",),
            values=(("last partition", last), ("partitions", rows)),
        )
        low, high = _reach(pattern[1:])
        _check_bounds(machine, view, column + low, column + high, row, span, "NKI-A06")
    return first + axes[0].index, _flat(pattern[1:], axes[1:], column)


def _split(offset: Expr, row: Expr) -> list[tuple[Expr, Expr]]:
    """Candidates ``(q, r)`` with ``offset == q * row + r``: the terms that ``row`` divides
    apart.
    """
    whole, rest = E.const(0), E.const(offset.const)
    if row.is_const and row.const > 0:
        quotient, remainder = divmod(offset.const, row.const)
        whole, rest = E.const(quotient), E.const(remainder)
    for mono, coef in offset.terms:
        term = E.Expr.make({mono: coef}, 0)
        quotient_term = (
            E.const(coef // row.const) * E.Expr.make({mono: 1}, 0)
            if row.is_const and row.const and coef % row.const == 0
            else (None if row.is_const else E.exact_quotient(term, row))
        )
        if quotient_term is None:
            rest = rest + term
        else:
            whole = whole + quotient_term
    return [(whole, rest)]


def _check_bounds(
    machine: Machine, view: View, first: Expr, last: Expr, size: Expr, span: Span, fact: str
) -> None:
    low, high = E.ge(first, 0), E.lt(last, size)
    upper = f"{pretty(last + 1)} <= {pretty(size)}"
    machine.check(
        BOUNDS_RULE,
        E.and_(low, high),
        span,
        upper if low is E.TRUE else f"{pretty(first)} >= 0 and {upper}",
        f"access pattern leaves `{view.name}`",
        facts=(fact,),
        values=(("first element", first), ("last element", last), ("size", size)),
    )


__all__ = ["BOUNDS_RULE", "ap", "rescale"]
