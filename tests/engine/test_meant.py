"""What a kernel asserts was meant to exclude a fault, or it has nothing to do with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifier.engine.analysis import analyze_file
from verifier.engine.promises import promised
from verifier.report.model import FileRequest
from verifier.symbolic import expr as E

HEAD = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def k(x):
    R, C = x.shape
    assert {asserted} and C == 40
    out = nl.ndarray((R, C), dtype=x.dtype, buffer=nl.shared_hbm)
"""
FIRST_ROWS = """
    rows = min(R, 96)
    t = nl.ndarray((rows, C), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x[0:rows, :])
    nisa.dma_copy(dst=out[0:rows, :], src=t)
    return out
"""
WHOLE_BLOCKS = """
    for i in range(R // 96):
        t = nl.ndarray((96, C), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=t, src=x[i * 96 : (i + 1) * 96, :])
        nisa.dma_copy(dst=out[i * 96 : (i + 1) * 96, :], src=t)
    return out
"""
THIRDS = """
    p = R // 3
    for i in range(3):
        t = nl.ndarray((p, C), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=t, src=x[i * p : (i + 1) * p, :])
        nisa.dma_copy(dst=out[i * p : (i + 1) * p, :], src=t)
    return out
"""
ONE_TILE = """
    t = nl.ndarray((R, C), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    nisa.dma_copy(dst=out, src=t)
    return out
"""


@pytest.mark.parametrize(
    ("asserted", "body", "status", "text"),
    [
        # a limit says nothing of the rows that are left out
        ("R <= 512", FIRST_ROWS, "conditional", "R <= 96"),
        ("R <= 512", WHOLE_BLOCKS, "conditional", "R % 96 == 0"),
        # it is meant for what a tile can hold
        ("R <= 256", ONE_TILE, "violated", "R <= 128"),
        ("R in (64, 256)", ONE_TILE, "violated", "R <= 128"),
        ("(R <= 96 or R == 200)", ONE_TILE, "violated", "R <= 128"),
        # each of these is a number of rows that it says it takes
        ("R in (96, 480, 500)", WHOLE_BLOCKS, "violated", "R % 96 == 0"),
        ("R in (96, 480, 576)", WHOLE_BLOCKS, "verified", "True"),
        ("R in (64, 500)", FIRST_ROWS, "violated", "R <= 96"),
        # what divides the number of rows is said, and is not enough; so is what bounds a third
        ("R % 32 == 0", WHOLE_BLOCKS, "violated", "R % 96 == 0"),
        ("R % 3 == 0 and R <= 400", THIRDS, "violated", "R <= 384"),
        ("R % 3 == 0 and R <= 384", THIRDS, "verified", "True"),
        # they say nothing of a limit
        ("R % 32 == 0", ONE_TILE, "conditional", "R <= 128"),
        ("(R <= 96 or R % 64 == 0)", ONE_TILE, "conditional", "R <= 128"),
    ],
)
def test_limits_are_about_limits(
    asserted: str, body: str, status: str, text: str, tmp_path: Path
) -> None:
    path = tmp_path / "k.py"
    path.write_text(HEAD.format(asserted=asserted) + body.lstrip("\n"), encoding="utf-8")
    (kernel,) = analyze_file(FileRequest(path=str(path), roots=(str(tmp_path),))).kernels
    assert kernel.status == status
    assert kernel.precondition is not None and kernel.precondition.text == text


