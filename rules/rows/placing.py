"""Rows about partitions, memories and access patterns: catalogue section (b)."""

from __future__ import annotations

from typing import Final

from rules.rows.frames import Row

_X: Final = "x: float32[96, 40]"
_OUT: Final = "float32[96, 40]"
_COPY: Final = "nisa.tensor_copy(dst=r, src=x_t)"
_HELD: Final = "held = nl.ndarray(({}), dtype=nl.{}, buffer=nl.{})"


def _row(
    rule: str, fact: str, body: str, api: str = "0.5", target: str = "trn2", **more: str
) -> Row:
    return Row(
        rule, fact, more.get("x", _X), more.get("out", _OUT), body, api, target, more.get("up", "")
    )


def _spare(
    rule: str,
    fact: str,
    shape: str,
    api: str,
    target: str,
    dtype: str = "float32",
    memory: str = "sbuf",
    more: str = "",
) -> Row:
    """A tile that is made and filled besides."""
    tile = f"held = nl.ndarray(({shape}), dtype=nl.{dtype}, buffer=nl.{memory}{more})"
    return _row(rule, fact, f"{tile}\nnisa.memset(dst=held, value=0)\n{_COPY}", api, target)


def _start(fact: str, start: str, rows: int, target: str = "trn2", api: str = "0.5") -> Row:
    """Rows of a tile that begin at a partition are copied."""
    part = f"nisa.tensor_copy(dst=r[0:{rows}], src=x_t[{start}:{start}+{rows}])"
    return _row(
        "start-partition",
        fact,
        f"{part}\nnisa.tensor_copy(dst=r, src=x_t)",
        api,
        target,
        x="x: float32[128, 40]",
        out="float32[128, 40]",
    )


def _placed(fact: str, rule: str, address: str, target: str, shape: str = "96, 40") -> Row:
    memory = "psum" if rule.startswith("psum") else "sbuf"
    tile = (
        f"held = nl.ndarray(({shape}), dtype=nl.float32, buffer=nl.{memory}, address=({address}))"
    )
    return _row(rule, fact, f"{tile}\nnisa.memset(dst=held, value=0)\n{_COPY}", "0.5", target)


def _pattern(fact: str, rule: str, pattern: str, target: str = "trn2", api: str = "0.5") -> Row:
    return _row(
        rule,
        fact,
        f"nisa.tensor_copy(dst=r, src=x_t)\n"
        f"nisa.tensor_copy(dst=r[0:64, 0:20], src=x_t.ap(pattern={pattern}, offset=0))",
        api,
        target,
    )


def _moved(fact: str, rule: str, more: str, api: str, target: str) -> Row:
    return _row(rule, fact, f"nisa.dma_copy(dst=r, src=x{more})", api, target)


_BETA1_PLACED: Final = """\
tile = nl.ndarray((nl.par_dim(96), 40), dtype=nl.float32, buffer=ncc.{})
tile[...] = nl.load(x)
nl.store(out, tile)
"""


def _beta1(fact: str, rule: str, body: str, **more: str) -> Row:
    return _row(rule, fact, f"#bare\n{body}", "beta1", "trn1", **more)


