"""Memory of the machine: the bytes of each tensor, and which of its elements were written."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from verifier.executor.semantics.casts import NUMPY
from verifier.hardware import dtypes as dt
from verifier.hardware.memories import Buffer
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.tensors import DType, Storage

Array = NDArray[Any]

#: every byte of memory that nothing wrote: NaN in each float dtype, -1 or the maximum in integers
POISON: Final = 0xFF

#: from this many windows on a tensor on, those that are gone are swept out (at powers of two)
_SWEEP: Final = 256

#: tensors with more elements keep no record of single elements when only shapes are run
TRACKED: Final = 1 << 26


def numpy_name(dtype: np.dtype[Any]) -> str | None:
    """The name of a NumPy dtype as kernels know it, or None."""
    return dt.canonical("bool_" if dtype.name == "bool" else dtype.name)


class Geometry(NamedTuple):
    """Where the elements of a view lie: ``offset + sum(index * stride)``, in its own elements.

    ``dtype`` is the view's. Positions count from the start of the tensor, row-major. (A named tuple
    because one is made, compared and hashed for most subscripts of a kernel.)
    """

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str


class Layout:
    """Views that rules cannot tell apart: of one template, by extents, strides and dtype.

    On chip, where in the tensor they start belongs to it. Compared by identity.
    """

    __slots__ = ()


class Template:
    """What tensors of one kind have in common; templates are compared by identity."""

    __slots__ = (
        "_layouts",
        "address",
        "buffer",
        "bytes_per_partition",
        "dtype",
        "elements",
        "itemsize",
        "kind",
        "layout",
        "on_chip",
        "partition_axis",
        "placed",
        "prototype",
        "shape",
        "strides",
        "whole",
    )

    def __init__(self, prototype: Storage) -> None:
        self.prototype = prototype
        self.shape = tuple(size.const for size in prototype.shape)
        name = prototype.dtype.name
        assert name is not None
        self.dtype: str = name
        self.itemsize = NUMPY[name].itemsize
        self.buffer = prototype.buffer
        self.on_chip = prototype.buffer.on_chip
        self.partition_axis = prototype.partition_axis
        self.kind = prototype.kind
        self.address = (
            None if prototype.address is None else tuple(part.const for part in prototype.address)
        )
        self.placed = prototype.address is not None or bool(prototype.placement)
        self.elements = prod(self.shape)
        self.strides = row_major(self.shape)
        self.whole = Geometry(0, self.shape, self.strides, self.dtype)
        #: of the whole tensor, its partition axis where it was allocated
        self.layout = Layout()
        self._layouts: dict[tuple[object, ...], Layout] = {}
        axis = self.partition_axis
        others = (size for k, size in enumerate(self.shape) if k != axis)
        self.bytes_per_partition = prod(others) * self.itemsize

    def layout_of(self, place: Geometry, part: int | None) -> Layout:
        """What rules see of a view with that partition axis (None: of a tensor off chip)."""
        if place is self.whole and part == (self.partition_axis if self.on_chip else None):
            return self.layout
        key = (part, *place) if part is not None else (part, *place[1:])
        found = self._layouts.get(key)
        if found is None:
            found = self._layouts[key] = Layout()
        return found


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in elements."""
    strides = [1] * len(shape)
    for k in range(len(shape) - 2, -1, -1):
        strides[k] = strides[k + 1] * shape[k + 1]
    return tuple(strides)


