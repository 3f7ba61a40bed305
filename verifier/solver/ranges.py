"""The cheap tier: proofs by bounds and by eliminating one symbol after another.

To prove ``p <= 0`` the prover takes a symbol of ``p`` whose coefficient has a known sign and puts
in its place the bound (a fact) that makes ``p`` largest; if what remains is at most zero, so is
``p``. With the lemmas of division, minimum and maximum as facts, this settles most questions about
tiles. It answers "proved" or "don't know", and is deterministic: a step count is its budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from verifier.solver import polynomial as P
from verifier.solver.polynomial import UNIT, Mono, Poly
from verifier.solver.prepare import Prepared, determines, flatten, prepare
from verifier.symbolic import expr as E
from verifier.symbolic.expr import FALSE, TRUE, Atom, Bool, Expr

_STEPS = 90
_DEPTH = 9
_DOMAIN = 64  # values of a symbol that are tried one by one at most
_ROUNDS = 3

Bound = int | None
_Limit = tuple[Poly, Poly]


class _ExhaustedError(Exception):
    """The step budget is spent."""


@dataclass(slots=True)
class Frame:
    """Facts as polynomials ``p <= 0``, with numeric bounds of every atom derived from them."""

    les: list[Poly] = field(default_factory=list)
    #: facts that are no single comparison, tried by case distinction
    splits: list[Bool] = field(default_factory=list)
    #: every conjunct by identity, for syntactic matches
    known: dict[int, Bool] = field(default_factory=dict)
    lo: dict[Atom, int] = field(default_factory=dict)
    hi: dict[Atom, int] = field(default_factory=dict)
    seen: dict[Atom, None] = field(default_factory=dict)
    index: dict[Atom, list[Poly]] = field(default_factory=dict)
    #: divisions whose divisor is not known to be positive yet
    pending: list[E.Div] = field(default_factory=list)
    #: bounds that hold without facts, shared by all copies
    static: dict[Atom, tuple[Bound, Bound]] = field(default_factory=dict)
    contradictory: bool = False
    #: what bounds an atom, until there are more facts
    limits: dict[Atom, tuple[list[_Limit], list[_Limit]]] = field(default_factory=dict)

    def copy(self) -> Frame:
        return Frame(
            list(self.les),
            list(self.splits),
            dict(self.known),
            dict(self.lo),
            dict(self.hi),
            dict(self.seen),
            dict(self.index),
            list(self.pending),
            self.static,
            self.contradictory,
        )

    # -- building --------------------------------------------------------------------

    def assume(self, facts: Iterable[Bool]) -> None:
        """Add facts; bounds are not propagated until :meth:`propagate`."""
        for fact in flatten(list(facts)):
            if fact is FALSE:
                self.contradictory = True
            if id(fact) in self.known:
                continue
            self.known[id(fact)] = fact
            if fact.kind is E.BoolKind.LE:
                assert fact.expr is not None
                self._add_le(P.from_expr(fact.expr))
            elif fact.kind is E.BoolKind.EQ:
                assert fact.expr is not None
                poly = P.from_expr(fact.expr)
                self._add_le(poly)
                self._add_le({mono: -coef for mono, coef in poly.items()})
            elif fact.kind in (E.BoolKind.OR, E.BoolKind.NE):
                if fact.expr is not None:
                    self.learn_atoms(fact.expr)
                self.splits.append(fact)

    def _add_le(self, poly: Poly) -> None:
        self.les.append(poly)
        for atom in P.atoms(poly):
            self.index[atom] = [*self.index.get(atom, ()), poly]
            self.learn_atom(atom)

    def learn_atoms(self, expr: Expr) -> None:
        for atom in expr.atoms():
            self.learn_atom(atom)

    def learn_atom(self, atom: Atom) -> None:
        """Add the defining lemmas of an atom and of those inside it."""
        if atom in self.seen:
            return
        self.seen[atom] = None
        if isinstance(atom, E.Div):
            self.learn_atoms(atom.num)
            self.learn_atoms(atom.den)
            if not self._learn_quotient(atom):
                self.pending.append(atom)
        elif isinstance(atom, E.Extremum):
            sign = 1 if atom.kind == "min" else -1
            for arg in atom.args:
                self.learn_atoms(arg)
                gap = P.add_scaled({(atom,): 1}, P.from_expr(arg), -1)
                self._add_le({mono: coef * sign for mono, coef in gap.items()})
        elif isinstance(atom, E.Ite):
            self.learn_atoms(atom.then)
            self.learn_atoms(atom.other)
        elif isinstance(atom, E.Table):
            self.learn_atoms(atom.index)

    def _learn_quotient(self, atom: E.Div) -> bool:
        """``den * q <= num <= den * q + den - 1``, once ``den`` is known to be positive."""
        den = P.from_expr(atom.den)
        lo, _ = self.interval(den)
        if lo is None or lo <= 0:
            return False
        gap = P.add_scaled(P.multiply(den, {(atom,): 1}), P.from_expr(atom.num), -1)
        self._add_le(gap)
        upper = P.add_scaled({UNIT: 1}, gap, -1)
        self._add_le(P.add_scaled(upper, den, -1))
        return True

    def propagate(self) -> None:
        """Narrow the bounds of atoms by the facts, a few rounds."""
        self.limits.clear()
        self._split_inequalities()
        for _ in range(_ROUNDS):
            changed = False
            waiting = self.pending
            self.pending = []
            for quotient in waiting:
                if self._learn_quotient(quotient):
                    changed = True
                else:
                    self.pending.append(quotient)
            for atom in list(self.seen):
                if not isinstance(atom, E.Sym):
                    changed |= self._narrow_composite(atom)
            for poly in list(self.les):
                changed |= self._narrow(poly)
                if self.contradictory:
                    return
            if not changed:
                break
        self._narrow_domains()

    def _split_inequalities(self) -> None:
        """``x != c`` where ``c`` is an end of the range of ``x`` is a comparison."""
        for fact in self.splits:
            if fact.kind is not E.BoolKind.NE or fact.expr is None:
                continue
            poly = P.from_expr(fact.expr)
            lo, hi = self.interval(poly)
            if lo == 0:  # p >= 1
                self._add_le(P.add_scaled({UNIT: 1}, poly, -1))
            elif hi == 0:
                self._add_le(P.add_scaled(poly, {UNIT: 1}, 1))

    def _narrow(self, poly: Poly) -> bool:
        """Bounds of single atoms from one fact: ``c * x <= -min(rest)``."""
        total = 0
        lows: list[tuple[Mono, int, Bound]] = []
        unknown = 0
        for mono, coef in poly.items():
            low: Bound = coef if not mono else None
            if mono:
                single = len(mono) == 1
                lo, hi = self.atom_interval(mono[0]) if single else self.mono_interval(mono)
                end = lo if coef > 0 else hi
                low = None if end is None else coef * end
            if low is None:
                unknown += 1
                if unknown > 1:
                    return False
            else:
                total += low
            lows.append((mono, coef, low))
        if unknown == 0 and total > 0:
            self.contradictory = True
            return True
        changed = False
        for mono, coef, low in lows:
            if len(mono) != 1 or (unknown and low is not None):
                continue
            rest = total if low is None else total - low
            changed |= self._set_bound(mono[0], coef, -rest)
        return changed

    def _set_bound(self, atom: Atom, coef: int, limit: int) -> bool:
        """Record ``coef * atom <= limit``."""
        lo, hi = self.atom_interval(atom)
        if coef > 0:
            value = limit // coef
            if hi is None or value < hi:
                self.hi[atom] = value
                hi = value
            else:
                return False
        else:
            value = -(limit // -coef)
            if lo is None or value > lo:
                self.lo[atom] = value
                lo = value
            else:
                return False
        if lo is not None and hi is not None and lo > hi:
            self.contradictory = True
        return True

    def _narrow_composite(self, atom: Atom) -> bool:
        lo: Bound = None
        hi: Bound = None
        if isinstance(atom, E.Div):
            nlo, nhi = self.interval(P.from_expr(atom.num))
            dlo, dhi = self.interval(P.from_expr(atom.den))
            if dlo is not None and dhi is not None and dlo > dhi:
                self.contradictory = True
                return True
            if dlo is not None and dlo > 0:
                if nlo is not None:
                    lo = nlo // dlo if nlo < 0 else (nlo // dhi if dhi is not None else 0)
                if nhi is not None:
                    hi = nhi // dlo if nhi >= 0 else (nhi // dhi if dhi is not None else -1)
        elif isinstance(atom, E.Extremum):
            ends = [self.interval(P.from_expr(arg)) for arg in atom.args]
            lows = [low for low, _ in ends if low is not None]
            highs = [high for _, high in ends if high is not None]
            if atom.kind == "min":
                lo = min(lows) if len(lows) == len(ends) else None
                hi = min(highs, default=None)
            else:
                lo = max(lows, default=None)
                hi = max(highs) if len(highs) == len(ends) else None
        elif isinstance(atom, E.Ite):
            a, b = self.interval(P.from_expr(atom.then))
            c, d = self.interval(P.from_expr(atom.other))
            lo = None if a is None or c is None else min(a, c)
            hi = None if b is None or d is None else max(b, d)
        elif isinstance(atom, E.Table):
            low, high = self.interval(P.from_expr(atom.index))
            results = [
                value
                for key, value in atom.values
                if (low is None or key >= low) and (high is None or key <= high)
            ]
            if not results:
                self.contradictory = True
                return True
            lo, hi = min(results), max(results)
        changed = False
        if hi is not None:
            changed |= self._set_bound(atom, 1, hi)
        if lo is not None:
            changed |= self._set_bound(atom, -1, -lo)
        return changed

    def _narrow_domains(self) -> None:
        """Tables over a symbol of few values: only the results of admitted values count."""
        for atom in list(self.seen):
            if not isinstance(atom, E.Table):
                continue
            sym = atom.index.as_atom()
            if not isinstance(sym, E.Sym):
                continue
            allowed = self.admitted(sym)
            if allowed is None:
                continue
            results = [value for key, value in atom.values if key in allowed]
            if results:
                self._set_bound(atom, 1, max(results))
                self._set_bound(atom, -1, -min(results))
            else:
                self.contradictory = True

    def admitted(self, sym: E.Sym) -> tuple[int, ...] | None:
        """The values of ``sym`` that the facts about it alone admit; None if too many."""
        lo, hi = self.atom_interval(sym)
        if lo is None or hi is None or hi - lo >= _DOMAIN:
            return None
        about = [
            fact
            for fact in self.known.values()
            if fact.free() == (sym,)
            and fact.kind in (E.BoolKind.OR, E.BoolKind.NE, E.BoolKind.EQ)
            and not fact.variables()
        ]
        out = []
        for value in range(lo, hi + 1):
            try:
                if all(E.evaluate(fact, {sym.name: value}) for fact in about):
                    out.append(value)
            except E.EvaluationError:
                return None
        return tuple(out)

    # -- intervals -------------------------------------------------------------------

    def atom_interval(self, atom: Atom) -> tuple[Bound, Bound]:
        if isinstance(atom, E.Sym):
            return self.lo.get(atom, atom.lo), self.hi.get(atom, atom.hi)
        lo, hi = self.lo.get(atom), self.hi.get(atom)
        if lo is None or hi is None:
            static = self.static.get(atom)
            if static is None:
                static = self.static[atom] = E.bounds(E.from_atom(atom))
            slo, shi = static
            lo = slo if lo is None else lo
            hi = shi if hi is None else hi
        return lo, hi

    def mono_interval(self, mono: Mono) -> tuple[Bound, Bound]:
        if len(mono) == 1:
            return self.atom_interval(mono[0])
        lo: Bound = 1
        hi: Bound = 1
        for atom in mono:
            lo, hi = _product((lo, hi), self.atom_interval(atom))
        if len(mono) == 2 and mono[0] is mono[1] and (lo is None or lo < 0):
            lo = 0
        return lo, hi

    def interval(self, poly: Poly) -> tuple[Bound, Bound]:
        lo: Bound = 0
        hi: Bound = 0
        for mono, coef in poly.items():
            mlo, mhi = self.mono_interval(mono) if mono else (1, 1)
            if coef < 0:
                mlo, mhi = mhi, mlo
            lo = None if lo is None or mlo is None else lo + coef * mlo
            hi = None if hi is None or mhi is None else hi + coef * mhi
            if lo is None and hi is None:
                break
        return lo, hi


def _product(x: tuple[Bound, Bound], y: tuple[Bound, Bound]) -> tuple[Bound, Bound]:
    (a, b), (c, d) = x, y
    if a is not None and b is not None and c is not None and d is not None:
        corners = (a * c, a * d, b * c, b * d)
        return min(corners), max(corners)
    if a is not None and a >= 0 and c is not None and c >= 0:
        return a * c, (b * d if b is not None and d is not None else None)
    return None, None


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
                inner = self._extend(frame, others)
                if inner.contradictory or self._prove(inner, arg, 0):
                    return True
        elif goal.expr is not None:
            inner = frame
            if any(atom not in frame.seen for atom in goal.expr.atoms()):
                inner = frame.copy()
                inner.learn_atoms(goal.expr)
                inner.propagate()
            if self._prove_comparison(inner, goal, splits):
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
            base = frame.copy()
            del base.splits[position]
            if all(self._prove_case(base, case, goal, splits - 1) for case in cases):
                return True
        return False

    def _prove_case(self, base: Frame, case: Bool, goal: Bool, splits: int) -> bool:
        inner = self._extend(base, [case])
        return inner.contradictory or self._prove(inner, goal, splits)

    def _extend(self, frame: Frame, facts: Sequence[Bool]) -> Frame:
        self._spend(1)
        inner = frame.copy()
        inner.assume(facts)
        for fact in facts:
            if id(E.not_(fact)) in inner.known:
                inner.contradictory = True
        inner.propagate()
        return inner

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
        failed: dict[object, int] = {}
        return any(self._prove_le(frame, poly, depth, failed) for depth in (2, 4, _DEPTH))

    def _prove_le(self, frame: Frame, poly: Poly, depth: int, failed: dict[object, int]) -> bool:
        self._spend(1)
        poly = P.tighten(poly)
        _, hi = frame.interval(poly)
        if hi is not None and hi <= 0:
            return True
        if depth == 0 or (len(poly) == 1 and UNIT in poly):
            return False
        key = frozenset(poly.items())
        if failed.get(key, -1) >= depth:
            return False
        failed[key] = depth
        productive = 0
        for atom in P.atoms(poly):
            alternatives = worst_cases(frame, atom, poly)
            adverse = False
            for replacement in alternatives:
                if all(self._prove_le(frame, side, depth - 1, failed) for side in replacement):
                    return True
            if isinstance(atom, E.Extremum | E.Ite):
                adverse = True
                if self._by_cases(frame, atom, poly, depth, failed):
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
        failed: dict[object, int],
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
            inner = self._extend(frame, facts)
            if inner.contradictory:
                continue
            total = P.put(poly, atom, P.from_expr(value))
            if not (self._quick(inner, total) or self._prove_le(inner, total, depth - 1, {})):
                return False
        return True


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


def _limits(frame: Frame, atom: Atom) -> tuple[list[_Limit], list[_Limit]]:
    """``(d, s)`` with ``d > 0`` and ``d * atom + s <= 0`` (uppers) or ``s - d * atom <= 0``."""
    found = frame.limits.get(atom)
    if found is not None:
        return found
    uppers: list[_Limit] = []
    lowers: list[_Limit] = []
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


def _simplest(limit: _Limit) -> tuple[int, int]:
    """Symbolic bounds without scaling first, plain numbers last."""
    scale, offset = limit
    numeric = all(not mono for mono in offset)
    return (1 if numeric else 0, 0 if scale == {UNIT: 1} else 1)


# ------------------------------------------------------------------------ cached fact sets


@dataclass(slots=True)
class FactSet:
    """A tuple of facts, prepared and framed."""

    prepared: Prepared
    frame: Frame


class FactCache:
    """Fact sets by the identity of their facts; a longer tuple extends a shorter one."""

    def __init__(self) -> None:
        self._sets: dict[tuple[Bool, ...], FactSet] = {}

    def get(self, facts: tuple[Bool, ...]) -> FactSet:
        found = self._sets.get(facts)
        if found is None:
            found = self._extended(facts) or self._fresh(facts)
            self._sets[facts] = found
        return found

    def _extended(self, facts: tuple[Bool, ...]) -> FactSet | None:
        for count in range(1, min(4, len(facts)) + 1):
            added = facts[len(facts) - count :]
            if any(determines(fact) for fact in added):
                return None
            base = self._sets.get(facts[: len(facts) - count])
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

    @staticmethod
    def _fresh(facts: tuple[Bool, ...]) -> FactSet:
        prepared = prepare(facts)
        frame = Frame(contradictory=prepared.contradictory)
        frame.assume(prepared.facts)
        frame.propagate()
        return FactSet(prepared, frame)


def implied(facts: FactSet, goal: Bool, steps: int = _STEPS) -> bool:
    """Whether ``facts`` imply ``goal``, by cheap means; False: don't know."""
    return Prover(steps).prove(facts.frame, facts.prepared.apply(goal))
