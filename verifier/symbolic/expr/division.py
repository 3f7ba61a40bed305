"""Bounds that hold for every value of the symbols, and division, which folds by them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import gcd

from verifier.symbolic.expr.evaluation import EvaluationError, evaluate
from verifier.symbolic.expr.terms import (
    DIVISION,
    FALSE,
    TRUE,
    Atom,
    Bool,
    BoolKind,
    Div,
    Expr,
    Extremum,
    Ite,
    Least,
    Power,
    Sym,
    Table,
    const,
    from_atom,
    intern,
    lift,
)

#: powers of greater exponents are not worked out
_LARGEST = 64


def bounds(expr: Expr) -> tuple[int | None, int | None]:
    """Inclusive bounds that hold for every value of the symbols, None where there is none."""
    if expr._bounds is not None:
        return expr._bounds
    lo: int | None = expr.const
    hi: int | None = expr.const
    for mono, coef in expr.terms:
        mlo, mhi = _mono_bounds(mono)
        if coef < 0:
            mlo, mhi = mhi, mlo
        lo = None if lo is None or mlo is None else lo + coef * mlo
        hi = None if hi is None or mhi is None else hi + coef * mhi
    rlo, rhi = _remainder_bounds(expr)
    lo = rlo if lo is None or (rlo is not None and rlo > lo) else lo
    hi = rhi if hi is None or (rhi is not None and rhi < hi) else hi
    expr._bounds = (lo, hi)
    return expr._bounds


def _remainder_bounds(expr: Expr) -> tuple[int | None, int | None]:
    """Bounds of ``a - d * (a // d) + rest`` and of its negation, for a constant ``d > 0``."""
    for mono, coef in expr.terms:
        if len(mono) != 1:
            continue
        atom = mono[0]
        if not (isinstance(atom, Div) and atom.den.is_const and atom.den.const > 0):
            continue
        d = atom.den.const
        k, r = divmod(-coef, d)
        if r or not k:
            continue
        rest = expr - atom.num * k + from_atom(atom) * (d * k)
        if len(rest.terms) >= len(expr.terms):
            continue
        lo, hi = bounds(rest)
        span = k * (d - 1)
        return (
            None if lo is None else lo + min(0, span),
            None if hi is None else hi + max(0, span),
        )
    return None, None


def _mono_bounds(mono: tuple[Atom, ...]) -> tuple[int | None, int | None]:
    lo, hi = _atom_bounds(mono[0]) if mono else (1, 1)
    for atom in mono[1:]:
        lo, hi = _product_bounds((lo, hi), _atom_bounds(atom))
    if len(mono) == 2 and mono[0] is mono[1] and (lo is None or lo < 0):
        lo = 0
    return lo, hi


def _product_bounds(
    x: tuple[int | None, int | None], y: tuple[int | None, int | None]
) -> tuple[int | None, int | None]:
    (a, b), (c, d) = x, y
    if (0, 0) in (x, y):
        return 0, 0
    if None not in (a, b, c, d):
        corners = [p * q for p in (a, b) for q in (c, d)]  # type: ignore[operator]
        return min(corners), max(corners)
    if a is not None and a >= 0 and c is not None and c >= 0:
        return a * c, (b * d if b is not None and d is not None else None)
    if b is not None and b <= 0:  # the product of the negated factor, negated
        lo, hi = _product_bounds((-b, None if a is None else -a), y)
    elif d is not None and d <= 0:
        lo, hi = _product_bounds(x, (-d, None if c is None else -c))
    else:
        return None, None
    return None if hi is None else -hi, None if lo is None else -lo


def _atom_bounds(atom: Atom) -> tuple[int | None, int | None]:
    if isinstance(atom, Sym):
        return atom.lo, atom.hi
    if isinstance(atom, Div):
        nlo, nhi = bounds(atom.num)
        dlo, dhi = bounds(atom.den)
        if dlo is not None and dlo > 0:
            lo = None
            hi = None
            if nlo is not None:
                lo = nlo // dlo if nlo < 0 else (nlo // dhi if dhi is not None else 0)
            if nhi is not None:
                hi = nhi // dlo if nhi >= 0 else (nhi // dhi if dhi is not None else -1)
            return lo, hi
        return None, None
    if isinstance(atom, Extremum):
        los, his = zip(*(bounds(a) for a in atom.args), strict=True)
        if atom.kind == "min":
            known = [h for h in his if h is not None]
            return (
                None if None in los else min(los),
                min(known) if known else None,
            )
        known = [v for v in los if v is not None]
        return (max(known) if known else None, None if None in his else max(his))
    if isinstance(atom, Ite):
        (a, b), (c, d) = bounds(atom.then), bounds(atom.other)
        return (
            None if a is None or c is None else min(a, c),
            None if b is None or d is None else max(b, d),
        )
    if isinstance(atom, Table):
        results = [v for _, v in atom.values]
        return min(results), max(results)
    if isinstance(atom, Least):
        return 0, None
    if isinstance(atom, Power):
        lo, hi = bounds(atom.exponent)
        return (
            0 if lo is None else _raised(atom.base, min(lo, _LARGEST)),
            None if hi is None or hi > _LARGEST else _raised(atom.base, hi),
        )
    return None, None


def _atom(key: tuple[object, ...], build: Callable[[], Atom]) -> Expr:
    """The atom of that key, its bounds kept while those of its parts are at hand."""
    found = intern(key, build)
    bounds(found)
    return found


# ------------------------------------------------------------------------ division


def floordiv(a: Expr | int, b: Expr | int) -> Expr:
    """``a // b`` with Python's rounding. A zero divisor is the caller's obligation, not folded."""
    a, b = lift(a), lift(b)
    if b.is_const:
        d = b.const
        if a.is_const and d:
            return const(a.const // d)
        if d < 0:
            return floordiv(-a, const(-d))
        if d == 1:
            return a
        if d > 1:
            return _div_const(a, d)
    elif a.is_const and a.const == 0:
        return a
    elif (quotient := exact_quotient(a, b)) is not None:
        return quotient
    else:
        # (b*x + r) // b  ==  x + r // b
        whole: dict[tuple[Atom, ...], int] = {}
        rest: dict[tuple[Atom, ...], int] = {}
        divisor = b.as_atom()
        if divisor is not None:
            for mono, coef in a.terms:
                if divisor in mono:
                    left = list(mono)
                    left.remove(divisor)
                    _add(whole, tuple(left), coef)
                else:
                    _add(rest, mono, coef)
            if whole:
                shift = whole.pop((), 0)
                return Expr.make(whole, shift) + floordiv(Expr.make(rest, a.const), b)
    return _atom(("div", id(a), id(b)), lambda: Div(a, b))


def _add(table: dict[tuple[Atom, ...], int], mono: tuple[Atom, ...], coef: int) -> None:
    table[mono] = table.get(mono, 0) + coef


def _div_const(a: Expr, d: int) -> Expr:
    whole: dict[tuple[Atom, ...], int] = {}
    rest: dict[tuple[Atom, ...], int] = {}
    for mono, coef in a.terms:
        q, r = divmod(coef, d)
        if r and d - r < r and coef < 0:  # keep small negative coefficients as they are
            q, r = q + 1, r - d
        if q:
            whole[mono] = q
        if r:
            rest[mono] = r
    q, r = divmod(a.const, d)
    remainder = Expr.make(rest, r)
    out = Expr.make(whole, q)
    if remainder.is_const:
        return out + remainder.const // d
    lo, hi = bounds(remainder)
    if lo is not None and hi is not None and lo // d == hi // d:
        return out + lo // d
    if all(coef < 0 for _, coef in remainder.terms):
        # -((-x) // d), a ceiling as some write it, is (x + d - 1) // d, as others do
        return out - _div_const(const(d - 1) - remainder, d)
    g = gcd(remainder.content(), d)
    if g > 1:
        # (g*x + c) // (g*d')  ==  (x + c // g) // d'
        inner = Expr.make({m: c // g for m, c in remainder.terms}, remainder.const // g)
        return out + _div_const(inner, d // g) if d // g > 1 else out + inner
    atom = remainder.as_atom()
    if isinstance(atom, Div) and atom.den.is_const and atom.den.const > 0:
        return out + floordiv(atom.num, atom.den.const * d)  # (x // c) // d == x // (c*d)
    divisor = const(d)
    return out + _atom(("div", id(remainder), id(divisor)), lambda: Div(remainder, divisor))


def exact_quotient(a: Expr, b: Expr) -> Expr | None:
    """``q`` with ``q * b == a`` identically; None if there is none, or ``b`` is a number."""
    if b.is_const:
        return None
    if a is b:
        return const(1)
    if len(b.terms) > 1 or b.const:
        return _long_division(a, b)
    (divisor, coef) = b.terms[0]
    if a.const:
        return None
    out: dict[tuple[Atom, ...], int] = {}
    for mono, c in a.terms:
        left = without(mono, divisor)
        if left is None or c % coef:
            return None
        _add(out, left, c // coef)
    shift = out.pop((), 0)
    return Expr.make(out, shift)


def without(mono: tuple[Atom, ...], divisor: tuple[Atom, ...]) -> tuple[Atom, ...] | None:
    """A product without the factors of another one; None if it has not got them all."""
    left = list(mono)
    for atom in divisor:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def _long_division(a: Expr, b: Expr) -> Expr | None:
    """:func:`exact_quotient` by a sum: the greatest term of what is left goes first."""
    divisor, coef = max(b.terms, key=_greatness)
    out = const(0)
    while a.terms:
        mono, c = max(a.terms, key=_greatness)
        left = without(mono, divisor)
        if left is None or c % coef:
            return None
        part = Expr.make({left: c // coef}, 0) if left else const(c // coef)
        out = out + part
        a = a - part * b
    return out if not a.const else None


def _greatness(term: tuple[tuple[Atom, ...], int]) -> tuple[int, tuple[int, ...]]:
    """An order of products that goes well with multiplication: by degree, then factor by factor."""
    mono, _ = term
    return len(mono), tuple(-atom.id for atom in mono)


def mod(a: Expr | int, b: Expr | int) -> Expr:
    """``a % b`` with Python's sign rule."""
    a, b = lift(a), lift(b)
    return a - b * floordiv(a, b)


def ceildiv(a: Expr | int, b: Expr | int) -> Expr:
    return -floordiv(-lift(a), b)


DIVISION.quotient, DIVISION.remainder = floordiv, mod


# ------------------------------------------------------------------------ choices


def minimum(*args: Expr | int) -> Expr:
    return extremum("min", args)


def maximum(*args: Expr | int) -> Expr:
    return extremum("max", args)


def extremum(kind: str, args: tuple[Expr | int, ...]) -> Expr:
    """The smallest or, for the kind ``"max"``, the largest of several."""
    sign = 1 if kind == "min" else -1
    kept: list[Expr] = []
    for arg in args:
        value = lift(arg)
        atom = value.as_atom()
        for item in atom.args if isinstance(atom, Extremum) and atom.kind == kind else (value,):
            if any(_never_above(old, item, sign) for old in kept):
                continue
            kept = [old for old in kept if not _never_above(item, old, sign)]
            kept.append(item)
    if len(kept) == 1:
        return kept[0]
    parts = tuple(kept)
    return _atom((kind, tuple(map(id, parts))), lambda: Extremum(kind, parts))


def _never_above(a: Expr, b: Expr, sign: int) -> bool:
    """Whether ``sign * a <= sign * b`` follows from static bounds."""
    lo, _ = bounds((b - a) * sign)
    return lo is not None and lo >= 0


def absolute(a: Expr | int) -> Expr:
    a = lift(a)
    return maximum(a, -a)


def ite(test: Bool, then: Expr | int, other: Expr | int) -> Expr:
    then, other = lift(then), lift(other)
    if test is TRUE or then is other:
        return then
    if test is FALSE or _come_to_the_same(test, then - other):
        return other
    return _atom(("ite", id(test), id(then), id(other)), lambda: Ite(test, then, other))


def _come_to_the_same(test: Bool, difference: Expr) -> bool:
    """Whether a test holds only where two terms are equal: ``1 if n == 1 else n`` is ``n``."""
    zero = test.expr if test.kind is BoolKind.EQ else None
    return zero is not None and (difference is zero or -difference is zero)


def table(name: str, index: Expr, values: Mapping[int, int]) -> Expr:
    """``values[index]``; folds when the index is constant or all results agree.

    An index without an entry stays a term: it does not occur, and evaluating it raises.
    """
    if index.is_const and index.const in values:
        return const(values[index.const])
    if len(set(values.values())) == 1:
        return const(next(iter(values.values())))
    items = tuple(sorted(values.items()))
    return _atom(("table", name, id(index), items), lambda: Table(name, index, items))


# ------------------------------------------------------------------------ powers, what comes first


def _raised(base: int, exponent: int) -> int:
    return int(base**exponent) if exponent >= 0 else 0


def power(base: int, exponent: Expr | int) -> Expr:
    """``base ** exponent`` of a number from 2 on, rounded down: 0 where that is negative."""
    exponent = lift(exponent)
    if exponent.is_const and exponent.const <= _LARGEST:
        return const(_raised(base, exponent.const))
    offset = min(exponent.const, _LARGEST)
    lo, _ = bounds(exponent - offset)
    if not exponent.is_const and offset > 0 and lo is not None and lo >= 0:
        return power(base, exponent - offset) * _raised(base, offset)
    if not exponent.is_const and -_LARGEST <= offset < 0:
        return floordiv(power(base, exponent - offset), _raised(base, -offset))
    return _atom(("power", base, id(exponent)), lambda: Power(base, exponent))


def least(name: str, index: Sym, test: Bool) -> Expr:
    """The least number from 0 on of which ``test`` does not hold; see :class:`.terms.Least`."""
    if test is FALSE:
        return const(0)
    found = _atom(("least", name, index.id, id(test)), lambda: Least(name, index, test))
    if test.flags() or any(symbol is not index for symbol in test.free()):
        return found
    try:
        return const(int(evaluate(found, {})))
    except EvaluationError:
        return found
