from __future__ import annotations

import os
from pathlib import Path

import pytest

from verifier.source.files import MissingPathError, PathError, collect


def touch(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")


def relative(root: Path, files: list[Path]) -> list[str]:
    return [file.relative_to(root).as_posix() for file in files]


def test_walk_is_sorted_and_skips_what_is_not_source(tmp_path: Path) -> None:
    touch(tmp_path, "b.py", "a.py", "z/c.py", "z/d.txt", "y/e.pyi", ".hidden/f.py")
    touch(tmp_path, "z/__pycache__/g.py", "env/pyvenv.cfg", "env/lib/h.py", "node_modules/i.py")
    (tmp_path / "folder.py").mkdir()
    assert relative(tmp_path, collect([tmp_path])) == ["a.py", "b.py", "z/c.py"]


def test_named_files_are_always_taken_and_once(tmp_path: Path) -> None:
    touch(tmp_path, ".hidden/f.py", "script", "a.py", ".git/HEAD")
    (tmp_path / ".gitignore").write_text("a.py\n")
    given = [tmp_path / "script", tmp_path / ".hidden/f.py", tmp_path / "a.py", tmp_path]
    assert relative(tmp_path, collect([*given, tmp_path / "script"])) == [
        "script",
        ".hidden/f.py",
        "a.py",
    ]


def test_gitignore(tmp_path: Path) -> None:
    touch(tmp_path, ".git/HEAD", "keep.py", "gen_a.py", "sub/gen_b.py", "sub/mine.py", "out/x.py")
    touch(tmp_path, "sub/only/y.py", "sub/z/only/q.py")
    (tmp_path / ".gitignore").write_text("gen_*.py\n/out/\n")
    (tmp_path / "sub/.gitignore").write_text("!gen_b.py\n/only\n")
    assert relative(tmp_path, collect([tmp_path])) == [
        "keep.py",
        "sub/gen_b.py",
        "sub/mine.py",
        "sub/z/only/q.py",
    ]
    assert relative(tmp_path, collect([tmp_path / "sub/z"])) == ["sub/z/only/q.py"]
    (tmp_path / ".gitignore").write_text("q.py\n")
    assert collect([tmp_path / "sub/z"]) == []


def test_links(tmp_path: Path) -> None:
    touch(tmp_path, "real/a.py")
    (tmp_path / "real/loop").symlink_to(tmp_path)
    (tmp_path / "linked.py").symlink_to(tmp_path / "real/a.py")
    (tmp_path / "dangling.py").symlink_to(tmp_path / "nowhere")
    (tmp_path / "self.py").symlink_to(tmp_path / "self.py")
    assert relative(tmp_path, collect([tmp_path])) == ["linked.py", "real/a.py"]
    assert len(collect([tmp_path / "real/loop"])) == 2


def test_special_files_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    assert collect([tmp_path]) == []


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(MissingPathError) as caught:
        collect([tmp_path, tmp_path / "absent"])
    assert caught.value.path == tmp_path / "absent"


@pytest.mark.skipif(os.geteuid() == 0, reason="needs file permissions")
def test_unreadable_folders_are_reported(tmp_path: Path) -> None:
    touch(tmp_path, "a.py", "closed/b.py")
    (tmp_path / "closed").chmod(0)
    errors: list[PathError] = []
    try:
        assert relative(tmp_path, collect([tmp_path], errors)) == ["a.py"]
        assert [e.path for e in errors] == [tmp_path / "closed"]
        with pytest.raises(PathError):
            collect([tmp_path / "closed"])
    finally:
        (tmp_path / "closed").chmod(0o700)


def test_a_folder_that_is_named_is_walked_though_git_ignores_it(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("/vendor/\n*_local.py\n")
    inner = tmp_path / "vendor" / "lib" / "pkg"
    inner.mkdir(parents=True)
    (inner / "kernel.py").write_text("")
    own = tmp_path / "own"
    own.mkdir()
    (own / "kernel.py").write_text("")
    (own / "mine_local.py").write_text("")
    assert collect([tmp_path]) == [own / "kernel.py"]
    assert collect([inner]) == [inner / "kernel.py"]
    assert collect([tmp_path / "vendor"]) == [inner / "kernel.py"]
    assert collect([own]) == [own / "kernel.py"]
