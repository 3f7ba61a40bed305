"""The hook with which projects parametrise tests themselves: ``pytest_generate_tests``."""

from __future__ import annotations

from typing import Any, Final

from verifier.source.ir import Span
from verifier.source.project import Module
from verifier.suites import fixtures, marks
from verifier.suites.given import Given
from verifier.suites.machine import SuiteVM
from verifier.suites.values import Definition, HookMethod, Metafunc
from verifier.symbolic.machine import Call
from verifier.symbolic.python.heap import UNBOUND, ListBox
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.model import Class, Function
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Opaque

_HOOK: Final = "pytest_generate_tests"


def tables(
    vm: SuiteVM, module: Module, function: Function, cls: Class | None, names: tuple[str, ...]
) -> list[tuple[object, object]]:
    """The names and values with which the hooks of a test parametrise it."""
    metafunc = Metafunc(function, cls, names, [])
    for place in (module, *fixtures.conftests(vm, module)):
        hook = fixtures.named(vm, place, _HOOK)
        if isinstance(hook, Function):
            vm.call(hook, (metafunc,), span=hook.definition.span)
    return metafunc.tables


class MetafuncKind(Kind[VM]):
    """What the hook is given."""

    name = "Metafunc"
    pure = True

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        metafunc: Metafunc = value
        if name == "function":
            return metafunc.function
        if name == "cls":
            return metafunc.cls
        if name == "fixturenames":
            return vm.heap.new(ListBox.of(list(metafunc.names)))
        if name == "definition":
            return Definition(metafunc)
        if name == "parametrize":
            return HookMethod(metafunc, name)
        return Opaque(f"`.{name}` of what `{_HOOK}` is given")


class DefinitionKind(Kind[VM]):
    """The test as its hook sees it, with its marks."""

    name = "Function"
    pure = True

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if name in ("get_closest_marker", "iter_markers"):
            return HookMethod(value, name)
        if name in ("name", "originalname"):
            return value.metafunc.function.name
        return Opaque(f"`.{name}` of a test")


class HookMethodKind(Kind[VM]):
    """A method of what hooks are given."""

    name = "method"
    pure = True

    def call(self, vm: VM, value: Any, call: Call) -> object:
        given = Given(vm, call)
        owner = value.owner
        if isinstance(owner, Metafunc):
            names, values = given.value(0, "argnames"), given.value(1, "argvalues")
            owner.tables.append((names, values))
            return None
        wanted = given.value(0, "name")
        test = owner.metafunc
        own = [*marks.marks_of(vm, test.function)[::-1], *marks.marks_of(vm, test.cls)[::-1]]
        found = [mark for mark in own if wanted in (UNBOUND, None, mark.name)]
        if value.name == "iter_markers":
            return vm.heap.new(ListBox.of(list(found)))
        default = given.value(1, "default")
        return found[0] if found else None if default is UNBOUND else default


KINDS: Final[dict[type, Kind[VM]]] = {
    Metafunc: MetafuncKind(),
    Definition: DefinitionKind(),
    HookMethod: HookMethodKind(),
}

__all__ = ["KINDS", "tables"]
