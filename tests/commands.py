"""The command in a process of its own, without its start: forked from one that has loaded it.

Loading takes most of the time of a small run. What is about starting (interrupts, hash seeds, the
first import) starts a Python instead.
"""

from __future__ import annotations

import array
import atexit
import faulthandler
import gc
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Final
from unittest import mock

import rules
import verifier
from verifier.executor import child, loader, runner

ROOT: Final = Path(__file__).resolve().parent.parent
_STREAMS: Final = 2  # of a command: what it prints, and its errors


def tilelint(
    *arguments: object,
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
    timeout: float = 300,
    forked: bool = True,
) -> subprocess.CompletedProcess[str]:
    """Run ``tilelint arguments`` in the folder ``cwd``, with the environment ``env`` (ours).

    ``forked``: kernels that it runs do without the start of a Python as well.

    Raises:
        subprocess.TimeoutExpired: it takes longer than ``timeout`` seconds.
    """
    words = ("-m", "verifier", *arguments)
    return python(*words, cwd=cwd, env=env, timeout=timeout, forked=forked)


def python(
    *arguments: object,
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
    timeout: float = 300,
    tree: Path = ROOT,
    forked: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run ``python -m verifier ...`` or ``python -c ...`` with the packages of the folder ``tree``.

    Raises:
        subprocess.TimeoutExpired: it takes longer than ``timeout`` seconds.
    """
    words = [str(argument) for argument in arguments]
    request = {
        "arguments": words,
        "cwd": str(cwd),
        "env": dict(os.environ if env is None else env),
        "forked": forked,
    }
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        streams = (out.fileno(), err.fileno())
        status = _starter(tree).run(json.dumps(request).encode(), streams, timeout)
        if status is None:
            raise subprocess.TimeoutExpired(words, timeout)
        return subprocess.CompletedProcess(words, status, _text(out), _text(err))


def _text(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode()


class _Process:
    """The process of a kernel that runs, as far as those who wait for it use a ``Popen``."""

    pid: int

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)


class KernelProcess(_Process):
    """One that the starter of commands forks."""

    def __init__(self, folder: str) -> None:
        request = {"arguments": ["kernel", folder], "cwd": str(Path.cwd()), "env": {**os.environ}}
        self._starter = _starter(ROOT)
        self.pid = self._starter.start(json.dumps(request).encode(), (1, 2))
        self._status: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        if self._status is None:
            try:
                self._status = self._starter.ended(timeout)
            except TimeoutError:
                raise subprocess.TimeoutExpired("kernel", timeout or 0) from None
        return self._status


class _ForkedHere(_Process):
    """One of a command that was forked itself: the starter waits for the command meanwhile."""

    def __init__(self, folder: str) -> None:
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            try:
                child.main(folder)
            finally:  # what goes wrong is for nobody above us
                os._exit(70)
        self._status: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        end = time.monotonic() + (timeout if timeout is not None else 3600)
        while self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._status = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > end:
                raise subprocess.TimeoutExpired("kernel", timeout or 0)
            else:
                time.sleep(0.002)
        return self._status


class _Starter:
    """A process that has loaded the command; it ends with the process that made it."""

    def __init__(self, tree: Path) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.commands", str(theirs.fileno())],
                cwd=tree,
                env={**os.environ, "PYTHONPATH": f"{tree}{os.pathsep}{ROOT}", "PYTHONUTF8": "1"},
                pass_fds=[theirs.fileno()],
            )
        atexit.register(self._end)

    def run(self, request: bytes, streams: tuple[int, ...], timeout: float) -> int | None:
        """The exit status of a command as :mod:`subprocess` says it; None: it was stopped."""
        pid = self.start(request, streams)
        try:
            return self.ended(timeout)
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            self.ended(None)
            return None

    def start(self, request: bytes, streams: tuple[int, ...]) -> int:
        """The number of the process that carries out a request, with these descriptors."""
        with tempfile.TemporaryFile() as asked:
            asked.write(request)
            asked.flush()
            files = array.array("i", [asked.fileno(), *streams])
            self._socket.sendmsg([b"!"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)])
            return int(self._answer())

    def ended(self, timeout: float | None) -> int:
        """The exit status of the process that was started last.

        Raises:
            TimeoutError: it goes on for longer than ``timeout`` seconds.
        """
        self._socket.settimeout(timeout)
        try:
            return int(self._answer())
        finally:
            self._socket.settimeout(None)

    def _end(self) -> None:
        self._socket.close()
        self._process.wait()

    def _answer(self) -> bytes:
        answer = self._socket.recv(64)
        assert answer, f"the starter of commands ended with {self._process.wait()}"
        return answer


@cache
def _starter(tree: Path) -> _Starter:
    return _Starter(tree)


def _serve(number: int) -> int:
    """Fork a process for each request, until there is nobody to ask."""
    from verifier.cli.main import main

    for package in (rules, verifier):  # also what is loaded when it is needed
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.startswith("verifier.lsp"):
                import_module(found.name)
    loader.complete()
    gc.freeze()  # what is shared with all commands is not looked through by each
    with socket.socket(fileno=number) as asked:
        while True:
            data, files, _, _ = socket.recv_fds(asked, 1, 1 + _STREAMS)
            if not data:
                return 0
            pid = os.fork()
            if pid == 0:
                break
            for file in files:
                os.close(file)
            asked.send(str(pid).encode())
            _, status = os.waitpid(pid, 0)
            asked.send(str(os.waitstatus_to_exitcode(status)).encode())
    with open(files[0], "rb") as stream:  # noqa: PTH123  # a descriptor
        stream.seek(0)
        request = json.loads(stream.read())
    for descriptor, file in enumerate(files[1:], 1):
        os.dup2(file, descriptor)
        os.close(file)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.path[0] = request["cwd"]
    if request["arguments"][0] == "kernel":
        os.setsid()
        child.main(request["arguments"][1])  # ends the process
    if os.environ.get("PYTHONFAULTHANDLER"):
        faulthandler.enable()
    if request["forked"]:
        mock.patch.object(runner, "_start", _ForkedHere).start()
    form, what, *sys.argv[1:] = request["arguments"]
    if form == "-c":
        exec(what, {"__name__": "__main__"})
        return 0
    assert (form, what) == ("-m", "verifier")
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # taking everything down that is loaded takes longer than most commands


if __name__ == "__main__":
    sys.exit(_serve(int(sys.argv[1])))
