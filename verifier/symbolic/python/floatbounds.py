"""Between which floats one lies that is not known: what an operator or a function may refuse.

Floats are rounded, so what is known of one is an interval at most. Operators round in one direction
alike, so that an interval of operands gives one of results; ``None`` is any float, nan among them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.python.concrete import OPERATORS
from verifier.symbolic.python.integers import bounded_unknown, nonzero
from verifier.symbolic.python.magnitudes import within
from verifier.symbolic.python.terms import as_formula
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import OpaqueOf, Ratio

Interval = tuple[float, float] | None

_MOST: Final = sys.float_info.max
_WORD: Final = 1 << 64
#: how far a function of the host may be off, in steps to the next float
_STEPS: Final = 8


def a_float(interval: Interval) -> OpaqueOf:
    """A float of which nothing but that is known."""
    return OpaqueOf("a float", harmless=True, host=float, interval=interval)


def interval_of(vm: VM, value: object, span: Span) -> Interval:
    """Between what a real number lies as a float."""
    if isinstance(value, OpaqueOf):
        return value.interval
    if isinstance(value, float):
        return None if math.isnan(value) else (value, value)
    if isinstance(value, Ratio):
        parts = [interval_of(vm, part, span) for part in (value.num, value.den)]
        return _finite(combined("/", *parts))
    if isinstance(value, Expr):
        return _of_integer(vm, value, span)
    return None if as_formula(value) is None else (0.0, 1.0)


def _finite(interval: Interval) -> Interval:
    return interval and (max(interval[0], -_MOST), min(interval[1], _MOST))


def _of_integer(vm: VM, value: Expr, span: Span) -> Interval:
    low, high = E.bounds(value)
    if (low is None or low <= 0) and vm.decide(E.ge(value, 1)) is True:
        low = 1
    if low is None or high is None:
        size = _WORD if within(vm, value, _WORD, span) is E.TRUE else None
        low = (None if size is None else -size) if low is None else low
        high = size if high is None else high
    return _as_float(low, -_MOST), _as_float(high, _MOST)


def _as_float(value: int | None, otherwise: float) -> float:
    try:
        return otherwise if value is None else float(value)
    except OverflowError:
        return _MOST if value is not None and value > 0 else -_MOST


def combined(op: str, left: Interval, right: Interval) -> Interval:
    """The results of ``+ - * / %`` on operands between these, the divisor not zero."""
    if op == "%" and left is not None and right is not None and right[0] > 0:
        return (0.0, right[1]) if all(map(math.isfinite, (*left, *right))) else None
    if left is None or right is None or op not in ("+", "-", "*", "/"):
        return None
    if op == "/" and right[0] <= 0 <= right[1]:
        return None
    return _around([OPERATORS[op](a, b) for a in left for b in right])


def _around(values: Sequence[float]) -> Interval:
    return None if any(map(math.isnan, values)) else (min(values), max(values))


# ------------------------------------------------------------------------ operators


def divides(vm: VM, value: object, span: Span) -> None:
    """The divisor of a float must not be zero."""
    if isinstance(value, Ratio):
        nonzero(vm, value.num, span)
    elif isinstance(value, Expr):
        nonzero(vm, value, span)
    elif isinstance(value, (float, complex)):
        if value == 0:
            nonzero(vm, E.const(0), span)
    elif isinstance(value, OpaqueOf):
        known = value.interval
        if known is None or known[0] <= 0 <= known[1]:
            unknown = vm.unknown_bool("whether a float is zero is not followed", span)
            vm.fault(ZeroDivisionError, "division by a float that can be 0", span, when=unknown)
    else:
        formula = as_formula(value)
        if formula is not None:
            nonzero(vm, E.ite(formula, 1, 0), span)


def power(vm: VM, base: object, exponent: object, span: Span) -> object:
    """``base ** exponent`` of real numbers of which one is a float."""
    a, b = interval_of(vm, base, span), interval_of(vm, exponent, span)
    if a is None or b is None:
        return vm.unfollowed("a power of floats that are not known", span)
    whole = b[0] == b[1] and b[0].is_integer() and b[0] >= 0
    if not whole and (a[0] < 0 or (a[0] == 0 and b[0] < 0)):
        return vm.unfollowed("a power of a float that may be negative or zero", span)
    corners = [x for x in (*a, 0.0) if a[0] <= x <= a[1]]
    try:
        limits = [x**y for x in map(_clamped, corners) for y in map(_clamped, b)]
        values = [x**y for x in corners for y in b]
    except OverflowError:
        unknown = vm.unknown_bool("whether a power is too large for a float", span)
        vm.fault(OverflowError, "a power can be too large for a float", span, when=unknown)
        return a_float(None)
    return a_float(_widened(_around([*limits, *values])))


def _clamped(value: float) -> float:
    return min(max(value, -_MOST), _MOST)


def _widened(interval: Interval) -> Interval:
    """What functions are that are not rounded as precisely as can be."""
    if interval is None:
        return None
    low, high = interval
    for _ in range(_STEPS):
        low, high = math.nextafter(low, -math.inf), math.nextafter(high, math.inf)
    return (max(low, 0.0) if interval[0] >= 0 else low, high)


# ------------------------------------------------------------------------ functions


#: functions that grow with their argument, or shrink
_MONOTONE: Final = frozenset(
    "sqrt log log2 log10 log1p exp exp2 expm1 cbrt atan asinh tanh erf sinh asin acosh atanh "  # noqa: SIM905
    "degrees radians acos erfc".split()
)
_WAVES: Final = ("sin", "cos")
#: functions that refuse no float
TOTAL: Final = frozenset(
    [
        "copysign",
        "atan2",
        "hypot",
        "nextafter",
        "isnan",
        "isinf",
        "isfinite",
        "fabs",
        "ulp",
        "isclose",
    ]
)
_TOO_LARGE: Final = ("exp", "exp2", "expm1", "sinh", "cosh")


def applied(name: str, interval: Interval) -> Interval:
    """What a function of ``math`` gives for what it takes."""
    if name in _WAVES:
        return (-1.0, 1.0)
    if interval is None or name not in _MONOTONE:
        return None
    function = getattr(math, name)
    try:
        found = _around([function(value) for value in interval])
    except (ValueError, OverflowError):
        return (0.0, math.inf) if name in ("exp", "exp2", "sqrt") else None
    return found if name == "sqrt" else _widened(found)


def function(vm: VM, name: str, value: object, span: Span) -> object:
    """A function of ``math`` of a float that is not known."""
    if name in TOTAL:
        return a_float(None)
    known = interval_of(vm, value, span)
    if name in ("floor", "ceil", "trunc"):
        return converted(vm, f"math.{name}", known, span)
    if name not in (*_MONOTONE, *_WAVES, "tan", "cosh"):
        return vm.unfollowed(f"`math.{name}()` of a float that is not known", span)
    if known is None or not _takes(name, known):
        error = OverflowError if name in _TOO_LARGE else ValueError
        unknown = vm.unknown_bool(f"whether `math.{name}()` takes a float is not followed", span)
        message = f"`math.{name}()` is not defined for every float"
        vm.fault(error, message, span, when=unknown)
    return a_float(applied(name, known))


#: how a float is made an integer
_WHOLE: Final[dict[str, Callable[[float], int]]] = {
    "round": round,
    "math.floor": math.floor, "math.ceil": math.ceil,
}  # fmt: skip


def _takes(name: str, interval: tuple[float, float]) -> bool:
    """Whether a function takes every float of an interval: it does if it takes both ends."""
    function = getattr(math, name)
    try:
        for end in interval:
            function(end)
            function(_clamped(end))
    except (ValueError, OverflowError):
        return False
    return True


def converted(vm: VM, what: str, known: Interval, span: Span) -> Expr:
    """A float that is made an integer, which neither nan nor an infinity is."""
    said = f"`{what}()` of a float that is not known"
    if known is None or not all(map(math.isfinite, known)):
        vm.unfollowed(f"`{what}()` of a float that may not be finite", span)
        return vm.unknown_int(said, span)
    # all of them go the same way, so that what is between two ends stays there
    to_integer: Callable[[float], int] = _WHOLE.get(what, int)
    low, high = (to_integer(end) if abs(end) < _WORD else None for end in known)
    return bounded_unknown(vm, said, span, low, high)


__all__ = [
    "TOTAL",
    "Interval",
    "a_float",
    "applied",
    "combined",
    "converted",
    "divides",
    "function",
]
