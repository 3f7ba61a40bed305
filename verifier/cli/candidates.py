"""Which files a run is about: those below what was named that may hold kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from verifier.cli.paths import absolute
from verifier.report.model import FileError

if TYPE_CHECKING:
    from verifier.source.sources import Sources


class Candidates(Struct, frozen=True):
    """``total`` files were found; ``files`` may hold kernels, largest first, of ``sizes`` bytes,
    ``others`` hold none."""

    total: int
    files: tuple[str, ...]
    sizes: tuple[int, ...]
    errors: tuple[FileError, ...]
    others: tuple[str, ...] = ()


def gather(
    paths: Sequence[str],
    wanted: Callable[[str], bool] = lambda _: True,
    sources: Sources | None = None,
) -> Candidates:
    """The files below ``paths`` that may hold kernels; what cannot be read is an error each.

    Files that are not ``wanted`` are as if they were not there.
    """
    from verifier.source.files import MissingPathError, PathError, collect
    from verifier.source.sources import Sources
    from verifier.source.text import SourceError, may_hold_kernels

    sources = sources or Sources()
    found: dict[str, Path] = {}
    errors: list[FileError] = []
    failures: list[PathError] = []
    for path in dict.fromkeys(paths):
        try:
            for file in collect([Path(path)], failures):
                if wanted(str(file)):
                    found.setdefault(absolute(file), file)
        except MissingPathError as error:
            errors.append(FileError(path, 0, error.message, "usage"))
        except PathError as error:
            errors.append(FileError(path, 0, error.message, "unreadable"))
    errors += [FileError(str(e.path), 0, e.message, "unreadable") for e in failures]
    sized: list[tuple[int, str]] = []
    others: list[str] = []
    for file in found.values():
        try:
            data = sources.read(file)
        except SourceError as error:
            errors.append(FileError(str(file), 0, error.message, "unreadable"))
            continue
        if may_hold_kernels(data):
            sized.append((-len(data), str(file)))
        else:
            others.append(str(file))
    sized.sort()
    files, sizes = tuple(path for _, path in sized), tuple(-size for size, _ in sized)
    return Candidates(len(found), files, sizes, tuple(errors), tuple(sorted(others)))


def below(paths: Sequence[str]) -> frozenset[str]:
    """The absolute paths of all Python files below ``paths``, with kernels or without."""
    from verifier.source.files import PathError, collect

    found: set[str] = set()
    for path in paths:
        with suppress(PathError):
            found.update(absolute(file) for file in collect([Path(path)], []))
    return frozenset(found)


def roots_of(paths: Sequence[str]) -> tuple[str, ...]:
    """Where imports are looked up: the directories given, those of files given, and here."""
    roots = [path if Path(path).is_dir() else str(Path(path).parent) for path in paths]
    return tuple(dict.fromkeys([*roots, "."]))
