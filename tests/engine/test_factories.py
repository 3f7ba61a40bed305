"""Kernels that a function makes of what it is given are judged as they are made."""

from __future__ import annotations

import pytest

from verifier.engine import analyze_source

MAKER = """\
import nki
import nki.isa as nisa
import nki.language as nl


def make(rows, op):
    {decorator}
    def k(x):
        assert x.shape == (256, 64) and x.dtype == nl.float32
        y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        for i in range(256 // rows):
            t = nl.ndarray((rows, 64), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=t, src=x[i * rows : (i + 1) * rows, :])
            nisa.tensor_scalar(dst=t, data=t, op0=op, operand0=2.0)
            nisa.dma_copy(dst=y[i * rows : (i + 1) * rows, :], src=t)
        return y

    return {made}


{call}
"""


@pytest.mark.parametrize(("decorator", "made"), [("@nki.jit", "k"), ("", "nki.jit(k)")])
@pytest.mark.parametrize(
    "call",
    [
        "double = make({}, {})",
        "def run(a):\n    return make({}, {})(a)",
        "class Layer:\n    def __init__(self):\n        self.kernel = make({}, op={})",
    ],
)
def test_what_a_function_is_given_says_what_its_kernel_does(
    decorator: str, made: str, call: str
) -> None:
    def judged(rows: int, op: str) -> tuple[list[str], set[str]]:
        text = MAKER.format(decorator=decorator, made=made, call=call.format(rows, op))
        result = analyze_source(text)
        rules = {d.rule for d in result.diagnostics if d.severity == "error"}
        return [kernel.status for kernel in result.kernels], rules

    assert judged(64, "nl.multiply") == (["verified"], set())
    assert judged(64, "nl.exp") == (["violated"], {"operator-kind"})
    assert judged(256, "nl.add") == (["violated"], {"partition-extent"})
    assert judged(96, "nl.add") == (["violated"], {"output-not-written"})
