"""Rows of transfers, of cores and ranks, and of random numbers: sections (c.8) to (c.12)."""

from __future__ import annotations

from typing import Final

from rules.rows.frames import COPIED, INPUT, RESULT, Row, beside, made

_GUARD: Final = "if {{True||nisa.get_nc_version() >= nisa.nc_version.GEN}}:\n    "


def _guarded(
    fact: str,
    generation: str,
    body: str,
    inputs: str = INPUT,
    target: str = "trn1",
    api: str = "0.5",
    rule: str = "target-feature",
) -> Row:
    first, _, last = body.rpartition("\n")
    guard = _GUARD.replace("GEN", generation)
    return beside(rule, fact, f"{first}\n{guard}{last}", inputs, api, target)


# ---------------------------------------------------------------------------- transposition

_TURNED: Final = "nisa.dma_transpose(dst={}, src={}{})"


def _turned(
    rule: str,
    fact: str,
    source: str,
    result: str,
    more: str = "",
    api: str = "0.5",
    target: str = "trn2",
    src: str = "x",
) -> Row:
    return Row(
        rule,
        fact,
        f"x: {source}",
        result,
        f"#bare\n{made('t', *_parts(result))}"
        f"nisa.dma_transpose(dst=t, src={src}{more})\nnisa.dma_copy(dst=out, src=t)",
        api,
        target,
    )


def _parts(text: str) -> tuple[str, str]:
    dtype, _, shape = text.rstrip("]").rpartition("[")
    return shape, dtype


_BY_ROWS: Final = """\
#bare
index = nl.ndarray(({rows}, 1), dtype=nl.uint32, buffer=nl.sbuf)
nisa.dma_copy(dst=index, src=i)
t = nl.ndarray(({columns}, {rows}), dtype=nl.{dtype}, buffer=nl.sbuf)
nisa.dma_transpose(
    dst=t,
    src=x.ap(pattern=[[{columns}, {rows}], [1, {columns}]], offset=0, vector_offset=index,
             indirect_dim=0),{more}
)
nisa.dma_copy(dst=out, src=t)
"""


def _by_rows(
    rule: str,
    fact: str,
    rows: str = "96",
    columns: str = "64",
    dtype: str = "bfloat16",
    more: str = "",
    api: str = "0.5",
    target: str = "trn2",
) -> Row:
    return Row(
        rule,
        fact,
        f"x: {dtype}[400, {columns}], i: uint32[{rows}, 1]",
        f"{dtype}[{columns}, {rows}]",
        _BY_ROWS.format(rows=rows, columns=columns, dtype=dtype, more=more),
        api,
        target,
    )


_HWDGE: Final = ", dge_mode=nisa.dge_mode.hwdge"

TRANSPOSITION: Final = (
    _turned(
        "dma-transpose-shape",
        "DTR01",
        "bfloat16[96, 64]",
        "bfloat16[64, 96]",
        ", axes={{(0, 1)||(1, 0)}}",
    ),
    _turned(
        "dma-transpose-size",
        "DTR04",
        "bfloat16[96, 64]",
        "bfloat16[64, 96]",
        ", dge_mode=nisa.dge_mode.{{swdge||unknown}}",
        "0.4",
    ),
    _turned(
        "dma-transpose-size",
        "DTR06",
        "{{float32||bfloat16}}[16, 64]",
        "{{float32||bfloat16}}[64, 16]",
        _HWDGE,
        "0.6",
    ),
    _by_rows("dma-transpose-size", "DTR07", dtype="{{float32||bfloat16}}"),
    _by_rows("dma-transpose-size", "DTR08", rows="{{40||48}}"),
    Row(
        "dge-mode",
        "H75",
        "x: float32[400, 40], i: int32[96, 1]",
        RESULT,
        "#bare\nindex = nl.ndarray((96, 1), dtype=nl.int32, buffer=nl.sbuf)\n"
        "nisa.dma_copy(dst=index, src=i)\n"
        "t = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.sbuf)\n"
        "nisa.dma_copy(dst=t, src={{x.ap(pattern=[[40, 96], [1, 40]], offset=0, "
        "vector_offset=index, indirect_dim=0)||x[0:96]}})\n"
        "nisa.dma_copy(dst=out, src=t)",
        "0.5",
        "trn1",
    ),
    _turned(
        "oob-mode",
        "DTR11",
        "bfloat16[96, 64]",
        "bfloat16[64, 96]",
        ", oob_mode=nisa.oob_mode.{{skip||error}}",
    ),
)

