"""Opt-in: counterexamples of real kernels are run: ``TILELINT_CORPUS`` is a folder of clones."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from tests.oracles.agreement import UNJUDGED
from verifier.cli.replay import mark
from verifier.engine import analyze_file
from verifier.executor import replay as module
from verifier.executor.replay import Answer, Item, replay
from verifier.report.model import Diagnostic, FileRequest
from verifier.source.files import collect

CORPUS = os.environ.get("TILELINT_CORPUS")
FOLDERS = ("nki-samples", "aws-neuron-sdk/nki/examples")

#: seconds of a processor for one counterexample; of three runs the quickest counts
QUICK = 0.3

Run = tuple[list[Diagnostic], list[tuple[Item, Answer]]]


@cache
def replayed(folder: str) -> Run:
    """The findings of a corpus that have a counterexample, and what came of each."""
    if CORPUS is None:
        pytest.skip("TILELINT_CORPUS is not set to a folder of clones")
    root = Path(CORPUS) / folder
    if not root.is_dir():
        pytest.skip(f"{folder} is not in TILELINT_CORPUS")
    answers: list[tuple[Item, Answer]] = []

    def noted(items: Sequence[Item], jobs: int) -> list[Answer]:
        found = replay(items, jobs)
        answers.extend(zip(items, found, strict=True))
        return found

    results = [analyze_file(FileRequest(str(path), (str(root),))) for path in collect([root])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "replay", noted)
        marked = mark(results, 2)
    found = [d for r in marked for d in r.diagnostics if d.counterexample is not None]
    return found, answers


@pytest.mark.parametrize(("folder", "least"), [(FOLDERS[0], 120), (FOLDERS[1], 50)])
def test_every_counterexample_is_confirmed(folder: str, least: int) -> None:
    found, answers = replayed(folder)
    said = [
        f"{Path(d.span.path).name}:{d.span.line} {d.rule} {d.replay}: {d.notes}"
        for d in found
        if d.replay != "confirmed" and not (d.replay == "unsupported" and d.rule in UNJUDGED)
    ]
    assert said == []
    assert len(found) == len(answers) > least


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_counterexample_is_run_quickly(folder: str) -> None:
    _, answers = replayed(folder)
    slow = {
        f"{Path(item.path).name}:{item.span.line} {item.rule}": seconds
        for item, answer in answers
        if answer.seconds > QUICK and (seconds := least_seconds(item)) > QUICK
    }
    assert slow == {}


def least_seconds(item: Item) -> float:
    return min(answer.seconds for _ in range(3) for answer in replay([item]))
