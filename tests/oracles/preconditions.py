"""Kernels near the edge of their preconditions: ``python -m tests.oracles.preconditions PATH``.

For each kernel whose precondition is known, a solver finds a few inputs that meet it, and a few
that break one of its conditions; from these on others are made to where a condition starts or
ceases to hold, and beside there. The executor runs them on shapes alone. An input that
meets a sufficient precondition must run in order; one that breaks an exact one must not. What
users read must say the same of each input. Exit status 1 if a run disagrees.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, zip_longest
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.oracles.admitted import NOTHING, Totals, options_of, reported, request_of, traced
from tests.oracles.agreement import UNJUDGED, demands
from tests.oracles.drawing import Inputs, constants, elements
from tests.oracles.executing import Job, Ran, ran
from tests.oracles.nearby import Bounds, Side, Walk
from verifier import rulebase
from verifier.dialects.registry import DIALECTS
from verifier.engine import analyze_file, diagnostics, obligations
from verifier.engine.precondition import Conditions
from verifier.engine.verdicts import Discharger
from verifier.executor.running import Shaped
from verifier.hardware import catalogue
from verifier.hardware import dtypes as dt
from verifier.report.model import KernelReport, Precondition, Structure
from verifier.solver.solver import Solver
from verifier.source.files import collect
from verifier.symbolic.python.entry import Run

#: of the inputs of a kernel, how many a solver finds; seconds of this process for them
_SOLVED, _DRAW = 12, 15.0
#: seconds of one run, and of all runs of a kernel
_RUN, _ALL = 4.0, 600.0
#: how runs end that had too much to do
_TOO_LARGE = ("time", "memory")
#: inputs that are run before others are drawn, and as many of them as are wanted: runs may end
#: without an answer
_BATCH, _MORE = 100, 3


@dataclass(slots=True)
class Told:
    """What the runs of a kernel came to."""

    kernel: KernelReport
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    @property
    def condition(self) -> Precondition:
        """What is promised of the kernel."""
        assert self.kernel.precondition is not None
        return self.kernel.precondition

    @property
    def runs(self) -> int:
        """Those that say whether the precondition is right."""
        return self.answers("inside") + self.answers("outside")

    def answers(self, place: str) -> int:
        """The same on one side."""
        return self.counts[f"{place} clean"] + self.counts[f"{place} broken"]

    def judge(self, side: Side, given: Mapping[str, Any], run: Ran) -> None:
        """Judge a run, and what is said of its input."""
        said = read_as(self.condition, given, run.arguments)
        if said is not None and said is not side.inside:
            self._wrong(side, "its text says otherwise", run)
        self.counts["texts read"] += said is not None
        place, outcome = "inside" if side.inside else "outside", run.outcome
        told = [*outcome.diagnostics, *(() if side.inside else outcome.doubts)]
        first = next((d for d in told if d.severity != "note"), None)
        if outcome.ended is not None and first is None:
            kind, message, span = outcome.ended
            refused = kind == "raised" and demands(span, message.partition(":")[0])
            if kind in NOTHING or refused:
                self.counts[f"{place} {'refused' if refused else kind}"] += 1
                return
        broken = first is not None or outcome.ended is not None
        if broken == side.inside and (self.condition.exact or side.inside):
            if run.guessed or (not broken and run.lost):
                self.counts[f"{place} not sure"] += 1
                return
            what = outcome.ended if first is None else f"{first.rule} in line {first.span.line}"
            self._wrong(side, str(what), run)
        self.counts[f"{place} {'broken' if broken else 'clean'}"] += 1

    def _wrong(self, side: Side, what: str, run: Ran) -> None:
        self.counts["wrong"] += 1
        why = f"outside as not `{side.broken}`" if side.broken else "inside"
        self.wrong.append(f"{why}: {what}\n    {run.arguments}")

    def __str__(self) -> str:
        kernel = self.kernel
        counts = ", ".join(f"{count} {what}" for what, count in sorted(self.counts.items()))
        where = f"{kernel.path}:{kernel.line}: {kernel.name} on {kernel.target}"
        return f"{where}: {self.runs} runs ({counts or 'no inputs'}) of `{self.condition.text}`"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = options_of("python -m tests.oracles.preconditions", 40)
    parser.add_argument(
        "--kernels", type=int, metavar="N", help="until so many had all runs, one of a file"
    )
    options = parser.parse_args(arguments)
    most = None if options.kernels is None else 1
    totals, found = Totals(), list[Told]()
    for file, root in _files(options.paths, None if most is None else options.seed):
        for told in disagreements(file, root, options.runs, options.seed, totals, most):
            found.append(told)
            print(told, *told.wrong, sep="\n  ", flush=True)
        if sum(told.runs >= options.runs for told in found) == options.kernels:
            break
    whole = sum(told.runs >= options.runs for told in found)
    print(f"{len(found)} kernels, {whole} of them with {options.runs} runs")
    print("  ".join(f"{name}: {count}" for name, count in sorted(totals.counts.items())))
    return 1 if totals.wrong else 0


def _files(paths: Sequence[Path], seed: int | None) -> Iterator[tuple[Path, Path]]:
    """The files and where their imports are looked up; mixed, one path after the other, where there
    is a seed."""
    found = []
    for path in paths:
        files = [(file, path if path.is_dir() else path.parent) for file in collect([path])]
        if seed is not None:
            random.Random(seed).shuffle(files)
        found.append(files)
    if seed is None:
        yield from chain(*found)
    for turn in zip_longest(*found) if seed is not None else ():
        yield from filter(None, turn)


def disagreements(
    file: Path, root: Path, runs: int, seed: int, totals: Totals, most: int | None = None
) -> Iterator[Told]:
    """What runs of a file's kernels, at ``most`` so many of them, say of their preconditions."""
    request = request_of(file, root)
    for project, entry, kernel in reported(request, analyze_file(request), DIALECTS):
        condition = kernel.precondition
        if condition is None or not condition.sufficient or not condition.conjuncts:
            continue
        if most is not None and (most := most - 1) < 0:
            return
        totals.counts["kernels"] += 1
        rng = random.Random(f"{seed} {kernel.name} {kernel.target} {kernel.contract}")
        traced_run, solver = traced(project, entry, kernel)
        walk = _walk(kernel, traced_run, solver, rng)
        told = Told(kernel)
        if _seeds(walk, runs):
            _ask(walk, diagnostics.structures(traced_run), runs, told)
        totals.counts.update(told.counts)
        totals.wrong += told.wrong
        yield told


