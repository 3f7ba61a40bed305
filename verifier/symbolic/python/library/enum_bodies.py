"""What the body of an enumeration binds: which names are members, and which must not be bound."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from verifier.source.ir import Span
from verifier.symbolic.expr import Expr
from verifier.symbolic.python import hierarchy
from verifier.symbolic.python.concrete import payload
from verifier.symbolic.python.heap import UNBOUND, DictBox, ListBox, ObjectBox
from verifier.symbolic.python.hierarchy import Generated, namespace
from verifier.symbolic.python.model import (
    Builtin,
    Checked,
    Class,
    ClassMethod,
    EnumProperty,
    Function,
    HostType,
    Property,
    StaticMethod,
)
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Ref


class _StrEnum(str, enum.Enum):
    """``enum.StrEnum`` where the host has none."""


_StrEnum.__name__ = "StrEnum"

STR_ENUM: Final[type] = getattr(enum, "StrEnum", _StrEnum)


#: names between underscores that mean something, in all versions of Python and in some
_MEANT: Final = frozenset({"_order_", "_generate_next_value_", "_missing_", "_ignore_"})
_AT_TIMES: Final = frozenset(
    {
        "_create_pseudo_member_", "_numeric_repr_", "_iter_member_", "_iter_member_by_value_",
        "_iter_member_by_def_", "_add_alias_", "_add_value_alias_", "_value_repr_", "_use_args_",
    }
)  # fmt: skip
#: ``enum.member`` and ``enum.nonmember``, which there are from 3.11 on
_WRAPPERS: Final = tuple(
    getattr(enum, name) for name in ("member", "nonmember") if hasattr(enum, name)
)


class Members(Struct):
    """The members of an enumeration by name, aliases too; ``own`` are those that are none."""

    by_name: dict[str, Ref] = field(default_factory=dict)
    own: list[Ref] = field(default_factory=list)
    is_flag: bool = False
    #: the names that the body has bound as members, with their values
    bound: dict[str, object] = field(default_factory=dict)
    #: whether ``auto()`` has been asked for a value
    automatic: bool = False
    #: how many undecided branches the body stands in
    forking: int = 0


def members(cls: object) -> Members:
    """The members of an enumeration."""
    found = hierarchy.trait(cls, "enum")
    return found if isinstance(found, Members) else Members()


def begin(vm: VM, cls: Class, span: Span) -> None:
    """An enumeration's body is about to run."""
    for base in cls.mro[1:]:
        if isinstance(base, Class) and members(base).by_name:
            vm.fault(TypeError, f"`{cls.name}` cannot extend `{base.name}`", span)
    if not hierarchy.derives_from_host(cls.bases[-1], enum.Enum):
        vm.fault(TypeError, f"the last base of `{cls.name}` has to be an enumeration", span)
    is_flag = hierarchy.derives_from_host(cls, enum.Flag)
    mixed = hierarchy.layout(cls) is not None
    if is_flag and mixed and not hierarchy.derives_from_host(cls, enum.IntFlag):
        vm.unfollowed("a flag with a data type of its own is not followed", span)
    if any("dataclass" in b.traits or "__new__" in namespace(vm, b) for b in mixins(cls)):
        vm.unfollowed("an enumeration of a class that makes its instances is not followed", span)
    cls.traits["enum"] = Members(is_flag=is_flag, forking=vm.forking)


def mixins(cls: Class) -> Iterator[Class]:
    """The classes of the project that an enumeration mixes in."""
    for base in cls.mro[1:]:
        if isinstance(base, Class) and not hierarchy.derives_from_host(base, enum.Enum):
            yield base


