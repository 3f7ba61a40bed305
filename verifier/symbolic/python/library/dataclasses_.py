"""``dataclasses``: methods made of the fields that a class body annotates."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from verifier.source import ir
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.python import attributes, hierarchy
from verifier.symbolic.python.fields import DEFAULT, FACTORY, annotated, given
from verifier.symbolic.python.flow import Frame
from verifier.symbolic.python.heap import UNBOUND, DictBox, ListBox, ObjectBox, SetBox
from verifier.symbolic.python.hierarchy import Generated, Inherited, namespace
from verifier.symbolic.python.library import copying
from verifier.symbolic.python.model import Builtin, Class, HostType
from verifier.symbolic.python.strings import concatenated, text_of
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Guarded, Opaque, Ref

CLASS_VAR: Final = Opaque("`typing.ClassVar`", harmless=True)
INIT_VAR: Final = Opaque("`dataclasses.InitVar`", harmless=True)
KW_ONLY: Final = Opaque("`dataclasses.KW_ONLY`", harmless=True)

#: how the words of an annotation in quotes begin
_QUOTED: Final = {
    "ClassVar": CLASS_VAR, "typing.ClassVar": CLASS_VAR, "InitVar": INIT_VAR,
    "dataclasses.InitVar": INIT_VAR, "KW_ONLY": KW_ONLY, "dataclasses.KW_ONLY": KW_ONLY,
}  # fmt: skip
_ORDER: Final = {"__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}


@dataclass(frozen=True, slots=True)
class Options:
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


@dataclass(frozen=True, slots=True)
class Field:
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


def _field(
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
                "metadata": metadata,
                "kw_only": kw_only,
            },
        )
    )


def _held(vm: VM, ref: Ref) -> dict[str, object]:
    box = vm.heap.get(ref.id)
    assert isinstance(box, ObjectBox)
    return box.attributes


def _is_field(vm: VM, value: object) -> bool:
    box = vm.box(value)
    return isinstance(box, ObjectBox) and box.cls == HostType(dataclasses.Field)


# ------------------------------------------------------------------------ @dataclass


def _dataclass(vm: VM, span: Span, cls: object = None, /, **options: object) -> object:
    known = {field.name for field in dataclasses.fields(Options)}
    unknown = [name for name in options if name not in known]
    if unknown or not all(isinstance(value, bool) for value in options.values()):
        what = f"`dataclass({', '.join(options)})` is not followed"
        return vm.unfollowed(what, span)
    told = Options(**options)  # type: ignore[arg-type]
    if cls is None:
        return Builtin.of("dataclass", lambda vm, span, cls, /: _process(vm, span, cls, told))
    return _process(vm, span, cls, told)


def _process(vm: VM, span: Span, cls: object, options: Options) -> object:
    if not isinstance(cls, Class) or cls.definition is None:
        if isinstance(cls, Opaque):
            return cls
        return vm.unfollowed("what `dataclass` is applied to is not followed", span)
    if hierarchy.trait(cls, "nki") is not None:
        return cls  # the front end's own rules for its objects hold with and without it
    fields = _collected(vm, cls, cls.definition, options, span)
    cls.traits["dataclass"] = (fields, options)
    _generate(vm, cls, fields, options, span)
    return cls


def _collected(
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
    kw_only = options.kw_only
    notes = annotated(definition.body)
    for name, one in notes.items():
        assert one.annotation is not None
        if not one.plainly:
            vm.unfollowed(f"whether `{cls.name}` has the field `{name}` is not followed", span)
        meaning = _meaning(vm, cls, one.annotation)
        if meaning == KW_ONLY:
            kw_only = True
        elif meaning != CLASS_VAR:
            found[name] = _own_field(vm, cls, name, kw_only, meaning == INIT_VAR, span)
    for name, value in namespace(vm, cls).items():
        if name not in notes and _is_field(vm, value):
            vm.fault(TypeError, f"`{name}` is a field but has no type annotation", span)
    return tuple(found.values())


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
    return value if isinstance(value, Opaque) and value in known else None


def _is_known(vm: VM, cls: Class, node: ir.Expr) -> bool:
    """Whether an annotation starts with a name that an import binds; others mean types."""
    while isinstance(node, ir.Attribute):
        node = node.value
    if not isinstance(node, ir.Name) or node.id in namespace(vm, cls):
        return False
    binding = cls.module.binding(node.id)
    return binding is not None and binding.kind in ("from", "import", "assign")


def _own_field(
    vm: VM, cls: Class, name: str, kw_only: bool, only_init: bool, span: Span
) -> Field:
    value = namespace(vm, cls).get(name, UNBOUND)
    if isinstance(value, Guarded):
        vm.unfollowed(f"the default of `{name}` depends on the inputs", span)
    if not _is_field(vm, value):
        shown = _field(vm, span, default=value)
    else:
        shown = value
    assert isinstance(shown, Ref)
    held = _held(vm, shown)
    default, factory = held[DEFAULT], held[FACTORY]
    if default is UNBOUND:
        hierarchy.define_attribute(vm, cls, name, UNBOUND)
    else:
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
        "type": Opaque(f"the type of `{name}`", harmless=True),
        "default": HostType(dataclasses.MISSING.__class__) if default is UNBOUND else default,
        "default_factory": HostType(dataclasses.MISSING.__class__)
        if factory is UNBOUND
        else factory,
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


# ------------------------------------------------------------------------ generated methods


def _generate(
    vm: VM, cls: Class, fields: tuple[Field, ...], options: Options, span: Span
) -> None:
    own = namespace(vm, cls)
    had_equality = "__eq__" in own
    explicit_hash = own.get("__hash__", UNBOUND)
    if explicit_hash is None and had_equality:
        explicit_hash = UNBOUND
    ordinary = tuple(f for f in fields if not f.only_init)
    if options.init:
        _put(vm, cls, "__init__", _init(vm, cls, fields, options, span))
    if options.repr:
        _put(vm, cls, "__repr__", _repr(tuple(f.name for f in ordinary if f.repr)))
    compared = tuple(f.name for f in ordinary if f.compare)
    if options.eq:
        _put(vm, cls, "__eq__", _comparison(cls, "==", compared))
    if options.order:
        _orders(vm, cls, options, compared, span)
    if options.frozen:
        _freeze(vm, cls, ordinary, span)
    hashed = tuple(f.name for f in ordinary if (f.compare if f.hash is None else f.hash))
    _hashes(vm, cls, options, explicit_hash, hashed, span)
    if options.match_args and "__match_args__" not in own:
        names = tuple(f.name for f in fields if f.init and not f.kw_only)
        hierarchy.define_attribute(vm, cls, "__match_args__", names)
    if options.slots:
        _slots(vm, cls, ordinary, span)


def _put(
    vm: VM, cls: Class, name: str, handler: Callable[..., object], *, replace: bool = False
) -> None:
    if replace or name not in namespace(vm, cls):
        made = Generated(Builtin.of(f"{cls.name}.{name}", handler))
        hierarchy.define_attribute(vm, cls, name, made)


def _orders(
    vm: VM, cls: Class, options: Options, compared: tuple[str, ...], span: Span
) -> None:
    if not options.eq:
        vm.fault(ValueError, "eq must be true if order is true", span)
    for name, op in _ORDER.items():
        if name in namespace(vm, cls):
            vm.fault(TypeError, f"cannot overwrite `{name}` of `{cls.name}`", span)
        _put(vm, cls, name, _comparison(cls, op, compared))


def _hashes(
    vm: VM,
    cls: Class,
    options: Options,
    explicit: object,
    hashed: tuple[str, ...],
    span: Span,
) -> None:
    """CPython's table of when ``__hash__`` is made, taken away or left alone."""
    if options.unsafe_hash:
        if explicit is not UNBOUND:
            vm.fault(TypeError, f"cannot overwrite `__hash__` of `{cls.name}`", span)
    elif not options.eq or explicit is not UNBOUND:
        return
    elif not options.frozen:
        hierarchy.define_attribute(vm, cls, "__hash__", None)
        return
    cls.traits["hashed"] = hashed

    def compute(vm: VM, span: Span, self: object, /) -> object:
        return vm.call(vm.language.builtins["hash"], (_values(vm, self, hashed, span),), span=span)

    _put(vm, cls, "__hash__", compute, replace=True)


