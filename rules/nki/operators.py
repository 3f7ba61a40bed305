"""Operators, engines, commands and features that instructions and targets have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rules.nki import kit
from rules.nki.dtypes import BITWISE
from rules.nki.kit import at_least, check, register
from rules.nki.samples import kernel
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.rulebase import Check, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ARITHMETIC: Final = _words(
    "add subtract multiply maximum minimum equal not_equal greater_equal greater less_equal less "
    "logical_and logical_or logical_xor power abs_max abs_min divide mod bypass average"
)
UNARY: Final = _words("abs square relu rsqrt reciprocal")
ACTIVATIONS: Final = _words(
    "copy square sigmoid relu prelu gelu gelu_dx gelu_apprx_tanh gelu_apprx_sigmoid "
    "gelu_apprx_sigmoid_dx silu silu_dx tanh softplus mish erf erf_dx exp log sin arctan sqrt "
    "rsqrt reciprocal sign abs"
)
COMPARISONS: Final = _words("equal not_equal greater_equal greater less_equal less")
RANGES: Final = COMPARISONS - {"not_equal"}
REDUCERS: Final = _words(
    "bitwise_and bitwise_or bitwise_xor add subtract multiply maximum minimum logical_and "
    "logical_or logical_xor"
)
_BINARY: Final = ARITHMETIC | BITWISE - {"invert"}
_SCALAR_OPS: Final = ARITHMETIC | BITWISE | UNARY
_ACT_REDUCE: Final = _words("add")

#: (operation, operand, admitted operators, catalogue row)
_OPERATORS: Final[tuple[tuple[str, str, frozenset[str], str], ...]] = (
    ("isa.activation", "op", ACTIVATIONS, "ACT03"),
    ("isa.activation_reduce", "op", ACTIVATIONS, "ACT03"),
    ("isa.activate2", "op", ACTIVATIONS, "ATW09"),
    ("isa.activation", "reduce_op", _ACT_REDUCE, "ACT10"),
    ("isa.activation_reduce", "reduce_op", _ACT_REDUCE, "ACR02"),
    ("isa.activate2", "reduce_op", _words("add maximum minimum abs_max abs_min"), "ATW06"),
    ("isa.tensor_tensor", "op", _BINARY, "TTN03"),
    ("isa.tensor_scalar", "op0", _SCALAR_OPS, "T14"),
    ("isa.tensor_scalar", "op1", _SCALAR_OPS, "T14"),
    ("isa.scalar_tensor_tensor", "op0", ARITHMETIC | UNARY, "STT04"),
    ("isa.scalar_tensor_tensor", "op1", ARITHMETIC | UNARY, "STT04"),
    ("isa.tensor_reduce", "op", REDUCERS | _words("abs_max abs_min average"), "RED04"),
    ("isa.tensor_tensor_scan", "op0", ARITHMETIC, "SCN04"),
    ("isa.tensor_tensor_scan", "op1", ARITHMETIC, "SCN04"),
    ("isa.tensor_scalar_reduce", "op0", ARITHMETIC | UNARY, "TSR01"),
    (
        "isa.tensor_scalar_reduce",
        "reduce_op",
        _words("add subtract multiply maximum minimum"),
        "TSR03",
    ),
    ("isa.tensor_scalar_cumulative", "op0", ARITHMETIC | UNARY, "TCU01"),
    (
        "isa.tensor_scalar_cumulative",
        "op1",
        _words("add subtract multiply maximum minimum"),
        "TCU01",
    ),
    ("isa.range_select", "comp_op0", RANGES, "RSL02"),
    ("isa.range_select", "comp_op1", RANGES, "RSL02"),
    ("isa.range_select", "reduce_op", _words("maximum"), "RSL07"),
    ("isa.select_reduce", "reduce_op", _words("maximum"), "SLR06"),
    ("isa.affine_select", "cmp_op", COMPARISONS, "AFS04"),
    (
        "isa.tensor_partition_reduce",
        "op",
        _words("add average maximum bitwise_or bitwise_and"),
        "PRD01",
    ),
    ("collectives.all_reduce", "op", _words("add minimum maximum"), "K02"),
    ("collectives.reduce_scatter", "op", _words("add minimum maximum"), "K02"),
    (
        "collectives.collective_permute_implicit_reduce",
        "op",
        _words("add minimum maximum"),
        "K02",
    ),
)


def _operator_kind(op: Operation, target: Target) -> Iterator[Check]:
    for name, role, admitted, fact in _OPERATORS:
        if name != op.name:
            continue
        operator = kit.operator_name(op.value(role))
        if operator is None:
            continue
        short = op.name.partition(".")[2]
        yield check(
            op,
            role,
            E.truth(operator in admitted),
            f"{role} of {short} is one of its operators (it is {operator})",
            f"{short} cannot compute {operator}",
            fact,
            *(("T09",) if fact == "RED04" else ("T15",) if fact in ("ACT03", "ATW09") else ()),
            about=(),
            help=("operators: " + ", ".join(sorted(admitted)),) if len(admitted) < 12 else (),
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
        facts=tuple(
            dict.fromkeys([*(row[3] for row in _OPERATORS), "T09", "T15", "TSC04", "RED05"])
        ),
        on="operation",
        operations=tuple(dict.fromkeys(row[0] for row in _OPERATORS)),
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

_ENGINES: Final[dict[str, tuple[frozenset[str], str]]] = {
    "isa.tensor_tensor": (_words("vector gpsimd unknown"), "TTN08"),
    "isa.tensor_scalar": (_words("vector scalar gpsimd unknown"), "N28"),
    "isa.tensor_copy": (_words("vector scalar gpsimd unknown"), "N29"),
    "isa.memset": (_words("vector gpsimd unknown"), "MST04"),
    "isa.nc_transpose": (_words("tensor vector unknown"), "N21"),
    "isa.rng": (_words("vector gpsimd unknown"), "N33"),
    "isa.rand_set_state": (_words("vector gpsimd unknown"), "N34"),
    "isa.rand_get_state": (_words("vector gpsimd unknown"), "N34"),
}


def _engine_choice(op: Operation, target: Target) -> Iterator[Check]:
    engine = kit.engine(op)
    if engine is None:
        return
    admitted, fact = _ENGINES[op.name]
    short = op.name.partition(".")[2]
    yield check(
        op,
        "engine",
        E.truth(engine in admitted),
        f"engine is one that runs {short} (it is {engine})",
        f"the {engine} engine has no {short}",
        fact,
        about=(),
        help=("engines: " + ", ".join(sorted(admitted - {"unknown"})),),
    )
    if op.name == "isa.tensor_copy" and engine == "scalar":
        yield check(
            op,
            "engine",
            E.truth(target.generation >= 3),
            f"the target is trn2 or newer (it is {target.name})",
            f"the Scalar Engine of {target.name} has no tensor_copy",
            "CPY04",
            "H80",
            "OQ11",
            about=(),
            help=("use nisa.activation with op=nl.copy",),
        )
    if op.name in ("isa.rng", "isa.rand_set_state", "isa.rand_get_state"):
        special = "gpsimd" if op.name == "isa.rng" else "vector"
        first = 3 if op.name == "isa.rng" else 4
        if engine == special:
            yield check(
                op,
                "engine",
                E.truth(target.generation >= first),
                f"the target has {short} on the {special} engine (it is {target.name})",
                f"the {special} engine of {target.name} has no {short}",
                "RNG02" if first == 3 else "RSS02",
                *(("H79",) if first == 3 else ()),
                about=(),
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
        if target.generation == 2:
            allowed, fact = False, "H30"
        elif target.generation == 3:
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
            "TTN08",
            "TSC07",
            "TSC08",
            "CPY04",
            "MST04",
            "RNG02",
            "RSS02",
            "T16",
            "N21",
            "N28",
            "N29",
            "N33",
            "N34",
            "H30",
            "H79",
            "H80",
            "H81",
            "OQ11",
            "OQ26",
            "TTN05",
            "TSC05",
        ),
        on="operation",
        operations=tuple(_ENGINES),
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

_COMMANDS: Final[dict[str, tuple[frozenset[str], str]]] = {
    "isa.activation": (_words("idle reset reduce reset_reduce"), "ACT12"),
    "isa.activate2": (_words("idle reset reduce reset_reduce"), "ATW07"),
    "isa.select_reduce": (_words("idle reset_reduce reduce"), "SLR07"),
    "isa.tensor_scalar_reduce": (_words("reset_reduce reduce load_reduce"), "TSR06"),
    "isa.tensor_scalar_cumulative": (_words("reset_reduce reduce load_reduce"), "TCU04"),
    "isa.exponential": (_words("idle reset_reduce reduce load_reduce"), "EXP07"),
    "isa.range_select": (_words("idle reset_reduce reduce"), "RSL09"),
}
_INITIAL: Final = {
    "isa.tensor_scalar_reduce": "reduce_init",
    "isa.tensor_scalar_cumulative": "imm1",
    "isa.exponential": "reduce_init",
}


def _reduce_command(op: Operation, target: Target) -> Iterator[Check]:
    command = kit.choice(op.value("reduce_cmd"))
    if command is None:
        return
    admitted, fact = _COMMANDS[op.name]
    short = op.name.partition(".")[2]
    yield check(
        op,
        "reduce_cmd",
        E.truth(command in admitted),
        f"reduce_cmd is one that {short} has (it is {command})",
        f"{short} has no reduce command {command}",
        fact,
        *(("AC09",) if command == "reset" else ("AC08",) if command == "load_reduce" else ()),
        about=(),
        help=("commands: " + ", ".join(sorted(admitted)),),
    )
    role = _INITIAL.get(op.name)
    if role is not None and not kit.is_unknown(op.value(role)):
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
        facts=(*sorted({fact for _, fact in _COMMANDS.values()} - {"RSL09"}), "AC08", "AC09"),
        on="operation",
        operations=tuple(_COMMANDS),
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

#: operation -> (first generation, catalogue rows)
_FIRST: Final[dict[str, tuple[int, tuple[str, ...]]]] = {
    "isa.nc_matmul_mx": (4, ("MMX01", "H82")),
    "isa.quantize_mx": (4, ("QMX01", "H82")),
    "isa.activate2": (4, ("ATW01", "H85")),
    "isa.exponential": (4, ("EXP01", "H85")),
    "isa.rand2": (4, ("RND01", "H85")),
    "isa.range_select": (3, ("RSL01", "H76")),
    "isa.nonzero_with_count": (3, ("NZC01", "H76")),
    "isa.core_barrier": (3, ("BAR01", "H77")),
    "isa.sendrecv": (3, ("SRV01", "H77")),
    "isa.rand_set_state": (3, ("RSS01", "H78")),
    "isa.rand_get_state": (3, ("RGT01", "H78")),
    "language.abs_max": (4, ("L41", "H86")),
    "language.abs_min": (4, ("L41", "H86")),
}
_OPERATOR_FIRST: Final = _words("square relu abs_max abs_min")
_TARGET_NAMES: Final = {3: "trn2", 4: "trn3"}


def _target_feature(op: Operation, target: Target) -> Iterator[Check]:
    short = op.name.partition(".")[2]
    if op.name in _FIRST:
        first, facts = _FIRST[op.name]
        yield Check(
            predicate=E.truth(target.generation >= first),
            span=op.span,
            text=f"the target is {_TARGET_NAMES[first]} or newer (it is {target.name})",
            message=f"{target.name} has no {short}",
            facts=kit.catalogue(facts),
            help=(f"guard the call with nisa.get_nc_version() >= nisa.nc_version.gen{first}",),
        )
    if op.name in ("isa.tensor_scalar", "isa.tensor_scalar_reduce"):
        for role in ("op0", "op1"):
            operator = kit.operator_name(op.value(role))
            if operator in _OPERATOR_FIRST:
                yield check(
                    op,
                    role,
                    E.truth(target.generation >= 4),
                    f"the target is trn3 or newer (it is {target.name})",
                    f"{target.name} has no {operator} in {short}",
                    "TSC10" if op.name == "isa.tensor_scalar" else "TSR07",
                    "H86",
                    about=(),
                )
    if op.name in ("isa.activation", "isa.activation_reduce") and target.generation == 2:
        bias = op.value("bias")
        operand = op.operands.get("bias")
        if operand is not None and operand.given and kit.is_number(bias):
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
        if kit.operator_name(op.value("op")) == "reciprocal" and not kit.is_unknown(bias):
            yield check(
                op,
                "bias",
                E.truth(bias is None),
                "bias is None",
                f"reciprocal takes no bias on {target.name}",
                "ACT09",
                about=(),
            )
    for role, operand in op.operands.items():
        view = operand.value
        if isinstance(view, View) and kit.is_compute(op) and op.name not in _FIRST:
            packed = view.dtype.among(kit.PACKED)
            if target.generation < 4 and packed is not E.FALSE:
                what = view.dtype.name or "its dtype"
                yield check(
                    op,
                    role,
                    E.not_(packed),
                    f"{role} is not packed (it is {what})",
                    f"{target.name} cannot compute with {what}",
                    "H82",
                )


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
        facts=(
            *dict.fromkeys(fact for _, facts in _FIRST.values() for fact in facts),
            "H86",
            "TSC10",
            "TSR07",
            "ACT05",
            "ACT06",
            "ACT09",
            "H73",
        ),
        on="operation",
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

_SIMULATED: Final = {
    "language.divide": ("L42", "0.3", "multiply by nl.reciprocal"),
    "language.mod": ("L43", "0.3", "it works in the simulator only"),
    "language.fmod": ("L43", "0.3", "it works in the simulator only"),
}


def _language_support(op: Operation, target: Target) -> Iterator[Check]:
    short = op.name.partition(".")[2]
    if op.name in _SIMULATED:
        fact, since, hint = _SIMULATED[op.name]
        if at_least(op.api, since):
            yield Check(
                predicate=E.FALSE,
                span=op.span,
                text=f"nl.{short} exists on hardware",
                message=f"nl.{short} does not compile for hardware",
                facts=kit.catalogue((fact,)),
                help=(hint,),
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
        facts=("L42", "L43", "L44", "L45"),
        on="operation",
        operations=(
            "language.divide",
            "language.mod",
            "language.fmod",
            "language.power",
            "language.rsqrt",
        ),
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
