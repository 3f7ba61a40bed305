"""``itertools``: lazy iterators, and the combinatoric ones."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.heap import UNBOUND, Item, ListBox, Many, Segment
from verifier.symbolic.python.kinds.iterators import (
    RUNNING,
    SEQUENCE,
    IteratorKind,
    SequenceIterator,
    advance,
    change,
    iterator_of,
    state_of,
    step,
)
from verifier.symbolic.python.kinds.segments import (
    MAX_LENGTH,
    index_of,
    index_symbol,
    pick,
    segments_of,
    values_in,
)
from verifier.symbolic.python.library.groups import GROUPBY, TEE, group_by, tee_of
from verifier.symbolic.python.library.iteration import FILTER, is_endless, mapped, rest_of, taken
from verifier.symbolic.python.model import Builtin, HostType
from verifier.symbolic.python.terms import presence
from verifier.symbolic.python.vm import VM, Iteration, Runs
from verifier.symbolic.values import Opaque, Range, Ref, SliceValue

#: the types of the module, by name
TYPES: Final = Table("itertools")
FUNCTIONS: Final = Table("itertools")


def _number(vm: VM, value: object, what: str, span: Span) -> Expr | None:
    number = index_of(vm, vm.settled(value), span)
    if number is None and vm.kind(value).complete:
        vm.fault(TypeError, f"{what} must be an integer", span)
    return number


class Over(IteratorKind):
    """An iterator over one other: its field ``source``."""

    def endless(self, vm: VM, ref: Ref) -> bool:
        return is_endless(vm, state_of(vm, ref).fields["source"])

    def begin(self, vm: VM, ref: Ref, span: Span) -> None:
        super().begin(vm, ref, span)
        taken(vm, state_of(vm, ref).fields["source"], span)

    def busy(self, vm: VM, ref: Ref, span: Span) -> bool:
        """Whether a loop runs through it already, so that nobody knows where it is."""
        if state_of(vm, ref).fields["done"] is not RUNNING:
            return False
        vm.unfollowed(f"{self.describe(vm, ref)} under a loop that runs through it", span)
        return True


# ------------------------------------------------------------------------ count, repeat, cycle


class Count(IteratorKind):
    host = itertools.count

    def advance(self, vm: VM, ref: Ref, span: Span) -> object:
        fields = state_of(vm, ref).fields
        value = fields["value"]
        change(vm, ref, span, value=vm.binary("+", value, fields["step"], span))
        return value


COUNT: Final = Count()


@TYPES.add("count")
def _count(
    vm: VM, span: Span, /, start: object = E.const(0), step: object = E.const(1)
) -> object:
    for value in (start, step):
        if isinstance(value, Opaque):
            return value
    return COUNT.make(vm, value=start, step=step, done=False)


class Repeat(SequenceIterator):
    """``repeat(object, times)``; without ``times`` it never ends."""

    host = itertools.repeat

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(itertools.repeat)

    def at(self, vm: VM, source: object, position: Expr, span: Span) -> object:
        assert isinstance(source, tuple)
        return source[0]

    def within(self, vm: VM, source: object, position: Expr, span: Span) -> E.Bool:
        assert isinstance(source, tuple)
        return E.TRUE if source[1] is None else E.lt(position, source[1])

    def segments(self, vm: VM, ref: Ref) -> tuple[Segment, ...] | None:
        source = state_of(vm, ref).fields["source"]
        assert isinstance(source, tuple)
        value, times = source
        if times is None:
            return None
        if times.is_const and times.const <= MAX_LENGTH:
            return tuple(Item(value) for _ in range(times.const))
        return (Many(E.maximum(times, 0), index_symbol(), (value,)),)

    def endless(self, vm: VM, ref: Ref) -> bool:
        source = state_of(vm, ref).fields["source"]
        assert isinstance(source, tuple)
        return source[1] is not None and not source[1].is_const


REPEAT: Final = Repeat()


@TYPES.add("repeat")
def _repeat(vm: VM, span: Span, /, object: object, times: object = UNBOUND) -> object:
    number = None if times is UNBOUND else _number(vm, times, "times", span)
    if number is None and times is not UNBOUND:
        return vm.unfollowed("how often `repeat` repeats is not followed", span)
    return REPEAT.make(vm, source=(object, number), position=E.const(0), done=False)


class Cycle(IteratorKind):
    host = itertools.cycle

    def advance(self, vm: VM, ref: Ref, span: Span) -> object:
        fields = state_of(vm, ref).fields
        if fields["first"] is not True:
            return self._again(vm, ref, span)

        def keep(item: object) -> object:
            saved = state_of(vm, ref).fields["saved"]
            assert isinstance(saved, tuple)
            change(vm, ref, span, saved=(*saved, item))
            return item

        def turn() -> object:
            change(vm, ref, span, first=False)
            return self._again(vm, ref, span)

        return step(vm, fields["source"], span, keep, turn)

    def _again(self, vm: VM, ref: Ref, span: Span) -> object:
        fields = state_of(vm, ref).fields
        saved, position = fields["saved"], fields["position"]
        if not isinstance(saved, tuple) or not isinstance(position, Expr):
            return vm.unfollowed("a `cycle` whose items depend on the path", span)
        if not saved:
            return UNBOUND
        change(vm, ref, span, position=(position + 1) % len(saved))
        return pick(vm, tuple(Item(value) for value in saved), position)

    def endless(self, vm: VM, ref: Ref) -> bool:
        fields = state_of(vm, ref).fields
        return fields["first"] is not False and is_endless(vm, fields["source"])


CYCLE: Final = Cycle()


@TYPES.add("cycle")
def _cycle(vm: VM, span: Span, iterable: object, /) -> object:
    source = iterator_of(vm, iterable, span)
    return CYCLE.make(
        vm, source=source, saved=(), position=E.const(0), first=True, done=False
    )


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


@TYPES.add("chain")
def _chain(vm: VM, span: Span, /, *iterables: object) -> object:
    return CHAIN.make(vm, source=iterator_of(vm, iterables, span), current=None, done=False)


def _chain_from(vm: VM, span: Span, cls: object, iterable: object, /) -> object:
    return CHAIN.make(vm, source=iterator_of(vm, iterable, span), current=None, done=False)


# ------------------------------------------------------------------------ slices, pairs, batches


class Slice(Over):
    host = itertools.islice

    def advance(self, vm: VM, ref: Ref, span: Span) -> object:
        if self.busy(vm, ref, span):
            return UNBOUND
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
        if count > 0:
            return step(
                vm,
                state_of(vm, ref).fields["source"],
                span,
                lambda _: self._skipped(vm, ref, count - 1, end, following, span),
            )
        if end is not None and following >= end:
            return UNBOUND

        def take(item: object) -> object:
            width = state_of(vm, ref).fields["step"]
            assert isinstance(width, Expr)
            position = E.const(following + 1)
            change(vm, ref, span, position=position, next=E.const(following) + width)
            return item

        return step(vm, state_of(vm, ref).fields["source"], span, take)

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


@TYPES.add("islice")
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
            vm.fault(ValueError, message, span)
            return vm.unfollowed("the bounds of `islice` are not followed", span)
        vm.fault(ValueError, message, span, when=E.lt(number, least))
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

    def advance(self, vm: VM, ref: Ref, span: Span) -> object:
        if self.busy(vm, ref, span):
            return UNBOUND
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


@TYPES.add("pairwise")
def _pairwise(vm: VM, span: Span, iterable: object, /) -> object:
    return PAIRWISE.make(vm, source=iterator_of(vm, iterable, span), old=UNBOUND, done=False)


class Batched(Over):
    host: ClassVar[type] = getattr(itertools, "batched", itertools.islice)

    def advance(self, vm: VM, ref: Ref, span: Span) -> object:
        if self.busy(vm, ref, span):
            return UNBOUND
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
                vm.fault(ValueError, "batched(): incomplete batch", span)
            return items if items else UNBOUND

        return gather(())


BATCHED: Final = Batched()


def _batched(
    vm: VM, span: Span, iterable: object, n: object, *, strict: object = False
) -> object:
    size = _number(vm, n, "n", span)
    exact = vm.decide(vm.truth(strict, span))
    if size is None or not size.is_const or exact is None:
        return vm.unfollowed("`batched` with a size that depends on the inputs", span)
    vm.fault(ValueError, "n must be at least one", span, when=E.lt(size, 1))
    source = iterator_of(vm, iterable, span)
    return BATCHED.make(vm, source=source, size=size, strict=exact, done=False)


# ------------------------------------------------------------------------ by condition


class While(Over):
    """``takewhile``."""

    host: ClassVar[type] = itertools.takewhile

    def advance(self, vm: VM, ref: Ref, span: Span) -> object:
        if self.busy(vm, ref, span):
            return UNBOUND
        fields = state_of(vm, ref).fields

        def finish() -> object:
            change(vm, ref, span, done=True)
            return UNBOUND

        def check(item: object) -> object:
            passes = vm.truth(vm.call(fields["function"], (item,), span=span), span)
            return vm.fork(passes, lambda: item, finish)

        def go_on() -> object:
            return step(vm, fields["source"], span, check)

        return vm.fork(vm.truth(fields["done"], span), lambda: UNBOUND, go_on)


WHILE: Final = While()


@TYPES.add("takewhile")
def _takewhile(vm: VM, span: Span, predicate: object, iterable: object, /) -> object:
    source = iterator_of(vm, iterable, span)
    return WHILE.make(vm, function=predicate, source=source, done=False)


class DropWhile(Over):
    host: ClassVar[type] = itertools.dropwhile

    def advance(self, vm: VM, ref: Ref, span: Span) -> object:
        if self.busy(vm, ref, span):
            return UNBOUND
        fields = state_of(vm, ref).fields

        def check(item: object) -> object:
            def begin() -> object:
                change(vm, ref, span, begun=True)
                return item

            drop = vm.truth(vm.call(fields["function"], (item,), span=span), span)
            vm.step(span)
            return vm.fork(drop, look, begin)

        def look() -> object:
            return step(vm, fields["source"], span, check)

        def plain() -> object:
            return advance(vm, fields["source"], span)

        return vm.fork(vm.truth(fields["begun"], span), plain, look)


DROP_WHILE: Final = DropWhile()


@TYPES.add("dropwhile")
def _dropwhile(vm: VM, span: Span, predicate: object, iterable: object, /) -> object:
    source = iterator_of(vm, iterable, span)
    return DROP_WHILE.make(vm, function=predicate, source=source, begun=False, done=False)


@TYPES.add("filterfalse")
def _filterfalse(vm: VM, span: Span, function: object, iterable: object, /) -> object:
    source = iterator_of(vm, iterable, span)
    return FILTER.make(vm, function=function, source=source, keeps=False, done=False)


class Compress(Over):
    host: ClassVar[type] = itertools.compress

    def advance(self, vm: VM, ref: Ref, span: Span) -> object:
        if self.busy(vm, ref, span):
            return UNBOUND
        fields = state_of(vm, ref).fields

        def item(value: object) -> object:
            return step(vm, fields["selectors"], span, lambda s: check(value, s))

        def check(value: object, selector: object) -> object:
            vm.step(span)
            return vm.fork(
                vm.truth(selector, span), lambda: value, lambda: self.advance(vm, ref, span)
            )

        return step(vm, fields["source"], span, item)


COMPRESS: Final = Compress()


@TYPES.add("compress")
def _compress(vm: VM, span: Span, /, data: object, selectors: object) -> object:
    source, chosen = iterator_of(vm, data, span), iterator_of(vm, selectors, span)
    return COMPRESS.make(vm, source=source, selectors=chosen, done=False)


# ------------------------------------------------------------------------ by function


class StarMap(Over):
    host: ClassVar[type] = itertools.starmap

    def advance(self, vm: VM, ref: Ref, span: Span) -> object:
        if self.busy(vm, ref, span):
            return UNBOUND
        source = state_of(vm, ref).fields["source"]
        return step(vm, source, span, lambda args: self._of(vm, ref, args, span))

    def _of(self, vm: VM, ref: Ref, args: object, span: Span) -> object:
        items = vm.items_of(vm.settled(args), span)
        if items is None:
            return vm.unfollowed("the arguments of `starmap` are not followed", span)
        return vm.call(state_of(vm, ref).fields["function"], items, span=span)

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        def hand(args: object, body: Callable[[object], None]) -> None:
            body(self._of(vm, value, args, span))

        return mapped(vm, self, value, state_of(vm, value).fields["source"], hand, span)


STAR_MAP: Final = StarMap()


@TYPES.add("starmap")
def _starmap(vm: VM, span: Span, function: object, iterable: object, /) -> object:
    source = iterator_of(vm, iterable, span)
    return STAR_MAP.make(vm, function=function, source=source, done=False)


class Accumulate(Over):
    host: ClassVar[type] = itertools.accumulate

    def advance(self, vm: VM, ref: Ref, span: Span) -> object:
        if self.busy(vm, ref, span):
            return UNBOUND
        fields = state_of(vm, ref).fields
        if fields["initial"] is not UNBOUND:
            total = fields["initial"]
            change(vm, ref, span, initial=UNBOUND, total=total)
            return total
        return step(vm, fields["source"], span, lambda item: self.add(vm, ref, item, span))

    def add(self, vm: VM, ref: Ref, item: object, span: Span) -> object:
        fields = state_of(vm, ref).fields
        total, function = fields["total"], fields["function"]
        if total is UNBOUND:
            total = item
        elif function is None:
            total = vm.binary("+", total, item, span)
        else:
            total = vm.call(function, (total, item), span=span)
        change(vm, ref, span, total=total)
        return total

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        fields = state_of(vm, value).fields
        if fields["initial"] is UNBOUND and fields["total"] is not UNBOUND:
            return mapped(
                vm,
                self,
                value,
                fields["source"],
                lambda item, body: body(self.add(vm, value, item, span)),
                span,
            )
        return super().iterate(vm, value, span)


ACCUMULATE: Final = Accumulate()


@TYPES.add("accumulate")
def _accumulate(
    vm: VM,
    span: Span,
    /,
    iterable: object,
    func: object = None,
    *,
    initial: object = None,
) -> object:
    return ACCUMULATE.make(
        vm,
        source=iterator_of(vm, iterable, span),
        function=func,
        initial=UNBOUND if initial is None else initial,
        total=UNBOUND,
        done=False,
    )


class ZipLongest(IteratorKind):
    host: ClassVar[type] = itertools.zip_longest

    def advance(self, vm: VM, ref: Ref, span: Span) -> object:
        fields = state_of(vm, ref).fields
        sources = fields["sources"]
        if not isinstance(sources, tuple):
            return vm.unfollowed("a `zip_longest` that depends on the path", span)
        if all(source is None for source in sources):
            return UNBOUND

        def from_(position: int, items: tuple[object, ...]) -> object:
            now = state_of(vm, ref).fields["sources"]
            assert isinstance(now, tuple)
            if position == len(now):
                return items
            if now[position] is None:
                return from_(position + 1, (*items, fields["fill"]))
            return step(
                vm,
                now[position],
                span,
                lambda item: from_(position + 1, (*items, item)),
                lambda: ended(position, items),
            )

        def ended(position: int, items: tuple[object, ...]) -> object:
            now = state_of(vm, ref).fields["sources"]
            assert isinstance(now, tuple)
            left = (*now[:position], None, *now[position + 1 :])
            change(vm, ref, span, sources=left)
            if all(source is None for source in left):
                return UNBOUND
            return from_(position + 1, (*items, fields["fill"]))

        return from_(0, ())

    def endless(self, vm: VM, ref: Ref) -> bool:
        sources = state_of(vm, ref).fields["sources"]
        assert isinstance(sources, tuple)
        return any(is_endless(vm, source) for source in sources if source is not None)


ZIP_LONGEST: Final = ZipLongest()


@TYPES.add("zip_longest")
def _zip_longest(
    vm: VM, span: Span, /, *iterables: object, fillvalue: object = None
) -> object:
    sources = tuple(iterator_of(vm, iterable, span) for iterable in iterables)
    return ZIP_LONGEST.make(vm, sources=sources, fill=fillvalue, done=False)


# ------------------------------------------------------------------------ combinatorics


class Combinations(SequenceIterator):
    """The combinatoric iterators: their items are known from the start."""

    def __init__(self, host: type) -> None:
        self._type = host

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(self._type)

    def describe(self, vm: VM, value: Any) -> str:
        return f"`{self._type.__name__}`"

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        rest = self.rest(vm, value, span)
        if rest is not None and any(isinstance(segment, Many) for segment in rest):
            self.begin(vm, value, span)
            return Runs(ListBox(rest))
        return super().iterate(vm, value, span)


_KINDS: Final = {
    name: Combinations(getattr(itertools, name))
    for name in ("product", "combinations", "permutations", "combinations_with_replacement")
}


def _pool(vm: VM, iterable: object, name: str, span: Span) -> tuple[object, ...] | None:
    segments = segments_of(vm, iterable, span)
    items = None if segments is None else values_in(segments)
    if items is None:
        vm.unfollowed(f"`{name}` of items that are not followed", span)
    return items


def _chosen(
    vm: VM, name: str, pool: Sequence[object], places: Any, span: Span
) -> object:
    """An iterator over choices from a pool, given by the positions of the items."""
    found = list(itertools.islice(places, MAX_LENGTH + 1))
    if len(found) > MAX_LENGTH:
        return vm.unfollowed(f"`{name}` gives too many items", span)
    items = tuple(tuple(pool[k] for k in place) for place in found)
    return _KINDS[name].make(vm, source=items, position=E.const(0), done=False)


@TYPES.add("product")
def _product(
    vm: VM, span: Span, /, *iterables: object, repeat: object = E.const(1)
) -> object:
    times = _number(vm, repeat, "repeat", span)
    if times is None or not times.is_const or times.const > 64:
        return vm.unfollowed("how often `product` repeats is not followed", span)
    vm.fault(ValueError, "repeat argument cannot be negative", span, when=E.lt(times, 0))
    pools: list[tuple[Segment, ...]] = []
    for iterable in iterables:
        segments = segments_of(vm, iterable, span)
        if segments is None:
            return vm.unfollowed("`product` of items that are not followed", span)
        pools.append(segments)
    return _producted(vm, pools * times.const, span)


def _producted(vm: VM, pools: list[tuple[Segment, ...]], span: Span) -> object:
    known = [values_in(pool) for pool in pools]
    if all(items is not None for items in known):
        total = 1
        for items in known:
            total *= len(items or ())
        if total > MAX_LENGTH:
            return vm.unfollowed("`product` gives too many items", span)
        rows = tuple(itertools.product(*(items or () for items in known)))
        return _KINDS["product"].make(vm, source=rows, position=E.const(0), done=False)
    index = index_symbol()
    left: Expr = E.from_atom(index)
    count = E.const(1)
    row: list[object] = []
    for pool in reversed(pools):
        length = ListBox(pool).length
        first = pool is pools[0] and len(row) == len(pools) - 1
        row.append(pick(vm, pool, left if first else left % length))
        left, count = left // length, count * length
    fresh = frozenset[int]().union(
        *(segment.fresh for pool in pools for segment in pool if isinstance(segment, Many))
    )
    run = Many(count, index, (tuple(reversed(row)),), fresh)
    source = vm.heap.new(ListBox((run,)))
    return _KINDS["product"].make(vm, source=source, position=E.const(0), done=False)


def _sized(
    name: str, places: Callable[[range, int], Any], *, optional: bool = False
) -> None:
    """A function of a pool and the number of items to choose from it."""

    def choose(vm: VM, span: Span, iterable: object, r: object) -> object:
        pool = _pool(vm, iterable, name, span)
        if pool is None:
            return Opaque(f"`{name}` of items that are not followed")
        size = E.const(len(pool)) if r is None and optional else _number(vm, r, "r", span)
        if size is None or not size.is_const:
            return vm.unfollowed(f"how many items `{name}` takes is not followed", span)
        vm.fault(ValueError, "r must be non-negative", span, when=E.lt(size, 0))
        return _chosen(vm, name, pool, places(range(len(pool)), size.const), span)

    if optional:

        def permutations(
            vm: VM, span: Span, /, iterable: object, r: object = None
        ) -> object:
            return choose(vm, span, iterable, r)

        TYPES.add(name)(permutations)
        return

    def combinations(vm: VM, span: Span, /, iterable: object, r: object) -> object:
        return choose(vm, span, iterable, r)

    TYPES.add(name)(combinations)


_sized("combinations", itertools.combinations)
_sized("combinations_with_replacement", itertools.combinations_with_replacement)
_sized("permutations", itertools.permutations, optional=True)


# ------------------------------------------------------------------------ the module


@TYPES.add("groupby")
def _groupby(vm: VM, span: Span, /, iterable: object, key: object = None) -> object:
    return group_by(vm, iterable, key, span)


@FUNCTIONS.add("tee")
def _tee(vm: VM, span: Span, iterable: object, n: object = E.const(2), /) -> object:
    count = _number(vm, n, "n", span)
    if count is None or not count.is_const or count.const > MAX_LENGTH:
        return vm.unfollowed("how many iterators `tee` gives is not followed", span)
    vm.fault(ValueError, "n must be >= 0", span, when=E.lt(count, 0))
    return tee_of(vm, iterable, count.const, span)


CONSTRUCTORS: Final[dict[type, Builtin]] = {
    getattr(itertools, name): model for name, model in TYPES.items()
}
_chain_table: Final = Table("chain")
_chain_table.add("from_iterable")(_chain_from)
METHODS: Final = {"chain": _chain_table}
MODULES: Final[dict[str, dict[str, object]]] = {
    "itertools": {
        **{name: HostType(getattr(itertools, name)) for name in TYPES},
        **FUNCTIONS,
        "batched": Builtin.of("batched", _batched),
    }
}
if hasattr(itertools, "batched"):
    CONSTRUCTORS[itertools.batched] = Builtin.of("batched", _batched)
    MODULES["itertools"]["batched"] = HostType(itertools.batched)

__all__ = ["CONSTRUCTORS", "GROUPBY", "METHODS", "MODULES", "SEQUENCE", "TEE"]
