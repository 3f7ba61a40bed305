"""``copy.copy`` and ``copy.deepcopy``."""

from __future__ import annotations

import sys
from typing import Final

from msgspec.structs import replace

from verifier.source.ir import Span
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.python import hierarchy
from verifier.symbolic.python.heap import (
    UNBOUND,
    DictBox,
    Item,
    ListBox,
    ObjectBox,
    RecordBox,
    SetBox,
    TupleBox,
)
from verifier.symbolic.python.hierarchy import Inherited
from verifier.symbolic.python.kinds.segments import inert
from verifier.symbolic.python.model import (
    BoundBuiltin,
    Builtin,
    Class,
    Function,
    HostType,
)
from verifier.symbolic.python.parts import box_parts
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import DType
from verifier.symbolic.values import (
    ApiRef,
    BufferValue,
    Enumerator,
    ExternalRef,
    Guarded,
    ModuleRef,
    Opaque,
    Range,
    Ref,
    SliceValue,
)

#: values of which a copy is the value itself
_ATOMS: Final = (
    Expr, Bool, bool, str, bytes, float, complex, type(None), type(...), type(NotImplemented),
    Function, Class, HostType, Builtin, BoundBuiltin, DType, ApiRef, BufferValue, Enumerator,
    Range, Opaque,
)  # fmt: skip
#: special methods through which a class has copies made its own way
_HOOKS: Final = ("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__getnewargs__",
                 "__getnewargs_ex__", "__new__", "__getattribute__", "__getattr__")  # fmt: skip


def _is_module(value: object) -> bool:
    """Whether a value is a module, of which there are no copies."""
    of_python = isinstance(value, ExternalRef) and value.path in sys.stdlib_module_names
    return of_python or isinstance(value, ModuleRef)


def _of_name(vm: VM, value: object, span: Span) -> object:
    """A copy of a module, or of something of a library's by its name."""
    if _is_module(value):
        vm.fault(TypeError, "cannot pickle 'module' object", span)
    vm.may_raise("a copy of a library's value", span)
    return value


def shallow(vm: VM, value: object, span: Span) -> object:
    """``copy.copy(value)``."""
    if isinstance(value, (ExternalRef, ModuleRef)):
        return _of_name(vm, value, span)
    box = vm.box(value)
    if isinstance(value, (*_ATOMS, tuple, SliceValue)) or isinstance(box, TupleBox):
        return value
    if isinstance(box, (ListBox, DictBox, SetBox)) and not box.ghost:
        if isinstance(box, SetBox) and box.frozen:
            return value
        return vm.heap.new(box.copy())
    if isinstance(box, ObjectBox) and isinstance(value, Ref):
        return _of_object(vm, value, box, span, None)
    found = _own_copy(vm, value)
    if found is not UNBOUND:
        return vm.call(found, (), span=span)
    return vm.unfollowed(f"a copy of {vm.kind(value).describe(vm, value)}", span)


def _own_copy(vm: VM, value: object) -> object:
    """The method ``__copy__`` of a container of the standard library's."""
    known = vm.type_of(value)
    if not isinstance(known, HostType):
        return UNBOUND
    table = vm.language.methods.get(known.name, {})
    return BoundBuiltin(known.name, "__copy__", value) if "__copy__" in table else UNBOUND


def deep(vm: VM, value: object, span: Span) -> object:
    """``copy.deepcopy(value)``."""
    return _deep(vm, value, span, {})


def _deep(vm: VM, value: object, span: Span, memo: dict[int, Ref]) -> object:
    if isinstance(value, Guarded):
        return _of_cases(vm, value, span)
    if isinstance(value, _ATOMS):
        return value
    if isinstance(value, (ExternalRef, ModuleRef)):
        return _of_name(vm, value, span)
    if isinstance(value, tuple):
        items = tuple(_deep(vm, item, span, memo) for item in value)
        same = all(a is b for a, b in zip(items, value, strict=True))
        return value if same else items
    if isinstance(value, SliceValue):
        parts = (value.start, value.stop, value.step)
        return SliceValue(*(_deep(vm, part, span, memo) for part in parts))
    if not isinstance(value, Ref):
        return vm.unfollowed(f"a copy of {vm.kind(value).describe(vm, value)}", span)
    known = memo.get(value.id)
    if known is not None:
        return known
    box = vm.heap.get(value.id)
    if isinstance(box, TupleBox):
        if all(map(inert, box_parts(box))):
            return value
        return vm.unfollowed("a copy of a tuple of unknown length is not followed", span)
    if isinstance(box, ListBox):
        return _of_list(vm, value, box, span, memo)
    if isinstance(box, DictBox):
        return _of_dict(vm, value, box, span, memo)
    if isinstance(box, SetBox) and not any(isinstance(key, Ref) for key in box.items):
        copy = vm.heap.new(box.copy())
        memo[value.id] = copy
        return copy
    if isinstance(box, ObjectBox):
        return _of_object(vm, value, box, span, memo)
    return vm.unfollowed(f"a copy of {vm.kind(value).describe(vm, value)}", span)


def _of_cases(vm: VM, value: Guarded, span: Span) -> object:
    live = [case for _, case in vm.cases(value)]
    if all(isinstance(case, _ATOMS) for case in live):
        return vm.settled(value)
    if len(live) == 1:
        return _deep(vm, live[0], span, {})
    return vm.unfollowed("a copy of what depends on the inputs is not followed", span)


