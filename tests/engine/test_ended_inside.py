"""Loops over tiles that something inside ends: what they leave of an input is told all the same.

``for i in range(n // 128)`` says with its range how many tiles there are; a ``break``, a condition
of a comprehension and a function that calls itself say it in other words.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.told import told
from verifier.cli.main import main

BETA_2 = """
import nki
import nki.isa as nisa
import nki.language as nl


def add(total, x, at, rows=128):
    part = nl.ndarray((rows, 40), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=part, src=x[at : at + rows, :])
    nisa.tensor_tensor(dst=total[:rows], data1=total[:rows], data2=part, op=nl.add)
{helper}

{contract}
@nki.jit
def k(x):
    {asserted}
    n = x.shape[0]
    out = nl.ndarray((128, 40), dtype=nl.float32, buffer=nl.shared_hbm)
    total = nl.ndarray((128, 40), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=total, value=0.0)
{body}
    nisa.dma_copy(dst=out, src=total)
    return out
"""
BETA_1 = """
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def add(total, x, at, rows=128):
    total[0:rows, 0:40] = nl.add(total[0:rows, 0:40], nl.load(x[at : at + rows, 0:40]))
{helper}

{contract}
@nki.jit
def k(x):
    {asserted}
    n = x.shape[0]
    out = nl.ndarray((128, 40), dtype=nl.float32, buffer=nl.shared_hbm)
    total = nl.zeros((128, 40), dtype=nl.float32, buffer=nl.sbuf)
{body}
    nl.store(out, total)
    return out
"""
HEADS = {"Beta 2": BETA_2, "Beta 1": BETA_1}

#: a rest of rows that is added behind a loop
REST = """
if at < n:
    add(total, x, at, n - at)
"""
#: loops that end before the first tile that is not whole
SHORT = {
    "a break that comes first": """
at = 0
while True:
    if n - at < 128:
        break
    add(total, x, at)
    at += 128
""",
    "a break in the middle": """
at = 0
while True:
    behind = at + 128
    if behind > n:
        break
    add(total, x, at)
    at = behind
""",
    "a break in another branch": """
at = 0
while True:
    if at + 128 <= n:
        add(total, x, at)
        at += 128
    else:
        break
""",
    "a break from a range": """
