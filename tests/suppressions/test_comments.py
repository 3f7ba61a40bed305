"""Directives are found wherever Python has comments, and nowhere else."""

from __future__ import annotations

import io
import tokenize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sweeps import examples
from verifier.source.suppressions import Layout, find, may_suppress, scan

IGNORE = "# tilelint: ignore[partition-extent] -- small inputs"


def lines_of(text: str) -> list[tuple[int, int]]:
    """The lines that each working directive speaks about."""
    return [(s.first, s.last) for s in find("k.py", text) if not s.problem]


def test_behind_a_statement() -> None:
    assert lines_of(f"a = 1\nb = 2  {IGNORE}\nc = 3\n") == [(2, 2)]


@pytest.mark.parametrize("at", range(4))
def test_any_line_of_a_statement(at: int) -> None:
    rows = ["x = f(", "    1,", "    2,", ")"]
    rows[at] += f"  {IGNORE}"
    assert lines_of("y = 0\n" + "\n".join(rows) + "\nz = 0\n") == [(2, 5)]


def test_a_comment_of_its_own_between_the_lines_of_a_statement() -> None:
    assert lines_of(f"x = f(\n    1,\n    {IGNORE}\n    2)\nz = 0\n") == [(1, 4)]


def test_a_comment_alone_speaks_about_the_next_statement() -> None:
    assert lines_of(f"a = 1\n{IGNORE}\n\n# why\nb = f(\n  2)\nc = 3\n") == [(5, 6)]


def test_a_compound_statement_is_its_header() -> None:
    text = f"{IGNORE}\nfor i in range(\n    3\n):\n    x = i\n    y = i\n"
    assert lines_of(text) == [(2, 4)]


@pytest.mark.parametrize("at", range(4))
def test_decorators_belong_to_their_definition(at: int) -> None:
    rows = ["@outer", "@inner(3)", "def f(", "    a):", "    return a"]
    rows.insert(0, IGNORE) if at == 3 else rows.__setitem__(at, f"{rows[at]}  {IGNORE}")
    shift = at == 3
    assert lines_of("\n".join(rows) + "\n") == [(1 + shift, 4 + shift)]


def test_nothing_follows() -> None:
    (found,) = find("k.py", f"a = 1\n{IGNORE}\n")
    assert (found.first, found.last) == (0, 0)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends(end: str) -> None:
    text = end.join(["a = 1", f"b = \\{end}  2  {IGNORE}", "s = '''", IGNORE, "'''", "c = 3"])
    assert lines_of(text) == [(2, 3)]


def test_a_form_feed_is_no_line_end() -> None:
    assert lines_of(f"a = 1\n\f\nb = 2  {IGNORE}\n\fc = 3 {IGNORE}\n") == [(3, 3), (4, 4)]


@pytest.mark.parametrize(
    "text",
    [
        f's = "{IGNORE}"',
        f"s = '{IGNORE}'",
        f's = """\n{IGNORE}\n"""',
        f"s = r'''\n{IGNORE}\n'''",
        f"s = rb'\\\\' + '{IGNORE}'",
        f's = f"{{x}} {IGNORE} {{y!r:#x}}"',
        f's = f"""\n{{x:{{w}}}} {IGNORE}\n"""',
        f"s = 'a\\\n{IGNORE}'",
        f"s = f'{{ {{1: 2}}[1] }} {IGNORE}'",
    ],
)
def test_never_inside_strings(text: str) -> None:
    assert find("k.py", text + "\nx = 1\n") == ()
    assert lines_of(f"{text}\nx = 1  {IGNORE}\n") == [(text.count("\n") + 2, text.count("\n") + 2)]


def test_behind_a_format_with_a_hash() -> None:
    assert lines_of(f"s = f'{{n:#010x}}'  {IGNORE}\n") == [(1, 1)]


def test_files_that_do_not_parse() -> None:
    text = f"x = f(1,\n\n@jit\ndef k(a):\n    b = a  {IGNORE}\n    return b\nx = = 1  {IGNORE}\n"
    assert lines_of(text)[0] in ((5, 5),)
    assert lines_of(text)[1] == (7, 7)


