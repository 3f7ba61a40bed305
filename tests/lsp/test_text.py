"""Buffers: edits as LSP means them, and where things are afterwards."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.lsp.driver import offset
from tests.sweeps import examples
from verifier.lsp.text import Buffer, Position, bare, column, moved, split, touched, units
from verifier.report.model import Span

#: everything that editors disagree about
PIECES = st.sampled_from(
    ["a", "b ", "é", "😀", "\n", "\r\n", "\r", "\u2028", "\x0c", "\t", "x = 1"]
)
TEXT = st.lists(PIECES, max_size=25).map("".join)


@st.composite
def edited(draw: st.DrawFn) -> tuple[str, list[tuple[float, float, str, bool]]]:
    fraction = st.floats(0, 1)
    edits = st.tuples(fraction, fraction, TEXT, st.booleans())
    return draw(TEXT), draw(st.lists(edits, max_size=8))


def place(buffer: Buffer, fraction: float) -> Position:
    places = [
        Position(n, c) for n, row in enumerate(buffer.lines) for c in range(len(bare(row)) + 1)
    ]
    return places[int(fraction * (len(places) - 1))]


@given(edited())
@settings(max_examples=examples(150), deadline=None)
def test_edits_do_what_they_say(sample: tuple[str, list[tuple[float, float, str, bool]]]) -> None:
    text, edits = sample
    buffer = Buffer("u", "p", 1, text)
    for one, other, new, whole in edits:
        start, end = sorted((place(buffer, one), place(buffer, other)))
        before = buffer.text
        first, last = offset(before, start), offset(before, end)
        wanted = before[:first] + new + before[last:]
        if whole:
            buffer.reset(wanted)
        else:
            buffer.replace(start, end, new)
        assert buffer.text == wanted
        assert list(buffer.lines) == split(wanted)


@given(edited(), st.floats(0, 1))
@settings(max_examples=examples(150), deadline=None)
def test_what_is_not_touched_is_found_again(
    sample: tuple[str, list[tuple[float, float, str, bool]]], where: float
) -> None:
    """A mark in the text stays where the changes say it is, as long as no edit reaches it."""
    text, edits = sample
    buffer = Buffer("u", "p", 1, text)
    at = place(buffer, where)
    buffer.replace(at, at, "MARK")
    revision = buffer.revision
    span = Span("p", at.line + 1, at.column, at.line + 1, at.column + 4)
    for one, other, new, _ in edits:
        start, end = sorted((place(buffer, one), place(buffer, other)))
        buffer.replace(start, end, new)
        changes = buffer.since(revision)
        assert changes is not None
        if touched(span, changes):
            return
        now = moved(span, changes)
        assert now is not None
        row = bare(buffer.lines[now.line - 1])
        assert now.line == now.end_line
        assert row[now.column : now.end_column] == "MARK"


def test_lines_end_where_lsp_says() -> None:
    assert split("") == [""]
    assert split("a\r\nb\rc\nd\u2028e\x0c\n") == ["a\r\n", "b\r", "c\n", "d\u2028e\x0c\n", ""]


def test_columns_and_units() -> None:
    line = "x = '😀é'  # ok"
    for encoding in ("utf-8", "utf-16", "utf-32"):
        for index in range(len(line) + 1):
            character = units(line[:index], encoding)
            assert column(line, character, encoding) == index
    # in the middle of a character is before it; past the end is the end
    assert column(line, 6, "utf-16") == 5
    assert column(line, 7, "utf-8") == 5
    assert column(line, 999, "utf-16") == len(line)
    assert column(line + "\r\n", 999, "utf-8") == len(line)


def test_positions_outside_of_the_text() -> None:
    buffer = Buffer("u", "p", 1, "ab\ncd")
    assert buffer.position(7, 3, "utf-16") == Position(1, 2)
    assert buffer.position(0, 9, "utf-16") == Position(0, 2)
    assert buffer.position(-1, 0, "utf-16") == Position(0, 0)


def test_a_deleted_place_is_gone() -> None:
    buffer = Buffer("u", "p", 1, "one\ntwo\nthree\n")
    revision = buffer.revision
    buffer.replace(Position(0, 0), Position(2, 0), "")
    changes = buffer.since(revision)
    assert changes is not None
    assert moved(Span("p", 2, 0, 2, 3), changes) is None
    assert moved(Span("p", 3, 0, 3, 5), changes) == Span("p", 1, 0, 1, 5)
    assert buffer.since(-5000) is None
    assert re.fullmatch("three\n", buffer.text)
