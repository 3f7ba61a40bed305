"""Copies of the program, for tests that change it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from tests.commands import ROOT

_PACKAGES = ("verifier", "rules")
#: what another worker is about to write
_UNDER_WAY = shutil.ignore_patterns("*.pyc.*")


def copied(top: Path) -> Path:
    """The program in the folder ``top``, with what is compiled of it: files keep their times."""
    for name in _PACKAGES:
        shutil.copytree(ROOT / name, top / name, ignore=_UNDER_WAY)
        if sys.pycache_prefix is not None:
            beside = Path(sys.pycache_prefix)
            compiled = beside / (ROOT / name).relative_to(ROOT.anchor)
            if compiled.is_dir():
                place = beside / (top / name).relative_to(top.anchor)
                shutil.copytree(compiled, place, ignore=_UNDER_WAY)
    return top
