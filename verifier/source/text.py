"""Reading source files: bytes to text, with every failure a :class:`SourceError` at a line.

Nothing in this package imports or executes what it reads.
"""

from __future__ import annotations

import io
import tokenize
from pathlib import Path

from msgspec import Struct

from verifier.source import apis

MAX_BYTES = 4 * 1024 * 1024
"""Larger files are refused: no hand-written kernel file comes near, and parsing them needs GBs."""


class SourceError(Exception):
    """A file, or a part of it, that cannot be read or parsed.

    ``line`` is 1-based and ``column`` 0-based in code points; both point at the first offence.
    """

    def __init__(self, path: Path | str, line: int, column: int, message: str) -> None:
        super().__init__(f"{path}:{line}: {message}")
        self.path = str(path)
        self.line = line
        self.column = column
        self.message = message

    def __reduce__(self) -> tuple[type[SourceError], tuple[str, int, int, str]]:
        """Errors travel between processes."""
        return type(self), (self.path, self.line, self.column, self.message)


class NestedTooDeepError(SourceError):
    """Source that is right, and nested deeper than it is read."""


class SourceText(Struct, frozen=True):
    """A decoded file. ``text`` has no byte order mark and ``\\n`` line ends only.

    Neither changes a line number or a column, so spans in ``text`` are spans in the file.
    """

    path: Path
    text: str


def may_hold_kernels(raw: bytes) -> bool:
    """Whether a kernel entry point could be in a file with these bytes.

    Every way to a kernel goes through the name of a package or of a decorator. Words that merely
    contain one, such as "thinking" and "jitter", do not count. Costs a fraction of a millisecond.
    ``False`` is certain; ``True`` means "parse and see".
    """
    return any(_has(raw, word) for word in apis.words())


def _has(raw: bytes, word: bytes) -> bool:
    """Whether a word of the text begins with ``word``; a pattern would look at every byte."""
    at = raw.find(word)
    while at >= 0:
        if not raw[max(at - 1, 0) : at].isalpha() and not raw.startswith(b"jitter", at):
            return True
        at = raw.find(word, at + 1)
    return False


def read_bytes(path: Path) -> bytes:
    """The raw content of ``path``.

    Raises:
        SourceError: the file cannot be opened or read (missing, a directory, no permission).
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise SourceError(path, 1, 0, f"cannot read file: {error.strerror or error}") from error
    except ValueError as error:  # a NUL in the path
        raise SourceError(path, 1, 0, f"cannot read file: {error}") from error


def decode(path: Path, raw: bytes) -> SourceText:
    """Decode ``raw`` as Python does: byte order mark, PEP 263 coding line, else UTF-8.

    Raises:
        SourceError: too large, unknown encoding, or bytes that the encoding does not allow (at
            the line of the first such byte).
    """
    if len(raw) > MAX_BYTES:
        limit = MAX_BYTES // (1024 * 1024)
        raise SourceError(path, 1, 0, f"file is larger than {limit} MiB, not analysed")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
    except SyntaxError as error:
        line = _invalid_utf8_line(raw)
        if line:
            raise SourceError(path, line, 0, "file is not valid UTF-8") from error
        raise SourceError(path, 1, 0, f"cannot decode file: {error.msg}") from error
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        line = _line_of(raw, error.start)
        message = f"file is not valid {encoding.upper()}: {error.reason}"
        raise SourceError(path, line, 0, message) from error
    except (LookupError, ValueError, OSError) as error:  # codecs that do not decode to text
        raise SourceError(path, 1, 0, f"cannot decode file as {encoding}") from error
    return SourceText(path, text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"))


def _invalid_utf8_line(raw: bytes) -> int:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return _line_of(raw, error.start)
    return 0


def _line_of(raw: bytes, offset: int) -> int:
    head = raw[:offset].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return head.count(b"\n") + 1
