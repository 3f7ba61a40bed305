"""Numbers among the arguments: terms of a series, amounts of shifts, types of packed operands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rules.tpu import functions, kit
from rules.tpu.examples import pair
from rules.tpu.kit import check, function
from verifier.dialects.names import OKK
from verifier.hardware.chips import Chip
from verifier.rulebase import Check, Rule, register
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.trace import Operation

#: terms of a series (OKK-N04)
MOST_TERMS: Final = 64
#: shift amounts: 32-bit (OKK-068), 16-bit (OKK-114), rounding (OKK-T7), of a sum (OKK-T4)
SHIFT_32: Final = 32
SHIFT_16: Final = 16
MOST_RSHIFT: Final = 31
MOST_LSHIFT: Final = 14

_SHIFTS: Final = {
    "bdc_32bit_arithmetic_shift_C": (SHIFT_32, "OKK-068"),
    "bdc_32bit_logical_shift_C": (SHIFT_32, "OKK-069"),
    "bdc_fixed_point_packed_16bit_arithmetic_shift_C": (SHIFT_16, "OKK-114"),
    "bdc_fixed_point_packed_16bit_logical_shift_C": (SHIFT_16, "OKK-115"),
}


def _range(
    op: Operation, role: str, low: int, high: int, what: str, *facts: str
) -> Iterator[Check]:
    value = kit.number(op, role)
    if value is None:
        return
    yield check(
        op,
        role,
        kit.between(value, low, high),
        f"{low} <= {role} <= {high}",
        f"{what} of `{function(op)}` is not between {low} and {high}",
        *facts,
        values=((role, value),),
    )


def _scalars(op: Operation, chip: Chip) -> Iterator[Check]:
    name = function(op)
    if name in functions.SERIES:
        yield from _range(op, "num_series", 1, MOST_TERMS, "the number of terms", "OKK-N04")
    if name in _SHIFTS:
        most, fact = _SHIFTS[name]
        yield from _range(op, "C", -most, most, "the amount of the shift", fact)
        amount = kit.number(op, "C")
        if amount is not None and most == SHIFT_32:
            yield check(
                op,
                "C",
                E.and_(E.ne(amount, SHIFT_32), E.ne(amount, -SHIFT_32)),
                f"the amount is not {SHIFT_32}",
                f"a shift by {SHIFT_32} does not fit the 6 bits of the instruction",
                "OKK-Y03",
                "OQ-02",
                values=(("C", amount),),
                severity="warning",
            )
    if functions.is_packed(op):
        yield from _range(op, "rshift", 0, MOST_RSHIFT, "the right shift", "OKK-T7")
        yield from _range(op, "lshift", 0, MOST_LSHIFT, "the left shift", "OKK-T4")


_NAMES_SERIES = pair(
    "exponential",
    "terms: int, x: okk.SystemAddr, y: okk.SystemAddr",
    """\
