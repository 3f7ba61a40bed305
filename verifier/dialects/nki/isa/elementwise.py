"""What streams tiles through the lanes element by element."""

from __future__ import annotations

from typing import Final

from verifier.dialects.nki.isa.families import (
    and_reduced,
    both_operators,
    copies,
    sums_of_vector,
)
from verifier.dialects.nki.isa.operators import (
    ARITHMETIC,
    BINARY,
    INVERSION,
    OF_NUMBERS,
    ON_BITS,
    UNARY,
    UNLISTED,
    admits,
)
from verifier.dialects.nki.isa.shared import (
    DRAWS,
    FLOAT,
    FLOAT8,
    FP32,
    HALF,
    INT,
    PROBABILITY,
    constant,
    decides,
    engines,
    filled,
    holds_integers,
    in_sbuf,
    indirect,
    moved,
    on_chip,
    operator,
    per_lane,
    probabilities,
    streamed,
    tile,
    unless_asked,
    vector,
    words,
    written,
)
from verifier.dialects.nki.results import Like, Paired, Shaped
from verifier.hardware import dtypes as dt
from verifier.hardware.capabilities import Capability
from verifier.hardware.engines import Engine
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.symbolic import expr as E
from verifier.symbolic.effects import SOME, Call, Footprint, Writes
from verifier.symbolic.instruction import (
    Admission,
    Chain,
    Commands,
    Engines,
    Instruction,
    OnePort,
    Result,
    Step,
    Trait,
)
from verifier.symbolic.roles import Limit, PerPartition, SameType, Since, Streams, Types
from verifier.symbolic.values import Enumerator

#: what exponential reads, and what it writes
_EXPONENTS: Final = FLOAT8 | HALF | FP32 | INT
_POWERS: Final = (_EXPONENTS | dt.codes("tfloat32")) - dt.codes("uint32")
_WORDS: Final = dt.codes("int32", "uint32")


def _of_two_tiles(call: Call) -> Engine:
    """Powers, and integers of 32 bits in SBUF, go to GpSimd (NKI-T16, NKI-TTN04)."""
    engine = call.value("engine")
    if engine is not None and not isinstance(engine, Enumerator):
        return Engine.UNKNOWN
    if call.value("op") == Enumerator("op", "power"):
        return Engine.GPSIMD
    given = [view for role in ("dst", "data1", "data2") if (view := call.view(role)) is not None]
    if any(view.buffer is Buffer.PSUM for view in given):
        return Engine.VECTOR
    return (
        Engine.GPSIMD
        if all(view.dtype.among(_WORDS) is E.TRUE for view in given)
        else Engine.VECTOR
    )


def _two_tiles_on(
    call: Call, engine: Engine, operators: tuple[str, ...], target: Target
) -> Admission | None:
    """Powers run on GpSimd only, operators on bits on the Vector Engine only."""
    if operators == ("power",):
        return Admission(
            engine is not Engine.VECTOR,
            "engine is not vector",
            "the Vector Engine has no power: it runs on GpSimd",
            ("NKI-TTN04", "NKI-T16"),
            memories=in_sbuf("NKI-TTN04"),
        )
    if ON_BITS.isdisjoint(operators):
        return None
    return Admission(
        engine in (Engine.VECTOR, Engine.UNKNOWN),
        f"engine is vector (it is {engine.value})",
        "bit operators run on the Vector Engine",
        ("NKI-TTN05",),
    )


#: the first pairs of operators that the Scalar Engine computed (NKI-TSC07)
_FIRST_PAIRS: Final = frozenset({("multiply", "add"), ("multiply",), ("add",)})


#: what the table of Beta 1 does not have the Vector Engine compute
_NOT_ON_VECTOR: Final = words("power rsqrt")


