"""``while`` loops: exactly their trips as long as the facts decide how they go on.

Where they do not, the loop is a generic one: exact if its condition is a bound on the number of
trips, else with as many trips as anybody's guess, after which the condition is false.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from verifier.source import ir
from verifier.source.ir import Span
from verifier.source.scopes import names_of_module
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Sym
from verifier.symbolic.expr.settling import Settling
from verifier.symbolic.python import liveness
from verifier.symbolic.python.carried import Form
from verifier.symbolic.python.flow import Ended, Mark, Wait
from verifier.symbolic.python.searching import First, first_not
from verifier.symbolic.python.terms import as_formula
from verifier.symbolic.python.trips import GenericLoop, bounded, leaving
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import Loop, LoopKind
from verifier.symbolic.trace import AssumptionKind, LedgerKind
from verifier.symbolic.values import HostUse

#: trips that are followed one by one
LIMIT = 4096
#: and before it is asked whether anything in the loop can end it
ENDLESS = 256
#: trips whose condition the facts do not decide, before the loop is a generic one
UNDECIDED = 6
#: trips that the facts decide after one that they did not
DECIDED = 256
#: what a loop may be left by, and what a test is made of that hangs on its names alone
_EXITS = (ir.Break, ir.Return, ir.Raise, ir.Assert)
_PLAIN = (ir.Name, ir.Const, ir.Compare, ir.BoolOp, ir.UnaryOp, ir.BinOp)


def while_statement(vm: VM, stmt: ir.While) -> None:
    """``while test: body`` with its ``else``."""
    otherwise = (lambda: vm.exec(stmt.orelse)) if stmt.orelse else None
    vm.gathered(Wait.LOOP, _While(vm, stmt).run, otherwise)


class _Held(Struct):
    """What held when a trip started: its ``test``, and that it raised nothing (``goes_on``)."""

    index: Sym
    test: Bool
    goes_on: Bool


class _While:
    """One ``while`` loop."""

    def __init__(self, vm: VM, stmt: ir.While) -> None:
        self.vm = vm
        self.stmt = stmt
        self.ended = vm.dialect.region(vm, stmt, False)
        self.names = liveness.names_around(vm.frame.function, stmt)
        #: of what is not known of its trips
        self.origin = E.Origin.HAVOC
        #: the first trip that there is not, if that is what its trips are counted by
        self.first: First | None = None
        #: what the trips that were gone through last carried
        self.carried: tuple[Form, ...] = ()

    def run(self) -> None:
        vm = self.vm
        mark, exits = vm.mark(), 0
        for number in range(LIMIT):
            if number == ENDLESS and self._is_endless():
                break
            use = HostUse.LOOP if number else HostUse.ENTRY
            start = vm.mark()
            test = self.test(use)
            known = vm.decide(test)
            if known is False:
                return
            if known is None:
                if number and not exits:
                    if self._whole(mark, number):
                        return
                    start = vm.mark()
                    test = self.test(use)
                if vm.heap.has_changed(start.heap):  # each way from here evaluates it itself
                    vm.back_to(start)
                    self._undecided(start, None)
                else:
                    self._undecided(vm.mark(), test)
                return
            before = vm.outside()
            self.trip()
            left = vm.outside() > before
            exits += left
            if left and exits == 1 and self._whole(mark, number + 1):
                return
            if exits >= UNDECIDED:  # ways out that the facts do not decide, trip after trip
                vm.back_to(mark)
                self.test(HostUse.ENTRY)
                self.trip()  # there is a first one, before all that is unknown
                self._anyhow()
                return
        vm.unfollowed(f"a while loop runs more than {LIMIT} times", self.stmt.span)

    def _whole(self, mark: Mark, sure: int) -> bool:
        """Run the loop in closed form from its beginning on, so that the trips that there surely
        are are trips like the others; False: these, ``sure`` of them, were run and no more."""
        self.vm.back_to(mark)
        if self._closed(mark):
            return True
        self.vm.back_to(mark)
        self.first, self.carried = None, ()
        for number in range(sure):
            self.test(HostUse.LOOP if number else HostUse.ENTRY)
            self.trip()
        return False

    def test(self, use: HostUse = HostUse.LOOP) -> Bool:
        value, span = self.vm.eval(self.stmt.test), self.stmt.test.span
        if isinstance(value, (bool, Bool)):
            return self.vm.truth(value, span)
        formula = as_formula(self.vm.each(value, lambda item: self._truth(use, item, span)))
        assert formula is not None
        return formula

    def _truth(self, use: HostUse, value: object, span: Span) -> Bool:
        """Whether the loop goes on; what only the device knows may run loops."""
        if self.vm.of_device(use, value, span) is not None:
            what = self.vm.kind(value).describe(self.vm, value)
            self.origin = E.Origin.RUNS
            return self.vm.unknown_bool(f"a while loop depends on {what}", span, self.origin)
        return self.vm.truth(value, span)

    def trip(self) -> None:
        self.vm.step(self.stmt.span)
        self.vm.gathered(Wait.TRIP, self.body)

    def body(self) -> None:
        self.vm.exec(self.stmt.body)
        self.ended(self.stmt.body)

    def _is_endless(self) -> bool:
        """Whether nothing in the loop changes its test or leaves it, unless something is wrong."""
        names, test = [], [self.stmt.test]
        for node in test:
            if not isinstance(node, _PLAIN):
                return False
            if isinstance(node, ir.Name):
                names.append(node)
            test += (child for child in ir.children(node) if isinstance(child, ir.Expr))
        every: list[ir.Node] = [*self.stmt.body]
        for each in every:
            if isinstance(each, _EXITS):
                return False
            every += ir.children(each)
        found = names_of_module(self.stmt.body)
        bound = found.local | found.declared_global | found.declared_nonlocal
        return bound.isdisjoint(name.id for name in names) and all(
            isinstance(self.vm.eval(name), (int, float, Expr, Bool)) for name in names
        )

    # -- undecided -----------------------------------------------------------------------

    def _undecided(self, mark: Mark, test: Bool | None) -> None:
        """In closed form if there is one, trip by trip if they are few, up to the first trip that
        there is not if there surely is one, else generically.

        ``mark``: here. ``test``: of the next trip; None if it has not been evaluated.
        """
        vm = self.vm
        if self._closed(mark):
            return
        vm.back_to(mark)
        if self._few(self.test() if test is None else test):
            return
        vm.back_to(mark)
        if self.first is not None:
            self._up_to(self.first)
        else:
            self._anyhow()

    def _few(self, test: Bool) -> bool:
        """Whether the loop surely ends within a few trips, which have been gone then."""
        ends = [True]

        def further(left: int, test: Bool) -> None:
            if left == 0:
                ends[0] = False
                raise Ended
            self.vm.fork(test, lambda: again(left), lambda: None)

        def again(left: int) -> None:
            for _ in range(DECIDED):
                self.trip()
                test = self.test()
                known = self.vm.decide(test)
                if known is False:
                    return
                if known is None:
                    further(left - 1, test)
                    return
            ends[0] = False
            raise Ended

        try:
            further(UNDECIDED, test)
        except Ended:
            if ends[0]:
                raise
        return ends[0]

    def _closed(self, mark: Mark) -> bool:
        """Run the loop if its condition, and those under which it is left, bound the number of
        trips; False: it was not run."""
        vm = self.vm
        count, trips = E.fresh("iterations", 0), None
        ledger = len(vm.trace.ledger)
        vm.unsettled.append(mark)
        try:
            held, leaves, stays = self._repeat(count)
            followed = len(vm.trace.ledger) == ledger and bool(held)
            if followed:
                test = E.and_(held[-1].test, stays) if leaves else held[-1].test
                newest = count if leaves else None
                trips = bounded(vm, held[-1].index, test, None, older_than=newest)
            if followed and not leaves and trips is None:
                text = f"the rounds of the loop in line {self.stmt.span.line}"
                last = held[-1]
                self.first = first_not(
                    vm, last.index, last.goes_on, text, self.carried, older_than=count
                )
        except Ended:
            vm.settle(mark)
            raise
        vm.settle(mark)
        if trips is None:
            return False
        vm.back_to(mark)
        self._repeat(trips)
        if leaves:
            self._left()
        else:
            self.test()  # false now, but it may do something
        return True

    def _left(self) -> None:
        """The trip that leaves the loop, unless the condition ends it."""
        vm, body = self.vm, self.stmt.body
        last = lambda: leaving(vm, lambda: vm.exec(body), self.stmt.span)  # noqa: E731
        vm.fork(self.test(), last, lambda: None)

    def _up_to(self, first: First) -> None:
        """The trips before the first one that there is not."""
        count = first.number
        for most in first.most:
            self._known(E.le(count, most))
        self._known(E.not_(first.at(count)))
        self._known(E.implies(E.ge(count, 1), first.at(count - 1)))
        self._repeat(count)
        self._known(self._over())

    def _known(self, condition: Bool) -> None:
        """Say what is so by what a number is made to be: also behind the function that runs.

        It is known of what stands before, too: where it raises, it says nothing.
        """
        self.vm.assume(E.unless_undefined(condition), "", self.stmt.span, AssumptionKind.TYPE)

    def _over(self) -> Bool:
        """That the condition does not hold any more, which the path is narrowed to."""
        ended = E.not_(self.test())
        if ended is E.FALSE:
            raise Ended
        self.vm.narrow(ended)
        return ended

    def _repeat(self, count: Expr) -> tuple[list[_Held], bool, Bool]:
        """Run ``count`` trips that come to their ends.

        What held when a trip started; whether some trip may leave the loop, and when it does not.
        """
        vm = self.vm
        symbol = vm.loop_symbol("iteration")
        loop = Loop(E.from_atom(symbol), count, LoopKind.RANGE, "iteration", self.stmt.span)
        held: list[_Held] = []

        def body() -> None:
            known, survived = vm.facts(), len(vm.trace.survived)
            test = self.test()
            demands = [each.condition for each in vm.trace.survived[survived:]]
            held.append(_Held(symbol, test, E.and_(test, *map(Settling(known).bool, demands))))
            if vm.decide(test) is not True:
                vm.narrow(test)
            self.body()

        nothing: Callable[[], None] = lambda: None  # noqa: E731
        generic = GenericLoop(vm, loop, nothing, body, self.names, None, whole=True)
        generic.run()
        self.carried = tuple(generic.carried.values())
        return held, generic.leaves, generic.stays

    def _anyhow(self) -> None:
        """Any number of trips; then the condition does not hold, or a trip leaves the loop."""
        vm = self.vm
        count = E.fresh("iterations", 0, None, self.origin)
        vm.approximate(
            LedgerKind.HAVOC,
            "a while loop with a symbolic condition is not followed",
            self.stmt.span,
            [repr(count)],
        )
        known = _newest()
        held, leaves, _ = self._repeat(count)
        for index, test in ((each.index, each.test) for each in held[-1:]):
            if any(symbol.id > known and symbol is not index for symbol in test.free()):
                continue  # what a trip alone knows is another unknown in each
            for place in (E.const(0), count - 1):
                there = E.Substitution({index: place}).bool(test)
                vm.narrow(E.implies(E.ge(count, 1), there))
        if leaves:
            self._left()
        else:
            self._over()


def _newest() -> int:
    """What tells the symbols that there are from those that are made from now on."""
    atom = E.fresh("now").as_atom()
    assert atom is not None
    return atom.id