at = 0
for i in nl.static_range(n // 128 + 1):
    if (i + 1) * 128 > n:
        break
    add(total, x, i * 128)
    at += 128
""",
    "starts that are filtered": """
starts = [k for k in range(0, n, 128) if k + 128 <= n]
for k in starts:
    add(total, x, k)
at = 128 * len(starts)
""",
    "numbers that are filtered": """
tiles = [(i * 128, i) for i in range((n + 127) // 128) if not (i + 1) * 128 > x.shape[0]]
for start, i in tiles:
    add(total, x, start)
at = 128 * len(tiles)
""",
    "a slice of starts": """
starts = list(range(0, n, 128))
for k in starts[: n // 128]:
    add(total, x, k)
at = n // 128 * 128
""",
}
#: functions that call themselves, and their calls
RECURSIVE = {
    "while there are rows": (
        """
def down(total, x, at, n):
    if at + 128 > n:
        return
    add(total, x, at)
    down(total, x, at + 128, n)
""",
        "down(total, x, 0, n)",
    ),
    "by what is left": (
        """
def down(total, x, left):
    if left >= 128:
        add(total, x, x.shape[0] - left)
        down(total, x, left - 128)
""",
        "down(total, x, n)",
    ),
    "by keywords, and what it returns": (
        """
def down(total, x, at=0, *, rows):
    if rows - at < 128:
        return at
    else:
        add(total, x, at)
        return down(total, x, rows=rows, at=at + 128)
""",
        "at = down(total, x, rows=n)",
    ),
}
#: what means to read a part only, and all of it
RIGHT = {
    "so many rows": """
at = 0
while True:
    if at >= 384:
        break
    add(total, x, at)
    at += 128
""",
    "the rest in the loop": """
at = 0
while True:
    rows = min(128, n - at)
    if rows <= 0:
        break
    add(total, x, at, rows)
    at += rows
""",
    "half of the rows": """
for k in [k for k in range(0, n // 2, 64) if k + 64 <= n // 2]:
    add(total, x, k, 64)
""",
}


def _text(head: str, body: str, rows: int | None, said: str, helper: str = "") -> str:
    contract, asserted = "", "assert x.shape[1] == 40"
    if rows is not None and said == "contract":
        contract = f"# tilelint: contract (x: fp32[{rows}, 40])"
    elif rows is not None:
        asserted = f"assert x.shape == ({rows}, 40)"
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return HEADS[head].format(helper=helper, contract=contract, asserted=asserted, body=lines)


def _found(folder: Path, text: str) -> tuple[str, list[str], str]:
    found = told(folder, text)
    return found.status, found.errors, found.precondition


@pytest.mark.parametrize("said", ["asserted", "contract"])
@pytest.mark.parametrize("body", SHORT)
@pytest.mark.parametrize("head", HEADS)
def test_rows_behind_the_last_whole_tile_are_told_once(
    head: str, body: str, said: str, tmp_path: Path
) -> None:
    found = _found(tmp_path, _text(head, SHORT[body], 1000, said))
    assert found[:2] == ("violated", ["input-tail-dropped"])
    assert _found(tmp_path, _text(head, SHORT[body], 1024, said))[0] == "verified"
    with_rest = SHORT[body] + REST
    assert _found(tmp_path, _text(head, with_rest, 1000, said))[:2] == ("verified", [])


@pytest.mark.parametrize("body", SHORT)
@pytest.mark.parametrize("head", HEADS)
def test_any_number_of_rows(head: str, body: str, tmp_path: Path) -> None:
    found = _found(tmp_path, _text(head, SHORT[body], None, ""))
    assert found == ("conditional", ["input-tail-dropped"], "n % 128 == 0")
    if head == "Beta 2":
        assert _found(tmp_path, _text(head, SHORT[body] + REST, None, ""))[:2] == ("verified", [])


@pytest.mark.parametrize("said", ["asserted", "contract"])
@pytest.mark.parametrize("form", RECURSIVE)
def test_a_function_that_calls_itself_last(form: str, said: str, tmp_path: Path) -> None:
    helper, call = RECURSIVE[form]
    found = _found(tmp_path, _text("Beta 2", call, 1000, said, helper))
    assert found[:2] == ("violated", ["input-tail-dropped"])
    assert _found(tmp_path, _text("Beta 2", call, 896, said, helper))[0] == "verified"


@pytest.mark.parametrize("said", ["asserted", "contract"])
def test_a_function_that_reads_so_many_rows_means_them(said: str, tmp_path: Path) -> None:
    helper = RECURSIVE["while there are rows"][0]
    text = _text("Beta 2", "down(total, x, 0, 512)", 1000, said, helper)
    assert _found(tmp_path, text)[:2] == ("verified", [])


@pytest.mark.parametrize("said", ["asserted", "contract"])
@pytest.mark.parametrize("body", RIGHT)
@pytest.mark.parametrize("head", HEADS)
def test_parts_that_are_meant(head: str, body: str, said: str, tmp_path: Path) -> None:
    assert _found(tmp_path, _text(head, RIGHT[body], 1000, said))[:2] == ("verified", [])


def test_a_run_tells_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.py"
    helper, call = RECURSIVE["by what is left"]
    for text in (
        _text("Beta 2", call, 1000, "contract", helper),
        _text("Beta 2", SHORT["a break in the middle"], None, ""),
    ):
        path.write_text(text, encoding="utf-8")
        assert main(["run", f"{path}::k", "--arg", "x=float32[1000,40]"]) == 1
        told = capsys.readouterr().out
        assert told.count("error[") == told.count("error[input-tail-dropped]") == 1
