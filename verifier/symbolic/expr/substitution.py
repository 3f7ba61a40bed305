"""Terms with others in the place of symbols."""

from __future__ import annotations

from collections.abc import Mapping

from verifier.symbolic.expr.division import extremum, floordiv, ite, least, power, table
from verifier.symbolic.expr.formulas import and_, at_most_zero, is_zero, not_, or_
from verifier.symbolic.expr.terms import (
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
    from_atom,
)


class Substitution:
    """A simultaneous replacement of symbols (truth variables by name, other atoms), memoised."""

    def __init__(
        self,
        symbols: Mapping[Sym, Expr],
        flags: Mapping[str, Bool] | None = None,
        atoms: Mapping[Atom, Expr] | None = None,
    ) -> None:
        self._symbols = dict(symbols)
        self._flags = dict(flags or {})
        self._exprs: dict[int, Expr] = {}
        self._atoms: dict[int, Expr] = {atom.id: value for atom, value in (atoms or {}).items()}
        self._whole = bool(atoms)  # they may stand anywhere
        self._bools: dict[int, Bool] = {}

    @property
    def is_empty(self) -> bool:
        """Whether it replaces nothing."""
        return not (self._symbols or self._flags or self._whole)

    def expr(self, e: Expr) -> Expr:
        if not self._flags and not self._whole and self._symbols.keys().isdisjoint(e.free()):
            return e
        found = self._exprs.get(id(e))
        if found is None:
            out: dict[tuple[Atom, ...], int] = {}
            const = e.const
            for mono, coef in e.terms:
                if len(mono) == 1:
                    product = self.atom(mono[0]) * coef
                else:
                    values = [self.atom(atom) for atom in mono]
                    product = values[0] * coef
                    for value in values[1:]:
                        product = product * value
                const += product.const
                for put, factor in product.terms:
                    out[put] = out.get(put, 0) + factor
            found = self._exprs[id(e)] = Expr.make(out, const)
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
                found = extremum(atom.kind, tuple(self.expr(a) for a in atom.args))
            elif isinstance(atom, Ite):
                found = ite(self.bool(atom.test), self.expr(atom.then), self.expr(atom.other))
            elif isinstance(atom, Table):
                found = table(atom.name, self.expr(atom.index), dict(atom.values))
            elif isinstance(atom, Power):
                found = power(atom.base, self.expr(atom.exponent))
            elif isinstance(atom, Least):
                found = least(atom.name, atom.index, self.bool(atom.test))
            else:  # pragma: no cover - the atom kinds above are all there are
                raise AssertionError(atom)
            self._atoms[atom.id] = found
        return found

    def bool(self, b: Bool) -> Bool:
        if (
            not self._whole
            and self._symbols.keys().isdisjoint(b.free())
            and (not self._flags or self._flags.keys().isdisjoint(b.flags()))
        ):
            return b
        found = self._bools.get(id(b))
        if found is None:
            if b.kind is BoolKind.VAR:
                found = self._flags.get(b.name, b)
            elif b.kind is BoolKind.CONST:
                found = b
            elif b.kind is BoolKind.LE:
                assert b.expr is not None
                found = at_most_zero(self.expr(b.expr))
            elif b.kind in (BoolKind.EQ, BoolKind.NE):
                assert b.expr is not None
                found = is_zero(self.expr(b.expr))
                found = found if b.kind is BoolKind.EQ else not_(found)
            elif b.kind is BoolKind.NOT:
                found = not_(self.bool(b.args[0]))
            else:
                build = and_ if b.kind is BoolKind.AND else or_
                found = build(*(self.bool(a) for a in b.args))
            self._bools[id(b)] = found
        return found
