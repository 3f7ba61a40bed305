"""A violation hides no other one: what is wrong in two ways is told twice, by check and by run."""

from __future__ import annotations

import pytest

from tests.differential.judging import judge
from tests.differential.kernels import Kernel
from verifier.dialects.names import OKK, PPL
from verifier.executor.running import Shaped

#: a row is carried on from what was never written, and the mask leaves the others as they were
_CARRIED_AND_LEFT = """
a = nl.ndarray((nl.par_dim(96), 5), dtype=nl.float32, buffer=nl.sbuf)
a[...] = 2
b = nl.ndarray((nl.par_dim(96), 1), dtype=nl.float32, buffer=nl.sbuf)
i, j = nl.arange(96)[:, None], nl.arange(5)[None, :]
c = nisa.activation_reduce(
    op=nl.sin, reduce_op=nl.add, data=a[i, j], reduce_res=b, scale=b, mask=(i < 1))
out = nl.ndarray((96, 1), dtype=nl.float32, buffer=nl.shared_hbm)
nl.store(out, b)
other = nl.ndarray(c.shape, dtype=nl.float32, buffer=nl.shared_hbm)
nl.store(other, c)
return out, other
"""
#: it is stored from HBM, and not to all rows
_REFUSED_AND_PARTLY = """
out = nl.ndarray((32, 5), dtype=nl.float16, buffer=nl.shared_hbm)
i, j = nl.arange(32)[:, None], nl.arange(5)[None, :]
nl.store(dst=out[i, j], value=x[i, j], mask=(i < 1) & (j < 2))
return out
"""
#: the shapes do not fit, and the source is overwritten while it is read
_TURNED_IN_PLACE = """
a = nl.ndarray((128, 8), dtype=nl.bfloat16, buffer=nl.sbuf)
nisa.dma_copy(dst=a, src=x)
nisa.dma_transpose(axes=(1, 0), dst=a, src=a)
out = nl.ndarray((128, 8), dtype=nl.bfloat16, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=a)
return out
"""
#: the destination leaves its tensor, and one of the operands was never written
_BEYOND_AND_UNDEFINED = """
a = pl.make_tensor([3, 1, 33, 2], pl.uint32, align_mode=pl.TPU_ALIGN)
v = a.sub_view([2, 33, 1, 3], [1, 0, 19, 0])
b = pl.make_tensor([2, 32, 1, 8], pl.uint32, align_mode=pl.TPU_ALIGN)
pl.dma.load(b, pl.gtensor([2, 32, 1, 8], pl.GLOBAL, x))
c = pl.make_tensor([256, 33, 1, 3], pl.uint32, align_mode=pl.TPU_ALIGN)
pl.tiu.mm(v, b, c, result_add=False, lshift=2, bias=3)
pl.dma.store(pl.gtensor([2, 33, 1, 3], pl.GLOBAL, y), v)
"""
#: of two tiles that are added nothing wrote either
_TWO_OPERANDS = """
a = pl.make_tensor([2, 3, 5, 7], pl.float32)
b = pl.make_tensor([2, 3, 5, 7], pl.float32)
c = pl.make_tensor([2, 3, 5, 7], pl.float32)
pl.dma.load(b.sub_view([2, 3, 5, 2], [0, 0, 0, 0]), pl.gtensor([2, 3, 5, 2], pl.GLOBAL, x))
d = pl.make_tensor([2, 3, 5, 7], pl.float32)
pl.tiu.fsub(c, a, 1.0)
pl.tiu.fadd(d, b, c)
pl.dma.store(pl.gtensor([2, 3, 5, 7], pl.GLOBAL, y), d)
"""


@pytest.mark.parametrize(
    ("api", "target", "text", "tensors"),
    [
        ("beta1", "trn3", _CARRIED_AND_LEFT, {}),
        ("beta1", "trn2", _REFUSED_AND_PARTLY, {"x": ("float16", (32, 5))}),
        ("0.4", "trn2", _TURNED_IN_PLACE, {"x": ("bfloat16", (128, 8))}),
        (
            PPL,
            "sg2262",
            _BEYOND_AND_UNDEFINED,
            {"x": ("uint32", (2, 32, 1, 8)), "y": ("uint32", (2, 33, 1, 3))},
        ),
        (
            PPL,
            "bm1684x",
            _TWO_OPERANDS,
            {"x": ("float32", (2, 3, 5, 2)), "y": ("float32", (2, 3, 5, 7))},
        ),
    ],
)
def test_both_are_told(
    api: str, target: str, text: str, tensors: dict[str, tuple[str, tuple[int, ...]]]
) -> None:
    inputs = tuple((name, Shaped(dtype, shape)) for name, (dtype, shape) in tensors.items())
    found = judge(Kernel(api, target, tuple(text.strip().splitlines()), inputs))
    assert (found.kind, found.problems) == ("violated", ())


