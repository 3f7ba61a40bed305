"""Launches that a file shows are held against the preconditions of their kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from verifier.cli.fix import Fixing
from verifier.cli.runner import RunOptions, run
from verifier.configuration.model import Overrides
from verifier.configuration.settings import Configurations
from verifier.dialects.names import NKI
from verifier.engine import precondition
from verifier.engine.launches import RULE, Broken, Judged
from verifier.engine.workspace import Workspace
from verifier.lsp.analysis import Analysis
from verifier.lsp.messages import Check
from verifier.report.model import (
    Conjunct,
    Diagnostic,
    FileRequest,
    FileResult,
    KernelReport,
    Precondition,
    Span,
)
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
        "rows(*[np.zeros((256, 96))])",
        "given = [np.zeros((256, 96))]\nrows(*given)",
        "rows(np.random.default_rng(0).standard_normal((256, 96)))",
        "rng = np.random.default_rng(0)\nrows(rng.random((256, 96), dtype=np.float32))",
        "rows(np.arange(256 * 96).reshape(256, 96))",
        "rows(torch.zeros(96, 256).t())",
        "rows(torch.zeros(96, 1, 256).permute(2, 0, 1).reshape(256, 96))",
        # once for each of what the text lists
        "for n in (64, 256):\n    rows(np.zeros((n, 96)))",
        "SIZES = [64, 256]\nfor n in SIZES:\n    rows(np.zeros((n, 96)))",
        "for n, f in [(64, 96), (256, 96)]:\n    x = np.zeros((n, f))\n    rows(x)",
        "for n in range(128, 257, 128):\n    rows(np.zeros((n, 96)))",
        "for n in (64, 256):\n    if n < 128:\n        continue\n    rows(np.zeros((n, 96)))",
        "@pytest.mark.parametrize('n', [64, 256])\ndef test(n):\n    rows(np.zeros((n, 96)))",
        "NS = (64, pytest.param(256, id='many'))\n"
        "@pytest.mark.parametrize(argnames='n', argvalues=NS)\n"
        "def test(n):\n    rows(np.zeros((n, 96)))",
        "@pytest.mark.parametrize('n, f', [(64, 96), (256, 96)])\n"
        "def test(n, f):\n    rows(np.zeros((n, f)))",
        "@pytest.mark.parametrize('f', [96])\n@pytest.mark.parametrize('n', [64, 256])\n"
        "def test(f, n, scale=2.0):\n    rows(np.zeros((n, f)))",
        "@pytest.mark.parametrize('shape', [(64, 96), (256, 96)])\n"
        "def test(shape):\n    rows(np.zeros(shape))",
        "@pytest.fixture\ndef x():\n    n = 256\n    return np.zeros((n, 96))\n"
        "def test(x):\n    rows(x)",
        "class TestRows:\n    n = 256\n    def test(self):\n        rows(np.zeros((self.n, 96)))",
        "def go(n, f=96):\n    rows(np.zeros((n, f if n else 1)))\n    rows(np.zeros((n, 96)))\n"
        "go(256)",
        "def go(x):\n    if x.shape[0] > 64:\n        rows(x)\ngo(x=np.zeros((256, 96)))",
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
        "given = [np.zeros((256, 96))]\nchange(given)\nrows(*given)",
        "given = [np.zeros((256, 96))]\ngiven[0] = np.zeros((64, 96))\nrows(*given)",
        "rows(torch.zeros(256, 96).transpose(0, 1).transpose(0, 1))",
        "rng = np.random.default_rng(0)\nrng = other()\nrows(rng.random((256, 96)))",
        "rows(np.zeros((256, 96), like=1))",
        "x = np.zeros((256, 96))\nx = x[:128]\nrows(x)",
        "x = torch.zeros(256, 96)\nx.resize_(128, 96)\nrows(x)",
        "shape = [256, 96]\nshape[0] = 128\nrows(np.zeros(shape))",
        "for n in (64, 128):\n    rows(np.zeros((n, 96)))",
        "def test(n=256):\n    rows(np.zeros((n, 96)))",
        "N = 256\ndef small():\n    global N\n    N = 128\nrows(np.zeros((N, 96)))",
        "def other(rows):\n    rows(np.zeros((256, 96)))",
        # other values, or perhaps others
        "for n in (64, 256):\n    if n > 128:\n        continue\n    rows(np.zeros((n, 96)))",
        "for n in (64, 256):\n    rows(np.zeros((n, 96)))\n    if done():\n        break",
        "for n in (64, 256):\n    n = n // 2\n    rows(np.zeros((n, 96)))",
        "SIZES = [64, 256]\nSIZES.remove(256)\nfor n in SIZES:\n    rows(np.zeros((n, 96)))",
        "x = np.zeros((1, 96))\nfor n in (64, 256):\n    x = np.zeros((n, 96))\nrows(x)",
        "@pytest.mark.parametrize('n', [64, pytest.param(256, marks=pytest.mark.xfail)])\n"
        "def test(n):\n    rows(np.zeros((n, 96)))",
        "@pytest.mark.parametrize('n', [64, 256])\ndef test(n):\n"
        "    if n > 128:\n        pytest.skip()\n    rows(np.zeros((n, 96)))",
        "@pytest.mark.parametrize('n', [256], indirect=True)\n"
        "def test(n):\n    rows(np.zeros((n, 96)))",
        "@pytest.fixture(params=[64])\ndef n(request):\n    return 256\n"
        "def test(n):\n    rows(np.zeros((n, 96)))",
        "class TestRows:\n    n = 256\n    def setup_method(self):\n        self.n = 64\n"
        "    def test(self):\n        rows(np.zeros((self.n, 96)))",
        "class Rows:\n    n = 256\n    def test(self):\n        rows(np.zeros((self.n, 96)))\n"
        "class TestRows(Rows):\n    n = 64",
        "def go(n):\n    yield rows(np.zeros((n, 96)))\ngo(256)",
        "def go(n):\n    if n > 128:\n        return\n    rows(np.zeros((n, 96)))\ngo(256)",
        "@twice\ndef go(n):\n    rows(np.zeros((n, 96)))\ngo(256)",
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


#: right for all that it takes
CHOOSY = """