def _slots(vm: VM, cls: Class, fields: tuple[Field, ...], span: Span) -> None:
    if "__slots__" in namespace(vm, cls):
        vm.fault(TypeError, f"`{cls.name}` already specifies __slots__", span)
    names = tuple(f.name for f in fields)
    above = (b.traits.get("slots") for b in cls.mro[1:] if isinstance(b, Class))
    taken = {name for slots in above if isinstance(slots, frozenset) for name in slots}
    own = tuple(name for name in names if name not in taken)
    for name in names:
        hierarchy.define_attribute(vm, cls, name, UNBOUND)
    hierarchy.define_attribute(vm, cls, "__slots__", own)
    cls.traits["slots"] = frozenset(own)


# ------------------------------------------------------------------------ __init__


def _init(
    vm: VM, cls: Class, fields: tuple[Field, ...], options: Options, span: Span
) -> Callable[..., object]:
    signature = _signature(vm, cls, fields, span)

    def init(vm: VM, span: Span, self: object, /, *args: object, **keywords: object) -> None:
        values = given(vm, cls.name, signature, args, keywords, span)
        only_init: list[object] = []
        for field in fields:
            value = values.get(field.name, UNBOUND)
            if value is UNBOUND:
                value = _default(vm, field, span)
            if field.only_init:
                only_init.append(value)
            elif value is not UNBOUND:
                _assign(vm, self, field.name, value, options, span)
        actual = vm.type_of(self)
        post = hierarchy.lookup(vm, actual, "__post_init__")
        if post is not UNBOUND:
            bound = hierarchy.bind(vm, post, self, actual, span)
            vm.call(bound, only_init, span=span)

    return init


