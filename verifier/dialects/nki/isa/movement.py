"""What exchanges partitions, gathers, or makes data of positions."""

from __future__ import annotations

from typing import Final

from verifier.dialects.nki.isa.families import gathers, language
from verifier.dialects.nki.isa.shared import (
    HALF,
    ON_CHIP,
    SBUF,
    decides,
    for_gpsimd,
    in_sbuf,
    integer,
    on_chip,
    plain,
    scales,
    tile,
    whole,
    wholes,
    written,
)
from verifier.dialects.nki.results import Gathered, GatheredByCore, OfIndex
from verifier.hardware import dtypes as dt
from verifier.hardware.capabilities import Capability
from verifier.hardware.engines import Engine
from verifier.hardware.targets import QUADRANT
from verifier.symbolic import expr as E
from verifier.symbolic.effects import Call, Carried, Footprint, Index, Reads, Where, Writes
from verifier.symbolic.expr import Bool
from verifier.symbolic.instruction import Engines, Instruction, Trait
from verifier.symbolic.roles import (
    Beside,
    Counted,
    In,
    Lanes,
    Limit,
    Role,
    SameType,
    Streams,
    Takes,
    Types,
)

#: the entry of a shuffle mask that leaves its partition alone (NKI-SHF02)
_LEFT: Final = 255


def _mask(call: Call) -> dict[int, int] | None:
    """The row of its quadrant that each row takes; None while that is not followed."""
    value = call.value("shuffle_mask")
    entries = [integer(item) for item in value] if isinstance(value, tuple) else []
    known = [entry for entry in entries if entry is not None]
    return dict(enumerate(known)) if known and len(known) == len(entries) else None


def _shuffled(call: Call, index: Index) -> Index | None:
    mask = _mask(call)
    if mask is None:
        return None
    # partitions that are left alone are not written: what would go into them does not matter
    rows = {row: row if entry == _LEFT else entry for row, entry in mask.items()}
    row = E.mod(index[0], QUADRANT)
    return (index[0] - row + E.table("shuffle", row, rows), *index[1:])


def _is_named(call: Call, index: Index) -> Bool | None:
    mask = _mask(call)
    if mask is None:
        return None
    row = E.mod(index[0], QUADRANT)
    return E.or_(*(E.eq(row, entry) for entry in sorted(set(mask.values()) - {_LEFT})))


def _is_taken(call: Call, index: Index) -> Bool | None:
    mask = _mask(call)
    if mask is None:
        return None
    row = E.mod(index[0], QUADRANT)
    return E.and_(*(E.ne(row, k) for k, entry in mask.items() if entry == _LEFT))


_NAMED: Final = Where("the partitions that the mask names", _is_named)
_SHUFFLED: Final = Where("the partitions whose mask is not 255", _is_taken)

#: what positions are counted in
_INT32: Final = dt.integers("int32")

NC_STREAM_SHUFFLE: Final = Instruction(
    name="isa.nc_stream_shuffle",
    summary=(
        "dst = src with the partitions of each quadrant exchanged; 255 leaves a partition alone"
    ),
    signatures={
        "beta1": "src*, dst*, shuffle_mask*, |, dtype=None, mask=None, **",
        "0.2": "dst*, src*, shuffle_mask*, name=None",
    },
    roles=(
        tile(
            "dst",
            on_chip("NKI-BUF24"),
            same_dtype=SameType("src", "NKI-SHF01"),
            own_start="NKI-P11",
        ),
        tile("src", on_chip("NKI-BUF24"), own_start="NKI-P11"),
        wholes("shuffle_mask", Limit(least=0, most=QUADRANT - 1, also=(_LEFT,), fact="NKI-SHF02")),
    ),
    engines=Engines(Engine.VECTOR),
    footprint=Footprint(
        reads=(Reads(role="src", where=_NAMED, fate=Carried(_shuffled, moved=True)),),
        writes=(Writes(role="dst", where=_SHUFFLED, keeps="NKI-SHF07"),),
    ),
)

LOCAL_GATHER: Final = Instruction(
    name="isa.local_gather",
    summary="dst = elements of src_buffer by the indices of each 16 partitions",
    signatures={
        "beta1": "src_buffer*, index*, num_elem_per_idx=1, num_valid_indices=None, |, mask=None",
        "0.2": "dst*, src_buffer*, index*, num_elem_per_idx=1, num_valid_indices=None, name=None",
    },
    roles=(
        tile("dst", for_gpsimd("NKI-BUF28"), same_dtype=SameType("src_buffer", "NKI-LGA03", "0.2")),
        tile("src_buffer", for_gpsimd("NKI-BUF28")),
        tile(
            "index",
            for_gpsimd("NKI-BUF28"),
            dtypes=Types(dt.codes("uint16"), "uint16", "NKI-LGA03"),
        ),
        Role(
            name="num_elem_per_idx",
            takes=Takes.PLAIN,
            value=Limit(among=(1, 2, 4, 8, 16, 32), fact="NKI-LGA02"),
            beside=Beside("num_valid_indices", 1, "NKI-LGA05", "0.6"),
        ),
        plain("num_valid_indices", Limit(least=0, fact="NKI-LGA04")),
    ),
    engines=Engines(Engine.GPSIMD),
    footprint=gathers("src_buffer", "index"),
    result=GatheredByCore(),
    traits=frozenset({Trait.GATHERS}),
)

