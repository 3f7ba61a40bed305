"""What kernels do with the handle of an instruction: they order it behind others (NKI-N13).

A dependency is a wait that the device executes whenever it comes to the consumer: producer and
consumer stand in the same loops on the device, or the producer in fewer of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from verifier.dialects.nki.deviceloops import RULE
from verifier.dialects.nki.handles import Handle, tile_of
from verifier.dialects.nki.methods import ATTRIBUTES, METHODS
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.machine import Call
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.kinds.external import OpaqueKind
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Opaque

#: what is asked of a handle as if it were a tile
OF_TILES: Final = frozenset({*ATTRIBUTES, *METHODS})


class Ordering(Opaque, frozen=True):
    """``handle.depends_on``, to be called with those that come before."""

    consumer: Handle | None = None


class HandleKind(OpaqueKind):
    """The handle of an instruction."""

    name = "instruction"
    tensorless = True

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        return tile_of(vm, value, span)

    def set_item(self, vm: VM, value: Any, index: object, new: object, span: Span) -> None:
        tile_of(vm, value, span)

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if name in OF_TILES:
            return tile_of(vm, value, span)
        if name == "depends_on":
            return Ordering("an order of instructions", harmless=True, consumer=value)
        return super().attribute(vm, value, name, span)


class OrderingKind(OpaqueKind):
    """``consumer.depends_on(*producers)`` returns the consumer."""

    name = "order of instructions"

    def call(self, vm: VM, value: Any, call: Call) -> object:
        consumer = value.consumer
        for argument in call.args:
            producer = argument.value
            if isinstance(producer, Handle):
                _check(vm, consumer, producer, argument.span)
        return consumer


def _check(vm: VM, consumer: Handle, producer: Handle, span: Span) -> None:
    if consumer.within[: len(producer.within)] != producer.within:
        vm.check(
            RULE,
            E.FALSE,
            span,
            "the producer stands in the device's loops that the consumer stands in, or in fewer",
            f"`{producer.text}` stands in a loop on the device that `{consumer.text}` is not in: "
            "a dependency out of it may never be met",
            facts=("N13", "LP09"),
            help=("order them within one body, or put the loop behind what it waits for",),
            compiled=True,
        )


KINDS: Final[Mapping[type, Kind[VM]]] = {Handle: HandleKind(), Ordering: OrderingKind()}

__all__ = ["KINDS", "OF_TILES"]
