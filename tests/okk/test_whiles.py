"""``while`` loops: exact where inputs are known, and what stays known where they are not."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.okk.support import Address, events, in_any_order, interpret, operations, recorded
from verifier.solver.query import Query
from verifier.solver.solver import Solver
from verifier.symbolic import expr as E
from verifier.symbolic.expr import evaluate
from verifier.symbolic.trace import LedgerKind

SEARCH = """\
@okk.kernel
def kernel({inputs}out: okk.SystemAddr):
    shape = okk.dim4(1, 3, {rows}, {width})
    okk.initialize()
    while True:
        done = False
        while True:
            stride = okk.aligned_stride_32bit(0, shape)
            if stride.n * 4 > okk.local_mem_size_per_npu():
                break
            done = True
            break
        if done:
            break
        shape.h -= 1
    okk.gdma_32bit_cpy_L2S(out, 0, shape, None, None)
    rest = {rows}
    at = out
    while rest > 0:
        piece = copy.copy(shape)
        piece.h = min(rest, shape.h)
        okk.gdma_32bit_cpy_L2S(at, 0, piece, None, None)
        at += piece.h * {width} * 4
        rest -= piece.h
    okk.poll()
"""


@pytest.mark.parametrize(("rows", "width"), [(7, 9), (1030, 128), (515, 1024)])
def test_known_sizes_are_followed_to_the_end(tmp_path: Path, rows: int, width: int) -> None:
    text = SEARCH.format(inputs="", rows=rows, width=width)
    run = interpret(tmp_path, text)
    assert run.ended is None and not run.trace.ledger
    assert in_any_order(events(run, {})) == in_any_order(
        recorded(text, "kernel", {"out": Address()})
    )


def test_a_search_ends_where_its_condition_holds(tmp_path: Path) -> None:
    text = SEARCH.format(inputs="rows: int, width: int, ", rows="rows", width="width")
    run = interpret(tmp_path, text)
    assert run.ended is None and not run.trace.unmodelled
    assert all(entry.symbols for entry in run.trace.ledger)
    store = operations(run, "gdma_32bit_cpy_L2S")[0]
    shape = next(t.tensor.shape for t in store.touches if t.role == "src")
    (count,) = {s.name for term in shape for s in term.free()} - {"rows", "width"}
    known = {"rows", "width", count}
    facts = [a.condition for a in run.trace.assumptions]
    facts = [fact for fact in (*facts, *store.path) if {s.name for s in fact.free()} <= known]
    for rows, width in ((7, 9), (1030, 128), (515, 1024), (3, 131072)):
        ways = []
        for trips in range(rows):
            env: dict[str, int | bool] = {"rows": rows, "width": width, count: trips}
            if all(evaluate(fact, env) for fact in facts):
                height = int(evaluate(shape[2], env))
                assert -(-(height * width) // 32) * 128 <= 524288
                ways.append(height)
        assert max(ways) == max(h for h in range(rows + 1) if -(-(h * width) // 32) <= 4096)


def test_what_counts_the_iterations_has_a_closed_form(tmp_path: Path) -> None:
    text = """\
@okk.kernel
def kernel(size: int, out: okk.SystemAddr):
    pad = okk.Padding()
    while (size + pad.bottom) % 4 != 0:
        pad.bottom += 1
    okk.bdc_neg(0, 0, okk.dim4(1, 1, 1, size + pad.bottom), None, None)
"""
    (op,) = operations(interpret(tmp_path, text))
    width = op.touches[0].tensor.shape[3]
    names = [s.name for s in width.free() if s.name != "size"]
    assert len(names) == 1
    for size in range(9):
        reached = [
            int(evaluate(width, {"size": size, names[0]: count}))
            for count in range(8)
            if all(evaluate(c, {"size": size, names[0]: count}) for c in op.path)
        ]
        assert reached and all(value % 4 == 0 for value in reached)
        assert -(-size // 4) * 4 in reached


def test_two_ways_out_meet_behind_the_loop(tmp_path: Path) -> None:
    text = """\
@okk.kernel
def kernel(size: int, limit: int, out: okk.SystemAddr):
    width = size
    kind = 0
    while width > 8:
        if width % 2 == 1:
            kind = 1
            break
        if width < limit:
            kind = 2
            break
        width = width // 2
        if width == 64:
            kind = 3
            break
    okk.bdc_neg(0, 0, okk.dim4(1, 1, kind + 1, width), None, None)
"""
    run = interpret(tmp_path, text)
    (op,) = operations(run)
    assert run.ended is None
    shape = op.touches[0].tensor.shape
    solver = Solver(deadline=60.0)
    for size, limit in ((5, 0), (20, 0), (21, 3), (24, 100), (128, 0)):
        kind, width = halved(size, limit)
        admitted = (
            *op.path,
            E.eq(E.symbol("size", lo=0), size),
            E.eq(E.symbol("limit", lo=0), limit),
            E.eq(shape[2], kind + 1),
            E.eq(shape[3], width),
        )
        answer = solver.check(Query(admitted, E.FALSE))
        assert answer.refuted or answer.unknown  # a model was found


def halved(width: int, limit: int) -> tuple[int, int]:
    """How the loop above ends: by which way out, and with what."""
    while width > 8:
        if width % 2 == 1:
            return 1, width
        if width < limit:
            return 2, width
        width = width // 2
        if width == 64:
            return 3, width
    return 0, width


def test_a_function_that_calls_itself_is_cut(tmp_path: Path) -> None:
    text = """\
