"""Iterators over other iterators: what all of them need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from verifier.source.ir import Span
from verifier.symbolic.python.heap import UNBOUND, Segment, StateBox
from verifier.symbolic.python.iteration import Iteration, Mapped, Pull, Push, Runs, Trips, Unknown
from verifier.symbolic.python.kinds.iterators import RUNNING, IteratorKind, going_on
from verifier.symbolic.python.kinds.states import state_of
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Opaque, Ref

Hand: TypeAlias = Callable[[object, Callable[[object], None]], None]


def kind_of(vm: VM, iterator: object) -> IteratorKind | None:
    """How an iterator goes on, None if it is an object of the program's or not followed."""
    box = vm.box(iterator)
    if isinstance(box, StateBox) and isinstance(box.kind, IteratorKind):
        return box.kind
    return None


def rest_of(vm: VM, iterator: object, span: Span) -> tuple[Segment, ...] | None:
    """What an iterator has left, if no code of the program is needed to know it."""
    kind = kind_of(vm, iterator)
    assert kind is None or isinstance(iterator, Ref)
    return None if kind is None else kind.rest(vm, iterator, span)  # type: ignore[arg-type]


def is_endless(vm: VM, iterator: object) -> bool:
    """Whether it cannot be said how many items are left at most."""
    if isinstance(iterator, Opaque):
        return True
    kind = kind_of(vm, iterator)
    return kind is not None and kind.endless(vm, iterator)  # type: ignore[arg-type]


def taken(vm: VM, iterator: object, span: Span) -> None:
    """Somebody else runs through what an iterator has left."""
    kind = kind_of(vm, iterator)
    if kind is not None:
        kind.begin(vm, iterator, span)  # type: ignore[arg-type]


def mapped(
    vm: VM, kind: IteratorKind, ref: Ref, source: object, hand: Hand, span: Span
) -> Iteration:
    """What a loop runs through over items that are made of those of one source."""
    way = vm.iteration(source, span)
    if isinstance(way, (Runs, Trips, Unknown, Mapped)):
        kind.begin(vm, ref, span)
        return Mapped(way, hand)
    if isinstance(way, Push):
        kind.begin(vm, ref, span)
        return Push(lambda body: way.run(lambda item: hand(item, body)))
    return Pull(lambda: going_on(vm, kind, ref, span))


def opaque_source(vm: VM, iterator: object) -> Opaque | None:
    """What an iterator runs through if that is not followed, nor how many items it has."""
    if isinstance(iterator, Opaque):
        return iterator
    if kind_of(vm, iterator) is None:
        return None
    source = state_of(vm, iterator).fields.get("source")
    return source if isinstance(source, Opaque) else opaque_source(vm, source)


class Over(IteratorKind):
    """An iterator over one other: its field ``source``."""

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        source = opaque_source(vm, value)
        return super().iterate(vm, value, span) if source is None else Unknown(source.reason)

    def endless(self, vm: VM, ref: Ref) -> bool:
        return is_endless(vm, state_of(vm, ref).fields["source"])

    def begin(self, vm: VM, ref: Ref, span: Span) -> None:
        super().begin(vm, ref, span)
        taken(vm, state_of(vm, ref).fields["source"], span)

    def advance(self, vm: VM, ref: Ref, span: Span) -> object:
        if state_of(vm, ref).fields["done"] is RUNNING:
            # a loop runs through it already, so that nobody knows where it is
            vm.unfollowed(f"{self.describe(vm, ref)} under a loop that runs through it", span)
            return UNBOUND
        return self.next_item(vm, ref, span)

    def next_item(self, vm: VM, ref: Ref, span: Span) -> object:
        """The next item, as :meth:`IteratorKind.advance` gives it; no loop runs through it."""
        raise NotImplementedError
