"""Which constraint class of the catalogue each OKK function belongs to (section d.3)."""

from __future__ import annotations

from typing import Final

from rules.tpu.kit import function
from verifier.symbolic.trace import Operation

#: tensors in the aligned layout, without stride arguments (class AL)
ALIGNED: Final = frozenset(
    {
        "bdc_rsqrt",
        "bdc_sqrt",
        "bdc_taylor_exp",
        "bdc_lookup_exp",
        "bdc_exp",
        "bdc_exp_tunable",
        "bdc_sigmoid",
        "bdc_sigmoid_tunable",
        "bdc_tanh",
        "bdc_tanh_tunable",
        "bdc_fp32_to_int32",
        "bdc_lookup_int32_to_fp32",
        "bdc_greater_select",
        "bdc_equal_select",
    }
)
CONVERSIONS: Final = frozenset({"bdc_4N_int8_to_fp32", "bdc_int8_to_fp32"})
POOLS: Final = frozenset({"bdc_avg_pool2d", "bdc_max_pool2d"})
CONVOLUTIONS: Final = frozenset({"bdc_conv2d", "bdc_depthwise2d"})
WINDOWS: Final = POOLS | CONVOLUTIONS
MATMUL: Final = "bdc_matmul"
MATRIX_TRANSFERS: Final = frozenset({"gdma_32bit_matrix_S2L", "gdma_32bit_matrix_L2S"})
#: operands with one value per channel
PER_CHANNEL: Final = frozenset({"bias", "scale"})
#: series of terms: how many is an argument
SERIES: Final = frozenset(
    {"bdc_taylor_exp", "bdc_exp_tunable", "bdc_sigmoid_tunable", "bdc_tanh_tunable"}
)
_PACKED: Final = "bdc_fixed_point_packed_"


def is_compute(op: Operation) -> bool:
    return function(op).startswith("bdc_")


def is_transfer(op: Operation) -> bool:
    return function(op).startswith("gdma_")


def is_packed(op: Operation) -> bool:
    """Packed fixed-point arithmetic (class PK)."""
    return function(op).startswith(_PACKED)


def packed_name(op: Operation) -> str:
    """``add``, ``mul_C``, ``16bit_mul_8bit``."""
    return function(op).removeprefix(_PACKED)


def is_fill(op: Operation) -> bool:
    """Whether it writes a constant."""
    return "_set_C" in function(op)


def itemsize(op: Operation) -> int | None:
    """Bytes of the elements that a transfer moves."""
    name = function(op)
    for bits in (32, 16, 8):
        if name.startswith(f"gdma_{bits}bit_"):
            return bits // 8
    return None
