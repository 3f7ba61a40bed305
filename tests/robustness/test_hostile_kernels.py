"""Kernels made to exhaust the checker: they end at the limit, and soon where they can."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from .support import tilelint

LIMIT = 1.0
#: seconds beyond the limit on a loaded machine, starting up included
SLACK = 25.0

HEAD = """\
import nki
import nki.language as nl


@nki.jit
def kernel(a, n: int):
    m = a.shape[0]
    x = n
"""

TAIL = """
    out = nl.ndarray((m, 8), dtype=a.dtype, buffer=nl.shared_hbm)
    nl.store(out[0:m, 0:x], nl.load(a[0:m, 0:x]))
    return out
"""


def lines(*items: str) -> str:
    return "".join(f"    {item}\n" for item in items)


BODIES = {
    "endless loop": lines("while True:", "    x = x + 1"),
    "endless recursion": lines("def f(k):", "    return f(k + 1)", "x = f(x)"),
    "wide recursion": lines(
        "def f0(z):",
        "    return z + 1",
        *(
            line
            for i in range(40)
            for line in (f"def f{i + 1}(z):", f"    return f{i}(z) + f{i}(z + {i})")
        ),
        "x = f40(n)",
    ),
    "long loops": lines(
        "for i in range(100000):", "    for j in range(100000):", "        x = x + i * j"
    ),
    "long list": lines("l = [0] * 10**10", "x = len(l)"),
    "long string": lines("s = 'a' * 10**11", "x = len(s)"),
    "doubling": lines(
        "s, l, y = 'ab', [1], 3",
        "for _ in range(64):",
        "    s, l, y = s + s, l + l, y * y",
        "    l.extend(l)",
    ),
    "large numbers": lines(
        "y = 1 << 10**10",
        "y = 10 ** 10 ** 9",
        "y = 2 ** -5000",
        "y = 1e308 * 10 ** 400",
        "y = 10 ** 400 / 3",
        "y = int(1e308 * 10)",
        "y = int(float('nan'))",
        "y = round(float('inf'))",
        "y = 0 ** -1",
    ),
    "a list in itself": lines("l = []", "l.append(l)", "x = l == l", "return l"),
    "polynomial": lines(*(f"x = x * (m + {i}) + n" for i in range(40))),
    "minima": lines(*(f"x = max(min(x, m + {i}), n // (x + {i + 1}))" for i in range(200))),
    "quotients": lines(*(f"x = (x + {i}) // {i % 5 + 2} + m % (x + 1)" for i in range(60))),
    "branches": lines(
        *(s for i in range(60) for s in (f"if a.shape[{i % 3}] > {i}:", f"    x = x + {i}"))
    ),
    "deep branches": "".join("    " * (i + 1) + f"if n > {i}:\n" for i in range(90))
    + "    " * 91
    + "x = 3\n",
    "deep loops": "".join(
        "    " * (i + 1) + f"for i{i} in nl.affine_range(n):\n" for i in range(18)
    )
    + "    " * 19
    + "x = i0 + i17\n",
    "many statements": lines(*(f"t = nl.load(a[0:m, {i}:{i + 1}])" for i in range(500))),
}


@pytest.mark.parametrize("body", BODIES)
def test_ends(tmp_path: Path, body: str) -> None:
    path = tmp_path / "hostile.py"
    path.write_text(HEAD + BODIES[body] + TAIL, encoding="utf-8")
    started = time.monotonic()
    outcome = tilelint("check", path, "--timeout", LIMIT, "--format", "json")
    elapsed = time.monotonic() - started
    assert outcome.internal == []
    assert [k["name"] for k in outcome.report["kernels"]] == ["kernel"]
    assert elapsed < 1.25 * LIMIT + SLACK


CLASS_ATTRIBUTE = """\
import nki
import nki.isa as nisa
import nki.language as nl


class Plan(nl.NKIObject):
    SIZES = {"small": 64, "large": 96}

    def __init__(self, kind):
        self.rows = self.SIZES[kind]


@nki.jit
def kernel(source, wide: bool):
    if wide:
        total = Plan("large").rows
    else:
        total = Plan("small").rows
    for _ in range(3):
        total = total + Plan("small").rows - 64
    assert source.shape == (total, 4)
    out = nl.ndarray((total, 4), dtype=source.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((total, 4), dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""


def test_class_attribute_first_read_on_one_path(tmp_path: Path) -> None:
    """What a class holds lives on when the path that first asked for it is left."""
    path = tmp_path / "plan.py"
    path.write_text(CLASS_ATTRIBUTE, encoding="utf-8")
    outcome = tilelint("check", path, "--format", "json")
    assert outcome.internal == []
    assert [k["status"] for k in outcome.report["kernels"]] == ["verified"]
