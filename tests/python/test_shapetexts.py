"""Shapes as people write them."""

from __future__ import annotations

import pytest

from verifier.source import ir
from verifier.source.lowering import lower
from verifier.symbolic.python.shapetexts import annotated, remarked, written

DOCSTRINGS = [
    ("x: [B, S, H]", {"x": 3}),
    ("x: [H]", {"x": 1}),
    ("x (tensor): of shape (n, k)", {"x": 2}),
    ("x = [4, 4]", {"x": 2}),
    ("`x`: a tensor of shape [B, S * 2, H]", {"x": 3}),
    ("x is [a, b], y is [c, d, e]", {"x": 2, "y": 3}),
    ("with x.shape == [n], y.shape = (c, h, w)", {"x": 1, "y": 3}),
    ("x: [B, ..., H]", {}),
    ("x: [B, *rest]", {}),
    ("x, the input", {}),
    ("x: [1,2,3,4,5,6,7,8,9]", {}),
    ("x: a\nlong [A, B]", {}),
]
REMARKS = [
    ("x,  # [B, S, H]", 3),
    ("x,  # bf16[K, M]", 2),
    ("x,  # [in]", None),
    ("x,  # the input", None),
    ("x[1, 2]", None),
    ("x,  # [B, ...]", None),
    ("x,  # [H]", None),
]
ANNOTATIONS = [
    ("nt.tensor[128, 512]", 2),
    ("nt.mutable_tensor[128]", 1),
    ("nt.tensor", None),
    ("'bf16[K, M]'", 2),
    ("'[K]'", 1),
    ("'bf16'", None),
    ("Float[Tensor, 'b s h']", 3),
    ("Float[Tensor, 'b ... h']", None),
    ("Float[Tensor, '*rest h']", None),
    ("Optional[int]", None),
    ("dict[str, int]", None),
    ("int", None),
]


@pytest.mark.parametrize(("text", "expected"), DOCSTRINGS)
def test_docstrings(text: str, expected: dict[str, int]) -> None:
    assert dict(written(text)) == expected


@pytest.mark.parametrize(("line", "expected"), REMARKS)
def test_comments(line: str, expected: int | None) -> None:
    assert remarked(line) == expected


@pytest.mark.parametrize(("text", "expected"), ANNOTATIONS)
def test_annotations(text: str, expected: int | None) -> None:
    (statement,) = lower("k.py", f"x: {text}\n", 1)
    assert isinstance(statement, ir.AnnAssign)
    assert annotated(statement.annotation) == expected


def test_no_annotation() -> None:
    assert annotated(None) is None
