"""Enumerations."""

from __future__ import annotations

import enum

import pytest

from tests.python.programs import same, same_for, unknown

HEAD = """
import enum
from enum import Enum, Flag, IntEnum, IntFlag, auto, unique
import copy
import functools
"""

PROGRAMS = {
    "members": """
class Colour(Enum):
    RED = 1
    GREEN = 2
    CRIMSON = 1
    BLUE = "b"
def run():
    return (Colour.RED.name, Colour.RED.value, Colour.CRIMSON is Colour.RED, Colour.CRIMSON.name,
            len(Colour), [c.name for c in Colour], Colour(2) is Colour.GREEN, Colour("b").name,
             Colour["GREEN"].value, Colour.RED == 1, Colour.RED == Colour.RED,
             Colour.RED != Colour.BLUE,
            isinstance(Colour.RED, Colour), list(Colour.__members__), Colour.RED in Colour,
             {Colour.RED: 5}[Colour.CRIMSON], str(Colour.RED), repr(Colour.GREEN),
             type(Colour.RED) is Colour,
            bool(Colour.RED), Colour(Colour.RED) is Colour.RED)
""",
    "a value that no member has": """
class C(Enum):
    A = 1
def run():
    return C(5)
""",
    "a name that no member has": """
class C(Enum):
    A = 1
def run():
    return C["B"]
""",
    "members have no order": """
class C(Enum):
    A = 1
    B = 2
def run():
    return C.A < C.B
""",
    "members cannot be reassigned": """
class C(Enum):
    A = 1
def run():
    C.A = 2
""",
    "an enumeration with members is no base": """
class C(Enum):
    A = 1
def run():
    class D(C):
        B = 2
""",
    "methods, properties and attributes": """
class Op(Enum):
    ADD = ("+", 1)
    MUL = ("*", 2)
    def __init__(self, sign, rank):
        self.sign = sign
        self.rank = rank
    @property
    def shown(self): return self.name.lower() + self.sign
    def above(self, other): return self.rank > other.rank
    @classmethod
    def default(cls): return cls.ADD
    @staticmethod
    def two(): return 2
def run():
    return (
        Op.MUL.shown, Op.MUL.above(Op.ADD), Op.default() is Op.ADD, Op.two(), Op.ADD.value,
        Op(("*", 2)).rank,
    )
""",
    "auto": """
class C(Enum):
    A = auto()
    B = auto()
    X = 10
    Y = auto()
class N(Enum):
    def _generate_next_value_(name, start, count, last_values):
        return name + str(count)
    A = auto()
    B = auto()
class F(Flag):
    R = auto()
    W = auto()
    RW = R | W
def run():
    return [c.value for c in C], [n.value for n in N], F.RW.value, F.R.value, F.W.value
""",
    "integers": """
class P(IntEnum):
    LOW = 1
    HIGH = 3
def run():
    return (P.LOW + 1, P.HIGH * 2, P.LOW < P.HIGH, P.HIGH == 3, 3 == P.HIGH, [10, 20, 30,
            40][P.HIGH],
             P(3) is P.HIGH, sorted([P.HIGH, P.LOW])[0].name, {3: "x"}[P.HIGH], max(P).name,
             int(P.LOW),
                list(range(P.HIGH)), isinstance(P.LOW, int), -P.HIGH, P.LOW | 2,
                P.HIGH - P.LOW, 7 % P.HIGH,
            repr(P.LOW), P.LOW in (1, 2), divmod(7, P.HIGH), P.HIGH // 2, 2 ** P.HIGH, bool(P.LOW))
""",
    "strings": """
class S(str, Enum):
    A = "a"
    B = "b"
def run():
    return (
        S.A == "a", S("b") is S.B, S.A.upper(), "x" + S.B, S.A.value, len(S.A), {"a": 1}[S.A],
        S.A + S.B,
    )
""",
    "flags": """
class F(Flag):
    NONE = 0
    R = 1
    W = 2
    X = 4
    RW = 3
def run():
    a = F.R | F.W
    return (a is F.RW, a.value, F.R in a, F.X in a, bool(F.R & F.W), (a & F.R) is F.R,
            (a ^ F.R) is F.W,
            (~F.R).value, bool(F.NONE), (F.R | F.X) is (F.R | F.X), (F.R | F.X).value, F(3) is F.RW,
            (F.R | F.X) == (F.X | F.R), (F.R & F.W) is F.NONE)
""",
    "integer flags": """
class F(IntFlag):
    R = 1
    W = 2
def run():
    a = F.R | F.W
    return a == 3, a + 1, isinstance(a, F), (F.R | 4).value, (F.R & 1) is F.R, F(3) == a, int(a)
""",
    "a flag out of range": """
class F(Flag):
    R = 1
def run():
    return F(8)
""",
    "unique": """
@unique
class C(Enum):
    A = 1
    B = 2
def run():
    @unique
    class D(Enum):
        A = 1
        B = 1
""",
    "a base without members": """
class Base(Enum):
    def shout(self): return self.name + "!"
    @property
    def twice(self): return self.value * 2
class C(Base):
    A = 3
def run():
    return C.A.shout(), C.A.twice, isinstance(C.A, Base)
""",
    "missing": """
class C(Enum):
    A = 1
    @classmethod
    def _missing_(cls, value):
        return cls.A if value == 100 else None
def run():
    return C(100).name, C(5)
""",
    "new": """
class C(Enum):
    A = (1, "one")
    B = (2, "two")
    def __new__(cls, number, text):
        made = object.__new__(cls)
        made._value_ = number
        made.text = text
        return made
def run():
    return C.A.value, C(2).text, [c.text for c in C]
""",
    "a member on the instance and in functions": """
class Mode(Enum):
    ROW = 0
    COL = 1
TABLE = {Mode.ROW: 128, Mode.COL: 512}
def size(mode=Mode.ROW):
    if mode is Mode.ROW:
        return TABLE[mode]
    elif mode == Mode.COL:
        return TABLE[mode] + 1
def run():
    return size(), size(Mode.COL), [size(m) for m in Mode], Mode.ROW in [Mode.COL, Mode.ROW]
""",
    "an enumeration in a function": """
def run():
    class C(Enum):
        A = 1
        B = 2
    return C.A.value, C(2).name, len(C)
""",
    "twice the same name": """
def run():
    class C(Enum):
        A = 1
        A = 2
""",
    "functions are no members": """
class C(Enum):
    A = 1
    def f(self): return 3
    _ignore_ = ["t"]
    t = 5
    __secret = 7
def run():
    return len(C), C.A.f(), list(C.__members__)
""",
    "enum with dataclass mixin-free attrs": """
class Planet(Enum):
    A = (1.0, 2)
    B = (3.0, 4)
    def __init__(self, mass, radius):
        self.mass, self.radius = mass, radius
    @property
    def d(self): return self.mass / self.radius
def run(): return Planet.A.d, Planet.B.mass, Planet((1.0, 2)) is Planet.A, [p.name for p in Planet]
""",
    "enum in dict of functions": """
class Op(Enum):
    ADD = auto()
    MUL = auto()
T = {Op.ADD: lambda a, b: a + b, Op.MUL: lambda a, b: a * b}
def run(): return T[Op.ADD](2, 3), T[Op.MUL](2, 3), Op.ADD in T, T.get(3), list(T)[0] is Op.ADD
""",
    "enum members list in body": """
class C(Enum):
    A = 1
    B = A + 1
    C_ = [1, 2]
    @classmethod
    def values(cls): return [m.value for m in cls]
def run(): return C.values(), C([1, 2]).name
""",
    "enum aliases iteration": """
class C(Enum):
    A = 1
    B = 1
    D = 2
def run():
    return [c.name for c in C], list(C.__members__), len(C), C.B is C.A, C["B"].name, C(1).name
""",
    "intenum arithmetic types": """
class P(IntEnum):
    A = 2
    B = 3
def run():
    return (
        type(P.A + 1).__name__, type(P.A).__name__, P.A + P.B, P.A * P.B, P.B % P.A,
        P.A ** P.B, P.A < 3, sum(P), sum([P.A, P.B]), max(P.A, P.B).name, P.A & 2, ~P.A,
        [9] * P.A, "ab" * P.A, (1, 2, 3)[P.A], round(P.A), P.A.bit_length(), divmod(P.B, P.A),
        5 // P.A, 5 - P.A, P.A == P.A, P.A != P.B, P.A in {2: 1}, {P.A: 1}[2], bool(P.A),
        abs(P.A), P.A / P.B, int(P.B), float(P.A), range(P.B).stop, P.A is P(2), P["A"] == 2,
    )
""",
    "str enum": """
class S(enum.StrEnum):
    A = auto()
    B = "bee"
def run():
    return (
        S.A == "a", S.B.value, S("a").name, f"{S.B}!", "x-" + S.A, S.A.upper(), {"a": 1}[S.A],
        str(S.B), ",".join(S), S.A in ("a", "b"),
    )
""",
    "flag iteration and contains": """
class F(Flag):
    A = auto()
    B = auto()
    C = auto()
def run():
    x = F.A | F.C
    x |= F.B
    x &= ~F.A
    return (
        F.A in x, F.B in x, x == F.B | F.C, x.value, bool(x & F.A), [f.name for f in x],
        len(x), F(0).value, not F(0), F.A | F.B == F.B | F.A,
    )
""",
    "flag with int": """
class F(Flag):
    A = 1
def run(): return F.A | 1
""",
    "intflag": """
class F(IntFlag):
    A = 1
    B = 2
    AB = 3
def run():
    return (
        (F.A | F.B) is F.AB, F.A | 0 == F.A, F.AB & F.B == 2, F.A < F.B, F.AB - 1, F(1) is F.A,
        F.AB ^ F.A == F.B, (4 | F.A).value,
    )
""",
    "enum compare with other enum": """
class A(Enum):
    X = 1
class B(Enum):
    X = 1
def run(): return A.X == B.X, A.X is B.X, A.X != B.X, A.X in [B.X]
""",
    "enum set attr on member and class": """
class A(Enum):
    X = 1
def run():
    A.X.note = 5
    A.extra = 7
    return A.X.note, A.extra, len(A)
""",
    "enum value set": """
class A(Enum):
    X = 1
def run():
    A.X.value = 5
""",
    "enum subclassing call": """
class A(Enum):
    X = 1
def run(): return A()
""",
    "enum missing attr": """
class A(Enum):
    X = 1
def run(): return A.Y
""",
    "enum generic methods": """
class Layout(Enum):
    ROW = "row"
    COL = "col"
    def flip(self):
        return Layout.COL if self is Layout.ROW else Layout.ROW
    def __str__(self): return self.value
    def __call__(self, x): return (self.name, x)
    def __bool__(self): return self is Layout.ROW
def run():
    return Layout.ROW.flip().name, str(Layout.COL), Layout.ROW(3), bool(Layout.COL), f"{Layout.ROW}"
""",
    "enum constants not members": """
class A(Enum):
    X = 1
    Y = 2
    def f(self): return 3
    g = staticmethod(lambda: 4)
    @property
    def p(self): return 5
    class_var: int
    _private = 9
    __dunder__ = 8
def run(): return [a.name for a in A], A.X.f(), A.X.g(), A.Y.p
""",
    "enum order by definition": """
@functools.total_ordering
class A(Enum):
    X = 1
    Y = 2
    def __lt__(self, o): return self.value < o.value
def run(): return A.X < A.Y, A.Y >= A.X, max(A).name, sorted([A.Y, A.X])[0].name, A.X <= A.X
""",
    "enum copy": """
class A(Enum):
    X = 1
def run(): return copy.copy(A.X) is A.X, copy.deepcopy([A.X])[0] is A.X
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    if "StrEnum" in PROGRAMS[name] and not hasattr(enum, "StrEnum"):
        pytest.skip("of 3.11")
    same(HEAD + PROGRAMS[name])


def test_members_that_depend_on_the_inputs() -> None:
    same_for(
        HEAD
        + """
class C(Enum):
    A = 1
    B = 2
    def double(self): return self.value * 2
class P(IntEnum):
    LOW = 1
    HIGH = 3
def run(a):
    c = C.A if a > 2 else C.B
    p = P.LOW if a > 1 else P.HIGH
    return c.value, c is C.A, c == C.B, c.double(), p + a, p < 2, {C.A: 10, C.B: 20}[c]
""",
        a=range(5),
    )


def test_a_member_by_a_symbolic_value() -> None:
    same_for(
        HEAD
        + """
class C(Enum):
    A = 1
    B = 2
def run(a):
    return C(a).name
""",
        a=range(4),
    )


def test_what_is_not_followed() -> None:
    unknown(HEAD + "C = Enum('C', 'A B')\ndef run(): return C.A")
    unknown(HEAD + "class C(Enum):\n    A = 1\ndef run(): return 1 in C")
