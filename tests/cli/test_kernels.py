from __future__ import annotations

import json
from pathlib import Path

import pytest

from verifier.cli.main import main

from .fake_engine import write


def test_kernels(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, "b/scale.py")
    write(project, "a/add_rows.py")
    (project / "a" / "plain.py").write_text("x = 1\n")
    assert main(["kernels"]) == 0
    assert capsys.readouterr().out == (
        "a/add_rows.py\n"
        "  add_rows:3  nki  @nki.jit\n"
        "\n"
        "b/scale.py\n"
        "  scale:3     nki  @nki.jit\n"
        "\n"
        "2 kernels in 3 files\n"
    )
    assert main(["kernels", "b", "nowhere", "--format", "json"]) == 2
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert document["kernels"] == [
        {
            "path": "b/scale.py",
            "name": "scale",
            "line": 3,
            "dialect": "nki",
            "how": "decorator",
            "wrapper": "nki.jit",
        }
    ]
    assert captured.err == "tilelint: error: nowhere: no such file or directory\n"


def test_absolute_paths_stay_absolute(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, "scale.py")
    assert main(["kernels", str(project)]) == 0
    assert capsys.readouterr().out.startswith(f"{project}/scale.py\n")
