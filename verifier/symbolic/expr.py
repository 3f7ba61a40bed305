"""Symbolic integers and truth values: hash-consed, normalised, independent of any solver.

An :class:`Expr` is a polynomial with integer coefficients over :class:`Atom` s; a :class:`Bool` is
a formula over comparisons of polynomials with zero. Both are built only through the functions of
this module, which fold constants and normalise, so that equal values are the same object.

Semantics are Python's: unbounded integers, floor division, ``a % b == a - b * (a // b)`` (the
remainder has no node of its own: it *is* that polynomial, so that the lemma between quotient and
remainder needs no solver).

All tables live in one :class:`Context`; :func:`fresh_context` starts an analysis with empty tables,
so that the order of atoms, and with it every output, depends on the analysed source alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import gcd
from typing import Final, TypeAlias

#: ``((atoms ordered by id, coefficient), ...)``, ordered, no zero coefficient
_Terms: TypeAlias = "tuple[tuple[tuple[Atom, ...], int], ...]"


@dataclass
class Context:
    """Interning tables of one analysis."""

    exprs: dict[tuple[_Terms, int], Expr] = field(default_factory=dict)
    atoms: dict[tuple[object, ...], Atom] = field(default_factory=dict)
    bools: dict[tuple[object, ...], Bool] = field(default_factory=dict)
    by_id: list[Atom] = field(default_factory=list)
    counter: Iterator[int] = field(default_factory=itertools.count)


_context = Context()


def fresh_context() -> None:
    """Forget every interned term. Terms made before must not be mixed with terms made after."""
    global _context
    _context = Context()


class Atom:
    """What polynomials are made of. Compared by identity; ``id`` is the order of creation."""

    __slots__ = ("_free", "id")
    id: int
    _free: tuple[Sym, ...] | None

    def children(self) -> tuple[Expr | Bool, ...]:
        return ()


class Sym(Atom):
    """A free integer.

    ``origin`` says what it stands for: ``input`` (a size or value of an input), ``loop`` (an
    iteration index), ``axis`` (an element index of a view), ``grid`` (a program index or the grid's
    size), ``point`` (an element of a region
    under a for-all), ``havoc`` (an over-approximated value: see the ledger). ``lo`` and ``hi`` are
    inclusive bounds that hold always, or None. ``words`` says what some of its values stand for.
    """

    __slots__ = ("domain", "hi", "lo", "name", "origin", "words")

    def __init__(
        self,
        name: str,
        lo: int | None,
        hi: int | None,
        origin: str,
        domain: tuple[str, ...] | None,
        words: Mapping[int, str] | None = None,
    ) -> None:
        self.words = words
        self.name = name
        self.lo = lo
        self.hi = hi
        self.origin = origin
        self.domain = domain

    def __repr__(self) -> str:
        return self.name


class Div(Atom):
    """``numerator // denominator``, floor."""

    __slots__ = ("den", "num")

    def __init__(self, num: Expr, den: Expr) -> None:
        self.num = num
        self.den = den

    def children(self) -> tuple[Expr | Bool, ...]:
        return (self.num, self.den)

    def __repr__(self) -> str:
        return f"({self.num!r} // {self.den!r})"


class Extremum(Atom):
    """``min`` or ``max`` of two or more polynomials; ``kind`` is ``"min"`` or ``"max"``."""

    __slots__ = ("args", "kind")

    def __init__(self, kind: str, args: tuple[Expr, ...]) -> None:
        self.kind = kind
        self.args = args

    def children(self) -> tuple[Expr | Bool, ...]:
        return self.args

    def __repr__(self) -> str:
        return f"{self.kind}({', '.join(map(repr, self.args))})"


class Ite(Atom):
    """``then if test else other``."""

    __slots__ = ("other", "test", "then")

    def __init__(self, test: Bool, then: Expr, other: Expr) -> None:
        self.test = test
        self.then = then
        self.other = other

    def children(self) -> tuple[Expr | Bool, ...]:
        return (self.test, self.then, self.other)

    def __repr__(self) -> str:
        return f"({self.then!r} if {self.test!r} else {self.other!r})"


class Table(Atom):
    """``values[index]`` for a constant table, e.g. the byte size of a dtype by its code.

    ``values`` maps each admitted index to a result; other indices do not occur.
    """

    __slots__ = ("index", "name", "values")

    def __init__(self, name: str, index: Expr, values: tuple[tuple[int, int], ...]) -> None:
        self.name = name
        self.index = index
        self.values = values

    def children(self) -> tuple[Expr | Bool, ...]:
        return (self.index,)

    def __repr__(self) -> str:
        return f"{self.name}({self.index!r})"


