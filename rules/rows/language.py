"""Rows of nki.language, of views and loops, and of Python: sections (d), (e) and (f)."""

from __future__ import annotations

from typing import Final

from rules.rows.frames import COPIED, INPUT, RESULT, Row, beside

_STORED: Final = "#bare\nt = nl.load(a)\nnl.store(out, {})"

_OTHER: Final = """

@nki.jit({{platform_target="trn2"||}})
def other(x):
    assert x.shape == (8, 9) and x.dtype == nl.float32
    out = nl.ndarray((8, 9), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=x)
    return out
"""


def _value(
    rule: str,
    fact: str,
    value: str,
    inputs: str = INPUT,
    api: str = "0.5",
    target: str = "trn2",
    out: str = RESULT,
) -> Row:
    """What a function of nki.language makes is stored."""
    return Row(rule, fact, inputs, out, _STORED.format(value), api, target)


def _moved(
    rule: str,
    fact: str,
    src: str,
    api: str = "0.5",
    inputs: str = INPUT,
    out: str = RESULT,
    target: str = "trn2",
) -> Row:
    return Row(
        rule,
        fact,
        inputs,
        out,
        f"#bare\nt = nl.ndarray({_parts(out)}, buffer=nl.sbuf)\n"
        f"nisa.dma_copy(dst=t, src={src})\nnisa.dma_copy(dst=out, src=t)",
        api,
        target,
    )


def _product(fact: str, inputs: str) -> Row:
    """What `nl.matmul` makes of two inputs is stored."""
    body = (
        "#bare\nt = nl.load(a)\nu = nl.load(b)\n"
        "nl.store(out, nl.copy(nl.matmul(t, u, transpose_x=True)))"
    )
    # before 0.6 a copy reads no PSUM (NKI-L25)
    return Row("matmul-dtypes", fact, inputs, "float32[40, 72]", body, "0.6")


def _parts(text: str) -> str:
    dtype, _, shape = text.rstrip("]").rpartition("[")
    return f"({shape}), dtype=nl.{dtype}"


def _host(rule: str, fact: str, code: str, api: str = "0.5", before: str = "") -> Row:
    return Row(rule, fact, INPUT, RESULT, f"{code}\n{COPIED}", api, before=before)


