"""Limits of the Tensor Engine at their borders, per generation, on plain and symbolic sizes."""

from __future__ import annotations

from typing import Any

import pytest

from verifier.symbolic import expr as E
from verifier.symbolic.tensors import StorageKind
from verifier.symbolic.trace import Operation
from verifier.symbolic.values import Enumerator

from .build import checks, engine, holds, number, operation, storage, tile, verdict, violated


def matmul(k: int = 128, m: int = 64, n: int = 300, **more: Any) -> Operation:
    operands: dict[str, Any] = {
        "dst": tile(m, n, buffer="psum"),
        "stationary": tile(k, m, dtype="bfloat16"),
        "moving": tile(k, n, dtype="bfloat16"),
    }
    operands.update(more)
    return operation("isa.nc_matmul", **operands)


@pytest.mark.parametrize(
    ("columns", "target", "dtype", "fine"),
    [
        (512, "trn1", "float32", True),
        (513, "trn1", "float32", False),
        (512, "trn2", "float32", True),
        (513, "trn2", "float32", False),
        (4096, "trn3", "float32", True),
        (4097, "trn3", "float32", False),
        (8192, "trn3", "bfloat16", True),
        (8193, "trn3", "bfloat16", False),
    ],
)
def test_moving_size(columns: int, target: str, dtype: str, fine: bool) -> None:
    call = matmul(n=columns, dst=tile(64, columns, buffer="psum", dtype=dtype))
    assert holds("matmul-moving-size", call, target) is fine


def test_moving_size_symbolic() -> None:
    columns = E.symbol("n", 1, None)
    call = matmul(moving=tile(128, columns, dtype="bfloat16"), dst=tile(64, columns, buffer="psum"))
    assert verdict("matmul-moving-size", call) is E.le(columns, 512)


@pytest.mark.parametrize(("columns", "fine"), [(1, True), (128, True), (129, False)])
def test_stationary_size(columns: int, fine: bool) -> None:
    assert holds("matmul-stationary-size", matmul(m=columns)) is fine


def test_stationary_size_in_a_tile_of_the_array() -> None:
    tiling: dict[str, Any] = {
        "tile_position": (number(0), number(64)),
        "tile_size": (number(128), number(64)),
    }
    assert holds("matmul-stationary-size", matmul(m=64, **tiling))
    assert not holds("matmul-stationary-size", matmul(m=65, **tiling))


def test_contraction() -> None:
    assert holds("matmul-contraction", matmul())
    call = matmul(moving=tile(127, 300, dtype="bfloat16"))
    assert violated("matmul-contraction", call) == {"MMU02", "P12"}


def test_result_shape() -> None:
    assert holds("matmul-result-shape", matmul())
    assert not holds("matmul-result-shape", matmul(dst=tile(63, 300, buffer="psum")))
    assert not holds("matmul-result-shape", matmul(dst=tile(64, 301, buffer="psum")))
    assert holds("matmul-result-shape", matmul(dst=tile(64, 3, 100, buffer="psum")))


@pytest.mark.parametrize(
    ("role", "buffer"),
    [("dst", "sbuf"), ("dst", "hbm"), ("moving", "psum"), ("stationary", "shared_hbm")],
)
def test_operand_buffers(role: str, buffer: str) -> None:
    assert holds("matmul-operand-buffers", matmul())
    shape = (64, 300) if role == "dst" else (128, 64) if role == "stationary" else (128, 300)
    wrong: dict[str, Any] = {role: tile(*shape, buffer=buffer)}
    assert not holds("matmul-operand-buffers", matmul(**wrong))


def test_unknown_memory_is_not_checked() -> None:
    call = matmul(moving=tile(128, 300, buffer="unknown"))
    assert {c.span for c in checks("matmul-operand-buffers", call)}
    assert holds("matmul-operand-buffers", call)


def test_dtypes() -> None:
    assert holds("matmul-dtypes", matmul())
    assert "MMU10" in violated("matmul-dtypes", matmul(moving=tile(128, 300, dtype="float32")))
    assert "MMU09" in violated("matmul-dtypes", matmul(moving=tile(128, 300, dtype="int8")))
    new: dict[str, Any] = {
        "stationary": tile(128, 64, dtype="float8_e4m3fn"),
        "moving": tile(128, 300, dtype="float8_e4m3"),
    }
    assert violated("matmul-dtypes", matmul(**new), "trn2") == {"MMU09"}
    assert violated("matmul-dtypes", matmul(**new), "trn3") == {"MMU11", "T05"}


