"""``yield`` and ``yield from``: a generator's code hands an item out."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from verifier.source import ir
from verifier.source.ir import Span
from verifier.symbolic.python import concrete, handlers, hierarchy, suspended
from verifier.symbolic.python.attempts import attempt
from verifier.symbolic.python.generators import Consumer, GeneratorKind, is_exit, kind_of
from verifier.symbolic.python.heap import UNBOUND, ObjectBox
from verifier.symbolic.python.kinds.sources import iterator_of
from verifier.symbolic.python.kinds.states import state_of
from verifier.symbolic.python.model import Class
from verifier.symbolic.python.suspended import Thrown
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Guarded, Opaque, Ref


def yield_one(vm: VM, node: ir.Yield) -> object:
    """``yield value``: hand it out; what is sent back is the value of the expression."""
    value = None if node.value is None else vm.eval(node.value)
    return _given(vm, value, node.span)


def _given(vm: VM, value: object, span: Span) -> object:
    consumer = vm.frame.consumer
    if consumer is None:
        return vm.unfollowed("`yield` outside of a generator", span)
    answer = consumer(value)
    if isinstance(answer, Thrown):
        handlers.throw(vm, answer.exception, span, vm.text(span))
    return answer


def yield_from(vm: VM, node: ir.YieldFrom) -> object:
    """``yield from iterable``: all of its items; the value is what a generator returns."""
    iterable = vm.settled(vm.eval(node.value))
    if isinstance(iterable, Guarded):
        return concrete.forked(vm, vm.cases(iterable), lambda one: _delegated(vm, one, node.span))
    return _delegated(vm, iterable, node.span)


def _delegated(vm: VM, iterable: object, span: Span) -> object:
    kind = kind_of(vm, iterable)
    consumer = vm.frame.consumer
    if kind is not None and consumer is not None:
        assert isinstance(iterable, Ref)
        state = vm.settled(state_of(vm, iterable).fields["state"])
        if state == "new":
            return _pushed_through(vm, iterable, kind, consumer, span)
        if state == "suspended":
            return _pulled_through(vm, iterable, kind, span)

    def body(item: object) -> None:
        answer = _given(vm, item, span)
        if isinstance(answer, (Guarded, Opaque)):
            vm.unfollowed("what is sent into `yield from` is not followed", span)
        elif answer is not None:
            text = "what `yield from` goes through has no attribute `send`"
            vm.fault(AttributeError, text, span)

    box = vm.box(iterable)
    if isinstance(box, ObjectBox) and hierarchy.overrides(vm, box.cls, "__iter__"):
        iterator = iterator_of(vm, iterable, span)
        if iterator != iterable:
            return _delegated(vm, iterator, span)
    cls = vm.type_of(iterable)
    if isinstance(cls, Class):  # what it is handed out by may take what is thrown in
        names = ("send", "throw", "close")
        if any(hierarchy.lookup(vm, cls, name) is not UNBOUND for name in names):
            vm.unfollowed("`yield from` of an object with `send` or `throw`", span)

    if isinstance(box, ObjectBox) and hierarchy.overrides(vm, box.cls, "__next__"):
        return _asked_through(vm, iterable, body, span)
    vm.iterate(iterable, body, span)
    return state_of(vm, iterable).fields["result"] if kind is not None else None


class _Returned(Struct, frozen=True):
    """An iterator of the program's own has ended with this value."""

    value: object


def _asked_through(vm: VM, iterator: object, body: Callable[[object], None], span: Span) -> object:
    """All items of an object with ``__next__``; the value is that of its ``StopIteration``."""

    def ask() -> object:
        box = vm.box(iterator)
        assert isinstance(box, ObjectBox)
        found = hierarchy.lookup(vm, box.cls, "__next__")
        return vm.call(hierarchy.bind(vm, found, iterator, box.cls, span), (), span=span)

    def ended(error: object) -> object:
        return _Returned(vm.attribute(error, "value", span))

    while True:
        vm.step(span)
        item = vm.settled(attempt(vm, ask, StopIteration, ended))
        if isinstance(item, _Returned):
            return item.value
        if isinstance(item, Guarded) and any(isinstance(v, _Returned) for _, v in item.cases):
            return vm.unfollowed("how many items there are depends on the inputs", span)
        body(item)


def _pushed_through(
    vm: VM, ref: Ref, kind: GeneratorKind, consumer: Consumer, span: Span
) -> object:
    """All of a generator; ``GeneratorExit`` also ends who delegates to it."""
    exits: list[object] = []

    def watched(item: object) -> object:
        if exits:
            vm.unfollowed("a generator that goes on after `GeneratorExit`", span)
        answer = consumer(item)
        if isinstance(answer, Thrown) and is_exit(vm, answer.exception):
            exits.append(answer.exception)
        return answer

    result = kind.push(vm, ref, watched, span)
    if exits:
        handlers.throw(vm, exits[0], span, vm.text(span))
    return result


def _pulled_through(vm: VM, ref: Ref, kind: GeneratorKind, span: Span) -> object:
    """The rest of a generator that has been begun."""
    sent: object = None
    while True:
        item = suspended.resume(vm, ref, kind.run, sent, span)
        if item is UNBOUND:
            return state_of(vm, ref).fields["result"]
        consumer = vm.frame.consumer
        sent = consumer(item) if consumer is not None else None
        if isinstance(sent, Thrown) and is_exit(vm, sent.exception):
            vm.unfollowed("a generator that delegates to one begun before is closed", span)
