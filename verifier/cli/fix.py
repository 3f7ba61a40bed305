"""``check --fix`` and ``check --diff``: which texts change, and writing them."""

from __future__ import annotations

import difflib
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from verifier.cli.paths import Display
from verifier.report.model import (
    EXIT_CLEAN,
    EXIT_FAILURE,
    EXIT_FINDINGS,
    FileError,
    FileRequest,
    FileResult,
    RunReport,
)

if TYPE_CHECKING:
    from verifier.engine.mending import Check, Finish, Mended, Refused
    from verifier.source.edits import Exact

_LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


class Again:
    """Checks files again, with texts in place of what they hold."""

    def __init__(self, requests: Iterable[FileRequest]) -> None:
        from verifier.engine.workspace import Workspace

        self._requests = {request.path: request for request in requests}
        self._workspace = Workspace()
        self._open: set[str] = set()

    def __call__(self, texts: Mapping[str, str], paths: Sequence[str]) -> list[FileResult]:
        for path in self._open.difference(texts):
            self._workspace.open(path, None)
        for path, text in texts.items():
            self._workspace.open(path, text)
        self._open = set(texts)
        wanted = [self._requests[path] for path in dict.fromkeys(paths) if path in self._requests]
        return [self._workspace.check(request) for request in wanted]


class Fixing(Struct):
    """What ``--fix``, ``--unsafe-fixes`` and ``--diff`` ask for, and what came of it.

    ``write`` False: the files stay as they are. ``changed`` has the texts before and after,
    ``applied`` the titles of what was fixed, by path.
    """

    unsafe: bool
    write: bool
    changed: dict[str, tuple[str, str]] = field(default_factory=dict)
    applied: dict[str, list[str]] = field(default_factory=dict)
    refused: list[Refused] = field(default_factory=list)
    errors: list[FileError] = field(default_factory=list)

    def fix(
        self,
        results: Sequence[FileResult],
        check: Check,
        finish: Finish,
        ours: Callable[[str], bool] = lambda _: True,
    ) -> list[FileResult]:
        """Fix what can be fixed; the results of the analysis of what the files hold then.

        ``ours`` says which files may be changed.
        """
        from verifier.engine.mending import mend

        files: dict[str, Exact | None] = {}

        def read(path: str) -> str | None:
            if path not in files:
                files[path] = self._open(path) if ours(path) else None
            found = files[path]
            return None if found is None else found.text

        mended = mend(results, read, check, finish, unsafe=self.unsafe)
        self.refused = mended.refused
        failed = []
        for path, text in sorted(mended.texts.items()):
            file = files[path]
            assert file is not None
            if text == file.text:
                continue
            if self.write and not self._save(file, text):
                failed.append(path)
                continue
            self.changed[path] = (file.text, text)
            self.applied[path] = mended.applied[path]
        return _without(mended, failed, check) if failed else mended.results

    def diff(self) -> Iterator[str]:
        """The changes as unified diffs, in pieces."""
        display = Display(())
        for path, (before, after) in sorted(self.changed.items()):
            shown = display.name(path)
            for line in difflib.unified_diff(
                _LINES.findall(before), _LINES.findall(after), shown, shown
            ):
                yield line
                if not line.endswith(("\n", "\r")):
                    yield "\n\\ No newline at end of file\n"

    def remarks(self) -> Iterator[str]:
        """What was done, and what was not, in one line each."""
        display = Display(())
        fixes, files = sum(map(len, self.applied.values())), len(self.applied)
        if fixes:
            would = "fixed" if self.write else "would fix"
            yield f"{would} {_some(fixes, 'finding')} in {_some(files, 'file')}"
        for refused in self.refused:
            place = f"{display.name(refused.path)}:{refused.line}"
            yield f"{place}: not fixed ({refused.title}): {refused.reason}"

    def exit_status(self, report: RunReport) -> int:
        """Of ``--diff``: 2 failure, 1 something would change, 0 nothing would."""
        if any(error.kind != "syntax" for error in report.errors):
            return EXIT_FAILURE
        return EXIT_FINDINGS if self.changed else EXIT_CLEAN

    def _open(self, path: str) -> Exact | None:
        from verifier.source.edits import exact
        from verifier.source.text import SourceError, read_bytes

        try:
            found = exact(Path(path), read_bytes(Path(path)))
            if self.write:
                _demand_writable(Path(path))
        except (SourceError, OSError) as error:
            self._failed(path, error)
            return None
        return found

    def _save(self, file: Exact, text: str) -> bool:
        from verifier.source.text import SourceError

        try:
            write(file.path, file.encoded(file.text), file.encoded(text))
        except (SourceError, OSError) as error:
            self._failed(str(file.path), error)
            return False
        return True

    def _failed(self, path: str, error: Exception) -> None:
        from verifier.source.text import SourceError

        if isinstance(error, SourceError):
            self.errors.append(FileError(path, error.line, f"cannot fix: {error.message}", "usage"))
        else:
            why = (error.strerror if isinstance(error, OSError) else None) or str(error)
            self.errors.append(FileError(path, 0, f"cannot write the fixed file: {why}", "usage"))


def write(path: Path, before: bytes, after: bytes) -> None:
    """Put ``after`` into a file that holds ``before``: all of it or nothing, with the same mode.

    A link stays one; the file that it leads to is written.

    Raises:
        OSError: the file may not be written, holds something else by now, or has no room.
    """
    target = path.resolve()
    mode = _demand_writable(target)
    if target.read_bytes() != before:
        raise OSError(None, "it was changed meanwhile")
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(after)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(mode)
        owner = target.stat()
        with suppress(OSError, AttributeError):  # only root may give files away
            os.chown(temporary, owner.st_uid, owner.st_gid)
        temporary.replace(target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _demand_writable(path: Path) -> int:
    """The mode of a file that may be written; replacing it would not ask for the permission."""
    mode = stat.S_IMODE(path.stat().st_mode)
    if not mode & 0o222 or not os.access(path, os.W_OK):
        raise OSError(None, "it is read-only")
    return mode


def _without(mended: Mended, failed: Sequence[str], check: Check) -> list[FileResult]:
    """The results when some files could not be written."""
    from verifier.engine.mending import renewed

    texts = {path: text for path, text in mended.texts.items() if path not in failed}
    return renewed(mended.results, check(texts, [result.path for result in mended.results]))


def _some(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
