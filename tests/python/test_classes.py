"""Classes: their bodies, bases, attributes, and how instances are made."""

from __future__ import annotations

import pytest

from tests.python.programs import same, same_for, unknown
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
    "exception hierarchy": """
class Base(Exception):
    def __str__(self): return "B:" + super().__str__()
class Sub(Base):
    code = 4
def f(k):
    try:
        if k == 0: raise Sub("a", 1)
        if k == 1: raise Base
        if k == 2: raise KeyError("k")
        return {}["x"]
    except Base as e:
        return str(e), e.args, getattr(e, "code", None)
    except LookupError as e:
        return type(e).__name__, e.args
    finally:
        log.append(k)
log = []
def run():
    return [f(k) for k in range(4)], log
""",
    "exception equality and attributes": """
class E(Exception): pass
def run():
    a, b = E(1), E(1)
    a.extra = 5
    return (
        a == b, a == a, a.extra, hasattr(b, "extra"), {a: 1}[a], E(1, 2).args,
        a.with_traceback(None) is a,
    )
""",
    "exception wrong kw": """
class E(Exception): pass
def run():
    return E(x=1)
""",
    "exception own init without super": """
class E(Exception):
    def __init__(self, a, b): self.a = a
def run():
    e = E(1, b=2)
    return e.args, e.a, str(e)
""",
    "stopiteration value": """
def g():
    yield 1
    return 7
def run():
    it = g()
    next(it)
    try:
        next(it)
    except StopIteration as e:
        return e.value, e.args
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
    "assert isinstance union": """
class A: pass
def run():
    return (
        isinstance(A(), A | int), isinstance(3, A | int), isinstance("x", A | None),
        (int | None) == (int | None), isinstance(None, A | None),
    )
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
    "vars": """
class A:
    def __init__(self): self.x = 1
def run():
    a = A()
    vars(a)["y"] = 2
    return vars(a), a.y, vars(3)
""",
    "abstract list": """
from abc import ABC, abstractmethod
class A(list, ABC):
    @abstractmethod
    def f(self): ...
def run(): return len(A([1]))
""",
    "exit in loop with break": """
class M:
    log = []
    def __enter__(self): return self
    def __exit__(self, *a): M.log.append(a[0] is None)
def run():
    for k in range(5):
        with M():
            if k == 2: break
            if k == 1: continue
    return M.log, k
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


def test_an_object_that_a_loop_changes() -> None:
    same_for(
        """
class Acc:
    def __init__(self): self.total, self.steps = 0, []
    def add(self, n):
        self.total += n
        return self
def run(n, k):
    a = Acc()
    for i in range(n):
        a.add(k)
    return a.total
""",
        n=range(5),
        k=range(3),
    )


def test_data_classes_in_a_list() -> None:
    same_for(
        """
from dataclasses import dataclass
@dataclass
class T:
    start: int
    size: int
    @property
    def end(self): return self.start + self.size
def run(n):
    tiles = [T(i * 4, 4) for i in range(n)]
    s = 0
    for t in tiles:
        s += t.end - t.start
    return s, len(tiles)
""",
        n=range(5),
    )


def test_a_length_of_one_s_own() -> None:
    same_for(
        """
class R:
    def __init__(self, total, size):
        self.total, self.size = total, size
    def __len__(self): return (self.total + self.size - 1) // self.size
    def __getitem__(self, k):
        if k >= len(self): raise IndexError
        return (k * self.size, min(self.total, (k + 1) * self.size))
def run(n):
    r = R(n, 3)
    return len(r)
""",
        n=range(8),
    )


def test_an_attribute_that_a_method_sets_on_some_paths() -> None:
    same_for(
        """
class C:
    def __init__(self, n): self.n = n
    def grow(self):
        if self.n > 2:
            self.n *= 2
            return "big"
        self.extra = 1
        return None
def run(a):
    c = C(a)
    r = c.grow()
    return c.n, r, hasattr(c, "extra"), getattr(c, "extra", 0)
""",
        a=range(6),
    )


def test_exceptions_of_one_s_own() -> None:
    same_for(
        """
class Bad(Exception):
    def __init__(self, n):
        super().__init__(n)
        self.n = n
def f(a):
    if a > 3: raise Bad(a)
    if a == 2: raise ValueError("two")
    return a
def run(a):
    try:
        return f(a)
    except Bad as e:
        return e.n * 10
""",
        a=range(6),
    )


def test_which_exception_depends_on_the_inputs() -> None:
    same_for(
        """
class A(Exception): pass
class B(A): pass
class C(Exception): pass
def run(a):
    try:
        raise (A if a == 0 else B if a == 1 else C)(a)
    except B as e:
        return "B", e.args[0]
    except A as e:
        return "A", e.args
    except C:
        return "C"
""",
        a=range(3),
    )


def test_a_configuration_that_depends_on_the_inputs() -> None:
    same_for(
        """
from enum import Enum
from dataclasses import dataclass, replace
class Mode(Enum):
    A = 0
    B = 1
    C = 2
@dataclass(frozen=True)
class Cfg:
    n: int
    mode: Mode = Mode.A
    def size(self):
        match self.mode:
            case Mode.A: return self.n
            case Mode.B: return self.n * 2
        return 0
def run(a, m):
    mode = Mode(m)
    c = Cfg(a, mode)
    if a > 2 and mode is not Mode.C:
        c = replace(c, n=a + 1)
    return c.size(), c.mode.name, c == Cfg(a, Mode.A)
""",
        a=range(5),
        m=range(3),
    )


def test_items_by_a_pair_of_symbols() -> None:
    same_for(
        """
class Grid:
    def __init__(self, r, c):
        self.r, self.c, self.cells = r, c, {}
    def __getitem__(self, ij):
        i, j = ij
        if not (0 <= i < self.r and 0 <= j < self.c): raise IndexError(i, j)
        return self.cells.get(ij, i * 10 + j)
    def __len__(self): return self.r * self.c
def run(a, b):
    g = Grid(3, 2)
    try:
        return g[a, b], len(g)
    except IndexError as e:
        return e.args
""",
        a=range(5),
        b=range(4),
    )


def test_an_operator_that_changes_an_object_in_a_loop() -> None:
    same_for(
        """
class V:
    def __init__(self, n): self.n = n
    def __add__(self, o): return V(self.n + o.n)
    def __iadd__(self, o):
        self.n += o.n
        return self
def run(n, k):
    acc, step = V(0), V(k)
    for i in range(n):
        acc += step
    return acc.n, (acc + step).n
""",
        n=range(4),
        k=range(3),
    )


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
