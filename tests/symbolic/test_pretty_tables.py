"""Sizes of element types that a flag chooses are shown as the numbers that they are."""

from __future__ import annotations

from verifier.hardware import dtypes as dt
from verifier.symbolic import expr as E
from verifier.symbolic.pretty import pretty
from verifier.symbolic.tensors import DType


def test_a_choice_of_element_types_is_a_choice_of_sizes() -> None:
    E.fresh_context()
    exact, wide = E.bool_symbol("exact"), E.bool_symbol("wide")
    code = {name: E.const(dt.CODES[name]) for name in ("float32", "bfloat16", "int8")}
    chosen = E.ite(exact, code["float32"], E.ite(wide, code["bfloat16"], code["int8"]))
    assert pretty(DType(chosen).itemsize) == "4 if exact else (2 if wide else 1)"
    assert pretty(DType(chosen).itemsize * 3 + 1) == "3*(4 if exact else (2 if wide else 1)) + 1"
    given = E.symbol("code", 0, len(dt.NAMES) - 1)
    assert "sizeof" in pretty(DType(E.ite(exact, code["int8"], given)).itemsize)


def test_what_is_not_none_reads_as_python_says_it() -> None:
    E.fresh_context()
    none, wide = E.bool_symbol("bias is None"), E.bool_symbol("wide")
    assert pretty(E.not_(none)) == "bias is not None"
    assert pretty(E.or_(none, E.not_(wide))) == "bias is None or not wide"
    assert pretty(E.and_(E.not_(none), wide)) == "bias is not None and wide"
