"""Attributes of instances: what the class says first, then the instance, then the class again."""

from __future__ import annotations

import enum
from typing import Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.python import hierarchy
from verifier.symbolic.python.heap import UNBOUND, ObjectBox
from verifier.symbolic.python.hierarchy import Inherited
from verifier.symbolic.python.model import AttributeDict, Class, HostType, Property
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import ExternalRef, Guarded, Opaque, Ref, unsure

#: what an exception keeps beside its arguments; None until it is set
_CHAINED: Final = frozenset({"__cause__", "__context__", "__suppress_context__"})


def _box(vm: VM, ref: Ref) -> ObjectBox:
    box = vm.heap.get(ref.id)
    assert isinstance(box, ObjectBox)
    return box


# ------------------------------------------------------------------------ reading


def read(vm: VM, ref: Ref, name: str, span: Span) -> object:
    """``instance.name`` as Python's own lookup has it; :data:`UNBOUND` where there is none."""
    cls = _box(vm, ref).cls
    if name == "__class__" and not hierarchy.overrides(vm, cls, name):
        return cls
    if hierarchy.overrides(vm, cls, "__getattribute__"):
        return vm.unfollowed("`__getattribute__` of a class is not followed", span)
    return generic(vm, ref, name, span)


def generic(vm: VM, ref: Ref, name: str, span: Span) -> object:
    """``object.__getattribute__``, and ``__getattr__`` where that finds nothing."""
    cls = _box(vm, ref).cls
    if name == "__dict__" and has_dict(vm, cls):
        return AttributeDict(ref)
    found = hierarchy.lookup(vm, cls, name)
    return hierarchy.split(vm, found, lambda one: _found(vm, ref, name, one, span))


def _found(vm: VM, ref: Ref, name: str, found: object, span: Span) -> object:
    cls = _box(vm, ref).cls
    if hierarchy.is_data(vm, found) and not _only_sets(vm, found):
        if isinstance(found, Inherited):
            return _slot(vm, ref, found, span)
        if isinstance(found, Property) and hierarchy.overrides(vm, cls, "__getattr__"):
            return vm.unfollowed("a property beside `__getattr__` is not followed", span)
        return hierarchy.bind(vm, found, ref, cls, span)
    _check_followed(vm, name, found, span)
    own = _own(vm, ref, name)

    def otherwise() -> object:
        if found is not UNBOUND:
            return hierarchy.bind(vm, found, ref, cls, span)
        return _asked(vm, ref, name, span)

    if own is UNBOUND:
        return otherwise()
    if not isinstance(own, Guarded):
        return own
    missing = E.or_(*(g for g, v in own.cases if v is UNBOUND))
    if missing is E.FALSE or vm.decide(missing) is False:
        return vm.settled(own)
    if found is UNBOUND and hierarchy.lookup(vm, cls, "__getattr__") is UNBOUND:
        return own
    return vm.fork(missing, otherwise, lambda: vm.settled(own))


def _check_followed(vm: VM, name: str, found: object, span: Span) -> None:
    """An attribute of a class that is not followed may be a descriptor, or a function to bind."""
    if isinstance(found, Opaque):
        plain = found.harmless
    elif isinstance(found, ExternalRef):
        plain = vm.as_dtype(found, span) is not None
    else:
        return
    if not plain:
        what = vm.kind(found).describe(vm, found)
        vm.unfollowed(f"`.{name}` of an instance is {what}, which may be a descriptor", span)


def _own(vm: VM, ref: Ref, name: str) -> object:
    return _box(vm, ref).attributes.get(name, UNBOUND)


def _only_sets(vm: VM, found: object) -> bool:
    """Whether a descriptor has a say in assignments only."""
    box = vm.box(found)
    return isinstance(box, ObjectBox) and hierarchy.lookup(vm, box.cls, "__get__") is UNBOUND


def _asked(vm: VM, ref: Ref, name: str, span: Span) -> object:
    """``__getattr__``, where nothing else has the attribute."""
    cls = _box(vm, ref).cls
    fallback = hierarchy.lookup(vm, cls, "__getattr__")
    if fallback is UNBOUND:
        if hierarchy.is_external(cls):
            return vm.unfollowed(f"`.{name}` of {hierarchy.described(cls)}", span)
        if name == "__doc__":
            return unsure("a text")
        if isinstance(cls, HostType) and name.startswith("_") and not name.endswith("__"):
            return vm.unfollowed(f"`.{name}` of {hierarchy.described(cls)}", span)
        return UNBOUND
    return vm.call(hierarchy.bind(vm, fallback, ref, cls, span), (name,), span=span)


