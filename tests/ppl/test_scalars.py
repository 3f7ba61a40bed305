"""Numbers of the run and of Python, operators of tensors, functions of Python (PPL-C05)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ppl.support import check

_KERNEL = """\
import math
from math import tau

ROWS = 50
WRAPPED = pl.constexpr(50)
HUGE = 2 ** 70


def rounded_up(n, unit=4):
    return (n + unit - 1) // unit * unit


def ratio(n, d):
    return n // d


# tilelint: contract (out_ptr: fp32[50, 70], m: 2..20, k: 7)
@ppl.jit
def kernel(out_ptr, m, k: pl.constexpr):
    x = pl.make_tensor([1, 50, 1, 70], pl.float32)
    pl.tiu.zero(x)
{body}
    pl.dma.store(pl.gtensor([1, 50, 1, 70], pl.GLOBAL, out_ptr).view(), x)
"""


def _status(folder: Path, body: str) -> str:
    lines = "\n".join("    " + line for line in body.splitlines())
    result = check(folder, _KERNEL.format(body=lines), "bm1684x")
    assert not result.errors
    (status,) = (k.status for k in result.kernels if k.name == "kernel")
    told = {"ppl-statement", "ppl-plain-function"} & {d.rule for d in result.diagnostics}
    assert (status == "violated") is bool(told)
    return status


_USED = "\npl.tiu.fadd(x, x, a)"


@pytest.mark.parametrize(
    ("body", "compiled"),
    [
        # there is no sum and no remainder of floats, but a difference, product and quotient
        ("a = 1.0\nb = a + 2.0", False),
        ("a = 1.0\na += 2.0", False),
        ("a = m + 0.5", False),
        ("a = m % 0.5", False),
        ("a = 1.0\nb = a - 2.0", True),
        ("a = m * 0.5" + _USED, True),
        ("a = 1.5 + 2.0" + _USED, True),
        # 64 bits
        ("a = 2 ** 70", False),
        ("a = 2 ** 63", False),
        ("a = -2 ** 63", True),
        ("a: pl.constexpr = 2 ** 70\nb = a // 2 ** 69", True),
        ("a = HUGE", False),
        ("a = m + 2 ** 70", False),
        ("pl.tiu.fadd(x, x, 2 ** 70)", False),
        # numbers of Python
        ("pl.tiu.fadd(x, x, math.pi)", False),
        ("pl.tiu.fadd(x, x, tau)", False),
        ("pl.tiu.fadd(x, x, pl.constexpr(math.pi))", True),
        ("a = math.pi" + _USED, True),
        ("a = k.value" + _USED, True),
        ("a = k.value + k.value", True),
        ("a = k.value + 1", False),
        ("a = m.value", False),
        ("a = WRAPPED * 2", True),
        ("a = WRAPPED * ROWS", False),
        ("a = math.sqrt(2)", True),
        ("a = math.sqrt(2.0)", False),
        ("a = math.floor(m)", False),
        ("a = m.to(pl.int64) + 1", True),
        ("a = m.to(pl.float32)" + _USED, True),
        ("a = m.to(pl.float32) + 1", False),
        ("a = k.to(pl.float32)", False),
        # functions of Python
        ("y = pl.make_tensor([1, rounded_up(ROWS), 1, 70], pl.float32)", True),
        ("a = rounded_up(k)", False),
        ("a = rounded_up(m)", False),
        # operators of tensors
        ("y = -x", False),
        ("y = ~x", False),
        ("y = not x", False),
        ("y = x and x", False),
        ("y = x // 2.0", False),
        ("y = x >= 2.0", False),
        ("y = x != 2.0", False),
        ("y = x.T", False),
        ("y = x > 2.0\npl.tiu.move(x, y)", True),
        ("x.name = 3", False),
        # constants that are bound in each trip
        ("for i in pl.static_range(3):\n    a: pl.constexpr = i", False),
        ("for i in pl.static_range(1):\n    a: pl.constexpr = i", True),
        ("for i in pl.static_range(k):\n    a: pl.constexpr = i", False),
        ("a = pl.cdiv(m, 4)", True),
        # what a function has beside
        ("def inner(n):\n    return n", False),
        ("print('rows', m)", True),
        ("print(m)", False),
        ("print('rows', m, sep=' ')", False),
        # functions of the language take what they take
        ("a = pl.cdiv(3.5, 2)", True),
        ("a = pl.cdiv(x=m, div=4)", True),
        ("a = m\nwhile a:\n    a -= 1", False),
    ],
)
def test_numbers(tmp_path: Path, body: str, compiled: bool) -> None:
    assert _status(tmp_path, body) == ("verified" if compiled else "violated")


def test_a_function_of_python_on_constants_is_not_followed(tmp_path: Path) -> None:
    """Constants have operators with each other: `n // d` is compiled, as far as that goes."""
    assert _status(tmp_path, "a = ratio(k, k)") == "unknown"


def test_what_functions_of_the_language_are_not_given(tmp_path: Path) -> None:
    lines = _KERNEL.format(body="    a = pl.cdiv(m)")
    result = check(tmp_path, lines, "bm1684x")
    assert [d.message for d in result.diagnostics] == ["`pl.cdiv` is called without `div`"]


@pytest.mark.parametrize(
    "body",
    [
        "a = pl.cdiv(a=m, b=4)",
        "pl.sync(1)",
        "a = pl.lane_num(3)",
        "y = pl.make_tensor(shape=[1, 50, 1, 70], dtype=pl.float32)",
        "y = x.sub_view([1, 50, 1, 7], offsets=[0, 0, 0, 0])",
    ],
)
def test_names_that_functions_of_the_language_have(tmp_path: Path, body: str) -> None:
    lines = _KERNEL.format(body=f"    {body}")
    found = {d.rule for d in check(tmp_path, lines, "bm1684x").diagnostics}
    assert found == {"ppl-signature"}
