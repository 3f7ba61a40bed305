"""Names of kernel APIs: functions and namespaces, dtypes, operators, memory regions, records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool
from verifier.symbolic.machine import Arg, Call
from verifier.symbolic.python.flow import Ended
from verifier.symbolic.python.heap import UNBOUND, RecordBox
from verifier.symbolic.python.iteration import Iteration, Unknown
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.kinds.external import unknown_call
from verifier.symbolic.python.model import Function
from verifier.symbolic.python.vm import LAUNCHING, VM
from verifier.symbolic.tensors import DType, LoopKind
from verifier.symbolic.values import (
    TEXT,
    AddressType,
    ApiRef,
    BufferValue,
    DeviceLoop,
    DTypeText,
    Enumerator,
    ExternalRef,
    Guarded,
    Opaque,
    Range,
    RecordType,
    RecordValue,
)

#: attributes of NumPy's dtypes that have no part in a kernel
_DTYPE_ATTRIBUTES: Final = frozenset(
    {"alignment", "byteorder", "char", "kind", "max", "min", "num", "str", "type"}
)


class ConstantKind(Kind[VM]):
    """A named constant of an API: constants of one name are equal, wherever they come from."""

    name = "constant"
    pure = True

    def describe(self, vm: VM, value: Any) -> str:
        return f"`{value.name}`"

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if op not in ("==", "!="):
            return NotImplemented
        if right is None:
            return op == "!="
        other = _named(right)
        if other is None:
            return NotImplemented
        return (_named(left) == other) == (op == "==")

    def key(self, vm: VM, value: Any, span: Span) -> object:
        return value


def _named(value: object) -> str | None:
    """The name that an operator, or a function of the API in its place, goes by."""
    if isinstance(value, ApiRef):
        return value.name.rpartition(".")[2]
    return value.name if isinstance(value, Enumerator) else None


class EnumeratorKind(ConstantKind):
    """An operator, an engine, a mode."""

    name = "operator"

    def describe(self, vm: VM, value: Any) -> str:
        return f"the {value.kind} `{value.name}`"

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if name in ("name", "value"):
            return Opaque(f"`.{name}` of {self.describe(vm, value)}")
        return super().attribute(vm, value, name, span)

    def call(self, vm: VM, value: Any, call: Call) -> object:
        given = [arg.value for arg in (*call.args, *call.keywords.values())]
        floats = all(isinstance(v, float) or (isinstance(v, Opaque) and v.harmless) for v in given)
        # functions of the API are ApiRef: what is called here is one of NumPy's, in its place
        name = value.written or value.name
        vm.dialect.computes(vm, f"numpy.{name}", list(map(vm.settled, given)), call.span)
        function = vm.language.modules["numpy"].get(name) if value.kind == "op" else None
        if function is not None:
            return vm.invoke(function, call)
        what = f"the operator `{value.name}`, called"
        return unknown_call(vm, call, what, call.text, harmless=bool(given) and floats)


class BufferKind(ConstantKind):
    """A memory region."""

    name = "buffer"

    def describe(self, vm: VM, value: Any) -> str:
        return f"the buffer `{value.buffer.value}`"

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if name in ("name", "value"):
            return value.buffer.value
        return super().attribute(vm, value, name, span)

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if op not in ("==", "!="):
            return NotImplemented
        if isinstance(right, BufferValue):
            return (left.buffer is right.buffer) == (op == "==")
        return op == "!=" if right is None else NotImplemented

    def identical(self, vm: VM, value: Any, other: object, span: Span) -> Bool | None:
        if isinstance(other, BufferValue):
            return E.truth(value.buffer is other.buffer)
        return None

    def key(self, vm: VM, value: Any, span: Span) -> object:
        return UNBOUND if value.placement else ("<buffer>", value.buffer.value)


# ------------------------------------------------------------------------ dtypes


class DTypeKind(Kind[VM]):
    """An element type; it depends on the inputs where it is an input's."""

    name = "dtype"
    pure = True

    def describe(self, vm: VM, value: Any) -> str:
        return f"the dtype `{value.name}`" if value.name is not None else "a dtype"

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if name in ("name", "__name__"):
            return value.name or TEXT
        if name == "itemsize":
            return value.itemsize
        if name in _DTYPE_ATTRIBUTES:
            return Opaque(f"`dtype.{name}`")
        return super().attribute(vm, value, name, span)

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if op not in ("==", "!="):
            return NotImplemented
        if right is None:
            return op == "!="
        other = right.dtype if isinstance(right, DTypeText) else right
        if isinstance(other, (str, ExternalRef)):
            known = vm.as_dtype(other, span)
            if known is None:
                return NotImplemented
            other = known
        if not isinstance(other, DType):
            return NotImplemented
        same = left.same(other)
        return same if op == "==" else E.not_(same)

    def identical(self, vm: VM, value: Any, other: object, span: Span) -> Bool | None:
        return value.same(other) if isinstance(other, DType) else None

    def call(self, vm: VM, value: Any, call: Call) -> object:
        name = value.name or ""
        return unknown_call(vm, call, f"`{call.text}`", call.text, harmless="float" in name)

    def key(self, vm: VM, value: Any, span: Span) -> object:
        return UNBOUND if value.name is None else value

    def text(self, vm: VM, value: Any, how: str, span: Span) -> object:
        return DTypeText(value) if how == "s" else TEXT

    def as_dtype(self, vm: VM, value: Any, span: Span) -> DType | None:
        assert isinstance(value, DType)
        return value


