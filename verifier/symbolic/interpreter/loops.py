"""Loops: unrolled when they are short and must be, one generic iteration otherwise.

The generic iteration runs the body once with a fresh index. What the body leaves changed is then
looked at: a counter that grew by the same amount becomes a closed form in the index, a list that
was appended to becomes a run of symbolic length, a name that was re-bound holds what the
iteration before left. Each guess is confirmed by running the body again from the guessed state;
what cannot be confirmed is forgotten (a fresh symbol, in the ledger).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr, Sym
from verifier.symbolic.interpreter import draining
from verifier.symbolic.interpreter import heap as H
from verifier.symbolic.interpreter.heap import UNBOUND, DictBox, Heap, ListBox, ObjectBox, Scope
from verifier.symbolic.interpreter.terms import (
    Renaming,
    alike,
    alike_segments,
    join,
    mentions,
    same,
)
from verifier.symbolic.lanes import SystemAddress
from verifier.symbolic.trace import Loop, View
from verifier.symbolic.values import Opaque, Range

if TYPE_CHECKING:
    from verifier.symbolic.interpreter.vm import VM, Escape

#: loops with at most this many constant trips are unrolled when a closed form is not found
UNROLL = 64
#: guesses about carried values are refined this often before they are dropped
ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value is kept: a name in a scope, an attribute, a dictionary's item, a whole list."""

    kind: str
    box: int
    key: object


@dataclass(frozen=True, slots=True)
class Guess:
    """What a place holds when iteration ``i`` starts.

    ``linear``: an integer that grows by the same step; ``rest``: one that pieces are taken from
    until nothing is left, ``share``: one that grows by those pieces (:mod:`.draining`); ``last``:
    what iteration ``i - 1`` left; ``append``, ``runs``: a list that grows by the same items or by
    a run of them; ``rotation``: values that a few places pass around; ``slots``: a list of fixed
    length, each item what was left there; ``stale``: the same without knowing the items;
    ``havoc``: anything.
    """

    kind: str
    start: object
    step: object = None


def trips_of(vm: VM, rng: Range, span: Span) -> Expr:
    """The number of iterations; negative counts mean none."""
    from verifier.symbolic.interpreter.arithmetic import nonzero

    distance = rng.stop - rng.start
    if rng.step.is_const:
        if rng.step.const == 0:
            nonzero(vm, rng.step, span)
            return E.const(0)
        if rng.step.const < 0:
            return E.ceildiv(-distance, -rng.step.const)
        return E.ceildiv(distance, rng.step)
    nonzero(vm, rng.step, span)
    return E.ceildiv(distance, rng.step)


def run(
    vm: VM,
    rng: Range,
    bind: Callable[[object], None],
    body: Callable[[], str],
    *,
    name: str,
    span: Span,
    exposed: frozenset[str],
) -> str:
    """Run ``body`` for each value of the range; the flow it ends with."""
    trips = trips_of(vm, rng, span)
    if trips.is_const and trips.const <= 0:
        return "normal"
    if trips.is_const and trips.const == 1:
        return unroll(vm, (rng.start,), bind, body)
    if vm.decide(E.le(trips, 0)) is True:
        return "normal"
    symbol = vm.loop_symbol(name)
    loop = Loop(E.from_atom(symbol), trips, rng.kind, name, span)
    runner = _Generic(vm, loop, lambda: bind(rng.start + rng.step * loop.index), body, exposed)
    constant = trips.is_const and trips.const <= UNROLL

    def values() -> Sequence[object]:
        return tuple(rng.start + rng.step * k for k in range(trips.const))

    return runner.run((lambda: unroll(vm, values(), bind, body)) if constant else None)


def iteration(vm: VM, body: Callable[[], str]) -> str:
    """One pass through a loop body; ``continue`` ends here."""
    frame = vm.frame
    base = vm.path_length()
    returns, breaks = len(frame.returns), len(frame.breaks[-1]) if frame.breaks else 0
    frame.continues.append([])
    frame.loop_bases.append(base)
    flow = body()
    frame.loop_bases.pop()
    escapes = frame.continues.pop()
    if escapes:
        if flow == "normal" or flow == "continue":
            rejoin(vm, escapes, flow == "normal")
            flow = "normal"
        elif escapes:
            rejoin(vm, escapes, False)
            flow = "normal"
        vm.cut_path(base)
        for escape in (
            *frame.returns[returns:],
            *(frame.breaks[-1][breaks:] if frame.breaks else ()),
        ):
            vm.narrow(E.not_(escape.guard))
    return flow


