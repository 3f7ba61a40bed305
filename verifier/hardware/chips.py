"""Hardware numbers of the Sophgo TPUs. Rules, layouts and the executor take every number from here.

Sources are rows of the TPU catalogue (``CHIP-xx``), which cite the chips' manuals and headers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

from verifier.hardware.capabilities import Capability


class Chip(Struct, frozen=True):
    """One TPU. Sizes are in bytes; local memory is ``lanes`` x ``local_bytes``."""

    name: str
    arch: str  # CHIP-25; "bm1684" has none
    isa: int  # instruction set: 4 (BM1684), 6, 7, 8 or 9, the major number of the arch
    lanes: int  # X: NPUs, lanes
    local_bytes: int  # S: local memory of one lane
    banks: int  # banks of one lane
    eu_bytes: int  # E: the alignment unit
    cores: int
    l2_bytes: int  # L2 as tensor memory; 0: none for kernels
    dtypes: frozenset[str]  # element types that tensors may have
    channels_max: int  # most channels of an elementwise operand: OKK-B02, TPU-A02
    capabilities: frozenset[Capability] = frozenset()
    #: input channels per group of a convolution's weights (``gIC``) by dtype (CHIP-24)
    groups: Mapping[str, int] = field(default_factory=dict)
    axis_max: int = 65535  # most elements along an axis: OKK-B01, OKK-B04, OKK-B05, TPU-A02
    window_max: int = 2047  # most rows and columns of a window's input and output: OKK-B03
    columns_max: int = 128  # most columns of a matrix in one channel: OKK-Q03
    steps_max: int = 15  # most padding, stride and dilation of a window: OKK-P03 to OKK-P05
    stride_bits: int = 19  # of a stride of an operand: OKK-D04, TPU-A03
    shift_end: int = 32  # the least shift that does not fit its field: OKK-Y03
    dma_step_bytes: int = 128  # most between elements along w of a transfer: TPU-F02
    sdma_step_bytes: int = 64  # the same between outer memories: TPU-F02
    scale_groups: tuple[int, ...] = (32, 64, 128, 256)  # weights with one scale: TPU-D19
    # -- what functions of the kernel library answer
    sram_bytes: int = 0  # static memory that kernels may use: CHIP-23, OKK-008
    dtcm_bytes: int = 0  # the same of the control core's memory: CHIP-23, OKK-009
    lookup_bytes: int = 0  # tables in it: CHIP-23
    global_start: int = 0  # where memories start: CHIP-01
    local_start: int = 0
    sram_start: int = 0

    def __hash__(self) -> int:
        return hash(self.name)

    def has(self, capability: Capability) -> bool:
        return capability in self.capabilities

    @property
    def device_bytes(self) -> None:
        """The memory outside of a chip differs from board to board."""
        return None

    @property
    def bank_bytes(self) -> int:
        """CHIP-21."""
        return self.local_bytes // self.banks

    @property
    def memory_bytes(self) -> int:
        """All local memory: addresses lie in ``0 <= A < memory_bytes`` (ADR-01)."""
        return self.lanes * self.local_bytes


_INTEGERS = frozenset(("int8", "uint8", "int16", "uint16", "int32", "uint32"))
_COMMON = _INTEGERS | {"float32", "float16", "bfloat16", "int4", "uint4"}
_FP8 = frozenset(("float8_e4m3", "float8_e5m2"))


def _groups(eight: int, sixteen: int, **others: int) -> Mapping[str, int]:
    table = dict.fromkeys(("int8", "uint8", *_FP8), eight)
    table.update(dict.fromkeys(("int16", "uint16", "float16", "bfloat16"), sixteen))
    return {**table, **others}


def _ppl(
    name: str,
    arch: str,
    lanes: int,
    local_bytes: int,
    eu_bytes: int,
    cores: int,
    l2_bytes: int,
    groups: Mapping[str, int],
    capabilities: frozenset[Capability],
    extra: frozenset[str] = frozenset(),
) -> Chip:
    return Chip(
        name=name,
        arch=arch,
        isa=int(arch.split("_")[1]),
        lanes=lanes,
        local_bytes=local_bytes,
        banks=16,
        eu_bytes=eu_bytes,
        cores=cores,
        l2_bytes=l2_bytes,
        dtypes=_COMMON | extra,
        channels_max=65535,
        capabilities=capabilities | _COMPILED,
        groups=groups,
        stride_bits=18,
    )


#: what all have whose kernels a compiler makes
_COMPILED: Final = frozenset({Capability.COMPILED_KERNELS, Capability.GROUPED_WEIGHTS})
#: what all but the newest have
_SIXTH: Final = frozenset(
    {
        Capability.INTEGER_CONVOLUTIONS,
        Capability.FIRST_PRODUCTS,
        Capability.INTEGER_PRODUCTS,
        Capability.REQUANTISING_BY_FLOATS,
        Capability.DEQUANTISING_BY_INTEGERS,
        Capability.SDMA,
    }
)
#: what all but the first have
_LATER: Final = frozenset(
    {
        Capability.MINIMUM_POOLS,
        Capability.HALF_ROOTS,
        Capability.CONVOLUTION_RELU,
        Capability.HALF_BIAS,
        Capability.WIDE_BIAS,
        Capability.PRODUCT_OPTIONS,
        Capability.SINGLE_PRODUCTS,
    }
)
_FLOAT8: Final = frozenset({Capability.FLOAT8, Capability.FLOAT_SATURATION})
_BM1684X: Final = _SIXTH | {
    Capability.GATHERED_LINES,
    Capability.INT4_PRODUCTS,
    Capability.KNOWN_GROUPS,
}
_BM1684XE: Final = _BM1684X | {Capability.DEQUANTISING_IN_GROUPS}
_BM1688: Final = _SIXTH | _LATER | {Capability.GATHERED_LINES, Capability.KNOWN_GROUPS}
_BM1690: Final = _SIXTH | _LATER | _FLOAT8
_SG2260E: Final = _BM1690 | {Capability.KNOWN_GROUPS}
_SG2262: Final = (
    _LATER
    | _FLOAT8
    | {
        Capability.DEQUANTISING_IN_GROUPS,
        Capability.GATHERED_LINES,
        Capability.FLOAT8_SCALES,
        Capability.HALF_SUMS,
        Capability.WIDE_POOLS,
        Capability.KNOWN_GROUPS,
    }
)

_KIB: Final = 1024
_V7: Final = _FP8 | {"tfloat32", "float20"}

CHIPS: Final[dict[str, Chip]] = {
    chip.name: chip
    for chip in (
        Chip(  # CHIP-01
            name="bm1684",
            arch="",
            isa=4,
            lanes=64,
            local_bytes=512 * _KIB,
            banks=8,
            eu_bytes=128,
            cores=1,
            l2_bytes=0,
            dtypes=_INTEGERS | {"float32", "float16"},
            channels_max=4095,
            capabilities=frozenset({Capability.KERNEL_LIBRARY, Capability.STORAGE_MODES}),
            groups={"float32": 2},
            sram_bytes=2482176,
            dtcm_bytes=390144,
            lookup_bytes=902144,
            global_start=0x1_0000_0000,
            local_start=0x0800_0000,
            sram_start=0x1000_0000,
        ),
        _ppl(  # CHIP-02
            "bm1684x", "tpu_6_0", 64, 256 * _KIB, 64, 1, 0, _groups(64, 32, float32=1), _BM1684X
        ),
        _ppl(  # CHIP-03
            "bm1684xe", "tpu_6_0_e", 64, 256 * _KIB, 64, 1, 0, _groups(64, 32, float32=1), _BM1684XE
        ),
        _ppl(  # CHIP-04
            "bm1688", "tpul_6_0", 32, 128 * _KIB, 16, 2, 0, _groups(32, 16, float32=1), _BM1688
        ),
        _ppl(  # CHIP-05
            "bm1690",
            "tpub_7_1",
            64,
            256 * _KIB,
            64,
            8,
            134217728,
            _groups(64, 32, float32=1, tfloat32=16),
            _BM1690,
            _V7,
        ),
        _ppl(  # CHIP-06
            "sg2260e",
            "tpub_7_1_e",
            64,
            256 * _KIB,
            64,
            4,
            16777216,
            _groups(64, 32, float32=1, tfloat32=16),
            _SG2260E,
            _V7,
        ),
        _ppl(  # CHIP-07
            "sg2262",
            "tpub_9_0",
            16,
            128 * _KIB,
            32,
            32,
            0,
            {**_groups(16, 16), "float8_e4m3": 32, "float8_e5m2": 32, "tfloat32": 8},
            _SG2262,
            _V7 | {"float4_e2m1"},
        ),
    )
}

#: other names of the same hardware (CHIP-05, CHIP-06)
ALIASES: Final[dict[str, str]] = {"sg2260": "bm1690", "bm1690e": "sg2260e"}


def find(name: str) -> Chip | None:
    """The chip of that name or alias."""
    return CHIPS.get(ALIASES.get(name, name))
