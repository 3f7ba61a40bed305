"""How advice is registered, and what it asks of instructions and tiles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from rules.nki import kit
from rules.nki.kit import register
from rules.nki.samples import Examples, Shape, kernel
from verifier.hardware.targets import Target
from verifier.rulebase import ADVICE, COMPILED, On, Rule
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.instruction import Instruction, Trait
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation, Trace


def note(
    operation: Operation,
    predicate: Bool,
    text: str,
    message: str,
    help: str,
    *facts: str,
    role: str = "",
    values: tuple[tuple[str, Expr], ...] = (),
) -> Check:
    return Check(
        predicate=predicate,
        span=operation.span_of(role),
        text=text,
        message=message,
        facts=kit.catalogue(facts),
        values=values,
        help=(help,),
        severity="note",
        given=tuple(loop.within for loop in operation.loops),
        path=operation.path,
        order=operation.order,
    )


def advise(
    id: str,
    number: int,
    summary: str,
    reason: str,
    facts: tuple[str, ...],
    check: Callable[[Operation, Target], Iterator[Check]] | None,
    examples: Examples,
    sources: tuple[str, ...],
    *,
    concerns: Callable[[Instruction], bool] | None = None,
    enforces: Callable[[Instruction], Iterable[str]] | None = None,
    operations: tuple[str, ...] = (),
    of_trace: Callable[[Trace, Target], Iterator[Check]] | None = None,
) -> None:
    register(
        Rule(
            id=id,
            code=f"ADV{number:03d}",
            family=ADVICE,
            summary=summary,
            reason=reason,
            facts=facts,
            on=On.OPERATION if of_trace is None else On.TRACE,
            check=check if of_trace is None else of_trace,
            concerns=concerns,
            enforces=enforces,
            operations=operations,
            replayed=COMPILED,
            severity="note",
            learns=False,
            infer_dtypes=False,
            sources=sources,
            failing=examples.failing,
            passing=examples.passing,
        )
    )


def examples(
    shape: Shape, dtype: str, wrong: str, right: str, other: tuple[Shape, str] | None = None
) -> Examples:
    """Two kernels that load ``x`` and make ``result`` of it in another way."""
    inputs = {"x": (shape, dtype)}
    result = (shape, dtype) if other is None else other
    return Examples(*(kernel("made", inputs, result, body) for body in (wrong, right)))


def moves(instruction: Instruction) -> bool:
    return Trait.DMA in instruction.traits


def copies(instruction: Instruction) -> bool:
    return Trait.COPIES in instruction.traits and instruction.computes


def streams(instruction: Instruction) -> bool:
    return instruction.computes


def tile(operation: Operation) -> View | None:
    """The tile that decides how long an instruction takes: the widest that is known."""
    found = [view for _, view in kit.tiles(operation)]
    return max(found, key=lambda view: view.free.const if view.free.is_const else 0, default=None)
