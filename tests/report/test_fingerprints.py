from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from verifier.report.fingerprints import (
    fingerprinted,
    fingerprints,
    normalised,
    renumbered,
)
from verifier.report.model import Diagnostic, RunReport, Span, sort_key

from .samples import REPORT, SOURCES

FIRST = "def scale(a):\n    t = nl.load(a[0:96])\n    u = nl.load(a[0:96])\n    return t, u\n"
SECOND = "def shift(b):\n    t = nl.load(b)  # tile\n    return t\n"


def findings(text: str, path: str = "k.py") -> list[Diagnostic]:
    """A finding at the argument of every load."""
    found = []
    kernel = ""
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("def "):
            kernel = line[4 : line.index("(")]
        if "load(" in line:
            start = line.index("load(") + 5
            span = Span(path, number, start, number, line.index(")", start))
            message = f"line {number} leaves the tensor"
            found.append(Diagnostic("bounds", "", "error", "sometimes", message, span, kernel))
    return found


def of(text: str, path: str = "k.py") -> set[str]:
    return set(fingerprints(findings(text, path), {path: text}.get))


BEFORE = of(FIRST + SECOND)


def test_they_are_distinct_and_counted() -> None:
    assert len(BEFORE) == 3
    assert sorted(name.split(":")[1] for name in BEFORE) == ["1", "1", "2"]


@pytest.mark.parametrize(
    "text",
    [
        "\n\n# a comment\n" + FIRST + "\n" + SECOND,
        SECOND + FIRST,
        (FIRST + SECOND).replace("\n", "\r\n"),
        FIRST + "def other(x):\n    return x\n" + SECOND.replace("# tile", "# another comment"),
        (FIRST + SECOND).replace("a[0:96]", "a[ 0 : 96 ]"),
        (FIRST + SECOND).replace("    t =", "    with q:\n        tt ="),
    ],
)
def test_edits_elsewhere_change_nothing(text: str) -> None:
    assert of(text) == BEFORE


def test_other_text_kernels_and_files_do() -> None:
    assert not of((FIRST + SECOND).replace("0:96", "0:95").replace("(b)", "(c)")) & BEFORE
    assert not of((FIRST + SECOND).replace("def s", "def z")) & BEFORE
    assert not of(FIRST + SECOND, "other.py") & BEFORE


def test_one_finding_more_is_one_more() -> None:
    after = of(FIRST.replace("    return", "    v = nl.load(a[0:96])\n    return") + SECOND)
    assert after > BEFORE
    assert len(after) == 4


def test_numbers_of_the_finding_do_not_matter() -> None:
    before = findings(FIRST)
    after = [
        replace(d, message="another", counterexample={"a": 3}, targets=("trn1",), severity="note")
        for d in before
    ]
    read = {"k.py": FIRST}.get
    assert fingerprints(before, read) == fingerprints(after, read)


def test_without_source_the_message_decides_without_its_numbers() -> None:
    first, second, _ = findings(FIRST + SECOND)
    assert fingerprints([first], lambda _: None) == fingerprints([second], lambda _: None)
    other = replace(first, message="something else")
    assert fingerprints([first], lambda _: None) != fingerprints([other], lambda _: None)


def test_the_order_of_findings_does_not_matter() -> None:
    found = findings(FIRST + SECOND)
    read = {"k.py": FIRST + SECOND}.get
    expected = dict(zip(found, fingerprints(found, read), strict=True))
    for order in itertools.permutations(found):
        assert dict(zip(order, fingerprints(order, read), strict=True)) == expected


def test_another_checkout_has_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = []
    for folder in ("here", "there"):
        root = tmp_path / folder
        (root / "src").mkdir(parents=True)
        (root / "src/k.py").write_text(FIRST, encoding="utf-8")
        found = findings(FIRST, str(root / "src/k.py"))
        names.append(fingerprints(found, root=str(root)))
        monkeypatch.chdir(root / "src")
        names.append(fingerprints(findings(FIRST), root=".."))
    assert len(set(names)) == 1


def test_renumbering_keeps_a_report_as_it_is() -> None:
    report = fingerprinted(REPORT, SOURCES.get)
    assert renumbered(report) == report
    assert len({d.fingerprint for d in report.diagnostics}) == len(report.diagnostics)
    shuffled = list(report.diagnostics)
    random.Random(3).shuffle(shuffled)
    again = renumbered(RunReport(diagnostics=tuple(shuffled))).diagnostics
    assert sorted(again, key=sort_key) == list(report.diagnostics)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("f(a,b)", "f(\n    a,  # first\n    b,\n)"),
        ("x[0:4, 'a # b']", "x[0:4,\n'a # b' , ]"),
        ("a + \\\n b", "a+b"),
        ('f"{x}"', ' f"{x}" '),
    ],
)
def test_layout_is_not_text(one: str, other: str) -> None:
    assert normalised(one) == normalised(other)


@pytest.mark.parametrize(
    ("one", "other"), [("'a b'", "'a  b'"), ("ab", "a b"), ("1, 2", "12"), ("'''#'''", "''''''")]
)
def test_the_rest_is(one: str, other: str) -> None:
    assert normalised(one) != normalised(other)


@given(st.text(alphabet="ab1 \t\n\r#'\"\\,()[]é\ud800", max_size=40))
def test_any_text_is_normalised_once(text: str) -> None:
    assert fingerprints(
        [Diagnostic("r", "", "note", "always", text, Span("k.py", 1, 0, 1, len(text)))],
        {"k.py": text}.get,
    )[0].endswith(":1")
    normalised(text)
