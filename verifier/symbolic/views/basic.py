"""Basic indexing: integers, slices, ``nl.ds``, ``...`` and ``None`` (NKI-X01 to NKI-X12)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic import registers
from verifier.symbolic.expr import FALSE, TRUE, Bool, Expr
from verifier.symbolic.machine import Machine
from verifier.symbolic.pretty import operand, pretty
from verifier.symbolic.tensors import Axis, Bound, Held, View
from verifier.symbolic.trace import LedgerKind
from verifier.symbolic.values import DynamicSlice, HostUse, IndexGrid, Register, SliceValue, places
from verifier.symbolic.views import advanced
from verifier.symbolic.views.common import (
    as_device_says,
    ask,
    conjuncts,
    is_one,
    partition_position,
    rewrite,
)

BOUNDS_RULE = "slice-bounds"
METHOD_RULE = "view-precondition"


def subscript(
    machine: Machine,
    view: View,
    index: object,
    span: Span,
    *,
    generation: str,
    facts: tuple[str, ...] = (),
) -> View:
    """``view[index]``.

    ``index`` is one item or a tuple of items: integers, ``SliceValue``, ``Ellipsis``, ``None``,
    ``DynamicSlice``, in Beta 1 (``generation == "beta1"``) also ``IndexTensor``. Negative integers
    count from the end; nothing is clamped (NKI-X06). A whole ``nl.mgrid`` stands for its parts.
    Bounds of plain indices are checked at once, those of index arrays when an operation uses the
    view (:func:`~verifier.symbolic.views.use`).
    """
    if isinstance(index, IndexGrid):
        index = index.parts  # an index array for each dimension, as if they were written out
    items = index if isinstance(index, tuple) else (index,)
    items = _expand_ellipsis(items, view.rank)
    consumed = sum(item is not None for item in items)
    if consumed > view.rank:
        machine.check(
            BOUNDS_RULE,
            FALSE,
            span,
            f"number of indices <= {view.rank}",
            f"`{view.name}` has {view.rank} dimensions but is indexed with {consumed}",
            facts=("NKI-X01",),
        )
        items = _first_items(items, view.rank)
    if advanced.is_advanced(items, generation):
        return advanced.gather(machine, view, items, span)
    return _Basic(machine, view, span, generation, facts).apply(items)


def _expand_ellipsis(items: Sequence[object], rank: int) -> tuple[object, ...]:
    places = [k for k, item in enumerate(items) if item is Ellipsis]
    if not places:
        return tuple(items)
    at = places[0]
    rest = [item for item in items[at + 1 :] if item is not Ellipsis]
    used = sum(item is not None for item in (*items[:at], *rest))
    return (*items[:at], *([SliceValue(None, None, None)] * max(0, rank - used)), *rest)


def _first_items(items: Sequence[object], rank: int) -> tuple[object, ...]:
    kept: list[object] = []
    for item in items:
        if item is not None:
            if rank == 0:
                continue
            rank -= 1
        kept.append(item)
    return tuple(kept)


class _Basic(Struct):
    machine: Machine
    view: View
    span: Span
    generation: str
    #: rows of the method that is written, besides those of slices and indices
    facts: tuple[str, ...] = ()
    #: registers that it begins at, and what their numbers must keep to
    held: list[Held] = field(default_factory=list)
    bounds: list[Bound] = field(default_factory=list)

    def apply(self, items: Sequence[object]) -> View:
        view = self.view
        partition = partition_position(view) if view.buffer.on_chip else None
        replacement: dict[E.Sym, Expr] = {}
        axes: list[Axis] = []
        dropped: list[tuple[int, Axis]] = []  # (place in the result, the axis to keep instead)
        inexact = False
        dim = 0
        for item in items:
            if item is None:
                axes.append(self.machine.axis(E.const(1)))
                continue
            axis = view.axes[dim]
            self._not_named(item, dim)
            start, size, step = self._item(item, dim, axis)
            if start is None:
                inexact, start = True, E.const(0)
            if size is None:
                single = self.machine.axis(E.const(1))
                replacement[axis.symbol] = start + single.index
                if dim == partition:
                    axes.append(single)
                else:
                    dropped.append((len(axes), single))
            elif size is axis.size and start.is_const and start.const == 0 and is_one(step):
                axes.append(axis)
            else:
                fresh = self.machine.axis(size)
                replacement[axis.symbol] = start + step * fresh.index
                axes.append(fresh)
            dim += 1
        axes.extend(view.axes[dim:])
        axes = self._keep_rank(axes, dropped, partition is not None)
        kept = {axis.symbol.id for axis in axes}
        for _, single in dropped:
            if single.symbol.id not in kept:
                zero = E.Substitution({single.symbol: E.const(0)})
                replacement = {sym: zero.expr(value) for sym, value in replacement.items()}
        out = rewrite(view, E.Substitution(replacement), axes)
        if self.held:
            out = replace(
                out,
                indirect=True,
                held=(*out.held, *self.held),
                bounds=(*out.bounds, *self.bounds),
                indices=(*out.indices, *places(*(held.register for held in self.held))),
            )
        if inexact:
            out = as_device_says(out)
        return replace(out, span=self.span)

    def _keep_rank(
        self, axes: list[Axis], dropped: list[tuple[int, Axis]], on_chip: bool
    ) -> list[Axis]:
        """Integers never take a tile below two dimensions (NKI-X03), nor a tensor below one
        (X04).
        """
        least = min(self.view.rank, 2 if on_chip else 1)
        for place, single in reversed(dropped):
            if len(axes) >= least:
                break
            axes.insert(place, single)
        return axes

    def _not_named(self, item: object, dim: int) -> None:
        """What an index of the device names is not picked from again (NKI-X48)."""
        view = self.view
        rows, columns = view.rows_from is not None, view.picked is not None
        whole = isinstance(item, SliceValue) and (item.start, item.stop, item.step) == (None,) * 3
        if whole or not ((rows and dim == 0) or (columns and dim == 1)):
            return
        what = "rows" if rows and dim == 0 else "columns"
        self.machine.check(
            METHOD_RULE,
            FALSE,
            self.span,
            "a dimension that no index picks from",
            f"a part of the {what} of `{view.name}` that an index names",
            facts=(*self.facts, *(("NKI-X29",) if rows else ()), "NKI-X48"),
        )

    # -- one index -----------------------------------------------------------------------

    def _item(self, item: object, dim: int, axis: Axis) -> tuple[Expr | None, Expr | None, Expr]:
        """``(start, extent, step)``; extent None: an integer; start None: known at run time
        only.
        """
        if isinstance(item, SliceValue):
            return self._slice(item, dim, axis)
        if isinstance(item, DynamicSlice):
            start = self._static(item.start, dim)
            if start is None:
                return None, item.size, E.const(1)
            start = self.from_end(start, axis.size)
            self._check_range(dim, axis.size, start, start + item.size)
            return start, item.size, E.const(1)
        index = self._static(item, dim)
        if index is None:
            return None, None, E.const(1)
        place = self.from_end(index, axis.size)
        self._check_index(dim, axis.size, place, index)
        return place, None, E.const(1)

    def _slice(
        self, item: SliceValue, dim: int, axis: Axis
    ) -> tuple[Expr | None, Expr | None, Expr]:
        size = axis.size
        if item.start is None and item.stop is None and item.step is None:
            return E.const(0), size, E.const(1)
        step = E.const(1) if item.step is None else self._static(item.step, dim)
        start = E.const(0) if item.start is None else self._static(item.start, dim)
        stop = size if item.stop is None else self._static(item.stop, dim)
        if isinstance(item.stop, (Register, View)):
            self._sized(item.stop)
        if start is None or stop is None or step is None:
            extent = E.fresh("extent", 0, None, E.Origin.HAVOC)
            self.machine.approximate(
                LedgerKind.HAVOC,
                f"the extent of dimension {dim} of `{self.view.name}` is known at run time only",
                self.span,
                [symbol.name for symbol in extent.free()],
            )
            return None, extent, E.const(1)
        if item.start is not None:
            start = self.from_end(start, size)
        if item.stop is not None:
            stop = self.from_end(stop, size)
        if not (step.is_const and step.const >= 1):
            self.machine.check(
                BOUNDS_RULE,
                E.ge(step, 1),
                self.span,
                f"slice step {operand(step)} >= 1",
                f"slice of `{self.view.name}` does not step forward in dimension {dim}",
                facts=("NKI-X12", *self.facts),
                values=(("step", step),),
            )
        self._check_range(dim, size, start, stop)
        extent = stop - start if is_one(step) else E.ceildiv(stop - start, step)
        self._sized(extent)
        return start, extent, step

    def _sized(self, size: object) -> None:
        """How much a slice takes is known before the kernel runs (NKI-L67)."""
        if self.generation != "beta1":
            self.machine.of_device(HostUse.EXTENT, size, self.span)

    def _static(self, value: object, dim: int) -> Expr | None:
        """The integer that an index is; None, with a ledger entry, when only the device knows
        it.
        """
        if isinstance(value, Expr):
            return value
        text = f"runtime offset into dimension {dim} of `{self.view.name}`"
        if isinstance(value, (Register, View)):
            held, number = registers.begun(value, text, self.span, (*self.view.held, *self.held))
            self.held.append(held)
            return number
        found = self.machine.as_int(value, self.span)
        if found is None:
            text = f"an offset into dimension {dim} of `{self.view.name}` is not followed"
            self.machine.approximate(LedgerKind.OPAQUE, text, self.span)
        return found

    def from_end(self, index: Expr, size: Expr) -> Expr:
        """What an index counts from the start: negative ones count from the end."""
        if index.is_const:
            return index + size if index.const < 0 else index
        lo, hi = E.bounds(index)
        if lo is not None and lo >= 0:
            return index
        negative = E.lt(index, 0)
        known = True if hi is not None and hi < 0 else self.machine.decide(negative)
        if known is None and self._may_be_either(index):
            return E.ite(negative, index + size, index)
        return index + size if known else index

    def _may_be_either(self, index: Expr) -> bool:
        """Whether an index that may be negative counts from the end where it is.

        The compiler of Beta 1 counts all from the start, as it knows of loops but not of their
        trips; a method takes no negative ones (NKI-X07); and what only the device knows counts
        from the start, too.
        """
        held = {each.symbol for each in (*self.view.held, *self.held)}
        return self.generation != "beta1" and not self.facts and held.isdisjoint(index.free())

    # -- obligations ---------------------------------------------------------------------

    def _check(self, bound: Bound) -> None:
        """Raise a check, or leave it to whoever uses the view if it depends on a register."""
        ask(self.machine, (*self.view.held, *self.held), bound, self.bounds)

    def _check_index(self, dim: int, size: Expr, place: Expr, index: Expr) -> None:
        low, high = _split(E.ge(place, 0)), _split(E.lt(place, size))
        text = _bounds_text(place, low, f"{operand(place)} < {operand(size)}")
        if place is not index and place is not index + size:
            low, high, place = E.ge(index + size, 0), _split(E.lt(index, size)), index
            text = f"{operand(-size)} <= {operand(index)} and {operand(index)} < {operand(size)}"
        bound = Bound(
            BOUNDS_RULE,
            E.and_(low, high),
            self.span,
            text,
            f"index is outside dimension {dim} of `{self.view.name}`",
            facts=("NKI-X07", "NKI-X09", *self.facts),
            values=(("index", place), ("size", size)),
        )
        self._check(bound)

    def _check_range(self, dim: int, size: Expr, start: Expr, stop: Expr) -> None:
        low, high = _split(E.ge(start, 0)), _split(E.le(stop, size))
        if not (low is TRUE and stop is size):
            bound = Bound(
                BOUNDS_RULE,
                E.and_(low, high),
                self.span,
                _bounds_text(start, low, f"{operand(stop)} <= {operand(size)}"),
                f"slice leaves dimension {dim} of `{self.view.name}`",
                facts=("NKI-X06", "NKI-X09", *self.facts),
                values=(("start", start), ("stop", stop), ("size", size)),
            )
            self._check(bound)
        order = _split(E.lt(start, stop))
        if order is not TRUE:
            bound = Bound(
                BOUNDS_RULE,
                order,
                self.span,
                _order_text(start, stop, order),
                f"slice of dimension {dim} of `{self.view.name}` is empty",
                facts=("NKI-X06", *self.facts),
                values=(("start", start), ("stop", stop)),
            )
            self._check(bound)


def _split(condition: Bool) -> Bool:
    """The condition with minima and maxima opened, where that settles parts of it."""
    return E.and_(*conjuncts(condition))


def _order_text(start: Expr, stop: Expr, order: Bool) -> str:
    text = pretty(order) if order is not FALSE else f"{operand(start)} < {operand(stop)}"
    return "start < stop" if "..." in text else text  # of which the numbers are told


def _bounds_text(start: Expr, low: Bool, upper: str) -> str:
    return upper if low is TRUE else f"{operand(start)} >= 0 and {upper}"


__all__ = ["BOUNDS_RULE", "subscript"]
