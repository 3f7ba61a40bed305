"""What is between cores, ranks and programs, and what registers hold."""

from __future__ import annotations

from typing import Final

from verifier.dialects.nki.isa.operators import ACROSS_RANKS
from verifier.dialects.nki.isa.shared import (
    admits,
    decides,
    in_hbm,
    on_chip,
    operator,
    tile,
    tiles,
    written,
)
from verifier.dialects.nki.results import Like
from verifier.hardware.capabilities import Capability
from verifier.symbolic.instruction import Engines, Footprint, Instruction, Trait

CORE_BARRIER: Final = Instruction(
    name="isa.core_barrier",
    summary="no core goes on before the others have come this far",
    signatures={
        "0.2": "data*, cores*, engine=engine.unknown, name=None",
        "0.3": "data*, cores*, engine=engine.gpsimd, name=None",
    },
    roles=(tile("data"),),
    engines=Engines("gpsimd"),
    needs=(Capability.CORES, ("NKI-BAR01", "NKI-H77")),
    footprint=Footprint(orders="cores"),
    traits=frozenset({Trait.NO_LANES}),
)

REGISTER_LOAD: Final = Instruction(
    name="isa.register_load",
    summary="a register takes the one element of src",
    signatures={
        "0.2": "dst*, src*",
    },
    roles=(tile("src"),),
    engines=Engines("sync"),
    footprint=Footprint(reads=(decides("src", "a register takes it"),)),
    traits=frozenset({Trait.NO_LANES}),
)

REGISTER_STORE: Final = Instruction(
    name="isa.register_store",
    summary="the one element of dst takes a register",
    signatures={
        "0.2": "dst*, src*",
    },
    roles=(tile("dst"),),
    engines=Engines("sync"),
    footprint=Footprint(writes=written("dst")),
    traits=frozenset({Trait.NO_LANES}),
)

BUILTIN_CUSTOM_OP: Final = Instruction(
    name="isa.builtin_custom_op",
    summary="code of its own on GpSimd",
    signatures={
        "beta1": (
            "function_name*, lib_file_name*, ulib_to_ucode_version*, ulib_to_isa_version*, "
            "srcs*, dsts*, **"
        ),
        "0.2": None,
    },
    roles=(
        tiles("srcs"),
        tiles("dsts"),
    ),
    engines=Engines("gpsimd"),
    footprint=Footprint(
        reads=(decides("srcs", "code of its own reads it"),), writes=written("dsts")
    ),
    traits=frozenset({Trait.NO_LANES}),
    removal=("NKI-M024",),
)

COLLECTIVES_ALL_REDUCE: Final = Instruction(
    name="collectives.all_reduce",
    summary="dsts = the sources of all ranks, folded",
    signatures={
        "0.2": "srcs*, dsts*, replica_group*, op*",
        "0.4": "srcs*, dsts*, replica_group*, op*, priority=None",
        "0.5": "srcs*, dsts*, replica_group*, op*, priority=None, name=None",
    },
    roles=(
        tiles("srcs"),
        tiles("dsts"),
        operator("op"),
    ),
    engines=Engines("dma"),
    operators=(admits("op", ACROSS_RANKS, "NKI-K02"),),
    footprint=Footprint(reads=(decides("srcs", "other ranks receive it"),), writes=written("dsts")),
    traits=frozenset({Trait.COLLECTIVE}),
)

COLLECTIVES_ALL_GATHER: Final = Instruction(
    name="collectives.all_gather",
    summary="dsts = the sources of all ranks, one behind the other",
    signatures={
        "0.2": "srcs*, dsts*, replica_group*, collective_dim*",
        "0.4": "srcs*, dsts*, replica_group*, collective_dim*, priority=None",
        "0.5": "srcs*, dsts*, replica_group*, collective_dim*, priority=None, name=None",
    },
    roles=(
        tiles("srcs"),
        tiles("dsts"),
    ),
    engines=Engines("dma"),
    footprint=Footprint(reads=(decides("srcs", "other ranks receive it"),), writes=written("dsts")),
    traits=frozenset({Trait.COLLECTIVE}),
)

