"""Views whose elements are known at run time only: found with tiles of indices as they are then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from verifier.executor.access import indices, integer, truth, value
from verifier.executor.memory import Bound, Memory
from verifier.executor.names import RegisterValue
from verifier.executor.regions import Gather, Geometry, Offsets, positions_of
from verifier.hardware import dtypes as dt
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.tensors import View
from verifier.symbolic.values import DynamicSlice, IndexTensor

if TYPE_CHECKING:
    from verifier.executor.machine import ConcreteMachine


class Located:
    """A tensor or a part of one, wherever it lies.

    ``place``: where the elements are in ``memory``; None: that is known at run time only.
    """

    __slots__ = ()
    machine: ConcreteMachine
    memory: Memory
    place: Geometry | None

    @property
    def as_view(self) -> View:
        """The view as rules see it."""
        raise NotImplementedError

    @property
    def shape(self) -> tuple[int, ...]:
        raise NotImplementedError

    def bound(self) -> Bound:
        """Memory and place of the elements as they are now."""
        raise NotImplementedError


class Indices:
    """An index array as kernels hold it; ``inner`` is the dialect's."""

    __slots__ = ()
    inner: object


def _keys(view: View) -> tuple[tuple[E.Sym, ...], tuple[Expr, ...]]:
    """What tells an indirect view from others, whatever mask joins it, and before and after what
    it begins at is settled."""
    zero = {held.symbol: E.const(0) for held in view.held if held.symbol is not None}
    coords = tuple(map(E.Substitution(zero).expr, view.coords))
    return tuple(axis.symbol for axis in view.axes), coords


def _remember(machine: ConcreteMachine, view: View, compute: Callable[[View], Gather]) -> None:
    axes, coords = _keys(view)
    machine.indirect.setdefault(axes, {})[coords] = Offsets(compute)


def remembered(machine: ConcreteMachine, view: View) -> Offsets | None:
    """How the elements of a view are found. Numbers that have been put into where it begins matter
    only if there are several of its axes."""
    axes, coords = _keys(view)
    found = machine.indirect.get(axes, {})
    return next(iter(found.values())) if len(found) == 1 else found.get(coords)


def _numbers(held: Any) -> Any:
    """The integers in a tile, a register or a number."""
    if isinstance(held, Located):
        found = held.bound()
        place = found.place
        if isinstance(place, Geometry):
            array = found.memory.array(place)
        else:
            array = found.memory.flat(place.dtype)[place.positions]
        return array.astype(np.int64)
    return int(held)


def remember_method(
    machine: ConcreteMachine,
    tensor: Located,
    name: str,
    args: tuple[Any, ...],
    keywords: dict[str, Any],
    view: View,
) -> None:
    """Keep what an indirect view of ``.ap`` or ``.vector_select`` needs to find its elements."""
    if name == "ap":
        names = ("pattern", "offset", "scalar_offset", "vector_offset", "indirect_dim", "dtype")
        given = dict(zip(names, args, strict=False)) | keywords
        _remember(machine, view, lambda used: _pattern(tensor, used, given))
    elif name in ("vector_select", "select", "slice"):
        wanted = ("dim", "offsets" if name == "vector_select" else "index")
        given = dict(zip(wanted, args, strict=False)) | keywords
        index = given.get("offsets", given.get("index"))
        dim = int(given["dim"]) % len(tensor.shape)
        items: list[Any] = [slice(None)] * len(tensor.shape)
        items[dim] = index
        _remember(machine, view, lambda used: _subscript(tensor, tuple(items), used))


def remember_subscript(machine: ConcreteMachine, tensor: Located, index: Any, view: View) -> None:
    if tensor.place is None and _keys(view) == _keys(tensor.as_view):
        return  # all of what it is a subscript of
    items = index if isinstance(index, tuple) else (index,)
    _remember(machine, view, lambda used: _subscript(tensor, items, used))


