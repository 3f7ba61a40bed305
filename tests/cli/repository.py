"""Git repositories for the tests, and kernels to put into them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

#: ``{rows}`` above 128 is an error; the helper's ``limit`` decides in kernels that import it.
KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl
{extra}

@nki.jit
def {name}(source):
    rows, columns = source.shape
    assert rows <= {rows} and columns <= 512
    out = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, columns), dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""


def kernel(name: str, rows: int | str = 96, extra: str = "") -> str:
    return KERNEL.format(name=name, rows=rows, extra=extra)


class Repository:
    """A folder under git, with commits that need no settings of the user's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> str:
        identity = ["-c", "user.name=A", "-c", "user.email=a@example.com"]
        done = subprocess.run(
            ["git", *identity, "-c", "commit.gpgsign=false", *arguments],
            cwd=self.folder,
            env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def write(self, name: str, text: str | bytes) -> Path:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return file

    def commit(self, message: str = "a change") -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)
        return self.git("rev-parse", "HEAD")
