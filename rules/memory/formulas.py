"""Formulas about elements, kept small: what holds anyway is left out, cases are told apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from functools import reduce
from itertools import permutations

from msgspec import Struct

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.memory.index import Access
from verifier.symbolic.memory.known import Known
from verifier.symbolic.tensors import Axis, Loop, StorageKind, View
from verifier.symbolic.trace import Trace
from verifier.symbolic.views.common import conjuncts, numbers_said

#: places along an axis that are looked at one by one
_NUMBERS = 200
#: parts of a case, each of which is held against the others
_CONJUNCTS = 4


def pinned(trace: Trace) -> E.Substitution:
    """The sizes that the kernel demands to be a number."""
    return E.Substitution(dict(numbers_of(trace)))


def numbers_of(trace: Trace) -> dict[E.Sym, Expr]:
    """The numbers that the kernel demands some sizes to be."""
    return numbers_said(item.condition for item in trace.assumptions)


class Sizes(Struct, frozen=True):
    """What the kernel demands of sizes: to be a number, or an integer that it is given."""

    numbers: dict[E.Sym, Expr]
    integers: dict[E.Sym, Expr]

    @staticmethod
    def of(trace: Trace) -> Sizes:
        given = (s for s in trace.storages if s.kind is StorageKind.INPUT)
        extents = {symbol for storage in given for size in storage.shape for symbol in size.free()}
        integers: dict[E.Sym, Expr] = {}
        for item in trace.assumptions:
            for fact in conjuncts(item.condition):
                if fact.kind is not E.BoolKind.EQ or fact.expr is None or fact.expr.const:
                    continue
                for one, other in permutations(sorted(fact.expr.free(), key=_name), 2):
                    difference = E.from_atom(one) - E.from_atom(other)
                    same = fact.expr is difference or fact.expr is -difference
                    if same and one in extents and other not in extents:
                        integers.setdefault(one, E.from_atom(other))
        return Sizes(numbers_of(trace), integers)


def _name(symbol: E.Sym) -> str:
    return symbol.name


class Ranges:
    """What is known of the symbols of an access: facts, and how far its indices go."""

    def __init__(self, access: Access, assumed: Known) -> None:
        self._access = access
        self._left: dict[Bool, Bool] = {}
        self.known = assumed.also((*access.path, *access.ranges), access.loops)
        sizes = [(loop.symbol, loop.trips) for loop in access.loops]
        sizes += [(axis.symbol, axis.size) for axis in access.view.axes]
        self._bounded = E.Substitution(
            {
                symbol: E.symbol(f"{symbol.name} < {size.const}", 0, size.const - 1, symbol.origin)
                if size.const > 1
                else E.const(0)
                for symbol, size in self._apart(sizes)
                if size.is_const and size.const > 0
            }
        )

    @staticmethod
    def _apart(sizes: list[tuple[E.Sym, E.Expr]]) -> list[tuple[E.Sym, E.Expr]]:
        """Those whose names are their own: bounds are kept by name."""
        names = [symbol.name for symbol, _ in sizes]
        return [(symbol, size) for symbol, size in sizes if names.count(symbol.name) == 1]

    def also(self, facts: Sequence[Bool], loops: Sequence[Loop]) -> Ranges:
        """What is known, besides, where these facts hold, inside these loops."""
        found = copy(self)
        found._left = {}
        found.known = self.known.also(facts, loops)
        return found

    def holds(self, condition: Bool) -> bool:
        if self.known.decide(condition) is True:
            return True
        return self._bounded.bool(condition) is E.TRUE or self._each(condition)

    def _each(self, condition: Bool) -> bool:
        """Whether it holds at each number that the mask leaves of the one axis that it asks for."""
        view, free = self._access.view, condition.free()
        if view.mask is E.TRUE or len(free) != 1:
            return False
        (symbol,) = free
        size = next((a.size for a in view.axes if a.symbol is symbol), None)
        masks = [part for part in conjuncts(view.mask) if part.free() == free]
        if not masks or size is None or not size.is_const or size.const > _NUMBERS:
            return False
        for number in range(size.const):
            put = E.Substitution({symbol: E.const(number)})
            if put.bool(E.and_(*masks)) is not E.FALSE and put.bool(condition) is not E.TRUE:
                return False
        return True

    def without(self, formula: Bool) -> Bool:
        """The formula without what is known."""
        found = self._left.get(formula)
        if found is None:
            if formula.kind is E.BoolKind.AND:
                left = E.and_(*(self.without(part) for part in formula.args))
                found = E.and_(*_tightest(conjuncts(left)))
            elif formula.kind is E.BoolKind.OR:
                found = self._either([self._case(part) for part in formula.args])
            else:
                found = E.TRUE if self.holds(formula) else formula
            self._left[formula] = found
        return found

    def _case(self, case: Bool) -> Bool:
        """One of several alternatives, without what follows from the rest of it."""
        parts = conjuncts(self.without(case))
        if not 1 < len(parts) <= _CONJUNCTS:
            return E.and_(*parts)
        for part in parts:
            rest = [other for other in parts if other is not part]
            if part.kind not in E.JUNCTIONS and self.known.also(rest, ()).decide(part):
                parts = tuple(rest)
        return E.and_(*parts)

    def _either(self, cases: list[Bool]) -> Bool:
        """The disjunction, with what is common to all cases said once."""
        cases = list(dict.fromkeys(case for case in cases if case is not E.FALSE))
        if len(cases) < 2 or E.TRUE in cases:
            return E.or_(*cases)
        cases = _widest(cases)
        if len(cases) < 2:
            return E.or_(*cases)
        parts = [conjuncts(case) for case in cases]
        shared = reduce(lambda left, right: tuple(x for x in left if x in right), parts)
        rests = [E.and_(*(part for part in each if part not in shared)) for each in parts]
        if any(E.not_(rest) in rests for rest in rests) or self._adjoin(rests):
            return E.and_(*shared)
        return E.and_(*shared, E.or_(*rests))

    def _adjoin(self, cases: list[Bool]) -> bool:
        """Whether the cases say that something is 0, or 1, ..., or more; or less, if it may be."""
        zeros = [
            case.expr for case in cases if case.kind is E.BoolKind.EQ and case.expr is not None
        ]
        bounds = [case.expr for case in cases if case.kind is E.BoolKind.LE]
        for zero in zeros:
            value = zero
            while value in zeros:
                value = value - 1
            if -value in bounds and (zero + 1 in bounds or self.holds(E.ge(zero, 0))):
                return True
        return False


def _widest(cases: list[Bool]) -> list[Bool]:
    """The cases without those that another one contains."""
    kept: list[Bool] = []
    for number, case in enumerate(cases):
        others = (*kept, *cases[number + 1 :])
        if not any(_within(case, other) for other in others):
            kept.append(case)
    return kept


def _tightest(parts: Sequence[Bool]) -> list[Bool]:
    """What is demanded at once, without what another one of the demands says, too."""
    kept: list[Bool] = []
    for number, part in enumerate(parts):
        alternatives = cases(part)
        others = (*kept, *parts[number + 1 :])
        if not any(
            all(any(_within(case, wanted) for wanted in alternatives) for case in cases(other))
            for other in others
        ):
            kept.append(part)
    return kept


def _within(case: Bool, other: Bool) -> bool:
    """Whether one case plainly implies another one: by what they say of one bound."""
    parts = conjuncts(case)
    return all(any(_says(part, wanted) for part in parts) for wanted in conjuncts(other))


def _says(fact: Bool, wanted: Bool) -> bool:
    if fact is wanted:
        return True
    if wanted.kind is not E.BoolKind.LE or fact.expr is None or wanted.expr is None:
        return False
    if fact.kind is E.BoolKind.EQ:
        return any(_is_below(wanted.expr, bound) for bound in (fact.expr, -fact.expr))
    return fact.kind is E.BoolKind.LE and _is_below(wanted.expr, fact.expr)


def _is_below(term: Expr, other: Expr) -> bool:
    """Whether two terms differ by a number, and the first is not the larger one."""
    return term.terms == other.terms and term.const <= other.const


def cases(condition: Bool) -> list[Bool]:
    """A condition as cases: what is eliminated from each need not deal with alternatives."""
    if condition is E.FALSE:
        return []
    return list(condition.args) if condition.kind is E.BoolKind.OR else [condition]


def size(formulas: Sequence[Bool], most: int) -> int:
    """How many parts formulas have, counted up to some number."""
    count = 0
    left = list(formulas)
    while left and count <= most:
        formula = left.pop()
        count += 1
        if formula.kind in E.JUNCTIONS:
            left.extend(formula.args)
    return count


def widened(taken: Bool, found: Bool) -> Bool:
    """Less than a round has found: of each demand that is new, the alternatives that it has in
    common with one that was there before. It implies what was found."""
    known = [*map(set, demands_of(taken))]
    kept: list[list[Bool]] = []
    for alternatives in demands_of(found):
        if set(alternatives) not in known:
            common = [[case for case in alternatives if case in other] for other in known]
            alternatives = max(common, key=len, default=[])
        kept.append(alternatives)
    tight = (part for part in kept if not any(set(other) < set(part) for other in kept))
    return E.and_(*(E.or_(*part) for part in tight))


def demands_of(formula: Bool) -> Iterator[list[Bool]]:
    """What a formula demands at once, each with its alternatives; those that are several demands
    with alternatives of their own are told apart."""
    for part in conjuncts(formula):
        alternatives = cases(part)
        deep = [a for a in alternatives if any(len(cases(b)) > 1 for b in conjuncts(a))]
        if len(deep) == 1 and len(alternatives) > 1:
            rest = [a for a in alternatives if a is not deep[0]]
            yield from ([*dict.fromkeys((*inner, *rest))] for inner in demands_of(deep[0]))
        else:
            yield alternatives


def no_later(source: View, target: View) -> Bool:
    """That an element of the free axes of one view streams by no later than one of another."""
    mine, its = source.axes[1:], target.axes[1:]
    if len(mine) == len(its) and all(a.size is b.size for a, b in zip(mine, its, strict=True)):
        found = E.TRUE
        for a, b in zip(reversed(mine), reversed(its), strict=True):
            found = E.or_(E.lt(a.index, b.index), E.and_(E.eq(a.index, b.index), found))
        return found
    return E.le(_number(mine), _number(its))


def another(axis: Axis) -> Axis:
    """The same axis with an index of another name."""
    symbol = E.fresh("t", 0, axis.symbol.hi, E.Origin.AXIS).as_atom()
    assert isinstance(symbol, E.Sym)
    return Axis(symbol, axis.size)


def _number(axes: Sequence[Axis]) -> Expr:
    """How many elements stream by before the one that some axes name."""
    number = E.const(0)
    for axis in axes:
        number = number * axis.size + axis.index
    return number


def pruned(formula: Bool, known: Known) -> Bool:
    """A formula without what is known to hold, or not to."""
    if known.decide(formula) is True:
        return E.TRUE
    if known.decide(E.not_(formula)) is True:
        return E.FALSE
    if formula.kind is E.BoolKind.AND:
        return E.and_(*(pruned(part, known) for part in formula.args))
    if formula.kind is E.BoolKind.OR:
        return E.or_(*(pruned(part, known) for part in formula.args))
    return formula