# ---------------------------------------------------------------------------- other transfers

_ADDED: Final = "a: float32[96, 40], b: float32[96, 40]"
_ADDITION: Final = "nisa.dma_compute(dst=r, srcs=[a, {}], reduce_op=nl.add{})"

TRANSFERS: Final = (
    Row(
        "dge-mode",
        "DCP04",
        INPUT,
        RESULT,
        "nisa.dma_copy(dst=r, src=a, engine=nisa.engine.scalar, "
        "dge_mode=nisa.dge_mode.{{swdge||hwdge}})",
        "0.5",
    ),
    Row(
        "dge-mode",
        "H74",
        INPUT,
        RESULT,
        "nisa.dma_copy(dst=r, src=a, dge_mode=nisa.dge_mode.{{hwdge||unknown}})",
        "0.4",
        "trn1",
    ),
    Row(
        "dma-priority", "H88", INPUT, RESULT, "nisa.dma_copy(dst=r, src=a{{, priority=1||}})", "0.4"
    ),
    Row("dma-size", "DCM02", _ADDED, RESULT, _ADDITION.format("b[:, 0:{{39||40}}]", ""), "0.5"),
    Row(
        "oob-mode",
        "DCM09",
        _ADDED,
        RESULT,
        _ADDITION.format("b", ", oob_mode=nisa.oob_mode.{{skip||error}}"),
        "0.4",
    ),
    Row(
        "dma-compute",
        "DCM04",
        f"{_ADDED}, i: int32[96, 1]",
        RESULT,
        "nisa.dma_copy(dst=r, src=a)\nnisa.dma_compute(dst=r, srcs=[b.ap(pattern=[[40, 96], "
        "[1, 40]], offset=0, vector_offset=i_t, indirect_dim=0), r], reduce_op=nl.add, "
        "unique_indices={{False||True}})",
        "0.5",
    ),
    Row(
        "view-precondition",
        "DCP07",
        "a: float32[400, 40], i: int32[96, 1]",
        RESULT,
        "#bare\nindex = nl.ndarray((96, 1), dtype=nl.int32, buffer=nl.sbuf)\n"
        "nisa.dma_copy(dst=index, src=i)\n"
        "t = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.sbuf)\n"
        "nisa.dma_copy(dst=t, src=a.ap(pattern=[[40, 96], [1, 40]], offset=0, "
        "{{scalar_offset=index, ||}}vector_offset=index, indirect_dim=0))\n"
        "nisa.dma_copy(dst=out, src=t)",
        "0.4",
    ),
)

# ---------------------------------------------------------------------------- cores

_SHARED: Final = made("both", "96, 40", memory="shared_hbm")
_SEND: Final = (
    "nisa.sendrecv(src={}, dst=got, send_to_rank={}, recv_from_rank=1 - nl.program_id(0), "
    "pipe_id={}{})"
)
_GOT: Final = "got = nl.ndarray(a.shape, dtype=nl.float32, buffer=nl.sbuf)\n"
_OTHER: Final = "1 - nl.program_id(0)"


def _sent(src: str = "a_t", to: str = _OTHER, pipe: str = "0", more: str = "") -> str:
    return f"{COPIED}{_GOT}if nl.num_programs(0) == 2:\n    " + _SEND.format(src, to, pipe, more)