def test_bounds_of_the_same_are_alike() -> None:
    E.fresh_context()
    rows, columns = E.symbol("rows", 1), E.symbol("columns", 1)
    assert promised(E.le(rows, 128), [E.le(rows, 256)], limits=True)
    assert promised(E.eq(rows % 128, 0), [E.eq(rows % 64, 0)], limits=True)
    assert not promised(E.le(rows, 128), [E.ge(rows, 2)], limits=True)
    assert not promised(E.le(rows, 128), [E.le(columns, 128)], limits=True)
    assert not promised(E.eq(rows % 512, 0), [E.ge(rows, 512)], limits=True)
    steps = E.symbol("steps", 0)
    assert promised(E.ne(steps, 0), [E.ge(steps, 2)], limits=True)
    assert not promised(E.ne(steps, 0), [E.le(steps, 2)], limits=True)
    # sizes bound a number of the caller's; of two sizes it says which is the larger one
    tall, wide = E.symbol("x.shape[0]", 1), E.symbol("x.shape[1]", 1)
    assert promised(E.le(steps, 0), [E.lt(steps, tall)], limits=True)
    assert promised(E.eq(steps, 0), [E.lt(steps, tall)], limits=True)
    assert not promised(E.ge(steps, 2), [E.lt(steps, tall)], limits=True)
    assert not promised(E.le(tall, 128), [E.le(tall, wide)], limits=True)
    assert not promised(E.le(steps, 0), [E.le(steps + rows, tall)], limits=True)
    # what is said of one of two equal numbers is said of both
    pair = [E.eq(rows, columns), E.eq(tall, 2 * rows)]
    assert promised(E.le(rows, 128), [*pair, E.le(columns, 500)], limits=True)
    assert promised(E.le(rows, 128), [*pair, E.le(tall, 500)], limits=True)
    assert promised(E.eq(rows % 128, 0), [*pair, E.eq(columns % 64, 0)], limits=True)
    assert not promised(E.le(rows, 128), [*pair, E.le(wide, 500)], limits=True)
    assert not promised(E.le(rows, 128), [E.eq(rows, wide + steps), E.le(wide, 500)], limits=True)
    listed = E.or_(E.eq(rows, 64), E.eq(rows, 256))
    assert promised(E.eq(rows % 96, 0), [listed], limits=False)
    assert not promised(E.le(rows + columns, 96), [listed], limits=True)
    # with a number that is one value as with that value
    fixed = E.eq(columns, 16)
    assert promised(E.le(rows * columns, 96), [listed, fixed], limits=True)
    assert promised(E.le(rows // columns, 8), [listed, fixed], limits=True)
    assert promised(E.le(rows * columns, 96), [E.le(rows, 9), fixed], limits=True)
    assert not promised(E.le(rows * steps, 96), [listed, fixed], limits=True)
    assert not promised(E.le(rows, 96), [E.or_(listed, E.eq(columns, 1))], limits=True)


#: a transposition converts nothing: what it makes has the dtype of what it is given
TURNED = """
    assert R == 24
    turned = nl.ndarray((40, 24), dtype=nl.bfloat16, buffer=nl.psum)
    t = nl.ndarray((24, 40), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    nisa.nc_transpose(dst=turned, data=t)
    back = nl.ndarray((40, 24), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=back, src=turned)
    nisa.dma_copy(dst=out.reshape((40, 24)), src=back)
    return out
"""


@pytest.mark.parametrize(
    ("asserted", "status"),
    [
        ("x.dtype in (nl.bfloat16, nl.float32)", "violated"),
        ("(x.dtype == nl.float32 or x.dtype == nl.bfloat16)", "violated"),
        ("x.dtype == nl.bfloat16", "verified"),
        ("x.dtype != nl.float16", "verified"),
        ("R > 0", "verified"),
    ],
)
def test_a_dtype_that_is_listed_is_meant(tmp_path: Path, asserted: str, status: str) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(HEAD.format(asserted=asserted) + TURNED, encoding="utf-8")
    result = analyze_file(FileRequest(path=str(path), roots=(str(tmp_path),)))
    assert [k.status for k in result.kernels] == [status], result.diagnostics


def test_what_stands_before_a_division_holds_where_it_divides(tmp_path: Path) -> None:
    asserted = "P >= 1 and R % P == 0 and R >= 2 * P"
    text = HEAD.replace("def k(x):", "def k(x, P=2):").format(asserted=asserted) + ONE_TILE
    path = tmp_path / "kernel.py"
    path.write_text(text.replace("src=x)", "src=x[0 : R + P, :])"), encoding="utf-8")
    result = analyze_file(FileRequest(path=str(path), roots=(str(tmp_path),)))
    assert [d.verdict for d in result.diagnostics if d.rule == "slice-bounds"] == ["always"]


MISSING = """
import nki
import nki.isa as nisa
import nki.language as nl

try:
    from elsewhere.memory import Manager
except ImportError:
    Manager = None


@nki.jit
def k(x, t):
    rows, columns = x.shape
    tile = nl.ndarray((rows, columns // t), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x[:, 0 : columns // t])
    assert Manager is not None, "the library is missing"
"""


def test_where_nothing_is_admitted_as_far_as_it_is_followed_nothing_is_meant(
    tmp_path: Path,
) -> None:
    """Behind an import that nobody follows an assertion fails: it says nothing of sizes."""
    path = tmp_path / "k.py"
    path.write_text(MISSING, encoding="utf-8")
    found = analyze_file(FileRequest(str(path))).diagnostics
    assert {d.severity for d in found if d.verdict != "unknown"} == {"warning"}
