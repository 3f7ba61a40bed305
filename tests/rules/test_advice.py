"""Advice is given where it is asked for and good for every input, and changes nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from verifier.cli.main import main
from verifier.engine import analyze_source
from verifier.rulebase import ADVICE, Rule, all_rules, is_checked

ADVISING = [rule for rule in all_rules() if rule.family == ADVICE]
REST = tuple(rule.id for rule in all_rules() if rule.family != ADVICE)
BOTH = (*REST, *(rule.id for rule in ADVISING))


@pytest.mark.parametrize("rule", ADVISING, ids=lambda rule: rule.id)
def test_it_changes_nothing_but_notes(rule: Rule) -> None:
    without = analyze_source(rule.failing)
    assert not [d for d in without.diagnostics if d.rule.startswith("advice-")]
    advised = analyze_source(rule.failing, select=BOTH)
    told = [d for d in advised.diagnostics if d.rule.startswith("advice-")]
    assert rule.id in {d.rule for d in told}
    assert all(d.severity == "note" and d.verdict == "always" and d.facts and d.help for d in told)
    assert [d for d in advised.diagnostics if d not in told] == list(without.diagnostics)
    for one, other in zip(without.kernels, advised.kernels, strict=True):
        assert (one.status, one.precondition) == (other.status, other.precondition)
        assert (one.obligations, one.reasons) == (other.obligations, other.reasons)


def test_it_is_checked_where_it_is_selected_only() -> None:
    advice = ADVISING[0]
    assert not is_checked(advice, (), ())
    assert is_checked(advice, (advice.id,), ())
    assert not is_checked(advice, (advice.id,), (advice.id,))
    assert is_checked(replace(advice, family="memory"), (), ())


def test_what_is_good_for_some_inputs_is_not_advised() -> None:
    text = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def doubled(x):
    rows, columns = x.shape
    assert rows <= 128 and columns <= {most}
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""

    def told(most: int) -> set[str]:
        result = analyze_source(text.format(most=most), select=BOTH)
        return {d.rule for d in result.diagnostics if d.rule.startswith("advice-")}

    assert told(512) == set()
    assert told(511) == {"advice-dma-size"}


def test_alone_it_comes_on_top_of_the_rest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [rule] = [rule for rule in ADVISING if rule.id == "advice-dma-size"]
    file = tmp_path / "kernel.py"
    file.write_text(rule.failing, encoding="utf-8")
    reports = []
    for more in ([], ["--select", "advice"], ["--select", "advice-dma-size"]):
        assert main(["check", str(file), "--no-cache", "--format", "json", "--strict", *more]) == 0
        reports.append(json.loads(capsys.readouterr().out))
    totals = [report["kernels"][0]["obligations"] for report in reports]
    assert totals[0] == totals[1] == totals[2] and totals[0]["proved"] > 0
    assert [bool(report["diagnostics"]) for report in reports] == [False, True, True]


@pytest.mark.parametrize(
    ("rule", "call"),
    [
        # the compiler's choice of an engine for integers of 32 bits in SBUF is GpSimd
        ("advice-integer-precision", "nisa.tensor_tensor(tile, tile, tile, nl.add)"),
        (
            "advice-slope",
            "nisa.activate2(tile, nl.prelu, tile, 1.0, 0.0, nl.multiply, nl.add, relu_param=0.1)",
        ),
    ],
)
def test_what_is_done_already_is_not_advised(rule: str, call: str) -> None:
    text = f"""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def advised(x):
    assert x.shape == (72, 640) and x.dtype == nl.int32
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    {call}
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
    for text_ in (text, text.replace("int32", "float32")):
        found = analyze_source(text_, target="trn3", api_version="0.6", select=(rule,))
        assert found.kernels and not [d for d in found.diagnostics if d.rule == rule]
        assert not found.errors
