"""Names of ``ppl`` and ``ppl.language`` that are values: dtypes, memories, modes."""

from __future__ import annotations

from typing import Final

from verifier.dialects.ppl import isa
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.tensors import DType
from verifier.symbolic.values import ApiRef, Enumerator

#: dtypes of ``ppl.language``
DTYPES: Final[dict[str, str]] = {
    **{name: name for name in ("int4", "uint4", "int8", "uint8", "int16", "uint16")},
    **{name: name for name in ("int32", "uint32", "int64", "uint64")},
    **{name: name for name in ("float16", "bfloat16", "float32", "float64")},
    "int1": "bool_",
    "float8e4": "float8_e4m3",
    "float8e5": "float8_e5m2",
}

#: pointer types, by the dtype that they point at
POINTERS: Final[dict[str, str]] = {
    **{f"pi{bits}_t": f"int{bits}" for bits in (4, 8, 16, 32, 64)},
    **{f"pu{bits}_t": f"uint{bits}" for bits in (4, 8, 16, 32, 64)},
    "pi1_t": "bool_",
    "pfp8e4_t": "float8_e4m3",
    "pfp8e5_t": "float8_e5m2",
    "pfp16_t": "float16",
    "pbf16_t": "bfloat16",
    "pfp32_t": "float32",
    "pfp64_t": "float64",
}

#: enumerations of ``ppl.language``: kind -> members (LAY-09 for the align modes)
ENUMS: Final[dict[str, tuple[str, ...]]] = {
    "memory": ("GLOBAL", "L2", "LOCAL"),
    "align": ("CONTINUOUS", "TPU_ALIGN", "TPU_COMPACT", "TPU_ROW_ALIGN", "NONE_ALIGN"),
    "round": (
        "RM_HALF_TO_EVEN",
        "RM_HALF_AWAY_FROM_ZERO",
        "RM_TOWARDS_ZERO",
        "RM_DOWN",
        "RM_UP",
        "RM_HALF_UP",
        "RM_HALF_DOWN",
    ),
    "coefficients": ("EXP", "LOG", "SIN", "COS", "TAN", "ARCSIN", "ERF_TAYLOR"),
    "transpose": ("NC_TRANS", "CW_TRANS"),
    "psum": ("ALL_REDUCE_PSUM_WO", "ALL_REDUCE_PSUM_WR"),
    "reduction": (
        "ALL_REDUCE_NOP",
        "ALL_REDUCE_MUL",
        "ALL_REDUCE_MAX",
        "ALL_REDUCE_MIN",
        "ALL_REDUCE_ADD",
    ),
}
_MEMBERS: Final[dict[str, str]] = {m: kind for kind, members in ENUMS.items() for m in members}

#: dtype of ``pl.void``: take that of the operands
VOID: Final = Enumerator("dtype", "void")

#: functions of ``ppl.language`` that have no operands on the device
HOST: Final[frozenset[str]] = frozenset(
    {
        "get_core_index", "get_core_num", "get_group_index", "get_group_num",
        "get_block_index", "get_block_num", "lane_num", "get_eu_num", "get_nic", "cdiv", "align",
        "aligned_stride_4d", "make_tensor", "gtensor", "make_gtensor_permute",
        "get_scalar_dtype", "static_range", "constexpr", "quick_pooling", "pooling2",
        "exp_no_overflow", "sigmoid_fp32", "prelu", "relu", "flog", "mish_f32", "pow_f32",
        "softplus_f32", "softsign_fp32", "sqrt_fp32", "fsin", "fcos", "farcsin", "farccos", "ftan",
        "fcot", "sinh_fp32", "cosh_fp32", "tanh_fp32", "arcsinh_fp32", "arccosh_fp32",
        "arctanh_fp32",
        *(i.short for i in isa.CONTROL.values()),
    }
)  # fmt: skip

#: functions of modules of ``ppl.language`` that it does not hand on: there is no ``pl.name``
_OF_MODULES: Final[dict[str, frozenset[str]]] = {
    "core": frozenset({"device_assert", "device_print", "static_assert", "static_print"}),
    "utils": frozenset({"get_stride"}),
}

_ENGINES: Final = ("tiu", "dma", "sdma", "hau")


def root(dotted: str) -> object | None:
    """The value of an imported dotted name, or None if it is not of PPL."""
    if dotted == "ppl":
        return ApiRef("ppl", "ppl")
    if not dotted.startswith("ppl."):
        return None
    parent, _, last = dotted.rpartition(".")
    owner = root(parent)
    return attribute(owner, last) if isinstance(owner, ApiRef) else None


