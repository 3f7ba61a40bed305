"""The functions of ``dataclasses`` that take an instance or a class apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.python import hierarchy
from verifier.symbolic.python.fields import TRAIT, open_question
from verifier.symbolic.python.heap import UNBOUND, DictBox, ListBox, ObjectBox
from verifier.symbolic.python.library import copying
from verifier.symbolic.python.library.dataclass_fields import (
    Field,
    fields_of,
    has_default,
)
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Guarded, Opaque

_ASKED: Final = "whether functions of `dataclasses` take it"


def _of_nki(cls: object) -> bool:
    return hierarchy.trait(cls, TRAIT) is not None


def _instance_fields(vm: VM, value: object, what: str, span: Span) -> tuple[Field, ...] | None:
    box = vm.box(value)
    found = fields_of(box.cls) if isinstance(box, ObjectBox) else None
    if found is None and isinstance(box, ObjectBox) and _of_nki(box.cls):
        open_question(vm, box.cls, _ASKED, span)
    elif found is None:
        vm.fault(TypeError, f"`{what}()` should be called on instances of data classes", span)
    return found


def _replace(vm: VM, span: Span, obj: object, /, **changes: object) -> object:
    def one(value: object) -> object:
        if isinstance(value, Opaque):
            return value
        fields = _instance_fields(vm, value, "replace", span)
        if fields is None:
            return vm.unfollowed("`replace()` of something else", span)
        values = dict(changes)
        for field in fields:
            if not field.init:
                if field.name in values:
                    message = f"`{field.name}` is declared with init=False"
                    vm.fault(ValueError, message, span)
            elif field.name not in values:
                if field.only_init and not has_default(vm, field):
                    vm.fault(ValueError, f"`{field.name}` must be specified", span)
                values[field.name] = vm.attribute(value, field.name, span)
        return vm.call(vm.type_of(value), (), values, span=span)

    return vm.each(obj, one)


def _asdict(vm: VM, span: Span, obj: object, *, dict_factory: object = None) -> object:
    return _converted(vm, span, obj, "asdict", dict_factory)


def _astuple(vm: VM, span: Span, obj: object, *, tuple_factory: object = None) -> object:
    return _converted(vm, span, obj, "astuple", tuple_factory)


def _converted(vm: VM, span: Span, obj: object, what: str, factory: object) -> object:
    if factory is not None:
        return vm.unfollowed(f"`{what}()` with a factory is not followed", span)

    def one(value: object) -> object:
        if isinstance(value, Opaque):
            return value
        if _instance_fields(vm, value, what, span) is None:
            return vm.unfollowed(f"`{what}()` of something else", span)
        return _inner(vm, value, what, span)

    return vm.each(obj, one)


def _inner(vm: VM, value: object, what: str, span: Span) -> object:
    """A data class inside of one too, and what containers hold; the rest is copied."""
    if isinstance(value, Guarded):
        return vm.each(value, lambda v: _inner(vm, v, what, span))
    box = vm.box(value)
    fields = fields_of(box.cls) if isinstance(box, ObjectBox) else None
    if fields is not None:
        pairs = {
            f.name: _inner(vm, vm.attribute(value, f.name, span), what, span)
            for f in fields
            if not f.only_init
        }
        if what == "astuple":
            return tuple(pairs.values())
        return vm.heap.new(DictBox(dict(pairs.items())))
    if isinstance(value, tuple):
        return tuple(_inner(vm, item, what, span) for item in value)
    if isinstance(box, ObjectBox) and (
        isinstance(box.payload, tuple) or isinstance(vm.box(box.payload), (ListBox, DictBox))
    ):
        return _inner_subclass(vm, box, what, span)
    if isinstance(box, ListBox):
        items = box.concrete
        if items is None:
            return vm.unfollowed(f"`{what}()` of a list of unknown length", span)
        inner = [_inner(vm, item, what, span) for item in items]
        return vm.heap.new(ListBox.of(inner))
    if isinstance(box, DictBox):
        held = {key: _optional(vm, item, what, span) for key, item in box.items.items()}
        return vm.heap.new(DictBox(held))
    return copying.deep(vm, value, span)


def _inner_subclass(vm: VM, box: ObjectBox, what: str, span: Span) -> object:
    """An instance of a subclass of a container: one of the same class with what is inside."""
    if not isinstance(box.payload, tuple):
        return vm.unfollowed(f"`{what}()` of a container of the program's own", span)
    items = tuple(_inner(vm, item, what, span) for item in box.payload)
    named = hierarchy.trait(box.cls, "namedtuple") is not None
    return vm.call(box.cls, items if named else (items,), span=span)


def _optional(vm: VM, value: object, what: str, span: Span) -> object:
    if isinstance(value, Guarded) and any(v is UNBOUND for _, v in value.cases):
        return vm.unfollowed(f"`{what}()` of a key that is there on some paths only", span)
    return _inner(vm, value, what, span)


def _fields(vm: VM, span: Span, class_or_instance: object, /) -> object:
    def one(value: object) -> object:
        box = vm.box(value)
        found = fields_of(box.cls if isinstance(box, ObjectBox) else value)
        if found is None:
            if isinstance(value, Opaque):
                return value
            cls = box.cls if isinstance(box, ObjectBox) else value
            if _of_nki(cls):
                return open_question(vm, cls, _ASKED, span)
            vm.fault(TypeError, "must be called with a dataclass type or instance", span)
            return vm.unfollowed("`fields()` of something else", span)
        return tuple(f.shown for f in found if not f.only_init)

    return vm.each(class_or_instance, one)


def _is_dataclass(vm: VM, span: Span, obj: object, /) -> object:
    def one(value: object) -> object:
        if isinstance(value, Opaque):
            return value
        box = vm.box(value)
        cls = box.cls if isinstance(box, ObjectBox) else value
        if _of_nki(cls):
            return open_question(vm, cls, _ASKED, span)
        return E.truth(fields_of(cls) is not None)

    return vm.each(obj, one)


def _make_dataclass(vm: VM, span: Span, /, *args: object, **keywords: object) -> object:
    return vm.unfollowed("`make_dataclass()` is not followed", span)


FUNCTIONS: Final[Mapping[str, Callable[..., object]]] = {
    "replace": _replace,
    "asdict": _asdict,
    "astuple": _astuple,
    "fields": _fields,
    "is_dataclass": _is_dataclass,
    "make_dataclass": _make_dataclass,
}
