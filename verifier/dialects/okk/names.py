"""Names of the API that are values: enumerations of packed operations, records, types.

Every name may be written as in C (``okk_bdc_add``, after ``from okk import *``) or as an attribute
of the module without its prefix (``okk.bdc_add``).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Final

from verifier.dialects.okk import isa
from verifier.dialects.okk.records import CHOICES, RECORDS, UNION_ALIASES, UNIONS
from verifier.symbolic import expr as E
from verifier.symbolic.values import AddressType, ApiRef

MODULE: Final = "okk"
ADDRESS: Final = AddressType("okk.SystemAddr")

#: names that are neither functions of the C API nor structures
_OTHERS: Final = frozenset(
    {"kernel", "jit", "parallel", "OP_TYPE", "MUL_TYPE", "OKKERNEL_ASSERT", "okkernel_assert"}
    | {"OKKERNEL_LOG", "okkernel_log"}
)
_SIZES: Final = {"S8": (1, 1), "U8": (1, 0), "S16": (0, 1), "U16": (0, 0)}
#: ``mul_type_t``: signs of the sources and the result (OKK-T6)
_MUL_TYPES: Final = {
    "S16_MUL_S8_TO_S16": (1, 1, 1),
    "U16_MUL_S8_TO_S16": (0, 1, 1),
    "U16_MUL_U8_TO_U16": (0, 0, 0),
    "S16_MUL_U8_TO_S16": (1, 0, 1),
}


def op_type(src8: int, src0_signed: int, src1_signed: int, dst8: int, dst_signed: int) -> int:
    """The number of an ``op_type_t`` (OKK-T6)."""
    return src8 | src0_signed << 1 | src1_signed << 2 | dst8 << 3 | dst_signed << 4


def mul_type(src0_signed: int, src1_signed: int, dst_signed: int) -> int:
    """The number of a ``mul_type_t`` (OKK-T6)."""
    return src0_signed | src1_signed << 1 | dst_signed << 2


def _op_types() -> dict[str, int]:
    """``S8_OP_U8_TO_S16`` and its like: one width of sources, signed results of signed ones."""
    out = {}
    for a, (bits, a_signed) in _SIZES.items():
        for b, (other, b_signed) in _SIZES.items():
            if bits != other:
                continue
            for dst, (dst_bits, dst_signed) in _SIZES.items():
                if dst_signed or not (a_signed or b_signed):
                    number = op_type(bits, a_signed, b_signed, dst_bits, dst_signed)
                    out[f"{a}_OP_{b}_TO_{dst}"] = number
    return out


CONSTANTS: Final[dict[str, int]] = {
    **_op_types(),
    **{name: mul_type(*signs) for name, signs in _MUL_TYPES.items()},
}


def root(dotted: str) -> object | None:
    """The value of an imported dotted name, or None if it is not of OKK."""
    if dotted == MODULE:
        return ApiRef(MODULE, MODULE)
    package, _, name = dotted.partition(".")
    if package != MODULE or "." in name:
        return None
    found = member(name)
    if found is None and name.startswith("okk_"):
        return ApiRef(name, MODULE)  # no such function: its call says so
    return found


def member(name: str) -> object | None:
    """What the module has under that name, None if nothing. NULL is 0, as in C."""
    if name == "NULL":
        return E.const(0)
    if name == "SystemAddr":
        return ADDRESS
    if name in CONSTANTS:
        return E.const(CONSTANTS[name])
    if name in RECORDS or name in UNIONS or name in CHOICES or name in _OTHERS:
        return ApiRef(name, MODULE)
    if name.removesuffix("_t") in CHOICES:
        return ApiRef(name.removesuffix("_t"), MODULE)
    if isa.find(name) is not None or name.removeprefix("okk_") in isa.UNDESCRIBED:
        return ApiRef(name.removeprefix("okk_"), MODULE)
    return None


def union_member(union: str, name: str) -> object | None:
    """``x32.fp32`` and its like."""
    name = UNION_ALIASES.get(name, name)
    return ApiRef(f"{union}.{name}", MODULE) if name in UNIONS[union] else None


def suggestion(name: str) -> str | None:
    """The name that was probably meant."""
    known = {n.removeprefix("okk_") for n in isa.all_names()}
    known |= {*RECORDS, *UNIONS, *CHOICES, *_OTHERS, *CONSTANTS, "SystemAddr", "NULL"}
    close = difflib.get_close_matches(name.removeprefix("okk_"), sorted(known), 1, 0.75)
    return close[0] if close else None


def exported(ref: ApiRef) -> Iterator[str]:
    """What ``from module import *`` binds: all names as C spells them, and the types."""
    yield from {*isa.all_names(), *RECORDS, *UNIONS, *CHOICES, *CONSTANTS}
    yield from ("OP_TYPE", "MUL_TYPE", "OKKERNEL_ASSERT", "OKKERNEL_LOG", "NULL")
    yield from ("SystemAddr", "kernel", "jit", "parallel")
