"""Running one operation: its operands as arrays, and what reading and writing them means."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from verifier.executor import places
from verifier.executor.access import NotConcreteError, locate, truth
from verifier.executor.brought import note_reads, note_writes
from verifier.executor.contents import CONTENTS, NOTHING, PART, SUM, USED
from verifier.executor.findings import UnsupportedError
from verifier.executor.flow import Flow, Steps
from verifier.executor.footprints import Lost
from verifier.executor.memory import Bound, ConcreteStorage, Memory
from verifier.executor.offsets import present, remembered
from verifier.executor.regions import Gather, Geometry, positions_of
from verifier.executor.semantics.casts import NUMPY
from verifier.hardware import dtypes as dt
from verifier.hardware.engines import Engine
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic import views
from verifier.symbolic.effects import Effect
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.instruction import Trait
from verifier.symbolic.memory.content import moved, skips, written
from verifier.symbolic.memory.deciding import AN_INDEX
from verifier.symbolic.memory.events import Added, Awaited, Outside, UndefinedRead
from verifier.symbolic.memory.index import sums_by_operator
from verifier.symbolic.roles import INDEX, Takes
from verifier.symbolic.tensors import Operand, Storage, StorageKind, View
from verifier.symbolic.trace import Operation

if TYPE_CHECKING:
    from verifier.executor.machine import ConcreteMachine

Array = NDArray[Any]

_NARROW = frozenset(
    name for name, (size, kind) in dt.DTYPES.items() if kind in ("float", "scale") and size < 4
)


def bound_of(machine: ConcreteMachine, view: View) -> Bound:
    """A view with its memory.

    Raises:
        UnsupportedError: its elements cannot be found.
    """
    storage = view.storage
    assert isinstance(storage, ConcreteStorage) and storage.memory is not None
    if not view.exact or view.held:
        found = remembered(machine, view)
        if found is None:
            why = view.reason or "its addresses are not known"
            raise UnsupportedError(f"a view of `{view.name}` cannot be run: {why}")
        gather = found.positions(view)
        return Bound(storage.memory, gather, view)
    try:
        place = locate(view)
        if view.indirect or machine.found:  # where it leaves the tensor, that was reported
            place = present(storage.memory, view, place)
        return Bound(storage.memory, place, view)
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
            if found.memory.template.kind is StorageKind.INPUT:
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
        _scatter(memory, place, array, where)

    def add(self, role: str, array: Array) -> None:
        found = self.bounds[role]
        place = found.place
        if isinstance(place, Geometry) and place.dtype == "float32":
            target = found.memory.writable(place)
            np.add(target, array, out=target)
            found.memory.mark(place)
        else:
            self.write(role, self.read(role).astype(np.float32) + array)

    def astray(self, role: str, what: str) -> None:
        _astray(self.machine, self.operation, role, self.bounds[role], what)

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
        how = self.operation.effect
        if isinstance(how, Bool):
            return bool(truth(how, {}))
        if how is not Effect.FIRST_SETS:
            return how is Effect.ADDS
        found = self.bounds[role]
        held = found.memory.content.at(found.place)
        return held >= SUM


class _Moved(Operands):
    """Operands of which one has numbers instead of its elements, and nothing is written."""

    __slots__ = ("found", "numbers", "own", "role")

    def __init__(
        self,
        machine: ConcreteMachine,
        steps: Steps,
        bounds: dict[str, Bound],
        role: str,
        numbers: NDArray[np.int32],
    ) -> None:
        super().__init__(machine, steps, bounds)
        self.role = role
        self.numbers = numbers
        self.found: dict[str, Array] = {}
        held = machine.state.items()  # registers stay as they are
        self.own = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in held}

    @property
    def state(self) -> dict[object, object]:
        return self.own

    def read_raw(self, role: str) -> Array:
        return self.numbers if role == self.role else super().read_raw(role)

    def astray(self, role: str, what: str) -> None:
        raise IndexError(what)

    def write(self, role: str, array: Array, *, where: NDArray[np.bool_] | None = None) -> None:
        array = np.broadcast_to(array, self.shape(role))
        self.found[role] = array if where is None else np.where(where, array, 0)

    def dtype(self, role: str) -> str:
        written = any(role == name for name, _ in self.operation.writes)
        return "int32" if written or role == self.role else super().dtype(role)


def _moved(
    machine: ConcreteMachine,
    steps: Steps,
    bounds: dict[str, Bound],
    role: str,
    numbers: NDArray[np.int32],
    to: str,
) -> NDArray[np.int32] | None:
    """Where an operation moves what stands in the place of the elements of an operand.

    None: it is not known, because only shapes are run, or the operation fails.
    """
    if machine.options.shapes_only:
        return None
    from verifier.executor.semantics import SemanticsMissing

    moved = _Moved(machine, steps, bounds, role, numbers)
    try:
        _meaning(steps.operation.name)(steps.operation, moved)
    except (SemanticsMissing, UnsupportedError, IndexError):
        return None  # it has no meaning, or an index is out of bounds: so it is when it is done
    found = moved.found.get(to)
    return None if found is None else np.asarray(found, np.int32)


def _scatter(
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
    memory.mark_positions(positions, place.dtype)


def plain(value: object) -> Any:
    """A value of the dialect as Python has it."""
    if isinstance(value, Expr):
        return value.const if value.is_const else value
    if isinstance(value, Bool):
        return value is E.TRUE if value.kind is E.BoolKind.CONST else value
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    return value


# ------------------------------------------------------------------------ one operation


def execute(machine: ConcreteMachine, operation: Operation) -> None:
    """Check what an operation reads, compute it, and note what it wrote."""
    bounds: dict[str, Bound] = {}
    for number, (role, view) in enumerate(operation.reads):
        if role.endswith(INDEX):
            bounds[f"{role}{number}"] = found = bound_of(machine, view)
            if not _written(found):
                index = role.removesuffix(INDEX)
                machine.origins.decided(operation, index, found, AN_INDEX)
    for role, operand in operation.operands.items():
        if isinstance(operand.value, View):
            bounds[role] = bound_of(machine, operand.value)
        elif isinstance(operand.value, tuple):
            for k, item in enumerate(operand.value):
                if isinstance(item, View):
                    bounds[f"{role}[{k}]"] = bound_of(machine, item)
        elif not machine.clean:
            _unfit(operation, operand)
    _check_indices(machine, operation, bounds)
    perform(machine, steps_of(machine, operation, bounds), bounds)


def _unfit(operation: Operation, operand: Operand) -> None:
    """What is no tensor where there has to be one was reported: nothing can be computed of it."""
    instruction = operation.instruction
    role = None if instruction is None else instruction.role(operand.role)
    if (
        role is not None
        and role.takes is Takes.TILE
        and operand.given
        and operand.value is not None
    ):
        what = f"`{operand.role}` of `{operation.call_text}` is no tensor"
        raise UnsupportedError(what, operand.span)


def allocated(machine: ConcreteMachine, storage: Storage, span: Span) -> View:
    """The view of a tensor that a kernel makes."""
    memory = machine.make(machine.template(storage), storage.name, span, storage)
    memory.arguments = storage.argument_spans
    if storage.initialised:
        machine.clear(memory)
    return machine.whole(memory, span)


def declared(
    machine: ConcreteMachine, value: object, shape: Sequence[Expr], span: Span
) -> View | None:
    """A tensor that is given another shape."""
    return views.redeclared(machine, value, shape, span) if isinstance(value, View) else None


def examine(machine: ConcreteMachine, operation: Operation) -> None:
    """Check what an operation reads and do nothing else: what it does happens elsewhere."""
    machine.performed += 1
    for role, view in operation.reads:
        found = bound_of(machine, view)
        if not (found.memory.full or _written(found)):
            machine.origins.decided(operation, role, found, "a register takes it")
        if found.memory.template.on_chip:
            machine.touch(found.memory)


def _check_indices(
    machine: ConcreteMachine, operation: Operation, bounds: dict[str, Bound]
) -> None:
    """Indices known at run time only stay inside, unless a DMA skips those that do not (NKI-D11,
    NKI-X09).
    """
    for role, found in bounds.items():
        outside = found.place.outside if isinstance(found.place, Gather) else ""
        if not outside or skips(operation):
            continue
        if found.view is not None and not (found.view.indirect or found.view.placed):
            continue  # the slice has been reported where it was made
        _astray(machine, operation, role, found, outside)


def _astray(
    machine: ConcreteMachine, operation: Operation, role: str, found: Bound, what: str
) -> None:
    where = places.here(operation.name.rpartition(".")[2])
    span = where.keyword(role) if where.keywords else where.span
    machine.meet(Outside(found.memory.name, found.memory.span, span, what))


def steps_of(machine: ConcreteMachine, operation: Operation, bounds: dict[str, Bound]) -> Steps:
    """How to run an operation on tensors of these templates."""
    indices = tuple(role for role in bounds if INDEX in role)
    reads = (*indices, *(role for role, _ in operation.reads if role in bounds))
    writes = tuple(role for role, _ in operation.writes if role in bounds)
    buffers = {role: found.memory.template.buffer for role, found in bounds.items()}
    psum, sbuf = (Buffer.PSUM, Buffer.SBUF) if machine.sums else (None, None)
    started = tuple(role for role in writes if buffers[role] is psum)
    traits = operation.instruction.traits if operation.instruction is not None else ()
    footprint = operation.instruction.footprint if operation.instruction is not None else None
    matmul = Trait.MATMUL in traits
    adds, how = operation.adds, operation.effect
    by_operator = machine.generation.sums_by_operator
    own = sums_by_operator(operation) and writes[:1] == started[:1]
    own_sum = writes[0] if own and writes else None
    tensor = matmul or operation.engine is Engine.TENSOR
    sums = started if matmul and not by_operator and adds else ()
    if adds and not matmul:
        reads = (*reads, *(role for role in writes if role not in reads and role != own_sum))
    return Steps(
        operation,
        reads,
        writes,
        used=tuple(role for role in (*writes, *reads) if buffers[role].on_chip),
        consumed=tuple(role for role in reads if buffers[role] is psum),
        started=started,
        sums=sums,
        own_sum=own_sum,
        kept=tuple((role, how is Effect.FIRST_SETS) for role in sums),
        tensor=tensor,
        resets=not (tensor and adds),
        holds=CONTENTS.index(written(operation)),
        waits=footprint.orders if footprint is not None and not writes else (),
        joins=footprint.orders if footprint is not None and writes else (),
        ordered=footprint.ordered if footprint is not None else "",
        accumulators=footprint.accumulators if footprint is not None else None,
        tiles_read=tuple(role for role in reads if buffers[role] is sbuf),
        tiles_written=tuple(role for role in writes if buffers[role] is sbuf),
        moves=moved(operation) or "",
        taken=tuple(
            role for role in reads if bounds[role].memory.template.kind is StorageKind.INPUT
        ),
        given=tuple(
            role for role in writes if bounds[role].memory.template.kind is StorageKind.INPUT
        ),
    )


def perform(machine: ConcreteMachine, steps: Steps, bounds: dict[str, Bound]) -> None:
    """Run an operation whose operands are found."""
    machine.performed += 1
    operation = steps.operation
    if machine.performed >= machine.probed:
        machine.probe()
    if machine.watch is not None:
        machine.watch.operation(machine.program, steps, bounds)
    for role in steps.writes if machine.found else ():
        machine.wrote(bounds[role].memory, operation.span_of(role))
    for role in steps.given:
        machine.updated.setdefault(bounds[role].memory, operation)
    lost = _undefined(machine, steps, bounds)
    lost = _check_sums(machine, steps, bounds, lost)
    if steps.used:
        for role in steps.writes:
            if _renews(steps, bounds, role):
                bounds[role].memory.life = None
        machine.touch(*(bounds[role].memory for role in steps.used))
    note_reads(machine, steps, bounds)
    if steps.waits:
        _wait(machine, steps, bounds)
    _compute(machine, steps, bounds)
    if steps.joins:
        lost = lost or _flow(machine, steps, bounds)
        for role in steps.writes:
            lost.traded(role, partial(_told, Operands(machine, steps, bounds)))
        _joined(machine, operation, steps.joins)
    if lost is not None:
        lost.done()
    note_writes(machine, steps, bounds)


def _renews(steps: Steps, bounds: dict[str, Bound], role: str) -> bool:
    """Whether nobody needs any longer what a tile placed by hand held: all is written anew."""
    memory, place = bounds[role].memory, bounds[role].place
    template = memory.template
    if (
        memory.life is None
        or not (template.prototype.placed or template.address)
        or role in steps.reads
    ):
        return False
    if place != template.whole or steps.written(bounds, role).mask is not None:
        return False
    return role not in steps.sums or memory.content.every in (NOTHING, USED)


def _compute(machine: ConcreteMachine, steps: Steps, bounds: dict[str, Bound]) -> None:
    """Write what an operation writes: numbers, or only that they are there."""
    if machine.options.shapes_only:
        if steps.joins:
            _exchange(Operands(machine, steps, bounds))
        for role in steps.writes:
            if not _written(bounds[role]) and _as_data_says(steps.operation, role):
                heard = machine.rules.monitors.get(UndefinedRead, ())
                machine.unsettled |= {rule.id for rule, _ in heard}
            _mark(steps, bounds, role)
    elif steps.direct is None or not steps.direct(bounds):
        name = steps.operation.name
        _meaning(name)(steps.operation, Operands(machine, steps, bounds))


def _wait(machine: ConcreteMachine, steps: Steps, bounds: dict[str, Bound]) -> None:
    """Go on when all the cores that the barrier names have come this far."""
    operation = steps.operation
    cores = plain(operation.value(steps.waits[0]))
    if not isinstance(cores, tuple) or len(cores) < 2:
        return
    named = bounds.get(steps.ordered)
    machine.program.wait(None if named is None else named.memory)
    barrier = machine.state.get("barrier")
    missing = barrier(cores) if callable(barrier) else 0
    if missing:
        machine.meet(Awaited(operation.span, missing, len(cores)))


def _exchange(io: Operands) -> None:
    """An exchange on shapes: the cores wait for each other as they do on numbers."""
    _sent(io, "", np.broadcast_to(np.uint8(0), io.shape("src")))


def _told(io: Operands, lost: Lost) -> Lost:
    """What is undefined of what another core sends, which is told what is of what is sent to it."""
    found: Lost = _sent(io, "undefined", lost)
    return found


def _sent(io: Operands, what: str, array: Array) -> Array:
    """What comes from another core, to which an array is sent: the same one of one's own."""
    exchange, operation = io.state.get("exchange"), io.operation
    ranks = [plain(operation.value(role)) for role in io.steps.joins]
    if not callable(exchange) or set(ranks) == {io.state.get("rank", 0)}:
        return array
    found: Array = exchange(
        *ranks, (plain(operation.value("pipe_id")), what), array, operation.span
    )
    return found


