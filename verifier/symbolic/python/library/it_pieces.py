"""``itertools``: chains, slices, pairs and batches of other iterables."""

from __future__ import annotations

import itertools
from typing import ClassVar, Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.heap import UNBOUND, ListBox, Many, Segment
from verifier.symbolic.python.kinds.iterators import RUNNING, IteratorKind, advance, step
from verifier.symbolic.python.kinds.segments import (
    index_of,
    index_symbol,
    integer,
    pick,
    raises,
    segments_of,
    values_in,
)
from verifier.symbolic.python.kinds.sources import iterator_of
from verifier.symbolic.python.kinds.states import change, state_of
from verifier.symbolic.python.library.sharing import Over, is_endless, rest_of
from verifier.symbolic.python.terms import presence
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Range, Ref, SliceValue

PIECES: Final = Table("itertools")

# ------------------------------------------------------------------------ chain


class Chain(IteratorKind):
    host = itertools.chain

    def advance(self, vm: VM, ref: Ref, span: Span) -> object:
        while True:
            fields = state_of(vm, ref).fields
            if fields["done"] is RUNNING:
                return vm.unfollowed("a `chain` under a loop that runs through it", span)
            if fields["current"] is None:
                found = self._open(vm, ref, span)
                if found is not True:
                    return found
                continue
            item = advance(vm, fields["current"], span)
            there = presence(item)
            if there is E.TRUE:
                return item
            if there is not E.FALSE:
                return vm.fork(
                    there,
                    lambda item=item: vm.settled(item),  # type: ignore[misc]
                    lambda: self._next_source(vm, ref, span),
                )
            change(vm, ref, span, current=None)

    def _next_source(self, vm: VM, ref: Ref, span: Span) -> object:
        change(vm, ref, span, current=None)
        return self.advance(vm, ref, span)

    def _open(self, vm: VM, ref: Ref, span: Span) -> object:
        """Go to the next iterable: True, or what ``advance`` gives if that depends on the path."""

        def opened(iterable: object) -> object:
            change(vm, ref, span, current=iterator_of(vm, iterable, span))
            return True

        source = advance(vm, state_of(vm, ref).fields["source"], span)
        there = presence(source)
        if there is E.TRUE:
            return opened(source)
        if there is E.FALSE:
            return UNBOUND

        def go_on() -> object:
            opened(vm.settled(source))
            return self.advance(vm, ref, span)

        return vm.fork(there, go_on, lambda: UNBOUND)

    def rest(self, vm: VM, ref: Ref, span: Span) -> tuple[Segment, ...] | None:
        fields = state_of(vm, ref).fields
        if fields["done"] is not False:
            return None
        outer = rest_of(vm, fields["source"], span)
        iterables = None if outer is None else values_in(outer)
        if iterables is None:
            return None
        out: list[Segment] = []
        if fields["current"] is not None:
            left = rest_of(vm, fields["current"], span)
            if left is None:
                return None
            out.extend(left)
        for iterable in iterables:
            segments = _known(vm, iterable, span)
            if segments is None:
                return None
            out.extend(segments)
        return tuple(out)

    def endless(self, vm: VM, ref: Ref) -> bool:
        fields = state_of(vm, ref).fields
        if is_endless(vm, fields["source"]) or is_endless(vm, fields["current"]):
            return True
        outer = rest_of(vm, fields["source"], vm.trace.span)
        iterables = None if outer is None else values_in(outer)
        return any(_long(vm, iterable) for iterable in iterables or ())


def _known(vm: VM, iterable: object, span: Span) -> tuple[Segment, ...] | None:
    """The items of a sequence, if no code of the program is needed to know them."""
    box = vm.box(iterable)
    if isinstance(box, ListBox) or isinstance(iterable, (tuple, str, Range)):
        return segments_of(vm, iterable, span)
    return rest_of(vm, iterable, span)


