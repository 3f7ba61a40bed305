"""What a description says is read and written is what the meaning on numbers reads and writes.

One element of an operand is changed at a time: what comes out otherwise depends on it, and the
description has to say so.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.executor.semantics.support import Fake, Tensor, out, perform
from verifier.dialects.nki import isa
from verifier.symbolic import expr as E
from verifier.symbolic.effects import Carried, Decides, Fate, Folded, Reads, Writes
from verifier.symbolic.expr import Expr
from verifier.symbolic.trace import Operation
from verifier.symbolic.values import Enumerator

Array = NDArray[Any]
Place = tuple[int, ...]

RNG = np.random.default_rng(5)


def some(*shape: int, dtype: str = "float32") -> Tensor:
    """Numbers that are all different, and not near to one another."""
    values = RNG.permutation(int(np.prod(shape))).reshape(shape).astype(np.float32) / 4 + 1
    return Tensor(values.astype(dtype), dtype)


def whole(*shape: int, below: int, dtype: str) -> Tensor:
    return Tensor(RNG.integers(0, below, shape).astype(dtype), dtype)


def command(name: str) -> Enumerator:
    return Enumerator("reduce_cmd", name)


MASK = tuple(E.const(k) for k in (3, 255, 1, 1, *range(4, 32)))
REDUCED = {"reduce_res": out(4, 1), "reduce_cmd": command("reset_reduce")}


def packed(rows: int, columns: int) -> Tensor:
    return Tensor(np.full((rows, columns), 0x3C3C3C3C, np.uint32), "float8_e5m2_x4")


def scales(rows: int, columns: int) -> Tensor:
    return Tensor(np.full((rows, columns), 128, np.uint8))


#: instruction, arguments
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("isa.nc_matmul", {"dst": out(3, 5), "stationary": some(4, 3), "moving": some(4, 5)}),
    ("isa.nc_matmul", {"dst": out(3, 2, 2), "stationary": some(4, 3), "moving": some(4, 2, 2)}),
    (
        "isa.nc_matmul",
        {
            "dst": out(3, 4),
            "stationary": some(4, 3),
            "moving": Tensor(np.eye(4, dtype=np.float32)),
            "is_transpose": True,
        },
    ),
    (
        "isa.nc_matmul_mx",
        {
            "dst": out(2, 3),
            "stationary": packed(64, 2),
            "moving": packed(64, 3),
            "stationary_scale": scales(64, 2),
            "moving_scale": scales(64, 5),
        },
    ),
    (
        "isa.nc_matmul_mx",
        {
            "dst": out(2, 3),
            "stationary": packed(32, 2),
            "moving": packed(32, 3),
            "stationary_scale": scales(4, 2),
            "moving_scale": scales(4, 3),
        },
    ),
    (
        "isa.quantize_mx",
        {
            "dst": out(64, 2, dtype="float8_e5m2_x4"),
            "src": some(64, 8),
            "dst_scale": out(64, 2, dtype="uint8", fill=7),
        },
    ),
    (
        "isa.quantize_mx",
        {
            "dst": out(32, 1, dtype="float8_e5m2_x4"),
            "src": some(32, 4),
            "dst_scale": out(4, 1, dtype="uint8"),
        },
    ),
    ("isa.nc_transpose", {"dst": out(3, 4), "data": some(4, 3)}),
    ("language.matmul", {"dst": out(3, 5), "x": some(3, 4), "y": some(4, 5), "transpose_x": False}),
    ("language.matmul", {"dst": out(3, 5), "x": some(4, 3), "y": some(4, 5), "transpose_x": True}),
    ("language.transpose", {"dst": out(3, 4), "x": some(4, 3)}),
    (
        "isa.activation",
        {
            "dst": out(4, 3),
            "data": some(4, 3),
            "op": "copy",
            "bias": some(4, 1),
            "scale": some(4, 1),
            "reduce_op": "add",
            **REDUCED,
        },
    ),
    (
        "isa.tensor_tensor",
        {"dst": out(4, 6), "data1": some(4, 6), "data2": some(4, 6), "op": "add"},
    ),
    (
        "isa.tensor_tensor",
        {"dst": out(4, 2, 3), "data1": some(4, 6), "data2": some(4, 2, 3), "op": "add"},
    ),
    (
        "isa.tensor_scalar",
        {"dst": out(4, 3), "data": some(4, 3), "op0": "multiply", "operand0": some(4, 1)},
    ),
    (
        "isa.scalar_tensor_tensor",
        {
            "dst": out(4, 3),
            "data": some(4, 3),
            "op0": "multiply",
            "operand0": some(4, 1),
            "op1": "add",
            "operand1": some(4, 3),
        },
    ),
    ("isa.tensor_copy", {"dst": out(4, 3), "src": some(4, 3)}),
    ("isa.tensor_copy", {"dst": out(4, 1, 3), "src": some(4, 3)}),
    (
        "isa.tensor_copy_predicated",
        {"dst": out(4, 3), "src": some(4, 3), "predicate": whole(4, 3, below=2, dtype="uint8")},
    ),
    ("isa.reciprocal", {"dst": out(4, 3), "data": some(4, 3)}),
    ("isa.exponential", {"dst": out(4, 3), "src": some(4, 3), "max_value": some(4, 1), **REDUCED}),
    ("isa.tensor_reduce", {"dst": out(4, 1), "data": some(4, 3), "op": "add", "axis": 1}),
    ("isa.tensor_reduce", {"dst": out(4, 2), "data": some(4, 2, 3), "op": "add", "axis": 2}),
    (
        "isa.tensor_scalar_reduce",
        {
            "dst": out(4, 3),
            "data": some(4, 3),
            "op0": "multiply",
            "operand0": some(4, 1),
            "reduce_op": "add",
            **REDUCED,
        },
    ),
    (
        "isa.tensor_tensor_scan",
        {
            "dst": out(4, 3),
            "data0": some(4, 3),
            "data1": some(4, 3),
            "initial": some(4, 1),
            "op0": "multiply",
            "op1": "add",
        },
    ),
    (
        "isa.tensor_scalar_cumulative",
        {
            "dst": out(4, 3),
            "src": some(4, 3),
            "op0": "multiply",
            "op1": "add",
            "imm0": some(4, 1),
            "reduce_cmd": command("reset_reduce"),
        },
    ),
    ("isa.bn_stats", {"dst": out(4, 6), "data": some(4, 8)}),
    ("isa.tensor_partition_reduce", {"dst": out(1, 3), "data": some(4, 3), "op": "add"}),
    (
        "isa.range_select",
        {
            "dst": out(4, 3),
            "on_true_tile": some(4, 3),
            "comp_op0": "greater_equal",
            "comp_op1": "less",
            "bound0": out(4, 1, fill=0),
            "bound1": out(4, 1, fill=2),
            "reduce_op": "maximum",
            "range_start": 0,
            "on_false_value": -7.0,
            **REDUCED,
        },
    ),
    (
        "isa.select_reduce",
        {
            "dst": out(4, 3),
            "predicate": whole(4, 3, below=2, dtype="uint8"),
            "on_true": some(4, 3),
            "on_false": some(4, 1),
            "reduce_op": "maximum",
            **REDUCED,
        },
    ),
    ("isa.max8", {"dst": out(4, 8), "src": some(4, 12)}),
    (
        "isa.nc_find_index8",
        {"dst": out(4, 8, dtype="uint32"), "data": some(4, 12), "vals": some(4, 8)},
    ),
    (
        "isa.nonzero_with_count",
        {"dst": out(32, 5, dtype="int32"), "src": whole(32, 4, below=2, dtype="int32")},
    ),
    (
        "isa.nc_stream_shuffle",
        {"dst": out(32, 2, fill=9), "src": some(32, 2), "shuffle_mask": MASK},
    ),
    (
        "isa.nc_n_gather",
        {
            "dst": out(4, 3),
            "data": some(4, 6),
            "indices": whole(4, 3, below=6, dtype="uint32"),
        },
    ),
    ("isa.dma_copy", {"dst": out(4, 3), "src": some(4, 3)}),
    (
        "isa.local_gather",
        {
            "dst": out(16, 32),
            "src_buffer": some(16, 8),
            "index": whole(16, 2, below=8, dtype="uint16"),
        },
    ),
    (
        "isa.topk",
        {"val_dst": out(16, 2), "idx_dst": out(16, 2, dtype="uint32"), "src": some(16, 3), "n": 48},
    ),
    (
        "isa.sequence_bounds",
        {"dst": out(1, 2, 6, dtype="int32"), "segment_ids": whole(1, 6, below=2, dtype="int32")},
    ),
    ("isa.dma_transpose", {"dst": out(3, 4), "src": some(4, 3)}),
    ("isa.dma_transpose", {"dst": out(2, 3, 4), "src": some(4, 3, 2)}),
    (
        "isa.dma_transpose",
        {
            "dst": out(2, 5, 3, 4),
            "src": some(4, 5, 3, 2),
            "axes": tuple(E.const(k) for k in (3, 1, 2, 0)),
        },
    ),
    ("language.load", {"dst": out(4, 3), "src": some(4, 3)}),
    ("language.store", {"dst": out(4, 3), "value": some(4, 3)}),
    ("language.load_transpose2d", {"dst": out(3, 4), "src": some(4, 3)}),
    ("language.copy", {"dst": out(4, 3), "x": some(4, 3)}),
    ("language.static_cast", {"dst": out(4, 3), "input_data": some(4, 3)}),
    ("language.broadcast_to", {"dst": out(4, 3), "x": some(1, 3)}),
    ("language.exp", {"dst": out(4, 3), "x": some(4, 3)}),
    ("language.add", {"dst": out(4, 3), "x": some(4, 3), "y": some(4, 1)}),
    (
        "language.where",
        {
            "dst": out(4, 3),
            "condition": whole(4, 3, below=2, dtype="uint8"),
            "x": some(4, 3),
            "y": some(4, 3),
        },
    ),
    ("language.sum", {"dst": out(4, 1), "x": some(4, 3), "axis": 1}),
    ("language.sum", {"dst": out(4, 2), "x": some(4, 3, 2), "axis": 1}),
    ("language.softmax", {"dst": out(4, 3), "x": some(4, 3), "axis": -1}),
    ("language.assign", {"dst": out(4, 3), "value": some(4, 3)}),
    ("language.assign", {"dst": out(4, 3), "value": some(4, 1)}),
    ("language.assign", {"dst": some(4, 3), "value": some(4, 3), "op": "multiply"}),
]


def fresh(arguments: dict[str, Any]) -> dict[str, Any]:
    return {
        role: Tensor(value.array.copy(), value.dtype, buffer=value.buffer)
        if isinstance(value, Tensor)
        else value
        for role, value in arguments.items()
    }


def ran(name: str, arguments: dict[str, Any]) -> Fake:
    return perform(name, api="0.6", target="trn3", **fresh(arguments))


def at(place: Place) -> tuple[Expr, ...]:
    return tuple(E.const(k) for k in place)


def allows(fate: Fate, call: Operation, to: str, result: Place, element: Place) -> bool:
    """Whether an element of a result may depend on an element of the operand."""
    if isinstance(fate, Decides):
        return True
    if fate.to != to:
        return False
    found = fate.source(call, at(result)) if isinstance(fate, Carried) else None
    line = fate.line(call, at(result)) if isinstance(fate, Folded) else found
    if line is None:
        return True
    assert len(line) == len(element)
    pairs = zip(line, element, strict=True)
    return all(mine is None or mine.const == k for mine, k in pairs)


def explains(read: Reads, call: Operation, to: str, result: Place, element: Place) -> bool:
    if read.when.holds(call) is E.FALSE or read.where.holds(call, at(element)) is E.FALSE:
        return False
    return allows(read.fate, call, to, result, element)


def results(io: Fake, written: tuple[Writes, ...]) -> dict[str, Array]:
    return {w.role: io.tensors[w.role].array.copy() for w in written if w.role in io.tensors}


@pytest.mark.parametrize(
    ("name", "arguments"), CALLS, ids=[f"{name}-{n}" for n, (name, _) in enumerate(CALLS)]
)
def test_results_depend_on_what_is_read(name: str, arguments: dict[str, Any]) -> None:
    instruction = isa.find(name)
    assert instruction is not None
    footprint = instruction.footprint
    before = ran(name, arguments)
    call, were = before.operation, results(before, footprint.writes)
    for role, given in arguments.items():
        if not isinstance(given, Tensor) or (role in were and not footprint.reads_of(role)):
            continue
        reads = footprint.reads_of(role)
        for element in np.ndindex(given.array.shape):
            changed = fresh(arguments)
            array = changed[role].array
            if array.dtype.kind == "f":
                array[element] += 1000
            else:
                array[element] = 1 - array[element] if array[element] < 2 else 0
            for to, after in results(ran(name, changed), footprint.writes).items():
                for result in zip(*np.nonzero(after != were[to]), strict=True):
                    place = tuple(int(k) for k in result)
                    assert any(explains(r, call, to, place, element) for r in reads), (
                        role,
                        element,
                        to,
                        place,
                    )


@pytest.mark.parametrize(
    ("name", "arguments"), CALLS, ids=[f"{name}-{n}" for n, (name, _) in enumerate(CALLS)]
)
def test_what_is_written_is_said(name: str, arguments: dict[str, Any]) -> None:
    instruction = isa.find(name)
    assert instruction is not None
    io = ran(name, arguments)
    for write in instruction.footprint.writes:
        if write.role not in io.tensors or write.when.holds(io.operation) is E.FALSE:
            continue
        mask = io.wheres.get(write.role)
        for place in np.ndindex(io.tensors[write.role].array.shape):
            told = write.where.holds(io.operation, at(place))
            really = mask is None or bool(np.broadcast_to(mask, io.shape(write.role))[place])
            assert told is not E.FALSE or not really, (write.role, place)
            if write.where.exact:
                assert told is not E.TRUE or really, (write.role, place)


TURNED: list[tuple[str, dict[str, Any], str]] = [
    ("isa.nc_transpose", {"dst": out(3, 4), "data": some(4, 3)}, "tensor"),
    ("isa.nc_transpose", {"dst": out(3, 4), "data": some(4, 3)}, "vector"),
    ("language.transpose", {"dst": out(3, 4), "x": some(4, 3)}, "tensor"),
    (
        "isa.nc_matmul",
        {
            "dst": out(3, 4),
            "stationary": some(4, 3),
            "moving": Tensor(np.eye(4, dtype=np.float32)),
            "is_transpose": True,
        },
        "tensor",
    ),
    (
        "language.matmul",
        {"dst": out(4, 5), "x": some(4, 3), "y": some(3, 5), "transpose_x": False},
        "tensor",
    ),
]


@pytest.mark.parametrize("target", ["trn1", "trn2"])
@pytest.mark.parametrize(("name", "arguments", "engine"), TURNED)
def test_a_nan_goes_where_what_is_undefined_goes(
    name: str, arguments: dict[str, Any], engine: str, target: str
) -> None:
    instruction = isa.find(name)
    assert instruction is not None
    (role, given) = next(item for item in arguments.items() if item[0] != "dst")
    for element in np.ndindex(given.array.shape):
        changed = fresh(arguments)
        changed[role].array[element] = np.nan
        io = perform(name, api="0.6", target=target, engine=engine, **changed)
        result = io.tensors["dst"].array
        for place in np.ndindex(result.shape):
            reads = instruction.footprint.reads_of(role)
            said = any(explains(read, io.operation, "dst", place, element) for read in reads)
            assert said == np.isnan(result[place]), (element, place)
