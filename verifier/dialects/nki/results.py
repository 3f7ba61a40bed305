"""Shape, dtype and buffer of what a value-returning function returns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec import Struct

from verifier.dialects.nki import promotion
from verifier.dialects.nki.versions import newer
from verifier.hardware import dtypes as dt
from verifier.hardware.capabilities import Capability
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import CORE_PARTITIONS
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.instruction import AxisMap, Made, Reader
from verifier.symbolic.tensors import DType, Operand, View
from verifier.symbolic.values import Enumerator, IndexTensor, ParDim

# ----------------------------------------------------------------------------- reading arguments


def shape_items(
    machine: Reader, value: object, span: Span
) -> tuple[tuple[Expr, ...], int | None] | None:
    """A shape argument as sizes and the position of ``par_dim`` in it; None if unreadable."""
    items = machine.as_items(value, span)
    if items is None:
        single = machine.as_int(value, span)
        return None if single is None else ((single,), None)
    sizes: list[Expr] = []
    partition: int | None = None
    for position, item in enumerate(items):
        if isinstance(item, ParDim):
            partition = position
            sizes.append(item.size)
            continue
        size = machine.as_int(item, span)
        if size is None:
            return None
        sizes.append(size)
    return tuple(sizes), partition


def broadcast_shape(machine: Reader, views: Sequence[View]) -> tuple[Expr, ...]:
    """The shape that elementwise operands have together: extents of 1 stretch."""
    rank = max(view.rank for view in views)
    shape: list[Expr] = []
    for position in range(rank):
        extent: Expr | None = None
        for view in views:
            place = position - (rank - view.rank)
            if place < 0:
                continue
            size = view.shape[place]
            single = None if extent is None else machine.decide(E.eq(extent, 1))
            if extent is None or extent is size or single is True:
                extent = size
            elif single is None and machine.decide(E.eq(extent, size)) is not True:
                extent = E.ite(E.eq(extent, 1), size, extent)
        shape.append(extent if extent is not None else E.const(1))
    return tuple(shape)


def axes_of(machine: Reader, value: object, rank: int, span: Span) -> frozenset[int] | None:
    """An ``axis`` argument as positions ``0 <= axis < rank``; None if it depends on an input."""
    items = machine.as_items(value, span)
    found: set[int] = set()
    for item in items if items is not None else (value,):
        axis = machine.as_int(item, span)
        if axis is None or not axis.is_const:
            return None
        found.add(axis.const + rank if axis.const < 0 else axis.const)
    return frozenset(found)


def reduced_shape(view: View, axes: frozenset[int], keepdims: bool) -> tuple[Expr, ...]:
    """The shape of a reduction over ``axes``; a tile keeps at least two dimensions."""
    one = E.const(1)
    if keepdims:
        return tuple(one if k in axes else size for k, size in enumerate(view.shape))
    kept = [size for k, size in enumerate(view.shape) if k not in axes]
    while len(kept) < 2:
        kept.append(one)
    return tuple(kept)


def is_true(machine: Reader, operand: Operand | None) -> bool:
    """Whether a flag is certainly set."""
    if operand is None or operand.value is None:
        return False
    return machine.as_bool(operand.value, operand.span) is E.TRUE


def asked_dtype(reader: Reader, operands: Mapping[str, Operand]) -> DType | None:
    """The ``dtype`` argument; its name stands for it."""
    operand = operands.get("dtype")
    if operand is None or operand.value is None:
        return None
    if isinstance(operand.value, str):
        name = dt.canonical(operand.value)
        return DType.named(name) if name is not None else None
    return reader.as_dtype(operand.value, operand.span)


def _view(operands: Mapping[str, Operand], role: str) -> View | None:
    operand = operands.get(role)
    return operand.view if operand is not None else None


def _tiles(operands: Mapping[str, Operand]) -> list[View]:
    return [view for operand in operands.values() if (view := operand.view) is not None]


def _choice(operand: Operand | None) -> str | None:
    value = operand.value if operand is not None else None
    return value.name if isinstance(value, Enumerator) else None


# ----------------------------------------------------------------------------- kinds of results


class Like(Struct, frozen=True):
    """The shape that the named operands have together. ``truth``: booleans in Beta 1."""

    roles: tuple[str, ...]
    truth: bool = False

    def of(self, reader: Reader, operands: Mapping[str, Operand], span: Span) -> Made | None:
        shaped = [view for role in self.roles if (view := _view(operands, role)) is not None]
        if not shaped:
            return None
        dtype = asked_dtype(reader, operands) or self._dtype(reader, operands)
        return Made(broadcast_shape(reader, shaped), dtype)

    def _dtype(self, reader: Reader, operands: Mapping[str, Operand]) -> DType:
        """Beta 1 promotes, later generations keep the first tile's (NKI-M075)."""
        beta1 = reader.api == "beta1"
        if beta1 and self.truth:
            return DType.named("bool_")
        found: DType | None = None
        for role in self.roles:
            operand = operands.get(role)
            if operand is None or role == "condition":
                continue
            view = operand.view
            own = view.dtype if view is not None else None
            if own is None and beta1:
                own = promotion.of_scalar(operand.value)
            if own is None:
                continue
            if found is None:
                found = own
            elif beta1:
                found = promotion.promote(found, own)
        return found if found is not None else DType.named("float32")


