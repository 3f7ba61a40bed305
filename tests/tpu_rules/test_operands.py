"""Single OKK operations: ranges, addresses, extents, lanes, strides, numbers."""

from __future__ import annotations

from typing import Any

import pytest

from verifier.symbolic import expr as E

from .build import (
    CHIP,
    LANE,
    checks,
    folds,
    holds,
    local,
    operation,
    record,
    storage,
    system,
    violated,
)


@pytest.mark.parametrize(
    ("name", "shape", "fine"),
    [
        ("bdc_add_C", (65535, 4095, 1, 1), True),
        ("bdc_add_C", (65536, 1, 1, 1), False),
        ("bdc_add_C", (1, 4096, 1, 1), False),
        ("bdc_add_C", (1, 1, 0, 1), False),
        ("gdma_32bit_set_C_local", (1, 65535, 1, 1), True),
        ("gdma_32bit_set_C_local", (1, 1, 1, 65536), False),
    ],
)
def test_shape_range(name: str, shape: tuple[int, int, int, int], fine: bool) -> None:
    assert folds("okk-shape-range", operation(name, dst=local(0, *shape))) is fine


def test_shape_range_of_windows_and_matrices() -> None:
    pool: dict[str, Any] = {"output": local(4096, 1, 3, 1, 1), "write": "output"}
    wide = operation("bdc_max_pool2d", input=local(0, 1, 3, 5, 2048), **pool)
    assert violated("okk-shape-range", wide) == {"OKK-B03"}
    assert not folds("okk-shape-range", operation("gdma_32bit_matrix_S2L", rows=3, cols=0))
    matrix: dict[str, Any] = {"left_rows": 9, "left_cols": 4096, "left_cols_per_channel": 1}
    assert violated("okk-shape-range", operation("bdc_matmul", **matrix)) == {"OKK-Q04"}


def test_shape_range_names_the_axis_that_is_open() -> None:
    n = E.symbol("batches", 0, None)
    call = operation("bdc_neg", dst=local(0, n, 5, 1, 1), src=local(0, n, 5, 1, 1))
    assert not holds("okk-shape-range", call)
    assert holds("okk-shape-range", call, E.ge(n, 1), E.le(n, 65535))


@pytest.mark.parametrize(
    ("name", "role", "address", "fine"),
    [
        ("bdc_add", "src0", 4, True),
        ("bdc_add", "src0", 6, False),
        ("bdc_sqrt", "dst", 64, False),
        ("bdc_sqrt", "dst", 128, True),
        ("bdc_bias", "bias", 4, True),
        ("bdc_matmul", "bias", 4, False),
        ("bdc_conv2d", "weight", 8, True),
        ("bdc_conv2d", "weight", 12, False),
        ("bdc_depthwise2d", "weight", 12, True),
        ("gdma_16bit_cpy_S2L", "dst", 6, True),
        ("gdma_16bit_cpy_S2L", "dst", 7, False),
        ("gdma_8bit_cpy_S2L", "dst", 7, True),
    ],
)
def test_alignment(name: str, role: str, address: int, fine: bool) -> None:
    tensor: dict[str, Any] = {role: local(address, 1, 1, 1, 1)}
    call = operation(name, write=role, **tensor)
    assert folds("okk-address-alignment", call) is fine


def test_alignment_of_a_convolution_input_depends_on_its_strides() -> None:
    plain = operation("bdc_conv2d", input=local(4, 1, 3, 8, 8))
    strided = operation("bdc_conv2d", input=local(4, 1, 3, 8, 8, strides=(64, 64, 8, 1)))
    assert violated("okk-address-alignment", plain) == {"OKK-A04"}
    assert folds("okk-address-alignment", strided)


def test_alignment_in_system_memory() -> None:
    buffer = storage("x", 100)
    for offset, fine in ((8, True), (6, False)):
        call = operation("gdma_32bit_cpy_S2L", src=system(buffer, offset, 1, 1, 1, 4))
        assert folds("okk-address-alignment", call) is fine


