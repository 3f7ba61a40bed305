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
from verifier.symbolic.python.iteration import Iteration, Pull, Runs, Unknown
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.kinds import protocols, states
from verifier.symbolic.python.kinds.segments import watch
from verifier.symbolic.python.kinds.states import change, state_of
from verifier.symbolic.python.model import HostType
from verifier.symbolic.python.terms import presence
from verifier.symbolic.python.vm import VM
from verifier.symbolic.trace import LedgerKind
from verifier.symbolic.values import Guarded, Opaque, OpaqueOf, Ref

ITERATOR: Final = Table("iterator")
HINT: Final = "__length_hint__"
METHODS: Final = {"iterator": ITERATOR}


class Running:
    """Where an iterator is while a loop runs through what was left of it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<running>"


RUNNING: Final = Running()


def _is_run(segment: Segment) -> bool:
    """Whether a segment is more than an item that is there on some paths only."""
    if not isinstance(segment, Many):
        return False
    _, most = E.bounds(segment.count)
    return most is None or most > 1


def lists_under(vm: VM, value: object) -> list[Ref]:
    """The lists that an iterator runs through."""
    if isinstance(value, tuple):
        return [ref for part in value for ref in lists_under(vm, part)]
    box = vm.box(value)
    if isinstance(box, ListBox):
        assert isinstance(value, Ref)
        return [value]
    if isinstance(box, StateBox):
        return lists_under(vm, tuple(box.fields.values()))
    return []


class IteratorKind(Kind[VM]):
    """How one type of iterator goes on."""

    complete = True
    #: whether it says itself what comes of asking it for an item while it looks for one
    guarded: ClassVar[bool] = False
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
        if found is not UNBOUND and (name != HINT or self.hints(vm, value)):
            return found
        return concrete.host_attribute(vm, value, self.host, name, span)

    def hints(self, vm: VM, value: Any) -> bool:
        """Whether it says how many items it expects to have."""
        known = self.type_of(vm, value)
        return isinstance(known, HostType) and hasattr(known.type, HINT)

    def expected(self, vm: VM, ref: Ref, span: Span) -> object:
        """How many items it expects to have."""
        rest = self.rest(vm, ref, span)
        if rest is None:
            return vm.unfollowed("how many items an iterator expects to have", span)
        return ListBox(rest).length

    def contains(self, vm: VM, value: Any, item: object, span: Span) -> object:
        """Runs on until an equal item is found."""
        if self.endless(vm, value):
            vm.unfollowed("`in` an iterator of unknown length", span)
            return vm.unknown_bool("`in` an iterator of unknown length", span)
        while True:
            vm.step(span)
            found = self.advance(vm, value, span)
            there = presence(found)
            if there is E.FALSE:
                return E.FALSE
            same = vm.fork(
                there,
                lambda found=found: vm.equal(vm.settled(found), item, span),  # type: ignore[misc]
                lambda: E.FALSE,
            )
            known = vm.decide(same)
            if known is True:
                return E.TRUE
            if known is None or there is not E.TRUE:
                go_on = E.and_(there, E.not_(same))
                return self._contains_later(vm, value, item, go_on, same, span)

    def _contains_later(
        self, vm: VM, value: Ref, item: object, go_on: E.Bool, same: object, span: Span
    ) -> object:
        return vm.fork(go_on, lambda: self.contains(vm, value, item, span), lambda: same)

    def key(self, vm: VM, value: Any, span: Span) -> object:
        return UNBOUND if state_of(vm, value).ghost else value

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        rest = self.rest(vm, value, span)
        if rest is not None and any(map(_is_run, rest)):
            lists = lists_under(vm, value)
            self.begin(vm, value, span)
            return Runs(ListBox(rest), watch(vm, lists, span))
        if self.endless(vm, value):
            reason = f"{self.describe(vm, value)} over an unknown number of items"
            vm.unfollowed(f"a loop over {reason}", span)
            return Unknown(reason)
        return Pull(lambda: going_on(vm, self, value, span))

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

#: where the machine keeps which iterators stand nobody knows where
_LOST: Final = "iterators that are not followed"
#: where the machine keeps which iterators are looking for an item right now
_LOOKING: Final = "iterators that look for an item"


def going_on(vm: VM, kind: IteratorKind, ref: Ref, span: Span) -> object:
    """The next item of an iterator of Python's own; the code that it runs may not ask it again.

    One that is not followed gives one item that is not, and has come to its end: nothing that
    happens behind counts, and there would be no end to it.
    """
    lost = vm.memo.setdefault(_LOST, {})
    assert isinstance(lost, dict)
    if ref in lost and _is_cut_off(vm, *lost[ref]):  # what a loop has taken back does not count
        return UNBOUND
    item = _asked(vm, kind, ref, span)
    if isinstance(item, Opaque) and _is_cut_off(vm, item.reason, span):
        lost[ref] = (item.reason, span)
    return item


def _is_cut_off(vm: VM, reason: str, span: Span) -> bool:
    """Whether :meth:`VM.unfollowed` has been told so."""
    return any(
        entry.kind is LedgerKind.SKIPPED and entry.message == reason and entry.span == span
        for entry in vm.trace.ledger
    )


def _is_mark(value: object) -> bool:
    """Whether a field's value says at what stage an iterator is."""
    return value is None or value is UNBOUND or isinstance(value, (bool, Running, Ref))


