"""Rows of single instructions that no other file has, each at its limit: sections (b) and (c)."""

from __future__ import annotations

from typing import Final

from rules.rows.frames import COPIED, INPUT, RESULT, Row, beside, made

# ---------------------------------------------------------------------------- Tensor Engine

_STORED: Final = "\nnisa.tensor_copy(dst=r, src=acc)"
_FACTORS: Final = "s: bfloat16[96, 40], m: bfloat16[96, 72]"


def _product(
    fact: str,
    rule: str,
    inputs: str = _FACTORS,
    more: str = "",
    api: str = "0.5",
    target: str = "trn2",
    *,
    sums: str = "40, 72",
    memory: str = "psum",
    dtype: str = "float32",
    s: str = "s_t",
    m: str = "m_t",
    stored: str = _STORED,
) -> Row:
    body = (
        made("acc", sums, dtype, memory)
        + f"nisa.nc_matmul(dst=acc, stationary={s}, moving={m}{more}){stored}"
    )
    return Row(rule, fact, inputs, f"float32[{sums}]", body, api, target)


_TURNED: Final = "nisa.nc_transpose(dst=acc, data={}{})"


def _turned(
    fact: str,
    rule: str,
    source: str = "float32[96, 40]",
    sums: str = "40, 96",
    data: str = "x_t",
    *,
    dtype: str = "float32",
    memory: str = "psum",
    more: str = "",
    api: str = "0.5",
    target: str = "trn2",
) -> Row:
    """A transposition beside the copy that is stored."""
    body = made("acc", sums, dtype, memory) + _TURNED.format(data, more)
    inputs = f"a: float32[96, 40], x: {source}"
    return beside(rule, fact, body, inputs, api, target)


_ROWS_OF_TWO: Final = ", perf_mode=nisa.matmul_perf_mode.double_row"
_GROUPS: Final = ", tile_position=(0, {}), tile_size=(128, 64)"
_MX: Final = (
    "nisa.nc_matmul_mx(dst=acc, stationary=s_t, moving=m_t, stationary_scale=ss_t, "
    "moving_scale=ms_t)"
)


def _mx(fact: str, rule: str, columns: str, scales: str, api: str) -> Row:
    return Row(
        rule,
        fact,
        f"s: float8_e4m3fn_x4[64, {columns}], m: float8_e4m3fn_x4[64, 72], "
        f"ss: {scales}[64, {columns}], ms: {scales}[64, 72]",
        f"float32[{columns}, 72]",
        made("acc", f"{columns}, 72", memory="psum") + _MX + _STORED,
        api,
        "trn3",
    )


