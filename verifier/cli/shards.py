"""``--shard 2/8``: the part of the files that one of several machines checks."""

from __future__ import annotations

import heapq
import os
import re
from typing import TYPE_CHECKING

import click
from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from verifier.cli.candidates import Candidates


class Part(Struct, frozen=True):
    """``index`` of ``count``, from 1 on."""

    index: int
    count: int


def read_part(_context: click.Context, _option: click.Parameter, text: str | None) -> Part | None:
    """What ``2/8`` says; None where the option is not given.

    Raises:
        click.BadParameter: it says nothing, or there is no such part.
    """
    if text is None:
        return None
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text.strip())
    if match is None:
        raise click.BadParameter(f"{text!r} is not of the form 2/8")
    index, count = int(match[1]), int(match[2])
    if not 1 <= index <= count:
        raise click.BadParameter(f"there is no part {index} of {count}")
    return Part(index, count)


def part_of(candidates: Candidates, part: Part) -> Candidates:
    """The candidates of one part: every file is in exactly one.

    The largest file goes to the part with the least in it, and so on: which files these are depends
    on the files alone, not on the order in which they were given. Files without kernels are only
    counted, by number.
    """
    files = sorted(
        zip(candidates.sizes, candidates.files, strict=True),
        key=lambda file: (-file[0], os.path.relpath(file[1]).replace(os.sep, "/")),
    )
    loads = [(0, number) for number in range(1, part.count + 1)]
    mine: list[tuple[int, str]] = []
    for size, path in files:
        load, number = heapq.heappop(loads)
        heapq.heappush(loads, (load + size, number))
        if number == part.index:
            mine.append((size, path))
    others = candidates.total - len(candidates.files)
    share = others // part.count + (part.index <= others % part.count)
    return replace(
        candidates,
        total=len(mine) + share,
        files=tuple(path for _, path in mine),
        sizes=tuple(size for size, _ in mine),
    )
