"""Transfers and moves between lanes: bytes arrive as they are, so both sides are equally wide."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ppl.support import check

_KERNEL = """\
# tilelint: contract (out_ptr: {out}[1, 40, 1, 90], x_ptr: {given}[1, 40, 1, 90])
@ppl.jit
def kernel(out_ptr, x_ptr):
    source = pl.gtensor([1, 40, 1, 90], pl.GLOBAL, x_ptr)
    target = pl.gtensor([1, 40, 1, 90], pl.GLOBAL, out_ptr)
    x = pl.make_tensor([1, 40, 1, 90], pl.{tile})
    pl.dma.load(x, source)
    y = pl.make_tensor([1, 40, 1, 90], pl.{other})
    {move}
    pl.dma.store(target, y)
"""
_CAST = "pl.tiu.cast(y, x, pl.{})"
_ACROSS = "pl.tiu.move_cross_lane(y, x)"


@pytest.mark.parametrize(
    ("given", "tile", "move", "other", "out", "wrong"),
    [
        ("fp16", "float16", "pl.dma.move(y, x)", "float16", "fp16", 0),
        ("fp16", "float16", _CAST.format("float32"), "float32", "fp32", 0),
        ("fp16", "float32", _CAST.format("float16"), "float16", "fp16", 1),
        ("fp16", "float16", _CAST.format("float32"), "float32", "fp16", 1),
        ("int8", "int16", "pl.dma.move(y, x)", "int16", "int16", 1),
        ("fp16", "float16", "pl.dma.move(y, x)", "float32", "fp32", 1),
        ("fp16", "float16", _ACROSS, "float32", "fp32", 1),
        ("fp16", "float16", _ACROSS, "float16", "fp16", 0),
        # the same bits, whoever counts with a sign
        ("int32", "uint32", "pl.dma.move(y, x)", "uint32", "int32", 0),
    ],
)
def test_elements_of_one_width(
    tmp_path: Path, given: str, tile: str, move: str, other: str, out: str, wrong: int
) -> None:
    text = _KERNEL.format(given=given, tile=tile, move=move, other=other, out=out)
    result = check(tmp_path, text, "bm1684x")
    found = [d.rule for d in result.diagnostics if d.severity == "error"]
    assert found == ["ppl-dtypes"] * wrong
    assert result.kernels[0].status == ("violated" if wrong else "verified")


@pytest.mark.parametrize(
    ("call", "status", "advice"),
    [
        ("pl.tiu.fplus(y, x, 1.0)", "violated", ()),
        ("pl.tiu.fmull(y, x, 1.0)", "violated", ("did you mean `fmul`?",)),
        ("pl.elements(x)", "violated", ()),
        ("x.reshaped([1, 40, 1, 90])", "violated", ()),
        # the language has it, and it is not followed
        ("pl.sigmoid(x)", "unknown", None),
    ],
)
def test_names_that_are_not_there(
    tmp_path: Path, call: str, status: str, advice: tuple[str, ...] | None
) -> None:
    """What the language has is known: any other name is an error, near to one or not."""
    text = _KERNEL.format(
        given="fp16", tile="float16", move=call, other="float16", out="fp16"
    ).replace("    pl.dma.store(target, y)", "    pl.dma.store(target, x)")
    result = check(tmp_path, text, "bm1684x")
    assert result.kernels[0].status == status
    found = [d for d in result.diagnostics if d.rule == "ppl-unknown-name"]
    assert [d.help for d in found] == ([] if advice is None else [advice])
