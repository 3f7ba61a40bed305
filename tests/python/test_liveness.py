"""Which names belong to each trip of a loop alone."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier.source import ir
from verifier.source.lowering import lower
from verifier.symbolic.python.liveness import names_around
from verifier.symbolic.python.model import Function


def own(text: str) -> set[str]:
    """The names of a function that belong to the trips of its first loop alone."""
    (definition,) = lower("k.py", textwrap.dedent(text), 1)
    assert isinstance(definition, ir.FunctionDef)
    loop = next(s for s in definition.body if isinstance(s, (ir.For, ir.While)))
    found = names_around(Function(definition, None), loop).own  # type: ignore[arg-type]
    return {name for name in "abcdefghijklmnopqrstuvwxyz" if found(name)}


#: the body of a loop, and what is each trip's own
BODIES = [
    ("a = 1", "a i"),
    ("a = a + 1", "i"),
    ("a += 1", "i"),
    ("a = 1; a += 1", "a i"),
    ("b = a; a = 1", "b i"),
    ("a, (b, *c) = x", "a b c i"),
    ("a: int = 1", "a i"),
    ("a: int", "i"),
    ("x[0] = 1", "i"),
    ("x.y = 1", "i"),
    ("if x: a = 1", "i"),
    ("if x: a = 1\nelse: a = 2", "a i"),
    ("if x: a = 1\nelse: b = a", "i"),
    ("if x: a = 1\nb = a", "b i"),
    ("for j in x: a = 1", "i"),
    ("for j in x: a = j\nb = j", "b i"),
    ("while x: a = 1", "i"),
    ("with x as a: b = 1", "a i"),
    ("with x: a = 1\nb = a", "b i"),
    ("try: a = 1\nexcept E: b = 1", "i"),
    ("try: a = 1\nexcept E: a = 2", "a i"),
    ("try: a = 1\nfinally: b = 1", "a b i"),
    ("try: pass\nexcept E as e: a = e", "i"),
    ("import a, b.c as d", "a d i"),
    ("def f(): return a\na = 1", "f i"),
    ("a = 1\ndef f(): return a", "f i"),
    ("a = lambda: b\nb = 1", "a i"),
    ("a = [b for b in x]", "a i"),
    ("a = [b for c in x]\nb = 1", "a i"),
    ("if x: continue\na = 1", "i"),
    ("a = 1\nif x: continue\nb = 1", "a i"),
    ("if x: break\na = 1", "a i"),
    ("for j in x: continue\na = 1", "a i"),
    ("del a", "i"),
    ("class f: a = b\nb = 1", "f i"),
    ("global a\na = 1", "i"),
    ("nonlocal a\na = 1", "i"),
]


@pytest.mark.parametrize(("body", "names"), BODIES)
def test_names_of_a_trip(body: str, names: str) -> None:
    lines = textwrap.indent(body, "        ")
    assert own(f"def run():\n    for i in x:\n{lines}\n") - set("ijx") == set(names.split()) - {"i"}


def test_the_target_is_the_trips_own_unless_it_is_captured() -> None:
    assert own("def run():\n    for i in x: a = i\n") == {"a", "i"}
    assert own("def run():\n    for i in x: f = lambda: i\n") == {"f"}
    assert own("def run():\n    for x[i] in y: pass\n") == set()


def test_the_condition_of_a_while_loop_is_read_first() -> None:
    assert own("def run():\n    while a: a = b = 1\n") == {"b"}


def test_what_a_function_around_declares_is_seen_elsewhere() -> None:
    text = """
        def run():
            def show(): return a
            for i in x:
                a = i
                b = i
    """
    assert own(text) == {"b", "i"}


def test_names_of_a_module_belong_to_nobody_alone() -> None:
    (loop,) = lower("k.py", "for i in x: a = 1\n", 1)
    assert isinstance(loop, ir.For)
    assert not names_around(None, loop).own("a")


STEPS = (
    "a = 1",
    "b = a",
    "c = b",
    "a += 1",
    "if i > 1: b = 3",
    "if i > 0: continue",
    "if i: a = 5\nelse: a = 6",
    "for j in range(i): c = 7",
    "try: b = 1 // i\nexcept ZeroDivisionError: pass",
    "try: c = 1 // i\nexcept ZeroDivisionError: c = 0",
    "while i > 9: a = 2",
)


@given(st.lists(st.sampled_from(STEPS), min_size=1, max_size=5))
def test_what_is_a_trips_own_is_not_missed_if_it_is_gone(steps: list[str]) -> None:
    """Without the names of its own from the trip before, each trip does what it does with them."""
    body = "\n".join(steps)
    names = own("def run():\n    for i in x:\n" + textwrap.indent(body, "        "))
    gone = "".join(f"try: del {name}\nexcept NameError: pass\n" for name in sorted(names - {"i"}))

    def left(before: str) -> list[tuple[object, ...]]:
        out: list[tuple[object, ...]] = []
        place: dict[str, object] = {"a": 10, "b": 20, "c": 30}
        for i in range(4):
            place["i"] = i
            exec(before, place)
            text = f"for _ in (0,):\n{textwrap.indent(body, '    ')}"
            try:
                exec(text, place)
            except NameError as error:
                out.append((str(error),))
                break
            out.append(tuple(place.get(name) for name in "abc" if name not in names))
        return out

    assert left(gone) == left("")
