"""Bad input: one clear line and exit status 2, and nothing else is lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.sweeps import ALL, thinned

from .support import bad, good, tilelint


def refused(*arguments: object, cwd: Path | None = None) -> str:
    """The one line with which the command refuses."""
    outcome = tilelint("check", *arguments, cwd=cwd)
    assert outcome.status == 2, outcome
    assert outcome.internal == []
    lines = outcome.err.splitlines()
    assert len(lines) == 1, outcome.err
    assert lines[0].startswith("tilelint: error: ")
    return lines[0]


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    path = tmp_path / "kernel.py"
    path.write_text(good(), encoding="utf-8")
    return path


def test_good_and_bad_are_what_they_say(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(good(), encoding="utf-8")
    (tmp_path / "bad.py").write_text(bad(), encoding="utf-8")
    outcome = tilelint("check", tmp_path, "--format", "json")
    assert outcome.status == 1
    status = {k["name"]: k["status"] for k in outcome.report["kernels"]}
    assert status == {"pass_through": "verified", "too_tall": "violated"}
    assert {d["rule"] for d in outcome.report["diagnostics"]} == {"partition-extent"}


def test_missing_path(tmp_path: Path) -> None:
    assert "missing.py" in refused(tmp_path / "missing.py")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads all")
def test_unreadable_file(kernel: Path) -> None:
    kernel.chmod(0)
    assert "kernel.py" in refused(kernel)


def test_dangling_link(tmp_path: Path) -> None:
    link = tmp_path / "link.py"
    link.symlink_to(tmp_path / "nowhere.py")
    assert "link.py" in refused(link)


def test_link_to_itself(tmp_path: Path) -> None:
    link = tmp_path / "loop.py"
    link.symlink_to(link)
    assert "loop.py" in refused(link)


@pytest.mark.parametrize(
    ("spec", "word"),
    [
        ("pass_through(", ""),
        ("pass_through(source: bf17[4, 4])", "bf17"),
        ("pass_through(source: bf16[K, ", ""),
        ("pass_through(source: bf16[K, K]) where K <", ""),
        ("pass_through(nowhere: bf16[4, 4])", "nowhere"),
        ("elsewhere(source: bf16[4, 4])", "elsewhere"),
        ("", ""),
    ],
)
def test_bad_contract(kernel: Path, spec: str, word: str) -> None:
    assert word in refused(kernel, "--contract", spec)


def test_unknown_rule(kernel: Path) -> None:
    assert "did you mean 'partition-extent'" in refused(kernel, "--select", "partition-extend")
    assert "no-such-rule" in refused(kernel, "--ignore", "no-such-rule")


def test_unknown_target(kernel: Path) -> None:
    assert "trn7" in refused(kernel, "--target", "trn7")


def test_unknown_version(kernel: Path) -> None:
    assert "9.9" in refused(kernel, "--api-version", "9.9")


@pytest.mark.parametrize(
    "arguments", [["--jobs", "0"], ["--jobs", "x"], ["--timeout", "-1"], ["--format", "yaml"]]
)
def test_bad_option(kernel: Path, arguments: list[str]) -> None:
    refused(kernel, *arguments)


#: files around a broken one: enough for every worker to have some before and behind it
MANY = 100 if ALL else 30 // thinned(1)

BROKEN = {
    "syntax": good().replace("out = nl.ndarray(", "out = = nl.ndarray((", 1).encode(),
    "latin1": good().replace("import nki\n", "# caf\xe9\nimport nki\n", 1).encode("latin-1"),
    "coding": b"# coding: no-such-codec\n" + good().encode(),
    "nul": good().replace("rows,", "rows\0,", 1).encode(),
    "cut": good().encode()[:-40] + b"(((",
    "utf16": good().encode("utf-16"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_one_broken_file_among_many_loses_nothing(tmp_path: Path, fault: str) -> None:
    wrong = MANY // 2
    for number in range(MANY):
        text = bad(f"kernel_{number}") if number == wrong else good(f"kernel_{number}")
        (tmp_path / f"file_{number:02}.py").write_text(text, encoding="utf-8")
    (tmp_path / "file_13_broken.py").write_bytes(BROKEN[fault])
    outcome = tilelint("check", tmp_path, "--format", "json")
    assert outcome.internal == []
    names = {k["name"]: k["status"] for k in outcome.report["kernels"]}
    expected = {f"kernel_{n}": "verified" if n != wrong else "violated" for n in range(MANY)}
    assert {name: names.get(name) for name in expected} == expected
    if fault != "utf16":  # which has none of a kernel's words in it, as bytes
        assert [Path(e["path"]).name for e in outcome.report["errors"]] == ["file_13_broken.py"]
        assert outcome.status == (1 if outcome.report["errors"][0]["kind"] == "syntax" else 2)


def test_syntax_error_beside_kernels(tmp_path: Path) -> None:
    """A broken definition costs itself: the kernels around it are checked."""
    broken = "\ndef broken(a, b:\n    return a +\n\n\n"
    text = good("first") + broken + bad("second").partition("\n\n\n")[2]
    (tmp_path / "mixed.py").write_text(text, encoding="utf-8")
    outcome = tilelint("check", tmp_path, "--format", "json")
    assert outcome.internal == []
    assert outcome.status == 1
    assert len(outcome.report["errors"]) == 1
    status = {k["name"]: k["status"] for k in outcome.report["kernels"]}
    assert status.get("first") == "verified"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xef\xbb\xbf",
        b"\n" * 100_000,
        b"# nki" + b" " * 1_000_000,
        b"nki" * 500_000,
        b"@nki.jit",
        b"@nki.jit\ndef",
        b"@nki.jit\ndef f():",
        b"@nki.jit\nasync def f(a):\n    return a\n",
        b"@nki.jit\nclass F:\n    pass\n",
        b"from nki import *\n@jit\ndef f(*args, **kwargs):\n    return args, kwargs\n",
        b"import nki\nf = nki.jit(lambda a: a)\n",
        b"import nki\nf = nki.jit(f)\n",
        b"import nki\n@nki.jit\ndef f(a, /, b, *, c):\n    yield a\n    return (yield from b)\n",
        b"import nki\r\n@nki.jit\r\ndef f(a):\r\n\treturn a\r\n",
        b"import nki\n@nki.jit\ndef f(a): return " + b"(" * 5000 + b")" * 5000,
        b"import nki\n@nki.jit\ndef f(a): return " + b"-" * 20000 + b"1",
        b"import nki\n@nki.jit\ndef f(a): return " + b"a." * 20000 + b"b",
        b"import nki\n@nki.jit\ndef f(a): return " + b"a+" * 20000 + b"a",
        b"import nki\n@nki.jit\ndef f(a): return " + b"[" * 90 + b"a" + b"]" * 90,
    ],
    ids=lambda content: repr(content[:30]),
)
def test_odd_files(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "odd.py").write_bytes(content)
    outcome = tilelint("check", tmp_path, "--timeout", 10, "--format", "json")
    assert outcome.internal == []
