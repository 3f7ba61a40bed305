"""Numbers: concrete ones are CPython's, symbolic ones agree with CPython for every value."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from tests.python.support import (
    UNKNOWN,
    agrees,
    agrees_for,
    assignments,
    at,
    given,
    machine,
    program,
    run,
)
from verifier.symbolic import expr as E
from verifier.symbolic.python.concrete import MAX_BITS
from verifier.symbolic.values import Opaque, Ratio

OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^", "@"]
COMPARISONS = ["==", "!=", "<", "<=", ">", ">="]
VALUES: list[Any] = [
    -7, -2, -1, 0, 1, 2, 3, 13, 128, True, False, 0.0, -0.0, 0.5, -2.5, 3.0, float("inf"),
    float("nan"), 1e300, 1j, 2 + 3j, None, "ab", "", b"xy", (1, 2), ..., NotImplemented,
]  # fmt: skip


@pytest.mark.parametrize("op", OPERATORS)
def test_operators_on_concrete_values(op: str) -> None:
    vm = machine()
    for a, b in itertools.product(VALUES, VALUES):
        agrees(f"a {op} b", {"a": a, "b": b}, vm=vm)


@pytest.mark.parametrize("op", COMPARISONS)
def test_comparisons_of_concrete_values(op: str) -> None:
    vm = machine()
    values = [value for value in VALUES if not isinstance(value, tuple)]
    for a, b in itertools.product(values, values):
        agrees(f"a {op} b", {"a": a, "b": b}, vm=vm)


@pytest.mark.parametrize("op", ["-", "+", "~", "not "])
def test_unary_operators(op: str) -> None:
    vm = machine()
    for a in VALUES:
        if a is not NotImplemented:
            agrees(f"{op}a", {"a": a}, vm=vm)


def test_truth() -> None:
    vm = machine()
    for a in VALUES:
        if a is not NotImplemented:
            agrees("1 if a else 2", {"a": a}, vm=vm)


@pytest.mark.parametrize(
    "source",
    [
        "a.real", "a.imag", "a.conjugate()", "a.numerator", "a.denominator", "a.bit_length()",
        "a.bit_count()", "a.is_integer()", "a.as_integer_ratio()", "a.hex()", "a.nothing",
        "a.bit_length(1)", "a.to_bytes(2, 'big')", "a.to_bytes(2, 'big', signed=True)", "a()",
        "a[0]", "len(a)", "1 in a", "[x for x in a]",
    ],
)  # fmt: skip
def test_attributes_and_methods(source: str) -> None:
    vm = machine()
    for a in [-7, 0, 3, 300, 70000, True, False, 0.5, -2.0, 2 + 3j]:
        agrees(source, {"a": a}, vm=vm)


@pytest.mark.parametrize(
    "source",
    ["a.__add__(1)", "a.__add__('x')", "a.__lt__(3)", "a.__neg__()", "a.__mul__(2)", "a.__eq__(a)",
     "a.__bool__()", "a.__int__()", "a.__rsub__(1)", "a.__abs__()", "a.__class__ is int"],
)  # fmt: skip
def test_special_methods_by_name(source: str) -> None:
    vm = machine()
    for a in [-7, 0, 3, True, 0.5, -2.0]:
        agrees(source, {"a": a}, vm=vm)


def test_class_methods_of_numbers() -> None:
    agrees("(5).from_bytes(b'ab', 'big')", {})
    agrees("int.from_bytes(b'ab', byteorder='little')", {})
    agrees("float.fromhex('0x1p-2')", {})


SMALL = range(-5, 6)


@pytest.mark.parametrize("op", [*OPERATORS[:-1], *COMPARISONS])
def test_symbolic_operators_with_constants(op: str) -> None:
    for c in (-9, -8, -3, -2, -1, 0, 1, 2, 3, 4, 6, 7, 8, 12, 0.5, 2.5, -0.25, True):
        known = op != "**" and not (isinstance(c, float) and op in ("//", "%"))
        agrees_for(f"n {op} {c!r}", {"n": SMALL}, known=known)
        agrees_for(f"{c!r} {op} n", {"n": SMALL}, known=known)


@pytest.mark.parametrize("op", ["+", "-", "*", "//", "%", "&", "|", "^", *COMPARISONS])
def test_symbolic_operators_with_symbols(op: str) -> None:
    agrees_for(f"a {op} b", {"a": SMALL, "b": range(-2, 3)})
    agrees_for(f"(a * 3 - 1) {op} (b + 2)", {"a": SMALL, "b": SMALL}, known=op not in "&|^")


@pytest.mark.parametrize(
    "source",
    [
        "1 << s", "3 << s", "-5 << s", "n << s", "n >> s", "1000 >> s", "-1000 >> s", "2 ** s",
        "(-3) ** s", "n ** 2", "n ** 3", "-n", "+n", "~n", "n & -n", "n & (n - 1)", "n ^ (n >> 1)",
        "n & 0x0ff0", "n & ~7", "n | 9", "n ^ -4", "n.bit_length()", "n.bit_count()",
        "(1 << (s + 1)) - 1", "n.conjugate()", "n.numerator", "n.as_integer_ratio()",
    ],
)  # fmt: skip
def test_bits_and_powers(source: str) -> None:
    agrees_for(source, {"n": range(-20, 21), "s": range(5)})


def test_a_negative_shift_is_an_error_where_the_amount_is_negative() -> None:
    agrees_for("1 << s", {"s": range(-3, 4)})
    agrees_for("n >> s", {"n": range(-8, 9), "s": range(-3, 4)})


def test_a_path_bounds_the_amount_of_a_shift() -> None:
    vm = machine()
    stage = E.symbol("stage", 0)
    with vm.guarded(E.lt(stage, 7)):
        value = run(vm, "1 << (stage + 1)", stage=stage).value
    assert [at(vm, value, {"stage": k}) for k in range(7)] == [1 << (k + 1) for k in range(7)]


def test_an_unbounded_shift_is_an_unknown_of_the_right_sign() -> None:
    vm = machine()
    outcome = run(vm, "1 << n", n=E.symbol("n", 0))
    assert isinstance(outcome.value, E.Expr) and E.bounds(outcome.value)[0] == 1
    assert not outcome.skipped and not outcome.escapes


@pytest.mark.parametrize("op", ["&", "|", "^"])
def test_unbounded_bits_are_within_bounds(op: str) -> None:
    vm = machine()
    a, b = E.symbol("a", 0, 1000), E.symbol("b", 3, 5000)
    value = run(vm, f"a {op} b", a=a, b=b).value
    assert isinstance(value, E.Expr)
    low, high = E.bounds(value)
    for x, y in itertools.product(range(0, 1001, 37), range(3, 5001, 119)):
        held = eval(f"x {op} y", {"x": x, "y": y})
        assert (low is None or low <= held) and (high is None or held <= high)


# ------------------------------------------------------------------------ quotients


@pytest.mark.parametrize(
    "source",
    [
        "a / 4", "a / b", "a / 2 + 1", "a / 2 - b / 4", "a / 2 * b", "a * 0.5", "a * 1.5 + 0.25",
        "-(a / 3)", "a / 3 * 2", "a / 3 / 4", "(a / 4) / (b / 2)", "0.5 / b", "1 / (b / 2)",
        "a / 2 < b", "a / 3 >= 1", "a / b == 2", "a / 4 != 0.25", "a < 0.5", "a == 2.0", "2.5 > a",
        "a / b > 0.5", "a / 2 < b / 3", "a / 3 == 0.1", "a < float('inf')", "a != float('nan')",
        "bool(a / 3)", "float(a)", "float(a) == a", "int(float(a))",
    ],
)  # fmt: skip
def test_quotients_are_exact_or_unknown(source: str) -> None:
    agrees_for(source, {"a": range(-9, 10), "b": range(-4, 5)}, known=False)


@pytest.mark.parametrize(
    "source",
    [
        "int(a / 4)", "int(a / b)", "round(a / 2)", "round(a / 4)", "round(a / b)", "int(a * 0.5)",
        "int((a + 3) / 4)", "-(-a // 4)", "int(-(a / 3))",
    ],
)  # fmt: skip
def test_rounded_quotients_are_exact(source: str) -> None:
    agrees_for(source, {"a": range(-9, 10), "b": range(1, 5)})


def test_rounding_errors_of_floats_are_not_lost() -> None:
    """``1 / 49 * 49`` is less than one."""
    agrees_for("int(a / b * b)", {"a": range(1, 50), "b": range(1, 50)}, known=False)
    vm = machine()
    outcome = run(vm, "a / b * b", a=E.symbol("a", 1), b=E.symbol("b", 1))
    assert isinstance(outcome.value, Opaque) and outcome.value.harmless


def test_a_float_is_no_integer() -> None:
    vm = machine()
    for value in (2.0, 2.5, Ratio(E.symbol("n", 1), E.const(2))):
        with pytest.raises(Exception) as ended:
            vm.as_int(value, vm.trace.span)
        assert type(ended.value).__name__ == "Ended"
    assert [check.rule for check in vm.checks] == ["wrong-type"] * 3


def test_truth_values_are_integers() -> None:
    vm = machine()
    flag = E.bool_symbol("flag")
    for source in ("f + 1", "f * 3", "-f", "f == 1", "f < 1", "f & g", "f | g", "f ^ g", "f / 2",
                   "f & 3", "f << 2", "~f", "f // 2", "int(f)", "f == True",
                   "max(f, 2)"):  # fmt: skip
        outcome = run(vm, source, f=flag, g=E.bool_symbol("other"))
        for f, g in itertools.product((False, True), repeat=2):
            found = at(vm, outcome.value, {"flag": f, "other": g})
            assert found == eval(source, {"f": f, "g": g}), source


def test_logic_on_truth_values_stays_one() -> None:
    vm = machine()
    value = run(vm, "f & g", f=E.bool_symbol("f"), g=True).value
    assert isinstance(value, E.Bool)
    assert run(vm, "isinstance(f & g, bool)").host is True


def test_division_by_zero_keeps_its_words() -> None:
    vm = machine()
    n = E.symbol("n", 0)
    run(vm, "1", n=n)
    vm.binary("//", E.const(8), n, vm.trace.span)
    (check,) = vm.checks
    assert check.rule == "division-by-zero"
    assert check.check.message == "division by zero: `n` can be 0"
    assert (check.check.assertion, check.check.help) == ("n != 0", ())


def test_large_numbers_are_not_computed() -> None:
    vm = machine()
    for source in ("7 ** 100000", "1 << 100000", "'a' * 10 ** 9", "(2 ** 4000) * (2 ** 4000)",
                   "2 ** 4095 * 2 + 2 ** 4095 * 2"):  # fmt: skip
        outcome = run(vm, source)
        assert outcome.error is None and not outcome.skipped
        assert at(vm, outcome.value, {}) is UNKNOWN, source
    held = run(vm, "2 ** 4000").host
    assert held == 2**4000 and held.bit_length() <= MAX_BITS


def test_counters_through_products() -> None:
    vm = machine()
    count, row, column = E.symbol("b", 1), E.symbol("i", 0), E.symbol("j", 0)
    counter = row * count + column
    vm.counters[counter] = (count, row, column)
    assert vm.binary("//", counter, count, vm.trace.span) is row
    assert vm.binary("%", counter, count, vm.trace.span) is column


def test_values_that_depend_on_the_path() -> None:
    vm = machine()
    flag = E.bool_symbol("flag")
    outcome = run(vm, "(n if f else 2.5) * 2", f=flag, n=E.symbol("n", 0, 3))
    for env in assignments({"n": range(4)}):
        assert at(vm, outcome.value, {**env, "flag": True}) == env["n"] * 2
        assert at(vm, outcome.value, {**env, "flag": False}) == 5.0


def test_an_error_on_some_paths_only() -> None:
    vm = machine()
    flag = E.bool_symbol("flag")
    outcome = run(vm, "(n if f else None) + 1", f=flag, n=E.symbol("n", 0, 3))
    (escape,) = outcome.escapes
    assert escape.fault is not None and escape.fault.error is TypeError
    assert E.evaluate(escape.guard, {"flag": False}) is True
    assert E.evaluate(escape.guard, {"flag": True}) is False
    assert at(vm, outcome.value, {"flag": True, "n": 2}) == 3


def test_given_values_come_back() -> None:
    vm = machine()
    for value in [*VALUES, [1, [2]], {"a": 1}, {1, 2}, frozenset({3}), range(3), slice(1, None)]:
        assert repr(run(vm, "v", v=given(vm, value)).host) == repr(value)


# ------------------------------------------------------------------------ generated expressions

LEAVES: list[str] = [*"abab0123458", "-1", "0.5", "True", "(a > b)"]
BINARY = ["+", "-", "*", "//", "%", "/", "&", "|", "^", "<<", ">>", "**", "<", "==", ">=", "!="]
CALLS = [
    "abs({})", "int({})", "-{}", "~{}", "round({})", "float({})", "bool({})", "min({}, {})",
    "max({}, {})", "divmod({}, {})", "({} if {} else {})", "math.ceil({})", "math.floor({})",
    "({} and {})", "({} or {})", "(not {})", "math.gcd({}, {})", "({}).bit_length()",
]  # fmt: skip


def expression(rng: random.Random, depth: int) -> str:
    """A random expression on the numbers ``a`` and ``b``."""
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(LEAVES)
    if rng.random() < 0.65:
        left, right = expression(rng, depth - 1), expression(rng, depth - 1)
        return f"({left} {rng.choice(BINARY)} {right})"
    form: str = rng.choice(CALLS)
    return form.format(*(expression(rng, depth - 1) for _ in range(form.count("{}"))))


@pytest.mark.parametrize("seed", range(40))
def test_generated_expressions(seed: int) -> None:
    """What is not the same error or value as CPython's for every input is unknown."""
    rng = random.Random(seed)
    for _ in range(10):
        source = expression(rng, 3)
        agrees_for(source, {"a": range(-3, 4), "b": range(-2, 4)}, known=False, text="import math")


def test_special_methods_of_conversions() -> None:
    program(
        """\
class B:
    def __int__(self): return None
    __float__ = __complex__ = __str__ = __repr__ = __bytes__ = __bool__ = __index__ = __int__
def index(x): return [][x]
result = []
for f in [int, float, complex, str, repr, bytes, bin, oct, hex, bool, index]:
    try:
        f(B()); result.append("no")
    except TypeError:
        result.append("yes")
"""
    )
    program(
        """\
class C:
    def __complex__(self): return 2j
class I:
    def __index__(self): return 3
    def __bytes__(self): return b"ab"
class F(float):
    pass
result = [complex(C()), complex(I()), float(I()), int(I()), bytes(I()), complex(F(2.5))]
result += [float(F(2.5)), int(F(2.5)), complex(1, F(2.0)), complex("1+2j")]
"""
    )
    program(
        """\
class Index(int):
    def __index__(self): return 42
    def __int__(self): return 7
class Plain(int):
    def __index__(self): return 42
result = [bin(Index(3)), int(Index(3)), int(Plain(3)), [1, 2, 3, 4][Plain(2)], chr(Plain(65))]
"""
    )
