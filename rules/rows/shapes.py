"""Rows of memories, of nki.language, of views and of Python that no other file has.

Sections (b), (d), (e) and (f), each at its limit.
"""

from __future__ import annotations

from typing import Final

from rules.rows.frames import COPIED, INPUT, RESULT, Row, beside, made


def _beta1(
    rule: str, fact: str, body: str, inputs: str = INPUT, out: str = RESULT, target: str = "trn1"
) -> Row:
    return Row(rule, fact, inputs, out, body, "beta1", target)


def _bare(
    rule: str,
    fact: str,
    body: str,
    api: str = "0.5",
    target: str = "trn2",
    inputs: str = INPUT,
    out: str = RESULT,
) -> Row:
    return Row(rule, fact, inputs, out, f"#bare\n{body}", api, target)


_T: Final = "a: float32[96, 40], b: float32[96, 6, 40]"

MEMORIES: Final = (
    beside(
        "partition-step",
        "P07",
        "nisa.memset(dst=a_t[0:{{64:2||32:1}}, :], value=1.0)",
        target="trn3",
        api="0.3",
    ),
    beside(
        "partition-step",
        "P07",
        "nisa.memset(dst=a_t[{{64||32}}:96:{{2||1}}, :][0:16], value=1.0)",
        api="0.6",
    ),
    _beta1(
        "partition-step",
        "P07",
        "row = nl.arange(32)[:, None]\ncolumn = nl.arange(40)[None, :]\n"
        "part = nl.copy(a_t[{{2 * row||row}}, column])\nnl.store(out, a_t)",
    ),
    _beta1(
        "partition-step",
        "P03",
        "tiles = nl.zeros((96, 4, 40), dtype=nl.float32, buffer=nl.sbuf)\n"
        "row = nl.arange(4)[{{None, :, None||:, None, None}}]\n"
        "block = nl.arange(4)[{{:, None, None||None, :, None}}]\n"
        "column = nl.arange(40)[None, None, :]\n"
        "part = nl.copy(tiles[row, block, column])\nnl.store(out, a_t)",
    ),
    beside(
        "psum-bank-crossing",
        "B06",
        made("acc", "40, {{768||1024}}", memory="psum")
        + made("held", "40, {{768||1024}}")
        + "m = nl.ndarray((96, 512), dtype=nl.float32, "
        "buffer=nl.sbuf)\nnisa.memset(dst=m, value=1.0)\n"
        "nisa.nc_matmul(dst=acc[:, {{256:768||512:1024}}], stationary=a_t, moving=m)\n"
        "nisa.tensor_copy(dst=held[:, 0:512], src=acc[:, {{256:768||512:1024}}])",
        target="trn1",
        api="0.3",
    ),
    Row(
        "beta1-creation",
        "B21",
        "a: float32[96, 40]",
        RESULT,
        "#bare\nt = nl.load(a)\nfor k in nl.affine_range(2):\n"
        "    y = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.{{shared_hbm||hbm}})\n"
        "    nl.store(y, t)\nnl.store(out, t)",
        "beta1",
        "trn1",
    ),
    _beta1(
        "beta1-creation",
        "L07",
        "y = nl.full((96, 40), 1.5, dtype=nl.float32, buffer=nl.{{hbm||sbuf}})\nnl.store(out, a_t)",
        target="trn2",
    ),
    beside(
        "access-dims",
        "A01",
        "nisa.memset(dst=b_t[:, :, :, :, :, {{0:2||0}}], value=1.0)",
        "a: float32[96, 40], b: float32[96, 2, 2, 2, 2, 3]",
        "0.4",
    ),
    beside(
        "placement-start",
        "L04",
        "held = nl.ndarray((64, 40), dtype=nl.float32, buffer=nl.sbuf, address=({{32||64}}, 0))\n"
        "nisa.memset(dst=held, value=0.0)",
        api="0.4",
        target="trn3",
    ),
    beside(
        "empty-shape",
        "L03",
        made("t", "96, {{a.shape[1] - 40||a.shape[1]}}") + "nisa.memset(dst=t, value=0.0)",
    ),
    beside(
        "partition-extent",
        "P01",
        made("t", "{{129||128}}, 40") + "nisa.memset(dst=t, value=0.0)",
        api="0.2",
        target="trn1",
    ),
)

