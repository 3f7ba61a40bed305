"""An exception that nothing catches is found on whichever way it leaves the kernel."""

from __future__ import annotations

import textwrap

import pytest

from tests.frontends import CPYTHON
from verifier.engine import analyze_source

KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, n: int):
    assert x.shape == (96, 24) and x.dtype == nl.float32
    assert 0 <= n <= {most}
{body}
    tile = nl.ndarray((96, 24), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    out = nl.ndarray((96, 24), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
READ = "[7, 8, 9][n]"
WAYS = {
    "finally": f"try:\n    {READ}\nfinally:\n    n = 1",
    "finally in a loop": (
        f"for i in range(3):\n    try:\n        {READ}\n    finally:\n        n += 0"
    ),
    "finally in a function": (
        f"def read():\n    try:\n        return {READ}\n    finally:\n        pass\nread()"
    ),
    "two of them": (
        f"try:\n    try:\n        {READ}\n    finally:\n        pass\nfinally:\n    pass"
    ),
    "a handler with a name": f"try:\n    [][0]\nexcept IndexError as e:\n    {READ}",
    "a handler for others": f"try:\n    {READ}\nexcept KeyError as e:\n    pass",
    "a handler that raises it again": f"try:\n    {READ}\nexcept IndexError as e:\n    raise",
    "a manager": (
        "import contextlib\n@contextlib.contextmanager\ndef held():\n    try:\n        yield\n"
        f"    finally:\n        pass\nwith held():\n    {READ}"
    ),
    "a class with a manager's methods": (
        "class Held:\n    def __enter__(self):\n        return self\n"
        f"    def __exit__(self, *error):\n        return False\nwith Held():\n    {READ}"
    ),
    "a generator": (
        f"def items():\n    try:\n        yield {READ}\n    finally:\n        pass\nlist(items())"
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_an_error_is_found_however_it_leaves(way: str) -> None:
    body = textwrap.indent(WAYS[way], "    ")
    for most, status in ((2, "verified"), (5, "violated")):
        result = analyze_source(KERNEL.format(body=body, most=most), ignore=CPYTHON)
        assert [k.status for k in result.kernels] == [status]
        assert [d.rule for d in result.diagnostics] == ["list-index"] * (status == "violated")
        for found in result.diagnostics:
            assert found.counterexample is not None and found.counterexample["n"] == 3


def test_a_demand_in_a_handler_is_a_demand() -> None:
    body = textwrap.indent(
        "try:\n    [7, 8][n]\nexcept IndexError as e:\n    assert n == 2", "    "
    )
    (kernel,) = analyze_source(KERNEL.format(body=body, most=5), ignore=CPYTHON).kernels
    assert kernel.status == "verified"
    assert "n == 2" in kernel.assumptions
