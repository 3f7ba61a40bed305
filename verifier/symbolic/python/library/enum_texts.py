"""How the members of enumerations are written: ``str()``, ``repr()``, ``format()``."""

from __future__ import annotations

import enum
import sys
from typing import Final

from verifier.source.ir import Span
from verifier.symbolic.python import hierarchy
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.heap import UNBOUND, ObjectBox
from verifier.symbolic.python.hierarchy import Inherited
from verifier.symbolic.python.library import enum_bodies
from verifier.symbolic.python.model import Class, HostType
from verifier.symbolic.python.strings import concatenated, formatted, text_of
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import TEXT

#: whether an enumeration of a data type is written by methods of its own from the start
_CHOSEN_FIRST: Final = sys.version_info >= (3, 11)
_REPR_ENUM: Final = getattr(enum, "ReprEnum", None)


def choose(vm: VM, cls: Class, span: Span) -> None:
    """Enter which methods write members: the enumeration's, rather than those of the data type."""
    own = hierarchy.namespace(vm, cls)
    data, first = enum_bodies.member_type(cls), cls.bases[-1]
    as_value = _REPR_ENUM is not None and HostType(_REPR_ENUM) in cls.bases
    if as_value and data == HostType(object):
        vm.fault(TypeError, "ReprEnum subclasses must be mixed with a data type", span)
    for name in hierarchy.TEXTS:
        if name in own:
            continue
        found = hierarchy.lookup(vm, cls, name)
        if as_value and name != "__repr__":
            chosen = hierarchy.lookup(vm, data, name)
            if chosen == Inherited(object, "__str__"):
                chosen = hierarchy.lookup(vm, data, "__repr__")
        elif found == hierarchy.lookup(vm, data, name) or (
            _CHOSEN_FIRST and found == Inherited(object, name)
        ):
            chosen = hierarchy.lookup(vm, first, name)
        else:
            continue
        hierarchy.define_attribute(vm, cls, name, chosen)


def _member(vm: VM, self: object) -> tuple[object, object, object]:
    """The name of a member's class, its own and its value; the name is UNBOUND if not known."""
    box = vm.box(self)
    if not isinstance(box, ObjectBox) or not isinstance(box.cls, Class):
        return UNBOUND, UNBOUND, UNBOUND
    name = box.attributes.get("_name_", UNBOUND)
    known = name if isinstance(name, str) else UNBOUND
    return box.cls.name, known, box.attributes.get("_value_", UNBOUND)


def _shown(vm: VM, self: object, value: object, span: Span) -> object:
    """The value of a member in its text: as the data type that the class mixes in writes it."""
    box = vm.box(self)
    if _CHOSEN_FIRST and isinstance(box, ObjectBox):
        for base in hierarchy.mro_of(box.cls):
            if isinstance(base, HostType):
                if base.type is not object and not issubclass(base.type, enum.Enum):
                    break
            elif isinstance(base, Class) and not hierarchy.derives_from_host(base, enum.Enum):
                found = hierarchy.namespace(vm, base).get("__repr__", UNBOUND)
                if found is not UNBOUND:
                    return vm.call(hierarchy.bind(vm, found, value, base, span), (), span=span)
    return text_of(vm, value, "r", span)


ENUM: Final = Table("Enum")


@ENUM.add("__repr__")
def _repr(vm: VM, span: Span, self: object, /) -> object:
    cls, name, value = _member(vm, self)
    if name is UNBOUND:
        return TEXT
    return concatenated(vm, [f"<{cls}.{name}: ", _shown(vm, self, value, span), ">"])


@ENUM.add("__str__")
def _str(vm: VM, span: Span, self: object, /) -> object:
    cls, name, _ = _member(vm, self)
    return TEXT if name is UNBOUND else f"{cls}.{name}"


@ENUM.add("__format__")
def _format(vm: VM, span: Span, self: object, format_spec: object, /) -> object:
    """The text in a format; before 3.11 the value, if there is a data type and no other text."""
    box = vm.box(self)
    if isinstance(box, ObjectBox) and box.payload is not UNBOUND:
        found = hierarchy.lookup(vm, box.cls, "__str__")
        if isinstance(found, Inherited) and found.type in (enum.Enum, enum.Flag):
            return TEXT
    return formatted(vm, text_of(vm, self, "s", span), format_spec, span)


def flag_repr(vm: VM, span: Span, self: object, /) -> object:
    """``Flag.__repr__``: that of several flags or of none is another one by version."""
    return _repr(vm, span, self)


def flag_str(vm: VM, span: Span, self: object, /) -> object:
    """``Flag.__str__``, likewise."""
    return _str(vm, span, self)


__all__ = ["ENUM", "choose", "flag_repr", "flag_str"]
