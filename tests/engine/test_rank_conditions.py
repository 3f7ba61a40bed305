"""A rank that a kernel speaks of, and is checked with alone, is a condition of its precondition."""

from __future__ import annotations

import textwrap

from verifier.engine import analyze_source
from verifier.report import model as report

HEAD = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel({parameters}):
"""

FLAT = """\
rank = len(x.shape)
assert rank >= 2
rows = 1
for size in x.shape[:-1]:
    rows *= size
flat = x.reshape((rows, x.shape[-1]))
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
to = out.reshape((rows, x.shape[-1]))
assert rows <= 128 and x.shape[-1] <= 4096
tile = nl.ndarray((rows, x.shape[-1]), dtype=x.dtype, buffer=nl.sbuf)
nisa.dma_copy(dst=tile, src=flat)
nisa.dma_copy(dst=to, src=tile)
return out
"""


def kernel(parameters: str, body: str) -> tuple[report.KernelReport, report.FileResult]:
    text = HEAD.format(parameters=parameters) + textwrap.indent(body, "    ")
    result = analyze_source(text)
    (found,) = result.kernels
    return found, result


def test_one_of_several_ranks_is_a_condition() -> None:
    found, result = kernel("x", FLAT)
    assert found.status == "conditional", found.reasons
    assert found.precondition is not None
    assert found.precondition.text == "len(x.shape) == 2"
    assert found.precondition.sufficient and not found.precondition.exact
    assert found.precondition.fix is None  # the kernel takes other ranks, too
    assert not [d for d in result.diagnostics if d.severity != "note"]


def test_the_rank_that_is_demanded_is_none() -> None:
    found, _ = kernel("x", FLAT.replace("rank >= 2", "rank == 2"))
    assert found.status == "verified"


def test_what_is_wrong_with_that_rank_is_said_beside_it() -> None:
    found, _ = kernel("x", FLAT.replace("rows <= 128 and ", ""))
    assert found.status == "conditional" and found.precondition is not None
    assert [c.text for c in found.precondition.conjuncts if c.rank] == ["len(x.shape) == 2"]
    assert "<= 128" in found.precondition.text and not found.precondition.exact


def test_of_an_input_that_may_be_missing_it_is_said_where_it_is_there() -> None:
    body = """\
columns = 8
if x is not None:
    assert len(x.shape) >= 2
    for size in x.shape[:-1]:
        assert size <= 16
tile = nl.ndarray((16, columns), dtype=nl.float32, buffer=nl.sbuf)
nisa.memset(tile, value=0.0)
out = nl.ndarray((16, columns), dtype=nl.float32, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=tile)
return out
"""
    found, _ = kernel("x=None", body)
    assert found.status == "conditional" and found.precondition is not None
    assert found.precondition.text == "(x is None or len(x.shape) == 2)"
