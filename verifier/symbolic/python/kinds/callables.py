"""What can be called: functions of the project, methods, models of Python's own functions."""

from __future__ import annotations

from typing import Any, Final

from verifier.source import ir
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool
from verifier.symbolic.machine import Arg, Call
from verifier.symbolic.python import notes, probes
from verifier.symbolic.python.builtin import invoke
from verifier.symbolic.python.heap import UNBOUND
from verifier.symbolic.python.hierarchy import Generated
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.kinds import partials
from verifier.symbolic.python.model import (
    BoundBuiltin,
    Builtin,
    Function,
    HostType,
    Method,
)
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import TEXT

_FUNCTION: Final = type(lambda: None)
_METHOD: Final = type("".join)
#: attributes of functions that cannot be given away
_OWN: Final = frozenset({"__closure__", "__globals__", "__code__", "__defaults__"})


def _forward(call: Call, *first: object) -> Call:
    given = tuple(Arg(value, call.span) for value in first)
    return Call((*given, *call.args), call.keywords, call.span, call.text, call.target_name)


class FunctionKind(Kind[VM]):
    """A function of the project."""

    name = "function"
    complete = True

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(_FUNCTION)

    def describe(self, vm: VM, value: Any) -> str:
        return f"the function `{value.qualname}`"

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        given = notes.noted(vm, value, name)
        if given is not UNBOUND:
            return given
        if name == "__name__":
            return value.name
        if name == "__qualname__":
            return value.qualname
        if name == "__module__":
            return value.module.path.stem
        if name == "__doc__":
            definition = value.definition
            return definition.docstring if isinstance(definition, ir.FunctionDef) else None
        if name in _FUNCTION.__dict__ or hasattr(_FUNCTION, name):
            return vm.unfollowed(f"`.{name}` of a function is not followed", span)
        if _is_wrapped(vm, value):
            return vm.unfollowed(f"`.{name}` of what a decorator made is not followed", span)
        return UNBOUND

    def set_attribute(self, vm: VM, value: Any, name: str, new: object, span: Span) -> None:
        if name in _OWN:
            vm.unfollowed(f"`.{name}` of a function is assigned to", span)
            return
        if new is UNBOUND and notes.noted(vm, value, name) is UNBOUND:
            what = self.describe(vm, value)
            vm.fault(AttributeError, f"{what} has no attribute `{name}`", span)
            return
        notes.note(vm, value, name, new)

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        """``kernel[grid]``: the kernel, to be launched on a grid."""
        if _is_wrapped(vm, value):
            vm.dialect.launched(vm, value, span)
            return value
        return self._missing(vm, value, "is not subscriptable", span)

    def call(self, vm: VM, value: Any, call: Call) -> object:
        return vm.call_function(value, call)

    def key(self, vm: VM, value: Any, span: Span) -> object:
        return value

    def text(self, vm: VM, value: Any, how: str, span: Span) -> object:
        return TEXT  # it has an address in it


def _is_wrapped(vm: VM, value: Function) -> bool:
    """Whether a decorator that is not followed may have made something else of the function."""
    return notes.noted(vm, value, notes.WRAPPED) is True


class MethodKind(Kind[VM]):
    """A function whose first argument is given."""

    name = "method"
    complete = True

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(_BOUND)

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if name == "__func__":
            return value.function
        if name == "__self__":
            return value.self
        if name == "__class__":
            return self.type_of(vm, value)
        if hasattr(_BOUND, name) and name not in ("__name__", "__qualname__", "__doc__"):
            return vm.unfollowed(f"`.{name}` of a method is not followed", span)
        return vm.find_attribute(value.function, name, span)

    def set_attribute(self, vm: VM, value: Any, name: str, new: object, span: Span) -> None:
        what = self.describe(vm, value)
        vm.fault(AttributeError, f"{what} has no attribute `{name}`", span)

    def call(self, vm: VM, value: Any, call: Call) -> object:
        return vm.invoke(value.function, _forward(call, value.self))

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if op not in ("==", "!="):
            return NotImplemented
        same = E.FALSE
        if isinstance(right, Method):
            same = E.and_(
                vm.identical(left.function, right.function, span),
                vm.identical(left.self, right.self, span),
            )
        return same if op == "==" else E.not_(same)

    def identical(self, vm: VM, value: Any, other: object, span: Span) -> Bool | None:
        return _same_object(vm, value, other, span)

    def key(self, vm: VM, value: Any, span: Span) -> object:
        return value

    def text(self, vm: VM, value: Any, how: str, span: Span) -> object:
        return TEXT


