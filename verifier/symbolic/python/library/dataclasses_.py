"""``dataclasses``: methods made of the fields that a class body annotates."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from verifier.source.ir import Span
from verifier.symbolic.python import attributes, hierarchy
from verifier.symbolic.python.fields import FACTORY, TOLD, TRAIT, given, open_question
from verifier.symbolic.python.heap import UNBOUND, ObjectBox, Scope, StateBox
from verifier.symbolic.python.hierarchy import Generated, namespace
from verifier.symbolic.python.library.dataclass_fields import (
    INIT_VAR,
    KINDS,
    KW_ONLY,
    MISSING,
    Field,
    Options,
    collected,
    default_of,
    has_default,
    held_by,
)
from verifier.symbolic.python.library.dataclass_fields import (
    field as make_field,
)
from verifier.symbolic.python.library.dataclass_functions import FUNCTIONS
from verifier.symbolic.python.model import Builtin, Class, HostType
from verifier.symbolic.python.strings import concatenated, text_of
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import TEXT, Opaque, Ref

_ORDER: Final = {"__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}


# ------------------------------------------------------------------------ @dataclass


def _dataclass(vm: VM, span: Span, cls: object = None, /, **options: object) -> object:
    known = set(Options.__struct_fields__)
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
    if hierarchy.trait(cls, TRAIT) is not None:
        _of_nki(vm, cls, options)
        return cls
    fields = collected(vm, cls, cls.definition, options, span)
    cls.traits["dataclass"] = (fields, options)
    _generate(vm, cls, fields, options, span)
    return _with_slots(vm, cls, fields, span) if options.slots else cls


def _of_nki(vm: VM, cls: Class, options: Options) -> None:
    """The front end's own rules for its objects hold with and without the decorator.

    That what it says besides is heeded is documented nowhere: it is left open where it decides.
    """
    if options.eq:
        cls.traits[TOLD] = options

    def set_(vm: VM, span: Span, self: object, name: object, value: object, /) -> None:
        open_question(vm, cls, "whether `frozen=True` is heeded", span)
        if isinstance(self, Ref) and isinstance(name, str):
            attributes.store(vm, self, name, value, span)

    def order(vm: VM, span: Span, self: object, other: object, /) -> object:
        return open_question(vm, cls, "whether `order=True` is heeded", span)

    if options.frozen:
        _put(vm, cls, "__setattr__", set_)
    for name in _ORDER if options.order else ():
        _put(vm, cls, name, order)


# ------------------------------------------------------------------------ generated methods


def _generate(vm: VM, cls: Class, fields: tuple[Field, ...], options: Options, span: Span) -> None:
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
    _hashes(vm, cls, options, explicit_hash, compared, hashed, span)
    if own.get("__doc__") is None:
        hierarchy.define_attribute(vm, cls, "__doc__", TEXT)
    if options.match_args and "__match_args__" not in own:
        names = tuple(f.name for f in fields if f.init and not f.kw_only)
        hierarchy.define_attribute(vm, cls, "__match_args__", names)


def _put(
    vm: VM, cls: Class, name: str, handler: Callable[..., object], *, anyway: bool = False
) -> None:
    if anyway or name not in namespace(vm, cls):
        made = Generated(Builtin.of(f"{cls.name}.{name}", handler))
        hierarchy.define_attribute(vm, cls, name, made)


def _orders(vm: VM, cls: Class, options: Options, compared: tuple[str, ...], span: Span) -> None:
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
    compared: tuple[str, ...],
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
    if options.eq and set(hashed) <= set(compared):
        cls.traits["hashed"] = compared  # equal instances have equal hashes

    def compute(vm: VM, span: Span, self: object, /) -> object:
        return vm.call(vm.language.builtins["hash"], (_values(vm, self, hashed, span),), span=span)

    _put(vm, cls, "__hash__", compute, anyway=True)


def _with_slots(vm: VM, cls: Class, fields: tuple[Field, ...], span: Span) -> object:
    """A class of the same contents with slots: it is another one than the class decorated."""
    held = dict(namespace(vm, cls))
    if "__slots__" in held:
        vm.fault(TypeError, f"`{cls.name}` already specifies __slots__", span)
    hooks = ("__init_subclass__", "__set_name__")
    objects = [vm.box(value) for value in held.values()]
    classes = [box.cls for box in objects if isinstance(box, ObjectBox)]
    if any(hierarchy.overrides(vm, one, name) for one in (cls, *classes) for name in hooks):
        vm.unfollowed("a class with slots is made again, which runs its hooks again", span)
    names = tuple(f.name for f in fields if not f.only_init)
    taken = set(_slots_above(vm, cls, span))
    own = tuple(name for name in names if name not in taken)
    for name in (*names, "__dict__"):
        held.pop(name, None)
    box = vm.heap.get(cls.namespace.id)
    assert isinstance(box, Scope)
    space = vm.heap.new(replace(box, names={**held, "__slots__": own}))
    return replace(cls, namespace=space, traits={**cls.traits, "slots": frozenset(own)})


def _slots_above(vm: VM, cls: Class, span: Span) -> Iterator[str]:
    for base in cls.mro[1:]:
        if not isinstance(base, Class) or "__slots__" not in namespace(vm, base):
            continue
        value = vm.settled(namespace(vm, base)["__slots__"])
        if isinstance(vm.box(value), (StateBox, ObjectBox)):
            vm.fault(TypeError, f"Slots of '{base.name}' cannot be determined", span)
        slots = base.traits.get("slots")
        yield from slots if isinstance(slots, frozenset) else ()


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
            if not field.init and not options.slots:
                if held_by(vm, field.shown)[FACTORY] is UNBOUND:
                    continue  # the class has the default
            if value is UNBOUND:
                value = default_of(vm, field, span)
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


def _signature(vm: VM, cls: Class, fields: tuple[Field, ...], span: Span) -> inspect.Signature:
    parameters = []
    seen = ""
    taken = [f for f in fields if f.init]
    for field in sorted(taken, key=lambda f: f.kw_only):
        optional = has_default(vm, field)
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


def _assign(vm: VM, self: object, name: str, value: object, options: Options, span: Span) -> None:
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
        if cls not in mro:  # with slots the class has been made again
            vm.fault(TypeError, "super(type, obj): obj must be an instance of type", span)
            return None
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


_FUNCTIONS: Final[Mapping[str, Callable[..., object]]] = {
    "dataclass": _dataclass,
    "field": make_field,
    **FUNCTIONS,
}

__all__ = ["KINDS", "MODULES"]

MODULES: Final[dict[str, dict[str, object]]] = {
    "dataclasses": {
        **{name: Builtin.of(name, handler) for name, handler in _FUNCTIONS.items()},
        "InitVar": INIT_VAR,
        "KW_ONLY": KW_ONLY,
        "MISSING": MISSING,
        "Field": HostType(dataclasses.Field),
        "FrozenInstanceError": HostType(dataclasses.FrozenInstanceError),
    }
}
