"""Sums that a round of a loop begins anew, and operands that one replaces, before anything has read
what was there.

Where one place is added to in some rounds and filled in others, a round that fills it loses what
the round before has made there, unless something takes that first. What was put somewhere before a
loop is lost if the first round of it fills the place before anything has read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from rules.memory.cases import common_loops
from rules.tpu.unfinished import Flow, Graph, goes_on, last_of
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.memory.known import Known
from verifier.symbolic.tensors import Loop
from verifier.symbolic.trace import Operation


class Places(Flow, Protocol):
    """Who comes to which place, in one dialect, and who finds what of whom there."""

    def adds(self, op: Operation) -> bool:
        """Whether it goes on with what it finds where it writes."""

    def replaces(self, other: Operation, one: Operation) -> bool:
        """Whether an operation fills all of what another one has left, and reads none of it."""

    def comes_to(self, other: Operation, one: Operation) -> bool:
        """Whether an operation may read where another one writes."""


class Restarted(Struct, frozen=True):
    """What ``lost`` has left is overwritten by ``again`` unless ``fine`` holds."""

    lost: Operation
    again: Operation
    fine: Bool
    given: tuple[Bool, ...]

    def told(self, check: Check, text: str, message: str, overwritten: Span) -> Check:
        """What is told of it: a check of the operation whose result is lost, in other words."""
        return replace(
            check,
            predicate=self.fine,
            text=text,
            message=message,
            given=self.given,
            notes=(Note(overwritten, "overwritten here, in a later round"),),
            help=("begin a sum once, and store or use it before it begins anew",),
            path=(),
            order=max(self.lost.order, self.again.order),
        )


def restarted(
    operations: Sequence[Operation], places: Places, judged: set[int]
) -> Iterator[Restarted]:
    """One for each operation whose result may be lost in that way.

    ``judged``: what makes something of something; constants overwrite, too.
    """
    within = [op for op in operations if op.loops]
    sums = [op for op in within if id(op) in judged and places.adds(op)]
    graph = Graph(operations, places.finds)
    for lost in (op for op in operations if id(op) in judged):
        for again in within:
            if again is not lost and places.taken(lost) is None and not sums:
                continue
            found = _replaced(graph, places, lost, again, sums)
            if found is not None:
                yield found
                break


def _replaced(
    graph: Graph, places: Places, lost: Operation, again: Operation, sums: Sequence[Operation]
) -> Restarted | None:
    shared = common_loops(lost.loops, again.loops)
    before = shared == len(lost.loops) < len(again.loops) and lost.order < again.order
    added = shared and any(places.replaces(again, op) for op in sums if op.loops[0] in again.loops)
    if not (before or added) or not places.replaces(again, lost):
        return None
    if before and places.taken(lost) is not None:
        found = _by_first_round(graph, places, lost, again, shared)
        if found is not None:
            return found
    for level in reversed(range(shared)) if added else ():
        if _stays(places, lost, again, level) and _own(graph, places, lost, lost.loops[level]):
            found = _by_next_round(graph, places, lost, again, level)
            if found is not None:
                return found
    return None


def _stays(places: Places, lost: Operation, again: Operation, level: int) -> bool:
    """Whether all rounds of a loop, and of those in it, come to one place."""
    symbols = {loop.symbol for op in (lost, again) for loop in op.loops[level:]}
    terms = [term for op in (lost, again) for _, where in places.left(op) for term in where]
    return all(symbols.isdisjoint(term.free()) for term in terms)


def _own(graph: Graph, places: Places, op: Operation, loop: Loop) -> bool:
    """Whether a result is made of another part of an input in each round of a loop."""
    for load in graph.operations:
        part = places.taken(load)
        if part is not None and loop in load.loops and goes_on(part[1], loop):
            if load is op or id(op) in graph.made_of(load):
                return True
    return False


def _by_next_round(
    graph: Graph, places: Places, lost: Operation, again: Operation, level: int
) -> Restarted | None:
    """By what the next round of a loop begins with; ``lost`` is in the last one of those in it."""
    loop = lost.loops[level]
    last = last_of(lost.loops, level + 1)
    inner: dict[E.Sym, Expr] = {each.symbol: E.const(0) for each in again.loops[level + 1 :]}
    following = E.Substitution({**inner, loop.symbol: loop.index + 1})
    facts = [*again.path, loop.within, *(E.ge(each.trips, 1) for each in again.loops[level + 1 :])]
    happens = E.and_(*map(following.bool, facts))
    given = tuple(map(last.bool, (*lost.path, *(each.within for each in lost.loops))))
    if happens is E.FALSE or E.FALSE in given:
        return None
    reads: list[Bool] = []
    for read in graph.operations:
        if not places.comes_to(read, lost):
            continue
        if common_loops(read.loops, lost.loops) > level and read.order > lost.order:
            reads.append(_possible(read, lost.loops, last))
        if common_loops(read.loops, again.loops) > level and read.order < again.order:
            reads.append(_possible(read, again.loops, following))
    return _found(lost, again, happens, reads, given)


def _by_first_round(
    graph: Graph, places: Places, lost: Operation, again: Operation, shared: int
) -> Restarted | None:
    """By the first round of a loop behind it, if that does so whenever it is come to."""
    first = E.Substitution({loop.symbol: E.const(0) for loop in again.loops[shared:]})
    held = {id(E.TRUE), *map(id, lost.path)}
    facts = list(map(first.bool, again.path))
    part, other = places.taken(lost), places.taken(again)
    if part is None or not again.path or any(id(fact) not in held for fact in facts):
        return None
    if other is None or (part[0], part[1]) == (other[0], tuple(map(first.expr, other[1]))):
        return None
    if any(first.expr(term) is not term for _, where in places.left(again) for term in where):
        return None
    happens = E.and_(*(E.ge(first.expr(loop.trips), 1) for loop in again.loops[shared:]))
    reads: list[Bool] = []
    for read in graph.operations:
        if places.comes_to(read, lost) and lost.order < read.order < again.order:
            reads.append(_possible(read, again.loops, first))
    given = (*lost.path, *(each.within for each in lost.loops))
    return _found(lost, again, happens, reads, given)


def _possible(read: Operation, loops: Sequence[Loop], put: E.Substitution) -> Bool:
    """When an operation may read, in the round of some loops that is put in."""
    own = {loop.symbol for loop in read.loops[common_loops(read.loops, loops) :]}
    return E.and_(*(put.bool(fact) for fact in read.path if own.isdisjoint(fact.free())))


def _found(
    lost: Operation,
    again: Operation,
    happens: Bool,
    reads: Sequence[Bool],
    given: tuple[Bool, ...],
) -> Restarted | None:
    fine = E.or_(E.not_(happens), *reads)
    if any(symbol.origin in E.OPEN for fact in (fine, *given) for symbol in fact.free()):
        return None
    if fine is E.TRUE or Known(given, lost.loops).decide(fine) is True:
        return None
    return Restarted(lost, again, fine, given)


__all__ = ["Places", "Restarted", "restarted"]
