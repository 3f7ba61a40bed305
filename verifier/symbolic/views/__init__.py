"""The strided-view algebra: subscripts, access patterns, reshapes and view methods on views.

Every function takes a :class:`~verifier.symbolic.machine.Machine` and returns a view whatever it is
given: what the hardware or the language forbids becomes a check on the machine, and what cannot be
followed makes the result inexact (``View.exact``), with its reason.
"""

from __future__ import annotations

from verifier.symbolic.views.access import ap
from verifier.symbolic.views.advanced import (
    BY_ROWS,
    arange,
    grid_part,
    index_binop,
    index_subscript,
    mask_binop,
    mgrid,
)
from verifier.symbolic.views.basic import subscript
from verifier.symbolic.views.common import (
    axes_of_mask,
    inexact,
    is_whole,
    mask_of_result,
    partition_position,
    substitute_view,
    use,
    use_index,
    whole,
    with_mask,
    within,
)
from verifier.symbolic.views.linear import linear_start, linear_view
from verifier.symbolic.views.methods import (
    broadcast,
    broadcast_to,
    expand_dim,
    flatten_dims,
    one_per_row,
    permute,
    rearrange,
    reshape_dim,
    select,
    slice_dim,
    split_names,
    squeeze_dim,
    vector_select,
    view_dtype,
)
from verifier.symbolic.views.reshaping import redeclared, refactor, reshape

__all__ = [
    "BY_ROWS",
    "ap",
    "arange",
    "axes_of_mask",
    "broadcast",
    "broadcast_to",
    "expand_dim",
    "flatten_dims",
    "grid_part",
    "index_binop",
    "index_subscript",
    "inexact",
    "is_whole",
    "linear_start",
    "linear_view",
    "mask_binop",
    "mask_of_result",
    "mgrid",
    "one_per_row",
    "partition_position",
    "permute",
    "rearrange",
    "redeclared",
    "refactor",
    "reshape",
    "reshape_dim",
    "select",
    "slice_dim",
    "split_names",
    "squeeze_dim",
    "subscript",
    "substitute_view",
    "use",
    "use_index",
    "vector_select",
    "view_dtype",
    "whole",
    "with_mask",
    "within",
]
