"""Whole kernels of NKI."""

from __future__ import annotations

from tests.differential.whole import Whole, hole
from verifier.dialects.names import NKI

_NEW = ("0.2", "0.3", "0.4", "0.5", "0.6")
_TRN = ("trn1", "trn2", "trn2", "trn3")
_LOOPS = hole("range", "nl.affine_range", "nl.sequential_range", "nl.static_range")

_STRIPS = Whole(
    "strips",
    NKI,
    _NEW,
    _TRN,
    """
rows, columns = x.shape
assert rows <= 128
assert x.dtype == nl.float32
def scaled(dst, src, factor):
    nisa.tensor_scalar(dst=dst, data=src, op0=nl.multiply, operand0=factor)
def loaded(src, height, width):
    tile = nl.ndarray((height, width), dtype=nl.float32, buffer=nl.sbuf)
    {load}
    return tile
out = nl.ndarray((rows, columns), dtype=nl.{dtype}, buffer=nl.shared_hbm)
for k in {loop}({trips}):
    begin = k * 48
    end = {end}
    a = loaded(x[:, begin:end], rows, end - begin)
    b = nl.ndarray((rows, end - begin), dtype=nl.{dtype}, buffer=nl.sbuf)
    {work}
    nisa.dma_copy(dst=out[:, {place}], src=b)
return out
""",
    {
        "loop": _LOOPS,
        "dtype": hole("float32", "bfloat16", "float16"),
        "load": hole(
            "nisa.dma_copy(dst=tile, src=src)",
            wrong=("pass", "nisa.dma_copy(dst=tile[:, 0:width - 1], src=src[:, 0:width - 1])"),
        ),
        "trips": hole("(columns + 47) // 48", wrong=("columns // 48", "(columns + 48) // 48")),
        "end": hole("min(begin + 48, columns)", wrong=("begin + 48", "columns")),
        "work": hole(
            "scaled(b, a, 2.0)",
            "scaled(src=a, dst=b, factor=0.5)",
            wrong=("scaled(a, b, 2.0)", "scaled(b, b, 2.0)", "pass"),
        ),
        "place": hole("begin:end", wrong=("0:end - begin", "begin:begin + 48")),
    },
    {"rows": (5, 96, 128, 130), "columns": (1, 47, 48, 49, 96, 120)},
    {"x": ("float32", "rows, columns")},
)

_SWAPPED = Whole(
    "swapped",
    NKI,
    _NEW,
    _TRN,
    """
rows, columns = x.shape
one = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.sbuf)
two = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.sbuf)
assert rows == 96 and columns == 40
{begin}
for k in range(steps):
    nisa.tensor_tensor(dst={to}, data1={of}, data2=one, op=nl.add)
    {swap}
out = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src={result})
return out
""",
    {
        "begin": hole(
            "nisa.dma_copy(dst=one, src=x)",
            wrong=(
                "nisa.dma_copy(dst=two, src=x)",
                "nisa.dma_copy(dst=one[0:64, :], src=x[0:64, :])",
            ),
        ),
        "to": hole("two", wrong=("one",)),
        "of": hole("one", wrong=("two",)),
        "swap": hole("one, two = two, one", wrong=("pass", "one = two", "two = one")),
        "result": hole("one", wrong=("two",)),
    },
    {"steps": (1, 2, 3, 4)},
    {"x": ("float32", "96, 40")},
    ("steps",),
)

_PRODUCTS = Whole(
    "products",
    NKI,
    ("0.4", "0.5", "0.6"),
    _TRN,
    """
depth, high = a.shape
same, wide = b.shape
assert depth == same and high <= 128 and wide <= 512
assert a.dtype == nl.bfloat16 and b.dtype == nl.bfloat16
total = nl.ndarray((high, wide), dtype=nl.float32, buffer=nl.psum)
{clear}
for k in range({trips}):
    left = nl.ndarray((64, high), dtype=nl.bfloat16, buffer=nl.sbuf)
    right = nl.ndarray((64, wide), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst={left}, src=a[{rows}, :])
    nisa.dma_copy(dst=right, src=b[{others}, :])
    nisa.nc_matmul(dst=total, stationary=left, moving=right{adds})
    {within}
flat = nl.ndarray((high, wide), dtype=nl.float32, buffer=nl.sbuf)
nisa.tensor_copy(dst=flat, src=total)
out = nl.ndarray((high, wide), dtype=nl.float32, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=flat)
return out
""",
    {
        "clear": hole("pass", wrong=("nisa.memset(dst=total, value=0)",)),
        "trips": hole("depth // 64", wrong=("depth // 64 - 1", "(depth + 63) // 64")),
        "left": hole("left", wrong=("left[0:32, :]",)),
        "rows": hole("k * 64:(k + 1) * 64", wrong=("0:64", "k * 64:k * 64 + 63")),
        "others": hole("k * 64:(k + 1) * 64", wrong=("64:128",)),
        "adds": hole("", ", accumulate=k > 0", wrong=(", accumulate=True", ", accumulate=False")),
        "within": hole("pass", wrong=("nisa.memset(dst=total, value=0)",)),
    },
    {"depth": (64, 128, 192, 100), "high": (3, 96), "wide": (5, 512)},
    {"a": ("bfloat16", "depth, high"), "b": ("bfloat16", "depth, wide")},
)

