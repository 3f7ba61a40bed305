"""PPL has no generations that kernels could tell apart; what it has otherwise than others."""

from __future__ import annotations

from typing import Final

from verifier.dialects.names import PPL
from verifier.symbolic.generation import Generation

GENERATION: Final = Generation(
    name=PPL,
    returns=False,  # PPL-A02: results go to where the pointers that it is given lead
    states_inputs=True,  # PPL-A03
    undefined="PPL-B12",
    on_cores=True,  # PPL-B13
)