class Paired(Like, frozen=True):
    """The shape of two tiles that stream together: of the second where the first is a column.

    One of fewer elements is repeated (NKI-TTN09 recommends otherwise).
    """

    def of(self, reader: Reader, operands: Mapping[str, Operand], span: Span) -> Made | None:
        made = super().of(reader, operands, span)
        first, second = (_view(operands, role) for role in self.roles)
        if made is None or first is None or second is None or first.rank == second.rank:
            return made
        column = reader.decide(E.eq(first.free, 1)) is True
        return Made(second.shape if column else first.shape, made.dtype)

    def _dtype(self, reader: Reader, operands: Mapping[str, Operand]) -> DType:
        """The first tile's, unless both are known: of which of two inputs is too long to tell."""
        views = [_view(operands, role) for role in self.roles]
        if all(view is not None and view.dtype.name is not None for view in views):
            return super()._dtype(reader, operands)
        return next((view.dtype for view in views if view is not None), DType.named("float32"))


class LikeFirst(Struct, frozen=True):
    """What the first tile is."""

    def of(self, reader: Reader, operands: Mapping[str, Operand], span: Span) -> Made | None:
        first = next(iter(_tiles(operands)), None)
        return (
            None
            if first is None
            else Made(first.shape, asked_dtype(reader, operands) or first.dtype)
        )


class Reduced(Struct, frozen=True):
    """An operand without the axes in ``axis``; ``keeps``: they stay as 1, from a generation on."""

    role: str
    keeps: str = ""

    def of(self, reader: Reader, operands: Mapping[str, Operand], span: Span) -> Made | None:
        view, axis = _view(operands, self.role), operands.get("axis")
        if view is None or axis is None:
            return None
        axes = axes_of(reader, axis.value, view.rank, axis.span)
        if axes is None:
            return None
        kept = is_true(reader, operands.get("keepdims"))
        kept = kept or (bool(self.keeps) and newer(reader.api, self.keeps))
        return Made(reduced_shape(view, axes, kept), asked_dtype(reader, operands) or view.dtype)


class Columns(Struct, frozen=True):
    """``count`` columns for each partition of an operand."""

    role: str
    count: int
    dtype: str = ""

    def of(self, reader: Reader, operands: Mapping[str, Operand], span: Span) -> Made | None:
        view = _view(operands, self.role)
        if view is None:
            return None
        own = DType.named(self.dtype) if self.dtype else view.dtype
        shape = (view.partitions, E.const(self.count))
        return Made(shape, asked_dtype(reader, operands) or own)


class OneRow(Struct, frozen=True):
    """One partition of an operand."""

    role: str

    def of(self, reader: Reader, operands: Mapping[str, Operand], span: Span) -> Made | None:
        view = _view(operands, self.role)
        if view is None:
            return None
        return Made((E.const(1), *view.shape[1:]), asked_dtype(reader, operands) or view.dtype)


class Sum(Struct, frozen=True):
    """``stationary`` transposed times ``moving``, in PSUM."""

    def of(self, reader: Reader, operands: Mapping[str, Operand], span: Span) -> Made | None:
        stationary, moving = _view(operands, "stationary"), _view(operands, "moving")
        if stationary is None or moving is None:
            return None
        mode = operands.get("perf_mode")
        value = mode.value if mode is not None else None
        name = value.name if isinstance(value, Enumerator) else value
        if name is not None and not isinstance(name, str):
            return None
        columns = moving.shape[1:] if moving.rank > 1 else (E.const(1),)
        rows = stationary.free
        if name is not None and name.startswith("double_row"):
            # the first free dimension of both holds two rows, which are added up (NKI-MMU20)
            deep = stationary.rank > 2
            rows = math.prod(stationary.shape[2:], start=E.const(1)) if deep else rows
            columns = moving.shape[2:] if moving.rank > 2 else columns
        axes = () if name is not None else _of_product(stationary, moving, 1)
        return Made((rows, *columns), DType.named("float32"), Buffer.PSUM, axes=axes)


class Product(Struct, frozen=True):
    """``x`` times ``y``, in PSUM."""

    def of(self, reader: Reader, operands: Mapping[str, Operand], span: Span) -> Made | None:
        x, y = _view(operands, "x"), _view(operands, "y")
        if x is None or y is None:
            return None
        turned = is_true(reader, operands.get("transpose_x"))
        rows = x.free if turned else x.partitions
        columns = y.shape[1:] if y.rank > 1 else (E.const(1),)
        axes = _of_product(x, y, 1 if turned else 0)
        return Made((rows, *columns), DType.named("float32"), Buffer.PSUM, axes=axes)


