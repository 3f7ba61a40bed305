"""The state of one kernel run, and the machine that dialects see.

The work is split over sibling modules of functions that take the :class:`VM`; this one holds what
they share: the heap, the path, the loops around, the trace, and the entry points into each other.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from verifier.hardware.catalogue import Hardware
from verifier.hardware.chips import Chip
from verifier.hardware.targets import Target
from verifier.source import ir
from verifier.source.ir import Span
from verifier.source.text import SourceError
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Sym
from verifier.symbolic.interpreter.heap import Box, Heap, Scope
from verifier.symbolic.interpreter.inputs import Inputs, Parameter
from verifier.symbolic.lanes import SystemAddress
from verifier.symbolic.machine import Dialect
from verifier.symbolic.trace import (
    Assumption,
    Axis,
    Buffer,
    DType,
    LedgerEntry,
    Loop,
    Operation,
    Storage,
    Trace,
    View,
)
from verifier.symbolic.values import Function, RecordType, RecordValue

if TYPE_CHECKING:
    from verifier.source.project import Module, Project

#: nested calls before an inlined helper is given up
MAX_DEPTH = 60
#: statements executed per run before it is given up
MAX_STEPS = 400_000


class AbortedRunError(Exception):
    """The run cannot go on (budget); what was traced so far stays, the kernel is unknown."""

    def __init__(self, reason: str, span: Span) -> None:
        super().__init__(reason)
        self.reason = reason
        self.span = span


class DeadPathError(Exception):
    """A call never returns on this path: every way through it raises."""


@dataclass(frozen=True, slots=True)
class HostCheck:
    """A check raised while interpreting: the rule's id and what must hold."""

    rule: str
    predicate: Bool
    span: Span
    text: str
    message: str
    order: int
    path: tuple[Bool, ...]
    given: tuple[Bool, ...]
    values: tuple[tuple[str, Expr], ...]
    facts: tuple[str, ...]
    notes: tuple[tuple[Span, str], ...]
    help: tuple[str, ...]
    severity: str | None
    exact: bool
    reason: str


@dataclass(slots=True)
class Escape:
    """A path that left a scope early: under ``guard``, with the state it left behind."""

    guard: Bool
    heap: Heap
    value: object
    span: Span | None = None


@dataclass(slots=True)
class Frame:
    """A running function."""

    module: Module
    scope: int
    path_base: int
    returns: list[Escape] = field(default_factory=list)
    function: Function | None = None
    breaks: list[list[Escape]] = field(default_factory=list)
    continues: list[list[Escape]] = field(default_factory=list)
    loop_bases: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Awaited:
    """A definition that is entered as soon as it is made: a kernel inside another function."""

    definition: ir.FunctionDef
    enter: Callable[[Function], None]


@dataclass(slots=True)
class Mark:
    """How far a run had come, to go back there."""

    heap: Heap
    path: int
    order: int
    lengths: tuple[int, ...]
    calls: int


