"""Functions that are decorated as kernels, and are called by kernels instead of launched."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from verifier.source.discovery import discover, kernels, scan
from verifier.source.project import Project

_HEAD = """\
import nki
import nki.isa as nisa
import nki.language as nl

"""
_HELPER = """\
@nki.jit
def doubled(dst, src):
    nisa.tensor_tensor(dst, src, src, op=nl.add)

"""
_KERNEL = """\
@nki.jit
def kernel(x):
    doubled(x, x)

"""


def found(folder: Path, **texts: str) -> list[str]:
    """The names of the entry points of the modules."""
    files = {name: folder / f"{name}.py" for name in texts}
    for name, text in texts.items():
        files[name].write_text(text)
    project = Project([folder])
    modules = [project.module(files[name]) for name in texts]
    return [entry.name for entry in discover(project, modules)]


@pytest.mark.parametrize(
    ("more", "entries"),
    [
        (_KERNEL, "kernel"),
        ("", "doubled"),
        # launched, too
        (_KERNEL + "def host(x):\n    return doubled[2](x, x)\n", "doubled kernel"),
        (_KERNEL + "def host(x):\n    return doubled(x, x)\n", "doubled kernel"),
        (_KERNEL + "doubled(1, 2)\n", "doubled kernel"),
        (
            "import torch_neuronx\n"
            + _KERNEL
            + "def host(x):\n    torch_neuronx.trace(x)\n    doubled(x, x)\n",
            "doubled kernel",
        ),
        (_KERNEL + "fast = nki.benchmark(doubled)\n", "doubled kernel"),
        # by a function that is for the device: a kernel calls it, or it calls the API
        (_KERNEL + "def step(x):\n    nisa.memset(x, 0)\n    doubled(x, x)\n", "kernel"),
        (
            "def step(x):\n    doubled(x, x)\n\n@nki.jit\ndef kernel(x):\n    step(x)\n",
            "kernel",
        ),
        # by host code only
        ("def host(x):\n    return doubled(x, x)\n", "doubled"),
        # by itself only
        ("@nki.jit\ndef again(x):\n    again(x)\n", "again doubled"),
    ],
)
def test_a_helper_is_no_entry_point(tmp_path: Path, more: str, entries: str) -> None:
    assert sorted(found(tmp_path, one=_HEAD + _HELPER + more)) == entries.split()


def test_of_functions_that_only_call_each_other_all_are_entry_points(tmp_path: Path) -> None:
    text = "@nki.jit\ndef {}(x):\n    {}(x)\n\n"
    both = _HEAD + text.format("left", "right") + text.format("right", "left")
    assert sorted(found(tmp_path, one=both)) == ["left", "right"]


@pytest.mark.parametrize(
    ("how", "call"),
    [
        ("from one import doubled", "doubled(x, x)"),
        ("from one import doubled as twice", "twice(x, x)"),
        ("import one", "one.doubled(x, x)"),
        ("from between import doubled", "doubled(x, x)"),
    ],
)
def test_a_kernel_of_another_file_calls_it(tmp_path: Path, how: str, call: str) -> None:
    other = _HEAD + f"{how}\n\n@nki.jit\ndef kernel(x):\n    {call}\n"
    between = "from one import doubled\n"
    texts = {"one": _HEAD + _HELPER, "between": between, "other": other}
    assert found(tmp_path, **texts) == ["kernel"]
    launched = other.replace("(x, x)", "[2](x, x)")
    texts["other"] = launched
    assert found(tmp_path, **texts) == ["doubled", "kernel"]


def test_a_file_alone_shows_no_caller(tmp_path: Path) -> None:
    path = tmp_path / "one.py"
    path.write_text(_HEAD + dedent(_HELPER))
    project = Project([tmp_path])
    assert [entry.name for entry in kernels(project, project.module(path))] == ["doubled"]


def test_what_no_kernel_comes_to_is_said_to_be_launched_by_nothing(tmp_path: Path) -> None:
    """`step` is for the device; whether it is run there is not known."""
    step = "def step(x):\n    nisa.memset(x, 0)\n    doubled(x, x)\n"
    path = tmp_path / "a.py"
    for more, judged, idle in ((_KERNEL, ["doubled"], ["step"]), ("", [], ["doubled", "step"])):
        path.write_text(_HEAD + _HELPER + more + step)
        project = Project([tmp_path])
        scanned = scan(project, project.module(path))
        assert [helper.entry.name for helper in scanned.helpers] == judged
        assert [entry.name for entry in scanned.unreached] == idle
