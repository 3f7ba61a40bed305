"""Shapes of Beta 1: ``par_dim`` goes, and with it dimensions before the partitions (NKI-M006).

A tile of ``(B, par_dim(P), F)`` becomes one of ``(P, B, F)``, if every use says which of the B
tiles is meant.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from verifier.dialects.nki import renames
from verifier.dialects.nki.migration.changes import NAME, Change, Edit
from verifier.dialects.nki.migration.text import Text
from verifier.dialects.nki.signatures import generations_with, lookup, removal
from verifier.dialects.nki.versions import following, said

_PAR_DIM = "language.par_dim"


def partitions(text: Text, to: str) -> Iterator[Change]:
    """Every ``par_dim`` of a file."""
    if lookup(_PAR_DIM, to) is not None:
        return
    instead, facts = removal(_PAR_DIM)
    since = said(following(generations_with(_PAR_DIM)[-1]))
    for node, name in text.api():
        call = text.parents.get(node)
        if name != _PAR_DIM:
            continue
        edits: tuple[Edit, ...] = ()
        if isinstance(call, ast.Call) and call.func is node and len(call.args) == 1:
            edits = () if call.keywords else _edits(text, call)
        yield Change(
            NAME,
            text.span(node),
            f"`{text.written(node)}` does not exist since {since}",
            "warning",
            facts,
            (instead,),
            "make the partition dimension the first" if edits else "",
            edits,
        )


def _edits(text: Text, call: ast.Call) -> tuple[Edit, ...]:
    shape = text.parents.get(call)
    if not isinstance(shape, (ast.Tuple, ast.List)):
        return ()
    if shape.elts[0] is call and isinstance(text.parents.get(shape), ast.Assign):
        return _plain(text, call)  # a shape under a name
    maker = text.parents.get(shape)
    if isinstance(maker, ast.keyword) and maker.arg == "shape":
        maker = text.parents.get(maker)
    elif isinstance(maker, ast.Call) and maker.args[:1] != [shape]:
        return ()
    name = text.name(maker.func) if isinstance(maker, ast.Call) else None
    if name is None or name.removeprefix("language.") not in renames.SHAPED:
        return ()
    position = shape.elts.index(call)
    if position == 0:
        return _plain(text, call)
    assert isinstance(maker, ast.Call)
    return _folded(text, maker, shape.elts, position)


def _plain(text: Text, call: ast.Call) -> tuple[Edit, ...]:
    """The size alone."""
    size = call.args[0]
    before = text.between(text.start(call), text.start(size))
    after = text.between(text.end(size), text.end(call))
    if before.count("(") != 1 or "\n" in before + after or "#" in before + after:
        return ()
    return (
        Edit(text.start(call), text.start(size), ""),
        Edit(text.end(size), text.end(call), ""),
    )


def _folded(
    text: Text, maker: ast.Call, sizes: Sequence[ast.expr], position: int
) -> tuple[Edit, ...]:
    """The blocks behind the partitions, in the shape and in every index."""
    uses = _uses(text, maker, position)
    if uses is None or any(isinstance(size, ast.Starred) for size in sizes[: position + 1]):
        return ()
    call = sizes[position]
    assert isinstance(call, ast.Call)
    blocks = [text.rendered(size) for size in sizes[:position]]
    shape = ", ".join([text.rendered(call.args[0]), *blocks])
    edits = [Edit(text.start(sizes[0]), text.end(call), shape)]
    for use in uses:
        items = use.slice.elts if isinstance(use.slice, ast.Tuple) else [use.slice]
        indices = [text.rendered(item) for item in items[:position]]
        own = items[position] if len(items) > position else None
        last, rest = items[position - 1], ":"
        if own is not None and not _ellipsis(own):
            last, rest = own, text.rendered(own)
        edits.append(Edit(text.start(items[0]), text.end(last), ", ".join([rest, *indices])))
    return tuple(edits)


def _uses(text: Text, maker: ast.Call, blocks: int) -> list[ast.Subscript] | None:
    """Every use of a tile, if each one says which block is meant; else None."""
    statement = text.statement(maker)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if isinstance(statement, ast.AnnAssign):
        target = statement.target
    if not isinstance(target, ast.Name) or getattr(statement, "value", None) is not maker:
        return None
    scope: ast.AST = text.function(maker) or text.tree
    found: list[ast.Subscript] = []
    for node in ast.walk(scope):
        if isinstance(node, ast.arg) and node.arg == target.id:
            return None
        if not isinstance(node, ast.Name) or node.id != target.id or node is target:
            continue
        use = text.parents.get(node)
        if not isinstance(node.ctx, ast.Load) or not isinstance(use, ast.Subscript):
            return None
        items = use.slice.elts if isinstance(use.slice, ast.Tuple) else [use.slice]
        plain = [item for item in items[:blocks] if not _spread(item)]
        if use.value is not node or len(plain) < blocks:
            return None
        found.append(use)
    return found


def _spread(item: ast.expr) -> bool:
    """Whether an index may stand for several elements, or none."""
    call = isinstance(item, ast.Call)  # `nl.ds(...)`, or anything
    nothing = isinstance(item, ast.Constant) and not isinstance(item.value, int)
    return call or nothing or isinstance(item, (ast.Slice, ast.Starred, ast.Tuple, ast.List))


def _ellipsis(item: ast.expr) -> bool:
    return isinstance(item, ast.Constant) and item.value is Ellipsis
