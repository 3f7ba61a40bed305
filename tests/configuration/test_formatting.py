"""How long a line may be: what the nearest configuration of a formatter says."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifier.configuration.formatting import LineLengths
from verifier.engine.wrapping import width


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, None),
        ({"pyproject.toml": "[tool.black]\nline-length = 97\n"}, 97),
        ({"pyproject.toml": "[tool.black]\nline_length = 97\n[tool.ruff]\nline-length = 111"}, 111),
        ({"pyproject.toml": "[tool.ruff]\n", "ruff.toml": "line-length = 79"}, 79),
        ({"ruff.toml": "line-length = 79", "src/ruff.toml": "line-length = 140"}, 140),
        ({"ruff.toml": "line-length = 79", "src/pyproject.toml": "[tool.black]"}, 79),
        ({"ruff.toml": "line-length = 79", "src/.git": ""}, None),
        ({"ruff.toml": "line-length = 79", "src/ruff.toml": "line-length = '"}, 79),
        ({"ruff.toml": "line-length = true"}, None),
        ({"pyproject.toml": "tool = 3"}, None),
    ],
)
def test_line_lengths(files: dict[str, str], expected: int | None, tmp_path: Path) -> None:
    (tmp_path / "src" / "kernels").mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    lengths = LineLengths()
    for name in ("a.py", "b.py"):
        assert lengths.of(str(tmp_path / "src" / "kernels" / name)) == expected


def test_what_nobody_says_the_lines_show() -> None:
    assert width(70, ["x" * 200]) == 70
    assert width(None, ["x" * 88]) == 88
    assert width(None, ["x", "x" * 89]) == 100
