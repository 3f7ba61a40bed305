"""What a library that is not found is given of the kernel API or of the project may be changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.told import told

HEAD = """\
import elsewhere
import nki
import nki.isa as nisa
import nki.language as nl
from nki.language import add

def helper(): return nl
"""
KERNEL = """
@nki.jit
def kernel(x):
    {before}
    tile = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=tile, value=0)
    out = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
GIVEN = [
    "elsewhere.patch(nl)", "elsewhere.patch(nki)", "elsewhere.patch(nki.language)",
    "elsewhere.patch(nisa.memset)", "elsewhere.patch(add)", "elsewhere.patch([nl])",
    "elsewhere.patch(m=nisa)", "elsewhere.patch(helper)", "elsewhere.patch(lambda: nl)",
    "with elsewhere.patched(nl): pass", "elsewhere.x = nl", "nl.ndarray = elsewhere.x",
    "setattr(nl, 'ndarray', elsewhere.x)",
]  # fmt: skip
KEPT = ["elsewhere.log('x')", "elsewhere.f(nl.float32)", "elsewhere.f(elsewhere.g)", "print(nl)"]


@pytest.mark.parametrize("act", GIVEN)
def test_what_is_given_away_may_be_changed(tmp_path: Path, act: str) -> None:
    assert told(tmp_path, HEAD + KERNEL.format(before=act)).status == "unknown"
    assert told(tmp_path, f"{HEAD}{act}\n" + KERNEL.format(before="pass")).status == "unknown"


@pytest.mark.parametrize("act", KEPT)
def test_what_is_not_given_stays(tmp_path: Path, act: str) -> None:
    assert told(tmp_path, HEAD + KERNEL.format(before=act)).status == "verified"
    assert told(tmp_path, f"{HEAD}{act}\n" + KERNEL.format(before="pass")).status == "verified"


@pytest.mark.parametrize("line", ["import pkg.gone", "import pkg.here, pkg.gone"])
def test_a_part_of_a_package_that_is_imported_may_be_compiled(tmp_path: Path, line: str) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").touch()
    (tmp_path / "pkg" / "here.py").touch()
    (tmp_path / "pkg" / "gone.cpython-311-x86_64-linux-gnu.so").touch()
    sized = KERNEL.replace("128", "pkg.gone.N")
    assert told(tmp_path, f"{HEAD}{line}\n" + sized.format(before="pass")).status == "unknown"
    assert told(tmp_path, HEAD + sized.format(before=line)).status == "unknown"
    assert (
        told(tmp_path, HEAD + KERNEL.format(before=f"{line}\n    pkg.other")).status == "violated"
    )


@pytest.mark.parametrize("line", ["import pkg.gone", "import pkg.here, pkg.gone"])
def test_a_part_of_a_package_that_is_nowhere_is_not_there(tmp_path: Path, line: str) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").touch()
    (tmp_path / "pkg" / "here.py").touch()
    assert told(tmp_path, f"{HEAD}{line}\n" + KERNEL.format(before="pass")).status == "violated"
    assert told(tmp_path, HEAD + KERNEL.format(before=line)).status == "violated"


BOUND = "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n"


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (f"from gone import *\n{BOUND}", "verified"),
        (f"{BOUND}from gone import *\n", "unknown"),
        (f"try:\n    from gone import *\nexcept ImportError: pass\n{BOUND}", "verified"),
        (f"{BOUND}if False:\n    from gone import *\n", "verified"),
    ],
)
def test_names_that_are_bound_after_a_star_import_are_bound_for_sure(
    tmp_path: Path, head: str, expected: str
) -> None:
    assert told(tmp_path, head + KERNEL.format(before="pass")).status == expected
