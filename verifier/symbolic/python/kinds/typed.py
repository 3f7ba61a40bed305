"""Names of ``typing`` that are no classes, and what is made of them: ``Union[int, str]``, ``T``.

They mean something to those who read annotations. What a program does with them beyond writing
types down is not followed: most of it is an error.
"""

from __future__ import annotations

import ast
import typing
from typing import Any, Final

from verifier.source.ir import Span
from verifier.symbolic.expr import Expr
from verifier.symbolic.machine import Call
from verifier.symbolic.python.hierarchy import Alias
from verifier.symbolic.python.iteration import Iteration, Unknown
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.kinds.descriptors import NewType, TypeForm, TypeKind, Union, united
from verifier.symbolic.python.model import Class, HostType
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import DType
from verifier.symbolic.values import ApiRef, ExternalRef, Opaque, RecordType

#: how many types a name takes in brackets: at least, at most
_TAKES: Final[dict[str, tuple[int, int]]] = {
    "Union": (1, 1000), "Optional": (1, 1), "Annotated": (2, 1000), "Final": (1, 1),
    "Concatenate": (2, 1000), "Literal": (1, 1000), "Required": (1, 1), "NotRequired": (1, 1),
    "ReadOnly": (1, 1), "ClassVar": (1, 1), "TypeGuard": (1, 1), "TypeIs": (1, 1), "Unpack": (1, 1),
}  # fmt: skip
#: names that stand for a type as they are
_PLAIN: Final = frozenset({"Any", "NoReturn", "Never", "Self", "LiteralString", "AnyStr", "Text"})

#: bases that are no types by themselves
_BARE: Final = (HostType(typing.Generic), HostType(typing.Protocol))


def is_type(value: object) -> bool:
    """Whether a value may stand where ``typing`` wants a type; what is external may."""
    if isinstance(value, TypeForm):
        return value.made or value.variable or value.name in _PLAIN
    if isinstance(value, str):
        return _parses(value)
    if isinstance(value, Alias):
        return value.origin not in _BARE
    if value in _BARE:
        return False
    kinds = (Class, HostType, Union, NewType, Opaque, ExternalRef, ApiRef, DType, RecordType)
    return isinstance(value, kinds) or value is None


def entered(arg: object) -> object:
    """What ``typing`` keeps of a type that it is given."""
    if isinstance(arg, str):
        return TypeForm("a type that is not there yet", made=True)
    return HostType(type(None)) if arg is None else arg


def _parses(text: str) -> bool:
    """Whether a string is a type that is not there yet."""
    try:
        ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return text == text.strip()


class TypeFormKind(TypeKind):
    """A name of ``typing`` that is no class."""

    name = "part of a type"

    def type_of(self, vm: VM, value: Any) -> object:
        return TypeForm(f"the type of `{value.name}`", made=True)

    def describe(self, vm: VM, value: Any) -> str:
        return f"`{value.name}`"

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if name == "__name__" and value.variable:
            return value.name
        return vm.unfollowed(f"`.{name}` of `{value.name}` is not followed", span)

    def set_attribute(self, vm: VM, value: Any, name: str, new: object, span: Span) -> None:
        vm.unfollowed(f"`.{name}` of `{value.name}` is assigned to", span)

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        args = index if isinstance(index, tuple) else (index,)
        least, most = _TAKES.get(value.name, (1, 0))
        if value.made or value.variable or not least <= len(args) <= most:
            return self._not_followed(vm, value, "with these types", span)
        if value.name == "Literal":
            fits = all(isinstance(arg, (Expr, str, bytes, bool)) or arg is None for arg in args)
        elif value.name == "Annotated":
            fits = is_type(args[0])
        else:
            fits = all(map(is_type, args))
        if not fits:
            return self._not_followed(vm, value, "with these types", span)
        if value.name == "Union" and len(dict.fromkeys(args)) == 1:
            return entered(args[0])
        if value.name == "Optional" and args[0] in (None, HostType(type(None))):
            return HostType(type(None))
        return TypeForm(f"{value.name}[...]", made=True)

    def call(self, vm: VM, value: Any, call: Call) -> object:
        return self._not_followed(vm, value, "that is called", call.span)

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        self._not_followed(vm, value, "in a loop", span)
        return Unknown(f"the items of `{value.name}`")

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        return self._united(vm, op, left, right)

    def reflected(self, vm: VM, op: str, right: Any, left: object, span: Span) -> object:
        return self._united(vm, op, left, right)

    def _united(self, vm: VM, op: str, left: object, right: object) -> object:
        if op != "|":
            return NotImplemented
        if isinstance(left, str) or isinstance(right, str):
            return TypeForm("Union[...]", made=True)
        return united(vm, left, right)

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if op not in ("==", "!="):
            return NotImplemented
        if left is right or not left.made:
            return (left is right) == (op == "==")
        return self._not_followed(vm, left, "that is compared", span)

    def key(self, vm: VM, value: Any, span: Span) -> object:
        return super().key(vm, value, span) if not value.made else self._no_key(vm, value, span)

    def _no_key(self, vm: VM, value: Any, span: Span) -> object:
        return self._not_followed(vm, value, "as a key", span)

    def _missing(self, vm: VM, value: Any, what: str, span: Span) -> object:
        return vm.unfollowed(f"whether `{value.name}` {what} is not followed", span)

    def _not_followed(self, vm: VM, value: Any, what: str, span: Span) -> object:
        return vm.unfollowed(f"`{value.name}` {what} is not followed", span)


KINDS: Final[dict[type, Kind[VM]]] = {TypeForm: TypeFormKind()}
