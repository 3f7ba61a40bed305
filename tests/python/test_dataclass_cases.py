"""Data classes and read-only dictionaries: small programs that agree with CPython."""

from __future__ import annotations

import pytest

from tests.python import support

PROGRAMS = [
    """
from dataclasses import dataclass, field, MISSING, fields, KW_ONLY


@dataclass
class C:
    x: int = field(default=MISSING)


try:
    C()
    result = 1
except TypeError:
    result = 2
result = (
    result,
    "x" in C.__dict__,
    MISSING is MISSING,
    fields(C)[0].default is MISSING,
    fields(C)[0].default_factory is MISSING,
    bool(MISSING),
    MISSING == MISSING,
)
""",
    """
from dataclasses import dataclass, field, MISSING, fields, KW_ONLY


@dataclass
class C:
    x: int = field(default=3)
    y: int = field(default=3, metadata={"a": 4})


m = fields(C)[0].metadata
n = fields(C)[1].metadata
try:
    m["test"] = 3
    result = 1
except TypeError:
    result = 2
result = result, len(m), n["a"], list(n), dict(n), n == {"a": 4}, "a" in n, n.get("b", 7)
""",
    """
from dataclasses import dataclass, field

try:
    field(metadata=0)
    result = 1
except TypeError:
    result = 2
""",
    """
from dataclasses import dataclass, field

d = {}


@dataclass
class C:
    x: int = field(metadata=d)


d["q"] = 3
from dataclasses import fields

result = fields(C)[0].metadata["q"]
""",
    """
from dataclasses import dataclass, field


@dataclass
class A:
    x: int
    y: int = 3


B = dataclass(slots=True)(A)
result = (
    A is B,
    hasattr(A, "__slots__"),
    B.__slots__,
    A.y,
    B(1).y,
    B(1) == B(1),
    A(1) == B(1),
    B.__name__,
    hasattr(B(1), "__dict__"),
    isinstance(B(1), A),
)
""",
    """
from dataclasses import dataclass


@dataclass(slots=True)
class A:
    x: int

    def f(self):
        return self.x + 1

    @property
    def z(self):
        return 7

    @classmethod
    def m(cls):
        return cls(5).x

    @staticmethod
    def s():
        return A(3).x


try:
    a = A(1)
    a.q = 3
except AttributeError:
    result = 1
result = result, a.f(), a.z, A.m(), A.s()
""",
    """
from dataclasses import dataclass


class Base:
    def f(self):
        return 3


@dataclass(slots=True)
class A(Base):
    x: int

    def f(self):
        return super().f()


try:
    result = A(1).f()
except TypeError:
    result = "no"
""",
    """
from dataclasses import dataclass


@dataclass(slots=True, frozen=True)
class A:
    x: int


a = A(1)
try:
    a.x = 3
except AttributeError:
    result = [1]
try:
    a.y = 3
except TypeError:
    result.append(2)
except AttributeError:
    result.append(3)
""",
    """
from dataclasses import dataclass


@dataclass(slots=True)
class A:
    x: int


@dataclass(slots=True)
class B(A):
    y: int = 4


result = A.__slots__, B.__slots__, B(1).y, B(1, 2) == B(1, 2), repr(B(1))
""",
    """
from dataclasses import dataclass


class Root:
    __slots__ = iter(("a", "b"))


try:

    @dataclass(slots=True)
    class C(Root):
        x: int

    result = 1
except TypeError:
    result = 2
""",
    """
from dataclasses import dataclass


class D:
    def __get__(self, instance, owner):
        if instance is None:
            return 100
        return instance._x

    def __set__(self, instance, value):
        instance._x = value


@dataclass
class C:
    i: D = D()


c = C()
d = C(5)
result = c.i, d.i
""",
    """
from dataclasses import dataclass


class D:
    def __get__(self, instance, owner):
        if instance is None:
            raise AttributeError()
        return instance._x

    def __set__(self, instance, value):
        instance._x = value


@dataclass
class C:
    i: D = D()


try:
    C()
    result = 0
except TypeError:
    result = 4
""",
    """
from dataclasses import dataclass


class B:
    x = 7


@dataclass
class C(B):
    x: int
    y: int = 3


result = C().x, C(2).x, "x" in C.__dict__
""",
    """
from dataclasses import dataclass, field, KW_ONLY

try:

    @dataclass
    class A:
        a: int
        _: KW_ONLY
        b: int
        c: KW_ONLY

    result = 1
except TypeError:
    result = 2
""",
    """
from dataclasses import dataclass, field, KW_ONLY


@dataclass
class A:
    a: int = 2
    _: KW_ONLY
    b: int


result = A(b=3).a, A(1, b=5).b
""",
    """
from dataclasses import dataclass


@dataclass
class A:
    x: property = property(lambda self: 3)


a = A
result = type(A.x).__name__
""",
    """
from types import MappingProxyType

d = {"a": 1}
p = MappingProxyType(d)
d["b"] = 2
result = [
    p["b"],
    len(p),
    p | {"c": 3},
    {"z": 0} | p,
    list(p.items()),
    type(p).__name__,
    type(p | {}).__name__,
    type(p.copy()).__name__,
]
try:
    p["x"] = 1
except TypeError:
    result.append("t")
try:
    del p["a"]
except TypeError:
    result.append("t")
try:
    p.pop("a")
except AttributeError:
    result.append("t")
try:
    p |= {}
except TypeError:
    result.append("t")
""",
    """
from collections import deque, Counter

result = dict(deque([(1, 2)])), Counter(deque("aab"))["a"]
d = {}
d.update(deque([(4, 5)]))
result = result, d, d == deque(), deque() == d
""",
    """
from contextlib import AbstractContextManager


class M:
    def __enter__(self):
        return self

    def __exit__(self, *a):
        return None


class N(M):
    __enter__ = None


class O(AbstractContextManager):
    def __exit__(self, *a):
        pass


class P:
    def __exit__(self, *a):
        pass


result = (
    [issubclass(x, AbstractContextManager) for x in (M, N, O, P, int)],
    isinstance(M(), AbstractContextManager),
)
""",
]


@pytest.mark.parametrize("source", PROGRAMS)
def test_as_cpython(source: str) -> None:
    support.program(source)
