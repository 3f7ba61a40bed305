"""Single instructions: sizes, types, operators, arguments."""

from __future__ import annotations

from typing import Any

import pytest

from verifier.symbolic.tensors import Mark, StorageKind
from verifier.symbolic.values import Enumerator, Opaque

from .build import checks, engine, holds, number, op, operation, storage, tile, violated


@pytest.mark.parametrize(
    ("rule", "shape", "buffer", "dtype", "fine"),
    [
        ("partition-extent", (128, 4), "sbuf", "float32", True),
        ("partition-extent", (129, 4), "psum", "float32", False),
        ("partition-extent", (1000, 4), "hbm", "float32", True),
        ("tile-rank", (64,), "sbuf", "float32", False),
        ("tile-rank", (64,), "hbm", "float32", True),
        ("empty-shape", (4, 0), "sbuf", "float32", False),
        ("sbuf-tile-size", (1, 57344), "sbuf", "float32", True),
        ("sbuf-tile-size", (1, 57345), "sbuf", "float32", False),
        ("psum-tile-size", (1, 8192), "psum", "bfloat16", True),
        ("psum-tile-size", (1, 8193), "psum", "bfloat16", False),
    ],
)
def test_allocations(
    rule: str, shape: tuple[int, ...], buffer: str, dtype: str, fine: bool
) -> None:
    assert holds(rule, storage(*shape, buffer=buffer, dtype=dtype)) is fine


def test_usable_bytes_of_the_second_generation() -> None:
    assert holds("sbuf-tile-size", storage(1, 45056), "trn1")
    assert not holds("sbuf-tile-size", storage(1, 45057), "trn1")


def test_block_dimensions_are_separate_tiles() -> None:
    blocks = storage(40, 128, 4096, partition_axis=1)
    assert holds("sbuf-tile-size", blocks) and holds("partition-extent", blocks)


def test_placement() -> None:
    assert holds("psum-placement", storage(8, 4, buffer="psum", address=(0, 6144)))
    assert not holds("psum-placement", storage(8, 4, buffer="psum", address=(0, 6145)))
    assert not holds("psum-placement", storage(8, 4, buffer="psum", address=(0, 16384)))
    placed = {"allocator": "mod_alloc", "base_bank": number(8), "base_addr": number(0)}
    assert not holds("psum-placement", storage(8, 4, buffer="psum", placement=placed))
    assert not holds("sbuf-placement", storage(8, 4096, address=(0, 229376 - 16383)))
    assert holds("sbuf-placement", storage(8, 4096, address=(0, 229376 - 16384)))
    assert not holds("placement-start", storage(40, 4, address=(32, 0)))


def test_dma_sizes_and_memories() -> None:
    call = operation("isa.dma_copy", dst=tile(64, 10), src=tile(640, buffer="hbm"))
    assert holds("dma-size", call) and holds("dma-buffers", call)
    call = operation("isa.dma_copy", dst=tile(64, 10), src=tile(641, buffer="hbm"))
    assert violated("dma-size", call) == {"D01", "DCP01"}
    psum: dict[str, Any] = {"dst": tile(4, 4, buffer="hbm"), "src": tile(4, 4, buffer="psum")}
    assert violated("dma-buffers", operation("isa.dma_copy", **psum)) == {"B27", "BUF35", "DCP02"}
    assert not checks("dma-buffers", operation("isa.dma_copy", api="0.2", **psum))[1:]


def test_stores_of_beta1_repeat_columns() -> None:
    hbm = tile(64, 10, buffer="shared_hbm")
    column = tile(64, 1)
    assert holds("dma-size", operation("language.store", api="beta1", dst=hbm, value=column))
    assert not holds("dma-size", operation("language.store", api="0.3", dst=hbm, value=column))


def test_hardware_descriptors() -> None:
    mode = Enumerator("dge_mode", "hwdge")
    call = operation(
        "isa.dma_copy",
        dst=tile(64, 10, dtype="bfloat16"),
        src=tile(64, 10, buffer="hbm"),
        dge_mode=mode,
    )
    assert "D04" in violated("dma-dtype", call)
    assert "D03" in violated("dge-mode", call, "trn1") and holds("dge-mode", call, "trn2")


def test_vector_operands() -> None:
    data = tile(64, 30)
    for bias, fine in ((tile(64, 1), True), (tile(64, 2), False), (tile(1, 1), False)):
        call = operation("isa.activation", dst=tile(64, 30), data=data, bias=bias)
        assert holds("vector-operand-shape", call) is fine
    call = operation("isa.activation", dst=tile(64, 30), data=data, bias=None, scale=1.0)
    assert not checks("vector-operand-shape", call)


@pytest.mark.parametrize(
    ("axis", "api", "fine"),
    [
        ((2,), "0.6", True),
        ((1, 2), "0.6", True),
        ((-1,), "0.6", True),
        ((1,), "0.6", False),
        ((1,), "beta1", False),
        ((2,), "0.2", True),
        ((0,), "0.6", False),
        ((3,), "0.6", False),
    ],
)
def test_reduce_axes(axis: tuple[int, ...], api: str, fine: bool) -> None:
    call = operation(
        "isa.tensor_reduce",
        api=api,
        dst=tile(64, 5),
        data=tile(64, 5, 7),
        op=op("add"),
        axis=tuple(map(number, axis)),
    )
    assert holds("reduce-axes", call) is fine


