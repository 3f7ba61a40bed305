"""Cores of one launch: barriers, and the numbers that are kept for parts of a tensor."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

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


SHIFT = """
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def shift(x):
    y = nl.ndarray((6, 40, 24), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(6):
        nl.store(y[i], value=nl.load(x[i]))
    for i in nl.{loop}(3):
        for j in nl.affine_range(2):
            t = nl.load(y[{read}])
            nl.store(y[{written}], value=nl.exp(t))
    return y
"""


@pytest.mark.parametrize(
    ("read", "written", "loop", "index"),
    [
        ("2 * i + j", "2 * i + j", "affine_range", ""),
        ("i + 3", "i", "affine_range", ""),
        ("2 * i + 1", "2 * i + j", "affine_range", "j"),
        ("2 * i + j", "i", "affine_range", "j"),
        ("i + 2 * j + 1", "i + 2 * j", "sequential_range", ""),
        ("2 * i + 1 - j", "2 * i + j", "sequential_range", "j"),
        ("5", "i + 3 * j", "affine_range", "i"),
    ],
)
def test_a_run_in_order_shows_what_iterations_take_from_later_ones(
    tmp_path: Path, read: str, written: str, loop: str, index: str
) -> None:
    path = tmp_path / "shift.py"
    path.write_text(SHIFT.format(read=read, written=written, loop=loop))
    made = simulate(f"{path}::shift", None, None)
    run = type(made)(made.kernel, made.target, made.api_version, Options(keep_going=True))
    outcome = run.outcome(x=Shaped("float32", (6, 40, 24)))
    reads = [d for d in outcome.diagnostics if "reads what another one writes" in d.message]
    assert [d.span.line for d in reads] == [13] * len(reads)
    assert (f"loop over `{index}`" in reads[0].message) if index else not reads