def rejoin(vm: VM, escapes: Sequence[Escape], alive: bool, value: object = None) -> object:
    """Merge paths that left early with the current one (if that is alive); the joined value."""
    for escape in reversed(escapes):
        if alive:
            current = vm.heap.fork()
            H.merge(vm.heap, escape.guard, escape.heap, current, join)
            value = join(escape.guard, escape.value, value)
        else:
            vm.heap.adopt(escape.heap.fork())
            value = escape.value
            alive = True
    return value


def unroll(
    vm: VM, values: Sequence[object], bind: Callable[[object], None], body: Callable[[], str]
) -> str:
    """Run the body for each value in turn."""
    frame = vm.frame
    frame.breaks.append([])
    base = vm.path_length()
    flow = "normal"
    for value in values:
        bind(value)
        flow = iteration(vm, body)
        if flow != "normal":
            break
    escapes = frame.breaks.pop()
    if escapes:
        returns = list(frame.returns)
        rejoin(vm, escapes, flow == "normal")
        vm.cut_path(base)
        for escape in returns:
            if escape.guard is not E.TRUE:
                vm.narrow(E.not_(escape.guard))
        return "normal"
    return "normal" if flow == "break" else flow


def _slots(segments: object) -> tuple[object, ...] | None:
    """The items of a list whose length is known, or None."""
    assert isinstance(segments, tuple)
    if not all(isinstance(segment, H.Item) for segment in segments):
        return None
    return tuple(segment.value for segment in segments)


def _difference(was: object, now: object) -> Expr | None:
    """How much an integer or an address has grown, None if it cannot be said."""
    if isinstance(was, Expr) and isinstance(now, Expr):
        return now - was
    if isinstance(was, SystemAddress) and isinstance(now, SystemAddress):
        return now.offset - was.offset if was.storage is now.storage else None
    return None


def _advanced(start: object, amount: Expr) -> object:
    if isinstance(start, SystemAddress):
        return SystemAddress(start.storage, start.offset + amount)
    assert isinstance(start, Expr)
    return start + amount


