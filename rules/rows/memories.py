"""The matrix of operand memories, catalogue section (c.13): an operand stays in HBM."""

from __future__ import annotations

from typing import Final

from rules.rows.frames import COPIED, INPUT, Row

_ONE: Final = "sums = nl.ndarray((96, 1), dtype=nl.float32, buffer=nl.sbuf)\n"
#: the operand ``a`` as it comes, in HBM, or loaded
_IN: Final = "{{a||a_t}}"


def _row(
    fact: str,
    call: str,
    inputs: str = INPUT,
    api: str = "0.5",
    target: str = "trn2",
    rule: str = "operand-buffers",
) -> Row:
    return Row(rule, fact, inputs, "float32[96, 40]", f"{COPIED}{call}", api, target)


def _tile(name: str, shape: str, dtype: str = "float32") -> str:
    return f"{name} = nl.ndarray(({shape}), dtype=nl.{dtype}, buffer=nl.sbuf)\n"


_P: Final = "a: float32[96, 40]@psum"
_RESET: Final = "reduce_cmd=nisa.reduce_cmd.reset_reduce"

ROWS: Final = (
    _row("BUF06", f"nisa.tensor_tensor(dst=r, data1={_IN}, data2=a_t, op=nl.add)", target="trn1"),
    _row(
        "BUF07",
        "nisa.tensor_tensor(dst=r, data1={{a_p||a_t}}, data2=a_t, op=nl.add, "
        "engine=nisa.engine.gpsimd)",
        _P,
    ),
    _row("BUF08", f"nisa.tensor_scalar(dst=r, data={_IN}, op0=nl.add, operand0=2.0)", api="0.4"),
    _row(
        "BUF09",
        f"nisa.scalar_tensor_tensor(dst=r, data={_IN}, op0=nl.multiply, operand0=2.0, "
        "op1=nl.add, operand1=a_t)",
    ),
    _row(
        "BUF10",
        f"nisa.tensor_tensor_scan(dst=r, data0={_IN}, data1=a_t, initial=0.0, "
        "op0=nl.multiply, op1=nl.add)",
        api="0.3",
    ),
    _row("BUF11", f"{_ONE}nisa.tensor_reduce(dst=sums, op=nl.add, data={_IN}, axis=1)"),
    _row(
        "BUF12",
        f"{_ONE}nisa.tensor_scalar_reduce(dst=r, data={_IN}, op0=nl.add, operand0=2.0, "
        "reduce_op=nl.add, reduce_res=sums)",
        api="0.4",
    ),
    _row(
        "BUF13",
        f"nisa.tensor_scalar_cumulative(dst=r, src={_IN}, op0=nl.add, op1=nl.add, "
        f"imm0=1.0, {_RESET})",
    ),
    _row("BUF14", f"nisa.tensor_copy(dst=r, src={_IN})", api="0.2", target="trn1"),
    _row(
        "BUF15",
        "nisa.tensor_copy_predicated(dst=r, src=a_t, predicate={{p||p_t}})",
        f"{INPUT}, p: uint8[96, 40]",
    ),
    _row(
        "BUF16",
        f"nisa.select_reduce(dst=r, predicate=p_t, on_true={_IN}, on_false=0.0)",
        f"{INPUT}, p: uint8[96, 40]",
        "0.4",
    ),
    _row(
        "BUF17",
        f"{_ONE}nisa.range_select(dst=r, on_true_tile={_IN}, comp_op0=nl.less, "
        "comp_op1=nl.greater, bound0=v_t, bound1=v_t, reduce_res=sums, reduce_op=nl.maximum, "
        f"{_RESET})",
        f"{INPUT}, v: float32[96, 1]",
    ),
    _row("BUF18", f"nisa.exponential(dst=r, src={_IN}, max_value=1.0)", target="trn3"),
    _row("BUF19", f"nisa.reciprocal(dst=r, data={_IN})", api="0.2", target="trn1"),
    _row(
        "BUF20",
        _tile("x4", "96, 10", "float8_e4m3fn_x4")
        + _tile("e", "96, 10", "uint8")
        + "nisa.quantize_mx(dst=x4, src={{q||q_t}}, dst_scale=e)",
        f"{INPUT}, q: bfloat16[96, 40]",
        target="trn3",
    ),
    _row("BUF21", f"nisa.dropout(dst=r, data={_IN}, prob=0.5)"),
    _row("BUF22", _tile("top", "96, 8") + f"nisa.max8(dst=top, src={_IN})", api="0.4"),
    _row("BUF23", f"nisa.nc_match_replace8(dst=r, data={_IN}, vals=a_t[:, 0:8], imm=0.0)"),
    _row("BUF24", f"nisa.nc_stream_shuffle(dst=r, src={_IN}, shuffle_mask=list(range(32)))"),
    _row("BUF25", "nisa.memset(dst={{a||a_t}}, value=1.0)", api="0.6"),
    _row(
        "BUF26",
        "nisa.affine_select(dst=r, pattern=[[1, 40]], offset=0, channel_multiplier=-1, "
        "on_true_tile={{a_p||a_t}}, on_false_value=0.0, cmp_op=nl.less)",
        _P,
    ),
    _row(
        "BUF27",
        "nisa.nc_n_gather(dst=r, data={{a||a_t}}, indices=i_t)",
        f"{INPUT}, i: uint32[96, 40]",
    ),
    _row(
        "BUF28",
        "nisa.local_gather(dst=r[:, 0:32], src_buffer={{a||a_t}}, index=i_t)",
        f"{INPUT}, i: uint16[96, 2]",
        "0.4",
    ),
    _row(
        "BUF29",
        _tile("s", "1, 40") + "nisa.tensor_partition_reduce(dst=s, op=nl.add, data={{a_p||a_t}})",
        _P,
    ),
    _row(
        "BUF30",
        _tile("n", "16, 41", "int32") + "nisa.nonzero_with_count(dst=n, src={{i_p||i_t}})",
        f"{INPUT}, i: int32[16, 40]@psum",
    ),
    _row("BUF31", "nisa.rng(dst={{b||b_t}})", f"{INPUT}, b: uint32[96, 40]"),
    _row(
        "BUF32",
        "nisa.rand2(dst=r, min={{v||v_t}}, max=9.0)",
        f"{INPUT}, v: float32[96, 1]",
        target="trn3",
    ),
    _row(
        "BUF33",
        _tile("seeds", "96, 6", "uint32") + "nisa.memset(dst=seeds, value=7)\n"
        "nisa.rand_set_state(src_seeds={{b||seeds}})",
        f"{INPUT}, b: uint32[96, 6]",
        rule="random-state",
    ),
    _row("BUF34", "nisa.set_rng_seed(src_seeds={{b||b_t}})", f"{INPUT}, b: uint32[1, 1]"),
    _row(
        "BUF38",
        "got = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.sbuf)\n"
        "nisa.sendrecv(src={{a_p||a_t}}, dst=got, send_to_rank=1, recv_from_rank=1, pipe_id=0)",
        _P,
        rule="sendrecv",
    ),
    _row(
        "BUF39",
        "held = nisa.register_alloc(0)\nnisa.register_load(held, {{i_p||i_t}})",
        f"{INPUT}, i: int32[1, 1]@psum",
        rule="register-operand",
    ),
)
