"""What the Scalar Engine does: functions of one element out of tables."""

from __future__ import annotations

from typing import Final

from verifier.dialects.nki.isa.families import and_reduced, sums_of_scalar
from verifier.dialects.nki.isa.operators import ACTIVATIONS, admits
from verifier.dialects.nki.isa.shared import (
    EVERY,
    FP32,
    HALF,
    indirect,
    on_chip,
    operator,
    tile,
    vector,
    words,
)
from verifier.dialects.nki.results import Like
from verifier.hardware import dtypes as dt
from verifier.hardware.capabilities import Capability
from verifier.hardware.engines import Engine
from verifier.symbolic import expr as E
from verifier.symbolic.effects import ALWAYS, When
from verifier.symbolic.instruction import Chain, Commands, Engines, Instruction, Scratch, Step
from verifier.symbolic.roles import PerPartition, SameType, Since, Streams, Types

_BIAS: Final = vector(
    "bias",
    on_chip("NKI-BUF05"),
    shape=PerPartition("data", "NKI-ACT08", rank=2),
    dtypes=Types(
        EVERY - dt.codes("tfloat32"),
        "anything but tfloat32",
        "NKI-ACT07",
        "0.3",
        before=Types(
            FP32 | HALF,
            "float32, float16 or bfloat16",
            "NKI-ACT07",
            "0.2",
            before=Types(FP32 | HALF, "float32, float16 or bfloat16", "NKI-E02"),
        ),
    ),
)
_SCALE: Final = vector(
    "scale",
    on_chip("NKI-BUF05"),
    shape=PerPartition("data", "NKI-ACT04"),
    dtypes=Types(FP32, "float32", "NKI-E03"),
)
#: with `idle` and `reset` the accumulators take nothing
_COMMANDS: Final = words("idle reduce reset reset_reduce")


_BIAS_OF_ZEROS: Final = Scratch(
    "a bias of zeros",
    ("NKI-B12", "NKI-E07"),
    "give it a tile of zeros that is placed as `bias=`",
    When("bias is not given", lambda call: E.truth(call.value("bias") is None)),
)


ACTIVATION: Final = Instruction(
    name="isa.activation",
    summary="dst = op(data * scale + bias), and optionally its sum along the free axes",
    signatures={
        "beta1": (
            "op*, data*, |, bias=None, scale=1.0, reduce_op=None, reduce_res=None, "
            "reduce_cmd=reduce_cmd.idle, mask=None, dtype=None, **"
        ),
        "0.2": (
            "dst*, op*, data*, bias=None, scale=1.0, reduce_op=None, reduce_res=None, "
            "reduce_cmd=reduce_cmd.idle, name=None"
        ),
    },
    roles=(
        tile("dst", on_chip("NKI-BUF05")),
        operator("op"),
        tile("data", on_chip("NKI-BUF05"), shape=Streams("dst", "NKI-ACT02")),
        _BIAS,
        _SCALE,
        operator("reduce_op"),
        tile("reduce_res", on_chip("NKI-BUF05"), shape=PerPartition("data", "NKI-ACT11")),
    ),
    engines=Engines(Engine.SCALAR),
    operators=(
        admits("op", ACTIVATIONS, "NKI-ACT03", "NKI-T15"),
        admits("reduce_op", words("add"), "NKI-ACT10", folds=True),
    ),
    commands=Commands(_COMMANDS, "NKI-ACT12", operator="reduce_op"),
    indirection=indirect("dst data", "data"),
    footprint=and_reduced("data", "bias", "scale", accumulators=sums_of_scalar("NKI-ACT13")),
    result=Like(("data",)),
    scratch=_BIAS_OF_ZEROS,
)

ACTIVATION_REDUCE: Final = Instruction(
    name="isa.activation_reduce",
    summary="dst = op(data * scale + bias), and its sum along the free axes",
    signatures={
        "beta1": (
            "op*, data*, |, reduce_op*, reduce_res*, bias=None, scale=1.0, mask=None, "
            "dtype=None, **"
        ),
        "0.2": "dst*, op*, data*, reduce_op*, reduce_res*, bias=None, scale=1.0, name=None",
    },
    roles=(
        tile("dst", on_chip("NKI-BUF05")),
        operator("op"),
        tile("data", on_chip("NKI-BUF05"), shape=Streams("dst", "NKI-ACR01")),
        operator("reduce_op"),
        tile("reduce_res", on_chip("NKI-BUF05"), shape=PerPartition("data", "NKI-ACR03")),
        _BIAS,
        _SCALE,
    ),
    engines=Engines(Engine.SCALAR),
    operators=(
        admits("op", ACTIVATIONS, "NKI-ACT03", "NKI-T15"),
        admits("reduce_op", words("add"), "NKI-ACR02", folds=True),
    ),
    indirection=indirect("dst data", "data"),
    footprint=and_reduced(
        "data",
        "bias",
        "scale",
        when=ALWAYS,
        accumulators=sums_of_scalar("NKI-ACR04", without="reset_reduce"),
    ),
    succeeded=Since("0.2", "NKI-ACR06"),
    result=Like(("data",)),
)

_PAIRS: Final = frozenset(
    {
        ("multiply", "add"),
        ("multiply", "subtract"),
        ("multiply", "bypass"),
        ("add", "bypass"),
        ("subtract", "bypass"),
        ("bypass", "bypass"),
    }
)

ACTIVATE2: Final = Instruction(
    name="isa.activate2",
    summary=(
        "dst = op((data op0 imm0) op1 imm1), and optionally its reduction along the free axes"
    ),
    signatures={
        "0.4": (
            "dst*, op*, data*, imm0*, imm1*, op0*, op1*, relu_param=0.0, reverse0=False, "
            "reverse1=False, reduce_op=None, reduce_res=None, reduce_cmd=reduce_cmd.idle, "
            "name=None"
        ),
    },
    roles=(
        tile("dst", on_chip("NKI-BUF05")),
        operator("op"),
        tile("data", on_chip("NKI-BUF05"), shape=Streams("dst", "NKI-ATW03")),
        vector("imm0", on_chip("NKI-BUF05"), shape=PerPartition("data", "NKI-ATW04")),
        vector(
            "imm1",
            on_chip("NKI-BUF05"),
            shape=PerPartition("data", "NKI-ATW04"),
            same_dtype=SameType("imm0", "NKI-ATW04", "0.4"),
        ),
        operator("op0"),
        operator("op1"),
        operator("reduce_op"),
        tile("reduce_res", on_chip("NKI-BUF05"), shape=PerPartition("data", "NKI-ATW06")),
    ),
    engines=Engines(Engine.SCALAR),
    operators=(
        admits("op", ACTIVATIONS, "NKI-ATW09", "NKI-T15"),
        admits("reduce_op", words("abs_max abs_min add maximum minimum"), "NKI-ATW06", folds=True),
    ),
    commands=Commands(_COMMANDS, "NKI-ATW07"),
    needs=(Capability.ACTIVATE2, ("NKI-ATW01", "NKI-H85")),
    chain=Chain(
        (
            Step("op0", "imm0", "reverse0", turned="NKI-ATW05"),
            Step("op1", "imm1", "reverse1", turned="NKI-ATW05"),
        ),
        _PAIRS,
        "NKI-ATW02",
        ("relu_param", "op", "prelu", "NKI-ATW08"),
    ),
    indirection=indirect("dst data", "data"),
    footprint=and_reduced("data", "imm0", "imm1", accumulators=sums_of_scalar()),
)

INSTRUCTIONS: Final = (
    ACTIVATION,
    ACTIVATION_REDUCE,
    ACTIVATE2,
)
