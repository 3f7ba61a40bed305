"""Tensors of PPL and their views: parts, other shapes, other dtypes, strides by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ppl.support import check, interpret, one, rules
from verifier.symbolic.pretty import pretty

KERNEL = """\
# tilelint: contract (rows: 1..64, odd: 1..40)
@ppl.jit
def viewed(out_ptr, src_ptr, rows: pl.constexpr, odd: pl.constexpr):
    source = pl.gtensor([1, rows, 4, 24], pl.GLOBAL, src_ptr)
    target = pl.gtensor([1, rows, 4, 24], pl.GLOBAL, out_ptr)
    a = pl.make_tensor([1, rows, 4, 24], pl.{dtype})
    b = pl.make_tensor([1, rows, 4, 24], pl.{dtype})
    pl.dma.load(a, source)
    {statement}
    pl.dma.store(target, b)
    pl.dma.store(source, a)
"""


def found(folder: Path, statement: str, dtype: str = "float16") -> dict[str, str]:
    text = KERNEL.format(dtype=dtype, statement=statement.replace("\n", "\n    "))
    return rules(check(folder, text, "bm1684x"))


@pytest.mark.parametrize(
    "statement, expected",
    [
        ("pl.tiu.fadd(b, a, 1.0)", set()),
        # the same elements in another shape
        (
            "pl.tiu.fadd(b.view(shape=[1, rows, 96, 1]), a.view(shape=[1, rows, 96, 1]), 1.0)",
            set(),
        ),
        # two halves
        (
            "pl.tiu.fadd(b[:, :, 0:2, :], a[:, :, 0:2, :], 1.0)\n"
            "pl.tiu.fadd(b[:, :, 2:4, :], a[:, :, 2:4, :], 1.0)",
            set(),
        ),
        ("pl.tiu.fadd(b[:, :, 0:2, :], a[:, :, 2:4, :], 1.0)", {"uninitialised-read"}),
        (
            "pl.tiu.zero(b)\npl.tiu.fadd(b[:, :, 0:2, :], a[:, :, 3:5, :], 1.0)",
            {"ppl-sub-view"},
        ),
        ("pl.tiu.fadd(b, a.sub_view([1, rows, 4, 12], [0, 0, 0, 12]), 1.0)", {"ppl-operand-shape"}),
        # one row of each plane is repeated
        ("pl.tiu.fadd(b, a, a.sub_view([1, rows, 1, 24], [0, 0, 2, 0]))", set()),
        # one channel is not repeated
        ("pl.tiu.fadd(b, a, a.sub_view([1, 1, 4, 24], [0, 0, 0, 0]))", {"ppl-operand-shape"}),
        # slices that the front end drops
        ("pl.tiu.fadd(b, a[:, :, 2:, :], 1.0)", {"ppl-slice", "ppl-operand-shape"}),
        ("pl.tiu.fadd(b, a[:, :], 1.0)", {"ppl-slice"}),
        # even columns by strides, then odd ones
        (
            "half = [1, rows, 4, 12]\n"
            "steps = [96, 96, 24, 2]\n"
            "even = b.sub_view(half, [0, 0, 0, 0]).view(shape=half, stride=steps)\n"
            "odds = b.sub_view(half, [0, 0, 0, 1]).view(shape=half, stride=steps)\n"
            "pl.tiu.zero(even)\npl.tiu.zero(odds)",
            set(),
        ),
        (
            "half = [1, rows, 4, 12]\n"
            "even = b.sub_view(half, [0, 0, 0, 0]).view(shape=half, stride=[96, 96, 24, 2])\n"
            "pl.tiu.zero(even)",
            {"uninitialised-read"},
        ),
        ("pl.tiu.zero(b.view(shape=[1, rows, 4, 25]))\npl.tiu.zero(b)", {"ppl-view-size"}),
        (
            "pl.tiu.zero(b)\nc = pl.make_tensor([1, 8, 40], pl.float16)\npl.tiu.zero(c)",
            {"ppl-four-dimensions"},
        ),
    ],
)
def test_parts_and_views(tmp_path: Path, statement: str, expected: set[str]) -> None:
    assert set(found(tmp_path, statement)) == expected


def test_narrower_elements_are_more_of_them(tmp_path: Path) -> None:
    text = KERNEL.format(
        dtype="int8", statement="c = a.view(dtype=pl.uint4)\n    pl.tiu.zero(c)\n    pl.tiu.zero(b)"
    )
    run = interpret(tmp_path, text)
    view = run.trace.operations[1].view("dst")
    assert view is not None and [pretty(size) for size in view.shape] == ["1", "rows", "4", "48"]
    text = KERNEL.format(
        dtype="int8",
        statement="c = a.view(dtype=pl.float16)\n    pl.tiu.zero(c)\n    pl.tiu.zero(b)",
    )
    run = interpret(tmp_path, text)
    view = run.trace.operations[1].view("dst")
    assert view is not None and [pretty(size) for size in view.shape] == ["1", "rows", "4", "12"]


def test_a_reinterpretation_reads_what_it_is_of(tmp_path: Path) -> None:
    unset = "c = b.view(dtype=pl.int8)\nd = pl.make_tensor([1, rows, 4, 48], pl.int8)\n"
    chosen = unset + "pl.tiu.gt_select(d, c, 0, 1, 0)"
    assert "uninitialised-read" in found(tmp_path, f"{chosen}\npl.tiu.zero(b)")
    used = "pl.tiu.move(b.view(dtype=pl.int8), d)"
    assert found(tmp_path, f"pl.tiu.zero(b)\n{chosen}\n{used}") == {}
    # what is moved and never stored decides nothing
    moved = found(tmp_path, unset + "pl.tiu.move(d, c)\npl.tiu.zero(b)")
    assert set(moved) == {"ppl-lost-result"}


def test_a_run_may_go_on_into_the_next_row_of_global_memory(tmp_path: Path) -> None:
    text = """\