def _numbers_on(
    call: Call, engine: Engine, operators: tuple[str, ...], target: Target
) -> Admission | None:
    """What the Scalar Engine learned with the targets; GpSimd computes one operator."""
    names = " and ".join(operators)
    bits = operators[0] in ON_BITS
    facts: tuple[str, ...]
    if engine is Engine.SCALAR:
        if not target.has(Capability.COPY_ON_SCALAR):
            admitted, facts = False, ("NKI-H30",)
        elif not target.has(Capability.UNARY_OPERATORS):
            admitted, facts = operators in _FIRST_PAIRS, ("NKI-TSC07", "NKI-H81")
        else:
            admitted, facts = not bits, ("NKI-TSC05",)
        return Admission(
            admitted,
            f"the Scalar Engine of {target.name} computes the operators (they are {names})",
            f"the Scalar Engine of {target.name} cannot compute {names} in tensor_scalar",
            facts,
            help=("run it on the Vector Engine",),
        )
    if engine is Engine.VECTOR and call.api == "beta1":
        return Admission(
            _NOT_ON_VECTOR.isdisjoint(operators),
            f"the Vector Engine computes the operators (they are {names})",
            f"the Vector Engine does not compute {names}",
            ("NKI-T16",),
            help=("leave engine out: the compiler picks one that does",),
        )
    if engine is not Engine.GPSIMD:
        return None
    return Admission(
        operators == ("rsqrt",),
        f"op0 is rsqrt (the operators are {names})",
        "bit operators run on the Vector Engine"
        if bits
        else "tensor_scalar runs on GpSimd for rsqrt only",
        ("NKI-TSC05",) if bits else ("NKI-TSC08", "NKI-OQ26"),
        advice=not bits,
    )


TENSOR_TENSOR: Final = Instruction(
    name="isa.tensor_tensor",
    summary="dst = data1 op data2",
    signatures={
        "beta1": "data1*, data2*, op*, |, dtype=None, mask=None, engine=engine.unknown, **",
        "0.2": "dst*, data1*, data2*, op*, engine=engine.unknown, name=None",
    },
    roles=(
        tile("dst", on_chip("NKI-BUF06")),
        tile("data1", on_chip("NKI-BUF06"), shape=Streams("dst", "NKI-TTN01", column="NKI-TTN09")),
        tile("data2", on_chip("NKI-BUF06"), shape=Streams("dst", "NKI-TTN01", column="NKI-TTN09")),
        operator("op"),
    ),
    engines=Engines(_of_two_tiles, engines("gpsimd vector"), "NKI-TTN08", computes=_two_tiles_on),
    operators=(admits("op", BINARY, "NKI-TTN03", bits="NKI-TTN05", gone=UNLISTED),),
    one_psum_input=OnePort("data1", "data2", "NKI-TTN02"),
    indirection=indirect("dst data1", "data1", engines="gpsimd vector"),
    footprint=Footprint(reads=(streamed("data1"), streamed("data2")), writes=written("dst")),
    result=Paired(("data1", "data2")),
)

_IN_FLOAT32: Final = Since("0.2", "NKI-TSC06")

