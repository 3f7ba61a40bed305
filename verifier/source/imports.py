"""Which files depend on which: the imports of a file at the cost of searching it for a word.

Made for repositories of thousands of files, of which a few have changed. A file is not parsed; what
looks like an import is taken for one (also inside a function or a string), so that no dependence is
missed. To import a module is to run it, with all that it imports: whichever name is wanted of it.
"""

# Thousands of files are looked at: plain strings are several times faster here than path objects.
# ruff: noqa: PTH116, PTH118, PTH120

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from verifier.source.project import Project
from verifier.source.readings import Import

_STATEMENT = re.compile(
    r"(?:^|[;:])[ \t\f]*"
    r"(?:import[ \t]+(?P<modules>[^;#\n]+)"
    r"|from(?=[ \t.])(?P<source>[ \t.\w]*?)(?<![\w])import(?![\w])[ \t]*"
    r"(?P<names>\((?:[^)#]|\#[^\n]*)*|[^;#\n]+))",
    re.M,
)
_COMMENT = re.compile(r"#[^\n]*")
_CLOSING = re.compile(r"(?:[^)#]|\#[^\n]*)*\)")
_CONTINUED = re.compile(r"\\\r?\n")


def imports(raw: bytes) -> tuple[Import, ...]:
    """What looks like an import statement in a file with these bytes."""
    if b"import" not in raw:
        return ()
    text = raw.decode("utf-8", "surrogateescape")
    if "\\" in text:
        text = _CONTINUED.sub(" ", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    found: dict[Import, None] = {}
    at = text.find("import")
    while at >= 0:
        position = text.rfind("\n", 0, at) + 1
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        # Whatever begins on this line; names in brackets may end on a later one.
        while (match := _STATEMENT.search(text, position, _reach(text, end))) is not None:
            found.update(dict.fromkeys(_statements(match)))
            position = match.end()
            end = max(end, position)
        at = text.find("import", end)
    return tuple(found)


def _reach(text: str, end: int) -> int:
    """How far a statement on a line that ends at ``end`` may go: to the bracket that closes it."""
    head = text.rfind("\n", 0, end) + 1
    line = _COMMENT.sub("", text[head:end])
    if line.rfind("(") <= line.rfind(")"):
        return end
    closing = _CLOSING.match(text, end)
    return end if closing is None else closing.end()


def _statements(match: re.Match[str]) -> Iterator[Import]:
    modules = match["modules"]
    if modules is not None:
        for part in modules.split(","):
            words = part.split()
            if words:
                yield Import(words[0], 0, None)
        return
    source = "".join(match["source"].split())
    module = source.lstrip(".")
    names = _COMMENT.sub("", match["names"]).strip("() \t\n")
    for part in names.split(","):
        words = part.split()
        if words:
            yield Import(module, len(source) - len(module), words[0])


@dataclass(slots=True)
class Changes:
    """What has changed, all paths absolute.

    ``files`` are there now (``identities``: device and inode, for links); ``gone`` were there
    before. Under a folder in ``folders`` imports may lead elsewhere than before.
    """

    files: Collection[str] = ()
    gone: Collection[str] = ()
    folders: Collection[str] = ()
    identities: set[tuple[int, int]] = field(default_factory=set)

    def __post_init__(self) -> None:
        for path in self.files:
            with_links = _identity(path)
            if with_links is not None:
                self.identities.add(with_links)

    def has(self, path: str) -> bool:
        if path in self.files or any(path.startswith(os.path.join(f, "")) for f in self.folders):
            return True
        return _identity(path) in self.identities


def dependents(project: Project, candidates: Iterable[str], changes: Changes) -> set[str]:
    """Those of ``candidates`` (absolute paths) that have changed or import what has.

    Imports are followed through any number of files, as far as they are on disk. A file that
    cannot be read imports nothing.
    """
    start = list(candidates)
    graph = _Graph(project, changes)
    graph.explore(start)
    reached = _closure(list(graph.hit), graph.users)
    return {path for path in start if path in reached}


def users(project: Project, files: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """For each of ``files`` (absolute paths) those that import it, through any number of files."""
    start = list(files)
    graph = _Graph(project, Changes())
    graph.explore(start)
    wanted = set(start)
    out: dict[str, tuple[str, ...]] = {}
    for path in start:
        found = _closure([path], graph.users)
        out[path] = tuple(sorted(found & wanted - {path}))
    return out


def used(project: Project, path: str, raw: bytes) -> tuple[str, ...]:
    """The files that a file with this absolute path and these bytes imports, through any number of
    files, the nearest first."""
    graph = _Graph(project, Changes())
    pending = [path]
    seen = dict.fromkeys(pending)
    for file in pending:
        for target in graph.uses(file, imports(raw) if file == path else _imports_of(file)):
            if target not in seen:
                seen[target] = None
                pending.append(target)
    return tuple(pending[1:])


def _closure(pending: list[str], users: Mapping[str, Collection[str]]) -> set[str]:
    reached = set(pending)
    while pending:
        for user in users.get(pending.pop(), ()):
            if user not in reached:
                reached.add(user)
                pending.append(user)
    return reached


class _Graph:
    """Which file uses which, from the candidates on; ``hit`` are those that changed themselves."""

    def __init__(self, project: Project, changes: Changes) -> None:
        self.users: dict[str, list[str]] = {}
        self.hit: set[str] = set()
        self._project = project
        self._changes = changes

    def explore(self, files: Iterable[str]) -> None:
        pending = list(files)
        seen = set(pending)
        while pending:
            path = pending.pop()
            if self._changes.has(path):
                self.hit.add(path)
                continue  # nothing that it imports can make it more so
            for target in self.uses(path, _imports_of(path)):
                self.users.setdefault(target, []).append(path)
                if target not in seen:
                    seen.add(target)
                    pending.append(target)

    def uses(self, path: str, statements: Iterable[Import]) -> Iterator[str]:
        """The files that a file's imports lead to at once."""
        folder = os.path.dirname(path)
        for statement in statements:
            if self._changes.gone and self._led_to_gone(folder, statement):
                self.hit.add(path)
            yield from self._targets(folder, statement)

    def _targets(self, folder: str, statement: Import) -> Iterator[str]:
        """The files that an import runs: those of the packages around a module first."""
        locate = self._project.located
        inner: str | None = None
        parts = statement.module.split(".")
        for number in range(1, len(parts) + 1):
            file, inner = locate((folder, ".".join(parts[:number]), statement.level))
            if file is not None:
                yield file
            elif inner is None:
                return
        if inner is not None and statement.name not in (None, "*"):
            submodule, _ = locate((inner, str(statement.name), -1))
            if submodule is not None:
                yield submodule

    def _led_to_gone(self, folder: str, statement: Import) -> bool:
        """Whether the import could have led to a file that is gone, judged by its name."""
        base = ""
        if statement.level:
            for _ in range(statement.level - 1):
                folder = os.path.dirname(folder)
            base = folder
        parts = [part for part in statement.module.split(".") if part]
        lengths = range(1, len(parts) + 1)
        wanted = [parts[:n] for n in lengths] if statement.name is None else [parts]
        if statement.name not in (None, "*"):
            wanted.append([*parts, str(statement.name)])
        ends = []
        for dotted in wanted:
            stem = os.path.join(base or os.sep, *dotted)
            ends += [stem + ".py", os.path.join(stem, "__init__.py")]
        if base:
            return any(end in self._changes.gone for end in ends)
        return any(path.endswith(tuple(ends)) for path in self._changes.gone)


def _imports_of(path: str) -> tuple[Import, ...]:
    try:
        return imports(Path(path).read_bytes())
    except (OSError, ValueError):
        return ()


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino
