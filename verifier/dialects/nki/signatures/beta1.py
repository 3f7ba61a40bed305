"""Beta 1 (``neuronxcc.nki``, SDK 2.26): instructions return their result.

Source: catalogue section (h.1), left column. The whole table.
"""

from __future__ import annotations

from typing import Final

TABLE: Final[dict[str, str | None]] = {
    "baremetal": "kernel=None, **",
    "benchmark": "kernel=None, **",
    "compiler.allocation_scope": "",
    "compiler.enable_stack_allocator": "func=None, log_level=50",
    "compiler.force_auto_alloc": "func=None",
    "compiler.multi_buffer": "factor=2",
    "compiler.no_reorder": "",
    "compiler.psum.alloc": "func*",
    "compiler.psum.auto_alloc": "",
    "compiler.psum.mod_alloc": (
        "|, base_bank*, base_addr=0, base_partition=0, num_bank_tiles=(), num_par_tiles=(), "
        "num_free_tiles=()"
    ),
    "compiler.sbuf.alloc": "func*",
    "compiler.sbuf.auto_alloc": "",
    "compiler.sbuf.mod_alloc": (
        "|, base_addr*, base_partition=0, num_par_tiles=(), num_free_tiles=()"
    ),
    "compiler.skip_middle_end_transformations": "func=None",
    "isa.activation": (
        "op*, data*, |, bias=None, scale=1.0, reduce_op=None, reduce_res=None, "
        "reduce_cmd=reduce_cmd.idle, mask=None, dtype=None, **"
    ),
    "isa.activation_reduce": (
        "op*, data*, |, reduce_op*, reduce_res*, bias=None, scale=1.0, mask=None, dtype=None, **"
    ),
    "isa.affine_select": "pred*, on_true_tile*, on_false_value*, |, mask=None, dtype=None, **",
    "isa.bn_aggr": "data*, |, mask=None, dtype=None, **",
    "isa.bn_stats": "data*, |, mask=None, dtype=None, **",
    "isa.builtin_custom_op": (
        "function_name*, lib_file_name*, ulib_to_ucode_version*, ulib_to_isa_version*, srcs*, "
        "dsts*, **"
    ),
    "isa.dma_copy": (
        "|, dst*, src*, mask=None, dst_rmw_op=None, oob_mode=oob_mode.error, "
        "dge_mode=dge_mode.unknown"
    ),
    "isa.dma_transpose": "src*, |, axes=None, mask=None, dtype=None, **",
    "isa.dropout": "data*, prob*, |, mask=None, dtype=None, **",
    "isa.get_nc_version": "",
    "isa.iota": "expr*, dtype*, |, mask=None, **",
    "isa.local_gather": (
        "src_buffer*, index*, num_elem_per_idx=1, num_valid_indices=None, |, mask=None"
    ),
    "isa.max8": "|, src*, mask=None, dtype=None, **",
    "isa.memset": "shape*, value*, dtype*, |, mask=None, engine=engine.unknown, **",
    "isa.nc_find_index8": "|, data*, vals*, mask=None, dtype=None, **",
    "isa.nc_match_replace8": "|, data*, vals*, imm*, dst_idx=None, mask=None, dtype=None, **",
    "isa.nc_matmul": (
        "stationary*, moving*, |, is_stationary_onezero=False, is_moving_onezero=False, "
        "is_transpose=False, tile_position=(), tile_size=(), perf_mode=None, mask=None, **"
    ),
    "isa.nc_stream_shuffle": "src*, dst*, shuffle_mask*, |, dtype=None, mask=None, **",
    "isa.nc_transpose": "data*, |, mask=None, dtype=None, engine=engine.unknown, **",
    "isa.range_select": (
        "|, on_true_tile*, comp_op0*, comp_op1*, bound0*, bound1*, "
        "reduce_cmd=reduce_cmd.idle, reduce_res=None, reduce_op=op.maximum, range_start=0, "
        "on_false_value=-3.4028235e+38, mask=None, dtype=None, **"
    ),
    "isa.reciprocal": "data*, |, dtype=None, mask=None, **",
    "isa.scalar_tensor_tensor": (
        "|, data*, op0*, operand0*, op1*, operand1*, reverse0=False, reverse1=False, "
        "dtype=None, mask=None, **"
    ),
    "isa.select_reduce": (
        "|, dst*, predicate*, on_true*, on_false*, reduce_res=None, "
        "reduce_cmd=reduce_cmd.idle, reduce_op=op.maximum, reverse_pred=False, mask=None, "
        "dtype=None, **"
    ),
    "isa.sequence_bounds": "|, segment_ids*, dtype=None",
    "isa.tensor_copy": "src*, |, mask=None, dtype=None, engine=engine.unknown, **",
    "isa.tensor_copy_dynamic_dst": (
        "|, dst*, src*, mask=None, dtype=None, engine=engine.unknown, **"
    ),
    "isa.tensor_copy_dynamic_src": "src*, |, mask=None, dtype=None, engine=engine.unknown, **",
    "isa.tensor_copy_predicated": (
        "|, src*, dst*, predicate*, reverse_pred=False, mask=None, dtype=None, **"
    ),
    "isa.tensor_partition_reduce": "op*, data*, |, mask=None, dtype=None, **",
    "isa.tensor_reduce": (
        "op*, data*, axis*, |, mask=None, dtype=None, negate=False, keepdims=False, **"
    ),
    "isa.tensor_scalar": (
        "data*, op0*, operand0*, reverse0=False, op1=None, operand1=None, reverse1=False, |, "
        "dtype=None, mask=None, engine=engine.unknown, **"
    ),
    "isa.tensor_scalar_reduce": (
        "|, data*, op0*, operand0*, reduce_op*, reduce_res*, reverse0=False, dtype=None, "
        "mask=None, **"
    ),
    "isa.tensor_tensor": (
        "data1*, data2*, op*, |, dtype=None, mask=None, engine=engine.unknown, **"
    ),
    "isa.tensor_tensor_scan": (
        "data0*, data1*, initial*, op0*, op1*, reverse0=False, reverse1=False, |, dtype=None, "
        "mask=None, **"
    ),
    "jit": "func=None, mode='auto', **",
    "language.abs": "x*, |, dtype=None, mask=None, **",
    "language.add": "x*, y*, |, dtype=None, mask=None, **",
    "language.affine_range": "start*, stop=None, step=1, **",
    "language.all": "x*, axis*, |, dtype=dtype.bool_, mask=None, **",
    "language.all_reduce": (
        "x*, op*, program_axes*, |, dtype=None, mask=None, parallel_reduce=True, "
        "asynchronous=False, **"
    ),
    "language.arange": "start*, stop=None, step=1",
    "language.arctan": "x*, |, dtype=None, mask=None, **",
    "language.atomic_rmw": "dst*, value*, op*, |, mask=None, **",
    "language.bitwise_and": "x*, y*, |, dtype=None, mask=None, **",
    "language.bitwise_or": "x*, y*, |, dtype=None, mask=None, **",
    "language.bitwise_xor": "x*, y*, |, dtype=None, mask=None, **",
    "language.broadcast_to": "src*, |, shape*, **",
    "language.ceil": "x*, |, dtype=None, mask=None, **",
    "language.copy": "src*, |, mask=None, dtype=None, **",
    "language.cos": "x*, |, dtype=None, mask=None, **",
    "language.device_print": "prefix*, x*, |, mask=None, **",
    "language.divide": "x*, y*, |, dtype=None, mask=None, **",
    "language.dropout": "x*, rate*, |, dtype=None, mask=None, **",
    "language.ds": "start*, size*",
    "language.empty_like": "a*, dtype=None, |, buffer=None, name='', **",
    "language.equal": "x*, y*, |, dtype=dtype.bool_, mask=None, **",
    "language.erf": "x*, |, dtype=None, mask=None, **",
    "language.erf_dx": "x*, |, dtype=None, mask=None, **",
    "language.exp": "x*, |, dtype=None, mask=None, **",
    "language.expand_dims": "data*, axis*",
    "language.finfo": "dtype*",
    "language.floor": "x*, |, dtype=None, mask=None, **",
    "language.fmod": "x*, y*, dtype=None, mask=None, **",
    "language.full": "shape*, fill_value*, dtype*, |, buffer=None, name='', **",
    "language.gather_flattened": "data*, indices*, |, mask=None, dtype=None, **",
    "language.gelu": "x*, |, dtype=None, mask=None, **",
    "language.gelu_apprx_sigmoid": "x*, |, dtype=None, mask=None, **",
    "language.gelu_apprx_sigmoid_dx": "x*, |, dtype=None, mask=None, **",
    "language.gelu_apprx_tanh": "x*, |, dtype=None, mask=None, **",
    "language.gelu_dx": "x*, |, dtype=None, mask=None, **",
    "language.gemm_grid": "",
    "language.gemm_stationary_grid": "",
    "language.greater": "x*, y*, |, dtype=dtype.bool_, mask=None, **",
    "language.greater_equal": "x*, y*, |, dtype=dtype.bool_, mask=None, **",
    "language.invert": "x*, |, dtype=None, mask=None, **",
    "language.left_shift": "x*, y*, |, dtype=None, mask=None, **",
    "language.less": "x*, y*, |, dtype=dtype.bool_, mask=None, **",
    "language.less_equal": "x*, y*, |, dtype=dtype.bool_, mask=None, **",
    "language.load": "src*, |, mask=None, dtype=None, **",
    "language.load_transpose2d": "src*, |, mask=None, dtype=None, **",
    "language.log": "x*, |, dtype=None, mask=None, **",
    "language.logical_and": "x*, y*, |, dtype=dtype.bool_, mask=None, **",
    "language.logical_not": "x*, |, dtype=dtype.bool_, mask=None, **",
    "language.logical_or": "x*, y*, |, dtype=dtype.bool_, mask=None, **",
    "language.logical_xor": "x*, y*, |, dtype=dtype.bool_, mask=None, **",
    "language.loop_reduce": "x*, op*, loop_indices*, |, dtype=None, mask=None, **",
    "language.matmul": "x*, y*, |, transpose_x=False, mask=None, **",
    "language.max": "x*, axis*, |, dtype=None, mask=None, keepdims=False, **",
    "language.maximum": "x*, y*, |, dtype=None, mask=None, **",
    "language.mean": "x*, axis*, |, dtype=None, mask=None, keepdims=False, **",
    "language.min": "x*, axis*, |, dtype=None, mask=None, keepdims=False, **",
    "language.minimum": "x*, y*, |, dtype=None, mask=None, **",
    "language.mish": "x*, |, dtype=None, mask=None, **",
    "language.mod": "x*, y*, dtype=None, mask=None, **",
    "language.multiply": "x*, y*, |, dtype=None, mask=None, **",
    "language.nc": "value*",
    "language.ndarray": "shape*, dtype*, |, buffer=None, name='', **",
    "language.negative": "x*, |, dtype=None, mask=None, **",
    "language.not_equal": "x*, y*, |, dtype=dtype.bool_, mask=None, **",
    "language.num_programs": "axes=None",
    "language.ones": "shape*, dtype*, |, buffer=None, name='', **",
    "language.par_dim": "size*",
    "language.power": "x*, y*, |, dtype=None, mask=None, **",
    "language.prod": "x*, axis*, |, dtype=None, mask=None, keepdims=False, **",
    "language.program_id": "axis*",
    "language.program_ndim": "",
    "language.rand": "shape*, dtype=dtype.float32, **",
    "language.random_seed": "seed*, |, mask=None, **",
    "language.reciprocal": "x*, |, dtype=None, mask=None, **",
    "language.relu": "x*, |, dtype=None, mask=None, **",
    "language.right_shift": "x*, y*, |, dtype=None, mask=None, **",
    "language.rms_norm": (
        "x*, w*, axis*, n*, epsilon=1e-06, |, dtype=None, compute_dtype=None, mask=None, **"
    ),
    "language.rsqrt": "x*, |, dtype=None, mask=None, **",
    "language.sequential_range": "start*, stop=None, step=1, **",
    "language.shared_constant": "constant*, dtype=None, **",
    "language.shared_identity_matrix": "n*, dtype=dtype.uint8, **",
    "language.sigmoid": "x*, |, dtype=None, mask=None, **",
    "language.sign": "x*, |, dtype=None, mask=None, **",
    "language.silu": "x*, |, dtype=None, mask=None, **",
    "language.silu_dx": "x*, |, dtype=None, mask=None, **",
    "language.sin": "x*, |, dtype=None, mask=None, **",
    "language.softmax": "x*, axis*, |, dtype=None, compute_dtype=None, mask=None, **",
    "language.softplus": "x*, |, dtype=None, mask=None, **",
    "language.spmd_dim": "value*, nc=None",
    "language.sqrt": "x*, |, dtype=None, mask=None, **",
    "language.square": "x*, |, dtype=None, mask=None, **",
    "language.static_cast": "input_data*, dtype*",
    "language.static_range": "start*, stop=None, step=1",
    "language.store": "dst*, value*, |, mask=None, **",
    "language.subtract": "x*, y*, |, dtype=None, mask=None, **",
    "language.sum": "x*, axis*, |, dtype=None, mask=None, keepdims=False, **",
    "language.tan": "x*, |, dtype=None, mask=None, **",
    "language.tanh": "x*, |, dtype=None, mask=None, **",
    "language.transpose": "x*, |, dtype=None, mask=None, **",
    "language.trunc": "x*, |, dtype=None, mask=None, **",
    "language.var": "x*, axis*, |, dtype=None, mask=None, **",
    "language.where": "condition*, x*, y*, |, dtype=None, mask=None, **",
    "language.zeros": "shape*, dtype*, |, buffer=None, name='', **",
    "language.zeros_like": "a*, dtype=None, |, buffer=None, name='', **",
    "profile": "kernel=None, **",
    "simulate_kernel": "kernel*, **",
    "trace": "func=None, mode='auto', **",
}