@pytest.mark.parametrize(
    ("address", "shape", "fine"),
    [
        (0, (1, 64, 1, LANE // 4), True),
        (0, (1, 64, 1, LANE // 4 + 1), False),
        (0, (1, 65, 1, LANE // 8), True),  # two channels per lane
        (0, (1, 65, 1, LANE // 8 + 32), False),
        (LANE, (1, 64, 1, LANE // 8), True),  # starts in lane 1: two channels in lane 0
        (LANE, (1, 64, 1, LANE // 8 + 32), False),
        (LANE - 128, (1, 1, 1, 32), True),
        (LANE - 128, (1, 1, 1, 33), False),
        (64 * LANE, (1, 1, 1, 1), False),
        (-4, (1, 1, 1, 1), False),
    ],
)
def test_local_extent(address: int, shape: tuple[int, int, int, int], fine: bool) -> None:
    assert folds("okk-local-extent", operation("bdc_neg", dst=local(address, *shape))) is fine


def test_local_extent_stops_at_the_last_element() -> None:
    """ADR-08: the padding behind the last channel need not fit (T-STR-1)."""
    call = operation("bdc_neg", dst=local(LANE - 860, 2, 5, 3, 4, strides=(120, 56, 16, 2)))
    assert folds("okk-local-extent", call) is True
    assert CHIP.lanes == 64  # five channels lie in one slot here: 120 + 2*16 + 3*2 + 1 elements
    full = operation("bdc_neg", dst=local(LANE - 636, 2, 5, 3, 4, strides=(120, 56, 16, 2)))
    over = operation("bdc_neg", dst=local(LANE - 632, 2, 5, 3, 4, strides=(120, 56, 16, 2)))
    assert folds("okk-local-extent", full) and not folds("okk-local-extent", over)


def test_local_extent_of_sizes_that_are_asserted() -> None:
    n, h = E.symbol("n", 1, 1000), E.symbol("h", 1, 1000)
    tensor = local(0, n, 10, h, 7)
    size = n * tensor.strides[0] * 4
    call = operation("bdc_neg", dst=local(size, n, 10, h, 7, lane=0), src=tensor)
    assert holds("okk-local-extent", call, E.le(size * 2, LANE))
    assert not holds("okk-local-extent", call, E.le(size, LANE))


@pytest.mark.parametrize(
    ("name", "lanes", "fine"),
    [
        ("bdc_add", {"dst": 3, "src0": 3, "src1": 3}, True),
        ("bdc_add", {"dst": 3, "src0": 3, "src1": 4}, False),
        ("bdc_conv2d", {"output": 5, "input": 0, "weight": 5, "bias": 5}, True),
        ("bdc_conv2d", {"output": 5, "input": 0, "weight": 5, "bias": 0}, False),
        ("bdc_matmul", {"output": 2, "left": 9, "right": 2}, True),
        ("bdc_matmul", {"output": 2, "left": 2, "right": 9}, False),
        ("bdc_depthwise2d", {"output": 1, "input": 1, "weight": 0}, False),
        ("bdc_fixed_point_packed_add", {"dst": 0, "src0": 0, "src1": 0}, True),
        ("bdc_fixed_point_packed_add", {"dst": 1, "src0": 1, "src1": 1}, False),
        ("gdma_32bit_cpy_L2L", {"dst": 1, "src": 7}, True),
    ],
)
def test_start_lane(name: str, lanes: dict[str, int], fine: bool) -> None:
    tensors: dict[str, Any] = {role: local(lane * LANE, 1, 3, 1, 1) for role, lane in lanes.items()}
    assert folds("okk-start-lane", operation(name, write="", **tensors)) is fine


def test_matrix_lane() -> None:
    """The measured cases of INC-25: start lane and channels."""
    for lane, channels, fine in (
        (62, 3, False),
        (60, 5, False),
        (1, 64, False),
        (10, 124, False),
        (61, 3, True),
        (60, 4, True),
        (3, 70, True),
        (0, 500, True),
    ):
        call = operation(
            "gdma_32bit_matrix_S2L",
            dst=local(lane * LANE, 2, channels, 1, 5),
            rows=2,
            cols=channels * 5,
            cols_per_channel=5,
            row_stride=channels * 5,
        )
        assert folds("okk-matrix-lane", call) is fine, (lane, channels)


def test_matrix_width_and_rows() -> None:
    product: dict[str, Any] = {"left_cols": 40, "right_cols": 300, "left_cols_per_channel": 40}
    for width, fine in ((128, True), (129, False), (0, False)):
        call = operation("bdc_matmul", right_cols_per_channel=width, **product)
        assert folds("okk-matrix-width", call) is fine
    for pitch, rows, fine in ((40, 3, True), (39, 3, False), (39, 1, True)):
        call = operation("gdma_32bit_matrix_L2S", rows=rows, cols=40, row_stride=pitch)
        assert folds("okk-matrix-rows", call) is fine


def test_stride_fields() -> None:
    shape = (1, 3, 4, 5)
    for name, strides, fine in (
        ("gdma_32bit_cpy_S2L", (20, 20, 5, 1), True),
        ("gdma_32bit_cpy_S2L", (40, 40, 10, 2), False),
        ("bdc_neg", (40, 40, 10, 2), True),
        ("bdc_neg", (40, 40, -10, 2), False),
        ("bdc_neg", (1 << 19, 40, 10, 2), False),
    ):
        tensor = local(0, *shape, strides=strides)
        call = operation(name, dst=tensor, dst_stride=record("dim4", *strides))
        assert folds("okk-stride-fields", call) is fine, (name, strides)
    bare = operation("bdc_conv2d", kernel_stride=None)
    assert violated("okk-stride-fields", bare) == {"OKK-D02"}


@pytest.mark.parametrize(
    ("shape", "strides", "fine"),
    [
        ((1, 3, 4, 5), (0, 0, 5, 1), True),  # strides that make no sense may be anything
        ((2, 3, 4, 5), (0, 0, 5, 1), False),
        ((1, 3, 4, 5), (0, 0, 4, 1), False),
        ((1, 3, 4, 5), (0, 0, 1, 4), True),  # transposed
        ((1, 65, 4, 5), (0, 19, 5, 1), False),  # two channels per lane
        ((1, 65, 4, 5), (0, 20, 5, 1), True),
        ((2, 1, 1, 2), (3, 0, 0, 2), True),  # interleaved, and still apart
        ((3, 1, 1, 3), (2, 0, 0, 3), True),
        ((4, 1, 1, 3), (2, 0, 0, 3), False),
    ],
)
def test_elements_at_one_place(
    shape: tuple[int, int, int, int], strides: tuple[int, int, int, int], fine: bool
) -> None:
    call = operation("bdc_neg", dst=local(0, *shape, strides=strides))
    assert holds("okk-overlapping-elements", call) is fine


@pytest.mark.parametrize("lane", [0, 1, 40, 62, 63])
@pytest.mark.parametrize("channels", [1, 2, 24, 25, 64, 66, 130])
@pytest.mark.parametrize("strides", [(8, 8, 4, 1), (16, 8, 4, 1), (0, 8, 4, 1), (16, 0, 4, 1)])
def test_elements_of_different_lanes_lie_apart(
    lane: int, channels: int, strides: tuple[int, int, int, int]
) -> None:
    """Counted out: channel c is in lane (lane + c) % 64, in round (lane + c) // 64 there."""
    shape = (2, channels, 2, 3)
    places = [
        ((lane + c) % CHIP.lanes, n * strides[0] + (lane + c) // CHIP.lanes * strides[1] + h + w)
        for n in range(shape[0])
        for c in range(channels)
        for h in range(0, shape[2] * strides[2], strides[2])
        for w in range(shape[3])
    ]
    call = operation("bdc_neg", dst=local(0, *shape, strides=strides, lane=lane))
    assert holds("okk-overlapping-elements", call) is (len(set(places)) == len(places))


def test_sources_may_repeat_elements() -> None:
    call = operation("bdc_neg", src=local(0, 2, 3, 4, 5, strides=(0, 0, 0, 0)))
    assert not checks("okk-overlapping-elements", call)


def test_window_parameters_and_sizes() -> None:
    def pool(h: int, kernel: int, pad: int, step: int) -> set[str]:
        call = operation(
            "bdc_max_pool2d",
            write="output",
            output=local(65536, 1, 3, 1, 1),
            input=local(0, 1, 3, h, 8),
            kernel_h=kernel,
            kernel_w=1,
            padding=record("Padding", pad, 0, 0, 0),
            stride=record("dim2", step, 1),
        )
        return violated("okk-window-parameters", call) | violated("okk-window-size", call)

    assert pool(8, 3, 15, 15) == set()
    assert "OKK-P03" in pool(8, 3, 16, 1) and "OKK-P04" in pool(8, 3, 0, 16)
    assert "OKK-P04" in pool(8, 3, 0, 0)
    assert pool(8, 9, 1, 1) == set() and "OKK-P32" in pool(8, 10, 1, 1)
    assert "OKK-B03" in pool(2040, 3, 8, 2)


def test_window_of_an_input_that_is_free() -> None:
    h = E.symbol("h", 1, 100)
    call = operation(
        "bdc_conv2d",
        write="output",
        input=local(0, 1, 3, h, 50),
        kernel_h=3,
        kernel_w=3,
        padding=None,
        stride=None,
        dilation=record("dim2", 2, 1),
    )
    assert not holds("okk-window-size", call)
    assert holds("okk-window-size", call, E.ge(h, 5))


@pytest.mark.parametrize(
    ("name", "arguments", "fine"),
    [
        ("bdc_taylor_exp", {"num_series": 64}, True),
        ("bdc_taylor_exp", {"num_series": 0}, False),
        ("bdc_32bit_logical_shift_C", {"C": -31}, True),
        ("bdc_32bit_logical_shift_C", {"C": 32}, False),
        ("bdc_32bit_arithmetic_shift_C", {"C": 33}, False),
        ("bdc_fixed_point_packed_16bit_logical_shift_C", {"C": 16}, True),
        ("bdc_fixed_point_packed_16bit_logical_shift_C", {"C": 17}, False),
        ("bdc_fixed_point_packed_mac", {"lshift": 14, "rshift": 31}, True),
        ("bdc_fixed_point_packed_mac", {"lshift": 15, "rshift": 0}, False),
        ("bdc_fixed_point_packed_add", {"rshift": 32}, False),
    ],
)
def test_scalars(name: str, arguments: dict[str, Any], fine: bool) -> None:
    assert folds("okk-scalar-range", operation(name, **arguments)) is fine


def test_packed_types() -> None:
    """How many of the 32 types each function has (OKK-T1 to OKK-T5)."""

    def admitted(name: str, **more: Any) -> int:
        call = f"bdc_fixed_point_packed_{name}"
        return sum(
            folds("okk-packed-types", operation(call, op_type=code, **more)) for code in range(32)
        )

    assert admitted("add") == 16 and admitted("sub") == 16
    assert admitted("mul") == 8 and admitted("max") == 4
    assert admitted("mac", is_origin_dst_signed=False) == 4
    assert admitted("mac", is_origin_dst_signed=True) == 3
    product = "bdc_fixed_point_packed_16bit_mul_8bit"
    types = [folds("okk-packed-types", operation(product, mul_type=m)) for m in range(8)]
    assert sum(types) == 3


def test_packed_constants() -> None:
    # S8 + S8 -> S8
    for value, fine in ((127, True), (128, False), (-128, True), (-129, False)):
        call = operation("bdc_fixed_point_packed_add_C", op_type=0b11111, C=value)
        assert folds("okk-packed-types", call) is fine
    # U8 + U8 -> U8
    call = operation("bdc_fixed_point_packed_add_C", op_type=0b01001, C=-1)
    assert not folds("okk-packed-types", call)


def test_operands_that_share_memory() -> None:
    source = local(0, 1, 3, 4, 8)
    for address, fine in ((0, True), (128, True), (64, False), (4, False)):
        call = operation("bdc_neg", dst=local(address, 1, 3, 4, 8), src=source)
        assert folds("okk-partly-in-place", call) is fine, address
    half = operation(
        "bdc_neg", dst=local(0, 1, 3, 4, 8), src=local(0, 1, 3, 4, 8, strides=(32, 32, 0, 1))
    )
    assert not holds("okk-partly-in-place", half)
    for address, fine in ((0, False), (256, False), (128, True), (384, True)):
        call = operation(
            "bdc_exp", dst=local(256, 1, 3, 4, 8), src=source, work=local(address, 1, 3, 4, 8)
        )
        assert folds("okk-work-tensor", call) is fine, address


def test_rows_between_rows_share_nothing() -> None:
    """Two halves of a larger buffer, interleaved row by row."""
    even = local(0, 1, 3, 4, 8, strides=(64, 64, 16, 1))
    odd = local(32, 1, 3, 4, 8, strides=(64, 64, 16, 1))
    assert holds("okk-partly-in-place", operation("bdc_neg", dst=even, src=odd))
    late = local(28, 1, 3, 4, 8, strides=(64, 64, 16, 1))
    assert not holds("okk-partly-in-place", operation("bdc_neg", dst=even, src=late))


def test_system_extent() -> None:
    buffer = storage("x", 10, 10)
    for offset, count, fine in ((0, 100, True), (4, 100, False), (-4, 4, False), (396, 1, True)):
        call = operation("gdma_32bit_cpy_S2L", src=system(buffer, offset, 1, 1, 1, count))
        assert folds("okk-system-extent", call) is fine
    free = storage("x", 4, declared=False)
    assert folds("okk-system-extent", operation("x", src=system(free, 4000, 1, 1, 1, 900)))