COLLECTIVES_ALL_GATHER_V: Final = Instruction(
    name="collectives.all_gather_v",
    summary="as all_gather, with sizes of their own",
    signatures={
        "0.6": (
            "srcs*, dsts*, replica_group*, metadata_tensor*, recv_counts_known=False, "
            "has_rdispls=False, priority=None, name=None"
        ),
    },
    roles=(
        tiles("srcs", in_hbm("NKI-K06")),
        tiles("dsts", in_hbm("NKI-K06")),
        tile("metadata_tensor"),
    ),
    engines=Engines("dma"),
    footprint=Footprint(
        reads=(
            decides("srcs", "other ranks receive it"),
            decides("metadata_tensor", "it says how much is sent"),
        ),
        writes=written("dsts"),
    ),
    traits=frozenset({Trait.COLLECTIVE}),
)

COLLECTIVES_ALL_TO_ALL: Final = Instruction(
    name="collectives.all_to_all",
    summary="each rank sends a part to each other",
    signatures={
        "0.2": "srcs*, dsts*, replica_group*, collective_dim*",
        "0.4": "srcs*, dsts*, replica_group*, collective_dim*, priority=None",
        "0.5": "srcs*, dsts*, replica_group*, collective_dim*, priority=None, name=None",
    },
    roles=(
        tiles("srcs", in_hbm("NKI-K05")),
        tiles("dsts", in_hbm("NKI-K05")),
    ),
    engines=Engines("dma"),
    footprint=Footprint(reads=(decides("srcs", "other ranks receive it"),), writes=written("dsts")),
    traits=frozenset({Trait.COLLECTIVE}),
)

COLLECTIVES_ALL_TO_ALL_V: Final = Instruction(
    name="collectives.all_to_all_v",
    summary="as all_to_all, with sizes of their own",
    signatures={
        "0.3": (
            "srcs*, dsts*, replica_group*, metadata_tensor*, recv_counts_known=False, "
            "has_rdispls=False"
        ),
        "0.4": (
            "srcs*, dsts*, replica_group*, metadata_tensor*, recv_counts_known=False, "
            "has_rdispls=False, priority=None"
        ),
        "0.5": (
            "srcs*, dsts*, replica_group*, metadata_tensor*, recv_counts_known=False, "
            "has_rdispls=False, priority=None, name=None"
        ),
    },
    roles=(
        tiles("srcs", in_hbm("NKI-K06")),
        tiles("dsts", in_hbm("NKI-K06")),
        tile("metadata_tensor"),
    ),
    engines=Engines("dma"),
    footprint=Footprint(
        reads=(
            decides("srcs", "other ranks receive it"),
            decides("metadata_tensor", "it says how much is sent"),
        ),
        writes=written("dsts"),
    ),
    traits=frozenset({Trait.COLLECTIVE}),
)

COLLECTIVES_REDUCE_SCATTER: Final = Instruction(
    name="collectives.reduce_scatter",
    summary="dsts = a part of the sources of all ranks, folded",
    signatures={
        "0.2": "srcs*, dsts*, replica_group*, collective_dim*, op*",
        "0.4": "srcs*, dsts*, replica_group*, collective_dim*, op*, priority=None",
        "0.5": "srcs*, dsts*, replica_group*, collective_dim*, op*, priority=None, name=None",
    },
    roles=(
        tiles("srcs"),
        tiles("dsts"),
        operator("op"),
    ),
    engines=Engines("dma"),
    operators=(admits("op", ACROSS_RANKS, "NKI-K02"),),
    footprint=Footprint(reads=(decides("srcs", "other ranks receive it"),), writes=written("dsts")),
    traits=frozenset({Trait.COLLECTIVE}),
)

COLLECTIVES_COLLECTIVE_PERMUTE: Final = Instruction(
    name="collectives.collective_permute",
    summary="each rank sends to one other",
    signatures={
        "0.2": "srcs*, dsts*, source_target_pairs*",
        "0.4": "srcs*, dsts*, source_target_pairs*, priority=None",
        "0.5": "srcs*, dsts*, source_target_pairs*, priority=None, name=None",
    },
    roles=(
        tiles("srcs", in_hbm("NKI-K09")),
        tiles("dsts", in_hbm("NKI-K09")),
    ),
    engines=Engines("dma"),
    footprint=Footprint(reads=(decides("srcs", "other ranks receive it"),), writes=written("dsts")),
    traits=frozenset({Trait.COLLECTIVE}),
)