ROWS: Final = (
    # ---------------------------------------------------------------------------- partitions
    _spare("tile-rank", "P02", "{{96,||96, 1}}", "0.4", "trn2"),
    _start("P04", "{{32||0}}", 96),
    _start("P05", "{{32||64}}", 48, "trn1", "0.2"),
    _start("P06", "{{16||96}}", 16, "trn3", "0.6"),
    _start("P08", "{{96||64}}", 64),
    _row(
        "shuffle-mask",
        "P11",
        "nisa.tensor_copy(dst=r, src=x_t)\n"
        "nisa.nc_stream_shuffle(dst=r[{{32||0}}:{{96||64}}], src=x_t[0:64], "
        "shuffle_mask=list(range(32)))",
        "0.5",
    ),
    _row(
        "matmul-contraction",
        "P12",
        "acc = nl.ndarray((40, 40), dtype=nl.float32, buffer=nl.psum)\n"
        "nisa.nc_matmul(dst=acc, stationary=x_t, moving=x_t[0:{{64||96}}])\n"
        "nisa.tensor_copy(dst=r[0:40], src=acc)\nnisa.tensor_copy(dst=r, src=x_t)",
        "0.6",
    ),
    _row(
        "view-precondition",
        "P13",
        "turned = x_t.permute({{(1, 0, 2)||(0, 2, 1)}})\n"
        "r2 = nl.ndarray(turned.shape, dtype=nl.float32, buffer=nl.sbuf)\n"
        "nisa.tensor_copy(dst=r2, src=turned)\nnisa.tensor_copy(dst=r, src=x_t)",
        "0.5",
        x="x: float32[16, 4, 10]",
        out="float32[16, 4, 10]",
    ),
    _row(
        "gather-shape",
        "P14",
        "index = nl.ndarray(({{40||48}}, 2), dtype=nl.uint16, buffer=nl.sbuf)\n"
        "nisa.memset(dst=index, value=0)\n"
        "nisa.local_gather(dst=r[0:{{40||48}}, 0:32], src_buffer=x_t[0:{{40||48}}], index=index)\n"
        "nisa.tensor_copy(dst=r, src=x_t)",
        "0.5",
    ),
    _row(
        "quantize-shape",
        "P15",
        "#bare\n"
        "t = nl.ndarray(({{48||64}}, 40), dtype=nl.bfloat16, buffer=nl.sbuf)\n"
        "nisa.memset(dst=t, value=1.0)\n"
        "packed = nl.ndarray(({{48||64}}, 10), dtype=nl.float8_e4m3fn_x4, buffer=nl.sbuf)\n"
        "scales = nl.ndarray(({{48||64}}, 10), dtype=nl.uint8, buffer=nl.sbuf)\n"
        "nisa.quantize_mx(dst=packed, src=t, dst_scale=scales)\n"
        "nisa.dma_copy(dst=out, src=x)",
        "0.5",
        "trn3",
    ),
    _beta1(
        "P17",
        "language-broadcast",
        "t = nl.load(x)\nnl.store(out, t + {{nl.load(x[0:1, :])||nl.load(x)}})",
    ),
    # ---------------------------------------------------------------------------- capacity
    _spare("sbuf-tile-size", "B01", "96, {{65000||20000}}", "0.4", "trn1"),
    _placed("B02", "sbuf-placement", "0, {{180096||180064}}", "trn1"),
    _spare("psum-tile-size", "B05", "96, {{4097||4096}}", "0.5", "trn3", memory="psum"),
    _placed("B07", "psum-placement", "0, {{1024||2048}}", "trn2"),
    _beta1(
        "B08",
        "psum-placement",
        "tile = nl.ndarray((nl.par_dim(96), 40), dtype=nl.float32, "
        "buffer=ncc.psum.mod_alloc(base_bank=0, base_addr={{512||0}}))\n"
        "tile[...] = nl.copy(nl.load(x))\nnl.store(out, tile)",
    ),
    _beta1(
        "B09",
        "sbuf-placement",
        _BETA1_PLACED.format("sbuf.mod_alloc(base_addr=0, base_partition={{32||0}})"),
    ),
    _beta1(
        "B13",
        "direct-allocation",
        "tile = nl.ndarray((nl.par_dim(96), 40), dtype=nl.float32, "
        "buffer=ncc.sbuf.mod_alloc(base_addr=0))\n"
        "tile[...] = nl.load(x)\n"
        "{{kept = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.hbm)||kept = out}}\n"
        "nl.store(kept, tile)\nnl.store(out, tile)",
    ),
    _row(
        "address-overlap",
        "B14",
        "a = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.sbuf, address=(0, 0))\n"
        "b = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.sbuf, address=(0, {{128||160}}))\n"
        "nisa.memset(dst=a, value=1.0)\nnisa.memset(dst=b, value=2.0)\n"
        "nisa.tensor_tensor(dst=r, data1=a, data2=b, op=nl.add)",
        "0.4",
    ),
    _beta1(
        "B15",
        "tile-displaced",
        "tiles = nl.ndarray((4, nl.par_dim(96), 40), dtype=nl.float32, "
        "buffer=ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=({{2||4}},)))\n"
        "for k in nl.affine_range(4):\n    tiles[k] = nl.load(x)\n"
        "for k in nl.affine_range(4):\n    nl.store(out[k], tiles[k])",
        out="float32[4, 96, 40]",
    ),
    _row(
        "output-buffer",
        "B17",
        "#bare\n"
        "t = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.sbuf)\n"
        "nisa.dma_copy(dst=t, src=x)\nnisa.dma_copy(dst=out, src=t)\n{{return t||pass}}",
        "0.3",
    ),
    _row(
        "output-buffer",
        "B18",
        "#bare\n"
        "y = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.{{hbm||shared_hbm}})\n"
        "t = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.sbuf)\n"
        "nisa.dma_copy(dst=t, src=x)\nnisa.dma_copy(dst=y, src=t)\n"
        "nisa.dma_copy(dst=out, src=t)\nreturn out, y",
        "0.4",
    ),
    _row(
        "output-not-written",
        "B19",
        "#bare\n"
        "t = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.sbuf)\n"
        "nisa.dma_copy(dst=t, src=x)\nnisa.dma_copy(dst=out[:, 0:{{39||40}}], "
        "src=t[:, 0:{{39||40}}])",
        "0.6",
        "trn3",
    ),
    _row(
        "uninitialised-read",
        "B20",
        "held = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.sbuf)\n"
        "nisa.dma_copy(dst=held[:, 0:{{39||40}}], src=x[:, 0:{{39||40}}])\n"
        "nisa.tensor_tensor(dst=r, data1=x_t, data2=held, op=nl.add)",
        "0.5",
    ),
    _placed("B22", "sbuf-placement", "0, {{33||64}}", "trn2"),
    _row(
        "psum-banks",
        "B24",
        "wide = nl.ndarray((96, 512), dtype=nl.float32, buffer=nl.sbuf)\n"
        "nisa.memset(dst=wide, value=1.0)\nsums = []\n"
        "for k in range({{9||8}}):\n"
        "    acc = nl.ndarray((40, 512), dtype=nl.float32, buffer=nl.psum)\n"
        "    nisa.nc_matmul(dst=acc, stationary=x_t, moving=wide)\n"
        "    sums.append(acc)\n"
        "nisa.tensor_copy(dst=r, src=x_t)\n"
        "for acc in sums:\n"
        "    nisa.tensor_copy(dst=wide[0:40], src=acc)",
        "0.4",
    ),
    _beta1("B26", "parameter-update", "t = nl.load(x)\nnl.store({{x||out}}, t)\nnl.store(out, t)"),
    _row(
        "dma-buffers",
        "B27",
        "#bare\n"
        "t = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.sbuf)\n"
        "nisa.dma_copy(dst=t, src=x)\n"
        "p = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.psum)\n"
        "nisa.tensor_copy(dst=p, src=t)\nnisa.tensor_copy(dst=t, src=p)\n"
        "nisa.dma_copy(dst=out, src={{p||t}})",
        "0.3",
        "trn1",
    ),
    # ---------------------------------------------------------------------------- patterns
    _row(
        "access-size",
        "A02",
        "#bare\n"
        "t = nl.ndarray((8, {{65537||65535}}), dtype=nl.int8, buffer=nl.sbuf)\n"
        "nisa.memset(dst=t, value=1)\n"
        "nisa.dma_copy(dst=out, src=x)",
        "0.5",
    ),
    _row(
        "access-stride",
        "A03",
        "#bare\n"
        "t = nl.ndarray((8, 80000), dtype=nl.int8, buffer=nl.sbuf)\n"
        "nisa.memset(dst=t[:, ::{{40000||20000}}], value=1)\n"
        "nisa.dma_copy(dst=out, src=x)",
        "0.5",
    ),
    _row(
        "access-dims",
        "A04",
        "#bare\n"
        "t = nl.ndarray((8, 2, 4, 2, 4, 8), dtype=nl.float32, buffer=nl.sbuf)\n"
        "part = t{{[:, 0:1, 0:2, 0:1, 0:2, 0:4]||[:, 0:1, 0:2, 0, 0:2, 0:4]}}\n"
        "nisa.memset(dst=part, value=2.0)\n"
        "nisa.dma_copy(dst=out, src=x)",
        "0.6",
        "trn3",
    ),
    _pattern("A05", "ap-partition-step", "[[{{20||40}}, 64], [1, 20]]"),
    _pattern("A06", "access-bounds", "[[40, 64], [{{3||2}}, 20]]", "trn3", "0.6"),
    _pattern("A07", "access-bounds", "[[40, {{97||64}}], [1, 20]]", "trn1", "0.2"),
    # ---------------------------------------------------------------------------- transfers
    _row(
        "dma-size",
        "D01",
        "nisa.dma_copy(dst=r, src=x)\nnisa.dma_copy(dst=r[:, 0:{{38||39}}], src=x[:, 0:39])",
        "0.4",
    ),
    _row(
        "dma-buffers",
        "D02",
        "p = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.{{psum||sbuf}})\n"
        "nisa.dma_copy(dst=p, src=x)\nnisa.tensor_copy(dst=r, src=p)",
        "0.5",
    ),
    _moved("D03", "dge-mode", ", dge_mode=nisa.dge_mode.{{hwdge||swdge}}", "0.4", "trn1"),
    _row(
        "dma-dtype",
        "D04",
        "held = nl.ndarray((96, 40), dtype=nl.{{bfloat16||float32}}, buffer=nl.sbuf)\n"
        "nisa.dma_copy(dst=held, src=x, dge_mode=nisa.dge_mode.hwdge)\n"
        "nisa.tensor_copy(dst=r, src=held)",
        "0.3",
    ),
    _moved(
        "D05",
        "dge-mode",
        ", dge_mode=nisa.dge_mode.hwdge, engine=nisa.engine.{{vector||scalar}}",
        "0.5",
        "trn2",
    ),
    _moved(
        "D10",
        "oob-mode",
        ", oob_mode=nisa.oob_mode.{{skip||error}}",
        "0.4",
        "trn2",
    ),
    _row(
        "dma-dtype",
        "D12",
        "#bare\n"
        "p = nl.ndarray((96, 40), dtype=nl.float8_e4m3fn_x4, buffer=nl.sbuf)\n"
        "nisa.dma_copy(dst=p, src=x)\n"
        "nisa.dma_copy(dst=out, src=y)",
        "0.5",
        "trn3",
        x="x: {{bfloat16||float8_e4m3fn_x4}}[96, 40], y: float32[96, 40]",
    ),
    _row(
        "dma-dtype",
        "D12",
        "#bare\n"
        "p = nl.ndarray((96, 40), dtype=nl.{{float8_e5m2_x4||bfloat16}}, buffer=nl.sbuf)\n"
        "nisa.dma_compute(dst=p, srcs=[x, x], reduce_op=nl.add)\n"
        "nisa.dma_copy(dst=out, src=y)",
        "0.6",
        "trn3",
        x="x: bfloat16[96, 40], y: float32[96, 40]",
    ),
    # ---------------------------------------------------------------------------- types
    _row(
        "bitwise-dtype",
        "T02",
        "nisa.tensor_scalar(dst=r, data=x_t, op0=nl.bitwise_and, operand0=3)",
        "0.4",
        x="x: {{float32||int32}}[96, 40]",
        out="{{float32||int32}}[96, 40]",
    ),
    _row(
        "operator-kind",
        "T09",
        "nisa.tensor_copy(dst=r, src=x_t)\n"
        "nisa.tensor_reduce(dst=r[:, 0:1], op=nl.{{power||multiply}}, data=x_t, axis=1)",
        "0.4",
    ),
    _row(
        "operand-dtype",
        "T11",
        "nisa.exponential(dst=r, src=x_t, max_value=0.0)",
        "0.5",
        "trn3",
        x="x: {{tfloat32||bfloat16}}[96, 40]",
    ),
    _row("operator-kind", "T15", "nisa.activation(dst=r, op=nl.{{cos||sin}}, data=x_t)", "0.4"),
    _row(
        "engine-choice",
        "T16",
        "#bare\n"
        "nl.store(out, nisa.tensor_scalar(nl.load(x), nl.{{rsqrt||add}}, 0.0, "
        "engine=nisa.vector_engine))",
        "beta1",
        "trn1",
    ),
    _row(
        "engine-choice",
        "T16",
        "#bare\n"
        "t = nl.load(x)\n"
        "nl.store(out, nisa.tensor_tensor(t, t, op=np.power, "
        "engine=nisa.{{vector_engine||gpsimd_engine}}))",
        "beta1",
        "trn1",
    ),
)
