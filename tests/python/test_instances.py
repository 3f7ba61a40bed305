"""Instances: special methods, as operators, protocols and conversions ask for them."""

from __future__ import annotations

import pytest

from tests.python.programs import same, same_for

PROGRAMS = {
    "arithmetic": """
class V:
    def __init__(self, n): self.n = n
    def __add__(self, o): return V(self.n + (o.n if isinstance(o, V) else o))
    def __radd__(self, o): return V(o + self.n + 1000)
    def __sub__(self, o): return V(self.n - o.n)
    def __mul__(self, k): return V(self.n * k)
    def __rmul__(self, k): return V(k * self.n)
    def __truediv__(self, k): return ("/", self.n, k)
    def __floordiv__(self, k): return ("//", self.n, k)
    def __mod__(self, k): return ("%", self.n, k)
    def __pow__(self, k): return ("**", self.n, k)
    def __matmul__(self, o): return ("@", self.n, o.n)
    def __lshift__(self, o): return ("<<", o)
    def __and__(self, o): return ("&", o)
    def __rxor__(self, o): return ("^", o)
    def __neg__(self): return V(-self.n)
    def __pos__(self): return "+"
    def __invert__(self): return "~"
    def __abs__(self): return abs(self.n)
def run():
    a, b = V(1), V(2)
    return ((a + b).n, (a + 5).n, (5 + a).n, (a - b).n, (a * 3).n, (3 * a).n, a / 2, a // 2,
            a % 2, a ** 2, a @ b, a << 1, a & 1, 1 ^ a, (-a).n, +a, ~a, abs(b))
""",
    "an operator that nobody knows": """
class V: pass
def run():
    return V() + 1
""",
    "NotImplemented": """
class A:
    def __add__(self, o): return NotImplemented
class B:
    def __radd__(self, o): return "B"
def run():
    return A() + B()
""",
    "NotImplemented from both": """
class A:
    def __add__(self, o): return NotImplemented
    def __radd__(self, o): return "never"
def run():
    return A() + A()
""",
    "a derived class goes first": """
log = []
class A:
    def __add__(self, o): log.append("A.add"); return 1
class B(A):
    def __radd__(self, o): log.append("B.radd"); return NotImplemented
class C(A): pass
def run():
    return A() + B(), A() + C(), log
""",
    "a derived class that does not override goes second": """
class A:
    def __add__(self, o): return "add"
    def __radd__(self, o): return "radd"
class B(A): pass
class C(A):
    def __radd__(self, o): return "C.radd"
def run():
    return A() + B(), A() + C(), B() + C(), 1 + C()
""",
    "in place": """
class V:
    def __init__(self, n): self.n = n
    def __iadd__(self, o):
        self.n += o
        return self
    def __mul__(self, o): return V(self.n * o)
def run():
    v = w = V(1)
    v += 4
    same = v is w
    v *= 3
    return same, v.n, w.n, v is w
""",
    "comparisons": """
class P:
    def __init__(self, n): self.n = n
    def __eq__(self, o):
        if not isinstance(o, P): return NotImplemented
        return self.n == o.n
    def __lt__(self, o): return self.n < o.n
def run():
    a, b, c = P(1), P(2), P(1)
    return (a == c, a != c, a == b, a != b, a == 1, a != 1, a < b, a > b, b > a,
            sorted([b, a], key=lambda p: p.n)[0].n, [a, b].index(c), c in [b, a])
""",
    "no order": """
class P: pass
def run():
    return P() < P()
""",
    "unhashable": """
class P:
    def __eq__(self, o): return True
def run():
    return {P(): 1}
""",
    "default equality": """
class P: pass
def run():
    a, b = P(), P()
    return a == a, a == b, a != a, len({a, b}), {a: 1, b: 2}[b]
""",
    "truth": """
class A:
    def __init__(self, n): self.n = n
    def __len__(self): return self.n
class B(A):
    def __bool__(self): return self.n == 0
class C: pass
def run():
    return (bool(A(0)), bool(A(2)), bool(B(0)), bool(B(2)), bool(C()), not A(0),
            len(A(3)), "x" if A(0) else "y", A(0) or 5)
""",
    "truth that is none": """
class A:
    def __bool__(self): return 1
def run():
    return bool(A())
""",
    "a negative length": """
class A:
    def __len__(self): return -1
def run():
    return len(A())
""",
    "a length that is no number": """
class A:
    def __len__(self): return "x"
def run():
    return len(A())
""",
    "containers": """
class Grid:
    def __init__(self): self.d = {}
    def __getitem__(self, k): return self.d[k]
    def __setitem__(self, k, v): self.d[k] = v
    def __delitem__(self, k): del self.d[k]
    def __contains__(self, k): return k in self.d
    def __len__(self): return len(self.d)
    def __iter__(self): return iter(self.d)
def run():
    g = Grid()
    g["a"] = 1
    g[1, 2] = 3
    g["a"] += 5
    keys = list(g)
    del g["a"]
    return g[1, 2], len(g), "a" in g, (1, 2) in g, "a" not in g, keys
""",
    "no items": """
class A: pass
def run():
    return A()[0]
""",
    "slices": """
class A:
    def __getitem__(self, k):
        if isinstance(k, slice):
            return (k.start, k.stop, k.step)
        return k
def run():
    a = A()
    return a[1:2], a[::3], a[1:2, 3][1], a[...]
""",
    "iterators": """
class Count:
    def __init__(self, n): self.n, self.k = n, 0
    def __iter__(self): return self
    def __next__(self):
        if self.k >= self.n: raise StopIteration
        self.k += 1
        return self.k
def run():
    c = Count(3)
    first = next(c)
    rest = [x for x in c]
    return first, rest, list(c), sum(Count(4)), next(c, "end"), 3 in Count(5), tuple(Count(2))
""",
    "an iterator's end": """
class Empty:
    def __iter__(self): return self
    def __next__(self): raise StopIteration
def run():
    a, = Empty()
""",
    "iter that gives a list": """
class A:
    def __iter__(self): return [1, 2]
def run():
    return [x for x in A()]
""",
    "generator methods": """
class Tree:
    def __init__(self, value, *kids): self.value, self.kids = value, kids
    def __iter__(self):
        yield self.value
        for kid in self.kids:
            yield from kid
def run():
    t = Tree(1, Tree(2, Tree(3)), Tree(4))
    a, *rest = t
    return list(t), a, rest, max(t), [x * 2 for x in t if x > 1]
""",
    "the old protocol": """
class Squares:
    def __getitem__(self, k):
        if k >= 4: raise IndexError
        return k * k
def run():
    return list(Squares()), 9 in Squares(), 5 in Squares(), [x for x in Squares()]
""",
    "conversions": """
class N:
    def __int__(self): return 3
    def __float__(self): return 1.5
    def __index__(self): return 2
    def __str__(self): return "str"
    def __repr__(self): return "repr"
    def __format__(self, spec): return "<" + spec + ">"
def run():
    n = N()
    return (int(n), float(n), [10, 20, 30][n], str(n), repr(n), f"{n} {n!r} {n:>3}",
            list(range(n)), "ab" * n)
""",
    "managers": """
class M:
    def __init__(self, log, swallow): self.log, self.swallow = log, swallow
    def __enter__(self):
        self.log.append("in")
        return self
    def __exit__(self, kind, value, trace):
        self.log.append(None if kind is None else kind.__name__)
        return self.swallow
def run():
    log = []
    with M(log, True) as m:
        log.append(m.swallow)
    with M(log, True):
        raise ValueError("x")
    try:
        with M(log, False), M(log, False):
            raise KeyError("y")
    except KeyError:
        log.append("caught")
    return log
""",
    "special methods are looked up on the class": """
class A: pass
def run():
    a = A()
    a.__len__ = lambda: 3
    return len(a)
""",
    "missing": """
class D(dict):
    def __missing__(self, key):
        self[key] = key * 2
        return self[key]
def run():
    d = D(a=1)
    return d["b"], d["a"], len(d), d.get("z"), "c" in d
""",
    "getattr": """
class Proxy:
    def __init__(self, target): self.target = target
    def __getattr__(self, name):
        if name == "bad": raise AttributeError(name)
        return getattr(self.target, name)
def run():
    p = Proxy([1, 2, 3])
    p.append(4)
    return p.target, p.index(2), hasattr(p, "bad"), getattr(p, "bad", 7), hasattr(p, "nope")
""",
    "hash of one's own": """
class A:
    def __init__(self, n): self.n = n
def run():
    a = A(1)
    d = {a: "x"}
    d[a] = "y"
    return d[a], len(d), A(1) in d
""",
    "a built-in function in a class does not bind": """
class A:
    size = len
def run():
    return A().size([1, 2])
""",
    "dict of an instance": """
class A:
    def __init__(self, **given): self.__dict__.update(given)
def run():
    a = A(x=1, y=2)
    d = a.__dict__
    a.z = 3
    d["w"] = 4
    return a.x, a.w, sorted(d), d["z"], len(d), "q" in d, list(d.items())[0], d.pop("x")
""",
    "an attribute is deleted": """
class A: pass
def run():
    a = A()
    a.x = 1
    del a.x
    del a.x
""",
    "iadd list attr": """
class C:
    def __init__(self): self.items = []
def run():
    c = C()
    d = c.items
    c.items += [1]
    c.items.append(2)
    return c.items, d is c.items
""",
    "operators return NotImplemented eq": """
class A:
    def __eq__(self, o): return NotImplemented
    __hash__ = None
class B:
    def __eq__(self, o): return "B says"
def run():
    a = A()
    return a == a, a == A(), A() == B(), A() != B(), B() == A(), 3 == B(), 3 != B()
""",
    "reflected comparison": """
class A:
    def __gt__(self, o): return ("gt", o)
    def __le__(self, o): return ("le", o)
def run():
    return 3 < A(), 3 >= A(), A() > 4
""",
    "subclass compare first": """
class A:
    def __eq__(self, o): return "A"
    def __lt__(self, o): return "A<"
class B(A):
    def __eq__(self, o): return "B"
    def __gt__(self, o): return "B>"
def run():
    return A() == B(), A() < B(), B() == A()
""",
    "rpow divmod": """
class A:
    def __rpow__(self, o): return ("rpow", o)
    def __divmod__(self, o): return ("dm", o)
    def __round__(self, n=None): return ("round", n)
    def __reversed__(self): return "rev"
def run():
    return 2 ** A(), divmod(A(), 3), round(A()), round(A(), 2), reversed(A())
""",
    "contains by iter": """
class A:
    def __iter__(self): return iter([1, 2])
class B:
    def __contains__(self, x): return 5
    __iter__ = None
def run():
    return 1 in A(), 3 in A(), 3 in B(), 3 not in B()
""",
    "contains none": """
class A:
    __contains__ = None
    def __iter__(self): return iter([1])
def run():
    return 1 in A()
""",
    "iter none": """
class B:
    __iter__ = None
    def __getitem__(self, k): return [1][k]
def run():
    return list(B())
""",
    "call with star": """
class A:
    def __call__(self, *a, **k): return a, k
def run():
    return A()(1, *[2, 3], x=4, **{"y": 5})
""",
    "property raising attribute error": """
class A:
    @property
    def v(self): return self.missing
def run():
    return hasattr(A(), "v"), getattr(A(), "v", 3)
""",
    "dir slots inherited": """
class A:
    __slots__ = ["a"]
class B(A):
    __slots__ = ("b",)
def run():
    b = B()
    b.a = 1
    b.b = 2
    try:
        b.c = 3
    except AttributeError:
        return b.a + b.b, B.__slots__
""",
    "ia named tuple: subclass": """
class Bytes(int):
    UNIT = 8
    def __new__(cls, n, unit=8):
        made = super().__new__(cls, n)
        made.unit = unit
        return made
    def bits(self): return self * self.unit
    def __add__(self, o): return Bytes(int(self) + int(o), self.unit)
def run():
    b = Bytes(4, unit=2)
    return (
        b.bits(), (b + 1).unit, b + 1 == 5, type(b + 1).__name__, type(1 + b).__name__, b == 4,
        {4: "x"}[b], b > 3, str(b), b.real, b.bit_length(), -b, isinstance(b, int), [0] * b,
        "ab"[Bytes(1)], range(b)[-1], max(b, 2) is b, bool(Bytes(0)), abs(Bytes(-3)), b // 3,
        2 ** b, divmod(b, 3), round(b), int(b), float(b),
    )
""",
    "str subclass": """
class S(str):
    def __eq__(self, o): return "eq"
    def twice(self): return self + self
    __hash__ = str.__hash__
def run():
    s = S("ab")
    return (
        s.twice(), len(s), s[0], s == "x", s.startswith("a"), "-".join([s, s]), s in "xabx",
        "a" in s, list(s), s.upper(), s % (), "%s!" % S("q"), isinstance(s, str),
        {"ab": 1}.get("ab"), s < "b", s * 2, s.split("b"), bool(S("")), f"{s}",
    )
""",
    "tuple subclass": """
class T(tuple):
    @property
    def first(self): return self[0]
    def __add__(self, o): return T(tuple(self) + tuple(o))
def run():
    t = T([1, 2, 3])
    a, *b = t
    return (
        t.first, (t + (4,)).first, type(t + ()).__name__, t == (1, 2, 3), len(t), t[1:], a, b,
        t.index(2), {(1, 2, 3): 5}[t], sorted(t), 2 in t, t < (2,), t * 2, (0,) + t,
        [x for x in t], sum(t), tuple(t) == t, isinstance(t, tuple), max(t), len(T()),
    )
""",
    "dict subclass": """
class D(dict):
    def __init__(self, *a, **k):
        super().__init__(*a, **k)
        self.log = []
    def __setitem__(self, k, v):
        self.log.append(k)
        super().__setitem__(k, v)
    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name)
def run():
    d = D(a=1)
    d["b"] = 2
    d.update(c=3)
    return (
        d.log, d.a, d.b, sorted(d), len(d), d == {"a": 1, "b": 2, "c": 3}, hasattr(d, "zz"),
        dict(d), {**d}, d.pop("a"), "a" in d, list(d.items()), d.get("q", 9),
        isinstance(d, dict), bool(D()), d | {"z": 1},
    )
""",
    "set subclass": """
class S(set):
    def add2(self, x):
        self.add(x); self.add(x + 1)
        return self
def run():
    s = S([1])
    s.add2(5)
    return (
        sorted(s), 5 in s, len(s), s == {1, 5, 6}, sorted(s | {9}), s - {1} == {5, 6},
        isinstance(s, set),
    )
""",
    "list subclass ops": """
class L(list):
    def __getitem__(self, k):
        got = super().__getitem__(k)
        return L(got) if isinstance(k, slice) else got
    def total(self): return sum(self)
def run():
    x = L([3, 1, 2])
    x.sort()
    y = x[1:]
    x += [7]
    x *= 2
    del x[0]
    x[0] = 50
    return (
        x.total(), y.total(), type(y).__name__, list(x), x == list(x), type(x + [1]).__name__,
        x.index(7), x.count(7), [a for a in x], list(reversed(x)), bool(L()), list(L("ab")),
        x[-1], sorted(x), len(x), 50 in x, x > [1],
    )
""",
    "delete attrs": """
class A:
    x = 1
def run():
    a = A()
    a.x = 2
    del a.x
    return a.x
""",
    "getitem class tuple": """
class M:
    def __init__(self): self.d = {}
    def __setitem__(self, ij, v): self.d[ij] = v
    def __getitem__(self, ij):
        i, j = ij
        return self.d.get((i, j), 0)
def run():
    m = M()
    m[1, 2] = 5
    m[0, 0] += 7
    return m[1, 2], m[0, 0], m[9, 9], m.d
""",
    "truthiness in while": """
class Stack:
    def __init__(self, *a): self.a = list(a)
    def __bool__(self): return len(self.a) > 0
    def pop(self): return self.a.pop()
def run():
    s = Stack(1, 2, 3)
    out = []
    while s:
        out.append(s.pop())
    return out
""",
    "object methods by super": """
class A:
    def __eq__(self, o): return super().__eq__(o)
    def __hash__(self): return super().__hash__()
    def __repr__(self): return "A!"
    def __ne__(self, o): return super().__ne__(o)
def run():
    a = A()
    return a == a, a == A(), str(a), a != A()
""",
    "unpack instance attrs": """
class A: pass
def run():
    a = A()
    a.x, a.y = 1, 2
    a.x, a.y = a.y, a.x
    for a.z in range(3): pass
    return a.x, a.y, a.z
""",
    "chained attribute aug": """
class A:
    def __init__(self): self.b = B()
class B:
    def __init__(self): self.n = [0, 1]
def run():
    a = A()
    a.b.n[1] += 5
    a.b.n, a.b.m = a.b.n * 2, 3
    return a.b.n, a.b.m
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    same(PROGRAMS[name])


def test_operators_on_symbols() -> None:
    same_for(
        """
        class Size:
            def __init__(self, n): self.n = n
            def __add__(self, o): return Size(self.n + o.n)
            def __eq__(self, o): return self.n == o.n
            def __lt__(self, o): return self.n < o.n
            def __bool__(self): return self.n > 2
            def __len__(self): return self.n
            def __getitem__(self, k): return self.n * 10 + k
        def run(a, b):
            x, y = Size(a), Size(b)
            z = x if x < y else y
            out = (x + y).n
            if z:
                out += 100
            return out, x == y, x != y, len(z), z[3], bool(x), x > y
        """,
        a=range(5),
        b=range(5),
    )


def test_not_implemented_on_some_paths() -> None:
    same_for(
        """
        class A:
            def __init__(self, n): self.n = n
            def __add__(self, o):
                if self.n > 1: return NotImplemented
                return ("A", self.n)
            def __eq__(self, o):
                if self.n > 2: return NotImplemented
                return True
        class B:
            def __radd__(self, o): return ("B", o.n)
        def run(a):
            return A(a) + B(), A(a) == B()
        """,
        a=range(4),
    )


def test_an_item_that_depends_on_the_inputs() -> None:
    same_for(
        """
        class D(dict):
            def __missing__(self, key): return -key
        def run(a):
            d = D({1: 10, 2: 20})
            return d[a], a in d
        """,
        a=range(4),
    )
