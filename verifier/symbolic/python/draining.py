"""What a loop takes from a rest, piece by piece: ``piece = min(rest, size); rest -= piece``.

With ``rest`` and ``size`` not negative, iteration ``i`` starts with ``max(rest - size * i, 0)``
left, and the pieces before it make ``min(size * i, rest)``: so much has been added to whatever
grows by the pieces (a count of rows, an address), times a factor.

A cursor that moves up to an end is the same seen from the other side: ``end - cursor`` is left.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Atom, Expr, Extremum, Sym


@dataclass(frozen=True, slots=True)
class Rest:
    """A rest that starts as ``start``; pieces of ``size`` are taken from it.

    ``size_first``: the kernel writes ``min(size, rest)``.
    """

    start: Expr
    size: Expr
    size_first: bool = False

    def at(self, index: Expr) -> Expr:
        """What is left when an iteration starts."""
        return E.maximum(self.start - self.size * index, 0)

    def after(self, index: Expr) -> Expr:
        """What is left when it ends: the same as :meth:`at` of the next iteration."""
        return self.at(index) - self.piece(index)

    def piece(self, index: Expr) -> Expr:
        """What the iteration takes."""
        left = self.at(index)
        return E.minimum(self.size, left) if self.size_first else E.minimum(left, self.size)

    def taken(self, index: Expr) -> Expr:
        """What all iterations before it have taken."""
        return E.minimum(self.size * index, self.start)


@dataclass(frozen=True, slots=True)
class Share:
    """What grows by ``factor`` times each piece."""

    rest: Rest
    factor: Expr


def rest_of(was: Expr, now: Expr, index: Sym) -> Rest | None:
    """The rest that ``was`` is, if ``now`` is ``was`` less a piece of it."""
    atom = (was - now).as_atom()
    if not isinstance(atom, Extremum) or atom.kind != "min" or len(atom.args) != 2:
        return None
    for position, mine in enumerate(atom.args):
        size = atom.args[1 - position]
        if mine is was and index not in size.free():
            return Rest(was, size, position == 1)
    return None


def cursor_of(start: Expr, was: Expr, now: Expr, index: Sym) -> Rest | None:
    """What is left before a cursor: ``row += min(size, end - row)``, ``min(row + size, end)``.

    ``was`` and ``now``: the cursor in an iteration, and behind it; ``start``: in the first one.
    """
    steps = (now - was).as_atom(), now.as_atom()
    for atom, base in zip(steps, (was, E.const(0)), strict=True):
        if not isinstance(atom, Extremum) or atom.kind != "min" or len(atom.args) != 2:
            continue
        for position, mine in enumerate(atom.args):
            end, size = mine + base, atom.args[1 - position] + base - was
            if index not in end.free() and index not in size.free():
                return Rest(end - start, size, position == 1)
    return None


def share_of(growth: Expr, rests: Iterable[Rest], index: Sym) -> Share | None:
    """How ``growth`` in one iteration is a multiple of the piece that one of the rests gives."""
    for rest in rests:
        atom = rest.piece(E.from_atom(index)).as_atom()
        factor = _without(growth, atom) if atom is not None else None
        if factor is not None and index not in factor.free():
            return Share(rest, factor)
    return None


def _without(growth: Expr, atom: Atom) -> Expr | None:
    """``growth`` divided by ``atom``, if it is a factor of each of its terms."""
    if growth.const or not growth.terms:
        return None
    left: dict[tuple[Atom, ...], int] = {}
    for factors, coefficient in growth.terms:
        if factors.count(atom) != 1:
            return None
        left[tuple(f for f in factors if f is not atom)] = coefficient
    constant = left.pop((), 0)
    return Expr.make(left, constant)
