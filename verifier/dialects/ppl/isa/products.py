"""Products of matrices (catalogue, section e.4)."""

from __future__ import annotations

from typing import Final

from verifier.dialects.ppl.isa.fates import multiplied
from verifier.dialects.ppl.isa.shared import (
    EVERY,
    FP8,
    FP32,
    HALF,
    INT4,
    INT8,
    INT32,
    INTS,
    function,
    like,
    number,
    option,
    source,
    target,
    types,
    unless_set,
    vector,
)
from verifier.hardware.capabilities import Capability
from verifier.symbolic.instruction import Trait
from verifier.symbolic.roles import Lies, StartLanes, Unit

_ALIGNED: Final = Lies("aligned", "TPU-D11")
_WORDS: Final = Lies("", "TPU-D11", Unit.WORD)
_MATRIX: Final = Lies("aligned", "TPU-D02")
_FIRST_LANE: Final = StartLanes(("TPU-D11",), first=True)
#: the left matrix goes to all lanes
_LEFT_FREE: Final = StartLanes(("TPU-D02",), ("dst", "right", "bias"))
_TRANSPOSITION: Final = (
    option("ltrans", "the left matrix is given with rows for columns"),
    option("rtrans", "the right matrix is given with rows for columns"),
    option("result_add", "the product is added to what dst holds"),
    option("do_relu"),
)
_FIRST: Final = frozenset({Trait.FIRST_PRODUCTS})
_SECOND: Final = frozenset({Trait.SECOND_PRODUCTS})
_HAS_FIRST: Final = (Capability.FIRST_PRODUCTS, "TPU-D05")

_HALVES: Final = types(
    HALF, "TPU-D14", (Capability.SINGLE_PRODUCTS, FP32), (Capability.FLOAT8, FP8)
)
_BYTES: Final = types(INT8, "TPU-D17", (Capability.INT4_PRODUCTS, INT4))

FMM2: Final = function(
    "tiu.fmm2",
    "dst = left @ right + bias, of floats: rows along c, columns along w",
    "dst*, left*, right*, bias=None, ltrans=False, rtrans=False, rst_trans=False, do_relu=False, "
    "result_add=False, out_dtype=void, has_bias=False, saturate=False",
    target(
        "dst",
        None,
        like("left", "TPU-D14", (EVERY, FP32), (FP8, HALF)),
        lies=_ALIGNED,
        adds="result_add",
    ),
    multiplied(source("left", _HALVES, lies=_ALIGNED), second=True),
    multiplied(
        source("right", _HALVES, like("left", "TPU-D14", (FP8, FP8)), lies=_ALIGNED), second=True
    ),
    vector("bias"),
    *_TRANSPOSITION,
    others=("tiu.dot",),
    traits=_SECOND,
)
MM2: Final = function(
    "tiu.mm2",
    "dst = left @ (right - r_zp) + bias, of integers: rows along c, columns along w",
    "dst*, left*, right*, bias=None, r_zp=None, requant=None, multiplier=1, rshift=0, y_zp=0, "
    "ltrans=False, rtrans=False, rst_trans=False, result_add=False, out_dtype=void, "
    "has_bias=False, do_relu=False, do_rq=False, saturate=False, "
    "round_mode=RM_HALF_AWAY_FROM_ZERO",
    target(
        "dst",
        types(INT32, "TPU-D17", when=unless_set("do_rq")),
        adds="result_add",
        lies=_ALIGNED,
    ),
    multiplied(source("left", _BYTES, lies=_ALIGNED), second=True),
    multiplied(source("right", _BYTES, lies=_ALIGNED), second=True),
    vector("bias", lies=_WORDS),
    vector("r_zp"),
    vector("requant"),
    *_TRANSPOSITION,
    option("do_rq", "the sums are requantised"),
    needs=(Capability.INTEGER_PRODUCTS, "TPU-D05"),
    traits=_SECOND | {Trait.INTEGERS},
    lanes=_FIRST_LANE,
)
MM: Final = function(
    "tiu.mm",
    "dst = left @ right + bias, of integers: rows along n, columns along c and w",
    "dst*, left*, right*, bias=None, ltrans=False, rtrans=False, result_add=False, lshift=0, "
    "rshift=0, do_relu=False, round_mode=RM_HALF_UP",
    target("dst", types(INTS, "TPU-D04"), adds="result_add", lies=_MATRIX),
    multiplied(source("left", types(INTS, "TPU-D04"), lies=_MATRIX), second=False),
    multiplied(source("right", types(INTS, "TPU-D04"), lies=_MATRIX), second=False),
    vector("bias", lies=_MATRIX),
    *_TRANSPOSITION,
    number("lshift"),
    number("rshift"),
    needs=_HAS_FIRST,
    traits=_FIRST | {Trait.INTEGERS},
    lanes=_LEFT_FREE,
)
FMM: Final = function(
    "tiu.fmm",
    "dst = left @ right + bias, of floats: rows along n, columns along c and w",
    "dst*, left*, right*, bias=None, ltrans=False, result_add=False",
    target("dst", types(FP32, "TPU-D04"), adds="result_add", lies=_MATRIX),
    multiplied(source("left", types(FP32, "TPU-D04"), lies=_MATRIX), second=False),
    multiplied(source("right", types(FP32, "TPU-D04"), lies=_MATRIX), second=False),
    vector("bias", lies=_MATRIX),
    *(part for part in _TRANSPOSITION if part.role.name in ("ltrans", "result_add")),
    needs=_HAS_FIRST,
    traits=_FIRST,
    lanes=_LEFT_FREE,
)

INSTRUCTIONS: Final = (FMM2, MM2, MM, FMM)
