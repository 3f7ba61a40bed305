"""Kernels on which check and run disagreed: both say the same of them, and what is right."""

from __future__ import annotations

import pytest

from tests.differential.judging import judge
from tests.differential.kernels import Kernel
from verifier.dialects.names import OKK, PPL
from verifier.executor.running import Shaped

Tensors = dict[str, tuple[str, tuple[int, ...]]]


def _kernel(api: str, target: str, text: str, tensors: Tensors) -> Kernel:
    inputs = tuple((name, Shaped(dtype, shape)) for name, (dtype, shape) in tensors.items())
    return Kernel(api, target, tuple(text.strip().splitlines()), inputs)


_TOO_MANY = """
a = nl.ndarray((128, 5), dtype=nl.float32, buffer=nl.sbuf)
nisa.dma_copy(dst=a[0:128, 0:1], src=x)
out = nl.ndarray((128, 5), dtype=nl.float32, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=a[0:127, 0:5])
return out
"""
_SCALES = """
a = nl.ndarray((8, 64), dtype=nl.float32, buffer=nl.sbuf)
nisa.dma_compute(dst=a, srcs=[x, z], reduce_op=nl.add, scales=(1.0,))
out = nl.ndarray((8, 64), dtype=nl.float32, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=a)
return out
"""
_MASK = "[0, 255, 4, 255, 0, 255, 0, 255, 255, 26, 0, 255, 255, 20, 6, 255, 0, 6, 255, 0, 28]"
_LEFT_ALONE = f"""
a = nl.ndarray((64, 8), dtype=nl.float32, buffer=nl.psum)
nisa.dma_copy(dst=a[0:64, 0:1], src=x)
b = nl.ndarray((64, 8), dtype=nl.float32, buffer=nl.sbuf)
nisa.dma_copy(dst=b[0:64, 0:7], src=z)
nisa.nc_stream_shuffle(dst=a, src=b, shuffle_mask={_MASK} + [255] * 11)
c = nl.ndarray((64, 8), dtype=nl.float32, buffer=nl.sbuf)
nisa.tensor_copy(dst=c, src=a)
out = nl.ndarray((64, 8), dtype=nl.float32, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=c)
return out
"""


_TWO_REASONS = """
a = nl.ndarray((64, 8), dtype=nl.float32, buffer=nl.sbuf)
b = nl.ndarray((64, 11), dtype=nl.float32, buffer=nl.sbuf)
nisa.tensor_copy(dst=b[0:64, 0:8], src=a)
c = nl.ndarray((64, 11), dtype=nl.float32, buffer=nl.sbuf)
nisa.tensor_copy(dst=c, src=b)
out = nl.ndarray((64, 11), dtype=nl.float32, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=c)
return out
"""
_NOT_TAKEN = """
a = nl.ndarray((1, 65), dtype=nl.float32, buffer=nl.sbuf)
b = nl.ndarray((64, 1), dtype=nl.float32, buffer=nl.sbuf)
nisa.dma_copy(dst=b, src=x)
c = nl.ndarray((64, 1), dtype=nl.float32, buffer=nl.sbuf)
nisa.dma_copy(dst=c[0:63, 0:1], src=z)
nisa.tensor_scalar_cumulative(
    op0=nl.minimum, op1=nl.minimum, dst=a[0:1, 1:65], src=b, imm0=0.5, imm1=c)
out = nl.ndarray((1, 65), dtype=nl.float32, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=a)
return out
"""

_LEFT_AS_IT_IS = """
a = nl.ndarray((1, 8), dtype=nl.float32, buffer=nl.sbuf)
nisa.nc_stream_shuffle(dst=a, src=a, shuffle_mask=[255] + [0] * 31)
b = nl.ndarray((1, 8), dtype=nl.float32, buffer=nl.sbuf)
nisa.dma_copy(dst=b, src=x)
out = nl.ndarray((1, 8), dtype=nl.float32, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=a)
return out
"""

