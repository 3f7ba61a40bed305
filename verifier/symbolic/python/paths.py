"""Paths: fork and join, the landings of those that end, and going back."""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import NoReturn, TypeVar

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool
from verifier.symbolic.python import guesses
from verifier.symbolic.python.flow import Ended, Escape, Exit, Fault, Landing, Mark, Wait
from verifier.symbolic.python.heap import Many, merge
from verifier.symbolic.python.state import State
from verifier.symbolic.python.terms import join
from verifier.symbolic.tensors import Loop
from verifier.symbolic.trace import Round, Turn

_T = TypeVar("_T")


class Paths(State):
    """The state with its paths: apart at what is not decided, together again, ended, undone."""

    def joined(self, test: Bool, then: object, other: object) -> object:
        """The value that is ``then`` if ``test`` holds, else ``other``."""
        return join(test, then, other)

    def _crowded(self) -> Many:
        """A list that too many paths have changed."""
        return self.any_list("a list that is another one on many paths", self.at)

    @contextlib.contextmanager
    def guarded(self, condition: Bool) -> Iterator[None]:
        """Run under one more path condition; what narrowed the path inside is dropped after."""
        base = len(self._path)
        if condition is not E.TRUE:
            self._path.append(condition)
            self.forking += 1
        try:
            yield
        finally:
            del self._path[base:]
            if condition is not E.TRUE:
                self.forking -= 1

    @contextlib.contextmanager
    def inside(self, loop: Loop) -> Iterator[None]:
        """Run in an iteration of a loop."""
        base = len(self._path)
        self._loops.append((loop, base))
        try:
            yield
        finally:
            self._loops.pop()
            del self._path[base:]

    @contextlib.contextmanager
    def in_round(self, round_: Round) -> Iterator[None]:
        """Run in a trip of a loop that is gone trip by trip."""
        self.rounds = (*self.rounds, round_)
        try:
            yield
        finally:
            self.rounds = self.rounds[:-1]  # (what is around a generator may be another loop now)

    @contextlib.contextmanager
    def in_turn(self, name: str) -> Iterator[None]:
        """Run in the only iteration of a loop, whose body is traced once."""
        first = self.next_order()
        try:
            yield
        finally:
            self.trace.turns.append(Turn(name, first, self.next_order()))

    def narrow(self, condition: Bool) -> None:
        """Add a condition to the rest of the path."""
        if condition is not E.TRUE:
            self._path.append(condition)

    def guard_since(self, base: int) -> Bool:
        return E.and_(*self._path[base:])

    def path_length(self) -> int:
        return len(self._path)

    def cut_path(self, length: int) -> None:
        del self._path[length:]

    def fork(self, test: Bool, then: Callable[[], _T], other: Callable[[], _T]) -> _T:
        """Go both ways at an undecided condition, and on with what the paths left behind.

        The result is the joined value; the path is narrowed to what goes on.

        Raises:
            Ended: no path goes on.
        """
        known = self.decide(test)
        if known is not None:
            return self._one_way(test, then if known else other)
        base, start = len(self._path), self.heap
        sides = []
        for condition, action in ((test, then), (E.not_(test), other)):
            self.heap = start.fork()
            self.narrow(condition)
            length = len(self._path)
            value: _T | None = None
            self.forking += 1
            try:
                value = action()
                alive = True
            except Ended:
                alive = False
            finally:
                self.forking -= 1
            sides.append((alive, value, self.heap, self.guard_since(length)))
            self.cut_path(base)
        self.heap = start
        (lives, first, first_heap, rest), (survives, second, second_heap, left) = sides
        if lives and survives:
            merge(start, test, first_heap, second_heap, self.joined, self._crowded)
            self.narrow(E.and_(E.implies(test, rest), E.implies(E.not_(test), left)))
            return self.joined(test, first, second)  # type: ignore[return-value]
        if not lives and not survives:
            raise Ended
        start.adopt(first_heap if lives else second_heap)
        self.narrow(test if lives else E.not_(test))
        self.narrow(rest if lives else left)
        return first if lives else second  # type: ignore[return-value]

    def _one_way(self, test: Bool, action: Callable[[], _T]) -> _T:
        """Go the one way that the facts leave."""
        because = guesses.behind(self, test)
        if because is None:
            return action()
        self.leaning.append(because)
        try:
            return action()
        finally:
            self.leaning.pop()

    # -- ways out ---------------------------------------------------------------------

    @contextlib.contextmanager
    def landing(self, waits: Wait, catches: bool = False) -> Iterator[Landing]:
        """Gather paths that end inside the block."""
        made = Landing(waits, len(self._path), catches=catches)
        self.landings.append(made)
        try:
            yield made
        finally:
            while self.landings.pop() is not made:
                pass

    def leave(
        self, kind: Exit, value: object = None, span: Span | None = None, fault: Fault | None = None
    ) -> NoReturn:
        """The current path ends here: it lands where it is waited for."""
        for landing in reversed(self.landings):
            if landing.takes(kind):
                guard = self.guard_since(landing.base)
                landing.escapes.append(Escape(kind, guard, self.heap.fork(), value, span, fault))
                raise Ended
            if landing.waits is Wait.CALL and kind is not Exit.RAISE:
                raise Ended
        if kind is Exit.RAISE:
            assert fault is not None
            self.reported(fault)
        raise Ended

    @abstractmethod
    def reported(self, fault: Fault, when: Bool = E.TRUE) -> None:
        """An exception that nothing catches is raised if ``when`` holds."""

    @property
    def catching(self) -> bool:
        """Whether an exception that is raised here may be caught."""
        return any(landing.takes(Exit.RAISE) for landing in self.landings)

    def outside(self) -> int:
        """How many paths have landed anywhere by now."""
        return sum(len(landing.escapes) for landing in self.landings)

    def rejoin(self, escapes: Sequence[Escape], alive: bool, value: object = None) -> object:
        """Merge paths that have ended with the current one (if that is alive); the joined value.

        Raises:
            Ended: there is none.
        """
        for escape in reversed(escapes):
            if alive:
                current = self.heap.fork()
                merge(self.heap, escape.guard, escape.heap, current, self.joined, self._crowded)
                value = self.joined(escape.guard, escape.value, value)
            else:
                self.heap.adopt(escape.heap.fork())
                value = escape.value
                alive = True
        if not alive:
            raise Ended
        return value

    def gathered(
        self,
        waits: Wait,
        action: Callable[[], object],
        then: Callable[[], object] | None = None,
        *,
        cut: bool = False,
    ) -> object:
        """Run something and go on with its end and with the paths that landed, together.

        ``then`` follows where ``action`` comes to its end, outside of the landing. With ``cut``,
        what narrowed the path inside is dropped in any case.

        Raises:
            Ended: no path goes on.
        """
        before = self.outside()
        value: object = None
        alive = True
        with self.landing(waits) as landing:
            try:
                value = action()
            except Ended:
                alive = False
        if alive and then is not None:
            try:
                value = then()
            except Ended:
                alive = False
        if not landing.escapes and not cut:
            if not alive:
                raise Ended
            return value
        rest = self.guard_since(landing.base) if alive else E.FALSE
        gone = self.outside() - before
        value = self.rejoin(landing.escapes, alive, value)
        self.cut_path(landing.base)
        if gone:  # some paths went elsewhere: those that are here are not all
            self.narrow(E.or_(rest, *(escape.guard for escape in landing.escapes)))
        return value

    def dies(self) -> NoReturn:
        """Tracing stops here on this path: Python raises an error that nothing catches."""
        self.trace.dies = True
        raise Ended

    # -- going back -------------------------------------------------------------------

    def mark(self) -> Mark:
        """A point to go back to, with :meth:`back_to`."""
        t = self.trace
        landed = tuple(len(landing.escapes) for landing in self.landings)
        return Mark(
            self.heap.fork(),
            len(self._path),
            self.order,
            self._lengths(),
            landed,
            dict(self._names),
            t.calls,
            t.dies,
        )

    def _lengths(self) -> tuple[int, ...]:
        """How much has been traced."""
        t = self.trace
        return (
            len(t.storages),
            len(t.operations),
            len(t.assumptions),
            len(t.ledger),
            len(t.unmodelled),
            len(self.checks),
            len(t.survived),
            len(t.turns),
        )

    def is_as_at(self, mark: Mark) -> bool:
        """Whether nothing was traced since the mark, and no path has gone elsewhere."""
        landed = tuple(len(landing.escapes) for landing in self.landings)
        now = (len(self._path), self.order, self._lengths(), landed, self.trace.calls)
        was = (mark.path, mark.order, mark.lengths, mark.landed, mark.calls)
        return now == was and self.trace.dies == mark.dies

    def settle(self, mark: Mark) -> None:
        """What was traced since the mark stands: see :attr:`unsettled`."""
        self.unsettled = [other for other in self.unsettled if other is not mark]

    def back_to(self, mark: Mark) -> None:
        """Undo everything since the mark; it can be gone back to again."""
        t = self.trace
        self.heap = mark.heap.fork()
        del self._path[mark.path :]
        self.order = mark.order
        del t.storages[mark.lengths[0] :]
        del t.operations[mark.lengths[1] :]
        del t.assumptions[mark.lengths[2] :]
        del t.ledger[mark.lengths[3] :]
        del t.unmodelled[mark.lengths[4] :]
        del self.checks[mark.lengths[5] :]
        del t.survived[mark.lengths[6] :]
        del t.turns[mark.lengths[7] :]
        for landing, length in zip(self.landings, mark.landed, strict=False):
            del landing.escapes[length:]
        self._names = dict(mark.names)
        t.calls, t.dies = mark.calls, mark.dies
        self._facts = None