def test_several_rules_and_other_comments() -> None:
    text = (
        "x = 1  # type: ignore  # tilelint: ignore[ NKI101 ,dma-size] -- twice 96  # noqa: E501\n"
    )
    (found,) = find("k.py", text)
    assert [named.name for named in found.names] == ["NKI101", "dma-size"]
    assert found.reason == "twice 96"
    for named in found.names:
        assert text[named.span.column : named.span.end_column] == named.name
    assert text[found.span.column : found.span.end_column].startswith("# tilelint")
    assert text[found.span.column : found.span.end_column].endswith("96")


@pytest.mark.parametrize(
    ("comment", "problem"),
    [
        ("# tilelint: ignore", "blanket"),
        ("# tilelint: ignore -- everything", "blanket"),
        ("# tilelint: ignore[] -- everything", "blanket"),
        ("# tilelint: ignore-file[ , ] -- everything", "blanket"),
        ("# tilelint: ignore[a]", "reason"),
        ("# tilelint: ignore[a] --  ", "reason"),
        ("# tilelint: ignore a -- because", "malformed"),
        ("# tilelint: ignore[a -- because", "malformed"),
        ("# tilelint: ignore[a] because", "malformed"),
        ("# tilelint: ignore[a] - because", "malformed"),
        ("# tilelint ignore[a] -- because", "malformed"),
        ("# tilelint: ignroe[a] -- because", "malformed"),
        ("# tilelint: disable[a] -- because", "malformed"),
        ("# tilelint:", "malformed"),
        ("# tilelint: contract (a: fp32[M, 3])", "misplaced"),
    ],
)
def test_what_does_not_work(comment: str, problem: str) -> None:
    (found,) = find("k.py", f"x = 1  {comment}\n")
    assert found.problem == problem and found.message


_CONTRACT = "# tilelint: contract (a: fp32[M, 3])"


@pytest.mark.parametrize(
    ("text", "fine"),
    [
        (f"{_CONTRACT}\ndef f(a):\n    pass\n", True),
        (f"{_CONTRACT}\n# told\n@jit\nasync def f(a):\n    pass\n", True),
        (f"@jit\n{_CONTRACT}\n@other\ndef f(a):\n    pass\n", True),
        (f"class A:\n    {_CONTRACT}\n    def f(a):\n        pass\n", True),
        (f"{_CONTRACT}\n\ndef f(a):\n    pass\n", False),
        (f"def f(a):\n    {_CONTRACT}\n    pass\n", False),
        (f"def f(a):\n    pass\n    {_CONTRACT}\n", False),
        (f"def f(a):  {_CONTRACT}\n    pass\n", False),
        (f"{_CONTRACT}\nf = jit(g)\n", False),
    ],
)
def test_a_contract_stands_right_above_a_function(text: str, fine: bool) -> None:
    assert [found.problem for found in find("k.py", text)] == ([] if fine else ["misplaced"])


@pytest.mark.parametrize(
    ("comment", "meant"),
    [
        ("# TileLint: ignore[a] -- because", "`tilelint: ignore`"),
        ("# TILELINT: ignore[a] -- because", "`tilelint: ignore`"),
        ("# TileLint: Ignore-File[a] -- because", "`tilelint: ignore-file`"),
        ("# Tilelint: contract (a: fp32[M, 3])", "`tilelint: contract`"),
        ("# TILELINT: ignroe[a] -- because", "`tilelint: ignore`"),
        ("# tilelint: Ignore[a] -- because", "`ignore`"),
        ("# tilelint: IGNORE-FILE[a] -- because", "`ignore-file`"),
        ("# tilelint: Contract (a: fp32[M, 3])", "`contract`"),
    ],
)
def test_another_spelling_is_reported(comment: str, meant: str) -> None:
    text = f"x = 1  {comment}\n"
    assert may_suppress(text)
    (found,) = find("k.py", text)
    assert found.problem == "malformed"
    assert found.message.endswith(f"did you mean {meant}?")


