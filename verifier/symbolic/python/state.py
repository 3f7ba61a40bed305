"""The state of one run: heap, path, loops, landings, and what has been traced so far."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeVar

from verifier.hardware.catalogue import Hardware
from verifier.source.ir import Span
from verifier.source.text import SourceError
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Sym
from verifier.symbolic.python.flow import (
    AbortedRunError,
    Ended,
    Escape,
    Exit,
    Fault,
    Frame,
    HostCheck,
    Landing,
    Mark,
    Wait,
)
from verifier.symbolic.python.heap import Box, Heap, Scope, merge
from verifier.symbolic.python.inputs import Inputs, Parameter
from verifier.symbolic.python.terms import join
from verifier.symbolic.trace import Assumption, LedgerEntry, Loop, Storage, Trace
from verifier.symbolic.values import Opaque, Ref

if TYPE_CHECKING:
    from verifier.source.project import Project

#: statements executed per run before it is given up
MAX_STEPS = 2_000_000

_T = TypeVar("_T")


class State:
    """What a run is made of. Values and their operations are in the classes built on it."""

    def __init__(
        self,
        project: Project,
        hardware: Hardware,
        api: str,
        trace: Trace,
        inputs: Inputs,
        decide: Callable[[tuple[Bool, ...], Bool], bool | None],
        deadline: float | None = None,
    ) -> None:
        self.project = project
        self.hardware = hardware
        self._api = api
        self.trace = trace
        self.inputs = inputs
        self._decide = decide
        #: ``time.monotonic()`` at which the run is given up; None: never
        self.deadline = deadline
        self.base: dict[int, Box] = {}
        self.heap = Heap(self.base)
        self._path: list[Bool] = []
        self._loops: list[Loop] = []
        self.frames: list[Frame] = []
        self.landings: list[Landing] = []
        self.checks: list[HostCheck] = []
        self.order = 0
        self.steps = 0
        self._storages: dict[int, Storage] = {}
        self._names: dict[str, int] = {}
        self._facts: tuple[tuple[int, ...], tuple[Bool, ...]] | None = None
        self._axes = 0
        #: sides of undecided branches that are being run
        self.forking = 0

    @property
    def api(self) -> str:
        return self._api

    @property
    def loops(self) -> tuple[Loop, ...]:
        return tuple(self._loops)

    @property
    def path(self) -> tuple[Bool, ...]:
        return tuple(self._path)

    def next_order(self) -> int:
        self.order += 1
        return self.order

    # -- frames and boxes --------------------------------------------------------------

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    def scope(self) -> Scope:
        """The scope of the running block, to read."""
        box = self.heap.get(self.frame.scope)
        assert isinstance(box, Scope)
        return box

    def box(self, value: object) -> Box | None:
        """The box that a value refers to, None if it is no reference."""
        return self.heap.get(value.id) if isinstance(value, Ref) else None

    def write(self, ref: Ref, span: Span) -> Box:
        """The box, to change it. A write to a copy of an object is lost: nothing after counts."""
        if self.heap.get(ref.id).ghost:
            self.unfollowed("an object that some iteration of a loop made is changed later", span)
        return self.heap.write(ref.id)

    # -- facts -------------------------------------------------------------------------

    def facts(self) -> tuple[Bool, ...]:
        """Everything known at the current point."""
        key = (
            len(self.trace.assumptions),
            *(id(p) for p in self._path),
            *(id(loop) for loop in self._loops),
        )
        if self._facts is None or self._facts[0] != key:
            facts = (
                *(a.condition for a in self.trace.assumptions),
                *self._path,
                *(loop.within for loop in self._loops),
            )
            self._facts = (key, facts)
        return self._facts[1]

    def decide(self, condition: Bool) -> bool | None:
        """Whether the path's facts settle a condition, by cheap means only."""
        if condition is E.TRUE:
            return True
        if condition is E.FALSE:
            return False
        return self._decide(self.facts(), condition)

    def assume(self, condition: Bool, text: str, span: Span, kind: str) -> None:
        """Add an assumption to the rest of the path."""
        everywhere = not self._path and not self._loops
        guard = E.and_(*self._path, *(loop.within for loop in self._loops))
        condition = E.implies(guard, condition)
        if condition is not E.TRUE:
            self.trace.assumptions.append(
                Assumption(condition, text, span, kind, self.next_order(), everywhere)
            )

    # -- what is not known -------------------------------------------------------------

    def approximate(self, kind: str, message: str, span: Span, symbols: Sequence[str] = ()) -> None:
        """Enter an approximation into the ledger."""
        for position, known in enumerate(self.trace.ledger):
            if known.message == message and known.span == span:
                if known.symbols and symbols:  # another symbol for the same
                    both = (*known.symbols, *symbols)
                    self.trace.ledger[position] = replace(known, symbols=both)
                return
        self.trace.ledger.append(LedgerEntry(kind, message, span, tuple(symbols), self.order))

    def unfollowed(self, reason: str, span: Span) -> Opaque:
        """What happens here has no model: from here on nothing is proved and nothing blamed.

        This is the one way to pass over something that may change state, raise or give any value.
        """
        self.approximate("skipped", reason, span)
        return Opaque(reason)

    def unmodelled(self, name: str, span: Span) -> None:
        """Say that a device call has no model; the kernel cannot be called verified then."""
        if (name, span) not in self.trace.unmodelled:
            self.trace.unmodelled.append((name, span))

    def unknown_int(self, reason: str, span: Span) -> Expr:
        """An integer that is not followed."""
        symbol = E.fresh("unknown")
        self.approximate("opaque", reason, span, [repr(symbol)])
        return symbol

    def unknown_bool(self, reason: str, span: Span) -> Bool:
        """A truth value that is not followed."""
        symbol = E.fresh("unknown", 0, 1)
        self.approximate("opaque", reason, span, [repr(symbol)])
        return E.eq(symbol, 1)

    # -- paths -------------------------------------------------------------------------

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
        self._loops.append(loop)
        base = len(self._path)
        try:
            yield
        finally:
            self._loops.pop()
            del self._path[base:]

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
            return then() if known else other()
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
            merge(start, test, first_heap, second_heap, join)
            self.narrow(E.and_(E.implies(test, rest), E.implies(E.not_(test), left)))
            return join(test, first, second)  # type: ignore[return-value]
        if not lives and not survives:
            raise Ended
        start.adopt(first_heap if lives else second_heap)
        self.narrow(test if lives else E.not_(test))
        self.narrow(rest if lives else left)
        return first if lives else second  # type: ignore[return-value]

    # -- ways out ----------------------------------------------------------------------

    @contextlib.contextmanager
    def landing(self, waits: Wait) -> Iterator[Landing]:
        """Gather paths that end inside the block."""
        made = Landing(waits, len(self._path))
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
                break
            if landing.waits is Wait.CALL and kind is not Exit.RAISE:
                break
        raise Ended

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
                merge(self.heap, escape.guard, escape.heap, current, join)
                value = join(escape.guard, escape.value, value)
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

    def check(
        self,
        rule: str,
        predicate: Bool,
        span: Span,
        text: str,
        message: str,
        *,
        given: tuple[Bool, ...] = (),
        values: tuple[tuple[str, Expr], ...] = (),
        facts: tuple[str, ...] = (),
        notes: tuple[tuple[Span, str], ...] = (),
        help: tuple[str, ...] = (),
        severity: str | None = None,
        exact: bool = True,
        reason: str = "",
    ) -> None:
        """Raise a check of the host rule ``rule`` (an id) at the current point."""
        self.checks.append(
            HostCheck(
                rule=rule,
                predicate=predicate,
                span=span,
                text=text,
                message=message,
                order=self.next_order(),
                path=self.path,
                given=(*(loop.within for loop in self._loops), *given),
                values=values,
                facts=facts,
                notes=notes,
                help=help,
                severity=severity,
                exact=exact,
                reason=reason,
            )
        )

    # -- going back --------------------------------------------------------------------

    def mark(self) -> Mark:
        """A point to go back to, with :meth:`back_to`."""
        t = self.trace
        lengths = (
            len(t.storages),
            len(t.operations),
            len(t.assumptions),
            len(t.ledger),
            len(t.unmodelled),
            len(self.checks),
        )
        landed = tuple(len(landing.escapes) for landing in self.landings)
        return Mark(
            self.heap.fork(),
            len(self._path),
            self.order,
            lengths,
            landed,
            dict(self._names),
            t.calls,
            t.dies,
        )

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
        for landing, length in zip(self.landings, mark.landed, strict=False):
            del landing.escapes[length:]
        self._names = dict(mark.names)
        t.calls, t.dies = mark.calls, mark.dies
        self._facts = None

    def loop_symbol(self, name: str) -> Sym:
        """A fresh loop index that is shown under the name the kernel uses."""
        count = self._names.get(name, 0)
        self._names[name] = count + 1
        shown = name if count == 0 else f"{name}'{count + 1}"
        atom = E.symbol(f"{shown}", 0, origin="loop").as_atom()
        assert isinstance(atom, Sym)
        return atom

    def step(self, span: Span) -> None:
        """Count a statement.

        Raises:
            AbortedRunError: a budget is used up.
        """
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise AbortedRunError("the kernel is too long to interpret", span)
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise AbortedRunError("the time for this kernel is used up", span)

    # -- text --------------------------------------------------------------------------

    def text(self, span: Span) -> str:
        """The source text of a span, on one line."""
        try:
            module = self.project.module(Path(span.path))
        except SourceError:
            return ""
        lines = module.lines[span.line - 1 : span.end_line]
        if not lines:
            return ""
        if len(lines) == 1:
            return lines[0][span.column : span.end_column]
        parts = [lines[0][span.column :], *lines[1:-1], lines[-1][: span.end_column]]
        return " ".join(part.strip() for part in parts)

    def parameter(self, name: str) -> Parameter | None:
        return self.inputs.parameters.get(name)


__all__ = ["MAX_STEPS", "Mapping", "State"]
