"""Generators: functions with ``yield``, and generator expressions.

A generator that a loop runs through from its start is *pushed*: its code runs inside the loop and
hands each item to the loop's body, so that symbolic loops and branches of the generator are what
they are anywhere else. One that is asked for single items (``next``, ``send``, ``zip``) is
*pulled*: its code runs on a stack of its own (:mod:`.suspended`).
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from verifier.source import ir
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.python import concrete, handlers, hierarchy, suspended
from verifier.symbolic.python.builtin import Table, method
from verifier.symbolic.python.flow import Ended, Escape, Exit, Frame, Landing, Wait
from verifier.symbolic.python.heap import UNBOUND, ObjectBox, StateBox
from verifier.symbolic.python.iteration import Items, Iteration, Pull, Push, Unknown
from verifier.symbolic.python.kinds.iterators import IteratorKind
from verifier.symbolic.python.kinds.segments import raises
from verifier.symbolic.python.kinds.states import change, state_of
from verifier.symbolic.python.model import Class, Function, GeneratorExpression, HostType
from verifier.symbolic.python.suspended import Thrown
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Guarded, Ref

GENERATOR: Final = Table("generator")
METHODS: Final = {"generator": GENERATOR}

#: what a generator does with each item; what it gets back is what ``yield`` is worth
Consumer = Callable[[object], object]
#: what runs a generator's code: the machine, the generator, what takes its items
Run = Callable[[VM, Ref, Consumer], object]


# ------------------------------------------------------------------------ the objects


class GeneratorKind(IteratorKind):
    """Generator objects whose code ``run`` runs."""

    guarded = True
    host = types.GeneratorType

    def __init__(self, run: Run) -> None:
        self.run = run

    def describe(self, vm: VM, value: Any) -> str:
        return "a generator"

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        found = method(METHODS, "generator", name, value)
        return super().attribute(vm, value, name, span) if found is UNBOUND else found

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        state = vm.settled(state_of(vm, value).fields["state"])
        if state == "new":
            return Push(lambda body: self._run_through(vm, value, body, span))
        if state == "done":
            return Items(())
        if state == "suspended" or isinstance(state, Guarded):
            return Pull(lambda: self.advance(vm, value, span))
        vm.unfollowed("a generator is run through that was left before", span)
        return Unknown("a generator")

    def advance(self, vm: VM, ref: Ref, span: Span) -> object:
        return self.resume(vm, ref, None, span)

    def resume(self, vm: VM, ref: Ref, message: object, span: Span) -> object:
        """Go on with what is sent or thrown: the next item, UNBOUND at the end."""

        def one(state: object) -> object:
            if state == "done":
                if isinstance(message, Thrown):
                    handlers.throw(vm, message.exception, span, vm.text(span))
                return UNBOUND
            if state == "running":
                raises(vm, ValueError, "generator already executing", span)
            if state not in ("new", "suspended"):
                vm.unfollowed("a generator is resumed that was left before", span)
                return UNBOUND
            return suspended.resume(vm, ref, self.run, message, span)

        state = vm.settled(state_of(vm, ref).fields["state"])
        if isinstance(state, Guarded):
            return concrete.forked(vm, vm.cases(state), one)
        return one(state)

    def first(self, vm: VM, ref: Ref, span: Span) -> object:
        """The first item of a generator, UNBOUND (on some paths) if there is none.

        Where its place in its code depends on the path it cannot go on after that.
        """
        mark = vm.mark()
        item = self.advance(vm, ref, span)
        if vm.settled(state_of(vm, ref).fields["state"]) != "left":
            return item
        vm.back_to(mark)
        held = vm.heap.new(StateBox("cell", {"item": UNBOUND}))

        def keep(item: object) -> object:
            change(vm, held, span, item=item)
            vm.leave(Exit.BREAK, None, span)

        vm.gathered(Wait.LOOP, lambda: self.push(vm, ref, keep, span))
        return state_of(vm, held).fields["item"]

    def _run_through(self, vm: VM, ref: Ref, body: Callable[[object], None], span: Span) -> None:
        def consumer(item: object) -> object:
            body(item)
            return None

        self.push(vm, ref, consumer, span)

    def push(self, vm: VM, ref: Ref, consumer: Consumer, span: Span) -> object:
        """Run all of the generator's code; the value that it returns.

        Raises:
            Ended: no path comes to its end.
        """
        around = _Around.of(vm)

        def hand_over(item: object) -> object:
            # who leaves the loop from here leaves the generator where it cannot go on
            change(vm, ref, span, state="left")
            before = around.landed(vm)
            inside = around.hide(vm)
            frame = vm.frame
            delegates, frame.delegates = frame.delegates, frame.delegates or inside.guarded
            try:
                answer = consumer(item)
            finally:
                frame.delegates = delegates
                around.show(vm, inside)
                if around.landed(vm) > before and inside.guarded:
                    vm.unfollowed("a generator is left in the middle of a `try`", span)
            change(vm, ref, span, state="running")
            return answer

        change(vm, ref, span, state="running")
        try:
            value = self.run(vm, ref, hand_over)
        finally:
            for landing in vm.landings:
                suspended.finish(landing.escapes, ref)
        change(vm, ref, span, state="done", result=value)
        return value


class _Inside(Struct):
    """What of the machine's state is a running generator's own."""

    frames: list[Frame]
    landings: list[Landing]
    handled: list[Escape]
    depth: int
    target_name: str | None

    @property
    def guarded(self) -> bool:
        """Whether the generator stands in a ``try`` or a ``with``."""
        return any(frame.delegates for frame in self.frames) or any(
            landing.waits in (Wait.ALWAYS, Wait.HANDLERS) for landing in self.landings
        )


class _Around(Struct):
    """How much of the machine's state belongs to who runs through a generator.

    That may be a generator itself, which is resumed from another place each time.
    """

    frames: int
    landings: int
    handled: int
    depth: int

    @staticmethod
    def of(vm: VM) -> _Around:
        return _Around(len(vm.frames), len(vm.landings), len(vm.handled), vm.depth)

    def landed(self, vm: VM) -> int:
        return sum(len(landing.escapes) for landing in vm.landings[: self.landings])

    def hide(self, vm: VM) -> _Inside:
        """Take what is the generator's own out of the machine's state."""
        inside = _Inside(
            vm.frames[self.frames :],
            vm.landings[self.landings :],
            vm.handled[self.handled :],
            vm.depth - self.depth,
            vm.target_name,
        )
        vm.frames, vm.landings = vm.frames[: self.frames], vm.landings[: self.landings]
        vm.handled, vm.depth, vm.target_name = vm.handled[: self.handled], self.depth, None
        return inside

    def show(self, vm: VM, inside: _Inside) -> None:
        """Put it back."""
        self.frames, self.landings = len(vm.frames), len(vm.landings)
        self.handled, self.depth = len(vm.handled), vm.depth
        vm.frames, vm.landings = [*vm.frames, *inside.frames], [*vm.landings, *inside.landings]
        vm.handled, vm.depth = [*vm.handled, *inside.handled], vm.depth + inside.depth
        vm.target_name = inside.target_name


def kind_of(vm: VM, value: object) -> GeneratorKind | None:
    kind = getattr(vm.box(value), "kind", None)
    return kind if isinstance(kind, GeneratorKind) else None


# ------------------------------------------------------------------------ of functions


def _run_function(vm: VM, ref: Ref, consumer: Consumer) -> object:
    fields = state_of(vm, ref).fields
    function, scope = fields["function"], fields["scope"]
    assert isinstance(function, Function) and isinstance(scope, Ref)
    called = fields["called"]
    assert isinstance(called, Span)
    frame = Frame(
        function.module,
        scope.id,
        vm.path_length(),
        function,
        called,
        consumer=consumer,
    )
    vm.frames.append(frame)
    hint, vm.target_name = vm.target_name, None
    vm.depth += 1
    definition = function.definition
    try:
        if isinstance(definition, ir.LambdaExpr):
            expression = definition.body
            return vm.gathered(Wait.CALL, lambda: vm.eval(expression), cut=True)
        block = definition.body
        return vm.gathered(Wait.CALL, lambda: vm.exec(block), cut=True)
    finally:
        vm.depth -= 1
        vm.target_name = hint
        vm.frames.pop()


FUNCTIONS: Final = GeneratorKind(_run_function)


def of_function(vm: VM, function: Function, scope: Ref, span: Span) -> Ref:
    """What a call of a generator function gives: its arguments are in the scope."""
    return FUNCTIONS.make(
        vm, function=function, scope=scope, called=span, state="new", result=None, token=0
    )


def of_expression(vm: VM, kind: GeneratorKind, promise: GeneratorExpression) -> Ref:
    """The generator that a generator expression is; ``kind`` runs it."""
    return kind.make(vm, promise=promise, state="new", result=None, token=0)


# ------------------------------------------------------------------------ methods


def stopped(vm: VM, ref: Ref, span: Span) -> object:
    """StopIteration with what the generator returned."""
    value = state_of(vm, ref).fields["result"]
    args = () if value is None else (value,)
    change(vm, ref, span, result=None)
    raise_stop(vm, args, span)
    raise AssertionError  # pragma: no cover - the fault ends the path


def raise_stop(vm: VM, args: tuple[object, ...], span: Span, when: E.Bool = E.TRUE) -> None:
    """Raise ``StopIteration``."""
    message = "`next()` of an iterator that has no more items"
    text = "the iterator has another item"
    vm.fault(StopIteration, message, span, when=when, text=text, args=args)


def _outcome(vm: VM, ref: Ref, item: object, span: Span) -> object:
    """What ``next`` and kin give for an item, or for the end."""
    if item is UNBOUND:
        return stopped(vm, ref, span)
    return item


def _generator(vm: VM, ref: object) -> GeneratorKind:
    kind = kind_of(vm, ref)
    assert kind is not None
    return kind


@GENERATOR.add("__next__")
def _next(vm: VM, span: Span, self: Ref, /) -> object:
    return _outcome(vm, self, _generator(vm, self).resume(vm, self, None, span), span)


@GENERATOR.add("send")
def _send(vm: VM, span: Span, self: Ref, value: object, /) -> object:
    state = vm.settled(state_of(vm, self).fields["state"])
    if value is not None and state == "new":
        message = "can't send non-None value to a just-started generator"
        raises(vm, TypeError, message, span)
    return _outcome(vm, self, _generator(vm, self).resume(vm, self, value, span), span)


@GENERATOR.add("throw")
def _throw(
    vm: VM, span: Span, self: Ref, typ: object, val: object = None, tb: object = None, /
) -> object:
    exception = _exception(vm, typ, val, span)
    if exception is None:
        return vm.unfollowed("`generator.throw()` of something that is not followed", span)
    if vm.settled(state_of(vm, self).fields["state"]) == "new":
        change(vm, self, span, state="done")
    item = _generator(vm, self).resume(vm, self, Thrown(exception), span)
    return _outcome(vm, self, item, span)


def _exception(vm: VM, error: object, value: object, span: Span) -> object:
    error = vm.settled(error)
    if isinstance(error, (HostType, Class)):
        if isinstance(vm.box(value), ObjectBox):
            return value
        return vm.call(error, () if value is None else (value,), span=span)
    return error if isinstance(vm.box(error), ObjectBox) else None


@GENERATOR.add("close")
def _close(vm: VM, span: Span, self: Ref, /) -> object:
    state = vm.settled(state_of(vm, self).fields["state"])
    if state == "done":
        return None
    if state == "new" or (state == "suspended" and suspended.is_bare(vm, self)):
        suspended.forget(vm, self)
        change(vm, self, span, state="done")
        return None
    if state != "suspended":
        return vm.unfollowed("a generator is closed that is not followed", span)
    error = vm.exception(GeneratorExit, ())
    item = _exited(vm, self, error, span)
    if item is not UNBOUND:
        raises(vm, RuntimeError, "generator ignored GeneratorExit", span)
    return None


def _exited(vm: VM, ref: Ref, error: Ref, span: Span) -> object:
    """Throw ``GeneratorExit`` into a generator; UNBOUND if it ends, in whatever way."""
    with vm.landing(Wait.HANDLERS) as landing:
        try:
            item: object = _generator(vm, ref).resume(vm, ref, Thrown(error), span)
            alive = True
        except Ended:
            item, alive = UNBOUND, False
    others = [e for e in landing.escapes if not is_exit(vm, e.value)]
    if others:
        vm.unfollowed("closing a generator raises something else", span)
    if alive and landing.escapes:
        vm.unfollowed("whether a generator can be closed depends on the inputs", span)
    if not alive:
        if not landing.escapes:
            raise Ended
        vm.cut_path(landing.base)
        vm.rejoin(landing.escapes, False)
        change(vm, ref, span, state="done")
    return item


def is_exit(vm: VM, exception: object) -> bool:
    return hierarchy.derives_from_host(vm.type_of(exception), GeneratorExit)


__all__ = [
    "FUNCTIONS",
    "METHODS",
    "Consumer",
    "GeneratorKind",
    "of_expression",
    "of_function",
    "raise_stop",
    "stopped",
]
