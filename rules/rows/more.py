"""Rows that another row decides with: what an instruction needs of target, types and memories."""

from __future__ import annotations

from typing import Final

from rules.rows.frames import COPIED, INPUT, RESULT, Row

_GEN4: Final = "if {{True||nisa.get_nc_version() >= nisa.nc_version.gen4}}:\n    "
_GEN3: Final = _GEN4.replace("gen4", "gen3")
_SEEDS: Final = (
    "seeds = nl.ndarray((96, {}), dtype=nl.uint32, buffer=nl.sbuf)\n"
    "nisa.memset(dst=seeds, value=7)\n"
)
_PRODUCT: Final = (
    "acc = nl.ndarray((40, 256), dtype=nl.float32, buffer=nl.psum)\n"
    "m = nl.ndarray((96, 256), dtype=nl.float32, buffer=nl.sbuf)\n"
    "nisa.memset(dst=m, value=1.0)\n"
    "nisa.nc_matmul(dst=acc, stationary=a_t, moving=m)\n"
    "held = nl.ndarray((40, 256), dtype=nl.float32, buffer=nl.sbuf)\n"
    "nisa.tensor_copy(dst=held, src=acc)"
)


def _row(
    rule: str,
    fact: str,
    body: str,
    inputs: str = INPUT,
    api: str = "0.5",
    target: str = "trn2",
) -> Row:
    return Row(rule, fact, inputs, RESULT, COPIED + body, api, target)


_SHARED: Final = """\
#bare
both = nl.ndarray((2, 48, 40), dtype=nl.float32, buffer=nl.shared_hbm)
t = nl.ndarray((48, 40), dtype=nl.float32, buffer=nl.sbuf)
core, cores = nl.program_id(0), nl.num_programs(0)
assert cores == 2
nisa.dma_copy(dst=t, src=a[48 * core : 48 * core + 48])
nisa.dma_copy(dst=both[{own}], src=t)
{barrier}
nisa.dma_copy(dst=t, src=both[{other}])
nisa.dma_copy(dst=out[core], src=t)
"""
_BARRIER: Final = "nisa.core_barrier(data=both, cores=(0, 1))"


def _shared(fact: str, own: str, barrier: str, other: str, api: str) -> Row:
    body = _SHARED.format(own=own, barrier=barrier, other=other)
    return Row("loop-carried-dependence", fact, INPUT, "float32[2, 48, 40]", body, api, cores=2)


_DYNAMIC: Final = (
    "nisa.tensor_copy_dynamic_src(dst=r, src={}.ap(pattern=[[40, 96], [1, 40]], offset=0, "
    "scalar_offset=i_t))"
)

