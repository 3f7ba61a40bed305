"""OKK has no generations that kernels could tell apart; what it has otherwise than others."""

from __future__ import annotations

from typing import Final

from verifier.dialects.names import OKK
from verifier.symbolic.generation import Generation

GENERATION: Final = Generation(
    name=OKK,
    returns=False,  # results go to addresses in system memory
)
