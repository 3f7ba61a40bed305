"""The size of a counterexample, and clones of the repositories that have the faults."""

from __future__ import annotations

import os
from collections.abc import Mapping
from math import prod
from pathlib import Path

import pytest


def clone(name: str) -> Path | None:
    """A repository in the directory that ``TILELINT_CORPUS`` names."""
    corpus = os.environ.get("TILELINT_CORPUS")
    return Path(corpus) / name if corpus else None


def needs_clone(name: str) -> pytest.MarkDecorator:
    """Skip tests where there is none."""
    found = clone(name)
    return pytest.mark.skipif(
        found is None or not found.is_dir(),
        reason=f"set TILELINT_CORPUS to a directory of clones that has {name} with its history",
    )


def elements(inputs: Mapping[str, object]) -> int:
    """The elements of all tensors of an input together."""
    return sum(
        prod(value)
        for name, value in inputs.items()
        if name.endswith(".shape") and isinstance(value, list)
    )
