"""The fields of data classes: what annotations and ``field()`` in a class body say."""

from __future__ import annotations

import dataclasses
import types
from typing import Any, Final

from msgspec import Struct

from verifier.source import ir
from verifier.source.ir import Span
from verifier.source.outline import BindingKind
from verifier.symbolic.python import hierarchy
from verifier.symbolic.python.attempts import attempt
from verifier.symbolic.python.fields import DEFAULT, FACTORY, annotated
from verifier.symbolic.python.flow import Frame
from verifier.symbolic.python.heap import UNBOUND, DictBox, ListBox, ObjectBox, Scope, SetBox
from verifier.symbolic.python.hierarchy import Inherited, namespace
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.kinds.descriptors import TypeForm
from verifier.symbolic.python.model import Class, HostType
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Guarded, Opaque, Ref, unsure

CLASS_VAR: Final = TypeForm("ClassVar")
INIT_VAR: Final = Opaque("`dataclasses.InitVar`", harmless=True)
KW_ONLY: Final = Opaque("`dataclasses.KW_ONLY`", harmless=True)

#: how the words of an annotation in quotes begin
_QUOTED: Final[dict[str, object]] = {
    "ClassVar": CLASS_VAR, "typing.ClassVar": CLASS_VAR, "InitVar": INIT_VAR,
    "dataclasses.InitVar": INIT_VAR, "KW_ONLY": KW_ONLY, "dataclasses.KW_ONLY": KW_ONLY,
}  # fmt: skip


class Missing(Struct, frozen=True):
    """``dataclasses.MISSING``: what stands for no default."""


MISSING: Final = Missing()


class MissingKind(Kind[VM]):
    name = "MISSING"
    complete = True
    pure = True

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(type(dataclasses.MISSING))

    def describe(self, vm: VM, value: Any) -> str:
        return "`MISSING`"

    def key(self, vm: VM, value: Any, span: Span) -> object:
        return value


KINDS: Final[dict[type, Kind[VM]]] = {Missing: MissingKind()}


class Options(Struct, frozen=True):
    """What ``@dataclass(...)`` was told."""

    init: bool = True
    repr: bool = True
    eq: bool = True
    order: bool = False
    unsafe_hash: bool = False
    frozen: bool = False
    match_args: bool = True
    kw_only: bool = False
    slots: bool = False


class Field(Struct, frozen=True):
    """A field; ``shown`` is the object that the program sees, which keeps its default."""

    name: str
    shown: Ref
    init: bool
    repr: bool
    compare: bool
    hash: bool | None
    kw_only: bool
    only_init: bool


def fields_of(cls: object) -> tuple[Field, ...] | None:
    """The fields of a data class, those for ``__init__`` only too; None if it is none."""
    found = hierarchy.trait(cls, "dataclass")
    return found[0] if isinstance(found, tuple) else None


# ------------------------------------------------------------------------ field()


def field(
    vm: VM,
    span: Span,
    *,
    default: object = UNBOUND,
    default_factory: object = UNBOUND,
    init: object = True,
    repr: object = True,
    hash: object = None,
    compare: object = True,
    metadata: object = None,
    kw_only: object = UNBOUND,
) -> object:
    default = UNBOUND if default is MISSING else default
    default_factory = UNBOUND if default_factory is MISSING else default_factory
    if default is not UNBOUND and default_factory is not UNBOUND:
        vm.fault(ValueError, "cannot specify both default and default_factory", span)
    return vm.heap.new(
        ObjectBox(
            HostType(dataclasses.Field),
            {
                DEFAULT: default,
                FACTORY: default_factory,
                "init": init,
                "repr": repr,
                "hash": hash,
                "compare": compare,
                "metadata": _metadata(vm, metadata, span),
                "kw_only": kw_only,
            },
        )
    )


def _metadata(vm: VM, value: object, span: Span) -> object:
    """The metadata of a field, to read."""
    if value is None:
        value = vm.heap.new(DictBox())
    return vm.call(HostType(types.MappingProxyType), (value,), span=span)


