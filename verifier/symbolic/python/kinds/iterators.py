"""Iterators: objects in the heap that know where they are, so that they fork and merge.

An :class:`IteratorKind` says how an iterator goes on (:meth:`~IteratorKind.advance`) and, where
that takes no code of the program, what is left of it (:meth:`~IteratorKind.rest`), so that a loop
over a symbolic number of items is a generic trip.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.machine import Call
from verifier.symbolic.python import concrete, hierarchy
from verifier.symbolic.python.attempts import attempt
from verifier.symbolic.python.builtin import Table, method
from verifier.symbolic.python.heap import (
    UNBOUND,
    DictBox,
    Item,
    ListBox,
    Many,
    ObjectBox,
    Segment,
    SetBox,
    StateBox,
)
from verifier.symbolic.python.inputs import LazyShape
from verifier.symbolic.python.kinds import entries, protocols, sets
from verifier.symbolic.python.kinds.list_methods import apart
from verifier.symbolic.python.kinds.mappings import element_of
from verifier.symbolic.python.kinds.segments import (
    MAX_CASES,
    MAX_LENGTH,
    backwards,
    index_of,
    range_segments,
    sliced,
)
from verifier.symbolic.python.kinds.tuples import items_of, settled_shape
from verifier.symbolic.python.model import Class, DictView, HostType
from verifier.symbolic.python.terms import presence
from verifier.symbolic.python.vm import (
    VM,
    Items,
    Iteration,
    Kind,
    Live,
    Pull,
    Runs,
    Trips,
    Unknown,
)
from verifier.symbolic.values import Guarded, Opaque, Range, Ref

ITERATOR: Final = Table("iterator")
METHODS: Final = {"iterator": ITERATOR}


class Running:
    """Where an iterator is while a loop runs through what was left of it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<running>"


RUNNING: Final = Running()


# ------------------------------------------------------------------------ state


def state_of(vm: VM, ref: object) -> StateBox:
    """The state of an iterator, to read."""
    box = vm.box(ref)
    assert isinstance(box, StateBox)
    return box


def field(vm: VM, ref: object, name: str) -> object:
    return state_of(vm, ref).fields[name]


def change(vm: VM, ref: Ref, span: Span, **fields: object) -> None:
    """Change fields of an iterator."""
    box = vm.write(ref, span)
    assert isinstance(box, StateBox)
    box.fields.update(fields)


