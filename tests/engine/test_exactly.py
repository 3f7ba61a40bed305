"""Short loops go trip by trip where something is open; what is about loops stays as it was."""

from __future__ import annotations

from pathlib import Path

from verifier.engine.analysis import analyze_file
from verifier.report.model import FileRequest, FileResult

HEAD = """
import nki
import nki.isa as nisa
import nki.language as nl


# tilelint: contract {contract}
@nki.jit
def k(x):
    R, C = x.shape
"""
#: every place of five is written, in another order
RING = """
    ring = nl.ndarray((5 * 8, C), dtype=nl.float32, buffer=nl.shared_hbm)
    for i in range(5):
        nisa.dma_copy(dst=ring[(3 * i) % 5 * 8 : (3 * i) % 5 * 8 + 8, :], src=x[0:8, :])
    return {returned}
"""
#: whole tiles of 96 rows are added up
SUM = """
    out = nl.ndarray((96, C), dtype=nl.float32, buffer=nl.shared_hbm)
    acc = nl.ndarray((96, C), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=acc, value=0.0)
    for i in range(R // 96):
        t = nl.ndarray((96, C), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=t, src=x[i * 96 : i * 96 + 96, :])
        nisa.tensor_tensor(dst=acc, data1=acc, data2=t, op=nl.add)
    nisa.dma_copy(dst=out, src=acc)
"""


def checked(folder: Path, contract: str, body: str) -> FileResult:
    path = folder / "k.py"
    path.write_text((HEAD.format(contract=contract) + body).replace("\n\n    ", "\n    "), "utf-8")
    return analyze_file(FileRequest(path=str(path), roots=(str(folder),)))


def test_what_is_open_is_settled(tmp_path: Path) -> None:
    found = checked(tmp_path, "(x: fp32[300, 40])", RING.format(returned="ring"))
    assert [kernel.status for kernel in found.kernels] == ["verified"]


def test_a_dropped_tail_is_not_lost_with_its_loop(tmp_path: Path) -> None:
    found = checked(tmp_path, "(x: fp32[300, 40])", SUM + RING.format(returned="out, ring"))
    assert [kernel.status for kernel in found.kernels] == ["violated"]
    assert "input-tail-dropped" in {diagnostic.rule for diagnostic in found.diagnostics}


def test_loops_of_any_number_of_trips_stay(tmp_path: Path) -> None:
    body = RING.replace("5", "C").format(returned="ring")
    (kernel,) = checked(tmp_path, "(x: fp32[300, C]) where C % 3 == 1", body).kernels
    assert kernel.status == "unknown"