FUNCTIONS: Final = (
    beside(
        "api-signature",
        "L02",
        "t = nl.ndarray((96, 8), dtype=nl.float32, buffer={{'sbuf'||nl.sbuf}})",
        api="0.3",
    ),
    beside(
        "random-state",
        "L10",
        "nl.random_seed(seed=i_t)",
        "a: float32[96, 40], i: int32[1, {{2||1}}]",
        "0.4",
    ),
    Row(
        "load-store-operands",
        "L21",
        INPUT,
        RESULT,
        "#bare\nt = nl.load(a)\np = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.psum)\n"
        "nisa.tensor_copy(dst=p, src=t)\nnisa.tensor_copy(dst=t, src=p)\n"
        "nl.store(out, {{p||t}})",
        "0.3",
    ),
    Row(
        "api-removed",
        "L22",
        INPUT,
        RESULT,
        "#bare\nt = {{nl.load(a)||nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.sbuf)}}\n"
        "{{||nisa.dma_copy(dst=t, src=a)}}\nnisa.dma_copy(dst=out, src=t)",
        "0.2",
    ),
    Row(
        "dma-size",
        "L23",
        INPUT,
        RESULT,
        "#bare\nt = nl.load(a)\nnl.store(out, t)\nnl.store(out[:, 0:{{38||39}}], t[:, 0:39])",
        "0.4",
    ),
    _value(
        "load-store-operands",
        "L24",
        "nl.load_transpose2d({{u||b}})",
        "a: float32[96, 40], b: bfloat16[96, 128]",
        out="bfloat16[128, 96]",
    )._replace(body="#bare\nu = nl.load(b)\nnl.store(out, nl.load_transpose2d({{u||b}}))"),
    Row(
        "operand-buffers",
        "L25",
        "a: bfloat16[96, 40], b: bfloat16[96, 72]",
        "float32[40, 72]",
        "#bare\nt = nl.load(a)\nu = nl.load(b)\np = nl.matmul(t, u, transpose_x=True)\n"
        "q = {{nl.copy(p)||nl.ndarray((40, 72), dtype=nl.float32, buffer=nl.sbuf)}}\n"
        "{{||nisa.tensor_copy(dst=q, src=p)}}\nnl.store(out, q)",
        "0.5",
    ),
    Row(
        "language-matmul",
        "L27",
        "a: bfloat16[40, 40], b: bfloat16[40, 72]",
        "bfloat16[40, 72]",
        "#bare\nt = nl.load(a)\nu = nl.load(b)\n"
        "nl.store(out, nl.copy(nl.matmul(t, u, transpose_x={{False||True}})))",
        "0.6",
    ),
    _product("MMU09", "a: {{int32||float16}}[40, 40], b: {{int32||bfloat16}}[40, 72]"),
    _product("MMU10", "a: {{float32||bfloat16}}[40, 40], b: bfloat16[40, 72]"),
    Row(
        "language-matmul",
        "L28",
        "a: bfloat16[40, 96], b: bfloat16[{{40||96}}, 72]",
        "bfloat16[40, 72]",
        "#bare\nt = nl.load(a)\nu = nl.load(b)\n"
        "nl.store(out, nl.copy(nl.matmul(t, u), dtype=nl.bfloat16))",
        "beta1",
        "trn1",
    ),
    _value("language-broadcast", "L30", "nl.broadcast_to(t[:, 0:{{2||1}}], shape=(96, 40))"),
    beside("api-signature", "L46", "u = nl.greater({{1.0||a_t}}, 2.0)\n"),
    Row(
        "view-precondition",
        "L31",
        INPUT,
        RESULT,
        "u = nl.expand_dims(a_t, {{1||2}})\nnl.store(out, a_t)",
        "beta1",
        "trn1",
    ),
    Row(
        "operand-dtype",
        "L32",
        "a: float32[96, 40], i: {{int32||uint32}}[96, 40]",
        RESULT,
        "#bare\nt = nl.load(a)\nu = nl.load(i)\nnl.store(out, nl.gather_flattened(t, u))",
        "0.4",
    ),
    Row(
        "vector-operand-shape",
        "L34",
        "a: float32[96, 40], v: float32[96, {{2||1}}]",
        RESULT,
        "#bare\nt = nl.load(a)\nu = nl.load(v)\nnl.store(out, nl.dropout(t, u))",
        "0.5",
    ),
    _value("language-broadcast", "L40", "nl.multiply(t, t[:, 0:{{1||40}}])", api="0.4"),
    _value("language-broadcast", "L40", "nl.add(t, t{{.reshape((96, 8, 5))||}})", api="0.6"),
    Row(
        "target-feature",
        "L41",
        INPUT,
        RESULT,
        "#bare\nt = nl.load(a)\n"
        "if {{True||nisa.get_nc_version() >= nisa.nc_version.gen4}}:\n"
        "    u = nl.abs_max(t, t)\nnl.store(out, t)",
        "0.5",
    ),
    Row(
        "target-feature",
        "H86",
        INPUT,
        RESULT,
        "#bare\nt = nl.load(a)\n"
        "if {{True||nisa.get_nc_version() >= nisa.nc_version.gen4}}:\n"
        "    u = nl.abs_min(t, t)\nnl.store(out, t)",
        "0.4",
        "trn1",
    ),
    _value("language-support", "L43", "nl.{{mod||maximum}}(t, t)", api="0.4"),
    _value("language-support", "L44", "nl.power(t, {{2.0||t}})", api="0.4"),
    Row(
        "language-support",
        "L45",
        INPUT,
        RESULT,
        "#bare\nt = nl.load(a)\n"
        "p = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.psum)\n"
        "nisa.tensor_copy(dst=p, src=t)\nnisa.tensor_copy(dst=t, src=p)\n"
        "nl.store(out, nl.rsqrt({{p||t}}))",
        "0.5",
    ),
    _value(
        "bitwise-dtype",
        "L47",
        "nl.bitwise_and(t, t)",
        "a: {{float32||int32}}[96, 40]",
        "0.5",
        out="{{float32||int32}}[96, 40]",
    ),
    _value(
        "reduce-axes",
        "L50",
        "nl.sum(t, axis={{0||1}}, keepdims=True)",
        out="float32[96, 1]",
        api="0.4",
    ),
    Row("api-removed", "L54", INPUT, RESULT, "{{nl.exp(a_t)||pass}}\n" + COPIED, "0.2"),
    _value("operand-buffers", "L56", "nl.exp({{a||t}})", api="0.4"),
    Row(
        "operator-kind",
        "L74",
        "v: float32[96, 40], i: int32[96, 1]",
        RESULT,
        "row = nl.arange(96)[:, None]\ncolumn = nl.arange(40)[None, :]\n"
        "y = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.hbm)\nnl.store(y, v_t)\n"
        "nl.atomic_rmw(y[i_t[row, 0], column], value=v_t, op=np.{{multiply||add}})\n"
        "nl.store(out, v_t)",
        "beta1",
        "trn1",
    ),
)

