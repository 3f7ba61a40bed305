"""Instructions of the Vector Engine with shapes of their own: reductions, top 8, shuffles, MX."""

from __future__ import annotations

from collections.abc import Iterator

from rules.nki import kit
from rules.nki.kit import at_least, check, register
from rules.nki.matmul import scales_fit
from rules.nki.operands import start_predicate
from rules.nki.samples import kernel
from verifier.hardware.targets import Target
from verifier.rulebase import Check, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.instruction import Trait
from verifier.symbolic.trace import Operation

# ----------------------------------------------------------------------------- reductions


def reduced_axes(op: Operation, rank: int) -> frozenset[int] | None:
    """The reduced axes, counted from 0; None if they are not known."""
    value = op.value("axis")
    numbers = kit.integers(value)
    if numbers is None:
        single = kit.as_expr(value)
        numbers = None if single is None else (single,)
    if numbers is None or not all(number.is_const for number in numbers):
        return None
    return frozenset(n.const + rank if n.const < 0 else n.const for n in numbers)


def _reduce_axes(op: Operation, target: Target) -> Iterator[Check]:
    role = kit.described(op).footprint.reads[0].role
    fact = "RED01" if op.name == "isa.tensor_reduce" else "L50"
    view = op.view(role)
    if view is None:
        return
    axes = reduced_axes(op, view.rank)
    if axes is None:
        yield from kit.not_followed(op, "axis", fact)
        return
    written = ", ".join(map(str, sorted(axes)))
    yield check(
        op,
        "axis",
        E.truth(0 not in axes and all(0 <= axis < view.rank for axis in axes)),
        f"the reduced axes are free axes, 1 to {view.rank - 1} (they are {written})",
        "the reduction runs over the partition axis, or over an axis that is not there",
        fact,
        about=(role,),
        help=("transpose first, or reduce over partitions with a matmul by ones",),
    )
    old = not at_least(op.api, "0.3")
    if op.name == "isa.tensor_reduce" and old and axes == {1}:
        return  # before 0.3 axis 1 stood for the last axis (NKI-RED02)
    if old and op.name.startswith("language."):
        return  # the compiler of Beta 1 reorders free axes for functions of the language
    trailing = frozenset(range(view.rank - len(axes), view.rank))
    yield check(
        op,
        "axis",
        E.truth(axes == trailing and len(axes) <= target.access_dims),
        f"the reduced axes are the last ones (they are {written} of {view.rank})",
        "the reduced axes are not the innermost ones",
        fact if not (old and op.name == "isa.tensor_reduce") else "RED08",
        about=(role,),
        given=(E.truth(0 not in axes),),
        help=("permute the free axes of the view so that the reduced ones come last",),
    )


register(
    Rule(
        id="reduce-axes",
        code="NKI621",
        family="vector",
        summary="a reduction runs over the innermost free axes",
        reason=(
            "A lane folds its stream of elements and writes a value whenever the inner loops of "
            "the access pattern have run through. It can therefore reduce the innermost axes of a "
            "partition, and never across partitions, which are other lanes."
        ),
        facts=("RED01", "RED08", "L50"),
        on="operation",
        concerns=lambda instruction: Trait.REDUCES in instruction.traits,
        check=_reduce_axes,
        sources=("NKI ISA tensor_reduce", "NKI language sum"),
        failing=kernel(
            "sum_columns",
            {"x": ((64, 30), "float32")},
            ((64, 1), "float32"),
            "nisa.tensor_reduce(dst=result, op=nl.add, data=x_tile, axis=0)",
        ),
        passing=kernel(
            "sum_rows",
            {"x": ((64, 30), "float32")},
            ((64, 1), "float32"),
            "nisa.tensor_reduce(dst=result, op=nl.add, data=x_tile, axis=1)",
        ),
    )
)


def _reduce_result_shape(op: Operation, target: Target) -> Iterator[Check]:
    data, dst = op.view("data"), op.view("dst")
    if data is None or dst is None or not op.operands["dst"].given:
        return
    axes = reduced_axes(op, data.rank)
    if axes is None or 0 in axes:
        return
    kept = kit.product(data.shape[k] for k in range(1, data.rank) if k not in axes)
    yield check(
        op,
        "dst",
        E.eq(dst.partitions, data.partitions),
        "partitions of dst == partitions of data",
        "dst and data have different numbers of partitions",
        "RED03",
        values=(
            ("partitions of dst", dst.partitions),
            ("partitions of data", data.partitions),
        ),
        about=("dst", "data"),
    )
    yield check(
        op,
        "dst",
        E.eq(dst.free, kept),
        "dst free size == elements of data that are kept",
        "dst does not have one element per reduced row",
        "RED03",
        values=(("dst free size", dst.free), ("elements that are kept", kept)),
        about=("dst", "data"),
    )


