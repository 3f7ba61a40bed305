"""Built-in functions: on concrete values CPython's, on symbols the same for every value."""

from __future__ import annotations

import builtins
from typing import Any

import pytest

from tests.python.support import (
    UNKNOWN,
    agrees,
    agrees_for,
    at,
    execute,
    machine,
    run,
)
from verifier.symbolic import expr as E
from verifier.symbolic.python.heap import ListBox, Many, ObjectBox
from verifier.symbolic.python.library import core
from verifier.symbolic.python.model import HostType
from verifier.symbolic.trace import LedgerKind
from verifier.symbolic.values import ExternalRef, Opaque, Ratio

CONCRETE = [
    "abs(-3)", "abs(-2.5)", "abs(3+4j)", "abs(True)", "abs('x')", "abs(None)", "abs()", "abs(1, 2)",
    "all([])", "all([1, 0])", "all((1, 'x'))", "any([])", "any([0, 2])", "any([0, ''])", "all(1)",
    "ascii('ä')", "bin(-5)", "bin(2.0)", "bool()", "bool([])", "bool('x')", "bool(0.0)",
    "bool(1, 2)",
    "callable(len)", "callable(3)", "callable(int)", "callable('x')", "callable(lambda: 1)",
    "chr(97)", "chr('a')", "complex()", "complex(1, 2)", "complex('1+2j')", "complex(imag=2)",
    "divmod(7, 2)", "divmod(-7, 2)", "divmod(7, -2)", "divmod(7.5, 2)", "divmod(1, 0)",
    "divmod('a', 1)", "float()", "float('1.5')", "float(' 2 ')", "float('x')", "float(3)",
    "float('inf')", "float(None)", "float(True)", "float(10 ** 400)", "format(3, 'x')",
    "format(1, 2)",
    "getattr(3, 'real')", "getattr(3, 'foo', 5)", "getattr(3, 'foo')", "getattr(3, 3)",
    "hasattr(3, 'real')", "hasattr(3, 'foo')", "hasattr('x', 'upper')", "hasattr(None, 'x')",
    "hash(3)", "hash(-1)", "hash((1, 2))", "hash(True)", "hash([])", "hash({})", "hex(255)",
    "hex('f')",
    "int()", "int(3.9)", "int(-3.9)", "int('12')", "int(' -12 ')", "int('1_000')", "int('100', 2)",
    "int('ff', 16)", "int('0x10', 0)", "int('x')", "int('9', 8)", "int(3, 2)", "int(None)",
    "int(float('nan'))", "int(float('inf'))", "int(True)", "int(b'7')", "int('12', base=3)",
    "int(base=3)", "int(1j)", "isinstance(1, int)", "isinstance(True, int)", "isinstance(1, bool)",
    "isinstance(1.0, float)", "isinstance('x', str)", "isinstance(None, type(None))",
    "isinstance(1, (str, int))", "isinstance(1, (str, (float, int)))", "isinstance(1, ())",
    "isinstance(1, int | None)", "isinstance(None, int | None)", "isinstance('x', int | None)",
    "isinstance(1, 1)", "isinstance(1, 'int')", "isinstance((1,), tuple)", "isinstance([], list)",
    "isinstance([], (list, tuple))", "isinstance({}, dict)", "isinstance(int, type)",
    "isinstance(ValueError('x'), Exception)", "isinstance(ValueError('x'), KeyError)",
    "isinstance(1, object)", "isinstance(None, object)", "isinstance(slice(1), slice)",
    "issubclass(bool, int)", "issubclass(int, bool)", "issubclass(KeyError, LookupError)",
    "issubclass(int, (str, object))", "issubclass(1, int)", "issubclass(int, 1)",
    "len('abc')", "len([1, 2])", "len((1,))", "len({})", "len(3)", "len(None)", "len()",
    "max(1, 2)", "max([1, 3, 2])", "max('b', 'a')", "max((1, 2), (1, 3))", "max(1, 2.5)",
    "max(True, 0)",
    "max(1, 1.0)", "max(1.0, 1)", "max([])", "max([], default=7)", "max([1], default=7)", "max()",
    "max(1)", "max(1, 'a')", "max([1, 2], [1, 3])", "max('abc')", "max(1, 2, default=3)",
    "max([-3, 2], key=abs)", "max(['a', 'bb'], key=len)", "max(1, -1, key=abs)",
    "max(-1, 1, key=abs)",
    "min(1, 2)", "min([3, 1, 2])", "min([], default=None)", "min('b', 'a')", "min(2, 1.5)",
    "min(-1, 1, key=abs)", "min([])", "max(None, 1)", "max(float('nan'), 1)",
    "max(1, float('nan'))",
    "oct(8)", "ord('x')", "ord('')", "ord(3)", "pow(2, 3)", "pow(2, -1)", "pow(2, 3, 5)",
    "pow(2, -1, 5)",
    "pow(3, 10 ** 6, 7)", "pow(2, 2, 0)", "pow(2.0, 3)", "pow(2, 3.0, 5)", "pow(base=2, exp=3)",
    "print('x', 1, sep='')", "print()", "print(1, foo=2)", "repr(1)", "repr('x')", "round(2.5)",
    "round(3.5)", "round(-2.5)", "round(1.234, 2)", "round(1234, -2)", "round(7)", "round(7, 1)",
    "round('x')", "round(float('inf'))", "round(2.5, None)", "round(number=2.6)", "slice(3)",
    "slice(1, 2, 3)",
    "slice()", "sorted([3, 1, 2])", "sorted([3, 1, 2], reverse=True)", "sorted('bca')",
    "sorted((2, 1))",
    "sorted([-3, 2, 1], key=abs)", "sorted([(1, 'b'), (1, 'a'), (0, 'c')], key=lambda p: p[0])",
    "sorted([(1, 'b'), (1, 'a'), (0, 'c')], key=lambda p: p[0], reverse=True)", "sorted([1, 'a'])",
    "sorted([1, None])", "sorted([2, 1.5, True])", "sorted([])", "sorted(3)",
    "sorted([1], lambda x: x)",
    "str(3)", "str('x')", "sum([1, 2])", "sum([1, 2], 10)", "sum([1, 2], start=10)", "sum([])",
    "sum([1.5, 2])", "sum([[1], [2]], [])", "sum(['a'], '')", "sum(['a'])", "sum([(1,), (2,)], ())",
    "sum(3)", "type(3) is int", "type(True) is bool", "type('x') is str", "type(1.5) is float",
    "type(None) is type(None)", "type(3) == int", "type([]) is list", "type()", "type(1, 2)",
    "NotImplemented", "Ellipsis", "__debug__", "bool(NotImplementedError)", "int.__name__",
]  # fmt: skip


