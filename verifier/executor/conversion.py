"""Between what Python passes and values of the dialect: ``inward``, and ``outward`` back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from verifier.dialects.nki.handles import Handle, tile_of
from verifier.dialects.nki.orders import OF_TILES, order
from verifier.executor import places
from verifier.executor.abridge import abridged
from verifier.executor.access import affine, integer
from verifier.executor.findings import UnsupportedError
from verifier.executor.indices import IndexProxy
from verifier.executor.memory import Memory, numpy_name, storage_of
from verifier.executor.names import (
    BufferProxy,
    DTypeProxy,
    EnumProxy,
    Harmless,
    RankLists,
    RegisterProxy,
    RegisterValue,
    dtype_name,
)
from verifier.executor.offsets import present
from verifier.executor.records import Address, Section
from verifier.executor.tiles import Tensor
from verifier.executor.watch import Turns
from verifier.hardware.memories import Buffer
from verifier.symbolic import expr as E
from verifier.symbolic import views
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.lanes import SystemAddress
from verifier.symbolic.machine import Arg, Call
from verifier.symbolic.tensors import DType, LoopKind, StorageKind, View
from verifier.symbolic.values import (
    ApiRef,
    BufferValue,
    Enumerator,
    ExternalRef,
    IndexGrid,
    IndexMask,
    IndexTensor,
    Listed,
    Managed,
    Opaque,
    Range,
    RankGroups,
    Register,
    SliceValue,
)

if TYPE_CHECKING:
    from verifier.executor.machine import ConcreteMachine


def tensor_of(machine: ConcreteMachine, view: View) -> Tensor:
    """The proxy of a view."""
    memory = getattr(view.storage, "memory", None)
    assert isinstance(memory, Memory)
    known = view.exact and not view.held
    place = affine(view) if known and view.mask is E.TRUE and not view.bounds else None
    if place is not None and machine.found and present(memory, view, place) is not place:
        place = None  # it leaves the tensor, which was reported
    part = None
    if view.buffer.on_chip:
        part = views.partition_position(view) if view.exact else -1
        part = -1 if part is None else part
    return Tensor(machine, memory, place, view, part)


def constant(
    machine: ConcreteMachine, array: Any, name: str, kind: StorageKind = StorageKind.CONSTANT
) -> Tensor:
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
    if kind is tuple:
        return tuple(inward(machine, item) for item in value)
    if kind is list:
        return Listed(inward(machine, item) for item in value)
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


class Issued(Harmless):
    """The handle of an instruction: no tile, whoever takes it for one."""

    __slots__ = ("handle", "machine")

    def __init__(self, machine: ConcreteMachine, handle: Handle) -> None:
        super().__init__(handle.reason)
        self.machine = machine
        self.handle = handle

    def __getitem__(self, index: Any) -> Any:
        return self._as_tile()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._as_tile()

    def __getattr__(self, name: str) -> Any:
        if name in OF_TILES:
            return self._as_tile()
        raise AttributeError(f"an instruction has no attribute {name!r}")

    def depends_on(self, *producers: Any, **others: Any) -> Issued:
        span = places.here().span
        args = tuple(Arg(inward(self.machine, value), span) for value in producers)
        keywords = {name: Arg(inward(self.machine, value), span) for name, value in others.items()}
        order(self.machine, self.handle, Call(args, keywords, span, "depends_on"))
        return self

    def _as_tile(self) -> Any:
        return outward(self.machine, tile_of(self.machine, self.handle, places.here().span))


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
    if isinstance(value, RankLists):
        groups = tuple(tuple(map(E.const, ranks)) for ranks in value.groups)
        return RankGroups(value.text, harmless=True, groups=groups)
    if isinstance(value, Issued):
        return value.handle
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
        return _opaque(machine, value)
    if isinstance(value, SystemAddress):
        return Address(value)
    return Section(value) if isinstance(value, Managed) else value


def _opaque(machine: ConcreteMachine, value: Opaque) -> Any:
    """What no element and no size depends on.

    Raises:
        UnsupportedError: some may depend on it.
    """
    if isinstance(value, Handle):
        return Issued(machine, value)
    if isinstance(value, RankGroups):
        return RankLists(value.reason, tuple(tuple(map(integer, g)) for g in value.groups))
    if value.harmless:
        return Harmless(value.reason)
    raise UnsupportedError(value.reason, places.here().span)


def _number(value: Expr | Bool) -> int | bool:
    """A number or truth value of a run.

    Raises:
        UnsupportedError: it is none: a symbol takes part.
    """
    if isinstance(value, Expr) and value.is_const:
        return value.const
    if isinstance(value, Bool) and value.kind is E.BoolKind.CONST:
        return value is E.TRUE
    what = "number" if isinstance(value, Expr) else "value"
    raise UnsupportedError(f"`{value!r}` has no {what} in a run", places.here().span)


def _range(machine: ConcreteMachine, value: Range) -> Any:
    every = range(integer(value.start), integer(value.stop), integer(value.step) or 1)
    numbers: Sequence[int] = every
    if machine.options.abridge is not None:
        kind = LoopKind.AFFINE if value.kind.unordered else value.kind
        numbers = abridged(every, machine.options.abridge, Tensor, f"{kind.value}_range")
        machine.abridged |= len(numbers) < len(every)
    if not value.kind.unordered:
        return numbers
    if machine.options.loop_order != "forward":
        numbers = list(reversed(numbers))
        if machine.options.loop_order == "shuffled":
            machine.rng.shuffle(numbers)
    if machine.watch is not None and machine.generation.reorders:
        return Turns(machine.watch, machine.program, numbers, value.kind)
    return numbers
