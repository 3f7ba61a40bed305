"""The fixture kernels on numbers: the good ones compute what they say, the bad ones are caught."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.executor.cases import BAD, BF16, GOOD, Case, f
from verifier.executor import simulate

NKI = Path(__file__).resolve().parents[2] / "fixtures" / "nki"


def launched(case: Case, folder: str, **options: Any) -> Any:
    path = NKI / folder / f"{case.file}.py"
    text = path.read_text(encoding="utf-8")
    found = re.match(r"# fixture:.*\bapi=(\S+)", text)
    made = simulate(f"{path}::{case.kernel}", case.target, found[1] if found else None, **options)
    return made[case.grid] if case.grid else made


@pytest.mark.parametrize("case", GOOD, ids=lambda case: case.file)
def test_good_kernels_compute_what_they_say(case: Case) -> None:
    outcome = launched(case, "good").outcome(**case.make())
    assert outcome.ended is None and outcome.diagnostics == []
    for output in outcome.outputs:
        assert not np.isnan(f(output)).any()
    if case.reference is not None:
        wanted = f(case.reference(*case.make().values()))
        got = f(outcome.outputs[0])
        assert got.shape == wanted.shape
        assert np.abs(got - wanted).max() <= case.tolerance * max(1.0, np.abs(wanted).max())


def test_every_good_fixture_is_run() -> None:
    # a kernel that a function makes is no name of its file
    named = {case.file for case in GOOD} | {"factory_scale"}
    kernels = {p.stem for p in (NKI / "good").glob("*.py") if "jit" in p.read_text()}
    assert kernels <= named


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.file)
def test_faults_show(case: Case) -> None:
    path = NKI / "bad" / f"{case.file}.py"
    text = path.read_text(encoding="utf-8")
    arguments = case.make()
    if case.file == "moving_too_wide":
        width = int(re.search(r"WIDTH = (\d+)", text)[1])  # type: ignore[index]
        arguments["x"] = np.zeros((128, width), BF16)
    wanted = re.findall(r"# fault: ([\w-]+)", text)
    if not wanted:  # the fault is in a helper
        wanted = re.findall(r"# fault: ([\w-]+)", (path.parent / "_bands.py").read_text())
    outcome = launched(case, "bad").outcome(**arguments)
    found = [d.rule for d in outcome.diagnostics if d.severity != "note"]
    assert found[:1] == wanted[:1]
    lines = [n for n, line in enumerate(text.splitlines(), 1) if "# fault" in line]
    place = outcome.diagnostics[0].span
    if place.path == str(path) and wanted[0] not in ("output-not-written", "output-buffer"):
        assert any(place.line <= line <= place.end_line + 2 for line in lines)


@pytest.mark.parametrize("case", GOOD[:12], ids=lambda case: case.file)
def test_shapes_alone_find_no_fault(case: Case) -> None:
    from verifier.executor.machine import Options
    from verifier.executor.running import Shaped

    made = launched(case, "good")
    shapes = Options(shapes_only=True)
    alone = type(made)(made.kernel, made.target, made.api_version, shapes, made.grid)
    arguments = {
        name: Shaped(value.dtype.name, value.shape) if isinstance(value, np.ndarray) else value
        for name, value in case.make().items()
    }
    outcome = alone.outcome(**arguments)
    assert outcome.ended is None and outcome.violations == []


@pytest.mark.parametrize("order", ["reversed", "shuffled"])
def test_independent_iterations_in_any_order(order: str) -> None:
    case = next(case for case in GOOD if case.file == "beta1_softmax")
    first = launched(case, "good")(**case.make())
    again = launched(case, "good", loop_order=order)(**case.make())
    np.testing.assert_array_equal(first, again)