@pytest.mark.parametrize("source", CONCRETE)
def test_functions_on_concrete_values(source: str) -> None:
    if "ascii" in source or "NotImplemented" not in source:
        agrees(source, {})
    else:
        assert run(machine(), source).host == eval(source)


def test_generators_are_run_no_further_than_needed() -> None:
    source = """
seen = []
def note(x):
    seen.append(x)
    return x
"""
    vm = machine(source)
    for text in (
        "(any(note(x) for x in [0, 2, 3]), seen)",
        "(all(note(x) for x in [1, 0, 3]), seen)",
    ):
        place: dict[str, Any] = {}
        exec(source, place)
        expected = eval(text, place)
        vm = machine(source)
        assert run(vm, text).host == expected


def test_a_condition_ends_a_generator_only_where_it_holds() -> None:
    agrees_for("any(10 // x > 4 for x in [a, b])", {"a": range(-1, 4), "b": range(-1, 4)})
    agrees_for("all(10 // x > 4 for x in [a, b])", {"a": range(-1, 4), "b": range(-1, 4)})


# ------------------------------------------------------------------------ symbols

SMALL = range(-4, 5)


@pytest.mark.parametrize(
    "source",
    [
        "abs(a)", "abs(a / 2)", "divmod(a, 3)", "divmod(a, -3)", "divmod(a, b)", "min(a, b)",
        "max(a, b)",
        "max(a, b, 0)", "min([a, b, 2])", "max((a, 1), key=lambda x: -x)", "max(a, 1.5)",
        "min(a / 2, b)",
        "max([a, b], default=3)", "min(a, b, key=abs)", "max(a, b, key=lambda x: x * x)", "int(a)",
        "int(a / 3)", "float(a)", "bool(a)", "round(a)", "round(a / 2)", "round(a, 2)", "pow(a, 2)",
        "pow(a, 2, 5)", "sum([a, b, 1])", "sum((a, b), 10)", "sum([x * 2 for x in [a, b]])",
        "sum(x * 2 for x in (a, b))", "all([a, b])", "any([a, b])", "all([a > 0, b > 0])",
        "any(x > 2 for x in [a, b])", "all(x > 2 for x in (a, b))", "sorted([a, b])",
        "sorted([a, b, 1], reverse=True)", "isinstance(a, int)", "isinstance(a, bool)",
        "isinstance(a > 0, bool)", "isinstance(a / 2, float)", "type(a) is int", "len([a, b])",
        "hasattr(a, 'real')", "callable(a)", "getattr(a, 'imag')", "type(a / 2) is float",
        "complex(a) is None",
    ],
)  # fmt: skip
def test_functions_on_symbols(source: str) -> None:
    agrees_for(source, {"a": SMALL, "b": SMALL})


