"""Rows of activations and of elementwise instructions: catalogue sections (c.5), (c.6)."""

from __future__ import annotations

from typing import Final

from rules.rows.frames import COPIED, INPUT, RESULT, Row

_AB: Final = "a: float32[96, 40]@psum, b: float32[96, 40]@psum"
_V: Final = "a: float32[96, 40]@psum, v: float32[96, 2]"
_SUM: Final = "sums = nl.ndarray((96, {{2||1}}), dtype=nl.float32, buffer=nl.sbuf)\n"
_ONE: Final = "sums = nl.ndarray((96, 1), dtype=nl.float32, buffer=nl.sbuf)\n"
_SHORT: Final = "dst=r[:, 0:{{39||40}}]"
_RESET: Final = "reduce_cmd=nisa.reduce_cmd.reset_reduce"
_GUARD: Final = "if {{{{True||nisa.get_nc_version() >= nisa.nc_version.{}}}}}:\n    "


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


def _act(more: str = "", dst: str = "dst=r", op: str = "exp") -> str:
    return f"nisa.activation({dst}, op=nl.{op}, data=a_t{more})"


def _two(
    more: str = "",
    ops: str = "op0=nl.multiply, op1=nl.add",
    imms: str = "imm0=2.0, imm1=1.0",
    op: str = "exp",
    dst: str = "dst=r",
) -> str:
    return f"nisa.activate2({dst}, op=nl.{op}, data=a_t, {imms}, {ops}{more})"


def _both(more: str, dst: str = "dst=r", one: str = "a_t", two: str = "b_t") -> str:
    return f"nisa.tensor_tensor({dst}, data1={one}, data2={two}, {more})"


def _scaled(more: str, dst: str = "dst=r", of: str = "a_t") -> str:
    return f"nisa.tensor_scalar({dst}, data={of}, {more})"


_FUSED: Final = (
    "nisa.scalar_tensor_tensor({}, data={}, op0=nl.{}, operand0={}, op1=nl.add, operand1={})"
)
_SCAN: Final = "nisa.tensor_tensor_scan({}, data0={}, data1={}, initial={}, op0=nl.{}, op1=nl.add)"

