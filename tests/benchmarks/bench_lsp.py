"""The editor server: from an edit to its diagnostics, and memory after many edits.

``python -m tests.benchmarks.bench_lsp [FILE ...] [--edits N] [--memory N] [--root FOLDER]``

Without FILE, a file of 300 lines is put together from the fixtures. Edits are of four kinds, in
turn: a comment, a number inside a function, a key typed in the middle of a line (which often does
not parse), and the key taken back. An edit is answered when the diagnostics of its version arrive.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import statistics
import tempfile
import time
from pathlib import Path

from tests.lsp.driver import ROOT, Driver, seeded, session

LINES = 300
#: seconds after which the server has given back what it does not need
QUIET = 4.0


def assembled() -> str:
    """Kernels of ours in one file, some of which break rules."""
    lines: list[str] = ["import nki", "import nki.isa as nisa", "import nki.language as nl"]
    names: set[str] = set()
    for path in sorted((ROOT / "fixtures" / "nki").glob("*/*.py")):
        text = path.read_text(encoding="utf-8")
        defined = set(re.findall(r"^(?:def|class) (\w+)|^(\w+) =", text, re.M))
        defined = {name for pair in defined for name in pair if name}
        own = {"import nki", "import nki.isa as nisa", "import nki.language as nl"}
        imports = {line for line in text.splitlines() if line.startswith(("import ", "from "))}
        if imports - own or defined & names:
            continue
        names |= defined
        body = re.sub(r'\A""".*?"""\n', "", text, flags=re.S)
        lines += [line for line in body.splitlines() if line not in own]
        if len(lines) >= LINES:
            break
    return "\n".join(lines) + "\n"


class Editor:
    """Edits a text and tells the server, one edit after another."""

    def __init__(self, driver: Driver, uri: str, text: str, seed: int = 1) -> None:
        self.driver = driver
        self.uri = uri
        self.lines = text.split("\n")
        self.version = 1
        self._rng = seeded(seed)
        self._typed: tuple[int, int] | None = None

    def _replace(self, line: int, start: int, end: int, text: str) -> None:
        self.version += 1
        self.driver.change(self.uri, self.version, ((line, start), (line, end), text))
        old = self.lines[line]
        self.lines[line : line + 1] = (old[:start] + text + old[end:]).split("\n")

    def _inside(self) -> int:
        rows = [n for n, text in enumerate(self.lines) if text.startswith("    ") and text.strip()]
        return self._rng.choice(rows)

    def edit(self, number: int) -> None:
        kind = number % 4
        row = self._inside()
        if kind == 0:
            self._replace(row, 0, 0, f"    # note {number}\n")
        elif kind == 1:
            rows = [n for n, t in enumerate(self.lines) if re.match(r"\s+[^#\"']*\b\d+\b", t)]
            row = self._rng.choice(rows)
            match = self._rng.choice(list(re.finditer(r"\b\d+\b", self.lines[row])))
            value = max(1, int(match.group()) + self._rng.choice((-1, 1)))
            self._replace(row, match.start(), match.end(), str(value))
        elif kind == 2:
            column = self._rng.randrange(4, len(self.lines[row]) + 1)
            self._typed = (row, column)
            self._replace(row, column, column, self._rng.choice("x(.,1="))
        elif self._typed is not None:
            row, column = self._typed
            self._replace(row, column, column + 1, "")


def memory(pid: int) -> dict[str, int]:
    """Resident bytes of the server and of its worker."""
    found = {"server": 0, "worker": 0}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text()
            parent = int(stat.rpartition(")")[2].split()[1])
            pages = int((entry / "statm").read_text().split()[1])
        except OSError:
            continue
        if int(entry.name) == pid or parent == pid:
            found["server" if int(entry.name) == pid else "worker"] += pages * 4096
    return found


async def measure(path: Path, text: str, root: Path, edits: int, many: int) -> None:
    async with session(root, forked=False) as driver:
        started = time.perf_counter()
        uri = driver.open(path, text)
        await driver.checked(uri, 1)
        first = time.perf_counter() - started
        editor = Editor(driver, uri, text)
        times = []
        for number in range(edits):
            started = time.perf_counter()
            editor.edit(number)
            await driver.checked(uri, editor.version)
            times.append(1000 * (time.perf_counter() - started))
        times.sort()
        at95 = times[min(len(times) - 1, int(0.95 * len(times)))]
        print(
            f"{path.name}: {len(text.splitlines())} lines, opened in {first:.2f} s; {edits} edits: "
            f"median {statistics.median(times):.0f} ms, 95th percentile {at95:.0f} ms, "
            f"longest {times[-1]:.0f} ms"
        )
        if many:
            await asyncio.sleep(QUIET)
            before = memory(driver.pid)
            for number in range(many):
                editor.edit(number)
                await driver.checked(uri, editor.version)
            await asyncio.sleep(QUIET)
            after = memory(driver.pid)
            one, other = sum(before.values()), sum(after.values())
            parts = ", ".join(
                f"{name} {before[name] / 2**20:.0f} to {after[name] / 2**20:.0f} MiB"
                for name in before
            )
            print(
                f"  memory: {one / 2**20:.0f} MiB, after {many} more edits "
                f"{other / 2**20:.0f} MiB ({100 * (other / one - 1):+.1f} %): {parts}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--root", type=Path, help="The workspace folder (default: the file's).")
    parser.add_argument("--edits", type=int, default=100)
    parser.add_argument("--memory", type=int, default=0, help="Edits between two looks at memory.")
    arguments = parser.parse_args()
    if arguments.files:
        for file in arguments.files:
            path = file.resolve()
            text = path.read_text(encoding="utf-8")
            root = (arguments.root or path.parent).resolve()
            asyncio.run(measure(path, text, root, arguments.edits, arguments.memory))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernels.py")
        text = assembled()
        path.write_text(text, encoding="utf-8")
        asyncio.run(measure(path, text, Path(folder), arguments.edits, arguments.memory))


if __name__ == "__main__":
    main()
