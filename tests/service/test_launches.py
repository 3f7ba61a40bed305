"""Launches that a file shows are held against the preconditions of their kernels."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifier.cli.runner import RunOptions, run
from verifier.configuration.model import Overrides
from verifier.configuration.settings import Configurations
from verifier.engine.launches import RULE
from verifier.report.model import Diagnostic
from verifier.rulebase import find

DOCUMENTED = find(RULE)
assert DOCUMENTED is not None

KERNELS = """\
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import torch
import jax.numpy as jnp
import pytest


@nki.jit
def rows(src, scale=1.0):
    P, F = src.shape
    assert F == 96
    dst = nl.ndarray((P, F), dtype=src.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((P, F), dtype=src.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=src)
    nisa.dma_copy(dst=dst, src=tile)
    return dst


@nki.jit
def parts(src):
    F = src.shape[1]
    assert src.shape[0] == 256 and F == 96
    dst = nl.ndarray((256, F), dtype=src.dtype, buffer=nl.shared_hbm)
    at = nl.program_id(0) * 128
    tile = nl.ndarray((128, F), dtype=src.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=src[at : at + 128, :])
    nisa.dma_copy(dst=dst[at : at + 128, :], src=tile)
    return dst


"""
WRONG = "`rows` is not right for this launch: P = 256 breaks P <= 128"


def found(tmp_path: Path, text: str, **overrides: tuple[str, ...]) -> list[Diagnostic]:
    (tmp_path / "k.py").write_text(KERNELS + text, encoding="utf-8")
    configurations = Configurations(Overrides(isolated=True, **overrides))  # type: ignore[arg-type]
    options = RunOptions((str(tmp_path / "k.py"),), configurations, jobs=1)
    return [d for d in run(options).diagnostics if d.rule == RULE]


def messages(tmp_path: Path, text: str) -> list[str]:
    return [d.message for d in found(tmp_path, text) if d.suppressed is None]


@pytest.mark.parametrize(
    "text",
    [
        "rows(np.zeros((256, 96)))",
        "rows(src=np.ones(shape=[256, 96], dtype=np.float32), scale=2.0)",
        "rows(torch.randn(256, 96).to('xla'))",
        "rows(jnp.full((2 * 128, 96), 7.0, dtype=jnp.bfloat16))",
        "rows(np.random.rand(256, 96).astype(np.float16) * 2 - 1)",
        "rows(np.empty(24576).reshape(-1, 96))",
        "P, F = 256, 96\nx = torch.empty((P, F))\nrows(x)",
        "x = np.zeros((96, 256)).T\nout = np.asarray(rows(x))",
        "rows[1](np.zeros((256, 96)))",
        "nki.simulate_kernel(rows, np.zeros((256, 96)))",
        "nki.simulate_kernel(rows[1], np.zeros((256, 96)))",
        "nki.jit(rows)(np.zeros((256, 96)))",
        "fast = nki.benchmark(warmup=5)(rows)\nfast(np.zeros((256, 96)))",
        "if __name__ == '__main__':\n    rows(np.zeros((256, 96)))",
        "def test():\n    x = np.zeros((256, 96))\n    assert rows(x).shape == x.shape",
        "class TestRows:\n    def test(self):\n        rows(np.zeros((256, 96)))",
        "N = 256\nif N % 128 == 0:\n    rows(np.zeros((N, 96)))",
    ],
)
def test_what_is_launched_is_read(tmp_path: Path, text: str) -> None:
    assert messages(tmp_path, text) == [WRONG]


@pytest.mark.parametrize(
    "text",
    [
        "rows(np.zeros((128, 96)))",
        # not known
        "rows(load())",
        "rows(np.zeros(shape()))",
        "rows(*[np.zeros((256, 96))])",
        "rows(np.zeros((256, 96)), other=1)",
        "rows(np.zeros((256, 96), like=1))",
        "x = np.zeros((256, 96))\nx = x[:128]\nrows(x)",
        "x = torch.zeros(256, 96)\nx.resize_(128, 96)\nrows(x)",
        "shape = [256, 96]\nshape[0] = 128\nrows(np.zeros(shape))",
        "for n in (64, 128):\n    rows(np.zeros((n, 96)))",
        "def test(n=256):\n    rows(np.zeros((n, 96)))",
        "N = 256\ndef small():\n    global N\n    N = 128\nrows(np.zeros((N, 96)))",
        "def other(rows):\n    rows(np.zeros((256, 96)))",
        # of another rank than the kernel takes
        "rows(np.zeros((256, 96, 1)))",
        # never reached, or expected to fail
        "if False:\n    rows(np.zeros((256, 96)))",
        "x = np.zeros((256, 96))\nif x.shape[0] <= 128:\n    rows(x)",
        "x = np.zeros((256, 96))\nif fits(x):\n    rows(x)",
        "def go():\n    x = np.zeros((256, 96))\n    if bad(x):\n        return\n    rows(x)",
        "with pytest.raises(AssertionError):\n    rows(np.zeros((256, 96)))",
        "try:\n    rows(np.zeros((256, 96)))\nexcept Exception:\n    pass",
        "@pytest.mark.xfail\ndef test():\n    rows(np.zeros((256, 96)))",
        "pytest.raises(ValueError, lambda: rows(np.zeros((256, 96))))",
        "def go():\n    rows(np.zeros((256, 96)))\npytest.raises(ValueError, go)",
    ],
)
def test_what_is_not_certain_is_no_finding(tmp_path: Path, text: str) -> None:
    assert messages(tmp_path, text) == []


def test_a_launch_without_the_grid_that_is_needed(tmp_path: Path) -> None:
    told = messages(tmp_path, "x = np.zeros((256, 96))\nparts[2](x)\nparts(x)\nparts[1](x)")
    assert told == [
        "`parts` is launched without a grid: num_programs(0) = 1 breaks num_programs(0) >= 2",
        "`parts` is not right for this launch: num_programs(0) = 1 breaks num_programs(0) >= 2",
    ]
    # a grid that is computed may be any
    assert messages(tmp_path, "parts[cores()](np.zeros((256, 96)))") == []
    assert len(messages(tmp_path, "nki.simulate_kernel(parts, np.zeros((256, 96)))")) == 1


def test_a_type_that_is_not_known_decides_nothing(tmp_path: Path) -> None:
    text = "import numpy as np\nrows(np.zeros((128, WIDE), dtype=KIND))"
    wide = KERNELS.replace("    assert F == 96\n", "", 1)
    path = tmp_path / "k.py"
    for kind, count in (("np.float32", 1), ("np.float16", 0), ("KINDS[0]", 0)):
        path.write_text(wide + text.replace("KIND", kind).replace("WIDE", "60000"))
        configurations = Configurations(Overrides(isolated=True))
        diagnostics = run(RunOptions((str(path),), configurations, jobs=1)).diagnostics
        assert len([d for d in diagnostics if d.rule == RULE]) == count, kind


def test_the_place_the_need_and_the_rest(tmp_path: Path) -> None:
    [told] = found(tmp_path, "\nx = 'ä', rows(np.zeros((256, 96)))\n")
    line = (KERNELS + "\nx = 'ä', rows(np.zeros((256, 96)))\n").splitlines()[told.span.line - 1]
    assert line[told.span.column : told.span.end_column] == "rows(np.zeros((256, 96)))"
    assert (told.severity, told.predicate, told.kernel) == ("error", "P <= 128", "rows")
    assert [label.text.partition(":")[0] for label in told.labels] == ["needs P <= 128"]


def test_it_is_ignored_selected_and_suppressed_like_others(tmp_path: Path) -> None:
    text = "rows(np.zeros((256, 96)))"
    assert found(tmp_path, text, ignore=(RULE,)) == []
    assert found(tmp_path, text, select=("partition-extent",)) == []
    comment = f"  # tilelint: ignore[{RULE}] -- the simulator takes it"
    [told] = found(tmp_path, text + comment)
    assert told.suppressed == "the simulator takes it"


def test_what_is_suppressed_in_the_kernel_is_not_demanded_of_launches(tmp_path: Path) -> None:
    comment = "# tilelint: ignore-file[partition-extent] -- as it is\n"
    assert messages(tmp_path, comment + "rows(np.zeros((256, 96)))") == []


def test_the_examples_of_the_rule(tmp_path: Path) -> None:
    assert DOCUMENTED is not None
    for text, count in ((DOCUMENTED.failing, 1), (DOCUMENTED.passing, 0)):
        path = tmp_path / "example.py"
        path.write_text(text)
        configurations = Configurations(Overrides(isolated=True))
        diagnostics = run(RunOptions((str(path),), configurations, jobs=1)).diagnostics
        assert len([d for d in diagnostics if d.rule == RULE]) == count


def test_a_kernel_that_another_file_wraps_has_one_precondition(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(KERNELS, encoding="utf-8")
    text = "import nki\nfrom kernels import rows\n\n\ndef go(x):\n    nki.simulate(rows)(x)\n"
    (tmp_path / "use.py").write_text(text, encoding="utf-8")
    options = RunOptions((str(tmp_path),), Configurations(Overrides(isolated=True)), jobs=1)
    told = [d for d in run(options).diagnostics if d.rule == "precondition" and d.kernel == "rows"]
    assert [(Path(d.span.path).name, d.span.column) for d in told] == [("kernels.py", 4)]
