"""A project of kernels and tests on disk, and what its tests show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from verifier.source.project import Project
from verifier.suites.reading import Readings, launchable, read

KERNELS = """\
import enum
from dataclasses import dataclass
from typing import NamedTuple

import nki
import nki.isa as nisa
import nki.language as nl


class Mode(enum.Enum):
    FAST = "fast"
    SLOW = "slow"


@dataclass
class Config:
    tile: int = 96
    mode: Mode = Mode.FAST
    extra: object = None


class Pair(NamedTuple):
    rows: int
    columns: int


class Plan:
    def __init__(self, steps, last=1):
        self.steps = steps + last


@nki.jit
def added(x, y, mode=Mode.FAST, config=None, op=nl.add, sizes=(), plan=None):
    return x


@nki.jit
def copied(source):
    return source


def helper(tile, scale=1.0):
    nisa.memset(dst=tile, value=scale)
    return tile
"""

Reading = Callable[..., Readings]


@pytest.fixture
def reading(tmp_path: Path) -> Reading:
    """Read the tests in a text; other files of the project by name."""

    def run(text: str, files: Mapping[str, str] | None = None, most: int = 100) -> Readings:
        given = {"kernels.py": KERNELS, "test_it.py": text, **(files or {})}
        (tmp_path / "pyproject.toml").write_text("")
        for name, content in given.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(content)
        project = Project([tmp_path])
        known = launchable(project, [project.module(tmp_path / "kernels.py")])
        return read(project, [tmp_path / "test_it.py"], known.kernels, known.device, most)

    return run


@pytest.fixture
def contracts(reading: Reading) -> Callable[..., list[str]]:
    """The contracts that the tests in a text show, with the names of the kernels."""

    def run(text: str, files: Mapping[str, str] | None = None) -> list[str]:
        found = reading(text, files)
        return [f"{kernel.name}{preset.contract}"
                for kernel, presets in found.presets.items() for preset in presets]  # fmt: skip

    return run
