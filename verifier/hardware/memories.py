"""The memories of the devices."""

from __future__ import annotations

from enum import Enum


class Buffer(Enum):
    """Memory spaces.

    NKI: ``HBM`` is private device memory, ``SHARED_HBM`` what kernels return. TPU: ``LOCAL`` is the
    lanes' memory, ``L2`` the memory that cores share, ``HBM`` global (system) memory.
    """

    HBM = "hbm"
    SHARED_HBM = "shared_hbm"
    SBUF = "sbuf"
    PSUM = "psum"
    REGISTER = "register"
    LOCAL = "local"
    L2 = "l2"
    UNKNOWN = "unknown"

    @property
    def on_chip(self) -> bool:
        return self in (Buffer.SBUF, Buffer.PSUM, Buffer.LOCAL)

    @property
    def off_chip(self) -> bool:
        return self in (Buffer.HBM, Buffer.SHARED_HBM)
