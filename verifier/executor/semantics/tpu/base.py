"""What the meaning of a TPU's operation may see and do, and the table of meanings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from numpy.typing import NDArray

from verifier.executor.semantics.base import SemanticsMissing
from verifier.hardware.chips import Chip
from verifier.symbolic.trace import Operation

Array: TypeAlias = NDArray[Any]
Quad: TypeAlias = tuple[int, int, int, int]


class LaneIO(Protocol):
    """The operands of one operation: tensors by address and strides, and plain values."""

    @property
    def chip(self) -> Chip: ...

    def has(self, role: str) -> bool:
        """Whether the operand is there and not None."""
        ...

    def is_tensor(self, role: str) -> bool:
        """Whether the operand is a tensor that is read or written."""
        ...

    def value(self, role: str) -> Any:
        """The operand as a plain value: a number, a flag, a tuple of numbers, None; a constant of
        a given type as an array of one element."""
        ...

    def address(self, role: str) -> int:
        """The local address that an operand is."""
        ...

    def read(self, role: str) -> Array:
        """The elements of a tensor, as the operation says where they lie: a copy."""
        ...

    def write(self, role: str, array: Array) -> None:
        """Store an array; converted to the tensor's dtype if it has another."""
        ...

    def shape(self, role: str) -> Quad:
        """The extents of a tensor."""
        ...

    def dtype(self, role: str) -> str:
        """The dtype of a tensor."""
        ...

    def read_as(
        self, role: str, shape: Quad, strides: Quad, dtype: str, *, offset: int = 0, lane: int = 0
    ) -> Array:
        """Elements at the address that an operand is, ``lane`` lanes and ``offset`` bytes on."""
        ...

    def write_as(
        self,
        role: str,
        array: Array,
        strides: Quad,
        dtype: str,
        *,
        offset: int = 0,
        lane: int = 0,
    ) -> None:
        """Store an array at the address that an operand is."""
        ...


Function: TypeAlias = Callable[[Operation, LaneIO], None]

#: the meaning of every operation, by canonical name
MEANINGS: dict[str, Function] = {}


def meaning(*names: str) -> Callable[[Function], Function]:
    """Register a function under canonical names."""

    def register(function: Function) -> Function:
        for name in names:
            assert name not in MEANINGS, name
            MEANINGS[name] = function
        return function

    return register


def means(name: str, function: Function) -> None:
    """Register one function under one name."""
    assert name not in MEANINGS, name
    MEANINGS[name] = function


__all__ = [
    "MEANINGS",
    "Array",
    "Function",
    "LaneIO",
    "Quad",
    "SemanticsMissing",
    "meaning",
    "means",
]
