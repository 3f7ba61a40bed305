"""What a running kernel holds that is all in its name: dtypes, enumerators, memories; registers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from verifier.executor.memory import numpy_name
from verifier.executor.semantics.casts import NUMPY
from verifier.hardware import dtypes as dt
from verifier.symbolic.values import BufferValue, Register


class Named:
    """A value that is all in its name: ``key`` tells it apart; None: it is more than that."""

    __slots__ = ("key",)
    key: str | None


class DTypeProxy(Named):
    """An element type as kernels see it: compared by name, also with NumPy's."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.key = self.name = name

    @property
    def itemsize(self) -> int:
        return NUMPY[self.name].itemsize

    @property
    def __name__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return dtype_name(other) == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


def dtype_name(value: object) -> str | None:
    """The name of anything that says a dtype, or None."""
    if isinstance(value, DTypeProxy):
        return value.name
    if isinstance(value, str):
        return dt.canonical(value)
    if isinstance(value, np.dtype):
        return numpy_name(value)
    if isinstance(value, type):
        try:
            return numpy_name(np.dtype(value)) if issubclass(value, np.generic) else None
        except TypeError:
            return None
    return None


class EnumProxy(Named):
    """A member of an enumeration of the API."""

    __slots__ = ("kind", "name")

    def __init__(self, kind: str, name: str) -> None:
        self.key = f"{kind}.{name}"
        self.kind = kind
        self.name = name

    @property
    def value(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EnumProxy) and (self.kind, self.name) == (other.kind, other.name)

    def __hash__(self) -> int:
        return hash((self.kind, self.name))

    def __repr__(self) -> str:
        return f"{self.kind}.{self.name}"


class BufferProxy(Named):
    """A memory region: ``nl.sbuf``, or what a Beta 1 allocator returned."""

    __slots__ = ("inner", "name")

    def __init__(self, inner: BufferValue) -> None:
        self.inner = inner
        self.name = inner.buffer.value
        self.key = None if inner.placement else f"buffer {self.name}"

    @property
    def value(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return other == self.name
        return isinstance(other, BufferProxy) and other.inner.buffer is self.inner.buffer

    def __hash__(self) -> int:
        return hash(self.inner.buffer)

    def __repr__(self) -> str:
        return self.name


class RegisterProxy:
    """A scalar register with its number.

    ``unset``: told where the number is used and nothing has set it; None: it is set. ``held``: the
    record of what the dialect knows of it, see :mod:`verifier.symbolic.registers`.
    """

    __slots__ = ("_number", "inner", "unset")

    def __init__(
        self,
        number: int = 0,
        unset: Callable[[], None] | None = None,
        held: object = None,
    ) -> None:
        self._number = number
        self.unset = unset
        self.inner = RegisterValue("register", held=held, proxy=self)

    @property
    def number(self) -> int:
        if self.unset is not None:
            self.unset()
        return self._number

    @number.setter
    def number(self, value: int) -> None:
        self._number, self.unset = value, None

    def __index__(self) -> int:
        return self.number

    __int__ = __index__

    def __bool__(self) -> bool:
        return self.number != 0


class RegisterValue(Register, frozen=True, eq=False, kw_only=True):
    """A register of the dialect that knows its number: itself, and no other."""

    proxy: RegisterProxy


class Harmless:
    """The result of a call that says nothing: a hint, an order."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __enter__(self) -> Harmless:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __call__(self, *args: Any, **_: Any) -> Any:
        return args[0] if args else self

    def __getattr__(self, name: str) -> Harmless:
        if name.startswith("__"):
            raise AttributeError(name)
        return Harmless(f"{self.text}.{name}")

    def __repr__(self) -> str:
        return f"<{self.text}>"


class RankLists(Harmless):
    """Which ranks work together: lists of their numbers."""

    __slots__ = ("groups",)

    def __init__(self, text: str, groups: tuple[tuple[int, ...], ...]) -> None:
        super().__init__(text)
        self.groups = groups