def _of_product(first: View, second: View, rows: int) -> tuple[AxisMap, ...]:
    """What becomes of the axes of two factors; ``rows``: the axis of the first one that stays."""
    columns = (AxisMap(second, axis, axis) for axis in range(1, second.rank))
    if first.rank != 2:
        return (AxisMap(second, 0, None), *columns)
    kept, summed = AxisMap(first, rows, 0), AxisMap(first, 1 - rows, None)
    return (kept, summed, AxisMap(second, 0, None), *columns)


def _of_turned(view: View) -> tuple[AxisMap, ...]:
    """What becomes of the axes of what is transposed: free ones are made one."""
    partitions = AxisMap(view, 0, 1)
    return (partitions, AxisMap(view, 1, 0)) if view.rank == 2 else (partitions,)


class Turned(Struct, frozen=True):
    """The partition axis exchanged with the free elements."""

    role: str
    buffer: Buffer = Buffer.SBUF

    def of(self, reader: Reader, operands: Mapping[str, Operand], span: Span) -> Made | None:
        view = _view(operands, self.role)
        if view is None:
            return None
        dtype = asked_dtype(reader, operands) or view.dtype
        shape = (view.free, view.partitions)
        return Made(shape, dtype, self.buffer, axes=_of_turned(view))


class TurnedByEngine(Struct, frozen=True):
    """As :class:`Turned`: into PSUM by the Tensor Engine, into SBUF by the Vector Engine."""

    role: str

    def of(self, reader: Reader, operands: Mapping[str, Operand], span: Span) -> Made | None:
        view = _view(operands, self.role)
        if view is None:
            return None
        psum = _choice(operands.get("engine")) != "vector"
        own = view.dtype
        if psum and not reader.target.has(Capability.EXACT_TRANSPOSE):
            own = DType.named("float32")
        shape, buffer = (view.free, view.partitions), Buffer.PSUM if psum else Buffer.SBUF
        dtype = asked_dtype(reader, operands) or own
        return Made(shape, dtype, buffer, axes=_of_turned(view))


class Shaped(Struct, frozen=True):
    """What the ``shape`` argument says."""

    def of(self, reader: Reader, operands: Mapping[str, Operand], span: Span) -> Made | None:
        operand = operands.get("shape")
        items = None if operand is None else shape_items(reader, operand.value, operand.span)
        if items is None:
            return None
        own = next((view.dtype for view in _tiles(operands)), DType.named("float32"))
        return Made(items[0], asked_dtype(reader, operands) or own)


class OfIndex(Struct, frozen=True):
    """The extents of an index array."""

    role: str

    def of(self, reader: Reader, operands: Mapping[str, Operand], span: Span) -> Made | None:
        operand = operands.get(self.role)
        if operand is None or not isinstance(operand.value, IndexTensor):
            return None
        sizes = [E.const(1)] * operand.value.ndim
        for position, axis in operand.value.axes:
            sizes[position] = axis.size
        return Made(tuple(sizes), asked_dtype(reader, operands) or DType.named("int32"))


class Gathered(Struct, frozen=True):
    """An element of ``data`` for each of ``indices``."""

    def of(self, reader: Reader, operands: Mapping[str, Operand], span: Span) -> Made | None:
        data, indices = _view(operands, "data"), _view(operands, "indices")
        if data is None or indices is None:
            return None
        return Made(indices.shape, asked_dtype(reader, operands) or data.dtype)


class GatheredByCore(Struct, frozen=True):
    """The elements of ``src_buffer`` for the list of indices that 16 partitions share."""

    def of(self, reader: Reader, operands: Mapping[str, Operand], span: Span) -> Made | None:
        source, index = _view(operands, "src_buffer"), _view(operands, "index")
        if source is None or index is None:
            return None
        given = operands.get("num_elem_per_idx")
        width = reader.as_int(given.value, given.span) if given is not None else None
        valid = operands.get("num_valid_indices")
        count: Expr | None = None
        if valid is not None and valid.value is not None:
            count = reader.as_int(valid.value, valid.span)
        if count is None:
            count = index.free * CORE_PARTITIONS  # NKI-LGA04
        columns = count * (width if width is not None else E.const(1))
        return Made((source.partitions, columns), source.dtype)


class Bounds(Struct, frozen=True):
    """Two rows, start and end, for each element of an operand."""

    role: str

    def of(self, reader: Reader, operands: Mapping[str, Operand], span: Span) -> Made | None:
        view = _view(operands, self.role)
        if view is None:
            return None
        dtype = asked_dtype(reader, operands) or view.dtype
        return Made((E.const(1), E.const(2), view.free), dtype)
