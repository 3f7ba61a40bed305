"""Reports of files and results of kernels in a store.

A file's report holds while the file is what it was, and what it reached in others is: asked first,
and nothing is parsed but files that have changed. Else the results of its kernels are asked one by
one (:mod:`verifier.engine.memo`).
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from verifier.cache.environment import environment
from verifier.cache.store import Store
from verifier.engine.memo import Reached, Stored, carried, joined, reached
from verifier.report.model import FileRequest, FileResult, RunReport
from verifier.source.footprint import recording
from verifier.source.project import Project


class Entry(Struct, frozen=True):
    """The report of a file, and what it depends on."""

    reached: Reached
    result: FileResult


_entry: Final = msgspec.msgpack.Decoder(Entry)
_results: Final = msgspec.msgpack.Decoder(tuple[Stored, ...])
_encoder: Final = msgspec.msgpack.Encoder()


class StoredMemo:
    """The results of kernels in a store; new ones are gathered, to be written by one process."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.fresh: dict[str, bytes] = {}

    def load(self, key: str) -> Sequence[Stored]:
        raw = self._store.get(_named("kernel", key))
        if raw is None:
            return ()
        try:
            return _results.decode(raw)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return ()

    def save(self, key: str, stored: Sequence[Stored]) -> None:
        with contextlib.suppress(UnicodeEncodeError, TypeError, OverflowError):
            self.fresh[_named("kernel", key)] = _encoder.encode(tuple(stored))


class Kept(Struct, frozen=True):
    """What is to be kept of the analysis of a file: results of kernels, and what it depends on."""

    fresh: dict[str, bytes]
    reached: Reached


def analysed(store: Store, request: FileRequest, project: Project) -> tuple[FileResult, Kept]:
    """Analyse a file of a project, with what the store has of its kernels."""
    from verifier.engine.analysis import analyze_file

    memo = StoredMemo(store)
    with recording() as seen:
        result = analyze_file(request, memo, project)
    return result, Kept(memo.fresh, reached(seen, project))


def find(store: Store, request: FileRequest, project: Project) -> FileResult | None:
    """The report of the request's file, if it still holds."""
    raw = store.get(_key(request, project))
    if raw is None:
        return None
    try:
        entry = _entry.decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return carried(entry.result, entry.reached, project)


def keep(
    store: Store,
    request: FileRequest,
    project: Project,
    parts: Sequence[tuple[FileResult, Kept | None]],
) -> None:
    """Keep the report that the parts of a file make up.

    Nothing is kept if something went wrong in one of them, or they did not see the same files.
    """
    everything: list[Reached] = []
    for result, kept in parts:
        if kept is None:
            return
        if any(error.kind == "internal" for error in result.errors):
            return
        everything.append(kept.reached)
    together = joined(everything)
    if together is None:
        return
    merged = RunReport.merge([result for result, _ in parts])
    whole = FileResult(
        request.path,
        merged.kernels,
        merged.diagnostics,
        merged.errors,
        merged.statistics,
        merged.helpers,
        merged.unreached,
    )
    entry = Entry(together, whole)
    with contextlib.suppress(UnicodeEncodeError, TypeError, OverflowError):
        store.put(_key(request, project), _encoder.encode(entry))


def _key(request: FileRequest, project: Project) -> str:
    whole = replace(request, part=(0, 1))
    return _named("file", f"{project.sources.digest(request.path)} {whole!r}")


def _named(kind: str, key: str) -> str:
    text = f"{kind} {environment()} {key}"
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()
