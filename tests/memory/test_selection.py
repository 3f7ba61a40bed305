"""``affine_select`` takes what an affine function of the position selects: no more is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifier.engine import analyze_file
from verifier.executor import simulate
from verifier.executor.machine import Options
from verifier.executor.running import Shaped
from verifier.report.model import FileRequest

_KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def selected(x):
    assert x.shape == (40, 24) and x.dtype == nl.float32
    out = nl.ndarray((40, 24), dtype=nl.float32, buffer=nl.shared_hbm)
    t = nl.ndarray((40, {shape}), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=t.reshape((40, 24))[:, 0:20], src=x[:, 0:20])
    z = nl.ndarray((40, {shape}), dtype=nl.float32, buffer=nl.sbuf)
    nisa.affine_select(
        dst=z, pattern={pattern}, channel_multiplier={slope}, offset={offset},
        on_true_tile=t, on_false_value=0.0, cmp_op=nl.{compare},
    )
    nisa.dma_copy(dst=out, src=z.reshape((40, 24)))
    return out
"""


@pytest.mark.parametrize(
    ("shape", "pattern", "slope", "offset", "compare", "right"),
    [
        ("24", [[1, 24]], 0, -20, "less", True),  # columns 0 .. 19, those that are loaded
        ("24", [[1, 24]], 0, -21, "less", False),
        ("24", [[-1, 24]], 1, -20, "greater_equal", True),  # column <= partition - 20
        ("24", [[-1, 24]], 1, -19, "greater_equal", False),  # partition 39, column 20
        ("4, 6", [[6, 4], [1, 6]], 0, -19, "less_equal", True),
        ("4, 6", [[6, 4], [1, 6]], 0, -20, "equal", False),
        ("4, 6", [[1, 24]], 0, -20, "less", True),  # one loop over two axes
        ("4, 6", [[1, 24]], 0, -20, "not_equal", False),
        ("24", [[0, 12], [1, 2]], 0, 0, "greater", False),  # the odd columns
    ],
)
def test_only_what_is_selected_is_read(
    shape: str,
    pattern: list[list[int]],
    slope: int,
    offset: int,
    compare: str,
    right: bool,
    tmp_path: Path,
) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(
        _KERNEL.format(shape=shape, pattern=pattern, slope=slope, offset=offset, compare=compare)
    )
    wanted = [] if right else ["uninitialised-read"]
    result = analyze_file(FileRequest(path=str(path)))
    assert not result.errors
    assert [d.rule for d in result.diagnostics if d.severity == "error"] == wanted
    assert [k.status for k in result.kernels] == ["verified" if right else "violated"]
    made = simulate(f"{path}::selected")
    for shapes_only in (False, True):
        options = Options(shapes_only=shapes_only, keep_going=True)
        run = type(made)(made.kernel, made.target, made.api_version, options)
        outcome = run.outcome(Shaped("float32", (40, 24)))
        assert outcome.ended is None
        assert [d.rule for d in outcome.violations] == wanted
