"""Strings and bytes: concrete ones are CPython's, formatted symbols are harmless strings."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.python.support import agrees, agrees_for, at, execute, machine, run
from verifier.symbolic import expr as E
from verifier.symbolic.tensors import DType
from verifier.symbolic.values import DTypeText, Opaque, Ratio

TEXTS = ["", "a", "abc", "Tile_07", "a,b,,c", "  x y ", "ÄÖ", "12", "%d%%", "{}"]
BYTES = [b"", b"a", b"abc", b" x,y "]


def test_operators() -> None:
    vm = machine()
    others: list[Any] = [0, -1, 3, True, 1.5, None, "b", b"b", (1,), "%s"]
    for op in ("+", "*", "==", "!=", "<", "<=", ">", ">=", "in", "-"):
        for a, b in itertools.product([*TEXTS, *BYTES], others):
            agrees(f"a {op} b", {"a": a, "b": b}, vm=vm)
            agrees(f"b {op} a", {"a": a, "b": b}, vm=vm)


def test_items_and_slices() -> None:
    vm = machine()
    for a in [*TEXTS, *BYTES]:
        for source in ("a[0]", "a[-1]", "a[1:]", "a[::-1]", "a[:2]", "a[-2:9:2]", "a[::0]",
                       "a[1.0]",
                       "a[None]", "a['x']", "a[True]", "len(a)", "tuple(a)",
                       "[x for x in a]"):  # fmt: skip
            agrees(source, {"a": a}, vm=vm)


METHODS = [
    "a.capitalize()", "a.casefold()", "a.center(7)", "a.center(7, '*')", "a.count('a')",
    "a.count('a', 1)", "a.encode()", "a.encode('latin-1')", "a.encode('ascii')", "a.endswith('c')",
    "a.endswith(('b', 'c'))", "a.expandtabs()", "a.find('b')", "a.index('b')", "a.isalnum()",
    "a.isalpha()", "a.isdecimal()", "a.isdigit()", "a.isidentifier()", "a.islower()",
    "a.isspace()", "a.istitle()", "a.isupper()", "a.join(['x', 'y'])", "a.join('xyz')",
    "a.join([])", "a.join([1])", "a.join(str(i) for i in (1, 2))", "a.ljust(5)", "a.lower()",
    "a.lstrip()", "a.lstrip('a')", "a.partition(',')", "a.removeprefix('a')", "a.removesuffix('c')",
    "a.replace('a', 'bb')", "a.replace('a', 'bb', 1)", "a.rfind('b')", "a.rindex('b')",
    "a.rjust(5)",
    "a.rpartition(',')", "a.rsplit(',', 1)", "a.rsplit(sep=',', maxsplit=1)", "a.rstrip()",
    "a.split()", "a.split(',')", "a.split(maxsplit=1)", "a.split('')", "a.splitlines()",
    "a.startswith('a')", "a.startswith(('x', 'a'), 1)", "a.strip()", "a.swapcase()", "a.title()",
    "a.translate({97: 'z'})", "a.upper()", "a.zfill(6)", "a.format()", "a.format(1, 2)", "a.foo",
    "a.startswith(1)", "a.lower(1)", "a.split(1)", "a.find()", "a.decode()", "a.hex()", "a()",
    "str.upper(a)", "str.join(',', a)", "a.translate(str.maketrans('ab', 'xy'))", "a % ()",
]  # fmt: skip


@pytest.mark.parametrize("source", METHODS)
def test_methods(source: str) -> None:
    vm = machine()
    for a in [*TEXTS, *BYTES]:
        agrees(source, {"a": a}, vm=vm)


@pytest.mark.parametrize(
    "source",
    [
        "'%d' % 3", "'%5.2f|%-4s|%r' % (1.5, 'x', 'y')", "'%(a)s' % {'a': 1}", "'%d' % 'x'",
        "'%d %d' % (1,)", "'%d' % (1, 2)", "'%s' % None", "'%c' % 65", "'%x' % 255", "'%' % 1",
        "'%s' % (1, )", "'%s' % [1, 2]", "'%(b)s' % {'a': 1}", "b'%d' % 3",
        "'{} {}'.format(1, 'x')", "'{0} {1} {0}'.format(1, 2)", "'{a}'.format(a=1)",
        "'{:>5}|{:<5}|{:^5}'.format(1, 2, 3)", "'{:.2f}'.format(1.234)", "'{:,}'.format(12345)",
        "'{:{w}}'.format('x', w=4)", "'{0[1]}'.format([1, 2])", "'{0.real}'.format(3)",
        "'{!r}'.format('x')", "'{!s:>4}'.format(1)", "'{'.format()", "'{}'.format()",
        "'{a}'.format()",
        "'{0} {}'.format(1, 2)", "'{:d}'.format('x')", "'{!z}'.format(1)", "'{{}}'.format(1)",
        "'{a} {b}'.format_map({'a': 1, 'b': 2})", "'{a}'.format_map({})",
        "'{x[k]}'.format(x={'k': 5})",
        "f'{1}{2!r}{\"x\"!r:>5}'", "f'{3.5:.3f}'", "f'{(1, 2)}'", "f'{[1, \"a\"]}'", "f'{1:{4}}'",
        "f'{None}'", "f'{True:d}'", "f'{1=}'", "f'{\"ä\"!a}'", "f'{[]:>3}'", "f'{1:q}'", "f''",
        "format(3, '04d')", "format('x', '>3')", "format(1.5)", "format(None, 'x')", "str(1.0)",
        "repr('a\\n')", "ascii('ä')", "str(b'x', 'utf-8')", "str(b'\\xff', 'utf-8')", "str()",
        "repr((1,))", "repr(())", "str([1, [2, 'x']])", "repr({'a': (1, 2)})", "str({1})",
        "repr(set())",
        "str(None)", "repr(...)", "str(True)", "str(2 ** 70)", "repr(float('nan'))", "str(1j)",
        "chr(65)", "ord('a')", "ord('ab')", "ord(b'a')", "hex(255)", "oct(8)", "bin(5)", "chr(-1)",
        "bytes(3)", "bytes([1, 2])", "bytes('x', 'utf-8')", "bytes('x')", "bytes([256])", "bytes()",
        "bytes.fromhex('0aff')", "b'x'.fromhex('00')", "'a' 'b'", "'abc' < 'abd'", "'' or 'x'",
        "'%s' % 'x' * 2", "'ab' * -1", "'x'.__class__", "'abc'.nothing",
    ],
)  # fmt: skip
def test_texts_of_concrete_values(source: str) -> None:
    if source == "'x'.__class__":
        assert run(machine(), "'x'.__class__ is str").host is True
        return
    agrees(source, {})


def test_an_index_that_is_a_symbol() -> None:
    agrees_for("'abcd'[n]", {"n": range(-6, 7)})
    agrees_for("b'abcd'[n]", {"n": range(-6, 7)})
    agrees_for("n in b'ac'", {"n": range(95, 101)})


def test_texts_of_symbols_are_harmless() -> None:
    vm = machine()
    n = E.symbol("n", 0)
    names = {"n": n, "r": Ratio(n, E.const(2)), "f": E.bool_symbol("f")}
    for source in ("f'tile_{n}'", "f'{n:04d}'", "str(n)", "repr([n])", "'%d' % n", "'%5.1f' % r",
                   "'{}'.format(n)", "'a' + str(n)", "','.join([str(n), 'x'])", "f'{n}{f}{r}'",
                   "hex(n)", "bin(n)", "str((n, 1))", "'x'.ljust(n)", "f'{{}}{n=}'"):  # fmt: skip
        outcome = run(vm, source, **names)
        assert isinstance(outcome.value, Opaque) and outcome.value.harmless, source
        assert not outcome.skipped and not outcome.escapes, source


@pytest.mark.parametrize(
    "source", ["f'{n:s}'", "'{:q}'.format(n)", "'%d' % (n, 1)", "'%d %s' % n", "format(r, 'd')"]
)
def test_errors_depend_on_types_alone(source: str) -> None:
    vm = machine()
    n = E.symbol("n", 0)
    outcome = run(vm, source, n=n, r=Ratio(n, E.const(2)))
    assert outcome.error in (TypeError, ValueError) and not outcome.skipped


def test_parts_of_formatted_strings_are_evaluated_for_their_errors() -> None:
    vm = machine()
    outcome = run(vm, "f'{n}{[1][2]}'", n=E.symbol("n", 0))
    assert outcome.error is IndexError


def test_texts_that_depend_on_the_path() -> None:
    vm = machine()
    flag = E.bool_symbol("flag")
    outcome = run(vm, 'f\'{"a" if f else "b"}-{None if f else 2.5}\'.upper()', f=flag)
    assert at(vm, outcome.value, {"flag": True}) == "A-NONE"
    assert at(vm, outcome.value, {"flag": False}) == "B-2.5"


OBJECTS = """
class Both:
    def __str__(self):
        return "s"
    def __repr__(self):
        return "r"
