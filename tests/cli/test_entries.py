"""Kernels that are made of functions, lambdas and partials, and fragments without imports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypeAlias

import pytest

from verifier.cli.main import main

Capture: TypeAlias = pytest.CaptureFixture[str]

HEAD = """\
from functools import partial
import nki
import nki.isa as nisa
import nki.language as nl

"""
SCALE = """\
def scale(a, tile):
    assert a.shape[0] == 200 and a.shape[1] == 40
    out = nl.ndarray((tile, 40), dtype=a.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((tile, 40), dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(t, a[0:tile, 0:40])
    nisa.dma_copy(out, t)
    return out
"""


def checked(
    capsys: Capture, tmp_path: Path, text: str, *options: str
) -> list[tuple[str, str, str | None]]:
    file = tmp_path / "k.py"
    file.write_text(text, encoding="utf-8")
    arguments = ["check", "--no-cache", "--isolated", "--format", "json", *options, str(file)]
    main(arguments)
    found = json.loads(capsys.readouterr().out)
    return [(k["name"], k["status"], k["preset"]) for k in found["kernels"]]


@pytest.mark.parametrize(
    ("launch", "expected"),
    [
        ("k = nki.jit(partial(scale, tile=96))", ("scale", "verified", "tile=96")),
        ("k = nki.jit(partial(scale, tile=144))", ("scale", "violated", "tile=144")),
        ("T = 96\nk = nki.jit(partial(scale, tile=T))", ("scale", "verified", "tile=T")),
        ("k = nki.jit(lambda a: scale(a, 96))", ("k", "verified", None)),
        ("k = nki.jit(lambda a: scale(a, 144))", ("k", "violated", None)),
    ],
)
def test_what_is_bound_is_what_is_checked(
    capsys: Capture, tmp_path: Path, launch: str, expected: tuple[str, str, str | None]
) -> None:
    ((name, status, preset),) = checked(capsys, tmp_path, f"{HEAD}{SCALE}{launch}\n")
    assert (name, status) == expected[:2]
    if expected[2] is not None:
        assert preset == expected[2]


def test_each_partial_has_its_own_answer(capsys: Capture, tmp_path: Path) -> None:
    text = HEAD + SCALE + "".join(f"k{t} = nki.jit(partial(scale, tile={t}))\n" for t in (96, 144))
    assert sorted(checked(capsys, tmp_path, text)) == [
        ("scale", "verified", "tile=96"),
        ("scale", "violated", "tile=144"),
    ]


def test_what_the_text_does_not_say_may_be_anything(capsys: Capture, tmp_path: Path) -> None:
    launches = ("scale", "partial(scale, tile=min(96, 40))")
    statuses = {
        checked(capsys, tmp_path, f"{HEAD}{SCALE}k = nki.jit({launch})\n")[0][1]
        for launch in launches
    }
    assert len(statuses) == 1


@pytest.mark.parametrize("launch", ["partial(scale, tile=144)", "lambda a: scale(a, 144)"])
def test_findings_of_made_kernels_replay(capsys: Capture, tmp_path: Path, launch: str) -> None:
    file = tmp_path / "k.py"
    file.write_text(f"{HEAD}{SCALE}k = nki.jit({launch})\n", encoding="utf-8")
    arguments = ["check", "--no-cache", "--isolated", "--replay", "--format", "json", str(file)]
    main(arguments)
    found = json.loads(capsys.readouterr().out)["diagnostics"]
    assert {d["replay"] for d in found if d["severity"] == "error"} == {"confirmed"}


@pytest.mark.parametrize(("size", "status"), [(96, "verified"), (144, "violated")])
def test_a_fragment_is_read_as_if_its_imports_were_there(
    capsys: Capture, tmp_path: Path, size: int, status: str
) -> None:
    text = "@nki.jit\n" + SCALE.replace(", tile)", ")").replace("tile", str(size))
    assert checked(capsys, tmp_path, text) == [("scale", status, None)]
    run = main(["run", f"{tmp_path / 'k.py'}::scale", "--arg", "a=bf16[200,40]"])
    assert run == (0 if size == 96 else 1)


OLD = """\
@nki.jit
def masked(a):
    rows, columns = a.shape
    assert rows <= math.floor(96.0) and a.dtype == np.float32
    out = nl.ndarray((rows, columns), dtype=a.dtype, buffer=nl.shared_hbm)
    i, j = nl.arange(96)[:, None], nl.arange(200)[None, :]
    t = nl.load(a[i, j], mask=(i < rows) & (j < columns))
    nl.store(out[i, j], t, mask=(i < rows) & (j < columns))
    return out
"""


def test_a_fragment_may_be_of_any_generation(capsys: Capture, tmp_path: Path) -> None:
    assert checked(capsys, tmp_path, OLD) == [("masked", "conditional", None)]
    run = [f"{tmp_path / 'k.py'}::masked", "--arg"]
    assert main(["run", *run, "a=fp32[70,200]"]) == 0
    assert "NKI beta1" in capsys.readouterr().out


def test_a_fragment_may_name_the_partition_dimension(capsys: Capture, tmp_path: Path) -> None:
    text = OLD.replace("i, j = ", "t = nl.zeros((par_dim(96), 200), dtype=a.dtype)\n    i, j = ")
    text = text.replace("t = nl.load", "t[...] = nl.load")
    assert checked(capsys, tmp_path, text) == [("masked", "conditional", None)]
    assert main(["run", f"{tmp_path / 'k.py'}::masked", "--arg", "a=fp32[70,200]"]) == 0


def test_what_a_fragment_leaves_out_is_not_known(capsys: Capture, tmp_path: Path) -> None:
    text = OLD.replace("math.floor(96.0)", "LARGEST")
    ((_, status, _),) = checked(capsys, tmp_path, text)
    assert status == "unknown"
    main(["check", "--no-cache", "--isolated", str(tmp_path / "k.py")])
    assert "unbound-name" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "text",
    [
        "nki = other\n@nki.jit\ndef f(a): return nl.exp(a)\n",
        "from somewhere import *\n@nki.jit\ndef f(a): return nl.exp(a)\n",
        "@jit\ndef f(a): return nl.exp(a)\n",
        "@nki.other\ndef f(a): return nl.exp(a)\n",
    ],
)
def test_where_a_name_may_be_something_else_there_is_no_kernel(
    capsys: Capture, tmp_path: Path, text: str
) -> None:
    assert checked(capsys, tmp_path, text) == []


def test_what_uses_an_api_that_is_not_imported_is_named(capsys: Capture, tmp_path: Path) -> None:
    file = tmp_path / "k.py"
    text = "import fast\n@fast.jit\ndef near(a): return nl.exp(a)\ndef far(nl): return jit\n"
    file.write_text(text, encoding="utf-8")
    main(["check", "--no-cache", "--isolated", str(file)])
    told = capsys.readouterr().out
    assert "No kernels" in told
    assert "`near` (line 3 of" in told
    assert "`far`" not in told