ACTIVATIONS: Final = (
    _row("free-size-mismatch", "ACT02", COPIED + _act(dst=_SHORT), target="trn1"),
    _row("operator-kind", "ACT03", _act(op="{{ceil||gelu}}"), api="0.4"),
    _row("target-feature", "ACT05", _act(", bias={{0.5||v_t[:, 0:1]}}"), _V, "0.3", "trn1"),
    _row("vector-operand-shape", "ACT08", _act(", bias=v_t[:, 0:{{2||1}}]"), _V, "0.4"),
    _row(
        "target-feature",
        "ACT09",
        _act("{{, bias=v_t[:, 0:1]||}}", op="reciprocal"),
        _V,
        "0.4",
        "trn1",
    ),
    _row(
        "operator-kind",
        "ACT10",
        _ONE + _act(", reduce_op=nl.{{maximum||add}}, reduce_res=sums, " + _RESET),
    ),
    _row(
        "vector-operand-shape",
        "ACT11",
        _SUM + _act(", reduce_op=nl.add, reduce_res=sums, " + _RESET),
        api="0.4",
    ),
    _row(
        "reduce-command",
        "ACT12",
        _ONE
        + _act(
            ", reduce_op=nl.add, reduce_res=sums, "
            "reduce_cmd=nisa.reduce_cmd.{{load_reduce||reset_reduce}}"
        ),
        api="0.5",
    ),
    _row(
        "reduce-command",
        "AC09",
        _ONE
        + "nisa.memset(dst=sums, value=0.0)\n"
        + "nisa.tensor_scalar_cumulative(dst=r, src=a_t, op0=nl.add, op1=nl.add, imm0=1.0, "
        "reduce_cmd=nisa.reduce_cmd.{{reset||reset_reduce}})",
        api="0.5",
    ),
    _row(
        "free-size-mismatch",
        "ACR01",
        COPIED
        + _ONE
        + "nisa.activation_reduce("
        + _SHORT
        + ", op=nl.exp, data=a_t, reduce_op=nl.add, reduce_res=sums)",
        target="trn1",
    ),
    _row(
        "operator-kind",
        "ACR02",
        _ONE + "nisa.activation_reduce(dst=r, op=nl.exp, data=a_t, "
        "reduce_op=nl.{{maximum||add}}, reduce_res=sums)",
        target="trn1",
        api="0.3",
    ),
    _row(
        "vector-operand-shape",
        "ACR03",
        _SUM + "nisa.activation_reduce(dst=r, op=nl.exp, "
        "data=a_t, reduce_op=nl.add, reduce_res=sums)",
    ),
    _row("target-feature", "ATW01", COPIED + _GUARD.format("gen4") + _two(), api="0.4"),
    _row(
        "operator-arguments",
        "ATW02",
        _two(ops="op0=nl.{{add||multiply}}, op1=nl.add"),
        target="trn3",
    ),
    _row("free-size-mismatch", "ATW03", COPIED + _two(dst=_SHORT), target="trn3"),
    _row(
        "vector-operand-shape",
        "ATW04",
        _two(imms="imm0=v_t[:, 0:{{2||1}}], imm1=1.0"),
        _V,
        "0.4",
        "trn3",
    ),
    _row(
        "operand-dtype",
        "ATW04",
        _two(imms="imm0=v_t, imm1=w_t"),
        "a: float32[96, 40], v: float32[96, 1], w: {{bfloat16||float32}}[96, 1]",
        "0.5",
        "trn3",
    ),
    _row(
        "operator-arguments",
        "ATW05",
        _two(ops="op0=nl.multiply, op1=nl.{{bypass||add}}, reverse1=True"),
        target="trn3",
    ),
    _row(
        "vector-operand-shape",
        "ATW06",
        _SUM + _two(f", reduce_op=nl.abs_max, reduce_res=sums, {_RESET}"),
        target="trn3",
    ),
    _row(
        "operator-kind",
        "ATW06",
        _ONE + _two(f", reduce_op=nl.{{{{multiply||minimum}}}}, reduce_res=sums, {_RESET}"),
        target="trn3",
        api="0.6",
    ),
    _row(
        "reduce-command",
        "ATW07",
        _ONE
        + _two(
            ", reduce_op=nl.add, reduce_res=sums, "
            "reduce_cmd=nisa.reduce_cmd.{{load_reduce||reset_reduce}}"
        ),
        target="trn3",
    ),
    _row(
        "operator-arguments", "ATW08", _two(", relu_param=0.1", op="{{exp||prelu}}"), target="trn3"
    ),
    _row("operator-kind", "ATW09", _two(op="{{cos||sin}}"), target="trn3", api="0.4"),
)

