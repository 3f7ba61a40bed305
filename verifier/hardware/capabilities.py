"""What a target can do beyond the first one: a member for each thing that a rule asks."""

from __future__ import annotations

from enum import Enum


class Capability(Enum):
    """A feature that some targets have and others have not; the value says where to read of it."""

    # -- instructions
    MX_MATMUL = "nc_matmul_mx, quantize_mx and packed x4 types in compute (NKI-H82)"
    ACTIVATE2 = "activate2 (NKI-H85)"
    EXPONENTIAL = "exponential (NKI-H85)"
    RANDOM_FLOATS = "rand2 (NKI-H85)"
    RANGE_SELECT = "range_select (NKI-H76)"
    NONZERO = "nonzero_with_count (NKI-H76)"
    CORES = "core_barrier and sendrecv between the cores of a chip (NKI-H77)"
    RANDOM_STATE = "states of the random number generators (NKI-H78)"
    MAGNITUDES = "abs_max and abs_min (NKI-H86)"
    # -- forms of instructions
    RANDOM_ON_GPSIMD = "rng on GpSimd (NKI-H79)"
    RANDOM_STATE_ON_VECTOR = "states of the Vector Engine's generators (NKI-RSS02)"
    COPY_ON_SCALAR = "tensor_copy on the Scalar Engine (NKI-H80)"
    UNARY_OPERATORS = "square, relu, abs_max and abs_min in tensor_scalar (NKI-H86)"
    BIAS_NUMBER = "a number as the bias of activation (NKI-H73)"
    BIASED_RECIPROCAL = "activation(op=reciprocal) with a bias (NKI-ACT09)"
    SUM_ON_ANY_CONTENT = "a matmul may add to what another engine wrote (NKI-MMU26)"
    DOUBLE_ROW = "nc_matmul(perf_mode=double_row) (NKI-H70)"
    EXACT_TRANSPOSE = "transposition by matmul passes the bits through (NKI-H72)"
    BFLOAT16_SUMS = "bfloat16 results of nc_matmul (NKI-H83)"
    WIDE_SUMS = "one matmul fills several banks of PSUM (NKI-MMU05)"
    HARDWARE_DESCRIPTORS = "a hardware engine for DMA descriptors (NKI-H74)"
    INDIRECT_DMA = "gathers, scatters and transposition of DMA by an index (NKI-H75)"
    INDIRECTION = "operands whose columns an index names, `.indirect` (NKI-H87)"
    PLACED_RECEPTION = "all_to_all_v(has_rdispls=True) (NKI-K08)"
    DMA_PRIORITIES = "priorities of DMA (NKI-H88)"
    STATE_IN_PSUM = "rand_get_state into PSUM (NKI-H89)"
    SMALL_TILES = "tiles of the array of 32 by 32 (NKI-MMU14)"
    OCP_FLOAT8 = "float8_e4m3fn operands of nc_matmul (NKI-H84)"

    # -- TPUs: kernels and layouts
    KERNEL_LIBRARY = "kernels of OKKernel's library (CHIP-01)"
    COMPILED_KERNELS = "kernels of PPL's compiler (CHIP-25)"
    STORAGE_MODES = "4N and 2N: elements of several batches in one word (LAY-4N)"
    GROUPED_WEIGHTS = "weights of convolutions in groups of input channels (CHIP-24)"
    # -- TPUs: functions
    INTEGER_CONVOLUTIONS = "conv and deconv of integers (TPU-C14)"
    FIRST_PRODUCTS = "mm and fmm (TPU-D05)"
    INTEGER_PRODUCTS = "mm2 (TPU-D05)"
    REQUANTISING_BY_FLOATS = "rq0 (TPU-E14)"
    DEQUANTISING_BY_INTEGERS = "dq1 (TPU-E17)"
    DEQUANTISING_IN_GROUPS = "dq2 (TPU-E18)"
    MINIMUM_POOLS = "pool_min (TPU-C40)"
    SDMA = "transfers by SDMA (TPU-G01)"
    GATHERED_LINES = "hau.gather_line (TPU-G03)"
    # -- TPUs: forms of functions
    FLOAT8 = "arithmetic, products and windows of 8-bit floats (TPU-B01, TPU-D14, TPU-C04)"
    FLOAT8_SCALES = "fbias and fscale of 8-bit floats (TPU-B15, TPU-B16)"
    FLOAT_SATURATION = "saturation of floats (TPU-B01)"
    HALF_ROOTS = "roots of 16-bit floats (TPU-B18)"
    HALF_SUMS = "fmac of 16-bit floats (TPU-B04)"
    WIDE_POOLS = "pools of 16- and 32-bit integers (TPU-C40)"
    CONVOLUTION_RELU = "fconv with relu (TPU-C07)"
    HALF_BIAS = "the bias of fconv has the type of the input (TPU-C04)"
    WIDE_BIAS = "the bias of conv has 32 bits (TPU-C11)"
    PRODUCT_OPTIONS = "mm2 and fmm2 with bias, relu, requantisation, sums of transposed (TPU-D16)"
    SINGLE_PRODUCTS = "fmm2 of float32 (TPU-D14)"
    INT4_PRODUCTS = "mm2 of 4-bit integers (TPU-D17)"
    KNOWN_GROUPS = "get_nic knows the chip (CHIP-24)"
