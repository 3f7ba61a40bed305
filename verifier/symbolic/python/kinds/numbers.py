"""Numbers: integers, truth values, floats, complex numbers, exact quotients."""

from __future__ import annotations

from typing import Any, Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.pretty import factor, operand
from verifier.symbolic.python import floatbounds, integers, quotients
from verifier.symbolic.python.builtin import Handler, Table
from verifier.symbolic.python.choices import choices
from verifier.symbolic.python.concrete import (
    COMPARISONS,
    SYMBOLIC,
    UNARY,
    host_attribute,
    operate,
    run,
    to_host,
)
from verifier.symbolic.python.heap import UNBOUND
from verifier.symbolic.python.integers import DIVISIONS, nonzero
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.lifting import lifted
from verifier.symbolic.python.model import BoundBuiltin, Builtin, HostType
from verifier.symbolic.python.operations import of_loop
from verifier.symbolic.python.terms import as_formula
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import TEXT, TRUTH, HostUse, OnDevice, OpaqueOf, Ratio

FLOAT: Final = OpaqueOf("a float", harmless=True, host=float)
COMPLEX: Final = OpaqueOf("a complex number", harmless=True, host=complex)

#: methods that are called on the type
OF_CLASS: Final = frozenset({"from_bytes", "fromhex"})

_NUMBERS: Final = (Expr, Bool, bool, float, complex, Ratio)
_INTEGERS: Final = (Expr, Bool, bool)


def is_integer(value: object) -> bool:
    """Whether a value is an ``int`` or ``bool``."""
    return isinstance(value, _INTEGERS)


def is_number(value: object) -> bool:
    """Whether a value is of one of the built-in types of numbers."""
    return isinstance(value, _NUMBERS)


def as_expr(value: object) -> Expr:
    """An ``int`` or ``bool`` as an integer."""
    if isinstance(value, Expr):
        return value
    formula = as_formula(value)
    assert formula is not None
    return E.ite(formula, 1, 0)


# ------------------------------------------------------------------------ operators


def arithmetic(vm: VM, op: str, left: object, right: object, span: Span) -> object:
    """``left op right``; NotImplemented if an operand is no number."""
    if not isinstance(left, _NUMBERS) or not isinstance(right, _NUMBERS):
        return NotImplemented
    for operand_ in (left, right):
        vm.of_device(HostUse.ARITHMETIC, operand_, span)
    if isinstance(left, Expr) and isinstance(right, Expr):
        return _whole(vm, op, left, right, span)
    if isinstance(left, (Bool, bool)) and isinstance(right, (Bool, bool)) and op in "&|^":
        return _logic(op, left, right)
    if is_integer(left) and is_integer(right):
        return _whole(vm, op, as_expr(left), as_expr(right), span)
    if op in ("<<", ">>", "&", "|", "^", "@"):
        return NotImplemented
    a, b = to_host(vm, left), to_host(vm, right)
    if a is not SYMBOLIC and b is not SYMBOLIC:
        whole = op in DIVISIONS
        if whole and (isinstance(a, complex) or isinstance(b, complex)):
            return NotImplemented
        if (whole or op == "/") and b == 0:
            nonzero(vm, E.const(0), span)
        return operate(vm, op, a, b, span)
    return _inexact(vm, op, left, right, span)


def _whole(vm: VM, op: str, a: Expr, b: Expr, span: Span) -> object:
    """An operator on integers."""
    if op == "@":
        return NotImplemented
    if op == "/":
        nonzero(vm, b, span)
        if a.is_const and b.is_const:
            return operate(vm, op, a.const, b.const, span)
        return quotients.quotient(vm, a, b, span)
    if op == "**" and (not b.is_const or b.const < 0):
        return _power(vm, a, b, span)
    return integers.operator(vm, op, a, b, span)


def _power(vm: VM, a: Expr, b: Expr, span: Span) -> object:
    """``a ** b``, which is a float where the exponent is negative."""
    if a.is_const and b.is_const:
        return operate(vm, "**", a.const, b.const, span)

    def inverse() -> object:
        vm.fault(
            ZeroDivisionError,
            "zero cannot be raised to a negative power",
            span,
            when=E.eq(a, 0),
            text=f"the base {operand(a)} != 0",
        )
        return FLOAT

    return vm.fork(E.ge(b, 0), lambda: integers.operator(vm, "**", a, b, span), inverse)


def _logic(op: str, left: object, right: object) -> Bool:
    a, b = as_formula(left), as_formula(right)
    assert a is not None and b is not None
    if op == "&":
        return E.and_(a, b)
    if op == "|":
        return E.or_(a, b)
    return E.or_(E.and_(a, E.not_(b)), E.and_(E.not_(a), b))


