"""Questions to the solver and its answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from verifier.symbolic.expr import Bool

#: A value for every symbol and flag, by name.
Model = Mapping[str, "int | bool"]


@dataclass(frozen=True, slots=True)
class Query:
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


@dataclass(frozen=True, slots=True)
class Answer:
    """What the solver found out.

    ``kind``: ``proved``, ``refuted`` (``model`` is a checked counterexample), ``out-of-budget``, or
    ``unknown`` with a ``reason``. ``tier``: which means settled it: ``fold``, ``range``, ``z3`` or
    ``search``. ``time`` is in seconds and takes no part in comparisons of results.
    """

    kind: str
    tier: str
    model: Model | None = None
    reason: str = ""
    time: float = 0.0
    #: the over-approximated symbols that an ``unknown`` hangs on
    unknown: tuple[str, ...] = ()

    @property
    def proved(self) -> bool:
        return self.kind == "proved"

    @property
    def refuted(self) -> bool:
        return self.kind == "refuted"
