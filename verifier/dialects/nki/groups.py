"""Groups of ranks: lists of the ranks that work together (NKI-K13)."""

from __future__ import annotations

from verifier.dialects.nki import parameter_kinds
from verifier.dialects.nki.binding import SIGNATURE_RULE
from verifier.dialects.nki.parameter_kinds import Given
from verifier.source.ir import Span
from verifier.symbolic.expr import FALSE, Expr
from verifier.symbolic.machine import Call, Machine
from verifier.symbolic.values import Opaque, RankGroups


def replica_group(machine: Machine, call: Call) -> Opaque:
    """The lists of ranks that work together; of no lists where they are not known."""
    given = (*call.args, *call.keywords.values())
    groups: list[tuple[Expr, ...]] = []
    if len(given) != 1:
        return _no_groups(machine, call, f"{len(given)} arguments", call.span)
    (argument,) = given
    span = argument.span
    what = parameter_kinds.given(machine, argument.value, span)
    lists = machine.as_items(argument.value, span)
    if what in (None, Given.TENSOR):
        return Opaque(call.text, harmless=True)
    if not lists:
        return _no_groups(machine, call, "no ranks" if lists == () else what.value, span)
    for each in lists:
        ranks = machine.as_items(each, span)
        found = parameter_kinds.given(machine, each, span)
        if ranks is None and found is None:
            return Opaque(call.text, harmless=True)
        if not ranks:
            return _no_groups(machine, call, "ranks, and no lists of them", span)
        kinds = {parameter_kinds.given(machine, rank, span) for rank in ranks}
        if None in kinds:
            return Opaque(call.text, harmless=True)
        if kinds != {Given.NUMBER} or any(isinstance(rank, float) for rank in ranks):
            return _no_groups(machine, call, "ranks that are no integers", span)
        numbers = [machine.as_int(rank, span) for rank in ranks]
        groups.append(tuple(number for number in numbers if number is not None))
    return RankGroups(call.text, harmless=True, groups=tuple(groups))


def _no_groups(machine: Machine, call: Call, what: str, span: Span) -> Opaque:
    machine.check(
        SIGNATURE_RULE,
        FALSE,
        span,
        "a replica group is a list of lists of ranks",
        f"`{call.text}` is given {what}",
        facts=("K13",),
        help=("write `[[0, 1]]` for one group",),
    )
    return Opaque(call.text, harmless=True)
