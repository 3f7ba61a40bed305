"""Built-in functions on numbers, and what makes numbers of other values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.python import hierarchy, quotients
from verifier.symbolic.python.attempts import attempt
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.concrete import SYMBOLIC, asked, payload, run, to_host
from verifier.symbolic.python.heap import UNBOUND, ObjectBox
from verifier.symbolic.python.inputs import InputKind, Parameter
from verifier.symbolic.python.iteration import Mapped, Runs, Trips, Unknown
from verifier.symbolic.python.kinds.foretold import foretell
from verifier.symbolic.python.kinds.numbers import COMPLEX, FLOAT, as_expr, is_integer, is_number
from verifier.symbolic.python.lifting import lifted, unfollowed_operand
from verifier.symbolic.python.model import HostType
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import TEXT, HostUse, Opaque, Ratio

NUMBERS: Final = Table()


def number_of(vm: VM, value: object, span: Span) -> object:
    """A value as a number of a built-in type, if it is one; else the value.

    A parameter of which nothing is known yet becomes an integer, or a float if it says so.
    """
    value = payload(vm, value)
    if isinstance(value, Parameter) and value.kind in (None, InputKind.INTEGER, InputKind.FLAG):
        if value.annotation.startswith("float") or isinstance(value.default, float):
            return FLOAT
        if value.kind is InputKind.FLAG:
            return vm.inputs.flag(value)
        number = vm.as_int(value, span)
        return value if number is None else number
    return value


def unusable(vm: VM, what: str, value: object, span: Span) -> object:
    """A built-in function is given something that it does not take, or may not."""
    known = unfollowed_operand(vm, (value,), span)
    if known is not None:
        return known
    kind = vm.kind(value)
    if kind.complete:
        vm.fault(TypeError, f"{what} does not take {kind.describe(vm, value)}", span)
    return vm.unfollowed(f"{what} of {kind.describe(vm, value)} is not followed", span)


def _by_method(
    vm: VM, value: object, names: tuple[str, ...], args: tuple[object, ...], span: Span
) -> object:
    """What the first of some special methods gives; :data:`UNBOUND` if there is none."""
    for name in names:
        found = asked(vm, value, name, args, span)
        if found is not UNBOUND:
            return found
    return UNBOUND


def _converted(vm: VM, value: object, names: tuple[str, ...], host: type, span: Span) -> object:
    """What the first of some special methods gives, which has to be a ``host``."""
    box = vm.box(value)
    if not isinstance(box, ObjectBox):
        return UNBOUND
    for name in names:
        if isinstance(hierarchy.lookup(vm, box.cls, name), hierarchy.Inherited):
            return UNBOUND  # what is inside says it
        found = asked(vm, value, name, (), span)
        if found is not UNBOUND:
            wanted = int if name == "__index__" else host
            return vm.each(found, _requirement(vm, name, wanted, span))
    return UNBOUND


def _requirement(vm: VM, name: str, host: type, span: Span) -> Callable[[object], object]:
    """A check of what a special method gives."""

    def one(answer: object) -> object:
        held = payload(vm, answer)
        if isinstance(held, Opaque) or (host is int and is_integer(held)):
            return held
        known = vm.type_of(held)
        if isinstance(known, HostType):
            if issubclass(known.type, host):
                return held
        if vm.kind(answer).complete or isinstance(answer, _SETTLED):
            said = vm.kind(answer).describe(vm, answer)
            vm.fault(TypeError, f"`{name}` returns {said}, no `{host.__name__}`", span)
        return vm.unfollowed(f"what `{name}` returns is not followed", span)

    return one


#: values whose type leaves no doubt
_SETTLED: Final = (Expr, E.Bool, bool, str, bytes, float, complex, tuple, type(None))


# ------------------------------------------------------------------------ abs, divmod, pow, round


@NUMBERS.add("abs")
@lifted
def _abs(vm: VM, span: Span, x: object, /) -> object:
    own = _by_method(vm, x, ("__abs__",), (), span)
    if own is not UNBOUND:
        return own
    x = number_of(vm, x, span)
    if is_integer(x):
        return E.absolute(as_expr(x))
    held = to_host(vm, x)
    if isinstance(held, (float, complex)):
        return run(vm, span, abs, held)
    if isinstance(x, Ratio):
        return Ratio(E.absolute(x.num), E.absolute(x.den))
    return x if isinstance(x, Opaque) else unusable(vm, "`abs()`", x, span)


@NUMBERS.add("divmod")
@lifted
def _divmod(vm: VM, span: Span, x: object, y: object, /) -> object:
    for value, other, name in ((x, y, "__divmod__"), (y, x, "__rdivmod__")):
        own = asked(vm, value, name, (other,), span)
        if own is not UNBOUND and own is not NotImplemented:
            return own
    a, b = number_of(vm, x, span), number_of(vm, y, span)
    known = unfollowed_operand(vm, (a, b), span)
    if known is not None:
        return (known, known)
    if not is_number(a) or not is_number(b) or isinstance(a, complex) or isinstance(b, complex):
        return unusable(vm, "`divmod()`", b if is_number(a) else a, span)
    quotient = vm.binary("//", a, b, span)
    if isinstance(quotient, Expr) and is_integer(a) and is_integer(b):
        return (quotient, as_expr(a) - as_expr(b) * quotient)
    return (quotient, vm.binary("%", a, b, span))


@NUMBERS.add("pow")
@lifted
def _pow(vm: VM, span: Span, base: object, exp: object, mod: object = None) -> object:
    if mod is None:
        return vm.binary("**", base, exp, span)
    for value in (base, exp, mod):
        if not is_integer(number_of(vm, value, span)):
            return unusable(vm, "`pow()` with a modulus", value, span)
    a, b, m = (as_expr(number_of(vm, value, span)) for value in (base, exp, mod))
    held = [to_host(vm, value) for value in (a, b, m)]
    if SYMBOLIC not in held:
        return run(vm, span, pow, *held)
    vm.fault(ValueError, "pow() 3rd argument cannot be 0", span, when=E.eq(m, 0))
    if vm.decide(E.ge(b, 0)) is not True:  # there may be no inverse
        return vm.unfollowed("`pow()` with a negative exponent and a modulus", span)
    if not b.is_const:
        return vm.unknown_int("`pow()` with a symbolic exponent and a modulus", span)
    power = vm.binary("**", a, b, span)
    return power % m if isinstance(power, Expr) else power


@NUMBERS.add("round")
@lifted
def _round(vm: VM, span: Span, number: object, ndigits: object = None) -> object:
    args = () if ndigits is None else (ndigits,)
    own = _by_method(vm, number, ("__round__",), args, span)
    if own is not UNBOUND:
        return own
    value = number_of(vm, number, span)
    digits = None if ndigits is None else _index_of(vm, ndigits, span)
    known = unfollowed_operand(vm, (value, digits), span)
    if known is not None:
        return known
    held, places = to_host(vm, value), to_host(vm, digits)
    if held is not SYMBOLIC and places is not SYMBOLIC:
        return run(vm, span, round, held, places)
    if places is None:
        if is_integer(value):
            return as_expr(value)
        if isinstance(value, Ratio):
            return quotients.rounded(vm, value, span)
    if is_integer(digits):
        if is_integer(value):
            a, b = as_expr(value), as_expr(digits)
            if vm.decide(E.ge(b, 0)) is True:
                return a
            return vm.unknown_int("an integer rounded to tens is not followed", span)
        if isinstance(value, (Ratio, float)):
            return FLOAT
    return unusable(vm, "`round()`", value, span)


# ------------------------------------------------------------------------ int, float, complex


@lifted
def make_int(vm: VM, span: Span, x: object = UNBOUND, /, base: object = UNBOUND) -> object:
    """``int(x, base)``."""
    if x is UNBOUND and base is UNBOUND:
        return E.const(0)
    if base is not UNBOUND:
        held, radix = to_host(vm, payload(vm, x)), to_host(vm, payload(vm, base))
        if x is UNBOUND:
            vm.fault(TypeError, "int() missing string argument", span)
        if held is SYMBOLIC or radix is SYMBOLIC:
            return vm.unfollowed("`int()` with a base is not followed", span)
        return run(vm, span, int, held, radix)
    own = _converted(vm, x, ("__int__", "__index__"), int, span)
    if own is not UNBOUND:
        return vm.each(own, lambda v: as_expr(v) if is_integer(v) else v)
    own = asked(vm, x, "__trunc__", (), span)
    if own is not UNBOUND:
        if is_integer(own) or isinstance(own, Opaque):
            return own
        return vm.unfollowed("what `__trunc__` returns is not followed", span)
    value = number_of(vm, x, span)
    result = vm.of_device(HostUse.INTEGER, value, span)
    if result is not None:
        return result
    return truncated(vm, HostUse.INTEGER.value, value, span)


def truncated(vm: VM, what: str, value: object, span: Span) -> object:
    """A number rounded towards zero, a text read as an integer."""
    if is_integer(value):
        return as_expr(value)
    if isinstance(value, Ratio) and to_host(vm, value) is SYMBOLIC:
        return quotients.truncated(vm, value, span)
    held = to_host(vm, value)
    if isinstance(held, (float, str, bytes, bytearray, complex)):
        return run(vm, span, int, held)
    return unusable(vm, what, value, span)


@lifted
def make_float(vm: VM, span: Span, x: object = 0.0, /) -> object:
    """``float(x)``."""
    own = _converted(vm, x, ("__float__", "__index__"), float, span)
    if own is not UNBOUND:
        return vm.each(own, lambda v: make_float(vm, span, v) if is_integer(v) else v)
    value = number_of(vm, x, span)
    result = vm.of_device(HostUse.FLOAT, value, span)
    if result is not None:
        return result
    held = to_host(vm, value)
    if isinstance(held, (int, float, str, bytes, bytearray, complex)):
        return run(vm, span, float, held)
    if is_integer(value):
        return quotients.quotient(vm, as_expr(value), E.const(1), span)
    if isinstance(value, (Ratio, Opaque)):
        return value
    return unusable(vm, HostUse.FLOAT.value, value, span)


@lifted
def make_complex(vm: VM, span: Span, real: object = UNBOUND, imag: object = UNBOUND) -> object:
    """``complex(real, imag)``."""
    own = _converted(vm, real, ("__complex__",), complex, span)
    if own is not UNBOUND:
        real = own
    given = [
        number_of(vm, value if part is UNBOUND else part, span)
        for value in (real, imag)
        for part in (_converted(vm, value, ("__float__", "__index__"), float, span),)
    ]
    names = [name for name, v in zip(("real", "imag"), given, strict=True) if v is not UNBOUND]
    held = [to_host(vm, value) for value in given if value is not UNBOUND]
    if SYMBOLIC not in held:
        return run(vm, span, complex, **dict(zip(names, held, strict=True)))
    for value in given:
        if value is not UNBOUND and not is_number(value):
            return unusable(vm, "`complex()`", value, span)
    return COMPLEX


def make_bool(vm: VM, span: Span, x: object = False, /) -> object:
    """``bool(x)``."""
    return vm.truth(x, span)


# ------------------------------------------------------------------------ texts of numbers


def _index_of(vm: VM, value: object, span: Span) -> object:
    """What is used as an integer: of an instance of a subclass of ``int`` the number inside."""
    if is_integer(payload(vm, value)):
        return payload(vm, value)
    own = _converted(vm, value, ("__index__",), int, span)
    return number_of(vm, own if own is not UNBOUND else value, span)


def _in_base(name: str, function: Callable[[int], str]) -> None:
    @NUMBERS.add(name)
    @lifted
    def shown(vm: VM, span: Span, number: object, /) -> object:
        value = _index_of(vm, number, span)
        held = to_host(vm, value)
        if held is not SYMBOLIC:
            return run(vm, span, function, held)
        return TEXT if is_integer(value) else unusable(vm, f"`{name}()`", value, span)


for _name, _function in (("bin", bin), ("hex", hex), ("oct", oct)):
    _in_base(_name, _function)


@NUMBERS.add("chr")
@lifted
def _chr(vm: VM, span: Span, i: object, /) -> object:
    value = _index_of(vm, i, span)
    held = to_host(vm, value)
    if held is not SYMBOLIC:
        return run(vm, span, chr, held)
    if not is_integer(value):
        return unusable(vm, "`chr()`", value, span)
    number = as_expr(value)
    vm.fault(
        ValueError,
        "chr() arg not in range(0x110000)",
        span,
        when=E.not_(E.and_(E.ge(number, 0), E.lt(number, 0x110000))),
    )
    return TEXT


@NUMBERS.add("ord")
@lifted
def _ord(vm: VM, span: Span, c: object, /) -> object:
    value = payload(vm, c)
    held = to_host(vm, value)
    if held is not SYMBOLIC:
        return run(vm, span, ord, held)
    return unusable(vm, "`ord()`", value, span)


@lifted
def make_bytes(
    vm: VM,
    span: Span,
    source: object = UNBOUND,
    encoding: object = UNBOUND,
    errors: object = UNBOUND,
) -> object:
    """``bytes(source, encoding, errors)``."""
    if encoding is UNBOUND and errors is UNBOUND:
        if source is UNBOUND:
            return b""
        own = _converted(vm, source, ("__bytes__",), bytes, span)
        return own if own is not UNBOUND else bytes_of(vm, source, span)
    given = {"source": source, "encoding": encoding, "errors": errors}
    held: dict[str, Any] = {
        name: to_host(vm, payload(vm, value))
        for name, value in given.items()
        if value is not UNBOUND
    }
    if SYMBOLIC in held.values() or held.get("encoding", "utf-8") not in ("utf-8", "ascii"):
        return vm.unfollowed("these `bytes()` are not followed", span)
    first = [held.pop("source")] if "source" in held else []
    return run(vm, span, bytes, *first, **held)


def bytes_of(vm: VM, source: object, span: Span) -> object:
    """The bytes of a buffer, so many zeros, or the items of an iterable."""
    inner = payload(vm, source)
    if isinstance(inner, (str, bytes)):
        return run(vm, span, bytes, inner)
    if is_number(inner):
        return _in_bytes(vm, to_host(vm, inner), span)
    buffer = to_host(vm, inner)
    if isinstance(buffer, bytearray):
        return bytes(buffer)
    box = vm.box(source)
    if not isinstance(box, ObjectBox) or not hierarchy.overrides(vm, box.cls, "__index__"):
        return _bytes_of_items(vm, source, span)

    def counted() -> object:
        return _in_bytes(vm, to_host(vm, _index_of(vm, source, span)), span)

    # an `__index__` that raises a TypeError is none
    return attempt(vm, counted, TypeError, lambda _: _bytes_of_items(vm, source, span))


def _bytes_of_items(vm: VM, source: object, span: Span) -> object:
    def hand(item: object, body: Callable[[object], None]) -> None:
        body(_index_of(vm, item, span) if isinstance(vm.box(item), ObjectBox) else item)

    way = vm.iteration(source, span)
    foretell(vm, source, span)
    if isinstance(way, (Trips, Runs, Unknown)):
        items = vm.items_of(source, span)
    else:  # one by one: asking an item for its number may change what is run through
        items = vm.gathered_items(Mapped(way, hand), span).concrete
    if items is None:
        return vm.unfollowed("these `bytes()` are not followed", span)
    return _in_bytes(vm, to_host(vm, items), span)


def _in_bytes(vm: VM, held: Any, span: Span) -> object:
    if held is SYMBOLIC:
        return vm.unfollowed("these `bytes()` are not followed", span)
    return run(vm, span, bytes, held)