ROWS: Final = (
    _row(
        "sbuf-capacity",
        "H05",
        "held = nl.ndarray((96, {{44977||44976}}), dtype=nl.float32, "
        "buffer=nl.sbuf)\nnisa.memset(dst=held, value=0.0)\nnisa.tensor_copy(dst=r, src=a_t)",
        target="trn1",
    ),
    _row(
        "engine-choice",
        "H30",
        "nisa.tensor_scalar(dst=r, data=a_t, op0=nl.{{maximum||multiply}}, "
        "operand0=2.0, op1=nl.add, operand1=1.0, engine=nisa.engine.scalar)",
    ),
    _row(
        "free-size-mismatch",
        "H53",
        "nisa.dropout(dst=r[:, 0:{{39||40}}], data=a_t, prob=0.5)",
        target="trn1",
    ),
    _row(
        "target-feature",
        "H73",
        "nisa.activation(dst=r, op=nl.exp, data=a_t, bias={{0.5||None}})",
        target="trn1",
    ),
    _row(
        "start-partition",
        "P10",
        "nisa.tensor_copy(dst=r[{{28||32}}:{{60||64}}], src=a_t[0:32])",
        api="0.4",
    ),
    _row(
        "psum-bank-crossing",
        "B04",
        _PRODUCT.replace(
            "nisa.nc_matmul(", "acc = wide[:, {{384:640||512:768}}]\nnisa.nc_matmul("
        ).replace("acc = nl.ndarray((40, 256)", "wide = nl.ndarray((40, {{640||768}})"),
    ),
    _row(
        "operand-rank",
        "A08",
        "t = nl.ndarray((8, 2, 2, 2, 2), dtype=nl.float32, buffer=nl.sbuf)\n"
        "nisa.memset(dst=t, value=0.0)\nu = nl.ndarray((8, 2, 2, 2, 2), dtype=nl.float32, "
        "buffer=nl.sbuf)\nnisa.exponential(dst=u{{||[:, 0]}}, src=t{{||[:, 0]}}, max_value=1.0)",
        target="trn3",
    ),
    _row(
        "operator-kind",
        "T14",
        "nisa.tensor_scalar(dst=r, data=a_t, op0=nl.{{exp||minimum}}, operand0=2.0)",
    ),
    _row(
        "api-signature", "N01", "nisa.tensor_scalar({{data=a_t||r, a_t}}, op0=nl.add, operand0=2.0)"
    ),
    _row(
        "api-signature",
        "N03",
        "nisa.tensor_scalar(dst=r, data=a_t, op0=nl.add, operand0=2.0{{, mask=None||}})",
        api="0.3",
    ),
    _row(
        "view-precondition",
        "TI02",
        "nisa.tensor_copy(dst=r[:, 0:20], src=a_t.indirect({{i||i_t}}, num_elem=20))",
        "a: float32[96, 40], i: uint16[96, 40]",
        "0.5",
        "trn3",
    ),
    _row(
        "mx-matmul-shape",
        "MMX08",
        "acc = nl.ndarray((40, {{513||512}}), dtype=nl.float32, "
        "buffer=nl.psum)\nm = nl.ndarray((64, {{513||512}}), dtype=nl.float8_e4m3fn_x4, "
        "buffer=nl.sbuf)\nnisa.memset(dst=m, value=0)\n"
        "e = nl.ndarray((64, {{513||512}}), dtype=nl.uint8, buffer=nl.sbuf)\n"
        "nisa.memset(dst=e, value=0)\n"
        "nisa.nc_matmul_mx(dst=acc, stationary=m[:, 0:40], moving=m, stationary_scale=e[:, 0:40], "
        "moving_scale=e)",
        target="trn3",
    ),
    _row(
        "mx-matmul-shape",
        "MMX08",
        "acc = nl.ndarray((40, {{1025||512}}), dtype=nl.float32, "
        "buffer=nl.psum)\nm = nl.ndarray((64, {{1025||512}}), dtype=nl.float8_e4m3fn_x4, "
        "buffer=nl.sbuf)\nnisa.memset(dst=m, value=0)\n"
        "e = nl.ndarray((64, {{1025||512}}), dtype=nl.uint8, buffer=nl.sbuf)\n"
        "nisa.memset(dst=e, value=0)\n"
        "nisa.nc_matmul_mx(dst=acc, stationary=m[:, 0:40], moving=m, stationary_scale=e[:, 0:40], "
        "moving_scale=e)",
        target="trn3",
        api="0.4",
    ),
    _row(
        "mx-scale-start",
        "MMX11",
        "acc = nl.ndarray((40, 72), dtype=nl.float32, buffer=nl.psum)\n"
        "m = nl.ndarray((32, 72), dtype=nl.float8_e4m3fn_x4, buffer=nl.sbuf)\n"
        "nisa.memset(dst=m, value=0)\n"
        "e = nl.ndarray((32, 72), dtype=nl.uint8, buffer=nl.sbuf)\nnisa.memset(dst=e, value=0)\n"
        "nisa.nc_matmul_mx(dst=acc, stationary=m[:, 0:40], moving=m, "
        "stationary_scale=e[{{2||4}}:{{6||8}}, 0:40], moving_scale=e[0:4])",
        target="trn3",
    ),
    _row(
        "target-feature",
        "ACT06",
        "nisa.activation(dst=r, op=nl.exp, data=a_t, bias={{0.5||None}})",
        target="trn1",
        api="0.4",
    ),
    Row(
        "reduce-axes",
        "RED08",
        "a: float32[24, 4, 5, 8]",
        "float32[24, {{8||4}}]",
        "nl.store(out, nisa.tensor_reduce(np.add, a_t, axis=[{{1, 2||2, 3}}]))",
        "beta1",
        "trn1",
    ),
    Row(
        "reduce-axes",
        "RED08",
        "a: float32[24, 4, 7]",
        "float32[24, {{7||4}}]",
        "nl.store(out, nisa.tensor_reduce(np.add, a_t, axis=({{1||2}},)))",
        "beta1",
        "trn1",
    ),
    _row(
        "target-feature",
        "QMX01",
        "x4 = nl.ndarray((96, 10), dtype=nl.float8_e4m3fn_x4, "
        "buffer=nl.sbuf)\ne = nl.ndarray((96, 10), dtype=nl.uint8, buffer=nl.sbuf)\n"
        + _GEN4
        + "nisa.quantize_mx(dst=x4, src=q_t, dst_scale=e)",
        "a: float32[96, 40], q: bfloat16[96, 40]",
    ),
    _row(
        "target-feature",
        "NZC01",
        "n = nl.ndarray((16, 41), dtype=nl.int32, buffer=nl.sbuf)\n"
        + _GEN3
        + "nisa.nonzero_with_count(dst=n, src=i_t)",
        "a: float32[96, 40], i: int32[16, 40]",
        target="trn1",
    ),
    _row(
        "operand-dtype",
        "RNG01",
        "n = nl.ndarray((96, 40), dtype=nl.{{bfloat16||int16}}, buffer=nl.sbuf)\nnisa.rng(dst=n)",
        api="0.4",
    ),
    _row(
        "engine-choice",
        "RNG02",
        "n = nl.ndarray((96, 40), dtype=nl.uint32, buffer=nl.sbuf)\n"
        "nisa.rng(dst=n, engine=nisa.engine.{{gpsimd||vector}})",
        target="trn1",
    ),
    _row("target-feature", "RND01", _GEN4 + "nisa.rand2(dst=r, min=0.0, max=9.0)"),
    _row(
        "random-state", "RSS01", _SEEDS.format("{{7||6}}") + "nisa.rand_set_state(src_seeds=seeds)"
    ),
    _row(
        "random-state",
        "RGT01",
        "seeds = nl.ndarray((96, {{24||6}}), dtype=nl.uint32, "
        "buffer=nl.sbuf)\nnisa.rand_get_state(dst=seeds)",
    ),
    Row(
        "dma-dtype",
        "DTR03",
        "x: bfloat16[96, 64]",
        "bfloat16[64, 96]",
        "#bare\nt = nl.ndarray((64, 96), dtype=nl.{{float32||bfloat16}}, buffer=nl.sbuf)\n"
        "nisa.dma_transpose(dst=t, src=x)\nnisa.dma_copy(dst=out, src=t)",
        "0.5",
    ),
    Row(
        "dma-buffers",
        "DCM03",
        "a: float32[96, 40]@psum, b: float32[96, 40]",
        RESULT,
        "nisa.dma_compute(dst=r, srcs=[{{a_p||a_t}}, b], reduce_op=nl.add)",
        "0.5",
    ),
    _row(
        "register-operand",
        "REG04",
        "n = nl.ndarray((1, {{2||1}}), dtype=nl.int32, "
        "buffer=nl.sbuf)\nheld = nisa.register_alloc(3)\nnisa.register_store(n, held)",
    ),
    _shared("BAR03", "core", "{{||" + _BARRIER + "}}", "1 - core", "0.5"),
    _shared("L65", "{{0||core}}", _BARRIER, "core", "0.4"),
    Row(
        "free-size-mismatch",
        "OLD01",
        "a: float32[96, 40], i: int32[1, 1]",
        RESULT,
        COPIED + _DYNAMIC.format("a_t").replace("dst=r", "dst=r[:, 0:{{39||40}}]"),
        "0.3",
    ),
    Row(
        "api-removed",
        "OLD02",
        INPUT,
        RESULT,
        "{{nisa.builtin_custom_op('f', 'l', 1, 1, [a_t], [r])||pass}}\n" + COPIED,
        "0.2",
    ),
    Row(
        "api-signature",
        "OLD04",
        INPUT,
        RESULT,
        COPIED + "nisa.dma_copy(dst=r, src=a{{, dst_rmw_op=nl.add||}})",
        "0.4",
    ),
    Row(
        "oob-mode",
        "OLD04",
        "a: float32[96, 40], c: float32[400, 40], i: int32[96, 1]",
        "float32[400, 40]",
        "#bare\nindex = nl.ndarray((96, 1), dtype=nl.int32, buffer=nl.sbuf)\n"
        "nisa.dma_copy(dst=index, src=i)\n"
        "t = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.sbuf)\n"
        "nisa.dma_copy(dst=t, src=a)\nnisa.dma_copy(dst=out, src=c)\n"
        "nisa.dma_copy(dst=out.ap(pattern=[[40, 96], [1, 40]], offset=0, vector_offset=index, "
        "indirect_dim=0), src=t, dst_rmw_op=nl.add, oob_mode=nisa.oob_mode.{{skip||error}})",
        "0.2",
    ),
    _row(
        "operator-kind",
        "OLD04",
        "nisa.dma_copy(dst=r, src=a, dst_rmw_op=nl.{{multiply||add}})",
        api="0.2",
    ),
    _row(
        "dma-compute",
        "DCM10",
        "held = []\nfor k in range(34):\n"
        "    t = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.sbuf)\n"
        "    nisa.dma_copy(dst=t, src=a)\n    held.append(t)\n"
        "nisa.dma_compute(dst=r, srcs=held[{{::2||1:32:2}}], reduce_op=nl.add)",
        api="0.6",
    ),
)
