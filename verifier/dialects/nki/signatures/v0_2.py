"""NKI 0.2 (SDK 2.27 and 2.28): the first of the ``nki`` namespace, destination first.

Source: catalogue section (h.1). The whole table.
"""

from __future__ import annotations

from typing import Final

TABLE: Final[dict[str, str | None]] = {
    "collectives.all_gather": "srcs*, dsts*, replica_group*, collective_dim*",
    "collectives.all_reduce": "srcs*, dsts*, replica_group*, op*",
    "collectives.all_to_all": "srcs*, dsts*, replica_group*, collective_dim*",
    "collectives.collective_permute": "srcs*, dsts*, source_target_pairs*",
    "collectives.collective_permute_implicit": (
        "srcs_by_channel*, dsts_by_channel*, replica_group*, channel_ids=()"
    ),
    "collectives.collective_permute_implicit_current_processing_rank_id": (
        "iteration_id*, replica_group*, channel_id=0, num_channels=1"
    ),
    "collectives.collective_permute_implicit_reduce": (
        "srcs0_by_channel*, srcs1_by_channel*, dsts_by_channel*, replica_group*, op*, "
        "channel_ids=()"
    ),
    "collectives.rank_id": "",
    "collectives.reduce_scatter": "srcs*, dsts*, replica_group*, collective_dim*, op*",
    "isa.activation": (
        "dst*, op*, data*, bias=None, scale=1.0, reduce_op=None, reduce_res=None, "
        "reduce_cmd=reduce_cmd.idle, name=None"
    ),
    "isa.activation_reduce": (
        "dst*, op*, data*, reduce_op*, reduce_res*, bias=None, scale=1.0, name=None"
    ),
    "isa.affine_select": (
        "dst*, pattern*, offset*, channel_multiplier*, on_true_tile*, on_false_value*, "
        "cmp_op=op.equal, name=None"
    ),
    "isa.bn_aggr": "dst*, data*, name=None",
    "isa.bn_stats": "dst*, data*, name=None",
    "isa.core_barrier": "data*, cores*, engine=engine.unknown, name=None",
    "isa.dma_compute": "dst*, srcs*, scales*, reduce_op*, name=None",
    "isa.dma_copy": (
        "dst*, src*, dst_rmw_op=None, oob_mode=oob_mode.error, dge_mode=dge_mode.unknown, "
        "unique_indices=True, name=None"
    ),
    "isa.dma_transpose": (
        "dst*, src*, axes=None, dge_mode=dge_mode.unknown, oob_mode=oob_mode.error, name=None"
    ),
    "isa.dropout": "dst*, data*, prob*, name=None",
    "isa.exponential": (
        "dst*, src*, max_value=0.0, reduce_res=None, reduce_cmd=reduce_cmd.idle, reduce_init=0.0"
    ),
    "isa.get_nc_version": "",
    "isa.iota": "dst*, pattern*, offset*, channel_multiplier=0, name=None",
    "isa.local_gather": (
        "dst*, src_buffer*, index*, num_elem_per_idx=1, num_valid_indices=None, name=None"
    ),
    "isa.max8": "dst*, src*, name=None",
    "isa.memset": "dst*, value*, engine=engine.unknown, name=None",
    "isa.nc_find_index8": "dst*, data*, vals*, name=None",
    "isa.nc_match_replace8": "dst*, data*, vals*, imm*, dst_idx=None, name=None",
    "isa.nc_matmul": (
        "dst*, stationary*, moving*, is_stationary_onezero=False, is_moving_onezero=False, "
        "is_transpose=False, tile_position=(), tile_size=(), perf_mode=matmul_perf_mode.none, "
        "name=None"
    ),
    "isa.nc_matmul_mx": (
        "dst*, stationary*, moving*, stationary_scale*, moving_scale*, tile_position=None, "
        "tile_size=None, name=None"
    ),
    "isa.nc_n_gather": "dst*, data*, indices*, name=None",
    "isa.nc_stream_shuffle": "dst*, src*, shuffle_mask*, name=None",
    "isa.nc_transpose": "dst*, data*, engine=engine.unknown, name=None",
    "isa.nonzero_with_count": "dst*, src*, index_offset=0, padding_val=-1",
    "isa.quantize_mx": "dst*, src*, dst_scale*, name=None",
    "isa.rand2": "dst*, min*, max*, name=None",
    "isa.rand_get_state": "dst*, engine=engine.unknown, name=None",
    "isa.rand_set_state": "src_seeds*, engine=engine.unknown, name=None",
    "isa.range_select": (
        "dst*, on_true_tile*, comp_op0*, comp_op1*, bound0*, bound1*, "
        "reduce_cmd=reduce_cmd.reset_reduce, reduce_res=None, reduce_op=op.maximum, "
        "range_start=0.0, on_false_value=-3.4028235e+38, name=None"
    ),
    "isa.reciprocal": "dst*, data*, name=None",
    "isa.register_alloc": "x=None",
    "isa.register_load": "dst*, src*",
    "isa.register_move": "dst*, imm*",
    "isa.register_store": "dst*, src*",
    "isa.rng": "dst*, engine=engine.unknown, name=None",
    "isa.scalar_tensor_tensor": (
        "dst*, data*, op0*, operand0*, op1*, operand1*, reverse0=False, reverse1=False, name=None"
    ),
    "isa.select_reduce": (
        "dst*, predicate*, on_true*, on_false*, reduce_res=None, reduce_cmd=reduce_cmd.idle, "
        "reduce_op=op.maximum, reverse_pred=False, name=None"
    ),
    "isa.sendrecv": "src*, dst*, send_to_rank*, recv_from_rank*, pipe_id*, name=None",
    "isa.sequence_bounds": "dst*, segment_ids*, name=None",
    "isa.set_rng_seed": "src_seeds*, name=None",
    "isa.tensor_copy": "dst*, src*, engine=engine.unknown, name=None",
    "isa.tensor_copy_dynamic_dst": "dst*, src*, engine=engine.unknown, name=None",
    "isa.tensor_copy_dynamic_src": "dst*, src*, engine=engine.unknown, name=None",
    "isa.tensor_copy_predicated": "dst*, src*, predicate*, reverse_pred=False, name=None",
    "isa.tensor_partition_reduce": "dst*, op*, data*, name=None",
    "isa.tensor_reduce": "dst*, op*, data*, axis*, negate=False, keepdims=False, name=None",
    "isa.tensor_scalar": (
        "dst*, data*, op0*, operand0*, reverse0=False, op1=None, operand1=None, "
        "reverse1=False, engine=engine.unknown, name=None"
    ),
    "isa.tensor_scalar_cumulative": (
        "dst*, src*, op0*, op1*, imm0*, imm1=None, reduce_cmd=reduce_cmd.reset_reduce"
    ),
    "isa.tensor_scalar_reduce": (
        "dst*, data*, op0*, operand0*, reduce_op*, reduce_res*, reverse0=False, name=None"
    ),
    "isa.tensor_tensor": "dst*, data1*, data2*, op*, engine=engine.unknown, name=None",
    "isa.tensor_tensor_scan": (
        "dst*, data0*, data1*, initial*, op0*, op1*, reverse0=False, reverse1=False, name=None"
    ),
    "jit": "func=None, mode='auto', **",
    "language.abs": "x*, dtype=None",
    "language.add": "x*, y*, dtype=None",
    "language.affine_range": "start*, stop=None, step=1",
    "language.bitwise_and": "x*, y*, dtype=None",
    "language.bitwise_or": "x*, y*, dtype=None",
    "language.bitwise_xor": "x*, y*, dtype=None",
    "language.device_print": "print_prefix*, tensor*",
    "language.divide": "x*, y*, dtype=None",
    "language.ds": "start*, size*",
    "language.equal": "x*, y*, dtype=dtype.bool_",
    "language.gelu_apprx_sigmoid": "x*, dtype=None",
    "language.gelu_apprx_sigmoid_dx": "x*, dtype=None",
    "language.greater": "x*, y*, dtype=dtype.bool_",
    "language.greater_equal": "x*, y*, dtype=dtype.bool_",
    "language.invert": "x*, dtype=None",
    "language.left_shift": "x*, y*, dtype=None",
    "language.less": "x*, y*, dtype=dtype.bool_",
    "language.less_equal": "x*, y*, dtype=dtype.bool_",
    "language.logical_and": "x*, y*, dtype=dtype.bool_",
    "language.logical_not": "x*, dtype=dtype.bool_",
    "language.logical_or": "x*, y*, dtype=dtype.bool_",
    "language.logical_xor": "x*, y*, dtype=dtype.bool_",
    "language.maximum": "x*, y*, dtype=None",
    "language.minimum": "x*, y*, dtype=None",
    "language.multiply": "x*, y*, dtype=None",
    "language.ndarray": "shape*, dtype*, buffer=None, name=''",
    "language.no_reorder": "",
    "language.not_equal": "x*, y*, dtype=dtype.bool_",
    "language.num_programs": "axes=None",
    "language.power": "x*, y*, dtype=None",
    "language.program_id": "axis*",
    "language.program_ndim": "",
    "language.reciprocal": "x*, dtype=None",
    "language.right_shift": "x*, y*, dtype=None",
    "language.rsqrt": "x*, dtype=None",
    "language.sequential_range": "start*, stop=None, step=1",
    "language.shared_constant": "constant*, dtype=None",
    "language.shared_identity_matrix": "n*, dtype=dtype.uint8",
    "language.static_range": "start*, stop=None, step=1",
    "language.subtract": "x*, y*, dtype=None",
    "language.zeros": "shape*, dtype*, buffer=None, name=''",
}
