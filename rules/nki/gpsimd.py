"""Instructions of GpSimd: index patterns, selections, gathers, counting."""

from __future__ import annotations

from collections.abc import Iterator

from rules.nki import kinds, kit, twins
from rules.nki.kit import check, register
from rules.nki.samples import kernel, variants
from verifier.hardware.engines import Engine
from verifier.hardware.targets import Target
from verifier.rulebase import On, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Expr
from verifier.symbolic.instruction import Instruction, Trait
from verifier.symbolic.roles import Counted, Limit, Sized, Takes
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation
from verifier.symbolic.values import IndexMask


def _predicate(op: Operation) -> Iterator[Check]:
    """Beta 1 compares index arrays: there is a position for each element of the tile."""
    predicate, tile = op.value("pred"), op.view("on_true_tile")
    if not isinstance(predicate, IndexMask) or tile is None:
        return
    sizes = [E.const(1)] * predicate.ndim
    for position, axis in predicate.axes:
        sizes[position] = axis.size
    yield check(
        op,
        "pred",
        kit.broadcastable(sizes, tile.shape),
        "pred has the shape of on_true_tile",
        "pred compares other positions than on_true_tile has",
        "AFS02",
        values=tuple((f"dimension {k} of pred", size) for k, size in enumerate(sizes)),
        about=("on_true_tile",),
    )
    yield check(
        op,
        "pred",
        E.truth(predicate.condition.kind is not E.BoolKind.AND),
        "pred is one comparison",
        "affine_select makes one comparison, and pred joins several",
        "AFS07",
        about=(),
        help=("select twice",),
    )


def _index_pattern(op: Operation, target: Target) -> Iterator[Check]:
    yield from _predicate(op)
    pairs, described = kit.pattern_pairs(op.value("pattern")), kit.role(op, "pattern")
    dst, elements = op.view("dst"), described.shape
    assert isinstance(elements, Counted)
    entries = described.count.fact if described.count is not None else elements.fact
    if pairs is None:
        yield from kit.not_followed(op, "pattern", entries)
        return
    yield check(
        op,
        "pattern",
        E.truth(1 <= len(pairs) <= target.access_dims),
        f"pattern has 1 to {target.access_dims} entries",
        "the pattern has more loops than an instruction",
        entries,
        values=(("entries of pattern", E.const(len(pairs))),),
        about=(),
    )
    if dst is None:
        return
    count = kit.product(number for _, number in pairs)
    yield check(
        op,
        "pattern",
        E.eq(count, dst.free),
        "the counts of pattern multiply to the dst free size",
        "the pattern does not count the elements of dst",
        elements.fact,
        values=(("elements of pattern", count), ("dst free size", dst.free)),
        about=("dst",),
    )
    if described.value is not None:
        yield from _counted(op, dst, pairs, described.value)


def _counted(
    op: Operation, dst: View, pairs: tuple[tuple[Expr, Expr], ...], limit: Limit
) -> Iterator[Check]:
    """The least and the greatest index stay within a word."""
    offset = kit.as_expr(op.value("offset"))
    per_row = kit.as_expr(op.value("channel_multiplier"))
    if offset is None or per_row is None:
        return
    low: Expr = offset
    high: Expr = offset
    for step, length in ((per_row, dst.partitions), *pairs):
        reach = (length - 1) * step
        low, high = low + E.minimum(reach, 0), high + E.maximum(reach, 0)
    yield check(
        op,
        "pattern",
        E.and_(limit.holds(low), limit.holds(high)),
        "every index fits into 32 bits",
        "the pattern counts beyond a 32-bit integer",
        limit.fact,
        values=(("smallest index", low), ("largest index", high)),
        about=(),
    )


_INDEX_PATTERN = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def positions():
    out = nl.ndarray((16, 120), dtype=nl.int32, buffer=nl.shared_hbm)
    index = nl.ndarray((16, 120), dtype=nl.int32, buffer=nl.sbuf)
-    nisa.iota(dst=index, pattern=[[10, 11], [1, 10]], offset=0, channel_multiplier=120)
+    nisa.iota(dst=index, pattern=[[10, 12], [1, 10]], offset=0, channel_multiplier=120)
    nisa.dma_copy(dst=out, src=index)
    return out
