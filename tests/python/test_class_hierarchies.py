"""Bases: their order, ``super``, abstract classes, slots and ``__new__``."""

from __future__ import annotations

import pytest

from tests.python.programs import same

PROGRAMS = {
    "inheritance and super": """
class Base:
    def __init__(self, a):
        self.a = a
    def name(self):
        return "base"
    def hello(self):
        return "hello " + self.name()
class Child(Base):
    def __init__(self, a, b):
        super().__init__(a)
        self.b = b
    def name(self):
        return "child of " + super().name()
def run():
    c = Child(1, 2)
    return c.a, c.b, c.hello(), isinstance(c, Base), issubclass(Child, Base)
""",
    "cooperative super": """
class A:
    def f(self): return ["A"]
class B(A):
    def f(self): return ["B"] + super().f()
class C(A):
    def f(self): return ["C"] + super().f()
class D(B, C):
    def f(self): return ["D"] + super().f()
def run():
    return D().f(), [c.__name__ for c in D.__mro__], super(B, D()).f()
""",
    "no consistent order of bases": """
class A: pass
class B(A): pass
def run():
    class C(A, B): pass
    return C
""",
    "the same base twice": """
class A: pass
def run():
    class C(A, A): pass
""",
    "bool is no base": """
def run():
    class C(bool): pass
""",
    "two layouts": """
def run():
    class C(int, str): pass
""",
    "super in class methods and nested functions": """
class A:
    @classmethod
    def make(cls, n):
        made = cls()
        made.n = n
        return made
    def items(self):
        return [1, 2]
class B(A):
    @classmethod
    def make(cls, n):
        return super().make(n + 1)
    def items(self):
        return [x + y for x in super().items() for y in [10]]
def run():
    return B.make(1).n, type(B.make(1)).__name__, B().items()
""",
    "new": """
class Single:
    made = None
    def __new__(cls, *args):
        if cls.made is None:
            cls.made = super().__new__(cls)
        return cls.made
    def __init__(self, n):
        self.n = n
def run():
    a = Single(1)
    b = Single(2)
    return a is b, a.n
""",
    "new that makes something else": """
class C:
    def __new__(cls):
        return 7
    def __init__(self):
        self.never = 1
def run():
    return C()
""",
    "init_subclass": """
class Base:
    known = []
    def __init_subclass__(cls, tag="none", **rest):
        super().__init_subclass__(**rest)
        Base.known.append((cls.__name__, tag))
        cls.tag = tag
class A(Base, tag="a"): pass
class B(A): pass
def run():
    return Base.known, A.tag, B.tag
""",
    "init_subclass without keywords": """
class Base: pass
def run():
    class C(Base, tag=1): pass
""",
    "abstract classes": """
from abc import ABC, abstractmethod
class Shape(ABC):
    @abstractmethod
    def area(self): ...
    def double(self): return 2 * self.area()
class Square(Shape):
    def __init__(self, a): self.a = a
    def area(self): return self.a * self.a
def run():
    try:
        Shape()
    except TypeError:
        return Square(3).double()
""",
    "abstract properties": """
import abc
class Base(metaclass=abc.ABCMeta):
    @property
    @abc.abstractmethod
    def n(self): ...
class Half(Base): pass
class Full(Base):
    n = 3
def run():
    return Full().n, Half()
""",
    "slots": """
class P:
    __slots__ = ("x", "y")
    def __init__(self): self.x = 1
class Q(P): pass
def run():
    q = Q()
    q.z = 3
    p = P()
    p.y = 2
    got = (p.x, p.y, q.z, hasattr(p, "__dict__"))
    p.z = 1
    return got
""",
    "a protocol has no instances": """
from typing import Protocol
class P(Protocol): pass
def run():
    return P()
""",
    "built-in bases": """
class Stack(list):
    def top(self): return self[-1]
    def push(self, x):
        self.append(x)
        return self
class Count(dict):
    def __missing__(self, key): return 0
class Text(str):
    def shout(self): return self.upper() + "!"
class Pair(tuple):
    def __new__(cls, a, b): return super().__new__(cls, (a, b))
    def swapped(self): return Pair(self[1], self[0])
class Num(int):
    def half(self): return self // 2
def run():
    s = Stack([1, 2])
    s.push(3)
    c = Count(a=1)
    p = Pair(1, 2)
    return (list(s), s.top(), len(s), 2 in s, [x for x in s], c["a"], c["z"], len(c),
            Text("ab").shout(), Text("ab") == "ab", tuple(p.swapped()), p == (1, 2),
            Num(9).half(), Num(3) + 4, 4 - Num(3), Num("12") * 2, isinstance(s, list))
""",
    "a list's own methods beyond an override": """
class Log(list):
    def append(self, x):
        super().append(("logged", x))
    def __getitem__(self, k):
        return super().__getitem__(k)[1]
    def __len__(self):
        return super().__len__() + 100
def run():
    log = Log()
    log.append(1)
    log += [("raw", 2)]
    return log[0], log[1], len(log), bool(log), isinstance(log, Log)
""",
    "mixins": """
class Named:
    def name(self): return type(self).__name__
class Sized:
    def size(self): return len(self.items)
class Bag(Named, Sized):
    def __init__(self, *items): self.items = list(items)
def run():
    b = Bag(1, 2)
    return b.name(), b.size(), [c.__name__ for c in Bag.__mro__], Bag.__bases__ == (Named, Sized)
""",
    "diamond init": """
class A:
    def __init__(self, **kw):
        self.order = ["A"]
class B(A):
    def __init__(self, b=1, **kw):
        super().__init__(**kw)
        self.order.append("B")
class C(A):
    def __init__(self, c=2, **kw):
        super().__init__(**kw)
        self.order.append("C")
class D(B, C):
    def __init__(self):
        super().__init__(b=3, c=4)
def run():
    return D().order
""",
    "property inheritance": """
class A:
    @property
    def v(self): return 1
class B(A):
    @property
    def v(self): return super().v + 1
class C(A):
    @A.v.getter
    def v(self): return 7
def run():
    return A().v, B().v, C().v
""",
    "class with metaclass abc isinstance": """
from abc import ABC
class A(ABC): pass
class B(A): pass
def run():
    return isinstance(B(), A), isinstance(3, A), issubclass(B, A), type(B).__name__
""",
    "slot conflicts": """
def run():
    class A:
        __slots__ = ("x",)
        x = 1
""",
    "slot unset": """
class A:
    __slots__ = ("x",)
def run():
    return A().x
""",
    "new with slots default": """
class A:
    def __new__(cls, *a, **k):
        self = object.__new__(cls)
        self.made = a
        return self
    def __init__(self, x, y=2): self.x = x + y
def run():
    a = A(1, y=5)
    return a.made, a.x
""",
    "new with args and no init": """
class A:
    def __new__(cls, x):
        return super().__new__(cls)
def run():
    return type(A(1)).__name__
""",
    "new passing args": """
class A:
    def __new__(cls, x):
        return super().__new__(cls, x)
def run():
    return A(1)
""",
    "super attribute access of property and setter": """
class A:
    def __init__(self): self._x = 1
    @property
    def x(self): return self._x
    @x.setter
    def x(self, v): self._x = v
class B(A):
    @property
    def x(self): return super().x * 10
    @x.setter
    def x(self, v): A.x.fset(self, v + 1)
def run():
    b = B()
    b.x = 5
    b.x += 1
    return b.x
""",
    "__init_subclass__ registering": """
class Plugin:
    registry = {}
    def __init_subclass__(cls, /, key=None, **kw):
        super().__init_subclass__(**kw)
        cls.registry[key or cls.__name__] = cls
class A(Plugin): pass
class B(Plugin, key="bee"):
    def go(self): return "B"
def run():
    return sorted(Plugin.registry), Plugin.registry["bee"]().go()
""",
    "assert isinstance union": """
class A: pass
def run():
    return (
        isinstance(A(), A | int), isinstance(3, A | int), isinstance("x", A | None),
        (int | None) == (int | None), isinstance(None, A | None),
    )
""",
    "isinstance tuples": """
class A: pass
class B(A): pass
def run():
    return isinstance(B(), (int, A)), isinstance(B(), (int, (str, B))), issubclass(B, (int, A))
""",
    "nested function super": """
class A:
    def f(self): return 1
class B(A):
    def f(self):
        def inner(me): return super(B, me).f()
        g = lambda: super(B, self).f()
        return inner(self), g()
def run(): return B().f()
""",
    "super() in nested without args": """
class A:
    def f(self): return 1
class B(A):
    def f(self):
        def inner(me): return super().f()
        return inner(self)
def run(): return B().f()
""",
    "super of unknown attribute": """
class A: pass
class B(A):
    def f(self): return super().nope
def run(): return B().f()
""",
    "abstract with init args": """
from abc import ABC, abstractmethod
class S(ABC):
    def __init__(self, n): self.n = n
    @property
    @abstractmethod
    def area(self): ...
    @classmethod
    @abstractmethod
    def make(cls): ...
    @staticmethod
    @abstractmethod
    def s(): ...
class T(S):
    @property
    def area(self): return self.n
    @classmethod
    def make(cls): return cls(4)
    @staticmethod
    def s(): return 5
def run():
    try:
        S(1)
    except TypeError:
        return T.make().area, T.s()
""",
    "abstract list": """
from abc import ABC, abstractmethod
class A(list, ABC):
    @abstractmethod
    def f(self): ...
def run(): return len(A([1]))
""",
    "copy of list subclass": """
import copy
class L(list):
    def __init__(self, *a):
        super().__init__(*a)
        self.tag = 1
def run():
    x = L([[1], 2])
    x.tag = 5
    y, z = copy.copy(x), copy.deepcopy(x)
    x[0].append(3)
    return list(y), list(z), y.tag, z.tag, type(z).__name__
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    same(PROGRAMS[name])
