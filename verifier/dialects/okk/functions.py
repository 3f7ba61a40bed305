"""The functions of the API, a line each (catalogue table OKK-001 to OKK-121).

A line names the function without its ``okk_``, its row of the catalogue, its engine, and its
parameters in the order of the C prototype::

    bdc_add_C 040 bdc dst:w:float32 src:r:float32 C=float shape dst_stride src_stride

``role:access:dtype`` is a tensor; its parameter is ``role_addr``. Access is ``r``, ``w``, ``rw`` or
``d`` (destroyed: intermediate results are left there, OKK-E01, OKK-E02); ``r?flag`` reads only if
that parameter is true, ``w+flag`` also reads if it is. Behind the dtype may stand ``@system``,
``/layout`` (what the tensor is stored in, or is without strides; by default ``aligned`` in local
memory and ``continuous`` in system memory, OKK-D01; ``as_words``: with the strides of an aligned
tensor of 32-bit elements, whatever the width) and ``~shape`` (which shape it has, by default that
of the parameter ``shape``; see :mod:`.operands`). ``X_stride`` is the stride pointer of tensor
``X``, ``name=kind`` any other parameter, ``shape`` and ``input_shape`` pointers to shapes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the C prototype.

    ``kind``: ``local`` or ``system`` (an address), ``choice``, ``dim4``, ``dim2``, ``padding``
    (pointers; ``optional`` ones may be NULL), ``out`` (a ``dim4`` that is written), ``int``,
    ``float``, ``bool``, ``x32``, ``x16``, ``x8``.
    """

    name: str
    kind: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class TensorRole:
    """A tensor among the operands. ``flag`` names the parameter that decides about a read."""

    role: str
    parameter: str
    access: str
    flag: str
    dtype: str
    space: str
    layout: str
    shape: str
    stride: str | None


@dataclass(frozen=True, slots=True)
class Function:
    """One function: ``name`` is the C name without ``okk_``; ``engine`` gdma, bdc or control."""

    name: str
    fact: str
    engine: str
    parameters: tuple[Parameter, ...]
    tensors: tuple[TensorRole, ...] = ()

    @property
    def operation(self) -> str:
        """The name of the operation that a call is."""
        return f"okk.{self.name}"

    @property
    def spoken(self) -> str:
        """The name in C."""
        return f"okk_{self.name}"


_GDMA = """
gdma_32bit_matrix_S2L 029 gdma dst:w:uint32/matrix~dma src:r:uint32@system/rows~rows rows=int
    cols=int cols_per_channel=int row_stride=int
gdma_32bit_matrix_L2S 030 gdma dst:w:uint32@system/rows~rows src:r:uint32/matrix~dma rows=int
    cols=int cols_per_channel=int row_stride=int
"""

