"""Memory of the machine: the bytes of each tensor, and which of its elements were written."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from functools import lru_cache
from math import prod
from typing import Any, Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from verifier.executor.contents import Contents
from verifier.executor.products import Brought, Products
from verifier.executor.regions import Gather, Geometry, positions_of
from verifier.executor.semantics.casts import NUMPY
from verifier.hardware import dtypes as dt
from verifier.hardware.memories import Buffer
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.memory.events import Life
from verifier.symbolic.tensors import DType, Storage, StorageKind, View

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
        "common",
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
        self.common = prototype.common
        self.address = (
            None if prototype.address is None else tuple(part.const for part in prototype.address)
        )
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


class Memory:
    """One tensor.

    ``data`` holds its bytes, made when first touched (never when only shapes are run). ``full``
    says that every element is defined: it was written, with what is defined. Otherwise ``bits``
    marks the defined elements, and ``regions`` remembers geometries that are defined as a whole.
    Maps of elements have an entry for each ``unit`` of bytes: an element of the tensor, until it is
    looked at through a view of a narrower type.
    """

    __slots__ = (
        "__weakref__",
        "_storage",
        "alias",
        "aliases",
        "arguments",
        "bits",
        "brought",
        "content",
        "data",
        "full",
        "life",
        "lost",
        "marks",
        "name",
        "products",
        "raw",
        "regions",
        "span",
        "template",
        "typed",
        "unit",
        "untracked",
        "writer",
        "written",
    )

    def __init__(self, template: Template, name: str, span: Span, storage: Storage | None) -> None:
        self.template = template
        self.name = name
        self.span = span
        #: where its shape, its dtype and the like are written
        self.arguments = template.prototype.argument_spans
        #: what is said of it from the start, as of a result of the call that made it
        self.marks = template.prototype.marks
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
        #: of elements that were made of undefined ones, the number of the first read of those
        self.lost: NDArray[np.int32] | None = None
        #: what the locations of PSUM hold
        self.content = Contents(self) if template.buffer is Buffer.PSUM else _NO_CONTENTS
        self.typed: Array | None = None
        self.life: Life | None = None
        self.written = False
        #: whether anything but a matmul wrote to it (PSUM)
        self.writer = ""
        #: what the Tensor Engine has made in it (PSUM), or loads have brought, if anything
        self.products: Products | None = None
        #: what loads have brought (SBUF)
        self.brought: Brought | None = None
        self.untracked = False
        self.unit = template.itemsize

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
                marks=dict(self.marks),
                argument_spans=self.arguments,
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
            data.reshape(self.bits.size, -1)[~self.bits] = POISON

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
            self.detach()
        data = self.data
        if data is None:
            data = self.materialise(poison=False)
        return self._window(data, place)

    def detach(self) -> None:
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
        return self.alias is None and (template.on_chip or template.kind is StorageKind.INPUT)

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
        self.detach()
        return self.materialise().view(NUMPY[dtype])

    def copy_in(self, array: Array) -> None:
        """Fill the tensor with an array of its dtype and number of elements."""
        data = np.ascontiguousarray(array, NUMPY[self.template.dtype]).reshape(-1)
        self.data = data.view(np.uint8).copy() if data.size else np.zeros(1, np.uint8)
        self.full = True

    # -- what was written ------------------------------------------------------------

    @property
    def beyond(self) -> bool:
        """Whether it is too large to follow every element of it."""
        return self.data is None and self.template.elements > TRACKED

    @property
    def entries(self) -> int:
        return max(1, self.template.elements * self.template.itemsize // self.unit)

    def _bits(self) -> NDArray[np.bool_] | None:
        if self.bits is None:
            if self.beyond:
                self.untracked = True
                return None
            self.bits = np.zeros(self.entries, np.bool_)
        return self.bits

    def divide(self, dtype: str) -> int:
        """Bytes of the elements of a view; maps have no larger entries from now on."""
        size: int = NUMPY[dtype].itemsize
        if size < self.unit:
            parts = self.unit // size
            self.unit = size
            if self.bits is not None:
                self.bits = np.repeat(self.bits, parts)
            if self.lost is not None:
                self.lost = np.repeat(self.lost, parts)
            self.content.divide(parts)
            if self.products is not None:
                self.products.held.divide(parts)
            if self.brought is not None:
                self.brought.divide(parts)
        return size

    def part(self, values: NDArray[Any], place: Geometry) -> NDArray[Any]:
        """A window on the part of a map that a view covers.

        Of elements that have several entries, those lie along one more axis. The map is taken after
        :meth:`divide`.
        """
        ratio = NUMPY[place.dtype].itemsize // self.unit
        size = values.itemsize
        if ratio == 1:
            strides = place.strides if size == 1 else _in_bytes(place.strides, size)
            offset = place.offset * size
            return np.ndarray(place.shape, values.dtype, values.data, offset, strides)
        return np.ndarray(
            (*place.shape, ratio),
            values.dtype,
            values.data,
            place.offset * ratio * size,
            (*(stride * ratio * size for stride in place.strides), size),
        )

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
        self.divide(place.dtype)
        bits = self._bits()
        if bits is None:
            return
        self.part(bits, place)[...] = True
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
        self.divide(dtype)
        bits = self._bits()
        if bits is None:
            return
        for shifted in self.own_positions(positions, dtype):
            bits[shifted] = True

    def own_positions(
        self, positions: NDArray[np.int64], dtype: str
    ) -> Iterable[NDArray[np.int64]]:
        """The entries of elements, one of each at a time; as :meth:`part`."""
        ratio = NUMPY[dtype].itemsize // self.unit
        for k in range(ratio):
            yield positions * ratio + k if ratio > 1 else positions

    def undefined(self, place: Geometry | Gather) -> NDArray[np.bool_]:
        """Which elements of a view mean nothing; those that do not take part are not among them."""
        shape = place.shape
        if self.full or self.untracked:
            return np.zeros(shape, np.bool_)
        self.divide(place.dtype)
        if isinstance(place, Geometry):
            if self.bits is None:
                return np.ones(shape, np.bool_)
            unwritten: NDArray[np.bool_] = np.logical_not(self.part(self.bits, place))
            return unwritten if unwritten.ndim == len(shape) else np.any(unwritten, axis=-1)
        missing = np.zeros(shape, np.bool_)
        if self.bits is None or (place.anywhere and not self.bits.any()):
            missing[...] = True
        elif not place.anywhere:
            for positions in self.own_positions(place.positions, place.dtype):
                missing |= ~self.bits[positions]
        if place.mask is not None:
            missing &= place.mask
        return missing

    def reads(self, place: Geometry | Gather) -> NDArray[np.int32]:
        """For each element of a view, the number of the read that it is undefined by, or 0."""
        if self.lost is None:
            return np.zeros(place.shape, np.int32)
        self.divide(place.dtype)
        if isinstance(place, Geometry):
            found: NDArray[np.int32] = self.part(self.lost, place)
            if found.ndim == len(place.shape):
                return found.copy()
            if self.bits is not None:  # what was lost in a part may be written again
                found = np.where(self.part(self.bits, place), 0, found)
            most: NDArray[np.int32] = found.max(-1)
            return most
        found = np.zeros(place.shape, np.int32)
        for positions in self.own_positions(place.positions, place.dtype):
            lost = self.lost[positions]
            if self.bits is not None:
                lost = np.where(self.bits[positions], 0, lost)
            np.maximum(found, lost, out=found)
        return found

    def lose(self, place: Geometry | Gather, reads: NDArray[np.int32]) -> None:
        """The elements of a view that have the number of a read mean nothing because of it."""
        if self.untracked or self.beyond:
            self.untracked = True
            return
        chosen = reads > 0
        if not bool(chosen.any()):
            return
        self.divide(place.dtype)
        if self.full:
            self.bits = np.ones(self.entries, np.bool_)
            self.full = False
        bits = self._bits()
        if bits is None:
            return
        self.regions = None
        if self.lost is None:
            self.lost = np.zeros(bits.size, np.int32)
        positions = positions_of(place) if isinstance(place, Geometry) else place.positions
        for own in self.own_positions(positions[chosen], place.dtype):
            bits[own] = False
            self.lost[own] = reads[chosen]

    def initialised(self, place: Geometry) -> bool:
        """Whether every element of a view was written (or cannot be told)."""
        if self.full or self.untracked:
            return True
        if self.regions is not None and place in self.regions:
            return True
        if self.bits is None:
            return prod(place.shape) == 0
        self.divide(place.dtype)
        if not bool(self.part(self.bits, place).all()):
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
        self.divide(dtype)
        return all(bool(self.bits[p].all()) for p in self.own_positions(positions, dtype))

    def complete(self) -> bool:
        """Whether the whole tensor was written."""
        if self.full or self.untracked or self.template.elements == 0:
            return True
        if self.bits is not None and bool(self.bits.all()):
            self.full = True
        return self.full

    def settle(self, place: Geometry | Gather, *, numbers: bool) -> None:
        """What nothing wrote becomes zero: the target of a sum that its first term overwrites."""
        if self.full or self.untracked:
            return
        missing = self.undefined(place) & (self.reads(place) == 0)
        if not bool(missing.any()):
            return
        positions = positions_of(place) if isinstance(place, Geometry) else place.positions
        if numbers:
            self.flat(place.dtype)[positions[missing]] = 0
        self.mark_positions(positions[missing], place.dtype)


#: of tensors outside of PSUM: never asked for, never set
_NO_CONTENTS: Final = Contents(None)


class Bound(Struct, eq=False):
    """A tensor operand: its memory and where in it the elements lie.

    ``layout``: what rules see of it; None where that is not asked for.
    """

    memory: Memory
    place: Geometry | Gather
    view: View | None = None
    layout: Layout | None = None


class ConcreteStorage(Storage, eq=False):
    """A storage that knows its memory."""

    memory: Memory | None = None


def storage_of(
    name: str,
    shape: tuple[int, ...],
    dtype: str,
    buffer: Buffer,
    span: Span,
    kind: StorageKind,
    order: int,
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
