"""The parameters of a function of a kernel API, out of the text that its description has.

``dst*, src*, |, scale=1.0, **``: ``*`` marks a required parameter, ``|`` starts the keyword-only
ones, ``**`` says that unknown keywords are taken and dropped, ``*`` alone that more arguments are
taken by position. Those before ``/`` have no name: they are given by their place alone.
"""

from __future__ import annotations

from functools import cache

from msgspec import Struct
from msgspec.structs import replace


class Parameter(Struct, frozen=True):
    """``default`` is the text of the default, None for a required parameter."""

    name: str
    default: str | None
    keyword_only: bool
    #: it has no name that a call could give it by
    nameless: bool = False


class Signature(Struct, frozen=True):
    """Parameters of ``name`` in ``generation``.

    ``open``: unknown keywords are dropped silently; ``variadic``: any number of further arguments
    is taken by position.
    """

    name: str
    generation: str
    parameters: tuple[Parameter, ...]
    open: bool
    variadic: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(parameter.name for parameter in self.parameters)

    @property
    def positional(self) -> tuple[Parameter, ...]:
        return tuple(p for p in self.parameters if not p.keyword_only)

    def __str__(self) -> str:
        """``(dst, src, *, engine=engine.unknown)``."""
        shown: list[str] = []
        for parameter in self.parameters:
            if parameter.keyword_only and "*" not in shown:
                shown.append("*")
            default = parameter.default
            shown.append(parameter.name if default is None else f"{parameter.name}={default}")
            nameless = sum(each.nameless for each in self.parameters)
            if nameless == len(shown):
                shown.append("/")
        return f"({', '.join(shown)})"


@cache
def parse(name: str, generation: str, text: str) -> Signature:
    """The signature that a text stands for."""
    parameters: list[Parameter] = []
    keyword_only = False
    accepts_all = variadic = False
    for part in text.split(", ") if text else ():
        if part == "|":
            keyword_only = True
        elif part == "/":
            parameters = [replace(each, nameless=True) for each in parameters]
        elif part == "**":
            accepts_all = True
        elif part == "*":
            variadic = True
        elif part.endswith("*"):
            parameters.append(Parameter(part[:-1], None, keyword_only))
        else:
            parameter, default = part.split("=", 1)
            parameters.append(Parameter(parameter, default, keyword_only))
    return Signature(name, generation, tuple(parameters), accepts_all, variadic)
