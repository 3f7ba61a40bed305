"""Tensors of a kernel: allocations, views of them, the loops around, and bound arguments.

Shapes, offsets and strides are :class:`~verifier.symbolic.expr.Expr`; a plain run uses constant
expressions, so that the same rule code serves both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias, TypedDict

import msgspec
from msgspec import Struct

from verifier.hardware import dtypes as dt
from verifier.hardware.memories import Buffer
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import TRUE, Bool, Expr

if TYPE_CHECKING:
    from typing_extensions import Unpack


class DType(Struct, frozen=True):
    """An element type: ``code`` indexes ``verifier.hardware.dtypes.NAMES``; symbolic if free."""

    code: Expr

    @staticmethod
    def named(name: str) -> DType:
        return DType(E.const(dt.CODES[name]))

    @property
    def name(self) -> str | None:
        """The name, or None while it depends on an input."""
        return dt.NAMES[self.code.const] if self.code.is_const else None

    @property
    def itemsize(self) -> Expr:
        """Bytes per element (NKI-T00a to NKI-T00j)."""
        return E.table("itemsize", self.code, dt.ITEMSIZE)

    @property
    def bits(self) -> Expr:
        """Bits per element."""
        return E.table("bits", self.code, {code: dt.BITS[name] for name, code in dt.CODES.items()})

    def among(self, codes: frozenset[int]) -> Bool:
        """Whether the dtype is one of ``codes``."""
        if self.code.is_const:
            return E.truth(self.code.const in codes)
        return E.or_(*(E.eq(self.code, c) for c in sorted(codes)))

    def same(self, other: DType) -> Bool:
        return E.eq(self.code, other.code)

    def as_wide_as(self, other: DType) -> Bool:
        """Whether elements of both take as many bits."""
        for known, free in ((self, other), (other, self)):
            if known.name is not None:
                width = dt.BITS[known.name]
                return free.among(dt.codes(*(n for n in dt.CODES if dt.BITS[n] == width)))
        return E.eq(self.bits, other.bits)

    def __str__(self) -> str:
        return self.name or repr(self.code)


class LoopKind(Enum):
    """What a loop, or what it goes through, promises."""

    #: plain Python
    RANGE = "range"
    #: iterations promised independent in Beta 1
    AFFINE = "affine"
    #: the same, in a schedule that the kernel asks for: it may keep an order
    SCHEDULED = "scheduled"
    SEQUENTIAL = "sequential"
    STATIC = "static"
    #: on the device
    DYNAMIC = "dynamic"
    #: the programs of a launch
    GRID = "grid"

    @property
    def unordered(self) -> bool:
        """Whether iterations are promised independent."""
        return self in (LoopKind.AFFINE, LoopKind.SCHEDULED)

    @property
    def scoped(self) -> bool:
        """Whether Beta 1 traces the body once: what it makes is memory of one iteration."""
        return self.unordered or self in (LoopKind.SEQUENTIAL, LoopKind.RANGE)


class StorageKind(Enum):
    """Where a tensor comes from."""

    INPUT = "input"
    ALLOC = "alloc"
    #: made by a call that returns a value
    RESULT = "result"
    CONSTANT = "constant"


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A loop with a symbolic index: ``0 <= index < trips``; steps and starts are in the uses."""

    index: Expr
    trips: Expr
    kind: LoopKind
    name: str
    span: Span
    #: ``0 <= index < trips`` (the lower bound is in the symbol)
    within: Bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "within", E.lt(self.index, self.trips))

    def of(self, trips: Expr) -> Loop:
        """The same loop with another number of iterations."""
        if trips is self.trips:
            return self
        return Loop(self.index, trips, self.kind, self.name, self.span)

    @property
    def symbol(self) -> E.Sym:
        atom = self.index.as_atom()
        assert isinstance(atom, E.Sym)
        return atom


