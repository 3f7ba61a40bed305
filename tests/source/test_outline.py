from __future__ import annotations

import textwrap
import time
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier.source.outline import Outline, outline, preferred
from verifier.source.text import SourceText

PATH = Path("k.py")


def outlined(text: str) -> Outline:
    return outline(SourceText(PATH, textwrap.dedent(text)))


def test_bindings_of_every_kind() -> None:
    found = outlined(
        """\
        import a.b.c as d, e.f
        from ..g import h as i, j
        from k import *
        l, (m, *n) = 1, (2, 3)
        o: int = 4
        o += 1
        @p
        @q(
            1
        )
        def r(): pass
        class S:
            inside = 1
        with t() as u: pass
        for v, w in []: pass
        (x := 1)
        """
    )
    shape = {
        name: (b[0].kind.value, b[0].line, b[0].end_line) for name, b in found.bindings.items()
    }
    assert shape == {
        "d": ("import", 1, 1),
        "e": ("import", 1, 1),
        "i": ("from", 2, 2),
        "j": ("from", 2, 2),
        "l": ("assign", 4, 4),
        "m": ("assign", 4, 4),
        "n": ("assign", 4, 4),
        "o": ("assign", 5, 5),
        "r": ("function", 7, 11),
        "S": ("class", 12, 13),
        "u": ("other", 14, 14),
        "v": ("other", 15, 15),
        "w": ("other", 15, 15),
        "x": ("other", 16, 16),
    }
    assert found.bindings["r"][0].def_line == 11
    assert (found.bindings["d"][0].module, found.bindings["d"][0].imported) == ("a.b.c", "a.b.c")
    assert (found.bindings["e"][0].module, found.bindings["e"][0].imported) == ("e", "e.f")
    origin = found.bindings["i"][0]
    assert (origin.module, origin.level, origin.original) == ("g", 2, "h")
    assert [(s.module, s.level, s.line) for s in found.star_imports] == [("k", 0, 3)]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("try:\n    import a as x\nexcept ImportError:\n    x = None\n", 2),
        ("if a:\n    x = 1\nelif b:\n    x = 2\nelse:\n    x = 3\n", 2),
        ("if a:\n    pass\nelif b:\n    x = 2\nelse:\n    x = 3\n", 4),
        ("x = 1\nx = 2\n", 2),
        ("x = 1\nx += 2\n", 1),
        ("x: int\nx = 2\n", 2),
        ("x = 1\nif __name__ == '__main__':\n    x = 2\n", 1),
        ("try:\n    pass\nexcept E:\n    x = 1\nelse:\n    x = 2\n", 6),
        ("for i in a:\n    x = 1\nelse:\n    x = 2\n", 4),
        ("match a:\n    case 1:\n        x = 1\n    case 2:\n        x = 2\n", 3),
    ],
)
def test_preferred_binding(text: str, line: int) -> None:
    assert preferred(outlined(text).bindings["x"]).line == line


def test_all_is_read_only_when_it_is_literal() -> None:
    assert outlined("__all__ = ['a', 'b']\n").exports == ("a", "b")
    assert outlined("__all__ = names()\n").exports is None
    assert outlined("__all__ = ['a']\n__all__ += more\n").exports is None


def test_statements_on_one_line_share_a_chunk() -> None:
    found = outlined("a = 1; b = 2\nc = '''\n'''; d = 4\n")
    assert [(c.line, c.end_line) for c in found.chunks] == [(1, 1), (2, 3)]


BROKEN = '''\
import tools

TILE = 96

@dev.jit(mode="x")
def broken(a):
    """Text."""
    b = (a + 1
    return b

LIMIT = 3
TABLE = """
def not_code(:
"""
call(
1,
)

@dev.jit
def sound(a):
    return a * TILE

class Also:
    x = [1
'''