_SUM_OF_ITSELF = """
a = nl.ndarray((128, 128), dtype=nl.float16, buffer=nl.psum)
b = nl.ndarray((128, 128), dtype=nl.float16, buffer=nl.sbuf)
nisa.dma_copy(dst=b, src=x)
nisa.nc_matmul(dst=a, stationary=b, moving=b, is_transpose=True, accumulate=True)
c = nl.ndarray((128, 128), dtype=nl.float16, buffer=nl.sbuf)
nisa.tensor_copy(dst=c, src=a)
out = nl.ndarray((128, 128), dtype=nl.float16, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=c)
return out
"""
_REFUSED = """
a = nl.ndarray((32, 4), dtype=nl.float16, buffer=nl.shared_hbm)
nisa.nc_stream_shuffle(dst=a, src=x, shuffle_mask=[255] + [0] * 31)
return a
"""
_NO_REGISTERS = """
a = nl.ndarray((4, 4), dtype=nl.float32, buffer=nl.sbuf)
nisa.register_load(dst=a, src=nisa.register_alloc())
"""
_ITS_OWN_PART_AND_ANOTHER = """
a = nl.ndarray((72, 9), dtype=nl.float32, buffer=nl.sbuf)
b = nl.ndarray((8, 8), dtype=nl.float32, buffer=nl.sbuf)
nisa.dma_copy(dst=b, src=x)
c = nl.ndarray((8, 1), dtype=nl.float32, buffer=nl.sbuf)
nisa.memset(dst=c[0:1, 0:1], value=0)
nisa.tensor_scalar(dst=a[64:72, 1:9], data=b, op0=nl.add, operand0=c)
out = nl.ndarray((72, 9), dtype=nl.float32, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=a)
return out
"""
_ONE_NUMBER_TOO_FAR = """
a = nl.ndarray((32, 2), dtype=nl.float32, buffer=nl.sbuf)
nisa.dma_copy(dst=a, src=x)
b = nl.ndarray((32, 7), dtype=nl.uint32, buffer=nl.sbuf)
nisa.memset(dst=b, value=2)
c = nl.ndarray((32, 7), dtype=nl.float32, buffer=nl.sbuf)
nisa.nc_n_gather(dst=c, data=a, indices=b)
out = nl.ndarray((32, 7), dtype=nl.float32, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=c)
return out
"""


@pytest.mark.parametrize(
    ("text", "tensors"),
    [
        pytest.param(_NO_REGISTERS, {}, id="a register that holds nothing, to what is none"),
        pytest.param(_REFUSED, {"x": ("float16", (32, 4))}, id="what is refused leaves a part"),
        pytest.param(
            _ITS_OWN_PART_AND_ANOTHER, {"x": ("float32", (8, 8))}, id="two reasons, one its own"
        ),
        pytest.param(_ONE_NUMBER_TOO_FAR, {"x": ("float32", (32, 2))}, id="shapes are not enough"),
        pytest.param(
            _SUM_OF_ITSELF, {"x": ("float16", (128, 128))}, id="what is added to is moved"
        ),
        pytest.param(_LEFT_AS_IT_IS, {"x": ("float32", (1, 8))}, id="nothing is shuffled"),
        pytest.param(
            _NOT_TAKEN,
            {"x": ("float32", (64, 1)), "z": ("float32", (63, 1))},
            id="what is undefined is in a row that is not taken",
        ),
        pytest.param(_TOO_MANY, {"x": ("float32", (128, 1))}, id="more elements than room"),
        pytest.param(
            _SCALES,
            {"x": ("float32", (8, 64)), "z": ("float32", (8, 64))},
            id="a scale too few",
        ),
        pytest.param(
            _LEFT_ALONE,
            {"x": ("float32", (64, 1)), "z": ("float32", (64, 7))},
            id="two reasons why one read is undefined",
        ),
        pytest.param(_TWO_REASONS, {"x": ("float32", (1, 1))}, id="two reasons, moved on"),
    ],
)
def test_nki(text: str, tensors: Tensors) -> None:
    found = judge(_kernel("0.4", "trn2", text, tensors))
    assert (found.kind, found.problems) == ("violated", ())


_BEYOND = """
a = pl.make_tensor([3, 16, 5, 1], pl.float16)
pl.dma.load(a, pl.gtensor([3, 16, 5, 1], pl.GLOBAL, x))
pl.dma.store(pl.gtensor([3, 16, 5, 9], pl.GLOBAL, y), a.sub_view([3, 16, 5, 9], [0, 0, 0, 0]))
"""
_BEFORE = """
a = pl.make_tensor([3, 16, 5, 2], pl.float16)
pl.dma.load(a.sub_view([3, 16, 5, 1], [0, 0, 0, 0]), pl.gtensor([3, 16, 5, 1], pl.GLOBAL, x))
pl.dma.store(pl.gtensor([3, 16, 5, 2], pl.GLOBAL, y), a.sub_view([3, 16, 5, 2], [0, 0, 0, 1]))
"""


_COMPUTED = """
a = pl.make_tensor([3, 2, 5, 2], pl.float16)
v = a.sub_view([3, 16, 5, 2], [0, 0, 0, 0])
pl.tiu.zero(v.sub_view([3, 7, 5, 2], [0, 0, 0, 0]))
b = pl.tiu.abs(v)
pl.dma.store(pl.gtensor([3, 16, 5, 2], pl.GLOBAL, y), b)
"""