class Mark(Enum):
    """What a dialect says of a tensor besides; each mark has a value."""

    #: how its elements lie in the lanes of a TPU
    LAYOUT = "the name of its layout"
    #: how many elements a contract says are there, of an input with another shape
    ELEMENTS = "a number of elements"
    #: of a buffer that is given by its address
    DECLARED = "whether a contract says how large it is"
    # -- of the result of a call
    #: a condition is no tile: who uses it decides what is said
    COMPARED = "the operator that made it, where tiles have none"
    INTERMEDIATE = "true: the text of an expression makes it itself"
    #: it was assigned whole, or added to a sum
    FORWARDED = "the view of the tile that it is; true: it went to another memory"
    MASKED = "the mask of the one call that made it"
    SUM = "true: it is what a matmul left, and nothing has changed it since"

    @property
    def passing(self) -> bool:
        """Whether it is a value in passing, which the compiler tiles or fuses as it needs."""
        return self in (Mark.COMPARED, Mark.INTERMEDIATE, Mark.FORWARDED)


class Placing(TypedDict, total=False):
    """What may be asked of a new tensor: fields of :class:`Storage`, allocated on axis 0 if not."""

    kind: StorageKind
    partition_axis: int | None
    address: tuple[Expr, Expr] | None
    placement: Mapping[str, object]
    marks: Mapping[Mark, object]
    initialised: bool
    argument_spans: Mapping[str, Span]


class Storage(Struct, eq=False):
    """One allocation site or input tensor.

    ``shape`` is as written; ``partition_axis`` is the position of the partition dimension in it
    (0, or where ``par_dim`` stands up to NKI 0.2, dimensions before it being blocks), None off
    chip. ``loops`` are the loops around the allocation, outermost first: each iteration makes a
    new tensor. ``address`` is ``(partition, byte)`` when placed by hand.
    """

    id: int
    name: str
    buffer: Buffer
    dtype: DType
    shape: tuple[Expr, ...]
    partition_axis: int | None
    span: Span
    kind: StorageKind
    loops: tuple[Loop, ...] = ()
    path: tuple[Bool, ...] = ()
    address: tuple[Expr, Expr] | None = None
    order: int = 0
    initialised: bool = False
    #: how many calls of the project's functions it is made in
    depth: int = 0
    #: what an allocator was asked: where it lies, and how many tiles have places of their own
    placement: Mapping[str, object] = msgspec.field(default_factory=dict)
    marks: Mapping[Mark, object] = msgspec.field(default_factory=dict)
    argument_spans: Mapping[str, Span] = msgspec.field(default_factory=dict)
    returned: bool = False
    #: nothing uses it, and nobody looks at it then
    idle: bool = False
    #: the place in program order behind which it is not there any more: its maker has ended
    until: int | None = None

    @classmethod
    def made(
        cls,
        order: int,
        name: str,
        shape: Sequence[Expr],
        dtype: DType,
        buffer: Buffer,
        span: Span,
        **more: Unpack[Placing],
    ) -> Storage:
        """A new one, as ``allocate`` of a machine is asked for it."""
        more["partition_axis"] = more.get("partition_axis", 0) if buffer.on_chip and shape else None
        more.setdefault("kind", StorageKind.ALLOC)
        return cls(order, name, buffer, dtype, tuple(shape), span=span, order=order, **more)

    @property
    def placed(self) -> bool:
        """Whether an allocator was asked to place it."""
        return bool(self.placement)

    @property
    def passing(self) -> bool:
        """Whether it is a value in passing, whose sources and targets are checked instead."""
        return any(mark.passing for mark in self.marks)

    @property
    def common(self) -> bool:
        """Whether all instances of a launch see one of it, and some of them may write to it.

        That are tensors in shared HBM, and what a kernel is given (NKI-L64).
        """
        if self.kind is StorageKind.INPUT:
            return self.buffer.off_chip
        return self.buffer is Buffer.SHARED_HBM and self.kind is not StorageKind.CONSTANT

    def mark(self, mark: Mark, value: object) -> None:
        """Say something of it; what was said before of the same counts."""
        self.marks = {mark: value, **self.marks}

    @property
    def free_elements(self) -> Expr:
        """Elements per partition, block dimensions included (all elements when off chip)."""
        total = E.const(1)
        for position, extent in enumerate(self.shape):
            if position != self.partition_axis:
                total = total * extent
        return total

    @property
    def bytes_per_partition(self) -> Expr:
        return self.free_elements * self.dtype.itemsize


