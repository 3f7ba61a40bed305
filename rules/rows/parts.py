"""Rows that ask several things, each thing at its limit, in several generations and targets."""

from __future__ import annotations

from typing import Final

from rules.rows.frames import INPUT, RESULT, Row, beside, made

# ---------------------------------------------------------------------------- descriptors of DMA

_GATHER: Final = """\
#bare
index = nl.ndarray((96, 1), dtype=nl.int32, buffer=nl.sbuf)
nisa.dma_copy(dst=index, src=i)
t = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.sbuf)
nisa.dma_copy(dst=t, src={source}{more})
nisa.dma_copy(dst=out, src=t)
"""
_ROWS: Final = "a.ap(pattern=[[40, 96], [1, 40]], offset=0, vector_offset=index, indirect_dim=0)"
_TABLE: Final = "a: float32[400, 40], i: int32[96, 1]"


def _gathered(
    rule: str,
    fact: str,
    source: str = _ROWS,
    more: str = "",
    api: str = "0.5",
    target: str = "trn2",
    inputs: str = _TABLE,
) -> Row:
    body = _GATHER.format(source=source, more=more)
    return Row(rule, fact, inputs, "float32[96, 40]", body, api, target)


def _mode(bad: str, good: str) -> str:
    return f", dge_mode=nisa.dge_mode.{{{{{bad}||{good}}}}}"


_SCATTER: Final = """\
#bare
index = nl.ndarray((96, 1), dtype=nl.int32, buffer=nl.sbuf)
nisa.dma_copy(dst=index, src=i)
t = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.sbuf)
nisa.dma_copy(dst=t, src=a)
nisa.dma_copy(dst=out, src=c)
nisa.dma_copy(dst=out.ap(pattern=[[40, 96], [1, 40]], offset=0, vector_offset=index, \
indirect_dim=0), src=t{more})
"""
_TURNED: Final = """\
#bare
index = nl.ndarray((96, 1), dtype=nl.uint32, buffer=nl.sbuf)
nisa.dma_copy(dst=index, src=i)
t = nl.ndarray((64, 96), dtype=nl.bfloat16, buffer=nl.sbuf)
{guard}nisa.dma_transpose(
    dst=t,
    src=x.ap(pattern=[[64, 96], [1, 64]], offset=0, vector_offset=index, indirect_dim=0){more})
nisa.dma_copy(dst=out, src=t)
"""


def _turned(fact: str, rule: str, more: str, target: str = "trn2", api: str = "0.5") -> Row:
    return Row(
        rule,
        fact,
        "x: bfloat16[400, 64], i: uint32[96, 1]",
        "bfloat16[64, 96]",
        _TURNED.format(guard="", more=more),
        api,
        target,
    )


DESCRIPTORS: Final = (
    _gathered("dge-mode", "D06", "a.vector_select(0, index)", _mode("hwdge", "swdge"), "0.6"),
    _gathered("dge-mode", "D08", _ROWS, _mode("hwdge", "swdge"), "0.4", "trn3"),
    Row(
        "dge-mode",
        "D06",
        "a: float32[96, 40], c: float32[400, 40], i: int32[96, 1]",
        "float32[400, 40]",
        _SCATTER.format(more=_mode("hwdge", "unknown")),
        "0.4",
    ),
    _turned("D06", "dge-mode", _mode("hwdge", "swdge")),
    _turned("D07", "dge-mode", _mode("none", "unknown"), "trn3", "0.6"),
    _gathered(
        "view-precondition",
        "DCP05",
        "{{a||b}}" + _ROWS[1:],
        inputs="a: float32[96, 40], b: float32[400, 40], i: int32[96, 1]",
    )._replace(
        body=_GATHER.format(source=_ROWS.replace("index", "{{i||index}}"), more=""), api="0.6"
    ),
    Row(
        "dma-priority",
        "D09",
        INPUT,
        RESULT,
        "nisa.dma_copy(dst=r, src=a, priority={{4||3}})",
        "0.5",
        "trn3",
    ),
    Row(
        "dma-priority",
        "D09",
        INPUT,
        RESULT,
        "nisa.dma_copy(dst=r, src=a{{, priority=0||}})",
        "0.6",
        "trn2",
    ),
    Row(
        "dma-transpose-size",
        "H75",
        "x: bfloat16[400, 64], i: uint32[96, 1]",
        "bfloat16[64, 96]",
        "#bare\nindex = nl.ndarray((96, 1), dtype=nl.uint32, buffer=nl.sbuf)\n"
        "nisa.dma_copy(dst=index, src=i)\n"
        "t = nl.ndarray((64, 96), dtype=nl.bfloat16, buffer=nl.sbuf)\n"
        "nisa.dma_transpose(dst=t, src={{x.ap(pattern=[[64, 96], [1, 64]], offset=0, "
        "vector_offset=index, indirect_dim=0)||x[0:96]}})\n"
        "nisa.dma_copy(dst=out, src=t)",
        "0.5",
        "trn1",
    ),
)

