"""Operations that come to nothing: no store of the kernel hangs on what they make."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from verifier.source.ir import Span
from verifier.symbolic.trace import Operation

#: whether the second operation may read what the first one leaves
Finds = Callable[[Operation, Operation], bool]


def useless(
    operations: Sequence[Operation],
    finds: Finds,
    stores: set[int],
    judged: set[int],
    in_place: Callable[[Sequence[Operation]], bool] = lambda found: False,
) -> Iterator[Operation]:
    """The first operation of each place that makes results of which nothing comes to a store, and
    nothing later reads them either: where something does, that is told.

    ``stores``: what others than the kernel see; ``judged``: what makes something of something;
    ``in_place``: whether what is made of several data each takes the place of the one before, so
    that the last one is to be no other than they are.
    """
    operations = sorted(operations, key=lambda op: op.order)
    useful = hanging(operations, finds, stores)
    by_place: dict[Span, list[tuple[Operation, bool]]] = {}
    for position, op in enumerate(operations):
        if id(op) in judged:
            # by other places: a later round of this one comes to nothing either
            behind = (each for each in operations[position + 1 :] if each.span != op.span)
            read = id(op) in useful or any(finds(op, each) for each in behind)
            by_place.setdefault(op.span, []).append((op, not read))
    for found in by_place.values():
        *others, last = (lost for _, lost in found)
        if all(others) and (last or (others and in_place([op for op, _ in found]))):
            yield found[0][0]


def hanging(operations: Sequence[Operation], finds: Finds, stores: set[int]) -> set[int]:
    """The operations that a store hangs on, those included that store."""
    useful, before = set(stores), -1
    while len(useful) != before:
        before = len(useful)
        for position in reversed(range(len(operations))):
            op = operations[position]
            nearest = (*operations[position + 1 :], *operations[: position + 1])
            if id(op) not in useful and any(id(r) in useful and finds(op, r) for r in nearest):
                useful.add(id(op))
    return useful


__all__ = ["hanging", "useless"]
