"""Strings and bytes."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from verifier.hardware import dtypes as dt
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.pretty import pretty
from verifier.symbolic.python import percents, probes, strings
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.concrete import (
    COMPARISONS,
    MAX_LENGTH,
    SYMBOLIC,
    host_attribute,
    operate,
    payload,
    run,
    selected,
    to_host,
)
from verifier.symbolic.python.heap import UNBOUND, ObjectBox, StateBox
from verifier.symbolic.python.inputs import Word
from verifier.symbolic.python.iteration import Items, Iteration
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.kinds.numbers import OF_CLASS, as_expr, class_method, is_integer
from verifier.symbolic.python.kinds.protocols import converted
from verifier.symbolic.python.kinds.segments import index_of, needs_index
from verifier.symbolic.python.lifting import lifted, unfollowed_operand
from verifier.symbolic.python.model import BoundBuiltin, Builtin, HostType
from verifier.symbolic.python.vm import VM
from verifier.symbolic.python.words import method_of, told
from verifier.symbolic.tensors import DType
from verifier.symbolic.values import TEXT, DTypeText, Guarded, Opaque, OpaqueOf, SliceValue

#: characters of a text that a symbolic index chooses from
_MAX_CHOICES = 64


def _like(value: str | bytes) -> OpaqueOf:
    """A text, or bytes, of which no more is known."""
    return OpaqueOf("a part of a text", harmless=True, host=type(value))


def _has_byte(vm: VM, value: bytes, byte: Expr, span: Span) -> Bool:
    """``byte in value``."""
    vm.fault(
        ValueError,
        "byte must be in range(0, 256)",
        span,
        when=E.or_(E.lt(byte, 0), E.gt(byte, 255)),
    )
    return E.or_(*(E.eq(byte, one) for one in sorted(set(value))))


class _Sequence(Kind[VM]):
    """``str`` and ``bytes``: sequences of known contents."""

    pure = True
    complete = True
    host: type = str
    described = "string"

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(self.host)

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        table = METHODS[self.name]
        if name == "maketrans":
            return table[name]
        if name in table:
            owner = self.type_of(vm, value) if name in OF_CLASS else value
            return BoundBuiltin(self.name, name, owner)
        return host_attribute(vm, value, self.host, name, span)

    def part(self, value: Any, position: int) -> object:
        """An element of the sequence."""
        return value[position]

    # -- items ---------------------------------------------------------------------------

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        index = payload(vm, index)
        if isinstance(index, SliceValue):
            return self.slice(vm, value, index, span)
        number = index_of(vm, index, span)
        if number is None:
            return needs_index(vm, index, f"{self.described} indices", span)
        return self.at(vm, value, number, span)

    def at(self, vm: VM, value: Any, number: Expr, span: Span) -> object:
        size = len(value)
        if number.is_const and -size <= number.const < size:
            return self.part(value, number.const)
        shown = pretty(number)
        vm.fault(
            IndexError,
            f"the index `{shown}` of {self.describe(vm, value)} is out of range",
            span,
            when=E.or_(E.lt(number, -size), E.ge(number, size)),
            text=f"{shown} < {size}",
            values=(("index", number), ("length", E.const(size))),
        )
        if size > _MAX_CHOICES:
            return _like(value)
        place = E.ite(E.lt(number, 0), number + size, number)
        return selected([(E.eq(place, k), self.part(value, k)) for k in range(size)])

    def slice(self, vm: VM, value: Any, index: SliceValue, span: Span) -> object:
        parts = (index.start, index.stop, index.step)
        if any(isinstance(part, Guarded) for part in parts):
            return _like(value)
        probes.refused(vm, operator.getitem, (value, index), span)
        known = unfollowed_operand(vm, parts, span)
        if known is not None:
            return known
        if any(isinstance(vm.box(part), ObjectBox) for part in parts):
            asked = (converted(vm, p, "__index__", span) if p is not None else p for p in parts)
            start, stop, step = asked
            return self.slice(vm, value, SliceValue(start, stop, step), span)
        held = to_host(vm, index)
        if held is not SYMBOLIC:
            return run(vm, span, operator.getitem, value, held)
        for part in parts:
            if part is not None and vm.as_int(part, span) is None:
                return vm.unfollowed("a slice that is not followed", span)
        step = index.step
        if step is not None and not isinstance(step, Expr):
            return vm.unfollowed("a slice that is not followed", span)
        if isinstance(step, Expr):
            vm.fault(ValueError, "slice step cannot be zero", span, when=E.eq(step, 0))
        return _like(value)

    # -- operators -----------------------------------------------------------------------

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if op == "%":
            return percents.percent(vm, left, right, span)
        if op == "+" and isinstance(right, self.host):
            whole = left + right
            return whole if len(whole) <= MAX_LENGTH else _like(left)
        if op == "*" and is_integer(right):
            return self.repeated(vm, left, as_expr(right), span)
        return NotImplemented

    def reflected(self, vm: VM, op: str, right: Any, left: object, span: Span) -> object:
        if op == "*" and is_integer(left):
            return self.repeated(vm, right, as_expr(left), span)
        return NotImplemented

    def repeated(self, vm: VM, value: Any, count: Expr, span: Span) -> object:
        if not count.is_const:
            return _like(value)
        return operate(vm, "*", value, count.const, span)

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if type(right) is type(left):
            return E.truth(COMPARISONS[op](left, right))
        return NotImplemented

    def contains(self, vm: VM, value: Any, item: object, span: Span) -> object:
        item = told(vm, payload(vm, item))
        if isinstance(item, Guarded):
            return vm.each(item, lambda text: self.contains(vm, value, text, span))
        probes.refused(vm, operator.contains, (value, item), span)
        if isinstance(item, OpaqueOf) and item.host is str and self.host is str:
            return OpaqueOf(item.reason, item.harmless, host=bool)
        known = unfollowed_operand(vm, (item,), span)
        if known is not None:
            return known
        held = to_host(vm, item)
        if held is not SYMBOLIC:
            return run(vm, span, operator.contains, value, held)
        if is_integer(item) and isinstance(value, bytes):
            return _has_byte(vm, value, as_expr(item), span)
        kind = vm.kind(item)
        if kind.complete:
            what = f"{self.describe(vm, value)} cannot contain {kind.describe(vm, item)}"
            vm.fault(TypeError, what, span)
        return vm.unfollowed("`in` on a text is not followed", span)

    # -- protocols -----------------------------------------------------------------------

    def truth(self, vm: VM, value: Any, span: Span) -> Bool:
        return E.truth(bool(value))

    def length(self, vm: VM, value: Any, span: Span) -> object:
        return E.const(len(value))

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        return Items(self.parts(value))

    def parts(self, value: Any) -> tuple[object, ...]:
        """The elements."""
        return tuple(self.part(value, k) for k in range(len(value)))

    def key(self, vm: VM, value: Any, span: Span) -> object:
        return value

    def text(self, vm: VM, value: Any, how: str, span: Span) -> object:
        return run(vm, span, str if how == "s" else repr, value)

    def as_items(self, vm: VM, value: Any, span: Span) -> tuple[object, ...] | None:
        return self.parts(value)


class _Text(_Sequence):
    name = "str"

    def describe(self, vm: VM, value: Any) -> str:
        return "a string"

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if op == "+" and isinstance(right, DTypeText):
            return TEXT
        return super().binary(vm, op, left, right, span)

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if isinstance(right, DTypeText):
            return NotImplemented
        return super().compare(vm, op, left, right, span)

    def contains(self, vm: VM, value: Any, item: object, span: Span) -> object:
        if isinstance(item, DTypeText):
            return vm.unknown_bool("`in` on the name of a dtype is not followed", span)
        return super().contains(vm, value, item, span)

    def as_dtype(self, vm: VM, value: Any, span: Span) -> DType | None:
        name = dt.canonical(value)
        return DType.named(name) if name is not None else None


class _Bytes(_Sequence):
    name = "bytes"
    host = bytes
    described = "byte"

    def describe(self, vm: VM, value: Any) -> str:
        return "a bytes object"

    def part(self, value: Any, position: int) -> object:
        return E.const(value[position])


class _DTypeText(Kind[VM]):
    """``str(x.dtype)``: a string of which the spelling is not fixed."""

    name = "str"
    pure = True

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(str)

    def describe(self, vm: VM, value: Any) -> str:
        return "the name of a dtype"

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if op not in ("==", "!="):
            return vm.unknown_bool("an ordering of dtypes' names is not followed", span)
        if isinstance(right, DTypeText):
            same = left.dtype.same(right.dtype)
        elif isinstance(right, str):
            name = dt.canonical(right)
            same = E.FALSE if name is None else left.dtype.among(dt.codes(name))
        else:
            other = vm.as_dtype(right, span) if not is_integer(right) else None
            same = E.FALSE if other is None else left.dtype.same(other)
        return same if op == "==" else E.not_(same)

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if op == "+" and isinstance(right, (str, DTypeText)):
            return TEXT
        return NotImplemented

    def contains(self, vm: VM, value: Any, item: object, span: Span) -> object:
        """A name's part is in every spelling of it; another name is in none."""
        if isinstance(item, str):
            having = frozenset(code for name, code in dt.CODES.items() if item in name)
            found = value.dtype.among(having) if having else E.FALSE
            if dt.canonical(item) is not None or found is E.TRUE:
                return found
        return vm.unknown_bool("`in` on the name of a dtype is not followed", span)

    def truth(self, vm: VM, value: Any, span: Span) -> Bool:
        return E.TRUE

    def text(self, vm: VM, value: Any, how: str, span: Span) -> object:
        return value if how == "s" else TEXT

    def as_dtype(self, vm: VM, value: Any, span: Span) -> DType | None:
        dtype: DType = value.dtype
        return dtype


