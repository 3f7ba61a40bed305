"""What a module says of its own running: what an editor may change without another analysis."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifier.source.project import EFFECTS, Module

TEXT = """SIZES = {}


def rows(n):
    return SIZES[n] + 2
"""


def digest(text: str) -> str:
    return Module(Path("sizes.py"), text).digest(EFFECTS)[0]


@pytest.mark.parametrize(
    ("old", "new"), [("+ 2", "+ 3"), ("\n\n\ndef", "\n\n\n# of a tile\n\ndef"), ("(n)", "( n )")]
)
def test_what_a_body_computes_is_not_told(old: str, new: str) -> None:
    assert digest(TEXT.replace(old, new)) == digest(TEXT)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return SIZES[n] + 2", "SIZES[n] = 2"),  # the same names: but one changes the other
        ("return SIZES[n] + 2", "return SIZES.pop(n) + 2"),
        ("return SIZES[n] + 2", "return n + 2"),
        ("    return", "    global rows\n    return"),
        ("rows(n)", "rows(n, seen=[])"),
        ("SIZES = {}", "SIZES = {1: 2}"),
        ("SIZES = {}", "import sizes\nSIZES = {}"),
        ("SIZES = {}", "SIZES = {}\nSIZES[1] = 2"),
    ],
)
def test_what_a_module_may_change_is(old: str, new: str) -> None:
    assert digest(TEXT.replace(old, new)) != digest(TEXT)