def _signature(
    vm: VM, cls: Class, fields: tuple[Field, ...], span: Span
) -> inspect.Signature:
    parameters = []
    seen = ""
    taken = [f for f in fields if f.init]
    for field in sorted(taken, key=lambda f: f.kw_only):
        optional = _has_default(vm, field)
        if not field.kw_only and not optional and seen:
            message = f"the field `{field.name}` without a default follows `{seen}`, which has one"
            vm.fault(TypeError, message, span)
            optional = True
        if optional:
            seen = field.name
        kind = (
            inspect.Parameter.KEYWORD_ONLY
            if field.kw_only
            else inspect.Parameter.POSITIONAL_OR_KEYWORD
        )
        default = UNBOUND if optional else inspect.Parameter.empty
        parameters.append(inspect.Parameter(field.name, kind, default=default))
    return inspect.Signature(parameters)


def _has_default(vm: VM, field: Field) -> bool:
    held = _held(vm, field.shown)
    return held[DEFAULT] is not UNBOUND or held[FACTORY] is not UNBOUND


def _default(vm: VM, field: Field, span: Span) -> object:
    """What a field is without an argument; UNBOUND if it is nothing."""
    held = _held(vm, field.shown)
    if held[FACTORY] is not UNBOUND:
        return vm.call(held[FACTORY], (), span=span)
    return held[DEFAULT]


def _assign(
    vm: VM, self: object, name: str, value: object, options: Options, span: Span
) -> None:
    if options.frozen and isinstance(self, Ref):
        attributes.store(vm, self, name, value, span)
    else:
        vm.set_attribute(self, name, value, span)


# ------------------------------------------------------------------------ the others


def _values(vm: VM, self: object, names: Sequence[str], span: Span) -> tuple[object, ...]:
    return tuple(vm.attribute(self, name, span) for name in names)


