"""Built-in functions that make iterators or ask them: iter, next, map, filter, reversed, range."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any, ClassVar, Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.python import generators, hierarchy, probes
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.heap import UNBOUND, ObjectBox
from verifier.symbolic.python.iteration import Iteration
from verifier.symbolic.python.kinds.iterators import IteratorKind, advance, step
from verifier.symbolic.python.kinds.segments import index_of, raises
from verifier.symbolic.python.kinds.sources import iterator_of, reversed_of
from verifier.symbolic.python.kinds.states import change, state_of
from verifier.symbolic.python.library.pairing import PAIRING, ZIP
from verifier.symbolic.python.library.sharing import Over, kind_of, mapped
from verifier.symbolic.python.model import Builtin, HostType
from verifier.symbolic.python.terms import presence
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import LoopKind
from verifier.symbolic.values import HostUse, Opaque, OpaqueOf, Range, Ref

ITERATION: Final = Table()
_TYPES: Final = Table()

# ------------------------------------------------------------------------ iter, next


class CallIterator(IteratorKind):
    """``iter(callable, sentinel)``."""

    host: ClassVar[type] = type(iter(int, 1))

    def advance(self, vm: VM, ref: Ref, span: Span) -> object:
        fields = state_of(vm, ref).fields

        def ask() -> object:
            value = vm.call(fields["callable"], (), span=span)
            last = vm.equal(fields["sentinel"], value, span)
            ended = vm.truth(state_of(vm, ref).fields["done"], span)  # the call ran it to its end
            return vm.fork(E.or_(ended, last), end, lambda: value)

        def end() -> object:
            change(vm, ref, span, done=True)
            return UNBOUND

        return vm.fork(vm.truth(fields["done"], span), lambda: UNBOUND, ask)


CALL: Final = CallIterator()


@ITERATION.add("iter")
def _iter(vm: VM, span: Span, source: object, sentinel: object = UNBOUND, /) -> object:
    if sentinel is not UNBOUND:
        known = vm.call(vm.language.builtins["callable"], (source,), span=span)
        callable_ = vm.truth(known, span)
        message = "iter(v, w): v must be callable"
        raises(vm, TypeError, message, span, E.not_(callable_))
        return CALL.make(vm, callable=source, sentinel=sentinel, done=False)
    return iterator_of(vm, source, span)


@ITERATION.add("next")
def _next(vm: VM, span: Span, iterator: object, default: object = UNBOUND, /) -> object:
    return vm.apart(iterator, lambda one: _following(vm, one, default, span))


def _following(vm: VM, iterator: object, default: object, span: Span) -> object:
    box = vm.box(iterator)
    if isinstance(box, ObjectBox) and default is UNBOUND:
        found = hierarchy.lookup(vm, box.cls, "__next__")
        if found is UNBOUND:
            vm.fault(TypeError, f"{hierarchy.described(box.cls)} is not an iterator", span)
        return vm.call(hierarchy.bind(vm, found, iterator, box.cls, span), (), span=span)
    if not isinstance(iterator, Opaque) and kind_of(vm, iterator) is None:
        if not isinstance(box, ObjectBox) and vm.kind(iterator).complete:
            name = getattr(vm.type_of(iterator), "name", "object")
            raises(vm, TypeError, f"'{name}' object is not an iterator", span)
    if isinstance(iterator, OpaqueOf):
        probes.refused(vm, next, (iterator,), span)
        return vm.unfollowed(f"the next item of {iterator.reason} is not followed", span)
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


# ------------------------------------------------------------------------ map, filter


class Map(Over):
    host = map

    def next_item(self, vm: VM, ref: Ref, span: Span) -> object:
        fields = state_of(vm, ref).fields
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


MAP: Final = Map()


@_TYPES.add("map")
def _map(vm: VM, span: Span, function: object, /, *iterables: object) -> object:
    if not iterables:
        raises(vm, TypeError, "map() must have at least two arguments.", span)
    sources = tuple(iterator_of(vm, iterable, span) for iterable in iterables)
    several = len(sources) > 1
    source = ZIP.make(vm, sources=sources, strict=False, done=False) if several else sources[0]
    return MAP.make(vm, function=function, source=source, several=several, done=False)


class Filter(Over):
    """``filter``, and ``itertools.filterfalse`` (``keeps`` False)."""

    host = filter

    def next_item(self, vm: VM, ref: Ref, span: Span) -> object:
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


def _ranged(vm: VM, given: tuple[object, ...], numbers: tuple[Expr, ...], span: Span) -> object:
    """A range of numbers that may depend on the path."""
    if not given:
        if len(numbers) == 1:
            return Range(E.const(0), numbers[0], E.const(1), LoopKind.RANGE, span)
        step = numbers[2] if len(numbers) == 3 else E.const(1)
        message = "range() arg 3 must not be zero"
        vm.fault(ValueError, message, span, when=E.eq(step, 0), text="step != 0", args=(message,))
        return Range(numbers[0], numbers[1], step, LoopKind.RANGE, span)

    def one(value: object) -> object:
        result = vm.of_device(HostUse.RANGE, value, span)
        if result is not None:
            return result
        number = index_of(vm, value, span)
        if number is not None:
            return _ranged(vm, given[1:], (*numbers, number), span)
        if isinstance(value, Opaque):
            return value
        if vm.kind(value).complete or isinstance(value, (float, str)):
            name = getattr(vm.type_of(value), "name", "object")
            message = f"'{name}' object cannot be interpreted as an integer"
            raises(vm, TypeError, message, span)
        what = vm.kind(value).describe(vm, value)
        return vm.unfollowed(f"`range()` of {what}", span)

    return vm.each(given[0], one)


_MODELS: Final = {**_TYPES, **PAIRING}
CONSTRUCTORS: Final[dict[type, Builtin]] = {
    getattr(builtins, name): model for name, model in _MODELS.items()
}
BUILTINS: Final[dict[str, object]] = {
    **ITERATION,
    **{name: HostType(getattr(builtins, name)) for name in _MODELS},
}

__all__ = ["BUILTINS", "CONSTRUCTORS", "FILTER", "MAP"]
