"""Paths as other programs and other machines know them: relative to the project's root."""

from __future__ import annotations

import os


def below(path: str, root: str) -> str | None:
    """``path`` relative to the directory ``root`` with forward slashes; None: it is outside.

    A relative path counts from the current directory. An empty path stays empty.
    """
    if not path:
        return ""
    for resolve in (os.path.abspath, os.path.realpath):
        full, top = resolve(path), resolve(root)
        try:
            inside = os.path.relpath(full, top)
        except ValueError:  # another drive
            continue
        if inside != os.pardir and not inside.startswith(os.pardir + os.sep):
            return inside.replace(os.sep, "/")
    return None


def portable(path: str, root: str) -> str:
    """``path`` relative to ``root`` if it is below it, else absolute; with forward slashes."""
    inside = below(path, root)
    return os.path.abspath(path).replace(os.sep, "/") if inside is None else inside  # noqa: PTH100
