"""What is not known is said in words: which import, and its line, never a symbol's name."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from msgspec import to_builtins

from tests.engine.test_nested import HEAD, check
from verifier.engine import analyze_source

SYMBOL = re.compile(r"[A-Za-z_]#\d")

KERNEL = """{imports}

@nki.jit
def kernel(x, trips):
    assert x.shape == (16, 24)
    {before}
    y = nl.ndarray(({rows}, 24), dtype=x.dtype, buffer=nl.sbuf)
    nisa.memset(dst=y, value=0.0)
    out = nl.ndarray((16, 24), dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=x[0:16, 0:24])
    return out
"""
LINE = HEAD.count("\n") + 1


def reasons(tmp_path: Path, imports: str, rows: str, before: str = "pass") -> list[str]:
    text = KERNEL.format(imports=imports, rows=rows, before=before)
    result = check(tmp_path, text)
    said = json.dumps(to_builtins(result), default=str)
    assert not SYMBOL.search(said), SYMBOL.findall(said)
    assert [kernel.status for kernel in result.kernels] == ["unknown"]
    return [reason.message for kernel in result.kernels for reason in kernel.reasons]


@pytest.mark.parametrize(
    ("imports", "rows", "said"),
    [
        ("from helper import size", "size", "`size` of `helper`, which is not found (line {n})"),
        (
            "from .parts.helper import size as s",
            "s * 2",
            "`size` of `.parts.helper`, which is not found (line {n})",
        ),
        (
            "import helper",
            "helper.rows.most",
            "`rows.most` of `helper`, which is not found (line {n})",
        ),
        (
            "from helper import rows",
            "rows(5)",
            "the result of `rows` of `helper`, which is not found (line {n})",
        ),
        ("import numpy as np", "np.lost", "`lost` of `numpy`, which is not followed (line {n})"),
    ],
)
def test_imports_that_are_not_found_are_named(
    tmp_path: Path, imports: str, rows: str, said: str
) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "helper.so").touch()  # compiled
    wanted = f"it depends on values that are not known: {said.format(n=LINE)}"
    found = reasons(tmp_path, imports, rows)
    assert found and any(reason.endswith(wanted) for reason in found), found


def test_names_that_a_star_import_may_bind_are_named(tmp_path: Path) -> None:
    found = reasons(tmp_path, "from gone import *", "rows")
    said = "`nl`, which may come from `gone`, which is not found"
    assert found and any(reason.endswith(said) for reason in found), found


def test_an_import_of_another_module_is_named_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "shapes.py").write_text("\nfrom deleted import ROWS\n", encoding="utf-8")
    found = reasons(tmp_path, "from shapes import ROWS", "ROWS")
    said = "`ROWS` of `deleted`, which is not found (line 2 of shapes.py)"
    assert found and any(reason.endswith(said) for reason in found), found


def test_what_a_loop_forgets_is_named(tmp_path: Path) -> None:
    loop = "n = 1\n    for i in range(trips):\n        n = (n * n + 3) % 300"
    found = reasons(tmp_path, "", "n", loop)
    assert any("the value of `n`" in reason for reason in found), found


def test_two_calls_at_one_place_are_both_named(tmp_path: Path) -> None:
    twice = "def rows(k):\n    return size\n\nfrom helper import size"
    found = reasons(tmp_path, twice, "rows(1)", "z = [rows(k) for k in range(2)]")
    assert any("`size` of `helper`" in reason for reason in found), found


@pytest.mark.parametrize("value", ["+".join(["trips"] * 5000), "-" * 1000 + "trips"])
def test_what_is_nested_too_deep_is_no_syntax_error(tmp_path: Path, value: str) -> None:
    result = check(tmp_path, KERNEL.format(imports=HEAD, before=f"n = {value}", rows=16))
    assert [kernel.status for kernel in result.kernels] == ["unknown"] and not result.errors
    [reason] = result.kernels[0].reasons
    assert reason.message == "source is nested more than 400 levels deep" and reason.line > 1


def test_what_is_returned_is_named() -> None:
    text = "import nki\nfrom kernels import mean\n@nki.jit\ndef run(x):\n    return mean(x)\n"
    [kernel] = analyze_source(text).kernels
    [reason] = kernel.reasons
    assert "`mean` of `kernels`, which is not found" in reason.message
