"""Names of the NKI API that are values: dtypes, buffers, operators, enumerations, sizes.

Everything here is a plain table; symbolic integers are made when a name is looked up, because they
belong to one analysis.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Final

from verifier.dialects.nki.signatures import generations_with, table
from verifier.dialects.nki.versions import GENERATIONS, newer
from verifier.hardware import dtypes as dt
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import TARGETS, Target
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.tensors import DType
from verifier.symbolic.values import CURRENT, ApiRef, BufferValue, Enumerator

#: the most negative float32, what ``fp32.min`` is and ``range_select`` demands (NKI-RSL06)
FP32_MIN: Final = -3.4028235e38

#: the memories that the front end of 0.2 has without an import
BUILT_IN: Final = ("<built in>.hbm", "<built in>.psum", "<built in>.sbuf")

#: imported modules -> the namespace of ours that they are
NAMESPACES: Final[dict[str, str]] = {
    "": "nki",
    "language": "language",
    "language.dtypes": "dtype",
    "dtype": "dtype",
    "isa": "isa",
    "isa.constants": "isa",
    "isa.neuron_isa": "isa",
    "compiler": "compiler",
    "compiler.sbuf": "compiler.sbuf",
    "compiler.psum": "compiler.psum",
    "typing": "typing",
    "collectives": "collectives",
    "language.tile_size": "language.tile_size",
    "language.nc": "language.nc",
    **{name: name for name in ("<built in>", *BUILT_IN)},
}

BUFFERS: Final[dict[str, Buffer]] = {
    "sbuf": Buffer.SBUF,
    "psum": Buffer.PSUM,
    "hbm": Buffer.HBM,
    "private_hbm": Buffer.HBM,
    "shared_hbm": Buffer.SHARED_HBM,
}

#: enumerations of ``nki.isa``: kind -> members (catalogue section (c.1), NKI-M031, NKI-M032)
ENUMS: Final[dict[str, frozenset[str]]] = {
    "engine": frozenset({"tensor", "vector", "scalar", "gpsimd", "dma", "sync", "unknown"}),
    "reduce_cmd": frozenset({"idle", "reset", "reduce", "reset_reduce", "load_reduce"}),
    "dge_mode": frozenset({"unknown", "swdge", "hwdge", "none"}),
    "oob_mode": frozenset({"error", "skip"}),
    "matmul_perf_mode": frozenset(
        {"none", "double_row", "double_row_gen3", "double_column", "double_pixel"}
    ),
    "dma_engine": frozenset({"dma", "gpsimd_dma"}),
}

#: ``nisa.vector_engine`` and kin (NKI-N06)
ENGINE_ALIASES: Final[dict[str, str]] = {
    f"{name}_engine": name for name in ("tensor", "vector", "scalar", "gpsimd", "unknown")
}

#: the members of ``nisa.nc_version``
NC_VERSIONS: Final = {target.version: target.generation for target in TARGETS.values()}

#: other spellings of operators -> the name that rules use. Reductions name the operator that they
#: fold with (``nl.max`` as ``op=`` is ``maximum``).
OPERATOR_ALIASES: Final[dict[str, str]] = {
    "max": "maximum",
    "amax": "maximum",
    "min": "minimum",
    "amin": "minimum",
    "sum": "add",
    "prod": "multiply",
    "all": "logical_and",
    "true_divide": "divide",
    "mean": "average",
    "absolute": "abs",
    "bitwise_not": "invert",
    "arctan": "arctan",
    "conjugate": "copy",
}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: operators that may be named by ``op=`` and kin (NKI-T14, NKI-T15)
OPERATORS: Final = _words(
    "add subtract multiply divide maximum minimum power mod fmod abs_max abs_min bypass average "
    "bitwise_and bitwise_or bitwise_xor left_shift right_shift invert "
    "equal not_equal greater greater_equal less less_equal "
    "logical_and logical_or logical_xor logical_not "
    "abs square relu rsqrt reciprocal negative "
    "copy sigmoid prelu gelu gelu_dx gelu_apprx_tanh gelu_apprx_sigmoid gelu_apprx_sigmoid_dx "
    "silu silu_dx tanh softplus mish erf erf_dx exp log sin cos tan arctan sqrt sign floor ceil "
    "trunc max min sum prod mean all amax amin"
)

#: NumPy functions whose first argument is a shape: what ``shared_constant`` is given
ARRAY_MAKERS: Final = _words(
    "numpy.identity numpy.eye numpy.zeros numpy.ones numpy.full numpy.empty"
)

#: NumPy functions whose result has the shape of their first argument
ARRAY_COPIES: Final = _words(
    "numpy.tril numpy.triu numpy.zeros_like numpy.ones_like numpy.full_like numpy.empty_like "
    "numpy.copy numpy.ascontiguousarray"
)

#: names of other libraries for dtypes
_EXTERNAL_ROOTS: Final = ("numpy", "np", "torch", "jax.numpy", "jnp", "ml_dtypes", "neuron_dtypes")
_EXTERNAL_DTYPES: Final[dict[str, str]] = {
    "bool_": "bool_",
    "bool": "bool_",
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "single": "float32",
    "long": "int64",
    "int": "int32",
    "short": "int16",
}


#: constants of ``nl.tile_size`` (NKI-H100 to NKI-H108)
TILE_SIZES: Final[Mapping[str, Callable[[Target], int]]] = {
    "pmax": lambda t: t.partitions,
    "psum_fmax": lambda t: t.psum_bank_bytes // 4,
    "psum_bank_fmax": lambda t: t.psum_bank_bytes // 4,
    "psum_bank_fmax_bytes": lambda t: t.psum_bank_bytes,
    "psum_num_banks": lambda t: t.psum_banks,
    "gemm_stationary_fmax": lambda t: t.stationary_free_max,
    # the constant stays at 512 where the hardware takes more (NKI-H104)
    "gemm_moving_fmax": lambda t: min(t.moving_free_max, 512),
    "bn_stats_fmax": lambda t: t.bn_stats_free_max,
    "sbuf_size_bytes": lambda t: t.sbuf_bytes * t.partitions,
    "sbuf_fmax": lambda t: t.sbuf_usable_bytes // 4,
    "sbuf_fmax_bytes": lambda t: t.sbuf_usable_bytes,
    "total_available_sbuf_size": lambda t: t.sbuf_usable_bytes,
    # not documented; 32 is what allocators align to by default (NKI-H108)
    "psum_min_align": lambda t: 32,
    "sbuf_min_align": lambda t: 32,
}


def tile_size(attr: str, target: Target) -> Expr | None:
    """A constant of ``nl.tile_size`` on a target."""
    value = TILE_SIZES.get(attr)
    return E.const(value(target)) if value is not None else None


#: names that are values, with the generation that has them first, and the one that does not have
#: them any more (section (a.4), NKI-M021, NKI-M104)
VALUES: Final[Mapping[str, tuple[str, str]]] = {
    "isa.dma_engine": ("0.3", ""),
    "isa.engine.dma": ("0.2", ""),
    "isa.fp32": ("", "0.2"),
    "isa.nc_version.gen4": ("0.2", ""),
    "isa.reduce_cmd.load_reduce": ("0.2", ""),
    "isa.NkiInstruction": ("0.6", ""),
    "language.bfp16": ("", "0.2"),
    "language.fp32": ("", "0.2"),
    "language.MemoryRegion": ("0.3", ""),
    "language.NkiTensor": ("0.3", ""),
    "language.abs_max": ("0.4", ""),
    "language.abs_min": ("0.4", ""),
    "language.gelu_apprx_sigmoid_dx": ("0.2", ""),
    "language.bypass": ("0.4", ""),
    "language.prelu": ("0.4", ""),
    "language.average": ("0.5", ""),
    "language.float8_e8m0fnu": ("0.5", ""),
    "language.tile_size.psum_bank_fmax": ("0.4", ""),
    "language.tile_size.psum_bank_fmax_bytes": ("0.4", ""),
    "language.tile_size.sbuf_size_bytes": ("0.4", ""),
    "language.tile_size.sbuf_fmax": ("0.4", ""),
    "language.tile_size.sbuf_fmax_bytes": ("0.4", ""),
    "language.tile_size.psum_num_banks": ("0.5", ""),
}


#: attributes and methods of tensors that not all generations have, as :data:`VALUES` (NKI-M039,
#: NKI-M114, catalogue section (e.2)); ``method.parameter`` is a keyword of one (NKI-M113)
MEMBERS: Final[Mapping[str, tuple[str, str]]] = {
    **dict.fromkeys(_words("assert_shape astype broadcast_to expand_dims itemsize"), ("", "0.2")),
    "is_identity": ("0.2", "0.5"),
    **dict.fromkeys(
        _words(
            "broadcast expand_dim flatten_dims indirect is_contiguous is_indirect permute "
            "rearrange reinterpret_cast reshape_dim select slice squeeze_dim vector_select"
        ),
        ("0.5", ""),
    ),
    "reshape.new_shape": ("", "0.5"),
    "reshape.shape": ("0.5", ""),
    "depends_on": ("0.6", ""),  # of instructions (NKI-M138)
    "+": ("", "0.2"),  # the arithmetic of Python (NKI-L55)
}


#: what no generation has, and is asked for: what there is instead, and the facts of that
NEVER: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = dict.fromkeys(
    ("language.arithmetic_right_shift", "language.arithmetic_shift_right"),
    ("shifts to the right are logical: `nl.right_shift` moves zeros in", ("T08",)),
)


def value_in(full: str, generation: str) -> bool:
    """Whether a generation has a value; functions are in the tables of signatures."""
    return _between(VALUES.get(full, ("", "")), generation)


def function_in(full: str, generation: str) -> bool:
    """Whether a generation has a function; operators are values there, too (NKI-L54)."""
    having = generations_with(full)
    namespace, _, last = full.rpartition(".")
    marks = namespace == "language" and operator_name(last) is not None
    return not having or marks or generation in having


def imported(dotted: str, generation: str) -> tuple[str, bool] | None:
    """A name that an import asks a generation for in vain, and whether it is a function's."""
    module, _, last = dotted.rpartition(".")
    owner = root(module) if module else None
    if not isinstance(owner, ApiRef) or root(dotted) is None:
        return None
    full = last if owner.name == "nki" else f"{owner.name}.{last}"
    if owner.generation == "beta1":
        generation = "beta1"
    if not value_in(full, generation):
        return full, False
    return None if function_in(full, generation) else (full, True)


