"""Kernels run in forks of a small process instead of this one."""

from __future__ import annotations

from functools import partial

import pytest

from tests.apart import apart
from tests.oracles import admitted, executing, preconditions


@pytest.fixture(autouse=True)
def runs_are_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (admitted, preconditions):
        monkeypatch.setattr(module, "ran", partial(apart, executing.ran))
