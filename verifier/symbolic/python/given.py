"""What a parameter's name is bound to when the kernel starts.

The value that a parameter has by default says what it is: a number stands for any number, None for
an argument that may be left out, a member of an enumeration for any of its members.
"""

from __future__ import annotations

from difflib import get_close_matches
from types import EllipsisType

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.python import contradictions, modules, objectinputs
from verifier.symbolic.python.flow import Ended
from verifier.symbolic.python.heap import UNBOUND, ListBox
from verifier.symbolic.python.inputs import InputKind, Parameter, Word, absent_name, left_out
from verifier.symbolic.python.model import Builtin, Class, Function
from verifier.symbolic.python.objectinputs import Noted
from verifier.symbolic.python.pins import (
    ChoicePin,
    ContractMismatchError,
    DefaultPin,
    FlagPin,
    IntegerPin,
    NamedPin,
    ObjectPin,
    Pin,
    RangePin,
    SequencePin,
    TensorPin,
    TypePin,
    ValuePin,
    argument_path,
    item_path,
    option_key,
)
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import DType
from verifier.symbolic.values import Guarded, ModuleRef, Opaque, OpaqueOf, Range, Ref, SliceValue


def initial_value(
    vm: VM, p: Parameter, noted: Noted | None = None, sequence: str | None = None
) -> object:
    """The value of an input, with what its pinned value, default and annotation say about it.

    ``sequence``: the text shows that it is a tuple, see :class:`.evidence.Hint`.
    """
    p.pinned = contradictions.settled(p)
    if p.pinned is not None:
        return _pinned(vm, p, p.pinned)
    if p.has_default and p.default is None:
        absent = E.bool_symbol(absent_name(p.name))
        noted = None if noted is None else noted.present
        with vm.guarded(E.not_(absent)):
            given = _annotated(vm, p, noted, sequence)
        return Guarded(((absent, None), (E.not_(absent), given)))
    if p.has_default:
        return _like_default(vm, p, noted)
    return _annotated(vm, p, noted, sequence)


def _annotated(
    vm: VM, p: Parameter, noted: Noted | None = None, sequence: str | None = None
) -> object:
    if isinstance(p, Word):
        p.kind = InputKind.STRING
        return p
    if p.annotation == "bool":
        return vm.inputs.flag(p)
    if p.annotation == "float":
        return OpaqueOf(f"the float `{p.name}`", harmless=True, host=float, loose=True)
    if noted is not None:
        made = objectinputs.of_annotation(vm, p, noted, _maker(vm))
        if made is not UNBOUND:
            return made
    if sequence == "nested":
        return Opaque(f"the tuple `{p.name}`", given=True)
    if sequence == "flat":
        p.kind = InputKind.TUPLE
    return vm.inputs.integer(p) if p.annotation == "int" else p


def _pinned(vm: VM, p: Parameter, pin: Pin) -> object:
    """What a contract makes an input.

    Raises:
        ContractMismatchError: it names what is not there.
    """
    if isinstance(pin, (RangePin, IntegerPin)):
        return vm.inputs.integer(p)
    if isinstance(pin, FlagPin):
        return vm.inputs.flag(p)
    if isinstance(pin, TypePin):
        if pin.name == "float":
            return OpaqueOf(f"the float `{p.name}`", harmless=True, host=float, loose=True)
        p.kind = InputKind.STRING
        return p
    if isinstance(pin, TensorPin):
        p.kind = InputKind.TENSOR if pin.shape is not None else p.kind
        return p
    if isinstance(pin, SequencePin):
        items = tuple(_part(vm, p, item_path(p.name, k)) for k in range(pin.count))
        return vm.heap.new(ListBox.of(items)) if pin.is_list else items
    if isinstance(pin, ObjectPin):
        made = _by_name(vm, p, pin.path)
        args = [_part(vm, p, argument_path(p.name, k)) for k in range(pin.count)]
        named = {key: _part(vm, p, argument_path(p.name, key)) for key in pin.keywords}
        return _called(vm, p, pin, made, args, named)
    if isinstance(pin, ChoicePin):
        return _chosen(vm, p, pin)
    if isinstance(pin, DefaultPin):
        if not p.has_default:
            raise ContractMismatchError(f"`{p.name}` has no default")
        return p.default
    return _single(vm, p, pin)


def _called(
    vm: VM, p: Parameter, pin: ObjectPin, made: object, args: list[object], named: dict[str, object]
) -> object:
    """What a class makes of arguments."""
    checks = len(vm.checks)
    try:
        return vm.call(made, args, named, span=p.span)
    except Ended as error:
        told = f": {vm.checks[-1].check.message}" if len(vm.checks) > checks else ""
        text = f"`{'.'.join(pin.path)}(...)` makes nothing of what it is given{told}"
        raise ContractMismatchError(text) from error


def _part(vm: VM, p: Parameter, path: str) -> object:
    """One of the inputs that an input is made of."""
    part = Parameter(path, p.span, pinned=vm.inputs.pinned.get(path))
    vm.inputs.parameters[path] = part
    return initial_value(vm, part)


