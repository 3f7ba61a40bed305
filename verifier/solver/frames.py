"""Facts as polynomials with the numeric bounds of every atom that follow from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from verifier.solver import polynomial as P
from verifier.solver.polynomial import UNIT, Mono, Poly
from verifier.solver.prepare import flatten
from verifier.symbolic import expr as E
from verifier.symbolic.expr import FALSE, Atom, Bool, Expr

_DOMAIN = 64  # values of a symbol that are tried one by one at most
_ROUNDS = 3
#: facts that say of a symbol of few values which ones it has
_OF_DOMAINS = (E.BoolKind.OR, E.BoolKind.NE, E.BoolKind.EQ)

Bound = int | None
Limit = tuple[Poly, Poly]


class Frame(Struct):
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
    limits: dict[Atom, tuple[list[Limit], list[Limit]]] = field(default_factory=dict)
    #: the quotients, choices, extrema and tables that an atom stands in
    around: dict[Atom, tuple[Atom, ...]] = field(default_factory=dict)
    #: what is said of one symbol alone that has few values
    alone: dict[E.Sym, tuple[Bool, ...]] = field(default_factory=dict)
    #: the values that such facts admit, shared by all copies
    domains: dict[tuple[object, ...], tuple[int, ...] | None] = field(default_factory=dict)
    #: what is new since bounds were propagated: facts, and atoms that are new or bounded anew
    new: list[Poly] = field(default_factory=list)
    touched: dict[Atom, None] = field(default_factory=dict)
    #: the same with more facts, by what is more, until they are forgotten
    extended: dict[object, Frame] = field(default_factory=dict)

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
            {},
            dict(self.around),
            dict(self.alone),
            self.domains,
            list(self.new),
            dict(self.touched),
        )

    def with_facts(self, facts: tuple[Bool, ...], split: int | None = None) -> Frame:
        """A frame with more facts; with ``split``, they are a case of that one of the splits.

        Questions about the same facts distinguish the same cases: each is worked out once.
        """
        key = (split, *facts)
        found = self.extended.get(key)
        if found is None:
            found = self.extended[key] = self.copy()
            if split is not None:
                del found.splits[split]
            found.assume(facts)
            if any(id(E.not_(fact)) in found.known for fact in facts):
                found.contradictory = True
            found.propagate()
        return found

    def with_atoms(self, expr: Expr) -> Frame:
        """A frame that knows the lemmas of all atoms of an expression."""
        new = tuple(atom for atom in expr.atoms() if atom not in self.seen)
        if not new:
            return self
        found = self.extended.get(new)
        if found is None:
            found = self.extended[new] = self.copy()
            found.learn_atoms(expr)
            found.propagate()
        return found

    # -- building --------------------------------------------------------------------

    def assume(self, facts: Iterable[Bool]) -> None:
        """Add facts; bounds are not propagated until :meth:`propagate`."""
        for fact in flatten(list(facts)):
            if fact is FALSE:
                self.contradictory = True
            if id(fact) in self.known:
                continue
            self.known[id(fact)] = fact
            if fact.kind in _OF_DOMAINS and not fact.variables():
                free = fact.free()
                if len(free) == 1:
                    self.alone[free[0]] = (*self.alone.get(free[0], ()), fact)
                    self.touched[free[0]] = None
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
        self.new.append(poly)
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
        self.touched[atom] = None
        for part in atom.children():
            if isinstance(part, Expr):
                for inner in part.atoms():
                    self.around[inner] = (*self.around.get(inner, ()), atom)
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
        elif isinstance(atom, E.Power):  # above its exponent, whatever that is
            self.learn_atoms(atom.exponent)
            lower = P.add_scaled(P.from_expr(atom.exponent), {(atom,): 1}, -1)
            self._add_le(P.add_scaled(lower, {UNIT: 1}, 1))

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
        """Narrow the bounds of atoms by the facts, a few rounds; only what is new leads on."""
        self.limits.clear()
        self._split_inequalities()
        for _ in range(_ROUNDS):
            waiting = self.pending
            self.pending = []
            for quotient in waiting:
                if not self._learn_quotient(quotient):
                    self.pending.append(quotient)
            touched, self.touched = self.touched, {}
            for atom in self._concerned(touched):
                self._narrow_composite(atom)
            polys = {id(poly): poly for poly in self.new}
            self.new = []
            for atom in (*touched, *self.touched):
                polys.update((id(poly), poly) for poly in self.index.get(atom, ()))
            for poly in polys.values():
                self._narrow(poly)
                if self.contradictory:
                    return
            if not self.touched and not self.new:
                break

    def _concerned(self, touched: Iterable[Atom]) -> list[Atom]:
        """The composite atoms whose bounds those of some atoms decide, and those among them."""
        found: dict[Atom, None] = {}
        for atom in touched:
            if not isinstance(atom, E.Sym):
                found[atom] = None
            found.update(dict.fromkeys(self.around.get(atom, ())))
        return list(found)

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

    def _narrow(self, poly: Poly) -> None:
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
                    return
            else:
                total += low
            lows.append((mono, coef, low))
        if unknown == 0 and total > 0:
            self.contradictory = True
            return
        for mono, coef, low in lows:
            if len(mono) != 1 or (unknown and low is not None):
                continue
            rest = total if low is None else total - low
            self._set_bound(mono[0], coef, -rest)

    def _set_bound(self, atom: Atom, coef: int, limit: int) -> None:
        """Record ``coef * atom <= limit``."""
        lo, hi = self.atom_interval(atom)
        if coef > 0:
            value = limit // coef
            if hi is None or value < hi:
                self.hi[atom] = value
                hi = value
            else:
                return
        else:
            value = -(limit // -coef)
            if lo is None or value > lo:
                self.lo[atom] = value
                lo = value
            else:
                return
        self.touched[atom] = None
        if lo is not None and hi is not None and lo > hi:
            self.contradictory = True

    def _narrow_composite(self, atom: Atom) -> None:
        lo: Bound = None
        hi: Bound = None
        if isinstance(atom, E.Div):
            nlo, nhi = self.interval(P.from_expr(atom.num))
            dlo, dhi = self.interval(P.from_expr(atom.den))
            if dlo is not None and dhi is not None and dlo > dhi:
                self.contradictory = True
                return
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
            symbol = atom.index.as_atom()
            allowed = self.admitted(symbol) if isinstance(symbol, E.Sym) else None
            results = [
                value
                for key, value in atom.values
                if (low is None or key >= low)
                and (high is None or key <= high)
                and (allowed is None or key in allowed)
            ]
            if not results:
                self.contradictory = True
                return
            lo, hi = min(results), max(results)
        elif isinstance(atom, E.Power):
            least, most = self.interval(P.from_expr(atom.exponent))
            lo = None if least is None else E.bounds(E.power(atom.base, least))[0]
            hi = None if most is None else E.bounds(E.power(atom.base, most))[1]
        if hi is not None:
            self._set_bound(atom, 1, hi)
        if lo is not None:
            self._set_bound(atom, -1, -lo)

    def admitted(self, sym: E.Sym) -> tuple[int, ...] | None:
        """The values of ``sym`` that the facts about it alone admit; None if too many."""
        lo, hi = self.atom_interval(sym)
        if lo is None or hi is None or hi - lo >= _DOMAIN:
            return None
        about = self.alone.get(sym, ())
        key = (sym, about, lo, hi)
        if key not in self.domains:
            self.domains[key] = _fitting(sym, about, range(lo, hi + 1))
        return self.domains[key]

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
            if len(mono) == 1:
                mlo, mhi = self.atom_interval(mono[0])
            else:
                mlo, mhi = self.mono_interval(mono) if mono else (1, 1)
            if coef < 0:
                mlo, mhi = mhi, mlo
            lo = None if lo is None or mlo is None else lo + coef * mlo
            hi = None if hi is None or mhi is None else hi + coef * mhi
            if lo is None and hi is None:
                break
        return lo, hi


def _fitting(sym: E.Sym, about: Sequence[Bool], values: range) -> tuple[int, ...] | None:
    """The values of a symbol for which the facts about it hold."""
    out = []
    for value in values:
        try:
            if all(E.evaluate(fact, {sym.name: value}) for fact in about):
                out.append(value)
        except E.EvaluationError:
            return None
    return tuple(out)


def _product(x: tuple[Bound, Bound], y: tuple[Bound, Bound]) -> tuple[Bound, Bound]:
    (a, b), (c, d) = x, y
    if a is None or c is None:
        return None, None
    if a >= 0 and c >= 0:  # as most are
        if b is None or d is None:
            return a * c, None
        if a <= b and c <= d:
            return a * c, b * d
    if b is None or d is None:
        return None, None
    corners = (a * c, a * d, b * c, b * d)
    return min(corners), max(corners)
