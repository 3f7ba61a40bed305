"""Cores of one launch: barriers, and the numbers that are kept for parts of a tensor."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from verifier.executor import simulate
from verifier.executor.cells import Cells, box_of
from verifier.executor.machine import Options
from verifier.executor.memory import Template
from verifier.executor.regions import Geometry
from verifier.executor.running import Shaped
from verifier.hardware.memories import Buffer
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.tensors import DType, Storage, StorageKind

KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def one_waits(x):
    y = nl.ndarray((2, 128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    nisa.dma_copy(dst=y[nl.program_id(0)], src=t)
    if nl.program_id(0) == 1:
        nisa.core_barrier(y, (0, 1))
    return y
"""


def test_a_barrier_that_a_core_never_comes_to_is_reported_and_the_run_goes_on(
    tmp_path: Path,
) -> None:
    path = tmp_path / "waits.py"
    path.write_text(KERNEL)
    made = simulate(f"{path}::one_waits", None, None)
    for shapes_only in (False, True):
        options = Options(shapes_only=shapes_only, keep_going=True)
        run = type(made)(made.kernel, made.target, made.api_version, options, (2,))
        outcome = run.outcome(x=Shaped("float32", (128, 64)))
        assert outcome.ended is None
        (found,) = outcome.diagnostics
        assert (found.rule, found.span.line) == ("core-barrier-divergence", 14)


def test_a_part_that_is_smaller_than_the_blocks_is_told_apart() -> None:
    template = Template(
        Storage(
            id=1,
            name="t",
            buffer=Buffer.SHARED_HBM,
            dtype=DType.named("float32"),
            shape=(E.const(4), E.const(6)),
            partition_axis=None,
            span=Span("", 1, 0, 1, 1),
            kind=StorageKind.ALLOC,
        )
    )
    cells = Cells(template)
    part = Geometry(6, (1, 6), (6, 1), "float32")
    box = box_of(template, part)
    assert cells.get(box, part).shape == (1, 1)
    cells.put(box, part, 7)
    whole = template.whole
    assert np.unique(cells.get(box_of(template, whole), whole)).tolist() == [0, 7]
    below = Geometry(12, (2, 6), (6, 1), "float32")
    assert not cells.get(box_of(template, below), below).any()