TENSOR_SCALAR: Final = Instruction(
    name="isa.tensor_scalar",
    summary="dst = (data op0 operand0) op1 operand1, each operand a number per partition",
    signatures={
        "beta1": (
            "data*, op0*, operand0*, reverse0=False, op1=None, operand1=None, reverse1=False, |, "
            "dtype=None, mask=None, engine=engine.unknown, **"
        ),
        "0.2": (
            "dst*, data*, op0*, operand0*, reverse0=False, op1=None, operand1=None, "
            "reverse1=False, engine=engine.unknown, name=None"
        ),
    },
    roles=(
        tile("dst", on_chip("NKI-BUF08")),
        tile("data", on_chip("NKI-BUF08"), shape=Streams("dst", "NKI-TSC01")),
        operator("op0"),
        vector(
            "operand0",
            on_chip("NKI-BUF08"),
            shape=PerPartition("data", "NKI-TSC02"),
            arithmetic=_IN_FLOAT32,
        ),
        operator("op1"),
        vector(
            "operand1",
            on_chip("NKI-BUF08"),
            shape=PerPartition("data", "NKI-TSC02"),
            arithmetic=_IN_FLOAT32,
        ),
    ),
    engines=Engines(
        unless_asked(Engine.VECTOR),
        engines("gpsimd scalar vector"),
        "NKI-N28",
        computes=_numbers_on,
    ),
    operators=both_operators(
        BINARY | UNARY | INVERSION | OF_NUMBERS,
        "NKI-T14",
        newer="NKI-TSC10",
        bits="NKI-TSC05",
        unmixed="NKI-TSC04",
    ),
    # integers of 32 bits are added and multiplied as addresses are (NKI-TI13)
    indirection=indirect("dst data", "data", engines="gpsimd scalar vector", never_of=_WORDS),
    footprint=Footprint(
        reads=(streamed("data"), per_lane("operand0"), per_lane("operand1")), writes=written("dst")
    ),
    result=Like(("data",)),
    chain=Chain(
        (
            Step("op0", "operand0", "reverse0", alone="NKI-TSC09", never_with="0.4"),
            Step("op1", "operand1", "reverse1", together="NKI-TSC03", turned="NKI-TSC11"),
        )
    ),
)

SCALAR_TENSOR_TENSOR: Final = Instruction(
    name="isa.scalar_tensor_tensor",
    summary="dst = (data op0 operand0) op1 operand1: a number per partition, then a tile",
    signatures={
        "beta1": (
            "|, data*, op0*, operand0*, op1*, operand1*, reverse0=False, reverse1=False, "
            "dtype=None, mask=None, **"
        ),
        "0.2": (
            "dst*, data*, op0*, operand0*, op1*, operand1*, reverse0=False, reverse1=False, "
            "name=None"
        ),
    },
    roles=(
        tile("dst", on_chip("NKI-BUF09")),
        tile(
            "data",
            on_chip("NKI-BUF09"),
            shape=Streams("dst", "NKI-STT01"),
            rank=(Limit(least=2, most=2, fact="NKI-STT05", until="0.2"),),
        ),
        operator("op0"),
        vector("operand0", on_chip("NKI-BUF09"), shape=PerPartition("data", "NKI-STT02")),
        operator("op1"),
        tile("operand1", on_chip("NKI-BUF09"), shape=Streams("dst", "NKI-STT01")),
    ),
    engines=Engines(Engine.VECTOR),
    operators=(
        admits("op0", ARITHMETIC | UNARY | OF_NUMBERS, "NKI-STT04", gone=UNLISTED),
        admits("op1", ARITHMETIC, "NKI-STT04", "NKI-TTN03", gone=UNLISTED),
    ),
    one_psum_input=OnePort("data", "operand1", "NKI-STT03"),
    footprint=Footprint(
        reads=(streamed("data"), per_lane("operand0"), streamed("operand1")), writes=written("dst")
    ),
    result=Like(("data",)),
    chain=Chain((Step("op0", "operand0", "reverse0", alone="NKI-TSC09", never_with="0.4"),)),
)

TENSOR_COPY: Final = Instruction(
    name="isa.tensor_copy",
    summary="dst = src, converted where the types differ",
    signatures={
        "beta1": "src*, |, mask=None, dtype=None, engine=engine.unknown, **",
        "0.2": "dst*, src*, engine=engine.unknown, name=None",
    },
    roles=(
        tile("dst", on_chip("NKI-BUF14")),
        tile("src", on_chip("NKI-BUF14"), shape=Streams("dst", "NKI-CPY01")),
    ),
    engines=Engines(
        unless_asked(Engine.VECTOR),
        engines("gpsimd scalar vector"),
        "NKI-N29",
        {Engine.SCALAR: (Capability.COPY_ON_SCALAR, ("NKI-CPY04", "NKI-H80", "NKI-OQ11"))},
    ),
    indirection=indirect("dst src", "src", engines="scalar vector"),
    footprint=copies("src"),
    result=Like(("src",)),
    traits=frozenset({Trait.COPIES}),
    converts="NKI-CPY05",
)