@pytest.mark.parametrize(("text", "width"), [(_BEYOND, 9), (_BEFORE, 2), (_COMPUTED, 2)])
def test_a_view_beyond_its_tensor(text: str, width: int) -> None:
    """What lies beyond is the fault of the view; what is in the tensor counts as ever."""
    tensors: Tensors = {"x": ("float16", (3, 16, 5, 1)), "y": ("float16", (3, 16, 5, width))}
    found = judge(_kernel(PPL, "bm1688", text, tensors))
    assert (found.kind, found.problems) == ("violated", ())


def test_what_no_input_meets_proves_nothing_that_comes_later() -> None:
    """The view needs two rows, with which the tensors do not fit: the last call is judged still."""
    text = """
a = pl.make_tensor([n, 16, 1, n], pl.float32)
b = pl.make_tensor([1026, 17, n, 5], pl.float32)
pl.tiu.zero(b)
c = pl.make_tensor([n, 64, 1, 16], pl.float32)
pl.tiu.zero(c)
pl.tiu.fmm(dst=a, left=c, right=b.sub_view([1024, 16, 1, n], [2, 1, 1, 0]), bias=1.0)
pl.dma.store(pl.gtensor([n, 16, 1, n], pl.GLOBAL, y), a)
"""
    inputs = (("n", 3), ("y", Shaped("float32", (3, 16, 1, 3))))
    found = judge(Kernel(PPL, "sg2262", tuple(text.strip().splitlines()), inputs, symbolic=True))
    assert (found.kind, found.problems) == ("violated", ())


def test_elements_of_half_a_byte_take_half_a_byte() -> None:
    """They fit: for a run of shapes each has a byte."""
    text = "a = pl.make_tensor([1, 5, 7, 60000], pl.int4)\npl.tiu.zero(a)"
    text += "\npl.dma.store(pl.gtensor([1, 5, 7, 60000], pl.GLOBAL, y, pl.int4), a)"
    found = judge(_kernel(PPL, "bm1690", text, {"y": ("int8", (1, 5, 7, 60000))}))
    assert found.problems == ()


def test_what_never_fits_hides_no_size_that_is_cut_off() -> None:
    text = """
a = pl.make_tensor([1, 3, 70000, 5], pl.float32)
pl.tiu.fill(a, 1)
y_t = pl.gtensor([1, 3, 70000, 5], pl.GLOBAL, y)
pl.dma.store(y_t, a)
"""
    found = judge(_kernel(PPL, "bm1688", text, {"y": ("float32", (1, 3, 70000, 5))}))
    assert found.problems == () and found.kind == "violated"


def test_a_source_is_read_as_far_as_its_destination_goes() -> None:
    """The batches that were not loaded are none that the destination has."""
    text = """
a = pl.make_tensor([1, 70, 3, 7], pl.uint16)
b = pl.make_tensor([5, 3, 70, 1], pl.uint16)
pl.dma.load(b.sub_view([2, 3, 70, 1], [0, 0, 0, 0]), pl.gtensor([2, 3, 70, 1], pl.GLOBAL, x))
pl.tiu.zero(a)
pl.tiu.clz(dst=a, src=b)
pl.dma.store(pl.gtensor([1, 70, 3, 7], pl.GLOBAL, y), a)
"""
    tensors: Tensors = {"x": ("uint16", (2, 3, 70, 1)), "y": ("uint16", (1, 70, 3, 7))}
    found = judge(_kernel(PPL, "bm1690", text, tensors))
    assert (found.kind, found.problems) == ("violated", ())


def test_two_cores_that_receive_into_one_tensor() -> None:
    """What another core sends is not known to be what this one has."""
    text = """
a = nl.ndarray((96, 32), dtype=nl.uint8, buffer=nl.sbuf)
nisa.memset(dst=a, value=0)
out = nl.ndarray((96, 32), dtype=nl.uint8, buffer=nl.shared_hbm)
other = 1 - nl.program_id(0)
nisa.sendrecv(src=a, dst=out, send_to_rank=other, recv_from_rank=other, pipe_id=0)
return out
"""
    drawn = Kernel("0.5", "trn3", tuple(text.strip().splitlines()), (), grid=(2,))
    found = judge(drawn)
    assert (found.kind, found.problems) == ("violated", ())


