"""``object``, ``super``, ``property`` and kin, and what exceptions can do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from verifier.source import ir
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.machine import Arg, Call
from verifier.symbolic.python import attributes, concrete, hierarchy, making
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.heap import UNBOUND, ListBox, ObjectBox, Scope
from verifier.symbolic.python.integers import bounded_unknown
from verifier.symbolic.python.kinds import descriptors, protocols
from verifier.symbolic.python.kinds.segments import is_list
from verifier.symbolic.python.library import copying
from verifier.symbolic.python.model import (
    Builtin,
    Class,
    ClassMethod,
    HostType,
    StaticMethod,
    Super,
)
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import TEXT, Opaque, Ref

# ------------------------------------------------------------------------ object

OBJECT: Final = Table("object")


def _call_of(span: Span, args: tuple[object, ...], keywords: Mapping[str, object]) -> Call:
    given = tuple(Arg(value, span) for value in args)
    return Call(given, {n: Arg(v, span) for n, v in keywords.items()}, span, "")


@OBJECT.add("__new__")
def _new(vm: VM, span: Span, cls: object, /, *args: object, **keywords: object) -> object:
    """``object.__new__(cls)``; for a class with a built-in base, that one's."""
    call = _call_of(span, args, keywords)
    if isinstance(cls, Class):
        if hierarchy.layout(cls) is None and (args or keywords):
            own = hierarchy.overrides(vm, cls, "__new__")
            if own or not hierarchy.overrides(vm, cls, "__init__"):
                what = f"`{cls.name}` takes no arguments"
                vm.fault(TypeError, what, span, rule="call-signature")
        if hierarchy.is_external(cls):
            return vm.unfollowed(f"an instance of `{cls.name}`", span)
        return making.allocate(vm, cls, call)
    if isinstance(cls, HostType):
        if cls.type is object:
            if args or keywords:
                vm.fault(TypeError, "object() takes no arguments", span, rule="call-signature")
            return vm.heap.new(ObjectBox(cls))
        return vm.invoke(cls, call)
    return vm.unfollowed("`__new__` of what is no class is not followed", span)


@OBJECT.add("__init__")
def _init(vm: VM, span: Span, self: object, /, *args: object, **keywords: object) -> object:
    if isinstance(self, Ref) and isinstance(vm.box(self), ObjectBox):
        making.built_in_init(vm, self, _call_of(span, args, keywords))
        return None
    return vm.unfollowed("`__init__` of a built-in type is not followed", span)


@OBJECT.add("__init_subclass__")
def _init_subclass(vm: VM, span: Span, cls: object, /, **keywords: object) -> object:
    if keywords:
        message = "`__init_subclass__()` takes no keyword arguments"
        vm.fault(TypeError, message, span, rule="call-signature")
    return None


@OBJECT.add("__getattribute__")
def _getattribute(vm: VM, span: Span, self: object, name: object, /) -> object:
    if not isinstance(name, str) or not isinstance(self, Ref):
        return vm.unfollowed("`__getattribute__` is not followed", span)
    if not isinstance(vm.box(self), ObjectBox):
        return vm.attribute(self, name, span)
    found = attributes.generic(vm, self, name, span)
    if found is UNBOUND:
        what = vm.kind(self).describe(vm, self)
        vm.fault(AttributeError, f"{what} has no attribute `{name}`", span)
    return found


@OBJECT.add("__setattr__")
def _setattr(vm: VM, span: Span, self: object, name: object, value: object, /) -> object:
    if isinstance(name, str) and isinstance(self, Ref) and isinstance(vm.box(self), ObjectBox):
        attributes.store(vm, self, name, value, span)
        return None
    return vm.unfollowed("`__setattr__` is not followed", span)


@OBJECT.add("__delattr__")
def _delattr(vm: VM, span: Span, self: object, name: object, /) -> object:
    if isinstance(name, str) and isinstance(self, Ref) and isinstance(vm.box(self), ObjectBox):
        attributes.store(vm, self, name, UNBOUND, span)
        return None
    return vm.unfollowed("`__delattr__` is not followed", span)


@OBJECT.add("__eq__")
def _eq(vm: VM, span: Span, self: object, other: object, /) -> object:
    def one(right: object) -> object:
        same = vm.identical(self, right, span)
        return vm.fork(same, lambda: True, lambda: NotImplemented)

    return vm.each(other, one)


@OBJECT.add("__ne__")
def _ne(vm: VM, span: Span, self: object, other: object, /) -> object:
    def one(right: object) -> object:
        same = vm.kind(self).compare(vm, "==", self, right, span)
        return vm.each(same, negated)

    def negated(same: object) -> object:
        if same is NotImplemented or isinstance(same, Opaque):
            return same
        return E.not_(vm.truth(same, span))

    return vm.each(other, one)


@OBJECT.add("__lt__", "__le__", "__gt__", "__ge__")
def _order(vm: VM, span: Span, self: object, other: object, /) -> object:
    return NotImplemented


@OBJECT.add("__hash__")
def _hash(vm: VM, span: Span, self: object, /) -> object:
    return bounded_unknown(vm, "a hash is not followed", span, -(1 << 63), 1 << 63)


@OBJECT.add("__repr__")
def _repr(vm: VM, span: Span, self: object, /) -> object:
    return TEXT


@OBJECT.add("__str__")
def _str(vm: VM, span: Span, self: object, /) -> object:
    return vm.kind(self).text(vm, self, "r", span)


