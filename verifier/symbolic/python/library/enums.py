"""``enum``: members are objects made once, when the body of their class has run."""

from __future__ import annotations

import enum
import types
from collections.abc import Mapping, Sequence
from typing import Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.machine import Call
from verifier.symbolic.python import hierarchy
from verifier.symbolic.python.attempts import attempt
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.heap import UNBOUND, DictBox, ListBox, ObjectBox
from verifier.symbolic.python.hierarchy import Inherited, namespace
from verifier.symbolic.python.library import enum_bodies, enum_texts
from verifier.symbolic.python.library.enum_bodies import STR_ENUM
from verifier.symbolic.python.library.enum_bodies import members as members
from verifier.symbolic.python.model import (
    Builtin,
    Class,
    ClassMethod,
    Function,
    HostType,
    StaticMethod,
)
from verifier.symbolic.python.strings import text_of
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Guarded, Opaque, Ref, unsure

_GENERATE: Final = "_generate_next_value_"


def member_name(vm: VM, value: object) -> str | None:
    """``Class.member`` of a member of an enumeration, None for other values."""
    box = vm.box(value)
    if not isinstance(box, ObjectBox) or not isinstance(box.cls, Class):
        return None
    if "enum" not in box.cls.traits:
        return None
    name = box.attributes.get("_name_")
    return f"{box.cls.name}.{name}" if isinstance(name, str) else None


def is_member_name(cls: Class, name: str) -> bool:
    return name in members(cls).by_name


# ------------------------------------------------------------------------ definition


def finish(vm: VM, cls: Class, span: Span) -> None:
    """Make the members of an enumeration whose body has run."""
    for name, value in enum_bodies.close(vm, cls, span):
        if isinstance(value, Guarded):
            vm.unfollowed(f"the member `{name}` depends on the inputs", span)
            value = vm.settled(value)
        _enter(vm, cls, name, value, span)
    enum_texts.choose(vm, cls, span)
    enum_bodies.check_order(vm, cls, span)


def _enter(vm: VM, cls: Class, name: str, value: object, span: Span) -> None:
    """Make a member, or another name for one with the same value."""
    if isinstance(value, (Class, HostType)):
        vm.unfollowed("whether a class in an enumeration is a member is not followed", span)
    held = members(cls)
    made = _made(vm, cls, name, value, span)
    box = vm.heap.get(made.id)
    assert isinstance(box, ObjectBox)
    for other in dict.fromkeys(held.by_name.values()):
        same = vm.equal(value_of(vm, other), box.attributes["_value_"], span)
        known = vm.decide(same)
        if known is None:
            vm.unfollowed("whether two members are one depends on the inputs", span)
        if known:
            held.by_name[name] = other
            shown = enum_bodies.redirected(vm, cls, name, other)
            hierarchy.define_attribute(vm, cls, name, shown)
            return
    held.by_name[name] = made
    value = enum_bodies.redirected(vm, cls, name, made)
    bits = box.attributes["_value_"]
    if not held.is_flag or (isinstance(bits, Expr) and _is_single(bits)):
        held.own.append(made)
    hierarchy.define_attribute(vm, cls, name, value)


def _is_single(bits: Expr) -> bool:
    return bits.is_const and bits.const > 0 and bits.const & (bits.const - 1) == 0


def _made(vm: VM, cls: Class, name: str, value: object, span: Span) -> Ref:
    host = hierarchy.layout(cls)
    args = value if isinstance(value, tuple) and host is not tuple else (value,)
    new = hierarchy.lookup(vm, cls, "__new__")
    if isinstance(new, Inherited) or new is UNBOUND:
        enum_bodies.check_type(vm, cls, name, args, span)
        payload = UNBOUND if host is None else vm.call(HostType(host), args, span=span)
        made: object = vm.heap.new(ObjectBox(cls, payload=payload))
    else:
        bound = hierarchy.bind(vm, new, UNBOUND, cls, span)
        made = vm.settled(vm.call(bound, (cls, *args), span=span))
    if not isinstance(made, Ref) or not isinstance(vm.box(made), ObjectBox):
        vm.unfollowed(f"what `{cls.name}.__new__` makes is not followed", span)
        made = vm.heap.new(ObjectBox(cls))
    box = vm.heap.write(made.id)
    assert isinstance(box, ObjectBox)
    if "_value_" not in box.attributes:
        made_here = isinstance(new, Inherited) or new is UNBOUND
        box.attributes["_value_"] = _value(vm, cls, box, value, args, made_here, span)
    box.attributes["_name_"] = name
    init = hierarchy.lookup(vm, cls, "__init__")
    if init is not UNBOUND and not isinstance(init, Inherited):
        vm.call(hierarchy.bind(vm, init, made, cls, span), args, span=span)
    return made


