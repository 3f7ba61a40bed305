"""Tensors that are too large to follow every element of are run on shapes without one."""

from __future__ import annotations

import resource

from tests.differential.judging import judge
from tests.differential.kernels import Kernel
from verifier.executor.running import Shaped


def test_what_is_undefined_in_a_tensor_too_large_to_follow_takes_no_memory() -> None:
    text = """
a = nl.ndarray((32, 4096), dtype=nl.int8, buffer=nl.sbuf)
a[...] = nl.load(x)
b = nl.ndarray((32, 4096, 1), dtype=nl.uint32, buffer=nl.sbuf)
c = nl.ndarray((32, 4096), dtype=nl.uint32, buffer=nl.sbuf)
c[...] = 2
d = nl.where(condition=a, x=b, y=c)
out = nl.ndarray((32, 4096, 4096), dtype=nl.uint32, buffer=nl.shared_hbm)
nl.store(out, d)
return out
"""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    inputs = (("x", Shaped("int8", (32, 4096))),)
    found = judge(Kernel("beta1", "trn2", tuple(text.strip().splitlines()), inputs))
    assert found.problems == ()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 20  # in KiB