register(
    Rule(
        id="reduce-result-shape",
        code="NKI622",
        family="vector",
        summary="the result of a reduction has the axes that are not reduced",
        reason=(
            "The reduction writes one element for each combination of the remaining free axes. A "
            "larger destination keeps old values, a smaller one cannot hold the result."
        ),
        facts=("RED03",),
        on="operation",
        operations=("isa.tensor_reduce",),
        check=_reduce_result_shape,
        sources=("NKI ISA tensor_reduce, tile size",),
        failing=kernel(
            "group_max",
            {"x": ((128, 4, 50), "float32")},
            ((128, 1), "float32"),
            "nisa.tensor_reduce(dst=result, op=nl.maximum, data=x_tile, axis=2)",
        ),
        passing=kernel(
            "group_max",
            {"x": ((128, 4, 50), "float32")},
            ((128, 4), "float32"),
            "nisa.tensor_reduce(dst=result, op=nl.maximum, data=x_tile, axis=2)",
        ),
    )
)

# ----------------------------------------------------------------------------- batch statistics


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

# ----------------------------------------------------------------------------- top 8


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

# ----------------------------------------------------------------------------- shuffles


def _shuffle(op: Operation, target: Target) -> Iterator[Check]:
    dst, src = op.view("dst"), op.view("src")
    mask = kit.integers(op.value("shuffle_mask"))
    lanes = target.quadrant
    if mask is None:
        yield from kit.not_followed(op, "shuffle_mask", "SHF02")
    else:
        yield check(
            op,
            "shuffle_mask",
            E.truth(len(mask) == lanes),
            f"shuffle_mask has {lanes} entries",
            f"a shuffle mask has one entry for each of {lanes} partitions",
            "SHF02",
            values=(("entries", E.const(len(mask))),),
            about=(),
        )
        yield check(
            op,
            "shuffle_mask",
            E.and_(
                *(
                    E.or_(E.eq(entry, 255), E.and_(E.ge(entry, 0), E.lt(entry, lanes)))
                    for entry in mask
                )
            ),
            f"entries of shuffle_mask are 0 to {lanes - 1}, or 255",
            "a shuffle mask names a partition outside its quadrant",
            "SHF02",
            about=(),
            help=("255 leaves an output partition unchanged",),
        )
    if dst is None or src is None:
        return
    yield check(
        op,
        "dst",
        E.eq(dst.free, src.free),
        "dst free size == src free size",
        "dst and src have different numbers of elements per partition",
        "SHF01",
        values=(("dst free size", dst.free), ("src free size", src.free)),
        about=("dst", "src"),
    )
    active = lanes * E.ceildiv(E.maximum(dst.partitions, src.partitions), lanes)
    for role, view in (("dst", dst), ("src", src)):
        start = view.start_partition
        if start is None or not view.buffer.on_chip:
            continue
        yield check(
            op,
            role,
            start_predicate(start, active, target),
            f"start partition of {role} is 0, "
            f"or {target.partitions // 2} with at most {target.partitions // 2} active "
            f"partitions, or a multiple of {lanes} with {lanes}",
            f"{role} starts at a partition that a shuffle cannot start at",
            "P11",
            "SHF03",
            values=((f"start partition of {role}", start), ("active partitions", active)),
        )


register(
    Rule(
        id="shuffle-mask",
        code="NKI625",
        family="vector",
        summary="a stream shuffle permutes whole quadrants with a mask of 32 entries",
        reason=(
            "The shuffle unit works on quadrants of 32 partitions: the same 32 entries say for "
            "each of them which partition of the quadrant an output partition reads. Operands "
            "start where a quadrant does, and there is no path between quadrants."
        ),
        facts=("SHF01", "SHF02", "SHF03", "P11"),
        on="operation",
        operations=("isa.nc_stream_shuffle",),
        check=_shuffle,
        sources=("NKI ISA nc_stream_shuffle",),
        failing=kernel(
            "rotate",
            {"x": ((32, 70), "float32")},
            ((32, 70), "float32"),
            """
            mask = list(range(1, 33))
            nisa.nc_stream_shuffle(dst=result, src=x_tile, shuffle_mask=mask)
            """,
        ),
        passing=kernel(
            "rotate",
            {"x": ((32, 70), "float32")},
            ((32, 70), "float32"),
            """
            mask = list(range(1, 32)) + [0]
            nisa.nc_stream_shuffle(dst=result, src=x_tile, shuffle_mask=mask)
            """,
        ),
    )
)

