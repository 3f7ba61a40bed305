"""Integers that there are: a formula without them that says the same.

``exists(formula, symbols)`` says of which other values some integers satisfy a formula. Nothing is
approximated: the answer means the same as the formula with the quantifier, or there is none. Pairs
of bounds of a symbol are compared (Fourier and Motzkin), which is exact over the integers where
each pair has a coefficient of one, and elsewhere with rounded quotients.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from msgspec import Struct

from verifier.symbolic import expr as E
from verifier.symbolic.expr import FALSE, TRUE, Atom, Bool, Expr, Sym

#: conjunctions that a formula may fall into, comparisons in one of them, and those gone through
_CUBES = 400
_LITERALS = 120
_WORK = 12_000

_Cube = tuple[Bool, ...]


class _NoAnswerError(Exception):
    """The formula has a form that cannot be eliminated exactly, or is too large."""


def exists(
    formula: Bool, symbols: Collection[Sym], positive: Callable[[Expr], bool]
) -> list[Bool] | None:
    """Formulas without ``symbols`` one of which holds exactly where some integers satisfy it.

    ``positive`` says whether an expression without the symbols is known to be at least 1. None: no
    such formulas were found.
    """
    search = _Search(positive)
    try:
        return list(dict.fromkeys(search.eliminated(formula, symbols)))
    except (_NoAnswerError, RecursionError):
        return None


class _Search(Struct):
    positive: Callable[[Expr], bool]
    cubes: int = 0
    work: int = 0

    def eliminated(self, formula: Bool, symbols: Collection[Sym]) -> Iterator[Bool]:
        for cube in self._cubes((), [formula]):
            yield from self._without(cube, {s.id for s in symbols})

    # -- conjunctions ------------------------------------------------------------------

    def _cubes(self, done: _Cube, open_: Sequence[Bool]) -> Iterator[_Cube]:
        """The conjunctions of comparisons that a conjunction of formulas falls into."""
        self._spend(len(done) + len(open_))
        literals = list(done)
        rest: list[Bool] = []
        stack = list(reversed(open_))
        while stack:
            item = stack.pop()
            if item is FALSE:
                return
            if item.kind is E.BoolKind.AND:
                stack.extend(reversed(item.args))
            elif item.kind is E.BoolKind.OR:
                rest.append(item)
            elif item is not TRUE:
                literals.append(item)
        whole = E.and_(*literals, *rest)
        if whole is FALSE:
            return
        parts = whole.args if whole.kind is E.BoolKind.AND else (whole,)
        literals = [
            p for p in parts if p.kind not in (E.BoolKind.OR, E.BoolKind.AND) and p is not TRUE
        ]
        rest = [p for p in parts if p.kind is E.BoolKind.OR]
        if any(p.kind is E.BoolKind.AND for p in parts):
            yield from self._cubes((), parts)
            return
        if not rest:
            self._count(literals)
            yield tuple(literals)
            return
        first = min(rest, key=lambda p: len(p.args))
        others = [p for p in rest if p is not first]
        for alternative in first.args:
            yield from self._cubes(tuple(literals), [*others, alternative])

    def _count(self, literals: Sequence[Bool]) -> None:
        self.cubes += 1
        if self.cubes > _CUBES or len(literals) > _LITERALS:
            raise _NoAnswerError

    def _spend(self, amount: int) -> None:
        self.work += amount
        if self.work > _WORK:
            raise _NoAnswerError

    # -- one conjunction ---------------------------------------------------------------

    def _without(self, cube: _Cube, wanted: set[int]) -> Iterator[Bool]:
        """The conjunction without the symbols: one formula for each case of it."""
        while True:
            whole = E.and_(*cube)
            if whole is FALSE:
                return
            if whole.kind is E.BoolKind.OR or (whole.kind is E.BoolKind.AND and _mixed(whole)):
                yield from self._each([[whole]], wanted)
                return
            cube = whole.args if whole.kind is E.BoolKind.AND else (whole,)
            if len(cube) > _LITERALS:
                raise _NoAnswerError
            self._spend(len(cube))
            nested = _nested(cube, wanted)
            symbol = self._next(cube, wanted) if nested is None else None
            if nested is not None:
                cases = self._unfolded(cube, nested, wanted)
            elif symbol is not None:
                cases = self._step(cube, symbol)
            else:
                yield whole
                return
            if len(cases) > 1:
                yield from self._each(cases, wanted)
                return
            cube = tuple(cases[0])

    def _each(self, cases: Sequence[Sequence[Bool]], wanted: set[int]) -> Iterator[Bool]:
        """The cases of a conjunction without the symbols."""
        for case in cases:
            for cube in self._cubes((), case):
                yield from self._without(cube, wanted)

    def _unfolded(self, cube: _Cube, atom: Atom, wanted: set[int]) -> list[list[Bool]]:
        """The cases of a quotient, a choice or an extremum of wanted symbols."""
        if isinstance(atom, E.Div):
            if not (atom.den.is_const and atom.den.const > 0):
                raise _NoAnswerError
            quotient = E.fresh("quotient", origin=E.Origin.SOLVER)
            made = quotient.as_atom()
            assert isinstance(made, Sym)
            wanted.add(made.id)
            rest = atom.num - quotient * atom.den
            between = [E.ge(rest, 0), E.lt(rest, atom.den)]
            return [[*(put(lit, atom, quotient) for lit in cube), *between]]
        if isinstance(atom, E.Ite):
            return [
                [*(put(lit, atom, atom.then) for lit in cube), atom.test],
                [*(put(lit, atom, atom.other) for lit in cube), E.not_(atom.test)],
            ]
        if isinstance(atom, E.Extremum):
            below = E.le if atom.kind == "min" else E.ge
            return [
                [
                    *(put(lit, atom, value) for lit in cube),
                    *(below(value, other) for other in atom.args if other is not value),
                ]
                for value in atom.args
            ]
        raise _NoAnswerError

    def _next(self, cube: _Cube, wanted: set[int]) -> Sym | None:
        """The symbol that goes next: one that an equation gives first, then the simplest."""
        best: tuple[int, int, Sym] | None = None
        for symbol in dict.fromkeys(s for lit in cube for s in lit.free() if s.id in wanted):
            grade = 0
            for literal in cube:
                if symbol not in literal.free():
                    continue
                factor = _factor(literal, symbol)
                unit = factor.is_const and abs(factor.const) == 1
                if literal.kind is E.BoolKind.EQ and unit:
                    grade = -100
                    break
                grade += (1 if unit else 4 if factor.is_const else 12) + (
                    literal.kind is E.BoolKind.NE
                )
            key = (grade, symbol.id, symbol)
            if best is None or key[:2] < best[:2]:
                best = key
        return None if best is None else best[2]

    def _step(self, cube: _Cube, symbol: Sym) -> list[list[Bool]]:
        """The conjunction without one symbol, or its cases with it."""
        about = [lit for lit in cube if symbol in lit.free()]
        rest = [lit for lit in cube if symbol not in lit.free()]
        equations = [lit for lit in about if lit.kind is E.BoolKind.EQ]
        equations.sort(key=lambda lit: not _is_unit(_factor(lit, symbol)))
        if equations:
            return [[*rest, *self._solved(equations[0], about, symbol)]]
        for literal in about:
            if literal.kind is E.BoolKind.NE:
                assert literal.expr is not None
                others = [*rest, *(lit for lit in about if lit is not literal)]
                return [
                    [*others, E.lt(literal.expr, 0)],
                    [*others, E.gt(literal.expr, 0)],
                ]
        for literal in about:
            factor = _factor(literal, symbol)
            if self._sign(factor, cube) == 0:
                return _by_sign(cube, literal, factor, symbol)
        return [[*rest, *self._paired(about, symbol, cube)]]

    def _solved(self, equation: Bool, about: Sequence[Bool], symbol: Sym) -> Iterator[Bool]:
        """What the literals say of the value that an equation gives the symbol."""
        assert equation.expr is not None
        factor = _factor(equation, symbol)
        left = equation.expr - E.from_atom(symbol) * factor
        if not factor.is_const:
            raise _NoAnswerError
        value = E.floordiv(-left, factor)
        if abs(factor.const) != 1:
            yield E.eq(E.mod(left, abs(factor.const)), 0)
        if symbol.lo is not None:
            yield E.ge(value, symbol.lo)
        if symbol.hi is not None:
            yield E.le(value, symbol.hi)
        at = E.Substitution({symbol: value})
        for literal in about:
            if literal is not equation:
                yield at.bool(literal)

    def _paired(self, about: Sequence[Bool], symbol: Sym, cube: _Cube) -> Iterator[Bool]:
        """Each lower bound of the symbol is at most each upper one."""
        lower: list[tuple[Expr, Expr]] = []  # (factor, bound): factor * symbol >= bound
        upper: list[tuple[Expr, Expr]] = []
        if symbol.lo is not None:
            lower.append((E.const(1), E.const(symbol.lo)))
        if symbol.hi is not None:
            upper.append((E.const(1), E.const(symbol.hi)))
        for literal in about:
            assert literal.expr is not None
            factor = _factor(literal, symbol)
            left = literal.expr - E.from_atom(symbol) * factor
            if self._sign(factor, cube) > 0:
                upper.append((factor, -left))
            else:
                lower.append((-factor, left))
        for low_factor, low in lower:
            for high_factor, high in upper:
                if _is_unit(low_factor):
                    yield E.le(low * high_factor, high)
                elif _is_unit(high_factor):
                    yield E.le(low, high * low_factor)
                else:
                    yield E.le(E.ceildiv(low, low_factor), E.floordiv(high, high_factor))

    def _sign(self, factor: Expr, cube: _Cube) -> int:
        """1 or -1; 0 if it is not known."""
        if factor.is_const:
            return 1 if factor.const > 0 else -1
        if E.ge(factor, 1) in cube or self.positive(factor):
            return 1
        return -1 if E.le(factor, -1) in cube or self.positive(-factor) else 0


def _by_sign(cube: _Cube, literal: Bool, factor: Expr, symbol: Sym) -> list[list[Bool]]:
    """The cases of a factor that may be zero or of either sign."""
    assert literal.expr is not None
    rest = [other for other in cube if other is not literal]
    left = E.le(literal.expr - E.from_atom(symbol) * factor, 0)
    return [
        [*cube, E.ge(factor, 1)],
        [*cube, E.le(factor, -1)],
        [*rest, left, E.eq(factor, 0)],
    ]


def _mixed(whole: Bool) -> bool:
    return any(part.kind in (E.BoolKind.OR, E.BoolKind.AND) for part in whole.args)


def _is_unit(factor: Expr) -> bool:
    return factor.is_const and abs(factor.const) == 1


def _nested(cube: _Cube, wanted: set[int]) -> Atom | None:
    """An outermost quotient, choice or extremum of wanted symbols."""
    for literal in cube:
        if literal.expr is None:
            continue
        for atom in literal.expr.atoms():
            if not isinstance(atom, Sym) and any(s.id in wanted for s in E.atom_free(atom)):
                return atom
    return None


def put(literal: Bool, atom: Atom, value: Expr) -> Bool:
    """The literal with a value in place of an outermost atom."""
    if literal.expr is None or all(item is not atom for item in literal.expr.atoms()):
        return literal
    total = E.const(literal.expr.const)
    for mono, factor in literal.expr.terms:
        product = E.const(factor)
        for item in mono:
            product = product * (value if item is atom else E.from_atom(item))
        total = total + product
    return compared(literal.kind, total)


def compared(kind: E.BoolKind, e: Expr) -> Bool:
    """The comparison of that kind with zero."""
    if kind is E.BoolKind.LE:
        return E.le(e, 0)
    return E.eq(e, 0) if kind is E.BoolKind.EQ else E.ne(e, 0)


def _factor(literal: Bool, symbol: Sym) -> Expr:
    """What the symbol is multiplied with in a comparison."""
    if literal.expr is None:
        raise _NoAnswerError
    terms: dict[tuple[Atom, ...], int] = {}
    constant = 0
    for mono, factor in literal.expr.terms:
        count = sum(item is symbol for item in mono)
        if count == 0:
            continue
        rest = tuple(item for item in mono if item is not symbol)
        if count > 1:
            raise _NoAnswerError
        if rest:
            terms[rest] = terms.get(rest, 0) + factor
        else:
            constant += factor
    return E.Expr.make(terms, constant)