def bound(vm: VM, cls: Class, name: str, value: object, span: Span) -> object:
    """The body binds a name: what it is bound to, a member or not."""
    held = cls.traits["enum"]
    assert isinstance(held, Members)
    if vm.forking != held.forking:
        vm.unfollowed(f"what `{cls.name}` has depends on the inputs", span)
    dunder = name.startswith("__") and name.endswith("__")
    private = name.startswith(f"_{cls.name.lstrip('_')}__") or (name[:2] == "__" and not dunder)
    if value is UNBOUND or private:
        return value
    if name[0] == name[-1] == "_" and len(name) > 2 and not dunder:
        _of_language(vm, held, name, value, span)
        return value
    if dunder or name in _ignored(vm, cls):
        return value
    if name in held.bound:
        vm.fault(TypeError, f"`{name}` of `{cls.name}` is defined twice", span)
    wrapper = _wrapper(vm, value)
    if wrapper == "nonmember":
        return _inside(vm, value)
    if wrapper is None and _is_descriptor(vm, value):
        return value
    if name in namespace(vm, cls):
        vm.fault(TypeError, f"`{name}` of `{cls.name}` is defined twice", span)
    if name == "mro":
        vm.fault(ValueError, "invalid enum member name(s) 'mro'", span)
    value = _inside(vm, value) if wrapper == "member" else value
    held.bound[name] = value
    return value


def _of_language(vm: VM, held: Members, name: str, value: object, span: Span) -> None:
    """A name between single underscores is bound."""
    if name in _AT_TIMES:
        vm.unfollowed(f"`{name}` of an enumeration is not followed", span)
    elif name not in _MEANT:
        vm.fault(ValueError, f"_sunder_ names, such as {name!r}, are reserved", span)
    elif name == "_generate_next_value_" and held.automatic:
        vm.fault(TypeError, f"`{name}` must be defined before members", span)
    elif name == "_ignore_" and any(one in held.bound for one in _listed(vm, value)):
        vm.fault(ValueError, "_ignore_ cannot specify already set names", span)


def _ignored(vm: VM, cls: Class) -> tuple[object, ...]:
    return _listed(vm, namespace(vm, cls).get("_ignore_", ()))


def _listed(vm: VM, names: object) -> tuple[object, ...]:
    """Names, in a text or one by one."""
    if isinstance(names, str):
        return tuple(names.replace(",", " ").split())
    found = vm.as_items(names, vm.trace.span)
    return found if found is not None else ()


def _wrapper(vm: VM, value: object) -> str | None:
    box = vm.box(value)
    if isinstance(box, ObjectBox) and isinstance(box.cls, HostType):
        return box.cls.name if box.cls.type in _WRAPPERS else None
    return None


def _inside(vm: VM, value: object) -> object:
    box = vm.box(value)
    assert isinstance(box, ObjectBox)
    return box.attributes["value"]


def _is_descriptor(vm: VM, value: object) -> bool:
    if isinstance(value, (Function, Property, StaticMethod, ClassMethod, Generated, Checked)):
        return True
    box = vm.box(value)
    if not isinstance(box, ObjectBox):
        return False
    kinds = ("__get__", "__set__", "__delete__")
    return any(hierarchy.lookup(vm, box.cls, name) is not UNBOUND for name in kinds)


def close(vm: VM, cls: Class, span: Span) -> list[tuple[str, object]]:
    """The members that the body has bound; what it says of them is taken out of the class."""
    held = members(cls)
    names = namespace(vm, cls)
    if any(name not in names for name in held.bound):
        vm.unfollowed(f"a member of `{cls.name}` is deleted", span)
    ignored = _ignored(vm, cls)
    for name in (*ignored, "_ignore_"):
        if isinstance(name, str) and name in names:
            hierarchy.define_attribute(vm, cls, name, UNBOUND)
    for name, value in list(namespace(vm, cls).items()):
        if isinstance(value, EnumProperty):
            hierarchy.define_attribute(vm, cls, name, replace(value, name=name))
    return [(name, value) for name, value in held.bound.items() if name not in ignored]


def member_type(cls: Class) -> object:
    """The data type of an enumeration's members: ``object`` if they have none."""
    host = hierarchy.layout(cls)
    mixed = [base for base in mixins(cls) if hierarchy.layout(base) is host]
    return mixed[0] if mixed and host is not None else HostType(host or object)


