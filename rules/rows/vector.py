"""Rows of the instructions of the Vector Engine and of GpSimd: catalogue sections (c.6), (c.7)."""

from __future__ import annotations

from typing import Final

from rules.rows.frames import COPIED, INPUT, RESULT, Row, beside, made

_AP: Final = "a: float32[96, 40]@psum"
_AB: Final = "a: float32[96, 40]@psum, b: float32[96, 40]@psum"
_V: Final = "a: float32[96, 40]@psum, v: float32[96, 2]"
_SUM: Final = "sums = nl.ndarray((96, {{2||1}}), dtype=nl.float32, buffer=nl.sbuf)\n"
_ONE: Final = "sums = nl.ndarray((96, 1), dtype=nl.float32, buffer=nl.sbuf)\n"


def _row(
    rule: str,
    fact: str,
    body: str,
    inputs: str = INPUT,
    api: str = "0.5",
    target: str = "trn2",
    out: str = RESULT,
) -> Row:
    return Row(rule, fact, inputs, out, body, api, target)


_SCALED: Final = "nisa.tensor_scalar_reduce(dst=r, data=a_t, "
_RUNNING: Final = "nisa.tensor_scalar_cumulative(dst=r, src=a_t, "
_ACCUMULATED: Final = "reduce_op=nl.add, reduce_res=sums)"
_BOUNDS: Final = "a: float32[96, 40]@psum, lo: float32[96, 1], hi: float32[96, 1]"


def _ranged(more: str = "", lo: str = "lo_t", first: str = "less", of: str = "a_t") -> str:
    return (
        f"{_ONE}nisa.range_select(dst=r, on_true_tile={of}, comp_op0=nl.{first}, "
        f"comp_op1=nl.greater, bound0={lo}, bound1=hi_t, reduce_res=sums, "
        f"reduce_op=nl.{{{{}}}}, reduce_cmd=nisa.reduce_cmd.reset_reduce{more})"
    ).replace("{{}}", "maximum")


def _selected(more: str = "", predicate: str = "p_t", of: str = "a_t", false: str = "0.0") -> str:
    return f"nisa.select_reduce(dst=r, predicate={predicate}, on_true={of}, on_false={false}{more})"


_PREDICATE: Final = "a: float32[96, 40]@psum, p: uint8[96, 40]@psum"
_REDUCING: Final = ", reduce_res=sums, reduce_cmd=nisa.reduce_cmd.reset_reduce, reduce_op=nl.{}"

