"""Element types of the NKI dialect: sizes and classes (catalogue rows NKI-T00a to NKI-T00j)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

#: bits of a byte
BYTE: Final = 8
#: the largest number up to which every integer is a float32 (PPL-C12)
EXACT: Final = 1 << 24

#: name -> (bytes, class). The order is the numbering that symbolic dtypes use; friendly ones first,
#: so that counterexamples prefer them.
DTYPES: Final[dict[str, tuple[int, str]]] = {
    "float32": (4, "float"),
    "bfloat16": (2, "float"),
    "float16": (2, "float"),
    "tfloat32": (4, "float"),
    "float8_e4m3": (1, "float"),
    "float8_e5m2": (1, "float"),
    "float8_e4m3fn": (1, "float"),
    "int32": (4, "int"),
    "uint32": (4, "int"),
    "int16": (2, "int"),
    "uint16": (2, "int"),
    "int8": (1, "int"),
    "uint8": (1, "int"),
    "bool_": (1, "int"),
    "float8_e8m0fnu": (1, "scale"),
    "float8_e5m2_x4": (4, "packed"),
    "float8_e4m3fn_x4": (4, "packed"),
    "float4_e2m1fn_x4": (2, "packed"),
    "int64": (8, "host"),
    "uint64": (8, "host"),
    "float64": (8, "host"),
    # of TPUs only; two elements of four bits share a byte
    "int4": (1, "host"),
    "uint4": (1, "host"),
    "float4_e2m1": (1, "host"),
    "float20": (4, "host"),
}

#: elements in one of a packed type
PACK: Final = 4

NAMES: Final[tuple[str, ...]] = tuple(DTYPES)
#: of programs of the host, which no tensor of a device has
HOST: Final = frozenset(name for name, (_, kind) in DTYPES.items() if kind == "host")
CODES: Final[dict[str, int]] = {name: code for code, name in enumerate(NAMES)}
ITEMSIZE: Final[dict[int, int]] = {CODES[name]: size for name, (size, _) in DTYPES.items()}

#: bits per element
BITS: Final[dict[str, int]] = {
    **{name: 8 * size for name, (size, _) in DTYPES.items()},
    **dict.fromkeys(("int4", "uint4", "float4_e2m1"), 4),
}

#: name -> the least and the greatest integer up to which a type holds every one as it is
WHOLE: Final[dict[str, tuple[int, int]]] = {
    "float32": (-EXACT, EXACT),
    "bfloat16": (-(1 << 8), 1 << 8),
    "float16": (-(1 << 11), 1 << 11),
    **{f"int{bits}": (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) for bits in (8, 16, 32)},
    **{f"uint{bits}": (0, (1 << bits) - 1) for bits in (8, 16, 32)},
}

#: other spellings found in kernels and contracts
ALIASES: Final[dict[str, str]] = {
    "fp32": "float32",
    "f32": "float32",
    "bf16": "bfloat16",
    "fp16": "float16",
    "f16": "float16",
    "half": "float16",
    "tf32": "tfloat32",
    "fp8_e4m3": "float8_e4m3",
    "fp8_e5m2": "float8_e5m2",
    "float8e4": "float8_e4m3",
    "float8e5": "float8_e5m2",
    "bool": "bool_",
    "bool8": "bool_",
}

#: more that users write in contracts and arguments
_SHORT: Final[Mapping[str, str]] = {
    "f64": "float64",
    "fp64": "float64",
    "f8_e4m3": "float8_e4m3",
    "f8_e5m2": "float8_e5m2",
    "fp8_e4m3fn": "float8_e4m3fn",
    "f8_e4m3fn": "float8_e4m3fn",
    "fp8_e8m0fnu": "float8_e8m0fnu",
    "f8_e8m0fnu": "float8_e8m0fnu",
    "fp8_e4m3fn_x4": "float8_e4m3fn_x4",
    "f8_e4m3fn_x4": "float8_e4m3fn_x4",
    "fp8_e5m2_x4": "float8_e5m2_x4",
    "f8_e5m2_x4": "float8_e5m2_x4",
    "fp4_e2m1fn_x4": "float4_e2m1fn_x4",
    "f4_e2m1fn_x4": "float4_e2m1fn_x4",
    **{
        f"{kind[0]}{bits}": f"{kind}{bits}"
        for kind in ("int", "uint")
        for bits in (4, 8, 16, 32, 64)
    },
}
#: every spelling that a user may give a dtype, with its one name
SPELLINGS: Final[Mapping[str, str]] = {
    **{name: name for name in NAMES},
    **ALIASES,
    **_SHORT,
}


#: of these and the other spellings, what some NumPy has
_NUMPY: Final = frozenset(
    {"float16", "float32", "float64", "half", "bool", "bool_", "bool8"}
    | {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
)


def canonical(name: str) -> str | None:
    """The dtype's one name, or None if it is not a dtype."""
    name = ALIASES.get(name, name)
    return name if name in DTYPES else None


def library_has(library: str, name: str) -> bool:
    """Whether a library may have a name for a dtype; only NumPy's names are known."""
    return library not in ("np", "numpy") or canonical(name) is None or name in _NUMPY


def of_class(*classes: str) -> frozenset[int]:
    """Codes of every dtype of the given classes."""
    return frozenset(CODES[n] for n, (_, kind) in DTYPES.items() if kind in classes)


def codes(*names: str) -> frozenset[int]:
    return frozenset(CODES[name] for name in names)


def integers(name: str) -> tuple[int, int]:
    """The smallest and the largest number of an integer type."""
    bits = BITS[name]
    if name.startswith("u") or name == "bool_":
        return 0, 2**bits - 1
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


#: float32 holds every integer up to here (NKI-RSL05)
EXACT_IN_FLOAT32: Final = 1 << 24
