"""Gathering, scattering, selecting, sorting and quantising (catalogue, sections e.5 and e.6)."""

from __future__ import annotations

from typing import Final

from verifier.dialects.ppl.isa.fates import CONDITION, INDEX, decides, goes_on, picked
from verifier.dialects.ppl.isa.shared import (
    FP32,
    HALF,
    INT4,
    INT8,
    INT16,
    INT32,
    OUTSIDE,
    Part,
    function,
    like,
    number,
    on_rows,
    option,
    rounding,
    source,
    target,
    types,
    updated,
    vector,
)
from verifier.hardware import dtypes as dt
from verifier.hardware.capabilities import Capability
from verifier.symbolic.instruction import Instruction, Picks, Trait
from verifier.symbolic.roles import Barred, FirstLane, In, Lies, Limit, PerChannel, StartLanes, Unit

_NARROW_INDEX: Final = dt.codes("uint8", "uint16")
_UINT16: Final = dt.codes("uint16")
_UINT32: Final = dt.codes("uint32")

_GATHERS: Final = frozenset({Trait.GATHERS})
_SCATTERS: Final = frozenset({Trait.SCATTERS})
_QUANTISES: Final = frozenset({Trait.QUANTISES})
_SORTS: Final = frozenset({Trait.SORTS})


def _lanes(picks: Picks, fact: str) -> StartLanes:
    """Tables, and what is picked of them, share lanes; an index of rows does as well."""
    return StartLanes((fact,), () if picks is Picks.ROWS else ("dst", "param"))


def _index_lane(name: str, picks: Picks, fact: str) -> FirstLane | None:
    """Pairs of coordinates are packed from lane 0 on."""
    elements = name.startswith("tiu.") and picks is Picks.ELEMENTS
    return FirstLane(fact) if elements else None


def _gather(name: str, picks: Picks, codes: frozenset[int], fact: str, more: str) -> Instruction:
    lies = Lies("row-aligned", fact) if picks is Picks.ROWS else None
    return function(
        name,
        f"dst = the {picks.value} of param that index names",
        f"output*, param*, index*{more}",
        target("dst", None, like("param", fact), lies=lies),
        picked(source("param", lies=lies)),
        decides(
            source("index", types(codes, fact), first_lane=_index_lane(name, picks, fact)), INDEX
        ),
        traits=_GATHERS,
        picks=picks,
        lanes=_lanes(picks, fact),
    )


def _scatter(name: str, picks: Picks, codes: frozenset[int], fact: str, more: str) -> Instruction:
    lies = Lies("row-aligned", fact) if picks is Picks.ROWS else None
    return function(
        name,
        f"the {picks.value} of dst that index names = those of param",
        f"output*, param*, index*{more}",
        updated("dst", None, like("param", fact), lies=lies),
        source("param", lies=lies),
        decides(
            source("index", types(codes, fact), first_lane=_index_lane(name, picks, fact)), INDEX
        ),
        traits=_SCATTERS,
        picks=picks,
        lanes=_lanes(picks, fact),
    )


_FILLED: Final = ", is_param_repeated=False, const_val=0, fill_const=False"
_INDEXED: Final = (
    _gather("tiu.gather_hw", Picks.ELEMENTS, _UINT16, "TPU-E07", ", const_val=0, fill_const=False"),
    _gather("tiu.gather_w", Picks.COLUMNS, _NARROW_INDEX, "TPU-E06", _FILLED),
    _gather("tiu.gather_h", Picks.ROWS, _NARROW_INDEX, "TPU-E08", _FILLED),
    _scatter("tiu.scatter_hw", Picks.ELEMENTS, _UINT16, "TPU-E07", ""),
    _scatter(
        "tiu.scatter_w",
        Picks.COLUMNS,
        _NARROW_INDEX,
        "TPU-E06",
        ", bcast=False, is_param_repeated=False",
    ),
    _scatter("tiu.scatter_h", Picks.ROWS, _NARROW_INDEX, "TPU-E08", ", is_param_repeated=False"),
    _gather("dma.gather_h", Picks.ROWS, _UINT32, "TPU-F09", ", const_val=0, index_start_pos=0"),
    _scatter(
        "dma.scatter_h", Picks.ROWS, _UINT32, "TPU-F09", ", index_start_pos=0, inplace_add=False"
    ),
)