@nki.jit
def choosy(src, other, deep=False):
    P, F = src.shape
    P2, F2 = other.shape
    assert P == P2 and P <= 128
    assert F == 96
    if deep:
        assert F2 == 192
    dst = nl.ndarray((P, F), dtype=src.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((P, F), dtype=src.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=src)
    nisa.dma_copy(dst=dst, src=tile)
    return dst


"""


@pytest.mark.parametrize(
    ("text", "breaks"),
    [
        ("choosy(np.zeros((72, 95)), np.zeros((72, 96)))", "F = 95 breaks F == 96"),
        (
            "choosy(np.zeros((72, 96)), np.zeros((64, 96)))",
            "P = 72, P2 = 64 breaks P == P2",
        ),
        (
            "choosy(np.zeros((72, 96)), np.zeros((72, 191)), deep=True)",
            "deep = True, F2 = 191 breaks not deep or F2 == 192",
        ),
        # what it asserts keeps its own bounds from being judged
        ("rows(np.zeros((256, 95)))", "F = 95 breaks F == 96"),
        ("choosy(np.zeros((72, 96)), np.zeros((72, 191)))", ""),
        ("choosy(np.zeros((72, 96)), np.zeros((72, 192)), deep=True)", ""),
        ("choosy(np.zeros((72, 96)), np.zeros((72, 191)), deep=deeply())", ""),
        ("with pytest.raises(AssertionError):\n    choosy(np.zeros((7, 5)), np.zeros((7, 9)))", ""),
    ],
)
def test_what_a_kernel_asserts_is_what_its_launches_keep_to(
    tmp_path: Path, text: str, breaks: str
) -> None:
    told = found(tmp_path, CHOOSY + text)
    name = text.partition("(")[0]
    wanted = [f"`{name}` does not take this launch: {breaks}"] if breaks else []
    assert [d.message for d in told] == wanted
    for d in told:
        (label,) = d.labels
        assert (label.text, d.severity) == ("the kernel asserts it here", "error")
        assert "assert" in (KERNELS + CHOOSY + text).splitlines()[label.span.line - 1]


@pytest.mark.parametrize(
    ("demanded", "given", "breaks"),
    [
        ("tidy", "0", "tidy = 0 breaks bool(tidy)"),
        ("tidy", "2", ""),
        ("tidy is not None", "None", "tidy = None breaks tidy is not None"),
        ("tidy is not None", "0", ""),
        ("tidy == 'yes'", "'no'", 'tidy = no breaks tidy == "yes"'),
        ("tidy == 'yes'", "'yes'", ""),
        ("tidy == 'yes'", "word()", ""),
    ],
)
def test_values_that_are_no_sizes_are_demanded_too(
    tmp_path: Path, demanded: str, given: str, breaks: str
) -> None:
    tidy = "tidy=None" if "None" in demanded else "tidy"
    kernel = CHOOSY.replace("deep=False", tidy)
    kernel = kernel.replace("    if deep:\n    ", f"    assert {demanded}\n")
    assert "deep" not in kernel
    told = messages(tmp_path, f"{kernel}choosy(np.zeros((72, 96)), np.zeros((72, 192)), {given})")
    assert told == [f"`choosy` does not take this launch: {breaks}"] * bool(breaks)


def test_launches_elsewhere_keep_to_what_a_verified_kernel_asserts(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(KERNELS.partition("@nki.jit")[0] + CHOOSY)
    test = tmp_path / "test_kernels.py"
    test.write_text(
        "import numpy as np\nfrom kernels import choosy\n\n\ndef test():\n"
        "    choosy(np.zeros((72, 96)), np.zeros((72, 96)))\n"
        "    choosy(np.zeros((72, 96)), np.zeros((64, 96)))\n"
    )
    configurations = Configurations(Overrides(isolated=True))
    report = run(RunOptions((str(tmp_path),), configurations, jobs=1))
    assert [kernel.status for kernel in report.kernels] == ["verified"]
    (told,) = report.diagnostics
    assert (told.span.path, told.span.line) == (str(test), 7)


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


IMPORTED = [
    ("from kernels import rows", "rows(X)"),
    ("from kernels import rows as fast", "fast[1](X)"),
    ("import kernels", "kernels.rows(X)"),
    ("import kernels as k", "k.rows(src=X)"),
    ("from kernels import *\nfrom kernels import rows", "rows(X)"),
    ("import nki\nimport kernels as k", "nki.simulate_kernel(k.rows, X)"),
    ("import nki\nfrom kernels import rows", "nki.simulate(rows)(X)"),
    ("from package.inner import rows", "rows(X)"),
    ("from package import inner", "inner.rows(X)"),
    ("import package.inner as p", "p.rows(X)"),
    ("from kernels import quick", "quick(X)"),
    ("from kernels import rows\nfrom sizes import N", "rows(np.zeros((N, 96)))"),
    ("from kernels import rows\nimport sizes", "rows(np.zeros((sizes.N, 96)))"),
]


@pytest.mark.parametrize(("how", "launch"), IMPORTED)
def test_launches_in_other_files(tmp_path: Path, how: str, launch: str) -> None:
    text = KERNELS + "quick = nki.jit(rows)\n"
    (tmp_path / "kernels.py").write_text(text, encoding="utf-8")
    (tmp_path / "sizes.py").write_text("N = 256\n", encoding="utf-8")
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "inner.py").write_text("from kernels import rows\n", encoding="utf-8")
    for number, size in enumerate((256, 128)):
        body = f"X = np.zeros(({size}, 96))\n{launch}\n"
        if "N" in launch:
            (tmp_path / "sizes.py").write_text(f"N = {size}\n", encoding="utf-8")
        (tmp_path / "use.py").write_text(f"import numpy as np\n{how}\n{body}", encoding="utf-8")
        options = RunOptions((str(tmp_path),), Configurations(Overrides(isolated=True)), jobs=1)
        told = [d for d in run(options).diagnostics if d.rule == RULE]
        places = [(Path(d.span.path).name, d.message) for d in told]
        assert places == ([("use.py", WRONG)] if number == 0 else [])


def test_a_launch_in_another_file_is_suppressed_there(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(KERNELS, encoding="utf-8")
    comment = f"# tilelint: ignore[{RULE}] -- the simulator takes it"
    text = "import numpy as np\nfrom kernels import rows\n"
    text += f"rows(np.zeros((256, 96)))  {comment}\nrows(np.zeros((512, 96)))\n"
    (tmp_path / "use.py").write_text(text, encoding="utf-8")
    options = RunOptions((str(tmp_path),), Configurations(Overrides(isolated=True)), jobs=1)
    told = [d for d in run(options).diagnostics if d.span.path.endswith("use.py")]
    assert [(d.rule, d.span.line, d.suppressed) for d in told] == [
        (RULE, 3, "the simulator takes it"),
        (RULE, 4, None),
    ]


def test_two_conditions_that_hold_together() -> None:
    kernel = KernelReport("k.py", "k", 1, NKI, "0.6", "trn2", "conditional")
    text = "(x.shape[0] > 64) == (y.shape[0] > 64)"
    conjunct = Conjunct(text, "what", "rule", (), Span("k.py", 1, 0, 1, 0))
    judged = Judged(kernel, Precondition((conjunct,)), (conjunct,))
    source = "import numpy as np\nfrom k import k\nk(np.zeros((A, 2)), np.zeros((B, 2)))"
    own = "import nki\n@nki.jit\ndef k(x, y): pass\n"
    for a, b, count in ((65, 64, 1), (64, 64, 0), (65, 70, 0), ("n()", 70, 0)):
        full = own + source.replace("from k import k\n", "").replace("A", str(a), 1)
        full = full.replace("B", str(b), 1)
        line = replace(judged, kernel=replace(kernel, line=3))
        found = Broken([line], (), {str(Path("k.py")): full}.get).of("k.py")
        assert len(found) == count, (a, b)


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


LAUNCHING = "import numpy as np\nfrom kernels import rows\n\n\ndef test():\n    rows(SHOWN)\n"
BROKEN = LAUNCHING.replace("SHOWN", "np.zeros((256, 96))")


class _Editor:
    """The analysis of files of a project, as an editor's process does it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._analysis = Analysis()

    def told(self, name: str, **texts: str | None) -> list[tuple[str, str]]:
        """The findings about launches in the result of a file, and in which files they are."""
        buffers = {str(self.folder / f"{buffer}.py"): text for buffer, text in texts.items()}
        self._analysis.update(buffers)
        path = str(self.folder / f"{name}.py")
        check = Check(1, path, (str(self.folder),), buffers, Overrides(isolated=True))
        result = self._analysis.check(check).result
        assert result is not None
        assert result.path == path
        found = [d for d in result.diagnostics if d.rule == RULE]
        return [(Path(d.span.path).stem, d.message) for d in found]


@pytest.fixture
def editor(tmp_path: Path) -> _Editor:
    (tmp_path / "setup.cfg").write_text("")
    (tmp_path / "kernels.py").write_text(KERNELS)
    (tmp_path / "test_kernels.py").write_text(BROKEN)
    return _Editor(tmp_path)


def test_the_editor_judges_launches_of_kernels_in_other_files(editor: _Editor) -> None:
    told = [("test_kernels", WRONG)]
    # in the file of the launch, and in that of the kernel
    assert editor.told("test_kernels") == told
    assert editor.told("kernels") == told
    # what is not saved counts, of the launch and of the kernel
    right = LAUNCHING.replace("SHOWN", "np.zeros((128, 96))")
    assert editor.told("test_kernels", test_kernels=right) == []
    assert editor.told("kernels") == []
    smaller = KERNELS.replace("P, F = src.shape", "P, F = src.shape\n    assert P <= 64")
    asserted = "`rows` does not take this launch: P = 128 breaks P <= 64"
    assert editor.told("test_kernels", kernels=smaller) == [("test_kernels", asserted)]
    assert editor.told("kernels") == [("test_kernels", asserted)]


def test_the_editor_says_of_the_launches_of_a_project_what_the_command_says(
    editor: _Editor,
) -> None:
    options = RunOptions((str(editor.folder),), Configurations(Overrides(isolated=True)), jobs=1)
    command = [d.message for d in run(options).diagnostics if d.rule == RULE]
    assert command == [message for _, message in editor.told("test_kernels")] == [WRONG]
    comment = "# tilelint: ignore-file[partition-extent] -- as it is\n"
    assert editor.told("test_kernels", kernels=comment + KERNELS) == []
    assert editor.told("kernels") == []


def test_the_editor_leaves_kernels_alone_that_nobody_launches_here(
    editor: _Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each kernel that another file has is work."""
    checked: list[str] = []
    real = Workspace.check

    def noted(workspace: Workspace, request: FileRequest) -> FileResult:
        checked.append(Path(request.path).stem)
        return real(workspace, request)

    monkeypatch.setattr(Workspace, "check", noted)
    for text in ("import kernels\n", "from kernels import rows\n\n\ndef go(x):\n    rows(x)\n"):
        assert editor.told("test_kernels", test_kernels=text) == []
    assert checked == []
    caller = KERNELS.partition("@nki.jit")[0] + "from kernels import rows\n\n\n@nki.jit\n"
    caller += "def twice(src):\n    return rows(rows(src))\n"
    editor.told("caller", caller=caller)
    assert checked == ["caller"]
    editor.told("test_kernels", test_kernels=BROKEN)
    assert checked == ["caller", "kernels"]


def _more_than_needed(monkeypatch: pytest.MonkeyPatch, *, sufficient: bool) -> None:
    """Of no condition it is known that it is needed."""
    real = precondition.of_run

    def changed(*arguments: Any) -> Any:
        found, *rest = real(*arguments)
        conjuncts = tuple(replace(c, exact=False) for c in found.conjuncts)
        undecided = () if sufficient else ("one thing",)
        return (
            replace(
                found,
                conjuncts=conjuncts,
                exact=False,
                sufficient=sufficient,
                undecided=undecided,
            ),
            *rest,
        )

    monkeypatch.setattr(precondition, "of_run", changed)


def _fixed(folder: Path, text: str) -> tuple[str, list[str]]:
    """The text of a file after all fixes, and why some were not made."""
    path = folder / "k.py"
    path.write_text(KERNELS.rpartition("@nki.jit")[0] + text, encoding="utf-8")
    fixing = Fixing(unsafe=True, write=True)
    configurations = Configurations(Overrides(isolated=True))
    run(RunOptions((str(path),), configurations, jobs=1, fixing=fixing))
    return path.read_text(encoding="utf-8"), [refused.reason for refused in fixing.refused]


def test_no_fix_makes_a_kernel_refuse_what_it_is_launched_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A condition may be more than is needed: then the launch shows that it is."""
    _more_than_needed(monkeypatch, sufficient=True)
    text, refused = _fixed(tmp_path, "rows(np.zeros((64, 96)))\n")
    assert "    assert P <= 128\n" in text
    assert refused == []
    text, refused = _fixed(tmp_path, "rows(np.zeros((256, 96)))\n")
    assert "P <= 128" not in text
    assert refused == [f"then `{RULE}` is found"]


def test_what_may_be_more_than_needed_is_asserted_only_where_it_proves_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _more_than_needed(monkeypatch, sufficient=False)
    text, refused = _fixed(tmp_path, "")
    assert "P <= 128" not in text
    assert refused == []


NO_CALLS = {
    "rows()": "missing a required argument: 'src'",
    "rows(a, 2.0, 3)": "too many positional arguments",
    "rows(a, factor=2.0)": "got an unexpected keyword argument 'factor'",
    "rows(a, src=a)": "multiple values for argument 'src'",
    "nki.simulate(rows)(a, 2.0, 3)": "too many positional arguments",
    "parts[2](a, 1)": "too many positional arguments",
}


@pytest.mark.parametrize("call", NO_CALLS)
def test_calls_that_python_does_not_make(tmp_path: Path, call: str) -> None:
    name = "parts" if "parts" in call else "rows"
    said = f"`{name}` does not take this launch: {NO_CALLS[call]}"
    assert messages(tmp_path, f"def main(a):\n    return {call}\n") == [said]


@pytest.mark.parametrize(
    "text",
    [
        "def main(a):\n    return rows(a), rows(a, 2.0), rows(src=a, scale=0.5)\n",
        "def main(a, *more, **named):\n    return rows(*more), rows(a, **named)\n",
        "def main(a):\n    with pytest.raises(TypeError):\n        rows(a, 1, 2)\n",
        # what else wraps a kernel may give it arguments
        "def scaled(kernel):\n    return lambda a: kernel(a, 2.0)\n\n\n"
        "@scaled\n@nki.jit\ndef third(src, scale, more):\n    assert src.shape == (96, 40)\n"
        "    return src\n\n\ndef main(a):\n    return third(a)\n",
    ],
)
def test_calls_that_may_be_made(tmp_path: Path, text: str) -> None:
    assert messages(tmp_path, text) == []


CHOSEN = """\
@nki.jit
def chosen(src, act="exp", step=32):
    operators = {"exp": nl.exp, "tanh": nl.tanh}
    assert src.shape == (96, 40) and step in (16, 32)
    dst = nl.ndarray((96, 40), dtype=src.dtype, buffer=nl.shared_hbm)
    for i in range(96 // step):
        tile = nl.ndarray((step, 40), dtype=src.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=src[i * step : (i + 1) * step, :])
        nisa.activation(dst=tile, op=operators[act], data=tile)
        nisa.dma_copy(dst=dst[i * step : (i + 1) * step, :], src=tile)
    return dst


"""


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("'tanh'", []),
        ("'gelu'", ['is not right for this launch: act = gelu breaks act in ("exp", "tanh")']),
        ("step=48", ["does not take this launch: step = 48 breaks step == 16 or step == 32"]),
    ],
)
def test_values_that_a_condition_lists(tmp_path: Path, given: str, said: list[str]) -> None:
    told = messages(tmp_path, f"{CHOSEN}def main(a):\n    return chosen(a, {given})\n")
    assert told == [f"`chosen` {each}" for each in said]
