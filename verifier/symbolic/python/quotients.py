"""Floats that are known: quotients of integers, and what arithmetic leaves exact of them.

A :class:`~verifier.symbolic.values.Ratio` is the float next to the quotient of two integers. For
what ``math.ceil``, ``int`` and comparisons with integers ask it is the quotient itself as long as
both integers are at most ``2**53``; that they are is checked, and unknown where they may be larger.
Arithmetic on floats rounds; it does not where the denominators are powers of two and numerators are
that small, and there alone the result is a quotient again.
"""

from __future__ import annotations

import math
from typing import Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.pretty import pretty
from verifier.symbolic.python import floatbounds
from verifier.symbolic.python.integers import COMPARE, DIVISIONS, bounded_unknown
from verifier.symbolic.python.magnitudes import EXACT, OVERFLOW, within
from verifier.symbolic.python.terms import as_formula
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Ratio

_ROUNDED: Final = "a float that is not exact, of integers that may be larger than 2**53"
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


def quotient(vm: VM, num: Expr, den: Expr, span: Span) -> Ratio:
    """``num / den`` of integers, the divisor not zero. One too large for a float is an error.

    Raises:
        Ended: it always is.
    """
    if within(vm, num, OVERFLOW - 1, span) is not E.TRUE:
        size = E.absolute(den) * OVERFLOW
        vm.fault(
            OverflowError,
            "int too large to convert to float"
            if den is E.const(1)
            else "the quotient is too large for a float",
            span,
            when=E.or_(E.ge(num, size), E.le(num, -size)),
            text=f"`{pretty(num)}` is not too large for a float",
        )
    return Ratio(num, den)


def exact(vm: VM, value: Ratio, span: Span) -> Bool:
    """When a quotient and the float next to it lie in the same place among the integers.

    Why ``2**53``: CPython's division of integers is rounded correctly (``long_true_divide``). A
    quotient ``x = a / b`` with ``2**e <= abs(x) < 2**(e + 1)`` has a float at most ``2**(e - 53)``
    from it, and ``2**(e - 53) <= abs(x) / 2**53 = abs(a) / 2**53 / abs(b) <= 1 / abs(b)``. If it is
    an integer, it is a float itself. If not, every integer is at least ``1 / abs(b)`` away: the
    float could reach one only where both are equal, and there ``x`` is ``2**e``, a float itself.
    So ``ceil``, ``floor``, ``int`` and comparisons with integers answer alike for both.
    """
    return E.and_(within(vm, value.num, EXACT, span), within(vm, value.den, EXACT, span))


def operator(vm: VM, op: str, left: object, right: object, span: Span) -> object:
    """``+ - * / // %`` with a float operand, the divisor of which is not zero."""
    for value in (left, right):
        if isinstance(value, Expr):
            quotient(vm, value, E.const(1), span)
    a, b = as_ratio(left), as_ratio(right)
    if a is not None and b is not None and op not in DIVISIONS:
        if _rounds_once(op, a, b):  # as a quotient of integers does
            return _result(op, a, b)
        if _dyadic(a) and _dyadic(b):
            result = _result(op, a, b)
            if all(exact(vm, value, span) is E.TRUE for value in (a, b, result)):
                return result
    sides = [floatbounds.interval_of(vm, value, span) for value in (left, right)]
    return floatbounds.a_float(floatbounds.combined(op, *sides))


def _rounds_once(op: str, a: Ratio, b: Ratio) -> bool:
    """Whether an operator scales a quotient by a power of two."""
    return (op == "*" and (_scale(a) or _scale(b))) or (op == "/" and _scale(b))


def _result(op: str, a: Ratio, b: Ratio) -> Ratio:
    if op in ("+", "-"):
        sign = 1 if op == "+" else -1
        return _reduced(a.num * b.den + b.num * a.den * sign, a.den * b.den)
    if op == "*":
        return _reduced(a.num * b.num, a.den * b.den)
    return _reduced(a.num * b.den, a.den * b.num)


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


def order(vm: VM, op: str, left: object, right: object, span: Span) -> Bool | None:
    """``left op right`` of numbers of which one is a float; None if it is not known."""
    known = _order(vm, op, left, right, span)
    if known is None:
        return None
    small = [_small(vm, value, span) for value in (left, right) if isinstance(value, Ratio)]
    return _where(vm, E.and_(*small), known, span)


