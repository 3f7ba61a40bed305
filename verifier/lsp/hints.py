"""Inlay hints: the shape of every tile, behind the name it is bound to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from verifier.lsp.text import Position
from verifier.report.model import KernelReport, Tile


class Hint(Struct, frozen=True):
    """A text to show at a position, and one to show when it is pointed at."""

    place: Position
    text: str
    tile: Tile


def hints(tiles: Iterable[tuple[KernelReport, Tile]], line: Callable[[int], str]) -> Iterator[Hint]:
    """One hint for each tile that is made; where kernels or targets differ, the first counts."""
    seen: set[Position] = set()
    for _, tile in tiles:
        if tile.use:
            continue
        row = tile.span.line - 1
        bound = re.match(rf"\s*{re.escape(tile.name)}(?=\s*=[^=])", line(row))
        if bound is None:
            continue
        place = Position(row, bound.end())
        if place not in seen:
            seen.add(place)
            yield Hint(place, f": {tile.dtype}[{', '.join(tile.shape)}] {tile.buffer}", tile)
