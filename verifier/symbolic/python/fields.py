"""Fields that a class body declares, and constructors whose parameters they are."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from verifier.source import ir
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.python import attributes, hierarchy
from verifier.symbolic.python.heap import UNBOUND, ObjectBox
from verifier.symbolic.python.hierarchy import Generated, Inherited, namespace
from verifier.symbolic.python.model import (
    Builtin,
    Class,
    ClassMethod,
    Function,
    HostType,
    Property,
    StaticMethod,
)
from verifier.symbolic.python.peculiar import MARKERS, Peculiar
from verifier.symbolic.python.terms import join
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Guarded, Opaque, Ref

#: the trait of classes whose objects are records of a kernel API: a field for each annotated name
TRAIT: Final = "record"
#: attributes of what ``dataclasses.field`` makes; no name of the program's looks like that
DEFAULT: Final = "<default>"
FACTORY: Final = "<factory>"
#: of such a class: :class:`Peculiar` fields by name; what ``@dataclass`` was told of it
PECULIAR: Final = "peculiar"
TOLD: Final = "told"


class Declared(Struct, frozen=True):
    """A name that a class body annotates, assigns or both, where it does so first."""

    name: str
    annotation: ir.Expr | None
    #: whether it stands in the body itself, not under a condition or in a loop
    plainly: bool


def declared(body: Sequence[ir.Stmt], *, plainly: bool = True) -> Iterator[Declared]:
    """The names that a class body annotates or assigns, in order, each occurrence."""
    for stmt in body:
        if isinstance(stmt, ir.AnnAssign) and isinstance(stmt.target, ir.Name):
            yield Declared(stmt.target.id, stmt.annotation, plainly)
        elif isinstance(stmt, ir.Assign):
            for target in stmt.targets:
                if isinstance(target, ir.Name):
                    yield Declared(target.id, None, plainly)
        elif isinstance(stmt, (ir.If, ir.For, ir.While, ir.With, ir.Try)):
            for block in _blocks(stmt):
                yield from declared(block, plainly=False)


def _blocks(stmt: ir.Stmt) -> Iterator[Sequence[ir.Stmt]]:
    for name in ("body", "orelse", "finalbody"):
        yield getattr(stmt, name, ())
    for handler in getattr(stmt, "handlers", ()):
        yield handler.body


def annotated(body: Sequence[ir.Stmt]) -> dict[str, Declared]:
    """The annotated names of a class body, in order."""
    out: dict[str, Declared] = {}
    for one in declared(body):
        if one.annotation is not None:
            out.setdefault(one.name, one)
    return out


def given(
    vm: VM,
    name: str,
    signature: inspect.Signature,
    args: Sequence[object],
    keywords: Mapping[str, object],
    span: Span,
) -> Mapping[str, object]:
    """The arguments of a call by parameter; a mismatch is a fault."""
    try:
        return signature.bind(*args, **keywords).arguments
    except TypeError as error:
        message = f"`{name}()`: {error}"
        vm.fault(TypeError, message, span, rule="call-signature")
        vm.unfollowed(message, span)
        return {}


# ------------------------------------------------------------------------ classes of NKI


def finish(vm: VM, cls: Class, stmt: ir.ClassDef) -> None:
    """Give a class that derives from ``NKIObject`` its constructor.

    Every field, annotated or not, is an optional parameter in the order of declaration; what is
    not given has its default, or None. ``__post_init__`` always runs; attributes may be added.
    What a data class does besides is not documented of them, so it is left open.
    """
    known: dict[str, object] = {}
    peculiar: dict[str, Peculiar] = {}
    for base in reversed(cls.mro[1:]):
        if isinstance(base, Class):
            known.update(of_nki(base))
            peculiar.update(peculiar_of(base))
    for one in declared(stmt.body):
        if not one.name.startswith("__"):
            value = namespace(vm, cls).get(one.name, UNBOUND)
            if not _is_method(vm, value):
                found = _peculiar(vm, one, value)
                if found is not None:
                    peculiar[one.name] = found
                known[one.name] = _default(vm, cls, one.name, value)
    cls.traits[TRAIT] = tuple(known.items())
    cls.traits[PECULIAR] = peculiar
    if "__eq__" not in namespace(vm, cls):
        equal = Generated(Builtin.of(f"{cls.name}.__eq__", _equal))
        hierarchy.define_attribute(vm, cls, "__eq__", equal)
    init = hierarchy.lookup(vm, cls, "__init__")
    if not isinstance(init, (Inherited, Generated)):
        return
    hierarchy.define_attribute(vm, cls, "__init__", Generated(Builtin.of(cls.name, _init(cls))))


def of_nki(cls: Class) -> tuple[tuple[str, object], ...]:
    """The fields of a class that derives from ``NKIObject``, with their defaults."""
    fields = cls.traits.get(TRAIT, ())
    assert isinstance(fields, tuple)
    return fields


def peculiar_of(cls: object) -> Mapping[str, Peculiar]:
    """The fields of a class that derives from ``NKIObject`` of which something is open."""
    found = hierarchy.trait(cls, PECULIAR)
    return found if isinstance(found, dict) else {}


def _peculiar(vm: VM, one: Declared, value: object) -> Peculiar | None:
    note = one.annotation
    if isinstance(note, ir.Const):
        name = str(note.value).partition("[")[0].strip().rpartition(".")[2]
    else:
        node = note.value if isinstance(note, ir.Subscript) else note
        name = node.attr if isinstance(node, ir.Attribute) else getattr(node, "id", "")
    if name in MARKERS:
        return MARKERS[name]
    box = vm.box(value)
    if not isinstance(box, ObjectBox) or DEFAULT not in box.attributes:
        return None
    if box.attributes["init"] is not True:
        return Peculiar.NO_PARAMETER
    if box.attributes["kw_only"] not in (UNBOUND, False):
        return Peculiar.KEYWORD
    return Peculiar.LEFT_OUT if box.attributes["compare"] is not True else None


def open_question(vm: VM, cls: object, what: str, span: Span) -> Opaque:
    """What NKI does with a class of its own is documented nowhere: here it would decide."""
    assert isinstance(cls, Class)
    return vm.unfollowed(f"`{cls.name}` is an `NKIObject`, of which is not documented {what}", span)


def _equal(vm: VM, span: Span, self: object, other: object, /) -> object:
    """Data classes of Python are equal where their fields are, which the guide likens these to.

    Without the decorator they are equal in Python only if they are one.
    """

    def one(right: object) -> object:
        cls = vm.type_of(self)
        if vm.type_of(right) != cls:
            return NotImplemented
        if vm.identical(self, right, span) is E.TRUE:
            return E.TRUE
        told = hierarchy.trait(cls, TOLD)
        names = [name for name, _ in of_nki(cls)] if isinstance(cls, Class) else []
        left, other = (tuple(vm.attribute(v, n, span) for n in names) for v in (self, right))
        same = vm.compare("==", left, other, span)
        settled = not peculiar_of(cls) if told is not None else same is E.FALSE
        if settled:
            return same
        return open_question(vm, cls, "whether two are equal whose fields are", span)

    return vm.each(other, one)


def _is_method(vm: VM, value: object) -> bool:
    return isinstance(value, (Function, StaticMethod, ClassMethod, Property, Class, Generated))


def _default(vm: VM, cls: Class, name: str, value: object) -> object:
    """A field's default; of a factory, the object in which ``field`` keeps it."""
    if value is UNBOUND:
        return None
    if isinstance(value, Guarded):
        out: object = UNBOUND
        for guard, case in reversed(value.cases):
            out = join(guard, None if case is UNBOUND else case, out)
        return out
    box = vm.box(value)
    if not isinstance(box, ObjectBox) or DEFAULT not in box.attributes:
        return value
    if box.attributes[FACTORY] is not UNBOUND:
        hierarchy.define_attribute(vm, cls, name, UNBOUND)
        return value
    default = box.attributes[DEFAULT]
    default = None if default is UNBOUND else default
    hierarchy.define_attribute(vm, cls, name, default)
    return default


