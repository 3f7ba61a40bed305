"""``contextlib`` and ``copy``."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.python.programs import same, same_for, unknown

BODIES = st.sampled_from(["pass", "raise KeyError(1)", "raise ValueError(2)", "return 'returned'"])
TRY = "try:\n        yield 5\n    "
BEFORE = st.sampled_from(
    [
        "yield 5",
        f"{TRY}except KeyError:\n        log.append('key')",
        f"{TRY}finally:\n        log.append('finally')",
        f"{TRY}except KeyError:\n        raise ValueError",
        "pass",
        "yield 5\n    yield 6",
    ]
)


@given(BEFORE, BODIES)
def test_a_manager_of_a_generator(manager: str, body: str) -> None:
    same(
        f"""
import contextlib
log = []
@contextlib.contextmanager
def made(x):
    log.append(x)
    {manager}
    log.append("end")
def inner():
    with made(1) as value:
        log.append(value)
        {body}
    return "after"
def run():
    try:
        out = inner()
    except Exception as error:
        out = type(error).__name__
    return out, log
""".replace("\n    pass\n    log.append", "\n    if x > 5: yield\n    log.append")
    )


@given(
    st.sampled_from(
        [
            "contextlib.suppress(KeyError)",
            "contextlib.suppress(KeyError, ValueError)",
            "contextlib.suppress()",
            "contextlib.nullcontext(3)",
            "contextlib.closing(Closed())",
        ]
    ),
    BODIES,
)
def test_managers(manager: str, body: str) -> None:
    same(f"""
import contextlib
log = []
class Closed:
    def close(self): log.append("closed")
def inner():
    with {manager}:
        {body}
    return "after"
def run():
    try:
        out = inner()
    except Exception as error:
        out = type(error).__name__
    return out, log
""")


PROGRAMS = {
    "an exit stack": """
import contextlib
log = []
class M:
    def __init__(self, name): self.name = name
    def __enter__(self):
        log.append("+" + self.name)
        return self.name
    def __exit__(self, *error):
        log.append("-" + self.name)
        return self.name == "b" and error[0] is KeyError
def run():
    with contextlib.ExitStack() as stack:
        log.append(stack.enter_context(M("a")))
        stack.callback(log.append, "callback")
        stack.enter_context(M("b"))
        raise KeyError
    return log
""",
    "shallow and deep copies": """
import copy
class A:
    def __init__(self): self.items = [1]
def run():
    a = A()
    b, c = copy.copy(a), copy.deepcopy(a)
    a.items.append(2)
    twice = [[0]] * 2
    d = copy.deepcopy(twice)
    d[0].append(1)
    return b.items, c.items, twice, d, copy.copy((1, [2])), copy.deepcopy({1: [2]})
""",
    "a list in itself, copied": """
import copy
def run():
    a = [1]
    a.append(a)
    b = copy.deepcopy(a)
    return b[1] is b, b is not a, len(b)
""",
    "copies of one's own": """
import copy
class A:
    def __copy__(self): return "copy"
    def __deepcopy__(self, memo): return "deep"
def run(): return copy.copy(A()), copy.deepcopy([A()])
""",
    "what is shared stays so": """
import copy
def f(): pass
def run():
    a = [1]
    b = copy.deepcopy({"x": a, "y": a, "f": f})
    return b["x"] is b["y"], b["x"] is not a, b["f"] is f
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    same(PROGRAMS[name])


def test_a_manager_that_decorates_is_not_followed() -> None:
    unknown("""
        import contextlib
        @contextlib.contextmanager
        def made():
            yield
        @made()
        def f(x): return x + 1
        def run(): return f(1)
    """)


def test_what_is_suppressed_by_path() -> None:
    program = """
        import contextlib
        def run(n):
            out = []
            with contextlib.suppress(ZeroDivisionError):
                out.append(6 // n)
                out.append(6 // (n - 1))
            return len(out)
    """
    same_for(program, n=range(4))