def test_values_by_path_are_asked_one_by_one() -> None:
    vm = machine()
    flag = E.bool_symbol("flag")
    for source in ("abs(x)", "int(x)", "max(x, 1)", "min(1, x)", "isinstance(x, int)", "str(x)",
                   "round(x)", "float(x)", "type(x) is float", "repr(x)", "sum([x, 1])",
                   "divmod(x, 2)", "pow(x, 2)", "bool(x)", "hash(x)", "any([x])",
                   "[x][0]"):  # fmt: skip
        outcome = run(vm, f"(lambda x: {source})(-3 if f else 2.5)", f=flag)
        for value in (True, False):
            expected = eval(source, {"x": -3 if value else 2.5})
            assert at(vm, outcome.value, {"flag": value}) == expected, source


# ------------------------------------------------------------------------ sequences of any length


def _run_of(vm: Any, value: Any, count: Any) -> object:
    index = E.symbol("@run", 0, origin=E.Origin.LOOP).as_atom()
    assert isinstance(index, E.Sym)
    return vm.heap.new(ListBox((Many(count, index, (value,)),)))


def test_sums_of_symbolic_length() -> None:
    vm = machine()
    n = E.symbol("n", 0)
    outcome = run(vm, "sum(x)", x=_run_of(vm, E.const(3), n))
    assert not outcome.skipped
    assert at(vm, outcome.value, {"n": 4}) in (12, UNKNOWN)


def test_the_extremum_of_a_run() -> None:
    vm = machine()
    n = E.symbol("n", 0)
    outcome = run(vm, "max(x)", x=_run_of(vm, E.const(3), n))
    assert at(vm, outcome.value, {"n": 4}) == 3
    (escape,) = outcome.escapes
    assert escape.fault is not None and escape.fault.error is ValueError
    assert E.evaluate(escape.guard, {"n": 0}) and not E.evaluate(escape.guard, {"n": 1})
    assert run(vm, "max(x, default=3)", x=_run_of(vm, E.const(3), n)).value is E.const(3)


@pytest.mark.parametrize(
    "source",
    [
        "sum(range(n))", "sum(range(1, n, 2))", "sum(range(n, 0, -1))", "max(range(n))",
        "min(range(n))",
        "max(range(n, 0, -2))", "sum([3 * i for i in range(n)])", "min([5 - i for i in range(n)])",
        "max([i * n for i in range(n)], default=7)", "sum([2] * n, 4)",
        "sum([i for i in range(n)] + [9])",
    ],
)  # fmt: skip
def test_progressions_of_any_length(source: str) -> None:
    agrees_for(source, {"n": range(7)})


