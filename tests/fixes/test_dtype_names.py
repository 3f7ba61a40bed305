"""Assertions name only dtypes that the generation of the kernel has a name for."""

from __future__ import annotations

import ast

import pytest

from verifier.dialects.names import NKI
from verifier.dialects.registry import DIALECTS
from verifier.engine.asserting import _Rewriter
from verifier.hardware import dtypes
from verifier.symbolic.python.inputs import FREE_DTYPES

LATER = "float8_e8m0fnu"
#: what an input may be made of
FREE = dtypes.NAMES[: FREE_DTYPES + 1]


class Language:
    """The dtypes, by their names."""

    def __getattr__(self, name: str) -> str:
        return name


class Tensor:
    def __init__(self, dtype: str) -> None:
        self.dtype = dtype


@pytest.mark.parametrize("generation", DIALECTS[NKI].generations)
@pytest.mark.parametrize(
    "condition",
    [f"x.dtype in (int8, {LATER})", f"n <= (4 if x.dtype not in (int16, {LATER}) else 1)"],
)
def test_what_has_no_name_yet_is_none_of_the_others(generation: str, condition: str) -> None:
    has_value = DIALECTS[NKI].has_value

    def has(name: str) -> bool:
        return has_value(f"language.{name}", generation)

    assert LATER in FREE and has("int8")
    rewriter = _Rewriter({"x": False, "n": False}, "nl", lambda _: False, (), [], has)
    written = rewriter.expression(ast.parse(condition, mode="eval").body)
    assert written is not None
    assert (LATER in written) == has(LATER)
    plain = {name: name for name in dtypes.NAMES}
    for dtype in FREE:
        for n in (1, 4):
            names = {"x": Tensor(dtype), "n": n}
            assert eval(written, {**names, "nl": Language()}) == eval(condition, {**names, **plain})