def _long(vm: VM, iterable: object) -> bool:
    """Whether a sequence has a number of items that nobody knows."""
    box = vm.box(iterable)
    if isinstance(box, ListBox):
        return not box.length.is_const
    if isinstance(iterable, Range):
        length = vm.length(iterable, vm.trace.span)
        return isinstance(length, Expr) and not length.is_const
    return is_endless(vm, iterable)


CHAIN: Final = Chain()


@PIECES.add("chain")
def _chain(vm: VM, span: Span, /, *iterables: object) -> object:
    return CHAIN.make(vm, source=iterator_of(vm, iterables, span), current=None, done=False)


def chain_from_iterable(vm: VM, span: Span, cls: object, iterable: object, /) -> object:
    return CHAIN.make(vm, source=iterator_of(vm, iterable, span), current=None, done=False)


# ------------------------------------------------------------------------ slices, pairs, batches


class Slice(Over):
    host = itertools.islice

    def next_item(self, vm: VM, ref: Ref, span: Span) -> object:
        fields = state_of(vm, ref).fields
        position, following, stop = fields["position"], fields["next"], fields["stop"]
        width = fields["step"]
        bounds = (position, following, width)
        if not all(isinstance(b, Expr) and b.is_const for b in bounds):
            return vm.unfollowed("where an `islice` stands is not followed", span)
        assert isinstance(position, Expr) and isinstance(following, Expr)
        assert isinstance(width, Expr)
        if stop is not None and (not isinstance(stop, Expr) or not stop.is_const):
            return vm.unfollowed("where an `islice` ends is not followed", span)
        end = None if stop is None else stop.const
        wanted = following.const if end is None else min(following.const, end)
        return self._skip(vm, ref, wanted - position.const, end, following.const, span)

    def _skip(
        self, vm: VM, ref: Ref, count: int, end: int | None, following: int, span: Span
    ) -> object:
        """Skip some items, then take one if the slice has not come to its end."""
        ends = end is not None and following >= end
        if ends and count <= 0:
            return UNBOUND
        source = state_of(vm, ref).fields["source"]

        def take(item: object) -> object:
            width = state_of(vm, ref).fields["step"]
            assert isinstance(width, Expr)
            position = E.const(following + 1)
            change(vm, ref, span, position=position, next=E.const(following) + width)
            return item

        def over() -> object:
            # where there are no more items it stands where it does elsewhere, and finds none
            if ends:
                change(vm, ref, span, position=E.const(end or 0))
                return UNBOUND
            take(UNBOUND)
            return UNBOUND

        if count <= 0:
            return step(vm, source, span, take, over)
        return step(
            vm,
            source,
            span,
            lambda _: self._skipped(vm, ref, count - 1, end, following, span),
            over,
        )

    def _skipped(
        self, vm: VM, ref: Ref, count: int, end: int | None, following: int, span: Span
    ) -> object:
        position = state_of(vm, ref).fields["position"]
        assert isinstance(position, Expr)
        change(vm, ref, span, position=position + 1)
        return self._skip(vm, ref, count, end, following, span)

    def rest(self, vm: VM, ref: Ref, span: Span) -> tuple[Segment, ...] | None:
        fields = state_of(vm, ref).fields
        segments = rest_of(vm, fields["source"], span)
        position, following = fields["position"], fields["next"]
        if segments is None or fields["done"] is not False:
            return None
        assert isinstance(position, Expr) and isinstance(following, Expr)
        source = vm.heap.new(ListBox(segments))
        stop = fields["stop"]
        end = stop - position if isinstance(stop, Expr) else None
        cut = vm.item(source, SliceValue(following - position, end, fields["step"]), span)
        box = vm.box(cut)
        return box.segments if isinstance(box, ListBox) else None

    def endless(self, vm: VM, ref: Ref) -> bool:
        stop = state_of(vm, ref).fields["stop"]
        if isinstance(stop, Expr) and stop.is_const:
            return False
        return super().endless(vm, ref)


