"""``check --affected``: which files a change concerns, and what the command makes of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from verifier.cli.affected import affected
from verifier.cli.git import GitError
from verifier.cli.main import main

from .repository import Repository, kernel

HELPED = kernel("uses", "limit()", "from helper import limit\n")


@pytest.fixture
def team(project: Path) -> Repository:
    """Kernels with and without a helper, committed; the current folder."""
    repository = Repository(project)
    repository.write("alone.py", kernel("alone"))
    repository.write("uses.py", HELPED)
    repository.write("helper.py", "from numbers_ import ROWS\ndef limit():\n    return ROWS\n")
    repository.write("numbers_.py", "ROWS = 96\n")
    repository.write("plain.py", "x = 1\n")
    repository.write("README.md", "text\n")
    repository.commit()
    return repository


def chosen(paths: Sequence[str], since: str | None = None) -> list[str]:
    return sorted(affected(paths, since).files)


def test_files_that_changed_and_those_that_import_them(team: Repository) -> None:
    assert chosen(["alone.py"]) == ["alone.py"]
    assert chosen(["numbers_.py"]) == ["uses.py"]
    assert chosen(["helper.py", "alone.py"]) == ["alone.py", "uses.py"]
    assert chosen(["plain.py", "README.md"]) == []
    assert chosen(["."]) == ["alone.py", "uses.py"]


def test_names_stay_as_they_were_given(team: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    full = str(team.folder / "alone.py")
    assert chosen([full]) == [full]
    (team.folder / "below").mkdir()
    monkeypatch.chdir("below")
    assert chosen(["../alone.py"]) == ["../alone.py"]
    assert chosen(["../helper.py"]) == [str(team.folder / "uses.py")]


def test_git_knows_what_has_changed(team: Repository) -> None:
    assert chosen([]) == []
    team.write("new.py", kernel("new"))
    assert chosen([]) == ["new.py"]
    team.write("numbers_.py", "ROWS = 97\n")
    assert chosen([]) == ["new.py", "uses.py"]
    first = team.git("rev-parse", "HEAD")
    team.commit()
    assert chosen([]) == []
    assert chosen([], first) == ["new.py", "uses.py"]


def test_deleted_and_renamed_files(team: Repository) -> None:
    (team.folder / "numbers_.py").unlink()
    assert chosen([]) == ["uses.py"]
    assert chosen(["numbers_.py"]) == ["uses.py"]
    assert chosen(["alone.py"]) == ["alone.py", "uses.py"]  # what is gone counts in any case
    team.git("checkout", "-q", ".")
    team.git("mv", "helper.py", "other.py")
    assert chosen(["other.py"]) == ["uses.py"]
    team.git("mv", "alone.py", "moved.py")
    assert chosen(["moved.py"]) == ["moved.py", "uses.py"]


def test_a_repository_without_commits(project: Path) -> None:
    repository = Repository(project)
    repository.write("one.py", kernel("one"))
    assert chosen([]) == ["one.py"]
    repository.git("add", "-A")
    assert chosen([]) == ["one.py"]
    assert chosen(["one.py"]) == ["one.py"]


def test_settings_concern_everything_below_them(team: Repository) -> None:
    every = ["alone.py", "uses.py"]
    team.write("pyproject.toml", "[project]\nname = 'x'\n")
    assert chosen(["pyproject.toml"]) == every  # new: where imports are looked up may change
    team.commit()
    team.write("pyproject.toml", "[project]\nname = 'y'\n")
    assert chosen(["pyproject.toml"]) == []
    team.write("pyproject.toml", "[tool.tilelint]\ntargets = ['trn1']\n")
    assert chosen(["pyproject.toml"]) == every
    team.commit()
    team.write("pyproject.toml", "[tool.tilelint]\ntargets = ['trn1'] # the first\n")
    assert chosen(["pyproject.toml"]) == []
    team.write("pyproject.toml", "[tool.tilelint\n")
    assert chosen(["pyproject.toml"]) == every
    team.git("checkout", "-q", ".")
    team.write("part/tilelint.toml", "strict = true\n")
    team.write("part/inner.py", kernel("inner"))
    team.commit()
    assert chosen(["part/tilelint.toml"]) == ["part/inner.py"]


def test_packages_that_appear(team: Repository) -> None:
    team.write("pkg/inner.py", kernel("inner"))
    team.commit()
    team.write("pkg/__init__.py", "")
    assert chosen(["pkg/__init__.py"]) == ["pkg/inner.py"]


def test_files_that_are_ignored_hidden_linked_or_unreadable(team: Repository) -> None:
    team.write(".gitignore", "build/\n")
    team.write("build/made.py", kernel("made"))
    team.write(".hidden/inner.py", kernel("inner"))
    assert chosen(["build/made.py", ".hidden/inner.py"]) == [".hidden/inner.py", "build/made.py"]
    Path("link.py").symlink_to("alone.py")
    assert chosen(["alone.py"]) == ["alone.py", "link.py"]
    team.write("latin.py", b"# caf\xe9\n" + kernel("latin").encode())
    assert chosen(["latin.py"]) == ["latin.py"]
    Path("broken.py").symlink_to("nowhere.py")
    assert chosen(["broken.py"]) == []
    team.write("name with\nnewline.py", kernel("odd"))
    team.write("n\u00e4me.py", kernel("name"))
    assert {"name with\nnewline.py", "n\u00e4me.py"} <= set(chosen([]))


def test_without_git(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (("one.py", kernel("one")), ("uses.py", HELPED), ("helper.py", "limit = 1")):
        (project / name).write_text(text)
    assert chosen(["one.py", "helper.py"]) == ["helper.py", "one.py"]  # no project: themselves
    (project / "tilelint.toml").write_text("")
    assert chosen(["one.py", "helper.py"]) == ["one.py", "uses.py"]
    with pytest.raises(GitError, match="not a git repository"):
        affected([])
    with pytest.raises(GitError, match="not a git repository"):
        affected(["one.py"], "HEAD")
    Repository(project).commit()
    monkeypatch.setenv("PATH", "")
    assert chosen(["one.py", "helper.py"]) == ["one.py", "uses.py"]
    with pytest.raises(GitError, match="git is not installed"):
        affected([])


def test_several_repositories(project: Path) -> None:
    one, two = Repository(project / "one"), Repository(project / "two")
    for repository in (one, two):
        repository.write("uses.py", HELPED)
        repository.write("helper.py", "def limit():\n    return 96\n")
        repository.commit()
    assert chosen(["one/helper.py"]) == ["one/uses.py"]
    assert chosen(["one/helper.py", "two/uses.py"]) == ["one/uses.py", "two/uses.py"]


def test_a_hook_of_git_may_have_set_where_git_looks(
    team: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Repository(team.folder.parent / "other")
    monkeypatch.setenv("GIT_DIR", str(other.folder / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", "elsewhere")
    team.write("alone.py", kernel("alone", 97))
    assert chosen([]) == ["alone.py"]


def test_pre_commit_says_what_to_compare_with(
    team: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = team.git("rev-parse", "HEAD")
    (team.folder / "numbers_.py").unlink()
    team.commit()
    assert chosen(["README.md"]) == []
    monkeypatch.setenv("PRE_COMMIT_FROM_REF", first)
    assert chosen(["README.md"]) == ["uses.py"]
    monkeypatch.setenv("PRE_COMMIT_FROM_REF", "0" * 40)
    assert chosen(["README.md"]) == []


def test_untracked_files_are_no_part_of_a_commit(
    team: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    team.write("draft.py", HELPED)
    assert chosen(["helper.py"]) == ["draft.py", "uses.py"]
    monkeypatch.setenv("PRE_COMMIT", "1")
    assert chosen([]) == []
    assert chosen(["helper.py"]) == ["uses.py"]
    assert chosen(["helper.py", "draft.py"]) == ["draft.py", "uses.py"]


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str], str]:
    """The exit status, ``path kernel`` of each checked kernel, and stderr."""
    status = main(["check", "--affected", "--format", "json", "--no-cache", *arguments])
    out, err = capsys.readouterr()
    kernels = json.loads(out)["kernels"] if out else []
    return status, [f"{k['path']} {k['name']}" for k in kernels], err


def test_the_command(team: Repository, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(capsys) == (0, [], "")
    assert report(capsys, "alone.py") == (0, ["alone.py alone"], "")
    assert report(capsys, "--contract", "nobody(x: bf16[2, 2])", "alone.py")[0] == 0
    team.write("numbers_.py", "ROWS = 200\n")
    assert report(capsys, "numbers_.py") == (1, ["uses.py uses"], "")
    missing = "tilelint: error: nowhere.py: no such file or directory\n"
    assert report(capsys, "nowhere.py") == (2, [], missing)
    assert report(capsys, "nowhere.py", "alone.py") == (2, ["alone.py alone"], missing)
    (team.folder / "plain.py").unlink()
    assert report(capsys, "plain.py")[::2] == (0, "")
    team.git("rm", "-q", "--cached", "plain.py")
    assert report(capsys, "plain.py")[::2] == (0, "")
    team.commit()
    assert report(capsys, "plain.py")[0] == 2
    team.write("broken.py", b"import nki\n# caf\xe9\n")
    status, kernels, err = report(capsys, "broken.py", "alone.py")
    assert (status, kernels) == (2, ["alone.py alone"])
    assert "broken.py:2: file is not valid UTF-8" in err
