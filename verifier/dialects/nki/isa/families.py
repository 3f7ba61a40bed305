"""Descriptions that differ in a few words only: one function for each such family."""

from __future__ import annotations

from typing import Final

from verifier.dialects.nki.isa.operators import UNLISTED, admits, newer_unary
from verifier.dialects.nki.isa.shared import (
    LOADS,
    REDUCES,
    decides,
    folded,
    member,
    moved,
    per_lane,
    picked,
    streamed,
    tile,
    written,
)
from verifier.dialects.nki.results import Columns
from verifier.hardware.engines import Engine
from verifier.symbolic.effects import (
    SOME,
    Accumulation,
    AccumulatorFile,
    Call,
    Footprint,
    Reads,
    When,
    Writes,
)
from verifier.symbolic.instruction import (
    Engines,
    Instruction,
    OnePort,
    Operators,
    Reduction,
    Result,
    Scratch,
    Trait,
)
from verifier.symbolic.roles import Limit, Role
from verifier.symbolic.tensors import View

#: what a command does with accumulators: whether it sets them anew, whether data goes into them
_COMMANDS: Final = {
    "idle": (False, False),
    "reset": (True, False),
    "reduce": (False, True),
    "reset_reduce": (True, True),
    "load_reduce": (True, True),
}


_OF_SCALAR: Final = "accumulators of the Scalar Engine"
OF_VECTOR: Final = "accumulators of the Vector Engine"


def _used(
    call: Call, to: str, without: str, operator: str, ignored_in: str, alters: bool
) -> Accumulation | None:
    value = call.value("reduce_cmd")
    command = without if value is None else member(call, "reduce_cmd")
    if command not in _COMMANDS or (call.api == ignored_in and command != "reset_reduce"):
        return None
    begins, adds = _COMMANDS[command]
    result = call.value(to)
    if result is not None and not isinstance(result, View):
        return None
    return Accumulation(
        begins=begins,
        adds=adds,
        to=to if result is not None else "",
        alters=alters and not (begins or adds),
        operator=member(call, operator) or "",
    )


def sums_of_vector(
    lanes: str,
    *facts: str,
    to: str = "reduce_res",
    operator: str = "reduce_op",
    without: str = "reset_reduce",
    ignored_in: str = "",
) -> AccumulatorFile:
    """Accumulators that `idle` may alter (NKI-AC05).

    ``without``: what is done where no command is given; ``ignored_in``: a generation that does
    not look at the command.
    """
    return AccumulatorFile(
        name=OF_VECTOR,
        lanes=lanes,
        used=lambda call: _used(call, to, without, operator, ignored_in, alters=True),
        facts=("NKI-AC02", *facts),
        operator=operator,
        result=to,
    )


def sums_of_scalar(*facts: str, without: str = "idle") -> AccumulatorFile:
    """Accumulators that `idle` leaves as they are."""
    return AccumulatorFile(
        name=_OF_SCALAR,
        lanes="data",
        used=lambda call: _used(call, "reduce_res", without, "reduce_op", "", alters=False),
        facts=("NKI-AC01", *facts),
    )


def both_operators(
    admitted: frozenset[str], *facts: str, newer: str = "", bits: str = "", unmixed: str = ""
) -> tuple[Operators, ...]:
    """``op0`` and ``op1`` are of one kind; ``newer``: the fact that names those that came later."""
    needs = newer_unary(newer) if newer else None
    return tuple(
        admits(role, admitted, *facts, needs=needs, bits=bits, unmixed=unmixed, gone=UNLISTED)
        for role in ("op0", "op1")
    )


def reduced(
    data: str,
    *lanes: str,
    when: When = REDUCES,
    initial: str = "",
    kept: str,
) -> tuple[Reads, ...]:
    """What goes into ``reduce_res``: the data, what is held beside it, what is loaded before.

    ``kept``: the accumulators that keep it as well.
    """
    return (
        *(per_lane(role, "reduce_res", when=when) for role in lanes),
        folded(data, "reduce_res", when=when, kept=kept),
        *([per_lane(initial, "reduce_res", when=LOADS)] if initial else []),
    )


def and_reduced(
    data: str,
    *lanes: str,
    when: When = REDUCES,
    initial: str = "",
    accumulators: AccumulatorFile,
) -> Footprint:
    """The data streams into ``dst`` with what is held in its lane, and into ``reduce_res``."""
    return Footprint(
        reads=(
            streamed(data),
            *(per_lane(role) for role in lanes),
            *reduced(data, *lanes, when=when, initial=initial, kept=accumulators.name),
        ),
        writes=written("dst", "reduce_res"),
        accumulators=accumulators,
    )


def of_partition(
    name: str,
    summary: str,
    data: Role,
    results: Limit,
    *,
    beta1: str,
    rank: tuple[Limit, ...] = (),
    traits: frozenset[Trait] = frozenset(),
) -> Instruction:
    """So many numbers of each partition, made of all its elements; ``rank``: of the result."""
    assert results.most is not None
    return Instruction(
        name=name,
        summary=summary,
        signatures={"beta1": beta1, "0.2": f"dst*, {data.name}*, name=None"},
        roles=(tile("dst", data.memories, free=results, rank=rank), data),
        engines=Engines(Engine.VECTOR),
        footprint=Footprint(reads=(folded(data.name),), writes=written("dst")),
        result=Columns(data.name, results.most),
        traits=traits,
    )


def gathers(data: str, indices: str) -> Footprint:
    """Elements from where an index says."""
    return Footprint(
        reads=(picked(data, where=SOME), decides(indices, "it is an index")),
        writes=written("dst"),
    )


def copies(source: str) -> Footprint:
    """Each element as it is, or converted."""
    return Footprint(reads=(moved(source),), writes=written("dst"))


_INTO: Final = tile("dst")


def language(
    name: str,
    summary: str,
    signatures: tuple[str, str | None],
    *roles: Role,
    reads: tuple[Reads, ...] = (),
    engine: Engine = Engine.UNKNOWN,
    result: Result | None = None,
    traits: frozenset[Trait] = frozenset(),
    reduces: Reduction | None = None,
    instead: str = "",
    removal: tuple[str, ...] = ("NKI-M024",),
    into: Role = _INTO,
    scratch: Scratch | None = None,
    writes: tuple[Writes, ...] = written("dst"),
    factors: tuple[str, str] | None = None,
    one_psum_input: OnePort | None = None,
) -> Instruction:
    """A function of `nki.language` that makes ``dst``: in Beta 1, and again from 0.3 on."""
    beta1, later = signatures
    again = {} if later is None else {"0.3": later}
    return Instruction(
        name=f"language.{name}",
        summary=summary,
        signatures={"beta1": beta1, "0.2": None, **again},
        roles=(into, *roles),
        engines=Engines(engine),
        footprint=Footprint(reads=reads, writes=writes),
        result=result,
        traits=traits | {Trait.LANGUAGE},
        reduces=reduces,
        factors=factors,
        one_psum_input=one_psum_input,
        scratch=scratch,
        instead=instead,
        removal=removal,
    )
