"""Commands to accumulators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rules.nki import kit
from rules.nki.kit import check, register
from rules.nki.samples import kernel
from verifier.hardware.targets import Target
from verifier.rulebase import On, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.trace import Operation

#: who has the command at all
_COMMAND_FACTS: Final = {"reset": ("NKI-AC09",), "load_reduce": ("NKI-AC08",)}


def _initial_facts(instruction: Instruction, name: str) -> tuple[str, ...]:
    """What documents the operand that accumulators start from."""
    role = instruction.role(name)
    types = role.dtypes if role is not None else None
    return () if types is None else (types.fact,)


def _facts(instruction: Instruction) -> tuple[str, ...]:
    commands = instruction.commands
    if commands is None:
        return ()
    return (commands.fact, *_initial_facts(instruction, commands.initial))


def _reduce_command(op: Operation, target: Target) -> Iterator[Check]:
    command = kit.choice(op.value("reduce_cmd"))
    if command is None:
        return
    instruction = kit.described(op)
    commands, short = instruction.commands, instruction.short
    if commands is None:
        return
    fact = commands.fact
    yield check(
        op,
        "reduce_cmd",
        E.truth(command in commands.admitted),
        f"reduce_cmd is one that {short} has (it is {command})",
        f"{short} has no reduce command {command}",
        *dict.fromkeys((fact, *_COMMAND_FACTS.get(command, ()))),
        about=(),
        help=("commands: " + ", ".join(sorted(commands.admitted)),),
    )
    role = commands.initial
    if role:
        loads, absent = command == "load_reduce", kit.is_absent(op, role)
        empty = E.truth(absent)
        if not (loads or absent or commands.unset is None):
            empty = kit.equals(op.value(role), commands.unset)
        if not loads or commands.unset is None:
            yield check(
                op,
                role if empty is not E.TRUE else "reduce_cmd",
                E.not_(empty) if loads else empty,
                f"{role} is given exactly with reduce_cmd load_reduce",
                f"{role} is missing" if loads else f"{role} goes with load_reduce only",
                *dict.fromkeys((fact, "NKI-AC08", *_initial_facts(instruction, role))),
                about=(),
            )
    if commands.operator and command in ("reduce", "reset_reduce"):
        yield check(
            op,
            "reduce_cmd",
            E.truth(not kit.is_absent(op, commands.operator)),
            f"{commands.operator} is given",
            f"reduce_cmd {command} needs a {commands.operator}",
            fact,
            about=(),
            help=(f"pass {commands.operator}=nl.add",),
        )


register(
    Rule(
        id="reduce-command",
        code="NKI614",
        family="operators",
        summary="the reduce command is one the instruction has, with what it needs",
        reason=(
            "reduce_cmd drives the accumulators that an engine keeps between instructions. Each "
            "instruction implements some of the commands; load_reduce starts from an initial value "
            "that has to be given, and the others have no use for one."
        ),
        facts=("AC08", "AC09"),
        on=On.OPERATION,
        enforces=_facts,
        check=_reduce_command,
        sources=("NKI ISA activation, select_reduce, tensor_scalar_reduce, exponential",),
        failing=kernel(
            "running_max",
            {"x": ((128, 45), "float32"), "m": ((128, 1), "float32")},
            ((128, 45), "float32"),
            """
            nisa.tensor_scalar_reduce(
                dst=result,
                data=x_tile,
                op0=nl.multiply,
                operand0=2.0,
                reduce_op=nl.maximum,
                reduce_res=m_tile,
                reduce_cmd=nisa.reduce_cmd.load_reduce,
            )
            """,
        ),
        passing=kernel(
            "running_max",
            {"x": ((128, 45), "float32"), "m": ((128, 1), "float32")},
            ((128, 45), "float32"),
            """
            nisa.tensor_scalar_reduce(
                dst=result,
                data=x_tile,
                op0=nl.multiply,
                operand0=2.0,
                reduce_op=nl.maximum,
                reduce_res=m_tile,
                reduce_cmd=nisa.reduce_cmd.reset_reduce,
            )
            """,
        ),
    )
)