FUNCTIONS: Final = (
    _beta1(
        "load-store-operands",
        "L20",
        "again = nl.load({{a_t||a}})\nnl.store(out, again)",
        target="trn2",
    ),
    _bare(
        "language-matmul",
        "L26",
        "t = nl.load(a)\nu = nl.load(b)\nnl.store(out, nl.copy(nl.matmul(t, u, transpose_x=True)))",
        "0.6",
        inputs="a: bfloat16[{{95||96}}, 40], b: bfloat16[96, 72]",
        out="bfloat16[40, 72]",
    ),
    _bare(
        "language-matmul",
        "L26",
        "t = nl.load(a)\nu = nl.load(b)\n"
        "nl.store(out, nl.copy(nl.matmul(t, u, transpose_x=True), dtype=nl.float32))",
        "0.6",
        inputs="a: bfloat16[96, 40], b: bfloat16[96, {{513||512}}]",
        out="float32[40, {{513||512}}]",
    ),
    _bare(
        "language-broadcast",
        "L40",
        "t = nl.load(a)\nu = nl.load(v)\nnl.store(out, nl.add(t, u))",
        inputs="a: float32[96, 40], v: float32[{{1||96}}, 40]",
    ),
    _bare(
        "where-shapes",
        "L33",
        "t = nl.load(a)\nu = nl.load(v)\nnl.store(out, nl.where(t, t, u))",
        "0.4",
        inputs="a: float32[96, 40], v: float32[96, {{39||40}}]",
    ),
    _bare(
        "where-shapes",
        "L33",
        "t = nl.load(a)\nnl.store(out, nl.where(t, t{{.reshape((96, 1, 40))||}}, 1.5))",
        "0.6",
    ),
    Row(
        "where-shapes",
        "L33",
        "a: float32[96, 40], v: float32[96, 1]",
        RESULT,
        "nl.store(out, nl.where(v_t, a_t{{.reshape((96, 1, 40))||}}, v_t))",
        "beta1",
    ),
    _bare(
        "language-support", "L42", "t = nl.load(a)\nnl.store(out, nl.{{divide||subtract}}(t, t))"
    ),
    Row(
        "nested-grid",
        "L62",
        INPUT,
        RESULT,
        "#bare\nstored{{[2]||}}(out, a)",
        "beta1",
        "trn1",
        "\n@nki.trace\ndef stored(into, source):\n    nl.store(into, nl.load(source))\n",
    ),
    Row(
        "annotation-mismatch",
        "L73",
        INPUT,
        RESULT,
        "#bare\nt: nt.tensor[96, {{39||40}}] = nl.load(a)\nnl.store(out, t)",
        "beta1",
        "trn1",
        "import neuronxcc.nki.typing as nt\n",
    ),
)

_INDEXED: Final = "row = nl.arange(96)[:, None]\ncolumn = nl.arange(40)[None, :]\n"

