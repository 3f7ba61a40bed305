"""Operators that an instruction computes, and what they are given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rules.nki import kit
from rules.nki.kit import at_least, check, register
from rules.nki.samples import kernel
from verifier.hardware.targets import Target
from verifier.rulebase import Check, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.trace import Operation

#: how many operators a help text lists
_LISTED: Final = 11


def _operator_kind(op: Operation, target: Target) -> Iterator[Check]:
    instruction = kit.described(op)
    for item in instruction.operators:
        operator = kit.operator_name(op.value(item.role))
        if operator is None:
            continue
        listed = "operators: " + ", ".join(sorted(item.admitted))
        yield check(
            op,
            item.role,
            E.truth(operator in item.admitted),
            f"{item.role} of {instruction.short} is one of its operators (it is {operator})",
            f"{instruction.short} cannot compute {operator}",
            *item.facts,
            about=(),
            help=(listed,) if len(item.admitted) <= _LISTED else (),
        )
    unmixed = [item for item in instruction.operators if item.unmixed]
    if len(unmixed) == 2:
        first, second = (kit.operator_name(op.value(item.role)) for item in unmixed)
        if first is not None and second is not None:
            yield check(
                op,
                unmixed[1].role,
                E.truth((first in unmixed[0].on_bits) == (second in unmixed[1].on_bits)),
                f"op0 and op1 are both bit operators or both arithmetic (they are {first} and "
                f"{second})",
                "a bit operator and an arithmetic one meet in one instruction",
                unmixed[0].unmixed,
                about=(),
            )
    for item in instruction.operators if op.value("negate") is True else ():
        operator = kit.operator_name(op.value(item.role))
        if operator is not None:
            yield check(
                op,
                "negate",
                E.truth(operator not in item.on_bits),
                f"negate goes with an arithmetic operator ({item.role} is {operator})",
                f"the result of {operator} cannot be negated",
                item.bits,
                about=(),
            )


register(
    Rule(
        id="operator-kind",
        code="NKI611",
        family="operators",
        summary="the operator is one that the instruction computes",
        reason=(
            "Each instruction encodes an operator out of its own set: the Scalar Engine has tables "
            "of functions, the Vector Engine's ALUs have arithmetic and bit operators, reductions "
            "need associative ones, selections need comparisons."
        ),
        facts=("TSC04", "RED05"),
        on="operation",
        enforces=lambda instruction: (f for item in instruction.operators for f in item.facts),
        check=_operator_kind,
        sources=("NKI supported operators", "NKI supported activation functions"),
        failing=kernel(
            "row_power",
            {"x": ((96, 50), "float32")},
            ((96, 1), "float32"),
            "nisa.tensor_reduce(dst=result, op=nl.power, data=x_tile, axis=1)",
        ),
        passing=kernel(
            "row_product",
            {"x": ((96, 50), "float32")},
            ((96, 1), "float32"),
            "nisa.tensor_reduce(dst=result, op=nl.multiply, data=x_tile, axis=1)",
        ),
    )
)


def _operator_arguments(op: Operation, target: Target) -> Iterator[Check]:
    short = op.name.partition(".")[2]
    if op.name == "isa.tensor_scalar":
        absent = kit.is_absent(op, "op1"), kit.is_absent(op, "operand1")
        if not kit.is_unary(op, "op1"):
            yield check(
                op,
                "op1" if absent[1] else "operand1",
                E.truth(absent[0] == absent[1]),
                "op1 and operand1 are given together",
                "op1 is given without operand1" if absent[1] else "operand1 is given without op1",
                "TSC03",
                about=(),
            )
        if op.value("reverse1") is True:
            yield check(
                op,
                "reverse1",
                E.truth(not absent[0]),
                "reverse1 goes with op1",
                "reverse1 is given without op1",
                "TSC11",
                about=(),
            )
    if op.name in ("isa.tensor_scalar", "isa.tensor_scalar_reduce") and at_least(op.api, "0.4"):
        operator = kit.operator_name(op.value("op0"))
        value = op.value("operand0")
        if kit.is_unary(op, "op0") and not kit.is_unknown(value):
            yield check(
                op,
                "operand0",
                E.truth(value is None or kit.constant(value) == 0),
                "operand0 is None or 0",
                f"{operator} takes no operand0",
                "TSC09" if op.name == "isa.tensor_scalar" else "TSR02",
                about=(),
            )
    if op.name == "isa.tensor_scalar_reduce" and isinstance(op.value("reverse0"), bool):
        yield check(
            op,
            "reverse0",
            E.truth(op.value("reverse0") is False),
            "reverse0 is False",
            "tensor_scalar_reduce cannot reverse its operands yet",
            "TSR05",
            about=(),
        )
    if op.name == "isa.activate2":
        yield from _activate2_arguments(op, short)


_STEPS: Final = frozenset(
    {
        ("multiply", "add"),
        ("multiply", "subtract"),
        ("multiply", "bypass"),
        ("add", "bypass"),
        ("subtract", "bypass"),
        ("bypass", "bypass"),
    }
)


def _activate2_arguments(op: Operation, short: str) -> Iterator[Check]:
    first, second = op.value("op0"), op.value("op1")
    names = (
        "bypass" if first is None else kit.operator_name(first),
        "bypass" if second is None else kit.operator_name(second),
    )
    if None not in names:
        yield check(
            op,
            "op0",
            E.truth(names in _STEPS),
            f"op0 and op1 are a pair that {short} computes (they are {names[0]} and {names[1]})",
            f"{short} cannot compute {names[0]} followed by {names[1]}",
            "ATW02",
            about=(),
        )
    for index, name in enumerate(names):
        if op.value(f"reverse{index}") is True:
            yield check(
                op,
                f"reverse{index}",
                E.truth(name != "bypass"),
                f"reverse{index} goes with op{index}",
                f"reverse{index} is given without op{index}",
                "ATW05",
                about=(),
            )
    param = kit.constant(op.value("relu_param"))
    operator = kit.operator_name(op.value("op"))
    if param is not None and operator is not None and param != 0:
        yield check(
            op,
            "relu_param",
            E.truth(operator == "prelu"),
            f"relu_param goes with prelu (op is {operator})",
            f"{operator} has no parameter",
            "ATW08",
            about=(),
            severity="warning",
        )


register(
    Rule(
        id="operator-arguments",
        code="NKI613",
        family="operators",
        summary="operators and their operands are given together",
        reason=(
            "A second operator needs its operand and an operand its operator; unary operators take "
            "none. Arguments without their counterpart have no place in the instruction."
        ),
        facts=("TSC03", "TSC09", "TSC11", "TSR05", "ATW02", "ATW05", "ATW08"),
        on="operation",
        operations=("isa.tensor_scalar", "isa.tensor_scalar_reduce", "isa.activate2"),
        check=_operator_arguments,
        sources=("NKI ISA tensor_scalar, tensor_scalar_reduce, activate2",),
        failing=kernel(
            "half_given",
            {"x": ((40, 41), "float32")},
            ((40, 41), "float32"),
            """
            nisa.tensor_scalar(
                dst=result, data=x_tile, op0=nl.multiply, operand0=0.5, operand1=3.0
            )
            """,
        ),
        passing=kernel(
            "fully_given",
            {"x": ((40, 41), "float32")},
            ((40, 41), "float32"),
            """
            nisa.tensor_scalar(
                dst=result,
                data=x_tile,
                op0=nl.multiply,
                operand0=0.5,
                op1=nl.add,
                operand1=3.0,
            )
            """,
        ),
    )
)
