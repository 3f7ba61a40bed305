"""Results that are overwritten before anything has read them (PPL080)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ppl.support import check, rules
from verifier.cli.main import main

_KERNEL = """\
import ppl
import ppl.language as pl


# tilelint: contract (steps: 2..20, out_ptr: fp16[1, 32, 1, 64], x_ptr: fp16[steps, 32, 1, 64])
@ppl.jit
def kernel(out_ptr, x_ptr, steps):
    x_all = pl.gtensor([steps, 32, 1, 64], pl.GLOBAL, x_ptr)
    total = pl.make_tensor([1, 32, 1, 64], pl.float16)
    a = pl.make_tensor([1, 32, 1, 64], pl.float16)
    pl.tiu.zero(total)
{body}
    pl.dma.store(pl.gtensor([1, 32, 1, 64], pl.GLOBAL, out_ptr).view(), total)
"""
_LOAD = "pl.dma.load(a, x_all.sub_view([1, 32, 1, 64], [{}, 0, 0, 0]))\n"
_SUM = "pl.tiu.fadd(total, total, a)\n"
_TWICE = "pl.tiu.fmul(total, a, 2.0)\n"
_PART = "b.sub_view([1, 32, 1, 32], [0, 0, 0, 0])"
_FROM_PART = f"pl.tiu.fmul(total.sub_view([1, 32, 1, 32], [0, 0, 0, 32]), {_PART}, 3.0)"
_STORE = "pl.dma.store(pl.gtensor([1, 32, 1, 64], pl.GLOBAL, out_ptr).view(), a)"
_SLOTS = "b = pl.make_tensor([2, 32, 1, 64], pl.float16)"
_SLOT = "b.sub_view([1, 32, 1, 64], [{}, 0, 0, 0])"
_HALF = "total.sub_view([1, 32, 1, 32], [0, 0, 0, {}])"


def _loop(*lines: str, header: str = "for i in range(steps):") -> str:
    return "\n".join([header, *("    " + line.strip() for line in lines)])


def _text(body: str) -> str:
    return _KERNEL.format(body="\n".join("    " + line for line in body.splitlines()))


_LOST = [
    # a sum that is cleared in each round
    _loop(_LOAD.format("i"), _SUM, "pl.tiu.zero(total)"),
    _loop("if i % 2 == 1:", "x", _LOAD.format("i"), _SUM).replace(
        "    x", "        pl.tiu.zero(total)"
    ),
    # in a straight line
    _LOAD.format(0) + "pl.tiu.fmul(total, a, 2.0)\npl.tiu.zero(total)",
    _LOAD.format(0) + _LOAD.format(1) + _SUM,
    _LOAD.format(0) + "pl.tiu.fmul(total, a, 2.0)\npl.tiu.fmul(total, a, 3.0)",
    # of the same source, which is loaded anew in between
    _LOAD.format(0) + f"{_TWICE}{_LOAD.format(1)}{_TWICE}",
    # of a part, by more than it
    _LOAD.format(0) + f"pl.tiu.move({_HALF.format(32)}, {_HALF.format(0)})\npl.tiu.zero(total)",
    # in each round but the last: by what it makes itself, by what the next one begins with, and
    # where the rounds of the loop are written out
    _loop(_LOAD.format("i"), _TWICE),
    _loop("pl.tiu.zero(total)", _LOAD.format("i"), _SUM),
    _loop(_LOAD.format("i")) + "\n" + _SUM,
    _loop(_LOAD.format("i"), header="for i in pl.static_range(2):") + "\n" + _SUM,
    # beside a maximum that goes on from round to round
    _loop(
        _LOAD.format("i"),
        "pl.tiu.maximum(top, top, a)",
        "pl.tiu.fsub(a, a, top)",
        "pl.tiu.zero(total)",
        _SUM,
    ).replace("for", "top = pl.make_tensor([1, 32, 1, 64], pl.float16)\npl.tiu.zero(top)\nfor", 1),
    # by what the next one loads, or adds to it before that
    _loop("pl.tiu.fadd(total, total, a)", _LOAD.format("i"), "pl.tiu.fmul(b, a, 2.0)").replace(
        "for", _LOAD.format(0) + "b = pl.make_tensor([1, 32, 1, 64], pl.float16)\nfor", 1
    ),
    # of a place of which nothing is stored, while others take turns with it
    _loop(_LOAD.format("i"), "pl.tiu.fadd(t, t, a)")
    .replace("    pl.tiu", f"    t = {_SLOT.format('i % 2')}\n    pl.tiu")
    .replace("for", f"{_SLOTS}\npl.tiu.zero(b)\nfor", 1)
    + f"\npl.tiu.move(total, {_SLOT.format(1)})",
    # of what nothing that is stored is made
    _LOAD.format(0) + _SUM + "pl.tiu.fmul(a, a, 2.0)",
    # of which the only part that is read later was filled again
    _LOAD.format(0) + "b = pl.make_tensor([1, 32, 1, 64], pl.float16)\n"
    f"pl.tiu.fmul(b, a, 2.0)\npl.tiu.move({_PART}, {_HALF.format(0)})\n{_FROM_PART}",
    # in the output
    _LOAD.format(0) + f"{_STORE}\n{_SUM}",
    _LOAD.format(0) + _SUM + "pl.tiu.fmul(total, 2.0)",
    _loop(_LOAD.format("i"), "pl.tiu.fadd(a, a, 1.0)"),
]
_USED = [
    # for a next round, which there is not
    _LOAD.format(0)
    + _loop(
        "b = pl.tiu.fadd(total, a)",
        "pl.tiu.fsub(total, b, a)",
        "pl.tiu.move(a, b)",
        header="for i in range(1):",
    ),
    _loop(_LOAD.format("i"), "pl.tiu.fadd(t, t, a)")
    .replace("    pl.tiu", f"    t = {_SLOT.format('i % 2')}\n    pl.tiu")
    .replace("for", f"{_SLOTS}\npl.tiu.zero(b)\nfor", 1)
    + f"\npl.tiu.fadd(total, {_SLOT.format(1)}, {_SLOT.format(0)})",
    _loop(_LOAD.format("i"), _SUM),
    _LOAD.format(0) + "pl.tiu.fmul(total, a, 2.0)",
    _LOAD.format(0) + "pl.tiu.fmul(total, a, 2.0)\npl.tiu.fmul(total, total, 3.0)",
    # by less than it, and under a condition that the result is not made under
    _LOAD.format(0) + f"pl.tiu.fmul(total, a, 2.0)\npl.tiu.zero({_HALF.format(0)})",
    _LOAD.format(0) + "pl.tiu.fmul(total, a, 2.0)\nif steps > 9:\n    pl.tiu.zero(total)",
    # the very same twice, and in each round
    _LOAD.format(0) + _LOAD.format(0) + _SUM,
    _loop(_LOAD.format(0), _TWICE),
    # a sum so far that is made anew of itself in each round
    _loop(_LOAD.format("i"), "pl.tiu.fadd(b, b, a)", "pl.tiu.fmul(total, b, 0.5)").replace(
        "for", "b = pl.make_tensor([1, 32, 1, 64], pl.float16)\npl.tiu.zero(b)\nfor", 1
    ),
    # what a round makes the next one uses
    _LOAD.format(0) + _loop(_SUM, _LOAD.format("i")),
    _LOAD.format(0) + _loop(_SUM, "pl.tiu.fmul(a, total, 0.5)"),
    _loop(_LOAD.format("i"), "if i == steps - 1:", "    " + _TWICE).replace(
        "    pl.tiu.fmul", "        pl.tiu.fmul"
    ),
]


@pytest.mark.parametrize(
    ("body", "lost"), [*((b, True) for b in _LOST), *((b, False) for b in _USED)]
)
def test_lost_results(tmp_path: Path, body: str, lost: bool) -> None:
    result = check(tmp_path, _text(body), "bm1684x")
    found = {(d.rule, d.severity) for d in result.diagnostics if d.severity != "note"}
    assert found == ({("ppl-lost-result", "error")} if lost else set())
    assert [k.status for k in result.kernels] == ["violated" if lost else "verified"]


@pytest.mark.parametrize(
    ("body", "lost"),
    [*((_LOST[k], True) for k in (0, 1, 3, 6, 8, 10, 12)), *((_USED[k], False) for k in (0, 7, 9))],
)
def test_a_run_tells_of_it(tmp_path: Path, body: str, lost: bool) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(_text(body), encoding="utf-8")
    tensors = ["--arg=out_ptr=fp16[1,32,1,64]", "--arg=x_ptr=fp16[3,32,1,64]"]
    assert main(["run", f"{file}::kernel", *tensors, "--arg=steps=3"]) == lost


def test_two_tensors_of_one_shape_are_not_the_very_same(tmp_path: Path) -> None:
    text = """\
