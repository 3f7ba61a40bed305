"""Kernels on random inputs that they admit: ``python -m tests.oracles.admitted fixtures``.

Every NKI kernel of the files and folders is checked; then the executor runs it on shapes alone,
on inputs for which all holds that the kernel assumes of them. Exit status 1 if a run disagrees
with what the check says.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fixtures.support import settings_of
from tests.oracles.agreement import judged, outside
from tests.oracles.drawing import Inputs, constants
from tests.oracles.executing import Job, Ran, ran
from verifier.configuration.contracts import Contract
from verifier.configuration.grammar import ContractError, parse
from verifier.dialects.names import NKI
from verifier.dialects.registry import DIALECTS
from verifier.engine import analyze_file, diagnostics
from verifier.engine.analysis import project_of
from verifier.engine.contracts import ContractMismatchError, Effect
from verifier.executor.running import Shaped
from verifier.hardware import catalogue
from verifier.report.model import Diagnostic, FileRequest, FileResult, KernelReport
from verifier.solver.solver import Solver
from verifier.source.discovery import KernelEntry, enclosing_functions, kernel_definition, kernels
from verifier.source.files import collect
from verifier.source.inputs import input_names
from verifier.source.project import Project
from verifier.source.text import SourceError
from verifier.symbolic import expr as E
from verifier.symbolic.python.entry import Request, Run, interpreted
from verifier.symbolic.python.inputs import packs

#: seconds to check a kernel, and to draw its inputs
_CHECK, _DRAW = 60.0, 20.0
#: inputs that lack what the verdict needs beyond what the kernel says are drawn again
_AGAIN = 4
#: how runs end that say nothing
NOTHING = ("unsupported", "misuse", "memory", "time", "left", "died")
_COLUMNS: tuple[str, ...] = (
    "kernels",
    "runs",
    "clean",
    "violated",
    "refused",
    "undecided",
    "outside",
)
_COLUMNS += ("excluded", "guessed", "unsupported")


@dataclass(slots=True)
class Totals:
    """What became of the kernels of a path."""

    counts: Counter[str] = field(default_factory=Counter)
    #: kernels without an admitted input, by reason
    empty: Counter[str] = field(default_factory=Counter)
    #: why runs say nothing
    reasons: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Checked:
    """A kernel and what the check says of it."""

    kernel: KernelReport
    said: tuple[Diagnostic, ...]
    job: Job


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = options_of("python -m tests.oracles.admitted", 8)
    parser.add_argument("--timeout", type=float, default=3.0, help="seconds of one run")
    parser.add_argument("--reasons", action="store_true", help="why runs say nothing")
    options = parser.parse_args(arguments)
    rows: list[tuple[str, Totals]] = []
    for path in options.paths:
        totals = Totals()
        rows.append((str(path), totals))
        for file in collect([path]):
            root = path if path.is_dir() else path.parent
            disagreements(file, root, options.runs, options.seed, options.timeout, totals)
        for line in totals.wrong:
            print(line, flush=True)
    print(table(rows))
    if options.reasons:
        for _, totals in rows:
            print(*(f"{n:5} {why}" for why, n in totals.reasons.most_common()), sep="\n")
            print(*(f"{n:5} kernels: {why}" for why, n in totals.empty.most_common()), sep="\n")
    return 1 if any(totals.wrong for _, totals in rows) else 0


def options_of(program: str, runs: int) -> argparse.ArgumentParser:
    """The options of a program that draws so many inputs for each kernel."""
    parser = argparse.ArgumentParser(prog=program)
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    parser.add_argument("--runs", type=int, default=runs, help="of each kernel")
    parser.add_argument("--seed", type=int, default=0, help="of the inputs")
    return parser


def disagreements(
    file: Path, root: Path, runs: int, seed: int, seconds: float, totals: Totals
) -> list[str]:
    """What is wrong between the check of a file and runs of its kernels."""
    request = request_of(file, root)
    result = analyze_file(request)
    groups: dict[tuple[str, str, str], list[Checked]] = {}
    for one in _checked(request, result, runs, seed, totals):
        groups.setdefault((one.job.path, one.job.target, one.job.api), []).append(one)
    before = len(totals.wrong)
    for group in groups.values():
        for one, found in zip(group, ran([one.job for one in group], seconds), strict=True):
            for run in found:
                _count(one, run, totals)
    return totals.wrong[before:]


def request_of(file: Path, root: Path) -> FileRequest:
    """The check of a file, with the target and the generation that its first lines say."""
    file, root = file.resolve(), root.resolve()
    settings = settings_of(file.read_text(encoding="utf-8", errors="replace"))
    folders = (str(file.parent), str(root))
    return FileRequest(str(file), folders, settings.targets, settings.api_version, timeout=_CHECK)


def reported(
    request: FileRequest, result: FileResult, dialects: Collection[str] = (NKI,)
) -> Iterator[tuple[Project, KernelEntry, KernelReport]]:
    """The kernels of a file in some dialects, with what the check says of each."""
    project = project_of(request)
    with suppress(SourceError):
        module = project.module(Path(request.path))
        entries = {(str(e.path), e.line): e for e in kernels(project, module)}
        for kernel in result.kernels:
            entry = entries.get((kernel.path, kernel.line))
            if entry is not None and kernel.dialect in dialects and kernel.status != "error":
                yield project, entry, kernel


def _checked(
    request: FileRequest, result: FileResult, runs: int, seed: int, totals: Totals
) -> Iterator[Checked]:
    """The kernels of a file, each with inputs that it admits."""
    for project, entry, kernel in reported(request, result):
        totals.counts["kernels"] += 1
        job = _job(project, entry, kernel, runs, seed, totals)
        if job is not None:
            targets = ((), (kernel.target,))
            said = (d for d in result.diagnostics if d.kernel == kernel.name)
            yield Checked(kernel, tuple(d for d in said if d.targets in targets), job)


def _job(
    project: Project, entry: KernelEntry, kernel: KernelReport, runs: int, seed: int, totals: Totals
) -> Job | None:
    """The kernel with so many inputs; None if none are found."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, 6000))
    try:
        finished, solver = traced(project, entry, kernel)
        inputs = Inputs(finished, solver, constants(entry.path))
        rng = random.Random(f"{seed} {kernel.name} {kernel.target} {kernel.contract}")
        drawn = []
        end = time.monotonic() + _DRAW
        for _ in range(runs):
            given = inputs.draw(rng)
            for _ in range(_AGAIN):
                if given is None or not outside(_shaped(given), kernel.assumptions):
                    break
                given = inputs.draw(rng)
            if given is None or time.monotonic() > end:
                break
            drawn.append(given)
    except (ContractError, ContractMismatchError, RecursionError, SourceError) as error:
        totals.empty[type(error).__name__] += 1
        return None
    finally:
        sys.setrecursionlimit(before)
    if not drawn:
        totals.empty[f"no input was found for {kernel.path}:{kernel.line}"] += 1
        return None
    run = (kernel.path, kernel.name, kernel.target, kernel.api_version)
    return Job(*run, tuple(drawn), diagnostics.structures(finished))


