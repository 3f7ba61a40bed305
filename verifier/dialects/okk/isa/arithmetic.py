"""What the execution units compute element by element, of floats and of words (OKK-037 to 091)."""

from __future__ import annotations

from typing import Final

from verifier.dialects.okk.isa import shapes
from verifier.dialects.okk.isa.shared import (
    F32,
    S32,
    SHAPE,
    TOGETHER,
    U32,
    C,
    Part,
    aligned,
    dst,
    elementwise,
    flag,
    function,
    given,
    goes_on,
    integer,
    keeps_in,
    of_channel,
    reads,
    same,
    src,
    strided,
    tensor,
    two,
    updates,
    writes,
)
from verifier.symbolic.effects import Call, Index
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.roles import Limit, Takes, Unit

_WORD: Final = given("C", Takes.WORD)
_VALUE: Final = given("select_val", Takes.WORD)


def _pair(name: str, number: int, what: str) -> Instruction:
    return elementwise(name, number, f"dst = {what}", (dst(), *two()))


def _with_constant(name: str, number: int, what: str) -> Instruction:
    return elementwise(name, number, f"dst = {what}", (dst(), src()), C)


_FLOATS: Final = (
    _pair("add", 39, "src0 + src1"),
    _with_constant("add_C", 40, "src + C"),
    _pair("sub", 41, "src0 - src1"),
    _with_constant("sub_C", 42, "src - C"),
    _with_constant("C_sub", 43, "C - src"),
    _pair("mul", 44, "src0 * src1"),
    _with_constant("mul_C", 45, "src * C"),
    _pair("div", 46, "src0 / src1"),
    _with_constant("div_C", 47, "src / C"),
    _with_constant("C_div", 48, "C / src"),
    elementwise("mac", 49, "dst = dst + src0 * src1", (updates(tensor("dst", F32)), *two())),
    elementwise("mac_C", 50, "dst = dst + src * C", (updates(tensor("dst", F32)), src()), C),
    _pair("max", 51, "max(src0, src1)"),
    _with_constant("max_C", 52, "max(src, C)"),
    _pair("min", 53, "min(src0, src1)"),
    _with_constant("min_C", 54, "min(src, C)"),
    elementwise("reciprocal", 82, "dst = 1 / src", (dst(), src())),
    elementwise("neg", 83, "dst = -src", (dst(), src())),
    elementwise("relu", 88, "dst = max(src, 0)", (dst(), src())),
)


def _chosen(name: str, number: int, test: str, tensors: tuple[Part, ...], *c: Part) -> Instruction:
    """A value where a comparison holds, else 0."""
    summary = f"dst = select_val where {test}, else 0"
    return elementwise(f"{name}_select_value", number, summary, (dst(U32), *tensors), *c, _VALUE)


def _select(name: str, number: int, sign: str) -> Instruction:
    return aligned(
        f"{name}_select",
        number,
        f"dst = select0 where src0 {sign} src1, else select1",
        (
            dst(U32),
            *(reads(tensor(role, F32, choice=True)) for role in ("src0", "src1")),
            *(reads(tensor(role, U32, choice=True)) for role in ("select0", "select1")),
        ),
    )


_SELECTIONS: Final = (
    _chosen("greater", 55, "src0 > src1", two()),
    _chosen("greater_C", 56, "src > C", (src(),), C),
    _chosen("C_greater", 57, "C > src", (src(),), C),
    _chosen("equal", 58, "src0 == src1", two()),
    _chosen("equal_C", 59, "src == C", (src(),), C),
    _select("greater", 119, ">"),
    _select("equal", 120, "=="),
)


def _bitwise(name: str, number: int) -> tuple[Instruction, Instruction]:
    return (
        elementwise(f"32bit_{name}", number, f"dst = src0 {name} src1", (dst(U32), *two(U32))),
        elementwise(
            f"32bit_{name}_C", number + 1, f"dst = src {name} C", (dst(U32), src(U32)), _WORD
        ),
    )


def _amount(fact: str) -> Part:
    return integer("C", Limit(fact=fact, least=-32, most=32), "the amount of the shift")


