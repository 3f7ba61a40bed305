"""The machine that dialects drive with plain numbers: it allocates, checks and runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
from msgspec import Struct

from verifier import rulebase
from verifier.dialects.names import OKK
from verifier.dialects.registry import of_generation
from verifier.executor import findings, places
from verifier.executor.abridge import Beginning
from verifier.executor.access import NotConcreteError, integer
from verifier.executor.accumulators import Accumulators
from verifier.executor.findings import MisuseError, UnsupportedError, ViolationError
from verifier.executor.flow import Origins
from verifier.executor.memory import Bound, Memory, Template
from verifier.executor.programs import Plans, Program
from verifier.executor.recent import Progress, RecentOperations, Stores
from verifier.executor.records import Record
from verifier.executor.regions import Remembered
from verifier.executor.watch import WATCHED, Watch
from verifier.hardware import dtypes as dt
from verifier.hardware.catalogue import Hardware
from verifier.hardware.chips import Chip
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.report import model as report
from verifier.rulebase import Monitor, On, Rule, Shown
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Details
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.lanes import SystemAddress
from verifier.symbolic.memory.events import (
    Added,
    Filled,
    Followed,
    Issued,
    Life,
    Origin,
    Overwritten,
    Rested,
    Returned,
    Stored,
    Stretch,
    UndefinedLanes,
    UndefinedRead,
)
from verifier.symbolic.numbering import Numbering
from verifier.symbolic.tensors import DType, Loop, Placing, Storage, StorageKind, View
from verifier.symbolic.trace import AssumptionKind, LedgerKind, Operation, Trace
from verifier.symbolic.values import (
    HostUse,
    IndexGrid,
    IndexTensor,
    Opaque,
    ParDim,
    RecordType,
    RecordValue,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: so many operations are looked at together, by rules that compare all of them
TRACED: Final = 100
#: and so many by rules that follow them one after the other, where they keep no memory: those of
#: OKK, whose tensors are addresses
FOLLOWED: Final = 4096

#: what shows only where it is known which elements were written, and which sums were begun
TRACKED_EVENTS: Final = frozenset({UndefinedRead, UndefinedLanes, Returned, Filled, Added})
_SUM_EVENTS: Final = frozenset({UndefinedRead, Added, Overwritten, Rested})
#: operations until a run is looked at for the first time
_PROBED: Final = 16
_NEVER: Final = 1 << 62


class Options(Struct):
    """How kernels are run.

    ``loop_order``: ``forward``, ``reversed`` or ``shuffled`` iterations of ``affine_range``.
    ``shapes_only``: nothing is computed and no tensor has bytes. ``keep_going``: violations are
    collected instead of ending the run, up to the first one that ``until`` accepts.
    """

    shapes_only: bool = False
    keep_going: bool = False
    loop_order: str = "forward"
    seed: int = 0
    #: the rule that the run is made for: of the whole trace only this one is judged when the run is
    #: over; None: all that are affordable
    about: str | None = None
    until: Callable[[report.Diagnostic], bool] | None = None
    #: nothing but this rule is judged; None: every one
    only: str | None = None
    #: of loops whose iterations do not know of each other, how many are run before the last one;
    #: None: all
    abridge: Beginning | None = None
    #: called now and then, more and more seldom
    probe: Callable[[ConcreteMachine], None] | None = None


class Rules(Struct):
    """The rules of a run by what they look at."""

    by_id: dict[str, Rule]
    storage: list[Rule]
    operation: dict[str, list[Rule]]
    trace: list[Rule]
    #: by the class of what they judge
    monitors: dict[type, list[tuple[Rule, Monitor]]]

    @staticmethod
    def load(dialect: str, only: str | None = None, about: str | None = None) -> Rules:
        """The rules of a dialect, or one of them; ``about``: the one that a run is made for.

        They are looked through once for all runs: nobody changes what is given.
        """
        known, all_ = _loaded.get((dialect, only, about)), rulebase.all_rules()
        if known is not None and known[0] is all_:
            return known[1]
        found = Rules({}, [], {}, [], {})
        _loaded[dialect, only, about] = all_, found
        for rule in rulebase.of_dialect(dialect):
            if only not in (None, rule.id) or rule.family == rulebase.ADVICE:
                continue
            found.by_id[rule.id] = rule
            for monitor in rule.monitors:
                if not monitor.asked or rule.id == about:
                    found.monitors.setdefault(monitor.event, []).append((rule, monitor))
            if rule.on is On.STORAGE:
                found.storage.append(rule)
            elif rule.on is On.OPERATION:
                for name in rule.operations or ("",):
                    found.operation.setdefault(name, []).append(rule)
            elif rule.on is On.TRACE:
                found.trace.append(rule)
        return found


#: the rules by dialect and by what runs are made for, as long as no other rule is known
_loaded: Final[dict[tuple[str, str | None, str | None], tuple[Sequence[Rule], Rules]]] = {}

_Listener = TypeVar("_Listener", RecentOperations, Stores)

#: what happens when an operation is emitted: numbers are computed
Execute = Callable[["ConcreteMachine", Operation], None]


class Device(Struct, frozen=True):
    """What NeuronCores and TPUs do each in their own way.

    ``allocated``: the view of a tensor that a kernel makes. ``tensor``: what kernels hold of a
    view. ``declared``: a value that is given a shape. ``inward`` and ``outward``: between what
    Python passes and values of the dialect. ``plans``: calls that are alike are taken apart once;
    where addresses are among the arguments hardly any are.
    """

    execute: Execute
    allocated: Callable[[ConcreteMachine, Storage, Span], View]
    tensor: Callable[[ConcreteMachine, View], Any]
    declared: Callable[[ConcreteMachine, object, Sequence[Expr], Span], View | None]
    inward: Callable[[ConcreteMachine, Any], Any]
    outward: Callable[[ConcreteMachine, object], Any]
    plans: bool


class ConcreteMachine(Numbering):
    """:class:`verifier.symbolic.machine.Machine` on plain numbers."""

    #: whether the kernel asks which of several programs it is
    asked_grid: bool = False
    #: see `wrote`
    late: dict[tuple[Memory, Span], None]
    #: the parameters that were written, and by what first
    updated: dict[Memory, Operation]

    def __init__(
        self,
        hardware: Hardware,
        api: str,
        options: Options,
        device: Device,
        plans: Plans | None = None,
    ) -> None:
        dialect = of_generation(api)
        self.dialect, generation = dialect.of(api)
        super().__init__(hardware, generation)
        self.options = options
        self.kernel = ""
        self.rules = Rules.load(dialect.name, options.only, options.about)
        self.found: list[report.Diagnostic] = []
        self.unsettled: set[str] = set()  # rules with too many elements to go through
        self.doubts: list[report.Diagnostic] = []  # what may be meant
        self._seen: set[tuple[str, str, Span]] = set()
        #: whether the operation at hand broke a rule (it is not planned then)
        self.clean = True
        #: checks are dropped: views that were checked before are made again
        self.silent = False
        self.device = device
        self._execute = device.execute
        self.lives: list[Life] = []
        self.program = Program()
        #: inputs that may be None
        self.optional: frozenset[str] = frozenset()
        self.rng = np.random.default_rng(options.seed)
        self.state: dict[object, object] = {}
        #: run-time offsets of indirect views
        self.indirect: Remembered = {}
        #: the operation that was emitted last, and how many were; tensors that were made
        self.last: Operation | None = None
        self.emitted = 0
        #: operations run, planned ones as well
        self.performed = 0
        self.made = 0
        self.largest = 0  # elements of the largest tensor that was made
        self.origins = Origins(self.meet)
        #: what kernels did, for the rules that look at all of it
        self.trace: list[Operation] = []
        self.storages: list[Storage] = []
        self.recent = self._listener(Stretch, RecentOperations)
        self.progress = Progress(self.meet) if Issued in self.rules.monitors else None
        self.stores = self._listener(Stored, Stores)
        self._accused: list[tuple[Rule, Storage]] = []  # results: what becomes of them decides
        self.late, self.updated = {}, {}
        known = plans if plans is not None else Plans()
        self.plans, self.kept, self._templates = known.calls, known.kept, known.templates
        heard = frozenset(self.rules.monitors)
        #: whether it matters which elements were written
        self.tracks = bool(heard & TRACKED_EVENTS)
        #: whether it matters which sums in PSUM have begun
        self.sums = bool(heard & _SUM_EVENTS)
        self.abridged = False  # whether iterations were left out
        self.watch = self._watching(heard & WATCHED)
        self.accumulators = Accumulators(self.meet, self.origins)
        #: the operation at which the run is looked at again
        self.probed = _PROBED if options.probe is not None else _NEVER

    def _listener(self, event: type, make: Callable[..., _Listener]) -> _Listener | None:
        """What gathers what an event is made of, if a rule hears it."""
        return make(self.meet, self.blank_trace) if event in self.rules.monitors else None

    @cached_property
    def _following(self) -> bool:
        """Whether rules look at all operations."""
        compared = bool(self.rules.trace) and isinstance(self.hardware, Chip)
        return compared or Followed in self.rules.monitors

    def _watching(self, wanted: frozenset[type]) -> Watch | None:
        bank = self.target.psum_bank_bytes if isinstance(self.hardware, Target) else 0
        return Watch(self.meet, wanted, bank) if wanted else None

    # -- what dialects see -------------------------------------------------------------

    def of_device(self, use: HostUse, value: object, span: Span) -> object | None:
        """In a run all of them are numbers."""
        return None

    @property
    def loops(self) -> tuple[Loop, ...]:
        return ()

    @property
    def path(self) -> tuple[Bool, ...]:
        return ()

    @property
    def traced(self) -> bool:
        """Whether the operations so far are few enough for rules that compare all of them."""
        return self.followed and len(self.trace) < TRACED

    @property
    def followed(self) -> bool:
        """Whether all operations so far are kept, for rules that follow them."""
        most = FOLLOWED if self.dialect.name == OKK else TRACED
        return self._following and len(self.trace) < most

    def allocate(
        self,
        name: str,
        shape: Sequence[Expr],
        dtype: DType,
        buffer: Buffer,
        span: Span,
        **more: Unpack[Placing],
    ) -> View:
        storage = Storage.made(self.next_order(), name, shape, dtype, buffer, span, **more)
        accused: list[Rule] = []
        for rule in self.rules.storage:
            checks = rulebase.run(rule, self.hardware, storage)
            if not rule.by_use or storage.kind is not StorageKind.RESULT:
                for check in checks:
                    self.judge(rule, check)
            elif any(check.predicate is not E.TRUE for check in checks):
                accused.append(rule)
                self.clean = False
        for size in shape:
            if size.is_const and size.const < 0:
                raise UnsupportedError(f"`{name}` has a negative extent", span)
        view = self.device.allocated(self, storage, span)
        self._accused += ((rule, view.storage) for rule in accused)
        return view

    def judge_results(self) -> None:
        """Judge results by what became of them, when nothing more will."""
        for rule, storage in self._accused:
            for check in rulebase.run(rule, self.hardware, storage):
                self.judge(rule, check)

    def clear(self, memory: Memory) -> None:
        """Zeros everywhere: a use, from which on the tensor takes its place."""
        memory.full = True
        self.touch(memory)
        if not self.options.shapes_only:
            memory.detach()
            memory.materialise(poison=False).fill(0)

    def template(self, storage: Storage) -> Template:
        try:
            key = (
                tuple(integer(size) for size in storage.shape),
                storage.dtype.name,
                storage.buffer,
                storage.partition_axis,
                storage.kind,
                storage.address,
                storage.initialised,
                repr(storage.placement) if storage.placement else "",
                repr(storage.marks) if storage.marks else "",
            )
        except NotConcreteError as error:
            raise UnsupportedError(
                f"the shape of `{storage.name}` is not known: {error}", storage.span
            ) from None
        found = self._templates.get(key)
        if found is None:
            found = self._templates[key] = Template(storage)
        return found

    def make(self, template: Template, name: str, span: Span, storage: Storage | None) -> Memory:
        """A new tensor; in shared memory, instances of a launch get the same one."""
        self.made += 1
        if template.elements > self.largest:
            self.largest = template.elements
        program = self.program
        if program.grid and self._shared(template):
            number = program.made
            program.made += 1
            if number < len(program.shared) and program.shared[number].template is template:
                return program.shared[number]
            memory = Memory(template, name, span, storage)
            memory.full = not self.tracks
            program.shared.insert(number, memory)
            return memory
        memory = Memory(template, name, span, None)
        memory.full = not self.tracks
        if self.watch is not None:
            self.watch.made(memory)
        return memory

    def _shared(self, template: Template) -> bool:
        """Whether the instances of a launch see one tensor, not one each."""
        return template.kind is StorageKind.ALLOC and (
            template.common or (self._generation.hbm_returned and template.buffer is Buffer.HBM)
        )

    def whole(self, memory: Memory, span: Span) -> View:
        storage = memory.storage
        axes = tuple(self.axis(extent) for extent in storage.shape)
        return View(
            storage=storage,
            instance=(),
            frame=storage.shape,
            frame_partition=storage.partition_axis,
            axes=axes,
            coords=tuple(axis.index for axis in axes),
            dtype=storage.dtype,
            span=span,
        )

    def emit(self, operation: Operation) -> None:
        self.last = operation
        self.emitted += 1
        if self.followed or self.recent is not None:
            operation.rounds, operation.called = places.reached()
        if self.followed:
            self.trace.append(operation)
        if self.progress is not None:
            self.progress.add(operation)
        if self.recent is not None:
            section = self.progress.section if self.progress is not None else None
            self.recent.add(operation, section)
        if self.stores is not None:
            self.stores.add(operation)
        self.judge_operation(operation)
        self._execute(self, operation)

    @contextmanager
    def executing(self, execute: Execute) -> Iterator[None]:
        """Operations are done in another way for a while."""
        before, self._execute = self._execute, execute
        try:
            yield
        finally:
            self._execute = before

    def judge_operation(self, operation: Operation) -> None:
        table = self.rules.operation
        for rule in (*table.get(operation.name, ()), *table.get("", ())):
            for check in rulebase.run(rule, self.hardware, operation):
                self.judge(rule, check)

    def check(
        self,
        rule: str,
        predicate: Bool,
        span: Span,
        text: str,
        message: str,
        *,
        compiled: bool = False,
        **details: Unpack[Details],
    ) -> None:
        found = self.rules.by_id.get(rule)
        if found is not None and not self.silent and predicate is not E.TRUE:
            self.judge(found, Check(predicate, span, text, message, **details))

    def judge(self, rule: Rule, check: Check) -> None:
        """Record a check that does not hold; the first one ends the run unless it goes on."""
        if check.predicate is E.TRUE or not check.exact:
            return
        held = findings.holds(check.predicate, (*check.given, *(check.path or ())))
        if held is None:
            self.unsettled.add(rule.id)
        if held is not False or self._refused(check.follows):
            return
        found = self._diagnosed(rule, check)
        # what is told at the end may be several things of one place
        told = rule.replayed.shown in (Shown.AT_THE_END, Shown.SUBJECT)
        self.report(found, check.message if told else "")

    def _refused(self, places: Sequence[Span]) -> bool:
        """Whether what is wrong at one of these places has to be mended before it is known what is
        written there."""
        loud = [d for d in self.found if d.severity == "error" and not _silent(d)] if places else []
        return any(place.holds(findings.span(d.span)) for d in loud for place in places)

    def wrote(self, memory: Memory, span: Span) -> None:
        """Something is written after something was found: off chip, it is noted where."""
        if not memory.template.on_chip:
            self.late[memory, span] = None

    def _diagnosed(self, rule: Rule, check: Check) -> report.Diagnostic:
        name, dialect = self.hardware.name, self.dialect.name
        return findings.diagnose(rule, check, self.kernel, name, dialect)

    def meet(self, event: object) -> bool:
        """Have the rules judge what was met; whether one of them had something to say."""
        said = False
        for rule, monitor in self.rules.monitors.get(type(event), ()):
            for check in monitor.judge(event, self.hardware):
                said |= check.predicate is not E.TRUE
                if monitor.meant and rule.id != self.options.about:
                    if findings.holds(check.predicate, check.given) is False:
                        self._doubt(self._diagnosed(rule, check))
                else:
                    self.judge(rule, check)
        return said

    def _doubt(self, found: report.Diagnostic) -> None:
        """Note what may be meant; of one place and thing once."""
        noted = ((d.rule, d.span, d.message) for d in self.doubts)
        if (found.rule, found.span, found.message) not in noted:
            self.doubts.append(found)

    def blank_trace(self, span: Span) -> Trace:
        """The trace of this run, without operations."""
        return Trace(self.kernel, span.path, span, self.generation, self.dialect.name)

    def probe(self) -> None:
        """Have the run looked at, and set when that is done again."""
        self.probed += self.probed // 4
        assert self.options.probe is not None
        self.options.probe(self)

    def report(self, diagnostic: report.Diagnostic, what: str = "") -> None:
        """Note a finding; of those about one place (and one thing: ``what``) the first."""
        self.clean = False
        place = diagnostic.span
        key = (
            diagnostic.rule,
            what,
            Span(place.path, place.line, place.column, place.end_line, place.end_column),
        )
        if key in self._seen:
            return
        self._seen.add(key)
        self.found.append(diagnostic)
        if diagnostic.severity == "error" and not self.options.keep_going:
            raise ViolationError(diagnostic)
        if self.options.until is not None and self.options.until(diagnostic):
            raise ViolationError(diagnostic)

    def approximate(
        self, kind: LedgerKind, message: str, span: Span, symbols: Sequence[str] = ()
    ) -> None:
        """Nothing: what is not known ahead is known here, or shows as a symbol that is left."""

    def unmodelled(self, name: str, span: Span, lost: str = "") -> None:
        raise UnsupportedError(lost or f"`{name}` is not modelled", span)

    def grid(self, axis: int) -> tuple[Expr, Expr]:
        program = self.program
        self.asked_grid = True
        if isinstance(self.hardware, Chip):
            return tpu_grid(program.index, program.grid, axis)
        if axis < 0 or axis >= max(len(program.grid), 3):
            raise MisuseError(f"the launch grid has no axis {axis}", places.here().span)
        if axis >= len(program.grid):
            return E.const(0), E.const(1)
        return E.const(program.index[axis]), E.const(program.grid[axis])

    def decide(self, condition: Bool) -> bool | None:
        if condition is E.TRUE:
            return True
        return False if condition is E.FALSE else None

    def assume(self, condition: Bool, text: str, span: Span, kind: AssumptionKind) -> None:
        if condition is E.FALSE:
            raise MisuseError(f"the kernel demands: {text}", span)

    def mode(self, name: str) -> object:
        return self.state.get(("mode", name), False)

    def switch(self, name: str, value: object) -> None:
        self.state["mode", name] = value

    # -- coercions ---------------------------------------------------------------------

    def as_view(self, value: object, span: Span) -> View | None:
        return value if isinstance(value, View) else None

    def is_tensor(self, value: object, otherwise: str, span: Span) -> bool:
        return isinstance(value, View)

    def declared(self, value: object, shape: Sequence[Expr], span: Span) -> View | None:
        return self.device.declared(self, value, shape, span)

    def tensor(self, view: View) -> Any:
        """What kernels hold of a tensor."""
        return self.device.tensor(self, view)

    def inward(self, value: Any) -> Any:
        """What Python passes, as a value of the dialect."""
        return self.device.inward(self, value)

    def outward(self, value: object) -> Any:
        """A value of the dialect, as Python has it."""
        return self.device.outward(self, value)

    def as_int(self, value: object, span: Span) -> Expr | None:
        if isinstance(value, Expr):
            return value
        if isinstance(value, bool):
            return E.const(int(value))
        if isinstance(value, Bool):
            return E.ite(value, 1, 0)
        if isinstance(value, float):  # a compiler and a device take no float for an integer
            raise TypeError(f"the float {value} is used as an integer")
        if isinstance(value, ParDim):
            return value.size
        if isinstance(value, IndexTensor) and not value.axes:
            return value.expr
        return None

    def as_bool(self, value: object, span: Span) -> Bool | None:
        if isinstance(value, Bool):
            return value
        if isinstance(value, Expr):
            return E.ne(value, 0)
        if isinstance(value, Opaque):
            return None
        return (
            E.truth(bool(value))
            if isinstance(value, (bool, float, str, tuple))
            else E.truth(value is not None)
        )

    def as_dtype(self, value: object, span: Span) -> DType | None:
        if isinstance(value, DType):
            return value
        if isinstance(value, str):
            name = dt.canonical(value)
            return DType.named(name) if name is not None else None
        return None

    def as_items(self, value: object, span: Span) -> tuple[object, ...] | None:
        if isinstance(value, tuple):
            return value
        if isinstance(value, IndexGrid):
            return value.parts
        return tuple(value) if isinstance(value, str) else None

    def as_named(self, value: object, span: Span) -> Mapping[str, object] | None:
        if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
            return None
        return {key: self.inward(held) for key, held in value.items()}

    def as_address(self, value: object, span: Span) -> SystemAddress | None:
        return value if isinstance(value, SystemAddress) else None

    # -- records -----------------------------------------------------------------------

    def record(self, kind: RecordType, values: Sequence[object], origin: object = None) -> object:
        return Record(kind, tuple(self.outward(value) for value in values), origin)

    def contents(self, value: object) -> RecordValue | None:
        if not isinstance(value, Record):
            return value if isinstance(value, RecordValue) else None
        fields = tuple(self.inward(field) for field in value.tilelint_values.values())
        return RecordValue(value.tilelint_kind, fields, value.tilelint_origin)

    def fill(self, value: object, values: Sequence[object], origin: object = None) -> bool:
        if not isinstance(value, Record):
            return False
        value.tilelint_fill(tuple(self.outward(each) for each in values), origin)
        return True

    # -- time on the chip --------------------------------------------------------------

    def exchange_state(
        self, program: Program, order: int, state: dict[object, object]
    ) -> tuple[Program, int, dict[object, object]]:
        """Go on with another instance; gives what the one until now goes on with later."""
        before = (self.program, self.order, self.state)
        self.program, self.order, self.state = program, order, state
        return before

    def postponed(self, found: Bound, origin: Origin) -> bool:
        """Whether another program instance may yet write what is read here."""
        return self.watch is not None and self.watch.postponed(self.program, found, origin)

    def touch(self, *memories: Memory) -> None:
        """A use of tensors, all at once, for the capacity of the memory on chip."""
        order = self.order = self.order + 1
        for memory in memories:
            life = memory.life
            if life is not None:
                life.last = order
                continue
            template = memory.template
            if template.on_chip:
                base = template.prototype
                life = memory.life = Life(base, memory.name, memory.span, order, order)
                self.lives.append(life)

    def forward(self, made: Memory, target: Memory) -> None:
        """A result that nothing else took has been assigned to a tile: it is that tile."""
        own, life = made.life, target.life
        if own is None or life is None or own is life:
            return
        # what the tile held before may be what the result is made of, in place
        until = (e.last for e in self.lives if e is not life and e.storage is life.storage)
        in_place = life.storage.placed and own.first in until
        life.first = min(life.first, own.first + in_place)
        made.life = life
        at = next(k for k in reversed(range(len(self.lives))) if self.lives[k] is own)
        del self.lives[at]


def _silent(found: report.Diagnostic) -> bool:
    rule = rulebase.find(found.rule)
    return rule is not None and rule.silent


def tpu_grid(index: tuple[int, ...], grid: tuple[int, ...], axis: int) -> tuple[Expr, Expr]:
    """Cores (axis 0) and groups of them (axis 1) of a launch on ``(groups, cores)`` (PPL-A01)."""
    places_, counts = (*index, 0, 0)[:2], (*grid, 1, 1)[:2]
    return E.const(places_[1 - axis]), E.const(counts[1 - axis])


def sizes(values: Sequence[Expr]) -> tuple[int, ...]:
    return tuple(integer(value) for value in values)


Values = Mapping[str, Any]
