"""Each result takes memory, also in an expression; one that is assigned to a tile is that tile."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifier.engine import analyze_file
from verifier.executor import simulate
from verifier.executor.machine import Options
from verifier.executor.running import Shaped
from verifier.report.model import FileRequest

_KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def blend(x):
    assert x.shape == (96, 24000)
    assert x.dtype == nl.float32
    out = nl.ndarray((96, 24000), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x)
{body}
    return out
"""


@pytest.mark.parametrize(
    ("body", "fits"),
    [
        ("    nl.store(out, value=nl.exp(tile))", True),
        ("    nl.store(out, value=tile * 2.0 + nl.exp(tile))", False),
        ("    tile[...] = tile * 3.0\n    nl.store(out, value=tile)", True),
        ("    double = tile * 2.0\n    nl.store(out, value=double + tile)", False),
        (
            "    made = nl.ndarray((96, 24000), dtype=nl.float32, buffer=nl.sbuf)\n"
            "    made[...] = nl.exp(tile)\n    nl.store(out, value=made)",
            True,
        ),
        (
            "    made = nl.ndarray((96, 24000), dtype=nl.float32, buffer=nl.sbuf)\n"
            "    power = nl.exp(tile)\n    made[...] = power\n    power[...] = power * 2.0\n"
            "    nl.store(out, value=made)",
            True,
        ),
        (
            "    made = nl.ndarray((96, 24000), dtype=nl.float32, buffer=nl.sbuf)\n"
            "    power = nl.exp(tile)\n    nl.store(out, value=power)\n    made[...] = power\n"
            "    nl.store(out, value=made)\n    nl.store(out, value=tile)",
            False,
        ),
        (
            "    double = tile * 2.0\n    third = double + tile\n"
            "    nl.store(out, value=third + double)\n    nl.store(out, value=tile)",
            False,
        ),
    ],
)
def test_what_takes_memory(body: str, fits: bool, tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(_KERNEL.format(body=body))
    request = FileRequest(path=str(path), select=("sbuf-capacity", "sbuf-tile-size"))
    result = analyze_file(request)
    assert not result.errors
    assert [d.rule for d in result.diagnostics] == ([] if fits else ["sbuf-capacity"])
    made = simulate(f"{path}::blend")
    run = type(made)(made.kernel, made.target, made.api_version, Options(shapes_only=True))
    outcome = run.outcome(Shaped("float32", (96, 24000)))
    assert outcome.ended is None
    assert [d.rule for d in outcome.diagnostics] == ([] if fits else ["sbuf-capacity"])


_ROUNDS = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def rounds(x):
    assert x.dtype == nl.float32
    assert x.shape == (ROUNDS, 96, 24000)
    out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    last = nl.load(x[0])
    for k in nl.sequential_range(x.shape[0]):
        nl.store(out[k], value=last)
        tile = nl.load(x[k])
        nl.store(out[k], value=tile)
        both = tile * 2.0
        nl.store(out[k], value=both)
        nl.store(out[k], value=tile)
    return out
"""


@pytest.mark.parametrize(("rounds", "fits"), [(1, True), (2, False)])
def test_a_loop_that_does_not_come_round_again(rounds: int, fits: bool, tmp_path: Path) -> None:
    """What the next iteration reads lives through this one, if there is a next one."""
    path = tmp_path / "kernel.py"
    # 96000 bytes each: three do not fit, and only the first of them is needed once more
    path.write_text(_ROUNDS.replace("ROUNDS", str(rounds)))
    request = FileRequest(path=str(path), select=("sbuf-capacity",))
    result = analyze_file(request)
    assert not result.errors
    assert [d.rule for d in result.diagnostics] == ([] if fits else ["sbuf-capacity"])
