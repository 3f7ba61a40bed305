"""Rows of the Tensor Engine: catalogue section (c.4)."""

from __future__ import annotations

from typing import Final

from rules.rows.frames import Row

_FACTORS: Final = "s: bfloat16[96, 40]@psum, m: bfloat16[96, 72]"
_SUMS: Final = "acc = nl.ndarray(({}), dtype=nl.{}, buffer=nl.{})\n"
_OUT: Final = "float32[40, 72]"
_STORE: Final = "\nnisa.tensor_copy(dst=r, src=acc)"


def _product(
    fact: str,
    rule: str,
    more: str = "",
    inputs: str = _FACTORS,
    api: str = "0.5",
    target: str = "trn2",
    *,
    sums: str = "40, 72",
    dtype: str = "float32",
    memory: str = "psum",
    s: str = "s_t",
    m: str = "m_t",
    out: str = _OUT,
    before: str = "",
    store: str = _STORE,
) -> Row:
    body = (
        f"{_SUMS.format(sums, dtype, memory)}{before}"
        f"nisa.nc_matmul(dst=acc, stationary={s}, moving={m}{more}){store}"
    )
    return Row(rule, fact, inputs, out, body, api, target)


_EIGHT: Final = "s: float8_e4m3[96, {}], m: float8_e4m3[96, {}]"
_DOUBLE: Final = ", perf_mode=nisa.matmul_perf_mode.double_row"
_TILED: Final = ", tile_position=({}), tile_size=({})"
_WIDE: Final = "s: bfloat16[96, 40], m: bfloat16[96, {}]"

PRODUCTS: Final = (
    _product(
        "MMU05",
        "matmul-moving-size",
        "",
        _WIDE.format("{{4097||4096}}"),
        target="trn3",
        sums="40, {{4097||4096}}",
        out="float32[40, {{4097||4096}}]",
    ),
    _product(
        "MMU08", "matmul-result-dtype", "", target="trn3", dtype="{{float16||bfloat16}}", api="0.4"
    ),
    _product("H83", "matmul-result-dtype", "{{||}}", dtype="{{bfloat16||float32}}"),
    _product(
        "MMU09",
        "matmul-dtypes",
        "",
        "s: {{int8||bfloat16}}[96, 40], m: {{int8||bfloat16}}[96, 72]",
        api="0.2",
        target="trn1",
    ),
    _product(
        "MMU11",
        "matmul-dtypes",
        "",
        "s: float8_e4m3fn[96, 40], m: {{float8_e4m3||float8_e4m3fn}}[96, 72]",
        target="trn3",
    ),
    _product(
        "T05",
        "matmul-dtypes",
        "",
        "s: {{float8_e4m3||float8_e4m3fn}}[96, 40], m: float8_e4m3fn[96, 72]",
        target="trn3",
        api="0.4",
    ),
    _product(
        "H84",
        "matmul-dtypes",
        "",
        "s: {{float8_e4m3fn||float8_e4m3}}[96, 40], m: {{float8_e4m3fn||float8_e4m3}}[96, 72]",
    ),
    _product(
        "M104",
        "matmul-dtypes",
        "",
        "s: {{float8_e4m3fn||float8_e4m3}}[96, 40], m: {{float8_e4m3fn||float8_e4m3}}[96, 72]",
        target="trn3",
        api="0.3",
    ),
    _product("MMU12", "matmul-tiling", ", tile_position=(0, 0){{||, tile_size=(128, 64)}}"),
    _product(
        "MMU13",
        "matmul-tiling",
        _TILED.format("0, 0", "{{32||64}}, 64"),
        "s: bfloat16[32, 40], m: bfloat16[32, 72]",
        target="trn1",
    ),
    _product(
        "MMU14",
        "matmul-tiling",
        _TILED.format("0, 0", "32, {{16||32}}"),
        "s: bfloat16[32, {{16||32}}], m: bfloat16[32, 72]",
        sums="{{16||32}}, 72",
        out="float32[{{16||32}}, 72]",
    ),
    _product(
        "H71",
        "matmul-tiling",
        _TILED.format("0, 0", "128, {{32||64}}"),
        "s: bfloat16[96, 32], m: bfloat16[96, 72]",
        target="trn1",
        sums="32, 72",
        out="float32[32, 72]",
    ),
    _product("OLD03", "matmul-tiling", _TILED.format("0, {{48||64}}", "128, 64"), api="0.2"),
    _product(
        "MMU18",
        "matmul-double-row",
        "{{" + _DOUBLE + "||}}",
        _EIGHT.format("{{2, 40||40}}", "{{2, 72||72}}"),
        target="trn1",
    ),
    _product(
        "H70",
        "matmul-double-row",
        "{{" + _DOUBLE + "||}}",
        _EIGHT.format("{{2, 40||40}}", "{{2, 72||72}}"),
        target="trn1",
        api="0.3",
    ),
    _product(
        "MMU20",
        "matmul-double-row",
        _DOUBLE,
        _EIGHT.format("{{4, 20||2, 40}}", "{{4, 36||2, 72}}"),
        sums="{{20||40}}, {{36||72}}",
        out="float32[{{20||40}}, {{36||72}}]",
    ),
    _product(
        "MMU21",
        "matmul-double-row",
        _DOUBLE + _TILED.format("0, 0", "128, {{64||128}}"),
        _EIGHT.format("2, 40", "2, 72"),
    ),
    _product(
        "MMU22",
        "uninitialised-read",
        _DOUBLE,
        "x: float8_e4m3[39, 2, 40], y: float8_e4m3[39, 2, 72]",
        s="s",
        m="m",
        before="s = nl.ndarray((39, 2, 40), dtype=nl.float8_e4m3, buffer=nl.sbuf)\n"
        "m = nl.ndarray((39, 2, 72), dtype=nl.float8_e4m3, buffer=nl.sbuf)\n"
        "{{||nisa.memset(dst=s, value=0)}}\n{{||nisa.memset(dst=m, value=0)}}\n"
        "nisa.dma_copy(dst=s[0:38], src=x[0:38])\nnisa.dma_copy(dst=m[0:38], src=y[0:38])\n"
        "nisa.dma_copy(dst=s[38:39, 0:1], src=x[38:39, 0:1])\n"
        "nisa.dma_copy(dst=m[38:39, 0:1], src=y[38:39, 0:1])\n",
    ),
    _product("MMU25", "psum-accumulation", ", accumulate={{True||False}}"),
    _product(
        "MMU26",
        "psum-accumulation",
        ", accumulate={{True||False}}",
        before="nisa.memset(dst=acc, value=0.0)\n",
        api="0.4",
    ),
    _product(
        "MMU28",
        "psum-accumulation",
        ", accumulate=True",
        _FACTORS,
        before="nisa.nc_matmul(dst=acc[:, 0:{{71||72}}], stationary=s_t, "
        "moving=m_t[:, 0:{{71||72}}], accumulate=False)\n",
    ),
    _product(
        "B23",
        "psum-accumulation",
        ", accumulate={{True||False}}",
        before="nisa.memset(dst=acc, value=0.0)\n",
        api="0.6",
    ),
    _product("MMU16", "matmul-tiling", ", tile_position=(0, {{1.5||0}}), tile_size=(128, 64)"),
)

