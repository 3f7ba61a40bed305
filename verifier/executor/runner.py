"""Running a kernel in a process of its own, from the outside."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from verifier.executor import places, protocol
from verifier.executor.protocol import Reply, Request

#: seconds that starting Python and loading may take on top of the kernel's own time
_GRACE = 15.0
#: seconds that a process that hangs has to write down its line
_ANSWER = 0.5


def run(request: Request, save: Path | None = None) -> Reply:
    """Run a kernel in a subprocess; ``save``: where inputs and results go, as ``.npz``."""
    with tempfile.TemporaryDirectory(prefix="tilelint-") as name:
        folder = Path(name)
        request.write(folder / protocol.REQUEST)
        process = _start(name)
        try:
            status = process.wait(timeout=request.timeout + _GRACE)
        except subprocess.TimeoutExpired:
            _ask(process)
            text = f"the kernel still runs after {request.timeout:g} seconds"
            return Reply(ended=("time", text, *_place(folder, request.path)))
        finally:
            _kill(process)
        found = folder / protocol.REPLY
        if not found.is_file():
            return Reply(ended=("died", _death(status), *_place(folder, request.path)))
        reply = Reply.read(found)
        arrays = folder / protocol.ARRAYS
        if save is not None and arrays.is_file():
            shutil.copyfile(arrays, save)
        return reply


def _start(folder: str) -> subprocess.Popen[bytes]:
    """A process that answers the request in a folder, in a session of its own."""
    script = Path(__file__).with_name("child.py")
    environment = {**os.environ, "PYTHONSAFEPATH": ""}
    return subprocess.Popen(
        [sys.executable, str(script), folder], env=environment, start_new_session=True
    )


def _ask(process: subprocess.Popen[bytes]) -> None:
    """Have a process that hangs write down where it is; it may die of it."""
    process.send_signal(protocol.ASK)
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=_ANSWER)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the process if it still runs, and those that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _place(folder: Path, path: str) -> tuple[str, int]:
    """The innermost line of the user's own code in the last traceback, else the kernel's file."""
    place: tuple[str, int] = (path, 0)
    with suppress(OSError):
        for line in (folder / protocol.TRACE).read_text("utf-8", "replace").splitlines():
            entry = re.fullmatch(r'  File "(.*)", line (\d+) in .*', line)
            if "hread 0x" in line:  # the next traceback
                place = (path, 0)
            elif entry is not None and not place[1] and places.is_user(entry[1]):
                place = (entry[1], int(entry[2]))
    return place


def _death(status: int) -> str:
    if status < 0:
        with suppress(ValueError):
            return f"the process of the kernel was ended by {signal.Signals(-status).name}"
    return f"the process of the kernel ended with status {status}"
