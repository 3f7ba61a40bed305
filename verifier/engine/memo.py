"""Results of kernels, kept as long as nothing they depend on has changed.

A kernel's result is found again by what it was asked for (its own text, the target, the contract,
the selected rules ...) and holds if everything that the analysis looked at says the same: the
definitions it reached by name, and where its imports lead. Definitions may have moved: the places
in the result move with them.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from verifier.report import model as report
from verifier.source import footprint
from verifier.source.footprint import Footprint
from verifier.source.project import Project
from verifier.source.text import SourceError

T = TypeVar("T")

#: pieces of text: first and last line of each
Places: TypeAlias = tuple[tuple[int, int], ...]

#: results that are kept under one key: those of the states that the files were in last
ALTERNATIVES: Final = 4

#: what is ordered by its places in whatever holds it
_ORDERED: Final[tuple[tuple[str, Callable[[Any], Any]], ...]] = (
    ("tiles", lambda tile: tile.span),
    ("judged", lambda judged: judged.span),
    ("diagnostics", report.sort_key),
)

_NONE: Final[Mapping[str, tuple[int, int, int]]] = {}

#: texts that name a line cannot be moved
_LINES: Final = re.compile(r"\blines? \d")


class Outcome(Struct, frozen=True):
    """What one kernel came to on one target under one contract."""

    kernel: report.KernelReport
    diagnostics: tuple[report.Diagnostic, ...] = ()
    statistics: report.Statistics = field(default_factory=dict)


class Import(Struct, frozen=True):
    """Where an import led, see :class:`verifier.source.footprint.Footprint`."""

    folder: str
    dotted: str
    level: int
    found: str | None
    package: str | None


class Name(Struct, frozen=True):
    """What a module says about a global name: a digest, and the lines that say it."""

    name: str
    digest: str
    places: Places


class File(Struct, frozen=True):
    """A file that was read: the digest of all of it, and the names that were looked at."""

    path: str
    digest: str
    names: tuple[Name, ...] = ()


class Reached(Struct, frozen=True):
    """What a result depends on."""

    files: tuple[File, ...]
    imports: tuple[Import, ...]


class Stored(Struct, frozen=True):
    """A result, what it depends on, and the lines of the kernel's own text."""

    reached: Reached
    own: tuple[int, int]
    outcome: Outcome


class Memo(Protocol):
    """Where results are kept between analyses."""

    def load(self, key: str) -> Sequence[Stored]: ...

    def save(self, key: str, stored: Sequence[Stored]) -> None: ...


class MemoryMemo:
    """Results of this process, the most recent ones."""

    def __init__(self, size: int = 512) -> None:
        self._size = size
        self._stored: OrderedDict[str, Sequence[Stored]] = OrderedDict()
        #: what was asked for; whoever wants to know empties it before
        self.asked: set[str] = set()

    def load(self, key: str) -> Sequence[Stored]:
        self.asked.add(key)
        found = self._stored.get(key, ())
        if found:
            self._stored.move_to_end(key)
        return found

    def save(self, key: str, stored: Sequence[Stored]) -> None:
        self._stored[key] = stored
        self._stored.move_to_end(key)
        self.keep(self._size)

    def keep(self, size: int) -> None:
        """Forget all but the most recent ``size`` results, now and from now on."""
        self._size = size
        while len(self._stored) > self._size:
            self._stored.popitem(last=False)


def names_a_line(text: str) -> bool:
    """Whether a text says a line's number, which is another one once definitions move."""
    return _LINES.search(text) is not None


def reached(seen: Footprint, project: Project) -> Reached:
    """A footprint with the digests of today."""
    by_file: dict[str, list[str]] = {file: [] for file in seen.files | seen.whole}
    for file, name in seen.names:
        by_file.setdefault(file, [])
        if file not in seen.whole:
            by_file[file].append(name)
    files = []
    for file in sorted(by_file):
        found: list[Name] = []
        if by_file[file]:
            module = project.module(Path(file))
            for name in sorted(by_file[file]):
                found.append(Name(name, *module.digest(name)))
        files.append(File(file, project.sources.digest(file), tuple(found)))
    imports = [Import(*lookup, *where) for lookup, where in sorted(seen.lookups.items())]
    return Reached(tuple(files), tuple(imports))


def joined(several: Iterable[Reached]) -> Reached | None:
    """What several results depend on together; None if they do not agree about it."""
    digests: dict[str, str] = {}
    names: dict[tuple[str, str], Name] = {}
    imports: dict[tuple[str, str, int], Import] = {}
    whole: set[str] = set()
    for one in several:
        for file in one.files:
            if digests.setdefault(file.path, file.digest) != file.digest:
                return None
            if not file.names:
                whole.add(file.path)
            for name in file.names:
                if names.setdefault((file.path, name.name), name) != name:
                    return None
        for item in one.imports:
            if imports.setdefault((item.folder, item.dotted, item.level), item) != item:
                return None
    by_file: dict[str, list[Name]] = {path: [] for path in digests}
    for (path, _), name in names.items():
        if path not in whole:
            by_file[path].append(name)
    files = [File(path, digests[path], tuple(found)) for path, found in by_file.items()]
    return Reached(tuple(files), tuple(imports.values()))


