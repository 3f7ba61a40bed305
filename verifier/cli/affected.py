"""``check --affected`` and ``--diff-base``: the files whose kernels a change may concern."""

# Thousands of paths are looked at, and links are not followed.
# ruff: noqa: PTH112, PTH113, PTH118, PTH119, PTH120

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from verifier.cli.git import Change, GitError, Repository, nearest_folder
from verifier.cli.paths import absolute, project_root

if TYPE_CHECKING:
    from verifier.source.imports import Changes

#: Whoever changes one of these may change what is reported of every file below.
_SETTINGS = ("pyproject.toml", "tilelint.toml")

#: These say where a project or a package begins: with them, places of imports come and go.
_MARKERS = ("__init__.py", "pyproject.toml", "setup.py", "setup.cfg")

#: Set by pre-commit, which has put aside what is not to be committed, but not untracked files.
_HOOK = "PRE_COMMIT"

#: What pre-commit compares with when it is asked about several commits, as before a push.
_FROM = "PRE_COMMIT_FROM_REF"


class History(Struct, frozen=True):
    """What git says has changed in a work tree since a commit; empty where there is no git."""

    root: str
    repository: Repository | None = None
    commit: str = ""
    changes: Sequence[Change] = ()
    #: absolute paths of files that are no part of the change, nor of what it concerns
    apart: frozenset[str] = frozenset()

    def full(self, path: str | None) -> str:
        return os.path.join(self.root, path or "")


class Scope(Struct):
    """``files`` to check, as they are shown; ``roots`` for their imports; ``total`` looked at."""

    files: list[str] = field(default_factory=list)
    roots: list[str] = field(default_factory=list)
    total: int = 0
    histories: list[History] = field(default_factory=list)


def affected(paths: Sequence[str], since: str | None = None) -> Scope:
    """The kernel files that are among ``paths`` (changed files) or import one of them.

    The project of each path is searched: its git work tree, without one what is below the nearest
    configuration file above it. In neither, the path stands for itself. Paths may be gone if git
    knows them (others are among the files, for a complaint), and what git knows to be gone or
    renamed counts in any case. Without paths, git says what has changed:
    since the commit ``since``, else since the last one.

    Raises:
        GitError: git is needed and cannot say what has changed, or ``since`` is no revision.
    """
    given = {absolute(path): path for path in paths}
    projects: dict[str, list[str]] = {}
    scope = Scope()
    for path in given:
        root = project_root(nearest_folder(path))
        if _is_project(root):
            projects.setdefault(root, []).append(path)
        else:
            scope.total += os.path.lexists(path)
            scope.files.append(given[path])
            scope.roots.append(shown(root))
    if not paths:
        projects = {_work_tree("."): []}
    for root, changed in projects.items():
        history = _history(root, since, needed=not paths or since is not None)
        scope.histories.append(history)
        if not paths:
            changed = [history.full(c.after) for c in history.changes if c.after is not None]
        unknown = [path for path in changed if not (os.path.lexists(path) or _was(path, history))]
        scope.files += [given[path] for path in unknown if path in given]
        changes = _changes([path for path in changed if path not in unknown], history)
        scope.roots.append(shown(root))
        if changes is not None:
            # Files that are named are looked at, though they are ignored or in a hidden folder.
            present = {path: given.get(path, shown(path)) for path in sorted(changes.files)}
            _choose([shown(root)], present, changes, scope, history.apart)
    return scope


def concerned(paths: Sequence[str], since: str) -> Scope:
    """The kernel files below ``paths`` that have changed since a commit, or import what has.

    Raises:
        GitError: a path is in no work tree, or ``since`` is no revision.
    """
    scopes: dict[str, list[str]] = {}
    for path in paths:
        scopes.setdefault(_work_tree(path), []).append(path)
    scope = Scope()
    for root, inside in scopes.items():
        history = _history(root, since, needed=True)
        scope.histories.append(history)
        scope.roots += [p if os.path.isdir(p) else os.path.dirname(p) or "." for p in inside]
        changed = [history.full(c.after) for c in history.changes if c.after is not None]
        changes = _changes(changed, history)
        missing = [path for path in inside if not os.path.lexists(path)]
        scope.files += missing  # for a complaint
        if changes is not None:
            there = [path for path in inside if path not in missing]
            _choose(there, {}, changes, scope, history.apart)
    return scope


def is_known(path: str) -> bool:
    """Whether a path is there, or in the index or the last commit of its work tree."""
    if os.path.lexists(path):
        return True
    root = project_root(nearest_folder(path))
    try:
        repository = Repository.around(root)
        return repository.knows(os.path.relpath(absolute(path), root), repository.head())
    except GitError:
        return False


