"""Random numbers: states and seeds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from rules.nki import kinds, kit
from rules.nki.kit import check, register
from rules.nki.operands.memories import SBUF
from rules.nki.samples import kernel
from verifier.hardware import dtypes as dt
from verifier.hardware.capabilities import Capability
from verifier.hardware.engines import Engine
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.rulebase import On, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.instruction import Trait
from verifier.symbolic.roles import Limit, Takes
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation

_WORDS: Final = frozenset(code for code, size in dt.ITEMSIZE.items() if size == 4)


def _random_state(op: Operation, target: Target) -> Iterator[Check]:
    low, high = kit.as_number(op.value("min")), kit.as_number(op.value("max"))
    if low is not None and high is not None:
        yield check(
            op,
            "max",
            _below(low, high),
            f"min < max (they are {low} and {high})",
            "the range of random numbers is empty",
            "RND02",
            about=(),
        )
    needs = kit.described(op).needs
    holds_state = needs is not None and needs[0] is Capability.RANDOM_STATE
    for role in kit.described(op).roles:
        view = op.view(role.name)
        if view is not None and role.free is not None:
            yield _seed(op, role.name, view, role.free)
        elif view is not None and role.dtypes is not None and holds_state:
            yield from _state(op, role.name, view, role.dtypes.fact, target)


def _below(low: Expr | float, high: Expr | float) -> Bool:
    """Whether one number is less than another; those that depend on inputs are integers."""
    if isinstance(low, float):
        if isinstance(high, float):
            return E.truth(low < high)
        return E.gt(high, math.floor(low)) if math.isfinite(low) else E.truth(low < 0)
    if isinstance(high, float):
        return E.lt(low, math.ceil(high)) if math.isfinite(high) else E.truth(high > 0)
    return E.lt(low, high)


def _seed(op: Operation, role: str, view: View, limit: Limit) -> Check:
    return check(
        op,
        role,
        E.and_(limit.holds(view.partitions), limit.holds(view.free), view.dtype.among(_WORDS)),
        f"{role} is one element of 4 bytes",
        "a seed is a single 32-bit element",
        limit.fact,
        values=((f"partitions of {role}", view.partitions), (f"{role} free size", view.free)),
    )


def _state(op: Operation, role: str, view: View, fact: str, target: Target) -> Iterator[Check]:
    """So many numbers in each lane of an engine's generator, in memory that the engine reaches."""
    engine = kit.engine(op)
    if engine is None:
        return
    vector = engine is Engine.VECTOR
    width = target.generator_words_vector if vector else target.generator_words
    yield check(
        op,
        role,
        E.and_(E.truth(view.rank == 2), E.eq(view.free, width)),
        f"{role} is two-dimensional with free size {width}",
        f"the state of the generator has {width} numbers per partition",
        fact,
        values=((f"rank of {role}", E.const(view.rank)), (f"{role} free size", view.free)),
    )
    written = bool(kit.described(op).footprint.writes_of(role))
    psum = written and vector and target.has(Capability.STATE_IN_PSUM)
    found = kit.buffer_check(
        op,
        role,
        view,
        (Buffer.SBUF, Buffer.PSUM) if psum else SBUF,
        f"{role} cannot be in {kit.BUFFER_WORDS[view.buffer]}",
        "BUF33",
        *(("H89",) if written else ()),
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
        on=On.OPERATION,
        concerns=kinds.either(
            kinds.with_traits(Trait.GENERATOR), kinds.both(kinds.taking("min"), kinds.taking("max"))
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


# ------------------------------------------------------------------------------ likelihoods


def _likelihoods(op: Operation, target: Target) -> Iterator[Check]:
    """A number for all lanes lies within its limit; what a tile holds is known at run time."""
    for role in kit.described(op).roles:
        if role.takes is not Takes.VECTOR or role.value is None or op.view(role.name) is not None:
            continue
        number = kit.as_number(op.value(role.name))
        if number is None:
            continue
        limit = role.value
        yield check(
            op,
            role.name,
            limit.holds(number),
            f"{limit.least} <= {role.name} <= {limit.most}",
            f"{role.name} is no probability",
            limit.fact,
            values=((role.name, number),)
            if isinstance(number, Expr) and not number.is_const
            else (),
            about=(),
        )


register(
    Rule(
        id="probability",
        code="NKI642",
        family="random",
        summary="a probability is from 0 to 1",
        reason=(
            "The number says how likely an element is to be dropped, as a fraction and not in "
            "percent. What becomes of others is not documented."
        ),
        facts=("DRP04",),
        on=On.OPERATION,
        concerns=kinds.both(kinds.with_traits(Trait.RANDOM), kinds.limited(Takes.VECTOR)),
        check=_likelihoods,
        sources=("NKI ISA dropout",),
        failing=kernel(
            "thinned",
            {"x": ((96, 40), "float32")},
            ((96, 40), "float32"),
            "nisa.dropout(dst=result, data=x_tile, prob=25)",
        ),
        passing=kernel(
            "thinned",
            {"x": ((96, 40), "float32")},
            ((96, 40), "float32"),
            "nisa.dropout(dst=result, data=x_tile, prob=0.25)",
        ),
    )
)