def test_a_broken_file_keeps_what_is_sound() -> None:
    found = outlined(BROKEN)
    assert [(e.line, e.message) for e in found.errors] == [(8, "'(' was never closed")]
    names = ["tools", "TILE", "broken", "LIMIT", "TABLE", "sound", "Also"]
    assert list(found.bindings) == names
    broken = {b.name: b for b in found.broken}
    assert set(broken) == {"broken", "Also"}
    assert (broken["broken"].line, broken["broken"].def_line) == (5, 6)
    assert len(broken["broken"].decorators) == 1
    assert broken["Also"].error.line == 24
    assert (found.bindings["sound"][0].line, found.bindings["sound"][0].end_line) == (19, 21)


def test_a_doubled_docstring_end_breaks_one_function_only() -> None:
    found = outlined(
        '''\
        def first():
            """One."""

        def second():
            """Two.
            """
                stray words
            """
            return 2

        def third():
            """Three."""
            return 3
        '''
    )
    assert [b.name for b in found.broken] == ["second"]
    assert [e.line for e in found.errors] == [7]
    assert not any(s.name == "second" for s in found.syntax if hasattr(s, "name"))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x = 1\ny = '\0'\nz = 3\n", 2),
        ("    x = 1\ny = 2\n", 1),
        ("def f():\n\tif a:\n        b\n", 3),
        ("x = 1\n)\n", 2),
        ("x = '\ud800'\n", 1),
        ("x = " + "(" * 300 + ")" * 300, 1),
        ("x = " + "1" * 6000 + "\n", 1),
        ("class\n", 1),
        ("def\n", 1),
        ("@\n", 1),
        ("@dec\n", 1),
        ("@dec\nx = 1\n", 2),
        ("else:\n", 1),
        ("\\\n", 1),
    ],
)
def test_one_error_at_the_right_line(text: str, line: int) -> None:
    assert [e.line for e in outlined(text).errors] == [line]


@pytest.mark.parametrize("deep", ["a" + ".b" * 30_000, "-" * 30_000 + "1", "a" + "**a" * 3_000])
def test_depth_beyond_what_python_parses(deep: str) -> None:
    found = outlined(f"x = 1\ny = {deep}\ndef f(): pass\n")
    assert [e.line for e in found.errors] in (
        [2],
        [],
    )  # how deep Python goes depends on its version
    assert {"x", "f"} <= set(found.bindings)


@pytest.mark.parametrize("text", ["", "\n", "# only a comment", "\f\nx = 1\n", "x = 1"])
def test_odd_but_sound(text: str) -> None:
    assert outlined(text).errors == ()


def test_warnings_are_never_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = outlined("x = '\\d'\ny = 1 is 1\nz = 1if 1else 2\n")
    assert found.errors == ()
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


@pytest.mark.parametrize(
    "text", ["x = (\n" * 50_000, 'x = """\n' * 20_001, "def f(:\n  pass\n" * 20_000]
)
def test_files_broken_all_over_take_no_time(text: str) -> None:
    start = time.process_time()
    assert len(outlined(text).errors) == 1
    assert time.process_time() - start < 30  # to look at each line for each of them takes hours


DEFINITIONS = st.sampled_from(["def f(a):\n", "  return a\n", "@d\n", "class C:\n", "if a:\n"])
PIECES = st.sampled_from(["x = (\n", ")\n", '"""\n', "y = 1\n", "else:\n", "\tz\n", "é = 2\n"])
ODDITIES = st.sampled_from(["'", "\\\n", "#\n", "\f", "import q\n", "\0"])
FRAGMENTS = DEFINITIONS | PIECES | ODDITIES


@given(st.lists(FRAGMENTS, max_size=14))
def test_any_text_is_outlined(fragments: list[str]) -> None:
    text = "".join(fragments)
    found = outline(SourceText(PATH, text))
    lines = text.count("\n") + 1
    end = 0
    for chunk in found.chunks:
        assert end < chunk.line <= chunk.end_line <= lines
        end = chunk.end_line
    for error in found.errors:
        assert 1 <= error.line <= lines
    for bindings in found.bindings.values():
        for binding in bindings:
            chunk = found.chunks[binding.chunk]
            assert chunk.line <= binding.line <= binding.end_line <= chunk.end_line
