"""What is not edited stays as it was, byte for byte."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sweeps import examples
from verifier.source.edits import Replacement, exact, problem, replaced
from verifier.source.text import SourceError

PATH = Path("k.py")


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"x = 1",
        b"x = 1\r\ny = 2\r\n",
        b"x = 1\ny = 2\r\nz = 3\r",
        codecs.BOM_UTF8 + "größe = 1\n".encode(),
        b"# -*- coding: latin-1 -*-\nx = '\xe9'\n",
        codecs.BOM_UTF8 + b"# coding: utf-8\nx = 1\n",
        b"\x0c\nx = 1\t \n\n\n",
    ],
)
def test_files_are_written_back_as_they_were(raw: bytes) -> None:
    file = exact(PATH, raw)
    assert file.encoded(file.text) == raw


def test_an_encoding_that_lacks_a_character() -> None:
    file = exact(PATH, b"# coding: latin-1\nx = 1\n")
    with pytest.raises(SourceError) as caught:
        file.encoded(file.text + "y = '\N{EURO SIGN}'\n")
    assert caught.value.line == 3


def test_an_encoding_that_loses_something() -> None:
    with pytest.raises(SourceError):
        exact(PATH, b"# coding: utf-7\nx = '+AGE-'\n")


@pytest.mark.parametrize("where", [(0, 0), (4, 0), (1, 9), (2, 6)])
def test_places_that_are_not_there(where: tuple[int, int]) -> None:
    with pytest.raises(ValueError):
        replaced("x = 1\ny = 2\n", [Replacement(*where, *where, "z")])


def test_regions_that_overlap() -> None:
    with pytest.raises(ValueError):
        replaced("abcdef", [Replacement(1, 0, 1, 3, ""), Replacement(1, 2, 1, 4, "")])


def test_line_ends_that_would_become_one() -> None:
    with pytest.raises(ValueError, match="run together"):
        replaced("a\rb\nc\n", [Replacement(2, 0, 2, 1, "")])


def test_new_lines_end_like_their_neighbours() -> None:
    text = "a\r\nb\nc\r"
    assert replaced(text, [Replacement(1, 0, 1, 0, "x\n")]) == "x\r\na\r\nb\nc\r"
    assert replaced(text, [Replacement(2, 0, 2, 0, "x\n")]) == "a\r\nx\nb\nc\r"
    assert replaced(text, [Replacement(3, 0, 3, 1, "x\ny")]) == "a\r\nb\nx\ry\r"


def test_what_is_no_python() -> None:
    assert problem(PATH, "x = 1\n") is None
    found = problem(PATH, "x = 1\ny = = 2\n")
    assert found is not None and found.line == 2


LINES = st.text(alphabet="ab \té\x0c#'", max_size=8)
ROWS = st.sampled_from([["\n", "\r\n"], ["\r"], ["\n"]]).flatmap(
    lambda ends: st.lists(st.tuples(LINES, st.sampled_from(ends)), max_size=8)
)


@st.composite
def edited(draw: st.DrawFn) -> tuple[str, list[Replacement], list[Replacement]]:
    """A text, replacements of it, and those that take them back."""
    rows = draw(ROWS)
    text = "".join(row + end for row, end in rows)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    changes: list[Replacement] = []
    back: list[Replacement] = []
    for number, line in enumerate(lines, 1):
        if draw(st.booleans()):
            first = draw(st.integers(0, len(line)))
            last = draw(st.integers(first, len(line)))
            new = draw(st.text(alphabet="xyz é", max_size=4))
            changes.append(Replacement(number, first, number, last, new))
            back.append(Replacement(number, first, number, first + len(new), line[first:last]))
    return text, changes, back


@given(edited())
@settings(max_examples=examples(300), deadline=None)
def test_edits_can_be_taken_back(case: tuple[str, list[Replacement], list[Replacement]]) -> None:
    text, changes, back = case
    assert replaced(replaced(text, changes), back) == text


@given(ROWS, st.integers(0, 8))
@settings(max_examples=examples(300), deadline=None)
def test_inserted_lines_can_be_taken_out(rows: list[tuple[str, str]], at: int) -> None:
    text = "".join(row + end for row, end in rows)
    count = len(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    line = min(at, count - 1) + 1
    longer = replaced(text, [Replacement(line, 0, line, 0, "assert new\n")])
    assert replaced(longer, [Replacement(line, 0, line + 1, 0, "")]) == text
