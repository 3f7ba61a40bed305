"""What ``--arg NAME=VALUE`` means."""

from __future__ import annotations

import ast
import re
from enum import Enum
from typing import Any

from msgspec import Struct

from verifier.hardware import dtypes as dt

_TENSOR = re.compile(r"([A-Za-z_][A-Za-z_0-9]*)\s*\[(.*)\]", re.DOTALL)


class ArgumentError(ValueError):
    """An argument that cannot be read; the message says what is wrong with it."""


class ArgumentKind(str, Enum):
    """What an argument is: it goes to the process of the kernel as text."""

    #: of ``dtype`` and ``shape``
    TENSOR = "tensor"
    #: ``value`` is its path
    FILE = "file"
    DTYPE = "dtype"
    TUPLE = "tuple"
    #: a number, truth value, text, None, list
    VALUE = "value"


class Argument(Struct, frozen=True):
    """An argument as it is given."""

    kind: ArgumentKind
    value: Any = None
    dtype: str = ""
    shape: tuple[int, ...] = ()


def parse(text: str) -> tuple[str, Argument]:
    """``NAME=VALUE``: ``bf16[256,128]``, ``@file.npy``, a number, a name of a dtype, text ...

    Raises:
        ArgumentError: it is none of these.
    """
    name, separator, value = text.partition("=")
    name, value = name.strip(), value.strip()
    if not separator or not name.isidentifier():
        raise ArgumentError(f"an argument is NAME=VALUE, not '{text}'")
    return name, _value(name, value)


def _value(name: str, text: str) -> Argument:
    if text.startswith("@"):
        if not text[1:]:
            raise ArgumentError(f"argument '{name}': '@' is followed by a file")
        return Argument(ArgumentKind.FILE, text[1:])
    tensor = _TENSOR.fullmatch(text)
    if tensor is not None:
        dtype = dt.SPELLINGS.get(tensor[1])
        if dtype is None:
            raise ArgumentError(f"argument '{name}': unknown dtype '{tensor[1]}'")
        return Argument(ArgumentKind.TENSOR, dtype=dtype, shape=_shape(name, tensor[2]))
    if text.startswith("[") and text.endswith("]") and _TENSOR.search(text[1:-1]):
        items = re.split(r",\s*(?=[A-Za-z@])", text[1:-1])
        return Argument(ArgumentKind.VALUE, [_value(name, item.strip()) for item in items])
    try:
        found = ast.literal_eval(text)
        return Argument(
            ArgumentKind.TUPLE if isinstance(found, tuple) else ArgumentKind.VALUE, found
        )
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        pass
    if text in ("true", "false"):
        return Argument(ArgumentKind.VALUE, text == "true")
    dtype = dt.canonical(text)
    if dtype is not None:
        return Argument(ArgumentKind.DTYPE, dtype)
    if "[" in text or "]" in text:
        raise ArgumentError(f"argument '{name}': a tensor is DTYPE[SIZE,SIZE...], not '{text}'")
    return Argument(ArgumentKind.VALUE, text)


def _shape(name: str, text: str) -> tuple[int, ...]:
    sizes: list[int] = []
    for part in text.split(",") if text.strip() else []:
        word = part.strip()
        if not re.fullmatch(r"\d+", word) or int(word) < 1:
            raise ArgumentError(f"argument '{name}': '{word}' is no size (a positive integer)")
        sizes.append(int(word))
    if not sizes:
        raise ArgumentError(f"argument '{name}': a tensor has at least one size")
    return tuple(sizes)
