"""The memories that DMA moves between."""

from __future__ import annotations

from typing import Final

from verifier.hardware.memories import Buffer

OFF_CHIP: Final = (Buffer.HBM, Buffer.SHARED_HBM)


REACHED: Final = (Buffer.SBUF, Buffer.HBM, Buffer.SHARED_HBM)