def _joined(machine: ConcreteMachine, operation: Operation, joins: tuple[str, ...]) -> None:
    """Two cores that each send to the other have waited for each other."""
    others = {plain(operation.value(role)) for role in joins}
    if len(others) == 1 and not others & {*machine.program.index}:
        machine.program.wait(None)


def _undefined(machine: ConcreteMachine, steps: Steps, bounds: dict[str, Bound]) -> Flow | None:
    """What is read that is not defined; None: nothing."""
    lost: Flow | None = None
    for role in steps.reads:
        found = bounds[role]
        if not (found.memory.full or _written(found)):
            lost = lost or _flow(machine, steps, bounds)
            lost.read(role)
    for role, begins in steps.kept:
        memory = bounds[role].memory
        if memory.lost is not None and not memory.full:
            lost = lost or _flow(machine, steps, bounds)
            lost.keep(role, begins)
    return lost


def _flow(machine: ConcreteMachine, steps: Steps, bounds: dict[str, Bound]) -> Flow:
    moves = partial(_moved, machine, steps, bounds)
    return Flow(machine.origins, machine.postponed, moves, steps, bounds)


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


def _mark(steps: Steps, bounds: Mapping[str, Bound], role: str) -> None:
    """What an operation writes is written, where only shapes are run."""
    memory, place = bounds[role].memory, bounds[role].place
    mask = steps.written(bounds, role).mask
    if isinstance(place, Geometry):
        if mask is None:
            memory.mark(place)
        else:
            memory.mark_positions(positions_of(place)[mask], place.dtype)
    elif place.anywhere:
        memory.mark(memory.template.whole)
    else:
        chosen = place.mask if mask is None else mask if place.mask is None else mask & place.mask
        positions = place.positions if chosen is None else place.positions[chosen]
        memory.mark_positions(positions.reshape(-1), place.dtype)


