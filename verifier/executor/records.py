"""What running TPU kernels hold besides numbers: records with fields, addresses of buffers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from verifier.executor.access import integer
from verifier.symbolic import expr as E
from verifier.symbolic.lanes import SystemAddress
from verifier.symbolic.values import Managed, RecordType


class Record:
    """A structure of the API: fields that are read and assigned, as in C.

    ``tilelint_origin``: how a helper computed the fields, forgotten when one is assigned.
    """

    __slots__ = ("tilelint_kind", "tilelint_origin", "tilelint_values")
    tilelint_kind: RecordType
    tilelint_values: dict[str, Any]
    tilelint_origin: object

    def __init__(self, kind: RecordType, values: tuple[Any, ...], origin: object) -> None:
        object.__setattr__(self, "tilelint_kind", kind)
        self.tilelint_fill(values, origin)

    def tilelint_fill(self, values: tuple[Any, ...], origin: object) -> None:
        fields = dict(zip(self.tilelint_kind.fields, values, strict=True))
        object.__setattr__(self, "tilelint_values", fields)
        object.__setattr__(self, "tilelint_origin", origin)

    def __getattr__(self, name: str) -> Any:
        values = self.tilelint_values
        if name not in values:
            raise AttributeError(f"`{self.tilelint_kind.name}` has no field `{name}`")
        return values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        values = self.tilelint_values
        if name not in values:
            raise AttributeError(f"`{self.tilelint_kind.name}` has no field `{name}`")
        values[name] = value
        object.__setattr__(self, "tilelint_origin", None)

    def __copy__(self) -> Record:
        return Record(
            self.tilelint_kind, tuple(self.tilelint_values.values()), self.tilelint_origin
        )

    def __deepcopy__(self, memo: object) -> Record:
        return self.__copy__()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record):
            return NotImplemented
        return (
            self.tilelint_kind is other.tilelint_kind
            and self.tilelint_values == other.tilelint_values
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.tilelint_values.items())
        return f"{self.tilelint_kind.name}({fields})"


class Address:
    """A place in a buffer of system memory; it moves by bytes."""

    __slots__ = ("tilelint_value",)

    def __init__(self, value: SystemAddress) -> None:
        self.tilelint_value = value

    def _moved(self, by: object) -> Any:
        if isinstance(by, bool) or not hasattr(by, "__index__"):
            return NotImplemented
        inner = self.tilelint_value
        return Address(SystemAddress(inner.storage, inner.offset + int(by)))

    def __add__(self, other: object) -> Any:
        return self._moved(other)

    __radd__ = __add__

    def __sub__(self, other: object) -> Any:
        if isinstance(other, Address):
            if other.tilelint_value.storage is not self.tilelint_value.storage:
                raise TypeError("addresses in different buffers have no distance")
            return self._offset - other._offset
        return self._moved(-other) if hasattr(other, "__index__") else NotImplemented  # type: ignore[operator]

    @property
    def _offset(self) -> int:
        return integer(self.tilelint_value.offset)

    def _same(self, other: object) -> bool:
        return (
            isinstance(other, Address)
            and other.tilelint_value.storage is self.tilelint_value.storage
        )

    def __eq__(self, other: object) -> bool:
        return self._same(other) and self._offset == other._offset  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((id(self.tilelint_value.storage), self._offset))

    def _order(self, other: object, compare: Callable[[int, int], bool]) -> Any:
        if not isinstance(other, Address):
            return NotImplemented
        if not self._same(other):
            raise TypeError("addresses in different buffers have no order")
        return compare(self._offset, other._offset)

    def __lt__(self, other: object) -> Any:
        return self._order(other, int.__lt__)

    def __le__(self, other: object) -> Any:
        return self._order(other, int.__le__)

    def __gt__(self, other: object) -> Any:
        return self._order(other, int.__gt__)

    def __ge__(self, other: object) -> Any:
        return self._order(other, int.__ge__)

    def __repr__(self) -> str:
        return f"{self.tilelint_value.storage.name} + {self._offset}"


class Section:
    """What ``with`` enters and leaves."""

    __slots__ = ("inner",)

    def __init__(self, inner: Managed) -> None:
        self.inner = inner

    def __enter__(self) -> None:
        self.inner.enter()

    def __exit__(self, *_: object) -> None:
        self.inner.leave()


def start_of(storage: Any) -> Address:
    """The address of a buffer's first byte."""
    return Address(SystemAddress(storage, E.const(0)))