# ------------------------------------------------------------------------ methods


STR: Final = Table("str")
BYTES: Final = Table("bytes")

#: methods of which a symbolic width has a string as its result, whatever it is
_PADDING: Final = frozenset({"ljust", "rjust", "center", "zfill", "expandtabs"})
#: encodings whose cost is linear
_ENCODINGS: Final = frozenset({"utf-8", "utf8", "ascii", "latin-1", "utf-16", "utf-32"})

_SHARED: Final = (
    "capitalize center count endswith expandtabs find index isalnum isalpha isascii isdigit "
    "islower isspace istitle isupper ljust lower lstrip partition removeprefix removesuffix "
    "replace rfind rindex rjust rpartition rsplit rstrip split splitlines startswith strip "
    "swapcase title translate upper zfill maketrans"
)


def _concrete(table: Table, host: type, name: str) -> None:
    """Enter a method whose model is the host's own."""
    function: Callable[..., Any] = getattr(host, name)

    @lifted
    def method(vm: VM, span: Span, self: object, /, *args: object, **keywords: object) -> object:
        given = [to_host(vm, payload(vm, value)) for value in (self, *args)]
        named = {key: to_host(vm, value) for key, value in keywords.items()}
        if any(value is SYMBOLIC for value in (*given, *named.values())):
            if isinstance(self, host) and name in _PADDING and args and is_integer(args[0]):
                return TEXT
            if isinstance(self, Word) and SYMBOLIC not in (*given[1:], *named.values()):
                known = method_of(vm, self, name, given[1:], span)
                if known is not None:
                    return known
            return vm.unfollowed(f"`.{name}()` of a text is not followed", span)
        if name in ("encode", "decode") and not _plain_encoding(given, named):
            return vm.unfollowed("an encoding that is not followed", span)
        return run(vm, span, function, *given, **named)

    table[name] = Builtin.of(f"{table.owner}.{name}", method)


