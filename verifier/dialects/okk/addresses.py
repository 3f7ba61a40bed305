"""Addresses of system memory: a buffer and the bytes from its start, and arithmetic on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.lanes import SystemAddress
from verifier.symbolic.python.inputs import InputKind, Parameter
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.kinds.inputs import ParameterKind
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Guarded, Opaque

_ORDER: Final[dict[str, Callable[[Expr, Expr], Bool]]] = {
    "<": E.lt,
    "<=": E.le,
    ">": E.gt,
    ">=": E.ge,
    "==": E.eq,
    "!=": E.ne,
}


def is_address(value: object) -> bool:
    """Whether a value is an address, or a parameter that was used as one."""
    return isinstance(value, SystemAddress) or (
        isinstance(value, Parameter) and value.kind is InputKind.ADDRESS
    )


def _address(vm: VM, value: object) -> SystemAddress:
    """The address that a value is."""
    if isinstance(value, SystemAddress):
        return value
    assert isinstance(value, Parameter)
    return vm.inputs.address(value)


class AddressKind(Kind[VM]):
    """A place in a buffer of system memory."""

    name = "SystemAddr"
    pure = True

    def describe(self, vm: VM, value: Any) -> str:
        return "an address in system memory"

    def unary(self, vm: VM, op: str, value: Any, span: Span) -> object:
        return vm.unfollowed(f"`{op}` on an address is not followed", span)

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if isinstance(right, Opaque):
            return right
        address = _address(vm, left)
        if is_address(right):
            other = _address(vm, right)
            if op == "-" and address.storage is other.storage:
                return address.offset - other.offset
            return Opaque(f"`{op}` on two addresses")
        distance = vm.as_int(right, span) if op in ("+", "-") else None
        if distance is None:
            return _no_number(vm, op, right)
        return _advanced(address, distance if op == "+" else -distance)

    def reflected(self, vm: VM, op: str, right: Any, left: object, span: Span) -> object:
        if isinstance(left, Opaque):
            return left
        distance = vm.as_int(left, span) if op == "+" else None
        if distance is None:
            return _no_number(vm, op, left)
        return _advanced(_address(vm, right), distance)

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        """Places in one buffer are compared by their offsets; no buffer is at address 0 (NULL)."""
        if isinstance(right, Opaque):
            return right
        if not is_address(right):
            null = isinstance(right, Expr) and right.is_const and right.const == 0
            if (null or right is None) and op in ("==", "!="):
                return op == "!="
            return _no_number(vm, op, right)
        a, b = _address(vm, left), _address(vm, right)
        if a.storage is b.storage:
            return _ORDER[op](a.offset, b.offset)
        if op in ("==", "!="):
            return op == "!="
        return Opaque("an ordering of addresses in different buffers")

    def identical(self, vm: VM, value: Any, other: object, span: Span) -> Bool | None:
        if isinstance(other, SystemAddress):
            return vm.unknown_bool("a condition depends on the identity of addresses", span)
        return None

    def as_address(self, vm: VM, value: Any, span: Span) -> SystemAddress | None:
        return _address(vm, value)


def _advanced(address: SystemAddress, distance: Expr) -> SystemAddress:
    """The place ``distance`` bytes behind an address."""
    return replace(address, offset=address.offset + distance)


def _no_number(vm: VM, op: str, other: object) -> Opaque:
    what = "a value" if isinstance(other, Guarded) else vm.kind(other).describe(vm, other)
    return Opaque(f"`{op}` on an address and {what}")


class AddressInputKind(ParameterKind):
    """An input of a kernel: an address, a number or a flag."""

    _address = AddressKind()

    def describe(self, vm: VM, value: Any) -> str:
        if value.kind is InputKind.ADDRESS:
            return self._address.describe(vm, value)
        return super().describe(vm, value)

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if is_address(left):
            return self._address.binary(vm, op, left, right, span)
        return NotImplemented if is_address(right) else super().binary(vm, op, left, right, span)

    def reflected(self, vm: VM, op: str, right: Any, left: object, span: Span) -> object:
        if is_address(right):
            return self._address.reflected(vm, op, right, left, span)
        return super().reflected(vm, op, right, left, span)

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if is_address(left):
            return self._address.compare(vm, op, left, right, span)
        return NotImplemented if is_address(right) else super().compare(vm, op, left, right, span)

    def as_address(self, vm: VM, value: Any, span: Span) -> SystemAddress | None:
        return vm.inputs.address(value) if value.kind in (None, InputKind.ADDRESS) else None


__all__ = ["AddressInputKind", "AddressKind", "is_address"]
