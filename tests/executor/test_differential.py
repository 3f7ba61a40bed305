"""What `check` says and what runs do, on random inputs of every fixture.

A kernel that is verified never breaks a rule; a rule that a run breaks was reported as violated,
or as undecided. Runs are on shapes alone. ``TILELINT_DIFFERENTIAL=20000`` sets their number.
"""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.executor.cases import BAD, GOOD, Case
from verifier.executor import simulate
from verifier.executor.api import Simulation
from verifier.executor.machine import Options
from verifier.executor.running import Outcome, Shaped
from verifier.hardware import dtypes as dt
from verifier.report.model import FileRequest, FileResult

NKI = Path(__file__).resolve().parents[2] / "fixtures" / "nki"
RUNS = int(os.environ.get("TILELINT_DIFFERENTIAL", "500"))
TARGETS = ("trn1", "trn2", "trn3")
SIZES = (
    1,
    2,
    3,
    5,
    8,
    31,
    32,
    33,
    64,
    96,
    127,
    128,
    129,
    200,
    256,
    300,
    384,
    512,
    513,
    640,
    1024,
    2500,
    20000,
    60000,
)
DTYPES = ("float32", "bfloat16", "float16", "int32")
#: elements of the arguments of one run
MOST = 1 << 23

WIDE = Shaped("bfloat16", (128, 640))

NEEDED = " (needed, not said)"

#: Python errors at the places of host rules
RAISED = {
    "KeyError": "missing-key",
    "UnboundLocalError": "unbound-name",
    "NameError": "unbound-name",
    "ZeroDivisionError": "division-by-zero",
    "IndexError": "list-index",
}

CASES = [("good", case) for case in GOOD] + [("bad", case) for case in BAD]


@dataclass(frozen=True)
class Draw:
    folder: str
    case: Case
    target: str
    arguments: dict[str, Any]
    grid: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.folder}/{self.case.file} {self.target} {self.arguments} grid {self.grid}"


def path_of(folder: str, case: Case) -> Path:
    return NKI / folder / f"{case.file}.py"


@cache
def generation(path: Path) -> str | None:
    found = re.match(r"# fixture:.*\bapi=(\S+)", path.read_text(encoding="utf-8"))
    return found[1] if found else None


@cache
def checked(path: Path, target: str) -> FileResult:
    from verifier.engine import analyze_file

    return analyze_file(
        FileRequest(str(path), (str(path.parent),), (target,), generation(path), timeout=60.0)
    )


@cache
def simulation(path: Path, kernel: str, target: str) -> Simulation:
    return simulate(f"{path}::{kernel}", target, generation(path))


