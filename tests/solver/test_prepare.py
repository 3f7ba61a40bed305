"""Facts made ready: what a fact says of a quotient settles what hangs on its size."""

from __future__ import annotations

from verifier.solver.prepare import Preparation
from verifier.solver.query import Query
from verifier.solver.solver import Solver
from verifier.symbolic import expr as E


def _sizes() -> tuple[E.Expr, E.Expr]:
    return E.symbol("rows", 1), E.symbol("programs", 1)


def test_a_product_that_is_positive_settles_the_size_of_a_tile() -> None:
    rows, programs = _sizes()
    each = E.floordiv(rows, programs)
    tile = E.minimum(E.const(128), each)
    ready = Preparation().of([E.eq(E.mod(rows, programs * 128), 0)])
    assert ready.value(tile) == E.const(128)
    assert ready.value(each) == ready.value(E.floordiv(rows, programs * 128)) * 128


def test_without_the_divisor_the_size_stays_open() -> None:
    rows, programs = _sizes()
    ready = Preparation().of([E.eq(E.mod(rows, 128), 0)])
    tile = ready.value(E.minimum(E.const(128), E.floordiv(rows, programs)))
    assert not tile.is_const


def test_rows_that_may_be_none_leave_the_quotient_at_zero() -> None:
    rows = E.symbol("rows", 0)
    ready = Preparation().of([E.eq(E.mod(rows, 128), 0)])
    tile = ready.value(E.minimum(E.const(128), rows))
    assert not tile.is_const


def test_tiles_in_groups_stay_inside_their_share_and_a_model_knows_the_rows() -> None:
    rows, programs = _sizes()
    program, group = E.symbol("program", 0), E.symbol("group", 0)
    each = E.floordiv(rows, programs)
    tile = E.minimum(E.const(128), each)
    tiles = E.floordiv(each + tile - 1, tile)
    count = E.minimum(E.const(8), tiles - group * 8)
    facts = (
        E.eq(E.mod(rows, programs * 128), 0),
        E.lt(program, programs),
        E.lt(group * 8, tiles),
    )
    end = program * each + group * 8 * tile + count * tile
    solver = Solver()
    assert solver.check(Query(facts, E.le(end, rows))).proved
    answer = solver.check(Query(facts, E.lt(end, rows)))
    assert answer.refuted and answer.model is not None
    assert int(answer.model["rows"]) % (128 * int(answer.model["programs"])) == 0