@pytest.mark.parametrize(("columns", "kind"), [(50_000, "clean"), (60_000, "violated")])
def test_a_result_that_becomes_a_tile_takes_no_room_of_its_own(columns: int, kind: str) -> None:
    """As float32 the result would be larger than a partition."""
    text = f"""
a = nl.ndarray((nl.par_dim(16), {columns}), dtype=nl.bfloat16, buffer=nl.sbuf)
a[...] = nl.load(x)
out = nl.ndarray((16, {columns}), dtype=nl.bfloat16, buffer=nl.shared_hbm)
nl.store(out, a)
{"" if kind == "clean" else "r = nl.load(x)"}
{"" if kind == "clean" else "nl.store(out, r)"}
return out
"""
    found = judge(_kernel("beta1", "trn1", text, {"x": ("float32", (16, columns))}))
    assert (found.kind, found.problems) == (kind, ())


def test_what_was_written_over_is_written_anew_before_it_is_read() -> None:
    """The loads lie over each other for many rows; the result takes the place of the first."""
    text = """
okk.initialize()
okk.gdma_32bit_cpy_S2L(0, x, okk.dim4(1, channels, rows, 8), None, None)
okk.gdma_32bit_cpy_S2L(128, x, okk.dim4(1, channels, rows, 8), None, None)
okk.bdc_reciprocal(0, 128, okk.dim4(1, channels, rows, 8), okk.dim4(32, 32, 8, 1), None)
okk.gdma_32bit_cpy_L2S(y, 0, okk.dim4(1, channels, rows, 8), None, None)
okk.poll()
"""
    sizes = Shaped("float32", (48,))
    inputs = (("channels", 3), ("rows", 2), ("x", sizes), ("y", sizes))
    drawn = Kernel(OKK, "bm1684", tuple(text.strip().splitlines()), inputs, symbolic=True)
    found = judge(drawn)
    # nothing reads the first load: that is the one fault
    assert (found.kind, found.problems) == ("violated", ())


def test_what_lies_in_the_next_lane_is_not_told_by_lanes() -> None:
    """Channel 62 was not written, but its lane was: by what reaches beyond the lanes before it."""
    text = """
okk.initialize()
okk.gdma_32bit_cpy_S2L(0, x, okk.dim4(1, 62, 4, 70000), None, None)
okk.bdc_neg(0, 0, okk.dim4(1, 63, 4, 70000), None, None)
okk.gdma_32bit_cpy_L2S(y, 0, okk.dim4(1, 62, 4, 70000), None, None)
okk.poll()
"""
    tensors: Tensors = dict.fromkeys("xy", ("float32", (62 * 4 * 70000,)))
    found = judge(_kernel(OKK, "bm1684", text, tensors))
    assert (found.kind, found.problems) == ("violated", ())


def test_a_kernel_that_names_packed_types_is_one_for_them() -> None:
    """Nothing computes with them on this target, but they may be moved."""
    text = """
assert x.dtype == nl.float8_e5m2_x4
rows, columns = x.shape
out = nl.ndarray((rows, columns), dtype=nl.float8_e5m2_x4, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=x)
return out
"""
    inputs = (("x", Shaped("float8_e5m2_x4", (16, 8))),)
    body = tuple(text.strip().splitlines())
    found = judge(Kernel("0.4", "trn2", body, inputs, symbolic=True))
    assert (found.kind, found.problems) == ("clean", ())


@pytest.mark.parametrize("number", ["3", "-0.5"])
def test_beta1_stores_numbers(number: str) -> None:
    text = f"""
out = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.shared_hbm)
nl.store(out, {number})
return out
"""
    found = judge(_kernel("beta1", "trn1", text, {}))
    assert (found.kind, found.problems, found.reasons) == ("clean", (), ())


def test_later_generations_store_tiles() -> None:
    text = """
out = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.shared_hbm)
nl.store(out, 3)
return out
"""
    found = judge(_kernel("0.4", "trn2", text, {}))
    assert (found.kind, found.problems) == ("violated", ())


def test_copies_by_registers_stay_on_chip() -> None:
    """Of a tensor of the caller's they would take more than they have room for."""
    text = """
a = nl.ndarray((5, 8), dtype=nl.float32, buffer=nl.sbuf)
nisa.tensor_copy_dynamic_src(dst=a, src=x)
out = nl.ndarray((5, 8), dtype=nl.float32, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=a)
return out
"""
    found = judge(_kernel("0.2", "trn2", text, {"x": ("float32", (5, 16))}))
    assert (found.kind, found.problems) == ("violated", ())


def test_where_lanes_run_into_each_other_nothing_is_said_of_what_was_written() -> None:
    """The rows of a channel lie apart: some of the bytes beyond the lane were not written."""
    text = """
okk.initialize()
okk.gdma_32bit_cpy_S2L(0, x, okk.dim4(4095, 3, 7, 31), okk.dim4(224, 224, 32, 1), None)
okk.bdc_neg(0, 0, okk.dim4(4095, 3, 7, 32), None, None)
okk.gdma_32bit_cpy_L2S(y, 0, okk.dim4(4095, 3, 7, 32), None, None)
okk.poll()
"""
    tensors: Tensors = {"x": ("float32", (2665845,)), "y": ("float32", (2751840,))}
    found = judge(_kernel(OKK, "bm1684", text, tensors))
    assert (found.kind, found.problems) == ("violated", ())


