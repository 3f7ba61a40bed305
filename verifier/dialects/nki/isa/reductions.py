"""What folds the elements of a partition, or of all partitions, together."""

from __future__ import annotations

from typing import Final

from verifier.dialects.nki.isa.families import (
    and_reduced,
    both_operators,
    of_partition,
    sums_of_vector,
)
from verifier.dialects.nki.isa.operators import (
    ARITHMETIC,
    FOLDS,
    OF_NUMBERS,
    REDUCERS,
    UNARY,
    UNLISTED,
    admits,
    newer_unary,
)
from verifier.dialects.nki.isa.shared import (
    FLOAT8,
    FP32,
    HALF,
    exactly,
    folded_over,
    folded_so_far,
    for_gpsimd,
    indirect,
    on_chip,
    operator,
    per_lane,
    tile,
    vector,
    words,
    written,
)
from verifier.dialects.nki.results import Like, OneRow, Reduced
from verifier.hardware import dtypes as dt
from verifier.hardware.engines import Engine
from verifier.symbolic import expr as E
from verifier.symbolic.effects import Call, Folded, Footprint, Index, Line, Reads
from verifier.symbolic.instruction import (
    Chain,
    Commands,
    Engines,
    Instruction,
    OnePort,
    Reduction,
    Step,
    Trait,
)
from verifier.symbolic.roles import Limit, PerPartition, Sized, Streams, Types

#: floats and integers of at most 16 bits
_SHORT: Final = Types(
    HALF | FP32 | FLOAT8 | dt.codes("float8_e4m3fn", "uint8", "uint16", "int8", "int16", "bool_"),
    "a float or a short integer",
    "NKI-TCU02",
    "0.2",
)


#: count, mean and spread of some elements
_TRIPLE: Final = 3


def _column(call: Call, index: Index) -> Line | None:
    """The elements of all partitions at one place."""
    view = call.view("data")
    return (None, *index[1:]) if view is not None and view.rank == len(index) else None


TENSOR_REDUCE: Final = Instruction(
    name="isa.tensor_reduce",
    summary="dst = data, reduced along free axes",
    signatures={
        "beta1": "op*, data*, axis*, |, mask=None, dtype=None, negate=False, keepdims=False, **",
        "0.2": "dst*, op*, data*, axis*, negate=False, keepdims=False, name=None",
    },
    roles=(
        tile("dst", on_chip("NKI-BUF11")),
        operator("op"),
        tile("data", on_chip("NKI-BUF11")),
    ),
    engines=Engines(Engine.VECTOR),
    operators=(
        admits("op", REDUCERS, "NKI-RED04", "NKI-T09", bits="NKI-RED05", gone=UNLISTED, folds=True),
    ),
    indirection=indirect("dst data", "data"),
    footprint=Footprint(reads=(folded_over("data", "axis"),), writes=written("dst")),
    result=Reduced("data"),
    reduces=Reduction("NKI-RED01", "0.3", "NKI-RED08", one="0.2"),
)

TENSOR_SCALAR_REDUCE: Final = Instruction(
    name="isa.tensor_scalar_reduce",
    summary="dst = data op0 operand0, and its reduction along the free axes",
    signatures={
        "beta1": (
            "|, data*, op0*, operand0*, reduce_op*, reduce_res*, reverse0=False, dtype=None, "
            "mask=None, **"
        ),
        "0.2": "dst*, data*, op0*, operand0*, reduce_op*, reduce_res*, reverse0=False, name=None",
        "0.4": (
            "dst*, data*, op0*, operand0*, reduce_op*, reduce_res*, reverse0=False, "
            "reduce_cmd=reduce_cmd.reset_reduce, reduce_init=None, name=None"
        ),
        "0.6": (
            "dst*, data*, op0*, operand0*, reduce_op*, reduce_res=None, reverse0=False, "
            "reduce_cmd=reduce_cmd.reset_reduce, reduce_init=None, reduce_res_negate=False, "
            "name=None"
        ),
    },
    roles=(
        tile("dst", on_chip("NKI-BUF12")),
        tile("data", on_chip("NKI-BUF12"), shape=Streams("dst", "NKI-TSR08")),
        operator("op0"),
        vector("operand0", on_chip("NKI-BUF12"), shape=PerPartition("data", "NKI-TSR02")),
        operator("reduce_op"),
        tile("reduce_res", on_chip("NKI-BUF12"), shape=PerPartition("data", "NKI-TSR04")),
        vector(
            "reduce_init",
            on_chip("NKI-BUF12"),
            shape=PerPartition("data", "NKI-TSR06"),
            dtypes=Types(FP32, "float32", "NKI-TSR06"),
        ),
    ),
    engines=Engines(Engine.VECTOR),
    operators=(
        admits(
            "op0",
            ARITHMETIC | UNARY | OF_NUMBERS,
            "NKI-TSR01",
            needs=newer_unary("NKI-TSR07"),
            gone=UNLISTED,
        ),
        admits("reduce_op", FOLDS, "NKI-TSR03", "NKI-M095", gone={"subtract": "0.4"}, folds=True),
    ),
    commands=Commands(words("load_reduce reduce reset_reduce"), "NKI-TSR06", "reduce_init"),
    indirection=indirect("dst data", "data"),
    footprint=and_reduced(
        "data", "operand0", initial="reduce_init", accumulators=sums_of_vector("data", "NKI-TSR10")
    ),
    result=Like(("data",)),
    chain=Chain(
        (
            Step(
                *("op0", "operand0", "reverse0"),
                alone="NKI-TSR02",
                never_with="0.4",
                fixed="NKI-TSR05",
            ),
        )
    ),
)

