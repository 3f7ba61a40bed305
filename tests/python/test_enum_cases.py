"""Enumerations: small programs that agree with CPython."""

from __future__ import annotations

import pytest

from tests.python import support

PROGRAMS = [
    """
from enum import Enum

try:

    class C(Enum):
        red = 1

        def red(self):
            return 2

    result = 0
except TypeError:
    result = 1
""",
    """
from enum import Enum

try:

    class C(Enum):
        def red(self):
            return 2

        red = 1

    result = 0
except TypeError:
    result = 1
""",
    """
from enum import Enum

try:

    class C(Enum):
        _bad_ = 1

    result = 0
except ValueError:
    result = 1
""",
    """
from enum import Enum

try:

    class C(Enum, str):
        a = "a"

    result = 0
except TypeError:
    result = 1
""",
    """
from enum import Enum


class H(Enum):
    name = "x"
    value = "y"
    other = "z"


result = (
    H.name.name,
    H.name.value,
    H.value.name,
    H.other.name,
    H["name"].value,
    H.name is H["name"],
    [m.name for m in H],
)
""",
    """
from enum import Enum


class HexInt(int):
    def __repr__(self):
        return hex(self)


class M(HexInt, Enum):
    A = 1
    B = 2


result = repr(M.A), type(M.A.value).__name__, M.A + 1, M.A == 1, isinstance(M.A, int), M(2).name
""",
    """
from enum import Enum


class Colour(Enum):
    _order_ = "red green blue"
    red = 1
    green = 2
    blue = 3
    verde = green


result = len(Colour), hasattr(Colour, "_order_")
""",
    """
from enum import Enum

try:

    class Colour(Enum):
        _order_ = "red green blue"
        red = 1
        blue = 3
        green = 2

    result = 1
except TypeError:
    result = 2
""",
    """
from enum import Enum

try:

    class Colour(Enum):
        _order_ = "red green blue purple"
        red = 1
        green = 2
        blue = 3

    result = 1
except TypeError:
    result = 2
""",
    """
from enum import Enum, auto

try:

    class C(Enum):
        red = auto()

        def _generate_next_value_(name, start, count, last):
            return name

    result = 1
except TypeError:
    result = 2
""",
    """
from enum import Enum, auto


class C(Enum):
    def _generate_next_value_(name, start, count, last):
        return name + str(count)

    red = auto()
    blue = auto()


result = C.red.value, C.blue.value
""",
    """
from enum import Enum


class C(str, Enum):
    def __new__(cls, value, extra):
        e = str.__new__(cls, value)
        e.extra = extra
        e._value_ = value
        return e

    a = ("x", 1)
    b = ("y", 2)


result = C.a.value, C.b.extra, C("x") is C.a, C.a == "x"
""",
    """
from enum import Enum

try:

    class C(str, Enum):
        def __new__(cls, value, extra):
            e = str.__new__(cls, value)
            return e

        a = ("An", 0)

    result = 1
except TypeError:
    result = 2
""",
    """
from enum import Enum, member, nonmember


class E(Enum):
    a = member(1)
    b = nonmember(2)

    @member
    def c(self):
        return 4

    @nonmember
    class D:
        pass


result = (E.a.value, E.b, len(E), E.c.name, E.D.__name__, [m.name for m in E], "b" in E.__members__)
""",
    """
import enum


class B(enum.Enum):
    @enum.property
    def first(self):
        return "%s is first!" % self.name


class M(B):
    first = enum.auto()
    second = enum.auto()


result = M.first.name, M.first.first, M.second.first, M.second.value, len(M), M["first"] is M.first
""",
    """
import enum


class B(enum.Enum):
    @enum.property
    def spam(self):
        return 3

    x = 1


result = [B.x.spam]
try:
    B.spam
except AttributeError:
    result.append("a")
try:
    B.x.spam = 4
except AttributeError:
    result.append("b")
result.append(hasattr(B, "spam"))
""",
    """
from types import DynamicClassAttribute


class A:
    def __init__(self):
        self._s = 5

    @DynamicClassAttribute
    def spam(self):
        return self._s

    @spam.setter
    def spam(self, v):
        self._s = v

    @spam.deleter
    def spam(self):
        del self._s


a = A()
result = [a.spam]
a.spam = 7
result.append(a.spam)
del a.spam
result.append(hasattr(a, "_s"))
try:
    A.spam
except AttributeError:
    result.append("no")
""",
    """
from enum import Enum


class C(Enum):
    _ignore_ = "t u"
    t = 3
    u = 4
    a = 1


result = len(C), hasattr(C, "t"), hasattr(C, "_ignore_")
""",
    """
from enum import Enum

try:

    class C(Enum):
        a = 1
        _ignore_ = "a"

    result = 1
except ValueError:
    result = 2
""",
    """
from enum import Enum


class C(Enum):
    for i in range(2):
        pass
    a = 5


result = [m.name for m in C]
""",
    """
from enum import Enum

try:

    class C(Enum):
        mro = 1

    result = 1
except ValueError:
    result = 2
""",
    """
from enum import IntFlag


class C(IntFlag):
    R = 1
    G = 2
    B = 4
    P = 3


result = (
    C.__len__(C.G),
    C.__len__(C.P),
    len(C),
    len(C.P),
    len(C.R | C.B),
    [m.name for m in C],
    [m.name for m in C.P],
    C.P.name,
    3 in [C.P],
)
""",
    """
from enum import Enum


class A(Enum):
    x = 1


class B(Enum):
    x = 1


result = A.x in A, A.x == B.x, A.x in [B.x]
""",
    """
from enum import Enum


class A(Enum):
    "doc"

    x = 1


result = A.__doc__
""",
    """
from enum import Enum


class A(Enum):
    x = 1
    y = 2


result = A.x.y.value, A.x.y is A.y
""",
    """
from enum import Enum


class A(Enum):
    x = 1


del A.__doc__
result = 1
""",
    """
from enum import Enum


class Base(Enum):
    def f(self):
        return self.value * 2


class A(Base):
    x = 1


try:

    class C(A):
        y = 3

    result = 1
except TypeError:
    result = A.x.f()
""",
    """
from enum import Enum


class A(Enum):
    x = 1
    y = 2


try:
    del A.x
except AttributeError:
    result = ["d"]
try:
    A.x = 3
except AttributeError:
    result.append("s")
A.z = 4
result.append(A.z)
del A.z
result.append(hasattr(A, "z"))
""",
    """
from enum import Enum, IntEnum


class D:
    def __repr__(self):
        return "D!"

    def __str__(self):
        return "S!"


class A(D, Enum):
    x = 1


class HexInt(int):
    def __repr__(self):
        return hex(self)


class B(HexInt, Enum):
    x = 1

    def __str__(self):
        return "own"


class C(float, Enum):
    x = 1.5


result = repr(A.x), str(A.x), str(B.x), repr(B.x), repr(C.x), str(C.x), f"{A.x}"
""",
    """
result = [str(b"ab", "utf-8"), str(b"ab", encoding="ascii")]
for a in (("x", "utf-8"), (3, "utf-8"), (b"a", 3), (None, "ascii"), (b"a", "utf-8", 4)):
    try:
        result.append(str(*a))
    except TypeError:
        result.append("t")
""",
    """
from enum import Enum, IntEnum, StrEnum, Flag, auto


class A(Enum):
    x = 1
    y = 2
    z = 1


class B(IntEnum):
    x = 1


class M(str, Enum):
    x = "a"


result = [
    A._member_type_ is object,
    B._member_type_ is int,
    Enum._member_type_ is object,
    IntEnum._member_type_ is int,
    StrEnum._member_type_ is str,
    M._member_type_ is str,
    A._member_names_,
    list(A._member_map_),
    [m.name for m in reversed(A)],
]
""",
    """
from enum import Enum


class A(Enum):
    x = 1


class B(Enum):
    x = 1


result = A.x in B, B.x in B
""",
    """
import enum


class E(float, enum.ReprEnum):
    def _generate_next_value_(name, start, count, last):
        return [4.4, 5.5][count]

    a = enum.auto()
    b = enum.auto()


result = E.a.value, E.b + 1, str(E.a), E.a == 4.4, f"{E.b}", len(E), repr(E.a)
""",
    """
from enum import Enum


class M(str, Enum):
    x = "a"


result = str(M.x), M.x.upper(), repr(M.x), M.x + "b"
""",
    """
class A:
    pass


try:
    reversed(A)
except TypeError:
    result = 1
""",
    """
from enum import Enum, IntEnum


class A(Enum):
    x = 1


class B(IntEnum):
    x = 7


class C(Enum):
    x = 1

    def __str__(self):
        return "see"


class D(Enum):
    x = 1

    def __format__(self, spec):
        return "D" + spec


result = (
    f"{A.x:>10}",
    "{:8}|".format(A.x),
    f"{B.x:5}",
    f"{C.x:6}|",
    f"{C.x}",
    f"{D.x:q}",
    format(A.x),
    format(B.x),
    f"{A.x!s:>5}",
    f"{A.x!r}",
)
""",
    """
from enum import Enum


class M(str, Enum):
    x = "a"

    def __str__(self):
        return "S"


result = f"{M.x}", f"{M.x:3}|", str(M.x)
""",
]


@pytest.mark.parametrize("source", PROGRAMS)
def test_as_cpython(source: str) -> None:
    support.program(source)
