from __future__ import annotations

import sys
from pathlib import Path

import pytest

from .fake_engine import module


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "verifier.engine", module())


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory that is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