COLLECTIVES_COLLECTIVE_PERMUTE_IMPLICIT: Final = Instruction(
    name="collectives.collective_permute_implicit",
    summary="each rank sends to the next in a ring, channel by channel",
    signatures={
        "0.2": "srcs_by_channel*, dsts_by_channel*, replica_group*, channel_ids=()",
        "0.4": (
            "srcs_by_channel*, dsts_by_channel*, replica_group*, channel_ids=(), priority=None"
        ),
        "0.5": (
            "srcs_by_channel*, dsts_by_channel*, replica_group*, channel_ids=(), priority=None, "
            "name=None"
        ),
    },
    roles=(
        tiles("srcs_by_channel"),
        tiles("dsts_by_channel"),
    ),
    engines=Engines("dma"),
    footprint=Footprint(
        reads=(decides("srcs_by_channel", "other ranks receive it"),),
        writes=written("dsts_by_channel"),
    ),
    traits=frozenset({Trait.COLLECTIVE}),
)

COLLECTIVES_COLLECTIVE_PERMUTE_IMPLICIT_REDUCE: Final = Instruction(
    name="collectives.collective_permute_implicit_reduce",
    summary="as collective_permute_implicit, folded with what a rank holds",
    signatures={
        "0.2": (
            "srcs0_by_channel*, srcs1_by_channel*, dsts_by_channel*, replica_group*, op*, "
            "channel_ids=()"
        ),
        "0.4": (
            "srcs0_by_channel*, srcs1_by_channel*, dsts_by_channel*, replica_group*, op*, "
            "channel_ids=(), priority=None"
        ),
        "0.5": (
            "srcs0_by_channel*, srcs1_by_channel*, dsts_by_channel*, replica_group*, op*, "
            "channel_ids=(), priority=None, name=None"
        ),
    },
    roles=(
        tiles("srcs0_by_channel"),
        tiles("srcs1_by_channel"),
        tiles("dsts_by_channel"),
        operator("op"),
    ),
    engines=Engines("dma"),
    operators=(admits("op", ACROSS_RANKS, "NKI-K02"),),
    footprint=Footprint(
        reads=(
            decides("srcs0_by_channel", "other ranks receive it"),
            decides("srcs1_by_channel", "other ranks receive it"),
        ),
        writes=written("dsts_by_channel"),
    ),
    traits=frozenset({Trait.COLLECTIVE}),
)

LANGUAGE_ALL_REDUCE: Final = Instruction(
    name="language.all_reduce",
    summary="x folded over the programs of a grid",
    signatures={
        "beta1": (
            "x*, op*, program_axes*, |, dtype=None, mask=None, parallel_reduce=True, "
            "asynchronous=False, **"
        ),
        "0.2": None,
    },
    roles=(
        tile("dst"),
        tile("x", on_chip("NKI-L56")),
        operator("op"),
    ),
    engines=Engines("unknown"),
    footprint=Footprint(
        reads=(decides("x", "it is folded with that of other programs"),), writes=written("dst")
    ),
    result=Like(("x",)),
    removal=("NKI-M025",),
)

LANGUAGE_LOOP_REDUCE: Final = Instruction(
    name="language.loop_reduce",
    summary="x folded over the iterations of a loop",
    signatures={
        "beta1": "x*, op*, loop_indices*, |, dtype=None, mask=None, **",
        "0.2": None,
    },
    roles=(
        tile("dst"),
        tile("x", on_chip("NKI-L56")),
        operator("op"),
    ),
    engines=Engines("unknown"),
    footprint=Footprint(
        reads=(decides("x", "it is folded with that of other iterations"),), writes=written("dst")
    ),
    result=Like(("x",)),
    removal=("NKI-M025",),
)

INSTRUCTIONS: Final = (
    CORE_BARRIER,
    REGISTER_LOAD,
    REGISTER_STORE,
    BUILTIN_CUSTOM_OP,
    COLLECTIVES_ALL_REDUCE,
    COLLECTIVES_ALL_GATHER,
    COLLECTIVES_ALL_GATHER_V,
    COLLECTIVES_ALL_TO_ALL,
    COLLECTIVES_ALL_TO_ALL_V,
    COLLECTIVES_REDUCE_SCATTER,
    COLLECTIVES_COLLECTIVE_PERMUTE,
    COLLECTIVES_COLLECTIVE_PERMUTE_IMPLICIT,
    COLLECTIVES_COLLECTIVE_PERMUTE_IMPLICIT_REDUCE,
    LANGUAGE_ALL_REDUCE,
    LANGUAGE_LOOP_REDUCE,
)
