"""Functions that call themselves last, as loops: such a call is a further round.

How deep a call goes is not known where it depends on a size that may be any. ``def f(at): if ...:
return; ...; f(at + 128)`` does in as many calls what a loop does in as many rounds, each with other
values of the parameters. Where it is asked what loops are for (:mod:`verifier.engine.generally`),
it is that loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from msgspec.structs import replace

from verifier.source import ir
from verifier.source.scopes import names_of
from verifier.symbolic.python.model import Function
from verifier.symbolic.python.unread import Key

#: parameters whose values are told from those of a call
_GIVEN = (ir.ParamKind.POSITIONAL_ONLY, ir.ParamKind.POSITIONAL, ir.ParamKind.KEYWORD)
#: what has returns and calls of its own
_OTHERS = (ir.FunctionDef, ir.LambdaExpr, ir.ClassDef)


def in_rounds(function: Function) -> Function:
    """The function with a loop in place of its calls of itself; itself if that is not the same."""
    definition = function.definition
    if isinstance(definition, ir.LambdaExpr) or definition.is_generator:
        return function
    found = _as_loop(Key(definition))
    return function if found is None else replace(function, definition=found)


@lru_cache(maxsize=4096)
def _as_loop(key: Key) -> ir.FunctionDef | None:
    definition = key.node
    assert isinstance(definition, ir.FunctionDef)
    own = definition.name in names_of(definition).local
    if own or definition.decorators or definition.is_async:
        return None
    if not any(_is_named(node, definition.name) for node in _nodes(definition.body)):
        return None
    rounds = _Rounds(definition)
    body = rounds.block(definition.body, True)
    if not rounds.same or any(_is_named(node, definition.name) for node in _nodes(body)):
        return None
    if rounds.drops and any(_gives(node) for node in _nodes(body, _OTHERS)):
        return None  # what the last of the calls returns, the first one does not
    span = definition.span
    loop = ir.While(span, ir.Const(span, True), (*body, ir.Return(span, None)), ())
    return replace(definition, block=ir.Block.of((loop,)))


class _Rounds:
    """What becomes of a function's statements."""

    def __init__(self, definition: ir.FunctionDef) -> None:
        self.definition = definition
        #: whether each call can be a round
        self.same = True
        #: whether what a call returns is not returned
        self.drops = False

    def block(self, statements: Sequence[ir.Stmt], last: bool) -> tuple[ir.Stmt, ...]:
        """Statements of the function; ``last``: nothing comes behind them."""
        out: list[ir.Stmt] = []
        for number, stmt in enumerate(statements):
            behind = statements[number + 1 :]
            ends = (last and not behind) or (bool(behind) and _is_bare(behind[0]))
            out += self._statement(stmt, ends)
        return tuple(out)

    def _statement(self, stmt: ir.Stmt, ends: bool) -> Iterator[ir.Stmt]:
        if isinstance(stmt, ir.If):
            yield replace(
                stmt, body=self.block(stmt.body, ends), orelse=self.block(stmt.orelse, ends)
            )
            return
        if isinstance(stmt, ir.Return) or (ends and isinstance(stmt, ir.ExprStmt)):
            call = stmt.value
            if isinstance(call, ir.Call) and _is_named(call.func, self.definition.name):
                self.drops |= isinstance(stmt, ir.ExprStmt)
                yield from self._again(call)
                return
        yield stmt

    def _again(self, call: ir.Call) -> Iterator[ir.Stmt]:
        params = self.definition.params
        values: dict[str, ir.Expr] = {
            each.name: each.default for each in params if isinstance(each.default, ir.Const)
        }
        placed = [each.name for each in params if each.kind is not ir.ParamKind.KEYWORD]
        self.same &= all(each.kind in _GIVEN for each in params) and len(call.args) <= len(placed)
        self.same &= not any(isinstance(each, ir.Starred) for each in call.args)
        values.update(zip(placed, call.args, strict=False))
        values.update((each.name or "", each.value) for each in call.keywords)
        self.same &= set(values) == {each.name for each in params}
        names = tuple(ir.Name(call.span, name) for name in values)
        given = ir.TupleExpr(call.span, tuple(values.values()))
        yield ir.Assign(call.span, (ir.TupleExpr(call.span, names),), given)
        yield ir.Continue(call.span)


def _nodes(body: Sequence[ir.Stmt], but: tuple[type, ...] = ()) -> Iterator[ir.Node]:
    """All nodes of statements, without what is in those of some types."""
    stack: list[ir.Node] = [*body]
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, but):
            stack += ir.children(node)


def _is_named(node: ir.Node, name: str) -> bool:
    return isinstance(node, ir.Name) and node.id == name


def _is_bare(stmt: ir.Stmt) -> bool:
    """Whether it returns nothing."""
    return isinstance(stmt, ir.Return) and not _gives(stmt)


def _gives(node: ir.Node) -> bool:
    """Whether it returns something."""
    if not isinstance(node, ir.Return) or node.value is None:
        return False
    return not isinstance(node.value, ir.Const) or node.value.value is not None


__all__ = ["in_rounds"]