TENSOR: Final = (
    _product("MMU01", "matmul-operand-buffers", m="{{m||m_t}}", target="trn1"),
    _product("MMU01", "matmul-operand-buffers", memory="{{sbuf||psum}}", api="0.3"),
    _product("BUF01", "matmul-operand-buffers", s="{{s||s_t}}", target="trn3", api="0.6"),
    _product("MMU02", "matmul-contraction", m="m_t[0:{{64||96}}]"),
    _product(
        "MMU03",
        "matmul-stationary-size",
        "s: bfloat16[96, {{129||128}}], m: bfloat16[96, 72]",
        sums="128, 72",
    )._replace(
        body="acc = nl.ndarray((128, 72), dtype=nl.float32, buffer=nl.psum)\n"
        f"nisa.nc_matmul(dst=acc, stationary=s_t, moving=m_t){_STORED}"
    ),
    _product(
        "MMU03",
        "matmul-stationary-size",
        "s: bfloat16[96, 40], m: bfloat16[96, 72]",
        _GROUPS.format("0").replace("64", "{{32||64}}"),
        api="0.4",
    ),
    _product(
        "MMU04",
        "matmul-moving-size",
        "s: bfloat16[96, 40], m: bfloat16[96, {{513||512}}]",
        sums="40, {{513||512}}",
    ),
    _product(
        "MMU04",
        "matmul-moving-size",
        "s: bfloat16[96, 40], m: bfloat16[96, {{513||512}}]",
        sums="40, {{513||512}}",
        target="trn1",
        api="0.2",
    ),
    _product("MMU06", "matmul-result-shape", s="s_t[:, 0:{{32||40}}]", target="trn1"),
    _product("MMU30", "matmul-result-shape", m="m_t[:, 0:{{71||72}}]", api="0.6"),
    _product("MMU07", "matmul-result-dtype", dtype="{{float16||float32}}", api="0.4"),
    _product(
        "MMU10", "matmul-dtypes", "s: {{float32||bfloat16}}[96, 40], m: bfloat16[96, 72]", api="0.3"
    ),
    _product(
        "T06", "matmul-dtypes", "s: float32[96, 40], m: {{float16||float32}}[96, 72]", target="trn1"
    ),
    _product("MMU15", "matmul-tiling", more=_GROUPS.format("{{96||64}}")),
    _product("MMU15", "matmul-tiling", more=_GROUPS.format("{{128||64}}"), target="trn3"),
    _product(
        "MMU19",
        "matmul-double-row",
        "s: {{bfloat16||float8_e4m3}}[96, 2, 40], m: {{bfloat16||float8_e5m2}}[96, 2, 72]",
        _ROWS_OF_TWO,
    ),
    _mx("MMX04", "mx-matmul-dtypes", "40", "{{int16||uint8}}", "0.4"),
    _mx("MMX04", "mx-matmul-dtypes", "40", "{{int8||float8_e8m0fnu}}", "0.5"),
    _mx("MMX07", "mx-matmul-shape", "{{41||40}}", "uint8", "0.5"),
    _mx("MMX07", "mx-matmul-shape", "{{130||128}}", "uint8", "0.6")._replace(
        result="float32[128, 72]",
        body=made("acc", "128, 72", memory="psum") + _MX + _STORED,
    ),
    _turned("TRN01", "transpose-shape", sums="40, {{95||96}}"),
    _turned("TRN01", "transpose-shape", "float32[96, 5, 8]", "{{8||40}}, 96", target="trn1"),
    _turned(
        "TRN03",
        "transpose-size",
        "float32[32, {{33||32}}]",
        "{{33||32}}, 32",
        memory="sbuf",
        more=", engine=nisa.engine.vector",
    ),
    _turned(
        "TRN04",
        "transpose-buffers",
        memory="{{sbuf||psum}}",
        more=", engine=nisa.engine.tensor",
        api="0.4",
    ),
    _turned(
        "TRN04",
        "transpose-buffers",
        data="{{x||x_t}}",
        more=", engine=nisa.engine.tensor",
        target="trn3",
    ),
    _turned(
        "BUF03",
        "transpose-buffers",
        data="{{x||x_t}}",
        more=", engine=nisa.engine.tensor",
        target="trn1",
        api="0.2",
    ),
    _turned("TRN06", "transpose-dtype", "bfloat16[96, 40]", dtype="{{float32||bfloat16}}"),
    Row(
        "transpose-dtype",
        "TRN06",
        "x: bfloat16[32, 32]",
        "bfloat16[32, 32]",
        made("t", "32, 32", "{{float16||bfloat16}}")
        + "nisa.nc_transpose(dst=t, data=x_t, engine=nisa.engine.vector)\n"
        "nisa.tensor_copy(dst=r, src=t)",
        "0.3",
        "trn1",
    ),
)

# ---------------------------------------------------------------------------- elementwise

_V: Final = "a: float32[96, 40], v: float32[96, 2]"
_I: Final = "a: float32[96, 40], i: int32[96, 40], k: int32[96, 40]"
_SCALAR: Final = "nisa.tensor_scalar(dst=r, data={}, op0=nl.{}, operand0={}{})"


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


