"""``for`` loops and everything else that runs through the items of a value.

A loop over items that are all there is exactly its trips. One over a range whose length is a symbol
is a generic trip that stands for all (:mod:`.trips`); one over a constant range is that where it
says as much, else its trips. A list with symbolic runs is a loop for each run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from verifier.source import ir
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.python import binding, ranks, suspended
from verifier.symbolic.python.flow import Wait
from verifier.symbolic.python.heap import UNBOUND, Item, Many
from verifier.symbolic.python.iteration import Items, Live, Mapped, Pull, Push, Runs, Trips, Unknown
from verifier.symbolic.python.liveness import SHARED, Names, names_around
from verifier.symbolic.python.renaming import Renaming
from verifier.symbolic.python.terms import presence, some
from verifier.symbolic.python.trips import GenericLoop
from verifier.symbolic.python.vm import VM
from verifier.symbolic.python.words import told
from verifier.symbolic.tensors import Loop, LoopKind
from verifier.symbolic.trace import LedgerKind, Round
from verifier.symbolic.values import Guarded, Opaque, Range

#: constant loops with device operations are unrolled up to so many trips if they have to be
UNROLL = 128
#: constant loops in which only Python runs are exactly their trips up to so many
EXACT = 2048
#: where a generic trip loses something, loops with at most so many trips are exactly these
FEW = 8
#: items that are looked up one by one
MAX_ITEMS = 16384
#: trips of which it is not known whether there is one more
MAX_DOUBTFUL = 12

Body = Callable[[object], None]


class Runner:
    """How one loop runs its body, and which names belong to a trip alone."""

    def __init__(
        self,
        vm: VM,
        body: Body,
        span: Span,
        name: str = "i",
        names: Names = SHARED,
    ) -> None:
        self.vm = vm
        self.body = body
        self.span = span
        self.name = name
        self.names = names
        #: what tells this run of the loop from others, and how many trips there were
        self._run_of: Final = object()
        self._trips = 0

    def run(self, iterable: object) -> None:
        """Run the body for each item, in order.

        Raises:
            Ended: no path comes to the end of the loop.
        """
        vm = self.vm
        iterable = told(vm, vm.settled(iterable))
        if type(iterable) in _WAYS:
            self.through(iterable)
        elif isinstance(iterable, Guarded):
            vm.apart(iterable, self._one)
        else:
            self._one(iterable)

    def _one(self, iterable: object) -> None:
        self.through(self.vm.iteration(iterable, self.span))

    def through(self, way: object) -> None:
        """Run the body for each item of an iteration."""
        _WAYS[type(way)](self, way)

    # -- exactly -----------------------------------------------------------------------

    def trip(self, item: object) -> None:
        """One trip; ``continue`` ends here."""
        self.vm.step(self.span)
        self._trip(lambda: self.body(item))

    def _trip(self, body: Callable[[], None]) -> None:
        """One trip of those that are gone one by one."""
        number = self._trips
        self._trips += 1
        with self.vm.in_round(Round((self.span, self._run_of), (number,))):
            self.vm.gathered(Wait.TRIP, body)

    def items(self, way: Items) -> None:
        for item in way.items:
            self.trip(item)

    def live(self, way: Live) -> None:
        self._while_there(way.at)

    def pull(self, way: Pull) -> None:
        self._while_there(lambda _: way.next())

    def _while_there(
        self, at: Callable[[int], object], position: int = 0, doubtful: int = 0
    ) -> None:
        """A trip for each item until there is none; on some paths there may be fewer.

        ``doubtful``: before how many trips it was not known whether there is one.
        """
        while (item := at(position)) is not UNBOUND:
            there = presence(item)
            position += 1
            if doubtful > MAX_DOUBTFUL or position > MAX_ITEMS:
                self.vm.unfollowed("a loop over an iterator with so many items", self.span)
                return
            if there is not E.TRUE:
                self._some_more(there, item, at, position, doubtful + 1)
                return
            self.trip(item)

    def _some_more(
        self,
        there: E.Bool,
        item: object,
        at: Callable[[int], object],
        position: int,
        doubtful: int,
    ) -> None:
        def further() -> None:
            self.trip(self.vm.settled(item))
            self._while_there(at, position, doubtful)

        self.vm.fork(there, further, lambda: None)

    def mapped(self, way: Mapped) -> None:
        body = self.body
        runner = Runner(
            self.vm, lambda item: way.hand(item, body), self.span, self.name, self.names
        )
        runner.through(way.items)

    def push(self, way: Push) -> None:
        way.run(self.trip)

    # -- generically -------------------------------------------------------------------

    def trips(self, way: Trips) -> None:
        self.range(way.range, self.body)

    def range(self, rng: Range, body: Body) -> None:
        """Run a body for each value of a range."""
        vm = self.vm
        start, stop, step = (
            ranks.told(vm, vm.without_choices(end), self.span)
            for end in (rng.start, rng.stop, rng.step)
        )
        rng = replace(rng, start=start, stop=stop, step=step)
        count = trips_of(vm, rng, self.span)
        most = 0 if rng.kind is LoopKind.DYNAMIC else 1  # the index of its trip is no number
        if count.is_const and count.const <= most:
            once = vm.dialect.traced_once(vm, rng.kind)
            for _ in range(count.const):
                with vm.in_turn(self.name) if once else contextlib.nullcontext():
                    self._trip(lambda: body(rng.start))
            return
        if vm.decide(E.le(count, 0)) is True:
            return
        symbol = vm.loop_symbol(self.name)
        loop = Loop(E.from_atom(symbol), count, rng.kind, self.name, self.span)
        item = rng.start + rng.step * loop.index
        exact = few = None
        if rng.kind is not LoopKind.DYNAMIC:
            exact = self._unrolled(rng, count, body)
            few = None if exact is not None else self._few(rng, count, body)
        nth: Callable[[Expr], None] = lambda k: body(rng.start + rng.step * k)  # noqa: E731
        self._generic(loop, lambda: body(item), exact, nth, few)

    def _unrolled(self, rng: Range, count: Expr, body: Body) -> Callable[[], None] | None:
        if not count.is_const or count.const > EXACT:
            return None

        def exact() -> None:
            for k in range(count.const):
                value = rng.start + rng.step * k
                self.vm.step(self.span)
                self._trip(lambda value=value: body(value))  # type: ignore[misc]

        return exact

    def _few(self, rng: Range, count: Expr, body: Body) -> Callable[[], None]:
        """Trip after trip as long as there is one, of which there are at most :data:`FEW`."""
        vm = self.vm

        def further(k: int) -> None:
            def trip() -> None:
                vm.step(self.span)
                self._trip(lambda: body(rng.start + rng.step * k))
                further(k + 1)

            if k < FEW:
                vm.fork(E.gt(count, k), trip, lambda: None)
            elif vm.decide(E.gt(count, k)) is not False:
                vm.unfollowed(f"a loop with more than {FEW} trips", self.span)

        return lambda: further(0)

    def _generic(
        self,
        loop: Loop,
        body: Callable[[], None],
        exact: Callable[[], None] | None,
        nth: Callable[[Expr], None],
        few: Callable[[], None] | None,
    ) -> None:
        vm = self.vm
        traced_once = vm.dialect.traced_once(vm, loop.kind)
        if exact is not None and not traced_once:
            # (a generator's stack does not go back to where a trip started)
            if suspended.at_hand(vm) or (vm.exactly and is_short(loop)):
                exact()
                return
        GenericLoop(
            vm,
            loop,
            lambda: None,
            body,
            self.names,
            exact,
            unroll=loop.trips.is_const and loop.trips.const <= UNROLL,
            traced_once=traced_once,
            nth=nth,
            few=None if vm.stacks else few,
            most=FEW,
        ).run()

    def runs(self, way: Runs) -> None:
        runner, watch = self, way.watch
        if watch is not None:
            body = self.body

            def watched(item: object) -> None:
                watch()
                body(item)

            runner = Runner(self.vm, watched, self.span, self.name, self.names)
        for segment in way.ref.segments:
            if isinstance(segment, Item):
                runner.trip(segment.value)
            else:
                runner._run(segment)
        if watch is not None:
            watch()

    def _run(self, run: Many) -> None:
        _, most = E.bounds(run.count)
        if most is not None and most <= 1:  # items that are there on some paths only
            self.vm.fork(some(run.count), lambda: self._once(run), lambda: None)
            return
        if len(run.values) > 1:
            self._wide_run(run)
            return
        rng = Range(E.const(0), run.count, E.const(1), LoopKind.STATIC, self.span)
        value = run.values[0]  # Python goes through a list itself, whatever becomes of `range`
        self.range(rng, lambda index: self._item(run, value, index))

    def _once(self, run: Many) -> None:
        renaming = Renaming(self.vm.heap, {run.index: E.const(0)}, run.fresh, own=run.fresh)
        for value in run.values:
            self.trip(renaming.value(value))

    def _wide_run(self, run: Many) -> None:
        """Several items for each trip of the loop that made the run, in their order."""

        def all_of(index: object) -> None:
            for value in run.values:
                self.vm.gathered(
                    Wait.TRIP,
                    lambda value=value: self._item(run, value, index),  # type: ignore[misc]
                )

        self.range(Range(E.const(0), run.count, E.const(1), LoopKind.STATIC, self.span), all_of)

    def _item(self, run: Many, value: object, index: object) -> None:
        assert isinstance(index, Expr)
        renaming = Renaming(self.vm.heap, {run.index: index}, run.fresh, own=run.fresh)
        self.body(renaming.value(value))

    def unknown(self, way: Unknown) -> None:
        vm = self.vm
        vm.approximate(LedgerKind.HAVOC, f"a loop over {way.reason} is not followed", self.span)
        count = E.fresh("iterations", 0)
        item = Opaque(f"an item of {way.reason}")
        rng = Range(E.const(0), count, E.const(1), LoopKind.STATIC, self.span)
        self.range(rng, lambda _: self.body(item))


_WAYS: Final[dict[type, Callable[[Runner, Any], None]]] = {
    Items: Runner.items,
    Live: Runner.live,
    Pull: Runner.pull,
    Push: Runner.push,
    Trips: Runner.trips,
    Runs: Runner.runs,
    Mapped: Runner.mapped,
    Unknown: Runner.unknown,
}


def iterate(vm: VM, iterable: object, body: Body, span: Span) -> None:
    """Hand each item to ``body`` (a comprehension, a built-in function).

    Python goes through a `range` itself there: only a statement's loop is somebody else's.
    """
    if isinstance(iterable, Range) and iterable.kind is LoopKind.RANGE:
        iterable = replace(iterable, kind=LoopKind.STATIC)
    Runner(vm, body, span).run(iterable)


def is_short(loop: Loop) -> bool:
    """Whether a loop may as well go trip by trip: few of them, one after another."""
    in_order = loop.kind in (LoopKind.RANGE, LoopKind.SEQUENTIAL, LoopKind.STATIC)
    return in_order and loop.trips.is_const and loop.trips.const <= UNROLL


def trips_of(vm: VM, rng: Range, span: Span) -> Expr:
    """The number of trips; negative counts mean none."""
    distance = rng.stop - rng.start
    step = rng.step
    if step.is_const and step.const < 0:
        return E.ceildiv(-distance, -step.const)
    if step.is_const and step.const > 0:
        return E.ceildiv(distance, step)
    vm.fault(
        ValueError,
        "the step of a range must not be zero",
        span,
        when=E.eq(step, 0),
        text="step != 0",
    )
    if vm.decide(E.gt(step, 0)) is True:
        return E.ceildiv(distance, step)
    up = E.ceildiv(distance, E.maximum(step, 1))
    down = E.ceildiv(-distance, E.maximum(-step, 1))
    return E.ite(E.gt(step, 0), up, down)


# ------------------------------------------------------------------------ for


def _target_name(target: ir.Expr) -> str:
    if isinstance(target, ir.Name):
        return target.id if target.id != "_" else "i"
    if isinstance(target, (ir.TupleExpr, ir.ListExpr)) and target.elements:
        return _target_name(target.elements[0])
    return "i"


def for_statement(vm: VM, stmt: ir.For) -> None:
    """``for target in iterable: body`` with its ``else``."""
    iterable = vm.eval(stmt.iterable)
    unrolled = isinstance(iterable, Range) and iterable.kind is LoopKind.STATIC
    ended = vm.dialect.region(vm, stmt, unrolled)

    def body(item: object) -> None:
        binding.assign(vm, stmt.target, item, stmt.target.span)
        vm.exec(stmt.body)
        ended(stmt.body)

    around = names_around(vm.frame.function, stmt)
    runner = Runner(vm, body, stmt.iterable.span, _target_name(stmt.target), around)
    factors = None
    if isinstance(iterable, Range) and isinstance(stmt.target, ir.Name):
        factors = vm.dialect.loop_factors(vm, stmt, iterable)
    if factors is not None:
        action = lambda: _two_loops(vm, stmt, iterable, factors, body)  # noqa: E731
    else:
        action = lambda: runner.run(iterable)  # noqa: E731
    otherwise = (lambda: vm.exec(stmt.orelse)) if stmt.orelse else None
    vm.gathered(Wait.LOOP, action, otherwise)


def _two_loops(vm: VM, stmt: ir.For, rng: Any, factors: tuple[Expr, str], body: Body) -> None:
    """``for k in range(a * b)`` as a loop over ``k // b`` around one over ``k % b``."""
    count, text = factors
    outer = E.exact_quotient(rng.stop, count)
    assert outer is not None and isinstance(stmt.target, ir.Name)
    name, span = stmt.target.id, stmt.iterable.span
    around = names_around(vm.frame.function, stmt)

    def row(across: object) -> None:
        assert isinstance(across, Expr)

        def column(value: object) -> None:
            assert isinstance(value, Expr)
            counter = across * count + value
            vm.counters[counter] = (count, across, value)
            body(counter)

        columns = Runner(vm, column, span, f"({name} % {text})", around)
        columns.range(Range(E.const(0), count, E.const(1), rng.kind, span), column)

    rows = Runner(vm, row, span, f"({name} // {text})", around)
    rows.range(Range(E.const(0), outer, E.const(1), rng.kind, span), row)
