"""What `check` says and what runs do, on random inputs of every TPU fixture.

A kernel that is verified never breaks a rule; a rule that a run breaks was reported as violated,
or as undecided. Runs are on shapes alone. ``TILELINT_DIFFERENTIAL=2000`` sets their number.
"""

from __future__ import annotations

import ast
import os
import random
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from msgspec.structs import replace

from tests.sweeps import ALL, thinned
from verifier.executor import session, simulate
from verifier.executor.api import Simulation
from verifier.executor.machine import ConcreteMachine, Options
from verifier.executor.running import Outcome, Shaped, TimeIsUpError, Unsized
from verifier.hardware import chips
from verifier.hardware import dtypes as dt
from verifier.report.model import FileRequest, FileResult
from verifier.symbolic.trace import Operation

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
RUNS = int(os.environ.get("TILELINT_DIFFERENTIAL", 50 // thinned(1)))
SIZES = (1, 2, 3, 5, 8, 16, 31, 33, 48, 63, 64, 65, 96, 100, 128, 129, 200, 257, 640, 1500, 4096)
#: sizes that few kernels admit
LARGE = (4097, 20000, 70000)
TARGETS = {"okk": ("bm1684",), "ppl": ("bm1684x", "sg2260e", "bm1690")}
#: Python errors at the places of host rules
RAISED = {
    "ZeroDivisionError": "division-by-zero",
    "IndexError": "list-index",
    "UnboundLocalError": "unbound-name",
}
#: operations of one run; the rules look at each together with those before it
LONGEST = 600 if ALL else 150
NEEDED = " (needed, not said)"


@dataclass(frozen=True)
class Kernel:
    """A kernel of a fixture: its inputs by name, and what its contract says of them."""

    path: Path
    name: str
    numbers: tuple[str, ...]
    reals: tuple[str, ...]
    buffers: tuple[str, ...]
    #: parameter -> symbol; parameter -> (dtype, extents as text)
    symbols: dict[str, str] = field(default_factory=dict, hash=False)
    shapes: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict, hash=False)
    where: tuple[str, ...] = ()
    target: str = ""

    @property
    def dialect(self) -> str:
        return self.path.parent.parent.name


@dataclass(frozen=True)
class Draw:
    kernel: Kernel
    target: str
    arguments: dict[str, Any]
    grid: tuple[int, ...]

    def __str__(self) -> str:
        place = self.kernel.path.relative_to(FIXTURES)
        return f"{place} {self.target} {self.arguments} grid {self.grid}"


def _parameters(tree: ast.Module, function: ast.FunctionDef) -> dict[str, str]:
    """The inputs with their annotations: the fields of a structure, or the parameters."""
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and decorator.args:
            given = decorator.args[0]
            if isinstance(given, ast.Name) and given.id in classes:
                return {
                    item.target.id: ast.unparse(item.annotation)
                    for item in classes[given.id].body
                    if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
                }
    return {
        arg.arg: ast.unparse(arg.annotation) if arg.annotation is not None else ""
        for arg in function.args.args
    }


def _split(text: str) -> list[str]:
    """Parts between commas that stand in no bracket."""
    parts, depth, start = [], 0, 0
    for position, letter in enumerate(text):
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    return [part.strip() for part in (*parts, text[start:]) if part.strip()]


def kernels_of(path: Path) -> list[Kernel]:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    lines = text.splitlines()
    first = re.match(r"# fixture:.*\btarget=(\w+)", text)
    found = []
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef) or not node.decorator_list:
            continue
        parameters = _parameters(tree, node)
        contract = ""
        above = node.decorator_list[0].lineno - 2
        if above >= 0 and lines[above].startswith("# tilelint: contract"):
            contract = lines[above].partition("contract")[2].strip()
        inner, _, where = contract.partition(") where ")
        symbols: dict[str, str] = {}
        shapes: dict[str, tuple[str, tuple[str, ...]]] = {}
        for item in _split(inner.strip("()")):
            name, _, value = item.partition(":")
            tensor = re.fullmatch(r"\s*(\w+)\[(.*)\]", value)
            if tensor is not None:
                shapes[name.strip()] = (dt.canonical(tensor[1]) or "", tuple(_split(tensor[2])))
            else:
                symbols[name.strip()] = value.strip()
        buffers = tuple(
            name
            for name, kind in parameters.items()
            if kind.endswith("SystemAddr") or name in shapes or name.endswith("_ptr")
        )
        reals = tuple(
            name
            for name, kind in parameters.items()
            if kind == "float" or name in ("scale", "epsilon", "low", "high")
        )
        reals = tuple(name for name in reals if name not in buffers)
        numbers = tuple(n for n in parameters if n not in buffers and n not in reals)
        found.append(
            Kernel(
                path,
                node.name,
                numbers,
                reals,
                buffers,
                symbols,
                shapes,
                tuple(_split(where)),
                first[1] if first else "",
            )
        )
    return found


KERNELS = [
    kernel
    for dialect in ("okk", "ppl")
    for folder in ("good", "bad")
    for path in sorted((FIXTURES / dialect / folder).glob("*.py"))
    for kernel in kernels_of(path)
]


def _value(text: str, names: Mapping[str, Any]) -> int:
    known = {"__builtins__": {"min": min, "max": max}, **{name: name for name in dt.CODES}}
    return int(eval(text, known, dict(names)))


