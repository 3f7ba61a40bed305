"""``check --kernel FILE::NAME``, and contracts for functions that nothing else calls kernels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from verifier.cli.main import main

TEXT = """\
import nki
import nki.isa as nisa
import nki.language as nl


def staged(dst, x, rows):
    tile = nl.ndarray((rows, 6), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x[0:rows, 0:6])
    nisa.dma_copy(dst=dst[0:rows, 0:6], src=tile)


def wide(x):
    return nl.ndarray((130, 6), dtype=x.dtype, buffer=nl.sbuf)


@nki.jit
def whole(x):
    assert x.shape == (96, 6)
    out = nl.ndarray((96, 6), dtype=x.dtype, buffer=nl.shared_hbm)
    staged(out, x, 96)
    return out
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.py").write_text(TEXT, encoding="utf-8")
    return tmp_path


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    status = main(["check", "--isolated", "--no-cache", "--format", "json", *arguments])
    return status, json.loads(capsys.readouterr().out)


def kernels(found: dict[str, Any]) -> dict[str, str]:
    return {kernel["name"]: kernel["status"] for kernel in found["kernels"]}


def test_one_function_alone(capsys: pytest.CaptureFixture[str]) -> None:
    status, found = document(capsys, "--kernel", "k.py::whole")
    assert status == 0 and list(kernels(found)) == ["whole"]
    status, found = document(capsys, "--kernel", "k.py::wide")
    assert status == 1 and kernels(found) == {"wide": "violated"}
    assert {d["rule"] for d in found["diagnostics"]} >= {"partition-extent"}


def test_a_contract_makes_a_helper_an_entry_point(capsys: pytest.CaptureFixture[str]) -> None:
    contract = "staged(dst: fp32[R, 6], x: fp32[R, 6], rows: 97..128) where R >= rows"
    status, found = document(capsys, "--contract", contract, "k.py")
    assert kernels(found) == {"staged": "verified", "whole": "verified"}
    status, found = document(capsys, "--contract", contract.replace("128", "129"), "k.py")
    (kernel,) = (k for k in found["kernels"] if k["name"] == "staged")
    assert [c["text"] for c in kernel["precondition"]["conjuncts"]] == ["rows <= 128"]
    status, found = document(capsys, "--kernel", "k.py::staged", "--contract", contract)
    assert status == 0 and kernels(found) == {"staged": "verified"}


def test_without_kernels_the_nearest_functions_are_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "k.py").write_text(TEXT.replace("@nki.jit\n", ""), encoding="utf-8")
    main(["check", "--isolated", "--no-cache", "k.py"])
    out = " ".join(capsys.readouterr().out.split())
    assert "No kernels in 1 file" in out
    named = ("`staged` (line 6 of k.py)", "`whole` (line 16 of k.py)", "`wide` (line 12 of k.py)")
    assert f"nothing launches {', '.join(named)}" in out
    assert "--kernel FILE::NAME" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--kernel", "k.py"], "--kernel takes FILE::NAME, not 'k.py'"),
        (["--kernel", "k.py::whole", "k.py"], "--kernel says what is checked"),
        (
            ["--kernel", "k.py::whloe"],
            "`whloe` is no function that a kernel could be; did you mean",
        ),
        (["--kernel", "gone.py::whole"], "gone.py"),
    ],
)
def test_what_is_not_there_is_said(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["check", "--isolated", "--no-cache", *arguments]) == 2
    assert message in capsys.readouterr().err
