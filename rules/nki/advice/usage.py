"""Uses that mean something else than they seem to say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rules.nki import kit
from rules.nki.advice.common import advise, examples, note
from verifier.hardware.capabilities import Capability
from verifier.hardware.targets import Target
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.instruction import Trait
from verifier.symbolic.trace import Operation, Trace
from verifier.symbolic.values import Enumerator


def _old_name(operation: Operation, target: Target) -> Iterator[Check]:
    engine = operation.value("engine")
    if isinstance(engine, Enumerator) and engine.written:
        yield note(
            operation,
            E.FALSE,
            "an engine is named by `nisa.engine`",
            f"`nisa.{engine.written}` is a deprecated name",
            f"write `nisa.engine.{engine.name}`",
            "N06",
            role="engine",
        )


advise(
    "advice-engine-name",
    13,
    "an engine is named by nisa.engine",
    "`nisa.vector_engine` and its like are other names of the members of `nisa.engine`, kept for "
    "older kernels.",
    ("N06",),
    _old_name,
    examples(
        (128, 640),
        "float32",
        "nisa.tensor_copy(dst=result, src=x_tile, engine=nisa.vector_engine)",
        "nisa.tensor_copy(dst=result, src=x_tile, engine=nisa.engine.vector)",
    ),
    ("NKI ISA reference, module constants",),
    concerns=lambda i: i.role("engine") is not None or bool(i.engines.on_request),
)


def _without_slope(operation: Operation, target: Target) -> Iterator[Check]:
    if kit.operator_name(operation.value("op")) != "prelu":
        return
    yield note(
        operation,
        E.FALSE,
        "the slope of prelu is given",
        f"`{operation.call_text}` has no parameter for the slope of `prelu`",
        "use `nisa.activate2`, whose `relu_param` is the slope below 0",
        "ACT16",
        role="op",
    )


advise(
    "advice-slope",
    14,
    "prelu is computed where its slope can be given",
    "`nl.prelu` multiplies what is negative by a slope; `nisa.activate2` alone takes it.",
    ("ACT16",),
    _without_slope,
    examples(
        (128, 640),
        "float32",
        "nisa.activation(dst=result, op=nl.prelu, data=x_tile)",
        "nisa.activation(dst=result, op=nl.relu, data=x_tile)",
    ),
    ("NKI language reference, prelu", "NKI release notes, 0.4.0"),
    concerns=lambda i: (
        i.role("op") is not None
        and not any("relu_param" in (signature or "") for signature in i.signatures.values())
    ),
)


def _kept(operation: Operation, target: Target) -> Iterator[Check]:
    reduces, asked = kit.described(operation).reduces, operation.operands.get("keepdims")
    if asked is None or not asked.given or reduces is None:
        return
    if reduces.keeps and operation.generation.at_least(reduces.keeps):
        yield note(
            operation,
            kit.flag(operation, "keepdims"),
            "the dimensions are to be kept",
            f"`{operation.call_text}` keeps the dimensions that it reduces, whatever `keepdims` is",
            "leave `keepdims` out, and index the result with all its dimensions",
            "L51",
            role="keepdims",
        )


advise(
    "advice-keepdims",
    15,
    "a function that keeps all dimensions is not asked to drop them",
    "`nl.var` has a parameter `keepdims` since 0.3 and takes no notice of it: its result has the "
    "dimensions of its operand.",
    ("L51",),
    _kept,
    examples(
        (128, 640),
        "float32",
        "nisa.tensor_copy(dst=result, src=nl.var(x_tile, axis=1, keepdims=False))",
        "nisa.tensor_copy(dst=result, src=nl.var(x_tile, axis=1))",
        ((128, 1), "float32"),
    ),
    ("NKI language reference, var",),
    concerns=lambda i: i.reduces is not None and bool(i.reduces.keeps),
)


def _is(operation: Operation, trait: Trait) -> bool:
    """Whether it is of a function of the language with that trait."""
    instruction = operation.instruction
    return instruction is not None and instruction.traits.issuperset((Trait.LANGUAGE, trait))


def _other_engine(trace: Trace, target: Target) -> Iterator[Check]:
    if target.has(Capability.RANDOM_FLOATS):
        return
    seeds = [op for op in trace.operations if _is(op, Trait.GENERATOR)]
    for operation in trace.operations:
        seeded = any(seed.order < operation.order for seed in seeds)
        if seeded and _is(operation, Trait.RANDOM):
            yield note(
                operation,
                E.FALSE,
                "numbers are drawn by the engine that was seeded",
                f"`{operation.call_text}` may draw from another engine's generator than the one "
                f"that was seeded",
                "draw with `nisa.rng`, which names its engine, after `nisa.set_rng_seed`",
                "L09",
            )


_DRAWN: Final = (
    "drawn = nl.rand((128, 640), dtype=nl.float32)\n"
    "nisa.tensor_tensor(dst=result, data1=x_tile, data2=drawn, op=nl.add)"
)

advise(
    "advice-seeded-engine",
    16,
    "random numbers are drawn from the generator that was seeded",
    "Before trn3 `nl.rand` is made of `nisa.rng`, which may run on another engine than the one "
    "whose generator `nl.random_seed` sets: the numbers then do not follow from the seed.",
    ("L09",),
    None,
    examples(
        (128, 640),
        "float32",
        f"seed = nl.zeros((1, 1), dtype=nl.int32)\nnl.random_seed(seed)\n{_DRAWN}",
        _DRAWN,
    ),
    ("NKI language reference, rand", "NKI release notes, 0.4.0, known issues"),
    of_trace=_other_engine,
)
