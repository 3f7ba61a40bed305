"""NKI 0.4 (SDK 2.30): DMA priorities, ``activate2``.

Source: catalogue section (h.3). Changes against the generation before; None: removed.
"""

from __future__ import annotations

from typing import Final

TABLE: Final[dict[str, str | None]] = {
    "collectives.all_gather": "srcs*, dsts*, replica_group*, collective_dim*, priority=None",
    "collectives.all_reduce": "srcs*, dsts*, replica_group*, op*, priority=None",
    "collectives.all_to_all": "srcs*, dsts*, replica_group*, collective_dim*, priority=None",
    "collectives.all_to_all_v": (
        "srcs*, dsts*, replica_group*, metadata_tensor*, recv_counts_known=False, "
        "has_rdispls=False, priority=None"
    ),
    "collectives.collective_permute": "srcs*, dsts*, source_target_pairs*, priority=None",
    "collectives.collective_permute_implicit": (
        "srcs_by_channel*, dsts_by_channel*, replica_group*, channel_ids=(), priority=None"
    ),
    "collectives.collective_permute_implicit_reduce": (
        "srcs0_by_channel*, srcs1_by_channel*, dsts_by_channel*, replica_group*, op*, "
        "channel_ids=(), priority=None"
    ),
    "collectives.reduce_scatter": (
        "srcs*, dsts*, replica_group*, collective_dim*, op*, priority=None"
    ),
    "isa.activate2": (
        "dst*, op*, data*, imm0*, imm1*, op0*, op1*, relu_param=0.0, reverse0=False, "
        "reverse1=False, reduce_op=None, reduce_res=None, reduce_cmd=reduce_cmd.idle, "
        "name=None"
    ),
    "isa.dma_compute": (
        "dst*, srcs*, reduce_op*, scales=None, unique_indices=True, oob_mode=oob_mode.error, "
        "name=None"
    ),
    "isa.dma_copy": (
        "dst*, src*, priority=None, oob_mode=oob_mode.error, dge_mode=dge_mode.unknown, "
        "engine=engine.unknown, name=None"
    ),
    "isa.dma_transpose": (
        "dst*, src*, axes=None, priority=None, dge_mode=dge_mode.unknown, "
        "oob_mode=oob_mode.error, name=None"
    ),
    "isa.tensor_copy_dynamic_dst": None,
    "isa.tensor_copy_dynamic_src": None,
    "isa.tensor_scalar_reduce": (
        "dst*, data*, op0*, operand0*, reduce_op*, reduce_res*, reverse0=False, "
        "reduce_cmd=reduce_cmd.reset_reduce, reduce_init=None, name=None"
    ),
    "jit": "fn=None, **",
    "language.abs_max": "x*, y*, dtype=None",
    "language.abs_min": "x*, y*, dtype=None",
}
