"""Opt-in: the PPL kernels of a clone of ppl-operator, named by ``TILELINT_CORPUS``."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from verifier.engine.analysis import analyze_file
from verifier.report import model as report

CORPUS = os.environ.get("TILELINT_CORPUS")
FOLDER = Path(CORPUS or ".", "ppl-operator", "python", "llm", "llama2_7b")

pytestmark = pytest.mark.skipif(
    CORPUS is None or not FOLDER.is_dir(),
    reason="set TILELINT_CORPUS to a directory of clones that has ppl-operator",
)

#: file -> what the catalogue knows of it (OPRB-01 to OPRB-05): a rule, and a line it points at
KNOWN = {
    "rmsnorm.py": [("ppl-sub-view", 114)],
    "rmsnorm_small_row.py": [("ppl-sub-view", 76)],
    "w16a16_matmul.py": [("ppl-empty-guard", 53)],
    "w4a16_matmul.py": [("ppl-empty-part", 123), ("ppl-real-shape", 130)],
    "mlp.py": [("ppl-real-shape", 85)],
    "embedding.py": [],
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_defects_are_found_and_nothing_is_left_open(name: str) -> None:
    request = report.FileRequest(path=str(FOLDER / name), targets=("bm1690",))
    result = analyze_file(request)
    assert not result.errors
    (kernel,) = result.kernels
    assert kernel.calls.total == kernel.calls.modelled > 0
    assert kernel.obligations.unknown == 0 and kernel.reasons == ()
    found = {(d.rule, d.span.line): d for d in result.diagnostics}
    for known in KNOWN[name]:
        assert found[known].counterexample is not None
