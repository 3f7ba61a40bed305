"""Engines that run an instruction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from rules.nki import kit
from rules.nki.kit import check, register
from rules.nki.samples import kernel
from verifier.hardware.engines import Engine
from verifier.hardware.targets import Target
from verifier.rulebase import On, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.trace import Operation

_ENGINE_WORDS: Final = {
    Engine.TENSOR: "the Tensor Engine",
    Engine.VECTOR: "the Vector Engine",
    Engine.SCALAR: "the Scalar Engine",
    Engine.GPSIMD: "GpSimd",
}


def _engine_choice(op: Operation, target: Target) -> Iterator[Check]:
    engine, asked = kit.engine(op), kit.choice(op.value("engine"))
    if engine is None and asked is None:
        return
    asked = asked or Engine.UNKNOWN.value
    instruction = kit.described(op)
    engines, short = instruction.engines, instruction.short
    yield check(
        op,
        "engine",
        E.truth(engine is Engine.UNKNOWN or engine in engines.on_request),
        f"engine is one that runs {short} (it is {asked})",
        f"the {asked} engine has no {short}",
        engines.fact,
        about=(),
        help=(_listed(engines.on_request),),
    )
    if engine is None:
        return
    if engine in engines.needs:
        capability, facts = engines.needs[engine]
        place = _ENGINE_WORDS[engine]
        yield check(
            op,
            "engine",
            E.truth(target.has(capability)),
            f"{place} of the target has {short} (it is {target.name})",
            f"{place} of {target.name} has no {short}",
            *facts,
            about=(),
            help=(_listed(engines.on_request - {engine}),),
        )
    yield from _computes(op, engine, target)


def _listed(engines: Iterable[Engine]) -> str:
    return "engines: " + ", ".join(sorted(engine.value for engine in engines))


def _computes(op: Operation, engine: Engine, target: Target) -> Iterator[Check]:
    """The engine computes the operators that are given."""
    instruction = kit.described(op)
    given = [value for item in instruction.operators if (value := op.value(item.role)) is not None]
    operators = [name for value in given if (name := kit.operator_name(value)) is not None]
    if instruction.engines.computes is None or not given or len(operators) < len(given):
        return
    found = instruction.engines.computes(op, engine, tuple(operators), target)
    if found is None:
        return
    yield check(
        op,
        "engine",
        E.truth(found.holds),
        found.text,
        found.message,
        *found.facts,
        about=(),
        help=found.help,
        severity="warning" if found.advice else None,
    )
    for role in instruction.roles if found.memories is not None else ():
        view = op.view(role.name)
        if found.memories is None or view is None or not op.operands[role.name].given:
            continue
        outside = kit.buffer_check(
            op,
            role.name,
            view,
            found.memories.buffers,
            f"{' and '.join(operators)} runs on GpSimd, which cannot reach {role.name} in PSUM",
            *found.memories.facts,
        )
        if outside is not None:
            yield outside


def _engine_facts(instruction: Instruction) -> Iterator[str]:
    engines = instruction.engines
    if engines.on_request:
        yield engines.fact
        yield from (fact for _, facts in engines.needs.values() for fact in facts)


register(
    Rule(
        id="engine-choice",
        code="NKI612",
        family="operators",
        summary="the chosen engine runs the instruction, with that operator, on that target",
        reason=(
            "engine= picks one of the engines that implement an instruction. Which ones do depends "
            "on the operator and on the generation: power is a GpSimd program, bit operators exist "
            "in the Vector Engine alone, and the Scalar Engine learned copies and three operator "
            "pairs with trn2."
        ),
        facts=(
            "TTN04",
            "TSC07",
            "TSC08",
            "T16",
            "H30",
            "H81",
            "OQ26",
            "TTN05",
            "TSC05",
        ),
        on=On.OPERATION,
        enforces=_engine_facts,
        check=_engine_choice,
        sources=("NKI ISA tensor_tensor, tensor_scalar, tensor_copy, memset, rng",),
        failing=kernel(
            "shifted_scale",
            {"x": ((128, 80), "float32")},
            ((128, 80), "float32"),
            """
            nisa.tensor_scalar(
                dst=result,
                data=x_tile,
                op0=nl.subtract,
                operand0=1.5,
                op1=nl.multiply,
                operand1=4.0,
                engine=nisa.engine.scalar,
            )
            """,
        ),
        passing=kernel(
            "scaled_shift",
            {"x": ((128, 80), "float32")},
            ((128, 80), "float32"),
            """
            nisa.tensor_scalar(
                dst=result,
                data=x_tile,
                op0=nl.multiply,
                operand0=4.0,
                op1=nl.add,
                operand1=-6.0,
                engine=nisa.engine.scalar,
            )
            """,
        ),
    )
)
