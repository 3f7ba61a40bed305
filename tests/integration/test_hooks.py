"""What the hooks for pre-commit say, without pre-commit."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.repository import Repository, kernel
from verifier.cli.main import main

HOOKS = Path(__file__).resolve().parents[2] / ".pre-commit-hooks.yaml"


def hook(name: str) -> dict[str, str]:
    """The keys of a hook, each on a line of its own."""
    text = HOOKS.read_text(encoding="utf-8")
    (block,) = (b for b in text.split("- id: ")[1:] if b.splitlines()[0] == name)
    return dict(re.findall(r"^  (\w+): (.*?)(?: #.*)?$", block, re.M))


def test_stages_and_what_is_shown() -> None:
    assert hook("tilelint")["stages"] == "[pre-commit, manual]"
    assert hook("tilelint-full")["stages"] == "[pre-push, manual]"
    assert hook("tilelint")["verbose"] == "true"
    assert hook("tilelint")["always_run"] == hook("tilelint-full")["always_run"] == "true"


def test_the_arguments_of_users_add_to_the_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`args` replace those of the hook: nothing that it needs may stand there."""
    assert "args" not in hook("tilelint") and "args" not in hook("tilelint-full")
    program, *entry = shlex.split(hook("tilelint")["entry"])
    assert program == "tilelint"
    repository = Repository(tmp_path)
    repository.write("one.py", kernel("one"))
    monkeypatch.chdir(tmp_path)
    assert main([*entry, "--format", "json", "--no-cache", "one.py"]) == 0
    assert len(json.loads(capsys.readouterr().out)["kernels"]) == 1
    for given, seconds in (([], "5.0"), (["--strict"], "5.0"), (["--timeout", "20"], "20.0")):
        options = [word for word in entry[1:] if word != "--affected"]
        assert main(["config", "show", *options, *given, "one.py"]) == 0
        out = capsys.readouterr().out
        assert re.search(rf"timeout +{seconds} ", out), out


def test_the_manifest_is_valid() -> None:
    command = Path(sys.executable).with_name("pre-commit")
    if not command.exists():
        pytest.skip("pip install pre-commit")
    done = subprocess.run(
        [str(command), "validate-manifest", str(HOOKS)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