def _plain_encoding(given: list[Any], named: dict[str, Any]) -> bool:
    encoding = named.get("encoding", given[1] if len(given) > 1 else "utf-8")
    return not isinstance(encoding, str) or encoding.lower() in _ENCODINGS


for _table, _host, _more in (
    (STR, str, "casefold encode isdecimal isidentifier isnumeric isprintable"),
    (BYTES, bytes, "decode hex"),
):
    for _name in f"{_SHARED} {_more}".split():
        _concrete(_table, _host, _name)


BYTES["fromhex"] = Builtin.of("bytes.fromhex", class_method(bytes, "fromhex"))


@STR.add("format")
def _format(vm: VM, span: Span, self: object, /, *args: object, **keywords: object) -> object:
    return vm.each(
        self,
        lambda text: (
            strings.template(vm, text, args, keywords, span)
            if isinstance(text, str)
            else _no_text(vm, text, "format", span)
        ),
    )


@STR.add("format_map")
def _format_map(vm: VM, span: Span, self: object, mapping: object, /) -> object:
    return vm.each(
        self,
        lambda text: (
            strings.template(vm, text, (), None, span, mapping)
            if isinstance(text, str)
            else _no_text(vm, text, "format_map", span)
        ),
    )


def _no_text(vm: VM, value: object, name: str, span: Span) -> object:
    """A method of strings is called with something else."""
    if isinstance(value, Opaque):
        return value
    kind = vm.kind(value)
    if kind.complete:
        message = f"`str.{name}()` is called on {kind.describe(vm, value)}"
        vm.fault(TypeError, message, span)
    return vm.unfollowed(f"`.{name}()` is not followed", span)


