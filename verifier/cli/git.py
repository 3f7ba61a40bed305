"""What git knows: where a repository is, what has changed in it, and how it was before.

Only reads. Every failure is a :class:`GitError` with one line for the user.
"""

# Trees have thousands of files: plain strings, and links are not followed.
# ruff: noqa: PTH100, PTH103, PTH112, PTH118, PTH120, PTH211

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

#: The tree without files, as git names it: what a repository without commits is compared with.
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

#: modes of entries in a tree
_LINK, _SUBMODULE = "120000", "160000"


class GitError(Exception):
    """Git is missing, or did not do what was needed; one line."""


class Change(Struct, frozen=True):
    """A file that is not what it was; paths relative to the repository's top.

    ``before`` is None for a new file, ``after`` None for one that is gone; they differ where git
    takes the file for a renamed one.
    """

    before: str | None
    after: str | None


class Repository:
    """The work tree around a file or folder."""

    def __init__(self, top: str) -> None:
        self.top = top

    @classmethod
    def around(cls, path: str) -> Repository:
        """Raises GitError: git is missing, or ``path`` is in no work tree."""
        folder = nearest_folder(path)
        try:
            top = _git(folder, "rev-parse", "--show-toplevel").rstrip(b"\r\n")
        except GitError as error:
            if error.__cause__ is not None:
                raise
            raise GitError(f"{folder}: {error}") from None
        if not top:
            raise GitError(f"{folder}: not in a work tree of git")
        return cls(os.fsdecode(top))

    def commit(self, revision: str) -> str:
        """The full name of the commit that ``revision`` means.

        ``REV...`` means where the current branch left REV, as in ``git diff REV...``.

        Raises:
            GitError: there is no such commit here, or no common ancestor.
        """
        if revision.endswith("..."):
            other = self.commit(revision[:-3] or "HEAD")
            try:
                found = _git(self.top, "merge-base", other, "HEAD")
            except GitError:
                message = f"no common ancestor of '{revision[:-3]}' and HEAD"
                raise GitError(message + self._shallow()) from None
            return found.decode().strip()
        try:
            # Options are no revisions: --end-of-options keeps '--exec=...' from being one.
            found = _git(
                self.top, "rev-parse", "--verify", "--quiet", "--end-of-options",
                revision + "^{commit}",
            )  # fmt: skip
        except GitError as error:
            if error.__cause__ is not None:
                raise
            message = f"unknown revision '{revision}'"
            raise GitError(message + self._shallow()) from None
        return found.decode().strip()

    def head(self) -> str:
        """The commit that is checked out; the empty tree where nothing is committed yet."""
        try:
            return self.commit("HEAD")
        except GitError:
            return EMPTY_TREE

    def changes(self, commit: str) -> list[Change]:
        """What differs between ``commit`` and the work tree, in files that git tracks."""
        # fmt: off
        words = _split(_git(
            self.top, "diff", "--no-ext-diff", "--name-status", "-z", "-M", "-l0",
            "--ignore-submodules", "--end-of-options", commit,
        ))
        # fmt: on
        found: list[Change] = []
        rest = iter(words)
        for status in rest:
            kind = status[:1]
            first = next(rest)
            if kind == "R":
                found.append(Change(first, next(rest)))
            elif kind == "C":
                found.append(Change(None, next(rest)))
            elif kind == "D":
                found.append(Change(first, None))
            else:
                found.append(Change(None if kind == "A" else first, first))
        return found

    def untracked(self) -> list[str]:
        """Files that git does not track, without those that it is told to ignore."""
        return _split(_git(self.top, "ls-files", "-z", "--others", "--exclude-standard"))

    def knows(self, path: str, *commits: str) -> bool:
        """Whether a file or folder, relative to the top, is in the index or one of the commits."""
        if _git(self.top, "--literal-pathspecs", "ls-files", "-z", "--cached", "--", path):
            return True
        return any(
            _git(self.top, "ls-tree", "-z", "--full-tree", commit, "--", path) for commit in commits
        )

    def content(self, commit: str, path: str) -> bytes | None:
        """A file as it was; None: it was not there."""
        try:
            return _git(self.top, "cat-file", "blob", f"{commit}:{path}")
        except GitError as error:
            if error.__cause__ is not None:
                raise
            return None

    @contextlib.contextmanager
    def tree(self, commit: str, suffixes: Sequence[str]) -> Iterator[str]:
        """A temporary folder with the files of ``commit`` whose names end as ``suffixes`` say.

        Links are links; a submodule is a link to where it is checked out now.
        """
        folder = tempfile.mkdtemp(prefix="tilelint-")
        try:
            self._extract(commit, tuple(suffixes), folder)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _extract(self, commit: str, suffixes: tuple[str, ...], folder: str) -> None:
        blobs: list[tuple[bool, str, str]] = []
        links: list[tuple[str, str]] = []
        for line in _split(_git(self.top, "ls-tree", "-r", "-z", "--full-tree", commit)):
            meta, _, path = line.partition("\t")
            mode, _, name = meta.split()
            if ".." in path.split("/"):
                continue  # no tree of git's own making
            if mode == _SUBMODULE:
                links.append((os.path.join(self.top, path), path))
            elif mode == _LINK or path.endswith(suffixes):
                blobs.append((mode == _LINK, name, path))
        made: set[str] = set()
        for (linked, _, path), data in zip(blobs, self._blobs(b for _, b, _ in blobs), strict=True):
            if linked:
                links.append((os.fsdecode(data), path))
                continue
            inner = os.path.join(folder, path)
            parent = os.path.dirname(inner)
            if parent not in made:
                made.add(parent)
                os.makedirs(parent, exist_ok=True)
            Path(inner).write_bytes(data)
        for target, path in links:  # last, so that nothing is written through one
            _link(target, os.path.join(folder, path))

    def _blobs(self, names: Iterable[str]) -> Iterator[bytes]:
        wanted = list(names)
        asked = "".join(name + "\n" for name in wanted).encode()
        # Blobs that a partial clone lacks are fetched by git.
        answer = memoryview(_git(self.top, "cat-file", "--batch", given=asked))
        at = 0
        for name in wanted:
            end = bytes(answer[at : at + 256]).find(b"\n")
            header = bytes(answer[at : at + end]).split()
            if len(header) != 3:
                raise GitError(f"object {name} is missing from the repository")
            size = int(header[2])
            start = at + end + 1
            yield bytes(answer[start : start + size])
            at = start + size + 1

    def _shallow(self) -> str:
        try:
            shallow = _git(self.top, "rev-parse", "--is-shallow-repository").strip() == b"true"
        except GitError:
            shallow = False
        hint = " in this shallow clone: fetch more of its history (git fetch --unshallow, or"
        return f"{hint} fetch-depth: 0 in actions/checkout)" if shallow else ""


