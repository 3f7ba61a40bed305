"""Terms in the kernel's own words: ``128*k + 128 <= lhsT.shape[1]``.

The algebra normalises (a remainder is ``a - b*(a // b)``, a ceiling division ``-(-a // b)``, every
comparison is with zero); here the usual spellings are recognised again. What is printed is Python
and means the same as the term, apart from ``ceil(a / b)``, which stands for exact ceiling division.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from math import gcd
from typing import Final

from msgspec import Struct

from verifier.symbolic import expr as E
from verifier.symbolic.equivalent import equivalent
from verifier.symbolic.expr import (
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
)

_SUM: Final = 1  # binding strengths: what may stand inside without parentheses
_QUOTIENT: Final = 2  # ``a // b`` and ``a % b``
_PRODUCT: Final = 3
_ATOM: Final = 4

_NUMBERED: Final = re.compile(r"[#']\d+$")
#: atoms and comparisons printed of one term: shared parts of a term print once per use
_LARGEST: Final = 150
_WHOLE: Final = 10_000
#: characters that a product of a sum has to save: its parentheses, and something
_SAVED: Final = 3
#: choices by one number after another that are a shift
_RUNGS: Final = 3
#: values of a number that are listed
_LIST: Final = 3
_RANK: Final = ".rank"
_NONE: Final = " is None"
_TRUE: Final = "bool("
_SOME: Final = " is not None"
_BYTES: Final = "itemsize"
_FLIPPED: Final = {"<=": ">=", "<": ">", "==": "==", "!=": "!="}


@lru_cache(maxsize=1024)
def pretty(term: Expr | Bool) -> str:
    """The term as a user would write it; one line, no terms of the solver.

    Of very large terms the end is left out (``...``). A helper that is called again and again
    checks the same terms each time: what they read is remembered.
    """
    return _Printer(_LARGEST, {})._whole(term)


@lru_cache(maxsize=1024)
def operand(term: Expr) -> str:
    """The term where it stands beside a comparison: parentheses around a choice between two."""
    return _wrap(*_Printer(_LARGEST, {})._expr(term), _SUM)


@lru_cache(maxsize=1024)
def factor(term: Expr) -> str:
    """The term where it stands beside ``*``, ``/`` or ``%``."""
    return _wrap(*_Printer(_LARGEST, {})._expr(term), _ATOM)


def python(term: Expr | Bool, names: Mapping[Sym, str] | None = None) -> str:
    """The term as Python over the kernel's parameters and ``names``; nothing is left out.

    Dtypes stand as bare names, a program's number as ``program_id(0)``.
    """
    return _Printer(_WHOLE, names or {}, runs=True)._whole(term)


def name(symbol: Sym) -> str:
    """The symbol's name without the number that keeps fresh symbols apart."""
    return _NUMBERED.sub("", symbol.name)


# ------------------------------------------------------------------------------- integers

#: ``(sign, text, strength)`` of one summand
_Part = tuple[int, str, int]


def _wrap(text: str, strength: int, needed: int) -> str:
    return text if strength >= needed else f"({text})"


def _join(parts: list[_Part]) -> tuple[str, int]:
    if not parts:
        return "0", _ATOM
    if len(parts) == 1 and parts[0][0] > 0:
        return parts[0][1], parts[0][2]
    ordered = sorted(parts, key=lambda part: part[0] < 0)  # stable: positive summands first
    text = ""
    for sign, body, strength in ordered:
        if not text and sign < 0:  # a leading minus binds tighter than a division
            text = "-" + _wrap(body, strength, _PRODUCT)
            continue
        body = _wrap(body, strength, _QUOTIENT)
        if not text:
            text = body
        else:
            text += f" + {body}" if sign > 0 else f" - {body}"
    return text, _SUM


def _without(mono: tuple[Atom, ...], atom: Atom) -> tuple[Atom, ...]:
    """A product without one of its factors."""
    position = mono.index(atom)
    return (*mono[:position], *mono[position + 1 :])


def _enumerated(e: Expr) -> tuple[Sym | Ite, str] | None:
    """``(symbol, value)`` when ``e == 0`` says that a symbol of an enumeration, or a choice between
    such symbols, has a value."""
    if len(e.terms) == 1:
        mono, coef = e.terms[0]
        if len(mono) == 1 and abs(coef) == 1 and isinstance(mono[0], (Sym, Ite)):
            value, symbol = -e.const * coef, mono[0]
            names = _domain(symbol) if isinstance(symbol, Ite) else symbol.domain
            if names and 0 <= value < len(names):
                return symbol, names[value]
            if isinstance(symbol, Sym) and symbol.words and value in symbol.words:
                return symbol, symbol.words[value]
    return None


