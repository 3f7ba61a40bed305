"""What follows from a rank that was assumed, and what is done where it does not fit.

A demand that only the assumed rank refutes says nothing about the kernel: from the assumption on,
nothing is proved and nothing blamed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from verifier.source.ir import Span
from verifier.symbolic.expr import Bool
from verifier.symbolic.python.inputs import Parameter
from verifier.symbolic.trace import LedgerEntry, LedgerKind

if TYPE_CHECKING:
    from verifier.symbolic.python.state import State


def behind(state: State, condition: Bool) -> Parameter | None:
    """The parameter whose assumed rank alone settles a condition that the facts settle."""
    if not state.inputs.guessed:
        return None
    free = set(condition.free())
    for p in state.inputs.guessed:
        if not free.isdisjoint(state.inputs.rank_symbol(p).free()):
            if state.decided(_without(state, p), condition) is None:
                return p
    return None


def refuted(state: State, demand: Bool, span: Span) -> None:
    """The path excludes a demand: nothing is decided if an assumed rank is why."""
    p = behind(state, demand)
    if p is not None:
        doubt(state, p, span)


def failed(state: State, span: Span) -> None:
    """The kernel gives up here: nothing is decided if an assumed rank is why it got here."""
    if state.leaning:
        doubt(state, state.leaning[-1], span)


def doubt(state: State, p: Parameter, span: Span) -> None:
    """The rank that was assumed does not fit."""
    guess = p.guesses[0]
    reason = f"it is assumed that {p.name} has rank {guess.rank}, which does not fit here"
    entry = LedgerEntry(LedgerKind.SKIPPED, reason, span, (), guess.order)
    if entry not in state.trace.ledger:
        state.trace.ledger.append(entry)


def _without(state: State, p: Parameter) -> tuple[Bool, ...]:
    """The facts without what was assumed of a parameter's rank."""
    assumed = {(guess.order, id(guess.condition)) for guess in p.guesses}
    assumptions = state.trace.assumptions
    kept = [a.condition for a in assumptions if (a.order, id(a.condition)) not in assumed]
    return (*kept, *state.facts()[len(assumptions) :])