def _comparison(cls: Class, op: str, names: tuple[str, ...]) -> Callable[..., object]:
    def compare(vm: VM, span: Span, self: object, other: object, /) -> object:
        def one(right: object) -> object:
            if vm.type_of(right) != vm.type_of(self):
                return NotImplemented
            left_values = _values(vm, self, names, span)
            return vm.compare(op, left_values, _values(vm, right, names, span), span)

        return vm.each(other, one)

    return compare


def _repr(names: tuple[str, ...]) -> Callable[..., object]:
    def show(vm: VM, span: Span, self: object, /) -> object:
        shown: list[object] = []
        for name in names:
            text = text_of(vm, vm.attribute(self, name, span), "r", span)
            shown.append(concatenated(vm, [f"{name}=", text]))
        cls = vm.type_of(self)
        qualname = namespace(vm, cls).get("__qualname__") if isinstance(cls, Class) else None
        return concatenated(vm, [f"{qualname}(", concatenated(vm, shown, ", "), ")"])

    return show


def _freeze(vm: VM, cls: Class, fields: tuple[Field, ...], span: Span) -> None:
    names = {f.name for f in fields}

    def refuse(vm: VM, span: Span, self: object, name: object, value: object) -> object:
        if vm.type_of(self) is cls or name in names:
            what = "cannot assign to field" if value is not UNBOUND else "cannot delete field"
            vm.fault(dataclasses.FrozenInstanceError, f"{what} `{name}`", span)
            return None
        hook = "__setattr__" if value is not UNBOUND else "__delattr__"
        mro = hierarchy.mro_of(vm.type_of(self))
        found = hierarchy.find(vm, mro[mro.index(cls) + 1 :], hook)
        args = (name,) if value is UNBOUND else (name, value)
        bound = hierarchy.bind(vm, found, self, vm.type_of(self), span)
        return vm.call(bound, args, span=span)

    def set_(vm: VM, span: Span, self: object, name: object, value: object, /) -> object:
        return refuse(vm, span, self, name, value)

    def delete(vm: VM, span: Span, self: object, name: object, /) -> object:
        return refuse(vm, span, self, name, UNBOUND)

    for name in ("__setattr__", "__delattr__"):
        if name in namespace(vm, cls):
            vm.fault(TypeError, f"cannot overwrite `{name}` of `{cls.name}`", span)
    _put(vm, cls, "__setattr__", set_)
    _put(vm, cls, "__delattr__", delete)


# ------------------------------------------------------------------------ functions


def _instance_fields(
    vm: VM, value: object, what: str, span: Span
) -> tuple[Field, ...] | None:
    box = vm.box(value)
    found = fields_of(box.cls) if isinstance(box, ObjectBox) else None
    if found is None:
        vm.fault(TypeError, f"`{what}()` should be called on instances of data classes", span)
    return found


def _replace(vm: VM, span: Span, obj: object, /, **changes: object) -> object:
    def one(value: object) -> object:
        if isinstance(value, Opaque):
            return value
        fields = _instance_fields(vm, value, "replace", span)
        if fields is None:
            return vm.unfollowed("`replace()` of something else", span)
        values = dict(changes)
        for field in fields:
            if not field.init:
                if field.name in values:
                    message = f"`{field.name}` is declared with init=False"
                    vm.fault(ValueError, message, span)
            elif field.name not in values:
                if field.only_init and not _has_default(vm, field):
                    vm.fault(ValueError, f"`{field.name}` must be specified", span)
                values[field.name] = vm.attribute(value, field.name, span)
        return vm.call(vm.type_of(value), (), values, span=span)

    return vm.each(obj, one)


def _asdict(vm: VM, span: Span, obj: object, *, dict_factory: object = None) -> object:
    return _converted(vm, span, obj, "asdict", dict_factory)


def _astuple(vm: VM, span: Span, obj: object, *, tuple_factory: object = None) -> object:
    return _converted(vm, span, obj, "astuple", tuple_factory)


