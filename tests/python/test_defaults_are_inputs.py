"""What a parameter has by default is one of its values: nothing is assumed that it refutes."""

from __future__ import annotations

import pytest

from verifier.engine import analyze_source

KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl
from dataclasses import dataclass


class Config:
    def __init__(self, first=None, pair=(None, 2)):
        self.first = first
        self.pair = pair


@dataclass(frozen=True)
class Record:
    pair: tuple = (None, 2)


@nki.jit
def kernel(x, v={default}):
    assert x.shape == (96, 24)
    {use}
    out = nl.ndarray((96, 24), dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=x)
    return out
"""

# what is done with it, for which what stands first is an error and what stands second is none
TWINS = [
    ("n = v[0] + 1", "(None, 3)", "(2, 3)"),
    ("n = v[0][0] + 1", "((None, 1), 3)", "((2, 1), 3)"),
    ("a, b = v[0]", "(None, 3)", "((1, 2), 3)"),
    ("a, b = v[0][0]", "((None, 1), 3)", "(((1, 2), 1), 3)"),
    ("n = v[0].upper()", "(None, 3)", "('same', 3)"),
    ("n = v[0] + 'x'", "(None, 3)", "('same', 3)"),
    ("n = v[0] + 1", "('same', 3)", "(1.5, 3)"),
    ("n = v[0][0]", "(1.5, 3)", "((1, 2), 3)"),
    ("n = v[0][1] + 1", "([1, None], 3)", "([1, 2], 3)"),
    ("n = v[0].pair[1] + v[0].pair[0]", "(Config(), 3)", "(Config(None, (1, 2)), 3)"),
    ("n = v[0].nothing", "(Config(), 3)", ""),
    ("n = v.pair[0] + 1", "Record()", ""),
    ("n = v.pair[1] + 1", "", "Record()"),
    ("n = v[0] + 1", "(len, 3)", ""),
    ("n = v[0]((1, 2))", "(None, 3)", "(len, 3)"),
    ("n = min(v)", "(None, 3)", "(2, 3)"),
    ("n = 0 if v[0] is None else v[0] + 1", "", "(None, 3)"),
    ("n = 0 if v[0] is not None else v[0] + 1", "(None, 3)", ""),
    ("n = (v[0] or 1) + v[1]", "", "(None, 3)"),
    ("n = v + 1", "slice(0, 4)", "4"),
    ("n = v.stop + 1", "", "slice(0, 4)"),
    ("n = v + 1", "b'ab'", ""),
    ("n = v + 1", "...", ""),
    ("a, b = v", "range(3)", "range(2)"),
]


@pytest.mark.parametrize(
    ("use", "default", "wrong"),
    [(use, wrong, True) for use, wrong, _ in TWINS if wrong]
    + [(use, right, False) for use, _, right in TWINS if right],
)
def test_a_default_that_an_assumption_would_refute_is_told(
    use: str, default: str, wrong: bool
) -> None:
    (kernel,) = analyze_source(KERNEL.format(use=use, default=default)).kernels
    if wrong:
        assert kernel.status in ("conditional", "violated")
    else:
        assert kernel.status in ("verified", "conditional")
        assert kernel.status == "verified" or "Config" in default


@pytest.mark.parametrize("default", ["nl.add", "nl.sbuf"])
def test_a_name_of_the_api_that_is_used_as_a_number_is_not_verified(default: str) -> None:
    (kernel,) = analyze_source(KERNEL.format(use="n = v + 1", default=default)).kernels
    assert kernel.status == "unknown"
    assert any("which its default is not" in reason.message for reason in kernel.reasons)


WINDOW = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, window={default}):
    assert x.shape == (96, 24)
    assert window[0] is None or window[0] < 24
    out = nl.ndarray((96, 24), dtype=x.dtype, buffer=nl.shared_hbm)
    start = {none} if window[0] is None else {given}
    nisa.dma_copy(dst=out[:, start:24], src=x[:, start:24])
    return out
"""


@pytest.mark.parametrize(
    ("none", "given", "status", "shown"),
    [
        ("0", "0", "verified", None),
        ("0", "window[0] // 24", "verified", None),
        ("1", "0", "conditional", [None, [4, 1.5], "same"]),
        ("0", "window[0] // 23", "conditional", [23, [4, 1.5], "same"]),
    ],
)
def test_a_counterexample_shows_the_whole_tuple(
    none: str, given: str, status: str, shown: list[object] | None
) -> None:
    text = WINDOW.format(default="(None, (4, 1.5), 'same')", none=none, given=given)
    result = analyze_source(text)
    assert result.kernels[0].status == status
    seen = [d.counterexample["window"] for d in result.diagnostics if d.counterexample]
    assert (shown in seen) == (shown is not None)
