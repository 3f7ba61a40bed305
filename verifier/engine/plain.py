"""Conditions in plainer words that say the same of all inputs, which no solver has to prove.

A bound of a rounded quotient is one of what is divided, a product of rounded quotients that is the
product of what is divided says what divides each, and two conditions of which one is said where
something holds and the other one where it does not are what both say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod

from verifier.engine.evaluable import is_met
from verifier.engine.forms import conjuncts, divisibility, single
from verifier.engine.remainders import divides
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Sym


def unrounded(fact: Bool) -> Bool:
    """A bound of a quotient as one of what is divided: ``a // 128 <= 3`` is ``a <= 511``."""
    if fact.kind is E.BoolKind.NE:
        return E.not_(unrounded(E.not_(fact)))
    e = fact.expr
    if e is None or len(e.terms) != 1 or fact.kind not in (E.BoolKind.LE, E.BoolKind.EQ):
        return fact
    ((mono, factor),) = e.terms
    quotient = mono[0]
    if len(mono) != 1 or not isinstance(quotient, E.Div) or abs(factor) != 1:
        return fact
    least = -e.const * factor  # or the most
    if fact.kind is E.BoolKind.LE:
        return _above(quotient, least) if factor < 0 else E.not_(_above(quotient, least + 1))
    found = E.and_(_above(quotient, least), E.not_(_above(quotient, least + 1)))
    return fact if found.kind is E.BoolKind.AND else found


def _above(quotient: E.Div, least: int) -> Bool:
    """That a quotient is at least so much, without it where that is as short."""
    num, den = quotient.num, quotient.den
    if den.is_const or least in (0, 1):
        lowest = E.bounds(den)[0]
        if lowest is not None and lowest >= 1:
            return E.ge(num, den * least)
    return E.ge(E.from_atom(quotient), least)


def each_divides(fact: Bool) -> Bool | None:
    """``h % 2 == 0 and w % 2 == 0`` for ``h*w == 4*(h // 2)*(w // 2)``, or for at most that, where
    all factors are positive; None: it is nothing such."""
    e = fact.expr
    if e is None or fact.kind not in (E.BoolKind.LE, E.BoolKind.EQ) or len(e.terms) != 2:
        return None
    for (mono, factor), (_, other) in (e.terms, e.terms[::-1]):
        quotients = [a for a in mono if isinstance(a, E.Div) and a.den.is_const and a.den.const > 1]
        if len(quotients) < 2 or factor > 0 or other < 0:
            continue
        rest = [E.from_atom(a) for a in mono if a not in quotients]
        numbers = [q.num for q in quotients]
        least = [E.bounds(number)[0] for number in (*rest, *numbers)]
        if any(low is None or low < 1 for low in least):
            continue
        shares: Expr = prod((E.from_atom(q) * q.den for q in quotients), start=E.const(1))
        whole: Expr = prod((*rest, *numbers), start=E.const(1))
        if _same(fact, whole - prod(rest, start=shares)):
            return E.and_(*(E.eq(E.mod(q.num, q.den), 0) for q in quotients))
    return None


def _same(fact: Bool, difference: Expr) -> bool:
    """Whether a fact compares a difference with zero."""
    compare = E.le if fact.kind is E.BoolKind.LE else E.eq
    return compare(difference, 0) is fact


def of_each_divisor(fact: Bool) -> Bool:
    """What a divisor that is chosen divides, by what is chosen: ``n % (8 if p else 4) == 0``."""
    divided = divisibility(fact)
    choice = None if divided is None else divided[1].as_atom()
    if divided is None or not isinstance(choice, E.Ite):
        return fact
    number, (then, other) = divided[0], (choice.then, choice.other)
    first, second = (of_each_divisor(divides(number, den)) for den in (then, other))
    return E.or_(E.and_(choice.test, first), E.and_(E.not_(choice.test), second))


def resolved(conditions: Iterable[Bool]) -> list[tuple[Bool, tuple[Bool, ...]]]:
    """Conditions, each with those that it stands for: ``a or p`` and ``not a or p`` are ``p``."""
    found = {_alternatives(condition): (condition, (condition,)) for condition in conditions}
    pending = list(found)
    while pending:
        key = pending.pop()
        if key not in found:
            continue
        for part in key:
            rest, turned = key - {part}, E.not_(part)
            mirror = rest | {turned}
            if rest and turned.kind not in E.JUNCTIONS and mirror in found:
                (first, of), (_, more) = found.pop(key), found.pop(mirror)
                both = E.or_(*(p for p in first.args if p in rest))
                known = found.get(_alternatives(both), (both, ()))[1]
                found[_alternatives(both)] = (both, (*known, *of, *more))
                pending.append(_alternatives(both))
                break
    return list(found.values())


def of_one_value(conditions: Sequence[Bool], facts: Iterable[Bool]) -> list[Bool]:
    """Conditions with numbers in the place of what the types that others name all take: the bytes
    of ``x.dtype`` are 2 where it is bfloat16 or float16."""
    said: dict[Sym, list[Bool]] = {}
    for fact in (part for one in (*facts, *conditions) for part in conjuncts(one)):
        symbol = single(fact.free())
        if symbol is not None and symbol.domain is not None and not fact.flags():
            said.setdefault(symbol, []).append(fact)
    values: dict[E.Atom, Expr] = {}
    for item in (item for condition in conditions for item in E.walk(condition)):
        if isinstance(item, E.Table) and item not in values:
            found = {value for code, value in item.values if _may_be(item.index, code, said)}
            if len(found) == 1:
                values[item] = E.const(found.pop())
    at = E.Substitution({}, atoms=values)
    several = (len(condition.free()) > 1 for condition in conditions)
    return [at.bool(c) if more else c for c, more in zip(conditions, several, strict=True)]


def _may_be(index: Expr, code: int, said: Mapping[Sym, Sequence[Bool]]) -> bool:
    symbol = index.as_atom()
    if not isinstance(symbol, Sym):
        return True
    within = (symbol.lo or 0) <= code and (symbol.hi is None or code <= symbol.hi)
    return within and all(is_met(s, {symbol.name: code}) for s in said.get(symbol, ()))


def _alternatives(condition: Bool) -> frozenset[Bool]:
    return frozenset(condition.args if condition.kind is E.BoolKind.OR else (condition,))


__all__ = ["each_divides", "of_each_divisor", "of_one_value", "resolved", "unrounded"]
