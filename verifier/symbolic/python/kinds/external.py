"""What is not of the project: libraries that are not followed, modules, names of kernel APIs."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable
from types import ModuleType
from typing import Any, Final

from msgspec.structs import replace

from verifier.hardware import dtypes as dt
from verifier.source import standard
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.machine import Call
from verifier.symbolic.python import modules, names
from verifier.symbolic.python.flow import Ended
from verifier.symbolic.python.heap import UNBOUND, ObjectBox, SetBox
from verifier.symbolic.python.inputs import InputKind, Parameter
from verifier.symbolic.python.integers import bounded_unknown
from verifier.symbolic.python.iteration import Iteration, Unknown
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.model import Class, Function, HostType, TensorMethod
from verifier.symbolic.python.parts import box_parts, parts, reachable
from verifier.symbolic.python.state import IS_THERE, SUCCEEDS
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import DType, View
from verifier.symbolic.trace import LedgerKind
from verifier.symbolic.values import (
    ApiRef,
    ExternalRef,
    IndexTensor,
    Managed,
    Missing,
    ModuleRef,
    Noted,
    Opaque,
    OpaqueOf,
    Ref,
)

#: functions of the standard library that raise
_EXITS: Final = ("sys.exit", "builtins.exit", "builtins.quit", "exit", "quit")


# ------------------------------------------------------------------------ calls into the unknown


#: functions of the standard library that, given nothing, neither fail nor change what kernels see;
#: all others without a model are not followed. With the built-in type of what they give
_QUIET: Final[dict[str, type]] = {
    **dict.fromkeys(
        ["datetime.datetime.now", "threading.Lock", "threading.RLock", "uuid.uuid4"], object
    ),
    **dict.fromkeys(["gc.disable", "gc.enable", "traceback.print_stack"], type(None)),
    **dict.fromkeys(
        ["gc.collect", "os.getpid", "threading.get_ident", "time.monotonic_ns",
         "time.perf_counter_ns", "time.time_ns"], int
    ),
    **dict.fromkeys(
        ["os.getcwd", "platform.machine", "platform.system", "socket.gethostname",
         "tempfile.gettempdir", "tempfile.mkdtemp"], str
    ),
    **dict.fromkeys(
        ["random.random", "time.monotonic", "time.perf_counter", "time.process_time",
         "time.time"], float
    ),
    "os.cpu_count": object, "tempfile.mkstemp": tuple,
}  # fmt: skip
#: names of test frameworks that run nothing of what they are given before tests are collected, and
#: change nothing of it
_MARKS: Final = re.compile(
    r"(?P<left>pytest\.(mark\.\w+|param))"
    r"|pytest\.fixture|unittest\.(skip|skipIf|skipUnless|expectedFailure)"
)


def unknown_call(vm: VM, call: Call, said: str, text: str = "", harmless: bool = False) -> object:
    """A call that leads nowhere we can see: what it is given may be changed or demanded there.

    ``said`` names the callee in words, ``text`` as it is written.
    """
    given = [arg.value for arg in (*call.args, *call.keywords.values())]
    vm.may_raise(said, call.span)
    for arg in (*call.args, *call.keywords.values()):
        if isinstance(arg.value, Bool) or (arg.value is False and arg in call.args):
            vm.approximate(LedgerKind.DEMAND, f"{said} may demand `{vm.text(arg.span)}`", arg.span)
    tensors, state = given_away(vm, given)
    if tensors:
        vm.unmodelled(text or call.text or "a call", call.span)
    if state:
        return vm.unfollowed(f"what {said} does with {state} is not followed", call.span)
    return Opaque(f"the result of {said}", harmless)


def given_away(vm: VM, values: Iterable[object]) -> tuple[bool, str]:
    """Whether there is a tensor among values, and what of the program's own can be changed."""
    given = list(values)
    mine = reachable(vm.heap, given)
    stack, seen = list(given), set[int]()
    tensors, state = False, ""
    while stack:
        value = stack.pop()
        if isinstance(value, (View, TensorMethod)):
            tensors = True
        elif isinstance(value, Parameter):
            tensors = tensors or value.kind is InputKind.TENSOR
        elif isinstance(value, (Function, Class)):
            tensors, state = True, state or f"`{value.name}`"  # it may be called there
        elif _is_followed_module(vm, value):
            state = state or vm.kind(value).describe(vm, value)
        elif isinstance(value, Ref):
            if value.id in seen:
                continue
            seen.add(value.id)
            if not state and _changes(vm, value, mine):
                state = vm.kind(value).describe(vm, value)
            stack.extend(box_parts(vm.heap.get(value.id)))
        else:
            stack.extend(parts(value))
    return tensors, state