class Axis(Struct, frozen=True):
    """One axis of a view: an element index ``symbol`` with ``0 <= symbol < size``."""

    symbol: E.Sym
    size: Expr

    @property
    def index(self) -> Expr:
        return E.from_atom(self.symbol)

    @property
    def within(self) -> Bool:
        return E.and_(E.ge(self.index, 0), E.lt(self.index, self.size))


class Bound(Struct, frozen=True):
    """A check that waits for the mask of the call that uses a view (Beta 1 index arrays).

    ``predicate`` must hold for every element of the view that the mask lets through; it speaks of
    the view's axis symbols. ``text`` and ``message`` are as in a check.
    """

    rule: str
    predicate: Bool
    span: Span
    text: str
    message: str
    facts: tuple[str, ...]
    values: tuple[tuple[str, Expr], ...] = ()


class Held(Struct, frozen=True, eq=False):
    """A register, or a tile of one element, that a view begins at, and the symbol for its number.

    What it holds when an operation uses the view counts, not what it held when the view was made.
    ``symbol`` is None where it is not followed how the number places the view. ``text``
    names the offset, which ``span`` shows.
    """

    symbol: E.Sym | None
    register: object
    text: str
    span: Span


class Placed(Struct, frozen=True, eq=False):
    """Numbers in memory that say where a view lies: the elements of ``index``.

    ``index`` None: the number of the trip of a loop that the device ends. ``symbol`` stands for any
    of them in ``bounds``, which say what keeps the view inside its tensor; None where it is not
    followed how they place it. ``text`` names the offset, which ``span`` shows. ``every``: each of
    the numbers places something; None: that is not known.
    """

    index: View | None
    symbol: E.Sym | None
    bounds: tuple[Bound, ...]
    text: str
    span: Span
    every: bool | None = None


class Picked(Struct, frozen=True, eq=False):
    """Columns that an index names (``.indirect``): the tile that they are of, and the index."""

    of: View
    index: View


#: start and extent along each dimension of a tensor
Box: TypeAlias = "Sequence[tuple[Expr, Expr]]"


