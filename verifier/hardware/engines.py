"""The engines that run device functions."""

from __future__ import annotations

from enum import Enum


class Engine(Enum):
    """Who runs a function; the value is the name that kernels and reports have for it."""

    UNKNOWN = "unknown"
    # -- of a NeuronCore (NKI-H01)
    TENSOR = "tensor"
    VECTOR = "vector"
    SCALAR = "scalar"
    GPSIMD = "gpsimd"
    SYNC = "sync"
    DMA = "dma"
    # -- of a TPU
    BDC = "bdc"
    GDMA = "gdma"
    TIU = "tiu"
    SDMA = "sdma"
    HAU = "hau"
    #: nothing on the device: it steers what follows
    CONTROL = "control"
