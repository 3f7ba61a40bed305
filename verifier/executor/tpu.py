"""The tensors of a run on a TPU: where their elements lie in lanes and buffers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from verifier.executor.access import NotConcreteError, integer
from verifier.executor.findings import UnsupportedError
from verifier.executor.lanes import (
    Array,
    ByteMemory,
    Place,
    Quad,
    local_place,
    system_place,
)
from verifier.executor.memory import TRACKED
from verifier.executor.pipelines import Pipelines
from verifier.executor.semantics.casts import NUMPY
from verifier.hardware.chips import Chip
from verifier.hardware.memories import Buffer
from verifier.layouts import strides as layouts
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.lanes import LocalTensor, SystemAddress, SystemTensor, Touch
from verifier.symbolic.memory.stages import Stage
from verifier.symbolic.tensors import DType, Mark, Storage, StorageKind, View
from verifier.symbolic.trace import Operation
from verifier.symbolic.values import RecordValue

if TYPE_CHECKING:
    from verifier.executor.machine import ConcreteMachine

#: bytes that count as one element of a memory that is followed element by element
_WORD: Final = 4
#: buffers with more bytes keep no record of what was written when only shapes are run
_TRACKED: Final = TRACKED * _WORD

#: elements of a buffer that is as large as need be
_ENDLESS: Final = 1 << 56

#: how the members of ``x32``, ``x16`` and ``x8`` are held
_MEMBERS: Final[dict[str, np.dtype[Any]]] = {
    "fp32": np.dtype(np.float32),
    "s32": np.dtype(np.int32),
    "u32": np.dtype(np.uint32),
    "s16": np.dtype(np.int16),
    "u16": np.dtype(np.uint16),
    "s8": np.dtype(np.int8),
    "u8": np.dtype(np.uint8),
}


class Life(Struct):
    """From the first to the last operation that uses a tensor, and their stages in a pipeline."""

    first: int = 0
    last: int = 0
    stages: frozenset[Stage | None] = frozenset()

    def used(self, order: int, stage: Stage | None) -> None:
        self.first = self.first or order
        self.last = order
        self.stages |= {stage}


class BufferStorage(Storage, eq=False):
    """A tensor with its bytes: a buffer in system memory, or lanes of ``lane_bytes`` each."""

    bytes: ByteMemory | None = None
    array: Array | None = None
    lane_bytes: int = 0
    life: Life = field(default_factory=Life)
    #: the run of a pipelined loop that it was made in, and on which core
    pipeline: tuple[object, ...] | None = None
    #: the core that made it, as a launch numbers them
    core: tuple[int, ...] = ()


def buffer(
    machine: ConcreteMachine,
    name: str,
    shape: tuple[int, ...] | None,
    dtype: str,
    array: Array | None,
    span: Span,
) -> BufferStorage:
    """A buffer that the host made; its bytes are those of ``array`` (shared if contiguous).

    Without a ``shape`` it is as large as need be.
    """
    declared = shape is not None
    shape = (_ENDLESS,) if shape is None else shape
    size = math.prod(shape) * NUMPY[dtype].itemsize
    data = None
    if array is not None and not machine.options.shapes_only:
        array = np.ascontiguousarray(array)
        array = array if array.flags.writeable else array.copy()
        data = array.reshape(-1).view(np.uint8)
    return BufferStorage(
        id=machine.next_order(),
        name=name,
        buffer=Buffer.HBM,
        dtype=DType.named(dtype),
        shape=tuple(E.const(extent) for extent in shape),
        partition_axis=None,
        span=span,
        kind=StorageKind.INPUT,
        initialised=True,
        marks={Mark.DECLARED: declared},
        bytes=ByteMemory(size, data, full=True, watched=size <= _TRACKED),
        array=array,
    )


def allocated(machine: ConcreteMachine, storage: Storage, span: Span) -> View:
    """The view of a tensor that the kernel makes: in lanes of its own, as its layout has it, or in
    memory that the cores share.

    Raises:
        UnsupportedError: its extents or its dtype are not known here.
    """
    made = BufferStorage(**{name: getattr(storage, name) for name in _FIELDS})
    made.core = machine.program.index
    shape = tuple(number(extent) for extent in storage.shape)
    size = itemsize(machine, storage.dtype)
    if storage.buffer is Buffer.LOCAL:
        if len(shape) < _LANE_AXES:
            raise UnsupportedError("a tensor of one dimension has no place in lanes", span)
        n, c = shape[:2]
        strides = layout_strides(machine.chip, str(storage.marks.get(Mark.LAYOUT)), shape, size)
        slots = -(-c // machine.chip.lanes)
        extent = max(n - 1, 0) * strides[0] + slots * strides[1]
        made.lane_bytes = -(-max(extent, 1) * size // machine.chip.eu_bytes) * machine.chip.eu_bytes
        made.bytes = _fresh(machine, made.lane_bytes * machine.chip.lanes)
    else:
        made.bytes = _shared(machine, made, math.prod(shape) * size)
    pipelines = machine.state.get("pipelines")
    if isinstance(pipelines, Pipelines):
        around = pipelines.around(span)
        made.pipeline = None if around is None else (*around, machine.program.index)
    # of long runs, where rules do not compare all tensors, the bytes go with the kernel's own value
    machine.storages.append(made if machine.traced else replace(made, bytes=None))
    axes = tuple(machine.axis(extent) for extent in made.shape)
    coords = tuple(axis.index for axis in axes)
    return View(made, (), made.shape, None, axes, coords, made.dtype, span=span)


#: batches and channels say which lanes a tensor lies in
_LANE_AXES: Final = 2
_FIELDS: Final = Storage.__struct_fields__


def _fresh(machine: ConcreteMachine, size: int) -> ByteMemory:
    machine.largest = max(machine.largest, size // _WORD)
    return ByteMemory(size, tracked=size <= _TRACKED or not machine.options.shapes_only)


def _shared(machine: ConcreteMachine, storage: Storage, size: int) -> ByteMemory:
    """Memory that is the same one for all cores of a launch, by the order of allocation."""
    program = machine.program
    number = program.made
    program.made += 1
    known = machine.state.setdefault("shared", {})
    assert isinstance(known, dict)
    key = (number, storage.span, size)
    if key not in known:
        known[key] = _fresh(machine, size)
    found = known[key]
    assert isinstance(found, ByteMemory)
    return found


def itemsize(machine: ConcreteMachine, dtype: DType) -> int:
    """Bytes of an element; elements of less than a byte have bytes of their own, without numbers.

    Raises:
        UnsupportedError: their numbers are asked for, or the dtype is not known.
    """
    name = dtype.name
    if name in NUMPY:
        return NUMPY[name].itemsize
    if name is None or not machine.options.shapes_only:
        raise UnsupportedError(f"tensors of {name or 'a dtype that is not known'} are not run")
    return 1


def layout_strides(chip: Chip, layout: str, frame: tuple[int, ...], size: int) -> tuple[int, ...]:
    """Strides of a tensor in lanes from 0 on, of a frame whose first two extents are n and c."""
    n, c, *inner = frame
    feature = math.prod(inner)
    if layout == "row-aligned" and len(inner) == 2:
        return layouts.row_aligned(chip.lanes, chip.eu_bytes, 0, (n, c, *inner), size)  # type: ignore[arg-type]
    make = layouts.aligned if layout in ("aligned", "row-aligned") else None
    flat = (n, c, 1, feature)
    strides = (
        make(chip.lanes, chip.eu_bytes, 0, flat, size)
        if make is not None
        else layouts.compact(chip.lanes, 0, flat)
    )
    steps = [math.prod(inner[k + 1 :]) for k in range(len(inner))]
    return (strides[0], strides[1], *steps)


def written(storage: BufferStorage) -> bool:
    """Whether a kernel wrote to a buffer."""
    return storage.bytes is not None and storage.bytes.touched


def local_memory(machine: ConcreteMachine) -> ByteMemory:
    """The local memory of the run's chip."""
    found = machine.state.get("local memory")
    if found is None:
        found = machine.state["local memory"] = ByteMemory(machine.chip.memory_bytes)
    assert isinstance(found, ByteMemory)
    return found