def halves(size, out):
    if size > 1:
        halves(size // 2, out)
    okk.bdc_neg(0, 0, okk.dim4(1, 1, 1, size), None, None)


@okk.kernel
def kernel(size: int, out: okk.SystemAddr):
    halves({size}, out)
"""
    open_end = interpret(tmp_path, text.format(size="size"))
    assert [entry.kind for entry in open_end.trace.ledger] == [LedgerKind.SKIPPED]
    known = interpret(tmp_path, text.format(size="1000"))
    assert not known.trace.ledger
    assert len(operations(known)) == 10


TILES = """\
@okk.kernel
def kernel(rows: int, size: int, out: okk.SystemAddr, given: okk.SystemAddr):
    okk.initialize()
    {guard}
    rest = rows
    done = 0
    at = out
    while rest > 0:
        piece = {piece}
        shape = okk.dim4(1, 3, piece, 20)
        okk.gdma_32bit_cpy_S2L(0, given + done * 80, shape, None, None)
        okk.gdma_32bit_cpy_L2S(at, 0, shape, None, None)
        rest -= piece
        done += piece
        at = at + piece * 80
    okk.gdma_32bit_cpy_L2S(at, 0, okk.dim4(1, 1, rest + 1, done + 1), None, None)
    okk.poll()
"""


@pytest.mark.parametrize("piece", ["min(rest, size)", "min(size, rest)", "min(24, rest)"])
def test_pieces_of_a_rest_have_a_closed_form(tmp_path: Path, piece: str) -> None:
    text = TILES.format(piece=piece, guard="okk.okkernel_assert(size >= 1)")
    run = interpret(tmp_path, text)
    assert run.ended is None and not run.trace.unmodelled
    assert not run.trace.ledger
    for rows, size in itertools.product((0, 1, 7, 23, 24, 25, 48), (1, 5, 24, 100)):
        inputs = {"rows": rows, "size": size}
        wanted = recorded(text, "kernel", {**inputs, "out": Address(), "given": Address()})
        assert in_any_order(events(run, inputs)) == in_any_order(wanted)


STEPS = """\
@okk.kernel
def kernel(rows: int, size: int, out: okk.SystemAddr, given: okk.SystemAddr):
    okk.okkernel_assert(size >= 1)
    at = 3
    while {condition}:
        okk.gdma_32bit_cpy_L2S(out + at * 4, 0, okk.dim4(1, 1, 1, size), None, None)
        at += size
    okk.gdma_32bit_cpy_L2S(out + at * 4, 0, okk.dim4(1, 1, 1, 1), None, None)
"""


@pytest.mark.parametrize(
    "condition", ["at < rows", "rows >= at", "at + size <= rows", "rows - at > 7", "2 * at < rows"]
)
def test_a_counter_up_to_a_bound(tmp_path: Path, condition: str) -> None:
    text = STEPS.format(condition=condition)
    run = interpret(tmp_path, text)
    assert not run.trace.ledger
    for rows, size in itertools.product(range(0, 40, 3), (1, 2, 7, 50)):
        inputs = {"rows": rows, "size": size}
        wanted = recorded(text, "kernel", {**inputs, "out": Address(), "given": Address()})
        assert in_any_order(events(run, inputs)) == in_any_order(wanted)


@pytest.mark.parametrize(
    "condition", ["at != rows", "at < rows - at * at", "at < rows and size < 9", "size < rows"]
)
def test_other_conditions_are_not_bounds(tmp_path: Path, condition: str) -> None:
    run = interpret(tmp_path, STEPS.format(condition=condition))
    assert run.ended is None
    assert [entry.kind for entry in run.trace.ledger] == [LedgerKind.HAVOC]


def test_a_constant_piece_of_what_was_there_first(tmp_path: Path) -> None:
    """``x -= min(rows, 8)`` with ``rows`` as it came: a plain step, though it looks like a rest."""
    text = """\
@okk.kernel
def kernel(rows: int, trips: int, out: okk.SystemAddr, given: okk.SystemAddr):
    left = rows
    for i in range(trips):
        left -= min(rows, 8)
        okk.gdma_32bit_cpy_L2S(out + (left + 8 * trips) * 4, 0, okk.dim4(1, 1, 1, 1), None, None)
"""
    run = interpret(tmp_path, text)
    assert not run.trace.ledger
    for rows, trips in ((3, 4), (20, 5), (8, 0)):
        inputs = {"rows": rows, "trips": trips}
        wanted = recorded(text, "kernel", {**inputs, "out": Address(), "given": Address()})
        assert in_any_order(events(run, inputs)) == in_any_order(wanted)
