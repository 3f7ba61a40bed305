"""``check --diff-base``: what a change has brought about, and nothing else."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from verifier.cli.git import GitError
from verifier.cli.git import Repository as Git
from verifier.cli.main import main

from .repository import Repository, kernel


@pytest.fixture
def team(project: Path) -> Repository:
    """Two kernels with a finding each, one without; a helper."""
    repository = Repository(project)
    repository.write("old.py", kernel("old", 200))
    repository.write("other.py", kernel("other", 300))
    repository.write("uses.py", kernel("uses", "limit()", "from helper import limit\n"))
    repository.write("helper.py", "def limit():\n    return 96\n")
    repository.commit()
    return repository


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Check:
    return Check(capsys)


class Check:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys
        self.err = ""
        self.known = 0
        self.kernels: list[str] = []

    def __call__(self, *arguments: str, base: str = "HEAD") -> tuple[int, list[str]]:
        """The exit status, and ``path kernel`` of what is reported."""
        options = ["--format", "json", "--no-cache", "--diff-base", base]
        status = main(["check", *options, *arguments])
        out, self.err = self.capsys.readouterr()
        if not out:
            return status, []
        document = json.loads(out)
        self.kernels = [kernel["name"] for kernel in document["kernels"]]
        return status, [f"{d['path']} {d['kernel']}" for d in document["diagnostics"]]

    def text(self, *arguments: str, base: str = "HEAD") -> str:
        main(["check", "--no-cache", "--diff-base", base, *arguments])
        return self.capsys.readouterr().out


def test_nothing_has_changed(team: Repository, check: Check) -> None:
    assert check() == (0, [])
    assert check.err == ""


def test_what_is_new_and_what_was_there(team: Repository, check: Check) -> None:
    team.write("old.py", "# a remark\n\n" + kernel("old", 250) + kernel("fresh", 400))
    assert check() == (1, ["old.py fresh"])
    assert sorted(check.kernels) == ["fresh", "old"]
    assert "1 error, 1 known from HEAD" in check.text()
    team.write("new.py", kernel("new", 200))
    assert check() == (1, ["new.py new", "old.py fresh"])
    assert check("new.py") == (1, ["new.py new"])
    first = team.git("rev-parse", "HEAD")
    team.commit()
    assert check() == (0, [])
    assert check(base=first) == (1, ["new.py new", "old.py fresh"])
    assert check(base="HEAD~1") == (1, ["new.py new", "old.py fresh"])


def test_a_helper_brings_a_finding(team: Repository, check: Check) -> None:
    team.write("helper.py", "def limit():\n    return 128\n")
    assert check() == (0, [])
    assert check.kernels == ["uses"]
    team.write("helper.py", "def limit():\n    return 129\n")
    assert check() == (1, ["uses.py uses"])
    team.commit()
    team.write("helper.py", "def limit():\n    return 130\n")
    assert check() == (0, [])


def test_an_error_where_there_was_a_note(team: Repository, check: Check) -> None:
    """Without the helper nothing is decided; the helper that is added makes it an error."""
    text = kernel("vague", "limit()", "from limits import limit\n")
    team.write("vague.py", text)
    team.commit()
    main(["check", "--no-cache", "--write-baseline", "../known.json", "vague.py"])
    check.capsys.readouterr()
    team.write("limits.py", "def limit():\n    return 256\n")
    status, found = check()
    assert status == 1 and "vague.py vague" in found
    check.capsys.readouterr()
    assert main(["check", "--no-cache", "--baseline", "../known.json", "vague.py"]) == 1


def test_renamed_files_are_the_same_files(team: Repository, check: Check) -> None:
    (team.folder / "part").mkdir()
    team.git("mv", "old.py", "part/moved.py")
    assert check() == (0, [])
    team.write("part/moved.py", "# moved\n" + kernel("old", 250))
    assert check() == (0, [])
    team.git("mv", "helper.py", "part/helper.py")
    team.write("uses.py", kernel("uses", "limit()", "from part.helper import limit\n"))
    assert check() == (0, [])
    assert sorted(check.kernels) == ["old", "uses"]
    team.write("part/helper.py", "def limit():\n    return 200\n")
    assert check() == (1, ["uses.py uses"])


def test_one_more_of_the_same(team: Repository, check: Check) -> None:
    twice = kernel("old", 200).replace("def old(", "def older(")
    team.write("old.py", kernel("old", 200) + twice[twice.index("@nki.jit") :])
    assert check() == (1, ["old.py older"])


def test_suppressions(team: Repository, check: Check) -> None:
    silent = kernel("old", 200).replace("buffer=nl.sbuf)", "buffer=nl.sbuf)  # tilelint: ignore")
    silent = silent.replace("ignore", "ignore[partition-extent] -- known")
    team.write("old.py", silent)
    assert check()[0] == 0
    team.commit()
    team.write("old.py", kernel("old", 200))
    assert check() == (1, ["old.py old"])


def test_undecided_kernels_and_bad_syntax(team: Repository, check: Check) -> None:
    undecided = kernel("old", 96).replace("nisa.dma_copy(dst=tile", "nisa.no_such(dst=tile")
    team.write("vague.py", kernel("vague", 96).replace("    return out", "    return unknown(out)"))
    team.write("broken.py", "import nki\n\ndef f(:\n    pass\n")
    team.write("older.py", undecided)
    team.commit()
    for name in ("vague.py", "broken.py", "older.py"):
        file = team.folder / name
        file.write_text(file.read_text() + "\n# a remark\n")
    status, _ = check("--strict")
    assert status == 0, check.text("--strict")
    team.write("broken2.py", "import nki\n\ndef f(:\n    pass\n")
    assert check()[0] == 1


def test_the_settings_of_then(team: Repository, check: Check) -> None:
    team.write("tilelint.toml", 'ignore = ["partition-extent"]\n')
    team.commit()
    team.write("tilelint.toml", "")
    assert check() == (1, ["old.py old", "other.py other"])
    team.write("tilelint.toml", "nonsense = 1\n")
    team.commit()
    team.write("tilelint.toml", "")
    assert check()[0] == 2
    assert check.err.startswith("tilelint: error: the settings at HEAD cannot be used: tilelint.")
    assert check.err.count("\n") == 1
    assert check("--isolated") == (0, [])


def test_only_some_paths(team: Repository, check: Check) -> None:
    team.write("part/new.py", kernel("new", 200))
    team.write("new.py", kernel("new", 200))
    assert check("part") == (1, ["part/new.py new"])
    assert check("--affected", "part/new.py") == (1, ["part/new.py new"])
    assert check("--affected") == (1, ["new.py new", "part/new.py new"])
    assert check("nowhere") == (2, [])
    assert check.err == "tilelint: error: nowhere: no such file or directory\n"


def test_the_folder_that_one_is_in(
    team: Repository, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    team.write("part/old.py", kernel("old", 200))
    team.commit()
    team.write("part/old.py", kernel("old", 210) + kernel("fresh", 400))
    monkeypatch.chdir("part")
    assert check() == (1, ["old.py fresh"])
    assert check("..") == (1, ["../part/old.py fresh"])
    assert check(str(team.folder)) == (1, [f"{team.folder}/part/old.py fresh"])
    link = team.folder.parent / "link"
    link.symlink_to(team.folder)
    monkeypatch.chdir(link)
    assert check() == (1, ["part/old.py fresh"])


def test_the_merge_base(team: Repository, check: Check) -> None:
    team.git("checkout", "-q", "-b", "topic")
    team.write("mine.py", kernel("mine", 200))
    team.commit()
    team.git("checkout", "-q", "main")
    team.write("old.py", kernel("old", 96))  # mended elsewhere
    team.commit()
    team.git("checkout", "-q", "topic")
    assert check(base="main") == (1, ["mine.py mine", "old.py old"])
    assert check(base="main...") == (1, ["mine.py mine"])


def test_refusals(team: Repository, check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    for base, said in (
        ("nope", "unknown revision 'nope'"),
        ("--all", "unknown revision '--all'"),
        ("", "unknown revision ''"),
        ("HEAD:old.py", "unknown revision 'HEAD:old.py'"),
        ("HEAD~7", "unknown revision 'HEAD~7'"),
        ("nope...", "unknown revision 'nope'"),
    ):
        assert check(base=base) == (2, [])
        assert check.err == f"tilelint: error: {said}\n"
    outside = team.folder.parent / "outside"
    outside.mkdir()
    assert check(str(outside)) == (2, [])
    assert check.err.startswith(f"tilelint: error: {outside}: not a git repository")
    monkeypatch.setenv("PATH", str(outside))
    assert check() == (2, [])
    assert check.err == "tilelint: error: git is not installed, or not in PATH\n"


def test_a_shallow_clone(
    team: Repository, check: Check, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = team.git("rev-parse", "HEAD")
    team.write("new.py", kernel("new", 200))
    team.commit()
    shallow = tmp_path / "shallow"
    source = f"file://{team.folder}"
    subprocess.run(["git", "clone", "-q", "--depth=1", source, str(shallow)], check=True)
    monkeypatch.chdir(shallow)
    assert check() == (0, [])
    for base in (first, "HEAD~1", f"{first}..."):
        assert check(base=base) == (2, [])
        assert (
            "in this shallow clone: fetch more of its history (git fetch --unshallow" in check.err
        )
        assert check.err.count("\n") == 1


def test_a_tree_as_it_was(team: Repository) -> None:
    (team.folder / "link.py").symlink_to("old.py")
    team.write("part/data.bin", b"\0" * 100)
    team.write("part/n\u00e4me\n.py", b"\xff\r\n")
    team.write("empty.py", b"")
    commit = team.commit()
    for name in ("old.py", "link.py", "part/data.bin"):
        (team.folder / name).unlink()
    git = Git.around(".")
    with git.tree(commit, (".py",)) as folder:
        found = {
            path.relative_to(folder).as_posix()
            for path in Path(folder).rglob("*")
            if path.is_file()
        }
        every = {"old.py", "other.py", "uses.py", "helper.py", "link.py", "empty.py"}
        assert found == {*every, "part/n\u00e4me\n.py"}
        assert (Path(folder) / "link.py").is_symlink()
        assert (Path(folder) / "link.py").read_text() == kernel("old", 200)
        assert (Path(folder) / "part" / "n\u00e4me\n.py").read_bytes() == b"\xff\r\n"
    assert not Path(folder).exists()
    with pytest.raises(GitError), git.tree("0" * 40, (".py",)):
        pass
