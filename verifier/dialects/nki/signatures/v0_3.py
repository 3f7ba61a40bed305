"""NKI 0.3 (SDK 2.29): value-returning ``nki.language`` functions are back.

Source: catalogue section (h.2). Changes against the generation before; None: removed.
"""

from __future__ import annotations

from typing import Final

TABLE: Final[dict[str, str | None]] = {
    "collectives.all_to_all_v": (
        "srcs*, dsts*, replica_group*, metadata_tensor*, recv_counts_known=False, has_rdispls=False"
    ),
    "collectives.collective_permute_implicit_current_processing_rank_id": (
        "iteration_id*, replica_group*, channel_id=0"
    ),
    "isa.affine_select": (
        "dst*, pattern*, channel_multiplier*, on_true_tile*, on_false_value*, "
        "cmp_op=op.equal, offset=0, name=None"
    ),
    "isa.core_barrier": "data*, cores*, engine=engine.gpsimd, name=None",
    "isa.dma_compute": "dst*, srcs*, reduce_op*, scales=None, unique_indices=True, name=None",
    "isa.dma_copy": (
        "dst*, src*, oob_mode=oob_mode.error, dge_mode=dge_mode.unknown, "
        "engine=engine.unknown, name=None"
    ),
    "isa.exponential": (
        "dst*, src*, max_value=0.0, reduce_res=None, reduce_cmd=reduce_cmd.idle, "
        "reduce_init=0.0, name=None"
    ),
    "isa.iota": "dst*, pattern*, offset=0, channel_multiplier=0, name=None",
    "isa.nc_matmul": (
        "dst*, stationary*, moving*, is_stationary_onezero=False, is_moving_onezero=False, "
        "is_transpose=False, accumulate=None, tile_position=(), tile_size=(), "
        "perf_mode=matmul_perf_mode.none, name=None"
    ),
    "isa.nc_matmul_mx": (
        "dst*, stationary*, moving*, stationary_scale*, moving_scale*, tile_position=None, "
        "tile_size=None, accumulate=None, name=None"
    ),
    "isa.nonzero_with_count": "dst*, src*, index_offset=0, padding_val=-1, name=None",
    "isa.range_select": (
        "dst*, on_true_tile*, comp_op0*, comp_op1*, bound0*, bound1*, "
        "reduce_cmd=reduce_cmd.reset_reduce, reduce_res=None, reduce_op=op.maximum, "
        "range_start=0, on_false_value=-3.4028235e+38, name=None"
    ),
    "isa.register_move": "dst*, src*",
    "isa.sendrecv": (
        "src*, dst*, send_to_rank*, recv_from_rank*, pipe_id*, dma_engine=dma_engine.dma, name=None"
    ),
    "isa.tensor_scalar_cumulative": (
        "dst*, src*, op0*, op1*, imm0*, imm1=None, reduce_cmd=reduce_cmd.reset_reduce, name=None"
    ),
    "language.all": "x*, axis*, dtype=None",
    "language.arctan": "x*, dtype=None",
    "language.broadcast_to": "x*, shape*, dtype=None",
    "language.ceil": "x*, dtype=None",
    "language.copy": "x*, dtype=None",
    "language.cos": "x*, dtype=None",
    "language.dropout": "x*, rate*, dtype=None",
    "language.dynamic_range": "start*, stop=None, step=1",
    "language.empty_like": "x*, dtype=None, buffer=None, name=''",
    "language.equal": "x*, y*, dtype=None",
    "language.erf": "x*, dtype=None",
    "language.erf_dx": "x*, dtype=None",
    "language.exp": "x*, dtype=None",
    "language.expand_dims": "x*, axis*",
    "language.floor": "x*, dtype=None",
    "language.fmod": "x*, y*, dtype=None",
    "language.full": "shape*, fill_value*, dtype*, buffer=buffer.sbuf, name=''",
    "language.gather_flattened": "data*, indices*, axis=0, dtype=None",
    "language.gelu": "x*, dtype=None",
    "language.gelu_apprx_tanh": "x*, dtype=None",
    "language.gelu_dx": "x*, dtype=None",
    "language.greater": "x*, y*, dtype=None",
    "language.greater_equal": "x*, y*, dtype=None",
    "language.is_hbm": "buffer*",
    "language.is_on_chip": "buffer*",
    "language.is_psum": "buffer*",
    "language.is_sbuf": "buffer*",
    "language.less": "x*, y*, dtype=None",
    "language.less_equal": "x*, y*, dtype=None",
    "language.load": "src*, dtype=None",
    "language.load_transpose2d": "src*, dtype=None",
    "language.log": "x*, dtype=None",
    "language.logical_and": "x*, y*, dtype=None",
    "language.logical_not": "x*, dtype=None",
    "language.logical_or": "x*, y*, dtype=None",
    "language.logical_xor": "x*, y*, dtype=None",
    "language.matmul": "x*, y*, transpose_x=False",
    "language.max": "x*, axis*, dtype=None, keepdims=False",
    "language.mean": "x*, axis*, dtype=None, keepdims=False",
    "language.min": "x*, axis*, dtype=None, keepdims=False",
    "language.mish": "x*, dtype=None",
    "language.mod": "x*, y*, dtype=None",
    "language.ndarray": "shape*, dtype*, buffer=buffer.sbuf, name='', address=None",
    "language.negative": "x*, dtype=None",
    "language.not_equal": "x*, y*, dtype=None",
    "language.num_programs": "axes=0",
    "language.ones": "shape*, dtype*, buffer=buffer.sbuf, name=''",
    "language.prod": "x*, axis*, dtype=None, keepdims=False",
    "language.program_id": "axis=0",
    "language.rand": "shape*, dtype*, buffer=buffer.sbuf, name=''",
    "language.random_seed": "seed*",
    "language.relu": "x*, dtype=None",
    "language.rms_norm": "x*, w*, axis*, n*, epsilon=1e-06, dtype=None, compute_dtype=None",
    "language.shared_constant": "constant*",
    "language.shared_identity_matrix": "n*, dtype=dtype.uint8, dst=None",
    "language.sigmoid": "x*, dtype=None",
    "language.sign": "x*, dtype=None",
    "language.silu": "x*, dtype=None",
    "language.silu_dx": "x*, dtype=None",
    "language.sin": "x*, dtype=None",
    "language.softmax": "x*, axis=-1, dtype=None",
    "language.softplus": "x*, dtype=None",
    "language.sqrt": "x*, dtype=None",
    "language.square": "x*, dtype=None",
    "language.store": "dst*, value*",
    "language.sum": "x*, axis*, dtype=None, keepdims=False",
    "language.tan": "x*, dtype=None",
    "language.tanh": "x*, dtype=None",
    "language.transpose": "x*, dtype=None",
    "language.trunc": "x*, dtype=None",
    "language.var": "x*, axis*, dtype=None, keepdims=False",
    "language.where": "condition*, x*, y*, dtype=None",
    "language.zeros": "shape*, dtype*, buffer=buffer.sbuf, name=''",
    "language.zeros_like": "x*, dtype=None, buffer=None, name=''",
    "simulate": "kernel*",
}
