"""Iterators over values: what ``iter()`` and ``reversed()`` make of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.python import concrete, hierarchy
from verifier.symbolic.python.attempts import attempt
from verifier.symbolic.python.heap import (
    UNBOUND,
    DictBox,
    ListBox,
    ObjectBox,
    Segment,
    SetBox,
    StateBox,
)
from verifier.symbolic.python.inputs import LazyShape
from verifier.symbolic.python.iteration import Items, Iteration, Pull, Runs, Trips, Unknown
from verifier.symbolic.python.kinds import elements, entries, protocols
from verifier.symbolic.python.kinds.instancedicts import snapshot
from verifier.symbolic.python.kinds.iterators import RUNNING, IteratorKind, going_on
from verifier.symbolic.python.kinds.mappings import element_of
from verifier.symbolic.python.kinds.segments import (
    MAX_CASES,
    backwards,
    index_of,
    is_list,
    raises,
    range_segments,
    sliced,
)
from verifier.symbolic.python.kinds.states import change, field, state_of
from verifier.symbolic.python.kinds.tuples import items_of, settled_shape
from verifier.symbolic.python.model import AttributeDict, Class, DictView, HostType
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Guarded, Opaque, OpaqueOf, Range, Ref


class OwnIterator:
    """A kind of container whose iterators are not those of what it holds."""

    def iterator(self, vm: VM, value: Any, reverse: bool, span: Span) -> object:
        """``iter(value)``, or ``reversed(value)``."""
        raise NotImplementedError


def iterator_of(vm: VM, value: object, span: Span) -> object:
    """``iter(value)``."""
    value = vm.settled(value)
    if isinstance(value, Guarded):
        return concrete.forked(vm, vm.cases(value), lambda one: iterator_of(vm, one, span))
    if isinstance(value, OpaqueOf):
        vm.iteration(value, span)  # it has none, or they are not followed
    if isinstance(value, Opaque):
        return SEQUENCE.make(vm, source=value, position=E.const(0), done=False)
    if isinstance(value, LazyShape):
        value = settled_shape(vm, value, span)
    box = vm.box(value)
    if isinstance(box, StateBox) and isinstance(box.kind, IteratorKind):
        return value
    if isinstance(box, StateBox) and isinstance(box.kind, OwnIterator):
        return box.kind.iterator(vm, value, False, span)
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
        made = vm.settled(vm.call(special, (), span=span))
        protocols.check_iterator(vm, made, span)
        return made
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
        order = elements.order_of(vm, box)
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
    if isinstance(value, OpaqueOf):
        return vm.unfollowed(f"`reversed()` of {value.reason} is not followed", span)
    if isinstance(value, Opaque):
        return value
    if isinstance(value, LazyShape):
        value = settled_shape(vm, value, span)
    if isinstance(value, AttributeDict):
        value = snapshot(vm, value)
    box = vm.box(value)
    if isinstance(box, StateBox) and isinstance(box.kind, OwnIterator):
        return box.kind.iterator(vm, value, True, span)
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
    if isinstance(value, Class) and hierarchy.trait(value, "enum") is not None:
        way = vm.iteration(value, span)
        assert isinstance(way, Items)
        return iterator_of(vm, way.items[::-1], span)
    if isinstance(value, Class) and isinstance(value.metaclass, Class):
        return vm.unfollowed(f"`reversed()` of {what}", span)
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
            return BACKWARDS.make(vm, source=value, position=length - 1, done=False)
    if isinstance(box.cls, (Class, HostType)):
        raises(vm, TypeError, f"'{box.cls.name}' object is not reversible", span)
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
        elif is_list(vm, source):
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
            # where it ends is not known: here, since from here on nothing is known
            vm.unfollowed(f"the next item of {source.reason} is not followed", span)
            change(vm, ref, span, done=True)
            return UNBOUND
        if done is RUNNING or not isinstance(position, Expr) or isinstance(source, Guarded):
            return vm.unfollowed("an iterator is not followed here", span)

        def take() -> object:
            value = self.at(vm, source, position, span)
            change(vm, ref, span, position=self.following(position))
            return value

        def finish() -> object:
            # nobody asks for its position any more: it goes on as elsewhere, which has no cases
            change(vm, ref, span, done=True, position=self.following(position))
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

    host: ClassVar[type] = reversed

    def type_of(self, vm: VM, value: Any) -> object:
        if is_list(vm, field(vm, value, "source")):
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
        inside = vm.decide(E.lt(position, ListBox(segments).length))
        if inside is not True:  # the sequence may have become shorter: that is the end
            return () if inside is False else None
        left = sliced(vm, segments, E.const(0), position + 1, 1)
        return None if left is None else backwards(vm, left)


class IndexedIterator(SequenceIterator):
    """``iter()`` of an object with ``__getitem__`` alone: its ``IndexError`` is the end.

    So is its ``StopIteration``.
    """

    def over(self, position: Expr) -> Bool:
        """Whether the object is not even asked for an item at a position."""
        return E.FALSE

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
            change(vm, ref, span, position=self.following(position))
            return value

        def asked() -> object:
            return attempt(vm, take, IndexError, finish)

        return vm.fork(
            self.over(position),
            lambda: finish(None),
            lambda: attempt(vm, asked, StopIteration, finish),
        )

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        return Pull(lambda: going_on(vm, self, value, span))

    def endless(self, vm: VM, ref: Ref) -> bool:
        return False


class IndexedBackwards(IndexedIterator):
    """``reversed()`` of an object with ``__len__`` and ``__getitem__``."""

    host = reversed

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(reversed)

    def over(self, position: Expr) -> Bool:
        return E.lt(position, 0)

    def following(self, position: Expr) -> Expr:
        return position - 1


class EntryIterator(IteratorKind):
    """``iter()`` of a dictionary, a view of one, or a set."""

    def type_of(self, vm: VM, value: Any) -> object:
        if isinstance(vm.box(field(vm, value, "source")), SetBox):
            return HostType(type(iter(set())))
        which = field(vm, value, "which")
        if which == "keys":
            return HostType(type(iter({})))
        if which == "values":
            return HostType(type(iter({}.values())))
        return HostType(type(iter({}.items())))

    def advance(self, vm: VM, ref: Ref, span: Span) -> object:
        fields = state_of(vm, ref).fields
        position, done, source = fields["position"], fields["done"], fields["source"]
        if done is True:
            return UNBOUND
        simple = isinstance(position, Expr) and position.is_const and done is False
        if not simple or not isinstance(source, Ref):
            if isinstance(done, Bool):
                return vm.fork(done, lambda: UNBOUND, lambda: vm.unfollowed("an iterator", span))
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

    def expected(self, vm: VM, ref: Ref, span: Span) -> object:
        fields = state_of(vm, ref).fields
        position, start, done = fields["position"], fields["start"], fields["done"]
        size = vm.length(fields["source"], span)
        simple = isinstance(position, Expr) and isinstance(size, Expr) and isinstance(done, bool)
        if not simple or not isinstance(start, tuple):
            return vm.unfollowed("how many items an iterator expects to have", span)
        assert isinstance(position, Expr) and isinstance(size, Expr)
        left = E.ite(E.eq(size, len(start)), E.const(len(start)) - position, 0)
        return E.const(0) if done else left


SEQUENCE: Final = SequenceIterator()
REVERSED: Final = ReverseIterator()
INDEXED: Final = IndexedIterator()
BACKWARDS: Final = IndexedBackwards()
ENTRIES: Final = EntryIterator()
