"""Statistics, and the largest elements, of a partition."""

from __future__ import annotations

from collections.abc import Iterator

from rules.nki import kinds, kit, twins
from rules.nki.kit import check, register
from rules.nki.samples import kernel
from verifier.hardware.targets import Target
from verifier.rulebase import On, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Expr
from verifier.symbolic.instruction import Trait
from verifier.symbolic.roles import Role
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation
from verifier.symbolic.views.common import conjuncts


def _bn_shape(op: Operation, target: Target) -> Iterator[Check]:
    data, dst = op.view("data"), op.view("dst")
    if data is None:
        return
    triples = kit.role(op, "data").free
    free = {axis.symbol for axis in data.axes[1:]}
    masks = conjuncts(data.mask)
    across = [mask for mask in masks if not free.isdisjoint(mask.free())]
    if triples is None and across:
        lanes = (mask for mask in masks if mask not in across)
        yield check(
            op,
            "data",
            E.and_(*across),
            "the mask leaves out no element of a partition",
            "bn_stats counts the elements that the mask leaves out",
            "BNS03",
            given=(*(axis.within for axis in data.axes), *lanes),
            help=("take the statistics of a slice of the tile",),
        )
    if triples is None:
        limit = target.bn_stats_free_max
        yield check(
            op,
            "data",
            E.le(data.free, limit),
            f"data free size <= {limit}",
            "the tile has too many elements per partition for bn_stats",
            "BNS01",
            values=(("data free size", data.free),),
            help=(f"take the statistics of pieces of {limit} and combine them with bn_aggr",),
        )
    else:
        yield check(
            op,
            "data",
            triples.holds(data.free),
            f"data free size is a multiple of {triples.multiple_of}",
            "bn_aggr reads triples of count, mean and variance",
            triples.fact,
            values=(("data free size", data.free),),
        )
    if dst is not None and op.operands["dst"].given:
        yield from _per_partition(op, "dst", "writes {0} elements", "data")


def _per_partition(op: Operation, role: str, message: str, data_role: str) -> Iterator[Check]:
    """An operand has the described number of elements for each partition of the data.

    Where its rank is described as well, it has the shape that follows.
    """
    described, view, data = kit.described(op).role(role), op.view(role), op.view(data_role)
    limit = described.free if described is not None else None
    if described is None or limit is None or view is None:
        return
    rank = kit.in_force(op, described.rank)
    predicate = limit.holds(view.free)
    values: list[tuple[str, Expr]] = [(f"{role} free size", view.free)]
    if data is not None:
        predicate = E.and_(predicate, E.eq(view.partitions, data.partitions))
        values += [
            (f"partitions of {role}", view.partitions),
            (f"partitions of {data_role}", data.partitions),
        ]
    text = f"{role} free size == {limit.most} and partitions of {role} == partitions of {data_role}"
    if rank is not None:
        predicate = E.and_(predicate, rank.holds(E.const(view.rank)))
        values.append((f"rank of {role}", E.const(view.rank)))
        text = f"{role} has shape (partitions of {data_role}, {limit.most})"
    yield check(
        op,
        role,
        predicate,
        text,
        f"{kit.described(op).short} {message.format(limit.most)} per partition",
        limit.fact,
        values=values,
        about=(role, data_role),
    )


register(
    Rule(
        id="bn-shape",
        code="NKI623",
        family="vector",
        summary="statistics are taken of at most 512 elements and combined in triples",
        reason=(
            "bn_stats counts, averages and squares up to 512 elements of a partition into two "
            "triples; bn_aggr folds triples into mean and variance."
        ),
        facts=("BNS01", "BNS02", "BNS03", "BNA01", "BNA02"),
        twins=twins.STATISTICS,
        on=On.OPERATION,
        concerns=kinds.with_traits(Trait.STATISTICS),
        check=_bn_shape,
        sources=("NKI ISA bn_stats, bn_aggr",),
        failing=kernel(
            "row_statistics",
            {"x": ((100, 600), "float32")},
            ((100, 6), "float32"),
            "nisa.bn_stats(dst=result, data=x_tile)",
        ),
        passing=kernel(
            "row_statistics",
            {"x": ((100, 500), "float32")},
            ((100, 2), "float32"),
            """
            parts = nl.ndarray((100, 6), dtype=nl.float32, buffer=nl.sbuf)
            nisa.bn_stats(dst=parts, data=x_tile)
            nisa.bn_aggr(dst=result, data=parts)
            """,
        ),
    )
)


def _max8_shape(op: Operation, target: Target) -> Iterator[Check]:
    data_role = next(role.name for role in kit.described(op).roles if _is_data(role))
    data = op.view(data_role)
    if data is not None:
        yield from _searched(op, data_role, data)
    yield from _per_partition(op, "vals", "looks for eight values", data_role)
    if data is not None and "dst" in op.operands and op.operands["dst"].given:
        yield from _per_partition(op, "dst", "writes eight elements", data_role)
    if kit.described(op).role("dst_idx") is not None:
        yield from kit.sized(op, "dst_idx")


def _is_data(role: Role) -> bool:
    """What is searched has a range of sizes, what is found one size."""
    return bool(role.free and role.rank and role.free.least != role.free.most)


def _searched(op: Operation, role: str, data: View) -> Iterator[Check]:
    """How much of a partition can be searched at once."""
    described, short = kit.role(op, role), kit.described(op).short
    free, rank = described.free, kit.in_force(op, described.rank)
    if free is not None:
        least = f"is between {free.least} and" if free.least is not None else "<="
        yield check(
            op,
            role,
            free.holds(data.free),
            f"{role} free size {least} {free.most}",
            f"{role} has too few or too many elements per partition for {short}",
            free.fact,
            values=((f"{role} free size", data.free),),
            severity=kit.insistence(op, free),
        )
    if rank is not None:
        yield check(
            op,
            role,
            rank.holds(E.const(data.rank)),
            f"rank of {role} <= {rank.most}",
            f"{role} has too many dimensions for {short}",
            rank.fact,
            values=((f"rank of {role}", E.const(data.rank)),),
            severity=kit.insistence(op, rank),
        )


register(
    Rule(
        id="max8-shape",
        code="NKI624",
        family="vector",
        summary="the top-8 instructions read 8 to 16384 elements and handle eight values",
        reason=(
            "The sorting network of the Vector Engine keeps the eight largest values of a "
            "partition's stream. It needs at least eight elements, counts up to 16384, and its "
            "companions compare with exactly eight values."
        ),
        facts=("TOP01", "TOP02", "TOP03", "TOP04", "TOP06", "TOP07", "OQ35"),
        on=On.OPERATION,
        concerns=kinds.searches,
        check=_max8_shape,
        sources=("NKI ISA max8, nc_find_index8, nc_match_replace8",),
        failing=kernel(
            "largest",
            {"x": ((64, 20000), "bfloat16")},
            ((64, 8), "bfloat16"),
            "nisa.max8(dst=result, src=x_tile)",
        ),
        passing=kernel(
            "largest",
            {"x": ((64, 2000), "bfloat16")},
            ((64, 8), "bfloat16"),
            "nisa.max8(dst=result, src=x_tile)",
        ),
    )
)
