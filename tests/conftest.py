"""Stored outputs: a test compares with the ``snapshots`` folder beside it."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest


@pytest.fixture
def snapshot(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare with a stored file; ``TILELINT_UPDATE_SNAPSHOTS=1`` stores the text instead."""

    folder = request.path.parent / "snapshots"

    def check(name: str, text: str) -> None:
        file = folder / name
        if os.environ.get("TILELINT_UPDATE_SNAPSHOTS") == "1":
            folder.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
        assert file.exists(), f"no snapshot {name}: run with TILELINT_UPDATE_SNAPSHOTS=1"
        assert text == file.read_text(encoding="utf-8")

    return check
