"""What a configuration is made of: values, where they come from, and what is wrong with them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from verifier.report.model import FileError, Severity

#: the configuration files: one of this tool's own, and one that is shared
NAME, PROJECT = "tilelint.toml", "pyproject.toml"

T = TypeVar("T")

#: A value as it was written, for people and for JSON.
Written: TypeAlias = str | int | float | bool | list[str] | None
Source: TypeAlias = Literal["default", "file", "command line"]


def shown(path: str) -> str:
    """An absolute path, relative to the current directory if it is inside."""
    here = os.path.join(os.path.abspath("."), "")  # noqa: PTH100, PTH118  (links stay)
    return path[len(here) :] if path.startswith(here) else path


class Origin(Struct, frozen=True):
    """Where a value was written: a line of a file, an option, or nowhere."""

    source: Source
    path: str = ""
    line: int = 0
    option: str = ""

    def __str__(self) -> str:
        if self.source == "file":
            return f"{shown(self.path)}:{self.line}" if self.line else shown(self.path)
        if self.source == "command line" and self.option:
            return f"command line ({self.option})"
        return self.source


DEFAULT = Origin("default")


class Problem(Struct, frozen=True):
    """One mistake; ``line`` 0 means no particular line, ``path`` empty the command line."""

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        if not self.path:
            return self.message
        return f"{Origin('file', self.path, self.line)}: {self.message}"


class ConfigurationError(Exception):
    """A configuration, or what the command line adds to it, that cannot be used."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems

    def __reduce__(self) -> tuple[type[ConfigurationError], tuple[tuple[Problem, ...]]]:
        return type(self), (self.problems,)


class Entry(Struct, frozen=True):
    """One thing that was said: a value as written, below a key if the setting is a table."""

    value: Written
    origin: Origin
    key: str = ""


class Given(Struct, Generic[T], frozen=True):
    """The value of a setting with everything that was said about it, least important first."""

    value: T
    entries: tuple[Entry, ...]


class KernelContract(Struct, frozen=True):
    """A contract for ``kernel``; ``text`` starts with its name.

    ``files`` is a pattern of the files it is for (empty: all). ``preset`` names the shape preset
    that it belongs to, if any. ``key`` is where it stands in its table.
    """

    kernel: str
    text: str
    origin: Origin
    key: str
    files: str = ""
    preset: str = ""


class Settings(Struct, frozen=True):
    """What is in force for one file, or for a whole run.

    ``select`` and ``ignore`` hold rule ids, an empty ``select`` means every rule; ``severity``
    maps rule ids. ``timeout`` is in seconds for each kernel; ``jobs`` None means the cores
    available. ``cache_dir`` is absolute, None means the usual place.
    """

    targets: tuple[str, ...] = ()
    api_version: str | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severity: Mapping[str, Severity] = field(default_factory=dict)
    contracts: tuple[KernelContract, ...] = ()
    presets: tuple[KernelContract, ...] = ()
    timeout: float = 60.0
    jobs: int | None = None
    strict: bool = False
    cache_dir: str | None = None


class Resolved(Struct, frozen=True):
    """The settings of ``path`` and where they come from.

    ``file`` is its configuration file (None: there is none). ``said`` is what is said, by the key
    of the setting, None if nothing is. ``excluded`` says which line of the configuration leaves
    the file out, if one does.
    """

    path: str
    file: str | None
    settings: Settings
    said: Mapping[str, Given[Any]] | None = None
    excluded: Origin | None = None

    def placed(self, error: FileError) -> FileError:
        """An error that the engine found at a kernel, at the line that has its contract.

        Its path is then absolute.
        """
        if not error.contract:
            return error
        from verifier.configuration.grammar import parse
        from verifier.configuration.showing import text_of

        for contract in (*self.settings.contracts, *self.settings.presets):
            origin = contract.origin
            if origin.source == "file" and text_of(parse(contract.text)) == error.contract:
                return replace(error, path=origin.path, line=origin.line)
        return error


class Overrides(Struct, frozen=True):
    """What stands above every configuration file: the command line, or an editor's options.

    Empty and None mean that nothing is said. Names are as the user wrote them; ``select``,
    ``ignore`` and ``targets`` may hold several, separated by commas. ``config`` is a file that is
    used instead of what would be found; ``isolated`` uses none.
    """

    targets: tuple[str, ...] = ()
    api_version: str | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    contracts: tuple[str, ...] = ()
    timeout: float | None = None
    jobs: int | None = None
    strict: bool | None = None
    cache_dir: str | None = None
    config: str | None = None
    isolated: bool = False

    @property
    def narrow(self) -> bool:
        """Whether less is checked than the configuration files say, or something else."""
        return bool(
            self.targets or self.api_version or self.select or self.ignore or self.contracts
        )