NC_N_GATHER: Final = Instruction(
    name="isa.nc_n_gather",
    summary="dst = elements of data by the indices of their partition",
    signatures={
        "0.2": "dst*, data*, indices*, name=None",
    },
    roles=(
        tile("dst", for_gpsimd("NKI-BUF27"), same_dtype=SameType("data", "NKI-NGA03", "0.2")),
        tile("data", for_gpsimd("NKI-BUF27"), shape=Lanes("dst")),
        tile(
            "indices",
            for_gpsimd("NKI-BUF27"),
            shape=Streams("dst", "NKI-NGA02"),
            dtypes=Types(dt.codes("uint32"), "uint32", "NKI-NGA03", "0.2"),
        ),
    ),
    engines=Engines(Engine.GPSIMD),
    footprint=gathers("data", "indices"),
    traits=frozenset({Trait.GATHERS}),
)

IOTA: Final = Instruction(
    name="isa.iota",
    summary="dst = an affine function of the position",
    signatures={
        "beta1": "expr*, dtype*, |, mask=None, **",
        "0.2": "dst*, pattern*, offset*, channel_multiplier=0, name=None",
        "0.3": "dst*, pattern*, offset=0, channel_multiplier=0, name=None",
    },
    roles=(
        tile("dst", for_gpsimd("NKI-BUF26")),
        Role(
            name="pattern",
            takes=Takes.INTEGERS,
            count=Limit(least=1, fact="NKI-IOT02"),
            shape=Counted("dst", "NKI-IOT03"),
            value=Limit(least=_INT32[0], most=_INT32[1], fact="NKI-IOT04"),
        ),
        whole("offset"),
        whole("channel_multiplier"),
    ),
    engines=Engines(Engine.GPSIMD),
    footprint=Footprint(writes=written("dst")),
    result=OfIndex("expr"),
    traits=frozenset({Trait.ENUMERATES}),
)

QUANTIZE_MX: Final = Instruction(
    name="isa.quantize_mx",
    summary="dst = src as packed elements of eight bits, with a power of two for each group",
    signatures={
        "0.2": "dst*, src*, dst_scale*, name=None",
    },
    roles=(
        tile(
            "dst",
            in_sbuf("NKI-BUF20"),
            dtypes=Types(
                dt.codes("float8_e5m2_x4", "float8_e4m3fn_x4"),
                "a packed fp8 type",
                "NKI-QMX02",
                "0.2",
            ),
        ),
        tile(
            "src",
            in_sbuf("NKI-BUF20"),
            dtypes=Types(HALF, "float16 or bfloat16", "NKI-QMX02", "0.2"),
        ),
        tile(
            "dst_scale",
            in_sbuf("NKI-BUF20"),
            dtypes=Types(
                dt.codes("float8_e8m0fnu", "uint8"), "float8_e8m0fnu or uint8", "NKI-QMX02", "0.2"
            ),
            own_start="NKI-QMX06",
        ),
    ),
    engines=Engines(Engine.VECTOR),
    needs=(Capability.MX_MATMUL, ("NKI-QMX01", "NKI-H82")),
    footprint=Footprint(
        reads=(decides("src", "its group shares a scale"),),
        writes=(
            Writes(role="dst"),
            Writes(role="dst_scale", where=scales("dst_scale", "src", packed=False)),
        ),
    ),
    traits=frozenset({Trait.QUANTISES}),
)

#: the compiler of Beta 1 moves what GpSimd does not reach
_GATHERED: Final = In(SBUF, ("NKI-N07", "NKI-BUF27"), "0.3", ON_CHIP)
LANGUAGE_GATHER_FLATTENED: Final = language(
    "gather_flattened",
    "elements of data by the indices of their partition",
    (
        "data*, indices*, |, mask=None, dtype=None, **",
        "data*, indices*, axis=0, dtype=None",
    ),
    tile("data", _GATHERED),
    tile("indices", _GATHERED, dtypes=Types(dt.codes("uint32"), "uint32", "NKI-L32")),
    reads=gathers("data", "indices").reads,
    engine=Engine.GPSIMD,
    result=Gathered(),
    traits=frozenset({Trait.GATHERS, Trait.NO_LANES}),
)

INSTRUCTIONS: Final = (
    NC_STREAM_SHUFFLE,
    LOCAL_GATHER,
    NC_N_GATHER,
    IOTA,
    QUANTIZE_MX,
    LANGUAGE_GATHER_FLATTENED,
)