def find(stored: Sequence[Stored], own: tuple[str, int, int], project: Project) -> Outcome | None:
    """The result that still holds, with its places moved to where the text is now.

    ``own``: file, first and last line of the kernel's own text, whose content is in the key.
    """
    for candidate in stored:
        before, (file, line, _) = candidate.own, own
        extra = {file: (*before, line - before[0])}
        outcome = carried(candidate.outcome, candidate.reached, project, extra)
        if outcome is not None:
            return outcome
    return None


def carried(
    value: T, reached: Reached, project: Project, known: Mapping[str, tuple[int, int, int]] = _NONE
) -> T | None:
    """A result with its places moved to where the text is now; None if it holds no longer.

    ``known`` has pieces of text that are known to be the same, by file: the first and the last line
    that they had, and by how much they moved.
    """
    moves = _moves(reached, project, known)
    if moves is None or not _imports_hold(reached, project):
        return None
    if moves:
        still = all(by == 0 for ranges in moves.values() for _, _, by in ranges)
        try:
            value = _walk(value, moves, still)
        except _CannotMoveError:
            return None
    _note(reached)
    return value


def _note(reached: Reached) -> None:
    """Whoever takes this result depends on what it depends on."""
    for file in reached.files:
        footprint.note_file(file.path)
        for name in file.names:
            footprint.note_name(file.path, name.name)


def _imports_hold(reached: Reached, project: Project) -> bool:
    return all(
        project.located((i.folder, i.dotted, i.level)) == (i.found, i.package)
        for i in reached.imports
    )


#: by file that has changed: first and last line as they were, and by how much they moved
_Moves: TypeAlias = dict[str, list[tuple[int, int, int]]]


def _moves(
    reached: Reached, project: Project, known: Mapping[str, tuple[int, int, int]]
) -> _Moves | None:
    moves: _Moves = {}
    for file in reached.files:
        if project.sources.digest(file.path) == file.digest:
            continue
        if not file.names and file.path not in known:
            return None
        try:
            module = project.module(Path(file.path))
        except SourceError:
            return None
        ranges: list[tuple[int, int, int]] = []
        for name in file.names:
            digest, places = module.digest(name.name)
            if digest != name.digest:
                return None
            for (line, end), (now, _) in zip(name.places, places, strict=True):
                ranges.append((line, end, now - line))
        if file.path in known:
            ranges.append(known[file.path])
        moves[file.path] = ranges
    return moves


class _CannotMoveError(Exception):
    """A place is outside the definitions that were reached, or a text names a line."""


@cache
def _names(kind: type) -> tuple[str, ...]:
    """The fields of a dataclass in which places may be, or texts that name lines."""
    if kind in (report.Tile, report.Judged):
        return ("span",)
    if kind is report.Span:
        return ("path",)  # a text; its numbers are moved by whoever comes by
    return kind.__struct_fields__ if issubclass(kind, Struct) else ()


def _walk(value: T, moves: _Moves, still: bool) -> T:
    """``value`` with every place in it moved: whatever has a ``path`` and a ``line``."""
    moved: Any
    if isinstance(value, str):
        if not still and names_a_line(value):
            raise _CannotMoveError
        return value
    if isinstance(value, (tuple, list)):
        items = [_walk(item, moves, still) for item in value]
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value
        moved = type(value)(items)
        return moved  # type: ignore[no-any-return]
    changed: dict[str, Any] = {}
    kind: Any = type(value)
    names = _names(kind)
    if not names:
        return value
    for name in names:
        before = getattr(value, name)
        after = _walk(before, moves, still)
        if after is not before:
            changed[name] = after
    path, line = getattr(value, "path", None), getattr(value, "line", None)
    if isinstance(path, str) and isinstance(line, int) and path in moves:
        by = _shift(moves[path], line)
        if by:
            changed["line"] = line + by
            if hasattr(value, "end_line"):
                changed["end_line"] = value.end_line + by
    # definitions may have changed places
    for name, key in _ORDERED:
        if name in changed:
            changed[name] = tuple(sorted(changed[name], key=key))
    instance: Any = value
    moved = replace(instance, **changed) if changed else value
    return moved  # type: ignore[no-any-return]


def _shift(ranges: Sequence[tuple[int, int, int]], line: int) -> int:
    for first, last, by in ranges:
        if first <= line <= last:
            return by
    raise _CannotMoveError


def keep(memo: Memo, key: str, new: Stored) -> None:
    """Put a result before those that are kept under its key."""
    others = [old for old in memo.load(key) if old.reached != new.reached]
    memo.save(key, (new, *others[: ALTERNATIVES - 1]))
