"""What the annotation of a local variable says of a tile's shape is held against its value."""

from __future__ import annotations

import pytest

from verifier.engine import analyze_source
from verifier.report.model import Diagnostic
from verifier.rulebase import find

RULE = find("annotation-mismatch")
assert RULE is not None


def found(annotation: str) -> list[Diagnostic]:
    assert RULE is not None
    assert "nl.tensor[p, f]" in RULE.passing
    result = analyze_source(RULE.passing.replace("nl.tensor[p, f]", annotation))
    assert not result.errors
    return [d for d in result.diagnostics if d.rule == "annotation-mismatch"]


@pytest.mark.parametrize(
    "annotation",
    ["nl.tensor[p, f + 1]", "tensor[p - 3, f]", "nt.tensor[p * 1, f + 2]"],
)
def test_what_is_wrong_for_every_input_is_a_warning(annotation: str) -> None:
    [told] = found(annotation)
    assert (told.severity, told.verdict, told.part) == ("warning", "always", False)
    assert told.message.startswith("`tile` is annotated as (") and told.span.column == 10


@pytest.mark.parametrize(
    "annotation",
    [
        "nt.tensor[p, f + 0]",
        # right for some inputs, or not known
        "nt.tensor[96, f]",
        "nt.tensor[f, p]",
        "nt.tensor[gone, f, 1]",
        "nt.tensor[p // 2, f]",
        "nt.tensor[..., 7, f]",
        # ranks may be assumed
        "nt.tensor[p, f, 1]",
        "nt.tensor[p]",
        "list[p, f + 1]",
        "'nt.tensor[p, f + 1]'",
    ],
)
def test_what_is_not_known_is_left_alone(annotation: str) -> None:
    assert found(annotation) == []


def test_a_kernel_that_is_right_stays_so() -> None:
    assert RULE is not None
    (kernel,) = analyze_source(RULE.failing).kernels
    (plain,) = analyze_source(RULE.passing).kernels
    assert kernel.status == plain.status and kernel.obligations.violated == 0
    assert kernel.precondition == plain.precondition


def test_sizes_that_an_assertion_gives_are_held_against_it() -> None:
    """The sizes of an input are symbols, whatever an assertion says of them."""
    text = """\
import nki
import nki.isa as nisa
import nki.language as nl
import nki.typing as nt


@nki.jit
def kept(x):
    assert x.shape == (96, 40)
    out = nl.ndarray((96, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    tile: nt.tensor[96, {columns}] = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
    for columns, told in ((40, 0), (41, 1)):
        result = analyze_source(text.format(columns=columns))
        assert [d.rule for d in result.diagnostics] == ["annotation-mismatch"] * told
