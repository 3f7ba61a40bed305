"""What the server and its worker process say to each other: pickled frames over two pipes."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO, Final, TypeAlias

from msgspec import Struct

from verifier.configuration.model import Overrides
from verifier.report.model import FileResult

#: the length that goes before each frame
HEADER: Final = struct.Struct(">Q")


class Check(Struct, frozen=True):
    """Analyse a file.

    ``texts`` are the buffers that changed since the last message, None for those that are closed.
    ``limit``: seconds for each kernel, at most; None: what the configuration says.
    """

    number: int
    path: str
    folders: tuple[str, ...]
    texts: Mapping[str, str | None]
    overrides: Overrides
    limit: float | None = None


class Cancel(Struct, frozen=True):
    """Nobody waits for an analysis any more."""

    number: int


class Answer(Struct, frozen=True):
    """What came of a :class:`Check`.

    ``dropped``: it was cancelled. ``broken``: first and last line of what does not parse.
    ``short``: kernels that the limit of the check, not that of the configuration, may have ended.
    ``error``: the analysis failed, and how. ``refused``: the configuration cannot be used, so that
    nothing was analysed.
    """

    number: int
    result: FileResult | None = None
    broken: tuple[tuple[int, int], ...] = ()
    short: frozenset[str] = frozenset()
    dropped: bool = False
    error: str = ""
    refused: bool = False
    seconds: float = 0.0


Message: TypeAlias = Check | Cancel


def frame(message: object) -> bytes:
    """A message with its length before it."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return HEADER.pack(len(data)) + data


def receive(stream: BinaryIO) -> Any:
    """The next message. Raises EOFError at the end of the stream."""
    head = _exactly(stream, HEADER.size)
    return pickle.loads(_exactly(stream, HEADER.unpack(head)[0]))


def _exactly(stream: BinaryIO, count: int) -> bytes:
    data = stream.read(count)
    if len(data) < count:
        raise EOFError
    return data
