"""Fingerprints of real findings outlive what people do to files."""

from __future__ import annotations

import ast
import json
import random
from pathlib import Path

import pytest

from tests.sweeps import part
from verifier.cli.main import main

FIXTURES = Path(__file__).resolve().parent.parent.parent / "fixtures"


def shifted(text: str) -> str:
    """Every definition somewhere else, with comments and empty lines in between."""
    tree = ast.parse(text)
    lines = text.split("\n")
    pieces: list[tuple[bool, list[str]]] = []
    end = 0
    for statement in tree.body:
        # What stands between two statements belongs to the second one.
        pieces.append((isinstance(statement, ast.FunctionDef), lines[end : statement.end_lineno]))
        end = statement.end_lineno or end
    # A function may be a default, a decorator or a value of what stands below it.
    movable = [piece for function, piece in pieces if function]
    fixed = [piece for function, piece in pieces if not function]
    last = max((n for n, (function, _) in enumerate(pieces) if not function), default=0)
    if last > len(fixed) - 1:
        ordered = [piece for _, piece in pieces]
    else:
        random.Random(7).shuffle(movable)
        ordered = [*fixed, *movable]
    out = ["# shifted", ""]
    for piece in ordered:
        out += [*piece, "", "# 幅", ""]
    return "\n".join([*out, *lines[end:]])


def crlf(text: str) -> str:
    return text.replace("\n", "\r\n")


def findings(root: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, tuple[str, int]]:
    main(["check", str(root), "--format", "json", "--no-cache"])
    document = json.loads(capsys.readouterr().out)
    found = {
        d["fingerprint"]: (f"{d['path']} {d['rule']} {d['kernel']}", d["line"])
        for d in document["diagnostics"]
    }
    assert len(found) == len(document["diagnostics"])
    return found


def test_shifted_and_reordered_files_keep_their_fingerprints(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = [path for path in sorted((FIXTURES / "nki/bad").glob("*.py")) if path.stem[0] != "_"]
    files = part(files, 2, lambda path: [path.parent])
    runs = []
    for change in (None, shifted, crlf):
        root = tmp_path / (change.__name__ if change else "before")
        (root / ".git").mkdir(parents=True)
        (root / "kernels").mkdir()
        monkeypatch.chdir(root)
        for file in (*files, *(FIXTURES / "nki/bad").glob("_*.py")):
            text = file.read_text(encoding="utf-8")
            text = change(text) if change else text
            (root / "kernels" / file.name).write_text(text, encoding="utf-8", newline="")
        runs.append(findings(Path("kernels"), capsys))
    before, moved, ended = runs
    for after in (moved, ended):
        assert {name: what for name, (what, _) in before.items()} == {
            name: what for name, (what, _) in after.items()
        }
    assert len(before) >= len(files)
    assert all(before[name][1] != moved[name][1] for name in before)
