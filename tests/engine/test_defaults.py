"""Defaults that a kernel itself rejects: no call can leave them out."""

from __future__ import annotations

import pytest

from verifier.engine import analyze_source

KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, {parameters}):
    assert x.shape == (96, 24) and x.dtype == nl.float32
    {demand}
    tile = nl.ndarray((96, 24), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    out = nl.ndarray((96, 24), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""


def told(parameters: str, demand: str) -> list[tuple[str, str]]:
    result = analyze_source(KERNEL.format(parameters=parameters, demand=demand))
    assert not result.errors
    return [(d.rule, d.severity) for d in result.diagnostics if d.rule == "rejected-default"]


@pytest.mark.parametrize(
    ("parameters", "demand"),
    [
        ("n=48", "assert n >= 1 and 96 % n == 1"),
        ("n: int = 200", "if n > 128: raise ValueError(n)"),
        ("a=8, b=5", "assert a > b and a * b == 96"),
        ("mode='fast'", "assert mode in ('slow', 'exact')"),
        ("kind=nl.bfloat16", "assert kind == nl.float32 or kind == nl.float16"),
        ("n=3, deep=True", "assert n % 2 == 0 or n > 8"),
    ],
)
def test_a_default_that_is_rejected(parameters: str, demand: str) -> None:
    assert told(parameters, demand) == [("rejected-default", "error")]


@pytest.mark.parametrize(
    ("parameters", "demand"),
    [
        ("n=48", "assert n >= 1 and 96 % n == 0"),
        ("n", "assert 96 % 48 == 0 and n > 3"),
        ("a=12, b=8", "assert a > b and a * b == 96"),
        # who calls it is to give them
        ("n=None", "assert n is not None"),
        ("n=0", "assert n > 0"),
        ("n=-1", "assert n >= 0"),
        ("mode=''", "assert mode in ('slow', 'exact')"),
        ("causal=True", "assert not causal"),
        # where other arguments say so only
        ("n=3, deep=False", "assert n % 2 == 0 or not deep"),
    ],
)
def test_a_default_that_may_be_left(parameters: str, demand: str) -> None:
    assert told(parameters, demand) == []


def test_what_a_contract_says_is_given() -> None:
    text = KERNEL.format(parameters="n=48", demand="assert n > 50")
    text = text.replace("@nki.jit", "# tilelint: contract (x: fp32[96, 24], n: 51..90)\n@nki.jit")
    assert not [d for d in analyze_source(text).diagnostics if d.rule == "rejected-default"]