import ppl
import ppl.language as pl


# tilelint: contract (out_ptr: fp32[48, 30], a_ptr: fp32[48, 30], b_ptr: fp32[48, 30])
@ppl.jit
def squared(out_ptr, a_ptr, b_ptr):
    shape = [1, 48, 1, 30]
    t = pl.make_tensor(shape, pl.float32)
    u = pl.make_tensor(shape, pl.float32)
    product = pl.make_tensor(shape, pl.float32)
    a_all = pl.gtensor(shape, pl.GLOBAL, a_ptr)
    b_all = pl.gtensor(shape, pl.GLOBAL, b_ptr)
    out_all = pl.gtensor(shape, pl.GLOBAL, out_ptr)
    pl.tiu.zero(u)
    pl.dma.load(t, a_all)
    pl.dma.load({second}, b_all)
    pl.tiu.fmul(product, t, u)
    pl.dma.store(out_all, product)
"""
    for second, status in (("t", "violated"), ("u", "verified")):
        result = check(tmp_path, text.replace("{second}", second), "bm1684x")
        assert [k.status for k in result.kernels] == [status]
        assert [d.rule for d in result.diagnostics] == ["ppl-lost-result"] * (second == "t")


@pytest.mark.parametrize(("chosen", "undefined"), [("a", False), ("b", True)])
def test_of_two_results_in_one_place_the_last_one_stands(
    tmp_path: Path, chosen: str, undefined: bool
) -> None:
    text = f"""
