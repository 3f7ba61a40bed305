"""Tiles that are placed by hand, as a run sees them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from verifier.executor import simulate

_KERNEL = """
import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np


@nki.jit
def kernel(x):
    out = nl.ndarray((96, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((96, 40), dtype=x.dtype, buffer=ncc.sbuf.mod_alloc(base_addr=64))
    t[...] = nl.load(x)
    t[...] = nisa.tensor_scalar(t, np.add, 1.0)
    nl.store(out, value=t)
    return out
"""


def test_a_tile_may_be_computed_upon_where_it_lies(tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(_KERNEL, encoding="utf-8")
    x = np.arange(96 * 40, dtype=np.float32).reshape(96, 40)
    outcome = simulate(f"{path}::kernel").outcome(x)
    assert not outcome.diagnostics
    np.testing.assert_array_equal(outcome.outputs[0], x + 1)
