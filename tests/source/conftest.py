"""Helpers of the source tests: small projects on disk."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from verifier.source.project import Module, Project

Plant = Callable[[dict[str, str]], Project]


@pytest.fixture
def plant(tmp_path: Path) -> Plant:
    """Write files (path -> text, dedented) below a fresh folder and open them as a project."""

    def write(files: dict[str, str]) -> Project:
        (tmp_path / "pyproject.toml").write_text("")
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text), encoding="utf-8")
        return Project([tmp_path])

    return write


@pytest.fixture
def open_module(tmp_path: Path, plant: Plant) -> Callable[[str], Module]:
    def open_text(text: str) -> Module:
        return plant({"m.py": text}).module(tmp_path / "m.py")

    return open_text
