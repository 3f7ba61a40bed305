"""Decorators: what they make of a function or a class."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from verifier.source import apis, ir
from verifier.symbolic.python import expressions, notes
from verifier.symbolic.python.kinds import external
from verifier.symbolic.python.model import Builtin, Class, Function, HostType
from verifier.symbolic.python.vm import LAUNCHING, VM
from verifier.symbolic.trace import LedgerKind
from verifier.symbolic.values import ApiRef, ExternalRef, Noted, Opaque

#: others that do what the function does: it is run inside of them, with what it is given
_TRANSPARENT: Final = frozenset(
    {
        "torch.no_grad", "torch.inference_mode", "torch.enable_grad", "typing.final",
        "typing.override", "typing.no_type_check", "typing_extensions.final",
        "typing_extensions.override", "abc.abstractmethod", "typeguard.typechecked",
        "beartype.beartype",
    }
)  # fmt: skip
#: decorators that are methods of what a decorator made
_OF_PROPERTIES: Final = frozenset({"getter", "setter", "deleter"})


class Decorator(Struct, frozen=True):
    """A decorator's value; ``left``: it is a library's, and leaves what it is given."""

    node: ir.Expr
    value: object
    left: bool


def evaluated(vm: VM, nodes: Sequence[ir.Expr]) -> list[Decorator]:
    """The values of decorators, in the order in which they are written."""
    return [_evaluated(vm, node) for node in nodes]


def _evaluated(vm: VM, node: ir.Expr) -> Decorator:
    value = vm.eval(node.func if isinstance(node, ir.Call) else node)
    if isinstance(value, ApiRef) and value.name.rpartition(".")[2] in LAUNCHING:
        return Decorator(node, value, True)
    if isinstance(value, ExternalRef) and _is_transparent(value.path):
        return Decorator(node, value, True)
    if isinstance(value, Opaque) and value.harmless:
        return Decorator(node, value, True)
    if isinstance(node, ir.Call):
        maker, call = value, node
        value = vm.made_before(lambda: expressions.call_of(vm, call, maker))
    return Decorator(node, external.mark(value) or value, False)


def _is_transparent(path: str) -> bool:
    """Whether a decorator of a library is known to leave what a function does."""
    library, last = path.partition(".")[0], path.rpartition(".")[2]
    return path in _TRANSPARENT or (library in apis.libraries() and last in LAUNCHING)


def applied(vm: VM, decorators: Sequence[Decorator], made: object) -> object:
    """What decorators make of a function or class, the last one first."""
    for decorator in reversed(decorators):
        made = _applied(vm, decorator, made)
    return made


def _applied(vm: VM, decorator: Decorator, made: object) -> object:
    node, value = decorator.node, decorator.value
    if decorator.left:
        if isinstance(value, ApiRef):
            vm.launches(made, node.span)
            if isinstance(made, Function):
                made = replace(made, device=True)
        return _kept(vm, made)
    if isinstance(value, (Function, Builtin, Class, HostType)) or vm.box(value) is not None:
        return vm.call(value, (made,), span=node.span)
    if isinstance(value, Noted):
        return made if value.leaves else Opaque(f"what {value.reason} makes of it")
    if isinstance(value, ApiRef):
        return _kept(vm, made)
    if isinstance(value, (ExternalRef, Opaque)):
        what = f"what the decorator `{vm.text(node.span)}` makes of it is not followed"
        standard = isinstance(value, ExternalRef) and (
            value.path.split(".")[0] in sys.stdlib_module_names
        )
        if standard or (isinstance(node, ir.Attribute) and node.attr in _OF_PROPERTIES):
            return vm.unfollowed(what, node.span)
        if isinstance(value, ExternalRef) and value.path.partition(".")[0] in apis.libraries():
            vm.approximate(LedgerKind.UNMODELLED, what, node.span)
            return Opaque(what, lost=True)  # it may be anything: whoever uses it finds out
        return vm.unfollowed(what, node.span)  # it may be called, and what it reaches changed
    return vm.call(value, (made,), span=node.span)


def _kept(vm: VM, made: object) -> object:
    """What a decorator that is not followed is taken to leave; it may be more than that."""
    if isinstance(made, Function):
        notes.note(vm, made, notes.WRAPPED, True)
    return made
