"""Classes: their bodies, bases, attributes, and how instances are made."""

from __future__ import annotations

import pytest

from tests.python.programs import same, same_for, unknown

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
    "exceptions": """
        class Mine(ValueError):
            def __init__(self, code, text):
                super().__init__(text)
                self.code = code
        class Other(Mine): pass
        def run():
            out = []
            try:
                raise Other(3, "bad")
            except Mine as e:
                out.append((e.code, e.args, str(e), type(e).__name__, isinstance(e, ValueError)))
            try:
                raise Mine(1, "x")
            except Other:
                out.append("no")
            except (KeyError, ValueError) as e:
                out.append(e.code)
            return out
    """,
    "exceptions without a constructor": """
        class E1(Exception): pass
        class E2(KeyError): pass
        def run():
            a, b = E1(1, 2), E2("k")
            return a.args, str(a), str(b), str(E1()), repr(E1("x")), a.__cause__
    """,
    "causes": """
        class Mine(Exception): pass
        def run():
            try:
                try:
                    raise KeyError("k")
                except KeyError as e:
                    raise Mine("m") from e
            except Mine as m:
                first = m.__cause__.args, m.__suppress_context__
            try:
                raise Mine from None
            except Mine as m:
                return first, m.__cause__, m.__suppress_context__
    """,
    "a cause that is none": """
        def run():
            raise ValueError from 3
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
    "raising what is no exception": """
        class C: pass
        def run():
            raise C()
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    same(PROGRAMS[name])


def test_a_class_attribute_that_depends_on_the_inputs() -> None:
    same_for(
        """
        class C:
            x = 1
        class D(C): pass
        def run(a):
            if a > 2:
                D.x = 10 + a
            d = D()
            if a == 4:
                d.x = 0
            return d.x, C.x
        """,
        a=range(6),
    )


def test_a_property_that_depends_on_the_inputs() -> None:
    same_for(
        """
        class Tile:
            def __init__(self, n): self.n = n
            @property
            def half(self): return self.n // 2
        def run(a, b):
            t = Tile(a) if a > b else Tile(b)
            t.n += 1
            return t.half, t.n
        """,
        a=range(4),
        b=range(4),
    )


def test_an_attribute_that_is_there_on_some_paths() -> None:
    same_for(
        """
        class C: pass
        def run(a):
            c = C()
            if a > 1:
                c.x = a
            return c.x
        """,
        a=range(4),
    )


def test_an_attribute_with_a_fallback() -> None:
    same_for(
        """
        class C:
            def __getattr__(self, name): return -1
        def run(a):
            c = C()
            if a > 1:
                c.x = a
            return c.x
        """,
        a=range(4),
    )


def test_what_is_not_followed() -> None:
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
