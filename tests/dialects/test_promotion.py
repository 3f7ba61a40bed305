"""The dtype of arithmetic on tiles is the same whether dtypes are known or inputs."""

from __future__ import annotations

import pytest

from verifier.dialects.nki.promotion import promote
from verifier.hardware import dtypes as dt
from verifier.symbolic import expr as E
from verifier.symbolic.pretty import python
from verifier.symbolic.tensors import DType

#: those that tiles of trn2 may have
NAMES = dt.NAMES[:14]


def _free(name: str) -> DType:
    return DType(E.symbol(f"{name}.dtype", 0, len(NAMES) - 1, domain=dt.NAMES))


def test_of_two_inputs() -> None:
    E.fresh_context()
    found = promote(_free("a"), _free("b")).code
    for a in NAMES:
        for b in NAMES:
            codes = {"a.dtype": dt.CODES[a], "b.dtype": dt.CODES[b]}
            known = promote(DType.named(a), DType.named(b))
            assert dt.NAMES[E.evaluate(found, codes)] == known.name, (a, b)


@pytest.mark.parametrize("name", NAMES)
def test_of_an_input_and_a_known_dtype(name: str) -> None:
    E.fresh_context()
    first = promote(_free("a"), DType.named(name)).code
    second = promote(DType.named(name), _free("a")).code
    for a in NAMES:
        codes = {"a.dtype": dt.CODES[a]}
        expected = promote(DType.named(a), DType.named(name)).name
        assert dt.NAMES[E.evaluate(first, codes)] == expected == dt.NAMES[E.evaluate(second, codes)]


def test_choices_of_dtypes_are_printed_by_their_names() -> None:
    E.fresh_context()
    dtype = _free("a")
    chosen = DType(E.ite(dtype.among(dt.codes("int8")), dt.CODES["int16"], dtype.code))
    text = python(chosen.itemsize)
    assert text == "2 if a.dtype == int8 else a.dtype.itemsize"
    both = DType(E.ite(dtype.among(dt.codes("int8", "uint8")), dt.CODES["int16"], dtype.code))
    assert python(both.itemsize) == "2 if a.dtype in (int8, uint8) else a.dtype.itemsize"
    nested = E.ite(dtype.among(dt.codes("uint8")), dt.CODES["int8"], dt.CODES["int32"])
    nested = E.ite(dtype.among(dt.codes("int8")), dtype.code, nested)
    inner = "(int8 if a.dtype == uint8 else int32)"
    assert python(nested) == f"a.dtype if a.dtype == int8 else {inner}"
    rows = E.symbol("rows", 1)
    assert python(E.ite(E.le(rows, 4), 2, 7)) == "2 if rows <= 4 else 7"