# tilelint: contract (rows: 1..60, count: 1..900)
@ppl.jit
def ranged(out_ptr, src_ptr, rows, count):
    source = pl.gtensor([1, rows, 1, 50], pl.GLOBAL, src_ptr)
    target = pl.gtensor([1, rows, 1, 50], pl.GLOBAL, out_ptr)
    a = pl.make_tensor([1, 1, 1, 3000], pl.float16, [1, 1, 1, rows * {width}])
    pl.dma.load(a, source.sub_view([1, 1, 1, rows * {width}], [0, 0, 0, 0]))
    pl.dma.store(target.sub_view([1, 1, 1, rows * 50], [0, 0, 0, 0]), {part})
"""
    assert rules(check(tmp_path, text.format(width=50, part="a"))) == {}
    longer = text.format(width=51, part="a.sub_view([1, 1, 1, rows * 50], [0, 0, 0, 0])")
    result = check(tmp_path, longer.replace("3000", "4000"))
    assert one(result, "ppl-sub-view").verdict == "always"


def test_sums_need_a_beginning(tmp_path: Path) -> None:
    text = """\
@ppl.jit
def products(out_ptr, left_ptr, right_ptr):
    c = pl.make_tensor([1, 16, 1, 32], pl.float32)
    {start}
    for k in range(0, 96, 48):
        a = pl.make_tensor([1, 16, 1, 48], pl.float16)
        b = pl.make_tensor([1, 48, 1, 32], pl.float16)
        pl.dma.load(a, pl.gtensor([1, 16, 1, 96], pl.GLOBAL, left_ptr)[:, :, :, k:k + 48])
        pl.dma.load(b, pl.gtensor([1, 96, 1, 32], pl.GLOBAL, right_ptr)[:, k:k + 48, :, :])
        pl.tiu.fmm2(c, a, b, result_add=True, out_dtype=pl.float32)
    pl.dma.store(pl.gtensor([1, 16, 1, 32], pl.GLOBAL, out_ptr).view(), c)
"""
    assert rules(check(tmp_path, text.format(start="pl.tiu.zero(c)"))) == {}
    assert set(rules(check(tmp_path, text.format(start="pass")))) == {"uninitialised-read"}


OTHER = """\
# tilelint: contract (w: {w}, out_ptr: fp32[30, {out}], src_ptr: fp16[30, {source}])
@ppl.jit
def other(out_ptr, src_ptr, w):
    source = pl.gtensor([1, 30, 1, {source}], pl.GLOBAL, src_ptr)
    target = pl.gtensor([1, 30, 1, {out}], pl.GLOBAL, out_ptr)
    {statement}
