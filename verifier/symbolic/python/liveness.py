"""Which names of a loop's block it does not carry from trip to trip.

A name that every trip binds before it reads it carries nothing from trip to trip. All others may,
and so may names that a nested function sees, which may be read at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Final

from msgspec import Struct

from verifier.source import ir
from verifier.source.scopes import bound_by
from verifier.symbolic.python.model import Function
from verifier.symbolic.python.unread import Key, live_around

_NESTED = (ir.FunctionDef, ir.LambdaExpr, ir.ClassDef, ir.Comprehension)


class Names(Struct, frozen=True):
    """The names of a running block that a loop does not carry from trip to trip.

    ``own``: each trip binds it before it reads it. ``unread``: nobody reads what a trip leaves
    there, no later trip and nothing behind the loop.
    """

    own: Callable[[str], bool] = lambda name: False
    unread: Callable[[str], bool] = lambda name: False


#: names of a module are seen from everywhere
SHARED: Final = Names()


def names_around(function: Function | None, loop: ir.For | ir.While) -> Names:
    """What a loop of the running block does not carry."""
    if function is None or isinstance(function.definition, ir.LambdaExpr):
        return SHARED
    captured = _captured(Key(function.definition))
    own = _own(Key(loop))
    read = live_around(Key(function.definition)).get(id(loop))
    return Names(
        lambda name: name in own and name not in captured,
        lambda name: read is not None and name not in read and name not in captured,
    )


@lru_cache(maxsize=4096)
def _captured(key: Key) -> frozenset[str]:
    """Names that functions inside a function may read or bind, whenever they are called."""
    out: set[str] = set()
    assert isinstance(key.node, ir.FunctionDef)
    stack: list[tuple[ir.Node, bool]] = [(stmt, False) for stmt in key.node.body]
    while stack:
        node, inside = stack.pop()
        if isinstance(node, ir.Name) and inside:
            out.add(node.id)
        elif isinstance(node, (ir.Nonlocal, ir.Global)):
            out.update(node.names)
        delayed = isinstance(node, (ir.FunctionDef, ir.LambdaExpr, ir.ClassDef)) or (
            isinstance(node, ir.Comprehension) and node.kind is ir.ComprehensionKind.GENERATOR
        )
        stack.extend((child, inside or delayed) for child in ir.children(node))
    return frozenset(out)


@lru_cache(maxsize=4096)
def _own(key: Key) -> frozenset[str]:
    loop = key.node
    bound: set[str] = set()
    exposed: set[str] = set()
    if isinstance(loop, ir.While):
        _reads((loop.test,), bound, exposed)
    else:
        assert isinstance(loop, ir.For)
        _bind_target(loop.target, bound, exposed)
    assert isinstance(loop, (ir.For, ir.While))
    _block(loop.body, bound, exposed)
    return frozenset(_surely(loop, bound) - exposed)


def _surely(loop: ir.For | ir.While, bound: set[str]) -> set[str]:
    """Names that a trip binds on every way through it, early ``continue`` included."""
    if any(_has_continue(stmt) for stmt in loop.body):
        before: set[str] = set()
        if isinstance(loop, ir.For):
            _bind_target(loop.target, before, set())
        for stmt in loop.body:
            if _has_continue(stmt):
                break
            _statement(stmt, before, set())
        return before
    return bound


def _has_continue(stmt: ir.Node) -> bool:
    stack: list[ir.Node] = [stmt]
    while stack:
        node = stack.pop()
        if isinstance(node, ir.Continue):
            return True
        if not isinstance(node, (ir.For, ir.While, *_NESTED)):
            stack.extend(ir.children(node))
    return False


def _block(body: Sequence[ir.Stmt], bound: set[str], exposed: set[str]) -> None:
    """Adds to ``exposed`` what may be read unbound, to ``bound`` what is certainly bound after."""
    for stmt in body:
        _statement(stmt, bound, exposed)


def _statement(stmt: ir.Stmt, bound: set[str], exposed: set[str]) -> None:
    handler = _STATEMENTS.get(type(stmt))
    if handler is not None:
        handler(stmt, bound, exposed)
        return
    # whatever else: everything in it may be read first, and nothing is certainly bound
    _reads((stmt,), bound, exposed)


def _assign(stmt: ir.Assign, bound: set[str], exposed: set[str]) -> None:
    _reads((stmt.value,), bound, exposed)
    for target in stmt.targets:
        _bind_target(target, bound, exposed)


def _annotated(stmt: ir.AnnAssign, bound: set[str], exposed: set[str]) -> None:
    if stmt.value is not None:
        _reads((stmt.value,), bound, exposed)
        _bind_target(stmt.target, bound, exposed)


def _augmented(stmt: ir.AugAssign, bound: set[str], exposed: set[str]) -> None:
    _reads((stmt.target, stmt.value), bound, exposed)
    _bind_target(stmt.target, bound, exposed)


def _if(stmt: ir.If, bound: set[str], exposed: set[str]) -> None:
    _reads((stmt.test,), bound, exposed)
    left, right = set(bound), set(bound)
    _block(stmt.body, left, exposed)
    _block(stmt.orelse, right, exposed)
    bound |= left & right


def _for(stmt: ir.For, bound: set[str], exposed: set[str]) -> None:
    _reads((stmt.iterable,), bound, exposed)
    inner = set(bound)
    _bind_target(stmt.target, inner, exposed)
    _block(stmt.body, inner, exposed)
    _block(stmt.orelse, set(bound), exposed)


def _while(stmt: ir.While, bound: set[str], exposed: set[str]) -> None:
    _reads((stmt.test,), bound, exposed)
    _block(stmt.body, set(bound), exposed)
    _block(stmt.orelse, set(bound), exposed)


def _with(stmt: ir.With, bound: set[str], exposed: set[str]) -> None:
    for item in stmt.items:
        _reads((item.context,), bound, exposed)
        if item.target is not None:
            _bind_target(item.target, bound, exposed)
    _block(stmt.body, set(bound), exposed)  # a manager may swallow what the body raises


def _try(stmt: ir.Try, bound: set[str], exposed: set[str]) -> None:
    inner = set(bound)
    _block(stmt.body, inner, exposed)
    _block(stmt.orelse, inner, exposed)
    ends = [inner]
    for handler in stmt.handlers:
        own = set(bound)
        if handler.type is not None:
            _reads((handler.type,), bound, exposed)
        if handler.name is not None:
            own.add(handler.name)
        _block(handler.body, own, exposed)
        own.discard(handler.name or "")
        ends.append(own)
    bound |= set.intersection(*ends)
    _block(stmt.finalbody, bound, exposed)


def _definition(stmt: ir.FunctionDef | ir.ClassDef, bound: set[str], exposed: set[str]) -> None:
    # what is inside a function is among the captured names
    outer: list[ir.Node] = list(stmt.decorators)
    if isinstance(stmt, ir.FunctionDef):
        outer += [p.default for p in stmt.params if p.default is not None]
    else:
        outer += [*stmt.bases, *stmt.keywords, *stmt.body]
    _reads(outer, bound, exposed)
    bound.add(stmt.name)


def _import(stmt: ir.Import | ir.ImportFrom, bound: set[str], exposed: set[str]) -> None:
    bound |= bound_by(stmt)


_Handler = Callable[..., None]
_STATEMENTS: dict[type[ir.Stmt], _Handler] = {
    ir.Assign: _assign,
    ir.AnnAssign: _annotated,
    ir.AugAssign: _augmented,
    ir.If: _if,
    ir.For: _for,
    ir.While: _while,
    ir.With: _with,
    ir.Try: _try,
    ir.FunctionDef: _definition,
    ir.ClassDef: _definition,
    ir.Import: _import,
    ir.ImportFrom: _import,
}


def _bind_target(target: ir.Expr, bound: set[str], exposed: set[str]) -> None:
    if isinstance(target, ir.Name):
        bound.add(target.id)
    elif isinstance(target, (ir.TupleExpr, ir.ListExpr)):
        for part in target.elements:
            _bind_target(part, bound, exposed)
    elif isinstance(target, ir.Starred):
        _bind_target(target.value, bound, exposed)
    else:
        _reads((target,), bound, exposed)


def _reads(nodes: Iterable[ir.Node], bound: set[str], exposed: set[str]) -> None:
    """Every name in some nodes that is not bound yet; a name that only an inner block has, too."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if isinstance(node, ir.Name) and node.id not in bound:
            exposed.add(node.id)
        stack.extend(ir.children(node))