def plain(value: object) -> Any:
    """A value of the dialect as semantics take it.

    Raises:
        UnsupportedError: it is not known.
    """
    if isinstance(value, Expr):
        return number(value)
    if isinstance(value, Bool):
        if value.kind is not E.BoolKind.CONST:
            raise UnsupportedError(f"`{value!r}` has no value in a run")
        return value is E.TRUE
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    if isinstance(value, RecordValue):
        return tuple(plain(item) for item in value.fields)
    member = getattr(value, "member", None)
    if isinstance(member, str):  # a constant that says its type
        return _constant(member, plain(getattr(value, "value", None)))
    if hasattr(value, "is_address"):  # a tensor or a constant
        return plain(getattr(value, "value", None))
    return value


def _constant(member: str, value: Any) -> Array:
    """A constant as an array of one element: the one word, for several numbers in a word."""
    base, _, count = member.partition("x")
    kind = _MEMBERS[base if count else member]
    array: Array = np.asarray(value)
    if kind.kind in "iu":
        wrapped = array.astype(np.int64) & ((1 << (8 * kind.itemsize)) - 1)
        array = wrapped.astype(f"u{kind.itemsize}").view(kind)
    else:
        array = array.astype(kind)
    return array.view(np.uint32).reshape(()) if count else array


