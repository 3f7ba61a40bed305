"""What is only warned of leaves errors that the same inputs make as they are."""

from __future__ import annotations

from pathlib import Path

from verifier.engine import analyze_file
from verifier.report.model import Conjunct, FileRequest

#: rows of 48 elements, then the rest at ``{at}``
TAIL = """\
import okk


# tilelint: contract (L: n, x: fp32[n], y: fp32[n])
@okk.kernel
def stored(L: int, x: okk.SystemAddr, y: okk.SystemAddr):
    assert {bounds}
    okk.initialize()
    done = 0
    for p in range(L // {tile}):
        shape = okk.dim4(1, 48, 1, {tile} // 48)
        okk.gdma_32bit_cpy_S2L(0, x + done * 4, shape, None, None)
        okk.gdma_32bit_cpy_L2S(y + done * 4, 0, shape, None, None)
        done += {tile}
    whole = (L - done) // 48
    if whole > 0:
        shape = okk.dim4(1, 48, 1, whole)
        okk.gdma_32bit_cpy_S2L(0, x + done * 4, shape, None, None)
        okk.gdma_32bit_cpy_L2S(y + done * 4, 0, shape, None, None)
    done = {at}
    if L % 48 > 0:
        shape = okk.dim4(1, 1, 1, L % 48)
        okk.gdma_32bit_cpy_S2L(131072, x + done * 4, shape, None, None)
        okk.gdma_32bit_cpy_L2S(y + done * 4, 131072, shape, None, None)
    okk.poll()
"""
SMALL = "48 <= L <= 20000"


def _text(at: str, bounds: str = SMALL, tile: int = 48000) -> str:
    return TAIL.format(at=at, bounds=bounds, tile=tile)


def _conjuncts(folder: Path, text: str, ignore: tuple[str, ...] = ()) -> tuple[Conjunct, ...]:
    path = folder / "kernel.py"
    path.write_text(text, encoding="utf-8")
    (kernel,) = analyze_file(FileRequest(path=str(path), ignore=ignore)).kernels
    assert kernel.precondition is not None
    return kernel.precondition.conjuncts


def test_the_condition_is_that_of_the_error(tmp_path: Path) -> None:
    (condition,) = _conjuncts(tmp_path, _text("done + whole"))
    assert condition.silent
    assert condition.rule == "okk-output-coverage"
    assert condition.text == "L % 48 == 0"


def test_the_right_twin(tmp_path: Path) -> None:
    assert _conjuncts(tmp_path, _text("done + whole * 48")) == ()


def test_what_is_warned_of_alone_is_a_warning(tmp_path: Path) -> None:
    (condition,) = _conjuncts(tmp_path, _text("done + whole"), ("okk-output-coverage",))
    assert (condition.silent, condition.rule) == (False, "okk-written-twice")


def test_the_smallest_that_breaks_it_needs_no_loop(tmp_path: Path) -> None:
    """Not 48001: nothing of the tiles is needed to go wrong."""
    conditions = _conjuncts(tmp_path, _text("done + whole", "1 <= L <= 100000000"))
    breaches = [int(str((c.witness or {})["L"])) for c in conditions if c.silent]
    assert breaches
    assert max(breaches) < 200


#: two tiles, of which each fits where both of them do
TILES = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def joined(x, y):
    rows, cols = x.shape
    assert rows == 128 and y.shape == x.shape
    out = nl.ndarray((rows, 2 * cols), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.load(x)
    b = nl.load(y)
    nl.store(out[:, 0:cols], a)
    nl.store(out[:, cols : 2 * cols], b)
    return out
"""


def test_what_a_compiler_tells_of_is_left_out_where_it_follows(tmp_path: Path) -> None:
    (condition,) = _conjuncts(tmp_path, TILES)
    assert condition.rule == "sbuf-capacity"
    assert condition.text == "cols*(x.dtype.itemsize + y.dtype.itemsize) <= 212992"


#: the tiles fit up to 30427 columns, of the output 102400 are written, one tile may have 229376
TIGHTER = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def stored(x):
    rows, cols = x.shape
    assert rows == 128
    assert x.dtype == nl.int8
    out = nl.ndarray((128, cols), dtype=nl.int8, buffer=nl.shared_hbm)
    tiles = [nl.load(x) for _ in range(7)]
    for tile in tiles:
        nl.store(out[:, 0:1], tile[:, 0:1])
    p = nl.arange(128)[:, None]
    f = nl.arange(512)[None, :]
    for i in nl.affine_range(200):
        part = nl.load(x[p, i * 512 + f], mask=i * 512 + f < cols)
        nl.store(out[p, i * 512 + f], part, mask=i * 512 + f < cols)
    return out
"""


def test_a_tighter_warning_of_the_same_size_replaces_no_silent_error(tmp_path: Path) -> None:
    found = _conjuncts(tmp_path, TIGHTER)
    assert {(c.text, c.silent) for c in found} == {
        ("cols <= 30427", False),
        ("cols <= 102400", True),
    }


#: with one column too few the slice that is filled is empty, which a compiler refuses; with three
#: too few it fills all but one, which is then summed without a word
PADDED = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def padded(x):
    rows, cols = x.shape
    assert rows == 40 and 2 <= cols <= 2000
    wide = (cols + {quad} - 1) // {quad} * {quad}
    out = nl.ndarray((40, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    t = nl.ndarray((40, wide), dtype=nl.float32, buffer=nl.sbuf)
    if wide > cols:
        nisa.memset(dst=t[:, cols + {skipped} : wide], value=0.0)
    nisa.dma_copy(dst=t[:, 0:cols], src=x)
    s = nl.ndarray((40, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=s, op=nl.add, data=t.reshape((40, wide // {quad}, {quad})), axis=(1, 2))
    nisa.dma_copy(dst=out, src=s)
    return out
"""


def test_a_condition_that_replaces_a_silent_one_is_silent(tmp_path: Path) -> None:
    """``cols % 2 == 0`` is simpler than either of both conditions beside the other."""
    (condition,) = _conjuncts(tmp_path, PADDED.format(quad=4, skipped="cols % 2"))
    assert (condition.text, condition.silent) == ("cols % 2 == 0", True)
    assert condition.rule == "uninitialised-read"
    # an example of what goes wrong silently, not of the empty slice
    assert condition.witness is not None and condition.witness["x.shape"] == [40, 5]


def test_a_condition_of_which_a_compiler_always_tells_is_not(tmp_path: Path) -> None:
    """Wherever a column is not filled, the slice that should fill it is empty."""
    (condition,) = _conjuncts(tmp_path, PADDED.format(quad=2, skipped="cols % 2"))
    assert (condition.text, condition.silent) == ("cols % 2 == 0", False)
    assert condition.rule == "slice-bounds"
