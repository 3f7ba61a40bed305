"""However a run ends: no traceback, a right exit status, nothing left behind, nothing lost.

``TILELINT_EXAMPLES=1000`` interrupts that many runs at random times.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.commands import ROOT, Command, script, starter, tilelint

from .support import FIXTURES, bad, good

EXAMPLES = int(os.environ.get("TILELINT_EXAMPLES", "3"))
COMMAND = [sys.executable, "-m", "verifier"]
CHECK = [*COMMAND, "check", "--format", "json"]
#: seconds for what takes one, on a machine that is busy with other things
PATIENCE = 120


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    """Files enough for two workers, with findings; a run that is loaded takes half a second."""
    return written(tmp_path / "kernels")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, str]:
    """Exit status and report of a run on the same files that nobody disturbs."""
    status, out, _ = run(written(tmp_path_factory.mktemp("undisturbed") / "kernels"))
    return status, out


def written(folder: Path) -> Path:
    folder.mkdir()
    for name in ("softmax_rows.py", "rope_halves.py"):
        text = (FIXTURES / "nki" / "good" / name).read_text(encoding="utf-8")
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "good.py").write_text(good(), encoding="utf-8")
    (folder / "bad.py").write_text(bad(), encoding="utf-8")
    return folder


@pytest.fixture
def few(tmp_path: Path) -> Path:
    """What is about streams alone: a file with a finding and one without."""
    folder = tmp_path / "few"
    folder.mkdir()
    (folder / "good.py").write_text(good(), encoding="utf-8")
    (folder / "bad.py").write_text(bad(), encoding="utf-8")
    return folder


def environment(cache: Path | None = None) -> dict[str, str]:
    place = "" if cache is None else str(cache)
    return {**os.environ, "PYTHONPATH": str(ROOT), "TILELINT_CACHE_DIR": place}


def start(folder: Path, *arguments: str, cache: Path | None = None) -> Command:
    return command("check", "--format", "json", *arguments, cwd=folder, env=environment(cache))


def command(*arguments: str, **where: Any) -> Command:
    return Command(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **where)


def run(folder: Path, *arguments: str, cache: Path | None = None) -> tuple[int, str, str]:
    """A run that nobody disturbs."""
    done = tilelint(
        "check",
        "--format",
        "json",
        *arguments,
        cwd=folder,
        env=environment(cache),
        timeout=PATIENCE,
    )
    return done.returncode, done.stdout, done.stderr


def findings(out: str) -> object:
    """What a report says, without times."""
    document = json.loads(out)
    for kernel in document["kernels"]:
        kernel["time_ms"] = 0
    return document


def clean(err: str) -> bool:
    """Whether stderr is fit for users."""
    if "KeyboardInterrupt" in err and not any(name in err for name in ("verifier", "rules")):
        return True  # Python itself was starting: nobody could have listened yet
    words = ("Traceback", "Exception ignored", "internal error", "Fatal Python error", "Error:")
    return not any(word in err for word in words)


def alone(group: int) -> bool:
    """Whether no process of a group is left, after a moment; how long depends on the machine."""
    for _ in range(10 * PATIENCE):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


def listening(process: subprocess.Popen[str]) -> None:
    """Wait until the command has taken its signals: before, Python alone answers them."""
    status = Path(f"/proc/{process.pid}/status")
    if not status.exists():
        time.sleep(1.0)
        return
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            caught = re.search(r"^SigCgt:\s*([0-9a-f]+)", status.read_text(), re.M)
        except OSError:  # it has ended
            return
        if caught is None or int(caught[1], 16) >> (signal.SIGTERM - 1) & 1:
            return
        time.sleep(0.01)


def moments(count: int) -> Iterator[tuple[float, str, bool, bool]]:
    """When to interrupt a run, with how many workers, all processes or one, with a cache or not."""
    rng = random.Random(5)
    for index in range(count):
        yield rng.uniform(0.0, 0.6), "12"[index % 2], index % 4 < 2, index % 3 == 0


@pytest.mark.parametrize(
    ("number", "said"),
    [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "ended"), (signal.SIGHUP, "ended")],
)
def test_signals_at_any_time(
    kernels: Path, tmp_path: Path, number: int, said: str, undisturbed: tuple[int, str]
) -> None:
    status, whole = undisturbed
    assert status == 1
    for seconds, jobs, everyone, cached in moments(EXAMPLES):
        process = start(kernels, "--jobs", jobs, cache=tmp_path / "cache" if cached else None)
        listening(process)
        time.sleep(seconds)
        with contextlib.suppress(ProcessLookupError):  # it came too late
            if everyone:  # as a terminal does
                os.killpg(process.pid, number)
            else:
                process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
        where = (seconds, jobs, everyone, cached, process.returncode, err)
        assert clean(err), where
        if process.returncode == 1 and out:  # it came too late
            assert findings(out) == findings(whole), where
        elif (
            process.returncode == 1 or process.returncode == -number
        ):  # it came before anything had begun, or after the end
            assert out == "" or findings(out) == findings(whole), where
        else:
            assert process.returncode == 128 + number and said in err, where
        assert alone(process.pid), where


def test_a_second_interrupt(kernels: Path) -> None:
    for pause in (0.0, 0.001, 0.01, 0.05):
        process = start(kernels, "--jobs", "2")
        listening(process)
        time.sleep(0.2)
        for _ in range(5):
            with contextlib.suppress(ProcessLookupError):  # it has ended
                os.killpg(process.pid, signal.SIGINT)
            time.sleep(pause)
        _, err = process.communicate(timeout=PATIENCE)
        assert clean(err), err
        # -2 as long as nobody listened: a shell reports it as 130, too
        assert process.returncode in (1, 130, -signal.SIGINT)
        assert alone(process.pid)


@pytest.mark.parametrize("busy", [0.0, 0.2], ids=["at rest", "on a busy machine"])
def test_a_signal_that_python_would_drop(busy: float) -> None:
    """An exception in a destructor is printed and forgotten; a signal's comes again, also where it
    would come while the first one is still being dropped."""
    script = (
        "import os, signal, threading, time\n"
        "from verifier.cli import signals\n"
        "start = threading.Thread.start\n"
        f"threading.Thread.start = lambda thread: (start(thread), time.sleep({busy}))\n"
        "signals.listen()\n"
        "class Thing:\n"
        "    def __del__(self):\n"
        "        os.kill(os.getpid(), signal.{name})\n"
        "        time.sleep(1)\n"
        "try:\n"
        "    Thing()\n"
        "    time.sleep(20)\n"
        "    print('lost')\n"
        "except BaseException as error:\n"
        "    print(type(error).__name__)\n"
    )
    for name, expected in (("SIGINT", "KeyboardInterrupt"), ("SIGTERM", "Ended")):
        done = subprocess.run(
            [sys.executable, "-c", script.format(name=name)],
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.stdout, done.stderr) == (expected + "\n", "")


def test_a_signal_while_another_error_is_reported() -> None:
    """An exception would be dropped there: the signal comes again behind it."""
    script = (
        "import os, signal, sys, time\n"
        "from verifier.cli import signals\n"
        "sys.__unraisablehook__ = lambda lost: os.kill(os.getpid(), signal.SIGINT)\n"
        "signals.listen()\n"
        "class Thing:\n"
        "    def __del__(self):\n"
        "        raise ValueError\n"
        "try:\n"
        "    Thing()\n"
        "    time.sleep(20)\n"
        "    print('lost')\n"
        "except KeyboardInterrupt:\n"
        "    print('heard')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("heard\n", "")


def test_signals_that_are_ignored_stay_ignored(few: Path) -> None:
    process = subprocess.Popen(
        ["sh", "-c", 'trap \'\' INT HUP; exec "$0" "$@"', *CHECK],
        cwd=few,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    listening(process)
    time.sleep(0.2)
    os.killpg(process.pid, signal.SIGINT)
    os.killpg(process.pid, signal.SIGHUP)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (1, "")
    json.loads(out)


@pytest.mark.parametrize("format_", ["full", "json"])
def test_a_reader_that_goes_away(few: Path, tmp_path: Path, format_: str) -> None:
    (tmp_path / "tilelint").write_text(script(), encoding="utf-8")
    checked = f"sh {tmp_path / 'tilelint'} check --format {format_}"
    done = subprocess.run(
        ["bash", "-c", f"{checked} | head -c 1; echo ${{PIPESTATUS[0]}}"],
        cwd=few,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        pass_fds=[starter().fileno()],
    )
    # A short report may have been taken by the pipe as a whole before its reader went.
    assert done.stdout[1:].strip() in ("141", "1")
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_under_the_output(few: Path) -> None:
    check = ("check", "--format", "json")
    where: dict[str, Any] = {"cwd": few, "env": environment()}
    with Path("/dev/full").open("w") as full:
        process = Command(*check, stdout=full, stderr=subprocess.PIPE, **where)
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 2
        assert err == "tilelint: error: cannot write the report: No space left on device\n"
        done = subprocess.run(
            CHECK, cwd=few, env=environment(), stdout=full, stderr=full, check=False
        )
        assert done.returncode == 2
        process = Command(*check, stdout=subprocess.PIPE, stderr=full, **where)
        out, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 1
        json.loads(out)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_under_a_file_loses_nothing(
    kernels: Path, undisturbed: tuple[int, str]
) -> None:
    status, whole = undisturbed
    got, out, err = run(kernels, "--output", "/dev/full")
    assert (status, got) == (1, 2)
    assert err == "tilelint: error: /dev/full: cannot be written: No space left on device\n"
    assert json.loads(out)["diagnostics"] == json.loads(whole)["diagnostics"]
    got, out, err = run(kernels, "--write-baseline", "/dev/full")
    assert got == 2 and "/dev/full" in err and clean(err)
    assert json.loads(out)["diagnostics"] == json.loads(whole)["diagnostics"]


def test_an_interrupt_while_the_reader_sleeps() -> None:
    """More than a pipe holds is printed, and nobody reads."""
    process = command("rules", "--format", "markdown", env=environment())
    assert process.stdout is not None
    assert process.stdout.read(1) == "|"
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGINT)
    process.wait(timeout=PATIENCE)
    assert process.stderr is not None
    assert (process.returncode, process.stderr.read()) == (130, "tilelint: interrupted\n")
    process.stdout.close()
    process.stderr.close()


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams(few: Path, closed: str) -> None:
    done = subprocess.run(
        ["sh", "-c", " ".join([*CHECK, closed])],
        cwd=few,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "")
    if ">&-" not in closed.replace("2>&-", ""):
        json.loads(done.stdout)


def test_a_full_disk_under_the_cache(
    kernels: Path, tmp_path: Path, undisturbed: tuple[int, str]
) -> None:
    """Files may grow to 64 KiB only: the cache has to say so, and nothing else may change."""
    status, whole = undisturbed

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))

    for _ in range(2):
        done = subprocess.run(
            CHECK,
            cwd=kernels,
            env=environment(tmp_path / "cache"),
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=limit,
        )
        assert done.returncode == status and clean(done.stderr), done.stderr
        assert findings(done.stdout) == findings(whole)


def test_a_cache_that_cannot_be_used(
    kernels: Path, tmp_path: Path, undisturbed: tuple[int, str]
) -> None:
    status, whole = undisturbed
    cache = tmp_path / "cache"
    cache.write_text("a file")
    got, out, err = run(kernels, cache=cache)
    assert (got, findings(out)) == (status, findings(whole))
    assert err.startswith("tilelint: note: the cache in ") and err.count("\n") == 1, err
    cache.unlink()

    run(kernels, cache=cache)
    rng = random.Random(1)
    for turn in range(4):
        for path in cache.rglob("*"):
            if path.is_file():
                path.write_bytes(damaged(path.read_bytes(), turn, rng))
        got, out, err = run(kernels, cache=cache)
        assert clean(err), err
        assert (got, findings(out)) == (status, findings(whole))


def damaged(data: bytes, how: int, rng: random.Random) -> bytes:
    if how == 0 or not data:
        return b""
    if how == 1:
        return data[: len(data) // 2]
    changed = bytearray(data)
    for _ in range(40):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def test_a_cache_that_is_read_only(kernels: Path, undisturbed: tuple[int, str]) -> None:
    """As a file system that is mounted so. Root may write anywhere, and becomes someone else."""
    status, _ = undisturbed
    cache = kernels.parent / "cache"
    run(kernels, cache=cache)
    (kernels / "good.py").write_text(good("another"), encoding="utf-8")
    _, changed, _ = run(kernels)
    everything = [cache, *cache.rglob("*")]
    try:
        for path in everything:
            path.chmod(0o555 if path.is_dir() else 0o444)
        done = subprocess.run(
            CHECK,
            cwd=kernels,
            env=environment(cache),
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=nobody,
        )
    finally:
        for path in everything:
            path.chmod(0o755 if path.is_dir() else 0o644)
    assert done.returncode == status and clean(done.stderr), done.stderr
    assert findings(done.stdout) == findings(changed)


def nobody() -> None:
    """Root without the right to write where nobody may (PR_CAPBSET_DROP, CAP_DAC_OVERRIDE)."""
    if os.geteuid() == 0:
        ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)


def test_two_runs_at_once_on_one_cache(
    kernels: Path, tmp_path: Path, undisturbed: tuple[int, str]
) -> None:
    status, whole = undisturbed
    for _ in range(2):  # cold, then warm
        processes = [start(kernels, cache=tmp_path / "cache") for _ in range(4)]
        for process in processes:
            out, err = process.communicate(timeout=PATIENCE)
            assert (process.returncode, err) == (status, "")
            assert findings(out) == findings(whole)


def test_a_run_that_is_killed_leaves_a_cache_that_works(
    kernels: Path, tmp_path: Path, undisturbed: tuple[int, str]
) -> None:
    status, whole = undisturbed
    for seconds in (0.1, 0.2, 0.35):
        process = start(kernels, "--jobs", "2", cache=tmp_path / "cache")
        time.sleep(seconds)
        process.kill()
        process.communicate(timeout=PATIENCE)
        assert alone(process.pid)
    got, out, err = run(kernels, cache=tmp_path / "cache")
    assert (got, err) == (status, "")
    assert findings(out) == findings(whole)


def test_a_worker_that_is_killed_costs_its_file_only(kernels: Path) -> None:
    process = start(kernels, "--jobs", "2")
    below = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not below.exists():
        pytest.skip("no /proc with children")
    found: list[str] = []
    while not found and process.poll() is None:
        with contextlib.suppress(OSError):  # it has ended
            found = below.read_text().split()
        time.sleep(0.01)
    assert found
    os.kill(int(found[0]), signal.SIGKILL)
    out, err = process.communicate(timeout=PATIENCE)
    document = json.loads(out)
    assert process.returncode == 2 and "the worker process died (signal 9)" in err
    assert len(document["errors"]) == 1
    assert len({kernel["path"] for kernel in document["kernels"]}) >= 3