def _inexact(vm: VM, op: str, left: object, right: object, span: Span) -> object:
    """An operator with a float or complex operand, where something is symbolic."""
    if isinstance(left, complex) or isinstance(right, complex):
        if op in DIVISIONS:
            return NotImplemented
        if op == "/":
            floatbounds.divides(vm, right, span)
        elif op == "**":
            return vm.unfollowed("a power of a complex number", span)
        return COMPLEX
    if op in ("/", "//", "%"):
        floatbounds.divides(vm, right, span)
    if op == "**":
        return _float_power(vm, left, right, span)
    return quotients.operator(vm, op, left, right, span)


def _float_power(vm: VM, base: object, exponent: object, span: Span) -> object:
    """A power with a float; zero to a negative power is an error, a root of less is complex."""
    negative = quotients.order(vm, "<", exponent, E.const(0), span)
    zero = quotients.order(vm, "==", base, E.const(0), span)
    if negative is not None and zero is not None:
        vm.fault(
            ZeroDivisionError,
            "zero cannot be raised to a negative power",
            span,
            when=E.and_(negative, zero),
        )
    return floatbounds.power(vm, base, exponent, span)


# ------------------------------------------------------------------------ comparison


def comparison(vm: VM, op: str, left: object, right: object, span: Span) -> object:
    """``left op right``; NotImplemented if an operand is no number."""
    if not isinstance(left, _NUMBERS) or not isinstance(right, _NUMBERS):
        return NotImplemented
    loop = vm.device_loop(left) or vm.device_loop(right)
    if loop is not None:
        what = of_loop(loop)
        return OnDevice(f"a value of {what}, which only the device knows", of=what)
    if isinstance(left, Expr) and isinstance(right, Expr):
        return integers.order(op, left, right)
    p, q = as_formula(left), as_formula(right)
    if p is not None and q is not None and op in ("==", "!="):
        same = E.or_(E.and_(p, q), E.and_(E.not_(p), E.not_(q)))
        return same if op == "==" else E.not_(same)
    if is_integer(left) and is_integer(right):
        return integers.order(op, as_expr(left), as_expr(right))
    if isinstance(left, complex) or isinstance(right, complex):
        if op not in ("==", "!="):
            return NotImplemented
    a, b = to_host(vm, left), to_host(vm, right)
    if a is not SYMBOLIC and b is not SYMBOLIC:
        return E.truth(COMPARISONS[op](a, b))
    found = quotients.order(vm, op, left, right, span)
    return TRUTH if found is None else found


# ------------------------------------------------------------------------ kinds


class _Number(Kind[VM]):
    pure = True
    complete = True
    host: type = int

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(self.host)

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if name in ("real", "imag"):
            return self.part(vm, value, name, span)
        table = METHODS[self.name]
        if name in table:
            owner = self.type_of(vm, value) if name in OF_CLASS else value
            return BoundBuiltin(self.name, name, owner)
        own = vm.dialect.number_attribute(vm, value, name, span)
        return host_attribute(vm, value, self.host, name, span) if own is None else own

    def part(self, vm: VM, value: Any, name: str, span: Span) -> object:
        """The real or imaginary part."""
        return +value if name == "real" else type(value)(0)

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        return arithmetic(vm, op, left, right, span)

    def reflected(self, vm: VM, op: str, right: Any, left: object, span: Span) -> object:
        """Of a number in an instance whose class does not answer."""
        return arithmetic(vm, op, left, right, span)

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        return comparison(vm, op, left, right, span)

    def text(self, vm: VM, value: Any, how: str, span: Span) -> object:
        held = to_host(vm, value)
        if held is SYMBOLIC:
            told = choices(vm, value)
            if told is not None:
                return vm.each(told, lambda one: vm.kind(one).text(vm, one, how, span))
            if isinstance(value, Expr):
                integers.written(vm, value, span)
            return TEXT
        return run(vm, span, str if how == "s" else repr, held)

    def key(self, vm: VM, value: Any, span: Span) -> object:
        held = to_host(vm, value)
        return UNBOUND if held is SYMBOLIC else held


class _Integer(_Number):
    name = "int"

    def describe(self, vm: VM, value: Any) -> str:
        return "an integer"

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if name == "numerator":
            return as_expr(value)
        if name == "denominator":
            return E.const(1)
        return super().attribute(vm, value, name, span)

    def part(self, vm: VM, value: Any, name: str, span: Span) -> object:
        return as_expr(value) if name == "real" else E.const(0)

    def unary(self, vm: VM, op: str, value: Any, span: Span) -> object:
        number = as_expr(value)
        if op == "+":
            return number
        return -number if op == "-" else -number - 1

    def truth(self, vm: VM, value: Any, span: Span) -> Bool:
        formula = as_formula(value)
        if formula is None and vm.of_device(HostUse.CONDITION, value, span) is not None:
            return vm.unknown_bool("a condition depends on the index of a loop on the device", span)
        return E.ne(value, 0) if formula is None else formula

    def as_int(self, vm: VM, value: Any, span: Span) -> Expr | None:
        return as_expr(value)


class _Truth(_Integer):
    host = bool

    def describe(self, vm: VM, value: Any) -> str:
        return "a truth value"


