"""The scanner finds the keys that tomllib finds, and the lines that they were written at."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier.configuration.positions import Where, lines
from verifier.configuration.toml import BadTomlError, load

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def places(value: Any, path: Where = ()) -> Iterator[Where]:
    """Every key and element of a document, as tomllib sees it."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from places(inner, (*path, index))


def test_lines() -> None:
    text = """\
# a comment with [brackets] = "and quotes
targets = [
  "trn2", # ] not the end
  'trn3',
]
a.b."c.d" = 1

[severity]
"x \\" ]" = \"\"\"
[not.a.table]
q = \\\"""\\"
\"\"\"\"\"
y = ''''[z]'''''
[[overrides]]
paths = [ "k/" ] # here
[overrides.severity]
all = { one = 1979-05-27 07:32:00, two = [{a = 1}, {}] }
[[overrides]]
[ presets . 'llama 8b' ]
gemm = ""
"""
    found = lines(text)
    assert set(found) == set(places(tomllib.loads(text)))
    assert found[("targets",)] == 2
    assert found[("targets", 1)] == 4
    assert found[("a", "b", "c.d")] == found[("a",)] == 6
    assert found[("severity",)] == 8
    assert found[("severity", 'x " ]')] == 9
    assert found[("severity", "y")] == 13
    assert found[("overrides", 0, "paths", 0)] == 15
    assert found[("overrides", 0, "severity", "all", "two", 0, "a")] == 17
    assert found[("overrides", 1)] == 18
    assert found[("presets", "llama 8b", "gemm")] == 20


@dataclass
class Writer:
    """Writes random documents and remembers where it put each key."""

    draw: Any
    text: str = ""
    lines: dict[Where, int] = field(default_factory=dict)

    def note(self, path: Where) -> None:
        self.lines.setdefault(path, self.text.count("\n") + 1)

    def key(self, key: str) -> None:
        quoted = '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'
        spellings = [quoted]
        if key and all(c.isascii() and (c.isalnum() or c in "-_") for c in key):
            spellings.append(key)
        if "'" not in key:
            spellings.append(f"'{key}'")
        self.text += self.draw(st.sampled_from(spellings))

    def value(self, path: Where, depth: int) -> None:
        kinds = ["scalar", "string"] + (["list", "table"] if depth < 3 else [])
        kind = self.draw(st.sampled_from(kinds))
        if kind == "scalar":
            scalars = ["7", "-1_0", "0x1F", "1.5e3", "inf", "true", "1979-05-27 07:32:00Z"]
            self.text += self.draw(st.sampled_from(scalars))
        elif kind == "string":
            strings = [
                '"[x]"',
                "'a = {'",
                '"#\\""',
                '"""a\n"" ]\\""""',
                "'''\n''}'''",
                '""',
                "''''''",
            ]
            self.text += self.draw(st.sampled_from(strings))
        elif kind == "list":
            self.text += "["
            for index in range(self.draw(st.integers(0, 3))):
                self.text += self.draw(st.sampled_from(["", " ", "\n", " # ], [\n  "]))
                self.note((*path, index))
                self.value((*path, index), depth + 1)
                self.text += self.draw(st.sampled_from([",", " ,\n"]))
            self.text += "]"
        else:
            self.text += "{"
            keys = self.draw(KEYS)
            for n, key in enumerate(keys):
                self.text += ", " if n else " "
                self.pair((*path, key), key, depth + 1)
            self.text += " }"

    def pair(self, path: Where, key: str, depth: int) -> None:
        self.note(path)
        self.key(key)
        self.text += self.draw(st.sampled_from([" = ", "=", "\t= "]))
        self.value(path, depth)

    def body(self, path: Where) -> None:
        for key in self.draw(KEYS):
            self.pair((*path, f"k{key}"), f"k{key}", 0)
            self.text += self.draw(st.sampled_from(["\n", " # x = [\n", "\r\n\n"]))


KEYS = st.lists(st.text(st.sampled_from("ab-_1 .'\"\\é[]#="), max_size=4), max_size=3, unique=True)


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, dict[Where, int]]:
    writer = Writer(draw)
    writer.body(())
    for n in range(draw(st.integers(0, 3))):
        name = f"t{n}"
        if draw(st.booleans()):
            writer.note((name,))
            writer.text += f"[ {name} ]\n"
            writer.body((name,))
            continue
        for index in range(draw(st.integers(1, 2))):
            writer.note((name,))
            writer.note((name, index))
            writer.text += f"[[{name}]]\n"
            writer.body((name, index))
            writer.note((name, index, "sub"))
            writer.text += f"[{name}.sub]\n"
            writer.body((name, index, "sub"))
    return writer.text, writer.lines


@given(documents())
def test_random_documents(document: tuple[str, dict[Where, int]]) -> None:
    text, expected = document
    assert lines(text) == expected
    assert set(expected) == set(places(tomllib.loads(text)))


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a = 1\nb = \n", 2, "is not TOML: invalid value"),
        ("a = 1\na = 2", 2, "is not TOML: cannot overwrite a value"),
        ("a = [1,\n", 2, "is not TOML: "),
        ("a = " + "[" * 5000, 0, "is nested too deeply"),
    ],
)
def test_what_is_no_toml(text: str, line: int, message: str) -> None:
    with pytest.raises(BadTomlError) as caught:
        load(text)
    assert caught.value.message.startswith(message)
    assert caught.value.line == line
