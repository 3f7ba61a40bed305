"""Sets of elements, for memory rules: which elements of a frame a view covers.

A view covers ``x`` when some values of its axis symbols, and of the indices of loops that are gone
through, put an element at ``x``. :func:`coverage` turns that existential statement into a formula
without quantifiers, by arithmetic alone: strides that nest are divided out, strides that leave no
gap are merged, and bounds are combined. What it cannot eliminate it answers for one value only, so
that the formula never claims more than is covered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import gcd
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from verifier.symbolic import expr as E
from verifier.symbolic.expr import (
    FALSE,
    TRUE,
    Atom,
    Bool,
    Expr,
    Extremum,
    Ite,
    Substitution,
    Sym,
)
from verifier.symbolic.interleaving import dealt
from verifier.symbolic.parting import (
    CANDIDATES,
    between,
    divides,
    divisors,
    upper_bounds,
    whole_quotients,
)
from verifier.symbolic.rewriting import Chosen, Minima
from verifier.symbolic.tensors import Loop, View
from verifier.symbolic.units import in_unit
from verifier.symbolic.views.common import conjuncts
from verifier.symbolic.views.linear import linear_view

#: an oracle: True or False when a condition on outer symbols is settled, None when it is not
Decide = Callable[[Bool], "bool | None"]

_ENUMERATED: Final = 4  # extents up to this one are enumerated when all else fails
_BRANCHES: Final = 16  # case splits before giving up exactness


def point(frame: Sequence[Expr]) -> tuple[tuple[Expr, ...], Bool]:
    """Fresh coordinates in a frame, and the condition that they lie inside it."""
    coords = tuple(E.fresh("x", 0, None, E.Origin.POINT) for _ in frame)
    return coords, E.and_(*(E.lt(x, size) for x, size in zip(coords, frame, strict=True)))


def same_frame(a: View, b: View) -> tuple[View, View]:
    """Two views of one storage with coordinates in one frame.

    Frames that are the same stay; otherwise both become flat (``linear_view``). Of element types of
    different size the wider has its elements divided. When that is not possible both views come
    back inexact.
    """
    if a.dtype.itemsize is not b.dtype.itemsize:
        if not (a.dtype.itemsize.is_const and b.dtype.itemsize.is_const):
            why = "views of one tensor with element sizes that depend on an input"
            return replace(a, exact=False, reason=why), replace(b, exact=False, reason=why)
        unit = gcd(a.dtype.itemsize.const, b.dtype.itemsize.const)
        a, b = in_unit(a, unit), in_unit(b, unit)
    same = len(a.frame) == len(b.frame) and all(
        x is y for x, y in zip(a.frame, b.frame, strict=True)
    )
    if same and a.frame_partition == b.frame_partition:
        return a, b
    return linear_view(a), linear_view(b)


def coverage(
    view: View,
    x: Sequence[Expr],
    private: Sequence[Loop | tuple[Sym, Expr]] = (),
    constraints: Sequence[Bool] = (),
    *,
    decide: Decide | None = None,
) -> tuple[Bool, bool]:
    """When the view covers the point ``x`` of its frame: ``(formula, exact)``.

    The formula is free of the view's axis symbols and of the ``private`` loop indices (each with
    ``0 <= index < trips``): it says that some values of them that satisfy ``constraints`` and the
    view's mask give an element at ``x``. If not ``exact``, it is sufficient but not necessary.
    """
    if not view.exact:
        return FALSE, False
    extents: dict[Sym, Expr] = {}
    for item in private:
        symbol, size = (item.symbol, item.trips) if isinstance(item, Loop) else item
        extents[symbol] = size
    for axis in view.axes:
        extents[axis.symbol] = axis.size
    problem = _Problem(
        extents,
        [coord - value for coord, value in zip(view.coords, x, strict=True)],
        [*constraints, view.mask],
    )
    problem.deal()
    return eliminate(problem, decide)


def exists(
    private: Sequence[Loop | tuple[Sym, Expr]],
    constraints: Sequence[Bool],
    *,
    decide: Decide | None = None,
) -> tuple[Bool, bool]:
    """When some values of the indices satisfy the constraints: ``(formula, exact)`` as above."""
    extents: dict[Sym, Expr] = {}
    for item in private:
        symbol, size = (item.symbol, item.trips) if isinstance(item, Loop) else item
        extents[symbol] = size
    return eliminate(_Problem(extents, [], list(constraints)), decide)


# ------------------------------------------------------------------------------- elimination


class _Problem(Struct):
    """Some ``0 <= symbol < extent`` make every equation zero and every fact true."""

    extents: dict[Sym, Expr]
    equations: list[Expr]
    facts: list[Bool] = field(default_factory=list)

    def copy(self) -> _Problem:
        return _Problem(dict(self.extents), list(self.equations), list(self.facts))

    def deal(self) -> None:
        """Put one index for a core and its rounds, where work is dealt out in turn."""
        found = dealt(self.extents, [*self.equations, *self.facts])
        if found is None:
            return
        gone = (found.core, found.round)
        kept = {s: found.put.expr(n) for s, n in self.extents.items() if s not in gone}
        self.extents = {found.index: found.total, **kept}
        self.equations = [found.put.expr(term) for term in self.equations]
        self.facts = [found.put.bool(fact) for fact in self.facts]

    def mentions(self, term: Expr | Bool) -> list[Sym]:
        return [symbol for symbol in term.free() if symbol in self.extents]

    def replace(self, symbol: Sym, value: Expr) -> None:
        """Give a symbol its value; the value has to be in its range."""
        size = self.extents.pop(symbol)
        by = Substitution({symbol: value})
        self.equations = [by.expr(equation) for equation in self.equations]
        self.facts = [by.bool(fact) for fact in self.facts]
        self.extents = {other: by.expr(extent) for other, extent in self.extents.items()}
        self.facts += [E.ge(value, 0), *conjuncts(E.lt(value, by.expr(size)))]

    def terms(self) -> list[Expr | Bool]:
        return [*self.equations, *self.facts, *self.extents.values()]

    def symbols(self) -> set[Sym]:
        """Every symbol in it, outer ones too."""
        return {symbol for term in self.terms() for symbol in term.free()}

    def rewrite(self, by: Substitution) -> None:
        self.equations = [by.expr(equation) for equation in self.equations]
        self.facts = [by.bool(fact) for fact in self.facts]
        self.extents = {symbol: by.expr(extent) for symbol, extent in self.extents.items()}

    def elsewhere(self, symbol: Sym, equation: int) -> bool:
        """Whether a symbol occurs outside one equation."""
        return (
            any(symbol in e.free() for k, e in enumerate(self.equations) if k != equation)
            or any(symbol in fact.free() for fact in self.facts)
            or any(symbol in extent.free() for extent in self.extents.values())
        )


def eliminate(problem: _Problem, decide: Decide | None) -> tuple[Bool, bool]:
    """The quantifier-free equivalent, or a sufficient condition and False."""
    minima = Minima(symbol for term in problem.terms() for symbol in term.free())
    return _Eliminator(decide, _BRANCHES).run(
        _Problem(
            {symbol: minima.expr(extent) for symbol, extent in problem.extents.items()},
            [minima.expr(equation) for equation in problem.equations],
            [minima.bool(fact) for fact in problem.facts],
        )
    )


class _Eliminator(Struct):
    decide: Decide | None
    branches: int

    def run(self, problem: _Problem) -> tuple[Bool, bool]:
        exact = True
        while True:
            if not self._tidy(problem):
                return FALSE, exact
            if not problem.extents:
                return E.and_(*problem.facts), exact
            if self._step(problem):
                continue
            split = self._cases(problem)
            if split is not None:
                parts, complete = split
                results = [self.run(part) for part in parts]
                formula = E.or_(*(part for part, _ in results))
                return formula, exact and complete and all(good for _, good in results)
            symbol = self._hardest(problem)
            problem.replace(symbol, E.const(0))
            exact = False

    # -- bookkeeping ---------------------------------------------------------------------

    def _tidy(self, problem: _Problem) -> bool:
        """Split conjunctions, turn equalities into equations; False when nothing can hold."""
        facts: list[Bool] = []
        for fact in problem.facts:
            for part in conjuncts(fact):
                if part is FALSE:
                    return False
                if part is TRUE:
                    continue
                if part.kind is E.BoolKind.EQ and part.expr is not None and problem.mentions(part):
                    problem.equations.append(part.expr)
                else:
                    facts.append(part)
        equations: list[Expr] = []
        for equation in problem.equations:
            if problem.mentions(equation):
                if E.eq(equation, 0) is FALSE:
                    return False
                equations.append(equation)
            else:
                condition = E.eq(equation, 0)
                if condition is FALSE:
                    return False
                facts.append(condition)
        problem.equations, problem.facts = equations, list(dict.fromkeys(facts))
        return True

    def _step(self, problem: _Problem) -> bool:
        """Eliminate one symbol exactly, if some rule applies."""
        for rule in (
            self._single,
            self._without_gaps,
            self._quotient,
            self._unit,
            self._unused,
            self._bounded,
            self._residue,
            self._of_sizes,
            self._scaled,
            self._one_sided,
        ):
            if rule(problem):
                return True
        return False

    def _positive(self, value: Expr) -> bool:
        lo, _ = E.bounds(value)
        if lo is not None and lo >= 1:
            return True
        return self.decide is not None and self.decide(E.ge(value, 1)) is True

    # -- rules on equations --------------------------------------------------------------

    def _single(self, problem: _Problem) -> bool:
        """``c*s + r == 0`` with no other symbol: ``s`` is the exact quotient."""
        for equation in problem.equations:
            split = _linear(equation, problem)
            if split is None or len(split[0]) != 1:
                continue
            (symbol, coef), rest = next(iter(split[0].items())), split[1]
            if self._is_size(problem, -coef):
                coef, rest = -coef, -rest
            elif not self._is_size(problem, coef):
                continue
            value = E.floordiv(-rest, coef)
            problem.equations.remove(equation)
            problem.facts.append(E.eq(coef * value, -rest))
            problem.replace(symbol, value)
            return True
        return False

    def _without_gaps(self, problem: _Problem) -> bool:
        """Symbols of one equation whose sum takes every multiple of the least stride: one
        symbol.
        """
        for k, equation in enumerate(problem.equations):
            split = _linear(equation, problem)
            if split is None or len(split[0]) < 2:
                continue
            usable: list[tuple[Expr, Expr, Sym]] = []
            shift = E.const(0)
            for symbol, coef in split[0].items():
                size = problem.extents[symbol]
                if problem.mentions(size) or problem.elsewhere(symbol, k):
                    continue
                if self._is_size(problem, coef):
                    usable.append((coef, size, symbol))
                elif self._is_size(problem, -coef):  # count down: s becomes size - 1 - s
                    usable.append((-coef, size, symbol))
            chain, reach = self._chain(usable)
            if len(chain) < 2:
                continue
            step = chain[0][0]
            rest = equation
            for coef, size, symbol in chain:
                own = split[0][symbol]
                rest = rest - own * E.from_atom(symbol)
                if own is not coef:
                    shift = shift + own * (size - 1)
                del problem.extents[symbol]
                problem.facts.append(E.ge(size, 1))
            count = E.exact_quotient(reach, step) if not step.is_const else None
            if count is None:
                count = E.floordiv(reach, step)
            merged = E.fresh("run", 0, None, E.Origin.AXIS)
            atom = merged.as_atom()
            assert isinstance(atom, Sym)
            problem.extents[atom] = count + 1
            problem.equations[k] = rest + shift + step * merged
            return True
        return False

    def _chain(
        self, usable: list[tuple[Expr, Expr, Sym]]
    ) -> tuple[list[tuple[Expr, Expr, Sym]], Expr]:
        """The longest run of strides, from each start, in which no stride outgrows the reach."""
        best: list[tuple[Expr, Expr, Sym]] = []
        best_reach = E.const(0)
        for first in usable:
            chain, reach = [first], first[0] * (first[1] - 1)
            left = [item for item in usable if item is not first]
            found = True
            while found:
                found = False
                for item in left:
                    if divides(first[0], item[0]) and self._positive(
                        reach + first[0] - item[0] + 1
                    ):
                        chain.append(item)
                        reach = reach + item[0] * (item[1] - 1)
                        left.remove(item)
                        found = True
                        break
            if len(chain) > len(best):
                best, best_reach = chain, reach
        return best, best_reach

    def _quotient(self, problem: _Problem) -> bool:
        """``C*w + R == t`` with ``lo <= R < lo + C``: ``w`` is ``(t - lo) // C``."""
        for equation in problem.equations:
            split = _linear(equation, problem)
            if split is None or len(split[0]) < 2:
                continue
            coefs, rest = split
            for symbol, coef in coefs.items():
                sign = 1
                if self._is_size(problem, -coef):
                    coef, sign = -coef, -1
                elif not self._is_size(problem, coef):
                    continue
                others = (equation - rest) * sign - coef * E.from_atom(symbol)
                if symbol in others.free():
                    continue
                low = self._low(problem, others, symbol, coef)
                if low is not None:
                    problem.replace(symbol, E.floordiv(rest * -sign - low, coef))
                    return True
        return False

    def _low(self, problem: _Problem, total: Expr, wanted: Sym, step: Expr) -> Expr | None:
        """A lower bound of a sum that is less than ``step`` below some upper bound."""
        lows = list(self._extremes(problem, total, wanted, -1))
        for high in self._extremes(problem, total, wanted, 1):
            for low in lows:
                if self._positive(step - (high - low)):
                    return low
        return None

    def _extremes(self, problem: _Problem, total: Expr, wanted: Sym, sign: int) -> Iterator[Expr]:
        """Upper (``sign`` 1) or lower bounds of a sum that are free of every symbol."""
        pending = [total]
        tried = 0
        while pending and tried < CANDIDATES:
            tried += 1
            current = pending.pop(0)
            split = _linear(current, problem)
            if split is None:
                continue
            coefs, _ = split
            if not coefs:
                yield current
                continue
            # symbols whose extent depends on others go first, so that the others are still there
            symbol = max(coefs, key=lambda s: (len(problem.mentions(problem.extents[s])), s.id))
            if symbol is wanted:
                continue
            coef = coefs[symbol]
            base = current - coef * E.from_atom(symbol)
            grows = self._positive(coef)
            if not grows and not self._positive(-coef):
                continue
            if grows == (sign < 0):
                pending.append(base)
            else:
                for size in upper_bounds(problem.extents[symbol]):
                    if wanted not in size.free():
                        pending.append(base + coef * (size - 1))

    def _unit(self, problem: _Problem) -> bool:
        """A symbol with coefficient 1 or -1 is what the rest of its equation says."""
        choice = self._choice(problem)  # cases are told apart before that
        for equation in problem.equations:
            if choice is not None and _linear(equation, problem) is None:
                continue
            inside = problem.mentions(equation)
            if self.branches >= 2 and any(_choices(problem.extents[s], problem) for s in inside):
                continue  # `s < (a if p else b)`: in each case alone a quotient may say more
            for symbol in inside:
                coef = equation.coefficient(symbol)
                rest = equation - E.from_atom(symbol) * coef
                if abs(coef) != 1 or symbol in rest.free():
                    continue
                if any(symbol in problem.extents[other].free() for other in inside):
                    continue  # the other's extent would come to depend on itself
                problem.equations.remove(equation)
                problem.replace(symbol, rest * -coef)
                return True
        return False

    def _residue(self, problem: _Problem) -> bool:
        """A symbol in ``s // m`` or ``s % m`` is ``m`` times a symbol, and another below ``m``."""
        for symbol, size in problem.extents.items():
            most = E.bounds(size)[1]
            for m in _moduli(problem, symbol):
                if most is not None and most <= m:
                    continue
                times, rest = (
                    E.fresh("times", 0, None, E.Origin.AXIS),
                    E.fresh("rest", 0, m - 1, E.Origin.AXIS),
                )
                problem.replace(symbol, times * m + rest)
                for new, extent in ((times, E.ceildiv(size, m)), (rest, E.const(m))):
                    atom = new.as_atom()
                    assert isinstance(atom, Sym)
                    problem.extents[atom] = extent
                return True
        return False

    def _of_sizes(self, problem: _Problem) -> bool:
        """The same of a symbol that is divided by a size, which nothing folds away by itself."""
        for symbol, size in problem.extents.items():
            for by in whole_quotients(problem.terms(), symbol):
                if problem.mentions(by.den) or not self._positive(by.den):
                    continue
                times = E.fresh("times", 0, None, E.Origin.AXIS)
                rest = E.fresh("rest", 0, None, E.Origin.AXIS)
                value = times * by.den + rest
                del problem.extents[symbol]
                problem.rewrite(Substitution({symbol: value}, atoms={by: times}))
                count = E.exact_quotient(size, by.den)
                if count is None:
                    count = E.ceildiv(size, by.den)
                    problem.facts += conjuncts(E.lt(value, size))
                for new, extent in ((times, count), (rest, by.den)):
                    atom = new.as_atom()
                    assert isinstance(atom, Sym)
                    problem.extents[atom] = extent
                return True
        return False

    # -- rules on inequalities -----------------------------------------------------------

    def _unused(self, problem: _Problem) -> bool:
        """A symbol that occurs nowhere needs a value, nothing else."""
        for symbol, size in problem.extents.items():
            if not problem.elsewhere(symbol, -1):
                del problem.extents[symbol]
                problem.facts.extend(conjuncts(E.ge(size, 1)))
                return True
        return False

    def _scaled(self, problem: _Problem) -> bool:
        """The same where a multiple of the symbol by a size has the bounds."""
        return self._bounded(problem, sized=True)

    def _bounded(self, problem: _Problem, sized: bool = False) -> bool:
        """A symbol with lower and upper bounds only."""
        for symbol in problem.extents:
            if any(symbol in e.free() for e in problem.equations):
                continue
            if any(symbol in extent.free() for extent in problem.extents.values()):
                continue
            lowers = [(E.const(1), E.const(0))]
            # said of the extent: of a symbol that has bounds of its own a fact would fold to TRUE
            uppers = [(E.const(1), problem.extents[symbol] - 1)]
            others: list[Bool] = []
            for fact in problem.facts:
                if symbol not in fact.free():
                    others.append(fact)
                    continue
                bound = self._bound(problem, symbol, fact)
                if bound is None or not (sized or bound[1].is_const):
                    break
                upper, coef, rest = bound
                (uppers if upper else lowers).append((coef, rest))
            else:
                others.extend(between(lowers, uppers))
                del problem.extents[symbol]
                problem.facts = others
                return True
        return False

    def _one_sided(self, problem: _Problem) -> bool:
        """A symbol that all facts want as large as it may be, or all as small, in any alternative
        of theirs: it is."""
        for symbol, extent in problem.extents.items():
            if any(symbol in e.free() for e in (*problem.equations, *problem.extents.values())):
                continue
            within = conjuncts(E.lt(E.from_atom(symbol), extent))
            facts = (f for f in problem.facts if symbol in f.free() and f not in within)
            sides = (side for fact in facts for side in self._sides(problem, symbol, fact))
            first = next(sides, None)
            if first is not None and all(side is first for side in sides):
                problem.replace(symbol, E.const(0) if first else extent - 1)
                return True
        return False

    def _sides(self, problem: _Problem, symbol: Sym, fact: Bool) -> Iterator[bool | None]:
        """Of each comparison with the symbol whether it is an upper bound; None: of no side."""
        if symbol not in fact.free():
            return
        if fact.kind in (E.BoolKind.AND, E.BoolKind.OR):
            for part in fact.args:
                yield from self._sides(problem, symbol, part)
            return
        bound = self._bound(problem, symbol, fact)
        yield None if bound is None else bound[0]

    def _bound(self, problem: _Problem, symbol: Sym, fact: Bool) -> tuple[bool, Expr, Expr] | None:
        """``(True, c, rest)`` of ``c*symbol <= rest``, ``(False, c, rest)`` of ``>=``; c > 0."""
        if fact.kind is not E.BoolKind.LE or fact.expr is None:
            return None
        split = _linear(fact.expr, _Problem({symbol: problem.extents[symbol]}, []))
        if split is None:
            return None
        coef, rest = split[0][symbol], split[1]
        if problem.mentions(coef) or any(isinstance(atom, Ite) for atom in coef.atoms()):
            return None  # a choice is told apart by those who ask
        for upper, size, other in ((True, coef, -rest), (False, -coef, rest)):
            if self._is_size(problem, size):
                return upper, size, other
        return None

    def _is_size(self, problem: _Problem, value: Expr) -> bool:
        """Whether a value is positive wherever the problem has a solution.

        That is so of what the facts say it of, of extents, and of products of such.
        """
        if self._positive(value):
            return True
        known = {E.ge(size, 1) for size in problem.extents.values()}.union(problem.facts)
        if E.ge(value, 1) in known or value.const or len(value.terms) != 1:
            return E.ge(value, 1) in known
        factors, coef = value.terms[0]
        parts = map(E.from_atom, factors)
        return coef > 0 and all(E.ge(p, 1) in known or self._positive(p) for p in parts)

    # -- cases ---------------------------------------------------------------------------

    def _cases(self, problem: _Problem) -> tuple[list[_Problem], bool] | None:
        """A disjunction over the cases of one value or fact or the values of one short symbol."""
        choice = self._choice(problem)
        if choice is not None and self.branches >= 2:
            self.branches -= 1
            parts = []
            for test, chosen in ((choice.test, choice.then), (E.not_(choice.test), choice.other)):
                part = problem.copy()
                part.rewrite(Chosen(part.symbols(), choice, chosen))
                part.facts.append(test)
                parts.append(part)
            return parts, True
        for fact in problem.facts:
            if not problem.mentions(fact):
                continue
            options: list[Bool] = []
            if fact.kind is E.BoolKind.OR:
                options = list(fact.args)
            elif fact.kind is E.BoolKind.NE and fact.expr is not None:
                options = [E.lt(fact.expr, 0), E.gt(fact.expr, 0)]
            elif fact.kind is E.BoolKind.LE and fact.expr is not None:
                options = _one_argument(fact.expr, problem)
            if not options or len(options) > self.branches:
                continue
            self.branches -= len(options) - 1
            parts = []
            for option in options:
                part = problem.copy()
                part.facts.remove(fact)
                part.facts.append(option)
                parts.append(part)
            return parts, True
        for symbol, extent in problem.extents.items():
            limits = [hi for size in upper_bounds(extent) if (hi := E.bounds(size)[1]) is not None]
            if not limits or not 0 <= min(limits) <= min(_ENUMERATED, self.branches):
                continue
            self.branches -= min(limits) - 1
            parts = []
            for value in range(min(limits)):
                part = problem.copy()
                part.replace(symbol, E.const(value))
                parts.append(part)
            return parts, True
        return None

    def _choice(self, problem: _Problem) -> Ite | None:
        """A value that depends on a test of some symbol."""
        for term in [*problem.equations, *problem.extents.values()]:
            for atom in _choices(term, problem):
                return atom
        return None

    def _hardest(self, problem: _Problem) -> Sym:
        """The symbol to give up on: the one that occurs most often."""

        def weight(symbol: Sym) -> tuple[int, int]:
            uses = sum(symbol in e.free() for e in problem.equations)
            uses += sum(symbol in fact.free() for fact in problem.facts)
            return uses, -symbol.id

        return max(problem.extents, key=weight)


