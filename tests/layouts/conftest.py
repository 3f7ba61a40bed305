from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

SNAPSHOTS = Path(__file__).parent / "snapshots"


@pytest.fixture
def snapshot() -> Callable[[str, str], None]:
    """Compare with a stored file; ``TILELINT_UPDATE_SNAPSHOTS=1`` stores the text instead."""

    def check(name: str, text: str) -> None:
        file = SNAPSHOTS / name
        if os.environ.get("TILELINT_UPDATE_SNAPSHOTS") == "1":
            SNAPSHOTS.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
        assert file.exists(), f"no snapshot {name}: run with TILELINT_UPDATE_SNAPSHOTS=1"
        assert text == file.read_text(encoding="utf-8")

    return check
