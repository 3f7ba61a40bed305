"""Parameters that are used as a number and as a text, and those that an annotation calls floats."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.told import told

KERNEL = """\
import math
import nki
import nki.isa as nisa
import nki.language as nl

@nki.jit
def kernel(x, {parameter}):
    r = 128
    {body}
    tile = nl.ndarray((r, 512), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=tile, value=0)
    out = nl.ndarray((r, 512), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""


def status(tmp_path: Path, parameter: str, body: str) -> str:
    text = KERNEL.format(parameter=parameter, body=body.replace("\n", "\n    "))
    return told(tmp_path, text).status


@pytest.mark.parametrize(
    "body",
    ["p + 1\np.upper()", "p.upper()\np + 1", "p + 1\np + 'a'", "p + 'a'\np + 1", "p < 'a'\np + 1",
     "p + 1\nif p == 'a': r = 129", "if p == 'a': pass\np + 1",
     "if p == 'a': pass\nif p == 1: r = 129", "if p == 1: pass\nif 'a' == p: r = 129",
     "if p + 1 > 3: q = 1\nelse: q = p.upper()"],
)  # fmt: skip
def test_a_parameter_that_nothing_calls_a_number_or_a_text(tmp_path: Path, body: str) -> None:
    assert status(tmp_path, "p", body) == "unknown"


@pytest.mark.parametrize(
    ("parameter", "body", "expected"),
    [
        ("n: int", "if n == 'a': r = 129", "verified"),
        ("n: int", "n.upper()", "violated"),
        ("n: int", "n + 'a'", "violated"),
        ("s: str", "if s == 1: r = 129", "verified"),
        ("s: str", "s + 1", "violated"),
        ("p", "if p == 'a': r = 129", "violated"),
        ("p", "if p == 'a': r = 127", "verified"),
        ("p", "if p > 3: r = 127", "verified"),
    ],
)
def test_what_an_annotation_or_one_use_settles(
    tmp_path: Path, parameter: str, body: str, expected: str
) -> None:
    found = status(tmp_path, parameter, body)
    assert ("violated" if found == "conditional" else found) == expected


@pytest.mark.parametrize(
    "body",
    ["int(f)", "round(f)", "math.floor(f)", "math.ceil(f * 2)", "int(f * 2)", "math.sqrt(f)",
     "math.log(f)", "math.exp(f)", "f ** -1", "f ** 0.5", "[0] * f", "range(f)", "1 / f", "1 // f",
     "divmod(2, f)", "range(int(f))", "for i in range(round(f)): pass", "[1, 2][int(f)]",
     "if f < 1: r = 129", "if f == 1: r = 129", "if math.floor(f) == 2: r = 129",
     "if isinstance(f, float): r = 129", "if f: r = 129", "if f != f: r = 129", "f & 1"],
)  # fmt: skip
def test_a_float_may_be_nan_infinite_negative_or_no_integer(tmp_path: Path, body: str) -> None:
    assert status(tmp_path, "f: float", body) == "unknown"


@pytest.mark.parametrize("body", ["f // 0", "f % 0.0", "f / 0", "f.upper()", "f + 'a'", "len(f)"])
def test_what_no_float_takes(tmp_path: Path, body: str) -> None:
    assert status(tmp_path, "f: float", body) == "violated"


@pytest.mark.parametrize("body", ["f * 2 + 1", "f / 2", "abs(f)", "float(f)", "f - f", "str(f)"])
def test_what_every_float_takes(tmp_path: Path, body: str) -> None:
    assert status(tmp_path, "f: float", body) == "verified"
