"""The device functions of ``ppl.language``: one line per function.

A line is ``name  parameter[:role][=default] ...``. Roles:

``out``   a tensor that is written; ``out?``: it may be left out, the result is a new tensor then
``in``    a tensor that is read
``vec``   a tensor or a number that is read
``rmw``   a tensor that is read and written

Parameters without a role are carried along as they are. Parameters after ``*`` go by name only
(catalogue sections (e.2) to (e.6)).
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from typing import Final


def _each(names: str, parameters: str) -> str:
    return "".join(f"{name} {parameters}\n" for name in names.split())


_TIU: Final = (
    _each("minimum maximum sub_abs truediv", "dst:out? src0:vec src1:vec")
    + _each("fmul fadd fsub", "dst:out? src0:vec src1:vec * saturation=False")
    + _each(
        "add sub mul",
        "dst:out? src0:vec src1:vec shift=-100 mode=RM_HALF_TO_EVEN saturation=False",
    )
    + _each("bitwise_and bitwise_or bitwise_xor", "dst:out? src0:vec src1:vec")
    + _each("fadd_sqr fsub_sqr vc_min vc_max", "dst:out? src0:vec src1:vec")
    + _each("gt lt eq", "dst:out? src0:vec src1:vec * true_val=1")
    + _each("gt_select lt_select eq_select", "dst:out? src0:vec src1:vec src2:vec src3:vec")
    + _each("max_gt_select min_lt_select", "out0:out out1:out src0:vec src1:vec src2:vec src3:vec")
    + _each("abs fexp fexp_part floor ceiling bitwise_not", "dst:out? src:in")
    + _each("fsin_base fcos_base ftan_base farcsin_base farccos_base flog_base", "dst:out? src:in")
    + _each("frsqrt fsqrt", "dst:out? src:in * num_iter=3")
    + _each(
        "shift logical_shift circular_shift",
        "dst:out? src:vec * shift:vec r_mode=RM_HALF_TO_EVEN",
    )
    + _each("norm clz clo transpose_wc transpose_cw move move_cross_lane", "dst:out src:in")
    + """\
cast dst:out? src:vec type=void mode=RM_HALF_TO_EVEN
fdiv dst:out? src0:vec src1:vec * num_iter=-100
mac dst:rmw src0:vec src1:vec * lshift=0 rshift=0 r_mode=RM_HALF_TO_EVEN
fmac dst:rmw src0:vec src1:vec
fmul_add dst:out? src0:vec src1:vec src2:vec
fscale dst:out? src:in * scale:vec bias:vec
fbias dst:out? src:in * bias:vec
round dst:out? src:in * r_mode
smem_bcast dst:out coeff_mode
smem_dist dst:out coeff_mode
pool_avg dst:out src:in kernel padding stride dilation scale:vec rshift=0 ins=None
pool_max dst:out src:in kernel padding stride dilation
pool_min dst:out src:in kernel padding stride dilation
fconv dst:out src:in weight:vec kernel stride dilation padding bias:vec=None oc=0 ins=None \
result_relu=False result_add=False out_dtype=void has_bias=True saturate=False kernel_rotate=False
conv dst:out src:in weight:vec oc kernel stride dilation padding bias:vec=None ins=None \
pad_val:vec=0 result_relu=False result_add=False out_dtype=void has_bias=False sym=True \
quant:vec=0 rq=False requant:vec=0 rq_shift=0 out_zp=0 saturate=False \
round=RM_HALF_UP kernel_rotate=False
fdeconv dst:out src:in weight:vec bias:vec oc kernel dilation padding ins result_add out_dtype \
has_bias
deconv dst:out src:in weight:vec bias:vec oc kernel dilation padding ins has_bias pad_val:vec=None \
insert_val=0 result_relu=False result_add=False out_dtype=void sym=True quant:vec=0
fdw_conv dst:out src:in weight:vec bias:vec kernel stride dilation padding has_bias
dw_conv dst:out src:in weight:vec bias:vec kernel stride dilation padding pad_val:vec result_relu \
out_dtype has_bias round_mode rshift=0 rq=False requant:vec=None saturate=False
fdw_deconv dst:out src:in weight:vec bias:vec kernel dilation padding ins out_dtype has_bias
dw_deconv dst:out src:in weight:vec bias:vec kernel dilation padding ins pad_val:vec result_relu \
out_dtype has_bias rshift round_mode
fmm2 dst:out left:in right:in bias:vec=None ltrans=False rtrans=False rst_trans=False \
do_relu=False result_add=False out_dtype=void has_bias=False saturate=False
mm2 dst:out left:in right:in bias:vec=None r_zp:vec=None requant:vec=None multiplier=1 rshift=0 \
y_zp=0 ltrans=False rtrans=False rst_trans=False result_add=False out_dtype=void has_bias=False \
do_relu=False do_rq=False saturate=False round_mode=RM_HALF_AWAY_FROM_ZERO
mm dst:out left:in right:in bias:vec=None ltrans=False rtrans=False result_add=False lshift=0 \
rshift=0 do_relu=False round_mode=RM_HALF_UP
fmm dst:out left:in right:in bias:vec=None ltrans=False result_add=False
gather_hw dst:out param:in index:in const_val=0 fill_const=False
gather_w dst:out param:in index:in is_param_repeated=False const_val=0 fill_const=False
gather_h dst:out param:in index:in is_param_repeated=False const_val=0 fill_const=False
scatter_hw dst:rmw param:in index:in
scatter_w dst:rmw param:in index:in bcast=False is_param_repeated=False
scatter_h dst:rmw param:in index:in is_param_repeated=False
arange_broadcast dst:out start step num
rq0 dst:out src:in dst_round_mode src_round_mode scale=0 offset=0 quant:vec=None
rq1 dst:out src:in round_mode multiplier=0 shift=0 offset=0 quant:vec=None
dq0 dst:out src:in round_mode offset=0 scale=0 quant:vec=None
dq1 dst:out src:in round_mode offset=0 multiplier=0 shift=0 quant:vec=None
dq2 dst:out src:in offset_scale:in gsize
zero dst:out
fill dst:out value:vec
mask_select dst:out dst_cnt:out src:in mask:in
nonzero dst:out dst_cnt:out src:in
broadcast dst:out? src:in * npu_num=0
"""
)

_DMA: Final = (
    _each("store store_transpose_cw store_transpose_nc", "dst:out src:in")
    + _each("load_transpose_cw load_transpose_nc transpose_nc transpose_cw move", "dst:out src:in")
    + _each("load_transpose store_transpose transpose", "dst:out src:in trans_mode=CW_TRANS")
    + _each("move_distv move_tv vstore", "dst:out v_idx")
    + _each("move_vv move_distvv", "dst:out v_idx0 v_idx1")
    + _each("vload move_vt move_vcoll", "dst_v_idx src:in")
    + """\
