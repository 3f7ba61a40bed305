"""Who calls a function is asked of its project, whichever of its files are checked."""

from __future__ import annotations

import time
from pathlib import Path
from textwrap import dedent

import pytest

from verifier.cli.runner import RunOptions, run
from verifier.configuration.model import Overrides
from verifier.configuration.settings import Configurations
from verifier.lsp.analysis import Analysis
from verifier.lsp.messages import Check
from verifier.report.model import Caller, RunReport

HELPER = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def doubled(dst, src):
    nisa.tensor_tensor(dst=dst, data1=src, data2=src, op=nl.add)


def left(x):
    nisa.memset(x, 0)
"""
KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl
from helper import doubled


@nki.jit
def twice(x):
    assert x.shape == (96, 320)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    doubled(t, t)
    nisa.dma_copy(dst=out, src=t)
    return out
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "setup.cfg").write_text("")
    (tmp_path / "helper.py").write_text(HELPER)
    (tmp_path / "kernel.py").write_text(KERNEL)
    return tmp_path


def checked(*paths: Path) -> RunReport:
    configurations = Configurations(Overrides(isolated=True))
    return run(RunOptions(tuple(map(str, paths)), configurations))


def test_a_file_alone_is_judged_as_in_its_project(project: Path) -> None:
    whole = checked(project)
    alone = checked(project / "helper.py")
    assert [kernel.name for kernel in whole.kernels] == ["twice"]
    assert [kernel.name for kernel in alone.kernels] == []
    for report in (whole, alone):
        assert not report.diagnostics
        (helper,) = report.helpers
        assert (helper.name, helper.line) == ("doubled", 8)
        assert [(Path(c.path).name, c.name) for c in helper.callers] == [("kernel.py", "twice")]
        assert [function.name for function in report.unreached] == ["left"]


@pytest.mark.parametrize(
    "text",
    [
        "",  # nobody calls it
        KERNEL.replace("from helper", "from helpers"),  # another one of that name
        KERNEL.replace("    doubled(t, t)\n", ""),
        dedent(
            """
            import nki
            from helper import doubled


            def host(x):
                doubled[2](x, x)
            """
        ),
    ],
)
def test_what_no_kernel_calls_is_an_entry_point(project: Path, text: str) -> None:
    (project / "kernel.py").write_text(text)
    report = checked(project / "helper.py")
    assert [kernel.name for kernel in report.kernels] == ["doubled"]
    assert not report.helpers


def test_without_a_project_only_what_is_named_counts(project: Path) -> None:
    (project / "setup.cfg").unlink()
    assert [kernel.name for kernel in checked(project / "helper.py").kernels] == ["doubled"]
    both = checked(project / "helper.py", project / "kernel.py")
    assert [kernel.name for kernel in both.kernels] == ["twice"]
    assert [c for helper in both.helpers for c in helper.callers] == [
        Caller(str(project / "kernel.py"), "twice")
    ]


def test_the_editor_asks_the_project_too(project: Path) -> None:
    analysis = Analysis()
    helper, kernel = str(project / "helper.py"), str(project / "kernel.py")
    numbers = iter(range(1, 100))

    def kernels(**texts: str | None) -> list[str]:
        """The kernels of the helper's file, with buffers in the place of files."""
        buffers = {str(project / f"{name}.py"): text for name, text in texts.items()}
        analysis.update(buffers)
        check = Check(next(numbers), helper, (str(project),), buffers, Overrides(isolated=True))
        result = analysis.check(check).result
        assert result is not None
        return [found.name for found in result.kernels]

    assert kernels(helper=HELPER) == []
    # what is not saved yet counts
    uncalled = KERNEL.replace("    doubled(t, t)\n", "")
    assert kernels(kernel=uncalled) == ["doubled"]
    assert kernels(kernel=None) == []
    assert kernels(helper=HELPER.replace("doubled", "tripled")) == ["tripled"]
    assert kernels(helper=HELPER) == []
    # so does what others do on disk
    Path(kernel).write_text(uncalled)
    time.sleep(0.01)
    assert kernels() == ["doubled"]
    Path(kernel).unlink()
    (project / "more.py").write_text(KERNEL)
    time.sleep(0.01)
    assert kernels() == []
    (project / "more.py").unlink()
    time.sleep(0.01)
    assert kernels() == ["doubled"]
