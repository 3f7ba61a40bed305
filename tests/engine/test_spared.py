"""Work that need not be done, or not twice."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from rules.memory.wholes import Along, Filling
from verifier.engine import analyze_file
from verifier.report.model import FileRequest
from verifier.source.outline import Outline, outline
from verifier.source.text import SourceText

TAIL = Path(__file__).resolve().parents[2] / "fixtures" / "nki" / "bad" / "contraction_tail.py"


def test_a_file_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: Counter[str] = Counter()

    def counted(source: SourceText) -> Outline:
        parsed[source.path.name] += 1
        return outline(source)

    monkeypatch.setattr("verifier.source.project.outline", counted)
    analyze_file(FileRequest(path=str(TAIL), roots=(str(TAIL.parent),)))
    assert parsed[TAIL.name] == 1


def test_two_samples_that_show_a_whole_dimension_are_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: Counter[tuple[int, bool]] = Counter()
    met: list[Along] = []  # alive, so that none has the number of another one
    sampled = Along._sampled

    def counted(along: Along, filling: Filling, tiles: int, last: bool) -> bool | None:
        found = sampled(along, filling, tiles, last)
        met.append(along)
        shown[id(along), last] += bool(found)
        return found

    monkeypatch.setattr(Along, "_sampled", counted)
    result = analyze_file(FileRequest(path=str(TAIL), roots=(str(TAIL.parent),)))
    assert any(found.rule == "input-tail-dropped" for found in result.diagnostics)
    assert shown
    assert max(shown.values()) == 2