VIEWS: Final = (
    beside("slice-bounds", "X01", "nisa.memset(dst=a_t[:, {{-41||-40}}:], value=1.0)"),
    beside("slice-bounds", "X07", "nisa.memset(dst=a_t[:, {{40||39}}], value=1.0)", api="0.4"),
    beside("slice-bounds", "X12", "nisa.memset(dst=a_t[:, ::{{-1||1}}], value=1.0)", api="0.6"),
    _moved("view-precondition", "X21", "a[:, 0:{{2||1}}].broadcast(1, 40)"),
    beside("view-precondition", "X22", "nisa.memset(dst=a_t.expand_dim({{0||1}}), value=1.0)"),
    beside(
        "reshape-count",
        "X23",
        "nisa.memset(dst=a_t.reshape_dim(1, ({{6||5}}, 8)), value=1.0)",
        api="0.6",
    ),
    beside(
        "view-precondition",
        "X24",
        "nisa.memset(dst=b_t{{[:, :, 0:9]||[:, :, 0:10]}}.flatten_dims(1, 2), value=1.0)",
        "a: float32[96, 40], b: float32[96, 4, 10]",
    ),
    beside(
        "view-precondition",
        "X25",
        "nisa.memset(dst=b_t{{.permute((0, 2, 1))||}}.reshape((96, 5, 8)), value=1.0)",
        "a: float32[96, 40], b: float32[96, 4, 10]",
    ),
    beside(
        "view-precondition",
        "X25",
        "nisa.memset(dst=b_t[:, {{:, 0:8||0:3, :}}].reshape((96, {{32||15, 2}})), value=1.0)",
        "a: float32[96, 40], b: float32[96, 4, 10]",
        "0.3",
    ),
    beside(
        "view-precondition",
        "X26",
        "nisa.memset(dst=b_t.rearrange(('p', 'a', 'b'), "
        "{{('a', 'p', 'b')||('p', 'b', 'a')}}), value=1.0)",
        "a: float32[96, 40], b: float32[96, 4, 10]",
        "0.5",
    ),
    beside(
        "view-precondition",
        "X28",
        "nisa.memset(dst=b_t.select({{0||1}}, 0), value=1.0)",
        "a: float32[96, 40], b: float32[96, 4, 10]",
        "0.5",
    ),
    beside(
        "view-precondition",
        "X30",
        "nisa.memset(dst=b_t.view(nl.int32), value=1)",
        "a: float32[96, 40], b: int16[96, {{41||40}}]",
    ),
    beside(
        "ap-partition-step",
        "X42",
        "nisa.memset(dst=a_t.ap(pattern=[[{{40||80}}, 96], "
        "[1, 20]], offset=0, dtype=nl.int16), value=1)",
    ),
    _moved(
        "access-bounds",
        "X50",
        "a.ap(pattern=[[40, 96], [1, {{41||40}}]], offset=0)",
        out="float32[96, {{41||40}}]",
    ),
    _value("api-removed", "X73", "t{{[:, nl.arange(40)[None, :]]||[:, 0:40]}}", api="0.3"),
)


def _asked(body: str, api: str) -> Row:
    """What only the device knows, where a number of the program is asked for."""
    return Row("device-condition", "G37", "a: float32[96, 40]", RESULT, body, api)


