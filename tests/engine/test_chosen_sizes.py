"""Tiles whose size is chosen by the size that they divide: a contract hides no tail of theirs, and
where there is none, they fill it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.told import told

KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl

SIZES = {{440: 88, 444: 128, 448: 64}}


def chosen(size):
    if size >= 512:
        return 256
    return 128 if size >= 256 else 32


{contract}
@nki.jit
def k(x, step=64):
    n, columns = x.shape
    assert 0 < step <= 128 and columns == 24
{choice}
    out = nl.ndarray((t, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    total = nl.ndarray((t, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=total, value=0.0)
{loop}
        part = nl.ndarray((t, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=part, src=x[i * t : i * t + t, :])
        nisa.tensor_tensor(dst=total, data1=total, data2=part, op=nl.add)
{rest}
    nisa.dma_copy(dst=out, src=total)
    return out
"""
CHOICES = {
    "by a condition": "t = 128 if n > 256 else 64",
    "by a bound": "t = min(128, n)",
    "by a truth value": "t = 64 + 64 * (n > 256)",
    "by a helper": "t = chosen(n)",
    "by a table": "t = SIZES.get(n, 128)",
    "by halving": "t = 128\nwhile t > n:\n    t //= 2",
    "by doubling": "t = 32\nwhile t * 2 <= min(n, 128):\n    t *= 2",
    "by the first that fits": "for t in (128, 64, 32):\n    if n >= t:\n        break",
}
LOOPS = {
    "over whole tiles": "    for i in range(n // t):",
    "while a tile is left": "    i = -1\n    while (i + 2) * t <= n:\n        i += 1",
}
REST = """
    left = n % t
    if left > 0:
        last = nl.ndarray((left, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=last, src=x[n - left : n, :])
        nisa.tensor_tensor(dst=total[:left], data1=total[:left], data2=last, op=nl.add)
"""
#: sizes that fill the tiles, where any are given
FILLED = {
    "by a condition": "n % 128 == 0 or n <= 256 and n % 64 == 0",
    "by a bound": "n % min(128, n) == 0",
    "by a number of the caller's": "n % min(step, n) == 0",
    # (its largest tile has too many rows)
    "by a helper": "n <= 511 and (n % 128 == 0 or n <= 255 and n % 32 == 0)",
    "by the first that fits": (
        "n % 128 == 0 or n <= 127 and (n % 64 == 0 or n <= 63 and n % 32 == 0)"
    ),
}


def _kernel(
    folder: Path, choice: str, rows: int | None, loop: str = "over whole tiles", rest: str = ""
) -> tuple[str, list[str], str]:
    said = CHOICES.get(choice, "t = min(step, n)")
    body = "\n".join(f"    {line}" for line in said.splitlines())
    contract = "" if rows is None else f"# tilelint: contract (x: fp32[{rows}, 24])"
    text = KERNEL.format(contract=contract, choice=body, loop=LOOPS[loop], rest=rest)
    found = told(folder, text)
    return found.status, found.errors, found.precondition


@pytest.mark.parametrize(
    ("choice", "loop"),
    # (where rounds say how large a tile is, what they are is not followed for every size)
    [(c, each) for c in CHOICES for each in LOOPS if c != "by halving" or "over" in each],
)
def test_a_tail_that_a_chosen_tile_leaves_is_told_once(
    choice: str, loop: str, tmp_path: Path
) -> None:
    status, errors, _ = _kernel(tmp_path, choice, 444, loop)
    assert status == "violated"
    assert [each for each in errors if each.startswith("input-")] == ["input-tail-dropped"]


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("choice", CHOICES)
def test_a_tile_that_divides_its_size_leaves_none(choice: str, loop: str, tmp_path: Path) -> None:
    assert _kernel(tmp_path, choice, 384, loop)[:2] == ("verified", [])


@pytest.mark.parametrize("choice", FILLED)
def test_any_size_is_filled_by_the_tiles_that_it_chooses(choice: str, tmp_path: Path) -> None:
    found = _kernel(tmp_path, choice, None)
    assert found == ("conditional", ["input-tail-dropped"], FILLED[choice])


@pytest.mark.parametrize("rows", [None, 444])
# (tiles that the helper chooses have too many rows)
@pytest.mark.parametrize("choice", [c for c in FILLED if c != "by a helper"])
def test_a_rest_that_is_added_is_no_tail(choice: str, rows: int | None, tmp_path: Path) -> None:
    assert _kernel(tmp_path, choice, rows, rest=REST)[:2] == ("verified", [])
