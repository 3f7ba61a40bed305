"""What a contract says of one input, in symbols.

Inputs that others are made of have paths: ``xs[1]`` is an item, ``cfg.tile`` an argument.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec import Struct

from verifier.symbolic.expr import Expr


class ContractMismatchError(Exception):
    """A contract that does not fit the kernel: an unknown parameter, name or member."""


class TensorPin(Struct, frozen=True):
    """A tensor of one of the ``dtypes`` (none: any).

    ``shape`` may be None (of any rank, or no tensor but the dtype itself), entries None (any size).
    """

    shape: tuple[Expr | None, ...] | None
    dtypes: tuple[str, ...] = ()

    @property
    def dtype(self) -> str | None:
        """The one dtype that it may have."""
        return self.dtypes[0] if len(self.dtypes) == 1 else None


class RangePin(Struct, frozen=True):
    """An integer, both ends included."""

    lower: int
    upper: int


class IntegerPin(Struct, frozen=True):
    """Some integer; conditions say which."""


class FlagPin(Struct, frozen=True):
    """True or False."""


class TypePin(Struct, frozen=True):
    """Any value of one of Python's types."""

    name: Literal["float", "str"]


class ValuePin(Struct, frozen=True):
    """A plain value."""

    value: int | float | str | bool | None


class SequencePin(Struct, frozen=True):
    """A tuple or a list of so many inputs."""

    count: int
    is_list: bool


class NamedPin(Struct, frozen=True):
    """A value by its name where the kernel is defined."""

    path: tuple[str, ...]


class ObjectPin(Struct, frozen=True):
    """What a class makes of inputs: ``count`` without a name, then those that are named."""

    path: tuple[str, ...]
    count: int
    keywords: tuple[str, ...]


class ChoicePin(Struct, frozen=True):
    """One of the values, None, or a tensor."""

    options: tuple[ValuePin | NamedPin, ...]
    tensor: TensorPin | None = None


class DefaultPin(Struct, frozen=True):
    """What it is where a caller leaves it out."""


Pin: TypeAlias = (
    TensorPin
    | RangePin
    | IntegerPin
    | FlagPin
    | TypePin
    | ValuePin
    | SequencePin
    | NamedPin
    | ObjectPin
    | ChoicePin
    | DefaultPin
)


#: what the keys of values begin with that are no strings, and no string of a kernel does
NO_STRING: Final = "\0"


def option_key(option: ValuePin | NamedPin) -> str:
    """What tells one of several values from the others, whatever their kinds."""
    if isinstance(option, NamedPin):
        return f"{NO_STRING}.{'.'.join(option.path)}"
    return option.value if isinstance(option.value, str) else f"{NO_STRING}{option.value!r}"


def item_path(path: str, position: int) -> str:
    """The path of an item of a tuple or list."""
    return f"{path}[{position}]"


def argument_path(path: str, argument: int | str) -> str:
    """The path of an argument of an object."""
    return f"{path}.{argument}"
