"""The memories that the front end of NKI 0.2 has without an import."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from verifier.engine import analyze_source
from verifier.executor import simulate

KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit(platform_target="trn2")
def add(a, b):
    assert a.shape == ({rows}, 512) and a.dtype == nl.float32
    assert b.shape == a.shape and b.dtype == nl.float32
    {before}
    s = sbuf.view(dtype=a.dtype, shape=a.shape)  # noqa: F821
    t = sbuf.view(dtype=b.dtype, shape=b.shape)  # noqa: F821
    nisa.dma_copy(dst=s, src=a)
    nisa.dma_copy(dst=t, src=b)
    nisa.tensor_tensor(dst=s, data1=s, data2=t, op=nl.add)
    out = hbm.view(dtype=a.dtype, shape=a.shape)  # noqa: F821
    nisa.dma_copy(dst=out, src=s)
    return out
"""


@pytest.mark.parametrize(
    ("rows", "before", "rules"),
    [
        (96, "pass", set()),
        (130, "pass", {"partition-extent"}),
        (96, "sbuf = hbm", {"operand-buffers"}),
        (96, "more = dram.view(dtype=a.dtype, shape=a.shape)", {"unbound-name"}),
        (96, "more = sbuf.views(dtype=a.dtype, shape=a.shape)", {"no-attribute"}),
        (96, "more = sbuf.view(dtype=a.dtype)", {"api-signature"}),
    ],
)
def test_tensors_are_made_in_them(rows: int, before: str, rules: set[str]) -> None:
    result = analyze_source(KERNEL.format(rows=rows, before=before))
    (kernel,) = result.kernels
    found = {d.rule for d in result.diagnostics if d.severity == "error"}
    assert kernel.api_version == "0.2" and found <= rules and bool(found) == bool(rules)
    assert (kernel.status == "verified") == (not rules)


def test_later_generations_have_none() -> None:
    text = KERNEL.format(rows=96, before="pass").replace('(platform_target="trn2")', "")
    found = {
        (d.rule, d.message)
        for d in analyze_source(text, api_version="0.5").diagnostics
        if d.rule != "output-buffer"
    }
    assert found == {
        ("api-removed", f"`{memory}.view` does not exist since NKI 0.3")
        for memory in ("hbm", "sbuf")
    }


def test_they_are_there_in_a_run(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(KERNEL.format(rows=96, before="pass"), encoding="utf-8")
    given = np.ones((96, 512), np.float32)
    np.testing.assert_array_equal(simulate(f"{path}::add")(given, given), given + 1)
