"""From one generation of NKI to a later one: what a text has to change, and how it is written then.

Names, parameters, defaults and results come from the descriptions of the instructions and the
tables of :mod:`verifier.dialects.nki.signatures`; nothing is said twice. ``migrations`` finds the
changes of a file; what runs of its kernels have come by says what calls returned.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from verifier.dialects.nki.migration import blocks, calls, names, python, ranges, values
from verifier.dialects.nki.migration.changes import Change, Edit, together
from verifier.dialects.nki.migration.text import Text
from verifier.dialects.nki.migration.tiles import Tiles
from verifier.dialects.nki.migration.visits import Visits
from verifier.dialects.nki.versions import newer, said

__all__ = ["Change", "Edit", "Visits", "migrations"]


def migrations(
    path: str,
    lines: Sequence[str],
    tree: ast.Module,
    since: str,
    to: str,
    visits: Visits,
    *,
    certain: bool = True,
) -> list[Change]:
    """What of a file that is written for a generation a later one rejects, or reads otherwise.

    ``visits``: the operations of its kernels, as far as they could be run. ``certain``: nothing
    that is written for the later generation looks like it.
    """
    text = Text(path, lines, tree)
    tiles = Tiles(text, visits, to)
    steps: list[Callable[[], Iterable[Change]]] = [
        lambda: names.imports(text, to),
        lambda: names.removed(text, to),
        lambda: ranges.indices(text, to),
        lambda: names.imported(text, to),
        lambda: names.foreign(text, visits, to),
        lambda: names.keywords(text, to),
        lambda: python.constructs(text, visits, since, to),
    ]
    if since == "beta1" and to != "beta1":
        steps += [lambda: blocks.partitions(text, to), tiles.columns, tiles.functions]
    if since == "0.2" and to != "0.2":
        steps.append(tiles.axes)
    returned: list[calls.Returned] = []
    steps.append(lambda: calls.calls(text, since, to, visits, returned))
    computing = tiles if since == "beta1" and to != "beta1" else None
    steps.append(lambda: values.values(text, visits, to, returned, computing))
    if since == "beta1" and to != "beta1":
        steps += [tiles.stores, tiles.transfers]
    if since != to and (since == "beta1" or newer(to, "0.6")):
        steps.append(tiles.sums)
    for step in steps:
        for change in step():  # what comes later is written with it
            text.changes.append(change)
    found = together(text.changes)
    if not certain:
        found = [
            _doubted(change, since) if change.weight == "error" else change for change in found
        ]
    return sorted(_safe(found), key=_order)


def _doubted(change: Change, since: str) -> Change:
    """A change of meaning in what may have been written with the later one in mind."""
    asked = f"nothing but `--api-version {since}` says that it was written for {said(since)}"
    return replace(change, weight="note", edits=(), title="", help=(*change.help, asked))


def _safe(changes: list[Change]) -> list[Change]:
    """Nothing is written while a silent change is left to the author: what is written may be all
    that says which generation the file is of, and then nobody would ever be told."""
    left = [c for c in changes if c.weight == "error" and not c.edits]
    if not left:
        return changes
    return [
        replace(c, edits=(), title="", help=(*c.help, _FIRST) if c in left else c.help)
        for c in changes
    ]


_FIRST: Final = "`--fix` writes nothing of the file before"


def _order(change: Change) -> tuple[object, ...]:
    span = change.span
    return (span.line, span.column, span.end_line, span.end_column, change.message)
