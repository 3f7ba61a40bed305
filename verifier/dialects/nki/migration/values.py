"""What the expressions of a statement compute, from the inside out.

Calls that returned their result, operators on tiles and methods of tiles stand in each other; what
is around one is written with what it has become.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from verifier.dialects.nki.migration.calls import Returned
from verifier.dialects.nki.migration.changes import Change
from verifier.dialects.nki.migration.lowering import Container, Lowered, lowered
from verifier.dialects.nki.migration.returned import Returning
from verifier.dialects.nki.migration.text import Text
from verifier.dialects.nki.migration.tiles import Tiles
from verifier.dialects.nki.migration.visits import Visits

#: a call that returned its result, or what computes with tiles otherwise
_Item: TypeAlias = "Returned | ast.expr"


def values(
    text: Text, visits: Visits, to: str, returned: Sequence[Returned], tiles: Tiles | None
) -> Iterator[Change]:
    """The changes of all statements, in the order of the text."""
    groups: dict[ast.stmt, list[_Item]] = {}
    items: list[_Item] = [*returned, *([] if tiles is None else tiles.operators())]
    for item in items:
        statement = text.statement(_node(item))
        if statement is not None:
            groups.setdefault(statement, []).append(item)
    for statement in sorted(groups, key=text.start):
        place = lowered(text, statement)
        returning = Returning(text, visits, to, place)
        yield from _statement(text, groups[statement], place, returning, tiles)


def _node(item: _Item) -> ast.expr:
    return item[0].call if isinstance(item, tuple) else item


def _statement(
    text: Text,
    items: Sequence[_Item],
    place: Lowered | None,
    returning: Returning,
    tiles: Tiles | None,
) -> Iterator[Change]:
    """The changes of a statement; all that is written of its calls is written at once."""
    done: list[Returned] = []
    left: list[Returned] = []
    calls = [_node(item) for item in items if isinstance(item, tuple)]
    containers = [] if place is None else place.containers(calls)
    every: list[_Item | Container] = [*items, *containers]

    def inner_first(item: _Item | Container) -> tuple[object, ...]:
        node = _node(item)
        return text.end(node), tuple(-number for number in text.start(node))

    changes: list[Change] = []
    whole = True  # else something stands in a container that can be no statement
    for item in sorted(every, key=inner_first):
        if isinstance(item, tuple):
            (done if returning.written(*item) else left).append(item)
        elif item in containers:
            assert place is not None
            assert isinstance(item, Container)
            whole = place.contain(item) and whole
        else:
            assert tiles is not None
            change = tiles.operator(item)
            text.computing.add(item)
            changes.append(change)
            text.pending += change.edits
    edits = () if place is None or not (done and whole) else place.edits()
    text.pending.clear()
    if not edits:
        left, done = [*done, *left], []
        for node in calls:
            text.lowered.pop(node, None)
    yield from changes
    for form, signature in done:
        yield returning.change(form, signature, edits)
    for form, signature in left:
        yield replace(returning.change(form, signature, ()), title="", edits=())


__all__ = ["values"]
