"""``bytearray``: bytes that can be changed, all of them concrete.

Whatever is done with one is done by the host's own, which is made of its bytes and thrown away.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool
from verifier.symbolic.python import concrete
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.concrete import COMPARISONS, MAX_LENGTH, SYMBOLIC, payload, to_host
from verifier.symbolic.python.heap import UNBOUND, ListBox, ObjectBox, StateBox
from verifier.symbolic.python.iteration import Iteration, Live
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.kinds.segments import index_of, raises
from verifier.symbolic.python.kinds.sources import (
    OwnIterator,
    ReverseIterator,
    SequenceIterator,
)
from verifier.symbolic.python.kinds.states import change, field
from verifier.symbolic.python.kinds.text import BYTES
from verifier.symbolic.python.library.core_numbers import bytes_of, make_bytes
from verifier.symbolic.python.model import BoundBuiltin, Builtin, HostType
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Ref, SliceValue

BYTEARRAY: Final = Table("bytearray")
#: methods whose argument is run through
_TAKING: Final = frozenset({"extend", "join"})


def _octets(vm: VM, value: object, span: Span) -> bytes:
    """The bytes as they are now."""
    held = vm.settled(field(vm, value, concrete.OCTETS))
    if isinstance(held, bytes):
        return held
    vm.unfollowed("a `bytearray` that depends on the inputs is not followed", span)
    return b""


def made(vm: VM, octets: object) -> Ref:
    """A new bytearray."""
    return vm.heap.new(StateBox(KIND, {concrete.OCTETS: octets}))


def _run(vm: VM, span: Span, self: Ref, function: Callable[..., Any], *args: object) -> object:
    """What a function of the host gives for a bytearray, which it may change."""
    return _run_named(vm, span, self, function, args, {})


def _run_named(
    vm: VM,
    span: Span,
    self: Ref,
    function: Callable[..., Any],
    args: tuple[object, ...],
    named: dict[str, object],
) -> object:
    before = _octets(vm, self, span)
    given = [to_host(vm, payload(vm, value)) for value in args]
    keywords = {name: to_host(vm, payload(vm, value)) for name, value in named.items()}
    if any(value is SYMBOLIC for value in (*given, *keywords.values())):
        return vm.unfollowed("a `bytearray` with what is not concrete is not followed", span)
    host = bytearray(before)
    results: list[object] = []

    @functools.wraps(function)
    def act(*values: Any, **more: Any) -> None:
        results.append(function(*values, **more))

    concrete.run(vm, span, act, host, *given, **keywords)
    if not results:
        return vm.unfollowed("a `bytearray` that is too large is not followed", span)
    if len(host) > MAX_LENGTH:
        return vm.unfollowed("a `bytearray` that is too large is not followed", span)
    if bytes(host) != before:
        change(vm, self, span, **{concrete.OCTETS: bytes(host)})
    return self if results[0] is host else _back(vm, results[0])


def _back(vm: VM, value: object) -> object:
    """A result of the host's as a value."""
    if isinstance(value, bytearray):
        return made(vm, bytes(value))
    if isinstance(value, tuple):
        return tuple(_back(vm, item) for item in value)
    if isinstance(value, list):
        return vm.heap.new(ListBox.of([_back(vm, item) for item in value]))
    return concrete.from_host(vm, value)