@OBJECT.add("__format__")
def _format(vm: VM, span: Span, self: object, format_spec: object, /) -> object:
    def one(spec: object) -> object:
        if spec == "":
            return vm.kind(self).text(vm, self, "s", span)
        if isinstance(spec, Opaque):
            return vm.unfollowed("a format that is not known, for an object", span)
        vm.fault(TypeError, "an object takes no format", span)
        return UNBOUND

    return vm.each(concrete.payload(vm, format_spec), one)


# ------------------------------------------------------------------------ exceptions

EXCEPTION: Final = Table("BaseException")


def _exception(vm: VM, self: object) -> ObjectBox:
    box = vm.box(self)
    assert isinstance(box, ObjectBox)
    return box


@EXCEPTION.add("__str__")
def _exception_str(vm: VM, span: Span, self: object, /) -> object:
    return protocols.of_exception(vm, _exception(vm, self), "s", span)


@EXCEPTION.add("__repr__")
def _exception_repr(vm: VM, span: Span, self: object, /) -> object:
    return protocols.of_exception(vm, _exception(vm, self), "r", span)


@EXCEPTION.add("with_traceback")
def _with_traceback(vm: VM, span: Span, self: object, tb: object, /) -> object:
    return self


@EXCEPTION.add("add_note")
def _add_note(vm: VM, span: Span, self: object, note: object, /) -> object:
    assert isinstance(self, Ref)
    if not isinstance(concrete.payload(vm, note), (str, Opaque)) and vm.kind(note).complete:
        what = vm.kind(note).describe(vm, note)
        vm.fault(TypeError, f"note must be a str, not {what}", span)
    held = _exception(vm, self).attributes.get("__notes__", UNBOUND)
    if held is UNBOUND:
        attributes.put(vm, self, "__notes__", vm.heap.new(ListBox.of([note])), span)
    else:
        if not is_list(vm, vm.settled(held)):
            vm.fault(TypeError, "Cannot add note: __notes__ is not a list", span)
        vm.call(vm.attribute(held, "append", span), (note,), span=span)
    return None


# ------------------------------------------------------------------------ super


def _super(vm: VM, span: Span, type: object = UNBOUND, obj: object = UNBOUND, /) -> object:
    if type is UNBOUND:
        return _implied(vm, span)
    if obj is UNBOUND:
        return vm.unfollowed("an unbound `super` is not followed", span)
    return vm.each(obj, lambda value: Super(type, value))


def _implied(vm: VM, span: Span) -> object:
    """``super()``: the class whose text this is, and the first argument of the function."""
    function = vm.frame.function
    if function is None or function.owner is None or vm.frame.body_of is not None:
        vm.fault(RuntimeError, "super(): __class__ cell not found", span)
        return vm.unfollowed("`super()` outside of a class", span)
    params = function.definition.params
    if not params or params[0].kind in (ir.ParamKind.KEYWORD, ir.ParamKind.DOUBLE_STAR):
        vm.fault(RuntimeError, "super(): no arguments", span)
        return vm.unfollowed("`super()` without an argument", span)
    scope: Scope = vm.scope()
    while scope.inlined and scope.parent is not None:
        outer = vm.heap.get(scope.parent)
        assert isinstance(outer, Scope)
        scope = outer
    first = scope.names.get(params[0].name, UNBOUND)
    if params[0].kind is ir.ParamKind.STAR and isinstance(first, tuple):
        first = first[0] if first else UNBOUND
    if first is UNBOUND:
        vm.fault(RuntimeError, "super(): arg[0] deleted", span)
        return vm.unfollowed("`super()` without an argument", span)
    owner = function.owner
    return vm.each(first, lambda value: Super(owner, value))


# ------------------------------------------------------------------------ property and kin


def _vars(vm: VM, span: Span, obj: object = UNBOUND, /) -> object:
    if obj is UNBOUND:
        return vm.unfollowed("`vars()` is not followed", span)

    def one(value: object) -> object:
        cls = vm.type_of(value)
        found: object = UNBOUND
        if not isinstance(cls, HostType) or cls.type.__dictoffset__ != 0:
            found = vm.kind(value).attribute(vm, value, "__dict__", span)
        if found is UNBOUND:
            vm.fault(TypeError, "vars() argument must have __dict__ attribute", span)
        return found

    return vm.each(obj, one)


def _property(
    vm: VM,
    span: Span,
    fget: object = None,
    fset: object = None,
    fdel: object = None,
    doc: object = None,
) -> object:
    return descriptors.made_property(vm, fget, fset, fdel, doc, span)


def _staticmethod(vm: VM, span: Span, function: object, /) -> object:
    return StaticMethod(function)


def _classmethod(vm: VM, span: Span, function: object, /) -> object:
    return ClassMethod(function)


CONSTRUCTORS: Final[dict[type, Builtin]] = {
    super: Builtin.of("super", _super),
    property: Builtin.of("property", _property),
    staticmethod: Builtin.of("staticmethod", _staticmethod),
    classmethod: Builtin.of("classmethod", _classmethod),
}
BUILTINS: Final[dict[str, object]] = {
    "object": HostType(object),
    "vars": Builtin.of("vars", _vars),
    "super": HostType(super),
    "property": HostType(property),
    "staticmethod": HostType(staticmethod),
    "classmethod": HostType(classmethod),
}
METHODS: Final[Mapping[str, Table]] = {"object": OBJECT, "BaseException": EXCEPTION}
MODULES: Final[dict[str, dict[str, object]]] = copying.MODULES
