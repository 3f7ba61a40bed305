"""The PPL dialect: what names, calls and operators of a kernel mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from verifier.dialects.ppl import (
    frontend,
    host,
    isa,
    launches,
    names,
    operands,
    pointers,
    regions,
    tensors,
    visiting,
    wrapped,
)
from verifier.dialects.ppl.binding import bind, fits, sorted_call
from verifier.dialects.ppl.emission import perform
from verifier.hardware.chips import Chip
from verifier.hardware.engines import Engine
from verifier.source import ir
from verifier.source.ir import Span
from verifier.source.project import Module
from verifier.symbolic import absent
from verifier.symbolic import expr as E
from verifier.symbolic.dialect import GridAxis
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.machine import Arg, Call, Machine
from verifier.symbolic.python.inputs import Parameter
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.machine import DeviceMachine
from verifier.symbolic.python.plain import PlainDialect
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import View
from verifier.symbolic.values import ApiRef, Opaque, Range

#: Python's operators on tensors -> the function for integers and the one for floats
_OPERATORS: Final[dict[str, str]] = {
    "+": "tiu.fadd",
    "-": "tiu.fsub",
    "*": "tiu.fmul",
    "/": "tiu.truediv",
    "&": "tiu.bitwise_and",
    "|": "tiu.bitwise_or",
    "^": "tiu.bitwise_xor",
    "<": "tiu.lt",
    ">": "tiu.gt",
    "==": "tiu.eq",
}


class PplDialect(PlainDialect):
    """:class:`verifier.symbolic.machine.Dialect` for ``ppl.language``."""

    name = "ppl"
    judges_statements = True

    def __init__(self) -> None:
        #: calls of ``gtensor`` whose result has no name: as an argument they are no tensors yet
        self._unnamed: set[Span] = set()
        #: functions whose text was looked through, and the assertions that are not compiled
        self._scanned: set[Span] = set()
        self._dropped: set[Span] = set()
        #: the parameters that are annotated as constants
        self._constants: frozenset[str] = frozenset()
        self._visits = visiting.Visits()

    def root(self, dotted: str) -> object | None:
        """The value of an imported dotted name, or None if it is not of PPL."""
        return names.root(dotted)

    def external(self, path: str) -> object | None:
        """Nothing of other libraries means anything to PPL."""
        return None

    def attribute(self, machine: Machine, owner: ApiRef, attr: str, span: Span) -> object | None:
        """``owner.attr``, or None if PPL has no such name, which is a finding."""
        found = names.attribute(owner, attr)
        if found is None and names.is_missing(owner.name, attr):
            path = owner.name if owner.name == "pl" else f"pl.{owner.name}"
            _no_such_name(machine, names.suggestion(owner.name, attr), attr, path, span)
        return found

    def call(self, machine: Machine, api: ApiRef, call: Call) -> object:
        """A call of an API function: an operation, a tensor, a number."""
        handler = host.HANDLERS.get(api.name)
        if handler is not None:
            if api.name == "pl.gtensor" and call.target_name is None:
                self._unnamed.add(call.span)
            if isinstance(machine, VM):
                wrapped.given_all(machine, api.name, call)
            fits(machine, api.name, call)
            return handler(machine, call)
        instruction = isa.find(api.name)
        if instruction is None:
            machine.unmodelled(f"{isa.PREFIX}{api.name.removeprefix('pl.')}", call.span)
            return Opaque(f"the result of {call.text}, which is not modelled")
        if isinstance(machine, VM):
            call = sorted_call(machine, instruction, call)
        bound = bind(machine, instruction, call)
        if not bound.complete:
            absent.writes(machine, call)
            lost = f"`{call.text}` is called without its arguments"
            machine.unmodelled(instruction.name, call.span, lost)
            return Opaque(f"the result of {call.text} without its arguments")
        self._inline(machine, instruction, call)
        if isinstance(machine, VM):
            for name, operand in bound.operands.items():
                wrapped.given(machine, api.name, name, operand.span, operand.value)
        return perform(machine, instruction, bound, call)

    def _inline(self, machine: Machine, instruction: Instruction, call: Call) -> None:
        """A global tensor made in the call itself is not one yet: the call does nothing (C07)."""
        if instruction.engines.default is not Engine.DMA:
            return
        for argument in (*call.args, *call.keywords.values()):
            if argument.span in self._unnamed and isinstance(argument.value, View):
                machine.check(
                    "ppl-inline-gtensor",
                    E.FALSE,
                    argument.span,
                    "the global tensor has a name or a view before it is moved",
                    f"`{call.text}` does nothing with a global tensor that is made in the call",
                    facts=("PPL-C07",),
                    help=("give it a name first, or take a sub_view of it",),
                )

    def api_subscript(self, machine: Machine, api: ApiRef, index: object, span: Span) -> object:
        """``name[index]`` of the API means nothing."""
        return Opaque(f"{api.name}[...]", harmless=True)

    def number_attribute(self, machine: VM, value: object, name: str, span: Span) -> object | None:
        """What numbers of the front end have besides: ``value``, ``to``, ``dtype``."""
        return None if machine.importing else host.of_number(machine, value, name)

    def view_attribute(self, machine: Machine, view: View, attr: str, span: Span) -> object | None:
        """Data attributes of tensors."""
        return tensors.attribute(view, attr)

    def view_method(self, machine: Machine, view: View, method: str, call: Call) -> object | None:
        """``sub_view``, ``view``; None if there is no such method."""
        if isinstance(machine, VM):
            wrapped.given_all(machine, f"tensor.{method}", call)
        fits(machine, f"tensor.{method}", call)
        found = tensors.method(machine, view, method, call)
        if found is None and names.is_missing("tensor", method):
            meant = names.suggestion("tensor", method)
            _no_such_name(machine, meant, method, view.name, call.span)
        return found

    def subscript(self, machine: Machine, view: View, index: object, span: Span) -> object:
        """``tensor[a:b, ...]``."""
        return tensors.subscript(machine, view, index, span)

    def operator(
        self, machine: Machine, op: str, left: object, right: object, span: Span
    ) -> object | None:
        """``a + b`` of tensors: the device function, with a new tensor as result."""
        name = _OPERATORS.get(op)
        instruction = isa.find(name) if name is not None else None
        if instruction is None or right is None:
            return None
        call = Call((Arg(left, span), Arg(right, span)), {}, span, f"`{op}`")
        return perform(machine, instruction, bind(machine, instruction, call), call)

    def inplace(
        self, machine: VM, op: str, target: View, value: object, span: Span
    ) -> object | None:
        """``t op= value`` is ``t = t op value``."""
        return self.operator(machine, op, target, value, span)

    def store(
        self,
        machine: Machine,
        target: View,
        value: object,
        op: str | None,
        span: Span,
        value_span: Span,
    ) -> None:
        """``t[...] = value`` is no statement of PPL (PPL-C05)."""
        machine.check(
            "ppl-statement",
            E.FALSE,
            span,
            "parts of tensors are written by device functions",
            f"a part of `{target.name}` is assigned",
            facts=("PPL-C05",),
            help=("use `pl.tiu.move(part, value)`",),
        )

    # -- what the front end makes of Python, which it compiles and does not run -------------------

    def prepare(self, machine: VM, definition: ir.FunctionDef, module: Module) -> None:
        """What the launch asks for, which inputs are constants, what the front end rejects."""
        chip = machine.hardware
        assert isinstance(chip, Chip)
        for demand in launches.demands(machine.grid_sizes or (), chip):
            machine.check(
                "ppl-core-count",
                E.truth(demand.asked <= demand.most),
                definition.name_span,
                demand.text,
                demand.message,
                facts=("PPL-A01",),
            )
        groups, cores = (*(machine.grid_sizes or ()), 1, 1)[:2]
        for axis, size in enumerate((cores, groups)):
            if size > 1:  # whether the kernel asks where it runs or not
                machine.grid(axis)
        constants = frontend.constants(machine, definition, module)
        self._constants = frozenset(constants)
        self._dropped |= frontend.prepare(machine, definition, module, constants)
        visiting.unnamed(machine, definition)

    def enter(self, machine: VM, definition: ir.FunctionDef | ir.LambdaExpr, span: Span) -> None:
        """A function is compiled as well: it is a jit one, and looked through once."""
        if machine.importing or not isinstance(definition, ir.FunctionDef):
            return
        frontend.enter(machine, definition, span)
        if (operands.AS_PYTHON, definition.name_span) in machine.memo:
            return
        if definition.name_span not in self._scanned:
            self._scanned.add(definition.name_span)
            self._dropped |= frontend.scan(machine, definition)

    def statement(self, machine: VM, stmt: ir.Stmt) -> None:
        """What the front end makes of its text."""
        if _compiles(machine) and stmt.span not in self._dropped:
            self._visits.before(machine, stmt)
            if isinstance(stmt, ir.For):
                frontend.looped(machine, stmt)

    def assigned(self, machine: VM, stmt: ir.Assign) -> None:
        """Names are values of the device, lists, texts, dtypes or None."""
        if _compiles(machine) and machine.frame.function is not None:
            operands.assigned(machine, stmt)
            visiting.unused(machine, stmt)

    def branch(self, machine: VM, stmt: ir.If, test: Bool) -> None:
        """A guard that keeps nothing out is a finding."""
        if _compiles(machine):
            frontend.guard(machine, stmt, test)

    def region(
        self, machine: VM, stmt: ir.For | ir.While | ir.If, unrolled: bool
    ) -> Callable[[Sequence[ir.Stmt]], None]:
        """What a loop or a branch of the device binds keeps its type (PPL-C04)."""
        if unrolled or not _compiles(machine):
            return super().region(machine, stmt, unrolled)
        return regions.entered(machine, stmt)

    def drops(self, machine: VM, stmt: ir.Assert) -> bool:
        """An assertion is compiled for `debug` only: what it asks is asked nowhere (PPL-C02)."""
        return not machine.importing and stmt.span in self._dropped

    def conditional(self, machine: VM, node: ir.IfExpr, test: Bool) -> Bool:
        """The first alternative, unless the test is known when the kernel is compiled."""
        return test if machine.importing else frontend.conditional(machine, node, test)

    def divides(
        self, machine: VM, node: ir.BinOp | ir.AugAssign, left: object, right: object
    ) -> None:
        """The device rounds a quotient towards zero, Python down."""
        if not machine.importing:
            operands.divided(machine, node, left, right)

    def identical(self, machine: VM, node: ir.Compare, value: object) -> object:
        """A value of the run is an object of the front end, and no other."""
        if not machine.importing:
            operands.identical(machine, node, value)
        return value

    def loop_factors(self, machine: VM, stmt: ir.For, range: Range) -> tuple[Expr, str] | None:
        """A counter that is taken apart by one of the factors."""
        if not machine.importing:
            frontend.backwards(machine, stmt, range)
            frontend.again(machine, stmt, range)
        return frontend.inner_count(machine, stmt, range)

    def grid_axis(self, machine: DeviceMachine, number: int) -> GridAxis:
        """Cores (axis 0) or groups of them (axis 1); a launch says ``(groups, cores)``."""
        chip = machine.hardware
        assert isinstance(chip, Chip)
        name = ("core", "group")[number]
        size = E.symbol(f"get_{name}_num()", 1, chip.cores, origin=E.Origin.GRID)
        sizes = machine.grid_sizes
        if sizes is not None:
            given = (*sizes[1:2], 1) if number == 0 else sizes[:1]
            size = E.const(given[0])
        return GridAxis(f"get_{name}_index()", f"get_{name}_num()", size)

    def parameter(self, machine: VM, p: Parameter, annotation: ir.Expr | None) -> object | None:
        """An annotation may make a constant of an input (PPL-A02)."""
        p.constant = p.name in self._constants
        return None

    def kinds(self) -> Mapping[type, Kind[VM]]:
        """Inputs are pointers."""
        return {Parameter: pointers.PointerKind()}


def _compiles(machine: VM) -> bool:
    """Whether what is run is text that the front end compiles, and no function of Python."""
    function = machine.frame.function
    if machine.importing or function is None:
        return not machine.importing
    definition = function.definition
    if not isinstance(definition, ir.FunctionDef):
        return True
    return (operands.AS_PYTHON, definition.name_span) not in machine.memo


def _no_such_name(machine: Machine, meant: str | None, name: str, owner: str, span: Span) -> None:
    """A name that the API does not have, and the one that was meant, as far as that shows."""
    machine.check(
        "ppl-unknown-name",
        E.FALSE,
        span,
        f"`{owner}` has `{name}`",
        f"`{owner}` has no `{name}`",
        facts=("PPL-A06",),
        help=() if meant is None else (f"did you mean `{meant}`?",),
    )
