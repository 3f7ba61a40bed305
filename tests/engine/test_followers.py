"""One cause gives one finding: what comes of it later is not told beside it, other faults are."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifier.engine import analyze_file
from verifier.report.model import FileRequest

HEAD = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
"""

NEXT_OF_LIST = """\
def summed(x):
    assert x.shape[0] == 96 and x.shape[1] % 80 == 0 and x.shape[1] <= 640
    n = x.shape[1] // 80
    out = nl.ndarray((96, x.shape[1]), dtype=nl.float32, buffer=nl.shared_hbm)
    tiles = [nl.ndarray((96, 80), dtype=nl.float32, buffer=nl.sbuf) for _ in range(n)]
    for j, tile in enumerate(tiles):
        nisa.dma_copy(dst=tile[:, 0:WIDTH], src=x[:, j * 80 : j * 80 + WIDTH])
    for j in range(n):
        t = nl.ndarray((96, 80), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(dst=t, src=tiles[j + 1])
        nisa.dma_copy(dst=out[:, j * 80 : (j + 1) * 80], src=t)
    return out
"""

KEY = """\
def sorted_by_kind(x):
    assert x.shape == (96, 320)
    out = nl.ndarray((96, 320), dtype=x.dtype, buffer=nl.shared_hbm)
    tiles = {"even": [], "odd": []}
    for i in range(4):
        t = nl.ndarray((96, 80), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=t, src=x[:, i * 80 : (i + 1) * 80])
        tiles["odd" if i % 2 else "evn"].append(t)
    for k, t in enumerate(tiles["even"]):
        nisa.dma_copy(dst=out[:, 2 * k * 80 : (2 * k + 1) * 80], src=t)
    for k, t in enumerate(tiles["odd"]):
        nisa.dma_copy(dst=out[:, (2 * k + 1) * 80 : (2 * k + 2) * 80], src=t)
    return out
"""

SWAPPED = """\
def spread(x):
    assert x.shape == (96, 15, 40)
    out = nl.ndarray((5, 3, 96, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((96, 15, 40), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    for h in range(15):
        r, g = divmod(h, 3)
        nisa.dma_copy(dst=out[g, r], src=t[:, h, :])
    return out
"""

#: whether an index of a list is there depends on a size; what is left out does not
SHORT_LIST = """\
def picked(x):
    assert x.shape[0] == 96 and x.shape[1] % 80 == 0 and x.shape[1] <= 640
    n = x.shape[1] // 80
    out = nl.ndarray((96, 80), dtype=x.dtype, buffer=nl.shared_hbm)
    tiles = []
    for i in range(n):
        t = nl.ndarray((96, 80), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=t, src=x[:, i * 80 : (i + 1) * 80])
        tiles.append(t)
    nisa.dma_copy(dst=out[:, 0:STORED], src=tiles[3][:, 0:STORED])
    return out
"""

REBOUND = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def summed(x):
    rows, columns = x.shape
    assert rows <= 96 and columns == 320
    out = nl.ndarray((rows, 320), dtype=nl.float32, buffer=nl.shared_hbm)
    acc = nl.zeros((rows, 320), dtype=nl.float32, buffer=nl.sbuf)
    for k in nl.sequential_range(columns // 320):
        t = nl.load(x[:, k * 320 : (k + 1) * 320])
        acc = nl.add(acc, t)
    nl.store(out, acc)
    return out
"""


def errors(folder: Path, text: str) -> list[str]:
    path = folder / "kernel.py"
    path.write_text(text, encoding="utf-8")
    result = analyze_file(FileRequest(path=str(path), roots=(str(folder),)))
    assert not result.errors
    return [d.rule for d in result.diagnostics if d.verdict in ("always", "sometimes")]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (HEAD + NEXT_OF_LIST.replace("WIDTH", "80"), "list-index"),
        (HEAD + KEY, "missing-key"),
        (HEAD + SWAPPED, "slice-bounds"),
    ],
)
def test_what_comes_of_a_fault_is_not_told(tmp_path: Path, text: str, rule: str) -> None:
    assert errors(tmp_path, text) == [rule]


@pytest.mark.parametrize("sizes", ["columns == 320", "columns % 320 == 0"])
def test_what_a_tile_holds_where_there_is_none_is_no_question(tmp_path: Path, sizes: str) -> None:
    text = REBOUND.replace("columns == 320", sizes)
    assert errors(tmp_path, text) == ["beta1-scope"]
    assert errors(tmp_path, text.replace("acc = nl.add", "acc[...] = nl.add")) == []


def test_a_tile_that_is_gone_hides_no_other(tmp_path: Path) -> None:
    other = "nl.store(out, nl.ndarray((rows, 320), dtype=nl.float32, buffer=nl.sbuf))"
    text = REBOUND.replace("    nl.store(out, acc)", f"    nl.store(out, acc)\n    {other}")
    assert errors(tmp_path, text) == ["beta1-scope", "uninitialised-read"]


def test_what_no_input_comes_to_is_right_where_it_is_mended(tmp_path: Path) -> None:
    text = NEXT_OF_LIST.replace("WIDTH", "80").replace("tiles[j + 1]", "tiles[j]")
    assert errors(tmp_path, HEAD + text) == []
    assert errors(tmp_path, HEAD + KEY.replace("evn", "even")) == []
    assert errors(tmp_path, HEAD + SWAPPED.replace("r, g = divmod", "g, r = divmod")) == []


def test_a_fault_of_its_own_is_found_where_python_raises_for_some_sizes(tmp_path: Path) -> None:
    """Three tiles are too few; with four of them half of the result is missing all the same."""
    found = errors(tmp_path, HEAD + SHORT_LIST.replace("STORED", "40"))
    assert set(found) == {"list-index", "output-not-written"}
    assert errors(tmp_path, HEAD + SHORT_LIST.replace("STORED", "80")) == ["list-index"]
