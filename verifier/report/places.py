"""Paths as other programs and other machines know them: relative to the project's root."""

from __future__ import annotations

import os
from urllib.parse import quote


def below(path: str, root: str) -> str | None:
    """``path`` relative to the directory ``root`` with forward slashes; None: it is outside.

    A relative path counts from the current directory. An empty path stays empty.
    """
    if not path:
        return ""
    for resolve in (os.path.abspath, os.path.realpath):
        try:
            inside = os.path.relpath(resolve(path), resolve(root))
        except ValueError:  # another drive, or no path that the system could open
            continue
        if inside != os.pardir and not inside.startswith(os.pardir + os.sep):
            return inside.replace(os.sep, "/")
    return None


def portable(path: str, root: str) -> str:
    """``path`` relative to ``root`` if it is below it, else absolute; with forward slashes."""
    inside = below(path, root)
    return os.path.abspath(path).replace(os.sep, "/") if inside is None else inside  # noqa: PTH100


def uri(path: str, *, absolute: bool = False) -> str:
    """A path with forward slashes as a relative reference, or as a ``file`` URI."""
    try:
        data = path.encode("utf-8", "surrogateescape")  # the bytes of the name
    except UnicodeEncodeError:
        data = path.encode("utf-8", "surrogatepass")
    return f"file:///{quote(data.lstrip(b'/'), safe='/:')}" if absolute else quote(data)
