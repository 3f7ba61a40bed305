"""Searches, gathers, index patterns, copies and random numbers. Exact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.executor.semantics.support import Array, Fake, Tensor, out, perform, result
from verifier.executor.footprints import part_of
from verifier.executor.semantics import SemanticsMissing
from verifier.executor.semantics.casts import NUMPY
from verifier.symbolic import expr as E
from verifier.symbolic.tensors import Axis
from verifier.symbolic.values import IndexMask, IndexTensor, Register

RNG = np.random.default_rng(9)


def draw(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def test_max8_and_where_they_lie() -> None:
    data = RNG.integers(0, 12, (5, 40)).astype(np.float32)
    top = result("isa.max8", out(5, 8), src=data)
    np.testing.assert_array_equal(top, -np.sort(-data, axis=1)[:, :8])
    where = result("isa.nc_find_index8", out(5, 8, dtype="uint32"), data=data, vals=top)
    np.testing.assert_array_equal(np.take_along_axis(data, where.astype(int), 1), top)
    for row in where:
        assert len(set(row.tolist())) == 8
    expected = np.argsort(-data, axis=1, kind="stable")[:, :8]
    np.testing.assert_array_equal(where, expected)


def test_a_value_that_is_not_there_has_no_index() -> None:
    data = np.arange(10, dtype=np.float32)[None]
    vals = np.array([[3, 99, 3, 4, 5, 6, 7, 8]], np.float32)
    got = result("isa.nc_find_index8", out(1, 8, dtype="uint16"), data=data, vals=vals)
    assert got.tolist() == [[3, 65535, 65535, 4, 5, 6, 7, 8]]


def test_match_and_replace_pairs_duplicates_backwards() -> None:
    data = np.array([[9, 2, 5, 5, 5, 1, 7, 5]], np.float32)
    vals = np.array([[2, 5, 5, 5, 7, 40, 9, 1]], np.float32)
    io = perform(
        "isa.nc_match_replace8",
        dst=out(1, 8),
        data=data,
        vals=vals,
        imm=-1.0,
        dst_idx=out(1, 8, dtype="uint32"),
    )
    assert io.tensors["dst"].array.tolist() == [[-1, -1, -1, -1, -1, -1, -1, 5]]
    assert io.tensors["dst_idx"].array.tolist() == [[1, 4, 3, 2, 6, 2**32 - 1, 0, 5]]


masks = st.lists(st.sampled_from([255, *range(32)]), min_size=32, max_size=32)


@given(masks, st.sampled_from([32, 64]))
def test_shuffles_stay_in_their_quadrant(mask: list[int], partitions: int) -> None:
    source = draw(partitions, 3)
    got = result(
        "isa.nc_stream_shuffle", out(partitions, 3, fill=7), src=source, shuffle_mask=tuple(mask)
    )
    for row in range(partitions):
        m = mask[row % 32]
        expected = np.full(3, 7) if m == 255 else source[row // 32 * 32 + m]
        np.testing.assert_array_equal(got[row], expected)


def test_iota_and_affine_select() -> None:
    pattern = ((10, 2), (1, 3))
    got = result(
        "isa.iota", out(4, 2, 3, dtype="int32"), pattern=pattern, offset=5, channel_multiplier=100
    )
    p, i, j = np.ogrid[0:4, 0:2, 0:3]
    numbers = 5 + 100 * p + 10 * i + j
    np.testing.assert_array_equal(got, numbers)
    data = draw(4, 6)
    got = result(
        "isa.affine_select",
        out(4, 6),
        pattern=((-1, 6),),
        channel_multiplier=1,
        offset=0,
        on_true_tile=data,
        on_false_value=-9.0,
        cmp_op="greater_equal",
    )
    np.testing.assert_array_equal(got, np.where(np.tri(4, 6, dtype=bool), data, np.float32(-9)))


def test_gathers_within_a_partition() -> None:
    data, indices = draw(3, 2, 5), RNG.integers(0, 10, (3, 7)).astype(np.uint32)
    expected = np.take_along_axis(data.reshape(3, 10), indices.astype(int), axis=1)
    for name in ("isa.nc_n_gather", "language.gather_flattened"):
        np.testing.assert_array_equal(result(name, out(3, 7), data=data, indices=indices), expected)
    with pytest.raises(IndexError, match=r"index 10 of .* in a row of 10"):
        result("isa.nc_n_gather", out(3, 7), data=data, indices=indices * 0 + 10)


def test_local_gathers_read_indices_partition_first() -> None:
    source = draw(32, 20)
    index = RNG.integers(0, 9, (32, 2)).astype(np.uint16)
    got = result(
        "isa.local_gather",
        out(32, 30 * 2),
        src_buffer=source,
        index=index,
        num_elem_per_idx=2,
        num_valid_indices=30,
    )
    for p in range(32):
        listed = index[p // 16 * 16 : p // 16 * 16 + 16].T.ravel()[:30].astype(int)
        expected = np.concatenate([source[p, i : i + 2] for i in listed])
        np.testing.assert_array_equal(got[p], expected)


def test_segments_and_their_bounds() -> None:
    ids = np.array([[0, 3, 3, 4, 0, 0, 7]], np.int32)
    got = result("isa.sequence_bounds", out(1, 2, 7, dtype="int32"), segment_ids=ids)
    assert got[0].tolist() == [[7, 1, 1, 3, 7, 7, 6], [-1, 3, 3, 4, -1, -1, 7]]


def test_nonzero_elements_on_the_first_partition_of_each_core() -> None:
    source = np.zeros((32, 8), np.float32)
    source[0, [1, 2, 5]] = 1
    source[16, 7] = -2
    source[1] = 1
    got = result(
        "isa.nonzero_with_count",
        out(32, 9, dtype="int32", fill=77),
        src=source,
        index_offset=16,
        padding_val=-1,
    )
    assert got[0].tolist() == [17, 18, 21, -1, -1, -1, -1, -1, 3]
    assert got[16].tolist() == [23, -1, -1, -1, -1, -1, -1, -1, 1]
    assert (np.delete(got, [0, 16], axis=0) == 77).all()


def test_the_largest_of_a_snake() -> None:
    from verifier.executor.semantics.casts import NUMPY

    source = RNG.permutation(48).reshape(16, 3).astype(NUMPY["bfloat16"])
    io = perform(
        "isa.topk",
        val_dst=out(16, 5, dtype="bfloat16"),
        idx_dst=out(16, 5, dtype="uint32"),
        src=source,
        n=40,
    )
    snake = source.astype(np.float32).T.ravel()[:40]
    expected = np.argsort(snake)[-5:]
    for row in range(16):
        np.testing.assert_array_equal(io.tensors["idx_dst"].array[row], expected)
        np.testing.assert_array_equal(io.tensors["val_dst"].array[row], snake[expected])


# --------------------------------------------------------------------------- copies


def test_equal_types_are_copied_bit_for_bit() -> None:
    wide = np.array([[2**24 + 1, -(2**31)]], np.int32)
    assert result("isa.tensor_copy", out(1, 2, dtype="int32"), src=wide).tolist() == wide.tolist()
    got = result("isa.dma_copy", out(2, 1, dtype="uint32"), src=wide)
    assert got.tolist() == [[2**24], [0]]
    assert result("language.load", out(1, 2), src=wide).tolist() == [[2.0**24, -(2.0**31)]]


def test_predicated_copies_keep_the_rest() -> None:
    predicate = np.array([[1, 0, 2]], np.uint8)
    source = draw(1, 3)
    for reverse in (False, True):
        got = result(
            "isa.tensor_copy_predicated",
            out(1, 3, fill=5),
            src=source,
            predicate=predicate,
            reverse_pred=reverse,
        )
        chosen = (predicate != 0) ^ reverse
        np.testing.assert_array_equal(got, np.where(chosen, source, np.float32(5)))
    got = result("isa.tensor_copy_predicated", out(1, 3), src=2.0, predicate=predicate)
    assert got.tolist() == [[2.0, 0.0, 2.0]]


def test_assignment_and_its_augmented_forms() -> None:
    tile = draw(3, 4)
    np.testing.assert_array_equal(result("language.assign", out(3, 4), value=tile), tile)
    assert result("language.fill", out(2, 2, dtype="int32"), value=7).tolist() == [[7, 7]] * 2
    got = result("language.assign", out(3, 4, fill=2), value=tile, op="add")
    np.testing.assert_array_equal(got, tile + 2)
    got = result("language.fill", out(1, 2, fill=6), value=3, op="divide")
    assert got.tolist() == [[2.0, 2.0]]


def test_fills() -> None:
    assert result("isa.memset", out(2, 2, dtype="uint32"), value=2**32 - 1)[0, 0] == 2**32 - 1
    tenth = result("language.full", out(1, 2, dtype="bfloat16"), fill_value=0.1)
    assert tenth[0, 0] == 0.10009765625
    assert result("language.ones", out(1, 1)).tolist() == [[1.0]]
    assert result("language.zeros", out(1, 1, fill=3)).tolist() == [[0.0]]
    eye = result("language.shared_identity_matrix", out(3, 3, dtype="uint8"))
    np.testing.assert_array_equal(eye, np.eye(3))


def test_transposes_of_the_dma_engine() -> None:
    for axes, shape in (((1, 0), (3, 4)), ((2, 1, 0), (2, 3, 4)), ((3, 1, 2, 0), (2, 3, 4, 5))):
        source = draw(*shape)
        expected = source.transpose(axes)
        got = result("isa.dma_transpose", out(*expected.shape), src=source)
        np.testing.assert_array_equal(got, expected)
        got = result("isa.dma_transpose", out(*expected.shape), src=source, axes=axes)
        np.testing.assert_array_equal(got, expected)


def test_dma_sums_and_masked_rows() -> None:
    a, b = draw(4, 2), draw(8)
    got = result("isa.dma_compute", out(4, 2), srcs=[a, b], reduce_op="add", scales=(2.0, 1.0))
    np.testing.assert_array_equal(got, a * np.float32(2) + b.reshape(4, 2))
    mask = np.array([[1, 1], [0, 0], [1, 1], [0, 0]], np.bool_)
    rows = Tensor(a, mask=mask)
    got = result("isa.dma_copy", out(4, 2, fill=5), src=rows)
    np.testing.assert_array_equal(got, np.where(mask, a, np.float32(5)))
    got = result("isa.dma_copy", out(4, 2, fill=5), src=a, dst_rmw_op="add")
    np.testing.assert_array_equal(got, a + 5)


def test_registers_hold_numbers() -> None:
    state: dict[object, object] = {}
    register = Register("r")
    perform("isa.register_load", dst=register, src=np.array([[42]], np.int32), state=state)
    got = result("isa.register_store", out(1, 1, dtype="int32"), src=register, state=state)
    assert got.tolist() == [[42]]
    with pytest.raises(SemanticsMissing, match="register"):
        result("isa.register_store", out(1, 1), src=register, state={})


def test_random_numbers_fill_their_range() -> None:
    bits = result("isa.rng", out(64, 64, dtype="uint8"))
    assert len(np.unique(bits)) == 256
    low = np.full((8, 1), -2, np.float32)
    drawn = result("isa.rand2", out(8, 500), min=low, max=3.0)
    assert drawn.min() >= -2 and drawn.max() <= 3 and abs(drawn.mean() - 0.5) < 0.2
    seed = np.array([[12]], np.int32)
    twice = []
    for _ in range(2):
        state: dict[object, object] = {}
        perform("isa.set_rng_seed", src_seeds=seed, state=state)
        twice.append(result("isa.rng", out(4, 4, dtype="uint32"), state=state))
    np.testing.assert_array_equal(twice[0], twice[1])


def test_collectives_of_one_rank_copy_and_others_are_named() -> None:
    source = draw(4, 4)
    io = perform("collectives.all_reduce", srcs=[source], dsts=[out(4, 4)], op="add")
    np.testing.assert_array_equal(io.tensors["dsts[0]"].array, source)
    with pytest.raises(SemanticsMissing, match=r"collectives\.all_gather"):
        perform("collectives.all_gather", srcs=[source], dsts=[out(8, 4)])


# --------------------------------------------------------------------------- index arrays


def test_index_arrays_of_beta_1() -> None:
    rows, columns = (Axis(_symbol(f"ix{k}"), E.const(size)) for k, size in enumerate((3, 5)))
    ramp = IndexTensor(rows.index * 7 + columns.index - 2, 2, ((0, rows), (1, columns)))
    got = result("isa.iota", out(3, 5, dtype="int32"), api="beta1", expr=ramp)
    p, x = np.ogrid[0:3, 0:5]
    np.testing.assert_array_equal(got, 7 * p + x - 2)
    below = IndexMask(E.lt(columns.index, rows.index), 2, ((0, rows), (1, columns)))
    data = draw(3, 5)
    got = result(
        "isa.affine_select",
        out(3, 5),
        api="beta1",
        pred=below,
        on_true_tile=data,
        on_false_value=4.0,
    )
    np.testing.assert_array_equal(got, np.where(x < p, data, np.float32(4)))


def _symbol(name: str) -> E.Sym:
    atom = E.symbol(name, 0, None, E.Origin.AXIS).as_atom()
    assert isinstance(atom, E.Sym)
    return atom


def _rows(io: Fake, role: str, *, written: bool = False) -> list[int]:
    """The partitions of an operand that its description says are read, or written."""
    instruction = io.operation.instruction
    assert instruction is not None
    footprint = instruction.footprint
    wheres = [part.where for part in footprint.reads_of(role)]
    if written:
        wheres = [part.where for part in footprint.writes_of(role)]
    (where,) = wheres
    part = part_of(where, io.operation, io.shape(role))
    assert part.sure
    rows = np.ones(io.shape(role), np.bool_) if part.mask is None else part.mask
    return [int(row) for row in np.flatnonzero(rows.any(axis=1))]


def test_partitions_that_are_not_read() -> None:
    io = perform(
        "isa.nonzero_with_count", dst=out(48, 4, dtype="int32"), src=np.zeros((48, 3), np.float32)
    )
    assert _rows(io, "src") == [0, 16, 32]
    mask = tuple(map(E.const, (3,) * 31 + (255,)))
    io = perform("isa.nc_stream_shuffle", dst=out(64, 2), src=draw(64, 2), shuffle_mask=mask)
    assert _rows(io, "src") == [3, 35]
    data = np.zeros((64, 2), np.uint32)
    scales = np.full((64, 2), 127, np.uint8)
    io = perform(
        "isa.nc_matmul_mx",
        dst=out(2, 2),
        stationary=Tensor(data, "float8_e5m2_x4"),
        moving=Tensor(data, "float8_e5m2_x4"),
        stationary_scale=scales,
        moving_scale=scales,
    )
    assert _rows(io, "moving_scale") == [0, 1, 2, 3, 32, 33, 34, 35]
    assert len(_rows(io, "moving")) == 64


def test_partitions_that_are_not_written_are_those_of_the_description() -> None:
    mask = tuple(map(E.const, (3, 255) * 16))
    runs = [
        ("dst", perform(
            "isa.nonzero_with_count",
            dst=out(48, 4, dtype="int32"),
            src=np.zeros((48, 3), np.float32),
        )),
        ("dst", perform(
            "isa.nc_stream_shuffle", dst=out(64, 2), src=draw(64, 2), shuffle_mask=mask
        )),
        ("dst_scale", perform(
            "isa.quantize_mx",
            target="trn3",
            dst=Tensor(np.zeros((64, 2), np.uint32), "float8_e5m2_x4"),
            src=Tensor(draw(64, 8).astype(NUMPY["bfloat16"]), "bfloat16"),
            dst_scale=Tensor(np.zeros((64, 2), np.uint8), "uint8"),
        )),
    ]  # fmt: skip
    for role, io in runs:
        where = io.wheres[role]
        assert where is not None
        found = [int(row) for row in np.flatnonzero(where.any(axis=1))]
        assert found == _rows(io, role, written=True)
