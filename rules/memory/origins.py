"""Where the elements of an operand come from: the places of tensors off chip that they are moved
from, by whatever moves them without computing upon them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rules.memory.cases import common_loops, starting
from rules.memory.reading import destination
from verifier.symbolic import expr as E
from verifier.symbolic.effects import Carried
from verifier.symbolic.expr import Expr
from verifier.symbolic.memory.index import Access, Index, tensor
from verifier.symbolic.tensors import Loop, View

#: so many moves are followed
_MOVES: Final = 4


def origin(
    view: View, loops: Sequence[Loop], table: Index, left: int = _MOVES
) -> tuple[Expr, ...] | None:
    """The place off chip of the element of a view that its axes name, inside ``loops``; None: it is
    not known."""
    if not view.exact or view.indirect or view.mask is not E.TRUE:
        return None
    if view.buffer.off_chip:
        return (*tensor(view), *view.coords)
    uses = table.uses(view.storage)
    if len(uses.writes) != 1 or not left:
        return None
    return _moved(view, loops, uses.writes[0], table, left - 1)


def _moved(
    view: View, loops: Sequence[Loop], write: Access, table: Index, left: int
) -> tuple[Expr, ...] | None:
    """As :func:`origin`, of what one write has brought."""
    box, taken = write.view.box, view.box
    if box is None or taken is None or write.view.frame != view.frame or write.operation.adds:
        return None
    put: dict[E.Sym, Expr] = {}
    # the write of the very tile that is read: as a rule they share their iteration
    for mine, its in zip(tensor(write.view), tensor(view), strict=True):
        symbol = mine.as_atom()
        if isinstance(symbol, E.Sym) and mine is not its:
            put[symbol] = its
    shared = common_loops(write.loops, loops)
    others = {loop.symbol: loop.trips for loop in write.loops[shared:] if loop.symbol not in put}
    begins = E.Substitution(put)
    pairs = [(begins.expr(mine), its) for (mine, _), (its, _) in zip(box, taken, strict=True)]
    put.update(starting(pairs, others) or {})
    begins = E.Substitution(put)
    for (start, _), coord, whole in zip(box, view.coords, write.view.coords, strict=True):
        symbol = (whole - start).as_atom()
        if isinstance(symbol, E.Sym):
            put[symbol] = coord - begins.expr(start)
    at = E.Substitution(put)
    index = tuple(at.expr(axis.index) for axis in write.view.axes)
    operation = write.operation
    if operation.instruction is None or len(operation.reads) != 1:
        return None
    [(role, source)] = operation.reads
    entries = operation.instruction.footprint.reads_of(role)
    for entry in entries:
        if entry.when.holds(operation) is E.FALSE:
            continue
        fate = entry.fate
        if not isinstance(fate, Carried) or destination(operation, fate.to) is not write.view:
            return None
        place = fate.source(operation, index)
        found = origin(source, write.loops, table, left)
        if place is None or found is None or len(place) != len(source.axes):
            return None
        axes = {axis.symbol: there for axis, there in zip(source.axes, place, strict=True)}
        there = E.Substitution({**put, **axes})
        return tuple(map(there.expr, found))
    return None


__all__ = ["origin"]