def _is_followed_module(vm: VM, value: object) -> bool:
    """Whether a value is a module whose names are followed, so that it matters who changes them.

    So are the functions and classes of a kernel API.
    """
    if isinstance(value, ExternalRef):
        return value.path in vm.language.modules or value.path == "builtins"
    return isinstance(value, (ModuleRef, ApiRef))


def _changes(vm: VM, ref: Ref, given: Collection[int]) -> bool:
    """Whether the object, one of those that are given away, is changed so that it is seen."""
    box = vm.heap.get(ref.id)
    if isinstance(box, ObjectBox):
        return not isinstance(box.cls, Class) or "enum" not in box.cls.traits
    if isinstance(box, SetBox) and box.frozen:
        return False
    return _is_shared(vm, ref, given)


def _is_shared(vm: VM, ref: Ref, given: Collection[int]) -> bool:
    """Whether anything refers to a list, a set or a dictionary besides what else is given away.

    One that was made for the call alone (``zeros([n, m])``) may change: nobody is left to see it.
    """
    for number, box in (*vm.heap.base.items(), *vm.heap.boxes.items()):
        if number in given:
            continue
        stack = list(box_parts(box))
        while stack:
            value = stack.pop()
            if isinstance(value, Ref):
                if value.id == ref.id:
                    return True
            elif not isinstance(value, Class):
                stack.extend(parts(value))
    return False


class OpaqueKind(Kind[VM]):
    """A value that is not followed: everything that is done with it gives the same.

    One that is ``lost`` may be of any type: whatever is done with it may raise as well.
    """

    name = "unknown"
    pure = True

    def describe(self, vm: VM, value: Any) -> str:
        return str(value.reason)

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        return _used(vm, value, span, IS_THERE)

    def set_attribute(self, vm: VM, value: Any, name: str, new: object, span: Span) -> None:
        """What it is has no part in what is followed, but it keeps what it is given."""
        _used(vm, value, span)
        _give(vm, value, (new,), span)

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        meet(vm, value, index, span)
        return _used(vm, value, span, IS_THERE)

    def set_item(self, vm: VM, value: Any, index: object, new: object, span: Span) -> None:
        """What it is has no part in what is followed, but it keeps what it is given."""
        _used(vm, value, span)
        _give(vm, value, (index, new), span)

    def unary(self, vm: VM, op: str, value: Any, span: Span) -> object:
        return _used(vm, value, span)

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if isinstance(right, IndexTensor):
            return NotImplemented  # the array knows its axes whatever the number is
        meet(vm, left, right, span)
        return _worse(_used(vm, left, span), right)

    def reflected(self, vm: VM, op: str, right: Any, left: object, span: Span) -> object:
        meet(vm, right, left, span)
        return _worse(_used(vm, right, span), left)

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if left.harmless and right is None and op in ("==", "!="):
            return op == "!="
        meet(vm, left, right, span)
        said = None if op in ("==", "!=") else SUCCEEDS
        return _worse(_used(vm, left, span, said), right)

    def contains(self, vm: VM, value: Any, item: object, span: Span) -> object:
        meet(vm, value, item, span)
        return _used(vm, value, span)

    def truth(self, vm: VM, value: Any, span: Span) -> Bool:
        _used(vm, value, span, None)
        return vm.unknown_bool(f"a condition depends on {value.reason}", span)

    def length(self, vm: VM, value: Any, span: Span) -> object:
        return _used(vm, value, span)

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        return Unknown(_used(vm, value, span, "can be iterated").reason)

    def call(self, vm: VM, value: Any, call: Call) -> object:
        _used(vm, value, call.span)
        what = f"`{call.text}`" if call.text else value.reason
        out = unknown_call(vm, call, what, call.text, value.harmless)
        return replace(out, given=value.given) if isinstance(out, Opaque) else out

    def as_int(self, vm: VM, value: Any, span: Span) -> Expr | None:
        _used(vm, value, span, None)
        return vm.unknown_int(f"a size depends on {value.reason}", span)

    def as_dtype(self, vm: VM, value: Any, span: Span) -> DType | None:
        _used(vm, value, span, None)
        return some_dtype(vm, value.reason, span)


