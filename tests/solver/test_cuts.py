"""What is said of tasks follows from what is known of them."""

from __future__ import annotations

import itertools

from verifier.solver.cuts import of_tasks
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