def _of_list(vm: VM, value: Ref, box: ListBox, span: Span, memo: dict[int, Ref]) -> object:
    copy = vm.heap.new(ListBox())
    memo[value.id] = copy
    segments = []
    for segment in box.segments:
        if isinstance(segment, Item):
            segments.append(Item(_deep(vm, segment.value, span, memo)))
        elif all(isinstance(item, _ATOMS) for item in segment.values):
            segments.append(segment)  # type: ignore[arg-type]
        else:
            return vm.unfollowed("a copy of a list of unknown length is not followed", span)
    made = vm.heap.write(copy.id)
    assert isinstance(made, ListBox)
    made.segments = tuple(segments)
    return copy


def _of_dict(vm: VM, value: Ref, box: DictBox, span: Span, memo: dict[int, Ref]) -> object:
    copy = vm.heap.new(DictBox())
    memo[value.id] = copy
    items: dict[object, object] = {}
    for key, item in box.items.items():
        if isinstance(key, (Ref, tuple)) or type(key).__name__ == "StandIn":
            return vm.unfollowed("a copy of a dictionary with objects as keys", span)
        if isinstance(item, Guarded) and any(v is UNBOUND for _, v in item.cases):
            if not all(v is UNBOUND or isinstance(v, _ATOMS) for _, v in item.cases):
                return vm.unfollowed("a copy of what depends on the inputs", span)
            items[key] = item
        else:
            items[key] = _deep(vm, item, span, memo)
    made = vm.heap.write(copy.id)
    assert isinstance(made, DictBox)
    made.items = items
    return copy


def _of_object(
    vm: VM, value: Ref, box: ObjectBox, span: Span, memo: dict[int, Ref] | None
) -> object:
    """A copy of an instance; a deep one if there is a memo."""
    if isinstance(box, RecordBox):
        return vm.heap.new(replace(box, attributes=dict(box.attributes), ghost=False))
    cls = box.cls
    if hierarchy.trait(cls, "enum") is not None:
        return value
    hook = hierarchy.lookup(vm, cls, "__copy__" if memo is None else "__deepcopy__")
    if hook is not UNBOUND:
        bound = hierarchy.bind(vm, hook, value, cls, span)
        args = () if memo is None else (vm.heap.new(DictBox(inside=True)),)
        return vm.call(bound, args, span=span)
    if not isinstance(cls, Class) or any(_is_own(vm, cls, name) for name in _HOOKS):
        return vm.unfollowed(f"a copy of {vm.kind(value).describe(vm, value)}", span)
    if not _is_plain(vm, cls, box):
        return vm.unfollowed(f"a copy of an instance of `{cls.name}` is not followed", span)
    if hierarchy.derives_from_host(cls, BaseException):
        return vm.unfollowed("a copy of an exception is not followed", span)
    copy = vm.heap.new(ObjectBox(cls))
    attributes, payload = box.attributes, box.payload
    if memo is None:
        attributes = dict(attributes)
        payload = payload if payload is UNBOUND else shallow(vm, payload, span)
    else:
        memo[value.id] = copy
        attributes = {n: _attribute(vm, v, span, memo) for n, v in attributes.items()}
        payload = payload if payload is UNBOUND else _deep(vm, payload, span, memo)
    made = vm.heap.write(copy.id)
    assert isinstance(made, ObjectBox)
    made.attributes, made.payload = attributes, payload
    return copy


def _is_plain(vm: VM, cls: Class, box: ObjectBox) -> bool:
    """Whether a copy is filled without code of the class."""
    if isinstance(box.payload, Ref):
        own = ("__setitem__", "append", "extend", "add", "items", "__iter__")
        return not any(_is_own(vm, cls, name) for name in own)
    slotted = any("slots" in base.traits for base in cls.mro if isinstance(base, Class))
    return not (slotted and _is_own(vm, cls, "__setattr__"))


def _attribute(vm: VM, value: object, span: Span, memo: dict[int, Ref]) -> object:
    if isinstance(value, Guarded) and any(v is UNBOUND for _, v in value.cases):
        if all(v is UNBOUND or isinstance(v, _ATOMS) for _, v in value.cases):
            return value
        return vm.unfollowed("a copy of what depends on the inputs is not followed", span)
    return _deep(vm, value, span, memo)


def _is_own(vm: VM, cls: Class, name: str) -> bool:
    found = hierarchy.lookup(vm, cls, name)
    if name == "__new__" and "namedtuple" in cls.traits:
        return False
    return found is not UNBOUND and not isinstance(found, Inherited)


def _copy(vm: VM, span: Span, x: object, /) -> object:
    return vm.each(x, lambda v: shallow(vm, v, span))


def _deepcopy(vm: VM, span: Span, x: object, memo: object = None) -> object:
    if memo is not None:
        return vm.unfollowed("`deepcopy()` with a memo is not followed", span)
    return deep(vm, x, span)


MODULES: Final[dict[str, dict[str, object]]] = {
    "copy": {"copy": Builtin.of("copy", _copy), "deepcopy": Builtin.of("deepcopy", _deepcopy)}
}