#: what the type of enumerations enters into them
_HOUSEKEEPING: Final = ("_member_type_", "_member_names_", "_member_map_")


def check_type(vm: VM, cls: Class, name: str, args: Sequence[object], span: Span) -> None:
    """Members of some enumerations are strings or integers and nothing else."""
    if hierarchy.derives_from_host(cls, STR_ENUM):
        for arg in args:
            known = vm.type_of(arg)
            if not isinstance(known, (Class, HostType)) or hierarchy.is_external(known):
                vm.unfollowed(f"whether `{name}` is a string is not followed", span)
            elif not hierarchy.derives_from_host(known, str):
                vm.fault(TypeError, f"`{cls.name}.{name}` is not a string", span)
    elif members(cls).is_flag and not all(isinstance(payload(vm, arg), Expr) for arg in args):
        # an error from 3.11 on
        vm.unfollowed(f"the flag `{name}` with a value that is no integer is not followed", span)


def kept(vm: VM, cls: Class, name: str) -> object:
    """What an enumeration keeps of its members under a name, UNBOUND if it is none of these."""
    held = members(cls)
    if name not in _HOUSEKEEPING:
        return UNBOUND
    if name == "_member_type_":
        return member_type(cls)
    if name == "_member_map_":
        return vm.heap.new(DictBox(dict(held.by_name.items()), ghost=True))
    return vm.heap.new(ListBox.of([_name_of(vm, member) for member in held.own]))


def check_order(vm: VM, cls: Class, span: Span) -> None:
    """``_order_`` has to name the members in their order."""
    given = vm.settled(namespace(vm, cls).get("_order_", UNBOUND))
    if given is UNBOUND:
        return
    hierarchy.define_attribute(vm, cls, "_order_", UNBOUND)
    held = members(cls)
    items = (
        tuple(given.replace(",", " ").split())
        if isinstance(given, str)
        else vm.as_items(given, span)
    )
    if items is None or held.is_flag:
        vm.unfollowed("`_order_` of an enumeration is not followed", span)
        return
    own = [name for name, ref in held.by_name.items() if _name_of(vm, ref) == name]
    kept = [item for item in items if item not in held.by_name or item in own]
    if items and kept != own:
        vm.fault(TypeError, "member order does not match _order_", span)


def _name_of(vm: VM, member: Ref) -> object:
    box = vm.box(member)
    assert isinstance(box, ObjectBox)
    return box.attributes.get("_name_")


def redirected(vm: VM, cls: Class, name: str, member: Ref) -> object:
    """A member as its class has it: beside a property of that name, which instances have."""
    found = hierarchy.find(vm, cls.mro[1:], name)
    if isinstance(found, EnumProperty):
        return replace(found, member=member, name=name)
    if isinstance(found, hierarchy.Inherited) and found.type is enum.Enum:
        if name in ("name", "value"):
            return EnumProperty(Builtin.of(name, _reader(f"_{name}_")), member=member, name=name)
    return member


def _reader(name: str) -> Any:
    def read(vm: VM, span: Span, self: object, /) -> object:
        return vm.attribute(self, name, span)

    return read


def wrapped(host: type) -> Builtin:
    """``enum.member(value)``, ``enum.nonmember(value)``."""

    def make(vm: VM, span: Span, value: object) -> object:
        return vm.heap.new(ObjectBox(HostType(host), {"value": value}))

    return Builtin.of(host.__name__, make)


def make_property(
    vm: VM,
    span: Span,
    fget: object = None,
    fset: object = None,
    fdel: object = None,
    doc: object = None,
) -> object:
    """``enum.property``: of instances; the class has the member of that name, if any."""
    return EnumProperty(fget, fset, fdel, doc)


WRAPPERS: Final = {host: wrapped(host) for host in _WRAPPERS}

__all__ = [
    "WRAPPERS",
    "Members",
    "begin",
    "bound",
    "check_order",
    "close",
    "kept",
    "make_property",
    "member_type",
    "members",
    "mixins",
    "redirected",
]