def test_result_dtype() -> None:
    call = matmul(dst=tile(64, 300, buffer="psum", dtype="bfloat16"))
    assert not holds("matmul-result-dtype", call, "trn2")
    assert holds("matmul-result-dtype", call, "trn3")
    assert holds("matmul-result-dtype", matmul(dst=call.view("dst"), is_transpose=True), "trn2")


@pytest.mark.parametrize(
    ("position", "size", "target", "fine"),
    [
        ((0, 0), (64, 64), "trn1", True),
        ((0, 0), (32, 64), "trn1", False),
        ((32, 0), (32, 128), "trn2", True),
        ((16, 0), (32, 128), "trn2", False),
        ((128, 0), (32, 128), "trn2", False),
        ((64, 64), (64, 64), "trn3", True),
        ((96, 0), (64, 128), "trn3", False),
    ],
)
def test_tiling(position: tuple[int, int], size: tuple[int, int], target: str, fine: bool) -> None:
    call = matmul(
        k=32,
        m=32,
        tile_position=tuple(map(number, position)),
        tile_size=tuple(map(number, size)),
    )
    assert holds("matmul-tiling", call, target) is fine


def test_tiling_needs_both() -> None:
    assert not holds("matmul-tiling", matmul(tile_position=(number(0), number(0)), tile_size=()))
    assert holds("matmul-tiling", matmul(tile_position=(), tile_size=()))


def test_double_row() -> None:
    mode = Enumerator("matmul_perf_mode", "double_row")
    pair: dict[str, Any] = {
        "stationary": tile(128, 2, 64, dtype="float8_e4m3"),
        "moving": tile(128, 2, 300, dtype="float8_e5m2"),
        "perf_mode": mode,
    }
    assert holds("matmul-double-row", matmul(**pair))
    assert "MMU18" in violated("matmul-double-row", matmul(**pair), "trn1")
    assert holds("matmul-result-shape", matmul(**pair))
    flat = {**pair, "moving": tile(128, 600, dtype="float8_e5m2")}
    assert "MMU20" in violated("matmul-double-row", matmul(**flat))


@pytest.mark.parametrize(
    ("shape", "buffer", "chosen", "fine"),
    [
        ((128, 128), "psum", "unknown", True),
        ((128, 129), "psum", "unknown", False),
        ((32, 32), "sbuf", "unknown", True),
        ((33, 32), "sbuf", "unknown", False),
        ((64, 64), "psum", "vector", False),
        ((128, 64), "psum", "tensor", True),
    ],
)
def test_transpose_size(shape: tuple[int, int], buffer: str, chosen: str, fine: bool) -> None:
    call = operation(
        "isa.nc_transpose",
        dst=tile(shape[1], shape[0], buffer=buffer),
        data=tile(*shape),
        engine=engine(chosen),
    )
    assert holds("transpose-size", call) is fine
    assert holds("transpose-shape", call)


def test_bank_crossing() -> None:
    two = storage(64, 800, buffer="psum")
    first = matmul(n=400, dst=tile(64, 400, of=two))
    second = matmul(n=400, dst=tile(64, 400, of=two, start=(0, 400)))
    assert holds("psum-bank-crossing", first)
    assert violated("psum-bank-crossing", second) == {"B06"}
    assert holds("psum-bank-crossing", second, "trn3")


def test_bank_crossing_symbolic() -> None:
    index = E.symbol("i", 0, None, E.Origin.LOOP)
    banks = storage(64, 4096, buffer="psum")
    call = matmul(n=512, dst=tile(64, 512, of=banks, start=(0, index * 512)))
    assert verdict("psum-bank-crossing", call) is E.TRUE


@pytest.mark.parametrize(
    ("generation", "kind", "severity"),
    [
        ("beta1", StorageKind.RESULT, "note"),
        ("beta1", StorageKind.ALLOC, None),
        ("0.3", StorageKind.ALLOC, None),
    ],
)
def test_what_a_call_returned_is_copied_to_where_a_product_reads_it(
    generation: str, kind: StorageKind, severity: str | None
) -> None:
    turned = storage(128, 64, dtype="bfloat16", buffer="psum", kind=kind)
    call = matmul(stationary=tile(128, 64, of=turned), api=generation)
    (found,) = [c for c in checks("matmul-operand-buffers", call) if c.predicate is E.FALSE]
    assert found.severity == severity