def _converted(vm: VM, span: Span, obj: object, what: str, factory: object) -> object:
    if factory is not None:
        return vm.unfollowed(f"`{what}()` with a factory is not followed", span)

    def one(value: object) -> object:
        if isinstance(value, Opaque):
            return value
        if _instance_fields(vm, value, what, span) is None:
            return vm.unfollowed(f"`{what}()` of something else", span)
        return _inner(vm, value, what, span)

    return vm.each(obj, one)


def _inner(vm: VM, value: object, what: str, span: Span) -> object:
    """A data class inside of one too, and what containers hold; the rest is copied."""
    if isinstance(value, Guarded):
        return vm.each(value, lambda v: _inner(vm, v, what, span))
    box = vm.box(value)
    fields = fields_of(box.cls) if isinstance(box, ObjectBox) else None
    if fields is not None:
        pairs = {
            f.name: _inner(vm, vm.attribute(value, f.name, span), what, span)
            for f in fields
            if not f.only_init
        }
        if what == "astuple":
            return tuple(pairs.values())
        held: dict[object, object] = dict(pairs)
        return vm.heap.new(DictBox(held))
    if isinstance(value, tuple):
        return tuple(_inner(vm, item, what, span) for item in value)
    if isinstance(box, ListBox):
        items = box.concrete
        if items is None:
            return vm.unfollowed(f"`{what}()` of a list of unknown length", span)
        return vm.heap.new(ListBox.of([_inner(vm, item, what, span) for item in items]))
    if isinstance(box, DictBox):
        return vm.heap.new(
            DictBox({key: _optional(vm, item, what, span) for key, item in box.items.items()})
        )
    return copying.deep(vm, value, span)


def _optional(vm: VM, value: object, what: str, span: Span) -> object:
    if isinstance(value, Guarded) and any(v is UNBOUND for _, v in value.cases):
        return vm.unfollowed(f"`{what}()` of a key that is there on some paths only", span)
    return _inner(vm, value, what, span)


def _fields(vm: VM, span: Span, class_or_instance: object, /) -> object:
    def one(value: object) -> object:
        box = vm.box(value)
        found = fields_of(box.cls if isinstance(box, ObjectBox) else value)
        if found is None:
            if isinstance(value, Opaque):
                return value
            vm.fault(TypeError, "must be called with a dataclass type or instance", span)
            return vm.unfollowed("`fields()` of something else", span)
        return tuple(f.shown for f in found if not f.only_init)

    return vm.each(class_or_instance, one)


def _is_dataclass(vm: VM, span: Span, obj: object, /) -> object:
    def one(value: object) -> object:
        if isinstance(value, Opaque):
            return value
        box = vm.box(value)
        cls = box.cls if isinstance(box, ObjectBox) else value
        return E.truth(fields_of(cls) is not None)

    return vm.each(obj, one)


def _make_dataclass(vm: VM, span: Span, /, *args: object, **keywords: object) -> object:
    return vm.unfollowed("`make_dataclass()` is not followed", span)


_FUNCTIONS: Final[Mapping[str, Callable[..., object]]] = {
    "dataclass": _dataclass,
    "field": _field,
    "replace": _replace,
    "asdict": _asdict,
    "astuple": _astuple,
    "fields": _fields,
    "is_dataclass": _is_dataclass,
    "make_dataclass": _make_dataclass,
}

MODULES: Final[dict[str, dict[str, object]]] = {
    "dataclasses": {
        **{name: Builtin.of(name, handler) for name, handler in _FUNCTIONS.items()},
        "InitVar": INIT_VAR,
        "KW_ONLY": KW_ONLY,
        "MISSING": HostType(dataclasses.MISSING.__class__),
        "Field": HostType(dataclasses.Field),
        "FrozenInstanceError": HostType(dataclasses.FrozenInstanceError),
    }
}

__all__ = ["CLASS_VAR", "MODULES", "Field", "Inherited", "fields_of"]
