"""Kernels near the edge of their preconditions: ``python -m tests.oracles.preconditions PATH``.

For each kernel whose precondition is known, a solver finds a few inputs that meet it, and a few
that break one of its conditions; from these on one number is moved to where a condition starts or
ceases to hold, and beside there. The executor runs them on shapes alone. An input that
meets a sufficient precondition must run in order; one that breaks an exact one must not. Exit
status 1 if a run disagrees.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.oracles.admitted import NOTHING, Totals, options_of, reported, request_of, traced
from tests.oracles.agreement import UNJUDGED, demands
from tests.oracles.drawing import MOST, Inputs, constants, elements
from tests.oracles.executing import Job, Ran, ran
from verifier import rulebase
from verifier.dialects.registry import DIALECTS
from verifier.engine import analyze_file, diagnostics, obligations
from verifier.engine.precondition import Conditions
from verifier.engine.verdicts import Discharger
from verifier.hardware import catalogue
from verifier.report.model import KernelReport
from verifier.solver.query import Model
from verifier.solver.solver import Solver
from verifier.source.files import collect
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Sym
from verifier.symbolic.pretty import pretty
from verifier.symbolic.python.entry import Run

#: how far from a bound inputs are drawn
_NEAR = (0, 0, 1, 127, 4096)


#: of the inputs of a kernel, how many a solver finds; seconds for them
_SOLVED, _DRAW = 12, 15.0
#: seconds of one run
_RUN = 2.0
#: how far numbers are moved at once, and how often
_STEPS = (1, 1, -1, -1, 2, 32, 64, 128, -128, 512)
_FARTHEST = 1 << 20


@dataclass(frozen=True, slots=True)
class Side:
    """Whether an input meets the precondition, and which conditions it breaks."""

    inside: bool
    broken: str


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
    for project, entry, kernel in reported(request, analyze_file(request), DIALECTS):
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
        (found,) = ran([job], _RUN)
        for (side, _), run in zip(drawn, found, strict=True):
            _judge(kernel, side, run, totals)
    return totals.wrong[before:]


def _drawn(
    run: Run, solver: Solver, kernel: KernelReport, runs: int, rng: random.Random
) -> Iterator[tuple[Side, Mapping[str, Any]]]:
    """Inputs on both sides: some that a solver finds, and from these on others by arithmetic."""
    target = catalogue.find(kernel.target)
    assert target is not None
    rules = rulebase.of_dialect(kernel.dialect)
    pending = obligations.of_run(run, target, {rule.id for rule in rules}, rules)
    discharger = Discharger(run, solver)
    result = discharger.discharge(pending)
    found = Conditions(run, result.verdicts, solver, discharger.admitted)
    found.gather()
    inputs = Inputs(run, solver, constants(Path(kernel.path)))
    bounds = Bounds(
        said=(*inputs.facts, *discharger.admitted),
        types=tuple(item.condition for item in found.dtypes),
        wanted=tuple(item.condition for item in found.items),
        unseen=frozenset(
            item.condition
            for item in found.items
            if {result.verdicts[p].obligation.rule.id for p in item.of} <= UNJUDGED
        ),
    )
    end = time.monotonic() + _DRAW
    models: list[Model] = []
    while len(models) < min(runs, _SOLVED) and time.monotonic() < end:
        inputs.facts = (*bounds.said, *bounds.side(rng))
        model = inputs.model(rng, rng.choice((4096, 600, 64)))
        if model is not None:
            models.append(model)
        elif not models and time.monotonic() > end - _DRAW / 2:
            return
    count, seen = 0, set[str]()
    for model in (*models, *bounds.near(models, inputs.numbers, rng, 20 * runs)):
        side = bounds.of(model)
        given = None if side is None else inputs.given(model)
        if side is None or given is None or elements(given) > MOST or repr(given) in seen:
            continue
        seen.add(repr(given))
        yield side, given
        count += 1
        if count == runs:
            return


@dataclass(frozen=True, slots=True)
class Bounds:
    """The parts of a precondition: what is ``said`` of the inputs before it, which ``types`` and
    what else is ``wanted``; ``unseen``: of these the ones whose breach no run shows."""

    said: tuple[Bool, ...]
    types: tuple[Bool, ...]
    wanted: tuple[Bool, ...]
    unseen: frozenset[Bool]

    def side(self, rng: random.Random) -> tuple[Bool, ...]:
        """What holds on a side that is drawn, near one of the conditions."""
        if not self.wanted:
            return self.types
        condition, near = rng.choice(self.wanted), rng.choice(_NEAR)
        if condition in self.unseen or rng.random() < 0.5:
            return (*self.types, *self.wanted, *_within(condition, near))
        broken = E.not_(condition)
        others = (other for other in self.wanted if other is not condition)
        return (*self.types, *others, broken, *_within(broken, near))

    def of(self, model: Model) -> Side | None:
        """The side of an input; None: it is not admitted, or nothing is said of it."""
        try:
            if not all(E.evaluate(fact, model) for fact in (*self.said, *self.types)):
                return None
            broken = [w for w in self.wanted if not E.evaluate(w, model)]
        except E.EvaluationError:
            return None
        if self.unseen.intersection(broken):
            return None
        return Side(not broken, ", ".join(map(pretty, broken)))

    def near(
        self, models: Sequence[Model], numbers: Sequence[Sym], rng: random.Random, count: int
    ) -> Iterator[Model]:
        """Inputs where a condition starts or ceases to hold along one number, and beside there."""
        for _ in range(count if models and numbers else 0):
            model = dict(rng.choice(models))
            for _ in range(rng.choice((0, 0, 1))):
                other = rng.choice(numbers)
                self._set(model, other, int(model.get(other.name, 1)) + rng.choice(_STEPS))
            number, step = rng.choice(numbers), rng.choice(_STEPS)
            start = int(model.get(number.name, 1))
            turn = 0
            if self.wanted and rng.random() < 0.7:
                turn = self._turn(model, number, step, rng.choice(self.wanted))
            self._set(model, number, start + (turn + rng.choice((-1, 0, 0, 1))) * step)
            yield model

    @staticmethod
    def _set(model: dict[str, int | bool], number: Sym, value: int) -> None:
        low = value if number.lo is None else max(value, number.lo)
        model[number.name] = low if number.hi is None else min(low, number.hi)

    @staticmethod
    def _turn(model: Model, number: Sym, step: int, condition: Bool) -> int:
        """After how many steps a condition is another one than at the beginning; 0: never seen."""

        def holds(steps: int) -> bool | None:
            value = int(model.get(number.name, 1)) + steps * step
            if number.lo is not None and value < number.lo:
                return None
            try:
                return bool(E.evaluate(condition, {**model, number.name: value}))
            except E.EvaluationError:
                return None

        first, low, high = holds(0), 0, 1
        while high < _FARTHEST and holds(high) == first:
            low, high = high, 2 * high
        if holds(high) is None or holds(high) == first:
            return 0
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if holds(middle) == first else (low, middle)
        return high


def _within(condition: Bool, near: int) -> tuple[Bool, ...]:
    """What holds of inputs that are ``near`` to the bound of a comparison."""
    if condition.kind is not E.BoolKind.LE or condition.expr is None:
        return ()
    return (E.ge(condition.expr, -near),)


def _judge(kernel: KernelReport, side: Side, run: Ran, totals: Totals) -> None:
    outcome = run.outcome
    told = [*outcome.diagnostics, *(() if side.inside else outcome.doubts)]
    broken = any(d.severity != "note" for d in told)
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
    if broken == side.inside and exact and not (run.guessed or (broken is False and run.lost)):
        totals.counts["wrong"] += 1
        first = next((d for d in told if d.severity != "note"), None)
        what = outcome.ended if first is None else f"{first.rule} in line {first.span.line}"
        why = f" as not `{side.broken}`" if side.broken else ""
        totals.wrong.append(
            f"{kernel.path}:{kernel.line}: {kernel.name} on {kernel.target}: {place} of "
            f"`{condition.text}`{why}: {what}\n    {run.arguments}"
        )


if __name__ == "__main__":
    sys.exit(main())
