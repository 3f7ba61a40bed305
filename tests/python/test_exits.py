"""Loops that are left early: what is said behind them holds for what CPython does."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.python.support import assignments, execute, machine
from tests.sweeps import examples
from verifier.solver.query import Query
from verifier.solver.solver import Solver
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.python.vm import VM
from verifier.symbolic.trace import LedgerKind
from verifier.symbolic.values import Guarded

#: more trips than are gone one by one
RANGES = {"n": range(0, 14, 3), "m": range(4)}

HEAD = """
def program(n, m):
    a, b, c, t = 0, n, m, 0
    xs, d = [], {'k': 0}
"""
TAIL = """
    return (a, b, c, d['k'], len(xs))

result = program(n, m)
"""
LOOPS = ("for i in range(n):", "while True:", "while t < n + m:", "while b > 0:")
STEPS = (
    "a += 2",
    "b -= 1",
    "b = b // 2",
    "c = t",
    "d['k'] += 1",
    "d['k'] = a",
    "xs.append(t)",
    "if t == m + 9: break",
    "if a > b: break",
    "if t == 4: c = 1; break",
    "if m == 2: break",
    "if t > m and n > 7: return (a, b, c, 0, 1)",
    "if t % 2 == 0: continue",
    "low = t; c += low",
    "if m == 1: low = 3; c += low",
    "for j in range(t): a += 1",
    "while True:\n    low = a * 2\n    if low > n: break\n    c = -1\n    break",
    "while c < m: c += 1",
    "for j in range(n):\n    if j == m: break\n    a += 1",
)


def text(loop: str, steps: list[str], orelse: bool = False) -> str:
    lines = [loop, "    t += 1", "    if t > n: break"]
    for step in steps:
        parts = (
            [step.split(": ")[0] + ":", *step.split(": ", 1)[1].split("; ")]
            if (step.startswith("if") and "; " in step)
            else [step]
        )
        if len(parts) > 1:
            lines += [f"    {parts[0]}", *(f"        {part}" for part in parts[1:])]
        else:
            lines.append(textwrap.indent(step, "    "))
    if orelse:
        lines += ["else:", "    c = 77"]
    return HEAD + textwrap.indent("\n".join(lines), "    ") + TAIL


def equals(value: object, expected: object) -> Bool | None:
    """The condition that a value is what CPython has; None: it is not followed."""
    if isinstance(value, tuple) and isinstance(expected, tuple):
        found = [equals(mine, theirs) for mine, theirs in zip(value, expected, strict=True)]
        return E.and_(*(f for f in found if f is not None))
    if isinstance(value, Guarded):
        cases = [(guard, equals(item, expected)) for guard, item in value.cases]
        return E.and_(*(E.implies(g, f) for g, f in cases if f is not None))
    return E.eq(value, expected) if isinstance(value, Expr) else None  # type: ignore[arg-type]


def facts(vm: VM) -> tuple[Bool, ...]:
    return (*(a.condition for a in vm.trace.assumptions), *vm.path)


def holds(source: str) -> None:
    """Assert that nothing said of a program excludes what CPython does."""
    vm = machine()
    symbols = {name: E.symbol(name, r[0], r[-1]) for name, r in RANGES.items()}
    outcome = execute(vm, source, **symbols)
    assert not outcome.ended and not outcome.escapes
    if outcome.skipped:
        return
    solver = Solver()
    for env in assignments(RANGES):
        place: dict[str, object] = dict(env)
        exec(source, place)
        claim = equals(outcome.value, place["result"])
        assert claim is not None
        here = [E.eq(symbols[name], value) for name, value in env.items()]
        answer = solver.check(Query((*facts(vm), *here, claim), E.FALSE))
        assert not answer.proved, (source, env, place["result"], outcome.value, facts(vm))


@settings(max_examples=examples(75), deadline=None)
@given(
    st.sampled_from(LOOPS), st.lists(st.sampled_from(STEPS), min_size=1, max_size=4), st.booleans()
)
def test_what_is_said_behind_a_loop_is_right(loop: str, steps: list[str], orelse: bool) -> None:
    holds(text(loop, steps, orelse))


#: loops that are left, of which all is said but after how many trips
KEPT = {
    "a search downwards": ("while True:", ["b -= 1", "if b * 3 < m: break"]),
    "a name of an inner loop": (
        "while True:",
        ["done = False", "while True:\n    low = b\n    done = True\n    break", "b -= 1"],
    ),
    "a name that only some trips bind": ("for i in range(n):", ["if m == 1: low = 3", "a += 1"]),
    "a list": ("for i in range(n):", ["xs.append(t)"]),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_is_left_behind_a_loop_has_a_closed_form(name: str) -> None:
    vm = machine()
    symbols = {key: E.symbol(key, r[0], r[-1]) for key, r in RANGES.items()}
    outcome = execute(vm, text(*KEPT[name]), **symbols)
    assert not outcome.ended
    for entry in vm.trace.ledger:  # how often it turns is not known, nothing else is
        assert entry.kind is LedgerKind.HAVOC and "closed form" not in entry.message, entry
        assert entry.symbols
    holds(text(*KEPT[name]))
