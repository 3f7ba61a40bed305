"""None where an instruction needs a tensor: a finding, on the paths on which it is one."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from verifier.engine import analyze_file
from verifier.report.model import FileRequest

HEAD = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, f: bool, y=None):
    assert x.shape == (128, 64) and x.dtype == nl.float32
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=x)
    t = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=t, value=0.0)
"""


def status(tmp_path: Path, body: str) -> str:
    path = tmp_path / "kernel.py"
    path.write_text(HEAD + textwrap.indent(textwrap.dedent(body), "    ") + "    return out\n")
    result = analyze_file(FileRequest(path=str(path), roots=(str(tmp_path),)))
    assert not result.errors
    return result.kernels[0].status


@pytest.mark.parametrize(
    "body",
    [
        "nisa.memset(dst=None, value=0.0)\n",
        "nisa.memset(None, value=0.0)\n",
        "nisa.dma_copy(dst=None, src=x)\n",
        "nisa.dma_copy(dst=t, src=None)\n",
        "nisa.memset(dst=t if f else None, value=0.0)\n",
        "nisa.dma_copy(dst=t, src=x if f else None)\n",
        "nisa.dma_copy(dst=t, src=y)\n",
        "nisa.memset(dst={'a': t}.get('a' if f else 'b'), value=0.0)\n",
        "nisa.tensor_scalar(dst=t, data=t, op0=nl.add, operand0=None)\n",
        "nisa.nc_stream_shuffle(dst=None, src=t, shuffle_mask=[0] * 32)\n",
        "nisa.nc_stream_shuffle(dst=t, src=t, shuffle_mask=None)\n",
        "nisa.tensor_scalar(dst=t, data=t, op0=None, operand0=1.0)\n",
        "nisa.tensor_scalar(dst=t, data=t, op0=nl.add if f else None, operand0=1.0)\n",
    ],
)
def test_none_is_no_tensor(tmp_path: Path, body: str) -> None:
    assert status(tmp_path, body) in ("conditional", "violated")


@pytest.mark.parametrize(
    "body",
    [
        "u = t if f else None\nif f:\n    nisa.memset(dst=u, value=0.0)\n",
        "u = t if f else None\nif u is not None:\n    nisa.memset(dst=u, value=0.0)\n",
        "nisa.activation(dst=t, op=nl.exp, data=t, bias=None)\n",
    ],
)
def test_none_that_is_not_used(tmp_path: Path, body: str) -> None:
    assert status(tmp_path, body) in ("verified", "conditional")