# ---------------------------------------------------------------------------- scalars, commands

_ONE: Final = made("sums", "96, 1")
_V: Final = "a: float32[96, 40], v: float32[96, 2]"
_EXP: Final = "nisa.exponential(dst=r, src=a_t, {})"
_REDUCED: Final = "nisa.tensor_scalar_reduce(dst=r, data=a_t, op0=nl.multiply, operand0=2.0, {})"
_RUNNING: Final = "nisa.tensor_scalar_cumulative(dst=r, src=a_t, op0=nl.add, op1=nl.add, {})"
_LOAD: Final = "reduce_cmd=nisa.reduce_cmd.load_reduce"
_RESET: Final = "reduce_cmd=nisa.reduce_cmd.reset_reduce"
_INTO: Final = "reduce_op=nl.add, reduce_res=sums"


def _row(
    rule: str,
    fact: str,
    body: str,
    inputs: str = INPUT,
    api: str = "0.5",
    target: str = "trn2",
) -> Row:
    return Row(rule, fact, inputs, RESULT, body, api, target)


COMMANDS: Final = (
    _row(
        "vector-operand-shape",
        "TCU03",
        _RUNNING.format(f"imm0=v_t[:, 0:{{{{2||1}}}}], {_RESET}"),
        _V,
    ),
    _row("reduce-command", "TCU03", _RUNNING.format(f"imm0=1.0{{{{||, imm1=2.0}}}}, {_LOAD}")),
    _row(
        "reduce-command",
        "TCU03",
        _RUNNING.format(f"imm0=1.0, {{{{imm1=2.0, ||}}}}{_RESET}"),
        api="0.3",
    ),
    _row(
        "reduce-command",
        "TSR06",
        _ONE + _REDUCED.format(f"{_INTO}{{{{, reduce_init=0.5||}}}}"),
        api="0.4",
    ),
    _row(
        "reduce-command",
        "TSR06",
        _ONE + _REDUCED.format(f"{_INTO}, {_LOAD}{{{{||, reduce_init=0.5}}}}"),
        target="trn3",
    ),
    _row(
        "reduce-command",
        "TSR06",
        _ONE + _REDUCED.format(f"{_INTO}, reduce_cmd=nisa.reduce_cmd.{{{{idle||reset_reduce}}}}"),
        api="0.6",
    ),
    _row(
        "vector-operand-shape",
        "TSR06",
        _ONE + _REDUCED.format(f"{_INTO}, {_LOAD}, reduce_init=v_t[:, 0:{{{{2||1}}}}]"),
        _V,
    ),
    _row(
        "api-signature",
        "N02",
        _ONE + _REDUCED.format("reduce_op=nl.add{{||, reduce_res=sums}}"),
        api="0.5",
    ),
    _row(
        "operand-buffers",
        "BUF12",
        made("sums", "96, 1", memory="{{hbm||sbuf}}") + _REDUCED.format(_INTO),
    ),
    _row(
        "reduce-command",
        "AC08",
        _ONE + _EXP.format(f"max_value=1.0, reduce_res=sums, {_RESET}{{{{, reduce_init=0.5||}}}}"),
        target="trn3",
        api="0.6",
    ),
    _row(
        "vector-operand-shape",
        "EXP05",
        _EXP.format("max_value=v_t[:, 0:{{2||1}}]"),
        _V,
        target="trn3",
    ),
    _row(
        "vector-operand-shape",
        "EXP05",
        _EXP.format("max_value=w_t[0:{{64||96}}]"),
        "a: float32[96, 40], w: float32[96, 1]",
        "0.6",
        "trn3",
    ),
    _row("random-state", "RND02", "nisa.rand2(dst=r, min={{9.0||8.5}}, max=9.0)", target="trn3"),
    _row(
        "vector-operand-shape",
        "RND02",
        "nisa.rand2(dst=r, min=v_t[:, 0:{{2||1}}], max=9.0)",
        _V,
        target="trn3",
    ),
    _row(
        "operand-dtype",
        "RND02",
        "nisa.rand2(dst=r, min=0.5, max=w_t)",
        "a: float32[96, 40], w: {{float16||float32}}[96, 1]",
        "0.6",
        "trn3",
    ),
    _row(
        "operand-dtype",
        "DRP02",
        "nisa.dropout(dst=r, data=a_t, prob=p_t)",
        "a: float32[96, 40], p: {{int32||bfloat16}}[96, 1]",
        "0.4",
    ),
    Row(
        "operand-dtype",
        "E02",
        "a: float32[96, 40], w: {{int32||bfloat16}}[96, 1]",
        RESULT,
        "nl.store(out, nisa.activation(op=nl.exp, data=a_t, bias=w_t))",
        "beta1",
        "trn2",
    ),
)

