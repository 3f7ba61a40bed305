"""Opt-in: counterexamples of real kernels are run: ``TILELINT_CORPUS`` is a folder of clones."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from verifier.cli.replay import mark
from verifier.engine import analyze_file
from verifier.executor import replay as module
from verifier.executor.replay import UNJUDGED, Answer, Item, replay
from verifier.report.model import FileRequest
from verifier.source.files import collect

CORPUS = os.environ.get("TILELINT_CORPUS")

#: seconds of a processor for one counterexample
QUICK = 0.3


@pytest.mark.parametrize(
    ("folder", "least"), [("nki-samples", 120), ("aws-neuron-sdk/nki/examples", 50)]
)
def test_every_counterexample_is_confirmed(
    folder: str, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if CORPUS is None:
        pytest.skip("TILELINT_CORPUS is not set to a folder of clones")
    root = Path(CORPUS) / folder
    if not root.is_dir():
        pytest.skip(f"{folder} is not in TILELINT_CORPUS")
    answers: list[tuple[Item, Answer]] = []

    def noted(items: list[Item], jobs: int) -> list[Answer]:
        found = replay(items, jobs)
        answers.extend(zip(items, found, strict=True))
        return found

    monkeypatch.setattr(module, "replay", noted)
    results = [analyze_file(FileRequest(str(path), (str(root),))) for path in collect([root])]
    found = [d for r in mark(results, 2) for d in r.diagnostics if d.counterexample is not None]
    said = [
        f"{Path(d.span.path).name}:{d.span.line} {d.rule} {d.replay}: {d.notes}"
        for d in found
        if d.replay != "confirmed" and not (d.replay == "unsupported" and d.rule in UNJUDGED)
    ]
    assert said == []
    slow = [
        f"{Path(item.path).name}:{item.span.line} {item.rule}: {answer.seconds:.2f} s"
        for item, answer in answers
        if answer.seconds > QUICK
    ]
    assert slow == []
    assert len(found) == len(answers) > least
