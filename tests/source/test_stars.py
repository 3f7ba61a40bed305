"""Kernel APIs that come from a star import of the project's own, and stand-ins for them on disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.commands import tilelint
from verifier.source.discovery import How, scan
from verifier.source.stars import api_imports

from .conftest import Plant

#: what many kernel files of a project begin with
_SHARED = """\
    import numpy as np
    import nki
    import nki.isa as nisa
    from nki import language as nl
    from helpers import rounded
    import neuronxcc.nki as _hidden
"""
_COPY = """\
    from shared import *


    def copy(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray((150, 7), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x)
        nisa.dma_copy(dst=out, src=tile)
        return out
"""


def _checked(folder: Path) -> Any:
    """The JSON report of ``k.py``."""
    return json.loads(
        tilelint("check", "k.py", "--no-cache", "--format", "json", cwd=folder).stdout
    )


def test_the_api_comes_through_a_star_import(plant: Plant, tmp_path: Path) -> None:
    project = plant({"shared.py": _SHARED, "k.py": _COPY})
    module = project.module(tmp_path / "k.py")
    found = api_imports(project, module)
    assert {name: (b.module, b.original) for name, b in found.items()} == {
        "nki": ("nki", None),
        "nisa": ("nki.isa", None),
        "nl": ("nki", "language"),
    }
    (entry,) = scan(project, module, named={"copy"}).kernels
    assert (entry.name, entry.dialect, entry.how) == ("copy", "nki", How.NAMED)


def test_it_may_go_through_several_files_and_comes_from_the_last(
    plant: Plant, tmp_path: Path
) -> None:
    project = plant(
        {
            "first.py": "from second import *\n",
            "second.py": "from first import *\nimport nki.isa as nisa\nimport nki.isa as isa\n",
            "listed.py": "import nki.language as nl\nimport nki.isa as nisa\n__all__ = ['nl']\n",
            "m.py": "from first import *\nfrom listed import *\nimport json as isa\n",
        }
    )
    found = api_imports(project, project.module(tmp_path / "m.py"))
    assert {name: b.module for name, b in found.items()} == {
        "nl": "nki.language",
        "nisa": "nki.isa",
    }


def test_such_kernels_are_decorated_checked_and_run(plant: Plant, tmp_path: Path) -> None:
    decorated = _COPY.replace("    def copy", "    @nki.jit\n    def copy")
    plant({"shared.py": _SHARED.replace("_hidden", "_other"), "k.py": decorated})
    report = _checked(tmp_path)
    (kernel,) = report["kernels"]
    # `_other` is not given on: the kernel is none of Beta 1
    assert (kernel["name"], kernel["api_version"]) == ("copy", "0.3")
    assert [d["rule"] for d in report["diagnostics"] if d["severity"] == "error"] == [
        "partition-extent"
    ]


_KERNEL = """\
    import {package} as nki
    import {package}.isa as nisa
    import {package}.language as nl


    @nki.jit
    def copy(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray((150, 7), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x)
        nisa.dma_copy(dst=out, src=tile)
        return out
"""
_STUBS = {
    "__init__.py": "def jit(f): ...\n",
    "isa.py": "def dma_copy(dst, src): ...\n",
    "language.py": "sbuf = shared_hbm = 1\ndef ndarray(shape, dtype, buffer=None): ...\n",
}


@pytest.mark.parametrize("imports", ["", "as", "from"])
def test_stubs_of_an_api_do_not_stand_in_for_it(plant: Plant, tmp_path: Path, imports: str) -> None:
    text = _KERNEL.format(package="nki")
    if imports == "from":
        text = text.replace("import nki.isa as nisa", "from nki import isa as nisa")
        text = text.replace("import nki.language as nl", "from nki import language as nl")
    elif not imports:
        text = text.replace(" as nki\n", "\n")
    plant({"k.py": text, **{f"nki/{name}": stub for name, stub in _STUBS.items()}})
    report = _checked(tmp_path)
    errors = [d["rule"] for d in report["diagnostics"] if d["severity"] == "error"]
    assert errors == ["partition-extent"]
    assert report["kernels"][0]["calls"]["total"] == 4


def test_a_package_of_that_name_without_its_parts_is_the_projects(
    plant: Plant, tmp_path: Path
) -> None:
    """Beta 1 kernels may lie in a folder of the name that the API has got since."""
    project = plant(
        {
            "nki/__init__.py": "",
            "nki/tiles.py": "ROWS = 96\n",
            "k.py": """\
                import nki.tiles
                import neuronxcc.nki.language as nl
                from neuronxcc.nki import jit


                @jit
                def copy(x):
                    assert x.shape == (nki.tiles.ROWS, 7)
                    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
                    nl.store(out, nl.load(x))
                    return out
            """,
        }
    )
    module = project.module(tmp_path / "k.py")
    assert project.resolve_import(module, "nki") is not None
    report = _checked(tmp_path)
    assert [k["status"] for k in report["kernels"]] == ["verified"]
