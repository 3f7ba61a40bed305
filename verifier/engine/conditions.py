"""A set of conditions in the form that somebody reads: none follows from the others.

Each step leaves the set as strong as it was, for the inputs that the kernel admits: alternatives
that nobody meets go, a condition becomes a simpler one that says the same beside the others, a
consequence of the set replaces what it implies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from verifier.engine.candidates import bounds_size, sides, simpler, values_of, wanted
from verifier.engine.evaluable import has_value
from verifier.engine.forms import (
    conjuncts,
    divisibility,
    entails,
    is_plain,
    single,
    size_of,
    steps_of,
    weight,
)
from verifier.engine.plain import each_divides, of_each_divisor, of_one_value, resolved, unrounded
from verifier.engine.remainders import Joining, divides, in_remainders, of_a_period, of_one_base
from verifier.solver.elimination import compared
from verifier.solver.polynomial import products
from verifier.solver.query import Query
from verifier.solver.solver import Solver
from verifier.symbolic import expr as E
from verifier.symbolic.equivalent import equivalent
from verifier.symbolic.expr import FALSE, TRUE, Bool, Expr, Sym
from verifier.symbolic.views.common import numbers_said

_ROUNDS = 3
#: choices and extrema of a comparison of which the cases are looked at
_MOST_CASES = 3
#: numbers that a size may be bounded to beside other conditions
_FEW = (1, 2)
#: bounds of one size by another that are looked for
_WANTED = 40
#: beyond every size
_MOST = 1 << 40


class Item(Struct):
    """A condition and the obligations that need it, by their positions, the first ones first.

    ``sides``: where it comes of several that say different things, the obligations of each.
    """

    condition: Bool
    of: tuple[int, ...]
    sides: tuple[tuple[int, ...], ...] = ()

    def each(self) -> tuple[tuple[int, ...], ...]:
        """The obligations that need it, those together that need the same of it."""
        return self.sides or (self.of,)


class Normal:
    """Brings conditions into their readable form, under what is known of the inputs."""

    def __init__(self, known: Sequence[Bool], solver: Solver) -> None:
        self._known = tuple(known)
        self._solver = solver
        self._same = E.Substitution(_equal_sizes(known))

    def form(self, items: Iterable[Item]) -> list[Item]:
        """The set as strong as ``items``, the simplest one found."""
        known, items = self._known, list(items)
        told = of_one_value([self._same.bool(item.condition) for item in items], known)
        said = (
            Item(self._in_remainders(condition, known), item.of)
            for condition, item in zip(told, items, strict=True)
        )
        current = _without_entailed(_resolved(_joined(_split(said))))
        for _ in range(_ROUNDS):
            current = self.without_implied(current, current)
            before = [item.condition for item in current]
            for position in range(len(current)):
                self._simplify(current, position)
            current = self._with_consequences(
                self._pinned(_equal(_resolved(_joined(_split(current)))))
            )
            if {item.condition for item in current} == set(before):
                break
        current = _of_one_dtype(_resolved(current, of_one_base))
        current = _shared(_rounded(current, self._known))
        return in_reading_order(current)

    def met(self, items: Iterable[Item]) -> list[Item]:
        """Conditions on dtypes without the sizes for which they do not matter, if none are met."""
        said: dict[Bool, Bool] = {}
        each = _resolved(_joined(_split(items)))
        each = self.without_implied(each, [item for item in each if item.condition.flags()])
        return [replace(i, condition=self._of_dtypes(i.condition, said)) for i in each]

    def _of_dtypes(self, clause: Bool, said: dict[Bool, Bool]) -> Bool:
        """A condition on dtypes without the alternatives on sizes that no input has, the others in
        plain words; ``said``: what they come to, as many dtypes hang on the same sizes."""
        if clause.kind is E.BoolKind.AND:
            return E.and_(*(self._of_dtypes(part, said) for part in clause.args))
        if clause.kind is not E.BoolKind.OR:
            return clause
        parts = []
        for part in clause.args:
            if all(s.domain is None for s in part.free()) and part.free():
                if part not in said:
                    none = self._follows(self._known, E.not_(part))
                    said[part] = FALSE if none else self._plainer(part, self._known)
                part = said[part]
            elif any(s.domain is None for s in part.free()) and self._follows(
                self._known, E.not_(part)
            ):
                part = FALSE
            parts.append(part)
        return E.or_(*parts)

    def _in_remainders(self, condition: Bool, facts: tuple[Bool, ...]) -> Bool:
        """A condition with remainders in the place of rounded quotients that say the same."""
        if condition.kind in E.JUNCTIONS:
            parts = [self._in_remainders(part, facts) for part in condition.args]
            return E.and_(*parts) if condition.kind is E.BoolKind.AND else E.or_(*parts)
        condition = unrounded(condition)
        each = each_divides(condition)
        if each is not None or condition.expr is None:
            return condition if each is None else each
        for holds, term in ((True, condition), (False, E.not_(condition))):
            divided = divisibility(term)
            if divided is not None:
                return divides(*divided, holds)
        counted = of_a_period(condition)
        if counted is not None:
            return counted if weight(counted) < weight(condition) else condition
        found = in_remainders(condition)
        if found is None or weight(found[0]) >= weight(condition):
            return condition
        return found[0] if self._follows(facts, E.ge(found[1], 1)) else condition

    def _by_cases(self, clause: Bool, facts: tuple[Bool, ...]) -> Bool:
        """The cases of choices and of extrema in the place of a comparison with them, if these
        are simpler; each has a value wherever the comparison has one."""
        cases = sides(clause)
        chosen = of_each_divisor(clause)
        if chosen is not clause and not E.divisors((chosen,)):
            found = self._plainer(self._fewer(self._plainer(chosen, facts), facts), facts)
            return found if weight(found) < weight(clause) else clause
        if cases is None or E.divisors((clause,)) or _cases(clause) > _MOST_CASES:
            return clause
        found = self._plainer(cases, facts)
        lines = 1 if found.kind is E.BoolKind.AND else 0  # more than one to read
        return found if weight(found) + lines < weight(clause) else clause

    # -- steps -------------------------------------------------------------------------

    def _facts(self, items: Sequence[Item], but: int) -> tuple[Bool, ...]:
        return (*self._known, *(x.condition for i, x in enumerate(items) if i != but))

    def _follows(self, facts: tuple[Bool, ...], goal: Bool) -> bool:
        """Whether it holds where the facts do, where all of these have a value: of inputs that
        make a goal divide by zero the solver says nothing, and a condition without a value is
        one that is not met."""
        proved = self._solver.check(Query(facts, goal)).proved
        return proved and has_value(goal, facts, self._solver)

    def _simplify(self, items: list[Item], position: int) -> None:
        """Replace a condition by a simpler one that says the same beside the others."""
        item = items[position]
        if item.condition in _dividing(items):
            items[position] = replace(item, condition=_positive(item.condition))
            return
        facts = self._facts(items, position)
        clause = self._plainer(self._fewer(item.condition, facts), facts, alone=True)
        items[position] = replace(item, condition=clause)

    def _plainer(self, clause: Bool, facts: tuple[Bool, ...], *, alone: bool = False) -> Bool:
        """The same in simpler words; an alternative counts only where no other one holds.

        ``alone``: it is no alternative, so nothing is right where it has no value.
        """
        if clause.kind is E.BoolKind.OR:
            parts = list(clause.args)
            for position, part in enumerate(parts):
                # the others as they are by now: two that lean on each other would both go; one
                # that divides by zero does not hold, and neither does that it does not
                beside = (other for i, other in enumerate(parts) if i != position)
                others = (E.not_(o) for o in beside if has_value(o, facts, self._solver))
                parts[position] = self._plainer(part, (*facts, *others))
            clause = E.or_(*parts)
        elif clause.kind is E.BoolKind.AND:
            parts, zeros = list(clause.args), E.divisors((clause,))
            for position, part in enumerate(parts):
                given = (*facts, *(other for i, other in enumerate(parts) if i != position))
                gone = not zeros and self._follows(given, part)
                parts[position] = TRUE if gone else self._plainer(part, given)
            return E.and_(*parts)
        else:
            clause = self._cancelled(self._chosen(clause, facts), facts)
            clause = self._by_cases(self._in_remainders(clause, facts), facts)
            if clause.expr is None:
                return clause
            bounds = self._multiplied(clause, facts, alone)
            if bounds is not clause and bounds.kind is E.BoolKind.OR:
                return self._plainer(bounds, facts)
            clause = _all_positive(_only_one(bounds, facts))
        clause = _positive(clause)
        for candidate in simpler(clause, facts):
            if weight(candidate) >= weight(clause) or candidate is FALSE:
                continue
            if self._follows((*facts, clause), candidate) and self._follows(
                (*facts, candidate), clause
            ):
                return candidate
        return clause

    def _fewer(self, clause: Bool, facts: tuple[Bool, ...]) -> Bool:
        """The clause without alternatives that no input has or that imply the rest."""
        if clause.kind is not E.BoolKind.OR:
            return clause
        kept = list(clause.args)
        for alternative in clause.args:
            rest = [part for part in kept if part is not alternative]
            if rest and self._follows((*facts, alternative), E.or_(*rest)):
                kept = rest
        return E.or_(*kept)

    def _chosen(self, clause: Bool, facts: tuple[Bool, ...]) -> Bool:
        """A comparison with what is chosen in the place of each choice that is settled, also of
        those on sizes alone that stand in other terms."""
        while clause.expr is not None:
            outer = dict.fromkeys(clause.expr.atoms())
            inner = (a for a in E.walk(clause) if isinstance(a, E.Ite) and _of_sizes(a))
            for atom in (*outer, *inner):
                value = self._choice(atom, facts)
                if value is not None:
                    clause = E.Substitution({}, atoms={atom: value}).bool(clause)
                    break
            else:
                break
        return clause

    def _choice(self, atom: E.Atom, facts: tuple[Bool, ...]) -> Expr | None:
        """What a choice or an extremum always comes to."""
        if isinstance(atom, E.Ite):
            if self._follows(facts, atom.test):
                return atom.then
            if self._follows(facts, E.not_(atom.test)):
                return atom.other
            whole = E.from_atom(atom)
            values = (v for v in values_of(atom) if size_of(v) < size_of(whole))
            return next((v for v in values if self._follows(facts, E.eq(whole, v))), None)
        if isinstance(atom, E.Extremum):
            whole = E.from_atom(atom)
            return next((a for a in atom.args if self._follows(facts, E.eq(whole, a))), None)
        return None

    def _multiplied(self, clause: Bool, facts: tuple[Bool, ...], alone: bool) -> Bool:
        """A bound of a quotient by what is no number as bounds of what is divided.

        ``a // b >= k`` is ``a >= k*b`` where ``b`` is positive, ``a <= k*b`` where it is negative.
        """
        e = clause.expr
        if clause.kind is not E.BoolKind.LE or e is None or len(e.terms) != 1:
            return clause
        ((mono, factor),) = e.terms
        atom = mono[0]
        if len(mono) != 1 or abs(factor) != 1 or not isinstance(atom, E.Div) or atom.den.is_const:
            return clause
        num, den = atom.num, atom.den
        divides = TRUE if self._follows(facts, E.ne(den, 0)) else E.ne(den, 0)
        if divides is not TRUE and not alone:
            return clause
        if factor < 0:
            above, below = E.ge(num, den * e.const), E.le(num, den * e.const)
        else:
            above, below = E.lt(num, den * (1 - e.const)), E.gt(num, den * (1 - e.const))
        if e.const == (0 if factor > 0 else 1) and self._follows(facts, E.ge(den, 1)):
            return above
        sides = [E.or_(E.le(den, -1), above), E.or_(E.ge(den, 1), below)]
        facts = (*facts, divides)
        if e.const == 1 if factor > 0 else e.const in (0, 1):  # no multiple of the divisor is said
            sides = [side for side in sides if not self._follows(facts, side)]
        found = E.and_(divides, *(self._fewer(side, facts) for side in sides))
        return found if weight(found) < weight(clause) else clause

    def _cancelled(self, clause: Bool, facts: tuple[Bool, ...]) -> Bool:
        """A comparison of two products without the positive factors that they share, and one of
        a product with zero without the factor that has a sign: ``(n - s)*(a - b) == 0``."""
        e = clause.expr
        if e is None or e.const or not e.terms:
            return clause
        for signed, other in products(e):
            if self._follows(facts, E.ge(signed, 1)):
                return self._cancelled(compared(clause.kind, other), facts)
        for atom in dict.fromkeys(e.terms[0][0]):
            factor = E.from_atom(atom)
            if all(atom in mono for mono, _ in e.terms) and self._follows(facts, E.ge(factor, 1)):
                quotient = E.exact_quotient(e, factor)
                if quotient is not None:
                    return self._cancelled(compared(clause.kind, quotient), facts)
        return clause

    def without_implied(self, items: Sequence[Item], which: Sequence[Item]) -> list[Item]:
        """``items`` without those of ``which`` that follow from the others, the heavier first."""
        current = list(items)
        dividing = _dividing(items)
        for item in sorted(which, key=lambda x: -weight(x.condition)):
            position = current.index(item)
            if item.condition in dividing:
                continue  # it only follows from others as they have no value without it
            if self._follows(self._facts(current, position), item.condition):
                del current[position]
        return current

    def _pinned(self, items: list[Item]) -> list[Item]:
        """A bound beside which only one number is admitted as that number, which stands for the
        size in the others: with ``d <= 128`` known, ``d >= 128`` is ``d == 128``."""
        for position, item in enumerate(items):
            e = item.condition.expr
            size = None if e is None else single(e.free())
            if e is None or size is None or size.domain is not None or not bounds_size(e):
                continue
            equal = E.eq(e, 0)
            if item.condition is not equal:
                bounded = any(size in known.free() for known in self._known)
                if not bounded or not self._follows((*self._known, item.condition), equal):
                    continue
            at = E.Substitution({size: E.from_atom(size) - e * e.terms[0][1]})
            for other, found in enumerate(items):
                if other != position and size in found.condition.free():
                    items[other] = replace(found, condition=at.bool(found.condition))
            items[position] = replace(item, condition=equal)
        return [item for item in items if item.condition is not TRUE]

    def _with_consequences(self, items: list[Item]) -> list[Item]:
        """Replace heavy conditions by what they come to together."""
        heavy = [item for item in items if not is_plain(item.condition)]
        if not heavy:
            return items
        whole = self._facts(items, -1)
        plain = (*self._known, *(item.condition for item in items if item not in heavy))
        for candidate in wanted([item.condition for item in heavy], plain):
            if any(item.condition is candidate for item in items):
                continue
            if not self._follows(whole, candidate) or self._follows(self._known, candidate):
                continue
            kept = [
                item
                for item in items
                if weight(item.condition) <= weight(candidate)
                or not self._follows((*self._known, candidate), item.condition)
            ]
            if len(kept) < len(items):
                gone = [item for item in items if item not in kept]
                return self._with_consequences([*kept, _together(candidate, gone)])
        return items


def _without_entailed(items: Sequence[Item]) -> list[Item]:
    """``items`` without those that one other of them, which is no heavier, says too: what is asked
    of the rest is asked beside fewer others."""
    dividing = _dividing(items)
    weights = {item.condition: weight(item.condition) for item in items}
    current = list(items)
    for item in sorted(items, key=lambda x: -weights[x.condition]):
        said, heavy = item.condition, weights[item.condition]
        others = [other for other in current if other is not item]
        lighter = (o.condition for o in others if weights[o.condition] <= heavy)
        if said not in dividing and any(entails(other, said) for other in lighter):
            current = others
    return current


def _of_sizes(atom: E.Atom) -> bool:
    return all(symbol.domain is None for symbol in E.atom_free(atom))


def _cases(clause: Bool) -> int:
    """How many choices and extrema there are in a comparison."""
    return sum(isinstance(item, (E.Ite, E.Extremum)) for item in E.walk(clause))


def _dividing(items: Sequence[Item]) -> set[Bool]:
    """That what conditions divide by is not zero: without it they have no value."""
    zeros = E.divisors([item.condition for item in items])
    return {there for den in zeros for there in (E.ne(den, 0), E.ge(den, 1))}


def _positive(clause: Bool) -> Bool:
    """Of a size that is not zero that it is positive: what is taken for granted is said, too."""
    atom = (
        None if clause.kind is not E.BoolKind.NE or clause.expr is None else clause.expr.as_atom()
    )
    if isinstance(atom, Sym) and atom.lo == 0 and atom.domain is None and not atom.words:
        return E.ge(E.from_atom(atom), 1)
    return clause


def _together(condition: Bool, items: Sequence[Item]) -> Item:
    """What several conditions come to."""
    of = tuple(sorted({p for item in items for p in item.of}))
    return Item(condition, of, tuple(side for item in items for side in item.each()))


def in_reading_order(items: Iterable[Item]) -> list[Item]:
    """Plain conditions first, those of one kind as the kernel comes to need them."""
    return sorted(items, key=lambda i: (_kind(i.condition), min(i.of)))


def _split(items: Iterable[Item]) -> Iterator[Item]:
    for item in items:
        for part in conjuncts(item.condition):
            if part is not TRUE:
                yield replace(item, condition=part)


def _joined(items: Iterable[Item]) -> list[Item]:
    """Each condition once."""
    found: dict[Bool, Item] = {}
    for item in items:
        known = found.get(item.condition)
        if known is not None:
            of = tuple(sorted({*known.of, *item.of}))
            item = Item(item.condition, of, known.sides or item.sides)
        found[item.condition] = item
    return _tightest(found.values())


def _tightest(items: Iterable[Item]) -> list[Item]:
    """Of bounds of the same only the tightest."""
    bounds: dict[object, Item] = {}
    out: list[Item] = []
    for item in items:
        e = item.condition.expr
        if item.condition.kind is not E.BoolKind.LE or e is None:
            out.append(item)
            continue
        other = bounds.get(e.terms)
        if other is None or (
            other.condition.expr is not None and other.condition.expr.const < e.const
        ):
            bounds[e.terms] = item
    return [*out, *bounds.values()]


def _resolved(items: Sequence[Item], together: Joining = resolved) -> list[Item]:
    """What is said both where something holds and where it does not, as said of all."""
    of = {item.condition: item for item in items}
    return [
        of[parts[0]] if len(parts) == 1 else _together(condition, [of[part] for part in parts])
        for condition, parts in together(of)
    ]


def _only_one(clause: Bool, facts: Sequence[Bool]) -> Bool:
    """Of a size that it is at most the least that it may be: that it is that."""
    if clause.kind is not E.BoolKind.LE or clause.expr is None or not bounds_size(clause.expr):
        return clause
    (size,) = clause.free()
    least, equal = E.from_atom(size) - clause.expr, E.eq(clause.expr, 0)
    if clause.expr.terms[0][1] < 0 or size.domain is not None:
        return clause
    bound = E.ge(E.from_atom(size), least)
    known = size.lo == least.const or any(bound in conjuncts(fact) for fact in facts)
    return equal if known else clause


def _all_positive(clause: Bool) -> Bool:
    """Of a product of sizes that it is not zero: that none of them is."""
    e = clause.expr
    if clause.kind is not E.BoolKind.LE or e is None or len(e.terms) != 1 or e.const != 1:
        return clause
    ((mono, factor),) = e.terms
    sizes = [E.from_atom(atom) for atom in mono]
    lowest = [E.bounds(size)[0] for size in sizes]
    if factor != -1 or any(low is None or low < 0 for low in lowest):
        return clause
    return E.and_(*(E.ge(size, 1) for size in sizes))


def _shared(items: Sequence[Item]) -> list[Item]:
    """Conditions of which each is one that is heavy or something else, as one of them."""
    found: dict[object, list[Item]] = {}
    for item in items:
        parts = item.condition.args if item.condition.kind is E.BoolKind.OR else ()
        heaviest = max(parts, key=weight, default=item.condition)
        shared = len(parts) > 1 and not is_plain(heaviest)
        found.setdefault(id(heaviest if shared else item), []).append(item)
    out = []
    for group in found.values():
        first, *more = group
        if more:
            heaviest = max(first.condition.args, key=weight)
            others = ([p for p in item.condition.args if p is not heaviest] for item in group)
            condition = E.or_(heaviest, E.and_(*(E.or_(*parts) for parts in others)))
            first = _together(condition, group)
        out.append(first)
    return out


def _equal_sizes(known: Sequence[Bool]) -> dict[Sym, Expr]:
    """For sizes that are equal to an earlier one, that one, or the number that one of them is."""
    first: dict[Sym, Sym] = {}

    def root(symbol: Sym) -> Sym:
        while symbol in first:
            symbol = first[symbol]
        return symbol

    for fact in (part for demand in known for part in conjuncts(demand)):
        symbols = fact.free()
        if fact.kind is not E.BoolKind.EQ or fact.expr is None or len(symbols) != 2:
            continue
        a, b = sorted(map(root, symbols), key=lambda s: s.id)
        plain = E.eq(E.from_atom(symbols[0]), E.from_atom(symbols[1]))
        if fact is plain and a is not b and a.domain is b.domain:
            first[b] = a
    same = {symbol: E.from_atom(root(symbol)) for symbol in first}
    numbers = {root(symbol): number for symbol, number in numbers_said(known).items()}
    put = E.Substitution(numbers)
    return {**numbers, **{symbol: put.expr(value) for symbol, value in same.items()}}


def _equal(items: Sequence[Item]) -> list[Item]:
    """Two bounds of which each is the other one turned round as one equality."""
    out: list[Item] = []
    for item in items:
        e = item.condition.expr
        if item.condition.kind is E.BoolKind.LE and e is not None:
            turned = E.ge(e, 0)
            other = next((x for x in out if x.condition is turned), None)
            if other is not None:
                out.remove(other)
                out.append(_together(E.eq(e, 0), (other, item)))
                continue
        out.append(item)
    return out


def _rounded(items: Sequence[Item], known: Sequence[Bool]) -> list[Item]:
    """Bounds of sizes as the multiples that they come to: of ``n % 4 == 0``, not 515 but 512."""
    said = [*known, *(item.condition for item in items)]
    steps, shares = steps_of(said), _shares_of(said, known)
    bounds = [_at_step(item.condition, steps) for item in items]
    return [
        replace(item, condition=_at_share(bound, shares))
        for item, bound in zip(items, bounds, strict=True)
    ]


def _shares_of(said: Sequence[Bool], known: Sequence[Bool]) -> list[tuple[Expr, Expr]]:
    """What is said to be divided by which sizes, that are known to be positive anyhow."""
    there = {part for demand in known for part in conjuncts(demand)}
    found = (divisibility(part) for demand in said for part in conjuncts(demand))
    return [
        (number, den)
        for number, den in filter(None, found)
        if not den.is_const and ((E.bounds(den)[0] or 0) >= 1 or E.ge(den, 1) in there)
    ]


def _at_share(bound: Bool, shares: Sequence[tuple[Expr, Expr]]) -> Bool:
    """``a < 129*n``, or ``a // n <= 128``, where ``n`` divides ``a``: ``a <= 128*n``."""
    e = bound.expr
    if bound.kind is not E.BoolKind.LE or e is None:
        return bound
    for number, den in shares:
        share = E.floordiv(number, den)
        for sign in (1, -1):
            if (e - share * sign).is_const:
                return E.le((number + den * (e - share * sign) * sign) * sign, 0)
        if e.const != 1:
            continue
        for rest in (e - 1 - number, e - 1 + number):
            if rest.terms and E.exact_quotient(rest, den) is not None:
                return E.le(e - 1 + den, 0)
    return bound