def _single(vm: VM, p: Parameter, pin: ValuePin | NamedPin) -> object:
    """One known value."""
    if isinstance(pin, NamedPin):
        return _by_name(vm, p, pin.path)
    value = pin.value
    if isinstance(value, str) and "dtype" in p.name:
        return vm.as_dtype(value, p.span) or value
    return value if isinstance(value, bool) or not isinstance(value, int) else E.const(value)


def _imported(vm: VM, path: tuple[str, ...]) -> tuple[object, int]:
    """What a dotted name that starts with that of a module stands for, and how much of it."""
    for count in range(len(path) - 1, 0, -1):
        dotted = ".".join(path[:count])
        module = vm.project.resolve_import(vm.frame.module, dotted)
        if module is not None:
            return ModuleRef(str(module.path), module), count
        value = vm.dialect.root(dotted)
        if value is not None:
            return value, count
    return UNBOUND, 1


def _by_name(vm: VM, p: Parameter, path: tuple[str, ...]) -> object:
    """A value by its name in the module of the kernel, or by its full dotted name."""
    value, count = modules.global_value(vm, vm.frame.module, path[0]), 1
    if value is UNBOUND:
        value = vm.language.builtins.get(path[0], UNBOUND)
    if value is UNBOUND:
        value, count = _imported(vm, path)
    if value is UNBOUND:
        known = [name for name in vm.frame.module.bindings if not name.startswith("_")]
        near = get_close_matches(path[0], known, 1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        raise ContractMismatchError(f"its module has no name `{path[0]}`{hint}")
    for name in path[count:]:
        checks = len(vm.checks)
        try:
            value = vm.attribute(value, name, p.span)
        except Ended:
            checks = -1
        if len(vm.checks) != checks:
            raise ContractMismatchError(f"there is no `{'.'.join(path)}`")
    return value


def _chosen(vm: VM, p: Parameter, pin: ChoicePin) -> object:
    """Any of several values."""
    p.kind = InputKind.STRING if pin.tensor is None else InputKind.TENSOR
    told = [(_is_option(vm, p, option), _single(vm, p, option)) for option in pin.options]
    return objectinputs.one_of(vm, p, told, (p,) if pin.tensor is not None else ())


def _is_option(vm: VM, p: Parameter, option: ValuePin | NamedPin) -> Bool:
    """Whether the input is that one of several values."""
    if isinstance(option, ValuePin) and option.value is None:
        return E.bool_symbol(absent_name(p.name))
    shown = ".".join(option.path) if isinstance(option, NamedPin) else repr(option.value)
    return vm.inputs.word(p, option_key(option), shown)


def _maker(vm: VM) -> objectinputs.Make:
    """What makes the inputs that others are made of."""
    return lambda part, noted: initial_value(vm, part, noted)


def _like_default(vm: VM, p: Parameter, noted: Noted | None) -> object:
    """Any value of the kind that the default is."""
    default = p.default
    if isinstance(default, (bool, Bool)) or p.annotation == "bool":
        return vm.inputs.flag(p)
    if isinstance(default, float):
        return OpaqueOf(f"the float `{p.name}`", harmless=True, host=float)
    if p.annotation == "float":
        return OpaqueOf(f"the float `{p.name}`", harmless=True, host=float, loose=True)
    if isinstance(default, Expr):
        return vm.inputs.integer(p)
    if isinstance(default, str):
        p.kind = InputKind.STRING
        return p
    if isinstance(default, DType):
        return vm.inputs.as_dtype(p)
    if isinstance(default, tuple):
        return tuple(_item(vm, p, k, item) for k, item in enumerate(default))
    if isinstance(default, Ref):
        made = objectinputs.like(vm, p, default, _maker(vm))
        return _or_other(p, default, f"the object `{p.name}`") if made is UNBOUND else made
    if isinstance(default, (Function, Class, Builtin)):
        return _or_other(p, default, f"the function `{p.name}`")
    if isinstance(default, (Range, SliceValue, bytes, EllipsisType)):
        return _or_other(p, default, f"`{p.name}`")
    return _annotated(vm, p, noted)


def _or_other(p: Parameter, default: object, what: str) -> Guarded:
    """The default of an input, or something else."""
    absent = E.bool_symbol(left_out(p.name))
    return Guarded(((absent, default), (E.not_(absent), Opaque(what, given=True))))


def _item(vm: VM, p: Parameter, position: int, default: object) -> object:
    """Any value of the kind that an item of the default is; None may be anything else, too."""
    if isinstance(default, (bool, Bool)):
        return E.bool_symbol(f"{p.name}[{position}]")
    if isinstance(default, Expr):
        return vm.inputs.item(p, position)
    kind = Word if isinstance(default, str) else Parameter
    part = kind(item_path(p.name, position), p.span, default, has_default=True)
    vm.inputs.parameters[part.name] = part
    return initial_value(vm, part)


__all__ = ["initial_value"]
