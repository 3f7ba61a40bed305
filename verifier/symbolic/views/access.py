"""Raw access patterns: ``tensor.ap([[step, count], ...], offset=...)`` (NKI-X40 to NKI-X50)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic import registers
from verifier.symbolic.expr import Expr
from verifier.symbolic.machine import Machine
from verifier.symbolic.pretty import operand
from verifier.symbolic.tensors import Axis, Bound, DType, Held, Placed, View
from verifier.symbolic.values import places
from verifier.symbolic.views.common import ask, is_one, product
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
    shift: Expr | None = None,
    held: Held | None = None,
    unit: Expr | None = None,
) -> View:
    """The view whose element ``(t_0, ...)`` lies at ``offset + sum(step_k * t_k)``.

    Steps, counts and the offset are in elements of ``dtype`` (default: the view's, NKI-X42),
    counted from the start of the tensor, whatever part of it ``view`` shows (NKI-X43);
    ``offset=None`` keeps the view's own start (NKI-X44). On chip the first pair runs along the
    partitions: its step must be the row length (NKI-A05). ``scalar_offset`` and ``vector_offset``
    are values of the running device: the result is indirect. So it is with a register or an element
    of a tile ``held``. ``shift`` is added to the offset; it may speak of what is held. ``unit``:
    how many elements the offsets of a vector count by; None: that is not known.
    """
    element = dtype or view.dtype
    storage = view.storage
    if offset is None:
        offset = _own_start(view, element)
    if offset is not None and shift is not None:
        offset = offset + shift
    known, begins = offset is not None, view.held if held is None else (*view.held, held)
    given = scalar_offset if scalar_offset is not None else vector_offset
    runtime = given is not None or (held is not None and held.symbol is None)
    axes = tuple(machine.axis(count) for _, count in pattern)
    _counted(machine, view, pattern, span)
    start = offset if offset is not None else E.const(0)
    asked = _Asked(machine, view, pattern, axes, start, element, span, begins)
    on_chip = storage.buffer.on_chip and storage.partition_axis is not None and bool(pattern)
    place = asked.on_chip if on_chip else asked.outside
    frame, coords = place(check=known and not runtime)
    reason = _why_inexact(view, runtime=runtime, known=known)
    taken = (*(view.indices if view.held else ()), None if held is None else held.register)
    return View(
        storage=storage,
        instance=view.instance,
        frame=frame,
        frame_partition=0 if on_chip else None,
        axes=axes,
        coords=coords,
        dtype=element,
        exact=not reason,
        reason=reason,
        indirect=given is not None or held is not None,
        span=span,
        bounds=tuple(asked.waiting),
        held=begins,
        indices=places(scalar_offset, vector_offset, *taken),
        placed=() if given is None else asked.placed(given, unit),
        rows_from=vector_offset if isinstance(vector_offset, View) else None,
    )


def _counted(
    machine: Machine, view: View, pattern: Sequence[tuple[Expr, Expr]], span: Span
) -> None:
    """Each dimension of a pattern has an element (NKI-A02)."""
    demands = [(count, E.ge(count, 1)) for _, count in pattern]
    demands = [(count, demand) for count, demand in demands if demand is not E.TRUE]
    if demands:
        machine.check(
            BOUNDS_RULE,
            E.and_(*(demand for _, demand in demands)),
            span,
            " and ".join(f"{operand(count)} >= 1" for count, _ in demands),
            f"a dimension of an access pattern of `{view.name}` has no elements",
            facts=("NKI-A02",),
            values=tuple(("count", count) for count, _ in demands),
        )


def _why_inexact(view: View, *, runtime: bool, known: bool) -> str:
    """Why it is not known where a pattern starts; empty if it is."""
    if runtime:
        return "the offset is known at run time only"
    return "" if known else view.reason or "the start of the view is not known"


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


class _Asked(Struct, frozen=True):
    """An access pattern of a view: ``offset`` and ``pattern`` count elements of ``element``."""

    machine: Machine
    view: View
    pattern: Sequence[tuple[Expr, Expr]]
    axes: tuple[Axis, ...]
    offset: Expr
    element: DType
    span: Span
    held: tuple[Held, ...]
    #: what depends on a register, for whoever uses the view
    waiting: list[Bound] = field(default_factory=list)

    def check(self, bound: Bound) -> None:
        """Raise a check, unless it waits for a register."""
        if bound.predicate is E.FALSE and any(isinstance(h.register, View) for h in self.held):
            return  # it is too long for the tensor, wherever it starts: which a rule says
        ask(self.machine, self.held, bound, self.waiting)

    def placed(self, given: object, unit: Expr | None) -> tuple[Placed, ...]:
        """What places the pattern at run time: a vector of offsets, or the count of a loop."""
        text = f"runtime offset into `{self.view.name}`"
        if isinstance(given, View):
            return (self._rows(given, unit, text),)
        if registers.of_device(self.machine, given):
            return (Placed(None, None, (), text, self.span),)
        registers.assume_inside(self.machine, given, text, self.span)
        return ()

    def _rows(self, offsets: View, unit: Expr | None, text: str) -> Placed:
        """What each offset of a vector must keep to that takes the place of the first count."""
        view = self.view
        if unit is None or view.buffer.on_chip or offsets.elements is not self.axes[0].size:
            return Placed(offsets, None, (), text, self.span)
        number = E.symbol(f"{offsets.name}[...]", origin=E.Origin.HAVOC)
        symbol = number.as_atom()
        assert isinstance(symbol, E.Sym)
        size = rescale(product(view.storage.shape), view.storage.dtype, self.element)
        low, high = _reach(self.pattern[1:])
        start = self.offset + number * unit
        bound = _bound(view, start + low, start + high, size, self.span)
        return Placed(offsets, symbol, (bound,), text, self.span)

    def outside(self, *, check: bool) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
        """The frame and the coordinates in it of a tensor in HBM, which is one row."""
        storage = self.view.storage
        size = rescale(product(storage.shape), storage.dtype, self.element)
        if check:
            low, high = _reach(self.pattern)
            first, last = self.offset + low, self.offset + high
            self.check(_bound(self.view, first, last, size, self.span))
            if storage.dtype.itemsize is self.element.itemsize:
                coords = self._unfolded(storage.shape)
                if coords is not None:
                    return storage.shape, coords
        return (size,), (_flat(self.pattern, self.axes, self.offset),)

    def _unfolded(self, shape: Sequence[Expr]) -> tuple[Expr, ...] | None:
        """The coordinates in a tensor of a ``shape``, if no dimension carries into the one before.

        What is told apart by dimensions is told apart by less than by addresses.
        """
        strides = [product(shape[d + 1 :]) for d in range(len(shape))]
        starts: list[Expr] = []
        rest = self.offset
        for stride in strides[:-1]:
            (start, rest), *_ = _split(rest, stride)
            starts.append(start)
        starts.append(rest)
        steps: list[list[tuple[Expr, Expr]]] = [[] for _ in shape]
        coords = list(starts)
        for (step, count), axis in zip(self.pattern, self.axes, strict=True):
            for d, stride in enumerate(strides):
                (times, left), *_ = _split(step, stride)
                if left is E.const(0):
                    steps[d].append((times, count))
                    coords[d] = coords[d] + times * axis.index
                    break
        for start, size, runs in [*zip(starts, shape, steps, strict=True)][1:]:
            low, high = _reach(runs)
            inside = E.and_(E.ge(start + low, 0), E.lt(start + high, size))
            if inside is not E.TRUE and self.machine.decide(inside) is not True:
                return None
        return tuple(coords)

    def on_chip(self, *, check: bool) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
        """The frame and the coordinates of a tile: the first pair runs along its partitions."""
        machine, view = self.machine, self.view
        storage = view.storage
        assert storage.partition_axis is not None
        rows = storage.shape[storage.partition_axis]
        row = rescale(storage.free_elements, storage.dtype, self.element)
        step, count = self.pattern[0]
        if not is_one(count):
            machine.check(
                "ap-partition-step",
                E.eq(step, row),
                self.span,
                f"{operand(step)} == {operand(row)}",
                f"first step of the access pattern is not the row length of `{view.name}`",
                facts=("NKI-A05", "NKI-X41"),
                values=(("step", step), ("elements per partition", row)),
            )
        first, column = self._start(row)
        rest = self.pattern[1:]
        if check:
            last = first + count - 1
            bound = Bound(
                BOUNDS_RULE,
                E.and_(E.ge(first, 0), E.lt(last, rows)),
                self.span,
                f"{operand(last + 1)} <= {operand(rows)}",
                f"access pattern leaves the partitions of `{view.name}`",
                facts=("NKI-A07",),
                values=(("last partition", last), ("partitions", rows)),
            )
            self.check(bound)
            low, high = _reach(rest)
            self.check(_bound(view, column + low, column + high, row, self.span))
        coords = (first + self.axes[0].index, _flat(rest, self.axes[1:], column))
        return (rows, row), coords

    def _start(self, row: Expr) -> tuple[Expr, Expr]:
        """The partition and the column that the pattern starts at."""
        for known, rest in _split(self.offset, row):
            inside = E.and_(E.ge(rest, 0), E.lt(rest, row))
            if inside is E.TRUE or self.machine.decide(inside) is True:
                return known, rest
        first = E.floordiv(self.offset, row)
        return first, self.offset - first * row


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


def _bound(view: View, first: Expr, last: Expr, size: Expr, span: Span) -> Bound:
    low, high = E.ge(first, 0), E.lt(last, size)
    upper = f"{operand(last + 1)} <= {operand(size)}"
    return Bound(
        BOUNDS_RULE,
        E.and_(low, high),
        span,
        upper if low is E.TRUE else f"{operand(first)} >= 0 and {upper}",
        f"access pattern leaves `{view.name}`",
        facts=("NKI-A06",),
        values=(("first element", first), ("last element", last), ("size", size)),
    )


__all__ = ["BOUNDS_RULE", "ap", "rescale"]
