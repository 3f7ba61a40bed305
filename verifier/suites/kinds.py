"""How kernels behave that are launched, what is not known, and what test frameworks put in."""

from __future__ import annotations

import re
from typing import Any, Final

from verifier.source.ir import Span
from verifier.suites import counting, marks
from verifier.suites.arraykinds import KINDS as ARRAYS
from verifier.suites.given import because
from verifier.suites.launching import launch, launched_by
from verifier.suites.machine import Made, SuiteVM
from verifier.suites.values import (
    EMPTY,
    Array,
    Fixture,
    Launcher,
    Mark,
    Nothing,
    Row,
    Signature,
    SignatureParameter,
)
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.machine import Call
from verifier.symbolic.python import notes
from verifier.symbolic.python.heap import UNBOUND, DictBox, ObjectBox
from verifier.symbolic.python.iteration import Iteration, Unknown
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.kinds.blurred import BlurredKind
from verifier.symbolic.python.kinds.callables import FunctionKind
from verifier.symbolic.python.kinds.constants import DTypeKind
from verifier.symbolic.python.kinds.external import ExternalKind
from verifier.symbolic.python.kinds.mappings import DictKind
from verifier.symbolic.python.kinds.types import ClassKind
from verifier.symbolic.python.model import Class, Function, HostType
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import DType
from verifier.symbolic.values import ExternalRef, Managed, Opaque, OpaqueOf, Ref

#: names of what expects a failure
EXPECTING: Final = re.compile(r"rais|error|fail|except|throw|invalid", re.IGNORECASE)


def raising(vm: VM) -> Managed:
    """A manager whose block is meant to fail: what is launched in it is no good example."""
    assert isinstance(vm, SuiteVM)
    before = len(vm.found.launches)

    def enter() -> None:
        nonlocal before
        before = len(vm.found.launches)

    def leave() -> None:  # on each way out of the block
        del vm.found.launches[before:]

    return Managed(enter, leave)


class UnknownKind(Kind[VM]):
    """What is not followed: whatever is done with it gives something unknown, and never fails."""

    name = "unknown"
    pure = True

    def describe(self, vm: VM, value: Any) -> str:
        return str(value.reason)

    def _of(self, value: Opaque) -> Opaque:
        return Opaque(value.reason)

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        return self._of(value)

    def set_attribute(self, vm: VM, value: Any, name: str, new: object, span: Span) -> None:
        """Nothing that is known changes."""

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        return self._of(value)

    def set_item(self, vm: VM, value: Any, index: object, new: object, span: Span) -> None:
        """Nothing that is known changes."""

    def unary(self, vm: VM, op: str, value: Any, span: Span) -> object:
        return value

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if isinstance(right, Array) and left.harmless:
            return right.alike
        return value_of(left, right)

    def reflected(self, vm: VM, op: str, right: Any, left: object, span: Span) -> object:
        return value_of(right, left)

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        return self._of(left)

    def contains(self, vm: VM, value: Any, item: object, span: Span) -> object:
        return self._of(value)

    def truth(self, vm: VM, value: Any, span: Span) -> Bool:
        return vm.unknown_bool(value.reason, span)

    def length(self, vm: VM, value: Any, span: Span) -> object:
        return self._of(value)

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        return Unknown(value.reason)

    def call(self, vm: VM, value: Any, call: Call) -> object:
        return unknown_call(vm, call, value.reason)

    def as_int(self, vm: VM, value: Any, span: Span) -> Expr | None:
        return vm.unknown_int(value.reason, span)

    def as_dtype(self, vm: VM, value: Any, span: Span) -> DType | None:
        return None


class ElementTypeKind(DTypeKind):
    """An element type by its name in a library: a class, as NumPy has them, and no text."""

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(type)


class NumberKind(BlurredKind):
    """A value that is not followed but for its type."""

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if isinstance(right, Array):
            return right.alike if left.harmless else Opaque(left.reason)
        return super().binary(vm, op, left, right, span)


def value_of(value: Opaque, other: object) -> Opaque:
    """What an operator makes of an unknown value and another one."""
    plain = value.harmless and isinstance(other, (int, float, Expr, Bool))
    return value if plain else Opaque(value.reason)


def unknown_call(vm: VM, call: Call, reason: str) -> object:
    """A call of something that is not of the project."""
    assert isinstance(vm, SuiteVM)
    found = launched_by(vm, call)
    if found is not None:
        return found
    if EXPECTING.search(call.text):
        return raising(vm)
    values = [arg.value for arg in call.args]
    for value in (*values, *(arg.value for arg in call.keywords.values())):
        counting.lose(vm, value, call.span, shared=True)
    if len(values) == 1 and not call.keywords and isinstance(values[0], (Function, Class)):
        return values[0]  # a decorator, which is taken to leave what it is given
    return Opaque(because(vm, call) or (f"the result of `{call.text}`" if call.text else reason))


class LibraryKind(ExternalKind):
    """A name of a library that is not on disk."""

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        found = super().attribute(vm, value, name, span)
        return Opaque(value.said) if found is UNBOUND else found

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        return Opaque(value.said)

    def call(self, vm: VM, value: Any, call: Call) -> object:
        if value.path in ("sys.exit", "exit", "quit", "os._exit"):
            return super().call(vm, value, call)
        return unknown_call(vm, call, value.said)


