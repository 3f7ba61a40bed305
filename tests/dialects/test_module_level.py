"""What a kernel's module and those that it imports did before the kernel runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifier.engine import analyze_file
from verifier.report.model import FileRequest

HEAD = "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n"
KERNEL = """
@nki.jit
def kernel(x{parameters}):
    assert x.shape == (128, 64) and x.dtype == nl.float32
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=x)
    width = 6 // {divisor}
    return out
"""
NOTES = "L = []\ndef note(value):\n    L.append(value)\n    return value\n"

CASES = {
    "a default of the kernel, once": (NOTES, "1 - len(L[1:])", "len(L[1:])", ", n=note(1)"),
    "an annotation of the kernel": (NOTES, "len(L)", "(len(L) - 1)", ", n: note(int) = 1"),
    "an annotation": (f"{NOTES}v: note(int) = 2\n", "len(L)", "(len(L) - 1)", ""),
    "a base": (f"{NOTES}class A(note(object)): pass\n", "len(L)", "(len(L) - 1)", ""),
    "a guard": (
        "try:\n    from math import nothing_here\n    Q = 0\nexcept ImportError:\n    Q = 1\n",
        "Q",
        "(Q - 1)",
        "",
    ),
    "a decorator of another module": (
        "import helper\n@helper.keep\ndef one(): pass\n",
        "len(helper.KEPT)",
        "(len(helper.KEPT) - 1)",
        "",
    ),
    "a loop that fills another module": (
        "import helper\nfor q in range(3):\n    helper.keep(q)\nelse:\n    helper.keep(9)\ndel q\n",
        "len(helper.KEPT)",
        "(helper.KEPT[-1] - 9)",
        "",
    ),
    "a name from before": (
        "from helper import LIMIT\nimport helper\nhelper.LIMIT = 0\n",
        "LIMIT",
        "helper.LIMIT",
        "",
    ),
}
HELPER = "KEPT = []\nLIMIT = 1\ndef keep(value):\n    KEPT.append(value)\n    return value\n"


def status(folder: Path, text: str) -> str:
    (folder / "helper.py").write_text(HELPER)
    path = folder / "kernels.py"
    path.write_text(HEAD + text)
    result = analyze_file(FileRequest(path=str(path), roots=(str(folder),)))
    assert not result.errors
    return result.kernels[0].status


@pytest.mark.parametrize("name", CASES)
def test_a_kernel_finds_what_was_done_before(tmp_path: Path, name: str) -> None:
    before, good, bad, parameters = CASES[name]
    for divisor, expected in ((good, "verified"), (bad, "violated")):
        kernel = KERNEL.format(parameters=parameters, divisor=f"({divisor})")
        assert status(tmp_path, before + kernel) == expected


def test_an_import_that_fails_is_reported(tmp_path: Path) -> None:
    kernel = KERNEL.format(parameters="", divisor="1")
    assert status(tmp_path, kernel) == "verified"
    assert status(tmp_path, "from math import nothing_here\n" + kernel) == "violated"
    assert status(tmp_path, "from helper import nothing_here\n" + kernel) == "violated"
