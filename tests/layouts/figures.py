"""The figures of the manuals' layout chapters, and a few of what they have no figure of."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from verifier.hardware.chips import CHIPS, Chip
from verifier.layouts.arrangement import Arrangement, arrange


def chip(name: str, lanes: int = 0) -> Chip:
    found = CHIPS[name]
    return replace(found, lanes=lanes or found.lanes)


OLD, NEW = chip("bm1684", 4), chip("bm1684x", 4)
FOUR = (2, 3, 4, 5)


def figure(
    where: Chip, layout: str, shape: tuple[int, ...], dtype: str, **more: Any
) -> Arrangement:
    return arrange(where, layout, shape, dtype, **more)


FIGURES: dict[str, Arrangement] = {
    "stride_local_0": figure(OLD, "free", (2, 5, 3, 4), "fp32", strides=(120, 56, 16, 2)),
    "stride_local_1": figure(
        OLD, "free", (2, 3, 1, 10), "fp32", strides=(120, 0, 0, 2), start_lane=1
    ),
    "align_fp32_start_0": figure(OLD, "aligned", FOUR, "fp32"),
    "align_fp32_start_2": figure(OLD, "aligned", FOUR, "fp32", start_lane=2),
    "compact_fp32_start_0": figure(OLD, "compact", FOUR, "fp32"),
    "compact_fp32_start_2": figure(OLD, "compact", FOUR, "fp32", start_lane=2),
    **{
        f"matrix_w_{width}": figure(OLD, "matrix", (2, 40), "fp32", width=width)
        for width in (40, 20, 10, 8, 15, 6)
    },
    "aligned_4N": figure(OLD, "4n", (6, 5, 4, 5), "int8"),
    "aligned_2N": figure(OLD, "2n", (3, 5, 4, 5), "int16"),
    "2IC": figure(OLD, "2ic", (3, 6, 2, 2), "fp32"),
    # the first is S4's example of float16, of which it shows the fp32 figure (INC-01)
    "align_fp16_start_2": figure(NEW, "aligned", FOUR, "fp16", start_lane=2),
    "align_int8_start_0": figure(NEW, "aligned", FOUR, "int8"),
    "local_mem_hw_arrange": figure(NEW, "free", (2, 3, 2, 3), "fp32", strides=(9, 9, 3, 1)),
    "row_aligned_start_2": figure(NEW, "row-aligned", FOUR, "fp32", start_lane=2),
    "vector_w_16": figure(NEW, "vector", (60,), "fp16", width=16),
    "64IC": figure(NEW, "64ic", (65, 3, 2, 2), "int8"),
    "32IC": figure(NEW, "32ic", (33, 3, 2, 2), "fp16"),
    "tensor_example01": figure(NEW, "continuous", (4, 3, 2, 2), "int8"),
    "tensor_example03": figure(NEW, "continuous", (2, 2, 3, 2), "fp16"),
    "shared": figure(OLD, "free", (2, 3, 2, 4), "fp32", strides=(0, 4, 0, 1)),
    "large": figure(chip("bm1684"), "aligned", (4, 512, 28, 28), "fp32", start_lane=3),
}
