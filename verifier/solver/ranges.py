"""The cheap tier: proofs by bounds and by eliminating one symbol after another.

To prove ``p <= 0`` the prover takes a symbol of ``p`` whose coefficient has a known sign and puts
in its place the bound (a fact) that makes ``p`` largest; if what remains is at most zero, so is
``p``. With the lemmas of division, minimum and maximum as facts, this settles most questions about
tiles. It answers "proved" or "don't know", and is deterministic: a step count is its budget.
"""

from __future__ import annotations

from msgspec import Struct

from verifier.solver import polynomial as P
from verifier.solver.frames import Frame, Limit
from verifier.solver.polynomial import UNIT, Mono, Poly
from verifier.solver.prepare import Preparation, Prepared, determines, flatten
from verifier.symbolic import expr as E
from verifier.symbolic.expr import FALSE, TRUE, Atom, Bool, Expr

_STEPS = 90
_DEPTH = 9
#: fact sets whose extended frames are kept: megabytes each
_LATEST = 2


class _ExhaustedError(Exception):
    """The step budget is spent."""


class Prover:
    """Bounded proof search over one frame."""

    def __init__(self, steps: int = _STEPS) -> None:
        self._steps = steps

    def prove(self, frame: Frame, goal: Bool) -> bool:
        """Whether the facts of ``frame`` imply ``goal``; False: don't know."""
        try:
            return self._prove(frame, goal, 2)
        except _ExhaustedError:
            return False

    # -- formulas --------------------------------------------------------------------

    def _prove(self, frame: Frame, goal: Bool, splits: int) -> bool:
        if goal is TRUE or frame.contradictory or id(goal) in frame.known:
            return True
        if goal is FALSE:
            return self._split_facts(frame, goal, splits)
        if goal.kind is E.BoolKind.AND:
            return all(self._prove(frame, arg, splits) for arg in goal.args)
        if self._by_domain(frame, goal):
            return True
        if goal.kind is E.BoolKind.OR:
            for position, arg in enumerate(goal.args):
                others = [E.not_(a) for i, a in enumerate(goal.args) if i != position]
                inner = self._extend(frame, *others)
                if inner.contradictory or self._prove(inner, arg, 0):
                    return True
        elif goal.expr is not None:
            if self._prove_comparison(frame.with_atoms(goal.expr), goal, splits):
                return True
        return self._split_facts(frame, goal, splits)

    def _prove_comparison(self, frame: Frame, goal: Bool, splits: int) -> bool:
        assert goal.expr is not None
        poly = P.from_expr(goal.expr)
        if goal.kind is E.BoolKind.LE:
            return self._at_most_zero(frame, poly)
        negative = {mono: -coef for mono, coef in poly.items()}
        if goal.kind is E.BoolKind.EQ:
            return all(self._at_most_zero(frame, side) for side in (poly, negative))
        one: Poly = {UNIT: 1}
        return any(
            self._at_most_zero(frame, side)
            for side in (P.add_scaled(poly, one, 1), P.add_scaled(negative, one, 1))
        )

    def _by_domain(self, frame: Frame, goal: Bool) -> bool:
        """A goal about one symbol of few values: try them all."""
        free = goal.free()
        if len(free) != 1 or goal.variables():
            return False
        allowed = frame.admitted(free[0])
        if allowed is None:
            return False
        self._spend(1 + len(allowed) // 8)
        try:
            return all(E.evaluate(goal, {free[0].name: value}) for value in allowed)
        except E.EvaluationError:
            return False

    def _split_facts(self, frame: Frame, goal: Bool, splits: int) -> bool:
        """Case distinction over facts that are disjunctions or inequalities."""
        if splits <= 0:
            return False
        related = set(map(_atom_key, goal.free()))
        for position, fact in enumerate(frame.splits):
            if related and related.isdisjoint(map(_atom_key, fact.free())) and not fact.variables():
                continue
            if fact.kind is E.BoolKind.NE:
                assert fact.expr is not None
                cases: tuple[Bool, ...] = (E.lt(fact.expr, 0), E.gt(fact.expr, 0))
            else:
                cases = fact.args
            if len(cases) > 8:
                continue
            self._spend(2)
            inner = (self._extend(frame, case, split=position) for case in cases)
            if all(one.contradictory or self._prove(one, goal, splits - 1) for one in inner):
                return True
        return False

    def _extend(self, frame: Frame, *facts: Bool, split: int | None = None) -> Frame:
        self._spend(1)
        return frame.with_facts(facts, split)

    # -- comparisons -----------------------------------------------------------------

    def _spend(self, amount: int) -> None:
        self._steps -= amount
        if self._steps < 0:
            raise _ExhaustedError

    def _quick(self, frame: Frame, poly: Poly) -> bool:
        """By bounds, or as the consequence of one fact."""
        _, hi = frame.interval(poly)
        if hi is not None and hi <= 0:
            return True
        tried: dict[int, None] = {}
        for atom in P.atoms(poly):
            for fact in frame.index.get(atom, ()):
                if id(fact) in tried:
                    continue
                tried[id(fact)] = None
                _, hi = frame.interval(P.add_scaled(poly, fact, -1))
                if hi is not None and hi <= 0:
                    return True
        return False

    def _at_most_zero(self, frame: Frame, poly: Poly) -> bool:
        """Short proofs first, whatever symbol they start with."""
        if self._quick(frame, poly):
            return True
        failed: _Failed = {}
        goal = _Goal(frame, poly)
        return any(self._prove_le(frame, goal, depth, failed) for depth in (2, 4, _DEPTH))

    def _prove_le(self, frame: Frame, goal: _Goal, depth: int, failed: _Failed) -> bool:
        self._spend(1)
        if goal.holds:
            return True
        if depth == 0 or goal.constant:
            return False
        if failed.get(goal.key, -1) >= depth:
            return False
        failed[goal.key] = depth
        productive = 0
        for atom in goal.atoms:
            alternatives = goal.without(atom)
            adverse = False
            for sides in alternatives:
                if all(self._prove_le(frame, s.goal(), depth - 1, failed) for s in sides):
                    return True
            if isinstance(atom, E.Extremum | E.Ite):
                adverse = True
                if self._by_cases(frame, atom, goal.poly, depth):
                    return True
            if alternatives or adverse:
                productive += 1
                if productive >= (3 if depth in (2, 4, _DEPTH) else 2):
                    break
        return False

    def _by_cases(
        self,
        frame: Frame,
        atom: E.Extremum | E.Ite,
        poly: Poly,
        depth: int,
    ) -> bool:
        """``poly <= 0`` in every case of a minimum, maximum or conditional."""
        cases: list[tuple[Expr, list[Bool]]]
        if isinstance(atom, E.Ite):
            cases = [(atom.then, [atom.test]), (atom.other, [E.not_(atom.test)])]
        else:
            less = E.le if atom.kind == "min" else E.ge
            cases = [
                (arg, [less(arg, other) for other in atom.args if other is not arg])
                for arg in atom.args
            ]
        for value, facts in cases:
            inner = self._extend(frame, *facts)
            if inner.contradictory:
                continue
            total = P.put(poly, atom, P.from_expr(value))
            if self._quick(inner, total):
                continue
            if not self._prove_le(inner, _Goal(inner, total), depth - 1, {}):
                return False
        return True


#: to what depth a proof of a polynomial has been looked for in vain, all in one frame
_Failed = dict[frozenset[tuple[Mono, int]], int]


class _Goal:
    """A polynomial that is to be at most zero in one frame, and what that follows from.

    A deeper search uses what a shorter one has worked out.
    """

    __slots__ = ("_found", "_frame", "atoms", "constant", "holds", "key", "poly")

    def __init__(self, frame: Frame, poly: Poly) -> None:
        self.poly = poly = P.tighten(poly)
        _, hi = frame.interval(poly)
        self.holds = hi is not None and hi <= 0
        self.constant = len(poly) == 1 and UNIT in poly
        self.key = frozenset(poly.items())
        self.atoms = P.atoms(poly)
        self._frame = frame
        self._found: dict[Atom, list[tuple[_Side, ...]]] = {}

    def without(self, atom: Atom) -> list[tuple[_Side, ...]]:
        """As :func:`worst_cases`."""
        found = self._found.get(atom)
        if found is None:
            cases = worst_cases(self._frame, atom, self.poly)
            found = [tuple(_Side(self._frame, poly) for poly in sides) for sides in cases]
            self._found[atom] = found
        return found


class _Side:
    """A goal that is looked at when it is needed."""

    __slots__ = ("_frame", "_goal", "_poly")

    def __init__(self, frame: Frame, poly: Poly) -> None:
        self._frame = frame
        self._poly = poly
        self._goal: _Goal | None = None

    def goal(self) -> _Goal:
        if self._goal is None:
            self._goal = _Goal(self._frame, self._poly)
        return self._goal


def worst_cases(frame: Frame, atom: Atom, poly: Poly) -> list[tuple[Poly, ...]]:
    """Ways to remove ``atom``: the goal follows if all polynomials of one entry are <= 0."""
    parts = P.by_degree(poly, atom)
    rest = parts[0]
    if len(parts) > 2:
        return _monotone(frame, atom, poly, parts)
    slope = parts[1]
    lo, hi = frame.interval(slope)
    uppers, lowers = _limits(frame, atom)
    if lo is not None and lo >= 0:
        return [(_put(slope, rest, d, s, 1),) for d, s in uppers]
    if hi is not None and hi <= 0:
        return [(_put(slope, rest, d, s, -1),) for d, s in lowers]
    out: list[tuple[Poly, ...]] = []
    one: Poly = {UNIT: 1}
    for d1, s1 in [u for u in uppers if u[0] == one][:2]:
        for d2, s2 in [w for w in lowers if w[0] == one][:2]:
            out.append((_put(slope, rest, d1, s1, 1), _put(slope, rest, d2, s2, -1)))
    return out


def _monotone(frame: Frame, atom: Atom, poly: Poly, parts: list[Poly]) -> list[tuple[Poly, ...]]:
    """A polynomial of higher degree that grows with a non-negative ``atom``."""
    lo, _ = frame.atom_interval(atom)
    if lo is None or lo < 0:
        return []
    for part in parts[1:]:
        plo, _ = frame.interval(part)
        if plo is None or plo < 0:
            return []
    out: list[tuple[Poly, ...]] = []
    for scale, offset in _limits(frame, atom)[0]:
        if scale != {UNIT: 1}:
            continue
        out.append((P.put(poly, atom, {mono: -coef for mono, coef in offset.items()}),))
    return out


def _limits(frame: Frame, atom: Atom) -> tuple[list[Limit], list[Limit]]:
    """``(d, s)`` with ``d > 0`` and ``d * atom + s <= 0`` (uppers) or ``s - d * atom <= 0``."""
    found = frame.limits.get(atom)
    if found is not None:
        return found
    uppers: list[Limit] = []
    lowers: list[Limit] = []
    for fact in frame.index.get(atom, ()):
        parts = P.by_degree(fact, atom)
        if len(parts) != 2:
            continue
        scale, offset = parts[1], parts[0]
        lo, hi = frame.interval(scale)
        if lo is not None and lo > 0:
            uppers.append((scale, offset))
        elif hi is not None and hi < 0:
            lowers.append(({mono: -coef for mono, coef in scale.items()}, offset))
    alo, ahi = frame.atom_interval(atom)
    if ahi is not None:
        uppers.append(({UNIT: 1}, {UNIT: -ahi} if ahi else {}))
    if alo is not None:
        lowers.append(({UNIT: 1}, {UNIT: alo} if alo else {}))
    uppers.sort(key=_simplest)
    lowers.sort(key=_simplest)
    frame.limits[atom] = uppers, lowers
    return uppers, lowers


def _put(slope: Poly, rest: Poly, scale: Poly, offset: Poly, sign: int) -> Poly:
    """What ``slope * x + rest`` is at most, given ``scale * x <= -offset`` (sign 1) or >= offset.

    Where ``scale`` does not divide, both sides are scaled; an integer ``p`` is at most zero
    already if ``scale * p <= scale - 1``.
    """
    factor = P.exact_division(slope, scale)
    if factor is not None:
        return P.add_scaled(rest, P.multiply(factor, offset), -sign)
    out = P.add_scaled(P.multiply(scale, rest), P.multiply(slope, offset), -sign)
    return P.add_scaled(P.add_scaled(out, scale, -1), {UNIT: 1}, 1)


def _atom_key(atom: Atom) -> int:
    return atom.id


def _simplest(limit: Limit) -> tuple[int, int]:
    """Symbolic bounds without scaling first, plain numbers last."""
    scale, offset = limit
    numeric = all(not mono for mono in offset)
    return (1 if numeric else 0, 0 if scale == {UNIT: 1} else 1)


# ------------------------------------------------------------------------ cached fact sets


class FactSet(Struct):
    """A tuple of facts, prepared and framed."""

    prepared: Prepared
    frame: Frame


class FactCache:
    """Fact sets by the identity of their facts; a longer tuple extends a shorter one."""

    def __init__(self) -> None:
        self._sets: dict[tuple[Bool, ...], FactSet] = {}
        self._preparation = Preparation()
        #: the ones asked for last, whose frames remember what they were extended by
        self._latest: list[FactSet] = []

    def get(self, facts: tuple[Bool, ...]) -> FactSet:
        found = self._sets.get(facts)
        if found is None:
            found = self._extended(facts) or self._fresh(facts)
            self._sets[facts] = found
        if not any(found is one for one in self._latest):
            self._latest.append(found)
            if len(self._latest) > _LATEST:
                self._latest.pop(0).frame.extended.clear()
        return found

    def _extended(self, facts: tuple[Bool, ...]) -> FactSet | None:
        for length in range(len(facts) - 1, 0, -1):
            added = facts[length:]
            if determines(added[0]):
                return None
            base = self._sets.get(facts[:length])
            if base is None:
                continue
            new = flatten([base.prepared.apply(fact) for fact in added])
            if any(determines(fact) for fact in new):
                return None
            frame = base.frame.copy()
            frame.assume(new)
            frame.propagate()
            before = base.prepared
            prepared = Prepared(
                (*before.facts, *(f for f in new if f not in before.facts)),
                before.flags,
                before.removed,
                before.substitution,
                before.contradictory or FALSE in new,
            )
            return FactSet(prepared, frame)
        return None

    def _fresh(self, facts: tuple[Bool, ...]) -> FactSet:
        prepared = self._preparation.of(facts)
        frame = Frame(contradictory=prepared.contradictory)
        frame.assume(prepared.facts)
        frame.propagate()
        return FactSet(prepared, frame)


def implied(facts: FactSet, goal: Bool, steps: int = _STEPS) -> bool:
    """Whether ``facts`` imply ``goal``, by cheap means; False: don't know."""
    return Prover(steps).prove(facts.frame, facts.prepared.apply(goal))
