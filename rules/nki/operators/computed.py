"""Operators that an instruction computes, and what they are given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rules.nki import kit, twins
from rules.nki.kit import check, register
from rules.nki.samples import kernel
from verifier.hardware.targets import Target
from verifier.rulebase import On, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.instruction import Chain, Operators, Step
from verifier.symbolic.trace import Operation

#: how many operators a help text lists
_LISTED: Final = 11


def _admitted(op: Operation, item: Operators) -> frozenset[str]:
    """The operators of the call's generation."""
    gone = {name for name, since in item.gone.items() if op.generation.at_least(since)}
    return item.admitted - gone


def _operator_kind(op: Operation, target: Target) -> Iterator[Check]:
    instruction = kit.described(op)
    for item in instruction.operators:
        operator = kit.operator_name(op.value(item.role))
        if operator is None:
            continue
        listed = "operators: " + ", ".join(sorted(_admitted(op, item)))
        written = kit.written_operator(op.value(item.role))
        misnamed = written in item.misnamed and op.generation.at_least(item.misnamed[written])
        named = written if misnamed else operator
        yield check(
            op,
            item.role,
            E.truth(operator in _admitted(op, item) and not misnamed),
            f"{item.role} of {instruction.short} is one of its operators (it is {named})",
            f"{instruction.short} cannot compute {named}",
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
    for item in instruction.operators if "negate" in op.operands else ():
        operator = kit.operator_name(op.value(item.role))
        if operator in item.on_bits:
            yield check(
                op,
                "negate",
                E.not_(kit.flag(op, "negate")),
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
        on=On.OPERATION,
        enforces=lambda instruction: (f for item in instruction.operators for f in item.facts),
        check=_operator_kind,
        sources=("NKI supported operators", "NKI supported activation functions"),
        twins=twins.OPERATOR_KIND,
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
    chain = kit.described(op).chain
    if chain is None:
        return
    for step in chain.steps:
        yield from _operand_of(op, step)
        yield from _reversal(op, step)
    if chain.pairs:
        yield from _pairs(op, chain)
    if chain.parameter is not None:
        yield from _parameter(op, *chain.parameter)


def _operand_of(op: Operation, step: Step) -> Iterator[Check]:
    unary = kit.is_unary(op, step.operator)
    if step.together and not unary:
        absent = kit.is_absent(op, step.operator), kit.is_absent(op, step.operand)
        missing, given = (
            (step.operand, step.operator) if absent[1] else (step.operator, step.operand)
        )
        yield check(
            op,
            given,
            E.truth(absent[0] == absent[1]),
            f"{step.operator} and {step.operand} are given together",
            f"{given} is given without {missing}",
            step.together,
            about=(),
        )
    named = kit.operator_name(op.value(step.operator))
    two = not unary and named not in (None, "bypass")
    if step.alone and two and kit.is_absent(op, step.operand):
        yield check(
            op,
            step.operator,
            E.FALSE,
            f"{step.operand} is given",
            f"{named} has two operands, and {step.operand} is None",
            step.alone,
            about=(),
        )
    if step.alone and unary and op.generation.at_least(step.never_with):
        value = op.value(step.operand)
        yield check(
            op,
            step.operand,
            E.or_(E.truth(value is None), kit.equals(value, 0)),
            f"{step.operand} is None or 0",
            f"{kit.operator_name(op.value(step.operator))} takes no {step.operand}",
            step.alone,
            about=(),
        )


def _reversal(op: Operation, step: Step) -> Iterator[Check]:
    reverse = kit.flag(op, step.reverse) if step.turned or step.fixed else E.FALSE
    if step.turned and reverse is not E.FALSE:
        yield check(
            op,
            step.reverse,
            E.implies(reverse, E.truth(_named(op, step) != "bypass")),
            f"{step.reverse} goes with {step.operator}",
            f"{step.reverse} is given without {step.operator}",
            step.turned,
            about=(),
        )
    if step.fixed and step.reverse in op.operands:
        yield check(
            op,
            step.reverse,
            E.not_(reverse),
            f"{step.reverse} is False",
            f"{kit.described(op).short} cannot reverse its operands yet",
            step.fixed,
            about=(),
        )


def _named(op: Operation, step: Step) -> str | None:
    absent = kit.is_absent(op, step.operator)
    return "bypass" if absent else kit.operator_name(op.value(step.operator))


def _pairs(op: Operation, chain: Chain) -> Iterator[Check]:
    first, second = (_named(op, step) for step in chain.steps)
    if first is None or second is None:
        return
    operators = " and ".join(step.operator for step in chain.steps)
    short = kit.described(op).short
    yield check(
        op,
        chain.steps[0].operator,
        E.truth((first, second) in chain.pairs),
        f"{operators} are a pair that {short} computes (they are {first} and {second})",
        f"{short} cannot compute {first} followed by {second}",
        chain.fact,
        about=(),
    )


def _parameter(op: Operation, name: str, role: str, having: str, fact: str) -> Iterator[Check]:
    operator = kit.operator_name(op.value(role))
    if operator is None or operator == having:
        return
    value = op.value(name)
    if kit.is_number(value):
        yield check(
            op,
            name,
            kit.equals(value, 0),
            f"{name} goes with {having} ({role} is {operator})",
            f"{operator} has no parameter",
            fact,
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
        facts=("TSC03", "TSC09", "TSC11", "TSR02", "TSR05", "ATW02", "ATW05", "ATW08"),
        on=On.OPERATION,
        concerns=lambda instruction: instruction.chain is not None,
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
