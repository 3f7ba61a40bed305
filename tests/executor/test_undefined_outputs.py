"""What is undefined in an output of the caller's, as a run tells of it."""

from __future__ import annotations

from pathlib import Path

from verifier.executor import simulate

_KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel():
    y = nl.ndarray((48, 5), dtype=nl.float32, buffer=nl.shared_hbm)
    t = nl.ndarray((48, 5), dtype=nl.float32, buffer=nl.sbuf)
    u = nl.ndarray((48, 5), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=y, data1=t, data2=u, op=nl.add)
    return y
"""


def test_of_two_undefined_operands_both_are_told(tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(_KERNEL, encoding="utf-8")
    outcome = simulate(f"{path}::kernel", keep_going=True).outcome()
    told = [v for v in outcome.violations if v.rule == "uninitialised-read"]
    assert sorted(v.message.split("`")[1] for v in told) == ["t", "u"]