def _walk(kernel: KernelReport, run: Run, solver: Solver, rng: random.Random) -> Walk:
    """The inputs of a kernel, near the bounds of what is found of it once more."""
    target = catalogue.find(kernel.target)
    assert target is not None
    rules = rulebase.of_dialect(kernel.dialect)
    pending = obligations.of_run(run, target, {rule.id for rule in rules}, rules)
    discharger = Discharger(run, solver)
    result = discharger.discharge(pending)
    found = Conditions(run, result.verdicts, solver, discharger.admitted)
    found.gather()
    inputs = Inputs(run, solver, constants(Path(kernel.path)))
    unseen = frozenset(
        item.condition
        for item in found.all
        if {result.verdicts[p].obligation.rule.id for p in item.of} <= UNJUDGED
    )
    said = (*inputs.facts, *discharger.admitted)
    return Walk(inputs, Bounds(said, tuple(item.condition for item in found.all), unseen), rng)


def _seeds(walk: Walk, runs: int) -> bool:
    """Whether the solver finds some inputs to begin with."""
    end = time.process_time() + _DRAW
    while len(walk.pool) < min(runs, _SOLVED) and time.process_time() < end:
        found = walk.seed(walk.rng.choice((4096, 600, 64)))
        if not found and not walk.pool and time.process_time() > end - _DRAW / 2:
            return False
    return bool(walk.pool)


def _ask(walk: Walk, structures: tuple[Structure, ...], runs: int, told: Told) -> None:
    """Run inputs until so many have said something."""
    kernel, condition = told.kernel, told.condition
    place = (kernel.path, kernel.name, kernel.target, kernel.api_version)
    end = time.monotonic() + _ALL
    tried, inside = 0, (runs + 1) // 2 if condition.exact else runs
    while told.runs < runs and tried < _MORE * runs and time.monotonic() < end:
        left = {
            "inside": max(inside - told.answers("inside"), 0),
            "outside": max(runs - inside - told.answers("outside"), 0),
        }
        batch = min(_BATCH, runs - told.runs)
        first = -(-batch * left["inside"] // max(sum(left.values()), 1))
        counts = [{True: first, False: batch - first}, {True: batch, False: 0}]
        if condition.exact:  # else nothing is said of what is outside
            counts.append({True: 0, False: batch})
        drawn = next(filter(None, (list(walk.draw(wanted)) for wanted in counts)), None)
        if drawn is None:
            return
        tried += len(drawn)
        (found,) = ran([Job(*place, tuple(given for _, given in drawn), structures)], _RUN)
        for (side, given), run in zip(drawn, found, strict=True):
            told.judge(side, given, run)
            if run.outcome.ended is not None and run.outcome.ended[0] in _TOO_LARGE:
                walk.most = min(walk.most, elements(given) * 3 // 4)


class _Type(str):
    """An element type as the words of a precondition have it."""

    @property
    def itemsize(self) -> int:
        return dt.ITEMSIZE[dt.CODES[self]]


def _counted(given: Mapping[str, Any], name: str, *axis: int) -> Any:
    return given[f"{name}({', '.join(map(str, axis))})"]


def read_as(
    condition: Precondition, given: Mapping[str, Any], arguments: Mapping[str, Any]
) -> bool | None:
    """What Python says of a precondition's words for an input; None: they speak of more."""
    names: dict[str, Any] = {name: _Type(name) for name in dt.DTYPES}
    names |= {"min": min, "max": max, "len": len, "abs": abs, "bool": bool}
    for counter in ("num_programs", "get_core_num", "get_group_num"):
        names[counter] = partial(_counted, given, counter)
    for name, value in arguments.items():
        shaped = isinstance(value, Shaped)
        names[name] = (
            SimpleNamespace(dtype=_Type(value.dtype), shape=tuple(value.shape)) if shaped else value
        )
        names[name] = _Type(value) if isinstance(value, str) and value in dt.CODES else names[name]
    for tensor, sizes in condition.shapes:
        shape = getattr(names.get(tensor), "shape", ())
        names |= {
            size: shape[axis] for axis, size in enumerate(sizes) if size and axis < len(shape)
        }
    try:
        return all(eval(c.text, {"__builtins__": {}}, dict(names)) for c in condition.conjuncts)
    except (AttributeError, IndexError, KeyError, NameError, SyntaxError, TypeError):
        return None
    except ZeroDivisionError:
        return False


if __name__ == "__main__":
    sys.exit(main())
