from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

import verifier.rulebase
from verifier.cli.main import main
from verifier.configuration.reader import Reader, rules
from verifier.rulebase import On, Rule

from .fake_engine import write


def rule(id: str, code: str, family: str, severity: str = "error") -> Rule:
    return Rule(
        id=id,
        code=code,
        family=family,
        summary=f"what {id} demands",
        reason="Because *hardware*.",
        facts=("NKI-P01", "NKI-P02"),
        on=On.OPERATION,
        failing="def bad(): ...\n",
        passing="def good(): ...\n",
        severity=severity,
        sources=("the manual",),
    )


RULES = [
    rule("partition-extent", "NKI101", "partition"),
    rule("partition-start", "NKI102", "partition"),
    rule("psum-bank-size", "NKI201", "psum"),
    rule("psum-bank-crossing", "NKI202", "psum", "warning"),
]


@pytest.fixture(autouse=True)
def known_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifier.rulebase, "all_rules", lambda: RULES)
    module = ModuleType("rules.coverage")
    module.__dict__["coverage"] = lambda: [
        ("NKI-P01", "at most 128 partitions", "partition-extent", ""),
        ("NKI-P09", "only | at run time", None, "decided by runtime values"),
    ]
    monkeypatch.setitem(sys.modules, "rules.coverage", module)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("partition-extent", "partition-extent"),
        ("nki201", "psum-bank-size"),
        ("NKI2", "psum-bank-crossing psum-bank-size"),
        ("psum", "psum-bank-crossing psum-bank-size"),
        ("psum-bank", "psum-bank-crossing psum-bank-size"),
        ("psum-bank-*", "psum-bank-crossing psum-bank-size"),
        (
            "ALL",
            "partition-extent partition-start psum-bank-crossing psum-bank-size",
        ),
        ("NKI101, psum-bank-size", "partition-extent psum-bank-size"),
    ],
)
def test_selecting_rules(key: str, expected: str) -> None:
    reader = Reader(lambda: RULES, option="--select")
    given = rules(reader, ("select",), key.split(", "))
    assert given is not None
    assert given.value == tuple(expected.split())


def test_unknown_rules_are_all_named() -> None:
    reader = Reader(lambda: RULES, option="--ignore")
    rules(reader, ("ignore",), ["partition-extend", "psum", "zebra"])
    assert [str(problem) for problem in reader.problems] == [
        "unknown rule 'partition-extend' in --ignore; did you mean 'partition-extent'?",
        "unknown rule 'zebra' in --ignore",
    ]


@pytest.mark.usefixtures("engine")
def test_check_hands_over_rule_ids(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, "gemm.py", "error")
    main(["check", "--format", "concise", "--select", "NKI2", "--ignore", "psum-bank-size"])
    assert (
        "error[partition-extent] psum-bank-crossing psum-bank-size psum-bank-size found"
        in capsys.readouterr().out
    )
    assert main(["check", "--select", "psun"]) == 2
    captured = capsys.readouterr()
    assert captured.err == (
        "tilelint: error: unknown rule 'psun' in --select; did you mean 'psum'?\n"
    )


def test_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules"]) == 0
    text = capsys.readouterr().out
    assert "  NKI101  partition-extent    what partition-extent demands\n" in text
    assert text.endswith("4 rules\n")
    assert main(["rules", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [found["code"] for found in document["rules"]] == [
        "NKI101",
        "NKI102",
        "NKI201",
        "NKI202",
    ]
    assert main(["rules", "--format", "markdown"]) == 0
    table = capsys.readouterr().out.splitlines()
    assert table[2] == (
        "| NKI101 | `partition-extent` | partition | error | what partition-extent demands |"
    )


def test_coverage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "--coverage"]) == 0
    text = capsys.readouterr().out
    assert "NKI-P01  at most 128 partitions -> partition-extent\n" in text
    assert "NKI-P09  only | at run time -> decided by runtime values\n" in text
    assert "1 of 2 facts are enforced by a rule" in text
    assert main(["rules", "--coverage", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["facts"][1] == {
        "fact": "NKI-P09",
        "text": "only | at run time",
        "rule": None,
        "why_not": "decided by runtime values",
    }
    assert main(["rules", "--coverage", "--format", "markdown"]) == 0
    assert "| NKI-P09 | only \\| at run time |  | decided" in capsys.readouterr().out


def test_explain(capsys: pytest.CaptureFixture[str]) -> None:
    for key in ("psum-bank-size", "nki201"):
        assert main(["explain", key]) == 0
        text = capsys.readouterr().out
        assert text.startswith("# psum-bank-size (NKI201)\n\nwhat psum-bank-size demands.\n")
        assert "Because *hardware*." in text
        assert "```python\ndef bad(): ...\n```" in text
        assert "NKI-P01, NKI-P02" in text
    assert main(["explain", "psum-bank-sice"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        "tilelint: error: unknown rule 'psum-bank-sice'; did you mean 'psum-bank-size'?\n"
    )


def test_explain_a_fact(capsys: pytest.CaptureFixture[str]) -> None:
    for key in ("P01", "nki-p01"):
        assert main(["explain", key]) == 0
        text = capsys.readouterr().out
        assert text.startswith("# NKI-P01\n\nA documented fact, about: at most 128 partitions.\n")
        assert "- `partition-extent` (NKI101): what partition-extent demands\n" in text
    assert main(["explain", "P09"]) == 0
    assert "No rule enforces it: decided by runtime values." in capsys.readouterr().out
    assert main(["explain", "P01", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["fact"]["rules"] == ["partition-extent"]


@pytest.mark.parametrize("key", ["P99", "NKI109", "OKK-A99"])
def test_explain_suggests_nothing_unrelated(key: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", key]) == 2
    assert capsys.readouterr().err == f"tilelint: error: unknown rule '{key}'\n"


def test_explain_undecided(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "undecided"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("# undecided\n\nNot a rule: ") and "`--strict`" in text
    assert main(["explain", "undecided", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["word"]["id"] == "undecided"


def test_the_rules_document_themselves(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "--format", "markdown"]) == 0
    text = capsys.readouterr().out
    assert "\n## psum\n\n### psum-bank-size (NKI201)\n" in text
    for rule in RULES:
        assert f"\n### {rule.id} ({rule.code})\n\n{rule.summary}.\n" in text
        assert f"\n#### Why\n\n{rule.reason.strip()}\n" in text
    assert main(["explain", "nki201", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["rule"]["id"] == "psum-bank-size"
    assert main(["explain", "nki201", "--format", "markdown"]) == 0
    assert capsys.readouterr().out.startswith("# psum-bank-size (NKI201)\n")


def test_families(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "--families", "--coverage"]) == 2
    assert "exclude each other" in capsys.readouterr().err
    assert main(["rules", "--families", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["families"] == []  # of the real rules, none is here
