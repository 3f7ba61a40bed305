"""Work that is dealt out in turn: ``for i in range(core, total, cores)`` on each of the cores.

All cores together come to each ``i`` below ``total`` once: on the core ``i % cores``, in its round
``i // cores``. Where only ``core + cores*round`` is spoken of, one index takes the place of both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Div, Expr, Sym


class Dealt(Struct, frozen=True):
    """``core`` and ``round`` are ``put`` in terms of one index below ``total``."""

    core: Sym
    round: Sym
    index: Sym
    total: Expr
    put: E.Substitution
    #: what is left of one of the two alone
    alone: Div


def dealt(extents: Mapping[Sym, Expr], terms: Sequence[Expr | Bool]) -> Dealt | None:
    """Two of the indices that the terms, and the extents of others, speak of together only."""
    for round_, trips in extents.items():
        if len(trips.terms) != 1 or trips.const:
            continue
        (mono, coef) = trips.terms[0]
        (atom, *others) = mono
        if others or not isinstance(atom, Div) or abs(coef) != 1:
            continue
        for core, cores in extents.items():
            if cores is not atom.den or atom.num.coefficient(core) != -coef or core is round_:
                continue
            total = atom.num + E.from_atom(core) - (cores - 1)
            if coef < 0:
                total = E.from_atom(core) - atom.num
            found = _put(core, round_, cores, total)
            own = (core, round_)
            beside = (size for symbol, size in extents.items() if symbol not in own)
            if found is not None and all(_together(term, found) for term in (*terms, *beside)):
                return found
    return None


def _put(core: Sym, round_: Sym, cores: Expr, total: Expr) -> Dealt | None:
    low, _ = E.bounds(cores)
    own = {core, round_}
    if low is None or low < 1 or own & {*total.free(), *cores.free()}:
        return None
    index = E.fresh(round_.name, 0, None, E.Origin.POINT)
    turn = E.floordiv(index, cores)
    alone, symbol = turn.as_atom(), index.as_atom()
    if not isinstance(alone, Div) or not isinstance(symbol, Sym):
        return None  # (of one core there is nothing to put together)
    put = E.Substitution({core: index - cores * turn, round_: turn})
    return Dealt(core, round_, symbol, total, put, alone)


def _together(term: Expr | Bool, found: Dealt) -> bool:
    if found.core not in term.free() and found.round not in term.free():
        return True
    after = found.put.expr(term) if isinstance(term, Expr) else found.put.bool(term)
    return all(each is not found.alone for each in E.walk(after))


__all__ = ["Dealt", "dealt"]
