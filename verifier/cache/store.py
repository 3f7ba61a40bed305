"""A folder of entries by key: bytes in, the same bytes or nothing out.

Nothing that goes wrong here may change a report: an entry that is damaged is no entry, a folder
that cannot be used is no cache, and both are said once. Entries are read as bytes only: a folder
that others can write to cannot make this process run anything.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final

#: bytes on disk from which on the oldest entries are dropped
SIZE_LIMIT: Final = 512 * 1024 * 1024
#: the part of the entries that is dropped at once
_DROPPED: Final = 8
#: seconds to wait for another process that writes
_PATIENCE: Final = 5.0
_DIGEST: Final = 16
_FILE: Final = "entries.db"

#: ``number`` grows with each entry that is put: the smallest is the oldest
_TABLE: Final = """
CREATE TABLE IF NOT EXISTS entries (
    number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, value BLOB NOT NULL
)
"""
_IS_MADE: Final = "SELECT 1 FROM sqlite_master WHERE name = 'entries'"
_FAILURES: Final = (sqlite3.Error, OSError, ValueError, OverflowError)


class CacheError(Exception):
    """The folder cannot be used; the text says why."""


class Store:
    """The entries of one folder. Several processes may use it at once, each with its own store."""

    def __init__(self, folder: Path, size_limit: int = SIZE_LIMIT) -> None:
        """Open the folder; it is made if need be.

        Raises:
            CacheError: it cannot be made, read or written.
        """
        self.folder = folder
        self.trouble: str | None = None
        self._limit = size_limit
        try:
            self._entries = self._open()
        except sqlite3.OperationalError as error:
            raise CacheError(_said(error)) from error
        except sqlite3.DatabaseError:
            self._discard()  # damaged: what it held can be found again
        except _FAILURES as error:
            raise CacheError(_said(error)) from error

    def _open(self) -> sqlite3.Connection:
        self.folder.mkdir(parents=True, exist_ok=True)
        made = sqlite3.connect(self.folder / _FILE, timeout=_PATIENCE, isolation_level=None)
        try:
            with contextlib.suppress(sqlite3.OperationalError):
                # who reads does not wait for who writes; that nobody else may be there at this
                # moment is not waited for, and whoever is makes it so
                made.execute("PRAGMA journal_mode = WAL")
            made.execute("PRAGMA synchronous = NORMAL")
            if made.execute(_IS_MADE).fetchone() is None:
                made.execute("BEGIN IMMEDIATE")  # waits for others that make the same
                made.execute(_TABLE)
                made.execute("COMMIT")
            made.execute("SELECT number, key, value FROM entries LIMIT 1").fetchone()
        except BaseException:
            made.close()
            raise
        return made

    def _discard(self) -> None:
        for name in (_FILE, f"{_FILE}-wal", f"{_FILE}-shm"):
            with contextlib.suppress(OSError):
                (self.folder / name).unlink()
        try:
            self._entries = self._open()
        except _FAILURES as error:
            raise CacheError(_said(error)) from error

    def get(self, key: str) -> bytes | None:
        """What was put under ``key``, undamaged, else None."""
        try:
            row = self._entries.execute(
                "SELECT value FROM entries WHERE key = ?", (key,)
            ).fetchone()
        except _FAILURES as error:
            self._fail(error)
            return None
        found = None if row is None else row[0]
        if not isinstance(found, bytes) or found[:_DIGEST] != _digest(key, found[_DIGEST:]):
            return None
        return found[_DIGEST:]

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Write what is put inside the block at once, and drop the oldest if it is too much."""
        try:
            self._entries.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._shrink()
            finally:
                if self._entries.in_transaction:  # a failure may have ended it
                    self._entries.execute("COMMIT")
        except _FAILURES as error:
            self._fail(error)

    def put(self, key: str, value: bytes) -> None:
        """Keep ``value``; after the first failure nothing is written any more."""
        if self.trouble is not None:
            return
        entry = (key, _digest(key, value) + value)
        try:
            self._entries.execute(
                "INSERT OR REPLACE INTO entries (key, value) VALUES (?, ?)", entry
            )
        except _FAILURES as error:
            self._fail(error)

    def _shrink(self) -> None:
        """Drop the oldest entries until the rest is small enough."""
        while self._size() > self._limit:
            (count,) = self._entries.execute("SELECT count(*) FROM entries").fetchone()
            if not count:
                return
            oldest = "SELECT number FROM entries ORDER BY number LIMIT ?"
            dropped = (max(1, count // _DROPPED),)
            self._entries.execute(f"DELETE FROM entries WHERE number IN ({oldest})", dropped)

    def _size(self) -> int:
        """The bytes of the file that hold something."""
        names = ("page_count", "freelist_count", "page_size")
        pages, unused, size = (
            self._entries.execute(f"PRAGMA {name}").fetchone()[0] for name in names
        )
        return int(size) * (int(pages) - int(unused))

    def _fail(self, error: Exception) -> None:
        if self.trouble is None:
            self.trouble = _said(error)

    def close(self) -> None:
        with contextlib.suppress(*_FAILURES):
            self._entries.close()


def _digest(key: str, value: bytes) -> bytes:
    return hashlib.blake2b(value, digest_size=_DIGEST, key=key.encode()[:64]).digest()


def _said(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
