"""Binding the arguments of a call to the parameters of the C prototype.

Calls that do not fit become checks of the host rule ``okk-signature``, whose predicate is false:
they fail on every path that reaches them.
"""

from __future__ import annotations

from dataclasses import dataclass

from verifier.dialects.okk.functions import Function, Parameter
from verifier.dialects.okk.records import DIM2, DIM4, PADDING, Choice, Constant
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import FALSE, Bool, Expr
from verifier.symbolic.lanes import SystemAddress
from verifier.symbolic.machine import Arg, Call, Machine
from verifier.symbolic.tensors import Operand
from verifier.symbolic.values import Opaque, RecordType, RecordValue, Ref

SIGNATURE_RULE = "okk-signature"

_POINTED: dict[str, RecordType] = {"dim4": DIM4, "dim2": DIM2, "padding": PADDING, "out": DIM4}
_WANTED = {
    "local": "a local address, a plain integer",
    "system": "an address in system memory",
    "dim4": "a `dim4`",
    "dim2": "a `dim2`",
    "padding": "a `Padding`",
    "out": "a `dim4` to write to",
    "int": "an integer",
    "float": "a number",
    "bool": "a truth value",
    "x32": "a constant such as `okk.x32.fp32(0.0)`",
    "x16": "a constant such as `okk.x16.s16(0)`",
    "x8": "a constant such as `okk.x8.s8(0)`",
    "choice": "`okk.fp32_or_addr(...)` or `okk.x32_or_addr(...)`",
}


@dataclass(frozen=True, slots=True)
class Bound:
    """Arguments by the names of the C parameters, in order, made what the parameters are.

    ``complete`` is False when an argument is missing or wrong, ``followed`` when one could not be
    seen through. A record is a :class:`RecordValue` of integers, NULL is None.
    """

    function: Function
    operands: dict[str, Operand]
    complete: bool
    followed: bool = True

    def value(self, name: str) -> object:
        return self.operands[name].value

    def integer(self, name: str) -> Expr:
        value = self.operands[name].value
        assert isinstance(value, Expr)
        return value

    def truth(self, name: str) -> Bool:
        value = self.operands[name].value
        assert isinstance(value, Bool)
        return value

    def record(self, name: str) -> RecordValue | None:
        value = self.operands[name].value
        assert value is None or isinstance(value, RecordValue)
        return value


def bind(machine: Machine, function: Function, call: Call) -> Bound:
    """Assign arguments to parameters as Python would, and report what does not fit."""
    arguments, complete = _assigned(machine, function, call)
    operands: dict[str, Operand] = {}
    followed = True
    for parameter in function.parameters:
        given = arguments.get(parameter.name)
        if given is None:
            continue
        value = _converted(machine, parameter, given)
        if value is WRONG:
            _wrong(machine, function, call, parameter, given)
            complete = False
        elif isinstance(value, Opaque) and parameter.kind not in ("float", "x32", "x16", "x8"):
            machine.approximate(
                "opaque", f"`{parameter.name}` of `{call.text}` is not followed", given.span
            )
            followed = False
        operands[parameter.name] = Operand(parameter.name, value, given.span)
    return Bound(function, operands, complete, followed)


def _assigned(machine: Machine, function: Function, call: Call) -> tuple[dict[str, Arg], bool]:
    arguments: dict[str, Arg] = {}
    complete = True
    names = [p.name for p in function.parameters]
    for name, argument in zip(names, call.args, strict=False):
        arguments[name] = argument
    if len(call.args) > len(names):
        many = len(names)
        report(
            machine,
            call.args[many].span,
            f"{len(call.args)} arguments fit {function.spoken}",
            f"`{call.text}` takes {many} argument{'' if many == 1 else 's'}, "
            f"{len(call.args)} are given",
            _expected(names),
        )
        complete = False
    for keyword, argument in call.keywords.items():
        if keyword not in names:
            report(
                machine,
                argument.span,
                f"`{keyword}` is a parameter of {function.spoken}",
                f"`{call.text}` has no parameter `{keyword}`",
                _expected(names),
            )
            complete = False
        elif keyword in arguments:
            report(
                machine,
                argument.span,
                f"`{keyword}` is given once",
                f"`{call.text}` is given `{keyword}` twice",
                _expected(names),
            )
            complete = False
        else:
            arguments[keyword] = argument
    missing = [name for name in names if name not in arguments]
    if missing:
        listed = " and ".join(f"`{name}`" for name in missing)
        report(
            machine,
            call.span,
            f"{listed} {'is' if len(missing) == 1 else 'are'} given",
            f"`{call.text}` is called without {listed}",
            _expected(names),
        )
    return arguments, complete and not missing