def _same_object(vm: VM, value: object, other: object, span: Span) -> Bool | None:
    """Whether two methods are one object: each look-up makes a new one."""
    if value is other:
        return E.TRUE
    if type(value) is type(other) and value == other:
        return vm.unknown_bool("the identity of equal methods is not followed", span)
    return None


class _Sample:
    def method(self) -> None:
        """Something whose type is that of methods."""


_BOUND: Final = type(_Sample().method)


def _asked(vm: VM, name: str, call: Call) -> object:
    """Whether a built-in function refuses the types of its arguments; what type it surely gives."""
    probes.named(vm, name, call)
    if call.keywords:
        return None
    return probes.called(vm, name, [arg.value for arg in call.args], call.span)


class BuiltinKind(Kind[VM]):
    """A function of Python's own that has a model."""

    name = "builtin_function_or_method"
    complete = True

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(type(len))

    def describe(self, vm: VM, value: Any) -> str:
        return f"the function `{value.name}`"

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if name in ("__name__", "__qualname__"):
            return value.name.rpartition(".")[2]
        if hasattr(len, name) or hasattr(_FUNCTION, name):
            return vm.unfollowed(f"`.{name}` of a built-in function is not followed", span)
        return notes.noted(vm, value, name)

    def set_attribute(self, vm: VM, value: Any, name: str, new: object, span: Span) -> None:
        vm.unfollowed(f"`.{name}` of {self.describe(vm, value)} is assigned to", span)

    def call(self, vm: VM, value: Any, call: Call) -> object:
        known = _asked(vm, value.name, call)
        if known is not None:
            return known
        return probes.handed_back(vm, value.name, call, invoke(vm, value, call))

    def key(self, vm: VM, value: Any, span: Span) -> object:
        return value

    def text(self, vm: VM, value: Any, how: str, span: Span) -> object:
        return TEXT


class BoundBuiltinKind(Kind[VM]):
    """A method of a built-in type, found on one of its values."""

    name = "builtin_function_or_method"
    complete = True

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(_METHOD)

    def describe(self, vm: VM, value: Any) -> str:
        return f"the method `{value.type}.{value.name}`"

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if name == "__name__":
            return value.name
        if name == "__self__":
            return value.self
        if hasattr(_METHOD, name):
            return vm.unfollowed(f"`.{name}` of a built-in method is not followed", span)
        return UNBOUND

    def call(self, vm: VM, value: Any, call: Call) -> object:
        known = None
        probes.named(vm, f"{value.type}.{value.name}", call)
        if not call.keywords:
            given = [arg.value for arg in call.args]
            known = probes.method_called(vm, value.type, value.name, given, call.span)
        if known is not None:
            return known
        found = invoke(vm, vm.language.methods[value.type][value.name], call, value.self)
        return probes.handed_back(vm, f"{value.type}.{value.name}", call, found)

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if op not in ("==", "!="):
            return NotImplemented
        same = E.FALSE
        if isinstance(right, BoundBuiltin) and (left.type, left.name) == (right.type, right.name):
            same = vm.identical(left.self, right.self, span)
        return same if op == "==" else E.not_(same)

    def identical(self, vm: VM, value: Any, other: object, span: Span) -> Bool | None:
        return _same_object(vm, value, other, span)

    def key(self, vm: VM, value: Any, span: Span) -> object:
        return value

    def text(self, vm: VM, value: Any, how: str, span: Span) -> object:
        return TEXT


class GeneratedKind(FunctionKind):
    """A method that a decorator made, before it is found on anything."""

    def describe(self, vm: VM, value: Any) -> str:
        return f"the function `{value.function.name}`"

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        given = notes.noted(vm, value, name)
        if given is not UNBOUND:
            return given
        return vm.find_attribute(value.function, name, span)

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        return self._missing(vm, value, "is not subscriptable", span)

    def call(self, vm: VM, value: Any, call: Call) -> object:
        return invoke(vm, value.function, call)


KINDS: Final[dict[type, Kind[VM]]] = {
    Generated: GeneratedKind(),
    Function: FunctionKind(),
    Method: MethodKind(),
    Builtin: BuiltinKind(),
    BoundBuiltin: BoundBuiltinKind(),
    **partials.KINDS,
}

__all__ = ["KINDS"]
