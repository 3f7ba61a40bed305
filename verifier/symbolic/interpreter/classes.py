"""Classes of the analysed project, with the object semantics of the NKI front end.

Every field of a class that derives from ``NKIObject`` (or is a dataclass) is an optional
constructor parameter in declaration order, ``__post_init__`` always runs, attributes may be added
later; a class with its own ``__init__`` uses that. Enumerations compare by identity.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from verifier.source import ir
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.interpreter.heap import UNBOUND, ObjectBox, Scope
from verifier.symbolic.machine import Arg
from verifier.symbolic.values import Class, EnumMember, Function, Opaque, Range, Ref

if TYPE_CHECKING:
    from verifier.source.project import Module
    from verifier.symbolic.interpreter.vm import VM

_ENUMS = {"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"}


def define(vm: VM, node: ir.ClassDef, module: Module) -> Class:
    """The class a definition makes. Fields' defaults are evaluated when an instance is made."""
    bases = [_base_name(base) for base in node.bases]
    if any(base in _ENUMS for base in bases):
        kind = "enum"
    elif "NKIObject" in bases or any(_base_name(d) == "dataclass" for d in node.decorators):
        kind = "object"
    else:
        kind = "plain"
    cls = Class(node, module, kind)
    for stmt in node.body:
        if isinstance(stmt, ir.FunctionDef):
            cls.namespace[stmt.name] = Function(stmt, module, qualname=f"{node.name}.{stmt.name}")
    if kind == "enum":
        for stmt in node.body:
            if isinstance(stmt, ir.Assign) and isinstance(stmt.targets[0], ir.Name):
                name = stmt.targets[0].id
                cls.namespace[name] = EnumMember(node.name, name, _in_class(vm, cls, stmt.value))
    return cls


def _base_name(node: ir.Expr) -> str:
    if isinstance(node, ir.Call):
        return _base_name(node.func)
    if isinstance(node, ir.Attribute):
        return node.attr
    return node.id if isinstance(node, ir.Name) else ""


def _in_class(vm: VM, cls: Class, node: ir.Expr) -> object:
    """Evaluate an expression of a class body: class names first, then the module's."""
    from verifier.symbolic.interpreter.vm import Frame

    names = dict(cls.namespace.items())
    scope = vm.heap.new(Scope(names))
    vm.frames.append(Frame(cls.module, scope.id, vm.path_length()))
    try:
        return vm.eval(node)
    finally:
        vm.frames.pop()


def fields(cls: Class) -> list[tuple[str, ir.Expr | None]]:
    """The declared fields in order, with their defaults."""
    out: list[tuple[str, ir.Expr | None]] = []
    for stmt in cls.definition.body:
        if isinstance(stmt, ir.AnnAssign) and isinstance(stmt.target, ir.Name):
            out.append((stmt.target.id, stmt.value))
        elif isinstance(stmt, ir.Assign) and isinstance(stmt.targets[0], ir.Name):
            out.append((stmt.targets[0].id, stmt.value))
    return out


def base_class(vm: VM, cls: Class) -> Class | None:
    """The first base that is a class of the project."""
    from verifier.symbolic.interpreter import names

    for base in cls.definition.bases:
        if isinstance(base, ir.Name):
            found = names.module_global(vm, cls.module, base.id)
            if isinstance(found, Class):
                return found
    return None


def method(vm: VM, cls: Class, name: str) -> object:
    """A function or class attribute, also of a base; ``UNBOUND`` if there is none."""
    from verifier.symbolic.interpreter import names

    current: Class | None = cls
    for _ in range(8):
        if current is None:
            break
        if name in current.namespace:
            return current.namespace[name]
        for field_name, default in fields(current):
            if field_name == name and default is not None:
                with names.before_the_kernel(vm):  # it is kept, whatever path asked first
                    value = _in_class(vm, current, default)
                current.namespace[name] = value
                return value
        current = base_class(vm, current)
    return UNBOUND


def bound(function: Function, cls: Class, instance: Ref | None) -> Function:
    """A method as it is found on an instance or, without one, on the class."""
    definition = function.definition
    decorators = definition.decorators if isinstance(definition, ir.FunctionDef) else ()
    kinds = {_base_name(d) for d in decorators}
    first: object = cls if "classmethod" in kinds else instance
    return function if "staticmethod" in kinds else replace(function, bound_self=first)


def instantiate(
    vm: VM, cls: Class, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span
) -> object:
    """Make an instance."""
    from verifier.symbolic.interpreter import calls

    if cls.kind == "enum":
        for member in cls.namespace.values():
            if isinstance(member, EnumMember) and args and member.value is args[0].value:
                return member
        return Opaque(f"a member of {cls.definition.name}")
    ref = vm.heap.new(ObjectBox(cls))
    init = method(vm, cls, "__init__")
    if isinstance(init, Function):
        calls.call_function(vm, init, (Arg(ref, span), *args), keywords, span)
        return ref
    given = iter(args)
    for name, default in _all_fields(vm, cls):
        value: object = None
        arg = next(given, None)
        if arg is not None:
            value = arg.value
        elif name in keywords:
            value = keywords[name].value
        elif default is not None:
            value = _default(vm, default[0], default[1])
        box = vm.heap.write(ref.id)
        assert isinstance(box, ObjectBox)
        box.attributes[name] = value
    known = {name for name, _ in _all_fields(vm, cls)}
    for name, arg in keywords.items():
        if name not in known:
            box = vm.heap.write(ref.id)
            assert isinstance(box, ObjectBox)
            box.attributes[name] = arg.value
    post = method(vm, cls, "__post_init__")
    if isinstance(post, Function):
        calls.call_function(vm, post, (Arg(ref, span),), {}, span)
    return ref


def _all_fields(vm: VM, cls: Class) -> list[tuple[str, tuple[Class, ir.Expr] | None]]:
    out: dict[str, tuple[Class, ir.Expr] | None] = {}
    base = base_class(vm, cls)
    if base is not None and base is not cls:
        out.update(_all_fields(vm, base))
    for name, default in fields(cls):
        out[name] = None if default is None else (cls, default)
    return list(out.items())


def _default(vm: VM, cls: Class, node: ir.Expr) -> object:
    """A field's default; ``field(default_factory=f)`` calls ``f``."""
    from verifier.symbolic.interpreter import calls

    if isinstance(node, ir.Call) and _base_name(node.func) == "field":
        for keyword in node.keywords:
            if keyword.name == "default":
                return _in_class(vm, cls, keyword.value)
            if keyword.name == "default_factory":
                factory = _in_class(vm, cls, keyword.value)
                return calls.call_value(vm, factory, (), {}, node.span, "")
        return None
    return _in_class(vm, cls, node)


def as_sequence(vm: VM, ref: Ref, span: Span) -> object | None:
    """What iterating over an instance runs through: ``__iter__``, or indices below ``__len__``."""
    from verifier.symbolic.interpreter import calls

    box = vm.heap.get(ref.id)
    if not isinstance(box, ObjectBox) or not isinstance(box.cls, Class):
        return None
    iterate = method(vm, box.cls, "__iter__")
    if isinstance(iterate, Function):
        return calls.call_function(vm, iterate, (Arg(ref, span),), {}, span)
    length = method(vm, box.cls, "__len__")
    if isinstance(length, Function):
        count = calls.call_function(vm, length, (Arg(ref, span),), {}, span)
        if isinstance(count, Expr):
            return Range(E.const(0), count, E.const(1), "range", span)
    return None