def _slot(vm: VM, ref: Ref, found: Inherited, span: Span) -> object:
    """An attribute that a built-in type computes."""
    box = _box(vm, ref)
    name = found.name
    if issubclass(found.type, BaseException):
        return _of_exception(vm, box, found, span)
    held = box.attributes.get(f"_{name}_", UNBOUND)  # `name` and `value` of a member
    if held is not UNBOUND:
        return held
    if name in box.attributes:
        return box.attributes[name]
    if box.payload is not UNBOUND:
        return vm.attribute(box.payload, name, span)
    table = vm.language.methods.get(f"{found.type.__name__}.attributes", {})
    if name in table:
        return vm.call(table[name], (ref,), span=span)
    return vm.unfollowed(f"`.{name}` of {hierarchy.described(box.cls)} is not followed", span)


def _of_exception(vm: VM, box: ObjectBox, found: Inherited, span: Span) -> object:
    name = found.name
    if name in box.attributes:
        return box.attributes[name]
    args = box.attributes.get("args", ())
    if name == "__cause__" and not hierarchy.derives_from_host(box.cls, RuntimeError):
        return None
    if name == "__suppress_context__":
        return False
    if name == "value" and isinstance(args, tuple):
        return args[0] if args else None
    if name == "code" and isinstance(args, tuple):
        return None if not args else args[0] if len(args) == 1 else args
    return vm.unfollowed(f"`.{name}` of {hierarchy.described(box.cls)} is not followed", span)


# ------------------------------------------------------------------------ assigning


def assign(vm: VM, ref: Ref, name: str, new: object, span: Span) -> None:
    """``instance.name = new``; deleted if ``new`` is :data:`UNBOUND`."""
    cls = _box(vm, ref).cls
    hook = "__delattr__" if new is UNBOUND else "__setattr__"
    found = hierarchy.lookup(vm, cls, hook)

    def one(attribute: object) -> None:
        if isinstance(attribute, Inherited) or attribute is UNBOUND:
            store(vm, ref, name, new, span)
            return
        args = (name,) if new is UNBOUND else (name, new)
        vm.call(hierarchy.bind(vm, attribute, ref, cls, span), args, span=span)

    hierarchy.split(vm, found, one)


def store(vm: VM, ref: Ref, name: str, new: object, span: Span) -> None:
    """``object.__setattr__`` and ``object.__delattr__``."""
    cls = _box(vm, ref).cls
    if name in ("__class__", "__dict__"):
        vm.unfollowed(f"`.{name}` is assigned to", span)
        return
    found = hierarchy.lookup(vm, cls, name)
    hierarchy.split(vm, found, lambda one: _store(vm, ref, name, one, new, span))


def _store(vm: VM, ref: Ref, name: str, found: object, new: object, span: Span) -> None:
    cls = _box(vm, ref).cls
    _check_followed(vm, name, found, span)
    if isinstance(found, Property):
        _through_property(vm, ref, name, found, new, span)
    elif isinstance(found, Ref) and hierarchy.is_data(vm, found):
        _through_set(vm, ref, found, new, span)
    elif isinstance(found, Inherited) and hierarchy.is_data(vm, found):
        _set_slot(vm, ref, found, new, span)
    elif not allows(vm, cls, name):
        what = f"{hierarchy.described(cls)} has no attribute `{name}`"
        vm.fault(AttributeError, f"an instance of {what} that could be set", span)
    else:
        put(vm, ref, name, new, span)


def put(vm: VM, ref: Ref, name: str, new: object, span: Span) -> None:
    """Enter an attribute into the instance itself, or delete it there."""
    if new is UNBOUND:
        held = _box(vm, ref).attributes.get(name, UNBOUND)
        missing = E.TRUE if held is UNBOUND else E.FALSE
        if isinstance(held, Guarded):
            missing = E.or_(*(g for g, v in held.cases if v is UNBOUND))
        what = vm.kind(ref).describe(vm, ref)
        vm.fault(AttributeError, f"{what} has no attribute `{name}`", span, when=missing)
    box = vm.write(ref, span)
    assert isinstance(box, ObjectBox)
    if new is UNBOUND:
        box.attributes.pop(name, None)
    else:
        box.attributes[name] = new


