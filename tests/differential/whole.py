"""Whole kernels: loops over blocks, rests, rings of buffers, sums, shares of cores, helpers.

Each is a text with holes. What fits into a hole is right, or wrong in a way that kernels are: of
most kernels one hole is filled wrongly. What is wrong need not matter for the sizes that are drawn.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import Formatter

from tests.differential.kernels import Kernel
from verifier.dialects.names import NKI, OKK, PPL
from verifier.executor.running import Shaped

#: how often a kernel is one for any sizes, too: that takes much longer
_ANY = 0.35
#: how many holes are filled wrongly
_WRONG = (0, 0, 1, 1, 1, 1, 2)


@dataclass(frozen=True, slots=True)
class Hole:
    """What is written in one place: ``right``, or ``wrong``."""

    right: tuple[str, ...]
    wrong: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Whole:
    """A kernel: its text, what fits into its holes, the sizes it is run with, and its tensors.

    ``sizes``: by the names that tensors have their extents by; those in ``given`` are parameters.
    ``grids``: what it may be launched on.
    """

    name: str
    dialect: str
    apis: tuple[str, ...]
    targets: tuple[str, ...]
    text: str
    holes: Mapping[str, Hole]
    sizes: Mapping[str, tuple[int, ...]]
    tensors: Mapping[str, tuple[str, str]]
    given: tuple[str, ...] = ()
    grids: tuple[tuple[int, ...], ...] = field(default=((),))


def drawn(whole: Whole, rng: random.Random) -> Kernel:
    """A kernel of these."""
    wrong = set(rng.sample(sorted(whole.holes), min(rng.choice(_WRONG), len(whole.holes))))
    filled = {}
    for name, hole in whole.holes.items():
        choices = hole.wrong if name in wrong and hole.wrong else hole.right
        filled[name] = rng.choice(choices)
    sizes = {name: rng.choice(choices) for name, choices in whole.sizes.items()}
    inputs: dict[str, Shaped | int] = {}
    for name, (dtype, shape) in whole.tensors.items():
        extents = eval(f"({shape},)", {"__builtins__": {}}, sizes)
        inputs[name] = Shaped(dtype.format(**filled), tuple(extents))
    inputs |= {name: sizes[name] for name in whole.given}
    return Kernel(
        rng.choice(whole.apis),
        rng.choice(whole.targets),
        tuple(_lines(whole.text, filled)),
        tuple(inputs.items()),
        rng.choice(whole.grids),
        (whole.name,),
        symbolic=rng.random() < _ANY,
    )


def _lines(text: str, filled: Mapping[str, str]) -> Sequence[str]:
    """The text with its holes filled; what is several statements stands at one depth."""
    out: list[str] = []
    for line in text.strip().splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        while any(name for _, name, _, _ in Formatter().parse(line)):
            line = line.format(**filled)
        out += [indent + part for part in line.strip().split(" ;; ")]
    return out


def hole(*right: str, wrong: Sequence[str] = ()) -> Hole:
    return Hole(right, tuple(wrong))


# ----------------------------------------------------------------------------------------- OKK

_OKK = (OKK, (OKK,), ("bm1684",))

_RING = Whole(
    "ring",
    *_OKK,
    """
okk.initialize()
size = 20 * wide * 4
shape = okk.dim4(1, 20, 1, wide)
for k in range(count + {extra}):
    if k < count:
        okk.gdma_32bit_cpy_S2L({slot}, x + k * size, shape, None, None)
    if {when}:
        okk.gdma_32bit_cpy_L2S(y + {done} * size, {done} % {ring} * {pitch}, shape, None, None)
    if k < count:
        {work}
okk.poll()
""",
    {
        "extra": hole("1", wrong=("0", "2")),
        "ring": hole("2", "3", wrong=("1",)),
        "pitch": hole("4096", "1024", wrong=("512", "256")),
        "slot": hole("k % {ring} * {pitch}", wrong=("0", "(k + 1) % {ring} * {pitch}")),
        "when": hole("k > 0", "1 <= k", wrong=("k > 1", "k >= 0")),
        "done": hole("(k - 1)", wrong=("k", "(k - 2)")),
        "work": hole(
            "okk.bdc_relu({slot}, {slot}, shape, None, None)",
            "okk.bdc_mul_C({slot}, {slot}, 0.5, shape, None, None)",
            wrong=(
                "pass",
                "okk.bdc_relu({slot}, {slot}, okk.dim4(1, 20, 1, wide - 1), None, None)",
                "okk.bdc_mac_C({slot}, {slot}, 2.0, shape, None, None)",
            ),
        ),
    },
    {"count": (1, 2, 3, 4, 7), "wide": (30, 90, 200, 250)},
    {"x": ("float32", "count, 20, wide"), "y": ("float32", "count, 20, wide")},
    ("count", "wide"),
)

_STAGES = Whole(
    "stages",
    *_OKK,
    """