def held_by(vm: VM, ref: Ref) -> dict[str, object]:
    box = vm.heap.get(ref.id)
    assert isinstance(box, ObjectBox)
    return box.attributes


def _is_field(vm: VM, value: object) -> bool:
    box = vm.box(value)
    return isinstance(box, ObjectBox) and box.cls == HostType(dataclasses.Field)


# ------------------------------------------------------------------------ of a class


def collected(
    vm: VM, cls: Class, definition: ir.ClassDef, options: Options, span: Span
) -> tuple[Field, ...]:
    """All fields, those of bases first."""
    found: dict[str, Field] = {}
    for base in reversed(cls.mro[1:]):
        if isinstance(base, Class) and "dataclass" in base.traits:
            inherited = base.traits["dataclass"]
            assert isinstance(inherited, tuple)
            if inherited[1].frozen != options.frozen:
                message = "a frozen data class and one that is not cannot be one another's base"
                vm.fault(TypeError, message, span)
            found.update((field.name, field) for field in inherited[0])
    kw_only, marked = options.kw_only, False
    notes = annotated(definition.body)
    for name, one in notes.items():
        assert one.annotation is not None
        if not one.plainly:
            vm.unfollowed(f"whether `{cls.name}` has the field `{name}` is not followed", span)
        meaning = _meaning(vm, cls, one.annotation)
        if meaning == KW_ONLY:
            if marked:
                vm.fault(TypeError, f"`{name}` is KW_ONLY, but KW_ONLY has already been", span)
            marked = kw_only = True
        elif meaning == CLASS_VAR:
            _class_variable(vm, cls, name, span)
        else:
            found[name] = _own_field(vm, cls, name, kw_only, meaning == INIT_VAR, span)
    for name, value in namespace(vm, cls).items():
        if name not in notes and _is_field(vm, value):
            vm.fault(TypeError, f"`{name}` is a field but has no type annotation", span)
    return tuple(found.values())


def _class_variable(vm: VM, cls: Class, name: str, span: Span) -> None:
    """``field()`` of what is no field: its default is the class's attribute."""
    value = namespace(vm, cls).get(name, UNBOUND)
    if not _is_field(vm, value):
        return
    assert isinstance(value, Ref)
    held = held_by(vm, value)
    if held[FACTORY] is not UNBOUND:
        vm.fault(TypeError, f"`{name}` cannot have a default factory", span)
    if held["kw_only"] is not UNBOUND:
        vm.fault(TypeError, f"`{name}` is a ClassVar but specifies kw_only", span)
    hierarchy.define_attribute(vm, cls, name, held[DEFAULT])


def _meaning(vm: VM, cls: Class, annotation: ir.Expr) -> object:
    """What kind of field an annotation makes; None for an ordinary one."""
    if isinstance(annotation, ir.Const) and isinstance(annotation.value, str):
        return _QUOTED.get(annotation.value.partition("[")[0].strip())
    node = annotation.value if isinstance(annotation, ir.Subscript) else annotation
    last = node.attr if isinstance(node, ir.Attribute) else getattr(node, "id", "")
    if last not in ("ClassVar", "InitVar", "KW_ONLY") and not isinstance(node, ir.Name):
        return None
    if not isinstance(node, (ir.Name, ir.Attribute)) or not _is_known(vm, cls, node):
        return None
    frame = vm.frame
    vm.frames.append(
        Frame(cls.module, cls.namespace.id, frame.path_base, frame.function, None, cls)
    )
    try:
        value = vm.eval(node)
    finally:
        vm.frames.pop()
    known = (CLASS_VAR, INIT_VAR, KW_ONLY)
    return value if isinstance(value, (Opaque, TypeForm)) and value in known else None