def _value(
    vm: VM,
    cls: Class,
    box: ObjectBox,
    value: object,
    args: Sequence[object],
    made_here: bool,
    span: Span,
) -> object:
    """The value of a member whose ``__new__`` says none: the data type makes it."""
    if box.payload is UNBOUND:
        return value
    host = hierarchy.layout(cls)
    mixed = [base for base in enum_bodies.mixins(cls) if hierarchy.layout(base) is host]
    if made_here and not mixed:
        return box.payload
    maker = mixed[0] if mixed else HostType(host or object)

    def refused(error: object) -> object:
        if vm.type_of(error) != HostType(TypeError):
            vm.unfollowed("a member whose value cannot be made is not followed", span)
        vm.fault(TypeError, "_value_ not set in __new__, unable to create it", span)
        return value

    return attempt(vm, lambda: vm.call(maker, args, span=span), Exception, refused)


def value_of(vm: VM, member: object) -> object:
    """``member._value_``."""
    box = vm.box(member)
    assert isinstance(box, ObjectBox)
    return box.attributes.get("_value_", UNBOUND)


# ------------------------------------------------------------------------ auto


def _auto(vm: VM, span: Span, /) -> object:
    cls = vm.frame.body_of
    if cls is None or "enum" not in cls.traits:
        return vm.unfollowed("`auto()` outside of an enumeration is not followed", span)
    members(cls).automatic = True
    values = list(members(cls).bound.values())
    name = vm.target_name
    hook = hierarchy.lookup(vm, cls, _GENERATE)
    if isinstance(hook, (Function, StaticMethod)):
        if name is None:
            return vm.unfollowed("the name of a member is not followed", span)
        function = hook.function if isinstance(hook, StaticMethod) else hook
        args = (name, E.const(1), E.const(len(values)), vm.heap.new(ListBox.of(values)))
        return vm.call(function, args, span=span)
    if hierarchy.derives_from_host(cls, STR_ENUM):
        if name is None:
            return vm.unfollowed("the name of a member is not followed", span)
        return name.lower()
    if not values:
        return E.const(1)
    numbers = [v.const for v in values if isinstance(v, Expr) and v.is_const]
    last = max(numbers, default=0)
    if len(numbers) < len(values):
        return vm.unfollowed("`auto()` after a value that is no integer is not followed", span)
    if members(cls).is_flag:
        return E.const(2 ** last.bit_length())
    if numbers[-1] != last:  # the highest or the last one plus one, by version
        return vm.unfollowed("`auto()` after values that go down is not followed", span)
    return E.const(last + 1)


# ------------------------------------------------------------------------ access


def called(vm: VM, cls: Class, call: Call) -> object:
    """``Colour(value)``."""
    named = dict(call.keywords)
    given = [arg.value for arg in call.args]
    if "value" in named and not given:
        given.append(named.pop("value").value)
    if len(given) != 1 or named or not members(cls).by_name:
        if not given and members(cls).by_name:
            message = f"`{cls.name}()` needs a value"
            vm.fault(TypeError, message, call.span, rule="call-signature")
        return vm.unfollowed(f"`{cls.name}(...)` is not followed", call.span)
    return vm.each(given[0], lambda v: by_value(vm, cls, v, call.span))


def by_value(vm: VM, cls: Class, value: object, span: Span) -> object:
    """The member with a value."""
    if vm.type_of(value) is cls:
        return value
    if isinstance(value, Opaque):
        return unsure(f"a member of `{cls.name}`")
    known = list(dict.fromkeys(members(cls).by_name.values()))

    def turn(position: int) -> object:
        if position == len(known):
            return _missing(vm, cls, value, span)
        same = vm.equal(value_of(vm, known[position]), value, span)
        return vm.fork(same, lambda: known[position], lambda: turn(position + 1))

    return turn(0)