_MX: Final = "s: float8_e4m3fn_x4[{0}, 40], m: {1}[{0}, 72], ss: {2}[{0}, 40], ms: uint8[{0}, 72]"


def _mx(
    fact: str,
    rule: str,
    rows: str = "64",
    *,
    of: str = "float8_e4m3fn_x4",
    target: str = "trn3",
    api: str = "0.5",
    sums: str = "40, 72",
    dtype: str = "float32",
    memory: str = "psum",
    m: str = "m_t",
    ms: str = "ms_t",
    more: str = "",
    before: str = "",
    guard: str = "",
    out: str = _OUT,
    scale: str = "uint8",
) -> Row:
    body = (
        f"{_SUMS.format(sums, dtype, memory)}{before}{guard}"
        f"nisa.nc_matmul_mx(dst=acc, stationary=s_t, moving={m}, stationary_scale=ss_t, "
        f"moving_scale={ms}{more}){_STORE}"
    )
    return Row(rule, fact, _MX.format(rows, of, scale), out, body, api, target)


MX: Final = (
    _mx("MMX02", "matmul-operand-buffers", memory="{{sbuf||psum}}"),
    _mx("BUF02", "matmul-operand-buffers", m="{{m||m_t}}", api="0.6"),
    _mx("MMX03", "mx-matmul-dtypes", of="{{float8_e4m3fn||float4_e2m1fn_x4}}", api="0.4"),
    _mx("M116", "mx-matmul-dtypes", api="0.4", scale="{{float8_e8m0fnu||uint8}}"),
    _mx("MMX05", "mx-matmul-dtypes", dtype="{{float16||bfloat16}}"),
    _mx("MMX06", "mx-matmul-shape", "{{48||64}}"),
    _mx("P15", "mx-matmul-shape", "{{80||96}}", api="0.4"),
    _mx("MMX09", "matmul-result-shape", sums="40, {{73||72}}", out="float32[40, {{73||72}}]"),
    _mx("MMX13", "matmul-tiling", more=", tile_position=(0, 0), tile_size=({{48||64}}, 128)"),
    _mx("MMX14", "psum-accumulation", more=", accumulate={{True||False}}", api="0.4"),
)

TRANSPOSES: Final = (
    Row(
        "transpose-buffers",
        "TRN05",
        "x: float32[32, 32]",
        "float32[32, 32]",
        "nisa.nc_transpose(dst=r, data={{x||x_t}}, engine=nisa.engine.vector)",
        "0.4",
    ),
    Row(
        "transpose-buffers",
        "BUF04",
        "x: float32[32, 32]",
        "float32[32, 32]",
        "nisa.nc_transpose(dst=r, data={{x||x_t}}, engine=nisa.engine.vector)",
        "0.6",
        "trn3",
    ),
    Row(
        "transpose-size",
        "TRN07",
        "x: float32[{{64||32}}, 32]",
        "float32[32, {{64||32}}]",
        "nisa.nc_transpose(dst=r, data=x_t, engine=nisa.engine.vector)",
        "0.5",
    ),
    Row(
        "engine-choice",
        "N21",
        "x: float32[32, 32]",
        "float32[32, 32]",
        "nisa.nc_transpose(dst=r, data=x_t, engine=nisa.engine.{{scalar||vector}})",
        "0.5",
        "trn1",
    ),
)

ROWS: Final = (*PRODUCTS, *MX, *TRANSPOSES)
