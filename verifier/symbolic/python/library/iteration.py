"""Built-in functions that make iterators or ask them: iter, next, enumerate, zip, map, filter ..."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any, ClassVar, Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.python import generators
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.heap import UNBOUND, Item, ListBox, Many, ObjectBox, Segment, StateBox
from verifier.symbolic.python.kinds.iterators import (
    RUNNING,
    IteratorKind,
    advance,
    change,
    iterator_of,
    reversed_of,
    state_of,
    step,
)
from verifier.symbolic.python.kinds.segments import (
    MAX_CASES,
    index_of,
    index_symbol,
    optional,
    pick,
    renamed,
)
from verifier.symbolic.python.model import Builtin, HostType
from verifier.symbolic.python.terms import presence
from verifier.symbolic.python.vm import VM, Iteration, Mapped, Pull, Push, Runs, Trips, Unknown
from verifier.symbolic.values import Opaque, Range, Ref

ITERATION: Final = Table()
_TYPES: Final = Table()

Hand = Callable[[object, Callable[[object], None]], None]


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
    return Pull(lambda: kind.advance(vm, ref, span))


# ------------------------------------------------------------------------ iter, next


class CallIterator(IteratorKind):
    """``iter(callable, sentinel)``."""

    host: ClassVar[type] = type(iter(int, 1))

    def advance(self, vm: VM, ref: Ref, span: Span) -> object:
        fields = state_of(vm, ref).fields

        def ask() -> object:
            value = vm.call(fields["callable"], (), span=span)
            return vm.fork(vm.equal(value, fields["sentinel"], span), end, lambda: value)

        def end() -> object:
            change(vm, ref, span, done=True)
            return UNBOUND

        return vm.fork(vm.truth(fields["done"], span), lambda: UNBOUND, ask)


CALL: Final = CallIterator()


@ITERATION.add("iter")
def _iter(vm: VM, span: Span, source: object, sentinel: object = UNBOUND, /) -> object:
    if sentinel is not UNBOUND:
        return CALL.make(vm, callable=source, sentinel=sentinel, done=False)
    return iterator_of(vm, source, span)


@ITERATION.add("next")
def _next(vm: VM, span: Span, iterator: object, default: object = UNBOUND, /) -> object:
    return vm.apart(iterator, lambda one: _following(vm, one, default, span))


def _following(vm: VM, iterator: object, default: object, span: Span) -> object:
    box = vm.box(iterator)
    if isinstance(box, ObjectBox) and default is UNBOUND:
        return vm.call(vm.attribute(iterator, "__next__", span), (), span=span)
    if not isinstance(iterator, Opaque) and kind_of(vm, iterator) is None:
        if not isinstance(box, ObjectBox) and vm.kind(iterator).complete:
            name = getattr(vm.type_of(iterator), "name", "object")
            vm.fault(TypeError, f"'{name}' object is not an iterator", span)
    kind = kind_of(vm, iterator)
    if isinstance(kind, generators.GeneratorKind):
        assert isinstance(iterator, Ref)
        fresh = vm.settled(state_of(vm, iterator).fields["state"]) == "new"
        item = (kind.first if fresh else kind.advance)(vm, iterator, span)
    else:
        item = advance(vm, iterator, span)
    there = presence(item)
    if there is E.TRUE:
        return item
    if default is not UNBOUND:
        return vm.fork(there, lambda: vm.settled(item), lambda: default)
    if there is E.FALSE and isinstance(kind, generators.GeneratorKind):
        assert isinstance(iterator, Ref)
        return generators.stopped(vm, iterator, span)
    generators.raise_stop(vm, (), span, E.not_(there))
    return vm.settled(item)


# ------------------------------------------------------------------------ enumerate


class Enumerate(IteratorKind):
    host = enumerate

    def advance(self, vm: VM, ref: Ref, span: Span) -> object:
        fields = state_of(vm, ref).fields
        if fields["done"] is RUNNING:
            return vm.unfollowed("an `enumerate` under a loop that runs through it", span)

        def pair(item: object) -> object:
            return self._numbered(vm, ref, item, span)

        return step(vm, fields["source"], span, pair)

    def _numbered(self, vm: VM, ref: Ref, item: object, span: Span) -> object:
        number = state_of(vm, ref).fields["number"]
        change(vm, ref, span, number=vm.binary("+", number, E.const(1), span))
        return (number, item)

    def rest(self, vm: VM, ref: Ref, span: Span) -> tuple[Segment, ...] | None:
        fields = state_of(vm, ref).fields
        number, segments = fields["number"], rest_of(vm, fields["source"], span)
        if segments is None or not isinstance(number, Expr):
            return None
        out: list[Segment] = []
        for segment in segments:
            if isinstance(segment, Item):
                out.append(Item((number, segment.value)))
                number = number + 1
                continue
            width = len(segment.values)
            first = number + E.from_atom(segment.index) * width
            pairs = tuple((first + k, value) for k, value in enumerate(segment.values))
            out.append(Many(segment.count, segment.index, pairs, segment.fresh))
            number = number + segment.length
        return tuple(out)

    def begin(self, vm: VM, ref: Ref, span: Span) -> None:
        super().begin(vm, ref, span)
        taken(vm, state_of(vm, ref).fields["source"], span)

    def endless(self, vm: VM, ref: Ref) -> bool:
        return is_endless(vm, state_of(vm, ref).fields["source"])

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        source = state_of(vm, value).fields["source"]
        if isinstance(kind_of(vm, source), generators.GeneratorKind):
            return mapped(
                vm,
                self,
                value,
                source,
                lambda item, body: body(self._numbered(vm, value, item, span)),
                span,
            )
        return super().iterate(vm, value, span)


ENUMERATE: Final = Enumerate()


@_TYPES.add("enumerate")
def _enumerate(
    vm: VM, span: Span, /, iterable: object, start: object = E.const(0)
) -> object:
    def one(source: object) -> object:
        number = index_of(vm, vm.settled(start), span)
        if number is None:
            vm.fault(TypeError, "the start of `enumerate` must be an integer", span)
            return vm.unfollowed("the start of `enumerate` is not followed", span)
        inner = iterator_of(vm, source, span)
        return ENUMERATE.make(vm, source=inner, number=number, done=False)

    return vm.apart(iterable, one)


# ------------------------------------------------------------------------ zip


class Zip(IteratorKind):
    host = zip

    def advance(self, vm: VM, ref: Ref, span: Span) -> object:
        fields = state_of(vm, ref).fields
        if fields["done"] is RUNNING:
            return vm.unfollowed("a `zip` under a loop that runs through it", span)
        sources, strict = fields["sources"], fields["strict"]
        assert isinstance(sources, tuple)
        if not sources:
            return UNBOUND

        def from_(position: int, items: tuple[object, ...]) -> object:
            if position == len(sources):
                return items
            return step(
                vm,
                sources[position],
                span,
                lambda item: from_(position + 1, (*items, item)),
                lambda: self._end(vm, sources, strict, position, span),
            )

        return from_(0, ())

    def _end(
        self, vm: VM, sources: tuple[object, ...], strict: object, position: int, span: Span
    ) -> object:
        if strict is not True:
            return UNBOUND
        said = "argument 1" if position == 1 else f"arguments 1-{position}"
        if position:
            message = f"zip() argument {position + 1} is shorter than {said}"
            vm.fault(ValueError, message, span)
        for k in range(1, len(sources)):
            before = "argument 1" if k == 1 else f"arguments 1-{k}"
            message = f"zip() argument {k + 1} is longer than {before}"
            there = presence(advance(vm, sources[k], span))
            vm.fault(ValueError, message, span, when=there)
        return UNBOUND

    def rest(self, vm: VM, ref: Ref, span: Span) -> tuple[Segment, ...] | None:
        fields = state_of(vm, ref).fields
        sources, strict = fields["sources"], fields["strict"]
        assert isinstance(sources, tuple)
        columns = []
        for source in sources:
            segments = rest_of(vm, source, span)
            if segments is None:
                return None
            columns.append(segments)
        if strict is True and columns:
            length = ListBox(columns[0]).length
            differ = E.or_(*(E.ne(ListBox(c).length, length) for c in columns[1:]))
            if vm.decide(differ) is not False:
                return None
        return zipped(vm, columns)

    def begin(self, vm: VM, ref: Ref, span: Span) -> None:
        super().begin(vm, ref, span)
        sources = state_of(vm, ref).fields["sources"]
        assert isinstance(sources, tuple)
        for source in sources:
            taken(vm, source, span)

    def endless(self, vm: VM, ref: Ref) -> bool:
        sources = state_of(vm, ref).fields["sources"]
        assert isinstance(sources, tuple)
        return bool(sources) and all(is_endless(vm, source) for source in sources)


def zipped(
    vm: VM, columns: list[tuple[Segment, ...]]
) -> tuple[Segment, ...] | None:
    """The tuples of sequences as long as the shortest one; None: there is no form."""
    if not columns:
        return ()
    lengths = [ListBox(column).length for column in columns]
    if _aligned(columns):
        return tuple(_side_by_side(vm, parts) for parts in zip(*columns, strict=True))
    known = [length.const for length in lengths if length.is_const]
    if known and min(known) <= MAX_CASES:
        return _one_by_one(vm, columns, lengths, min(known))
    if all(len(c) == 1 and isinstance(c[0], Many) and len(c[0].values) == 1 for c in columns):
        runs = [column[0] for column in columns]
        count = E.minimum(*lengths)
        return (_side_by_side(vm, runs, count),)
    return None


def _aligned(columns: list[tuple[Segment, ...]]) -> bool:
    """Whether the sequences have the same pieces in the same places."""
    if any(len(column) != len(columns[0]) for column in columns):
        return False
    for parts in zip(*columns, strict=True):
        first = parts[0]
        for part in parts:
            if isinstance(first, Item) != isinstance(part, Item):
                return False
            if isinstance(first, Many) and isinstance(part, Many):
                if part.count is not first.count or len(part.values) != len(first.values):
                    return False
    return True


def _side_by_side(vm: VM, parts: Any, count: Expr | None = None) -> Segment:
    first = parts[0]
    if isinstance(first, Item):
        return Item(tuple(part.value for part in parts))
    index = index_symbol()
    trip = E.from_atom(index)
    # the values of each trip in terms of one index; what a trip makes anew stays so
    values = [
        tuple(_in_terms(vm, part, value, trip) for part in parts for value in (part.values[k],))
        for k in range(len(first.values))
    ]
    fresh = frozenset().union(*(part.fresh for part in parts))
    return Many(first.count if count is None else count, index, tuple(values), fresh)


def _in_terms(vm: VM, run: Many, value: object, trip: Expr) -> object:
    return renamed(vm, Many(run.count, run.index, run.values), value, trip)


def _one_by_one(
    vm: VM, columns: list[tuple[Segment, ...]], lengths: list[Expr], count: int
) -> tuple[Segment, ...]:
    out: list[Segment] = []
    for k in range(count):
        position = E.const(k)
        there = E.and_(*(E.lt(position, length) for length in lengths))
        if vm.decide(there) is False:
            break
        items = tuple(pick(vm, column, position) for column in columns)
        out.extend(optional(vm, there, items))
    return tuple(out)


ZIP: Final = Zip()


@_TYPES.add("zip")
def _zip(vm: VM, span: Span, /, *iterables: object, strict: object = False) -> object:
    wanted = vm.decide(vm.truth(strict, span))
    if wanted is None:
        return vm.unfollowed("whether `zip` is strict depends on the inputs", span)
    sources = tuple(iterator_of(vm, iterable, span) for iterable in iterables)
    return ZIP.make(vm, sources=sources, strict=wanted, done=False)


# ------------------------------------------------------------------------ map, filter


class Map(IteratorKind):
    host = map

    def advance(self, vm: VM, ref: Ref, span: Span) -> object:
        fields = state_of(vm, ref).fields
        if fields["done"] is RUNNING:
            return vm.unfollowed("a `map` under a loop that runs through it", span)
        return step(vm, fields["source"], span, lambda items: self._of(vm, ref, items, span))

    def _of(self, vm: VM, ref: Ref, items: object, span: Span) -> object:
        fields = state_of(vm, ref).fields
        args = items if fields["several"] is True else (items,)
        assert isinstance(args, tuple)
        return vm.call(fields["function"], args, span=span)

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        def hand(items: object, body: Callable[[object], None]) -> None:
            body(self._of(vm, value, items, span))

        return mapped(vm, self, value, state_of(vm, value).fields["source"], hand, span)

    def endless(self, vm: VM, ref: Ref) -> bool:
        return is_endless(vm, state_of(vm, ref).fields["source"])


MAP: Final = Map()


@_TYPES.add("map")
def _map(vm: VM, span: Span, function: object, /, *iterables: object) -> object:
    if not iterables:
        vm.fault(TypeError, "map() must have at least two arguments.", span)
    sources = tuple(iterator_of(vm, iterable, span) for iterable in iterables)
    several = len(sources) > 1
    source = ZIP.make(vm, sources=sources, strict=False, done=False) if several else sources[0]
    return MAP.make(vm, function=function, source=source, several=several, done=False)


class Filter(IteratorKind):
    """``filter``, and ``itertools.filterfalse`` (``keeps`` False)."""

    host = filter

    def advance(self, vm: VM, ref: Ref, span: Span) -> object:
        if state_of(vm, ref).fields["done"] is RUNNING:
            return vm.unfollowed("a `filter` under a loop that runs through it", span)
        while True:
            item = advance(vm, state_of(vm, ref).fields["source"], span)
            there = presence(item)
            if there is E.FALSE:
                return UNBOUND
            if there is not E.TRUE:
                return vm.fork(
                    there,
                    lambda item=item: self._tested(vm, ref, vm.settled(item), span),  # type: ignore[misc]
                    lambda: UNBOUND,
                )
            test = self._passes(vm, ref, item, span)
            known = vm.decide(test)
            if known is True:
                return item
            if known is None:
                return vm.fork(
                    test,
                    lambda item=item: item,  # type: ignore[misc]
                    lambda: self.advance(vm, ref, span),
                )
            vm.step(span)

    def _tested(self, vm: VM, ref: Ref, item: object, span: Span) -> object:
        test = self._passes(vm, ref, item, span)
        return vm.fork(test, lambda: item, lambda: self.advance(vm, ref, span))

    def _passes(self, vm: VM, ref: Ref, item: object, span: Span) -> E.Bool:
        fields = state_of(vm, ref).fields
        function = fields["function"]
        value = item if function is None else vm.call(function, (item,), span=span)
        test = vm.truth(value, span)
        return test if fields["keeps"] is True else E.not_(test)

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        def hand(item: object, body: Callable[[object], None]) -> None:
            vm.fork(self._passes(vm, value, item, span), lambda: body(item), lambda: None)

        return mapped(vm, self, value, state_of(vm, value).fields["source"], hand, span)

    def endless(self, vm: VM, ref: Ref) -> bool:
        return is_endless(vm, state_of(vm, ref).fields["source"])


FILTER: Final = Filter()


@_TYPES.add("filter")
def _filter(vm: VM, span: Span, function: object, iterable: object, /) -> object:
    source = iterator_of(vm, iterable, span)
    return FILTER.make(vm, function=function, source=source, keeps=True, done=False)


# ------------------------------------------------------------------------ reversed, range


@_TYPES.add("reversed")
def _reversed(vm: VM, span: Span, sequence: object, /) -> object:
    return vm.apart(sequence, lambda one: reversed_of(vm, one, span))


@_TYPES.add("range")
def _range(
    vm: VM, span: Span, start: object, stop: object = UNBOUND, step: object = UNBOUND, /
) -> object:
    given = [start] if stop is UNBOUND else [start, stop]
    if step is not UNBOUND:
        given.append(step)
    return _ranged(vm, tuple(given), (), span)


def _ranged(
    vm: VM, given: tuple[object, ...], numbers: tuple[Expr, ...], span: Span
) -> object:
    """A range of numbers that may depend on the path."""
    if not given:
        if len(numbers) == 1:
            return Range(E.const(0), numbers[0], E.const(1), "range", span)
        step = numbers[2] if len(numbers) == 3 else E.const(1)
        message = "range() arg 3 must not be zero"
        vm.fault(ValueError, message, span, when=E.eq(step, 0), text="step != 0")
        return Range(numbers[0], numbers[1], step, "range", span)

    def one(value: object) -> object:
        number = index_of(vm, value, span)
        if number is not None:
            return _ranged(vm, given[1:], (*numbers, number), span)
        if isinstance(value, Opaque):
            return value
        if vm.kind(value).complete or isinstance(value, (float, str)):
            name = getattr(vm.type_of(value), "name", "object")
            message = f"'{name}' object cannot be interpreted as an integer"
            vm.fault(TypeError, message, span)
        what = vm.kind(value).describe(vm, value)
        return vm.unfollowed(f"`range()` of {what}", span)

    return vm.each(given[0], one)


CONSTRUCTORS: Final[dict[type, Builtin]] = {
    getattr(builtins, name): model for name, model in _TYPES.items()
}
BUILTINS: Final[dict[str, object]] = {
    **ITERATION,
    **{name: HostType(getattr(builtins, name)) for name in _TYPES},
}

__all__ = [
    "BUILTINS",
    "CONSTRUCTORS",
    "is_endless",
    "kind_of",
    "mapped",
    "rest_of",
    "taken",
    "zipped",
]