REDUCTIONS: Final = (
    beside(
        "bitwise-dtype",
        "RED05",
        _ONE.replace("float32", "int32")
        + "nisa.tensor_reduce(dst=sums, op=nl.bitwise_{{or||or}}, data={{a_t||i_t}}, axis=1)",
        "a: float32[96, 40], i: int32[96, 40]",
        "0.4",
    ),
    _row(
        "operator-kind",
        "TSR01",
        f"{_ONE}{_SCALED}op0=nl.{{{{bitwise_and||multiply}}}}, operand0=2.0, {_ACCUMULATED}",
    ),
    _row(
        "vector-operand-shape",
        "TSR02",
        f"{_ONE}{_SCALED}op0=nl.multiply, operand0=v_t[:, 0:{{{{2||1}}}}], {_ACCUMULATED}",
        _V,
        "0.4",
    ),
    _row(
        "vector-operand-shape",
        "TSR04",
        f"{_SUM}{_SCALED}op0=nl.multiply, operand0=2.0, {_ACCUMULATED}",
        api="0.3",
    ),
    _row(
        "operator-arguments",
        "TSR05",
        f"{_ONE}{_SCALED}op0=nl.subtract, operand0=2.0, "
        f"reverse0={{{{True||False}}}}, {_ACCUMULATED}",
        api="0.4",
    ),
    _row(
        "target-feature",
        "TSR07",
        f"{_ONE}{_SCALED}op0=nl.{{{{square||abs}}}}, operand0=0, {_ACCUMULATED}",
        api="0.5",
    ),
    _row(
        "free-size-mismatch",
        "TSR08",
        f"{COPIED}{_ONE}{_SCALED}op0=nl.add, operand0=2.0, {_ACCUMULATED}".replace(
            "dst=r,", "dst=r[:, 0:{{39||40}}],"
        ),
        target="trn1",
    ),
    _row(
        "operator-kind",
        "TCU01",
        f"{_RUNNING}op0=nl.add, op1=nl.{{{{divide||maximum}}}}, "
        "imm0=1.0, reduce_cmd=nisa.reduce_cmd.reset_reduce)",
    ),
    _row(
        "operand-dtype",
        "TCU02",
        f"{_RUNNING}op0=nl.add, op1=nl.add, imm0=1.0, reduce_cmd=nisa.reduce_cmd.reset_reduce)",
        "a: {{int32||int16}}[96, 40]",
        "0.6",
    ),
    _row(
        "reduce-command",
        "TCU04",
        f"{_RUNNING}op0=nl.add, op1=nl.add, imm0=1.0, "
        "reduce_cmd=nisa.reduce_cmd.{{idle||reset_reduce}})",
        api="0.5",
        target="trn3",
    ),
    _row(
        "free-size-mismatch",
        "TCU05",
        COPIED + "nisa.tensor_scalar_cumulative(dst=r[:, 0:{{39||40}}], src=a_t, "
        "op0=nl.add, op1=nl.add, imm0=1.0, "
        "reduce_cmd=nisa.reduce_cmd.reset_reduce)",
    ),
    _row(
        "operator-arguments",
        "TSR02",
        f"{_ONE}{_SCALED}op0=nl.{{{{add||abs}}}}, operand0=None, {_ACCUMULATED}",
        api="0.5",
    ),
    _row(
        "free-size-mismatch",
        "EXP02",
        COPIED + "nisa.exponential(dst=r[:, 0:{{39||40}}], src=a_t, max_value=1.0)",
        api="0.5",
        target="trn3",
    ),
    _row(
        "operand-dtype",
        "EXP03",
        "nisa.exponential(dst=r, src=a_t, max_value=1.0)",
        "a: {{tfloat32||float32}}[96, 40]",
        "0.6",
        "trn3",
    ),
    _row(
        "operand-dtype",
        "EXP04",
        "nisa.exponential(dst=r, src=a_t, max_value=1.0)",
        INPUT,
        "0.4",
        "trn3",
        "{{uint32||uint16}}[96, 40]",
    ),
    _row(
        "vector-operand-shape",
        "EXP06",
        f"{_SUM}nisa.exponential(dst=r, src=a_t, "
        "max_value=1.0, reduce_res=sums, reduce_cmd=nisa.reduce_cmd.reset_reduce)",
        api="0.5",
        target="trn3",
    ),
    _row(
        "reduce-command",
        "EXP07",
        f"{_ONE}nisa.exponential(dst=r, src=a_t, "
        "max_value=1.0, reduce_res=sums, reduce_cmd=nisa.reduce_cmd.{{reset_reduce||load_reduce}}, "
        "reduce_init=3.0)",
        api="0.6",
        target="trn3",
    ),
    _row(
        "free-size-mismatch",
        "RCP01",
        COPIED + "nisa.reciprocal(dst=r[:, 0:{{39||40}}], data=a_t)",
        target="trn1",
        api="0.2",
    ),
    _row(
        "vector-operand-shape",
        "DRP01",
        "nisa.dropout(dst=r, data=a_t, prob=v_t[:, 0:{{2||1}}])",
        _V,
        "0.4",
    ),
    _row(
        "operand-dtype",
        "DRP03",
        "nisa.dropout(dst=r, data=a_t, prob=0.5)",
        "a: {{bfloat16||float32}}[96, 40]",
        "0.5",
    ),
    _row("probability", "DRP04", "nisa.dropout(dst=r, data=a_t, prob={{1.5||1.0}})", api="0.3"),
    _row("probability", "DRP04", "nisa.dropout(dst=r, data=a_t, prob={{-1||0}})", target="trn1"),
    _row(
        "bn-shape", "BNS02", COPIED + made("s", "96, {{7||6}}") + "nisa.bn_stats(dst=s, data=a_t)"
    ),
    _row(
        "bn-shape",
        "BNA01",
        COPIED + made("s", "96, 2") + "nisa.bn_aggr(dst=s, data=a_t[:, 0:{{40||39}}])",
        api="0.4",
    ),
    _row(
        "bn-shape",
        "BNA02",
        COPIED + made("s", "96, {{3||2}}") + "nisa.bn_aggr(dst=s, data=a_t[:, 0:39])",
        target="trn1",
    ),
)

