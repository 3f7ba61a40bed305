"""Random numbers and their generators."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from verifier.dialects.nki.isa.families import language
from verifier.dialects.nki.isa.shared import (
    DRAWS,
    FLOAT8,
    FP32,
    HALF,
    INT,
    decides,
    engines,
    exactly,
    on_chip,
    per_lane,
    tile,
    vector,
    written,
)
from verifier.hardware import dtypes as dt
from verifier.hardware.capabilities import Capability
from verifier.hardware.engines import Engine
from verifier.hardware.memories import Buffer
from verifier.symbolic import expr as E
from verifier.symbolic.effects import Footprint, When
from verifier.symbolic.instruction import Engines, Instruction, Trait
from verifier.symbolic.roles import In, PerPartition, Role, Types


def _one(name: str, fact: str, memories: In | None = None) -> Role:
    """A single element."""
    limit = exactly(1, fact)
    return tile(name, memories, partitions=limit, free=limit)


def _seeds(role: str) -> Footprint:
    """The generator begins anew where an operand says."""
    return Footprint(reads=(decides(role, "it is a seed"),))


RNG: Final = Instruction(
    name="isa.rng",
    summary="dst = random bits",
    signatures={
        "0.2": "dst*, engine=engine.unknown, name=None",
        "0.5": "dst*, engine=engine.vector, name=None",
    },
    roles=(tile("dst", on_chip("NKI-BUF31"), dtypes=Types(INT, "an integer", "NKI-RNG01", "0.2")),),
    engines=Engines(
        Engine.VECTOR,
        engines("gpsimd vector"),
        "NKI-N33",
        {Engine.GPSIMD: (Capability.RANDOM_ON_GPSIMD, ("NKI-RNG02", "NKI-H79"))},
    ),
    footprint=Footprint(writes=written("dst")),
    traits=DRAWS,
)

_DRAWN: Final = Types(
    FLOAT8 | HALF | FP32 | INT | dt.codes("tfloat32"), "a float or an integer", "NKI-RND01", "0.2"
)
RAND2: Final = Instruction(
    name="isa.rand2",
    summary="dst = random numbers between min and max",
    signatures={
        "0.2": "dst*, min*, max*, name=None",
    },
    roles=(
        tile("dst", on_chip("NKI-BUF32"), dtypes=_DRAWN),
        vector(
            "min",
            on_chip("NKI-BUF32"),
            shape=PerPartition("dst", "NKI-RND02"),
            dtypes=Types(FP32, "float32", "NKI-RND02"),
        ),
        vector(
            "max",
            on_chip("NKI-BUF32"),
            shape=PerPartition("dst", "NKI-RND02"),
            dtypes=Types(FP32, "float32", "NKI-RND02"),
        ),
    ),
    engines=Engines(Engine.VECTOR),
    needs=(Capability.RANDOM_FLOATS, ("NKI-RND01", "NKI-H85")),
    footprint=Footprint(reads=(per_lane("min"), per_lane("max")), writes=written("dst")),
    traits=DRAWS,
)

_OF_STATES: Final = Engines(
    Engine.GPSIMD,
    engines("gpsimd vector"),
    "NKI-N34",
    {Engine.VECTOR: (Capability.RANDOM_STATE_ON_VECTOR, ("NKI-RSS02",))},
)

RAND_SET_STATE: Final = Instruction(
    name="isa.rand_set_state",
    summary="the state of a random number generator is set",
    signatures={
        "0.2": "src_seeds*, engine=engine.unknown, name=None",
        "0.5": "src_seeds*, engine=engine.gpsimd, name=None",
    },
    roles=(
        tile(
            "src_seeds",
            In((Buffer.SBUF,), ("NKI-M082",), "0.3", (Buffer.SBUF, Buffer.PSUM)),
            dtypes=Types(dt.codes("uint32"), "uint32", "NKI-RSS01", "0.2"),
        ),
    ),
    engines=_OF_STATES,
    needs=(Capability.RANDOM_STATE, ("NKI-RSS01", "NKI-H78")),
    footprint=_seeds("src_seeds"),
    traits=frozenset({Trait.GENERATOR}),
)

RAND_GET_STATE: Final = Instruction(
    name="isa.rand_get_state",
    summary="dst = the state of a random number generator",
    signatures={
        "0.2": "dst*, engine=engine.unknown, name=None",
        "0.5": "dst*, engine=engine.gpsimd, name=None",
    },
    roles=(tile("dst", dtypes=Types(dt.codes("uint32"), "uint32", "NKI-RGT01", "0.2")),),
    engines=_OF_STATES,
    needs=(Capability.RANDOM_STATE, ("NKI-RGT01", "NKI-H78")),
    footprint=Footprint(writes=written("dst")),
    traits=DRAWS | {Trait.GENERATOR},
)

SET_RNG_SEED: Final = Instruction(
    name="isa.set_rng_seed",
    summary="the random number generator is seeded",
    signatures={
        "0.2": "src_seeds*, name=None",
    },
    roles=(_one("src_seeds", "NKI-SED01", on_chip("NKI-BUF34")),),
    engines=Engines(Engine.VECTOR),
    footprint=_seeds("src_seeds"),
    traits=frozenset({Trait.GENERATOR}),
)

LANGUAGE_RANDOM_SEED: Final = Instruction(
    name="language.random_seed",
    summary="the random number generator is seeded",
    signatures={
        "beta1": "seed*, |, mask=None, **",
        "0.2": None,
        "0.3": "seed*",
    },
    roles=(_one("seed", "NKI-L10", on_chip("NKI-L10")),),
    engines=Engines(Engine.VECTOR),
    footprint=_seeds("seed"),
    removal=("NKI-M024",),
    traits=frozenset({Trait.LANGUAGE, Trait.GENERATOR}),
)

_DRAWS_FLOATS: Final = When(
    "the Vector Engine draws floats",
    lambda call: E.truth(call.has(Capability.RANDOM_FLOATS)),
)
LANGUAGE_RAND: Final = language(
    "rand",
    "a tile of random numbers between 0 and 1",
    ("shape*, dtype=dtype.float32, **", "shape*, dtype*, buffer=buffer.sbuf, name=''"),
    traits=DRAWS,
    # where `isa.rand2` draws floats it is what this becomes (NKI-L09)
    into=tile("dst", dtypes=replace(_DRAWN, since="0.3", when=_DRAWS_FLOATS)),
)

INSTRUCTIONS: Final = (
    RNG,
    RAND2,
    RAND_SET_STATE,
    RAND_GET_STATE,
    SET_RNG_SEED,
    LANGUAGE_RANDOM_SEED,
    LANGUAGE_RAND,
)
