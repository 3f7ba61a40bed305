"""When a tensor is live, in program order."""

from __future__ import annotations

from dataclasses import dataclass

from rules.memory.index import Access, Index, Uses, accumulates
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.trace import Loop, Storage


@dataclass(frozen=True, slots=True)
class Lifetime:
    """From the first write to the last use, both inclusive; ``copies`` tensors live at once."""

    storage: Storage
    start: int
    end: int
    copies: Expr

    def overlaps(self, other: Lifetime) -> bool:
        return self.start <= other.end and other.start <= self.end


def lifetime(table: Index, uses: Uses) -> Lifetime:
    """When the tensors of an allocation site hold something that is needed.

    A value that is read at the top of a loop body before the body writes it lives through the whole
    loop; so does one that the loop fills and something after it reads. A site inside a loop whose
    tensors are used beyond their own iteration counts once per iteration.
    """
    storage = uses.storage
    accesses = uses.all
    orders = [access.order for access in accesses]
    start = min(orders, default=storage.order)
    end = max(orders, default=storage.order)
    for loop in _loops(accesses, storage.loops):
        first, last = table.extent[id(loop)]
        inside = [access for access in accesses if loop in access.operation.loops]
        head = min(inside, key=lambda access: access.order)
        written = any(access in uses.writes for access in inside)
        carried = head not in uses.writes or accumulates(head.operation)
        if carried:
            end = max(end, last)
        if written and (carried or end > last):
            start = min(start, first)
    copies = E.const(1)
    for position, loop in enumerate(storage.loops):
        if any(_escapes(access, position, loop) for access in accesses):
            first, last = table.extent[id(loop)]
            copies = copies * loop.trips
            start, end = min(start, first), max(end, last)
    return Lifetime(storage, start, end, copies)


def _loops(accesses: list[Access], own: tuple[Loop, ...]) -> list[Loop]:
    """The loops around accesses that do not make the tensor anew, innermost last."""
    found: dict[int, Loop] = {}
    for access in accesses:
        for loop in access.operation.loops:
            if loop not in own:
                found.setdefault(id(loop), loop)
    return list(found.values())


def _escapes(access: Access, position: int, loop: Loop) -> bool:
    if loop.kind == "grid":
        return False
    if loop not in access.operation.loops:
        return True
    instance = access.view.instance
    return position < len(instance) and instance[position] is not loop.index


def exclusive(a: tuple[Bool, ...], b: tuple[Bool, ...]) -> bool:
    """Whether two paths cannot both be taken, judged by their conditions alone."""
    held = {id(condition) for condition in a}
    return any(id(E.not_(condition)) in held for condition in b)
