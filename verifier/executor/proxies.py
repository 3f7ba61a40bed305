"""What a running kernel holds: tensors, dtypes, enumerators, index arrays, registers.

``inward`` turns what Python passes into values of the dialect, ``outward`` turns results back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from verifier.dialects.nki.methods import METHODS
from verifier.executor import places
from verifier.executor.abridge import abridged
from verifier.executor.access import integer
from verifier.executor.findings import UnsupportedError
from verifier.executor.memory import Bound, Memory, numpy_name, storage_of
from verifier.executor.operands import bound_of
from verifier.executor.records import Address, Section
from verifier.executor.regions import Gather, Geometry
from verifier.executor.semantics.casts import NUMPY
from verifier.executor.watch import Turns
from verifier.hardware import dtypes as dt
from verifier.hardware.memories import Buffer
from verifier.symbolic import expr as E
from verifier.symbolic import views
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.lanes import SystemAddress
from verifier.symbolic.machine import Arg, Call
from verifier.symbolic.tensors import DType, View
from verifier.symbolic.values import (
    ApiRef,
    BufferValue,
    DynamicSlice,
    Enumerator,
    ExternalRef,
    IndexGrid,
    IndexMask,
    IndexTensor,
    Managed,
    Opaque,
    Range,
    Register,
    SliceValue,
)

if TYPE_CHECKING:
    from verifier.executor.machine import ConcreteMachine


class Named:
    """A value that is all in its name: ``key`` tells it apart; None: it is more than that."""

    __slots__ = ("key",)
    key: str | None


class DTypeProxy(Named):
    """An element type as kernels see it: compared by name, also with NumPy's."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.key = self.name = name

    @property
    def itemsize(self) -> int:
        return NUMPY[self.name].itemsize

    @property
    def __name__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return dtype_name(other) == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


def dtype_name(value: object) -> str | None:
    """The name of anything that says a dtype, or None."""
    if isinstance(value, DTypeProxy):
        return value.name
    if isinstance(value, str):
        return dt.canonical(value)
    if isinstance(value, np.dtype):
        return numpy_name(value)
    if isinstance(value, type):
        try:
            return numpy_name(np.dtype(value)) if issubclass(value, np.generic) else None
        except TypeError:
            return None
    return None


class EnumProxy(Named):
    """A member of an enumeration of the API."""

    __slots__ = ("kind", "name")

    def __init__(self, kind: str, name: str) -> None:
        self.key = f"{kind}.{name}"
        self.kind = kind
        self.name = name

    @property
    def value(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EnumProxy) and (self.kind, self.name) == (other.kind, other.name)

    def __hash__(self) -> int:
        return hash((self.kind, self.name))

    def __repr__(self) -> str:
        return f"{self.kind}.{self.name}"