assert 1 <= terms <= @@
okk.initialize()
shape = okk.dim4(1, 33, 2, 50)
okk.gdma_32bit_cpy_S2L(0, x, shape, None, None)
okk.bdc_taylor_exp(1024, 0, shape, terms)
okk.gdma_32bit_cpy_L2S(y, 1024, shape, None, None)
okk.poll()
""",
    "65",
    "64",
)

register(
    Rule(
        id="okk-scalar-range",
        code="OKK221",
        family=OKK,
        summary="numbers among the arguments lie in the range that the function admits",
        reason=(
            "A series has 1 to 64 terms, a 32-bit shift goes by at most 32 and a 16-bit shift by "
            "at most 16 places, a packed result is shifted right by 0 to 31. Other numbers are "
            "cut to the bits of their field."
        ),
        facts=(
            "OKK-N04",
            "OKK-068",
            "OKK-069",
            "OKK-114",
            "OKK-115",
            "OKK-Y03",
            "OQ-02",
            "OKK-T4",
            "OKK-T7",
            "OKK-PK2",
        ),
        on="operation",
        check=_scalars,
        dialects=(OKK,),
        sources=("OKKernel manual, refined interface",),
        failing=_NAMES_SERIES[0],
        passing=_NAMES_SERIES[1],
    )
)

# ----------------------------------------------------------------------------- packed operands

#: bits of ``op_type`` (OKK-T6)
_SOURCE_8, _FIRST_SIGNED, _SECOND_SIGNED, _RESULT_8, _RESULT_SIGNED = (1 << n for n in range(5))


def _bit(value: int, bit: int) -> bool:
    return bool(value & bit)


def _typed(kind: str, value: int, origin_signed: bool | None) -> bool:
    """Whether a function admits an ``op_type`` (OKK-T1 to OKK-T5)."""
    narrow = _bit(value, _SOURCE_8)
    first, second = _bit(value, _FIRST_SIGNED), _bit(value, _SECOND_SIGNED)
    result_narrow, signed = _bit(value, _RESULT_8), _bit(value, _RESULT_SIGNED)
    if value >> 5:
        return False
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


_KINDS: Final = {
    "add": ("add", "OKK-T1"),
    "add_C": ("add", "OKK-T1"),
    "sub": ("sub", "OKK-T2"),
    "sub_C": ("sub", "OKK-T2"),
    "C_sub": ("sub", "OKK-T2"),
    "mul": ("mul", "OKK-T3"),
    "mul_C": ("mul", "OKK-T3"),
    "mac": ("mac", "OKK-T4"),
    "mac_C": ("mac", "OKK-T4"),
    "max": ("max", "OKK-T5"),
    "max_C": ("max", "OKK-T5"),
    "min": ("min", "OKK-T5"),
    "min_C": ("min", "OKK-T5"),
}
#: 16-bit by 8-bit products: sources and result signed (OKK-118), by the bits of ``mul_type``
_PRODUCTS: Final = frozenset({0b111, 0b110, 0b000})


def _packed_types(op: Operation, chip: Chip) -> Iterator[Check]:
    name = functions.packed_name(op)
    if name == "16bit_mul_8bit":
        product = kit.number(op, "mul_type")
        if product is not None:
            yield check(
                op,
                "mul_type",
                _one_of(product, sorted(_PRODUCTS)),
                "mul_type is S16 by S8, U16 by S8, or U16 by U8",
                "this product of 16-bit and 8-bit operands does not exist on BM1684",
                "OKK-118",
                "OKK-T6",
                values=(("mul_type", product),),
            )
        return
    kind, fact = _KINDS.get(name, ("", ""))
    value = kit.number(op, "op_type")
    if not kind or value is None:
        return
    signed = op.value("is_origin_dst_signed")
    origin = signed if isinstance(signed, bool) else None
    good = [code for code in range(32) if _typed(kind, code, origin)]
    yield check(
        op,
        "op_type",
        _one_of(value, good),
        f"op_type is one that {name} has",
        f"`{function(op)}` does not work on operands of these types",
        fact,
        "OKK-T6",
        "OKK-T7",
        values=(("op_type", value),),
        help=("the wrong type is not noticed: bytes are read as what they are not",),
    )
    constant = kit.number(op, "C")
    if constant is None:
        return
    second = _FIRST_SIGNED if name == "C_sub" else _SECOND_SIGNED
    fits: list[Bool] = []
    for code in good:
        bits = 8 if _bit(code, _SOURCE_8) else 16
        low, high = (
            (-(1 << bits - 1), (1 << bits - 1) - 1) if code & second else (0, (1 << bits) - 1)
        )
        fits.append(E.or_(E.ne(value, code), kit.between(constant, low, high)))
    yield check(
        op,
        "C",
        E.and_(*fits),
        "C is a value of its type",
        f"the constant of `{function(op)}` does not fit the type that op_type gives it",
        "OKK-100",
        fact,
        values=(("C", constant), ("op_type", value)),
    )


def _one_of(value: Expr, options: list[int]) -> Bool:
    return E.or_(*(E.eq(value, option) for option in options))


_TYPES = pair(
    "add_bytes",
    "x: okk.SystemAddr, y: okk.SystemAddr",
    """\
okk.initialize()
shape = okk.dim4(4, 6, 5, 5)
words = okk.dim4(1, 6, 5, 5)
okk.gdma_32bit_cpy_S2L(0, x, words, None, None)
okk.bdc_fixed_point_packed_add_C(4096, 0, 3, shape, None, None, @@, 1)
okk.gdma_32bit_cpy_L2S(y, 4096, words, None, None)
okk.poll()
""",
    "15",
    "31",
)

register(
    Rule(
        id="okk-packed-types",
        code="OKK222",
        family=OKK,
        summary="a packed fixed-point function has the types that its op_type names",
        reason=(
            "The bits of op_type name the width and sign of sources and result. Not all of them "
            "exist: sums of which one is signed are signed, differences always are, products "
            "take 8-bit sources. Others are not refused but computed as something else."
        ),
        facts=(
            "OKK-T1",
            "OKK-T2",
            "OKK-T3",
            "OKK-T4",
            "OKK-T5",
            "OKK-T6",
            "OKK-T7",
            "OKK-100",
            "OKK-118",
            "INC-20",
        ),
        on="operation",
        check=_packed_types,
        dialects=(OKK,),
        sources=("OKKernel manual, fixed_point",),
        failing=_TYPES[0],
        passing=_TYPES[1],
    )
)