# ------------------------------------------------------------------------ names of the API


class ApiKind(ConstantKind):
    """A function, class or namespace of a kernel API."""

    name = "API"
    pure = False  # a call of one may fill records and run a device loop's body

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        found = vm.dialect.attribute(vm, value, name, span)
        if found is not None:
            return found
        closed = None if name.startswith("_") else vm.dialect.closed(value, name)
        return Opaque(f"`{value.name}.{name}`") if closed is None else UNBOUND

    def no_attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        """An unknown name of a namespace whose names are all known: a finding, and on."""
        message = f"{self.describe(vm, value)} has no attribute `{name}`"
        full = f"{value.name}.{name}"
        known = vm.dialect.closed(value, name) or frozenset()
        said = f"`{full}` exists"
        return vm.absent(AttributeError, message, span, full, known, text=said, api=True)

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        return vm.dialect.api_subscript(vm, value, index, span)

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        return Unknown(self.describe(vm, value))

    def call(self, vm: VM, value: Any, call: Call) -> object:
        vm.trace.calls += 1
        return _device_call(vm, value, call)


def _device_call(vm: VM, api: ApiRef, call: Call) -> object:
    """A call of the kernel API; an argument that depends on the path makes a call for each case.

    An operation has one shape: of records that the path chooses from it is given one.
    """
    args = tuple(_merged(vm, arg) for arg in call.args)
    keywords = {name: _merged(vm, arg) for name, arg in call.keywords.items()}
    call = replace(call, args=args, keywords=keywords)
    given: dict[int | str, Arg] = dict(enumerate(args))
    given.update(keywords)
    where = next((k for k, arg in given.items() if isinstance(arg.value, Guarded)), None)
    if where is not None:
        return _split(
            vm,
            vm.cases(given[where].value),
            lambda case: _device_call(vm, api, _at_case(call, where, case)),
        )
    given_first = next(iter(given.values()), None)
    if given_first is not None and api.name.rpartition(".")[2] in LAUNCHING:
        vm.launches(given_first.value, call.span)
    result = vm.dialect.call(vm, api, call)
    return _device_loop(vm, result) if isinstance(result, DeviceLoop) else result


def _at_case(call: Call, where: int | str, case: object) -> Call:
    """The call with one argument, by position or keyword, as it is on some paths."""
    if isinstance(where, str):
        arg = Arg(case, call.keywords[where].span)
        return replace(call, keywords={**call.keywords, where: arg})
    arg = Arg(case, call.args[where].span)
    return replace(call, args=(*call.args[:where], arg, *call.args[where + 1 :]))