_ONE: Final = made("sums", "96, 1")
_EIGHTHS: Final = "a: float32[96, 40], b: float32[96, 5, 8]"

ELEMENTWISE: Final = (
    _row(
        "two-psum-inputs",
        "N08",
        "nisa.tensor_tensor(dst=r, data1=a_p, data2={{b_p||b_t}}, op=nl.add)",
        "a: float32[96, 40]@psum, b: float32[96, 40]@psum",
        target="trn1",
    ),
    _row(
        "two-psum-inputs",
        "N08",
        "nisa.tensor_copy(dst=r, src=nl.maximum(a_p, {{b_p||b_t}}))",
        "a: float32[96, 40]@psum, b: float32[96, 40]@psum",
        api="0.3",
    ),
    _row(
        "two-psum-inputs",
        "N08",
        "nisa.tensor_tensor_scan(dst=r, data0=a_p, data1={{b_p||b_t}}, initial=0.0, "
        "op0=nl.multiply, op1=nl.add)",
        "a: float32[96, 40]@psum, b: float32[96, 40]@psum",
        api="0.4",
    ),
    _row(
        "partition-extent",
        "N10",
        made("wide", "{{129||128}}, 40") + "nisa.memset(dst=wide, value=1.5)\n" + COPIED,
        target="trn3",
        api="0.6",
    ),
    _row(
        "vector-operand-shape",
        "N11",
        _SCALAR.format("a_t", "add", "v_t[{{0:64||0:96}}, 0:1]", ""),
        _V,
        api="0.3",
    ),
    _row(
        "operand-buffers",
        "BUF05",
        "nisa.activation(dst=r, op=nl.tanh, data={{a||a_t}})",
        target="trn3",
        api="0.6",
    ),
    _row(
        "operand-buffers",
        "BUF26",
        made("t", "96, 40", "int32", "{{hbm||sbuf}}")
        + "nisa.iota(dst=t, pattern=[[1, 40]], offset=0, channel_multiplier=40)\n"
        + COPIED,
    ),
    _row(
        "free-size-mismatch",
        "TSC01",
        _SCALAR.format("a_t[:, 0:{{39||40}}]", "add", "2.0", ""),
        target="trn1",
    ),
    _row(
        "vector-operand-shape",
        "TSC02",
        _SCALAR.format("a_t", "multiply", "v_t[:, 0:{{2||1}}]", ""),
        _V,
    ),
    _row("api-signature", "N09", _SCALAR.format("a_t", "add", "{{(2.0,)||2.0}}", "")),
    _row(
        "api-signature",
        "N09",
        "nisa.activation(dst=r, op=nl.exp, data=a_t, scale={{None||1.0}})",
    ),
    _row(
        "api-signature",
        "N09",
        "k = nisa.register_alloc(2)\n" + _SCALAR.format("a_t", "add", "{{k||2.0}}", ""),
    ),
    _row(
        "operator-arguments",
        "TSC03",
        _SCALAR.format("a_t", "add", "2.0", ", op1=nl.multiply{{||, operand1=3.0}}"),
        api="0.4",
    ),
    _row(
        "operator-arguments",
        "TSC03",
        _SCALAR.format("a_t", "add", "2.0", ", {{||op1=nl.multiply, }}operand1=3.0"),
        target="trn3",
    ),
    _row(
        "bitwise-dtype",
        "TSC05",
        _SCALAR.format("{{a_t||i_t}}", "bitwise_or", "2", "").replace("dst=r", "dst=k_t")
        + f"\n{COPIED}",
        _I,
    ),
    _row(
        "engine-choice",
        "TSC05",
        _SCALAR.format("i_t", "bitwise_or", "2", ", engine=nisa.engine.{{gpsimd||vector}}").replace(
            "dst=r", "dst=k_t"
        )
        + f"\n{COPIED}",
        _I,
    ),
    _row(
        "scalar-operand-dtype",
        "TSC06",
        _SCALAR.format("a_t", "add", "v_t", ""),
        "a: float32[96, 40], v: {{bfloat16||float32}}[96, 1]",
    ),
    _row(
        "engine-choice",
        "TSC07",
        _SCALAR.format("a_t", "{{subtract||add}}", "2.0", ", engine=nisa.engine.scalar"),
    ),
    Row(
        "operand-rank",
        "STT05",
        "b: float32[96, 5, 8]",
        "float32[96, 5, 8]",
        "u = nisa.scalar_tensor_tensor(data=b_t{{||[:, 0]}}, op0=np.multiply, operand0=2.0, "
        "op1=np.add, operand1=b_t{{||[:, 0]}})\nnl.store(out, b_t)",
        "beta1",
        "trn1",
    ),
    _row(
        "operand-dtype",
        "CPP02",
        f"{COPIED}nisa.tensor_copy_predicated(dst=r, src=a_t, predicate=p_t)",
        "a: float32[96, 40], p: {{int8||uint8}}[96, 40]",
    ),
    _row(
        "memset-value",
        "MST02",
        f"nisa.memset(dst=k_t, value={{{{1.5||1}}}})\n{COPIED}",
        _I,
        api="0.3",
    ),
)

