"""What names of libraries mean to programs that launch kernels."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from verifier.source.ir import Span
from verifier.suites import creation, hooks, kinds
from verifier.suites.given import because, dtype_of
from verifier.suites.launching import launched_by
from verifier.suites.machine import SuiteVM
from verifier.suites.values import EMPTY, ArrayFunction, Constructed, Fixture, Mark, RandomSource
from verifier.symbolic.dialect import Dialect
from verifier.symbolic.machine import Call, Machine
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.heap import UNBOUND, DictBox, Scope
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.model import Builtin, Function
from verifier.symbolic.python.plain import WithoutTensors
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import DType
from verifier.symbolic.values import ApiRef, ExternalRef, Opaque

#: functions of a kernel API that give back what they are given
_THEMSELVES: Final = frozenset({"language.nc"})
#: functions of a kernel API that convert arrays of the host
_CONVERSIONS: Final = frozenset({"language.static_cast"})
_MARKS: Final = "pytest.mark."

LIBRARY: Final = Table()


@LIBRARY.add("numpy.random.default_rng", "numpy.random.RandomState")
def _source(vm: VM, span: Span, *seed: object, **keywords: object) -> object:
    return RandomSource()


@LIBRARY.add("inspect.signature")
def _signature(vm: VM, span: Span, obj: object, /, **keywords: object) -> object:
    return kinds.signature(vm, obj)


def local_names(vm: VM, span: Span) -> object:
    """``locals()`` of a function: its names that are bound."""
    scope = vm.scope()
    while scope.inlined and scope.parent is not None:
        outer = vm.heap.get(scope.parent)
        assert isinstance(outer, Scope)
        scope = outer
    held: dict[object, object] = {}
    for name, value in scope.names.items():
        if value is not UNBOUND:
            held[name] = value
    return vm.heap.new(DictBox(held))


#: kinds of element types, by what they are called in NumPy
_CLASSES: Final = {
    "floating": ("float",), "inexact": ("float",), "integer": ("int", "uint"),
    "signedinteger": ("int",), "unsignedinteger": ("uint",), "number": ("float", "int", "uint"),
    "bool_": ("bool",),
}  # fmt: skip


@LIBRARY.add("numpy.issubdtype")
def _issubdtype(vm: VM, span: Span, arg1: object, arg2: object, /) -> object:
    name, other = dtype_of(vm, arg1, span), dtype_of(vm, arg2, span)
    if name is not None and isinstance(arg2, ExternalRef):
        wanted = _CLASSES.get(arg2.path.rpartition(".")[2])
        plain = not name.startswith(("bfloat", "float8", "float4", "tfloat"))  # no NumPy types
        if wanted is not None:
            return plain and name.startswith(wanted)
    return name == other if name and other else Opaque("the class of an element type")


@LIBRARY.add("pytest.param")
def _param(vm: VM, span: Span, *values: object, marks: object = (), id: object = None) -> object:
    from verifier.suites.values import Row

    return Row(values, marks)


@LIBRARY.add("pytest.raises", "pytest.fail")
def _raises(vm: VM, span: Span, *expected: object, **keywords: object) -> object:
    return kinds.raising(vm)


@LIBRARY.add("pytest.skip", "pytest.xfail")
def _skip(vm: VM, span: Span, *reason: object, **keywords: object) -> object:
    assert isinstance(vm, SuiteVM)
    vm.failed("the test is skipped", span)


@LIBRARY.add("pytest.fixture")
def _fixture(vm: VM, span: Span, function: object = None, /, **keywords: object) -> object:
    params = keywords.get("params")
    if isinstance(function, Function):
        return Fixture(function, params)

    def mark(vm: VM, span: Span, function: object, /) -> object:
        return Fixture(function, params) if isinstance(function, Function) else function

    return Builtin.of("fixture", mark)


class SuiteDialect(WithoutTensors):
    """The kernel APIs as the host sees them, array libraries, and test frameworks."""

    def __init__(self, apis: Collection[Dialect[VM]]) -> None:
        self.apis = tuple(apis)
        self.name = "host"

    def root(self, dotted: str) -> object | None:
        """The value of an imported name of a kernel API."""
        found = (api.root(dotted) for api in self.apis)
        return next((value for value in found if value is not None), None)

    def external(self, path: str) -> object | None:
        """What a name of a library means."""
        if path.startswith(_MARKS) and "." not in path[len(_MARKS) :]:
            return Mark(path[len(_MARKS) :])
        if path in LIBRARY:
            return LIBRARY[path]
        if path == "inspect.Parameter.empty":
            return EMPTY
        known = [found for api in self.apis if (found := api.external(path)) is not None]
        dtype = next((found for found in known if isinstance(found, DType)), None)
        function = creation.function_of(path)
        if dtype is not None or function is not None:
            return function if dtype is None else dtype
        return next((found for found in known if not isinstance(found, ApiRef)), None)

    def attribute(self, machine: Machine, owner: ApiRef, attr: str, span: Span) -> object | None:
        """``owner.attr`` of whichever API has it."""
        found = (api.attribute(machine, owner, attr, span) for api in self.apis)
        return next((value for value in found if value is not None), Opaque(f"{owner.name}.{attr}"))

    def call(self, machine: Machine, api: ApiRef, call: Call) -> object:
        """A call of an API: it launches a kernel, or nothing that is known."""
        assert isinstance(machine, SuiteVM)
        if api.name in _THEMSELVES and len(call.args) == 1:
            return call.args[0].value
        if api.name in _CONVERSIONS:
            made = creation.made(machine, ArrayFunction("dtypes", "static_cast"), call)
            return Opaque(because(machine, call)) if made is None else made
        if api.name.rpartition(".")[2][:1].isupper():
            named = tuple((name, arg.value) for name, arg in call.keywords.items())
            return Constructed(api, tuple(arg.value for arg in call.args), named)
        found = launched_by(machine, call)
        return kinds.unknown_call(machine, call, api.name) if found is None else found

    def api_subscript(self, machine: Machine, api: ApiRef, index: object, span: Span) -> object:
        """An annotation."""
        return Opaque(f"{api.name}[...]", harmless=True)

    def kinds(self) -> Mapping[type, Kind[VM]]:
        """Arrays, kernels to be launched, marks, and what is not followed."""
        return {**kinds.KINDS, **hooks.KINDS}


__all__ = ["SuiteDialect", "local_names"]
