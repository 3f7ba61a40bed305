"""Objects of NKI's own classes: check and run say the same, also where nothing documents it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from verifier.engine import analyze_file
from verifier.executor import simulate
from verifier.report.model import FileRequest

_HEAD = """\
import dataclasses
from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import ClassVar
import nki
import nki.isa as nisa
import nki.language as nl

@dataclass
class Span(nl.NKIObject):
    lo: int
    hi: int = 40

class Loose(nl.NKIObject):
    lo: int
    hi: int = 40

@dataclass(frozen=True)
class Fixed(nl.NKIObject):
    lo: int

@dataclass(order=True)
class Ranked(nl.NKIObject):
    lo: int

@dataclass(kw_only=True)
class Named(nl.NKIObject):
    lo: int

@dataclass
class Marked(nl.NKIObject):
    lo: int = 96
    kind: ClassVar[int] = 7
    made: int = field(init=False, default=4)
    _: KW_ONLY
    hi: int = 40

@dataclass
class Handed(nl.NKIObject):
    lo: InitVar[int] = 3

@dataclass
class Ignoring(nl.NKIObject):
    lo: int
    hi: int = field(default=40, compare=False)

@nki.jit
def kernel(x):
    assert x.shape == (96, 40) and x.dtype == nl.float32
    out = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.shared_hbm)
    if {condition}:
        nisa.dma_copy(dst=out, src=x)
    return out
"""


def _judged(folder: Path, condition: str) -> tuple[str, str]:
    """What check says, and how a run ended."""
    file = folder / "file.py"
    file.write_text(_HEAD.format(condition=condition), encoding="utf-8")
    request = FileRequest(path=str(file), roots=(str(folder),), api_version="0.6")
    (kernel,) = analyze_file(request).kernels
    outcome = simulate(f"{file}::kernel", "trn2", "0.6").outcome(x=np.zeros((96, 40), np.float32))
    return kernel.status, outcome.ended[0] if outcome.ended is not None else ""


@pytest.mark.parametrize(
    "condition",
    [
        "Span(1) == Span(1, 40) and Span(1) != Span(2)",
        "Span(1) != None and Span(1) != Loose(1) and Loose(1) != Loose(2)",
        "Span(1) in [Span(2), Span(1)]",
        "all(one == two for one in [Loose(1)] for two in [one])",
        "Fixed(7).lo == 7 and Named(lo=7).lo == 7",
        "Marked(lo=5, hi=9).hi == 9 and Marked(5).made == 4",
        "Ignoring(1, 2).hi == 2",
    ],
)
def test_what_all_documents_agree_on(tmp_path: Path, condition: str) -> None:
    assert _judged(tmp_path, f"not ({condition})") == ("violated", "violation")
    assert _judged(tmp_path, condition) == ("verified", "")


@pytest.mark.parametrize(
    "condition",
    [
        "Loose(1) != Loose(1)",
        "Ignoring(1, 2) == Ignoring(1, 3)",
        "Ranked(1) < Ranked(2)",
        "Named(7).lo == 7",
        "Marked(1, 2).lo == 1",
        "Marked(lo=1, made=5).made == 5",
        "Handed(lo=3).lo == 3",
        "setattr(Fixed(7), 'lo', 8) is None",
        "dataclasses.replace(Span(1), lo=2).lo == 2",
        "len(dataclasses.fields(Span)) == 2",
        "dataclasses.asdict(Span(1))['hi'] == 40",
        "dataclasses.astuple(Span(1))[1] == 40",
        "dataclasses.is_dataclass(Loose)",
    ],
)
def test_what_no_document_says_is_open(tmp_path: Path, condition: str) -> None:
    assert _judged(tmp_path, condition) == ("unknown", "unsupported")
