"""Comprehensions: the loops that build a list, a set or a dictionary, in a scope of their own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Final

from msgspec.structs import replace

from verifier.source import ir
from verifier.source.ir import Span
from verifier.source.scopes import names_of
from verifier.symbolic import expr as E
from verifier.symbolic.python import binding, generators, handlers
from verifier.symbolic.python.flow import Ended, Frame
from verifier.symbolic.python.heap import DictBox, Item, ListBox, Scope, SetBox
from verifier.symbolic.python.kinds.sources import iterator_of
from verifier.symbolic.python.kinds.states import state_of
from verifier.symbolic.python.loops import trips_of
from verifier.symbolic.python.model import GeneratorExpression
from verifier.symbolic.python.suspended import Thrown
from verifier.symbolic.python.trips import bounded
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import Loop, LoopKind
from verifier.symbolic.values import Range, Ref
from verifier.symbolic.views.common import conjuncts

#: what can be run through, and not be changed
_IMMUTABLE: Final = (tuple, str, bytes, Range)
#: what conditions are made of that only compare
_PLAIN: Final = (
    ir.Name,
    ir.Const,
    ir.Attribute,
    ir.Subscript,
    ir.Compare,
    ir.BoolOp,
    ir.UnaryOp,
    ir.BinOp,
)
#: operators that have a value for all integers
_ALWAYS: Final = ("+", "-", "*")
_BOXES: Final = {
    ir.ComprehensionKind.LIST: ListBox,
    ir.ComprehensionKind.SET: SetBox,
    ir.ComprehensionKind.DICT: DictBox,
}


def evaluate(vm: VM, node: ir.Comprehension) -> object:
    """The list, set or dictionary; the generator that makes the items of a generator expression."""
    first = vm.eval(node.generators[0].iterable)
    if node.kind is ir.ComprehensionKind.GENERATOR:
        frame = vm.frame
        first = _started(vm, first, node.generators[0].iterable.span)
        promise = GeneratorExpression(node, first, frame.module, Ref(frame.scope), frame.function)
        return generators.of_expression(vm, EXPRESSIONS, promise)
    result = vm.heap.new(_BOXES[node.kind]())

    def add() -> None:
        if node.kind is ir.ComprehensionKind.DICT:
            assert node.key is not None
            key = vm.eval(node.key)
            vm.set_item(result, key, vm.eval(node.element), node.key.span)
        elif node.kind is ir.ComprehensionKind.SET:
            add_to_set(vm, result, vm.eval(node.element), node.span)
        else:
            append(vm, result, vm.eval(node.element), node.span)

    with _scope(vm, node, vm.frame.scope):
        _level(vm, node, 0, first, add)
    return result


def _started(vm: VM, first: object, span: Span) -> object:
    """What a generator expression runs through: ``iter`` of it is taken when that is made.

    Nobody can tell for a collection of Python's own.
    """

    def one(value: object) -> object:
        own = isinstance(vm.box(value), (ListBox, SetBox, DictBox))
        return value if own or isinstance(value, _IMMUTABLE) else iterator_of(vm, value, span)

    return vm.apart(first, one)


def run(vm: VM, promise: GeneratorExpression, body: Callable[[object], object]) -> None:
    """Hand each item of a generator expression to a body, as it is made."""
    frame = Frame(
        promise.module,
        promise.scope.id,
        vm.path_length(),
        promise.function,
        consumer=body,
    )
    vm.frames.append(frame)
    span = promise.node.element.span

    def add() -> None:
        answer = body(vm.eval(promise.node.element))
        if isinstance(answer, Thrown):
            handlers.throw(vm, answer.exception, span, vm.text(span))

    try:
        with _scope(vm, promise.node, promise.scope.id):
            _level(vm, promise.node, 0, promise.first, add)
    finally:
        vm.frames.pop()


def _run_promise(vm: VM, ref: Ref, body: Callable[[object], object]) -> object:
    promise = state_of(vm, ref).fields["promise"]
    assert isinstance(promise, GeneratorExpression)
    run(vm, promise, body)
    return None


#: how generator expressions behave
EXPRESSIONS: Final = generators.GeneratorKind(_run_promise)


@contextlib.contextmanager
def _scope(vm: VM, node: ir.Comprehension, around: int) -> Iterator[None]:
    own = names_of(node)
    scope = vm.heap.new(Scope({}, around, own.local, inlined=True))
    frame = vm.frame
    inner = Frame(
        frame.module, scope.id, frame.path_base, frame.function, frame.called, frame.body_of
    )
    vm.frames.append(inner)
    try:
        yield
    finally:
        vm.frames.pop()


def _level(
    vm: VM, node: ir.Comprehension, depth: int, iterable: object, add: Callable[[], None]
) -> None:
    generator = node.generators[depth]
    first = _the_first(vm, generator, iterable)

    def body(item: object) -> None:
        binding.assign(vm, generator.target, item, generator.span)
        if first is None:
            _filtered(vm, generator.conditions, lambda: inner())
            return
        for condition in generator.conditions:  # it holds, and may not have a value all the same
            vm.truth(vm.eval(condition), condition.span)
        inner()

    def inner() -> None:
        if depth + 1 == len(node.generators):
            add()
        else:
            following = vm.eval(node.generators[depth + 1].iterable)
            _level(vm, node, depth + 1, following, add)

    vm.iterate(iterable if first is None else first, body, generator.span)


def _the_first(vm: VM, generator: ir.Generator, iterable: object) -> Range | None:
    """The items of a range that conditions leave, if these are the first of them and no others.

    None: that is not known, or the range is a number of items, which are told apart.
    """
    if not isinstance(iterable, Range) or not generator.conditions:
        return None
    trips = trips_of(vm, iterable, generator.span)
    if trips.is_const or not all(map(_is_plain, generator.conditions)):
        return None
    symbol = vm.loop_symbol("i")
    loop = Loop(E.from_atom(symbol), trips, LoopKind.STATIC, "i", generator.span)
    mark, ledger, kept = vm.mark(), len(vm.trace.ledger), None
    vm.unsettled.append(mark)
    with contextlib.suppress(Ended), vm.inside(loop):
        item = iterable.start + iterable.step * loop.index
        binding.assign(vm, generator.target, item, generator.span)
        tests = [vm.truth(vm.eval(each), each.span) for each in generator.conditions]
        # what leaves out one item in the middle ends a loop, but no list
        ends = not any(each.kind is E.BoolKind.NE for each in conjuncts(E.and_(*tests)))
        if ends and len(vm.trace.ledger) == ledger:
            kept = bounded(vm, symbol, E.and_(*tests), trips)
    vm.settle(mark)
    vm.back_to(mark)
    return None if kept is None else replace(iterable, stop=iterable.start + iterable.step * kept)


def _is_plain(condition: ir.Expr) -> bool:
    """Whether it only compares what names stand for: it does nothing, whichever item it is of, and
    has a value for each if it has one for any."""
    nodes: list[ir.Node] = [condition]
    for node in nodes:
        if not isinstance(node, _PLAIN):
            return False
        if isinstance(node, ir.BinOp) and node.op not in _ALWAYS:
            return False
        nodes += ir.children(node)
    return True


def _filtered(vm: VM, conditions: tuple[ir.Expr, ...], action: Callable[[], None]) -> None:
    if not conditions:
        action()
        return
    test = vm.truth(vm.eval(conditions[0]), conditions[0].span)
    vm.fork(test, lambda: _filtered(vm, conditions[1:], action), lambda: None)


def append(vm: VM, ref: Ref, value: object, span: Span) -> None:
    """``list.append``."""
    box = vm.write(ref, span)
    assert isinstance(box, ListBox)
    box.segments = (*box.segments, Item(value))


def add_to_set(vm: VM, ref: Ref, value: object, span: Span) -> None:
    """``set.add``."""
    vm.call(vm.attribute(ref, "add", span), (value,), span=span)


__all__ = ["EXPRESSIONS", "add_to_set", "append", "evaluate", "run"]