class VM:
    """One run of one kernel under one choice of ranks, target and API generation."""

    def __init__(
        self,
        project: Project,
        dialect: Dialect,
        hardware: Hardware,
        api: str,
        trace: Trace,
        inputs: Inputs,
        decide: Callable[[tuple[Bool, ...], Bool], bool | None],
        grid: tuple[int, ...] | None = None,
        deadline: float | None = None,
    ) -> None:
        self.project = project
        self.dialect = dialect
        self.hardware = hardware
        self._api = api
        self.trace = trace
        self.inputs = inputs
        self._decide = decide
        self.grid_sizes = grid
        #: ``time.monotonic()`` at which the run is given up; None: never
        self.deadline = deadline
        self.base: dict[int, Box] = {}
        self.heap = Heap(self.base)
        self._path: list[Bool] = []
        self._loops: list[Loop] = []
        self.frames: list[Frame] = []
        self.checks: list[HostCheck] = []
        self.order = 0
        self.steps = 0
        self.depth = 0
        self.target_name: str | None = None
        #: the nested definition that the run is on its way to
        self.awaited: Awaited | None = None
        self.globals: dict[tuple[str, str], object] = {}
        self.module_scopes: dict[str, int] = {}
        self._evaluating: set[tuple[str, str]] = set()
        #: counters through a product, ``a * b + c``: b, and the quotient and remainder by it
        self.counters: dict[Expr, tuple[Expr, Expr, Expr]] = {}
        #: functions whose text was looked through (kernels that a front end compiles)
        self.scanned: set[Span] = set()
        self._storages: dict[int, Storage] = {}
        self._names: dict[str, int] = {}
        self._facts: tuple[tuple[int, ...], tuple[Bool, ...]] | None = None
        self._axes = 0

    # -- what dialects see (verifier.symbolic.machine.Machine) -----------------------

    @property
    def target(self) -> Target:
        assert isinstance(self.hardware, Target)
        return self.hardware

    @property
    def chip(self) -> Chip:
        assert isinstance(self.hardware, Chip)
        return self.hardware

    @property
    def api(self) -> str:
        return self._api

    @property
    def loops(self) -> tuple[Loop, ...]:
        return tuple(self._loops)

    @property
    def path(self) -> tuple[Bool, ...]:
        return tuple(self._path)

    def next_order(self) -> int:
        self.order += 1
        return self.order

    def axis(self, size: Expr) -> Axis:
        self._axes += 1
        atom = E.symbol(f"@{self._axes}", 0, origin="axis").as_atom()
        assert isinstance(atom, Sym)
        return Axis(atom, size)

    def allocate(
        self,
        name: str,
        shape: Sequence[Expr],
        dtype: DType,
        buffer: Buffer,
        span: Span,
        *,
        kind: str = "alloc",
        partition_axis: int | None = 0,
        address: tuple[Expr, Expr] | None = None,
        placement: Mapping[str, object] | None = None,
        initialised: bool = False,
        argument_spans: Mapping[str, Span] | None = None,
    ) -> View:
        order = self.next_order()
        storage = Storage(
            id=order,
            name=name,
            buffer=buffer,
            dtype=dtype,
            shape=tuple(shape),
            partition_axis=partition_axis if buffer.on_chip else None,
            span=span,
            kind=kind,
            loops=self.loops,
            path=self.path,
            address=address,
            order=order,
            initialised=initialised,
            placement=dict(placement or {}),
            argument_spans=dict(argument_spans or {}),
        )
        # A body that runs again (to confirm a guess about a loop) makes the same tensors again.
        earlier = self._storages.get(order)
        if earlier is not None and earlier.span == span and earlier.kind == kind:
            for field_name in Storage.__slots__:
                setattr(earlier, field_name, getattr(storage, field_name))
            storage = earlier
        self._storages[order] = storage
        self.trace.storages.append(storage)
        return self.whole(storage, span)

    def whole(self, storage: Storage, span: Span | None = None) -> View:
        """The view of all of a storage made in the current loops."""
        axes = tuple(self.axis(extent) for extent in storage.shape)
        return View(
            storage=storage,
            instance=tuple(loop.index for loop in storage.loops),
            frame=storage.shape,
            frame_partition=storage.partition_axis,
            axes=axes,
            coords=tuple(axis.index for axis in axes),
            dtype=storage.dtype,
            span=span,
        )

    def emit(self, operation: Operation) -> None:
        self.trace.operations.append(operation)

    def check(
        self,
        rule: str,
        predicate: Bool,
        span: Span,
        text: str,
        message: str,
        *,
        given: tuple[Bool, ...] = (),
        values: tuple[tuple[str, Expr], ...] = (),
        facts: tuple[str, ...] = (),
        notes: tuple[tuple[Span, str], ...] = (),
        help: tuple[str, ...] = (),
        severity: str | None = None,
        exact: bool = True,
        reason: str = "",
    ) -> None:
        self.checks.append(
            HostCheck(
                rule=rule,
                predicate=predicate,
                span=span,
                text=text,
                message=message,
                order=self.next_order(),
                path=self.path,
                given=(*(loop.within for loop in self._loops), *given),
                values=values,
                facts=facts,
                notes=notes,
                help=help,
                severity=severity,
                exact=exact,
                reason=reason,
            )
        )

    def approximate(self, kind: str, message: str, span: Span, symbols: Sequence[str] = ()) -> None:
        entry = LedgerEntry(kind, message, span, tuple(symbols), self.order)
        for position, known in enumerate(self.trace.ledger):
            if known.message == message and known.span == span:
                if known.symbols and symbols:  # another symbol for the same
                    both = (*known.symbols, *symbols)
                    self.trace.ledger[position] = replace(known, symbols=both)
                return
        self.trace.ledger.append(entry)

    def settled(self, value: Expr) -> Expr:
        """The value with quotients that the path's facts make zero replaced by zero."""
        for atom in value.atoms():
            if isinstance(atom, E.Div):
                inside = E.and_(E.ge(atom.num, 0), E.lt(atom.num, atom.den))
                if self.decide(inside) is True:
                    left = {mono: c for mono, c in value.terms if atom not in mono}
                    return self.settled(Expr.make(left, value.const))
        return value

    def unmodelled(self, name: str, span: Span) -> None:
        if (name, span) not in self.trace.unmodelled:
            self.trace.unmodelled.append((name, span))

    def facts(self) -> tuple[Bool, ...]:
        """Everything known at the current point."""
        key = (
            len(self.trace.assumptions),
            *(id(p) for p in self._path),
            *(id(loop) for loop in self._loops),
        )
        if self._facts is None or self._facts[0] != key:
            facts = (
                *(a.condition for a in self.trace.assumptions),
                *self._path,
                *(loop.within for loop in self._loops),
            )
            self._facts = (key, facts)
        return self._facts[1]

    def decide(self, condition: Bool) -> bool | None:
        if condition is E.TRUE:
            return True
        if condition is E.FALSE:
            return False
        return self._decide(self.facts(), condition)

    def assume(self, condition: Bool, text: str, span: Span, kind: str) -> None:
        everywhere = not self._path and not self._loops
        guard = E.and_(*self._path, *(loop.within for loop in self._loops))
        condition = E.implies(guard, condition)
        if condition is not E.TRUE:
            self.trace.assumptions.append(
                Assumption(condition, text, span, kind, self.next_order(), everywhere)
            )

    def grid(self, axis: int) -> tuple[Expr, Expr]:
        """``(program_id(axis), num_programs(axis))``; the grid grows with the axes asked for."""
        while len(self.trace.grid) <= axis:
            number = len(self.trace.grid)
            if isinstance(self.hardware, Chip):
                self._cores(self.hardware, number)
                continue
            size: Expr
            if self.grid_sizes is not None:
                size = E.const(self.grid_sizes[number] if number < len(self.grid_sizes) else 1)
            elif self._api == "beta1":
                size = E.symbol(f"num_programs({number})", 1, origin="grid")
            else:
                most = self.target.lnc_max if number == 0 else 1
                size = E.symbol(f"num_programs({number})", 1, most, origin="grid")
            index = E.symbol(f"program_id({number})", 0, origin="loop")
            span = self.trace.span
            loop = Loop(index, size, "grid", f"program_id({number})", span)
            self.trace.grid = (*self.trace.grid, loop)
            self.trace.assumptions.append(
                Assumption(
                    loop.within, f"program_id({number}) < num_programs({number})", None, "grid"
                )
            )
        loop = self.trace.grid[axis]
        return loop.index, loop.trips

    def _cores(self, chip: Chip, number: int) -> None:
        """Cores (axis 0) or groups of them (axis 1); a launch says ``(groups, cores)``."""
        name = ("core", "group")[number]
        size = E.symbol(f"get_{name}_num()", 1, chip.cores, origin="grid")
        if self.grid_sizes is not None:
            given = (*self.grid_sizes[1:2], 1) if number == 0 else self.grid_sizes[:1]
            size = E.const(given[0])
            self.check(
                "ppl-core-count",
                E.le(size, chip.cores),
                self.trace.span,
                f"{name}s <= {chip.cores}",
                f"the launch asks for {given[0]} {name}s; {chip.name} has {chip.cores} cores",
                facts=("PPL-A01",),
            )
        index = E.symbol(f"get_{name}_index()", 0, origin="loop")
        loop = Loop(index, size, "grid", f"get_{name}_index()", self.trace.span)
        self.trace.grid = (*self.trace.grid, loop)
        text = f"get_{name}_index() < get_{name}_num()"
        self.trace.assumptions.append(Assumption(loop.within, text, None, "grid"))

    # -- coercions -------------------------------------------------------------------

    def as_view(self, value: object, span: Span) -> View | None:
        from verifier.symbolic.interpreter import coercions

        return coercions.as_view(self, value, span)

    def declared(self, value: object, shape: Sequence[Expr], span: Span) -> View | None:
        from verifier.symbolic.interpreter import pointers

        return pointers.declared(self, value, shape, span)

    def as_int(self, value: object, span: Span) -> Expr | None:
        from verifier.symbolic.interpreter import coercions

        return coercions.as_int(self, value, span)

    def as_bool(self, value: object, span: Span) -> Bool | None:
        from verifier.symbolic.interpreter import coercions

        return coercions.truth(self, value, span)

    def as_dtype(self, value: object, span: Span) -> DType | None:
        from verifier.symbolic.interpreter import coercions

        return coercions.as_dtype(self, value, span)

    def as_items(self, value: object, span: Span) -> tuple[object, ...] | None:
        from verifier.symbolic.interpreter import coercions

        return coercions.as_items(self, value, span)

    def as_address(self, value: object, span: Span) -> SystemAddress | None:
        from verifier.symbolic.interpreter import addresses

        return addresses.as_address(self, value)

    # -- records ---------------------------------------------------------------------

    def record(self, kind: RecordType, values: Sequence[object], origin: object = None) -> object:
        from verifier.symbolic.interpreter import records

        return records.new(self, kind, values, origin)

    def contents(self, value: object) -> RecordValue | None:
        from verifier.symbolic.interpreter import records

        return records.contents(self, value)

    def fill(self, value: object, values: Sequence[object], origin: object = None) -> bool:
        from verifier.symbolic.interpreter import records

        return records.fill(self, value, values, origin)

    # -- entry points of the sibling modules -----------------------------------------

    def eval(self, node: ir.Expr) -> object:
        from verifier.symbolic.interpreter import expressions

        return expressions.evaluate(self, node)

    def exec(self, body: Sequence[ir.Stmt]) -> str:
        from verifier.symbolic.interpreter import statements

        return statements.execute(self, body)

    # -- paths, loops, state ---------------------------------------------------------

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    def scope(self) -> Scope:
        box = self.heap.get(self.frame.scope)
        assert isinstance(box, Scope)
        return box

    @contextlib.contextmanager
    def guarded(self, condition: Bool) -> Iterator[None]:
        """Run under one more path condition; what narrowed the path inside is dropped after."""
        base = len(self._path)
        if condition is not E.TRUE:
            self._path.append(condition)
        try:
            yield
        finally:
            del self._path[base:]

    @contextlib.contextmanager
    def inside(self, loop: Loop) -> Iterator[None]:
        self._loops.append(loop)
        base = len(self._path)
        try:
            yield
        finally:
            self._loops.pop()
            del self._path[base:]

    def narrow(self, condition: Bool) -> None:
        """Add a condition to the rest of the path."""
        if condition is not E.TRUE:
            self._path.append(condition)

    def guard_since(self, base: int) -> Bool:
        return E.and_(*self._path[base:])

    def path_length(self) -> int:
        return len(self._path)

    def cut_path(self, length: int) -> None:
        del self._path[length:]

    def mark(self) -> Mark:
        t = self.trace
        lengths = (
            len(t.storages),
            len(t.operations),
            len(t.assumptions),
            len(t.ledger),
            len(t.unmodelled),
            len(self.checks),
        )
        return Mark(self.heap.fork(), len(self._path), self.order, lengths, t.calls)

    def back_to(self, mark: Mark) -> None:
        """Undo everything since the mark; it can be gone back to again."""
        t = self.trace
        self.heap = mark.heap.fork()
        del self._path[mark.path :]
        self.order = mark.order
        del t.storages[mark.lengths[0] :]
        del t.operations[mark.lengths[1] :]
        del t.assumptions[mark.lengths[2] :]
        del t.ledger[mark.lengths[3] :]
        del t.unmodelled[mark.lengths[4] :]
        del self.checks[mark.lengths[5] :]
        t.calls = mark.calls
        self._facts = None

    def loop_symbol(self, name: str) -> Sym:
        """A fresh loop index that is shown under the name the kernel uses."""
        count = self._names.get(name, 0)
        self._names[name] = count + 1
        shown = name if count == 0 else f"{name}'{count + 1}"
        atom = E.symbol(f"{shown}", 0, origin="loop").as_atom()
        assert isinstance(atom, Sym)
        return atom

    def dies(self) -> NoReturn:
        """Tracing stops here on this path: Python raises an error that nothing catches."""
        self.trace.dies = True
        raise DeadPathError

    def step(self, span: Span) -> None:
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise AbortedRunError("the kernel is too long to interpret", span)
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise AbortedRunError("the time for this kernel is used up", span)

    def text(self, span: Span) -> str:
        """The source text of a span, on one line."""
        try:
            module = self.project.module(Path(span.path))
        except SourceError:
            return ""
        lines = module.lines[span.line - 1 : span.end_line]
        if not lines:
            return ""
        if len(lines) == 1:
            return lines[0][span.column : span.end_column]
        parts = [lines[0][span.column :], *lines[1:-1], lines[-1][: span.end_column]]
        return " ".join(part.strip() for part in parts)

    def parameter(self, name: str) -> Parameter | None:
        return self.inputs.parameters.get(name)