def attribute(owner: ApiRef, attr: str) -> object | None:
    """``owner.attr``, or None if there is no such name."""
    if owner.name == "ppl":
        return ApiRef(attr if attr != "language" else "pl", "ppl")
    if owner.name in _ENGINES:
        found = isa.find(f"{owner.name}.{attr}")
        return _function(found) if found is not None else value(attr)
    if attr in _OF_MODULES.get(owner.name, ()):
        return ApiRef(f"pl.{attr}", "ppl")
    if owner.name != "pl":
        return None
    if attr in _ENGINES or attr in _OF_MODULES:
        return ApiRef(attr, "ppl")
    known = value(attr)
    if known is not None:
        return known
    if attr == "LANE_NUM":
        return ApiRef("pl.lane_num", "ppl")
    if attr in HOST:
        return ApiRef(f"pl.{attr}", "ppl")
    function = isa.of_package(attr)
    return _function(function) if function is not None else None


#: what tensors have
_OF_TENSORS: Final = ("sub_view", "view", "shape", "dtype", "type")
#: what there is besides, by owner, and is not followed (PPL-A06, of the release that the catalogue
#: is about)
_UNFOLLOWED: Final[dict[str, frozenset[str]]] = {
    "tensor": frozenset(
        {"set_dtype", "to", "T", "logical_and", "logical_or", "handle", "numel", "create"}
    ),
    "pl": frozenset(
        {
            "PPL_MAX_TENSOR_NUMEL", "array_type", "block_type", "dtype", "float8e4b15",
            "function_type", "math", "mtype", "pair_uniform_to_normal", "pfp8e4b15_t", "philox",
            "philox_impl", "pointer_type", "pvoid_t", "rand", "rand4x", "randint", "randint4x",
            "randn", "randn4x", "random", "ravel", "semantic", "sigmoid", "softmax", "standard",
            "swizzle2d", "tensor", "uint32_to_uniform_float", "wrap_func",
        }
    ),
    **dict.fromkeys(
        _ENGINES,
        frozenset(
            {
                "LANE_NUM", "align_mode", "block_type", "builtin", "coeff_table_mode", "constexpr",
                "dtype", "float8e4b15", "function_type", "get_eu_num", "get_nic", "get_npu_num",
                "gtensor", "jit", "lane_num", "math", "mtype", "pfp8e4b15_t", "pointer_type",
                "pvoid_t", "round_mode", "semantic", "tensor", "transpose_mode",
            }
        ),
    ),
}  # fmt: skip


def is_missing(owner: str, attr: str) -> bool:
    """Whether a name that is not followed is one that its owner does not have at all."""
    if attr.startswith("__") or owner not in _UNFOLLOWED:
        return False
    return attr not in _UNFOLLOWED[owner] and not (owner in _ENGINES and attr == owner)


def suggestion(owner: str, attr: str) -> str | None:
    """The name that was meant by one that differs from it by a slip; None: no telling."""
    known: set[str] = set()
    if owner in _ENGINES:
        prefix = f"{isa.PREFIX}{owner}."
        known = {name.removeprefix(prefix) for name in isa.all_names() if name.startswith(prefix)}
    elif owner == "pl":
        known = {*DTYPES, *POINTERS, *_MEMBERS, *HOST, *_ENGINES, "LANE_NUM"}
    elif owner == "tensor":
        known = set(_OF_TENSORS)
    near = ((_slips(attr, name), name) for name in known if name[:1] == attr[:1])
    found = min(near, default=None)
    return found[1] if found is not None and found[0] <= 1 + len(attr) // _LONG else None


#: letters for which one more slip is one
_LONG: Final = 10


def _slips(a: str, b: str) -> int:
    """Letters that are left out, added, replaced or exchanged with their neighbour."""
    rows = [list(range(len(b) + 1))]
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            best = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (x != y))
            if i > 1 and j > 1 and (x, y) == (b[j - 2], a[i - 2]):
                best = min(best, rows[-2][j - 2] + 1)
            row.append(best)
        rows.append(row)
    return rows[-1][-1]


def _function(instruction: Instruction) -> ApiRef:
    return ApiRef(instruction.name.removeprefix(isa.PREFIX), "ppl")


def value(name: str) -> object | None:
    """A dtype or a member of an enumeration."""
    if name in DTYPES:
        return DType.named(DTYPES[name])
    if name in POINTERS:
        return DType.named(POINTERS[name])
    if name == "void":
        return VOID
    return Enumerator(_MEMBERS[name], name) if name in _MEMBERS else None


__all__ = [
    "DTYPES",
    "ENUMS",
    "HOST",
    "POINTERS",
    "VOID",
    "attribute",
    "is_missing",
    "root",
    "suggestion",
    "value",
]