@pytest.mark.parametrize(
    "comment",
    [
        "# TileLint: what it is",
        "# TileLint contract checks",
        "# TILELINT ignores this",
        "# tilelint says so",
        "# what tilelint ignores is elsewhere",
        "# tilelint ignores this",
        "# mytilelint: ignore",
    ],
)
def test_what_is_no_suppression(comment: str) -> None:
    assert find("k.py", f"{comment}\nx = 1\n") == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"a = 1\n    {IGNORE}\nb = 2\n", "a = 1\nb = 2\n"),
        (f"a = 1   {IGNORE}\nb = 2\n", "a = 1\nb = 2\n"),
        (f"a = 1  # noqa  {IGNORE}\nb = 2\n", "a = 1  # noqa\nb = 2\n"),
        (f"a = 1  {IGNORE}  # noqa\nb = 2\n", "a = 1  # noqa\nb = 2\n"),
        (f"{IGNORE}  # noqa\nb = 2\n", "# noqa\nb = 2\n"),
        (f"a = 1\r\n\t{IGNORE}\r\nb = 2\r\n", "a = 1\r\nb = 2\r\n"),
        (f"a = 1\n{IGNORE}", "a = 1"),
        (f"a = 1 {IGNORE}  \nb = 2\n", "a = 1\nb = 2\n"),
    ],
)
def test_what_is_removed(before: str, after: str) -> None:
    from verifier.source.edits import Replacement, replaced

    (found,) = find("k.py", before)
    place = found.removal
    assert place is not None
    gone = Replacement(place.line, place.column, place.end_line, place.end_column, "")
    assert replaced(before, [gone]) == after


def tokenized(text: str) -> tuple[list[tuple[int, int, str]], list[tuple[int, int]]]:
    """Comments, and first and last line of the logical lines, as Python's own tokenizer has it."""
    comments: list[tuple[int, int, str]] = []
    lines: list[tuple[int, int]] = []
    first = 0
    skipped = (tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    for token in tokenize.generate_tokens(io.StringIO(text, newline="").readline):
        if token.type == tokenize.COMMENT:
            comments.append((*token.start, token.string))
        elif token.type == tokenize.NEWLINE:
            lines.append((first, token.start[0]))
            first = 0
        elif token.type not in skipped and not first:
            first = token.start[0]
    return comments, lines


def scanned(layout: Layout) -> tuple[list[tuple[int, int, str]], list[tuple[int, int]]]:
    comments = [(c.line, c.column, c.text) for c in layout.comments]
    return comments, [(line.first, line.last) for line in layout.lines]


ATOMS = st.sampled_from(
    ["a", "12", "'x # y'", '"\'"', "r'\\\\'", "'''p\n# q\n'''", '"""\n"""', "f'{a}#'", "b''", "é"]
)
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds("({}, {})".format, inner, inner),
        st.builds("[{},\n  # in between\n  {}]".format, inner, inner),
        st.builds("{{{}: {}}}".format, inner, inner),
        st.builds("({}  # there\n)".format, inner),
        st.builds("f({}\n\n,{})".format, inner, inner),
    ),
    max_leaves=4,
)
STATEMENTS = st.one_of(
    st.builds("x = {}".format, EXPRESSIONS),
    st.builds("x = {}; y = 1  # two".format, EXPRESSIONS),
    st.builds("x = \\\n  {}".format, EXPRESSIONS),
    st.builds("if {}:\n\ty = 1 # tab\n\n  # odd\n\n\tz = 2".format, EXPRESSIONS),
    st.builds("for i in {}:  # head\n    pass".format, EXPRESSIONS),
    st.just("# alone"),
    st.just(""),
    st.just("\f"),
)


@given(st.lists(STATEMENTS, max_size=6))
@settings(max_examples=examples(300), deadline=None)
def test_the_scanner_agrees_with_tokenize(statements: list[str]) -> None:
    text = "\n".join(statements) + "\n"
    compile(text, "k.py", "exec", dont_inherit=True)
    assert scanned(scan(text)) == tokenized(text)
    windows = text.replace("\n", "\r\n")
    assert scanned(scan(windows))[1] == tokenized(text)[1]


@given(st.text(alphabet="a '\"\\\n\r#{}()[]:f=@\t\fdef", max_size=60))
@settings(max_examples=examples(500), deadline=None)
def test_any_text_is_scanned_to_its_end(text: str) -> None:
    layout = scan(text)
    ends = text.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
    lines = [(line.first, line.last) for line in layout.lines]
    assert lines == sorted(lines)
    assert all(1 <= first <= last <= ends for first, last in lines)
    rows = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for comment in layout.comments:
        assert rows[comment.line - 1][comment.column :] == comment.text
        assert 0 <= comment.owner <= len(layout.lines)