# ----------------------------------------------------------------------------- quantisation


def _quantize_shape(op: Operation, target: Target) -> Iterator[Check]:
    src, dst, scale = op.view("src"), op.view("dst"), op.view("dst_scale")
    if src is None:
        return
    yield check(
        op,
        "src",
        E.and_(
            kit.divisible(src.partitions, target.quadrant),
            E.le(src.partitions, target.partitions),
            kit.divisible(src.free, 4),
        ),
        f"partitions of src are a multiple of {target.quadrant} and src free size of 4",
        "src does not consist of whole scaling groups",
        "QMX03",
        values=(("partitions of src", src.partitions), ("src free size", src.free)),
    )
    if dst is not None:
        yield check(
            op,
            "dst",
            E.and_(E.eq(dst.partitions, src.partitions), E.eq(dst.free * 4, src.free)),
            "partitions of dst == partitions of src and dst free size == src free size / 4",
            "dst does not have one packed element for four of src",
            "QMX04",
            values=(
                ("partitions of dst", dst.partitions),
                ("dst free size", dst.free),
                ("partitions of src", src.partitions),
                ("src free size", src.free),
            ),
            about=("dst", "src"),
        )
    if scale is not None:
        yield check(
            op,
            "dst_scale",
            E.and_(E.eq(scale.free * 4, src.free), scales_fit(scale, src, target)),
            "dst_scale has a quarter of the src free size and reaches into its last quadrant",
            "dst_scale does not match src",
            "QMX05",
            values=(
                ("partitions of dst_scale", scale.partitions),
                ("dst_scale free size", scale.free),
                ("partitions of src", src.partitions),
                ("src free size", src.free),
            ),
            about=("dst_scale", "src"),
        )


_QUANTIZE = """\
nisa.memset(dst=scale, value=0)
data = nl.ndarray(({p}, {q}), dtype=nl.float8_e4m3fn_x4, buffer=nl.sbuf)
nisa.quantize_mx(dst=data, src=x_tile, dst_scale=scale)
"""

register(
    Rule(
        id="quantize-shape",
        code="NKI626",
        family="vector",
        summary="MX quantisation reads whole groups and writes one scale per group",
        reason=(
            "A group is eight partitions of four elements: the source fills quadrants of 32 "
            "partitions, four elements become one packed element, and every group gets a scale."
        ),
        facts=("QMX03", "QMX04", "QMX05"),
        on="operation",
        operations=("isa.quantize_mx",),
        check=_quantize_shape,
        sources=("NKI ISA quantize_mx, tile size",),
        failing=kernel(
            "quantize",
            {"x": ((48, 256), "bfloat16")},
            ((48, 64), "uint8"),
            _QUANTIZE.format(p=48, q=64),
            target="trn3",
            into="scale",
        ),
        passing=kernel(
            "quantize",
            {"x": ((64, 256), "bfloat16")},
            ((64, 64), "uint8"),
            _QUANTIZE.format(p=64, q=64),
            target="trn3",
            into="scale",
        ),
    )
)

# ----------------------------------------------------------------------------- ranges


def _range_select(op: Operation, target: Target) -> Iterator[Check]:
    data = op.view("on_true_tile")
    start = kit.as_expr(op.value("range_start"))
    if data is not None and start is not None:
        limit = 2**24
        yield check(
            op,
            "range_start",
            E.le(start + data.free, limit),
            f"range_start + on_true_tile free size <= {limit}",
            "the range counts beyond what float32 holds exactly",
            "RSL05",
            values=(("range_start", start), ("on_true_tile free size", data.free)),
            about=("on_true_tile",),
        )
    value = op.value("on_false_value")
    number = kit.constant(value)
    if number is not None:
        yield check(
            op,
            "on_false_value",
            E.truth(abs(number + 3.4028235e38) < 1e31),
            "on_false_value is the smallest float32",
            "on_false_value has to be the smallest float32",
            "RSL06",
            about=(),
            help=("leave on_false_value out",),
        )


