"""``tilelint run``: what it prints, its exit status, and its limits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
KERNELS = """
import os

os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"] = "none"

import nki
import nki.isa as nisa
import nki.language as nl
import rules
import verifier
from verifier.tools import half


@nki.jit(mode="any")
def scaled(x, factor=half(rules.SCALE)):
    assert verifier.NAME == "mine"
    P, F = x.shape
    y = nl.ndarray((P, F), dtype=nl.float32, buffer=nl.shared_hbm)
    t = nl.ndarray((P, F), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=factor)
    nisa.dma_copy(dst=y, src=t)
    return y


@nki.jit
def forever(x):
    while True:
        t = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)


@nki.jit
def greedy(x):
    kept = []
    while True:
        kept.append(bytearray(10_000_000))


@nki.jit
def raises(x):
    return x.shape[7]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A kernel file whose own helpers have the names of our packages."""
    (tmp_path / "rules.py").write_text("SCALE = 3.0\n")
    (tmp_path / "verifier").mkdir()
    (tmp_path / "verifier" / "__init__.py").write_text("NAME = 'mine'\n")
    (tmp_path / "verifier" / "tools.py").write_text("def half(x):\n    return x / 2\n")
    path = tmp_path / "kernels.py"
    path.write_text(KERNELS)
    return path


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "verifier", "run", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_clean_run_saves_inputs_and_results(file: Path, tmp_path: Path) -> None:
    saved = tmp_path / "out.npz"
    done = command(f"{file}::scaled", "--arg", "x=fp32[64,32]", "--seed", 5, "--save", saved)
    assert (done.returncode, done.stderr) == (0, "")
    assert "no violations" in done.stdout and "out0: float32[64, 32]" in done.stdout
    arrays = np.load(saved)
    assert sorted(arrays.files) == ["out0", "x"]
    np.testing.assert_allclose(arrays["out0"], arrays["x"] * 1.5)


def test_an_array_of_a_file_is_an_argument(file: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((4, 8), np.float32))
    saved = tmp_path / "out.npz"
    x = f"x=@{tmp_path / 'x.npy'}"
    done = command(f"{file}::scaled", "--arg", x, "--arg", "factor=4", "--save", saved)
    assert done.returncode == 0
    np.testing.assert_array_equal(np.load(saved)["out0"], 4)


def test_a_violation_is_shown_with_its_line(file: Path) -> None:
    done = command(f"{file}::scaled", "--arg", "x=fp32[200,32]")
    assert done.returncode == 1
    assert "error[partition-extent]" in done.stdout and "t = nl.ndarray((P, F)" in done.stdout
    assert "kernels.py:19:20" in done.stdout


def test_a_huge_tensor_is_checked_by_its_shape(file: Path) -> None:
    done = command(f"{file}::scaled", "--arg", "x=fp32[100000,300000]", "--shapes-only")
    assert done.returncode == 1 and "partition-extent" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["scaled"], "needs `x`: give it with --arg x=..."),
        (["scaled", "--arg", "x=fp33[4,4]"], "unknown dtype 'fp33'"),
        (["scaled", "--arg", "x=fp32[4,-4]"], "'-4' is no size"),
        (["scaled", "--arg", "x=fp32[4"], "a tensor is DTYPE[SIZE,SIZE...]"),
        (["scaled", "--arg", "x=@nowhere.npy"], "nowhere.npy: no such file"),
        (["scaled", "--arg", "x=fp32[4,4]", "--arg", "z=1"], "has no parameter `z`"),
        (["scaled", "--arg", "x=fp32[4,4]", "--target", "gpu"], "unknown target 'gpu'"),
        (["scaled", "--arg", "x=fp32[4,4]", "--grid", "2,0"], "a grid is one to three"),
        (["absent", "--arg", "x=fp32[4,4]"], "has no kernel `absent`"),
        (["raises", "--arg", "x=fp32[4,4]"], "kernels.py:41: `raises` raises IndexError"),
        (
            ["forever", "--arg", "x=fp32[4,4]", "--timeout", "0.5"],
            "the kernel still runs after 0.5 seconds",
        ),
        (["greedy", "--arg", "x=fp32[4,4]", "--memory", "300"], "needs more memory"),
    ],
)
def test_misuse_is_one_line(file: Path, arguments: list[str], message: str) -> None:
    name, *rest = arguments
    done = command(f"{file}::{name}", *rest)
    assert done.returncode == 2 and done.stdout == ""
    assert message in done.stderr and done.stderr.count("\n") == 1


def test_a_missing_file_and_a_missing_name() -> None:
    assert "no such file" in command("nowhere.py::kernel").stderr
    assert "FILE::KERNEL" in command("nowhere.py").stderr


def test_a_file_that_does_not_parse(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("def f(:\n")
    done = command(f"{path}::f")
    assert done.returncode == 2 and "broken.py:1:" in done.stderr


def test_an_order_that_matters_is_a_violation(tmp_path: Path) -> None:
    path = tmp_path / "last.py"
    path.write_text(
        "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n\n\n@nki.jit\n"
        "def last(x):\n"
        "    y = nl.ndarray((4, 8), dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "    t = nl.ndarray((4, 8), dtype=x.dtype, buffer=nl.sbuf)\n"
        "    for i in nl.affine_range(4):\n"
        "        nisa.dma_copy(dst=t, src=x[i * 4 : (i + 1) * 4, :])\n"
        "    nisa.dma_copy(dst=y, src=t)\n"
        "    return y\n"
    )
    assert command(f"{path}::last", "--arg", "x=fp32[16,8]").returncode == 0
    done = command(f"{path}::last", "--arg", "x=fp32[16,8]", "--loop-order", "reversed")
    assert done.returncode == 1 and "loop-carried-dependence" in done.stdout
