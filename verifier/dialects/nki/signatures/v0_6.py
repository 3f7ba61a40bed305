"""NKI 0.6 (SDK 2.32): device loops as functions, ``topk``.

Source: catalogue section (h.5). Changes against the generation before; None: removed.
"""

from __future__ import annotations

from typing import Final

TABLE: Final[dict[str, str | None]] = {
    "collectives.all_gather_v": (
        "srcs*, dsts*, replica_group*, metadata_tensor*, recv_counts_known=False, "
        "has_rdispls=False, priority=None, name=None"
    ),
    "isa.tensor_scalar_reduce": (
        "dst*, data*, op0*, operand0*, reduce_op*, reduce_res=None, reverse0=False, "
        "reduce_cmd=reduce_cmd.reset_reduce, reduce_init=None, reduce_res_negate=False, "
        "name=None"
    ),
    "isa.topk": "val_dst*, idx_dst*, src*, n*, name=None",
    "language.fori_loop": "lower*, upper*, body_fun*, step=1",
    "language.while_loop": "init*, body_fun*",
}