load dst:out? src:in * align_mode=TPU_ALIGN
load_compact dst:out? src:in
load_broadcast dst:out src:in npu_num=0
broadcast dst:out? src:in * npu_num=0
mask_batch_bcast dst:out count:out src:in mask:in is_repeat=False
reverse dst:out src:in dim
mask_select dst:out src:in mask:in
nonzero dst:out src:in
zero dst:out
fill dst:out value:vec
gather_h dst:out param:in index:in const_val=0 index_start_pos=0
scatter_h dst:rmw param:in index:in index_start_pos=0 inplace_add=False
reduce dst:rmw src:in psum opcode
"""
)

_SDMA: Final = """\
move dst:out src:in port_id=-1
transpose_nc dst:out src:in port_id=-1
transpose dst:out src:in trans_mode=NC_TRANS port_id=-1
"""

_HAU: Final = """\
topk dst:out src:in K descended dst_idx:out=None src_idx:in=None
gather_line dst:out param:in index:in C start end fill_const
"""

#: other names of the same function (PPL-C14)
ALIASES: Final[dict[str, str]] = {
    "tiu.min": "tiu.minimum",
    "tiu.max": "tiu.maximum",
    "tiu.dot": "tiu.fmm2",
    "tiu.fma": "tiu.fmul_add",
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a device function; ``default`` is None if it must be given."""

    name: str
    role: str
    default: str | None
    keyword_only: bool = False

    @property
    def tensor(self) -> bool:
        return self.role != ""


@dataclass(frozen=True, slots=True)
class Signature:
    """A device function: ``tiu.fmul``, ``dma.load`` ..."""

    name: str
    engine: str
    parameters: tuple[Parameter, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(p.name for p in self.parameters)

    @property
    def returns(self) -> bool:
        """Whether the destination may be left out."""
        return self.parameters[0].role == "out?"


def _parse(engine: str, text: str) -> dict[str, Signature]:
    found: dict[str, Signature] = {}
    for line in text.strip().splitlines():
        name, *words = line.split()
        parameters: list[Parameter] = []
        keyword_only = False
        for word in words:
            if word == "*":
                keyword_only = True
                continue
            head, equals, default = word.partition("=")
            parameter, _, role = head.partition(":")
            parameters.append(Parameter(parameter, role, default if equals else None, keyword_only))
        found[f"{engine}.{name}"] = Signature(f"{engine}.{name}", engine, tuple(parameters))
    return found


@cache
def signatures() -> dict[str, Signature]:
    """Every device function by ``engine.name``."""
    return {
        **_parse("tiu", _TIU),
        **_parse("dma", _DMA),
        **_parse("sdma", _SDMA),
        **_parse("hau", _HAU),
    }


def find(name: str) -> Signature | None:
    """The function of that name; aliases are followed."""
    return signatures().get(ALIASES.get(name, name))


def of_package(name: str) -> str | None:
    """What ``pl.name`` is: the packages are imported into ``pl`` one after another, so that a name
    of several is that of the last one."""
    for engine in ("hau", "sdma", "tiu", "dma"):
        full = ALIASES.get(f"{engine}.{name}", f"{engine}.{name}")
        if full in signatures():
            return full
    return None


def literal(text: str) -> object:
    """The value of a default that is a number, a truth value or None; None for enumerations."""
    try:
        value: object = ast.literal_eval(text)
    except ValueError:
        return text
    return value
