"""What an instruction returns is no tile since NKI 0.2: whoever takes it for one is told so."""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np
import pytest

from verifier.engine import analyze_file
from verifier.executor import KernelViolation, simulate
from verifier.report.model import FileRequest, FileResult

KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, twice=False):
    assert x.shape == (96, 40) and x.dtype == nl.float32
    out = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.shared_hbm)
    t = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.sbuf)
    h = nisa.dma_copy(dst=t, src=x)
"""
END = """\
nisa.dma_copy(dst=out, src=t)
return out
"""


def written(folder: Path, body: str) -> Path:
    path = folder / "kernel.py"
    path.write_text(KERNEL + textwrap.indent(body + END, "    "))
    return path


def checked(path: Path) -> FileResult:
    result = analyze_file(FileRequest(path=str(path), roots=(str(path.parent),)))
    assert not result.errors
    return result


@pytest.mark.parametrize(
    ("body", "call"),
    [
        ("t = nisa.tensor_scalar(dst=t, data=t, op0=nl.add, operand0=1.0)\n", "tensor_scalar"),
        ("nisa.tensor_scalar(dst=t, data=t, op0=nl.add, operand0=h)\n", "dma_copy"),
        ("nisa.dma_copy(dst=h, src=x)\n", "dma_copy"),
        ("nisa.dma_copy(dst=t[0:64, :], src=h[0:64, :])\n", "dma_copy"),
        ("t = t.reshape(h.shape)\n", "dma_copy"),
        ("for _ in range(3):\n    t = nisa.memset(dst=t, value=0.0)\n", "memset"),
    ],
)
def test_a_result_is_no_tile(tmp_path: Path, body: str, call: str) -> None:
    path = written(tmp_path, body)
    result = checked(path)
    always = [d for d in result.diagnostics if d.verdict == "always"]
    assert {(d.rule, d.severity) for d in always} == {("api-signature", "error")}
    assert always[0].message.startswith(f"`nisa.{call}` returns no tile")
    assert always[0].facts == ("M002",)
    assert result.kernels[0].status == "violated"
    with pytest.raises(KernelViolation, match=rf"api-signature: `nisa\.{call}` returns no tile"):
        simulate(f"{path}::kernel")(np.ones((96, 40), np.float32))


def test_on_one_path(tmp_path: Path) -> None:
    """The paths on which it is the tile still are right."""
    path = written(tmp_path, "if twice:\n    t = nisa.memset(dst=t, value=0.0)\n")
    (kernel,) = checked(path).kernels
    assert kernel.status == "conditional"
    assert kernel.precondition is not None and kernel.precondition.text == "not twice"
    simulate(f"{path}::kernel")(np.ones((96, 40), np.float32))
    with pytest.raises(KernelViolation, match=r"`nisa\.memset` returns no tile"):
        simulate(f"{path}::kernel")(np.ones((96, 40), np.float32), True)


def test_a_returned_handle_is_no_output(tmp_path: Path) -> None:
    path = written(tmp_path, "return nisa.dma_copy(dst=out, src=t)\n")
    result = checked(path)
    assert [(d.rule, d.severity) for d in result.diagnostics] == [("no-output", "error")]


@pytest.mark.parametrize(
    "body",
    ["", "unused = nisa.memset(dst=t, value=0.0)\n", "assert h is not None\n", "held = [h]\n"],
)
def test_handles_may_be_kept(tmp_path: Path, body: str) -> None:
    path = written(tmp_path, body)
    assert checked(path).kernels[0].status == "verified"
    simulate(f"{path}::kernel")(np.ones((96, 40), np.float32))


@pytest.mark.parametrize(
    ("given", "rules"),
    [
        ("h", set()),
        ("h, h", set()),
        ("t", {"api-signature"}),
        ("None", {"api-signature"}),
        ("[h]", {"api-signature"}),
        ("'h'", {"api-signature"}),
        ("producers=h", {"api-signature"}),
        ("h if twice else 0", {"api-signature"}),
        ("late", {"device-loop"}),
    ],
)
def test_an_instruction_waits_for_others(tmp_path: Path, given: str, rules: set[str]) -> None:
    path = written(tmp_path, f"late = nisa.memset(dst=t, value=1.5)\nlate.depends_on({given})\n")
    assert {d.rule for d in checked(path).diagnostics} == rules


def test_instructions_wait_since_0_6(tmp_path: Path) -> None:
    path = written(tmp_path, "h.depends_on()\n")
    result = analyze_file(FileRequest(path=str(path), roots=(str(path.parent),), api_version="0.5"))
    assert [(d.rule, d.facts) for d in result.diagnostics] == [("api-removed", ("M138",))]