HOST: Final = (
    _host("unpack-mismatch", "G01", "rows, {{cols, more||cols}} = a.shape"),
    _host("list-index", "G03", "sizes = [1, 2]\nsizes.append(3)\nlast = sizes[{{3||2}}]", "0.2"),
    _host("missing-key", "G03", "sizes = {'a': 1}\nlast = sizes['{{b||a}}']", "0.3"),
    _host("wrong-type", "G03", "size = len({{3||(3, 4)}})", "0.4"),
    _host("no-attribute", "G03", "sizes = [1]\nsizes.{{push||append}}(3)", "0.5"),
    _host("api-removed", "T08", "shift = nl.{{arithmetic_right_shift||right_shift}}", "0.5"),
    _host("wrong-value", "G03", "place = [1, 2].index({{3||2}})", "0.6"),
    _host("no-admitted-input", "G09", "assert a.shape[0] == {{97||96}}", "0.2"),
    _host("division-by-zero", "G11", "share = a.shape[1] // (a.shape[0] - {{96||95}})", "0.4"),
    _host(
        "call-signature",
        "G13",
        "held(rows=a_t{{, cols=2||}})",
        "0.4",
        "\ndef held(rows):\n    nisa.activation(dst=rows, op=nl.exp, data=rows)\n",
    ),
    Row(
        "device-condition",
        "G37",
        "a: float32[96, 40], i: int32[1, 1]",
        RESULT,
        "held = nisa.register_alloc(0)\nnisa.register_load(held, i_t)\n"
        f"if {{{{held||a.shape[1] == 40}}}}:\n    {COPIED}",
        "0.5",
    ),
    _asked(
        "def trip(i):\n"
        f"    nisa.memset(r, value={{{{1.0 if i > 2 else 0.5||1.0}}}})\n"
        f"nl.fori_loop(0, 4, trip)\n{COPIED}",
        "0.6",
    ),
    _asked(
        "def trip(i):\n"
        f"    nisa.memset(r, value=[0.5, 1.0, 1.5, 2.0][{{{{i||2}}}}])\n"
        f"nl.fori_loop(0, 4, trip)\n{COPIED}",
        "0.6",
    ),
    _asked(
        "def trip(i):\n"
        f"    nisa.memset(r[:, {{{{i * 8:(i + 1) * 8||8:16}}}}], value=0.5)\n"
        f"nl.fori_loop(0, 4, trip)\n{COPIED}",
        "0.6",
    ),
    _asked(
        "def trip(i):\n"
        f"    nisa.memset(r[:, 0:{{{{min(i, 3) + 1||4}}}}], value=0.5)\n"
        f"nl.fori_loop(0, 4, trip)\n{COPIED}",
        "0.6",
    ),
    Row(  # the body is compiled however often the device runs it
        "operand-buffers",
        "N09",
        INPUT,
        RESULT,
        "count = nisa.register_alloc(3)\n"
        "def trip(i):\n"
        f"    nisa.activation(dst=r, op=nl.exp, data={{{{a||a_t}}}})\n"
        f"{COPIED}\nnl.fori_loop(0, count, trip)",
        "0.6",
    ),
    _asked(
        f"for i in nl.dynamic_range(1):\n    for k in range({{{{int(i)||3}}}}):\n        {COPIED}",
        "0.5",
    ),
    _asked(
        f"held = nisa.register_alloc(4)\nfor k in nl.static_range({{{{held||4}}}}):\n    {COPIED}",
        "0.5",
    ),
    _asked(
        f"held = nisa.register_alloc(4)\nnisa.memset(r[:, 0:{{{{held||4}}}}], value=0.5)\n{COPIED}",
        "0.6",
    ),
    _asked(
        f"held = nisa.register_alloc(4)\nlater = {{{{held + 1||held}}}}\n{COPIED}",
        "0.5",
    ),
    _asked(
        "#bare\nt = nl.ndarray((96, 40), nl.float32)\nnisa.dma_copy(dst=t, src=a)\n"
        "if {{ncc.rank_id() > 0||True}}:\n    nisa.dma_copy(dst=out, src=t)",
        "0.6",
    ),
    Row(
        "device-condition",
        "REG07",
        "a: float32[96, 40], i: int32[1, 1]",
        RESULT,
        "held = nisa.register_alloc(0)\nnisa.register_load(held, i_t)\n"
        f"for k in range({{{{held||1}}}}):\n    {COPIED}",
        "0.4",
    ),
    Row(
        "device-condition",
        "G49",
        "a: float32[96, 40], i: int32[1, 1]",
        RESULT,
        "t = nl.load(a)\n{{while i_t[0, 0]:||if True:}}\n    nl.store(out, t)\nnl.store(out, t)",
        "beta1",
        "trn1",
    ),
    Row(
        "device-condition",
        "X66",
        INPUT,
        RESULT,
        "row = nl.arange(96)[:, None]\ncolumn = nl.arange(40)[None, :]\n"
        "{{if row < 40:||if True:}}\n    nl.store(out[row, column], a_t)\n"
        "nl.store(out[row, column], a_t)",
        "beta1",
        "trn1",
    ),
    Row(
        "beta1-index-rank",
        "X68",
        "a: float32[96, 1]",
        "float32[96, 1]",
        "nl.store(out, a_t[{{0:96||0:96, 0:1}}])",
        "beta1",
        "trn1",
    ),
    Row(
        "tensor-indirection",
        "X31",
        "a: float32[96, 40], i: uint16[96, 40]",
        RESULT,
        "if {{True||nisa.get_nc_version() >= nisa.nc_version.gen4}}:\n"
        "    nisa.tensor_copy(dst=r, src=a_t.indirect(i_t))\n" + COPIED,
        "0.5",
    ),
    Row(
        "loop-carried-dependence",
        "LP02",
        "a: float32[4, 96, 40]",
        "float32[96, 40]",
        "for k in nl.affine_range(4):\n    nl.store({{out||out[:, k * 10:k * 10 + 10]}}, "
        "nl.load(a[k{{||, :, 0:10}}]))",
        "beta1",
        "trn1",
    ),
    Row("api-signature", "L71", INPUT, RESULT, COPIED, "0.3", before=_OTHER),
)

