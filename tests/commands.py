"""The command in a process of its own, without its start: forked from one that has loaded it.

Loading takes most of the time of a small run. What is about starting (interrupts, hash seeds, the
first import) starts a Python instead.
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import gc
import json
import os
import pkgutil
import shlex
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
from typing import IO, TYPE_CHECKING, Any, Final
from unittest import mock

import rules
import verifier
from tests.starter import Started
from verifier.executor import child, loader, runner

ROOT: Final = Path(__file__).resolve().parent.parent
_FILES: Final = 5  # of a request: itself, whom to tell, and the three streams of the command


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
    request = _request(words, cwd, env, forked=forked)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = Started(starter(tree), request, (0, out.fileno(), err.fileno()))
        try:
            status = started.ended(timeout)
        except TimeoutError:
            os.kill(started.pid, signal.SIGKILL)
            started.ended(None)
            raise subprocess.TimeoutExpired(words, timeout) from None
        return subprocess.CompletedProcess(words, status, _text(out), _text(err))


def _request(
    words: list[str], cwd: Path, env: Mapping[str, str] | None, **options: bool
) -> dict[str, Any]:
    environment = dict(os.environ if env is None else env)
    return {"arguments": words, "cwd": str(cwd), "env": environment, **options}


class Command(subprocess.Popen[str]):
    """``tilelint arguments`` in a session of its own, for whoever needs its process."""

    def __init__(
        self,
        *arguments: object,
        cwd: Path = ROOT,
        env: Mapping[str, str] | None = None,
        **streams: Any,
    ) -> None:
        """``streams``: ``stdin``, ``stdout`` and ``stderr`` as :mod:`subprocess` takes them."""
        words = ["-m", "verifier", *map(str, arguments)]
        self._request = _request(words, cwd, env, forked=True, session=True)
        self._started: Started | None = None
        super().__init__(words, text=True, **streams)

    # What `Popen` leaves to those who start a process in another way: 3.10 to 3.13 agree.

    if TYPE_CHECKING:  # its own, which its types leave out

        def _close_pipe_fds(self, *descriptors: int) -> None: ...

    def _execute_child(self, *given: Any) -> None:
        # pairs of descriptors, this process has -1 where it goes on with its own
        into, into_here, out_here, out, err_here, err = given[10:16]
        streams = [own if file == -1 else file for own, file in enumerate((into, out, err))]
        self._started = Started(starter(), self._request, streams)
        self.pid = self._started.pid
        self._child_created = True
        self._close_pipe_fds(into, into_here, out_here, out, err_here, err)

    def _internal_poll(self, _deadstate: int | None = None) -> int | None:
        if self.returncode is None and self._started is not None:
            with contextlib.suppress(BlockingIOError):
                self.returncode = self._started.ended(0)
        return self.returncode

    def _wait(self, timeout: float | None) -> int:
        if self.returncode is None and self._started is not None:
            try:
                self.returncode = self._started.ended(timeout)
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired(self.args, timeout or 0) from None
        return self.returncode


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
        self._started = Started(starter(), _request(["kernel", folder], Path.cwd(), None))
        self.pid = self._started.pid
        self._status: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        if self._status is None:
            try:
                self._status = self._started.ended(timeout)
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


def script() -> str:
    """A ``tilelint`` for scripts, whose processes have to inherit the socket of ``starter()``."""
    words = [sys.executable, "-I", "-S", str(ROOT / "tests/starter.py"), str(starter().fileno())]
    return f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n'


def starter(tree: Path = ROOT) -> socket.socket:
    return _starter(tree)


@cache
def _starter(tree: Path) -> socket.socket:
    """The socket of a process that has loaded the command; it ends with whoever made it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.commands", str(theirs.fileno())],
            cwd=tree,
            env={**os.environ, "PYTHONPATH": f"{tree}{os.pathsep}{ROOT}", "PYTHONUTF8": "1"},
            pass_fds=[theirs.fileno()],
        )

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def _serve(number: int) -> int:
    """Fork a process for each request, until there is nobody to ask."""
    from verifier.cli.main import main

    for package in (rules, verifier):  # also what is loaded when it is needed
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            import_module(found.name)
    loader.complete()
    if ROOT in Path(verifier.__file__).parents:  # of other trees little is asked
        _warm()
    gc.freeze()  # what is shared with all commands is not looked through by each
    request: dict[str, Any] | None = None
    with socket.socket(fileno=number) as asked:
        while request is None:
            data, files, _, _ = socket.recv_fds(asked, 1, _FILES)
            if not data:
                return 0
            if os.fork() == 0:
                request = _kept(files)
            for file in files:
                os.close(file)
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.path[0] = request["cwd"]
    if request["arguments"][0] == "kernel":
        os.setsid()
        child.main(request["arguments"][1])  # ends the process
    if request.get("session"):
        os.setsid()
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # as `__main__` says until it listens
    _open_streams()
    if os.environ.get("PYTHONFAULTHANDLER"):
        faulthandler.enable()
    if request["forked"]:
        mock.patch.object(runner, "_start", _ForkedHere).start()
        mock.patch.object(subprocess.Popen, "_execute_child", _analyst()).start()
    form, what, *sys.argv[1:] = request["arguments"]
    if form == "-c":
        exec(what, {"__name__": "__main__"})
        return 0
    assert (form, what) == ("-m", "verifier")
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # taking everything down that is loaded takes longer than most commands


def _warm() -> None:
    """What a first analysis makes for all later ones is made before anything is forked."""
    from verifier.engine import analyze_file
    from verifier.report.model import FileRequest
    from verifier.symbolic import expr

    analyze_file(FileRequest(str(ROOT / "fixtures/nki/bad/output_tail.py")))
    expr.fresh_context()


def _open_streams() -> None:
    """Python asks once what kind of file each is; those of the starter stay referred to."""
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115


def _kept(files: list[int]) -> dict[str, Any]:
    """The request, in the process that is to carry it out; its parent tells how it ends."""
    pid = os.fork()
    if pid:
        with socket.socket(fileno=files[1]) as told:
            for file in (files[0], *files[2:]):
                os.close(file)
            told.send(str(pid).encode())
            _, status = os.waitpid(pid, 0)
            with contextlib.suppress(OSError):  # nobody waits any more
                told.send(str(os.waitstatus_to_exitcode(status)).encode())
        os._exit(0)
    with open(files[0], "rb", closefd=False) as stream:  # a descriptor
        stream.seek(0)
        request: dict[str, Any] = json.loads(stream.read())
    for descriptor, file in enumerate(files[2:]):
        os.dup2(file, descriptor)
    return request


def _analyst() -> Any:
    """How a server starts processes: the one that analyses is forked from it."""
    from verifier.lsp import analyst, worker

    start = subprocess.Popen.__dict__["_execute_child"]

    def execute(self: Any, command: Any, *given: Any) -> None:
        if tuple(command) != analyst._worker():
            start(self, command, *given)
            return
        into, into_here, out_here, out, err_here, err = given[9:15]
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.dup2(into, 0)
                os.dup2(out, 1)
                os.closerange(3, 1024)  # nobody but the server may keep its ends open
                signal.set_wakeup_fd(-1)
                worker.main()
            finally:
                os._exit(70)
        self._child_created = True
        self._close_pipe_fds(into, into_here, out_here, out, err_here, err)

    return execute


if __name__ == "__main__":
    sys.exit(_serve(int(sys.argv[1])))
