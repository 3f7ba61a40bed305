"""Decorators: what they make of a function or a class."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from verifier.source import ir
from verifier.symbolic.python import expressions, hierarchy
from verifier.symbolic.python.model import Builtin, Class, Function, HostType
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import ApiRef, ExternalRef, Opaque

#: decorators of libraries that leave a function what it is, as far as a trace can tell
_TRANSPARENT: Final = frozenset(
    {
        "jit", "trace", "baremetal", "benchmark", "profile", "simulate", "simulate_kernel",
        "nki_jit", "wraps", "override", "final", "no_type_check", "overload", "custom_vjp",
        "compile", "no_grad", "inference_mode", "lru_cache", "cache", "abstractmethod", "kernel",
        "peel_decorations", "typechecked",
    }
)  # fmt: skip
#: decorators that are methods of what a decorator made
_OF_PROPERTIES: Final = frozenset({"getter", "setter", "deleter"})


@dataclass(frozen=True, slots=True)
class Decorator:
    """A decorator's value; ``left``: it is a library's, and leaves what it is given."""

    node: ir.Expr
    value: object
    left: bool


def evaluated(vm: VM, nodes: Sequence[ir.Expr]) -> list[Decorator]:
    """The values of decorators, in the order in which they are written."""
    return [_evaluated(vm, node) for node in nodes]


def _evaluated(vm: VM, node: ir.Expr) -> Decorator:
    value = vm.eval(node.func if isinstance(node, ir.Call) else node)
    if isinstance(value, (ApiRef, ExternalRef)):
        name = value.name if isinstance(value, ApiRef) else value.path
        if name.rpartition(".")[2] in _TRANSPARENT:
            return Decorator(node, value, True)
    if isinstance(value, Opaque) and value.harmless:
        return Decorator(node, value, True)
    if isinstance(node, ir.Call):
        value = expressions.call_of(vm, node, value)
    return Decorator(node, value, False)


def applied(vm: VM, decorators: Sequence[Decorator], made: object) -> object:
    """What decorators make of a function or class, the last one first."""
    for decorator in reversed(decorators):
        made = _applied(vm, decorator, made)
    return made


def _applied(vm: VM, decorator: Decorator, made: object) -> object:
    node, value = decorator.node, decorator.value
    if decorator.left:
        if isinstance(value, ApiRef) and isinstance(made, Function):
            made = replace(made, device=True)
        return _kept(vm, made)
    if isinstance(value, (Function, Builtin, Class, HostType)) or vm.box(value) is not None:
        return vm.call(value, (made,), span=node.span)
    if isinstance(value, ApiRef):
        return _kept(vm, made)
    if isinstance(value, (ExternalRef, Opaque)):
        what = f"what the decorator `{vm.text(node.span)}` makes of it is not followed"
        standard = isinstance(value, ExternalRef) and (
            value.path.split(".")[0] in sys.stdlib_module_names
        )
        if standard or (isinstance(node, ir.Attribute) and node.attr in _OF_PROPERTIES):
            return vm.unfollowed(what, node.span)
        vm.approximate("unmodelled", what, node.span)
        return _kept(vm, made)
    return vm.call(value, (made,), span=node.span)


def _kept(vm: VM, made: object) -> object:
    """What a decorator that is not followed is taken to leave; it may be more than that."""
    if isinstance(made, Function):
        hierarchy.note(vm, made, hierarchy.WRAPPED, True)
    return made
