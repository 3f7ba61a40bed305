"""``enumerate`` and ``zip``."""

from __future__ import annotations

from typing import Any, Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.python import generators
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.heap import UNBOUND, Item, ListBox, Many, Segment
from verifier.symbolic.python.iteration import Iteration, Unknown
from verifier.symbolic.python.kinds.iterators import RUNNING, IteratorKind, advance, step
from verifier.symbolic.python.kinds.segments import (
    MAX_CASES,
    index_of,
    index_symbol,
    inert_segments,
    optional,
    pick,
    raises,
    renamed,
)
from verifier.symbolic.python.kinds.sources import iterator_of
from verifier.symbolic.python.kinds.states import change, state_of
from verifier.symbolic.python.library.sharing import (
    Over,
    is_endless,
    kind_of,
    mapped,
    opaque_source,
    rest_of,
    taken,
)
from verifier.symbolic.python.terms import presence
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Ref

PAIRING: Final = Table()

# ------------------------------------------------------------------------ enumerate


class Enumerate(Over):
    host = enumerate

    def next_item(self, vm: VM, ref: Ref, span: Span) -> object:
        fields = state_of(vm, ref).fields

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


@PAIRING.add("enumerate")
def _enumerate(vm: VM, span: Span, /, iterable: object, start: object = E.const(0)) -> object:
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
            raises(vm, ValueError, message, span)
        for k in range(1, len(sources)):
            before = "argument 1" if k == 1 else f"arguments 1-{k}"
            message = f"zip() argument {k + 1} is longer than {before}"
            there = presence(advance(vm, sources[k], span))
            raises(vm, ValueError, message, span, there)
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

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        sources = state_of(vm, value).fields["sources"]
        assert isinstance(sources, tuple)
        unknown = [found for found in (opaque_source(vm, s) for s in sources) if found is not None]
        if not unknown:
            return super().iterate(vm, value, span)
        others = (rest_of(vm, s, span) for s in sources if opaque_source(vm, s) is None)
        if not all(segments is not None and inert_segments(segments) for segments in others):
            vm.unfollowed(f"a `zip` with {unknown[0].reason}", span)
        return Unknown(unknown[0].reason)

    def endless(self, vm: VM, ref: Ref) -> bool:
        sources = state_of(vm, ref).fields["sources"]
        assert isinstance(sources, tuple)
        if any(opaque_source(vm, source) is not None for source in sources):
            return True
        return bool(sources) and all(is_endless(vm, source) for source in sources)


def zipped(vm: VM, columns: list[tuple[Segment, ...]]) -> tuple[Segment, ...] | None:
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


@PAIRING.add("zip")
def _zip(vm: VM, span: Span, /, *iterables: object, strict: object = False) -> object:
    wanted = vm.decide(vm.truth(strict, span))
    if wanted is None:
        return vm.unfollowed("whether `zip` is strict depends on the inputs", span)
    sources = tuple(iterator_of(vm, iterable, span) for iterable in iterables)
    return ZIP.make(vm, sources=sources, strict=wanted, done=False)