"""
_IN_BYTES = """\
x = pl.make_tensor([1, 30, 1, 24], pl.float16)
    pl.dma.load(x, source)
    pl.dma.store(target, x.view(shape=[1, 30, 1, {out}], dtype=pl.float32))"""
_GLOBAL = """\
x = pl.make_tensor([1, 30, 1, {out}], pl.float32)
    pl.dma.load(x, source.view(shape=[1, 30, 1, {out}], dtype=pl.float32))
    pl.dma.store(target, x)"""


@pytest.mark.parametrize("statement", [_IN_BYTES, _GLOBAL])
@pytest.mark.parametrize(("out", "fits"), [(12, True), (13, False), (24, False)])
def test_views_in_another_dtype_are_compared_in_bytes(
    tmp_path: Path, statement: str, out: int, fits: bool
) -> None:
    text = OTHER.format(w="1", out=out, source=24, statement=statement.format(out=out))
    assert rules(check(tmp_path, text, "bm1684x")) == ({} if fits else {"ppl-view-size": "always"})


@pytest.mark.parametrize(("given", "fine"), [(12, True), (11, False)])
def test_a_part_of_a_view_in_another_dtype_is_those_bytes(
    tmp_path: Path, given: int, fine: bool
) -> None:
    """``given`` of each 12 halves are there, of which 6 words are stored."""
    statement = f"""\
x = pl.make_tensor([1, 30, 1, 96], pl.float16)
    pl.dma.load(x.sub_view([1, 30, 1, {given}], [0, 0, 0, 12]), source)
    y = x.view(dtype=pl.float32)
    pl.dma.store(target, y.sub_view([1, 30, 1, 6], [0, 0, 0, 6]))"""
    text = OTHER.format(w="1", out=6, source=given, statement=statement)
    found = rules(check(tmp_path, text, "bm1684x"))
    assert set(found) == (set() if fine else {"uninitialised-read"})


_PLANES = """\
# tilelint: contract (rows: {rows}, out_ptr: fp16[1, rows, 6, 16], src_ptr: fp16[1, rows, 6, 16])
@ppl.jit
def planes(out_ptr, src_ptr, rows):
    a = pl.make_tensor([1, 64, 6, 16], pl.float16, [1, rows, 6, 16])
    b = pl.make_tensor([1, 64, 6, 16], pl.float16, [1, rows, 6, 16])
    pl.dma.load(a, pl.gtensor([1, rows, 6, 16], pl.GLOBAL, src_ptr).view())
    pl.tiu.zero(b)
    pl.tiu.fadd(b.view(shape={shape}), a.view(shape={shape}), 1.0)
    {last}
    pl.dma.store(pl.gtensor([1, rows, 6, 16], pl.GLOBAL, out_ptr).view(), b)
"""


@pytest.mark.parametrize(
    ("shape", "found"),
    [
        ("[1, rows, 1, 96]", {}),
        ("[1, rows, 1, 95]", {}),
        ("[1, rows, 5, 17]", {}),
        # a lane has no more of a plane, whatever there is in all lanes together
        ("[1, rows, 1, 97]", {"ppl-view-size": "always"}),
        ("[1, 32, 1, 192]", {"ppl-view-size": "always"}),
    ],
)
def test_more_or_fewer_elements_than_a_plane_has(
    tmp_path: Path, shape: str, found: dict[str, str]
) -> None:
    text = _PLANES.format(rows="1..63", shape=shape, last="pass")
    result = check(tmp_path, text, "bm1684x")
    decided = {d.rule: d.verdict for d in result.diagnostics if d.verdict != "unknown"}
    assert decided == found
    assert [k.status for k in result.kernels] == ["violated" if found else "verified"]


def test_what_a_smaller_view_leaves_out(tmp_path: Path) -> None:
    """The first elements of each plane are those that the view has."""
    text = _PLANES.format(rows="1..63", shape="[1, rows, 1, 95]", last="pass")
    without = text.replace("    pl.tiu.zero(b)\n", "")
    assert set(rules(check(tmp_path, without, "bm1684x"))) == {"uninitialised-read"}
    part = "pl.tiu.fill(b.sub_view([1, rows, 1, 1], [0, 0, 5, 15]), 0.0)"
    filled = without.replace("    pass\n", f"    {part}\n")
    assert rules(check(tmp_path, filled, "bm1684x")) == {}
