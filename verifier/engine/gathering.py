"""What became of obligations, and which violations are one finding."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from verifier.engine.obligations import Obligation
from verifier.solver.query import Query, Tier
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Cause, Subject
from verifier.symbolic.expr import Bool
from verifier.symbolic.trace import LATE


class VerdictKind(Enum):
    """Whether an obligation holds; its violation is for all inputs that come by, or for some."""

    PROVED = "proved"
    ALWAYS = "always"
    SOMETIMES = "sometimes"
    #: violated, and reported with another one
    GATHERED = "gathered"
    UNKNOWN = "unknown"

    @property
    def violated(self) -> bool:
        """Whether it is reported as a violation."""
        return self in (VerdictKind.ALWAYS, VerdictKind.SOMETIMES)


class Verdict(Struct, frozen=True):
    """What became of one obligation.

    ``said`` tells whether the kernel or its contract means to exclude the counterexample, or it is
    about the text, or fails whenever it is reached.
    ``precondition`` is a condition on the inputs that excludes the violation; ``exact``: where it
    does not hold, the obligation is broken.
    """

    obligation: Obligation
    kind: VerdictKind
    tier: Tier
    model: Mapping[str, int | bool] | None = None
    said: bool = False
    precondition: Bool | None = None
    exact: bool = False
    reason: str = ""
    query: Query | None = None
    needed: frozenset[str] = frozenset()
    #: other places of the kernel where the same inputs break the same rule, or nothing can help
    others: tuple[Span, ...] = ()

    @property
    def cap(self) -> str:
        """The gravest that it may be."""
        return self.obligation.cap

    @property
    def late(self) -> bool:
        """Whether there was no time for it."""
        return self.reason == LATE

    @property
    def noted(self) -> bool:
        """A remark on what the generation tolerates, on the text or on its cost: no violation."""
        remark = self.obligation.rule.remark and self.cap != "error"
        return self.kind.violated and (self.cap == "note" or remark)

    @property
    def silent(self) -> bool:
        """Whether it goes wrong without anybody being told; of a launch the caller is sure."""
        condition = self.precondition
        launch = condition is not None and any(s.origin is E.Origin.GRID for s in condition.free())
        return self.obligation.rule.silent and not launch


def told(verdict: Verdict) -> Verdict:
    """The verdict on a predicate of several things, told by the one that its counterexample
    breaks."""
    check, model = verdict.obligation.check, verdict.model
    for each in check.told:
        try:
            broken = model is not None and not E.evaluate(each.predicate, model)
        except E.EvaluationError:
            continue
        if broken:
            shown = replace(each, predicate=check.predicate, given=check.given, path=check.path)
            return replace(verdict, obligation=replace(verdict.obligation, check=shown))
    return verdict


def gathered(verdicts: list[Verdict]) -> list[Verdict]:
    """One verdict for all violations of a gathering rule that hang on the same inputs.

    Each was refuted although the precondition of the one before was granted: the last is the
    tightest.
    """
    groups: dict[tuple[str, str, frozenset[str]], list[int]] = {}
    for position, verdict in enumerate(verdicts):
        if verdict.kind is VerdictKind.SOMETIMES and verdict.obligation.rule.gather:
            sizes = frozenset(n for n in verdict.needed if not n.endswith(".dtype"))
            groups.setdefault((verdict.obligation.rule.id, verdict.cap, sizes), []).append(position)
    out = list(verdicts)
    for positions in groups.values():
        *earlier, last = positions
        spans = tuple(verdicts[p].obligation.check.span for p in earlier)
        kept = verdicts[last]
        out[last] = replace(kept, others=tuple(dict.fromkeys(spans)))
        for position in earlier:
            out[position] = replace(
                verdicts[position], kind=VerdictKind.GATHERED, model=None, query=None
            )
    return _without_echoes(_by_their_cause(_without_followers(_said_once(out))))


def _by_their_cause(verdicts: list[Verdict]) -> list[Verdict]:
    """The verdicts without what comes of a part that a tensor is left without for all inputs, and
    that another one tells nearer to its cause."""
    nearest: dict[Subject, Cause] = {}
    for verdict in verdicts:
        left = verdict.obligation.check.left_out
        if left is not None and verdict.kind is VerdictKind.ALWAYS:
            nearest[left.of] = min(left.by, nearest.get(left.of, left.by))

    def follows(verdict: Verdict) -> bool:
        left = verdict.obligation.check.left_out
        return left is not None and left.by > nearest.get(left.of, left.by)

    return [
        replace(v, kind=VerdictKind.GATHERED, model=None, query=None, precondition=None)
        if v.kind.violated and follows(v)
        else v
        for v in verdicts
    ]


def _without_echoes(verdicts: list[Verdict]) -> list[Verdict]:
    """The verdicts without what goes wrong for some inputs where the same does for all: it comes of
    one fault, and a condition against it would be one on what is wrong anyhow."""

    def matter(verdict: Verdict) -> tuple[str, Span, str]:
        check, rule = verdict.obligation.check, verdict.obligation.rule
        return rule.id, check.span, check.text

    always = {
        matter(v)
        for v in verdicts
        if v.kind is VerdictKind.ALWAYS and v.obligation.rule.silent and not v.noted
    }
    return [
        replace(v, kind=VerdictKind.GATHERED, model=None, query=None, precondition=None)
        if v.kind is VerdictKind.SOMETIMES and matter(v) in always
        else v
        for v in verdicts
    ]


def _without_followers(verdicts: list[Verdict]) -> list[Verdict]:
    """The verdicts without what comes of an operand that no input gets past.

    What would have been written there is not known before it is mended.
    """
    fatal = [
        v.obligation.check.span
        for v in verdicts
        if v.kind is VerdictKind.ALWAYS and v.cap == "error" and not v.obligation.rule.silent
    ]
    return [
        replace(v, kind=VerdictKind.GATHERED, model=None, query=None)
        if v.kind.violated and any(s.holds(f) for s in v.obligation.check.follows for f in fatal)
        else v
        for v in verdicts
    ]


def _said_once(verdicts: list[Verdict]) -> list[Verdict]:
    """One verdict, at the first place, for all places that ask for one thing that is not there."""
    groups: dict[tuple[str, str], list[int]] = {}
    for position, verdict in enumerate(verdicts):
        check, rule = verdict.obligation.check, verdict.obligation.rule
        if verdict.kind is VerdictKind.ALWAYS and rule.once and check.predicate is E.FALSE:
            groups.setdefault((rule.id, check.message), []).append(position)
    out = list(verdicts)
    for positions in groups.values():
        first, *others = positions
        spans = dict.fromkeys(verdicts[p].obligation.check.span for p in others)
        spans.pop(verdicts[first].obligation.check.span, None)
        out[first] = replace(verdicts[first], others=tuple(spans))
        for position in others:
            out[position] = replace(
                verdicts[position], kind=VerdictKind.GATHERED, model=None, query=None
            )
    return out