register(
    Rule(
        id="range-select",
        code="NKI627",
        family="vector",
        summary="range_select counts within float32 and fills with the smallest float32",
        reason=(
            "The instruction compares element indices as float32 numbers, which are exact up to "
            "2 to the 24th, and knows one fill value."
        ),
        facts=("RSL05", "RSL06"),
        on="operation",
        operations=("isa.range_select",),
        check=_range_select,
        sources=("NKI ISA range_select",),
        failing=kernel(
            "window",
            {
                "x": ((128, 200), "float32"),
                "low": ((128, 1), "float32"),
                "high": ((128, 1), "float32"),
            },
            ((128, 200), "float32"),
            """
            nisa.range_select(
                dst=result,
                on_true_tile=x_tile,
                comp_op0=nl.greater_equal,
                comp_op1=nl.less,
                bound0=low_tile,
                bound1=high_tile,
                on_false_value=0.0,
            )
            """,
        ),
        passing=kernel(
            "window",
            {
                "x": ((128, 200), "float32"),
                "low": ((128, 1), "float32"),
                "high": ((128, 1), "float32"),
            },
            ((128, 200), "float32"),
            """
            nisa.range_select(
                dst=result,
                on_true_tile=x_tile,
                comp_op0=nl.greater_equal,
                comp_op1=nl.less,
                bound0=low_tile,
                bound1=high_tile,
            )
            """,
        ),
    )
)


def _beta1_rank(op: Operation, target: Target) -> Iterator[Check]:
    if op.name == "isa.exponential":
        for role in ("src", "dst"):
            view = op.view(role)
            if view is not None:
                yield check(
                    op,
                    role,
                    E.truth(view.rank <= 4),
                    f"rank of {role} <= 4",
                    f"{role} has too many dimensions for exponential",
                    "A08",
                    values=((f"rank of {role}", E.const(view.rank)),),
                )
        return
    data = op.view("data")
    if data is not None and not at_least(op.api, "0.2"):
        yield check(
            op,
            "data",
            E.truth(data.rank == 2),
            "rank of data == 2",
            "scalar_tensor_tensor takes two-dimensional data",
            "STT05",
            values=(("rank of data", E.const(data.rank)),),
        )


register(
    Rule(
        id="operand-rank",
        code="NKI628",
        family="vector",
        summary="operands have no more dimensions than the instruction encodes",
        reason=(
            "Some instructions spend so many bits on their arguments that fewer dimensions of the "
            "access pattern are left: exponential has three free ones, scalar_tensor_tensor had "
            "one in Beta 1."
        ),
        facts=("A08", "STT05"),
        on="operation",
        operations=("isa.exponential", "isa.scalar_tensor_tensor"),
        check=_beta1_rank,
        of_rank=True,
        sources=("NKI ISA exponential", "Beta 1 scalar_tensor_tensor"),
        failing="""\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def fused(x, y):
    assert x.shape == (128, 6, 20) and y.shape == (128, 6, 20)
    out = nl.ndarray((128, 6, 20), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.load(x)
    b = nl.load(y)
    both = nisa.scalar_tensor_tensor(
        data=a, op0=nl.multiply, operand0=3.0, op1=nl.add, operand1=b
    )
    nl.store(out, both)
    return out
""",
        passing="""\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def fused(x, y):
    assert x.shape == (128, 120) and y.shape == (128, 120)
    out = nl.ndarray((128, 120), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.load(x)
    b = nl.load(y)
    both = nisa.scalar_tensor_tensor(
        data=a, op0=nl.multiply, operand0=3.0, op1=nl.add, operand1=b
    )
    nl.store(out, both)
    return out
""",
    )
)

# ----------------------------------------------------------------------------- nl shape functions


def _language_transpose(op: Operation, target: Target) -> Iterator[Check]:
    x = op.view("x")
    if x is None:
        return
    limit = target.stationary_free_max
    yield check(
        op,
        "x",
        E.and_(E.truth(x.rank == 2), E.le(x.partitions, limit), E.le(x.free, limit)),
        f"x is two-dimensional, at most {limit} by {limit}",
        "the tile is too large for nl.transpose",
        "L29",
        values=(("partitions of x", x.partitions), ("x free size", x.free)),
        help=(f"transpose blocks of {limit} by {limit}",),
    )


register(
    Rule(
        id="language-transpose",
        code="NKI629",
        family="vector",
        summary="nl.transpose takes a tile of at most 128 by 128",
        reason=(
            "nl.transpose is one pass through the Tensor Engine's array of 128 by 128 processing "
            "elements."
        ),
        facts=("L29",),
        on="operation",
        operations=("language.transpose",),
        check=_language_transpose,
        sources=("NKI language transpose",),
        failing="""\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def turn(x):
    assert x.shape == (64, 5, 12)
    out = nl.ndarray((60, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.transpose(nl.load(x)))
    return out
""",
        passing="""\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def turn(x):
    assert x.shape == (64, 160)
    out = nl.ndarray((160, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    for part in nl.affine_range(2):
        turned = nl.transpose(nl.load(x[:, nl.ds(part * 80, 80)]))
        nl.store(out[nl.ds(part * 80, 80), :], turned)
    return out
""",
    )
)
