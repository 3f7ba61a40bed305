"""``functools``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.python import hierarchy
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.heap import UNBOUND, ObjectBox
from verifier.symbolic.python.hierarchy import Generated, Inherited
from verifier.symbolic.python.kinds.partials import is_plain, keywords_of
from verifier.symbolic.python.library import caches
from verifier.symbolic.python.library.wrapping import update_wrapper, wraps
from verifier.symbolic.python.model import (
    Builtin,
    Class,
    HostType,
    Partial,
)
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Ref

# ------------------------------------------------------------------------ partial, reduce


def _partial(vm: VM, span: Span, func: object, /, *args: object, **keywords: object) -> object:
    box = vm.box(func)
    if isinstance(box, ObjectBox) and not box.attributes and isinstance(box.payload, Partial):
        if not hierarchy.overrides(vm, box.cls, "__call__"):
            func = box.payload
    if isinstance(func, Partial) and is_plain(vm, func):
        held = keywords_of(vm, func)
        if held is None:
            return vm.unfollowed("the keywords of a partial function are not followed", span)
        named = {**held, **keywords}
        return Partial(func.function, (*func.args, *args), tuple(named.items()))
    may = vm.call(vm.language.builtins["callable"], (func,), span=span)
    refused = E.not_(vm.truth(may, span))
    vm.fault(TypeError, "the first argument must be callable", span, when=refused)
    return Partial(func, args, tuple(keywords.items()))


#: where the value so far is kept while a loop runs
_SO_FAR: Final = "<value>"


def _reduce(
    vm: VM, span: Span, function: object, iterable: object, initial: object = UNBOUND, /
) -> object:
    if initial is UNBOUND:
        return vm.each(iterable, lambda one: _reduce_items(vm, function, one, span))
    ref = vm.heap.new(ObjectBox(HostType(object), {_SO_FAR: initial}))

    def body(item: object) -> None:
        made = vm.call(function, (_so_far(vm, ref), item), span=span)
        box = vm.write(ref, span)
        assert isinstance(box, ObjectBox)
        box.attributes[_SO_FAR] = made

    vm.iterate(iterable, body, span)
    return _so_far(vm, ref)


def _so_far(vm: VM, ref: Ref) -> object:
    box = vm.heap.get(ref.id)
    assert isinstance(box, ObjectBox)
    return box.attributes[_SO_FAR]


def _reduce_items(vm: VM, function: object, iterable: object, span: Span) -> object:
    items = vm.items_of(iterable, span)
    if items is None:
        return vm.unfollowed("`reduce()` of an unknown number of items", span)
    if not items:
        vm.fault(TypeError, "reduce() of empty iterable with no initial value", span)
        return vm.unfollowed("`reduce()` of no items", span)
    value = items[0]
    for item in items[1:]:
        value = vm.call(function, (value, item), span=span)
    return value


# ------------------------------------------------------------------------ total_ordering

#: what makes one comparison of another: whether it is negated, and what equality does
_DERIVED: Final = {
    "__lt__": {"__gt__": (True, "and !="), "__le__": (False, "or =="), "__ge__": (True, "")},
    "__le__": {"__ge__": (True, "or =="), "__lt__": (False, "and !="), "__gt__": (True, "")},
    "__gt__": {"__lt__": (True, "and !="), "__ge__": (False, "or =="), "__le__": (True, "")},
    "__ge__": {"__le__": (True, "or =="), "__gt__": (False, "and !="), "__lt__": (True, "")},
}


def _total_ordering(vm: VM, span: Span, cls: object, /) -> object:
    if not isinstance(cls, Class):
        return vm.unfollowed("`total_ordering` of what is not followed", span)
    roots = [name for name in _DERIVED if _defines(vm, cls, name)]
    if not roots:
        message = "must define at least one ordering operation: < > <= >="
        vm.fault(ValueError, message, span)
        return cls
    root = max(roots)
    for name, (negated, then) in _DERIVED[root].items():
        if name not in roots:
            handler = _ordering(root, negated, then)
            made = Generated(Builtin.of(f"{cls.name}.{name}", handler))
            hierarchy.define_attribute(vm, cls, name, made)
    return cls


def _defines(vm: VM, cls: Class, name: str) -> bool:
    found = hierarchy.lookup(vm, cls, name)
    return not (isinstance(found, Inherited) and found.type is object)


def _ordering(root: str, negated: bool, then: str) -> Callable[..., object]:
    def compare(vm: VM, span: Span, self: object, other: object, /) -> object:
        found = hierarchy.lookup(vm, vm.type_of(self), root)
        bound = hierarchy.bind(vm, found, self, vm.type_of(self), span)
        answer = vm.call(bound, (other,), span=span)
        return vm.each(answer, lambda one: finish(vm, span, self, other, one))

    def finish(vm: VM, span: Span, self: object, other: object, one: object) -> object:
        if one is NotImplemented:
            return NotImplemented
        test = vm.truth(one, span)
        test = E.not_(test) if negated else test
        if then == "and !=":
            return vm.fork(test, lambda: vm.compare("!=", self, other, span), lambda: E.FALSE)
        if then == "or ==":
            return vm.fork(test, lambda: E.TRUE, lambda: vm.compare("==", self, other, span))
        return test

    return compare


# ------------------------------------------------------------------------ cmp_to_key

_FUNCTION: Final = "<function>"
_KEY: Final = type(functools.cmp_to_key(lambda a, b: 0)(0))

KEYS: Final = Table(_KEY.__name__)


def _cmp_to_key(vm: VM, span: Span, mycmp: object) -> object:
    def make(vm: VM, span: Span, obj: object) -> object:
        return vm.heap.new(ObjectBox(HostType(_KEY), {"obj": obj, _FUNCTION: mycmp}))

    return Builtin.of("cmp_to_key", make)


def _held(vm: VM, value: object) -> dict[str, object]:
    box = vm.box(value)
    assert isinstance(box, ObjectBox)
    return box.attributes


def _key_comparison(op: str) -> Callable[..., object]:
    def compare(vm: VM, span: Span, self: object, other: object, /) -> object:
        def one(right: object) -> object:
            if vm.type_of(right) != HostType(_KEY):
                vm.fault(TypeError, "other argument must be K instance", span)
                return NotImplemented
            mine, theirs = _held(vm, self), _held(vm, right)
            answer = vm.call(mine[_FUNCTION], (mine["obj"], theirs["obj"]), span=span)
            return vm.compare(op, answer, E.const(0), span)

        return vm.each(other, one)

    return compare


for _name, _op in {
    "__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">=", "__eq__": "==",
}.items():  # fmt: skip
    KEYS.add(_name)(_key_comparison(_op))


# ------------------------------------------------------------------------ tables


def _unfollowed(name: str) -> Builtin:
    def handler(vm: VM, span: Span, /, *args: object, **keywords: object) -> object:
        return vm.unfollowed(f"`{name}()` is not followed", span)

    return Builtin.of(name, handler)


CONSTRUCTORS: Final[dict[type, Builtin]] = {
    functools.partial: Builtin.of("partial", _partial),
    **caches.CONSTRUCTORS,
}
METHODS: Final[Mapping[str, Table]] = {**caches.METHODS, KEYS.owner: KEYS}
MODULES: Final[dict[str, dict[str, object]]] = {
    "functools": {
        "partial": HostType(functools.partial),
        "cached_property": HostType(functools.cached_property),
        "_CacheInfo": HostType(caches.INFO),
        "reduce": Builtin.of("reduce", _reduce),
        "update_wrapper": Builtin.of("update_wrapper", update_wrapper),
        "wraps": Builtin.of("wraps", wraps),
        **{name: Builtin.of(name, handler) for name, handler in caches.FUNCTIONS.items()},
        "total_ordering": Builtin.of("total_ordering", _total_ordering),
        "cmp_to_key": Builtin.of("cmp_to_key", _cmp_to_key),
        **{
            name: _unfollowed(name)
            for name in ("singledispatch", "singledispatchmethod", "partialmethod")
        },
    }
}