def number(value: Expr) -> int:
    try:
        return integer(value)
    except NotConcreteError as error:
        raise UnsupportedError(f"`{error}` has no number in a run") from None


# ------------------------------------------------------------------------ one tensor


class Region(Struct):
    """A tensor operand: elements of ``dtype`` at a place in a memory."""

    memory: ByteMemory
    place: Place
    dtype: str

    @property
    def kind(self) -> np.dtype[Any]:
        return NUMPY[self.dtype]


def _quad(values: tuple[Expr, ...]) -> Quad:
    n, c, h, w = (number(value) for value in values)
    return n, c, h, w


def region(machine: ConcreteMachine, tensor: LocalTensor | SystemTensor) -> Region:
    """Where a tensor lies.

    Raises:
        UnsupportedError: a number is not known, or nothing is known of its buffer.
    """
    dtype = tensor.dtype.name
    assert dtype is not None
    shape, strides = _quad(tensor.shape), _quad(tensor.strides)
    size = NUMPY[dtype].itemsize
    if isinstance(tensor, LocalTensor):
        chip = machine.chip
        address = number(tensor.address)
        place = local_place(chip.lanes, chip.local_bytes, address, shape, strides, size)
        return Region(local_memory(machine), place, dtype)
    memory, offset = system_bytes(tensor.address)
    return Region(memory, system_place(offset, shape, strides, size), dtype)


def system_bytes(address: SystemAddress) -> tuple[ByteMemory, int]:
    storage = address.storage
    if not isinstance(storage, BufferStorage) or storage.bytes is None:
        raise UnsupportedError(f"`{storage.name}` has no bytes")
    return storage.bytes, number(address.offset)


