"""Runs a hand-built trace element by element, and judges checks by enumeration.

Nothing here knows how the rules reason: it executes every iteration in order and remembers who
wrote which element when.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from verifier.hardware.memories import Buffer
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.effects import Effect
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.tensors import Axis, Loop, Storage, StorageKind, View
from verifier.symbolic.trace import Operation, Trace

Env = dict[str, "int | bool"]
Element = tuple[int, tuple[int, ...], tuple[int, ...]]


@dataclass
class Event:
    """One operation in one iteration, with the elements it touches."""

    operation: Operation
    iteration: tuple[tuple[Loop, int], ...]
    reads: dict[str, set[Element]]
    writes: dict[str, set[Element]]


@dataclass
class Run:
    """What happened."""

    events: list[Event] = field(default_factory=list)
    #: operations that read an element before it was written, with the storage
    early: set[tuple[int, int]] = field(default_factory=set)
    written: set[Element] = field(default_factory=set)


def run(trace: Trace, inputs: Mapping[str, int | bool]) -> Run:
    """Execute all iterations in order.

    A sum that begins on nothing in a tensor that is returned is early if it is there at the end.
    """
    out = Run()
    returned = {view.storage.id for _, views, _ in trace.returns for view in views}
    stored: dict[Element, tuple[int, int]] = {}
    for iteration, operation in _schedule(list(trace.operations), 0, dict(inputs)):
        env: Env = {**inputs, **{loop.symbol.name: value for loop, value in iteration}}
        if not all(E.evaluate(condition, env) for condition in operation.path):
            continue
        reads = {role: elements(view, env) for role, view in operation.reads}
        writes = {role: elements(view, env) for role, view in operation.writes}
        adds = operation.effect is Effect.ADDS
        if isinstance(operation.effect, Bool):
            adds = bool(E.evaluate(operation.effect, env))
        for role, view in (*operation.reads, *(operation.writes if adds else ())):
            if view.storage.kind is not StorageKind.INPUT and not view.storage.initialised:
                touched = reads.get(role) or writes.get(role) or set()
                early = touched - (out.written - stored.keys())
                if early and role not in reads and view.storage.id in returned:
                    stored.update(dict.fromkeys(early, (operation.order, view.storage.id)))
                elif early:
                    out.early.add((operation.order, view.storage.id))
        for touched in writes.values():
            out.written |= touched
            if not adds:
                for element in touched:
                    stored.pop(element, None)
        out.events.append(Event(operation, iteration, reads, writes))
    out.early |= {*stored.values()}
    return out


def _schedule(
    operations: Sequence[Operation], depth: int, env: Env
) -> Iterator[tuple[tuple[tuple[Loop, int], ...], Operation]]:
    position = 0
    while position < len(operations):
        operation = operations[position]
        if len(operation.loops) <= depth:
            yield (), operation
            position += 1
            continue
        loop = operation.loops[depth]
        end = position
        while (
            end < len(operations)
            and len(operations[end].loops) > depth
            and operations[end].loops[depth] is loop
        ):
            end += 1
        for value in range(int(E.evaluate(loop.trips, env))):
            inner = {**env, loop.symbol.name: value}
            for iteration, inside in _schedule(operations[position:end], depth + 1, inner):
                yield ((loop, value), *iteration), inside
        position = end


def elements(view: View, env: Mapping[str, int | bool]) -> set[Element]:
    out: set[Element] = set()
    for full in _points(view.axes, dict(env)):
        if E.evaluate(view.mask, full):
            instance = tuple(int(E.evaluate(e, full)) for e in view.instance)
            coords = tuple(int(E.evaluate(e, full)) for e in view.coords)
            out.add((view.storage.id, instance, coords))
    return out


def _points(axes: Sequence[Axis], env: Env) -> Iterator[Env]:
    if not axes:
        yield env
        return
    for value in range(int(E.evaluate(axes[0].size, env))):
        yield from _points(axes[1:], {**env, axes[0].symbol.name: value})


def box(storage: Storage, env: Mapping[str, int | bool]) -> set[Element]:
    """Every element of a storage outside loops."""
    sizes = [range(int(E.evaluate(extent, env))) for extent in storage.shape]
    return {(storage.id, (), point) for point in itertools.product(*sizes)}


def holds(check: Check, trace: Trace, inputs: Mapping[str, int | bool], limit: int = 12) -> bool:
    """Whether a check holds for these inputs, by trying every value of its other symbols."""
    facts: list[Bool] = [*(check.path or ()), *check.given]
    return _all(check.predicate, facts, dict(inputs), limit)


def _all(goal: Bool, facts: Sequence[Bool], env: Env, limit: int) -> bool:
    pending: list[Bool] = []
    for fact in facts:
        if all(sym.name in env for sym in fact.free()):
            if not E.evaluate(fact, env):
                return True
        else:
            pending.append(fact)
    free = [sym for term in (*pending, goal) for sym in term.free() if sym.name not in env]
    if not free:
        return bool(E.evaluate(goal, env))
    # the symbol that the facts bound first, so that empty ranges are seen early
    sym = free[0]
    low = 0 if sym.lo is None else sym.lo
    high = limit if sym.hi is None else min(sym.hi, limit)
    return all(_all(goal, pending, {**env, sym.name: v}, limit) for v in range(low, high + 1))


def overlapping(run_: Run, storage: Storage, loop: Loop) -> bool:
    """Whether two iterations of a loop write one element of a storage."""
    seen: dict[tuple[object, Element], set[int]] = {}
    for event in run_.events:
        loops = [item[0] for item in event.iteration]
        if loop not in loops or event.operation.adds:
            continue
        level = loops.index(loop)
        outer = tuple(value for _, value in event.iteration[:level])
        for touched in event.writes.values():
            for item in touched:
                if item[0] == storage.id:
                    seen.setdefault((outer, item), set()).add(event.iteration[level][1])
    return any(len(iterations) > 1 for iterations in seen.values())


def carried(run_: Run, storage: Storage, loop: Loop) -> bool:
    """Whether an iteration reads what another one of the same loop writes, and did not before."""
    writers: dict[tuple[object, Element], set[int]] = {}
    readers: dict[tuple[object, Element], set[int]] = {}
    for event in run_.events:
        loops = [item[0] for item in event.iteration]
        if loop not in loops:
            continue
        level = loops.index(loop)
        outer = tuple(value for _, value in event.iteration[:level])
        now = event.iteration[level][1]
        for item in set().union(*event.reads.values()):
            if item[0] == storage.id and now not in writers.get((outer, item), set()):
                readers.setdefault((outer, item), set()).add(now)
        for item in set().union(*event.writes.values()):
            if item[0] == storage.id:
                writers.setdefault((outer, item), set()).add(now)
    return any(
        reader != writer
        for place, found in readers.items()
        for reader in found
        for writer in writers.get(place, set())
    )


def leftovers(run_: Run, storage: Storage, loop: Loop) -> bool:
    """Whether something outside a loop reads what several iterations of it wrote to one place."""
    writers: dict[tuple[object, Element], set[int]] = {}
    last: dict[Element, object] = {}
    found = False
    for event in run_.events:
        loops = [item[0] for item in event.iteration]
        level = loops.index(loop) if loop in loops else None
        outer = None if level is None else tuple(value for _, value in event.iteration[:level])
        for touched in event.reads.values():
            for item in touched:
                left = last.get(item) if item[0] == storage.id else None
                if left is not None and left != outer and len(writers[left, item]) > 1:
                    found = True
        if event.operation.adds:
            continue
        for touched in event.writes.values():
            for item in touched:
                last[item] = outer
                if level is not None:
                    now = event.iteration[level][1]
                    writers.setdefault((outer, item), set()).add(now)
    return found


def value(term: Expr | Bool, **env: int | bool) -> int | bool:
    return E.evaluate(term, env)


def peak(run_: Run, trace: Trace, inputs: Mapping[str, int | bool], buffer: Buffer) -> int:
    """The most elements of tensors that hold, at one moment, a value that is read later."""
    moments: list[set[tuple[int, tuple[int, ...]]]] = [set() for _ in run_.events]
    written: dict[Element, int] = {}
    places = {s.id: s for s in trace.storages if s.buffer is buffer}
    for now, event in enumerate(run_.events):
        for touched in event.reads.values():
            for item in touched:
                if item[0] in places and item in written:
                    for moment in range(written[item], now + 1):
                        moments[moment].add(item[:2])
        for touched in event.writes.values():
            for item in touched:
                if item[0] in places:
                    written[item] = now
                    moments[now].add(item[:2])
    sizes = {key: int(E.evaluate(s.free_elements, inputs)) for key, s in places.items()}
    return max((sum(sizes[key] for key, _ in live) for live in moments), default=0)