def drawn(number: int) -> Draw:
    """The inputs of one run: sizes that are equal in the case stay equal, mostly."""
    rng = random.Random(f"tilelint {number}")
    folder, case = CASES[number % len(CASES)]
    base = BASES[number % len(CASES)]
    sizes: dict[int, int] = {}
    dtypes: dict[str, str] = {}
    arguments: dict[str, Any] = {}
    bold = rng.choice((0.15, 0.4, 0.8))

    def size(old: int) -> int:
        if old not in sizes:
            near = (old - 1, old + 1, old * 2, old // 2, old + 128, old + 512)
            new = rng.choice(SIZES) if rng.random() < 0.5 else rng.choice(near)
            sizes[old] = max(1, new) if rng.random() < bold else old
        return sizes[old]

    for name, value in base.items():
        if isinstance(value, Shaped):
            dtype = value.dtype
            if dtype not in dtypes:
                changed = rng.random() < bold / 2 and not dtype.startswith(("int", "uint"))
                dtypes[dtype] = rng.choice(DTYPES) if changed else dtype
            shape = tuple(size(extent) for extent in value.shape)
            if rng.random() < 0.05:
                shape = (*shape[:-1], rng.choice(SIZES))
            arguments[name] = Shaped(dtypes[dtype], shape)
        elif type(value) is int:
            arguments[name] = rng.choice((value, value, max(0, value - 1), value + 1, value * 2))
        elif type(value) is bool:
            arguments[name] = rng.random() < 0.5
        else:
            arguments[name] = value
    target = case.target if rng.random() < 0.5 else rng.choice(TARGETS)
    return Draw(folder, case, target, arguments, case.grid)


def _base(case: Case) -> dict[str, Any]:
    if case.file == "moving_too_wide":  # takes the width that its file names
        return {**case.make(), "w": Shaped("bfloat16", (128, 96)), "x": WIDE}
    return {
        name: Shaped(value.dtype.name, value.shape) if isinstance(value, np.ndarray) else value
        for name, value in case.make().items()
    }


BASES = [_base(case) for _, case in CASES]


def performed(draw: Draw) -> Outcome | None:
    """The run, or None if it is too large."""
    tensors = [v for v in draw.arguments.values() if isinstance(v, Shaped)]
    if sum(int(np.prod(t.shape)) for t in tensors) > MOST:
        return None
    made = simulation(path_of(draw.folder, draw.case), draw.case.kernel, draw.target)
    shapes = Options(shapes_only=True)
    return Simulation(
        made.kernel, made.target, made.api_version, shapes, draw.grid, made.plans
    ).outcome(**draw.arguments)


def outside(draw: Draw, assumptions: tuple[str, ...]) -> bool:
    """Whether an input lacks what the verdict says it needs although the kernel does not say it."""
    names: dict[str, Any] = {name: name for name in dt.DTYPES}
    for name, value in draw.arguments.items():
        shaped = isinstance(value, Shaped)
        names[name] = SimpleNamespace(dtype=value.dtype, shape=value.shape) if shaped else value
    needed = [a.removesuffix(NEEDED) for a in assumptions if a.endswith(NEEDED)]
    return any(not eval(text, {"__builtins__": {}}, names) for text in needed)


def judged(draw: Draw, outcome: Outcome, result: FileResult | None = None) -> tuple[str, str]:
    """What became of a run, and what is wrong between it and the check (empty: nothing)."""
    broken = next((d.rule for d in outcome.diagnostics if d.severity != "note"), None)
    if broken is None and outcome.ended is not None:
        kind, message, _ = outcome.ended
        raised = message.partition(":")[0]
        if kind != "raised" or raised not in RAISED:
            refused = kind == "misuse" or raised == "AssertionError"
            return ("refused" if refused else kind), ""
        broken = RAISED[raised]
    if broken is None:
        return "clean", ""
    result = result or checked(path_of(draw.folder, draw.case), draw.target)
    kernel = next(k for k in result.kernels if k.name == draw.case.kernel)
    if outside(draw, kernel.assumptions):
        return "outside", ""
    if kernel.status == "verified":
        return "violated", f"verified, but breaks {broken}: {draw}"
    reported = {d.rule for d in result.diagnostics if d.kernel == kernel.name}
    if broken not in reported and kernel.status != "unknown":
        return "violated", f"{broken} is not among {sorted(reported)}: {draw}"
    return "violated", ""


def test_runs_agree_with_the_check() -> None:
    wrong: list[str] = []
    seen: Counter[str] = Counter()
    number = 0
    while seen["clean"] + seen["violated"] < RUNS:
        draw = drawn(number)
        number += 1
        assert number < 20 * RUNS, f"too few inputs are admitted: {seen}"
        outcome = performed(draw)
        if outcome is None:
            continue
        what, problem = judged(draw, outcome)
        seen[what] += 1
        if problem:
            wrong.append(problem)
    assert wrong == []
    assert seen["clean"] > RUNS // 5 and seen["violated"] > RUNS // 20, seen


def test_a_wrong_verdict_would_show() -> None:
    """The comparison sees a rule that was not reported, and a kernel wrongly called verified."""
    number = next(n for n, (_, case) in enumerate(CASES) if case.file == "matmul_into_sbuf")
    folder, case = CASES[number]
    draw = Draw(folder, case, case.target, BASES[number], case.grid)
    outcome = performed(draw)
    assert outcome is not None
    result = checked(path_of(folder, case), case.target)
    assert judged(draw, outcome, result) == ("violated", "")
    silent = replace(result, diagnostics=())
    assert "matmul-operand-buffers is not among []" in judged(draw, outcome, silent)[1]
    kernels = tuple(replace(kernel, status="verified") for kernel in result.kernels)
    assert "verified, but breaks" in judged(draw, outcome, replace(result, kernels=kernels))[1]