def drawn(number: int) -> Draw | None:
    """The inputs of one run; None if the kernel's contract does not admit them."""
    rng = random.Random(f"tilelint {number}")
    kernel = KERNELS[number % len(KERNELS)]
    arguments: dict[str, Any] = {}
    names: dict[str, int] = {}
    sizes = SIZES if rng.random() < 0.9 else (*SIZES, *LARGE)
    limit = rng.choice((6, 14, len(sizes)))
    for name in kernel.numbers:
        value = rng.choice(sizes[:limit])
        if rng.random() < 0.1:
            value = value * 64
        symbol = kernel.symbols.get(name, "")
        bounds = re.fullmatch(r"(-?\d+)\.\.(-?\d+)", symbol)
        if bounds is not None:
            value = min(max(value, int(bounds[1])), int(bounds[2]))
        elif symbol.isidentifier():
            value = names.setdefault(symbol, value)
        arguments[name] = names[name] = value
    for name in kernel.reals:
        arguments[name] = 0.5
    for _, extents in kernel.shapes.values():
        for extent in extents:
            if extent.isidentifier() and extent not in names:
                names[extent] = rng.choice(SIZES)
    try:
        if not all(_value(condition, names) for condition in kernel.where):
            return None
        kind = "uint8" if kernel.dialect == "okk" else rng.choice(("float16", "float32"))
        for name in kernel.buffers:
            if name in kernel.shapes:
                dtype, extents = kernel.shapes[name]
                arguments[name] = Shaped(dtype, tuple(_value(e, names) for e in extents))
            else:
                arguments[name] = Unsized(kind)
    except (NameError, SyntaxError, TypeError, ZeroDivisionError):
        return None
    target = kernel.target or rng.choice(TARGETS[kernel.dialect])
    chip = chips.find(target)
    assert chip is not None
    cores = rng.randint(1, chip.cores)
    grid = (1, cores) if kernel.dialect == "ppl" else ()
    return Draw(kernel, target, arguments, grid)


@cache
def checked(path: Path, target: str) -> FileResult:
    from verifier.engine import analyze_file

    return analyze_file(FileRequest(str(path), (str(path.parent),), (target,), None, timeout=60.0))


@cache
def simulation(path: Path, kernel: str, target: str) -> Simulation:
    return simulate(f"{path}::{kernel}", target)


def performed(draw: Draw) -> Outcome:
    made = simulation(draw.kernel.path, draw.kernel.name, draw.target)
    shapes = Options(shapes_only=True)
    run = Simulation(made.kernel, made.target, made.api_version, shapes, draw.grid)

    def bounded(machine: ConcreteMachine, operation: Operation) -> None:
        if machine.performed >= LONGEST:
            raise TimeIsUpError("the loops of this input are too long")
        real(machine, operation)

    real = session._LANES.execute
    with patch.object(session, "_LANES", replace(session._LANES, execute=bounded)):
        return run.outcome(**draw.arguments)


def outside(draw: Draw, assumptions: tuple[str, ...]) -> bool:
    """Whether an input lacks what the verdict says it needs although the kernel does not say it."""
    names = {k: v for k, v in draw.arguments.items() if isinstance(v, (int, Shaped, Unsized))}
    needed = [a.removesuffix(NEEDED) for a in assumptions if a.endswith(NEEDED)]
    return any(not _value(text, names) for text in needed)


def judged(draw: Draw, outcome: Outcome, result: FileResult | None = None) -> tuple[str, str]:
    """What became of a run, and what is wrong between it and the check (empty: nothing)."""
    broken = next((d.rule for d in outcome.diagnostics if d.severity == "error"), None)
    if broken is None and outcome.ended is not None:
        kind, message, _ = outcome.ended
        raised = message.partition(":")[0]
        if kind != "raised" or raised not in RAISED:
            refused = kind == "misuse" or raised == "AssertionError"
            return ("refused" if refused else f"{kind} {message}"), ""
        broken = RAISED[raised]
    if broken is None:
        return "clean", ""
    result = result or checked(draw.kernel.path, draw.target)
    kernel = next(k for k in result.kernels if k.name == draw.kernel.name)
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
        number += thinned(1)  # of as many kernels
        assert number < 50 * RUNS, f"too few inputs are admitted: {seen}"
        if draw is None:
            continue
        what, problem = judged(draw, performed(draw))
        seen[what] += 1
        if problem:
            wrong.append(problem)
    assert wrong == []
    assert seen["clean"] > RUNS // 5 and seen["violated"] > RUNS // 20, seen


def test_a_wrong_verdict_would_show() -> None:
    """The comparison sees a rule that was not reported, and a kernel wrongly called verified."""
    kernel = next(k for k in KERNELS if k.path.stem == "tall_image")
    sizes = {"channels": 1, "height": 235, "width": 279}
    draw = Draw(
        kernel,
        "bm1684",
        {**sizes, **{name: Unsized("uint8") for name in kernel.buffers}},
        (),
    )
    outcome = performed(draw)
    result = checked(kernel.path, "bm1684")
    assert judged(draw, outcome, result) == ("violated", "")
    silent = replace(result, diagnostics=())
    assert "okk-local-extent is not among []" in judged(draw, outcome, silent)[1]
    kernels = tuple(replace(each, status="verified") for each in result.kernels)
    assert "verified, but breaks" in judged(draw, outcome, replace(result, kernels=kernels))[1]
