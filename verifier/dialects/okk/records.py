"""The structures of the API: shapes, strides, paddings, and constants of a given type.

Shapes and strides are records with fields that kernels assign, as in C; constants are values.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from verifier.symbolic.lanes import AXES
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import RecordType

DIM4: Final = RecordType("dim4", AXES)
DIM2: Final = RecordType("dim2", ("h", "w"))
PADDING: Final = RecordType("Padding", ("top", "bottom", "left", "right"))

RECORDS: Final[dict[str, RecordType]] = {kind.name: kind for kind in (DIM4, DIM2, PADDING)}

#: the unions: name -> members (OKKernel's ``x32``, ``x16``, ``x8``). Of ``s8x4`` and its like the
#: value is a tuple.
UNIONS: Final[dict[str, tuple[str, ...]]] = {
    "x32": ("fp32", "s32", "u32", "s8x4", "u8x4", "s16x2", "u16x2"),
    "x16": ("s16", "u16"),
    "x8": ("s8", "u8"),
}
#: members under their C names
UNION_ALIASES: Final[dict[str, str]] = {
    "_4N_s8": "s8x4",
    "_4N_u8": "u8x4",
    "_2N_s16": "s16x2",
    "_2N_u16": "u16x2",
}

#: ``fp32_or_addr_t`` and ``x32_or_addr_t``
CHOICES: Final = ("fp32_or_addr", "x32_or_addr")


class Constant(Struct, frozen=True):
    """A value of ``x32``, ``x16`` or ``x8``, by the member that it was given as.

    ``value`` is a float, an integer, a tuple of integers, or something that is not followed.
    """

    union: str
    member: str
    value: object


class Choice(Struct, frozen=True):
    """``fp32_or_addr`` or ``x32_or_addr``: a tensor by its local address, or a constant."""

    kind: str
    is_address: bool
    value: object


class ValueKind(Kind[VM]):
    """A typed constant, or an operand that is one or an address: kernels only pass them on."""

    pure = True

    def __init__(self, text: str) -> None:
        self.name = text

    def describe(self, vm: VM, value: Any) -> str:
        return self.name
