"""What running PPL kernels hold: tensors, and pointers to global memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from verifier.executor import places
from verifier.executor.access import integer
from verifier.executor.findings import UnsupportedError
from verifier.executor.lanes import ByteMemory
from verifier.executor.names import DTypeProxy, dtype_name
from verifier.executor.semantics.casts import NUMPY
from verifier.executor.tiles import call_of
from verifier.executor.tpu import BufferStorage
from verifier.hardware.memories import Buffer
from verifier.source.ir import Span
from verifier.symbolic import views
from verifier.symbolic.expr import Expr
from verifier.symbolic.memory.events import Declared
from verifier.symbolic.tensors import DType, View

if TYPE_CHECKING:
    from verifier.executor.machine import ConcreteMachine


class LaneTensor:
    """A tensor of PPL; what its names and operators mean says the dialect."""

    __slots__ = ("machine", "tilelint_value")
    __array_ufunc__ = None

    def __init__(self, machine: ConcreteMachine, view: View) -> None:
        self.machine = machine
        self.tilelint_value = view

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("__", "tilelint_")):
            raise AttributeError(name)
        machine, view = self.machine, self.tilelint_value
        span = places.here().span
        found = machine.dialect.view_attribute(machine, view, name, span)
        if found is not None:
            return machine.outward(found)

        def method(*args: Any, **keywords: Any) -> Any:
            call = call_of(machine, name, args, keywords)
            result = machine.dialect.view_method(machine, view, name, call)
            if result is None:
                raise AttributeError(f"tensors have no `{name}`")
            return machine.outward(result)

        return method

    def __getitem__(self, index: Any) -> Any:
        machine = self.machine
        inner = machine.inward(index)
        found = machine.dialect.subscript(machine, self.tilelint_value, inner, places.here().span)
        return machine.outward(found)

    def _operator(self, op: str, left: Any, right: Any) -> Any:
        machine = self.machine
        span = places.here().span
        a, b = machine.inward(left), machine.inward(right)
        found = machine.dialect.operator(machine, op, a, b, span)
        if found is None:
            raise UnsupportedError(f"`{op}` of tensors has no meaning", span)
        return machine.outward(found)

    def __eq__(self, other: object) -> Any:
        return self._operator("==", self, other)

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"<{self.tilelint_value.name}>"


def _install() -> None:
    names = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "and": "&", "or": "|", "xor": "^"}

    def forward(op: str) -> Any:
        return lambda self, other: self._operator(op, self, other)

    def backward(op: str) -> Any:
        return lambda self, other: self._operator(op, other, self)

    for name, op in names.items():
        setattr(LaneTensor, f"__{name}__", forward(op))
        setattr(LaneTensor, f"__r{name}__", backward(op))
    for name, op in {"lt": "<", "gt": ">"}.items():
        setattr(LaneTensor, f"__{name}__", forward(op))


_install()


class Pointee(Struct, eq=False):
    """What a pointer points at. It becomes a tensor when the kernel declares a shape for it.

    ``elements``: how many there are; None if nobody said (only shapes are run then).
    """

    name: str
    dtype: str
    elements: int | None
    storage: BufferStorage
    view: View | None = None

    def declared(self, machine: ConcreteMachine, shape: Sequence[Expr], span: Span) -> View:
        """The tensor of that shape; larger than what is there, it breaks a rule (PPL-B05)."""
        sizes = [integer(size) for size in shape]
        wanted = 1
        for size in sizes:
            wanted *= size
        if self.elements is not None:
            machine.meet(Declared(self.name, wanted, self.elements, span))
        if self.view is None:
            self.view = self._first(machine, tuple(shape), wanted)
        if tuple(shape) == self.view.shape:
            return self.view
        return views.redeclared(machine, self.view, shape, span)

    def _first(self, machine: ConcreteMachine, shape: tuple[Expr, ...], wanted: int) -> View:
        memory = self.storage.bytes
        storage = replace(
            self.storage,
            shape=shape,
            dtype=DType.named(self.dtype),
            bytes=memory or ByteMemory(wanted * NUMPY[self.dtype].itemsize, full=True),
        )
        self.storage.bytes = storage.bytes
        axes = tuple(machine.axis(size) for size in shape)
        coords = tuple(axis.index for axis in axes)
        return View(storage, (), shape, None, axes, coords, storage.dtype, span=storage.span)


def declared(
    machine: ConcreteMachine, value: object, shape: Sequence[Expr], span: Span
) -> View | None:
    """A pointer, or a tensor, that is given a shape."""
    if isinstance(value, Pointee):
        return value.declared(machine, shape, span)
    return views.redeclared(machine, value, shape, span) if isinstance(value, View) else None


class Pointer:
    """A pointer as kernels see it."""

    __slots__ = ("tilelint_value",)

    def __init__(self, pointee: Pointee) -> None:
        self.tilelint_value = pointee

    @property
    def dtype(self) -> Any:
        return DTypeProxy(self.tilelint_value.dtype)

    type = dtype

    def set_dtype(self, dtype: Any) -> None:
        """Have it point at elements of another type."""
        name = dtype_name(dtype)
        if name is not None:
            self.tilelint_value.dtype = name


def local_bytes(view: View) -> int:
    """Bytes of a lane that a tensor takes; 0 outside of local memory."""
    storage = view.storage
    assert isinstance(storage, BufferStorage)
    return storage.lane_bytes if storage.buffer is Buffer.LOCAL else 0