def _valued(e: Expr) -> tuple[Sym, str] | None:
    """``(symbol, value)`` when ``e == 0`` says that a symbol has a value."""
    if len(e.terms) != 1 or len(e.terms[0][0]) != 1 or abs(e.terms[0][1]) != 1:
        return None
    ((symbol,), coef) = e.terms[0]
    return (symbol, str(-e.const * coef)) if isinstance(symbol, Sym) else None


def _domain(atom: Ite) -> tuple[str, ...]:
    """The names of what a choice comes to, nothing if these are numbers."""
    pending = [atom.then, atom.other]
    while pending:
        symbol = pending.pop().as_atom()
        if isinstance(symbol, Ite):
            pending += [symbol.then, symbol.other]
        elif isinstance(symbol, Sym):
            return symbol.domain or ()
    return ()


def _doubling(atom: Ite) -> tuple[Expr, Expr] | None:
    """``(a, b)`` where a choice by the value of a number comes to ``a << b``, else None."""
    rungs: list[tuple[Expr, Expr]] = []
    rest: Expr = E.from_atom(atom)
    while isinstance(inner := rest.as_atom(), Ite):
        test = inner.test
        if test.kind is not BoolKind.EQ or test.expr is None:
            return None
        rungs.append((test.expr, inner.then))
        rest = inner.other
    if len(rungs) < _RUNGS:
        return None
    values = [*(value for _, value in rungs), rest]
    if any(value * 2 is not double for value, double in pairwise(values)):
        return None
    steps = {number - following for (number, _), (following, _) in pairwise(rungs)}
    if len(steps) != 1 or not (step := steps.pop()).is_const or abs(step.const) != 1:
        return None
    return values[0], rungs[0][0] * step.const


def _of_numbers(atom: Ite) -> bool:
    """Whether all that a choice comes to is known."""
    sides = ((side, side.as_atom()) for side in (atom.then, atom.other))
    return all(
        side.is_const or (isinstance(inner, Ite) and _of_numbers(inner)) for side, inner in sides
    )


@lru_cache(maxsize=256)
def _bytes_of(atom: Table) -> tuple[Sym, int, list[str]] | None:
    """Of the bytes that a type takes which hangs on another one: ``(dtype, size, names)`` if these
    are the other one's, but ``size`` for those of the ``names``."""
    types = E.atom_free(atom)
    if isinstance(atom.index.as_atom(), Sym) or len(types) != 1 or types[0].domain is None:
        return None
    (symbol,) = types
    low, high, size, names = symbol.lo or 0, symbol.hi, 0, list[str]()
    for code, own in atom.values:
        if code < low or (high is not None and code > high):
            continue
        try:
            found = int(E.evaluate(E.from_atom(atom), {symbol.name: code}))
        except E.EvaluationError:
            return None
        if found != own:
            if size not in (0, found):
                return None
            size = found
            names.append((symbol.domain or ())[code])
    return symbol, size, names


def _side(parts: list[_Part]) -> str:
    return _wrap(*_join(parts), _SUM)


def _rounds_up(atom: Div) -> bool:
    """Whether it is ``(x + d - 1) // d``."""
    positive = all(coef > 0 for _, coef in atom.num.terms)
    return positive and atom.den.is_const and 0 < atom.num.const == atom.den.const - 1


def _one_remainder(kind: BoolKind, e: Expr) -> tuple[Expr, int, int, str] | None:
    """``(W, 7, 1, "!=")`` when a comparison of ``(W + 5) % 7`` with a number says just that."""
    for atom in (mono[0] for mono, _ in e.terms if len(mono) == 1):
        if not isinstance(atom, Div) or not atom.den.is_const or not atom.num.const:
            continue
        modulus = atom.den.const
        remainder = atom.num - E.from_atom(atom) * modulus
        for sign in (1, -1):
            rest = e - remainder * sign
            if not rest.is_const or modulus < 2:
                continue
            bound = -rest.const * sign  # what the remainder is compared with
            if kind is not BoolKind.LE:
                value, op = bound, kind.value
            elif bound == (modulus - 2 if sign > 0 else 1):
                value, op = (modulus - 1 if sign > 0 else 0), "!="
            elif bound == (0 if sign > 0 else modulus - 1):
                value, op = bound, "=="
            else:
                return None
            if not 0 <= value < modulus:
                return None
            return atom.num - atom.num.const, modulus, (value - atom.num.const) % modulus, op
    return None


