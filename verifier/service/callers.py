"""The files of a project whose kernels may call what a file defines: they say what is a helper;
those that may launch its kernels; and those whose kernels it may launch itself."""

# Whole trees are looked at: plain strings are several times faster here than path objects.
# ruff: noqa: PTH100, PTH116, PTH118, PTH120

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

from verifier.source.files import PathError, collect
from verifier.source.imports import imports, used, users
from verifier.source.project import Project, project_around
from verifier.source.sources import Sources
from verifier.source.text import SourceError, may_hold_kernels

_WORD: Final = re.compile(rb"\w+")
#: seconds for each file of a project between two looks at all of them
_OFTEN: Final = 0.0005
#: the top-level functions of a file
_DEFINED: Final = re.compile(rb"^(?:async[ \t]+)?def[ \t]+(\w+)", re.MULTILINE)


def callers(
    files: Iterable[str], alone: Collection[str], roots: Sequence[str], sources: Sources
) -> dict[str, tuple[str, ...]]:
    """For each of ``files`` those that import it, through any number of files, and may call it.

    Args:
        files: absolute paths of all that is checked together.
        alone: those of them that stand for themselves: the rest of their projects counts, too,
            as far as it names one of their functions.
        roots: where imports are looked up.
        sources: what files hold.
    """
    known = list(files)
    outside = _naming(alone, set(known), sources)
    if len(known) + len(outside) < 2:
        return dict.fromkeys(known, ())
    found = users(Project(map(Path, roots), sources), [*known, *outside])
    inside = set(known)
    return {
        path: tuple(user for user in found[path] if user in inside or path in alone)
        for path in known
    }


def _naming(alone: Collection[str], known: Collection[str], sources: Sources) -> list[str]:
    """The files around those that stand alone that may hold kernels and name their functions."""
    defined: dict[str, set[bytes]] = {}
    for path in alone:
        top = project_around(path)
        with suppress(SourceError):
            names = _DEFINED.findall(sources.read(Path(path)))
            if top is not None and names:
                defined.setdefault(top, set()).update(names)
    found: dict[str, None] = {}
    for top, wanted in defined.items():
        # one search for all names: to look at each word of a project takes several times as long
        names_one = re.compile(rb"\b(?:" + b"|".join(sorted(wanted)) + rb")\b").search
        for path in _listed(top):
            with suppress(SourceError):
                raw = sources.read(Path(path)) if path not in known else b""
                if may_hold_kernels(raw) and names_one(raw):
                    found[path] = None
    return list(found)


def _listed(top: str) -> list[str]:
    try:
        return [os.path.abspath(file) for file in collect([Path(top)], [])]
    except PathError:
        return []


#: when a file or a folder was changed, and its size; None: it is not there
_Stamp: TypeAlias = tuple[int, int] | None


class _Surroundings:
    """The files of a project as they were when somebody looked last."""

    def __init__(self, top: str) -> None:
        self._top = top
        #: of all folders that lead to a file, and of all files
        self._folders: dict[str, _Stamp] = {}
        self._files: dict[str, _Stamp] = {}
        #: the words of those that may hold kernels, and of the imports of the others
        self.words: dict[str, frozenset[bytes]] = {}
        self.imported: dict[str, frozenset[bytes]] = {}
        self._looked = 0.0
        #: how often something was found to have changed
        self.changes = 0

    def look(self) -> None:
        """Take over what has changed on disk; in a large project not at every key."""
        now = time.monotonic()
        if now - self._looked < _OFTEN * len(self._files):
            return
        self._looked = now
        if not self._folders or any(_stamp(p) != stamp for p, stamp in self._folders.items()):
            self._list()
        for path, before in self._files.items():
            stamp = _stamp(path)
            if stamp != before:
                self.changes += 1
                self._files[path] = stamp
                self._read(path)

    def _list(self) -> None:
        files = _listed(self._top)
        folders = {self._top}
        for path in files:
            folder = os.path.dirname(path)
            while folder not in folders and folder.startswith(self._top):
                folders.add(folder)
                folder = os.path.dirname(folder)
        self._folders = {folder: _stamp(folder) for folder in sorted(folders)}
        gone = self._files.keys() - files
        self.changes += bool(gone)
        self._files = {path: self._files.get(path) for path in files}
        for path in gone:
            self.words.pop(path, None)
            self.imported.pop(path, None)

    def _read(self, path: str) -> None:
        self.words.pop(path, None)
        self.imported.pop(path, None)
        with suppress(OSError):
            raw = Path(path).read_bytes()
            if may_hold_kernels(raw):
                self.words[path] = frozenset(_WORD.findall(raw))
            else:
                self.imported[path] = _imported(raw)


