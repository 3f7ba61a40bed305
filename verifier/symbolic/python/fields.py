"""Fields that a class body declares, and constructors whose parameters they are."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from verifier.source import ir
from verifier.source.ir import Span
from verifier.symbolic.python import hierarchy
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
from verifier.symbolic.python.terms import join
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Guarded, Ref

#: the trait of classes whose objects are records of a kernel API: a field for each annotated name
TRAIT: Final = "record"
#: attributes of what ``dataclasses.field`` makes; no name of the program's looks like that
DEFAULT: Final = "<default>"
FACTORY: Final = "<factory>"


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
    """
    known: dict[str, object] = {}
    for base in reversed(cls.mro[1:]):
        if isinstance(base, Class):
            known.update(of_nki(base))
    for one in declared(stmt.body):
        if not one.name.startswith("__"):
            value = namespace(vm, cls).get(one.name, UNBOUND)
            if not _is_method(vm, value):
                known[one.name] = _default(vm, cls, one.name, value)
    cls.traits[TRAIT] = tuple(known.items())
    init = hierarchy.lookup(vm, cls, "__init__")
    if not isinstance(init, (Inherited, Generated)):
        return
    hierarchy.define_attribute(vm, cls, "__init__", Generated(Builtin.of(cls.name, _init(cls))))


def of_nki(cls: Class) -> tuple[tuple[str, object], ...]:
    """The fields of a class that derives from ``NKIObject``, with their defaults."""
    fields = cls.traits.get(TRAIT, ())
    assert isinstance(fields, tuple)
    return fields


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
        positional = dict(zip(fields, args, strict=False))
        for name in positional:
            if name in keywords:
                message = f"`{cls.name}` gets `{name}` twice"
                vm.fault(TypeError, message, span, rule="call-signature")
        for name, default in fields.items():
            value = positional.get(name, keywords.get(name, UNBOUND))
            if value is UNBOUND:
                value = _made(vm, default, span)
            vm.set_attribute(self, name, value, span)
        for name, value in keywords.items():
            if name not in fields:
                vm.set_attribute(self, name, value, span)
        actual = vm.type_of(self)
        post = hierarchy.lookup(vm, actual, "__post_init__")
        if post is not UNBOUND:
            vm.call(hierarchy.bind(vm, post, self, actual, span), (), span=span)

    return init


def _made(vm: VM, default: object, span: Span) -> object:
    box = vm.box(default)
    if isinstance(default, Ref) and isinstance(box, ObjectBox) and FACTORY in box.attributes:
        return vm.call(box.attributes[FACTORY], (), span=span)
    return default


__all__ = ["Declared", "HostType", "annotated", "declared", "finish", "given"]
