"""What every result depends on besides the kernel: this program, Python, and the solver."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

import verifier

#: bump when what is stored changes its shape
_FORMAT = 2


@cache
def environment() -> str:
    """A digest of everything about this program that a verdict could depend on."""
    packages = [_version(name) for name in ("z3-solver", "libcst")]
    parts = (_FORMAT, verifier.__version__, sys.version, sys.platform, packages, list(_own_files()))
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _own_files() -> Iterator[tuple[str, str]]:
    """Name and content of every file of the two packages; times differ from install to install."""
    top = Path(verifier.__file__).resolve().parent.parent
    pending = [str(top / "rules"), str(top / "verifier")]
    found = []
    while pending:
        folder = pending.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir():
                    if entry.name != "__pycache__":
                        pending.append(entry.path)
                elif entry.name.endswith(".py"):
                    with open(entry.path, "rb") as file:  # noqa: PTH123  (hundreds of files)
                        digest = hashlib.blake2b(file.read(), digest_size=16).hexdigest()
                    found.append((os.path.relpath(entry.path, top), digest))
    return iter(sorted(found))
