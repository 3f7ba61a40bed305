"""``check --affected``: the files whose kernels a change may concern."""

# Thousands of paths are looked at, and links are not followed.
# ruff: noqa: PTH112, PTH113, PTH118, PTH119, PTH120

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from verifier.cli.git import Change, GitError, Repository, nearest_folder
from verifier.cli.paths import absolute, project_root

#: Whoever changes one of these may change what is reported of every file below.
_SETTINGS = ("pyproject.toml", "tilelint.toml")

#: These say where a project or a package begins: with them, places of imports come and go.
_MARKERS = ("__init__.py", "pyproject.toml", "setup.py", "setup.cfg")

#: What pre-commit compares with when it is asked about several commits, as before a push.
_FROM = "PRE_COMMIT_FROM_REF"


@dataclass(slots=True)
class Affected:
    """``files`` to check, as they are shown; ``roots`` for their imports; ``total`` looked at."""

    files: list[str] = field(default_factory=list)
    roots: list[str] = field(default_factory=list)
    total: int = 0


@dataclass(slots=True)
class _History:
    """What git says has changed since a commit, which is empty where there is no git."""

    repository: Repository | None = None
    commit: str = ""
    changes: Sequence[Change] = ()


def affected(paths: Sequence[str], since: str | None = None) -> Affected:
    """The kernel files that are among ``paths`` (changed files) or import one of them.

    The project of each path is searched: its git work tree, without one what is below the nearest
    configuration file above it. In neither, the path stands for itself. Paths may be gone, and what
    git knows to be gone or renamed counts in any case. Without paths, git says what has changed:
    since the commit ``since``, else since the last one.

    Raises:
        GitError: git is needed and cannot say what has changed, or ``since`` is no revision.
    """
    given = {absolute(path): path for path in paths}
    projects: dict[str, list[str]] = {}
    result = Affected()
    for path in given:
        root = project_root(nearest_folder(path))
        if _is_project(root):
            projects.setdefault(root, []).append(path)
        elif os.path.lexists(path):
            result.total += 1
            result.files.append(given[path])
            result.roots.append(shown(root))
    if not paths:
        top = Repository.around(".").top
        projects = {_spelled(top): []}
    for root, changed in projects.items():
        history = _history(root, since, needed=not paths or since is not None)
        if not paths:
            changed = [os.path.join(root, c.after) for c in history.changes if c.after is not None]
        _search(root, changed, history, given, result)
    return result


def shown(path: str) -> str:
    """An absolute path as a report shows it: relative if it is below the current directory."""
    here = absolute(".")
    if path == here:
        return "."
    prefix = here.rstrip(os.sep) + os.sep
    return path[len(prefix) :] if path.startswith(prefix) else path


def _is_project(root: str) -> bool:
    return any(os.path.lexists(os.path.join(root, mark)) for mark in (".git", *_SETTINGS))


def _spelled(top: str) -> str:
    """Git follows links; the current directory may have come here by one."""
    root = project_root(".")
    return root if os.path.realpath(root) == os.path.realpath(top) else top


def _history(root: str, since: str | None, *, needed: bool) -> _History:
    try:
        repository = Repository.around(root)
        commit = _start(repository) if since is None else repository.commit(since)
        return _History(repository, commit, repository.changes(commit))
    except GitError:
        if needed:
            raise
        return _History()


def _start(repository: Repository) -> str:
    before = os.environ.get(_FROM)
    if before:
        try:
            return repository.commit(f"{before}...")
        except GitError:
            pass  # of another repository, or a branch that was not there before
    return repository.head()


def _search(
    root: str, changed: Sequence[str], history: _History, given: dict[str, str], into: Affected
) -> None:
    from verifier.source.files import PathError, collect
    from verifier.source.imports import Changes, dependents
    from verifier.source.project import Project
    from verifier.source.text import SourceError, may_hold_kernels, read_bytes

    def full(path: str | None) -> str:
        return os.path.join(root, path or "")

    moved = [c for c in history.changes if c.before != c.after]
    gone = {full(c.before) for c in moved if c.before is not None}
    gone |= {path for path in changed if not os.path.lexists(path)}
    gone = {path for path in gone if not os.path.lexists(path)}
    fresh = {full(c.after) for c in moved if c.after is not None}
    folders = {os.path.dirname(p) for p in gone | fresh if os.path.basename(p) in _MARKERS}
    for path in changed:
        if os.path.isdir(path):
            folders.add(path)
        elif os.path.basename(path) in _SETTINGS and _differ(path, root, history):
            folders.add(os.path.dirname(path))
    present = {path for path in changed if path.endswith(".py") and os.path.isfile(path)}
    if not present and not folders and not any(path.endswith(".py") for path in gone):
        return

    name = shown(root)
    try:
        files = dict.fromkeys(absolute(file) for file in collect([Path(name)]))
    except PathError:
        files = {}
    files.update(dict.fromkeys(sorted(present)))  # though they are ignored, or in a hidden folder
    candidates: list[str] = []
    for file in files:
        try:
            if may_hold_kernels(read_bytes(Path(file))):
                candidates.append(file)
        except SourceError:
            if file in present:
                candidates.append(file)  # to be reported
    found = dependents(Project([Path(name)]), candidates, Changes(present, gone, folders))
    into.total += len(files)
    into.roots.append(name)
    into.files += [given.get(path, shown(path)) for path in candidates if path in found]


def _differ(path: str, root: str, history: _History) -> bool:
    """Whether a configuration file says something else about this tool than it did."""
    if os.path.basename(path) != "pyproject.toml" or history.repository is None:
        return True
    inside = os.path.relpath(path, root).replace(os.sep, "/")
    before = history.repository.content(history.commit, inside)
    if before is None:
        return True
    try:
        after = Path(path).read_bytes()
    except OSError:
        return True
    return _table(before) != _table(after)


def _table(raw: bytes) -> object:
    if b"tilelint" not in raw:
        return None
    from verifier.configuration.toml import BadTomlError, load

    try:
        content, _ = load(raw.decode("utf-8"))
    except (BadTomlError, UnicodeDecodeError):
        return raw
    tools = content.get("tool")
    return tools.get("tilelint") if isinstance(tools, dict) else None