_BDC = """
bdc_32bit_cpy 037 bdc dst:w:uint32 src:r:uint32 shape dst_stride src_stride
bdc_32bit_set_C 038 bdc dst:w:uint32 C=x32 shape dst_stride
bdc_mac 049 bdc dst:rw:float32 src0:r:float32 src1:r:float32 shape dst_stride src0_stride
    src1_stride
bdc_mac_C 050 bdc dst:rw:float32 src:r:float32 C=float shape dst_stride src_stride
bdc_greater_select_value 055 bdc dst:w:uint32 src0:r:float32 src1:r:float32 select_val=x32 shape
    dst_stride src0_stride src1_stride
bdc_greater_C_select_value 056 bdc dst:w:uint32 src:r:float32 C=float select_val=x32 shape
    dst_stride src_stride
bdc_C_greater_select_value 057 bdc dst:w:uint32 src:r:float32 C=float select_val=x32 shape
    dst_stride src_stride
bdc_equal_select_value 058 bdc dst:w:uint32 src0:r:float32 src1:r:float32 select_val=x32 shape
    dst_stride src0_stride src1_stride
bdc_equal_C_select_value 059 bdc dst:w:uint32 src:r:float32 C=float select_val=x32 shape dst_stride
    src_stride
bdc_32bit_arithmetic_shift 066 bdc dst:w:int32 src0:r:int32 src1:r:int32 shape dst_stride
    src0_stride src1_stride
bdc_32bit_logical_shift 067 bdc dst:w:uint32 src0:r:uint32 src1:r:int32 shape dst_stride
    src0_stride src1_stride
bdc_32bit_arithmetic_shift_C 068 bdc dst:w:int32 src:r:int32 C=int shape dst_stride src_stride
bdc_32bit_logical_shift_C 069 bdc dst:w:uint32 src:r:uint32 C=int shape dst_stride src_stride
bdc_32bit_C_arithmetic_shift 070 bdc dst:w:int32 src:r:int32 C=int shape dst_stride src_stride
bdc_32bit_C_logical_shift 071 bdc dst:w:uint32 src:r:int32 C=int shape dst_stride src_stride
bdc_rsqrt 072 bdc dst:w:float32 src:r:float32 shape
bdc_sqrt 073 bdc dst:w:float32 src:r:float32 shape
bdc_taylor_exp 074 bdc dst:w:float32 src:r:float32 shape num_series=int
bdc_lookup_exp 075 bdc dst:w:float32 src:r:int32 shape
bdc_exp 076 bdc dst:w:float32 src:r:float32 work:d:float32 shape
bdc_exp_tunable 077 bdc dst:w:float32 src:r:float32 work:d:float32 shape num_series=int
bdc_sigmoid 078 bdc dst:w:float32 src:r:float32 work:d:float32 shape
bdc_sigmoid_tunable 079 bdc dst:w:float32 src:r:float32 work:d:float32 shape num_series=int
bdc_tanh 080 bdc dst:w:float32 src:r:float32 work:d:float32 shape
bdc_tanh_tunable 081 bdc dst:w:float32 src:r:float32 work:d:float32 shape num_series=int
bdc_reciprocal 082 bdc dst:w:float32 src:r:float32 shape dst_stride src_stride
bdc_neg 083 bdc dst:w:float32 src:r:float32 shape dst_stride src_stride
bdc_fp32_to_int32 084 bdc dst:w:int32 src:r:float32 shape
bdc_lookup_int32_to_fp32 085 bdc dst:w:float32 src:r:int32 shape
bdc_4N_int8_to_fp32 086 bdc dst:w:float32/chosen src:r:uint32/chosen~4n work:d:uint32/chosen~4n
    shape is_signed=bool is_aligned_layout=bool
bdc_int8_to_fp32 087 bdc dst:w:float32/chosen src:r:uint8/chosen work:d:uint8/chosen shape
    is_signed=bool is_aligned_layout=bool
bdc_relu 088 bdc dst:w:float32 src:r:float32 shape dst_stride src_stride
bdc_bias 089 bdc dst:w:float32 src:r:float32 bias:r:float32/compact~channels shape dst_stride
    src_stride
bdc_scale 090 bdc dst:w:float32 src:r:float32 scale:r:float32/compact~channels shape dst_stride
    src_stride
bdc_scale_bias 091 bdc dst:w:float32 src:r:float32 scale:r:float32/compact~channels
    bias:r:float32/compact~channels shape dst_stride src_stride
bdc_conv2d 092 bdc output:w+result_add:float32~conv input:r:float32~input
    weight:r:uint64/2ic~weight2ic bias:r?using_bias:float32/compact~conv_bias input_shape
    output_c=int kernel_h=int kernel_w=int input_stride kernel_stride using_bias=bool
    result_add=bool padding=padding stride=dim2 dilation=dim2
bdc_depthwise2d 093 bdc output:w:float32~depthwise input:r:float32~input
    weight:r:float32/compact~window bias:r?using_bias:float32/compact~input_channels input_shape
    kernel_h=int kernel_w=int using_bias=bool padding=padding stride=dim2 dilation=dim2
bdc_avg_pool2d 094 bdc output:w:float32~pool input:r:float32~input input_shape kernel_h=int
    kernel_w=int padding=padding stride=dim2
bdc_max_pool2d 095 bdc output:w:float32~pool input:r:float32~input input_shape kernel_h=int
    kernel_w=int padding=padding stride=dim2
bdc_matmul 096 bdc output:w+result_add:float32/matrix~product left:r:float32/matrix~left
    right:r:float32/matrix~right bias:r?using_bias:float32/matrix~row left_rows=int left_cols=int
    right_cols=int left_cols_per_channel=int right_cols_per_channel=int using_bias=bool
    result_add=bool
bdc_greater_select 119 bdc dst:w:uint32 src0:r:float32!choice src1:r:float32!choice
    select0:r:uint32!choice select1:r:uint32!choice shape
bdc_equal_select 120 bdc dst:w:uint32 src0:r:float32!choice src1:r:float32!choice
    select0:r:uint32!choice select1:r:uint32!choice shape
"""