@pytest.mark.parametrize("wide", ["one", "other"])
def test_a_result_has_the_extent_of_the_operand_that_is_not_repeated(wide: str) -> None:
    """Which operand that is depends on an input."""
    text = f"""
one = pl.make_tensor([n, 8, 1, 16], pl.float16)
other = pl.make_tensor([3, 8, 1, 16], pl.float16)
few = pl.gtensor([n, 8, 1, 16], pl.GLOBAL, x)
pl.dma.load(one, few)
many = pl.gtensor([3, 8, 1, 16], pl.GLOBAL, y)
pl.dma.load(other, many)
made = pl.tiu.fadd({wide}, {"other" if wide == "one" else "one"})
out = pl.gtensor([3, 8, 1, 16], pl.GLOBAL, o)
pl.dma.store(out, made)
"""
    inputs = (
        ("n", 1),
        ("x", Shaped("float16", (1, 8, 1, 16))),
        ("y", Shaped("float16", (3, 8, 1, 16))),
        ("o", Shaped("float16", (3, 8, 1, 16))),
    )
    found = judge(Kernel(PPL, "sg2262", tuple(text.strip().splitlines()), inputs, symbolic=True))
    assert (found.kind, found.problems) == ("clean", ())


def test_a_result_of_operands_that_do_not_go_together_has_one_shape() -> None:
    """The check of all inputs and the run of one take the same extent for the result."""
    text = """
rows, columns = x.shape
a = nl.ndarray((rows, rows), dtype=nl.float32, buffer=nl.sbuf)
nisa.memset(dst=a, value=0.0)
b = nl.ndarray((1, 4), dtype=nl.float32, buffer=nl.sbuf)
assert columns == 4
nisa.dma_copy(dst=b, src=x)
c = nl.add(a, b)
out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=c)
return out
"""
    inputs = (("x", Shaped("float32", (1, 4))),)
    found = judge(Kernel("0.4", "trn2", tuple(text.strip().splitlines()), inputs, symbolic=True))
    assert (found.kind, found.problems) == ("violated", ())


def test_axes_that_are_none() -> None:
    text = """
a = nl.ndarray((32, 64), dtype=nl.bfloat16, buffer=nl.sbuf)
nisa.dma_copy(dst=a, src=x)
b = nl.ndarray((64, 32), dtype=nl.bfloat16, buffer=nl.sbuf)
nisa.dma_transpose(dst=b, src=a, axes=2)
out = nl.ndarray((64, 32), dtype=nl.bfloat16, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=b)
return out
"""
    found = judge(_kernel("0.3", "trn2", text, {"x": ("bfloat16", (32, 64))}))
    assert (found.kind, found.problems) == ("violated", ())


@pytest.mark.parametrize(
    ("body", "sizes", "tensors"),
    [
        pytest.param(
            """
okk.gdma_32bit_cpy_S2L(0, x, okk.dim4(n, 1, 1, n), okk.dim4(m, m, n, 1), None)
okk.gdma_32bit_matrix_L2S(y, 0, n, 1, 16, 100)
""",
            {"n": 1, "m": 1},
            {"x": ("float32", (1,)), "y": ("float32", (1,))},
            id="a matrix of fewer columns than its channel has room for",
        ),
        pytest.param(
            """
okk.gdma_32bit_cpy_S2L(0, x, okk.dim4(1, n, 5, 5), None, None)
okk.gdma_32bit_cpy_S2L(1024, z, okk.dim4(1, 3, 1, n), okk.dim4(n, n, n, 1), None)
okk.bdc_conv2d(2048, 0, 1024, 4096, okk.dim4(1, n, 5, 5), 3, 1, 1, None, okk.dim4(m, m, 1, 1),
    False, False, None, None, None)
okk.gdma_32bit_cpy_L2S(y, 2048, okk.dim4(1, 3, 5, 5), None, None)
""",
            {"n": 3, "m": 2},
            {"x": ("float32", (75,)), "z": ("float32", (9,)), "y": ("float32", (75,))},
            id="weights of an odd number of channels",
        ),
    ],
)
def test_what_is_read_ends_where_the_instruction_ends(
    body: str, sizes: dict[str, int], tensors: Tensors
) -> None:
    inputs = tuple(sizes.items()) + tuple((k, Shaped(*tensor)) for k, tensor in tensors.items())
    text = ("okk.initialize()", *body.replace(",\n    ", ", ").strip().splitlines(), "okk.poll()")
    found = judge(Kernel(OKK, "bm1684", text, inputs, symbolic=True))
    assert found.problems == ()


