"""Running one operation: its operands as arrays, and what reading and writing them means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from verifier.executor import places
from verifier.executor.access import Gather, NotConcreteError, locate, truth
from verifier.executor.direct import Direct
from verifier.executor.findings import UnsupportedError
from verifier.executor.memory import (
    ConcreteStorage,
    Flags,
    Geometry,
    Layout,
    Memory,
    Origin,
    positions_of,
)
from verifier.executor.semantics.casts import NUMPY
from verifier.hardware import dtypes as dt
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation
from verifier.symbolic.values import Enumerator

if TYPE_CHECKING:
    from verifier.executor.machine import ConcreteMachine

Array = NDArray[Any]

_NARROW = frozenset(
    name for name, (size, kind) in dt.DTYPES.items() if kind in ("float", "scale") and size < 4
)


@dataclass(slots=True, eq=False)
class Bound:
    """A tensor operand: its memory and where in it the elements lie.

    ``layout``: what rules see of it; None where that is not asked for.
    """

    memory: Memory
    place: Geometry | Gather
    view: View | None = None
    layout: Layout | None = None


def bound_of(machine: ConcreteMachine, view: View) -> Bound:
    """A view with its memory.

    Raises:
        UnsupportedError: its elements cannot be found.
    """
    storage = view.storage
    assert isinstance(storage, ConcreteStorage) and storage.memory is not None
    if not view.exact:
        found = machine.indirect.get(tuple(axis.symbol.id for axis in view.axes))
        if found is None:
            why = view.reason or "its addresses are not known"
            raise UnsupportedError(f"a view of `{view.name}` cannot be run: {why}")
        gather: Gather = found.positions(view)  # type: ignore[attr-defined]
        return Bound(storage.memory, gather, view)
    try:
        return Bound(storage.memory, locate(view), view)
    except NotConcreteError as error:
        raise UnsupportedError(f"a view of `{view.name}` depends on {error}") from None


class Operands:
    """:class:`verifier.executor.semantics.base.IO` over the memory of the machine."""

    __slots__ = ("bounds", "machine", "operation", "steps", "window")

    def __init__(self, machine: ConcreteMachine, steps: Steps, bounds: dict[str, Bound]) -> None:
        self.machine = machine
        self.steps = steps
        self.operation = steps.operation
        self.bounds = bounds
        #: what was read of an input, and whose it is: writing it whole elsewhere is put off
        self.window: tuple[Array, Memory] | None = None

    @property
    def target(self) -> Target:
        return self.machine.target

    @property
    def api(self) -> str:
        return self.machine.api

    @property
    def rng(self) -> np.random.Generator:
        return self.machine.rng

    @property
    def state(self) -> dict[object, object]:
        return self.machine.state

    def has(self, role: str) -> bool:
        if role in self.bounds:
            return True
        operand = self.operation.operands.get(role)
        return operand is not None and operand.value is not None

    def read_raw(self, role: str) -> Array:
        found = self.bounds[role]
        place = found.place
        if isinstance(place, Geometry):
            window = found.memory.array(place)
            if found.memory.template.kind == "input":
                self.window = (window, found.memory)
            return window
        flat = found.memory.flat(place.dtype)
        out: Array = flat[place.positions]
        return out

    def read(self, role: str) -> Array:
        array = self.read_raw(role)
        if self.dtype(role) in _NARROW:
            return array.astype(np.float32)
        return array

    def write(self, role: str, array: Array, *, where: NDArray[np.bool_] | None = None) -> None:
        found = self.bounds[role]
        place = found.place
        memory = found.memory
        own = NUMPY[place.dtype]
        if array.__class__ is not np.ndarray:
            array = np.asarray(array)
        if array.dtype != own:
            from verifier.executor.semantics.casts import cast

            array = cast(array, place.dtype)
            if array.dtype != own and array.dtype.itemsize == own.itemsize:
                array = array.view(own)
        if isinstance(place, Geometry) and where is None:
            if place is memory.template.whole:
                window = self.window
                if (
                    window is not None
                    and window[0] is array
                    and array.shape == place.shape
                    and memory.template.on_chip
                ):
                    memory.data = None
                    memory.show(window[1], array)
                    memory.mark(place)
                    return
                memory.alias = None
                if memory.data is None:
                    memory.materialise(poison=False)
            memory.writable(place)[...] = array
            memory.mark(place)
            return
        _scatter(self.machine, memory, place, array, where)
        if where is not None and self.operation.name == "isa.quantize_mx":
            # scales lie in some rows of each quadrant; the others mean nothing and are not used
            _mark(self.machine, found)

    def add(self, role: str, array: Array) -> None:
        found = self.bounds[role]
        place = found.place
        if isinstance(place, Geometry) and place.dtype == "float32":
            target = found.memory.writable(place)
            np.add(target, array, out=target)
            found.memory.mark(place)
        else:
            self.write(role, self.read(role).astype(np.float32) + array)

    def scalar(self, role: str) -> Any:
        if role in self.bounds:
            return self.read(role)
        return self.value(role)

    def value(self, role: str) -> Any:
        values = self.steps.values
        if role not in values:
            operand = self.operation.operands.get(role)
            values[role] = None if operand is None else plain(operand.value)
        return values[role]

    def view(self, role: str) -> View:
        found = self.bounds[role]
        if found.view is None:
            operand = self.operation.operands.get(role)
            if operand is None or not isinstance(operand.value, View):
                raise KeyError(role)
            return operand.value
        return found.view

    def shape(self, role: str) -> tuple[int, ...]:
        return self.bounds[role].place.shape

    def dtype(self, role: str) -> str:
        return self.bounds[role].place.dtype

    def mask(self, role: str) -> NDArray[np.bool_] | None:
        place = self.bounds[role].place
        return place.mask if isinstance(place, Gather) else None

    def accumulates(self, role: str) -> bool | NDArray[np.bool_]:
        how = self.operation.accumulates
        if isinstance(how, Bool):
            return bool(truth(how, {}))
        if how in ("always", "no"):
            return how == "always"
        found = self.bounds[role]
        started = found.memory.started
        if isinstance(found.place, Geometry):
            return started.at(found.place)
        if started.bits is None:
            return bool(started.every)
        flags: NDArray[np.bool_] = started.bits[found.place.positions]
        return flags


def _scatter(
    machine: ConcreteMachine,
    memory: Memory,
    place: Geometry | Gather,
    array: Array,
    where: NDArray[np.bool_] | None,
) -> None:
    """Write the elements that take part."""
    if isinstance(place, Geometry):
        place = Gather(positions_of(place), None, place.dtype)
    chosen = place.mask
    if where is not None:
        where = np.broadcast_to(where, place.shape)
        chosen = where if chosen is None else chosen & where
    flat = memory.flat(place.dtype)
    if chosen is None:
        flat[place.positions] = array
        memory.mark_positions(place.positions.reshape(-1), place.dtype)
        return
    positions = place.positions[chosen]
    flat[positions] = np.broadcast_to(array, place.shape)[chosen]
    if where is None and machine.api == "beta1" and memory.template.kind == "result":
        # masked results of Beta 1 have elements that mean nothing; reading them does no harm
        memory.mark(memory.template.whole)
    else:
        memory.mark_positions(positions, place.dtype)


def plain(value: object) -> Any:
    """A value of the dialect as Python has it."""
    if isinstance(value, Expr):
        return value.const if value.is_const else value
    if isinstance(value, Bool):
        return value is E.TRUE if value.kind == "const" else value
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    return value


# ------------------------------------------------------------------------ one operation


def execute(machine: ConcreteMachine, operation: Operation) -> None:
    """Check what an operation reads, compute it, and note what it wrote."""
    bounds: dict[str, Bound] = {}
    for number, (role, view) in enumerate(operation.reads):
        if role.endswith(_INDEX):
            bounds[f"{role}{number}"] = found = bound_of(machine, view)
            if not _written(found):
                _check_read(machine, operation, role.removesuffix(_INDEX), found)
    for role, operand in operation.operands.items():
        if isinstance(operand.value, View):
            bounds[role] = bound_of(machine, operand.value)
        elif isinstance(operand.value, tuple):
            for k, item in enumerate(operand.value):
                if isinstance(item, View):
                    bounds[f"{role}[{k}]"] = bound_of(machine, item)
    _check_indices(machine, operation, bounds)
    perform(machine, steps_of(machine, operation, bounds), bounds)


def examine(machine: ConcreteMachine, operation: Operation) -> None:
    """Check what an operation reads and do nothing else: what it does happens elsewhere."""
    machine.performed += 1
    for role, view in operation.reads:
        found = bound_of(machine, view)
        if not (found.memory.full or _written(found)):
            _check_read(machine, operation, role, found)
        if found.memory.template.on_chip:
            machine.touch(found.memory)


#: the end of the role of a tile whose numbers say where an operand lies
_INDEX = ".index"


def _check_indices(
    machine: ConcreteMachine, operation: Operation, bounds: dict[str, Bound]
) -> None:
    """Indices known at run time only stay inside, unless a DMA skips those that do not (NKI-D11,
    NKI-X09).
    """
    for role, found in bounds.items():
        outside = found.place.outside if isinstance(found.place, Gather) else ""
        mode = operation.value("oob_mode")
        if not outside or (isinstance(mode, Enumerator) and mode.name == "skip"):
            continue
        where = places.here(operation.name.rpartition(".")[2])
        machine.violate(
            "slice-bounds",
            where.keyword(role) if where.keywords else where.span,
            "every index that is known at run time only names an element",
            outside,
            notes=((found.memory.span, f"`{found.memory.name}` is allocated here"),),
            facts=("NKI-D11", "NKI-X09", "NKI-X49"),
        )


#: operations of the Tensor Engine that follow the accumulation protocol
MATMULS = frozenset({"isa.nc_matmul", "isa.nc_matmul_mx", "language.matmul"})


@dataclass(slots=True)
class Steps:
    """What running an operation takes, as far as the templates of its tensors settle it."""

    operation: Operation
    #: roles: what is read and what is written
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    #: roles on chip, in the order in which they are used
    used: tuple[str, ...]
    #: roles in PSUM: what is read, what is written, and of that what the protocol of sums governs
    consumed: tuple[str, ...]
    started: tuple[str, ...]
    sums: tuple[str, ...]
    #: of Beta 1: the sum in PSUM that the first term overwrites
    own_sum: str | None
    #: whether the Tensor Engine writes, and whether that begins a sum
    tensor: bool
    resets: bool
    #: constants, as the semantics asked for them
    values: dict[str, Any] = field(default_factory=dict)
    #: how a plan computes it, where that takes no more than one call of NumPy
    direct: Direct | None = None


def steps_of(machine: ConcreteMachine, operation: Operation, bounds: dict[str, Bound]) -> Steps:
    """How to run an operation on tensors of these templates."""
    indices = tuple(role for role in bounds if _INDEX in role)
    reads = (*indices, *(role for role, _ in operation.reads if role in bounds))
    writes = tuple(role for role, _ in operation.writes if role in bounds)
    buffers = {role: found.memory.template.buffer for role, found in bounds.items()}
    psum = Buffer.PSUM if machine.sums else None
    started = tuple(role for role in writes if buffers[role] is psum)
    matmul = operation.name in MATMULS
    beta1 = machine.api == "beta1"
    own_sum = beta1 and operation.accumulates == "always" and writes[:1] == started[:1]
    tensor = matmul or operation.engine == "tensor"
    return Steps(
        operation,
        reads,
        writes,
        used=tuple(role for role in (*writes, *reads) if buffers[role].on_chip),
        consumed=tuple(role for role in reads if buffers[role] is psum),
        started=started,
        sums=started if matmul and not beta1 else (),
        own_sum=writes[0] if own_sum and writes else None,
        tensor=tensor,
        resets=not tensor or operation.accumulates in ("no", E.FALSE),
    )


def perform(machine: ConcreteMachine, steps: Steps, bounds: dict[str, Bound]) -> None:
    """Run an operation whose operands are found."""
    machine.performed += 1
    operation = steps.operation
    shapes_only = machine.options.shapes_only
    if machine.watch is not None:
        machine.watch.operation(machine, operation, bounds, steps.reads, steps.writes)
    moving: Move | None = None
    for role in steps.reads:
        found = bounds[role]
        if not (found.memory.full or _written(found)):
            moving = _move(machine, operation, role, bounds) or moving
            if moving is None or moving.role != role:
                _check_read(machine, operation, role, found)
    if steps.own_sum is not None and not shapes_only:
        memory = bounds[steps.own_sum].memory
        memory.settle()
        memory.mark(memory.template.whole)
    for role in steps.sums:
        _check_sum(machine, operation, role, bounds[role])
    for role in steps.used:
        machine.touch(bounds[role].memory)
    for role in steps.consumed:
        found = bounds[role]
        _set(found.memory.consumed, found.place, True)
    if shapes_only:
        for role in steps.writes:
            _mark(machine, bounds[role])
    elif moving is not None or steps.direct is None or not steps.direct(bounds):
        _meaning(operation.name)(operation, Operands(machine, steps, bounds))
        if moving is not None:
            _carry(machine, steps, bounds, moving)
    for role in steps.started:
        _started(bounds[role], steps)


_meanings: dict[str, Callable[[Operation, Any], None]] = {}


def _meaning(name: str) -> Callable[[Operation, Any], None]:
    """The numbers of an instruction.

    Raises:
        SemanticsMissing: it has none.
    """
    found = _meanings.get(name)
    if found is None:
        from verifier.executor.semantics import SEMANTICS, SemanticsMissing

        function = SEMANTICS.get(name)
        if function is None:
            raise SemanticsMissing(f"nki.{name}")
        # a run is silent about infinities as a whole: not once for each instruction
        found = _meanings[name] = getattr(function, "__wrapped__", function)
    return found


def _rows(place: Geometry, every: int) -> Geometry:
    """Every n-th row of a view."""
    shape = (-(-place.shape[0] // every), *place.shape[1:])
    return Geometry(
        place.offset, shape, (place.strides[0] * every, *place.strides[1:]), place.dtype
    )


def _mark(machine: ConcreteMachine, found: Bound) -> None:
    memory, place = found.memory, found.place
    if isinstance(place, Geometry):
        memory.mark(place)
    elif place.anywhere or (machine.api == "beta1" and memory.template.kind == "result"):
        memory.mark(memory.template.whole)
    else:
        chosen = place.positions if place.mask is None else place.positions[place.mask]
        memory.mark_positions(chosen.reshape(-1), place.dtype)


def _written(found: Bound) -> bool:
    memory, place = found.memory, found.place
    if memory.full:
        return True
    if memory.template.kind in ("input", "constant"):
        return True
    if isinstance(place, Geometry):
        return memory.initialised(place)
    if place.anywhere and memory.bits is not None and bool(memory.bits.any()):
        return True
    chosen = place.positions if place.mask is None else place.positions[place.mask]
    return memory.initialised_positions(chosen.reshape(-1), place.dtype)


#: operands of which the hardware reads every n-th partition only
_SPARSE = {("isa.nonzero_with_count", "src"): 16}


#: operations that only move elements, and the operand that they move
_MOVES = {
    "isa.dma_copy": "src",
    "isa.dma_transpose": "src",
    "isa.nc_matmul": "stationary",
    "isa.nc_stream_shuffle": "src",
    "isa.nc_transpose": "data",
    "isa.tensor_copy": "src",
    "language.load": "src",
    "language.store": "value",
}


@dataclass(frozen=True, slots=True)
class Move:
    """Elements of which some were never written go from an operand to ``dst`` unchanged."""

    role: str
    written: NDArray[np.bool_]
    origin: Origin


class Shadow(Operands):
    """The operands of a move, with ones where the source was written and zeros elsewhere."""

    __slots__ = ("changed", "move", "result")

    def __init__(
        self, machine: ConcreteMachine, steps: Steps, bounds: dict[str, Bound], move: Move
    ) -> None:
        super().__init__(machine, steps, bounds)
        self.move = move
        shape = self.shape("dst")
        self.result = np.zeros(shape, np.bool_)
        self.changed = np.zeros(shape, np.bool_)

    def read_raw(self, role: str) -> Array:
        if role == self.move.role:
            return self.move.written.astype(NUMPY[self.dtype(role)])
        return super().read_raw(role)

    def write(self, role: str, array: Array, *, where: NDArray[np.bool_] | None = None) -> None:
        self.changed = np.ones_like(self.changed) if where is None else where.copy()
        self.result = np.broadcast_to(np.asarray(array) != 0, self.result.shape)

    def add(self, role: str, array: Array) -> None:
        self.write(role, array)

    def accumulates(self, role: str) -> bool | NDArray[np.bool_]:
        return False


def _move(
    machine: ConcreteMachine, operation: Operation, role: str, bounds: dict[str, Bound]
) -> Move | None:
    """The move that an operation is, if it moves a tile of which a part was written.

    Poison then moves along, and what computes with it, or returns it, is to blame. A tile of
    which nothing was written is not worth moving: that is reported at the move.
    """
    if machine.options.shapes_only or _MOVES.get(operation.name) != role or "dst" not in bounds:
        return None
    if operation.name == "isa.nc_matmul" and plain(operation.value("is_transpose")) is not True:
        return None
    combines = plain(operation.value("dst_rmw_op"))
    if combines is not None or (operation.accumulates == "always"):
        return None
    source, target = bounds[role], bounds["dst"]
    if not isinstance(source.place, Geometry) or not isinstance(target.place, Geometry):
        return None
    if not (source.memory.tracks(source.place) and target.memory.tracks(target.place)):
        return None
    if source.place.dtype == "float8_e8m0fnu":  # has no zero to stand for what was not written
        return None
    written = source.memory.written_map(source.place)
    if not bool(written.any()):
        return None
    first = source.memory.origin(source.place)
    if first is None:
        place = places.here(operation.name.rpartition(".")[2])
        span = place.keyword(role) if place.keywords else place.span
        first = Origin(source.memory.name, source.memory.span, span)
    return Move(role, written.copy(), first)


def _carry(machine: ConcreteMachine, steps: Steps, bounds: dict[str, Bound], move: Move) -> None:
    shadow = Shadow(machine, steps, bounds, move)
    _meaning(steps.operation.name)(steps.operation, shadow)
    target = bounds["dst"]
    assert isinstance(target.place, Geometry)
    target.memory.carry(target.place, shadow.result, shadow.changed, move.origin)


def _check_read(machine: ConcreteMachine, operation: Operation, role: str, found: Bound) -> None:
    if role == "stationary" and plain(operation.value("is_transpose")) is True:
        # columns become rows and do not mix: who reads the rows of unwritten ones is to blame
        if found.memory.bits is not None and bool(found.memory.bits.any()):
            return
    every = _SPARSE.get((operation.name, role))
    if every is not None and isinstance(found.place, Geometry):
        if _written(Bound(found.memory, _rows(found.place, every))):
            return
    if operation.accumulates == "always" and role == "dst" and machine.api == "beta1":
        if found.memory.template.buffer is Buffer.PSUM:
            return
    memory = found.memory
    origin = memory.origin(found.place) if isinstance(found.place, Geometry) else None
    if origin is not None:
        where = places.here(operation.name.rpartition(".")[2])
        blame(machine, origin, where.span, f"a copy of it, `{memory.name}`, is used here")
        return
    partly = memory.bits is not None and bool(memory.bits.any())
    how = "only partly written" if partly else "never written"
    place = places.here(operation.name.rpartition(".")[2])
    machine.violate(
        "uninitialised-read",
        place.keyword(role) if place.keywords else place.span,
        f"`{memory.name}` is written before it is read",
        f"`{memory.name}` is read here, but what is read was {how}",
        notes=((memory.span, f"`{memory.name}` is allocated here"),),
    )


def blame(machine: ConcreteMachine, origin: Origin, use: Span, what: str) -> None:
    """Report a move of what was not written, now that it is used."""
    machine.violate(
        "uninitialised-read",
        origin.span,
        f"`{origin.name}` is written before it is read",
        f"`{origin.name}` is read here, but what is read was only partly written",
        notes=((use, what), (origin.allocated, f"`{origin.name}` is allocated here")),
    )


def _check_sum(machine: ConcreteMachine, operation: Operation, role: str, found: Bound) -> None:
    """The accumulation protocol of PSUM (NKI-MMU25 to NKI-MMU27)."""
    memory = found.memory
    how = operation.accumulates
    if isinstance(how, Bool):
        how = "always" if how is E.TRUE else "no"
    if how == "no":
        return
    place = found.place if isinstance(found.place, Geometry) else memory.template.whole
    started = memory.started.at(place)
    begun, every = started is not False, started is True
    if every and how != "first-overwrites":
        return
    if (
        how == "first-overwrites"
        and not memory.writer
        and not (begun and memory.consumed.any(place))
    ):
        return
    where = places.here(operation.name.rpartition(".")[2])
    note = ((memory.span, f"`{memory.name}` is allocated here"),)
    if memory.writer and not every and machine.target.generation < 4:
        if memory.initialised(place):
            machine.violate(
                "psum-accumulation",
                where.span,
                f"`{memory.name}` was last written by a matmul when a matmul adds to it",
                f"a matmul adds to `{memory.name}`, which `{memory.writer}` wrote",
                notes=note,
                facts=("NKI-MMU26",),
            )
            return
    if how == "always" and not every:
        machine.violate(
            "psum-accumulation",
            where.keyword("accumulate"),
            f"a matmul that overwrites `{memory.name}` comes before one that adds to it",
            f"the first matmul into `{memory.name}` adds to what was there before",
            notes=note,
            facts=("NKI-MMU25",),
        )
        return
    if how == "first-overwrites" and begun and memory.consumed.any(place):
        machine.violate(
            "psum-accumulation",
            where.span,
            f"nothing is added to a sum in `{memory.name}` that was used",
            f"this matmul adds to the sum before: nothing resets `{memory.name}`",
            notes=note,
            facts=("NKI-MMU27",),
        )


def _started(found: Bound, steps: Steps) -> None:
    memory = found.memory
    if not steps.tensor:
        memory.writer = memory.writer or steps.operation.name.rpartition(".")[2]
    _set(memory.started, found.place, steps.tensor)
    if steps.resets:
        _set(memory.consumed, found.place, False)


def _set(flags: Flags, place: Geometry | Gather, flag: bool) -> None:
    if isinstance(place, Geometry):
        flags.set(place, flag)
    else:
        chosen = place.positions if place.mask is None else place.positions[place.mask]
        flags.set_positions(chosen, flag)