def _asked(vm: VM, kind: IteratorKind, ref: Ref, span: Span) -> object:
    parent = state_of(vm, ref).fields.get("parent")
    for holder in (ref, parent) if isinstance(parent, Ref) else (ref,):
        for name, value in state_of(vm, holder).fields.items():
            if isinstance(value, Guarded) and any(_is_mark(case) for _, case in value.cases):
                # how far it is hangs on the path: each goes its own way

                def from_there(one: object, holder: Ref = holder, name: str = name) -> object:
                    change(vm, holder, span, **{name: one})
                    return _asked(vm, kind, ref, span)

                # that there is nothing yet, or no more, is a case like others here
                live = [case for case in value.cases if vm.decide(case[0]) is not False]
                return concrete.forked(vm, live, from_there)
    if kind.guarded:
        return kind.advance(vm, ref, span)
    looking = vm.memo.setdefault(_LOOKING, set())
    assert isinstance(looking, set)
    shared = state_of(vm, ref).fields.get("shared", ref)
    if shared in looking:
        vm.unfollowed("an iterator is asked for an item while it looks for one", span)
        return UNBOUND
    looking.add(shared)
    try:
        return kind.advance(vm, ref, span)
    finally:
        looking.discard(shared)


def advance(vm: VM, iterator: object, span: Span) -> object:
    """The next item of any iterator, :data:`UNBOUND` (on some paths) at the end."""
    iterator = vm.settled(iterator)
    if isinstance(iterator, Guarded):
        return concrete.forked(vm, vm.cases(iterator), lambda one: advance(vm, one, span))
    box = vm.box(iterator)
    if isinstance(box, StateBox) and isinstance(box.kind, IteratorKind):
        assert isinstance(iterator, Ref)
        return going_on(vm, box.kind, iterator, span)
    if isinstance(box, ObjectBox):
        assert isinstance(iterator, Ref)
        return protocols.advance(vm, iterator, span)
    if isinstance(iterator, OpaqueOf):
        return vm.unfollowed(f"the next item of {iterator.reason} is not followed", span)
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


@ITERATOR.add(HINT)
def _hint(vm: VM, span: Span, self: Ref, /) -> object:
    kind = state_of(vm, self).kind
    assert isinstance(kind, IteratorKind)
    return kind.expected(vm, self, span)


KINDS: Final[dict[type, Kind[VM]]] = states.KINDS

__all__ = [
    "KINDS",
    "METHODS",
    "RUNNING",
    "IteratorKind",
    "advance",
    "step",
]
