"""The content of files, read once each; an editor's buffer stands in the place of its file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from verifier.source.text import SourceError, SourceText, decode, read_bytes


class Sources:
    """What files hold, and digests by which to tell whether they still do."""

    def __init__(self, buffers: Mapping[str, str] | None = None) -> None:
        """``buffers``: unsaved texts by absolute path."""
        self._buffers = buffers or {}
        self._digests: dict[str, str] = {}

    def read(self, path: Path) -> bytes:
        """The raw content of a file.

        Raises:
            SourceError: the file cannot be opened or read.
        """
        file = os.path.abspath(path)  # noqa: PTH100  (links are not followed)
        buffer = self._buffers.get(file)
        try:
            raw = read_bytes(path) if buffer is None else buffer.encode("utf-8", "surrogatepass")
        except SourceError:
            self._digests[file] = ""
            raise
        self._digests[file] = hashlib.blake2b(raw, digest_size=16).hexdigest()
        return raw

    def text(self, path: Path) -> SourceText:
        """The decoded text of a file.

        Raises:
            SourceError: the file cannot be read or decoded.
        """
        raw = self.read(path)
        buffer = self._buffers.get(os.path.abspath(path))  # noqa: PTH100
        if buffer is None:
            return decode(path, raw)
        # an editor has decoded it already, whatever its first lines say
        return SourceText(
            path, buffer.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        )

    def digest(self, file: str) -> str:
        """The digest of an absolute path's content when it was last read; empty if unreadable."""
        if file not in self._digests:
            try:
                self.read(Path(file))
            except SourceError:
                return ""
        return self._digests[file]
