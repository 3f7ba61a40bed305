"""What the cache saves: a tree checked cold, again, and after a line in one helper has changed.

    python tests/benchmarks/bench_cache.py DIRECTORY [--helpers 16] [--timeout 10]

The tree is copied, so nothing is changed in place. A helper is a top-level function without a
decorator, drawn at random (the same ones for the same tree); a statement without effect is put
before its last one. Seconds are those of whole processes.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def check(tree: Path, cache: Path, timeout: float) -> tuple[float, str]:
    """Seconds, and the report as JSON."""
    command = [sys.executable, "-m", "verifier", "check", str(tree), "--format", "json"]
    command += ["--timeout", str(timeout), "--cache-dir", str(cache)]
    started = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise SystemExit(done.stderr)
    return time.perf_counter() - started, done.stdout


def helpers(tree: Path) -> list[tuple[Path, ast.FunctionDef]]:
    found = []
    for file in sorted(tree.rglob("*.py")):
        try:
            module = ast.parse(file.read_text(encoding="utf-8"))
        except (SyntaxError, ValueError):
            continue
        for node in module.body:
            if isinstance(node, ast.FunctionDef) and not node.decorator_list:
                found.append((file, node))
    return found


def times(report: str) -> dict[tuple[str, ...], float]:
    """What identifies an analysis of a kernel: the time that it took."""
    document: Any = json.loads(report)
    keys = ("path", "name", "target", "contract")
    return {tuple(str(k[key]) for key in keys): k["time_ms"] for k in document["kernels"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--helpers", type=int, default=16)
    parser.add_argument("--timeout", type=float, default=10.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        tree, cache = Path(name, "tree"), Path(name, "cache")
        shutil.copytree(options.directory, tree)
        cold, first = check(tree, cache, options.timeout)
        warm, second = check(tree, cache, options.timeout)
        same = "the same bytes" if first == second else "OTHER BYTES"
        print(f"cold {cold:.1f} s, warm {warm:.2f} s ({same}), {len(times(first))} kernels")
        before = times(second)
        seconds = []
        drawn = random.Random(5).sample(helpers(tree), options.helpers)
        for file, node in drawn:
            text = file.read_text(encoding="utf-8")
            lines = text.split("\n")
            at = node.body[-1].lineno - 1
            margin = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
            lines.insert(at, f"{margin}changed_here = 1")
            file.write_text("\n".join(lines), encoding="utf-8")
            spent, report = check(tree, cache, options.timeout)
            file.write_text(text, encoding="utf-8")
            again = [key for key, value in times(report).items() if before.get(key) != value]
            seconds.append(spent)
            print(f"{spent:6.2f} s, {len(again)} kernels again: {node.name} in {file.name}")
        quick = sum(value <= 5 for value in seconds)
        print(f"median {statistics.median(seconds):.2f} s; {quick} of {len(seconds)} within 5 s")


if __name__ == "__main__":
    main()
