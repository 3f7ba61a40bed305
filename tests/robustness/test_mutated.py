"""Fixtures with tokens dropped, swapped or doubled and bytes changed: never an internal error."""

from __future__ import annotations

import io
import itertools
import os
import tokenize
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.sweeps import thinned
from verifier.engine import analyze_file
from verifier.report.model import FileRequest, FileResult

from .support import FIXTURES, bad, good

FILES = [p.read_text(encoding="utf-8") for p in sorted(FIXTURES.rglob("*.py"))]
TEXTS = [good(), bad(), *filter(None, FILES)]
#: of the texts that are cut off, each so many-th
_EVERY = 5 if "TILELINT_EXAMPLES" in os.environ else thinned(40)
COMMON = settings(
    max_examples=int(os.environ.get("TILELINT_EXAMPLES", 6 // thinned(1))),
    deadline=None,
    derandomize="TILELINT_EXAMPLES" not in os.environ,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def analysed(folder: Path, content: bytes) -> FileResult:
    path = folder / "mutant.py"
    path.write_bytes(content)
    return analyze_file(FileRequest(str(path), (str(folder),), timeout=2.0))


def check(folder: Path, content: bytes) -> None:
    result = analysed(folder, content)
    internal = [error.message for error in result.errors if error.kind == "internal"]
    assert internal == [], content.decode("utf-8", "replace")


def pieces(text: str) -> list[str]:
    """The text cut at its tokens; joined, they are the text again."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    cuts = {0, len(text)}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        for row, column in (token.start, token.end):
            if row <= len(lines):
                cuts.add(min(starts[row - 1] + column, len(text)))
    ordered = sorted(cuts)
    return [text[a:b] for a, b in itertools.pairwise(ordered)]


def words(parts: Sequence[str]) -> list[int]:
    return [i for i, part in enumerate(parts) if part.strip()]


@given(st.data())
@COMMON
def test_tokens_dropped(tmp_path: Path, data: st.DataObject) -> None:
    parts = pieces(data.draw(st.sampled_from(TEXTS)))
    drop = data.draw(st.sets(st.sampled_from(words(parts)), min_size=1, max_size=3))
    check(tmp_path, "".join(p for i, p in enumerate(parts) if i not in drop).encode())


@given(st.data())
@COMMON
def test_tokens_exchanged(tmp_path: Path, data: st.DataObject) -> None:
    parts = pieces(data.draw(st.sampled_from(TEXTS)))
    for _ in range(data.draw(st.integers(1, 3))):
        a, b = (data.draw(st.sampled_from(words(parts))) for _ in range(2))
        parts[a], parts[b] = parts[b], parts[a]
    check(tmp_path, "".join(parts).encode())


@given(st.data())
@COMMON
def test_words_replaced(tmp_path: Path, data: st.DataObject) -> None:
    """The text still parses more often than not, so that the interpreter sees nonsense."""
    parts = pieces(data.draw(st.sampled_from(TEXTS)))
    nouns = [i for i in words(parts) if parts[i].isidentifier() or parts[i].isdigit()]
    vocabulary = sorted({parts[i] for i in nouns})
    odd = ["0", "-1", "None", "[]", "()", "{}", "'s'", "1.5", "True", "nl", "lambda: 0", "range(3)"]
    for _ in range(data.draw(st.integers(1, 3))):
        where = data.draw(st.sampled_from(nouns))
        parts[where] = data.draw(st.sampled_from(vocabulary + odd))
    check(tmp_path, "".join(parts).encode())


@given(st.data())
@COMMON
def test_bytes_changed(tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(data.draw(st.sampled_from(TEXTS)).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    check(tmp_path, bytes(content))


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75, 0.95])
def test_cut_off(tmp_path: Path, share: float) -> None:
    for text in TEXTS[::_EVERY]:
        check(tmp_path, text[: int(len(text) * share)].encode())