SELECTIONS: Final = (
    _row(
        "target-feature",
        "RSL01",
        COPIED + "if {{True||nisa.get_nc_version() >= "
        "nisa.nc_version.gen3}}:\n    " + _ranged().replace("\n", "\n    "),
        _BOUNDS,
        "0.5",
        "trn1",
    ),
    _row("operator-kind", "RSL02", _ranged(first="{{not_equal||less_equal}}"), _BOUNDS, "0.4"),
    _row("vector-operand-shape", "RSL03", _ranged(lo="{{a_t[:, 0:2]||lo_t}}"), _BOUNDS, "0.5"),
    _row(
        "operand-dtype",
        "RSL04",
        _ranged(of="b_t"),
        _BOUNDS + ", b: {{int32||bfloat16}}[96, 40]",
        "0.5",
        "trn3",
    ),
    _row("range-select", "RSL05", _ranged(", range_start={{16777177||16777176}}"), _BOUNDS, "0.5"),
    _row(
        "operator-kind", "RSL07", _ranged().replace("maximum", "{{add||maximum}}"), _BOUNDS, "0.5"
    ),
    _row("free-size-mismatch", "SLR01", COPIED + _selected(of="a_t[:, 0:{{39||40}}]"), _PREDICATE),
    _row(
        "two-psum-inputs", "SLR02", _selected(of="{{a_p||a_t}}", predicate="p_p"), _PREDICATE, "0.4"
    ),
    _row(
        "operand-dtype",
        "SLR03",
        _selected(of="b_t"),
        "b: {{int32||int16}}[96, 40], p: uint8[96, 40]",
        "0.5",
    ),
    _row(
        "vector-operand-shape",
        "SLR04",
        _selected(false="v_t[:, 0:{{2||1}}]"),
        _PREDICATE + ", v: float32[96, 2]",
        "0.5",
        "trn3",
    ),
    _row("operand-dtype", "SLR05", _selected(), "a: float32[96, 40], p: {{uint32||int16}}[96, 40]"),
    _row(
        "vector-operand-shape", "SLR06", _SUM + _selected(_REDUCING.format("maximum")), _PREDICATE
    ),
    _row(
        "operator-kind",
        "SLR06",
        _ONE + _selected(_REDUCING.format("{{add||maximum}}")),
        _PREDICATE,
        "0.6",
        "trn3",
    ),
    _row(
        "reduce-command",
        "SLR07",
        _ONE
        + _selected(_REDUCING.format("maximum")).replace("reset_reduce", "{{reset||reset_reduce}}"),
        _PREDICATE,
        "0.4",
    ),
    _row(
        "free-size-mismatch",
        "CPP01",
        COPIED + "nisa.tensor_copy_predicated(dst=r, src=a_t, predicate=p_t[:, 0:{{39||40}}])",
        _PREDICATE,
    ),
    _row(
        "operand-dtype",
        "CPP03",
        "nisa.memset(dst=r, value=0.0)\nnisa.tensor_copy_predicated(dst=r, src=b_t, predicate=p_t)",
        "b: {{bfloat16||float32}}[96, 40], p: uint8[96, 40]",
        "0.4",
    ),
    _row(
        "two-psum-inputs",
        "CPP04",
        COPIED + "nisa.tensor_copy_predicated(dst=r, src={{a_p||a_t}}, predicate=p_p)",
        _PREDICATE,
        "0.6",
    ),
    _row(
        "uninitialised-read",
        "CPP05",
        "{{||nisa.memset(dst=r, value=0.0)}}\n"
        "nisa.tensor_copy_predicated(dst=r, src=a_t, predicate=p_t)",
        _PREDICATE,
        "0.5",
    ),
)