_WORDS: Final = (
    elementwise("32bit_cpy", 37, "dst = src", (dst(U32), src(U32))),
    elementwise("32bit_set_C", 38, "dst = C", (dst(U32),), _WORD),
    *_bitwise("and", 60),
    *_bitwise("or", 62),
    *_bitwise("xor", 64),
    elementwise(
        "32bit_arithmetic_shift", 66, "dst = src0 << src1, with its sign", (dst(S32), *two(S32))
    ),
    elementwise("32bit_logical_shift", 67, "dst = src0 << src1", (dst(U32), *two(U32, S32))),
    elementwise(
        "32bit_arithmetic_shift_C",
        68,
        "dst = src << C, with its sign",
        (dst(S32), src(S32)),
        _amount("OKK-068"),
    ),
    elementwise(
        "32bit_logical_shift_C", 69, "dst = src << C", (dst(U32), src(U32)), _amount("OKK-069")
    ),
    elementwise(
        "32bit_C_arithmetic_shift", 70, "dst = C << src", (dst(S32), src(S32)), integer("C")
    ),
    elementwise("32bit_C_logical_shift", 71, "dst = C << src", (dst(U32), src(S32)), integer("C")),
)

_TERMS: Final = integer(
    "num_series", Limit(fact="OKK-N04", least=1, most=64), "the number of terms"
)
_WORK: Final = keeps_in(tensor("work", F32), "OKK-E01")


def _curve(name: str, number: int, what: str) -> tuple[Instruction, Instruction]:
    """A function by a series, whose number of terms may be given."""
    tensors = (dst(), src(), _WORK)
    return (
        aligned(name, number, f"dst = {what}", tensors),
        aligned(f"{name}_tunable", number + 1, f"dst = {what}, by so many terms", tensors, _TERMS),
    )


_CURVES: Final = (
    aligned("rsqrt", 72, "dst = 1 / sqrt(src)", (dst(), src())),
    aligned("sqrt", 73, "dst = sqrt(src)", (dst(), src())),
    aligned("taylor_exp", 74, "dst = e ** src, by so many terms", (dst(), src()), _TERMS),
    aligned("lookup_exp", 75, "dst = e ** src, of whole numbers", (dst(), src(S32))),
    *_curve("exp", 76, "e ** src"),
    *_curve("sigmoid", 78, "1 / (1 + e ** -src)"),
    *_curve("tanh", 80, "tanh(src)"),
    aligned("fp32_to_int32", 84, "dst = src, rounded towards zero", (dst(S32), src())),
    aligned("lookup_int32_to_fp32", 85, "dst = src", (dst(), src(S32))),
)


def _word_of_four(call: Call, index: Index) -> Index:
    """The word that holds a number beside those of three other images (LAY-4N)."""
    return index[0] // 4, *index[1:]


def _from_bytes(name: str, number: str, dtype: str, summary: str, packed: bool) -> Instruction:
    """A conversion from bytes, in the aligned or the compact layout, as the call says."""
    shape = shapes.four_n if packed else shapes.shape
    held = tensor("src", dtype, layout="chosen", shape=shape, fact="OKK-A01")
    work = tensor("work", dtype, layout="chosen", shape=shape, fact="OKK-A01")
    return function(
        f"bdc_{name}",
        number,
        "bdc",
        summary,
        writes(tensor("dst", F32, layout="chosen", fact="OKK-A01")),
        goes_on(reads(held), _word_of_four if packed else same),
        keeps_in(work, "OKK-E02", "dst"),
        SHAPE,
        flag("is_signed"),
        flag("is_aligned_layout"),
        lanes=TOGETHER,
    )


def _by_channel(name: str, number: int, what: str, *roles: str) -> Instruction:
    """With a number for each channel."""
    tensors, strides = strided((dst(), goes_on(src())))
    numbers = (
        goes_on(
            reads(
                tensor(
                    role,
                    F32,
                    layout="compact",
                    shape=shapes.channels,
                    unit=Unit.WORD,
                    fact="OKK-A06",
                )
            ),
            of_channel,
        )
        for role in roles
    )
    parts = (*tensors, *numbers, SHAPE, *strides)
    return function(f"bdc_{name}", f"{number:03}", "bdc", f"dst = {what}", *parts, lanes=TOGETHER)


_OTHERS: Final = (
    _from_bytes("4N_int8_to_fp32", "086", U32, "dst = src, four bytes in a word", packed=True),
    _from_bytes("int8_to_fp32", "087", "uint8", "dst = src, of bytes", packed=False),
    _by_channel("bias", 89, "src + bias", "bias"),
    _by_channel("scale", 90, "src * scale", "scale"),
    _by_channel("scale_bias", 91, "src * scale + bias", "scale", "bias"),
)

INSTRUCTIONS: Final = (*_FLOATS, *_SELECTIONS, *_WORDS, *_CURVES, *_OTHERS)
