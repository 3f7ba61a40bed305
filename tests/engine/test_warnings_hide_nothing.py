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