def _copy_by_registers(
    name: str, summary: str, beta1: str, side: str, result: Result | None = None
) -> Instruction:
    """A copy whose one ``side`` lies at an address out of registers."""
    return Instruction(
        name=name,
        summary=summary,
        signatures={
            "beta1": f"{beta1}, mask=None, dtype=None, engine=engine.unknown, **",
            "0.2": "dst*, src*, engine=engine.unknown, name=None",
            "0.4": None,
        },
        roles=(
            tile("dst", on_chip("NKI-OLD01")),
            tile("src", on_chip("NKI-OLD01"), shape=Streams("dst", "NKI-OLD01")),
        ),
        engines=Engines(Engine.UNKNOWN),
        footprint=copies("src"),
        result=result,
        traits=frozenset({Trait.NO_LANES}),
        instead=f"use `tensor_copy` with `{side}.ap(..., scalar_offset=...)`",
        removal=("NKI-M069", "NKI-M092"),
    )


TENSOR_COPY_DYNAMIC_SRC: Final = _copy_by_registers(
    "isa.tensor_copy_dynamic_src",
    "dst = src, at an address out of registers",
    "src*, |",
    "src",
    Like(("src",)),
)

TENSOR_COPY_DYNAMIC_DST: Final = _copy_by_registers(
    "isa.tensor_copy_dynamic_dst",
    "dst = src, to an address out of registers",
    "|, dst*, src*",
    "dst",
)

TENSOR_COPY_PREDICATED: Final = Instruction(
    name="isa.tensor_copy_predicated",
    summary="dst = src where the predicate is not 0; elsewhere dst keeps what it holds",
    signatures={
        "beta1": "|, src*, dst*, predicate*, reverse_pred=False, mask=None, dtype=None, **",
        "0.2": "dst*, src*, predicate*, reverse_pred=False, name=None",
    },
    roles=(
        tile("dst", on_chip("NKI-BUF15"), same_dtype=SameType("src", "NKI-CPP03", "0.2")),
        vector("src", on_chip("NKI-BUF15"), shape=Streams("dst", "NKI-CPP01")),
        tile(
            "predicate",
            on_chip("NKI-BUF15"),
            shape=Streams("dst", "NKI-CPP01"),
            dtypes=Types(
                dt.codes("uint8", "uint16", "uint32"), "an unsigned integer", "NKI-CPP02", "0.3"
            ),
        ),
    ),
    engines=Engines(Engine.VECTOR),
    one_psum_input=OnePort("src", "predicate", "NKI-CPP04"),
    indirection=indirect("dst predicate", "predicate"),
    footprint=Footprint(
        reads=(moved("src", where=SOME), decides("predicate", "it is a condition")),
        writes=(Writes(role="dst", where=SOME, keeps="NKI-CPP05"),),
    ),
)

RECIPROCAL: Final = Instruction(
    name="isa.reciprocal",
    summary="dst = 1 / data",
    signatures={
        "beta1": "data*, |, dtype=None, mask=None, **",
        "0.2": "dst*, data*, name=None",
    },
    roles=(
        tile("dst", on_chip("NKI-BUF19")),
        tile("data", on_chip("NKI-BUF19"), shape=Streams("dst", "NKI-RCP01")),
    ),
    engines=Engines(Engine.VECTOR),
    footprint=Footprint(reads=(streamed("data"),), writes=written("dst")),
    result=Like(("data",)),
)

MEMSET: Final = Instruction(
    name="isa.memset",
    summary="dst = value, everywhere",
    signatures={
        "beta1": "shape*, value*, dtype*, |, mask=None, engine=engine.unknown, **",
        "0.2": "dst*, value*, engine=engine.unknown, name=None",
    },
    roles=(
        tile("dst", on_chip("NKI-BUF25")),
        constant("value", "NKI-MST01", exact=Since("0.3", "NKI-MST02")),
    ),
    engines=Engines(unless_asked(Engine.VECTOR), engines("gpsimd vector"), "NKI-MST04"),
    footprint=Footprint(writes=filled("value")),
    result=Shaped(),
)

