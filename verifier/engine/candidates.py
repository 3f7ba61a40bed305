"""Forms that may say the same as a condition, for whoever can prove that they do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, permutations
from math import lcm

from verifier.engine.boxes import box, together
from verifier.engine.forms import single
from verifier.engine.remainders import divides
from verifier.engine.weakest import expressions
from verifier.hardware.dtypes import ITEMSIZE
from verifier.solver.elimination import compared, put
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Sym
from verifier.symbolic.memory.known import Known

#: bounds of one size by another that are looked for
_WANTED = 40
#: beyond every size
_MOST = 1 << 40


def bounds_size(e: Expr) -> bool:
    """Whether a comparison with zero is one of a size with a number."""
    if len(e.terms) != 1:
        return False
    ((mono, factor),) = e.terms
    return len(mono) == 1 and isinstance(mono[0], Sym) and abs(factor) == 1


def values_of(atom: E.Ite) -> Iterator[Expr]:
    """What a choice may always come to: one of both, the larger one, the bytes of a type."""
    size = _itemsize(atom)
    if size is not None:
        yield size
    if all(s.domain is None for s in E.atom_free(atom)):
        yield from (atom.other, atom.then)
        yield E.maximum(atom.then, atom.other)
        if atom.then.is_const or atom.other.is_const:
            yield E.minimum(atom.then, atom.other)


def _itemsize(atom: E.Ite) -> Expr | None:
    """How many bytes an element takes whose type a choice of numbers is about."""
    symbol = single(E.atom_free(atom))
    if symbol is None or symbol.domain is None or not (atom.then.is_const and atom.other.is_const):
        return None
    if len(symbol.domain) != len(ITEMSIZE):
        return None
    return E.table("itemsize", E.from_atom(symbol), ITEMSIZE)


def simpler(clause: Bool, facts: Sequence[Bool]) -> Iterator[Bool]:
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
                if not atom.den.is_const and clause.kind is E.BoolKind.EQ:
                    yield E.eq(atom.den, 1)  # a == a // b
                elif not atom.den.is_const and clause.kind is E.BoolKind.LE:
                    yield E.ge(atom.den, 2)  # a // b < a
    if clause.kind is E.BoolKind.LE and clause.expr is not None:
        yield from (
            E.eq(E.from_atom(s), 1) for s in clause.free() if clause.expr.coefficient(s) > 0
        )
    yield from _bounds(clause, Known(facts))
    yield from _scaled(clause)
    yield from box(clause)
    yield from _least_of_two(clause)


def sides(clause: Bool) -> Bool | None:
    """The cases of a choice, or of the least or largest of several, in a comparison: all of them
    have to hold, or one; None: there is no such thing in it, or it is in a product."""
    if clause.expr is None:
        return None
    for mono, factor in clause.expr.terms:
        atom = mono[0]
        if len(mono) != 1 or not isinstance(atom, (E.Ite, E.Extremum)):
            continue
        if isinstance(atom, E.Ite):
            then, other = put(clause, atom, atom.then), put(clause, atom, atom.other)
            return E.or_(E.and_(atom.test, then), E.and_(E.not_(atom.test), other))
        if clause.kind is E.BoolKind.LE:
            cases = (put(clause, atom, argument) for argument in atom.args)
            return E.or_(*cases) if (atom.kind == "min") is (factor > 0) else E.and_(*cases)
    return None


def wanted(conditions: Sequence[Bool], known: Sequence[Bool]) -> Iterator[Bool]:
    """Plain conditions that heavy ones may come to."""
    symbols = dict.fromkeys(
        s for condition in conditions for s in condition.free() if s.domain is None
    )
    sizes = [E.from_atom(s) for s in symbols]
    quotients = dict.fromkeys(
        (atom.num, atom.den)
        for condition in conditions
        for e in expressions(condition)
        for atom in e.atoms()
        if isinstance(atom, E.Div)
    )
    for num, den in quotients:
        yield divides(num, den)
    for a, b in islice(permutations(sizes, 2), _WANTED):
        yield E.le(a, b)
    yield from together(conditions, known)


def _least_of_two(clause: Bool) -> Iterator[Bool]:
    """Of the last part of a number, ``(c - n) % piece < c``: that a part is no larger than so
    much, or the number is not."""
    if clause.kind is not E.BoolKind.LE or clause.expr is None:
        return
    for atom in clause.expr.atoms():
        if isinstance(atom, E.Div) and not atom.den.is_const:
            most = -(clause.expr - atom.num + atom.den * E.from_atom(atom))
            if most.is_const and atom.num.terms:
                yield E.or_(E.le(atom.den, most + 1), E.ge(atom.num, 0))


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
