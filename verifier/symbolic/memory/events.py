"""What a run of a kernel meets in memory, as plain data: monitors of rules judge it.

The machine that runs kernels says what happened, not whether that is right. A monitor is found by
the class of what it judges, so a rule without a monitor for it hears nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from verifier.source.ir import Span
from verifier.symbolic.effects import Accumulation
from verifier.symbolic.generation import Generation
from verifier.symbolic.memory.content import Content, Held
from verifier.symbolic.tensors import LoopKind, Storage
from verifier.symbolic.trace import Operation, Trace

# ------------------------------------------------------------------------ what is defined


class Origin(Struct, frozen=True):
    """The first read of elements that mean nothing: of what, and where.

    ``name``, ``allocated``: the tensor that they were read from. ``span``: the operand. ``partly``:
    other elements of the tensor were written.
    """

    name: str
    allocated: Span
    span: Span
    partly: bool


class UndefinedRead(Struct, frozen=True):
    """Something hangs on elements that mean nothing: ``use`` is where, ``why`` how."""

    origin: Origin
    use: Span
    why: str


class UndefinedLanes(Struct, frozen=True):
    """Something on a TPU hangs on an operand of which not every byte was written: ``use`` is where,
    ``why`` how.

    ``partly``: some of it was. ``spoiled``: it was left to a function as its work tensor. What
    another core writes before both wait for each other is told of as :class:`CoresMet`.
    """

    operation: Operation
    role: str
    partly: bool
    spoiled: bool
    use: Span
    why: str


class Returned(Struct, frozen=True):
    """A tensor that a kernel made and returns, with the number of elements that nothing wrote.

    ``writes``: the operations that wrote to it when something had been found already.
    """

    storage: Storage
    missing: int
    writes: tuple[Span, ...] = ()


class Filled(Struct, frozen=True):
    """A tensor of the caller's that a kernel writes, and neither reads nor returns.

    ``missing`` of ``total`` elements (or bytes: ``unit``) are not written. ``span``: the last
    write; where there is none, the kernel. ``declared``: the kernel itself says its shape.
    """

    name: str
    span: Span
    missing: int
    total: int
    unit: str
    declared: bool = False


class Ended(Struct, frozen=True):
    """A run is over. ``trace``: what it returns; ``wrote``: whether it wrote a parameter."""

    trace: Trace
    wrote: bool


class Updated(Struct, frozen=True):
    """A parameter that a run wrote first at ``operation``; ``kernel``: the name of the kernel.

    ``declared``: its annotation says so. ``returned``: it is among the results. ``returns``: there
    are any.
    """

    storage: Storage
    operation: Operation
    kernel: Span
    declared: bool
    returned: bool
    returns: bool


class Wasted(Struct, frozen=True):
    """A run that came to no write of the kernel, all of whose results are buffers it is given."""

    kernel: str
    span: Span


# ------------------------------------------------------------------------ sums


class Added(Struct, frozen=True):
    """A multiplication into a place of PSUM that holds ``content``, which ``writer`` wrote."""

    operation: Operation
    storage: Storage
    content: Content
    writer: str


class Overwritten(Struct, frozen=True):
    """What a multiplication or a load of ``operation`` has left is gone, and nothing has read any
    of it: the last of it is overwritten, at ``span``, by something else."""

    operation: Operation
    storage: Storage
    span: Span


class Rested(Struct, frozen=True):
    """A part of a tile is read, at ``span``, that an earlier load has brought than its last one,
    ``load``; nothing else was written there since. Or they have computed it, if not ``loaded``."""

    storage: Storage
    load: Operation
    span: Span
    loaded: bool = True


class Accumulated(Struct, frozen=True):
    """A call that uses accumulators of its engine in some lane where they hold ``held``.

    ``ended``: its result holds a part of a chain of its own, which nothing has taken, and which
    another one has ended by setting the accumulators anew.
    """

    operation: Operation
    used: Accumulation
    held: Held
    ended: bool = False


class Unread(Struct, frozen=True):
    """What an operation has accumulated is gone, and nothing has read it out."""

    operation: Operation


# ------------------------------------------------------------------------ order


class CarriedRead(Struct, frozen=True):
    """An iteration of a loop without order, over ``index``, reads what another one writes."""

    name: str
    span: Span
    written: Span
    loop: Span
    index: str
    kind: LoopKind


class CarriedWrite(Struct, frozen=True):
    """Two iterations of a loop without order write one element, at ``span`` and ``again``.

    ``used``: where it is read behind the loop, if one of them adds to what another one sets; None:
    each of them sets it, wherever it is read.
    """

    name: str
    span: Span
    again: Span
    loop: Span
    index: str
    kind: LoopKind
    used: Span | None = None


class Made(Struct, frozen=True):
    """A tensor by its name and where it is made."""

    name: str
    span: Span


def made(storage: Storage) -> Made:
    return Made(storage.name, storage.span)


class Displaced(Struct, frozen=True):
    """A ``tile`` is read after one of ``other`` was written to its place, at ``written``."""

    tile: Made
    other: Made
    span: Span
    written: Span


class Overlapped(Struct, frozen=True):
    """One transfer reads elements of ``name`` that it writes, and that go somewhere else."""

    name: str
    span: Span


class Deed(Struct, frozen=True):
    """What is done to an element that several come to, instances or iterations: it is read, or also
    written.

    ``combines``: the operator with which the memory adds to what is there; empty: it does not.
    ``value``: the number that is written, if that is known; ``made``: how it is made, as a number.
    """

    writes: bool
    combines: str = ""
    value: int | float | None = None
    made: int | None = None

    def needs_order(self, other: Deed) -> bool:
        """Whether it matters which of two comes to the element first, or last.

        Sums that the memory makes with one operator, and writes of one value, may come in any
        order.
        """
        if not (self.writes or other.writes):
            return False
        if self.combines or other.combines:
            return self.combines != other.combines
        if not (self.writes and other.writes):
            return True
        same = self.value is not None and self.value == other.value
        return not (same or (self.made is not None and self.made == other.made))


class Visit(Struct, frozen=True):
    """A deed of a program instance or a core, and how many barriers that has gone through."""

    span: Span
    instance: tuple[int, ...]
    waited: int
    deed: Deed


class Met(Struct, frozen=True):
    """Two instances come to one element of ``name``, and one of them writes."""

    name: str
    first: Visit
    second: Visit


class CoresMet(Met, frozen=True):
    """The same of two cores of a TPU, one of which reads: itself, or what it adds to."""


class Reordered(Struct, frozen=True):
    """A result is another one when the iterations of loops without order run in ``order``."""

    number: int
    order: str
    span: Span


class Awaited(Struct, frozen=True):
    """A barrier that ``missing`` of ``cores`` cores never come to."""

    span: Span
    missing: int
    cores: int


class Unanswered(Struct, frozen=True):
    """An exchange in which a core waits for what is never sent, or is of another shape."""

    span: Span


# ------------------------------------------------------------------------ extents


class Outside(Struct, frozen=True):
    """An index that is known at run time only, and names no element: ``what`` says which."""

    name: str
    allocated: Span
    span: Span
    what: str


class Reached(Struct, frozen=True):
    """How far a tensor is used along each dimension, by all iterations together.

    Of a tensor on a TPU, in the shape that the kernel declares; of a tile, what all that one
    allocation makes come to. ``ends``: of reads and writes; ``stepped_ends``: with what the last
    step leaves out where these go in steps; ``read_ends``: of reads alone, up to the first index
    that they leave out; 0 where there are none. ``unread``: the first index that no read has.
    """

    storage: Storage
    ends: tuple[int, ...]
    stepped_ends: tuple[int, ...]
    read_ends: tuple[int, ...]
    unread: tuple[int, ...]
    read: bool
    written: bool


class Declared(Struct, frozen=True):
    """A shape is declared for what a pointer points at: ``wanted`` of ``there`` elements."""

    name: str
    wanted: int
    there: int
    span: Span


# ------------------------------------------------------------------------ capacity


class Life(Struct):
    """From the first to the last use of an on-chip tensor, in operations: of one placed by hand, of
    what it holds until all of it is written anew.

    ``storage`` may be that of another tensor of the same shape, dtype and place; ``name`` and
    ``span`` are its own.
    """

    storage: Storage
    name: str
    span: Span
    first: int
    last: int


class Lived(Struct, frozen=True):
    """The tensors on chip of a run, or of its beginning."""

    generation: Generation
    lives: Sequence[Life]


class LaneLife(Struct, frozen=True):
    """A tensor on a TPU, from its first to its last use, and the bytes it takes (in a lane)."""

    name: str
    span: Span
    first: int
    last: int
    size: int


class StagesShared(Struct, frozen=True):
    """Stages of a pipelined loop share a tensor ``made`` before it; ``span``: its first use."""

    name: str
    made: Span
    span: Span


class Stretch(Struct, frozen=True):
    """Operations of a run one after the other; those from the order ``since`` on are new.

    ``cut``: there were others before them; ``ended``: there are none behind them.
    """

    trace: Trace
    since: int
    cut: bool
    ended: bool = False


class Marked(Struct, frozen=True):
    """A call of a run that begins, ends or waits for what is done side by side, before it is made.

    ``section``: the call that has begun the parallel section that it is in.
    """

    operation: Operation
    section: Operation | None


class Issued(Struct, frozen=True):
    """The work that a run has given to the engines of a TPU, when it is over.

    ``first``, ``last``: of all of it, if there is any. ``prepared``: the device was initialised
    before the first; ``awaited``: something waited after the last. ``section``: the call that has
    begun a parallel section that goes on.
    """

    first: Operation | None
    last: Operation | None
    prepared: bool
    awaited: bool
    section: Operation | None


class Stored(Struct, frozen=True):
    """The transfers of a run of a TPU to buffers off chip, and of those from there the first of
    each buffer, when it is over."""

    trace: Trace


class Followed(Struct, frozen=True):
    """All operations of a run, each with its operands, when it is over."""

    trace: Trace


class LanesLived(Struct, frozen=True):
    """The tensors in the lanes during a run, or during its beginning.

    ``at_most``: if whatever is made in a pipelined loop passes between its stages.
    """

    lives: Sequence[LaneLife]
    at_most: Sequence[LaneLife]


class SharedLived(Struct, frozen=True):
    """As :class:`LanesLived`, in the memory that cores share: each with all of its bytes."""

    lives: Sequence[LaneLife]
