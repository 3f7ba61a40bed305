"""Kernels that run in a process forked from one that is loaded: a second less for each run.

For folders whose tests are about what runs say. Tests of the process itself start a Python for it:
:func:`tests.commands.tilelint` with ``forked=False``, or :mod:`subprocess`.
"""

from __future__ import annotations

import pytest

from tests.commands import KernelProcess
from verifier.executor import runner


@pytest.fixture(autouse=True)
def kernels_are_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_start", KernelProcess)