def _as_data_says(operation: Operation, role: str) -> bool:
    """Whether the data say which elements an operation writes: at most all that are named."""
    instruction = operation.instruction
    entries = instruction.footprint.writes_of(role) if instruction is not None else ()
    return any(
        not entry.where.exact and entry.when.holds(operation) is not E.FALSE for entry in entries
    )


def _written(found: Bound) -> bool:
    memory, place = found.memory, found.place
    if memory.full:
        return True
    if memory.template.kind in (StorageKind.INPUT, StorageKind.CONSTANT):
        return True
    if isinstance(place, Geometry):
        return memory.initialised(place)
    if place.anywhere and memory.bits is not None and bool(memory.bits.any()):
        return True
    chosen = place.positions if place.mask is None else place.positions[place.mask]
    return memory.initialised_positions(chosen.reshape(-1), place.dtype)


def _check_sums(
    machine: ConcreteMachine, steps: Steps, bounds: dict[str, Bound], lost: Flow | None
) -> Flow | None:
    """What an operation adds to, in PSUM and in the accumulators of its engine.

    Returns what it makes undefined, with what it reads out of accumulators.
    """
    if steps.own_sum is not None:
        found = bounds[steps.own_sum]
        found.memory.settle(found.place, numbers=not machine.options.shapes_only)
    for role in steps.sums:
        _check_sum(machine, steps, bounds[role])
    index = machine.program.index
    machine.accumulators.passes(index, steps.operation, steps.accumulators, bounds)
    if steps.accumulators is not None:
        begin = partial(_flow, machine, steps, bounds)
        file, operation = steps.accumulators, steps.operation
        lost = machine.accumulators.use(index, operation, file, bounds, lost, begin)
    return lost


def _check_sum(machine: ConcreteMachine, steps: Steps, found: Bound) -> None:
    """What a multiplication adds to (NKI-MMU25 to NKI-MMU28)."""
    memory = found.memory
    held = memory.content.at(found.place)
    numbers = [held] if isinstance(held, int) else [*np.unique(held)]
    if NOTHING in numbers and SUM in numbers:
        numbers.append(PART)
    for number in numbers:
        if number in steps.fine:
            continue
        content = CONTENTS[int(number)]
        if not machine.meet(Added(steps.operation, memory.storage, content, memory.writer)):
            steps.fine.add(int(number))
