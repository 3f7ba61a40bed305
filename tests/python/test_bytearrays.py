"""Bytes and bytearrays: small programs that agree with CPython."""

from __future__ import annotations

import pytest

from tests.python import support

PROGRAMS = [
    """
b = bytearray(b"abc")
b.append(100)
b[0] = 65
b.extend([1, 2])
b.extend(b"zz")
b += b"q"
b *= 2
c = b
c.pop()
result = (
    bytes(b),
    c is b,
    len(b),
    b[1],
    b[1:3],
    b[-1],
    type(b[1:3]).__name__,
    list(bytearray(b"ab")),
    97 in b,
    b"A" in b,
    repr(bytearray(b"a")),
)
""",
    """
result = [
    bytearray(),
    bytearray(3),
    bytearray([1, 2]),
    bytearray("a", "utf-8"),
    bytearray(b"x"),
    bytearray(bytearray(b"y")),
    bytearray(range(3)),
]
result = [bytes(x) for x in result]
for bad in ("a", 1.5, None, [300], -1, ["a"], object()):
    try:
        bytearray(bad)
    except (TypeError, ValueError) as e:
        result.append(type(e).__name__)
""",
    """
class A:
    def __index__(self):
        return 3

    def __bytes__(self):
        return b"qq"


class B:
    def __iter__(self):
        return iter([5, 6])


result = bytes(bytearray(A())), bytes(A()), bytes(bytearray(B())), bytes(bytearray([A()]))
""",
    """
result = (
    bytearray(b"a") == b"a",
    b"a" == bytearray(b"a"),
    bytearray(b"a") < b"b",
    b"a" + bytearray(b"b"),
    type(b"a" + bytearray(b"b")).__name__,
    type(bytearray(b"a") + b"b").__name__,
    bytearray(b"a") == "a",
    bytearray(b"a") != b"b",
    bytearray(b"ab") * 2 == b"abab",
    2 * bytearray(b"ab") == b"abab",
)
""",
    """
result = (
    [bytes(x) for x in bytearray(b"a,b,c").split(b",")],
    bytes(bytearray(b" a ").strip()),
    bytearray(b"abc").find(b"c"),
    bytes(bytearray(b",").join([b"a", bytearray(b"b")])),
    b",".join([bytearray(b"x"), b"y"]),
    bytearray(b"abc").decode(),
    bytearray(b"abc").hex(),
    bytes(bytearray.fromhex("6162")),
    bytes(bytearray(b"abc").replace(b"a", b"z")),
    bytearray(b"abc").startswith(b"a"),
    bytearray(b"ab").upper() == b"AB",
    b"abc".find(bytearray(b"c")),
    bytearray(b"abc").index(99),
    bytearray(b"a").isalpha(),
)
""",
    """
result = []
b = bytearray(b"abc")
for f in (
    lambda: b[5],
    lambda: b.__setitem__(0, 300),
    lambda: b.pop(9),
    lambda: b.remove(7),
    lambda: b.index(b"z"),
    lambda: hash(b),
    lambda: {b: 1},
    lambda: b + [1],
    lambda: b + "a",
    lambda: b.append("a"),
    lambda: b[0] + 1,
    lambda: b["a"],
    lambda: b.extend("abc"),
    lambda: b.join(["a"]),
    lambda: b.foo,
    lambda: bytearray(b"a") < "b",
):
    try:
        result.append(f())
    except Exception as e:
        result.append(type(e).__name__)
result.append(bytes(b))
""",
    """
b = bytearray(b"abcdef")
b[1:3] = b"XYZ"
del b[0]
del b[::2]
b.insert(0, 9)
b.reverse()
result = bytes(b)
""",
    """
b = bytearray(b"abc")
it = iter(b)
x = next(it)
b.append(1)
b[1] = 7
result = (
    x,
    list(it),
    list(reversed(b)),
    type(it).__name__,
    sorted(b),
    max(b),
    sum(b),
    [c for c in b],
    tuple(b),
    [*b],
)
""",
    """
class S(bytearray):
    def __init__(self, *a, **k):
        super().__init__(*a, **k)
        self.x = 1


s = S(b"ab")
s.append(99)
t = s + b"q"
result = (
    bytes(s),
    s.x,
    type(t).__name__,
    type(s).__name__,
    len(s),
    s[0],
    isinstance(s, bytearray),
    isinstance(s, bytes),
    s == b"abc",
    bytes(s[1:]),
)
s += b"zz"
result = result, type(s).__name__, bytes(s)
""",
    r"""
result = (
    int(bytearray(b"12")),
    float(bytearray(b"1.5")),
    ord(bytearray(b"a")),
    bool(bytearray()),
    bool(bytearray(b"\0")),
    str(bytearray(b"a")),
    "%s" % bytearray(b"a"),
    b"%s" % bytearray(b"q"),
    bytes(bytearray(b"%d") % 5),
)
""",
    """
b = bytearray(b"abc")
a, *c = b
result = (
    a,
    c,
    bytearray(b"ab") in [b"ab"],
    b"ab" in (bytearray(b"ab"),),
    b is b,
    bytearray(b"a") is bytearray(b"a"),
)
""",
    r"""
b = bytearray(b"ab")


def f(x):
    x.append(1)


f(b)
b.clear()
b.extend(x for x in (1, 2, 3))
result = (
    bytes(b.copy()),
    b.count(1),
    bytes(b.translate(None, b"\x01")),
    b.partition(b"\x02")[1] == b"\x02",
)
""",
    """
try:
    bytearray(b"a").extend([1, "x"])
except TypeError:
    result = 1
""",
    r"""
b = bytearray(3)
i = 0
while i < 3:
    b[i] = i * 2
    i += 1
result = (
    bytes(b),
    b.endswith((b"\x04", b"q")),
    bytearray.append(b, 7),
    bytes(b),
    bytearray.maketrans(b"a", b"b")[97],
)
""",
    """
result = [
    b"abc".__rmod__("%r") is NotImplemented,
    "abc".__rmod__(b"q") is NotImplemented,
    "a%s".__mod__("q"),
    b"a%s".__mod__(b"q"),
    b"abc".__rmod__(b"%r"),
    "b".__rmod__("a%s"),
    (5).__rmod__(7),
    "a".__add__("b"),
    "a".__rmul__(2),
]
try:
    "abc".__add__(1)
except TypeError:
    result.append("t")
""",
    """
b = bytearray(b"abc")
result = [
    b.__rmod__("%r") is NotImplemented,
    bytes(b.__rmod__(b"%s")) if b.__rmod__(b"%s") is not NotImplemented else "ni",
]
""",
    """
class X:
    def __index__(self):
        a.clear()
        return 42


a = [X(), X()]
result = bytes(a)
""",
    """
class X:
    def __index__(self):
        if len(a) < 5:
            a.append(X())
        return 42


a = [X()]
result = (
    bytes(a),
    bytes(range(3)),
    bytes((1, True)),
    bytes(x for x in (3, 4)),
    bytes({7: 1}),
    bytes([]),
)
a = [X()]
result = result, bytes(bytearray(a)), len(a)
""",
    """
def g():
    yield 1
    yield 300
    yield 2


try:
    bytes(g())
except ValueError:
    result = 1
""",
    """
def g():
    yield 1
    raise KeyError


try:
    bytes(g())
except KeyError:
    result = 1
""",
]


@pytest.mark.parametrize("source", PROGRAMS)
def test_as_cpython(source: str) -> None:
    support.program(source)


@pytest.mark.parametrize("method", ["join", "extend"])
def test_one_that_is_changed_by_what_it_is_given_is_not_followed(method: str) -> None:
    text = (
        "def run():\n    whole = bytearray(b',')\n    def parts():\n        whole.clear()\n"
        f"        yield b'A'\n    return whole.{method}(parts())\n"
    )
    assert support.run(support.machine(text), "run()").skipped