# ---------------------------------------------------------------------------- views

_B: Final = "a: float32[96, 40], b: float32[96, 6, 40]"
_I: Final = "a: float32[96, 40], c: float32[8, 9, 40], i: int32[1, 2]"

VIEWS: Final = (
    beside(
        "slice-bounds",
        "X27",
        "nisa.memset(dst=a_t.slice(1, 8, {{41||40}}), value=1.0)",
        api="0.6",
    ),
    beside("slice-bounds", "X27", "nisa.memset(dst=a_t.slice(1, {{8||7}}, 8), value=1.0)"),
    beside(
        "slice-bounds",
        "X27",
        "nisa.memset(dst=a_t.slice(1, 0, 40, {{0||3}}), value=1.0)",
        target="trn3",
    ),
    beside("slice-bounds", "X28", "nisa.memset(dst=b_t.select(1, {{6||5}}), value=1.0)", _B, "0.6"),
    beside(
        "view-precondition",
        "X28",
        "nisa.dma_copy(dst=r[0:1], src=c.select(0, i_t[:, 0:1]).select(0, {{i_t[:, 1:2]||3}})"
        ".expand_dim(0))",
        _I,
    ),
    Row(
        "view-precondition",
        "X30",
        "a: float32[400, 40], i: int32[96, 1]",
        RESULT,
        "#bare\nindex = nl.ndarray((96, 1), dtype=nl.int32, buffer=nl.sbuf)\n"
        "nisa.dma_copy(dst=index, src=i)\n"
        "t = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.sbuf)\n"
        "nisa.dma_copy(dst=t, src=a.vector_select(0, index){{.view(nl.float32)||}})\n"
        "nisa.dma_copy(dst=out, src=t)",
        "0.6",
    ),
    Row(
        "view-precondition",
        "X45",
        "a: float32[400, 40], i: int32[1, 1]",
        RESULT,
        "#bare\nindex = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)\n"
        "nisa.dma_copy(dst=index, src=i)\n"
        "t = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.sbuf)\n"
        "nisa.dma_copy(dst=t, src=a.ap(pattern=[[40, 96], [1, 40]], scalar_offset=index, "
        "indirect_dim={{2||0}}))\n"
        "nisa.dma_copy(dst=out, src=t)",
        "0.6",
    ),
    Row(
        "view-precondition",
        "X29",
        "a: float32[400, 40], i: int32[96, {{2||1}}]",
        RESULT,
        "#bare\nindex = nl.ndarray((96, {{2||1}}), dtype=nl.int32, buffer=nl.sbuf)\n"
        "nisa.dma_copy(dst=index, src=i)\n"
        "t = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.sbuf)\n"
        "nisa.dma_copy(dst=t, src=a.vector_select(0, index))\n"
        "nisa.dma_copy(dst=out, src=t)",
        "0.6",
    ),
    Row(
        "dma-size",
        "DCP01",
        "a: float32[400, 40], i: int32[96, 1]",
        RESULT,
        "#bare\nindex = nl.ndarray((96, 1), dtype=nl.int32, buffer=nl.sbuf)\n"
        "nisa.dma_copy(dst=index, src=i)\n"
        "t = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.sbuf)\n"
        "nisa.dma_copy(dst=t, src=a.vector_select(0, index[0:{{64||96}}]))\n"
        "nisa.dma_copy(dst=out, src=t)",
        "0.5",
        "trn3",
    ),
    Row(
        "view-precondition",
        "X29",
        "a: float32[400, 40], i: int32[96, 1]",
        RESULT,
        "#bare\nindex = nl.ndarray((96, 1), dtype=nl.int32, buffer=nl.{{private_hbm||sbuf}})\n"
        "nisa.dma_copy(dst=index, src=i)\n"
        "t = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.sbuf)\n"
        "nisa.dma_copy(dst=t, src=a.vector_select(0, index))\n"
        "nisa.dma_copy(dst=out, src=t)",
        "0.5",
    ),
    Row(
        "operand-buffers",
        "L30",
        "a: float32[96, 40]",
        "float32[96, 40]",
        "#bare\nt = nl.load(a)\n"
        "u = nl.broadcast_to({{a||t}}[:, 0:1], shape=(96, 40))\nnl.store(out, u)",
        "0.4",
    ),
    Row(
        "language-broadcast",
        "L30",
        "a: float32[96, 5, 40]",
        "float32[96, 5, 40]",
        "#bare\nt = nl.load(a)\n"
        "u = nl.broadcast_to(t[:, {{0||0:1}}, :], shape=(96, 5, 40))\nnl.store(out, u)",
        "0.5",
    ),
)

# ---------------------------------------------------------------------------- ranks, sums

