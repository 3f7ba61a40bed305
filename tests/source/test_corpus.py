"""Opt-in checks on clones of public repositories: set ``TILELINT_CORPUS`` to their folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from verifier.source.discovery import KernelEntry, discover, kernel_definition
from verifier.source.files import collect
from verifier.source.project import Project
from verifier.source.text import SourceError

CORPUS = os.environ.get("TILELINT_CORPUS")


def found_in(folder: str) -> tuple[Project, list[KernelEntry]]:
    if CORPUS is None:
        pytest.skip("TILELINT_CORPUS is not set to a folder of clones")
    root = Path(CORPUS) / folder
    if not root.is_dir():
        pytest.skip(f"{folder} is not in TILELINT_CORPUS")
    project = Project([root])
    modules = [project.candidate(path) for path in collect([root])]
    return project, discover(project, [module for module in modules if module is not None])


@pytest.mark.parametrize(
    ("folder", "decorated", "wrapped"),
    [
        # 31 decorated and 1 wrapped kernel, and 1 decorated one among the tests
        ("nki-samples", 32, 1),
        ("aws-neuron-sdk/nki/examples", 21, 0),
        ("aws-neuron-sdk/nki/deep-dives/src", 4, 0),
        ("nki-library/src", 55, 0),
        ("nki-library/test", 26, 4),
        ("ppl-operator", 6, 0),
    ],
)
def test_entry_points(folder: str, decorated: int, wrapped: int) -> None:
    project, entries = found_in(folder)
    how = [entry.how.value for entry in entries]
    assert (how.count("decorator"), how.count("wrapped")) == (decorated, wrapped)
    for entry in entries:
        definition = kernel_definition(project, entry)
        assert (definition is None) == (entry.error is not None)


def test_every_definition_lowers() -> None:
    project, _ = found_in("nki-samples")
    root = Path(CORPUS or "") / "nki-samples"
    for path in collect([root]):
        try:
            module = project.module(path)
        except SourceError:
            continue
        assert len(module.statements()) > 0 or not module.bindings