# ------------------------------------------------------------------------------- algebra


def _moduli(problem: _Problem, symbol: Sym) -> Iterator[int]:
    """What a symbol is divided by in the equations and facts of a problem, if that is a number."""
    compared = (fact.expr for fact in problem.facts if fact.expr is not None)
    for term in (*problem.equations, *compared):
        yield from divisors(term, symbol)


def _choices(term: Expr, problem: _Problem) -> list[Ite]:
    """The values in a term that depend on a test of some symbol, also in minima and quotients."""
    found: list[Ite] = []
    stack = [term] if problem.mentions(term) else []
    while stack:
        for atom in stack.pop().atoms():
            if isinstance(atom, Ite) and problem.mentions(E.from_atom(atom)):
                found.append(atom)
            elif not isinstance(atom, Sym):
                stack.extend(e for e in atom.children() if isinstance(e, Expr))
    return found


def _one_argument(e: Expr, problem: _Problem) -> list[Bool]:
    """``min(a, b) <= 0`` as the cases ``a <= 0`` and ``b <= 0``, where it is about a symbol."""
    for mono, coef in e.terms:
        atom = mono[0]
        if len(mono) > 1 or not isinstance(atom, Extremum):
            continue
        if (atom.kind == "min") == (coef > 0) and problem.mentions(E.from_atom(atom)):
            rest = e - E.from_atom(atom) * coef
            return [E.le(rest + arg * coef, 0) for arg in atom.args]
    return []


def _linear(e: Expr, problem: _Problem) -> tuple[dict[Sym, Expr], Expr] | None:
    """Coefficients (free of the symbols) and the rest; None if it is not linear in the symbols."""
    coefs: dict[Sym, Expr] = {}
    rest = E.const(e.const)
    for mono, coef in e.terms:
        inside: list[Sym] = []
        outside: list[Atom] = []
        for atom in mono:
            if isinstance(atom, Sym) and atom in problem.extents:
                inside.append(atom)
            elif any(symbol in problem.extents for symbol in E.atom_free(atom)):
                return None
            else:
                outside.append(atom)
        factor = E.Expr.make({tuple(outside): coef}, 0) if outside else E.const(coef)
        if not inside:
            rest = rest + factor
        elif len(inside) > 1:
            return None
        else:
            coefs[inside[0]] = coefs.get(inside[0], E.const(0)) + factor
    return coefs, rest


__all__ = ["Decide", "coverage", "exists", "point", "same_frame"]
