"""An instruction is added by one description and its meaning: nothing else changes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent

DESCRIPTION = """
FROBNICATE: Final = Instruction(
    name="isa.frobnicate",
    summary="dst = src with the elements of each partition in reverse order, times factor",
    signatures={"0.3": "dst*, src*, factor=1.0, op=None, name=None"},
    roles=(
        tile("dst", on_chip("NKI-BUF14")),
        tile(
            "src",
            on_chip("NKI-BUF14"),
            shape=Streams("dst", "NKI-CPY01"),
            dtypes=Types(FP32, "float32", "NKI-E03"),
        ),
        operator("op"),
    ),
    engines=Engines("vector"),
    operators=(admits("op", words("add multiply"), "NKI-T14"),),
    footprint=Footprint(reads=(folded("src"),), writes=written("dst")),
)
"""

MEANING = """

@semantics("isa.frobnicate")
def frobnicate(op: Operation, io: IO) -> None:
    put(io, "dst", reading(io, "src")[:, ::-1] * np.float32(io.scalar("factor")))
"""

KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    assert x.shape == (64, 8) and x.dtype == nl.{dtype}
    out = nl.ndarray((64, 8), dtype=x.dtype, buffer=nl.shared_hbm)
    held = nl.ndarray((64, 8), dtype=x.dtype, buffer=nl.sbuf)
    turned = nl.ndarray((64, {columns}), dtype=x.dtype, buffer=nl.sbuf)
    {load}
    nisa.frobnicate(dst=turned, src={source}{more})
    nisa.dma_copy(dst=out, src=turned{part})
    return out
"""
GOOD = {
    "dtype": "float32",
    "columns": "8",
    "load": "nisa.dma_copy(dst=held, src=x)",
    "source": "held",
    "more": "",
    "part": "",
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program with one instruction more."""
    top = tmp_path_factory.mktemp("program")
    for name in ("verifier", "rules"):
        shutil.copytree(ROOT / name, top / name, ignore=shutil.ignore_patterns("__pycache__"))
    described = top / "verifier/dialects/nki/isa/reductions.py"
    text = described.read_text(encoding="utf-8")
    head, mark, tail = text.partition("\nINSTRUCTIONS: Final = (\n")
    described.write_text(f"{head}\n{DESCRIPTION}{mark}    FROBNICATE,\n{tail}", encoding="utf-8")
    meant = top / "verifier/executor/semantics/elementwise.py"
    meant.write_text(meant.read_text(encoding="utf-8") + MEANING, encoding="utf-8")
    return top


def ran(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=False,
    )


def rules_of(tree: Path, tmp_path: Path, **changes: str) -> set[str]:
    """The rules that the kernel breaks."""
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL.format(**{**GOOD, **changes}), encoding="utf-8")
    found = ran(tree, "-m", "verifier", "check", "--no-cache", "--format", "json", str(path))
    report: dict[str, Any] = json.loads(found.stdout)
    return {item["rule"] for item in report["diagnostics"] if item["severity"] == "error"}


@pytest.mark.parametrize(
    ("changes", "rules"),
    [
        ({}, set()),
        ({"more": ", speed=3"}, {"api-signature"}),
        ({"source": "x"}, {"operand-buffers"}),
        ({"dtype": "bfloat16"}, {"operand-dtype"}),
        ({"columns": "16", "part": "[:, 0:8]"}, {"free-size-mismatch"}),
        ({"more": ", op=nl.divide"}, {"operator-kind"}),
        ({"load": "nisa.dma_copy(dst=held[:, 0:4], src=x[:, 0:4])"}, {"uninitialised-read"}),
    ],
    ids=["good", "signature", "memory", "dtype", "shape", "operator", "undefined"],
)
def test_it_is_checked(
    tree: Path, tmp_path: Path, changes: dict[str, str], rules: set[str]
) -> None:
    assert rules_of(tree, tmp_path, **changes) == rules


def test_it_runs(tree: Path, tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL.format(**{**GOOD, "more": ", factor=2.0"}), encoding="utf-8")
    program = (
        "import numpy as np\n"
        "from verifier.executor import simulate\n"
        "x = np.arange(512, dtype=np.float32).reshape(64, 8)\n"
        f"found = simulate({f'{path}::kernel'!r})(x)\n"
        "assert np.array_equal(found, x[:, ::-1] * 2), found\n"
    )
    done = ran(tree, "-c", program)
    assert done.returncode == 0, done.stderr


def test_it_is_offered_while_it_is_written(tree: Path) -> None:
    program = (
        "from verifier.engine.functions import offered\n"
        "found = offered('import nki.isa as nisa', 'nisa.frob', 9)\n"
        "print([(each.name, each.parameters) for each in found])\n"
    )
    done = ran(tree, "-c", program)
    assert "[('frobnicate', '(dst, src, factor=1.0, op=None, name=None)')]" in done.stdout


def test_rules_that_enforce_its_facts_list_it(tree: Path) -> None:
    program = (
        "from verifier.rulebase import all_rules\n"
        "print([rule.id for rule in all_rules() if 'isa.frobnicate' in rule.operations])\n"
    )
    done = ran(tree, "-c", program)
    for rule in ("operand-buffers", "operand-dtype", "operator-kind", "free-size-mismatch"):
        assert f"'{rule}'" in done.stdout