def _init(cls: Class):  # type: ignore[no-untyped-def]
    def init(vm: VM, span: Span, self: object, /, *args: object, **keywords: object) -> None:
        fields = dict(of_nki(cls))
        if len(args) > len(fields):
            message = f"`{cls.name}` has {len(fields)} fields, {len(args)} values are given"
            vm.fault(TypeError, message, span, rule="call-signature")
        _check_peculiar(vm, cls, tuple(fields)[: len(args)], keywords, span)
        positional = dict(zip(fields, args, strict=False))
        for name in positional:
            if name in keywords:
                message = f"`{cls.name}` gets `{name}` twice"
                vm.fault(TypeError, message, span, rule="call-signature")
        for name, default in fields.items():
            value = positional.get(name, keywords.get(name, UNBOUND))
            if value is UNBOUND:
                value = _made(vm, default, span)
            _put(vm, cls, self, name, value, span)
        for name, value in keywords.items():
            if name not in fields:
                _put(vm, cls, self, name, value, span)
        actual = vm.type_of(self)
        post = hierarchy.lookup(vm, actual, "__post_init__")
        if post is not UNBOUND:
            vm.call(hierarchy.bind(vm, post, self, actual, span), (), span=span)

    return init


def _check_peculiar(
    vm: VM, cls: Class, positional: Sequence[str], keywords: Mapping[str, object], span: Span
) -> None:
    """Whether a constructor takes what it is given, which hangs on what is not documented."""
    told = hierarchy.trait(cls, TOLD)
    if getattr(told, "kw_only", False) and positional:
        open_question(vm, cls, "whether `kw_only=True` is heeded", span)
    for name, what in peculiar_of(cls).items():
        if what.decides(name, positional, keywords):
            open_question(vm, cls, f"whether the field `{name}` {what.value}", span)


def _put(vm: VM, cls: Class, self: object, name: str, value: object, span: Span) -> None:
    """A field as the constructor sets it, of a frozen class as well."""
    if getattr(hierarchy.trait(cls, TOLD), "frozen", False) and isinstance(self, Ref):
        attributes.store(vm, self, name, value, span)
    else:
        vm.set_attribute(self, name, value, span)


def _made(vm: VM, default: object, span: Span) -> object:
    box = vm.box(default)
    if isinstance(default, Ref) and isinstance(box, ObjectBox) and FACTORY in box.attributes:
        return vm.call(box.attributes[FACTORY], (), span=span)
    return default


__all__ = [
    "TOLD",
    "Declared",
    "HostType",
    "annotated",
    "declared",
    "finish",
    "given",
    "open_question",
]
