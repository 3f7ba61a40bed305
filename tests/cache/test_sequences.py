"""Any edits, any paths asked for, one cache all along: every answer is that of a fresh look."""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path
from typing import Any

import pytest

from verifier.cli.main import main

EXAMPLES = int(os.environ.get("TILELINT_EXAMPLES", "5"))

FILES = {
    "ops/__init__.py": "from .tiles import clip\n",
    "ops/tiles.py": "LANES = 128\n\n\ndef clip(n):\n    return min(n, LANES)\n\n\ndef spare(n):\n"
    "    return n\n",
    "ops/more.py": "from ops.tiles import LANES\n\nWIDE = LANES * 4\n",
    "kernels.py": """import nki
import nki.isa as nisa
import nki.language as nl

from ops import clip


@nki.jit
def clipped(x):
    M, N = x.shape
    t = nl.ndarray((clip(M), 512), dtype=x.dtype, buffer=nl.sbuf)
    return x


@nki.jit
def fixed(x):
    from ops.more import WIDE

    t = nl.ndarray((128, WIDE), dtype=x.dtype, buffer=nl.sbuf)
    return x
""",
    "plain.py": """import nki.language as nl


def copy(x):
    t = nl.ndarray((x.shape[0], 512), dtype=x.dtype, buffer=nl.sbuf)
    return x
""",
    "wrapped.py": "import nki\nfrom plain import copy\n\nkernel = nki.jit(copy)\n",
}

EDITS = [
    ("ops/tiles.py", "LANES = 128", "LANES = 200"),
    ("ops/tiles.py", "min(n, LANES)", "n"),
    ("ops/tiles.py", "    return n\n", "    return n + 1\n"),
    ("ops/tiles.py", "LANES", "\n\nLANES"),
    ("ops/__init__.py", "from .tiles import clip", "from .tiles import spare as clip"),
    ("ops/__init__.py", "from .tiles import clip", "from .tiles import *"),
    ("ops/more.py", "* 4", "* 4000"),
    ("kernels.py", "clip(M)", "clip(N)"),
    ("kernels.py", "@nki.jit\ndef fixed", "# moved\n\n@nki.jit\ndef fixed"),
    ("plain.py", "def copy", "# tilelint: contract (x: bf16[96, 512])\ndef copy"),
    ("plain.py", "import nki.language as nl", "import neuronxcc.nki.language as nl"),
    ("plain.py", "x.shape[0], 512", "min(x.shape[0], 128), 512"),
    ("wrapped.py", "from plain", "\nfrom plain"),
]


def checked(capsys: pytest.CaptureFixture[str], *arguments: str) -> object:
    status = main(["check", "--format", "json", "--jobs", "1", *arguments])
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    for kernel in document["kernels"]:
        kernel["time_ms"] = 0
    return status, document, captured.err


@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_random_edits(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    seed: int,
) -> None:
    rng = random.Random(seed)
    project = tmp_path / "project"
    for name, text in FILES.items():
        file = project / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.chdir(project)
    cache = ("--cache-dir", str(tmp_path / "cache"))
    gone: dict[Path, str] = {}
    for _ in range(12):
        kind = rng.random()
        name, old, new = rng.choice(EDITS)
        file = project / name
        if kind < 0.15 and file.exists():
            gone[file] = file.read_text()
            file.unlink()
        elif gone and kind < 0.45:
            back, text = gone.popitem()
            back.write_text(text)
        elif file.exists():
            text = file.read_text()
            file.write_text(text.replace(new, old) if new in text else text.replace(old, new, 1))
        asked = rng.choice([["."], ["kernels.py"], ["wrapped.py"], ["ops", "wrapped.py"]])
        asked = [path for path in asked if Path(path).exists()] or ["."]
        assert checked(capsys, *cache, *asked) == checked(capsys, "--no-cache", *asked)


def test_what_a_kept_kernel_depends_on_is_not_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file is asked for in another way, so that only its kernels' results are found again."""
    monkeypatch.chdir(tmp_path)
    cache = ("--cache-dir", str(tmp_path / "cache"))
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    first = checked(capsys, *cache, ".")
    checked(capsys, *cache, "kernels.py")
    tiles = tmp_path / "ops" / "tiles.py"
    tiles.write_text(tiles.read_text().replace("128", "256"))
    warm = checked(capsys, *cache, "kernels.py")
    assert warm == checked(capsys, "--no-cache", "kernels.py")
    assert warm != first


def test_a_busy_machine_takes_nothing_of_a_time_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.py").write_text(
        "import nki\nimport nki.language as nl\n\n\n@nki.jit\ndef f(x):\n"
        "    t = nl.ndarray((128, 4), dtype=nl.float32, buffer=nl.sbuf)\n    return x\n"
    )
    arguments = ("--cache-dir", str(tmp_path / "cache"), "--timeout", "1", "k.py")
    from verifier.engine import case
    from verifier.symbolic.python import entry

    real = entry.interpreted

    def busy(*given: Any) -> object:
        time.sleep(1.2)
        return real(*given)

    with monkeypatch.context() as patch:
        patch.setattr(case, "interpreted", busy)
        slow = checked(capsys, *arguments)
    assert slow == checked(capsys, "--no-cache", *arguments[2:])