def _merged(vm: VM, arg: Arg) -> Arg:
    return Arg(vm.merged(arg.value), arg.span) if isinstance(arg.value, Guarded) else arg


def _split(vm: VM, cases: list[tuple[Bool, object]], action: Callable[[object], object]) -> object:
    """Go each of several ways, on a state of its own."""
    if not cases:
        raise Ended
    (guard, item), rest = cases[0], cases[1:]
    if not rest:
        return action(item)
    return vm.fork(guard, lambda: action(item), lambda: _split(vm, rest, action))


def _device_loop(vm: VM, loop: DeviceLoop) -> object:
    """Run the body of a loop on the device for an index, or a register."""
    name = "i"
    if isinstance(loop.body, Function):
        name = next((p.name for p in loop.body.definition.params), name)
    bounds = loop.bounds
    if bounds is None:
        count = E.fresh("iterations", 0, None, E.Origin.RUNS)
        bounds = Range(E.const(0), count, E.const(1), LoopKind.DYNAMIC, loop.span)

    returned: list[object] = []

    def trip(index: object) -> None:
        given = index if loop.given is None else replace(loop.given, name=name)
        returned.append(vm.call(loop.body, (given,), span=loop.span))

    there = len(vm.trace.storages)
    vm.iterate(bounds, trip, loop.span)
    for storage in vm.trace.storages[there:]:
        storage.until = vm.next_order()
    # what the body is like is the same whether or not it runs
    vm.apart(returned[-1] if returned else Opaque("not run"), loop.returned)
    return None


# ------------------------------------------------------------------------ records


class RecordKind(Kind[VM]):
    """A structure of an API with named fields."""

    name = "record"

    def describe(self, vm: VM, value: Any) -> str:
        box = vm.box(value)
        assert isinstance(box, RecordBox) and isinstance(box.cls, RecordType)
        return f"a `{box.cls.name}`"

    def type_of(self, vm: VM, value: Any) -> object:
        box = vm.box(value)
        assert isinstance(box, RecordBox)
        return box.cls

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        box = vm.box(value)
        assert isinstance(box, RecordBox)
        if name.startswith("_"):
            return vm.unfollowed(f"`.{name}` of a record is not followed", span)
        return box.attributes.get(name, UNBOUND)

    def set_attribute(self, vm: VM, value: Any, name: str, new: object, span: Span) -> None:
        if new is UNBOUND:
            vm.unfollowed("`del` of a field of a record is not followed", span)
            return
        box = vm.write(value, span)
        assert isinstance(box, RecordBox) and isinstance(box.cls, RecordType)
        if name not in box.cls.fields:
            vm.unfollowed(f"`.{name}` of {self.describe(vm, value)} is assigned to", span)
            return
        box.attributes[name] = new

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if op in ("==", "!=") and right is None:
            return op == "!="
        return Opaque("a comparison of records")


class RecordValueKind(Kind[VM]):
    """One record in place of several that the path chooses from."""

    name = "record"
    pure = True

    def describe(self, vm: VM, value: Any) -> str:
        return f"a `{value.kind.name}`"

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if name in value.kind.fields:
            return value.fields[value.kind.fields.index(name)]
        return UNBOUND


class TypeKind(Kind[VM]):
    """A type of an API's."""

    name = "type"
    pure = True

    def describe(self, vm: VM, value: Any) -> str:
        return f"the type `{value.name}`"


KINDS: Final[dict[type, Kind[VM]]] = {
    ApiRef: ApiKind(),
    DType: DTypeKind(),
    Enumerator: EnumeratorKind(),
    BufferValue: BufferKind(),
    RecordBox: RecordKind(),
    RecordValue: RecordValueKind(),
    RecordType: TypeKind(),
    AddressType: TypeKind(),
}

__all__ = ["KINDS"]