SLICE: Final = Slice()


@PIECES.add("islice")
def _islice(
    vm: VM,
    span: Span,
    iterable: object,
    start: object,
    stop: object = UNBOUND,
    step: object = None,
    /,
) -> object:
    if stop is UNBOUND:
        start, stop = None, start
    numbers: list[Expr | None] = []
    for value, least in ((start, 0), (stop, 0), (step, 1)):
        if value is None:
            numbers.append(None)
            continue
        number = index_of(vm, vm.settled(value), span)
        message = "Indices for islice() must be None or an integer: 0 <= x <= sys.maxsize."
        if number is None:
            raises(vm, ValueError, message, span)
            return vm.unfollowed("the bounds of `islice` are not followed", span)
        raises(vm, ValueError, message, span, E.lt(number, least))
        numbers.append(number)
    first, last, width = numbers
    return SLICE.make(
        vm,
        source=iterator_of(vm, iterable, span),
        position=E.const(0),
        next=E.const(0) if first is None else first,
        stop=last,
        step=E.const(1) if width is None else width,
        done=False,
    )


class Pairwise(Over):
    host: ClassVar[type] = itertools.pairwise

    def next_item(self, vm: VM, ref: Ref, span: Span) -> object:
        fields = state_of(vm, ref).fields

        def second(item: object) -> object:
            old = state_of(vm, ref).fields["old"]
            change(vm, ref, span, old=item)
            return (old, item)

        def first(item: object) -> object:
            change(vm, ref, span, old=item)
            return step(vm, state_of(vm, ref).fields["source"], span, second)

        return step(vm, fields["source"], span, first if fields["old"] is UNBOUND else second)

    def rest(self, vm: VM, ref: Ref, span: Span) -> tuple[Segment, ...] | None:
        fields = state_of(vm, ref).fields
        segments = rest_of(vm, fields["source"], span)
        if segments is None or fields["old"] is not UNBOUND or fields["done"] is not False:
            return None
        if len(segments) != 1 or not isinstance(segments[0], Many):
            return None
        index = index_symbol()
        trip = E.from_atom(index)
        pair = (pick(vm, segments, trip), pick(vm, segments, trip + 1))
        return (Many(E.maximum(segments[0].length - 1, 0), index, (pair,), segments[0].fresh),)


PAIRWISE: Final = Pairwise()


@PIECES.add("pairwise")
def _pairwise(vm: VM, span: Span, iterable: object, /) -> object:
    return PAIRWISE.make(vm, source=iterator_of(vm, iterable, span), old=UNBOUND, done=False)


class Batched(Over):
    host: ClassVar[type] = getattr(itertools, "batched", itertools.islice)

    def next_item(self, vm: VM, ref: Ref, span: Span) -> object:
        fields = state_of(vm, ref).fields
        size = fields["size"]
        assert isinstance(size, Expr)

        def gather(items: tuple[object, ...]) -> object:
            if len(items) == size.const:
                return items
            return step(
                vm,
                state_of(vm, ref).fields["source"],
                span,
                lambda item: gather((*items, item)),
                lambda: end(items),
            )

        def end(items: tuple[object, ...]) -> object:
            if items and fields["strict"] is True:
                raises(vm, ValueError, "batched(): incomplete batch", span)
            return items if items else UNBOUND

        return gather(())


BATCHED: Final = Batched()


def batched(vm: VM, span: Span, iterable: object, n: object, *, strict: object = False) -> object:
    size = integer(vm, n, "n", span)
    exact = vm.decide(vm.truth(strict, span))
    if size is None or not size.is_const or exact is None:
        return vm.unfollowed("`batched` with a size that depends on the inputs", span)
    raises(vm, ValueError, "n must be at least one", span, E.lt(size, 1))
    source = iterator_of(vm, iterable, span)
    return BATCHED.make(vm, source=source, size=size, strict=exact, done=False)
