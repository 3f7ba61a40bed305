"""Generators that are asked for one item at a time: their code runs on a stack of its own.

The interpreter is recursive, so a generator's place in its code is a stack of the host's. Such a
stack cannot be copied: when paths part, only one of them can go on with it. The generator's box
says which step it is at; a path whose box says another one than the stack is at is not followed.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from greenlet import GreenletExit, getcurrent, greenlet
from msgspec import Struct, field
from msgspec.structs import replace

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.python.flow import Ended, Escape, Exit, Frame, Landing, Wait
from verifier.symbolic.python.heap import UNBOUND, ObjectBox, StateBox
from verifier.symbolic.python.hierarchy import derives_from_host
from verifier.symbolic.python.model import HostType
from verifier.symbolic.python.parts import reachable
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import Loop
from verifier.symbolic.trace import LedgerEntry, LedgerKind, Round
from verifier.symbolic.values import Opaque, Ref

_tokens = itertools.count(1)


class Thrown(Struct, frozen=True):
    """What a generator gets instead of a value: an exception that is raised where it stands."""

    exception: object


class Around(Struct):
    """What is around running code: it changes at each switch."""

    frames: list[Frame]
    landings: list[Landing]
    path: list[E.Bool]
    handled: list[Escape]
    depth: int
    target_name: str | None
    loops: list[tuple[Loop, int]]
    rounds: tuple[Round, ...]
    forking: int

    @staticmethod
    def of(vm: VM) -> Around:
        return Around(
            vm.frames,
            vm.landings,
            vm._path,
            vm.handled,
            vm.depth,
            vm.target_name,
            vm._loops,
            vm.rounds,
            vm.forking,
        )

    def install(self, vm: VM) -> None:
        vm.frames, vm.landings, vm._path = self.frames, self.landings, self.path
        vm.handled, vm.depth, vm.target_name = self.handled, self.depth, self.target_name
        vm._loops, vm.rounds, vm.forking = self.loops, self.rounds, self.forking


class Stack(Struct):
    """The stack of one generator, and what of the machine's state is the generator's own."""

    ref: Ref
    stack: Any = None
    #: the step that it is at
    token: int = 0
    frames: list[Frame] = field(default_factory=list)
    landings: list[Landing] = field(default_factory=list)
    handled: list[Escape] = field(default_factory=list)
    rounds: tuple[Round, ...] = ()
    depth: int = 0
    #: how long its path is; what was known before is its first condition
    path: int = 1
    #: how much of the state was there when it was last resumed
    outer: tuple[int, int, int, int, int, int] = (0, 0, 0, 0, 0, 0)
    span: Span | None = None
    #: the order in the trace of the last step
    order: int = 0

    @property
    def guarded(self) -> bool:
        """Whether it stands in a ``try`` or a ``with``, which would notice if it is closed."""
        return any(frame.delegates for frame in self.frames) or any(
            landing.waits in (Wait.ALWAYS, Wait.HANDLERS) for landing in self.landings
        )


def _box(vm: VM, ref: Ref, span: Span) -> StateBox:
    box = vm.write(ref, span)
    assert isinstance(box, StateBox)
    return box


# ------------------------------------------------------------------------ switching


def resume(
    vm: VM,
    ref: Ref,
    run: Callable[[VM, Ref, Callable[[object], object]], object],
    message: object,
    span: Span,
) -> object:
    """Go on with a generator: the next item, :data:`UNBOUND` at its end.

    Raises:
        Ended: every path through its code raises.
    """
    fields = _box(vm, ref, span).fields
    stack = vm.stacks.get(ref.id)
    if fields["state"] == "new":
        stack = vm.stacks[ref.id] = Stack(ref)
        stack.stack = greenlet(lambda _: _main(vm, stack, run))
    elif stack is None or stack.token != fields["token"]:
        vm.unfollowed("a generator is resumed on several paths", span)
        fields["state"] = "left"
        return UNBOUND
    fields["state"] = "running"
    stack.span, stack.order = span, vm.order
    around = Around.of(vm)
    boundary = _enter(vm, stack, around)
    try:
        stack.stack.parent = getcurrent()
        how, value = stack.stack.switch(message)
        narrowed = vm._path[1:]
    finally:
        around.install(vm)
    finish(boundary.escapes, ref)
    _raise_all(vm, boundary)
    if how == "ended":
        vm.stacks.pop(ref.id, None)
        raise Ended
    vm.narrow(E.and_(*narrowed))
    fields = _box(vm, ref, span).fields
    if how == "item":
        stack.token = fields["token"] = next(_tokens)
        fields["state"] = "suspended"
        return value
    vm.stacks.pop(ref.id, None)
    if how == "lost":
        fields["state"] = "left"
        return value
    fields["state"], fields["result"] = "done", value
    return UNBOUND


def _enter(vm: VM, stack: Stack, around: Around) -> Landing:
    """Put the generator's state around what runs now."""
    boundary = Landing(Wait.HANDLERS if vm.catching else Wait.LOOP, 1)
    boundary.catches = any(landing.catches for landing in vm.landings)
    known = E.and_(*around.path)
    vm.frames = [*around.frames, *stack.frames]
    vm.landings = [boundary, *stack.landings]
    vm._path = [known, *(E.TRUE for _ in range(stack.path - 1))]
    vm.handled = [*around.handled, *stack.handled]
    vm.depth = around.depth + stack.depth
    vm.target_name = None
    vm._loops = list(around.loops)
    vm.rounds = (*around.rounds, *stack.rounds)
    stack.outer = (
        len(around.frames), len(around.handled), around.depth, vm.forking, len(vm._loops),
        len(around.rounds),
    )  # fmt: skip
    return boundary


