"""What kernels do with the handle of an instruction: they order it behind others (NKI-N13).

A dependency is a wait that the device executes whenever it comes to the consumer: producer and
consumer stand in the same loops on the device, or the producer in fewer of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from verifier.dialects.nki import parameter_kinds
from verifier.dialects.nki.binding import SIGNATURE_RULE, check_order
from verifier.dialects.nki.deviceloops import RULE
from verifier.dialects.nki.handles import Handle, tile_of
from verifier.dialects.nki.methods import ATTRIBUTES, METHODS
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool
from verifier.symbolic.machine import Call, Machine
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.kinds.external import OpaqueKind
from verifier.symbolic.python.vm import VM
from verifier.symbolic.trace import LedgerKind
from verifier.symbolic.values import Guarded, Missing, Opaque

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
        if not name.startswith("__"):
            vm.fault(AttributeError, f"an instruction has no attribute `{name}`", span)
        return super().attribute(vm, value, name, span)


class OrderingKind(OpaqueKind):
    """``consumer.depends_on(*producers)`` returns the consumer."""

    name = "order of instructions"

    def call(self, vm: VM, value: Any, call: Call) -> object:
        order(vm, value.consumer, call)
        return value.consumer


def order(machine: Machine, consumer: Handle, call: Call) -> None:
    """``consumer.depends_on(...)``: other instructions, none of which waits for the consumer."""
    check_order(machine, call.span)
    for name, argument in call.keywords.items():
        _refuse(machine, E.FALSE, argument.span, f"the keyword `{name}`")
    for argument in call.args:
        value = argument.value
        for guard, producer in value.cases if isinstance(value, Guarded) else ((E.TRUE, value),):
            if isinstance(producer, Handle):
                _check(machine, consumer, producer, guard, argument.span)
                continue
            found = parameter_kinds.given(machine, producer, argument.span)
            if found is not None:
                _refuse(machine, E.not_(guard), argument.span, found.value)
            elif not isinstance(producer, Missing):
                text = f"what `{consumer.text}` is to wait for is not followed"
                machine.approximate(LedgerKind.OPAQUE, text, argument.span)


def _refuse(machine: Machine, predicate: Bool, span: Span, what: str) -> None:
    machine.check(
        SIGNATURE_RULE,
        predicate,
        span,
        "`depends_on` is given instructions",
        f"`depends_on` takes instructions, one by one, and is given {what}",
        facts=("N13",),
        help=("pass what the calls of `nki.isa` returned",),
    )


def _check(machine: Machine, consumer: Handle, producer: Handle, guard: Bool, span: Span) -> None:
    # of one trip of a loop the instruction of another is no other
    if producer.number == consumer.number and not machine.loops:
        machine.check(
            RULE,
            E.not_(guard),
            span,
            "an instruction waits for others",
            f"`{consumer.text}` is to wait for itself",
            facts=("N13",),
            compiled=True,
        )
    elif consumer.within[: len(producer.within)] != producer.within:
        machine.check(
            RULE,
            E.not_(guard),
            span,
            "the producer stands in the device's loops that the consumer stands in, or in fewer",
            f"`{producer.text}` stands in a loop on the device that `{consumer.text}` is not in: "
            "a dependency out of it may never be met",
            facts=("N13", "LP09"),
            help=("order them within one body, or put the loop behind what it waits for",),
            compiled=True,
        )


KINDS: Final[Mapping[type, Kind[VM]]] = {Handle: HandleKind(), Ordering: OrderingKind()}

__all__ = ["KINDS", "OF_TILES", "order"]
