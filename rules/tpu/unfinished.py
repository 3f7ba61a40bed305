"""Parts of an input that are added to a sum when it has been stored for the last time.

What a loop adds up and stores to one place is to hold the parts of all rounds. A part of which
nothing comes to a store, while those of earlier rounds do by way of a result that goes on with the
one before, is missing there. It is none of that where what the rounds make is taken to different
places: there what is added last may be no more than was begun for a next one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from rules.tpu.useless import Finds, hanging
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.tensors import Loop
from verifier.symbolic.trace import Operation

#: a tensor of the caller's or a place, and where in it
Where = tuple[int, tuple[Expr, ...]]


class Flow(Protocol):
    """Who finds what of whom, in one dialect."""

    def finds(self, one: Operation, other: Operation) -> bool:
        """Whether the second may read what the first leaves, in whichever rounds they are."""

    def at_last(self, one: Operation, other: Operation, depth: int, put: E.Substitution) -> bool:
        """Whether the second may read what the first leaves in the last round of its loops from
        ``depth`` on, which ``put`` names."""

    def carries(self, one: Operation, other: Operation, depth: int) -> bool:
        """Whether the second may find what the first has left in an earlier round of a loop."""

    def taken(self, op: Operation) -> Where | None:
        """The part of an input that it takes, if it is a load."""

    def left(self, op: Operation) -> Sequence[Where]:
        """The places that it writes."""


class Unfinished(Struct, frozen=True):
    """``adds`` goes on with a sum for the last time, with a part that ``load`` has brought, and
    what it makes comes to no store; ``facts``: of the round in which it is so."""

    adds: Operation
    load: Operation
    path: tuple[Bool, ...] = ()
    facts: tuple[Bool, ...] = ()

    def told(self, check: Check, text: str, message: str) -> Check:
        """What is told of it: a check of the operation that adds, in other words."""
        return replace(
            check,
            text=text,
            message=message,
            given=self.facts,
            notes=(Note(self.load.span, "the part is loaded here"),),
            help=("store the sum behind the last addition",),
            path=self.path,
        )


def unfinished(
    operations: Sequence[Operation], flow: Flow, stores: set[int], judged: set[int]
) -> Iterator[Unfinished]:
    """One for each place that adds a part after the last store.

    ``stores``: what others than the kernel see; ``judged``: what makes something of something.
    """
    loads = [op for op in operations if flow.taken(op) is not None and id(op) not in stores]
    if not loads:
        return
    told: set[Span] = set()
    useful = hanging(operations, flow.finds, stores)
    graph = Graph(operations, flow.finds)
    for load in loads:
        if load.loops:
            found = _in_last_round(graph, flow, load, stores, judged)
        elif id(load) not in useful:
            found = _one_by_one(graph, flow, load, loads, stores, judged)
        else:
            continue
        if found is not None and found.adds.span not in told:
            told.add(found.adds.span)
            yield found


class Graph:
    """What is made of what."""

    def __init__(self, operations: Sequence[Operation], finds: Finds) -> None:
        self.operations = operations
        self._finds = finds
        self._next: dict[int, list[Operation]] = {}

    def after(self, op: Operation) -> list[Operation]:
        """What may read of what an operation leaves."""
        if id(op) not in self._next:
            self._next[id(op)] = [each for each in self.operations if self._finds(op, each)]
        return self._next[id(op)]

    def made_of(self, *ops: Operation) -> dict[int, Operation]:
        """All that may be made of what operations leave, which are among it where they go on with
        what they have left themselves."""
        found: dict[int, Operation] = {}
        open_ = [*ops]
        while open_:
            for each in self.after(open_.pop()):
                if id(each) not in found:
                    found[id(each)] = each
                    open_.append(each)
        return found


def _one_by_one(
    graph: Graph,
    flow: Flow,
    load: Operation,
    loads: Sequence[Operation],
    stores: set[int],
    judged: set[int],
) -> Unfinished | None:
    """Of operations that are done once each: what is made of a part of its own goes on with what
    the same call has made of others."""
    part = flow.taken(load)
    others = [each for each in loads if each is not load and each.span == load.span]
    if any(flow.taken(each) == part for each in others):
        return None
    held = set(map(id, load.path))
    for last in reversed(list(graph.made_of(load).values())):
        before = [
            op
            for op in graph.operations
            if op.span == last.span and op.order < last.order and id(op) in judged
        ]
        chain = [op for op in before if id(last) in graph.made_of(op)]
        if (
            id(last) not in judged
            or last.loops
            or not chain
            or not held.issuperset(id(fact) for op in (last, *chain) for fact in op.path)
        ):
            continue
        found = graph.made_of(*chain)
        ended = [op for op in found.values() if id(last) not in graph.made_of(op)]
        ended = [op for op in ended if op is not last and op.span != last.span]
        if any(id(op) in stores for op in ended) and _in_one_place(flow, ended):
            return Unfinished(last, load, last.path)
    return None


def _in_one_place(flow: Flow, operations: Sequence[Operation]) -> bool:
    """Whether each call, and all that write to one tensor of the caller's, come to one place."""
    by_span: dict[tuple[Span, int], set[tuple[Expr, ...]]] = {}
    for op in operations:
        for number, (_, terms) in enumerate(flow.left(op)):
            by_span.setdefault((op.span, number), set()).add(terms)
    return all(len(places) == 1 for places in by_span.values())