def finish(escapes: Sequence[Escape], ref: Ref) -> None:
    """Where an exception has left a generator's code, the generator is at its end.

    A ``StopIteration`` becomes a RuntimeError there (PEP 479).
    """
    for escape in escapes:
        box = escape.heap.find(ref.id)
        if not isinstance(box, StateBox) or box.fields["state"] != "running":
            continue
        box = escape.heap.write(ref.id)
        assert isinstance(box, StateBox)
        box.fields["state"] = "done"
        raised = escape.heap.find(escape.value.id) if isinstance(escape.value, Ref) else None
        if isinstance(raised, ObjectBox) and derives_from_host(raised.cls, StopIteration):
            message = "generator raised StopIteration"
            attributes: dict[str, object] = {"args": (message,)}
            made = ObjectBox(HostType(RuntimeError), attributes)
            escape.value = escape.heap.new(made)
            if escape.fault is not None:
                escape.fault = replace(
                    escape.fault, error=RuntimeError, message=message, demand=False
                )


def _raise_all(vm: VM, boundary: Landing) -> None:
    """Exceptions that left the generator go on where it was resumed."""
    heap, base = vm.heap, vm.path_length()
    for escape in boundary.escapes:
        vm.heap = escape.heap
        vm.narrow(escape.guard)
        with contextlib.suppress(Ended):
            vm.leave(Exit.RAISE, escape.value, escape.span, escape.fault)
        vm.cut_path(base)
    vm.heap = heap


def _main(
    vm: VM, stack: Stack, run: Callable[[VM, Ref, Callable[[object], object]], object]
) -> tuple[str, object]:
    """All of a generator's code."""
    kept: list[Around] = []
    try:
        return ("end", run(vm, stack.ref, lambda item: _suspend(vm, stack, kept, item)))
    except Ended:
        return ("ended", None)
    except GreenletExit:
        kept[0].install(vm)
        return ("gone", None)


def _suspend(vm: VM, stack: Stack, kept: list[Around], item: object) -> object:
    """``yield``: go back to who resumed the generator; the value that is sent in."""
    frames, handled, depth, forking, loops, rounds = stack.outer
    stack.frames, stack.landings = vm.frames[frames:], vm.landings[1:]
    stack.handled, stack.depth = vm.handled[handled:], vm.depth - depth
    stack.path = len(vm._path)
    stack.rounds = vm.rounds[rounds:]
    inside, forked = vm._loops, vm.forking
    apart = vm.forking != forking or len(vm._loops) != loops
    how, value = "item", item
    if apart or any(landing.escapes for landing in stack.landings):
        span = stack.span or vm.trace.span
        reason = "where a generator stands depends on the inputs"
        how, value = "lost", vm.unfollowed(reason, span)
    try:
        return stack.stack.parent.switch((how, value))
    except GreenletExit:
        # the machine's state is put aside while the host's stack is unwound
        kept.append(Around.of(vm))
        landings = [Landing(Wait.LOOP, 0), *stack.landings]
        path = [E.TRUE] * stack.path
        Around(
            [*vm.frames[:1], *stack.frames], landings, path, list(stack.handled), stack.depth,
            None, inside, stack.rounds, forked,
        ).install(vm)  # fmt: skip
        raise


def at_hand(vm: VM) -> bool:
    """Whether the running code may resume a generator, or is one that is asked item by item."""
    if not vm.stacks:
        return False
    boxes = (vm.heap.find(number) for number in vm.stacks)
    if any(isinstance(box, StateBox) and box.fields["state"] == "running" for box in boxes):
        return True
    scopes = [Ref(frame.scope) for frame in vm.frames]
    held = [ref for globals_ in vm.modules.values() for ref in (globals_.scope, globals_.waiting)]
    found = reachable(vm.heap, [*scopes, *held])
    return any(number in found for number in vm.stacks)


# ------------------------------------------------------------------------ closing


def is_bare(vm: VM, ref: Ref) -> bool:
    """Whether a suspended generator can be given up without its code noticing."""
    stack = vm.stacks.get(ref.id)
    return stack is not None and not stack.guarded


def forget(vm: VM, ref: Ref) -> None:
    """Give a generator's stack up."""
    stack = vm.stacks.pop(ref.id, None)
    if stack is not None and stack.stack:
        _unwind(stack)


def _unwind(stack: Stack) -> None:
    stack.stack.parent = getcurrent()
    stack.stack.throw(GreenletExit)


def forget_all(vm: VM) -> None:
    """Give up all stacks at the end of a run.

    CPython runs the ``finally`` of a generator that is dropped; when that is depends on who still
    refers to it, so nothing counts from its last step on.
    """
    stacks = vm.stacks
    for stack in list(stacks.values()):
        if stack.guarded:
            what = "a generator is dropped in the middle of a `try`"
            span = stack.span or vm.trace.span
            vm.trace.ledger.append(LedgerEntry(LedgerKind.SKIPPED, what, span, (), stack.order))
        if stack.stack:
            _unwind(stack)
    stacks.clear()


__all__ = ["Opaque", "Thrown", "forget", "forget_all", "is_bare", "resume"]