okk.initialize()
size = 33 * wide * 4
shape = okk.dim4(1, 33, 1, wide)
for k in range(count + {extra}):
    okk.parallel_start()
    if k < count:
        okk.gdma_32bit_cpy_S2L(k % {ring} * 4096, x + k * size, shape, None, None)
    if {computes}:
        okk.bdc_relu({into}, {source}, shape, None, None)
    if {stores}:
        okk.gdma_32bit_cpy_L2S(y + (k - 2) * size, {out}, shape, None, None)
    okk.parallel_end()
okk.poll()
""",
    {
        "extra": hole("2", wrong=("1", "3")),
        "ring": hole("2", "3", wrong=("1",)),
        "computes": hole(
            "1 <= k <= count", "0 < k and k < count + 1", wrong=("k >= 1", "k < count")
        ),
        "stores": hole("k >= 2", wrong=("k >= 1", "k > 2")),
        "source": hole("(k - 1) % {ring} * 4096", wrong=("k % {ring} * 4096", "0")),
        "into": hole("16384 + (k - 1) % 2 * 4096", wrong=("16384", "16384 + (k - 1) % 2 * 512")),
        "out": hole("16384 + (k - 2) % 2 * 4096", wrong=("16384 + (k - 1) % 2 * 4096", "16384")),
    },
    {"count": (1, 2, 3, 5), "wide": (31, 96, 210)},
    {"x": ("float32", "count, 33, wide"), "y": ("float32", "count, 33, wide")},
    ("count", "wide"),
)

_REST = Whole(
    "rest",
    *_OKK,
    """
okk.initialize()
for start in range({first}, {upto}, 64):
    part = {part}
    shape = okk.dim4(1, 20, 1, part)
    pitch = okk.dim4(20 * wide, wide, wide, 1)
    {load}
    okk.bdc_mul_C({into}, 0, 0.5, shape, None, None)
    okk.gdma_32bit_cpy_L2S(y + {out} * 4, {into}, shape, pitch, None)
okk.poll()
""",
    {
        "first": hole("0", wrong=("64",)),
        "upto": hole("wide", wrong=("wide - 63", "wide // 64 * 64", "wide + 1")),
        "part": hole("min(64, wide - start)", wrong=("64", "min(64, wide)", "wide - start")),
        "load": hole(
            "okk.gdma_32bit_cpy_S2L(0, x + start * 4, shape, None, pitch)",
            wrong=(
                "okk.gdma_32bit_cpy_S2L(0, x + start * 4, shape, None, None)",
                "okk.gdma_32bit_cpy_S2L(0, x, shape, None, pitch)",
                "okk.bdc_32bit_set_C(0, okk.x32.fp32(1.0), shape, None)",
                "pass",
            ),
        ),
        "into": hole("0", "4096", wrong=("64", "128")),
        "out": hole("start", wrong=("(start + 1)", "0")),
    },
    {"wide": (1, 30, 64, 65, 128, 200)},
    {"x": ("float32", "20, wide"), "y": ("float32", "20, wide")},
    ("wide",),
)

_TOTAL = Whole(
    "total",
    *_OKK,
    """
