"""What all tests share: with workers and without, every test runs."""

from __future__ import annotations

import pytest

from tests import conftest


def test_tests_run_without_workers(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    assert isinstance(request.node, pytest.Item)
    assert conftest.pytest_runtest_protocol(request.node, None) is None