# ---------------------------------------------------------------------------- reductions

_SUM_OF: Final = "nisa.tensor_reduce(dst={}, op=nl.{}, data={}, axis={})\n"

REDUCTIONS: Final = (
    _row(
        "reduce-axes",
        "RED01",
        made("some", "96, 5") + _SUM_OF.format("some", "add", "b_t", "{{1||2}}") + COPIED,
        _EIGHTHS,
        api="0.3",
    ),
    _row(
        "reduce-axes",
        "RED01",
        _ONE + _SUM_OF.format("sums", "maximum", "a_t", "{{(0, 1)||(1,)}}") + COPIED,
        api="0.5",
    ),
    _row(
        "reduce-result-shape",
        "RED03",
        made("some", "96, {{4||5}}") + _SUM_OF.format("some", "add", "b_t", "2") + COPIED,
        _EIGHTHS,
        api="0.4",
    ),
    _row(
        "operator-kind",
        "RED04",
        _ONE + _SUM_OF.format("sums", "{{divide||multiply}}", "a_t", "1") + COPIED,
        api="0.5",
    ),
    _row(
        "operator-kind",
        "T09",
        _ONE + _SUM_OF.format("sums", "{{abs_max||maximum}}", "a_t", "1") + COPIED,
        api="0.6",
        target="trn3",
    ),
    _row(
        "operator-kind",
        "T09",
        _ONE + _SUM_OF.format("sums", "{{mean||max}}", "a_t", "1") + COPIED,
        api="0.3",
    ),
    Row(
        "loop-carried-dependence",
        "LP02",
        "a: float32[96, 40]",
        RESULT,
        """\
        #bare
        t = nl.load(a)
        b = nl.load(a)
        last = nl.zeros((96, 1), dtype=nl.float32, buffer=nl.sbuf)
        for k in nl.{{affine||sequential}}_range(4):
            part = nisa.tensor_tensor_scan(
                t[:, nl.ds(k * 10, 10)], b[:, nl.ds(k * 10, 10)], last,
                op0=np.multiply, op1=np.add)
            nl.store(out[:, nl.ds(k * 10, 10)], part)
            last[...] = nisa.tensor_copy(part[:, 9:10])
        """,
        "beta1",
        "trn1",
    ),
    _row(
        "bn-shape",
        "BNS01",
        made("found", "96, 6") + "nisa.bn_stats(dst=found, data=b_t)\n" + COPIED,
        "a: float32[96, 40], b: float32[96, {{513||512}}]",
    ),
    _row(
        "bn-shape",
        "BNS01",
        made("found", "96, 6") + "nisa.bn_stats(dst=found, data=b_t)\n" + COPIED,
        "a: float32[96, 40], b: bfloat16[96, {{513||512}}]",
        api="0.4",
        target="trn1",
    ),
    _row(
        "max8-shape",
        "TOP01",
        made("top", "96, 8") + "nisa.max8(dst=top, src=a_t[:, 0:{{7||8}}])\n" + COPIED,
    ),
    _row(
        "max8-shape",
        "TOP01",
        made("top", "96, 8", "bfloat16") + "nisa.max8(dst=top, src=b_t)\n" + COPIED,
        "a: float32[96, 40], b: bfloat16[96, {{16385||16384}}]",
        target="trn3",
    ),
    _row(
        "max8-shape",
        "TOP01",
        made("top", "96, 8")
        + "nisa.max8(dst=top, src=b_t.reshape((96, {{2, 5, 8||10, 8}})))\n"
        + COPIED,
        "a: float32[96, 40], b: float32[96, 80]",
        api="0.4",
    ),
    _row(
        "range-select",
        "RSL06",
        _ONE + "nisa.range_select(dst=r, on_true_tile=a_t, comp_op0=nl.less, comp_op1=nl.greater, "
        "bound0=v_t[:, 0:1], bound1=v_t[:, 1:2], reduce_res=sums, reduce_op=nl.maximum, "
        "reduce_cmd=nisa.reduce_cmd.reset_reduce, "
        "on_false_value={{-3.40282e38||-3.4028234663852886e+38}})",
        _V,
    ),
    _row(
        "shuffle-mask",
        "SHF02",
        "nisa.nc_stream_shuffle(dst=r, src=a_t, shuffle_mask=list(range({{31||32}})))",
    ),
    _row(
        "shuffle-mask",
        "SHF02",
        f"{COPIED}nisa.nc_stream_shuffle(dst=r, src=a_t, "
        "shuffle_mask=[{{32||255}}] + list(range(31)))",
        target="trn1",
        api="0.3",
    ),
)

