"""``match``."""

from __future__ import annotations

import pytest

from tests.python.programs import same, same_for

HEAD = """
from dataclasses import dataclass
from enum import Enum
"""

PROGRAMS = {
    "values": """
class K:
    ONE = 1
def f(x):
    match x:
        case 0: return "zero"
        case K.ONE: return "one"
        case -2.5: return "float"
        case "a" | "b": return "letter"
        case None: return "none"
        case True: return "true"
        case False: return "false"
        case _: return "other"
def run():
    return [f(x) for x in (0, 1, True, 1.0, -2.5, "a", "b", "c", None, False, [], b"a")]
""",
    "sequences": """
def f(x):
    match x:
        case []: return "empty"
        case [a]: return ("one", a)
        case [1, y]: return ("1,y", y)
        case [a, b]: return ("two", a, b)
        case [first, *middle, last]: return (first, middle, last)
        case str(): return "text"
        case _: return "other"
def run():
    return [f(x) for x in ([], [5], (1, 2), [2, 3], (1, 2, 3, 4), "ab", b"ab", {1, 2}, 5, range(2),
                           {"a": 1})]
""",
    "stars": """
def f(x):
    match x:
        case [*_, 9]: return "ends in 9"
        case [0, *rest]: return rest
        case [*all]: return ("all", all)
def run():
    return f([1, 9]), f((0, 1, 2)), f((3, 4)), f([]), f("ab")
""",
    "mappings": """
def f(x):
    match x:
        case {"kind": "add", "args": [a, b]}: return a + b
        case {"kind": "neg", **rest}: return rest
        case {1: v}: return ("one", v)
        case {}: return "some mapping"
        case _: return "other"
def run():
    return [f(x) for x in ({"kind": "add", "args": [1, 2], "more": 0}, {"kind": "neg", "x": 1},
                           {1: 5}, {"z": 1}, {}, [1], "kind")]
""",
    "classes": """
from dataclasses import dataclass
@dataclass
class P:
    x: int
    y: int = 0
class Q:
    __match_args__ = ("a",)
    def __init__(self, a): self.a = a
class R(P): pass
def f(v):
    match v:
        case R(): return "R"
        case P(0, y): return ("P0", y)
        case P(x=1): return "P1"
        case P(x, y=yy) if x > yy: return ("P>", x, yy)
        case P(): return "P"
        case Q(int(n)): return ("Qi", n)
        case Q(a): return ("Q", a)
        case int(n): return ("int", n)
        case str() as s: return ("str", s)
        case list([a, *_]): return ("list", a)
        case dict(): return "dict"
        case float() | complex(): return "number"
def run():
    return [f(v) for v in (R(1), P(0, 5), P(1), P(3, 2), P(2, 3), Q(4), Q("x"), 7, True, "s",
            [1, 2],
                           {}, 1.5, 2j, None, ())]
""",
    "an attribute that is not there": """
class A: pass
def run():
    match A():
        case A(x=1): return 1
        case A(): return 2
""",
    "too many positional patterns": """
class A: pass
def run():
    match A():
        case A(1): return 1
""",
    "too many for an int": """
def run():
    match 3:
        case int(1, 2): return 1
""",
    "the pattern of what is no class": """
x = 5
def run():
    match 3:
        case x(): return 1
""",
    "captures and guards": """
def f(v):
    out = []
    match v:
        case [x, y] if x == y: out.append("same")
        case [x, (1 | 2) as z]: out.append(("z", z))
        case (5 | 6) as w: out.append(w)
    return out, x if isinstance(v, list) else None
def run():
    return f([1, 1]), f([3, 2]), f([3, 4]), f(6), f(7)
""",
    "what a failed pattern binds": """
def run():
    x = "before"
    match [1, 2]:
        case [x, 3]: pass
        case [1, y] if x == "never": pass
        case _: pass
    return x, y
""",
    "a guard has the captures": """
def run():
    match 5:
        case n if n > 10: return "big"
        case n if (m := n * 2) > 8: return m
""",
    "alternatives": """
def f(v):
    match v:
        case [0, x] | [x, 0] | {"v": x}: return x
        case ["go", ("n" | "s") as way, *steps]: return way, steps
def run():
    return f([0, 1]), f([2, 0]), f({"v": 3}), f(["go", "n", 1, 2]), f(["go", "x"]), f([0, 0])
""",
    "the subject is evaluated once": """
log = []
def g():
    log.append(1)
    return (1, 2)
def run():
    match g():
        case (3, _): pass
        case (1, b): return b, log
""",
    "return, break and continue": """
def run():
    out = []
    for v in [1, "a", [2], None, 5]:
        match v:
            case str(): continue
            case None: break
            case [n]: out.append(n * 10)
            case _: out.append(v)
    return out
""",
    "enumerations": """
from enum import Enum
class C(Enum):
    A = 1
    B = 2
def f(c):
    match c:
        case C.A: return "a"
        case C.B: return "b"
        case C(): return "never"
        case _: return "other"
def run():
    return [f(c) for c in (C.A, C.B, 1)]
""",
    "named tuples and nested patterns": """
from typing import NamedTuple
class P(NamedTuple):
    x: int
    y: int
def f(v):
    match v:
        case P(0, 0): return "origin"
        case (P(x, _), [P(y=0), *_]): return x
        case (a, b): return a, b
def run():
    return f(P(0, 0)), f((P(1, 2), [P(3, 0), 4])), f(P(5, 6))
""",
    "equality of one's own": """
class E:
    def __init__(self, n): self.n = n
    def __eq__(self, o): return self.n == o
def run():
    match E(3):
        case 2: return "two"
        case 3: return "three"
""",
    "an inherited mapping": """
class D(dict): pass
def run():
    match D(a=1):
        case {"a": x}: return x
""",
    "match enum and dataclass nested": """
class C(Enum):
    R = 1
    G = 2
@dataclass
class P:
    c: C
    n: int = 0
def f(v):
    match v:
        case P(C.R, n) if n > 1: return ("R", n)
        case P(c=C.G): return "G"
        case P(C.R | C.G as c): return c.name
        case {"p": P(n=n), **rest}: return n, rest
        case (P() as a, *_, P(n=9)): return a.c.name
        case C(): return "colour"
        case int() | float(): return "num"
        case str(x): return x
        case None | True | False: return "single"
        case object(): return "obj"
def run():
    return [f(v) for v in (P(C.R, 2), P(C.G), P(C.R), {"p": P(C.G, 4), "z": 1}, [P(C.R), 1,
            P(C.G, 9)], C.R, 3, 2.5, "s", None, [])]
""",
    "match bool vs int": """
def f(v):
    match v:
        case True: return "T"
        case 1: return "1"
        case 0: return "0"
def run(): return f(True), f(1), f(1.0), f(False), f(0), f("x")
""",
    "match sequence of str": """
def f(v):
    match v.split():
        case ["go", d]: return d
        case ["drop", *objs]: return objs
        case [x]: return x
        case _: return 0
def run(): return f("go n"), f("drop a b"), f("x"), f("")
""",
    "match negative and complex": """
def f(v):
    match v:
        case -1: return "m1"
        case 1+2j: return "c"
        case b"x": return "b"
        case "": return "empty"
def run(): return f(-1), f(1+2j), f(b"x"), f(""), f(None)
""",
    "match deque range generator": """
from collections import deque
def f(v):
    match v:
        case [a, b]: return a, b
        case _: return None
def run():
    return f(deque([1, 2])), f(range(2)), f(iter([1, 2])), f({1: 2, 3: 4}), f(frozenset([1, 2]))
""",
    "match class attr lookup order": """
class A:
    def __init__(self): self.log = []
    @property
    def x(self):
        self.log.append("x")
        return 1
    @property
    def y(self):
        self.log.append("y")
        return 2
def run():
    a = A()
    match a:
        case A(x=2, y=2): r = 1
        case A(y=2, x=1): r = 2
    return r, a.log
""",
    "match no case": """
def run():
    match 5:
        case 6: return 1
    return "none"
""",
    "match binds on fail with guard": """
def run():
    y = 0
    match (1, 2):
        case (a, b) if (y := a) and b > 5: pass
        case (c, d): pass
    return y, c, d, a, b
""",
    "match mapping get missing": """
from collections import defaultdict
def run():
    d = defaultdict(int)
    match d:
        case {"a": x}: return "found"
        case {}: return len(d)
""",
    "match duplicate": """
class A:
    __match_args__ = ("x",)
    x = 1
def run():
    match A():
        case A(1, x=1): return 1
""",
    "match match_args not tuple": """
class A:
    __match_args__ = ["x"]
    x = 1
def run():
    match A():
        case A(1): return 1
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    same(HEAD + PROGRAMS[name])


def test_symbolic_subjects() -> None:
    same_for(
        """
        def run(a, b):
            match (a, b):
                case (0, y): return 100 + y
                case (x, 2) if x > 1: return x
                case (x, 1 | 3): return -x
                case (x, y) if x == y: return 50
            return 7
        """,
        a=range(4),
        b=range(5),
    )


def test_captures_on_some_paths() -> None:
    same_for(
        """
        def run(a):
            x = -1
            match a:
                case 0: x = 10
                case 1 | 2 as x: pass
                case n if n > 4: x = n * n
            return x
        """,
        a=range(7),
    )


def test_a_subject_that_depends_on_the_inputs() -> None:
    same_for(
        """
        from dataclasses import dataclass
        @dataclass
        class P:
            x: int
            y: int = 1
        def run(a):
            v = [a, 2] if a > 3 else P(a) if a > 1 else None
            match v:
                case None: return "none"
                case [n, m]: return n * m
                case P(x=2, y=y): return ("P2", y)
                case P(n): return n
        """,
        a=range(6),
    )


def test_a_list_of_unknown_length() -> None:
    same_for(
        """
        def run(n):
            items = [k * 2 for k in range(n)]
            match items:
                case []: return "none"
                case [x]: return x
                case [x, y]: return x + y
            return len(items)
        """,
        n=range(5),
    )
