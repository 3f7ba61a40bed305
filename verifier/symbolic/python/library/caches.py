"""What ``functools`` makes that remembers: ``lru_cache``, ``cache``, ``cached_property``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.python import attributes
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.heap import UNBOUND, DictBox, Heap, ObjectBox
from verifier.symbolic.python.keys import key_of, value_of
from verifier.symbolic.python.library.wrapping import ASSIGNED
from verifier.symbolic.python.model import Builtin, Function, HostType, Method
from verifier.symbolic.python.parts import reachable
from verifier.symbolic.python.terms import as_formula
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import ExternalRef, Guarded, Opaque, Ref, unsure

# ------------------------------------------------------------------------ lru_cache

_WRAPPER: Final = type(functools.lru_cache(len))
INFO: Final = type(functools.lru_cache(len).cache_info())
_FUNCTION: Final = "<function>"
_ENTRIES: Final = "<entries>"
_LIMIT: Final = "<limit>"
_TYPED: Final = "<typed>"
_HITS: Final = "<hits>"
_MISSES: Final = "<misses>"

CACHED: Final = Table(_WRAPPER.__name__)


def lru_cache(vm: VM, span: Span, maxsize: object = UNBOUND, typed: object = False) -> object:
    """``functools.lru_cache``, with arguments or as a decorator itself."""
    by_type = as_formula(typed)
    known = None if by_type is None else vm.decide(by_type)
    if known is None:
        return vm.unfollowed("a cache of which it is not known whether it asks for types", span)
    limit = E.const(128) if maxsize is UNBOUND else _limit(maxsize)
    if limit is UNBOUND:
        may = vm.call(vm.language.builtins["callable"], (maxsize,), span=span)
        message = "Expected first argument to be an integer, a callable, or None"
        vm.fault(TypeError, message, span, when=E.not_(vm.truth(may, span)))
        return _cached(vm, span, maxsize, E.const(128), known)

    def decorate(vm: VM, span: Span, user_function: object, /) -> object:
        return _cached(vm, span, user_function, limit, known)

    return Builtin.of("lru_cache", decorate)


def _limit(maxsize: object) -> object:
    """How many entries a cache has at most, None: any number; UNBOUND if that does not say so."""
    if isinstance(maxsize, bool):
        return E.const(int(maxsize))
    if isinstance(maxsize, Expr):
        return E.maximum(maxsize, 0)
    return None if maxsize is None else UNBOUND


def cache(vm: VM, span: Span, user_function: object, /) -> object:
    """``functools.cache``."""
    return _cached(vm, span, user_function, None, False)


def _cached(vm: VM, span: Span, function: object, limit: object, typed: bool) -> object:
    if isinstance(function, (Opaque, ExternalRef)):
        return function

    def parameters(vm: VM, span: Span, /) -> object:
        return vm.heap.new(DictBox({"maxsize": limit, "typed": typed}))

    held = {
        _FUNCTION: function,
        _ENTRIES: vm.heap.new(DictBox(inside=True)),
        _LIMIT: limit,
        _TYPED: typed,
        _HITS: E.const(0),
        _MISSES: E.const(0),
        "__wrapped__": function,
        "cache_parameters": Builtin.of("cache_parameters", parameters),
    }
    if isinstance(function, Function):
        held |= {name: vm.find_attribute(function, name, span) for name in ASSIGNED}
    return vm.heap.new(ObjectBox(HostType(_WRAPPER), held))


def _attributes(vm: VM, value: object) -> dict[str, object]:
    box = vm.box(value)
    assert isinstance(box, ObjectBox)
    return box.attributes


def _count(vm: VM, cached: object, which: str, span: Span) -> None:
    """A call has, or has not, found its value in the cache."""
    assert isinstance(cached, Ref)
    box = vm.write(cached, span)
    assert isinstance(box, ObjectBox)
    held = box.attributes[which]
    box.attributes[which] = vm.binary("+", held, E.const(1), span)


def _key(vm: VM, args: tuple[object, ...], keywords: Mapping[str, object], typed: bool) -> object:
    """What CPython looks a call up by: an integer or a string alone, else all that is given."""
    if not keywords and not typed:
        alone = len(args) == 1 and isinstance(args[0], (Expr, str))
        return args[0] if alone else args
    named = tuple(keywords.items())
    types = [vm.each(value, vm.type_of) for value in (*args, *keywords.values())]
    return (args, HostType(_WRAPPER), named, tuple(types) if typed else ())


@CACHED.add("__call__")
def _call_cached(vm: VM, span: Span, self: object, /, *args: object, **keywords: object) -> object:
    held = _attributes(vm, self)
    function, entries, limit = held[_FUNCTION], held[_ENTRIES], held[_LIMIT]
    if limit is E.const(0):
        _count(vm, self, _MISSES, span)
        return vm.call(function, args, keywords, span=span)
    key = _key(vm, args, keywords, held[_TYPED] is True)
    if key_of(vm, key, span) is UNBOUND or not _is_settled(vm, entries, limit):
        return _called_each_time(vm, self, args, keywords, span)
    there = vm.truth(vm.compare("in", key, entries, span), span)

    def look_up() -> object:
        _count(vm, self, _HITS, span)
        value = vm.item(entries, key, span)
        if limit is not None:  # the least recently used one comes first
            vm.set_item(entries, key, UNBOUND, span)
            vm.set_item(entries, key, value, span)
        return value

    def compute() -> object:
        _count(vm, self, _MISSES, span)
        value = vm.call(function, args, keywords, span=span)
        _enter(vm, entries, limit, key, value, span)
        return value

    return vm.fork(there, look_up, compute)


def _enter(vm: VM, entries: object, limit: object, key: object, value: object, span: Span) -> None:
    """Keep what a call has given, which may have called the same function meanwhile."""
    box = vm.box(entries)
    assert isinstance(box, DictBox)
    if isinstance(limit, Expr):
        if not _is_settled(vm, entries, limit):
            vm.unfollowed("what a cache has in it depends on the inputs", span)
            return
        if vm.decide(vm.truth(vm.compare("in", key, entries, span), span)) is not False:
            return
        if len(box.items) >= limit.const:
            vm.set_item(entries, value_of(next(iter(box.items))), UNBOUND, span)
    vm.set_item(entries, key, value, span)


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
    vm: VM, cached: object, args: tuple[object, ...], keywords: Mapping[str, object], span: Span
) -> object:
    """A call that may or may not find its value in the cache: the same if it has no effect."""
    assert isinstance(cached, Ref)
    box = vm.write(cached, span)
    assert isinstance(box, ObjectBox)
    for which in (_HITS, _MISSES):
        box.attributes[which] = unsure("the statistics of a cache")
    before = vm.heap.fork()
    emitted = (len(vm.trace.operations), len(vm.trace.storages))
    value = vm.call(box.attributes[_FUNCTION], args, keywords, span=span)
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
    assert isinstance(self, Ref)
    box = vm.write(self, span)
    assert isinstance(box, ObjectBox)
    box.attributes |= {_HITS: E.const(0), _MISSES: E.const(0)}
    vm.call(vm.attribute(box.attributes[_ENTRIES], "clear", span), (), span=span)
    return None


@CACHED.add("cache_info")
def _cache_info(vm: VM, span: Span, self: object, /) -> object:
    held = _attributes(vm, self)
    size = vm.length(held[_ENTRIES], span)
    items = (held[_HITS], held[_MISSES], held[_LIMIT], size)
    return _make_info(vm, span, *items)


def _make_info(
    vm: VM, span: Span, hits: object, misses: object, maxsize: object, currsize: object
) -> object:
    items = (hits, misses, maxsize, currsize)
    fields = dict(zip(INFO._fields, items, strict=True))
    return vm.heap.new(ObjectBox(HostType(INFO), fields, items))


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


CONSTRUCTORS: Final[dict[type, Builtin]] = {
    functools.cached_property: Builtin.of("cached_property", _cached_property),
    INFO: Builtin.of("_CacheInfo", _make_info),
}
FUNCTIONS: Final[Mapping[str, Callable[..., object]]] = {"lru_cache": lru_cache, "cache": cache}
METHODS: Final[Mapping[str, Table]] = {table.owner: table for table in (CACHED, CACHED_PROPERTY)}
