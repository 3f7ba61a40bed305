"""The state of one run: heap, path, loops, landings, and what has been traced so far."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from verifier.hardware.catalogue import Hardware
from verifier.source.ir import Span
from verifier.source.text import SourceError
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Details
from verifier.symbolic.expr import Bool, Expr, Sym
from verifier.symbolic.expr.settling import Settling, has_choice
from verifier.symbolic.generation import Generation
from verifier.symbolic.numbering import Numbering
from verifier.symbolic.python.flow import AbortedRunError, Frame, HostCheck, Landing, Mark
from verifier.symbolic.python.heap import Box, Heap, Many, Scope, StateBox
from verifier.symbolic.python.inputs import Inputs, Parameter
from verifier.symbolic.tensors import Loop, LoopKind, Storage
from verifier.symbolic.trace import (
    LATE,
    Assumption,
    AssumptionKind,
    LedgerEntry,
    LedgerKind,
    Round,
    Trace,
    Unmodelled,
)
from verifier.symbolic.values import Opaque, Ref
from verifier.symbolic.views.common import conjuncts, limited

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from verifier.source.project import Project


#: statements executed per run before it is given up
MAX_STEPS = 2_000_000

#: what a kernel demands of what its caller gives
IS_THERE: Final = "is there"
SUCCEEDS: Final = "does not fail"


class State(Numbering):
    """What a run is made of. Values and their operations are in the classes built on it."""

    def __init__(
        self,
        project: Project,
        hardware: Hardware,
        generation: Generation,
        trace: Trace,
        inputs: Inputs,
        decide: Callable[[tuple[Bool, ...], Bool], bool | None],
        deadline: float | None = None,
    ) -> None:
        super().__init__(hardware, generation)
        self.project = project
        self.trace = trace
        self.inputs = inputs
        self._decide = decide
        #: ``time.process_time()`` at which the run is given up; None: never
        self.deadline = deadline
        #: the statement that is being run
        self.at = trace.span
        #: where the loops began that may be run again, from other values
        self.unsettled: list[Mark] = []
        #: places of loops that have no closed form, see :class:`.trips.GenericLoop`
        self.foreseen: set[object] = set()
        #: loops of few trips go trip by trip, see :func:`.loops.is_short`
        self.exactly = False
        #: see :attr:`.entry.Request.at_any_size`
        self.at_any_size = False
        #: see :attr:`.entry.Request.at_most_unknown`
        self.at_most_unknown: int | None = None
        #: where loops stand in which only Python runs
        self.unrolled: set[Span] = set()
        self.base: dict[int, Box] = {}
        self.heap = Heap(self.base)
        #: what the device is switched to, as if the program held it itself
        self._modes = self.heap.new(StateBox(kind="the device"))
        self._path: list[Bool] = []
        #: each with the length of the path where it was entered
        self._loops: list[tuple[Loop, int]] = []
        #: the trips of loops that are gone trip by trip, outermost first
        self.rounds: tuple[Round, ...] = ()
        self.frames: list[Frame] = []
        self.landings: list[Landing] = []
        self.checks: list[HostCheck] = []
        self.steps = 0
        #: questions whose answers hang on the inputs
        self.questions = 0
        self._storages: dict[int, list[Storage]] = {}
        self._names: dict[str, int] = {}
        self._texts: dict[Span, str] = {}
        self._facts: tuple[tuple[int, ...], tuple[Bool, ...]] | None = None
        #: sides of undecided branches that are being run
        self.forking = 0
        #: what takes sides by the path, and which values have any
        self._settling: tuple[tuple[Bool, ...], Settling] | None = None
        self._choices: dict[Expr, bool] = {}
        #: objects that the caller gives, which may be one another or what a module holds
        self.given: set[int] = set()
        #: parameters whose assumed rank is why the branches that are being run are the ones
        self.leaning: list[Parameter] = []

    @property
    def loops(self) -> tuple[Loop, ...]:
        return tuple(loop for loop, _ in self._loops)

    @property
    def path(self) -> tuple[Bool, ...]:
        return tuple(self._path)

    # -- frames and boxes -------------------------------------------------------------

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

    def mode(self, name: str) -> object:
        """What the device was last switched to on this path; False: to nothing."""
        box = self.heap.get(self._modes.id)
        assert isinstance(box, StateBox)
        return box.fields.get(name, False)

    def switch(self, name: str, value: object) -> None:
        """Switch the device to something."""
        box = self.heap.write(self._modes.id)
        assert isinstance(box, StateBox)
        box.fields[name] = value

    def write(self, ref: Ref, span: Span) -> Box:
        """The box, to change it. A write to a copy of an object is lost: nothing after counts."""
        if self.heap.get(ref.id).ghost:
            self.unfollowed("an object that some iteration of a loop made is changed later", span)
        return self.heap.write(ref.id)

    # -- facts ------------------------------------------------------------------------

    def facts(self) -> tuple[Bool, ...]:
        """Everything known at the current point.

        What was learnt last stands last: most questions have the facts of one before, and some.
        """
        key = (
            len(self.trace.assumptions),
            *(id(p) for p in self._path),
            *(id(loop) for loop, _ in self._loops),
        )
        if self._facts is None or self._facts[0] != key:
            facts = [a.condition for a in self.trace.assumptions]
            if self.at_any_size:
                facts = [
                    fact for each in facts for fact in conjuncts(each) if not self._limits(fact)
                ]
            begin = 0
            for loop, end in self._loops:
                facts += (*self._path[begin:end], loop.within)
                begin = max(begin, end)
            facts += self._path[begin:]
            self._facts = (key, tuple(facts))
        return self._facts[1]

    def _limits(self, fact: Bool) -> bool:
        """Whether a fact makes a size of the inputs a number, or no more than one."""
        symbol = limited(fact)
        return symbol is not None and self.inputs.is_size(symbol)

    def decide(self, condition: Bool) -> bool | None:
        """Whether the path's facts settle a condition, by cheap means only."""
        if condition is E.TRUE:
            return True
        if condition is E.FALSE:
            return False
        self.in_time()
        self.questions += 1
        return self._decide(self.facts(), condition)

    def without_choices(self, value: Expr) -> Expr:
        """The value with the sides of its choices that the path has taken already."""
        if not self._path or not has_choice(value, self._choices):
            return value
        path = self.path
        if self._settling is None or self._settling[0] != path:
            self._settling = path, Settling(path)
        return self._settling[1].expr(value)

    def decided(self, facts: tuple[Bool, ...], condition: Bool) -> bool | None:
        """Whether other facts than the path's settle a condition."""
        self.questions += 1
        return self._decide(facts, condition)

    def assume(self, condition: Bool, text: str, span: Span, kind: AssumptionKind) -> None:
        """Add an assumption to the rest of the path."""
        everywhere = not self._path and not self._loops
        guard = E.and_(*self._path, *(loop.within for loop in self.loops))
        condition = E.implies(guard, condition)
        if condition is not E.TRUE:
            self.trace.assumptions.append(
                Assumption(condition, text, span, kind, self.next_order(), everywhere, guard)
            )

    def survive(self, condition: Bool, span: Span) -> None:
        """What follows on the path runs only where ``condition`` holds: else Python ends the run.

        It narrows no path: what such a run would have done is not missing, nobody comes to miss it.
        A condition on what is not known is left out, on which all that follows would hang.
        """
        if any(symbol.origin in E.OPEN for symbol in condition.free()):
            return
        guard = E.and_(*self._path, *(loop.within for loop in self.loops))
        condition = E.implies(guard, condition)
        kind, order = AssumptionKind.SURVIVED, self.next_order()
        self.trace.survived.append(Assumption(condition, "", span, kind, order, guard=guard))

    def check(
        self,
        rule: str,
        predicate: Bool,
        span: Span,
        text: str,
        message: str,
        *,
        compiled: bool = False,
        text_only: Callable[[Bool], bool] | None = None,
        **details: Unpack[Details],
    ) -> None:
        """Raise a check of the host rule ``rule`` (an id) at the current point.

        ``compiled``: of what stands there, however often loops on the device come to it.
        ``text_only``: of what stands there, whether a run comes to it or not, and whatever became
        of a run before: which conditions of the path a compiler decides itself.
        """
        loops = [loop for loop in self.loops if not compiled or loop.kind is not LoopKind.DYNAMIC]
        path = self.path
        if text_only is not None:
            loops, path = [], tuple(condition for condition in path if text_only(condition))
        details["given"] = (*(loop.within for loop in loops), *details.get("given", ()))
        check = Check(predicate, span, text, message, **details)
        order = self.next_order() if text_only is None else 0
        self.checks.append(HostCheck(rule, check, order, path, tuple(loops), compiled))

    # -- what is not known ------------------------------------------------------------

    def approximate(
        self, kind: LedgerKind, message: str, span: Span, symbols: Sequence[str] = ()
    ) -> None:
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
        self.approximate(LedgerKind.SKIPPED, reason, span)
        return Opaque(reason)

    def any_list(self, what: str, span: Span) -> Many:
        """The one run of a list of any length with anything in it."""
        self.approximate(LedgerKind.HAVOC, f"{what} is not followed", span)
        lost = Opaque(what, lost=True)
        return Many(E.fresh("length", 0), self.loop_symbol("item"), (lost,))

    def caller_gives(self, span: Span, demanded: str = SUCCEEDS) -> None:
        """The caller is to give what takes what is done with it: listed, and not checked."""
        self.approximate(LedgerKind.CALLER, f"`{self.text(span)}` {demanded}", span)

    def unmodelled(self, name: str, span: Span, lost: str = "") -> None:
        """Say that a device call has no model; the kernel cannot be called verified then.

        ``lost``: what of a call that has one is not followed.
        """
        known = any((call.name, call.span) == (name, span) for call in self.trace.unmodelled)
        if not known:
            self.trace.unmodelled.append(Unmodelled(name, span, lost))

    def unknown_int(self, reason: str, span: Span) -> Expr:
        """An integer that is not followed."""
        symbol = E.fresh("unknown")
        self.approximate(LedgerKind.OPAQUE, reason, span, [repr(symbol)])
        return symbol

    def unknown_bool(self, reason: str, span: Span, origin: E.Origin = E.Origin.HAVOC) -> Bool:
        """A truth value that is not followed."""
        symbol = E.fresh("unknown", 0, 1, origin)
        self.approximate(LedgerKind.OPAQUE, reason, span, [repr(symbol)])
        return E.eq(symbol, 1)

    # -- counting, naming, text -------------------------------------------------------

    def step(self, span: Span) -> None:
        """Count a statement.

        Raises:
            AbortedRunError: a budget is used up.
        """
        self.steps += 1
        self.at = span
        if self.steps > MAX_STEPS:
            raise AbortedRunError("the kernel is too long to interpret", span)
        if self.at_most_unknown is not None and self.trace.unknown > self.at_most_unknown:
            raise AbortedRunError("less is known of it than is asked for", span)
        self.in_time()

    def in_time(self) -> None:
        """Look at the clock.

        Raises:
            AbortedRunError: the time is over.
        """
        if self.deadline is not None and time.process_time() > self.deadline:
            raise AbortedRunError(LATE, self.at)

    def loop_symbol(self, name: str) -> Sym:
        """A fresh loop index that is shown under the name the kernel uses."""
        count = self._names.get(name, 0)
        self._names[name] = count + 1
        shown = name if count == 0 else f"{name}'{count + 1}"
        atom = E.symbol(f"{shown}", 0, origin=E.Origin.LOOP).as_atom()
        assert isinstance(atom, Sym)
        return atom

    def text(self, span: Span) -> str:
        """The source text of a span, on one line."""
        if span not in self._texts:
            self._texts[span] = self._text(span)
        return self._texts[span]

    def _text(self, span: Span) -> str:
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
