"""Generators that are asked item by item: stacks of their own, between steps and across paths."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.python.programs import same, same_for, unknown
from tests.python.support import machine, run
from verifier.symbolic import expr as E
from verifier.symbolic.python import suspended
from verifier.symbolic.trace import LedgerKind

BODY = [
    "yield 1",
    "log.append('a')",
    "x = yield 2",
    "log.append(x)",
    "return 5",
    "raise KeyError(3)",
]
WRAPPED = [
    "{}",
    "try:\n{}\nfinally:\n    log.append('finally')",
    "try:\n{}\nexcept KeyError:\n    log.append('caught')\n    yield 7",
    "for k in (1, 2):\n{}",
]
STEPS = [
    "next(g)",
    "g.send('sent')",
    "g.throw(KeyError(9))",
    "g.close()",
    "next(g, 'default')",
    "list(g)",
]


def indented(text: str, by: int = 4) -> str:
    return "\n".join(" " * by + line for line in text.splitlines())


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(BODY), min_size=1, max_size=4),
    st.sampled_from(WRAPPED),
    st.lists(st.sampled_from(STEPS), min_size=1, max_size=4),
)
def test_steps_of_a_generator(body: list[str], wrapped: str, steps: list[str]) -> None:
    inner = indented("\n".join(body)) if wrapped != "{}" else "\n".join(body)
    made = indented(wrapped.format(inner))
    lines = "".join(
        f"    try:\n        log.append({step})\n"
        "    except BaseException as error:\n        log.append(type(error).__name__)\n"
        for step in steps
    )
    text = f"""
log = []
def make():
{made}
    yield 'last'
def run():
    g = make()
{lines}    return list(log), g
"""
    outcome = run(machine(text), "run()[0]")
    if outcome.skipped:
        return
    place: dict[str, object] = {}
    exec(text, place)
    expected, g = place["run"]()  # type: ignore[operator]
    assert outcome.host == expected
    del g


PROGRAMS = {
    "two generators in turn": """
def count(n):
    k = n
    while True:
        k += 1
        yield k
def run():
    a, b = count(0), count(10)
    return [next(a), next(b), next(a), next(b), next(a)]
""",
    "one in the other": """
def inner():
    got = yield 1
    yield got
def outer():
    g = inner()
    yield next(g)
    yield g.send("in")
def run():
    g = outer()
    return next(g), next(g)
""",
    "a generator that resumes itself": """
def make():
    yield next(me)
def run():
    global me
    me = make()
    try:
        next(me)
    except ValueError as error:
        return str(error)
""",
    "what a generator changes is seen between steps": """
def make(items):
    while items:
        items.pop()
        yield len(items)
def run():
    items = [1, 2, 3]
    g = make(items)
    out = [next(g)]
    items.append(9)
    return out, next(g), items
""",
    "StopIteration in a generator": """
def make():
    yield next(iter(()))
def run():
    try:
        next(make())
    except RuntimeError:
        return "runtime"
""",
    "the value at the end": """
def make():
    yield 1
    return 2
def run():
    g = make()
    next(g)
    try:
        next(g)
    except StopIteration as end:
        return end.value
""",
    "handled exceptions stay apart": """
def make():
    try:
        raise KeyError("inner")
    except KeyError:
        yield 1
        raise
def run():
    g = make()
    try:
        raise ValueError("outer")
    except ValueError:
        next(g)
        try:
            next(g)
        except KeyError as error:
            return error.args
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    same(PROGRAMS[name])


def test_items_that_depend_on_the_inputs() -> None:
    program = """
        def make(n):
            yield n
            yield n * 2 if n > 1 else 0
        def run(n):
            g = make(n)
            return next(g) + next(g)
    """
    same_for(program, n=range(4))


def test_a_place_that_depends_on_the_inputs_is_not_followed() -> None:
    vm = machine(
        "def make(n):\n    if n: yield 1\n    yield 2\ndef run(n):\n    return len(str(n))\n"
    )
    del vm
    unknown("""
        import elsewhere
        def make():
            yield 1
            yield 2
            yield 3
        def run():
            g = make()
            if elsewhere.flag > 1:
                next(g)
            return next(g)
    """)


def test_no_stack_is_left_behind() -> None:
    vm = machine("def make():\n    yield 1\n    yield 2\ng = make()\n")
    outcome = run(vm, "next(g)")
    assert outcome.host == 1 and suspended.at_hand(vm)
    suspended.forget_all(vm)
    assert not vm.stacks and not vm.trace.ledger and not suspended.at_hand(vm)


def test_a_generator_dropped_in_a_try_is_noted() -> None:
    text = (
        "def make():\n    try:\n        yield 1\n    finally: log.append(1)\nlog = []\ng = make()\n"
    )
    vm = machine(text)
    run(vm, "next(g)")
    suspended.forget_all(vm)
    assert [entry.kind for entry in vm.trace.ledger] == [LedgerKind.SKIPPED]


def test_who_asks_inside_a_loop_of_the_generator_goes_on_outside_of_it() -> None:
    text = """
    def run(count):
        found = next(item for item in [7 for _ in range(count)] if item > 1)
        return [found]
    """
    same_for(text, count=range(1, 5))
    vm = machine(textwrap.dedent(text))
    run(vm, "run(count)", count=E.symbol("count", 1, 4))
    assert vm.loops == () and vm.forking == 0
