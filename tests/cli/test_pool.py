from __future__ import annotations

import os
import signal
import time

import pytest

from verifier.cli import pool
from verifier.cli.analysis import parts_of
from verifier.report.model import FileError, FileRequest, FileResult


def work(request: FileRequest) -> FileResult:
    if request.path.startswith("die"):
        os.kill(os.getpid(), signal.SIGKILL)
    if request.path.startswith("exit"):
        os._exit(3)
    if request.path.startswith("hung up"):
        os.kill(os.getpid(), signal.SIGHUP)
    if request.path.startswith("hang"):
        time.sleep(60)
    return FileResult(request.path, statistics={"pids": [os.getpid()]})


def run(
    names: list[str], jobs: int, timeout: float | None = None
) -> tuple[dict[str, FileResult], int]:
    results: dict[str, FileResult] = {}
    ticks = 0

    def done(request: FileRequest, result: FileResult) -> None:
        assert result.path == request.path and result.path not in results
        results[result.path] = result

    def tick() -> None:
        nonlocal ticks
        ticks += 1

    def failed(request: FileRequest, message: str) -> FileResult:
        return FileResult(request.path, errors=(FileError(request.path, 0, message),))

    requests = [FileRequest(name, timeout=timeout) for name in names]
    pool.run(requests, pool.Work(work, failed), jobs, done, tick)
    return results, ticks


def test_every_request_is_answered_once_by_few_workers() -> None:
    names = [f"k{index}" for index in range(50)]
    results, ticks = run(names, 4)
    assert sorted(results) == sorted(names)
    pids = {pid for result in results.values() for pid in result.statistics["pids"]}
    assert os.getpid() not in pids
    assert len(pids) <= 4
    assert ticks > 0


def test_one_request_runs_here() -> None:
    for names, jobs in ((["a"], 4), (["a", "b"], 1)):
        results, _ = run(names, jobs)
        assert {r.statistics["pids"][0] for r in results.values()} == {os.getpid()}


def test_workers_that_die_cost_their_file_only() -> None:
    names = ["die1", "a", "exit1", "b", "die2", "c", "d", "exit2"]
    results, _ = run(names, 2)
    assert sorted(results) == sorted(names)
    failed = {name: r.errors[0].message for name, r in results.items() if r.errors}
    assert sorted(failed) == ["die1", "die2", "exit1", "exit2"]
    assert failed["die1"] == "internal error: the worker process died (signal 9)"
    assert failed["exit1"] == "internal error: the worker process died (status 3)"


@pytest.mark.parametrize("ignored", [False, True])
def test_workers_ignore_what_this_process_ignores(ignored: bool) -> None:
    """Under nohup a terminal that closes ends nothing."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL)
    try:
        results, _ = run(["hung up", "a"], 2)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert bool(results["hung up"].errors) is not ignored and not results["a"].errors


def test_a_worker_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "GRACE", 0.2)
    begin = time.monotonic()
    results, _ = run(["hang", "a", "b"], 2, timeout=0.005)
    assert time.monotonic() - begin < 10
    assert "far too long" in results["hang"].errors[0].message
    assert not results["a"].errors and not results["b"].errors


def test_a_long_file_is_shared_out() -> None:
    assert parts_of(size=60_000, total=100_000, jobs=2) == 2
    assert parts_of(size=60_000, total=1_000_000, jobs=2) == 1  # others keep the workers busy
    assert parts_of(size=3_000, total=3_000, jobs=2) == 1
    assert parts_of(size=60_000, total=60_000, jobs=1) == 1
