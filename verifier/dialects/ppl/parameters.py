"""The parameters of functions of ``ppl.language`` that no description of an instruction has, and of
the methods of tensors (``language/core.py``, ``standard.py``, ``utils.py`` and ``wrap_func.py`` of
tpu_ppl 1.6.19)."""

from __future__ import annotations

from typing import Final

from verifier.dialects.ppl import isa
from verifier.dialects.signature import Signature, parse

_BLOCKS: Final = "block_n*, block_c*, block_h*, block_w*, real_n*, real_c*, real_h*, real_w*"
#: those of one tensor whose result is another one
OF_ONE: Final = (
    "sigmoid_fp32", "relu", "flog", "mish_f32", "softsign_fp32", "sqrt_fp32", "fsin", "fcos",
    "farcsin", "farccos", "ftan", "fcot", "sinh_fp32", "cosh_fp32", "tanh_fp32", "arcsinh_fp32",
    "arccosh_fp32", "arctanh_fp32",
)  # fmt: skip
_NOTHING: Final = (
    "get_core_index", "get_core_num", "get_group_index", "get_group_num", "get_block_index",
    "get_block_num", "lane_num",
)  # fmt: skip
_STRIDES: Final = "N*, C*, H*, W*, align_mode*, start_idx*"

#: those of control that are given something
_CONTROL: Final[dict[str, str]] = {
    "msg_send": "msg_idx*, wait_cnt*, is_dma*",
    "msg_wait": "msg_idx*, send_cnt*, is_dma*",
    "lane_mask": "mask*, long_valid*",
    "vset": "v_idx*, lmul*, v_len*",
}
_SIGNATURES: Final[dict[str, str]] = {
    **dict.fromkeys((f"pl.{name}" for name in _NOTHING), ""),
    **{f"pl.{i.short}": _CONTROL.get(i.short, "") for i in isa.CONTROL.values()},
    **{f"pl.{name}": f"local_input*, {_BLOCKS}" for name in OF_ONE},
    "pl.prelu": f"local_input*, alpha*, {_BLOCKS}",
    "pl.softplus_f32": f"local_input*, beta*, {_BLOCKS}",
    "pl.pow_f32": f"base*, exponent*, {_BLOCKS}",
    "pl.exp_no_overflow": "input*, m_n*, m_c*, m_h*, m_w*, t_n*, t_c*, t_h*, t_w*",
    "pl.quick_pooling": f"out_tensor*, in_tensor*, {_BLOCKS}, fill=0, mode=0, scale=1",
    "pl.pooling2": "qk_sub_tensor*, tmp_tensor*, real_q_h*, real_m*, real_k*, mode*",
    "pl.get_eu_num": "type*",
    "pl.get_nic": "type*",
    "pl.get_scalar_dtype": "dtype*",
    "pl.cdiv": "x*, div*",
    "pl.align": "x*, div*",
    "pl.aligned_stride_4d": f"{_STRIDES}, dtype*",
    "pl.get_stride": f"{_STRIDES}, eu_num*",
    "pl.make_tensor": "mem_shape*, dtype*, tensor_shape=None, align_mode=TPU_ALIGN",
    "pl.gtensor": "shape*, mem*, ptr=None, dtype=int32",
    "pl.constexpr": "value*",
    "pl.static_range": "arg1*, arg2=None, step=None",
    "tensor.sub_view": "shape*, offset*, stride=None",
    "tensor.view": "shape=None, stride=None, dtype=None",
}

#: what parameters of those are objects of
OBJECTS: Final = {
    **dict.fromkeys(("dtype", "type"), "a dtype"),
    **dict.fromkeys(("align_mode", "mem"), "a mode"),
}


def of(name: str) -> Signature | None:
    """The parameters of a function (``pl.cdiv``) or a method (``tensor.view``)."""
    text = _SIGNATURES.get(name)
    return None if text is None else parse(name, "ppl", text)


__all__ = ["OBJECTS", "OF_ONE", "of"]