CORES: Final = (
    Row(
        "core-barrier-divergence",
        "BAR02",
        INPUT,
        RESULT,
        f"{COPIED}{_SHARED}nisa.dma_copy(dst=both, src=a)\n"
        "if nl.{{program_id(0) == 0||num_programs(0) == 2}}:\n"
        "    nisa.core_barrier(data=both, cores=(0, 1))",
        "0.5",
        cores=2,
    ),
    Row(
        "core-barrier-divergence",
        "L64",
        INPUT,
        RESULT,
        f"{COPIED}{_SHARED}nisa.dma_copy(dst=both, src=a)\n"
        "if nl.num_programs(0) == 2:\n    if nl.{{program_id(0) == 1||num_programs(0) == 2}}:\n"
        "        nisa.core_barrier(data=both, cores=(0, 1))",
        "0.4",
        cores=2,
    ),
    Row(
        "core-barrier-divergence",
        "SRV04",
        INPUT,
        RESULT,
        _sent(pipe="{{nl.program_id(0)||0}}"),
        "0.5",
        cores=2,
    ),
    Row(
        "sendrecv", "SRV01", INPUT, RESULT, _sent(to="{{2||1 - nl.program_id(0)}}"), "0.6", cores=2
    ),
    Row(
        "sendrecv",
        "SRV03",
        "a: float32[96, {{257||256}}]",
        "float32[96, {{257||256}}]",
        _sent(more=", dma_engine=nisa.dma_engine.gpsimd_dma"),
        "0.5",
        cores=2,
    ),
    Row(
        "sendrecv",
        "M099",
        "a: float32[{{72||80}}, 40]",
        "float32[{{72||80}}, 40]",
        _sent(more=", dma_engine=nisa.dma_engine.gpsimd_dma"),
        "0.3",
        cores=2,
    ),
    _guarded("H77", "gen3", _GOT + _SEND.format("a_t", "0", "0", "").replace(_OTHER, "0")),
)

# ---------------------------------------------------------------------------- ranks

_RANKS: Final = """\
#bare
sent = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.hbm)
nisa.dma_copy(dst=sent, src=a)
group = ncc.ReplicaGroup([[0, 1, 2, 3]])
{}
"""


def _ranked(
    rule: str,
    fact: str,
    call: str,
    inputs: str = INPUT,
    api: str = "0.5",
    target: str = "trn2",
    out: str = RESULT,
) -> Row:
    return Row(rule, fact, inputs, out, _RANKS.format(call), api, target)


_HELD: Final = (
    "held = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.sbuf)\n"
    "nisa.dma_copy(dst=held, src=a)\n"
    "got = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.sbuf)\n"
)

