"""The command as a process: exit codes, signals, closed pipes, start-up."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from .fake_engine import write

ROOT = Path(__file__).parents[2]
FAKE = [sys.executable, str(Path(__file__).with_name("fake_engine.py"))]
REAL = [sys.executable, "-m", "verifier"]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}


def start(command: Sequence[str], project: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command,
        cwd=project,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run(command: Sequence[str], project: Path) -> tuple[int, str, str]:
    process = start(command, project)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_python_dash_m(project: Path) -> None:
    status, out, err = run([*REAL, "--version"], project)
    assert (status, err) == (0, "")
    assert out.startswith("tilelint ")
    status, out, err = run([*REAL, "chek"], project)
    assert (status, out) == (2, "")
    assert err == (
        "tilelint: error: no such command 'chek'; did you mean 'check'? (see 'tilelint --help')\n"
    )


def test_start_up_imports_nothing_heavy(project: Path) -> None:
    script = (
        "import sys\nfrom verifier.cli.main import main\n"
        "main(['--version'])\nmain(['check', '-h'])\n"
        "heavy = {'rich', 'libcst', 'z3', 'numpy', 'multiprocessing', 'verifier.source.project'}\n"
        "sys.exit(len(heavy & set(sys.modules)))"
    )
    status, _, err = run([sys.executable, "-c", script], project)
    assert (status, err) == (0, "")


@pytest.mark.parametrize(("what", "status"), [("fine", 0), ("error", 1), ("crash", 2), ("die", 2)])
def test_exit_codes(project: Path, what: str, status: int) -> None:
    write(project, "one.py", what)
    write(project, "two.py")
    assert run([*FAKE, "check", "--jobs", "2"], project)[0] == status


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_interrupt(project: Path, jobs: str) -> None:
    write(project, "one.py", "sleep")
    write(project, "two.py", "sleep")
    process = start([*FAKE, "check", "--jobs", jobs], project)
    while len(list(project.glob("*.begun"))) < int(jobs) and process.poll() is None:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    begin = time.monotonic()
    out, err = process.communicate(timeout=30)
    assert time.monotonic() - begin < 5
    assert (process.returncode, out, err) == (130, "", "tilelint: interrupted\n")
    with pytest.raises(ProcessLookupError):  # no worker is left behind
        os.killpg(process.pid, 0)


def test_a_closed_pipe_is_no_error(project: Path) -> None:
    for index in range(2000):
        write(project, f"k{index}.py", "error")
    process = start([*FAKE, "check", "--format", "concise", "--jobs", "1"], project)
    assert process.stdout is not None and process.stderr is not None
    assert process.stdout.readline().startswith("k0.py:4:5: error[partition-extent]")
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(timeout=60) == 141
    process.stderr.close()


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_output_encoding(project: Path, encoding: str) -> None:
    write(project, "größe.py", "error")
    process = subprocess.run(
        [*FAKE, "check"],
        cwd=project,
        env={**environment(), "PYTHONIOENCODING": encoding},
        capture_output=True,
        timeout=60,
    )
    assert (process.returncode, process.stderr) == (1, b"")
    assert ("größe.py" in process.stdout.decode()) is (encoding == "utf-8")
    assert ("✗".encode() in process.stdout) is (encoding == "utf-8")


def on_a_terminal(command: Sequence[str], project: Path, **variables: str) -> bytes:
    pid, descriptor = pty.fork()
    if pid == 0:
        os.chdir(project)
        os.execve(command[0], list(command), {**environment(), "TERM": "xterm", **variables})
    output = b""
    while True:
        try:
            piece = os.read(descriptor, 65536)
        except OSError:  # how a terminal says that the other side is gone
            break
        if not piece:
            break
        output += piece
    os.close(descriptor)
    os.waitpid(pid, 0)
    return output


def test_colour_on_a_terminal_only(project: Path) -> None:
    write(project, "one.py", "error")
    assert b"\x1b[" in on_a_terminal([*FAKE, "check"], project)
    assert b"\x1b[" not in on_a_terminal([*FAKE, "check"], project, NO_COLOR="1")
    assert "\x1b[" not in run([*FAKE, "check"], project)[1]


def test_progress_on_a_terminal_only(project: Path) -> None:
    for index in range(8):
        write(project, f"k{index}.py", "pause")
    shown = on_a_terminal([*FAKE, "check", "--jobs", "2"], project)
    assert b"checking" in shown
    assert b"/8" in shown
    status, out, err = run([*FAKE, "check", "--jobs", "2"], project)
    assert (status, err) == (0, "")
    assert "checking" not in out