class BufferProxy(Named):
    """A memory region: ``nl.sbuf``, or what a Beta 1 allocator returned."""

    __slots__ = ("inner", "name")

    def __init__(self, inner: BufferValue) -> None:
        self.inner = inner
        self.name = inner.buffer.value
        self.key = None if inner.placement else f"buffer {self.name}"

    @property
    def value(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return other == self.name
        return isinstance(other, BufferProxy) and other.inner.buffer is self.inner.buffer

    def __hash__(self) -> int:
        return hash(self.inner.buffer)

    def __repr__(self) -> str:
        return self.name


class RegisterProxy:
    """A scalar register with its number."""

    __slots__ = ("inner", "number")

    def __init__(self, number: int = 0) -> None:
        self.number = number
        self.inner = RegisterValue("register", self)

    def __index__(self) -> int:
        return self.number

    __int__ = __index__

    def __bool__(self) -> bool:
        return self.number != 0


class RegisterValue(Register):
    """A register of the dialect that knows its number."""

    def __init__(self, name: str, proxy: RegisterProxy) -> None:
        super().__init__(name)
        object.__setattr__(self, "proxy", proxy)

    proxy: RegisterProxy


class Harmless:
    """The result of a call that says nothing: a handle of an instruction, a hint."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __enter__(self) -> Harmless:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __call__(self, *args: Any, **_: Any) -> Any:
        return args[0] if args else self

    def __getattr__(self, name: str) -> Harmless:
        if name.startswith("__"):
            raise AttributeError(name)
        return Harmless(f"{self.text}.{name}")

    def __repr__(self) -> str:
        return f"<{self.text}>"


class IndexProxy:
    """An index array of Beta 1, a mask, or a grid of index arrays."""

    __slots__ = ("inner", "machine")
    __array_ufunc__ = None

    def __init__(self, machine: ConcreteMachine, inner: object) -> None:
        self.machine = machine
        self.inner = inner

    def _binary(self, op: str, other: object, *, swapped: bool = False) -> Any:
        a, b = (other, self) if swapped else (self, other)
        span = places.here().span
        result = self.machine.dialect.operator(
            self.machine, op, inward(self.machine, a), inward(self.machine, b), span
        )
        if result is None:
            raise UnsupportedError(f"`{op}` on an index array has no meaning", span)
        return outward(self.machine, result)

    def __neg__(self) -> Any:
        span = places.here().span
        return outward(
            self.machine,
            self.machine.dialect.operator(self.machine, "-", self.inner, None, span),
        )

    def __getitem__(self, index: object) -> Any:
        span = places.here().span
        if isinstance(self.inner, IndexGrid):
            if isinstance(index, int):
                return IndexProxy(self.machine, self.inner.parts[index])
            raise UnsupportedError("an index grid is indexed with an integer", span)
        assert isinstance(self.inner, IndexTensor)
        return IndexProxy(
            self.machine,
            views.index_subscript(self.machine, self.inner, inward(self.machine, index), span),
        )

    def __iter__(self) -> Iterator[IndexProxy]:
        if not isinstance(self.inner, IndexGrid):
            raise TypeError("an index array is not iterated over")
        return iter([IndexProxy(self.machine, part) for part in self.inner.parts])

    def __getattr__(self, name: str) -> Any:
        if isinstance(self.inner, IndexGrid):
            part = views.grid_part(self.inner, name)
            if part is not None:
                return IndexProxy(self.machine, part)
        if name == "shape" and isinstance(self.inner, (IndexTensor, IndexMask)):
            sizes = [1] * self.inner.ndim
            for position, axis in self.inner.axes:
                sizes[position] = integer(axis.size)
            return tuple(sizes)
        raise AttributeError(name)

    def __eq__(self, other: object) -> Any:
        return self._binary("==", other) if _compares(other) else NotImplemented

    def __ne__(self, other: object) -> Any:
        return self._binary("!=", other) if _compares(other) else NotImplemented

    __hash__ = object.__hash__


def _compares(other: object) -> bool:
    """Whether ``==`` is one element by element; to anything else Python just says no."""
    return isinstance(other, (Tensor, int, float, IndexProxy)) and not isinstance(other, bool)


_OPERATORS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "and": "&",
    "or": "|",
    "xor": "^",
    "lshift": "<<",
    "rshift": ">>",
}
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _install(cls: type) -> None:
    def plain(op: str, swapped: bool) -> Callable[[Any, object], Any]:
        def method(self: Any, other: object) -> Any:
            return self._binary(op, other, swapped=swapped)

        return method

    for name, op in _OPERATORS.items():
        setattr(cls, f"__{name}__", plain(op, False))
        setattr(cls, f"__r{name}__", plain(op, True))
    for name, op in _COMPARISONS.items():
        setattr(cls, f"__{name}__", plain(op, False))


def _slice(item: slice, extent: int) -> tuple[int, int, int] | None:
    """Start, size and step of a slice with numbers inside the bounds, else None."""
    start, stop, step = item.start, item.stop, item.step
    start = 0 if start is None else start
    stop = extent if stop is None else stop
    step = 1 if step is None else step
    if not type(start) is type(stop) is type(step) is int or step < 1:
        return None
    start = start + extent if start < 0 else start
    stop = stop + extent if stop < 0 else stop
    if start < 0 or stop > extent or start >= stop:
        return None
    return start, -(-(stop - start) // step), step


def _dynamic(item: DynamicSlice, extent: int) -> tuple[int, int, int] | None:
    """As :func:`_slice`, of ``nl.ds``."""
    start = item.start
    if not isinstance(start, Expr) or not start.is_const or not item.size.is_const:
        return None
    if start.const < 0 or item.size.const < 1 or start.const + item.size.const > extent:
        return None
    return start.const, item.size.const, 1


class Tensor:
    """A tensor or a part of one.

    ``place`` says where the elements lie when that is affine; the view that rules look at is made
    when it is asked for: by ``made`` (parent and index of a subscript that was checked already).

    ``spot`` is what calls need of it. There is no ``__getattr__``: it would slow down every look at
    an attribute; methods of the API are descriptors of the class.
    """

    __slots__ = (
        "_made",
        "_view",
        "in_place",
        "machine",
        "memory",
        "part",
        "place",
        "spot",
    )
    __array_ufunc__ = None

    def __init__(
        self,
        machine: ConcreteMachine,
        memory: Memory,
        place: Geometry | None,
        view: View | None,
        part: int | None,
        made: tuple[Tensor, object] | None = None,
    ) -> None:
        self.machine = machine
        self.memory = memory
        self.place = place
        self._view = view
        #: position of the partition axis; None off chip, -1 when not known
        self.part = part
        self._made = made
        self.in_place = False
        self.spot: Bound | None = None
        if place is not None:
            self.spot = Bound(memory, place, None, memory.template.layout_of(place, part))

    # -- views -----------------------------------------------------------------------

    @property
    def as_view(self) -> View:
        """The view as rules see it."""
        if self._view is None:
            machine = self.machine
            if self._made is None:
                self._view = machine.whole(self.memory, places.here().span)
            else:
                parent, index = self._made
                before, machine.silent = machine.silent, True
                try:
                    found = machine.dialect.subscript(
                        machine, parent.as_view, inward(machine, index), places.here().span
                    )
                finally:
                    machine.silent = before
                assert isinstance(found, View)
                self._view = found
        return self._view

    @property
    def shape(self) -> tuple[int, ...]:
        if self.place is not None:
            return self.place.shape
        return tuple(integer(size) for size in self.as_view.shape)

    @property
    def dtype(self) -> DTypeProxy:
        if self.place is not None:
            return DTypeProxy(self.place.dtype)
        return DTypeProxy(self.as_view.dtype.name or "float32")

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def name(self) -> str:
        return self.memory.name

    @property
    def buffer(self) -> BufferProxy:
        return BufferProxy(BufferValue(self.memory.template.buffer))

    def bound(self) -> Bound:
        """Memory and place of the elements."""
        return self.spot if self.spot is not None else bound_of(self.machine, self.as_view)

    def __getitem__(self, index: Any) -> Any:
        quick = self._quick(index)
        if quick is not None:
            return quick
        machine = self.machine
        span = places.here().span
        inner = inward(machine, index)
        found = machine.dialect.subscript(machine, self.as_view, inner, span)
        if not isinstance(found, View):
            raise UnsupportedError("a subscript that is not followed", span)
        if found.indirect:
            remember_subscript(machine, self, index, found)
        return tensor_of(machine, found)

    def _quick(self, index: Any) -> Tensor | None:
        """Slices with numbers inside the bounds, without going through the view."""
        place, part = self.place, self.part
        if place is None or (part is not None and part != 0):
            return None
        items = index if type(index) is tuple else (index,)
        shape, strides = place.shape, place.strides
        rank, given = len(shape), len(items)
        if given > rank:
            return None
        offset = place.offset
        sizes: list[int] = []
        steps: list[int] = []
        dropped: list[int] = []
        for item, extent, stride in zip(items, shape, strides, strict=False):
            kind = type(item)
            if kind is slice:
                start, stop = item.start, item.stop
                plain = item.step is None and type(start) is type(stop) is int
                if plain and 0 <= start < stop <= extent:
                    offset += start * stride
                    sizes.append(stop - start)
                    steps.append(stride)
                    continue
                found = _slice(item, extent)
            elif kind is int:
                at = item + extent if item < 0 else item
                if not 0 <= at < extent:
                    return None
                if part is None or sizes or dropped:
                    dropped.append(len(sizes))
                    offset += at * stride
                    continue
                found = (at, 1, 1)  # partitions stay an axis
            else:
                found = _dynamic(item, extent) if kind is DynamicSlice else None
            if found is None:
                return None
            start, size, step = found
            offset += start * stride
            sizes.append(size)
            steps.append(stride * step)
        if given < rank:
            sizes.extend(shape[given:])
            steps.extend(strides[given:])
        if dropped:
            least = min(rank, 2 if part is not None else 1)
            for where in reversed(dropped):
                if len(sizes) >= least:
                    break
                sizes.insert(where, 1)
                steps.insert(where, 0)
        made = Geometry(offset, tuple(sizes), tuple(steps), place.dtype)
        return Tensor(self.machine, self.memory, made, None, part, (self, index))

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(value, Tensor) and value.in_place and value.memory is self.memory:
            value.in_place = False
            return
        target = self[index]
        self._store(target, value, None)

    def _store(self, target: Tensor, value: Any, op: str | None) -> None:
        machine = self.machine
        where = places.here()
        left, right = where.sides or (where.span, where.span)
        inner = inward(machine, value)
        machine.dialect.store(machine, target.as_view, inner, op, left, right)

    def _augment(self, op: str, value: Any) -> Tensor:
        self._store(self, value, op)
        self.in_place = True
        return self

    def __iadd__(self, value: Any) -> Tensor:
        return self._augment("+", value)

    def __isub__(self, value: Any) -> Tensor:
        return self._augment("-", value)

    def __imul__(self, value: Any) -> Tensor:
        return self._augment("*", value)

    def __itruediv__(self, value: Any) -> Tensor:
        return self._augment("/", value)

    def _binary(self, op: str, other: object, *, swapped: bool = False) -> Any:
        machine = self.machine
        a, b = (other, self) if swapped else (self, other)
        span = places.here().span
        result = machine.dialect.operator(machine, op, inward(machine, a), inward(machine, b), span)
        if result is None:
            raise UnsupportedError(f"`{op}` on a tile has no meaning", span)
        return outward(machine, result)

    def _unary(self, op: str) -> Any:
        machine = self.machine
        span = places.here().span
        result = machine.dialect.operator(machine, op, self.as_view, None, span)
        if result is None:
            raise UnsupportedError(f"`{op}` on a tile has no meaning", span)
        return outward(machine, result)

    def __neg__(self) -> Any:
        return self._unary("-")

    def __invert__(self) -> Any:
        return self._unary("~")

    def __pos__(self) -> Any:
        return self

    def __eq__(self, other: object) -> Any:
        return self._binary("==", other) if _compares(other) else NotImplemented

    def __ne__(self, other: object) -> Any:
        return self._binary("!=", other) if _compares(other) else NotImplemented

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("a tensor is not iterated over")

    def __repr__(self) -> str:
        return f"<tensor {self.memory.name} {list(self.shape)} {self.dtype}>"


_install(Tensor)
_install(IndexProxy)


def _method(name: str) -> property:
    return property(lambda tensor: Method(tensor, name))


for _name in METHODS:
    setattr(Tensor, _name, _method(_name))


class Method:
    """A method of a tensor, bound to it."""

    __slots__ = ("name", "tensor")

    def __init__(self, tensor: Tensor, name: str) -> None:
        self.tensor = tensor
        self.name = name

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        machine = self.tensor.machine
        call = call_of(machine, self.name, args, keywords)
        if not call.text.endswith(self.name):
            call = Call(call.args, call.keywords, call.span, self.name, call.target_name)
        result = machine.dialect.view_method(machine, self.tensor.as_view, self.name, call)
        if isinstance(result, Opaque):
            raise UnsupportedError(f"`{call.text}`: {result.reason}", call.span)
        if isinstance(result, View) and result.indirect:
            remember_method(machine, self.tensor, self.name, args, keywords, result)
        return outward(machine, result)


def call_of(
    machine: ConcreteMachine, name: str, args: tuple[Any, ...], keywords: dict[str, Any]
) -> Call:
    """A call as the dialect takes it, with the places of its arguments."""
    where = places.here(name)
    return Call(
        tuple(Arg(inward(machine, v), where.argument(k)) for k, v in enumerate(args)),
        {k: Arg(inward(machine, v), where.keyword(k)) for k, v in keywords.items()},
        where.span,
        where.text or name,
        where.target_name,
    )


# ------------------------------------------------------------------------ offsets at run time


class Offsets:
    """An indirect view: positions of its elements with the tiles of indices as they are now."""

    __slots__ = ("compute",)

    def __init__(self, compute: Callable[[View], Gather]) -> None:
        self.compute = compute

    def positions(self, view: View) -> Gather:
        """Of the view as an operation uses it: a mask may have joined it."""
        return self.compute(view)


def _key(view: View) -> tuple[int, ...]:
    return tuple(axis.symbol.id for axis in view.axes)


def _numbers(value: Any) -> Any:
    """The integers in a tile, a register or a number."""
    if isinstance(value, Tensor):
        found = value.bound()
        place = found.place
        if isinstance(place, Geometry):
            array = found.memory.array(place)
        else:
            array = found.memory.flat(place.dtype)[place.positions]
        return array.astype(np.int64)
    return int(value)


def remember_method(
    machine: ConcreteMachine,
    tensor: Tensor,
    name: str,
    args: tuple[Any, ...],
    keywords: dict[str, Any],
    view: View,
) -> None:
    """Keep what an indirect view of ``.ap`` or ``.vector_select`` needs to find its elements."""
    if name == "ap":
        names = ("pattern", "offset", "scalar_offset", "vector_offset", "indirect_dim", "dtype")
        given = dict(zip(names, args, strict=False)) | keywords
        machine.indirect[_key(view)] = Offsets(lambda used: _pattern(tensor, used, given))
    elif name in ("vector_select", "select", "slice"):
        wanted = ("dim", "offsets" if name == "vector_select" else "index")
        given = dict(zip(wanted, args, strict=False)) | keywords
        index = given.get("offsets", given.get("index"))
        dim = int(given["dim"]) % tensor.ndim
        items: list[Any] = [slice(None)] * tensor.ndim
        items[dim] = index
        machine.indirect[_key(view)] = Offsets(lambda used: _subscript(tensor, tuple(items), used))


def remember_subscript(machine: ConcreteMachine, tensor: Tensor, index: Any, view: View) -> None:
    machine.indirect[_key(view)] = Offsets(
        lambda used: _subscript(tensor, index if isinstance(index, tuple) else (index,), used)
    )


def _pattern(tensor: Tensor, view: View, given: dict[str, Any]) -> Gather:
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
    vector = given.get("vector_offset")
    scalar = given.get("scalar_offset")
    if tensor.machine.options.shapes_only and (type(vector) is Tensor or type(scalar) is Tensor):
        return _somewhere(shape, dtype)
    total: Any = np.full(shape, start, np.int64)
    # runtime offsets count in units of the indirect dimension of the tensor
    unit = template.strides[dim] if template.strides else 1
    skipped = -1
    if vector is not None:
        numbers = _numbers(vector)
        flat = numbers.reshape(-1)
        counts = [count for _, count in pattern]
        # the offsets take the place of the outermost counts that they enumerate
        along = list(shape)
        used = 1
        for k, count in enumerate(counts):
            used *= count
            skipped = k
            if used >= flat.size:
                break
        for k in range(skipped + 1, len(along)):
            along[k] = 1
        total = total + (flat * unit)[: int(np.prod(along))].reshape(along)
    if scalar is not None:
        total = total + np.asarray(_numbers(scalar)).reshape(-1)[0] * unit
    for k, (step, count) in enumerate(pattern):
        if k <= skipped:
            continue
        lie = [1] * len(shape)
        lie[k] = count
        total = total + (np.arange(count, dtype=np.int64) * step).reshape(lie)
    return _inside(np.broadcast_to(total, shape), template.elements, dtype, tensor.name)


def _somewhere(shape: tuple[int, ...], dtype: str) -> Gather:
    """What offsets without numbers name."""
    return Gather(np.zeros((1,) * len(shape), np.int64), None, dtype, anywhere=True)


def _inside(positions: Any, elements: int, dtype: str, name: str) -> Gather:
    """Positions outside of the tensor take no part (how out of bounds accesses are skipped)."""
    good = (positions >= 0) & (positions < elements)
    if bool(good.all()):
        return Gather(np.ascontiguousarray(positions), None, dtype)
    first = int(positions[~good].flat[0])
    outside = f"element {first} of `{name}` is accessed, which has {elements}"
    return Gather(np.where(good, positions, 0), good, dtype, outside)


def _subscript(tensor: Tensor, items: tuple[Any, ...], view: View) -> Gather:
    """Positions of a subscript with tiles or registers among its items."""
    place = tensor.place
    if place is None:
        raise UnsupportedError(f"an indirect subscript of a view of `{tensor.name}`")
    shape = tuple(integer(axis.size) for axis in view.axes)
    items = tuple(item for item in items if item is not None)
    at = next((k for k, item in enumerate(items) if item is Ellipsis), None)
    if at is not None:
        fill = len(place.shape) - len(items) + 1
        items = (*items[:at], *([slice(None)] * fill), *items[at + 1 :])
    if tensor.machine.options.shapes_only and any(type(item) is Tensor for item in items):
        return _somewhere(shape, place.dtype)
    parts: list[tuple[int, Any]] = []
    rest: list[tuple[int, int, int, int]] = []  # dimension, start, size, step
    for dim, extent in enumerate(place.shape):
        item = items[dim] if dim < len(items) else slice(None)
        if isinstance(item, slice):
            start, stop, step = item.indices(extent)
            rest.append((dim, start, len(range(start, stop, step)), step))
        elif isinstance(item, DynamicSlice):
            inner = item.start
            number = inner.proxy.number if isinstance(inner, RegisterValue) else inner
            if isinstance(inner, View):
                number = int(_numbers(tensor_of(tensor.machine, inner)).reshape(-1)[0])
            elif isinstance(inner, Expr):
                number = integer(inner)
            rest.append((dim, int(number), integer(item.size), 1))  # type: ignore[call-overload]
        else:
            parts.append((dim, index_values(item)))
    total: Any = np.int64(place.offset)
    inside: Any = np.bool_(True)
    outside: list[str] = []

    def within(array: Any, dim: int) -> Any:
        """Which numbers name an element along the dimension."""
        good = (array >= 0) & (array < place.shape[dim])
        if not bool(np.all(good)):
            wrong = int(array[~good].flat[0])
            outside.append(
                f"index {wrong} leaves dimension {dim} of `{tensor.name}`, of {place.shape[dim]}"
            )
        return good

    for dim, number in parts:
        array = np.asarray(number, np.int64)
        inside = inside & within(array, dim)
        total = total + array * place.strides[dim]
    gathered = np.shape(total)
    first = min((dim for dim, _ in parts), default=0)
    before = [entry for entry in rest if entry[0] < first] if parts else []
    after = [entry for entry in rest if entry not in before]
    whole = [*(entry[2] for entry in before), *gathered, *(entry[2] for entry in after)]
    total = np.reshape(total, [1] * len(before) + list(gathered) + [1] * len(after))
    good = np.reshape(inside, np.shape(inside) + (1,) * len(after)) if np.ndim(inside) else inside
    for k, (dim, start, size, step) in enumerate([*before, *after]):
        position = k if k < len(before) else k + len(gathered)
        along = [1] * len(whole)
        along[position] = size
        array = start + step * np.arange(size)
        good = good & within(array, dim).reshape(along)
        total = total + (array * place.strides[dim]).reshape(along)
    total = np.broadcast_to(total, whole).reshape(shape)
    good = np.broadcast_to(good, whole).reshape(shape)
    told = outside[0] if outside else ""
    if view.mask is not E.TRUE:
        from verifier.executor.access import indices, truth

        chosen = np.asarray(truth(view.mask, indices(view, shape)), np.bool_)
        told = told if bool(np.any(chosen & ~good)) else ""
        good = good & chosen
    if bool(np.all(good)):
        return Gather(np.ascontiguousarray(total), None, place.dtype)
    return Gather(np.where(good, total, 0), np.broadcast_to(good, shape), place.dtype, told)


def index_values(item: Any) -> Any:
    """The numbers of an index: a tile, a register, an index array, an integer."""
    from verifier.executor.access import value

    if isinstance(item, Tensor):
        return _numbers(item)
    if isinstance(item, IndexProxy) and isinstance(item.inner, IndexTensor):
        inner = item.inner
        values: dict[str, Any] = {}
        sizes = [1] * inner.ndim
        for position, axis in inner.axes:
            along = [1] * inner.ndim
            along[position] = sizes[position] = integer(axis.size)
            values[axis.symbol.name] = np.arange(along[position]).reshape(along)
        return np.broadcast_to(value(inner.expr, values), sizes)
    return np.int64(int(item))


# ------------------------------------------------------------------------ in and out


def tensor_of(machine: ConcreteMachine, view: View) -> Tensor:
    """The proxy of a view."""
    from verifier.executor.access import affine

    memory = getattr(view.storage, "memory", None)
    assert isinstance(memory, Memory)
    place = affine(view) if view.exact and view.mask is E.TRUE and not view.bounds else None
    part = None
    if view.buffer.on_chip:
        part = views.partition_position(view) if view.exact else -1
        part = -1 if part is None else part
    return Tensor(machine, memory, place, view, part)


def constant(machine: ConcreteMachine, array: Any, name: str, kind: str = "constant") -> Tensor:
    """An array of the host as a tensor in HBM."""
    array = np.asarray(array)
    dtype = numpy_name(array.dtype)
    if dtype is None:
        raise UnsupportedError(f"an array of {array.dtype} is not known to kernels")
    span = places.here().span
    storage = storage_of(
        name, array.shape, dtype, Buffer.SHARED_HBM, span, kind, machine.next_order()
    )
    memory = Memory(machine.template(storage), name, span, storage)
    if not machine.options.shapes_only:
        memory.copy_in(array)
    memory.full = True
    return Tensor(machine, memory, memory.template.whole, None, None)


#: what functions of NumPy that are not ufuncs are made of
_NUMPY_FUNCTIONS: Final = (type(np.max), type(np.dot))


def inward(machine: ConcreteMachine, value: Any) -> Any:
    """A Python value as one of the dialect's."""
    kind = type(value)
    if kind is int:
        return E.const(value)
    if value is None or kind in (bool, float, str):
        return value
    if kind is tuple or kind is list:
        return tuple(inward(machine, item) for item in value)
    if kind is slice:
        return SliceValue(
            inward(machine, value.start), inward(machine, value.stop), inward(machine, value.step)
        )
    unwrap = _UNWRAPPED.get(kind)
    if unwrap is not None:
        return unwrap(value)
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return E.const(int(value))
    if isinstance(value, (float, np.floating)):
        return float(value)
    if isinstance(value, range):
        return tuple(E.const(item) for item in value)
    return _of_library(machine, value)


#: our own objects, by their type: the value inside
_UNWRAPPED: Final[dict[type, Callable[[Any], Any]]] = {
    Tensor: lambda value: value.as_view,
    DTypeProxy: lambda value: DType.named(value.name),
    EnumProxy: lambda value: Enumerator(value.kind, value.name),
    BufferProxy: lambda value: value.inner,
    IndexProxy: lambda value: value.inner,
    RegisterProxy: lambda value: value.inner,
}


def _of_library(machine: ConcreteMachine, value: Any) -> Any:
    """A value of NumPy's or of a kernel API as one of the dialect's."""
    if isinstance(value, np.ndarray):
        return constant(machine, value, "constant").as_view
    if isinstance(value, np.ufunc):
        found = machine.dialect.external(f"numpy.{value.__name__}")
        return found if found is not None else ExternalRef(f"numpy.{value.__name__}")
    name = str(getattr(value, "__name__", ""))
    if type(value) in _NUMPY_FUNCTIONS and getattr(np, name, None) is value:
        found = machine.dialect.external(f"numpy.{name}")  # np.max, np.sum, np.copy
        if found is not None:
            return found
    dtype = dtype_name(value)
    if dtype is not None:
        return DType.named(dtype)
    ref = getattr(value, "tilelint_api", None)
    if isinstance(ref, ApiRef):
        return ref
    if isinstance(value, Harmless):
        return Opaque(value.text, harmless=True)
    return getattr(value, "tilelint_value", value)


def outward(machine: ConcreteMachine, value: object) -> Any:
    """A value of the dialect as Python has it."""
    if isinstance(value, View):
        return machine.tensor(value)
    if isinstance(value, (Expr, Bool)):
        return _number(value)
    if isinstance(value, tuple):
        return tuple(outward(machine, item) for item in value)
    if isinstance(value, DType):
        return DTypeProxy(value.name or "float32")
    if isinstance(value, Enumerator):
        return EnumProxy(value.kind, value.name)
    if isinstance(value, BufferValue):
        return BufferProxy(value)
    if isinstance(value, (IndexTensor, IndexMask, IndexGrid)):
        return IndexProxy(machine, value)
    if isinstance(value, Range):
        return _range(machine, value)
    if isinstance(value, RegisterValue):
        return value.proxy
    if isinstance(value, Register):
        return RegisterProxy()
    if isinstance(value, Opaque):
        if value.harmless:
            return Harmless(value.reason)
        raise UnsupportedError(value.reason, places.here().span)
    if isinstance(value, SystemAddress):
        return Address(value)
    return Section(value) if isinstance(value, Managed) else value


def _number(value: Expr | Bool) -> int | bool:
    """A number or truth value of a run.

    Raises:
        UnsupportedError: it is none: a symbol takes part.
    """
    if isinstance(value, Expr) and value.is_const:
        return value.const
    if isinstance(value, Bool) and value.kind == "const":
        return value is E.TRUE
    what = "number" if isinstance(value, Expr) else "value"
    raise UnsupportedError(f"`{value!r}` has no {what} in a run", places.here().span)


def _range(machine: ConcreteMachine, value: Range) -> Any:
    every = range(integer(value.start), integer(value.stop), integer(value.step) or 1)
    numbers: Sequence[int] = every
    if machine.options.abridge is not None:
        numbers = abridged(every, machine.options.abridge, Tensor, f"{value.kind}_range")
        machine.abridged |= len(numbers) < len(every)
    if value.kind != "affine":
        return numbers
    if machine.options.loop_order != "forward":
        numbers = list(reversed(numbers))
        if machine.options.loop_order == "shuffled":
            machine.rng.shuffle(numbers)
    if machine.watch is not None and machine.api == "beta1":
        return Turns(machine.watch, machine.program, numbers)
    return numbers