@lru_cache(maxsize=1024)
def _in_bytes(strides: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    return tuple(stride * itemsize for stride in strides)


@dataclass(frozen=True, slots=True)
class Origin:
    """The first move of elements that nothing had written: of what, and where in the source.

    ``name``, ``allocated``: the tensor that they were read from. ``span``: the operand.
    """

    name: str
    allocated: Span
    span: Span


@dataclass(slots=True)
class Carried:
    """The elements that moves brought without anything having written them, if still so.

    ``origin``: where the last of them came from.
    """

    bits: NDArray[np.bool_]
    origin: Origin


@dataclass(slots=True)
class Life:
    """From the first to the last use of an on-chip tensor, in operations."""

    template: Template
    name: str
    span: Span
    first: int
    last: int


class Memory:
    """One tensor.

    ``data`` holds its bytes, made when first touched (never when only shapes are run). ``full``
    says that every element was written; otherwise ``bits`` marks the written elements, and
    ``regions`` remembers geometries that were written as a whole.
    """

    __slots__ = (
        "__weakref__",
        "_storage",
        "alias",
        "aliases",
        "bits",
        "carried",
        "consumed",
        "data",
        "full",
        "life",
        "name",
        "raw",
        "regions",
        "span",
        "started",
        "template",
        "typed",
        "untracked",
        "writer",
        "written",
    )

    def __init__(self, template: Template, name: str, span: Span, storage: Storage | None) -> None:
        self.template = template
        self.name = name
        self.span = span
        self._storage = storage
        if isinstance(storage, ConcreteStorage):
            storage.memory = self
        self.data: NDArray[np.uint8] | None = None
        #: a window on another tensor that was copied here whole, until one of the two is written
        self.alias: Array | None = None
        #: tensors that are windows on this one (or were: the dead are swept out now and then)
        self.aliases: list[weakref.ref[Memory]] | None = None
        #: the bytes that nothing wrote are not poisoned yet
        self.raw = False
        self.full = False
        self.bits: NDArray[np.bool_] | None = None
        self.regions: set[Geometry] | None = None
        #: what came here by moves that moved elements nobody had written
        self.carried: Carried | None = None
        #: PSUM: elements that a matmul wrote last, and those of them read since
        psum = template.buffer is Buffer.PSUM
        self.started = Flags(self) if psum else _NO_FLAGS
        self.consumed = Flags(self) if psum else _NO_FLAGS
        self.typed: Array | None = None
        self.life: Life | None = None
        self.written = False
        #: whether anything but a matmul wrote to it (PSUM)
        self.writer = ""
        self.untracked = False

    # -- identity --------------------------------------------------------------------

    @property
    def storage(self) -> ConcreteStorage:
        """The tensor as rules see it."""
        if not isinstance(self._storage, ConcreteStorage):
            base = self.template.prototype
            self._storage = ConcreteStorage(
                id=id(self),
                name=self.name,
                buffer=base.buffer,
                dtype=base.dtype,
                shape=base.shape,
                partition_axis=base.partition_axis,
                span=self.span,
                kind=base.kind,
                address=base.address,
                order=base.order,
                initialised=base.initialised,
                placement=base.placement,
                argument_spans=base.argument_spans,
            )
            self._storage.memory = self
        return self._storage

    # -- bytes -----------------------------------------------------------------------

    def materialise(self, poison: bool = True) -> NDArray[np.uint8]:
        """The bytes, poisoned where nothing was written."""
        if self.alias is not None:
            self.data = np.ascontiguousarray(self.alias).reshape(-1).view(np.uint8).copy()
            self.alias = None
            self.raw = False
        if self.data is None:
            size = max(1, self.template.elements * self.template.itemsize)
            self.data = np.empty(size, np.uint8)
            self.raw = True
        if poison and self.raw:
            self._poison(self.data)
        return self.data

    def _poison(self, data: NDArray[np.uint8]) -> None:
        self.raw = False
        if self.full:
            return
        if self.bits is None:
            data.fill(POISON)
        elif self.template.elements:
            data.reshape(self.template.elements, -1)[~self.bits] = POISON

    def array(self, place: Geometry) -> Array:
        """The elements of an affine view: a window on the bytes, not to be written to."""
        if self.alias is not None and place is self.template.whole:
            return self.alias
        data = self.data
        if data is None or self.raw:
            data = self.materialise()
        return self._window(data, place)

    def _window(self, data: NDArray[np.uint8], place: Geometry) -> Array:
        if place is self.template.whole:
            typed = self.typed
            if typed is None or typed.base is not data:
                typed = self.typed = np.ndarray(place.shape, NUMPY[place.dtype], data)
            return typed
        dtype = NUMPY[place.dtype]
        size = dtype.itemsize
        return np.ndarray(
            place.shape,
            dtype,
            data,
            place.offset * size,
            _in_bytes(place.strides, size),
        )

    def writable(self, place: Geometry) -> Array:
        """The elements of an affine view, to be written to."""
        if self.alias is not None or self.aliases is not None:
            self.part()
        data = self.data
        if data is None:
            data = self.materialise(poison=False)
        return self._window(data, place)

    def part(self) -> None:
        """Make the bytes this tensor's own, before they are changed."""
        if self.alias is not None:
            self.materialise()
        if self.aliases is not None:
            for reference in self.aliases:
                other = reference()
                if other is not None and other.alias is not None:
                    other.materialise()
            self.aliases = None

    @property
    def lends(self) -> bool:
        """Whether copies of it may be windows for a while: tiles and inputs with bytes of their
        own (a window on a window would not hear of changes to the first tensor)."""
        template = self.template
        return self.alias is None and (template.on_chip or template.kind == "input")

    def show(self, source: Memory, window: Array) -> None:
        """Become a copy of a part of another tensor, without copying yet."""
        self.alias = window
        known = source.aliases
        if known is None:
            known = source.aliases = []
        elif len(known) >= _SWEEP and len(known).bit_count() == 1:
            known[:] = [each for each in known if each() is not None]
        known.append(weakref.ref(self))

    def flat(self, dtype: str) -> Array:
        """All elements in row-major order, as ``dtype``."""
        self.part()
        return self.materialise().view(NUMPY[dtype])

    def copy_in(self, array: Array) -> None:
        """Fill the tensor with an array of its dtype and number of elements."""
        data = np.ascontiguousarray(array, NUMPY[self.template.dtype]).reshape(-1)
        self.data = data.view(np.uint8).copy() if data.size else np.zeros(1, np.uint8)
        self.full = True

    # -- what was written ------------------------------------------------------------

    def _bits(self) -> NDArray[np.bool_] | None:
        if self.bits is None:
            if self.data is None and self.template.elements > TRACKED:
                self.untracked = True
                return None
            self.bits = np.zeros(max(1, self.template.elements), np.bool_)
        return self.bits

    def flags(self, bits: NDArray[np.bool_], place: Geometry) -> NDArray[np.bool_]:
        """The part of an element map that a view covers (elements of other sizes: their cover)."""
        own, other = self.template.itemsize, NUMPY[place.dtype].itemsize
        if own == other:
            return np.ndarray(place.shape, np.bool_, bits.data, place.offset, place.strides)
        if other > own and other % own == 0:
            ratio = other // own
            return np.ndarray(
                (*place.shape, ratio),
                np.bool_,
                bits.data,
                place.offset * ratio,
                (*(stride * ratio for stride in place.strides), 1),
            )
        positions = positions_of(place) * other // own
        return bits[positions]

    def mark(self, place: Geometry) -> None:
        """The elements of a view are written."""
        self.written = True
        if self.full:
            return
        template = self.template
        if place is template.whole or (place == template.whole):
            self.full = True
            self.bits = None
            self.regions = None
            return
        if self.regions is not None and place in self.regions:
            return
        bits = self._bits()
        if bits is None:
            return
        if NUMPY[place.dtype].itemsize < template.itemsize:
            size = NUMPY[place.dtype].itemsize
            bits[(positions_of(place) * size // template.itemsize).reshape(-1)] = True
        else:
            self.flags(bits, place)[...] = True
        self._remember(place)

    def _remember(self, place: Geometry) -> None:
        if self.regions is None:
            self.regions = set()
        if len(self.regions) < 4096:
            self.regions.add(place)

    def mark_positions(self, positions: NDArray[np.int64], dtype: str) -> None:
        """Single elements, by position counted in elements of ``dtype``, are written."""
        self.written = True
        if self.full:
            return
        bits = self._bits()
        if bits is None:
            return
        for shifted in self._own_positions(positions, dtype):
            bits[shifted] = True

    def _own_positions(
        self, positions: NDArray[np.int64], dtype: str
    ) -> Iterable[NDArray[np.int64]]:
        own, other = self.template.itemsize, NUMPY[dtype].itemsize
        if own >= other:
            yield positions * other // own
        else:
            ratio = other // own
            for k in range(ratio):
                yield positions * ratio + k

    def tracks(self, place: Geometry) -> bool:
        """Whether single elements of a view can be told apart, neither halves nor pairs."""
        return not self.untracked and NUMPY[place.dtype].itemsize == self.template.itemsize

    def written_map(self, place: Geometry) -> NDArray[np.bool_]:
        """Which elements of a view were written. Not to be changed."""
        if self.full or self.untracked:
            return np.ones(place.shape, np.bool_)
        if self.bits is None:
            return np.zeros(place.shape, np.bool_)
        return self.flags(self.bits, place)

    def carry(
        self,
        place: Geometry,
        written: NDArray[np.bool_],
        moved: NDArray[np.bool_],
        origin: Origin,
    ) -> None:
        """A move put elements here; those of ``moved`` that are not ``written`` mean nothing."""
        if self.full:
            self.bits = np.ones(max(1, self.template.elements), np.bool_)
            self.full = False
        bits = self._bits()
        if bits is None:
            return
        self.regions = None
        part = self.flags(bits, place)
        np.copyto(part, written, where=moved)
        if self.carried is None:
            self.carried = Carried(np.zeros(bits.size, np.bool_), origin)
        self.carried.origin = origin
        lost = self.flags(self.carried.bits, place)
        np.copyto(lost, ~written, where=moved)

    def origin(self, place: Geometry) -> Origin | None:
        """Where the elements of a view that nothing wrote came from, if they were moved here."""
        if self.carried is None or self.bits is None:
            return None
        lost = self.flags(self.carried.bits, place) & ~self.flags(self.bits, place)
        return self.carried.origin if bool(lost.any()) else None

    def initialised(self, place: Geometry) -> bool:
        """Whether every element of a view was written (or cannot be told)."""
        if self.full or self.untracked:
            return True
        if self.regions is not None and place in self.regions:
            return True
        if self.bits is None:
            return prod(place.shape) == 0
        if not bool(self.flags(self.bits, place).all()):
            return False
        if place == self.template.whole:
            self.full = True
        else:
            self._remember(place)
        return True

    def initialised_positions(self, positions: NDArray[np.int64], dtype: str) -> bool:
        if self.full or self.untracked:
            return True
        if self.bits is None:
            return positions.size == 0
        return all(bool(self.bits[p].all()) for p in self._own_positions(positions, dtype))

    def complete(self) -> bool:
        """Whether the whole tensor was written."""
        if self.full or self.untracked or self.template.elements == 0:
            return True
        if self.bits is not None and bool(self.bits.all()):
            self.full = True
        return self.full

    def settle(self) -> None:
        """Zero what nothing wrote: the target of a sum that its first term overwrites."""
        if self.full:
            return
        self.part()
        data = self.materialise(poison=False)
        self.raw = False
        if self.bits is None:
            data.fill(0)
        else:
            data.reshape(self.template.elements, -1)[~self.bits] = 0


class Flags:
    """A truth value per element of a tensor; cheap while it is the same for all of them."""

    __slots__ = ("bits", "every", "memory")

    def __init__(self, memory: Memory | None) -> None:
        self.memory: Any = memory
        self.every: bool | None = False
        self.bits: NDArray[np.bool_] | None = None

    def set(self, place: Geometry, flag: bool) -> None:
        template = self.memory.template
        if self.every is flag:
            return
        if place is template.whole or place == template.whole:
            self.every = flag
            self.bits = None
            return
        self._part(place)[...] = flag

    def _part(self, place: Geometry) -> NDArray[np.bool_]:
        if self.bits is None:
            self.bits = np.full(max(1, self.memory.template.elements), bool(self.every))
            self.every = None
        part: NDArray[np.bool_] = self.memory.flags(self.bits, place)
        return part

    def set_positions(self, positions: NDArray[np.int64], flag: bool) -> None:
        if self.every is not flag:
            self._part(self.memory.template.whole)
            assert self.bits is not None
            self.bits[positions.reshape(-1) % self.bits.size] = flag

    def at(self, place: Geometry) -> bool | NDArray[np.bool_]:
        """The value of a view's elements; one truth value where it is the same for all."""
        if self.bits is None:
            return bool(self.every)
        part = self.memory.flags(self.bits, place)
        if part.all():
            return True
        return part if part.any() else False

    def any(self, place: Geometry) -> bool:
        return self.at(place) is not False

    def all(self, place: Geometry) -> bool:
        return self.at(place) is True


#: of tensors outside of PSUM: never asked for, never set
_NO_FLAGS: Final = Flags(None)


@dataclass(eq=False, slots=True)
class ConcreteStorage(Storage):
    """A storage that knows its memory."""

    memory: Memory | None = None


def positions_of(place: Geometry) -> NDArray[np.int64]:
    """The position of every element of an affine view."""
    total = np.full(place.shape, place.offset, np.int64)
    for k, (size, stride) in enumerate(zip(place.shape, place.strides, strict=True)):
        shape = [1] * len(place.shape)
        shape[k] = size
        total += (np.arange(size, dtype=np.int64) * stride).reshape(shape)
    return total


def storage_of(
    name: str, shape: tuple[int, ...], dtype: str, buffer: Buffer, span: Span, kind: str, order: int
) -> ConcreteStorage:
    """A tensor that the host made."""
    return ConcreteStorage(
        id=order,
        name=name,
        buffer=buffer,
        dtype=DType.named(dtype),
        shape=tuple(E.const(size) for size in shape),
        partition_axis=None,
        span=span,
        kind=kind,
        order=order,
        initialised=True,
    )
