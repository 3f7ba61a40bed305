"""What is said of tasks follows from what is known of them."""

from __future__ import annotations

import itertools

from verifier.solver.cuts import by_tiles, of_tasks
from verifier.solver.query import Query
from verifier.solver.solver import Solver
from verifier.symbolic import expr as E


def test_bounds_of_tasks_are_those_of_their_tiles() -> None:
    names = ("t", "m", "n", "core", "cores", "rows")
    t, m, n, core, cores, rows = (E.symbol(name, 0) for name in names)
    tiles = E.ceildiv(rows, 3)
    facts = [
        E.ge(n, 1),
        E.ge(cores, 1),
        E.lt(t, E.ceildiv(tiles * n - core, cores)),
        E.lt(t, E.minimum(m * n, core + cores)),
    ]
    goal = E.lt(E.floordiv(core + cores * t, n) * 3 + E.floordiv(t, n), rows + m)
    found = of_tasks(facts, goal, lambda fact: fact in facts)
    assert E.lt(E.floordiv(t, n), m) in found
    assert E.lt(E.floordiv(core + cores * t, n) * 3, rows) in found
    for values in itertools.product((0, 1, 3, 7), (0, 1, 2), (1, 2), (0, 1, 2), (1, 3), (1, 3, 8)):
        env = dict(zip(names, values, strict=True))
        if all(E.evaluate(fact, env) for fact in facts):
            assert all(E.evaluate(fact, env) for fact in found)


def test_two_tasks_have_other_rows_or_columns() -> None:
    names = ("i", "j", "n", "core", "other", "cores")
    i, j, n, core, other, cores = (E.symbol(name, 0) for name in names)
    one, two = core + cores * i, other + cores * j
    facts = [E.ge(n, 1), E.lt(other, cores), E.ge(other, core + 1), E.lt(core, 3)]
    rows = E.floordiv(one, n) - E.floordiv(two, n)
    columns = E.mod(one, n) - E.mod(two, n)

    def holds(fact: E.Bool) -> bool:
        known = Solver()
        return known.check(Query(tuple(facts), fact)).proved

    solver = Solver()
    for goal, right in ((E.or_(E.ne(rows, 0), E.ne(columns, 0)), True), (E.ne(rows, 0), False)):
        found = by_tiles(facts, goal, holds)
        assert found is not None
        assert solver.check(Query(tuple(found[0]), found[1])).proved == right
        assert solver.check(Query(tuple(facts), goal)).proved == right
    # tasks that may be the same one
    assert by_tiles(facts[:2], E.ne(rows, 0), lambda fact: fact in facts[:2]) is None