_PACKED = """
split_high_8bit 097 dst:w:4n src:r:2n shape dst_stride src_stride
split_low_8bit 098 dst:w:4n src:r:2n work:d:2n shape dst_stride src_stride work_stride
arithmetic_shift 112 dst:w:2n src0:r:2n src1:r:2n shape dst_stride src0_stride src1_stride
logical_shift 113 dst:w:2n src0:r:2n src1:r:2n shape dst_stride src0_stride src1_stride
arithmetic_shift_C 114 dst:w:2n src:r:2n C=int shape dst_stride src_stride
logical_shift_C 115 dst:w:2n src:r:2n C=int shape dst_stride src_stride
C_arithmetic_shift 116 dst:w:2n src:r:2n C=int shape dst_stride src_stride
C_logical_shift 117 dst:w:2n src:r:2n C=int shape dst_stride src_stride
mul_8bit 118 dst:w:2n src0_high:r:4n src0_low:r:4n src1:r:4n shape dst_stride src0_high_stride
    src0_low_stride src1_stride mul_type=int rshift=int
"""

_CONTROL = """
initialize 001
poll 002
parallel_start 003
parallel_end 004
okkernel_assert X09 assertion=bool
"""

_ANSWERS = """
is_parallel_state 005
npu_num 006
local_mem_size_per_npu 007
l2_sram_size 008
dtcm_size 009
start_npu_index 010 addr=int
channle_num_per_npu 011 start_idx=int num_channels=int
128_byte_aligned_stride_for_32bit 012 stride=out start_idx=int shape
128_byte_aligned_stride_for_16bit 013 stride=out start_idx=int shape
128_byte_aligned_stride_for_8bit 014 stride=out start_idx=int shape
compact_stride 015 stride=out start_idx=int shape
continuous_stride 016 stride=out shape
local_mem_bank_per_npu 122
eu_num 122
global_mem_start_addr 122
local_mem_start_addr 122
l2_sram_start_addr 122
dtcm_start_addr 122
lookup_table_start_addr 122
lookup_table_size 122
"""

#: helpers that give the strides back instead of taking a pointer to them
_RETURNING: Final = """
aligned_stride_32bit 012 start_idx=int shape
aligned_stride_16bit 013 start_idx=int shape
aligned_stride_8bit 014 start_idx=int shape
"""

#: functions of which nothing is said here: pointers for the control core, the runtime (OKK-123,
#: OKK-124), the host's side (OKK-125 to OKK-128), and what is exported without documentation
UNDESCRIBED: Final = frozenset(
    {"global_mem_addr", "local_mem_addr", "l2_sram_addr", "dtcm_addr"}
    | {"register_kernel_func", "dump_registered_kernel_funcs", "set_id_node", "get_id_node"}
    | {"enable_check_id_node", "disable_check_id_node", "bdc_fp32_to_4N_int8"}
)

_BINARY = "dst:w:{t} src0:r:{t} src1:r:{t} shape dst_stride src0_stride src1_stride"
_WITH_C = "dst:w:{t} src:r:{t} C={c} shape dst_stride src_stride"

