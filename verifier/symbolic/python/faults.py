"""Errors of Python's own: an escape if something may catch it, a finding if nothing does."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final, NoReturn

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Note
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.python.flow import Ended, Escape, Exit, Fault
from verifier.symbolic.python.heap import ObjectBox
from verifier.symbolic.python.model import HostType
from verifier.symbolic.python.paths import Paths
from verifier.symbolic.trace import AssumptionKind, LedgerKind
from verifier.symbolic.values import Missing, Opaque, OpaqueOf, Ref

#: the rule that reports an error of Python's own, by the error's type (nearest base class)
RULES: dict[type[BaseException], str] = {
    TypeError: "wrong-type",
    AttributeError: "no-attribute",
    NameError: "unbound-name",
    IndexError: "list-index",
    KeyError: "missing-key",
    ZeroDivisionError: "division-by-zero",
    ValueError: "wrong-value",
    BaseException: "uncaught-exception",
}

#: ways out of one ``try`` that are told apart where libraries may raise
MAX_FOREIGN: Final = 6


def meant(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """The name that was probably meant, as a line of help."""
    close = difflib.get_close_matches(name, sorted(known), 1, 0.6)
    return (f"did you mean `{close[0]}`?",) if close else ()


class Faults(Paths):
    """The state in which Python raises its own errors."""

    def fault(
        self,
        error: type[BaseException],
        message: str,
        span: Span,
        *,
        when: Bool = E.TRUE,
        rule: str = "",
        text: str = "",
        values: tuple[tuple[str, Expr], ...] = (),
        help: tuple[str, ...] = (),
        assertion: str = "",
        args: tuple[object, ...] | None = None,
    ) -> None:
        """CPython raises ``error`` here if ``when`` holds; what follows runs if it does not.

        Raises:
            Ended: it always does.
        """
        if when is E.FALSE or self.decide(when) is False:
            return
        if not rule:
            rule = next(RULES[cls] for cls in error.__mro__ if cls in RULES)
        fault = Fault(error, message, span, rule, text or message, values, help, assertion)
        if not self.catching:
            self.reported(fault, when)
            return
        # the words of a finding are not CPython's
        said = (OpaqueOf("the message of an error", harmless=True, host=str),)
        exception = self.exception(error, said if args is None else args)
        self.raised(exception, fault, when)

    def absent(
        self,
        error: type[BaseException],
        message: str,
        span: Span,
        name: str,
        known: Iterable[str] = (),
        *,
        text: str = "",
        api: bool = False,
    ) -> Missing:
        """A name that is not there: a finding, and the run goes on with what may be anything.

        ``known``: the names that are there, of which the nearest is proposed. ``api``: a kernel
        API was to have it. Where something catches ``error``, it goes there as CPython does.

        Raises:
            Ended: the error is caught.
        """
        help = meant(name.rpartition(".")[2], known)
        if self.catching:
            said = (message,) if issubclass(error, ImportError) else None
            self.fault(error, message, span, text=text, help=help, args=said)
        rule = next(RULES[cls] for cls in error.__mro__ if cls in RULES)
        self._blamed(Fault(error, message, span, rule, text or message, (), help), E.TRUE)
        return Missing(f"`{name}`, which does not exist", api=api)

    def raised(self, exception: object, fault: Fault, when: Bool = E.TRUE) -> None:
        """An exception is raised if ``when`` holds, and something may catch it."""
        certain = when is E.TRUE or self.decide(when) is True

        def leave() -> None:
            self.leave(Exit.RAISE, exception, fault.span, fault)

        if certain:
            leave()
        self.fork(when, leave, lambda: None)

    def may_raise(self, what: str, span: Span) -> None:
        """Something outside the project may raise anything, which matters where it is caught."""
        if not any(landing.catches for landing in self.landings):
            return
        landing = next(one for one in reversed(self.landings) if one.takes(Exit.RAISE))
        known = sum(1 for e in landing.escapes if e.fault is not None and e.fault.foreign)
        if known >= MAX_FOREIGN:
            self.approximate(LedgerKind.SKIPPED, "which of many calls raises is not followed", span)
            return
        fault = Fault(BaseException, f"{what} raises", span, "uncaught-exception", "", foreign=True)
        raises = self.unknown_bool(f"whether {what} raises an exception", span)
        self.raised(Opaque(f"what {what} raises"), fault, raises)

    def uncaught(self, escape: Escape) -> NoReturn:
        """An exception that nothing caught, where it would have been; the path is its path."""
        self.leave(Exit.RAISE, escape.value, escape.span, escape.fault)

    def reported(self, fault: Fault, when: Bool = E.TRUE) -> None:
        """An exception that nothing catches is raised if ``when`` holds.

        Raises:
            Ended: it always is.
        """
        if fault.foreign:
            pass
        elif fault.demand:
            self.assume(E.not_(when), fault.text, fault.span, AssumptionKind.ASSERT)
        else:
            self._blamed(fault, when)
            self.survive(E.not_(when), fault.span)
        if when is E.TRUE or self.decide(when) is True:
            if fault.demand or fault.foreign:
                raise Ended
            self.dies()

    def _blamed(self, fault: Fault, when: Bool) -> None:
        """The check that an exception is not raised."""
        self.check(
            fault.rule,
            E.not_(when),
            fault.span,
            fault.text,
            fault.message,
            values=fault.values,
            help=fault.help,
            assertion=fault.assertion,
            facts=fault.facts,
            notes=(*fault.notes, *self.call_notes(fault.span)),
        )

    def exception(self, error: type[BaseException], args: tuple[object, ...]) -> Ref:
        """An instance of a built-in exception type."""
        return self.heap.new(ObjectBox(HostType(error), {"args": args}))

    def call_notes(self, span: Span) -> tuple[Note, ...]:
        """Where the running functions were called, if the place is inside one of them."""
        notes = []
        for frame in reversed(self.frames):
            if frame.called is not None and frame.function is not None and frame.called != span:
                told = f"in the call of `{frame.function.qualname}` here"
                notes.append(Note(frame.called, told))
        return tuple(notes[:4])