def test_the_order_of_symbols_is_not_guessed() -> None:
    vm = machine()
    names = {"a": E.symbol("a"), "b": E.symbol("b")}
    both = run(vm, "sorted([(a, 1), (b, 2)])", **names)
    assert at(vm, both.value, {"a": 7, "b": 6}) == [(6, 2), (7, 1)]
    turned = run(vm, "sorted([a, b], key=lambda x: -x)", **names)
    assert at(vm, turned.value, {"a": 5, "b": 6}) == [6, 5]
    decided = run(vm, "sorted([a + 2, a, a + 1])", **names)
    assert at(vm, decided.value, {"a": 5}) == [5, 6, 7]


# ------------------------------------------------------------------------ classes

CLASSES = """
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence, Sized
import numbers

class Base:
    limit = 3
    def __init__(self, n=1):
        self.n = n
    @property
    def broken(self):
        raise AttributeError("broken")
    @property
    def wrong(self):
        return [][1]
class Wide(Base):
    pass
class Other:
    def __call__(self):
        return 1
    def __len__(self):
        return 2
    def __abs__(self):
        return 7
    def __int__(self):
        return 8
    def __index__(self):
        return 9
    def __float__(self):
        return 1.5
    def __round__(self, n=None):
        return 10
    def __divmod__(self, other):
        return "d"
    def __hash__(self):
        return 12
    def __lt__(self, other):
        return True
    def __bool__(self):
        return False
class Meta(type):
    def __instancecheck__(cls, x):
        return x == 3
class Checked(metaclass=Meta):
    pass
class Shape(ABC):
    @abstractmethod
    def area(self): ...
class Square(Shape):
    def area(self):
        return 1
class Mine(ValueError):
    pass
"""


@pytest.mark.parametrize(
    "source",
    [
        "isinstance(Wide(), Base)", "isinstance(Base(), Wide)", "isinstance(Wide(), (int, Base))",
        "isinstance(Other(), Base)", "isinstance(3, Base)", "issubclass(Wide, Base)",
        "issubclass(Base, Wide)",
        "issubclass(Wide, object)", "isinstance(Wide(), object)", "isinstance(Base, type)",
        "type(Wide()) is Wide", "type(Wide()) is Base", "isinstance(Square(), Shape)",
        "isinstance(Mine('x'), ValueError)", "isinstance(Mine('x'), KeyError)",
        "issubclass(Mine, Exception)",
        "isinstance(Other(), Sized)", "isinstance(Base(), Sized)", "isinstance(Other(), Callable)",
        "isinstance([], Sequence)", "isinstance(3, Iterable)", "isinstance(3, numbers.Integral)",
        "isinstance(1.5, numbers.Integral)", "isinstance('x', Iterable)",
        "isinstance(Base(), Iterable)",
        "callable(Other())", "callable(Base())",
        "callable(Base)", "hasattr(Base(), 'n')", "hasattr(Base(), 'limit')",
        "hasattr(Base(), 'foo')",
        "hasattr(Base(), 'broken')", "hasattr(Base(), 'wrong')", "getattr(Base(), 'n')",
        "getattr(Base(), 'broken', 5)", "getattr(Base(), 'foo', 5)", "getattr(Base(), 'foo')",
        "getattr(Base(), 'wrong', 5)", "getattr(Base, 'limit')", "abs(Other())", "int(Other())",
        "float(Other())", "round(Other())", "divmod(Other(), 3)", "hash(Other())", "bool(Other())",
        "len(Other())", "hex(Other())", "all([Other()])", "any([Other(), Base()])", "abs(Base())",
        "int(Base())", "float(Base())", "len(Base())", "isinstance(Base(), Base | None)",
        "chr(Other())",
    ],
)  # fmt: skip
def test_objects(source: str) -> None:
    agrees(source, {}, CLASSES)


def test_a_metaclass_is_asked_or_not_followed() -> None:
    for source in ("isinstance(3, Checked)", "isinstance(4, Checked)"):
        outcome = run(machine(CLASSES), source)
        assert outcome.skipped or outcome.host is (source == "isinstance(3, Checked)")


def test_attributes_by_name_are_assigned_and_deleted() -> None:
    vm = machine(CLASSES)
    source = """
b = Base()
setattr(b, "extra", 5)
first = b.extra
delattr(b, "extra")
result = (first, hasattr(b, "extra"), getattr(b, "extra", None))
"""
    assert execute(vm, source).host == (5, False, None)
    assert run(vm, "setattr(Base(), 3, 4)").error is TypeError