class Neighbourhood:
    """The callers of files under edit, at little cost while nothing else changes."""

    def __init__(self) -> None:
        self._tops: dict[str, _Surroundings] = {}
        self._answers: dict[str, tuple[object, tuple[str, ...]]] = {}

    def callers(
        self, path: str, roots: Sequence[str], buffers: Mapping[str, str]
    ) -> tuple[str, ...]:
        """What :func:`callers` says of a file that stands alone; ``buffers`` are not saved yet."""
        top = project_around(path)
        if top is None:
            return ()
        around = self._around(top)
        texts = _bytes(buffers)
        own = _own(path, texts)
        wanted = frozenset(_DEFINED.findall(own))
        inside = os.path.join(top, "")
        naming = {p for p, words in around.words.items() if p not in texts and wanted & words}
        naming |= {
            other
            for other, raw in texts.items()
            if other.startswith(inside)
            and may_hold_kernels(raw)
            and not wanted.isdisjoint(_WORD.findall(raw))
        }
        naming.discard(path)
        if not naming:
            return ()
        key = (around.changes, frozenset(naming), tuple(roots))
        known = self._answers.get(path)
        if known is None or known[0] != key:
            project = Project(map(Path, roots), Sources(buffers))
            known = self._answers[path] = (key, users(project, [path, *sorted(naming)])[path])
        return known[1]

    def launching(self, path: str, buffers: Mapping[str, str]) -> tuple[str, ...]:
        """The other files of a file's project that may launch its kernels: they import it, or
        something by the name of one of its functions."""
        top = project_around(path)
        if top is None:
            return ()
        around = self._around(top)
        texts = _bytes(buffers)
        wanted = {*_DEFINED.findall(_own(path, texts)), _module(path)}
        inside = os.path.join(top, "")
        words = {**around.words, **around.imported}
        words |= {
            other: frozenset(_WORD.findall(raw))
            for other, raw in texts.items()
            if other.startswith(inside)
        }
        words.pop(path, None)
        return tuple(
            sorted(other for other, known in words.items() if not known.isdisjoint(wanted))
        )

    def _around(self, top: str) -> _Surroundings:
        around = self._tops.setdefault(top, _Surroundings(top))
        around.look()
        return around


def launchable(project: Project, path: str) -> tuple[str, ...]:
    """The files whose kernels a file may launch, the nearest first: it imports them, through any
    number of files, and names one of their functions."""
    found: list[str] = []
    with suppress(SourceError):
        raw = project.sources.read(Path(path))
        words = frozenset(_WORD.findall(raw))
        for other in used(project, path, raw):
            with suppress(SourceError):
                text = project.sources.read(Path(other))
                if may_hold_kernels(text) and not words.isdisjoint(_DEFINED.findall(text)):
                    found.append(other)
    return tuple(found)


def _bytes(buffers: Mapping[str, str]) -> dict[str, bytes]:
    return {path: text.encode("utf-8", "surrogatepass") for path, text in buffers.items()}


def _own(path: str, texts: dict[str, bytes]) -> bytes:
    """What a file holds, which is taken out of the ``texts`` that are not saved."""
    own = texts.pop(path, None)
    if own is None:
        with suppress(OSError):
            own = Path(path).read_bytes()
    return own or b""


def _module(path: str) -> bytes:
    """What an import calls a file."""
    folder, name = os.path.split(path)
    name = name.partition(".")[0]
    return os.fsencode(os.path.split(folder)[1] if name == "__init__" else name)


def _imported(raw: bytes) -> frozenset[bytes]:
    """The words of the imports of a file."""
    found = imports(raw)
    names = (*(i.module for i in found), *(i.name or "" for i in found))
    return frozenset(_WORD.findall(" ".join(names).encode("utf-8", "surrogateescape")))


def _stamp(path: str) -> _Stamp:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
