"""Shape, dtype and buffer of what a value-returning function returns.

The kinds are the ``result`` column of :mod:`verifier.dialects.nki.instructions`:

``like:a+b``        the broadcast shape of the named operands (``@first``: of the first tile)
``reduce:a``        ``a`` without the axes in ``axis`` (on chip never below rank 2)
``columns:a:n[:d]`` ``n`` columns per partition of ``a``, of dtype ``d``
``row:a``           one partition of ``a``
``matmul``          ``stationary`` transposed times ``moving``; ``product``: ``nl.matmul``
``transpose[_psum|_sbuf]:a``  the partition axis exchanged with the free elements
``new``, ``shape:a``  the ``shape`` argument;  ``index:a``: the extents of an index array
``gather``, ``gathered``, ``bounds``: see the instructions of that kind
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from verifier.dialects.nki import promotion
from verifier.dialects.nki.instructions import COMPARISONS, Instruction
from verifier.dialects.nki.signatures import newer
from verifier.hardware.memories import Buffer
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.machine import Machine
from verifier.symbolic.tensors import DType, Operand, View
from verifier.symbolic.values import Enumerator, IndexTensor, ParDim


@dataclass(frozen=True, slots=True)
class Result:
    """``shape`` in elements, the partition axis first."""

    shape: tuple[Expr, ...]
    dtype: DType
    buffer: Buffer = Buffer.SBUF


def shape_items(
    machine: Machine, value: object, span: Span
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


def broadcast_shape(machine: Machine, views: Sequence[View]) -> tuple[Expr, ...]:
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
            if extent is None or extent is size or machine.decide(E.eq(extent, 1)) is True:
                extent = size
        shape.append(extent if extent is not None else E.const(1))
    return tuple(shape)


def axes_of(machine: Machine, value: object, rank: int, span: Span) -> frozenset[int] | None:
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


def result_of(
    machine: Machine, instruction: Instruction, operands: Mapping[str, Operand], span: Span
) -> Result | None:
    """What the call returns; None if its arguments do not settle it."""
    kind, _, rest = instruction.result.partition(":")
    dtype = _dtype_argument(machine, operands)
    views = {name: o.view for name, o in operands.items() if o.view is not None}
    if kind == "like":
        return _like(machine, instruction, rest, operands, views, dtype)
    if kind == "reduce" and rest in views:
        return _reduce(machine, instruction, views[rest], operands, dtype, span)
    if kind == "columns":
        name, count, *named = rest.split(":")
        if name in views:
            view = views[name]
            own = DType.named(named[0]) if named else view.dtype
            return Result((view.partitions, E.const(int(count))), dtype or own)
    if kind == "row" and rest in views:
        view = views[rest]
        return Result((E.const(1), *view.shape[1:]), dtype or view.dtype)
    if kind == "matmul" and {"stationary", "moving"} <= views.keys():
        return _matmul(views["stationary"], views["moving"], operands.get("perf_mode"))
    if kind == "product" and {"x", "y"} <= views.keys():
        return _product(machine, views["x"], views["y"], operands)
    if kind.startswith("transpose"):
        return _transpose(machine, instruction, rest or "", views, operands, dtype)
    if kind in ("new", "shape"):
        operand = operands.get("shape")
        if operand is not None:
            items = shape_items(machine, operand.value, operand.span)
            own = next((v.dtype for v in views.values()), DType.named("float32"))
            if items is not None:
                return Result(items[0], dtype or own)
    if kind == "index":
        value = operands[rest].value if rest in operands else None
        if isinstance(value, IndexTensor):
            sizes = [E.const(1)] * value.ndim
            for position, axis in value.axes:
                sizes[position] = axis.size
            return Result(tuple(sizes), dtype or DType.named("int32"))
    return _gathers(kind, machine, views, operands, dtype)


def is_true(machine: Machine, operand: Operand | None) -> bool:
    """Whether a flag is certainly set."""
    if operand is None or operand.value is None:
        return False
    return machine.as_bool(operand.value, operand.span) is E.TRUE


def _dtype_argument(machine: Machine, operands: Mapping[str, Operand]) -> DType | None:
    operand = operands.get("dtype")
    if operand is None or operand.value is None:
        return None
    return machine.as_dtype(operand.value, operand.span)


def _like(
    machine: Machine,
    instruction: Instruction,
    names: str,
    operands: Mapping[str, Operand],
    views: Mapping[str, View],
    dtype: DType | None,
) -> Result | None:
    if names == "@first":
        first = next(iter(views.values()), None)
        return None if first is None else Result(first.shape, dtype or first.dtype)
    wanted = names.split("+")
    shaped = [views[name] for name in wanted if name in views]
    if not shaped:
        return None
    if dtype is None:
        dtype = _common_dtype(machine, instruction, wanted, operands)
    return Result(broadcast_shape(machine, shaped), dtype)


def _common_dtype(
    machine: Machine,
    instruction: Instruction,
    names: Sequence[str],
    operands: Mapping[str, Operand],
) -> DType:
    """Without ``dtype=``: Beta 1 promotes, later generations keep the first tile's (NKI-M075)."""
    beta1 = machine.api == "beta1"
    if beta1 and instruction.short in COMPARISONS:
        return DType.named("bool_")
    found: DType | None = None
    for name in names:
        operand = operands.get(name)
        if operand is None or name == "condition":
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