def _missing(vm: VM, cls: Class, value: object, span: Span) -> object:
    hook = hierarchy.lookup(vm, cls, "_missing_")
    if isinstance(hook, (Function, ClassMethod, StaticMethod)):
        bound = hierarchy.bind(vm, hook, UNBOUND, cls, span)
        answer = vm.call(bound, (value,), span=span)
        return vm.apart(answer, lambda one: _answered(vm, cls, value, one, span))
    if members(cls).is_flag and isinstance(value, Expr):
        if value.is_const:
            return composed(vm, cls, value.const, span)
        return vm.unfollowed("flags that depend on the inputs are not followed", span)
    return _invalid(vm, cls, value, span)


def _answered(vm: VM, cls: Class, value: object, answer: object, span: Span) -> object:
    """What ``_missing_`` has returned, which is a member, or None if there is none."""
    if answer is None:
        return _invalid(vm, cls, value, span)
    known = vm.type_of(answer)
    if known is cls:
        return answer
    if not isinstance(known, (Class, HostType)) or hierarchy.is_external(known):
        return vm.unfollowed(f"what `{cls.name}._missing_` returns is not followed", span)
    if isinstance(known, Class) and hierarchy.derives(known, cls):
        return answer
    message = f"error in {cls.name}._missing_: returned something instead of a valid member"
    vm.fault(TypeError, message, span)
    raise AssertionError(message)  # pragma: no cover - the fault ends the path


def _invalid(vm: VM, cls: Class, value: object, span: Span) -> object:
    shown = text_of(vm, value, "r", span)
    what = shown if isinstance(shown, str) else "the value"
    vm.fault(ValueError, f"{what} is not a valid {cls.name}", span)
    return unsure(f"a member of `{cls.name}`")


def by_name(vm: VM, cls: Class, name: object, span: Span) -> object:
    """``Colour["RED"]``."""
    if isinstance(name, Opaque):
        return unsure(f"a member of `{cls.name}`")
    if not isinstance(name, (str, Expr, tuple, type(None), bool)):
        return vm.unfollowed(f"which member of `{cls.name}` is meant is not followed", span)
    found = members(cls).by_name.get(name) if isinstance(name, str) else None
    if found is None:
        message = f"`{cls.name}` has no member {name!r}"
        vm.fault(KeyError, message, span, args=(name,))
        return unsure(f"a member of `{cls.name}`")
    return found


def as_dict(vm: VM, cls: Class) -> Ref:
    """``Colour.__members__``."""
    held: dict[object, object] = dict(members(cls).by_name.items())
    return vm.heap.new(DictBox(held))


# ------------------------------------------------------------------------ flags


def composed(vm: VM, cls: Class, bits: int, span: Span) -> object:
    """The flag that has some bits, made once."""
    held = members(cls)
    known = 0
    for member in held.by_name.values():
        value = value_of(vm, member)
        if isinstance(value, Expr) and value.is_const:
            if value.const == bits:
                return member
            known |= value.const
    if bits < 0:
        return vm.unfollowed("negative flags are not followed", span)
    if bits & ~known and not hierarchy.derives_from_host(cls, enum.IntFlag):
        return _invalid(vm, cls, E.const(bits), span)
    name = f"<{bits}>"
    made = namespace(vm, cls).get(name, UNBOUND)
    if isinstance(made, Ref):
        return made
    payload: object = UNBOUND
    host = hierarchy.layout(cls)
    if host is not None:
        payload = E.const(bits)
    shown = unsure("the name of several flags") if bits else None
    made = vm.heap.new(ObjectBox(cls, {"_value_": E.const(bits), "_name_": shown}, payload=payload))
    hierarchy.define_attribute(vm, cls, name, made)
    return made


def _bits(vm: VM, value: object, cls: object) -> int | None:
    """The bits of a flag of a class, or of an integer where that may stand for one."""
    if vm.type_of(value) is cls:
        value = value_of(vm, value)
    elif not hierarchy.derives_from_host(cls, enum.IntFlag):
        return None
    return value.const if isinstance(value, Expr) and value.is_const else None


FLAG: Final = Table("Flag")


def _combine(vm: VM, span: Span, op: str, left: object, right: object) -> object:
    cls = vm.type_of(left)
    assert isinstance(cls, Class)

    def one(other: object) -> object:
        mine, theirs = _bits(vm, left, cls), _bits(vm, other, cls)
        if mine is None:
            return vm.unfollowed("a flag's value is not followed", span)
        if theirs is None:
            if isinstance(other, Expr) and hierarchy.derives_from_host(cls, enum.IntFlag):
                return vm.unfollowed("flags that depend on the inputs are not followed", span)
            return NotImplemented
        bits = {"|": mine | theirs, "&": mine & theirs, "^": mine ^ theirs}[op]
        return composed(vm, cls, bits, span)

    return vm.each(right, one)


