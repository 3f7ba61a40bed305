"""Texts on their way from one generation to another: what is reported, and what --fix makes of it.

``kernels/before/`` has kernels of ours as they were written, ``kernels/after/`` what they become
(``TILELINT_REGENERATE=1`` writes it anew).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.commands import tilelint
from tests.fixes.support import finish
from verifier.cli.fix import Again, Fixing
from verifier.engine import analyze_file
from verifier.report.model import FileRequest, FileResult

HERE = Path(__file__).parent / "kernels"
NAMES = sorted(path.name for path in (HERE / "before").glob("*.py"))
TO = "0.6"


def request(path: Path, *, api: str | None = None, to: str = TO) -> FileRequest:
    return FileRequest(
        path=str(path),
        roots=(str(path.parent),),
        api_version=api,
        migrate_to=to,
        migrate_text_only=True,
    )


def found(path: Path, *, api: str | None = None, to: str = TO) -> FileResult:
    return analyze_file(request(path, api=api, to=to))


def fixed(path: Path) -> tuple[Fixing, Sequence[FileResult]]:
    """What fixing does, without writing it, and what is left then."""
    again = Again([request(path)])
    fixing = Fixing(unsafe=False, write=False)
    return fixing, fixing.fix(again({}, [str(path)]), again, finish(path))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_mechanical_is_written(name: str) -> None:
    fixing, left = fixed(HERE / "before" / name)
    assert not fixing.refused
    (result,) = left
    assert not [d for d in result.diagnostics if d.fix is not None]
    (_, text) = fixing.changed[str(HERE / "before" / name)]
    after = HERE / "after" / name
    if os.environ.get("TILELINT_REGENERATE") == "1":
        after.write_text(text, encoding="utf-8")
    assert after.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("name", NAMES)
def test_what_was_written_stays(name: str) -> None:
    fixing, _ = fixed(HERE / "after" / name)
    assert not fixing.changed


@pytest.mark.parametrize("name", NAMES)
def test_what_was_written_has_no_fault_there(name: str) -> None:
    path = HERE / "after" / name
    result = analyze_file(FileRequest(path=str(path), api_version=TO, parts=False))
    assert result.kernels and not result.errors
    assert {kernel.status for kernel in result.kernels} <= {"verified", "conditional"}


def test_silent_changes_are_errors() -> None:
    weights = {
        (d.rule, d.severity)
        for name in NAMES
        for d in found(HERE / "before" / name).diagnostics
        if d.severity == "error"
    }
    assert weights <= {("migrate-meaning", "error")}


def test_a_result_has_the_shape_that_the_description_says(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(
        """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def turned(x):
    assert x.shape == (40, 96)
    out = nl.ndarray((96, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    other = nisa.nc_transpose(tile)
    nl.store(out, nl.copy(other))
    return out
""",
        encoding="utf-8",
    )
    fixing, _ = fixed(path)
    _, text = fixing.changed[str(path)]
    assert "nl.ndarray((tile.shape[1], tile.shape[0]), dtype=tile.dtype, buffer=nl.psum)" in text


#: a kernel of each text that runs under both generations, with its arguments
RUNS = (
    ("blocks.py", "product", ("a=fp32[64,384]", "b=fp32[384,320]")),
    ("indices.py", "moved", ("x=fp32[88,384]",)),
    ("results.py", "scaled", ("x=bf16[200,96]", "w=fp32[200,3]")),
    ("results.py", "ranked", ("x=fp32[72,96]",)),
    ("nested.py", "chained", ("x=fp32[96,200]",)),
    ("nested.py", "moved", ("x=fp32[96,200]",)),
    ("sums.py", "product", ("a=fp32[256,64]", "b=fp32[256,384]")),
)


@pytest.mark.parametrize(("name", "kernel", "given"), RUNS)
def test_what_was_written_computes_the_same_bits(
    name: str, kernel: str, given: Sequence[str], tmp_path: Path
) -> None:
    results = []
    for folder, api in (("before", "beta1"), ("after", TO)):
        saved = tmp_path / f"{folder}.npz"
        inputs = [word for text in given for word in ("--arg", text)]
        place = f"{HERE / folder / name}::{kernel}"
        run = tilelint("run", place, *inputs, "--api-version", api, "--seed", 7, "--save", saved)
        assert run.returncode == 0, run.stdout + run.stderr
        results.append(np.load(saved)["out0"])
    before, after = results
    assert before.dtype == after.dtype
    assert np.isfinite(before.astype(np.float32)).all()
    assert (before == after).all()


def test_nothing_is_written_before_a_silent_change_is_seen_to(tmp_path: Path) -> None:
    """The import alone says that the arguments are in the order of Beta 1."""
    path = tmp_path / "moved.py"
    path.write_text(
        "import neuronxcc.nki as nki\nimport neuronxcc.nki.isa as nisa\n\n\n@nki.jit\n"
        "def k(x, y):\n    both = (x, y)\n    nisa.nc_stream_shuffle(*both, [0] * 32)\n",
        encoding="utf-8",
    )
    result = found(path)
    (silent,) = [d for d in result.diagnostics if d.severity == "error"]
    assert silent.facts == ("M010",) and "writes nothing" in silent.help[-1]
    assert len(result.diagnostics) == 3 and not any(d.fix for d in result.diagnostics)


@pytest.mark.parametrize(("given", "rules"), [("True", ["migrate-python"]), ("False", [])])
def test_kernels_are_judged_under_their_contracts(
    given: str, rules: list[str], tmp_path: Path
) -> None:
    """What a contract excludes needs no change."""
    path = tmp_path / "returned.py"
    path.write_text(
        "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n\n\n"
        f"# tilelint: contract (x: fp32[40, 96], private: {given})\n"
        "@nki.jit\ndef k(x, private):\n"
        "    made = nl.hbm if private else nl.shared_hbm\n"
        "    out = nl.ndarray(x.shape, x.dtype, made)\n"
        "    nisa.dma_copy(dst=out, src=x)\n    return out\n",
        encoding="utf-8",
    )
    assert [d.rule for d in found(path, api="0.2").diagnostics] == rules


def test_zeros_that_a_loop_may_leave_are_reported_and_left(tmp_path: Path) -> None:
    """NKI-M136: where the loop may not run at all the zeros are the result, and nobody but the
    author can say whether it does."""
    path = tmp_path / "sums.py"
    path.write_text(
        "import neuronxcc.nki as nki\nimport neuronxcc.nki.isa as nisa\n"
        "import neuronxcc.nki.language as nl\n\n\n@nki.jit\ndef k(a, b):\n"
        "    K, M = a.shape\n    assert M == 96 and b.shape == (K, 320)\n"
        "    out = nl.ndarray((96, 320), dtype=nl.float32, buffer=nl.shared_hbm)\n"
        "    acc = nl.zeros((96, 320), nl.float32, buffer=nl.psum)\n"
        "    for i in nl.affine_range(K // 128):\n"
        "        x = nl.load(a[i * 128 : (i + 1) * 128, :])\n"
        "        y = nl.load(b[i * 128 : (i + 1) * 128, :])\n"
        "        acc += nisa.nc_matmul(x, y)\n"
        "    nl.store(out, value=nl.copy(acc))\n    return out\n",
        encoding="utf-8",
    )
    (zeros,) = [d for d in found(path).diagnostics if "M136" in " ".join(d.facts)]
    assert zeros.span.line == 11 and zeros.fix is None
    assert "see to it that the loop runs" in zeros.help[0]


@pytest.mark.parametrize(
    ("product", "zeros", "written"),
    [
        (
            "nl.load(a[i]), nl.load(b[i])",
            "nl.ndarray((64, 320)",
            "nisa.nc_matmul(dst=acc[...], stationary=nl.load(a[i]), moving=nl.load(b[i]))",
        ),
        (
            "nisa.tensor_copy(nl.load(a[i])), nl.load(b[i])",
            "nl.ndarray((64, 320)",
            "nisa.nc_matmul(dst=acc[...], stationary=tensor_copy_out, moving=nl.load(b[i]))",
        ),
        (
            "nl.load(a[i]), nl.load(b[i]), mask=(i < 2)",
            "nl.zeros((64, 320)",
            "acc[...] += nisa.nc_matmul(nl.load(a[i]), nl.load(b[i]), mask=(i < 2))",
        ),
    ],
)
def test_zeros_go_with_the_product_that_adds_to_them(
    product: str, zeros: str, written: str, tmp_path: Path
) -> None:
    path = tmp_path / "sums.py"
    path.write_text(
        "import neuronxcc.nki as nki\nimport neuronxcc.nki.isa as nisa\n"
        "import neuronxcc.nki.language as nl\n\n\n@nki.jit\ndef k(a, b):\n"
        "    assert a.shape == (2, 96, 64) and b.shape == (2, 96, 320)\n"
        "    out = nl.ndarray((64, 320), dtype=nl.float32, buffer=nl.shared_hbm)\n"
        "    acc = nl.zeros((64, 320), nl.float32, buffer=nl.psum)\n"
        "    for i in nl.affine_range(2):\n"
        f"        acc[...] += nisa.nc_matmul({product})\n"
        "    nl.store(out, value=nl.copy(acc))\n"
        "    sum_ = nl.zeros((64, 320), nl.float32, buffer=nl.psum)\n"
        "    sum_ += nisa.nc_matmul(nisa.tensor_copy(nl.load(a[0])), nl.load(b[0]))\n"
        "    nl.store(out, value=nl.copy(sum_))\n    return out\n",
        encoding="utf-8",
    )
    fixing, _ = fixed(path)
    _, text = fixing.changed[str(path)]
    assert f"acc = {zeros}" in text and written in text
    assert "sum_ = nl.ndarray" in text
