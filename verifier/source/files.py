"""Which files a list of paths stands for."""

# Folders with thousands of files are walked: plain strings are several times faster here than
# path objects, and `Path.resolve` would follow links.
# ruff: noqa: PTH100, PTH110, PTH118, PTH120

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages"})


class PathError(Exception):
    """A path that was given, or a folder below it, that cannot be used."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(f"{path}: {message}")
        self.path = path
        self.message = message

    def __reduce__(self) -> tuple[type[PathError], tuple[Path, str]]:
        """Errors travel between processes."""
        return type(self), (self.path, self.message)


class MissingPathError(PathError):
    """A path that does not exist."""


def collect(paths: Iterable[Path], errors: list[PathError] | None = None) -> list[Path]:
    """The Python files that ``paths`` stand for: each once, in the order given, folders sorted.

    A file that is named is always taken. A folder is walked for ``*.py``, without hidden folders,
    virtual environments (folders with a ``pyvenv.cfg``), ``__pycache__``, what a ``.gitignore``
    excludes, and linked folders (so a loop of links cannot trap the walk).

    Args:
        paths: files and folders.
        errors: receives folders below ``paths`` that cannot be read; without it they are skipped.

    Raises:
        MissingPathError: one of ``paths`` does not exist.
        PathError: one of ``paths`` is a folder that cannot be read.
    """
    found: dict[str, Path] = {}
    for path in paths:
        try:
            if path.is_dir():
                walk = _Walk(path, errors)
                files: Sequence[Path] = walk.files()
            elif path.exists():
                files = [path]
            else:
                raise MissingPathError(path, "no such file or directory")
        except (OSError, ValueError) as error:
            raise PathError(path, f"cannot be read: {error}") from error
        for file in files:
            found.setdefault(os.path.abspath(file), file)
    return list(found.values())


class _Walk:
    def __init__(self, root: Path, errors: list[PathError] | None) -> None:
        self._root = root
        self._errors = errors
        self._found: list[Path] = []

    def files(self) -> list[Path]:
        specs = _specs_above(os.path.abspath(self._root))
        pending: list[tuple[Path, str, list[tuple[str, GitIgnoreSpec]]]] = [
            (self._root, os.path.abspath(self._root), specs)
        ]
        while pending:
            folder, absolute, specs = pending.pop()
            try:
                with os.scandir(folder) as scan:
                    entries = sorted(scan, key=lambda entry: entry.name)
            except OSError as error:
                failure = PathError(folder, f"cannot be read: {error.strerror or error}")
                if folder == self._root:
                    raise failure from error
                if self._errors is not None:
                    self._errors.append(failure)
                continue
            names = {entry.name for entry in entries}
            if "pyvenv.cfg" in names and folder != self._root:
                continue
            if ".gitignore" in names:
                spec = _read_spec(os.path.join(absolute, ".gitignore"))
                if spec is not None:
                    specs = [*specs, (absolute, spec)]
            below = []
            for entry in entries:
                path = folder / entry.name
                inner = os.path.join(absolute, entry.name)
                if entry.is_dir(follow_symlinks=False):
                    skip = entry.name.startswith(".") or entry.name in _SKIPPED
                    if not skip and not _ignored(inner + "/", specs):
                        below.append((path, inner, specs))
                elif entry.name.endswith(".py") and _is_file(entry) and not _ignored(inner, specs):
                    self._found.append(path)
            pending.extend(reversed(below))
        return self._found


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link that leads to itself
        return False


def _specs_above(folder: str) -> list[tuple[str, GitIgnoreSpec]]:
    """The ``.gitignore`` files between ``folder`` and the top of its repository, top first.

    Empty if they exclude ``folder`` itself: who names it wants it walked.
    """
    chain: list[str] = []
    current = folder
    while not os.path.exists(os.path.join(current, ".git")):
        parent = os.path.dirname(current)
        if parent == current:
            return []  # not in a repository
        chain.append(parent)
        current = parent
    specs = []
    for above in reversed(chain):
        spec = _read_spec(os.path.join(above, ".gitignore"))
        if spec is not None:
            specs.append((above, spec))
    inside = [*reversed(chain[:-1]), folder]
    return [] if any(_ignored(path + "/", specs) for path in inside) else specs


def _read_spec(path: str) -> GitIgnoreSpec | None:
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(text.splitlines())


def _ignored(path: str, specs: list[tuple[str, GitIgnoreSpec]]) -> bool:
    """Whether the nearest ``.gitignore`` with an opinion on ``path`` excludes it."""
    for folder, spec in reversed(specs):
        verdict = spec.check_file(path[len(folder) :].lstrip("/\\")).include
        if verdict is not None:
            return verdict
    return False
