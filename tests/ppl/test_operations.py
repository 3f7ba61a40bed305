"""Rules on single operations: element types, windows, transfers, gathering, layouts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ppl.support import check, rules

KERNEL = """\
@ppl.jit
def operated(out_ptr, src_ptr, other_ptr):
    a = pl.make_tensor([2, 12, 5, 7], pl.{a})
    b = pl.make_tensor({shape}, pl.{b})
    c = pl.make_tensor([2, 12, 5, 7], pl.{a})
    pl.dma.load(a, pl.gtensor([2, 12, 5, 7], pl.GLOBAL, src_ptr).view())
    pl.dma.load(c, pl.gtensor([2, 12, 5, 7], pl.GLOBAL, other_ptr).view())
    {statement}
    pl.dma.store(pl.gtensor({shape}, pl.GLOBAL, out_ptr).view(), b)
    pl.dma.store(pl.gtensor([2, 12, 5, 7], pl.GLOBAL, other_ptr).view(), c)
"""


def judged(
    folder: Path,
    statement: str,
    a: str = "float32",
    b: str = "float32",
    shape: str = "[2, 12, 5, 7]",
    target: str = "bm1684x",
) -> set[str]:
    text = KERNEL.format(a=a, b=b, shape=shape, statement=statement.replace("\n", "\n    "))
    return set(rules(check(folder, text, target)))


@pytest.mark.parametrize(
    "statement, a, b, target, fine",
    [
        ("pl.tiu.fadd(b, a, c)", "float16", "float16", "bm1684x", True),
        ("pl.tiu.fadd(b, a, c)", "float16", "float32", "bm1684x", False),
        ("pl.tiu.fadd(b, a, c)", "int16", "int16", "bm1684x", False),
        ("pl.tiu.add(b, a, c)", "int16", "int32", "bm1684x", True),
        ("pl.tiu.add(b, a, c)", "float16", "float16", "bm1684x", False),
        ("pl.tiu.fmul(b, a, c)", "float8e4", "float16", "bm1690", True),
        ("pl.tiu.fdiv(b, 1.0, a, num_iter=2)", "float32", "float32", "bm1684x", True),
        ("pl.tiu.fdiv(b, 1.0, a)", "int8", "int8", "bm1684x", False),
        ("pl.tiu.frsqrt(b, a)", "float16", "float16", "bm1684x", False),
        ("pl.tiu.frsqrt(b, a)", "float16", "float16", "bm1690", True),
        ("pl.tiu.fexp(b, a)", "bfloat16", "bfloat16", "bm1684x", True),
        ("pl.tiu.ftan_base(b, a)", "float16", "float16", "bm1684x", False),
        ("pl.tiu.maximum(b, a, c)", "int8", "int8", "bm1684x", True),
        ("pl.tiu.maximum(b, a, c)", "int8", "uint8", "bm1684x", False),
        ("pl.tiu.bitwise_and(b, a, 15)", "uint8", "uint8", "bm1684x", True),
        ("pl.tiu.bitwise_and(b, a, 15)", "float16", "float16", "bm1684x", False),
        ("pl.tiu.bitwise_xor(b, a, c)", "uint8", "uint16", "bm1684x", False),
        ("pl.tiu.cast(b, a, type=pl.int8)", "float32", "int8", "bm1684x", True),
        ("pl.tiu.gt(b, a, c)", "float32", "uint8", "bm1684x", True),
        ("pl.tiu.gt(b, a, c)", "uint8", "uint16", "bm1684x", False),
        ("pl.tiu.shift(b, a, shift=-2)", "int16", "int8", "bm1684x", True),
        ("pl.tiu.shift(b, a, shift=-2)", "float16", "float16", "bm1684x", False),
        ("pl.tiu.logical_shift(b, a, shift=3)", "int16", "int16", "bm1684x", False),
        ("pl.tiu.move(b, a)", "float16", "float16", "bm1684x", True),
        ("pl.tiu.floor(b, a)", "float32", "float16", "bm1684x", False),
        ("pl.tiu.zero(b)\npl.tiu.fmac(b, a, c)", "float32", "float32", "bm1684x", True),
        ("pl.tiu.zero(b)\npl.tiu.fmac(b, a, c)", "float16", "float16", "bm1684x", False),
        ("pl.tiu.zero(b)\npl.tiu.mac(b, a, c)", "int8", "int16", "bm1684x", True),
        ("pl.tiu.zero(b)\npl.tiu.mac(b, a, c)", "int16", "int32", "bm1684x", False),
        ("pl.tiu.gt_select(b, a, c, a, c)", "float32", "float32", "bm1684x", True),
        ("pl.tiu.gt_select(b, a, c, a, 1)", "float32", "float16", "bm1684x", False),
    ],
)
def test_element_types(
    tmp_path: Path, statement: str, a: str, b: str, target: str, fine: bool
) -> None:
    found = judged(tmp_path, statement, a, b, target=target)
    assert found == (set() if fine else {"ppl-dtypes"})


def test_what_is_added_to_has_to_be_there(tmp_path: Path) -> None:
    assert judged(tmp_path, "pl.tiu.fmac(b, a, c)") == {"uninitialised-read"}


@pytest.mark.parametrize(
    "statement, shape, expected",
    [
        ("pl.tiu.pool_max(b, a, [2, 3], [0, 0, 0, 0], [1, 2], [1, 1])", "[2, 12, 4, 3]", set()),
        (
            "pl.tiu.pool_max(b, a, [2, 3], [0, 0, 0, 0], [1, 2], [1, 1])",
            "[2, 12, 5, 3]",
            {"ppl-window-size"},
        ),
        (
            "pl.tiu.pool_max(b, a, [2, 3], [1, 2], [0, 0, 0, 0], [1, 1])",
            "[2, 12, 4, 3]",
            {"ppl-window-parameters"},
        ),
        (
            "pl.tiu.pool_avg(b, a, [5, 7], [0, 0, 0, 0], [1, 1], [1, 1], 0.25)",
            "[2, 12, 1, 1]",
            set(),
        ),
        (
            "pl.tiu.pool_max(b, a, [2, 2], [0, 0, 0, 0], [16, 1], [1, 1])",
            "[2, 12, 1, 6]",
            {"ppl-window-parameters"},
        ),
        (
            "pl.tiu.fconv(b, a, 0.5, [3, 3], [2, 2], [1, 1], [1, 1, 1, 1], oc=20)",
            "[2, 20, 3, 4]",
            set(),
        ),
        (
            "pl.tiu.fconv(b, a, 0.5, [3, 3], [2, 2], [1, 1], [1, 1, 1, 1], oc=21)",
            "[2, 20, 3, 4]",
            {"ppl-window-size"},
        ),
        (  # 2 * 4 + 1 rows with a pad of one on each side: 9 of them
            "pl.tiu.fdeconv(b, a, 0.5, None, 20, [3, 3], [1, 1], [1, 1, 1, 1], [1, 1], "
            "False, pl.float32, False)",
            "[2, 20, 9, 13]",
            set(),
        ),
        (
            "pl.tiu.fdeconv(b, a, 0.5, None, 20, [3, 3], [1, 1], [1, 1, 1, 1], [1, 1], "
            "False, pl.float32, False)",
            "[2, 20, 10, 14]",
            {"ppl-window-size"},
        ),
        (
            "pl.tiu.fconv(b, a, 0.5, [3, 3], [1, 1], [3, 1], [0, 0, 0, 0], oc=20)",
            "[2, 20, 1, 5]",
            {"ppl-window-size"},  # the window reaches over 7 of 5 rows
        ),
    ],
)
def test_windows(tmp_path: Path, statement: str, shape: str, expected: set[str]) -> None:
    assert judged(tmp_path, statement, shape=shape) == expected


@pytest.mark.parametrize(
    "a, b, options, expected",
    [
        ("int8", "int32", "", set()),
        ("int8", "uint8", "", {"ppl-window-options"}),
        ("int8", "uint8", "result_relu=True", {"ppl-window-options"}),  # the weight is a number
        ("uint8", "uint16", "", set()),
        ("int8", "int8", "sym=False", {"ppl-window-options"}),
        ("int8", "int16", "sym=False", set()),
        ("int8", "int8", "rq_shift=-129", {"ppl-window-options"}),
        ("float16", "float16", "", {"ppl-window-dtypes"}),
    ],
)
def test_convolutions_of_integers(
    tmp_path: Path, a: str, b: str, options: str, expected: set[str]
) -> None:
    statement = f"pl.tiu.conv(b, a, 3, 20, [1, 1], [1, 1], [1, 1], [0, 0, 0, 0], {options})"
    assert judged(tmp_path, statement, a, b, "[2, 20, 5, 7]") == expected


def test_minima_are_not_pooled_on_the_first_chip(tmp_path: Path) -> None:
    statement = "pl.tiu.pool_min(b, a, [2, 3], [0, 0, 0, 0], [1, 2], [1, 1])"
    shape = "[2, 12, 4, 3]"
    assert judged(tmp_path, statement, shape=shape) == {"ppl-chip-function"}
    assert judged(tmp_path, statement, shape=shape, target="bm1690") == set()


@pytest.mark.parametrize(
    "statement, shape, expected",
    [
        ("pl.tiu.transpose_wc(b, a)", "[2, 7, 5, 12]", set()),
        ("pl.tiu.transpose_wc(b, a)", "[2, 7, 12, 5]", {"ppl-transfer-size"}),
        ("pl.dma.transpose_nc(b, a)", "[12, 2, 5, 7]", set()),
        ("pl.dma.transpose(b, a, pl.NC_TRANS)", "[12, 2, 5, 7]", set()),
        ("pl.dma.transpose(b, a)", "[12, 2, 5, 7]", {"ppl-transfer-size"}),
        ("pl.dma.move(b, a)", "[2, 12, 35, 1]", set()),
        ("pl.dma.move(b, a)", "[2, 12, 36, 1]", {"ppl-transfer-size"}),
        ("pl.tiu.broadcast(b, a[:, 3:4, :, :])", "[2, 40, 5, 7]", set()),
        ("pl.tiu.broadcast(b, a[:, 3:5, :, :])", "[2, 40, 5, 7]", {"ppl-broadcast"}),
        ("pl.tiu.broadcast(b, a[:, 3:4, :, :])", "[2, 40, 5, 6]", {"ppl-broadcast"}),
        ("pl.tiu.broadcast(b, a[:, 3:4, :, :], npu_num=40)", "[2, 40, 5, 7]", set()),
        ("pl.dma.broadcast(b, a[:, 3:4, :, :], npu_num=39)", "[2, 40, 5, 7]", {"ppl-broadcast"}),
        ("pl.dma.reverse(b, a, 1)", "[2, 12, 5, 7]", set()),
        ("pl.dma.reverse(b, a, 2)", "[2, 12, 5, 7]", {"ppl-selection"}),
        ("pl.sdma.move(b, a)", "[2, 12, 5, 7]", {"ppl-transfer-memory"}),
    ],
)
def test_moving(tmp_path: Path, statement: str, shape: str, expected: set[str]) -> None:
    assert judged(tmp_path, statement, shape=shape) == expected


LIBRARY = """\
@ppl.jit
def summed(out_ptr, src_ptr, width):
    source = pl.gtensor([1, 48, 1, width], pl.GLOBAL, src_ptr)
    total = pl.make_tensor([1, 48, 1, 1], pl.float32)
    pl.tiu.zero(total)
    for start in range(0, width, 640):
        size = min(640, width - start)
        a = pl.make_tensor([1, 48, 1, 640], pl.float32, [1, 48, 1, size])
        pl.dma.load(a, source.sub_view([1, 48, 1, size], [0, 0, 0, start]))
        part = pl.make_tensor([1, 48, 1, 1], pl.float32)
        pl.quick_pooling(part, a, 1, 48, 1, 640, 1, 48, 1, size, 0, 1, 0.5)
        part = pl.exp_no_overflow(part, 1, 48, 1, 1, 1, 48, 1, 1)
        pl.tiu.fadd(total, total, part)
    pl.dma.store(pl.gtensor([1, 48, 1, 1], pl.GLOBAL, out_ptr).view(), total)
