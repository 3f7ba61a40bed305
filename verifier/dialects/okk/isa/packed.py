"""Arithmetic of several fixed-point numbers in a word (OKK-097 to OKK-118, OKK-121).

Operands of 8 bits are 4N, of 16 bits 2N; their shape is that of the numbers, their strides are
those of the words (OKK-PK1).
"""

from __future__ import annotations

from typing import Final

from verifier.dialects.okk.isa import shapes
from verifier.dialects.okk.isa.shapes import RESULT_8BIT, SOURCES_8BIT, Shape
from verifier.dialects.okk.isa.shared import (
    SHAPE,
    U32,
    Part,
    flag,
    function,
    given,
    integer,
    keeps_in,
    reads,
    strided,
    tensor,
    updates,
    writes,
)
from verifier.symbolic.effects import Call
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.roles import Codes, Limit, RangeBy, Role, StartLanes, Takes

#: bits of ``op_type`` besides those of the widths (OKK-T6)
_FIRST_SIGNED, _SECOND_SIGNED, _RESULT_SIGNED = 2, 4, 16

_LANES: Final = StartLanes(("OKK-C04",), first=True)
_RSHIFT: Final = integer("rshift", Limit(fact="OKK-T7", least=0, most=31), "the right shift")
_LSHIFT: Final = integer("lshift", Limit(fact="OKK-T4", least=0, most=14), "the left shift")


def _words(name: str, shape: Shape, layout: str = "") -> Role:
    return tensor(name, U32, shape=shape, layout=layout)


def _bytes(name: str) -> Role:
    return _words(name, shapes.four_n, "4n")


def _halves(name: str) -> Role:
    return _words(name, shapes.two_n, "2n")


def _function(
    name: str, number: int, summary: str, tensors: tuple[Part, ...], *others: Part, c: Part | None
) -> Instruction:
    found, strides = strided(tensors)
    constant = () if c is None else (c,)
    parts = (*found, *constant, SHAPE, *strides, *others)
    full = f"bdc_fixed_point_packed_{name}"
    number_ = f"{number:03}"
    return function(full, number_, "bdc", summary, *parts, lanes=_LANES)


# ----------------------------------------------------------------------------- types of operands


def _admitted(kind: str, call: Call) -> frozenset[int]:
    """The numbers of ``op_type`` that a function has (OKK-T1 to OKK-T5)."""
    signed = call.value("is_origin_dst_signed")
    origin = signed if isinstance(signed, bool) else None
    return frozenset(code for code in range(32) if _has(kind, code, origin))


def _has(kind: str, code: int, origin_signed: bool | None) -> bool:
    narrow, result_narrow = bool(code & SOURCES_8BIT), bool(code & RESULT_8BIT)
    first, second = bool(code & _FIRST_SIGNED), bool(code & _SECOND_SIGNED)
    signed = bool(code & _RESULT_SIGNED)
    if kind == "add":
        return signed == (first or second)
    if kind == "sub":
        return signed
    if kind == "mul":
        return narrow and signed == (first or second)
    if kind == "mac":
        if not narrow or result_narrow:
            return False
        if first or second:
            return signed
        return not signed and origin_signed is not True
    return first == second == signed and narrow == result_narrow


def _op_type(name: str, kind: str, fact: str) -> Part:
    full = f"bdc_fixed_point_packed_{name}"
    codes = Codes(
        lambda call: _admitted(kind, call),
        f"op_type is one that {name} has",
        f"`{full}` does not work on operands of these types",
        (fact, "OKK-T6", "OKK-T7"),
    )
    return given("op_type", Takes.INTEGER, codes=codes)


def _constant(name: str, fact: str) -> Part:
    """A constant of the type that ``op_type`` gives it: the second operand, or the first."""
    sign = _FIRST_SIGNED if name.startswith("C_") else _SECOND_SIGNED

    def bounds(code: int) -> tuple[int, int]:
        bits = 8 if code & SOURCES_8BIT else 16
        return (-(1 << bits - 1), (1 << bits - 1) - 1) if code & sign else (0, (1 << bits) - 1)

    full = f"bdc_fixed_point_packed_{name}"
    range_by = RangeBy(
        "op_type",
        bounds,
        "C is a value of its type",
        f"the constant of `{full}` does not fit the type that op_type gives it",
        ("OKK-100", fact),
    )
    return given("C", Takes.INTEGER, range_by=range_by)


def _typed(name: str, number: int, what: str, kind: str, fact: str, *others: Part) -> Instruction:
    """A function of operands of the types that ``op_type`` names."""
    constant = name.startswith("C_") or name.endswith("_C")
    source = shapes.by_op_type(SOURCES_8BIT)
    made = _words("dst", shapes.by_op_type(RESULT_8BIT))
    target = updates(made) if kind == "mac" else writes(made)
    roles = ("src",) if constant else ("src0", "src1")
    tensors = (target, *(reads(_words(role, source)) for role in roles))
    signed = (flag("is_origin_dst_signed"),) if kind == "mac" else ()
    return _function(
        name,
        number,
        f"dst = {what}, of fixed-point numbers",
        tensors,
        *signed,
        _op_type(name, kind, fact),
        *others,
        c=_constant(name, fact) if constant else None,
    )


