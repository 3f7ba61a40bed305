"""Inputs that are objects of the project's classes: each argument of their class is an input."""

from __future__ import annotations

import textwrap

import pytest

from tests.frontends import CPYTHON
from verifier.engine import analyze_source
from verifier.report import model as report

HEAD = """\
from dataclasses import dataclass
from enum import Enum
from typing import Callable, Dict, List, Optional, Tuple, Union

import nki
import nki.isa as nisa
import nki.language as nl


class Mode(Enum):
    WHOLE = 0
    HALF = 1


@dataclass(frozen=True)
class Inner:
    width: int = 8
    double: bool = False


@dataclass
class Config:
    rows: int
    mode: Mode = Mode.WHOLE
    inner: Inner = Inner()
    table: Optional[Dict[str, int]] = None

    def __post_init__(self):
        assert 1 <= self.rows <= 128

    def columns(self):
        if self.mode == Mode.HALF:
            return self.inner.width // 2
        return self.inner.width * (2 if self.inner.double else 1)


class Plain:
    def __init__(self, rows: int, note: str = "x"):
        assert rows > 0
        self.rows = 2 * rows


class Record(nl.NKIObject):
    rows: int
    bias: nl.ndarray = None


def copied(x, rows, columns):
    assert x.shape == (rows, columns)
    assert columns <= 1024
    tile = nl.ndarray((rows, columns), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.memset(tile, value=0)
    out = nl.ndarray((rows, columns), dtype=nl.bfloat16, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out

"""


def kernel(parameters: str, body: str) -> report.KernelReport:
    text = f"{HEAD}\n@nki.jit\ndef kernel({parameters}):\n{textwrap.indent(body, '    ')}\n"
    (found,) = analyze_source(text, ignore=CPYTHON).kernels
    return found


@pytest.mark.parametrize("annotation", ["Config", "'Config'"])
def test_what_its_class_demands_its_caller_has_kept(annotation: str) -> None:
    found = kernel(f"x, config: {annotation}", "return copied(x, config.rows, config.columns())")
    assert found.status == "verified", found.reasons
    assert "`config` is what `Config(...)` makes" in found.assumptions


def test_what_it_does_not_demand_is_a_condition_on_its_arguments() -> None:
    found = kernel("x, c: Plain", "return copied(x, c.rows, 16)")
    assert found.status == "conditional"
    assert found.precondition is not None and found.precondition.text == "c.rows <= 64"


@pytest.mark.parametrize(
    ("parameters", "body", "status"),
    [
        ("x, mode: Mode", "return copied(x, 16 if mode is Mode.HALF else 32, 8)", "verified"),
        ("x, mode: Mode", "return copied(x, 256 if mode is Mode.HALF else 32, 8)", "conditional"),
        ("x, c: Optional[Config] = None", "return copied(x, c.rows if c else 16, 8)", "verified"),
        ("x, c: Config | None", "return copied(x, 16 if c is None else c.rows, 8)", "verified"),
        ("x, c: Union[Config, None]", "return copied(x, c.rows, 8)", "conditional"),
        ("x, c: Inner = Inner()", "return copied(x, 24, c.width)", "verified"),
        ("x, p: Tuple[Tuple[int, int], bool]",
         "(a, b), c = p\nassert a + b <= 64\nreturn copied(x, (a + b) * (1 + c) + 1, 8)",
         "conditional"),
        ("x, p=((1, 2), (3, 4))", "(a, b), _ = p\nassert 0 < a + b < 9\nreturn copied(x, a + b, 8)",
         "verified"),
        ("x, r: Record", "assert 0 < r.rows < 64\nreturn copied(x, r.rows, 8)", "verified"),
        # the object that is given may be the one that a module holds
        ("x, c: Inner = _INNER", "return copied(x, 200 if c is _INNER else 16, 8)", "unknown"),
        # what a table holds is not followed
        ("x, t: Dict[str, int]", "return copied(x, t['rows'], 8)", "unknown"),
    ],
)  # fmt: skip
def test_what_is_known_of_it(parameters: str, body: str, status: str) -> None:
    if "_INNER" in body:
        parameters = parameters.replace("_INNER", "Inner()")
        body = body.replace("_INNER", "Config(4).inner")
    found = kernel(parameters, body)
    assert found.status == status, (found.reasons, found.precondition)


def test_what_compilers_demand_of_a_class_says_nothing_of_what_the_caller_makes() -> None:
    text = f"{HEAD}\n@nki.jit\ndef kernel(x, c: Plain):\n    return copied(x, c.rows, 16)\n"
    (found,) = analyze_source(text).kernels
    assert found.precondition is not None and found.precondition.text == "c.rows <= 64"
    made = text.replace("c: Plain", "n").replace("c.rows", "Plain(n).rows")
    result = analyze_source(made)
    assert [d.rule for d in result.diagnostics if d.verdict == "always"] == ["python-subset"]
    assert "partition-extent" in {d.rule for d in result.diagnostics}


def test_a_constructor_that_is_not_followed_says_nothing() -> None:
    odd = "class Odd:\n    def __init__(self, rows):\n        self.rows = eval('rows')\n\n\n"
    text = f"{HEAD}{odd}@nki.jit\ndef kernel(x, c: Odd):\n    return copied(x, c.rows, 8)\n"
    (known,) = analyze_source(text, ignore=CPYTHON).kernels
    assert known.status == "unknown"