class _Generic:
    """One loop with a symbolic number of trips."""

    def __init__(
        self,
        vm: VM,
        loop: Loop,
        bind: Callable[[], None],
        body: Callable[[], str],
        exposed: frozenset[str],
    ) -> None:
        self.vm = vm
        self.loop = loop
        self.bind = bind
        self.body = body
        self.exposed = exposed
        self.scope = vm.frame.scope
        self.left_early = False

    @property
    def index(self) -> Sym:
        return self.loop.symbol

    def run(self, unrolled: Callable[[], str] | None) -> str:
        vm = self.vm
        mark = vm.mark()
        names = dict(vm._names)
        before = mark.heap
        guesses: dict[Place, Guess] = {}
        after = before
        for round_number in range(ROUNDS + 1):
            if round_number:
                vm.back_to(mark)
                vm._names = dict(names)
                self._adopt_new(before, after)
                self._install(guesses)
            flow = self._once()
            if flow == "raise" and vm.trace.dies:
                return self._died(before)
            if flow in ("return", "break", "raise"):
                vm.back_to(mark)
                vm._names = dict(names)
                return self._first_only(flow)
            if self.left_early:
                vm.back_to(mark)
                vm._names = dict(names)
                if unrolled is not None:
                    return unrolled()
                return self._with_early_exit()
            after = vm.heap
            carried, local = self._changes(before, after)
            if self._traced_once():
                # Beta 1 traces the body once: what Python changed, it changed once (NKI-LP12)
                carried = {place: c for place, c in carried.items() if place.kind == "list"}
            if self._confirmed(guesses, carried, before, after):
                self._finish(guesses, local, before)
                return "normal"
            if unrolled is not None and round_number:
                vm.back_to(mark)
                vm._names = dict(names)
                return unrolled()
            guesses = self._guess(guesses, carried, before, after, round_number)
        # the last round ran with everything unconfirmed forgotten: it stands
        carried, local = self._changes(before, after)
        self._finish(guesses, local, before)
        return "normal"

    def _traced_once(self) -> bool:
        return self.vm.api == "beta1" and self.loop.kind in ("affine", "sequential", "range")

    # -- one iteration ---------------------------------------------------------------

    def _once(self) -> str:
        vm = self.vm
        frame = vm.frame
        returns = len(frame.returns)
        frame.breaks.append([])
        with vm.inside(self.loop):
            self.bind()
            flow = iteration(vm, self.body)
        breaks = frame.breaks.pop()
        self.left_early = bool(breaks) or len(frame.returns) > returns
        if self.left_early:
            del frame.returns[returns:]
        return flow

    def _died(self, before: Heap) -> str:
        """Python's error in the body ends the trace wherever an iteration runs."""
        vm = self.vm
        some = E.gt(self.loop.trips, 0)
        if vm.decide(some) is True:
            return "raise"
        vm.heap = before.fork()
        vm.narrow(E.not_(some))
        return "normal"

    def _first_only(self, flow: str) -> str:
        """The body never reaches its end: at most one iteration runs."""
        vm = self.vm
        some = E.gt(self.loop.trips, 0)
        if flow == "raise":
            vm.assume(
                E.not_(some), "no iteration of a loop that always raises", self.loop.span, "assert"
            )
            return "normal"
        if vm.decide(some) is True:
            return unroll(vm, (None,), lambda _: self._bind_first(), self.body)
        other = vm.heap.fork()
        with vm.guarded(some):
            ended = unroll(vm, (None,), lambda _: self._bind_first(), self.body)
        if ended == "normal":
            H.merge(vm.heap, some, vm.heap.fork(), other, join)
        else:
            vm.heap.adopt(other)
            vm.narrow(E.not_(some))
        return "normal"

    def _bind_first(self) -> None:
        self.bind()
        zero = {self.index: E.const(0)}
        scope = self.vm.heap.write(self.scope)
        assert isinstance(scope, Scope)
        for name, value in list(scope.names.items()):
            if mentions(value, self.index, self.vm.heap):
                scope.names[name] = Renaming(self.vm.heap, zero).value(value)

    def _with_early_exit(self) -> str:
        """Some path leaves the loop early: an unknown number of iterations runs."""
        vm = self.vm
        count = E.fresh("iterations", 0)
        vm.approximate(
            "havoc",
            f"a path leaves the loop over `{self.loop.name}` early; the number of iterations is "
            "not followed",
            self.loop.span,
            [repr(count)],
        )
        vm.assume(E.le(count, E.maximum(self.loop.trips, 0)), "", self.loop.span, "type")
        self.loop = Loop(self.loop.index, count, self.loop.kind, self.loop.name, self.loop.span)
        before = vm.heap.fork()
        frame = vm.frame
        self._forget_all(before)
        frame.breaks.append([])
        base = vm.path_length()
        with vm.inside(self.loop):
            self.bind()
            flow = iteration(vm, self.body)
        escapes = frame.breaks.pop()
        if flow in ("break", "continue"):
            rejoin(vm, escapes, False)
        vm.cut_path(base)
        return "normal"

    def _forget_all(self, before: Heap) -> None:
        """Give every carried place an unknown value."""
        vm = self.vm
        mark = vm.mark()
        names = dict(vm._names)
        self._once()
        carried, _ = self._changes(before, vm.heap)
        vm.back_to(mark)
        vm._names = names
        self._install({place: self._forget(place, before) for place in carried})

    # -- what changed ----------------------------------------------------------------

    def _changes(
        self, before: Heap, after: Heap
    ) -> tuple[dict[Place, tuple[object, object]], dict[str, tuple[object, object]]]:
        """Places whose value differs now, and names of the iteration alone."""
        carried: dict[Place, tuple[object, object]] = {}
        local: dict[str, tuple[object, object]] = {}
        for number, box in after.boxes.items():
            old = before.boxes.get(number)
            if old is None:
                old = before.base.get(number)
            if old is None or old is box:
                continue
            if isinstance(old, Scope) and isinstance(box, Scope):
                for name, value in box.names.items():
                    was = old.names.get(name, UNBOUND)
                    if alike(before, was, after, value):
                        continue
                    if number == self.scope and (name not in self.exposed or was is UNBOUND):
                        local[name] = (was, value)
                    elif was is not UNBOUND:
                        carried[Place("name", number, name)] = (was, value)
            elif isinstance(old, ObjectBox) and isinstance(box, ObjectBox):
                for attr, value in box.attributes.items():
                    was = old.attributes.get(attr, UNBOUND)
                    if not alike(before, was, after, value):
                        carried[Place("attribute", number, attr)] = (was, value)
            elif isinstance(old, DictBox) and isinstance(box, DictBox):
                for key, value in box.items.items():
                    was = old.items.get(key, UNBOUND)
                    if not alike(before, was, after, value):
                        carried[Place("item", number, key)] = (was, value)
            elif isinstance(old, ListBox) and isinstance(box, ListBox):
                if old.segments != box.segments:
                    carried[Place("list", number, None)] = (old.segments, box.segments)
        return carried, local

    # -- guesses ---------------------------------------------------------------------

    def _guess(
        self,
        guesses: dict[Place, Guess],
        carried: dict[Place, tuple[object, object]],
        before: Heap,
        after: Heap,
        round_number: int,
    ) -> dict[Place, Guess]:
        out = dict(guesses)
        rotations = {} if guesses else self._rotations(carried)
        for place, (was, now) in carried.items():
            known = guesses.get(place)
            if known is not None and (
                known.kind == "havoc" or self._holds(place, known, now, after)
            ):
                continue
            if round_number >= ROUNDS - 1:
                out[place] = self._forget(place, before)
            elif place in rotations:
                out[place] = rotations[place]
            elif known is None:
                out[place] = self._first_guess(place, was, now, before)
            elif known.kind in ("linear", "rest"):
                out[place] = self._second_guess(known, was, now, out)
            elif known.kind == "slots":
                out[place] = Guess("stale", was, now)
            else:
                out[place] = self._forget(place, before)
        for place, guess in guesses.items():
            if place not in carried and guess.kind not in ("havoc", "append", "runs", "stale"):
                # with the guess installed it no longer changes: it holds what is left each time
                out[place] = self._forget(place, before)
        return out

    @staticmethod
    def _rotations(carried: dict[Place, tuple[object, object]]) -> dict[Place, Guess]:
        """Tensors that places pass around in a cycle, as in ``front, back = back, front``."""
        holders = {id(was): place for place, (was, _) in carried.items() if isinstance(was, View)}
        out: dict[Place, Guess] = {}
        for first in holders.values():
            cycle: list[object] = []
            place: Place | None = first
            while place is not None and len(cycle) < len(holders):
                was, now = carried[place]
                cycle.append(was)
                place = holders.get(id(now))
                if place == first:
                    break
            if place == first and len(cycle) > 1:
                out[first] = Guess("rotation", tuple(cycle), (*cycle[1:], cycle[0]))
        return out

    @staticmethod
    def _rotated(values: tuple[object, ...], index: Expr) -> object:
        """``values[index % len(values)]``."""
        turn = index % len(values)
        held = values[-1]
        for k in reversed(range(len(values) - 1)):
            held = join(E.eq(turn, k), values[k], held)
        return held

    def _first_guess(self, place: Place, was: object, now: object, before: Heap) -> Guess:
        index = self.index
        if place.kind == "list":
            assert isinstance(was, tuple) and isinstance(now, tuple)
            added = now[len(was) :]
            if now[: len(was)] == was and all(isinstance(s, H.Item) for s in added):
                return Guess("append", was, tuple(s.value for s in added))
            if now[: len(was)] == was and len(added) == 1 and isinstance(added[0], H.Many):
                run = added[0]
                if index not in run.count.free() and len(run.values) == 1:
                    return Guess("runs", was, run)
            if _slots(was) is not None and _slots(now) is not None and len(was) == len(now):
                return Guess("slots", was, now)
            return self._forget(place, before)
        if isinstance(was, Expr) and isinstance(now, Expr):
            rest = draining.rest_of(was, now, index)
            if rest is not None and all(
                self.vm.decide(E.ge(part, 0)) is True for part in (rest.start, rest.size)
            ):
                return Guess("rest", was, rest)
        difference = _difference(was, now)
        if difference is not None and index not in difference.free():
            return Guess("linear", was, difference)
        return Guess("last", was, now)

    def _second_guess(
        self, known: Guess, was: object, now: object, guesses: dict[Place, Guess]
    ) -> Guess:
        """After a guess about a number or an address failed, seeing what really was added."""
        growth = _difference(self._start(known, self.loop.index), now)
        if growth is not None and known.kind == "linear":
            rests = [g.step for g in guesses.values() if isinstance(g.step, draining.Rest)]
            share = draining.share_of(growth, rests, self.index)
            if share is not None:
                return Guess("share", was, share)
        if growth is not None and known.kind == "rest" and self.index not in growth.free():
            return Guess("linear", was, growth)
        return Guess("last", was, now)

    def _forget(self, place: Place, before: Heap) -> Guess:
        vm = self.vm
        what = f"`{place.key}`" if place.kind != "list" else "a list"
        box = before.get(place.box)
        old: object = UNBOUND
        if isinstance(box, Scope) and isinstance(place.key, str):
            old = box.names.get(place.key, UNBOUND)
        elif isinstance(box, ObjectBox) and isinstance(place.key, str):
            old = box.attributes.get(place.key, UNBOUND)
        elif isinstance(box, DictBox):
            old = box.items.get(place.key, UNBOUND)
        reason = f"the value of {what} carried around the loop over `{self.loop.name}`"
        if isinstance(old, Expr):
            symbol = E.fresh(f"{place.key}", None)
            vm.approximate("havoc", f"{reason} has no closed form", self.loop.span, [repr(symbol)])
            return Guess("havoc", symbol)
        if isinstance(old, SystemAddress):
            symbol = E.fresh(f"{place.key}", None)
            vm.approximate("havoc", f"{reason} has no closed form", self.loop.span, [repr(symbol)])
            return Guess("havoc", SystemAddress(old.storage, symbol))
        vm.approximate("havoc", f"{reason} is not followed", self.loop.span)
        return Guess("havoc", Opaque(reason))

    def _start(self, guess: Guess, index: Expr) -> object:
        """What the place holds when iteration ``index`` starts."""
        if guess.kind == "linear":
            assert isinstance(guess.step, Expr)
            return _advanced(guess.start, guess.step * index)
        if guess.kind == "rest":
            assert isinstance(guess.step, draining.Rest)
            return guess.step.at(index)
        if guess.kind == "share":
            assert isinstance(guess.step, draining.Share)
            return _advanced(guess.start, guess.step.factor * guess.step.rest.taken(index))
        if guess.kind == "last":
            previous = Renaming(self.vm.heap, {self.index: index - 1}).value(guess.step)
            if guess.start is UNBOUND:
                return join(E.ge(index, 1), previous, UNBOUND)
            return join(E.eq(index, 0), guess.start, previous)
        if guess.kind == "rotation":
            assert isinstance(guess.start, tuple)
            return self._rotated(guess.start, index)
        if guess.kind in ("slots", "stale"):
            return self._slots_at(guess, index)
        if guess.kind == "append":
            assert isinstance(guess.start, tuple) and isinstance(guess.step, tuple)
            position = self.vm.loop_symbol(self.loop.name)
            rename = Renaming(self.vm.heap, {self.index: E.from_atom(position)})
            values = tuple(rename.value(v) for v in guess.step)
            return (*guess.start, H.Many(index, position, values))
        if guess.kind == "runs":
            # each iteration appends a run of the same length: element q is number q % length of
            # the run of iteration q // length
            assert isinstance(guess.start, tuple) and isinstance(guess.step, H.Many)
            run = guess.step
            position = self.vm.loop_symbol(self.loop.name)
            place = E.from_atom(position)
            rename = Renaming(
                self.vm.heap,
                {self.index: place // run.count, run.index: place % run.count},
            )
            values = tuple(rename.value(v) for v in run.values)
            return (*guess.start, H.Many(index * run.count, position, values))
        return guess.start

    def _slots_at(self, guess: Guess, index: Expr) -> tuple[H.Item, ...]:
        old, new = _slots(guess.start), _slots(guess.step)
        assert old is not None and new is not None
        rename = Renaming(self.vm.heap, {self.index: index - 1})
        out = []
        for was, now in zip(old, new, strict=True):
            if was is now:
                out.append(H.Item(was))
            elif guess.kind == "slots":
                out.append(H.Item(join(E.eq(index, 0), was, rename.value(now))))
            else:
                out.append(H.Item(Opaque(f"an item that the loop over `{self.loop.name}` stored")))
        return tuple(out)

    def _install(self, guesses: dict[Place, Guess]) -> None:
        for place, guess in guesses.items():
            self._put(place, self._start(guess, self.loop.index))

    def _put(self, place: Place, value: object) -> None:
        box = self.vm.heap.write(place.box)
        if isinstance(box, Scope) and isinstance(place.key, str):
            box.names[place.key] = value
        elif isinstance(box, ObjectBox) and isinstance(place.key, str):
            box.attributes[place.key] = value
        elif isinstance(box, DictBox):
            box.items[place.key] = value
        elif isinstance(box, ListBox):
            if isinstance(value, tuple):
                box.segments = value
            else:
                box.segments = (
                    H.Many(E.fresh("length", 0), self.vm.loop_symbol("item"), (value,)),
                )

    def _adopt_new(self, before: Heap, after: Heap) -> None:
        """Keep the boxes that a rolled back run created: guesses may refer to them."""
        for number, box in after.boxes.items():
            if number not in before.boxes and number not in before.base:
                self.vm.heap.boxes.setdefault(number, box)

    # -- confirmation ----------------------------------------------------------------

    def _holds(self, place: Place, guess: Guess, now: object, after: Heap) -> bool:
        """Whether an iteration that started as guessed ends as the next one starts."""
        heap = self.vm.heap
        if guess.kind == "havoc":
            return True
        if guess.kind == "linear":
            assert isinstance(guess.step, Expr)
            return same(now, _advanced(guess.start, guess.step * (self.loop.index + 1)))
        if guess.kind == "rest":
            assert isinstance(guess.step, draining.Rest)
            return now is guess.step.after(self.loop.index)
        if guess.kind == "share":
            assert isinstance(guess.step, draining.Share)
            index, share = self.loop.index, guess.step
            held = self._start(guess, index)
            return same(now, _advanced(held, share.factor * share.rest.piece(index)))
        if guess.kind == "last":
            return alike(heap, guess.step, after, now)
        if guess.kind == "rotation":
            assert isinstance(guess.step, tuple)
            return alike(heap, self._rotated(guess.step, self.loop.index), after, now)
        assert isinstance(now, tuple)
        if guess.kind in ("slots", "stale"):
            old, new, left = _slots(guess.start), _slots(guess.step), _slots(now)
            assert old is not None and new is not None
            return (
                left is not None
                and len(left) == len(new)
                and all(
                    alike(heap, expected, after, value)
                    for was, expected, value in zip(old, new, left, strict=True)
                    if guess.kind == "slots" or was is expected
                )
            )
        if guess.kind == "runs":
            last = now[-1] if now else None
            assert isinstance(guess.step, H.Many)
            return isinstance(last, H.Many) and alike_segments(heap, guess.step, after, last)
        assert isinstance(guess.step, tuple)
        added = now[-len(guess.step) :] if guess.step else ()
        return (
            len(added) == len(guess.step)
            and all(isinstance(s, H.Item) for s in added)
            and all(alike(heap, v, after, s.value) for v, s in zip(guess.step, added, strict=True))
        )

    def _confirmed(
        self,
        guesses: dict[Place, Guess],
        carried: dict[Place, tuple[object, object]],
        before: Heap,
        after: Heap,
    ) -> bool:
        if not guesses:
            return not carried
        if any(place not in guesses for place in carried):
            return False
        for place, guess in guesses.items():
            now = self._value(place, after)
            if not self._holds(place, guess, now, after):
                return False
        return True

    @staticmethod
    def _value(place: Place, heap: Heap) -> object:
        box = heap.get(place.box)
        if isinstance(box, Scope) and isinstance(place.key, str):
            return box.names.get(place.key, UNBOUND)
        if isinstance(box, ObjectBox) and isinstance(place.key, str):
            return box.attributes.get(place.key, UNBOUND)
        if isinstance(box, DictBox):
            return box.items.get(place.key, UNBOUND)
        assert isinstance(box, ListBox)
        return box.segments

    # -- after the loop --------------------------------------------------------------

    def _finish(
        self,
        guesses: dict[Place, Guess],
        local: dict[str, tuple[object, object]],
        before: Heap,
    ) -> None:
        vm = self.vm
        trips = E.maximum(self.loop.trips, 0)
        last = Renaming(vm.heap, {self.index: self.loop.trips - 1})
        some = E.gt(self.loop.trips, 0)
        certain = vm.decide(some) is True
        for place, guess in guesses.items():
            if guess.kind == "havoc":
                now = self._value(place, vm.heap)
                if isinstance(now, Expr):
                    self._put(place, E.fresh(f"{place.key}"))
                elif isinstance(now, SystemAddress):
                    fresh = SystemAddress(now.storage, E.fresh(f"{place.key}"))
                    self._put(place, fresh)
                continue
            if guess.kind == "last":
                final = last.value(guess.step)
                self._put(place, final if certain else join(some, final, guess.start))
            else:
                self._put(place, self._start(guess, trips))
        scope = vm.heap.write(self.scope)
        assert isinstance(scope, Scope)
        for name, (was, value) in local.items():
            final = last.value(value)
            scope.names[name] = final if certain else join(some, final, was)
