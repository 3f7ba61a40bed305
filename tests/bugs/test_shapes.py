"""Small kernels with the shape of public faults: reported where the fault is, gone once fixed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.bugs.support import elements
from verifier.engine import analyze_file
from verifier.report.model import Diagnostic, FileRequest

KERNELS = Path(__file__).parent / "kernels"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of one kernel: where, what rule says so, how large an input shows it, its fix.

    ``trigger`` is the input that the public report gave, scaled to this kernel; a counterexample
    may not be larger, in elements. ``line`` is the text of the faulty line.
    """

    kernel: str
    rule: str
    line: str
    trigger: dict[str, object]
    fix: tuple[tuple[str, str], ...]
    api_version: str | None = None

    def __str__(self) -> str:
        return f"{self.kernel}-{self.rule}"


FAULTS = (
    Fault(
        "hoisted_alloc",
        "oversized-tile",
        "column = nl.ndarray(",
        {"w.shape": [256, 128], "x.shape": [256, 512]},
        (("nl.par_dim(ROWS), WIDTH)", "nl.par_dim(ROWS), HEIGHT)"),),
    ),
    Fault(
        "window_step",
        "division-by-zero",
        "math.ceil((rows - 1) / advance)",
        {"x.shape": [8, 10, 10], "window": 1},
        (("assert window >= 1 ", "assert window >= 2 "),),
    ),
    Fault(
        "long_row_tail",
        "uninitialised-read",
        "op=nl.exp, data=row",
        {"q.shape": [128, 768], "k.shape": [128, 768]},
        (("assert n >= 512\n", "assert n % 512 == 0\n"),),
    ),
    Fault(
        "rows_unstored",
        "output-not-written",
        "y = nl.ndarray(",
        {"q.shape": [576, 128]},
        (("assert n >= 512\n", "assert n % 128 == 0\n"),),
    ),
    Fault(
        "pool_zero",
        "division-by-zero",
        "rows = height // window",
        {"x.shape": [2, 6, 6], "window": 0},
        (("    rows = height", "    assert window >= 1\n    rows = height"),),
    ),
    Fault(
        "pool_zero",
        "partition-extent",
        "t = nl.load(x)",
        {"x.shape": [256, 6, 6], "window": 2},
        (("    rows = height", "    assert channels <= 128\n    rows = height"),),
    ),
    Fault(
        "bit_and",
        "bit-test-divisibility",
        "features & 64",
        {"hidden.shape": [1, 160]},
        (("features & 64", "features % 64"),),
    ),
    Fault(
        "copy_dtype",
        "api-signature",
        "dtype=y.dtype)",
        {"a.shape": [96, 48], "b.shape": [96, 320]},
        ((", dtype=y.dtype)", ")"),),
        "0.3",
    ),
    Fault(
        "copy_dtype",
        "dma-store-conversion",
        "nisa.dma_copy(dst=y, src=staged)",
        {"a.shape": [96, 48], "b.shape": [96, 320]},
        (
            (
                "staged = nl.ndarray((48, 320), dtype=nl.float32",
                "staged = nl.ndarray((48, 320), dtype=y.dtype",
            ),
        ),
        "0.3",
    ),
    Fault(
        "contraction_unchecked",
        "input-tail-dropped",
        "for k in range(K // 128):",
        {"w.shape": [200, 64], "x.shape": [200, 384]},
        (("assert K == K_x\n", "assert K == K_x and K % 128 == 0\n"),),
    ),
)


def _findings(path: Path, fault: Fault) -> list[Diagnostic]:
    result = analyze_file(FileRequest(path=str(path), api_version=fault.api_version))
    assert not result.errors
    assert result.kernels
    return [d for d in result.diagnostics if d.rule == fault.rule]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_the_fault_is_reported_where_it_is(fault: Fault) -> None:
    path = KERNELS / f"{fault.kernel}.py"
    lines = path.read_text(encoding="utf-8").splitlines()
    (number,) = (n for n, line in enumerate(lines, start=1) if fault.line in line)
    (found,) = _findings(path, fault)
    assert found.span.line == number
    assert found.verdict != "unknown"
    assert found.severity in ("error", "warning")
    assert found.counterexample is not None
    assert elements(found.counterexample) <= elements(fault.trigger)
    for name, value in fault.trigger.items():
        if isinstance(value, int):
            seen = found.counterexample[name]
            assert isinstance(seen, int) and abs(seen) <= abs(value)


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_the_fixed_kernel_is_free_of_it(fault: Fault) -> None:
    text = (KERNELS / f"{fault.kernel}.py").read_text(encoding="utf-8")
    for old, new in fault.fix:
        assert text.count(old) == 1
        text = text.replace(old, new)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "fixed.py"
        path.write_text(text, encoding="utf-8")
        assert _findings(path, fault) == []