@FLAG.add("__or__", "__ror__")
def _or(vm: VM, span: Span, self: object, other: object, /) -> object:
    return _combine(vm, span, "|", self, other)


@FLAG.add("__and__", "__rand__")
def _and(vm: VM, span: Span, self: object, other: object, /) -> object:
    return _combine(vm, span, "&", self, other)


@FLAG.add("__xor__", "__rxor__")
def _xor(vm: VM, span: Span, self: object, other: object, /) -> object:
    return _combine(vm, span, "^", self, other)


@FLAG.add("__invert__")
def _invert(vm: VM, span: Span, self: object, /) -> object:
    cls = vm.type_of(self)
    assert isinstance(cls, Class)
    mine = _bits(vm, self, cls)
    if mine is None or hierarchy.derives_from_host(cls, enum.IntFlag):
        return vm.unfollowed("`~` on a flag is not followed", span)
    every = 0
    for member in members(cls).own:
        every |= _bits(vm, member, cls) or 0
    return composed(vm, cls, every & ~mine, span)


@FLAG.add("__bool__")
def _bool(vm: VM, span: Span, self: object, /) -> object:
    return vm.truth(value_of(vm, self), span)


@FLAG.add("__contains__")
def _contains(vm: VM, span: Span, self: object, other: object, /) -> object:
    cls = vm.type_of(self)

    def one(item: object) -> object:
        if vm.type_of(item) is not cls:
            what = vm.kind(item).describe(vm, item)
            vm.fault(TypeError, f"{what} is no flag of {hierarchy.described(cls)}", span)
        mine, theirs = _bits(vm, self, cls), _bits(vm, item, cls)
        if mine is None or theirs is None:
            return vm.unfollowed("a flag's value is not followed", span)
        return mine & theirs == theirs

    return vm.each(other, one)


def _parts(vm: VM, self: object) -> tuple[object, ...]:
    cls = vm.type_of(self)
    mine = _bits(vm, self, cls) or 0
    own = members(cls).own
    return tuple(m for m in own if mine & (_bits(vm, m, cls) or 0))


@FLAG.add("__iter__")
def _iter(vm: VM, span: Span, self: object, /) -> object:
    return vm.call(vm.language.builtins["iter"], (_parts(vm, self),), span=span)


@FLAG.add("__len__")
def _len(vm: VM, span: Span, self: object, /) -> object:
    return E.const(len(_parts(vm, self)))


FLAG.add("__repr__")(enum_texts.flag_repr)
FLAG.add("__str__")(enum_texts.flag_str)


# ------------------------------------------------------------------------ functions


def _unique(vm: VM, span: Span, enumeration: object, /) -> object:
    held = members(enumeration)
    for name, member in held.by_name.items():
        box = vm.box(member)
        if isinstance(box, ObjectBox) and box.attributes.get("_name_") != name:
            vm.fault(ValueError, f"`{name}` is another name for a member", span)
    return enumeration


METHODS: Final[Mapping[str, Table]] = {"Enum": enum_texts.ENUM, "Flag": FLAG, "IntFlag": FLAG}

_PROPERTY: Final = Builtin.of("property", enum_bodies.make_property)

CONSTRUCTORS: Final[dict[type, Builtin]] = {
    enum.auto: Builtin.of("auto", _auto),
    types.DynamicClassAttribute: _PROPERTY,
    **enum_bodies.WRAPPERS,
}

MODULES: Final[dict[str, dict[str, object]]] = {
    "enum": {
        "Enum": HostType(enum.Enum),
        "IntEnum": HostType(enum.IntEnum),
        "StrEnum": HostType(STR_ENUM),
        "Flag": HostType(enum.Flag),
        "IntFlag": HostType(enum.IntFlag),
        "EnumMeta": HostType(enum.EnumMeta),
        "auto": HostType(enum.auto),
        "unique": Builtin.of("unique", _unique),
        "property": _PROPERTY,
        **({"ReprEnum": HostType(enum.ReprEnum)} if hasattr(enum, "ReprEnum") else {}),
        **{host.__name__: HostType(host) for host in enum_bodies.WRAPPERS},
    },
    "types": {"DynamicClassAttribute": HostType(types.DynamicClassAttribute)},
}
