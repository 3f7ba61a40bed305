"""How instances are written where their classes take that from another class."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.python.support import executed, machine, run
from verifier.symbolic import expr as E
from verifier.symbolic.python.concrete import SYMBOLIC

HEAD = """
import enum
from enum import Enum, Flag, IntEnum, IntFlag
class Plain:
    def __str__(self): return "ps"
    def __repr__(self): return "pr"
    def __format__(self, spec): return "pf" + spec
class OnlyRepr:
    def __repr__(self): return "or"
class MyInt(int):
    def __repr__(self): return "mr"
class MyStr(str):
    def __str__(self): return "mys"
class Base(int, Enum):
    def __str__(self): return "base"
class Base2(str, Enum):
    __repr__ = str.__repr__
class Base3(IntEnum):
    __str__ = object.__str__
    __format__ = Enum.__format__
"""
ENUMS = {
    "Enum": "1", "IntEnum": "1", "Flag": "1", "IntFlag": "1", "str, Enum": "'a'", "int, Enum": "1",
    "float, Enum": "1.5", "Plain, Enum": "1", "OnlyRepr, Enum": "1", "MyInt, Enum": "1",
    "MyStr, Enum": "'a'", "Plain, IntEnum": "1", "OnlyRepr, str, Enum": "'a'", "Base": "1",
    "Base2": "'a'", "Base3": "1", "tuple, Enum": "(1, 2)", "OnlyRepr, Flag": "1",
}  # fmt: skip
if sys.version_info >= (3, 11):
    ENUMS |= {"enum.StrEnum": "'a'", "int, enum.ReprEnum": "1", "Plain, int, enum.ReprEnum": "1"}
OTHERS = {
    "object": "", "int": "1", "str": "'a'", "float": "1.5", "tuple": "(1, 2)", "list": "[1]",
    "dict": "a=1", "set": "[1]", "frozenset": "[1]", "bytearray": "b'a'", "ValueError": "'x'",
    "KeyError": "'x'", "OSError": "2, 'x'", "Plain": "", "MyInt": "1", "Plain, int": "2",
}  # fmt: skip
TEXTS = [
    "pass", "__str__ = object.__str__", "__repr__ = object.__repr__", "__str__ = int.__repr__",
    "__str__ = int.__str__", "__str__ = str.__str__", "__str__ = str.__repr__",
    "__str__ = Plain.__str__", "__format__ = object.__format__", "__repr__ = int.__repr__",
    "def __str__(self): return 'own'", "def __repr__(self): return 'own'",
    "def __format__(self, spec): return 'own' + spec",
    "def __str__(self): return super().__str__() + '!'",
    "def __repr__(self): return super().__repr__() + '!'",
    "def __format__(self, spec): return super().__format__(spec) + '!'",
    "def __repr__(self): return 'r'\n    __str__ = object.__str__",
    "__repr__ = Plain.__repr__\n    __str__ = object.__str__",
]  # fmt: skip
OF_ENUMS = [
    "__str__ = Enum.__str__", "__str__ = IntEnum.__str__", "__str__ = Flag.__str__",
    "__repr__ = Enum.__repr__", "__format__ = Enum.__format__",
]  # fmt: skip
USES = [
    "str(m)", "repr(m)", "format(m)", "format(m, '>8')", "f'{m!r:>5}'", "f'{m!s}'", "'%s' % m",
    "'%s %r' % (m, m)", "'{:>6}'.format(m)", "'%d' % m", "'%5.1f|%x' % (m, m)", "m.__str__()",
    "type(m).__repr__(m)", "str([m])", "ascii(m)", "'%(a)s%(a)d' % {'a': m}", "'x' % m",
    "'%-5s|%%' % ((m,),)", "'%.1s' % [m]", "'%(a)s' % m", "'%s %s' % m",
]  # fmt: skip


def written(head: str, uses: Sequence[str]) -> Iterator[Any]:
    """What CPython makes of each use: a text, or an error."""
    try:
        place = executed(head)
    except Exception as error:
        yield from (type(error) for _ in uses)
        return
    for use in uses:
        try:
            yield eval(use, place)
        except Exception as error:
            yield type(error)


def check(head: str) -> None:
    """Every text of ``m`` is CPython's, or not known."""
    vm = machine(head)
    for use, expected in zip(USES, written(head, USES), strict=True):
        if vm.trace.ledger:
            vm = machine(head)
        outcome = run(vm, use)
        if outcome.skipped or (not outcome.ended and outcome.host is SYMBOLIC):
            continue
        found = outcome.error if outcome.ended else outcome.host
        assert found == expected, (head[len(HEAD) :], use, expected, found)


@pytest.mark.parametrize("bases", ENUMS)
def test_members_of_enumerations(bases: str) -> None:
    for text in (*TEXTS, *OF_ENUMS):
        check(f"{HEAD}class C({bases}):\n    A = {ENUMS[bases]}\n    {text}\nm = C.A\n")


@pytest.mark.parametrize("bases", OTHERS)
def test_instances(bases: str) -> None:
    for text in TEXTS:
        check(f"{HEAD}class C({bases}):\n    {text}\nm = C({OTHERS[bases]})\n")


KNOWN = ["str(m)", "repr(m)", "f'{m!s:>9}'", "'%s|%r' % (m, m)"]


@pytest.mark.parametrize(
    ("bases", "text"),
    list(
        itertools.product(["Enum", "IntEnum", "str, Enum", "IntFlag", "int"], [TEXTS[0], TEXTS[-2]])
    ),
)
def test_these_are_known(bases: str, text: str) -> None:
    member = "C.A" if bases in ENUMS else "C(1)"
    head = f"{HEAD}class C({bases}):\n    A = {ENUMS.get(bases, '1')}\n    {text}\nm = {member}\n"
    for use, expected in zip(KNOWN, written(head, KNOWN), strict=True):
        outcome = run(machine(head), use)
        assert outcome.host == expected and not outcome.skipped


SLOTS = [
    "class A:\n    __add__ = float.__add__\nm = A()",
    "class A:\n    __len__ = list.__len__\nm = A()",
    "class A(int):\n    __add__ = float.__add__\nm = A()",
    "class A(int):\n    __getitem__ = list.__getitem__\nm = A()",
]  # fmt: skip


@pytest.mark.parametrize("head", SLOTS)
@pytest.mark.parametrize("use", ["m + m", "m + 1.5", "len(m)", "m[0]"])
def test_methods_of_a_type_that_an_instance_is_not_of(head: str, use: str) -> None:
    outcome = run(machine(head), use)
    (expected,) = written(head, [use])
    assert outcome.skipped or (outcome.error if outcome.ended else outcome.host) == expected


@pytest.mark.parametrize(
    "use",
    ["'%d' % thing()", "'%s%' % [n]", "'%*d' % (3, [n])", "'%c' % n", "'%d' % (n / 3)"],
)
def test_conversions_that_may_fail_are_not_taken_to_succeed(use: str) -> None:
    vm = machine("import elsewhere\nthing = elsewhere.thing\n")
    outcome = run(vm, use, n=E.symbol("n", 0, 5))
    assert outcome.skipped or outcome.host is SYMBOLIC
