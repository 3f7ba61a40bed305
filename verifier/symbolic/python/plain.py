"""The hooks of a front end that runs Python as it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from verifier.source import ir
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.dialect import Declare, GridAxis
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.machine import Call, Machine
from verifier.symbolic.tensors import LoopKind, View
from verifier.symbolic.trace import LedgerKind
from verifier.symbolic.values import ApiRef, DeviceData, HostUse, Opaque, Range

if TYPE_CHECKING:
    from verifier.source.project import Module
    from verifier.symbolic.python.inputs import Parameter
    from verifier.symbolic.python.kind import Kind
    from verifier.symbolic.python.machine import DeviceMachine
    from verifier.symbolic.python.model import Class, Function
    from verifier.symbolic.python.vm import VM


def _nothing(body: Sequence[ir.Stmt]) -> None:
    """Bodies end as they do in Python."""


class PlainDialect:
    """The hooks of a front end that runs kernels as Python."""

    judges_statements = False

    def prepare(self, machine: VM, definition: ir.FunctionDef, module: Module) -> None:
        """Nothing to do."""

    def enter(self, machine: VM, definition: ir.FunctionDef | ir.LambdaExpr, span: Span) -> None:
        """Nothing to do."""

    def computes(self, machine: VM, path: str, given: Sequence[object], span: Span) -> None:
        """Nothing to do."""

    def keyed(self, machine: VM, key: object, span: Span, *, stored: bool = True) -> None:
        """Nothing to do."""

    def instantiate(self, machine: VM, cls: Class, span: Span) -> None:
        """Nothing to do."""

    def operates(self, machine: VM, cls: Class, method: str, span: Span) -> None:
        """Nothing to do."""

    def launched(self, machine: VM, kernel: Function, span: Span) -> None:
        """Nothing to do."""

    def compares_annotations(self, machine: VM) -> bool:
        """Nobody reads annotations of local variables."""
        return False

    def statement(self, machine: VM, stmt: ir.Stmt) -> None:
        """Nothing to do."""

    def assigned(self, machine: VM, stmt: ir.Assign) -> None:
        """Nothing to do."""

    def branch(self, machine: VM, stmt: ir.If, test: Bool) -> None:
        """Nothing to do."""

    def region(
        self, machine: VM, stmt: ir.For | ir.While | ir.If, unrolled: bool
    ) -> Callable[[Sequence[ir.Stmt]], None]:
        """Nothing to do."""
        return _nothing

    def drops(self, machine: VM, stmt: ir.Assert) -> bool:
        """Assertions are made."""
        return False

    def conditional(self, machine: VM, node: ir.IfExpr, test: Bool) -> Bool:
        """As Python does."""
        return test

    def divides(
        self, machine: VM, node: ir.BinOp | ir.AugAssign, left: object, right: object
    ) -> None:
        """As Python does."""

    def identical(self, machine: VM, node: ir.Compare, value: object) -> object:
        """As Python does."""
        return value

    def inplace(
        self, machine: VM, op: str, target: View, value: object, span: Span
    ) -> object | None:
        """The tensor itself is written."""
        machine.dialect.store(machine, target, value, op, span, span)
        return None

    def on_device(
        self,
        machine: VM,
        use: HostUse,
        data: DeviceData,
        what: str,
        span: Span,
        held: Sequence[View] = (),
    ) -> object:
        """Not followed."""
        return machine.unfollowed(f"{use.value} of {what} is not followed", span)

    def tensor_truth(self, machine: Machine, span: Span, *, optional: bool = False) -> bool | None:
        """A tensor is an object like others."""
        return True

    def loop_factors(self, machine: VM, stmt: ir.For, range: Range) -> tuple[Expr, str] | None:
        """One loop."""
        return None

    def traced_once(self, machine: VM, kind: LoopKind) -> bool:
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

    def kinds(self) -> Mapping[type, Kind[VM]]:
        """No values of its own."""
        return {}

    def number_attribute(self, machine: VM, value: object, name: str, span: Span) -> object | None:
        """As Python has it."""
        return None

    def view_names(self, machine: Machine | None = None) -> frozenset[str] | None:
        """Not known."""
        return None

    def imports(self, machine: Machine, dotted: str) -> str | None:
        """All generations have what one has."""
        return None

    def imported(self, machine: Machine, dotted: str, span: Span) -> None:
        """Nothing is said."""

    def closed(self, owner: ApiRef, attr: str) -> frozenset[str] | None:
        """Not known."""
        return None


class WithoutTensors(PlainDialect):
    """The hooks of a front end whose kernels have no tensors as values."""

    def view_attribute(self, machine: Machine, view: View, attr: str, span: Span) -> object | None:
        """No tensors, no attributes of them."""
        return None

    def view_method(self, machine: Machine, view: View, method: str, call: Call) -> object | None:
        """No tensors, no methods of them."""
        return None

    def subscript(self, machine: Machine, view: View, index: object, span: Span) -> object:
        """Memory is not subscripted."""
        return Opaque(f"an item of `{view.name}`")

    def operator(
        self, machine: Machine, op: str, left: object, right: object, span: Span
    ) -> object | None:
        """No operators on tensors."""
        return None

    def store(
        self,
        machine: Machine,
        target: View,
        value: object,
        op: str | None,
        span: Span,
        value_span: Span,
    ) -> None:
        """Nothing is stored to but by operations."""
        machine.approximate(LedgerKind.OPAQUE, f"a store to `{target.name}` is not followed", span)