def test_which_rows_go_into_a_result_of_another_size_is_not_told() -> None:
    """The row that was not written may be one that the result has no room for."""
    text = """
a = nl.ndarray((65, 6), dtype=nl.float32, buffer=nl.sbuf)
nisa.dma_copy(dst=a[0:64, 0:6], src=x)
b = nl.ndarray((65, 1), dtype=nl.float32, buffer=nl.sbuf)
nisa.memset(dst=b, value=0.0)
out = nl.ndarray((64, 6), dtype=nl.float32, buffer=nl.hbm)
nisa.range_select(
    dst=out, on_true_tile=a, comp_op0=nl.greater, comp_op1=nl.less, bound0=b, bound1=b)
return out
"""
    found = judge(_kernel("0.6", "trn2", text.replace("(\n    ", "("), {"x": ("float32", (64, 6))}))
    assert (found.kind, found.problems) == ("violated", ())


def test_an_input_of_another_rank_than_was_taken_for_granted() -> None:
    text = """
a = nl.load_transpose2d(src=x)
out = nl.ndarray((48, 32), dtype=nl.float16, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=a)
return out
"""
    inputs = (("x", Shaped("float16", (32, 48, 2))),)
    found = judge(Kernel("0.4", "trn2", tuple(text.strip().splitlines()), inputs, symbolic=True))
    assert (found.kind, found.problems) == ("violated", ())


def test_a_row_that_the_source_does_not_have_is_not_one_that_nobody_wrote() -> None:
    text = """
rows, columns = x.shape
a = nl.ndarray((rows, 7), dtype=nl.float32, buffer=nl.sbuf)
nisa.dma_copy(dst=a[0:5, 0:3], src=x)
nisa.dma_copy(dst=a[0:5, 3:7], src=z)
b = nl.ndarray((5, 12), dtype=nl.float32, buffer=nl.sbuf)
nisa.memset(dst=b, value=0.0)
nisa.nc_stream_shuffle(dst=b, src=a, shuffle_mask=[28, 0, 29, 0, 6] + [3] * 27)
out = nl.ndarray((rows, 12), dtype=nl.float32, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=b)
return out
"""
    inputs = (("x", Shaped("float32", (5, 3))), ("z", Shaped("float32", (5, 4))))
    found = judge(Kernel("0.4", "trn2", tuple(text.strip().splitlines()), inputs, symbolic=True))
    assert (found.kind, found.problems) == ("violated", ())


def test_shapes_do_not_say_which_element_an_input_names() -> None:
    text = """
a = nl.ndarray((32, 5), dtype=nl.float32, buffer=nl.sbuf)
nisa.dma_copy(dst=a, src=x)
b = nl.ndarray((32, 8), dtype=nl.uint32, buffer=nl.sbuf)
nisa.dma_copy(dst=b, src=z)
c = nl.ndarray((32, 8), dtype=nl.float32, buffer=nl.sbuf)
c[...] = nl.gather_flattened(a, b)
out = nl.ndarray((32, 8), dtype=nl.float32, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=c)
return out
"""
    tensors: Tensors = {"x": ("float32", (32, 5)), "z": ("uint32", (32, 8))}
    found = judge(_kernel("0.3", "trn2", text, tensors))
    assert found.problems == ()
    assert "run: shapes do not say what memory holds" in found.reasons


def test_shapes_do_not_say_which_elements_a_predicate_picks() -> None:
    text = """
a = nl.ndarray((64, 8), dtype=nl.uint8, buffer=nl.sbuf)
b = nl.ndarray((64, 8), dtype=nl.uint8, buffer=nl.sbuf)
nisa.dma_copy(dst=b, src=x)
nisa.tensor_copy_predicated(dst=a, src=3, predicate=b)
out = nl.ndarray((64, 8), dtype=nl.uint8, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=a)
return out
"""
    found = judge(_kernel("0.4", "trn2", text, {"x": ("uint8", (64, 8))}))
    assert found.problems == ()


def test_a_section_without_work_that_never_ends() -> None:
    found = judge(_kernel(OKK, "bm1684", "okk.initialize()\nokk.parallel_start()\nokk.poll()", {}))
    assert (found.kind, found.problems) == ("violated", ())


