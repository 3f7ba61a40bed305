"""What terms are made of: polynomials over atoms, and formulas, each interned.

All tables live in one :class:`Context`; :func:`fresh_context` starts an analysis with empty tables,
so that the order of atoms, and with it every output, depends on the analysed source alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from math import gcd
from typing import Final, TypeAlias

from msgspec import Struct, field

#: ``((atoms ordered by id, coefficient), ...)``, ordered, no zero coefficient
_Terms: TypeAlias = "tuple[tuple[tuple[Atom, ...], int], ...]"


class Context(Struct):
    """Interning tables of one analysis."""

    exprs: dict[tuple[_Terms, int], Expr] = field(default_factory=dict)
    atoms: dict[tuple[object, ...], Atom] = field(default_factory=dict)
    bools: dict[tuple[object, ...], Bool] = field(default_factory=dict)
    by_id: list[Atom] = field(default_factory=list)
    #: symbols of names of our own that were made
    fresh: int = 0


_context = Context()


def fresh_context() -> None:
    """Forget every interned term. Terms made before must not be mixed with terms made after."""
    global _context  # one analysis at a time; a parameter of every operator would be no clearer
    _context = Context()


class Division(Struct):
    """What ``//`` and ``%`` of polynomials are: given by :mod:`.division`, which needs all this."""

    quotient: Callable[[Expr | int, Expr | int], Expr]
    remainder: Callable[[Expr | int, Expr | int], Expr]


def _undefined(a: Expr | int, b: Expr | int) -> Expr:
    raise AssertionError("the operators of division are not there yet")  # pragma: no cover


DIVISION: Final = Division(_undefined, _undefined)


class Atom:
    """What polynomials are made of. Compared by identity; ``id`` is the order of creation."""

    __slots__ = ("_flags", "_free", "id")
    id: int
    _free: tuple[Sym, ...] | None
    _flags: tuple[str, ...] | None

    def children(self) -> tuple[Expr | Bool, ...]:
        return ()


class Origin(Enum):
    """What a symbol stands for."""

    #: a size or value of an input
    INPUT = "input"
    #: an iteration index
    LOOP = "loop"
    #: an element index of a view
    AXIS = "axis"
    #: a program index or the grid's size
    GRID = "grid"
    #: an element of a region under a for-all
    POINT = "point"
    #: an over-approximated value: see the ledger
    HAVOC = "havoc"
    #: a number that only the device knows, which may be any
    DEVICE = "device"
    #: how often the device runs what is compiled once, which may be any number
    RUNS = "runs"
    #: a quotient that the solver has named
    SOLVER = "solver"


#: what a launch settles
GIVEN: Final = (Origin.INPUT, Origin.GRID)
#: what stands for any value: a refutation that leans on one shows nothing
OPEN: Final = (Origin.HAVOC, Origin.DEVICE, Origin.RUNS)