"""
)
register(
    Rule(
        id="index-pattern",
        code="NKI631",
        family="gpsimd",
        summary="an index pattern has up to four loops and counts the elements of the tile",
        reason=(
            "iota and affine_select compute one index per element with nested loops of (step, "
            "count), in 32-bit integers. The loops run through exactly the elements of a "
            "partition."
        ),
        facts=("IOT02", "IOT03", "IOT04", "AFS02", "AFS07"),
        twins=twins.PREDICATES,
        on=On.OPERATION,
        concerns=kinds.taking("pattern", Takes.INTEGERS),
        check=_index_pattern,
        sources=("NKI ISA iota, affine_select",),
        failing=_INDEX_PATTERN.failing,
        passing=_INDEX_PATTERN.passing,
    )
)

# ----------------------------------------------------------------------------- gathers


def _gather(op: Operation, target: Target) -> Iterator[Check]:
    yield from _local_gather(op, target)
    yield from _topk(op, target)
    data, indices = op.view("data"), op.view("indices")
    if data is not None and indices is not None:
        yield check(
            op,
            "indices",
            E.eq(indices.partitions, data.partitions),
            "partitions of indices == partitions of data",
            "indices and data have different numbers of partitions",
            "L32",
            values=(
                ("partitions of indices", indices.partitions),
                ("partitions of data", data.partitions),
            ),
            about=("indices", "data"),
        )


def _local_gather(op: Operation, target: Target) -> Iterator[Check]:
    data, index = op.view("src_buffer"), op.view("index")
    cores = target.core_partitions
    if data is not None and index is not None:
        yield check(
            op,
            "index",
            E.and_(E.eq(data.partitions, index.partitions), kit.divisible(index.partitions, cores)),
            f"partitions of index == partitions of src_buffer, a multiple of {cores}",
            f"a local gather works on groups of {cores} partitions",
            "LGA01",
            "P14",
            values=(
                ("partitions of index", index.partitions),
                ("partitions of src_buffer", data.partitions),
            ),
            about=("index", "src_buffer"),
        )
    width = kit.as_expr(op.value("num_elem_per_idx"))
    widths = kit.value_limit(op, "num_elem_per_idx")
    if width is not None and widths is not None:
        words = kit.alternatives(widths.among)
        yield check(
            op,
            "num_elem_per_idx",
            widths.holds(width),
            f"num_elem_per_idx is {words}",
            f"a local gather moves {words} elements per index",
            widths.fact,
            values=(("num_elem_per_idx", width),),
            about=(),
        )
        yield from _beside(op, "num_elem_per_idx", width)
    if index is not None:
        yield from _indices_of_cores(op, index, width, target)


def _beside(op: Operation, name: str, number: Expr) -> Iterator[Check]:
    """A number that is ignored where another parameter is left out."""
    needed = kit.role(op, name).beside
    if needed is None or not op.generation.at_least(needed.since):
        return
    if op.value(needed.role) is None:
        yield check(
            op,
            name,
            E.eq(number, needed.otherwise),
            f"{name} is {needed.otherwise}, or {needed.role} is given, too",
            f"{name} is ignored where {needed.role} is not given",
            needed.fact,
            values=((name, number),),
            about=(),
            help=(f"give {needed.role}, too",),
        )


def _indices_of_cores(
    op: Operation, index: View, width: Expr | None, target: Target
) -> Iterator[Check]:
    """The partitions of a core hold its indices together: how many fit, how many are used."""
    most, cores = target.core_indices_max, target.core_partitions
    count, dst = index.free * cores, op.view("dst")
    counted = (f"index free size * {cores}", count)
    yield check(
        op,
        "index",
        E.le(count, most),
        f"index free size * {cores} <= {most}",
        "there are more indices than the core's memory holds",
        "LGA04",
        values=(counted,),
    )
    valid = kit.as_expr(op.value("num_valid_indices"))
    if valid is not None:
        yield check(
            op,
            "num_valid_indices",
            E.le(valid, count),
            f"num_valid_indices <= index free size * {cores}",
            "more indices are valid than there are",
            "LGA04",
            values=(("num_valid_indices", valid), counted),
            about=("index",),
        )
    if dst is not None and width is not None and op.operands["dst"].given:
        used = "num_valid_indices" if valid is not None else f"index free size * {cores}"
        number = valid if valid is not None else count
        yield check(
            op,
            "num_valid_indices" if valid is not None else "dst",
            E.eq(number * width, dst.free),
            f"{used} * num_elem_per_idx == dst free size",
            "the gathered elements do not fill dst",
            "LGA05",
            values=(
                (used, number),
                ("num_elem_per_idx", width),
                ("dst free size", dst.free),
            ),
            about=("dst",),
        )
        yield from _own_lanes(op, dst)


def _own_lanes(op: Operation, dst: View) -> Iterator[Check]:
    """Each partition gathers from itself."""
    data = op.view("src_buffer")
    if data is not None:
        yield check(
            op,
            "dst",
            E.eq(dst.partitions, data.partitions),
            "partitions of dst == partitions of src_buffer",
            "each partition gathers its own elements",
            "LGA08",
            values=(
                ("partitions of dst", dst.partitions),
                ("partitions of src_buffer", data.partitions),
            ),
            about=("dst", "src_buffer"),
        )


def _topk(op: Operation, target: Target) -> Iterator[Check]:
    values, indices, src = op.view("val_dst"), op.view("idx_dst"), op.view("src")
    number = kit.as_expr(op.value("n"))
    if values is not None and indices is not None:
        yield check(
            op,
            "idx_dst",
            E.and_(
                E.eq(values.partitions, indices.partitions),
                E.TRUE if src is None else E.eq(src.partitions, values.partitions),
                kit.same_shape(values.shape, indices.shape),
                E.truth(values.rank == 2),
                kit.divisible(values.partitions, target.core_partitions),
            ),
            "val_dst and idx_dst have one shape of partitions and k elements, with a multiple of "
            f"{target.core_partitions} partitions, those of src",
            "val_dst, idx_dst and src do not go together",
            "TPK02",
            values=(
                ("partitions of val_dst", values.partitions),
                ("val_dst free size", values.free),
                ("partitions of idx_dst", indices.partitions),
                ("idx_dst free size", indices.free),
                *(() if src is None else (("partitions of src", src.partitions),)),
            ),
            about=("val_dst", "idx_dst", "src"),
        )
    among, found = kit.value_limit(op, "n"), kit.free_limit(op, "val_dst")
    if number is not None and values is not None and among is not None and found is not None:
        limit = E.and_(among.holds(number), found.holds(values.free), E.le(values.free, number))
        cores = target.core_partitions
        if src is not None:
            limit = E.and_(limit, E.ge(src.free, E.ceildiv(number, cores)))
        yield check(
            op,
            "n",
            limit,
            f"{among.least} <= n <= {among.most}, k <= n and src holds n elements in {cores} "
            "partitions",
            "topk cannot look for that many elements",
            "TPK03",
            values=(("n", number), ("k", values.free)),
            about=("val_dst", "src"),
        )


register(
    Rule(
        id="gather-shape",
        code="NKI632",
        family="gpsimd",
        summary="gathers within partitions have index tiles that match the data",
        reason=(
            "The eight GpSimd cores own 16 partitions each and keep their indices in a small local "
            "memory. Index tiles therefore come in groups of 16 partitions, with a limited number "
            "of indices, and fill the destination exactly."
        ),
        facts=("LGA01", "LGA02", "LGA04", "LGA05", "LGA08", "P14", "TPK02", "TPK03", "L32"),
        on=On.OPERATION,
        concerns=kinds.either(kinds.with_traits(Trait.GATHERS), kinds.with_traits(Trait.SORTS)),
        check=_gather,
        sources=("NKI ISA local_gather, nc_n_gather, topk", "NKI 0.6 known issues"),
        failing=kernel(
            "pick",
            {"x": ((32, 300), "float32"), "index": ((32, 4), "uint16")},
            ((32, 192), "float32"),
            """
            nisa.local_gather(
                dst=result,
                src_buffer=x_tile,
                index=index_tile,
                num_elem_per_idx=3,
                num_valid_indices=64,
            )
            """,
        ),
        passing=kernel(
            "pick",
            {"x": ((32, 300), "float32"), "index": ((32, 4), "uint16")},
            ((32, 256), "float32"),
            """
            nisa.local_gather(
                dst=result,
                src_buffer=x_tile,
                index=index_tile,
                num_elem_per_idx=4,
                num_valid_indices=64,
            )
            """,
        ),
    )
)

# ----------------------------------------------------------------------------- result shapes


def _gpsimd_result(op: Operation, target: Target) -> Iterator[Check]:
    dst, shape = op.view("dst"), kit.role(op, "dst").shape
    if dst is None or not isinstance(shape, Sized):
        return
    role, data = shape.of, op.view(shape.of)
    if data is None:
        return
    partitions = kit.role(op, role).partitions
    if partitions is not None:
        yield check(
            op,
            role,
            partitions.holds(data.partitions),
            f"partitions of {role} == {partitions.most}",
            f"{role} has more than one partition",
            partitions.fact,
            values=((f"partitions of {role}", data.partitions),),
        )
    if not op.operands["dst"].given:
        return
    yield from kit.sized(op, "dst", f"the shape that {kit.described(op).short} writes")


def _sizes_its_result(instruction: Instruction) -> bool:
    """Whether it is a program of GpSimd whose result has a size that follows from its data."""
    dst, engines = instruction.role("dst"), instruction.engines
    return engines.default is Engine.GPSIMD and dst is not None and isinstance(dst.shape, Sized)


register(
    Rule(
        id="gpsimd-result-shape",
        code="NKI633",
        family="gpsimd",
        summary="results of partition reductions, bounds and non-zero counts have their shape",
        reason=(
            "A reduction over partitions leaves one partition; segment bounds are pairs of start "
            "and end; a list of non-zero positions ends with their count."
        ),
        facts=("PRD02", "SQB01", "NZC03", "OQ37"),
        on=On.OPERATION,
        concerns=_sizes_its_result,
        check=_gpsimd_result,
        sources=("NKI ISA tensor_partition_reduce, sequence_bounds, nonzero_with_count",),
        failing=kernel(
            "column_sums",
            {"x": ((64, 75), "float32")},
            ((64, 75), "float32"),
            "nisa.tensor_partition_reduce(dst=result, op=nl.add, data=x_tile)",
        ),
        passing=kernel(
            "column_sums",
            {"x": ((64, 75), "float32")},
            ((1, 75), "float32"),
            "nisa.tensor_partition_reduce(dst=result, op=nl.add, data=x_tile)",
        ),
    )
)
