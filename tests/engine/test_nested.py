"""Kernels inside other functions: what they close over is input, or follows from input."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from verifier.engine import analyze_file
from verifier.report.model import FileRequest, FileResult

HEAD = "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n\n"


def check(tmp_path: Path, text: str, **options: object) -> FileResult:
    path = tmp_path / "kernel.py"
    path.write_text(HEAD + text, encoding="utf-8")
    result = analyze_file(FileRequest(path=str(path), roots=(str(tmp_path),), **options))  # type: ignore[arg-type]
    assert not result.errors
    return result


MAKER = """
def make(height, width=7):
    assert 1 <= height <= 128
    rows = 3 * height
    if width < 5:
        rows = height

    @nki.jit
    def kernel(x):
        assert x.shape == (rows, 40)
        y = nl.ndarray((height, {columns}), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=y, src=x[rows - height : rows, 0:{columns}])
        out = nl.ndarray((height, {columns}), dtype=x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=out, src=y)
        return out

    return kernel
"""


def test_names_of_the_enclosing_function_are_followed(tmp_path: Path) -> None:
    (kernel,) = check(tmp_path, MAKER.format(columns=40)).kernels
    assert kernel.status == "verified"
    assert "1 <= height <= 128" in kernel.assumptions


def test_counterexamples_name_its_parameters(tmp_path: Path) -> None:
    result = check(tmp_path, MAKER.format(columns=41))
    (finding,) = (d for d in result.diagnostics if d.rule == "slice-bounds")
    assert "x.shape" in finding.counterexample  # type: ignore[operator]
    text = MAKER.format(columns=40).replace("1 <= height <= 128", "1 <= height <= 129")
    extents = [d for d in check(tmp_path, text).diagnostics if d.rule == "partition-extent"]
    assert dict(extents[0].counterexample or {})["height"] == 129


def test_its_own_path_guards_the_kernel(tmp_path: Path) -> None:
    text = MAKER.replace("    @nki.jit", "    if height > 64:\n        return None\n\n    @nki.jit")
    text = text.replace(
        "nl.ndarray((height, {columns}), dtype=x.dtype, buffer=nl.sbuf",
        "nl.ndarray((2 * height, 40), dtype=x.dtype, buffer=nl.sbuf",
    )
    text = text.replace("nisa.dma_copy(dst=y,", "nisa.dma_copy(dst=y[0:height, :],")
    text = text.replace("src=y)", "src=y[0:height, :])")
    (kernel,) = check(tmp_path, text.format(columns=40)).kernels
    assert kernel.status == "verified"


def test_a_contract_may_pin_them(tmp_path: Path) -> None:
    text = MAKER.format(columns=40).replace("    assert 1 <= height <= 128\n", "")
    assert check(tmp_path, text).kernels[0].status == "conditional"
    pinned = check(tmp_path, text, contracts=("make.kernel(height: 96)",))
    assert [k.status for k in pinned.kernels] == ["verified"]


def test_parameters_with_one_name_are_kept_apart(tmp_path: Path) -> None:
    text = MAKER.format(columns=40).replace("def kernel(x)", "def kernel(x, width)")
    text = text.replace("    rows = 3", "    assert width >= 5\n    rows = 3", 1)
    text = text.replace("(rows, 40)", "(3 * height, 40) and width == 2")
    (kernel,) = check(tmp_path, text).kernels
    assert kernel.status == "verified"


def test_methods_and_two_levels(tmp_path: Path) -> None:
    inner = MAKER.format(columns=40).replace("\n", "\n        ")
    text = f"class Builder:\n    def build(self, depth):{inner}\n        return make\n"
    (kernel,) = check(tmp_path, text).kernels
    assert kernel.status == "verified", kernel.reasons


def test_a_definition_that_is_not_reached_is_unknown(tmp_path: Path) -> None:
    text = MAKER.format(columns=40).replace(
        "    rows = 3", "    while elsewhere.waits():\n        pass\n    return\n    rows = 3", 1
    )
    text = f"import elsewhere\n{text}"
    (kernel,) = check(tmp_path, text).kernels
    assert kernel.status == "unknown"
    assert any("does not come to this kernel" in r.message for r in kernel.reasons)


LAUNCHED = """import torch
from body import body

def _few(n):
    return 1 <= n <= 4

def several(kernel, times):
    def run(x):
        for _ in range(times):
            out = kernel(x)
        return out
    return run

def drive(x, times):
    import nki
    assert _few(times)
    flat = x.detach().contiguous()
    return nki.jit(several(body, times))(flat).to(x.device)
"""


def test_a_kernel_may_be_launched_by_a_function_of_another_module(tmp_path: Path) -> None:
    host = tmp_path / "host.py"
    host.write_text(LAUNCHED, encoding="utf-8")
    path = tmp_path / "body.py"
    body = (
        MAKER.format(columns=40).partition("    @nki.jit\n")[2].replace("    return kernel\n", "")
    )
    text = dedent(body).replace("def kernel", "def body").replace("height", "20")
    path.write_text(HEAD + text.replace("rows", "60"), encoding="utf-8")
    result = analyze_file(FileRequest(path=str(host), roots=(str(tmp_path),)))
    (kernel,) = result.kernels
    assert (kernel.name, kernel.status) == ("drive.body", "verified"), kernel.reasons
    assert not result.diagnostics
