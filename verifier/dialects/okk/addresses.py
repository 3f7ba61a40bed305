"""Addresses of system memory: a buffer and the bytes from its start, and arithmetic on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.lanes import SystemAddress
from verifier.symbolic.machine import Machine
from verifier.symbolic.python.inputs import Parameter
from verifier.symbolic.python.kinds.inputs import ParameterKind
from verifier.symbolic.python.state import State
from verifier.symbolic.python.vm import VM, Kind
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
        isinstance(value, Parameter) and value.kind == "address"
    )


def as_address(machine: Machine, value: object) -> SystemAddress | None:
    """The address a value is; an undecided parameter becomes one."""
    if isinstance(value, SystemAddress):
        return value
    if isinstance(value, Parameter) and value.kind in (None, "address"):
        assert isinstance(machine, State)  # only kernels that are traced have parameters
        return machine.inputs.address(value)
    return None


class AddressKind(Kind):
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
        address = as_address(vm, left)
        assert address is not None
        if is_address(right):
            other = as_address(vm, right)
            assert other is not None
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
        address = as_address(vm, right)
        distance = vm.as_int(left, span) if op == "+" else None
        if distance is None or address is None:
            return _no_number(vm, op, left)
        return _advanced(address, distance)

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        """Places in one buffer are compared by their offsets; no buffer is at address 0 (NULL)."""
        if isinstance(right, Opaque):
            return right
        if not is_address(right):
            null = isinstance(right, Expr) and right.is_const and right.const == 0
            if (null or right is None) and op in ("==", "!="):
                return op == "!="
            return _no_number(vm, op, right)
        a, b = as_address(vm, left), as_address(vm, right)
        assert a is not None and b is not None
        if a.storage is b.storage:
            return _ORDER[op](a.offset, b.offset)
        if op in ("==", "!="):
            return op == "!="
        return Opaque("an ordering of addresses in different buffers")

    def identical(self, vm: VM, value: Any, other: object, span: Span) -> Bool | None:
        if isinstance(other, SystemAddress):
            return vm.unknown_bool("a condition depends on the identity of addresses", span)
        return None


def _advanced(address: SystemAddress, distance: Expr) -> SystemAddress:
    """The place ``distance`` bytes behind an address."""
    return replace(address, offset=address.offset + distance)


def _no_number(vm: VM, op: str, other: object) -> Opaque:
    what = "a value" if isinstance(other, Guarded) else vm.kind(other).describe(vm, other)
    return Opaque(f"`{op}` on an address and {what}")


class InputKind(ParameterKind):
    """An input of a kernel: an address, a number or a flag."""

    _address = AddressKind()

    def describe(self, vm: VM, value: Any) -> str:
        if value.kind == "address":
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


__all__ = ["AddressKind", "InputKind", "as_address", "is_address"]
