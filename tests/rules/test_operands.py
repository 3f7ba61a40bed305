"""Partitions, access patterns and memories of operands."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from verifier.engine import analyze_source
from verifier.hardware import dtypes as dt
from verifier.symbolic import expr as E
from verifier.symbolic.tensors import DType

from .build import checks, engine, holds, op, operation, storage, tile, violated


@pytest.mark.parametrize(
    ("start", "count", "fine"),
    [
        (0, 128, True),
        (0, 1, True),
        (32, 32, True),
        (96, 32, True),
        (64, 64, True),
        (16, 16, False),
        (32, 33, False),
        (32, 64, False),
        (64, 65, False),
        (96, 33, False),
    ],
)
def test_start_partition(start: int, count: int, fine: bool) -> None:
    whole = storage(128, 40)
    call = operation(
        "isa.tensor_copy",
        dst=tile(count, 40),
        src=tile(count, 40, of=whole, start=(start, 0)),
    )
    assert holds("start-partition", call) is fine


def test_start_partition_does_not_bind_dma() -> None:
    whole = storage(128, 40)
    view = tile(16, 40, of=whole, start=(16, 0))
    assert not checks("start-partition", operation("isa.dma_copy", dst=view, src=tile(16, 40)))


def test_start_partition_counts_placement() -> None:
    placed = storage(32, 40, address=(32, 0))
    call = operation("isa.memset", dst=tile(32, 40, of=placed), value=0.0)
    assert holds("start-partition", call)
    shifted = storage(32, 40, address=(48, 0))
    call = operation("isa.memset", dst=tile(32, 40, of=shifted), value=0.0)
    assert not holds("start-partition", call)


@pytest.mark.parametrize("rows", [1, 17, 32, 33, 64, 65, 96, 128])
@pytest.mark.parametrize("start", [0, 1, 16, 32, 33, 64, 95, 96])
def test_start_partition_against_the_table(rows: int, start: int) -> None:
    allowed = {0} if rows > 64 else {0, 64} if rows > 32 else {0, 32, 64, 96}
    fine = start in allowed and start + rows <= 128
    whole = storage(128, 8)
    call = operation("isa.memset", dst=tile(rows, 8, of=whole, start=(start, 0)), value=0.0)
    assert holds("start-partition", call) is fine


def test_partition_step() -> None:
    whole = storage(64, 10)
    call = operation("isa.memset", dst=tile(32, 10, of=whole, step=(2, 1)), value=0.0)
    assert violated("partition-step", call) == {"P07"}
    call = operation("isa.memset", dst=tile(1, 10, of=whole, step=(2, 1)), value=0.0)
    assert holds("partition-step", call)


def test_access_dims_merges_contiguous_ones() -> None:
    whole = storage(128, 3, 4, 5, 6, 7)
    contiguous = operation("isa.memset", dst=tile(128, 3, 4, 5, 6, 7, of=whole), value=0.0)
    assert "A01" not in violated("access-dims", contiguous)
    cut = operation("isa.memset", dst=tile(128, 2, 2, 2, 2, 2, of=whole), value=0.0)
    assert "A01" in violated("access-dims", cut)


def test_access_stride() -> None:
    whole = storage(32, 80000, dtype="uint8")
    far = operation("isa.memset", dst=tile(32, 2, of=whole, step=(1, 40000)), value=0.0)
    assert not holds("access-stride", far)
    near = operation("isa.memset", dst=tile(32, 2, of=whole, step=(1, 32767)), value=0.0)
    assert holds("access-stride", near)


def test_access_size() -> None:
    fits = operation("isa.memset", dst=tile(8, 65536, dtype="uint8"), value=0)
    long = operation("isa.memset", dst=tile(8, 65537, dtype="uint8"), value=0)
    assert holds("access-size", fits) and not holds("access-size", long)


def test_gpsimd_does_not_reach_psum() -> None:
    call = operation(
        "isa.tensor_copy",
        dst=tile(64, 10),
        src=tile(64, 10, buffer="psum"),
        engine=engine("gpsimd"),
    )
    assert violated("operand-buffers", call) == {"N07"}
    call.operands["engine"] = operation("x", engine=engine("vector")).operands["engine"]
    assert holds("operand-buffers", call)


@pytest.mark.parametrize(("api", "fine"), [("beta1", True), ("0.2", False), ("0.6", False)])
def test_beta1_selected_from_psum(api: str, fine: bool) -> None:
    source = tile(64, 10, buffer="psum")
    call = operation("isa.affine_select", api, dst=tile(64, 10), on_true_tile=source)
    assert holds("operand-buffers", call) is fine


@pytest.mark.parametrize(
    ("columns", "axis", "api", "open_", "fine"),
    [
        (5, 1, "0.2", True, True),
        (8, 1, "0.2", True, True),
        (7, 1, "0.2", True, False),
        (8, 2, "0.2", False, True),
        (5, 2, "0.2", False, False),
        (5, -2, "0.2", False, True),
        (5, 1, "0.3", False, True),
        (8, 1, "0.3", False, False),
    ],
)
def test_axis_one_may_be_the_last_one_for_a_time(
    columns: int, axis: int, api: str, open_: bool, fine: bool
) -> None:
    call = operation(
        "isa.tensor_reduce", api, dst=tile(96, columns), data=tile(96, 8, 5), axis=E.const(axis)
    )
    assert any(not check.exact for check in checks("reduce-axes", call)) is open_
    assert holds("reduce-result-shape", call) is fine


def test_engines_do_not_reach_hbm() -> None:
    call = operation("isa.activation", dst=tile(64, 10), data=tile(64, 10, buffer="hbm"))
    assert violated("operand-buffers", call) == {"N09", "BUF05"}


def test_two_psum_inputs() -> None:
    psum: dict[str, Any] = {"buffer": "psum"}
    call = operation(
        "isa.tensor_tensor",
        dst=tile(64, 10),
        data1=tile(64, 10, **psum),
        data2=tile(64, 10, **psum),
        op=op("add"),
    )
    assert violated("two-psum-inputs", call) == {"N08", "TTN02"}


def test_symbolic_partition_mismatch() -> None:
    rows = E.symbol("rows", 1, None)
    call = operation("isa.tensor_copy", dst=tile(rows, 8), src=tile(rows, 8))
    assert holds("partition-mismatch", call) and holds("free-size-mismatch", call)


def test_packed_dtypes_are_computed_with_from_trn3_on() -> None:
    """Also where the dtype is an input's: then it is needed that it is none of them."""
    E.fresh_context()  # an input of that name may have been of fewer dtypes elsewhere
    name = "float8_e4m3fn_x4"
    packed = operation("isa.activation", dst=tile(64, 10), data=tile(64, 10, dtype=name))
    assert violated("target-feature", packed) == {"H82"}
    free = DType(E.symbol("x.dtype", 0, 17))
    data = replace(tile(64, 10), dtype=free)
    [check] = checks("target-feature", operation("isa.activation", dst=tile(64, 10), data=data))
    for dtype, fine in (("float32", True), ("int8", True), (name, False)):
        assert E.evaluate(check.predicate, {"x.dtype": dt.CODES[dtype]}) is fine


@pytest.mark.parametrize(
    ("call", "severity"),
    [
        ("tile[i, 0:40] = 5.0", "warning"),
        ("tile[i:i + 1, 0:40] = nl.multiply(row, 2.0)", "warning"),
        ("row[0:1] = nisa.activation(op=nl.exp, data=tile[i : i + 1])", "error"),
    ],
)
def test_beta1_may_move_what_a_function_of_the_language_starts_elsewhere(
    call: str, severity: str
) -> None:
    text = f"""\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def filled(x):
    assert x.shape == (1, 40) and x.dtype == nl.float32
    out = nl.ndarray((24, 40), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.zeros((24, 40), dtype=nl.float32, buffer=nl.sbuf)
    row = nl.load(x)
    for i in nl.static_range(24):
        {call}
    nl.store(out, tile)
    return out
"""
    found = [d for d in analyze_source(text).diagnostics if d.rule == "start-partition"]
    assert {d.severity for d in found} == {severity}
