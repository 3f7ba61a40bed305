"""The strided-view algebra: subscripts, access patterns, reshapes and view methods on views.

Every function takes a :class:`~verifier.symbolic.machine.Machine` and returns a view whatever it is
given: what the hardware or the language forbids becomes a check on the machine, and what cannot be
followed makes the result inexact (``View.exact``), with its reason.
"""

from __future__ import annotations

from verifier.symbolic.views.advanced import (
    arange,
    grid_part,
    index_binop,
    index_subscript,
    mask_binop,
    mgrid,
)
from verifier.symbolic.views.basic import subscript
from verifier.symbolic.views.common import (
    inexact,
    is_whole,
    partition_position,
    substitute_view,
    use,
    whole,
    with_mask,
)

__all__ = [
    "arange",
    "grid_part",
    "index_binop",
    "index_subscript",
    "inexact",
    "is_whole",
    "mask_binop",
    "mgrid",
    "partition_position",
    "subscript",
    "substitute_view",
    "use",
    "whole",
    "with_mask",
]
