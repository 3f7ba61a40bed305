"""Blocks of an input that rounds leave out of a sum, whatever chooses them, and what is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.told import told
from verifier.engine.analysis import analyze_file
from verifier.report.model import FileRequest

KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl


def add(total, x, at, rows=80):
    part = nl.ndarray((rows, 36), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=part, src=x[at : at + rows, :])
    nisa.tensor_tensor(dst=total[:rows], data1=total[:rows], data2=part, op=nl.add)


def halves(total, x, low, high):
    if high - low <= 80:
        add(total, x, low, high - low)
        return
    middle = (low + high) // 2
    halves(total, x, low, middle)
    halves(total, x, middle + {gap}, high)


@nki.jit
def k(x):
    assert x.shape == (400, 36) and x.dtype == nl.float32
    out = nl.ndarray((80, 36), dtype=nl.float32, buffer=nl.shared_hbm)
    total = nl.ndarray((80, 36), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=total, value=0.0)
{body}
    nisa.dma_copy(dst=out, src=total)
    return out
"""
#: what is added up, each with what has to be put in for nothing to be left out, and for something
ROUNDS = {
    "while": ("at = 0\nwhile at + 80 {} 400:\n    add(total, x, at)\n    at += 80", "<=", "<"),
    "backwards": ("at = 400\nwhile at > {}:\n    at -= 80\n    add(total, x, at)", "0", "80"),
    "slice of a range": ("for at in range(0, 400, 80)[{}:]:\n    add(total, x, at)", "0", "1"),
    "iterator": (
        "left = iter(range(0, 400, 80))\n{}\nfor at in left:\n    add(total, x, at)",
        "pass",
        "next(left)",
    ),
    "remainder": (
        "for i in range(5):\n    if i % 5 != {}:\n        add(total, x, i * 80)",
        "5",
        "3",
    ),
    "exception": (
        "try:\n    for i in range(5):\n        if i == {}:\n            raise ValueError\n"
        "        add(total, x, i * 80)\nexcept ValueError:\n    pass",
        "5",
        "4",
    ),
    "list used up": (
        "left = list(range(5))\nwhile len(left) > {}:\n    add(total, x, left.pop() * 80)",
        "0",
        "1",
    ),
    "tiles in a list": (
        "tiles = []\nfor i in range(5):\n    if i != {}:\n"
        "        part = nl.ndarray((80, 36), dtype=x.dtype, buffer=nl.sbuf)\n"
        "        nisa.dma_copy(dst=part, src=x[i * 80 : i * 80 + 80, :])\n"
        "        tiles.append(part)\n"
        "for part in tiles:\n"
        "    nisa.tensor_tensor(dst=total, data1=total, data2=part, op=nl.add)",
        "5",
        "2",
    ),
}
MEANT = {
    "more is left out than read": "for i in (1, 3):\n    add(total, x, i * 80)",
    "windows": "for at in [0, 40, 80, 120, 160, 200, 240]:\n    add(total, x, at)",
    "a margin at both ends": "at = 20\nwhile at < 380:\n    add(total, x, at, 72)\n    at += 72",
    "a head": "at = 8\nwhile at < 400:\n    add(total, x, at, 49)\n    at += 49",
    "two, each by itself": "add(total, x, 0)\nadd(total, x, 80)",
}


def _found(folder: Path, body: str, gap: int = 0) -> tuple[str, list[str]]:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    found = told(folder, KERNEL.format(body=lines, gap=gap))
    return found.status, found.errors


@pytest.mark.parametrize("name", ROUNDS)
def test_rounds_of_all_blocks_and_of_all_but_one(name: str, tmp_path: Path) -> None:
    body, whole, less = ROUNDS[name]
    assert _found(tmp_path, body.format(whole)) == ("verified", [])
    assert _found(tmp_path, body.format(less)) == ("violated", ["input-part-skipped"])


def test_rows_between_halves(tmp_path: Path) -> None:
    body = "halves(total, x, 0, 400)"
    assert _found(tmp_path, body) == ("verified", [])
    assert _found(tmp_path, body, gap=1) == ("violated", ["input-part-skipped"])


@pytest.mark.parametrize("name", MEANT)
def test_what_is_meant(name: str, tmp_path: Path) -> None:
    assert _found(tmp_path, MEANT[name]) == ("verified", [])


FEW = """
import nki
import nki.isa as nisa
import nki.language as nl


def add(total, x, n):
    part = nl.ndarray((80, 36), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=part, src=x[n * 80 : n * 80 + 80, :])
    nisa.tensor_tensor(dst=total, data1=total, data2=part, op=nl.add)


def backwards(total, x, n):
    if n > {first}:
        backwards(total, x, n - 1)
        add(total, x, n - 1)


@nki.jit
def k(x):
    rows, columns = x.shape
    assert rows % 80 == 0 and columns == 36 and x.dtype == nl.float32
    {bound}
    out = nl.ndarray((80, 36), dtype=nl.float32, buffer=nl.shared_hbm)
    total = nl.ndarray((80, 36), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=total, value=0.0)
    {call}
    nisa.dma_copy(dst=out, src=total)
    return out
"""


def _of_sizes(folder: Path, call: str, first: int, bound: str = "pass") -> str:
    path = folder / "k.py"
    path.write_text(FEW.format(call=call, first=first, bound=bound), encoding="utf-8")
    result = analyze_file(FileRequest(path=str(path), roots=(str(folder),)))
    (kernel,) = result.kernels
    return kernel.precondition.text if kernel.precondition is not None else ""


def test_a_function_that_works_behind_its_own_call(tmp_path: Path) -> None:
    """Each of the few sizes that there may be is looked at."""
    call, bound = "backwards(total, x, rows // 80)", "assert rows <= 240"
    assert _of_sizes(tmp_path, call, 0, bound) == "True"
    assert _of_sizes(tmp_path, call, 1, bound) == "rows != 240 and rows != 160"


def test_a_loop_over_the_blocks_behind_the_first_one(tmp_path: Path) -> None:
    """Nothing says how many there are, but that all of them are meant."""
    call = "for n in range({}, rows // 80): add(total, x, n)"
    assert _of_sizes(tmp_path, call.format(0), 0) == "True"
    assert _of_sizes(tmp_path, call.format(1), 0) == "rows <= 80"
    assert _of_sizes(tmp_path, call.format(2), 0) == "True"
    head = "add(total, x, 0)\n    "
    assert _of_sizes(tmp_path, head + call.format(1), 0) == "True"
    # rows of their own: the first may be another thing than the others
    rows = "for n in range(1, rows): nisa.dma_copy(dst=total[0:1], src=x[n : n + 1, :])"
    assert _of_sizes(tmp_path, rows, 0) == "True"
