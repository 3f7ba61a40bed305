"""``None``, ``...`` and ``NotImplemented``."""

from __future__ import annotations

from typing import Any, Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool
from verifier.symbolic.python.concrete import host_attribute
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.model import HostType
from verifier.symbolic.python.vm import VM


class _Singleton(Kind[VM]):
    """A value that has nothing but its identity."""

    pure = True
    complete = True

    def __init__(self, value: object) -> None:
        self.host = type(value)
        self.name = self.host.__name__
        self.shown = repr(value)
        self.true = bool(value) if value is not NotImplemented else True

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(self.host)

    def describe(self, vm: VM, value: Any) -> str:
        return f"`{self.shown}`"

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        return host_attribute(vm, value, self.host, name, span)

    def truth(self, vm: VM, value: Any, span: Span) -> Bool:
        return E.truth(self.true)

    def key(self, vm: VM, value: Any, span: Span) -> object:
        return value

    def text(self, vm: VM, value: Any, how: str, span: Span) -> object:
        return self.shown


KINDS: Final[dict[type, Kind[VM]]] = {
    type(value): _Singleton(value) for value in (None, ..., NotImplemented)
}
