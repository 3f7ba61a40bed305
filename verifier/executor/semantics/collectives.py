"""Collective communication: with one rank, copies; with more, not modelled (NKI-K14)."""

from __future__ import annotations

from verifier.executor.semantics.base import IO, SemanticsMissing, semantics
from verifier.executor.semantics.operands import put
from verifier.symbolic.trace import Operation


def _count(op: Operation, role: str) -> int:
    items = op.value(role)
    return len(items) if isinstance(items, tuple) else 0


@semantics(
    "collectives.all_reduce",
    "collectives.all_gather",
    "collectives.all_to_all",
    "collectives.reduce_scatter",
    "collectives.collective_permute",
)
def exchange(op: Operation, io: IO) -> None:
    """One rank's result of every one of these is its own source, if the sizes say so."""
    sources, targets = _count(op, "srcs"), _count(op, "dsts")
    for position in range(max(sources, targets)):
        source, target = f"srcs[{position}]", f"dsts[{position}]"
        alone = position < min(sources, targets) and io.shape(source) == io.shape(target)
        if not alone or io.state.get("ranks", 1) != 1:
            raise SemanticsMissing(op.name, "between several ranks")
        put(io, target, io.read_raw(source))


@semantics(
    "collectives.all_gather_v",
    "collectives.all_to_all_v",
    "collectives.collective_permute_implicit",
    "collectives.collective_permute_implicit_reduce",
    "isa.builtin_custom_op",
)
def missing(op: Operation, io: IO) -> None:
    raise SemanticsMissing(op.name)
