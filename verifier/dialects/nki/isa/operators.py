"""Sets of operators that engines compute (NKI-T14, NKI-T15), and what takes them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Final, TypeAlias

from verifier.dialects.nki.isa.shared import words
from verifier.hardware.capabilities import Capability
from verifier.symbolic.instruction import Operators

ARITHMETIC: Final = words(
    "add subtract multiply maximum minimum equal not_equal greater_equal greater less_equal less "
    "logical_and logical_or logical_xor power abs_max abs_min divide mod average"
)
#: what Beta 1 took as well: functions of NumPy, and what its own table had (NKI-L42, NKI-L43)
UNLISTED: Final = dict.fromkeys(words("divide mod average logical_not"), "0.2")
#: of instructions that compute with numbers: a step that is left out, and one of Beta 1
OF_NUMBERS: Final = words("bypass logical_not")
UNARY: Final = words("abs square relu rsqrt reciprocal")
INVERSION: Final = words("invert")
_BINARY_ON_BITS: Final = words("bitwise_and bitwise_or bitwise_xor left_shift right_shift")
ON_BITS: Final = INVERSION | _BINARY_ON_BITS
BINARY: Final = ARITHMETIC | _BINARY_ON_BITS
COMPARISONS: Final = words("equal not_equal greater_equal greater less_equal less")
RANGES: Final = COMPARISONS - {"not_equal"}

#: tables of the Scalar Engine
ACTIVATIONS: Final = words(
    "copy square sigmoid relu prelu gelu gelu_dx gelu_apprx_tanh gelu_apprx_sigmoid "
    "gelu_apprx_sigmoid_dx silu silu_dx tanh softplus mish erf erf_dx exp log sin arctan sqrt "
    "rsqrt reciprocal sign abs"
)

#: functions that fold a tile, which name no operator on two numbers: ``nl.max`` is ``nl.maximum``
#: for what folds alone (NKI-TSR03, NKI-TCU01, NKI-PRD01), others were NumPy's in Beta 1
_FOLDING: Final = words("max amax min amin sum prod all any mean average")
_NOT_OF_TWO: Final = dict.fromkeys(_FOLDING, "")
_NOT_OF_FOLDS: Final = dict.fromkeys(_FOLDING - words("max min average"), "0.2")

_MAGNITUDES: Final = words("abs_max abs_min")

#: what folds a partition
REDUCERS: Final = words(
    "bitwise_and bitwise_or bitwise_xor add subtract multiply maximum minimum logical_and "
    "logical_or logical_xor average"
)
#: what folds into an accumulator
FOLDS: Final = words("add subtract multiply maximum minimum")
#: what folds over ranks
ACROSS_RANKS: Final = words("add minimum maximum")

#: what an operator needs of the target
_Needs: TypeAlias = Mapping[str, tuple[Capability, tuple[str, ...]]]


def admits(
    role: str,
    operators: frozenset[str],
    *facts: str,
    needs: _Needs | None = None,
    bits: str = "",
    unmixed: str = "",
    gone: Mapping[str, str] | None = None,
    folds: bool = False,
) -> Operators:
    """``gone``: operators that it no longer has, with the generation. ``folds``: it is what a tile
    is folded with, and may be named as the function that folds so."""
    magnitudes = dict.fromkeys(_MAGNITUDES & operators, (Capability.MAGNITUDES, ("NKI-H86",)))
    needed = {**magnitudes, **(needs or {})}
    found = Operators(role, operators, facts, needed, ON_BITS, bits, unmixed, UNARY)
    misnamed = _NOT_OF_FOLDS if folds else _NOT_OF_TWO
    return dataclasses.replace(found, gone=gone or {}, misnamed=misnamed)


def newer_unary(fact: str) -> _Needs:
    """Operators that tensor_scalar and its kin did not have from the beginning."""
    return dict.fromkeys(
        ("square", "relu", "abs_max", "abs_min"),
        (Capability.UNARY_OPERATORS, (fact, "NKI-H86")),
    )