def some_dtype(vm: VM, reason: str, span: Span) -> DType:
    """A dtype that is not known."""
    code = E.fresh("dtype", 0, len(dt.NAMES) - 1)
    vm.approximate(LedgerKind.OPAQUE, f"a dtype depends on {reason}", span, [repr(code)])
    return DType(code)


def _used(vm: VM, value: Opaque, span: Span, demanded: str | None = SUCCEEDS) -> Opaque:
    """A value that is not followed, with which something is done.

    ``demanded``: what the kernel demands of its caller there, None if nothing.
    """
    if value.lost:
        vm.unfollowed(value.reason, span)
    if value.given and demanded is not None:
        vm.caller_gives(span, demanded)
    if not value.harmless:
        vm.may_raise(value.reason, span)
    return value


def meet(vm: VM, value: Opaque | ExternalRef, other: object, span: Span) -> None:
    """An operator takes a value that is not followed and another one, which it may ask or change.

    A class or a function is only looked at.
    """
    if isinstance(value, Missing):
        return  # as if it had been there
    if isinstance(value, Opaque) and value.harmless and not isinstance(vm.box(other), ObjectBox):
        return  # a number or a text, which changes nothing
    if isinstance(value, ExternalRef):
        vm.may_raise(value.said, span)
    if not isinstance(other, (ApiRef, Class, Function, Opaque, ExternalRef)):
        _give(vm, value, (other,), span)


def _give(vm: VM, value: Opaque | ExternalRef, given: tuple[object, ...], span: Span) -> None:
    """What a value that is not followed is given may be changed there, now or later."""
    tensors, state = given_away(vm, given)
    said = value.said if isinstance(value, ExternalRef) else value.reason
    if tensors:
        vm.unmodelled(vm.text(span), span)
    if state:
        vm.unfollowed(f"what {said} does with {state} is not followed", span)


def _worse(value: Opaque, other: object) -> Opaque:
    """Of two values that are not followed the one that matters."""
    return other if isinstance(other, Opaque) and value.harmless else value


def mark(value: object) -> Noted | None:
    """What a name of a test framework notes of a test that it decorates; None: it notes nothing."""
    found = _MARKS.fullmatch(value.path) if isinstance(value, ExternalRef) else None
    if found is None:
        return None
    return Noted(f"`{found[0]}`", harmless=True, leaves=found["left"] is not None)