def member_in(name: str, generation: str) -> bool:
    """Whether the tensors of a generation have a member, or a method a keyword."""
    return _between(MEMBERS.get(name, ("", "")), generation)


def _between(life: tuple[str, str], generation: str) -> bool:
    since, until = life
    return not (since and not newer(generation, since)) and not (until and newer(generation, until))


def operator_name(name: str) -> str | None:
    """The canonical operator that a name stands for, or None if it is not one."""
    if name in OPERATORS or name in OPERATOR_ALIASES:
        return OPERATOR_ALIASES.get(name, name)
    return None


def root(dotted: str) -> object | None:
    """The value of an imported dotted name, or None if it is not of NKI."""
    generation = CURRENT
    if dotted == "neuronxcc":
        return ApiRef("neuronxcc", "beta1")
    if dotted.startswith("neuronxcc.nki"):
        generation, dotted = "beta1", dotted[len("neuronxcc.") :]
    if dotted != "nki" and not dotted.startswith("nki."):
        return _external_root(dotted)
    path = dotted[len("nki.") :] if dotted != "nki" else ""
    if path in NAMESPACES:
        return ApiRef(NAMESPACES[path], generation)
    parent, _, last = path.rpartition(".")
    owner = root(f"nki.{parent}" if parent else "nki")
    if not isinstance(owner, ApiRef):
        return None
    return attribute(ApiRef(owner.name, generation), last)


