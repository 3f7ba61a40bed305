"""``tilelint run`` on TPU kernels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from verifier.cli.run import command
from verifier.engine import analyze_file
from verifier.report.model import FileRequest

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"

HOST = """\
import torch
import ppl
import ppl.language as pl


@ppl.jit
def doubled(out_ptr, x_ptr, width):
    x = pl.make_tensor([1, 1, 1, 500], pl.float16, [1, 1, 1, width])
    pl.dma.load(x, pl.gtensor([1, 1, 1, width], pl.GLOBAL, x_ptr).view())
    pl.tiu.fadd(x, x, x)
    pl.dma.store(pl.gtensor([1, 1, 1, width], pl.GLOBAL, out_ptr).view(), x)


x = torch.rand((1, 1, 1, 90), dtype=torch.half)
out = torch.empty((1, 1, 1, 90), dtype=torch.half)
for row in torch.arange(5):
    print(row)
doubled[(1, 1)](out, x, 90)
assert torch.allclose(out, x + x)
"""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)


def test_okk(tmp_path: Path) -> None:
    saved = tmp_path / "out.npz"
    found = run(
        f"{FIXTURES}/okk/good/transpose_strides.py::transpose_strides",
        "--arg", "rows=70", "--arg", "columns=90",
        "--arg", "output=fp32[90, 70]", "--arg", "source=fp32[70, 90]",
        "--save", str(saved),
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    assert "no violations" in found.output and "out0: float32[90, 70]" in found.output
    arrays = np.load(saved)
    assert np.array_equal(arrays["out0"], arrays["source"].T)


def test_okk_violation() -> None:
    found = run(
        f"{FIXTURES}/okk/bad/tall_image.py::" + _kernel("okk/bad/tall_image.py"),
        "--arg", "channels=1", "--arg", "height=235", "--arg", "width=279",
        "--arg", "output=fp32[1, 235, 279]", "--arg", "source=fp32[1, 235, 279]",
        "--shapes-only",
    )  # fmt: skip
    assert found.exit_code == 1, found.output
    assert "okk-local-extent" in found.output


def _kernel(path: str) -> str:
    text = (FIXTURES / path).read_text(encoding="utf-8")
    return text.partition("@okk.kernel")[2].partition("def ")[2].partition("(")[0]


def test_ppl_on_cores(tmp_path: Path) -> None:
    saved = tmp_path / "out.npz"
    found = run(
        f"{FIXTURES}/ppl/good/scaled_sum.py::scaled_sum", "--target", "sg2260e", "--grid", "1,4",
        "--arg", "out_ptr=fp32[100, 33]", "--arg", "x_ptr=fp32[100, 33]",
        "--arg", "y_ptr=fp32[100, 33]", "--arg", "scale=2.0",
        "--arg", "rows=100", "--arg", "width=33", "--save", str(saved),
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    arrays = np.load(saved)
    assert np.array_equal(arrays["out0"], arrays["x_ptr"] * np.float32(2) + arrays["y_ptr"])


LOST = """\
import ppl
import ppl.language as pl


# tilelint: contract (out_ptr: fp32[{rows}, 50], x_ptr: fp32[{rows}, 50])
@ppl.jit
def lost(out_ptr, x_ptr):
    x_all = pl.gtensor([1, {rows}, 1, 50], pl.GLOBAL, x_ptr)
    out_all = pl.gtensor([1, {rows}, 1, 50], pl.GLOBAL, out_ptr)
    for r in range({trips}):
        x = pl.make_tensor([1, 8, 1, 50], pl.float32)
        pl.dma.load(x, x_all.sub_view([1, 8, 1, 50], [0, 8 * r, 0, 0]))
        pl.dma.store(out_all.sub_view([1, 8, 1, 50], [0, 8 * r, 0, 0]), x)
"""


@pytest.mark.parametrize(
    ("rows", "trips", "severity"),
    [
        (30, "30 // 8", "error"),  # a rest of less than a tile: the loop rounds down
        (30, "2", "error"),  # the caller gets the rest as it was, and nobody says so
        (32, "32 // 8", ""),
    ],
)
def test_rows_that_are_never_stored(tmp_path: Path, rows: int, trips: str, severity: str) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(LOST.format(rows=rows, trips=trips), encoding="utf-8")
    result = analyze_file(FileRequest(str(path), targets=("bm1690",)))
    said = [d.severity for d in result.diagnostics if d.rule == "output-not-written"]
    assert said == [severity] * bool(severity)
    arguments = [f"--arg={name}=fp32[{rows}, 50]" for name in ("out_ptr", "x_ptr")]
    found = run(f"{path}::lost", "--target", "bm1690", *arguments)
    assert found.exit_code == int(severity == "error"), found.output
    assert (f"{severity}[output-not-written]" in found.output) == bool(severity)


STAGES = """\
import ppl
import ppl.language as pl


# tilelint: contract (out_ptr: fp32[4, 20, 30], x_ptr: fp32[4, 20, 30])
@ppl.jit
def staged(out_ptr, x_ptr):
    x_all = pl.gtensor([4, 20, 1, 30], pl.GLOBAL, x_ptr)
    out_all = pl.gtensor([4, 20, 1, 30], pl.GLOBAL, out_ptr)
    {before}
    for i in range(4):
        {within}
        pl.enable_pipeline()
        y = pl.make_tensor([1, 20, 1, 30], pl.float32)
        pl.dma.load(x, x_all.sub_view([1, 20, 1, 30], [i, 0, 0, 0]))
        pl.tiu.fmul(y, x, x)
        pl.dma.store(out_all.sub_view([1, 20, 1, 30], [i, 0, 0, 0]), y)
