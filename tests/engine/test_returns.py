"""Several returns: each is judged by what was stored on its own path."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.test_nested import check

KERNEL = """
@nki.jit
def kernel(x, factor):
    P, N = x.shape
    assert P <= 128 and N <= 1000
    y = nl.ndarray((P, N), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((P, N), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    {before}if factor == 1:
        {early}return y
    nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=3.0)
    nisa.dma_copy(dst=y, src=t)
    return y
"""
STORE = "nisa.dma_copy(dst=y, src=t)"


def test_an_early_return_without_a_store_is_found(tmp_path: Path) -> None:
    result = check(tmp_path, KERNEL.format(before="", early=""))
    (finding,) = result.diagnostics
    assert finding.rule == "output-not-written"
    assert dict(finding.counterexample or {})["factor"] == 1


@pytest.mark.parametrize(("before", "early"), [(STORE + "\n    ", ""), ("", STORE + "\n        ")])
def test_an_early_return_after_a_store_is_fine(tmp_path: Path, before: str, early: str) -> None:
    (kernel,) = check(tmp_path, KERNEL.format(before=before, early=early)).kernels
    assert kernel.status == "verified"


TAIL = """
@nki.jit
def kernel(x):
    P, W = x.shape
    assert P == 8 and x.dtype == nl.float32 and W <= 40
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in range(W // 12):
        nisa.dma_copy(dst=out[:, 12 * i : 12 * i + 12], src=x[:, 12 * i : 12 * i + 12])
    if W % 12 > {least}:
        w = {fault}
    return out
"""


@pytest.mark.parametrize(
    "fault", ["[None][0] + 1", "len(3)", "P(3)", "missing", "[P][2]", "'a' + P", "int('x')"]
)
@pytest.mark.parametrize(("least", "severity"), [(1, "error"), (0, "warning")])
def test_an_error_of_other_inputs_hides_no_tail(
    tmp_path: Path, fault: str, least: int, severity: str
) -> None:
    """A column that is left over is lost where more of them end in an error."""
    result = check(tmp_path, TAIL.format(fault=fault, least=least))
    (kernel,) = result.kernels
    assert kernel.precondition is not None and kernel.precondition.exact
    assert [conjunct.text for conjunct in kernel.precondition.conjuncts] == ["W % 12 == 0"]
    assert result.diagnostics[0].severity == severity


def test_an_error_in_some_trip_hides_no_tail(tmp_path: Path) -> None:
    text = TAIL.replace("    if W", "        if i == 2:\n            w = [][i]\n    if W")
    result = check(tmp_path, text.format(fault="None", least=0))
    (kernel,) = result.kernels
    assert kernel.status == "violated" or result.diagnostics[0].severity == "error"


def test_behind_an_error_of_all_inputs_nothing_is_missed(tmp_path: Path) -> None:
    result = check(tmp_path, TAIL.format(fault="None", least=0).replace("if W", "P()\n    if W"))
    assert [finding.rule for finding in result.diagnostics] == ["wrong-type"]


KEPT = """
@nki.jit
def kernel(x, aux: bool, more: bool):
    P, N = x.shape
    assert P <= 128 and N <= 1000
    t = nl.ndarray((P, N), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    y = nl.ndarray((P, N), dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=y, src=t)
    {body}
"""
NEW = "nl.ndarray((P, N), dtype=x.dtype, buffer=nl.shared_hbm)"


@pytest.mark.parametrize(
    ("start", "there", "last", "returned", "name"),
    [
        ("outs = [y]", f"outs.append({NEW})", "outs[-1]", "outs", "outs"),
        ('outs = {"y": y}', f'outs["z"] = {NEW}', 'outs["z"]', "outs.values()", 'outs["z"]'),
        (f"outs, z = [y], {NEW}", "outs.append(z)", "z", "outs", "z"),
        ("outs, more_ = [y], []", f"z = {NEW}; more_ = [z]", "z", "outs + more_", "z"),
        (f"outs, z = [y], {NEW}", "", "z", "[[outs, z] if aux else y]", "z"),
    ],
)
def test_what_a_flag_puts_into_a_list_is_returned_where_it_is_set(
    tmp_path: Path, start: str, there: str, last: str, returned: str, name: str
) -> None:
    told = f"`{name}` is returned, but not all of it is written"
    needed: list[tuple[str, str]] = [("not aux or more", told)]
    for stored, needs in (("True", []), ("more", needed)):
        body = f"""{start}
    if aux:
        {there or "pass"}
        if {stored}:
            nisa.dma_copy(dst={last}, src=t)
    return tuple({returned})"""
        result = check(tmp_path, KEPT.format(body=body))
        (kernel,) = result.kernels
        assert kernel.status == ("conditional" if needs else "verified")
        conjuncts = kernel.precondition.conjuncts if kernel.precondition else ()
        assert [(conjunct.text, conjunct.what) for conjunct in conjuncts] == needs


def test_an_empty_list_is_nothing_that_is_returned(tmp_path: Path) -> None:
    body = "outs = []\n    if aux:\n        outs.append(y)\n    return outs"
    result = check(tmp_path, KEPT.format(body=body))
    (kernel,) = result.kernels
    assert kernel.precondition is not None and kernel.precondition.exact
    assert [(c.text, c.rule) for c in kernel.precondition.conjuncts] == [("aux", "no-output")]


NESTED = """
@nki.jit
def kernel(x, rows=128, columns=512):
    P, N = x.shape
    down, along = P // rows, N // columns
    y = nl.ndarray((P, N), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(along):
        for j in nl.affine_range(down):
            nisa.dma_copy(dst=y, src=x)
            return y
"""


def test_what_a_loop_that_is_left_says_later_hides_no_division_before(tmp_path: Path) -> None:
    (kernel,) = check(tmp_path, NESTED).kernels
    found = kernel.precondition
    assert found is not None and found.exact
    assert {"rows >= 1", "columns >= 1"} <= {c.text for c in found.conjuncts}


UNSTORED = """
@nki.jit
def kernel(x, k=8):
    P, N = x.shape
    assert P <= 128 and N <= 512
    first = nl.ndarray((P, k), dtype=x.dtype, buffer=nl.shared_hbm)
    second = nl.ndarray((P, k), dtype=nl.int32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=first, src=x[:, 0:k])
    return first, second
"""


def test_an_output_that_is_never_stored_is_the_fault_and_not_that_it_has_elements(
    tmp_path: Path,
) -> None:
    result = check(tmp_path, UNSTORED)
    (found,) = (d for d in result.diagnostics if d.severity == "error")
    assert found.rule == "output-not-written" and "second" in found.message
    precondition = result.kernels[0].precondition
    assert precondition is not None and precondition.text == "k >= 1 and k <= N"
