"""Random editing: whatever is typed, the server says in the end what ``check`` says.

A few sequences run always. ``TILELINT_LSP_SEQUENCES=1000`` asks for more of them.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable
from pathlib import Path

from lsprotocol import types as lsp

from tests.lsp.driver import Driver, offset, session
from tests.lsp.kernels import DOUBLE, HALVE, HELPER, USER
from verifier.cli.runner import RunOptions, run
from verifier.configuration.settings import Configurations
from verifier.lsp.text import bare, split, units

SEQUENCES = int(os.environ.get("TILELINT_LSP_SEQUENCES", "12"))
#: sequences with one server
PER_SERVER = 50

TYPED = (
    "x", "(", ")", "[", ":", "=", "1", "512", ".", ",", " ", "\n", "\r\n", "\r", "    ", "é", "😀",
    "# 😀\n", "'", '"""', "def f(", "assert rows <= 128\n", "    assert rows % 2 == 0\n", "\u2028",
    "# tilelint: ignore[partition-extent] -- why not\n", "\x0c", "\t", "@", "nl.sbuf", "\\\n",
)  # fmt: skip


class Typist:
    """Edits a document at random, and can take back what was done."""

    def __init__(self, driver: Driver, uri: str, text: str, rng: random.Random) -> None:
        self.driver, self.uri, self.text, self.rng = driver, uri, text, rng
        self.version = 1
        self.undo: list[str] = []

    def _place(self) -> tuple[int, int]:
        rows = split(self.text)
        row = self.rng.randrange(len(rows))
        return row, self.rng.randrange(len(bare(rows[row])) + 1)

    def _client(self, place: tuple[int, int]) -> tuple[int, int]:
        rows = split(self.text)
        return place[0], units(bare(rows[place[0]])[: place[1]], "utf-16")

    def step(self) -> None:
        self.version += 1
        kind = self.rng.random()
        if kind < 0.2 and self.undo:
            self.text = self.undo.pop()
            self.driver.change(self.uri, self.version, self.text)
            return
        self.undo.append(self.text)
        changes = []
        for _ in range(1 if kind < 0.9 else 3):
            start, end = sorted((self._place(), self._place()))
            if self.rng.random() < 0.6:
                end = start
            elif end[0] > start[0] + 2:
                end = (start[0], start[1])
            new = "" if end != start and self.rng.random() < 0.6 else self.rng.choice(TYPED)
            changes.append((self._client(start), self._client(end), new))
            first, last = offset(self.text, start), offset(self.text, end)
            self.text = self.text[:first] + new + self.text[last:]
        self.driver.change(self.uri, self.version, *changes)


#: a line, a column in UTF-16, a rule, and a message
Said = tuple[int, int, str, str]


def shown(diagnostics: tuple[lsp.Diagnostic, ...]) -> list[Said]:
    """What the server says, without what it keeps of earlier texts."""
    out = []
    for d in diagnostics:
        if not (d.data or {}).get("kept") and d.severity is not lsp.DiagnosticSeverity.Hint:
            place = d.range.start
            out.append((place.line, place.character, str(d.code), d.message.split("\n")[0]))
    return sorted(out)


def checked(folder: Path, path: Path, text: str, *, kernels: bool) -> list[Said]:
    """What the command line says of the same text; without ``kernels``, what needs none of them."""
    path.write_bytes(text.encode("utf-8"))
    report = run(RunOptions((str(folder),), Configurations()))
    rows = split(text)
    out = []
    for d in report.diagnostics:
        if not kernels and (d.kernel or d.rule == "unused-suppression"):
            continue
        if d.suppressed is None and Path(d.span.path).name == path.name:
            head = bare(rows[d.span.line - 1])[: d.span.column]
            out.append((d.span.line - 1, units(head, "utf-16"), d.rule, d.message))
    for error in report.errors:
        if Path(error.path).name == path.name:
            row = bare(rows[max(1, error.line) - 1]) if error.line <= len(rows) else ""
            start = units(row[: len(row) - len(row.lstrip())], "utf-16")
            code = "syntax" if error.kind == "syntax" else "None"
            out.append((max(1, error.line) - 1, start, code, error.message.split("\n")[0]))
    return sorted(set(out))


def test_server_and_command_agree(tmp_path: Path) -> None:
    asyncio.run(_sequences(tmp_path, SEQUENCES, lambda seed: random.Random(f"edits {seed}")))


async def _sequences(folder: Path, count: int, seeded: Callable[[int], random.Random]) -> None:
    texts = {"halve.py": HALVE + DOUBLE, "helper.py": HELPER, "user.py": USER}
    texts["windows.py"] = texts["halve.py"].replace("\n", "\r\n")
    for first in range(0, count, PER_SERVER):
        async with session(folder) as driver:
            for seed in range(first, min(count, first + PER_SERVER)):
                rng = seeded(seed)
                for name, text in texts.items():
                    (folder / name).write_bytes(text.encode())
                name = rng.choice(list(texts))
                path = folder / name
                uri = driver.open(path, texts[name])
                typist = Typist(driver, uri, texts[name], rng)
                for _ in range(rng.randrange(1, 25)):
                    typist.step()
                    if rng.random() < 0.2:
                        await asyncio.sleep(rng.choice((0.001, 0.03, 0.1)))
                await driver.checked(uri, typist.version)
                said = shown(tuple(driver.diagnostics[uri]))
                # the kernels that call the helper are in a file that is not open
                wanted = checked(folder, path, typist.text, kernels=name != "helper.py")
                assert said == wanted, (seed, typist.text)
                driver.close(uri)
            faults = [e.message for e in driver.logged if "internal" in e.message]
            assert not faults
