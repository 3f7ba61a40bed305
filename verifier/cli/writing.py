"""Files that the command writes: whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from verifier.cli.output import Refusal


def check_writable(path: str, option: str) -> None:
    """Refuse early, before minutes of analysis, what cannot be written in any case."""
    file = Path(path)
    if file.is_dir():
        raise Refusal(f"{option} {path}: is a directory")
    if not file.parent.is_dir():
        raise Refusal(f"{option} {path}: no such directory: {file.parent}")


def write_whole(path: str, text: str) -> None:
    """Put ``text`` into the file ``path``, in UTF-8; a reader sees the old text or the new one.

    Links are followed. What is no regular file (a pipe, a device) is written to as it is.

    Raises:
        OSError: it cannot be written; the file is as it was.
    """
    data = text.encode("utf-8", "backslashreplace")
    file = Path(os.path.realpath(path))
    try:
        mode = file.stat().st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        file.write_bytes(data)
        return
    handle, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    beside = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        beside.chmod(_default_mode() if mode is None else stat.S_IMODE(mode))
        beside.replace(file)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise


def _default_mode() -> int:
    """The mode that a new file would have had."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
