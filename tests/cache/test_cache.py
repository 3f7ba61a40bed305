"""The cache from outside: the same report byte for byte, whatever became of what was kept."""

from __future__ import annotations

import pickle
import shutil
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.commands import ROOT, Command, tilelint
from verifier.cache.store import Store
from verifier.engine import memo

HELPER = """
LIMIT = 128


def rows(n):
    return min(n, LIMIT)


def unused(n):
    return n
"""

KERNEL = """import nki
import nki.isa as nisa
import nki.language as nl

from sizes import rows


@nki.jit
def scaled(x):
    M, N = x.shape
    assert N <= 700
    y = nl.ndarray((M, N), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((rows(M), N), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x[0 : rows(M), :])
    nisa.dma_copy(dst=y[0 : rows(M), :], src=t)
    return y


@nki.jit
def tall(x):
    M, N = x.shape
    t = nl.ndarray((M, N), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    return x
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return written(tmp_path / "project")


def written(folder: Path) -> Path:
    folder.mkdir()
    (folder / "sizes.py").write_text(HELPER)
    (folder / "kernels.py").write_text(KERNEL)
    shutil.copy(ROOT / "fixtures/nki/bad/output_tail.py", folder / "tail.py")
    return folder


class Filled(NamedTuple):
    """A project, a cache that has been filled by a check of it, and what that said."""

    project: Path
    cache: Path
    cold: tuple[int, str, str]


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Filled:
    top = tmp_path_factory.mktemp("filled")
    project, cache = written(top / "project"), top / "cache"
    cold = check(project, cache=cache)
    shutil.copytree(top, top.with_name("kept"))
    return Filled(project, cache, cold)


@pytest.fixture
def filled(first: Filled) -> Filled:
    """As a first check has left both, whatever tests have made of them: entries know places."""
    shutil.rmtree(first.project.parent)
    shutil.copytree(first.project.parent.with_name("kept"), first.project.parent)
    return first


def check(project: Path, *options: str, cache: Path | None = None) -> tuple[int, str, str]:
    arguments = ["check", ".", "--format", "json", *options]
    if cache is not None:
        arguments += ["--cache-dir", str(cache)]
    done = tilelint(*arguments, cwd=project)
    return done.returncode, done.stdout, done.stderr


def untimed(report: str) -> list[str]:
    return [line for line in report.splitlines() if '"time_ms"' not in line]


def test_warm_is_cold_byte_for_byte(project: Path, tmp_path: Path) -> None:
    cold = check(project, cache=tmp_path / "cache")
    assert cold[0] == 1 and cold[2] == ""
    for jobs in ("1", "2"):
        # the times tell that nothing was analysed again
        assert check(project, "--jobs", jobs, cache=tmp_path / "cache") == cold
    assert untimed(check(project, "--no-cache")[1]) == untimed(cold[1])


def insert_above(project: Path) -> None:
    file = project / "kernels.py"
    file.write_text("# one\n# two\n" + file.read_text())


def change_helper(project: Path) -> None:
    file = project / "sizes.py"
    file.write_text(file.read_text().replace("LIMIT = 128", "LIMIT = 129"))


def change_unused(project: Path) -> None:
    file = project / "sizes.py"
    file.write_text(file.read_text().replace("    return n\n", "    return n + 1\n"))


def shadow(project: Path) -> None:
    (project / "sizes").mkdir()
    (project / "sizes" / "__init__.py").write_text("def rows(n):\n    return 200\n")


def remove_helper(project: Path) -> None:
    (project / "sizes.py").unlink()


def break_kernel(project: Path) -> None:
    file = project / "kernels.py"
    file.write_text(file.read_text().replace("    t = nl", "    t = (nl"))


def windows(project: Path) -> None:
    file = project / "kernels.py"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))


EDITS = [
    insert_above,
    change_helper,
    change_unused,
    shadow,
    remove_helper,
    break_kernel,
    windows,
]


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
def test_after_a_change_it_is_as_if_there_were_no_cache(
    filled: Filled, edit: Callable[[Path], None]
) -> None:
    project = filled.project
    edit(project)
    warm = check(project, cache=filled.cache)
    cold = check(project, "--no-cache")
    assert (warm[0], untimed(warm[1]), warm[2]) == (cold[0], untimed(cold[1]), cold[2])


@pytest.mark.parametrize(
    "options",
    [
        ["--target", "trn1"],
        ["--ignore", "output-not-written"],
        ["--contract", "tall(x: bf16[64, N])"],
        ["--timeout", "0.000001"],
    ],
    ids=lambda options: options[0],
)
def test_other_settings_are_other_entries(filled: Filled, options: list[str]) -> None:
    project, cache, plain = filled
    warm = check(project, *options, cache=cache)
    cold = check(project, *options, "--no-cache")
    assert untimed(warm[1]) != untimed(plain[1])
    if options[0] != "--timeout":  # how far a kernel comes in no time differs
        assert (warm[0], untimed(warm[1])) == (cold[0], untimed(cold[1]))
    assert check(project, cache=cache) == plain


def spoil(folder: Path, how: Callable[[bytes], bytes]) -> int:
    files = [file for file in folder.rglob("*") if file.is_file()]
    for file in files:
        file.write_bytes(how(file.read_bytes()))
    return len(files)


def flipped(content: bytes) -> bytes:
    """A bit of every 37th byte; the pages' headers of the database stay."""
    out = bytearray(content)
    for at in range(200, len(out), 37):
        out[at] ^= 4
    return bytes(out)


