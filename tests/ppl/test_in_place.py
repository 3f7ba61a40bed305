"""Results that share memory with the sources of the same function (PPL078)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ppl.support import check
from verifier.cli.main import main

_KERNEL = """\
import ppl
import ppl.language as pl


# tilelint: contract (out_ptr: fp16[50,6,48], x_ptr: fp16[50,6,48], w_ptr: fp16[50,3,3], m: 0..24)
@ppl.jit
def kernel(out_ptr, x_ptr, w_ptr, m):
    a = pl.make_tensor([1, 50, 6, 48], pl.float16)
    b = pl.make_tensor([1, 50, 6, 48], pl.float16)
    w = pl.make_tensor([1, 50, 3, 3], pl.float16, align_mode=pl.TPU_COMPACT)
    pl.dma.load(a, pl.gtensor([1, 50, 6, 48], pl.GLOBAL, x_ptr).view())
    pl.dma.load(b, pl.gtensor([1, 50, 6, 48], pl.GLOBAL, x_ptr).view())
    pl.dma.load_compact(w, pl.gtensor([1, 50, 3, 3], pl.GLOBAL, w_ptr).view())
    {body}
    pl.dma.store(pl.gtensor([1, 50, 6, 48], pl.GLOBAL, out_ptr).view(), a)
    pl.dma.store(pl.gtensor([1, 50, 6, 48], pl.GLOBAL, x_ptr).view(), b)
    pl.dma.store(pl.gtensor([1, 50, 3, 3], pl.GLOBAL, w_ptr).view(), w)
"""
_PART = "{}.sub_view([1, 50, 4, 48], [0, 0, {}, 0])"
_COLUMNS = "{}.sub_view([1, 50, 6, 16], [0, 0, 0, {}])"
_WINDOW = "(3, 3), (1, 1), (1, 1), (1, 1, 1, 1), False"


@pytest.mark.parametrize(
    ("body", "apart"),
    [
        # element by element, where it lies
        ("pl.tiu.fadd(a, a, b)", True),
        ("pl.tiu.fmul(a, b, a)", True),
        ("pl.tiu.gt_select(a, a, b, a, b)", True),
        ("pl.tiu.max_gt_select(a, b, a, b, a, b)", True),
        (f"pl.tiu.fadd({_PART.format('a', 1)}, {_PART.format('a', 1)}, 1.0)", True),
        # shifted against itself
        (f"pl.tiu.fadd({_PART.format('a', 2)}, {_PART.format('a', 0)}, 1.0)", False),
        (f"pl.tiu.fadd({_PART.format('a', 2)}, {_PART.format('b', 0)}, 1.0)", True),
        (f"pl.dma.move({_PART.format('a', 2)}, {_PART.format('a', 0)})", False),
        (f"pl.tiu.move({_COLUMNS.format('a', 8)}, {_COLUMNS.format('a', 0)})", False),
        (f"pl.tiu.move({_COLUMNS.format('a', 16)}, {_COLUMNS.format('a', 0)})", True),
        # one column of what is overwritten goes everywhere
        ("pl.tiu.fadd(a, b, a.sub_view([1, 50, 6, 1], [0, 0, 0, 5]))", False),
        (
            "pl.tiu.fadd(a, a, b)\n"
            "    pl.tiu.fadd(b, a, a.sub_view([1, 50, 6, 1], [0, 0, 0, 5]))\n"
            "    pl.tiu.fadd(a, b, a)",
            True,
        ),
        # windows and products
        (f"pl.tiu.fdw_conv(a, a, w, None, {_WINDOW})", False),
        (f"pl.tiu.fadd(b, a, b)\n    pl.tiu.fdw_conv(a, b, w, None, {_WINDOW})", True),
        ("pl.tiu.pool_max(a, a, (3, 3), (1, 1, 1, 1), (1, 1), (1, 1))", False),
        (
            "pl.tiu.fadd(b, a, b)\n    pl.tiu.pool_max(a, b, (3, 3), (1, 1, 1, 1), (1, 1), (1, 1))",
            True,
        ),
    ],
)
def test_in_place(tmp_path: Path, body: str, apart: bool) -> None:
    result = check(tmp_path, _KERNEL.format(body=body), "bm1684x")
    found = [d for d in result.diagnostics if d.severity != "note"]
    assert [(d.rule, d.severity) for d in found] == (
        [] if apart else [("ppl-partly-in-place", "warning")]
    )
    assert [k.status for k in result.kernels] == ["verified" if apart else "violated"]


def test_how_far_apart_the_inputs_say(tmp_path: Path) -> None:
    parts = _COLUMNS.format("a", "m"), _COLUMNS.format("a", 0)
    body = "pl.tiu.fadd({}, {}, 1.0)".format(*parts)
    result = check(tmp_path, _KERNEL.format(body=body), "bm1684x")
    (kernel,) = result.kernels
    assert kernel.precondition is not None
    assert kernel.precondition.text == "m == 0 or m >= 16"


@pytest.mark.parametrize("source", ["a", "b"])
def test_a_run_tells_of_it(tmp_path: Path, source: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "kernel.py"
    body = f"pl.tiu.fdw_conv(a, {source}, w, None, {_WINDOW})"
    file.write_text(_KERNEL.format(body=body), encoding="utf-8")
    tensors = [f"--arg={name}_ptr=fp16[50,6,48]" for name in ("out", "x")]
    main(["run", f"{file}::kernel", *tensors, "--arg=w_ptr=fp16[50,3,3]", "--arg=m=4"])
    assert ("dst of `pl.tiu.fdw_conv` overlaps its src" in capsys.readouterr().out) == (
        source == "a"
    )


def test_a_wider_type_in_place(tmp_path: Path) -> None:
    """TPU-B10: what is wrong is said, and it is no difference of dtypes."""
    body = """\
c = pl.make_tensor([1, 50, 6, 48], pl.float32)
    pl.tiu.fill(c, 1.0)
    h = c.view(shape=[1, 50, 6, 96], dtype=pl.float16).sub_view([1, 50, 6, 48], [0, 0, 0, 0])
    pl.tiu.cast({})"""
    result = check(tmp_path, _KERNEL.format(body=body.format("h, c")), "bm1684x")
    rules = {d.rule for d in result.diagnostics if d.severity != "note"}
    assert rules == {"ppl-lost-result"}  # nothing is stored of it
    result = check(tmp_path, _KERNEL.format(body=body.format("c, h")), "bm1684x")
    (found,) = (d for d in result.diagnostics if d.rule == "ppl-dtypes")
    assert found.message == (
        "`pl.tiu.cast` makes wider elements where the narrower ones lie: "
        "dst is float32, src is float16"
    )