class Expr:
    """A polynomial: ``const + sum(coefficient * product of atoms)``. Immutable, interned."""

    __slots__ = ("_bounds", "_free", "const", "terms")

    terms: _Terms
    const: int
    _free: tuple[Sym, ...] | None
    _bounds: tuple[int | None, int | None] | None

    # -- construction ----------------------------------------------------------------

    @staticmethod
    def make(terms: Mapping[tuple[Atom, ...], int], const: int) -> Expr:
        items = [item for item in terms.items() if item[1]]
        if len(items) > 1:
            items.sort(key=_place)
        return _interned(tuple(items), const)

    # -- queries ---------------------------------------------------------------------

    @property
    def is_const(self) -> bool:
        return not self.terms

    def as_atom(self) -> Atom | None:
        """The atom this polynomial consists of, if it is exactly one atom."""
        if self.const == 0 and len(self.terms) == 1:
            mono, coef = self.terms[0]
            if coef == 1 and len(mono) == 1:
                return mono[0]
        return None

    def coefficient(self, atom: Atom) -> int:
        """The coefficient of the linear term in ``atom`` (0 if there is none)."""
        for mono, coef in self.terms:
            if len(mono) == 1 and mono[0] is atom:
                return coef
        return 0

    def atoms(self) -> Iterator[Atom]:
        seen: dict[int, None] = {}
        for mono, _ in self.terms:
            for atom in mono:
                if atom.id not in seen:
                    seen[atom.id] = None
                    yield atom

    def free(self) -> tuple[Sym, ...]:
        """Every symbol in it, also inside divisions, in a fixed order."""
        if self._free is None:
            self._free = _merge_free(atom_free(a) for a in self.atoms())
        return self._free

    def content(self) -> int:
        """The greatest common divisor of the coefficients of the non-constant terms."""
        result = 0
        for _, coef in self.terms:
            result = gcd(result, coef)
        return result

    # -- arithmetic ------------------------------------------------------------------

    def __add__(self, other: Expr | int) -> Expr:
        if isinstance(other, int):
            return self if other == 0 else _shift(self, other)
        if not isinstance(other, Expr):
            return NotImplemented
        if other.is_const:
            return self + other.const
        out = dict(self.terms)
        for mono, coef in other.terms:
            out[mono] = out.get(mono, 0) + coef
        return Expr.make(out, self.const + other.const)

    __radd__ = __add__

    def __neg__(self) -> Expr:
        return self * -1

    def __sub__(self, other: Expr | int) -> Expr:
        if isinstance(other, int):
            return self + (-other)
        if not isinstance(other, Expr):
            return NotImplemented
        if not other.terms:
            return self + (-other.const)
        out = dict(self.terms)
        for mono, coef in other.terms:
            out[mono] = out.get(mono, 0) - coef
        return Expr.make(out, self.const - other.const)

    def __rsub__(self, other: Expr | int) -> Expr:
        return (-self) + other

    def __mul__(self, other: Expr | int) -> Expr:
        if isinstance(other, int):
            if other == 1:
                return self
            return _scale(self, other)
        if not isinstance(other, Expr):
            return NotImplemented
        if other.is_const:
            return self * other.const
        if self.is_const:
            return other * self.const
        out: dict[tuple[Atom, ...], int] = {}
        left = [*self.terms, ((), self.const)] if self.const else list(self.terms)
        right = [*other.terms, ((), other.const)] if other.const else list(other.terms)
        const = 0
        for m1, c1 in left:
            for m2, c2 in right:
                mono = tuple(sorted((*m1, *m2), key=_atom_id))
                if mono:
                    out[mono] = out.get(mono, 0) + c1 * c2
                else:
                    const += c1 * c2
        return Expr.make(out, const)

    __rmul__ = __mul__

    def __floordiv__(self, other: Expr | int) -> Expr:
        return floordiv(self, other)

    def __rfloordiv__(self, other: int) -> Expr:
        return floordiv(const(other), self)

    def __mod__(self, other: Expr | int) -> Expr:
        return mod(self, other)

    def __rmod__(self, other: int) -> Expr:
        return mod(const(other), self)

    def __bool__(self) -> bool:
        raise TypeError("a symbolic integer has no truth value: compare it")

    def __repr__(self) -> str:
        parts = []
        for mono, coef in self.terms:
            body = "*".join(map(repr, mono))
            parts.append(body if coef == 1 else f"{coef}*{body}")
        if self.const or not parts:
            parts.append(str(self.const))
        return " + ".join(parts)


