"""Lists of lists of tiles, as helpers build them that call themselves."""

from __future__ import annotations

import pytest

from verifier.engine.analysis import analyze_source

KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl


def blocks(depth, counts):
    if depth == len(counts):
        return nl.ndarray((128, 48), dtype=nl.float32, buffer=nl.sbuf)
    out = []
    for i in range(counts[depth]):
        out.append(blocks(depth + 1, counts))
    return out


@nki.jit
def nested(x):
    rows, cols = x.shape
    assert rows % 384 == 0 and cols % 48 == 0 and cols <= 960
    tiles = blocks(0, [rows // 384, cols // 48, 3])
    out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    for i in range(rows // 384):
        for j in range(cols // 48):
            for k in range(3):
                row = (i * 3 + k) * 128
                nisa.memset(tiles[i][j][{last}], value=1.0)
                nisa.dma_copy(dst=out[row : row + 128, nl.ds(j * 48, 48)], src=tiles[i][j][{last}])
    return out
"""


@pytest.mark.parametrize(("last", "rules"), [("k", set()), ("k + 1", {"list-index"})])
def test_three_levels(last: str, rules: set[str]) -> None:
    result = analyze_source(KERNEL.replace("{last}", last))
    found = {(d.rule, d.verdict) for d in result.diagnostics}
    assert found == {(rule, "always") for rule in rules}
    assert not result.kernels[0].obligations.unknown