def test_which_part_of_a_larger_operand_is_taken_is_not_told() -> None:
    text = """
g = pl.gtensor([1, 2, 1, 100], pl.GLOBAL, y)
b = pl.make_tensor([1, 2, 1, 100], pl.int32)
h = pl.gtensor([1, 2, 1, 100], pl.GLOBAL, z)
pl.dma.load(b, h)
a = pl.make_tensor([1, 2, 2, 100], pl.int32)
f = pl.gtensor([1, 1, 2, 100], pl.GLOBAL, x)
pl.dma.load(a.sub_view([1, 1, 2, 100], [0, 0, 0, 0]), f)
pl.tiu.bitwise_xor(g, b, a)
"""
    tensors: Tensors = {"x": ("int32", (1, 1, 2, 100)), "z": ("int32", (1, 2, 1, 100))}
    tensors["y"] = ("int32", (1, 2, 1, 100))
    found = judge(_kernel(PPL, "bm1684x", text, tensors))
    assert (found.kind, found.problems) == ("violated", ())


def test_what_may_have_been_written_anew_before() -> None:
    text = """
okk.initialize()
okk.gdma_32bit_cpy_S2L(0, x, okk.dim4(1, n, m, 100), okk.dim4(448, 448, 100, 1), None)
okk.bdc_relu(0, 0, okk.dim4(1, n, 4, 100), okk.dim4(448, 448, 100, 1), okk.dim4(448, 448, 100, 1))
okk.gdma_32bit_cpy_S2L(3840, z, okk.dim4(1, 1, 1, 40), None, None)
okk.gdma_32bit_cpy_L2S(y, 0, okk.dim4(1, n, m, 100), None, okk.dim4(448, 448, 100, 1))
okk.poll()
"""
    sizes = (("n", 129), ("m", 1))
    buffers = (("x", 12900), ("z", 40), ("y", 12900))
    inputs = sizes + tuple((name, Shaped("float32", (size,))) for name, size in buffers)
    found = judge(Kernel(OKK, "bm1684", tuple(text.strip().splitlines()), inputs, symbolic=True))
    assert found.problems == ()


def test_what_every_round_makes_of_the_one_before_comes_to_nothing() -> None:
    text = """
a = pl.make_tensor([1, 3, 2, 64], pl.int32)
g = pl.gtensor([1, 3, 2, 64], pl.GLOBAL, x)
pl.dma.load(a, g)
b = pl.make_tensor([1, 3, 2, 64], pl.int32)
pl.dma.load(b, g)
h = pl.gtensor([1, 3, 2, 64], pl.GLOBAL, y)
pl.dma.store(h, b)
for k in range(2): pl.tiu.minimum(a, a, b)
"""
    tensors: Tensors = {"x": ("int32", (1, 3, 2, 64)), "y": ("int32", (1, 3, 2, 64))}
    found = judge(_kernel(PPL, "bm1684x", text, tensors))
    assert (found.kind, found.problems) == ("violated", ())


@pytest.mark.parametrize("bound", [2, 3])
def test_a_mask_whose_axes_are_those_of_the_tile_for_the_sizes_that_work(bound: int) -> None:
    text = f"""
a = nl.ndarray((nl.par_dim(3), 8), dtype=nl.float32, buffer=nl.sbuf)
rows, columns = x.shape
b = nl.ndarray((nl.par_dim(3), 8), dtype=nl.float32, buffer=nl.sbuf)
b[...] = nl.load(x)
i, j = nl.arange(rows)[:, None], nl.arange(columns)[None, :]
a[...] = 1
c = nl.ndarray((nl.par_dim(3), 8), dtype=nl.float32, buffer=nl.sbuf)
c[0:3, 0:8] = nl.add(a, b[i, j], mask=(i < {bound}))
out = nl.ndarray((3, 8), dtype=nl.float32, buffer=nl.shared_hbm)
nl.store(out, c)
return out
"""
    inputs = (("x", Shaped("float32", (3, 8))),)
    body = tuple(text.strip().splitlines())
    found = judge(Kernel("beta1", "trn2", body, inputs, symbolic=True))
    assert (found.kind, found.problems) == ("clean" if bound == 3 else "violated", ())