_RANKS: Final = """\
#bare
sent = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.hbm)
got = nl.ndarray((384, 40), dtype=nl.float32, buffer=nl.hbm)
nisa.dma_copy(dst=sent, src=a)
group = ncc.ReplicaGroup([[0, 1, 2, 3]])
ncc.{call}
nisa.dma_copy(dst=out, src=got)
"""
_GATHER_V: Final = "all_gather_v(srcs=[{}], dsts=[got], replica_group=group, metadata_tensor={}{})"
_ALL_V: Final = "all_to_all_v(srcs=[sent], dsts=[{}], replica_group=group, metadata_tensor={}{})"
_C: Final = "a: float32[96, 40], c: uint32[3, 4]"


def _ranked(
    rule: str, fact: str, call: str, inputs: str = _C, target: str = "trn2", before: str = ""
) -> Row:
    body = _RANKS.format(call=call)
    if before:
        body = body.replace("ncc.", f"{before}\nncc.", 1)
    return Row(rule, fact, inputs, "float32[384, 40]", body, "0.6", target)


RANKS: Final = (
    _ranked("collective-operands", "K06", _GATHER_V.format("sent{{, sent||}}", "c", "")),
    _ranked(
        "operand-dtype",
        "K06",
        _GATHER_V.format("sent", "c", ""),
        "a: float32[96, 40], c: {{int32||uint32}}[3, 4]",
    ),
    _ranked(
        "collective-operands",
        "K06",
        _GATHER_V.format("sent", "c", ""),
        "a: float32[96, 40], c: uint32[{{4||3}}, 4]",
        "trn3",
    ),
    _ranked(
        "collective-operands",
        "K06",
        _ALL_V.format("got", "c", ", has_rdispls={{True||False}}"),
        "a: float32[96, 40], c: uint32[3, 4]",
        "trn3",
    ),
    _ranked(
        "collective-operands",
        "K06",
        _GATHER_V.format("sent", "held", ""),
        before="held = nl.ndarray(({{3, 4||1, 3, 4}}), dtype=nl.uint32, buffer=nl.sbuf)\n"
        "nisa.memset(dst=held, value=7)",
    ),
    _ranked(
        "collective-operands",
        "K06",
        _GATHER_V.format("{{a_t||sent}}", "c", ""),
        before="a_t = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.sbuf)\n"
        "nisa.dma_copy(dst=a_t, src=a)",
    ),
    _ranked(
        "collective-operands",
        "K07",
        _GATHER_V.format("sent", "c", "{{, has_rdispls=True||}}"),
        "a: float32[96, 40], c: uint32[{{4||3}}, 4]",
    ),
)

_TWICE: Final = """\
acc = nl.ndarray((40, 72), dtype=nl.float32, buffer=nl.psum)
one = nl.ndarray((40, 72), dtype=nl.float32, buffer=nl.sbuf)
nisa.nc_matmul(dst=acc, stationary=s_t, moving=m_t)
nisa.tensor_copy(dst=one, src=acc)
nisa.nc_matmul(dst=acc, stationary=s_t, moving=m_t{{||, accumulate=False}})
nisa.tensor_tensor(dst=r, data1=one, data2=acc, op=nl.subtract)
"""

SUMS: Final = (
    Row(
        "psum-accumulation",
        "MMU27",
        "s: bfloat16[96, 40], m: bfloat16[96, 72]",
        "float32[40, 72]",
        _TWICE,
        "0.5",
    ),
)

ALONE: Final = (
    _row(
        "accumulator-unread",
        "AC06",
        f"{_ONE}nisa.activation(dst=r, op=nl.exp, data=a_t, reduce_op=nl.add, "
        f"{_RESET}{{{{||, reduce_res=sums}}}})",
    ),
    Row(
        "load-store-operands",
        "L20",
        "a: float32[96, 40], v: float32[96]",
        RESULT,
        "#bare\nt = nl.load(a)\nu = nl.load({{v||v.reshape((96, 1))}})\nnl.store(out, t)",
        "0.4",
    ),
    Row(
        "api-removed",
        "L55",
        INPUT,
        RESULT,
        "u = {{a_t - a_t||a_t}}\nnisa.tensor_copy(dst=r, src=a_t)",
        "0.6",
        "trn3",
    ),
    Row(
        "api-removed",
        "L55",
        INPUT,
        RESULT,
        "{{a_t += a_t||pass}}\nnisa.tensor_copy(dst=r, src=a_t)",
        "0.2",
    ),
    Row(
        "api-removed",
        "L55",
        INPUT,
        RESULT,
        "{{a_t[:, 0:8] *= 2.0||pass}}\nnisa.tensor_copy(dst=r, src=a_t)",
        "0.6",
    ),
)

ROWS: Final = (*ALONE, *DESCRIPTORS, *COMMANDS, *VIEWS, *RANKS, *SUMS)
