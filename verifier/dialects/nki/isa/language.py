"""Functions of `nki.language` that compute on tiles, and operators of Python."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from verifier.dialects.nki.isa.families import language
from verifier.dialects.nki.isa.operators import ON_BITS
from verifier.dialects.nki.isa.shared import (
    DRAWS,
    ON_CHIP,
    PROBABILITY,
    SBUF,
    constant,
    decides,
    filled,
    folded_over,
    moved,
    on_chip,
    operator,
    per_lane,
    probabilities,
    streamed,
    tile,
    vector,
    when_given,
    words,
    written,
)
from verifier.dialects.nki.results import Like, LikeFirst, Reduced, Shaped
from verifier.hardware.capabilities import Capability
from verifier.hardware.engines import Engine
from verifier.hardware.memories import Buffer
from verifier.symbolic.effects import SOME, Call, Effect, Footprint, Writes
from verifier.symbolic.expr import TRUE
from verifier.symbolic.instruction import (
    Engines,
    Instruction,
    OnePort,
    Program,
    Reduction,
    Scratch,
    Simulated,
    Trait,
)
from verifier.symbolic.roles import In, PerPartition, Since
from verifier.symbolic.tensors import Mark
from verifier.symbolic.values import Enumerator
from verifier.symbolic.views.common import is_whole

_UNARY: Final = words(
    "abs arctan ceil cos erf erf_dx exp floor gelu gelu_apprx_sigmoid gelu_apprx_sigmoid_dx "
    "gelu_apprx_tanh gelu_dx invert log logical_not mish negative reciprocal relu rsqrt sigmoid "
    "sign silu silu_dx sin softplus sqrt square tan tanh trunc"
)
_BINARY: Final = words(
    "abs_max abs_min add bitwise_and bitwise_or bitwise_xor divide equal fmod greater "
    "greater_equal left_shift less less_equal logical_and logical_or logical_xor maximum minimum "
    "mod multiply not_equal power right_shift subtract"
)
_REDUCTIONS: Final = words("all max mean min prod sum var")
#: results are booleans in Beta 1 (NKI-M075)
_TRUTHS: Final = words(
    "equal not_equal greater greater_equal less less_equal "
    "logical_and logical_or logical_xor logical_not"
)
#: functions of one operand that 0.2 had; the others came back with 0.3
_KEPT: Final = words("abs gelu_apprx_sigmoid gelu_apprx_sigmoid_dx invert reciprocal rsqrt")
#: what the compiler has no program for (NKI-L42, NKI-L43)
_SIMULATED: Final = {
    "divide": Simulated("0.3", "NKI-L42", "multiply by nl.reciprocal"),
    "mod": Simulated("0.3", "NKI-L43", "it works in the simulator only"),
    "fmod": Simulated("0.3", "NKI-L43", "it works in the simulator only"),
}
#: what runs on GpSimd, from which generation on
_PROGRAMS: Final = {
    "power": Program("0.3", In((Buffer.SBUF,), ("NKI-L44",)), {"y": "NKI-L44"}),
    "rsqrt": Program("0.5", In((Buffer.SBUF,), ("NKI-L45",))),
}
#: where functions of one operand run; the others run on the Scalar Engine (NKI-T16)
_ON_VECTOR: Final = words("invert logical_not negative")


def _computed(operands: str, name: str) -> dict[str, str | None]:
    """Signatures of the functions that compute element by element."""
    if name in _TRUTHS:
        return {
            "beta1": f"{operands}, |, dtype=dtype.bool_, mask=None, **",
            "0.2": f"{operands}, dtype=dtype.bool_",
            "0.3": f"{operands}, dtype=None",
        }
    if name in ("abs_max", "abs_min"):
        return {"0.4": f"{operands}, dtype=None"}
    beta1 = f"{operands}, |, dtype=None, mask=None, **"
    if name in ("mod", "fmod"):
        return {
            "beta1": f"{operands}, dtype=None, mask=None, **",
            "0.2": None,
            "0.3": f"{operands}, dtype=None",
        }
    if name in _KEPT or name in _BINARY:
        return {"beta1": beta1, "0.2": f"{operands}, dtype=None"}
    return {"beta1": beta1, "0.2": None, "0.3": f"{operands}, dtype=None"}


#: functions of the Scalar Engine are activations
_BIAS_OF_ZEROS: Final = Scratch(
    "a bias of zeros",
    ("NKI-B12", "NKI-E07"),
    "write `nisa.activation` with a tile of zeros that is placed as `bias=`",
)


def _unary(name: str) -> Instruction:
    return Instruction(
        name=f"language.{name}",
        summary=f"{name} of each element",
        signatures=_computed("x*", name),
        roles=(tile("dst"), tile("x", on_chip("NKI-L56"))),
        engines=Engines(Engine.VECTOR if name in _ON_VECTOR else Engine.SCALAR),
        footprint=Footprint(reads=(streamed("x"),), writes=written("dst")),
        result=Like(("x",), truth=name in _TRUTHS),
        program=_PROGRAMS.get(name),
        on_bits="NKI-L47" if name in ON_BITS else "",
        scratch=None if name in _ON_VECTOR else _BIAS_OF_ZEROS,
        removal=("NKI-M024", "NKI-L54"),
        traits=frozenset({Trait.LANGUAGE}),
    )


def _binary(name: str) -> Instruction:
    needs = (Capability.MAGNITUDES, ("NKI-L41", "NKI-H86"))
    return Instruction(
        name=f"language.{name}",
        summary=f"{name} of two operands, element by element",
        signatures=_computed("x*, y*", name),
        roles=(
            tile("dst"),
            vector("x", on_chip("NKI-L56")),
            vector("y", on_chip("NKI-L56")),
        ),
        engines=Engines(Engine.GPSIMD if name == "power" else Engine.VECTOR),
        footprint=Footprint(reads=(streamed("x"), streamed("y")), writes=written("dst")),
        result=Like(("x", "y"), truth=name in _TRUTHS),
        needs=needs if name in ("abs_max", "abs_min") else None,
        simulated=_SIMULATED.get(name),
        program=_PROGRAMS.get(name),
        on_bits="NKI-L47" if name in ON_BITS else "",
        # the compiler of Beta 1 chooses what such a function becomes
        one_psum_input=None if name == "power" else OnePort("x", "y", "NKI-N08", since="0.3"),
        removal=("NKI-M024", "NKI-L54"),
        traits=frozenset({Trait.LANGUAGE}),
    )


def _reduction(name: str) -> Instruction:
    dtype = "dtype.bool_" if name == "all" else "None"
    keeps = "" if name in ("all", "var") else ", keepdims=False"
    later = "" if name == "all" else ", keepdims=False"
    # `var` keeps the reduced dimensions whatever is asked for (NKI-L51)
    kept = "0.3" if name == "var" else ""
    return language(
        name,
        f"{name} along axes",
        (f"x*, axis*, |, dtype={dtype}, mask=None{keeps}, **", f"x*, axis*, dtype=None{later}"),
        tile("x", on_chip("NKI-L56")),
        reads=(folded_over("x", "axis"),),
        engine=Engine.VECTOR,
        result=Reduced("x", keeps=kept),
        reduces=Reduction("NKI-L50", "0.3", keeps=kept),
    )


_ADD: Final = Enumerator("op", "add")
#: ``tile op= value``
_IN_PLACE: Final = when_given("op")


def _fold_in_place(call: Call) -> Effect:
    """``+=`` of what a matmul leaves goes on with a sum in PSUM (NKI-OLD03)."""
    return Effect.ADDS if call.value("op") == _ADD else Effect.SETS


def _assigned_by(call: Call) -> Engine:
    """What a matmul leaves goes where it is assigned or added; all else is copied or computed.

    Only the Tensor Engine adds to what lies in PSUM (NKI-H59, NKI-B23).
    """
    dst, value = call.view("dst"), call.view("value")
    if dst is None or dst.buffer is not Buffer.PSUM or value is None:
        return Engine.VECTOR
    summed = Mark.SUM in value.storage.marks and is_whole(replace(value, mask=TRUE))
    return Engine.TENSOR if summed else Engine.VECTOR


#: ``tile[...] = tile``
ASSIGN: Final = Instruction(
    name="language.assign",
    summary="a tile into a part of another, or folded with what is there",
    signatures={},
    roles=(tile("dst"), tile("value"), operator("op")),
    engines=Engines(_assigned_by),
    footprint=Footprint(
        reads=(moved("value"), streamed("dst", when=_IN_PLACE)),
        writes=(Writes(role="dst", effect=_fold_in_place),),
    ),
    traits=frozenset({Trait.LANGUAGE}),
)
#: ``tile[...] = number``
FILL: Final = Instruction(
    name="language.fill",
    summary="a number into a part of a tile, or folded with what is there",
    signatures={},
    roles=(tile("dst"), vector("value"), operator("op")),
    engines=Engines(Engine.VECTOR),
    footprint=Footprint(
        reads=(streamed("dst", when=_IN_PLACE),),
        writes=(Writes(role="dst", effect=_fold_in_place, constant="value"),),
    ),
    traits=frozenset({Trait.LANGUAGE}),
)

LANGUAGE_COPY: Final = language(
    "copy",
    "x in another tile",
    ("src*, |, mask=None, dtype=None, **", "x*, dtype=None"),
    # copies between memories are a known issue of 0.3 to 0.5, said to be unsupported
    tile("x", In(ON_CHIP, ("NKI-L25", "NKI-L56"), "0.6", SBUF, "warning")),
    tile("src"),
    reads=(moved("src"), moved("x")),
    engine=Engine.VECTOR,
    result=LikeFirst(),
)

LANGUAGE_STATIC_CAST: Final = language(
    "static_cast",
    "input_data with another element type",
    ("input_data*, dtype*", None),
    tile("input_data"),
    reads=(moved("input_data"),),
    engine=Engine.VECTOR,
    result=Like(("input_data",)),
    instead="in a kernel use `nisa.tensor_copy` into a tile of that dtype, outside `.astype(...)`",
)

LANGUAGE_BROADCAST_TO: Final = language(
    "broadcast_to",
    "x repeated to a shape",
    ("src*, |, shape*, **", "x*, shape*, dtype=None"),
    tile("x", on_chip("NKI-L30")),
    tile("src"),
    reads=(moved("x"), moved("src")),
    result=Shaped(),
)

LANGUAGE_WHERE: Final = language(
    "where",
    "x where the condition holds, y elsewhere",
    ("condition*, x*, y*, |, dtype=None, mask=None, **", "condition*, x*, y*, dtype=None"),
    tile("condition", on_chip("NKI-L56")),
    vector("x", on_chip("NKI-L56")),
    vector("y", on_chip("NKI-L56")),
    reads=(
        decides("condition", "it is a condition"),
        streamed("x", where=SOME),
        streamed("y", where=SOME),
    ),
    engine=Engine.VECTOR,
    result=Like(("x", "y", "condition")),
    # whatever instructions it becomes, one reads both
    one_psum_input=OnePort("condition", "x", "NKI-N08", since="0.3"),
)

LANGUAGE_DROPOUT: Final = language(
    "dropout",
    "x, or 0 with a probability",
    ("x*, rate*, |, dtype=None, mask=None, **", "x*, rate*, dtype=None"),
    tile("x", on_chip("NKI-L56")),
    vector(
        "rate",
        on_chip("NKI-BUF21"),
        shape=PerPartition("x", "NKI-L34"),
        dtypes=probabilities("x"),
        value=PROBABILITY,
    ),
    reads=(streamed("x"), per_lane("rate")),
    engine=Engine.VECTOR,
    result=Like(("x",)),
    traits=DRAWS,
)

LANGUAGE_SOFTMAX: Final = language(
    "softmax",
    "exp(x) over its sum along axes",
    ("x*, axis*, |, dtype=None, compute_dtype=None, mask=None, **", "x*, axis=-1, dtype=None"),
    tile("x", on_chip("NKI-L56")),
    reads=(folded_over("x", "axis"),),
    result=Like(("x",)),
    reduces=Reduction("NKI-L50", "0.3"),
    scratch=Scratch(
        "tiles of maxima and sums",
        ("NKI-B12",),
        "write it out in instructions of `nki.isa`, with tiles that are placed",
    ),
)

LANGUAGE_RMS_NORM: Final = language(
    "rms_norm",
    "x over the root of the mean of its squares, times w",
    (
        "x*, w*, axis*, n*, epsilon=1e-06, |, dtype=None, compute_dtype=None, mask=None, **",
        "x*, w*, axis*, n*, epsilon=1e-06, dtype=None, compute_dtype=None",
    ),
    tile("x", on_chip("NKI-L56")),
    tile("w", on_chip("NKI-N09")),
    reads=(folded_over("x", "axis"), streamed("w")),
    result=Like(("x",)),
    # the mean of the squares is one of the reductions
    reduces=Reduction("NKI-L50", "0.3"),
)

LANGUAGE_ZEROS: Final = Instruction(
    name="language.zeros",
    summary="a tile of zeros",
    signatures={
        "beta1": "shape*, dtype*, |, buffer=None, name='', **",
        "0.2": "shape*, dtype*, buffer=None, name=''",
        "0.3": "shape*, dtype*, buffer=buffer.sbuf, name=''",
    },
    roles=(tile("dst"),),
    engines=Engines(Engine.UNKNOWN),
    footprint=Footprint(writes=filled(0)),
    traits=frozenset({Trait.LANGUAGE}),
)

LANGUAGE_ONES: Final = language(
    "ones",
    "a tile of ones",
    ("shape*, dtype*, |, buffer=None, name='', **", "shape*, dtype*, buffer=buffer.sbuf, name=''"),
    writes=filled(1),
)

LANGUAGE_FULL: Final = language(
    "full",
    "a tile of one number",
    (
        "shape*, fill_value*, dtype*, |, buffer=None, name='', **",
        "shape*, fill_value*, dtype*, buffer=buffer.sbuf, name=''",
    ),
    constant("fill_value", "NKI-MST01", exact=Since("0.3", "NKI-MST02")),
    writes=filled("fill_value"),
)

LANGUAGE_ZEROS_LIKE: Final = language(
    "zeros_like",
    "a tile of zeros, shaped as another",
    ("a*, dtype=None, |, buffer=None, name='', **", "x*, dtype=None, buffer=None, name=''"),
    writes=filled(0),
)

LANGUAGE_SHARED_IDENTITY_MATRIX: Final = Instruction(
    name="language.shared_identity_matrix",
    summary="an identity matrix",
    signatures={
        "beta1": "n*, dtype=dtype.uint8, **",
        "0.2": "n*, dtype=dtype.uint8",
        "0.3": "n*, dtype=dtype.uint8, dst=None",
    },
    roles=(tile("dst"),),
    engines=Engines(Engine.UNKNOWN),
    footprint=Footprint(writes=written("dst")),
    square="n",
    traits=frozenset({Trait.LANGUAGE}),
)

INSTRUCTIONS: Final = (
    LANGUAGE_COPY,
    LANGUAGE_STATIC_CAST,
    LANGUAGE_BROADCAST_TO,
    LANGUAGE_WHERE,
    LANGUAGE_DROPOUT,
    LANGUAGE_SOFTMAX,
    LANGUAGE_RMS_NORM,
    LANGUAGE_ZEROS,
    LANGUAGE_ONES,
    LANGUAGE_FULL,
    LANGUAGE_ZEROS_LIKE,
    LANGUAGE_SHARED_IDENTITY_MATRIX,
    ASSIGN,
    FILL,
    *map(_unary, sorted(_UNARY)),
    *map(_binary, sorted(_BINARY)),
    *map(_reduction, sorted(_REDUCTIONS)),
)
