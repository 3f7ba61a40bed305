"""NKI 0.5 (SDK 2.31): names for collectives, engine defaults of the random numbers.

Source: catalogue section (h.4). Changes against the generation before; None: removed.
"""

from __future__ import annotations

from typing import Final

TABLE: Final[dict[str, str | None]] = {
    "collectives.all_gather": (
        "srcs*, dsts*, replica_group*, collective_dim*, priority=None, name=None"
    ),
    "collectives.all_reduce": "srcs*, dsts*, replica_group*, op*, priority=None, name=None",
    "collectives.all_to_all": (
        "srcs*, dsts*, replica_group*, collective_dim*, priority=None, name=None"
    ),
    "collectives.all_to_all_v": (
        "srcs*, dsts*, replica_group*, metadata_tensor*, recv_counts_known=False, "
        "has_rdispls=False, priority=None, name=None"
    ),
    "collectives.collective_permute": (
        "srcs*, dsts*, source_target_pairs*, priority=None, name=None"
    ),
    "collectives.collective_permute_implicit": (
        "srcs_by_channel*, dsts_by_channel*, replica_group*, channel_ids=(), priority=None, "
        "name=None"
    ),
    "collectives.collective_permute_implicit_current_processing_rank_id": (
        "iteration_id*, replica_group*, channel_id=0, name=None"
    ),
    "collectives.collective_permute_implicit_reduce": (
        "srcs0_by_channel*, srcs1_by_channel*, dsts_by_channel*, replica_group*, op*, "
        "channel_ids=(), priority=None, name=None"
    ),
    "collectives.rank_id": "name=None",
    "collectives.reduce_scatter": (
        "srcs*, dsts*, replica_group*, collective_dim*, op*, priority=None, name=None"
    ),
    "isa.get_nc_sub_version": "",
    "isa.rand_get_state": "dst*, engine=engine.gpsimd, name=None",
    "isa.rand_set_state": "src_seeds*, engine=engine.gpsimd, name=None",
    "isa.rng": "dst*, engine=engine.vector, name=None",
}
