"""Classes that take methods of built-in types by name."""

from __future__ import annotations

import pytest

from tests.python.programs import same


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    same(HEAD + PROGRAMS[name])
