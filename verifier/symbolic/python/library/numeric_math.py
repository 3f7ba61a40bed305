"""The ``math`` module: on the host where everything is concrete, exact on sizes where it can be."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.pretty import pretty
from verifier.symbolic.python import floatbounds, quotients
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.concrete import MAX_BITS, SYMBOLIC, asked, run, to_host
from verifier.symbolic.python.heap import UNBOUND
from verifier.symbolic.python.integers import bounded_unknown, by_value, range_of
from verifier.symbolic.python.kinds.numbers import FLOAT, as_expr, is_integer, is_number
from verifier.symbolic.python.library.core_numbers import number_of, unusable
from verifier.symbolic.python.library.core_order import folded
from verifier.symbolic.python.lifting import lifted
from verifier.symbolic.python.model import Builtin
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Opaque, OpaqueOf, Ratio

MATH: Final = Table("math")

#: factorials and the like of greater numbers are not computed
_MAX_FACTORIAL: Final = 500
_MAX_ARGUMENT: Final = 1 << 31

CONSTANTS: Final[dict[str, object]] = {
    "pi": math.pi,
    "e": math.e,
    "tau": math.tau,
    "inf": math.inf,
    "nan": math.nan,
}


# ------------------------------------------------------------------------ rounding


def _rounding(
    name: str,
    special: str,
    function: Callable[[Any], int],
    exact: Callable[[VM, Ratio, Span], Expr],
) -> None:
    @MATH.add(name)
    @lifted
    def rounded(vm: VM, span: Span, x: object, /) -> object:
        own = asked(vm, x, special, (), span)
        if own is UNBOUND and name != "trunc":
            own = asked(vm, x, "__float__", (), span)
        value = number_of(vm, x if own is UNBOUND else own, span)
        if is_integer(value):
            return as_expr(value)
        held = to_host(vm, value)
        if isinstance(value, Ratio) and held is SYMBOLIC:
            return exact(vm, value, span)
        if isinstance(held, float):
            return run(vm, span, function, held)
        return unusable(vm, f"`math.{name}()`", value, span)


_rounding("ceil", "__ceil__", math.ceil, quotients.ceiling)
_rounding("floor", "__floor__", math.floor, quotients.floor)
_rounding("trunc", "__trunc__", math.trunc, quotients.truncated)


# ------------------------------------------------------------------------ floats


_Test = Callable[[Ratio], Bool]


def _sign(value: Ratio) -> Expr:
    """A number that is negative, zero or positive as the quotient is."""
    low, _ = E.bounds(value.den)
    return value.num if low is not None and low > 0 else value.num * value.den


def _at_least(limit: int) -> _Test:
    return lambda value: _order(">=", value, limit)


def _above(limit: int) -> _Test:
    return lambda value: _order(">", value, limit)


def _below(limit: int) -> _Test:
    return lambda value: _order("<", value, limit)


def _order(op: str, value: Ratio, limit: int) -> Bool:
    return quotients.compared(op, value, Ratio(E.const(limit), E.const(1)))


def _between(value: Ratio) -> Bool:
    return E.and_(_order(">=", value, -1), _order("<=", value, 1))


def _anywhere(value: Ratio) -> Bool:
    return E.TRUE


def _no_pole(value: Ratio) -> Bool:
    """The gamma function has poles at 0, -1, -2 ..."""
    return E.or_(_order(">", value, 0), E.ne(value.num % value.den, 0))


#: functions that are defined for every finite number
_TOTAL: Final = (
    "sin", "cos", "tan", "atan", "asinh", "tanh", "erf", "erfc", "cbrt", "degrees", "radians",
    "fabs", "ulp",
)  # fmt: skip
#: where a function of one number is defined, and whether it is too large beyond
_FUNCTIONS: Final[dict[str, tuple[_Test, type[Exception]]]] = {
    "sqrt": (_at_least(0), ValueError),
    "log": (_above(0), ValueError),
    "log2": (_above(0), ValueError),
    "log10": (_above(0), ValueError),
    "log1p": (_above(-1), ValueError),
    "acos": (_between, ValueError),
    "asin": (_between, ValueError),
    "acosh": (_at_least(1), ValueError),
    "atanh": (lambda v: E.and_(_order(">", v, -1), _order("<", v, 1)), ValueError),
    "exp": (_below(710), OverflowError),
    "exp2": (_below(1024), OverflowError),
    "expm1": (_below(710), OverflowError),
    "sinh": (lambda v: E.and_(_order(">", v, -711), _order("<", v, 711)), OverflowError),
    "cosh": (lambda v: E.and_(_order(">", v, -711), _order("<", v, 711)), OverflowError),
    "lgamma": (_no_pole, ValueError),
    **dict.fromkeys(_TOTAL, (_anywhere, ValueError)),
}


def _of_one(name: str, defined: _Test, error: type[Exception]) -> None:
    function: Callable[..., Any] = getattr(math, name)

    @lifted
    def computed(vm: VM, span: Span, x: object, /) -> object:
        own = asked(vm, x, "__float__", (), span)
        value = number_of(vm, x if own is UNBOUND else own, span)
        held = to_host(vm, value)
        if held is not SYMBOLIC:
            return run(vm, span, function, held)
        return _float_of(vm, name, value, defined, error, span)

    MATH[name] = Builtin.of(f"math.{name}", computed)


def _float_of(
    vm: VM, name: str, value: object, defined: _Test, error: type[Exception], span: Span
) -> object:
    """A float that is not known; outside of where the function is defined it is an error."""
    if isinstance(value, OpaqueOf):
        return floatbounds.function(vm, name, value, span)
    ratio = quotients.as_ratio(value) if is_number(value) else None
    if ratio is None:
        return value if isinstance(value, Opaque) else unusable(vm, f"`math.{name}()`", value, span)
    if name == "fabs":
        return Ratio(E.absolute(ratio.num), E.absolute(ratio.den))
    shown = pretty(_sign(ratio)) if ratio.den is not E.const(1) else pretty(ratio.num)
    vm.fault(
        error,
        f"`math.{name}()` is not defined for every value of `{shown}`",
        span,
        when=E.not_(defined(ratio)),
        values=((shown, ratio.num),) if ratio.den is E.const(1) else (),
    )
    return floatbounds.a_float(floatbounds.applied(name, floatbounds.interval_of(vm, value, span)))


for _name, (_defined, _error) in _FUNCTIONS.items():
    if hasattr(math, _name):
        _of_one(_name, _defined, _error)


@lifted
def _log(vm: VM, span: Span, x: object, base: object = UNBOUND, /) -> object:
    given = [x] if base is UNBOUND else [x, base]
    values = [number_of(vm, value, span) for value in given]
    held = [to_host(vm, value) for value in values]
    if SYMBOLIC not in held:
        return run(vm, span, math.log, *held)
    for value in values:
        known = _float_of(vm, "log", value, _above(0), ValueError, span)
        if not isinstance(known, OpaqueOf):
            return known
    if len(values) == 2:
        ratio = quotients.as_ratio(values[1])
        if ratio is not None:
            vm.fault(
                ZeroDivisionError,
                "the base of a logarithm is 1",
                span,
                when=E.eq(ratio.num, ratio.den),
            )
        return FLOAT
    return floatbounds.a_float(
        floatbounds.applied("log", floatbounds.interval_of(vm, values[0], span))
    )


MATH["log"] = Builtin.of("math.log", _log)


def _test(name: str, answer: bool) -> None:
    function: Callable[[Any], bool] = getattr(math, name)

    @MATH.add(name)
    @lifted
    def tested(vm: VM, span: Span, x: object, /) -> object:
        value = number_of(vm, x, span)
        held = to_host(vm, value)
        if held is not SYMBOLIC:
            return run(vm, span, function, held)
        if is_integer(value) or isinstance(value, Ratio):
            return E.truth(answer)
        return unusable(vm, f"`math.{name}()`", value, span)


_test("isfinite", True)
_test("isinf", False)
_test("isnan", False)


#: functions of several numbers that give a float and cannot fail on finite ones
_HARMLESS: Final = frozenset({"atan2", "copysign", "hypot", "nextafter"})


def _on_host(name: str) -> None:
    """Enter a function that has a model on the host alone."""
    function: Callable[..., Any] = getattr(math, name)

    @lifted
    def computed(vm: VM, span: Span, /, *args: object, **keywords: object) -> object:
        values = [number_of(vm, value, span) for value in args]
        held = [_held(vm, value, span) for value in values]
        named = {key: to_host(vm, number_of(vm, v, span)) for key, v in keywords.items()}
        if not any(value is SYMBOLIC for value in (*held, *named.values())):
            return run(vm, span, function, *held, **named)
        if all(is_number(value) for value in (*values, *keywords.values())):
            if name in _HARMLESS:
                return FLOAT
            if name == "isclose":
                return vm.unknown_bool("whether two floats are close is not followed", span)
        return vm.unfollowed(f"`math.{name}()` of these is not followed", span)

    MATH[name] = Builtin.of(f"math.{name}", computed)


def _held(vm: VM, value: object, span: Span) -> Any:
    """An argument on the host: also of something iterable."""
    held = to_host(vm, value)
    if held is SYMBOLIC and not is_number(value) and not isinstance(value, Opaque):
        items = vm.items_of(value, span)
        return SYMBOLIC if items is None else to_host(vm, items)
    return held


for _name in (
    "atan2", "copysign", "dist", "fmod", "frexp", "fsum", "gamma", "hypot", "isclose", "ldexp",
    "modf", "nextafter", "pow", "remainder", "sumprod", "fma",
):  # fmt: skip
    if hasattr(math, _name):
        _on_host(_name)


# ------------------------------------------------------------------------ integers


def _integers(vm: VM, name: str, args: Sequence[object], span: Span) -> tuple[list[Expr], object]:
    """Arguments as integers; the second of the pair is the result if one is none."""
    out: list[Expr] = []
    for arg in args:
        own = asked(vm, arg, "__index__", (), span)
        value = number_of(vm, arg if own is UNBOUND else own, span)
        if not is_integer(value):
            return [], unusable(vm, f"`math.{name}()`", value, span)
        out.append(as_expr(value))
    return out, UNBOUND


@MATH.add("gcd")
@lifted
def _gcd(vm: VM, span: Span, /, *integers: object) -> object:
    numbers, failure = _integers(vm, "gcd", integers, span)
    if failure is not UNBOUND:
        return failure
    known = math.gcd(*(n.const for n in numbers if n.is_const))
    rest = list(dict.fromkeys(n for n in numbers if not n.is_const))
    if known == 1 or not rest:
        return E.const(known)
    if len(rest) == 1 and not known:
        return E.absolute(rest[0])
    if len(rest) == 1:  # gcd(n, c) depends on n % c
        remainder = rest[0] % known
        values = range_of(vm, remainder)
        if values is not None:
            return by_value(remainder, values, lambda k: E.const(math.gcd(k, known)))
    tops = [known] if known else []
    for number in rest:
        low, high = E.bounds(number)
        if low is not None and low > 0 and high is not None:
            tops.append(high)
    positive = bool(known) or any((E.bounds(n)[0] or 0) > 0 for n in rest)
    reason = "gcd of symbolic integers is not followed"
    return bounded_unknown(vm, reason, span, int(positive), min(tops, default=None))


@MATH.add("lcm")
@lifted
def _lcm(vm: VM, span: Span, /, *integers: object) -> object:
    numbers, failure = _integers(vm, "lcm", integers, span)
    if failure is not UNBOUND:
        return failure
    known = math.lcm(*(n.const for n in numbers if n.is_const))
    rest = list(dict.fromkeys(n for n in numbers if not n.is_const))
    if known == 0 or not rest:
        return E.const(known)
    if len(rest) == 1 and known == 1:
        return E.absolute(rest[0])
    if len(rest) == 1:  # lcm(n, c) == |n| * c / gcd(n, c)
        remainder = rest[0] % known
        values = range_of(vm, remainder)
        if values is not None:
            factor = by_value(remainder, values, lambda k: E.const(known // math.gcd(k, known)))
            return E.absolute(rest[0]) * factor
    return bounded_unknown(vm, "lcm of symbolic integers is not followed", span, 0)


@MATH.add("isqrt")
@lifted
def _isqrt(vm: VM, span: Span, n: object, /) -> object:
    numbers, failure = _integers(vm, "isqrt", (n,), span)
    if failure is not UNBOUND:
        return failure
    number = numbers[0]
    if number.is_const:
        return run(vm, span, math.isqrt, number.const)
    message = "isqrt() argument must be nonnegative"
    vm.fault(ValueError, message, span, when=E.lt(number, 0))
    low, high = E.bounds(number)
    values = range_of(vm, number)
    if values is not None:
        return by_value(number, values, lambda k: E.const(math.isqrt(max(k, 0))))
    return bounded_unknown(
        vm,
        "the integer square root of a symbolic integer",
        span,
        math.isqrt(max(low or 0, 0)),
        None if high is None or high < 0 else math.isqrt(high),
    )


def _counting(name: str, most: int, least: int) -> None:
    function: Callable[..., int] = getattr(math, name)

    @lifted
    def counted(vm: VM, span: Span, /, *args: object) -> object:
        if not least <= len(args) <= most:
            message = f"`math.{name}()` does not take {len(args)} arguments"
            vm.fault(TypeError, message, span, rule="call-signature")
        given = args[:1] if args[1:] == (None,) and least == 1 else args
        numbers, failure = _integers(vm, name, given, span)
        if failure is not UNBOUND:
            return failure
        if all(n.is_const for n in numbers):
            held = [n.const for n in numbers]
            if max(held) > _MAX_ARGUMENT:  # some of these are refused
                return vm.unfollowed(f"`math.{name}()` of so large a number", span)
            if max(held) > _MAX_FACTORIAL and min(held) > 1:
                return vm.unknown_int(f"`math.{name}()` of large numbers", span)
            return run(vm, span, function, *held)
        for number in numbers:
            message = f"`math.{name}()` takes no negative numbers"
            vm.fault(ValueError, message, span, when=E.lt(number, 0))
        if len(numbers) == 1:
            values = range_of(vm, numbers[0])
            if values is not None and values[-1].bit_length() * values[-1] <= MAX_BITS:
                return by_value(numbers[0], values, lambda k: E.const(function(max(k, 0))))
        positive = 1 if name == "factorial" else 0
        return bounded_unknown(vm, f"`math.{name}()` of a symbolic integer", span, positive)

    MATH[name] = Builtin.of(f"math.{name}", counted)


_counting("factorial", 1, 1)
_counting("comb", 2, 2)
_counting("perm", 2, 1)


@MATH.add("prod")
def _prod(vm: VM, span: Span, iterable: object, /, *, start: object = UNBOUND) -> object:
    first = E.const(1) if start is UNBOUND else start
    return vm.each(iterable, lambda v: folded(vm, "*", v, first, span))


__all__ = ["CONSTANTS", "MATH"]
