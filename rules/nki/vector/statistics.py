"""Statistics, and the largest elements, of a partition."""

from __future__ import annotations

from collections.abc import Iterator

from rules.nki import kit
from rules.nki.kit import at_least, check, register
from rules.nki.samples import kernel
from verifier.hardware.targets import Target
from verifier.rulebase import Check, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.trace import Operation


def _bn_shape(op: Operation, target: Target) -> Iterator[Check]:
    data, dst = op.view("data"), op.view("dst")
    if data is None:
        return
    stats = op.name == "isa.bn_stats"
    if stats:
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
            kit.divisible(data.free, 3),
            "data free size is a multiple of 3",
            "bn_aggr reads triples of count, mean and variance",
            "BNA01",
            values=(("data free size", data.free),),
        )
    if dst is None or not op.operands["dst"].given:
        return
    width, fact = (6, "BNS02") if stats else (2, "BNA02")
    yield check(
        op,
        "dst",
        E.and_(E.eq(dst.free, width), E.eq(dst.partitions, data.partitions)),
        f"dst free size == {width} and partitions of dst == partitions of data",
        f"{op.name.partition('.')[2]} writes {width} elements per partition",
        fact,
        values=(
            ("dst free size", dst.free),
            ("partitions of dst", dst.partitions),
            ("partitions of data", data.partitions),
        ),
        about=("dst", "data"),
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
        facts=("BNS01", "BNS02", "BNA01", "BNA02"),
        on="operation",
        operations=("isa.bn_stats", "isa.bn_aggr"),
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
    short = op.name.partition(".")[2]
    data_role = "src" if short == "max8" else "data"
    data, vals, dst = op.view(data_role), op.view("vals"), op.view("dst")
    fact = {"max8": "TOP01", "nc_find_index8": "TOP03"}.get(short, "TOP06")
    if data is not None:
        low = E.ge(data.free, target.max8_free_min) if short != "nc_match_replace8" else E.TRUE
        dims = 3 if at_least(op.api, "0.4") and short != "nc_match_replace8" else 5
        advisory = short == "nc_match_replace8" and at_least(op.api, "0.3")
        yield check(
            op,
            data_role,
            E.and_(low, E.le(data.free, target.max8_free_max)),
            f"{data_role} free size is between {target.max8_free_min} and {target.max8_free_max}",
            f"{data_role} has too few or too many elements per partition for {short}",
            fact,
            values=((f"{data_role} free size", data.free),),
            severity="warning" if advisory else None,
        )
        yield check(
            op,
            data_role,
            E.truth(data.rank <= dims),
            f"rank of {data_role} <= {dims}",
            f"{data_role} has too many dimensions for {short}",
            fact,
            values=((f"rank of {data_role}", E.const(data.rank)),),
            severity="warning" if advisory else None,
        )
    if vals is not None:
        predicate = E.eq(vals.free, 8)
        values: list[tuple[str, Expr]] = [("vals free size", vals.free)]
        if data is not None:
            predicate = E.and_(predicate, E.eq(vals.partitions, data.partitions))
            values += [
                ("partitions of vals", vals.partitions),
                (f"partitions of {data_role}", data.partitions),
            ]
        yield check(
            op,
            "vals",
            predicate,
            f"vals free size == 8 and partitions of vals == partitions of {data_role}",
            f"{short} looks for eight values per partition",
            "TOP03" if short == "nc_find_index8" else "TOP06",
            values=values,
            about=("vals", data_role),
        )
    index = op.view("dst_idx")
    for role, view in (("dst", dst if short != "nc_match_replace8" else None), ("dst_idx", index)):
        if view is None or data is None or not op.operands[role].given:
            continue
        yield check(
            op,
            role,
            E.and_(E.eq(view.free, 8), E.eq(view.partitions, data.partitions)),
            f"{role} free size == 8 and partitions of {role} == partitions of {data_role}",
            f"{short} writes eight elements per partition",
            {"max8": "TOP02", "nc_find_index8": "TOP04"}.get(short, "TOP07"),
            values=(
                (f"{role} free size", view.free),
                (f"partitions of {role}", view.partitions),
                (f"partitions of {data_role}", data.partitions),
            ),
            about=(role, data_role),
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
        on="operation",
        operations=("isa.max8", "isa.nc_find_index8", "isa.nc_match_replace8"),
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
