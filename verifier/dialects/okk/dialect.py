"""The OKK dialect: what names and calls of an OKK kernel mean."""

from __future__ import annotations

from collections.abc import Mapping

from verifier.dialects.binding import Bound
from verifier.dialects.okk import addresses, arguments, host, isa, names
from verifier.dialects.okk.binding import bind, report
from verifier.dialects.okk.constructors import construct
from verifier.dialects.okk.emission import perform
from verifier.dialects.okk.records import UNIONS, Choice, Constant, ValueKind
from verifier.source import ir
from verifier.source.ir import Span
from verifier.symbolic.dialect import Declare
from verifier.symbolic.expr import Bool
from verifier.symbolic.instruction import Instruction, Trait
from verifier.symbolic.lanes import SystemAddress
from verifier.symbolic.machine import Call, Machine
from verifier.symbolic.pretty import pretty
from verifier.symbolic.python.inputs import Parameter
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.plain import WithoutTensors
from verifier.symbolic.python.vm import VM
from verifier.symbolic.trace import AssumptionKind
from verifier.symbolic.values import AddressType, ApiRef, Managed, Opaque


class OkkDialect(WithoutTensors):
    """:class:`verifier.symbolic.machine.Dialect` for kernels in the manner of OKKernel.

    Local addresses are integers, system addresses :class:`verifier.symbolic.lanes.SystemAddress`;
    there are no tensors as values. The tensors of an operation are its ``touches``.
    """

    name = "okk"

    def root(self, dotted: str) -> object | None:
        """The value of an imported dotted name (``okk``, ``okk.dim4``), or None."""
        return names.root(dotted)

    def external(self, path: str) -> object | None:
        """Names of other libraries mean nothing to these kernels."""
        return None

    def attribute(self, machine: Machine, owner: ApiRef, attr: str, span: Span) -> object | None:
        """``okk.attr`` and ``okk.x32.attr``; an unknown name is a finding."""
        if owner.name == names.MODULE:
            found = names.member(attr)
        elif owner.name in UNIONS:
            found = names.union_member(owner.name, attr)
        else:
            return None
        if found is None:
            _no_such_name(machine, attr, owner.name, span)
        return found

    def call(self, machine: Machine, api: ApiRef, call: Call) -> object:
        """A call of an API function: an operation, or what it gives back."""
        made = construct(machine, api, call)
        if made is not None:
            return made[0]
        if api.name == "parallel":
            return _parallel(machine, call)
        if api.name in ("kernel", "jit"):
            return Opaque("a kernel", harmless=True)
        if api.name in ("OKKERNEL_LOG", "okkernel_log"):
            return None
        if api.name.removeprefix("okk_") in isa.UNDESCRIBED:
            machine.unmodelled(f"okk_{api.name}", call.span)
            return Opaque(f"the result of `{call.text}`, which is not modelled")
        instruction = isa.find(api.name.replace("OKKERNEL_ASSERT", "okkernel_assert"))
        if instruction is None:
            _no_such_name(machine, api.name, names.MODULE, call.span)
            return Opaque(f"the result of `{call.text}`, which does not exist")
        bound = bind(machine, instruction, call)
        if not bound.complete:
            return Opaque(f"the result of `{call.text}` without its arguments")
        if not bound.followed:
            lost = f"an argument of `{call.text}` is not followed"
            machine.unmodelled(isa.spoken(instruction), call.span, lost)
            return Opaque(f"the result of `{call.text}` with arguments that are not followed")
        if instruction.name in isa.ANSWERS:
            return host.answer(machine, instruction, bound, call)
        if Trait.LOGS in instruction.traits:
            _assume(machine, bound)
        _do(machine, instruction, bound, call)
        return None

    # -- there are no tensors as values -------------------------------------------------

    def api_subscript(self, machine: Machine, api: ApiRef, index: object, span: Span) -> object:
        """No name of the API is subscripted."""
        return Opaque(f"{api.name}[...]")

    # -- inputs and values ----------------------------------------------------------------

    def arguments(
        self, machine: VM, definition: ir.FunctionDef, declare: Declare
    ) -> Mapping[str, object] | None:
        """The fields of a structure are inputs; kernels begin in sequential mode."""
        machine.switch(host.PARALLEL, False)
        return arguments.structured(machine, definition, declare)

    def parameter(self, machine: VM, p: Parameter, annotation: ir.Expr | None) -> object | None:
        """``okk.SystemAddr``: the start of a buffer."""
        if annotation is None or not isinstance(
            arguments.type_of(machine, annotation), AddressType
        ):
            return None
        return machine.inputs.address(p)

    def kinds(self) -> Mapping[type, Kind[VM]]:
        """Addresses, and inputs that may be some; constants in the types of the API."""
        return {
            SystemAddress: addresses.AddressKind(),
            Parameter: addresses.AddressInputKind(),
            Constant: ValueKind("a constant"),
            Choice: ValueKind("an operand"),
        }


def _no_such_name(machine: Machine, name: str, owner: str, span: Span) -> None:
    meant = names.suggestion(name) if owner == names.MODULE else None
    if owner != names.MODULE:
        hint = f"it has {', '.join(UNIONS[owner])}"
    else:
        hint = f"did you mean `{meant}`?" if meant is not None else ""
    message = f"`{owner}` has no `{name}`"
    report(machine, span, f"{owner} has `{name}`", message, (hint,) if hint else ())


def _parallel(machine: Machine, call: Call) -> object:
    """``with okk.parallel():`` is the section between the two calls of C."""
    start, end = (isa.find(f"parallel_{edge}") for edge in ("start", "end"))
    assert start is not None and end is not None
    if call.args or call.keywords:
        bind(machine, start, call)
        return Opaque("a parallel section")
    nothing = Bound(isa.signature(start), {}, True)
    return Managed(
        lambda: _do(machine, start, nothing, call),
        lambda: _do(machine, end, nothing, call),
    )


def _do(machine: Machine, instruction: Instruction, bound: Bound, call: Call) -> None:
    perform(machine, instruction, bound, call)
    if Trait.STARTS_PARALLEL in instruction.traits:
        machine.switch(host.PARALLEL, True)
    elif Trait.ENDS_PARALLEL in instruction.traits:
        machine.switch(host.PARALLEL, False)


def _assume(machine: Machine, bound: Bound) -> None:
    """``OKKERNEL_ASSERT``: what the kernel demands, though the device only logs it (OKK-X09)."""
    operand = bound.operands["assertion"]
    condition = operand.value
    assert isinstance(condition, Bool)
    machine.assume(condition, pretty(condition), operand.span, AssumptionKind.ASSERT)
