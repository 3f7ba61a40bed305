"""Weights and biases of convolutions: one for each channel, in groups of input channels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.ppl.support import HEADER, check, rules
from verifier.executor import simulate

KERNEL = """\
# tilelint: contract (out_ptr: {dtype}[1, 22, 6, 9], x_ptr: {dtype}[1, {channels}, 8, 10])
@ppl.jit
def convolved(out_ptr, x_ptr):
    x = pl.make_tensor([1, {channels}, 8, 10], pl.{name})
    o = pl.make_tensor([1, 22, 6, 9], pl.{name})
    w = pl.make_tensor({weights}, pl.{name}, align_mode=pl.TPU_COMPACT)
    b = pl.make_tensor({bias}, pl.float32, align_mode=pl.TPU_COMPACT)
    source = pl.gtensor([1, {channels}, 8, 10], pl.GLOBAL, x_ptr)
    target = pl.gtensor([1, 22, 6, 9], pl.GLOBAL, out_ptr)
    pl.dma.load(x, source)
    pl.tiu.zero(w)
    pl.tiu.zero(b)
    {call}
    pl.dma.store(target, o)
"""
CONV = "pl.tiu.fconv(o, x, w, [3, 2], [1, 1], [1, 1], [0, 0, 0, 0], b, 22)"
DEPTHWISE = "pl.tiu.fdw_conv(o, x, w, b, [3, 2], [1, 1], [1, 1], [0, 0, 0, 0], True)"

CASES = [
    ("float16", 33, "[1, 22, 12, 32]", "[1, 22, 1, 1]", CONV, ""),
    ("float16", 32, "[1, 22, 6, 32]", "[1, 22, 1, 1]", CONV, ""),
    ("float16", 33, "[1, 22, 6, 32]", "[1, 22, 1, 1]", CONV, "ppl-weight-shape"),
    ("float16", 32, "[1, 21, 6, 32]", "[1, 22, 1, 1]", CONV, "ppl-weight-shape"),
    ("float16", 32, "[1, 22, 12, 16]", "[1, 22, 1, 1]", CONV, "ppl-weight-shape"),
    ("float16", 32, "[1, 22, 6, 32]", "[1, 21, 1, 1]", CONV, "ppl-operand-shape"),
    ("float32", 7, "[1, 22, 1, 42]", "[1, 22, 1, 1]", CONV, ""),
    ("float32", 7, "[1, 22, 42, 1]", "[1, 22, 1, 1]", CONV, ""),
    ("float32", 7, "[1, 22, 1, 41]", "[1, 22, 1, 1]", CONV, "ppl-weight-shape"),
    ("float16", 22, "[1, 22, 3, 2]", "[1, 22, 1, 1]", DEPTHWISE, ""),
    ("float16", 22, "[1, 22, 2, 3]", "[1, 22, 1, 1]", DEPTHWISE, "ppl-weight-shape"),
]


@pytest.mark.parametrize("name, channels, weights, bias, call, rule", CASES)
def test_shapes(
    tmp_path: Path, name: str, channels: int, weights: str, bias: str, call: str, rule: str
) -> None:
    dtype = "fp32" if name == "float32" else "fp16"
    text = KERNEL.format(
        name=name, dtype=dtype, channels=channels, weights=weights, bias=bias, call=call
    )
    expected = {rule} if rule else set()
    # the bias of BM1684X is float32
    found = {r for r, v in rules(check(tmp_path, text, "bm1684x")).items() if v != "unknown"}
    assert found == expected
    path = tmp_path / "run.py"
    path.write_text(HEADER + text, encoding="utf-8")
    kind = np.float32 if name == "float32" else np.float16
    outcome = simulate(f"{path}::convolved", "bm1684x").outcome(
        out_ptr=np.zeros((1, 22, 6, 9), kind), x_ptr=np.zeros((1, channels, 8, 10), kind)
    )
    assert {d.rule for d in outcome.diagnostics} == expected


@pytest.mark.parametrize(
    ("call", "weights", "channels", "chip", "bias", "message"),
    [
        # the compiler of BM1684X asks for a bias of float32 whatever the input is (TPU-C04)
        (CONV, "[1, 22, 6, 32]", 32, "bm1684x", "float16", "does not take bias of type float16"),
        (CONV, "[1, 22, 6, 32]", 32, "bm1684x", "float32", ""),
        (CONV, "[1, 22, 6, 32]", 32, "bm1690", "float16", ""),
        # but not where each channel is by itself
        (DEPTHWISE, "[1, 22, 3, 2]", 22, "bm1684x", "float16", ""),
        (DEPTHWISE, "[1, 22, 3, 2]", 22, "bm1690", "float16", ""),
        (DEPTHWISE, "[1, 22, 3, 2]", 22, "bm1684x", "bfloat16", "has operands of different dtypes"),
    ],
)
def test_types_of_a_bias(
    tmp_path: Path, call: str, weights: str, channels: int, chip: str, bias: str, message: str
) -> None:
    text = KERNEL.format(
        name="float16",
        dtype="fp16",
        channels=channels,
        weights=weights,
        bias="[1, 22, 1, 1]",
        call=call,
    ).replace("1], pl.float32", f"1], pl.{bias}")
    found = [d for d in check(tmp_path, text, chip).diagnostics if d.rule == "ppl-window-dtypes"]
    assert len(found) == bool(message)
    for each in found:
        assert message in each.message
        if bias == "float16":  # what is said does not contradict itself: the types are equal
            assert each.predicate == "bias is float32"