def test_an_attribute_that_is_there_on_some_paths() -> None:
    vm = machine(CLASSES)
    source = """
b = Base()
if f:
    b.extra = 5
result = (hasattr(b, "extra"), getattr(b, "extra", 7))
"""
    outcome = execute(vm, source, f=E.bool_symbol("flag"))
    assert at(vm, outcome.value, {"flag": True}) == (True, 5)
    assert at(vm, outcome.value, {"flag": False}) == (False, 7)


# ------------------------------------------------------------------------ exceptions


@pytest.mark.parametrize(
    "source",
    [
        "ValueError('x').args", "ValueError().args", "KeyError('k', 2).args",
        "StopIteration(3).value",
        "SystemExit(2).code", "ImportError('m', name='x').name", "OSError(2, 'no').errno",
        "OSError(2, 'no', 'f').args", "str(ValueError('x'))", "str(KeyError('k'))",
        "repr(ValueError(1, 2))",
        "ValueError(x=1)", "str(ValueError())", "AttributeError('m', name='n').name",
    ],
)  # fmt: skip
def test_exceptions(source: str) -> None:
    agrees(source, {})


def test_every_exception_is_there() -> None:
    for name, value in vars(builtins).items():
        if isinstance(value, type) and issubclass(value, BaseException):
            assert core.BUILTINS[name] == HostType(value)
            assert value in core.CONSTRUCTORS
    vm = machine()
    box = vm.box(run(vm, "RuntimeError('a', 1)").value)
    assert isinstance(box, ObjectBox) and box.cls == HostType(RuntimeError)


# ------------------------------------------------------------------------ what is not followed


def test_what_is_not_followed_gives_itself_or_an_unknown() -> None:
    vm = machine()
    opaque, external = Opaque("a thing"), ExternalRef("torch.thing", "torch")
    for source in (
        "abs(x)",
        "int(x)",
        "float(x)",
        "round(x)",
        "max(x, 1.5)",
        "sum([x, 1])",
        "divmod(x, 2)[0]",
    ):
        value = run(vm, source, x=opaque).value
        assert isinstance(value, Opaque) and not value.harmless, source
    for source in (
        "isinstance(x, int)",
        "isinstance(3, x)",
        "hasattr(x, 'y')",
        "callable(x)",
        "bool(x)",
    ):
        for thing in (opaque, external):
            value = run(vm, source, x=thing).value
            assert isinstance(value, E.Bool) and value not in (E.TRUE, E.FALSE), source
    assert not any(entry.kind is LedgerKind.SKIPPED for entry in vm.trace.ledger)


@pytest.mark.parametrize(
    "source",
    ["exec('x = 1')", "eval('1')", "globals()", "locals()", "vars()", "dir()", "open('f')",
    "input()",
     "__import__('os')", "compile('1', 'f', 'eval')", "type('T', (), {})"],
)  # fmt: skip
def test_functions_that_run_code_are_cut_off(source: str) -> None:
    assert run(machine(), source).skipped


def test_hashes_of_strings_and_identities_are_integers() -> None:
    vm = machine()
    for source in ("hash('x')", "hash((1, 'x'))", "id(3)", "hash(None)"):
        value = run(vm, source).value
        assert isinstance(value, E.Expr) and not value.is_const


def test_ratios_are_rounded_in_functions_too() -> None:
    vm = machine()
    half = Ratio(E.symbol("n", 0), E.const(2))
    assert run(vm, "isinstance(x, float)", x=half).host is True
    assert at(vm, run(vm, "round(x)", x=half).value, {"n": 5}) == 2


def test_an_unknown_next_to_sizes_is_bounded_by_them() -> None:
    vm = machine()
    value = run(vm, "min(x, 128)", x=Opaque("a thing")).value
    assert isinstance(value, E.Expr)
    (unknown,) = value.free()
    assert [E.evaluate(value, {unknown.name: k}) for k in (5, 1000)] == [5, 128]
    assert isinstance(run(vm, "min(x, 128)", x=Opaque("a float", harmless=True)).value, Opaque)
