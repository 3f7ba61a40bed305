"""Measures what tilelint promises about speed and prints a table.

Run as ``python tests/benchmarks/bench.py``.

Never part of the tests: numbers depend on the machine. ``TILELINT_CORPUS=<directory of clones>``
adds nki-samples (and its tutorials); Fixit is measured beside it when it is installed.

Every figure is the median of several whole processes, started cold (nothing is cached between
runs) with two worker processes unless ``--jobs`` says otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "fixtures"
CHECK = (sys.executable, "-m", "verifier", "check")

#: The parts of nki-samples that are measured one by one, by folder.
TUTORIALS = {
    "matmul tutorial": "src/nki_samples/tutorials/matrix_multiplication",
    "attention tutorial": "src/nki_samples/tutorials/attention_fwd_performance",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. ``limit`` is the most it may be (or the least, where more is better)."""

    what: str
    value: float
    unit: str
    limit: float | None = None
    least: bool = False
    runs: int = 1

    @property
    def verdict(self) -> str:
        if self.limit is None:
            return ""
        good = self.value >= self.limit if self.least else self.value <= self.limit
        return "ok" if good else "MISSED"


@dataclass(frozen=True, slots=True)
class Sample:
    """One finished process: seconds of wall clock, and the peak of resident memory in MB."""

    seconds: float
    megabytes: float
    out: str


def run(command: Sequence[str]) -> Sample:
    """Run to the end; peak memory is that of the largest process of the run."""
    # A process of its own reports the peak of its children only, whatever ran before.
    probe = (
        "import json, resource, subprocess, sys, time\n"
        "t = time.perf_counter()\n"
        "p = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)\n"
        "s = time.perf_counter() - t\n"
        "m = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss\n"
        "print(json.dumps([s, m, p.returncode, p.stdout.decode()]))\n"
    )
    # without a cache: every run is a first one, of modules that are compiled as when installed
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TILELINT_CACHE_DIR": ""}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, "-S", "-c", probe, *command],
        stdout=subprocess.PIPE,
        env=environment,
        check=True,
    )
    seconds, peak, _, out = json.loads(done.stdout)
    return Sample(seconds, peak / (2**20 if sys.platform == "darwin" else 2**10), out)


