"""Preconditions: a condition on inputs alone under which a goal holds in every iteration."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from verifier.solver import polynomial as P
from verifier.solver.frames import Frame
from verifier.solver.polynomial import UNIT, Poly
from verifier.solver.prepare import flatten
from verifier.solver.ranges import Prover, worst_cases
from verifier.symbolic import expr as E
from verifier.symbolic.expr import FALSE, TRUE, Atom, Bool, Sym

_BUDGET = 120
_DEPTH = 8


def closed(goal: Bool, facts: Sequence[Bool]) -> Bool | None:
    """A condition over inputs and grid that implies ``goal`` under ``facts``, the weakest found.

    Indices of loops, axes and points are replaced by their worst values. None if that is not
    possible or leaves nothing satisfiable.
    """
    frame = Frame()
    frame.assume(flatten(facts))
    frame.propagate()
    result = _Closer(frame, lambda sym: sym.origin not in E.GIVEN).formula(goal)
    return None if result is FALSE else result


def closed_over(goal: Bool, symbols: Sequence[Sym]) -> Bool | None:
    """A condition without ``symbols`` that implies ``goal`` whatever their values are."""
    frame = Frame()
    frame.propagate()
    wanted = {sym.id: None for sym in symbols}
    result = _Closer(frame, lambda sym: sym.id in wanted).formula(goal)
    return None if result is FALSE else result


class _Closer:
    def __init__(self, frame: Frame, is_open: Callable[[Sym], bool]) -> None:
        self._frame = frame
        self._is_open = is_open
        self._left = _BUDGET

    def _is_closed(self, term: Bool) -> bool:
        return not any(map(self._is_open, term.free()))

    def formula(self, goal: Bool) -> Bool | None:
        if goal is TRUE or goal is FALSE:
            return goal
        if Prover(60).prove(self._frame, goal):
            return TRUE
        if goal.kind is E.BoolKind.AND:
            parts = [self.formula(arg) for arg in goal.args]
            known = [part for part in parts if part is not None]
            return E.and_(*known) if len(known) == len(parts) else None
        if self._is_closed(goal):
            return goal
        if goal.kind is E.BoolKind.OR:
            options = [self.formula(arg) for arg in goal.args]
            usable = [option for option in options if option is not None and option is not FALSE]
            return E.or_(*usable) if usable else None
        if goal.expr is None:
            return None
        frame = self._frame.with_atoms(goal.expr)
        poly = P.from_expr(goal.expr)
        if goal.kind is E.BoolKind.LE:
            return self._comparison(frame, poly, _DEPTH)
        negative: Poly = {mono: -coef for mono, coef in poly.items()}
        if goal.kind is E.BoolKind.NE:
            one: Poly = {UNIT: 1}
            sides = [
                self._comparison(frame, P.add_scaled(side, one, 1), _DEPTH)
                for side in (poly, negative)
            ]
            usable = [side for side in sides if side is not None and side is not FALSE]
            return E.or_(*usable) if usable else None
        both = [self._comparison(frame, side, _DEPTH) for side in (poly, negative)]
        known = [side for side in both if side is not None]
        return E.and_(*known) if len(known) == 2 else None

    def _comparison(self, frame: Frame, poly: Poly, depth: int) -> Bool | None:
        """A closed condition that implies ``poly <= 0``."""
        self._left -= 1
        if self._left < 0:
            return None
        poly = P.tighten(poly)
        goal = E.le(P.to_expr(poly), 0)
        _, hi = frame.interval(poly)
        if hi is not None and hi <= 0:
            return TRUE
        if self._is_closed(goal):
            return goal
        if depth == 0:
            return None
        best: Bool | None = None
        for atom in P.atoms(poly):
            if not any(map(self._is_open, E.atom_free(atom))):
                continue
            for sides in worst_cases(frame, atom, poly):
                parts = [self._comparison(frame, side, depth - 1) for side in sides]
                known = [part for part in parts if part is not None]
                if len(known) == len(parts):
                    best = _weaker(best, E.and_(*known))
                if best is TRUE:
                    return best
            if best is not None and best is not FALSE:
                return best
            cases = self._cases(frame, atom, poly, depth)
            if cases is not None:
                best = _weaker(best, cases)
                if best is not FALSE:
                    return best
        return best

    def _cases(self, frame: Frame, atom: Atom, poly: Poly, depth: int) -> Bool | None:
        """Both values of a conditional, all of an extremum."""
        if isinstance(atom, E.Ite):
            values: tuple[E.Expr, ...] = (atom.then, atom.other)
        elif isinstance(atom, E.Extremum):
            values = atom.args
        else:
            return None
        out: list[Bool] = []
        for value in values:
            part = self._comparison(frame, P.put(poly, atom, P.from_expr(value)), depth - 1)
            if part is None:
                return None
            out.append(part)
        return E.and_(*out)


def _weaker(old: Bool | None, new: Bool) -> Bool:
    """The one that asks less: true before anything, anything before false, else the shorter."""
    if old is None or old is FALSE or new is TRUE:
        return new
    if new is FALSE or _length(old) <= _length(new):
        return old
    return new


def _length(term: Bool) -> int:
    own = len(term.expr.terms) if term.expr is not None else 1
    return own + sum(map(_length, term.args))
