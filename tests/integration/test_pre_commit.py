"""The hooks under the real pre-commit, in a scratch repository with commits.

    .venv/bin/pip install pre-commit
    TILELINT_INTEGRATION=1 .venv/bin/python -m pytest tests/integration/test_pre_commit.py

Needs git, and the package index: pre-commit installs this work tree into an environment of its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.benchmarks.repository import make
from tests.cli.repository import Repository, kernel

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(
    os.environ.get("TILELINT_INTEGRATION") != "1",
    reason="needs pre-commit and the network: TILELINT_INTEGRATION=1",
)


@dataclass(frozen=True, slots=True)
class Tool:
    """This work tree as a repository that pre-commit can clone."""

    path: Path
    revision: str
    home: Path

    def run(self, folder: Path, *arguments: str) -> tuple[int, str]:
        beside = Path(sys.executable).with_name("pre-commit")
        command = str(beside) if beside.exists() else shutil.which("pre-commit")
        assert command, "pre-commit is not installed: pip install pre-commit"
        done = subprocess.run(
            [command, *arguments],
            cwd=folder,
            env={
                **os.environ,
                "PRE_COMMIT_HOME": str(self.home),
                "PRE_COMMIT_COLOR": "never",
                "TILELINT_CACHE_DIR": "",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tool]:
    folder = tmp_path_factory.mktemp("tool")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout
    repository = Repository(folder)
    for name in filter(None, listed.decode().split("\0")):
        if (ROOT / name).is_file() and not name.startswith(("tests/", "fixtures/")):
            repository.write(name, (ROOT / name).read_bytes())
    yield Tool(folder, repository.commit(), tmp_path_factory.mktemp("home"))


CONFIGURATION = """\
repos:
  - repo: {path}
    rev: {revision}
    hooks:
      - id: tilelint
      - id: tilelint-full
"""


@pytest.fixture
def team(tmp_path: Path, tool: Tool) -> Repository:
    repository = Repository(tmp_path / "team")
    text = CONFIGURATION.format(path=tool.path, revision=tool.revision)
    repository.write(".pre-commit-config.yaml", text)
    repository.write("src/alone.py", kernel("alone"))
    repository.write("src/uses.py", kernel("uses", "ROWS", "from sizes import ROWS\n"))
    repository.write("src/sizes.py", "ROWS = 96\n")
    repository.commit()
    return repository


def test_a_commit_with_and_without_faults(team: Repository, tool: Tool) -> None:
    status, said = tool.run(team.folder, "install")
    assert status == 0, said

    team.write("src/alone.py", kernel("alone", 64))
    status, said = commit(team, tool)
    assert (status, "Passed" in said) == (0, True), said

    # A fault in the kernel itself.
    team.write("src/alone.py", kernel("alone", 200))
    status, said = commit(team, tool)
    assert status == 1 and "src/alone.py:11" in said and "uses" not in said, said
    team.git("checkout", "-q", "HEAD", "src/alone.py")

    # A fault that a helper brings to a kernel which is no part of the commit.
    team.write("src/sizes.py", "ROWS = 200\n")
    status, said = commit(team, tool)
    assert status == 1 and "src/uses.py" in said and "alone" not in said, said
    team.git("checkout", "-q", "HEAD", "src/sizes.py")

    # What is not staged, or not tracked, is no part of the commit.
    team.write("src/sizes.py", "ROWS = 80\n")
    team.git("add", "src/sizes.py")
    team.write("src/sizes.py", "ROWS = 200\n")
    team.write("src/draft.py", kernel("draft", 300))
    status, said = commit(team, tool, add=False)
    assert status == 0, said
    assert (team.folder / "src/sizes.py").read_text() == "ROWS = 200\n"
    team.git("checkout", "-q", "HEAD", "src/sizes.py")
    (team.folder / "src/draft.py").unlink()

    # No kernel is concerned.
    team.write("notes.md", "text\n")
    status, said = commit(team, tool)
    assert status == 0 and "Passed" in said and "No kernels in 0 files" in said, said

    # Settings concern all kernels.
    team.write("pyproject.toml", '[tool.tilelint.severity]\nnothing = "error"\n')
    status, said = commit(team, tool)
    assert status == 1 and "pyproject.toml:2" in said, said


def commit(team: Repository, tool: Tool, add: bool = True) -> tuple[int, str]:
    """A commit as a user makes it, by git with the hook installed."""
    if add:
        team.git("add", "-A")
    done = subprocess.run(
        ["git", "-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-m", "x"],
        cwd=team.folder,
        env={
            **os.environ,
            "PRE_COMMIT_HOME": str(tool.home),
            "PRE_COMMIT_COLOR": "never",
            "TILELINT_CACHE_DIR": "",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode and not add:
        team.git("reset", "-q")
    return done.returncode, done.stdout + done.stderr


def test_every_file_and_a_range_of_commits(team: Repository, tool: Tool) -> None:
    first = team.git("rev-parse", "HEAD")
    assert tool.run(team.folder, "run", "--all-files")[0] == 0
    (team.folder / "src/sizes.py").unlink()
    team.write("src/alone.py", kernel("alone", 200))
    second = team.commit()
    arguments = ("run", "--from-ref", first, "--to-ref", second)
    status, said = tool.run(team.folder, *arguments)
    assert status == 1 and "src/alone.py" in said, said
    status, said = tool.run(team.folder, "run", "tilelint-full", "--hook-stage", "manual")
    assert status == 1 and "2 kernels in 2 files" in said, said


def test_try_repo(team: Repository, tool: Tool) -> None:
    status, said = tool.run(team.folder, "try-repo", str(tool.path), "tilelint", "--all-files")
    assert status == 0 and "Passed" in said, said


def test_the_fast_hook_is_fast(tmp_path: Path, tool: Tool, team: Repository) -> None:
    """One kernel of 200 files changed: 1.5 s for the hook (pre-commit's own time not counted)."""
    folder = tmp_path / "large"
    make(folder, 200)
    text = CONFIGURATION.format(path=tool.path, revision=tool.revision)
    (folder / ".pre-commit-config.yaml").write_text(text)
    changed = next(iter(sorted((folder / "src" / "team0").glob("b*.py"))))
    changed.write_text(changed.read_text() + "\n# a change\n")
    subprocess.run(["git", "add", "-A"], cwd=folder, check=True)
    times = []
    for _ in range(3):
        status, said = tool.run(folder, "run", "--verbose", "tilelint")
        assert status == 0, said
        times.append(float(said.split("- duration: ")[1].split("s")[0]))
    print(f"the hook in 200 files: {sorted(times)[1]} s (median of three)")
    assert sorted(times)[1] <= 1.5