class ExternalKind(Kind[VM]):
    """A name of a library that is not on disk."""

    name = "external"
    pure = True

    def describe(self, vm: VM, value: Any) -> str:
        return str(value.said)

    def type_of(self, vm: VM, value: Any) -> object:
        if value.path in sys.stdlib_module_names:
            return HostType(ModuleType)
        return super().type_of(vm, value)

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        found = modules.external(vm, f"{value.path}.{name}", value.imported, value.where)
        there = standard.has(value.path, name)
        if not isinstance(found, ExternalRef) or there:
            return found
        if there is False and standard.is_compiled(value.path):
            return UNBOUND
        if not dt.library_has(value.path, name):
            return UNBOUND
        vm.may_raise(found.said, span)  # a library may have put the name there
        return found

    def no_attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        vm.fault(AttributeError, f"`{value.path}` has no attribute `{name}`", span)
        return UNBOUND  # pragma: no cover - the path has ended

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        meet(vm, value, index, span)
        # a module may be one of the project: whoever has it may change it
        return Opaque(f"an item of {value.said}", lost=value.path == "sys.modules")

    def unary(self, vm: VM, op: str, value: Any, span: Span) -> object:
        vm.may_raise(value.said, span)
        return Opaque(value.said)

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        meet(vm, left, right, span)
        return right if isinstance(right, Opaque) else Opaque(left.said)

    def reflected(self, vm: VM, op: str, right: Any, left: object, span: Span) -> object:
        meet(vm, right, left, span)
        return left if isinstance(left, Opaque) else Opaque(right.said)

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if op in ("==", "!=") and (right is None or isinstance(right, ExternalRef)):
            same = self.identical(vm, left, right, span)
            if same in (E.TRUE, E.FALSE):
                return same if op == "==" else E.not_(same)
        if isinstance(right, (DType, Parameter)):
            return NotImplemented
        meet(vm, left, right, span)
        return right if isinstance(right, Opaque) else Opaque("a comparison with an external value")

    def identical(self, vm: VM, value: Any, other: object, span: Span) -> Bool | None:
        """A name of a library may stand for anything; an imported module is itself."""
        if _is_module(value):
            if not isinstance(other, ExternalRef):
                return E.FALSE
            if _is_module(other):
                return E.truth(value.path == other.path)
        if isinstance(other, (ExternalRef, DType)):
            mine, its = vm.as_dtype(value, span), vm.as_dtype(other, span)
            if mine is not None and its is not None:
                return mine.same(its)
        return vm.unknown_bool(f"a condition depends on {value.said}", span)

    def contains(self, vm: VM, value: Any, item: object, span: Span) -> object:
        meet(vm, value, item, span)
        return Opaque(value.said)

    def truth(self, vm: VM, value: Any, span: Span) -> Bool:
        if value.path in sys.stdlib_module_names:
            return E.TRUE
        vm.may_raise(value.said, span)
        return vm.unknown_bool(f"a condition depends on {value.said}", span)

    def length(self, vm: VM, value: Any, span: Span) -> object:
        vm.may_raise(value.said, span)
        return Opaque(value.said)

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        vm.may_raise(value.said, span)
        return Unknown(value.said)

    def call(self, vm: VM, value: Any, call: Call) -> object:
        if value.path in _EXITS:
            vm.fault(SystemExit, f"`{value.path}()` ends the program", call.span)
            raise Ended
        noted = mark(value)
        if noted is not None:
            return noted
        if standard.is_standard(value.path) and (
            value.path not in _QUIET or call.args or call.keywords
        ):
            return vm.unfollowed(f"what {value.said} does is not followed", call.span)
        if value.path in _QUIET:
            return _quiet(vm, value, call.span)
        given = [vm.settled(arg.value) for arg in (*call.args, *call.keywords.values())]
        vm.dialect.computes(vm, value.path, given, call.span)
        return unknown_call(vm, call, value.said, value.path)

    def as_int(self, vm: VM, value: Any, span: Span) -> Expr | None:
        vm.may_raise(value.said, span)
        return vm.unknown_int(f"a size depends on {value.said}", span)

    def as_dtype(self, vm: VM, value: Any, span: Span) -> DType | None:
        library, _, last = value.path.rpartition(".")
        name = dt.canonical(last) if dt.library_has(library, last) else None
        return DType.named(name) if name is not None else None


def _quiet(vm: VM, value: ExternalRef, span: Span) -> object:
    """What one of the functions gives that neither fail nor change anything."""
    host = _QUIET[value.path]
    said = f"the result of {value.said}"
    if host is type(None):
        return None
    if host is int:
        return bounded_unknown(vm, f"{said} is not followed", span, 0, 1 << 64)
    if host is object:
        return Opaque(said)
    return OpaqueOf(said, harmless=host in (float, str), host=host)


def _is_module(value: ExternalRef) -> bool:
    """Whether an import says that a name stands for a module."""
    if value.path in sys.stdlib_module_names:
        return True
    return f"{value.imported}.".startswith(f"{value.path}.")


class ModuleKind(Kind[VM]):
    """An imported module of the project."""

    name = "module"
    pure = True

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(ModuleType)

    def describe(self, vm: VM, value: Any) -> str:
        module = value.module
        return f"the module `{value.path if module is None else modules.dotted_name(module)}`"

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        found = names.found(vm, modules.module_attribute(vm, value, name, span), span)
        if found is UNBOUND and name.startswith("__") and name.endswith("__"):
            return vm.unfollowed(f"`.{name}` of a module is not followed", span)
        return found

    def no_attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        """A finding, and on."""
        text = f"{self.describe(vm, value)} has no attribute `{name}`"
        known = () if value.module is None else value.module.bindings
        owner = value.path if value.module is None else modules.dotted_name(value.module)
        return vm.absent(AttributeError, text, span, f"{owner}.{name}", known)

    def set_attribute(self, vm: VM, value: Any, name: str, new: object, span: Span) -> None:
        if value.module is None or new is UNBOUND:
            super().set_attribute(vm, value, name, new, span)
            return
        modules.bind_global(vm, value.module, name, new)


class ManagedKind(Kind[VM]):
    """What ``with`` enters and leaves."""

    name = "context manager"
    pure = True


KINDS: Final[dict[type, Kind[VM]]] = {
    Opaque: OpaqueKind(),
    ExternalRef: ExternalKind(),
    ModuleRef: ModuleKind(),
    Managed: ManagedKind(),
}

__all__ = ["KINDS", "OpaqueKind", "given_away", "meet", "some_dtype", "unknown_call"]
