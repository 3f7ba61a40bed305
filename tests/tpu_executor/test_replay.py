"""Counterexamples of TPU kernels are confirmed by their runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.apart import mark
from verifier.cli.run import command
from verifier.engine import analyze_file
from verifier.executor.replay import Item, replay
from verifier.report.model import FileRequest

ROWS = """\
from okk import *
import okk


# tilelint: contract (x: fp32[n, w], y: fp32[n, w], z: fp32[n, w])
@okk.kernel
def rows(n: int, w: int, x: okk.SystemAddr, y: okk.SystemAddr, z: okk.SystemAddr):
    assert {demand} and 1 <= w <= 900
    okk_initialize()
    for i in range({steps}):
        shape = dim4(1, {count}, 1, w)
        okk_gdma_32bit_cpy_S2L(0, x + i * 48 * w * 4, shape, NULL, NULL)
        okk_bdc_neg(4096, 0, {computed}, NULL, NULL)
        okk_gdma_32bit_cpy_L2S(y + i * 48 * w * 4, 4096, shape, NULL, NULL)
        if {twice}:
            okk_gdma_32bit_cpy_L2S(z + i * 48 * w * 4, 0, shape, NULL, NULL)
    okk_poll()
"""

RIGHT = {
    "demand": "1 <= n",
    "steps": "(n + 47) // 48",
    "count": "min(48, n - i * 48)",
    "computed": "shape",
    "twice": "True",
}


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        ({"steps": "n // 48", "count": "48"}, "okk-output-coverage"),  # with 1 row nothing at all
        (
            {"demand": "48 <= n", "steps": "n // 48", "count": "48"},
            "okk-output-coverage",
        ),
        ({"twice": "n > 1"}, "okk-output-coverage"),  # nothing of `z` if there is one row
        ({"computed": "dim4(1, 1, 1, w)"}, "okk-uninitialised-read"),
    ],
)
def test_what_was_not_done_shows(tmp_path: Path, wrong: dict[str, str], rule: str) -> None:
    def found(parts: dict[str, str]) -> dict[str, str | None]:
        path = tmp_path / "kernel.py"
        path.write_text(ROWS.format(**parts), encoding="utf-8")
        results = mark([analyze_file(FileRequest(str(path)))], jobs=1)
        return {d.rule: d.replay for result in results for d in result.diagnostics}

    assert found(RIGHT) == {}
    assert found({**RIGHT, **wrong}) == {rule: "confirmed"}


TAKEN = """\
import okk


@okk.kernel
def taken(b: int, x: okk.SystemAddr, y: okk.SystemAddr, z: okk.SystemAddr):
    assert {demand}
    okk.initialize()
    shape = okk.dim4(1, 64, 1, 8)
    okk.gdma_32bit_cpy_S2L(0, x, shape, None, None)
    okk.gdma_32bit_cpy_S2L(b, y, shape, None, None)
    okk.bdc_sqrt(b, b, shape)
    okk.bdc_div(b, 0, b, shape, None, None, None)
    okk.gdma_32bit_cpy_L2S(z, b, shape, None, None)
    okk.poll()
"""


@pytest.mark.parametrize(("place", "wrong"), [("b", True), ("0", True), ("b", False)])
def test_places_are_the_same_by_their_numbers(tmp_path: Path, place: str, wrong: bool) -> None:
    """An operand that is overwritten is lost whether its place is written as 0 or is b = 0: the
    check, the replay of its counterexample and a run say so."""
    path = tmp_path / "taken.py"
    text = TAKEN.format(demand="0 <= b <= 0" if wrong else "b == 128")
    path.write_text(text.replace("(b, y", f"({place}, y").replace("(b, b, ", f"({place}, b, "))
    found = analyze_file(FileRequest(path=str(path)))
    (kernel,) = found.kernels
    assert kernel.status == ("violated" if wrong else "verified")
    wrongs = [d for d in found.diagnostics if d.verdict == "always"]
    items = [Item.of(d, kernel) for d in wrongs]
    assert [answer.status for answer in replay(items)] == ["confirmed"] * len(wrongs)
    sizes = [f"{name}=fp32[512]" for name in "xyz"] + [f"b={0 if wrong else 128}"]
    done = CliRunner().invoke(
        command, [f"{path}::taken", *(p for s in sizes for p in ("--arg", s))]
    )
    assert done.exit_code == (1 if wrong else 0), done.output
