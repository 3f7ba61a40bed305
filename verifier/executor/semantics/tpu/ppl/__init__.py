"""The functions of ``ppl.language``: the Tensor Instruction Unit and the DMA engines.

Floats are computed in float32 and rounded once, to nearest even unless the call says otherwise;
integers are computed exactly and wrap, or saturate where the call says so. A tensor with one
element along a dimension stands for as many as the others have (TPU-A09).
"""

from __future__ import annotations

from verifier.executor.semantics.tpu.ppl import (
    elementwise,
    gathers,
    helpers,
    moves,
    quantisation,
    windows,
)

__all__ = ["elementwise", "gathers", "helpers", "moves", "quantisation", "windows"]