SEARCHES: Final = (
    beside("max8-shape", "TOP02", made("top", "96, {{9||8}}") + "nisa.max8(dst=top, src=a_t)"),
    beside(
        "max8-shape",
        "TOP02",
        made("top", "96, 2, {{4||8}}") + "nisa.max8(dst=top{{||[:, 1, :]}}, src=a_t)",
        api="0.6",
    ),
    beside(
        "max8-shape",
        "TOP03",
        made("at", "96, 8", "uint32")
        + "nisa.nc_find_index8(dst=at, data=a_t, vals=b_t[:, 0:{{9||8}}])",
        _AB,
    ),
    beside(
        "operand-dtype",
        "TOP04",
        made("at", "96, 8", "{{int32||uint16}}")
        + "nisa.nc_find_index8(dst=at, data=a_t, vals=b_t[:, 0:8])",
        _AB,
        "0.4",
    ),
    beside(
        "max8-shape",
        "TOP04",
        made("at", "96, {{4, 2||8}}", "uint32")
        + "nisa.nc_find_index8(dst=at, data=a_t, vals=b_t[:, 0:8])",
        _AB,
    ),
    beside(
        "free-size-mismatch",
        "TOP06",
        made("left", "96, {{5, 8||40}}")
        + "nisa.nc_match_replace8(dst=left, data=a_t, vals=b_t[:, 0:8], imm=0.0)",
        _AB,
        "0.6",
    ),
    beside(
        "max8-shape",
        "TOP06",
        "nisa.nc_match_replace8(dst=r, data=a_t, vals=b_t[:, 0:{{7||8}}], imm=0.0)",
        _AB,
        "0.2",
    ),
    beside(
        "max8-shape",
        "TOP07",
        made("at", "96, {{9||8}}", "uint32")
        + "nisa.nc_match_replace8(dst=r, data=a_t, vals=b_t[:, 0:8], imm=0.0, dst_idx=at)",
        _AB,
    ),
    beside(
        "max8-shape",
        "TOP07",
        made("at", "96, {{2, 4||8}}", "uint32")
        + "nisa.nc_match_replace8(dst=r, data=a_t, vals=b_t[:, 0:8], imm=0.0, dst_idx=at)",
        _AB,
        "0.6",
    ),
    _row(
        "operand-dtype",
        "SHF01",
        "nisa.nc_stream_shuffle(dst=r, src=a_t, shuffle_mask=list(range(32)))",
        "a: {{bfloat16||float32}}[96, 40]",
        "0.4",
    ),
    _row(
        "shuffle-mask",
        "SHF03",
        COPIED + "nisa.nc_stream_shuffle(dst=r[{{32||64}}:96], "
        "src=a_t[{{32||64}}:96], shuffle_mask=list(range(32)))",
        target="trn1",
    ),
    _row(
        "memset-value",
        "MST03",
        COPIED + made("t", "96, 8", "float8_e4m3fn_x4") + "nisa.memset(dst=t, value={{1||0}})",
        api="0.5",
        target="trn3",
    ),
    _row(
        "operand-buffers",
        "N07",
        COPIED + "nisa.memset(dst={{a_p||a_t}}, value=1.0, engine=nisa.engine.gpsimd)",
        _AP,
        "0.4",
    ),
    _row(
        "memset-value",
        "MST05",
        COPIED + made("t", "96, 8", "uint8") + "nisa.memset(dst=t, value={{256||255}})",
        api="0.5",
    ),
    _row(
        "engine-choice",
        "MST04",
        COPIED + "nisa.memset(dst=a_t, value=1.0, engine=nisa.engine.{{scalar||gpsimd}})",
        api="0.3",
    ),
)