def _where(vm: VM, sure: Bool, known: Bool, span: Span) -> Bool:
    """What is known where floats are exact, and is not elsewhere."""
    if sure is E.TRUE:
        return known
    return E.or_(E.and_(sure, known), E.and_(E.not_(sure), vm.unknown_bool(_ROUNDED, span)))


def _order(vm: VM, op: str, left: object, right: object, span: Span) -> Bool | None:
    if isinstance(right, float):
        return _with_float(op, left, right)
    if isinstance(left, float):
        mirrored = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(op, op)
        return _with_float(mirrored, right, left)
    a, b = as_ratio(left), as_ratio(right)
    if a is None or b is None:
        return None
    x, y = a.num * b.den, b.num * a.den
    if isinstance(left, Ratio) and isinstance(right, Ratio) and not (_dyadic(a) and _dyadic(b)):
        # different quotients may be next to one float unless these are small
        if any(within(vm, side, EXACT >> 2, span) is not E.TRUE for side in (x, y)):
            return None
    return compared(op, a, b)


def compared(op: str, a: Ratio, b: Ratio) -> Bool:
    """``a op b`` of quotients, as rational numbers."""
    return COMPARE[op](*_crossed(a, b))


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
    return compared(op, value, Ratio(E.const(num), E.const(den)))


# ------------------------------------------------------------------------ rounding


def floor(vm: VM, value: Ratio, span: Span) -> Expr:
    """``math.floor(value)``."""
    return _whole(vm, value, value.num // value.den, span)


def ceiling(vm: VM, value: Ratio, span: Span) -> Expr:
    """``math.ceil(value)``."""
    return _whole(vm, value, E.ceildiv(value.num, value.den), span)


def truncated(vm: VM, value: Ratio, span: Span) -> Expr:
    """``int(value)``: towards zero."""
    if _positive(value):
        return floor(vm, value, span)
    down, up = value.num // value.den, E.ceildiv(value.num, value.den)
    return _whole(vm, value, E.ite(E.ge(value.num * value.den, 0), down, up), span)


def rounded(vm: VM, value: Ratio, span: Span) -> Expr:
    """``round(value)``: to the nearest integer, halves to the even one."""
    num, den = value.num, value.den
    low, _ = E.bounds(den)
    if low is None or low <= 0:
        num, den = num * den, den * den
    up = (num * 2 + den) // (den * 2)
    half = E.eq((num * 2 + den) % (den * 2), 0)
    whole = up - E.ite(E.and_(half, E.eq(up % 2, 1)), 1, 0)
    halved = Ratio(value.num * 2, value.den)  # halves are told apart as integers are
    return _whole(vm, halved, whole, span)


def is_whole(vm: VM, value: Ratio, span: Span) -> Bool:
    """``value.is_integer()``."""
    sure = _small(vm, value, span)
    return _where(vm, sure, E.eq(value.num % value.den, 0), span)


def _positive(value: Ratio) -> bool:
    low, _ = E.bounds(value.num)
    positive, _ = E.bounds(value.den)
    return low is not None and low >= 0 and positive is not None and positive > 0


def _whole(vm: VM, value: Ratio, whole: Expr, span: Span) -> Expr:
    """The integer that a quotient is rounded to: so is the float next to it, if that is exact."""
    sure = _small(vm, value, span)
    if sure is E.TRUE:
        return whole
    low = 0 if _positive(value) else None  # no rounding makes a number negative
    return E.ite(sure, whole, bounded_unknown(vm, _ROUNDED, span, low))


def _small(vm: VM, value: Ratio, span: Span) -> Bool:
    """Where a quotient is the float; that it is another one is neither shown nor not."""
    sure = exact(vm, value, span)
    if sure is E.TRUE:
        return sure
    shown = pretty(value.num)
    vm.check(
        "wrong-value",
        E.or_(sure, vm.unknown_bool(_ROUNDED, span)),
        span,
        f"`{shown}` is exact as a float",
        f"`{shown}` can be larger than 2**53, and floats are not exact then",
        help=("divide with `//`, which is exact",),
    )
    if sure is E.FALSE:
        return sure
    vm.narrow(sure)  # that is all that is known of it: elsewhere the check is not settled
    return E.TRUE
