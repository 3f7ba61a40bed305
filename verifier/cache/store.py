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
from typing import Any, Final

import diskcache

#: bytes on disk from which on the oldest entries are dropped
SIZE_LIMIT: Final = 512 * 1024 * 1024
#: seconds to wait for another process that writes
_PATIENCE: Final = 5.0
_DIGEST: Final = 16

_FAILURES: Final = (sqlite3.Error, OSError, ValueError, TypeError, EOFError, diskcache.Timeout)


class CacheError(Exception):
    """The folder cannot be used; the text says why."""


class _Bytes(diskcache.Disk):  # type: ignore[misc]
    """Values as they are; what another program has pickled is not read."""

    def fetch(self, mode: int, filename: str | None, value: Any, read: bool) -> Any:
        if mode == diskcache.core.MODE_PICKLE:
            raise ValueError("not an entry of this program")
        return super().fetch(mode, filename, value, read)


class Store:
    """The entries of one folder. Several processes may use it at once."""

    def __init__(self, folder: Path) -> None:
        """Open the folder; it is made if need be.

        Raises:
            CacheError: it cannot be made, read or written.
        """
        self.folder = folder
        self.trouble: str | None = None
        try:
            self._cache = self._open()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise CacheError(_said(error)) from error
            self._discard()  # damaged: what it held can be found again
        except _FAILURES as error:
            raise CacheError(_said(error)) from error

    def _open(self) -> Any:
        return diskcache.Cache(
            str(self.folder),
            disk=_Bytes,
            timeout=_PATIENCE,
            size_limit=SIZE_LIMIT,
            eviction_policy="least-recently-stored",
        )

    def _discard(self) -> None:
        for name in ("cache.db", "cache.db-wal", "cache.db-shm"):
            with contextlib.suppress(OSError):
                (self.folder / name).unlink()
        try:
            self._cache = self._open()
        except _FAILURES as error:
            raise CacheError(_said(error)) from error

    def get(self, key: str) -> bytes | None:
        """What was put under ``key``, undamaged, else None."""
        try:
            found = self._cache.get(key)
        except _FAILURES as error:
            self._fail(error)
            return None
        if not isinstance(found, bytes) or found[:_DIGEST] != _digest(key, found[_DIGEST:]):
            return None
        return found[_DIGEST:]

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Write what is put inside the block at once."""
        try:
            with self._cache.transact():
                yield
        except _FAILURES as error:
            self._fail(error)

    def put(self, key: str, value: bytes) -> None:
        """Keep ``value``; after the first failure nothing is written any more."""
        if self.trouble is not None:
            return
        try:
            self._cache.set(key, _digest(key, value) + value)
        except _FAILURES as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        if self.trouble is None:
            self.trouble = _said(error)

    def close(self) -> None:
        with contextlib.suppress(*_FAILURES):
            self._cache.close()


def _digest(key: str, value: bytes) -> bytes:
    return hashlib.blake2b(value, digest_size=_DIGEST, key=key.encode()[:64]).digest()


def _said(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