def _in_last_round(
    graph: Graph, flow: Flow, load: Operation, stores: set[int], judged: set[int]
) -> Unfinished | None:
    """Of what a loop loads in its last round, if that is another part in each round."""
    part = flow.taken(load)
    assert part is not None
    for depth in reversed(range(len(load.loops))):
        loop = load.loops[depth]
        if not goes_on(part[1], loop) or any(loop.symbol in f.free() for f in load.path):
            continue
        put = last_of(load.loops, depth)
        reached = _at_last(graph, flow, load, depth, put, stores)
        for last in reversed(reached or ()):
            if last.loops[: depth + 1] != load.loops[: depth + 1] or id(last) not in judged:
                continue
            found = graph.made_of(last)
            around = [op for op in found.values() if id(last) in graph.made_of(op)]
            if not any(flow.carries(op, each, depth) for op in (last, *around) for each in around):
                continue
            ended = [op for op in found.values() if op is not last and op not in around]
            if any(id(op) in stores for op in ended) and _in_all_rounds(flow, ended, load, depth):
                own = E.Substitution({each.symbol: put.expr(each.index) for each in load.loops})
                path = tuple(own.bool(fact) for fact in (*load.path, *last.path))
                facts = tuple(own.bool(each.within) for each in load.loops)
                if E.FALSE not in (*path, *facts):
                    return Unfinished(last, load, path, facts)
    return None


def _at_last(
    graph: Graph,
    flow: Flow,
    load: Operation,
    depth: int,
    put: E.Substitution,
    stores: set[int],
) -> list[Operation] | None:
    """What is made of the last part, in program order; None: something of it comes to a store."""
    found: dict[int, Operation] = {}
    open_ = [load]
    while open_:
        one = open_.pop()
        for each in graph.after(one):
            if id(each) not in found and flow.at_last(one, each, depth, put):
                if id(each) in stores:
                    return None
                found[id(each)] = each
                open_.append(each)
    return sorted(found.values(), key=lambda op: op.order)


def _in_all_rounds(flow: Flow, ended: Sequence[Operation], load: Operation, depth: int) -> bool:
    """Whether what is made of a sum comes to one place, in whatever round of the loops it is."""
    symbols = {loop.symbol for loop in load.loops[depth:]}
    symbols |= {loop.symbol for op in ended for loop in op.loops[depth:]}
    terms = [term for op in ended for _, where in flow.left(op) for term in where]
    return all(symbols.isdisjoint(term.free()) for term in terms) and _in_one_place(flow, ended)


def goes_on(terms: Sequence[Expr], loop: Loop) -> bool:
    """Whether the next round of a loop takes another part."""
    further = E.Substitution({loop.symbol: loop.index + 1})
    steps = [further.expr(term) - term for term in terms if loop.symbol in term.free()]
    return any(
        loop.symbol not in step.free() and (E.gt(step, 0) is E.TRUE or E.lt(step, 0) is E.TRUE)
        for step in steps
    )


def last_of(loops: Sequence[Loop], depth: int) -> E.Substitution:
    """The last round of loops from one on."""
    put: dict[E.Sym, Expr] = {}
    for loop in loops[depth:]:
        put[loop.symbol] = E.Substitution(put).expr(loop.trips) - 1
    return E.Substitution(put)


__all__ = ["Flow", "Graph", "Unfinished", "Where", "goes_on", "last_of", "unfinished"]
