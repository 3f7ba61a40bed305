"""Parameters of the methods of tensors, as texts of :mod:`verifier.dialects.signature`.

Which generation has a method is in :mod:`verifier.dialects.nki.names`; what they take has not
changed since. Sources: the tensor reference of NKI, catalogue sections (e.2) and (e.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from verifier.dialects.signature import Signature, parse

#: what the names of these signatures begin with
OWNER: Final = "language.NkiTensor."

METHODS: Final[Mapping[str, str]] = {
    "ap": (
        "pattern*, offset=None, scalar_offset=None, vector_offset=None, indirect_dim=0, dtype=None"
    ),
    "assert_shape": "shape*",
    "astype": "dtype*",
    "broadcast": "dim*, size*",
    "broadcast_to": "shape*",
    "expand_dim": "dim*",
    "expand_dims": "axis*",
    "flatten_dims": "start_dim*, end_dim*",
    "get_pattern": "",
    "indirect": "index*, num_elem=None",
    "is_contiguous": "",
    "is_identity": "",
    "is_indirect": "",
    "permute": "dims*",
    "rearrange": "src_pattern*, dst_pattern*, fixed_sizes=None",
    "reinterpret_cast": "dtype*",
    "reshape": "shape*",
    "reshape_dim": "dim*, shape*",
    "select": "dim*, index*",
    "slice": "dim*, start*, end*, step=1",
    "squeeze_dim": "dim*",
    "vector_select": "dim*, vector_offset*",
    "view": "dtype*",
}


@cache
def of_method(name: str, generation: str) -> Signature:
    """The signature of a method of tensors."""
    return parse(OWNER + name, generation, METHODS[name])
