"""Engines that run an instruction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rules.nki import kit
from rules.nki.dtypes import BITWISE
from rules.nki.kit import check, register
from rules.nki.samples import kernel
from verifier.hardware.capabilities import Capability
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.rulebase import Check, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.trace import Operation

_ENGINE_WORDS: Final = {
    "tensor": "the Tensor Engine",
    "vector": "the Vector Engine",
    "scalar": "the Scalar Engine",
    "gpsimd": "GpSimd",
}


def _engine_choice(op: Operation, target: Target) -> Iterator[Check]:
    engine = kit.engine(op)
    if engine is None:
        return
    instruction = kit.described(op)
    engines, short = instruction.engines, instruction.short
    yield check(
        op,
        "engine",
        E.truth(engine == "unknown" or engine in engines.on_request),
        f"engine is one that runs {short} (it is {engine})",
        f"the {engine} engine has no {short}",
        engines.fact,
        about=(),
        help=("engines: " + ", ".join(sorted(engines.on_request)),),
    )
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
            help=("engines: " + ", ".join(sorted(engines.on_request - {engine})),),
        )
    if op.name == "isa.tensor_tensor":
        operator = kit.operator_name(op.value("op"))
        if operator == "power":
            yield check(
                op,
                "engine",
                E.truth(engine != "vector"),
                "engine is not vector",
                "the Vector Engine has no power: it runs on GpSimd",
                "TTN04",
                "T16",
                about=(),
            )
            for role in ("data1", "data2", "dst"):
                view = op.view(role)
                if view is not None and op.operands[role].given:
                    found = kit.buffer_check(
                        op,
                        role,
                        view,
                        (Buffer.SBUF,),
                        f"power runs on GpSimd, which cannot reach {role} in PSUM",
                        "TTN04",
                    )
                    if found is not None:
                        yield found
        elif operator in BITWISE:
            yield check(
                op,
                "engine",
                E.truth(engine in ("vector", "unknown")),
                f"engine is vector (it is {engine})",
                "bit operators run on the Vector Engine",
                "TTN05",
                about=(),
            )
    if op.name == "isa.tensor_scalar":
        yield from _tensor_scalar_engine(op, target, engine)


def _tensor_scalar_engine(op: Operation, target: Target, engine: str) -> Iterator[Check]:
    first = kit.operator_name(op.value("op0"))
    second_value = op.value("op1")
    second = kit.operator_name(second_value)
    if first is None or (second_value is not None and second is None):
        return
    names = first if second is None else f"{first} and {second}"
    if engine == "scalar":
        if not target.has(Capability.COPY_ON_SCALAR):
            allowed, fact = False, "H30"
        elif not target.has(Capability.UNARY_OPERATORS):
            pairs = {("multiply", "add"), ("multiply", None), ("add", None)}
            allowed, fact = (first, second) in pairs, "TSC07"
        else:
            allowed, fact = first not in BITWISE, "TSC05"
        yield check(
            op,
            "engine",
            E.truth(allowed),
            f"the Scalar Engine of {target.name} computes the operators (they are {names})",
            f"the Scalar Engine of {target.name} cannot compute {names} in tensor_scalar",
            fact,
            *(("H81",) if fact == "TSC07" else ()),
            about=(),
            help=("run it on the Vector Engine",),
        )
    elif engine == "gpsimd":
        bitwise = first in BITWISE
        yield check(
            op,
            "engine",
            E.truth(first == "rsqrt" and second is None),
            f"op0 is rsqrt (the operators are {names})",
            "bit operators run on the Vector Engine"
            if bitwise
            else "tensor_scalar runs on GpSimd for rsqrt only",
            "TSC05" if bitwise else "TSC08",
            *(() if bitwise else ("OQ26",)),
            about=(),
            severity=None if bitwise else "warning",
        )


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
        on="operation",
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
