"""Exchanges between the two cores of a launch: what one of them waits for, the other one sends.

What a core sends on a pipe comes to the other one in this order. So one of them waits for ever if
it receives more often on a pipe than the other one sends there, and what is sent as the k-th has
the shape of what is received as the k-th. Pipes do not wait for each other (NKI-SRV04).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from rules.memory.order import exchanges, times_before
from rules.memory.passes import Passes
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.tensors import Loop
from verifier.symbolic.trace import Operation, Trace

_ROLES: Final = ("core that waits", "core that it waits for")


class Side(Struct, frozen=True):
    """When a core comes to an exchange, in which loops: that which receives, or the other one."""

    path: tuple[Bool, ...]
    loops: tuple[Loop, ...]

    @property
    def turns(self) -> set[E.Sym]:
        return {loop.symbol for loop in self.loops}

    @property
    def free(self) -> bool:
        """Whether it comes to it in all rounds of the loops around, or in none."""
        terms: list[Expr | Bool] = [*self.path, *(loop.trips for loop in self.loops)]
        return not any(self.turns & set(term.free()) for term in terms)

    def same(self, other: Side) -> bool:
        trips = [[loop.trips for loop in side.loops] for side in (self, other)]
        alike = all(a is b for a, b in zip(*trips, strict=True))
        return alike and set(map(id, self.path)) == set(map(id, other.path))


class Pipe(Struct, frozen=True):
    """What the core ``source`` sends on the pipe ``number`` to the core whose index ``grid`` is."""

    grid: Loop
    source: Expr
    number: Expr
    meetings: tuple[Operation, ...]
    #: of these, when the one core receives, and when the other one sends
    here: tuple[Side, ...]
    there: tuple[Side, ...]

    @staticmethod
    def of(grid: Loop, source: Expr, number: Expr, meetings: tuple[Operation, ...]) -> Pipe:
        at = E.Substitution({grid.symbol: source})
        here, there = [], []
        moved: dict[Loop, Loop] = {}
        for op in meetings:
            loops = tuple(loop for loop in op.loops if loop is not grid)
            rank, to, on = (op.value(r) for r in ("recv_from_rank", "send_to_rank", "pipe_id"))
            mine = [*op.path, *_equal(rank, source), *_equal(on, number)]
            its = [at.bool(fact) for fact in op.path]
            if isinstance(to, Expr):
                its += _equal(at.expr(to), grid.index)
            if isinstance(on, Expr):
                its += _equal(at.expr(on), number)
            for loop in loops:
                moved.setdefault(loop, loop.of(at.expr(loop.trips)))
            here.append(Side(_facts(mine), loops))
            there.append(Side(_facts(its), tuple(moved[loop] for loop in loops)))
        return Pipe(grid, source, number, meetings, tuple(here), tuple(there))

    @property
    def uneven(self) -> list[int]:
        """The exchanges in which one may receive more often than the other one sends."""
        sides = enumerate(zip(self.here, self.there, strict=True))
        return [k for k, (mine, its) in sides if not mine.same(its)]


def _equal(value: object, other: Expr) -> list[Bool]:
    return [E.eq(value, other)] if isinstance(value, Expr) else []


def _facts(facts: Iterable[Bool]) -> tuple[Bool, ...]:
    found = tuple(fact for fact in facts if fact is not E.TRUE)
    return (E.FALSE,) if E.FALSE in found else found


def answered(trace: Trace) -> Iterator[Check]:
    """Per exchange: the core that it receives from sends as often, and the same shape."""
    meetings = exchanges(trace)
    if len(trace.grid) != 1 or not meetings:
        return
    (grid,) = trace.grid
    pipes: dict[tuple[Expr, Expr], Pipe] = {}
    some = E.fresh("sender", 0, 1, E.Origin.POINT), E.fresh("pipe", None, None, E.Origin.POINT)
    for position, exchange in enumerate(meetings):
        source, number = exchange.value("recv_from_rank"), exchange.value("pipe_id")
        if not isinstance(source, Expr) or not isinstance(number, Expr):
            yield _asked(exchange, "from which core it receives, or on which pipe, is not known")
            continue
        turns = {loop.symbol for loop in exchange.loops if loop is not grid}
        # one of a round stands for any: others are counted in all of their rounds
        rank, on = (
            any_ if turns & set(value.free()) else value
            for value, any_ in zip((source, number), some, strict=True)
        )
        pipe = pipes.get((rank, on))
        if pipe is None:
            pipe = pipes[rank, on] = Pipe.of(grid, rank, on, meetings)
        given = _given(pipe, source, number)
        for check in (*_as_often(pipe, position), *_of_one_shape(pipe, position)):
            yield replace(check, given=(*check.given, *given))


def _given(pipe: Pipe, source: Expr, number: Expr) -> tuple[Bool, ...]:
    grid = pipe.grid
    one, another = _cores()
    ranks = [fact for rank in (source, grid.index) for fact in (E.ge(rank, 0), E.le(rank, 1))]
    there = E.Substitution({grid.symbol: source})
    chosen = (E.eq(pipe.source, source), E.eq(pipe.number, number))
    ends = (E.eq(one, grid.index), E.eq(another, source))
    return (*ranks, grid.within, there.bool(grid.within), *chosen, *ends)


def _cores() -> tuple[Expr, Expr]:
    one, another = (E.symbol(role, 0, None, E.Origin.POINT) for role in _ROLES)
    return one, another


def _check(pipe: Pipe, exchange: Operation, predicate: Bool, reason: str) -> Check:
    return replace(
        _asked(exchange, reason),
        predicate=predicate,
        values=tuple(zip(_ROLES, _cores(), strict=True)),
        notes=(Note(pipe.grid.span, "the program index"),),
    )


def _asked(exchange: Operation, reason: str) -> Check:
    """That an exchange is answered; ``reason``: why that is not known, if so."""
    return replace(
        all_answer(exchange.span),
        exact=not reason,
        reason=reason,
        path=exchange.path,
        order=exchange.order,
    )


def all_answer(span: Span) -> Check:
    """What a core waits for in an exchange is sent."""
    return Check(
        predicate=E.FALSE,
        span=span,
        text="the core received from sends a tile of this shape to this core, on the same pipe",
        message="the other core does not answer the exchange: this one waits for ever",
        facts=("NKI-SRV02", "NKI-SRV04"),
        help=(
            "let both cores call it as often, with each other's rank, one pipe_id and one shape",
        ),
    )


def _as_often(pipe: Pipe, position: int) -> Iterator[Check]:
    """What is received on a pipe is no more often received than sent."""
    uneven = pipe.uneven
    own = pipe.here[position]
    if position not in uneven:
        return
    if any(k > position and _one_way(own, pipe.here[k]) for k in uneven):
        return  # said at the last of them
    open_ = frozenset(E.and_(E.eq(pipe.source, 0), E.eq(pipe.number, 0)).free())
    passes = Passes((pipe.grid,), open_)
    sides = [[side[k] for k in uneven] for side in (pipe.here, pipe.there)]
    counts = [[passes.count(side.path, side.loops) for side in its] for its in sides]
    known = [[count for count in its if count is not None] for its in counts]
    received, sent = (sum(its, E.const(0)) for its in known)
    certain, same = passes.exact, E.TRUE
    if [len(its) for its in known] != [len(uneven)] * 2:
        beside = [k for k in uneven if pipe.here[k].turns == own.turns]
        sides = [[side[k] for k in beside] for side in (pipe.here, pipe.there)]
        received, sent = (
            sum((E.ite(E.and_(*side.path), 1, 0) for side in its), E.const(0)) for its in sides
        )
        pairs = zip(own.loops, pipe.there[position].loops, strict=True)
        same = E.and_(*(E.eq(a.trips, b.trips) for a, b in pairs))
        certain = passes.one_way([(side.path, side.loops) for its in sides for side in its])
    predicate = E.and_(E.ge(sent, received), same)
    if predicate is not E.TRUE:
        reason = "" if certain else "how often each core comes to its exchanges is not known"
        yield _check(pipe, pipe.meetings[position], predicate, reason)


def _one_way(own: Side, other: Side) -> bool:
    """Whether a core comes to both or to none of them."""
    return own.loops == other.loops and set(own.path) == set(other.path)


def _of_one_shape(pipe: Pipe, position: int) -> Iterator[Check]:
    """What is sent as the k-th is of the shape that is received as the k-th."""
    exchange = pipe.meetings[position]
    at = {pipe.grid.symbol: pipe.source}
    if not pipe.uneven:  # they come to the same ones, in the same order
        predicate = _alike(exchange, exchange, E.Substitution(at))
        if predicate is not E.TRUE:
            yield _check(pipe, exchange, predicate, "")
        return
    mine = _before(pipe, pipe.here, position, E.Substitution({}))
    for k, op in enumerate(pipe.meetings):
        side = pipe.there[k]
        fresh = {s: E.fresh("round", 0, s.hi, E.Origin.POINT) for s in side.turns}
        put, turn = E.Substitution({**at, **fresh}), E.Substitution(fresh)
        predicate = _alike(exchange, op, put)
        if predicate is E.TRUE or E.FALSE in side.path:
            continue
        its = _before(pipe, pipe.there, k, turn)
        given = [turn.bool(fact) for fact in (*side.path, *(loop.within for loop in side.loops))]
        reason = ""
        if mine is None or its is None:
            reason = "which exchanges of the two cores belong together is not known"
        else:
            given.append(E.eq(mine, its))
        yield replace(_check(pipe, exchange, predicate, reason), given=tuple(given))


def _alike(exchange: Operation, other: Operation, there: E.Substitution) -> Bool:
    """Whether what the other core sends is of the shape of what is received."""
    own, sent = exchange.view("src"), other.view("src")
    if own is None or sent is None:  # that `dst` is of this shape is a rule of its own
        return E.TRUE
    partitions = E.eq(there.expr(sent.partitions), own.partitions)
    return E.and_(partitions, E.eq(there.expr(sent.free), own.free))


def _before(pipe: Pipe, sides: Sequence[Side], position: int, turn: E.Substitution) -> Expr | None:
    """How much has gone through the pipe before an exchange; None: that is not known."""
    total = E.const(0)
    order = pipe.meetings[position].order
    for op, side in zip(pipe.meetings, sides, strict=True):
        if E.FALSE in side.path:
            continue
        if not side.free:
            return None
        before = times_before(side.loops, op.order < order, sides[position].loops)
        total = total + E.ite(E.and_(*side.path), turn.expr(before), 0)
    return total


__all__ = ["all_answer", "answered"]
