"""What an analysis has looked at: the files, the global names of each, and the imports it followed.

An analysis of the same definition gives the same result as long as everything in its footprint is
what it was. Recording costs a set insertion for each name and import; several recordings may be
active at once (a kernel's inside its file's).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final, TypeAlias

from msgspec import Struct, field

#: how an import was looked up: folder, dotted name, level
Lookup: TypeAlias = tuple[str, str, int]
#: the level of a submodule of the folder
BELOW: Final = -1
#: the level of the modules that are in the folder, without a name: as a text in place of the file
LISTED: Final = -2


class Footprint(Struct):
    """``names``: (absolute file, global name); ``files``: whatever was read or tried, absolute.

    ``whole`` are files of which more than names counts. ``lookups`` maps each import to the file
    and the folder that it led to.
    """

    names: set[tuple[str, str]] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    whole: set[str] = field(default_factory=set)
    lookups: dict[Lookup, tuple[str | None, str | None]] = field(default_factory=dict)


_active: list[Footprint] = []


@contextlib.contextmanager
def recording() -> Iterator[Footprint]:
    """Collect what is looked at inside the block."""
    footprint = Footprint()
    _active.append(footprint)
    try:
        yield footprint
    finally:
        # by identity: equal footprints are not the same recording
        _active[:] = [other for other in _active if other is not footprint]


def note_name(file: str, name: str) -> None:
    for footprint in _active:
        footprint.names.add((file, name))


def note_file(file: str) -> None:
    for footprint in _active:
        footprint.files.add(file)


def note_whole(file: str) -> None:
    for footprint in _active:
        footprint.whole.add(file)


def note_lookup(lookup: Lookup, file: str | None, folder: str | None) -> None:
    for footprint in _active:
        footprint.lookups[lookup] = (file, folder)