@pytest.mark.parametrize(
    "how",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda _: b"x" * 5000,
        flipped,
    ],
    ids=["empty", "cut", "other", "flipped"],
)
def test_a_damaged_cache_is_no_cache(filled: Filled, how: Callable[[bytes], bytes]) -> None:
    project, folder, cold = filled
    assert spoil(folder, how)
    status, out, err = check(project, cache=folder)
    assert (status, untimed(out)) == (cold[0], untimed(cold[1]))
    assert "Traceback" not in err
    status, out, err = check(project, cache=folder)
    assert (status, untimed(out)) == (cold[0], untimed(cold[1]))


def test_a_folder_that_is_a_file_is_no_cache(project: Path, tmp_path: Path) -> None:
    place = tmp_path / "cache"
    place.write_text("mine")
    status, out, err = check(project, cache=place)
    assert (status, untimed(out)) == (1, untimed(check(project, "--no-cache")[1]))
    assert err.startswith("tilelint: note: the cache in ") and err.count("\n") == 1
    assert place.read_text() == "mine"


def test_two_runs_at_once(project: Path, tmp_path: Path) -> None:
    words = ("check", ".", "--format", "json", "--cache-dir", tmp_path / "cache")
    pipe = subprocess.PIPE
    runs = [Command(*words, cwd=project, stdout=pipe, stderr=pipe) for _ in range(3)]
    answers = [run.communicate() for run in runs]
    assert [run.returncode for run in runs] == [1, 1, 1]
    assert {err for _, err in answers} == {""}
    assert len({tuple(untimed(out)) for out, _ in answers}) == 1


def test_what_others_write_is_not_read(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put("ours", b"bytes")
    with sqlite3.connect(tmp_path / "entries.db") as other:
        other.execute("INSERT INTO entries (key, value) VALUES ('text', 'bytes')")
        other.execute("INSERT INTO entries (key, value) VALUES ('theirs', ?)", (pickle.dumps({}),))
        other.execute(
            "INSERT INTO entries (key, value) SELECT 'copy', value FROM entries WHERE key = 'ours'"
        )
    assert store.get("ours") == b"bytes"
    assert [store.get(key) for key in ("text", "theirs", "copy", "none")] == [None] * 4
    assert store.trouble is None
    store.close()


def test_the_oldest_entries_are_dropped(tmp_path: Path) -> None:
    store = Store(tmp_path, size_limit=200_000)
    values = {f"key {number}": bytes([number]) * 10_000 for number in range(40)}
    with store.together():
        store.put("key 0", b"old")
    for key, value in values.items():
        with store.together():
            store.put(key, value)
    kept = [key for key in values if store.get(key) is not None]
    assert kept == list(values)[-len(kept) :] and 8 <= len(kept) < 20
    assert all(store.get(key) == values[key] for key in kept)
    store.close()


def test_two_processes_that_write_wait_for_each_other(tmp_path: Path) -> None:
    first, second = Store(tmp_path), Store(tmp_path)
    written = threading.Event()

    def write() -> None:
        third = Store(tmp_path)
        with third.together():
            third.put("key", b"third")
            written.set()
            time.sleep(0.2)
        third.close()

    other = threading.Thread(target=write)
    other.start()
    written.wait()
    assert first.get("key") is None  # who reads does not wait
    second.put("key", b"second")
    other.join()
    assert first.get("key") == b"second"
    assert first.trouble is None and second.trouble is None


def test_the_states_a_file_was_in_last_are_kept() -> None:
    kept = memo.MemoryMemo(size=2)
    for number in range(memo.ALTERNATIVES + 3):
        stored = memo.Stored(
            memo.Reached((memo.File("/f.py", str(number)),), ()), (1, 2), _outcome(str(number))
        )
        memo.keep(kept, "key", stored)
    assert [s.outcome.kernel.name for s in kept.load("key")] == ["6", "5", "4", "3"]
    for key in ("a", "b"):
        memo.keep(kept, key, stored)
    assert kept.load("key") == ()


def _outcome(name: str) -> memo.Outcome:
    from verifier.report.model import KernelReport

    return memo.Outcome(KernelReport("/f.py", name, 1, "nki", "0.3", "trn2", "verified"))