_TYPED: Final = (
    _typed("add", 99, "(src0 + src1) >> rshift", "add", "OKK-T1", _RSHIFT),
    _typed("add_C", 100, "(src + C) >> rshift", "add", "OKK-T1", _RSHIFT),
    _typed("sub", 101, "(src0 - src1) >> rshift", "sub", "OKK-T2", _RSHIFT),
    _typed("sub_C", 102, "(src - C) >> rshift", "sub", "OKK-T2", _RSHIFT),
    _typed("C_sub", 103, "(C - src) >> rshift", "sub", "OKK-T2", _RSHIFT),
    _typed("mul", 104, "(src0 * src1) >> rshift", "mul", "OKK-T3", _RSHIFT),
    _typed("mul_C", 105, "(src * C) >> rshift", "mul", "OKK-T3", _RSHIFT),
    _typed(
        "mac",
        106,
        "((dst << lshift) + src0 * src1) >> rshift",
        "mac",
        "OKK-T4",
        _LSHIFT,
        _RSHIFT,
    ),
    _typed(
        "mac_C", 107, "((dst << lshift) + src * C) >> rshift", "mac", "OKK-T4", _LSHIFT, _RSHIFT
    ),
    _typed("max", 108, "max(src0, src1)", "max", "OKK-T5"),
    _typed("max_C", 109, "max(src, C)", "max", "OKK-T5"),
    _typed("min", 110, "min(src0, src1)", "min", "OKK-T5"),
    _typed("min_C", 111, "min(src, C)", "min", "OKK-T5"),
)


# ----------------------------------------------------------------------------- 16 bits


def _shift(name: str, number: int, what: str, c: Part | None = None) -> Instruction:
    roles = ("src0", "src1") if c is None else ("src",)
    tensors = (writes(_halves("dst")), *(reads(_halves(role)) for role in roles))
    return _function(f"16bit_{name}", number, f"dst = {what}, of 16 bits", tensors, c=c)


def _amount(fact: str) -> Part:
    return integer("C", Limit(fact=fact, least=-16, most=16), "the amount of the shift")


#: products: sources and result signed, by the bits of ``mul_type`` (OKK-118)
_PRODUCTS: Final = frozenset({0b111, 0b110, 0b000})
_MUL_TYPE: Final = given(
    "mul_type",
    Takes.INTEGER,
    codes=Codes(
        lambda call: _PRODUCTS,
        "mul_type is S16 by S8, U16 by S8, or U16 by U8",
        "this product of 16-bit and 8-bit operands does not exist on BM1684",
        ("OKK-118", "OKK-T6"),
    ),
)

_SIXTEEN: Final = (
    _function(
        "16bit_split_high_8bit",
        97,
        "dst = the upper bytes of src",
        (writes(_bytes("dst")), reads(_halves("src"))),
        c=None,
    ),
    _function(
        "16bit_split_low_8bit",
        98,
        "dst = the lower bytes of src",
        (writes(_bytes("dst")), reads(_halves("src")), keeps_in(_halves("work"), "OKK-E02", "dst")),
        c=None,
    ),
    _shift("arithmetic_shift", 112, "src0 << src1, with its sign"),
    _shift("logical_shift", 113, "src0 << src1"),
    _shift("arithmetic_shift_C", 114, "src << C, with its sign", _amount("OKK-114")),
    _shift("logical_shift_C", 115, "src << C", _amount("OKK-115")),
    _shift("C_arithmetic_shift", 116, "C << src, with its sign", integer("C")),
    _shift("C_logical_shift", 117, "C << src", integer("C")),
    _function(
        "16bit_mul_8bit",
        118,
        "dst = ((src0_high << 8) + src0_low) * src1 >> rshift",
        (
            writes(_halves("dst")),
            *(reads(_bytes(role)) for role in ("src0_high", "src0_low", "src1")),
        ),
        _MUL_TYPE,
        _RSHIFT,
        c=None,
    ),
    _function(
        "s16_mul_u8_to_s16",
        121,
        "dst = src0 * src1 >> rshift, of signed halves and of bytes",
        (
            writes(_halves("dst")),
            reads(_halves("src0")),
            reads(_bytes("src1")),
            keeps_in(_halves("work"), "OKK-E01"),
            keeps_in(_bytes("work_high"), "OKK-E01"),
            keeps_in(_bytes("work_low"), "OKK-E01"),
        ),
        _RSHIFT,
        c=None,
    ),
)

INSTRUCTIONS: Final = (*_TYPED, *_SIXTEEN)
