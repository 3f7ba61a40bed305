"""Which block of a result a product is of, and which part it sums over, from round to round."""

from __future__ import annotations

from rules.memory.origins import origin
from rules.memory.reading import destination, index_of
from verifier.symbolic import expr as E
from verifier.symbolic.effects import Folded
from verifier.symbolic.memory.index import Access, Index
from verifier.symbolic.tensors import Loop, View


def takes_other_block(product: Access, loop: Loop, table: Index) -> bool:
    """Whether each round of a loop multiplies for other rows or columns of the result, and sums
    over the same parts of the factors; where they come from is known."""
    operation = product.operation
    if operation.instruction is None or not operation.instruction.factors:
        return False
    moves = False
    for role in operation.instruction.factors:
        view = operation.view(role)
        summed = None if view is None else _summed(product, role, view)
        place = None if view is None else origin(view, product.loops, table)
        if view is None or summed is None or place is None:
            return False
        indices = {each.symbol for each in product.loops}
        kept = {axis.symbol for axis in view.axes} - summed
        for coord in place:
            free = set(coord.free())
            if any(s.origin is E.Origin.LOOP and s not in indices for s in free):
                return False
            if loop.symbol in free:
                if free & summed or not free & kept:
                    return False
                moves = True
    return moves


def _summed(product: Access, role: str, view: View) -> set[E.Sym] | None:
    """The axes of a factor that are summed over; None: that is not known."""
    operation = product.operation
    assert operation.instruction is not None
    for entry in operation.instruction.footprint.reads_of(role):
        if entry.when.holds(operation) is E.FALSE:
            continue
        target = destination(operation, entry.fate.to) if isinstance(entry.fate, Folded) else None
        if target is None or not isinstance(entry.fate, Folded):
            return None
        line = entry.fate.line(operation, index_of(target))
        if line is None or len(line) != len(view.axes):
            return None
        return {axis.symbol for axis, at in zip(view.axes, line, strict=True) if at is None}
    return None


__all__ = ["takes_other_block"]