class Sym(Atom):
    """A free integer.

    ``lo`` and ``hi`` are inclusive bounds that hold always, or None. ``words`` says what some of
    its values stand for.
    """

    __slots__ = ("domain", "hi", "lo", "name", "origin", "words")

    def __init__(
        self,
        name: str,
        lo: int | None,
        hi: int | None,
        origin: Origin,
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


class Power(Atom):
    """``base ** exponent`` of a number from 2 on, rounded down: 0 where that is negative."""

    __slots__ = ("base", "exponent")

    def __init__(self, base: int, exponent: Expr) -> None:
        self.base = base
        self.exponent = exponent

    def children(self) -> tuple[Expr | Bool, ...]:
        return (self.exponent,)

    def __repr__(self) -> str:
        return f"({self.base} ** {self.exponent!r})"


class Least(Atom):
    """The least number from 0 on of which ``test`` does not hold, by its ``index``; ``name`` says
    what it counts.

    It is to be made where there is one. The index is bound: it is nobody else's, and no part of it.
    A symbol of its own stands for that it is no size that anybody gives.
    """

    __slots__ = ("found", "index", "name", "test")

    def __init__(self, name: str, index: Sym, test: Bool) -> None:
        #: what it was found to be, by the values of what its test hangs on
        self.found: dict[tuple[int | bool, ...], int | None] = {}
        self.name = name
        self.index = index
        self.test = test

    def children(self) -> tuple[Expr | Bool, ...]:
        """What it depends on; its test says nothing of any one index."""
        symbols = (from_atom(one) for one in self.test.free() if one is not self.index)
        mark = symbol(self.name, 0, origin=Origin.SOLVER)
        return (mark, *symbols, *(formula(BoolKind.VAR, name=name) for name in self.test.flags()))

    def __repr__(self) -> str:
        return f"(least {self.index!r}: not {self.test!r})"


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
        if not self.terms:
            return other + self.const
        out = dict(self.terms)
        for mono, coef in other.terms:
            out[mono] = out.get(mono, 0) + coef
        return _sum(out, len(self.terms), self.const + other.const)

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
        if not self.terms:
            negated = tuple([(mono, -coef) for mono, coef in other.terms])
            return _interned(negated, self.const - other.const)
        out = dict(self.terms)
        for mono, coef in other.terms:
            out[mono] = out.get(mono, 0) - coef
        return _sum(out, len(self.terms), self.const - other.const)

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
        return DIVISION.quotient(self, other)

    def __rfloordiv__(self, other: int) -> Expr:
        return DIVISION.quotient(other, self)

    def __mod__(self, other: Expr | int) -> Expr:
        return DIVISION.remainder(self, other)

    def __rmod__(self, other: int) -> Expr:
        return DIVISION.remainder(other, self)

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


def _sum(terms: dict[tuple[Atom, ...], int], ordered: int, const: int) -> Expr:
    """The polynomial of terms of which the first ``ordered`` are in order."""
    if len(terms) > ordered:
        return Expr.make(terms, const)
    return _interned(tuple([item for item in terms.items() if item[1]]), const)


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


def _flags_inside(parts: Iterable[Expr | Bool]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for part in parts:
        if isinstance(part, Bool):
            found.update(dict.fromkeys(part.flags()))
        else:
            for atom in part.atoms():
                found.update(dict.fromkeys(_atom_flags(atom)))
    return tuple(found)


def _atom_flags(atom: Atom) -> tuple[str, ...]:
    if atom._flags is None:
        atom._flags = _flags_inside(atom.children())
    return atom._flags


def intern(key: tuple[object, ...], build: Callable[[], Atom]) -> Expr:
    """The atom of that key, as a polynomial."""
    atom = _context.atoms.get(key)
    if atom is None:
        atom = build()
        atom.id = len(_context.by_id)
        atom._free = atom._flags = None
        _context.by_id.append(atom)
        _context.atoms[key] = atom
        # computed and kept now, while the parts' own are at hand: no deep recursion later
        atom_free(atom)
        _atom_flags(atom)
    return from_atom(atom)


# ------------------------------------------------------------------------ integers


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
    origin: Origin = Origin.INPUT,
    domain: tuple[str, ...] | None = None,
    words: Mapping[int, str] | None = None,
) -> Expr:
    """The symbol of that name; asking again gives the same one.

    ``domain`` names the values of an enumeration (a dtype, say); the integer is an index into it.
    """
    return intern(("sym", name), lambda: Sym(name, lo, hi, origin, domain, words))


def fresh(
    prefix: str, lo: int | None = None, hi: int | None = None, origin: Origin = Origin.HAVOC
) -> Expr:
    """A new symbol whose name starts with ``prefix`` and ends with a number of its own."""
    number, _context.fresh = _context.fresh, _context.fresh + 1
    return symbol(f"{prefix}#{number}", lo, hi, origin)


# ------------------------------------------------------------------------ truth values


class BoolKind(Enum):
    """The forms of formulas; the values are what stands between operands."""

    CONST = "const"
    #: ``expr <= 0``
    LE = "<="
    #: ``expr == 0``
    EQ = "=="
    #: ``expr != 0``
    NE = "!="
    #: a truth-valued variable
    VAR = "var"
    AND = "and"
    OR = "or"
    NOT = "not"

    #: formulas are found by it: one that is computed from the name takes too long
    __hash__ = object.__hash__


#: formulas made of formulas beside each other
JUNCTIONS: Final = (BoolKind.AND, BoolKind.OR)


class Bool:
    """A formula. Immutable, interned; built by the functions below only."""

    __slots__ = (
        "_divisions",
        "_flags",
        "_free",
        "_negation",
        "_variables",
        "args",
        "expr",
        "kind",
        "name",
    )

    kind: BoolKind
    expr: Expr | None
    args: tuple[Bool, ...]
    name: str
    _divisions: tuple[Div, ...] | None
    _flags: tuple[str, ...] | None
    _free: tuple[Sym, ...] | None
    _negation: Bool | None
    _variables: Mapping[str, Bool] | None

    def free(self) -> tuple[Sym, ...]:
        """Every integer symbol in it, in a fixed order (truth-valued variables excluded)."""
        if self._free is None:
            if self.expr is not None:
                self._free = self.expr.free()
            else:
                self._free = _merge_free(arg.free() for arg in self.args)
        return self._free

    def flags(self) -> tuple[str, ...]:
        """Names of its truth-valued variables, also of those inside conditional values."""
        if self._flags is None:
            if self.kind is BoolKind.VAR:
                self._flags = (self.name,)
            elif self.expr is not None:
                self._flags = _flags_inside((self.expr,))
            else:
                self._flags = _flags_inside(self.args)
        return self._flags

    def variables(self) -> Mapping[str, Bool]:
        """The truth-valued variables in it, by name."""
        if self._variables is None:  # formulas share their parts
            out: dict[str, Bool] = {self.name: self} if self.kind is BoolKind.VAR else {}
            for arg in self.args:
                out.update(arg.variables())
            self._variables = out
        return self._variables

    def __bool__(self) -> bool:
        raise TypeError("a symbolic truth value cannot be tested: ask a solver")

    def __repr__(self) -> str:
        if self.kind is BoolKind.CONST:
            return self.name
        if self.kind is BoolKind.VAR:
            return self.name
        if self.expr is not None:
            return f"({self.expr!r} {self.kind.value} 0)"
        if self.kind is BoolKind.NOT:
            return f"not {self.args[0]!r}"
        return "(" + f" {self.kind.value} ".join(map(repr, self.args)) + ")"


def formula(
    kind: BoolKind, expr: Expr | None = None, args: tuple[Bool, ...] = (), name: str = ""
) -> Bool:
    """The formula of that kind; only :mod:`.formulas` knows which are normal."""
    key = (kind, id(expr) if expr is not None else 0, tuple(map(id, args)), name)
    found = _context.bools.get(key)
    if found is None:
        found = Bool.__new__(Bool)
        found.kind = kind
        found.expr = expr
        found.args = args
        found.name = name
        found._flags = found._free = None
        found._divisions = found._negation = found._variables = None
        _context.bools[key] = found
    return found


def _constant(name: str) -> Bool:
    out = Bool.__new__(Bool)
    out.kind, out.expr, out.args, out.name, out._free = BoolKind.CONST, None, (), name, ()
    out._divisions, out._flags, out._negation, out._variables = (), (), None, None
    return out


TRUE: Final = _constant("True")
FALSE: Final = _constant("False")
