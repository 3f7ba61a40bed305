"""What the editor may set: ``initializationOptions``, or ``tilelint`` among its settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from verifier.configuration.model import Overrides


class Options(Struct, frozen=True):
    """In the editor's settings the names are in camel case (``inlayHints``).

    ``inlay_hints``: shapes of tiles, in the text. ``code_lens``: what is known of a kernel, above
    its ``def``. ``verbose``: each finding that a kernel's precondition stands for, at its place.
    ``undecided``: say at a kernel that it is not verified, and why. ``interactive_timeout``:
    seconds for each kernel while the text is edited; what takes longer is finished when nothing
    else is to do. ``debounce``: milliseconds between an edit and the analysis. The others stand
    above the configuration files, as a command line does.
    """

    inlay_hints: bool = True
    code_lens: bool = True
    verbose: bool = False
    undecided: bool = True
    interactive_timeout: float = 2.0
    debounce: int = 20
    target: str = ""
    api_version: str = ""
    select: str = ""
    ignore: str = ""
    timeout: float = 0.0

    @property
    def overrides(self) -> Overrides:
        return Overrides(
            targets=(self.target,) if self.target else (),
            api_version=self.api_version or None,
            select=(self.select,) if self.select else (),
            ignore=(self.ignore,) if self.ignore else (),
            timeout=self.timeout or None,
        )


def read(said: object, before: Options | None = None) -> tuple[Options, list[str]]:
    """The options in what a client sends, and what is wrong with it.

    The options may stand in a table ``tilelint``. What is not said stays as it was before.
    """
    options = before or Options()
    if isinstance(said, Mapping) and isinstance(said.get("tilelint"), Mapping):
        said = said["tilelint"]
    if said is None:
        return options, []
    if not isinstance(said, Mapping):
        return options, ["the settings of tilelint are not a table"]
    known = {_camel(name): name for name in Options.__struct_fields__}
    values: dict[str, Any] = {name: getattr(options, name) for name in Options.__struct_fields__}
    problems = []
    for key, value in said.items():
        name = known.get(str(key), str(key))
        if name not in values:
            problems.append(f"unknown setting `tilelint.{key}`; there is {', '.join(known)}")
        elif value is not None:
            wanted = type(values[name])
            if wanted is str and isinstance(value, (list, tuple)):
                value = ",".join(map(str, value))
            if wanted is float and isinstance(value, int) and not isinstance(value, bool):
                value = float(value)
            if type(value) is not wanted or (wanted in (int, float) and value < 0):
                problems.append(f"`tilelint.{key}`: {value!r} is not a {_NAMES[wanted]}")
            else:
                values[name] = value
    return Options(**values), problems


_NAMES = {bool: "truth value", int: "whole number", float: "number of seconds", str: "text"}


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(map(str.capitalize, rest))