DROPOUT: Final = Instruction(
    name="isa.dropout",
    summary="dst = data, or 0 with a probability",
    signatures={
        "beta1": "data*, prob*, |, mask=None, dtype=None, **",
        "0.2": "dst*, data*, prob*, name=None",
    },
    roles=(
        tile(
            "dst",
            on_chip("NKI-BUF21"),
            same_dtype=SameType("data", "NKI-DRP03", "0.2", earlier=holds_integers("data")),
        ),
        tile("data", on_chip("NKI-BUF21"), shape=Streams("dst", "NKI-H53")),
        vector(
            "prob",
            on_chip("NKI-BUF21"),
            shape=PerPartition("data", "NKI-DRP01"),
            dtypes=probabilities("data"),
            value=PROBABILITY,
        ),
    ),
    engines=Engines(Engine.VECTOR),
    footprint=Footprint(reads=(streamed("data"), per_lane("prob")), writes=written("dst")),
    result=Like(("data",)),
    traits=DRAWS,
)

_FOUR_DIMENSIONS: Final = (Limit(most=4, fact="NKI-A08"),)

EXPONENTIAL: Final = Instruction(
    name="isa.exponential",
    summary="dst = exp(src - max_value), and optionally its sum along the free axes",
    signatures={
        "0.2": (
            "dst*, src*, max_value=0.0, reduce_res=None, reduce_cmd=reduce_cmd.idle, "
            "reduce_init=0.0"
        ),
        "0.3": (
            "dst*, src*, max_value=0.0, reduce_res=None, reduce_cmd=reduce_cmd.idle, "
            "reduce_init=0.0, name=None"
        ),
    },
    roles=(
        tile(
            "dst",
            on_chip("NKI-BUF18"),
            dtypes=Types(_POWERS, "a float or an integer (not uint32)", "NKI-EXP04", "0.2"),
            rank=_FOUR_DIMENSIONS,
        ),
        tile(
            "src",
            on_chip("NKI-BUF18"),
            shape=Streams("dst", "NKI-EXP02"),
            dtypes=Types(_EXPONENTS, "a float (not tfloat32) or an integer", "NKI-EXP03", "0.2"),
            rank=_FOUR_DIMENSIONS,
        ),
        vector(
            "max_value",
            on_chip("NKI-BUF18"),
            shape=PerPartition("src", "NKI-EXP05"),
            dtypes=Types(FP32, "float32", "NKI-EXP05"),
        ),
        tile(
            "reduce_res",
            on_chip("NKI-BUF18"),
            shape=PerPartition("src", "NKI-EXP06"),
            dtypes=Types(FLOAT, "a float", "NKI-EXP06", "0.2"),
        ),
        vector(
            "reduce_init",
            on_chip("NKI-BUF18"),
            shape=PerPartition("src", "NKI-EXP05"),
            dtypes=Types(FP32, "float32", "NKI-AC08"),
        ),
    ),
    engines=Engines(Engine.VECTOR),
    commands=Commands(
        words("idle load_reduce reduce reset_reduce"), "NKI-EXP07", "reduce_init", unset=0
    ),
    needs=(Capability.EXPONENTIAL, ("NKI-EXP01", "NKI-H85")),
    indirection=indirect("dst src", "src"),
    footprint=and_reduced(
        "src",
        "max_value",
        initial="reduce_init",
        accumulators=sums_of_vector("src", "NKI-EXP08", without="idle"),
    ),
)

INSTRUCTIONS: Final = (
    TENSOR_TENSOR,
    TENSOR_SCALAR,
    SCALAR_TENSOR_TENSOR,
    TENSOR_COPY,
    TENSOR_COPY_DYNAMIC_SRC,
    TENSOR_COPY_DYNAMIC_DST,
    TENSOR_COPY_PREDICATED,
    RECIPROCAL,
    MEMSET,
    DROPOUT,
    EXPONENTIAL,
)