def _without_none(b: Bool) -> Bool:
    """Without that what is true is not None, or that what is None is not true: None is false."""
    some = b if b.kind is E.BoolKind.AND else E.not_(b)
    true = {f"{part.name.removeprefix(_TRUE).removesuffix(')')}{_NONE}" for part in some.args}
    left = (p for p in some.args if p.kind is not E.BoolKind.NOT or p.args[0].name not in true)
    said = E.and_(*left)
    if len(said.args) == len(some.args):
        return b
    return said if some is b else E.not_(said)


class _Printer(Struct):
    """Prints one term; ``left`` is how many more atoms and comparisons it may print.

    ``runs``: what is printed can be evaluated.
    """

    left: int
    names: Mapping[Sym, str]
    runs: bool = False

    def _whole(self, term: Expr | Bool) -> str:
        return self._bool(term, 0) if isinstance(term, Bool) else self._expr(term)[0]

    def _name(self, symbol: Sym) -> str:
        found = self.names.get(symbol)
        if found is not None:
            return found
        plain = name(symbol)
        if self.runs and plain.endswith(_RANK):
            return f"len({plain.removesuffix(_RANK)}.shape)"
        return plain

    def _rounded_up(self, number: str, strength: int, den: str) -> tuple[str, int]:
        """``number / den`` rounded up."""
        if self.runs:
            return f"-(-{_wrap(number, strength, _ATOM)} // {den})", _PRODUCT
        return f"ceil({_wrap(number, strength, _PRODUCT)} / {den})", _ATOM

    def _expr(self, e: Expr) -> tuple[str, int]:
        return _join(self._parts(e))

    def _parts(self, e: Expr) -> list[_Part]:
        """The summands of a polynomial; remainders and ceilings recognised, the constant last."""
        parts: list[_Part] = []
        e = self._take_remainders(self._take_ceilings(e, parts), parts)
        if self.runs:
            e = self._take_less_one(e, parts)
        shift = e.const
        plain: list[_Part] = []
        for mono, coef in self._grouped(e, plain) if self.runs else e.terms:
            ceiling = self._ceiling(mono[0]) if len(mono) == 1 else None
            if ceiling is None:
                plain.append(self._monomial(mono, coef))
                continue
            text, moved = ceiling
            shift -= moved * coef
            size = abs(coef)
            plain.append((1 if coef < 0 else -1, text if size == 1 else f"{size}*{text}", _PRODUCT))
        parts = plain + parts
        if shift:
            parts.append((1 if shift > 0 else -1, str(abs(shift)), _ATOM))
        return parts

    def _grouped(self, e: Expr, parts: list[_Part]) -> Sequence[tuple[tuple[Atom, ...], int]]:
        """The summands less those that share a factor, which are printed as one product."""
        left = list(e.terms)
        while (shared := self._shared(left)) is not None:
            group, atom = shared
            sign = 1 if group[0][1] > 0 else -1
            common = gcd(*(coef for _, coef in group))
            inner = {_without(mono, atom): coef * sign // common for mono, coef in group}
            number = inner.pop((), 0)
            text = _wrap(*self._expr(Expr.make(inner, number)), _PRODUCT)
            factor = _wrap(*self._atom(atom), _ATOM)
            product = f"{text}*{factor}" if isinstance(atom, Table) else f"{factor}*{text}"
            parts.append((sign, product if common == 1 else f"{common}*{product}", _PRODUCT))
            left = [term for term in left if term not in group]
        return left

    def _shared(
        self, terms: Sequence[tuple[tuple[Atom, ...], int]]
    ) -> tuple[list[tuple[tuple[Atom, ...], int]], Atom] | None:
        """The products that share a factor, such that most is saved by it: those of one sign, or
        all of how many bytes a type takes."""
        best: tuple[int, list[tuple[tuple[Atom, ...], int]], Atom] | None = None
        for sign in (1, -1):
            signed = [term for term in terms if term[1] * sign > 0]
            for atom in dict.fromkeys(atom for mono, _ in signed for atom in mono):
                group = [term for term in signed if atom in term[0]]
                if isinstance(atom, Table):  # what is counted in bytes is counted together
                    group += [t for t in terms if t not in group and atom in t[0]]
                if len(group) < 2:
                    continue
                saved = (len(group) - 1) * (self._length(atom) + 1)
                if saved > _SAVED and (best is None or saved > best[0]):
                    best = saved, group, atom
        return None if best is None else best[1:]

    def _length(self, atom: Atom) -> int:
        """How long a factor is, as far as that matters: what is only measured is not printed."""
        before, self.left = self.left, min(self.left, _LARGEST)
        try:
            return len(self._atom(atom)[0])
        finally:
            self.left = before

    def _take_ceilings(self, e: Expr, parts: list[_Part]) -> Expr:
        """Split off a number rounded up that several summands share; the rest is returned.

        ``-(-n // c)*(c - 1) < n`` says more than ``(-n) % c < -(-n // c)``.
        """
        for atom in dict.fromkeys(atom for mono, _ in e.terms for atom in mono):
            group = [(mono, coef) for mono, coef in e.terms if mono.count(atom) == 1]
            if not isinstance(atom, Div) or atom.den.is_const or len(group) < 2:
                continue
            found = self._ceiling(atom)
            if found is None or found[1]:
                continue
            whole = Expr.make({_without(mono, atom): -coef for mono, coef in group}, 0)
            number = sum(-coef for mono, coef in group if mono == (atom,))
            inner = Expr.make({mono: c for mono, c in whole.terms if mono}, number)
            sign = 1 if inner.terms[0][1] > 0 else -1
            text = f"{found[0]}*{_wrap(*self._expr(inner * sign), _ATOM)}"
            parts.append((sign, text, _PRODUCT))
            left = {mono: coef for mono, coef in e.terms if (mono, coef) not in group}
            return self._take_ceilings(Expr.make(left, e.const), parts)
        return e

    def _take_remainders(self, e: Expr, parts: list[_Part]) -> Expr:
        """Split off every ``k * (num % den)``; the rest is returned."""
        for mono, _ in e.terms:
            for atom in mono:
                if not isinstance(atom, Div):
                    continue
                remainder = atom.num - atom.den * E.from_atom(atom)
                lead = (atom.den * E.from_atom(atom)).terms
                if not lead:
                    continue
                found = dict(e.terms).get(lead[-1][0])
                if found is None or found % lead[-1][1]:
                    continue
                factor = -found // lead[-1][1]
                rest = e - remainder * factor
                if len(rest.terms) < len(e.terms):
                    num = _wrap(*self._expr(atom.num), _PRODUCT)
                    den = _wrap(*self._expr(atom.den), _ATOM)
                    text, strength = f"{num} % {den}", _QUOTIENT
                    if abs(factor) != 1:
                        text, strength = f"{abs(factor)}*({text})", _PRODUCT
                    parts.append((1 if factor > 0 else -1, text, strength))
                    return self._take_remainders(rest, parts)
        return e

    def _take_less_one(self, e: Expr, parts: list[_Part]) -> Expr:
        """Split off ``c*(x - 1)*(y - 1)`` where ``c*x*y - c*x - c*y`` is there; the rest is
        returned."""
        factors = dict(e.terms)
        for mono, factor in e.terms:
            if len(mono) != 2 or mono[0] is mono[1] or abs(factor) == 1:
                continue
            one, other = mono
            if factors.get((one,)) == factors.get((other,)) == -factor:
                less = [_wrap(*self._expr(E.from_atom(a) - 1), _ATOM) for a in mono]
                text = f"{abs(factor)}*{'*'.join(less)}"
                parts.append((1 if factor > 0 else -1, text, _PRODUCT))
                x, y = map(E.from_atom, mono)
                return self._take_less_one(e - (x - 1) * (y - 1) * factor, parts)
        return e

    def _ceiling(self, atom: Atom) -> tuple[str, int] | None:
        """``-(num // den)`` as a ceiling division and what has to be added to it."""
        if not isinstance(atom, Div) or not atom.num.terms:
            return None
        if all(coef > 0 for _, coef in atom.num.terms):
            return None
        parts = self._parts(atom.num - atom.num.const)
        if any(sign > 0 for sign, _, _ in parts):
            return None
        parts = [(1, text, strength) for _, text, strength in parts]
        number, moved = -atom.num.const, 0
        if atom.den.is_const and atom.den.const and number < 0:
            moved = (-number + atom.den.const - 1) // atom.den.const
            number += moved * atom.den.const
        if number:
            parts.append((1 if number > 0 else -1, str(abs(number)), _ATOM))
        text, strength = _join(parts)
        den = _wrap(*self._expr(atom.den), _ATOM)
        return self._rounded_up(text, strength, den)[0], -moved

    def _monomial(self, mono: tuple[Atom, ...], coef: int) -> _Part:
        sign, size = (1 if coef > 0 else -1), abs(coef)
        if len(mono) == 1 and size == 1:
            text, strength = self._atom(mono[0])
            return sign, text, strength
        factors = [_wrap(*self._atom(atom), _ATOM) for atom in mono]
        if size != 1:
            factors.insert(0, str(size))
        return sign, "*".join(factors), _PRODUCT

    def _atom(self, atom: Atom) -> tuple[str, int]:
        self.left -= 1
        if self.left < 0:
            return "...", _ATOM
        if isinstance(atom, Sym):
            return self._name(atom), _ATOM
        if isinstance(atom, Div):
            den = _wrap(*self._expr(atom.den), _ATOM)
            if _rounds_up(atom):
                return self._rounded_up(*self._expr(atom.num - atom.num.const), den)
            num = _wrap(*self._expr(atom.num), _PRODUCT)
            return f"{num} // {den}", _QUOTIENT
        if isinstance(atom, Extremum):
            return f"{atom.kind}({', '.join(self._expr(arg)[0] for arg in atom.args)})", _ATOM
        if isinstance(atom, Ite):
            domain = _domain(atom)
            shifted = None if domain else _doubling(atom)
            if shifted is None:
                return self._choice(atom, domain), 0
            number, places = (_wrap(*self._expr(side), _ATOM) for side in shifted)
            return f"{number} << {places}", 0
        if isinstance(atom, Table):
            choice = atom.index.as_atom()
            if isinstance(choice, Ite) and _of_numbers(choice):
                known = dict(atom.values)
                said = tuple(str(known.get(k, "?")) for k in range(max(known) + 1))
                return self._choice(choice, said), 0
            if atom.name == _BYTES:
                found = _bytes_of(atom)
                if found is not None:
                    return self._bytes(*found)
                text, strength = self._expr(atom.index)
                return f"{_wrap(text, strength, _ATOM)}.itemsize", _ATOM
            return f"{atom.name}({self._expr(atom.index)[0]})", _ATOM
        if isinstance(atom, Power):
            return f"{atom.base}**{_wrap(*self._expr(atom.exponent), _ATOM)}", _ATOM
        if isinstance(atom, Least):
            return f"({atom.name})", _ATOM
        raise AssertionError(atom)  # pragma: no cover - the atom kinds above are all there are

    def _bytes(self, symbol: Sym, size: int, names: Sequence[str]) -> tuple[str, int]:
        """The bytes of a type, but ``size`` for those of the ``names``."""
        name = self._name(symbol)
        text = f"{name}.itemsize"
        if not names:
            return text, _ATOM
        test = f"in ({', '.join(names)})" if len(names) > 1 else f"== {names[0]}"
        return f"{size} if {name} {test} else {text}", 0

    def _choice(self, atom: Ite, domain: tuple[str, ...]) -> str:
        """``a if test else b``; ``domain`` names the values of an enumeration."""
        then, other = (self._case(part, domain) for part in (atom.then, atom.other))
        return f"{then} if {self._bool(atom.test, 0)} else {other}"

    def _case(self, e: Expr, domain: tuple[str, ...]) -> str:
        inner = e.as_atom()
        if isinstance(inner, Ite) and (domain or _doubling(inner) is None):
            return f"({self._choice(inner, domain)})"
        if e.is_const and 0 <= e.const < len(domain):
            return domain[e.const]
        return _wrap(*self._expr(e), _SUM)

    def _bool(self, b: Bool, needed: int) -> str:
        """``needed``: 0 anything, 1 inside ``or``, 2 inside ``and``, 3 under ``not``."""
        self.left -= 1
        if self.left < 0:
            return "..."
        if b.kind in (E.BoolKind.CONST, E.BoolKind.VAR):
            return b.name
        if b.expr is not None:
            text, strength = self._comparison(b.kind, b.expr), 3 if needed < 3 else 2
            if self.left < 0:
                return "..."
        elif b.kind is E.BoolKind.NOT and b.args[0].name.endswith(_NONE):
            text, strength = f"{b.args[0].name.removesuffix(_NONE)}{_SOME}", 2
        elif b.kind is E.BoolKind.NOT:
            text, strength = f"not {self._bool(b.args[0], 3)}", 2
        elif b.kind in E.JUNCTIONS and self.runs and (said := _without_none(b)) is not b:
            return self._bool(said, needed)
        elif b.kind is E.BoolKind.OR:
            member = self._membership(b)
            if member is not None:
                text, strength = member, 2
            else:
                text, strength = " or ".join(self._alternatives(b.args)), 0
        else:
            excluded = self._membership(b)
            same = None if excluded else self._equivalent(b)
            text, strength = excluded or same or " and ".join(self._each(b.args, 2)), 1
            if same:
                strength = 2
        return text if strength >= needed else f"({text})"

    def _enumeration(self, atom: Sym | Ite) -> str:
        return self._name(atom) if isinstance(atom, Sym) else _wrap(*self._atom(atom), _ATOM)

    def _membership(self, b: Bool) -> str | None:
        """``q.dtype in (float32, bfloat16)`` for equalities, ``not in`` for inequalities."""
        kind = E.BoolKind.EQ if b.kind is E.BoolKind.OR else E.BoolKind.NE
        found: list[tuple[Sym | Ite, str]] = []
        of = _valued if kind is E.BoolKind.EQ and len(b.args) >= _LIST else _enumerated
        for arg in b.args:
            item = None
            if arg.kind is kind and arg.expr is not None:
                item = _enumerated(arg.expr) or of(arg.expr)
            if item is None or (found and found[0][0] is not item[0]):
                return None
            found.append(item)
        among = "in" if kind is E.BoolKind.EQ else "not in"
        return (
            f"{self._enumeration(found[0][0])} {among} ({', '.join(value for _, value in found)})"
        )

    def _equivalent(self, b: Bool) -> str | None:
        """``(p) == (q)`` for two conditions that say just that."""
        found = equivalent(*b.args) if len(b.args) == 2 else None
        if found is None:
            return None
        first, second = (self._bool(side, 0) for side in found)
        return f"({first}) == ({second})"

    def _alternatives(self, args: tuple[Bool, ...]) -> Iterator[str]:
        """Each alternative; those that say which value one symbol has as one."""
        of_one: dict[Sym | Ite, list[Bool]] = {}
        for arg in args:
            item = None
            if arg.kind is E.BoolKind.EQ and arg.expr is not None:
                item = _enumerated(arg.expr)
            if item is not None:
                of_one.setdefault(item[0], []).append(arg)
        several = {id(arg): group for group in of_one.values() if len(group) > 1 for arg in group}
        for arg in args:
            group = several.get(id(arg), [arg])
            if group[0] is arg:
                yield self._bool(E.or_(*group), 1)
                if self.left < 0:
                    return

    def _each(self, args: tuple[Bool, ...], needed: int) -> Iterator[str]:
        for arg in args:
            yield self._bool(arg, needed)
            if self.left < 0:
                return

    def _comparison(self, kind: BoolKind, e: Expr) -> str:
        """``e <op> 0``, positive summands on the left and negative ones on the right."""
        op = kind.value
        if kind is not BoolKind.LE:
            item = _enumerated(e)
            if item is not None:
                return f"{self._enumeration(item[0])} {op} {item[1]}"
        only = _one_remainder(kind, e)
        if only is not None:
            base, modulus, value, op = only
            return f"{_wrap(*self._expr(base), _PRODUCT)} % {modulus} {op} {value}"
        parts = self._parts(e)
        number = 0
        if parts and parts[-1][1].isdigit():
            sign, text, _ = parts.pop()
            number = sign * int(text)
        left = [part for part in parts if part[0] > 0]
        right = [(1, text, strength) for sign, text, strength in parts if sign < 0]
        if kind is BoolKind.LE and number == 1 and left and right:
            op, number = "<", 0
        if left and not right:
            if op == "<=" and number == 0 and E.bounds(e)[0] == 0:
                op = "=="  # what is never negative is at most 0 when it is 0
            return f"{_side(left)} {op} {-number}"
        if right and not left:
            return f"{_side(right)} {_FLIPPED[op]} {number}"
        if number:
            side = left if number > 0 else right
            side.append((1, str(abs(number)), _ATOM))
        if (
            len(left) == 1 and left[0][1].isdigit()
        ):  # pragma: no cover - constants stand alone above
            left, right, op = right, left, _FLIPPED[op]
        return f"{_side(left)} {op} {_side(right)}"


__all__ = ["factor", "name", "operand", "pretty", "python"]
