"""A repository like a team's: packages of kernels with helpers, and far more code without kernels.

    python tests/benchmarks/repository.py FOLDER --files 200

Deterministic. One file in five holds kernels (fixtures of ours); of the rest, a few are helpers
that the kernels import, and most are what surrounds them: 150 to 450 lines of ordinary Python.
"""

from __future__ import annotations

import argparse
import random
import subprocess
from pathlib import Path

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "nki" / "good"

#: kernels in a package, helpers that they import
KERNELS, HELPERS = 8, 2

_GIT = ["git", "-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]


def make(folder: Path, files: int, seed: int = 0) -> None:
    """Write ``files`` Python files, and commit them."""
    rng = random.Random(seed)
    kernels = sorted(file for file in FIXTURES.glob("*.py") if "import nki\n" in file.read_text())
    number = 0
    for package in range(max(files // (5 * KERNELS), 1)):
        home = folder / "src" / f"team{package}"
        home.mkdir(parents=True)
        names = [f"helper{i}" for i in range(HELPERS)]
        exported = "".join(f"from .{name} import ceil_div_{name}\n" for name in names)
        (home / "__init__.py").write_text(exported)
        for name in names:
            (home / f"{name}.py").write_text(helper(name))
        for index in range(KERNELS):
            source = kernels[(package * KERNELS + index) % len(kernels)]
            used = names[index % len(names)]
            text = source.read_text()
            head, mark, tail = text.partition("import nki\n")
            passed_on = f"from . import ceil_div_{used}  # noqa\n"
            direct = f"from .{used} import ceil_div_{used}  # noqa\n"
            extra = passed_on if index % 2 else direct
            (home / source.name).write_text(f"{head}{mark}{extra}{tail}")
        number += 1 + HELPERS + KERNELS
    for index in range(max(files - number, 0)):
        home = folder / "src" / f"library{index % 17}"
        home.mkdir(parents=True, exist_ok=True)
        others = [f"library{i % 17}.part{i}" for i in rng.sample(range(index + 1), min(index, 4))]
        (home / f"part{index}.py").write_text(ordinary(rng, others))
    (folder / "pyproject.toml").write_text('[project]\nname = "team"\nversion = "1"\n')
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "everything")


def helper(name: str) -> str:
    return f'"""Sizes."""\n\n\ndef ceil_div_{name}(a, b):\n    return (a + b - 1) // b\n'


def ordinary(rng: random.Random, others: list[str]) -> str:
    """A module of classes and functions, without a kernel."""
    lines = ['"""One of many."""', "", "import json", "import logging", "from pathlib import Path"]
    lines += [f"from {other} import Step0" for other in others]
    lines += ["", "import numpy as np", "", "log = logging.getLogger(__name__)", ""]
    for index in range(rng.randrange(6, 18)):
        lines += [
            "",
            f"class Step{index}:",
            f'    """The thinking behind step {index}: it is just one of several."""',
            "",
            "    def __init__(self, path: str, size: int = 4) -> None:",
            "        self.path = Path(path)",
            f"        self.size = size * {rng.randrange(100)}",
            "        self.rows: list[dict[str, object]] = []",
            "",
            "    def load(self) -> None:",
            '        for line in self.path.read_text(encoding="utf-8").splitlines():',
            "            if not line.strip() or line.startswith('#'):",
            "                continue",
            "            self.rows.append(json.loads(line))",
            '        log.info("%d rows from %s", len(self.rows), self.path)',
            "",
            "    def summary(self) -> dict[str, float]:",
            '        values = np.array([float(str(row["value"])) for row in self.rows])',
            f'        return {{"mean": float(values.mean()), "p": {rng.random():.3f}}}',
            "",
        ]
    return "\n".join(lines) + "\n"


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder; its output."""
    done = subprocess.run(
        [*_GIT, "-C", str(folder), *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", type=int, default=200)
    chosen = parser.parse_args()
    make(chosen.folder, chosen.files)