ELEMENTWISE: Final = (
    _row(
        "free-size-mismatch", "TTN01", COPIED + _both("op=nl.add", two="b_t[:, 0:{{39||40}}]"), _AB
    ),
    _row(
        "two-psum-inputs",
        "TTN02",
        _both("op=nl.add", one="{{a_p||a_t}}", two="b_p"),
        _AB,
        "0.2",
        "trn1",
    ),
    _row("operator-kind", "TTN03", _both("op=nl.{{rsqrt||power}}"), _AB, "0.4"),
    _row("operator-kind", "TTN03", _both("op=nl.{{divide||subtract}}"), _AB, "0.3"),
    _row("operator-kind", "TTN03", _both("op=nl.{{bypass||maximum}}"), _AB, "0.6"),
    _row("operator-kind", "TTN03", _both("op=nl.{{sum||add}}"), _AB, "0.5"),
    _row("operator-kind", "TTN03", _both("op=nl.{{all||logical_and}}"), _AB, "0.3"),
    _row("operator-kind", "TTN03", _both("op=nl.{{max||maximum}}"), _AB, "0.6"),
    _row(
        "engine-choice", "TTN04", _both("op=nl.power, engine=nisa.engine.{{vector||gpsimd}}"), _AB
    ),
    _row(
        "bitwise-dtype",
        "TTN05",
        _both("op=nl.bitwise_xor"),
        "a: {{float32||int32}}[96, 40], b: {{float32||int32}}[96, 40]",
        "0.4",
        "trn2",
        "{{float32||int32}}[96, 40]",
    ),
    _row(
        "operand-buffers",
        "TTN07",
        _both("op=nl.add, engine=nisa.engine.{{gpsimd||vector}}", one="a_p"),
        _AB,
        "0.3",
    ),
    _row(
        "engine-choice",
        "TTN08",
        _both("op=nl.add, engine=nisa.engine.{{scalar||vector}}"),
        _AB,
        "0.6",
        "trn3",
    ),
    _row("free-size-mismatch", "TTN09", _both("op=nl.add", two="{{v_t[:, 0:1]||a_t}}"), _V),
    _row(
        "operator-kind",
        "TSC04",
        _scaled("op0=nl.bitwise_and, operand0=3, op1=nl.{{add||bitwise_or}}, operand1=1"),
        "a: int32[96, 40]",
        "0.4",
        "trn2",
        "int32[96, 40]",
    ),
    _row(
        "engine-choice",
        "TSC08",
        _scaled("op0=nl.{{add||rsqrt}}, operand0={{2.0||0}}, engine=nisa.engine.gpsimd"),
        api="0.5",
    ),
    _row("operator-arguments", "TSC09", _scaled("op0=nl.abs, operand0={{2.0||0.0}}"), api="0.4"),
    _row(
        "target-feature",
        "TSC10",
        COPIED + _GUARD.format("gen4") + _scaled("op0=nl.relu, operand0=0.0"),
        api="0.4",
    ),
    _row(
        "operator-arguments",
        "TSC11",
        _scaled("op0=nl.subtract, operand0=2.0, {{reverse1||reverse0}}=True"),
        api="0.2",
        target="trn1",
    ),
    _row(
        "operand-buffers",
        "TSC12",
        _scaled("op0=nl.rsqrt, operand0=0.0, engine=nisa.engine.gpsimd", of="{{a_p||a_t}}"),
        _AB,
        "0.5",
    ),
    _row(
        "free-size-mismatch",
        "STT01",
        COPIED + _FUSED.format(_SHORT, "a_t", "multiply", "2.0", "b_t"),
        _AB,
        "0.4",
    ),
    _row(
        "vector-operand-shape",
        "STT02",
        _FUSED.format("dst=r", "a_t", "multiply", "v_t[:, 0:{{2||1}}]", "a_t"),
        _V,
        "0.4",
    ),
    _row(
        "two-psum-inputs",
        "STT03",
        _FUSED.format("dst=r", "a_p", "multiply", "2.0", "{{b_p||b_t}}"),
        _AB,
    ),
    _row(
        "operator-kind",
        "STT04",
        _FUSED.format("dst=r", "a_t", "{{left_shift||multiply}}", "2", "b_t"),
        _AB,
        "0.5",
        "trn3",
    ),
    _row(
        "operator-kind",
        "STT04",
        _FUSED.format("dst=r", "a_t", "multiply", "2.0", "b_t").replace(
            "op1=nl.add", "op1=nl.{{rsqrt||minimum}}"
        ),
        _AB,
        "0.6",
    ),
    _row(
        "operator-arguments",
        "TSC09",
        _FUSED.format("dst=r", "a_t", "abs", "{{2.0||0.0}}", "b_t"),
        _AB,
        "0.5",
    ),
    _row(
        "free-size-mismatch",
        "SCN01",
        COPIED + _SCAN.format(_SHORT, "a_t", "b_t", "0.0", "multiply"),
        _AB,
        "0.4",
        "trn1",
    ),
    _row(
        "two-psum-inputs",
        "SCN02",
        _SCAN.format("dst=r", "a_p", "{{b_p||b_t}}", "0.0", "multiply"),
        _AB,
    ),
    _row(
        "vector-operand-shape",
        "SCN03",
        _SCAN.format("dst=r", "a_t", "a_t", "v_t[:, 0:{{2||1}}]", "multiply"),
        _V,
    ),
    _row(
        "operator-kind",
        "SCN04",
        _SCAN.format("dst=r", "a_t", "b_t", "0.0", "{{bitwise_or||maximum}}"),
        _AB,
        "0.6",
    ),
    _row(
        "engine-choice",
        "CPY04",
        COPIED.replace("src=a_t", "src=a_t, engine=nisa.engine.{{scalar||vector}}"),
        target="trn1",
        api="0.4",
    ),
    _row(
        "engine-choice",
        "H80",
        COPIED.replace("src=a_t", "src=a_t, engine=nisa.engine.{{scalar||vector}}"),
        target="trn1",
    ),
    _row(
        "engine-choice",
        "N29",
        COPIED.replace("src=a_t", "src=a_t, engine=nisa.engine.{{tensor||gpsimd}}"),
        target="trn3",
    ),
    _row(
        "engine-choice",
        "N28",
        _scaled("op0=nl.add, operand0=2.0, engine=nisa.engine.{{sync||scalar}}"),
        target="trn3",
    ),
)

ROWS: Final = (*ACTIVATIONS, *ELEMENTWISE)
