"""What is between cores, ranks and programs, and what registers hold."""

from __future__ import annotations

from typing import Final

from verifier.dialects.nki.isa.operators import ACROSS_RANKS, admits
from verifier.dialects.nki.isa.shared import (
    decides,
    exactly,
    in_hbm,
    on_chip,
    operator,
    plain,
    priority,
    tile,
    tiles,
    written,
)
from verifier.dialects.nki.results import Like
from verifier.hardware import dtypes as dt
from verifier.hardware.capabilities import Capability
from verifier.hardware.engines import Engine
from verifier.symbolic.effects import Footprint
from verifier.symbolic.instruction import Engines, Instruction, Shares, Trait
from verifier.symbolic.roles import In, Limit, Role, Takes, Types

#: what all collectives took from a generation on
_LATER: Final = (("0.2", ""), ("0.4", ", priority=None"), ("0.5", ", name=None"))


#: the most channels between ranks: of all devices in a node; of other groups there are fewer
CHANNELS: Final = 4
_CHANNELS: Final = Limit(least=1, most=CHANNELS, fact="NKI-K10")


def _collective(
    name: str,
    summary: str,
    parameters: str,
    *others: Role,
    since: str = "0.2",
    memories: In | None = None,
    single: bool = False,
    shares: Shares | None = Shares.ALL,
) -> Instruction:
    """A function between ranks, ``parameters`` as it had them first.

    What is sent and received, how much of it, and the operator that folds it are known by their
    names; what else is said of parameters, by ``others``. ``single``: one is sent, one received.
    """
    count = exactly(1, memories.facts[-1]) if single and memories is not None else None
    if "channel_ids" in parameters:
        count = _CHANNELS
    required = [each.rstrip("*") for each in parameters.split(", ") if each.endswith("*")]
    sent = [each for each in required if each.startswith("srcs")]
    received = [each for each in required if each.startswith("dsts")]
    sizes = [each for each in required if each == "metadata_tensor"]
    operators = [each for each in required if each == "op"]
    signatures: dict[str, str | None] = {}
    for version, more in _LATER:
        parameters += more
        signatures[max(version, since)] = parameters
    return Instruction(
        name=f"collectives.{name}",
        summary=summary,
        signatures=signatures,
        roles=(
            *(tiles(each, memories, count) for each in sent + received),
            *(tile(each, dtypes=Types(dt.codes("uint32"), "uint32", "NKI-K06")) for each in sizes),
            *map(operator, operators),
            priority("NKI-K12"),
            *others,
        ),
        engines=Engines(Engine.DMA),
        operators=tuple(admits(each, ACROSS_RANKS, "NKI-K02", folds=True) for each in operators),
        footprint=Footprint(
            reads=(
                *(decides(each, "other ranks receive it") for each in sent),
                *(decides(each, "it says how much is sent") for each in sizes),
            ),
            writes=written(*received),
        ),
        shares=shares,
        traits=frozenset({Trait.COLLECTIVE}),
    )


def _folds_over(name: str, others: str, parameters: str, loops: str = "") -> Instruction:
    """A function of Beta 1 that folds a tile over the ``others``: programs, or iterations.

    ``loops``: the operand that lists the indices of the latter.
    """
    return Instruction(
        name=f"language.{name}",
        summary=f"x folded over the {others}",
        signatures={"beta1": parameters, "0.2": None},
        roles=(tile("dst"), tile("x", on_chip("NKI-L56")), operator("op")),
        engines=Engines(Engine.UNKNOWN),
        footprint=Footprint(
            reads=(decides("x", f"it is folded with that of other {others.split()[0]}"),),
            writes=written("dst"),
            folds=loops,
        ),
        result=Like(("x",)),
        instead=f"fold into one tile in a loop over the {others.split()[0]}, with an instruction",
        removal=("NKI-M025",),
        traits=frozenset({Trait.LANGUAGE}),
    )


CORE_BARRIER: Final = Instruction(
    name="isa.core_barrier",
    summary="no core goes on before the others have come this far",
    signatures={
        "0.2": "data*, cores*, engine=engine.unknown, name=None",
        "0.3": "data*, cores*, engine=engine.gpsimd, name=None",
    },
    roles=(tile("data"),),
    engines=Engines(Engine.GPSIMD),
    needs=(Capability.CORES, ("NKI-BAR01", "NKI-H77")),
    footprint=Footprint(orders=("cores",), ordered="data"),
    facts=("NKI-BAR02",),
    traits=frozenset({Trait.NO_LANES}),
)