class Bytearray(Kind[VM], OwnIterator):
    name = "bytearray"
    complete = True

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(bytearray)

    def describe(self, vm: VM, value: Any) -> str:
        return "a bytearray"

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if name in BYTEARRAY:
            owner = HostType(bytearray) if name == "fromhex" else value
            return BoundBuiltin("bytearray", name, owner)
        return concrete.host_attribute(vm, value, bytearray, name, span)

    def _index(self, vm: VM, index: object, span: Span) -> object:
        """An index as the host has it: of an object what it says itself."""
        index = vm.settled(index)
        if isinstance(index, SliceValue) or not isinstance(vm.box(index), ObjectBox):
            return index
        number = index_of(vm, index, span)
        return index if number is None else number

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        return _run(vm, span, value, operator.getitem, self._index(vm, index, span))

    def set_item(self, vm: VM, value: Any, index: object, new: object, span: Span) -> None:
        place = self._index(vm, index, span)
        if new is UNBOUND:
            _run(vm, span, value, operator.delitem, place)
        else:
            _run(vm, span, value, operator.setitem, place, self._index(vm, new, span))

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if op == "*" and isinstance(to_host(vm, right), int):
            if len(_octets(vm, left, span)) * max(to_host(vm, right), 0) > MAX_LENGTH:
                return vm.unfollowed("a `bytearray` that is too large is not followed", span)
        elif op not in ("+", "%") or (op == "+" and not _is_bytes(vm, right)):
            return NotImplemented
        return _run(vm, span, left, concrete.OPERATORS[op], right)

    def reflected(self, vm: VM, op: str, right: Any, left: object, span: Span) -> object:
        if op == "*":
            return self.binary(vm, op, right, left, span)
        if op == "+" and isinstance(left, bytes):
            return concrete.run(vm, span, operator.add, left, _octets(vm, right, span))
        return NotImplemented

    def inplace(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if op == "+":
            return _run(vm, span, left, operator.iadd, right)
        if op == "*" and isinstance(to_host(vm, right), int):
            if len(_octets(vm, left, span)) * max(to_host(vm, right), 0) <= MAX_LENGTH:
                return _run(vm, span, left, operator.imul, right)
            return vm.unfollowed("a `bytearray` that is too large is not followed", span)
        return NotImplemented

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if not _is_bytes(vm, right):
            return NotImplemented
        other = to_host(vm, payload(vm, right))
        return E.truth(COMPARISONS[op](bytearray(_octets(vm, left, span)), other))

    def contains(self, vm: VM, value: Any, item: object, span: Span) -> object:
        return _run(vm, span, value, operator.contains, self._index(vm, item, span))

    def truth(self, vm: VM, value: Any, span: Span) -> Bool:
        return E.truth(bool(_octets(vm, value, span)))

    def length(self, vm: VM, value: Any, span: Span) -> object:
        return E.const(len(_octets(vm, value, span)))

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        def at(position: int) -> object:
            octets = _octets(vm, value, span)
            return E.const(octets[position]) if position < len(octets) else UNBOUND

        return Live(at)

    def iterator(self, vm: VM, value: Any, reverse: bool, span: Span) -> object:
        kind = _BACKWARDS if reverse else _FORWARDS
        first = len(_octets(vm, value, span)) - 1 if reverse else 0
        return kind.make(vm, source=value, position=E.const(first), done=False)

    def key(self, vm: VM, value: Any, span: Span) -> object:
        raises(vm, TypeError, "unhashable type: 'bytearray'", span)
        return UNBOUND

    def text(self, vm: VM, value: Any, how: str, span: Span) -> object:
        return concrete.run(vm, span, repr, bytearray(_octets(vm, value, span)))

    def as_items(self, vm: VM, value: Any, span: Span) -> tuple[object, ...] | None:
        return tuple(E.const(octet) for octet in _octets(vm, value, span))


def _is_bytes(vm: VM, value: object) -> bool:
    return isinstance(to_host(vm, payload(vm, value)), (bytes, bytearray))


class BytearrayIterator(SequenceIterator):
    """``iter()`` of a bytearray, which is read as it is when the iterator gets there."""

    host = type(iter(bytearray()))

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(self.host)


KIND: Final = Bytearray()
_FORWARDS: Final = BytearrayIterator()
_BACKWARDS: Final = ReverseIterator()


# ------------------------------------------------------------------------ methods


def _method(name: str) -> None:
    function = getattr(bytearray, name)

    @BYTEARRAY.add(name)
    def method(vm: VM, span: Span, self: Ref, /, *args: object, **keywords: object) -> object:
        if name in _TAKING and len(args) == 1 and not _is_bytes(vm, args[0]):
            before = _octets(vm, self, span)
            items = vm.items_of(vm.settled(args[0]), span)
            if items is None or _octets(vm, self, span) != before:  # CPython may hold on to it
                return vm.unfollowed(f"`bytearray.{name}()` of these is not followed", span)
            args = (items,)
        if name == "decode":  # as bytes are
            decode = BoundBuiltin("bytes", name, _octets(vm, self, span))
            return vm.call(decode, args, keywords, span=span)
        return _run_named(vm, span, self, function, args, keywords)


for _name in dir(bytearray):
    if not _name.startswith("_") and _name not in ("fromhex", "maketrans"):
        _method(_name)
BYTEARRAY["maketrans"] = BYTES["maketrans"]


@BYTEARRAY.add("fromhex")
def _fromhex(vm: VM, span: Span, cls: object, string: object, /) -> object:
    held = to_host(vm, payload(vm, string))
    if held is SYMBOLIC:
        return vm.unfollowed("`bytearray.fromhex()` of this is not followed", span)
    result = made(vm, concrete.run(vm, span, bytes.fromhex, held))
    return result if cls == HostType(bytearray) else vm.call(cls, (result,), span=span)


def _bytearray(
    vm: VM,
    span: Span,
    source: object = UNBOUND,
    encoding: object = UNBOUND,
    errors: object = UNBOUND,
) -> object:
    """``bytearray(source, encoding, errors)``."""
    if encoding is not UNBOUND or errors is not UNBOUND:
        octets = make_bytes(vm, span, source, encoding, errors)
    elif source is UNBOUND:
        octets = b""
    else:
        octets = vm.each(source, lambda value: bytes_of(vm, value, span))
    return vm.each(octets, lambda held: made(vm, held) if isinstance(held, bytes) else held)


CONSTRUCTORS: Final[dict[type, Builtin]] = {bytearray: Builtin.of("bytearray", _bytearray)}
BUILTINS: Final[dict[str, object]] = {"bytearray": HostType(bytearray)}
METHODS: Final = {BYTEARRAY.owner: BYTEARRAY}

__all__ = ["BUILTINS", "CONSTRUCTORS", "METHODS"]
