"""Kernels near the edge of their preconditions: ``python -m tests.oracles.preconditions PATH``.

For each kernel whose precondition is known, inputs are drawn that meet it, close to a bound or not,
and inputs that break one of its conditions. The executor runs them on shapes alone. An input that
meets a sufficient precondition must run in order; one that breaks an exact one must not. Exit
status 1 if a run disagrees.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.oracles.admitted import NOTHING, Totals, options_of, reported, request_of, traced
from tests.oracles.agreement import UNJUDGED, demands
from tests.oracles.drawing import Inputs, constants
from tests.oracles.executing import Job, Ran, ran
from verifier import rulebase
from verifier.engine import analyze_file, diagnostics, obligations
from verifier.engine.precondition import Conditions
from verifier.engine.verdicts import Discharger
from verifier.hardware import catalogue
from verifier.report.model import KernelReport
from verifier.solver.solver import Solver
from verifier.source.files import collect
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool
from verifier.symbolic.pretty import pretty
from verifier.symbolic.python.entry import Run

#: how far from a bound inputs are drawn
_NEAR = (0, 0, 1, 127, 4096)


@dataclass(frozen=True, slots=True)
class Side:
    """Inputs to draw: within the precondition or not, with what else holds of them."""

    inside: bool
    facts: tuple[Bool, ...]
    about: str


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    options = options_of("python -m tests.oracles.preconditions", 40).parse_args(arguments)
    totals = Totals()
    for path in options.paths:
        for file in collect([path]):
            root = path if path.is_dir() else path.parent
            for line in disagreements(file, root, options.runs, options.seed, totals):
                print(line, flush=True)
    print("  ".join(f"{name}: {count}" for name, count in sorted(totals.counts.items())))
    return 1 if totals.wrong else 0


def disagreements(file: Path, root: Path, runs: int, seed: int, totals: Totals) -> list[str]:
    """What is wrong between the preconditions of a file's kernels and runs of them."""
    request = request_of(file, root)
    before = len(totals.wrong)
    for project, entry, kernel in reported(request, analyze_file(request)):
        condition = kernel.precondition
        if condition is None or not condition.sufficient or not condition.conjuncts:
            continue
        totals.counts["kernels"] += 1
        rng = random.Random(f"{seed} {kernel.name} {kernel.target} {kernel.contract}")
        traced_run, solver = traced(project, entry, kernel)
        drawn = list(_drawn(traced_run, solver, kernel, runs, rng))
        if not drawn:
            continue
        place = (kernel.path, kernel.name, kernel.target, kernel.api_version)
        given = tuple(inputs for _, inputs in drawn)
        job = Job(*place, given, diagnostics.structures(traced_run))
        (found,) = ran([job], 3.0)
        for (side, _), run in zip(drawn, found, strict=True):
            _judge(kernel, side, run, totals)
    return totals.wrong[before:]


def _drawn(
    run: Run, solver: Solver, kernel: KernelReport, runs: int, rng: random.Random
) -> Iterator[tuple[Side, Mapping[str, Any]]]:
    """Inputs on both sides."""
    target = catalogue.find(kernel.target)
    assert target is not None
    rules = rulebase.of_dialect(kernel.dialect)
    pending = obligations.of_run(run, target, {rule.id for rule in rules}, rules)
    discharger = Discharger(run, solver)
    result = discharger.discharge(pending)
    found = Conditions(run, result.verdicts, solver, discharger.admitted)
    found.gather()
    inputs = Inputs(run, solver, constants(Path(kernel.path)))
    said = (*inputs.facts, *discharger.admitted)
    types = [item.condition for item in found.dtypes]
    wanted = [item.condition for item in found.items]
    unseen = [
        item.condition
        for item in found.items
        if {result.verdicts[p].obligation.rule.id for p in item.of} <= UNJUDGED
    ]
    for _ in range(runs):
        side = _side(wanted, types, unseen, rng)
        inputs.facts = (*said, *side.facts)
        given = inputs.draw(rng)
        if given is not None:
            yield replace(side, about=side.about or kernel.name), given


def _side(
    wanted: Sequence[Bool], types: Sequence[Bool], unseen: Sequence[Bool], rng: random.Random
) -> Side:
    """Near one of the conditions, on one side of it; ``unseen``: no run shows a breach."""
    if not wanted:  # of dtypes alone
        return Side(True, tuple(types), "")
    condition = rng.choice(wanted)
    near = rng.choice(_NEAR)
    if condition in unseen or rng.random() < 0.5:
        return Side(True, (*wanted, *types, *_within(condition, near)), pretty(condition))
    others = (other for other in wanted if other is not condition)
    broken = E.not_(condition)
    return Side(False, (*others, *types, broken, *_within(broken, near)), pretty(condition))


def _within(condition: Bool, near: int) -> tuple[Bool, ...]:
    """What holds of inputs that are ``near`` to the bound of a comparison."""
    if condition.kind is not E.BoolKind.LE or condition.expr is None:
        return ()
    return (E.ge(condition.expr, -near),)


def _judge(kernel: KernelReport, side: Side, run: Ran, totals: Totals) -> None:
    outcome = run.outcome
    broken = any(d.severity != "note" for d in outcome.diagnostics)
    place = "inside" if side.inside else "outside"
    if outcome.ended is not None and not broken:
        kind, message, span = outcome.ended
        if kind in NOTHING:
            totals.counts[f"{place} {kind}"] += 1
            return
        if kind == "raised" and demands(span, message.partition(":")[0]):
            totals.counts[f"{place} refused"] += 1
            return
        broken = True
    totals.counts[f"{place} {'broken' if broken else 'clean'}"] += 1
    condition = kernel.precondition
    assert condition is not None
    exact = condition.exact or side.inside
    if broken == side.inside and exact and not run.guessed:
        totals.counts["wrong"] += 1
        first = next((d for d in outcome.diagnostics if d.severity != "note"), None)
        what = outcome.ended if first is None else f"{first.rule} in line {first.span.line}"
        totals.wrong.append(
            f"{kernel.path}:{kernel.line}: {kernel.name} on {kernel.target}: {place} of "
            f"`{condition.text}` near `{side.about}`: {what}\n    {run.arguments}"
        )


if __name__ == "__main__":
    sys.exit(main())
