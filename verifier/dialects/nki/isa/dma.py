"""What moves data between memories."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from verifier.dialects.nki.isa.families import language
from verifier.dialects.nki.isa.operators import admits
from verifier.dialects.nki.isa.shared import (
    in_hbm,
    integer,
    member,
    moved,
    operator,
    plain,
    priority,
    received,
    streamed,
    tile,
    tiles,
    turned,
    wholes,
    words,
    written,
)
from verifier.dialects.nki.results import Like, Turned
from verifier.hardware.capabilities import Capability
from verifier.hardware.engines import Engine
from verifier.symbolic import expr as E
from verifier.symbolic.effects import (
    SOME,
    Call,
    Carried,
    Effect,
    Footprint,
    Index,
    Reads,
    When,
    Writes,
)
from verifier.symbolic.expr import Bool
from verifier.symbolic.instruction import Engines, Instruction, Skips, Trait
from verifier.symbolic.roles import Against, Limit, SameType, Sized
from verifier.symbolic.tensors import View


def _skips(call: Call) -> Bool | None:
    """Whether elements may be skipped: of addresses that are known none is."""
    value = call.value("srcs")
    sources = value if isinstance(value, tuple) else (call.view("src"),)
    views = [view for view in (call.view("dst"), *sources) if isinstance(view, View)]
    static = all(view.exact for view in views)
    return E.truth(member(call, "oob_mode") == "skip" and not static)


_SKIPS: Final = When("oob_mode is skip, and an address is known at run time only", _skips)
#: as many elements come as go
_COUNTED: Final = ("NKI-D01", "NKI-DCP01")
_BY_GPSIMD: Final = When(
    "dma_engine is gpsimd_dma", lambda call: E.truth(member(call, "dma_engine") == "gpsimd_dma")
)
_EVERY_ROW: Final = When("nothing is skipped", lambda call: E.truth(_skips(call) is E.FALSE))


def _folds(call: Call) -> Effect:
    return Effect.SETS if call.value("dst_rmw_op") is None else Effect.ADDS


#: a DMA exchanges the first axis with the last
_TURNS: Final = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}


def _axes_exchanged(call: Call, index: Index) -> Index | None:
    """The axes that are asked for, or those that a DMA exchanges."""
    view, axes = call.view("src"), call.value("axes")
    if view is None or view.rank != len(index):
        return None
    rank = view.rank
    order = [integer(axis) for axis in axes] if isinstance(axes, tuple) and axes else None
    if order is None and rank in _TURNS:
        order = [*_TURNS[rank]]
    if order is None or sorted(axis if axis is not None else -1 for axis in order) != [
        *range(rank)
    ]:
        return None
    at = dict(zip(order, index, strict=True))
    return tuple(at[axis] for axis in range(rank))


DMA_COPY: Final = Instruction(
    name="isa.dma_copy",
    summary="dst = src, or dst folded with src",
    signatures={
        "beta1": (
            "|, dst*, src*, mask=None, dst_rmw_op=None, oob_mode=oob_mode.error, "
            "dge_mode=dge_mode.unknown"
        ),
        "0.2": (
            "dst*, src*, dst_rmw_op=None, oob_mode=oob_mode.error, dge_mode=dge_mode.unknown, "
            "unique_indices=True, name=None"
        ),
        "0.3": (
            "dst*, src*, oob_mode=oob_mode.error, dge_mode=dge_mode.unknown, "
            "engine=engine.unknown, name=None"
        ),
        "0.4": (
            "dst*, src*, priority=None, oob_mode=oob_mode.error, dge_mode=dge_mode.unknown, "
            "engine=engine.unknown, name=None"
        ),
    },
    roles=(
        tile("dst"),
        tile("src"),
        operator("dst_rmw_op", Against("oob_mode", "skip", "NKI-OLD04")),
        priority("NKI-D09", Against("dge_mode", "none", "NKI-D09", until="0.5")),
    ),
    engines=Engines(Engine.DMA),
    footprint=Footprint(
        reads=(moved("src"),),
        writes=(
            Writes(role="dst", when=_EVERY_ROW, effect=_folds, by="dst_rmw_op"),
            Writes(role="dst", where=SOME, when=_SKIPS, effect=_folds, by="dst_rmw_op"),
        ),
    ),
    operators=(admits("dst_rmw_op", frozenset({"add"}), "NKI-OLD04"),),
    traits=frozenset({Trait.DMA, Trait.COPIES}),
    skips=Skips("NKI-D10", advice=True),
    counted=_COUNTED,
)

DMA_TRANSPOSE: Final = Instruction(
    name="isa.dma_transpose",
    summary="dst = src with its axes exchanged",
    signatures={
        "beta1": "src*, |, axes=None, mask=None, dtype=None, **",
        "0.2": (
            "dst*, src*, axes=None, dge_mode=dge_mode.unknown, oob_mode=oob_mode.error, name=None"
        ),
        "0.4": (
            "dst*, src*, axes=None, priority=None, dge_mode=dge_mode.unknown, "
            "oob_mode=oob_mode.error, name=None"
        ),
    },
    roles=(
        tile("dst"),
        tile("src"),
        wholes("axes"),
        priority("NKI-D09", Against("dge_mode", "none", "NKI-D09", until="0.5")),
    ),
    engines=Engines(Engine.DMA),
    footprint=Footprint(
        reads=(Reads(role="src", fate=Carried(_axes_exchanged, moved=True)),), writes=written("dst")
    ),
    result=Turned("src"),
    traits=frozenset({Trait.DMA, Trait.TURNS}),
    turns=_TURNS,
    turned="NKI-DTR01",
    pads_until="0.4",  # NKI-DTR02
    shortens_since="0.6",  # NKI-DTR05, NKI-DTR06
    flattens="NKI-DTR09",
    skips=Skips("NKI-DTR11"),
    keeps_type="NKI-DTR03",
)

DMA_COMPUTE: Final = Instruction(
    name="isa.dma_compute",
    summary="dst = the sources folded together",
    signatures={
        "0.2": "dst*, srcs*, scales*, reduce_op*, name=None",
        "0.3": "dst*, srcs*, reduce_op*, scales=None, unique_indices=True, name=None",
        "0.4": (
            "dst*, srcs*, reduce_op*, scales=None, unique_indices=True, oob_mode=oob_mode.error, "
            "name=None"
        ),
    },
    roles=(
        tile("dst"),
        tiles("srcs", count=Limit(least=1, most=16, fact="NKI-DCM10")),
        operator("reduce_op"),
    ),
    engines=Engines(Engine.DMA),
    footprint=Footprint(reads=(streamed("srcs"),), writes=written("dst")),
    traits=frozenset({Trait.DMA}),
    operators=(admits("reduce_op", words("add"), "NKI-DCM01", folds=True),),
    skips=Skips("NKI-DCM09"),
    counted=("NKI-DCM02",),
)

_RANKS: Final = Limit(least=0, most=1, fact="NKI-SRV01")

SENDRECV: Final = Instruction(
    name="isa.sendrecv",
    summary="dst = what another core sends, which is sent src",
    signatures={
        "0.2": (
            "src*, dst*, send_to_rank*, recv_from_rank*, pipe_id*, use_gpsimd_dma=False, name=None"
        ),
        "0.3": (
            "src*, dst*, send_to_rank*, recv_from_rank*, pipe_id*, dma_engine=dma_engine.dma, "
            "name=None"
        ),
    },
    roles=(
        # of what GpSimd's own DMA sends
        tile("src", partitions=Limit(multiple_of=16, fact="NKI-M099", until="0.4")),
        tile(
            "dst",
            shape=Sized(
                "src",
                lambda src: src.partitions,
                lambda src: src.free,
                "the shape of src",
                "NKI-SRV02",
                lambda src: src.shape,
            ),
            same_dtype=SameType("src", "NKI-SRV02", "0.2"),
        ),
        plain("send_to_rank", _RANKS),
        plain("recv_from_rank", _RANKS),
    ),
    engines=Engines(Engine.DMA),
    needs=(Capability.CORES, ("NKI-SRV01", "NKI-H77")),
    footprint=Footprint(
        reads=(received("src", "recv_from_rank"),),
        writes=written("dst"),
        orders=("send_to_rank", "recv_from_rank"),
    ),
    traits=frozenset({Trait.DMA}),
    sends_little=_BY_GPSIMD,
)

LANGUAGE_LOAD: Final = language(
    "load",
    "a tensor of HBM in a tile",
    ("src*, |, mask=None, dtype=None, **", "src*, dtype=None"),
    tile("src", column=True, rows="NKI-X67"),
    reads=(moved("src"),),
    engine=Engine.DMA,
    result=Like(("src",)),
    traits=frozenset({Trait.DMA}),
    instead="allocate a tile and use `nisa.dma_copy(dst=tile, src=tensor)`",
    removal=("NKI-L22", "NKI-M024"),
)

LANGUAGE_STORE: Final = replace(
    language(
        "store",
        "a tile into a tensor of HBM",
        ("dst*, value*, |, mask=None, **", "dst*, value*"),
        replace(tile("value"), number_until="0.2"),
        reads=(moved("value"),),
        engine=Engine.DMA,
        traits=frozenset({Trait.DMA}),
        instead="use `nisa.dma_copy(dst=tensor, src=tile)`",
        into=tile("dst", rows="NKI-X67"),
        removal=("NKI-L22", "NKI-M024"),
    ),
    counted=("NKI-L23",),
    repeats_until="0.2",
)

LANGUAGE_LOAD_TRANSPOSE2D: Final = language(
    "load_transpose2d",
    "a tensor of HBM in a tile, rows for columns",
    ("src*, |, mask=None, dtype=None, **", "src*, dtype=None"),
    tile("src", direct="NKI-E16"),
    reads=(turned("src"),),
    engine=Engine.DMA,
    result=Turned("src"),
    traits=frozenset({Trait.DMA, Trait.TURNS}),
)

LANGUAGE_ATOMIC_RMW: Final = Instruction(
    name="language.atomic_rmw",
    summary="dst = dst op value, as one step",
    signatures={
        "beta1": "dst*, value*, op*, |, mask=None, **",
        "0.2": None,
    },
    roles=(
        tile("dst", in_hbm("NKI-L74")),
        tile("value"),
        operator("op"),
    ),
    engines=Engines(Engine.DMA),
    operators=(admits("op", words("add"), "NKI-L74"),),
    footprint=Footprint(
        reads=(streamed("dst"), streamed("value")),
        writes=(Writes(role="dst", effect=lambda call: Effect.ADDS, by="op"),),
    ),
    counted=_COUNTED,
    traits=frozenset({Trait.LANGUAGE, Trait.DMA}),
    instead="use `nisa.dma_compute`",
    removal=("NKI-M025",),
)

INSTRUCTIONS: Final = (
    DMA_COPY,
    DMA_TRANSPOSE,
    DMA_COMPUTE,
    SENDRECV,
    LANGUAGE_LOAD,
    LANGUAGE_STORE,
    LANGUAGE_LOAD_TRANSPOSE2D,
    LANGUAGE_ATOMIC_RMW,
)
