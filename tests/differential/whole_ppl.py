"""Whole kernels of PPL."""

from __future__ import annotations

from tests.differential.whole import Whole, hole
from verifier.dialects.names import PPL

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

PPL_KERNELS: tuple[Whole, ...] = (_BLOCKS, _SHARES, _CARRIED)

__all__ = ["PPL_KERNELS"]
