"""Transfers between memories, and the setting of memory (OKK-017 to OKK-036)."""

from __future__ import annotations

from typing import Final

from verifier.dialects.okk.isa import shapes
from verifier.dialects.okk.isa.shared import (
    SHAPE,
    U32,
    function,
    given,
    goes_on,
    integer,
    reads,
    strided,
    tensor,
    writes,
)
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.roles import Role, Takes, Unit

_FACT: Final = "OKK-A07"
_CONSTANTS: Final = {32: Takes.WORD, 16: Takes.HALF_WORD, 8: Takes.BYTE}
_PLACES: Final = {"S": "system memory", "L": "local memory"}


def _copy(bits: int, way: str, number: int) -> Instruction:
    source, target = way[0], way[2]
    tensors, strides = strided(
        (
            writes(tensor("dst", f"uint{bits}", system=target == "S")),
            goes_on(reads(tensor("src", f"uint{bits}", system=source == "S"))),
        ),
        Unit.ELEMENT,
        _FACT,
    )
    return function(
        f"gdma_{bits}bit_cpy_{way}",
        f"{number:03}",
        "gdma",
        f"dst = src, from {_PLACES[source]} to {_PLACES[target]}, elements of {bits} bits",
        *tensors,
        SHAPE,
        *strides,
    )


def _set(bits: int, place: str, number: int) -> Instruction:
    system = place == "system"
    tensors, strides = strided(
        (writes(tensor("dst", f"uint{bits}", system=system, layout="" if system else "words")),),
        Unit.ELEMENT,
        _FACT,
    )
    return function(
        f"gdma_{bits}bit_set_C_{place}",
        f"{number:03}",
        "gdma",
        f"dst = C, elements of {bits} bits in {place} memory",
        *tensors,
        given("C", _CONSTANTS[bits]),
        SHAPE,
        *strides,
    )


_LOCAL: Final = shapes.matrix("rows", "cols", "cols_per_channel")
_SIZES: Final = (
    integer("rows"),
    integer("cols"),
    integer("cols_per_channel", about="columns in one channel"),
    integer("row_stride", about="elements from one row to the next in system memory"),
)


def _matrix_role(name: str, *, local: bool) -> Role:
    """A matrix in channels, or in rows in system memory."""
    if local:
        return tensor(
            name, U32, shape=_LOCAL, layout="matrix", columns="cols", unit=Unit.ELEMENT, fact=_FACT
        )
    return tensor(name, U32, shape=shapes.rows, layout="rows", system=True, fact=_FACT)


def _matrix(way: str, number: str, summary: str) -> Instruction:
    return function(
        f"gdma_32bit_matrix_{way}",
        number,
        "gdma",
        summary,
        writes(_matrix_role("dst", local=way.endswith("L"))),
        reads(_matrix_role("src", local=way.startswith("L"))),
        *_SIZES,
    )


INSTRUCTIONS: Final = (
    *(
        _copy(bits, way, 17 + 4 * k + j)
        for k, bits in enumerate((32, 16, 8))
        for j, way in enumerate(("S2L", "L2S", "L2L", "S2S"))
    ),
    *(
        _set(bits, place, 31 + 2 * k + j)
        for k, bits in enumerate((32, 16, 8))
        for j, place in enumerate(("system", "local"))
    ),
    _matrix("S2L", "029", "dst = the matrix in the rows of src, in channels of some columns each"),
    _matrix("L2S", "030", "the rows of dst = the matrix in the channels of src"),
)