def exported(ref: ApiRef) -> Iterator[str]:
    """What ``from module import *`` binds."""
    prefix = f"{ref.name}."
    found = {
        name.removeprefix(prefix)
        for generation in GENERATIONS
        for name in table(generation)
        if name.startswith(prefix)
    }
    if ref.name == "language":
        found |= {*BUFFERS, *OPERATORS, "NKIObject", "mgrid", "tile_size"}
        found |= _DTYPES
    elif ref.name == "isa":
        found |= {*ENUMS, *ENGINE_ALIASES, "nc_version"}
    elif ref.name == "nki":
        found |= {"jit", "language", "isa"}
    yield from (name for name in found if "." not in name)


def _external_root(dotted: str) -> object | None:
    """Beta 1 entry points of the frameworks (NKI-M042)."""
    if dotted in ("torch_neuronx.nki_jit", "jax_neuronx.nki_call"):
        return ApiRef("jit", "beta1")
    return None


def attribute(owner: ApiRef, attr: str, target: Target | None = None) -> object | None:
    """``owner.attr``, or None if there is no such name.

    Names that depend on the target (``tile_size.pmax``) need ``target``.
    """
    name, generation = owner.name, owner.generation
    if name == "neuronxcc":
        return ApiRef("nki", "beta1") if attr == "nki" else None
    if name == "nki":
        if attr in NAMESPACES:
            return ApiRef(NAMESPACES[attr], generation)
        if attr == "tensor":
            return ApiRef("typing.tensor", generation)
        return ApiRef(attr, generation) if attr in _ROOT_NAMES else None
    if name in ("language", "dtype", "typing"):
        return _language(owner, attr)
    if name == "isa":
        return _isa(owner, attr)
    if name == "language.tile_size":
        return tile_size(attr, target) if target is not None else ApiRef(f"{name}.{attr}")
    if name in ("language.fp32", "isa.fp32", "language.bfp16"):
        return FP32_MIN if attr == "min" else None
    if name == "isa.nc_version":
        return E.const(NC_VERSIONS[attr]) if attr in NC_VERSIONS else None
    if name == "language.MemoryRegion":
        return BufferValue(BUFFERS[attr]) if attr in BUFFERS else None
    kind = name.removeprefix("isa.")
    if kind in ENUMS:
        return Enumerator(kind, attr) if attr in ENUMS[kind] else None
    if name in _CALLED:
        full = f"{name}.{attr}"
        known = full in NAMESPACES.values() or generations_with(full) or full in _CLASSES
        return ApiRef(full, generation) if known else None
    return None