"""


def test_library_helpers_are_followed(tmp_path: Path) -> None:
    result = check(tmp_path, "# tilelint: contract (width: 1..60000)\n" + LIBRARY)
    assert rules(result) == {}
    (kernel,) = result.kernels
    assert kernel.status == "verified" and kernel.calls.unmodelled == ()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("pl.tiu.move(None, a)", "takes a tensor as `dst`, None is given"),
        ("pl.tiu.move(b, 3)", "takes a tensor as `src`, a number is given"),
        ("pl.tiu.fmul(b, a, None)", "takes a tensor or a number as `src1`, None is given"),
        ("pl.tiu.fmul(b, a, [2.0])", "takes a tensor or a number as `src1`, a list is given"),
        (
            "pl.tiu.shift(b, a, shift=pl.int8)",
            "takes a tensor or a number as `shift`, a dtype is given",
        ),
        ("pl.make_tensor([2, 12, 5, 7], 'fp32')", "takes a dtype as `dtype`, a text is given"),
        ("pl.gtensor([2, 12, 5, 7], 2, src_ptr)", "takes a mode as `mem`, a number is given"),
        ("pl.tiu.fmul(b, a, True)", ""),
        ("pl.tiu.fmul(b, a, 2)", ""),
    ],
)
def test_arguments_of_another_kind(tmp_path: Path, call: str, message: str) -> None:
    shape = "[2, 12, 5, 7]"
    text = KERNEL.format(a="float32", b="float32", shape=shape, statement=call)
    diagnostics = check(tmp_path, text).diagnostics
    found = [d for d in diagnostics if d.rule == "ppl-signature"]
    assert [str(d).count(message) > 0 for d in found] == ([True] if message else [])
    if "pl.tiu" in call and message:  # what follows from it is no fault of its own
        assert [d.rule for d in diagnostics if d.severity == "error"] == ["ppl-signature"]


@pytest.mark.parametrize("call", ["pl.tiu.fmul(b, a)", "pl.tiu.fmul(b, a, c, c)"])
def test_calls_that_fit_no_signature(tmp_path: Path, call: str) -> None:
    found = judged(tmp_path, call)
    if call.count(",") == 1:  # a product that nobody takes: b is left as it was
        assert found == {"uninitialised-read", "ppl-lost-result"}
    else:
        assert "ppl-signature" in found


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        ("pl.tiu.zero(input=b)", None),
        ("pl.tiu.zero(dst=b)", "input"),
        ("pl.dma.fill(input=b, value=1.0)", None),
        ("pl.dma.fill(output=b, value=1.0)", "input"),
        ("pl.tiu.move(dst=b, src=a)", None),
        ("pl.tiu.move(output=b, src=a)", "dst"),
        ("pl.tiu.fadd(dst=b, src0=a, src1=c)", ""),
        ("pl.tiu.cast(b, src=a)", ""),
        ("pl.tiu.fscale(b, a, scale=2.0, bias=None)", None),
        ("pl.tiu.fscale(b, a, scale=2.0)", ""),
    ],
)
def test_names_that_parameters_have(tmp_path: Path, call: str, meant: str | None) -> None:
    """As ``language/tiu/tiu.py`` and ``language/dma/dma.py`` of tpu_ppl 1.6.19 have them."""
    shape = "[2, 12, 5, 7]"
    text = KERNEL.format(a="float32", b="float32", shape=shape, statement=call)
    found = [d for d in check(tmp_path, text).diagnostics if d.rule == "ppl-signature"]
    assert bool(found) is (meant is not None)
    if meant:
        assert f"did you mean `{meant}`?" in str(found[0])


@pytest.mark.parametrize(
    "size, shape, fine",
    [(3, "[2, 12, 5, 21]", True), (1, "[2, 12, 5, 7]", True), (3, "[2, 12, 5, 7]", False)],
)
def test_one_element_for_each_pair(tmp_path: Path, size: int, shape: str, fine: bool) -> None:
    statement = f"pl.tiu.vc_min(b, a, c.sub_view([1, 1, 1, {size}], [0, 0, 0, 0]))"
    assert ("ppl-operand-shape" not in judged(tmp_path, statement, shape=shape)) is fine
