"""Floats that are known: quotients of integers, and what arithmetic leaves exact of them.

A :class:`~verifier.symbolic.values.Ratio` is the float next to the quotient of two integers. It is
the quotient itself for what ``math.ceil``, ``int`` and comparisons with integers ask, as long as
the integers are below ``2**53``, and sizes are. Arithmetic on floats rounds; it does not where the
denominators are powers of two, and there alone the result is a quotient again.
"""

from __future__ import annotations

import math
from typing import Final

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.python.integers import COMPARE
from verifier.symbolic.python.terms import as_formula
from verifier.symbolic.values import Opaque, Ratio

_FLOAT: Final = Opaque("a float", harmless=True)
#: numerators and denominators of floats that take part in exact arithmetic
_MODEST: Final = 1 << 20


def as_ratio(value: object) -> Ratio | None:
    """A number as a quotient; None if it is no finite real number of modest size."""
    if isinstance(value, Ratio):
        return value
    if isinstance(value, Expr):
        return Ratio(value, E.const(1))
    if isinstance(value, float):
        if not math.isfinite(value) or (value == 0 and math.copysign(1, value) < 0):
            return None
        num, den = value.as_integer_ratio()
        if abs(num) > _MODEST or den > _MODEST:
            return None
        return Ratio(E.const(num), E.const(den))
    formula = as_formula(value)
    return None if formula is None else Ratio(E.ite(formula, 1, 0), E.const(1))


def operator(op: str, left: object, right: object) -> object:
    """``+ - * / // %`` with a float operand, the divisor of which is not zero."""
    a, b = as_ratio(left), as_ratio(right)
    if a is None or b is None or op in ("//", "%"):
        return _FLOAT
    if not _dyadic(a) and not _dyadic(b):
        return _FLOAT
    if op in ("+", "-"):
        if not (_dyadic(a) and _dyadic(b)):
            return _FLOAT
        sign = 1 if op == "+" else -1
        return _reduced(a.num * b.den + b.num * a.den * sign, a.den * b.den)
    if op == "*":
        if not (_dyadic(a) and _dyadic(b)) and not (_scale(a) or _scale(b)):
            return _FLOAT
        return _reduced(a.num * b.num, a.den * b.den)
    if _scale(b) or (_dyadic(a) and _dyadic(b)):  # one rounding, as of a quotient of integers
        return _reduced(a.num * b.den, a.den * b.num)
    return _FLOAT


def _dyadic(value: Ratio) -> bool:
    """Whether the quotient is a float exactly: its denominator is a power of two."""
    den = value.den
    return den.is_const and den.const > 0 and den.const & (den.const - 1) == 0


def _scale(value: Ratio) -> bool:
    """Whether multiplying by it rounds nothing: a power of two, or its inverse."""
    num = value.num
    return _dyadic(value) and num.is_const and num.const > 0 and num.const & (num.const - 1) == 0


def _reduced(num: Expr, den: Expr) -> Ratio:
    """The quotient in lowest terms as far as constants go; the denominator positive if constant."""
    if den.is_const and den.const:
        common = math.gcd(num.content(), num.const, den.const)
        if den.const < 0:
            common = -common
        if common not in (0, 1):
            terms = {mono: coef // common for mono, coef in num.terms}
            num = Expr.make(terms, num.const // common)
            den = E.const(den.const // common)
    return Ratio(num, den)


# ------------------------------------------------------------------------ comparison


def order(op: str, left: object, right: object) -> Bool | None:
    """``left op right`` of numbers of which one is a float; None if it is not known."""
    if isinstance(right, float):
        return _with_float(op, left, right)
    if isinstance(left, float):
        mirrored = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(op, op)
        return _with_float(mirrored, right, left)
    a, b = as_ratio(left), as_ratio(right)
    if a is None or b is None:
        return None
    x, y = _crossed(a, b)
    return COMPARE[op](x, y)


def _crossed(a: Ratio, b: Ratio) -> tuple[Expr, Expr]:
    """Two integers that are ordered as two quotients are."""
    x, y = a.num * b.den, b.num * a.den
    for den in (a.den, b.den):
        low, high = E.bounds(den)
        if low is not None and low > 0:
            continue
        if high is not None and high < 0:
            x, y = -x, -y
        else:  # multiplied by it once more, so by a square
            x, y = x * den, y * den
    return x, y


def _with_float(op: str, left: object, right: float) -> Bool | None:
    """A comparison with a float that is known, as CPython makes it: exact."""
    if isinstance(left, float):
        return None
    if math.isnan(right):
        return E.truth(op == "!=")
    if math.isinf(right):
        below = right > 0
        return E.truth({"==": False, "!=": True}.get(op, below == (op in ("<", "<="))))
    value = as_ratio(left)
    if value is None:
        return None
    if isinstance(left, Ratio) and not _dyadic(left) and not right.is_integer():
        return None  # the float next to the quotient may be this one
    num, den = right.as_integer_ratio()
    return order(op, value, Ratio(E.const(num), E.const(den)))


# ------------------------------------------------------------------------ rounding


def floor(value: Ratio) -> Expr:
    """``math.floor(value)``."""
    return value.num // value.den


def ceiling(value: Ratio) -> Expr:
    """``math.ceil(value)``."""
    return E.ceildiv(value.num, value.den)


def truncated(value: Ratio) -> Expr:
    """``int(value)``: towards zero."""
    low, _ = E.bounds(value.num)
    positive, _ = E.bounds(value.den)
    if low is not None and low >= 0 and positive is not None and positive > 0:
        return floor(value)
    return E.ite(E.ge(value.num * value.den, 0), floor(value), ceiling(value))


def rounded(value: Ratio) -> Expr:
    """``round(value)``: to the nearest integer, halves to the even one."""
    num, den = value.num, value.den
    low, _ = E.bounds(den)
    if low is None or low <= 0:
        num, den = num * den, den * den
    up = (num * 2 + den) // (den * 2)
    half = E.eq((num * 2 + den) % (den * 2), 0)
    return up - E.ite(E.and_(half, E.eq(up % 2, 1)), 1, 0)