class StateKind(Kind):
    """An object with named fields: it behaves as the kind that it holds says."""

    complete = True

    def _of(self, vm: VM, value: object) -> Kind:
        kind = state_of(vm, value).kind
        assert isinstance(kind, Kind)
        return kind

    def type_of(self, vm: VM, value: Any) -> object:
        return self._of(vm, value).type_of(vm, value)

    def describe(self, vm: VM, value: Any) -> str:
        return self._of(vm, value).describe(vm, value)

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        return self._of(vm, value).attribute(vm, value, name, span)

    def set_attribute(self, vm: VM, value: Any, name: str, new: object, span: Span) -> None:
        self._of(vm, value).set_attribute(vm, value, name, new, span)

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        return self._of(vm, value).item(vm, value, index, span)

    def set_item(self, vm: VM, value: Any, index: object, new: object, span: Span) -> None:
        self._of(vm, value).set_item(vm, value, index, new, span)

    def unary(self, vm: VM, op: str, value: Any, span: Span) -> object:
        return self._of(vm, value).unary(vm, op, value, span)

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        return self._of(vm, left).binary(vm, op, left, right, span)

    def reflected(self, vm: VM, op: str, right: Any, left: object, span: Span) -> object:
        return self._of(vm, right).reflected(vm, op, right, left, span)

    def inplace(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        return self._of(vm, left).inplace(vm, op, left, right, span)

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        return self._of(vm, left).compare(vm, op, left, right, span)

    def contains(self, vm: VM, value: Any, item: object, span: Span) -> object:
        return self._of(vm, value).contains(vm, value, item, span)

    def truth(self, vm: VM, value: Any, span: Span) -> Bool:
        return self._of(vm, value).truth(vm, value, span)

    def length(self, vm: VM, value: Any, span: Span) -> object:
        return self._of(vm, value).length(vm, value, span)

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        return self._of(vm, value).iterate(vm, value, span)

    def call(self, vm: VM, value: Any, call: Call) -> object:
        return self._of(vm, value).call(vm, value, call)

    def key(self, vm: VM, value: Any, span: Span) -> object:
        return self._of(vm, value).key(vm, value, span)

    def text(self, vm: VM, value: Any, how: str, span: Span) -> object:
        return self._of(vm, value).text(vm, value, how, span)

    def as_items(self, vm: VM, value: Any, span: Span) -> tuple[object, ...] | None:
        return self._of(vm, value).as_items(vm, value, span)


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


# ------------------------------------------------------------------------ of a value


def iterator_of(vm: VM, value: object, span: Span) -> object:
    """``iter(value)``."""
    value = vm.settled(value)
    if isinstance(value, Guarded):
        return concrete.forked(vm, vm.cases(value), lambda one: iterator_of(vm, one, span))
    if isinstance(value, Opaque):
        return SEQUENCE.make(vm, source=value, position=E.const(0), done=False)
    if isinstance(value, LazyShape):
        value = settled_shape(vm, value, span)
    box = vm.box(value)
    if isinstance(box, StateBox) and isinstance(box.kind, IteratorKind):
        return value
    if isinstance(box, StateBox) and "entries" in box.fields:
        return iterator_of(vm, box.fields["entries"], span)
    if isinstance(value, (tuple, str, bytes, Range)) or isinstance(box, ListBox):
        return SEQUENCE.make(vm, source=value, position=E.const(0), done=False)
    if isinstance(value, DictView) or isinstance(box, (DictBox, SetBox)):
        return _over_entries(vm, value, False, span)
    if isinstance(box, ObjectBox):
        return _of_object(vm, value, box, span)
    return _of_other(vm, value, span)


def own_method(vm: VM, value: object, box: ObjectBox, name: str, span: Span) -> object:
    """A special method that a class of the project defines, bound; UNBOUND if none does."""
    if not hierarchy.overrides(vm, box.cls, name):
        return UNBOUND
    return hierarchy.bind(vm, hierarchy.lookup(vm, box.cls, name), value, box.cls, span)


def _of_object(vm: VM, value: object, box: ObjectBox, span: Span) -> object:
    special = own_method(vm, value, box, "__iter__", span)
    if special is not UNBOUND:
        return vm.call(special, (), span=span)
    if box.payload is not UNBOUND:
        return iterator_of(vm, box.payload, span)
    if hierarchy.overrides(vm, box.cls, "__getitem__"):
        return INDEXED.make(vm, source=value, position=E.const(0), done=False)
    return _of_other(vm, value, span)


def _of_other(vm: VM, value: object, span: Span) -> object:
    way = vm.iteration(value, span)
    if isinstance(way, Items):
        source: object = way.items
    elif isinstance(way, Trips):
        source = way.range
    elif isinstance(way, Runs):
        source = vm.heap.new(ListBox(way.ref.segments))
    elif isinstance(way, Unknown):
        source = Opaque(way.reason)
    else:
        what = vm.kind(value).describe(vm, value)
        return vm.unfollowed(f"an iterator over {what} is not followed", span)
    return SEQUENCE.make(vm, source=source, position=E.const(0), done=False)


def _over_entries(vm: VM, value: object, reverse: bool, span: Span) -> object:
    """An iterator over a dictionary, a view of one, or a set."""
    ref = value.ref if isinstance(value, DictView) else value
    assert isinstance(ref, Ref)
    box = entries.entries_of(vm, ref)
    which = value.which if isinstance(value, DictView) else "keys"
    order: Sequence[object] | None = list(box.items)
    if isinstance(box, SetBox):
        order = sets.order_of(vm, box)
    elif box.shuffled and len(box.items) > 1:
        order = None
    if order is None:
        return vm.unfollowed("the order of what is run through is not followed", span)
    if any(entries.present(vm, item) is not E.TRUE for item in box.items.values()):
        segments = entries.listed(vm, box, element_of(which))
        if reverse:
            segments = backwards(vm, segments)
        made = vm.heap.new(ListBox(segments))
        return SEQUENCE.make(vm, source=made, position=E.const(0), done=False)
    start = tuple(reversed(order)) if reverse else tuple(order)
    return ENTRIES.make(vm, source=ref, which=which, start=start, position=E.const(0), done=False)


def reversed_of(vm: VM, value: object, span: Span) -> object:
    """``reversed(value)``."""
    if isinstance(value, Opaque):
        return value
    if isinstance(value, LazyShape):
        value = settled_shape(vm, value, span)
    box = vm.box(value)
    if isinstance(box, StateBox) and "entries" in box.fields:
        return reversed_of(vm, box.fields["entries"], span)
    if isinstance(value, Range):
        return iterator_of(vm, turned(vm, value), span)
    if isinstance(value, (tuple, str, bytes)) or isinstance(box, ListBox):
        last = index_of(vm, vm.length(value, span), span)
        assert last is not None
        return REVERSED.make(vm, source=value, position=last - 1, done=False)
    if isinstance(value, DictView) or isinstance(box, DictBox):
        return _over_entries(vm, value, True, span)
    if isinstance(box, ObjectBox):
        return _reversed_object(vm, value, box, span)
    what = vm.kind(value).describe(vm, value)
    if vm.kind(value).complete:
        vm.fault(TypeError, f"{what} is not reversible", span)
    return vm.unfollowed(f"`reversed()` of {what}", span)


def _reversed_object(vm: VM, value: object, box: ObjectBox, span: Span) -> object:
    special = own_method(vm, value, box, "__reversed__", span)
    if special is not UNBOUND:
        return vm.call(special, (), span=span)
    if box.payload is not UNBOUND:
        return reversed_of(vm, box.payload, span)
    if hierarchy.overrides(vm, box.cls, "__getitem__"):
        length = vm.length(value, span)
        if isinstance(length, Expr):
            return REVERSED.make(vm, source=value, position=length - 1, done=False)
    if isinstance(box.cls, (Class, HostType)):
        vm.fault(TypeError, f"'{box.cls.name}' object is not reversible", span)
    return vm.unfollowed("`reversed()` of an object", span)


def turned(vm: VM, rng: Range) -> Range:
    """The range in the opposite order."""
    last = rng.start + (entries_count(vm, rng) - 1) * rng.step
    return Range(last, rng.start - rng.step, -rng.step, rng.kind, rng.span)


def entries_count(vm: VM, rng: Range) -> Expr:
    count = vm.length(rng, vm.trace.span)
    assert isinstance(count, Expr)
    return count


# ------------------------------------------------------------------------ over sequences


class SequenceIterator(IteratorKind):
    """``iter(sequence)``: a list is read as it is when the iterator gets there."""

    def type_of(self, vm: VM, value: Any) -> object:
        source = field(vm, value, "source")
        sample: object = ()
        if isinstance(source, (str, bytes)):
            sample = source
        elif isinstance(source, Range):
            sample = range(0)
        elif isinstance(vm.box(source), ListBox):
            sample = []
        return HostType(type(iter(sample)))  # type: ignore[call-overload]

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        fields = state_of(vm, value).fields
        source, position = fields["source"], fields["position"]
        if isinstance(source, Opaque):
            return Unknown(source.reason)
        fresh = fields["done"] is False and isinstance(position, Expr) and position.is_const
        if isinstance(source, Range) and fresh and position is E.const(0):
            if not vm.length(source, span).is_const:  # type: ignore[attr-defined]
                self.begin(vm, value, span)
                return Trips(source)
        return super().iterate(vm, value, span)

    def advance(self, vm: VM, ref: Ref, span: Span) -> object:
        fields = state_of(vm, ref).fields
        source, position, done = fields["source"], fields["position"], fields["done"]
        if isinstance(source, Opaque):
            return source
        if done is RUNNING or not isinstance(position, Expr) or isinstance(source, Guarded):
            return vm.unfollowed("an iterator is not followed here", span)

        def take() -> object:
            value = self.at(vm, source, position, span)
            change(vm, ref, span, position=self.following(position))
            return value

        def finish() -> object:
            change(vm, ref, span, done=True)
            return UNBOUND

        there = self.within(vm, source, position, span)
        there = E.and_(E.not_(vm.truth(done, span)), there)
        return vm.fork(there, take, finish)

    def at(self, vm: VM, source: object, position: Expr, span: Span) -> object:
        return vm.item(source, position, span)

    def within(self, vm: VM, source: object, position: Expr, span: Span) -> Bool:
        length = index_of(vm, vm.length(source, span), span)
        return E.FALSE if length is None else E.lt(position, length)

    def following(self, position: Expr) -> Expr:
        return position + 1

    def segments(self, vm: VM, ref: Ref) -> tuple[Segment, ...] | None:
        """The items of the source as it is now."""
        source = field(vm, ref, "source")
        box = vm.box(source)
        if isinstance(box, ListBox):
            return box.segments
        if isinstance(source, tuple):
            return items_of(source)
        if isinstance(source, Range):
            return range_segments(vm, source)
        if isinstance(source, str):
            return items_of(source)
        return None

    def rest(self, vm: VM, ref: Ref, span: Span) -> tuple[Segment, ...] | None:
        fields = state_of(vm, ref).fields
        position, segments = fields["position"], self.segments(vm, ref)
        if segments is None or not isinstance(position, Expr):
            return None
        if fields["done"] is True:
            return ()
        if fields["done"] is not False:
            return None
        return sliced(vm, segments, position, ListBox(segments).length, 1)

    def endless(self, vm: VM, ref: Ref) -> bool:
        source, position = field(vm, ref, "source"), field(vm, ref, "position")
        if isinstance(source, Opaque):
            return True
        length = vm.length(source, vm.trace.span)
        if not isinstance(length, Expr) or not isinstance(position, Expr):
            return True
        if (length - position).is_const:
            return False
        _, most = E.bounds(length - position)
        return most is None or most > MAX_CASES


class ReverseIterator(SequenceIterator):
    """``reversed(sequence)``."""

    host = reversed

    def type_of(self, vm: VM, value: Any) -> object:
        if isinstance(vm.box(field(vm, value, "source")), ListBox):
            return HostType(type(reversed([])))
        return HostType(reversed)

    def within(self, vm: VM, source: object, position: Expr, span: Span) -> Bool:
        length = index_of(vm, vm.length(source, span), span)
        if length is None:
            return E.FALSE
        return E.and_(E.ge(position, 0), E.lt(position, length))

    def following(self, position: Expr) -> Expr:
        return position - 1

    def rest(self, vm: VM, ref: Ref, span: Span) -> tuple[Segment, ...] | None:
        fields = state_of(vm, ref).fields
        position, segments = fields["position"], self.segments(vm, ref)
        if segments is None or not isinstance(position, Expr):
            return None
        if fields["done"] is not False:
            return () if fields["done"] is True else None
        left = sliced(vm, segments, E.const(0), position + 1, 1)
        return None if left is None else backwards(vm, left)


class IndexedIterator(SequenceIterator):
    """``iter()`` of an object with ``__getitem__`` alone: its ``IndexError`` is the end."""

    def advance(self, vm: VM, ref: Ref, span: Span) -> object:
        fields = state_of(vm, ref).fields
        source, position, done = fields["source"], fields["position"], fields["done"]
        if not isinstance(position, Expr) or done is not False:
            return UNBOUND if done is True else vm.unfollowed("an iterator", span)

        def finish(exception: object) -> object:
            change(vm, ref, span, done=True)
            return UNBOUND

        def take() -> object:
            value = vm.item(source, position, span)
            change(vm, ref, span, position=position + 1)
            return value

        return attempt(vm, take, IndexError, finish)

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        return Pull(lambda: self.advance(vm, value, span))

    def endless(self, vm: VM, ref: Ref) -> bool:
        return False


class EntryIterator(IteratorKind):
    """``iter()`` of a dictionary, a view of one, or a set."""

    def type_of(self, vm: VM, value: Any) -> object:
        if isinstance(vm.box(field(vm, value, "source")), SetBox):
            return HostType(type(iter(set())))
        sample: dict[object, object] = {}
        which = field(vm, value, "which")
        view = {"keys": sample.keys(), "values": sample.values(), "items": sample.items()}
        return HostType(type(iter(view[str(which)])))

    def advance(self, vm: VM, ref: Ref, span: Span) -> object:
        fields = state_of(vm, ref).fields
        position, done, source = fields["position"], fields["done"], fields["source"]
        if done is True:
            return UNBOUND
        simple = isinstance(position, Expr) and position.is_const and done is False
        if not simple or not isinstance(source, Ref):
            if isinstance(done, Bool):
                return vm.fork(
                    done, lambda: UNBOUND, lambda: vm.unfollowed("an iterator", span)
                )
            return vm.unfollowed("an iterator over a dictionary is not followed here", span)
        assert isinstance(position, Expr)
        start, which = fields["start"], str(fields["which"])
        assert isinstance(start, tuple)
        value = entries.at(vm, source, start, position.const, element_of(which), span)
        if value is UNBOUND:
            change(vm, ref, span, done=True)
        else:
            change(vm, ref, span, position=position + 1)
        return value

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        return Pull(lambda: self.advance(vm, value, span))


SEQUENCE: Final = SequenceIterator()
REVERSED: Final = ReverseIterator()
INDEXED: Final = IndexedIterator()
ENTRIES: Final = EntryIterator()


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


KINDS: Final[dict[type, Kind]] = {StateBox: StateKind()}

__all__ = [
    "KINDS",
    "MAX_LENGTH",
    "METHODS",
    "RUNNING",
    "Item",
    "IteratorKind",
    "Live",
    "StateKind",
    "advance",
    "apart",
    "change",
    "field",
    "iterator_of",
    "reversed_of",
    "state_of",
    "step",
    "turned",
]