okk.initialize()
shape = okk.dim4(1, 48, 1, wide)
{clear}
for k in range({trips}):
    {again}
    okk.gdma_32bit_cpy_S2L({tile}, x + {which} * 48 * wide * 4, shape, None, None)
    {add}
{last}
okk.gdma_32bit_cpy_L2S(y, 0, shape, None, None)
okk.poll()
""",
    {
        "clear": hole(
            "okk.bdc_32bit_set_C(0, okk.x32.fp32(0.0), shape, None)",
            wrong=(
                "pass",
                "okk.bdc_32bit_set_C(0, okk.x32.fp32(0.0), okk.dim4(1, 48, 1, 1), None)",
            ),
        ),
        "trips": hole("count", wrong=("count // 2", "count - 1", "count + 1", "1")),
        "again": hole(
            "pass",
            wrong=(
                "okk.bdc_32bit_set_C(0, okk.x32.fp32(0.0), shape, None)",
                "if k % 3 == 0: okk.bdc_32bit_set_C(0, okk.x32.fp32(0.0), shape, None)",
                "if k == 1: okk.bdc_32bit_set_C(0, okk.x32.fp32(0.0), shape, None)",
            ),
        ),
        "tile": hole("4096", "2048", wrong=("0", "256", "k % 2 * 4096")),
        "which": hole("k", wrong=("0", "(k + 1)", "k // 2")),
        "add": hole(
            "okk.bdc_add(0, 0, {tile}, shape, None, None, None)",
            wrong=(
                "okk.bdc_add(0, {tile}, {tile}, shape, None, None, None)",
                "okk.bdc_relu({tile}, {tile}, shape, None, None)",
                "if k > 0: okk.bdc_add(0, 0, {tile}, shape, None, None, None)",
            ),
        ),
        "last": hole("pass", "okk.bdc_mul_C(0, 0, 0.25, shape, None, None)"),
    },
    {"count": (1, 2, 3, 4, 5, 8), "wide": (5, 64, 200)},
    {"x": ("float32", "count, 48, wide"), "y": ("float32", "48, wide")},
    ("count", "wide"),
)

_DEPTH = Whole(
    "depth",
    *_OKK,
    """
okk.initialize()
for s in range({trips}):
    depth = {depth}
    okk.gdma_32bit_matrix_S2L(0, a + s * 64 * 4, 21, depth, 16, inner)
    okk.gdma_32bit_matrix_S2L(65536, b + {row} * 90 * 4, depth, 90, 15, 90)
    okk.bdc_matmul(131072, 0, 65536, 0, 21, depth, 90, 16, 15, False, {adds})
okk.gdma_32bit_matrix_L2S(y, 131072, 21, 90, 15, 90)
okk.poll()
""",
    {
        "trips": hole("(inner + 63) // 64", wrong=("inner // 64", "1")),
        "depth": hole("min(64, inner - s * 64)", wrong=("64", "inner - s * 64")),
        "row": hole("s * 64", wrong=("0", "s * 63")),
        "adds": hole("s > 0", "s >= 1", wrong=("True", "False", "s > 1", "s < 1")),
    },
    {"inner": (16, 40, 64, 100, 128, 150)},
    {"a": ("float32", "21, inner"), "b": ("float32", "inner, 90"), "y": ("float32", "21, 90")},
    ("inner",),
)

# ----------------------------------------------------------------------------------------- PPL

_PPL_CHIPS = ("bm1684x", "bm1688", "bm1690", "sg2260e", "sg2262")

_BLOCKS = Whole(
    "blocks",
    PPL,
    (PPL,),
    _PPL_CHIPS,
    """
x_all = pl.gtensor([1, rows, 1, width], pl.GLOBAL, x)
y_all = pl.gtensor([1, rows, 1, width], pl.GLOBAL, y)
for row in range({first}, {last}, {step}):
    {pipeline}
    count = {count}
    part, place = [1, count, 1, width], [0, row, 0, 0]
    a = pl.make_tensor([1, {room}, 1, width], pl.float32, part)
    {load}
    {work}
    pl.dma.store(y_all.sub_view(part, {out}), b)
""",
    {
        "first": hole("0", wrong=("16", "1")),
        "last": hole("rows", wrong=("rows - 15", "rows // 16 * 16", "rows + 1")),
        "step": hole("16", wrong=("17", "15")),
        "pipeline": hole("pl.enable_pipeline()", "pass"),
        "count": hole("min(16, rows - row)", wrong=("16", "rows - row", "min(16, rows)")),
        "room": hole("16", "32", wrong=("8", "count")),
        "load": hole(
            "pl.dma.load(a, x_all.sub_view(part, place))",
            wrong=(
                "pl.dma.load(a, x_all.sub_view(part, [0, 0, 0, 0]))",
                "pass",
                "pl.dma.load(a.sub_view([1, 1, 1, width], [0, 0, 0, 0]), "
                "x_all.sub_view([1, 1, 1, width], place))",
            ),
        ),
        "work": hole(
            "b = pl.make_tensor([1, {room}, 1, width], pl.float32, part) ;; pl.tiu.fadd(b, a, 1.0)",
            "b = a ;; pl.tiu.fmul(b, a, a)",
            wrong=(
                "b = pl.make_tensor([1, {room}, 1, width], pl.float32, part)",
                "b = pl.make_tensor([1, {room}, 1, width], pl.float32, part) ;; "
                "pl.tiu.fadd(b, a, b)",
                "b = pl.make_tensor([1, {room}, 1, width], pl.float32, part) ;; "
                "pl.tiu.fadd(b.sub_view([1, 1, 1, width], [0, 0, 0, 0]), "
                "a.sub_view([1, 1, 1, width], [0, 0, 0, 0]), 1.0)",
            ),
        ),
        "out": hole("place", wrong=("[0, 0, 0, 0]", "[0, max(row - 1, 0), 0, 0]")),
    },
    {"rows": (1, 5, 16, 17, 32, 40), "width": (3, 70, 500)},
    {"x": ("float32", "rows, width"), "y": ("float32", "rows, width")},
    ("rows", "width"),
)

_SHARES = Whole(
    "shares",
    PPL,
    (PPL,),
    ("bm1688", "bm1690", "sg2260e"),
    """