_ELEMENTWISE: Final[dict[str, int]] = {
    "add": 39,
    "add_C": 40,
    "sub": 41,
    "sub_C": 42,
    "C_sub": 43,
    "mul": 44,
    "mul_C": 45,
    "div": 46,
    "div_C": 47,
    "C_div": 48,
    "max": 51,
    "max_C": 52,
    "min": 53,
    "min_C": 54,
}
_BITWISE: Final[dict[str, int]] = {
    "and": 60,
    "and_C": 61,
    "or": 62,
    "or_C": 63,
    "xor": 64,
    "xor_C": 65,
}
#: packed functions with an ``op_type``: the catalogue's number, and what follows the strides
_TYPED: Final[dict[str, tuple[int, str]]] = {
    "add": (99, "op_type=int rshift=int"),
    "add_C": (100, "op_type=int rshift=int"),
    "sub": (101, "op_type=int rshift=int"),
    "sub_C": (102, "op_type=int rshift=int"),
    "C_sub": (103, "op_type=int rshift=int"),
    "mul": (104, "op_type=int rshift=int"),
    "mul_C": (105, "op_type=int rshift=int"),
    "mac": (106, "is_origin_dst_signed=bool op_type=int lshift=int rshift=int"),
    "mac_C": (107, "is_origin_dst_signed=bool op_type=int lshift=int rshift=int"),
    "max": (108, "op_type=int"),
    "max_C": (109, "op_type=int"),
    "min": (110, "op_type=int"),
    "min_C": (111, "op_type=int"),
}


def _whole_lines(text: str) -> list[str]:
    """The lines of a table, continued ones in one piece."""
    return text.strip().replace("\n    ", " ").splitlines()


def _lines() -> list[str]:
    """All lines in one form."""
    out = [line for text in (_GDMA, _BDC) for line in _whole_lines(text)]
    number = 17
    for bits in (32, 16, 8):
        dtype = f"uint{bits}"
        for way in ("S2L", "L2S", "L2L", "S2S"):
            src, dst = ("@system" if side == "S" else "" for side in (way[0], way[2]))
            out.append(
                f"gdma_{bits}bit_cpy_{way} {number:03} gdma dst:w:{dtype}{dst} "
                f"src:r:{dtype}{src} shape dst_stride src_stride"
            )
            number += 1
    number = 31
    for bits in (32, 16, 8):
        for place, space in (("system", "@system"), ("local", "/as_words")):
            out.append(
                f"gdma_{bits}bit_set_C_{place} {number:03} gdma dst:w:uint{bits}{space} "
                f"C=x{bits} shape dst_stride"
            )
            number += 1
    for name, number in _ELEMENTWISE.items():
        form = _WITH_C if name.endswith("_C") or name.startswith("C_") else _BINARY
        out.append(f"bdc_{name} {number:03} bdc {form.format(t='float32', c='float')}")
    for name, number in _BITWISE.items():
        form = _WITH_C if name.endswith("_C") else _BINARY
        out.append(f"bdc_32bit_{name} {number:03} bdc {form.format(t='uint32', c='x32')}")
    out.extend(_packed_lines())
    out.extend(f"{line} " for line in _CONTROL.strip().splitlines())
    return [_with_engine(line) for line in out]


def _with_engine(line: str) -> str:
    name, fact, *rest = line.split()
    engine = [] if rest and rest[0] in ("gdma", "bdc") else ["control"]
    return " ".join((name, fact, *engine, *rest))