# ---------------------------------------------------------------------------- quantisation

_X4: Final = made("q", "{}, 10", "float8_e4m3fn_x4") + made("e", "{}, 10", "uint8")

QUANTISED: Final = (
    _row(
        "target-feature",
        "EXP01",
        "if {{True||nisa.get_nc_version() >= nisa.nc_version.gen4}}:\n"
        f"    nisa.exponential(dst=r, src=a_t, max_value=1.0)\n{COPIED}",
        target="trn2",
    ),
    _row(
        "quantize-shape",
        "QMX03",
        _X4.format("{{80||64}}", "{{80||64}}")
        + f"nisa.quantize_mx(dst=q, src=b_t, dst_scale=e)\n{COPIED}",
        "a: float32[96, 40], b: bfloat16[{{80||64}}, 40]",
        target="trn3",
    ),
    _row(
        "quantize-shape",
        "QMX03",
        made("q", "32, 10", "float8_e4m3fn_x4")
        + made("e", "32, 10", "uint8")
        + f"nisa.quantize_mx(dst=q, src=b_t, dst_scale=e)\n{COPIED}",
        "a: float32[96, 40], b: bfloat16[32, {{42||40}}]",
        target="trn3",
        api="0.6",
    ),
    _row(
        "mx-scale-start",
        "QMX06",
        made("q", "32, 10", "float8_e4m3fn_x4")
        + made("e", "32, 10", "uint8")
        + "nisa.quantize_mx(dst=q, src=b_t, dst_scale=e[{{6||12}}:{{10||16}}])\n"
        + COPIED,
        "a: float32[96, 40], b: bfloat16[32, 40]",
        target="trn3",
    ),
)

# ---------------------------------------------------------------------------- GpSimd