def _shaped(given: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs as they are drawn, by the names of the parameters."""
    found = {name: value for name, value in given.items() if "." not in name}
    for name, value in given.items():
        parameter, _, part = name.partition(".")
        if part == "shape":
            dtype = str(given.get(f"{parameter}.dtype", "float32"))
            found[parameter] = Shaped(dtype, tuple(value))
    return found


def traced(project: Project, entry: KernelEntry, kernel: KernelReport) -> tuple[Run, Solver]:
    """The symbolic run of a kernel under its contract, and a solver for its terms.

    Raises:
        SourceError: it cannot be read.
        ContractMismatchError: its contract does not fit it.
    """
    module = project.module(entry.path)
    definition = kernel_definition(project, entry)
    assert definition is not None
    enclosing = enclosing_functions(project, entry) if entry.nested else ()
    target = catalogue.find(kernel.target)
    assert target is not None
    E.fresh_context()
    effect: Effect | None = None
    if kernel.contract:
        outer = [e.definition for e in enclosing]
        names = input_names(project, module, definition)
        packed = packs(target, module)
        effect = Effect(_contract(kernel), definition, outer, names, packed)
    request = Request(
        name=entry.name,
        definition=definition,
        module=module,
        enclosing=enclosing,
        pinned=effect.pinned if effect is not None else {},
        grid=effect.grid if effect is not None else None,
        conditions=tuple(effect.conditions) if effect is not None else (),
    )
    solver = Solver(deadline=_CHECK + _DRAW)
    dialect, generation = DIALECTS[entry.dialect].of(kernel.api_version)
    end = time.monotonic() + _CHECK
    found = interpreted(project, dialect, target, generation, request, solver.decide, end)
    return found, solver


def _contract(kernel: KernelReport) -> Contract:
    """The contract that a kernel was checked under; those of comments do not name it."""
    return parse(kernel.contract, comment=kernel.contract.startswith("("))


def _count(one: Checked, run: Ran, totals: Totals) -> None:
    """Judge a run."""
    place = f"{one.kernel.path}:{one.kernel.line}: {one.kernel.name} on {one.kernel.target}"
    what = f"\n    {place} {run.arguments}"
    kind, problem = judged(run.outcome, one.kernel, one.said, run.arguments, what)
    totals.counts["runs"] += 1
    if kind in NOTHING:
        totals.reasons[problem.split("\n")[0]] += 1
        kind, problem = "unsupported", ""
    if problem and run.guessed:
        kind, problem = "guessed", ""
    totals.counts[kind] += 1
    if problem:
        totals.counts["wrong"] += 1
        totals.wrong.append(problem)


def table(rows: Sequence[tuple[str, Totals]]) -> str:
    """The counts of every path, and their sums."""
    columns = (*_COLUMNS, "wrong")
    total: Counter[str] = Counter()
    width = max(len("total"), *(len(name) for name, _ in rows))
    lines = [f"{'':{width}}" + "".join(f" {name:>11}" for name in columns)]
    for name, totals in rows:
        total += totals.counts
        lines.append(_row(name, width, totals.counts))
    return "\n".join([*lines, _row("total", width, total)])


def _row(name: str, width: int, counts: Counter[str]) -> str:
    return f"{name:{width}}" + "".join(f" {counts[c]:11}" for c in (*_COLUMNS, "wrong"))


if __name__ == "__main__":
    sys.exit(main())
