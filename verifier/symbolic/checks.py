"""A check: what must hold somewhere in a kernel, and what is said if it does not."""

from __future__ import annotations

from enum import IntEnum
from typing import TypedDict

from msgspec import Struct

from verifier.source.ir import Span
from verifier.symbolic.expr import FALSE, TRUE, Bool, Expr


class Note(Struct, frozen=True):
    """A secondary place and what to say about it, e.g. where the tile was allocated."""

    span: Span
    text: str


class Subject(Struct, frozen=True):
    """The tensor that a check is about, and the dimension of it; None: it is about all of it.

    ``given``: the parameter that it is; else ``made`` says where.
    """

    given: str = ""
    made: Span | None = None
    dimension: int | None = None


class Cause(IntEnum):
    """What a part of a tensor is left out by, the nearest to the fault first.

    Each round of a loop that leaves a part of its own step out leaves out the end of the last one,
    and one that drops the rest of a dimension does not come to its last index.
    """

    EACH_ROUND = 0
    ROUNDING = 1
    ENDS = 2
    #: no more is known than which rounds there are
    ROUNDS = 3


class LeftOut(Struct, frozen=True):
    """That a part of a dimension of a tensor is left out.

    One fault leaves out one part, whichever rules see it: of those that always do, the nearest to
    its cause is told.
    """

    of: Subject
    by: Cause


class Check(Struct, frozen=True):
    """One instance of a rule: ``predicate`` must hold wherever ``given`` and the path do.

    ``text`` states the predicate in the rule's own terms with the kernel's names (``"moving free
    size <= 512"``); ``message`` is the headline. ``values`` are shown with their numbers under a
    counterexample. ``exact`` False: the predicate is stronger than what the hardware demands (an
    approximation), so it can be proved but not refuted; ``reason`` says why. ``path`` and
    ``order`` default to those of the operation or storage that is checked.
    """

    predicate: Bool
    span: Span
    text: str
    message: str
    facts: tuple[str, ...] = ()
    given: tuple[Bool, ...] = ()
    values: tuple[tuple[str, Expr], ...] = ()
    notes: tuple[Note, ...] = ()
    help: tuple[str, ...] = ()
    #: the condition that, asserted by the kernel, excludes what breaks it
    assertion: str = ""
    severity: str | None = None
    exact: bool = True
    reason: str = ""
    #: what is demanded for certain where the predicate is stronger than that
    required: Bool = TRUE
    #: one of the alternatives of a predicate, which may be proved where they cannot be together
    enough: Bool = FALSE
    #: what is assumed of what only the device knows if the predicate can be neither proved nor
    #: refuted: it is stated instead
    runtime: str = ""
    path: tuple[Bool, ...] | None = None
    order: int | None = None
    #: where the predicate is of several things: a check of each; a violation is told by the first
    #: that the counterexample breaks
    told: tuple[Check, ...] = ()
    #: where the operands stand that it is a matter of: what always fails there fails first
    follows: tuple[Span, ...] = ()
    #: what a run and the replay know it again by
    subject: Subject | None = None
    #: the part of a tensor that its violation leaves out
    left_out: LeftOut | None = None


class Details(TypedDict, total=False):
    """What may be said of a check besides what it is about: see :class:`Check`."""

    facts: tuple[str, ...]
    given: tuple[Bool, ...]
    values: tuple[tuple[str, Expr], ...]
    notes: tuple[Note, ...]
    help: tuple[str, ...]
    assertion: str
    severity: str | None
    exact: bool
    reason: str
