"""Hardware numbers of the NKI targets. Rules take every number from here.

Sources are rows of the NKI catalogue (``NKI-Hxx``), which cite the Neuron architecture guides and
the ISA reference.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from verifier.hardware.capabilities import Capability
from verifier.hardware.dtypes import CODES, ITEMSIZE


class Target(Struct, frozen=True):
    """One NeuronCore generation. Sizes in bytes are per partition unless named otherwise."""

    name: str
    generation: int  # NKI-H01: 2, 3, 4
    partitions: int  # NKI-H02
    sbuf_bytes: int  # NKI-H04: physical bytes per partition
    sbuf_usable_bytes: int  # NKI-H05: minus the compiler's 16 KiB; later ones: NKI-OQ03
    sbuf_hard_bytes: int  # what no allocation may exceed: NKI-H05 binds on the first target only
    psum_bytes: int  # NKI-H06
    psum_banks: int  # NKI-H07
    psum_bank_bytes: int  # NKI-H08
    stationary_free_max: int  # NKI-H13: M of one matmul
    moving_free_max: int  # NKI-H14: N of one matmul into float32
    moving_free_max_bf16: int  # NKI-H14: N of one matmul into bfloat16
    contraction_max: int  # NKI-H12 without double row
    pe_tile_sizes: tuple[int, ...]  # NKI-H11
    transpose_vector_max: int  # NKI-H45: block of a Vector Engine transpose
    transpose_dma_rows: int  # NKI-H33, NKI-DTR05, NKI-DTR08: rows that a DMA transposes at once
    transpose_dma_columns: int  # NKI-DTR06, NKI-DTR08: their length
    bn_stats_free_max: int  # NKI-H105
    core_partitions: int  # NKI-P14: partitions of each GpSimd core
    core_indices_max: int  # NKI-LGA04: indices that the memory of a core holds
    core_message_max: int  # NKI-SRV03: elements per partition that GpSimd's DMA sends
    generator_words: int  # NKI-RSS01: state of the random generator of GpSimd, per partition
    generator_words_vector: int  # NKI-RSS01: that of the Vector Engine
    scale_rows: int  # NKI-MMX10: partitions of a quadrant that hold scales
    access_dims: int  # NKI-H50: free dimensions of an access pattern
    access_size_max: int  # NKI-H51, NKI-OQ06: elements of one access dimension
    access_stride_min: int  # NKI-H51
    access_stride_max: int  # NKI-H51
    quadrant: int  # NKI-H45: partitions per quadrant
    lnc_max: int  # NKI-H41: logical core degree
    device_bytes: int  # NKI-H36: HBM of a device
    dma_bytes_least: int  # NKI-H63: below it a transfer costs what starts it
    dma_bytes_good: int  # NKI-H63, NKI-D13: what it should move per partition
    stride_bytes_full: int  # NKI-H56, NKI-A09: the widest innermost step at full bandwidth
    start_cycles: int  # NKI-H57: from one instruction to the next, at least
    vector_width: int  # NKI-H24: elements of the Vector Engine per cycle, of 32 bits
    scalar_width: int  # NKI-H25: those of the Scalar Engine
    single_passes: int  # passes of a matmul of float32: its products are made of parts
    reciprocal_cycles: int  # NKI-RCP02: per element
    capabilities: frozenset[Capability]
    #: other names of the same hardware, besides its version (NKI-H65)
    others: tuple[str, ...] = ()

    def has(self, capability: Capability) -> bool:
        return capability in self.capabilities

    @property
    def psum_bank_singles(self) -> int:
        """The float32 elements of a bank, per partition."""
        return self.psum_bank_bytes // ITEMSIZE[CODES["float32"]]

    @property
    def version(self) -> str:
        """The member of ``nisa.nc_version``."""
        return f"gen{self.generation}"


#: NKI-H45, NKI-P14, NKI-MMX10: which elements instructions touch follows from these on all targets
QUADRANT: Final = 32
CORE_PARTITIONS: Final = 16
SCALE_ROWS: Final = 4

#: what the second target brought, and the third
_TRN2: Final = frozenset(
    {
        Capability.RANGE_SELECT,
        Capability.NONZERO,
        Capability.CORES,
        Capability.RANDOM_STATE,
        Capability.RANDOM_ON_GPSIMD,
        Capability.COPY_ON_SCALAR,
        Capability.BIAS_NUMBER,
        Capability.BIASED_RECIPROCAL,
        Capability.DOUBLE_ROW,
        Capability.EXACT_TRANSPOSE,
        Capability.HARDWARE_DESCRIPTORS,
        Capability.INDIRECT_DMA,
        Capability.SMALL_TILES,
    }
)
_TRN3: Final = _TRN2 | {
    Capability.MX_MATMUL,
    Capability.ACTIVATE2,
    Capability.EXPONENTIAL,
    Capability.RANDOM_FLOATS,
    Capability.MAGNITUDES,
    Capability.RANDOM_STATE_ON_VECTOR,
    Capability.UNARY_OPERATORS,
    Capability.SUM_ON_ANY_CONTENT,
    Capability.BFLOAT16_SUMS,
    Capability.OCP_FLOAT8,
    Capability.WIDE_SUMS,
    Capability.INDIRECTION,
    Capability.DMA_PRIORITIES,
    Capability.PLACED_RECEPTION,
    Capability.STATE_IN_PSUM,
}


def _target(
    name: str,
    generation: int,
    sbuf_kib: int,
    moving: tuple[int, int],
    pe: tuple[int, ...],
    lnc: int,
    hbm_gib: int,
    capabilities: frozenset[Capability],
    others: tuple[str, ...] = (),
) -> Target:
    return Target(
        name=name,
        generation=generation,
        partitions=128,
        sbuf_bytes=sbuf_kib * 1024,
        sbuf_usable_bytes=(sbuf_kib - 16) * 1024,
        sbuf_hard_bytes=(sbuf_kib if capabilities else sbuf_kib - 16) * 1024,
        psum_bytes=16 * 1024,
        psum_banks=8,
        psum_bank_bytes=2048,
        stationary_free_max=128,
        moving_free_max=moving[0],
        moving_free_max_bf16=moving[1],
        contraction_max=128,
        pe_tile_sizes=pe,
        transpose_vector_max=32,
        transpose_dma_rows=16,
        transpose_dma_columns=128,
        bn_stats_free_max=512,
        core_partitions=CORE_PARTITIONS,
        core_indices_max=4096,
        core_message_max=256,
        generator_words=6,
        generator_words_vector=24,
        scale_rows=SCALE_ROWS,
        access_dims=4,
        access_size_max=65536,
        access_stride_min=-32768,
        access_stride_max=32767,
        quadrant=QUADRANT,
        lnc_max=lnc,
        device_bytes=hbm_gib * 1024**3,
        dma_bytes_least=256,
        dma_bytes_good=2048,
        stride_bytes_full=16,
        start_cycles=64,
        vector_width=256 if capabilities else 128,
        scalar_width=128,
        single_passes=4,
        reciprocal_cycles=8,
        capabilities=capabilities,
        others=others,
    )


#: oldest first
TARGETS: Final[dict[str, Target]] = {
    target.name: target
    for target in (
        _target(
            "trn1", 2, 192, (512, 512), (128, 64), 1, 32, frozenset(), others=("trn1n", "inf2")
        ),
        _target("trn2", 3, 224, (512, 512), (128, 64, 32), 2, 96, _TRN2),
        _target("trn3", 4, 256, (4096, 8192), (128, 64, 32), 2, 144, _TRN3),
    )
}

#: other names of the same hardware (NKI-H65)
ALIASES: Final[dict[str, str]] = {
    other: target.name for target in TARGETS.values() for other in (*target.others, target.version)
}

DEFAULT: Final = "trn2"


def find(name: str) -> Target | None:
    """The target of that name or alias."""
    return TARGETS.get(ALIASES.get(name, name))


def first_with(capability: Capability) -> Target:
    """The oldest target that has the capability."""
    return next(target for target in TARGETS.values() if target.has(capability))


def needing(capability: Capability) -> str:
    """The targets that have the capability, in words: ``trn2 or newer``."""
    return f"{first_with(capability).name} or newer"