def _was(path: str, history: History) -> bool:
    """Whether git knows of a file that is gone."""
    if history.repository is None:
        return False
    inside = os.path.relpath(path, history.root)
    if any(inside == change.before for change in history.changes):
        return True
    repository = history.repository
    return repository.knows(inside, history.commit, repository.head())


def shown(path: str) -> str:
    """An absolute path as a report shows it: relative if it is below the current directory."""
    here = absolute(".")
    if path == here:
        return "."
    prefix = here.rstrip(os.sep) + os.sep
    return path[len(prefix) :] if path.startswith(prefix) else path


def _is_project(root: str) -> bool:
    return any(os.path.lexists(os.path.join(root, mark)) for mark in (".git", *_SETTINGS))


def _work_tree(path: str) -> str:
    """The top of the work tree around a path, spelled as the path is."""
    top = Repository.around(path).top
    root = project_root(nearest_folder(path))
    return root if os.path.realpath(root) == os.path.realpath(top) else top  # git follows links


def _history(root: str, since: str | None, *, needed: bool) -> History:
    try:
        repository = Repository.around(root)
        commit = _start(repository) if since is None else repository.commit(since)
        changes = repository.changes(commit)
        untracked = repository.untracked()
        if os.environ.get(_HOOK):
            apart = frozenset(os.path.join(root, path) for path in untracked)
            return History(root, repository, commit, changes, apart)
        changes += [Change(None, path) for path in untracked]
        return History(root, repository, commit, changes)
    except GitError:
        if needed:
            raise
        return History(root)


def _start(repository: Repository) -> str:
    before = os.environ.get(_FROM)
    if before:
        try:
            return repository.commit(f"{before}...")
        except GitError:
            pass  # of another repository, or a branch that was not there before
    return repository.head()


def _changes(changed: Sequence[str], history: History) -> Changes | None:
    """What has changed, as far as it matters to kernels; None: nothing that does."""
    from verifier.source.imports import Changes

    moved = [c for c in history.changes if c.before != c.after]
    gone = {history.full(c.before) for c in moved if c.before is not None}
    gone = {path for path in (*gone, *changed) if not os.path.lexists(path)}
    fresh = {history.full(c.after) for c in moved if c.after is not None}
    folders = {os.path.dirname(p) for p in gone | fresh if os.path.basename(p) in _MARKERS}
    for path in (*changed, *gone):
        if os.path.isdir(path):
            folders.add(path)
        elif os.path.basename(path) in _SETTINGS and _differ(path, history):
            folders.add(os.path.dirname(path))
    present = {path for path in changed if path.endswith(".py") and os.path.isfile(path)}
    gone = {path for path in gone if path.endswith(".py")}
    return Changes(present, gone, folders) if present or gone or folders else None


def _choose(
    paths: Sequence[str],
    more: Mapping[str, str],
    changes: Changes,
    scope: Scope,
    apart: frozenset[str],
) -> None:
    """Add those kernel files below ``paths``, or of ``more``, that the changes concern."""
    from verifier.source.files import PathError, collect
    from verifier.source.imports import dependents
    from verifier.source.project import Project
    from verifier.source.text import SourceError, may_hold_kernels, read_bytes

    files: dict[str, str] = {}
    for path in paths:
        try:
            files.update((absolute(file), str(file)) for file in collect([Path(path)], []))
        except PathError:
            scope.files.append(path)  # for a complaint
    for full in apart.intersection(files):
        del files[full]
    files.update(more)
    candidates: list[str] = []
    for full, name in files.items():
        try:
            if may_hold_kernels(read_bytes(Path(name))):
                candidates.append(full)
        except SourceError:
            if full in changes.files:
                candidates.append(full)  # for a complaint
    scope.total += len(files)
    found = dependents(Project(Path(root) for root in scope.roots), candidates, changes)
    scope.files += [files[path] for path in candidates if path in found]


def _differ(path: str, history: History) -> bool:
    """Whether a configuration file says something else about this tool than it did."""
    if os.path.basename(path) != "pyproject.toml" or history.repository is None:
        return True
    inside = os.path.relpath(path, history.root).replace(os.sep, "/")
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
        content = load(raw.decode("utf-8"))
    except (BadTomlError, UnicodeDecodeError):
        return raw
    tools: object = content.get("tool")
    return tools.get("tilelint") if isinstance(tools, dict) else None