REGISTER_LOAD: Final = Instruction(
    name="isa.register_load",
    summary="a register takes the one element of src",
    signatures={
        "0.2": "dst*, src*",
    },
    roles=(tile("src"),),
    engines=Engines(Engine.SYNC),
    footprint=Footprint(reads=(decides("src", "a register takes it"),), registers=("dst",)),
    traits=frozenset({Trait.NO_LANES, Trait.REGISTERS}),
)

REGISTER_STORE: Final = Instruction(
    name="isa.register_store",
    summary="the one element of dst takes a register",
    signatures={
        "0.2": "dst*, src*",
    },
    roles=(tile("dst"),),
    engines=Engines(Engine.SYNC),
    footprint=Footprint(writes=written("dst")),
    traits=frozenset({Trait.NO_LANES, Trait.REGISTERS}),
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
    engines=Engines(Engine.GPSIMD),
    footprint=Footprint(
        reads=(decides("srcs", "code of its own reads it"),), writes=written("dsts")
    ),
    traits=frozenset({Trait.NO_LANES}),
    removal=("NKI-M024",),
)

COLLECTIVES: Final = (
    _collective(
        "all_reduce",
        "dsts = the sources of all ranks, folded",
        "srcs*, dsts*, replica_group*, op*",
    ),
    _collective(
        "all_gather",
        "dsts = the sources of all ranks, one behind the other",
        "srcs*, dsts*, replica_group*, collective_dim*",
        # tiles in SBUF may be put one beside the other as well
        plain("collective_dim", Limit(among=(0,), also=(1,), fact="NKI-K03")),
        shares=Shares.GATHERED,
    ),
    _collective(
        "all_gather_v",
        "as all_gather, with sizes of their own",
        "srcs*, dsts*, replica_group*, metadata_tensor*, recv_counts_known=False, "
        "has_rdispls=False",
        plain("has_rdispls", Limit(most=0, fact="NKI-K07")),
        Role(name="replica_group", takes=Takes.PLAIN, count=exactly(4, "NKI-K07")),
        since="0.6",
        memories=in_hbm("NKI-K06"),
        single=True,
        shares=None,
    ),
    _collective(
        "all_to_all",
        "each rank sends a part to each other",
        "srcs*, dsts*, replica_group*, collective_dim*",
        plain("collective_dim", Limit(among=(0,), fact="NKI-K05")),
        shares=Shares.EXCHANGED,
        memories=in_hbm("NKI-K05"),
    ),
    _collective(
        "all_to_all_v",
        "as all_to_all, with sizes of their own",
        "srcs*, dsts*, replica_group*, metadata_tensor*, recv_counts_known=False, "
        "has_rdispls=False",
        Role(
            name="has_rdispls",
            takes=Takes.FLAG,
            needs=(Capability.PLACED_RECEPTION, ("NKI-K08",)),
        ),
        since="0.3",
        memories=in_hbm("NKI-K06"),
        single=True,
        shares=None,
    ),
    _collective(
        "reduce_scatter",
        "dsts = a part of the sources of all ranks, folded",
        "srcs*, dsts*, replica_group*, collective_dim*, op*",
        plain("collective_dim", Limit(among=(0,), fact="NKI-K04")),
        shares=Shares.SCATTERED,
    ),
    _collective(
        "collective_permute",
        "each rank sends to one other",
        "srcs*, dsts*, source_target_pairs*",
        memories=in_hbm("NKI-K09"),
        single=True,
    ),
    _collective(
        "collective_permute_implicit",
        "each rank sends to the next in a ring, channel by channel",
        "srcs_by_channel*, dsts_by_channel*, replica_group*, channel_ids=()",
        Role(name="channel_ids", takes=Takes.INTEGERS, count=_CHANNELS),
    ),
    _collective(
        "collective_permute_implicit_reduce",
        "as collective_permute_implicit, folded with what a rank holds",
        "srcs0_by_channel*, srcs1_by_channel*, dsts_by_channel*, replica_group*, op*, "
        "channel_ids=()",
        Role(name="channel_ids", takes=Takes.INTEGERS, count=_CHANNELS),
    ),
)

LANGUAGE_ALL_REDUCE: Final = _folds_over(
    "all_reduce",
    "programs of a grid",
    "x*, op*, program_axes*, |, dtype=None, mask=None, parallel_reduce=True, "
    "asynchronous=False, **",
)

LANGUAGE_LOOP_REDUCE: Final = _folds_over(
    "loop_reduce",
    "iterations of a loop",
    "x*, op*, loop_indices*, |, dtype=None, mask=None, **",
    "loop_indices",
)

INSTRUCTIONS: Final = (
    CORE_BARRIER,
    REGISTER_LOAD,
    REGISTER_STORE,
    BUILTIN_CUSTOM_OP,
    *COLLECTIVES,
    LANGUAGE_ALL_REDUCE,
    LANGUAGE_LOOP_REDUCE,
)