class _Float(_Number):
    name = "float"
    host: type = float

    def describe(self, vm: VM, value: Any) -> str:
        return "a float"

    def unary(self, vm: VM, op: str, value: Any, span: Span) -> object:
        if op == "~":
            return self._missing(vm, value, "has no unary `~`", span)
        return run(vm, span, UNARY[op], value)

    def truth(self, vm: VM, value: Any, span: Span) -> Bool:
        return E.truth(bool(value))

    def as_int(self, vm: VM, value: Any, span: Span) -> Expr | None:
        vm.fault(
            TypeError,
            f"{self.describe(vm, value)} is used as an integer",
            span,
            text="the value is an integer",
            help=("divide with `//`",),
        )
        return None


class _Quotient(_Float):
    def describe(self, vm: VM, value: Any) -> str:
        return f"the float `{factor(value.num)} / {factor(value.den)}`"

    def part(self, vm: VM, value: Any, name: str, span: Span) -> object:
        return value if name == "real" else 0.0

    def unary(self, vm: VM, op: str, value: Any, span: Span) -> object:
        if op == "~":
            return self._missing(vm, value, "has no unary `~`", span)
        return Ratio(-value.num, value.den) if op == "-" else value

    def truth(self, vm: VM, value: Any, span: Span) -> Bool:
        return E.ne(value.num, 0)


class _Complex(_Float):
    name = "complex"
    host = complex

    def describe(self, vm: VM, value: Any) -> str:
        return "a complex number"

    def part(self, vm: VM, value: Any, name: str, span: Span) -> object:
        part: object = getattr(value, name)
        return part


# ------------------------------------------------------------------------ methods


INT: Final = Table("int")
FLOATS: Final = Table("float")
COMPLEXES: Final = Table("complex")


def _concrete(table: Table, host: type, name: str) -> None:
    """Enter a method whose model is the host's own."""
    function = getattr(host, name)
    if name in OF_CLASS:
        table[name] = Builtin.of(f"{table.owner}.{name}", class_method(host, name))
        return

    @lifted
    def method(vm: VM, span: Span, self: object, /, *args: object, **keywords: object) -> object:
        given = [to_host(vm, value) for value in (self, *args)]
        named = {key: to_host(vm, value) for key, value in keywords.items()}
        if not any(value is SYMBOLIC for value in (*given, *named.values())):
            return run(vm, span, function, *given, **named)
        return _symbolic_method(vm, span, host, name, self, args)

    table[name] = Builtin.of(f"{table.owner}.{name}", method)


def class_method(host: type, name: str) -> Handler:
    """A class method of a built-in type whose model is the host's own."""
    function = getattr(host, name)

    @lifted
    def method(vm: VM, span: Span, cls: object, /, *args: object, **keywords: object) -> object:
        given = [to_host(vm, value) for value in args]
        named = {key: to_host(vm, value) for key, value in keywords.items()}
        if SYMBOLIC in (*given, *named.values()):
            return vm.unfollowed(f"`{host.__name__}.{name}()` of these is not followed", span)
        made = run(vm, span, function, *given, **named)
        return made if cls == HostType(host) else vm.call(cls, (made,), span=span)

    return method


def _symbolic_method(
    vm: VM, span: Span, host: type, name: str, self: object, args: tuple[object, ...]
) -> object:
    """A method of a number that is not concrete."""
    if host is int and is_integer(self) and not args:
        number = as_expr(self)
        if name in ("conjugate", "__index__", "__int__", "__trunc__", "__floor__", "__ceil__"):
            return number
        if name == "bit_length":
            return integers.bit_length(vm, number, span)
        if name == "bit_count":
            return integers.bit_count(vm, number, span)
        if name == "is_integer":
            return E.TRUE
        if name == "as_integer_ratio":
            return (number, E.const(1))
    if host is float and isinstance(self, Ratio) and not args:
        if name == "is_integer":
            return quotients.is_whole(vm, self, span)
        if name == "conjugate":
            return self
        if name == "as_integer_ratio":
            what = "the parts of a float are not followed"
            return (vm.unknown_int(what, span), integers.bounded_unknown(vm, what, span, 1))
        if name == "hex":
            return TEXT
    return vm.unfollowed(f"`.{name}()` of a symbolic number is not followed", span)


for _table, _host, _names in (
    (
        INT,
        int,
        "as_integer_ratio bit_length bit_count conjugate from_bytes to_bytes is_integer "
        "__index__ __int__ __trunc__ __floor__ __ceil__",
    ),
    (FLOATS, float, "as_integer_ratio conjugate fromhex hex is_integer"),
    (COMPLEXES, complex, "conjugate"),
):
    for _name in _names.split():
        if hasattr(_host, _name):
            _concrete(_table, _host, _name)


METHODS: Final[dict[str, Table]] = {"int": INT, "float": FLOATS, "complex": COMPLEXES}

KINDS: Final[dict[type, Kind[VM]]] = {
    Expr: _Integer(),
    bool: _Truth(),
    Bool: _Truth(),
    float: _Float(),
    complex: _Complex(),
    Ratio: _Quotient(),
}
