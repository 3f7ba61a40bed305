"""Classes that take methods of built-in types by name."""

from __future__ import annotations

import pytest

from tests.python.programs import same

HEAD = """
from collections import OrderedDict
def tryit(f):
    try: return f()
    except Exception as e: return type(e).__name__
def several(*fs): return [tryit(f) for f in fs]
"""

PROGRAMS = {
    "texts": """
class A(str):
    __str__ = object.__str__
class C(int):
    __str__ = object.__str__
    __repr__ = int.__repr__
class D:
    __str__ = object.__str__
    def __repr__(self): return "D"
class E(Exception):
    __str__ = object.__str__
    def __repr__(self): return "E"
def run(): return several(lambda: str(C(3)), lambda: str(D()), lambda: str(E(1)))
""",
    "of a list": """
class A(list):
    __len__ = list.__len__
    __eq__ = object.__eq__
    __hash__ = object.__hash__
    __iter__ = list.__iter__
    __contains__ = list.__contains__
    __getitem__ = list.__getitem__
    __add__ = list.__add__
    __iadd__ = list.__iadd__
    append2 = list.append
def run():
    a = A([1]); b = A([1])
    a.append2(2); a += [3]
    return len(a), a == b, a == a, 1 in a, a[0], list(a), a + [4], {a: 1}[a], type(a).__name__
""",
    "of a dictionary under other names": """
class A(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__
    __delattr__ = dict.__delitem__
    __repr__ = dict.__repr__
def run():
    a = A(x=1)
    a.y = 2
    del a.x
    return a.y, dict(a), repr(a), tryit(lambda: a.z), str(a)
""",
    "of an integer": """
class A(int):
    __add__ = int.__sub__
    __radd__ = int.__add__
    __bool__ = int.__bool__
    __int__ = int.__int__
    __index__ = int.__index__
    __hash__ = int.__hash__
    __lt__ = int.__gt__
    __neg__ = int.__abs__
    __str__ = int.__repr__
def run():
    return (A(5) + 2, 2 + A(5), bool(A(0)), int(A(3)), [1, 2, 3][A(1)], A(1) < 0, -A(-3),
        str(A(7)))
""",
    "of object": """
class A:
    __eq__ = object.__ne__
    __ne__ = object.__eq__
    __hash__ = object.__hash__
    __getattribute__ = object.__getattribute__
    __setattr__ = object.__setattr__
    __init__ = object.__init__
    __repr__ = lambda self: "A!"
    __format__ = object.__format__
def run():
    a = A()
    a.x = 3
    return a.x, str(a), f"{a}", tryit(lambda: f"{a:>3}")
""",
    "of a tuple": """
class A(tuple):
    __new__ = tuple.__new__
    __repr__ = object.__repr__
    __str__ = tuple.__repr__
    __iter__ = tuple.__iter__
def run(): return str(A((1, 2))), tuple(A((1,))), len(A("ab"))
""",
    "ordered dictionaries from keys": """
class S(OrderedDict): pass
def run(): return several(lambda: list(OrderedDict.fromkeys("abc", value=0).items()),
        lambda: list(OrderedDict.fromkeys(iterable="ab").items()),
        lambda: type(OrderedDict.fromkeys("a")).__name__,
        lambda: type(S.fromkeys("a", 3)).__name__, lambda: dict.fromkeys("ab", 1),
        lambda: OrderedDict.fromkeys(), lambda: OrderedDict.fromkeys(3))
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    same(HEAD + PROGRAMS[name])
