"""Binding the arguments of a call to the parameters of the C prototype.

Calls that do not fit become checks of the host rule ``okk-signature``, whose predicate is false:
they fail on every path that reaches them.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from verifier.dialects.binding import Bound, assigned, bound
from verifier.dialects.okk.isa import gives_back, signature, spoken
from verifier.dialects.okk.records import DIM2, DIM4, PADDING, Choice, Constant
from verifier.dialects.signature import Parameter
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.effects import ALWAYS
from verifier.symbolic.expr import FALSE, Bool, Expr
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.lanes import SystemAddress
from verifier.symbolic.machine import Arg, Call, Machine
from verifier.symbolic.roles import Role, Takes
from verifier.symbolic.tensors import Operand
from verifier.symbolic.trace import LedgerKind, Operation
from verifier.symbolic.values import Opaque, Ratio, RecordType, RecordValue, Ref

SIGNATURE_RULE = "okk-signature"

_POINTED: Final[dict[Takes, RecordType]] = {
    Takes.QUAD: DIM4,
    Takes.PAIR: DIM2,
    Takes.PADDING: PADDING,
    Takes.QUAD_OUT: DIM4,
}
_UNIONS: Final[dict[Takes, str]] = {
    Takes.WORD: "x32",
    Takes.HALF_WORD: "x16",
    Takes.BYTE: "x8",
}


def integer(bound: Bound, name: str) -> Expr:
    value = bound.value(name)
    assert isinstance(value, Expr)
    return value


def bind(machine: Machine, instruction: Instruction, call: Call) -> Bound:
    """Assign arguments to parameters as Python would, and report what does not fit.

    A record is a :class:`RecordValue` of integers then, NULL is None.
    """
    count = len(call.args) + len(call.keywords)
    known = signature(instruction, returning=gives_back(instruction, count))
    faults = _Faults(machine, spoken(instruction), known.names, call)
    arguments = assigned(known, call, faults)
    held = bound(known, call, arguments, str)
    operands: dict[str, Operand] = {}
    followed = True
    for name, given in arguments.items():
        role = instruction.role(name)
        assert role is not None
        value = _converted(machine, role, given)
        if value is WRONG and given.value is None and _may_be_unused(instruction, role):
            value = None  # whether it is used, the flags of the call say
        if value is WRONG:
            faults.wrong(name, role, given)
        elif isinstance(value, Opaque) and role.takes not in (Takes.NUMBER, *_UNIONS):
            machine.approximate(
                LedgerKind.OPAQUE, f"`{name}` of `{call.text}` is not followed", given.span
            )
            followed = False
        operands[name] = Operand(name, value, given.span)
    ordered = {name: operands[name] for name in known.names if name in operands}
    return replace(
        held, operands=ordered, complete=held.complete and faults.none, followed=followed
    )


def _may_be_unused(instruction: Instruction, role: Role) -> bool:
    """Whether a tensor is read only where a flag of the call says so (a bias, OKK-Q02)."""
    footprint = instruction.footprint
    reads = footprint.reads_of(role.name)
    conditional = bool(reads) and all(read.when is not ALWAYS for read in reads)
    return role.placed is not None and conditional and not footprint.writes_of(role.name)


class _Faults:
    """:class:`verifier.dialects.binding.Faults` as checks of ``okk-signature``."""

    def __init__(self, machine: Machine, function: str, names: tuple[str, ...], call: Call) -> None:
        self._machine = machine
        self._function = function
        self._names = names
        self._call = call
        #: whether all fits
        self.none = True

    def _say(self, span: Span, text: str, message: str) -> None:
        self.none = False
        listed = f"parameters: {', '.join(self._names)}"
        help_ = (listed,) if self._names else ("it takes no arguments",)
        report(self._machine, span, text, message, help_)

    def crowded(self, first: Arg, most: int) -> None:
        count = len(self._call.args)
        self._say(
            first.span,
            f"{count} arguments fit {self._function}",
            f"`{self._call.text}` takes {most} argument{'' if most == 1 else 's'}, "
            f"{count} are given",
        )

    def unknown(self, keyword: str, argument: Arg) -> None:
        self._say(
            argument.span,
            f"`{keyword}` is a parameter of {self._function}",
            f"`{self._call.text}` has no parameter `{keyword}`",
        )

    def twice(self, keyword: str, argument: Arg) -> None:
        self._say(
            argument.span,
            f"`{keyword}` is given once",
            f"`{self._call.text}` is given `{keyword}` twice",
        )

    def missing(self, parameters: tuple[Parameter, ...]) -> None:
        listed = " and ".join(f"`{p.name}`" for p in parameters)
        self._say(
            self._call.span,
            f"{listed} {'is' if len(parameters) == 1 else 'are'} given",
            f"`{self._call.text}` is called without {listed}",
        )

    def wrong(self, name: str, role: Role, given: Arg) -> None:
        """An argument is no value of the kind that the parameter takes."""
        wanted = role.takes.value
        pointer = role.takes in _POINTED
        null = given.value is None or (pointer and given.value is E.const(0))
        optional = ", or None for NULL" if role.optional else ""
        message = f"`{name}` of `{self._call.text}` must be {wanted}{optional}"
        if null:
            message = f"`{name}` of `{self._call.text}` must not be NULL"
        elif role.takes is Takes.LOCAL_ADDRESS and isinstance(given.value, SystemAddress):
            message += ": this is an address in system memory"
        elif role.takes is Takes.SYSTEM_ADDRESS and isinstance(given.value, Expr):
            message += ": this is a local address"
        self._say(given.span, f"`{name}` is {wanted}", message)


#: an argument of a kind that the parameter does not take
WRONG = object()


#: arguments that are no plain numbers
_NOT_PLAIN: Final = (str, tuple, SystemAddress, Ref, Constant)


def _converted(machine: Machine, role: Role, given: Arg) -> object:
    """The argument as the parameter's kind of value: ``WRONG`` if it is none, or an Opaque."""
    value, span, takes = given.value, given.span, role.takes
    plain = takes in (Takes.LOCAL_ADDRESS, Takes.INTEGER, Takes.FLAG)
    if isinstance(value, Opaque) and not value.harmless and not plain:
        return value
    if takes in _POINTED:
        return _pointed(machine, role, value, span)
    if takes is Takes.SYSTEM_ADDRESS:
        address = machine.as_address(value, span)
        return WRONG if address is None else address
    if plain or takes is Takes.NUMBER:
        return _plain(machine, takes, value, span)
    if takes is Takes.CHOICE:
        return value if isinstance(value, Choice) else WRONG
    if isinstance(value, Constant):
        return value if value.union == _UNIONS[takes] else WRONG
    return value if isinstance(value, Opaque) else WRONG


