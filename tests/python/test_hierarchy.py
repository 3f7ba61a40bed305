"""Classes and instances: where attributes are found, how instances are made."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.python.programs import same, same_for

BASES = st.lists(st.lists(st.integers(0, 4), unique=True, max_size=3), min_size=2, max_size=5)


@settings(deadline=None)
@given(BASES, st.lists(st.sampled_from("xyz"), min_size=5, max_size=5))
def test_the_order_of_bases(bases: list[list[int]], attributes: list[str]) -> None:
    classes = []
    for number, chosen in enumerate(bases):
        held = [f"C{k}" for k in chosen if k < number]
        body = f"{attributes[number]} = {number}\n        def who(self): return [{number}]"
        call = f"[{number}] + super().who()" if held else f"[{number}]"
        body = body.replace(f"return [{number}]", f"return {call}")
        classes.append(f"    class C{number}({', '.join(held)}):\n        {body}")
    last = f"C{len(bases) - 1}"
    text = "\n".join(classes)
    same(f"""
def make():
{text}
    return {last}
def run():
    try:
        cls = make()
    except TypeError:
        return "type"
    found = [getattr(cls(), name, None) for name in "xyz"]
    try:
        who = cls().who()
    except AttributeError:
        who = None
    return [c.__name__ for c in cls.__mro__], found, who
""")


SETTER = "def __set__(self, obj, value): log.append(value)"
DESCRIPTORS = {
    "data": f"def __get__(self, obj, cls): return 'got'\n    {SETTER}",
    "no data": "def __get__(self, obj, cls): return ('got', obj is None)",
    "set only": SETTER,
    "none": "pass",
}


@pytest.mark.parametrize("kind", DESCRIPTORS)
@pytest.mark.parametrize("step", ["a.x", "A.x", "a.__dict__['x']", "a.y", "setattr(a, 'x', 5)"])
def test_class_before_instance_or_after(kind: str, step: str) -> None:
    same(f"""
log = []
class D:
    {DESCRIPTORS[kind]}
class A:
    x = D()
def run():
    a = A()
    a.__dict__["x"] = "own"
    a.__dict__["y"] = "why"
    out = {step}
    shown = out if isinstance(out, (str, tuple, type(None))) else "object"
    return shown, log, a.__dict__["x"]
""")


PROGRAMS = {
    "new and init": """
log = []
class A:
    def __new__(cls, *args):
        log.append(("new", cls.__name__, args))
        return super().__new__(cls)
    def __init__(self, x):
        log.append(("init", x))
class B(A):
    def __new__(cls, x):
        return A(x + 1) if x > 5 else super().__new__(cls, x)
def run(): return type(A(1)).__name__, type(B(2)).__name__, type(B(7)).__name__, log
""",
    "new that gives something else": """
class A:
    def __new__(cls): return 5
    def __init__(self): raise ValueError
def run(): return A()
""",
    "arguments that nobody takes": """
class A: pass
class B(A):
    def __init__(self, x): self.x = x
def run():
    out = []
    for make in (lambda: A(1), lambda: B(), lambda: B(1).x, lambda: object(1)):
        try:
            out.append(make())
        except TypeError:
            out.append("type")
    return out
""",
    "init that returns": """
class A:
    def __init__(self): return 1
def run(): return A()
""",
    "abstract": """
import abc
class A(abc.ABC):
    @abc.abstractmethod
    def f(self): pass
class B(A):
    def f(self): return 1
class C(A): pass
def run():
    out = [B().f()]
    for cls in (A, C):
        try:
            cls()
        except TypeError:
            out.append(cls.__name__)
    return out
""",
    "subclasses of built-in types": """
class L(list):
    def last(self): return self[-1]
class I(int):
    def double(self): return self * 2
class D(dict):
    def __missing__(self, key): return key * 2
def run():
    l = L([1, 2])
    l.append(3)
    return l.last(), l == [1, 2, 3], I(4).double(), D(a=1)["a"], D()["b"], isinstance(l, list)
""",
    "getattr and setattr of a class": """
class A:
    def __getattr__(self, name):
        if name.startswith("no"): raise AttributeError(name)
        return name * 2
    def __setattr__(self, name, value): self.__dict__[name] = value + 1
    def __delattr__(self, name): self.__dict__["gone"] = name
def run():
    a = A()
    a.x = 1
    del a.x
    return a.x, a.y, hasattr(a, "nothing"), a.gone, getattr(a, "none", 3)
""",
    "slots": """
class A:
    __slots__ = ("x",)
def run():
    a = A()
    a.x = 1
    out = [a.x, hasattr(a, "__dict__")]
    try:
        a.y = 2
    except AttributeError:
        out.append("no y")
    del a.x
    try:
        a.x
    except AttributeError:
        out.append("no x")
    return out
""",
    "isinstance and issubclass": """
class A: pass
class B(A): pass
def run():
    b = B()
    return (isinstance(b, A), isinstance(b, (int, A)), issubclass(B, A), issubclass(A, B),
            isinstance(True, int), isinstance(A, type), type(b) is B, isinstance(1, float))
""",
    "a class is changed": """
class A: x = 1
class B(A): pass
def run():
    b = B()
    out = [b.x]
    A.x = 2
    out.append(b.x)
    B.x = 3
    out += [b.x, A.x]
    del B.x
    out.append(b.x)
    return out
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    same(PROGRAMS[name])


def test_attributes_by_path() -> None:
    program = """
        class A:
            x = 1
            def f(self): return self.x
        class B(A):
            def f(self): return super().f() + 10
        def run(n):
            a = B() if n > 1 else A()
            if n == 2:
                a.x = 5
            return a.f(), isinstance(a, B), "x" in a.__dict__
    """
    same_for(program, n=range(4))


def test_an_attribute_that_is_there_on_some_paths() -> None:
    program = """
        class A: pass
        def run(n):
            a = A()
            if n > 1:
                a.x = n
            return a.x
    """
    same_for(program, n=range(4))
