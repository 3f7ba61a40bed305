"""Launch grids on their way from Beta 1 and from later generations (NKI-M041, NKI-L61)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.migration.test_texts import fixed, found

_KERNEL = """\
import {package}nki as nki
import {package}nki.language as nl

GRID = (4,)


@nki.jit
def moved(x):
    assert x.shape == (96, 200) and x.dtype == nl.float32
    {said}
    out = nl.ndarray((96, 200), dtype=nl.float32, buffer=nl.shared_hbm)
    nl.store(out, nl.load(x))
    return out


def launched(x, b):
    grid = 2, 4
    return {launch}
"""
_CORES = "cores that share the kernel"


def messages(path: Path, launch: str, said: str, package: str) -> list[tuple[str, str]]:
    path.write_text(_KERNEL.format(package=package, said=said, launch=launch), encoding="utf-8")
    return [(d.severity, d.message) for d in found(path).diagnostics if "M041" in d.facts]


@pytest.mark.parametrize("package", ["neuronxcc.", ""], ids=["beta1", "later"])
@pytest.mark.parametrize(
    ("launch", "what"),
    [
        ("moved[4](x)", "launched on 4 programs"),
        ("moved[(4,)](x)", "launched on 4 programs"),
        ("moved[GRID](x)", "launched on 4 programs"),
        ("moved[2 * 2](x)", "launched on 4 programs"),
        ("moved[2, 2](x)", "a grid of 2 dimensions"),
        ("moved[b, 1](x)", "a grid of 2 dimensions"),
        ("moved[grid](x)", "a grid of 2 dimensions"),
        ("nki.jit(moved)[2, 2](x)", "a grid of 2 dimensions"),
    ],
)
def test_what_is_no_number_of_cores_is_told(
    launch: str, what: str, package: str, tmp_path: Path
) -> None:
    ((severity, message),) = messages(tmp_path / "grid.py", launch, "pass", package)
    assert severity == "warning" and what in message and _CORES in message


@pytest.mark.parametrize("package", ["neuronxcc.", ""], ids=["beta1", "later"])
def test_cores_are_deprecated(package: str, tmp_path: Path) -> None:
    ((severity, message),) = messages(tmp_path / "grid.py", "moved[2](x)", "pass", package)
    assert severity == "note" and "deprecated" in message


def test_a_number_that_is_not_known_is_one_of_programs_in_beta1_alone(tmp_path: Path) -> None:
    path = tmp_path / "grid.py"
    for package, severity in (("neuronxcc.", "warning"), ("", "note")):
        ((told, _),) = messages(path, "moved[b](x)", "pass", package)
        assert told == severity


@pytest.mark.parametrize(
    "said",
    [
        "assert nl.num_programs(0) == 8",
        "assert nl.program_ndim() == 2",
        "i = nl.program_id(1)",
        "i = nl.program_id(axis=2)",
        "n = nl.num_programs(axes=(0, 1))",
    ],
)
def test_what_a_kernel_asks_of_the_grid_is_told(said: str, tmp_path: Path) -> None:
    told = messages(tmp_path / "grid.py", "moved(x)", said, "neuronxcc.")
    assert [severity for severity, _ in told] == ["warning"] and _CORES in told[0][1]


def test_dimensions_of_one_program_go(tmp_path: Path) -> None:
    path = tmp_path / "grid.py"
    text = _KERNEL.format(package="neuronxcc.", said="pass", launch="moved[2, 1](x)")
    path.write_text(text, encoding="utf-8")
    fixing, _ = fixed(path)
    assert "return moved[2](x)" in fixing.changed[str(path)][1]
