from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sweeps import examples
from verifier.report.frames import Mark, frame
from verifier.report.model import Span
from verifier.report.sources import Sources
from verifier.report.text import ASCII, UNICODE, cells, plain

_TEXTS = st.text(alphabet="ab (),\t\r\n幅é\u0301\u200d\u202e\x1b\x0c😀", max_size=120)
_NUMBERS = st.integers(0, 12)
_COLUMNS = st.integers(0, 200)


@st.composite
def _marks(draw: st.DrawFn) -> Mark:
    line, column = draw(_NUMBERS), draw(_COLUMNS)
    end_line = draw(st.just(line) | st.integers(line, 14))
    end = draw(_COLUMNS)
    path = draw(st.sampled_from(["a.py", "a.py", "b.py", "missing.py"]))
    span = Span(path, line, column, end_line, max(column, end) if end_line == line else end)
    text = draw(st.sampled_from(["", "label", "a label of several words that has to be wrapped"]))
    return Mark(span, text, draw(st.booleans()), "")


@settings(max_examples=examples(100), deadline=None)
@given(
    _TEXTS, _TEXTS, st.lists(_marks(), min_size=1, max_size=5), st.integers(40, 120), st.booleans()
)
def test_any_marks_on_any_text(
    first: str, second: str, marks: list[Mark], width: int, ascii_only: bool
) -> None:
    sources = Sources({"a.py": first, "b.py": second})
    lines, number_width = frame(sources, marks, width, ASCII if ascii_only else UNICODE)
    assert number_width >= 1
    for line in lines:
        text = plain(line)
        assert cells(text) <= width
        assert not set("\t\r\n\x1b\x0c\u202e") & set(text)


@settings(max_examples=examples(60), deadline=None)
@given(st.text(alphabet="ab\t幅é😀", min_size=1, max_size=30), st.data())
def test_carets_are_below_their_characters(text: str, data: st.DataObject) -> None:
    text += "z"
    column = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(column + 1, len(text)))
    mark = Mark(Span("a.py", 1, column, 1, end), "", True, "")
    lines, _ = frame(Sources({"a.py": text}), [mark], 200, UNICODE)
    code, marks = plain(lines[1]), plain(lines[2])
    expanded = "1 | "
    for index, character in enumerate(text):
        if index == column:
            start = cells(expanded)
        expanded += " " * (4 - (cells(expanded) - 4) % 4) if character == "\t" else character
        if index == end - 1:
            stop = cells(expanded)
    assert code == expanded
    assert marks == "  | " + " " * (start - 4) + "^" * (stop - start)
