"""The machine that runs programs of the host: tests and scripts, up to the kernels they launch.

It is the machine of kernels with other answers to what is not known. A kernel is judged, so that
whatever is not followed counts; here only what reaches a launch does, and the rest is taken to do
nothing and to fail never.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn, TypeVar

from msgspec import Struct, field

from verifier.source import ir
from verifier.source.discovery import KernelEntry
from verifier.source.ir import Span
from verifier.source.project import Module
from verifier.suites.counting import lose
from verifier.suites.platforms import named_by
from verifier.suites.reaching import Reaching
from verifier.suites.values import Array
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Sym
from verifier.symbolic.python.flow import AbortedRunError, Ended, Fault, Frame
from verifier.symbolic.python.heap import UNBOUND
from verifier.symbolic.python.model import Function
from verifier.symbolic.python.terms import same
from verifier.symbolic.python.vm import VM
from verifier.symbolic.trace import AssumptionKind, LedgerKind
from verifier.symbolic.values import Guarded, Opaque, Ref

_T = TypeVar("_T")

#: how a comparison says that something is this, or that it is not
_POLARITY: Final = {"==": True, "is": True, "!=": False, "is not": False}
#: seconds for one program
SECONDS: Final = 5.0
#: seconds for the bodies of a file and of all that it imports
LOADING: Final = 40.0


class Launched(Struct, frozen=True):
    """A launch of a kernel: its arguments by parameter as values of the machine.

    ``grid`` None: it is not said. ``span`` is where it is launched. ``targets`` are those that are
    named with it, ``facts`` what is settled on the path to it.
    """

    function: Function
    grid: tuple[object, ...] | None
    arguments: Mapping[str, object]
    span: Span
    targets: frozenset[str] = frozenset()
    facts: tuple[Bool, ...] = ()


class Refused(Struct, frozen=True):
    """A launch whose arguments are not evident: why, and where."""

    reason: str
    span: Span
    function: Function | None = None


class Made(Struct, frozen=True):
    """How an object was made: the arguments, and its attributes right after."""

    args: tuple[object, ...]
    keywords: Mapping[str, object]
    attributes: Mapping[str, object]


class Found(Struct):
    """What a program launches."""

    launches: list[Launched | Refused] = field(default_factory=list)
    #: the errors that end it for certain
    failures: list[tuple[str, Span]] = field(default_factory=list)


def decide(facts: tuple[Bool, ...], condition: Bool) -> bool | None:
    """Whether a condition is among what the path has settled."""
    if condition in facts:
        return True
    return False if E.not_(condition) in facts else None


class SuiteVM(VM):
    """A run of programs of the host."""

    #: the kernels, by file and line of their ``def``
    kernels: Mapping[tuple[str, int], KernelEntry]
    #: functions for a device that their text does not call kernels: so they are where they are
    #: given to something together with arguments
    device: Reaching
    found: Found
    #: an empty scope, in which nothing runs
    top: int
    #: how objects were made, by the numbers of their boxes
    made: dict[int, Made]
    #: why conditions are not decided, by their symbols
    reasons: dict[str, str]
    #: the symbols that are 1 where something is one of some targets, with these
    asked: dict[Sym, frozenset[str]]

    def kernel_of(self, function: Function, *, given: bool = False) -> KernelEntry | None:
        """The kernel that a function is; ``given``: to something that is not of the project."""
        definition = function.definition
        if not isinstance(definition, ir.FunctionDef):
            return None
        span = definition.name_span
        place = (os.path.abspath(span.path), span.line)  # noqa: PTH100
        known = self.kernels.get(place)
        if known is not None or not given or function.name != function.qualname:
            return known
        return self.device.entry(function.module, function.name, span)

    @contextlib.contextmanager
    def aside(self, module: Module, seconds: float = SECONDS) -> Iterator[None]:
        """Run a program of a module, of which nothing is left afterwards but what it found."""
        held = (self.heap, self.frames, self.landings, self.depth, self.forking, self.importing)
        path, loops = list(self._path), list(self._loops)
        self.heap = self.heap.fork()
        self.frames, self.landings, self.depth, self.forking = list(self.frames), [], 0, 0
        self.frames.append(Frame(module, self.top, 0))
        self._path.clear()
        self._loops.clear()
        self.found.failures.clear()
        self.steps = 0
        self.deadline = time.process_time() + seconds
        try:
            yield
        finally:
            self.heap, self.frames, self.landings, self.depth = held[:4]
            self.forking, self.importing = held[4:]
            self._path[:], self._loops[:] = path, loops
            self.handled.clear()
            self.unsettled.clear()

    def made_before(self, action: Callable[[], object]) -> object:
        """A decorator that takes too long is not known: the rest of its file keeps its time."""
        mark, end, held = self.mark(), self.deadline, (self.depth, self.forking)
        self.deadline = time.process_time() + SECONDS
        if end is not None:
            self.deadline = min(self.deadline, end)
        try:
            return action()
        except AbortedRunError as error:
            if end is not None and time.process_time() > end:
                raise
            self.back_to(mark)
            self.depth, self.forking = held
            return Opaque(error.reason)
        finally:
            self.deadline = end

    def done(self) -> int:
        """What it has launched: a program of the host is run for nothing else."""
        return len(self.found.launches)

    # -- launches ------------------------------------------------------------------------

    def fork(self, test: Bool, then: Callable[[], _T], other: Callable[[], _T]) -> _T:
        """Go both ways; what a way launches that fails for certain is not counted."""
        return super().fork(test, self._counted(then), self._counted(other))

    def _counted(self, action: Callable[[], _T]) -> Callable[[], _T]:
        def run() -> _T:
            launches, failures = len(self.found.launches), len(self.found.failures)
            try:
                return action()
            except Ended:
                if len(self.found.failures) > failures:
                    del self.found.launches[launches:]
                raise

        return run

    def joined(self, test: Bool, then: object, other: object) -> object:
        """What differs on two paths is not known: which way it goes is not."""
        if test in (E.TRUE, E.FALSE) or UNBOUND in (then, other):
            return super().joined(test, then, other)
        if isinstance(then, Guarded) or isinstance(other, Guarded):
            return super().joined(test, then, other)
        if isinstance(then, tuple) and isinstance(other, tuple) and len(then) == len(other):
            return tuple(self.joined(test, a, b) for a, b in zip(then, other, strict=True))
        if same(then, other):
            return then
        if isinstance(then, Array) and isinstance(other, Array) and then.alike == other.alike:
            return then.alike
        return Opaque(self.because(test))

    def inplace(self, op: str, left: object, right: object, span: Span) -> object:
        """``left op= right``: an array has other elements then, under all of its names."""
        found = super().inplace(op, left, right, span)
        lose(self, left, span)
        return found

    def because(self, value: Bool | Expr) -> str:
        """Why a condition is not decided, or an integer not known."""
        named = (self.reasons.get(repr(atom)) for atom in sorted(value.free(), key=repr))
        reasons = list(dict.fromkeys(reason for reason in named if reason))
        return f"it depends on {reasons[0]}" if reasons else "it depends on what is not known"

    def unknown_int(self, reason: str, span: Span) -> Expr:
        """An integer that is not known."""
        symbol = E.fresh("unknown")
        self.reasons[repr(symbol.as_atom())] = reason
        return symbol

    def unknown_bool(self, reason: str, span: Span, origin: E.Origin = E.Origin.HAVOC) -> Bool:
        """A truth value that is not known."""
        symbol = E.fresh("unknown", 0, 1)
        self.reasons[repr(symbol.as_atom())] = reason
        return E.eq(symbol, 1)

    def compare(self, op: str, left: object, right: object, span: Span) -> object:
        """One comparison; whether something unknown is a target, its launches are told by."""
        unknown, other = (left, right) if isinstance(left, Opaque) else (right, left)
        if op in _POLARITY and isinstance(unknown, Opaque) and isinstance(other, (str, Ref)):
            names = named_by(self, other, span)
            if names:
                found = self.unknown_bool(f"a condition depends on {unknown.reason}", span)
                self.asked.update(dict.fromkeys(found.free(), names))
                return found if _POLARITY[op] else E.not_(found)
        return super().compare(op, left, right, span)

    # -- what is not known -----------------------------------------------------------------

    def approximate(
        self, kind: LedgerKind, message: str, span: Span, symbols: Sequence[str] = ()
    ) -> None:
        """Nothing is judged."""

    def unfollowed(self, reason: str, span: Span) -> Opaque:
        """What has no model gives something unknown, and does nothing else."""
        return Opaque(reason)

    def unmodelled(self, name: str, span: Span, lost: str = "") -> None:
        """Nothing is judged."""

    def caller_gives(self, span: Span, demanded: str = "") -> None:
        """Nothing is judged."""

    def assume(self, condition: Bool, text: str, span: Span, kind: AssumptionKind) -> None:
        """An assertion that fails for certain ends a program."""
        if condition is E.FALSE or self.decide(condition) is False:
            self.failed(text, self.at)

    def check(self, *args: Any, **keywords: Any) -> None:
        """Nothing is judged."""

    def may_raise(self, what: str, span: Span) -> None:
        """What is not known is taken not to fail."""

    def reported(self, fault: Fault, when: Bool = E.TRUE) -> None:
        """An error that nothing catches ends a program if it is certain."""
        if when is E.TRUE or self.decide(when) is True:
            self.failed(fault.message, fault.span)

    def failed(self, message: str, span: Span) -> NoReturn:
        """The program ends here."""
        self.found.failures.append((message, span))
        raise Ended


__all__ = ["Found", "Launched", "Refused", "SuiteVM", "decide"]