def nearest_folder(path: str) -> str:
    """The folder of ``path``, or the nearest one above it that is there."""
    folder = os.path.abspath(path)
    while not os.path.isdir(folder):
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    return folder


def _link(target: str, path: str) -> None:
    with contextlib.suppress(OSError):  # where links are not allowed, it is not there
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.symlink(target, path)


def _split(output: bytes) -> list[str]:
    return [os.fsdecode(word) for word in output.split(b"\0") if word]


def _environment() -> Mapping[str, str]:
    # A hook's GIT_DIR and GIT_INDEX_FILE speak of one repository, and we are asked about paths.
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")
    }
    return {**kept, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"}


def _git(folder: str, *arguments: str, given: bytes = b"") -> bytes:
    """Git's output; a GitError with a cause: it could not even be started."""
    try:
        done = subprocess.run(
            ["git", "-C", folder, *arguments],
            input=given,
            capture_output=True,
            check=False,
            env=_environment(),
        )
    except FileNotFoundError as error:
        raise GitError("git is not installed, or not in PATH") from error
    except (OSError, ValueError) as error:
        raise GitError(f"git cannot be run: {error}") from error
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        message = said[0].removeprefix("fatal: ") if said else f"exit status {done.returncode}"
        raise GitError(f"git {arguments[0]}: {message}" if not said else message)
    return done.stdout
