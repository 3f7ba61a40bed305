"""A set of conditions in the form that somebody reads: none follows from the others.

Each step leaves the set as strong as it was, for the inputs that the kernel admits: alternatives
that nobody meets go, a condition becomes a simpler one that says the same beside the others, a
consequence of the set replaces what it implies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, permutations
from math import lcm
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from verifier.engine.evaluable import has_value
from verifier.engine.remainders import divides, in_remainders
from verifier.engine.weakest import expressions
from verifier.hardware.dtypes import ITEMSIZE
from verifier.solver.elimination import compared, put
from verifier.solver.polynomial import products
from verifier.solver.query import Query
from verifier.solver.solver import Solver
from verifier.solver.terms import divisors
from verifier.symbolic import expr as E
from verifier.symbolic.equivalent import equivalent
from verifier.symbolic.expr import FALSE, TRUE, Bool, Expr, Sym
from verifier.symbolic.memory.known import Known

_ROUNDS = 3
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
        said = (Item(self._in_remainders(self._same.bool(i.condition)), i.of) for i in items)
        current = _joined(_split(said))
        for _ in range(_ROUNDS):
            current = self.without_implied(current, current)
            before = [item.condition for item in current]
            for position in range(len(current)):
                self._simplify(current, position)
            current = self._with_consequences(self._pinned(_equal(_joined(_split(current)))))
            if {item.condition for item in current} == set(before):
                break
        current = _shared(_rounded(_of_one_dtype(current), self._known))
        return in_reading_order(current)

    def _in_remainders(self, condition: Bool) -> Bool:
        """A condition with remainders in the place of rounded quotients that say the same."""
        if condition.kind in E.JUNCTIONS:
            parts = [self._in_remainders(part) for part in condition.args]
            return E.and_(*parts) if condition.kind is E.BoolKind.AND else E.or_(*parts)
        for holds, term in ((True, condition), (False, E.not_(condition))):
            divided = divisibility(term)
            if divided is not None:
                return divides(*divided, holds)
        found = in_remainders(condition)
        if found is None or _weight(found[0]) >= _weight(condition):
            return condition
        return found[0] if self._follows(self._known, E.ge(found[1], 1)) else condition

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
        else:
            clause = self._cancelled(self._chosen(clause, facts), facts)
            sides = self._multiplied(clause, facts, alone)
            if sides is not clause and sides.kind is E.BoolKind.OR:
                return self._plainer(sides, facts)
            clause = sides
        clause = _positive(clause)
        for candidate in _simpler(clause, facts):
            if _weight(candidate) >= _weight(clause) or candidate is FALSE:
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
        """A comparison with what is chosen in the place of each choice that is settled."""
        while clause.expr is not None:
            for atom in clause.expr.atoms():
                value = self._choice(atom, facts)
                if value is not None:
                    clause = put(clause, atom, value)
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
            values = (v for v in _values(atom) if _size(v) < _size(whole))
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
        sides = E.or_(E.le(den, -1), above), E.or_(E.ge(den, 1), below)
        facts = (*facts, divides)
        found = E.and_(divides, *(self._fewer(side, facts) for side in sides))
        return found if _weight(found) < _weight(clause) else clause

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
        for item in sorted(which, key=lambda x: -_weight(x.condition)):
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
            size = None if e is None else _single(e.free())
            if e is None or size is None or size.domain is not None or not _bounds_size(e):
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
        heavy = [item for item in items if not _is_plain(item.condition)]
        if not heavy:
            return items
        whole = self._facts(items, -1)
        for candidate in _wanted(heavy):
            if any(item.condition is candidate for item in items):
                continue
            if not self._follows(whole, candidate) or self._follows(self._known, candidate):
                continue
            kept = [
                item
                for item in items
                if _weight(item.condition) <= _weight(candidate)
                or not self._follows((*self._known, candidate), item.condition)
            ]
            if len(kept) < len(items):
                gone = [item for item in items if item not in kept]
                return self._with_consequences([*kept, _together(candidate, gone)])
        return items


def _dividing(items: Sequence[Item]) -> set[Bool]:
    """That what conditions divide by is not zero: without it they have no value."""
    zeros = divisors([item.condition for item in items])
    return {there for den in zeros for there in (E.ne(den, 0), E.ge(den, 1))}


def _positive(clause: Bool) -> Bool:
    """Of a size that is not zero that it is positive: what is taken for granted is said, too."""
    atom = (
        None if clause.kind is not E.BoolKind.NE or clause.expr is None else clause.expr.as_atom()
    )
    if isinstance(atom, Sym) and atom.lo == 0 and atom.domain is None and not atom.words:
        return E.ge(E.from_atom(atom), 1)
    return clause


def _bounds_size(e: Expr) -> bool:
    """Whether a comparison with zero is one of a size with a number."""
    return len(e.terms) == 1 and len(e.terms[0][0]) == 1 and abs(e.terms[0][1]) == 1


def _values(atom: E.Ite) -> Iterator[Expr]:
    """What a choice may always come to: one of both, the larger one, the bytes of a type."""
    size = _itemsize(atom)
    if size is not None:
        yield size
    if all(s.domain is None for s in E.atom_free(atom)):
        yield from (atom.other, atom.then)
        if not (atom.then.is_const or atom.other.is_const):
            yield E.maximum(atom.then, atom.other)


def _itemsize(atom: E.Ite) -> Expr | None:
    """How many bytes an element takes whose type a choice of numbers is about."""
    symbol = _single(E.atom_free(atom))
    if symbol is None or symbol.domain is None or not (atom.then.is_const and atom.other.is_const):
        return None
    if len(symbol.domain) != len(ITEMSIZE):
        return None
    return E.table("itemsize", E.from_atom(symbol), ITEMSIZE)


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


def _shared(items: Sequence[Item]) -> list[Item]:
    """Conditions of which each is one that is heavy or something else, as one of them."""
    found: dict[object, list[Item]] = {}
    for item in items:
        parts = item.condition.args if item.condition.kind is E.BoolKind.OR else ()
        heaviest = max(parts, key=_weight, default=item.condition)
        shared = len(parts) > 1 and not _is_plain(heaviest)
        found.setdefault(id(heaviest if shared else item), []).append(item)
    out = []
    for group in found.values():
        first, *more = group
        if more:
            heaviest = max(first.condition.args, key=_weight)
            others = ([p for p in item.condition.args if p is not heaviest] for item in group)
            condition = E.or_(heaviest, E.and_(*(E.or_(*parts) for parts in others)))
            first = _together(condition, group)
        out.append(first)
    return out


def _equal_sizes(known: Sequence[Bool]) -> dict[Sym, Expr]:
    """For sizes that are equal to an earlier one, that one."""
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
    return {symbol: E.from_atom(root(symbol)) for symbol in first}


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
    steps = steps_of((*known, *(item.condition for item in items)))
    return [replace(item, condition=_at_step(item.condition, steps)) for item in items]


def steps_of(known: Iterable[Bool]) -> dict[E.Atom, int]:
    """What is known to divide each size."""
    steps: dict[E.Atom, int] = {}
    for fact in (part for demand in known for part in conjuncts(demand)):
        found = divisibility(fact)
        size = None if found is None else found[0].as_atom()
        if found is not None and size is not None and found[1].is_const and found[1].const > 0:
            steps[size] = lcm(steps.get(size, 1), found[1].const)
    return steps


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


# ------------------------------------------------------------------------- simpler conditions


def _is_plain(term: Bool) -> bool:
    """Whether a condition needs no explanation: a bound, an equality, a divisibility, a flag."""
    return _weight(term) <= 4


#: what parts of a term come to that were looked at, which may be in it many times
_Seen: TypeAlias = dict[Expr | Bool, int]


def _weight(term: Bool, seen: _Seen | None = None) -> int:
    """How much there is to read."""
    seen = {} if seen is None else seen
    if term in seen:
        return seen[term]
    if term.expr is None:
        total = 1 + sum(_weight(part, seen) for part in term.args)
    elif divisibility(term) is not None or divisibility(E.not_(term)) is not None:
        total = 2
    else:
        total = _size(term.expr, seen)
    return seen.setdefault(term, total)


def _size(e: Expr, seen: _Seen | None = None) -> int:
    seen = {} if seen is None else seen
    if e in seen:
        return seen[e]
    total = (1 if e.const else 0) + sum(abs(factor) != 1 for _, factor in e.terms)
    for atom in (atom for mono, _ in e.terms for atom in mono):
        plain = isinstance(atom, (Sym, E.Table))
        total += 1 if plain else 3
        for part in () if plain else atom.children():
            total += _size(part, seen) if isinstance(part, Expr) else _weight(part, seen)
    return seen.setdefault(e, total)


def divisibility(term: Bool) -> tuple[Expr, Expr] | None:
    """``(number, divisor)`` of a condition that says that one divides the other."""
    if term.expr is None or term.kind not in (E.BoolKind.EQ, E.BoolKind.LE):
        return None
    for atom in term.expr.atoms():
        if isinstance(atom, E.Div):
            rest = atom.num - atom.den * E.from_atom(atom)
            if term is E.eq(rest, 0):
                return atom.num, atom.den
    return None


def of_dtypes(items: Iterable[Item]) -> list[Item]:
    """Conditions on dtypes, what is said of one dtype together."""
    return _equivalences(_without_each(_of_one_dtype(_joined(_split(items)))))


def _equivalences(items: Iterable[Item]) -> list[Item]:
    """Two that say of two dtypes that both are among some or neither is, as one."""
    found: list[Item] = []
    for item in items:
        for place, other in enumerate(found):
            if equivalent(other.condition, item.condition) is not None:
                of = tuple(sorted({*other.of, *item.of}))
                found[place] = Item(E.and_(other.condition, item.condition), of)
                break
        else:
            found.append(item)
    return found


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
    symbol = None if term.expr is None else _single(term.free())
    return symbol if symbol is not None and symbol.domain is not None else None


def _single(symbols: Sequence[Sym]) -> Sym | None:
    return symbols[0] if len(symbols) == 1 else None


def conjuncts(condition: Bool) -> tuple[Bool, ...]:
    """What all has to hold."""
    return condition.args if condition.kind is E.BoolKind.AND else (condition,)


def _simpler(clause: Bool, facts: Sequence[Bool]) -> Iterator[Bool]:
    """Forms that may say the same as a condition beside others."""
    if clause.kind is E.BoolKind.NE and clause.expr is not None:
        atom = clause.expr.as_atom()
        if isinstance(atom, Sym):
            yield E.ge(E.from_atom(atom), 1)
    for e in expressions(clause):
        for atom in e.atoms():
            if isinstance(atom, E.Div):
                yield divides(atom.num, atom.den)
                yield divides(atom.num - atom.num.const, atom.den)
            elif isinstance(atom, E.Ite) and clause.expr is e:
                cases = put(clause, atom, atom.then), put(clause, atom, atom.other)
                yield E.or_(E.and_(atom.test, cases[0]), E.and_(E.not_(atom.test), cases[1]))
    if clause.kind is E.BoolKind.LE and clause.expr is not None:
        yield from (
            E.eq(E.from_atom(s), 1) for s in clause.free() if clause.expr.coefficient(s) > 0
        )
    yield from _bounds(clause, Known(facts))
    yield from _scaled(clause)


def _wanted(items: Sequence[Item]) -> Iterator[Bool]:
    """Plain conditions that heavy ones may come to."""
    symbols = dict.fromkeys(s for item in items for s in item.condition.free() if s.domain is None)
    sizes = [E.from_atom(s) for s in symbols]
    quotients = dict.fromkeys(
        (atom.num, atom.den)
        for item in items
        for e in expressions(item.condition)
        for atom in e.atoms()
        if isinstance(atom, E.Div)
    )
    for num, den in quotients:
        yield divides(num, den)
    for a, b in islice(permutations(sizes, 2), _WANTED):
        yield E.le(a, b)


def _bounds(clause: Bool, known: Known) -> Iterator[Bool]:
    """``x <= c`` or ``x >= c`` for what is said of one size alone, among those that are known."""
    symbols = clause.free()
    if len(symbols) != 1 or symbols[0].domain is not None or clause.flags():
        return
    symbol, size = symbols[0], E.from_atom(symbols[0])
    least, most = symbol.lo if symbol.lo is not None else 0, known.most(size) or _MOST

    def holds(value: int) -> bool:
        try:
            return bool(E.evaluate(clause, {symbol.name: value}))
        except E.EvaluationError:
            return False

    first, last = holds(least), holds(most)
    if first == last:
        return
    low, high = least, most
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle) == first:
            low = middle
        else:
            high = middle
    yield E.le(size, low) if first else E.ge(size, high)


def _scaled(clause: Bool) -> Iterator[Bool]:
    """Comparisons with exact quotients in place of rounded ones."""
    quotients = {
        atom
        for e in expressions(clause)
        for atom in e.atoms()
        if isinstance(atom, E.Div) and atom.den.is_const and atom.den.const > 0
    }
    if quotients:
        yield _exact(clause, quotients)


def _exact(term: Bool, quotients: set[E.Div]) -> Bool:
    if term.expr is None:
        parts = [_exact(part, quotients) for part in term.args]
        if term.kind is E.BoolKind.AND:
            return E.and_(*parts)
        return E.or_(*parts) if term.kind is E.BoolKind.OR else term
    scale = 1
    for mono, _ in term.expr.terms:
        for atom in mono:
            if isinstance(atom, E.Div) and atom in quotients:
                scale = lcm(scale, atom.den.const)
    total = E.const(term.expr.const * scale)
    for mono, factor in term.expr.terms:
        left, product = scale, E.const(factor)
        for atom in mono:
            if isinstance(atom, E.Div) and atom in quotients and left % atom.den.const == 0:
                left //= atom.den.const
                product = product * atom.num
            else:
                product = product * E.from_atom(atom)
        total = total + product * left
    return compared(term.kind, total)


def _kind(term: Bool) -> int:
    """The order in which conditions are read: dtypes, equalities, divisibilities, bounds, rest."""
    if all(s.domain is not None for s in term.free()) and term.free():
        return 0
    if divisibility(term) is not None:
        return 2
    if term.kind in (E.BoolKind.EQ, E.BoolKind.VAR, E.BoolKind.NOT):
        return 1
    if term.kind is E.BoolKind.LE and _is_plain(term):
        return 3
    return 4 if term.kind is E.BoolKind.LE else 5
