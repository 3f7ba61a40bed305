"""Which settings hold for a file, and where each of them comes from.

The configuration of a file is the nearest ``tilelint.toml``, or ``pyproject.toml`` with a table
``[tool.tilelint]``, in its folder or one above, up to the top of its repository (without a
repository: of the file system). In one folder, ``tilelint.toml`` wins. Files further up are not
looked at. From the lowest to the highest, these say what holds:

1. the defaults,
2. the configuration file,
3. its ``overrides`` whose ``paths`` match the file, later ones above earlier ones,
4. the command line.

A higher level replaces a lower one's value. Tables are replaced key by key, and ``ignore`` adds up
(see :mod:`verifier.configuration.table`).
"""

# A tree has thousands of folders: plain strings, and links are not followed.
# ruff: noqa: PTH100, PTH110, PTH112, PTH113, PTH118, PTH120, PTH123

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from verifier.configuration.model import (
    NAME,
    PROJECT,
    ConfigurationError,
    KernelContract,
    Origin,
    Overrides,
    Problem,
    Resolved,
    Settings,
)

# Most trees have no configuration: what reads one is imported when there is one.
if TYPE_CHECKING:
    from verifier.configuration.documents import Document
    from verifier.configuration.table import Layer


class Configurations:
    """The configuration of every file, under one command line. Each file is read once."""

    def __init__(self, overrides: Overrides | None = None) -> None:
        """
        Raises:
            ConfigurationError: ``overrides`` hold something unknown; or name a file that cannot
                be used as configuration.
        """
        overrides = overrides or Overrides()
        #: what stands above every file
        self.overrides = overrides
        self._isolated = overrides.isolated
        self._config = os.path.abspath(overrides.config) if overrides.config else None
        self._top = _said(overrides)
        self._folders: dict[str, Document | None] = {}
        self._read: dict[str, Document] = {}
        self._answers: dict[
            tuple[int, tuple[int, ...], frozenset[str]], tuple[Settings, Layer | None]
        ] = {}
        #: what was looked at -> its stamp then
        self._stamps: dict[str, tuple[int, int] | None] = {}

    # -- questions

    def for_file(self, path: str) -> Resolved:
        """The settings of a file.

        Raises:
            ConfigurationError: its configuration cannot be used.
        """
        full = os.path.abspath(path)
        document = self._usable(os.path.dirname(full))
        if document is None:
            return self._resolved(path, None, (), frozenset(), None)
        inside = _relative(full, document.base)
        matching: tuple[int, ...] = ()
        files: frozenset[str] = frozenset()
        excluded = None
        if inside is not None:
            matching = tuple(
                n for n, (spec, _) in enumerate(document.overrides) if spec.match_file(inside)
            )
            files = frozenset(p for p, spec in document.files.items() if spec.match_file(inside))
            for spec, origin in document.exclude:
                verdict = spec.check_file(inside).include
                if verdict is not None:
                    excluded = origin if verdict else None
        return self._resolved(path, document, matching, files, excluded)

    def for_run(self, paths: Sequence[str]) -> Resolved:
        """The settings of a whole run: of the folder that all ``paths`` have in common.

        Raises:
            ConfigurationError: its configuration cannot be used.
        """
        folders = [
            full if os.path.isdir(full) else os.path.dirname(full)
            for full in map(os.path.abspath, paths)
        ]
        try:
            common = os.path.commonpath(folders)
        except ValueError:  # no path, or several drives
            common = os.path.abspath(".")
        return self._resolved(common, self._usable(common), (), frozenset(), None)

    def left_out(self, paths: Sequence[str]) -> list[Resolved]:
        """Those of ``paths`` that are files and that their configurations leave out."""
        files = [path for path in paths if os.path.isfile(path)]
        return [found for found in map(self.for_file, files) if found.excluded is not None]

    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the configurations met so far."""
        found = [p for document in self._read.values() for p in document.problems]
        return tuple(sorted(set(found), key=lambda p: (p.path, p.line, p.message)))

    def shadowed(self) -> tuple[Problem, ...]:
        """Tables of the configurations met so far that another file in their folder hides."""
        found = [d.shadowed for d in self._read.values() if d.shadowed is not None]
        return tuple(sorted(found, key=lambda p: p.path))

    def contracts(self) -> tuple[KernelContract, ...]:
        """Every contract of the configurations met so far, and of the command line."""
        found = [] if self._top is None else self._top.contracts()
        for document in self._read.values():
            found += document.contracts()
        return tuple(dict.fromkeys(found))

    def folder_of(self, contract: KernelContract) -> str | None:
        """The folder for whose files a contract is meant; None for the command line's."""
        document = self._read.get(contract.origin.path)
        return document.base if document else None

    def line_of(self, contract: KernelContract) -> int:
        """The line of the key that a contract of a configuration file stands at."""
        document = self._read.get(contract.origin.path)
        return document.line_of(contract) if document else contract.origin.line

    def concerns(self, contract: KernelContract, path: str) -> bool:
        """Whether a contract, by where it stands and its pattern, is meant for a file."""
        if contract.origin.source != "file":
            return True
        full = os.path.abspath(path)
        document = self._document(os.path.dirname(full))
        if document is None or document.path != contract.origin.path:
            return False  # a nearer configuration holds
        inside = _relative(full, document.base)
        return inside is not None and document.concerns(contract, inside)

    def refresh(self) -> None:
        """Forget what was read if any of it, or what was not there, has changed on disk."""
        if any(_stamp(path) != stamp for path, stamp in self._stamps.items()):
            self._folders.clear()
            self._read.clear()
            self._answers.clear()
            self._stamps.clear()

    # -- finding and reading

    def _usable(self, folder: str) -> Document | None:
        document = self._document(folder)
        if document is not None and document.problems:
            raise ConfigurationError(document.problems)
        return document

    def _document(self, folder: str) -> Document | None:
        if self._isolated:
            return None
        if self._config is not None:
            if self._config not in self._read:
                self._stamps[self._config] = _stamp(self._config)
                from verifier.configuration.documents import read_named

                self._read[self._config] = read_named(self._config)
            return self._read[self._config]
        passed: list[str] = []
        found: Document | None = None
        while True:
            if folder in self._folders:
                found = self._folders[folder]
                break
            passed.append(folder)
            found = self._in_folder(folder)
            parent = os.path.dirname(folder)
            if found is not None or parent == folder or _is_top(folder):
                break
            folder = parent
        self._folders.update(dict.fromkeys(passed, found))
        return found

    def _in_folder(self, folder: str) -> Document | None:
        own, shared = os.path.join(folder, NAME), os.path.join(folder, PROJECT)
        for path in (own, shared):
            self._stamps[path] = _stamp(path)
        used = self._stamps[own] is not None
        shared_used = self._stamps[shared] is not None and _speaks(shared)
        if not used and not shared_used:
            return None
        from verifier.configuration.documents import read_file

        document = read_file(own, folder) if used else None
        if shared_used:
            other = read_file(shared, folder)
            if document is None:
                document = other
            elif other is not None:
                message = f"[tool.tilelint] is not used: {NAME} in the same folder wins"
                document.shadowed = Problem(shared, other.line, message)
        if document is not None:
            self._read[document.path] = document
        return document

    # -- answers

    def _resolved(
        self,
        path: str,
        document: Document | None,
        matching: tuple[int, ...],
        files: frozenset[str],
        excluded: Origin | None,
    ) -> Resolved:
        key = (id(document), matching, files)
        found = self._answers.get(key)
        if found is None:
            found = self._answers[key] = self._answer(document, matching, files)
        settings, layer = found
        said = layer.given() if layer is not None else None
        return Resolved(path, document.path if document else None, settings, said, excluded)

    def _answer(
        self, document: Document | None, matching: tuple[int, ...], files: frozenset[str]
    ) -> tuple[Settings, Layer | None]:
        if document is None and self._top is None:
            return Settings(), None
        from verifier.configuration.documents import answer

        layers: list[Layer] = []
        if document is not None:
            layers = [document.layer, *(document.overrides[n][1] for n in matching)]
        return answer(layers, self._top, files)


def _said(overrides: Overrides) -> Layer | None:
    """What stands above all configuration files, if there is anything."""
    if replace(overrides, config=None, isolated=False) == Overrides():
        return None
    from verifier.configuration.documents import command_line

    return command_line(overrides)


def _speaks(path: str) -> bool:
    """Whether a ``pyproject.toml`` may hold a table for this tool; False for a folder."""
    try:
        with open(path, "rb") as stream:
            return b"tilelint" in stream.read()
    except IsADirectoryError:
        return False
    except OSError:
        return True  # the reader says what is wrong


def _relative(path: str, base: str) -> str | None:
    """The path below ``base`` as patterns see it; None if it is elsewhere."""
    start = base if base.endswith(os.sep) else base + os.sep
    return path[len(start) :].replace(os.sep, "/") if path.startswith(start) else None


def _is_top(folder: str) -> bool:
    """Whether a repository starts here."""
    return os.path.exists(os.path.join(folder, ".git"))


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size
