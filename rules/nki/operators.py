"""Operators, engines, commands and features that instructions and targets have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rules.nki import kit
from rules.nki.dtypes import BITWISE
from rules.nki.kit import at_least, check, register
from rules.nki.samples import kernel
from verifier.hardware import targets
from verifier.hardware.capabilities import Capability
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.rulebase import Check, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: operators of one operand
UNARY: Final = _words("abs square relu rsqrt reciprocal")


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
            help=(listed,) if len(item.admitted) < 12 else (),
        )
    if op.name == "isa.tensor_scalar":
        first, second = (kit.operator_name(op.value(role)) for role in ("op0", "op1"))
        if first is not None and second is not None:
            yield check(
                op,
                "op1",
                E.truth((first in BITWISE) == (second in BITWISE)),
                f"op0 and op1 are both bit operators or both arithmetic (they are {first} and "
                f"{second})",
                "a bit operator and an arithmetic one meet in one instruction",
                "TSC04",
                about=(),
            )
    if op.name == "isa.tensor_reduce" and op.value("negate") is True:
        operator = kit.operator_name(op.value("op"))
        if operator is not None:
            yield check(
                op,
                "negate",
                E.truth(operator not in BITWISE),
                f"negate goes with an arithmetic operator (op is {operator})",
                f"the result of {operator} cannot be negated",
                "RED05",
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

# ----------------------------------------------------------------------------- engines

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

# ----------------------------------------------------------------------------- arguments


def _operator_arguments(op: Operation, target: Target) -> Iterator[Check]:
    short = op.name.partition(".")[2]
    if op.name == "isa.tensor_scalar":
        absent = kit.is_absent(op, "op1"), kit.is_absent(op, "operand1")
        operator = kit.operator_name(op.value("op1"))
        if operator not in UNARY:
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
        if operator in UNARY and not kit.is_unknown(value):
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

# ----------------------------------------------------------------------------- reduce commands


#: who has the command at all
_COMMAND_FACTS: Final = {"reset": ("NKI-AC09",), "load_reduce": ("NKI-AC08",)}


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
    if role and not kit.is_unknown(op.value(role)):
        value = op.value(role)
        empty = value is None or (op.name == "isa.exponential" and kit.constant(value) == 0)
        loads = command == "load_reduce"
        if not (loads and op.name == "isa.exponential"):
            yield check(
                op,
                role if not empty else "reduce_cmd",
                E.truth(loads != empty),
                f"{role} is given exactly with reduce_cmd load_reduce",
                f"{role} is missing" if loads else f"{role} goes with load_reduce only",
                fact,
                "AC08",
                about=(),
            )
    if op.name == "isa.activation" and command in ("reduce", "reset_reduce"):
        value = op.value("reduce_op")
        if not kit.is_unknown(value):
            yield check(
                op,
                "reduce_cmd",
                E.truth(value is not None),
                "reduce_op is given",
                f"reduce_cmd {command} needs a reduce_op",
                "ACT12",
                about=(),
                help=("pass reduce_op=nl.add",),
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
        on="operation",
        enforces=lambda i: (i.commands.fact,) if i.commands is not None else (),
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

# ----------------------------------------------------------------------------- features of targets


def _target_feature(op: Operation, target: Target) -> Iterator[Check]:
    instruction = kit.described(op)
    if instruction.needs is not None:
        yield _has_instruction(op, instruction.short, target, *instruction.needs)
    for item in instruction.operators:
        operator = kit.operator_name(op.value(item.role))
        if operator is None or operator not in item.needs:
            continue
        capability, facts = item.needs[operator]
        first = targets.first_with(capability)
        yield check(
            op,
            item.role,
            E.truth(target.has(capability)),
            f"the target is {first.name} or newer (it is {target.name})",
            f"{target.name} has no {operator} in {instruction.short}",
            *facts,
            about=(),
        )
    if op.name in ("isa.activation", "isa.activation_reduce"):
        yield from _bias(op, target)
    for role, operand in op.operands.items():
        view = operand.value
        if isinstance(view, View) and instruction.computes and instruction.needs is None:
            packed = view.dtype.among(kit.PACKED)
            if not target.has(Capability.MX_MATMUL) and packed is not E.FALSE:
                what = view.dtype.name or "its dtype"
                yield check(
                    op,
                    role,
                    E.not_(packed),
                    f"{role} is not packed (it is {what})",
                    f"{target.name} cannot compute with {what}",
                    "H82",
                )


def _has_instruction(
    op: Operation, short: str, target: Target, capability: Capability, facts: tuple[str, ...]
) -> Check:
    first = targets.first_with(capability)
    version = f"nisa.nc_version.{first.version}"
    return Check(
        predicate=E.truth(target.has(capability)),
        span=op.span,
        text=f"the target is {first.name} or newer (it is {target.name})",
        message=f"{target.name} has no {short}",
        facts=facts,
        help=(f"guard the call with nisa.get_nc_version() >= {version}",),
    )


def _bias(op: Operation, target: Target) -> Iterator[Check]:
    bias, operand = op.value("bias"), op.operands.get("bias")
    given = operand is not None and operand.given
    if given and kit.is_number(bias) and not target.has(Capability.BIAS_NUMBER):
        yield check(
            op,
            "bias",
            E.FALSE,
            "bias is a tile of shape (partitions, 1)",
            f"the Scalar Engine of {target.name} takes bias as a tile only",
            "ACT05",
            "H73",
            about=(),
        )
    if target.has(Capability.BIASED_RECIPROCAL) or kit.is_unknown(bias):
        return
    if kit.operator_name(op.value("op")) == "reciprocal":
        yield check(
            op,
            "bias",
            E.truth(bias is None),
            "bias is None",
            f"reciprocal takes no bias on {target.name}",
            "ACT09",
            about=(),
        )


def _feature_facts(instruction: Instruction) -> Iterator[str]:
    if instruction.needs is not None:
        yield from instruction.needs[1]
    for item in instruction.operators:
        yield from (fact for _, facts in item.needs.values() for fact in facts)
    if instruction.computes:
        yield "NKI-H82"


register(
    Rule(
        id="target-feature",
        code="NKI615",
        family="operators",
        summary="the instruction, or the feature it uses, exists on the target",
        reason=(
            "Instructions and operators were added with each generation of the NeuronCore. A "
            "kernel for several targets asks for the version before it uses the newer ones."
        ),
        facts=("ACT05", "ACT06", "ACT09", "H73"),
        on="operation",
        enforces=_feature_facts,
        check=_target_feature,
        sources=("NKI ISA", "Neuron architecture guides"),
        failing=kernel(
            "softmax_numerator",
            {"x": ((128, 256), "float32")},
            ((128, 256), "float32"),
            "nisa.exponential(dst=result, src=x_tile, max_value=0.0)",
        ),
        passing=kernel(
            "softmax_numerator",
            {"x": ((128, 256), "float32")},
            ((128, 256), "float32"),
            "nisa.exponential(dst=result, src=x_tile, max_value=0.0)",
            target="trn3",
        ),
    )
)

# ----------------------------------------------------------------------------- language functions


def _language_support(op: Operation, target: Target) -> Iterator[Check]:
    instruction = kit.described(op)
    short, simulated = instruction.short, instruction.simulated
    if simulated is not None:
        if at_least(op.api, simulated.since):
            yield Check(
                predicate=E.FALSE,
                span=op.span,
                text=f"nl.{short} exists on hardware",
                message=f"nl.{short} does not compile for hardware",
                facts=(simulated.fact,),
                help=(simulated.instead,),
            )
        return
    if op.name == "language.power" and at_least(op.api, "0.3"):
        value = op.value("y")
        if kit.is_number(value):
            yield check(
                op,
                "y",
                E.FALSE,
                "y is a tile",
                "nl.power takes its exponent as a tile",
                "L44",
                about=(),
            )
    if op.name == "language.power" or at_least(op.api, "0.5"):
        if op.name == "language.power" and not at_least(op.api, "0.3"):
            return
        fact = "L44" if op.name == "language.power" else "L45"
        for role in ("x", "y"):
            view = op.view(role)
            if view is None or not view.buffer.on_chip:
                continue
            found = kit.buffer_check(
                op,
                role,
                view,
                (Buffer.SBUF,),
                f"nl.{short} runs on GpSimd, which cannot reach {role} in PSUM",
                fact,
                help=("copy the tile to SBUF first",),
            )
            if found is not None:
                yield found


def _support_facts(instruction: Instruction) -> Iterator[str]:
    if instruction.simulated is not None:
        yield instruction.simulated.fact
    if instruction.name in ("language.power", "language.rsqrt"):
        yield "NKI-L44" if instruction.short == "power" else "NKI-L45"


register(
    Rule(
        id="language-support",
        code="NKI616",
        family="operators",
        summary="functions of nki.language are used as far as hardware supports them",
        reason=(
            "Some functions of nki.language run in the simulator only, and some became programs of "
            "GpSimd, which sees SBUF alone. They are accepted when a kernel is traced and fail "
            "when it is compiled."
        ),
        facts=("L44", "L45"),
        on="operation",
        enforces=_support_facts,
        check=_language_support,
        sources=("NKI 0.4 known issues", "NKI migration guide 0.5"),
        failing="""\
import nki
import nki.language as nl


@nki.jit
def ratio(a, b):
    assert a.shape == (64, 25) and b.shape == (64, 25)
    out = nl.ndarray((64, 25), dtype=a.dtype, buffer=nl.shared_hbm)
    top = nl.load(a)
    bottom = nl.load(b)
    nl.store(out, nl.divide(top, bottom))
    return out
""",
        passing="""\
import nki
import nki.language as nl


@nki.jit
def ratio(a, b):
    assert a.shape == (64, 25) and b.shape == (64, 25)
    out = nl.ndarray((64, 25), dtype=a.dtype, buffer=nl.shared_hbm)
    top = nl.load(a)
    bottom = nl.load(b)
    nl.store(out, nl.multiply(top, nl.reciprocal(bottom)))
    return out
""",
    )
)
