"""What the README says about configuration is so."""

from __future__ import annotations

import re
from pathlib import Path

from verifier.configuration import documentation

from .support import mistakes

README = Path(__file__).resolve().parent.parent.parent / "README.md"


def test_examples_can_be_used(root: Path) -> None:
    """Every TOML block of the README; those of other tools say nothing to this one."""
    for block in re.findall(r"```toml\n(.*?)```", README.read_text(encoding="utf-8"), re.S):
        (root / "pyproject.toml").write_text(block, encoding="utf-8")
        assert mistakes("kernels/gemm.py") == []


def test_the_table_of_settings() -> None:
    """`tilelint config settings --format markdown` prints the table that belongs there."""
    text = README.read_text(encoding="utf-8")
    if "## Configuration" in text:
        assert documentation.markdown() in text
