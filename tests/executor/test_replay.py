"""Counterexamples are run, apart from the process that checks, and say what came of it."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.support import bad, check
from verifier.cli.replay import mark
from verifier.executor.replay import UNJUDGED, Answer, Item, replay
from verifier.report.model import Diagnostic, FileRequest, FileResult, RunReport, Span

KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def copied(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""


def item(path: Path, text: str, **fields: Any) -> Item:
    path.write_text(text, encoding="utf-8")
    line = next(n for n, row in enumerate(text.splitlines(), 1) if "nl.sbuf" in row)
    given: dict[str, Any] = {
        "path": str(path),
        "kernel": "copied",
        "target": "trn2",
        "api_version": "0.4",
        "rule": "partition-extent",
        "span": Span(str(path), line, 0, line, 80),
        "counterexample": {"x.shape": [129, 64], "x.dtype": "float32"},
        **fields,
    }
    return Item(**given)


def test_counterexamples_of_the_bad_fixtures() -> None:
    results = mark([check(path) for path in bad()], jobs=2)
    found = [d for r in results for d in r.diagnostics if d.counterexample is not None]
    assert len(found) > 40
    said = {(d.kernel, d.rule): (d.replay, d.notes) for d in found if d.replay != "confirmed"}
    assert {state for state, _ in said.values()} <= {"unsupported"}, said
    assert {rule for _, rule in said} <= UNJUDGED, said


def test_the_sizes_do_not_matter(tmp_path: Path) -> None:
    sizes = {"x.shape": [128, 1 << 33], "x.dtype": "float32"}
    entry = item(tmp_path / "k.py", KERNEL, counterexample=sizes, rule="sbuf-tile-size")
    started = time.perf_counter()
    (answer,) = replay([entry])
    assert answer.status == "confirmed"
    assert answer.seconds <= 0.3
    assert time.perf_counter() - started < 5


def test_a_dtype_that_the_kernel_admits_is_found(tmp_path: Path) -> None:
    text = KERNEL.replace("    out =", "    assert x.dtype == nl.bfloat16\n    out =", 1)
    sizes = {"x.shape": [129, 64]}
    assert replay([item(tmp_path / "k.py", text, counterexample=sizes)]) != []
    (answer,) = replay([item(tmp_path / "k.py", text, counterexample=sizes)])
    assert answer.status == "confirmed"


def test_what_does_not_hold_diverges(tmp_path: Path) -> None:
    sizes = {"x.shape": [128, 64], "x.dtype": "float32"}
    entry = item(tmp_path / "k.py", KERNEL, counterexample=sizes)
    possible = replace(entry, sure=False)
    refused = item(
        tmp_path / "refused.py",
        KERNEL.replace("    out =", "    assert x.shape[0] <= 128\n    out =", 1),
    )
    answers = replay([entry, possible, refused])
    assert [a.status for a in answers] == ["diverged", "unsupported", "diverged"]
    assert "refuses" in answers[2].reason


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("    while True:\n        pass\n", "still runs"),
        ("    import os\n    os._exit(3)\n", "ended"),
        ("    big = bytearray(1 << 40)\n", "memory"),
        ("    raise SystemExit(0)\n", "SystemExit"),
    ],
)
def test_kernels_that_misbehave(tmp_path: Path, change: str, reason: str) -> None:
    text = KERNEL.replace("    out =", change + "    out =", 1)
    (answer,) = replay([item(tmp_path / "k.py", text)])
    assert answer.status == "unsupported"
    assert reason in answer.reason


def test_files_that_misbehave(tmp_path: Path) -> None:
    ends = item(tmp_path / "ends.py", "import os\nos._exit(0)\n" + KERNEL)
    fine = item(tmp_path / "fine.py", "print('loud')\n" + KERNEL)
    nested = item(tmp_path / "nested.py", KERNEL, kernel="make.copied")
    assert [a.status for a in replay([ends, fine, nested], 2)] == [
        "unsupported",
        "confirmed",
        "unsupported",
    ]


def test_users_code_stays_out_of_this_process(tmp_path: Path, capfd: Any) -> None:
    where = tmp_path / "pid"
    text = f"import os\nopen({str(where)!r}, 'w').write(str(os.getpid()))\nprint('x')\n" + KERNEL
    (tmp_path / "rules.py").write_text("HERE = 1\n", encoding="utf-8")
    text = "from rules import HERE\nassert HERE == 1\n" + text
    (answer,) = replay([item(tmp_path / "k.py", text)])
    assert answer.status == "confirmed"
    assert int(where.read_text(encoding="utf-8")) != os.getpid()
    assert capfd.readouterr().out == ""


def test_a_diverged_finding_is_no_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from verifier.engine import analyze_file
    from verifier.executor import replay as module

    path = tmp_path / "k.py"
    path.write_text(KERNEL.replace("    out =", "    P, N = x.shape\n    out =", 1))
    result: FileResult = analyze_file(FileRequest(str(path)))
    assert any(d.counterexample is not None for d in result.diagnostics)
    monkeypatch.setattr(
        module, "replay", lambda items, jobs: [Answer("diverged", "made up")] * len(items)
    )
    (marked,) = mark([result], 1)
    assert {d.severity for d in marked.diagnostics} == {"note"}
    assert [k.status for k in marked.kernels] == ["unknown"]
    assert RunReport.merge([marked]).exit_status() == 0
    first: Diagnostic = marked.diagnostics[0]
    assert first.replay == "diverged" and "fault of tilelint" in first.notes[-1]