def view_region(machine: ConcreteMachine, view: View) -> Region:
    """Where the elements of a view lie (PPL).

    A view that the dialect does not follow starts where the tensor that it reinterprets starts,
    and has the strides of the tensor's layout for its own shape.

    Raises:
        UnsupportedError: its elements cannot be found.
    """
    storage = view.storage
    base = view if view.exact or view.base is None else view.base
    if not isinstance(storage, BufferStorage) or storage.bytes is None or not base.exact:
        raise UnsupportedError(f"a view of `{view.name}` cannot be run: {view.reason}")
    if view is not base and view.dtype.name not in NUMPY:
        # halves of bytes: all the bytes that they are in
        return view_region(machine, base)
    shape = tuple(number(axis.size) for axis in view.axes)
    size = itemsize(machine, view.dtype)
    name = view.dtype.name
    assert name is not None
    if any(extent < 0 for extent in shape):
        raise UnsupportedError(f"a part of `{view.name}` has a negative extent")
    frame = tuple(number(extent) for extent in base.frame)
    old = itemsize(machine, base.dtype)
    lane, start, own = _affine(machine, base, _steps(machine, storage, frame, old))
    if base is view:
        strides = own
    elif shape[:3] == tuple(number(axis.size) for axis in base.axes[:3]):
        strides = (*(step * old // size for step in own[:3]), 1)
    else:
        strides = _steps(machine, storage, shape, size)
    if view.strides is not None:
        strides = tuple(number(step) for step in view.strides)
    quad: Quad = (shape[0], shape[1], shape[2], shape[3])
    four: Quad = (strides[0], strides[1], strides[2], strides[3])
    if not storage.lane_bytes:
        return Region(storage.bytes, system_place(start * old, quad, four, size), name)
    lanes = machine.chip.lanes
    address = lane * storage.lane_bytes + start * old
    place = local_place(lanes, storage.lane_bytes, address, quad, four, size)
    return Region(storage.bytes, place, name)


def _steps(
    machine: ConcreteMachine, storage: BufferStorage, frame: tuple[int, ...], size: int
) -> tuple[int, ...]:
    """Elements from one place to the next along each dimension of a frame."""
    if storage.lane_bytes:
        return layout_strides(machine.chip, str(storage.marks.get(Mark.LAYOUT)), frame, size)
    return tuple(math.prod(frame[k + 1 :]) for k in range(len(frame)))


def _affine(
    machine: ConcreteMachine, view: View, steps: tuple[int, ...]
) -> tuple[int, int, tuple[int, ...]]:
    """Lane, offset within it and strides of an exact view, in elements; ``steps`` of its frame."""
    position = {axis.symbol: k for k, axis in enumerate(view.axes)}
    strides = [0] * len(view.axes)
    lane = offset = 0
    for dim, (coord, step) in enumerate(zip(view.coords, steps, strict=True)):
        channels = view.buffer is Buffer.LOCAL and dim == 1
        if channels:
            slot, lane = divmod(coord.const, machine.chip.lanes)
            offset += slot * step
        else:
            offset += coord.const * step
        for mono, coef in coord.terms:
            at = position.get(mono[0]) if len(mono) == 1 else None  # type: ignore[call-overload]
            if at is None or (channels and coef != 1):
                raise UnsupportedError(f"a view of `{view.name}` has no plain strides")
            strides[at] += coef * step
    return lane, offset, tuple(strides)


def parts(
    machine: ConcreteMachine, operation: Operation, touch: Touch
) -> Iterator[tuple[ByteMemory, Place]]:
    """The elements that an operation uses of a tensor.

    Not all of them where a matrix has fewer columns than its channels hold, or weights in pairs
    have an odd number of input channels.
    """
    tensor = touch.tensor
    whole = region(machine, tensor)
    role = operation.instruction.role(touch.role) if operation.instruction is not None else None
    placed = role.placed if role is not None else None
    if isinstance(tensor, LocalTensor) and placed is not None and placed.columns:
        columns = plain(operation.value(placed.columns))
        yield from _matrix_parts(machine, tensor, whole, columns)
    elif isinstance(tensor, LocalTensor) and placed is not None and placed.layout == "2ic":
        yield from _halves(machine, operation, tensor, whole)
    else:
        yield whole.memory, whole.place


def _halves(
    machine: ConcreteMachine, operation: Operation, tensor: LocalTensor, whole: Region
) -> Iterator[tuple[ByteMemory, Place]]:
    """The weights of the even input channels, and those of the odd ones: they lie in pairs."""
    chip = machine.chip
    channels = number(plain_shape(operation, "input_shape")[1])
    _, c, h, w = whole.place.shape
    a, b, d, e = _quad(tensor.strides)
    for half in (0, 1):
        pairs = (channels - half + 1) // 2
        shape, strides = (pairs, c, h, w), (2 * a, 2 * b, 2 * d, 2 * e)
        address = number(tensor.address) + 4 * half
        place = local_place(chip.lanes, chip.local_bytes, address, shape, strides, 4)
        yield whole.memory, place


def plain_shape(operation: Operation, role: str) -> tuple[Expr, ...]:
    value = operation.value(role)
    fields = value.fields if isinstance(value, RecordValue) else value
    assert isinstance(fields, tuple)
    return fields


def _matrix_parts(
    machine: ConcreteMachine, tensor: LocalTensor, whole: Region, columns: int
) -> Iterator[tuple[ByteMemory, Place]]:
    chip = machine.chip
    rows, channels, _, width = whole.place.shape
    last = columns - (channels - 1) * width
    strides = _quad(tensor.strides)
    address = number(tensor.address)
    if last >= width or last < 1:
        yield whole.memory, whole.place
        return
    size = whole.place.itemsize
    if channels > 1:
        shape = (rows, channels - 1, 1, width)
        yield (
            whole.memory,
            local_place(chip.lanes, chip.local_bytes, address, shape, strides, size),
        )
    start = address // chip.local_bytes % chip.lanes
    slot, lane = divmod(start + channels - 1, chip.lanes)
    address += (lane - start) * chip.local_bytes + slot * strides[1] * size
    yield (
        whole.memory,
        local_place(chip.lanes, chip.local_bytes, address, (rows, 1, 1, last), strides, size),
    )
