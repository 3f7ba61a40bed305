"""Sizes of element types that a flag chooses are shown as the numbers that they are."""

from __future__ import annotations

from verifier.hardware import dtypes as dt
from verifier.symbolic import expr as E
from verifier.symbolic.pretty import factor, operand, pretty, python
from verifier.symbolic.tensors import DType


def test_a_choice_of_element_types_is_a_choice_of_sizes() -> None:
    E.fresh_context()
    exact, wide = E.bool_symbol("exact"), E.bool_symbol("wide")
    code = {name: E.const(dt.CODES[name]) for name in ("float32", "bfloat16", "int8")}
    chosen = E.ite(exact, code["float32"], E.ite(wide, code["bfloat16"], code["int8"]))
    assert pretty(DType(chosen).itemsize) == "4 if exact else (2 if wide else 1)"
    assert pretty(DType(chosen).itemsize * 3 + 1) == "3*(4 if exact else (2 if wide else 1)) + 1"
    chosen_size = DType(chosen).itemsize  # beside an operator it says what it says alone
    assert operand(chosen_size) == factor(chosen_size) == f"({pretty(chosen_size)})"
    size = E.symbol("n", 0, 9)
    assert (operand(size + 1), factor(size + 1), factor(size)) == ("n + 1", "(n + 1)", "n")
    given = E.symbol("code", 0, len(dt.NAMES) - 1)
    assert ".itemsize" in pretty(DType(E.ite(exact, code["int8"], given)).itemsize)


def test_what_is_not_none_reads_as_python_says_it() -> None:
    E.fresh_context()
    none, wide = E.bool_symbol("bias is None"), E.bool_symbol("wide")
    assert pretty(E.not_(none)) == "bias is not None"
    assert pretty(E.or_(none, E.not_(wide))) == "bias is None or not wide"
    assert pretty(E.and_(E.not_(none), wide)) == "bias is not None and wide"


def test_the_bytes_of_a_type_that_another_one_decides() -> None:
    """What is added up of integers is as wide as float32: told is which types differ."""
    E.fresh_context()
    given = E.symbol("x.dtype", 0, dt.CODES["int8"], domain=dt.NAMES)
    narrow = [E.eq(given, dt.CODES[name]) for name in ("int16", "int8")]
    widened = DType(E.ite(E.or_(*narrow), dt.CODES["float32"], given)).itemsize
    assert python(widened) == "4 if x.dtype in (int16, int8) else x.dtype.itemsize"
    assert pretty(widened + 1) == "(4 if x.dtype in (int16, int8) else x.dtype.itemsize) + 1"
    same = DType(E.ite(narrow[0], dt.CODES["bfloat16"], given)).itemsize
    assert python(same) == "x.dtype.itemsize"


def test_a_power_of_two_by_the_value_of_its_exponent_is_a_shift() -> None:
    E.fresh_context()
    stage, width = E.symbol("stage"), E.symbol("width")

    def by_value(number: E.Expr, first: E.Expr, values: range) -> E.Expr:
        out = first * (1 << (len(values) - 1))
        for value in reversed(values[:-1]):
            out = E.ite(E.eq(number, value), first * (1 << (value - values[0])), out)
        return out

    long = by_value(stage, E.const(2), range(8))
    assert pretty(long) == python(long) == "2 << stage"
    assert pretty(width * long + 1) == "width*(2 << stage) + 1"
    assert pretty(by_value(stage + 1, width * 3, range(8))) == "(3*width) << (stage + 1)"
    assert pretty(by_value(stage, E.const(1), range(3, 9))) == "1 << (stage - 3)"
    some = E.ite(E.le(stage, 7), long, width)
    assert pretty(some) == "(2 << stage) if stage <= 7 else width"
    assert "<<" not in pretty(by_value(stage, E.const(1), range(3)))
    assert pretty(E.ite(E.eq(stage, 1), E.const(5), long)) == "5 if stage == 1 else (2 << stage)"