@ppl.jit
def kernel(out_ptr, x_ptr):
    a = pl.make_tensor([1, 7, 5, 12], pl.uint32)
    b = pl.make_tensor([1, 7, 5, 12], pl.uint32)
    t = pl.make_tensor([1, 7, 5, 12], pl.uint32)
    pl.dma.load(a, pl.gtensor([1, 7, 5, 12], pl.GLOBAL, x_ptr))
    pl.tiu.min_lt_select(t, t, a, a, {chosen}, {chosen})
    part = t.sub_view([1, 7, 3, 12], [0, 0, 1, 0])
    pl.dma.store(pl.gtensor([1, 7, 3, 12], pl.GLOBAL, out_ptr), part)
"""
    found = rules(check(tmp_path, text, "bm1690"))
    assert ("uninitialised-read" in found) == undefined  # the minimum is written first


_SCALED = """\
@ppl.jit
def scaled(to, source, factor):
    pl.tiu.fmul(to, source, factor)


"""


@pytest.mark.parametrize("source", ["a", "total"])
def test_one_line_in_two_calls_of_a_function(source: str, tmp_path: Path) -> None:
    """The second one overwrites what the first one has made, or goes on with it."""
    text = _text(_LOAD.format(0) + f"scaled(total, a, 2.0)\nscaled(total, {source}, 3.0)")
    text = text.replace("# tilelint", _SCALED + "# tilelint")
    found = rules(check(tmp_path, text))
    assert found == ({} if source == "total" else {"ppl-lost-result": "always"})
