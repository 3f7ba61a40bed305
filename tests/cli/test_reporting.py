from __future__ import annotations

import json
import os
import random
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sweeps import examples
from verifier.cli import reporting
from verifier.cli.candidates import Candidates
from verifier.cli.main import main
from verifier.cli.shards import Part, part_of
from verifier.cli.writing import write_whole

from .fake_engine import write

pytestmark = pytest.mark.usefixtures("engine")

Capture = pytest.CaptureFixture[str]


def run(capsys: Capture, *arguments: str) -> tuple[int, str, str]:
    status = main(list(arguments))
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.fixture
def kernels(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLUMNS", "100")
    (project / ".git").mkdir()
    for index, what in enumerate(["error", "warning", "fine", "unknown", "error", "fine", "fine"]):
        write(project, f"src/k{index}.py", what)
    (project / "src/plain.py").write_text("x = 1\n")
    (project / "src/other.py").write_text("y = 1\n")
    return project


# --output


@pytest.mark.parametrize("format_", ["json", "sarif", "github", "junit", "full", "concise"])
def test_output_holds_what_would_be_printed(kernels: Path, capsys: Capture, format_: str) -> None:
    printed = run(capsys, "check", "src", "--format", format_)
    status, out, err = run(capsys, "check", "src", "--format", format_, "--output", "report")
    assert (kernels / "report").read_text(encoding="utf-8") == printed[1]
    assert (status, err) == (printed[0], printed[2])
    assert out.startswith("7 kernels in 9 files: 3 verified, 3 with faults, 1 unknown (")


def test_output_keeps_mode_and_links(project: Path) -> None:
    file = project / "report.json"
    file.write_text("old")
    file.chmod(0o640)
    (project / "link.json").symlink_to(file)
    write_whole("link.json", "new\n")
    assert file.read_text() == "new\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert (project / "link.json").is_symlink()
    mask = os.umask(0o027)
    try:
        write_whole("fresh.json", "x")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((project / "fresh.json").stat().st_mode) == 0o640


def test_output_that_cannot_be_is_refused_before_the_run(kernels: Path, capsys: Capture) -> None:
    write(kernels, "src/k9.py", "sleep")
    for path, said in (("src", "is a directory"), ("no/x.json", "no such directory: no")):
        status, out, err = run(capsys, "check", "--output", path)
        assert (status, out, err) == (2, "", f"tilelint: error: --output {path}: {said}\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_loses_nothing(kernels: Path, capsys: Capture) -> None:
    printed = run(capsys, "check", "src", "--format", "json")
    status, out, err = run(capsys, "check", "src", "--format", "json", "--output", "/dev/full")
    assert (status, out) == (2, printed[1])
    assert err == "tilelint: error: /dev/full: cannot be written: No space left on device\n"
    status, out, err = run(capsys, "check", "src/k0.py", "--write-baseline", "/dev/full")
    assert status == 2
    assert "partition-extent" in out
    assert err == "tilelint: error: /dev/full: cannot be written: No space left on device\n"


def test_a_failed_write_leaves_the_old_file(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = project / "report.json"
    file.write_text("old")

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="No space"):
        write_whole("report.json", "new")
    assert [path.name for path in project.iterdir()] == ["report.json"]
    assert file.read_text() == "old"


def test_junit_without_its_library(
    kernels: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reporting, "find_spec", lambda name: None)
    status, out, err = run(capsys, "check", "--format", "junit")
    assert (status, out) == (2, "")
    assert err == (
        "tilelint: error: --format junit needs the package junitparser: "
        "pip install 'tilelint[junit]'\n"
    )


def test_sarif_has_the_texts_of_the_rules(kernels: Path, capsys: Capture) -> None:
    run_ = json.loads(run(capsys, "check", "src", "--format", "sarif")[1])["runs"][0]
    rule = run_["tool"]["driver"]["rules"][0]
    assert rule["id"] == "partition-extent"
    assert rule["help"]["markdown"].startswith("# partition-extent (")
    assert rule["properties"]["facts"]
    assert "helpUri" not in rule
    uris = [
        r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in run_["results"]
    ]
    assert "src/k0.py" in uris


def test_fingerprints_do_not_depend_on_where_the_command_runs(
    kernels: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def names(*paths: str) -> list[str]:
        document = json.loads(run(capsys, "check", *paths, "--format", "json")[1])
        return [found["fingerprint"] for found in document["diagnostics"]]

    expected = names("src")
    assert len(set(expected)) == 3
    assert names(".") == names(str(kernels)) == names("src/k4.py", "src/k1.py", "src/k0.py")
    assert names(".") == expected
    monkeypatch.chdir(kernels / "src")
    assert names() == names("../src/") == expected


# baselines


def test_a_baseline(kernels: Path, capsys: Capture) -> None:
    status, out, err = run(capsys, "check", "--strict", "--write-baseline", "base.json")
    assert (status, err) == (0, "")
    assert "4 known from the baseline\n" in out
    assert [f["path"] for f in json.loads((kernels / "base.json").read_text())["findings"]] == [
        "src/k0.py",
        "src/k1.py",
        "src/k3.py",
        "src/k4.py",
    ]

    status, out, _ = run(capsys, "check", "--strict", "--baseline", "base.json", "src/k0.py")
    assert (status, "1 known from the baseline" in out) == (0, True)
    assert "no longer" not in out

    write(kernels, "src/k2.py", "error")
    write(kernels, "src/k4.py", "fine")
    status, out, _ = run(capsys, "check", "--baseline", "base.json")
    assert status == 1
    assert (
        "1 error, 3 known from the baseline\n1 finding of the baseline is no longer there:\n" in out
    )
    assert "  src/k4.py: partition-extent: found [k4]\n" in out
    out = run(capsys, "check", "--baseline", "base.json", "--ignore", "partition-extent")[1]
    assert "no longer" not in out
    out = run(capsys, "check", "--baseline", "base.json", "--format", "concise")[1]
    assert out == "src/k2.py:4:5: error[partition-extent] found [k2]\n"


def test_bad_baselines_are_refused_before_the_run(kernels: Path, capsys: Capture) -> None:
    write(kernels, "src/k9.py", "sleep")
    (kernels / "bad.json").write_text("{}")
    for path, said in (
        ("bad.json", 'not a baseline: no object with "findings"'),
        ("absent.json", "No such file or directory"),
    ):
        status, out, err = run(capsys, "check", "--baseline", path)
        assert (status, out, err) == (2, "", f"tilelint: error: --baseline {path}: {said}\n")


def test_no_baseline_after_a_failure(kernels: Path, capsys: Capture) -> None:
    write(kernels, "src/k5.py", "crash")
    status, out, err = run(capsys, "check", "--write-baseline", "base.json")
    assert status == 2
    assert "error[partition-extent]" in out
    assert "tilelint: error: base.json: not written: the run failed\n" in err
    assert not (kernels / "base.json").exists()


@pytest.mark.parametrize("option", [("--shard", "1/2"), ("--affected",), ("--diff-base", "HEAD")])
def test_a_baseline_is_of_a_whole_run(
    kernels: Path, capsys: Capture, option: tuple[str, ...]
) -> None:
    status, _, err = run(capsys, "check", "--write-baseline", "base.json", *option)
    assert status == 2
    assert "--write-baseline needs the findings of a whole run" in err


# shards


@given(
    st.lists(st.tuples(st.text("abc/", min_size=1), st.integers(0, 50)), unique_by=lambda f: f[0]),
    st.integers(1, 9),
    st.integers(0, 20),
    st.randoms(),
)
@settings(max_examples=examples(200), deadline=None)
def test_every_file_is_in_one_part(
    files: list[tuple[str, int]], count: int, others: int, generator: random.Random
) -> None:
    files = list({os.path.relpath(path, "/"): (path, size) for path, size in files}.values())

    def parts() -> list[Candidates]:
        names, sizes = tuple(name for name, _ in files), tuple(size for _, size in files)
        whole = Candidates(len(files) + others, names, sizes, ())
        return [part_of(whole, Part(index, count)) for index in range(1, count + 1)]

    found = parts()
    assert sorted(path for part in found for path in part.files) == sorted(n for n, _ in files)
    assert sum(part.total for part in found) == len(files) + others
    loads = [sum(part.sizes) for part in found]
    largest = max((size for _, size in files), default=0)
    assert max(loads) - min(loads) <= largest
    generator.shuffle(files)
    assert parts() == found


@pytest.mark.parametrize("count", [1, 2, 3, 9])
def test_shards_merge_into_the_whole_run(kernels: Path, capsys: Capture, count: int) -> None:
    contracts = ["--contract", "k2(x: f32[4])", "--contract", "k9(x: f32[4])"]
    whole = run(capsys, "check", "src", "--format", "json", *contracts)
    assert "contract for 'k9': no such kernel in the files checked" in whole[2]
    names = []
    for index in range(1, count + 1):
        names.append(f"part{index}.json")
        order = ["src", "src/k1.py"][:: -1 if index % 2 else 1]
        status, _, err = run(
            capsys, "check", *order, "--format", "json", "--shard", f"{index}/{count}",
            "--output", names[-1], *contracts,
        )  # fmt: skip
        assert status in (0, 1)
        assert err == ""
    random.Random(count).shuffle(names)
    assert run(capsys, "merge", *names, "--format", "json") == whole
    for format_ in ("full", "concise", "sarif", "github", "junit"):
        expected = run(capsys, "check", "src", "--format", format_, *contracts)
        assert run(capsys, "merge", *names, "--format", format_) == expected


@pytest.mark.parametrize("value", ["0/2", "3/2", "2", "a/b", "1/0", "-1/2", "1/2/3"])
def test_what_is_no_part(kernels: Path, capsys: Capture, value: str) -> None:
    status, _, err = run(capsys, "check", f"--shard={value}")
    assert status == 2
    assert "'--shard'" in err


def test_merge_says_what_is_wrong(kernels: Path, capsys: Capture) -> None:
    for index in (1, 3):
        run(capsys, "check", "--format", "json", "--shard", f"{index}/3", "--output", f"{index}")
    (kernels / "bad").write_text("{}")
    assert run(capsys, "merge", "1", "3") == (2, "", "tilelint: error: shard 2 of 3 missing\n")
    status, out, err = run(capsys, "merge", "1", "bad", "absent")
    assert (status, out) == (2, "")
    assert err == (
        "tilelint: error: bad: not a JSON report of tilelint: object missing required field "
        "'schema_version'\n"
        "tilelint: error: absent: No such file or directory\n"
    )
    other = (kernels / "3").read_text().replace('"version": "', '"version": "9')
    (kernels / "3").write_text(other)
    assert "different versions of tilelint: 1 of " in run(capsys, "merge", "1", "3")[2]
    assert run(capsys, "merge")[0] == 2


def test_some_of_the_shards(kernels: Path, capsys: Capture) -> None:
    """What is in the missing ones is not guessed at."""
    write(kernels, "src/k0.py", "fine")
    write_all = ("--format", "json", "--contract", "nowhere(x: bf16)")
    for index in ("1", "2", "3"):
        run(capsys, "check", *write_all, "--shard", f"{index}/3", "--output", index)
    findings = []
    for index in ("1", "2", "3"):
        status, out, err = run(capsys, "merge", "--partial", "--format", "json", index)
        assert (status, err) == (int('"severity": "error"' in out), "")
        findings += json.loads(out)["diagnostics"]
    status, out, err = run(capsys, "merge", "--partial", "--format", "json", "1", "2", "3")
    assert (status, len(json.loads(out)["diagnostics"])) == (2, len(findings))
    assert "no such kernel" in err
    assert run(capsys, "merge", "--partial", "--write-baseline", "b", "1")[0] == 2
    assert run(capsys, "merge", "--partial", "1", str(kernels / "2"), "2")[0] == 2


def test_merge_has_baselines_and_strictness(kernels: Path, capsys: Capture) -> None:
    for index in (1, 2):
        run(capsys, "check", "--format", "json", "--shard", f"{index}/2", "--output", f"{index}")
    assert run(capsys, "merge", "1", "2")[0] == 1
    assert run(capsys, "merge", "1", "2", "--strict", "--write-baseline", "base")[0] == 0
    assert run(capsys, "check", "--strict", "--baseline", "base")[0] == 0
    write(kernels, "src/k0.py", "fine")
    for index in (1, 2):
        arguments = ["--format", "json", "--shard", f"{index}/2", "--output", f"{index}"]
        run(capsys, "check", "--baseline", "base", *arguments)
    status, out, _ = run(capsys, "merge", "1", "2", "--strict")
    assert status == 0
    assert "3 known from the baseline\n1 finding of the baseline is no longer there:\n" in out
