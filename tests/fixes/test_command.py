"""``check --fix``, ``--unsafe-fixes`` and ``--diff``, and what happens to the files."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from verifier.cli import fix
from verifier.cli.main import main
from verifier.engine import asserting, mending
from verifier.report.model import Edit, FileResult, Fix, Precondition, Span

KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def copied(x):
    rows, cols = x.shape  # tilelint: ignore[unpack-mismatch] -- was needed once
    assert cols == 300 and x.dtype == nl.float32
    dst = nl.ndarray((rows, cols), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, cols), dtype=x.dtype, buffer="sbuf")
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=dst, src=tile)
    return dst
"""

SAFE = KERNEL.replace("  # tilelint: ignore[unpack-mismatch] -- was needed once", "").replace(
    '"sbuf"', "nl.sbuf"
)
ASSERTED = "assert cols == 300 and x.dtype == nl.float32\n"
ALL = SAFE.replace(ASSERTED, f"{ASSERTED}    assert rows <= 128\n")


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "k.py"
    path.write_text(KERNEL)
    path.chmod(0o640)
    return path


def check(*arguments: str) -> int:
    return main(["check", "--no-cache", "--format", "concise", *arguments])


def test_safe_fixes(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check("--fix") == 0
    captured = capsys.readouterr()
    assert kernel.read_text() == SAFE
    assert kernel.stat().st_mode & 0o777 == 0o640
    assert "fixed 2 findings in 1 file" in captured.err
    assert "[precondition]" in captured.out and "unused" not in captured.out
    assert list(kernel.parent.iterdir()) == [kernel]


def test_unsafe_fixes(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check("--fix", "--unsafe-fixes") == 0
    assert kernel.read_text() == ALL
    assert "fixed 3 findings in 1 file" in capsys.readouterr().err
    assert check("--fix", "--unsafe-fixes", "--strict") == 0
    assert kernel.read_text() == ALL
    assert "fixed" not in capsys.readouterr().err


NEEDED = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def copied(x):
    rows, cols = x.shape
    dst = nl.ndarray((rows, cols), dtype=x.dtype, buffer=nl.shared_hbm)
    # tilelint: ignore[partition-extent, sbuf-capacity] -- callers know
    tile = nl.ndarray((rows, cols), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=dst, src=tile)
    return dst
"""


def test_what_a_contract_does_not_need_others_may(
    kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With small inputs nothing is violated that the suppressions are for."""
    kernel.write_text(NEEDED)
    assert check("--fix", "--contract", "copied(x: bf16[64, 32])") == 0
    assert kernel.read_text() == NEEDED
    assert "unused" not in capsys.readouterr().out
    # The inputs that a configuration names are all there are today, for people to judge.
    for table in ("contracts.copied", "presets.decode.copied"):
        (kernel.parent / "tilelint.toml").write_text(f'{table} = "(x: bf16[64, 32])"\n')
        assert check("--fix") == 0
        assert kernel.read_text() == NEEDED
        assert "unused-suppression" in capsys.readouterr().out
    assert check("--fix", "--unsafe-fixes") == 0
    assert "ignore" not in kernel.read_text()


@pytest.mark.parametrize(
    "options",
    [["--target=trn1"], ["--api-version=0.3"], ["--ignore=partition-extent"]],
)
def test_a_run_of_something_else_removes_no_suppressions(
    options: list[str], kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check("--fix", *options)
    assert "was needed once" in kernel.read_text()
    assert "unused-suppression" in capsys.readouterr().out
    check("--fix")
    assert "was needed once" not in kernel.read_text()


def test_unsafe_fixes_alone_are_a_mistake(kernel: Path) -> None:
    assert check("--unsafe-fixes") == 2
    assert kernel.read_text() == KERNEL


@pytest.mark.parametrize(("unsafe", "expected"), [(False, SAFE), (True, ALL)])
def test_a_diff_changes_nothing_and_applies(
    unsafe: bool, expected: str, kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--unsafe-fixes"] if unsafe else []
    assert check("--diff", *options) == 1
    out = capsys.readouterr().out
    assert kernel.read_text() == KERNEL
    assert out.startswith("--- k.py\n+++ k.py\n@@")
    if shutil.which("patch"):
        subprocess.run(["patch", "-p0"], input=out.encode(), cwd=kernel.parent, check=True)
        assert kernel.read_text() == expected
        assert check("--diff", *options) == 0


def test_a_diff_of_a_file_without_a_last_line_end(
    kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel.write_text(KERNEL + "# tilelint: ignore-file[no-output] -- never")
    assert check("--diff") == 1
    assert capsys.readouterr().out.endswith(
        "never\n\\ No newline at end of file\n+    return dst\n\\ No newline at end of file\n"
    )


def test_a_read_only_file(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = kernel.with_name("other.py")
    other.write_text(KERNEL)
    kernel.chmod(0o440)
    assert check("--fix") == 2
    err = capsys.readouterr().err
    assert "tilelint: error: k.py: cannot write the fixed file: it is read-only" in err
    assert (kernel.read_text(), other.read_text()) == (KERNEL, SAFE)
    assert check("--diff") == 1


def test_no_room(
    kernel: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    assert check("--fix") == 2
    captured = capsys.readouterr()
    assert "No space left" in captured.err and "unused-suppression" in captured.out
    assert kernel.read_text() == KERNEL
    assert list(kernel.parent.iterdir()) == [kernel]


def test_a_file_that_was_changed_meanwhile(kernel: Path) -> None:
    with pytest.raises(OSError, match="changed meanwhile"):
        fix.write(kernel, b"something else", b"new")
    assert kernel.read_text() == KERNEL


def test_links_stay_links(kernel: Path) -> None:
    link = kernel.with_name("link.py")
    link.symlink_to(kernel)
    assert check("--fix", "link.py") == 0
    assert link.is_symlink() and kernel.read_text() == SAFE


def test_suppressed_findings_are_not_fixed(kernel: Path) -> None:
    text = ALL.replace("    assert rows <= 128\n", "").replace(
        "buffer=nl.sbuf)", "buffer=nl.sbuf)  # tilelint: ignore[partition-extent] -- callers know"
    )
    kernel.write_text(text)
    assert check("--fix", "--unsafe-fixes", "--strict") == 0
    assert kernel.read_text() == text


WRONG = {
    "the finding is still there": "    assert rows >= 1\n",
    "would no longer parse": "    assert (\n",
    "`no-admitted-input` is found": "    assert rows <= 128 and rows > 200\n",
    "`partition-extent` is found": "    assert rows <= 129\n",
}


@pytest.mark.parametrize("reason", sorted(WRONG))
def test_what_does_not_help_is_taken_back(
    reason: str,
    kernel: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = asserting.Assertions.added

    def wrong(self: asserting.Assertions, precondition: Precondition) -> Precondition:
        conjuncts = [
            replace(c, assertion=c.assertion and replace(c.assertion, text=WRONG[reason]))
            for c in found(self, precondition).conjuncts
        ]
        return replace(precondition, conjuncts=tuple(conjuncts))

    monkeypatch.setattr(asserting.Assertions, "added", wrong)
    check("--fix", "--unsafe-fixes")
    err = capsys.readouterr().err
    assert kernel.read_text() == SAFE
    assert "k.py:" in err and "not fixed" in err and reason in err


def test_fixes_without_an_end_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A finding whose fix brings the next one is fixed a limited number of times."""
    from verifier.report.model import Diagnostic

    def result(text: str) -> FileResult:
        count = int(text.split("=")[1])
        if count > 900:
            return FileResult("k.py")
        fix_ = Fix("count", True, (Edit(Span("k.py", 1, 4, 1, len(text)), str(count + 1)),))
        found = Diagnostic(f"r{count}", "", "error", "always", "", Span("k.py", 1, 0, 1, 1), "")
        return FileResult("k.py", diagnostics=(replace(found, fix=fix_),))

    monkeypatch.setattr(mending, "_wrong", lambda *_: None)
    mended = mending.mend(
        [result("x = 0")],
        lambda _: "x = 0",
        lambda texts, _: [result(texts["k.py"])],
        lambda results, _: list(results),
    )
    assert mended.texts == {"k.py": f"x = {mending.ROUNDS}"}


HELPED = """\
import nki
import nki.isa as nisa
import nki.language as nl
from lib.tiles import tile_for


@nki.jit
def copied(x):
    assert x.shape == (64, 300) and x.dtype == nl.float32
    dst = nl.ndarray((64, 300), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = tile_for(x)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=dst, src=tile)
    return dst
"""

TILES = """\
import nki.language as nl


def tile_for(x):
    return nl.ndarray((64, 300), dtype=x.dtype, buffer="sbuf")
"""


def test_files_that_were_not_asked_for_are_not_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lib").mkdir()
    helper = tmp_path / "lib" / "tiles.py"
    helper.write_text(TILES)
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "k.py").write_text(HELPED)
    assert check("kernels", "--fix") == 1
    assert helper.read_text() == TILES
    assert check(".", "--fix") == 0
    assert helper.read_text() == TILES.replace('"sbuf"', "nl.sbuf")