def test_a_result_that_is_too_large_is_told_each_time() -> None:
    """Replays run the same calls: that the first one broke a rule is found at its end only."""
    text = """
a = nl.ndarray((4, 60000, 1), dtype=nl.bfloat16, buffer=nl.sbuf)
assert x.shape == (4, 60000, 1)
nisa.dma_copy(dst=a, src=x)
b = nl.ndarray((4, 60000), dtype=nl.bfloat16, buffer=nl.sbuf)
nisa.memset(dst=b, value=0)
c = nl.subtract(dtype=nl.bfloat16, x=a, y=b)
out = nl.ndarray((4, 60000, 60000), dtype=nl.bfloat16, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=c)
return out
"""
    inputs = (("x", Shaped("bfloat16", (4, 60000, 1))),)
    body = tuple(text.strip().splitlines())
    found = judge(Kernel("0.3", "trn3", body, inputs, symbolic=True))
    assert (found.kind, found.problems) == ("violated", ())


def test_what_has_no_elements_is_no_result_that_is_lost() -> None:
    text = """
okk.initialize()
okk.gdma_32bit_cpy_S2L(0, x, okk.dim4(1, n, m, -1), None, None)
okk.gdma_32bit_cpy_S2L(512, x, okk.dim4(1, n, m, -1), None, None)
okk.bdc_relu(0, 512, okk.dim4(1, n, m, -1), None, None)
okk.gdma_32bit_cpy_L2S(y, 0, okk.dim4(1, n, m, -1), None, None)
okk.poll()
"""
    buffer = Shaped("float32", (217,))
    inputs = (("n", 31), ("m", 7), ("x", buffer), ("y", buffer))
    found = judge(Kernel(OKK, "bm1684", tuple(text.strip().splitlines()), inputs, symbolic=True))
    assert (found.kind, found.problems) == ("violated", ())


def test_what_lies_behind_the_end_of_a_row_is_none_of_the_next_one() -> None:
    """The second program's columns leave the tensor; they are not those of the first one."""
    text = """
core = nl.program_id(0)
begin, end = core * 2, core * 2 + 2
out = nl.ndarray((64, 3), dtype=nl.float32, buffer=nl.shared_hbm)
a = nl.ndarray((64, 2), dtype=nl.float32, buffer=nl.sbuf)
nisa.dma_copy(dst=a, src=x[:, begin:end])
nisa.dma_copy(dst=out[:, begin:end], src=a)
return out
"""
    inputs = (("x", Shaped("float32", (64, 3))),)
    found = judge(Kernel("0.5", "trn3", tuple(text.strip().splitlines()), inputs, (2,)))
    assert (found.kind, found.problems) == ("violated", ())


def test_an_output_is_not_said_to_lack_what_is_rejected() -> None:
    """With two columns a slice is empty; with three the middle one is not written."""
    text = """
rows, columns = x.shape
assert rows <= 128
assert x.dtype == nl.float32
a = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
nisa.dma_copy(dst=a[:, 0:columns:3], src=x[:, 0:columns:3])
nisa.dma_copy(dst=a[:, 1:columns:2], src=x[:, 1:columns:2])
out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out[:, 0:1], src=a[:, 0:1])
nisa.dma_copy(dst=out[:, 2:columns], src=a[:, 2:columns])
return out
"""
    inputs = (("x", Shaped("float32", (64, 12))),)
    body = tuple(text.strip().splitlines())
    found = judge(Kernel("0.6", "trn2", body, inputs, symbolic=True))
    assert (found.kind, found.problems) == ("violated", ())


@pytest.mark.parametrize("share", ["pl.cdiv(rows, pl.get_core_num())", "3"])
def test_cores_store_to_buffers_of_any_size(share: str) -> None:
    text = f"""
x_all = pl.gtensor([1, rows, 1, 90], pl.GLOBAL, x)
y_all = pl.gtensor([1, rows, 1, 90], pl.GLOBAL, y)
share = {share}
first = pl.get_core_index() * share
part, place = [1, min(share, rows - first), 1, 90], [0, first, 0, 0]
a = pl.make_tensor([1, 64, 1, 90], pl.float16, part)
pl.dma.load(a, x_all.sub_view(part, place))
pl.dma.store(y_all.sub_view(part, place), a)
"""
    buffer = Shaped("float16", (7, 90))
    inputs = (("x", buffer), ("y", buffer), ("rows", 7))
    body = tuple(text.strip().splitlines())
    found = judge(Kernel(PPL, "bm1688", body, inputs, (1, 2), symbolic=True))
    assert (found.kind, found.problems) == ("violated" if share == "3" else "clean", ())
