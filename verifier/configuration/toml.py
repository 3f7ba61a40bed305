"""TOML, and where it is wrong."""

from __future__ import annotations

import re
import sys
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


class BadTomlError(ValueError):
    """A text that is not TOML; ``line`` is 1-based."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


def load(text: str) -> dict[str, Any]:
    """The content of a document; :func:`verifier.configuration.positions.lines` has its lines.

    Raises:
        BadTomlError: the text is not TOML.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        place = _PLACE.search(message)
        line = text.count("\n") + 1
        if place is not None:
            message = message[: place.start()]
            line = int(place[1]) if place[1] else line
        raise BadTomlError(f"is not TOML: {message[:1].lower()}{message[1:]}", line) from error
    except RecursionError as error:
        raise BadTomlError("is nested too deeply", 0) from error
