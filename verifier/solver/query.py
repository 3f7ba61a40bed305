"""Questions to the solver and its answers."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from msgspec import Struct

from verifier.symbolic.expr import Bool

#: A value for every symbol and flag, by name.
Model = Mapping[str, "int | bool"]


class Query(Struct, frozen=True):
    """Does ``goal`` hold wherever all ``facts`` do, for all integers within the symbols' bounds?

    Terms are interned, so equal queries are equal. ``exact`` False: the goal is stronger than what
    is really demanded, so it may be proved but never refuted; ``reason`` says why. ``way``: the
    facts among them that say when the goal is demanded at all. Where those hang on values that are
    not known, a refutation does, whatever the goal is about.
    """

    facts: tuple[Bool, ...]
    goal: Bool
    exact: bool = True
    reason: str = ""
    way: tuple[Bool, ...] = ()


class AnswerKind(Enum):
    """What the solver found out of a question."""

    PROVED = "proved"
    #: there is a counterexample, and it was checked
    REFUTED = "refuted"
    OUT_OF_BUDGET = "out-of-budget"
    #: with a reason
    UNKNOWN = "unknown"


class Z3Kind(Enum):
    """What Z3 says of facts."""

    SAT = "sat"
    UNSAT = "unsat"
    BUDGET = "budget"
    UNKNOWN = "unknown"


class Tier(Enum):
    """Which means settled a question."""

    FOLD = "fold"
    RANGE = "range"
    Z3 = "z3"
    SEARCH = "search"


class Answer(Struct, frozen=True):
    """What the solver found out: ``model`` refutes, ``reason`` says why it is not known.

    ``time`` is in seconds and takes no part in comparisons of results.
    """

    kind: AnswerKind
    tier: Tier
    model: Model | None = None
    reason: str = ""
    time: float = 0.0
    #: the over-approximated symbols that an ``unknown`` hangs on
    unknown: tuple[str, ...] = ()

    @property
    def proved(self) -> bool:
        return self.kind is AnswerKind.PROVED

    @property
    def refuted(self) -> bool:
        return self.kind is AnswerKind.REFUTED