GATHERS: Final = (
    beside(
        "index-pattern",
        "IOT02",
        made("n", "96, 32", "int32")
        + "nisa.iota(dst=n, pattern={{[[16, 2], [8, 2], [4, 2], [2, 2], [1, 2]]||"
        "[[8, 2], [4, 2], [2, 2], [1, 4]]}}, offset=0)",
    ),
    beside(
        "index-pattern",
        "IOT04",
        made("n", "96, 32", "int32")
        + "nisa.iota(dst=n, pattern=[[1, 32]], offset={{2147483617||2147483616}})",
        api="0.4",
    ),
    _row(
        "operand-buffers",
        "AFS01",
        "nisa.affine_select(dst=r, pattern=[[1, 40]], offset=0, "
        "channel_multiplier=-1, on_true_tile={{a_p||a_t}}, on_false_value=0.0, "
        "cmp_op=nl.greater_equal)",
        _AP,
    ),
    _row(
        "index-pattern",
        "AFS02",
        "nisa.affine_select(dst=r, pattern=[[1, {{39||40}}]], "
        "offset=0, channel_multiplier=-1, on_true_tile=a_t, on_false_value=0.0, "
        "cmp_op=nl.greater_equal)",
        api="0.4",
    ),
    _row(
        "api-signature",
        "AFS03",
        "nisa.affine_select(dst=r, pattern=[[1, 40]], "
        "offset=0, channel_multiplier=-1, on_true_tile=a_t, on_false_value={{a_t||0.0}}, "
        "cmp_op=nl.greater_equal)",
        api="0.3",
    ),
    _row(
        "operator-kind",
        "AFS04",
        "nisa.affine_select(dst=r, pattern=[[1, 40]], "
        "offset=0, channel_multiplier=-1, on_true_tile=a_t, on_false_value=0.0, "
        "cmp_op=nl.{{add||less}})",
        api="0.5",
        target="trn1",
    ),
    beside(
        "gather-shape",
        "LGA01",
        "nisa.local_gather(dst=r[:, 0:32], src_buffer=a_t, index=i_t[0:{{80||96}}])",
        "a: float32[96, 40], i: uint16[96, 2]",
    ),
    beside(
        "operand-dtype",
        "LGA03",
        "nisa.local_gather(dst=r[:, 0:32], src_buffer=a_t, index=i_t)",
        "a: float32[96, 40], i: {{uint32||uint16}}[96, 2]",
        "0.4",
    ),
    beside(
        "gather-shape",
        "LGA04",
        made("g", "96, {{4112||4096}}") + "nisa.local_gather(dst=g, src_buffer=a_t, index=i_t)",
        "a: float32[96, 40], i: uint16[96, {{257||256}}]",
        "0.5",
    ),
    beside(
        "gather-shape",
        "LGA05",
        "nisa.local_gather(dst=r[:, 0:32], src_buffer=a_t, index=i_t, "
        "num_elem_per_idx={{2||1}}, num_valid_indices=32)",
        "a: float32[96, 40], i: uint16[96, 2]",
        "0.6",
    ),
    _row(
        "gather-shape",
        "LGA05",
        "nisa.local_gather(dst=r, src_buffer=a_t, index=i_t, num_elem_per_idx=2{{||, "
        f"num_valid_indices=32}}}})\n{COPIED}",
        "a: float32[96, 64], i: uint16[96, 2]",
        "0.6",
        out="float32[96, 64]",
    ),
    beside(
        "operand-buffers",
        "LGA06",
        "nisa.local_gather(dst=r[:, 0:32], src_buffer={{a_p||a_t}}, index=i_t)",
        "a: float32[96, 40]@psum, i: uint16[96, 2]",
    ),
    _row(
        "operand-buffers",
        "NGA01",
        "nisa.nc_n_gather(dst=r, data={{a_p||a_t}}, indices=i_t)",
        "a: float32[96, 40]@psum, i: uint32[96, 40]",
        "0.5",
    ),
    _row(
        "free-size-mismatch",
        "NGA02",
        COPIED + "nisa.nc_n_gather(dst=r[:, 0:{{39||40}}], data=a_t, indices=i_t)",
        "a: float32[96, 40], i: uint32[96, 40]",
        "0.4",
    ),
    _row(
        "operand-dtype",
        "NGA03",
        "nisa.nc_n_gather(dst=r, data=a_t, indices=i_t)",
        "a: float32[96, 40], i: {{int32||uint32}}[96, 40]",
        "0.5",
        "trn3",
    ),
    beside(
        "gpsimd-result-shape",
        "SQB01",
        made("s", "1, {{3||2}}, 40", "int32") + "nisa.sequence_bounds(dst=s, segment_ids=i_t)",
        "a: float32[96, 40], i: int32[1, 40]",
    ),
    beside(
        "gpsimd-result-shape",
        "SQB01",
        made("s", "1, {{40, 2||2, 40}}", "int32") + "nisa.sequence_bounds(dst=s, segment_ids=i_t)",
        "a: float32[96, 40], i: int32[1, 40]",
        "0.6",
    ),
    beside(
        "operand-dtype",
        "SQB02",
        made("s", "1, 2, 40", "{{uint32||int32}}") + "nisa.sequence_bounds(dst=s, segment_ids=i_t)",
        "a: float32[96, 40], i: int32[1, 40]",
        "0.4",
    ),
    beside(
        "operand-buffers",
        "SQB04",
        made("s", "1, 2, 40", "int32") + "nisa.sequence_bounds(dst=s, segment_ids={{i_p||i_t}})",
        "a: float32[96, 40], i: int32[1, 40]@psum",
        "0.6",
    ),
    beside(
        "operator-kind",
        "PRD01",
        made("s", "1, 40")
        + "nisa.tensor_partition_reduce(dst=s, op=nl.{{multiply||add}}, data=a_t)",
    ),
    beside(
        "operand-buffers",
        "PRD03",
        made("s", "1, 40") + "nisa.tensor_partition_reduce(dst=s, op=nl.add, data={{a_p||a_t}})",
        _AP,
        "0.3",
    ),
    beside(
        "operand-dtype",
        "NZC02",
        made("s", "16, 41", "int32") + "nisa.nonzero_with_count(dst=s, src=i_t)",
        "a: float32[96, 40], i: {{int16||int32}}[16, 40]",
        "0.5",
    ),
    beside(
        "gpsimd-result-shape",
        "NZC03",
        made("s", "16, {{40||41}}", "int32") + "nisa.nonzero_with_count(dst=s, src=i_t)",
        "a: float32[96, 40], i: int32[16, 40]",
    ),
    beside(
        "operand-dtype",
        "TPK01",
        made("v", "96, 8", "bfloat16")
        + made("n", "96, 8", "uint32")
        + "nisa.topk(val_dst=v, idx_dst=n, src=b_t, n=640)",
        "a: float32[96, 40], b: {{float32||bfloat16}}[96, 40]",
        "0.6",
    ),
    beside(
        "gather-shape",
        "TPK02",
        made("v", "96, {{9||8}}", "bfloat16")
        + made("n", "96, 8", "uint32")
        + "nisa.topk(val_dst=v, idx_dst=n, src=b_t, n=640)",
        "a: float32[96, 40], b: bfloat16[96, 40]",
        "0.6",
    ),
    beside(
        "gather-shape",
        "TPK02",
        made("v", "96, 8", "bfloat16")
        + made("n", "96, 8", "uint32")
        + "nisa.topk(val_dst=v, idx_dst=n, src=b_t[0:{{80||96}}], n=640)",
        "a: float32[96, 40], b: bfloat16[96, 40]",
        "0.6",
    ),
    beside(
        "gather-shape",
        "TPK02",
        made("v", "96, 8", "bfloat16")
        + made("n", "96, {{2, 4||8}}", "uint32")
        + "nisa.topk(val_dst=v, idx_dst=n, src=b_t, n=640)",
        "a: float32[96, 40], b: bfloat16[96, 40]",
        "0.6",
    ),
    beside(
        "gather-shape",
        "TPK02",
        made("v", "96, {{2, 4||8}}", "bfloat16")
        + made("n", "96, {{2, 4||8}}", "uint32")
        + "nisa.topk(val_dst=v, idx_dst=n, src=b_t, n=640)",
        "a: float32[96, 40], b: bfloat16[96, 40]",
        "0.6",
    ),
    beside(
        "gather-shape",
        "TPK03",
        made("v", "96, 8", "bfloat16")
        + made("n", "96, 8", "uint32")
        + "nisa.topk(val_dst=v, idx_dst=n, src=b_t, n={{641||640}})",
        "a: float32[96, 40], b: bfloat16[96, 40]",
        "0.6",
    ),
)


