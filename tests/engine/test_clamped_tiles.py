"""Tiles of ``min(128, rows - first)`` rows: what their other sizes must be, for every input."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from verifier.engine import analyze_source, precondition
from verifier.engine.conditions import Item, Normal
from verifier.symbolic import expr as E

HEAD = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, y, step=96, high=4):
    N, F = x.shape
    M, G = y.shape
    assert N == M and F <= 1024 and G <= 1024 and 1 <= step <= 96 and 1 <= high <= 32
    out = nl.ndarray((N, F), dtype=x.dtype, buffer=nl.shared_hbm)
"""
#: bodies, and exactly when they are right
BODIES = {
    "from wider rows": (
        """\
    for i in range((N + 127) // 128):
        p = min(128, N - i * 128)
        t = nl.ndarray((p, F), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=t, src=y[i * 128:i * 128 + p, :])
        nisa.dma_copy(dst=out[i * 128:i * 128 + p, :], src=t)
    return out
""",
        "F == G",
    ),
    "to narrower rows": (
        """\
    for low in range(0, N, 96):
        high = min(low + 96, N)
        t = nl.ndarray((high - low, G), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=t, src=y[low:high, :])
        nisa.dma_copy(dst=out[low:high, :], src=t)
    return out
""",
        "F == G",
    ),
    "a step that is given": (
        """\
    for low in range(0, N, step):
        p = min(step, N - low)
        t = nl.ndarray((p, F), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=t, src=y[low:low + p, :])
        nisa.dma_copy(dst=out[low:low + p, :], src=t)
    return out
""",
        "F == G",
    ),
    "a reshape": (
        """\
    for low in range(0, N, 128):
        p = min(128, N - low)
        t = nl.ndarray((p, F), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=t, src=x[low:low + p, :])
        nisa.dma_copy(dst=out[low:low + p, :], src=t.reshape((p, high, 8)).reshape((p, F)))
    return out
""",
        "8*high == F",
    ),
    "columns": (
        """\
    for low in range(0, F, 200):
        w = min(200, F - low)
        t = nl.ndarray((96, w), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=t, src=x[:, low:low + w])
        nisa.dma_copy(dst=out[:, low:low + w], src=t)
    return out
""",
        "N == 96",
    ),
    "rows from an offset": (
        """\
    assert high < N <= 128
    t = nl.ndarray((N, F), dtype=x.dtype, buffer=nl.sbuf)
    nisa.memset(t, 0.0)
    nisa.dma_copy(dst=t[high:N, :], src=y[high:N, :])
    nisa.dma_copy(dst=out, src=t)
    return out
""",
        "F == G",
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_the_other_sizes_are_what_they_must_be(name: str) -> None:
    body, condition = BODIES[name]
    (kernel,) = analyze_source(HEAD + body).kernels
    assert kernel.status == "conditional" and kernel.precondition is not None
    assert (
        kernel.precondition.exact
        and " and ".join(c.text for c in kernel.precondition.sizes) == condition
    )


def test_a_condition_that_no_known_input_meets_promises_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where the form that is told is one that nobody meets, what was found is told instead."""
    body, _ = BODIES["from wider rows"]
    no_one = E.lt(E.symbol("x.shape[1]", 1), E.symbol("x.shape[1]", 1) * 2 - 4000)

    def wrong(self: Normal, items: Iterable[Item]) -> list[Item]:
        return [Item(no_one, item.of) for item in items]

    monkeypatch.setattr(Normal, "form", wrong)
    (kernel,) = analyze_source(HEAD + body).kernels
    assert kernel.precondition is not None and "4000" not in kernel.precondition.text
    assert kernel.precondition.text and kernel.precondition.exact

    monkeypatch.setattr(precondition.Conditions, "_met", lambda *_: None)
    (kernel,) = analyze_source(HEAD + body).kernels
    assert kernel.status == "unknown" and kernel.precondition is not None
    assert not kernel.precondition.exact and not kernel.precondition.sufficient
    assert any(precondition.UNMET in reason.message for reason in kernel.reasons)
