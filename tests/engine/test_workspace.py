"""Files under edit: whatever was edited in whatever order, the report is that of a fresh look."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.sweeps import ALL, thinned
from verifier.engine import analysis
from verifier.engine.analysis import analyze_file
from verifier.engine.workspace import Workspace
from verifier.report.model import FileRequest, FileResult

HELPER = '''"""Sizes."""

LANES = 128
SPARE = 7


class Plan:
    rows: int = LANES

    def step(self):
        return self.rows


def rows(n):
    """At most one tile."""
    return min(n, LANES)


def wide(n):
    return n * 2
'''

KERNELS = """import nki
import nki.isa as nisa
import nki.language as nl

from sizes import rows, wide
import sizes

DEPTH = 3


def load(x, r):
    t = nl.ndarray((r, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x[0:r, :])
    return t


@nki.jit
def clipped(x):
    M, N = x.shape
    assert N <= 640
    y = nl.ndarray((M, N), dtype=x.dtype, buffer=nl.shared_hbm)
    t = load(x, rows(M))
    nisa.dma_copy(dst=y[0 : rows(M), :], src=t)
    return y


# tilelint: contract (x: bf16[K, 96]) where K <= 200
@nki.jit
def tall(x):
    assert x.shape[1] <= 512
    t = load(x, x.shape[0])
    return x


@nki.jit
def stepped(x):
    y = nl.ndarray((sizes.LANES, wide(DEPTH)), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(DEPTH):
        t = nl.ndarray((sizes.LANES, 2), dtype=x.dtype, buffer=nl.sbuf)
        nisa.memset(dst=t, value=0)
        nisa.dma_copy(dst=y[:, 2 * i : 2 * i + 2], src=t)
    return y
"""

#: one-line replacements that parse, in either file
SWAPS = [
    ("LANES = 128", "LANES = 129"),
    ("LANES = 128", "LANES = 64"),
    ("SPARE = 7", "SPARE = 8"),
    ("return min(n, LANES)", "return n"),
    ("return n * 2", "return n * 2 + 1"),
    ("DEPTH = 3", "DEPTH = 5"),
    ("assert N <= 640", "assert N <= 64"),
    ("assert N <= 640", "pass"),
    ("K <= 200", "K <= 100"),
    ("from sizes import rows, wide", "from sizes import wide, rows"),
    ("from sizes import rows, wide", "from sizes import rows as wide, wide as rows"),
    ("def load(x, r):", "def load(x, r, *, eager=False):"),
    ("y = nl.ndarray((M, N)", "ÿ = 'ß'; y = nl.ndarray((M, N)"),
    ("return x\n", "return t\n"),
    ("nl.affine_range", "range"),
]


def untimed(result: FileResult) -> FileResult:
    return replace(result, kernels=tuple(replace(k, time_ms=0.0) for k in result.kernels))


class Session:
    """Two files in an editor, and the same on disk for the fresh look."""

    def __init__(self, folder: Path) -> None:
        self.workspace = Workspace()
        self.files = {folder / "sizes.py": HELPER, folder / "kernels.py": KERNELS}
        for file, text in self.files.items():
            self.set(file, text)
        self.request = FileRequest(str(folder / "kernels.py"), roots=(str(folder),), tiles=True)

    def set(self, file: Path, text: str) -> None:
        self.files[file] = text
        self.workspace.open(str(file), text)
        file.write_text(text, encoding="utf-8", newline="")

    def agree(self) -> None:
        live = untimed(self.workspace.check(self.request))
        fresh = untimed(analyze_file(self.request))
        assert live == fresh


@pytest.mark.parametrize("seed", range(60 if ALL else 6 // thinned(1)))
def test_random_edits(tmp_path: Path, seed: int) -> None:
    random_ = random.Random(seed)
    session = Session(tmp_path)
    before: list[tuple[Path, str]] = []
    for _ in range(12):
        file = random_.choice(list(session.files))
        text = session.files[file]
        before.append((file, text))
        kind = random_.choice(["swap", "line", "drop", "break", "undo", "move", "crlf"])
        lines = text.split("\n")
        if kind == "swap":
            old, new = random_.choice(SWAPS)
            text = text.replace(old, new) if old in text else text.replace(new, old)
        elif kind == "line":
            at = random_.randrange(len(lines))
            lines.insert(at, random_.choice(["", "# é 🙂", "    # in a body", "\t"]))
            text = "\n".join(lines)
        elif kind == "drop":
            del lines[random_.randrange(len(lines))]
            text = "\n".join(lines)
        elif kind == "break":
            at = random_.randrange(len(text) + 1)
            text = text[:at] + random_.choice(["(", "'", "\\", "def ", "🙂", "\f"]) + text[at:]
        elif kind == "move":
            parts = text.split("\n\n\n")
            random_.shuffle(parts)
            text = "\n\n\n".join(parts)
        elif kind == "crlf":
            text = text.replace("\r\n", "\n") if "\r\n" in text else text.replace("\n", "\r\n")
        elif len(before) > 1:
            file, text = before[random_.randrange(len(before))]
        session.set(file, text)
        session.agree()


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kernels that are analysed from now on, not found again."""
    names: list[str] = []
    real = analysis._unit

    def unit(*arguments: object) -> object:
        names.append(arguments[1].entry.name)  # type: ignore[attr-defined]
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(analysis, "_unit", unit)
    return names


@pytest.mark.parametrize(
    ("old", "new", "again"),
    [
        # what a module does when it runs, and what its definitions mention, counts for all who
        # import it: it decides whether the order of modules matters
        ("LANES = 128", "LANES = 100", ["clipped", "tall", "stepped"]),
        ("SPARE = 7", "SPARE = 9", ["clipped", "tall", "stepped"]),
        ("return n * 2", "return 2 * n", ["clipped", "tall", "stepped"]),
        ("    t = nl.ndarray((r,", "    # said here\n    t = nl.ndarray((r,", ["clipped", "tall"]),
        ("assert N <= 640", "assert N <= 80", ["clipped"]),
        ("K <= 200", "K <= 201", ["tall"]),
        ('"""Sizes."""', '"""Sizes."""\n\n# moved down\n', []),
        ("import nki\n", "# moved down\n\nimport nki\n", []),
        (
            "DEPTH = 3",
            "DEPTH = 3\n\n\ndef nobody(n):\n    return n\n",
            ["clipped", "tall", "stepped"],
        ),
    ],
)
def test_only_what_an_edit_reaches_is_analysed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, again: list[str]
) -> None:
    session = Session(tmp_path)
    session.workspace.check(session.request)
    names = counted(monkeypatch)
    (file,) = [file for file, text in session.files.items() if old in text]
    session.set(file, session.files[file].replace(old, new, 1))
    session.workspace.check(session.request)
    assert names == again
    names.clear()
    session.agree()
    assert names == ["clipped", "tall", "stepped"]  # by the fresh look


def test_a_module_that_comes_to_stand_in_front_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session(tmp_path)
    first = session.workspace.check(session.request)
    (tmp_path / "sizes").mkdir()
    (tmp_path / "sizes" / "__init__.py").write_text(HELPER.replace("128", "300"))
    assert untimed(session.workspace.check(session.request)) != untimed(first)
    session.agree()


def test_a_closed_file_is_read_from_disk_again(tmp_path: Path) -> None:
    session = Session(tmp_path)
    first = untimed(session.workspace.check(session.request))
    file = tmp_path / "sizes.py"
    session.workspace.open(str(file), HELPER.replace("128", "256"))
    assert untimed(session.workspace.check(session.request)) != first
    session.workspace.open(str(file), None)
    assert untimed(session.workspace.check(session.request)) == first