@STR.add("join")
def _join(vm: VM, span: Span, self: object, iterable: object, /) -> object:
    return vm.each(
        self,
        lambda text: (
            vm.each(iterable, lambda v: _joined(vm, text, v, span))
            if isinstance(text, str)
            else _no_text(vm, text, "join", span)
        ),
    )


def _joined(vm: VM, between: str, iterable: object, span: Span) -> object:
    known = unfollowed_operand(vm, (iterable,), span)
    if known is not None:
        return known
    items = vm.items_of(iterable, span)
    if items is None:
        if isinstance(vm.box(iterable), StateBox):  # its items are gone by now
            return vm.unfollowed("what joins so many items is not followed", span)
        vm.iterate(iterable, lambda item: _last_piece(vm, item, span), span)
        return TEXT
    pieces = [_piece(vm, k, item, span) for k, item in enumerate(items)]
    return strings.concatenated(vm, pieces, between)


def _last_piece(vm: VM, item: object, span: Span) -> None:
    """One of many items of what is joined."""
    _piece(vm, 0, item, span)


def _piece(vm: VM, position: int, item: object, span: Span) -> object:
    """An item of what is joined, which must be a string."""

    def one(value: object) -> object:
        value = payload(vm, value)
        if isinstance(value, OpaqueOf) and value.host is object:
            return vm.unfollowed(f"`.join()` of {value.reason} is not followed", span)
        is_text = isinstance(value, Opaque) and not isinstance(value, OpaqueOf)
        if isinstance(value, str) or is_text or probes.sample(vm, value) == "a":
            return value
        kind = vm.kind(value)
        if kind.complete or isinstance(value, OpaqueOf):
            message = f"item {position} of what is joined is {kind.describe(vm, value)}"
            vm.fault(TypeError, f"{message}, not a string", span)
        return TEXT

    return vm.each(item, one)


@BYTES.add("join")
@lifted
def _join_bytes(vm: VM, span: Span, self: object, iterable: object, /) -> object:
    items = vm.items_of(iterable, span)
    given = SYMBOLIC if items is None else to_host(vm, items)
    if given is SYMBOLIC or not isinstance(self, bytes):
        return vm.unfollowed("`.join()` of bytes is not followed", span)
    return run(vm, span, bytes.join, self, given)


METHODS: Final[dict[str, Table]] = {"str": STR, "bytes": BYTES}

KINDS: Final[dict[type, Kind[VM]]] = {
    str: _Text(),
    bytes: _Bytes(),
    DTypeText: _DTypeText(),
}

__all__ = ["BYTES", "KINDS", "METHODS", "STR", "UNBOUND"]