#: an argument of a kind that the parameter does not take
WRONG = object()


def _converted(machine: Machine, parameter: Parameter, given: Arg) -> object:
    """The argument as the parameter's kind of value: ``WRONG`` if it is none, or an Opaque."""
    value, span, kind = given.value, given.span, parameter.kind
    if isinstance(value, Opaque) and not value.harmless and kind not in ("local", "int", "bool"):
        return value
    if kind in _POINTED:
        return _pointed(machine, parameter, value, span)
    if kind == "system":
        address = machine.as_address(value, span)
        return WRONG if address is None else address
    if kind in ("local", "int"):
        if value is None or isinstance(value, (str, tuple, SystemAddress, Constant, Ref)):
            return WRONG
        if isinstance(value, float) and not value.is_integer():
            return WRONG
        number = machine.as_int(value, span)
        return WRONG if number is None else number
    if kind == "bool":
        if isinstance(value, (str, tuple, float, SystemAddress, Ref, Constant, RecordValue)):
            return WRONG
        truth = machine.as_bool(value, span)
        return WRONG if truth is None else truth
    if kind == "float":
        if isinstance(value, (float, Opaque)):
            return value
        if value is None or isinstance(value, (str, tuple, SystemAddress, Ref, Constant)):
            return WRONG
        number = machine.as_int(value, span)
        return Opaque("a number", harmless=True) if number is None else number
    if kind == "choice":
        return value if isinstance(value, Choice) else WRONG
    if isinstance(value, Constant):
        return value if value.union == kind else WRONG
    return value if isinstance(value, Opaque) else WRONG


def _pointed(machine: Machine, parameter: Parameter, value: object, span: Span) -> object:
    """What a pointer points at. NULL is None, or 0 as kernels write it in C."""
    if value is None or (isinstance(value, Expr) and value is E.const(0)):
        return None if parameter.optional else WRONG
    if parameter.kind == "out":
        held = machine.contents(value)
        return value if held is not None and held.kind is DIM4 else WRONG
    held = machine.contents(value)
    if held is None or held.kind is not _POINTED[parameter.kind]:
        return Opaque("a record") if isinstance(value, Opaque) else WRONG
    fields = tuple(machine.as_int(field, span) for field in held.fields)
    if any(field is None for field in fields):
        return Opaque(f"a field of `{parameter.name}`")
    return RecordValue(held.kind, fields, held.origin)


def _wrong(
    machine: Machine, function: Function, call: Call, parameter: Parameter, given: Arg
) -> None:
    wanted = _WANTED[parameter.kind]
    pointer = parameter.kind in _POINTED
    null = given.value is None or (pointer and given.value is E.const(0))
    optional = ", or None for NULL" if parameter.optional else ""
    message = f"`{parameter.name}` of `{call.text}` must be {wanted}{optional}"
    if null:
        message = f"`{parameter.name}` of `{call.text}` must not be NULL"
    elif parameter.kind == "local" and isinstance(given.value, SystemAddress):
        message += ": this is an address in system memory"
    elif parameter.kind == "system" and isinstance(given.value, Expr):
        message += ": this is a local address"
    names = [p.name for p in function.parameters]
    report(
        machine,
        given.span,
        f"`{parameter.name}` is {wanted}",
        message,
        _expected(names),
    )


def _expected(names: list[str]) -> tuple[str, ...]:
    return (f"parameters: {', '.join(names)}",) if names else ("it takes no arguments",)


def report(
    machine: Machine, span: Span, text: str, message: str, help: tuple[str, ...] = ()
) -> None:
    """Say that a call does not fit the API."""
    machine.check(SIGNATURE_RULE, FALSE, span, text, message, help=help)