class View(Struct, frozen=True, eq=False, dict=True):
    """A tile or tensor as an operand sees it.

    Element ``(t_0, ..., t_k)`` of the view, ``0 <= t_j < axes[j].size``, lies at ``coords[d]``
    along dimension ``d`` of ``frame``; ``coords`` are polynomials in the axes' symbols. ``frame``
    is the storage's shape or, after a reshape, another factorisation of it (row-major, same
    element count). ``instance`` says which tensor of the allocation site: the index of each loop
    of ``storage.loops``. ``mask`` restricts the elements (Beta 1). ``exact`` is False when the
    address of an element is not known exactly (indirect access, unknown reshape); then ``coords``
    are only good for shape questions and ``reason`` says why.
    """

    storage: Storage
    instance: tuple[Expr, ...]
    frame: tuple[Expr, ...]
    frame_partition: int | None
    axes: tuple[Axis, ...]
    coords: tuple[Expr, ...]
    dtype: DType
    mask: Bool = TRUE
    exact: bool = True
    reason: str = ""
    indirect: bool = False
    broadcast: bool = False
    span: Span | None = None
    #: checks to raise when an operation uses the view (see :func:`verifier.symbolic.views.use`)
    bounds: tuple[Bound, ...] = ()
    #: registers whose numbers its coordinates and bounds speak of, settled by whoever uses it
    held: tuple[Held, ...] = ()
    #: tensors that hold addresses of the view's elements: an access reads them too
    indices: tuple[View, ...] = ()
    #: what those numbers must keep to, where only the device knows them
    placed: tuple[Placed, ...] = ()
    #: of the tensors the one that says where each row lies: a gather, or a scatter
    rows_from: View | None = None
    #: where an index says which columns its elements are
    picked: Picked | None = None
    #: strides in elements that were given by hand (PPL); None: those of the layout
    strides: tuple[Expr, ...] | None = None
    #: the shape that operations see of a tensor with more memory (PPL): this view is a part of it
    real: tuple[Expr, ...] | None = None
    #: an exact view of the bytes that an inexact one reinterprets, if there is one
    base: View | None = None

    # -- what rules ask -------------------------------------------------------------

    @property
    def buffer(self) -> Buffer:
        return self.storage.buffer

    @property
    def shape(self) -> tuple[Expr, ...]:
        return tuple(axis.size for axis in self.axes)

    @property
    def rank(self) -> int:
        return len(self.axes)

    @property
    def partitions(self) -> Expr:
        """``P(t)``: the extent of the first axis."""
        return self.axes[0].size if self.axes else E.const(1)

    @property
    def free(self) -> Expr:
        """``F(t)``: elements per partition, the product of the other extents."""
        total = E.const(1)
        for axis in self.axes[1:]:
            total = total * axis.size
        return total

    @property
    def elements(self) -> Expr:
        return self.partitions * self.free if self.axes else E.const(1)

    @property
    def free_bytes(self) -> Expr:
        """``FB(t)``: bytes per partition."""
        return self.free * self.dtype.itemsize

    @property
    def address(self) -> tuple[Expr, Expr] | None:
        """Partition and byte that the tensor was placed at by hand: this one of its allocation."""
        placed = self.storage.address
        if placed is None or not self.storage.loops:
            return placed
        loops = zip(self.storage.loops, self.instance, strict=False)
        which = E.Substitution({loop.symbol: index for loop, index in loops})
        return which.expr(placed[0]), which.expr(placed[1])

    @property
    def start_partition(self) -> Expr | None:
        """``sp(t)``, relative to the storage plus its hand-placed partition; None if unknown."""
        if not self.exact or self.frame_partition is None:
            return None
        zero = E.Substitution({axis.symbol: E.const(0) for axis in self.axes})
        start = zero.expr(self.coords[self.frame_partition])
        address = self.address
        return start if address is None else start + address[0]

    @property
    def partition_step(self) -> Expr | None:
        """Rows between consecutive partitions of the view; None if unknown or one partition."""
        if not self.exact or self.frame_partition is None or not self.axes:
            return None
        first = self.axes[0]
        coord = self.coords[self.frame_partition]
        one = E.Substitution({first.symbol: first.index + 1})
        step = one.expr(coord) - coord
        return step if first.symbol not in step.free() else None

    @cached_property
    def box(self) -> Box | None:
        """Start and extent along each dimension of ``frame``, if each has a unit-step axis of its
        own, or none."""
        sizes = {axis.symbol: axis.size for axis in self.axes}
        used: set[int] = set()
        out: list[tuple[Expr, Expr]] = []
        for coord in self.coords:
            mine = [sym for sym in coord.free() if sym in sizes]
            if not mine:
                out.append((coord, E.const(1)))
                continue
            if len(mine) > 1 or mine[0].id in used or coord.coefficient(mine[0]) != 1:
                return None
            start = coord - E.from_atom(mine[0])
            if mine[0] in start.free():
                return None
            used.add(mine[0].id)
            out.append((start, sizes[mine[0]]))
        return out

    @property
    def name(self) -> str:
        return self.storage.name


class Operand(Struct, frozen=True):
    """One bound argument of an operation, with the text it came from."""

    role: str
    value: object  # View, Expr, float, bool, str, None, DType, Enumerator, tuple, Opaque
    span: Span
    given: bool = True  # False: the signature's default
    #: False: nothing can be said of the value, or of a part of it
    known: bool = True

    @property
    def view(self) -> View | None:
        return self.value if isinstance(self.value, View) else None