def _at_step(bound: Bool, steps: Mapping[E.Atom, int]) -> Bool:
    e = bound.expr
    if bound.kind is not E.BoolKind.LE or e is None or len(e.terms) != 1:
        return bound
    ((mono, factor),) = e.terms
    if len(mono) != 1 or abs(factor) != 1 or mono[0] not in steps:
        return bound
    size, step = E.from_atom(mono[0]), steps[mono[0]]
    if factor == 1:
        return E.le(size, -e.const // step * step)
    return E.ge(size, -(-e.const // step) * step)


def _of_one_dtype(items: Sequence[Item]) -> list[Item]:
    """What is said of one dtype alone as one condition."""
    found: dict[Sym, Item] = {}
    out: list[Item] = []
    for item in items:
        symbols = item.condition.free()
        if len(symbols) != 1 or symbols[0].domain is None or item.condition.flags():
            out.append(item)
            continue
        known = found.get(symbols[0], Item(TRUE, ()))
        of = tuple(sorted({*known.of, *item.of}))
        found[symbols[0]] = Item(E.and_(known.condition, item.condition), of)
    return [*(Item(_listed(i.condition, s), i.of) for s, i in found.items()), *out]


def _listed(condition: Bool, symbol: Sym) -> Bool:
    """What is said of one dtype as the dtypes that it may have, or may not: the shorter list."""
    assert symbol.domain is not None
    last = len(symbol.domain) - 1 if symbol.hi is None else symbol.hi
    values = range(symbol.lo or 0, last + 1)
    dtype = E.from_atom(symbol)
    fits = [v for v in values if E.evaluate(condition, {symbol.name: v})]
    if 2 * len(fits) <= len(values):
        return E.or_(*(E.eq(dtype, v) for v in fits))
    return E.and_(*(E.ne(dtype, v) for v in values if v not in fits))


def of_dtypes(items: Iterable[Item]) -> list[Item]:
    """Conditions on dtypes, what is said of one dtype together."""
    return _equivalences(_without_each(_of_one_dtype(_resolved(_joined(_split(items))))))


def _equivalences(items: Iterable[Item]) -> list[Item]:
    """Two that say of two dtypes that both are among some or neither is, as one: also where both
    say so unless something else holds."""
    found: list[Item] = []
    for item in items:
        for place, other in enumerate(found):
            beside = _of_no_dtypes(item.condition)
            if beside != _of_no_dtypes(other.condition):
                continue
            first, second = (_without(i.condition, beside) for i in (other, item))
            if equivalent(first, second) is not None:
                of = tuple(sorted({*other.of, *item.of}))
                found[place] = Item(
                    E.or_(E.and_(first, second), *(p for p in item.condition.args if p in beside)),
                    of,
                )
                break
        else:
            found.append(item)
    return found


def _of_no_dtypes(condition: Bool) -> frozenset[Bool]:
    """The alternatives that speak of no dtype."""
    parts = condition.args if condition.kind is E.BoolKind.OR else ()
    return frozenset(p for p in parts if all(s.domain is None for s in p.free()))


def _without(condition: Bool, alternatives: frozenset[Bool]) -> Bool:
    if not alternatives:
        return condition
    return E.or_(*(part for part in condition.args if part not in alternatives))


def _without_each(items: Iterable[Item]) -> list[Item]:
    """Alternatives that differ in which dtype another one must not have, as one of them all."""
    found: dict[object, Item] = {}
    for item in items:
        parts = item.condition.args if item.condition.kind is E.BoolKind.OR else ()
        last = next((p for p in reversed(parts) if p.kind is E.BoolKind.NE and _dtype(p)), None)
        rest = [part for part in parts if part is not last]
        key: object = id(item) if last is None else (frozenset(map(id, rest)), _dtype(last))
        known = found.get(key)
        if known is not None and last is not None:
            *_, before = known.condition.args
            of = tuple(sorted({*known.of, *item.of}))
            item = Item(E.or_(*rest, E.and_(before, last)), of)
        elif last is not None:
            item = replace(item, condition=E.or_(*rest, last))
        found[key] = item
    return list(found.values())


def _dtype(term: Bool) -> Sym | None:
    """The dtype that one comparison is about."""
    symbol = None if term.expr is None else single(term.free())
    return symbol if symbol is not None and symbol.domain is not None else None


def _kind(term: Bool) -> int:
    """The order in which conditions are read: dtypes, equalities, divisibilities, bounds, rest."""
    if all(s.domain is not None for s in term.free()) and term.free():
        return 0
    if divisibility(term) is not None:
        return 2
    if term.kind in (E.BoolKind.EQ, E.BoolKind.VAR, E.BoolKind.NOT):
        return 1
    if term.kind is E.BoolKind.LE and is_plain(term):
        return 3
    return 4 if term.kind is E.BoolKind.LE else 5