GPSIMD: Final = (
    _row(
        "index-pattern",
        "IOT03",
        made("t", "96, 40", "int32")
        + "nisa.iota(dst=t, pattern=[[1, {{39||40}}]], offset=0, channel_multiplier=40)\n"
        + COPIED,
    ),
    _row(
        "gather-shape",
        "LGA02",
        "nisa.local_gather(dst=r[:, 0:{{96||64}}], src_buffer=a_t, index=i_t, "
        f"num_elem_per_idx={{{{3||2}}}})\n{COPIED}",
        "a: float32[96, 96], i: uint16[96, 2]",
        out="float32[96, 96]",
    ),
    _row(
        "gpsimd-result-shape",
        "PRD02",
        made("s", "{{2||1}}, 40")
        + f"nisa.tensor_partition_reduce(dst=s, op=nl.add, data=a_t)\n{COPIED}",
    ),
    _row(
        "random-state",
        "SED01",
        f"nisa.set_rng_seed(src_seeds=b_t)\n{COPIED}",
        "a: float32[96, 40], b: uint32[1, {{2||1}}]",
    ),
    _row(
        "random-state",
        "SED01",
        f"nisa.set_rng_seed(src_seeds=b_t)\n{COPIED}",
        "a: float32[96, 40], b: {{uint16||uint32}}[1, 1]",
        api="0.4",
    ),
)

# ---------------------------------------------------------------------------- DMA

_ADDED: Final = "a: float32[96, 40], b: float32[96, 40]"
_ADD: Final = "nisa.dma_compute(dst=r, srcs=[a, b], reduce_op=nl.{}{})"
_SHIFTED: Final = """\
#bare
y = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.private_hbm)
t = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.sbuf)
nisa.dma_copy(dst=y, src=a)
nisa.dma_copy(dst=y[0:{{49||48}}], src=y[{{47||48}}:96])
nisa.dma_copy(dst=t, src=y)
nisa.dma_copy(dst=out, src=t)
"""


def _by_dma(fact: str, rule: str, source: str, result: str, more: str, api: str) -> Row:
    dtype, _, shape = result.rstrip("]").rpartition("[")
    body = (
        f"#bare\n{made('t', shape, dtype)}nisa.dma_transpose(dst=t, src=x{more})\n"
        "nisa.dma_copy(dst=out, src=t)"
    )
    return Row(rule, fact, f"x: {source}", result, body, api, "trn2")


_HWDGE: Final = ", dge_mode=nisa.dge_mode.hwdge"

TRANSFERS: Final = (
    _row("dma-size", "DCP01", "nisa.dma_copy(dst=r, src=a[:, 0:{{39||40}}])\n" + COPIED, api="0.3"),
    _row(
        "dma-buffers",
        "DCP02",
        "nisa.dma_copy(dst=r, src={{a_p||a_t}})",
        "a: float32[96, 40]@psum",
        api="0.3",
    ),
    _row(
        "dma-buffers",
        "BUF35",
        "nisa.dma_copy(dst=r, src={{a_p||a_t}})",
        "a: float32[96, 40]@psum",
        api="0.6",
        target="trn3",
    ),
    _row(
        "dma-buffers",
        "BUF35",
        made("p", "96, 40", memory="{{psum||sbuf}}")
        + "nisa.dma_compute(dst=p, srcs=[a, b], reduce_op=nl.add)\nnisa.tensor_copy(dst=r, src=p)",
        _ADDED,
    ),
    Row("transfer-overlap", "DCP09", INPUT, RESULT, _SHIFTED, "0.5"),
    _row("operator-kind", "DCM01", _ADD.format("{{sum||add}}", ""), _ADDED, api="0.4"),
    _row("dma-compute", "DCM01", _ADD.format("add", ", scales=[1.0, {{2.0||1.0}}]"), _ADDED),
    _by_dma(
        "DTR02", "dma-transpose-shape", "bfloat16[96, 64]", "bfloat16[64, {{95||96}}]", "", "0.4"
    ),
    _by_dma(
        "DTR05",
        "dma-transpose-size",
        "bfloat16[{{32||16}}, 64]",
        "bfloat16[64, {{32||16}}]",
        _HWDGE,
        "0.6",
    ),
    Row(
        "dma-transpose-buffers",
        "BUF36",
        "x: bfloat16[96, 64]",
        "bfloat16[64, 96]",
        "#bare\nt = nl.ndarray((64, 96), dtype=nl.bfloat16, buffer=nl.{{psum||sbuf}})\n"
        "nisa.dma_transpose(dst=t, src=x)\nnisa.{{tensor||dma}}_copy(dst={{t||out}}, src=t)\n",
        "0.5",
        "trn2",
    ),
)