def median(command: Sequence[str], runs: int) -> Sample:
    """The run with the median time, with the largest peak of memory."""
    samples = sorted((run(command) for _ in range(runs)), key=lambda sample: sample.seconds)
    middle = samples[len(samples) // 2]
    return Sample(middle.seconds, max(sample.megabytes for sample in samples), middle.out)


def plain_repository(folder: Path, files: int = 2000) -> None:
    """Python files of a usual size without kernels."""
    text = "".join(
        f"def function_{n}(first, second={n}):\n"
        f'    """Adds and compares."""\n'
        f"    total = first + second\n"
        f"    for item in range(total):\n"
        f"        if item % {n + 2} == 0:\n"
        f"            total -= item\n"
        f"    return total\n\n\n"
        for n in range(20)
    )
    for number in range(files):
        package = folder / f"package_{number // 100}"
        package.mkdir(exist_ok=True)
        (package / f"module_{number}.py").write_text(f"import json\n\n\n{text}", encoding="utf-8")


def figures_of(paths: Sequence[Path], jobs: int) -> list[Row]:
    """How obligations were settled, from one run with statistics."""
    command = [*CHECK, *map(str, paths), "--format", "json", "--statistics", "--jobs", str(jobs)]
    report: dict[str, Any] = json.loads(run(command).out)
    counted = report.get("statistics", {})
    tiers: dict[str, int] = counted.get("tiers", {})
    times: dict[str, float] = counted.get("query_ms", {})
    total = sum(tiers.values())
    rows = [Row("obligations", total, "")]
    if total:
        cheap = 100 * sum(n for tier, n in tiers.items() if tier in ("fold", "range")) / total
        rows.append(Row("  settled without Z3", cheap, "%", 85, least=True))
    if times:
        rows.append(Row("  questions to Z3", times["count"], ""))
        rows.append(Row("  Z3 query, median", times["median"], "ms", 15))
        rows.append(Row("  Z3 query, slowest", times["max"], "ms"))
    return rows


def measure(runs: int, jobs: int, note: Callable[[str], None]) -> list[Row]:
    rows: list[Row] = []

    def timed(what: str, command: Sequence[str], limit: float | None, times: int = runs) -> Sample:
        note(what)
        sample = median(command, times)
        rows.append(Row(what, sample.seconds, "s", limit, runs=times))
        return sample

    def check(*paths: Path) -> list[str]:
        return [*CHECK, *map(str, paths), "--format", "json", "--jobs", str(jobs)]

    timed(
        "start-up: tilelint --version",
        [sys.executable, "-m", "verifier", "--version"],
        0.15,
        max(runs, 9),
    )
    fixtures = sorted(FIXTURES.rglob("*.py"))
    if fixtures:
        largest = max(fixtures, key=lambda path: path.stat().st_size)
        timed(f"one fixture: {largest.name}", check(largest), 1.0)
        sample = timed(f"all {len(fixtures)} fixtures", check(FIXTURES), None)
        rows.append(Row("  peak memory", sample.megabytes, "MB", 400))
        rows += figures_of([FIXTURES], jobs)
    with tempfile.TemporaryDirectory() as name:
        plain_repository(Path(name))
        timed("2,000 Python files without kernels", check(Path(name)), 2.0)
    corpus = os.environ.get("TILELINT_CORPUS")
    samples = Path(corpus, "nki-samples") if corpus else None
    if samples is None or not samples.is_dir():
        note("TILELINT_CORPUS is not a directory with nki-samples: its figures are left out")
        return rows
    for what, folder in TUTORIALS.items():
        for path in sorted((samples / folder).glob("*.py")):
            if not path.name.startswith("test_") and b"jit" in path.read_bytes():
                timed(f"{what}: {path.name}", check(path), 1.0)
    whole = timed("nki-samples, whole repository", check(samples), 6.0)
    rows.append(Row("  peak memory", whole.megabytes, "MB", 400))
    rows += figures_of([samples], jobs)
    fixit = shutil.which("fixit", path=f"{Path(sys.executable).parent}{os.pathsep}{os.defpath}")
    if fixit is not None:
        other = timed("nki-samples with Fixit's default rules", [fixit, "lint", str(samples)], None)
        rows.append(Row("  tilelint to Fixit", whole.seconds / other.seconds, "x", 1.0))
    return rows


def table(rows: Sequence[Row]) -> str:
    lines = []
    for row in rows:
        digits = 0 if row.unit == "" else 1 if row.unit in ("%", "MB", "ms") else 3
        bound = ""
        if row.limit is not None:
            bound = f"{'>=' if row.least else '<='} {row.limit:g} {row.unit}".rstrip()
        value = f"{row.value:,.{digits}f} {row.unit}".rstrip()
        lines.append(f"{row.what:<58}{value:>12}   {bound:<11} {row.verdict}".rstrip())
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, default=5, help="runs per figure (median)")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes of each run")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    started = time.perf_counter()
    rows = measure(options.runs, options.jobs, lambda text: print(f"... {text}", file=sys.stderr))
    machine = (
        f"Python {platform.python_version()}, {os.cpu_count()} cores, --jobs {options.jobs}, "
        f"median of {options.runs} runs, {time.perf_counter() - started:.0f} s in all"
    )
    if options.json:
        figures = [{**asdict(row), "verdict": row.verdict} for row in rows]
        print(json.dumps({"machine": machine, "figures": figures}, indent=2))
    else:
        print(f"{table(rows)}\n\n{machine}")
    return 1 if any(row.verdict == "MISSED" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