TENSOR_SCALAR_CUMULATIVE: Final = Instruction(
    name="isa.tensor_scalar_cumulative",
    summary="dst = src op0 imm0, each element folded with all before it by op1",
    signatures={
        "0.2": "dst*, src*, op0*, op1*, imm0*, imm1=None, reduce_cmd=reduce_cmd.reset_reduce",
        "0.3": (
            "dst*, src*, op0*, op1*, imm0*, imm1=None, reduce_cmd=reduce_cmd.reset_reduce, "
            "name=None"
        ),
    },
    roles=(
        tile("dst", on_chip("NKI-BUF13"), dtypes=_SHORT),
        tile("src", on_chip("NKI-BUF13"), shape=Streams("dst", "NKI-TCU05"), dtypes=_SHORT),
        operator("op0"),
        operator("op1"),
        vector(
            "imm0",
            on_chip("NKI-BUF13"),
            shape=PerPartition("src", "NKI-TCU03"),
            dtypes=Types(FP32, "float32", "NKI-TCU03"),
        ),
        vector(
            "imm1",
            on_chip("NKI-BUF13"),
            shape=PerPartition("src", "NKI-TCU03"),
            dtypes=Types(FP32, "float32", "NKI-TCU03"),
        ),
    ),
    engines=Engines(Engine.VECTOR),
    operators=(
        admits("op0", ARITHMETIC | UNARY | OF_NUMBERS, "NKI-TCU01", gone=UNLISTED),
        admits("op1", FOLDS, "NKI-TCU01", folds=True),
    ),
    commands=Commands(words("load_reduce reduce reset_reduce"), "NKI-TCU04", "imm1"),
    indirection=indirect("dst src", "src"),
    footprint=Footprint(
        reads=(folded_so_far("src"), per_lane("imm0"), per_lane("imm1")),
        writes=written("dst"),
        accumulators=sums_of_vector("src", to="dst", operator="op1"),
    ),
    chain=Chain((Step("op0", "imm0", "", alone="NKI-TSC09", never_with="0.4"),)),
)

TENSOR_TENSOR_SCAN: Final = Instruction(
    name="isa.tensor_tensor_scan",
    summary="dst[i] = (data0[i] op0 dst[i - 1]) op1 data1[i], beginning with initial",
    signatures={
        "beta1": (
            "data0*, data1*, initial*, op0*, op1*, reverse0=False, reverse1=False, |, "
            "dtype=None, mask=None, **"
        ),
        "0.2": (
            "dst*, data0*, data1*, initial*, op0*, op1*, reverse0=False, reverse1=False, name=None"
        ),
    },
    roles=(
        tile("dst", on_chip("NKI-BUF10")),
        tile("data0", on_chip("NKI-BUF10"), shape=Streams("dst", "NKI-SCN01")),
        tile("data1", on_chip("NKI-BUF10"), shape=Streams("dst", "NKI-SCN01")),
        vector("initial", on_chip("NKI-BUF10"), shape=PerPartition("data0", "NKI-SCN03")),
        operator("op0"),
        operator("op1"),
    ),
    engines=Engines(Engine.VECTOR),
    operators=both_operators(ARITHMETIC, "NKI-SCN04"),
    one_psum_input=OnePort("data0", "data1", "NKI-SCN02"),
    footprint=Footprint(
        reads=(folded_so_far("data0"), folded_so_far("data1"), per_lane("initial")),
        writes=written("dst"),
    ),
    result=Like(("data0",)),
)

BN_STATS: Final = of_partition(
    "isa.bn_stats",
    "count, mean and spread of each partition, of even and of odd elements",
    # how many it takes is a number of the target (NKI-H105)
    tile("data", on_chip("NKI-BUF21")),
    exactly(2 * _TRIPLE, "NKI-BNS02"),
    beta1="data*, |, mask=None, dtype=None, **",
    traits=frozenset({Trait.STATISTICS}),
)

BN_AGGR: Final = of_partition(
    "isa.bn_aggr",
    "mean and variance out of the statistics of bn_stats",
    tile("data", on_chip("NKI-BUF21"), free=Limit(multiple_of=_TRIPLE, fact="NKI-BNA01")),
    exactly(2, "NKI-BNA02"),
    beta1="data*, |, mask=None, dtype=None, **",
    traits=frozenset({Trait.STATISTICS}),
)

TENSOR_PARTITION_REDUCE: Final = Instruction(
    name="isa.tensor_partition_reduce",
    summary="dst = data, reduced along the partitions",
    signatures={
        "beta1": "op*, data*, |, mask=None, dtype=None, **",
        "0.2": "dst*, op*, data*, name=None",
    },
    roles=(
        tile(
            "dst",
            for_gpsimd("NKI-BUF29"),
            shape=Sized(
                "data",
                lambda data: E.const(1),
                lambda data: data.free,
                "1 partition and the free size of data",
                "NKI-PRD02",
            ),
        ),
        operator("op"),
        tile("data", for_gpsimd("NKI-BUF29")),
    ),
    engines=Engines(Engine.GPSIMD),
    operators=(
        admits(
            "op",
            words("add average bitwise_and bitwise_or maximum"),
            "NKI-PRD01",
            bits="NKI-T02",
            folds=True,
        ),
    ),
    footprint=Footprint(reads=(Reads(role="data", fate=Folded(_column)),), writes=written("dst")),
    result=OneRow("data"),
)

INSTRUCTIONS: Final = (
    TENSOR_REDUCE,
    TENSOR_SCALAR_REDUCE,
    TENSOR_SCALAR_CUMULATIVE,
    TENSOR_TENSOR_SCAN,
    BN_STATS,
    BN_AGGR,
    TENSOR_PARTITION_REDUCE,
)