_ROOT_NAMES: Final[frozenset[str]] = frozenset(
    {"jit", "trace", "simulate", "simulate_kernel", "baremetal", "benchmark", "profile"}
    | {"cpu_simulate", "meta"}
)

_CLASSES: Final[frozenset[str]] = frozenset(
    {"language.NKIObject", "isa.NKIObject", "collectives.NKIObject", "collectives.ReplicaGroup"}
    | {"language.NkiTensor", "language.tensor", "language.mgrid", "language.nc", "language.fp32"}
    | {"language.bfp16", "language.MemoryRegion", "language.tile_size", "typing.tensor"}
    | {"typing.mutable", "typing.mutable_tensor", "isa.nc_version", "isa.fp32", "language.DType"}
    | {"isa.NkiInstruction", "isa.NkiValidationError", "isa.VirtualRegister"}
)


#: undocumented names of documented functions
_ALSO: Final[dict[str, str]] = {"dslice": "language.ds", "range": "language.static_range"}


#: the dtypes of NKI (NKI-T00a to NKI-T00j)
_DTYPES: Final = frozenset(dt.DTYPES) - dt.HOST


def _language(owner: ApiRef, attr: str) -> object | None:
    if attr in _DTYPES:  # under the names of NKI alone: contracts have more (NKI-T01)
        return DType.named(attr)
    if owner.name == "dtype":
        return None
    if owner.name == "typing":
        full = f"typing.{attr}"
        return ApiRef(full, owner.generation) if full in _CLASSES else None
    if attr in BUFFERS:
        return BufferValue(BUFFERS[attr])
    full = f"language.{attr}"
    if full in _CLASSES or generations_with(full) or operator_name(attr) is not None:
        return ApiRef(full, owner.generation)
    if attr in _ALSO:
        return ApiRef(_ALSO[attr], owner.generation)
    return None


