"""What only some generations have is judged wherever a kernel names it."""

from __future__ import annotations

from tests.differential.judging import judge
from tests.differential.kernels import Kernel
from verifier.executor.running import Shaped


def test_each_use_of_a_name_that_is_not_there_is_told() -> None:
    text = """
a = nl.ndarray((32, 6), dtype=nl.float8_e8m0fnu, buffer=nl.sbuf)
nisa.dma_copy(dst=a, src=x)
out = nl.ndarray((32, 6), dtype=nl.float8_e8m0fnu, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=a)
return out
"""
    inputs = (("x", Shaped("float8_e8m0fnu", (32, 6))),)
    found = judge(Kernel("0.4", "trn3", tuple(text.strip().splitlines()), inputs))
    assert (found.kind, found.problems) == ("violated", ())