def _atom_id(atom: Atom) -> int:
    return atom.id


def _shift(expr: Expr, amount: int) -> Expr:
    return _interned(expr.terms, expr.const + amount)


def _scale(expr: Expr, factor: int) -> Expr:
    if factor == 0:
        return _interned((), 0)
    return _interned(tuple([(m, c * factor) for m, c in expr.terms]), expr.const * factor)


def _interned(terms: _Terms, const: int) -> Expr:
    """The polynomial of ordered terms without zeros."""
    key = (terms, const)
    found = _context.exprs.get(key)
    if found is None:
        found = Expr.__new__(Expr)
        found.terms = terms
        found.const = const
        found._free = None
        found._bounds = None
        _context.exprs[key] = found
    return found


def _place(term: tuple[tuple[Atom, ...], int]) -> tuple[int, ...]:
    """The order of terms: by degree, then by the ids of their atoms."""
    mono = term[0]
    if len(mono) == 1:
        return (1, mono[0].id)
    return (len(mono), *[atom.id for atom in mono])


def _merge_free(parts: Iterable[tuple[Sym, ...]]) -> tuple[Sym, ...]:
    seen: dict[int, Sym] = {}
    for part in parts:
        for sym in part:
            seen.setdefault(sym.id, sym)
    return tuple(sorted(seen.values(), key=_atom_id))


def atom_free(atom: Atom) -> tuple[Sym, ...]:
    """The symbols inside an atom."""
    if atom._free is None:
        if isinstance(atom, Sym):
            atom._free = (atom,)
        else:
            atom._free = _merge_free(child.free() for child in atom.children())
    return atom._free


def _intern(key: tuple[object, ...], build: Callable[[], Atom]) -> Expr:
    atom = _context.atoms.get(key)
    if atom is None:
        atom = build()
        atom.id = len(_context.by_id)
        atom._free = None
        _context.by_id.append(atom)
        _context.atoms[key] = atom
        # computed and kept now, while the parts' own are at hand: no deep recursion later
        atom_free(atom)
        bounds(from_atom(atom))
    return from_atom(atom)


# ------------------------------------------------------------------------ integer builders


def const(value: int) -> Expr:
    return _interned((), int(value))


def lift(value: Expr | int) -> Expr:
    return value if isinstance(value, Expr) else const(value)


def from_atom(atom: Atom) -> Expr:
    return _interned((((atom,), 1),), 0)


def symbol(
    name: str,
    lo: int | None = None,
    hi: int | None = None,
    origin: str = "input",
    domain: tuple[str, ...] | None = None,
    words: Mapping[int, str] | None = None,
) -> Expr:
    """The symbol of that name; asking again gives the same one.

    ``domain`` names the values of an enumeration (a dtype, say); the integer is an index into it.
    """
    return _intern(("sym", name), lambda: Sym(name, lo, hi, origin, domain, words))


def fresh(prefix: str, lo: int | None = None, hi: int | None = None, origin: str = "havoc") -> Expr:
    """A new symbol whose name starts with ``prefix`` and ends with a number of its own."""
    return symbol(f"{prefix}#{next(_context.counter)}", lo, hi, origin)


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
    return _intern(("div", id(a), id(b)), lambda: Div(a, b))


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
    return out + _intern(("div", id(remainder), id(divisor)), lambda: Div(remainder, divisor))


