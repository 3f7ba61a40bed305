"""Calls of functions: arguments of any kind, defaults, closures, and what does not fit."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.python.programs import same, same_for
from tests.python.support import machine, run


@st.composite
def signatures(draw: st.DrawFn) -> str:
    """The parameters of a function."""
    names = iter("abcdef")
    only, both = draw(st.integers(0, 2)), draw(st.integers(0, 2))
    positional = [next(names) for _ in range(only + both)]
    defaults = draw(st.integers(0, len(positional)))
    parts = [
        f"{name}='{name}0'" if position >= len(positional) - defaults else name
        for position, name in enumerate(positional)
    ]
    if only:
        parts.insert(only, "/")
    star = draw(st.sampled_from(["", "*", "*args"]))
    keyword = [next(names) for _ in range(draw(st.integers(0, 2)))]
    if star == "*" and not keyword:
        star = ""
    if keyword and not star:
        star = "*"
    parts += [star] * bool(star)
    parts += [f"{name}='{name}0'" if draw(st.booleans()) else name for name in keyword]
    parts += ["**kwargs"] * draw(st.booleans())
    return ", ".join(parts)


@st.composite
def arguments(draw: st.DrawFn) -> str:
    """The arguments of a call."""
    parts = [str(k) for k in range(draw(st.integers(0, 3)))]
    if draw(st.booleans()):
        parts.append(f"*{draw(st.sampled_from(['(7, 8)', '[]', 'range(2)', '5']))}")
    names = draw(st.lists(st.sampled_from("abcdefz"), unique=True, max_size=3))
    parts += [f"{name}='{name}'" for name in names]
    if draw(st.booleans()):
        mapping = ["{}", "{'a': 'A'}", "{'z': 1, 'f': 2}", "{1: 2}"]
        parts.append(f"**{draw(st.sampled_from(mapping))}")
    return ", ".join(parts)


@settings(deadline=None)
@given(signatures(), arguments())
def test_any_call_of_any_function(parameters: str, given: str) -> None:
    shown = ", ".join(
        f"('{name}', {name})"
        for name in [*"abcdef", "args", "kwargs"]
        if name in re.findall(r"\b[a-z]+\b", re.sub("'.*?'", "", parameters))
    )
    kept = f"[{shown.replace('kwargs)', 'list(kwargs.items()))')}]"
    same(f"""
def f({parameters}):
    return {kept}
def run():
    try:
        return f({given})
    except TypeError:
        return "type"
""")


PROGRAMS = {
    "a default is one object": """
def f(x, seen=[]):
    seen.append(x)
    return seen
def run(): return f(1), f(2), f(3, [])
""",
    "closures see the name, not the value": """
def run():
    out = []
    def show(): out.append(x)
    x = 1
    show()
    x = 2
    show()
    return out
""",
    "a name bound in a function is its own": """
x = "global"
def run():
    try:
        y = x
        x = 1
    except UnboundLocalError:
        return "unbound"
""",
    "nonlocal": """
def counter():
    count = 0
    def tick(by=1):
        nonlocal count
        count += by
        return count
    return tick
def run():
    a, b = counter(), counter()
    return a(), a(5), b()
""",
    "arguments are evaluated from left to right": """
log = []
def note(x):
    log.append(x)
    return x
def f(*args, **kwargs): return args, list(kwargs)
def run(): return f(note(1), *note((2,)), k=note(3), **note({"z": 4})), log
""",
    "args is a tuple and kwargs a new dictionary": """
def f(*args, **kwargs):
    kwargs["new"] = 1
    return type(args) is tuple, kwargs
def run():
    given = {"a": 1}
    return f(*[1], **given), given
""",
    "recursion": """
def f(n): return 1 if n < 2 else n * f(n - 1)
def run(): return f(10)
""",
    "lambdas": """
def run():
    fs = [lambda x, k=k: x + k for k in range(3)]
    return [f(10) for f in fs], (lambda *a, **k: (a, k))(1, b=2)
""",
    "a method is bound": """
class A:
    def __init__(self, x): self.x = x
    def get(self, y=1): return self.x + y
def run():
    f = A(3).get
    return f(), f(y=5), A.get(A(1)), f.__self__.x
""",
    "attributes of functions": """
def f(a, b=2): "doc"
def run():
    f.note = 5
    return f.__name__, f.__doc__, f.note, hasattr(f, "other")
""",
    "an error in a default": """
def run():
    try:
        def f(x=1 // 0): pass
    except ZeroDivisionError:
        return "caught"
""",
    "a value that cannot be called": """
def run():
    out = []
    for value in (1, None, "a", (), {}):
        try:
            value()
        except TypeError:
            out.append("type")
    return out
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    same(PROGRAMS[name])


def test_a_function_by_path() -> None:
    program = """
        def up(x, by=1): return x + by
        def down(x, *, by=2): return x - by
        def run(n):
            f = up if n > 1 else down
            return f(n), f(n, by=n)
    """
    same_for(program, n=range(4))


def test_returns_on_some_paths() -> None:
    program = """
        def f(n):
            if n == 0:
                return "zero"
            for k in range(3):
                if k == n:
                    return k * 10
            return None
        def run(n): return f(n), f(2)
    """
    same_for(program, n=range(5))


def test_a_function_without_end_is_a_gap() -> None:
    outcome = run(machine("def f(n): return f(n + 1)\n"), "f(1)")
    assert outcome.skipped or outcome.error is RecursionError