VIEWS: Final = (
    beside(
        "slice-bounds", "X06", "nisa.memset(dst=a_t[:, {{20:20||20:21}}], value=1.0)", api="0.4"
    ),
    beside(
        "slice-bounds", "X06", "nisa.memset(dst=a_t[:, 8:{{41||40}}], value=1.0)", target="trn1"
    ),
    beside(
        "slice-bounds", "X09", "nisa.memset(dst=a_t[{{96||95}}:, 0:8], value=1.0)", api="0.6"
    )._replace(body=f"{COPIED}nisa.memset(dst=a_t[64:{{{{97||96}}}}, 0:8], value=1.0)"),
    _beta1(
        "slice-bounds",
        "X09",
        f"{_INDEXED}part = nl.copy(a_t[row, column + {{{{1||0}}}}])\nnl.store(out, a_t)",
    ),
    beside(
        "view-precondition",
        "X20",
        "nisa.memset(dst=b_t.permute(({{1, 0, 2||0, 2, 1}})), value=1.0)",
        _T,
    ),
    beside(
        "view-precondition",
        "X20",
        "nisa.memset(dst=b_t.permute((0, {{1, 1||2, 1}})), value=1.0)",
        _T,
        "0.6",
    ),
    beside("reshape-count", "X25", "nisa.memset(dst=a_t.reshape((96, {{6||5}}, 8)), value=1.0)"),
    beside(
        "reshape-partition",
        "X25",
        "nisa.memset(dst=a_t.reshape(({{48, 80||96, 40}})), value=1.0)",
        api="0.4",
    ),
    beside(
        "ap-partition-step",
        "X41",
        "nisa.memset(dst=a_t.ap(pattern=[[{{20||40}}, 64], [1, 20]], offset=0), value=1.0)",
    ),
    beside(
        "runtime-offset-bounds",
        "X49",
        "nisa.dma_copy(dst=r[0:72], src=c.ap(pattern=[[40, 72], [1, 40]], "
        "offset=0, scalar_offset=i_t, indirect_dim=0))",
        "a: float32[96, 40], c: float32[{{71||72}}, 40], i: int32[1, 1]",
        "0.5",
    ),
    beside(
        "own-offset-bounds",
        "X49",
        "i = nl.ndarray((64, 1), dtype=nl.int32, buffer=nl.sbuf)\n"
        "nisa.iota(dst=i, pattern=[[1, 1]], offset={{33||32}}, channel_multiplier=1)\n"
        "nisa.dma_copy(dst=r[0:64], src=a.ap(pattern=[[40, 64], [1, 40]], offset=0, "
        "vector_offset=i, indirect_dim=0))",
        target="trn3",
    ),
    beside(
        "own-offset-bounds",
        "LGA07",
        "i = nl.ndarray((96, 1), dtype=nl.uint16, buffer=nl.sbuf)\n"
        "nisa.iota(dst=i, pattern=[[0, 1]], offset={{40||39}}, channel_multiplier=0)\n"
        "nisa.local_gather(dst=r[:, 0:16], src_buffer=a_t, index=i)",
        api="0.4",
    ),
    beside(
        "own-offset-bounds",
        "NGA04",
        "i = nl.ndarray((96, 8), dtype=nl.uint32, buffer=nl.sbuf)\n"
        "nisa.iota(dst=i, pattern=[[1, 8]], offset={{33||32}}, channel_multiplier=0)\n"
        "nisa.nc_n_gather(dst=r[:, 0:8], data=a_t, indices=i)",
    ),
    _beta1(
        "index-shapes-agree",
        "X60",
        "row = nl.arange(96)[:, None]\nshift = nl.arange({{48||96}})[:, None]\n"
        "column = nl.arange(40)[None, :]\n"
        "part = nl.copy(a_t[row + 0 * shift, column])\nnl.store(out, a_t)",
        target="trn2",
    ),
    _beta1(
        "beta1-index-rank",
        "X61",
        "part = nl.copy(a_t[nl.arange(96){{||[:, None]}}, 0])\nnl.store(out, a_t)",
    ),
    _beta1(
        "beta1-index-rank",
        "X61",
        "row = nl.arange(96)[:, None]\nnl.store(out[row, nl.arange(40){{||[None, :]}}], a_t)",
        target="trn2",
    ),
    _beta1(
        "beta1-mixed-indexing",
        "X62",
        f"{_INDEXED}nl.store(out[row, {{{{0:40||column}}}}], a_t)",
        target="trn2",
    ),
    _beta1(
        "index-read-only",
        "X65",
        f"{_INDEXED}{{{{column[0, 5] = 9||part = column + 9}}}}\nnl.store(out, a_t)",
    ),
    _beta1(
        "beta1-runtime-index",
        "X67",
        "#bare\n"
        f"{_INDEXED}i_t = nl.load(i)\n"
        "part = nl.load(c[{{row, i_t[row, 0]||i_t[row, 0], column}}])\nnl.store(out, nl.load(a))",
        "a: float32[96, 40], c: float32[300, 40], i: int32[96, 1]",
    ),
    _beta1(
        "beta1-static-size",
        "LP11",
        "for k in nl.affine_range(4):\n    part = nl.copy(a_t[:, {{0:10 * k + 10||0:10}}])\n"
        "nl.store(out, a_t)",
        target="trn2",
    ),
)

_REGISTER: Final = "held = nisa.register_alloc(0)\nnisa.register_load(held, i_t)\n"
_INT: Final = "a: float32[96, 40], i: int32[1, 1]"

PYTHON: Final = (
    beside(
        "device-condition",
        "G38",
        "size = 2 if {{a_t[0:1, 0:1]||a.shape}} else 3\nnisa.memset(dst=r[:, 0:size], value=0.0)",
        api="0.3",
    ),
    beside(
        "device-condition",
        "G38",
        "done = {{not a_t[0:1, 0:1]||not a.shape}}\nnisa.memset(dst=r, value=1.0)",
        api="0.6",
        target="trn3",
    ),
    beside(
        "device-condition",
        "G38",
        "part = {{a_t or r||a_t}}\nnisa.tensor_copy(dst=r, src=part)",
        api="0.5",
    ),
    beside(
        "device-condition",
        "G39",
        "size = int({{i_t||2}})\nnisa.memset(dst=r[:, 0:size], value=0.0)",
        _INT,
        "0.4",
    ),
    beside(
        "api-signature",
        "N02",
        "nisa.tensor_copy(dst=r, src=a_t{{, dtype=nl.float32||}})",
        api="0.4",
    ),
    beside(
        "uninitialised-read",
        "B20",
        _REGISTER + "old = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.sbuf)\n"
        "{{||nisa.memset(dst=old, value=0.0)}}\n"
        "for k in nl.dynamic_range(0, 3, 1):\n"
        "    nisa.tensor_tensor(dst=r, data1=r, data2=old, op=nl.add)",
        _INT,
        "0.6",
    ),
)

ROWS: Final = (*MEMORIES, *FUNCTIONS, *VIEWS, *PYTHON)
