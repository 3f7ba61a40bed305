"""The GitHub Action: its steps, executed by bash in an environment like a runner's."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.repository import Repository, kernel
from tests.commands import script, starter, tilelint

ROOT = Path(__file__).resolve().parents[2]
ACTION = ROOT / ".github" / "actions" / "check"

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")


@dataclass(frozen=True, slots=True)
class Step:
    """What a step printed and set."""

    status: int
    log: str
    outputs: dict[str, str]

    @property
    def failed(self) -> int:
        """As the action's last step ends."""
        return int(self.outputs.get("failed", "2"))


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """A checkout that is the current folder, and a runner with tilelint installed."""
    binaries = tmp_path / "runner" / "tilelint-environment" / "bin"
    binaries.mkdir(parents=True)
    (binaries / "tilelint").write_text(script())
    (binaries / "tilelint").chmod(0o755)
    monkeypatch.setenv("RUNNER_TEMP", str(tmp_path / "runner"))
    monkeypatch.setenv("TILELINT_CACHE_DIR", "")
    repository = Repository(tmp_path / "checkout")
    repository.write("good.py", kernel("good"))
    repository.write("bad.py", kernel("bad", 200))
    repository.commit()
    monkeypatch.chdir(repository.folder)
    return repository


def check(**inputs: str) -> Step:
    """The step `Check` with these inputs (``-`` is written ``_``)."""
    output = Path(os.environ["RUNNER_TEMP"]) / "output"
    output.write_text("")
    given = {name: str(value) for name, value in {**defaults(), **inputs}.items()}
    environment = {f"TILELINT_{name.upper()}": value for name, value in given.items()}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(ACTION / "check.sh")],
        env={
            **os.environ,
            **environment,
            "GITHUB_OUTPUT": str(output),
            "GITHUB_ACTION_PATH": str(ACTION),
        },
        capture_output=True,
        text=True,
        check=False,
        pass_fds=[starter().fileno()],
    )
    lines = output.read_text().splitlines()
    outputs = dict(line.split("=", 1) for line in lines)
    return Step(done.returncode, done.stdout + done.stderr, outputs)


def defaults() -> dict[str, str]:
    return {
        "paths": ".",
        "args": "",
        "format": "github",
        "fail_on": "error",
        "diff_base": "",
        "shard": "",
    }


def test_findings_are_annotations_and_sarif(runner: Repository) -> None:
    step = check()
    assert (step.status, step.failed, step.outputs["status"]) == (0, 1, "1")
    assert re.search(r"^::error .*file=bad\.py,line=11", step.log, re.M), step.log
    report = json.loads(Path(step.outputs["report"]).read_text())
    assert [d["path"] for d in report["diagnostics"]] == ["bad.py"]
    sarif = json.loads(Path(step.outputs["sarif"]).read_text())
    assert [r["ruleId"] for r in sarif["runs"][0]["results"]] == ["partition-extent"]


def test_what_fails(runner: Repository) -> None:
    assert check(fail_on="never").failed == 0
    assert check(paths="good.py").failed == 0
    assert check(paths="good.py", fail_on="warning").failed == 0
    assert check(paths="good.py\n\n  bad.py  \n").failed == 1
    assert check(paths="nowhere", fail_on="never").failed == 2
    assert check(args="--no-such-option", fail_on="never").failed == 2
    for inputs in ({"fail_on": "sometimes"}, {"format": "sarif"}):
        step = check(**inputs)
        assert (step.status, step.failed) == (2, 2)
        assert "::error title=tilelint::" in step.log


def test_options_of_one_line_each(runner: Repository) -> None:
    step = check(
        args="--ignore=partition-extent\n--contract=bad(source: bf16[64, N]) where N > 2\n"
    )
    assert step.failed == 0, step.log


def test_a_change(runner: Repository) -> None:
    runner.write("new.py", kernel("new", 300))
    step = check(diff_base="HEAD")
    assert step.failed == 1 and "file=new.py" in step.log and "file=bad.py" not in step.log
    assert check(diff_base="nope").failed == 2


def test_a_report_that_cannot_be_rendered_fails(runner: Repository) -> None:
    """Whatever goes wrong behind the check is no success."""
    command = Path(os.environ["RUNNER_TEMP"], "tilelint-environment", "bin", "tilelint")
    text = command.read_text()
    command.write_text(text.replace("exec", '[ "$1" != merge ] || exit 2\nexec', 1))
    step = check(paths="good.py", fail_on="never")
    assert step.failed == 2 and "sarif" not in step.outputs


def test_shards_merge(runner: Repository) -> None:
    parts = [check(shard=f"{part}/2") for part in (1, 2)]
    found = []
    for part in parts:
        sarif = json.loads(Path(part.outputs["sarif"]).read_text())
        results = sarif["runs"][0]["results"]
        annotations = re.findall(r"^::(?:error|warning|notice) .*file=", part.log, re.M)
        assert len(annotations) == len(results), part.log
        assert "missing" not in part.log and "tilelint: " not in part.log, part.log
        assert part.failed == part.status + len(results), part.log
        found += [result["ruleId"] for result in results]
    assert found == ["partition-extent"]
    done = tilelint("merge", *(part.outputs["report"] for part in parts), cwd=runner.folder)
    assert done.returncode == 1 and "2 kernels in 2 files" in done.stdout, done.stdout


@pytest.mark.parametrize(
    "text",
    ["$(touch owned)", "`touch owned`", "; touch owned #", "x\ntouch owned", "'; touch owned; '",
     '"; touch owned; "', "* $HOME", "--output=owned"],
)  # fmt: skip
def test_inputs_are_never_commands(runner: Repository, text: str) -> None:
    args = "" if text.startswith("--") else text
    check(paths=text, args=args, diff_base=text, shard=text)
    check(format=text)
    check(fail_on=text)
    assert not Path("owned").exists()


def test_no_expression_in_a_script() -> None:
    text = (ACTION / "action.yml").read_text(encoding="utf-8")
    scripts = re.findall(r"run: (.*)", text)
    assert len(scripts) == 3
    assert not any("${{" in script for script in scripts)


def test_the_inputs_are_those_of_the_script() -> None:
    action = (ACTION / "action.yml").read_text(encoding="utf-8")
    passed = set(re.findall(r"(TILELINT_[A-Z_]+): \$\{\{ inputs\.", action))
    used = set(re.findall(r"\$\{?(TILELINT_[A-Z_]+)", (ACTION / "check.sh").read_text()))
    assert passed == used == {f"TILELINT_{name.upper()}" for name in defaults()}


def test_the_schemas() -> None:
    """Of actions and workflows, where check-jsonschema is installed."""
    command = Path(sys.executable).with_name("check-jsonschema")
    if not command.exists():
        pytest.skip("pip install check-jsonschema")
    for schema, files in (
        ("vendor.github-actions", [ACTION / "action.yml"]),
        ("vendor.github-workflows", sorted((ROOT / ".github" / "workflows").glob("*.yml"))),
    ):
        done = subprocess.run(
            [str(command), "--builtin-schema", schema, *map(str, files)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(
    os.environ.get("TILELINT_INTEGRATION") != "1",
    reason="installs from the package index: TILELINT_INTEGRATION=1",
)
def test_installing(tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(ACTION / "install.sh")],
        env={**os.environ, "RUNNER_TEMP": str(tmp_path), "GITHUB_ACTION_PATH": str(ACTION)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("tilelint ")