def _is_known(vm: VM, cls: Class, node: ir.Expr) -> bool:
    """Whether an annotation starts with a name that is bound by now or by an import."""
    while isinstance(node, ir.Attribute):
        node = node.value
    if not isinstance(node, ir.Name) or node.id in namespace(vm, cls):
        return False
    binding = cls.module.binding(node.id)
    if binding is not None:
        return binding.kind.imports or binding.kind is BindingKind.ASSIGN
    number: int | None = cls.namespace.id
    while number is not None:
        box = vm.heap.get(number)
        assert isinstance(box, Scope)
        if node.id in box.names:
            return True
        number = box.parent
    outermost = vm.heap.get(vm.globals_of(cls.module).scope.id)
    return isinstance(outermost, Scope) and node.id in outermost.names


def _shown_default(vm: VM, cls: Class, name: str, span: Span) -> object:
    """What a class says a field's default is: an attribute of its own or of a class above it."""
    found = hierarchy.lookup(vm, cls, name)
    if isinstance(found, Inherited):
        return vm.unfollowed(f"the default of `{name}` comes from a built-in type", span)
    if not isinstance(vm.box(found), ObjectBox) or _is_field(vm, found):
        return found
    return attempt(
        vm,
        lambda: hierarchy.bind(vm, found, UNBOUND, cls, span),
        AttributeError,
        lambda _: UNBOUND,
    )


def _own_field(vm: VM, cls: Class, name: str, kw_only: bool, only_init: bool, span: Span) -> Field:
    value = _shown_default(vm, cls, name, span)
    if isinstance(value, Guarded):
        vm.unfollowed(f"the default of `{name}` depends on the inputs", span)
    given_field = _is_field(vm, value)
    shown = value if given_field else field(vm, span, default=value)
    assert isinstance(shown, Ref)
    held = held_by(vm, shown)
    default, factory = held[DEFAULT], held[FACTORY]
    if given_field:  # the class has its default in its place
        hierarchy.define_attribute(vm, cls, name, default)
    if _is_unhashable(vm, default):
        what = vm.kind(default).describe(vm, default)
        vm.fault(ValueError, f"{what} as the default of `{name}`: use default_factory", span)
    if only_init and factory is not UNBOUND:
        vm.fault(TypeError, f"`{name}` cannot have a default factory", span)
    flags = {n: held[n] for n in ("init", "repr", "hash", "compare")}
    if not all(isinstance(f, bool) or f is None for f in flags.values()):
        vm.unfollowed(f"the options of the field `{name}` are not followed", span)
    given_kw = held["kw_only"]
    made = Field(
        name,
        shown,
        flags["init"] is not False,
        flags["repr"] is not False,
        flags["compare"] is not False,
        flags["hash"] if isinstance(flags["hash"], bool) else None,
        given_kw if isinstance(given_kw, bool) else kw_only,
        only_init,
    )
    box = vm.heap.write(shown.id)
    assert isinstance(box, ObjectBox)
    box.attributes |= {
        "name": name,
        "type": unsure(f"the type of `{name}`"),
        "default": MISSING if default is UNBOUND else default,
        "default_factory": MISSING if factory is UNBOUND else factory,
        "kw_only": made.kw_only,
    }
    return made


def _is_unhashable(vm: VM, value: object) -> bool:
    """Whether a default is of a type that is refused, as it can change."""
    box = vm.box(value)
    if isinstance(box, (ListBox, DictBox)) or (isinstance(box, SetBox) and not box.frozen):
        return True
    if isinstance(box, ObjectBox):
        return hierarchy.lookup(vm, box.cls, "__hash__") is None
    return False


# ------------------------------------------------------------------------ defaults


def has_default(vm: VM, field: Field) -> bool:
    held = held_by(vm, field.shown)
    return held[DEFAULT] is not UNBOUND or held[FACTORY] is not UNBOUND


def default_of(vm: VM, field: Field, span: Span) -> object:
    """What a field is without an argument; UNBOUND if it is nothing."""
    held = held_by(vm, field.shown)
    if held[FACTORY] is not UNBOUND:
        return vm.call(held[FACTORY], (), span=span)
    return held[DEFAULT]
