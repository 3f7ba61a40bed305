"""What findings call a tile: by what a kernel keeps it in, in a check as in a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from verifier.engine import analyze_source
from verifier.executor import simulate

HEAD = """
from dataclasses import dataclass

import nki
import nki.isa as nisa
import nki.language as nl


@dataclass
class State(nl.NKIObject):
    total: nl.NkiTensor


def placed(columns):
    held = nl.ndarray((48, columns), dtype=nl.float32, buffer=nl.sbuf)
    return held


def sbuf(columns):
    return nl.ndarray((48, columns), dtype=nl.float32, buffer=nl.sbuf)


@nki.jit
def kernel(x):
    assert x.shape == (48, 72) and x.dtype == nl.float32
    out = nl.ndarray((48, 72), dtype=nl.float32, buffer=nl.shared_hbm)
"""
KEPT = [
    ("tiles = {'k': sbuf(72), 'v': sbuf(9)}", "tiles['k']", 'tiles["k"]'),
    ("tiles = {'k': placed(72)}", "tiles['k']", 'tiles["k"]'),
    ("tiles = [None] * 4; tiles[3] = placed(72)", "tiles[3]", "tiles[3]"),
    ("state = State(total=sbuf(72))", "state.total", "state.total"),
    ("state = State(total=sbuf(9)); state.total = placed(72)", "state.total", "state.total"),
    ("mine = placed(72)", "mine", "mine"),
    ("pair = [sbuf(72), sbuf(9)]", "pair[0]", "pair"),
]


@pytest.mark.parametrize(("made", "read", "name"), KEPT, ids=[made for made, _, _ in KEPT])
def test_a_tile_is_called_by_what_it_is_kept_in(
    made: str, read: str, name: str, tmp_path: Path
) -> None:
    text = f"{HEAD}    {made}\n    nisa.dma_copy(dst=out, src={read})\n    return out\n"
    checked = analyze_source(text, target="trn2", api_version="0.6").diagnostics
    file = tmp_path / "kernel.py"
    file.write_text(text, encoding="utf-8")
    run = simulate(f"{file}::kernel", "trn2", "0.6").outcome(x=np.ones((48, 72), np.float32))
    for found in (checked, run.diagnostics):
        messages = [d.message for d in found if d.rule == "uninitialised-read"]
        assert [message.partition(" is ")[0] for message in messages] == [f"`{name}`"], found