def _packed_lines() -> list[str]:
    """The packed fixed point functions; operands of 8 bits are 4N, of 16 bits 2N (OKK-PK1)."""
    out = []
    for line in _whole_lines(_PACKED):
        name, fact, *rest = line.split()
        out.append(f"bdc_fixed_point_packed_16bit_{name} {fact} bdc {' '.join(map(_word, rest))}")
    for name, (number, rest_of_it) in _TYPED.items():
        constant = name.endswith("_C") or name.startswith("C_")
        access = "rw" if name.startswith("mac") else "w"
        sources = "src:r:source C=int" if constant else "src0:r:source src1:r:source"
        strides = "src_stride" if constant else "src0_stride src1_stride"
        words = f"dst:{access}:result {sources} shape dst_stride {strides} {rest_of_it}"
        out.append(
            f"bdc_fixed_point_packed_{name} {number:03} bdc {' '.join(map(_word, words.split()))}"
        )
    words = (
        "dst:w:2n src0:r:2n src1:r:4n work:d:2n work_high:d:4n work_low:d:4n shape dst_stride "
        "src0_stride src1_stride work_stride work_high_stride work_low_stride rshift=int"
    )
    name = "bdc_fixed_point_packed_s16_mul_u8_to_s16"
    out.append(f"{name} 121 bdc {' '.join(map(_word, words.split()))}")
    return out


def _word(token: str) -> str:
    """``dst:w:4n`` as a tensor of 32-bit words in that mode."""
    role, colon, rest = token.partition(":")
    access, _, mode = rest.partition(":")
    return f"{role}:{access}:uint32~{mode}" if colon else token


_POINTERS: Final = frozenset(("padding", "dim2"))


def _parse(line: str) -> Function:
    name, fact, engine, *tokens = line.split()
    parameters: list[Parameter] = []
    roles: list[tuple[str, str]] = []
    for token in tokens:
        if ":" in token:
            role, _, rest = token.partition(":")
            choice = rest.endswith("!choice")
            space = "system" if "@system" in rest else "local"
            kind = "choice" if choice else space
            parameters.append(Parameter(role if choice else f"{role}_addr", kind))
            roles.append((role, rest.removesuffix("!choice").replace("@system", "")))
        elif "=" in token:
            parameter, _, kind = token.partition("=")
            parameters.append(Parameter(parameter, kind, kind in _POINTERS))
        else:
            parameters.append(Parameter(token, "dim4", token.endswith("_stride")))
    by_name = {p.name: p for p in parameters}
    tensors = tuple(_tensor(role, rest, by_name) for role, rest in roles)
    return Function(name, f"OKK-{fact}", engine, tuple(parameters), tensors)


def _tensor(role: str, text: str, parameters: dict[str, Parameter]) -> TensorRole:
    access, _, what = text.partition(":")
    what, _, shape = what.partition("~")
    dtype, _, layout = what.partition("/")
    parameter = f"{role}_addr" if f"{role}_addr" in parameters else role
    space = parameters[parameter].kind
    mode, flag = access, ""
    for sign in "?+":
        if sign in access:
            mode, _, flag = access.partition(sign)
    stride = f"{role}_stride"
    if role == "weight" and "kernel_stride" in parameters:
        stride = "kernel_stride"
    default = "continuous" if space == "system" else "aligned"
    return TensorRole(
        role,
        parameter,
        mode,
        flag,
        dtype,
        "system" if space == "system" else "local",
        layout or default,
        shape or "shape",
        stride if stride in parameters else None,
    )


@cache
def operations() -> dict[str, Function]:
    """The functions that are operations of the trace, by name without ``okk_``."""
    return {f.name: f for f in map(_parse, _lines())}


@cache
def answers() -> dict[str, Function]:
    """The functions that only compute something for the kernel's own arithmetic."""
    lines = [*_ANSWERS.strip().splitlines(), *_RETURNING.strip().splitlines()]
    return {f.name: f for f in map(_parse, map(_with_engine, lines))}


def find(name: str) -> Function | None:
    """The function of that name, with or without ``okk_``."""
    short = name.removeprefix("okk_")
    return operations().get(short) or answers().get(short)


def all_names() -> tuple[str, ...]:
    """The names that a call may have, as C spells them."""
    names = [f.spoken for f in operations().values() if f.name != "okkernel_assert"]
    return (*names, *(f.spoken for f in answers().values() if f.name not in _RETURNING))
