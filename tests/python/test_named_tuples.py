"""Named tuples."""

from __future__ import annotations

import pytest

from tests.python.programs import RECORD_IMPORTS, same, same_for

PROGRAMS = {
    "named tuples": """
class P(NamedTuple):
    x: int
    y: int = 5
    def total(self): return self.x + self.y
Q = collections.namedtuple("Q", "a b c", defaults=[7])
R = NamedTuple("R", [("m", int), ("n", int)])
def run():
    p = P(1)
    x, y = p
    q = Q(1, b=2)
    return (p.x, p.y, p.total(), x, y, p == (1, 5), len(p), p[1], tuple(p._replace(x=9)),
            p._asdict(),
            P._fields, q.c, q._fields, tuple(Q._make([1, 2, 3])), R(1, 2).n, isinstance(p, tuple),
            {p: 1}[(1, 5)], repr(p), p + (1,), max(P(1), P(2)).x, P(3, 4) < P(3, 5),
            sorted([P(2), P(1)])[0].x, [a for a in p], 5 in p)
""",
    "a named tuple cannot be changed": """
class P(NamedTuple):
    x: int
def run():
    P(1).x = 2
""",
    "a named tuple with too few": """
class P(NamedTuple):
    x: int
    y: int
def run():
    return P(1)
""",
    "a named tuple: methods and defaults": """
class P(NamedTuple):
    x: int = 0
    y: int = 0
    @property
    def total(self): return self.x + self.y
    @classmethod
    def of(cls, n): return cls(n, n)
    def __add__(self, o): return P(self.x + o.x, self.y + o.y)
def run():
    p = P.of(3) + P(1)
    return (
        p.total, p.x, tuple(p), P._field_defaults, P(*[1, 2]).y, P(**{"y": 4}).y, p._asdict(),
        isinstance(p, P), p[::-1], p > (0, 0), p != P(4, 3), len({P(), P(0), (0, 0)}),
    )
""",
    "a named tuple: unpack star loop": """
P = collections.namedtuple("P", ["a", "b"])
def run():
    out = []
    for a, b in [P(1, 2), P(b=3, a=4)]:
        out.append(a * 10 + b)
    return (
        out, P(1, 2)._replace(b=5).b, P._make([7, 8]).a, P.__name__, P(1, 2) == P(1, 2),
        P(1, 2)._fields,
    )
""",
    "a named tuple: bad replace": """
P = collections.namedtuple("P", "a b")
def run(): return P(1, 2)._replace(a=3, b=4).a, P(1)
""",
    "a named tuple: field name": """
def run(): return collections.namedtuple("P", "a _b")
""",
    "a named tuple: dup": """
def run(): return collections.namedtuple("P", "a a")
""",
    "a named tuple: subclass": """
class Base(NamedTuple):
    a: int
    b: int = 2
class Sub(Base):
    def s(self): return self.a + self.b
    def __new__(cls, a): return super().__new__(cls, a, a * 10)
def run():
    s = Sub(3)
    return s.s(), s.b, type(s).__name__, isinstance(s, Base)
""",
    "deepcopy of dataclass and namedtuple": """
class P(NamedTuple):
    a: list
@dataclass
class D:
    p: P
    q: dict = field(default_factory=dict)
def run():
    d = D(P([1]), {"k": [2]})
    e = copy.deepcopy(d)
    d.p.a.append(5)
    d.q["k"].append(6)
    f = copy.copy(d)
    return e.p.a, e.q, e == d, f.q is d.q, f == d, type(e.p).__name__
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    same(RECORD_IMPORTS + PROGRAMS[name])


def test_named_tuples_that_depend_on_the_inputs() -> None:
    same_for(
        RECORD_IMPORTS
        + """
class Shape(NamedTuple):
    rows: int
    cols: int = 3
def run(a, b):
    s = Shape(a, b) if a > b else Shape(b)
    rows, cols = s
    return rows * 10 + cols, s.rows, s == (a, b), s._replace(rows=a).rows, s[0]
""",
        a=range(4),
        b=range(4),
    )