def _plain(machine: Machine, takes: Takes, value: object, span: Span) -> object:
    """A number or a truth value."""
    if takes is Takes.FLAG:
        if isinstance(value, (*_NOT_PLAIN, float, RecordValue)):
            return WRONG
        truth = machine.as_bool(value, span)
        return WRONG if truth is None else truth
    if takes is Takes.NUMBER and isinstance(value, (float, Ratio, Opaque)):
        return value
    if value is None or isinstance(value, _NOT_PLAIN):
        return WRONG
    if isinstance(value, float) and not value.is_integer():
        return WRONG
    number = machine.as_int(value, span)
    if number is None:
        return Opaque("a number", harmless=True) if takes is Takes.NUMBER else WRONG
    return number


def _pointed(machine: Machine, role: Role, value: object, span: Span) -> object:
    """What a pointer points at. NULL is None, or 0 as kernels write it in C."""
    out = role.takes is Takes.QUAD_OUT
    if value is None or (isinstance(value, Expr) and value is E.const(0)):
        return None if role.optional and not out else WRONG
    held = machine.contents(value)
    if out:
        return value if held is not None and held.kind is DIM4 else WRONG
    if held is None or held.kind is not _POINTED[role.takes]:
        return Opaque("a record") if isinstance(value, Opaque) else WRONG
    fields = tuple(machine.as_int(field, span) for field in held.fields)
    if any(field is None for field in fields):
        return Opaque(f"a field of `{role.name}`")
    return RecordValue(held.kind, fields, held.origin)


def used(machine: Machine, operation: Operation, role: Role, condition: Bool) -> None:
    """A tensor for which a call gives NULL is used under a condition: it never holds."""
    operand = operation.operands[role.parameter]
    report(
        machine,
        operand.span or operation.span,
        f"`{role.parameter}` is {role.takes.value}, or it is not used",
        f"`{role.parameter}` of `{operation.call_text}` must not be NULL where it is used",
        predicate=E.not_(condition),
    )


def report(
    machine: Machine,
    span: Span,
    text: str,
    message: str,
    help: tuple[str, ...] = (),
    predicate: Bool = FALSE,
) -> None:
    """Say that a call does not fit the API."""
    machine.check(SIGNATURE_RULE, predicate, span, text, message, help=help)
