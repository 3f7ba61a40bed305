"""``itertools``: what functions and conditions make of other iterables."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, ClassVar, Final

from verifier.source.ir import Span
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.heap import UNBOUND
from verifier.symbolic.python.iteration import Iteration
from verifier.symbolic.python.kinds.iterators import IteratorKind, advance, step
from verifier.symbolic.python.kinds.sources import iterator_of
from verifier.symbolic.python.kinds.states import change, state_of
from verifier.symbolic.python.library.iteration import FILTER
from verifier.symbolic.python.library.sharing import Over, is_endless, mapped
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Ref

FUNCTIONS: Final = Table("itertools")

# ------------------------------------------------------------------------ by condition


class While(Over):
    """``takewhile``."""

    host: ClassVar[type] = itertools.takewhile

    def next_item(self, vm: VM, ref: Ref, span: Span) -> object:
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


@FUNCTIONS.add("takewhile")
def _takewhile(vm: VM, span: Span, predicate: object, iterable: object, /) -> object:
    source = iterator_of(vm, iterable, span)
    return WHILE.make(vm, function=predicate, source=source, done=False)


class DropWhile(Over):
    host: ClassVar[type] = itertools.dropwhile

    def next_item(self, vm: VM, ref: Ref, span: Span) -> object:
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


@FUNCTIONS.add("dropwhile")
def _dropwhile(vm: VM, span: Span, predicate: object, iterable: object, /) -> object:
    source = iterator_of(vm, iterable, span)
    return DROP_WHILE.make(vm, function=predicate, source=source, begun=False, done=False)


@FUNCTIONS.add("filterfalse")
def _filterfalse(vm: VM, span: Span, function: object, iterable: object, /) -> object:
    source = iterator_of(vm, iterable, span)
    return FILTER.make(vm, function=function, source=source, keeps=False, done=False)


class Compress(Over):
    host: ClassVar[type] = itertools.compress

    def next_item(self, vm: VM, ref: Ref, span: Span) -> object:
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


@FUNCTIONS.add("compress")
def _compress(vm: VM, span: Span, /, data: object, selectors: object) -> object:
    source, chosen = iterator_of(vm, data, span), iterator_of(vm, selectors, span)
    return COMPRESS.make(vm, source=source, selectors=chosen, done=False)


# ------------------------------------------------------------------------ by function


class StarMap(Over):
    host: ClassVar[type] = itertools.starmap

    def next_item(self, vm: VM, ref: Ref, span: Span) -> object:
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


@FUNCTIONS.add("starmap")
def _starmap(vm: VM, span: Span, function: object, iterable: object, /) -> object:
    source = iterator_of(vm, iterable, span)
    return STAR_MAP.make(vm, function=function, source=source, done=False)


class Accumulate(Over):
    host: ClassVar[type] = itertools.accumulate

    def next_item(self, vm: VM, ref: Ref, span: Span) -> object:
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


@FUNCTIONS.add("accumulate")
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

        def from_(position: int, items: tuple[object, ...], alive: bool) -> object:
            now = state_of(vm, ref).fields["sources"]
            assert isinstance(now, tuple)
            if position == len(now):
                return items if alive else UNBOUND
            # on some paths only it may have come to its end before
            return vm.apart(now[position], lambda one: of_source(position, items, alive, one))

        def of_source(
            position: int, items: tuple[object, ...], alive: bool, source: object
        ) -> object:
            if source is None:
                return from_(position + 1, (*items, fields["fill"]), alive)
            return step(
                vm,
                source,
                span,
                lambda item: from_(position + 1, (*items, item), True),
                lambda: ended(position, items, alive),
            )

        def ended(position: int, items: tuple[object, ...], alive: bool) -> object:
            now = state_of(vm, ref).fields["sources"]
            assert isinstance(now, tuple)
            change(vm, ref, span, sources=(*now[:position], None, *now[position + 1 :]))
            return from_(position + 1, (*items, fields["fill"]), alive)

        return from_(0, (), False)

    def endless(self, vm: VM, ref: Ref) -> bool:
        sources = state_of(vm, ref).fields["sources"]
        assert isinstance(sources, tuple)
        return any(is_endless(vm, source) for source in sources if source is not None)


ZIP_LONGEST: Final = ZipLongest()


@FUNCTIONS.add("zip_longest")
def _zip_longest(vm: VM, span: Span, /, *iterables: object, fillvalue: object = None) -> object:
    sources = tuple(iterator_of(vm, iterable, span) for iterable in iterables)
    return ZIP_LONGEST.make(vm, sources=sources, fill=fillvalue, done=False)
