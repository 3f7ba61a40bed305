"""``functools.wraps`` and ``functools.update_wrapper``."""

from __future__ import annotations

from types import FunctionType
from typing import Final

from verifier.source.ir import Span
from verifier.symbolic.python import notes
from verifier.symbolic.python.attempts import attempt
from verifier.symbolic.python.heap import UNBOUND
from verifier.symbolic.python.hierarchy import Generated
from verifier.symbolic.python.model import Builtin, Class, Function, HostType, Method
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Opaque, unsure

#: what a wrapper takes over if nothing else is said; annotations besides
ASSIGNED: Final = ("__module__", "__name__", "__qualname__", "__doc__")


def update_wrapper(
    vm: VM,
    span: Span,
    wrapper: object,
    wrapped: object,
    assigned: object = UNBOUND,
    updated: object = UNBOUND,
) -> object:
    """Give a function attributes of another one."""
    if isinstance(wrapper, Opaque):
        return wrapper
    chosen = ASSIGNED if assigned is UNBOUND else vm.items_of(vm.settled(assigned), span)
    merged = ("__dict__",) if updated is UNBOUND else vm.items_of(vm.settled(updated), span)
    if chosen is None or merged not in ((), ("__dict__",)):
        return vm.unfollowed("`wraps()` with a choice of attributes is not followed", span)
    known = isinstance(wrapped, (Function, Generated, Builtin, Class, HostType, Method))
    for name in chosen:
        if not isinstance(name, str):
            return vm.unfollowed("`wraps()` with a choice of attributes is not followed", span)
        _take_over(vm, wrapper, wrapped, name, known or assigned is not UNBOUND, span)
    if merged and isinstance(wrapped, Function):
        for name, value in notes.all_noted(vm, wrapped).items():
            if name not in FunctionType.__dict__:
                vm.set_attribute(wrapper, name, value, span)
    vm.set_attribute(wrapper, "__wrapped__", wrapped, span)
    return wrapper


def _take_over(
    vm: VM, wrapper: object, wrapped: object, name: str, known: bool, span: Span
) -> None:
    def read() -> object:
        return vm.find_attribute(wrapped, name, span)

    if known:
        found = attempt(vm, read, AttributeError, lambda error: UNBOUND)
    else:
        found = unsure(f"`{name}` of what is wrapped")
    if found is not UNBOUND:
        vm.set_attribute(wrapper, name, vm.settled(found), span)


def wraps(
    vm: VM,
    span: Span,
    wrapped: object,
    assigned: object = UNBOUND,
    updated: object = UNBOUND,
) -> object:
    """The decorator that makes a function look like another one."""

    def decorate(vm: VM, span: Span, wrapper: object, /) -> object:
        return update_wrapper(vm, span, wrapper, wrapped, assigned, updated)

    return Builtin.of("wraps", decorate)