_CHOSEN: Final = In(OUTSIDE, ("TPU-F10",))
_SELECTED: Final = (
    function(
        "tiu.mask_select",
        "dst = the elements of each row of src where mask is set, dst_cnt = how many",
        "dst*, dst_cnt*, src*, mask*",
        target(lies=on_rows("TPU-E10")),
        target("dst_cnt", types(_UINT16, "TPU-E10"), lies=Lies("compact", "TPU-E10")),
        source(lies=on_rows("TPU-E10")),
        decides(source("mask", lies=on_rows("TPU-E10")), CONDITION),
        traits=_SORTS,
        lanes=StartLanes(("TPU-E10",)),
    ),
    function(
        "tiu.nonzero",
        "dst = where each row of src is not zero, dst_cnt = how often",
        "dst*, dst_cnt*, src*",
        target(),
        target("dst_cnt", types(_UINT16, "TPU-E11")),
        source(),
        traits=_SORTS,
    ),
    function(
        "dma.mask_select",
        "dst = the elements of src where mask is set",
        "dst*, src*, mask*",
        target(memories=_CHOSEN),
        source(lies=on_rows("TPU-F10")),
        decides(source("mask", lies=on_rows("TPU-F10")), CONDITION),
    ),
    function(
        "dma.nonzero",
        "dst = where src is not zero",
        "dst*, src*",
        target(memories=_CHOSEN),
        source(lies=on_rows("TPU-F10")),
    ),
    function(
        "dma.mask_batch_bcast",
        "dst = the batches of src where mask is set, count = how many",
        "dst*, count*, src*, mask*, is_repeat=False",
        target(),
        target("count"),
        source(),
        decides(source("mask"), CONDITION),
    ),
    function(
        "hau.topk",
        "dst = the K greatest or smallest of each row of src, dst_idx = where they are",
        "dst*, src*, K*, descended*, dst_idx=None, src_idx=None",
        target(),
        source("src", types(INT32 | FP32, "TPU-G02")),
        number("K"),
        option("descended", "the greatest first"),
        target("dst_idx"),
        source("src_idx"),
        traits=_SORTS,
    ),
    function(
        "hau.gather_line",
        "dst = the lines of param that index names",
        "dst*, param*, index*, C*, start*, end*, fill_const*",
        target(),
        source("param"),
        decides(source("index"), INDEX),
        needs=(Capability.GATHERED_LINES, "TPU-G03"),
    ),
)

_WIDE: Final = INT8 | INT16 | INT32
_NARROW: Final = INT4 | INT8 | INT16


def _quantised(
    name: str,
    summary: str,
    more: str,
    fact: str,
    codes: tuple[frozenset[int], frozenset[int]],
    *parts: Part,
    needs: Capability | None = None,
) -> Instruction:
    taken, made = codes
    return function(
        f"tiu.{name}",
        summary,
        f"output*, input*, {more}",
        target("dst", types(made, fact), lies=on_rows("TPU-E19")),
        goes_on(source("src", types(taken, fact), lies=on_rows("TPU-E19"))),
        *parts,
        needs=None if needs is None else (needs, fact),
        traits=_QUANTISES,
        lanes=StartLanes(("TPU-E19",)),
    )


def _of_channels(fact: str, columns: int) -> Part:
    """Scale and offset of each channel, or multiplier, shift and offset, if they are no numbers."""
    lies = Lies("compact", fact, Unit.PAIR)
    return vector("quant", shape=PerChannel("dst", fact, columns), lies=lies)


def _shift(fact: str) -> Part:
    return number("shift", Limit(fact=fact, least=-128, most=127), "the shift")


_NO_HALVES: Final = Barred(("RM_HALF_UP", "RM_HALF_DOWN"), "TPU-E14")
_QUANTISATION: Final = (
    _quantised(
        "rq0",
        "dst = src * scale + offset, rounded to narrow integers",
        "dst_round_mode*, src_round_mode*, scale=0, offset=0, quant=None",
        "TPU-E14",
        (_WIDE, _NARROW),
        _of_channels("TPU-E14", 2),
        rounding("dst_round_mode", _NO_HALVES),
        rounding("src_round_mode", _NO_HALVES),
        needs=Capability.REQUANTISING_BY_FLOATS,
    ),
    _quantised(
        "rq1",
        "dst = ((src * multiplier) << shift) + offset, as narrow integers",
        "round_mode*, multiplier=0, shift=0, offset=0, quant=None",
        "TPU-E15",
        (_WIDE, _NARROW),
        _of_channels("TPU-E15", 3),
        _shift("TPU-E15"),
    ),
    _quantised(
        "dq0",
        "dst = (src - offset) * scale, of floats",
        "round_mode*, offset=0, scale=0, quant=None",
        "TPU-E16",
        (_NARROW, FP32),
        _of_channels("TPU-E16", 2),
    ),
    _quantised(
        "dq1",
        "dst = ((src - offset) * multiplier) << shift, as wide integers",
        "round_mode*, offset=0, multiplier=0, shift=0, quant=None",
        "TPU-E17",
        (_NARROW, _WIDE),
        _of_channels("TPU-E17", 3),
        _shift("TPU-E17"),
        needs=Capability.DEQUANTISING_BY_INTEGERS,
    ),
    _quantised(
        "dq2",
        "dst = src with the offset and the scale of its group, as floats",
        "offset_scale*, gsize*",
        "TPU-E18",
        (INT4 | INT8, HALF),
        source("offset_scale"),
        number("gsize", about="32, 64, 128 or 256 elements"),
        needs=Capability.DEQUANTISING_IN_GROUPS,
    ),
)

INSTRUCTIONS: Final = (*_INDEXED, *_SELECTED, *_QUANTISATION)