def exact_quotient(a: Expr, b: Expr) -> Expr | None:
    """``q`` with ``q * b == a`` identically, for a one-term ``b``; None if there is none."""
    if len(b.terms) != 1 or b.const:
        return const(1) if a is b and not b.is_const else None
    (divisor, coef) = b.terms[0]
    if a.const:
        return None
    out: dict[tuple[Atom, ...], int] = {}
    for mono, c in a.terms:
        left = list(mono)
        for atom in divisor:
            if atom not in left:
                return None
            left.remove(atom)
        if c % coef:
            return None
        _add(out, tuple(left), c // coef)
    shift = out.pop((), 0)
    return Expr.make(out, shift)


def mod(a: Expr | int, b: Expr | int) -> Expr:
    """``a % b`` with Python's sign rule."""
    a, b = lift(a), lift(b)
    return a - b * floordiv(a, b)


def ceildiv(a: Expr | int, b: Expr | int) -> Expr:
    return -floordiv(-lift(a), b)


def minimum(*args: Expr | int) -> Expr:
    return _extremum("min", args)


def maximum(*args: Expr | int) -> Expr:
    return _extremum("max", args)


def _extremum(kind: str, args: tuple[Expr | int, ...]) -> Expr:
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
    return _intern((kind, tuple(map(id, parts))), lambda: Extremum(kind, parts))


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
    if test is FALSE:
        return other
    return _intern(("ite", id(test), id(then), id(other)), lambda: Ite(test, then, other))


def table(name: str, index: Expr, values: Mapping[int, int]) -> Expr:
    """``values[index]``; folds when the index is constant or all results agree.

    An index without an entry stays a term: it does not occur, and evaluating it raises.
    """
    if index.is_const and index.const in values:
        return const(values[index.const])
    if len(set(values.values())) == 1:
        return const(next(iter(values.values())))
    items = tuple(sorted(values.items()))
    return _intern(("table", name, id(index), items), lambda: Table(name, index, items))


# ------------------------------------------------------------------------ static bounds


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
    if lo is None or hi is None:
        rlo, rhi = _remainder_bounds(expr)
        lo = rlo if lo is None else lo
        hi = rhi if hi is None else hi
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
    return None, None


# ------------------------------------------------------------------------ truth values


class Bool:
    """A formula. Immutable, interned; built by the functions below only."""

    __slots__ = ("_free", "_negation", "args", "expr", "flags", "kind", "name")

    #: ``const``, ``le`` (expr <= 0), ``eq`` (expr == 0), ``ne``, ``var``, ``and``, ``or``, ``not``
    kind: str
    expr: Expr | None
    args: tuple[Bool, ...]
    name: str
    #: what :func:`verifier.solver.terms.flags` has found in it
    flags: tuple[str, ...] | None
    _free: tuple[Sym, ...] | None
    _negation: Bool | None

    def free(self) -> tuple[Sym, ...]:
        """Every integer symbol in it, in a fixed order (truth-valued variables excluded)."""
        if self._free is None:
            if self.expr is not None:
                self._free = self.expr.free()
            else:
                self._free = _merge_free(arg.free() for arg in self.args)
        return self._free

    def variables(self) -> dict[str, Bool]:
        """The truth-valued variables in it, by name."""
        if self.kind == "var":
            return {self.name: self}
        out: dict[str, Bool] = {}
        for arg in self.args:
            out.update(arg.variables())
        return out

    def __bool__(self) -> bool:
        raise TypeError("a symbolic truth value cannot be tested: ask a solver")

    def __repr__(self) -> str:
        if self.kind == "const":
            return self.name
        if self.kind == "var":
            return self.name
        if self.expr is not None:
            op = {"le": "<=", "eq": "==", "ne": "!="}[self.kind]
            return f"({self.expr!r} {op} 0)"
        if self.kind == "not":
            return f"not {self.args[0]!r}"
        return "(" + f" {self.kind} ".join(map(repr, self.args)) + ")"


def _bool(kind: str, expr: Expr | None = None, args: tuple[Bool, ...] = (), name: str = "") -> Bool:
    key = (kind, id(expr) if expr is not None else 0, tuple(map(id, args)), name)
    found = _context.bools.get(key)
    if found is None:
        found = Bool.__new__(Bool)
        found.kind = kind
        found.expr = expr
        found.args = args
        found.name = name
        found.flags = None
        found._free = None
        found._negation = None
        _context.bools[key] = found
    return found


def _constant(name: str) -> Bool:
    out = Bool.__new__(Bool)
    out.kind, out.expr, out.args, out.name, out._free = "const", None, (), name, ()
    out.flags, out._negation = (), None
    return out


TRUE: Final = _constant("True")
FALSE: Final = _constant("False")


def truth(value: bool) -> Bool:
    return TRUE if value else FALSE


def bool_symbol(name: str) -> Bool:
    """A free truth value, e.g. a flag parameter."""
    return _bool("var", name=name)


def le(a: Expr | int, b: Expr | int) -> Bool:
    diff = lift(a) - lift(b)
    if diff.is_const:
        return truth(diff.const <= 0)
    lo, hi = bounds(diff)
    if hi is not None and hi <= 0:
        return TRUE
    if lo is not None and lo > 0:
        return FALSE
    g = diff.content()
    if g > 1:  # g*x + c <= 0  ==  x + ceil(c / g) <= 0
        diff = Expr.make({m: c // g for m, c in diff.terms}, -((-diff.const) // g))
    return _bool("le", diff)


def lt(a: Expr | int, b: Expr | int) -> Bool:
    return le(lift(a) + 1, b)


def ge(a: Expr | int, b: Expr | int) -> Bool:
    return le(b, a)


def gt(a: Expr | int, b: Expr | int) -> Bool:
    return lt(b, a)


def eq(a: Expr | int, b: Expr | int) -> Bool:
    diff = lift(a) - lift(b)
    if diff.is_const:
        return truth(diff.const == 0)
    lo, hi = bounds(diff)
    if (lo is not None and lo > 0) or (hi is not None and hi < 0):
        return FALSE
    g = diff.content()
    if diff.const % g:
        return FALSE
    if diff.terms[0][1] < 0:
        g = -g
    if g != 1:
        diff = Expr.make({m: c // g for m, c in diff.terms}, diff.const // g)
    return _bool("eq", diff)


def ne(a: Expr | int, b: Expr | int) -> Bool:
    return not_(eq(a, b))


def not_(a: Bool) -> Bool:
    if a is TRUE:
        return FALSE
    if a is FALSE:
        return TRUE
    if a._negation is None:  # formulas share their parts
        a._negation = _negated(a)
    return a._negation


def _negated(a: Bool) -> Bool:
    if a.kind == "not":
        return a.args[0]
    if a.kind == "le":
        assert a.expr is not None
        return le(1, a.expr)
    if a.kind == "eq":
        return _bool("ne", a.expr)
    if a.kind == "ne":
        return _bool("eq", a.expr)
    if a.kind == "and":
        return or_(*(not_(x) for x in a.args))
    if a.kind == "or":
        return and_(*(not_(x) for x in a.args))
    return _bool("not", args=(a,))


def and_(*args: Bool) -> Bool:
    return _junction("and", TRUE, FALSE, args)


def or_(*args: Bool) -> Bool:
    return _junction("or", FALSE, TRUE, args)


def _junction(kind: str, unit: Bool, zero: Bool, args: tuple[Bool, ...]) -> Bool:
    seen: dict[int, Bool] = {}
    for arg in args:
        for item in arg.args if arg.kind == kind else (arg,):
            if item is zero:
                return zero
            if item is not unit:
                seen.setdefault(id(item), item)
    for item in seen.values():
        if item.kind in ("eq", "ne", "var", "not", "le") and id(not_(item)) in seen:
            return zero
    simpler = _without_decided("or" if kind == "and" else "and", seen)
    if simpler is not None:
        return _junction(kind, unit, zero, simpler)
    if not seen:
        return unit
    if len(seen) == 1:
        return next(iter(seen.values()))
    return _bool(kind, args=tuple(seen.values()))


def _without_decided(inner: str, items: Mapping[int, Bool]) -> tuple[Bool, ...] | None:
    """The items with those of kind ``inner`` simplified by their neighbours, None if none changes.

    ``p and (not p or q)`` is ``p and q``; ``p and (p or q)`` is ``p``; likewise with both swapped.
    """
    out: list[Bool] = []
    changed = False
    for item in items.values():
        if item.kind != inner:
            out.append(item)
            continue
        if any(id(arg) in items for arg in item.args):
            changed = True
            continue
        kept = [a for a in item.args if a.kind in ("and", "or") or id(not_(a)) not in items]
        if len(kept) < len(item.args):
            changed = True
            out.append(or_(*kept) if inner == "or" else and_(*kept))
        else:
            out.append(item)
    return tuple(out) if changed else None


def implies(a: Bool, b: Bool) -> Bool:
    return or_(not_(a), b)


# ------------------------------------------------------------------------ substitution, evaluation


class Substitution:
    """A simultaneous replacement of symbols (and truth variables by name), memoised."""

    def __init__(self, symbols: Mapping[Sym, Expr], flags: Mapping[str, Bool] | None = None):
        self._symbols = dict(symbols)
        self._flags = dict(flags or {})
        self._exprs: dict[int, Expr] = {}
        self._atoms: dict[int, Expr] = {}
        self._bools: dict[int, Bool] = {}

    def expr(self, e: Expr) -> Expr:
        if not self._flags and self._symbols.keys().isdisjoint(e.free()):
            return e
        found = self._exprs.get(id(e))
        if found is None:
            same: dict[tuple[Atom, ...], int] = {}
            changed: list[Expr] = []
            for mono, coef in e.terms:
                values = [self.atom(atom) for atom in mono]
                if all(v.as_atom() is a for v, a in zip(values, mono, strict=True)):
                    same[mono] = coef
                    continue
                product = values[0] * coef
                for value in values[1:]:
                    product = product * value
                changed.append(product)
            total = Expr.make(same, e.const)
            for product in changed:
                total = total + product
            found = self._exprs[id(e)] = total
        return found

    def atom(self, atom: Atom) -> Expr:
        found = self._atoms.get(atom.id)
        if found is None:
            if isinstance(atom, Sym):
                value = self._symbols.get(atom)
                found = from_atom(atom) if value is None else value
            elif isinstance(atom, Div):
                found = floordiv(self.expr(atom.num), self.expr(atom.den))
            elif isinstance(atom, Extremum):
                found = _extremum(atom.kind, tuple(self.expr(a) for a in atom.args))
            elif isinstance(atom, Ite):
                found = ite(self.bool(atom.test), self.expr(atom.then), self.expr(atom.other))
            elif isinstance(atom, Table):
                found = table(atom.name, self.expr(atom.index), dict(atom.values))
            else:  # pragma: no cover - the atom kinds above are all there are
                raise AssertionError(atom)
            self._atoms[atom.id] = found
        return found

    def bool(self, b: Bool) -> Bool:
        if not self._flags and self._symbols.keys().isdisjoint(b.free()):
            return b
        found = self._bools.get(id(b))
        if found is None:
            if b.kind == "var":
                found = self._flags.get(b.name, b)
            elif b.kind == "const":
                found = b
            elif b.kind == "le":
                assert b.expr is not None
                found = le(self.expr(b.expr), 0)
            elif b.kind in ("eq", "ne"):
                assert b.expr is not None
                found = eq(self.expr(b.expr), 0)
                found = found if b.kind == "eq" else not_(found)
            elif b.kind == "not":
                found = not_(self.bool(b.args[0]))
            else:
                build = and_ if b.kind == "and" else or_
                found = build(*(self.bool(a) for a in b.args))
            self._bools[id(b)] = found
        return found


class EvaluationError(ArithmeticError):
    """A division by zero, or a symbol without a value."""


def evaluate(term: Expr | Bool, env: Mapping[str, int | bool]) -> int | bool:
    """The value of a term on plain integers; ``env`` maps symbol and flag names to values.

    Raises:
        EvaluationError: a symbol has no value, or a divisor is zero.
    """
    if isinstance(term, Bool):
        return _evaluate_bool(term, env)
    total = term.const
    for mono, coef in term.terms:
        product = coef
        for atom in mono:
            product *= _evaluate_atom(atom, env)
        total += product
    return total


def _evaluate_atom(atom: Atom, env: Mapping[str, int | bool]) -> int:
    if isinstance(atom, Sym):
        try:
            return int(env[atom.name])
        except KeyError:
            raise EvaluationError(f"no value for {atom.name}") from None
    if isinstance(atom, Div):
        den = evaluate(atom.den, env)
        if den == 0:
            raise EvaluationError("division by zero")
        return int(evaluate(atom.num, env)) // int(den)
    if isinstance(atom, Extremum):
        values = [int(evaluate(a, env)) for a in atom.args]
        return min(values) if atom.kind == "min" else max(values)
    if isinstance(atom, Ite):
        return int(evaluate(atom.then if evaluate(atom.test, env) else atom.other, env))
    if isinstance(atom, Table):
        index = int(evaluate(atom.index, env))
        for key, value in atom.values:
            if key == index:
                return value
        raise EvaluationError(f"{atom.name} has no entry {index}")
    raise AssertionError(atom)  # pragma: no cover


def _evaluate_bool(b: Bool, env: Mapping[str, int | bool]) -> bool:
    if b.kind == "const":
        return b is TRUE
    if b.kind == "var":
        try:
            return bool(env[b.name])
        except KeyError:
            raise EvaluationError(f"no value for {b.name}") from None
    if b.expr is not None:
        value = evaluate(b.expr, env)
        return value <= 0 if b.kind == "le" else (value == 0) == (b.kind == "eq")
    if b.kind == "not":
        return not _evaluate_bool(b.args[0], env)
    if b.kind == "and":
        return all(_evaluate_bool(a, env) for a in b.args)
    return any(_evaluate_bool(a, env) for a in b.args)
