"""What each round of a sum leaves of its own block, where a size may be any, and what is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.told import told
from verifier.cli.main import main

KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl


def add(total, x, at, rows):
    part = nl.ndarray((rows, 56), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=part, src=x[at : at + rows, :])
    nisa.tensor_tensor(dst=total[:rows], data1=total[:rows], data2=part, op=nl.add)


@nki.jit
def k(x):
    n, columns = x.shape
    assert columns == 56 and n % 128 == 0
    out = nl.ndarray((128, 56), dtype=nl.float32, buffer=nl.shared_hbm)
    total = nl.ndarray((128, 56), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=total, value=0.0)
{body}
    nisa.dma_copy(dst=out, src=total)
    return out
"""
PARTS = {
    "most of each block": """
for i in range(n // 128):
    add(total, x, i * 128, 96)
""",
    "most of each block, from each start": """
for at in range(0, n, 128):
    add(total, x, at, 100)
""",
    "three of four parts": """
for i in range(n // 128):
    for j in range(3):
        add(total, x, i * 128 + j * 32, 32)
""",
}
WHOLE = {
    "all of each block": """
for i in range(n // 128):
    add(total, x, i * 128, 128)
""",
    "two parts of each block": """
for i in range(n // 128):
    add(total, x, i * 128, 96)
    add(total, x, i * 128 + 96, 32)
""",
    "the others in a loop of their own": """
for i in range(n // 128):
    add(total, x, i * 128, 100)
for i in range(n // 128):
    add(total, x, i * 128 + 100, 28)
""",
    "the first row of each block": """
for at in range(0, n, 128):
    add(total, x, at, 1)
""",
    "every second block": """
for i in range(n // 256):
    add(total, x, i * 256, 128)
""",
    "every second half": """
for at in range(0, n, 128):
    add(total, x, at, 64)
""",
    "what lies in a margin": """
for i in range(n // 128):
    add(total, x, i * 128 + 1, 126)
""",
    "the first blocks": """
assert n >= 512
for i in range(4):
    add(total, x, i * 128, 96)
""",
}


def _text(body: str) -> str:
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return KERNEL.format(body=lines)


def _found(folder: Path, body: str) -> tuple[str, list[str]]:
    found = told(folder, _text(body))
    return found.status, found.errors


@pytest.mark.parametrize("body", PARTS)
def test_rounds_that_leave_out_less_than_they_read(
    body: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _found(tmp_path, PARTS[body]) == ("violated", ["input-part-skipped"])
    assert main(["run", f"{tmp_path / 'kernel.py'}::k", "--arg", "x=float32[640,56]"]) == 1
    said = capsys.readouterr().out
    assert said.count("error[") == said.count("error[input-part-skipped]") == 1


@pytest.mark.parametrize("body", WHOLE)
def test_samples_and_margins_are_meant(body: str, tmp_path: Path) -> None:
    assert _found(tmp_path, WHOLE[body]) == ("verified", [])
