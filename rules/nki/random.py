"""Random numbers: states and seeds."""

from __future__ import annotations

from collections.abc import Iterator

from rules.nki import kit
from rules.nki.kit import check, register
from rules.nki.operands.memories import SBUF
from rules.nki.samples import kernel
from verifier.hardware import dtypes as dt
from verifier.hardware.capabilities import Capability
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.rulebase import Check, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.trace import Operation


def _random_state(op: Operation, target: Target) -> Iterator[Check]:
    if op.name == "isa.rand2":
        low, high = kit.constant(op.value("min")), kit.constant(op.value("max"))
        if low is not None and high is not None:
            yield check(
                op,
                "max",
                E.truth(low < high),
                f"min < max (they are {low} and {high})",
                "the range of random numbers is empty",
                "RND02",
                about=(),
            )
        return
    if op.name in ("isa.set_rng_seed", "language.random_seed"):
        role = "src_seeds" if op.name == "isa.set_rng_seed" else "seed"
        view = op.view(role)
        if view is None:
            return
        four = frozenset(code for code, size in dt.ITEMSIZE.items() if size == 4)
        yield check(
            op,
            role,
            E.and_(E.eq(view.partitions, 1), E.eq(view.free, 1), view.dtype.among(four)),
            f"{role} is one element of 4 bytes",
            "a seed is a single 32-bit element",
            "SED01" if op.name == "isa.set_rng_seed" else "L10",
            values=((f"partitions of {role}", view.partitions), (f"{role} free size", view.free)),
        )
        return
    role = "src_seeds" if op.name == "isa.rand_set_state" else "dst"
    view = op.view(role)
    engine = kit.engine(op)
    if view is None or engine is None:
        return
    vector = engine == "vector"
    width = target.generator_words_vector if vector else target.generator_words
    fact = "RSS01" if role == "src_seeds" else "RGT01"
    yield check(
        op,
        role,
        E.and_(E.truth(view.rank == 2), E.eq(view.free, width)),
        f"{role} is two-dimensional with free size {width}",
        f"the state of the generator has {width} numbers per partition",
        fact,
        values=((f"rank of {role}", E.const(view.rank)), (f"{role} free size", view.free)),
    )
    psum = role == "dst" and vector and target.has(Capability.STATE_IN_PSUM)
    allowed = (Buffer.SBUF, Buffer.PSUM) if psum else SBUF
    found = kit.buffer_check(
        op,
        role,
        view,
        allowed,
        f"{role} cannot be in {kit.BUFFER_WORDS[view.buffer]}",
        "BUF33",
        *(("H89",) if role == "dst" else ()),
    )
    if found is not None:
        yield found


register(
    Rule(
        id="random-state",
        code="NKI641",
        family="random",
        summary="seeds and states of the random number generators have their shape",
        reason=(
            "Each lane of a generator has a state of six 32-bit numbers on GpSimd, or 24 on the "
            "Vector Engine; a seed is a single 32-bit number. The generators read and write it as "
            "it is."
        ),
        facts=("RND02", "SED01", "L10", "RSS01", "RGT01", "BUF33", "H89"),
        on="operation",
        operations=(
            "isa.rand2",
            "isa.set_rng_seed",
            "isa.rand_set_state",
            "isa.rand_get_state",
            "language.random_seed",
        ),
        check=_random_state,
        sources=("NKI ISA rand_set_state, rand_get_state, set_rng_seed, rand2",),
        failing=kernel(
            "seeded",
            {"seed": ((1, 2), "uint32")},
            ((64, 20), "uint32"),
            """
            nisa.set_rng_seed(src_seeds=seed_tile)
            nisa.rng(dst=result)
            """,
        ),
        passing=kernel(
            "seeded",
            {"seed": ((1, 1), "uint32")},
            ((64, 20), "uint32"),
            """
            nisa.set_rng_seed(src_seeds=seed_tile)
            nisa.rng(dst=result)
            """,
        ),
    )
)