def _pattern(tensor: Located, view: View, given: dict[str, Any]) -> Gather:
    """Positions of an access pattern whose offset comes from a register or a tile."""
    memory = tensor.memory
    template = memory.template
    shape = tuple(integer(axis.size) for axis in view.axes)
    pattern = [tuple(int(x) for x in pair) for pair in given["pattern"]]
    dtype = view.dtype.name
    assert dtype is not None
    base = given.get("offset")
    start = int(base) if base is not None else (tensor.place.offset if tensor.place else 0)
    dim = int(given.get("indirect_dim") or 0)
    vector, scalar = given.get("vector_offset"), given.get("scalar_offset")
    tiles = isinstance(vector, Located) or isinstance(scalar, Located)
    if tensor.machine.options.shapes_only and tiles:
        return _somewhere(shape, dtype)
    total: Any = np.full(shape, start, np.int64)
    # runtime offsets count in units of the indirect dimension of the tensor
    strides = _whole_strides(tensor) or template.strides
    unit = strides[dim] if strides else 1
    skipped = -1
    if vector is not None:
        flat = _numbers(vector).reshape(-1)
        # the offsets take the place of the outermost counts that they enumerate; where there are
        # more of them than that (a transposition takes whole groups), of the first, and some are
        # left over
        along = list(shape)
        enumerated = np.cumprod([count for _, count in pattern])
        exact = np.flatnonzero(enumerated == flat.size)
        skipped = int(exact[0]) if exact.size else 0
        for k in range(skipped + 1, len(along)):
            along[k] = 1
        total = total + (flat * unit)[: int(np.prod(along))].reshape(along)
    if scalar is not None:
        total = total + np.asarray(_numbers(scalar)).reshape(-1)[0] * unit
    for k, (step, count) in enumerate(pattern):
        if k > skipped:
            lie = [1] * len(shape)
            lie[k] = count
            total = total + (np.arange(count, dtype=np.int64) * step).reshape(lie)
    return _inside(np.broadcast_to(total, shape), template.elements, dtype, memory.name)


def _whole_strides(tensor: Located) -> tuple[int, ...]:
    """The strides of a whole tensor in the shape that it was given; empty if it is a part."""
    place, template = tensor.place, tensor.memory.template
    if place is None or place.dtype != template.dtype:
        return ()
    total = 1
    strides: list[int] = []
    for size in reversed(place.shape):
        strides.insert(0, total)
        total *= size
    whole = total == template.elements and place.offset == 0
    return place.strides if whole and place.strides == tuple(strides) else ()


def _somewhere(shape: tuple[int, ...], dtype: str) -> Gather:
    """What offsets without numbers name."""
    return Gather(np.zeros((1,) * len(shape), np.int64), None, dtype, anywhere=True)


def present(memory: Memory, view: View, place: Geometry | Gather) -> Geometry | Gather:
    """The elements of a view that there are: what lies behind the end of a row is none of the next
    one."""
    if not place.shape or 0 in place.shape:
        return place
    values = indices(view, place.shape)
    there: Any = True
    for coord, extent in zip(view.coords, view.frame, strict=True):
        at, end = value(coord, values), integer(extent)
        if np.min(at) < 0 or np.max(at) >= end:
            there = there & (at >= 0) & (at < end)
    if there is not True:
        good = np.broadcast_to(there, place.shape)
        mask = place.mask if isinstance(place, Gather) else None
        good = good if mask is None else good & mask
        held = place.positions if isinstance(place, Gather) else positions_of(place)
        return Gather(np.where(good, held, 0), good, place.dtype)
    if isinstance(place, Gather):
        return place
    far = [(size - 1) * stride for size, stride in zip(place.shape, place.strides, strict=True)]
    first = place.offset + sum(step for step in far if step < 0)
    last = place.offset + sum(step for step in far if step > 0)
    template = memory.template
    elements = template.elements * dt.DTYPES[template.dtype][0] // dt.DTYPES[place.dtype][0]
    if first >= 0 and last < elements:
        return place
    return _inside(positions_of(place), elements, place.dtype, memory.name)


def _inside(positions: Any, elements: int, dtype: str, name: str) -> Gather:
    """Positions outside of the tensor take no part (how out of bounds accesses are skipped)."""
    good = (positions >= 0) & (positions < elements)
    if bool(good.all()):
        return Gather(np.ascontiguousarray(positions), None, dtype)
    first = int(positions[~good].flat[0])
    outside = f"element {first} of `{name}` is accessed, which has {elements}"
    return Gather(np.where(good, positions, 0), good, dtype, outside)


class _Steps(Struct, frozen=True):
    """A dimension of a subscript that is gone through in steps."""

    dim: int
    start: int
    size: int
    step: int


class _Within:
    """Which elements of a subscript are there, and the first index that names none."""

    def __init__(self, name: str, extents: Sequence[int]) -> None:
        self._name = name
        self._extents = extents
        self.outside = ""

    def of(self, array: Any, dim: int) -> Any:
        """Which numbers name an element along the dimension."""
        extent = self._extents[dim]
        good = (array >= 0) & (array < extent)
        if not self.outside and not bool(np.all(good)):
            wrong = int(array[~good].flat[0])
            self.outside = f"index {wrong} leaves dimension {dim} of `{self._name}`, of {extent}"
        return good


def _expanded(items: tuple[Any, ...], rank: int) -> tuple[Any, ...]:
    """The items of a subscript, one for each dimension."""
    items = tuple(item for item in items if item is not None)
    at = next((k for k, item in enumerate(items) if item is Ellipsis), None)
    if at is not None:
        fill = rank - len(items) + 1
        items = (*items[:at], *([slice(None)] * fill), *items[at + 1 :])
    return (*items, *([slice(None)] * (rank - len(items))))


