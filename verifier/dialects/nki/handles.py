"""What an instruction returns since NKI 0.6: a handle, by which others are put behind it (NKI-N13).

A dependency is a wait that the device executes whenever it comes to the consumer: producer and
consumer stand in the same loops on the device, or the producer in fewer of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from verifier.dialects.nki.deviceloops import RULE
from verifier.records import dataclass
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Sym
from verifier.symbolic.machine import Call, Machine
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.kinds.external import OpaqueKind
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import LoopKind
from verifier.symbolic.values import Opaque


@dataclass(frozen=True, slots=True)
class Handle(Opaque):
    """An instruction that was issued; ``within``: the indices of the device's loops around it."""

    within: tuple[Sym, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class Ordering(Opaque):
    """``handle.depends_on``, to be called with those that come before."""

    consumer: Handle | None = None


def issued(machine: Machine, text: str) -> Handle:
    """The handle of the instruction that is issued now."""
    loops = (loop for loop in machine.loops if loop.kind is LoopKind.DYNAMIC)
    within = tuple(loop.symbol for loop in loops)
    return Handle("handle of an instruction", harmless=True, within=within, text=text)


class HandleKind(OpaqueKind):
    """The handle of an instruction."""

    name = "instruction"

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
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

__all__ = ["KINDS", "Handle", "issued"]
