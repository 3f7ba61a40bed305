"""Which names are read after a loop, or by one of its trips before it binds them.

What nobody reads any more is no state that a loop carries. The text is followed backwards: a name
is live where it may be read before it is bound again. Whatever is not followed exactly counts as
read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from verifier.source import ir
from verifier.source.scopes import bound_by

_Names = frozenset[str]
_NONE: _Names = frozenset()


class Key:
    """A node by its identity: hashing all of a tree costs more than it saves."""

    __slots__ = ("node",)

    def __init__(self, node: ir.Node) -> None:
        self.node = node

    def __hash__(self) -> int:
        return id(self.node)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and other.node is self.node


@lru_cache(maxsize=4096)
def live_around(function: Key) -> dict[int, _Names]:
    """The names that are live where a trip of a loop starts or its code ends, by the loop's id."""
    definition = function.node
    assert isinstance(definition, ir.FunctionDef)
    reading = _Reading({})
    reading.block(definition.body, _Ends(_NONE, _NONE, _NONE, _NONE))
    return reading.loops


class _Ends(Struct, frozen=True):
    """What is live behind a block, by the way out of it."""

    leave: _Names  # `break`
    again: _Names  # `continue`
    gone: _Names  # `return`
    raised: _Names

    def all(self) -> _Names:
        return self.leave | self.again | self.gone | self.raised


class _Reading(Struct):
    """One reading of a function from its end to its start."""

    loops: dict[int, _Names]

    def block(self, body: Sequence[ir.Stmt], ends: _Ends, after: _Names = _NONE) -> _Names:
        """The names that are live before a block."""
        for stmt in reversed(body):
            handler = _STATEMENTS.get(type(stmt), _other)
            after = handler(self, stmt, ends, after) | ends.raised
        return after


def _read(*nodes: ir.Node | None) -> _Names:
    out: set[str] = set()
    stack = [node for node in nodes if node is not None]
    while stack:
        node = stack.pop()
        if isinstance(node, ir.Name):
            out.add(node.id)
        stack.extend(ir.children(node))
    return frozenset(out)


def _target(target: ir.Expr) -> tuple[_Names, _Names]:
    """What a target binds, and what it reads."""
    if isinstance(target, ir.Name):
        return frozenset({target.id}), _NONE
    if isinstance(target, (ir.TupleExpr, ir.ListExpr)):
        parts = [_target(part) for part in target.elements]
        # a part may be read by one behind it: only what is surely bound first is no read
        return _union(b for b, _ in parts), _union(r for _, r in parts)
    if isinstance(target, ir.Starred):
        return _target(target.value)
    return _NONE, _read(target)


def _union(parts: Iterable[_Names]) -> _Names:
    return frozenset().union(*parts)


def _other(reading: _Reading, stmt: ir.Stmt, ends: _Ends, after: _Names) -> _Names:
    return after | ends.all() | _read(stmt)


def _plain(reading: _Reading, stmt: ir.Stmt, ends: _Ends, after: _Names) -> _Names:
    return after | _read(stmt)


def _assign(reading: _Reading, stmt: ir.Assign, ends: _Ends, after: _Names) -> _Names:
    parts = [_target(target) for target in stmt.targets]
    bound, read = _union(b for b, _ in parts), _union(r for _, r in parts)
    return (after - bound) | read | _read(stmt.value)


def _annotated(reading: _Reading, stmt: ir.AnnAssign, ends: _Ends, after: _Names) -> _Names:
    if stmt.value is None:
        return after | _read(stmt)
    bound, read = _target(stmt.target)
    return (after - bound) | read | _read(stmt.value)


def _if(reading: _Reading, stmt: ir.If, ends: _Ends, after: _Names) -> _Names:
    body = reading.block(stmt.body, ends, after)
    return body | reading.block(stmt.orelse, ends, after) | _read(stmt.test)


