"""Values as keys of dictionaries and elements of sets.

A key is a value of the host with Python's equality and hash: an integer is an ``int``, a string
itself, a tuple the tuple of its items' keys. So ``True``, ``1`` and ``1.0`` share a slot, as in
CPython, and the key that was entered first stays. What compares like another value without being
it (a member of an ``IntEnum``, a named tuple) is a :class:`~.heap.StandIn`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.lanes import SystemAddress
from verifier.symbolic.python import hierarchy
from verifier.symbolic.python.heap import (
    UNBOUND,
    DictBox,
    ListBox,
    ObjectBox,
    SetBox,
    StandIn,
    TupleBox,
)
from verifier.symbolic.python.inputs import LazyShape, Parameter
from verifier.symbolic.python.kinds.segments import raises
from verifier.symbolic.python.model import (
    BoundBuiltin,
    Builtin,
    Class,
    ClassMethod,
    DictView,
    Function,
    HostType,
    Method,
    Partial,
    Property,
    StaticMethod,
)
from verifier.symbolic.python.terms import as_formula
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import DType, LoopKind
from verifier.symbolic.values import (
    ApiRef,
    BufferValue,
    Enumerator,
    Guarded,
    ModuleRef,
    Range,
    Ref,
    SliceValue,
)

#: values that are their own keys
_OWN: Final = (
    bool, str, float, bytes, complex, type(None), type(...), type(NotImplemented),
    HostType, Class, Function, Builtin, Enumerator, ApiRef, ModuleRef, Property, StaticMethod,
    ClassMethod, Partial,
)  # fmt: skip


def key_of(vm: VM, value: object, span: Span) -> object:
    """The key that a value is; :data:`UNBOUND` if that depends on the inputs or is not known.

    What cannot be a key is a fault.
    """
    if isinstance(value, Expr):
        return value.const if value.is_const else UNBOUND
    if isinstance(value, Bool):
        return value is E.TRUE if value is E.TRUE or value is E.FALSE else UNBOUND
    if isinstance(value, tuple):
        return _of_items(vm, value, span)
    if isinstance(value, _OWN):
        return value
    if isinstance(value, DType):
        return value if value.code.is_const else UNBOUND
    if isinstance(value, BufferValue):
        return UNBOUND if value.placement else StandIn(("buffer", value.buffer), value)
    if isinstance(value, Range):
        return _of_range(value)
    if isinstance(value, (Method, BoundBuiltin)):
        return value if isinstance(value.self, (Ref, Class, HostType)) else UNBOUND
    if isinstance(value, SliceValue):
        return UNBOUND  # CPython hashes slices from 3.12 on
    if isinstance(value, DictView):
        return value if value.which == "values" else _unhashable(vm, value, span)
    if isinstance(value, Ref):
        return _of_box(vm, value, span)
    return vm.kind(value).key(vm, value, span)


def _of_items(vm: VM, items: tuple[object, ...], span: Span) -> object:
    keys = tuple(key_of(vm, item, span) for item in items)
    return UNBOUND if any(key is UNBOUND for key in keys) else keys


def _of_range(value: Range) -> object:
    parts = (value.start, value.stop, value.step)
    if (
        value.kind is not LoopKind.RANGE
        or not all(part.is_const for part in parts)
        or not value.step.const
    ):
        return UNBOUND
    return StandIn(range(*(part.const for part in parts)), value)


def _of_box(vm: VM, ref: Ref, span: Span) -> object:
    box = vm.heap.get(ref.id)
    if isinstance(box, TupleBox):
        return UNBOUND
    if isinstance(box, (ListBox, DictBox)) or (isinstance(box, SetBox) and not box.frozen):
        return _unhashable(vm, ref, span)
    if isinstance(box, SetBox):
        if any(there is not True and there is not E.TRUE for there in box.items.values()):
            return UNBOUND
        return StandIn(frozenset(box.items), ref)
    if isinstance(box, ObjectBox):
        return _of_instance(vm, ref, box, span)
    return vm.kind(ref).key(vm, ref, span)


def _unhashable(vm: VM, value: object, span: Span) -> object:
    cls = vm.type_of(value)
    name = cls.name if isinstance(cls, (HostType, Class)) else "object"
    raises(vm, TypeError, f"unhashable type: '{name}'", span)
    return UNBOUND


# ------------------------------------------------------------------------ instances


def _of_instance(vm: VM, ref: Ref, box: ObjectBox, span: Span) -> object:
    if box.ghost:
        return UNBOUND  # it stands for another object, which may be any
    known = vm.kind(ref).key(vm, ref, span)
    if known is not UNBOUND:
        return known if known == ref else StandIn(known, ref)
    found = hierarchy.lookup(vm, box.cls, "__hash__")
    built_in = isinstance(found, hierarchy.Inherited) and found.type is not object
    if not built_in or box.payload is UNBOUND or hierarchy.overrides(vm, box.cls, "__eq__"):
        return UNBOUND
    key = key_of(vm, box.payload, span)
    return UNBOUND if key is UNBOUND else StandIn(key, ref)


# ------------------------------------------------------------------------ back


def value_of(key: object) -> object:
    """The value that a key was made of."""
    if type(key) is int:
        return E.const(key)
    if isinstance(key, tuple):
        return tuple(value_of(item) for item in key)
    return key.value if isinstance(key, StandIn) else key


# ------------------------------------------------------------------------ symbolic keys


def _comparable(value: object) -> bool:
    """Whether an unknown key is one of the values whose equality and hash go together."""
    if isinstance(value, tuple):
        return all(_comparable(item) for item in value)
    if isinstance(value, (Expr, Bool, Parameter, DType, SystemAddress, LazyShape)):
        return True
    return isinstance(value, _OWN)


def matches(
    vm: VM, keys: Iterable[object], value: object, span: Span
) -> list[tuple[Bool, object]] | None:
    """When a value that is no key of its own equals each of some keys; None: it is not known."""
    if isinstance(value, Guarded) or not _comparable(value):
        return None
    out = []
    for key in keys:
        if not _plain(key):
            return None
        same = as_formula(vm.compare("==", value_of(key), value, span))
        if same is None:
            return None
        if same is not E.FALSE and vm.decide(same) is not False:
            out.append((same, key))
    return out


def _plain(key: object) -> bool:
    if isinstance(key, tuple):
        return all(_plain(item) for item in key)
    return isinstance(key, (int, *_OWN, DType))


__all__ = ["key_of", "matches", "value_of"]
