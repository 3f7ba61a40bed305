"""One generic trip that stands for all trips of a loop.

The state at the start of the generic trip has to stand for the start of *every* trip: each name,
attribute, entry, list and order, its type and whether it is there at all. So a trip runs with a
fresh index, and each place that it leaves other than it was before the loop gets a form: a closed
one (:mod:`.forms`), or else all that may be there (:mod:`.widening`). Then it runs again from the
forms, until

- no place without a form is left other than it was before the loop, and
- each form *holds*: what is in its place at the end of trip ``i`` is what the form says of the
  start of trip ``i + 1``, or among it.

By induction the last trip, and what it has traced, is any trip. Nothing stands unconfirmed: what a
trip has shown not to hold gets another form, and a trip has to be gone through from that one too.
If that does not come to an end, nothing is followed from the start of the loop on. Where the number
of trips is a constant, the loop is unrolled instead of forgetting.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

from msgspec import Struct

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Sym
from verifier.symbolic.python.alike import alike
from verifier.symbolic.python.carried import (
    NATURE,
    ORDER,
    WHOLE,
    Context,
    Form,
    Place,
    nature,
    put,
    read,
    reordered,
)
from verifier.symbolic.python.flow import Ended, Mark, Wait
from verifier.symbolic.python.forms import Last, proposed, rotations
from verifier.symbolic.python.heap import UNBOUND, Heap, ListBox, Scope
from verifier.symbolic.python.liveness import Names
from verifier.symbolic.python.parts import entries
from verifier.symbolic.python.terms import join
from verifier.symbolic.python.vm import VM
from verifier.symbolic.python.widening import Loosened, loosened
from verifier.symbolic.tensors import Loop
from verifier.symbolic.trace import AssumptionKind, LedgerKind
from verifier.symbolic.values import Opaque
from verifier.symbolic.views.common import conjuncts

#: closed forms are refined this often before what is left is only what may be there
ROUNDS = 3
#: trips that are gone through until one confirms its forms; behind them nothing is followed
LIMIT = 24

_Carried = dict[Place, tuple[object, object]]
_Local = dict[str, tuple[object, object]]


class Outcome(Struct):
    """How one trip went: whether its end is reached, and which paths left the loop."""

    alive: bool
    left: int  # paths that left the loop altogether, by `break` or further
    died: bool
    stays: Bool = E.FALSE  # the condition under which the end is reached


@dataclass(slots=True)
class GenericLoop:
    """A loop run by one trip that stands for all.

    ``bind`` binds the target for the loop's index, ``body`` runs a trip. ``names`` tells which
    names of the running block are not carried. ``exact`` unrolls the loop; None: it has too many
    trips for that, or nobody knows how many.
    """

    vm: VM
    loop: Loop
    bind: Callable[[], None]
    body: Callable[[], None]
    names: Names
    exact: Callable[[], None] | None
    #: whether the loop is short enough to be unrolled although the device works in it
    unroll: bool = False
    traced_once: bool = False
    #: runs one trip, which has that number
    nth: Callable[[Expr], None] | None = None
    #: goes through the trips that there are if there are at most ``most``
    few: Callable[[], None] | None = None
    most: int = 0
    #: only trips that come to their end are meant; what leaves the loop comes behind them
    whole: bool = False
    #: whether a trip may leave the loop, and when it does not, by its index
    leaves: bool = False
    stays: Bool = field(default=E.FALSE, init=False)
    #: what its trips were confirmed to carry
    carried: dict[Place, Form] = field(default_factory=dict, init=False)
    context: Context = field(init=False)
    scope: int = field(init=False)
    #: the state that the trip has started from
    start: Heap = field(init=False)

    def __post_init__(self) -> None:
        self.context = Context(self.vm, self.loop)
        self.scope = self.vm.frame.scope

    def run(self) -> None:
        """Run the loop.

        Raises:
            Ended: no path goes on behind it.
        """
        vm = self.vm
        mark = vm.mark()
        if not vm.unsettled:
            vm.foreseen.clear()
        vm.unsettled.append(mark)
        try:
            self._through(mark)
        except Ended:
            vm.settle(mark)
            raise
        vm.settle(mark)

    def _through(self, mark: Mark) -> None:
        vm = self.vm
        if self._only_python(mark):
            return
        before = self.context.before = mark.heap
        forms: dict[Place, Form] = {}
        after = before
        for number in range(LIMIT + 1):
            if number:
                vm.back_to(mark)
                self._adopt_new(before, after)
                if number == LIMIT:
                    text = f"what the loop over `{self.loop.name}` carries is not followed"
                    vm.unfollowed(text, self.loop.span)
                self._install(forms)
            self.start = vm.heap.fork()
            done = vm.done()
            outcome = self._once()
            if self.whole:
                if not self._comes_round(outcome, mark):
                    return
            elif not outcome.alive or outcome.left:
                self._leaves(outcome, mark, before)
                return
            if done is not None and done == vm.done() and self._idle(before, outcome):
                return
            if self._rather_exact(mark, number):
                return
            after = vm.heap
            self.context.fresh = frozenset(after.newer(before))
            carried, local = self._changes(before, after)
            if (
                self.traced_once and not self.whole
            ):  # what Python changed, it changed once (NKI-LP12)
                carried = {place: c for place, c in carried.items() if place.key is WHOLE}
            if number == LIMIT or self._confirmed(forms, carried, after):
                self._finish(forms, local, outcome)
                return
            exact = self.exact if self.unroll else None
            if exact is None or not number:
                forms = self._next(forms, carried, before, after, number)
            if exact is not None and (number or any(form.lost for form in forms.values())):
                self._instead(mark)
                exact()
                return
            if any(not form.exact for form in forms.values()) and self._rather_few(mark):
                return

    def _only_python(self, mark: Mark) -> bool:
        """Unroll at once a loop in which only Python ran the last time, if that is so again."""
        vm = self.vm
        if self.exact is None or self.traced_once or self.loop.span not in vm.unrolled:
            return False
        vm.settle(mark)
        self.exact()
        if not self._device(mark):
            return True
        vm.unrolled.discard(self.loop.span)
        vm.back_to(mark)
        vm.unsettled.append(mark)
        return False

    def _idle(self, before: Heap, outcome: Outcome) -> bool:
        """Leave a loop whose trips change nothing but names of their own, if it is one."""
        carried, local = self._changes(before, self.vm.heap)
        if carried or self.whole:
            return False
        self._finish({}, local, outcome)
        return True

    # -- one trip ------------------------------------------------------------------------

    def _once(self) -> Outcome:
        vm = self.vm
        outside, dies = vm.outside(), vm.trace.dies
        alive, stays = True, E.FALSE
        with vm.landing(Wait.LOOP) as exits:
            try:
                with vm.inside(self.loop):
                    base = vm.path_length()
                    self.bind()
                    vm.gathered(Wait.TRIP, self.body)
                    stays = vm.guard_since(base)
            except Ended:
                alive = False
            left = vm.outside() - outside
        del exits.escapes[:]
        return Outcome(alive, left, vm.trace.dies and not dies, stays)

    def _comes_round(self, outcome: Outcome, mark: Mark) -> bool:
        """Whether there may be whole trips; the ways out of the loop are for others to go."""
        vm = self.vm
        self.leaves = self.leaves or outcome.left > 0 or not outcome.alive
        if not outcome.alive:
            vm.back_to(mark)
            vm.narrow(E.le(self.loop.trips, 0))
            return False
        for landing, length in zip(vm.landings, mark.landed, strict=False):
            del landing.escapes[length:]
        return True

    def _device(self, mark: Mark) -> bool:
        """Whether the device works in a trip."""
        trace = self.vm.trace
        made = len(trace.storages) > mark.lengths[0]
        return made or len(trace.operations) > mark.lengths[1]

    def _rather_exact(self, mark: Mark, number: int) -> bool:
        """Unroll where a generic trip would say less: only Python ran, or something was lost."""
        vm = self.vm
        lost = any(entry.kind is LedgerKind.SKIPPED for entry in vm.trace.ledger[mark.lengths[3] :])
        if lost and self._rather_few(mark):
            return True
        if self.exact is None or self.traced_once:
            return False
        device = self._device(mark)
        if device and not (lost and self.unroll):
            return False
        if not device and not lost and number:
            return False
        if not device and not lost:
            vm.unrolled.add(self.loop.span)
        self._instead(mark)
        self.exact()
        return True

    def _instead(self, mark: Mark) -> None:
        """Go back: the loop is gone through in a way that nothing takes back."""
        self.vm.back_to(mark)
        self.vm.settle(mark)

    def _rather_few(self, mark: Mark) -> bool:
        """Go through the trips, if there are few, where a generic trip would lose something."""
        if self.few is None or self.traced_once:
            return False
        if self.vm.decide(E.le(self.loop.trips, self.most)) is not True:
            return False
        self._instead(mark)
        self.few()
        return True

    def _leaves(self, outcome: Outcome, mark: Mark, before: Heap) -> None:
        """Some path does not come to the end of the trip."""
        if not outcome.alive and not outcome.left:
            self._never_ends(outcome, before)
            return
        vm = self.vm
        device = self._device(mark)
        exact = self.exact is not None and (self.unroll or not device)
        self._instead(mark)
        if self.traced_once and device:
            text = "what it means that a loop is left early is not known where it is traced once"
            vm.approximate(LedgerKind.OPAQUE, text, self.loop.span)
        if exact and self.exact is not None:
            self.exact()
        elif not outcome.alive:
            self._first_only()
        elif not self._rather_few(mark):
            self._with_early_exit()

    def _never_ends(self, outcome: Outcome, before: Heap) -> None:
        """Every trip dies: none runs, or the whole program dies."""
        vm = self.vm
        some = E.gt(self.loop.trips, 0)
        if vm.decide(some) is True:
            raise Ended
        vm.heap = before.fork()
        if not outcome.died:
            text = "no iteration of a loop that always raises"
            vm.assume(E.not_(some), text, self.loop.span, AssumptionKind.ASSERT)
            return
        vm.narrow(E.not_(some))

    def _first_only(self) -> None:
        """No trip reaches its end: at most one runs."""
        nth = self.nth
        assert nth is not None
        some = E.gt(self.loop.trips, 0)
        first: Callable[[], object] = lambda: self.vm.gathered(  # noqa: E731
            Wait.TRIP, lambda: nth(E.const(0))
        )
        self.vm.fork(some, first, lambda: None)

    def _with_early_exit(self) -> None:
        """Some path leaves the loop early: after an unknown number of trips that do not."""
        vm, nth, trips, loop = self.vm, self.nth, self.context.trips, self.loop
        assert nth is not None
        count = self._whole_trips()
        if count is None:
            count = E.fresh("iterations", 0)
            vm.approximate(
                LedgerKind.HAVOC,
                f"a path leaves the loop over `{loop.name}` early; the number of iterations is "
                "not followed",
                loop.span,
                [repr(count)],
            )
            vm.assume(E.le(count, trips), "", loop.span, AssumptionKind.TYPE)
        self._whole(count).run()
        last: Callable[[], None] = lambda: leaving(  # noqa: E731
            vm, lambda: nth(count), loop.span
        )
        vm.fork(E.lt(count, trips), last, lambda: None)

    def _whole(self, count: Expr) -> GenericLoop:
        """The loop, of so many trips that come to their ends."""
        loop = self.loop
        return GenericLoop(
            self.vm,
            Loop(loop.index, count, loop.kind, loop.name, loop.span),
            self.bind,
            self.body,
            self.names,
            None,
            traced_once=self.traced_once,
            whole=True,
        )

    def _whole_trips(self) -> Expr | None:
        """How many trips come to their ends, if which is the first that does not is a bound."""
        vm = self.vm
        mark, ledger = vm.mark(), len(vm.trace.ledger)
        count = E.fresh("iterations", 0)
        vm.assume(E.le(count, self.context.trips), "", self.loop.span, AssumptionKind.TYPE)
        trial = self._whole(count)
        vm.unsettled.append(mark)
        try:
            trial.run()
            followed = len(vm.trace.ledger) == ledger
        except Ended:
            followed = False
        vm.settle(mark)
        vm.back_to(mark)
        if not followed or self.traced_once:
            return None
        return bounded(vm, self.context.index, trial.stays, self.context.trips, older_than=count)

    # -- what changed ----------------------------------------------------------------------

    def _changes(self, before: Heap, after: Heap) -> tuple[_Carried, _Local]:
        """Places whose value differs now, and names of the trip alone."""
        carried: _Carried = {}
        local: _Local = {}
        known = before.boxes
        for number, box in [(n, box) for n, box in after.boxes.items() if known.get(n) is not box]:
            old = before.find(number)
            if old is None or old is box:
                continue
            if isinstance(box, ListBox):
                assert isinstance(old, ListBox)
                if not _same_segments(before, old, after, box):
                    carried[Place(number, WHOLE)] = (old.segments, box.segments)
                continue
            if not alike(before, nature(old), after, nature(box), before=before):
                carried[Place(number, NATURE)] = (nature(old), nature(box))
            if reordered(self.start.get(number), box):
                carried[Place(number, ORDER)] = (False, True)
            was, now = entries(old), entries(box)
            for key in dict.fromkeys([*was, *now]):
                a, b = was.get(key, UNBOUND), now.get(key, UNBOUND)
                if alike(before, a, after, b, before=before):
                    continue
                if number == self.scope and self.names.own(str(key)):
                    local[str(key)] = (a, b)
                elif number == self.scope and self.names.unread(str(key)):
                    local[str(key)] = (a, Opaque(f"`{key}` after the loop over `{self.loop.name}`"))
                else:
                    carried[Place(number, key)] = (a, b)
        return carried, local

    # -- forms -----------------------------------------------------------------------------

    def _next(
        self,
        forms: dict[Place, Form],
        carried: _Carried,
        before: Heap,
        after: Heap,
        number: int,
    ) -> dict[Place, Form]:
        """Better forms, after a trip has shown that these do not hold."""
        out = dict(forms)
        turning = {} if forms else rotations(carried)
        closed = number < ROUNDS - 1 and not (self.whole and self.traced_once)
        for place in dict.fromkeys([*carried, *forms]):
            was, now = read(before, place), read(after, place)
            known = forms.get(place)
            if known is not None and known.holds(self.context, now, after):
                continue
            if isinstance(known, Loosened):
                out[place] = known.wider(self.context, now, after)
                continue
            better: Form | None = None
            if closed and place in turning:
                better = turning[place]
            elif closed and known is None and not self._foreseen(place):
                better = proposed(self.context, place, was, now)
            elif closed and known is not None and place in carried:
                better = known.revised(self.context, was, now, out.values())
            # a place that no longer changes from its form on holds what is left each time
            out[place] = better or loosened(self.context, place, was, now, before, after)
        return out

    def _role(self, place: Place) -> object:
        """What a place is each time that the loop is gone through."""
        own = place.box == self.scope
        return self.loop.span, None if own else place.box, place.key

    def _foreseen(self, place: Place) -> bool:
        """Whether the loop had no closed form for a place the last time, in the same loop around.

        An outer loop goes through its trip again and again, from ever more general values: what had
        no form from the first ones is not tried again, since each trial is a trip, in each of the
        loops around another time.
        """
        return self._role(place) in self.vm.foreseen

    def _install(self, forms: dict[Place, Form]) -> None:
        for place, form in forms.items():
            put(self.vm.heap, place, form.at(self.context, self.loop.index))

    def _adopt_new(self, before: Heap, after: Heap) -> None:
        """Keep the boxes that a trip made which was undone: forms may refer to them."""
        for number in after.newer(before):
            self.vm.heap.boxes.setdefault(number, after.boxes[number])

    def _confirmed(self, forms: dict[Place, Form], carried: _Carried, after: Heap) -> bool:
        if any(place not in forms for place in carried):
            return False
        return all(
            form.holds(self.context, read(after, place), after) for place, form in forms.items()
        )

    # -- after the loop --------------------------------------------------------------------

    def _finish(self, forms: dict[Place, Form], local: _Local, outcome: Outcome) -> None:
        vm = self.vm
        self.stays, self.carried = outcome.stays, forms
        vm.foreseen.update(self._role(place) for place, form in forms.items() if not form.exact)
        if self.whole and outcome.left:  # a trip that leaves the loop is none of these
            with vm.inside(self.loop):
                vm.assume(outcome.stays, "", self.loop.span, AssumptionKind.TYPE)
        some = E.gt(self.loop.trips, 0)
        certain = vm.decide(some) is True
        for place, form in forms.items():
            trips = Context(
                vm,
                Loop(
                    self.loop.index,
                    self.context.trips,
                    self.loop.kind,
                    self.loop.name,
                    self.loop.span,
                ),
                self.context.fresh,
            )
            put(vm.heap, place, form.after(self.context if isinstance(form, Last) else trips))
        scope = vm.heap.write(self.scope)
        assert isinstance(scope, Scope)
        for name, (was, value) in local.items():
            final = self.context.last(value)
            scope.names[name] = final if certain else join(some, final, was)


def bounded(
    vm: VM, index: Sym, goes_on: Bool, trips: Expr | None, *, older_than: Expr | None = None
) -> Expr | None:
    """How many trips a loop has that goes on as long as a condition in the trip's index holds.

    Each part of it is ``start + step * index <= 0`` with ``step >= 1``, or says that a rest is
    left, or is the same in all of ``trips``, or only one number does not meet it. ``older_than``:
    no symbol in it may be newer, for what a trip alone knows is another unknown in each.
    """
    newest = older_than.as_atom() if older_than is not None else None
    if newest is not None and any(
        symbol.id >= newest.id and symbol is not index for symbol in goes_on.free()
    ):
        return None
    count = trips
    for part in conjuncts(goes_on):
        bound = _bound(vm, index, part, trips)
        if bound is None:
            return None
        count = bound if count is None else E.minimum(count, bound)
    return count


def _bound(vm: VM, index: Sym, test: Bool, trips: Expr | None) -> Expr | None:
    if trips is not None and index not in test.free():
        return E.ite(test, trips, 0)
    expr = test.expr
    if test.kind is E.BoolKind.NE and expr is not None and trips is not None:
        return _but_one(index, expr, trips)
    if test.kind is not E.BoolKind.LE or expr is None:
        return None
    rest = (E.const(1) - expr).as_atom() if expr.const == 1 else None
    if isinstance(rest, E.Extremum) and rest.kind == "max" and rest.args[1:] == (E.const(0),):
        expr = E.const(1) - rest.args[0]  # max(x, 0) >= 1 is x >= 1
    start = E.Substitution({index: E.const(0)}).expr(expr)
    step = E.Substitution({index: E.from_atom(index) + 1}).expr(expr) - expr
    if index in step.free() or vm.decide(E.ge(step, 1)) is not True:
        return None
    # (not one more than ``-start // step``: a step that is no number may be part of ``start``)
    return E.maximum((step - start) // step, 0)


def _but_one(index: Sym, expr: Expr, trips: Expr) -> Expr | None:
    """How many trips come before the one where ``expr`` is zero: all if there is none."""
    start = E.Substitution({index: E.const(0)}).expr(expr)
    step = E.Substitution({index: E.from_atom(index) + 1}).expr(expr) - expr
    if step not in (E.const(1), E.const(-1)):
        return None
    place = -start * step
    return E.ite(E.ge(place, 0), place, trips)


def leaving(vm: VM, trip: Callable[[], None], span: Span) -> NoReturn:
    """Run a trip that does not come to its end.

    Raises:
        Ended: always; its ways out have landed where they are waited for.
    """
    vm.gathered(Wait.TRIP, trip)
    vm.assume(
        E.FALSE, "", span, AssumptionKind.TYPE
    )  # a trip that does come to its end is not the last one
    raise Ended


def _same_segments(before: Heap, old: ListBox, after: Heap, box: ListBox) -> bool:
    return len(old.segments) == len(box.segments) and all(
        x is y or x == y for x, y in zip(old.segments, box.segments, strict=True)
    )