def test_a_window_that_is_worked_on_in_place() -> None:
    """The row that is stored is made of padding alone."""
    text = """
a = pl.make_tensor([2, 5, 2, 3], pl.bfloat16, align_mode=pl.TPU_ALIGN)
b = pl.make_tensor([1, 5, 1, 3], pl.bfloat16, align_mode=pl.TPU_COMPACT)
g = pl.gtensor([1, 5, 1, 3], pl.GLOBAL, x)
pl.dma.load(b, g)
pl.tiu.fdw_conv(a, a, b, 3, [1, 3], [2, 1], [2, 1], [1, 1, 1, 1], 1)
h = pl.gtensor([2, 5, 1, 3], pl.GLOBAL, y)
pl.dma.store(h, a.sub_view([2, 5, 1, 3], [0, 0, 0, 0]))
"""
    tensors: Tensors = {"x": ("bfloat16", (1, 5, 1, 3)), "y": ("bfloat16", (2, 5, 1, 3))}
    found = judge(_kernel(PPL, "sg2260e", text, tensors))
    assert found.problems == ()


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_each_of_two_undefined_operands_of_one_result_is_told(rows: int) -> None:
    """One is not loaded for one row, the other one for less than three."""
    text = """
okk.initialize()
if rows > 1: okk.gdma_32bit_cpy_S2L(0, x, okk.dim4(1, 66, rows, 24), None, None)
if rows > 2: okk.gdma_32bit_cpy_S2L(4096, z, okk.dim4(1, 66, rows, 24), None, None)
okk.bdc_relu(8192, 0, okk.dim4(1, 66, rows, 24), None, None)
okk.bdc_mac_C(8192, 4096, 0.5, okk.dim4(1, 66, rows, 24), None, None)
okk.gdma_32bit_cpy_L2S(y, 8192, okk.dim4(1, 66, rows, 24), None, None)
okk.poll()
"""
    tensors = ((name, Shaped("float32", (66 * rows * 24,))) for name in "xzy")
    inputs: tuple[tuple[str, Shaped | int], ...] = (("rows", rows), *tensors)
    for symbolic in (False, True):
        body = tuple(text.strip().splitlines())
        found = judge(Kernel(OKK, "bm1684", body, inputs, symbolic=symbolic))
        assert (found.kind, found.problems) == ("violated" if rows < 3 else "clean", ())


@pytest.mark.parametrize("rounds", [2, 3])
def test_a_first_round_that_is_for_nothing_shows_where_there_are_more_of_the_others(
    rounds: int,
) -> None:
    text = f"""
okk.initialize()
shape = okk.dim4(1, 48, 1, 5)
okk.bdc_32bit_set_C(0, okk.x32.fp32(0.0), shape, None)
for k in range(count):
    okk.gdma_32bit_cpy_S2L(2048, x + k * {48 * 5 * 4}, shape, None, None)
    if k > 0: okk.bdc_add(0, 0, 2048, shape, None, None, None)
okk.gdma_32bit_cpy_L2S(y, 0, shape, None, None)
okk.poll()
"""
    tensors = (("x", Shaped("float32", (rounds, 48, 5))), ("y", Shaped("float32", (48, 5))))
    body, inputs = tuple(text.strip().splitlines()), (*tensors, ("count", rounds))
    found = judge(Kernel(OKK, "bm1684", body, inputs, symbolic=True))
    assert found.problems == ()
    assert (found.kind == "violated") is (rounds == 3)


@pytest.mark.parametrize("pipe", ["0.5", "0"])
def test_an_exchange_on_a_pipe_that_is_no_whole_number(pipe: str) -> None:
    """Both send to the first core; by which pipe each waits is no matter where that is known."""
    text = f"""
a = nl.ndarray((24, 33), dtype=nl.float16, buffer=nl.sbuf)
nisa.dma_copy(dst=a, src=x)
b = nl.ndarray((24, 33), dtype=nl.float16, buffer=nl.sbuf)
nisa.sendrecv(a, b, 0, recv_from_rank=1 - nl.program_id(0), pipe_id={pipe})
"""
    body = tuple(text.strip().splitlines())
    inputs = (("x", Shaped("float16", (24, 33))),)
    found = judge(Kernel("0.5", "trn3", body, inputs, grid=(2,)))
    assert (found.kind, found.problems) == ("violated", ())


@pytest.mark.parametrize(("asked", "kind"), [("", "undecided"), ("nl.program_id(0)", "violated")])
def test_two_writes_of_cores_that_conflict_are_told_at_either(asked: str, kind: str) -> None:
    """Where all cores do the same, the second one may be all that is left."""
    text = f"""
out = nl.ndarray((24, 33), dtype=nl.float16, buffer=nl.shared_hbm)
own = nl.ndarray((2, 24, 33), dtype=nl.float16, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=x)
nisa.dma_copy(dst=out, src=z)
nisa.dma_copy(dst=own[{asked or "0"}], src=x)
nisa.dma_copy(dst=own[1], src=x)
return out, own
"""
    body = tuple(text.strip().splitlines())
    inputs = (("x", Shaped("float16", (24, 33))), ("z", Shaped("float16", (24, 33))))
    found = judge(Kernel("0.6", "trn3", body, inputs, grid=(2,)))
    assert (found.kind, found.problems) == (kind, ())
