"""Loops that are gone through again: by outer loops, for another rank, with other arguments."""

from __future__ import annotations

import textwrap

from tests.python.programs import same_for
from tests.python.support import machine, run
from verifier.engine import analyze_source
from verifier.report import model as report
from verifier.symbolic import expr as E

HEAD = """\
import nki
import nki.isa as nisa
import nki.language as nl


"""

TRIPLE = """\
def run(n, m):
    top = used = 0
    for a in range(n):
        for b in range(m):
            for c in range(n):
                used = max(used + 3, top // 2)
                if used > 40:
                    used = used // 3 + b
                top = max(top, used)
    return 0 if top < 0 else 1
"""


def kernel(text: str) -> report.KernelReport:
    (found,) = analyze_source(HEAD + textwrap.dedent(text)).kernels
    return found


def test_what_has_no_closed_form_is_tried_once_by_all_loops_around() -> None:
    vm = machine(TRIPLE)
    outcome = run(vm, "run(n, m)", n=E.symbol("n", 0), m=E.symbol("m", 0))
    assert not outcome.skipped
    # a trip of each loop for a form that does not hold would be more than 300
    assert vm.steps < 150, vm.steps


def test_it_is_what_cpython_says() -> None:
    same_for(
        """
        def run(n, m):
            total, last = 0, -1
            for a in range(n):
                for b in range(m):
                    total += 2
                    last = b
                total += 1
            return total, last
        """,
        n=range(0, 4),
        m=range(0, 4),
    )


def test_a_loop_over_dimensions_is_gone_through_for_one_rank() -> None:
    found = kernel(
        """
        @nki.jit
        def kernel(x):
            assert len(x.shape) >= 2
            rows = 1
            for k in range(len(x.shape) - 1):
                rows *= x.shape[k]
            assert rows <= 128 and x.shape[len(x.shape) - 1] == 96
            tile = nl.ndarray((rows, 96), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile, src=x.reshape((rows, 96)))
            out = nl.ndarray((rows, 96), dtype=x.dtype, buffer=nl.shared_hbm)
            nisa.dma_copy(dst=out, src=tile)
            return out
        """
    )
    assert found.status == "conditional", found.reasons
    assert found.precondition is not None and found.precondition.text == "len(x.shape) == 2"


def test_a_loop_in_which_the_device_works_the_second_time_is_one_trip_for_all() -> None:
    found = kernel(
        """
        def filled(tile, on):
            total = 0
            for k in range(4):
                total += 2
                if on:
                    nisa.memset(tile[0:24, 8 * k : 8 * k + 8], value=0.0)
            return total

        @nki.jit
        def kernel(x):
            assert x.shape == (24, 32)
            tile = nl.ndarray((24, 32), dtype=nl.float32, buffer=nl.sbuf)
            assert filled(tile, False) == 8
            assert filled(tile, True) == 8
            out = nl.ndarray((24, 32), dtype=nl.float32, buffer=nl.shared_hbm)
            nisa.dma_copy(dst=out, src=tile)
            return out
        """
    )
    assert found.status == "verified", found.reasons
    assert found.calls.total == 4  # of the loop there is the generic trip
