"""``typing.NamedTuple`` and ``collections.namedtuple``: tuples whose items have names."""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from verifier.source import ir
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.python import hierarchy
from verifier.symbolic.python.fields import annotated, given
from verifier.symbolic.python.heap import UNBOUND, DictBox, ObjectBox, Scope
from verifier.symbolic.python.hierarchy import Generated
from verifier.symbolic.python.model import (
    Builtin,
    Class,
    ClassMethod,
    HostType,
    Property,
    StaticMethod,
)
from verifier.symbolic.python.strings import concatenated, text_of
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Opaque, Ref

_ONE: Final = inspect.Parameter.POSITIONAL_OR_KEYWORD


#: what a class that derives from ``NamedTuple`` must not define
_PROHIBITED: Final = (
    "__new__", "__init__", "__slots__", "__getnewargs__", "_fields", "_field_defaults",
    "_field_types", "_make", "_replace", "_asdict", "_source",
)  # fmt: skip


def finish(vm: VM, cls: Class, stmt: ir.ClassDef) -> None:
    """Make a class that derives from ``NamedTuple`` what its annotations say."""
    for name in hierarchy.namespace(vm, cls):
        if name in _PROHIBITED:
            message = f"Cannot overwrite NamedTuple attribute {name}"
            vm.fault(AttributeError, message, stmt.span, args=(message,))
    names = tuple(annotated(stmt.body))
    defaults: dict[str, object] = {}
    for name in names:
        value = hierarchy.namespace(vm, cls).get(name, UNBOUND)
        if name.startswith("_"):
            vm.fault(ValueError, f"the field `{name}` starts with an underscore", stmt.span)
        if value is not UNBOUND:
            defaults[name] = value
        elif defaults:
            message = f"the field `{name}` without a default follows one that has one"
            vm.fault(TypeError, message, stmt.span)
    _equip(vm, cls, names, defaults)


def _equip(vm: VM, cls: Class, names: tuple[str, ...], defaults: Mapping[str, object]) -> None:
    """Give a class the attributes of a named tuple."""
    cls.traits["namedtuple"] = names
    cls.traits["slots"] = frozenset()
    made: dict[str, object] = {
        "__slots__": (),
        "_fields": names,
        "__match_args__": names,
        "_field_defaults": vm.heap.new(DictBox(dict(defaults.items()))),
        "__new__": StaticMethod(_generated(cls, "__new__", _new(cls, names, defaults))),
        "_make": ClassMethod(_generated(cls, "_make", _make)),
        "_replace": _generated(cls, "_replace", _replace(names)),
        "_asdict": _generated(cls, "_asdict", _asdict(names)),
        "__repr__": _generated(cls, "__repr__", _repr(names)),
        **{
            name: Property(_getter(k), doc=f"Alias for field number {k}")
            for k, name in enumerate(names)
        },
    }
    own = hierarchy.namespace(vm, cls)
    for name, value in made.items():
        if name not in own or name in names:
            hierarchy.define_attribute(vm, cls, name, value)
    if not isinstance(own.get("__doc__"), str):
        listed = ", ".join(names) + ("," if len(names) == 1 else "")
        hierarchy.define_attribute(vm, cls, "__doc__", f"{cls.name}({listed})")


def _generated(cls: Class, name: str, handler: Callable[..., object]) -> Generated:
    return Generated(Builtin.of(f"{cls.name}.{name}", handler))


def _payload(vm: VM, value: object) -> tuple[object, ...]:
    box = vm.box(value)
    payload = box.payload if isinstance(box, ObjectBox) else value
    return payload if isinstance(payload, tuple) else ()


def _getter(position: int) -> Builtin:
    def get(vm: VM, span: Span, self: object, /) -> object:
        box = vm.box(self)
        payload = box.payload if isinstance(box, ObjectBox) else self
        return vm.item(payload, E.const(position), span)

    return Builtin.of("itemgetter", get)


def _new(
    cls: Class, names: tuple[str, ...], defaults: Mapping[str, object]
) -> Callable[..., object]:
    signature = inspect.Signature(
        [
            inspect.Parameter(n, _ONE, default=defaults.get(n, inspect.Parameter.empty))
            for n in names
        ]
    )

    def new(vm: VM, span: Span, made: object, /, *args: object, **keywords: object) -> object:
        values = given(vm, cls.name, signature, args, keywords, span)
        missing = Opaque("a missing argument")
        items = tuple(values.get(n, defaults.get(n, missing)) for n in names)
        return vm.heap.new(ObjectBox(made, payload=items))

    return new


