"""Decorators: evaluated in order, applied from the last to the first, of functions and classes."""

from __future__ import annotations

import pytest

from tests.python.programs import same
from tests.python.support import machine, run
from verifier.symbolic.python.model import Function
from verifier.symbolic.trace import LedgerKind
from verifier.symbolic.values import Opaque

PROGRAMS = {
    "order": """
log = []
def note(name):
    log.append(name)
    def apply(f):
        log.append((name, f.__name__))
        return f
    return apply
@note("a")
@note("b")
def f(): return 1
@note("c")
class A: pass
def run(): return log, f()
""",
    "what is made is what is bound": """
def twice(f): return lambda *args: f(f(*args))
def seven(f): return 7
@twice
def add(x): return x + 1
@seven
def nothing(): pass
@seven
class A: pass
def run(): return add(1), nothing, A
""",
    "defaults come after decorators": """
log = []
def note(x):
    log.append(x)
    return lambda f: f
def value(x):
    log.append(x)
    return x
@note("decorator")
def f(x=value("default")): return x
def run(): return log, f()
""",
    "an object that is called": """
class Counted:
    def __init__(self, f):
        self.f, self.calls = f, 0
    def __call__(self, *args):
        self.calls += 1
        return self.f(*args)
@Counted
def f(x): return x * 2
def run(): return f(1), f(2), f.calls
""",
    "wraps": """
import functools
def plain(f):
    @functools.wraps(f)
    def inner(*args, **kwargs):
        return f(*args, **kwargs) + 1
    return inner
@plain
def f(x, *, y=0): return x + y
def run(): return f(1), f(1, y=2), f.__name__
""",
    "methods": """
class A:
    n = 2
    @property
    def x(self): return self.n
    @x.setter
    def x(self, value): self.n = value
    @staticmethod
    def s(a): return a
    @classmethod
    def c(cls): return cls.n
def run():
    a = A()
    a.x = 5
    return a.x, a.s(1), A.s(2), a.c(), A.c()
""",
    "a decorator of a module of names": """
class tools:
    @staticmethod
    def keep(f): return f
@tools.keep
def f(): return 3
def run(): return f()
""",
    "a class decorator that changes it": """
def named(cls):
    cls.label = cls.__name__.lower()
    return cls
@named
class Alpha: pass
def run(): return Alpha.label, Alpha().label
""",
    "an error": """
def no(f): raise ValueError("no")
def run():
    try:
        @no
        def f(): pass
    except ValueError:
        return "caught"
""",
    "what cannot be called": """
def run():
    @5
    def f(): pass
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    same(PROGRAMS[name])


@pytest.mark.parametrize("decorator", ["nki.jit", "nki.jit(debug=True)", "torch.no_grad()"])
def test_a_decorator_of_a_library_that_leaves_the_function(decorator: str) -> None:
    library = decorator.partition(".")[0]
    vm = machine(f"import {library}\n@{decorator}\ndef f(): return 4\n")
    outcome = run(vm, "f()")
    assert outcome.host == 4 and not outcome.vm.trace.ledger
    assert isinstance(run(vm, "f").value, Function)


@pytest.mark.parametrize("use", ["f()", "f(1)", "f.b", "f is None", "A().a + 1", "B.b", "B()"])
@pytest.mark.parametrize("name", ["cached", "cache", "profile", "jit", "compile(3)"])
def test_what_a_decorator_that_is_not_followed_makes_may_be_anything(use: str, name: str) -> None:
    text = (
        f"import elsewhere\n@elsewhere.{name}\ndef f(): return 4\n"
        f"class A:\n    @elsewhere.{name}\n    def a(self): return 1\n"
        f"@elsewhere.{name}\nclass B: pass\n"
    )
    vm = machine(text)
    outcome = run(vm, use)
    assert {LedgerKind.SKIPPED, LedgerKind.OPAQUE} & {entry.kind for entry in vm.trace.ledger}
    assert not outcome.ended


REACHED = """
import elsewhere
COUNT = []
class Held: n = 1
held = Held()
def other(): COUNT.append(1)
"""


@pytest.mark.parametrize(
    "text",
    ["@elsewhere.keep\ndef f(): COUNT.append(1)", "@elsewhere.keep(2)\ndef f(x=COUNT): pass",
     "@elsewhere.keep\nclass A:\n    def m(self): COUNT.append(1)",
     "class A:\n    @elsewhere.keep\n    def m(self): other()",
     "@elsewhere.a.keep\ndef f(): return other()",
     "@elsewhere.one\n@elsewhere.two\ndef f():\n    global COUNT\n    COUNT = [1]",
     "from elsewhere import keep\n@keep\ndef f(): COUNT.append(1)"],
)  # fmt: skip
def test_what_a_library_decorates_may_be_called_there(text: str) -> None:
    vm = machine(f"{REACHED}{text}\n")
    assert run(vm, "len(COUNT)").skipped
    assert run(vm, "held.n").host == 1


def test_a_decorator_of_the_standard_library_without_a_model() -> None:
    text = "import atexit\ndef run():\n    @atexit.register\n    def f(): return 4\n    return f\n"
    outcome = run(machine(text), "run()")
    assert outcome.skipped or isinstance(outcome.value, Opaque)
