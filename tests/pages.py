"""The pages of the project. Their examples are run and their tables come from the code."""

from __future__ import annotations

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent

#: README.md is for users; the others stand beside what they are about
PAGES: Final = tuple(
    ROOT / name
    for name in (
        "README.md",
        "rules/README.md",
        "tests/README.md",
        "verifier/README.md",
        "verifier/cli/README.md",
        "verifier/configuration/README.md",
        "verifier/executor/README.md",
        "verifier/hardware/README.md",
        "verifier/layouts/README.md",
        "verifier/lsp/README.md",
        "verifier/symbolic/python/README.md",
    )
)


def texts() -> dict[Path, str]:
    """Every page with its text."""
    return {page: page.read_text(encoding="utf-8") for page in PAGES}
