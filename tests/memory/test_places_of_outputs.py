"""Outputs that one place in the text makes several times: each is judged, in a run as well."""

from __future__ import annotations

import pytest

from verifier.engine import analyze_source
from verifier.report.model import FileResult

HEAD = """\
import nki
import nki.isa as nisa
import nki.language as nl


def made(count, shape, dtype):
    outs = []
    for _ in range(count):
        outs.append(nl.ndarray(shape, dtype=dtype, buffer=nl.shared_hbm))
    return outs


class Outputs(nl.NKIObject):
    def __init__(self, shape, dtype, count):
        self.each = made(count, shape, dtype)


@nki.jit
def kernel(x, both=True):
    N, F = x.shape
    assert N % 96 == 0 and N <= 960 and F <= 200
"""
#: what is stored and returned; the status
BODIES = {
    "an unpacked list": (
        """\
    k, v = [nl.ndarray((N, F), dtype=x.dtype, buffer=nl.shared_hbm) for _ in range(2)]
    nisa.dma_copy(dst=v, src=x)
    return k, v
""",
        "violated",
    ),
    "an unpacked generator": (
        """\
    k, v = (nl.ndarray((N, F), dtype=x.dtype, buffer=nl.shared_hbm) for _ in range(2))
    nisa.dma_copy(dst=k, src=x)
    return k, v
""",
        "violated",
    ),
    "the last one of three of a helper": (
        """\
    q, k, v = made(3, (N, F), x.dtype)
    nisa.dma_copy(dst=q, src=x)
    nisa.dma_copy(dst=k, src=x)
    return q, k, v
""",
        "violated",
    ),
    "all of a helper": (
        """\
    q, k = made(2, (N, F), x.dtype)
    nisa.dma_copy(dst=q, src=x)
    nisa.dma_copy(dst=k, src=x)
    return k, q
""",
        "verified",
    ),
    "an object's list": (
        """\
    o = Outputs((N, F), x.dtype, 2)
    nisa.dma_copy(dst=o.each[1], src=x)
    return o.each[1], o.each[0]
""",
        "violated",
    ),
    "a half": (
        """\
    outs = made(2, (96, F), x.dtype)
    nisa.dma_copy(dst=outs[0], src=x[0:96, :])
    nisa.dma_copy(dst=outs[1][0:48, :], src=x[0:48, :])
    return outs[0], outs[1]
""",
        "violated",
    ),
    "under a flag": (
        """\
    outs = made(2, (N, F), x.dtype)
    nisa.dma_copy(dst=outs[0], src=x)
    if both:
        nisa.dma_copy(dst=outs[1], src=x)
    return outs[0], outs[1]
""",
        "conditional",
    ),
    "a list, each by a loop": (
        """\
    outs = made(3, (N, F), x.dtype)
    for o in outs:
        nisa.dma_copy(dst=o, src=x)
    return tuple(outs)
""",
        "verified",
    ),
    "a list, one is left out": (
        """\
    outs = made(3, (N, F), x.dtype)
    for i in range(2):
        nisa.dma_copy(dst=outs[i], src=x)
    return outs
""",
        "violated",
    ),
    "of any number": (
        """\
    outs = made(N // 96, (96, F), x.dtype)
    for i in range(N // 96):
        nisa.dma_copy(dst=outs[i], src=x[i * 96:(i + 1) * 96, :])
    return tuple(outs)
""",
        "verified",
    ),
    "of any number but the first": (
        """\
    outs = made(N // 96, (96, F), x.dtype)
    for i in range(1, N // 96):
        nisa.dma_copy(dst=outs[i], src=x[i * 96:(i + 1) * 96, :])
    return outs
""",
        "violated",
    ),
    "a part of the list, which is stored": (
        """\
    outs = made(N // 96, (96, F), x.dtype)
    for i in range(1, N // 96):
        nisa.dma_copy(dst=outs[i], src=x[i * 96:(i + 1) * 96, :])
    return outs[1:]
""",
        "conditional",  # of 96 rows nothing is returned
    ),
    "of sizes that grow": (
        """\
    outs = [nl.ndarray((32 * i + 32, F), dtype=x.dtype, buffer=nl.shared_hbm) for i in range(2)]
    nisa.dma_copy(dst=outs[0], src=x[0:32, :])
    nisa.dma_copy(dst=outs[1], src=x[0:64, :])
    return outs[0], outs[1]
""",
        "verified",
    ),
    "of sizes that grow, written as the first": (
        """\
    outs = [nl.ndarray((32 * i + 32, F), dtype=x.dtype, buffer=nl.shared_hbm) for i in range(2)]
    nisa.dma_copy(dst=outs[0], src=x[0:32, :])
    nisa.dma_copy(dst=outs[1][0:32, :], src=x[0:32, :])
    return outs[0], outs[1]
""",
        "violated",
    ),
    "pairs": (
        """\
    outs = [(nl.ndarray((N, F), dtype=x.dtype, buffer=nl.shared_hbm), i) for i in range(2)]
    for o, _ in outs:
        nisa.dma_copy(dst=o, src=x)
    return outs[1][0], outs[0][0]
""",
        "verified",
    ),
    "one of two, by a flag": (
        """\
    a, b = made(2, (N, F), x.dtype)
    if both:
        nisa.dma_copy(dst=a, src=x)
    else:
        nisa.dma_copy(dst=b, src=x)
    return (a if both else b), x
""",
        "verified",
    ),
}


def checked(name: str) -> FileResult:
    return analyze_source(HEAD + BODIES[name][0])


@pytest.mark.parametrize("name", BODIES)
def test_each_tensor_of_a_place_is_judged(name: str) -> None:
    result = checked(name)
    (kernel,) = result.kernels
    assert kernel.status == BODIES[name][1], [d.message for d in result.diagnostics]
    rules = {d.rule for d in result.diagnostics if d.severity == "error"}
    assert rules <= {"output-not-written", "precondition"}