def _while(reading: _Reading, stmt: ir.While, ends: _Ends, after: _Names) -> _Names:
    start = reading.block(stmt.orelse, ends, after) | after | _read(stmt.test)
    return _turned(reading, stmt, ends, after, start, lambda body: body)


def _for(reading: _Reading, stmt: ir.For, ends: _Ends, after: _Names) -> _Names:
    bound, read = _target(stmt.target)
    start = reading.block(stmt.orelse, ends, after) | after
    start = _turned(reading, stmt, ends, after, start, lambda body: (body - bound) | read)
    return start | _read(stmt.iterable)


def _turned(
    reading: _Reading,
    stmt: ir.For | ir.While,
    ends: _Ends,
    after: _Names,
    start: _Names,
    head: Callable[[_Names], _Names],
) -> _Names:
    """What is live where a trip starts: what the body reads, in this trip or in a later one."""
    start |= reading.loops.get(id(stmt), _NONE)  # as found in an earlier turn around it
    while True:
        inner = replace(ends, leave=after, again=start)
        more = start | head(reading.block(stmt.body, inner, start))
        if more == start:
            break
        start = more
    reading.loops[id(stmt)] = start
    return start


def _with(reading: _Reading, stmt: ir.With, ends: _Ends, after: _Names) -> _Names:
    # the manager may swallow what is raised inside
    inner = replace(ends, raised=ends.raised | after)
    live = reading.block(stmt.body, inner, after)
    for item in reversed(stmt.items):
        bound, read = _target(item.target) if item.target is not None else (_NONE, _NONE)
        live = (live - bound) | read | _read(item.context) | inner.raised
    return live


def _try(reading: _Reading, stmt: ir.Try, ends: _Ends, after: _Names) -> _Names:
    if stmt.finalbody:
        final = reading.block(stmt.finalbody, ends, after | ends.all())
        ends, after = _Ends(final, final, final, final), final
    caught = ends.raised
    for handler in stmt.handlers:
        caught |= reading.block(handler.body, ends, after) | _read(handler.type)
    orelse = reading.block(stmt.orelse, ends, after)
    return reading.block(stmt.body, replace(ends, raised=caught), orelse) | caught


def _definition(
    reading: _Reading, stmt: ir.FunctionDef | ir.ClassDef, ends: _Ends, after: _Names
) -> _Names:
    return (after - {stmt.name}) | (_read(stmt) - {stmt.name})


def _import(
    reading: _Reading, stmt: ir.Import | ir.ImportFrom, ends: _Ends, after: _Names
) -> _Names:
    return after - bound_by(stmt)


def _return(reading: _Reading, stmt: ir.Return, ends: _Ends, after: _Names) -> _Names:
    return ends.gone | _read(stmt.value)


def _raise(reading: _Reading, stmt: ir.Raise, ends: _Ends, after: _Names) -> _Names:
    return ends.raised | _read(stmt)


def _break(reading: _Reading, stmt: ir.Break, ends: _Ends, after: _Names) -> _Names:
    return ends.leave


def _continue(reading: _Reading, stmt: ir.Continue, ends: _Ends, after: _Names) -> _Names:
    return ends.again


_STATEMENTS: dict[type[ir.Stmt], Callable[..., _Names]] = {
    ir.Assign: _assign,
    ir.AnnAssign: _annotated,
    ir.AugAssign: _plain,
    ir.Assert: _plain,
    ir.ExprStmt: _plain,
    ir.Delete: _plain,
    ir.Pass: _plain,
    ir.If: _if,
    ir.While: _while,
    ir.For: _for,
    ir.With: _with,
    ir.Try: _try,
    ir.FunctionDef: _definition,
    ir.ClassDef: _definition,
    ir.Import: _import,
    ir.ImportFrom: _import,
    ir.Return: _return,
    ir.Raise: _raise,
    ir.Break: _break,
    ir.Continue: _continue,
}