_PACKED: Final = "z = nl.{{ones||zeros}}((96, 9), nl.float8_e4m3fn_x4)\n" + COPIED

#: functions that become one instruction keep to what that one takes
WRAPPED: Final = (
    Row(
        "api-signature",
        "N09",
        INPUT,
        RESULT,
        "nisa.affine_select(r, [[1, 40]], 1, a_t, 0.0, cmp_op={{None||nl.greater}})",
        "0.6",
    ),
    Row(
        "reduce-axes",
        "RED01",
        INPUT,
        "float32[96, 1]",
        "nisa.tensor_reduce(r, nl.add, a_t, axis={{None||-1}})",
        "0.6",
    ),
    Row(
        "reduce-axes",
        "L50",
        INPUT,
        RESULT,
        "z = nl.max(a_t, axis={{()||(1,)}})\n" + COPIED,
        "0.4",
        "trn3",
    ),
    Row(
        "api-signature",
        "T01",
        INPUT,
        RESULT,
        "nisa.tensor_copy(dst=r, src=nl.exp(a_t, dtype={{'bfloat61'||'bfloat16'}}))",
        "0.6",
    ),
    Row(
        "api-signature",
        "T01",
        INPUT,
        RESULT,
        "z = nl.zeros_like(a_t, dtype={{'float61'||nl.float16}})\n" + COPIED,
        "0.3",
        "trn3",
    ),
    Row(
        "language-broadcast",
        "L30",
        "a: float32[96, 40], v: float32[96, 1]",
        RESULT,
        "z = nl.broadcast_to(v_t, (96, {{0||1}}))\n" + COPIED,
        "0.6",
    ),
    Row(
        "reduce-axes",
        "L50",
        INPUT,
        RESULT,
        "nisa.tensor_copy(dst=r, src=nl.rms_norm(a_t, a_t, {{0||1}}, 40))",
        "0.6",
        "trn3",
    ),
    Row(
        "transpose-size",
        "TRN03",
        INPUT + "@psum",
        "float32[40, 96]",
        "p = nl.ndarray((40, 96), dtype=nl.float32, buffer=nl.psum)\n"
        "nisa.nc_transpose(p, {{a_p||a_t}})\nnisa.tensor_copy(dst=r, src=p)",
        "0.6",
    ),
    Row(
        "language-transpose",
        "TRN04",
        INPUT + "@psum",
        "float32[40, 96]",
        "nisa.tensor_copy(dst=r, src=nl.transpose({{a_p||a_t}}))",
        "0.6",
        "trn3",
    ),
    Row(
        "operand-buffers",
        "L10",
        "a: int32[1, 1]",
        "int32[1, 1]",
        "nl.random_seed({{a||a_t}})\n" + COPIED,
        "0.3",
    ),
    Row("memset-value", "MST03", INPUT, RESULT, _PACKED, "0.6", "trn3"),
    Row(
        "memset-value",
        "MST03",
        INPUT,
        RESULT,
        "z = nl.full((96, 9), {{2||0}}, nl.float4_e2m1fn_x4)\n" + COPIED,
        "0.4",
        "trn3",
    ),
    _value(
        "memset-value",
        "MST02",
        "nl.add(t, nl.full((96, 40), {{1.5||1}}, nl.int32))",
        "a: int32[96, 40]",
        "0.3",
        out="int32[96, 40]",
    ),
    Row(
        "operand-dtype",
        "RND01",
        INPUT,
        RESULT,
        "z = nl.rand((96, 9), dtype=nl.{{float8_e4m3fn||float8_e4m3}})\n" + COPIED,
        "0.6",
        "trn3",
    ),
    Row(
        "api-signature",
        "N02",
        "a: float32[96, 40]",
        RESULT,
        "#bare\nnl.store(out, nisa.reciprocal(nl.load(a), {{dtyp||dtype}}=nl.float32))",
        "beta1",
    ),
    Row(
        "api-signature",
        "N02",
        "a: float32[96, 40]",
        RESULT,
        "#bare\nnl.store(out, nl.exp(nl.load(a){{, axis=1||}}))",
        "beta1",
    ),
    Row(
        "api-signature",
        "N02",
        "a: float32[96, 40]",
        RESULT,
        "#bare\nnl.store(out, nisa.activation({{dst=nl.load(a), ||}}op=np.exp, data=nl.load(a)))",
        "beta1",
    ),
    Row(
        "operand-dtype",
        "DRP03",
        "a: {{int8||bfloat16}}[96, 40]",
        RESULT,
        "#bare\nnl.store(out, nisa.dropout(nl.load(a), 0.5, dtype=nl.float32))",
        "beta1",
    ),
    Row(
        "operand-dtype",
        "DRP02",
        "a: int32[96, 40], p: {{bfloat16||float32}}[96, 1]",
        "int32[96, 40]",
        "nisa.tensor_copy(dst=r, src=nl.dropout(a_t, p_t))",
        "0.6",
    ),
    Row(
        "operand-buffers",
        "BUF27",
        "a: float32[96, 40]@psum, i: uint32[96, 40]",
        RESULT,
        "nisa.tensor_copy(dst=r, src=nl.gather_flattened({{a_p||a_t}}, i_t))",
        "0.6",
    ),
    Row(
        "operand-buffers",
        "N09",
        "a: float32[96, 40], w: float32[96, 40]",
        RESULT,
        "nisa.tensor_copy(dst=r, src=nl.rms_norm(a_t, {{w||w_t}}, axis=1, n=40))",
        "0.4",
        "trn3",
    ),
    Row(
        "two-psum-inputs",
        "N08",
        "a: float32[96, 40]@psum, m: float32[96, 40]@psum",
        RESULT,
        "nisa.tensor_copy(dst=r, src=nl.where({{m_p||m_t}}, a_p, 0.0))",
        "0.5",
        "trn1",
    ),
    Row(
        "bitwise-dtype",
        "T02",
        "a: int32[96, 40]",
        RESULT,
        "z = nl.bitwise_xor(a_t, 5, dtype=nl.{{float32||uint32}})\n" + COPIED,
        "0.6",
        "trn2",
    ),
    Row(
        "dma-dtype",
        "D12",
        "a: float8_e4m3fn_x4[96, 40]",
        RESULT,
        "nisa.memset(dst=r, value=0.0)\nt = nl.load(a, dtype=nl.{{bfloat16||float8_e4m3fn_x4}})",
        "0.6",
        "trn3",
    ),
    Row(
        "dma-dtype",
        "D12",
        "a: bfloat16[96, 40], b: float8_e5m2_x4[96, 40]",
        "{{bfloat16||float8_e5m2_x4}}[96, 40]",
        "#bare\nnl.store(out, nl.load(b))",
        "0.3",
        "trn3",
    ),
)

ROWS: Final = (*FUNCTIONS, *VIEWS, *HOST, *WRAPPED)
