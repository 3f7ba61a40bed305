"""Arithmetic on addresses of system memory: a buffer and the bytes from its start."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.interpreter import coercions
from verifier.symbolic.interpreter.inputs import Parameter
from verifier.symbolic.lanes import SystemAddress
from verifier.symbolic.values import Opaque

if TYPE_CHECKING:
    from verifier.symbolic.interpreter.vm import VM


def is_address(value: object) -> bool:
    """Whether a value is an address, or a parameter that was used as one."""
    return isinstance(value, SystemAddress) or (
        isinstance(value, Parameter) and value.kind == "address"
    )


def as_address(vm: VM, value: object) -> SystemAddress | None:
    """The address a value is; an undecided parameter becomes one."""
    if isinstance(value, SystemAddress):
        return value
    if isinstance(value, Parameter) and value.kind in (None, "address"):
        return vm.inputs.address(value)
    return None


def advanced(address: SystemAddress, distance: Expr) -> SystemAddress:
    """The place ``distance`` bytes behind an address."""
    return replace(address, offset=address.offset + distance)


def binary(vm: VM, op: str, left: object, right: object, span: Span) -> object:
    """``left op right`` with at least one address."""
    a = as_address(vm, left) if is_address(left) else None
    b = as_address(vm, right) if is_address(right) else None
    if a is not None and b is not None:
        if op == "-" and a.storage is b.storage:
            return a.offset - b.offset
        return Opaque(f"`{op}` on two addresses")
    if a is not None and op in ("+", "-"):
        distance = coercions.as_int(vm, right, span)
        if distance is not None:
            return advanced(a, distance if op == "+" else -distance)
    if b is not None and op == "+":
        distance = coercions.as_int(vm, left, span)
        if distance is not None:
            return advanced(b, distance)
    return Opaque(f"`{op}` on an address and {coercions.kind_name(right)}")


def compare(vm: VM, op: str, left: object, right: object) -> object:
    """One comparison with at least one address.

    Places in one buffer are compared by their offsets. No buffer is at address 0 (NULL).
    """
    a = as_address(vm, left) if is_address(left) else None
    b = as_address(vm, right) if is_address(right) else None
    if a is None or b is None:
        other = right if a is not None else left
        null = isinstance(other, Expr) and other.is_const and other.const == 0
        if null and op in ("==", "!="):
            return E.truth(op == "!=")
        return Opaque(f"`{op}` on an address and {coercions.kind_name(other)}")
    if a.storage is not b.storage:
        if op in ("==", "!="):
            return E.truth(op == "!=")
        return Opaque("an ordering of addresses in different buffers")
    return _ORDER[op](a.offset, b.offset)


_ORDER = {"<": E.lt, "<=": E.le, ">": E.gt, ">=": E.ge, "==": E.eq, "!=": E.ne}
