"""Which element of what a transfer reads goes into which element that it writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from verifier.symbolic import expr as E
from verifier.symbolic.effects import Carried
from verifier.symbolic.expr import Expr
from verifier.symbolic.instruction import Trait
from verifier.symbolic.trace import Operation


def sources(operation: Operation) -> Iterator[str]:
    """The roles of what a transfer by DMA of this core alone reads."""
    instruction = operation.instruction
    if instruction is None or Trait.DMA not in instruction.traits or instruction.footprint.orders:
        return
    targets = {role for role, _ in operation.writes}
    yield from (role for role, _ in operation.reads if role not in targets)


def taken_from(operation: Operation, role: str, index: Sequence[Expr]) -> Sequence[Expr] | None:
    """The index of the element of ``role`` that goes to ``index``; None if it cannot be told."""
    assert operation.instruction is not None
    if "[" in role:  # one of several that are folded together
        return index
    for read in operation.instruction.footprint.reads_of(role):
        fate = read.fate
        if isinstance(fate, Carried) and fate.fits(operation) is E.TRUE:
            return fate.source(operation, tuple(index))
    return None


__all__ = ["sources", "taken_from"]
