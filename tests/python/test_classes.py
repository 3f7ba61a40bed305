"""Classes: their bodies, attributes and methods."""

from __future__ import annotations

import pytest

from tests.python.programs import same, unknown
from tests.python.support import program

PROGRAMS = {
    "a plain class": """
class Point:
    dims = 2
    def __init__(self, x, y=3):
        self.x = x
        self.y = y
    def total(self):
        return self.x + self.y + self.dims
def run():
    p = Point(1)
    q = Point(x=4, y=5)
    return p.total(), q.total(), p.x, Point.dims, Point.total(q)
""",
    "names of a class body": """
size = 1
class Box:
    size = size + 1
    area = size * 10
    def get(self):
        return size
def run():
    return Box.size, Box.area, Box().get(), size
""",
    "a class in a function": """
def make(n):
    class Counter:
        start = n
        def value(self):
            return n + self.start
    return Counter
def run():
    a, b = make(1), make(10)
    return a().value(), b().value(), a is b, a.__name__, a.__qualname__
""",
    "a loop and a condition in a class body": """
class Table:
    entries = []
    for k in range(3):
        entries.append(k * k)
    if len(entries) > 2:
        big = True
    else:
        small = True
    squares = [x for x in entries]
def run():
    return Table.entries, Table.k, Table.big, hasattr(Table, "small"), Table.squares
""",
    "static methods, class methods, properties": """
class C:
    count = 0
    def __init__(self):
        self._v = 1
    @staticmethod
    def add(a, b):
        return a + b
    @classmethod
    def bump(cls):
        cls.count += 1
        return cls.count
    @property
    def v(self):
        return self._v
    @v.setter
    def v(self, value):
        self._v = value * 2
    @v.deleter
    def v(self):
        self._v = -1
def run():
    c = C()
    out = [c.add(1, 2), C.add(3, 4), c.bump(), C.bump(), c.v]
    c.v = 5
    out.append(c.v)
    del c.v
    return out, c.v, C.count, c.count
""",
    "a property without a setter": """
class C:
    @property
    def v(self): return 1
def run():
    C().v = 2
""",
    "a property cannot be deleted": """
class C:
    v = property(lambda self: 1)
def run():
    del C().v
""",
    "class attributes are shared": """
class C:
    items = []
    n = 0
def run():
    a, b = C(), C()
    a.items.append(1)
    a.n += 1
    C.n = 10
    return b.items, a.n, b.n, C.n, a.items is b.items
""",
    "class attributes are deleted": """
class C:
    x = 1
def run():
    del C.x
    return hasattr(C, "x"), hasattr(C(), "x")
""",
    "an attribute that no class has": """
class C: pass
def run():
    return C.missing
""",
    "an attribute that no instance has": """
class C: pass
def run():
    return C().missing
""",
    "too many arguments": """
class C:
    def __init__(self, a): pass
def run():
    return C(1, 2)
""",
    "no constructor": """
class C: pass
def run():
    return C(1)
""",
    "a constructor that returns": """
class C:
    def __init__(self): return 3
def run():
    return C()
""",
    "set_name": """
class Field:
    def __set_name__(self, owner, name):
        self.name = name
        self.owner = owner.__name__
    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        return instance.__dict__.get("_" + self.name, self.owner)
    def __set__(self, instance, value):
        instance.__dict__["_" + self.name] = value + 1
class C:
    x = Field()
    y = Field()
def run():
    c = C()
    before = c.x
    c.x = 1
    return before, c.x, c.y, C.x.name, sorted(c.__dict__)
""",
    "private names": """
class A:
    def __init__(self): self.__x = 1
    def a(self): return self.__x
class B(A):
    __y = 5
    def __init__(self):
        super().__init__()
        self.__x = 2
    def b(self): return self.__x, self.__y
def run():
    b = B()
    return b.a(), b.b(), b._A__x, b._B__x, sorted(b.__dict__)
""",
    "class decorators": """
def tagged(tag):
    def wrap(cls):
        cls.tag = tag
        return cls
    return wrap
@tagged("t")
class C: pass
def run():
    return C.tag, C().tag
""",
    "classes are values": """
class A: pass
class B(A): pass
def run():
    table = {A: 1, B: 2, int: 3}
    return table[B], table[int], type(B()) is B, type(3) is int, [A, B].index(B), A == B
""",
    "special attributes": '''
class A:
    """Doc."""
    x = 1
def run():
    return A.__name__, A.__bases__ == (object,), A().__class__ is A, "x" in A.__dict__
''',
    "generics": """
from typing import Generic, TypeVar, Protocol
T = TypeVar("T")
class Stack(Generic[T]):
    def __init__(self): self.items = []
    def push(self, x: T): self.items.append(x)
class Sized(Protocol):
    def size(self): ...
class S(Sized):
    def size(self): return 4
def run():
    s = Stack[int]()
    s.push(3)
    return s.items, S().size(), isinstance(s, Stack)
""",
    "callable instances": """
class Add:
    def __init__(self, n): self.n = n
    def __call__(self, x, *, times=1): return (x + self.n) * times
def run():
    f = Add(2)
    return f(1), f(1, times=3), callable(f), [g(1) for g in [Add(k) for k in range(3)]]
""",
    "an instance that is not callable": """
class A: pass
def run():
    return A()()
""",
    "object": """
def run():
    a, b = object(), object()
    return a == a, a == b, a is a, a != b, isinstance(a, object), len({a, b, a})
""",
    "attributes of an object()": """
def run():
    o = object()
    o.x = 1
""",
    "setattr of object": """
class C:
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value * 2)
    def __delattr__(self, name):
        super().__setattr__("gone", name)
    def __getattr__(self, name):
        return "no " + name
def run():
    c = C()
    c.x = 4
    del c.x
    return c.x, c.gone, c.other
""",
    "methods as values": """
class C:
    def __init__(self, n): self.n = n
    def get(self): return self.n
def run():
    c = C(4)
    f = c.get
    c.n = 5
    return f(), c.get == f, c.get == C(4).get, C.get(c), f.__self__ is c, f.__func__ is C.get
""",
    "functions in the instance do not bind": """
class C: pass
def run():
    c = C()
    c.f = lambda x: x
    C.g = lambda self, x: (self is c, x)
    return c.f(1), c.g(2)
""",
    "simple namespaces": """
from types import SimpleNamespace
def run():
    n = SimpleNamespace(a=1, b=2)
    n.c = n.a + n.b
    return n.c, n == SimpleNamespace(a=1, b=2, c=3), hasattr(n, "d"), vars_of(n)
def vars_of(n):
    return dict(n.__dict__)
""",
    "an unbound method of the wrong type": """
def run():
    return list.append((), 1)
""",
    "methods of built-in types as functions": """
def run():
    x = [3]
    list.append(x, 4)
    return x, str.upper("ab"), list(map(str.strip, [" a ", "b "])), dict.fromkeys("ab", 0)
""",
    "function attributes": """
def f(): "doc"
def run():
    f.calls = 1
    f.calls += 1
    return f.calls, f.__name__, f.__doc__, hasattr(f, "x")
""",
    "nested classes": """
class Outer:
    class Inner:
        x = 1
        def outer(self): return Outer
    value = Inner.x + 1
def run():
    return Outer.Inner().outer() is Outer, Outer.value, Outer.Inner.__qualname__
""",
    "iterating over what has no items": """
class C: pass
def run():
    return [x for x in C()]
""",
    "class counter in loop": """
class C:
    n = 0
    def bump(self):
        type(self).n += 1
        self.__class__.n += 10
        return self
def run():
    for k in range(3): C().bump().bump()
    return C.n
""",
    "classmethod alt constructor": """
class Shape:
    def __init__(self, r, c): self.r, self.c = r, c
    @classmethod
    def square(cls, n): return cls(n, n)
    @classmethod
    def of(cls, t): return cls(*t)
class Sub(Shape):
    def area(self): return self.r * self.c
def run():
    return Sub.square(3).area(), Sub.of((2, 4)).area(), type(Shape.of((1, 2))).__name__
""",
    "setattr getattr names": """
class A: pass
def run():
    a = A()
    for k in range(3):
        setattr(a, "x" + str(k), k)
    return a.x2, getattr(a, "x1"), hasattr(a, "x3"), sorted(a.__dict__)
""",
    "class scope comprehension": """
class A:
    n = 3
    first = [k for k in range(n)]
def run():
    return A.first
""",
    "class scope comprehension name error": """
def run():
    class A:
        n = 3
        bad = [n for k in range(2)]
    return A.bad
""",
    "class scope uses global after local deleted": """
x = 1
class A:
    y = x
    x = 2
    z = x
    del x
    w = x
def run():
    return A.y, A.z, A.w, hasattr(A, "x")
""",
    "global in class": """
g = 1
class A:
    global g
    g = 5
    def f(self): return g
def run():
    return A().f(), g, hasattr(A, "g")
""",
    "nonlocal in class": """
def run():
    n = 1
    class A:
        nonlocal n
        n = 7
    return n, hasattr(A, "n")
""",
    "__class__ cell": """
class A:
    def me(self): return __class__
class B(A): pass
def run():
    return B().me() is A
""",
    "recursion of classes": """
class Node:
    def __init__(self, v, next=None): self.v, self.next = v, next
    def __len__(self): return 1 + (len(self.next) if self.next else 0)
    def __iter__(self):
        node = self
        while node is not None:
            yield node.v
            node = node.next
def run():
    n = Node(1, Node(2, Node(3)))
    return len(n), list(n), n.next.next.v, sum(n)
""",
    "descriptor get only": """
class Const:
    def __init__(self, v): self.v = v
    def __get__(self, obj, cls=None): return (self.v, obj is None)
class A:
    c = Const(4)
def run():
    a = A()
    before = a.c
    a.__dict__["c"] = 9
    return before, a.c, A.c
""",
    "property via property()": """
class A:
    def g(self): return self._v
    def s(self, v): self._v = v
    v = property(g, s, doc="x")
    w = property(fget=lambda self: 3)
def run():
    a = A()
    a.v = 4
    return a.v, a.w
""",
    "getattr default on class": """
class A: x = 1
def run():
    return getattr(A, "x"), getattr(A, "y", 2), hasattr(A, "z")
""",
    "class_getitem": """
class A:
    def __class_getitem__(cls, k): return (cls.__name__, k)
def run():
    return A[3], A["x", 1]
""",
    "staticmethod callable in body": """
class A:
    @staticmethod
    def f(n): return n * 2
    k = f(4)
def run():
    return A.k, A.f(1), A().f(2)
""",
    "lambda attributes": """
class A:
    f = lambda self, x: (self is not None, x)
def run():
    return A().f(2), A.f(1, 3)
""",
    "shadow builtin in class": """
class A:
    def list(self): return [1]
    def both(self): return list("ab"), self.list()
def run():
    return A().both()
""",
    "private methods": """
class A:
    def __secret(self): return 1
    def call(self): return self.__secret()
    @staticmethod
    def __s(): return 2
    def other(self): return A.__s()
def run():
    return A().call(), A().other(), hasattr(A(), "__secret"), hasattr(A(), "_A__secret")
""",
    "private outside": """
class A:
    def __init__(self): self.__x = 1
def run():
    return A().__x
""",
    "type() of things": """
class A: pass
def f(): pass
def run():
    values = [A(), A, f, len, 1, None, [], (), {}, set(), "", 1.0, True, lambda: 0, property()]
    values += [ValueError(), ValueError, range(3), slice(1), object()]
    return [type(x).__name__ for x in values]
""",
    "vars": """
class A:
    def __init__(self): self.x = 1
def run():
    a = A()
    vars(a)["y"] = 2
    return vars(a), a.y, vars(3)
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    same(PROGRAMS[name])


def test_what_is_not_followed() -> None:
    unknown("class A:\n    def __del__(self): pass\ndef run(): return A()")
    unknown(
        """
        class Meta(type):
            def __call__(cls): return 3
        class C(metaclass=Meta): pass
        def run(): return C()
        """
    )
    unknown(
        """
        import torch
        class M(torch.nn.Module):
            def __init__(self): self.x = 1
        def run(): return M().x
        """
    )
    unknown(
        """
        class C:
            def __getattribute__(self, name): return 3
        def run(): return C().x
        """
    )


def test_what_classes_say_of_themselves() -> None:
    program(
        """\
class C:
    "doc"
    x: int = 1
found = [name in C.__dict__ for name in ("x", "__annotations__", "__doc__")]
result = (found, (int | str) == (str | int), (int | str) == int)
"""
    )
    program(
        """\
from collections.abc import Hashable
class NoHash:
    __hash__ = None
class OnlyEq:
    def __eq__(self, other): return True
class Child(NoHash):
    def __hash__(self): return 1
class L(list): pass
result = [isinstance(x, Hashable) for x in (NoHash(), OnlyEq(), Child(), object(), L(), 1, [])]
"""
    )
    program(
        """\
class E(OSError):
    def __new__(cls, message, baz):
        self = super().__new__(cls, message)
        self.baz = baz
        return self
e = E("m", baz=1)
result = (e.args, e.baz)
"""
    )
    program(
        """\
class X:
    @property
    def __class__(self): return int
result = (X().__class__ is int, isinstance(X(), X))
"""
    )


def test_what_nobody_can_follow_in_a_class() -> None:
    unknown("class C:\n    def __del__(self): pass\ndef run(): return C()\n")
    unknown("class C: pass\ndef run(): return C.__annotations__\n")
    unknown("class C(enumerate): pass\ndef run(): return C([1])\n")
    unknown("class C:\n    __bases__ = ()\ndef run(): return isinstance(1, C())\n")