class Own:
    def __format__(self, spec):
        return "<" + spec + ">"
class Plain:
    pass
class Wrong:
    def __str__(self):
        return 3
class Counts:
    def __init__(self):
        self.calls = 0
    def __str__(self):
        self.calls += 1
        return "x"
"""


@pytest.mark.parametrize(
    "source",
    [
        "str(Both())", "repr(Both())", "f'{Both()} {Both()!r}'", "str([Both()])",
        "'%s %r' % (1, 2)",
        "f'{Own():abc}'", "format(Own(), 'x')", "'{:y}'.format(Own())", "str(Wrong())",
        "f'{Plain():>3}'", "'{}'.format(Both())", "repr({'a': Both()})",
    ],
)  # fmt: skip
def test_objects_say_what_their_text_is(source: str) -> None:
    agrees(source, {}, OBJECTS)


def test_an_object_without_text_of_its_own_is_a_harmless_string() -> None:
    outcome = run(machine(OBJECTS), "f'{Plain()} {Plain()!r}'")
    assert isinstance(outcome.value, Opaque) and outcome.value.harmless


def test_texts_are_made_for_their_effects() -> None:
    vm = machine(OBJECTS)
    source = "c = Counts()\nprint(c)\nf'{c}'\n'%s %s' % (c, n)\n'{}'.format(c)\nresult = c.calls"
    assert execute(vm, source, n=E.symbol("n", 0)).host == 4


def test_names_of_dtypes() -> None:
    vm = machine()
    known, free = DTypeText(DType.named("bfloat16")), DTypeText(DType(E.symbol("d", 0, 5)))
    for source, expected in (
        ("t == 'bfloat16'", True),
        ("t == 'float32'", False),
        ("t != 'float32'", True),
        ("'float16' in t", True),
        ("t == 'nothing'", False),
        ("isinstance(t, str)", True),
        ("t in ('float32', 'bfloat16')", True),
    ):
        assert run(vm, source, t=known).host is expected, source
    outcome = run(vm, "t == 'bfloat16'", t=free)
    assert isinstance(outcome.value, E.Bool) and outcome.host is not True


def test_formats_do_not_exhaust_the_checker() -> None:
    vm = machine()
    for source in ("'%1000000000d' % 1", "f'{1:1000000000}'", "'x'.ljust(10 ** 10)",
                   "'x'.center(10 ** 9)", "'ab' * (10 ** 12)",
                   "('a' * 60000).replace('a', 'b' * 60000)",
                   "bytes(10 ** 12)", "'%*d' % (10 ** 10, 1)",
                   "(5).to_bytes(10 ** 10, 'big')"):  # fmt: skip
        outcome = run(vm, source)
        assert isinstance(outcome.value, Opaque) and not outcome.skipped, source
