"""``functools``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.python import attributes, hierarchy
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.heap import UNBOUND, DictBox, Heap, ObjectBox
from verifier.symbolic.python.hierarchy import Generated, Inherited
from verifier.symbolic.python.keys import key_of, value_of
from verifier.symbolic.python.model import (
    Builtin,
    Class,
    Function,
    HostType,
    Method,
    Partial,
)
from verifier.symbolic.python.parts import reachable
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import ExternalRef, Guarded, Opaque, Ref

# ------------------------------------------------------------------------ partial, reduce


def _partial(vm: VM, span: Span, func: object, /, *args: object, **keywords: object) -> object:
    if isinstance(func, Partial):
        named = {**dict(func.keywords), **keywords}
        return Partial(func.function, (*func.args, *args), tuple(named.items()))
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


# ------------------------------------------------------------------------ wraps

_ASSIGNED: Final = ("__module__", "__name__", "__qualname__", "__doc__")


def _update_wrapper(
    vm: VM,
    span: Span,
    wrapper: object,
    wrapped: object,
    assigned: object = UNBOUND,
    updated: object = UNBOUND,
) -> object:
    if assigned is not UNBOUND or updated is not UNBOUND:
        return vm.unfollowed("`wraps()` with a choice of attributes is not followed", span)
    if isinstance(wrapper, Opaque):
        return wrapper
    known = isinstance(wrapped, (Function, Generated, Builtin, Class, HostType, Method))
    for name in _ASSIGNED:
        if known:
            found = vm.find_attribute(wrapped, name, span)
        else:
            found = Opaque(f"`{name}` of what is wrapped", harmless=True)
        if found is not UNBOUND:
            vm.set_attribute(wrapper, name, found, span)
    if isinstance(wrapped, Function):
        for name, value in hierarchy.all_noted(vm, wrapped).items():
            if name not in _ASSIGNED:
                vm.set_attribute(wrapper, name, value, span)
    vm.set_attribute(wrapper, "__wrapped__", wrapped, span)
    return wrapper


def _wraps(
    vm: VM,
    span: Span,
    wrapped: object,
    assigned: object = UNBOUND,
    updated: object = UNBOUND,
) -> object:
    def decorate(vm: VM, span: Span, wrapper: object, /) -> object:
        return _update_wrapper(vm, span, wrapper, wrapped, assigned, updated)

    return Builtin.of("wraps", decorate)


# ------------------------------------------------------------------------ lru_cache

_WRAPPER: Final = type(functools.lru_cache(len))
_FUNCTION: Final = "<function>"
_ENTRIES: Final = "<entries>"
_LIMIT: Final = "<limit>"

CACHED: Final = Table(_WRAPPER.__name__)


def _lru_cache(vm: VM, span: Span, maxsize: object = UNBOUND, typed: object = False) -> object:
    if maxsize is UNBOUND:
        maxsize = E.const(128)
    if not isinstance(maxsize, Expr) and maxsize is not None:
        return _cached(vm, span, maxsize, E.const(128))
    limit = maxsize if typed is False else E.const(0)

    def decorate(vm: VM, span: Span, user_function: object, /) -> object:
        return _cached(vm, span, user_function, limit)

    return Builtin.of("lru_cache", decorate)


def _cache(vm: VM, span: Span, user_function: object, /) -> object:
    return _cached(vm, span, user_function, None)


def _cached(vm: VM, span: Span, function: object, limit: object) -> object:
    if isinstance(function, (Opaque, ExternalRef)):
        return function
    held = {
        _FUNCTION: function,
        _ENTRIES: vm.heap.new(DictBox()),
        _LIMIT: limit,
        "__wrapped__": function,
    }
    if isinstance(function, Function):
        held |= {name: vm.find_attribute(function, name, span) for name in _ASSIGNED}
    return vm.heap.new(ObjectBox(HostType(_WRAPPER), held))


def _attributes(vm: VM, value: object) -> dict[str, object]:
    box = vm.box(value)
    assert isinstance(box, ObjectBox)
    return box.attributes


@CACHED.add("__call__")
def _call_cached(vm: VM, span: Span, self: object, /, *args: object, **keywords: object) -> object:
    held = _attributes(vm, self)
    function, entries, limit = held[_FUNCTION], held[_ENTRIES], held[_LIMIT]
    key = (args, tuple((name, value) for name, value in keywords.items()))
    if key_of(vm, key, span) is UNBOUND or not _is_settled(vm, entries, limit):
        return _called_each_time(vm, function, args, keywords, span)
    there = vm.truth(vm.compare("in", key, entries, span), span)

    def look_up() -> object:
        value = vm.item(entries, key, span)
        if limit is not None:  # the least recently used one comes first
            vm.set_item(entries, key, UNBOUND, span)
            vm.set_item(entries, key, value, span)
        return value

    def compute() -> object:
        value = vm.call(function, args, keywords, span=span)
        box = vm.box(entries)
        assert isinstance(box, DictBox)
        if isinstance(limit, Expr) and len(box.items) >= limit.const:
            if limit.const <= 0:
                return value
            vm.set_item(entries, value_of(next(iter(box.items))), UNBOUND, span)
        vm.set_item(entries, key, value, span)
        return value

    return vm.fork(there, look_up, compute)


def _is_settled(vm: VM, entries: object, limit: object) -> bool:
    """Whether it is known which entries a cache has, as far as that matters for what it drops."""
    box = vm.box(entries)
    assert isinstance(box, DictBox)
    if limit is None:
        return True
    if not isinstance(limit, Expr) or not limit.is_const:
        return False
    return not any(
        isinstance(value, Guarded) and any(v is UNBOUND for _, v in value.cases)
        for value in box.items.values()
    )


def _called_each_time(
    vm: VM,
    function: object,
    args: tuple[object, ...],
    keywords: Mapping[str, object],
    span: Span,
) -> object:
    """A call that may or may not find its value in the cache: the same if it has no effect."""
    before = vm.heap.fork()
    emitted = (len(vm.trace.operations), len(vm.trace.storages))
    value = vm.call(function, args, keywords, span=span)
    quiet = emitted == (len(vm.trace.operations), len(vm.trace.storages))
    if not quiet or _wrote(vm.heap, before) or reachable(vm.heap, (value,)):
        vm.unfollowed("whether a cached call is run again depends on the inputs", span)
    return value


def _wrote(after: Heap, before: Heap) -> bool:
    """Whether anything that was there has been changed."""
    return any(after.find(number) is not box for number, box in before.boxes.items()) or any(
        number in after.base and number not in before.boxes and after.base[number] is not box
        for number, box in after.boxes.items()
    )


@CACHED.add("__get__")
def _get_cached(
    vm: VM, span: Span, self: object, instance: object, owner: object = None, /
) -> object:
    return self if instance is None else Method(self, instance)


@CACHED.add("cache_clear")
def _cache_clear(vm: VM, span: Span, self: object, /) -> object:
    entries = _attributes(vm, self)[_ENTRIES]
    vm.call(vm.attribute(entries, "clear", span), (), span=span)
    return None


@CACHED.add("cache_info")
def _cache_info(vm: VM, span: Span, self: object, /) -> object:
    return vm.unfollowed("the statistics of a cache are not followed", span)


# ------------------------------------------------------------------------ cached_property

CACHED_PROPERTY: Final = Table("cached_property")


def _cached_property(vm: VM, span: Span, func: object) -> object:
    held: dict[str, object] = {"func": func}
    return vm.heap.new(ObjectBox(HostType(functools.cached_property), held))


@CACHED_PROPERTY.add("__get__")
def _get_property(
    vm: VM, span: Span, self: object, instance: object, owner: object = None, /
) -> object:
    if instance is None:
        return self
    held = _attributes(vm, self)
    name = held.get("attrname")
    if not isinstance(name, str) or not isinstance(instance, Ref):
        vm.fault(TypeError, "cannot use cached_property without __set_name__", span)
        return vm.unfollowed("a cached property without a name", span)
    if not attributes.has_dict(vm, vm.type_of(instance)):
        vm.fault(TypeError, "no `__dict__` attribute to cache a property in", span)
    value = vm.call(held["func"], (instance,), span=span)
    attributes.put(vm, instance, name, value, span)
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

_KEY: Final = type(functools.cmp_to_key(lambda a, b: 0)(0))

KEYS: Final = Table(_KEY.__name__)


def _cmp_to_key(vm: VM, span: Span, mycmp: object) -> object:
    def make(vm: VM, span: Span, obj: object) -> object:
        return vm.heap.new(ObjectBox(HostType(_KEY), {"obj": obj, _FUNCTION: mycmp}))

    return Builtin.of("cmp_to_key", make)


def _key_comparison(op: str) -> Callable[..., object]:
    def compare(vm: VM, span: Span, self: object, other: object, /) -> object:
        def one(right: object) -> object:
            if vm.type_of(right) != HostType(_KEY):
                vm.fault(TypeError, "other argument must be K instance", span)
                return NotImplemented
            mine, theirs = _attributes(vm, self), _attributes(vm, right)
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
    functools.cached_property: Builtin.of("cached_property", _cached_property),
}
METHODS: Final[Mapping[str, Table]] = {
    table.owner: table for table in (CACHED, CACHED_PROPERTY, KEYS)
}
MODULES: Final[dict[str, dict[str, object]]] = {
    "functools": {
        "partial": HostType(functools.partial),
        "cached_property": HostType(functools.cached_property),
        "reduce": Builtin.of("reduce", _reduce),
        "update_wrapper": Builtin.of("update_wrapper", _update_wrapper),
        "wraps": Builtin.of("wraps", _wraps),
        "lru_cache": Builtin.of("lru_cache", _lru_cache),
        "cache": Builtin.of("cache", _cache),
        "total_ordering": Builtin.of("total_ordering", _total_ordering),
        "cmp_to_key": Builtin.of("cmp_to_key", _cmp_to_key),
        **{
            name: _unfollowed(name)
            for name in ("singledispatch", "singledispatchmethod", "partialmethod")
        },
    }
}
