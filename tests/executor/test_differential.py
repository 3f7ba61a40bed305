"""What `check` says and what runs do, on random inputs of every fixture.

- A kernel that is verified never breaks a rule, and raises nothing but its own assertions.
- A rule that a run breaks was reported there as violated, or as undecided.
- A rule that is broken by every input is broken by every run.
- A run on shapes alone comes to what a run on numbers comes to (some of the small ones).

``TILELINT_DIFFERENTIAL=20000`` sets the number of runs that count: those that the kernel's own
assertions refuse, and those that are too large, are counted apart and printed.
"""

from __future__ import annotations

import ast
import math
import os
import random
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tests.executor.cases import BAD, GOOD, OTHERS, Case
from tests.oracles import agreement
from tests.oracles.agreement import gist
from tests.sweeps import thinned
from verifier.executor import simulate
from verifier.executor.api import Simulation, load_kernel
from verifier.executor.loader import generation_of
from verifier.executor.machine import Options
from verifier.executor.programs import Plans
from verifier.executor.running import Outcome, Shaped
from verifier.executor.session import Session, using
from verifier.executor.worker import drawn as random_tensor
from verifier.hardware import targets
from verifier.report.model import FileRequest, FileResult

NKI = Path(__file__).resolve().parents[2] / "fixtures" / "nki"
RUNS = int(os.environ.get("TILELINT_DIFFERENTIAL", 50 // thinned(1)))
#: the runs are done in so many tests, for as many processors
PARTS = 2 if RUNS > 1000 else 1
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
DTYPES = (
    "float32",
    "bfloat16",
    "float16",
    "int32",
    "uint32",
    "int16",
    "uint8",
    "int8",
    "float8_e4m3",
    "float8_e5m2",
)
#: elements of the arguments of one run
MOST = 1 << 23

WIDE = Shaped("bfloat16", (128, 640))

#: elements of the arguments of a run that is done on numbers as well; one of so many is
SMALL, NUMBERS = 1 << 17, 8

CASES = [("good", case) for case in GOOD]
CASES += [("good" if case.made_by else "bad", case) for case in OTHERS]
CASES += [("bad", case) for case in BAD]


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
def constants(path: Path) -> tuple[int, ...]:
    """The numbers in a file, and those beside them: where its behaviour changes."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = {
        n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and type(n.value) is int
    }
    near = {c + d for c in found if 1 < c < 70_000 for d in (-1, 0, 1)}
    return tuple(sorted(near | {2 * c for c in found if 1 < c < 4096}))


@cache
def checked(path: Path, target: str) -> FileResult:
    from verifier.engine import analyze_file

    return analyze_file(
        FileRequest(str(path), (str(path.parent),), (target,), generation(path), timeout=60.0)
    )


@cache
def simulation(path: Path, kernel: str, target: str, made_by: tuple[Any, ...]) -> Simulation:
    api = generation(path)
    if made_by:
        hardware = targets.find(target)
        assert hardware is not None
        api = api or generation_of(path)
        maker = load_kernel(path, made_by[0], hardware, api)
        with using(Session(hardware, api)):
            return simulate(maker.function(*made_by[1:]), target, api)
    return simulate(f"{path}::{kernel}", target, api)


def drawn(number: int) -> Draw:
    """The inputs of one run: sizes that are equal in the case stay equal, mostly."""
    rng = random.Random(f"tilelint {number}")
    folder, case = CASES[number % len(CASES)]
    path = path_of(folder, case)
    base = BASES[number % len(CASES)]
    sizes: dict[int, int] = {}
    dtypes: dict[str, str] = {}
    arguments: dict[str, Any] = {}
    bold = rng.choice((0.15, 0.4, 0.8))

    def size(old: int) -> int:
        if old not in sizes:
            near = (old - 1, old + 1, old * 2, old * 3, old // 2, old + 128, old + 512)
            new = rng.choice(rng.choice((SIZES, near, near, constants(path) or near)))
            sizes[old] = max(1, new) if rng.random() < bold else old
        return sizes[old]

    for name, value in base.items():
        if isinstance(value, Shaped):
            dtype = value.dtype
            if dtype not in dtypes:
                changed = rng.random() < bold / 2
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


def elements(draw: Draw) -> int:
    tensors = [v for v in draw.arguments.values() if isinstance(v, Shaped)]
    return sum(math.prod(t.shape) for t in tensors)


def performed(draw: Draw, numbers: bool = False) -> Outcome:
    """The run, on shapes or on random numbers."""
    case = draw.case
    made = simulation(path_of(draw.folder, case), case.kernel, draw.target, case.made_by)
    arguments = draw.arguments
    if numbers:
        rng = np.random.default_rng(0)
        arguments = {
            name: random_tensor(rng, v.dtype, v.shape) if isinstance(v, Shaped) else v
            for name, v in arguments.items()
        }
    return Simulation(
        made.kernel,
        made.target,
        made.api_version,
        Options(shapes_only=not numbers),
        draw.grid,
        Plans() if numbers else made.plans,
    ).outcome(**arguments)


def judged(draw: Draw, outcome: Outcome, result: FileResult | None = None) -> tuple[str, str]:
    """What became of a run, and what is wrong between it and the check (empty: nothing)."""
    if agreement.refused(outcome):
        return "refused", ""
    result = result or checked(path_of(draw.folder, draw.case), draw.target)
    kernel = next(k for k in result.kernels if k.name == draw.case.kernel)
    said = [d for d in result.diagnostics if d.kernel == kernel.name]
    return agreement.judged(outcome, kernel, said, draw.arguments, draw)


@pytest.mark.parametrize("part", range(PARTS))
def test_runs_agree_with_the_check(part: int, capsys: pytest.CaptureFixture[str]) -> None:
    wrong: list[str] = []
    seen: Counter[str] = Counter()
    number = part
    while seen["clean"] + seen["violated"] < RUNS // PARTS:
        draw = drawn(number)
        number += PARTS * thinned(1)  # of as many cases
        seen["inputs"] += 1
        assert seen["inputs"] < 20 * RUNS, f"too few inputs are admitted: {seen}"
        if elements(draw) > MOST:
            seen["large"] += 1
            continue
        outcome = performed(draw)
        what, problem = judged(draw, outcome)
        seen[what] += 1
        if problem:
            wrong.append(problem)
        if elements(draw) <= SMALL and seen["inputs"] % NUMBERS == 0:
            seen["numbers"] += 1
            other = performed(draw, numbers=True)
            if gist(other) != gist(outcome):
                wrong.append(f"{gist(outcome)} on shapes, {gist(other)} on numbers: {draw}")
    with capsys.disabled():
        print(f"\n{dict(sorted(seen.items()))}")
    assert wrong == []
    runs = RUNS // PARTS
    assert seen["clean"] > runs // 5 and seen["violated"] > runs // 20, seen
    unsaid = seen["undecided"] + seen["outside"] + seen["excluded"]
    assert unsaid <= runs // 50, seen


def test_a_wrong_verdict_would_show() -> None:
    """The comparison sees a rule that was not reported, and a kernel wrongly called verified."""
    number = next(n for n, (_, case) in enumerate(CASES) if case.file == "matmul_into_sbuf")
    folder, case = CASES[number]
    draw = Draw(folder, case, case.target, BASES[number], case.grid)
    outcome = performed(draw)
    result = checked(path_of(folder, case), case.target)
    assert judged(draw, outcome, result) == ("violated", "")
    silent = replace(result, diagnostics=())
    assert "is not among []" in judged(draw, outcome, silent)[1]
    kernels = tuple(replace(kernel, status="verified") for kernel in result.kernels)
    assert "verified, but breaks" in judged(draw, outcome, replace(result, kernels=kernels))[1]


def test_every_fixture_has_its_runs() -> None:
    run = {(folder, case.file) for folder, case in CASES}
    for folder in ("good", "bad"):
        files = {p.stem for p in (NKI / folder).glob("*.py") if "jit" in p.read_text("utf-8")}
        assert files == {file for where, file in run if where == folder}
