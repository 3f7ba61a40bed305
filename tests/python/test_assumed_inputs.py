"""What is assumed of inputs that the text says little of, and where that would be wrong."""

from __future__ import annotations

import pytest

from verifier.engine import analyze_source

KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, {parameter}):
    assert x.shape == (96, 24) and x.dtype == nl.float32
    {demand}
    tile = nl.ndarray(({rows}, 24), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile[0:96, :], src=x)
    out = nl.ndarray((96, 24), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile[0:96, :])
    return out
"""


@pytest.mark.parametrize(
    ("parameter", "demand", "rows", "status"),
    [
        ("n: int", "assert n <= 4", "129 if 2 * n == -2 else 96", "verified"),
        ("n: int", "assert -3 <= n <= 4", "129 if 2 * n == -2 else 96", "violated"),
        ("n: int", "assert -3 <= n <= -1", "97 + n", "violated"),
        ("n: int", "assert -3 <= n <= -1", "99 + n", "verified"),
        ("n: int", "assert abs(n) <= 3", "129 if 2 * n == -2 else 96", "violated"),
        (
            "axis: int",
            "assert axis in (-1, 0, 1)",
            "(128, 96)[axis] if axis >= 0 else 129",
            "violated",
        ),
        (
            "axis: int",
            "assert axis in (-1, 0, 1)",
            "(128, 96)[axis] if axis >= 0 else 96",
            "verified",
        ),
        ("axis: int = -1", "assert axis < 2", "129 if axis + 2 == 0 else 96", "violated"),
        ("n: int", "if n < 0: n = 0", "96 if n + 1 > 0 else 129", "verified"),
    ],
)
def test_what_the_text_says_of_negative_numbers(
    parameter: str, demand: str, rows: str, status: str
) -> None:
    text = KERNEL.format(parameter=parameter, demand=demand, rows=rows)
    (kernel,) = analyze_source(text).kernels
    assert ("violated" if kernel.status == "conditional" else kernel.status) == status
    listed = [text for text in kernel.assumptions if text == "n >= 0"]
    assert len(listed) == (demand == "assert n <= 4")


@pytest.mark.parametrize(
    ("demand", "rows", "status"),
    [
        ("assert 0 <= n <= 6", "2 ** (6 - n) + 95 if n == 6 else 96", "verified"),
        ("assert 0 <= n <= 7", "2 ** (6 - n)", "violated"),
        ("assert 0 <= n <= 3", "[96, 97, 192 / 2, 98][n]", "violated"),
    ],
)
def test_an_extent_that_is_a_float_for_some_is_one_for_them(
    demand: str, rows: str, status: str
) -> None:
    result = analyze_source(KERNEL.format(parameter="n: int", demand=demand, rows=rows))
    (kernel,) = result.kernels
    assert ("violated" if kernel.status == "conditional" else kernel.status) == status
    for found in result.diagnostics:
        if found.rule == "wrong-type":
            assert found.verdict == "sometimes" and found.counterexample is not None
            assert found.counterexample["n"] == (7 if "7" in demand else 2)


RANKS = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x{more}):
    assert x.dtype == nl.float32
    rows = 96
    try:
        {body}
    except (IndexError, ValueError):
        rows = 129
    tile = nl.ndarray((rows, 24), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=tile, value=0.0)
    out = nl.ndarray((rows, 24), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""


@pytest.mark.parametrize(
    ("more", "body"),
    [
        ("", "x.shape[2]"),
        ("", "a, b = x.shape"),
        (", sizes: list[int]", "sizes[1]"),
        (", sizes: list[int]", "a, b = sizes"),
    ],
)
def test_what_is_caught_is_not_assumed_away(more: str, body: str) -> None:
    (kernel,) = analyze_source(RANKS.format(more=more, body=body)).kernels
    assert kernel.status != "verified"


CONFIGURED = """\
from dataclasses import dataclass

import nki
import nki.isa as nisa
import nki.language as nl


@dataclass
class Plan(nl.NKIObject):
    rows: int = 96


def halved(n):
    return n // 2


@nki.jit
def kernel({parameters}):
    {body}
    tile = nl.ndarray((96, 24), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=tile, value=0.0)
    out = nl.ndarray((96, 24), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""


@pytest.mark.parametrize(
    ("parameters", "body", "listed"),
    [
        ("x, *sizes", "n = sizes[0]", "`sizes[0]` is there"),
        ("x, *sizes", "n, *others = sizes", "`sizes` has at least 1 items"),
        ("x, *sizes", "n = len(sizes)", "`len(sizes)` does not fail"),
        ("x, **options", "n = options['rows']", "`options['rows']` is there"),
        ("x, **options", "n = options.pop('rows')", "`options.pop('rows')` does not fail"),
        ("x, plan", "n = plan.rows", "`plan.rows` is there"),
        ("x, plan", "n = plan.parts.rows", "`plan.parts.rows` is there"),
        ("x, plan: Plan", "n = plan.rows", "`plan` is what `Plan(...)` makes"),
        ("x, pick", "n = pick(3)", "`pick(3)` does not fail"),
        ("x, pick", "n = pick(3).rows", "`pick(3).rows` is there"),
    ],
)
def test_what_is_demanded_of_the_caller_is_listed(parameters: str, body: str, listed: str) -> None:
    (kernel,) = analyze_source(CONFIGURED.format(parameters=parameters, body=body)).kernels
    assert (kernel.status, listed in kernel.assumptions) == ("verified", True), kernel.assumptions


def test_nothing_is_demanded_of_what_is_not_used() -> None:
    text = CONFIGURED.format(parameters="x, plan, *sizes, **options", body="pass")
    (kernel,) = analyze_source(text).kernels
    assert (kernel.status, kernel.assumptions) == ("verified", ())


@pytest.mark.parametrize(
    ("parameter", "body", "rule"),
    [
        ("plan={'rows': 96}", "n = plan['rows']", None),
        ("plan={'rows': 96}", "n = plan['columns']", "missing-key"),
        ("sizes=[96, 24]", "n = sizes[1]", None),
        ("sizes=[96, 24]", "n = sizes[2]", "list-index"),
        ("pick=halved", "n = pick(4)", None),
        ("pick=halved", "n = pick(4, 5)", "call-signature"),
    ],
)
def test_a_default_is_one_of_the_inputs(parameter: str, body: str, rule: str | None) -> None:
    text = CONFIGURED.format(parameters=f"x, {parameter}", body=body)
    result = analyze_source(text, api_version="0.2")  # later ones take no lists
    found = [d for d in result.diagnostics if d.verdict != "unknown"]
    assert [d.rule for d in found] == ([] if rule is None else [rule])
    assert all(d.verdict == "sometimes" for d in found)
    name = parameter.partition("=")[0]
    assert all(f"`{name}` is left out" in d.notes for d in found)


@pytest.mark.parametrize(
    ("body", "rule", "verdict"),
    [
        ("n = plan.rows", None, ""),
        ("n = plan.columns", "no-attribute", "always"),
        ("assert plan.rows == 96", None, ""),
        ("n = [0] if plan.rows < 97 else []; m = n[plan.rows - 96]", "list-index", "sometimes"),
    ],
)
def test_an_object_by_default_is_what_its_class_makes(
    body: str, rule: str | None, verdict: str
) -> None:
    result = analyze_source(CONFIGURED.format(parameters="x, plan=Plan()", body=body))
    found = [(d.rule, d.verdict) for d in result.diagnostics if d.verdict != "unknown"]
    assert found == ([] if rule is None else [(rule, verdict)])
