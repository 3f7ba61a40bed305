"""Conditions on the bytes of types that others are promoted to: somebody can read them."""

from __future__ import annotations

import pytest

from verifier.engine import analyze_source

_KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def scaled(x, w, v):
    P, N = x.shape
    assert P <= 70 and w.shape == x.shape and v.shape == x.shape{TYPES}
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    a = nl.load(x)
    b = nl.load(w)
    c = nl.load(v)
    nl.store(out, nl.multiply(nl.multiply(a, b), nl.add(a, c)))
    return out
"""
_BYTES = "N*(x.dtype.itemsize + {} + (x.dtype.itemsize if {} else 4){}) <= 212992"
#: what is asserted of types, the conditions, and whether they are needed
CASES = (
    (
        "",
        (
            _BYTES.format("w.dtype.itemsize + v.dtype.itemsize", "x.dtype == w.dtype", ""),
            _BYTES.format(
                "v.dtype.itemsize",
                "x.dtype == w.dtype",
                " + (x.dtype.itemsize if x.dtype == v.dtype else 4)",
            ),
        ),
        False,
    ),
    ("\n    assert x.dtype == w.dtype == v.dtype", ("N*x.dtype.itemsize <= 53248",), True),
    ("\n    assert x.dtype == w.dtype == v.dtype == nl.bfloat16", ("N <= 26624",), True),
)


@pytest.mark.parametrize(("types", "texts", "exact"), CASES)
def test_bytes_of_promoted_types_are_told_in_few_words(
    types: str, texts: tuple[str, ...], exact: bool
) -> None:
    (kernel,) = analyze_source(_KERNEL.replace("{TYPES}", types)).kernels
    found = kernel.precondition
    assert found is not None and found.sufficient and found.exact == exact
    assert tuple(conjunct.text for conjunct in found.conjuncts) == texts
    assert all(conjunct.witness for conjunct in found.conjuncts)
