"""Iterators: objects in the heap that know where they are, so that they fork and merge.

An :class:`IteratorKind` says how an iterator goes on (:meth:`~IteratorKind.advance`) and, where
that takes no code of the program, what is left of it (:meth:`~IteratorKind.rest`), so that a loop
over a symbolic number of items is a generic trip.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.python import concrete
from verifier.symbolic.python.builtin import Table, method
from verifier.symbolic.python.heap import UNBOUND, ListBox, Many, ObjectBox, Segment, StateBox
from verifier.symbolic.python.kinds import protocols, states
from verifier.symbolic.python.kinds.states import change, state_of
from verifier.symbolic.python.model import HostType
from verifier.symbolic.python.terms import presence
from verifier.symbolic.python.vm import VM, Iteration, Kind, Pull, Runs, Unknown
from verifier.symbolic.values import Guarded, Opaque, Ref

ITERATOR: Final = Table("iterator")
METHODS: Final = {"iterator": ITERATOR}


class Running:
    """Where an iterator is while a loop runs through what was left of it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<running>"


RUNNING: Final = Running()


class IteratorKind(Kind):
    """How one type of iterator goes on."""

    complete = True
    #: the type on the host
    host: ClassVar[type] = type(iter(()))

    def make(self, vm: VM, **fields: object) -> Ref:
        """A new iterator."""
        return vm.heap.new(StateBox(self, dict(fields)))

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(self.host)

    def describe(self, vm: VM, value: Any) -> str:
        return "an iterator"

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        found = method(METHODS, "iterator", name, value)
        if found is not UNBOUND:
            return found
        return concrete.host_attribute(vm, value, self.host, name, span)

    def contains(self, vm: VM, value: Any, item: object, span: Span) -> object:
        """Runs on until an equal item is found."""

        def go_on() -> object:
            return step(vm, value, span, check, lambda: E.FALSE)

        def check(found: object) -> object:
            return vm.fork(vm.equal(found, item, span), lambda: E.TRUE, go_on)

        if self.endless(vm, value):
            vm.unfollowed("`in` an iterator of unknown length", span)
            return vm.unknown_bool("`in` an iterator of unknown length", span)
        return go_on()

    def key(self, vm: VM, value: Any, span: Span) -> object:
        return UNBOUND if state_of(vm, value).ghost else value

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        rest = self.rest(vm, value, span)
        if rest is not None and any(isinstance(segment, Many) for segment in rest):
            self.begin(vm, value, span)
            return Runs(ListBox(rest))
        if self.endless(vm, value):
            reason = f"{self.describe(vm, value)} over an unknown number of items"
            vm.unfollowed(f"a loop over {reason}", span)
            return Unknown(reason)
        return Pull(lambda: self.advance(vm, value, span))

    # -- of each iterator -------------------------------------------------------------------

    def advance(self, vm: VM, ref: Ref, span: Span) -> object:
        """The next item, :data:`UNBOUND` (on some paths) at the end."""
        raise NotImplementedError

    def rest(self, vm: VM, ref: Ref, span: Span) -> tuple[Segment, ...] | None:
        """What is left, if no code of the program is needed to know it; nothing is taken."""
        return None

    def begin(self, vm: VM, ref: Ref, span: Span) -> None:
        """A loop runs through what is left: who asks the iterator meanwhile gets no answer."""
        change(vm, ref, span, done=RUNNING)

    def endless(self, vm: VM, ref: Ref) -> bool:
        """Whether it cannot be said how many items are left at most."""
        return False


# ------------------------------------------------------------------------ going on


def advance(vm: VM, iterator: object, span: Span) -> object:
    """The next item of any iterator, :data:`UNBOUND` (on some paths) at the end."""
    iterator = vm.settled(iterator)
    if isinstance(iterator, Guarded):
        return concrete.forked(vm, vm.cases(iterator), lambda one: advance(vm, one, span))
    box = vm.box(iterator)
    if isinstance(box, StateBox) and isinstance(box.kind, IteratorKind):
        assert isinstance(iterator, Ref)
        return box.kind.advance(vm, iterator, span)
    if isinstance(box, ObjectBox):
        assert isinstance(iterator, Ref)
        return protocols.advance(vm, iterator, span)
    if isinstance(iterator, Opaque):
        return iterator
    what = vm.kind(iterator).describe(vm, iterator)
    if vm.kind(iterator).complete:
        vm.fault(TypeError, f"{what} is not an iterator", span)
    return vm.unfollowed(f"the next item of {what}", span)


def step(
    vm: VM,
    iterator: object,
    span: Span,
    then: Callable[[object], object],
    end: Callable[[], object] = lambda: UNBOUND,
) -> object:
    """Go on with the next item of an iterator, or with its end."""
    item = advance(vm, iterator, span)
    there = presence(item)
    if there is E.TRUE:
        return then(item)
    if there is E.FALSE:
        return end()
    return vm.fork(there, lambda: then(vm.settled(item)), end)


# ------------------------------------------------------------------------ methods


@ITERATOR.add("__iter__")
def _iter(vm: VM, span: Span, self: Ref, /) -> object:
    return self


@ITERATOR.add("__next__")
def _next(vm: VM, span: Span, self: Ref, /) -> object:
    return vm.call(vm.language.builtins["next"], (self,), span=span)


@ITERATOR.add("__length_hint__")
def _hint(vm: VM, span: Span, self: Ref, /) -> object:
    return vm.unfollowed("how many items an iterator expects to have", span)


KINDS: Final[dict[type, Kind]] = states.KINDS

__all__ = [
    "KINDS",
    "METHODS",
    "RUNNING",
    "IteratorKind",
    "advance",
    "step",
]
