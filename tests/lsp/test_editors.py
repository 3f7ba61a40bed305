"""Real editors, without a screen. Skipped where they are not installed:

apt-get install neovim               # or any Neovim from 0.7 on, on PATH as ``nvim``
apt-get install emacs-nox elpa-eglot # Emacs from 29 on has eglot already
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lsp.driver import ROOT
from tests.lsp.kernels import HALVE

HERE = Path(__file__).resolve().parent


def environment(folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "PYTHONPATH": str(ROOT),
        "TL_FILE": str(folder / "k.py"),
        "TL_ROOT": str(folder),
        "TL_PYTHON": sys.executable,
        "TL_OUT": str(folder / "seen"),
    }


@pytest.mark.skipif(shutil.which("nvim") is None, reason="needs Neovim: apt-get install neovim")
def test_neovim(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(HALVE, encoding="utf-8")
    subprocess.run(
        [
            "nvim",
            "--headless",
            "-u",
            "NONE",
            "-i",
            "NONE",
            "-c",
            f"luafile {HERE / 'neovim.lua'}",
            "-c",
            "qall!",
        ],
        env=environment(tmp_path),
        timeout=120,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    seen = json.loads((tmp_path / "seen").read_text(encoding="utf-8"))
    assert seen["reason"] == "done", seen
    assert seen["count"] >= 1
    assert "bytes per partition" in seen["hover"]
    assert seen["action"].startswith("insert `assert")
    assert "    assert x.shape[0] <= 128" in seen["text"] or "assert rows <= 128" in seen["text"]


@pytest.mark.skipif(
    shutil.which("emacs") is None, reason="needs Emacs: apt-get install emacs-nox elpa-eglot"
)
def test_emacs(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(HALVE, encoding="utf-8")
    (tmp_path / ".git").mkdir()
    probe = ["emacs", "--batch", "--eval", "(progn (package-initialize) (require 'eglot))"]
    settled = environment(tmp_path)
    if subprocess.run(probe, env=settled, capture_output=True, timeout=60).returncode:
        pytest.skip("this Emacs has no eglot: apt-get install elpa-eglot")
    done = subprocess.run(
        ["emacs", "--batch", "-l", str(HERE / "emacs.el")],
        env=settled,
        timeout=120,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    assert "more partitions" in (tmp_path / "seen").read_text(encoding="utf-8")
