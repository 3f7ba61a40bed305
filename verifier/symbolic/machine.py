"""The seam between the interpreter and whatever gives meaning to device calls.

A dialect sees a :class:`Machine`: it allocates tensors, emits operations and raises checks
through it, and never touches the interpreter's state. The interpreter sees a :class:`Dialect`.
What a front end makes of Python that Python itself would not is said by hooks of the dialect, which
see the whole machine; :class:`PlainDialect` has those of a front end that runs Python as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from verifier.hardware.chips import Chip
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.source import ir
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.lanes import SystemAddress
from verifier.symbolic.tensors import Axis, DType, Loop, Storage, View
from verifier.symbolic.trace import Operation
from verifier.symbolic.values import ApiRef, Range, RecordType, RecordValue

if TYPE_CHECKING:
    from verifier.source.project import Module
    from verifier.symbolic.python.inputs import Parameter
    from verifier.symbolic.python.kind import Kind
    from verifier.symbolic.python.machine import DeviceMachine
    from verifier.symbolic.python.vm import VM


@dataclass(frozen=True, slots=True)
class Arg:
    """An argument of a call: its value and the text it came from."""

    value: object
    span: Span


@dataclass(frozen=True, slots=True)
class Call:
    """A call as written.

    ``text`` is the callee's source, ``target_name`` the name that the result is about to be bound
    to (for naming results in messages), if it is a plain name.
    """

    args: tuple[Arg, ...]
    keywords: Mapping[str, Arg]
    span: Span
    text: str
    target_name: str | None = None


class Machine(Protocol):
    """What a dialect may do. Nothing is raised: problems become checks or ledger entries."""

    @property
    def target(self) -> Target:
        """The NeuronCore; only for the dialects that run on one."""
        ...

    @property
    def chip(self) -> Chip:
        """The TPU; only for the dialects that run on one."""
        ...

    @property
    def api(self) -> str:
        """Generation in force: ``beta1``, ``0.2`` ... ``0.6``."""
        ...

    @property
    def loops(self) -> tuple[Loop, ...]:
        """Loops around the current point, outermost first."""
        ...

    @property
    def path(self) -> tuple[Bool, ...]:
        """Conditions of the current path."""
        ...

    def next_order(self) -> int:
        """The next position in program order (operations and allocations share the numbering)."""
        ...

    def axis(self, size: Expr) -> Axis:
        """A fresh axis of that extent."""
        ...

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
        """A new storage in the current loops and path; the view of all of it."""
        ...

    def emit(self, operation: Operation) -> None:
        """Append an operation to the trace."""
        ...

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
        """Raise a check of the host rule ``rule`` (an id) at the current point."""
        ...

    def approximate(self, kind: str, message: str, span: Span, symbols: Sequence[str] = ()) -> None:
        """Enter an approximation into the ledger."""
        ...

    def unmodelled(self, name: str, span: Span) -> None:
        """Say that a device call has no model; the kernel cannot be called verified then."""
        ...

    def grid(self, axis: int) -> tuple[Expr, Expr]:
        """``(program index, number of programs)`` along an axis of the launch grid."""
        ...

    def decide(self, condition: Bool) -> bool | None:
        """Whether the path's facts settle a condition, by cheap means only."""
        ...

    def assume(self, condition: Bool, text: str, span: Span, kind: str) -> None:
        """Add an assumption to the rest of the path."""
        ...

    # -- coercions: they force lazily typed parameters; None when the value cannot be one ------

    def as_view(self, value: object, span: Span) -> View | None:
        """The tensor a value is (a parameter used as a tensor becomes one)."""
        ...

    def declared(self, value: object, shape: Sequence[Expr], span: Span) -> View | None:
        """The tensor of that shape at which a pointer points."""
        ...

    def as_int(self, value: object, span: Span) -> Expr | None: ...

    def as_bool(self, value: object, span: Span) -> Bool | None: ...

    def as_dtype(self, value: object, span: Span) -> DType | None: ...

    def as_items(self, value: object, span: Span) -> tuple[object, ...] | None:
        """The items of a tuple or list of known length."""
        ...

    def as_address(self, value: object, span: Span) -> SystemAddress | None:
        """The place in system memory a value is (a parameter used as one becomes a buffer)."""
        ...

    # -- records ------------------------------------------------------------------------------

    def record(self, kind: RecordType, values: Sequence[object], origin: object = None) -> object:
        """A new record; ``origin`` says how its fields were computed."""
        ...

    def contents(self, value: object) -> RecordValue | None:
        """What a record holds now; None if the value is no record."""
        ...

    def fill(self, value: object, values: Sequence[object], origin: object = None) -> bool:
        """Assign all fields of a record; False if the value is none that can be assigned to."""
        ...


