"""The files of a project whose kernels may call what a file defines: they say what is a helper."""

# Whole trees are looked at: plain strings are several times faster here than path objects.
# ruff: noqa: PTH100

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from verifier.source.files import PathError, collect
from verifier.source.imports import users
from verifier.source.project import Project, project_around
from verifier.source.sources import Sources
from verifier.source.text import SourceError, may_hold_kernels

#: the top-level functions of a file
_DEFINED: Final = re.compile(rb"^(?:async[ \t]+)?def[ \t]+(\w+)", re.MULTILINE)


def callers(
    files: Iterable[str], alone: Collection[str], roots: Sequence[str], sources: Sources
) -> dict[str, tuple[str, ...]]:
    """For each of ``files`` those that import it, through any number of files, and may call it.

    Args:
        files: absolute paths of all that is checked together.
        alone: those of them that stand for themselves: the rest of their projects counts, too,
            as far as it names one of their functions.
        roots: where imports are looked up.
        sources: what files hold.
    """
    known = list(files)
    outside = _naming(alone, set(known), sources)
    if len(known) + len(outside) < 2:
        return dict.fromkeys(known, ())
    found = users(Project(map(Path, roots), sources), [*known, *outside])
    inside = set(known)
    return {
        path: tuple(user for user in found[path] if user in inside or path in alone)
        for path in known
    }


def _naming(alone: Collection[str], known: Collection[str], sources: Sources) -> list[str]:
    """The files around those that stand alone that may hold kernels and name their functions."""
    defined: dict[str, set[bytes]] = {}
    for path in alone:
        top = project_around(path)
        with suppress(SourceError):
            names = _DEFINED.findall(sources.read(Path(path)))
            if top is not None and names:
                defined.setdefault(top, set()).update(names)
    found: dict[str, None] = {}
    for top, wanted in defined.items():
        spoken = re.compile(rb"\b(?:%s)\b" % b"|".join(sorted(wanted)))
        with suppress(PathError):
            for file in collect([Path(top)], []):
                path = os.path.abspath(file)
                with suppress(SourceError):
                    raw = sources.read(file) if path not in known else b""
                    if may_hold_kernels(raw) and spoken.search(raw):
                        found[path] = None
    return list(found)
