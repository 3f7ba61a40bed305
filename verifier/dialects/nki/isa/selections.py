"""What selects and searches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from operator import is_
from typing import Final

from verifier.dialects.nki.isa.families import OF_VECTOR, of_partition, reduced, sums_of_vector
from verifier.dialects.nki.isa.operators import COMPARISONS, RANGES, admits
from verifier.dialects.nki.isa.shared import (
    EVERY,
    FLOAT,
    FP32,
    constant,
    decides,
    exactly,
    folded,
    for_gpsimd,
    on_chip,
    operator,
    per_lane,
    plain,
    streamed,
    tile,
    vector,
    whole,
    words,
    written,
)
from verifier.dialects.nki.results import Bounds, Columns, Like
from verifier.hardware import dtypes as dt
from verifier.hardware.capabilities import Capability
from verifier.hardware.engines import Engine
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import CORE_PARTITIONS
from verifier.symbolic import expr as E
from verifier.symbolic.effects import SOME, Call, Footprint, Index, Where, Writes
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.instruction import Commands, Engines, Instruction, OnePort, Trait
from verifier.symbolic.roles import (
    Counted,
    In,
    Limit,
    PerPartition,
    Role,
    Sized,
    Streams,
    Takes,
    Types,
)
from verifier.symbolic.values import Enumerator

_FIRST_OF_CORE: Final = Where(
    f"the first of each {CORE_PARTITIONS} partitions (NKI-NZC04)",
    lambda call, index: E.eq(E.mod(index[0], CORE_PARTITIONS), 0),
)

_COMPARED: Final[Mapping[str, Callable[[Expr, Expr | int], Bool]]] = {
    "equal": E.eq,
    "not_equal": E.ne,
    "greater": E.gt,
    "greater_equal": E.ge,
    "less": E.lt,
    "less_equal": E.le,
}


def _is_selected(call: Call, index: Index) -> Bool | None:
    """Whether the affine function of the position compares with 0 (NKI-AFS04); None where what it
    is made of is not followed, or given as an index comparison (Beta 1)."""
    pattern, view = call.value("pattern"), call.view("on_true_tile")
    comparison = call.value("cmp_op")
    name = comparison.name if isinstance(comparison, Enumerator) else "equal"
    total, across = _number(call.value("offset")), _number(call.value("channel_multiplier"))
    if view is None or not isinstance(pattern, (tuple, list)) or name not in _COMPARED:
        return None
    entries = [tuple(map(_number, entry)) if isinstance(entry, tuple) else () for entry in pattern]
    pairs = [(entry[0], entry[1]) for entry in entries if len(entry) == 2]
    if total is None or across is None or len(pairs) != len(entries):
        return None
    total += across * index[0]
    places = _positions(view.shape[1:], index[1:], [count for _, count in pairs])
    for (step, _), at in zip(pairs, places, strict=True):
        if step is None or at is None:
            return None
        total += step * at
    return _COMPARED[name](total, 0)


def _positions(
    shape: Sequence[Expr], index: Index, counts: Sequence[Expr | None]
) -> Iterator[Expr | None]:
    """Where an element is in the loops of a pattern that goes through the elements in order."""
    if len(counts) == len(shape) and all(map(is_, counts, shape)):
        yield from index
        return
    flat = sum((at * _product(shape[k + 1 :]) for k, at in enumerate(index)), E.const(0))
    for k, count in enumerate(counts):
        inner = [size for size in counts[k + 1 :] if size is not None]
        if count is None or len(inner) != len(counts) - k - 1:
            yield None
        else:
            yield E.mod(E.floordiv(flat, _product(inner)), count)


def _product(sizes: Sequence[Expr]) -> Expr:
    return prod(sizes, start=E.const(1))


def _number(value: object) -> Expr | None:
    """A number; 0 where none is given."""
    if value is None or isinstance(value, int):
        return E.const(value or 0)
    return value if isinstance(value, Expr) else None


_SELECTED: Final = Where("where the affine function compares", _is_selected)


def _bound(name: str) -> Role:
    """One end of a range, for each partition."""
    return tile(
        name,
        on_chip("NKI-BUF17"),
        shape=PerPartition("on_true_tile", "NKI-RSL03"),
        dtypes=Types(FP32, "float32", "NKI-RSL03"),
    )


RANGE_SELECT: Final = Instruction(
    name="isa.range_select",
    summary="dst = on_true_tile where its position lies between the bounds, a number elsewhere",
    signatures={
        "beta1": (
            "|, on_true_tile*, comp_op0*, comp_op1*, bound0*, bound1*, "
            "reduce_cmd=reduce_cmd.idle, reduce_res=None, reduce_op=op.maximum, range_start=0, "
            "on_false_value=-3.4028235e+38, mask=None, dtype=None, **"
        ),
        "0.2": (
            "dst*, on_true_tile*, comp_op0*, comp_op1*, bound0*, bound1*, "
            "reduce_cmd=reduce_cmd.reset_reduce, reduce_res=None, reduce_op=op.maximum, "
            "range_start=0.0, on_false_value=-3.4028235e+38, name=None"
        ),
        "0.3": (
            "dst*, on_true_tile*, comp_op0*, comp_op1*, bound0*, bound1*, "
            "reduce_cmd=reduce_cmd.reset_reduce, reduce_res=None, reduce_op=op.maximum, "
            "range_start=0, on_false_value=-3.4028235e+38, name=None"
        ),
    },
    roles=(
        tile("dst", on_chip("NKI-BUF17")),
        tile(
            "on_true_tile",
            on_chip("NKI-BUF17"),
            shape=Streams("dst", "NKI-H53"),
            dtypes=Types(FLOAT, "a float", "NKI-RSL04"),
        ),
        operator("comp_op0"),
        operator("comp_op1"),
        _bound("bound0"),
        _bound("bound1"),
        tile("reduce_res", on_chip("NKI-BUF17"), shape=PerPartition("on_true_tile", "NKI-RSL03")),
        operator("reduce_op"),
        whole("range_start"),
    ),
    engines=Engines(Engine.VECTOR),
    operators=(
        admits("comp_op0", RANGES, "NKI-RSL02"),
        admits("comp_op1", RANGES, "NKI-RSL02"),
        admits("reduce_op", words("maximum"), "NKI-RSL07", folds=True),
    ),
    commands=Commands(words("idle reduce reset_reduce"), "NKI-AC08"),
    needs=(Capability.RANGE_SELECT, ("NKI-RSL01", "NKI-H76")),
    footprint=Footprint(
        reads=(
            streamed("on_true_tile"),
            decides("bound0", "it is the bound of a range"),
            decides("bound1", "it is the bound of a range"),
            *reduced("on_true_tile", kept=OF_VECTOR),
        ),
        writes=written("dst", "reduce_res"),
        accumulators=sums_of_vector("on_true_tile", "NKI-RSL09", ignored_in="0.2"),
    ),
    result=Like(("on_true_tile",)),
)

SELECT_REDUCE: Final = Instruction(
    name="isa.select_reduce",
    summary="dst = on_true where the predicate holds, on_false elsewhere; optionally its maximum",
    signatures={
        "beta1": (
            "|, dst*, predicate*, on_true*, on_false*, reduce_res=None, "
            "reduce_cmd=reduce_cmd.idle, reduce_op=op.maximum, reverse_pred=False, mask=None, "
            "dtype=None, **"
        ),
        "0.2": (
            "dst*, predicate*, on_true*, on_false*, reduce_res=None, reduce_cmd=reduce_cmd.idle, "
            "reduce_op=op.maximum, reverse_pred=False, name=None"
        ),
    },
    roles=(
        tile("dst", on_chip("NKI-BUF16")),
        tile(
            "predicate",
            on_chip("NKI-BUF16"),
            shape=Streams("dst", "NKI-SLR01"),
            dtypes=Types(
                dt.codes("int8", "uint8", "int16", "uint16", "bool_"),
                "an 8- or 16-bit integer",
                "NKI-SLR05",
            ),
        ),
        tile(
            "on_true",
            on_chip("NKI-BUF16"),
            shape=Streams("dst", "NKI-SLR01"),
            dtypes=Types(
                EVERY - dt.codes("tfloat32", "int32", "uint32"),
                "neither tfloat32 nor a 32-bit integer",
                "NKI-SLR03",
            ),
        ),
        vector("on_false", on_chip("NKI-BUF16"), shape=PerPartition("on_true", "NKI-SLR04")),
        tile(
            "reduce_res",
            on_chip("NKI-BUF16"),
            shape=PerPartition("on_true", "NKI-SLR06"),
            dtypes=Types(FLOAT, "a float", "NKI-SLR06"),
        ),
        operator("reduce_op"),
    ),
    engines=Engines(Engine.VECTOR),
    operators=(admits("reduce_op", words("maximum"), "NKI-SLR06", folds=True),),
    commands=Commands(words("idle reduce reset_reduce"), "NKI-SLR07"),
    one_psum_input=OnePort("predicate", "on_true", "NKI-SLR02"),
    footprint=Footprint(
        reads=(
            decides("predicate", "it is a condition"),
            streamed("on_true", where=SOME),
            per_lane("on_false"),
            *reduced("on_true", "on_false", kept=OF_VECTOR),
        ),
        writes=written("dst", "reduce_res"),
        accumulators=sums_of_vector("on_true", "NKI-SLR08", without="idle"),
    ),
)

#: what affine_select took first
_SHORT: Final = FLOAT | dt.codes("int8", "uint8", "int16", "uint16")
_SELECTABLE: Final = Types(
    EVERY,
    "any dtype",
    "NKI-AFS06",
    "0.2",
    before=Types(_SHORT, "a float or an integer of at most 16 bits", "NKI-AFS06"),
)

AFFINE_SELECT: Final = Instruction(
    name="isa.affine_select",
    summary=(
        "dst = on_true_tile where an affine function of the position compares, a number elsewhere"
    ),
    signatures={
        "beta1": "pred*, on_true_tile*, on_false_value*, |, mask=None, dtype=None, **",
        "0.2": (
            "dst*, pattern*, offset*, channel_multiplier*, on_true_tile*, on_false_value*, "
            "cmp_op=op.equal, name=None"
        ),
        "0.3": (
            "dst*, pattern*, channel_multiplier*, on_true_tile*, on_false_value*, "
            "cmp_op=op.equal, offset=0, name=None"
        ),
    },
    roles=(
        tile("dst", for_gpsimd("NKI-BUF26")),
        Role(name="pattern", takes=Takes.INTEGERS, shape=Counted("dst", "NKI-AFS02")),
        whole("offset"),
        whole("channel_multiplier"),
        tile(
            "on_true_tile",
            # Beta 1 said nothing of it, and kernels that were shipped read PSUM
            In((Buffer.SBUF,), ("NKI-BUF26",), "0.2", before=(Buffer.SBUF, Buffer.PSUM)),
            shape=Streams("dst", "NKI-AFS02"),
            dtypes=_SELECTABLE,
        ),
        constant("on_false_value", "NKI-AFS03"),
        operator("cmp_op"),
    ),
    engines=Engines(Engine.GPSIMD),
    operators=(admits("cmp_op", COMPARISONS, "NKI-AFS04"),),
    footprint=Footprint(reads=(streamed("on_true_tile", where=_SELECTED),), writes=written("dst")),
    result=Like(("on_true_tile",)),
    converts="NKI-AFS05",
)

#: how many are found, or looked for, at once
_EIGHT: Final = 8
_SEARCHED: Final = 16384


def _few_dimensions(fact: str) -> tuple[Limit, ...]:
    return (Limit(most=5, fact=fact), Limit(most=3, fact=fact, since="0.4"))


MAX8: Final = of_partition(
    "isa.max8",
    "the eight largest elements of each partition",
    tile(
        "src",
        on_chip("NKI-BUF22"),
        free=Limit(least=_EIGHT, most=_SEARCHED, fact="NKI-TOP01"),
        rank=_few_dimensions("NKI-TOP01"),
    ),
    exactly(_EIGHT, "NKI-TOP02"),
    rank=(exactly(2, "NKI-TOP02"),),
    beta1="|, src*, mask=None, dtype=None, **",
    traits=frozenset({Trait.SEARCHES}),
)

NC_FIND_INDEX8: Final = Instruction(
    name="isa.nc_find_index8",
    summary="positions of eight values in each partition",
    signatures={
        "beta1": "|, data*, vals*, mask=None, dtype=None, **",
        "0.2": "dst*, data*, vals*, name=None",
    },
    roles=(
        tile(
            "dst",
            on_chip("NKI-BUF22"),
            dtypes=Types(dt.codes("uint16", "uint32"), "uint16 or uint32", "NKI-TOP04"),
            free=exactly(_EIGHT, "NKI-TOP04"),
            rank=(exactly(2, "NKI-TOP04"),),
        ),
        tile(
            "data",
            on_chip("NKI-BUF22"),
            free=Limit(least=_EIGHT, most=_SEARCHED, fact="NKI-TOP03"),
            rank=_few_dimensions("NKI-TOP03"),
        ),
        tile("vals", on_chip("NKI-BUF22"), free=exactly(_EIGHT, "NKI-TOP03")),
    ),
    engines=Engines(Engine.VECTOR),
    footprint=Footprint(
        reads=(folded("data"), decides("vals", "it is searched for")), writes=written("dst")
    ),
    result=Columns("data", _EIGHT, "uint32"),
    traits=frozenset({Trait.LOCATES}),
)

NC_MATCH_REPLACE8: Final = Instruction(
    name="isa.nc_match_replace8",
    summary="dst = data with the first of each of eight values replaced, and their positions",
    signatures={
        "beta1": "|, data*, vals*, imm*, dst_idx=None, mask=None, dtype=None, **",
        "0.2": "dst*, data*, vals*, imm*, dst_idx=None, name=None",
    },
    roles=(
        tile("dst", on_chip("NKI-BUF23")),
        tile(
            "data",
            on_chip("NKI-BUF23"),
            shape=Streams("dst", "NKI-TOP06", alike=True),
            # no longer documented (NKI-TOP06)
            free=Limit(most=_SEARCHED, fact="NKI-TOP06", advice_from="0.3"),
            rank=(Limit(most=5, fact="NKI-TOP06", advice_from="0.3"),),
        ),
        tile("vals", on_chip("NKI-BUF23"), free=exactly(_EIGHT, "NKI-TOP06")),
        tile(
            "dst_idx",
            on_chip("NKI-BUF23"),
            shape=Sized(
                "vals",
                lambda vals: vals.partitions,
                lambda vals: vals.free,
                "the shape of vals",
                "NKI-TOP07",
                lambda vals: vals.shape,
            ),
        ),
    ),
    engines=Engines(Engine.VECTOR),
    footprint=Footprint(
        reads=(folded("data"), folded("data", "dst_idx"), decides("vals", "it is searched for")),
        writes=written("dst", "dst_idx"),
    ),
    result=Like(("data",)),
)

_RANKED: Final = Types(dt.codes("bfloat16"), "bfloat16", "NKI-TPK01", "0.6")
_RANKS: Final = Types(dt.codes("uint32"), "uint32", "NKI-TPK01", "0.6")

TOPK: Final = Instruction(
    name="isa.topk",
    summary="the largest elements of each 16 partitions, and their positions",
    signatures={
        "0.6": "val_dst*, idx_dst*, src*, n*, name=None",
    },
    roles=(
        tile(
            "val_dst",
            for_gpsimd("NKI-BUF30"),
            dtypes=_RANKED,
            free=Limit(most=32767, fact="NKI-TPK03"),
        ),
        tile("idx_dst", for_gpsimd("NKI-BUF30"), dtypes=_RANKS),
        tile("src", for_gpsimd("NKI-BUF30"), dtypes=_RANKED),
        plain("n", Limit(least=8, most=65535, fact="NKI-TPK03")),
    ),
    engines=Engines(Engine.GPSIMD),
    footprint=Footprint(
        reads=(decides("src", "it is compared with the others"),),
        writes=written("val_dst", "idx_dst"),
    ),
    traits=frozenset({Trait.SORTS}),
)

NONZERO_WITH_COUNT: Final = Instruction(
    name="isa.nonzero_with_count",
    summary="positions of nonzero elements, padding, their count: in one partition of 16",
    signatures={
        "0.2": "dst*, src*, index_offset=0, padding_val=-1",
        "0.3": "dst*, src*, index_offset=0, padding_val=-1, name=None",
    },
    roles=(
        tile(
            "dst",
            for_gpsimd("NKI-BUF30"),
            dtypes=Types(dt.codes("int32"), "int32", "NKI-NZC02", "0.2"),
            shape=Sized(
                "src",
                lambda src: src.partitions,
                lambda src: src.free + 1,
                "the partitions of src and one element more",
                "NKI-NZC03",
            ),
        ),
        tile(
            "src",
            for_gpsimd("NKI-BUF30"),
            dtypes=Types(dt.codes("float32", "int32"), "float32 or int32", "NKI-NZC02", "0.2"),
        ),
        whole("index_offset", "NKI-NZC05"),
        whole("padding_val", "NKI-NZC05"),
    ),
    engines=Engines(Engine.GPSIMD),
    needs=(Capability.NONZERO, ("NKI-NZC01", "NKI-H76")),
    footprint=Footprint(
        reads=(folded("src", where=_FIRST_OF_CORE),),
        writes=(Writes(role="dst", where=_FIRST_OF_CORE, keeps="NKI-NZC04"),),
    ),
)

SEQUENCE_BOUNDS: Final = Instruction(
    name="isa.sequence_bounds",
    summary="where the segment of each element begins and ends",
    signatures={
        "beta1": "|, segment_ids*, dtype=None",
        "0.2": "dst*, segment_ids*, name=None",
    },
    roles=(
        tile(
            "dst",
            for_gpsimd("NKI-BUF29"),
            dtypes=Types(dt.codes("float32", "int32"), "float32 or int32", "NKI-SQB02", "0.2"),
            shape=Sized(
                "segment_ids",
                lambda segment_ids: E.const(1),
                lambda segment_ids: segment_ids.free * 2,
                "1 partition, a row of starts and one of ends",
                "NKI-SQB01",
                lambda ids: (E.const(1), E.const(2), ids.shape[1]) if ids.rank == 2 else None,
            ),
        ),
        tile(
            "segment_ids",
            for_gpsimd("NKI-BUF29"),
            dtypes=Types(dt.codes("float32", "int32"), "float32 or int32", "NKI-SQB02"),
            partitions=exactly(1, "NKI-SQB01"),
        ),
    ),
    engines=Engines(Engine.GPSIMD),
    footprint=Footprint(
        reads=(decides("segment_ids", "it is compared with its neighbours"),), writes=written("dst")
    ),
    result=Bounds("segment_ids"),
)

INSTRUCTIONS: Final = (
    RANGE_SELECT,
    SELECT_REDUCE,
    AFFINE_SELECT,
    MAX8,
    NC_FIND_INDEX8,
    NC_MATCH_REPLACE8,
    TOPK,
    NONZERO_WITH_COUNT,
    SEQUENCE_BOUNDS,
)