def test_reduce_result() -> None:
    call = operation(
        "isa.tensor_reduce", dst=tile(64, 5), data=tile(64, 5, 7), op=op("add"), axis=number(2)
    )
    assert holds("reduce-result-shape", call)
    call = operation(
        "isa.tensor_reduce", dst=tile(64, 1), data=tile(64, 5, 7), op=op("add"), axis=number(2)
    )
    assert violated("reduce-result-shape", call) == {"RED03"}


def test_index_pattern() -> None:
    def iota(*pattern: tuple[int, int], offset: int = 0) -> bool:
        call = operation(
            "isa.iota",
            dst=tile(128, 60, dtype="int32"),
            pattern=tuple((number(a), number(b)) for a, b in pattern),
            offset=number(offset),
            channel_multiplier=number(60),
        )
        return holds("index-pattern", call)

    assert iota((6, 10), (1, 6)) and iota((1, 60))
    assert not iota((6, 10), (1, 7))
    assert not iota((1, 1), (1, 1), (1, 1), (6, 10), (1, 6))
    assert not iota((1, 60), offset=2**31 - 60)


def test_shuffle_mask() -> None:
    def shuffle(mask: list[int], start: int = 0, rows: int = 32) -> bool:
        whole = storage(128, 9)
        call = operation(
            "isa.nc_stream_shuffle",
            dst=tile(rows, 9),
            src=tile(rows, 9, of=whole, start=(start, 0)),
            shuffle_mask=tuple(map(number, mask)),
        )
        return holds("shuffle-mask", call)

    assert shuffle(list(range(32))) and shuffle([255] * 32) and shuffle(list(range(32)), 96)
    assert not shuffle(list(range(31))) and not shuffle([32] * 32)
    assert not shuffle(list(range(32)), 32, 64)


def test_memset_values() -> None:
    def memset(value: object, dtype: str, api: str = "0.3") -> set[str]:
        call = operation("isa.memset", api=api, dst=tile(4, 4, dtype=dtype), value=value)
        return violated("memset-value", call)

    assert memset(1.0, "int32") == {"MST02"} and memset(1.0, "int32", "0.2") == set()
    assert memset(number(1), "float32") == set() and memset(0.0, "bfloat16") == set()
    assert memset(number(256), "uint8") == {"MST05"} and memset(number(-128), "int8") == set()
    assert memset(number(1), "float8_e4m3fn_x4") == {"MST03"}


def test_operators_and_engines() -> None:
    data: dict[str, Any] = {"dst": tile(4, 4), "data": tile(4, 4)}
    call = operation("isa.activation", op=op("cos"), **data)
    assert violated("operator-kind", call) == {"ACT03", "T15"}
    mixed = operation("isa.tensor_scalar", op0=op("add"), op1=op("bitwise_and"), **data)
    assert violated("operator-kind", mixed) == {"TSC04"}
    scalar = operation(
        "isa.tensor_scalar", op0=op("multiply"), op1=op("add"), engine=engine("scalar"), **data
    )
    assert not holds("engine-choice", scalar, "trn1") and holds("engine-choice", scalar, "trn2")
    power = operation(
        "isa.tensor_tensor",
        dst=tile(4, 4),
        data1=tile(4, 4),
        data2=tile(4, 4),
        op=op("power"),
        engine=engine("vector"),
    )
    assert violated("engine-choice", power) == {"TTN04", "T16"}


@pytest.mark.parametrize(
    ("name", "first"),
    [("isa.exponential", 4), ("isa.range_select", 3), ("isa.nc_matmul_mx", 4)],
)
def test_features(name: str, first: int) -> None:
    for target, generation in (("trn1", 2), ("trn2", 3), ("trn3", 4)):
        assert holds("target-feature", operation(name), target) is (generation >= first)


def test_arguments_that_are_not_followed_are_not_judged() -> None:
    assert not checks("index-pattern", operation("isa.iota", dst=tile(4, 4), pattern=None))
    assert not checks("operator-kind", operation("isa.activation", op=None))
    read = Opaque("read from a file")
    (asked,) = checks("reduce-axes", operation("isa.tensor_reduce", data=tile(4, 4), axis=read))
    assert not asked.exact and "not known" in asked.reason


def test_values_in_passing_are_tiled_by_the_compiler() -> None:
    for mark in (Mark.INTERMEDIATE, Mark.FORWARDED):
        passing = storage(64, 70000, kind=StorageKind.RESULT, marks={mark: True})
        assert holds("sbuf-tile-size", passing)
        in_psum = storage(64, 700, buffer="psum", kind=StorageKind.RESULT, marks={mark: True})
        assert holds("psum-placement", in_psum)
    assert not holds("sbuf-tile-size", storage(64, 70000, kind=StorageKind.RESULT))