def _reduce(
    machine: Machine,
    instruction: Instruction,
    view: View,
    operands: Mapping[str, Operand],
    dtype: DType | None,
    span: Span,
) -> Result | None:
    axis = operands.get("axis")
    if axis is None:
        return None
    axes = axes_of(machine, axis.value, view.rank, axis.span)
    if axes is None:
        return None
    keep = operands.get("keepdims")
    # `var` keeps the reduced dimensions whatever is asked for (NKI-L51)
    keepdims = is_true(machine, keep) or (instruction.short == "var" and newer(machine.api, "0.3"))
    return Result(reduced_shape(view, axes, keepdims), dtype or view.dtype)


def _matmul(stationary: View, moving: View, perf_mode: Operand | None) -> Result | None:
    mode = perf_mode.value if perf_mode is not None else None
    name = mode.name if isinstance(mode, Enumerator) else mode
    if name is not None and not isinstance(name, str):
        return None
    columns = moving.shape[1:] if moving.rank > 1 else (E.const(1),)
    rows = stationary.free
    if name is not None and name.startswith("double_row"):
        # the first free dimension of both holds two rows, which the product adds up (NKI-MMU20)
        rows = math.prod(stationary.shape[2:], start=E.const(1)) if stationary.rank > 2 else rows
        columns = moving.shape[2:] if moving.rank > 2 else columns
    return Result((rows, *columns), DType.named("float32"), Buffer.PSUM)


def _product(machine: Machine, x: View, y: View, operands: Mapping[str, Operand]) -> Result:
    transposed = is_true(machine, operands.get("transpose_x"))
    rows = x.free if transposed else x.partitions
    columns = y.shape[1:] if y.rank > 1 else (E.const(1),)
    return Result((rows, *columns), DType.named("float32"), Buffer.PSUM)


def _transpose(
    machine: Machine,
    instruction: Instruction,
    name: str,
    views: Mapping[str, View],
    operands: Mapping[str, Operand],
    dtype: DType | None,
) -> Result | None:
    view = views.get(name or "data") or views.get("src")
    if view is None:
        return None
    engine = operands.get("engine")
    chosen = engine.value if engine is not None else None
    on_vector = isinstance(chosen, Enumerator) and chosen.name == "vector"
    psum = instruction.result == "transpose_psum:x" or (
        instruction.name == "isa.nc_transpose" and not on_vector
    )
    own = view.dtype
    if psum and instruction.name == "isa.nc_transpose" and machine.target.generation == 2:
        own = DType.named("float32")
    return Result((view.free, view.partitions), dtype or own, Buffer.PSUM if psum else Buffer.SBUF)


def _gathers(
    kind: str,
    machine: Machine,
    views: Mapping[str, View],
    operands: Mapping[str, Operand],
    dtype: DType | None,
) -> Result | None:
    if kind == "gathered" and {"data", "indices"} <= views.keys():
        return Result(views["indices"].shape, dtype or views["data"].dtype)
    if kind == "gather" and {"src_buffer", "index"} <= views.keys():
        source, index = views["src_buffer"], views["index"]
        per_index = operands.get("num_elem_per_idx")
        width = machine.as_int(per_index.value, per_index.span) if per_index is not None else None
        count: Expr | None = None
        valid = operands.get("num_valid_indices")
        if valid is not None and valid.value is not None:
            count = machine.as_int(valid.value, valid.span)
        if count is None:
            # 16 partitions share one list of indices (NKI-LGA04)
            count = index.free * 16
        return Result(
            (source.partitions, count * (width if width is not None else E.const(1))), source.dtype
        )
    if kind == "bounds" and "segment_ids" in views:
        view = views["segment_ids"]
        return Result((E.const(1), E.const(2), view.free), dtype or view.dtype)
    return None