def _through_property(
    vm: VM, ref: Ref, name: str, found: Property, new: object, span: Span
) -> None:
    function = found.fdel if new is UNBOUND else found.fset
    if function is None:
        what = "deleter" if new is UNBOUND else "setter"
        owner = hierarchy.described(_box(vm, ref).cls)
        vm.fault(AttributeError, f"the property `{name}` of {owner} has no {what}", span)
        return
    vm.call(function, (ref,) if new is UNBOUND else (ref, new), span=span)


def _through_set(vm: VM, ref: Ref, found: Ref, new: object, span: Span) -> None:
    cls = _box(vm, found).cls
    hook = hierarchy.lookup(vm, cls, "__delete__" if new is UNBOUND else "__set__")
    if hook is UNBOUND:
        vm.fault(AttributeError, "the descriptor does not take this", span)
        return
    method = hierarchy.bind(vm, hook, found, cls, span)
    vm.call(method, (ref,) if new is UNBOUND else (ref, new), span=span)


def _set_slot(vm: VM, ref: Ref, found: Inherited, new: object, span: Span) -> None:
    name = found.name
    if issubclass(found.type, enum.Enum) and name in ("name", "value"):
        vm.fault(AttributeError, f"`{name}` of a member cannot be assigned to", span)
        return
    if issubclass(found.type, BaseException) and new is not UNBOUND:
        if name == "args":
            items = vm.items_of(new, span)
            if items is not None:
                put(vm, ref, name, items, span)
                return
        elif name in _CHAINED or name == "__traceback__":
            _set_chained(vm, ref, name, new, span)
            return
    elif _box(vm, ref).cls == HostType(found.type) or found.type is object:
        vm.unfollowed(f"`.{name}` is assigned to", span)
        return
    vm.unfollowed(f"`.{name}` of a built-in type is assigned to", span)


def _set_chained(vm: VM, ref: Ref, name: str, new: object, span: Span) -> None:
    """``error.__cause__ = new`` and kin, which take values of one type only."""

    def one(value: object) -> None:
        cls = vm.type_of(value)
        if isinstance(value, Opaque) or hierarchy.is_external(cls):
            return
        if name == "__suppress_context__":
            fits = isinstance(value, (bool, E.Bool))
        elif name == "__traceback__":
            fits = value is None
        else:
            fits = value is None or hierarchy.derives_from_host(cls, BaseException)
        if not fits:
            what = vm.kind(value).describe(vm, value)
            vm.fault(TypeError, f"`{name}` of an exception cannot be {what}", span)

    vm.each(new, one)
    put(vm, ref, name, new, span)
    if name == "__cause__":
        put(vm, ref, "__suppress_context__", True, span)


# ------------------------------------------------------------------------ where there is room


def has_dict(vm: VM, cls: object) -> bool:
    """Whether instances of a class have a dictionary of attributes."""
    for base in hierarchy.mro_of(cls):
        if isinstance(base, HostType):
            if base.type.__dictoffset__ != 0:
                return True
        elif isinstance(base, Class):
            slots = base.traits.get("slots")
            if not isinstance(slots, frozenset) or "__dict__" in slots:
                return True
    return False


def adds(vm: VM, cls: Class, name: str) -> bool:
    """Whether a class has an entry ``__dict__`` or ``__weakref__`` of its own."""
    slots = cls.traits.get("slots")
    if isinstance(slots, frozenset) and name not in slots:
        return False
    for base in cls.mro[1:]:
        if isinstance(base, Class):
            if adds(vm, base, name):
                return False
        elif isinstance(base, HostType):
            if name == "__dict__" and base.type.__dictoffset__:
                return False
            if name == "__weakref__" and (base.type.__weakrefoffset__ or base.type.__itemsize__):
                return False
    return True


def allows(vm: VM, cls: object, name: str) -> bool:
    """Whether an instance of a class can have an attribute of that name."""
    if has_dict(vm, cls):
        return True
    slots = (b.traits.get("slots") for b in hierarchy.mro_of(cls) if isinstance(b, Class))
    return any(isinstance(names, frozenset) and name in names for names in slots)