def _first(machine: ConcreteMachine, start: object) -> int:
    """Where a slice of a size begins that is known at run time only."""
    if isinstance(start, RegisterValue):
        return start.proxy.number
    if isinstance(start, View):
        return int(_numbers(machine.tensor(start)).reshape(-1)[0])
    return integer(start) if isinstance(start, Expr) else int(start)  # type: ignore[call-overload]


def _parts(
    tensor: Located, items: tuple[Any, ...], extents: Sequence[int]
) -> tuple[list[tuple[int, Any]], list[_Steps]]:
    """The numbers of the dimensions that are indexed, and the other dimensions."""
    parts: list[tuple[int, Any]] = []
    rest: list[_Steps] = []
    for dim, (item, extent) in enumerate(zip(items, extents, strict=False)):
        if isinstance(item, slice):
            start, stop, step = item.indices(extent)
            rest.append(_Steps(dim, start, len(range(start, stop, step)), step))
        elif isinstance(item, DynamicSlice):
            rest.append(_Steps(dim, _first(tensor.machine, item.start), integer(item.size), 1))
        else:
            parts.append((dim, np.asarray(_index_values(item), np.int64)))
    return parts, rest


def _in_order(found: Gather) -> Geometry:
    """Elements that are found one by one, numbered row by row."""
    sizes = (*found.shape[1:], 1)
    strides = np.cumprod(sizes[::-1])[::-1]
    return Geometry(0, found.shape, tuple(map(int, strides[: len(found.shape)])), found.dtype)


def _subscript(tensor: Located, items: tuple[Any, ...], view: View) -> Gather:
    """Positions of a subscript with tiles or registers among its items, or of a view with them."""
    name, bound = tensor.memory.name, tensor.place or tensor.bound().place
    of = bound if isinstance(bound, Gather) else None
    place = _in_order(bound) if isinstance(bound, Gather) else bound
    shape = tuple(integer(axis.size) for axis in view.axes)
    items = _expanded(items, len(place.shape))
    tiles = any(isinstance(item, Located) for item in items)
    if (of is not None and of.anywhere) or (tensor.machine.options.shapes_only and tiles):
        return _somewhere(shape, place.dtype)
    parts, rest = _parts(tensor, items, place.shape)
    total: Any = np.int64(place.offset)
    good: Any = np.bool_(True)
    within = _Within(name, place.shape)
    for dim, array in parts:
        good = good & within.of(array, dim)
        total = total + array * place.strides[dim]
    gathered = np.shape(total)
    first = min((dim for dim, _ in parts), default=0)
    before = [entry for entry in rest if parts and entry.dim < first]
    after = [entry for entry in rest if entry not in before]
    whole = [*(entry.size for entry in before), *gathered, *(entry.size for entry in after)]
    total = np.reshape(total, [1] * len(before) + list(gathered) + [1] * len(after))
    good = np.reshape(good, np.shape(good) + (1,) * len(after)) if np.ndim(good) else good
    for k, entry in enumerate([*before, *after]):
        along = [1] * len(whole)
        along[k if k < len(before) else k + len(gathered)] = entry.size
        array = entry.start + entry.step * np.arange(entry.size)
        good = good & within.of(array, entry.dim).reshape(along)
        total = total + (array * place.strides[entry.dim]).reshape(along)
    total = np.broadcast_to(total, whole).reshape(shape)
    good = np.broadcast_to(good, whole).reshape(shape)
    if of is not None:
        total = np.where(good, total, 0)
        good = good if of.mask is None else good & of.mask.reshape(-1)[total]
        total = of.positions.reshape(-1)[total]
        return _taken(view, total, good, place.dtype, within.outside or of.outside)
    return _taken(view, total, good, place.dtype, within.outside)


def _taken(view: View, total: Any, good: Any, dtype: str, outside: str) -> Gather:
    """The positions of the elements that are there, and that the mask of the view lets through."""
    if view.mask is not E.TRUE:
        chosen = np.asarray(truth(view.mask, indices(view, good.shape)), np.bool_)
        outside = outside if bool(np.any(chosen & ~good)) else ""
        good = good & chosen
    if bool(np.all(good)):
        return Gather(np.ascontiguousarray(total), None, dtype)
    return Gather(np.where(good, total, 0), np.broadcast_to(good, good.shape), dtype, outside)


def _index_values(item: Any) -> Any:
    """The numbers of an index: a tile, a register, an index array, an integer."""
    if isinstance(item, Located):
        return _numbers(item)
    if isinstance(item, Indices) and isinstance(item.inner, IndexTensor):
        inner = item.inner
        values: dict[str, Any] = {}
        sizes = [1] * inner.ndim
        for position, axis in inner.axes:
            along = [1] * inner.ndim
            along[position] = sizes[position] = integer(axis.size)
            values[axis.symbol.name] = np.arange(along[position]).reshape(along)
        return np.broadcast_to(value(inner.expr, values), sizes)
    return np.int64(int(item))