def _isa(owner: ApiRef, attr: str) -> object | None:
    if attr in ENGINE_ALIASES:
        return Enumerator("engine", ENGINE_ALIASES[attr], written=attr)
    full = f"isa.{attr}"
    if attr in ENUMS or full in _CLASSES or generations_with(full):
        return ApiRef(full, owner.generation)
    return None


#: namespaces of which not all names are documented: modules of the compiler, tools
_OPEN: Final = frozenset({"compiler", "typing"})

#: modules and classes of ``nki`` whose contents are not described
_BESIDES: Final = frozenset({"FrameworkKernel", "experimental", "kernels"})

#: how alike a name must be to one that is documented to be taken for a slip of it
_SLIP: Final = 0.8


def closed(namespace: str, attr: str) -> frozenset[str] | None:
    """All names in a namespace, of all generations; None: it may well have ``attr`` besides."""
    if namespace == "nki" and attr in _BESIDES:
        return None
    known = _known(namespace)
    if known is None or namespace not in _OPEN:
        return known
    return known if difflib.get_close_matches(attr, known, 1, _SLIP) else None


@cache
def _known(namespace: str) -> frozenset[str] | None:
    """The documented names in a namespace, of all generations; None: it is no namespace."""
    kind = namespace.removeprefix("isa.")
    if kind in ENUMS:
        return ENUMS[kind]
    fixed = _MEMBERS.get(namespace)
    if fixed is not None:
        return fixed
    if namespace not in ("isa", "language", "typing", *_CALLED):
        return None
    functions = {full for generation in GENERATIONS for full in table(generation)} | _CLASSES
    prefix = f"{namespace}."
    found = {full.removeprefix(prefix) for full in functions if full.startswith(prefix)}
    found |= {each.removeprefix(prefix) for each in NAMESPACES.values() if each.startswith(prefix)}
    own: set[str] = set()
    if namespace == "isa":
        own = {*ENUMS, *ENGINE_ALIASES}
    elif namespace == "language":
        own = {*BUFFERS, *OPERATORS, *OPERATOR_ALIASES, *_ALSO, *_DTYPES}
    return frozenset(found | own)


#: namespaces of functions and classes alone
_CALLED: Final = (
    *("compiler", "collectives", "compiler.sbuf", "compiler.psum", "<built in>"),
    *BUILT_IN,
)

_MEMBERS: Final[dict[str, frozenset[str]]] = {
    "nki": _ROOT_NAMES | NAMESPACES.keys() - {""} | {"tensor"},
    "dtype": _DTYPES,
    "language.tile_size": frozenset(TILE_SIZES),
    "language.MemoryRegion": frozenset(BUFFERS),
    "isa.nc_version": frozenset(NC_VERSIONS),
}


def external(path: str) -> object | None:
    """What a name of NumPy, torch or a dtype library means, at least to Beta 1 (NKI-M020), or None.

    ``numpy.float32`` is a dtype, ``numpy.add`` an operator, ``numpy.inf`` a number.
    """
    parent, _, last = path.rpartition(".")
    if parent not in _EXTERNAL_ROOTS:
        return None
    name = _EXTERNAL_DTYPES.get(last) or dt.canonical(last)
    short = ("fp32", "f32", "bf16", "fp16", "f16", "tf32")
    if name is not None and last not in short and dt.library_has(parent, last):
        return DType.named(name)
    if last in ("inf", "Inf", "infty"):
        return float("inf")
    if last == "nan":
        return float("nan")
    if last == "pi":
        return 3.141592653589793
    if path in ARRAY_MAKERS or path in ARRAY_COPIES:
        return ApiRef(path, "beta1")
    operator = operator_name(last)
    if parent in ("numpy", "np") and operator is not None:
        return Enumerator("op", operator, written=last, library="numpy")
    return None