x_all = pl.gtensor([1, rows, 1, width], pl.GLOBAL, x)
y_all = pl.gtensor([1, rows, 1, width], pl.GLOBAL, y)
share = {share}
first = {first}
last = {last}
for row in range(first, last, {step}):
    part, place = [1, {count}, 1, width], [0, row, 0, 0]
    a = pl.make_tensor([1, {step}, 1, width], pl.float16, part)
    pl.dma.load(a, x_all.sub_view(part, place))
    pl.tiu.fmul(a, a, 2.0)
    pl.dma.store(y_all.sub_view(part, place), a)
""",
    {
        "share": hole("pl.cdiv(rows, pl.get_core_num())", wrong=("rows // pl.get_core_num()", "3")),
        "first": hole("pl.get_core_index() * share", wrong=("0", "pl.get_core_index()")),
        "last": hole("min(first + share, rows)", wrong=("first + share", "rows")),
        "step": hole("5", "64"),
        "count": hole("min({step}, last - row)", wrong=("{step}", "min({step}, rows - row)")),
    },
    {"rows": (1, 7, 10, 16, 33), "width": (3, 90)},
    {"x": ("float16", "rows, width"), "y": ("float16", "rows, width")},
    ("rows", "width"),
    ((1, 2), (1, 2), (1, 1)),
)

_CARRIED = Whole(
    "carried",
    PPL,
    (PPL,),
    _PPL_CHIPS,
    """
x_all = pl.gtensor([blocks, 20, 1, width], pl.GLOBAL, x)
y_all = pl.gtensor([1, 20, 1, {wide}], pl.GLOBAL, y)
shape = [1, 20, 1, width]
total = pl.make_tensor(shape, pl.float32)
{clear}
for k in range({trips}):
    {again}
    a = pl.make_tensor(shape, pl.float32)
    pl.dma.load(a, x_all.sub_view(shape, [{which}, 0, 0, 0]))
    {add}
{last}
pl.dma.store(y_all, total)
""",
    {
        "wide": hole("width"),
        "clear": hole("pl.tiu.zero(total)", "pl.tiu.fill(total, 0)", wrong=("pass",)),
        "trips": hole("blocks", wrong=("blocks - 1", "blocks // 2", "blocks + 1")),
        "again": hole(
            "pass",
            "pl.enable_pipeline()",
            wrong=("pl.tiu.zero(total)", "if k % 3 == 1: pl.tiu.zero(total)"),
        ),
        "which": hole("k", wrong=("0", "k // 2", "k + 1")),
        "add": hole(
            "pl.tiu.fadd(total, total, a)",
            "pl.tiu.fmul(total, total, a)",
            wrong=(
                "pl.tiu.fadd(total, a, a)",
                "pl.tiu.fadd(a, total, a)",
                "if k > 0: pl.tiu.fadd(total, total, a)",
            ),
        ),
        "last": hole("pass", "pl.tiu.fmul(total, total, 0.5)"),
    },
    {"blocks": (1, 2, 3, 4, 6), "width": (3, 70, 500)},
    {"x": ("float32", "blocks, 20, width"), "y": ("float32", "20, width")},
    ("blocks", "width"),
)

# ----------------------------------------------------------------------------------------- NKI

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

#: all of them
WHOLES: tuple[Whole, ...] = (
    _RING,
    _STAGES,
    _REST,
    _TOTAL,
    _DEPTH,
    _BLOCKS,
    _SHARES,
    _CARRIED,
    _STRIPS,
    _SWAPPED,
    _PRODUCTS,
    _STEPS,
    _HALVES,
    _MASKED,
)

__all__ = ["WHOLES", "Whole", "drawn"]