def _packed(src: str = "q_t", rows: str = "96", dst: str = "10", scale: str = "10") -> str:
    return (
        made("x4", f"{rows}, {dst}", "float8_e4m3fn_x4")
        + made("e", f"{rows}, {scale}", "uint8")
        + f"nisa.quantize_mx(dst=x4, src={src}, dst_scale=e)"
    )


QUANTISATION: Final = (
    beside(
        "operand-dtype",
        "QMX02",
        _packed(),
        "a: float32[96, 40], q: {{float32||float16}}[96, 40]",
        "0.5",
        "trn3",
    ),
    beside(
        "quantize-shape",
        "QMX04",
        _packed(dst="{{11||10}}"),
        "a: float32[96, 40], q: bfloat16[96, 40]",
        "0.4",
        "trn3",
    ),
    beside(
        "quantize-shape",
        "QMX05",
        _packed(scale="{{9||10}}"),
        "a: float32[96, 40], q: bfloat16[96, 40]",
        "0.5",
        "trn3",
    ),
    beside(
        "operand-buffers",
        "QMX07",
        _packed("{{q_p||q_t}}"),
        "a: float32[96, 40], q: bfloat16[96, 40]@psum",
        "0.6",
        "trn3",
    ),
)

COPIES: Final = (
    _row(
        "free-size-mismatch",
        "CPY01",
        COPIED + "nisa.tensor_copy(dst=r[:, 0:{{39||40}}], src=a_t)",
        target="trn1",
    ),
    _row(
        "operand-buffers",
        "CPY03",
        "nisa.tensor_copy(dst=r, src={{a_p||a_t}}, engine=nisa.engine.gpsimd)",
        _AP,
        "0.4",
    ),
)

ROWS: Final = (
    *REDUCTIONS,
    *SELECTIONS,
    *SEARCHES,
    *GATHERS,
    *QUANTISATION,
    *COPIES,
)
