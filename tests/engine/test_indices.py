"""Index tensors: they are read, and they hold at least one index."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.test_nested import check

GATHER = """
@nki.jit
def kernel(ids, table):
    V, H = table.shape
    assert ids.shape == (96, 1) and H <= 1024
    rows = nl.ndarray((96, H), dtype=table.dtype, buffer=nl.shared_hbm)
    index = nl.ndarray((96, 1), dtype=nl.int32, buffer=nl.sbuf)
    picked = nl.ndarray((96, H), dtype=table.dtype, buffer=nl.sbuf)
    {load}
    nisa.dma_copy(
        dst=picked,
        src=table.ap(pattern=[[H, 96], [1, H]], vector_offset=index, indirect_dim=0),
    )
    nisa.dma_copy(dst=rows, src=picked)
    return rows
"""

POOL = """
@nki.jit
def kernel(x, k):
    P, N = x.shape
    assert P <= 128 and N <= 1000 and {least} <= k <= N
    y = nl.ndarray((P, 1), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    i, j = nl.arange(P)[:, None], nl.arange(k - 1)[None, :]
    nl.store(y, value=nl.sum(t[i, j], axis=1, keepdims=True))
    return y
"""


def test_an_index_that_nobody_wrote_is_found(tmp_path: Path) -> None:
    result = check(tmp_path, GATHER.format(load="pass"))
    assert [d.rule for d in result.diagnostics] == ["uninitialised-read"]
    assert "index" in result.diagnostics[0].message
    loaded = check(tmp_path, GATHER.format(load="nisa.dma_copy(dst=index, src=ids)"))
    assert [k.status for k in loaded.kernels] == ["verified"]


@pytest.mark.parametrize(("least", "rules"), [(1, ["slice-bounds"]), (2, [])])
def test_an_empty_index_is_found(tmp_path: Path, least: int, rules: list[str]) -> None:
    text = POOL.format(least=least)
    result = check(tmp_path, text, api_version="beta1")
    assert [d.rule for d in result.diagnostics] == rules