def _make(vm: VM, span: Span, cls: object, iterable: object, /) -> object:
    items = vm.items_of(vm.settled(iterable), span)
    if items is None:
        return vm.unfollowed("the items of a named tuple are not followed", span)
    names = hierarchy.trait(cls, "namedtuple")
    wanted = len(names) if isinstance(names, tuple) else 0
    if len(items) != wanted:
        message = f"expected {wanted} arguments, got {len(items)}"
        vm.fault(TypeError, message, span, rule="call-signature")
    return vm.heap.new(ObjectBox(cls, payload=items))


def _replace(names: tuple[str, ...]) -> Callable[..., object]:
    def replace(vm: VM, span: Span, self: object, /, **keywords: object) -> object:
        unknown = [name for name in keywords if name not in names]
        if unknown:
            # a TypeError from 3.13 on
            message = f"got unexpected field names: {unknown!r}"
            vm.fault(ValueError, message, span, rule="call-signature")
        held = _payload(vm, self)
        items = tuple(keywords.get(name, item) for name, item in zip(names, held, strict=False))
        return vm.heap.new(ObjectBox(vm.type_of(self), payload=items))

    return replace


def _asdict(names: tuple[str, ...]) -> Callable[..., object]:
    def asdict(vm: VM, span: Span, self: object, /) -> object:
        items: dict[object, object] = dict(zip(names, _payload(vm, self), strict=False))
        return vm.heap.new(DictBox(items))

    return asdict


def _repr(names: tuple[str, ...]) -> Callable[..., object]:
    def show(vm: VM, span: Span, self: object, /) -> object:
        shown: list[object] = [
            concatenated(vm, [f"{name}=", text_of(vm, item, "r", span)])
            for name, item in zip(names, _payload(vm, self), strict=False)
        ]
        cls = vm.type_of(self)
        name = cls.name if isinstance(cls, Class) else "tuple"
        return concatenated(vm, [f"{name}(", concatenated(vm, shown, ", "), ")"])

    return show


# ------------------------------------------------------------------------ as functions


def _class(
    vm: VM, span: Span, name: object, names: Sequence[str], defaults: Mapping[str, object]
) -> object:
    if not isinstance(name, str) or not name.isidentifier():
        return vm.unfollowed("the name of a named tuple is not followed", span)
    for one in names:
        if not one.isidentifier() or keyword.iskeyword(one) or one.startswith("_"):
            vm.fault(ValueError, f"`{one}` is no name for a field", span)
    if len(set(names)) < len(names):
        vm.fault(ValueError, "two fields have the same name", span)
    module = vm.frame.module
    space = vm.heap.new(Scope({"__module__": module.path.stem, "__qualname__": name}, skipped=True))
    bases = (HostType(tuple),)
    above = (HostType(tuple), HostType(object))
    cls = Class(name, module, space, bases, None, above)
    _equip(vm, cls, tuple(names), defaults)
    return cls


def _named_tuple(
    vm: VM, span: Span, typename: object, fields: object = (), /, **keywords: object
) -> object:
    if keywords:  # not any more from 3.13 on
        return vm.unfollowed("a named tuple with fields as keywords is not followed", span)
    items = vm.items_of(vm.settled(fields), span)
    names = []
    for item in items or ():
        pair = vm.items_of(vm.settled(item), span)
        if not pair or not isinstance(pair[0], str):
            items = None
            break
        names.append(pair[0])
    if items is None:
        return vm.unfollowed("the fields of a named tuple are not followed", span)
    return _class(vm, span, typename, names, {})


def _namedtuple(
    vm: VM,
    span: Span,
    typename: object,
    field_names: object,
    *,
    rename: object = False,
    defaults: object = None,
    module: object = None,
) -> object:
    held = vm.settled(field_names)
    if isinstance(held, str):
        items: Sequence[object] | None = held.replace(",", " ").split()
    else:
        items = vm.items_of(held, span)
    given_defaults = () if defaults is None else vm.items_of(vm.settled(defaults), span)
    if items is None or given_defaults is None or rename is not False:
        return vm.unfollowed("the fields of a named tuple are not followed", span)
    names = [item for item in items if isinstance(item, str)]
    if len(names) < len(items):
        return vm.unfollowed("the fields of a named tuple are not followed", span)
    if len(given_defaults) > len(names):
        vm.fault(TypeError, "got more default values than field names", span)
    paired = zip(reversed(names), reversed(given_defaults), strict=False)
    return _class(vm, span, typename, names, dict(paired))


#: ``typing.NamedTuple``, as a base and as a function
NAMED_TUPLE: Final = Builtin.of("NamedTuple", _named_tuple)

MODULES: Final[dict[str, dict[str, object]]] = {
    "collections": {"namedtuple": Builtin.of("namedtuple", _namedtuple)},
}

__all__ = ["MODULES", "NAMED_TUPLE", "Ref", "finish"]
