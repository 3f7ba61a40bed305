"""What is written to as a register, and is none: the same in a check and in runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from verifier.engine import analyze_file
from verifier.executor import KernelViolation, simulate
from verifier.report.model import Diagnostic, FileRequest

KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, n):
    assert x.shape == (32, 8) and x.dtype == nl.float32
    assert n.shape == (1, 1) and n.dtype == nl.int32
    y = nl.ndarray((32, 8), dtype=nl.float32, buffer=nl.shared_hbm)
    t = nl.ndarray((32, 8), dtype=nl.float32, buffer=nl.sbuf)
    held = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=held, src=n)
    nisa.dma_copy(dst=t, src=x)
    count = nisa.register_alloc()
    other = nisa.register_alloc(0)
    nisa.register_load(count, held)
    for i in nl.dynamic_range(0, count, 1):
        nisa.{written}
        nisa.tensor_scalar(dst=t, data=t, op0=nl.add, operand0=1.0)
    nisa.dma_copy(dst=y, src=t)
    return y
"""
GIVEN = (np.ones((32, 8), np.float32), np.array([[3]], np.int32))


def made(folder: Path, written: str) -> Path:
    path = folder / "file.py"
    path.write_text(KERNEL.replace("{written}", written))
    return path


def checked(path: Path) -> list[Diagnostic]:
    result = analyze_file(FileRequest(path=str(path), roots=(str(path.parent),)))
    return [d for d in result.diagnostics if d.rule == "device-loop"]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("register_move(i, 3)", "dst is no register that can be written to"),
        ("register_move(7, count)", "dst is no register that can be written to"),
        ("register_move(t, count)", "dst is no register"),
        ("register_load(i, held)", "dst is no register that can be written to"),
    ],
)
def test_what_is_no_register_is_not_written(tmp_path: Path, written: str, message: str) -> None:
    """How often the device runs the loop is known at run time only; its body is compiled."""
    path = made(tmp_path, written)
    found = [
        d
        for d in analyze_file(FileRequest(path=str(path), roots=(str(path.parent),))).diagnostics
        if d.rule == "device-loop"
    ]
    assert [(d.severity, d.verdict) for d in found] == [("error", "always")]
    assert found[0].message.startswith(message)
    with pytest.raises(KernelViolation, match=f"device-loop: {message}"):
        simulate(f"{path}::kernel")(*GIVEN)
    outcome = simulate(f"{path}::kernel", keep_going=True).outcome(*GIVEN)
    assert outcome.ended is None
    assert {d.rule for d in outcome.violations} == {"device-loop"}


def test_a_register_is_written(tmp_path: Path) -> None:
    path = made(tmp_path, "register_move(other, count)")
    assert not [
        d
        for d in analyze_file(FileRequest(path=str(path), roots=(str(path.parent),))).diagnostics
        if d.rule == "device-loop"
    ]
    np.testing.assert_array_equal(simulate(f"{path}::kernel")(*GIVEN), GIVEN[0] + 3)


PARTS = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, n):
    assert x.shape == (2, 24, 40) and x.dtype == nl.float32
    assert n.shape == (1, 1) and n.dtype == nl.int32
    y = nl.ndarray((3, 2, 24, 40), dtype=nl.float32, buffer=nl.shared_hbm)
    zero = nl.ndarray((72, 80), dtype=nl.float32, buffer=nl.sbuf)
    held = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.memset(dst=zero, value=0.0)
    nisa.dma_copy(dst=y.reshape((72, 80)), src=zero)
    nisa.dma_copy(dst=held, src=n)
    r = nisa.register_alloc()
    nisa.register_load(r, held)
    pair = y.select(0, r)
    {written}
    return y
"""


@pytest.mark.parametrize(
    "written",
    [
        "a, b = pair[0], pair[1]; nisa.dma_copy(dst=a, src=x[0]); nisa.dma_copy(dst=b, src=x[1])",
        "nisa.dma_copy(dst=pair[:, 0:20], src=x[:, 0:20])\n"
        "    nisa.dma_copy(dst=pair[:, 20:24][:, :, 0:40], src=x[:, 20:24])",
        "nisa.dma_copy(dst=pair[:, :, 0:40:2], src=x[:, :, 0:40:2])\n"
        "    nisa.dma_copy(dst=pair[:][..., 1:40:2], src=x[:, :, 1:40:2])",
    ],
)
def test_parts_of_a_view_that_a_register_places_are_told_apart(
    tmp_path: Path, written: str
) -> None:
    path = tmp_path / "file.py"
    path.write_text(PARTS.replace("{written}", written))
    x = np.arange(2 * 24 * 40, dtype=np.float32).reshape(2, 24, 40)
    found = simulate(f"{path}::kernel")(x, np.array([[2]], np.int32))
    np.testing.assert_array_equal(found[2], x)
    assert not np.any(found[:2])


def test_the_body_of_a_loop_returns_what_says_whether_it_goes_on(tmp_path: Path) -> None:
    loop = """\
    def body(r):
        nisa.tensor_scalar(dst=t, data=t, op0=nl.add, operand0=1.0)
        nisa.tensor_scalar(dst=held, data=held, op0=nl.subtract, operand0=1)
        nisa.register_load(count, held)
        {end}
    nl.while_loop(count, body)
"""
    lines = KERNEL.splitlines(keepends=True)
    at = next(k for k, line in enumerate(lines) if "dynamic_range" in line)
    text = "".join([*lines[:at], loop, *lines[at + 3 :]])
    path = tmp_path / "file.py"
    path.write_text(text.format(end="return count"))
    run = simulate(f"{path}::kernel", api_version="0.6")
    np.testing.assert_array_equal(run(*GIVEN), GIVEN[0] + 3)
    for end in ("pass", "return 1"):
        path.write_text(text.format(end=end))
        with pytest.raises(KernelViolation, match="device-loop: the body of `while_loop` does not"):
            simulate(f"{path}::kernel", api_version="0.6")(*GIVEN)
        again = simulate(f"{path}::kernel", api_version="0.6", keep_going=True).outcome(*GIVEN)
        assert {d.rule for d in again.violations} == {"device-loop"}