class LaunchedKind(FunctionKind):
    """A function of the project; a kernel may be given a grid."""

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        found = super().attribute(vm, value, name, span)
        return UNBOUND if isinstance(found, Opaque) and name.startswith("__") else found

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        assert isinstance(vm, SuiteVM)
        if vm.kernel_of(value) is not None:
            return Launcher(value, index if isinstance(index, tuple) else (index,))
        return super().item(vm, value, index, span)

    def call(self, vm: VM, value: Any, call: Call) -> object:
        assert isinstance(vm, SuiteVM)
        if vm.kernel_of(value) is not None:
            return launch(vm, Launcher(value), call)
        return super().call(vm, value, call)


class MadeKind(ClassKind):
    """A class of the project: how its instances are made is kept."""

    def call(self, vm: VM, value: Any, call: Call) -> object:
        made = super().call(vm, value, call)
        assert isinstance(vm, SuiteVM)
        box = vm.box(made)
        if isinstance(made, Ref) and isinstance(box, ObjectBox) and box.cls is value:
            args = tuple(arg.value for arg in call.args)
            named = {name: arg.value for name, arg in call.keywords.items()}
            vm.made[made.id] = Made(args, named, dict(box.attributes))
        return made


class TableKind(DictKind):
    """A dictionary: what goes in under a key that is not known is under a key of its own."""

    def set_item(self, vm: VM, value: Any, index: object, new: object, span: Span) -> None:
        if isinstance(index, Opaque) and new is not UNBOUND:
            box = vm.write(value, span)
            assert isinstance(box, DictBox)
            box.items[Opaque(f"{index.reason} (entry {len(box.items)})")] = new
            return
        super().set_item(vm, value, index, new, span)


class LauncherKind(Kind[VM]):
    """A kernel on a grid, or what a library has made of it to launch it."""

    name = "kernel"
    pure = True

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        return Opaque(f"`.{name}` of a kernel")

    def set_attribute(self, vm: VM, value: Any, name: str, new: object, span: Span) -> None:
        """Nothing that is known changes."""

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        grid = index if isinstance(index, tuple) else (index,)
        return Launcher(value.function, grid, value.targets)

    def call(self, vm: VM, value: Any, call: Call) -> object:
        assert isinstance(vm, SuiteVM)
        return launch(vm, value, call)

    def key(self, vm: VM, value: Any, span: Span) -> object:
        return value


class MarkKind(Kind[VM]):
    """A mark of a test framework."""

    name = "mark"
    pure = True

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if name == "name":
            return value.name
        if name == "args":
            return value.args
        if name == "kwargs":
            return vm.heap.new(DictBox(dict(value.keywords)))
        return Opaque(f"`.{name}` of a mark")

    def call(self, vm: VM, value: Any, call: Call) -> object:
        return marks.called(vm, value, call)


class RowKind(Kind[VM]):
    """``pytest.param(...)``"""

    name = "row"
    pure = True

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if name in ("values", "marks"):
            found: object = getattr(value, name)
            return found
        return None if name == "id" else UNBOUND


class FixtureKind(Kind[VM]):
    """A function that is a fixture."""

    name = "fixture"
    pure = True


class SignatureKind(Kind[VM]):
    """``inspect.signature(...)``"""

    name = "Signature"
    pure = True

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if name != "parameters":
            return UNBOUND
        defaults = dict(value.function.defaults)
        params = value.function.definition.params
        return vm.heap.new(
            DictBox(
                {p.name: SignatureParameter(p.name, defaults.get(p.name, EMPTY)) for p in params}
            )
        )


class SignatureParameterKind(Kind[VM]):
    """A parameter in a signature."""

    name = "Parameter"
    pure = True

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if name in ("name", "default"):
            found: object = getattr(value, name)
            return found
        return Opaque(f"`.{name}` of a parameter")


class NothingKind(Kind[VM]):
    """``inspect.Parameter.empty``"""

    name = "type"
    pure = True

    def identical(self, vm: VM, value: Any, other: object, span: Span) -> Bool | None:
        return E.truth(isinstance(other, Nothing))

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        same = isinstance(right, Nothing)
        return NotImplemented if op not in ("==", "!=") else same == (op == "==")


def signature(vm: VM, value: object) -> object:
    """``inspect.signature(value)``"""
    if isinstance(value, Launcher):
        return Signature(value.function)
    if isinstance(value, Function):
        wrapped = notes.noted(vm, value, "__wrapped__")
        return signature(vm, wrapped) if isinstance(wrapped, Function) else Signature(value)
    return Opaque("the signature of something that is not followed")


KINDS: Final[dict[type, Kind[VM]]] = {
    **ARRAYS,
    Opaque: UnknownKind(),
    OpaqueOf: NumberKind(),
    ExternalRef: LibraryKind(),
    Function: LaunchedKind(),
    Class: MadeKind(),
    DType: ElementTypeKind(),
    DictBox: TableKind(),
    Launcher: LauncherKind(),
    Mark: MarkKind(),
    Row: RowKind(),
    Fixture: FixtureKind(),
    Signature: SignatureKind(),
    SignatureParameter: SignatureParameterKind(),
    Nothing: NothingKind(),
}

__all__ = ["EXPECTING", "KINDS", "raising", "signature", "unknown_call"]
