"""Tiles that iterations pass on: swapped names, and lists used as slots."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from verifier.engine import analyze_file
from verifier.report.model import FileRequest, FileResult

HEAD = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(frames):
    count, rows, columns = frames.shape
    assert rows == 88 and columns == 56
    out = nl.ndarray((count, rows, columns), dtype=frames.dtype, buffer=nl.shared_hbm)
"""

TILE = "nl.ndarray((88, 56), dtype=frames.dtype, buffer=nl.sbuf)"

SWAPPED = f"""\
    front = {TILE}
    back = {TILE}
    nisa.dma_copy(dst=front, src=frames[0])
    for k in range(count):
        if k + 1 < count:
            nisa.dma_copy(dst=back, src=frames[k + 1])
        nisa.dma_copy(dst=out[k], src=front)
        front, back = back, front
    return out
"""

ROTATED = f"""\
    a = {TILE}
    b = {TILE}
    c = nl.ndarray((88, 57), dtype=frames.dtype, buffer=nl.sbuf)
    for k in range(count):
        nisa.dma_copy(dst=a, src=frames[k])
        nisa.dma_copy(dst=out[k], src=a)
        a, b, c = b, c, a
    return out
"""

SLOTS = f"""\
    slots = [None, None, None]
    for k in range(count):
        slots[k % 3] = {TILE}
        nisa.dma_copy(dst=slots[k % 3], src=frames[k])
        nisa.dma_copy(dst=out[k], src=slots[k % 3])
    return out
"""

LAST = f"""\
    kept = [None, 5]
    last = nl.ndarray((88, 56), dtype=frames.dtype, buffer=nl.shared_hbm)
    for k in range(count):
        tile = {TILE}
        nisa.dma_copy(dst=tile, src=frames[k])
        kept[0] = tile
    nisa.dma_copy(dst=last, src=kept[0])
    return last
"""


def check(tmp_path: Path, text: str) -> FileResult:
    path = tmp_path / "kernel.py"
    path.write_text(HEAD + text, encoding="utf-8")
    result = analyze_file(FileRequest(path=str(path), roots=(str(tmp_path),)))
    assert not result.errors
    return result


@pytest.mark.parametrize("text", [SWAPPED, SLOTS, LAST])
def test_they_are_followed(tmp_path: Path, text: str) -> None:
    (kernel,) = check(tmp_path, text).kernels
    assert kernel.status == "verified", kernel.reasons


def test_a_fault_of_the_third_tile_shows_in_the_third_iteration(tmp_path: Path) -> None:
    found = [d for d in check(tmp_path, ROTATED).diagnostics if d.verdict == "sometimes"]
    assert {d.rule for d in found} == {"dma-size"}
    assert [dict(d.counterexample or {})["frames.shape"] for d in found] == [[3, 88, 56]]


def test_without_the_first_load_the_first_iteration_reads_nothing(tmp_path: Path) -> None:
    text = SWAPPED.replace("    nisa.dma_copy(dst=front, src=frames[0])\n", "")
    assert "uninitialised-read" in {d.rule for d in check(tmp_path, text).diagnostics}


def test_a_slot_of_another_iteration_is_not_taken_for_this_one(tmp_path: Path) -> None:
    text = SLOTS.replace("src=slots[k % 3])", "src=slots[(k + 1) % 3])")
    (kernel,) = check(tmp_path, text).kernels
    assert kernel.status != "verified"


def test_a_swap_under_a_condition_is_no_rotation(tmp_path: Path) -> None:
    text = SWAPPED.replace(
        "        front, back = back, front\n",
        "        if k % 3 == 0:\n            front, back = back, front\n",
    )
    (kernel,) = check(tmp_path, text).kernels
    assert kernel.status != "verified"


BETA1 = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def kernel(frames):
    assert frames.shape == (5, 88, 56)
    out = nl.ndarray((88, 56), dtype=frames.dtype, buffer=nl.shared_hbm)
    tiles = [nl.load(frames[k]) for k in nl.static_range(5)]
"""


@pytest.mark.parametrize(
    "body",
    [
        "total = tiles[0]\nfor tile in tiles[1:]:\n    total = nl.add(total, tile)\n",
        "total = tiles[0]\nfor k, tile in enumerate(tiles[1:]):\n    total = nl.add(total, tile)\n",
        "total = sum(tiles[1:], tiles[0])\n",
    ],
)
def test_beta1_goes_through_a_list_as_python_does(tmp_path: Path, body: str) -> None:
    """Loops over ranges are traced once there; what a list holds is gone through by Python."""
    path = tmp_path / "kernel.py"
    rest = textwrap.indent(body + "nl.store(out, total)\nreturn out\n", "    ")
    path.write_text(BETA1 + rest)
    (kernel,) = analyze_file(FileRequest(str(path), (str(tmp_path),))).kernels
    assert kernel.status == "verified"


PLACED = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    assert x.shape == (4, 32, 700) and x.dtype == nl.float32
    out = nl.ndarray((4, 32, 700), dtype=nl.float32, buffer=nl.shared_hbm)
    MADE
    for k in range(4):
        nisa.dma_copy(dst=q[USED], src=x[k])
        nisa.activation(dst=q[USED], op=nl.exp, data=q[USED])
        nisa.dma_copy(dst=out[k], src=q[USED])
    return out
"""

TOGETHER = "q = [TILE for i in range(4)]"
ONE_BY_ONE = "q = []\n    for i in range(4):\n        q.append(TILE)"


@pytest.mark.parametrize("made", [TOGETHER, ONE_BY_ONE])
@pytest.mark.parametrize(
    ("place", "used", "fault"),
    [
        ("(32 * i, 0)", "k", ""),
        ("(96 - 32 * i, 0)", "3 - k", ""),
        ("(16 * i, 0)", "2 * (k // 2)", "placement-start"),
        ("(32 * i + 32, 0)", "k", "start-partition"),
    ],
)
def test_tiles_that_are_placed_in_one_loop_and_used_in_another(
    tmp_path: Path, made: str, place: str, used: str, fault: str
) -> None:
    tile = f"nl.ndarray((32, 700), dtype=nl.float32, buffer=nl.sbuf, address={place})"
    text = PLACED.replace("MADE", made).replace("TILE", tile).replace("USED", used)
    path = tmp_path / "placed.py"
    path.write_text(text, encoding="utf-8")
    result = analyze_file(FileRequest(str(path), targets=("trn2",)))
    [kernel] = result.kernels
    rules = {d.rule for d in result.diagnostics}
    if fault:
        assert fault in rules and kernel.status == "violated"
    else:
        assert not rules and kernel.status == "verified", kernel.reasons
