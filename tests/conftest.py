"""What all tests share: no cache unless a test asks for one, and stored outputs."""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import os
import shutil
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import settings

import verifier.dialects  # noqa: F401  # sources are searched for their kernels
from tests import sweeps
from verifier.symbolic import expr as E

# a test never meets the results of an earlier run
os.environ["TILELINT_CACHE_DIR"] = ""

if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
    # hundreds of tests start the command as a process; each would compile all of its modules again
    _compiled = tempfile.mkdtemp(prefix="tilelint-tests-")
    os.environ["PYTHONPYCACHEPREFIX"] = _compiled
    atexit.register(shutil.rmtree, _compiled, ignore_errors=True)


@pytest.hookimpl
def pytest_configure(config: pytest.Config) -> None:
    """How many cases a test has depends on what is run, and is known before it is read."""
    sweeps.begin(argument.partition("::")[0] for argument in config.args)
    # how long an example takes says something of the machine and who else uses it
    settings.register_profile("untimed", deadline=None, max_examples=sweeps.examples(100))
    settings.load_profile("untimed")


@pytest.hookimpl
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Long tables of cases take their part of the time, and no more."""
    taken = sweeps.of_tables(items)
    if len(taken) < len(items):
        kept = set(taken)
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = taken


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Nothing that is made on the way to the tests is garbage, and little of what tests make: terms
    live as long as a test. To look for it often is wasted, as in the command."""
    gc.disable()
    if os.environ.get("PYTEST_XDIST_WORKER") == "gw1":
        _import_from_the_end(session)
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(400_000, 20, 50)
        gc.enable()


def _import_from_the_end(session: pytest.Session) -> None:
    """The second worker imports the tests from the last to the first, before it collects them.

    Where nothing is compiled yet, two workers that begin with the same would compile all of it
    twice: assertions in tests are rewritten, which takes longer than anything else of a start.
    """
    root = session.config.rootpath
    given = [Path(argument.partition("::")[0]) for argument in session.config.args]
    found = [file for path in given for file in sorted(path.rglob("test_*.py"))]
    for file in reversed(found):
        name = ".".join(file.resolve().relative_to(root).with_suffix("").parts)
        with contextlib.suppress(Exception, pytest.skip.Exception):  # collecting it says so
            importlib.import_module(name)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """A worker says of a test that passes that it does: six messages cost more than the test.

    Without workers nothing is said here: any answer but None would leave the test out.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Symbols are known by their names: those of an earlier test may have other bounds."""
    E.fresh_context()


@pytest.fixture
def snapshot(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare with a file in the ``snapshots`` folder; TILELINT_UPDATE_SNAPSHOTS=1 stores it."""

    folder = request.path.parent / "snapshots"

    def check(name: str, text: str) -> None:
        file = folder / name
        if os.environ.get("TILELINT_UPDATE_SNAPSHOTS") == "1":
            folder.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
        assert file.exists(), f"no snapshot {name}: run with TILELINT_UPDATE_SNAPSHOTS=1"
        assert text == file.read_text(encoding="utf-8")

    return check
