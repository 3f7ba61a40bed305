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
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Final

import rules
import verifier

ROOT: Final = Path(__file__).resolve().parent.parent
_STREAMS: Final = 2  # of a command: what it prints, and its errors


def tilelint(
    *arguments: object,
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
    timeout: float = 300,
) -> subprocess.CompletedProcess[str]:
    """Run ``tilelint arguments`` in the folder ``cwd``, with the environment ``env`` (ours).

    Raises:
        subprocess.TimeoutExpired: it takes longer than ``timeout`` seconds.
    """
    return python("-m", "verifier", *arguments, cwd=cwd, env=env, timeout=timeout)


def python(
    *arguments: object,
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
    timeout: float = 300,
    tree: Path = ROOT,
) -> subprocess.CompletedProcess[str]:
    """Run ``python -m verifier ...`` or ``python -c ...`` with the packages of the folder ``tree``.

    Raises:
        subprocess.TimeoutExpired: it takes longer than ``timeout`` seconds.
    """
    words = [str(argument) for argument in arguments]
    request = {"arguments": words, "cwd": str(cwd), "env": dict(os.environ if env is None else env)}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        status = _starter(tree).run(json.dumps(request).encode(), (out, err), timeout)
        if status is None:
            raise subprocess.TimeoutExpired(words, timeout)
        return subprocess.CompletedProcess(words, status, _text(out), _text(err))


def _text(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode()


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

    def run(self, request: bytes, streams: tuple[IO[bytes], ...], timeout: float) -> int | None:
        """The exit status of a command as :mod:`subprocess` says it; None: it was stopped."""
        with tempfile.TemporaryFile() as asked:
            asked.write(request)
            asked.flush()
            files = array.array("i", [asked.fileno(), *(stream.fileno() for stream in streams)])
            self._socket.sendmsg([b"!"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)])
            pid = int(self._answer())
            self._socket.settimeout(timeout)
            try:
                return int(self._answer())
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                self._socket.settimeout(None)
                self._answer()
                return None
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
    if os.environ.get("PYTHONFAULTHANDLER"):
        faulthandler.enable()
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