RANKS: Final = (
    _ranked(
        "operator-kind",
        "K02",
        "ncc.all_reduce(srcs=[sent], dsts=[out], replica_group=group, op=nl.{{multiply||maximum}})",
    ),
    _ranked(
        "collective-operands",
        "K03",
        "ncc.all_gather(srcs=[sent], dsts=[out], replica_group=group, collective_dim={{1||0}})",
        out="float32[384, 40]",
    ),
    _ranked(
        "collective-operands",
        "K04",
        "ncc.reduce_scatter(srcs=[sent], dsts=[out], "
        "replica_group=group, collective_dim={{1||0}}, op=nl.add)",
        out="float32[24, 40]",
    ),
    _ranked(
        "collective-operands",
        "K05",
        "ncc.all_to_all(srcs=[sent], dsts=[out], replica_group=group, collective_dim={{1||0}})",
        api="0.4",
    ),
    _ranked(
        "collective-operands",
        "K09",
        "ncc.collective_permute(srcs=[sent], "
        "dsts=[{{out, out||out}}], source_target_pairs=[[0, 1], [1, 0]])",
    ),
    _ranked(
        "collective-channels",
        "K10",
        "ncc.collective_permute_implicit([[sent]], [[out]], "
        "replica_group=group, channel_ids={{[0, 1]||[0]}})",
        api="0.6",
    ),
    _ranked(
        "collective-channels",
        "K11",
        "rank = ncc.collective_permute_implicit_current_"
        "processing_rank_id(0, group, channel_id={{4||3}})\n"
        "nisa.dma_copy(dst=out, src=a)",
        api="0.4",
    ),
    _ranked(
        "api-signature",
        "K11",
        "rank = ncc.collective_permute_implicit_current_"
        "processing_rank_id(0, group{{, num_channels=1||}})\n"
        "nisa.dma_copy(dst=out, src=a)",
        api="0.5",
    ),
    _ranked(
        "target-feature",
        "K08",
        "ncc.all_to_all_v(srcs=[sent], dsts=[out], "
        "replica_group=group, metadata_tensor=c, has_rdispls={{True||False}})",
        "a: float32[96, 40], c: uint32[{{4||3}}, 4]",
        "0.4",
    ),
    _ranked(
        "dma-priority",
        "K12",
        "ncc.all_reduce(srcs=[sent], dsts=[out], replica_group=group, "
        "op=nl.add, priority={{4||3}})",
        api="0.4",
        target="trn3",
    ),
)

# ---------------------------------------------------------------------------- random numbers

RANDOM: Final = (
    _guarded(
        "H79",
        "gen3",
        made("n", "96, 40", "uint32") + "nisa.rng(dst=n, engine=nisa.engine.gpsimd)",
        rule="engine-choice",
    ),
    beside(
        "engine-choice",
        "N33",
        made("n", "96, 40", "uint32") + "nisa.rng(dst=n, engine=nisa.engine.{{scalar||vector}})",
        api="0.4",
    ),
    _guarded(
        "H78",
        "gen3",
        made("seeds", "96, 6", "uint32") + "nisa.memset(dst=seeds, value=7)\n"
        "nisa.rand_set_state(src_seeds=seeds)",
    ),
    beside(
        "engine-choice",
        "N34",
        made("seeds", "96, 6", "uint32") + "nisa.memset(dst=seeds, value=7)\n"
        "nisa.rand_set_state(src_seeds=seeds, engine=nisa.engine.{{scalar||gpsimd}})",
    ),
    beside(
        "engine-choice",
        "RSS02",
        made("seeds", "96, {{24||6}}", "uint32") + "nisa.memset(dst=seeds, value=7)\n"
        "nisa.rand_set_state(src_seeds=seeds, engine=nisa.engine.{{vector||gpsimd}})",
    ),
    beside(
        "random-state",
        "H89",
        made("seeds", "96, 6", "uint32", "{{psum||sbuf}}") + "nisa.rand_get_state(dst=seeds)",
    ),
    _guarded(
        "H76",
        "gen3",
        made("n", "16, 41", "int32") + "nisa.nonzero_with_count(dst=n, src=i_t)",
        "a: float32[96, 40], i: int32[16, 40]",
    ),
    _guarded(
        "H82",
        "gen4",
        "nisa.quantize_mx(dst=q_t, src=b_t, dst_scale=e_t)",
        "a: float32[96, 40], b: bfloat16[96, 40], q: float8_e4m3fn_x4[96, 10], e: uint8[96, 10]",
        "trn2",
    ),
    _guarded(
        "MMX01",
        "gen4",
        made("p", "40, 40", memory="psum")
        + "nisa.nc_matmul_mx(dst=p, stationary=q_t, moving=q_t, stationary_scale=e_t, "
        "moving_scale=e_t)",
        "a: float32[96, 40], q: float8_e4m3fn_x4[64, 40], e: uint8[64, 40]",
        "trn2",
    ),
)

ROWS: Final = (*TRANSPOSITION, *TRANSFERS, *CORES, *RANKS, *RANDOM)
