"""The executor agrees with the check on random admitted inputs, and would say so if it did not."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.oracles import admitted
from tests.oracles.admitted import Totals, disagreements
from verifier.engine import analyze_file
from verifier.report.model import FileRequest, FileResult

NKI = Path(__file__).resolve().parents[2] / "fixtures" / "nki"


def runs(name: str) -> Totals:
    totals = Totals()
    file = NKI / f"{name}.py"
    disagreements(file, file.parent, 3, 0, 3.0, totals)
    return totals


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("good/beta1_softmax", "clean"),
        ("good/early_return", "clean"),
        ("bad/slice_off_by_one", "violated"),
    ],
)
def test_runs_agree(name: str, kind: str) -> None:
    totals = runs(name)
    assert totals.wrong == []
    assert totals.counts["kernels"] == 1
    assert totals.counts[kind] == totals.counts["runs"] == 3


def test_a_wrong_verdict_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that is wrongly called verified, a finding that is missing, one that is wrong."""

    def verified(request: FileRequest) -> FileResult:
        result = analyze_file(request)
        kernels = tuple(replace(kernel, status="verified") for kernel in result.kernels)
        return replace(result, kernels=kernels)

    def silent(request: FileRequest) -> FileResult:
        return replace(analyze_file(request), diagnostics=())

    def severe(request: FileRequest) -> FileResult:
        bad = analyze_file(replace(request, path=str(NKI / "bad/matmul_into_sbuf.py")))
        result = analyze_file(request)
        name = result.kernels[0].name
        return replace(result, diagnostics=tuple(replace(d, kernel=name) for d in bad.diagnostics))

    for check, name, words in (
        (verified, "bad/matmul_into_sbuf", "verified, but breaks"),
        (silent, "bad/matmul_into_sbuf", "is not among []"),
        (severe, "good/early_return", "every input breaks"),
    ):
        monkeypatch.setattr(admitted, "analyze_file", check)
        totals = runs(name)
        assert totals.counts["wrong"] == 3
        assert all(words in problem for problem in totals.wrong)


def test_status_tells(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(NKI / "good" / "early_return.py")
    assert admitted.main([file, "--runs", "1"]) == 0
    assert "kernels" in capsys.readouterr().out
