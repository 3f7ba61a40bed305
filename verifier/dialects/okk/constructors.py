"""Making the structures of the API: records, typed constants, operands that are either."""

from __future__ import annotations

from verifier.dialects.okk import names
from verifier.dialects.okk.binding import report
from verifier.dialects.okk.records import (
    CHOICES,
    RECORDS,
    UNION_ALIASES,
    UNIONS,
    Choice,
    Constant,
)
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.machine import Arg, Call, Machine
from verifier.symbolic.values import ApiRef, Opaque, RecordType


def construct(machine: Machine, api: ApiRef, call: Call) -> tuple[object, ...] | None:
    """What a call of a structure's name makes, alone in a tuple; None if it is no such name."""
    if api.name in RECORDS:
        return (_record(machine, RECORDS[api.name], call),)
    union, _, member = api.name.partition(".")
    if union in UNIONS:
        return (_constant(machine, union, member, call),)
    if api.name in CHOICES:
        return (_choice(machine, api.name, call),)
    if api.name == "OP_TYPE":
        return (_bits(machine, 5, call),)
    if api.name == "MUL_TYPE":
        return (_bits(machine, 3, call),)
    return None


def _record(machine: Machine, kind: RecordType, call: Call) -> object:
    """A record; fields that are not given are 0."""
    values: dict[str, object] = dict.fromkeys(kind.fields, E.const(0))
    given: set[str] = set()
    pairs: list[tuple[str, Arg]] = list(zip(kind.fields, call.args, strict=False))
    if len(call.args) > len(kind.fields):
        report(
            machine,
            call.span,
            f"{kind.name} has {len(kind.fields)} fields",
            f"`{call.text}` has {len(kind.fields)} fields, {len(call.args)} are given",
        )
    for name, argument in (*pairs, *call.keywords.items()):
        if name not in values or name in given:
            problem = "is given twice" if name in given else "is no field of it"
            report(
                machine,
                argument.span,
                f"`{name}` is a field of {kind.name}",
                f"`{name}` {problem}: `{call.text}` has {', '.join(kind.fields)}",
            )
            continue
        given.add(name)
        values[name] = argument.value
    return machine.record(kind, tuple(values.values()))


def _constant(machine: Machine, union: str, member: str, call: Call) -> object:
    """``x32.fp32(v)``, ``x32(fp32=v)``, ``x32(v)`` (its first member, as in C)."""
    arguments = [(member, arg) for arg in call.args] + list(call.keywords.items())
    if len(arguments) != 1:
        wrong = f"`{call.text}` takes one value, {len(arguments)} are given"
        report(machine, call.span, f"`{call.text}` is given one value", wrong)
        return Opaque("a constant without its value", harmless=True)
    name, argument = arguments[0]
    if not member:
        name = UNION_ALIASES.get(name, name) or UNIONS[union][0]
        if name not in UNIONS[union]:
            listed = ", ".join(UNIONS[union])
            wrong = f"`{name}` is no member of `{union}`: it has {listed}"
            report(machine, argument.span, f"`{name}` is a member of {union}", wrong)
            return Opaque("a constant without its value", harmless=True)
    else:
        name = member
    value = argument.value
    items = machine.as_items(value, argument.span) if "x" in name else None
    if name == "fp32" and isinstance(value, Expr) and value.is_const:
        value = float(value.const)
    return Constant(union, name, items if items is not None else value)


def _choice(machine: Machine, kind: str, call: Call) -> object:
    """``fp32_or_addr(addr=a)`` or ``fp32_or_addr(value=v)``."""
    address, value = call.keywords.get("addr"), call.keywords.get("value")
    if call.args or len(call.keywords) != 1 or (address is None and value is None):
        wrong = f"`{call.text}` takes either `addr=` or `value=`"
        report(machine, call.span, "one of `addr=` and `value=` is given", wrong)
        return Opaque("an operand without its value")
    if address is not None:
        number = machine.as_int(address.value, address.span)
        return Choice(kind, True, number) if number is not None else Opaque("an address")
    assert value is not None
    return Choice(kind, False, value.value)


def _bits(machine: Machine, count: int, call: Call) -> object:
    """``OP_TYPE(...)``, ``MUL_TYPE(...)``: flags in one number (OKK-T6)."""
    numbers = [machine.as_int(arg.value, arg.span) for arg in call.args]
    if len(numbers) != count or call.keywords:
        wrong = f"`{call.text}` takes {count} flags, {len(numbers)} are given"
        report(machine, call.span, f"`{call.text}` is given {count} flags", wrong)
        return Opaque("a type without its flags")
    total = E.const(0)
    for position, number in enumerate(numbers):
        if number is None:
            return Opaque("a type with flags that are not followed")
        total = total + number * (1 << position)
    return total


__all__ = ["construct", "names"]