"""
MADE = "x = pl.make_tensor([1, 20, 1, 30], pl.float32)"


@pytest.mark.parametrize(("before", "within"), [(MADE, "pass"), ("pass", MADE)])
def test_what_stages_share(tmp_path: Path, before: str, within: str) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(STAGES.format(before=before, within=within), encoding="utf-8")
    result = analyze_file(FileRequest(str(path), targets=("bm1690",)))
    wrong = before == MADE
    said = [(d.rule, d.severity) for d in result.diagnostics]
    assert said == [("ppl-pipeline-sharing", "warning")] * wrong
    arguments = [f"--arg={name}=fp32[4, 20, 30]" for name in ("out_ptr", "x_ptr")]
    found = run(f"{path}::staged", "--target", "bm1690", *arguments)
    assert found.exit_code == 0, found.output
    assert ("warning[ppl-pipeline-sharing]: stages" in found.output) == wrong


def test_a_file_that_launches_its_kernel(tmp_path: Path) -> None:
    """Neither torch nor a device is there; the kernel that stands above is run."""
    path = tmp_path / "host.py"
    path.write_text(HOST, encoding="utf-8")
    found = run(
        f"{path}::doubled",
        "--arg", "out_ptr=fp16[90]", "--arg", "x_ptr=fp16[90]", "--arg", "width=90",
    )  # fmt: skip
    assert found.exit_code == 0, found.output


def test_misuse(tmp_path: Path) -> None:
    kernel = f"{FIXTURES}/okk/good/relu_pieces.py::relu_pieces"
    found = run(kernel, "--target", "trn2", "--arg", "length=64")
    assert found.exit_code == 2
    found = run(kernel, "--arg", "length=64", "--arg", "output=fp32[64]")
    assert found.exit_code == 2
    found = run(kernel, "--arg", "breadth=64")
    assert found.exit_code == 2


def test_a_float_is_no_address(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(
        "import okk\n\n\n@okk.kernel\n"
        "def halved(x: okk.SystemAddr, y: okk.SystemAddr):\n"
        "    okk.initialize()\n"
        "    half = okk.local_mem_size_per_npu() / 2\n"
        "    okk.gdma_32bit_cpy_S2L(half, x, okk.dim4(1, 3, 1, 7), None, None)\n"
        "    okk.poll()\n",
        encoding="utf-8",
    )
    found = run(f"{path}::halved", "--arg", "x=float32[21]", "--arg", "y=float32[21]")
    assert found.exit_code and "TypeError: the float" in found.output


SHARES = """\
# tilelint: contract (out_ptr: fp16[R, 24], x_ptr: fp16[R, 24], rows: R)
@ppl.jit
def shares(out_ptr, x_ptr, rows: pl.constexpr):
    share = rows // pl.get_core_num()
    source = pl.gtensor([1, rows, 1, 24], pl.GLOBAL, x_ptr)
    target = pl.gtensor([1, rows, 1, 24], pl.GLOBAL, out_ptr)
    part = [1, share, 1, 24]
    x = pl.make_tensor([1, 64, 1, 24], pl.float16, part)
    first = [0, pl.get_core_index() * share, 0, 0]
    pl.dma.load(x, source.sub_view(part, first))
    pl.dma.store(target.sub_view(part, first), x)
"""


@pytest.mark.parametrize(
    ("rows", "grid", "told", "alone"),
    [
        (9, "1,8", "no errors, 1 warning (16 operations on 8 cores", False),
        (16, "1,8", "no violations (16 operations on 8 cores", False),
        (9, "", "no violations (2 operations on 1 core", True),
    ],
)
def test_a_run_says_how_many_cores_it_was_on(
    tmp_path: Path, rows: int, grid: str, told: str, alone: bool
) -> None:
    """And does not call it clean where a row is left out by all of them."""
    path = tmp_path / "kernel.py"
    path.write_text(f"import ppl\nimport ppl.language as pl\n\n\n{SHARES}", encoding="utf-8")
    given = (f"out_ptr=fp16[{rows},24]", f"x_ptr=fp16[{rows},24]", f"rows={rows}")
    on = ["--grid", grid] if grid else []
    found = run(
        f"{path}::shares", "--target", "bm1690", *on, *(p for g in given for p in ("--arg", g))
    )
    assert found.exit_code == 0 and told in found.output, found.output
    assert ("--grid 1,8 does" in found.output) is alone
    assert ("output-not-written" in found.output) is ("warning" in told)


@pytest.mark.parametrize("width", [1, 1024])
def test_what_breaks_for_other_sizes_is_not_told_of_these(tmp_path: Path, width: int) -> None:
    """For 1025 columns, which the contract admits, the second load reaches into the first one."""
    path = tmp_path / "added.py"
    path.write_text(
        """\
from dataclasses import dataclass

import okk


@dataclass
class Params:
    w: int
    c: okk.SystemAddr
    a: okk.SystemAddr
    b: okk.SystemAddr


# tilelint: contract (c: fp32[64, W], a: fp32[64, W], b: fp32[64, W], w: W) where W <= 1025
@okk.kernel(Params)
def added(args):
    okk.initialize()
    shape = okk.dim4(1, 64, 1, args.w)
    okk.gdma_32bit_cpy_S2L(0, args.a, shape, None, None)
    okk.gdma_32bit_cpy_S2L(4096, args.b, shape, None, None)
    okk.bdc_add(16384, 0, 4096, shape, None, None, None)
    okk.gdma_32bit_cpy_L2S(args.c, 16384, shape, None, None)
    okk.poll()
""",
        encoding="utf-8",
    )
    tensors = [f"--arg={name}=fp32[64,{width}]" for name in "cab"]
    found = run(f"{path}::added", *tensors, f"--arg=w={width}")
    assert found.exit_code == 0, found.output
