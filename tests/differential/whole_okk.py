"""Whole kernels of OKK."""

from __future__ import annotations

from tests.differential.whole import Whole, hole
from verifier.dialects.names import OKK

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

_WINDOW = Whole(
    "window",
    *_OKK,
    """
okk.initialize()
row = okk.dim4(1, 56, 1, wide)
size = 56 * wide * 4
okk.gdma_32bit_cpy_S2L(0, x, row, None, None)
for r in range(height):
    if {more}:
        okk.gdma_32bit_cpy_S2L((r + 1) % {ring} * 1024, x + (r + 1) * size, row, None, None)
    up, down = {up}, {down}
    okk.bdc_add({sum}, up % {ring} * 1024, down % {ring} * 1024, row, None, None, None)
    okk.bdc_mac_C({sum}, r % {ring} * 1024, 2.0, row, None, None)
    okk.gdma_32bit_cpy_L2S(y + r * size, {sum}, row, None, None)
okk.poll()
""",
    {
        "more": hole("r + 1 < height", wrong=("r + 2 < height", "r < height")),
        "ring": hole("3", "4", wrong=("2",)),
        "up": hole("max(r - 1, 0)", wrong=("r - 1", "max(r - 2, 0)")),
        "down": hole("min(r + 1, height - 1)", wrong=("r + 1", "min(r + 2, height - 1)")),
        "sum": hole("8192", "8192 + r % 2 * 1024", wrong=("2048", "1024")),
    },
    {"height": (1, 2, 3, 4, 6), "wide": (7, 90, 250)},
    {"x": ("float32", "height, 56, wide"), "y": ("float32", "height, 56, wide")},
    ("height", "wide"),
    symbolic=False,
)

OKK_KERNELS: tuple[Whole, ...] = (_RING, _STAGES, _REST, _TOTAL, _DEPTH, _WINDOW)

__all__ = ["OKK_KERNELS"]
