"""Tensors of NKI as running kernels hold them, and their methods."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING, Any

from verifier.dialects.nki.methods import METHODS
from verifier.executor import places
from verifier.executor.access import integer
from verifier.executor.findings import UnsupportedError
from verifier.executor.indices import compares, operators
from verifier.executor.memory import Bound, Memory
from verifier.executor.names import BufferProxy, DTypeProxy
from verifier.executor.offsets import Located, remember_method, remember_subscript
from verifier.executor.operands import bound_of
from verifier.executor.regions import Geometry
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.machine import Arg, Call
from verifier.symbolic.tensors import LoopKind, Mark, StorageKind, View
from verifier.symbolic.values import BufferValue, DynamicSlice, Opaque, Range

if TYPE_CHECKING:
    from verifier.executor.machine import ConcreteMachine


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


def _key(machine: ConcreteMachine, index: Any) -> Any:
    """What a tensor is indexed with, as the dialect has it: a range is none of its numbers."""
    if type(index) is tuple:
        return tuple(_key(machine, item) for item in index)
    if type(index) is range:
        start, stop, step = map(E.const, (index.start, index.stop, index.step))
        return Range(start, stop, step, LoopKind.RANGE)
    return machine.inward(index)


class Tensor(Located):
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
                        machine, parent.as_view, _key(machine, index), places.here().span
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
        machine = self.machine  # which not every generation has
        machine.dialect.view_attribute(machine, self.as_view, "itemsize", places.here().span)
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
        inner = _key(machine, index)
        found = machine.dialect.subscript(machine, self.as_view, inner, span)
        if not isinstance(found, View):
            raise UnsupportedError("a subscript that is not followed", span)
        if found.indirect:
            remember_subscript(machine, self, index, found)
        return machine.tensor(found)

    def _quick(self, index: Any) -> Tensor | None:
        """Slices with numbers inside the bounds, without going through the view."""
        place, part = self.place, self.part
        if place is None or (part is not None and part != 0):
            return None
        if self.machine.api == "beta1" and 1 in place.shape:
            return None  # a row or a column has an index of its own (NKI-X68)
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
        inner = machine.inward(value)
        life = value.memory.life if isinstance(value, Tensor) else None
        fresh = life is not None and life.first == life.last
        machine.dialect.store(machine, target.as_view, inner, op, left, right)
        if fresh and isinstance(inner.storage.marks.get(Mark.FORWARDED), View):
            machine.forward(value.memory, target.memory)

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
        result = machine.dialect.operator(machine, op, machine.inward(a), machine.inward(b), span)
        if result is None:
            raise UnsupportedError(f"`{op}` on a tile has no meaning", span)
        return machine.outward(result)

    def _unary(self, op: str) -> Any:
        machine = self.machine
        span = places.here().span
        result = machine.dialect.operator(machine, op, self.as_view, None, span)
        if result is None:
            raise UnsupportedError(f"`{op}` on a tile has no meaning", span)
        return machine.outward(result)

    def __neg__(self) -> Any:
        return self._unary("-")

    def __invert__(self) -> Any:
        return self._unary("~")

    def __pos__(self) -> Any:
        return self

    def __eq__(self, other: object) -> Any:
        return self._binary("==", other) if compares(other) else NotImplemented

    def __ne__(self, other: object) -> Any:
        return self._binary("!=", other) if compares(other) else NotImplemented

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        machine = self.machine
        template = self.memory.template
        given = template.kind is StorageKind.INPUT and self.place is template.whole
        optional = given and self.memory.name in machine.optional
        machine.dialect.tensor_truth(machine, places.here().span, optional=optional)
        return True

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("a tensor is not iterated over")

    def __repr__(self) -> str:
        return f"<tensor {self.memory.name} {list(self.shape)} {self.dtype}>"


operators(Tensor)


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
        return machine.outward(result)


def call_of(
    machine: ConcreteMachine, name: str, args: tuple[Any, ...], keywords: dict[str, Any]
) -> Call:
    """A call as the dialect takes it, with the places of its arguments."""
    where = places.here(name)
    return Call(
        tuple(Arg(machine.inward(v), where.argument(k)) for k, v in enumerate(args)),
        {k: Arg(machine.inward(v), where.keyword(k)) for k, v in keywords.items()},
        where.span,
        where.text or name,
        where.target_name,
    )