class Dialect(Protocol):
    """What gives meaning to names of a kernel API, to device calls and to operators on tiles."""

    name: str

    def root(self, dotted: str) -> object | None:
        """The value of an imported dotted name (``nki.language``), or None if it is not ours."""
        ...

    def external(self, path: str) -> object | None:
        """What a name of another library (a NumPy dtype or operator) means to kernels, or None."""
        ...

    def attribute(self, machine: Machine, owner: ApiRef, attr: str, span: Span) -> object | None:
        """``owner.attr``: a namespace, a function, a constant; None if there is no such name."""
        ...

    def call(self, machine: Machine, api: ApiRef, call: Call) -> object:
        """A call of an API function. Unknown functions are reported as unmodelled."""
        ...

    def view_attribute(self, machine: Machine, view: View, attr: str, span: Span) -> object | None:
        """``tensor.attr`` for data attributes (``shape``, ``dtype`` ...); None if unknown."""
        ...

    def view_method(self, machine: Machine, view: View, method: str, call: Call) -> object | None:
        """``tensor.method(...)``; None if there is no such method."""
        ...

    def api_subscript(self, machine: Machine, api: ApiRef, index: object, span: Span) -> object:
        """``name[index]`` for a name of the API (``nl.mgrid[0:128, 0:512]``)."""
        ...

    def subscript(self, machine: Machine, view: View, index: object, span: Span) -> object:
        """``tensor[index]``; ``index`` is one value or a tuple of values."""
        ...

    def operator(
        self, machine: Machine, op: str, left: object, right: object, span: Span
    ) -> object | None:
        """A Python operator with a tile operand (Beta 1); ``right`` is None for unary ones."""
        ...

    def store(
        self,
        machine: Machine,
        target: View,
        value: object,
        op: str | None,
        span: Span,
        value_span: Span,
    ) -> None:
        """``target[...] = value``, or ``target[...] op= value`` when ``op`` is given."""
        ...

    # -- hooks: what the front end makes of Python ------------------------------------------------

    def prepare(self, machine: VM, definition: ir.FunctionDef, module: Module) -> None:
        """Before a kernel is entered."""
        ...

    def enter(self, machine: VM, definition: ir.FunctionDef | ir.LambdaExpr, span: Span) -> None:
        """Before a function of the project is called."""
        ...

    def branch(self, machine: VM, stmt: ir.If, test: Bool) -> None:
        """Before an ``if`` statement branches."""
        ...

    def conditional(self, machine: VM, node: ir.IfExpr, test: Bool) -> ir.Expr | None:
        """The alternative of ``a if test else b`` that is always taken; None: as Python does."""
        ...

    def loop_factors(self, machine: VM, stmt: ir.For, range: Range) -> tuple[Expr, str] | None:
        """The inner factor of a loop over a product, and its name; None: one loop."""
        ...

    def tensor_truth(self, machine: VM, span: Span) -> Bool:
        """``bool(tensor)``."""
        ...

    def traced_once(self, machine: VM, kind: str) -> bool:
        """Whether the body of a loop of that kind is traced once, whatever its trips."""
        ...

    def grid_axis(self, machine: DeviceMachine, number: int) -> GridAxis:
        """An axis of the launch grid, when it is first asked for."""
        ...

    # -- hooks: inputs and values -----------------------------------------------------------------

    def arguments(
        self, machine: VM, definition: ir.FunctionDef, declare: Declare
    ) -> Mapping[str, object] | None:
        """The arguments of a kernel whose inputs are not its parameters; None: they are."""
        ...

    def parameter(self, machine: VM, p: Parameter, annotation: ir.Expr | None) -> object | None:
        """The value of an input that the dialect knows from its annotation, else None."""
        ...

    def kinds(self) -> Mapping[type, Kind]:
        """How values behave that are the dialect's own, by type."""
        ...

    def view_names(self) -> frozenset[str] | None:
        """All attributes and methods of tensors; None: there may be others."""
        ...

    def closed(self, owner: ApiRef) -> frozenset[str] | None:
        """All names in a namespace of the API; None: there may be others."""
        ...


@dataclass(frozen=True, slots=True)
class GridAxis:
    """An axis of the launch grid: ``index`` and ``count`` as kernels write them, and the count."""

    index: str
    count: str
    size: Expr


@dataclass(frozen=True, slots=True)
class Input:
    """One input of a kernel as it is declared; ``default`` is there if ``has_default``."""

    name: str
    span: Span
    annotation: ir.Expr | None = None
    default: object = None
    has_default: bool = False


#: makes the value of an input
Declare = Callable[[Input], object]


class PlainDialect:
    """The hooks of a front end that runs kernels as Python."""

    def prepare(self, machine: VM, definition: ir.FunctionDef, module: Module) -> None:
        """Nothing to do."""

    def enter(self, machine: VM, definition: ir.FunctionDef | ir.LambdaExpr, span: Span) -> None:
        """Nothing to do."""

    def branch(self, machine: VM, stmt: ir.If, test: Bool) -> None:
        """Nothing to do."""

    def conditional(self, machine: VM, node: ir.IfExpr, test: Bool) -> ir.Expr | None:
        """As Python does."""
        return None

    def tensor_truth(self, machine: VM, span: Span) -> Bool:
        """A tensor is an object like others."""
        return E.TRUE

    def loop_factors(self, machine: VM, stmt: ir.For, range: Range) -> tuple[Expr, str] | None:
        """One loop."""
        return None

    def traced_once(self, machine: VM, kind: str) -> bool:
        """Every trip runs."""
        return False

    def grid_axis(self, machine: DeviceMachine, number: int) -> GridAxis:
        """A launch of one program."""
        return GridAxis(f"program_id({number})", f"num_programs({number})", E.const(1))

    def arguments(
        self, machine: VM, definition: ir.FunctionDef, declare: Declare
    ) -> Mapping[str, object] | None:
        """The parameters are the inputs."""
        return None

    def parameter(self, machine: VM, p: Parameter, annotation: ir.Expr | None) -> object | None:
        """Annotations say nothing."""
        return None

    def kinds(self) -> Mapping[type, Kind]:
        """No values of its own."""
        return {}

    def view_names(self) -> frozenset[str] | None:
        """Not known."""
        return None

    def closed(self, owner: ApiRef) -> frozenset[str] | None:
        """Not known."""
        return None


__all__ = [
    "Arg",
    "Call",
    "Declare",
    "Dialect",
    "GridAxis",
    "Input",
    "Machine",
    "PlainDialect",
    "Storage",
]
