"""Defaults that a kernel's own demands exclude: no call can leave such a parameter out.

A default that says that nothing is given (None, nothing, a count of none, a mark below zero) may be
there because a later parameter has one: who is to give it is asked for it. So is who is to switch
off what a kernel cannot do yet: released kernels have such flags. Any other is meant to be used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from verifier import rulebase
from verifier.engine import obligations
from verifier.engine.admission import demands, instances
from verifier.engine.gathering import Verdict, VerdictKind
from verifier.solver.query import Query, Tier
from verifier.solver.solver import Solver
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.python.entry import Run
from verifier.symbolic.python.inputs import InputKind, Parameter
from verifier.symbolic.tensors import DType
from verifier.symbolic.trace import Assumption, AssumptionKind

RULE: Final = "rejected-default"


def rejected(run: Run, solver: Solver, selected: set[str]) -> list[Verdict]:
    """A finding for each default that no call can be made with, else one for all together.

    The kernel admits some input: that it does is asked before.
    """
    rule = rulebase.find(RULE)
    if rule is None or rule.id not in selected:
        return []
    said = [a for a in demands(run) if a.kind is not AssumptionKind.CONTRACT]
    asked = {name for a in said for name in _names(a.condition)}
    known = [(p, c) for p, c in _defaults(run) if asked & _names(c)]
    found: list[Verdict] = []
    for p, condition in known:
        closing = _closing(said, (condition,), solver)
        if closing is not None:
            found.append(_verdict(run, rule, closing, (p,)))
    if not found and len(known) > 1:
        closing = _closing(said, tuple(c for _, c in known), solver)
        if closing is not None:
            told = _names(closing.condition)
            own = tuple(p for p, c in known if told & _names(c))
            found.append(_verdict(run, rule, closing, own or tuple(p for p, _ in known)))
    return found


def _defaults(run: Run) -> Iterator[tuple[Parameter, Bool]]:
    """The parameters that may be left out, and the condition that each is its default."""
    for p in run.inputs.parameters.values():
        if not p.has_default or p.pinned is not None:
            continue
        default = p.default
        if p.kind is InputKind.INTEGER and isinstance(default, Expr) and default.is_const:
            if default.const > 0:
                yield p, E.eq(run.inputs.integer(p), default)
        elif p.kind is InputKind.STRING and isinstance(default, str) and default:
            yield p, run.inputs.string_equals(p, default)
        elif p.kind is InputKind.DTYPE and isinstance(default, DType):
            yield p, run.inputs.as_dtype(p).same(default)


def _names(condition: Bool) -> set[str]:
    """The inputs that a condition speaks of."""
    return {symbol.name for symbol in condition.free()} | set(condition.flags())


def _closing(
    said: list[Assumption], defaults: tuple[Bool, ...], solver: Solver
) -> Assumption | None:
    """The demand with which no input has these defaults any more."""
    if not _excluded(said, defaults, solver):
        return None
    closing = (a for k, a in enumerate(said) if _excluded(said[: k + 1], defaults, solver))
    return next(closing, None)


def _excluded(said: list[Assumption], defaults: tuple[Bool, ...], solver: Solver) -> bool:
    facts = (*(a.condition for a in said), *instances(said), *defaults)
    return solver.check(Query(facts, E.FALSE)).proved


def _verdict(
    run: Run, rule: rulebase.Rule, closing: Assumption, parameters: tuple[Parameter, ...]
) -> Verdict:
    names = " and ".join(f"`{p.name}`" for p in parameters)
    one = len(parameters) == 1
    shown = ", ".join(f"{p.name} = {_shown(p.default)}" for p in parameters)
    check = Check(
        predicate=E.FALSE,
        span=closing.span or run.trace.span,
        text=closing.text or f"the default of {names} is one that the kernel admits",
        message=(
            f"no call can leave {names} out: {'the default' if one else 'the defaults'} "
            f"({shown}) {'breaks' if one else 'break'} what the kernel demands here"
        ),
        facts=(),
        notes=tuple(Note(p.span, f"{_shown(p.default)} by default") for p in parameters),
        help=(f"give {'it a default' if one else 'them defaults'} that the kernel takes, or none",),
    )
    found = obligations.Obligation(rule, check, (), (), (), closing.order)
    return Verdict(found, VerdictKind.ALWAYS, Tier.Z3)


def _shown(default: object) -> str:
    if isinstance(default, DType):
        return default.name or "it"
    if isinstance(default, str):
        return f'"{default}"'
    return str(default)


__all__ = ["RULE", "rejected"]
