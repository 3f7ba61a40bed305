"""When a tensor is live, in program order."""

from __future__ import annotations

from dataclasses import dataclass

from verifier.hardware.memories import Buffer
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.memory.index import Access, Index, Uses, accumulates
from verifier.symbolic.tensors import Loop, Storage

#: what the dialect says of tensors that the compiler places all the same
_UNPLACED = frozenset({"layout"})


@dataclass(frozen=True, slots=True)
class Lifetime:
    """From the first write to the last use, both inclusive; ``copies`` tensors live at once.

    ``start`` and ``end`` are widened by loops that come round again; without them the tensor lives
    from ``first`` to ``last``. ``widened``: if a loop has a second trip, from when to when.
    """

    storage: Storage
    start: int
    end: int
    copies: Expr
    first: int
    last: int
    widened: tuple[tuple[Bool, int, int], ...] = ()

    def at(self, point: int) -> Bool:
        """Whether it lives then: always, never, or if loops come round again."""
        if self.first <= point <= self.last:
            return E.TRUE
        if point < self.first:
            return E.or_(*(again for again, start, _ in self.widened if start <= point))
        return E.or_(*(again for again, _, end in self.widened if point <= end))

    def overlaps(self, other: Lifetime) -> bool:
        return self.start <= other.end and other.start <= self.end


def lifetime(table: Index, uses: Uses) -> Lifetime:
    """When the tensors of an allocation site hold something that is needed.

    A value that is read at the top of a loop body before the body writes it lives through the whole
    loop; so does one that the loop fills and something after it reads. A site inside a loop whose
    tensors are used beyond their own iteration counts once per iteration; if only the last few are
    used, as in a pipeline that loads ahead, once for each of these.
    """
    storage = uses.storage
    accesses = uses.all
    orders = [access.order for access in accesses]
    start = min(orders, default=storage.order)
    end = max(orders, default=storage.order)
    once = (start, end)
    widened: list[tuple[Bool, int, int]] = []
    for loop in _loops(accesses, storage.loops):
        first, last = table.extent[id(loop)]
        low, high = start, end
        inside = [access for access in accesses if loop in access.operation.loops]
        head = min(inside, key=lambda access: access.order)
        written = any(access in uses.writes for access in inside)
        carried = head not in uses.writes or accumulates(head.operation)
        if carried:
            high = max(end, last)
        if written and (carried or end > last):
            low = min(start, first)
        if (low, high) != (start, end):
            widened.append((_second(loop), low, high))
            start, end = low, high
    copies = E.const(1)
    for position, loop in enumerate(storage.loops):
        if loop.kind == "grid":
            continue  # a program instance sees its own tensors only
        ages = [_age(access, position, loop) for access in accesses]
        oldest = max((age for age in ages if age is not None), default=0)
        if None in ages or oldest or any(loop not in a.operation.loops for a in accesses):
            first, last = table.extent[id(loop)]
            kept = loop.trips if None in ages else E.minimum(loop.trips, oldest + 1)
            copies = copies * kept
            if first < start or last > end:
                start, end = min(start, first), max(end, last)
                widened.append((_second(loop), start, end))
    return Lifetime(storage, start, end, copies, *once, tuple(widened))


def _second(loop: Loop) -> Bool:
    """Whether a loop has a second trip; so it is taken to be if that differs from time to time."""
    if any(symbol.origin == "loop" for symbol in loop.trips.free()):
        return E.TRUE
    return E.ge(loop.trips, 2)


def _loops(accesses: list[Access], own: tuple[Loop, ...]) -> list[Loop]:
    """The loops around accesses that do not make the tensor anew, innermost last."""
    found: dict[int, Loop] = {}
    for access in accesses:
        for loop in access.operation.loops:
            if loop not in own:
                found.setdefault(id(loop), loop)
    return list(found.values())


def _age(access: Access, position: int, loop: Loop) -> int | None:
    """How many iterations before the access its tensor was made; None if that is not constant.

    After the loop, the tensor of the last iteration has the age 0.
    """
    instance = access.view.instance
    inside = loop in access.operation.loops
    now = loop.index if inside else loop.trips - 1
    made = instance[position] if position < len(instance) else now if inside else None
    age = None if made is None else now - made
    return age.const if age is not None and age.is_const and age.const >= 0 else None


def pipelined(table: Index) -> dict[int, Loop]:
    """The loops whose iterations overlap, a stage each of loading, computing and storing (PPL)."""
    return {
        id(operation.loops[-1]): operation.loops[-1]
        for operation in table.trace.operations
        if operation.name == "ppl.enable_pipeline" and operation.loops
    }


def crosses_stages(accesses: list[Access]) -> bool:
    """Whether transfers and computation both touch a tensor."""
    engines = {access.operation.engine for access in accesses}
    return "tiu" in engines and bool(engines & {"dma", "sdma"})


def staged(table: Index, pipelines: dict[int, Loop], uses: Uses, life: Lifetime) -> Lifetime:
    """The lifetime in a pipeline: what is handed from stage to stage exists twice throughout, so
    that one can be filled while the other is used (PPL-B06)."""
    loop = next((x for x in uses.storage.loops if id(x) in pipelines), None)
    if loop is None or not crosses_stages(uses.all):
        return life
    first, last = table.extent[id(loop)]
    start, end = min(life.start, first), max(life.end, last)
    return Lifetime(life.storage, start, end, life.copies * 2, start, end)


def lifetimes(table: Index, buffer: Buffer) -> list[Lifetime]:
    """The lifetimes of what the compiler places in a buffer, in order of their beginning."""
    pipelines = pipelined(table)
    found = [
        staged(table, pipelines, uses, lifetime(table, uses))
        for uses in table.storages
        if uses.storage.buffer is buffer
        and uses.storage.kind in ("alloc", "result", "constant")
        and uses.storage.address is None
        and uses.storage.placement.keys() <= _UNPLACED
        and (uses.reads or uses.writes)
    ]
    return sorted(found, key=lambda life: (life.start, life.storage.order, life.storage.id))


def exclusive(a: tuple[Bool, ...], b: tuple[Bool, ...]) -> bool:
    """Whether two paths cannot both be taken, judged by their conditions alone."""
    held = {id(condition) for condition in a}
    return any(id(E.not_(condition)) in held for condition in b)