# ---------------------------------------------------------------------------- cores, registers

_SHARED: Final = made("both", "96, 40", memory="{{sbuf||shared_hbm}}")
_GOT: Final = "got = nl.ndarray((96, 40), dtype=nl.{}, buffer=nl.sbuf)\n"
_SENT: Final = (
    "if nl.num_programs(0) == 2:\n    nisa.sendrecv(src=a_t, dst=got[:, 0:{}], "
    "send_to_rank=1 - nl.program_id(0), recv_from_rank=1 - nl.program_id(0), pipe_id=0)"
)

CORES: Final = (
    beside(
        "core-barrier",
        "BAR01",
        made("both", "96, 40", memory="shared_hbm")
        + "nisa.dma_copy(dst=both, src=a)\nif nl.num_programs(0) == 2:\n"
        "    nisa.core_barrier(data=both, cores=({{1, 0||0, 1}}))",
    )._replace(cores=2),
    beside(
        "core-barrier",
        "BAR01",
        made("both", "96, 40", memory="shared_hbm")
        + "nisa.dma_copy(dst=both, src=a)\nif nl.num_programs(0) == 2:\n"
        "    nisa.core_barrier(both, {{2||(0, 1)}})",
    )._replace(cores=2),
    beside(
        "core-barrier",
        "BUF37",
        f"{_SHARED}nisa.dma_copy(dst=both, src=a)\nif nl.num_programs(0) == 2:\n"
        "    nisa.core_barrier(data=both, cores=(0, 1))",
        api="0.4",
    )._replace(cores=2),
    beside(
        "sendrecv", "SRV02", _GOT.format("float32") + _SENT.format("{{39||40}}"), api="0.6"
    )._replace(cores=2),
    beside(
        "sendrecv",
        "SRV02",
        "parts = nl.ndarray((96, {{5, 8||40}}), dtype=nl.float32, buffer=nl.sbuf)\n"
        "nisa.memset(dst=parts, value=1.0)\n"
        + _GOT.format("float32")
        + _SENT.format("40").replace("a_t", "parts"),
        api="0.4",
    )._replace(cores=2),
    beside(
        "operand-dtype", "SRV02", _GOT.format("{{int32||float32}}") + _SENT.format("40")
    )._replace(cores=2),
    beside(
        "register-operand",
        "REG03",
        "held = nisa.register_alloc(0)\nnisa.register_load(held, i_t[:, 0:{{2||1}}])",
        "a: float32[96, 40], i: int32[1, 2]",
        "0.4",
    ),
)

_RANKS: Final = """\
#bare
sent = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.{{sbuf||hbm}})
nisa.dma_copy(dst=sent, src=a)
group = ncc.ReplicaGroup([[0, 1, 2, 3]])
ncc.all_reduce(srcs=[sent], dsts=[out], replica_group=group, op=nl.add)
"""

ROWS: Final = (
    *TENSOR,
    *ELEMENTWISE,
    *REDUCTIONS,
    *QUANTISED,
    *GPSIMD,
    *TRANSFERS,
    *CORES,
    Row("collective-operands", "K01", INPUT, RESULT, _RANKS, "0.5"),
)
