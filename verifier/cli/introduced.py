"""``check --diff-base``: only what a change has brought about."""

# Links are not followed, and names are compared as they are spelled.
# ruff: noqa: PTH118

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec.structs import replace

from verifier.cli.affected import History, Scope
from verifier.cli.git import GitError, Repository
from verifier.cli.paths import absolute, project_root
from verifier.configuration.model import ConfigurationError
from verifier.report.baseline import UNDECIDED, Weight, without_known
from verifier.report.fingerprints import fingerprints, undecided, unparsed
from verifier.report.model import Diagnostic, RunReport, Span

#: What an analysis may read of an earlier state.
_NEEDED = (".py", "pyproject.toml", "tilelint.toml", "setup.cfg", ".gitignore")


def introduced(
    report: RunReport,
    scope: Scope,
    revision: str,
    check: Callable[[Sequence[str], Sequence[str]], RunReport],
) -> RunReport:
    """``report`` without what was there at ``revision``: findings, undecided kernels, bad syntax.

    Findings that have become graver since are kept.

    Args:
        report: of the files of ``scope``, with fingerprints.
        revision: as the user gave it; the report names it.
        check: checks files under their own settings; it is given files and roots for imports in
            a temporary folder.

    Raises:
        GitError: the earlier state cannot be read.
    """
    earlier = _Earlier(project_root())
    suspects = {absolute(path) for path in _suspects(report)}
    for history in scope.histories:
        inside = os.path.join(history.root, "")
        mine = sorted(path for path in suspects if path.startswith(inside))
        if not mine or history.repository is None:
            continue
        then = _Then(history)
        before = [path for path in map(then.name_then, mine) if path is not None]
        with then.repository.tree(history.commit, _NEEDED) as folder:
            # The marker keeps the search for settings and imports inside.
            Path(folder, ".git").mkdir(exist_ok=True)
            then.folder = os.path.realpath(folder)
            copies = [os.path.join(then.folder, name) for name in before]
            files = [path for path in copies if Path(path).is_file()]
            if not files:
                continue
            try:
                found = check(files, [then.place_then(root) for root in scope.roots])
            except ConfigurationError as error:
                said = str(error).replace(os.path.join(then.folder, ""), "")
                raise GitError(f"the settings at {revision} cannot be used: {said}") from error
            earlier.add(found, then)
    return earlier.left_out_of(report, revision)


class _Earlier:
    """What was there before, by fingerprint."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._known: dict[str, Weight] = {}
        #: files that could not be read as Python
        self._broken: set[str] = set()

    def add(self, report: RunReport, then: _Then) -> None:
        """What a report of copies says, of the files where they are now."""
        now = [then.moved(d) for d in report.diagnostics]
        names = fingerprints(now, then.read, root=self._root)
        self._known |= {
            name: Weight.of(d) for name, d in zip(names, now, strict=True) if d.suppressed is None
        }
        self._known |= {
            undecided(replace(kernel, path=then.place_now(kernel.path)), self._root): UNDECIDED
            for kernel in report.kernels
            if kernel.status == "unknown"
        }
        self._broken |= {
            unparsed(replace(error, path=then.place_now(error.path)), self._root)
            for error in report.errors
            if error.kind == "syntax"
        }

    def left_out_of(self, report: RunReport, revision: str) -> RunReport:
        """The report without it."""
        errors = tuple(
            error
            for error in report.errors
            if error.kind != "syntax" or unparsed(error, self._root) not in self._broken
        )
        return without_known(replace(report, errors=errors), self._known, revision, self._root)


class _Then:
    """The names of a work tree's files at a commit, and their copies in a temporary folder."""

    def __init__(self, history: History) -> None:
        assert history.repository is not None
        self.repository: Repository = history.repository
        self.folder = ""
        self._root = history.root
        self._before = {c.after: c.before for c in history.changes if c.after is not None}
        self._after = {
            c.before: c.after for c in history.changes if c.before is not None and c.after
        }

    def name_then(self, path: str) -> str | None:
        """The name at that commit of a file with this absolute path; None: there was none."""
        inside = os.path.relpath(path, self._root)
        return self._before.get(inside, inside)

    def place_then(self, path: str) -> str:
        """The copy of a folder that is given as the user wrote it."""
        inside = os.path.relpath(absolute(path), self._root)
        return self.folder if inside.startswith(os.pardir) else os.path.join(self.folder, inside)

    def place_now(self, path: str) -> str:
        """The absolute path that a file of the folder has now."""
        full = absolute(path)
        if not full.startswith(os.path.join(self.folder, "")):
            return full
        inside = os.path.relpath(full, self.folder)
        return os.path.join(self._root, self._after.get(inside) or inside)

    def moved(self, diagnostic: Diagnostic) -> Diagnostic:
        span: Span = diagnostic.span
        return replace(diagnostic, span=replace(span, path=self.place_now(span.path)))

    def read(self, path: str) -> str | None:
        """The text at that commit of a file with this absolute path."""
        from verifier.source.text import SourceError, decode, read_bytes

        name = self.name_then(path)
        if name is None:
            return None
        copy = Path(self.folder, name)
        try:
            return decode(copy, read_bytes(copy)).text
        except SourceError:
            return None


def _suspects(report: RunReport) -> Iterable[str]:
    """Files that have to be looked at as they were."""
    yield from (error.path for error in report.errors if error.kind == "syntax" and error.path)
    blamed = {d.kernel for d in report.shown}
    for kernel in report.kernels:
        if kernel.status == "unknown" or kernel.name in blamed:
            yield kernel.path
    yield from (diagnostic.span.path for diagnostic in report.shown)
