"""Functions and methods of Python's own: how a model of one is written down and called.

A model is a function ``(vm, span, ...)`` whose further parameters are those of the function itself
(``/`` and ``*`` included). Python's own binding says whether a call fits; a keyword that is no
parameter of the model is no argument of the call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping

from verifier.source.ir import Span
from verifier.symbolic.machine import Call
from verifier.symbolic.python.heap import UNBOUND
from verifier.symbolic.python.model import BoundBuiltin, Builtin
from verifier.symbolic.python.vm import VM

Handler = Callable[..., object]


class Table(dict[str, Builtin]):
    """Models by name: of a module's functions, or of a type's methods."""

    def __init__(self, owner: str = "") -> None:
        super().__init__()
        self.owner = owner

    def add(self, *names: str) -> Callable[[Handler], Handler]:
        """A decorator that enters a model under its names."""

        def enter(handler: Handler) -> Handler:
            for name in names:
                full = f"{self.owner}.{name}" if self.owner else name
                self[name] = Builtin.of(full, handler)
            return handler

        return enter


def invoke(vm: VM, builtin: Builtin, call: Call, *first: object) -> object:
    """Call a model with the arguments of a call; ``first`` come before them (``self``)."""
    given = [arg.value for arg in call.args]
    named = {name: arg.value for name, arg in call.keywords.items()}
    # a keyword may have the name of a positional parameter if any name is taken
    free = {name: named.pop(name) for name in _unnamed(builtin) if name in named}
    try:
        bound = builtin.signature.bind(vm, call.span, *first, *given, **named)
    except TypeError as error:
        message = f"`{builtin.name}()`: {error}"
        vm.fault(TypeError, message, call.span, rule="call-signature")
        return vm.unfollowed(message, call.span)
    return builtin.handler(*bound.args, **bound.kwargs, **free)


def _unnamed(builtin: Builtin) -> list[str]:
    """The positional parameters of a model that takes keywords of any name."""
    parameters = builtin.signature.parameters.values()
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        return []
    return [p.name for p in parameters if p.kind is p.POSITIONAL_ONLY]


def method(
    tables: Mapping[str, Mapping[str, Builtin]], type_name: str, name: str, value: object
) -> object:
    """The method of a built-in type, bound to a value; :data:`UNBOUND` if it has no model."""
    return BoundBuiltin(type_name, name, value) if name in tables[type_name] else UNBOUND


def takes(handler: Handler) -> inspect.Signature:
    """What a model takes, for messages and tests."""
    return inspect.signature(handler)


__all__ = ["Handler", "Span", "Table", "invoke", "method", "takes"]
