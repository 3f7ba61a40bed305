"""What the pages say about configuration is so."""

from __future__ import annotations

import re
from pathlib import Path

from tests.pages import texts

from .support import mistakes


def test_examples_can_be_used(root: Path) -> None:
    """Every TOML block of the pages; those of other tools say nothing to this one."""
    blocks = [b for text in texts().values() for b in re.findall(r"```toml\n(.*?)```", text, re.S)]
    assert len(blocks) >= 3
    for block in blocks:
        (root / "pyproject.toml").write_text(block, encoding="utf-8")
        assert mistakes("kernels/gemm.py") == []