_STEPS = Whole(
    "steps",
    NKI,
    _NEW,
    _TRN,
    """
rows, columns = x.shape
assert rows <= 128
assert x.dtype == nl.float32
a = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
nisa.dma_copy(dst=a[:, {even}], src=x[:, {even}])
nisa.dma_copy(dst=a[:, {odd}], src=x[:, {odd}])
b = nl.ndarray((rows, columns), dtype=nl.{dtype}, buffer=nl.sbuf)
{cast}
nisa.tensor_tensor(dst=b, data1=b, data2=a, op=nl.add)
out = nl.ndarray((rows, columns), dtype=nl.{dtype}, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out[:, {first}], src=b[:, {first}])
nisa.dma_copy(dst=out[:, {rest}], src=b[:, {rest}])
return out
""",
    {
        "even": hole("0:columns:2", wrong=("2:columns:2", "0:columns:3", "0:columns - 1:2")),
        "odd": hole("1:columns:2", wrong=("1:columns:3", "0:columns:2")),
        "dtype": hole("float32", "bfloat16", "int32"),
        "cast": hole(
            "nisa.tensor_copy(dst=b, src=a)",
            "nisa.memset(dst=b, value=1)",
            wrong=("pass", "nisa.tensor_copy(dst=b[:, {even}], src=a[:, {even}])"),
        ),
        "first": hole("0:columns // 2", "0:2", wrong=("0:1",)),
        "rest": hole("columns // 2:columns", "2:columns", wrong=("columns // 2 + 1:columns",)),
    },
    {"rows": (5, 64, 128), "columns": (2, 3, 4, 7, 12)},
    {"x": ("float32", "rows, columns")},
)

_HALVES = Whole(
    "halves",
    NKI,
    _NEW,
    ("trn2", "trn3"),
    """
rows, columns = x.shape
assert rows <= 128
core = nl.program_id(0)
share = {share}
begin = {begin}
end = {end}
out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
a = nl.ndarray((rows, end - begin), dtype=x.dtype, buffer=nl.sbuf)
nisa.dma_copy(dst=a, src=x[:, begin:end])
nisa.dma_copy(dst=out[:, begin:end], src=a)
{wait}
return out
""",
    {
        "share": hole("(columns + 1) // 2", wrong=("columns // 2",)),
        "begin": hole("core * share", wrong=("0", "core")),
        "end": hole("min(begin + share, columns)", wrong=("begin + share", "columns")),
        "wait": hole("pass", "nisa.core_barrier(data=out, cores=(0, 1))"),
    },
    {"rows": (5, 128), "columns": (2, 3, 8, 11)},
    {"x": ("float32", "rows, columns")},
    grids=((2,),),
)

_MASKED = Whole(
    "masked",
    NKI,
    ("beta1",),
    _TRN,
    """
rows, columns = x.shape
assert rows <= 96
i, j = nl.arange(96)[:, None], nl.arange(32)[None, :]
out = nl.ndarray((rows, {wide}), dtype=nl.float32, buffer=nl.shared_hbm)
total = {total}((nl.par_dim(96), 32), dtype=nl.float32, buffer=nl.sbuf)
for k in {loop}({trips}):
    a = nl.load(x[i, k * 32 + j], mask={mask})
    {work}
{store}
return out
""",
    {
        "wide": hole("columns"),
        "total": hole("nl.zeros", "nl.ndarray"),
        "loop": hole("nl.affine_range", "nl.sequential_range"),
        "trips": hole("(columns + 31) // 32", wrong=("columns // 32",)),
        "mask": hole(
            "(i < rows) & (k * 32 + j < columns)",
            wrong=("(i < rows)", "(k * 32 + j < columns)", "(i < rows) & (j < columns)"),
        ),
        "work": hole(
            "nl.store(out[i, k * 32 + j], a, mask={mask})",
            "b = nl.multiply(a, 2.0, mask={mask}) ;; nl.store(out[i, k * 32 + j], b, mask={mask})",
            wrong=(
                "nl.store(out[i, j], a, mask={mask})",
                "total[...] = nl.add(total, a) ;; nl.store(out[i, k * 32 + j], total, mask={mask})",
                "nl.store(out[i, k * 32 + j], a)",
            ),
        ),
        "store": hole("pass"),
    },
    {"rows": (5, 95, 96), "columns": (1, 31, 32, 33, 64, 70)},
    {"x": ("float32", "rows, columns")},
)

NKI_KERNELS: tuple[Whole, ...] = (
    _STRIPS,
    _SWAPPED,
    _PRODUCTS,
    _STEPS,
    _HALVES,
    _MASKED,
)

__all__ = ["NKI_KERNELS"]
