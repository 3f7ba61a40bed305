"""Special methods of built-in types by name, and what is asked when they decline."""

from __future__ import annotations

import pytest

from tests.python.programs import same

HEAD = """
import operator
class I:
    def __init__(self, n): self.n=n
    def __index__(self): return self.n
class J(int):
    def __index__(self): return 3
def tryit(f):
    try: return f()
    except Exception as e: return type(e).__name__
def several(*fs): return [tryit(f) for f in fs]
"""

PROGRAMS = {
    "sequences that are repeated": """
def run(): return several(lambda: b"ab".__mul__(I(2)), lambda: "ab".__mul__(I(2)),
        lambda: [1].__mul__(I(2)), lambda: (1,).__mul__(I(2)),
        lambda: "ab".__rmul__(I(2)), lambda: [1].__rmul__(2), lambda: (1,).__rmul__(2),
        lambda: "ab".__rmul__(2), lambda: b"ab".__rmul__(True))
""",
    "what sequences do not take": """
def run(): return several(lambda: "ab".__mul__("x"), lambda: [1].__mul__(1.0),
        lambda: (1,).__rmul__(None), lambda: "a".__add__(3), lambda: [].__add__(()),
        lambda: ().__add__([]), lambda: b"".__add__("a"), lambda: [].__iadd__((1,)),
        lambda: [].__imul__(I(3)), lambda: [1].__imul__(I(3)), lambda: [1].__imul__("x"))
""",
    "numbers of other types": """
def run(): return several(lambda: (1).__add__(1.0) is NotImplemented,
        lambda: (1).__eq__(1.0) is NotImplemented, lambda: (1.0).__eq__(1),
        lambda: (1.0).__add__(1), lambda: (1).__lt__(True), lambda: True.__add__(1),
        lambda: (1).__radd__(2), lambda: (2).__rsub__(5),
        lambda: (2).__rsub__(5.0) is NotImplemented, lambda: (2.0).__rsub__(5),
        lambda: (2).__rpow__(3), lambda: (2).__floordiv__(0))
""",
    "operator.index": """
def run(): return several(lambda: operator.index(J(7)), lambda: operator.index(I(4)),
        lambda: operator.index(True), lambda: operator.index(1.0),
        lambda: operator.index("1"), lambda: operator.index(I("1")),
        lambda: type(operator.index(I(True))).__name__, lambda: J(7).__index__())
""",
    "conversions": """
def run(): return several(lambda: int(I(3)), lambda: float(I(3)),
        lambda: complex(I(3)), lambda: [1,2,3][J(0)] if False else 1,
        lambda: range(I(3)), lambda: [1,2,3,4][I(1):I(3)], lambda: "abcd"[I(1)],
        lambda: (1,2,3)[I(-1)], lambda: b"abc"[I(1)])
""",
    "instances as numbers": """
def run(): return several(lambda: [1,2,3,4,5][J(1)], lambda: "abcdef"[J(1)],
        lambda: hex(J(1)), lambda: bin(I(5)), lambda: oct(I(8)), lambda: chr(I(65)),
        lambda: divmod(I(3), 2), lambda: pow(I(2), 2), lambda: round(3.14159, I(2)),
        lambda: bytes(I(2)), lambda: [0]*I(2), lambda: "a"*J(2))
""",
    "sets and dictionaries": """
def run(): return several(lambda: {1}.__and__([1]) is NotImplemented,
        lambda: {1}.__or__({2}), lambda: {}.__or__({1: 2}),
        lambda: {}.__or__([]) is NotImplemented, lambda: {1:2}.__ior__([(3,4)]),
        lambda: {1}.__rsub__({1,2}), lambda: {1}.__sub__({1}),
        lambda: {1}.__isub__([1]) is NotImplemented, lambda: {1}.__lt__({1,2}),
        lambda: {1}.__lt__([1]) is NotImplemented)
""",
    "strings": """
def run(): return several(lambda: "a%s".__mod__(3), lambda: "a%s".__mod__((1,2)),
        lambda: "a".__rmod__("b%s"), lambda: "a".__rmod__(3) is NotImplemented,
        lambda: "a".__contains__(3), lambda: "a".__contains__("a"),
        lambda: [1].__contains__(1.0), lambda: "ab".__getitem__(I(1)),
        lambda: "ab".__len__(), lambda: [1,2].__getitem__(slice(0,1)),
        lambda: "a".__eq__(1) is NotImplemented,
        lambda: "a".__lt__(1) is NotImplemented, lambda: "a".__ne__("b"))
""",
    "methods of types": """
def run(): return several(lambda: int.__add__(1, 2), lambda: int.__add__(True, 2),
        lambda: int.__add__(1.0, 2), lambda: str.__add__("a", "b"),
        lambda: list.__mul__([1], 2), lambda: list.__rmul__([1], 2),
        lambda: float.__add__(1.0, 2), lambda: list.__add__([1], (2,)),
        lambda: tuple.__add__((1,), [2]), lambda: str.__mul__("a", I(2)))
""",
    "methods of numbers": """
def run(): return several(lambda: (5).__index__(), lambda: True.__index__(),
        lambda: (5).__int__(), lambda: (5).__float__(), lambda: (2.5).__int__(),
        lambda: (5).__bool__(), lambda: (2.5).__bool__(), lambda: (5).__neg__(),
        lambda: (-5).__abs__(), lambda: (5).__invert__(), lambda: True.__invert__(),
        lambda: (2.5).__neg__(), lambda: (5).__hash__(), lambda: (5).__str__(),
        lambda: "a".__repr__(), lambda: [1].__str__())
""",
    "in classes that derive from sequences": """
class L(list):
    def __mul__(self, n): return super().__mul__(n)
    def __add__(self, o): return super().__add__(o)
class S(str):
    def __add__(self, o): return "S" + super().__add__(o)
def run(): return several(lambda: L([1])*2, lambda: L([1])*"x", lambda: L([1])+[2],
        lambda: L([1])+(2,), lambda: S("a")+"b", lambda: S("a")+1, lambda: L([1])*I(2))
""",
    "what has no hash": """
def run(): return several(lambda: [].__hash__, lambda: list.__hash__,
        lambda: {}.__hash__ is None, lambda: set().__hash__ is None,
        lambda: [].__hash__(), lambda: (1).__hash__(),
        lambda: {}.keys().__hash__ is None, lambda: (()).__hash__ is None)
""",
    "ranges": """
def run(): return several(lambda: range(3).__len__(), lambda: range(3).__contains__(2),
        lambda: range(3).__getitem__(1), lambda: range(3).__eq__(range(3)),
        lambda: range(3).__eq__(3) is NotImplemented, lambda: range(3).__add__,
        lambda: list(range(3).__iter__()), lambda: range(3).__lt__(range(3)) is NotImplemented)
""",
    "views of dictionaries": """
def run(): return several(lambda: {1:2}.keys().__and__([1]),
        lambda: {1:2}.values().__and__, lambda: {1:2}.keys().__contains__(1),
        lambda: {1:2}.items().__len__(),
        lambda: {1:2}.keys().__eq__([1]) is NotImplemented,
        lambda: {1:2}.keys().__eq__({1}), lambda: {1:2}.keys().__or__([3]),
        lambda: {1:2}.keys().__sub__({1}), lambda: {1: 2}.keys().__rsub__({1, 5}))
""",
    "items": """
def run():
    d={1:2}; l=[1,2,3]
    d.__setitem__(3,4); d.__delitem__(1); l.__setitem__(0, 9); l.__delitem__(1)
    return (d, l, d.__len__(), d.__contains__(3), list(d.__iter__()),
        l.__iter__().__next__(), l.__ne__([1]), l.__ge__([9]), l.__gt__(3) is NotImplemented,
        d.__eq__(3) is NotImplemented, d.__lt__({}) is NotImplemented)
""",
    "derived containers": """
class L(list): pass
class D(dict):
    def __getitem__(self, k): return super().__getitem__(k) + 1
    def __contains__(self, k): return not super().__contains__(k)
class T(tuple):
    def __add__(self, o): return T(super().__add__(tuple(o)))
    def __eq__(self, o): return super().__eq__(o)
    def __hash__(self): return super().__hash__()
    def __lt__(self, o): return super().__lt__(o)
def run():
    l = L([1]); l += [2]
    return several(lambda: D({1:2})[1], lambda: 1 in D({1: 2}),
        lambda: list(T((1,)) + [2]), lambda: T((1,)) == (1,), lambda: T((1,)) == [1],
        lambda: T((1,)) < (2,), lambda: list(l), lambda: type(l).__name__,
        lambda: l.__len__(), lambda: l.__iadd__((3,)) is l, lambda: list(l))
""",
    "what the other operand would say": """
class R:
    def __radd__(self, o): return "radd"
    def __rmul__(self, o): return "rmul"
    def __eq__(self, o): return "eq"
    def __rand__(self, o): return "rand"
def run(): return several(lambda: [] + R(), lambda: [].__add__(R()), lambda: [] * R(),
        lambda: [].__mul__(R()), lambda: [].__eq__(R()), lambda: [] == R(),
        lambda: {1} & R(), lambda: {1}.__and__(R()), lambda: {}.keys() & R(),
        lambda: {1}.__eq__(R()) is NotImplemented,
        lambda: (1).__eq__(R()) is NotImplemented,
        lambda: "a".__eq__(R()) is NotImplemented, lambda: "a" + R(),
        lambda: "a" * R(), lambda: ().__add__(R()))
""",
    "methods as functions": """
def run(): return several(lambda: sorted([[2],[1]], key=lambda x: x.__len__()),
        lambda: list(map([1,2].__getitem__, [0,1])),
        lambda: list(filter({1,2}.__contains__, [1,3])),
        lambda: max([1,5,2], key=[0,1,2,3,4,5].__getitem__),
        lambda: list(map((2).__mul__, [1,2])), lambda: list(map("ab".__add__, ["c"])),
        lambda: list(map({1: 2}.__getitem__, [1])))
""",
    "derived integers": """
class C(int):
    def __add__(self, o): return C(super().__add__(o))
    def __eq__(self, o): return super().__eq__(o)
    def __hash__(self): return 1
    def __lt__(self, o): return super().__lt__(o)
    def __pow__(self, o, m=None): return super().__pow__(o)
def run(): return several(lambda: int(C(3)+4), lambda: C(3) == 3, lambda: C(3) == 3.0,
        lambda: C(3) == "a", lambda: C(3)+1.5, lambda: C(2)**3, lambda: C(2) < 2.5,
        lambda: sorted([C(3), C(1)])[0] == 1)
""",
    "operators that decline": """
class C(int):
    def __eq__(self, o): return NotImplemented
    def __lt__(self, o): return NotImplemented
    def __add__(self, o): return NotImplemented
    def __hash__(self): return 1
class S(str):
    def __eq__(self, o): return NotImplemented
    def __lt__(self, o): return NotImplemented
    def __hash__(self): return 1
class L(list):
    def __eq__(self, o): return NotImplemented
    def __add__(self, o): return NotImplemented
def run(): return several(lambda: C(3) == 3.0, lambda: C(3) == 3, lambda: 3 == C(3),
        lambda: C(3) < 4.0, lambda: C(3) < 4, lambda: 4.0 > C(3), lambda: C(3) + 1.5,
        lambda: C(3)+1, lambda: 1 + C(3), lambda: 1.5+C(3), lambda: S("a") == "a",
        lambda: "a" == S("a"), lambda: S("a") < "b", lambda: L([1]) == [1],
        lambda: [1] == L([1]), lambda: L() + [1], lambda: [1]+L([2]), lambda: C(3) == C(3))
""",
    "operators in place": """
class M(list):
    def __iadd__(self, o):
        super().__iadd__(o)
        return self
    def __imul__(self, n): return super().__imul__(n)
class D(dict):
    def __ior__(self, o): return super().__ior__(o)
class S(set):
    def __isub__(self, o): return super().__isub__(o)
def run():
    m = M([1]); k = m; m += [2]; m *= 2
    d = D(a=1); e = d; d |= {"b": 2}
    s = S({1,2}); t = s; s -= {1}
    return list(m), m is k, dict(d), d is e, set(s), s is t, type(m).__name__
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    same(HEAD + PROGRAMS[name])


def test_byte_arrays_that_are_repeated() -> None:
    same(
        HEAD
        + """
def run():
    a = bytearray(b"ab")
    times = I(2)
    return bytes(a * times), bytes(times * a), bytes(a.__mul__(times)), bytes(a.__rmul__(2))
"""
    )
