"""The built-in containers as types: ``list``, ``tuple``, ``dict``, ``set``, ``frozenset``."""

from __future__ import annotations

from typing import Final

from verifier.source.ir import Span
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.heap import DictBox, ListBox, SetBox, TupleBox
from verifier.symbolic.python.inputs import LazyShape
from verifier.symbolic.python.kinds import elements
from verifier.symbolic.python.kinds.entries import put, updated, writable
from verifier.symbolic.python.kinds.foretold import collected
from verifier.symbolic.python.kinds.segments import as_list, as_tuple
from verifier.symbolic.python.library import collections_, counters, heirs
from verifier.symbolic.python.model import Builtin, HostType
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Opaque, Ref

TYPES: Final = Table()


@TYPES.add("list")
def _list(vm: VM, span: Span, iterable: object = (), /) -> object:
    def one(value: object) -> object:
        if isinstance(value, Opaque):
            return value
        segments = collected(vm, value, span)
        if segments is None:
            return vm.unfollowed("a list of items that are not followed", span)
        return as_list(vm, segments)

    return vm.apart(iterable, one)


@TYPES.add("tuple")
def _tuple(vm: VM, span: Span, iterable: object = (), /) -> object:
    def one(value: object) -> object:
        if isinstance(value, (tuple, LazyShape, Opaque)) or isinstance(vm.box(value), TupleBox):
            return value
        segments = collected(vm, value, span)
        if segments is None:
            return vm.unfollowed("a tuple of items that are not followed", span)
        return as_tuple(vm, segments)

    return vm.apart(iterable, one)


@TYPES.add("dict")
def _dict(vm: VM, span: Span, iterable: object = (), /, **more: object) -> object:
    if isinstance(iterable, Opaque) and not more:
        return iterable
    ref = vm.heap.new(DictBox())
    fill(vm, ref, iterable, more, span)
    return ref


def fill(vm: VM, ref: Ref, iterable: object, more: dict[str, object], span: Span) -> None:
    """What the constructor of a dictionary enters into it."""
    vm.apart(iterable, lambda value: updated(vm, ref, value, span))
    for name, value in more.items():
        put(writable(vm, ref, span), name, value)


@TYPES.add("set")
def _set(vm: VM, span: Span, iterable: object = (), /) -> object:
    return iterable if isinstance(iterable, Opaque) else elements.made(vm, iterable, span)


@TYPES.add("frozenset")
def _frozenset(vm: VM, span: Span, iterable: object = (), /) -> object:
    box = vm.box(iterable)
    if isinstance(iterable, Opaque) or (isinstance(box, SetBox) and box.frozen):
        return iterable
    return elements.made(vm, iterable, span, frozen=True)


_HOSTS: Final[dict[str, type]] = {
    "list": list,
    "tuple": tuple,
    "dict": dict,
    "set": set,
    "frozenset": frozenset,
}

CONSTRUCTORS: Final[dict[type, Builtin]] = {
    **{_HOSTS[name]: model for name, model in TYPES.items()},
    **collections_.CONSTRUCTORS,
    **counters.CONSTRUCTORS,
}
BUILTINS: Final[dict[str, object]] = {name: HostType(host) for name, host in _HOSTS.items()}
METHODS: Final = {**collections_.METHODS, **counters.METHODS, **heirs.METHODS}
MODULES: Final[dict[str, dict[str, object]]] = {
    "collections": {**collections_.NAMES, **counters.NAMES},
}

__all__ = ["BUILTINS", "CONSTRUCTORS", "METHODS", "MODULES", "ListBox", "fill"]
